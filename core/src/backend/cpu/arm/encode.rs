//! Words of machine code: registers, memory, branches.

use crate::backend::cpu::machine::Jump;
use crate::convert::exactly;

/// A general register, 64 bits of it unless an instruction says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct X(pub(super) u32);

/// A vector register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct V(pub(super) u32);

/// General registers of the calling convention and their use in kernels.
pub(super) const WORDS: X = X(0);
/// Number of the packet's first lane.
pub(super) const LANE: X = X(1);
/// Number behind the last lane.
pub(super) const END: X = X(2);
/// The thread's frame.
pub(super) const FRAME: X = X(3);
/// The uniform values.
pub(super) const UNIFORMS: X = X(4);
/// Where the block's constants begin.
pub(super) const POOL: X = X(5);
/// Spills of the packet at work, in segments.
pub(super) const SPILLS: X = X(6);
/// Scratch of loads and stores that stand between the halves of another instruction's work.
pub(super) const FILL: X = X(7);
/// Scratch of single instructions: addresses, numbers, bits of masks.
pub(super) const SCRATCH: X = X(16);
pub(super) const SECOND: X = X(17);
pub(super) const THIRD: X = X(8);
pub(super) const FOURTH: X = X(9);
/// Zero, where a register is read.
pub(super) const ZERO: X = X(31);
/// The stack, where it is an address.
const STACK: u32 = 31;
/// Vector registers without a value, for what takes several instructions.
pub(super) const T0: V = V(31);
pub(super) const T1: V = V(30);
pub(super) const T2: V = V(29);

/// Memory at a distance from a register.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    pub(super) base: X,
    pub(super) offset: u32,
}

/// How a register is loaded and stored: words for a scaled offset, and the power of two of the bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    load: u32,
    store: u32,
    pub(super) shift: u32,
}

impl Transfer {
    pub(super) const Q: Self = Self { load: 0x3dc0_0000, store: 0x3d80_0000, shift: 4 };
    pub(super) const D: Self = Self { load: 0xfd40_0000, store: 0xfd00_0000, shift: 3 };
    pub(super) const S: Self = Self { load: 0xbd40_0000, store: 0xbd00_0000, shift: 2 };
    pub(super) const H: Self = Self { load: 0x7d40_0000, store: 0x7d00_0000, shift: 1 };
    pub(super) const LONG: Self = Self { load: 0xf940_0000, store: 0xf900_0000, shift: 3 };
    pub(super) const WORD: Self = Self { load: 0xb940_0000, store: 0xb900_0000, shift: 2 };
    pub(super) const SHORT: Self = Self { load: 0x7940_0000, store: 0x7900_0000, shift: 1 };
    pub(super) const BYTE: Self = Self { load: 0x3940_0000, store: 0x3900_0000, shift: 0 };
    /// 32 bits, loaded as 64 with their sign.
    pub(super) const SIGNED_WORD: Self = Self { load: 0xb980_0000, store: 0xb900_0000, shift: 2 };
    /// 16 and 8 bits, loaded as 32 with their sign.
    pub(super) const SIGNED_SHORT: Self = Self { load: 0x79c0_0000, store: 0x7900_0000, shift: 1 };
    pub(super) const SIGNED_BYTE: Self = Self { load: 0x39c0_0000, store: 0x3900_0000, shift: 0 };

    /// A number in a general register.
    pub(super) fn number(bytes: usize, signed: bool) -> Self {
        match (bytes, signed) {
            (1, true) => Self::SIGNED_BYTE,
            (1, false) => Self::BYTE,
            (2, true) => Self::SIGNED_SHORT,
            (2, false) => Self::SHORT,
            (8, _) => Self::LONG,
            _ => Self::WORD,
        }
    }

    /// A number in a vector register.
    pub(super) fn vector(bytes: usize) -> Self {
        match bytes {
            2 => Self::H,
            4 => Self::S,
            8 => Self::D,
            _ => Self::Q,
        }
    }

    /// The word of a load by a register and another one, scaled by the bytes.
    pub(super) fn load_indexed(self) -> u32 {
        self.load.wrapping_add(self.by_register())
    }

    /// The word of such a store.
    pub(super) fn store_indexed(self) -> u32 {
        self.store.wrapping_add(self.by_register())
    }

