//! Cells where nobody edits: lines of a pipe, and of a terminal without escape sequences (`TERM=dumb`), as editors have it for
//! the programs that they run: the system edits a line until Enter ends it. Ctrl-C is a signal, which sets the interrupt flag.

use std::io::{self, IsTerminal as _};

use rustyline::error::ReadlineError;

use super::{Assistant, Prompt};
use crate::typed::{Lines, show};

/// The next cell, at the end of the input unfinished too: who reads it says so. Ctrl-C forgets what there is of it.
pub(crate) fn read(
    prompt: &Prompt,
    assistant: &Assistant,
    lines: &Lines,
) -> rustyline::Result<String> {
    let is_prompted = io::stdin().is_terminal();
    let mut cell = String::new();
    loop {
        if is_prompted {
            show(if cell.is_empty() { &prompt.first } else { &prompt.further })?;
        }
        match lines.next() {
            Err(ReadlineError::Eof) if !cell.is_empty() => return Ok(cell),
            line => cell.push_str(&line?),
        }
        if !assistant.goes_on(&cell) {
            return Ok(cell);
        }
        cell.push('\n');
    }
}
