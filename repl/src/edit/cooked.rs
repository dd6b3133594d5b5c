//! Lines of a terminal without escape sequences (`TERM=dumb`), as editors have it for the programs that they run: the
//! system edits a line until Enter ends it, and Ctrl-C is a signal, which sets the interrupt flag.

use std::io::{self, IsTerminal as _};

use super::{Assistant, Prompt};
use crate::typed::{line, show};

/// What rustyline does not edit on.
const TERMINALS: [&str; 3] = ["dumb", "cons25", "emacs"];

/// Whether somebody types on such a terminal.
pub(crate) fn is_used() -> bool {
    let term = std::env::var("TERM").unwrap_or_default();
    io::stdin().is_terminal() && TERMINALS.iter().any(|other| term.eq_ignore_ascii_case(other))
}

/// A cell that is typed; Ctrl-C forgets what there is of it.
pub(crate) fn read(prompt: &Prompt, assistant: &Assistant) -> rustyline::Result<String> {
    let mut cell = String::new();
    loop {
        let before = if cell.is_empty() { &prompt.first } else { &prompt.further };
        show(before)?;
        cell.push_str(line()?.trim_end_matches(['\n', '\r']));
        if !assistant.goes_on(&cell) {
            return Ok(cell);
        }
        cell.push('\n');
    }
}
