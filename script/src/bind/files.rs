//! Files: `.npy` and `.npz` of NumPy, comma-separated text. All go through the host (S20).

use std::collections::BTreeMap;
use std::io::{Cursor, Read, Write};
use std::ops::{Deref, Range};

use porcini_core::memory::alloc::Bytes;
use porcini_core::{Array, DType, Scalar, interrupt};
use rhai::{Dynamic, Map};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::registry::Registry;
use super::types::scalar_type;
use crate::context::Context;
use crate::fault::{IntoFault, Result, check_interrupt, fault, outside_fault, placed};
use crate::value::csv_columns::{self, Column, Kind, Layout};
use crate::value::host_array::HostRef;
use crate::value::{ArrayRef, Form, scalar, type_name};
use crate::world::folders;

/// Bytes that are packed between two looks at the interrupt flag.
const PIECE: usize = 1 << 20;

pub(super) fn register(registry: &mut Registry<'_>) {
    npy(registry);
    npz(registry);
    csv(registry);
}

fn npy(registry: &mut Registry<'_>) {
    registry.doc(
        "read_npy",
        "(path)",
        "The contents of a NumPy .npy file as a host array: FloatC(read_npy(\"x.npy\")).\n\n\
         >> write_npy(\"x.npy\", FloatC([1, 2])); FloatC(read_npy(\"x.npy\"))\n[1, 2]",
    );
    registry.any("read_npy", 1, |context, _, args| {
        let path = path("read_npy", args[0])?;
        HostRef::from_npy(&context.session, &contents(context, "read_npy", &path)?)
            .map_err(|error| placed(error, &format!("read_npy: {path}")))
    });
    registry.doc(
        "write_npy",
        "(path, x)",
        "Writes an array or host array as a NumPy .npy file; evaluates it.\n\n\
         >> write_npy(\"x.npy\", Int32C([1, 2])); read_npy(\"x.npy\")\n[1, 2]\nndarray i32 [2]",
    );
    registry.any("write_npy", 2, |context, _, args| {
        let path = path("write_npy", args[0])?;
        store(context, "write_npy", &path, &host_array("write_npy", args[1])?.to_npy()?)
    });
}

fn npz(registry: &mut Registry<'_>) {
    registry.doc(
        "read_npz",
        "(path)",
        "The arrays of a NumPy .npz file as a map of host arrays.\n\n\
         >> write_npz(\"x.npz\", #{a: FloatC([1, 2])}); FloatC(read_npz(\"x.npz\").a)\n[1, 2]",
    );
    registry.any("read_npz", 1, |context, _, args| {
        let path = path("read_npz", args[0])?;
        let bytes = contents(context, "read_npz", &path)?;
        read_npz(context, &path, &bytes)
    });
    registry.doc(
        "write_npz",
        "(path, arrays)",
        "Writes a map of arrays or host arrays as a NumPy .npz file, uncompressed; evaluates them.\n\n\
         >> write_npz(\"x.npz\", #{a: FloatC(1), b: Int32C([2, 3])}); read_npz(\"x.npz\").keys()\n[a, b]",
    );
    registry.any("write_npz", 2, |context, _, args| {
        let path = path("write_npz", args[0])?;
        let arrays = map("write_npz", "a map of arrays second: #{a: x}", args[1])?;
        store(context, "write_npz", &path, &write_npz(&path, &arrays)?)
    });
}

fn read_npz(context: &Context, path: &str, bytes: &[u8]) -> Result<Map> {
    let failed = |what: &dyn std::fmt::Display| fault(format!("read_npz: {path}: {what}"));
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| failed(&error))?;
    let mut arrays = Map::new();
    let memory = context.session.memory_info();
    let mut room = memory.limit.saturating_sub(memory.used);
    for i in 0..archive.len() {
        check_interrupt()?;
        let mut entry = archive.by_index(i).map_err(|error| failed(&error))?;
        let name = entry.name().map_err(|error| failed(&error))?.into_owned();
        let Some(name) = name.strip_suffix(".npy") else { continue };
        let place = |error| placed(error, &format!("read_npz: {path}: {name}"));
        let npy = unpacked(context, &mut entry, &mut room).map_err(place)?;
        let array = HostRef::from_npy(&context.session, &npy).map_err(place)?;
        arrays.insert(name.into(), Dynamic::from(array));
    }
    Ok(arrays)
}

