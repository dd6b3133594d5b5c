//! Blocks of a GPU whose memory comes as it is needed (`sparse.rs`), in the order of its work.

use std::ops::Range;

use cudarc::driver::sys::CUresult;

use super::Gpu;
use crate::backend::cuda::order::Use;
use crate::error::{Error, Result};

/// What the driver says, or the device.
enum Failure {
    Driver(CUresult),
    Device(Error),
}

impl From<CUresult> for Failure {
    fn from(result: CUresult) -> Self {
        Self::Driver(result)
    }
}

impl Gpu {
    /// A block that has no memory yet, or `None` where there are no such blocks, or of so few bytes.
    pub(in super::super) fn reserve(&self, bytes: usize) -> Option<u64> {
        self.enter().ok()?;
        self.sparse.reserve(bytes)
    }

    /// Sees to it that bytes of a block have memory, zeroed where it is new; whether there is so much.
    ///
    /// # Errors
    /// A failure of the device.
    pub(in super::super) fn back(&self, address: u64, bytes: &Range<u64>) -> Result<bool> {
        self.enter()?;
        let clear = |start, n| {
            let turn = self.turn([Use::Write(address)], None).map_err(Failure::Device)?;
            self.fill(turn.stream, start, 0, 1, n).map_err(Failure::Device)
        };
        match self.sparse.back(address, bytes, clear) {
            Ok(()) => Ok(true),
            Err(Failure::Driver(CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => Ok(false),
            Err(Failure::Driver(result)) => self.check("making memory", result).map(|()| true),
            Err(Failure::Device(error)) => Err(error),
        }
    }

    /// Gives such a block back, behind all that uses it; whether it was one.
    pub(in super::super) fn release(&self, address: u64) -> bool {
        let Some(give_back) = self.sparse.release(address) else { return false };
        // Where the device fails, all that it had is gone.
        if self.wait_until(|| false).is_ok() && self.enter().is_ok() {
            give_back();
        }
        true
    }
}
