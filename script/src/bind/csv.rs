//! Comma-separated text as maps of columns, and the way back.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::ops::Range;

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use porcini_core::tensor::{AxisIndex, Tensor};
use porcini_core::{Array, DType, Scalar};
use rhai::{Dynamic, ImmutableString, Map};

use super::files::{contents, map, path, store, unpacked};
use super::registry::Registry;
use super::types::scalar_type;
use crate::context::Context;
use crate::fault::{IntoFault, Result, check_interrupt, fault, fault_with_hint, placed};
use crate::value::csv::{self, Kind, Layout, Texts, Values, Whole};
use crate::value::growing::Growing;
use crate::value::{ArrayRef, Form, Node, scalar, type_name};

/// What a gzip file begins with.
const GZIP: &[u8] = &[0x1f, 0x8b];
/// Bytes that are packed between two looks at the interrupt flag.
const PIECE: usize = 1 << 20;

pub(super) fn register(registry: &mut Registry<'_>) {
    registry.doc(
        "read_csv",
        "(path, options)",
        "The columns of comma-separated text, also of a .gz file, as a map: Int64C (UInt64C beyond), Float64C and MaskC \
         arrays, or lists of text. The first line has the names. Missing numbers (nothing, NA, null ..) are nan; texts keep the blanks \
         around them, names of columns do not. Options: \
         #{separator: \";\", header: false (columns c0, c1, ..), types: #{x: \"FloatC\", city: \"category\", day: \
         \"date\", zip: \"text\"}, missing: [\"-\"] (more texts for a missing value), masks: true, matrix: true}. With matrix it is a \
         tensor, a row for each line, in the common type of the columns. A category is a list \
         of its names and the number of the name of each row; a date is seconds since 1970, see format_date. With masks \
         integers and masks stay what they are, and t[\"x.missing\"] is a mask of what is missing in a column x.\n\n\
         >> write_csv(\"t.csv\", #{a: [1, 2], b: [0.5, nan]}); read_csv(\"t.csv\")\n#{a: [1, 2], b: [0.5, nan]}\n\
         >> write_csv(\"m.csv\", TensorXfC([[1, 2], [3, 4]])); read_csv(\"m.csv\", #{matrix: true})\n[[1, 2],\n [3, 4]]",
    );
    for arity in [1, 2] {
        registry.any("read_csv", arity, |context, _, args| {
            let path = path("read_csv", args[0])?;
            let mut options = match args.get(1) {
                Some(options) => map("read_csv", "a map of options second", options)?,
                None => Map::new(),
            };
            let is_matrix = match options.remove("matrix") {
                Some(value) => value.as_bool().map_err(|_| {
                    let got = type_name(&value);
                    fault(format!("read_csv: option matrix: got {got}, expected true or false"))
                })?,
                None => false,
            };
            let (columns, names) = read_csv(context, &path, &layout(options)?)?;
            if is_matrix { matrix(&columns, &names) } else { Ok(columns.into()) }
        });
    }
    registry.doc(
        "write_csv",
        "(path, columns, order)",
        "Writes a map of arrays or lists of equal length (or 1) as comma-separated text with a line of names; \
         vectors become a column a component: v.x, v.y, complex numbers z.real and z.imag, matrices m.0.1 for row 0 \
         and column 1, tensors of two axes t.0, t.1 .. for their columns; a category, a list of names and their numbers, one of texts. Columns stand in the order of a list of names; without one as they do in the file that \
         they were read from, if there are just these, or in a map that the script has written since, else in the order of their names. A matrix by itself has the columns c.0, c.1 .. Floats keep all their bits. A path that ends with .gz is \
         compressed. Evaluates.\n\n\
         >> write_csv(\"t.csv\", #{x: FloatC([1, 2]), y: 0.1}, [\"y\", \"x\"]); FloatC(read_csv(\"t.csv\").y)\n[0.1, 0.1]",
    );
    for arity in [2, 3] {
        registry.any("write_csv", arity, |context, _, args| {
            let path = path("write_csv", args[0])?;
            let columns = if args[1].is::<ArrayRef>() {
                // The columns of a matrix, or an array.
                Map::from([("c".into(), (*args[1]).clone())])
            } else {
                map("write_csv", "a map of columns second: #{x: a}", args[1])?
            };
            let order = args.get(2).map(|order| column_order(&columns, order)).transpose()?;
            let order = order.unwrap_or_else(|| known_order(context, &columns));
            let bytes = write_csv(&path, &columns, &order)?;
            store(context, "write_csv", &path, &bytes)
        });
    }
}

