//! The block interpreter: the meaning of every operation, run over blocks of lanes.
//!
//! The oracle for every other backend, and the fallback on any processor. A kernel becomes a list of
//! steps; a step is one operation over a block of up to 512 lanes, a plain loop over `ir/scalar.rs`
//! that the Rust compiler vectorises for each instruction set. Needs nothing from the system.

mod block;
mod launch;
mod lower;
mod memory_steps;
mod reduce;
mod steps;

use std::fmt;
use std::sync::Arc;

use super::host::HostMemory;
use super::pool::Pool;
use super::{Backend, Executable, Memory};
use crate::error::Result;
use crate::ir::kernel::{Kernel, LiteralMode};

/// The instruction set that the loops are compiled for; results are the same bits on all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// What every processor of the architecture has.
    Baseline,
    /// AVX2 with FMA and BMI.
    Avx2,
    /// AVX-512 F, DQ, VL, BW, CD.
    Avx512,
}

impl Isa {
    /// Every instruction set.
    pub const ALL: [Self; 3] = [Self::Baseline, Self::Avx2, Self::Avx512];

    /// The best one that this processor has.
    pub fn detect() -> Self {
        Self::ALL.into_iter().rev().find(|isa| isa.is_available()).unwrap_or(Self::Baseline)
    }

    /// Whether this processor (and the operating system) has it.
    pub fn is_available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt");
            let avx512 = avx2
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512cd");
            match self {
                Self::Baseline => true,
                Self::Avx2 => avx2,
                Self::Avx512 => avx512,
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            self == Self::Baseline
        }
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Baseline => "baseline",
            Self::Avx2 => "AVX2",
            Self::Avx512 => "AVX-512",
        })
    }
}

/// The interpreter as a device.
pub struct Interp {
    isa: Isa,
    pool: Arc<Pool>,
    memory: HostMemory,
}

impl Interp {
    /// An interpreter that runs on `threads` threads; `isa` must be available.
    pub fn new(isa: Isa, threads: usize) -> Self {
        Self { isa, pool: Arc::new(Pool::new(threads)), memory: HostMemory }
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
        let program = Arc::new(lower::lower(kernel, mode, self.isa)?);
        Ok(Arc::new(launch::Loaded::new(program, self.pool.clone())))
    }

    fn memory(&self) -> &dyn Memory {
        &self.memory
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }
}
