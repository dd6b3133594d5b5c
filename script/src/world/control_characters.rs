//! Control characters as text. To a terminal they are orders: a script that is not trusted could write into the
//! clipboard, or over what was said before.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::diagnose::error::Error;
use crate::show::outcome::Outcome;

/// A text whose control characters stand there as a script would write them: `\x1b`. Line ends and tabs stay.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_order) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        // Writing into a text does not fail.
        let _ = match u32::from(c) {
            _ if !is_order(c) => write!(shown, "{c}"),
            0x0d => write!(shown, "\\r"),
            code @ ..0x80 => write!(shown, "\\x{code:02x}"),
            code => write!(shown, "\\u{code:04x}"),
        };
    }
    shown.into()
}

/// Whether a terminal does something for it: also what turns the direction of texts, or begins lines.
fn is_order(c: char) -> bool {
    let turns = matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || c.is_control() && !matches!(c, '\n' | '\t')
}

/// What a cell gave, in visible characters.
pub(crate) fn in_outcome(outcome: Outcome) -> Outcome {
    let text = |text: Option<String>| text.map(owned);
    Outcome { text: text(outcome.text), next_input: text(outcome.next_input), ..outcome }
}

/// A diagnostic in visible characters; its caret stays where it was.
pub(crate) fn in_error(mut error: Box<Error>) -> Box<Error> {
    error.message = owned(error.message);
    error.hints = error.hints.into_iter().map(owned).collect();
    error.calls = error.calls.into_iter().map(|(what, at)| (owned(what), owned(at))).collect();
    if let Some(at) = &mut error.location {
        let before: String = at.text.chars().take(at.column.saturating_sub(1)).collect();
        at.column += visible(&before).chars().count() - before.chars().count();
        at.source = visible(&at.source).into_owned();
        at.text = visible(&at.text).into_owned();
    }
    error
}

fn owned(text: String) -> String {
    match visible(&text) {
        Cow::Owned(shown) => shown,
        Cow::Borrowed(_) => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::error::ErrorKind;
    use crate::diagnose::location::Location;

    #[test]
    fn orders_to_a_terminal_become_text() {
        for (text, shown) in [
            ("a\n\tb", "a\n\tb"),
            ("äö→😀", "äö→😀"),
            ("\x1b[31mred", "\\x1b[31mred"),
            ("\x1b]52;c;YQ==\x07", "\\x1b]52;c;YQ==\\x07"),
            ("good\rbad\x08\x7f\0", "good\\rbad\\x08\\x7f\\x00"),
            ("\u{9b}2J\u{85}", "\\u009b2J\\u0085"),
        ] {
            assert_eq!(visible(text), shown);
            assert_eq!(visible(shown), shown);
        }
    }

    #[test]
    fn carets_stay_below_their_words() {
        let text = "print(\"\x1b\"); nosuch".to_string();
        let column = text.find("nosuch").unwrap() + 1;
        let mut error = Box::new(Error::plain(ErrorKind::Runtime, "\x07"));
        error.location = Some(Location { source: "a\rb".into(), line: 1, column, text });
        let shown = in_error(error).to_string();
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[0], "error: \\x07");
        assert_eq!(lines[1], " --> a\\rb:1:16");
        assert_eq!(lines[4].find('^'), lines[3].find("nosuch"));
    }
}
