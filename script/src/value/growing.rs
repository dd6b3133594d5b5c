//! The bytes of a file in the making: more than the system has is refused, where a `Vec` would end the process.

use std::io::{self, Cursor, Seek, SeekFrom, Write};

use porcini_core::memory::caching_allocator::Bytes;

/// What encoders write to.
#[derive(Debug, Default)]
pub(crate) struct Growing(Cursor<Vec<u8>>);

impl Growing {
    /// What was written.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0.into_inner()
    }
}

impl Write for Growing {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let at = usize::try_from(self.0.position()).unwrap_or(usize::MAX);
        let bytes = self.0.get_mut();
        let more = at.saturating_add(piece.len()).saturating_sub(bytes.len());
        // Where there is no room for twice as much there may be for this.
        if bytes.try_reserve(more).is_err() && bytes.try_reserve_exact(more).is_err() {
            let made = Bytes(bytes.len() as u64);
            let what = format!("out of memory: the file takes more than {made}");
            return Err(io::Error::new(io::ErrorKind::OutOfMemory, what));
        }
        self.0.write(piece)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Growing {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_anew_takes_no_room() {
        let mut file = Growing::default();
        file.write_all(b"abcdef").unwrap();
        file.seek(SeekFrom::Start(1)).unwrap();
        file.write_all(b"xy").unwrap();
        file.seek(SeekFrom::End(0)).unwrap();
        file.write_all(b"g").unwrap();
        assert_eq!(file.into_bytes(), b"axydefg");
    }

    #[test]
    fn what_has_no_room_is_refused() {
        let mut file = Growing::default();
        file.seek(SeekFrom::Start(u64::MAX / 2)).unwrap();
        let error = file.write(b"a").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::OutOfMemory);
    }
}
