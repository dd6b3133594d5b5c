//! What launches on parts share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::memory::PartMemory;
use crate::backend::Backend;

/// The parts of a device.
pub(super) struct Shared {
    /// What computes, in whichever part's memory.
    pub(super) device: Arc<dyn Backend>,
    pub(super) memory: PartMemory,
    /// Lanes from which on arrays are split.
    pub(super) whole: u64,
    pub(super) exchanged: Exchanged,
}

/// Bytes that parts have brought each other.
#[derive(Default)]
pub(super) struct Exchanged(AtomicU64);

impl Exchanged {
    pub(super) fn add(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Those so far, which are then forgotten.
    pub(super) fn take(&self) -> u64 {
        self.0.swap(0, Ordering::Relaxed)
    }
}
