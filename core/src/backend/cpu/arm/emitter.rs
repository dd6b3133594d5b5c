//! Code of 64-bit ARM under construction: where it finds memory.

use super::encode::{
    At, Encoder, FRAME, LANE, POOL, SCRATCH, SPILLS, T0, Transfer, UNIFORMS, V, WORDS, X,
};
use super::scatter::ScatterTo;
use crate::backend::cpu::machine::{Jump, Physical, Stored, Style, Walked};
use crate::backend::cpu::program::{Access, Bounds, Frame, Location, Packet};
use crate::convert::exactly;

/// Bytes of a vector register.
pub(super) const VECTOR: u32 = 16;
/// How far ahead of a load its lanes are fetched, in bytes.
const PREFETCH: u32 = 2048;
/// Registers that hold addresses of buffers throughout the loop: of the packet's first lane. The caller expects to keep
/// all but the first four.
pub(super) const POINTERS: [X; 14] = [
    X(12),
    X(13),
    X(14),
    X(15),
    X(19),
    X(20),
    X(21),
    X(22),
    X(23),
    X(24),
    X(25),
    X(26),
    X(27),
    X(28),
];
/// How many of them a function may change.
const FREE_POINTERS: usize = 4;

/// A report of lanes out of bounds, behind the function: registers of the mask and the index, and where it goes.
#[derive(Clone, Copy)]
pub(super) struct Report {
    pub(super) mask: V,
    pub(super) index: V,
    pub(super) offset: u32,
    /// First lane of the part in its packet.
    pub(super) lane: u32,
    pub(super) wide: bool,
    pub(super) signed: bool,
}

/// Machine code that runs out of line.
pub(super) struct Cold {
    pub(super) entry: Jump,
    pub(super) back: u64,
    pub(super) code: ColdCode,
}

/// What it does.
#[derive(Clone, Copy)]
pub(super) enum ColdCode {
    /// Reports lanes out of bounds.
    Report(Report),
    /// Gathers lanes that do not all lie behind the first.
    Gather { access: Access, dst: V, lanes: Within },
    /// Gathers those lanes that are in bounds.
    GatherSome { access: Access, dst: V, lanes: Within },
    /// Scatters those.
    ScatterSome { to: ScatterTo, lanes: Within },
}

/// Lanes of a narrow part by their indices, and what keeps them in bounds.
#[derive(Clone, Copy)]
pub(super) struct Within {
    pub(super) bounds: Bounds,
    pub(super) length: V,
    pub(super) index: V,
    /// What is beside them, if anything.
    pub(super) beside: V,
}

/// Code for NEON.
pub(crate) struct Arm {
    pub(super) packet: Packet,
    pub(super) frame: Frame,
    pub(super) code: Encoder,
    /// How the function at work is made.
    pub(super) style: Style,
    /// Whether it is cut into segments.
    pub(super) segmented: bool,
    /// Buffers whose address is in a register, in the order of [`POINTERS`].
    pub(super) pointers: Vec<Walked>,
    /// Words of the addresses that are in the registers behind those.
    pub(super) bases: Vec<u32>,
    /// Forward jumps and where they go.
    pub(super) jumps: Vec<(Jump, u64)>,
    /// Jumps to the end of the call.
    pub(super) exits: Vec<Jump>,
    pub(super) cold: Vec<Cold>,
}

/// The vector register of a number that the allocator gave.
pub(super) fn vector(register: Physical) -> V {
    V(register.number.into())
}

impl Arm {
    /// The pairs of registers with addresses that the caller expects to keep.
    pub(super) fn kept(&self) -> Vec<[X; 2]> {
        let n = self.pointers.len() + self.bases.len();
        let n = n.max(FREE_POINTERS).next_multiple_of(2);
        POINTERS[FREE_POINTERS..n].as_chunks().0.to_vec()
    }

    /// Loads the addresses that stay in registers, for the packet at [`LANE`].
    pub(super) fn load_pointers(&mut self) {
        for (&register, &Walked { buffer, bytes }) in POINTERS.iter().zip(&self.pointers) {
            let at = At { base: FRAME, offset: self.frame.pointers + 8 * buffer };
            self.code.load_long(register, at);
            self.code.add(register, register, LANE, bytes.ilog2());
        }
    }

