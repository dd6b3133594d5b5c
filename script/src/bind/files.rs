//! Files: `.npy` and `.npz` of NumPy. All go through the host (S20).

use std::collections::HashSet;
use std::io::{self, Cursor, Read, Write};
use std::ops::Deref;
use std::path::Path;

use porcini_core::memory::caching_allocator::Bytes;
use porcini_core::{Array, Error, interrupt};
use rhai::{Dynamic, EvalAltResult, Map};
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::registry::Registry;
use crate::context::Context;
use crate::fault::{
    IntoFault, Result, advised, check_interrupt, fault, fault_with_hint, outside_fault, placed,
};
use crate::value::growing::Growing;
use crate::value::host_array::HostRef;
use crate::value::npy::{self, Header};
use crate::value::{ArrayRef, type_name};
use crate::world::folders;

/// Bytes that are packed between two looks at the interrupt flag.
const PIECE: usize = 1 << 20;
/// Bytes from which on parts of a device read and write files by themselves.
const SHARED: u64 = 16 << 20;

/// What an archive begins with.
const ZIP: &[u8] = b"PK";
/// Bytes of an unknown beginning that an error shows.
const SHOWN: usize = 12;
/// Names that an error lists.
const MOST_NAMES: usize = 20;

pub(super) fn register(registry: &mut Registry<'_>) {
    npy(registry);
    npz(registry);
}

fn npy(registry: &mut Registry<'_>) {
    registry.doc(
        "read_npy",
        "(path)",
        "The contents of a NumPy .npy file as a host array: FloatC(read_npy(\"x.npy\")). Complex numbers have a last \
         extent of two, real and imaginary part, as Complex2fC takes them; TensorC and TensorXcC make complex entries of \
         them. On a device of several parts each reads its lanes of a long file by itself.\n\n\
         >> write_npy(\"x.npy\", FloatC([1, 2])); FloatC(read_npy(\"x.npy\"))\n[1, 2]",
    );
    registry.any("read_npy", 1, |context, _, args| {
        let path = path("read_npy", args[0])?;
        if let Some(shared) = read_shared(context, &path)? {
            return Ok(shared);
        }
        let bytes = contents(context, "read_npy", &path)?;
        let array = HostRef::from_npy(&context.session, &bytes);
        array.map_err(|error| match bytes.starts_with(ZIP) {
            true => advised(placed(error, &format!("read_npy: {path}")), "use read_npz"),
            false => placed(error, &format!("read_npy: {path}")),
        })
    });
    registry.doc(
        "write_npy",
        "(path, x)",
        "Writes an array or host array as a NumPy .npy file of shape [lanes], [lanes, components] of a vector, [lanes, \
         rows, columns] of a matrix, of a tensor its own; of complex numbers as such. Evaluates. On a device of several \
         parts each writes its lanes of a long array or real tensor by itself.\n\n\
         >> write_npy(\"x.npy\", Int32C([1, 2])); read_npy(\"x.npy\")\n[1, 2]\nndarray i32 [2]",
    );
    registry.any("write_npy", 2, |context, _, args| {
        let path = path("write_npy", args[0])?;
        if write_shared(context, &path, args[1])? {
            return Ok(());
        }
        store(context, "write_npy", &path, &host_array("write_npy", args[1])?.to_npy()?)
    });
}

/// What the parts of a device can read of an `.npy` file by themselves, each its lanes.
fn read_shared(context: &Context, path: &str) -> Result<Option<HostRef>> {
    // What is wrong with a file is told by whoever reads it as a whole.
    let is_shared = context.session.choice().may_have_parts();
    let file = is_shared.then(|| context.host.shared_file(path).ok()).flatten();
    let Some(file) = file.filter(|file| file.size() >= SHARED) else {
        return Ok(None);
    };
    let Ok(head) = file.head(npy::HEAD) else { return Ok(None) };
    let Ok((header, start)) = Header::of_head(&head, file.size()) else { return Ok(None) };
    if !header.is_plain() {
        return Ok(None);
    }
    let n = header.shape.iter().product::<usize>() as u64;
    let array = match context.session.from_file(header.dtype, n, &file, start) {
        // The host may have room for it.
        Err(Error::OutOfMemory { .. }) => None,
        array => array.or_fault().map_err(|error| placed(error, &format!("read_npy: {path}")))?,
    };
    Ok(array.map(|array| HostRef::shared(array, header.shape)))
}

