//! Places in scripts that errors point at.

use std::ops::Range;

use rhai::{EvalAltResult, Position};

use crate::fault::Fault;
use crate::language::words::first_word;

/// Characters behind the column that are looked at: no window shows more.
const MOST_BEHIND: usize = 1000;
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

/// The method that was in use when a closure given to it used its value again, as Rhai names it.
pub(crate) fn method_in_use(of: &str) -> Option<&str> {
    of.strip_prefix("argument #1 of function '")?.strip_suffix('\'')
}

/// The call of that method, if there is but one: Rhai does not say where it is.
pub(crate) fn used_location(error: &EvalAltResult, source: &str, text: &str) -> Option<Location> {
    let EvalAltResult::ErrorDataRace(of, _) = error else { return None };
    let call = format!(".{}(", method_in_use(of)?);
    let mut calls = text.lines().zip(1..).filter(|(content, _)| content.contains(&call));
    let (content, line) = calls.next().filter(|_| calls.next().is_none())?;
    let column = content.chars().count() - content.split_once(&call)?.1.chars().count();
    let column = column - call.chars().count() + 2;
    Some(Location { source: source.into(), line, column, text: content.into() })
}

impl Location {
    /// The text before the column, and from there on.
    pub(crate) fn halves(&self) -> (&str, &str) {
        self.text.split_at(byte(&self.text, self.column.saturating_sub(1)))
    }

    /// The text, to some way behind the column, and the bytes of the word there.
    pub(crate) fn word(&self) -> (&str, Range<usize>) {
        let (before, behind) = self.halves();
        let behind = &behind[..byte(behind, MOST_BEHIND)];
        let end = before.len() + behind.len();
        (&self.text[..end], before.len()..before.len() + first_word(behind).len())
    }
}

/// The byte at which a character starts, or the text ends.
fn byte(text: &str, character: usize) -> usize {
    text.char_indices().nth(character).map_or(text.len(), |(byte, _)| byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_bytes() {
        let word = |text: &str, column| {
            let at = Location { source: String::new(), line: 1, column, text: text.into() };
            let (shown, word) = at.word();
            (shown.len(), shown[word].to_string())
        };
        assert_eq!(word("é = nosuch + 1", 5), (15, "nosuch".into()));
        assert_eq!(word("a + b", 3), (5, String::new()));
        assert_eq!(word("a", 70), (1, String::new()));
        let (shown, long) = word(&"a".repeat(1 << 20), 3);
        assert_eq!((shown, long.len()), (MOST_BEHIND + 2, MOST_BEHIND));
    }
}
