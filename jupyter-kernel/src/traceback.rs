//! Errors as notebooks show them.

use porcini_script::{Error, ErrorKind};

const RED: &str = "\x1b[1;31m";
const BLUE: &str = "\x1b[34m";
const RESET: &str = "\x1b[0m";

/// The name of an error: what Jupyter calls `ename`.
pub(crate) fn name(error: &Error) -> &'static str {
    match error.kind {
        ErrorKind::Syntax => "SyntaxError",
        ErrorKind::Runtime => "RuntimeError",
        ErrorKind::Interrupted => "Interrupted",
        ErrorKind::Internal => "InternalError",
        ErrorKind::Exit(_) => "Exit",
    }
}

/// Its lines: message in red; place, caret and hints in blue, which is read on red and on white.
pub(crate) fn lines(error: &Error) -> Vec<String> {
    let text = error.to_string();
    let paint = |line: &str| {
        if let Some(message) = line.strip_prefix("error: ") {
            return format!("{RED}{}{RESET}: {message}", name(error));
        }
        let mark = line.trim_start();
        let is_caret = mark.starts_with("| ") && mark.ends_with('^');
        if is_caret || mark.starts_with("-->") || mark.starts_with("= help:") {
            format!("{BLUE}{line}{RESET}")
        } else {
            line.into()
        }
    };
    text.lines().map(paint).collect()
}
