//! Places in scripts that errors point at.

use std::ops::Range;
use std::rc::Rc;

use porcini_core::ScriptLine;
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

/// The line that an error names whose cause ran earlier: of a cell that was typed, by its number; `runs` has name and text
/// of a script, which has no cells.
pub(crate) fn late_location(
    error: &EvalAltResult,
    typed: impl Fn(u32) -> Option<(Rc<str>, Rc<str>)>,
    runs: Option<(&str, &str)>,
) -> Option<Location> {
    let EvalAltResult::ErrorRuntime(value, _) = error else { return None };
    let ScriptLine { cell, line } = ScriptLine::of(value.read_lock::<Fault>()?.line?);
    let cell = if cell > 0 { Some(typed(cell)?) } else { None };
    let (source, text) = cell.as_ref().map(|(source, text)| (&**source, &**text)).or(runs)?;
    let line = usize::try_from(line).ok()?;
    let content = text.lines().nth(line.checked_sub(1)?)?;
    let column = content.chars().take_while(|c| c.is_whitespace()).count() + 1;
    Some(Location { source: source.into(), line, column, text: content.into() })
}

/// The argument of the call that an error tells of.
pub(crate) fn argument_of(error: &EvalAltResult) -> Option<usize> {
    let EvalAltResult::ErrorRuntime(value, _) = error else { return None };
    value.read_lock::<Fault>()?.argument
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

    /// Where an argument of the call at the column stands, if that is in the line. Of functions that are as well methods,
    /// it is the methods' arguments that are counted.
    pub(crate) fn at_argument(self, number: usize) -> Self {
        let (before, behind) = self.halves();
        let name = first_word(behind);
        let is_method = before.ends_with('.');
        let number = number + usize::from(!is_method && matches!(name, "into" | "add_to"));
        let inside = behind[name.len()..].strip_prefix('(');
        let Some(place) = inside.and_then(|inside| argument(inside, number)) else { return self };
        let column = self.column + name.chars().count() + 1 + place;
        Self { column, ..self }
    }

    /// The text, to some way behind the column, and the bytes of the word there.
    pub(crate) fn word(&self) -> (&str, Range<usize>) {
        let (before, behind) = self.halves();
        let behind = &behind[..byte(behind, MOST_BEHIND)];
        let end = before.len() + behind.len();
        (&self.text[..end], before.len()..before.len() + first_word(behind).len())
    }
}

/// The characters before an argument, of the text behind the opening bracket.
fn argument(inside: &str, number: usize) -> Option<usize> {
    let (mut depth, mut left, mut quote, mut is_before) = (0, number, None, true);
    for (place, c) in inside.chars().take(MOST_BEHIND).enumerate() {
        if is_before && left == 0 && depth == 0 && !c.is_whitespace() {
            return (c != ')').then_some(place);
        }
        is_before &= c.is_whitespace();
        match (c, quote) {
            (_, Some(open)) => quote = (c != open).then_some(open),
            ('"' | '`' | '\'', None) => quote = Some(c),
            ('(' | '[' | '{', _) => depth += 1,
            (')', _) if depth == 0 => return None,
            (')' | ']' | '}', _) => depth -= 1,
            (',', _) if depth == 0 => (left, is_before) = (left.checked_sub(1)?, true),
            _ => {}
        }
    }
    None
}

/// The byte at which a character starts, or the text ends.
fn byte(text: &str, character: usize) -> usize {
    text.char_indices().nth(character).map_or(text.len(), |(byte, _)| byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_found() {
        for (text, column, number, want) in [
            ("k(x, [1, 2], y)", 1, 2, 14),
            ("y = k.call(\"a, (b\",  x)", 7, 1, 22),
            ("k.into(y, x)", 3, 1, 11),
            ("into(k, y, x)", 1, 1, 12),
            ("k()", 1, 0, 1),
            ("k(x)", 1, 1, 1),
            ("k + x", 1, 0, 1),
            ("k(f(x, y), ", 1, 1, 1),
        ] {
            let location = Location { source: String::new(), line: 1, column, text: text.into() };
            assert_eq!(location.at_argument(number).column, want, "{text}");
        }
    }

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
