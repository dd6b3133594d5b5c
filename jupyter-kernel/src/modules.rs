//! Where `import` looks: the kernel's working folder, and those of `PORCINI_PATH`.

use std::io;
use std::path::{Path, PathBuf};

/// Path and text of the module `name`, imported in the file `importer`.
pub(crate) fn read(importer: Option<&str>, name: &str) -> io::Result<(PathBuf, String)> {
    let listed = std::env::var_os("PORCINI_PATH").unwrap_or_default();
    let listed = std::env::split_paths(&listed).filter(|path| !path.as_os_str().is_empty());
    let roots: Vec<PathBuf> = std::iter::once(PathBuf::from(".")).chain(listed).collect();
    let beside = importer.and_then(|file| Path::new(file).parent()).map(Path::to_path_buf);
    let mut file = PathBuf::from(name);
    if file.extension().is_none() {
        file.set_extension("rhai");
    }
    for folder in beside.iter().chain(&roots) {
        let Ok(path) = folder.join(&file).canonicalize() else { continue };
        let is_inside =
            |root: &PathBuf| root.canonicalize().is_ok_and(|root| path.starts_with(root));
        if !roots.iter().any(is_inside) {
            let outside = "outside the notebook's folder and PORCINI_PATH";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, outside));
        }
        let text = std::fs::read_to_string(&path)?;
        return Ok((path, text));
    }
    let folders: Vec<String> = roots.iter().map(|root| root.display().to_string()).collect();
    let message = format!("{} is not in {}", file.display(), folders.join(", "));
    Err(io::Error::new(io::ErrorKind::NotFound, message))
}
