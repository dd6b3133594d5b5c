//! Copies between the GPUs of a host: over the links between them where there are some, else over the bus.
#![expect(unsafe_code, reason = "the driver is a C library")]

use cudarc::driver::sys;

use super::Gpu;
use crate::backend::cuda::order::Use;
use crate::error::Result;

impl Gpu {
    /// Has it reach the memory of another GPU by itself, where the host is made so.
    pub(in super::super) fn reach(&self, other: &Self) {
        let is_own = self.device == other.device;
        let mut reaches = 0;
        // SAFETY: writes one number; where it fails that stays 0.
        let _ = unsafe { sys::cuDeviceCanAccessPeer(&raw mut reaches, self.device, other.device) };
        if !is_own && reaches == 1 && self.enter().is_ok() {
            // SAFETY: the other's context is held as long as it lives, and ours is current. What is refused, or was
            // allowed before, changes nothing.
            let _ = unsafe { sys::cuCtxEnablePeerAccess(other.context, 0) };
        }
        if !is_own {
            other.sparse.meets(self.device, reaches == 1);
        }
    }

    /// Copies from another GPU, behind what writes the source and what uses the target; nobody waits for it.
    ///
    /// # Errors
    /// A failure of either.
    pub(in super::super) fn bring(
        &self,
        target: u64,
        from: &Self,
        source: u64,
        bytes: usize,
    ) -> Result<()> {
        let here = self.turn([Use::Write(target)], None)?;
        let there = from.turn([Use::Read(source)], None)?;
        self.mark(here.stream.number)?;
        from.wait_for_mark_of(self, there.stream.number, here.stream.number)?;
        from.enter()?;
        let (to, stream) = (self.context, there.stream.handle);
        // SAFETY: both blocks live longer than the turns, in the contexts of their GPUs.
        let copied =
            unsafe { sys::cuMemcpyPeerAsync(target, to, source, from.context, bytes, stream) };
        from.check("copying to another GPU", copied)?;
        from.mark(there.stream.number)?;
        self.enter()?;
        self.wait_for_mark_of(from, here.stream.number, there.stream.number)
    }
}
