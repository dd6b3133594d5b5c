//! Integer operations that have no instruction: products, quotients, bit counts.

use super::build::Lowering;
use crate::backend::cpu::instructions::{Compare, Opcode};
use crate::backend::cpu::program::VReg;
use crate::convert::exactly;
use crate::dtype::DType;

/// Bits set in each number of 4 bits.
const NIBBLE_ONES: [u8; 16] = [0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4];
/// Each number of 4 bits in reverse.
const NIBBLE_REVERSED: [u8; 16] = [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15];

impl Lowering<'_> {
    /// A product of 64-bit lanes from 32-bit ones: the low product, and the crossed ones above it.
    pub(super) fn mul64(&mut self, a: VReg, b: VReg) -> VReg {
        let a_high = self.shift_right_by(DType::U64, a, 32);
        let b_high = self.shift_right_by(DType::U64, b, 32);
        let crossed = self.binary(Opcode::MulWideU32, a_high, b);
        let other = self.binary(Opcode::MulWideU32, a, b_high);
        let sum = self.binary(Opcode::Add64, crossed, other);
        let upper = self.unary_by(Opcode::ShlBy64, sum, 32);
        let low = self.binary(Opcode::MulWideU32, a, b);
        self.binary(Opcode::Add64, low, upper)
    }

    /// The upper half of the double-width product.
    pub(super) fn mulhi(&mut self, dtype: DType, a: VReg, b: VReg) -> VReg {
        match (dtype.is_signed(), dtype.bytes()) {
            (_, 4) if self.has(Opcode::MulHighU32) => {
                let signed = dtype.is_signed();
                self.binary(if signed { Opcode::MulHighI32 } else { Opcode::MulHighU32 }, a, b)
            }
            (true, 4) => self.mulhi32(Opcode::MulWideI32, a, b),
            (true, 8) => {
                // Each negative factor was taken as itself plus 2^64.
                let unsigned = self.mulhi64(a, b);
                let a_excess = self.where_negative(a, b);
                let b_excess = self.where_negative(b, a);
                let less = self.sub(dtype, unsigned, a_excess);
                self.sub(dtype, less, b_excess)
            }
            (false, 8) => self.mulhi64(a, b),
            _ => self.mulhi32(Opcode::MulWideU32, a, b),
        }
    }

    fn mulhi32(&mut self, multiply: Opcode, a: VReg, b: VReg) -> VReg {
        let even = self.binary(multiply, a, b);
        // The odd lanes' factors, moved down.
        let [a, b] = [a, b].map(|x| {
            let same = !self.varies(x) || self.bits_of(x, 4).is_some();
            if same { x } else { self.unary_by(Opcode::ShrBy64, x, 32) }
        });
        let odd = self.binary(multiply, a, b);
        self.high_dwords(even, odd)
    }

    fn mulhi64(&mut self, a: VReg, b: VReg) -> VReg {
        let low_mask = self.constant(0xffff_ffff, 8);
        let a_high = self.shift_right_by(DType::U64, a, 32);
        let b_high = self.shift_right_by(DType::U64, b, 32);
        let low = self.binary(Opcode::MulWideU32, a, b);
        let carry = self.shift_right_by(DType::U64, low, 32);
        let crossed = self.binary(Opcode::MulWideU32, a_high, b);
        let crossed = self.binary(Opcode::Add64, crossed, carry);
        let crossed_low = self.and(DType::U64, crossed, low_mask);
        let other = self.binary(Opcode::MulWideU32, a, b_high);
        let other = self.binary(Opcode::Add64, other, crossed_low);
        let high = self.binary(Opcode::MulWideU32, a_high, b_high);
        let crossed_high = self.shift_right_by(DType::U64, crossed, 32);
        let other_high = self.shift_right_by(DType::U64, other, 32);
        let high = self.binary(Opcode::Add64, high, crossed_high);
        self.binary(Opcode::Add64, high, other_high)
    }

    /// `a < 0 ? b : 0` on 64-bit lanes.
    fn where_negative(&mut self, a: VReg, b: VReg) -> VReg {
        let sign = self.sign_of(a);
        self.and(DType::I64, sign, b)
    }

    /// Quotient and remainder, truncated; both 0 for a divisor of 0.
    pub(super) fn divide(&mut self, dtype: DType, a: VReg, b: VReg) -> (VReg, VReg) {
        let bytes = dtype.bytes();
        let (quotient, remainder) =
            if bytes == 8 { self.divide64(dtype, a, b) } else { self.divide32(dtype, a, b) };
        let zero = self.zero(dtype);
        let divides = self.compare(Compare::Ne, dtype, b, zero);
        (self.keep(bytes, divides, quotient), self.keep(bytes, divides, remainder))
    }

    /// 32-bit integers are exact in f64, and so is the truncated quotient.
    fn divide32(&mut self, dtype: DType, a: VReg, b: VReg) -> (VReg, VReg) {
        let mut halves = [VReg::NONE; 2];
        for (upper, half) in halves.iter_mut().enumerate() {
            let a = self.f64_of_half(dtype, a, upper == 1);
            let b = self.f64_of_half(dtype, b, upper == 1);
            *half = self.binary(Opcode::DivF64, a, b);
        }
        // The lowest number divided by -1 wraps.
        let quotient = if self.packet.target.saturates && dtype == DType::I32 {
            let [low, high] = halves.map(|half| self.unary(Opcode::I64FromF64, half));
            self.low_dwords(low, high)
        } else {
            self.int32_of_halves(dtype, halves)
        };
        let product = self.mul(dtype, quotient, b);
        let remainder = self.sub(dtype, a, product);
        (quotient, remainder)
    }

    /// Signed division is unsigned division of the magnitudes.
    fn divide64(&mut self, dtype: DType, a: VReg, b: VReg) -> (VReg, VReg) {
        if dtype == DType::U64 {
            return self.divide_u64(a, b);
        }
        let a_sign = self.sign_of(a);
        let b_sign = self.sign_of(b);
        let a = self.negate_where(a, a_sign);
        let b = self.negate_where(b, b_sign);
        let (quotient, remainder) = self.divide_u64(a, b);
        let sign = self.xor(dtype, a_sign, b_sign);
        (self.negate_where(quotient, sign), self.negate_where(remainder, a_sign))
    }

    /// All ones where a 64-bit lane is negative.
    pub(super) fn sign_of(&mut self, a: VReg) -> VReg {
        if self.has(Opcode::SarBy64) {
            self.unary_by(Opcode::SarBy64, a, 63)
        } else {
            self.sign_mask(a)
        }
    }

    /// `-a` where `sign` is all ones, `a` where it is 0.
    pub(super) fn negate_where(&mut self, a: VReg, sign: VReg) -> VReg {
        let flipped = self.xor(DType::I64, a, sign);
        self.sub(DType::I64, flipped, sign)
    }

    /// Two estimates from below by f64 division leave a remainder of less than two divisors.
    fn divide_u64(&mut self, a: VReg, b: VReg) -> (VReg, VReg) {
        let divisor = self.f64_of_u64(b);
        let (first, rest) = self.estimate(a, b, divisor);
        let (second, rest) = self.estimate(rest, b, divisor);
        let quotient = self.binary(Opcode::Add64, first, second);
        let above = self.compare(Compare::Ge, DType::U64, rest, b);
        let excess = self.keep(8, above, b);
        let one = self.constant(1, 8);
        let carry = self.keep(8, above, one);
        (self.binary(Opcode::Add64, quotient, carry), self.sub(DType::U64, rest, excess))
    }

    fn estimate(&mut self, a: VReg, b: VReg, divisor: VReg) -> (VReg, VReg) {
        // 1 - 2^-50 outweighs the three roundings.
        let below_one = self.constant((1.0 - 2f64.powi(-50)).to_bits(), 8);
        let dividend = self.f64_of_u64(a);
        let quotient = self.binary(Opcode::DivF64, dividend, divisor);
        let quotient = self.binary(Opcode::MulF64, quotient, below_one);
        let quotient = self.u64_of_f64(quotient);
        let product = self.mul(DType::U64, quotient, b);
        (quotient, self.sub(DType::U64, a, product))
    }

    /// A table of 16 bytes in every 16-byte group.
    fn byte_table(&mut self, table: [u8; 16]) -> VReg {
        let low = u64::from_le_bytes(table[..8].try_into().unwrap_or_default());
        let key = (low, 16);
        if let Some(&known) = self.constants.get(&key) {
            return known;
        }
        let contents = table.repeat(self.packet.vector() / 16);
        let home = self.pool.vector(&contents);
        let value = self.at_home(home);
        self.constants.insert(key, value);
        value
    }

    /// Looks up both halves of each byte; the lower ones' results first.
    fn by_nibbles(&mut self, a: VReg, table: [u8; 16]) -> (VReg, VReg) {
        let table = self.byte_table(table);
        let nibble = self.constant(0x0f0f_0f0f, 4);
        let low = self.binary(Opcode::And32, a, nibble);
        let high = self.unary_by(Opcode::ShrBy32, a, 4);
        let high = self.binary(Opcode::And32, high, nibble);
        (self.binary(Opcode::Shuffle8, table, low), self.binary(Opcode::Shuffle8, table, high))
    }

    pub(super) fn popcnt(&mut self, dtype: DType, a: VReg) -> VReg {
        let m = if dtype.bytes() == 8 { Opcode::Popcnt64 } else { Opcode::Popcnt32 };
        if self.has(m) {
            return self.unary(m, a);
        }
        let (low, high) = self.by_nibbles(a, NIBBLE_ONES);
        let bytes = self.binary(Opcode::Add8, low, high);
        if dtype.bytes() == 8 {
            let zero = self.zero(dtype);
            return self.binary(Opcode::SumBytes64, bytes, zero);
        }
        let ones = self.constant(0x0101_0101, 4);
        let words = self.binary(Opcode::SumBytes16, bytes, ones);
        let ones = self.constant(0x0001_0001, 4);
        self.binary(Opcode::SumWords32, words, ones)
    }

    pub(super) fn lzcnt(&mut self, dtype: DType, a: VReg) -> VReg {
        let wide = dtype.bytes() == 8;
        let m = if wide { Opcode::Lzcnt64 } else { Opcode::Lzcnt32 };
        if self.has(m) {
            return self.unary(m, a);
        }
        let in_halves = wide && self.has(Opcode::Lzcnt32);
        let each = if in_halves { self.unary(Opcode::Lzcnt32, a) } else { self.lzcnt32(a) };
        if !wide {
            return each;
        }
        let upper = self.unary_by(Opcode::ShrBy64, each, 32);
        let low_mask = self.constant(0xffff_ffff, 8);
        let lower = self.binary(Opcode::And64, each, low_mask);
        let all = self.constant(32, 8);
        let empty = self.binary(Opcode::Equal64, upper, all);
        let lower = self.binary(Opcode::And64, lower, empty);
        self.binary(Opcode::Add64, upper, lower)
    }

    /// The exponent of the number as a float. The bits below the highest eight must not round it up to
    /// the next power of two, so those that follow a one are cleared.
    fn lzcnt32(&mut self, a: VReg) -> VReg {
        let shifted = self.unary_by(Opcode::ShrBy32, a, 8);
        let top = self.binary(Opcode::AndNot32, shifted, a);
        let float = self.unary(Opcode::F32FromI32, top);
        let exponent = self.unary_by(Opcode::ShrBy32, float, 23);
        // A set sign gives more than the bias, and the difference saturates at 0.
        let bias = self.constant(158, 4);
        let count = self.binary(Opcode::SubSaturating16, bias, exponent);
        let all = self.constant(32, 4);
        self.binary(Opcode::Min16, count, all)
    }

    /// The zeros below the lowest one, as ones: counted, or their place above counted.
    pub(super) fn tzcnt(&mut self, dtype: DType, a: VReg) -> VReg {
        let ones = self.ones(dtype);
        let less_one = self.add(dtype, a, ones);
        let wide = dtype.bytes() == 8;
        let below =
            self.binary(if wide { Opcode::AndNot64 } else { Opcode::AndNot32 }, a, less_one);
        let m = if wide { Opcode::Lzcnt64 } else { Opcode::Lzcnt32 };
        if !self.has(m) {
            return self.popcnt(dtype, below);
        }
        let above = self.unary(m, below);
        let width = self.number(dtype, 8 * dtype.bytes() as u64);
        self.sub(dtype, width, above)
    }

    pub(super) fn brev(&mut self, dtype: DType, a: VReg) -> VReg {
        let m = if dtype.bytes() == 8 { Opcode::Reverse64 } else { Opcode::Reverse32 };
        if self.has(m) {
            return self.unary(m, a);
        }
        let (low, high) = self.by_nibbles(a, NIBBLE_REVERSED);
        let low = self.unary_by(Opcode::ShlBy32, low, 4);
        let bytes = self.binary(Opcode::Or32, low, high);
        let width = exactly::<u8>(dtype.bytes());
        let mut order = [0; 16];
        for (i, place) in (0_u8..).zip(&mut order) {
            *place = i / width * width + (width - 1 - i % width);
        }
        let order = self.byte_table(order);
        self.binary(Opcode::Shuffle8, bytes, order)
    }
}
