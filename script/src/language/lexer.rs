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
}

impl Lexeme {
    pub(crate) fn is_comment(&self) -> bool {
        matches!(self.token, Token::Comment(_))
    }

    /// Whether it is a number with a minus, which Rhai's lexer joins to it.
    pub(crate) fn has_sign(&self, text: &str) -> bool {
        text[self.start..].starts_with('-')
    }
}

/// Reads the tokens of a text, one by one.
pub(crate) struct Lexer<'t> {
    input: Input<'t>,
    state: TokenizeState,
    position: Position,
    brackets: Brackets,
    last_end: usize,
}

impl<'t> Lexer<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self {
            input: Input { text, at: 0 },
            state: TokenizeState { include_comments: true, ..TokenizeState::default() },
            position: Position::new(1, 0),
            brackets: Brackets::default(),
            last_end: 0,
        }
    }

    /// Brackets of all kinds opened and not closed.
    pub(crate) fn depth(&self) -> usize {
        self.brackets.depth()
    }

    /// Whether a statement could end here: in a block, and not between `if` and its block.
    pub(crate) fn is_in_statements(&self) -> bool {
        self.brackets.are_in_statements()
    }

    /// Whether what was read ends in a comment or in a text of several lines.
    pub(crate) fn is_inside(&self) -> bool {
        self.state.comment_level > 0
            || self.state.is_within_text_terminated_by.is_some()
            || self.brackets.are_in_text()
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
        let could_have_sign = self.state.next_token_cannot_be_unary;
        let (token, _) = get_next_token(&mut self.input, &mut self.state, &mut self.position);
        let end = self.input.at;
        if token == Token::EOF || interrupt::is_requested() {
            return None;
        }
        if matches!(token, Token::Comment(_)) {
            // For the parser there are no comments.
            self.state.next_token_cannot_be_unary = could_have_sign;
        } else {
            if self.brackets.follow(&token) == Some(Bracket::InText) {
                // The rest of the text follows.
                self.state.is_within_text_terminated_by = Some("`".into());
            }
            self.last_end = end;
        }
        Some(Lexeme { token, start, end })
    }
}

/// The characters of a text.
struct Input<'t> {
    text: &'t str,
    at: usize,
}

impl Input<'_> {
    fn skip_blanks(&mut self) {
        while let Some(blank) = self.peek_next().filter(|c| c.is_whitespace()) {
            self.at += blank.len_utf8();
        }
    }
}

impl InputStream for Input<'_> {
    /// Only what was read is given back.
    fn unget(&mut self, c: char) {
        self.at -= c.len_utf8();
    }

    fn get_next(&mut self) -> Option<char> {
        let next = self.peek_next()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// Nothing more after Ctrl-C: a single token may be very long.
    fn peek_next(&mut self) -> Option<char> {
        if interrupt::is_requested() {
            return None;
        }
        self.text[self.at..].chars().next()
    }
}

/// What a text leaves open, and how it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    /// Brackets of all kinds opened and not closed.
    pub(crate) depth: usize,
    /// Whether a text or comment is still open.
    pub(crate) inside: bool,
    /// Last character of code, comments and blanks left out.
    pub(crate) last: Option<char>,
}

/// Whether a line that ends with a character goes on in the next: an operator wants its operand.
pub(crate) fn is_operator(last: char) -> bool {
    "+-*/%&|^=<>,.(".contains(last)
}

/// Tells of the lines of a text whether they go on in the next, from one pass over all.
pub(crate) struct Lines<'t> {
    text: &'t str,
    lexer: Lexer<'t>,
    ahead: Option<Lexeme>,
    /// Of what stands before `ahead`: whether something is open, and the end of the code.
    open: bool,
    end: usize,
}

impl<'t> Lines<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        let mut lexer = Lexer::new(text);
        let ahead = lexer.next();
        Self { text, lexer, ahead, open: false, end: 0 }
    }

    /// Whether a bracket, text or comment is open behind so many bytes, which never become fewer.
    pub(crate) fn are_open_at(&mut self, bytes: usize) -> bool {
        while let Some(lexeme) = self.ahead.take_if(|lexeme| lexeme.end <= bytes) {
            if !lexeme.is_comment() {
                self.end = lexeme.end;
            }
            self.open = self.lexer.depth() > 0 || self.lexer.is_inside();
            self.ahead = self.lexer.next();
        }
        self.open || self.ahead.as_ref().is_some_and(|lexeme| lexeme.start < bytes)
    }

    /// Whether something is open there, or the line ends with an operator.
    pub(crate) fn go_on_at(&mut self, bytes: usize) -> bool {
        self.are_open_at(bytes)
            || self.text[..self.end].chars().next_back().is_some_and(is_operator)
    }
}

/// How a text ends.
pub(crate) fn ending(text: &str) -> Ending {
    let mut lexer = Lexer::new(text);
    lexer.by_ref().for_each(drop);
    let last = text[..lexer.last_end].chars().next_back();
    Ending { depth: lexer.depth(), inside: lexer.is_inside(), last }
}

/// Where the contents of a text or comment start that is open at the end, and its quote; `/` for a comment.
pub(crate) fn open_text(text: &str) -> Option<(usize, char)> {
    let mut lexer = Lexer::new(text);
    let last = lexer.by_ref().last()?;
    let begins = &text[last.start..last.end];
    let is_line = begins.starts_with("//") && last.end == text.len() && !text.ends_with('\n');
    if is_line || lexer.state.comment_level > 0 {
        return Some((last.start + 2, '/'));
    }
    if lexer.state.is_within_text_terminated_by.is_some() {
        // Behind `${..}` a text has no quote.
        let quote = usize::from(begins.starts_with('`'));
        return Some((last.start + quote, '`'));
    }
    let quote = begins.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let is_open =
        matches!(&last.token, Token::LexError(error) if **error == LexError::UnterminatedString);
    (is_open && last.end == text.len()).then_some((last.start + 1, quote))
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("'\"' + a", None),
            ("", None),
        ] {
            assert_eq!(open_text(text), open, "{text}");
        }
    }

    #[test]
    fn finds_what_is_open() {
        let check = |text: &str, depth, inside, last| {
            assert_eq!(ending(text), Ending { depth, inside, last }, "{text}");
        };
        check("f(1, [2", 2, false, Some('2'));
        check("x + 1; // done", 0, false, Some(';'));
        check("/* open", 0, true, None);
        check("/* a /* b */ */ x", 0, false, Some('x'));
        check("`two\nlines", 0, true, Some('s'));
        check("`a ${ b", 1, true, Some('b'));
        check("`a ${ b } c", 0, true, Some('c'));
        check("`a ${ #{a: `${1}`}.a } c` + (", 1, false, Some('('));
        check("\"a(b\" + 1", 0, false, Some('1'));
        check("'(' + '\"'", 0, false, Some('\''));
        check("\"open(\n+ 1", 0, false, Some('1'));
    }

    #[test]
    fn tokens_stand_where_they_are() {
        let text = "let ä = -1 /* é */ -2 ** `a${-3}b` // end";
        let pieces: Vec<&str> = Lexer::new(text).map(|t| &text[t.start..t.end]).collect();
        let want = [
            "let", "ä", "=", "-1", "/* é */", "-", "2", "**", "`a$", "{", "-3", "}", "b`", "// end",
        ];
        assert_eq!(pieces, want);
    }
}
