//! What a command was given, and its error.

use std::ops::Range;

use crate::diagnose::error::{Error, ErrorKind};
use crate::language::cell::{Cell, Piece};
use crate::world::host::Host;

/// What a command was given.
pub(super) struct Argument<'a> {
    pub(super) cell: &'a Cell,
    /// The command with all that belongs to it.
    pub(super) piece: &'a Piece,
    /// What stands behind the name of the command.
    pub(super) text: &'a str,
    /// Name of the cell.
    pub(super) name: &'a str,
}

impl Argument<'_> {
    /// The bytes of the argument in the cell.
    pub(super) fn bytes(&self) -> Range<usize> {
        self.piece.end - self.text.len()..self.piece.end
    }

    /// A path, which may stand in quotes.
    pub(super) fn path(&self, host: &dyn Host) -> String {
        at_home(self.text.trim().trim_matches('"'), host)
    }
}

/// A path whose first letter may stand for the folder of the user, as in a system's shell.
pub(super) fn at_home(path: &str, host: &dyn Host) -> String {
    let rest = path.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    rest.and_then(|rest| Some(host.variable("HOME")? + rest)).unwrap_or_else(|| path.into())
}

/// The error of a command.
pub(super) fn failed(message: impl Into<String>, hint: impl Into<String>) -> Box<Error> {
    let mut error = Error::plain(ErrorKind::Runtime, message);
    error.hints.push(hint.into());
    Box::new(error)
}
