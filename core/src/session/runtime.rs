//! What sessions share: a device, its memory, its workers.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use xxhash_rust::xxh3::xxh3_64;

use crate::backend::cuda::Toolkit;
use crate::backend::{self, Backend, Counts, DeviceChoice, GpuBackend, Outside};
use crate::error::{Error, Result};
use crate::memory::caching_allocator::{Allocator, Limit};

/// A device with its memory and workers, shared by sessions.
///
/// A GPU takes a third of a second to open, so that waits for the first value that is needed; and a GPU
/// that was lost is opened anew for the next one.
pub struct Runtime {
    choice: DeviceChoice,
    threads: usize,
    memory_limit: Option<Limit>,
    outside: Outside,
    device: Mutex<Option<Arc<Device>>>,
}

/// Threads that a runtime may have.
pub const MOST_THREADS: u16 = 4096;

/// An open device.
pub(crate) struct Device {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) memory: Arc<Allocator>,
    /// Identifies the device in kernel hashes.
    pub(crate) target: u64,
}

impl Device {
    fn new(backend: Arc<dyn Backend>, memory_limit: Option<Limit>) -> Arc<Self> {
        let memory = Allocator::new(backend.clone(), memory_limit);
        let counts: Arc<dyn Counts> = memory.clone();
        backend.count_in(Arc::downgrade(&counts));
        let target = xxh3_64(backend.name().as_bytes());
        Arc::new(Self { backend, memory, target })
    }

    /// Whether a failure has made it useless.
    pub(crate) fn is_lost(&self) -> bool {
        self.backend.is_lost()
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Runtime");
        shown.field("choice", &self.choice).field("threads", &self.threads).finish_non_exhaustive()
    }
}

impl Runtime {
    /// A runtime on a device. `threads` counts the caller; `memory_limit` in bytes, by default 90 % of what
    /// is available.
    ///
    /// # Errors
    /// `NoDevice`; that a GPU does not answer may come out later. `Argument` if there are not 1 to [`MOST_THREADS`] threads.
    pub fn new(
        choice: DeviceChoice,
        threads: usize,
        memory_limit: Option<u64>,
    ) -> Result<Arc<Self>> {
        Self::with(choice, threads, memory_limit.map(Limit::from), Outside::default())
    }

    /// As [`Runtime::new`], with what the device may use of the system.
    ///
    /// # Errors
    /// As [`Runtime::new`].
    pub fn with(
        choice: DeviceChoice,
        threads: usize,
        memory_limit: Option<Limit>,
        outside: Outside,
    ) -> Result<Arc<Self>> {
        if !(1..=MOST_THREADS.into()).contains(&threads) {
            let what = format!("got {threads}, expected 1 to {MOST_THREADS}");
            return Err(Error::Argument { op: "threads", what });
        }
        let runtime = Self { choice, threads, memory_limit, outside, device: Mutex::default() };
        if !backend::opens_late(choice)? {
            runtime.device()?;
        }
        Ok(Arc::new(runtime))
    }

    /// A runtime on another device with the same settings; of its memory it may use what is usual.
    ///
    /// # Errors
    /// As [`Runtime::new`].
    pub(crate) fn beside(&self, choice: DeviceChoice) -> Result<Arc<Self>> {
        Self::with(choice, self.threads, None, self.outside.clone())
    }

    /// A runtime over any implementation of a device.
    #[cfg(feature = "internals")]
    pub fn on(backend: Arc<dyn Backend>, memory_limit: Option<u64>) -> Arc<Self> {
        let memory_limit = memory_limit.map(Limit::from);
        let device = Mutex::new(Some(Device::new(backend, memory_limit)));
        let outside = Outside::default();
        Arc::new(Self { choice: DeviceChoice::Auto, threads: 1, memory_limit, outside, device })
    }

    /// The device, opened if need be.
    ///
    /// # Errors
    /// `NoDevice`.
    pub(crate) fn device(&self) -> Result<Arc<Device>> {
        let mut device = self.lock();
        if let Some(open) = &*device
            && !open.is_lost()
        {
            return Ok(open.clone());
        }
        // Ranks with GPUs that go on would have their memory beside those that come; what is rescued is the first part's.
        if let Some(lost) = device.as_ref().filter(|open| open.backend.gpu().is_some()) {
            lost.backend.leave();
        }
        let backend = backend::open(self.choice, self.threads, &self.outside)?;
        let opened = Device::new(backend, self.memory_limit);
        Ok(device.insert(opened).clone())
    }

    /// Has the device fail, to see what follows: on a GPU by a kernel that traps. Others do not fail.
    ///
    /// # Errors
    /// `NoDevice`. The failure itself shows when the device is next waited for.
    #[doc(hidden)]
    pub fn fail_device(&self) -> Result<()> {
        self.device()?.backend.gpu().map_or(Ok(()), GpuBackend::fail)
    }

    /// The bound on memory that somebody set.
    pub(crate) fn memory_limit(&self) -> Option<Limit> {
        self.memory_limit
    }

    /// How many threads work, the caller included.
    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// The device, if it has been opened.
    pub(crate) fn opened(&self) -> Option<Arc<Device>> {
        self.lock().clone()
    }

    /// Where compiled kernels are kept for other processes.
    pub(crate) fn cache_folder(&self) -> Option<PathBuf> {
        self.outside.cache_folder.clone()
    }

    /// Where programs are that show machine code.
    pub(crate) fn toolkit(&self) -> &Toolkit {
        &self.outside.toolkit
    }

    /// What was asked for.
    pub(crate) fn choice(&self) -> DeviceChoice {
        self.choice
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Device>>> {
        self.device.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_bounded() {
        let with = |threads| Runtime::new(DeviceChoice::Cpu, threads, None).map(drop);
        assert!(with(1).is_ok());
        for threads in [0, 100_000] {
            let message = format!("threads: got {threads}, expected 1 to 4096");
            assert_eq!(with(threads).unwrap_err().to_string(), message);
        }
    }
}
