//! Parts of texts by the numbers of their characters. Rhai's own functions make a list of all characters first; these
//! count up to the part.

use std::ops::{Range, RangeInclusive};

use rhai::{Engine, ImmutableString};

type Text = ImmutableString;

/// Bytes whose characters are counted at once.
const BLOCK: usize = 1 << 12;
/// All characters from a place on.
const ALL: i64 = i64::MAX;

pub(super) fn register(engine: &mut Engine) {
    engine.register_fn("sub_string", |text: &str, start: i64| part(text, start, ALL));
    engine.register_fn("sub_string", part);
    engine.register_fn("sub_string", |text: &str, range: Range<i64>| of_range(text, range));
    engine.register_fn("sub_string", |text: &str, range: RangeInclusive<i64>| {
        of_range(text, *range.start()..range.end().saturating_add(1))
    });
    engine.register_fn("crop", |text: &mut Text, start: i64| *text = part(text, start, ALL));
    engine.register_fn("crop", |text: &mut Text, start: i64, n: i64| *text = part(text, start, n));
    engine.register_fn("crop", |text: &mut Text, range: Range<i64>| *text = of_range(text, range));
    engine.register_fn("crop", |text: &mut Text, range: RangeInclusive<i64>| {
        *text = of_range(text, *range.start()..range.end().saturating_add(1));
    });
}

/// The characters of a range, which begins no earlier than the text.
fn of_range(text: &str, range: Range<i64>) -> Text {
    let start = range.start.max(0);
    part(text, start, range.end.saturating_sub(start))
}

/// So many characters from a place on, which counts from the end if it is negative.
fn part(text: &str, start: i64, n: i64) -> Text {
    let number = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let from = match u64::try_from(start) {
        Ok(start) => place(text, number(start)),
        Err(_) => place_from_end(text, number(start.unsigned_abs())),
    };
    let rest = &text[from..];
    let n = usize::try_from(n).unwrap_or(0);
    // No text has more characters than bytes.
    let end = if n >= rest.len() { rest.len() } else { place(rest, n) };
    rest[..end].into()
}

/// Whether a character begins with a byte.
fn begins(byte: u8) -> bool {
    byte & 0xc0 != 0x80
}

fn n_begun(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| begins(byte)).count()
}

/// The byte at which a character begins; the end of the text behind the last.
fn place(text: &str, mut n: usize) -> usize {
    let mut at = 0;
    for block in text.as_bytes().chunks(BLOCK) {
        let here = n_begun(block);
        if here > n {
            let mut begun = (0..block.len()).filter(|&i| begins(block[i]));
            return at + begun.nth(n).unwrap_or(block.len());
        }
        n -= here;
        at += block.len();
    }
    at
}

/// The byte at which the last so many characters begin; that of the text before the first.
fn place_from_end(text: &str, mut n: usize) -> usize {
    let mut end = text.len();
    for block in text.as_bytes().rchunks(BLOCK) {
        let here = n_begun(block);
        if here >= n {
            let begun = (0..block.len()).rev().filter(|&i| begins(block[i]));
            return end - block.len() + begun.take(n).last().unwrap_or(block.len());
        }
        n -= here;
        end -= block.len();
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a list of characters says it.
    fn expected(text: &str, start: i64, n: i64) -> String {
        let letters: Vec<char> = text.chars().collect();
        let length = letters.len() as i64;
        let start = if start < 0 { (length + start).max(0) } else { start.min(length) };
        let [start, n] = [start, n.max(0)].map(|n| usize::try_from(n).unwrap());
        letters[start..].iter().take(n).collect()
    }

    #[test]
    fn parts_are_those_of_a_list_of_characters() {
        let long = "aä€𝄞".repeat(BLOCK);
        for text in ["", "a", "aä€𝄞b", &long] {
            let length = text.chars().count() as i64;
            for start in [0, 1, 3, 5, length / 2, length - 1, length, length + 1] {
                for start in [start, -start, -start - 1] {
                    for n in [-1, 0, 1, 2, 5000, length, ALL] {
                        let wanted = expected(text, start, n);
                        assert_eq!(part(text, start, n), wanted, "{start} {n}");
                    }
                }
            }
        }
        assert_eq!(of_range("abcd", -5..2), "ab");
        assert_eq!(of_range("abcd", Range { start: 3, end: 1 }), "");
    }
}
