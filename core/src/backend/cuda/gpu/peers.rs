//! Copies between the GPUs of a host: over the links between them where there are some, else over the bus.
#![expect(unsafe_code, reason = "the driver is a C library")]

use cudarc::driver::sys;

use super::Gpu;
use super::streams::Turn;
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

    /// Begins to copy from another GPU, behind what writes the source and what uses the target; nobody waits for it.
    ///
    /// # Errors
    /// A failure of either.
    pub(in super::super) fn begin_bring<'g>(
        &'g self,
        target: u64,
        from: &'g Self,
        source: u64,
        bytes: usize,
    ) -> Result<Bring<'g>> {
        let here = self.turn([Use::Write(target)], None)?;
        let there = from.turn([Use::Read(source)], None)?;
        self.mark(here.stream.number)?;
        from.wait_for_mark_of(self, there.stream.number, here.stream.number)?;
        from.enter()?;
        let (to, stream) = (self.context, there.stream.handle);
        // SAFETY: both blocks are in the contexts of their GPUs, and whoever frees one waits for all streams first.
        let copied =
            unsafe { sys::cuMemcpyPeerAsync(target, to, source, from.context, bytes, stream) };
        from.check("copying to another GPU", copied)?;
        Ok(Bring { to: self, from, target, here, there })
    }
}

/// A copy that has begun.
pub(in super::super) struct Bring<'g> {
    to: &'g Gpu,
    from: &'g Gpu,
    target: u64,
    here: Turn<'g>,
    there: Turn<'g>,
}

impl Bring<'_> {
    /// Has what comes later wait for it, and for what else was begun of the block and has come to its end before.
    ///
    /// # Errors
    /// A failure of either.
    pub(in super::super) fn end(self) -> Result<()> {
        let Self { to, from, target, mut here, there } = self;
        from.mark(there.stream.number)?;
        to.enter()?;
        to.wait_for_mark_of(from, here.stream.number, there.stream.number)?;
        here.also(Use::Write(target))
    }
}
