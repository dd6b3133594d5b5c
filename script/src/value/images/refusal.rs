//! Why a file is not taken, and what to do about it.

use porcini_core::Error;
use porcini_core::memory::caching_allocator::Bytes;

pub(super) const CONVERT: &str = "save it as PNG with a program that opens it";

/// Why a file is not taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// There is nothing in it.
    #[error("the file is empty")]
    Empty,
    /// It is something else.
    #[error("this is {}; PNG and JPEG are read", .0.name)]
    Other(&'static Other),
    /// It begins like nothing that is known.
    #[error("this is no PNG and no JPEG: it begins with \"{0}\"")]
    Unknown(String),
    /// It is cut off.
    #[error("the {0} ends before its picture does")]
    Cut(&'static str),
    /// It is too short for what its header says.
    #[error("{width} x {height} pixels are more than a {format} of {got} can hold")]
    Size {
        /// PNG or JPEG.
        format: &'static str,
        /// Columns.
        width: u64,
        /// Rows.
        height: u64,
        /// What the file has.
        got: Bytes,
    },
    /// It breaks the rules of its format, or uses some that few use.
    #[error("the {format} is damaged, or of a rare kind: {what}")]
    Damaged {
        /// PNG or JPEG.
        format: &'static str,
        /// What is wrong, as its decoder says it.
        what: String,
    },
    /// It is of a kind of JPEG that nobody reads, or few do.
    #[error("a JPEG {0} is not read")]
    Unsupported(String),
    /// The system has no room.
    #[error("out of memory: its pixels take {0}")]
    Room(Bytes),
    /// What the session says.
    #[error(transparent)]
    Core(#[from] Error),
}

impl Refusal {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Other(other) => Some(other.remedy),
            Self::Unknown(_) | Self::Unsupported(_) => Some(CONVERT),
            Self::Empty | Self::Cut(_) | Self::Size { .. } | Self::Damaged { .. } => Some(
                "copy or download it once more, or save it as PNG with a program that opens it",
            ),
            Self::Room(_) | Self::Core(_) => None,
        }
    }
}

pub(super) type Result<T> = std::result::Result<T, Refusal>;

/// What is not read, but known.
#[derive(Debug)]
pub struct Other {
    pub(super) name: &'static str,
    /// Where it stands in a file, and what.
    pub(super) magic: (usize, &'static [u8]),
    pub(super) remedy: &'static str,
}
