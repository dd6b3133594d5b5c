//! Places in scripts that errors point at.

use std::borrow::Cow;

use rhai::{EvalAltResult, Position};

use crate::fault::Fault;

/// Characters of a line that are shown.
const LONGEST_LINE: usize = 160;
/// Where Rhai stops to count columns.
const LAST_COLUMN: usize = u16::MAX as usize;

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
    let column = position.position().unwrap_or(1);
    let line_text = text.lines().nth(line - 1).filter(|_| column < LAST_COLUMN);
    let content = line_text.unwrap_or_default().to_string();
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

/// What is shown of a line around a column, and the column there.
pub(crate) fn around(line: &str, column: usize) -> (Cow<'_, str>, usize) {
    if line.chars().count() <= LONGEST_LINE {
        return (line.into(), column);
    }
    let start = column.saturating_sub(LONGEST_LINE / 2);
    let mut letters = line.chars().skip(start);
    let shown: String = letters.by_ref().take(LONGEST_LINE).collect();
    let cut = |is_cut| if is_cut { "…" } else { "" };
    let (left, right) = (cut(start > 0), cut(letters.next().is_some()));
    (format!("{left}{shown}{right}").into(), column - start + usize::from(start > 0))
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

    #[test]
    fn of_a_long_line_the_part_around_the_caret_is_shown() {
        assert_eq!(around("short", 3), ("short".into(), 3));
        let line = format!("{}here{}", "é".repeat(1000), "é".repeat(1000));
        for (column, begins, ends) in [(1001, true, true), (1, false, true), (2001, true, false)] {
            let (shown, at) = around(&line, column);
            assert!(shown.chars().count() <= LONGEST_LINE + 2);
            assert_eq!((shown.starts_with('…'), shown.ends_with('…')), (begins, ends));
            assert_eq!(shown.chars().nth(at - 1), line.chars().nth(column - 1));
        }
    }
}