/// The number of a name.
pub(super) fn number_of(code: Scalar) -> Option<usize> {
    match code {
        Scalar::Int(code) => usize::try_from(code).ok(),
        Scalar::UInt(code) => usize::try_from(code).ok(),
        Scalar::Bool(_) | Scalar::Float(_) => None,
    }
}

/// What the options of `read_csv` say.
fn layout(options: Map) -> Result<Layout> {
    let (kinds, missing) = (BTreeMap::new(), Vec::new());
    let mut layout = Layout { separator: b',', header: true, kinds, missing, masks: false };
    for (key, value) in options {
        let bad = |expected: &str| {
            let got = type_name(&value);
            fault(format!("read_csv: option {key}: got {got}, expected {expected}"))
        };
        let truth = || value.as_bool().map_err(|_| bad("true or false"));
        match key.as_str() {
            "separator" => {
                let text = value.to_string();
                let &[separator] = text.as_bytes() else { return Err(bad("one character")) };
                if b"\"\r\n".contains(&separator) {
                    return Err(bad("no quote and no end of a line"));
                }
                layout.separator = separator;
            }
            "header" => layout.header = truth()?,
            "masks" => layout.masks = truth()?,
            "missing" => {
                layout.missing = match value.read_lock::<rhai::Array>() {
                    Some(texts) => texts.iter().map(ToString::to_string).collect(),
                    None => vec![value.to_string()],
                };
            }
            "types" => {
                for (column, name) in map("read_csv", "a map of types", &value)? {
                    layout.kinds.insert(column.into(), kind(&name.to_string())?);
                }
            }
            _ => {
                return Err(fault(format!(
                    "read_csv: no option {key} (options: separator, header, types, missing, masks, matrix)"
                )));
            }
        }
    }
    Ok(layout)
}

fn kind(name: &str) -> Result<Kind> {
    match name {
        "text" => Ok(Kind::Text),
        "category" => Ok(Kind::Category),
        "date" => Ok(Kind::Date),
        _ => scalar_type(name).map(Kind::Lanes).ok_or_else(|| {
            fault(format!("read_csv: no type {name} (FloatC, Int32C .., category, date, text)"))
        }),
    }
}

/// The columns of a file, and their names in its order.
fn read_csv(context: &Context, path: &str, layout: &Layout) -> Result<(Map, Vec<String>)> {
    let session = &context.session;
    let mut bytes = contents(context, "read_csv", path)?;
    if bytes.starts_with(GZIP) {
        let memory = session.memory_info();
        let mut room = memory.limit.saturating_sub(memory.used);
        let text = unpacked(context, &mut MultiGzDecoder::new(&*bytes), &mut room);
        bytes = text.map_err(|error| placed(error, &format!("read_csv: {path}")))?;
    }
    let check_room = |bytes| session.check_file_memory(bytes).or_fault();
    let (mut columns, mut names) = (Map::new(), Vec::new());
    let read = csv::read(path, &bytes, layout, session.threads(), check_room)?;
    for (name, column) in read {
        check_interrupt()?;
        names.push(name.clone());
        if let Some(missing) = &column.missing {
            let mask = session.array(missing).or_fault()?;
            let name = format!("{name}.missing");
            columns.insert(name.as_str().into(), Dynamic::from(ArrayRef::leaf(mask)));
            names.push(name);
        }
        columns.insert(name.into(), column_value(context, column.kind, column.values)?);
    }
    context.print.borrow().columns.remember_table(names.iter().map(String::as_str), &columns);
    Ok((columns, names))
}

