//! A cell of several lines as it is edited: one text. Behind each line end that Enter adds stands a gutter, [`BLANK`]s of
//! the prompt's width that are drawn as `... ` and are no part of the cell; then a [`LEVEL`] for each bracket that is
//! open. Their first characters are blanks that nobody types, so that keys can find them; [`plain`] makes them what they
//! look like.

use std::cell::RefCell;
use std::rc::Rc;

use super::transcript::without_prompts;

/// What gutters are made of.
pub(super) const BLANK: char = '\u{a0}';
/// A level of indentation.
pub(super) const LEVEL: &str = "\u{2007}   ";

/// What stands before a cell, and before its further lines: as wide.
#[derive(Clone, Debug)]
pub(crate) struct Prompt {
    pub(crate) first: String,
    pub(super) further: String,
}

/// The prompt of the cell that is typed.
pub(crate) type Prompted = Rc<RefCell<Prompt>>;

impl Default for Prompt {
    fn default() -> Self {
        Self { first: ">>> ".into(), further: "... ".into() }
    }
}

impl Prompt {
    /// One with the number of the cell, as IPython has it.
    pub(crate) fn numbered(cell: usize) -> Self {
        let first = format!("In [{cell}]: ");
        let further = format!("{:>1$}", "...: ", first.len());
        Self { first, further }
    }

    pub(super) fn gutter(&self) -> String {
        BLANK.to_string().repeat(self.first.len())
    }

    /// A cell as it is edited: with gutters, and levels of indentation.
    pub(crate) fn edited(&self, cell: &str) -> String {
        let mut lines = cell.split('\n');
        let mut text: String = lines.next().unwrap_or_default().into();
        let gutter = self.gutter();
        for line in lines {
            let code = line.trim_start_matches("    ");
            let levels = (line.len() - code.len()) / 4;
            text.extend(["\n", &gutter, &LEVEL.repeat(levels), code]);
        }
        text
    }

    /// An edited text as it stands on the screen, but for its colours.
    pub(crate) fn shown(&self, text: &str) -> String {
        format!("{}{}", self.first, self.drawn(text, &self.further))
    }

    /// An edited text whose gutters are drawn.
    pub(super) fn drawn(&self, text: &str, further: &str) -> String {
        let gutter = format!("\n{}", self.gutter());
        text.replace(&gutter, &format!("\n{further}")).replace(LEVEL, "    ")
    }
}

/// A typed text without its gutters: the cell.
pub(crate) fn cell(text: &str) -> String {
    without_prompts(plain(text).trim_end())
}

/// A text without gutters, its indentation as plain blanks.
pub(super) fn plain(text: &str) -> String {
    let lines: Vec<&str> = text.split('\n').map(|line| line.trim_start_matches(BLANK)).collect();
    lines.join("\n").replace(LEVEL, "    ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gutters_are_no_part_of_a_cell() {
        for prompt in [Prompt::default(), Prompt::numbered(3), Prompt::numbered(10)] {
            assert_eq!(prompt.first.len(), prompt.further.len());
            let gutter = prompt.gutter();
            let typed = format!("if a {{\n{gutter}{LEVEL}b\n{gutter}}}");
            assert_eq!(cell(&typed), "if a {\n    b\n}");
            for text in ["a", "if a {\n    if b {\n        c\n      }\n\n}", "`x\n  y`"] {
                assert_eq!(cell(&prompt.edited(text)), text);
            }
            assert_eq!(prompt.edited("{\n    b"), format!("{{\n{gutter}{LEVEL}b"));
        }
        let prompt = Prompt::numbered(3);
        assert_eq!(prompt.shown(&prompt.edited("{\n    b")), "In [3]: {\n   ...:     b");
    }
}
