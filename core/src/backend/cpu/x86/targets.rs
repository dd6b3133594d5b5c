//! What code for AVX2 and AVX-512 is made of.

use iced_x86::Code;

use super::encodings::ROWS;
use crate::backend::cpu::instructions::Opcode;
use crate::backend::cpu::target::Target;
use crate::backend::isa::Isa;

/// AVX2.
pub(super) static AVX2: Target = Target {
    isa: Isa::Avx2,
    vector: 32,
    vectors: 0xffff,
    masks: 0,
    roomy: [12, 12],
    repeats: false,
    widest: 4,
    accumulators: 8,
    fma_replaces: &[2, 0, 1],
    blend_replaces: &[],
    carries_in_place: false,
    estimate_bits: 11,
    saturates: false,
    widens_upper: false,
    gathers_lanes: false,
    scatters: false,
    scalar_gather_pays: false,
    instructions: encodable(false),
};

/// AVX-512.
pub(super) static AVX512: Target = Target {
    isa: Isa::Avx512,
    vector: 64,
    vectors: u32::MAX,
    // The first mask register means no mask.
    masks: 0xfe,
    roomy: [26, 6],
    repeats: true,
    widest: 4,
    accumulators: 8,
    fma_replaces: &[2, 0, 1],
    blend_replaces: &[],
    carries_in_place: false,
    estimate_bits: 14,
    saturates: false,
    widens_upper: false,
    gathers_lanes: false,
    scatters: true,
    scalar_gather_pays: true,
    instructions: encodable(true),
};

/// Which instructions an instruction set has.
const fn encodable(avx512: bool) -> [bool; Opcode::ALL.len()] {
    let mut all = [false; Opcode::ALL.len()];
    let mut i = 0;
    while i < all.len() {
        let (code, _) = if avx512 { ROWS[i].avx512 } else { ROWS[i].avx2 };
        all[i] = code as usize != Code::INVALID as usize;
        i += 1;
    }
    all
}
