//! How operations are recorded at the moment: what scopes of recording set and take back.

use std::collections::HashMap;
use std::thread::{self, ThreadId};

use smallvec::SmallVec;

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
    /// Of threads that do not track what they record, or ask that bodies keep that in mind.
    tracking: SmallVec<[(ThreadId, Tracking); 1]>,
    /// The threads that record functions to be called later, once for each function in the other.
    pub(crate) functions: Threads,
    /// What such a function did that it may not do.
    failures: SmallVec<[(ThreadId, Error); 1]>,
    /// The threads that differentiate functions, once for each function in the other.
    pub(crate) differentiated: Threads,
    /// Parts of what is tracked that are gone through on their own, the inner ones of a thread last.
    pub(super) isolated: SmallVec<[Isolated; 1]>,
}

/// A tracked number that waits, and the same without derivatives, each with the generation of its slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Detached {
    pub(super) of: (VarId, u32),
    pub(super) number: (VarId, u32),
}

/// Threads that are at something, once for each time that one began and did not end: what others do meanwhile is no part of it.
#[derive(Debug, Default)]
pub(crate) struct Threads(SmallVec<[ThreadId; 1]>);

impl Threads {
    /// This thread begins.
    pub(crate) fn begin(&mut self) {
        self.0.push(thread::current().id());
    }

    /// This thread ends what it began last.
    pub(crate) fn end(&mut self) {
        let own = thread::current().id();
        if let Some(last) = self.0.iter().rposition(|&thread| thread == own) {
            self.0.remove(last);
        }
    }

    /// Whether this thread is at it.
    pub(crate) fn has_own(&self) -> bool {
        !self.0.is_empty() && self.0.contains(&thread::current().id())
    }

    /// Whether no thread is.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// How a thread tracks what it records, see [`Session::start_tracking`](crate::Session::start_tracking).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tracking {
    /// Whether nothing is tracked, whatever it is made of.
    pub(crate) untracked: bool,
    /// Whether that was asked for: bodies of regions, which are recorded again where they are differentiated, keep it in mind.
    pub(crate) detaches: bool,
}

impl Tracking {
    /// As the user asks for it.
    pub(crate) const fn asked(tracks: bool) -> Self {
        Self { untracked: !tracks, detaches: !tracks }
    }
}

impl Recording {
    /// How this thread tracks: what another one leaves out has derivatives here.
    pub(crate) fn tracking(&self) -> Tracking {
        if self.tracking.is_empty() {
            return Tracking::default();
        }
        let own = thread::current().id();
        let known = self.tracking.iter().find(|(thread, _)| *thread == own);
        known.map_or_else(Tracking::default, |&(_, tracking)| tracking)
    }

    /// Sets how this thread tracks; how it did.
    pub(crate) fn exchange_tracking(&mut self, tracking: Tracking) -> Tracking {
        let before = self.tracking();
        if before != tracking {
            let own = thread::current().id();
            self.tracking.retain(|(thread, _)| *thread != own);
            if tracking != Tracking::default() {
                self.tracking.push((own, tracking));
            }
        }
        before
    }

    /// Sets whether this thread tracks nothing, and leaves what it asks for; how it tracked.
    pub(crate) fn exchange_untracked(&mut self, untracked: bool) -> Tracking {
        let tracking = self.tracking();
        self.exchange_tracking(Tracking { untracked, ..tracking })
    }
}

/// Functions that are recorded to be called later.
impl Recording {
    /// Notes what the function of this thread did that it may not do.
    pub(crate) fn fail(&mut self, error: Error) {
        self.take_failure();
        self.failures.push((thread::current().id(), error));
    }

    /// What it did since this was asked.
    pub(crate) fn take_failure(&mut self) -> Option<Error> {
        let own = thread::current().id();
        let place = self.failures.iter().position(|(thread, _)| *thread == own)?;
        Some(self.failures.remove(place).1)
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
#[derive(Debug)]
pub(crate) struct Isolated {
    /// What tells it from others that did not end.
    pub(super) number: u64,
    /// The thread whose gradients halt there.
    pub(super) thread: ThreadId,
    pub(crate) from: u64,
    pub(crate) borders: HashMap<VarId, VarId, Mix>,
}
