//! What parts have done since somebody asked.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::backend::{PartNotes, PartWork};

#[derive(Default)]
pub(super) struct Notes {
    exchanged: AtomicU64,
    works: Mutex<Vec<Took>>,
}

/// A part, when it began something, and how long that took.
pub(super) type Took = (usize, Instant, Duration);

impl Notes {
    /// Parts have brought each other bytes.
    pub(super) fn exchanged(&self, bytes: u64) {
        self.exchanged.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Parts have taken times.
    pub(super) fn took(&self, works: impl IntoIterator<Item = Took>) {
        self.works().extend(works);
    }

    fn works(&self) -> MutexGuard<'_, Vec<Took>> {
        self.works.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All so far, which is then forgotten.
    pub(super) fn take(&self) -> PartNotes {
        let works = std::mem::take(&mut *self.works());
        let works = works.into_iter().map(|(part, begun, time)| PartWork {
            part,
            ago: begun.elapsed(),
            time,
        });
        let exchanged = self.exchanged.swap(0, Ordering::Relaxed);
        PartNotes { exchanged, works: works.collect(), refusal: None }
    }
}
