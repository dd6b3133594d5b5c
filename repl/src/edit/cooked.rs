//! Cells where nobody edits: lines of a pipe, and of a terminal without escape sequences (`TERM=dumb`), as editors have it for
//! the programs that they run: the system edits a line until Enter ends it. Ctrl-C is a signal, which sets the interrupt flag.

use std::io::{self, IsTerminal as _};

use rustyline::error::ReadlineError;

use super::{Assistant, Prompt};
use crate::typed::{Lines, show};

/// What rustyline does not edit on.
const TERMINALS: [&str; 3] = ["dumb", "cons25", "emacs"];

/// Whether cells come through a pipe, or from such a terminal.
pub(crate) fn is_used() -> bool {
    let term = std::env::var("TERM").unwrap_or_default();
    !io::stdin().is_terminal() || TERMINALS.iter().any(|other| term.eq_ignore_ascii_case(other))
}

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
