//! A machine as lowering and allocation see it: its registers, and which instructions it has.

use super::instructions::Opcode;
use crate::backend::isa::Isa;

/// What code for an instruction set can be made of.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) isa: Isa,
    /// Bytes of a vector register.
    pub(super) vector: usize,
    /// Vector registers that values may take.
    pub(super) vectors: u32,
    /// Mask registers that values may take. Without any, masks are vectors of all ones or zeros.
    pub(super) masks: u32,
    /// Vectors and masks that the values of a kernel should take; the rest is for temporaries and constants.
    pub(super) roomy: [usize; 2],
    /// Whether an operand in memory may be one number for all lanes; else constants lie there as whole vectors.
    pub(super) repeats: bool,
    /// Most registers that a 32-bit value takes: packets as long as the processor's look ahead wants them.
    pub(super) widest: usize,
    /// Most registers that accumulators take throughout the loop; more stay in memory.
    pub(super) accumulators: usize,
    /// Sources of `a * b + c` that the result may replace.
    pub(super) fma_replaces: &'static [usize],
    /// Sources of `a ? c : b` of which the result should replace one that ends there, the best first.
    pub(super) blend_replaces: &'static [usize],
    /// Whether what is carried to the next packet is computed where it stays; else it is copied there, which costs
    /// nothing where registers are renamed and the code has room.
    pub(super) carries_in_place: bool,
    /// Right bits of the estimates of reciprocals and their roots, of an f32.
    pub(super) estimate_bits: u32,
    /// Whether floats become integers by saturation, and NaN 0; else whatever is out of range is the lowest number.
    pub(super) saturates: bool,
    /// Whether what widens takes either half of a register; else only the lower one.
    pub(super) widens_upper: bool,
    /// Whether lanes are gathered one by one, elements of any size at any address.
    pub(super) gathers_lanes: bool,
    /// Whether vectors of 32- and 64-bit lanes can be scattered.
    pub(super) scatters: bool,
    /// Whether a style of code gathers lanes one by one.
    pub(super) scalar_gather_pays: bool,
    /// Whether it has each instruction, in the order of [`Opcode`].
    pub(super) instructions: [bool; Opcode::ALL.len()],
}

impl Target {
    /// Whether the machine has an instruction.
    pub(super) fn has(&self, m: Opcode) -> bool {
        self.instructions[m as usize]
    }

    /// Whether masks have registers of their own.
    pub(super) fn has_mask_registers(&self) -> bool {
        self.masks != 0
    }
}
