//! Working memory, which is given back.

use crate::backend::Memory;
use crate::backend::host::{ALIGNMENT, refusal};
use crate::error::Result;

/// A block of working memory.
pub(super) struct Working<'m> {
    memory: &'m dyn Memory,
    pub(super) address: u64,
    bytes: usize,
}

impl<'m> Working<'m> {
    pub(super) fn of(memory: &'m dyn Memory, bytes: usize) -> Result<Self> {
        let bytes = bytes.max(1).next_multiple_of(ALIGNMENT);
        let address = memory.alloc_raw(bytes).ok_or_else(|| refusal(memory, bytes as u64))?;
        Ok(Self { memory, address, bytes })
    }

    /// The same of what will be written from end to end, where the system would give more than it has.
    pub(super) fn full(memory: &'m dyn Memory, bytes: usize) -> Result<Self> {
        if bytes as u64 >= LARGE && memory.capacity().bytes < bytes as u64 {
            return Err(refusal(memory, bytes as u64));
        }
        Self::of(memory, bytes)
    }
}

/// Bytes from which on the system is asked whether it has room.
const LARGE: u64 = 1 << 26;

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.memory.free_raw(self.address, self.bytes);
    }
}
