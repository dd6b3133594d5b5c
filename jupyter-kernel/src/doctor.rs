//! What `porcini-jupyter doctor` finds.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::install::{CONTROL_FILE, EVCXR, argument, home, is_ours, search_path, spec};
use crate::trial;

/// A module of the package porcini-notebooks.
const MODULE: &str = "porcini_pygments";

/// What is installed and whether it starts, and how many of them do not.
pub(crate) fn report() -> (String, usize) {
    let mut text = format!("porcini-jupyter {}\n", env!("CARGO_PKG_VERSION"));
    let jupyter = Command::new(beside("jupyter")).arg("--version").output();
    let found = match &jupyter {
        Ok(output) if output.status.success() => {
            let lines = String::from_utf8_lossy(&output.stdout);
            let core = lines.lines().find(|line| line.starts_with("jupyter_core"));
            core.unwrap_or("jupyter").replace(" :", "").trim().to_string()
        }
        _ => "none on the search path: pip install jupyterlab".into(),
    };
    let _ = writeln!(text, "Jupyter: {found}");
    text.push_str(&package());
    let (mut n_found, mut n_sick) = (0, 0);
    let is_stopped = stop_flag();
    let entries = search_path().into_iter().filter_map(|kernels| kernels.read_dir().ok()).flatten();
    for folder in entries.flatten().map(|entry| entry.path()) {
        let file = folder.join("kernel.json");
        if !is_ours(&file) {
            continue;
        }
        n_found += 1;
        let found = starts(&file, &is_stopped);
        n_sick += usize::from(found.is_err());
        let (Ok(state) | Err(state)) = found;
        let _ = writeln!(text, "{}: {state}", folder.display());
        if is_stopped.load(Ordering::Relaxed) {
            break;
        }
    }
    if n_found == 0 {
        text.push_str("no kernel is installed: run porcini-jupyter install\n");
    }
    (text, n_sick)
}

/// Set by Ctrl-C and SIGTERM, so that what a trial has made goes; the second one ends the program.
fn stop_flag() -> Arc<AtomicBool> {
    let is_stopped = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        let ends = flag::register_conditional_default(signal, is_stopped.clone());
        // Without it the system's way stays.
        drop(ends.and_then(|_| flag::register(signal, is_stopped.clone())));
    }
    is_stopped
}

/// A program of the environment that this one lives in, if it has it; else what the search path has.
fn beside(name: &str) -> PathBuf {
    let own = home().map(|home| home.join("bin").join(name)).filter(|path| path.is_file());
    own.unwrap_or_else(|| name.into())
}

/// A line about the Python package that nbconvert and papermill ask; nothing where there is no Python.
pub(crate) fn package() -> String {
    let python = beside("python3");
    let look = format!(
        "import importlib.util, sys; sys.exit(3 * (not importlib.util.find_spec({MODULE:?})))"
    );
    let Ok(output) = Command::new(&python).args(["-c", &look]).output() else {
        return String::new();
    };
    let found = match output.status.code() {
        Some(0) => "installed",
        _ => "not installed; pip install ./jupyter-kernel/python in Porcini's sources",
    };
    let python = python.display();
    format!(
        "porcini-notebooks of {python} (colours for nbconvert, parameters for papermill): {found}\n"
    )
}

/// What a kernelspec starts, or why it does not.
fn starts(file: &Path, is_stopped: &AtomicBool) -> Result<String, String> {
    let program = argument(file, 0).unwrap_or_default();
    // That program has no --version.
    let is_evcxr = Path::new(&program).file_stem().is_some_and(|stem| stem == EVCXR);
    let asked = if is_evcxr { "--help" } else { "--version" };
    let said = match Command::new(&program).arg(asked).output() {
        Ok(output) if output.status.success() => output.stdout,
        _ => return Err(format!("{program} does not start: run porcini-jupyter install again")),
    };
    let said = String::from_utf8_lossy(&said);
    let name = if is_evcxr { EVCXR } else { said.lines().next().unwrap_or_default() };
    let is_rust = argument(file, 1).is_some_and(|argument| argument == CONTROL_FILE);
    if is_rust && !name.contains("evcxr") {
        return Err(format!("{name} runs no Rust: run porcini-jupyter install --rust again"));
    }
    if is_evcxr || is_rust {
        return Ok(format!("starts {name}"));
    }
    match trial::start(&spec(file).unwrap_or_default(), is_stopped) {
        Ok(warned) if warned.is_empty() => Ok(format!("starts {name}")),
        Ok(warned) => Ok(format!("starts {name}\n{warned}")),
        Err(why) => Err(format!("does not start: {why}")),
    }
}