    /// What makes of an offset that is a number one in a register.
    fn by_register(self) -> u32 {
        let scaled = if self.shift == 0 { 0x6800 } else { 0x7800 };
        0x0020_0000_u32.wrapping_sub(0x0100_0000) | scaled
    }
}

/// Conditions of jumps and selections, of unsigned and signed numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Condition {
    HigherOrSame = 2,
    Lower = 3,
    Higher = 8,
    Less = 11,
    Greater = 12,
}

/// What makes of a jump if a number is zero one if it is not.
const CBNZ: u32 = 0x0100_0000;
/// Most bytes between a conditional jump and its target.
const NEAR: i64 = 1 << 20;

/// Code under construction; constants come first.
pub(super) struct Encoder {
    bytes: Vec<u8>,
    /// Why an instruction has no encoding: our mistake, found by the first kernel that makes it.
    error: Option<&'static str>,
}

impl Encoder {
    pub(super) fn new(mut constants: Vec<u8>) -> Self {
        constants.resize(constants.len().next_multiple_of(64), 0);
        Self { bytes: constants, error: None }
    }

    /// Bytes so far.
    pub(super) fn position(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Pads to a multiple of 16 bytes, where a loop or a function should begin.
    pub(super) fn align(&mut self) {
        while !self.bytes.len().is_multiple_of(16) {
            self.word(0xd503_201f); // nop
        }
    }

    /// The code, or what had no encoding.
    pub(super) fn finish(mut self, jumps: &[(Jump, u64)]) -> Result<Vec<u8>, String> {
        for (Jump(start), target) in jumps {
            let distance = exactly::<i64>(*target) - exactly::<i64>(*start as u64);
            let place = &mut self.bytes[*start..*start + 4];
            let word = u32::from_le_bytes(place.try_into().unwrap_or_default());
            match with_distance(word, distance) {
                Some(word) => place.copy_from_slice(&word.to_le_bytes()),
                None => self.error = Some("a jump that goes too far"),
            }
        }
        match self.error {
            Some(error) => Err(error.into()),
            None => Ok(self.bytes),
        }
    }

    pub(super) fn word(&mut self, word: u32) {
        self.bytes.extend_from_slice(&word.to_le_bytes());
    }

    // Vectors.

    pub(super) fn unary(&mut self, word: u32, dst: V, a: V) {
        self.word(word | a.0 << 5 | dst.0);
    }

    pub(super) fn binary(&mut self, word: u32, dst: V, a: V, b: V) {
        self.word(word | b.0 << 16 | a.0 << 5 | dst.0);
    }

    /// A shift by a number: its word, and what stands for the number.
    pub(super) fn shift(&mut self, word: u32, dst: V, a: V, number: u32) {
        self.word(word | number << 16 | a.0 << 5 | dst.0);
    }

    /// Copies a vector, unless it is there.
    pub(super) fn copy(&mut self, dst: V, a: V) {
        if dst != a {
            self.binary(super::encodings::ORR, dst, a, a);
        }
    }

    // Between vectors and general registers.

    /// The word of an instruction with general registers or both kinds.
    pub(super) fn registers(&mut self, word: u32, dst: u32, a: u32) {
        self.word(word | a << 5 | dst);
    }

    /// A lane as a number.
    pub(super) fn lane(&mut self, to: X, from: V, lane: u32, wide: bool) {
        let word = match wide {
            true => 0x4e08_3c00 | lane << 20,  // umov x, v.d
            false => 0x0e04_3c00 | lane << 19, // umov w, v.s
        };
        self.registers(word, to.0, from.0);
    }

    /// A number in every lane.
    pub(super) fn repeat(&mut self, to: V, from: X, wide: bool) {
        self.registers(if wide { 0x4e08_0c00 } else { 0x4e04_0c00 }, to.0, from.0);
    }

    // Memory.

    /// A place in memory that an instruction reaches, by way of a scratch register if need be, as a register and a
    /// scaled offset.
    fn reach(&mut self, at: At, shift: u32, scratch: X) -> (X, u32) {
        let scaled = at.offset >> shift;
        if scaled << shift == at.offset && scaled < 1 << 12 {
            return (at.base, scaled);
        }
        self.add_number(scratch, at.base, at.offset);
        (scratch, 0)
    }

    pub(super) fn load(&mut self, how: Transfer, to: u32, at: At, scratch: X) {
        let (base, offset) = self.reach(at, how.shift, scratch);
        self.word(how.load | offset << 10 | base.0 << 5 | to);
    }

    pub(super) fn store(&mut self, how: Transfer, from: u32, at: At, scratch: X) {
        let (base, offset) = self.reach(at, how.shift, scratch);
        self.word(how.store | offset << 10 | base.0 << 5 | from);
    }

    /// A 64-bit number from memory.
    pub(super) fn load_long(&mut self, to: X, at: At) {
        self.load(Transfer::LONG, to.0, at, to);
    }

    /// One number in all lanes of a vector.
    pub(super) fn load_repeated(&mut self, to: V, at: At, wide: bool, scratch: X) {
        let base = if at.offset == 0 { at.base } else { scratch };
        if at.offset != 0 {
            self.add_number(scratch, at.base, at.offset);
        }
        self.registers(if wide { 0x4d40_cc00 } else { 0x4d40_c800 }, to.0, base.0); // ld1r
    }

    /// One lane of a vector.
    pub(super) fn load_lane(&mut self, to: V, lane: u32, address: X, wide: bool) {
        let word = match wide {
            true => 0x0d40_8400 | lane << 30,
            false => 0x0d40_8000 | lane >> 1 << 30 | (lane & 1) << 12,
        };
        self.registers(word, to.0, address.0); // ld1
    }

    // Numbers.

    pub(super) fn three(&mut self, word: u32, dst: X, a: X, b: X) {
        self.word(word | b.0 << 16 | a.0 << 5 | dst.0);
    }

    /// `dst = a + (b << shift)`.
    pub(super) fn add(&mut self, dst: X, a: X, b: X, shift: u32) {
        self.three(0x8b00_0000 | shift << 10, dst, a, b);
    }

    /// `dst = a + number`.
    pub(super) fn add_number(&mut self, dst: X, a: X, number: u32) {
        let (low, high) = (number & 0xfff, number >> 12);
        if high >= 1 << 12 {
            self.error = Some("an offset of 16 MiB");
        }
        let mut from = a;
        if high != 0 {
            self.word(0x9140_0000 | (high & 0xfff) << 10 | a.0 << 5 | dst.0);
            from = dst;
        }
        if low != 0 || (high == 0 && dst != a) {
            self.word(0x9100_0000 | low << 10 | from.0 << 5 | dst.0);
        }
    }

    /// Compares numbers of 64 or 32 bits.
    pub(super) fn compare(&mut self, a: X, b: X, wide: bool) {
        self.three(if wide { 0xeb00_0000 } else { 0x6b00_0000 }, ZERO, a, b);
    }

    /// `dst = condition ? a : b`, of 64 bits.
    pub(super) fn select(&mut self, dst: X, a: X, b: X, condition: Condition) {
        self.three(0x9a80_0000 | (condition as u32) << 12, dst, a, b);
    }

    // Jumps.

    /// Jumps ahead, to where `finish` is told.
    pub(super) fn jump_ahead(&mut self) -> Jump {
        self.branch_ahead(0x1400_0000) // b
    }

    /// Jumps ahead by a branch of some kind, near enough for it.
    pub(super) fn branch_ahead(&mut self, word: u32) -> Jump {
        let jump = Jump(self.bytes.len());
        self.word(word);
        jump
    }

    /// Jumps ahead if a number of 32 bits is zero, or is not.
    pub(super) fn jump_ahead_if(&mut self, zero: bool, number: X) -> Jump {
        self.jump_behind_if(zero, number, false, true)
    }

    /// Jumps behind the function, which may be far, if a number of 32 or 64 bits is zero, or is not.
    pub(super) fn jump_behind_if(
        &mut self,
        zero: bool,
        number: X,
        wide: bool,
        may_be_far: bool,
    ) -> Jump {
        let cbz = 0x3400_0000 | u32::from(wide) << 31 | number.0;
        let [word, opposite] = if zero { [cbz, cbz | CBNZ] } else { [cbz | CBNZ, cbz] };
        if may_be_far {
            // Over a jump that goes as far as need be.
            self.word(opposite | 0x40);
            return self.jump_ahead();
        }
        self.branch_ahead(word)
    }

    /// Jumps ahead, but not far, unless a bit is set.
    pub(super) fn jump_unless_bit(&mut self, number: X, bit: u32) -> Jump {
        self.branch_ahead(0x3600_0000 | bit >> 5 << 31 | (bit & 31) << 19 | number.0) // tbz
    }

    /// Jumps back to a known place.
    pub(super) fn jump_back(&mut self, target: u64) {
        self.branch_back(0x1400_0000, target);
    }

    /// Jumps back to a known place on a condition.
    pub(super) fn jump_back_if(&mut self, condition: Condition, target: u64) {
        if exactly::<i64>(self.position() - target) < NEAR {
            return self.branch_back(0x5400_0000 | condition as u32, target); // b.condition
        }
        // The opposite one jumps over a jump that goes far.
        self.word(0x5400_0040 | (condition as u32 ^ 1));
        self.jump_back(target);
    }

    fn branch_back(&mut self, word: u32, target: u64) {
        let distance = exactly::<i64>(target) - exactly::<i64>(self.position());
        match with_distance(word, distance) {
            Some(word) => self.word(word),
            None => self.error = Some("a jump that goes too far"),
        }
    }

    // Functions.

    /// Keeps the vector registers that the caller expects to keep.
    pub(super) fn keep_vectors(&mut self) {
        self.pair(0x6d80_0000, 8, 9, -8); // stp, sp by as much
        for pair in 1..4 {
            self.pair(0x6d00_0000, 8 + 2 * pair, 9 + 2 * pair, 2 * exactly::<i32>(pair));
        }
    }

    /// Gives them back.
    pub(super) fn restore_vectors(&mut self) {
        for pair in (1..4).rev() {
            self.pair(0x6d40_0000, 8 + 2 * pair, 9 + 2 * pair, 2 * exactly::<i32>(pair));
        }
        self.pair(0x6cc0_0000, 8, 9, 8); // ldp, then sp
    }

    /// Pushes two general registers.
    pub(super) fn push(&mut self, a: X, b: X) {
        self.pair(0xa980_0000, a.0, b.0, -2);
    }

    /// Pops two.
    pub(super) fn pop(&mut self, a: X, b: X) {
        self.pair(0xa8c0_0000, a.0, b.0, 2);
    }

    /// A pair on the stack, at eight times an offset.
    fn pair(&mut self, word: u32, a: u32, b: u32, eighths: i32) {
        let offset = eighths.cast_unsigned() & 0x7f;
        self.word(word | offset << 15 | b << 10 | STACK << 5 | a);
    }

    /// The address of a place that was passed, in the code's own block.
    pub(super) fn address_of(&mut self, to: X, place: u64) {
        let distance = self.position() - place;
        if exactly::<i64>(distance) < NEAR {
            let back = (1 << 21) - exactly::<u32>(exactly::<usize>(distance));
            let back = if distance == 0 { 0 } else { back };
            return self.word(0x1000_0000 | (back & 3) << 29 | back >> 2 << 5 | to.0); // adr
        }
        let distance = exactly::<u32>(exactly::<usize>(distance));
        self.registers(0x1000_0000, to.0, 0);
        self.word(0xd280_0000 | (distance & 0xffff) << 5 | SCRATCH.0); // movz
        self.word(0xf2a0_0000 | distance >> 16 << 5 | SCRATCH.0); // movk, lsl 16
        self.three(0xcb00_0000, to, to, SCRATCH); // sub
    }

    pub(super) fn ret(&mut self) {
        self.word(0xd65f_03c0);
    }
}

/// A branch with its distance; `None` if that is too far for its kind.
pub(super) fn with_distance(word: u32, distance: i64) -> Option<u32> {
    let (bits, place) = match word >> 26 {
        0b00_0101 => (26, 0),
        _ if word >> 25 & 0x3f == 0b01_1011 => (14, 5),
        _ => (19, 5),
    };
    let words = distance / 4;
    let most = 1 << (bits - 1);
    let field = u32::try_from(words & ((1 << bits) - 1)).ok()?;
    (-most..most).contains(&words).then_some(word | field << place)
}
