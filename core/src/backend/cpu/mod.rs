//! The CPU compiler: kernels as x86-64 machine code, AVX-512 or AVX2 from one lowering.
//!
//! `lower/` expands operations into a program over virtual registers (`program.rs`) with the
//! instructions of `machine.rs`; `allocate.rs` gives it registers and encodes it in one pass, with
//! `forms.rs` and `special.rs` for the operands of single instructions; `assemble.rs` puts the loop around it; `arena.rs` makes it executable; `launch.rs` runs it. Where a
//! kernel finds no executable memory, the interpreter runs it instead.

mod allocate;
mod arena;
mod assemble;
mod caches;
mod cold;
mod encode;
mod forms;
mod frame;
mod lane_buffers;
mod launch;
mod listing;
mod lower;
mod machine;
mod neighbours;
mod program;
mod regions;
mod scatter;
mod special;
mod tuning;

use std::sync::Arc;

use self::arena::Arena;
pub use self::arena::Mapping;
use self::caches::Caches;
use self::launch::Loaded;
use super::host::HostMemory;
use super::interp::Interp;
use super::isa::Isa;
use super::pool::Pool;
use super::primitive::{PrimitiveCall, Room};
use super::{Backend, Executable, Memory};
use crate::error::Result;
use crate::ir::kernel::{Kernel, LiteralMode};
use crate::ir::legal::legalise;

/// What the compiler may use and takes for granted.
#[derive(Clone, Debug)]
pub struct CpuOptions {
    /// Ways to get executable memory, in the order tried; without any, kernels are interpreted.
    pub mappings: Vec<Mapping>,
    /// Bytes of executable memory in all; kernels beyond are interpreted.
    pub code_bytes: usize,
    /// Elements of the largest buffer that is reached by 32-bit indices as they are; they are signed to
    /// the processor.
    pub near: u64,
    /// Instructions from which on a program is cut into segments: as code they fill a cache of instructions.
    pub segmented_from: usize,
    /// Bytes of a segment: what a cache of instructions holds.
    pub segment_bytes: u64,
    /// Bytes of spills of the packets that run through a segment one after the other, about.
    pub tile_bytes: usize,
    /// Bytes that a launch moves from which on it is measured which style of code suits the caches.
    pub tuned_from: u64,
}

impl Default for CpuOptions {
    fn default() -> Self {
        let caches = Caches::of_this_processor();
        Self {
            mappings: vec![Mapping::Dual, Mapping::Protected],
            code_bytes: 1 << 30,
            near: 1 << 31,
            // An instruction takes six bytes.
            segmented_from: caches.instructions / 6,
            // The last quarter is for what the cache holds besides, and for what falls on the same lines.
            segment_bytes: caches.instructions as u64 / 4 * 3,
            tile_bytes: caches.second,
            tuned_from: 4 * caches.second as u64,
        }
    }
}

/// Whether the system gives executable memory in one of the ways to ask for it.
pub fn gives_executable_memory(options: &CpuOptions) -> bool {
    const RETURN: [u8; 1] = [0xc3];
    Arena::new(options.mappings.clone(), options.code_bytes).place(&RETURN).is_some()
}

/// The processor, by compiled code.
pub struct Cpu {
    shared: Arc<Shared>,
    memory: HostMemory,
}

/// What all kernels of a device share.
struct Shared {
    isa: Isa,
    options: CpuOptions,
    pool: Arc<Pool>,
    arena: Arc<Arena>,
    /// Runs what finds no executable memory.
    interp: Interp,
}

impl Cpu {
    /// A compiler for an available instruction set (AVX2 or AVX-512) that runs on `threads` threads.
    pub fn new(isa: Isa, threads: usize) -> Self {
        Self::with_options(isa, threads, CpuOptions::default())
    }

    /// The same with other options.
    ///
    /// # Panics
    /// If there is no code for the instruction set, or the processor lacks it.
    pub fn with_options(isa: Isa, threads: usize, options: CpuOptions) -> Self {
        assert!(isa != Isa::Baseline && isa.is_available(), "no compiler for {isa} here");
        let pool = Arc::new(Pool::new(threads));
        let arena = Arena::new(options.mappings.clone(), options.code_bytes);
        let interp = Interp::with_pool(isa, pool.clone());
        Self { shared: Arc::new(Shared { isa, options, pool, arena, interp }), memory: HostMemory }
    }
}

impl Backend for Cpu {
    fn name(&self) -> String {
        let threads = self.shared.pool.threads();
        format!(
            "cpu ({}, {threads} thread{})",
            self.shared.isa,
            if threads == 1 { "" } else { "s" }
        )
    }

    fn lower(&self, kernel: &Kernel, mode: LiteralMode) -> Result<Arc<dyn Executable>> {
        // Where lanes must run one by one, vectors are of no use.
        if !kernel.serial_regions().is_empty() {
            return self.shared.interp.lower(kernel, mode);
        }
        let kernel = &legalise(kernel);
        match Loaded::new(kernel, mode, &self.shared)? {
            Some(loaded) => Ok(Arc::new(loaded)),
            None => self.shared.interp.lower(kernel, mode),
        }
    }

    fn disassemble(&self, kernel: &Kernel, mode: LiteralMode) -> Result<Option<String>> {
        if !kernel.serial_regions().is_empty() {
            return Ok(None);
        }
        listing::listing(&legalise(kernel), mode, self.shared.isa, &self.shared.options)
    }

    fn run_primitive(&self, call: &PrimitiveCall, room: Room<'_>) -> Result<()> {
        self.shared.interp.run_primitive(call, room)
    }

    fn memory(&self) -> &dyn Memory {
        &self.memory
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executable_memory_is_given_or_refused() {
        assert!(gives_executable_memory(&CpuOptions::default()), "this system refuses it");
        let refused = CpuOptions { mappings: Vec::new(), ..CpuOptions::default() };
        assert!(!gives_executable_memory(&refused));
    }
}