/// The tensor whose columns these are, in their common type.
fn matrix(columns: &Map, names: &[String]) -> Result<Dynamic> {
    let column = |name: &String| {
        let array = columns.get(name.as_str()).and_then(|column| column.read_lock::<ArrayRef>());
        let array = array.ok_or_else(|| {
            fault(format!("read_csv: the column {name} is no numbers, which a matrix is made of"))
        })?;
        let array = array.array("read_csv")?;
        Tensor::new(&array, &[array.size()]).or_fault()
    };
    let columns = names.iter().map(column).collect::<Result<Vec<_>>>()?;
    let matrix = Tensor::stack(&columns, 1).or_fault()?;
    Ok(Dynamic::from(ArrayRef::tensor(matrix)))
}

/// What a script gets of a column.
fn column_value(context: &Context, kind: Kind, values: Whole) -> Result<Dynamic> {
    let array = match (values, kind) {
        (Whole::Texts(texts), Kind::Category) => return category(context, texts),
        (Whole::Texts(texts), _) => return Ok(list(texts).into()),
        (Whole::Lanes(dtype, pieces), _) => {
            let bytes = |values| Values::lanes(values).map(|(_, bytes)| bytes);
            let pieces: Vec<&[u8]> = pieces.iter().filter_map(bytes).collect();
            context.session.from_pieces(dtype, &pieces)
        }
    };
    let array = match kind {
        Kind::Lanes(dtype) => array.and_then(|array| array.cast(dtype)),
        Kind::Text | Kind::Category | Kind::Date => array,
    };
    Ok(Dynamic::from(ArrayRef::leaf(array.or_fault()?)))
}

/// The text of each row.
pub(super) fn list(texts: Texts) -> rhai::Array {
    let names: Vec<Dynamic> = texts.names.into_iter().map(Dynamic::from).collect();
    texts.codes.iter().map(|&code| names[code as usize].clone()).collect()
}

/// A list of names in order, and of the number of the name of each row.
pub(super) fn category(context: &Context, mut texts: Texts) -> Result<Dynamic> {
    texts.sort();
    let codes = ArrayRef::leaf(context.session.array(&texts.codes).or_fault()?);
    let names: rhai::Array = texts.names.into_iter().map(Dynamic::from).collect();
    Ok(vec![names.into(), Dynamic::from(codes)].into())
}

/// Names and numbers, if a value is a category.
pub(super) fn category_of(value: &Dynamic) -> Option<(Vec<ImmutableString>, Array)> {
    let list = value.read_lock::<rhai::Array>()?;
    let [names, codes] = &list[..] else { return None };
    let names = names.read_lock::<rhai::Array>()?;
    let names = names.iter().map(|name| name.clone().into_immutable_string().ok());
    let codes = codes.read_lock::<ArrayRef>()?.array("write_csv").ok()?;
    codes.dtype().is_int().then_some((names.collect::<Option<_>>()?, codes))
}

/// Where the fields of a written column come from.
pub(super) enum Source {
    Array(Array),
    List(Vec<String>),
    /// The text that a number stands for.
    Category(Vec<ImmutableString>, Array),
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
    let n_rows = check_rows(names.iter().map(String::as_str).zip(sources.iter().map(Source::n)))?;
    let text = csv::write(path, &names, n_rows, |i, rows| sources[i].fields(rows))?;
    if path.ends_with(".gz") { packed(path, &text) } else { Ok(text) }
}

