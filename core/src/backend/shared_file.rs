//! Files that the parts of a device read and write by themselves, each its lanes: what they hold never comes together.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::convert::exactly;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::interrupt;

/// Bytes that are moved between two looks at the interrupt flag.
const PIECE: u64 = 1 << 22;

/// A plain file, and by what others know that theirs of that name is the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedFile {
    path: PathBuf,
    bytes: u64,
    /// Its number in the file system, and when it was changed: alike wherever that is reached from.
    identity: [i64; 3],
}

/// Lanes of one type that lie in a file one behind the other, little-endian, from a byte on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FileLanes {
    /// Where they lie.
    pub file: SharedFile,
    /// Their type.
    pub dtype: DType,
    /// The first one's first byte.
    pub start: u64,
    /// How many.
    pub n: u64,
}

impl SharedFile {
    /// The plain file at a path, as it is now.
    ///
    /// # Errors
    /// What the system says; `Unsupported` where it does not tell files apart, and of names that are no text, which nobody
    /// can be told.
    pub fn at(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let about = path.metadata()?;
        let can_be_told = about.is_file() && path.to_str().is_some();
        let identity = identity(&about).filter(|_| can_be_told);
        let identity = identity.ok_or(io::ErrorKind::Unsupported)?;
        Ok(Self { path, bytes: about.len(), identity })
    }

    /// Bytes that it has.
    pub fn size(&self) -> u64 {
        self.bytes
    }

    /// Its first bytes, at most so many.
    ///
    /// # Errors
    /// What the system says.
    pub fn head(&self, bytes: u64) -> io::Result<Vec<u8>> {
        let mut head = Vec::new();
        self.open(false)?.take(bytes).read_to_end(&mut head)?;
        Ok(head)
    }

    /// Opens it, if it is the same here; of one that is written only its number tells.
    fn open(&self, is_written: bool) -> io::Result<File> {
        let file = File::options().read(!is_written).write(is_written).open(&self.path)?;
        let about = file.metadata()?;
        let own = identity(&about).ok_or(io::ErrorKind::Unsupported)?;
        let is_same = match is_written {
            true => own[0] == self.identity[0],
            false => own == self.identity,
        };
        if is_same && about.len() == self.bytes {
            Ok(file)
        } else {
            Err(io::ErrorKind::NotFound.into())
        }
    }
}

#[cfg(unix)]
fn identity(about: &Metadata) -> Option<[i64; 3]> {
    use std::os::unix::fs::MetadataExt as _;
    Some([about.ino().cast_signed(), about.mtime(), about.mtime_nsec()])
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> Option<[i64; 3]> {
    None
}

impl FileLanes {
    /// Some of the lanes.
    pub(super) fn part(&self, lanes: &Range<u64>) -> Self {
        let start = self.start + lanes.start * self.dtype.bytes() as u64;
        Self { start, n: lanes.end - lanes.start, ..self.clone() }
    }

    /// Bytes that they take.
    pub(super) fn bytes(&self) -> u64 {
        self.n * self.dtype.bytes() as u64
    }

    /// Moves them piece by piece between the file and somewhere else: `work` gets the file, a place in it, and which bytes
    /// of the lanes. `false` where the file cannot be reached from here, or is another one.
    ///
    /// # Errors
    /// `Interrupted`, and those of `work`.
    pub(super) fn in_pieces(
        &self,
        is_written: bool,
        mut work: impl FnMut(&File, u64, Range<u64>) -> Result<io::Result<()>>,
    ) -> Result<bool> {
        let Ok(file) = self.file.open(is_written) else { return Ok(false) };
        for first in (0..self.bytes()).step_by(exactly(PIECE)) {
            if interrupt::is_requested() {
                return Err(Error::Interrupted);
            }
            let bytes = first..(first + PIECE).min(self.bytes());
            if work(&file, self.start + first, bytes)?.is_err() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Reads bytes from a place in a file on.
#[cfg(unix)]
pub(super) fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
}

/// Writes bytes from a place in a file on.
#[cfg(unix)]
pub(super) fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(not(unix))]
pub(super) fn read_at(_: &File, _: &mut [u8], _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(unix))]
pub(super) fn write_at(_: &File, _: &[u8], _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
