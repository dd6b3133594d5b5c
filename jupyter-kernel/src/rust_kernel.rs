//! Notebooks in Rust without another program: with the cargo feature `evcxr` this one is evcxr_jupyter too.

use std::process::ExitCode;

use crate::install::CONTROL_FILE;
use crate::warn::warn;

/// Variables that evcxr sets for the processes that it makes of its own program: those that run cells, and rustc.
const OF_EVCXR: [&str; 2] = ["EVCXR_IS_RUNTIME", "EVCXR_RUSTC_WRAPPER"];

/// Runs evcxr if that is what was started; its exit code.
pub(crate) fn run() -> Option<ExitCode> {
    let is_kernel = std::env::args().nth(1).is_some_and(|argument| argument == CONTROL_FILE);
    if !is_kernel && !OF_EVCXR.iter().any(|name| std::env::var_os(name).is_some()) {
        return None;
    }
    Some(match evcxr_jupyter::main() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            warn(&format!("error: evcxr: {error:#}"));
            ExitCode::FAILURE
        }
    })
}
