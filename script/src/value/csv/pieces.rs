//! Where a text can be cut: behind lines that end no quoted field.

use std::ops::Range;

use memchr::{memchr, memchr_iter};
use porcini_core::interrupt;

/// Bytes of a piece.
const PIECE: usize = 1 << 20;
/// Bytes looked at between two looks at the interrupt flag.
const POLL: usize = 1 << 24;
/// A part of a text.
pub(super) struct Piece {
    pub(super) range: Range<usize>,
    /// Its lines, about as many as its records; 0 before they are counted.
    pub(super) lines: usize,
    /// Whether a field in quotes is in it.
    pub(super) is_quoted: bool,
}

/// Why a text is not cut.
pub(super) enum Uncut {
    Interrupted,
    /// Where a quote stands that is never closed: all that follows would be one field.
    Open(usize),
}

/// Pieces of the text from `body` on, of about so many bytes; their borders are borders of records.
pub(super) fn cut(text: &[u8], separator: u8, body: usize) -> Result<Vec<Piece>, Uncut> {
    let mut pieces = Vec::new();
    let mut start = body;
    // Quotes before the body are closed too.
    let mut quoted = next_quoted(text, separator, 0)?;
    while start < text.len() {
        if interrupt::is_requested() {
            return Err(Uncut::Interrupted);
        }
        let mut from = text.len().min(start + PIECE);
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
        pieces.push(Piece { range: start..end, lines: 0, is_quoted });
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
    for (i, part) in text[from..].chunks(POLL).enumerate() {
        if interrupt::is_requested() {
            return Err(Uncut::Interrupted);
        }
        if let Some(at) = memchr(b'"', part) {
            return Ok(Some(from + i * POLL + at));
        }
    }
    Ok(None)
}

/// The ends of lines in a text.
pub(super) fn count(text: &[u8]) -> usize {
    memchr_iter(b'\n', text).count()
}
