//! Where a text can be cut: behind lines that end no quoted field.

use std::ops::Range;

use memchr::{memchr, memchr_iter, memchr3};
use porcini_core::interrupt;

/// Bytes of a piece, and at least for each column: what a piece has of one takes room without values too.
const PIECE: usize = 1 << 20;
const COLUMN: usize = 1 << 8;
/// Bytes looked at between two looks at the interrupt flag.
const POLL: usize = 1 << 24;

/// A part of a text.
pub(super) struct Piece {
    pub(super) range: Range<usize>,
    /// Bytes that it has more than a piece: of a record that goes on.
    pub(super) excess: usize,
    /// Its lines, about as many as its records; 0 before they are counted.
    pub(super) lines: usize,
    /// Whether a field in quotes is in it.
    pub(super) is_quoted: bool,
    /// What copies of its excess take; 0 before that is measured.
    pub(super) copied: u64,
}

impl Piece {
    /// Of a piece with quotes each record is copied, and where its fields end.
    pub(super) fn measure_copy(&self, text: &[u8], separator: u8) -> Result<u64, Uncut> {
        if !self.is_quoted {
            return Ok(0);
        }
        let excess = &text[self.range.end - self.excess..self.range.end];
        let fields = |part: &[u8]| memchr_iter(separator, part).count() * size_of::<usize>();
        let mut bytes = self.excess;
        for part in excess.chunks(POLL) {
            check_interrupt()?;
            bytes += fields(part);
        }
        Ok(bytes as u64)
    }
}

/// Why a text is not cut.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Uncut {
    Interrupted,
    /// Where a quote stands that is never closed: all that follows would be one field.
    Open(usize),
}

/// Pieces of the text from `body` on, of about as many bytes; their borders are borders of records.
pub(super) fn cut(
    text: &[u8],
    separator: u8,
    body: usize,
    n_columns: usize,
) -> Result<Vec<Piece>, Uncut> {
    let bytes = PIECE.max(COLUMN.saturating_mul(n_columns));
    let mut pieces = Vec::new();
    let mut start = body;
    // Quotes before the body are closed too.
    let mut quoted = next_quoted(text, separator, 0)?;
    while start < text.len() {
        check_interrupt()?;
        let mut from = text.len().min(start.saturating_add(bytes));
        let mut is_quoted = false;
        let end = loop {
            while let Some(part) = quoted.clone().filter(|part| part.end <= from) {
                is_quoted |= part.start >= start;
                quoted = next_quoted(text, separator, part.end)?;
            }
            let end = memchr(b'\n', &text[from..]).map_or(text.len(), |at| from + at + 1);
            match &quoted {
                Some(part) if part.start < end => (from, is_quoted) = (part.end, true),
                _ => break end,
            }
        };
        pieces.push(Piece {
            range: start..end,
            excess: (end - start).saturating_sub(bytes),
            lines: 0,
            is_quoted,
            copied: 0,
        });
        start = end;
    }
    Ok(pieces)
}

/// The next field in quotes, these included.
fn next_quoted(text: &[u8], separator: u8, mut from: usize) -> Result<Option<Range<usize>>, Uncut> {
    let start = loop {
        let Some(at) = next_quote(text, from)? else { return Ok(None) };
        if at == 0 || matches!(text[at - 1], b'\n' | b'\r') || text[at - 1] == separator {
            break at;
        }
        from = at + 1;
    };
    let mut from = start + 1;
    loop {
        let end = next_quote(text, from)?.ok_or(Uncut::Open(start))? + 1;
        // Two quotes are one in the field.
        if text.get(end) != Some(&b'"') {
            return Ok(Some(start..end));
        }
        from = end + 1;
    }
}

fn next_quote(text: &[u8], from: usize) -> Result<Option<usize>, Uncut> {
    Ok(find(&text[from..], |part| memchr(b'"', part))?.map(|at| from + at))
}

