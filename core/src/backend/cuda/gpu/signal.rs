//! A word in the memory of a GPU that the host sets while kernels run.
//!
//! Kernels look at it in every few turns of a loop. In memory of the host a look would go over the bus, one after the
//! other: a microsecond each.
#![expect(unsafe_code, reason = "the driver is a C library")]

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys;

use super::{Gpu, Mapped};
use crate::error::{Error, Result};

/// Bytes of the word.
const BYTES: usize = 8;

/// A word that is 0, or 1 while it is raised.
pub(in super::super) struct Signal {
    gpu: Arc<Gpu>,
    /// A stream of its own, which waits for no kernel.
    stream: sys::CUstream,
    /// What is copied: 0 and 1. The engine that copies needs no room among the kernels.
    values: Mapped,
    /// Where the device finds the word.
    pub(in super::super) address: u64,
}

// SAFETY: the driver takes calls from every thread.
unsafe impl Send for Signal {}
// SAFETY: as above.
unsafe impl Sync for Signal {}

impl Gpu {
    /// A word that is not raised.
    ///
    /// # Errors
    /// A failure of the device; `DeviceFailed` without room for it.
    pub(in super::super) fn signal(self: &Arc<Self>) -> Result<Signal> {
        let values = self.mapped(2)?;
        values.set(0, 0);
        values.set(1, 1);
        let no_room = || Error::DeviceFailed {
            device: self.short_name(),
            what: "making a signal",
            reason: "no memory is free".into(),
            lost: false,
        };
        let address = self.alloc(BYTES).ok_or_else(no_room)?;
        self.fill(self.turn_alone()?.stream, address, 0, 4, BYTES / 4)?;
        let mut stream = ptr::null_mut();
        let kind = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: writes one handle.
        let created = unsafe { sys::cuStreamCreate(&raw mut stream, kind) };
        self.check("making a stream", created)?;
        Ok(Signal { gpu: self.clone(), stream, values, address })
    }
}

impl Signal {
    /// Raises or lowers it, for kernels that run too.
    ///
    /// # Errors
    /// A failure of the device.
    pub(in super::super) fn set(&self, is_raised: bool) -> Result<()> {
        self.gpu.enter()?;
        let value = self.values.host(usize::from(is_raised)).cast::<c_void>();
        // SAFETY: both are live, and the source is pinned.
        let copied = unsafe { sys::cuMemcpyHtoDAsync_v2(self.address, value, BYTES, self.stream) };
        self.gpu.check("stopping a loop", copied)?;
        // SAFETY: the stream is ours.
        let done = unsafe { sys::cuStreamSynchronize(self.stream) };
        self.gpu.check("stopping a loop", done)
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        if self.gpu.wait_until(|| false).is_ok() {
            self.gpu.free(self.address);
            // SAFETY: the stream is ours.
            let _ = unsafe { sys::cuStreamDestroy_v2(self.stream) };
        }
    }
}
