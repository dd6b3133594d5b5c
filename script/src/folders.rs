//! Files and folders of the system, for hosts that let scripts reach them.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use porcini_core::alloc::Bytes;
use porcini_core::interrupt;

/// Bytes read before somebody looks for an interrupt.
const PIECE: usize = 4 << 20;
/// Nothing is reported before this, and nothing twice in this time.
const PATIENCE: Duration = Duration::from_secs(1);
const EVERY: Duration = Duration::from_millis(200);

/// Where `import` looks: a folder, and those of `PORCINI_PATH`.
pub fn search_path(first: PathBuf) -> Vec<PathBuf> {
    let listed = std::env::var_os("PORCINI_PATH").unwrap_or_default();
    let listed = std::env::split_paths(&listed).filter(|path| !path.as_os_str().is_empty());
    std::iter::once(first).chain(listed).collect()
}

/// Path and text of the module `name`: beside the file `importer`, else in the first of `roots` that has it,
/// and inside one of these.
///
/// # Errors
/// It is not there, lies outside or cannot be read.
pub fn read_module(
    roots: &[PathBuf],
    importer: Option<&str>,
    name: &str,
) -> io::Result<(PathBuf, String)> {
    let beside = importer.and_then(|file| Path::new(file).parent()).map(Path::to_path_buf);
    let mut file = PathBuf::from(name);
    if file.extension().is_none() {
        file.set_extension("rhai");
    }
    for folder in beside.iter().chain(roots) {
        let Ok(path) = folder.join(&file).canonicalize() else { continue };
        let inside = |root: &PathBuf| root.canonicalize().is_ok_and(|root| path.starts_with(root));
        if !roots.iter().any(inside) {
            let outside = "outside the script's folder and PORCINI_PATH";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, outside));
        }
        let text = std::fs::read_to_string(&path)?;
        return Ok((path, text));
    }
    let mut folders: Vec<String> = Vec::new();
    for folder in beside.iter().chain(roots) {
        let is_here = folder.as_os_str().is_empty() || folder.as_os_str() == ".";
        let name = if is_here { "the working folder".into() } else { folder.display().to_string() };
        if !folders.contains(&name) {
            folders.push(name);
        }
    }
    let (file, folders) = (file.display(), folders.join(", "));
    let message = format!("{file} is not in {folders} (PORCINI_PATH names more folders)");
    Err(io::Error::new(io::ErrorKind::NotFound, message))
}

/// The contents of a file. What takes longer than a second is reported, and an empty line when it has ended.
///
/// # Errors
/// What the system says; `Interrupted` by Ctrl-C; `OutOfMemory` if there is no room.
pub fn read(path: &str, report: impl Fn(&str)) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    // Pipes and the like do not tell their length.
    let n = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(n).map_err(|_| io::ErrorKind::OutOfMemory)?;
    let mut next = Instant::now() + PATIENCE;
    let mut is_reported = false;
    let result = loop {
        if interrupt::is_requested() {
            break Err(io::Error::from(io::ErrorKind::Interrupted));
        }
        match (&mut file).take(PIECE as u64).read_to_end(&mut bytes) {
            Ok(0) => break Ok(()),
            Ok(_) => {}
            Err(error) => break Err(error),
        }
        if Instant::now() >= next {
            let (read, all) = (Bytes(bytes.len() as u64), Bytes(n.max(bytes.len()) as u64));
            report(&format!("reading {path}: {read} of {all}"));
            (next, is_reported) = (Instant::now() + EVERY, true);
        }
    };
    if is_reported {
        report("");
    }
    match result {
        Ok(()) => Ok(bytes),
        Err(error) => {
            discard(bytes);
            Err(error)
        }
    }
}

/// Frees a block on a thread of its own: of a large one that takes longer than somebody who pressed Ctrl-C waits. It goes
/// piece by piece: meanwhile no other thread gets memory from the system.
pub(crate) fn discard(mut bytes: Vec<u8>) {
    const PIECE: usize = 16 << 20;
    let free = move || {
        while let Some(rest) = bytes.len().checked_sub(PIECE) {
            bytes.truncate(rest);
            bytes.shrink_to_fit();
        }
    };
    // Where there is no thread it is freed here.
    drop(std::thread::Builder::new().spawn(free));
}

/// The names in a folder, folders with a slash, without hidden ones; nothing is the working folder.
///
/// # Errors
/// It cannot be read.
pub fn list(path: &str) -> io::Result<Vec<String>> {
    let folder = if path.is_empty() { "." } else { path };
    let entries = std::fs::read_dir(folder)?.flatten();
    let name = |entry: std::fs::DirEntry| {
        let slash = if entry.path().is_dir() { "/" } else { "" };
        entry.file_name().to_str().map(|name| format!("{name}{slash}"))
    };
    Ok(entries.filter_map(name).filter(|name| !name.starts_with('.')).collect())
}
