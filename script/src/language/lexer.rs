//! The tokens of a text and the bytes they stand at, from Rhai's own lexer: what is a comment, a text or a bracket
//! here is one for the parser too. One pass over the text; Ctrl-C ends it early.

use porcini_core::interrupt;
use rhai::{InputStream, LexError, Position, Token, TokenizeState, get_next_token};

use crate::language::brackets::{Bracket, Brackets};

/// A token, or a comment.
#[derive(Clone, Debug)]
pub(crate) struct Lexeme {
    pub(crate) token: Token,
    /// First byte, and the byte behind the last.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Brackets of all kinds that are open behind it.
    pub(crate) depth: usize,
    /// Whether a statement could end behind it: in a block, and not between `if` and its block.
    pub(crate) is_in_statements: bool,
    /// Whether a comment, or a text of several lines, goes on behind it.
    pub(crate) is_unfinished: bool,
    /// Whether it is within a text of several lines, of which it may be a value.
    is_in_text: bool,
}

impl Lexeme {
    pub(crate) fn is_comment(&self) -> bool {
        matches!(self.token, Token::Comment(_))
    }

    /// Whether a comment or a text is open behind it.
    pub(crate) fn is_inside(&self) -> bool {
        self.is_unfinished || self.is_in_text
    }

    /// Whether anything is open behind it.
    pub(crate) fn is_open(&self) -> bool {
        self.depth > 0 || self.is_unfinished
    }

    /// Whether it is a comment whose end is missing.
    pub(crate) fn is_open_comment(&self) -> bool {
        self.is_unfinished && self.is_comment()
    }

    /// Whether it is a number with a minus, which Rhai's lexer joins to it.
    pub(crate) fn has_sign(&self, text: &str) -> bool {
        text[self.start..].starts_with('-')
    }

    /// Whether a line that ends with it goes on in the next: an operator wants its operand.
    pub(crate) fn wants_operand(&self, text: &str) -> bool {
        text[..self.end].ends_with(|last| OPERATORS.contains(last))
    }

    /// Where the contents of a text or comment start that byte `at` stands in, and its quote; `/` for a comment.
    pub(crate) fn contents_at(&self, text: &str, at: usize) -> Option<(usize, char)> {
        let written = &text[self.start..self.end];
        let is_cut = matches!(&self.token, Token::LexError(error) if **error == LexError::UnterminatedString);
        if !is_cut && !self.is_comment() && !is_text(&self.token) {
            return None;
        }
        let ends = !self.is_unfinished && !is_cut && !written.starts_with("//");
        if at <= self.start || at > self.end || at == self.end && ends {
            return None;
        }
        let is_whole = |quote: &char| is_cut || written.ends_with(*quote);
        let quote = written.chars().next().filter(|quote| matches!(quote, '"' | '\''));
        Some(match quote.filter(is_whole) {
            _ if self.is_comment() => (self.start + 2, '/'),
            Some(quote) => (self.start + 1, quote),
            // Behind `${..}` a text has no quote.
            None => (self.start + usize::from(written.starts_with('`')), '`'),
        })
    }
}

/// Whether a token is a text, or a part of one.
pub(crate) fn is_text(token: &Token) -> bool {
    matches!(
        token,
        Token::StringConstant(_) | Token::InterpolatedString(_) | Token::CharConstant(_)
    )
}

/// Last characters of operators.
const OPERATORS: &str = "+-*/%&|^=<>,.(";

/// Reads the tokens of a text, one by one.
pub(crate) struct Lexer<'t> {
    input: Input<'t>,
    state: TokenizeState,
    position: Position,
    brackets: Brackets,
}

impl<'t> Lexer<'t> {
    /// Reads what stands behind so many bytes, where nothing is open.
    pub(crate) fn new(text: &'t str, at: usize) -> Self {
        Self {
            input: Input { text, at, is_name: false },
            state: TokenizeState { include_comments: true, ..TokenizeState::default() },
            position: Position::new(1, 0),
            brackets: Brackets::default(),
        }
    }

    fn lexeme(&mut self, token: Token, start: usize) -> Lexeme {
        let read = &self.input.text[start..self.input.at];
        let is_comment = matches!(token, Token::Comment(_));
        // The end of its line is no part of a comment.
        let read = if is_comment { read.trim_end_matches(['\r', '\n']) } else { read };
        if !is_comment && self.brackets.follow(&token) == Some(Bracket::InText) {
            // The rest of the text follows.
            self.state.is_within_text_terminated_by = Some("`".into());
        }
        let is_name = matches!(token, Token::Identifier(_)) && !read.is_ascii();
        let token = if is_name { Token::Identifier(Box::new(read.into())) } else { token };
        Lexeme {
            token,
            start,
            end: start + read.len(),
            depth: self.brackets.depth(),
            is_in_statements: self.brackets.are_in_statements(),
            is_unfinished: self.state.comment_level > 0
                || self.state.is_within_text_terminated_by.is_some(),
            is_in_text: self.brackets.are_in_text(),
        }
    }
}

