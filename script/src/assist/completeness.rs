//! Whether a text can be run, or needs more lines.

use rhai::{ParseError, ParseErrorType};

use crate::assist::commands::{is_open_text, takes_lines};
use crate::interpreter::Interpreter;
use crate::language::cell::{Cell, Piece};

/// Blanks that a bracket indents by.
const INDENT: usize = 4;

/// How a statement can go on whose head is all that was typed: of `while x`, `fn`, `fn f`, `for i`, `try {}` and the like.
const ENDS: [&str; 8] = [
    "{}",
    "{}\nwhile true",
    "while true",
    "{}\ncatch {}",
    "catch {}",
    "in 0..1 {}",
    "() {}",
    "f() {}",
];

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
    /// Whether a cell can be run, or needs more lines.
    pub fn is_complete(&self, cell: &Cell) -> Completeness {
        let Some(last) = cell.pieces().last() else { return Completeness::Complete };
        if is_open_text(cell.code(last)) {
            let n_blank = cell.text().rsplit('\n').take_while(|line| line.trim().is_empty());
            // A blank line inside of a function does not end it; two give up.
            let is_open = cell.text().matches('{').count() > cell.text().matches('}').count();
            return match n_blank.count() > usize::from(is_open) {
                true => Completeness::Complete,
                false => Completeness::Incomplete { indent: 0 },
            };
        }
        let end = cell.lexemes_of(last).last();
        if end.is_some_and(|end| end.is_inside()) {
            return Completeness::Incomplete { indent: 0 };
        }
        if let Some(end) = end.filter(|end| end.depth > 0) {
            return Completeness::Incomplete { indent: INDENT * end.depth };
        }
        match self.first_mistake(cell) {
            // As many lines as there are, up to a blank one.
            None if takes_lines(cell.code(last)) && !ends_blank(cell.text()) => {
                Completeness::Incomplete { indent: 0 }
            }
            None => Completeness::Complete,
            Some((piece, error))
                if ends_early(&error, cell, piece) || self.is_head(&error, cell) =>
            {
                Completeness::Incomplete { indent: 0 }
            }
            Some(_) => Completeness::Invalid,
        }
    }

    /// Whether the mistake is that the rest of a statement is missing.
    fn is_head(&self, error: &ParseError, cell: &Cell) -> bool {
        let goes_on = |end| {
            let text = format!("{}\n{end}", cell.text());
            self.first_mistake(&Cell::typed(&text)).is_none()
        };
        let is_possible = match error.err_type() {
            ParseErrorType::MissingToken(..)
            | ParseErrorType::FnMissingName
            | ParseErrorType::FnMissingParams(_)
            | ParseErrorType::FnMissingBody(_) => is_in_last_line(error, cell),
            _ => false,
        };
        is_possible && ENDS.into_iter().any(goes_on)
    }

    /// The first mistake of syntax, and the piece that it is in.
    fn first_mistake<'c>(&self, cell: &'c Cell) -> Option<(&'c Piece, ParseError)> {
        let mistake = |piece| Some((piece, cell.program(&self.engine, piece).err()?));
        cell.pieces().iter().find_map(mistake)
    }
}

/// Whether the last line is blank.
fn ends_blank(text: &str) -> bool {
    text.rsplit_once('\n').is_some_and(|(_, last)| last.trim().is_empty())
}

/// Whether the parser stopped in the last line that is not blank, or behind it.
fn is_in_last_line(error: &ParseError, cell: &Cell) -> bool {
    let n_lines = || cell.text().trim_end().lines().count();
    error.position().line().is_none_or(|line| line >= n_lines())
}

/// Whether the parser wanted more text than there is.
fn ends_early(error: &ParseError, cell: &Cell, piece: &Piece) -> bool {
    match error.err_type() {
        ParseErrorType::UnexpectedEOF => true,
        ParseErrorType::MissingToken(..)
        | ParseErrorType::VariableExpected
        | ParseErrorType::PropertyExpected
        | ParseErrorType::FnMissingParams(_) => {
            is_in_last_line(error, cell)
                && cell.last_of(piece).is_some_and(|last| last.wants_operand(cell.text()))
        }
        _ => false,
    }
}
