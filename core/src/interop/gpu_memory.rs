//! The memory of a GPU, shared with other libraries of the process: their blocks as arrays, ours lent to them.
//!
//! They work in streams that we do not know. So what they hand over is taken when all work on the GPU is done, and
//! a block that they had of us serves others only when they have done theirs.
#![expect(unsafe_code, reason = "memory of others is known by its address")]

use std::fmt;
use std::sync::Arc;

use crate::array::Array;
use crate::backend::{Backend, GpuBackend};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ir::op::Op;
use crate::memory::buffer::{Buffer, Release};
use crate::session::Session;
use crate::session::runtime::Device;

/// Loads take up to 16 bytes at once.
const ALIGNMENT: u64 = 16;

impl Session {
    /// An array over `n` lanes at an address in the memory of the GPU that the session works on, which `owner` keeps.
    ///
    /// Waits for all work on the GPU, which may be writing them. Without a copy if the address is a multiple of 16, unless, on
    /// several GPUs, the lanes overlap what was wrapped before or is an array of ours. Masks, of which others may have bytes
    /// besides 0 and 1, are copied always. `owner` is dropped when nothing reads them any more.
    ///
    /// # Safety
    /// So many lanes are there, and nobody writes to them until the owner is dropped.
    ///
    /// # Errors
    /// `Argument` if the session works on no GPU; a failure of the device; `OutOfMemory` where a copy is made.
    pub unsafe fn wrap_on_gpu(
        &self,
        dtype: DType,
        address: u64,
        n: u64,
        owner: impl Send + Sync + 'static,
    ) -> Result<Array> {
        if dtype == DType::Mask {
            // SAFETY: truth values are bytes; else as the caller vouches.
            let bytes = unsafe { self.wrap_on_gpu(DType::U8, address, n, owner) }?;
            let truths = self.apply(Op::Ne, &[(&bytes).into(), 0.into()])?;
            truths.eval()?;
            return Ok(truths);
        }
        let device = self.gpu_device("wrap_on_gpu")?;
        if n == 0 || !address.is_multiple_of(ALIGNMENT) {
            // SAFETY: as the caller vouches.
            return unsafe { self.copy_on_gpu(dtype, address, n) };
        }
        let bytes = usize::try_from(n.saturating_mul(dtype.bytes() as u64)).unwrap_or(usize::MAX);
        if !device.backend.memory().borrow_block(address, bytes) {
            // SAFETY: as the caller vouches.
            return unsafe { self.copy_on_gpu(dtype, address, n) };
        }
        let borrowed = Borrowed { backend: device.backend.clone(), _owner: owner };
        Ok(self.adopt(dtype, n, Buffer::foreign(address, bytes, Arc::new(borrowed))))
    }

    /// As [`Session::wrap_on_gpu`], of what the lanes are now: copied when this returns.
    ///
    /// # Safety
    /// So many lanes are there, and nobody writes to them before this returns.
    ///
    /// # Errors
    /// As [`Session::wrap_on_gpu`].
    pub unsafe fn copy_on_gpu(&self, dtype: DType, address: u64, n: u64) -> Result<Array> {
        if dtype == DType::Mask {
            // SAFETY: truth values are bytes; else as the caller vouches.
            let bytes = unsafe { self.copy_on_gpu(DType::U8, address, n) }?;
            return self.apply(Op::Ne, &[(&bytes).into(), 0.into()]);
        }
        let device = self.gpu_device("copy_on_gpu")?;
        let memory = device.backend.memory();
        let bytes = n.saturating_mul(dtype.bytes() as u64);
        let copy = self.with_evaluator(|evaluator| evaluator.alloc(bytes))?;
        if n > 0 {
            memory.copy(copy.address(), address, copy.bytes())?;
            memory.wait(copy.address())?;
        }
        Ok(self.adopt(dtype, n, copy))
    }

    /// The device, if it is a GPU, with all its work done: others may have written what is read of them now.
    fn gpu_device(&self, op: &'static str) -> Result<Arc<Device>> {
        let device = self.device()?;
        let Some(gpu) = device.backend.gpu() else {
            let what =
                format!("the memory of a GPU, and this session works on {}", self.device_name());
            return Err(Error::Argument { op, what });
        };
        gpu.wait_for_everyone()?;
        Ok(device)
    }
}

/// What owns a block of others.
struct Borrowed<O> {
    backend: Arc<dyn Backend>,
    _owner: O,
}

impl<O: Send + Sync> Release for Borrowed<O> {
    fn release(&self, address: u64, _: usize) {
        self.backend.memory().return_block(address);
    }
}

/// The contents of an array in the memory of its device, for another library: they stay as they are and where they are
/// until this is dropped.
pub struct Lent {
    buffer: Arc<Buffer>,
    backend: Arc<dyn Backend>,
}

impl fmt::Debug for Lent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Lent");
        shown.field("address", &self.address()).field("gpu", &self.gpu()).finish_non_exhaustive()
    }
}

impl Lent {
    /// The address of the first lane.
    pub fn address(&self) -> u64 {
        self.buffer.address()
    }

    /// The GPU in whose memory they are; `None` in the host's.
    pub fn gpu(&self) -> Option<u32> {
        self.backend.gpu().map(GpuBackend::number)
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(gpu) = self.backend.gpu() {
            // Where the GPU fails nobody reads any more.
            drop(gpu.wait_for_everyone());
        }
    }
}

impl Array {
    /// Lends the contents; evaluates, waits for them, and puts a number into memory.
    ///
    /// # Errors
    /// As [`Array::address`].
    pub fn lend(&self) -> Result<Lent> {
        let (buffer, device) = self.session().with_device(|| self.buffer())?;
        let backend = device.backend.clone();
        backend.memory().bring_here(buffer.address(), buffer.bytes() as u64)?;
        Ok(Lent { buffer, backend })
    }
}

impl Array {
    /// A copy in a block of its own; evaluates.
    pub(crate) fn copied(&self) -> Result<Self> {
        let session = self.session();
        let ((source, copy), device) = session.with_device(|| {
            let source = self.buffer()?;
            let bytes = source.bytes() as u64;
            let copy = session.with_evaluator(|evaluator| evaluator.alloc(bytes))?;
            Ok((source, copy))
        })?;
        if source.bytes() > 0 {
            device.backend.memory().copy(copy.address(), source.address(), source.bytes())?;
        }
        Ok(session.adopt(self.dtype(), self.size(), copy))
    }
}