/// The number of rows, of the names of columns and the rows that each has.
pub(super) fn check_rows<'n>(columns: impl Iterator<Item = (&'n str, u64)> + Clone) -> Result<u64> {
    let n_rows = columns.clone().map(|(_, n)| n).max().unwrap_or(0);
    match columns.clone().find(|&(_, n)| n != n_rows && n != 1) {
        None => Ok(n_rows),
        Some((name, n)) => Err(fault(format!(
            "write_csv: column {name} has {n} rows, others {n_rows} (equal numbers, or 1)"
        ))),
    }
}

/// The columns that a value becomes, with what is added to its name.
pub(super) fn sources_of(name: &str, value: &Dynamic) -> Result<Vec<(String, Source)>> {
    if let Some(array) = value.read_lock::<ArrayRef>() {
        let mut sources = Vec::new();
        add_sources(&array, "", &mut sources)?;
        return Ok(sources);
    }
    if let Some((names, codes)) = category_of(value) {
        return Ok(vec![(String::new(), Source::Category(names, codes))]);
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
        return match &*value.node() {
            Node::Tensor(tensor) => add_columns(tensor, path, sources),
            _ => {
                sources.push((path.into(), Source::Array(value.array("write_csv")?)));
                Ok(())
            }
        };
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

/// The columns of a matrix, by their numbers; of what has one axis it alone.
fn add_columns(tensor: &Tensor, path: &str, sources: &mut Vec<(String, Source)>) -> Result<()> {
    let (name, shape) = (tensor.type_name(), tensor.shape());
    let [_, n] = shape.extents() else {
        if shape.rank() < 2 {
            return add_parts(tensor, path, sources);
        }
        return Err(fault_with_hint(
            format!("write_csv: got {name} of shape {shape}, expected at most two axes"),
            "reshape(t, [rows, -1]) is a matrix; write_npy(\"t.npy\", t) keeps every axis",
        ));
    };
    for j in 0..n.cast_signed() {
        check_interrupt()?;
        let column =
            tensor.at(&[AxisIndex::Slice((..).into()), AxisIndex::Number(j)]).or_fault()?;
        add_parts(&column, &format!("{path}.{j}"), sources)?;
    }
    Ok(())
}

fn add_parts(line: &Tensor, path: &str, sources: &mut Vec<(String, Source)>) -> Result<()> {
    let names = if line.is_complex() { &[".real", ".imag"][..] } else { &[""] };
    let parts = line.entries().or_fault()?.into_iter().zip(names);
    sources.extend(parts.map(|(part, name)| (format!("{path}{name}"), Source::Array(part))));
    Ok(())
}

impl Source {
    fn n(&self) -> u64 {
        match self {
            Self::Array(array) | Self::Category(_, array) => array.size(),
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
            Self::Category(names, codes) => {
                let named = |code: Scalar| {
                    let name = number_of(code).and_then(|number| names.get(number));
                    name.map(ToString::to_string).ok_or_else(|| {
                        let n = names.len();
                        fault(format!("write_csv: number {code} of a category that has {n} names"))
                    })
                };
                codes.read(rows).or_fault()?.into_iter().map(named).collect::<Result<_>>()?
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

/// The order of columns that nobody says: that of the file which has one of them, or of a text that has all of them and was
/// written since.
pub(super) fn known_order(context: &Context, columns: &Map) -> Vec<String> {
    context.print.borrow().columns.of(columns).into_iter().map(Into::into).collect()
}

pub(super) fn column_order(columns: &Map, order: &Dynamic) -> Result<Vec<String>> {
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

fn packed(path: &str, text: &[u8]) -> Result<Vec<u8>> {
    let failed = |error: std::io::Error| fault(format!("write_csv: {path}: {error}"));
    let mut packed = GzEncoder::new(Growing::default(), Compression::default());
    for piece in text.chunks(PIECE) {
        check_interrupt()?;
        packed.write_all(piece).map_err(failed)?;
    }
    packed.finish().map(Growing::into_bytes).map_err(failed)
}
