//! Control characters as text. To a terminal they are orders: names of columns and the like come with files of others.

use std::borrow::Cow;
use std::fmt::Write as _;

/// A text whose control characters stand there as a script would write them: `\x1b`. Line ends and tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
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

/// The same on one line: names, and what stands in the cell of a table.
pub(crate) fn in_line(text: &str) -> Cow<'_, str> {
    let text = visible(text);
    if text.contains(['\n', '\t']) {
        return text.replace('\n', "\\n").replace('\t', "\\t").into();
    }
    text
}

/// Whether a terminal does something for it: also what turns the direction of texts, or begins lines.
fn is_order(c: char) -> bool {
    let turns = matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || c.is_control() && !matches!(c, '\n' | '\t')
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(in_line("a\r\n\tb"), "a\\r\\n\\tb");
        assert_eq!(in_line("a b"), "a b");
    }
}