/// Writes an `.npy` file of what the parts of a device have, each its lanes; whether that could be done.
fn write_shared(context: &Context, path: &str, value: &Dynamic) -> Result<bool> {
    let value = value.read_lock::<ArrayRef>().map(|array| array.clone());
    let whole = value.and_then(|value| HostRef::as_one(&value));
    let is_shared = |array: &Array| {
        array.session().choice().may_have_parts()
            && array.literal().is_none()
            && array.bytes() >= SHARED
    };
    let Some((array, shape)) = whole.filter(|(array, _)| is_shared(array)) else {
        return Ok(false);
    };
    let head = npy::written_header(array.dtype(), &shape, false);
    let (start, mut failed) = (head.len() as u64, None);
    let bytes = array.bytes().saturating_add(start);
    let written = context.host.replace_shared(path, &head, bytes, &mut |file| {
        let saved = array.save(file, start).or_fault();
        saved.unwrap_or_else(|error| {
            failed = Some(error);
            false
        })
    });
    let place = format!("write_npy: {path}");
    match failed {
        Some(error) => Err(placed(error, &place)),
        None => written.map_err(|error| outside_fault(&place, &error)),
    }
}

fn npz(registry: &mut Registry<'_>) {
    registry.doc(
        "read_npz",
        "(path, options)",
        "The arrays of a NumPy .npz file as a map of host arrays. Options: #{arrays: [\"a\", \"b\"]} (only these; of texts \
         and objects there are no host arrays).\n\n\
         >> write_npz(\"x.npz\", #{a: FloatC([1, 2])}); FloatC(read_npz(\"x.npz\").a)\n[1, 2]",
    );
    for arity in [1, 2] {
        registry.any("read_npz", arity, |context, _, args| {
            let path = path("read_npz", args[0])?;
            let wanted = args.get(1).map(|options| wanted(options)).transpose()?.flatten();
            let bytes = contents(context, "read_npz", &path)?;
            read_npz(context, &path, &bytes, wanted.as_deref())
        });
    }
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

/// The names of arrays that the options of `read_npz` ask for, if they do.
fn wanted(options: &Dynamic) -> Result<Option<Vec<String>>> {
    let options = map("read_npz", "a map of options second: #{arrays: [\"a\"]}", options)?;
    if let Some(key) = options.keys().find(|key| *key != "arrays") {
        return Err(fault(format!("read_npz: no option {key} (options: arrays)")));
    }
    let Some(value) = options.get("arrays") else { return Ok(None) };
    let list = value.read_lock::<rhai::Array>();
    let list = list.ok_or_else(|| {
        let got = type_name(value);
        fault(format!("read_npz: option arrays: got {got}, expected a list of names"))
    })?;
    Ok(Some(list.iter().map(ToString::to_string).collect()))
}

fn read_npz(context: &Context, path: &str, bytes: &[u8], wanted: Option<&[String]>) -> Result<Map> {
    let failed = |what: &dyn std::fmt::Display| fault(format!("read_npz: {path}: {what}"));
    if bytes.starts_with(npy::MAGIC) {
        let what = format!("read_npz: {path}: this is an .npy file, of one array");
        return Err(fault_with_hint(what, format!("use read_npy: read_npy(\"{path}\")")));
    }
    let archive = ZipArchive::new(Cursor::new(bytes));
    let mut archive = archive.map_err(|error| no_archive(path, bytes, &error))?;
    let mut names = Vec::new();
    for i in 0..archive.len() {
        check_interrupt()?;
        let entry = archive.by_index(i).map_err(|error| failed(&error))?;
        let name = entry.name().map_err(|error| failed(&error))?.into_owned();
        names.extend(name.strip_suffix(".npy").map(|name| (i, name.to_string())));
    }
    // There may be thousands of both.
    let known: HashSet<&str> = names.iter().map(|(_, name)| name.as_str()).collect();
    let has = |wanted: &String| known.contains(wanted.as_str());
    if let Some(unknown) = wanted.into_iter().flatten().find(|wanted| !has(wanted)) {
        let names = listed(names.iter().map(|(_, name)| name.clone()));
        return Err(failed(&format!("no array {unknown} (it has {names})")));
    }
    let wanted: Option<HashSet<&String>> = wanted.map(|wanted| wanted.iter().collect());
    let is_wanted = |name: &String| wanted.as_ref().is_none_or(|wanted| wanted.contains(name));
    let mut arrays = Map::new();
    let memory = context.session.memory_info();
    let mut room = memory.limit.saturating_sub(memory.used);
    for (i, name) in names.iter().filter(|(_, name)| is_wanted(name)) {
        let mut entry = archive.by_index(*i).map_err(|error| failed(&error))?;
        let place = |error| placed(error, &format!("read_npz: {path}: {name}"));
        let npy = unpacked(context, &mut entry, &mut room).map_err(place)?;
        let array = HostRef::from_npy(&context.session, &npy);
        let array = array.map_err(|error| advised(place(error), &without(path, name, &names)))?;
        arrays.insert(name.into(), Dynamic::from(array));
    }
    Ok(arrays)
}

/// Why a file is no archive: its table of contents, which stands at the end, is not there.
fn no_archive(path: &str, bytes: &[u8], error: &ZipError) -> Box<EvalAltResult> {
    let again = "write, copy or download it once more";
    let (what, remedy) = match bytes {
        [] => ("the file is empty".into(), again),
        _ if bytes.starts_with(ZIP) => (
            format!("the file is cut off or damaged: it has no end of an archive ({error})"),
            again,
        ),
        _ => {
            let start = bytes[..bytes.len().min(SHOWN)].escape_ascii();
            (
                format!("this is no .npz file: it begins with \"{start}\""),
                "np.savez and write_npz write them",
            )
        }
    };
    fault_with_hint(format!("read_npz: {path}: {what}"), remedy)
}

/// How the arrays of a file but one are read.
fn without(path: &str, name: &str, names: &[(usize, String)]) -> String {
    let others: Vec<_> = names.iter().filter(|(_, other)| other != name).collect();
    if others.len() > MOST_NAMES {
        let n = others.len();
        return format!("the {n} others are read by read_npz with #{{arrays: a list of names}}");
    }
    let others = listed(others.iter().map(|(_, other)| format!("\"{other}\"")));
    format!("the others are read by read_npz(\"{path}\", #{{arrays: [{others}]}})")
}

/// Names one by one, of many the first.
fn listed(mut names: impl Iterator<Item = String>) -> String {
    let mut some: Vec<String> = names.by_ref().take(MOST_NAMES).collect();
    some.extend(names.next().map(|_| "..".into()));
    some.join(", ")
}

/// What an entry of an archive unpacks to. How much that is only shows on the way: what entries say may be wrong, and a
/// small file may hold more than any memory.
pub(super) fn unpacked(
    context: &Context,
    entry: &mut impl Read,
    room: &mut u64,
) -> Result<Contents> {
    let mut bytes = Contents(Vec::new());
    loop {
        check_interrupt()?;
        let read = folders::read_piece(entry, &mut bytes.0);
        let n = read.map_err(|error| fault(error.to_string()))? as u64;
        if n == 0 {
            return Ok(bytes);
        }
        context.session.check_file_memory(bytes.len() as u64).or_fault()?;
        *room = room.checked_sub(n).ok_or_else(|| {
            let unpacked = Bytes(bytes.len() as u64);
            fault(format!("out of memory: {unpacked} unpacked are more than the limit leaves"))
        })?;
    }
}

fn write_npz(path: &str, arrays: &Map) -> Result<Vec<u8>> {
    let failed = |what: &dyn std::fmt::Display| fault(format!("write_npz: {path}: {what}"));
    let mut archive = ZipWriter::new(Growing::default());
    let options =
        SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
    for (name, value) in arrays {
        let npy = host_array(&format!("write_npz: {name}"), value)?.to_npy()?;
        archive.start_file(format!("{name}.npy"), options).map_err(|error| failed(&error))?;
        for piece in npy.chunks(PIECE) {
            check_interrupt()?;
            archive.write_all(piece).map_err(|error| failed(&error))?;
        }
    }
    archive.finish().map(Growing::into_bytes).map_err(|error| failed(&error))
}

fn host_array(op: &str, value: &Dynamic) -> Result<HostRef> {
    if let Some(host) = value.read_lock::<HostRef>() {
        return Ok(host.clone());
    }
    let array = value.read_lock::<ArrayRef>().map(|array| array.clone());
    match array {
        Some(array) => HostRef::for_file(&array),
        None => Err(fault(format!("{op}: got {}, expected an array", type_name(value)))),
    }
}

/// The bytes of a file.
pub(super) struct Contents(Vec<u8>);

impl Deref for Contents {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for Contents {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Drop for Contents {
    fn drop(&mut self) {
        if interrupt::is_requested() {
            folders::discard(std::mem::take(&mut self.0));
        }
    }
}

pub(super) fn contents(context: &Context, op: &str, path: &str) -> Result<Contents> {
    let bytes = context.read_file(path);
    bytes.map(Contents).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound if Path::new(path).is_relative() => {
            let folder =
                context.host.folder().map_or_else(|_| String::new(), |at| format!(", {at}"));
            let hint = format!("paths start at the working folder{folder}");
            fault_with_hint(format!("{op}: {path}: {error}"), hint)
        }
        io::ErrorKind::IsADirectory => {
            let hint = format!("list_folder(\"{path}\") has the names in it");
            fault_with_hint(format!("{op}: {path}: {error}"), hint)
        }
        _ => outside_fault(&format!("{op}: {path}"), &error),
    })
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

pub(super) fn map(op: &str, expected: &str, value: &Dynamic) -> Result<Map> {
    let map = value.read_lock::<Map>().map(|map| map.clone());
    map.ok_or_else(|| fault(format!("{op}: got {}, expected {expected}", type_name(value))))
}