/// What an entry of an archive unpacks to. How much that is only shows on the way: what entries say may be wrong, and a
/// small file may hold more than any memory.
fn unpacked(context: &Context, entry: &mut impl Read, room: &mut u64) -> Result<Contents> {
    let mut bytes = Contents(Vec::new());
    loop {
        check_interrupt()?;
        let read = folders::read_piece(entry, &mut bytes.0);
        let n = read.map_err(|error| fault(error.to_string()))? as u64;
        if n == 0 {
            return Ok(bytes);
        }
        context.session.check_host_memory(bytes.len() as u64).or_fault()?;
        *room = room.checked_sub(n).ok_or_else(|| {
            let unpacked = Bytes(bytes.len() as u64);
            fault(format!("out of memory: {unpacked} unpacked are more than the limit leaves"))
        })?;
    }
}

fn write_npz(path: &str, arrays: &Map) -> Result<Vec<u8>> {
    let failed = |what: &dyn std::fmt::Display| fault(format!("write_npz: {path}: {what}"));
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let options =
        SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
    for (name, value) in arrays {
        let npy = host_array("write_npz", value)?.to_npy()?;
        archive.start_file(format!("{name}.npy"), options).map_err(|error| failed(&error))?;
        for piece in npy.chunks(PIECE) {
            check_interrupt()?;
            archive.write_all(piece).map_err(|error| failed(&error))?;
        }
    }
    archive.finish().map(Cursor::into_inner).map_err(|error| failed(&error))
}

fn csv(registry: &mut Registry<'_>) {
    registry.doc(
        "read_csv",
        "(path, options)",
        "The columns of comma-separated text as a map: Int64C (UInt64C beyond), Float64C and MaskC arrays, or lists of text. The \
         first line has the names. Missing numbers are nan. Options: #{separator: \";\", header: false (columns \
         c0, c1, ..), types: #{x: \"FloatC\"}}.\n\n\
         >> write_csv(\"t.csv\", #{a: [1, 2], b: [0.5, nan]}); read_csv(\"t.csv\")\n#{a: [1, 2], b: [0.5, nan]}",
    );
    for arity in [1, 2] {
        registry.any("read_csv", arity, |context, _, args| {
            let path = path("read_csv", args[0])?;
            let options = match args.get(1) {
                Some(options) => map("read_csv", "a map of options second", options)?,
                None => Map::new(),
            };
            read_csv(context, &path, &options)
        });
    }
    registry.doc(
        "write_csv",
        "(path, columns, order)",
        "Writes a map of arrays or lists of equal length (or 1) as comma-separated text with a line of names; \
         vectors become a column a component: v.x, v.y, complex numbers z.real and z.imag, matrices m.0.1 for row 0 \
         and column 1. Columns stand in the order of their names, or in that \
         of a list of names. Floats keep all their bits. Evaluates.\n\n\
         >> write_csv(\"t.csv\", #{x: FloatC([1, 2]), y: 0.1}, [\"y\", \"x\"]); FloatC(read_csv(\"t.csv\").y)\n[0.1, 0.1]",
    );
    for arity in [2, 3] {
        registry.any("write_csv", arity, |context, _, args| {
            let path = path("write_csv", args[0])?;
            let columns = map("write_csv", "a map of columns second: #{x: a}", args[1])?;
            let order = args.get(2).map(|order| column_order(&columns, order)).transpose()?;
            let order = order.unwrap_or_else(|| columns.keys().map(ToString::to_string).collect());
            let bytes = write_csv(&path, &columns, &order)?;
            store(context, "write_csv", &path, &bytes)
        });
    }
}

