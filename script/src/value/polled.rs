//! The bytes of a file for decoders, which end when somebody presses Ctrl-C: they read nothing more.

use std::io::{self, BufRead, Read, Seek, SeekFrom};

use porcini_core::interrupt;

/// Bytes between two looks at the interrupt flag: a thousand times as many may be unpacked from them.
const PIECE: usize = 1 << 14;

/// The bytes of a file, from a place on.
pub(super) struct Polled<'f> {
    file: &'f [u8],
    at: usize,
    /// Up to where nobody asks.
    end: usize,
}

impl<'f> Polled<'f> {
    pub(super) fn new(file: &'f [u8]) -> Self {
        Self { file, at: 0, end: 0 }
    }
}

impl BufRead for Polled<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at >= self.end {
            if interrupt::is_requested() {
                // Who reads goes on after `Interrupted`.
                return Err(io::Error::other("interrupted"));
            }
            self.end = self.at.saturating_add(PIECE).min(self.file.len());
        }
        Ok(self.file.get(self.at..self.end).unwrap_or_default())
    }

    fn consume(&mut self, n: usize) {
        self.at += n;
    }
}

impl Read for Polled<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let n = self.fill_buf()?.read(bytes)?;
        self.consume(n);
        Ok(n)
    }
}

impl Seek for Polled<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let (from, by) = match to {
            SeekFrom::Start(at) => (usize::try_from(at).unwrap_or(usize::MAX), 0),
            SeekFrom::End(by) => (self.file.len(), by),
            SeekFrom::Current(by) => (self.at, by),
        };
        let by = isize::try_from(by).map_err(io::Error::other)?;
        let at = from.checked_add_signed(by);
        self.at = at.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        self.end = self.at;
        Ok(self.at as u64)
    }
}
