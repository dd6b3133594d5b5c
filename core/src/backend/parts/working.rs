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
}

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.memory.free_raw(self.address, self.bytes);
    }
}