fn read_csv(context: &Context, path: &str, options: &Map) -> Result<Map> {
    let mut layout = Layout { separator: b',', header: true, kinds: BTreeMap::new() };
    let mut types: BTreeMap<String, DType> = BTreeMap::new();
    for (key, value) in options {
        let bad = |expected: &str| {
            let got = type_name(value);
            fault(format!("read_csv: option {key}: got {got}, expected {expected}"))
        };
        match key.as_str() {
            "separator" => {
                let text = value.to_string();
                let [separator] = *text.as_bytes() else { return Err(bad("one character")) };
                layout.separator = separator;
            }
            "header" => layout.header = value.as_bool().map_err(|_| bad("true or false"))?,
            "types" => {
                for (column, name) in map("read_csv", "a map of types", value)? {
                    let dtype = scalar_type(&name.to_string()).ok_or_else(|| {
                        fault(format!("read_csv: no type {name} (FloatC, Int32C ..)"))
                    })?;
                    types.insert(column.into(), dtype);
                }
            }
            _ => {
                return Err(fault(format!(
                    "read_csv: no option {key} (options: separator, header, types)"
                )));
            }
        }
    }
    let kind = |dtype: DType| match dtype {
        DType::Mask => Kind::Mask,
        dtype if dtype.is_float() => Kind::Float,
        DType::U64 => Kind::UInt,
        _ => Kind::Int,
    };
    layout.kinds = types.iter().map(|(name, &dtype)| (name.clone(), kind(dtype))).collect();
    let bytes = contents(context, "read_csv", path)?;
    let mut columns = Map::new();
    let session = &context.session;
    let check_room = |bytes| session.check_host_memory(bytes).or_fault();
    for (name, column) in csv_columns::read(path, &bytes, &layout, check_room)? {
        check_interrupt()?;
        let array = match column {
            Column::Mask(values) => session.array(&values),
            Column::Int(values) => session.array(&values),
            Column::UInt(values) => session.array(&values),
            Column::Float(values) => session.array(&values),
            Column::Text(values) => {
                let list: rhai::Array = values.into_iter().map(Dynamic::from).collect();
                columns.insert(name.into(), list.into());
                continue;
            }
        };
        let array = match types.get(&name) {
            Some(&dtype) => array.and_then(|array| array.cast(dtype)),
            None => array,
        };
        columns.insert(name.into(), Dynamic::from(ArrayRef::leaf(array.or_fault()?)));
    }
    Ok(columns)
}

/// Where the fields of a written column come from.
enum Source {
    Array(Array),
    List(Vec<String>),
}

fn write_csv(path: &str, columns: &Map, order: &[String]) -> Result<Vec<u8>> {
    let mut names = Vec::new();
    let mut sources = Vec::new();
    for name in order {
        let Some(value) = columns.get(name.as_str()) else { continue };
        for (suffix, source) in sources_of(name, value)? {
            names.push(format!("{name}{suffix}"));
            sources.push(source);
        }
    }
    let n_rows = sources.iter().map(Source::n).max().unwrap_or(0);
    if let Some(i) = sources.iter().position(|source| source.n() != n_rows && source.n() != 1) {
        let (name, n) = (&names[i], sources[i].n());
        return Err(fault(format!(
            "write_csv: column {name} has {n} rows, others {n_rows} (equal numbers, or 1)"
        )));
    }
    csv_columns::write(path, &names, n_rows, |i, rows| sources[i].fields(rows))
}

/// The columns that a value becomes, with what is added to its name.
fn sources_of(name: &str, value: &Dynamic) -> Result<Vec<(String, Source)>> {
    if let Some(array) = value.read_lock::<ArrayRef>() {
        let mut sources = Vec::new();
        add_sources(&array, "", &mut sources)?;
        return Ok(sources);
    }
    let field = |item: &Dynamic| {
        let number = scalar(item).map(|number| field(number, DType::F64));
        number.or_else(|| item.clone().into_string().ok()).ok_or_else(|| {
            let got = type_name(item);
            fault(format!("write_csv: column {name}: got {got}, expected numbers or texts"))
        })
    };
    let fields = match value.read_lock::<rhai::Array>() {
        Some(list) => list.iter().map(field).collect::<Result<Vec<_>>>()?,
        None => vec![field(value)?],
    };
    Ok(vec![(String::new(), Source::List(fields))])
}

