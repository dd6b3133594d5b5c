//! Pinned memory of the host through which copies go.
//!
//! The GPU reaches pinned memory by itself, at the speed of the bus, and in the order of its stream. While it
//! copies one block, the processor copies the one before from or to where the caller has it.
#![expect(unsafe_code, reason = "the driver is a C library, and writes memory on its own")]

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::{self, CUevent_flags as EventFlags};

use super::gpu::{Gpu, Stream};
use crate::error::Result;
use crate::interrupt;

/// Bytes of a block: the bus takes as long for them as a copy costs to begin.
const BLOCK: usize = 256 << 10;

/// Two blocks that take turns.
pub(super) struct Staging {
    gpu: Arc<Gpu>,
    blocks: [Block; 2],
}

/// A pinned block, and the event behind the last copy that uses it.
struct Block {
    start: *mut u8,
    used: sys::CUevent,
}

// SAFETY: blocks and handles of the driver may be used from every thread, one at a time.
unsafe impl Send for Staging {}

impl Staging {
    /// Blocks for the copies of a GPU.
    ///
    /// # Errors
    /// A failure of the device.
    pub(super) fn new(gpu: Arc<Gpu>) -> Result<Self> {
        gpu.enter()?;
        let none = || Block { start: ptr::null_mut(), used: ptr::null_mut() };
        // What is there when something fails is freed with the rest.
        let mut staging = Self { gpu, blocks: [none(), none()] };
        for block in &mut staging.blocks {
            let mut start = ptr::null_mut();
            // SAFETY: writes one pointer.
            let result = unsafe { sys::cuMemHostAlloc(&raw mut start, BLOCK, 0) };
            staging.gpu.check("pinning memory", result)?;
            block.start = start.cast();
            let flags = EventFlags::CU_EVENT_DISABLE_TIMING as u32;
            // SAFETY: writes one handle.
            let result = unsafe { sys::cuEventCreate(&raw mut block.used, flags) };
            staging.gpu.check("pinning memory", result)?;
        }
        Ok(staging)
    }

    /// Copies to the GPU in a stream; the bytes have been read when it returns.
    ///
    /// # Errors
    /// `Interrupted`, a failure of the device.
    pub(super) fn write(&mut self, stream: Stream, target: u64, source: &[u8]) -> Result<()> {
        let starts = (target..).step_by(BLOCK);
        for ((piece, start), i) in source.chunks(BLOCK).zip(starts).zip([0, 1].into_iter().cycle())
        {
            let block = &self.blocks[i];
            self.wait_for(block)?;
            // SAFETY: the block is as long as the longest piece, and the GPU has done with it.
            unsafe { ptr::copy_nonoverlapping(piece.as_ptr(), block.start, piece.len()) };
            let (from, n) = (block.start.cast::<c_void>(), piece.len());
            // SAFETY: the target is a live block, and the pinned one does not change before its event.
            let result = unsafe { sys::cuMemcpyHtoDAsync_v2(start, from, n, stream.handle) };
            self.gpu.check("copying to the GPU", result)?;
            self.mark(block, stream)?;
        }
        Ok(())
    }

    /// Copies to the host, behind what the stream was given.
    ///
    /// # Errors
    /// `Interrupted`, a failure of the device.
    pub(super) fn read(&mut self, stream: Stream, source: u64, target: &mut [u8]) -> Result<()> {
        let n = target.len();
        if n == 0 {
            return Ok(());
        }
        self.fetch(&self.blocks[0], stream, source, n.min(BLOCK))?;
        for (i, piece) in target.chunks_mut(BLOCK).enumerate() {
            let next = (i + 1) * BLOCK;
            if next < n {
                let (block, source) = (&self.blocks[(i + 1) % 2], source + next as u64);
                self.fetch(block, stream, source, (n - next).min(BLOCK))?;
            }
            let block = &self.blocks[i % 2];
            self.wait_for(block)?;
            // SAFETY: the GPU has written as many bytes as the piece has, and goes on in the other block.
            unsafe { ptr::copy_nonoverlapping(block.start, piece.as_mut_ptr(), piece.len()) };
        }
        Ok(())
    }

    /// Has the GPU copy bytes into a block, behind all that uses it.
    fn fetch(&self, block: &Block, stream: Stream, source: u64, bytes: usize) -> Result<()> {
        self.gpu.enter()?;
        // The last copy that used it may be under way in another stream.
        // SAFETY: both handles are live; an event that was never recorded is complete.
        let behind = unsafe { sys::cuStreamWaitEvent(stream.handle, block.used, 0) };
        self.gpu.check("copying to the host", behind)?;
        let to = block.start.cast::<c_void>();
        // SAFETY: the source is a live block, and the pinned one long enough.
        let result = unsafe { sys::cuMemcpyDtoHAsync_v2(to, source, bytes, stream.handle) };
        self.gpu.check("copying to the host", result)?;
        self.mark(block, stream)
    }

    fn mark(&self, block: &Block, stream: Stream) -> Result<()> {
        // SAFETY: both handles are live.
        let result = unsafe { sys::cuEventRecord(block.used, stream.handle) };
        self.gpu.check("waiting for the GPU", result)
    }

    /// Waits until the GPU has done with a block.
    fn wait_for(&self, block: &Block) -> Result<()> {
        // SAFETY: the event is live; one that was never recorded is complete.
        self.gpu.poll(|| unsafe { sys::cuEventQuery(block.used) }, interrupt::is_requested)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // A copy may be under way; where the device does not answer, the blocks stay.
        if self.gpu.wait_until(|| false).is_err() {
            return;
        }
        for block in &self.blocks {
            // SAFETY: no copy uses it any more; the driver refuses what was never made.
            let _ = unsafe { sys::cuEventDestroy_v2(block.used) };
            // SAFETY: as above.
            let _ = unsafe { sys::cuMemFreeHost(block.start.cast()) };
        }
    }
}
