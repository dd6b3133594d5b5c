//! Finds and runs `ptxas`.

use std::path::{Path, PathBuf};
use std::process::Command;

/// `PORCINI_PTXAS`, else from the search path, else from the virtual environment of the workspace.
pub(super) fn find_ptxas() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("PORCINI_PTXAS").filter(|path| !path.is_empty()) {
        return Some(path.into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join("ptxas"));
    on_path.chain(in_environment()).find(|path| path.is_file())
}

/// The root of the repository, or of a copy of what the tests read from it: `PORCINI_ROOT`.
pub(super) fn root() -> PathBuf {
    let copy = std::env::var_os("PORCINI_ROOT").filter(|root| !root.is_empty());
    copy.map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), PathBuf::from)
}

/// The package nvidia-cuda-nvcc puts it at `nvidia/cu13/bin` (version 13) or `nvidia/cuda_nvcc/bin`
/// (version 12) below `site-packages`.
fn in_environment() -> Vec<PathBuf> {
    let root = root().join(".venv/lib");
    let packages = children(&root).into_iter().map(|python| python.join("site-packages/nvidia"));
    packages.flat_map(|nvidia| children(&nvidia)).map(|part| part.join("bin/ptxas")).collect()
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Assembles a module; its first complaints if it has any.
pub(super) fn run(ptxas: &Path, capability: u32, name: &str, text: &str) -> Result<(), String> {
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).to_path_buf();
    let folder = if built.is_dir() { built } else { std::env::temp_dir() };
    let source = folder.join(format!("{name}_{capability}.ptx"));
    std::fs::write(&source, text).map_err(|error| error.to_string())?;
    let output = Command::new(ptxas)
        .arg(format!("-arch=sm_{capability}"))
        .arg("-o")
        .arg(source.with_extension("cubin"))
        .arg(&source)
        .output()
        .map_err(|error| format!("{}: {error}", ptxas.display()))?;
    if output.status.success() {
        return Ok(());
    }
    let complaints = String::from_utf8_lossy(&output.stderr);
    let first: Vec<&str> = complaints.lines().take(8).collect();
    Err(format!("{}\n{}", source.display(), first.join("\n")))
}
