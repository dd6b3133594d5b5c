//! Whether a text can be run, or needs more lines.

use rhai::{LexError, ParseError, ParseErrorType};

use crate::interpreter::{Interpreter, without_shebang};
use crate::scan::scan;
use crate::semicolons;

/// Blanks that a bracket indents by.
const INDENT: usize = 4;

/// Whether a text can be run as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completeness {
    /// It can.
    Complete,
    /// More lines are needed; the next one is indented by so many blanks.
    Incomplete {
        /// Blanks.
        indent: usize,
    },
    /// It cannot, whatever follows.
    Invalid,
}

impl Interpreter {
    /// Whether a text can be run, or needs more lines.
    pub fn is_complete(&self, text: &str) -> Completeness {
        // A command needs lines as its code does.
        let script = self.without_command(text);
        self.is_script_complete(&script)
    }

    /// Whether the code of a command goes on in the next line.
    pub(crate) fn goes_on(&self, text: &str) -> bool {
        matches!(self.is_complete(text), Completeness::Incomplete { .. })
    }

    fn is_script_complete(&self, text: &str) -> Completeness {
        let scanned = scan(text);
        let indent = INDENT * scanned.depth;
        if scanned.inside {
            return Completeness::Incomplete { indent: 0 };
        }
        match semicolons::compile(&self.engine, without_shebang(text)) {
            Ok(_) => Completeness::Complete,
            Err(error) if scanned.depth > 0 || ends_early(&error, text) => {
                Completeness::Incomplete { indent }
            }
            Err(_) => Completeness::Invalid,
        }
    }
}

/// Whether the parser wanted more text than there is.
fn ends_early(error: &ParseError, text: &str) -> bool {
    let at_end = error.position().line().is_none_or(|line| line >= text.trim_end().lines().count());
    match error.err_type() {
        ParseErrorType::UnexpectedEOF => true,
        ParseErrorType::BadInput(LexError::UnterminatedString) => {
            text.matches('`').count() % 2 == 1
        }
        ParseErrorType::MissingToken(..)
        | ParseErrorType::VariableExpected
        | ParseErrorType::PropertyExpected
        | ParseErrorType::FnMissingParams(_) => {
            // A line that ends with an operator goes on.
            at_end && scan(text).last.is_some_and(|c| "+-*/%&|^=<>,.(".contains(c))
        }
        _ => false,
    }
}
