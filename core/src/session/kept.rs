//! What a session keeps for later, and gives back: memory of arrays that are gone, compiled kernels, plans.

use std::collections::HashSet;
use std::sync::TryLockError;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Session;
use super::runtime::Runtime;
use crate::convert::exactly;
use crate::eval::cache::Cache;
use crate::eval::schedule::Scratch;
use crate::ir::kernel::KernelHash;
use crate::ir::table::Table;
use crate::memory::caching_allocator::Bytes;

/// Bytes of compiled kernels that a session keeps at most, and that it may keep whatever the limit is.
const MOST_KERNELS: u64 = 256 << 20;
const LEAST_KERNELS: u64 = 1 << 20;
/// Which part of a memory limit kernels may take.
const OF_LIMIT: u64 = 8;

/// What one evaluation at a time works with.
pub(super) struct Compiler {
    pub(super) cache: Cache,
    pub(super) scratch: Scratch,
    /// The kernels that the user was warned of.
    pub(super) told: HashSet<KernelHash>,
}

impl Compiler {
    /// For sessions of a runtime: plans take half as much as kernels.
    pub(super) fn of(runtime: &Runtime) -> Self {
        let limit = runtime.memory_limit().map_or(MOST_KERNELS, |limit| limit.bytes / OF_LIMIT);
        let room = exactly(limit.clamp(LEAST_KERNELS, MOST_KERNELS));
        let (cache, scratch) = (Cache::within(room), Scratch::within(room / 2));
        Self { cache, scratch, told: HashSet::new() }
    }
}

/// Number and bytes of compiled kernels.
#[derive(Debug, Default)]
pub(super) struct KeptKernels {
    number: AtomicUsize,
    bytes: AtomicUsize,
}

impl KeptKernels {
    pub(super) fn note(&self, cache: &Cache) {
        self.number.store(cache.len(), Ordering::Relaxed);
        self.bytes.store(cache.bytes(), Ordering::Relaxed);
    }
}

impl Session {
    /// Gives freed memory back to the device, also that of compiled kernels, which are compiled again when they are wanted; the
    /// number of blocks and bytes, of arrays alone.
    pub fn malloc_trim(&self) -> (usize, u64) {
        let devices = self.family().into_iter().filter_map(|session| {
            session.with_table(Table::sweep);
            session.forget_kernels();
            session.0.runtime.opened()
        });
        let freed = devices.map(|device| device.memory.trim());
        let (blocks, bytes) =
            freed.fold((0, 0), |(blocks, bytes), freed| (blocks + freed.0, bytes + freed.1));
        let freed = Bytes(bytes);
        self.0.common.log.line(1, || format!("malloc_trim(): freed {blocks} blocks ({freed})"));
        (blocks, bytes)
    }

    /// Lets compiled kernels and plans go, unless an evaluation works with them.
    fn forget_kernels(&self) {
        let mut compiler = match self.0.compiler.try_lock() {
            Ok(compiler) => compiler,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        compiler.cache.clear();
        compiler.scratch.forget_plans();
        self.0.kernels.note(&compiler.cache);
    }

    /// Number of compiled kernels that the session keeps. Those that were not used for long go when they take more than
    /// 256 MiB, or an eighth of a memory limit that was set.
    pub fn n_kernels(&self) -> usize {
        self.0.kernels.number.load(Ordering::Relaxed)
    }

    /// Bytes that they take in memory, about.
    pub fn kernel_bytes(&self) -> usize {
        self.0.kernels.bytes.load(Ordering::Relaxed)
    }
}
