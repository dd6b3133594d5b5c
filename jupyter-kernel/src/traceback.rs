//! Errors as notebooks show them.

use porcini_script::{Error, ErrorKind};

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

/// Its lines, in colours that are read on white and on red.
pub(crate) fn lines(error: &Error) -> Vec<String> {
    error.report(name(error), None, true).lines().map(Into::into).collect()
}
