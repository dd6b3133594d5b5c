//! What parts have done since somebody asked.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::backend::{PartNotes, Slowest};

#[derive(Default)]
pub(super) struct Notes {
    exchanged: AtomicU64,
    slowest: Mutex<Option<Slowest>>,
}

impl Notes {
    /// Parts have brought each other bytes.
    pub(super) fn exchanged(&self, bytes: u64) {
        self.exchanged.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Parts have taken times over their lanes.
    pub(super) fn took(&self, times: &[(usize, Duration)]) {
        let Some(&(part, time)) = times.iter().max_by_key(|(_, time)| time) else { return };
        let sum: Duration = times.iter().map(|(_, time)| time).sum();
        let mean = sum / u32::try_from(times.len()).unwrap_or(1);
        let mut slowest = self.slowest.lock().unwrap_or_else(PoisonError::into_inner);
        // Of several launches for one that of the longest.
        if slowest.is_none_or(|known| known.time < time) {
            *slowest = Some(Slowest { part, time, mean });
        }
    }

    /// All so far, which is then forgotten.
    pub(super) fn take(&self) -> PartNotes {
        PartNotes {
            exchanged: self.exchanged.swap(0, Ordering::Relaxed),
            slowest: self.slowest.lock().unwrap_or_else(PoisonError::into_inner).take(),
        }
    }
}
