//! Kernels as machine code in executable memory.
#![expect(unsafe_code, reason = "takes machine code for functions")]

use std::sync::Arc;

use super::assemble::{Assembly, assemble};
use super::executable_memory::{Arena, Block};
use super::lane_buffers::{LaneBuffer, lane_buffers};
use super::lower::{Lowered, lower};
use super::machine::Style;
use super::native::Native;
use super::options::CpuOptions;
use super::program::{Frame, Packet, Reduction};
use super::target::Target;
use crate::backend::interp::Interp;
use crate::backend::reduce::{ACCUMULATORS, Finish, finish_step};
use crate::backend::thread_pool::Pool;
use crate::backend::{CodeStatistics, Origin};
use crate::error::Result;
use crate::ir::kernel::{Kernel, LiteralMode};
use crate::memory::caching_allocator::Allocator;

/// Nanoseconds of a machine instruction, about; only thresholds depend on it.
const INSTRUCTION_TIME: f64 = 0.3;

pub(super) type Function = unsafe extern "C" fn(*const u64, u64, u64, *mut u8, *mut u8);

/// What all kernels of a device share.
pub(super) struct Shared {
    pub(super) target: &'static Target,
    pub(super) options: CpuOptions,
    pub(super) pool: Arc<Pool>,
    pub(super) arena: Arc<Arena>,
    /// Runs what finds no executable memory.
    pub(super) interp: Arc<Interp>,
    /// For scatters that threads share.
    pub(super) spare: Arc<Allocator>,
}

/// Machine code in memory, with what a launch must know of it.
pub(super) struct Compiled {
    /// Frees the code when dropped.
    block: Block,
    pub(super) prologue: Option<usize>,
    pub(super) body: usize,
    pub(super) packet: Packet,
    pub(super) frame: Frame,
    pub(super) frame_bytes: usize,
    pub(super) uniform_bytes: usize,
    pub(super) reductions: Vec<Reduction>,
    /// How each reduction's accumulators combine, and what they start with.
    pub(super) finishes: Vec<(Finish, Vec<u8>)>,
    pub(super) packet_cost: usize,
    /// Whether there are loops.
    pub(super) repeats: bool,
    pub(super) tile: usize,
    pub(super) spill_bytes: usize,
    pub(super) statistics: CodeStatistics,
}

impl Compiled {
    fn new(assembly: Assembly, lowered: Lowered, shared: &Shared) -> Option<Arc<Self>> {
        let block = shared.arena.place(&assembly.bytes)?;
        let finishes = lowered.reductions.iter().map(|r| {
            let identity = crate::ir::scalar::identity_bits(r.op, r.dtype).to_le_bytes();
            (finish_step(r.op, r.dtype), identity[..r.dtype.bytes()].repeat(ACCUMULATORS))
        });
        Some(Arc::new(Self {
            block,
            prologue: assembly.prologue,
            body: assembly.body,
            packet: lowered.packet,
            frame_bytes: assembly.frame_bytes,
            uniform_bytes: lowered.uniform_bytes as usize,
            finishes: finishes.collect(),
            reductions: lowered.reductions,
            packet_cost: assembly.packet_cost,
            repeats: lowered.repeats,
            tile: assembly.tile,
            spill_bytes: assembly.usage.spill_bytes as usize,
            statistics: CodeStatistics {
                bytes: assembly.bytes.len(),
                registers: assembly.usage.registers,
                spills: assembly.usage.spills,
                origin: Origin::Own,
            },
            frame: lowered.frame,
        }))
    }

    /// Nanoseconds that a lane computes, about.
    pub(super) fn lane_time(&self) -> f64 {
        self.packet_cost as f64 * INSTRUCTION_TIME / self.packet.lanes() as f64
    }

    /// Bytes of the code, and of what a launch must know of it.
    pub(super) fn held_bytes(&self) -> usize {
        let finishes = self.finishes.iter().map(|(_, identity)| identity.len()).sum::<usize>();
        size_of::<Self>() + self.statistics.bytes + finishes
    }

    pub(super) fn function(&self, offset: usize) -> Function {
        let code = std::ptr::with_exposed_provenance::<()>(self.block.address() + offset);
        // SAFETY: the assembler put a function with this signature there.
        unsafe { std::mem::transmute::<*const (), Function>(code) }
    }
}

/// Compiles a kernel; `None` where there is no executable memory.
pub(super) fn compile(
    kernel: &Kernel,
    mode: LiteralMode,
    shared: &Shared,
    far: bool,
    style: Style,
) -> Result<Option<Arc<Compiled>>> {
    let lowered = lower(kernel, mode, shared.target, far)?;
    let assembly = assemble::<Native>(&lowered, style, &shared.options)?;
    Ok(assembly.and_then(|assembly| Compiled::new(assembly, lowered, shared)))
}

/// Code with the buffers that it walks through.
#[derive(Clone)]
pub(super) struct Walk {
    pub(super) code: Arc<Compiled>,
    pub(super) lane_buffers: Arc<[LaneBuffer]>,
}

impl Walk {
    /// Compiles a kernel; `None` where there is no executable memory.
    pub(super) fn new(kernel: &Kernel, mode: LiteralMode, shared: &Shared) -> Result<Option<Self>> {
        let code = compile(kernel, mode, shared, false, Style::PLAIN)?;
        let lane_buffers = lane_buffers(kernel).into();
        Ok(code.map(|code| Self { code, lane_buffers }))
    }
}