/// What a search finds first, which looks at so much at a time that nobody waits long.
fn find(text: &[u8], search: impl Fn(&[u8]) -> Option<usize>) -> Result<Option<usize>, Uncut> {
    for (i, part) in text.chunks(POLL).enumerate() {
        check_interrupt()?;
        if let Some(at) = search(part) {
            return Ok(Some(i * POLL + at));
        }
    }
    Ok(None)
}

fn check_interrupt() -> Result<(), Uncut> {
    if interrupt::is_requested() { Err(Uncut::Interrupted) } else { Ok(()) }
}

/// The ends of lines in a text.
pub(super) fn count(text: &[u8]) -> usize {
    memchr_iter(b'\n', text).count()
}

/// Lines of a text, about as many as have something in them: blank ones are no records.
pub(super) fn count_filled(text: &[u8]) -> usize {
    /// Where lines are longer than this, few are blank.
    const SHORT: usize = 4;
    let n = count(text);
    if n <= text.len() / SHORT {
        return n;
    }
    let is_blank = |end: usize| {
        let line = text[..end].strip_suffix(b"\r").unwrap_or(&text[..end]);
        matches!(line.last(), None | Some(b'\n'))
    };
    memchr_iter(b'\n', text).filter(|&end| !is_blank(end)).count()
}

/// The fields of the first record, and how long it is; `None` if they are more than so many.
pub(super) fn first_record(
    text: &[u8],
    separator: u8,
    most: usize,
) -> Result<Option<(usize, usize)>, Uncut> {
    let is_filled = |byte: &u8| !matches!(byte, b'\n' | b'\r');
    let blank = find(text, |part| part.iter().position(is_filled))?.unwrap_or(text.len());
    let (mut rest, mut n) = (&text[blank..], 1);
    while n <= most {
        rest = behind_quotes(rest)?;
        let end = find(rest, |part| memchr3(separator, b'\n', b'\r', part))?;
        let end = end.unwrap_or(rest.len());
        if rest.get(end) != Some(&separator) {
            return Ok(Some((n, text.len() - blank - (rest.len() - end))));
        }
        (rest, n) = (&rest[end + 1..], n + 1);
    }
    Ok(None)
}

/// What follows a field in quotes, if the text begins with one.
fn behind_quotes(text: &[u8]) -> Result<&[u8], Uncut> {
    let mut rest = text;
    while let Some(quoted) = rest.strip_prefix(b"\"") {
        let Some(end) = next_quote(quoted, 0)? else { return Ok(&[]) };
        // Two quotes are one in the field.
        rest = &quoted[end + 1..];
    }
    Ok(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_record_is_measured() {
        for (text, want) in [
            ("", Some((1, 0))),
            ("a", Some((1, 1))),
            ("\n\r\na,b\nc", Some((2, 3))),
            ("a,\"b,\n\"\"c\",d\n", Some((3, 12))),
            ("5\" x,y\n\"", Some((2, 6))),
            ("a,\"b\nc", Some((2, 6))),
            ("a,b,c,d,e", None),
        ] {
            assert_eq!(first_record(text.as_bytes(), b',', 4), Ok(want), "{text:?}");
        }
    }

    #[test]
    fn a_copy_takes_what_goes_on_and_its_fields() {
        let piece = |text: &str| cut(text.as_bytes(), b',', 0, 1).unwrap().swap_remove(0);
        let long = "x".repeat(2 << 20);
        for (text, fields) in [(format!("\"{long}\"\n"), 0), (format!("\"{long}\",1,2\n"), 2)] {
            let piece = piece(&text);
            let excess = (text.len() - PIECE) as u64;
            assert_eq!(piece.measure_copy(text.as_bytes(), b','), Ok(excess + 8 * fields));
        }
        let text = format!("{long}\n");
        assert_eq!(piece(&text).measure_copy(text.as_bytes(), b','), Ok(0));
    }

    #[test]
    fn blank_lines_are_not_counted() {
        assert_eq!(count_filled(&b"1\n\n\n2\n\r\n\n3\r\n\n\n\n".repeat(9)), 27);
        assert_eq!(count_filled(&b"\n".repeat(1000)), 0);
    }
}
