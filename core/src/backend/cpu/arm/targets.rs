//! What code for NEON is made of.

use super::encodings::{Encoding, encoding};
use crate::backend::cpu::instructions::Opcode;
use crate::backend::cpu::target::Target;
use crate::backend::isa::Isa;

/// NEON, as every processor of ARMv8.0 has it.
pub(super) static NEON: Target = neon(false);
/// With arithmetic on halves (FEAT_FP16).
pub(super) static NEON_HALVES: Target = neon(true);

const fn neon(halves: bool) -> Target {
    Target {
        isa: Isa::Neon,
        vector: 16,
        // The last three are for what takes several instructions.
        vectors: 0x1fff_ffff,
        masks: 0,
        roomy: [24, 24],
        repeats: false,
        widest: 8,
        accumulators: 16,
        fma_replaces: &[2],
        blend_replaces: &[1, 2, 0],
        carries_in_place: true,
        estimate_bits: 8,
        saturates: true,
        widens_upper: true,
        gathers_lanes: true,
        scatters: false,
        scalar_gather_pays: false,
        instructions: encodable(halves),
    }
}

/// Which instructions there are.
const fn encodable(halves: bool) -> [bool; Opcode::ALL.len()] {
    let mut all = [false; Opcode::ALL.len()];
    let mut i = 0;
    while i < all.len() {
        let of_halves = matches!(
            Opcode::ALL[i],
            Opcode::AddF16 | Opcode::SubF16 | Opcode::MulF16 | Opcode::DivF16 | Opcode::SqrtF16
        );
        all[i] = !matches!(encoding(Opcode::ALL[i]), Encoding::Lacks) && (halves || !of_halves);
        i += 1;
    }
    all
}
