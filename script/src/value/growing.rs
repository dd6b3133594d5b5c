//! The bytes of a file in the making: more than the system has is refused, where a `Vec` would end the process.

use std::io::{self, Cursor, Seek, SeekFrom, Write};

use porcini_core::memory::caching_allocator::Bytes;

/// What encoders write to.
#[derive(Debug, Default)]
pub(crate) struct Growing {
    file: Cursor<Vec<u8>>,
    /// Whether something was. Then what follows is swallowed: an archive that is dropped writes its end, and says so on
    /// standard error if it cannot.
    is_refused: bool,
}

impl Growing {
    /// What was written.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.file.into_inner()
    }
}

impl Write for Growing {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if self.is_refused {
            return Ok(piece.len());
        }
        let at = usize::try_from(self.file.position()).unwrap_or(usize::MAX);
        let bytes = self.file.get_mut();
        let more = at.saturating_add(piece.len()).saturating_sub(bytes.len());
        // Where there is no room for twice as much there may be for this.
        if bytes.try_reserve(more).is_err() && bytes.try_reserve_exact(more).is_err() {
            self.is_refused = true;
            let made = Bytes(bytes.len() as u64);
            let what = format!("out of memory: the file takes more than {made}");
            return Err(io::Error::new(io::ErrorKind::OutOfMemory, what));
        }
        self.file.write(piece)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Growing {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
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
        // Whoever is dropped behind that need not know.
        file.write_all(b"the end").unwrap();
        assert!(file.into_bytes().is_empty());
    }
}
