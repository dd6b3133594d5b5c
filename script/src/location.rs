//! Places in scripts that errors point at.

use rhai::{EvalAltResult, Position};

use crate::fault::Fault;

/// A place in a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// File or cell.
    pub source: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Text of the line.
    pub text: String,
}

pub(crate) fn line_of(position: Position) -> String {
    position.line().map_or_else(|| "?".into(), |line| line.to_string())
}

pub(crate) fn location(position: Position, source: &str, text: &str) -> Option<Location> {
    let line = position.line()?;
    let content = text.lines().nth(line - 1).unwrap_or("").to_string();
    let column = position.position().unwrap_or(1);
    // Of a member Rhai names the dot.
    let mut letters = content.chars().skip(column.saturating_sub(1));
    let behind =
        matches!((letters.next(), letters.next()), (Some('.'), Some(next)) if next.is_alphabetic());
    Some(Location {
        source: source.into(),
        line,
        column: column + usize::from(behind),
        text: content,
    })
}

/// The line that an error names whose cause ran earlier.
pub(crate) fn late_location(error: &EvalAltResult, source: &str, text: &str) -> Option<Location> {
    let EvalAltResult::ErrorRuntime(value, _) = error else { return None };
    let line = usize::try_from(value.read_lock::<Fault>()?.line?).ok()?;
    let content = text.lines().nth(line - 1)?;
    let column = content.chars().take_while(|c| c.is_whitespace()).count() + 1;
    Some(Location { source: source.into(), line, column, text: content.into() })
}

/// The blank text before the caret (tabs kept) and the width of the token under it.
pub(crate) fn caret(line: &str, column: usize) -> (String, usize) {
    let before = line.chars().take(column.saturating_sub(1));
    let before = before.map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
    let token = line.chars().skip(column.saturating_sub(1));
    let width = token.take_while(|c| c.is_alphanumeric() || *c == '_').count();
    (before, width.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carets_keep_tabs() {
        assert_eq!(caret("\tabc + d", 2), ("\t".into(), 3));
        assert_eq!(caret("a + b", 3), ("  ".into(), 1));
    }
}
