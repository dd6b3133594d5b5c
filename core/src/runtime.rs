//! What sessions share: a device, its memory, its workers.

use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use crate::alloc::Allocator;
use crate::backend::{self, Backend, DeviceChoice};
use crate::error::Result;

/// A device with its memory and workers, shared by sessions.
pub struct Runtime {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) memory: Arc<Allocator>,
    /// Identifies the device in kernel hashes.
    pub(crate) target: u64,
}

impl Runtime {
    /// Opens a device. `threads` counts the caller; `memory_limit` in bytes, by default 90 % of what is
    /// available.
    ///
    /// # Errors
    /// `NoDevice`.
    pub fn new(
        device: DeviceChoice,
        threads: usize,
        memory_limit: Option<u64>,
    ) -> Result<Arc<Self>> {
        Ok(Self::on(backend::open(device, threads)?, memory_limit))
    }

    /// A runtime over any implementation of a device.
    pub fn on(backend: Arc<dyn Backend>, memory_limit: Option<u64>) -> Arc<Self> {
        let memory = Allocator::new(backend.clone(), memory_limit);
        let target = xxh3_64(backend.name().as_bytes());
        Arc::new(Self { backend, memory, target })
    }
}