impl Iterator for Lexer<'_> {
    type Item = Lexeme;

    fn next(&mut self) -> Option<Lexeme> {
        if self.state.is_within_text_terminated_by.is_none() {
            self.input.skip_blanks();
        }
        let start = self.input.at;
        // What is open stays so at the end.
        if start == self.input.text.len() {
            return None;
        }
        // What begins with a letter is a name to its end, whatever its letters.
        self.input.is_name = self.state.is_within_text_terminated_by.is_none()
            && self.state.comment_level == 0
            && self.input.text[start..].starts_with(|c: char| c.is_alphabetic() || c == '_');
        let could_have_sign = self.state.next_token_cannot_be_unary;
        let (token, _) = get_next_token(&mut self.input, &mut self.state, &mut self.position);
        if token == Token::EOF || interrupt::is_requested() {
            return None;
        }
        if matches!(token, Token::Comment(_)) {
            // For the parser there are no comments.
            self.state.next_token_cannot_be_unary = could_have_sign;
        }
        Some(self.lexeme(token, start))
    }
}

/// The letter that stands for those which Rhai does not know.
pub(crate) const LETTER: char = 'Q';

/// The characters of a text.
struct Input<'t> {
    text: &'t str,
    at: usize,
    /// Whether a name is read: Rhai knows only the letters of ASCII, and is given one of these for any other.
    is_name: bool,
}

impl Input<'_> {
    fn skip_blanks(&mut self) {
        self.is_name = false;
        while let Some(blank) = self.peek_next().filter(|c| c.is_whitespace()) {
            self.at += blank.len_utf8();
        }
    }
}

impl InputStream for Input<'_> {
    /// Only what was read is given back.
    fn unget(&mut self, c: char) {
        let last = self.text[..self.at].chars().next_back();
        self.at -= last.unwrap_or(c).len_utf8();
    }

    fn get_next(&mut self) -> Option<char> {
        let next = self.peek_next()?;
        self.at += self.text[self.at..].chars().next()?.len_utf8();
        Some(next)
    }

    /// Nothing more after Ctrl-C: a single token may be very long.
    fn peek_next(&mut self) -> Option<char> {
        if interrupt::is_requested() {
            return None;
        }
        let next = self.text[self.at..].chars().next()?;
        Some(if self.is_name && !next.is_ascii() && next.is_alphanumeric() { LETTER } else { next })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lexemes(text: &str) -> Vec<Lexeme> {
        Lexer::new(text, 0).collect()
    }

    #[test]
    fn finds_open_texts() {
        for (text, open) in [
            ("f(\"ab", Some((3, '"'))),
            ("f(\"ab\"", None),
            ("f(\"ab\\\"", Some((3, '"'))),
            ("\"", Some((1, '"'))),
            ("\"\"", None),
            ("\"a\" + `b", Some((7, '`'))),
            ("`b${a}c", Some((6, '`'))),
            ("a // b", Some((4, '/'))),
            ("a // b\n", None),
            ("/* a", Some((2, '/'))),
            ("/* a */", None),
            ("'\"' + a", None),
            ("", None),
        ] {
            let lexemes = lexemes(text);
            let found = lexemes.last().and_then(|last| last.contents_at(text, text.len()));
            assert_eq!(found, open, "{text}");
        }
    }

    #[test]
    fn finds_what_is_open() {
        let check = |text: &str, depth, inside, is_comment| {
            let last = lexemes(text).pop().unwrap();
            let found = (last.depth, last.is_inside(), last.is_comment());
            assert_eq!(found, (depth, inside, is_comment), "{text}");
        };
        check("f(1, [2", 2, false, false);
        check("x + 1; // done", 0, false, true);
        check("/* open", 0, true, true);
        check("/* a /* b */ */ x", 0, false, false);
        check("`two\nlines", 0, true, false);
        check("`a ${ b", 1, true, false);
        check("`a ${ b } c", 0, true, false);
        check("`a ${ #{a: `${1}`}.a } c` + (", 1, false, false);
        check("\"a(b\" + 1", 0, false, false);
        check("'(' + '\"'", 0, false, false);
        check("\"open(\n+ 1", 0, false, false);
    }

    #[test]
    fn operators_want_operands() {
        for (text, wants) in [("1 +", true), ("f(", true), ("a.", true), ("a", false)] {
            assert_eq!(lexemes(text).pop().unwrap().wants_operand(text), wants, "{text}");
        }
    }

    #[test]
    fn tokens_stand_where_they_are() {
        let text = "let ä = -1 /* é */ -2 ** `a${-3}b` // end\n";
        let pieces: Vec<&str> = lexemes(text).iter().map(|t| &text[t.start..t.end]).collect();
        let want = [
            "let", "ä", "=", "-1", "/* é */", "-", "2", "**", "`a$", "{", "-3", "}", "b`", "// end",
        ];
        assert_eq!(pieces, want);
    }
}
