//! The CPU compiler: kernels as machine code, for every instruction set from one lowering.
//!
//! `lower/` expands operations into a program over virtual registers (`program.rs`) with the instructions of
//! `instructions.rs` that the target has (`target.rs`). `allocate.rs` gives it registers in one pass, with
//! `operands.rs` and `regions.rs`; as it goes a machine encodes (`machine.rs`, with `x86/` for x86-64 and `arm/` for 64-bit ARM).
//! `assemble.rs` puts the loop around it; `executable_memory.rs` makes it executable; `launch.rs` and `work.rs` run it. Where a kernel finds
//! no executable memory, the interpreter runs it instead.

#[cfg(target_arch = "aarch64")]
mod arm;
mod assemble;
mod compiled;
mod copies;
mod executable_memory;
mod frame;
mod instructions;
mod lane_buffers;
mod launch;
mod listing;
mod lower;
mod machine;
mod native;
mod operands;
mod options;
mod program;
mod regions;
mod register_allocation;
mod scattered;
mod split;
mod target;
mod tuning;
mod work;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::sync::Arc;

use self::compiled::Shared;
use self::executable_memory::Arena;
pub use self::executable_memory::Mapping;
use self::launch::Loaded;
use self::machine::Machine;
use self::native::Native;
pub use self::options::CpuOptions;
use super::host::HostMemory;
use super::interp::Interp;
use super::isa::Isa;
use super::primitive::{PrimitiveCall, Room};
use super::thread_pool::Pool;
use super::{Backend, Executable, Memory};
use crate::error::Result;
use crate::ir::division::{self, Divisors};
use crate::ir::kernel::{Kernel, LiteralMode};
use crate::ir::legal::legalise;
use crate::memory::caching_allocator::Allocator;

/// Makes what encoding needs, if it is not there yet.
pub(super) fn prepare() {
    Native::prepare();
}

/// Whether the system gives executable memory in one of the ways to ask for it.
pub fn gives_executable_memory(options: &CpuOptions) -> bool {
    Arena::new(options.mappings.clone(), options.code_bytes).place(&[0; 4]).is_some()
}

/// The processor, by compiled code.
pub struct Cpu {
    shared: Arc<Shared>,
    memory: HostMemory,
}

impl Cpu {
    /// A compiler for an available instruction set beyond the baseline that runs on `threads` threads.
    pub fn new(isa: Isa, threads: usize) -> Self {
        Self::with_options(isa, threads, CpuOptions::default())
    }

    /// The same with other options.
    ///
    /// # Panics
    /// If there is no code for the instruction set, or the processor lacks it.
    pub fn with_options(isa: Isa, threads: usize, options: CpuOptions) -> Self {
        Self::with_pool(isa, Arc::new(Pool::new(threads)), options)
    }

    /// The same on the threads of a pool.
    ///
    /// # Panics
    /// As [`Cpu::with_options`].
    pub fn with_pool(isa: Isa, pool: Arc<Pool>, options: CpuOptions) -> Self {
        let target = Native::target(isa).filter(|_| isa.is_available());
        let target = target.unwrap_or_else(|| panic!("no compiler for {isa} here"));
        let arena = Arena::new(options.mappings.clone(), options.code_bytes);
        let interp = Arc::new(Interp::with_pool(isa, pool.clone()));
        let spare = Allocator::new(interp.clone(), None);
        Self {
            shared: Arc::new(Shared { target, options, pool, arena, interp, spare }),
            memory: HostMemory,
        }
    }
}

impl Backend for Cpu {
    fn name(&self) -> String {
        let threads = self.shared.pool.threads();
        format!(
            "cpu ({}, {threads} thread{})",
            self.shared.target.isa,
            if threads == 1 { "" } else { "s" }
        )
    }

    fn lower(&self, kernel: &Kernel, mode: LiteralMode) -> Result<Arc<dyn Executable>> {
        // Where lanes must run one by one, vectors are of no use.
        if !kernel.serial_regions().is_empty() {
            return self.shared.interp.lower(kernel, mode);
        }
        let kernel = &division::rewrite(legalise(kernel), mode, Divisors::Shared);
        match Loaded::new(kernel, mode, &self.shared)? {
            Some(loaded) => Ok(Arc::new(loaded)),
            None => self.shared.interp.lower(kernel, mode),
        }
    }

    fn disassemble(&self, kernel: &Kernel, mode: LiteralMode) -> Result<Option<String>> {
        if !kernel.serial_regions().is_empty() {
            return Ok(None);
        }
        let kernel = &division::rewrite(legalise(kernel), mode, Divisors::Shared);
        listing::listing(kernel, mode, self.shared.target, &self.shared.options)
    }

    fn run_primitive(&self, call: &PrimitiveCall, room: Room<'_>) -> Result<()> {
        self.shared.interp.run_primitive(call, room)
    }

    fn run_primitives(&self, calls: &[PrimitiveCall], room: Room<'_>) -> Result<()> {
        self.shared.interp.run_primitives(calls, room)
    }

    fn memory(&self) -> &dyn Memory {
        &self.memory
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn before_fork(&self) -> Result<bool> {
        self.shared.arena.seal();
        self.shared.interp.before_fork()
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
