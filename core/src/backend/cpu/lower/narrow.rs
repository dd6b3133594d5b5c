//! Narrow types: elements of one and two bytes in memory, 32-bit lanes in registers.
//!
//! An integer is extended as its sign says, an f16 is the f32 of the same number. So widening is nothing,
//! narrowing wraps or rounds, and only memory sees narrow elements.

use super::build::Lowering;
use crate::backend::cpu::instructions::{Compare, Opcode, Rounding};
use crate::backend::cpu::program::{Special, VReg};
use crate::convert::exactly;
use crate::dtype::DType;
use crate::ir::kernel::{BufferIndex, Code, Reg};
use crate::ir::op::Op;
use crate::ir::scalar::{apply_bits, quiet_nan};

/// Operations and the instructions for them on packed halves.
const ON_HALVES: [(Op, Opcode); 6] = [
    (Op::Add, Opcode::AddF16),
    (Op::Sub, Opcode::SubF16),
    (Op::Mul, Opcode::MulF16),
    (Op::Div, Opcode::DivF16),
    (Op::BoundedDiv, Opcode::DivF16),
    (Op::Sqrt, Opcode::SqrtF16),
];

impl Lowering<'_> {
    pub(super) fn load_narrow(&mut self, i: usize, buffer: BufferIndex, dtype: DType) {
        for part in 0..self.packet.narrow {
            let (buffer, number) = (buffer.0, exactly(part));
            let value = if dtype == DType::F16 && self.has(Opcode::AddF16) {
                let packed = self.make(Special::LoadHalves { buffer, part: number }, []);
                self.unpacked(packed)
            } else {
                self.make(Special::LoadNarrow { buffer, dtype, part: number }, [])
            };
            self.values.set(i, part, value);
        }
    }

    /// Packed halves as 32-bit lanes.
    fn unpacked(&mut self, packed: VReg) -> VReg {
        let lanes = self.unary(Opcode::F32FromF16, packed);
        if self.has(Opcode::AddF16) {
            self.packed_halves.insert(lanes, packed);
        }
        lanes
    }

    /// An f32 operation rounded to f16, as one on halves where there is such an instruction and its operands are halves:
    /// f32 has so many more bits that rounding twice is rounding once.
    pub(super) fn in_halves(&mut self, i: usize, part: usize) -> Option<VReg> {
        let inst = self.kernel.insts[i];
        let Code::Op(op) = inst.code else { return None };
        let (_, m) = ON_HALVES.into_iter().find(|&(other, _)| other == op)?;
        let halves = inst.dtype == DType::F32 && inst.args().all(|arg| self.is_half(arg));
        if !halves || !self.has(m) || self.uniform || self.kernel.fast_math {
            return None;
        }
        let operands: Vec<VReg> = inst
            .args()
            .map(|arg| {
                let lanes = self.values.get(arg.index(), part);
                self.packed(DType::F16, lanes)
            })
            .collect();
        let packed = match operands[..] {
            [a, b] => self.binary(m, a, b),
            _ => self.unary(m, operands[0]),
        };
        Some(self.unpacked(packed))
    }

    /// Whether an f32 is a half at any rate.
    fn is_half(&self, reg: Reg) -> bool {
        let inst = self.kernel.inst(reg);
        let constant = self.known_bits(reg.index()).is_some_and(|bits| {
            let half = apply_bits(Op::Cast, DType::F16, DType::F32, [bits, 0, 0]);
            apply_bits(Op::Cast, DType::F32, DType::F16, [half, 0, 0]) == bits
        });
        let widened =
            matches!(inst.code, Code::Op(Op::Cast)) && self.kernel.dtype(inst.arg(0)) == DType::F16;
        constant || widened
    }

    /// The element whose address is in a word of the parameter block, in every lane.
    pub(super) fn uniform_narrow(&mut self, i: usize, word: u32, dtype: DType) {
        let element = self.make(Special::RepeatElement { word, dtype }, []);
        let value = if dtype == DType::F16 { self.half_of_bits(element) } else { element };
        self.values.set(i, 0, value);
    }

    pub(super) fn store_narrow(&mut self, value: Reg, buffer: BufferIndex, dtype: DType) {
        let inst = self.kernel.inst(value);
        // Storing wraps or rounds by itself.
        let source = match (inst.code, inst.args[0]) {
            (Code::Op(Op::Cast), Some(wide))
                if !self.kernel.is_uniform(value) && !self.is_packed(value) =>
            {
                wide
            }
            _ => value,
        };
        let bytes = exactly(dtype.bytes());
        for part in 0..self.packet.narrow {
            let lanes = self.values.get(source.index(), part);
            let packed = self.packed(dtype, lanes);
            self.effect(
                Special::StorePacked { buffer: buffer.0, bytes, part: exactly(part) },
                [packed],
            );
        }
    }

    fn is_packed(&self, value: Reg) -> bool {
        self.packed_halves.contains_key(&self.values.get(value.index(), 0))
    }

    /// The elements of a part one beside the other, in the low bytes of a register; what does not fit is
    /// dropped.
    pub(super) fn packed(&mut self, dtype: DType, lanes: VReg) -> VReg {
        match (dtype.bytes(), self.has(Opcode::Words)) {
            _ if dtype == DType::F16 => self.packed_halves_of(lanes),
            (1, true) => self.unary(Opcode::Bytes, lanes),
            (_, true) => self.unary(Opcode::Words, lanes),
            (1, false) => {
                let order = self.byte_order(1);
                let bytes = self.binary(Opcode::Shuffle8, lanes, order);
                let upper = self.unary_by(Opcode::UpperHalf, bytes, 1);
                self.binary(Opcode::OrHalf, bytes, upper)
            }
            (_, false) => {
                let order = self.byte_order(2);
                let words = self.binary(Opcode::Shuffle8, lanes, order);
                // Both groups' low halves.
                self.unary_by(Opcode::Permute64, words, 0x08)
            }
        }
    }

    fn packed_halves_of(&mut self, lanes: VReg) -> VReg {
        if let Some(&packed) = self.packed_halves.get(&lanes) {
            return packed;
        }
        let packed = self.unary_by(Opcode::F16FromF32, lanes, Rounding::Nearest as u8);
        // What a region computes is not there where the region was left out.
        if self.has(Opcode::AddF16) && self.regions.is_empty() {
            self.packed_halves.insert(lanes, packed);
        }
        packed
    }

    /// Picks the low bytes of each lane: words to the low half of each group of 16 bytes, bytes of the
    /// first group to its first four and of the second to the next four.
    fn byte_order(&mut self, bytes: u8) -> VReg {
        let key = (u64::from(bytes), 65);
        if let Some(&known) = self.constants.get(&key) {
            return known;
        }
        let none = 0x80;
        let mut order = [none; 32];
        for lane in 0..4 {
            for byte in 0..bytes {
                let (low, from) = (usize::from(bytes * lane + byte), 4 * lane + byte);
                let high = if bytes == 1 { 20 + low } else { 16 + low };
                order[low] = from;
                order[high] = from;
            }
        }
        let home = self.pool.vector(&order);
        let value = self.at_home(home);
        self.constants.insert(key, value);
        value
    }

    /// 32-bit lanes as lanes of a narrow type: wrapped, or rounded.
    pub(super) fn wrapped(&mut self, dtype: DType, lanes: VReg) -> VReg {
        if dtype == DType::F16 {
            let packed = self.packed(dtype, lanes);
            return self.unpacked(packed);
        }
        let above = exactly(32 - dtype.bits() as usize);
        if dtype.is_signed() {
            let up = self.unary_by(Opcode::ShlBy32, lanes, above);
            return self.unary_by(Opcode::SarBy32, up, above);
        }
        let rest = self.constant(u64::from(u32::MAX >> above), 4);
        self.binary(Opcode::And32, lanes, rest)
    }

    /// Lanes of a narrow type from 32-bit lanes with its bits in the low ones.
    pub(super) fn of_word(&mut self, dtype: DType, words: VReg) -> VReg {
        if dtype == DType::F16 { self.half_of_bits(words) } else { self.wrapped(dtype, words) }
    }

    fn half_of_bits(&mut self, words: VReg) -> VReg {
        let packed = self.packed(DType::U16, words);
        self.unpacked(packed)
    }

    /// Between f16 and u16; a NaN shows as the quiet NaN.
    pub(super) fn reinterpret_narrow(&mut self, i: usize, a: usize, from: DType) {
        for part in 0..self.packet.narrow {
            let lanes = self.values.get(a, part);
            let value = if from == DType::F16 {
                let packed = self.packed(from, lanes);
                let bits = self.unary(Opcode::ZeroExtendWords, packed);
                let compare = Compare::Unordered;
                let nan = self.compare(compare, DType::F32, lanes, lanes);
                let quiet = self.constant(quiet_nan(from), 4);
                self.blend(4, nan, quiet, bits)
            } else {
                self.half_of_bits(lanes)
            };
            self.values.set(i, part, value);
        }
    }

    /// How far the element of `bytes` bytes with this index is above the aligned 32 bits around it.
    pub(super) fn shift_in_word(&mut self, index: VReg, bytes: usize) -> VReg {
        let (rest, by) = if bytes == 1 { (3, 3) } else { (1, 4) };
        let rest = self.constant(rest, 4);
        let place = self.binary(Opcode::And32, index, rest);
        self.unary_by(Opcode::ShlBy32, place, by)
    }

    /// Word of a buffer's address.
    pub(super) fn address_word(&self, buffer: BufferIndex) -> u32 {
        exactly(self.kernel.address_word(buffer))
    }
}
