//! The CPU compiler: kernels as x86-64 machine code, AVX-512 or AVX2 from one lowering.
//!
//! `lower/` expands operations into a program over virtual registers (`program.rs`) with the
//! instructions of `machine.rs`; `allocate.rs` gives it registers and encodes it in one pass, with
//! `forms.rs` and `special.rs` for the operands of single instructions; `assemble.rs` puts the loop around it; `arena.rs` makes it executable; `launch.rs` runs it. Where a
//! kernel finds no executable memory, the interpreter runs it instead.

mod allocate;
mod arena;
mod assemble;
mod encode;
mod forms;
mod launch;
mod listing;
mod lower;
mod machine;
mod program;
mod special;

use std::sync::Arc;

use self::arena::Arena;
pub use self::arena::{ArenaLimits, Mapping};
use self::launch::Loaded;
use super::host::HostMemory;
use super::interp::Interp;
use super::isa::Isa;
use super::pool::Pool;
use super::{Backend, Executable, Memory};
use crate::error::Result;
use crate::ir::kernel::{Kernel, LiteralMode};

/// The processor, by compiled code.
pub struct Cpu {
    isa: Isa,
    pool: Arc<Pool>,
    arena: Arc<Arena>,
    interp: Interp,
    memory: HostMemory,
}

impl Cpu {
    /// A compiler for an available instruction set (AVX2 or AVX-512) that runs on `threads` threads.
    pub fn new(isa: Isa, threads: usize) -> Self {
        Self::with_limits(isa, threads, ArenaLimits::default())
    }

    /// The same with less executable memory, or other ways to get it.
    ///
    /// # Panics
    /// If there is no code for the instruction set, or the processor lacks it.
    pub fn with_limits(isa: Isa, threads: usize, limits: ArenaLimits) -> Self {
        assert!(isa != Isa::Baseline && isa.is_available(), "no compiler for {isa} here");
        let pool = Arc::new(Pool::new(threads));
        Self {
            isa,
            arena: Arena::new(limits),
            interp: Interp::with_pool(isa, pool.clone()),
            pool,
            memory: HostMemory,
        }
    }
}

impl Backend for Cpu {
    fn name(&self) -> String {
        let threads = self.pool.threads();
        format!("cpu ({}, {threads} thread{})", self.isa, if threads == 1 { "" } else { "s" })
    }

    fn lower(&self, kernel: &Kernel, mode: LiteralMode) -> Result<Arc<dyn Executable>> {
        match Loaded::new(kernel, mode, self.isa, &self.arena, &self.pool)? {
            Some(loaded) => Ok(Arc::new(loaded)),
            None => self.interp.lower(kernel, mode),
        }
    }

    fn disassemble(&self, kernel: &Kernel, mode: LiteralMode) -> Result<Option<String>> {
        listing::listing(kernel, mode, self.isa)
    }

    fn memory(&self) -> &dyn Memory {
        &self.memory
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }
}
