//! A cell of several lines as it is edited: one text. Behind each line end that Enter adds stands a [`GUTTER`], blanks of
//! the prompt's width that are drawn as `... ` and are no part of the cell; then a [`LEVEL`] for each bracket that is
//! open. Their first characters are blanks that nobody types, so that keys can find them; [`plain`] makes them what they
//! look like.

use super::transcript::without_prompts;

/// What a cell is typed behind.
pub(crate) const PROMPT: &str = ">>> ";
/// What its further lines are typed behind, as it is drawn.
pub(super) const CONTINUATION: &str = "... ";
/// The same as it stands in the text.
pub(super) const GUTTER: &str = "\u{a0}\u{a0}\u{a0}\u{a0}";
/// A level of indentation.
pub(super) const LEVEL: &str = "\u{2007}   ";

/// A typed text without its gutters: the cell.
pub(crate) fn cell(text: &str) -> String {
    without_prompts(plain(text).trim_end())
}

/// A text without gutters, its indentation as plain blanks.
pub(super) fn plain(text: &str) -> String {
    text.replace(GUTTER, "").replace(LEVEL, "    ")
}

/// An edited text as it stands on the screen, but for its colours.
pub(crate) fn shown(text: &str) -> String {
    let text = text.replace(&format!("\n{GUTTER}"), &format!("\n{CONTINUATION}"));
    format!("{PROMPT}{}", text.replace(LEVEL, "    "))
}

/// A cell as it is edited: with gutters, and levels of indentation.
pub(crate) fn edited(cell: &str) -> String {
    let mut lines = cell.split('\n');
    let mut text: String = lines.next().unwrap_or_default().into();
    for line in lines {
        let code = line.trim_start_matches("    ");
        let levels = (line.len() - code.len()) / 4;
        text.extend(["\n", GUTTER, &LEVEL.repeat(levels), code]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gutters_are_no_part_of_a_cell() {
        assert_eq!(GUTTER.chars().count(), PROMPT.len());
        assert_eq!(CONTINUATION.len(), PROMPT.len());
        assert_eq!(cell(&format!("if a {{\n{GUTTER}{LEVEL}b\n{GUTTER}}}")), "if a {\n    b\n}");
        for text in ["a", "if a {\n    if b {\n        c\n      }\n\n}", "`x\n  y`"] {
            assert_eq!(cell(&edited(text)), text);
        }
        assert_eq!(edited("{\n    b"), format!("{{\n{GUTTER}{LEVEL}b"));
    }
}
