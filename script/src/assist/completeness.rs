//! Whether a text can be run, or needs more lines.

use rhai::{LexError, ParseError, ParseErrorType};

use crate::interpreter::{Interpreter, without_shebang};
use crate::language::lexer::{Ending, Lines, ending, is_operator};
use crate::language::semicolons;

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

    /// First line and text of each statement of a script: lines join until they are complete.
    pub fn statements<'t>(&self, text: &'t str) -> Vec<(usize, &'t str)> {
        let mut statements = Vec::new();
        let mut lines = Lines::new(text);
        // Line and byte at which the open one begins.
        let mut open: Option<(usize, usize)> = None;
        let mut end = 0;
        for (i, line) in text.split_inclusive('\n').enumerate() {
            let start = end;
            end += line.len();
            if open.is_none() && (line.trim().is_empty() || (i == 0 && line.starts_with("#!"))) {
                continue;
            }
            let (first, from) = *open.get_or_insert((i + 1, start));
            let statement = text[from..end].trim_end_matches(['\n', '\r']);
            let is_complete =
                || !matches!(self.is_complete(statement), Completeness::Incomplete { .. });
            if end == text.len() || !lines.are_open_at(end) && is_complete() {
                statements.push((first, statement));
                open = None;
            }
        }
        let is_code = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
        statements.retain(|(_, statement)| statement.lines().any(is_code));
        statements
    }

    fn is_script_complete(&self, text: &str) -> Completeness {
        let text = without_shebang(text);
        let end = ending(text);
        if end.inside {
            return Completeness::Incomplete { indent: 0 };
        }
        let incomplete = Completeness::Incomplete { indent: INDENT * end.depth };
        if end.depth > 0 {
            return incomplete;
        }
        match semicolons::compile(&self.engine, text) {
            Ok(_) => Completeness::Complete,
            Err(error) if ends_early(&error, text, end) => incomplete,
            Err(_) => Completeness::Invalid,
        }
    }
}

/// Whether the parser wanted more text than there is.
fn ends_early(error: &ParseError, text: &str, end: Ending) -> bool {
    let at_end = error.position().line().is_none_or(|line| line >= text.trim_end().lines().count());
    match error.err_type() {
        ParseErrorType::UnexpectedEOF => true,
        ParseErrorType::BadInput(LexError::UnterminatedString) => {
            text.matches('`').count() % 2 == 1
        }
        ParseErrorType::MissingToken(..)
        | ParseErrorType::VariableExpected
        | ParseErrorType::PropertyExpected
        | ParseErrorType::FnMissingParams(_) => at_end && end.last.is_some_and(is_operator),
        _ => false,
    }
}
