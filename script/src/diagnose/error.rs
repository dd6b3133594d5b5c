//! A diagnostic: what went wrong, where in the script, and what to do; as text with the source line, a caret and the
//! calls that led there.

use std::fmt;

use crate::diagnose::location::{Location, around, caret};

/// Functions that call each other in a ring, whose calls are shown once.
const MOST_IN_A_RING: usize = 3;
/// Repeated calls that are shown.
const MOST_REPEATED: usize = 2;

/// Why a script stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The text is no program.
    Syntax,
    /// A statement failed.
    Runtime,
    /// Ctrl-C.
    Interrupted,
    /// `exit(code)`: not an error, the script wants to end.
    Exit(u8),
    /// A mistake of ours.
    Internal,
}

/// A failed script, ready to be shown.
#[derive(Clone, Debug, thiserror::Error)]
pub struct Error {
    /// Why it stopped.
    pub kind: ErrorKind,
    /// Operation, got, expected.
    pub message: String,
    /// Where, if known.
    pub location: Option<Location>,
    /// What to do.
    pub hints: Vec<String>,
    /// Function calls and imports that led there, innermost first: what, and where.
    pub calls: Vec<(String, String)>,
}

impl fmt::Display for Error {
    /// Several lines: message, place, source line with caret, hints, calls.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        if let Some(at) = &self.location {
            let number = at.line.to_string();
            let margin = " ".repeat(number.len());
            write!(f, "\n{margin}--> {}:{}:{}", at.source, at.line, at.column)?;
            if !at.text.trim().is_empty() {
                let (line, column) = around(&at.text, at.column);
                let (before, width) = caret(&line, column);
                write!(f, "\n{margin} |\n{number} | {line}")?;
                write!(f, "\n{margin} | {before}{}", "^".repeat(width))?;
            }
        }
        for hint in &self.hints {
            write!(f, "\n  = help: {hint}")?;
        }
        self.write_calls(f)
    }
}

impl Error {
    /// An error without a place.
    pub(crate) fn plain(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), location: None, hints: vec![], calls: vec![] }
    }

    /// The calls, innermost first; those of a recursion once.
    fn write_calls(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.calls.as_slice();
        while let Some((function, place)) = rest.first() {
            let how = if function.starts_with("module ") { "imported" } else { "called" };
            write!(f, "\n  in {function} {how} at {place}")?;
            rest = &rest[1..];
            // Functions may call each other in a ring.
            for ring in 1..=MOST_IN_A_RING {
                let start = self.calls.len() - rest.len();
                let Some(from) = start.checked_sub(ring) else { break };
                let before = &self.calls[from..start];
                let n = rest.chunks(ring).take_while(|calls| *calls == before).count();
                if n * ring > MOST_REPEATED {
                    rest = &rest[n * ring..];
                    write!(f, "\n  .. {} more such calls ..", n * ring)?;
                }
            }
        }
        Ok(())
    }
}