/// The arrays inside; `path` leads to the value: `.x`, `.imag`, of matrices row and column.
fn add_sources(value: &ArrayRef, path: &str, sources: &mut Vec<(String, Source)>) -> Result<()> {
    let Some(components) = value.components() else {
        sources.push((path.into(), Source::Array(value.array("write_csv")?)));
        return Ok(());
    };
    if let Form::Matrix(_) = value.form() {
        let columns: Vec<Vec<ArrayRef>> =
            components.iter().filter_map(ArrayRef::components).collect();
        for i in 0..columns.len() {
            for (j, column) in columns.iter().enumerate() {
                add_sources(&column[i], &format!("{path}.{i}.{j}"), sources)?;
            }
        }
        return Ok(());
    }
    let letters = value.form().component_names();
    for (i, component) in components.iter().enumerate() {
        let name = letters.get(i).map_or_else(|| i.to_string(), ToString::to_string);
        add_sources(component, &format!("{path}.{name}"), sources)?;
    }
    Ok(())
}

impl Source {
    fn n(&self) -> u64 {
        match self {
            Self::Array(array) => array.size(),
            Self::List(fields) => fields.len() as u64,
        }
    }

    /// The fields of some rows.
    fn fields(&self, rows: Range<u64>) -> Result<Vec<String>> {
        let n = usize::try_from(rows.end - rows.start).unwrap_or(0);
        let repeated = self.n() == 1;
        let rows = if repeated { 0..1 } else { rows };
        let fields: Vec<String> = match self {
            Self::Array(array) => {
                let lanes = array.read(rows).or_fault()?;
                lanes.into_iter().map(|lane| field(lane, array.dtype())).collect()
            }
            Self::List(fields) => {
                let bound = |row: u64| usize::try_from(row).unwrap_or(usize::MAX);
                fields.get(bound(rows.start)..bound(rows.end)).unwrap_or_default().to_vec()
            }
        };
        Ok(if repeated { vec![fields[0].clone(); n] } else { fields })
    }
}

/// A number with all its bits in as few digits as possible.
fn field(number: Scalar, dtype: DType) -> String {
    let Scalar::Float(x) = number else { return number.to_string() };
    if x.is_nan() {
        return "nan".into();
    }
    let plain = x == 0.0 || (1e-5..1e16).contains(&x.abs()) || x.is_infinite();
    match (dtype, plain) {
        (DType::F64, true) => x.to_string(),
        (DType::F64, false) => format!("{x:e}"),
        (_, true) => number.to_f32().to_string(),
        (_, false) => format!("{:e}", number.to_f32()),
    }
}

fn column_order(columns: &Map, order: &Dynamic) -> Result<Vec<String>> {
    let Some(order) = order.read_lock::<rhai::Array>() else {
        let got = type_name(order);
        return Err(fault(format!("write_csv: got {got}, expected a list of names third")));
    };
    let names: Vec<String> = order.iter().map(ToString::to_string).collect();
    match names.iter().find(|name| !columns.contains_key(name.as_str())) {
        Some(name) => Err(fault(format!("write_csv: no column {name}"))),
        None => Ok(names),
    }
}

fn host_array(op: &str, value: &Dynamic) -> Result<HostRef> {
    if let Some(host) = value.read_lock::<HostRef>() {
        return Ok(host.clone());
    }
    let array = value.read_lock::<ArrayRef>().map(|array| array.clone());
    match array {
        Some(array) => HostRef::of(&array),
        None => Err(fault(format!("{op}: got {}, expected an array", type_name(value)))),
    }
}

/// The bytes of a file.
struct Contents(Vec<u8>);

impl Deref for Contents {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Contents {
    fn drop(&mut self) {
        if interrupt::is_requested() {
            folders::discard(std::mem::take(&mut self.0));
        }
    }
}

fn contents(context: &Context, op: &str, path: &str) -> Result<Contents> {
    let bytes = context.host.read_file(path);
    bytes.map(Contents).map_err(|error| outside_fault(&format!("{op}: {path}"), &error))
}

pub(super) fn store(context: &Context, op: &str, path: &str, bytes: &[u8]) -> Result<()> {
    let written = context.host.write_file(path, bytes);
    written.map_err(|error| outside_fault(&format!("{op}: {path}"), &error))
}

pub(super) fn path(op: &str, value: &Dynamic) -> Result<String> {
    value.clone().into_string().map_err(|_| {
        fault(format!("{op}: got {}, expected a path in quotes first", type_name(value)))
    })
}

fn map(op: &str, expected: &str, value: &Dynamic) -> Result<Map> {
    let map = value.read_lock::<Map>().map(|map| map.clone());
    map.ok_or_else(|| fault(format!("{op}: got {}, expected {expected}", type_name(value))))
}
