//! How operations are recorded at the moment: what scopes of recording set and take back.

use std::collections::HashMap;
use std::thread::ThreadId;

use crate::error::Error;
use crate::ir::mix::Mix;
use crate::ir::var::VarId;

/// What decides how the next operations are recorded.
#[derive(Default)]
pub(crate) struct Recording {
    pub(super) open_regions: Vec<OpenRegion>,
    pub(super) last_scope: u32,
    /// Whether composites are recorded as what they are made of: inside what others are made of.
    pub(crate) inlines: bool,
    /// Whether nothing that is recorded is tracked, whatever it is made of.
    pub(crate) untracked: bool,
    /// Whether that was asked for: bodies of regions, which are recorded again where they are differentiated, keep it in mind.
    pub(crate) detaches: bool,
    /// How many functions are being recorded to be called later, one in the other.
    pub(crate) functions: usize,
    /// What such a function did that it may not do.
    pub(crate) failure: Option<Error>,
    /// How many functions are being differentiated, one in the other.
    pub(crate) differentiated: usize,
    /// What is gone through on its own of what is tracked.
    pub(crate) isolated: Option<Isolated>,
}

impl Recording {
    /// Sets `untracked` and `detaches`; what they were.
    pub(crate) const fn exchange_tracking(
        &mut self,
        [untracked, detaches]: [bool; 2],
    ) -> [bool; 2] {
        let before = [self.untracked, self.detaches];
        (self.untracked, self.detaches) = (untracked, detaches);
        before
    }
}

/// A region that is being recorded, by one thread.
pub(crate) struct OpenRegion {
    /// Set by the table.
    pub(crate) scope: u32,
    /// Name and line of the call, for errors.
    pub(crate) op: &'static str,
    pub(crate) line: u32,
    pub(crate) thread: ThreadId,
    /// Variables from here on were recorded since it was opened; set by the table.
    pub(crate) serial: u64,
    /// Lanes that gathers and scatters are limited to.
    pub(crate) mask: VarId,
    /// Lanes of what was recorded so far; 1 broadcasts.
    pub(crate) lanes: u64,
    /// Whether it is run step by step, so that values can be read.
    pub(crate) evaluated: bool,
    /// Step by step: the serials of arrays after writes and before them, of the outermost body.
    pub(crate) writes: HashMap<u64, u64>,
}

/// A part of the tape on its own: what was recorded from a serial on, and the cotangents that variables from before have had
/// since; the part has an external reference to each of both.
#[derive(Debug, Default)]
pub(crate) struct Isolated {
    pub(crate) from: u64,
    pub(crate) borders: HashMap<VarId, VarId, Mix>,
}
