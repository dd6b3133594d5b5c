//! What the process answers with when it ends.

use porcini_core::interrupt::{self, Cause};
use porcini_script::{Error, ErrorKind, Interpreter};

use crate::{print, signals};

pub(crate) const OK: u8 = 0;
pub(crate) const SCRIPT_ERROR: u8 = 1;
pub(crate) const WRONG_USAGE: u8 = 2;
pub(crate) const INTERRUPTED: u8 = 130;

/// Shows a diagnostic; the exit code that it stands for.
pub(crate) fn report(error: &Error) -> u8 {
    if error.kind == ErrorKind::Interrupted && signals::is_asked() {
        print::error(&Error { message: signals::why_stopped().into(), ..error.clone() });
    } else if !error.is_exit_alone() {
        print::error(error);
    }
    exit_code(error)
}

/// The exit code that an error stands for.
pub(crate) fn exit_code(error: &Error) -> u8 {
    match error.kind {
        ErrorKind::Exit(code) => code,
        ErrorKind::Interrupted => INTERRUPTED,
        // A rank that does not answer keeps what was interrupted from saying so. The sandbox and memory ask for the end, too.
        ErrorKind::Runtime if is_of_rank(error) && interrupt::cause() == Some(Cause::Asked) => {
            INTERRUPTED
        }
        ErrorKind::Syntax | ErrorKind::Runtime | ErrorKind::Internal => SCRIPT_ERROR,
    }
}

fn is_of_rank(error: &Error) -> bool {
    ["rank ", "no device \"rank "].iter().any(|start| error.message.starts_with(start))
}

/// Does what is still to be done at the end; the exit code, if there was one before that tells more than that all went well.
pub(crate) fn end(interpreter: &mut Interpreter, code: Option<u8>) -> u8 {
    let ended = interpreter.end().map_or_else(|error| report(&error), |()| OK);
    code.filter(|&code| code != OK).unwrap_or(ended)
}
