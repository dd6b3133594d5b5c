//! Code of x86-64 under construction: where it finds memory, and what moves values.

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::encode::{Encoder, FRAME, LANE, UNIFORMS, WORDS, at, in_code, indexed};
use super::encodings::{Encoding, Row, Width};
use crate::backend::cpu::machine::{Jump, Physical, Stored, Style};
use crate::backend::cpu::program::{Access, Frame, Location, Packet};
use crate::convert::exactly;

/// Scratch of loads, which may stand between the two halves of another instruction's work.
pub(super) const FILL: Register = Register::R9;
/// More scratch: lane numbers and indices.
pub(super) const SECOND: Register = Register::R9;
/// How far ahead of a load its lanes are fetched, in bytes.
const PREFETCH: u32 = 2048;
/// Spills of the packet at work, in segments.
pub(super) const SPILLS: Register = Register::R15;
/// Registers that hold addresses of buffers throughout the loop.
pub(super) const POINTERS: [Register; 6] =
    [Register::RBX, Register::RBP, Register::R12, Register::R13, Register::R14, Register::R15];

/// Machine code that runs out of line.
pub(super) struct Cold {
    pub(super) entry: Jump,
    pub(super) back: u64,
    pub(super) code: ColdCode,
}

/// What machine code does out of line.
#[derive(Clone, Copy)]
pub(super) enum ColdCode {
    Report(Report),
    /// A gather whose indices do not count up.
    Gather(Indexed),
    /// Such a scatter.
    Scatter(Indexed),
}

/// A report of lanes out of bounds: registers of the mask and the index, and where it goes.
#[derive(Clone, Copy)]
pub(super) struct Report {
    pub(super) mask: u8,
    pub(super) index: u8,
    pub(super) offset: u32,
    /// First lane of the part in its packet.
    pub(super) lane: u32,
    pub(super) wide: bool,
    pub(super) signed: bool,
}

/// An access with its registers.
#[derive(Clone, Copy)]
pub(super) struct Indexed {
    pub(super) access: Access,
    /// Where gathered lanes go or scattered ones are.
    pub(super) data: u8,
    pub(super) index: u8,
    pub(super) mask: u8,
}

/// Code for AVX2 or AVX-512.
pub(crate) struct X86 {
    pub(super) packet: Packet,
    pub(super) frame: Frame,
    pub(super) code: Encoder,
    /// How the function at work is made.
    pub(super) style: Style,
    /// Whether it is cut into segments.
    pub(super) segmented: bool,
    /// Buffers whose address is in a register, in the order of [`POINTERS`].
    pub(super) pointers: Vec<u32>,
    /// Registers that the caller expects to keep.
    pub(super) saved: &'static [Register],
    /// Forward jumps and where they go.
    pub(super) jumps: Vec<(Jump, u64)>,
    /// Jumps to the end of the call.
    pub(super) exits: Vec<Jump>,
    pub(super) cold: Vec<Cold>,
}

impl X86 {
    pub(super) fn avx512(&self) -> bool {
        self.code.avx512
    }

    pub(super) fn vector_bytes(&self) -> u32 {
        exactly(self.packet.vector())
    }

    pub(super) fn encoding(&self, row: &Row) -> Encoding {
        if self.avx512() { row.avx512 } else { row.avx2 }
    }

    pub(super) fn register(&self, register: Physical, width: Width) -> Register {
        if register.mask {
            Encoder::mask(register.number)
        } else {
            self.code.vector(register.number, width)
        }
    }

    pub(super) fn load_code(&self) -> Code {
        if self.avx512() {
            Code::EVEX_Vmovups_zmm_k1z_zmmm512
        } else {
            Code::VEX_Vmovups_ymm_ymmm256
        }
    }

    pub(super) fn load_vector(&mut self, register: u8, memory: MemoryOperand) {
        let register = self.code.vector(register, Width::Whole);
        self.code.load(self.load_code(), register, memory);
    }

    pub(super) fn store_vector(&mut self, memory: MemoryOperand, register: u8) {
        let code = if self.avx512() {
            Code::EVEX_Vmovups_zmmm512_k1z_zmm
        } else {
            Code::VEX_Vmovups_ymmm256_ymm
        };
        let register = self.code.vector(register, Width::Whole);
        self.code.store(code, memory, register);
    }

    /// A stored value as a memory operand, by way of a scratch register if need be.
    pub(super) fn stored(&mut self, stored: Stored, scratch: Register) -> MemoryOperand {
        match stored {
            Stored::Whole(location) | Stored::Repeat4(location) | Stored::Repeat8(location) => {
                self.memory(location, scratch)
            }
            Stored::Slot(slot) => {
                let offset = slot * self.vector_bytes();
                if self.segmented {
                    at(SPILLS, offset)
                } else {
                    at(FRAME, self.frame.spills + offset)
                }
            }
        }
    }

    /// A location as a memory operand, by way of a scratch register if need be.
    pub(super) fn memory(&mut self, location: Location, scratch: Register) -> MemoryOperand {
        match location {
            Location::Pool(offset) => in_code(offset),
            Location::Uniform(offset) => at(UNIFORMS, offset),
            Location::Frame(offset) => at(FRAME, offset),
            Location::Word(word) => at(WORDS, 8 * word),
            Location::Element(word) => {
                self.code.load(Code::Mov_r64_rm64, scratch, at(WORDS, 8 * word));
                at(scratch, 0)
            }
            Location::Lanes { buffer, bytes, part } => {
                self.lanes(buffer, bytes, u32::from(part) * self.vector_bytes(), scratch)
            }
        }
    }

    /// Bytes of a buffer from the packet's first lane on.
    pub(super) fn lanes(
        &mut self,
        buffer: u32,
        bytes: u8,
        displacement: u32,
        scratch: Register,
    ) -> MemoryOperand {
        let base = match self.pointers.iter().position(|&other| other == buffer) {
            Some(number) => POINTERS[number],
            None => {
                let memory = at(FRAME, self.frame.pointers + 8 * buffer);
                self.code.load(Code::Mov_r64_rm64, scratch, memory);
                scratch
            }
        };
        indexed(base, LANE, bytes, displacement)
    }

    /// Has what lies some lines behind an operand fetched.
    pub(super) fn fetch(&mut self, mut memory: MemoryOperand) {
        memory.displacement += i64::from(PREFETCH);
        memory.displ_size = 1;
        self.code.put(Instruction::with1(Code::Prefetcht0_m8, memory));
    }
}
