//! The text of a kernel as tokens.

use super::trouble::{Span, Trouble};
use crate::convert::exactly;
use crate::dtype::{DType, Scalar};

/// A piece of the text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'t> {
    /// An identifier or keyword.
    Name(&'t str),
    /// A number, and its type where a suffix says one.
    Number(Scalar, Option<DType>),
    /// An operator, a bracket.
    Sign(&'static str),
    /// Behind the last one.
    End,
}

/// Operators and brackets, those that begin with others first.
const SIGNS: [&str; 44] = [
    "<<=", ">>=", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<", ">>", "<=",
    ">=", "==", "!=", "&&", "||", "::", "+", "-", "*", "/", "%", "<", ">", "=", "!", "~", "&", "|",
    "^", "?", ":", ",", ";", "(", ")", "{", "}", "[", "]",
];

/// The token behind white space and comments, if there is one.
pub(super) fn next(text: &str, at: usize) -> Result<Option<(Token<'_>, Span)>, Trouble> {
    let at = behind_space(text, at)?;
    let rest = &text[at..];
    let Some(first) = rest.chars().next() else { return Ok(None) };
    let (token, length) = if first.is_ascii_digit() || is_fraction(rest) {
        number(rest, at)?
    } else if is_part(first) {
        // `a.mean` is one name: a part of a state.
        let length = rest.find(|c| !is_part(c) && c != '.').unwrap_or(rest.len());
        let length = rest[..length].trim_end_matches('.').len();
        (Token::Name(&rest[..length]), length)
    } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
        (Token::Sign(sign), sign.len())
    } else if let Some((number, length)) = character(rest) {
        (Token::Number(Scalar::Int(number), None), length)
    } else {
        let is_quote = matches!(first, '"' | '\'');
        let shown = if is_quote { first.to_string() } else { first.escape_debug().to_string() };
        let what = format!("got `{shown}`, which is no part of a kernel");
        let remedy = match first {
            '"' | '\'' => Some(
                "kernels know numbers only, and print nothing: return the value and print that"
                    .into(),
            ),
            '#' => Some("macros name what they stand for; they join and quote no words".into()),
            _ => None,
        };
        return Err(Trouble::new(span(at, first.len_utf8()), what).with(remedy));
    };
    Ok(Some((token, span(at, length))))
}

/// A place by its start and length.
pub(super) fn span(start: usize, length: usize) -> Span {
    Span { start: exactly(start), end: exactly(start + length) }
}

fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// `.5`
fn is_fraction(text: &str) -> bool {
    text.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether a line is for a compiler alone: `#include <cmath>`, `#pragma unroll`.
fn is_skipped(line: &str) -> bool {
    let directive = line.strip_prefix('#').map(str::trim_start);
    directive.is_some_and(|rest| rest.starts_with("include") || rest.starts_with("pragma"))
}

/// Whether nothing else stands on a line, which a backslash then joins to the next.
fn is_line_end(text: &str) -> bool {
    text.lines().next().is_none_or(|line| line.trim().is_empty())
}

/// The place behind white space, comments and such lines.
pub(super) fn behind_space(text: &str, mut at: usize) -> Result<usize, Trouble> {
    loop {
        let rest = &text[at..];
        let skipped = rest.len() - rest.trim_start().len();
        let rest = rest.trim_start();
        at += skipped;
        at += if let Some(rest) = rest.strip_prefix('\\').filter(|rest| is_line_end(rest)) {
            1 + rest.find('\n').map_or(rest.len(), |end| end + 1)
        } else if rest.starts_with("\"C\"") {
            // extern "C", which is a word like others.
            3
        } else if rest.starts_with("//") || is_skipped(rest) {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            let unclosed = || Trouble::new(span(at, 2), "a comment has no end, expected `*/`");
            rest.find("*/").ok_or_else(unclosed)? + 2
        } else {
            return Ok(at);
        };
    }
}

/// A literal and its length. Suffixes are those of C; a float has the type of what it meets all the same, with an f the
/// value that it is as f32.
fn number(text: &str, at: usize) -> Result<(Token<'_>, usize), Trouble> {
    let is_of_number = |c: char| is_part(c) || c == '.';
    let mut length = text.find(|c| !is_of_number(c)).unwrap_or(text.len());
    let is_hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    // The sign of an exponent.
    if !is_hexadecimal && text[..length].ends_with(['e', 'E']) {
        let behind = &text[length..];
        if let Some(rest) = behind.strip_prefix(['+', '-']) {
            length += 1 + rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        }
    }
    let written = &text[..length];
    let wrong = || {
        let what = format!("`{written}` is no number");
        Trouble::new(span(at, length), what)
    };
    if is_hexadecimal {
        let digits = written[2..].trim_end_matches(['u', 'U', 'l', 'L']);
        let number = u64::from_str_radix(digits, 16).map_err(|_| wrong())?;
        // As in C, bits that an int has not are unsigned.
        let value =
            if i32::try_from(number).is_ok() { integer(number) } else { Scalar::UInt(number) };
        return Ok((Token::Number(value, wide(written, number)), length));
    }
    let is_float = written.contains(['.', 'e', 'E']) || written.ends_with(['f', 'F', 'h', 'H']);
    if is_float {
        let digits = written.trim_end_matches(['f', 'F', 'l', 'L', 'h', 'H']);
        let number: f64 = match written.ends_with(['f', 'F']) {
            true => f64::from(digits.parse::<f32>().map_err(|_| wrong())?),
            false => digits.parse().map_err(|_| wrong())?,
        };
        return Ok((Token::Number(Scalar::Float(number), None), length));
    }
    let digits = written.trim_end_matches(['u', 'U', 'l', 'L']);
    // As C reads them, 010 is 8, and 0b10 is 2.
    let (digits, base) = match (digits.strip_prefix("0b"), digits.strip_prefix('0')) {
        (Some(digits), _) => (digits, 2),
        (None, Some(digits)) if !digits.is_empty() => (digits, 8),
        _ => (digits, 10),
    };
    let number = u64::from_str_radix(digits, base).map_err(|_| wrong())?;
    Ok((Token::Number(integer(number), wide(written, number)), length))
}

/// The number of a letter in quotes, and the length of that: `'a'` is 97.
fn character(text: &str) -> Option<(i64, usize)> {
    const ESCAPES: [(&str, u8); 8] = [
        ("n", b'\n'),
        ("t", b'\t'),
        ("r", b'\r'),
        ("0", 0),
        ("a", 7),
        ("\\", b'\\'),
        ("'", b'\''),
        ("\"", b'"'),
    ];
    let inner = text.strip_prefix('\'')?;
    let (letter, length) = match inner.strip_prefix('\\') {
        Some(rest) => {
            let escape = ESCAPES.iter().find(|(written, _)| rest.starts_with(written))?;
            (escape.1, 2)
        }
        None => {
            let letter = inner.bytes().next()?;
            ((letter.is_ascii_graphic() || letter == b' ').then_some(letter)?, 1)
        }
    };
    (inner[length..].starts_with('\'') && (length > 1 || letter != b'\''))
        .then_some((letter.into(), length + 2))
}

/// The type that a suffix of an integer says: L and LL are 64 bits, U is unsigned. Without one it is that of what it meets.
fn wide(written: &str, number: u64) -> Option<DType> {
    let digits = written.trim_end_matches(['u', 'U', 'l', 'L']);
    let suffix = written[digits.len()..].to_ascii_lowercase();
    let is_unsigned = suffix.contains('u') || i64::try_from(number).is_err();
    match (suffix.contains('l') || u32::try_from(number).is_err(), is_unsigned) {
        _ if suffix.is_empty() => None,
        (false, _) => Some(DType::U32),
        (true, true) => Some(DType::U64),
        (true, false) => Some(DType::I64),
    }
}

/// An integer of a script, beyond its range an unsigned one.
fn integer(number: u64) -> Scalar {
    i64::try_from(number).map_or(Scalar::UInt(number), Scalar::Int)
}

#[cfg(test)]
mod tests {
    use super::super::preprocess::tokens;
    use super::*;

    #[test]
    fn texts_are_taken_apart() {
        let text =
            "T f(T x) { // half\n return .5f*x<<=0xffu /* so */ - 1e-3 + 18446744073709551615; }";
        let shown: Vec<String> =
            tokens(text).unwrap().iter().map(|(token, _)| shown(token)).collect();
        let want = "T f ( T x ) { return 0.5 * x <<= 255 - 0.001 + 18446744073709551615 ; } .";
        assert_eq!(shown.join(" "), want);
        let letters = tokens("'0' '\\n' '\\'' ' '").unwrap();
        let numbers = letters.iter().map(|(token, _)| match token {
            Token::Number(Scalar::Int(number), None) => *number,
            _ => -1,
        });
        assert_eq!(numbers.collect::<Vec<_>>(), [48, 10, 39, 32, -1]);
        for wrong in [
            "''",
            "'ab'",
            "'\\q'",
            "'é'",
            "'",
            "/* no end",
            "12ab",
            "0x",
            "1e",
            "\"text\"",
            "x .y",
            "é",
        ] {
            assert!(tokens(wrong).is_err(), "{wrong}");
        }
    }

    fn shown(token: &Token<'_>) -> String {
        match token {
            Token::Name(name) => (*name).into(),
            Token::Number(number, _) => number.to_string(),
            Token::Sign(sign) => (*sign).into(),
            Token::End => ".".into(),
        }
    }
}
