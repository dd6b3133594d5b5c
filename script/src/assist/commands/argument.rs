//! What a command was given, and its error.

use crate::diagnose::error::{Error, ErrorKind};

/// What a command was given.
pub(super) struct Argument<'a> {
    /// The command as it was typed up to its argument: `%time `.
    pub(super) head: &'a str,
    pub(super) text: &'a str,
    /// Name of the cell.
    pub(super) cell: &'a str,
}

impl Argument<'_> {
    /// The argument as a script in which every character stands where it was typed.
    pub(super) fn script(&self) -> String {
        let blank = |c: char| if c == '\n' { '\n' } else { ' ' };
        self.head.chars().map(blank).chain(self.text.chars()).collect()
    }
}

/// The error of a command.
pub(super) fn failed(message: impl Into<String>, hint: impl Into<String>) -> Box<Error> {
    let mut error = Error::plain(ErrorKind::Runtime, message);
    error.hints.push(hint.into());
    Box::new(error)
}