    /// The register with the address of a whole buffer, which may be the scratch register.
    pub(super) fn base(&mut self, word: u32, scratch: X) -> X {
        if let Some(number) = self.bases.iter().position(|&other| other == word) {
            return POINTERS[self.pointers.len() + number];
        }
        self.code.load_long(scratch, Self::word_of(word as usize));
        scratch
    }

    /// Where a stored value is, by way of a scratch register if need be.
    pub(super) fn stored(&mut self, stored: Stored, scratch: X) -> At {
        match stored {
            Stored::Whole(location) | Stored::Repeat4(location) | Stored::Repeat8(location) => {
                self.memory(location, scratch)
            }
            Stored::Slot(slot) if self.segmented => At { base: SPILLS, offset: slot * VECTOR },
            Stored::Slot(slot) => At { base: FRAME, offset: self.frame.spills + slot * VECTOR },
        }
    }

    /// Where a location is, by way of a scratch register if need be.
    pub(super) fn memory(&mut self, location: Location, scratch: X) -> At {
        match location {
            Location::Pool(offset) => At { base: POOL, offset },
            Location::Uniform(offset) => At { base: UNIFORMS, offset },
            Location::Frame(offset) => At { base: FRAME, offset },
            Location::Word(word) => At { base: WORDS, offset: 8 * word },
            Location::Element(word) => {
                self.code.load_long(scratch, At { base: WORDS, offset: 8 * word });
                At { base: scratch, offset: 0 }
            }
            Location::Lanes { buffer, bytes, part } => {
                self.lanes(buffer, bytes, u32::from(part) * VECTOR, scratch)
            }
        }
    }

    /// Bytes of a buffer from the packet's first lane on.
    pub(super) fn lanes(&mut self, buffer: u32, bytes: u8, offset: u32, scratch: X) -> At {
        let walked = Walked { buffer, bytes };
        if let Some(number) = self.pointers.iter().position(|&other| other == walked) {
            return At { base: POINTERS[number], offset };
        }
        let pointer = At { base: FRAME, offset: self.frame.pointers + 8 * buffer };
        self.code.load_long(scratch, pointer);
        self.code.add(scratch, scratch, LANE, bytes.ilog2());
        At { base: scratch, offset }
    }

    /// Has what lies some lines behind a place fetched.
    pub(super) fn fetch(&mut self, at: At) {
        // Any place on the line will do.
        let offset = (at.offset + PREFETCH) / 8;
        if offset < 1 << 12 {
            self.code.registers(0xf980_0000 | offset << 10, 0, at.base.0); // prfm pldl1keep
        }
    }

    pub(super) fn load_vector(&mut self, to: V, at: At, scratch: X) {
        self.code.load(Transfer::Q, to.0, at, scratch);
    }

    pub(super) fn store_vector(&mut self, at: At, from: V, scratch: X) {
        self.code.store(Transfer::Q, from.0, at, scratch);
    }

    /// Has code that runs out of line go back to here.
    pub(super) fn rarely(&mut self, entry: Jump, code: ColdCode) {
        self.cold.push(Cold { entry, back: self.code.position(), code });
    }

    /// Whether a mask holds in all lanes, as a number in the scratch register.
    pub(super) fn all_of(&mut self, mask: V) {
        self.code.unary(0x6eb1_a800, T0, mask); // uminv
        self.code.registers(0x1e26_0000, SCRATCH.0, T0.0); // fmov
    }

    /// Whether a mask holds somewhere, as a number in the scratch register.
    pub(super) fn any_of(&mut self, mask: V) {
        self.code.unary(0x6eb0_a800, T0, mask); // umaxv
        self.code.registers(0x1e26_0000, SCRATCH.0, T0.0); // fmov
    }

    /// Where a word of the parameter block is.
    pub(super) fn word_of(word: usize) -> At {
        At { base: WORDS, offset: 8 * exactly::<u32>(word) }
    }
}
