//! What `porcini-jupyter doctor` finds.

use std::fmt::Write as _;
use std::process::Command;

use crate::install::{is_ours, program_of, search_path};

/// What is installed and whether it starts, and how many of them do not.
pub(crate) fn report() -> (String, usize) {
    let mut text = format!("porcini-jupyter {}\n", env!("CARGO_PKG_VERSION"));
    let jupyter = Command::new("jupyter").arg("--version").output();
    let found = match &jupyter {
        Ok(output) if output.status.success() => {
            let lines = String::from_utf8_lossy(&output.stdout);
            let core = lines.lines().find(|line| line.starts_with("jupyter_core"));
            core.unwrap_or("jupyter").replace(" :", "").trim().to_string()
        }
        _ => "none on the search path: pip install jupyterlab".into(),
    };
    let _ = writeln!(text, "Jupyter: {found}");
    let (mut n_found, mut n_sick) = (0, 0);
    for kernels in search_path() {
        let Ok(entries) = std::fs::read_dir(&kernels) else { continue };
        for folder in entries.flatten().map(|entry| entry.path()) {
            let file = folder.join("kernel.json");
            if !is_ours(&file) {
                continue;
            }
            n_found += 1;
            let program = program_of(&file).unwrap_or_default();
            let version = Command::new(&program).arg("--version").output();
            let state = match version {
                Ok(output) if output.status.success() => {
                    let shown = String::from_utf8_lossy(&output.stdout);
                    format!("starts {}", shown.lines().next().unwrap_or_default())
                }
                _ => {
                    n_sick += 1;
                    let program = program.display();
                    format!("{program} does not start: run porcini-jupyter install again")
                }
            };
            let _ = writeln!(text, "{}: {state}", folder.display());
        }
    }
    if n_found == 0 {
        text.push_str("no kernel is installed: run porcini-jupyter install\n");
    }
    (text, n_sick)
}
