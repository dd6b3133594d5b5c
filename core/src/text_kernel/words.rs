//! What stands in a text, for editors: which words to colour, and which names could stand at a cursor.

use std::ops::Range;

use super::lexer::{self, Token};
use super::{dialect, library, parse, prelude, types};
use crate::convert::exactly;

/// What a piece of a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// A word of the language.
    Keyword,
    /// A type, or a letter that stands for one.
    Type,
    /// A literal.
    Number,
    /// A comment, or a line for a compiler alone.
    Comment,
    /// Any other name.
    Name,
    /// An operator, a bracket.
    Other,
}

/// The pieces of a text up to where it is none any more, in order.
pub fn words(text: &str) -> Vec<(Word, Range<usize>)> {
    let mut words = Vec::new();
    let mut at = 0;
    loop {
        let behind = lexer::behind_space(text, at).unwrap_or(text.len());
        if text[behind..].starts_with('#') {
            let end = behind + text[behind..].find('\n').unwrap_or(text.len() - behind);
            comment(text, at..end, &mut words);
            at = end;
            continue;
        }
        let Ok(Some((token, place))) = lexer::next(text, at) else { break };
        let place: Range<usize> = exactly(place.start)..exactly(place.end);
        comment(text, at..place.start, &mut words);
        let word = match token {
            Token::Number(..) => Word::Number,
            Token::Name(name) if is_keyword(name) => Word::Keyword,
            Token::Name(name) if is_type(name) => Word::Type,
            Token::Name(_) => Word::Name,
            Token::Sign(_) | Token::End => Word::Other,
        };
        at = place.end;
        words.push((word, place));
    }
    if matches!(lexer::next(text, at), Ok(None)) {
        comment(text, at..text.len(), &mut words);
    }
    words
}

/// Adds what stands between two pieces, if it is not empty.
fn comment(text: &str, between: Range<usize>, words: &mut Vec<(Word, Range<usize>)>) {
    let inside = &text[between.clone()];
    let trimmed = inside.trim();
    if !trimmed.is_empty() {
        let start = between.start + inside.len() - inside.trim_start().len();
        words.push((Word::Comment, start..start + trimmed.len()));
    }
}

/// Words of the language, then names of types.
pub fn known_words() -> impl Iterator<Item = (Word, &'static str)> {
    // Words that have an error of their own are none to offer.
    let offered = parse::KEYWORDS.into_iter().filter(|word| !parse::REFUSED.contains(word));
    let keywords = offered.map(|word| (Word::Keyword, word));
    keywords.chain(types::names().map(|name| (Word::Type, name)))
}

/// Whether texts may call a function that is not theirs.
pub fn is_callable(name: &str) -> bool {
    library::find(name).is_some() || prelude::text(name).is_some()
}

fn is_keyword(name: &str) -> bool {
    parse::KEYWORDS.contains(&name) || dialect::QUALIFIERS.contains(&name)
}

fn is_type(name: &str) -> bool {
    types::is_letter(name) || types::names().any(|known| known == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_up_to_what_is_none() {
        let text = "#define A 1\nT f(T x) { // half\n return .5f * x; } $ more";
        let found: Vec<(Word, &str)> = words(text)
            .into_iter()
            .filter(|(word, _)| ![Word::Name, Word::Other].contains(word))
            .map(|(word, at)| (word, &text[at]))
            .collect();
        let want = [
            (Word::Comment, "#define A 1"),
            (Word::Type, "T"),
            (Word::Type, "T"),
            (Word::Comment, "// half"),
            (Word::Keyword, "return"),
            (Word::Number, ".5f"),
        ];
        assert_eq!(found, want);
    }
}
