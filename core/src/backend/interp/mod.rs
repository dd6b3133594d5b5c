//! The block interpreter: the meaning of every operation, run over blocks of lanes.
//!
//! The oracle for every other backend, and the fallback on any processor. A kernel becomes a list of
//! steps; a step is one operation over a block of up to 512 lanes, a plain loop over `ir/scalar.rs`
//! that the Rust compiler vectorises for each instruction set. Needs nothing from the system.

mod block;
mod launch;
mod lower;
mod memory_steps;
mod steps;

use std::sync::Arc;

pub(super) use self::launch::Loaded;
use super::host::HostMemory;
use super::isa::Isa;
use super::primitive::{self, PrimitiveCall, Room};
use super::thread_pool::Pool;
use super::{Backend, Executable, Memory};
use crate::error::Result;
use crate::ir::division::{self, Divisors};
use crate::ir::kernel::{Kernel, LiteralMode};
use crate::ir::legal::legalise;

/// The interpreter as a device.
pub struct Interp {
    isa: Isa,
    pool: Arc<Pool>,
    memory: HostMemory,
}

impl Interp {
    /// An interpreter that runs on `threads` threads; `isa` must be available.
    pub fn new(isa: Isa, threads: usize) -> Self {
        Self::with_pool(isa, Arc::new(Pool::new(threads)))
    }

    /// An interpreter that runs on the threads of `pool`; `isa` must be available.
    pub fn with_pool(isa: Isa, pool: Arc<Pool>) -> Self {
        Self { isa, pool, memory: HostMemory }
    }

    /// A kernel as a program.
    ///
    /// # Errors
    /// As [`Backend::lower`].
    pub(super) fn load(&self, kernel: &Kernel, mode: LiteralMode) -> Result<Arc<Loaded>> {
        let kernel = division::rewrite(legalise(kernel), mode, Divisors::Shared);
        let program = Arc::new(lower::lower(&kernel, mode, self.isa)?);
        Ok(Arc::new(Loaded::new(program, self.pool.clone())))
    }
}

impl Backend for Interp {
    fn name(&self) -> String {
        let threads = self.pool.threads();
        format!(
            "cpu (interp, {}, {threads} thread{})",
            self.isa,
            if threads == 1 { "" } else { "s" }
        )
    }

    fn lower(&self, kernel: &Kernel, mode: LiteralMode) -> Result<Arc<dyn Executable>> {
        Ok(self.load(kernel, mode)?)
    }

    fn run_primitive(&self, call: &PrimitiveCall, room: Room<'_>) -> Result<()> {
        primitive::run(&self.pool, self.isa, call, room)
    }

    fn run_primitives(&self, calls: &[PrimitiveCall], room: Room<'_>) -> Result<()> {
        primitive::run_all(&self.pool, self.isa, calls, room)
    }

    fn memory(&self) -> &dyn Memory {
        &self.memory
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn before_fork(&self) -> Result<bool> {
        self.pool.dismiss();
        Ok(true)
    }
}
