//! What a session has in memory besides arrays, and gives back.

use std::sync::TryLockError;
use std::time::Duration;

use super::Session;
use crate::ir::table::Table;
use crate::memory::caching_allocator::{Bytes, KEPT, MemoryInfo};

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

    /// Gives large blocks of memory back to the device that no array used for ten seconds; the time after which others are
    /// due, if some are kept. Making large arrays does that too; a program that waits asks for it.
    pub fn give_back_unused(&self) -> Option<Duration> {
        let devices = self.family().into_iter().filter_map(|session| {
            session.with_table(Table::sweep);
            session.0.runtime.opened()
        });
        devices.filter_map(|device| device.memory.give_back_unused(KEPT)).min()
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

    /// Number of compiled kernels that the session keeps. They take at most about 256 MiB, or an eighth of a memory limit
    /// that was set: from half of that on those go that were not used for long.
    pub fn n_kernels(&self) -> usize {
        self.0.kernels.number()
    }

    /// Bytes that they take in memory, about.
    pub fn kernel_bytes(&self) -> usize {
        self.0.kernels.bytes()
    }

    /// Device memory in use, kept and allowed.
    pub fn memory_info(&self) -> MemoryInfo {
        self.with_table(Table::sweep);
        self.0.runtime.opened().map(|device| device.memory.info()).unwrap_or_default()
    }
}
