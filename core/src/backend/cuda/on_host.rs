//! Runs on the host what needs one lane after the other, on copies of the arrays: the interpreter is then
//! faster than a GPU, which would run one of its thousands of threads.

use std::sync::Arc;

use super::gpu::Gpu;
use super::order::Use;
use crate::backend::host::{HostMemory, exhausted};
use crate::backend::interp::Interp;
use crate::backend::isa::Isa;
use crate::backend::primitive::{MemoryArray, PrimitiveCall};
use crate::backend::{Backend, CodeStatistics, Executable, Launched, Memory};
use crate::convert::exactly;
use crate::error::Result;
use crate::ir::kernel::{BufferIndex, Code, Kernel, LiteralMode, ParamBlock};
use crate::memory::caching_allocator::Allocator;

/// The host beside a GPU.
pub(super) struct OnHost {
    gpu: Arc<Gpu>,
    interp: Arc<Interp>,
    memory: Arc<Allocator>,
}

impl OnHost {
    pub(super) fn new(gpu: Arc<Gpu>) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let interp = Arc::new(Interp::new(Isa::detect(), threads));
        let memory = Allocator::new(interp.clone(), None);
        Self { gpu, interp, memory }
    }

    /// A kernel that runs here.
    ///
    /// # Errors
    /// What the interpreter says of the kernel.
    pub(super) fn lower(
        self: &Arc<Self>,
        kernel: &Kernel,
        mode: LiteralMode,
    ) -> Result<OnHostKernel> {
        let code = self.interp.lower(kernel, mode)?;
        let buffers = (0..kernel.buffers.len()).map(|i| Copied::of(kernel, i)).collect();
        Ok(OnHostKernel { host: self.clone(), code, buffers })
    }

    /// Runs a primitive.
    ///
    /// # Errors
    /// `Interrupted`, `OutOfMemory`, a failure of the GPU.
    pub(super) fn run_primitive(&self, call: &PrimitiveCall) -> Result<()> {
        let mut copies = Copies { gpu: &self.gpu, blocks: Vec::new() };
        let operands = call.operands.iter().map(|array| {
            let address = copies.read(array.address, bytes_of(array))?;
            Ok(MemoryArray { address, ..*array })
        });
        let operands = operands.collect::<Result<_>>()?;
        let mut here = |array: &MemoryArray| {
            Ok(MemoryArray { address: copies.room(bytes_of(array))?, ..*array })
        };
        let result = here(&call.result)?;
        let imag = call.imag.as_ref().map(here).transpose()?;
        let call_here = PrimitiveCall { operands, result, imag, ..*call };
        let room = |bytes| self.memory.alloc(bytes).map_err(|_| exhausted(bytes));
        self.interp.run_primitive(&call_here, &room)?;
        let made = [Some(result), imag].into_iter().zip([Some(call.result), call.imag]);
        made.filter_map(|(here, there)| here.zip(there)).try_for_each(|(here, there)| {
            copies.write_back(here.address, there.address, bytes_of(&there))
        })
    }
}

fn bytes_of(array: &MemoryArray) -> usize {
    exactly::<usize>(array.size).saturating_mul(array.dtype.bytes())
}

/// Blocks of host memory, for as long as this lives.
struct Copies<'g> {
    gpu: &'g Gpu,
    blocks: Vec<(u64, usize)>,
}

impl Copies<'_> {
    fn room(&mut self, bytes: usize) -> Result<u64> {
        let bytes = bytes.max(1);
        let address = HostMemory.alloc_raw(bytes).ok_or_else(|| exhausted(bytes as u64))?;
        self.blocks.push((address, bytes));
        Ok(address)
    }

    fn read(&mut self, address: u64, bytes: usize) -> Result<u64> {
        let here = self.room(bytes)?;
        let mut contents = vec![0; bytes];
        self.gpu.read(address, &mut contents)?;
        HostMemory.put(here, &contents);
        Ok(here)
    }

    fn write_back(&self, here: u64, address: u64, bytes: usize) -> Result<()> {
        let mut contents = vec![0; bytes];
        HostMemory.get(here, &mut contents);
        let turn = self.gpu.turn([Use::Write(address)], None)?;
        self.gpu.write(turn.stream, address, &contents)
    }
}

impl Drop for Copies<'_> {
    fn drop(&mut self) {
        self.blocks.iter().for_each(|&(address, bytes)| HostMemory.free_raw(address, bytes));
    }
}

/// A kernel that runs on the host.
pub(super) struct OnHostKernel {
    host: Arc<OnHost>,
    code: Arc<dyn Executable>,
    buffers: Vec<Copied>,
}

/// How a buffer is copied.
struct Copied {
    /// Word of its address.
    address: usize,
    /// Word of its number of elements, if it has one.
    length: Option<usize>,
    /// Whether it has an element a lane; else it has one.
    per_lane: bool,
    written: bool,
    /// Bytes of an element.
    bytes: usize,
}

impl Copied {
    fn of(kernel: &Kernel, i: usize) -> Self {
        let param = kernel.buffers[i];
        let buffer = BufferIndex(exactly(i));
        let mut lanes = kernel.insts[kernel.n_uniform..].iter();
        let here = [Code::Load(buffer), Code::Store(buffer)];
        let per_lane = lanes.any(|inst| here.contains(&inst.code));
        Self {
            address: kernel.address_word(buffer),
            length: kernel.length_word(buffer),
            per_lane,
            written: param.written,
            bytes: param.dtype.bytes(),
        }
    }

    fn bytes(&self, params: &ParamBlock, n: u64) -> usize {
        let elements = match self.length {
            Some(word) => params.words()[word],
            None if self.per_lane => n,
            None => 1,
        };
        exactly::<usize>(elements).saturating_mul(self.bytes)
    }
}

impl Executable for OnHostKernel {
    fn launch(&self, mut params: ParamBlock, n: u64) -> Result<Launched> {
        let mut copies = Copies { gpu: &self.host.gpu, blocks: Vec::new() };
        let mut written = Vec::new();
        for buffer in &self.buffers {
            let (address, bytes) = (params.words()[buffer.address], buffer.bytes(&params, n));
            let here = copies.read(address, bytes)?;
            params.set(buffer.address, here);
            if buffer.written {
                written.push((here, address, bytes));
            }
        }
        let launched = self.code.launch(params, n)?;
        for (here, address, bytes) in written {
            copies.write_back(here, address, bytes)?;
        }
        Ok(launched)
    }

    fn statistics(&self) -> CodeStatistics {
        self.code.statistics()
    }

    fn held_bytes(&self) -> usize {
        self.code.held_bytes()
    }
}
