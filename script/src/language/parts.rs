//! What the words of a cell are, for editors that colour them.

use std::ops::Range;

use porcini_core::text_kernel::{self, Word};
use rhai::{LexError, Token};

use crate::language::cell::{Cell, Piece};
use crate::language::lexer::{Lexeme, is_text};
use crate::language::tokens::KEYWORDS;
use crate::language::words::{first_word, last_word};

/// What is coloured in one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A comment.
    Comment,
    /// A text, or what of it stands before or behind a value.
    Text,
    /// A number, `true`, `false`.
    Number,
    /// A word of the language.
    Keyword,
    /// An array type.
    Type,
    /// The name of a command.
    Command,
}

/// Functions whose first argument is the text of a kernel.
pub(crate) const READERS_OF_KERNELS: [&str; 4] = ["kernel", "reduction", "scan", "cuda_module"];

impl Cell {
    /// What stands at which bytes, in order; what stands between is none of these.
    pub fn parts(&self) -> Vec<(Part, Range<usize>)> {
        let of_piece = |piece| {
            let mut parts: Vec<_> = self.command_name(piece).into_iter().collect();
            if let Some(text) = self.kernel_cell(piece) {
                parts.extend(kernel_parts(self.text(), text));
                return parts;
            }
            for lexeme in self.lexemes_of(piece) {
                match self.kernel_text(lexeme) {
                    Some(inside) => {
                        parts.push((Part::Text, lexeme.start..inside.start));
                        parts.extend(kernel_parts(self.text(), inside.clone()));
                        parts.push((Part::Text, inside.end..lexeme.end));
                    }
                    None => parts.extend(self.part(lexeme)),
                }
            }
            parts
        };
        self.pieces().iter().flat_map(of_piece).collect()
    }

    /// The text of `%%kernel` and `%%cuda`: the lines below.
    fn kernel_cell(&self, piece: &Piece) -> Option<Range<usize>> {
        let code = self.code(piece);
        let is_kernel = ["%%kernel", "%%cuda"].contains(&code.split_whitespace().next()?);
        let below = code.find('\n').filter(|_| is_kernel)?;
        Some(piece.start + below..piece.start + code.len())
    }

    /// The inside of a text that is the first argument of a function which reads kernels.
    fn kernel_text(&self, lexeme: &Lexeme) -> Option<Range<usize>> {
        let (text, end) = (self.text(), lexeme.end);
        let call = text[..lexeme.start].trim_end().strip_suffix('(')?;
        let function = last_word(call.trim_end());
        if !READERS_OF_KERNELS.contains(&function) || !is_text(&lexeme.token) {
            return None;
        }
        let (start, quote) = lexeme.contents_at(text, lexeme.start + 1)?;
        text[start..end].ends_with(quote).then(|| start..end - quote.len_utf8())
    }

    fn command_name(&self, piece: &Piece) -> Option<(Part, Range<usize>)> {
        let code = self.code(piece);
        let name = code.trim_start().trim_start_matches(['%', '?']);
        let end = code.len() - name.len() + first_word(name).len();
        piece.is_command.then(|| (Part::Command, piece.start..piece.start + end))
    }

    fn part(&self, lexeme: &Lexeme) -> Option<(Part, Range<usize>)> {
        let word = &self.text()[lexeme.start..lexeme.end];
        let mut start = lexeme.start;
        let part = match &lexeme.token {
            Token::Comment(_) => Part::Comment,
            Token::IntegerConstant(_) | Token::FloatConstant(_) => {
                start += usize::from(lexeme.has_sign(self.text()));
                Part::Number
            }
            Token::True | Token::False => Part::Number,
            Token::LexError(error) => match **error {
                LexError::UnterminatedString => Part::Text,
                LexError::MalformedNumber(_) => Part::Number,
                _ => return None,
            },
            token if is_text(token) => Part::Text,
            _ if KEYWORDS.contains(&word) => Part::Keyword,
            Token::Identifier(_) if is_type(word) => Part::Type,
            _ => return None,
        };
        Some((part, start..lexeme.end))
    }
}

/// What is coloured in the text of a kernel; what is no kernel any more is text.
fn kernel_parts(cell: &str, inside: Range<usize>) -> Vec<(Part, Range<usize>)> {
    let mut end = inside.start;
    let mut parts = Vec::new();
    for (word, at) in text_kernel::words(&cell[inside.clone()]) {
        let at = inside.start + at.start..inside.start + at.end;
        end = at.end;
        let part = match word {
            Word::Keyword => Part::Keyword,
            Word::Type => Part::Type,
            Word::Number => Part::Number,
            Word::Comment => Part::Comment,
            Word::Name | Word::Other => continue,
        };
        parts.push((part, at));
    }
    if !cell[end..inside.end].trim().is_empty() {
        parts.push((Part::Text, end..inside.end));
    }
    parts
}

/// Whether a name reads as an array type.
fn is_type(word: &str) -> bool {
    word.len() > 2 && word.ends_with('C') && word.starts_with(char::is_uppercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found() {
        for (text, want) in [
            (
                "let a = 1.5e-3 // x",
                &[(Part::Keyword, "let"), (Part::Number, "1.5e-3"), (Part::Comment, "// x")][..],
            ),
            ("FloatC(\"a\\\"b\")", &[(Part::Type, "FloatC"), (Part::Text, "\"a\\\"b\"")]),
            ("0..n", &[(Part::Number, "0")]),
            ("-1", &[(Part::Number, "1")]),
            ("\"open", &[(Part::Text, "\"open")]),
            ("/* open", &[(Part::Comment, "/* open")]),
            ("/* a /* b */ c */ 1", &[(Part::Comment, "/* a /* b */ c */"), (Part::Number, "1")]),
            ("'\"' + 1", &[(Part::Text, "'\"'"), (Part::Number, "1")]),
            ("`a${1}b`", &[(Part::Text, "`a$"), (Part::Number, "1"), (Part::Text, "b`")]),
            ("a % b", &[]),
            (
                "kernel(`T f(T x) { return 2 * x; }`)",
                &[
                    (Part::Text, "`"),
                    (Part::Type, "T"),
                    (Part::Type, "T"),
                    (Part::Keyword, "return"),
                    (Part::Number, "2"),
                    (Part::Text, "`"),
                ],
            ),
            (
                "kernel(\"int $\")",
                &[(Part::Text, "\""), (Part::Type, "int"), (Part::Text, " $"), (Part::Text, "\"")],
            ),
            ("sum(\"int\")", &[(Part::Text, "\"int\"")]),
        ] {
            let cell = Cell::script(text);
            let parts = cell.parts();
            let found: Vec<_> = parts.iter().map(|(part, at)| (*part, &text[at.clone()])).collect();
            assert_eq!(found, want, "{text}");
        }
    }

    #[test]
    fn keywords_are_those_of_the_parser() {
        for word in KEYWORDS.into_iter().filter(|word| *word != "del") {
            let token = Token::lookup_symbol_from_syntax(word);
            assert!(token.is_some_and(|token| !matches!(token, Token::Identifier(_))), "{word}");
        }
    }
}
