//! A block of device memory that arrays share.

use std::sync::Arc;

/// Returns blocks to whoever handed them out.
pub trait Release: Send + Sync {
    /// Takes back the block at `address`, of the capacity it was handed out with.
    fn release(&self, address: u64, capacity: usize);
}

/// A block of device memory; freed when the last owner lets go.
pub struct Buffer {
    address: u64,
    bytes: usize,
    capacity: usize,
    /// Whether the memory is foreign and read-only.
    foreign: bool,
    owner: Arc<dyn Release>,
}

impl Buffer {
    /// Wraps the block at `address`: `bytes` used of `capacity`.
    pub fn new(address: u64, bytes: usize, capacity: usize, owner: Arc<dyn Release>) -> Self {
        Self { address, bytes, capacity, foreign: false, owner }
    }

    /// A block of foreign memory: it is never written.
    pub(crate) fn foreign(address: u64, bytes: usize, owner: Arc<dyn Release>) -> Self {
        Self { address, bytes, capacity: bytes, foreign: true, owner }
    }

    /// Whether results may overwrite it once its contents have no further use.
    pub fn may_be_overwritten(&self) -> bool {
        !self.foreign
    }

    /// Whether it was handed out by this owner.
    pub(crate) fn is_of<R: Release>(&self, owner: &Arc<R>) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.owner), Arc::as_ptr(owner))
    }

    /// Device address of the first byte.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Bytes in use.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.owner.release(self.address, self.capacity);
    }
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buffer({:#x}, {} B)", self.address, self.bytes)
    }
}
