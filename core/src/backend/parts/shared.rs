//! What launches on parts share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::memory::PartMemory;
use crate::backend::{Backend, Executable};
use crate::error::Result;
use crate::ir::kernel::{Kernel, LiteralMode};

/// The parts of a device.
pub(super) struct Shared {
    /// What computes for each part; the first is here.
    pub(super) devices: Vec<Arc<dyn Backend>>,
    pub(super) memory: PartMemory,
    /// Lanes from which on arrays are split.
    pub(super) whole: u64,
    pub(super) exchanged: Exchanged,
}

/// Code of one kernel for each part.
pub(super) type Codes = Vec<Arc<dyn Executable>>;

impl Shared {
    /// Compiles a kernel, once where parts share a device.
    ///
    /// # Errors
    /// What a device says.
    pub(super) fn lower(&self, kernel: &Kernel, mode: LiteralMode) -> Result<Codes> {
        let mut codes: Codes = Vec::with_capacity(self.devices.len());
        for (part, device) in self.devices.iter().enumerate() {
            let code = match codes.last() {
                Some(last) if Arc::ptr_eq(device, &self.devices[part - 1]) => last.clone(),
                _ => device.lower(kernel, mode)?,
            };
            codes.push(code);
        }
        Ok(codes)
    }
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
