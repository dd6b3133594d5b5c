//! What is wrong with a file, and what stops work on it.

use std::ops::Range;

use arrow_schema::ArrowError;
use porcini_core::{Error, interrupt};

use crate::fault::{IntoFault, fault, fault_with_hint, placed};

/// Letters of what a library says that an error shows.
const SHOWN: usize = 200;

pub(super) type Result<T> = std::result::Result<T, Trouble>;

/// Why a file is not read or written; errors of scripts do not leave their thread.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// Too little memory, or Ctrl-C.
    Core(Error),
    /// The file is not what it says.
    Damaged(String),
    /// What cannot be done with it, and what can.
    Refused(String, Option<String>),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Core(error)
    }
}

impl From<ArrowError> for Trouble {
    fn from(error: ArrowError) -> Self {
        damaged(&error)
    }
}

impl Trouble {
    /// The error of a script; `place` names function and file.
    pub(crate) fn fault(self, place: &str) -> Box<rhai::EvalAltResult> {
        match self {
            Self::Core(error) => match Err::<(), _>(error).or_fault() {
                Err(error) => placed(error, place),
                Ok(()) => fault(place),
            },
            Self::Damaged(what) => fault(format!("{place} is damaged: {what}")),
            Self::Refused(what, None) => fault(format!("{place}: {what}")),
            Self::Refused(what, Some(hint)) => fault_with_hint(format!("{place}: {what}"), hint),
        }
    }
}

/// What a library says of a file, in short.
pub(super) fn damaged(error: &impl ToString) -> Trouble {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    Trouble::Damaged(line.chars().take(SHOWN).collect())
}

pub(super) fn out_of_memory(what: &str) -> Trouble {
    Trouble::Refused(format!("out of memory: {what}"), None)
}

pub(super) fn poll() -> Result<()> {
    if interrupt::is_requested() { Err(Error::Interrupted.into()) } else { Ok(()) }
}

/// So many bytes of a file that ends at `end`, if it has them.
pub(super) fn range(start: usize, length: i64, end: usize) -> Result<Range<usize>> {
    let length_of = usize::try_from(length).ok();
    let range = length_of.and_then(|length| Some(start..start.checked_add(length)?));
    range.filter(|range| range.end <= end).ok_or_else(|| {
        Trouble::Damaged(format!("{length} bytes from {start} on are more than its {end}"))
    })
}
