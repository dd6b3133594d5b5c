//! Files and folders of the system, for hosts that let scripts reach them.

use std::io;
use std::path::{Path, PathBuf};

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
    let folders: Vec<String> = roots.iter().map(|root| root.display().to_string()).collect();
    let message = format!("{} is not in {}", file.display(), folders.join(", "));
    Err(io::Error::new(io::ErrorKind::NotFound, message))
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
