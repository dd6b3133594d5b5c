//! What a session keeps for later: compiled kernels, and plans.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::runtime::Runtime;
use crate::convert::exactly;
use crate::eval::cache::Cache;
use crate::eval::schedule::Scratch;
use crate::ir::kernel::KernelHash;

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
    pub(super) fn number(&self) -> usize {
        self.number.load(Ordering::Relaxed)
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(super) fn note(&self, cache: &Cache) {
        self.number.store(cache.len(), Ordering::Relaxed);
        self.bytes.store(cache.bytes(), Ordering::Relaxed);
    }
}
