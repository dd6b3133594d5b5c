//! Elementwise operations as machine instructions.

use super::build::Lowering;
use crate::backend::cpu::instructions::{Compare, Extreme, Opcode, Rounding};
use crate::backend::cpu::program::{Nan, VReg};
use crate::convert::exactly;
use crate::dtype::DType;
use crate::ir::kernel::Reg;
use crate::ir::op::Op;
use crate::ir::scalar::quiet_nan;

impl Lowering<'_> {
    /// The instruction for a type among those for 32- and 64-bit floats and integers.
    pub(super) fn by_type(dtype: DType, [f32, f64, i32, i64]: [Opcode; 4]) -> Opcode {
        match (dtype.is_float(), dtype.bytes()) {
            (true, 4) => f32,
            (true, 8) => f64,
            (false, 8) => i64,
            // Masks, and what is computed in 32 bits.
            _ => i32,
        }
    }

    pub(super) fn op(&mut self, i: usize, op: Op) {
        let inst = &self.kernel.insts[i];
        let dtype = inst.dtype;
        let mut args = inst.args().map(Reg::index);
        let mut next = || args.next().unwrap_or(usize::MAX);
        let args = [next(), next(), next()];
        match op {
            Op::Cast => self.cast(i, args[0]),
            Op::Reinterpret => self.reinterpret(i, args[0]),
            Op::BitsAnyNan => self.bits_any_nan(i, args[0]),
            Op::Eq => self.compare_op(i, Compare::Eq, args),
            Op::Ne => self.compare_op(i, Compare::Ne, args),
            Op::Lt => self.compare_op(i, Compare::Lt, args),
            Op::Le => self.compare_op(i, Compare::Le, args),
            Op::Gt => self.compare_op(i, Compare::Gt, args),
            Op::Ge => self.compare_op(i, Compare::Ge, args),
            Op::Select => self.select(i, args),
            Op::Neg
            | Op::Not
            | Op::Abs
            | Op::Sqrt
            | Op::Floor
            | Op::Ceil
            | Op::Round
            | Op::Trunc
            | Op::Popcnt
            | Op::Lzcnt
            | Op::Tzcnt
            | Op::Brev
            | Op::Add
            | Op::Sub
            | Op::Mul
            | Op::Div
            | Op::BoundedDiv
            | Op::IDiv
            | Op::Rem
            | Op::MulHi
            | Op::Min
            | Op::Max
            | Op::Minimum
            | Op::Maximum
            | Op::And
            | Op::Or
            | Op::Xor
            | Op::Shl
            | Op::Shr
            | Op::Fma => {
                if dtype == DType::Mask {
                    self.mask_op(i, op, args);
                } else {
                    for part in 0..self.packet.parts(dtype.bytes()) {
                        let part_of = |reg| {
                            if reg == usize::MAX { VReg::NONE } else { self.values.get(reg, part) }
                        };
                        let args = args.map(part_of);
                        let value = self.same(op, dtype, args);
                        if self.is_never_nan(op, dtype, args) {
                            self.set_nan(value, Nan::Never);
                        }
                        self.values.set(i, part, value);
                    }
                }
            }
        }
    }

    /// An operation whose operands and result have one type, on one part.
    pub(super) fn same(&mut self, op: Op, dtype: DType, [a, b, c]: [VReg; 3]) -> VReg {
        let by = Self::by_type;
        let float = dtype.is_float();
        match op {
            Op::Neg if float => {
                let sign = self.sign_bit(dtype);
                self.xor(dtype, a, sign)
            }
            Op::Neg => {
                let zero = self.zero(dtype);
                self.sub(dtype, zero, a)
            }
            Op::Not => {
                let ones = self.ones(dtype);
                self.xor(dtype, a, ones)
            }
            Op::Abs => self.abs(dtype, a),
            Op::Sqrt if self.is_fast(dtype) => self.fast_root(a),
            Op::Sqrt => {
                self.unary(if dtype == DType::F64 { Opcode::SqrtF64 } else { Opcode::SqrtF32 }, a)
            }
            Op::Floor => self.round(dtype, a, Rounding::Down),
            Op::Ceil => self.round(dtype, a, Rounding::Up),
            Op::Round => self.round(dtype, a, Rounding::Nearest),
            Op::Trunc => self.round(dtype, a, Rounding::TowardsZero),
            Op::Popcnt => self.popcnt(dtype, a),
            Op::Lzcnt => self.lzcnt(dtype, a),
            Op::Tzcnt => self.tzcnt(dtype, a),
            Op::Brev => self.brev(dtype, a),
            Op::Add => self.add(dtype, a, b),
            Op::Sub => self.sub(dtype, a, b),
            Op::Mul => self.mul(dtype, a, b),
            Op::Div | Op::BoundedDiv if self.is_fast(dtype) => self.fast_quotient(a, b),
            Op::Div | Op::BoundedDiv => {
                self.binary(if dtype == DType::F64 { Opcode::DivF64 } else { Opcode::DivF32 }, a, b)
            }
            Op::IDiv => self.divide(dtype, a, b).0,
            Op::Rem => self.divide(dtype, a, b).1,
            Op::MulHi => self.mulhi(dtype, a, b),
            Op::Min | Op::Max if float => self.float_extreme(op == Op::Min, dtype, a, b),
            Op::Minimum | Op::Maximum if float => {
                self.propagating_extreme(op == Op::Minimum, dtype, a, b)
            }
            Op::Min | Op::Minimum => self.int_extreme(true, dtype, a, b),
            Op::Max | Op::Maximum => self.int_extreme(false, dtype, a, b),
            Op::And => self.and(dtype, a, b),
            Op::Or => self.or(dtype, a, b),
            Op::Xor => self.xor(dtype, a, b),
            Op::Shl => self.shift_left(dtype, a, b),
            Op::Shr => self.shift_right(dtype, a, b),
            Op::Fma if float => self.ternary(
                by(dtype, [Opcode::FmaF32, Opcode::FmaF64, Opcode::FmaF32, Opcode::FmaF64]),
                a,
                b,
                c,
            ),
            Op::Fma => {
                let product = self.mul(dtype, a, b);
                self.add(dtype, product, c)
            }
            Op::Cast
            | Op::Reinterpret
            | Op::BitsAnyNan
            | Op::Eq
            | Op::Ne
            | Op::Lt
            | Op::Le
            | Op::Gt
            | Op::Ge
            | Op::Select => unreachable!("internal error: {op:?} has another shape"),
        }
    }

    /// Whether quotients and roots may be approximate.
    fn is_fast(&self, dtype: DType) -> bool {
        self.kernel.fast_math && dtype == DType::F32
    }

    /// Whether no lane of a float result is NaN, as far as constants tell.
    fn is_never_nan(&self, op: Op, dtype: DType, [a, b, c]: [VReg; 3]) -> bool {
        if !dtype.is_float() || self.is_fast(dtype) {
            return false;
        }
        let bits = |value: VReg| self.bits_of(value, exactly(dtype.bytes()));
        let is_number = |value: VReg| bits(value).is_some_and(|bits| is_number(bits, dtype));
        let never = |value: VReg| self.nan(value) == Nan::Never || is_number(value);
        let finite = |value: VReg| bits(value).is_some_and(|bits| is_finite(bits, dtype));
        let sign = 1_u64 << (8 * dtype.bytes() - 1);
        let factor =
            |value: VReg| finite(value) && bits(value).is_some_and(|bits| bits & !sign != 0);
        let product = || never(a) && factor(b) || factor(a) && never(b);
        (matches!(op, Op::Abs | Op::Neg) && never(a))
            || (matches!(op, Op::Min | Op::Max) && (never(a) || never(b)))
            || (matches!(op, Op::Minimum | Op::Maximum) && never(a) && never(b))
            || (op == Op::Mul && product())
            || (op == Op::Fma && product() && finite(c))
            || (matches!(op, Op::Add | Op::Sub) && (never(a) && finite(b) || finite(a) && never(b)))
    }

    pub(super) fn add(&mut self, dtype: DType, a: VReg, b: VReg) -> VReg {
        self.binary(
            Self::by_type(dtype, [Opcode::AddF32, Opcode::AddF64, Opcode::Add32, Opcode::Add64]),
            a,
            b,
        )
    }

    pub(super) fn sub(&mut self, dtype: DType, a: VReg, b: VReg) -> VReg {
        self.binary(
            Self::by_type(dtype, [Opcode::SubF32, Opcode::SubF64, Opcode::Sub32, Opcode::Sub64]),
            a,
            b,
        )
    }

    pub(super) fn mul(&mut self, dtype: DType, a: VReg, b: VReg) -> VReg {
        if dtype.is_int() && dtype.bytes() == 8 && !self.has(Opcode::Mul64) {
            return self.mul64(a, b);
        }
        self.binary(
            Self::by_type(dtype, [Opcode::MulF32, Opcode::MulF64, Opcode::Mul32, Opcode::Mul64]),
            a,
            b,
        )
    }

    pub(super) fn and(&mut self, dtype: DType, a: VReg, b: VReg) -> VReg {
        self.binary(if dtype.bytes() == 8 { Opcode::And64 } else { Opcode::And32 }, a, b)
    }

    pub(super) fn or(&mut self, dtype: DType, a: VReg, b: VReg) -> VReg {
        self.binary(if dtype.bytes() == 8 { Opcode::Or64 } else { Opcode::Or32 }, a, b)
    }

    pub(super) fn xor(&mut self, dtype: DType, a: VReg, b: VReg) -> VReg {
        self.binary(if dtype.bytes() == 8 { Opcode::Xor64 } else { Opcode::Xor32 }, a, b)
    }

    /// A constant of a type's width.
    pub(super) fn number(&mut self, dtype: DType, bits: u64) -> VReg {
        let mask = if dtype.bytes() == 8 { u64::MAX } else { u64::from(u32::MAX) };
        self.constant(bits & mask, exactly(dtype.bytes()))
    }

    pub(super) fn zero(&mut self, dtype: DType) -> VReg {
        self.number(dtype, 0)
    }

    pub(super) fn ones(&mut self, dtype: DType) -> VReg {
        self.number(dtype, u64::MAX)
    }

    pub(super) fn sign_bit(&mut self, dtype: DType) -> VReg {
        self.number(dtype, 1 << (8 * dtype.bytes() - 1))
    }

    fn abs(&mut self, dtype: DType, a: VReg) -> VReg {
        match (dtype.is_signed(), dtype.bytes()) {
            (true, 4 | 8) if dtype.is_float() => {
                let rest = self.number(dtype, (1 << (8 * dtype.bytes() - 1)) - 1);
                self.and(dtype, a, rest)
            }
            (true, 4) => self.unary(Opcode::Abs32, a),
            (true, 8) if self.has(Opcode::Abs64) => self.unary(Opcode::Abs64, a),
            (true, 8) => {
                let sign = self.sign_mask(a);
                let flipped = self.xor(dtype, a, sign);
                self.sub(dtype, flipped, sign)
            }
            _ => a,
        }
    }

    /// All ones where a 64-bit lane is negative, by a comparison.
    pub(super) fn sign_mask(&mut self, a: VReg) -> VReg {
        let zero = self.zero(DType::I64);
        self.binary(Opcode::Greater64, zero, a)
    }

    pub(super) fn round(&mut self, dtype: DType, a: VReg, rounding: Rounding) -> VReg {
        let m = if dtype == DType::F64 { Opcode::RoundF64 } else { Opcode::RoundF32 };
        self.unary_by(m, a, rounding as u8)
    }

    /// Minimum or maximum that ignores a NaN and orders zeros.
    ///
    /// The instruction gives the second operand if either is NaN or both are zero: right as it is if that one is a
    /// constant and neither NaN nor the zero that would lose.
    fn float_extreme(&mut self, min: bool, dtype: DType, a: VReg, b: VReg) -> VReg {
        let m = extreme(min, dtype);
        if self.has(m) && self.wins_ties(b, dtype, min) {
            return self.binary(m, a, b);
        }
        if self.has(m) && self.wins_ties(a, dtype, min) {
            return self.binary(m, b, a);
        }
        if self.has(range(dtype)) {
            // Orders zeros and ignores quiet NaN; multiplying by 1 makes every NaN quiet.
            let (a, b) = (self.quiet(dtype, a), self.quiet(dtype, b));
            return self.ordered_extreme(min, dtype, a, b);
        }
        let bytes = dtype.bytes();
        let extreme = self.binary(m, a, b);
        // Equal operands differ at most in the sign of a zero.
        let merged = if min { self.or(dtype, a, b) } else { self.and(dtype, a, b) };
        let equal = self.compare(Compare::Eq, dtype, a, b);
        let ordered = self.blend(bytes, equal, merged, extreme);
        let b_is_nan = self.compare(Compare::Unordered, dtype, b, b);
        self.blend(bytes, b_is_nan, a, ordered)
    }

    /// Whether a value is a constant that the instructions may return for a NaN or for two zeros.
    fn wins_ties(&self, value: VReg, dtype: DType, min: bool) -> bool {
        let Some(bits) = self.bits_of(value, exactly(dtype.bytes())) else { return false };
        let sign = 1_u64 << (8 * dtype.bytes() - 1);
        let zero_wins = (bits & sign != 0) == min;
        is_number(bits, dtype) && (bits & !sign != 0 || zero_wins)
    }

    /// Minimum or maximum that is NaN if either operand is, and orders zeros.
    ///
    /// Beside a constant that is neither NaN nor zero, the second operand is right as it is.
    fn propagating_extreme(&mut self, min: bool, dtype: DType, a: VReg, b: VReg) -> VReg {
        let propagating = propagating(min, dtype);
        if self.has(propagating) {
            return self.binary(propagating, a, b);
        }
        let sign = 1_u64 << (8 * dtype.bytes() - 1);
        for (constant, other) in [(a, b), (b, a)] {
            let bits = self.bits_of(constant, exactly(dtype.bytes()));
            if bits.is_some_and(|bits| is_number(bits, dtype) && bits & !sign != 0) {
                return self.binary(extreme(min, dtype), constant, other);
            }
        }
        let nan = self.compare(Compare::Unordered, dtype, a, b);
        let sum = self.add(dtype, a, b);
        let ordered = if self.has(range(dtype)) {
            self.ordered_extreme(min, dtype, a, b)
        } else {
            // Both orders differ only for zeros of different sign.
            let m = extreme(min, dtype);
            let (first, second) = (self.binary(m, a, b), self.binary(m, b, a));
            if min { self.or(dtype, first, second) } else { self.and(dtype, first, second) }
        };
        self.blend(dtype.bytes(), nan, sum, ordered)
    }

    /// By the instruction that orders zeros.
    fn ordered_extreme(&mut self, min: bool, dtype: DType, a: VReg, b: VReg) -> VReg {
        let which = if min { Extreme::Least } else { Extreme::Greatest };
        self.binary_by(range(dtype), a, b, which as u8)
    }

    /// A float in which every NaN is a quiet one: results of arithmetic are already.
    fn quiet(&mut self, dtype: DType, a: VReg) -> VReg {
        if self.nan(a) != Nan::Any {
            return a;
        }
        let (one, m) = if dtype == DType::F64 {
            (self.constant(1f64.to_bits(), 8), Opcode::MulF64)
        } else {
            (self.constant(u64::from(1f32.to_bits()), 4), Opcode::MulF32)
        };
        self.binary(m, a, one)
    }

    pub(super) fn int_extreme(&mut self, min: bool, dtype: DType, a: VReg, b: VReg) -> VReg {
        let m = match (dtype, min) {
            (DType::I32, true) => Opcode::MinI32,
            (DType::I32, false) => Opcode::MaxI32,
            (DType::U32, true) => Opcode::MinU32,
            (DType::U32, false) => Opcode::MaxU32,
            (DType::I64, true) => Opcode::MinI64,
            (DType::I64, false) => Opcode::MaxI64,
            (_, true) => Opcode::MinU64,
            (_, false) => Opcode::MaxU64,
        };
        if self.has(m) {
            return self.binary(m, a, b);
        }
        let greater = self.compare(Compare::Gt, dtype, a, b);
        if min { self.blend(8, greater, b, a) } else { self.blend(8, greater, a, b) }
    }

    /// A comparison of one part; the mask lies beside parts of that width.
    pub(super) fn compare(&mut self, compare: Compare, dtype: DType, a: VReg, b: VReg) -> VReg {
        if dtype.is_float() {
            let m = if dtype == DType::F64 { Opcode::CompareF64 } else { Opcode::CompareF32 };
            return self.binary_by(m, a, b, compare as u8);
        }
        let m = match (dtype.is_signed(), dtype.bytes()) {
            (true, 4) => Opcode::CompareI32,
            (true, 8) => Opcode::CompareI64,
            (false, 8) => Opcode::CompareU64,
            _ => Opcode::CompareU32,
        };
        if self.has(m) {
            return self.binary_by(m, a, b, compare as u8);
        }
        let wide = dtype.bytes() == 8;
        let (equal, greater) = if wide {
            (Opcode::Equal64, Opcode::Greater64)
        } else {
            (Opcode::Equal32, Opcode::Greater32)
        };
        let (m, a, b, negate) = match compare {
            Compare::Eq => (equal, a, b, false),
            Compare::Ne => (equal, a, b, true),
            Compare::Gt => (greater, a, b, false),
            Compare::Le => (greater, a, b, true),
            Compare::Lt => (greater, b, a, false),
            Compare::Ge => (greater, b, a, true),
            Compare::Unordered => (equal, a, a, true),
        };
        let unsigned = matches!(dtype, DType::U32 | DType::U64);
        let (a, b) = if unsigned && m == greater {
            // Flipping the highest bit maps unsigned order to signed order.
            (self.flip_sign(dtype, a), self.flip_sign(dtype, b))
        } else {
            (a, b)
        };
        let mask = self.binary(m, a, b);
        if negate { self.not_mask(mask) } else { mask }
    }

    fn flip_sign(&mut self, dtype: DType, a: VReg) -> VReg {
        let bytes = exactly(dtype.bytes());
        if let Some(bits) = self.bits_of(a, bytes) {
            return self.number(dtype, bits ^ 1 << (8 * dtype.bytes() - 1));
        }
        let sign = self.sign_bit(dtype);
        self.xor(dtype, a, sign)
    }

    pub(super) fn not_mask(&mut self, mask: VReg) -> VReg {
        if self.has(Opcode::MaskNot) {
            return self.unary(Opcode::MaskNot, mask);
        }
        let ones = self.mask_constant(true);
        self.binary(Opcode::MaskXor, mask, ones)
    }

    fn compare_op(&mut self, i: usize, compare: Compare, [a, b, _]: [usize; 3]) {
        let dtype = self.kernel.insts[a].dtype;
        for part in 0..self.packet.parts(dtype.bytes()) {
            let (x, y) = (self.values.get(a, part), self.values.get(b, part));
            let mask = self.compare(compare, dtype, x, y);
            if dtype.bytes() == 8 {
                self.wide_masks.set(i, part, mask);
            } else {
                self.values.set(i, part, mask);
            }
        }
    }

    fn select(&mut self, i: usize, [mask, a, b]: [usize; 3]) {
        let dtype = self.kernel.insts[i].dtype;
        if dtype == DType::Mask {
            return self.each_mask(i, &[mask, a, b], |lowering, masks| {
                let yes = lowering.binary(Opcode::MaskAnd, masks[0], masks[1]);
                let no = lowering.binary(Opcode::MaskAndNot, masks[0], masks[2]);
                lowering.binary(Opcode::MaskOr, yes, no)
            });
        }
        for part in 0..self.packet.parts(dtype.bytes()) {
            let mask = if dtype.bytes() == 8 {
                self.wide_mask(mask, part)
            } else {
                self.narrow_mask(mask, part)
            };
            let (yes, no) = (self.values.get(a, part), self.values.get(b, part));
            let value = self.blend(dtype.bytes(), mask, yes, no);
            self.values.set(i, part, value);
        }
    }

    fn mask_op(&mut self, i: usize, op: Op, [a, b, _]: [usize; 3]) {
        if op == Op::Not {
            return self.each_mask(i, &[a], |lowering, masks| lowering.not_mask(masks[0]));
        }
        let m = if op == Op::And {
            Opcode::MaskAnd
        } else if op == Op::Or {
            Opcode::MaskOr
        } else {
            Opcode::MaskXor
        };
        self.each_mask(i, &[a, b], |lowering, masks| lowering.binary(m, masks[0], masks[1]));
    }

    /// Combines masks beside 64-bit parts if all are known only there, else beside 32-bit parts.
    fn each_mask(
        &mut self,
        i: usize,
        args: &[usize],
        mut combine: impl FnMut(&mut Self, &[VReg]) -> VReg,
    ) {
        let wide = args.iter().all(|&arg| !self.values.get(arg, 0).is_some());
        let parts = if wide { self.packet.parts(8) } else { self.packet.narrow };
        for part in 0..parts {
            let mut masks = [VReg::NONE; 3];
            for (mask, &arg) in masks.iter_mut().zip(args) {
                *mask = if wide { self.wide_mask(arg, part) } else { self.narrow_mask(arg, part) };
            }
            let result = combine(self, &masks[..args.len()]);
            if wide {
                self.wide_masks.set(i, part, result);
            } else {
                self.values.set(i, part, result);
            }
        }
    }

    fn reinterpret(&mut self, i: usize, a: usize) {
        let operand = self.kernel.insts[a].dtype;
        if operand.is_narrow() {
            return self.reinterpret_narrow(i, a, operand);
        }
        for part in 0..self.packet.parts(operand.bytes()) {
            let mut value = self.values.get(a, part);
            if operand.is_float() && self.nan(value) != Nan::Never {
                // A NaN shows as the quiet NaN.
                let nan = self.compare(Compare::Unordered, operand, value, value);
                let quiet = self.number(operand, quiet_nan(operand));
                value = self.blend(operand.bytes(), nan, quiet, value);
            }
            self.values.set(i, part, value);
        }
    }

    fn bits_any_nan(&mut self, i: usize, a: usize) {
        for part in 0..self.packet.parts(self.kernel.insts[a].dtype.bytes()) {
            let value = self.values.get(a, part);
            self.values.set(i, part, value);
        }
    }
}

/// Whether the bits are not a NaN's.
fn is_number(bits: u64, dtype: DType) -> bool {
    let infinity = if dtype == DType::F64 { 0x7ff << 52 } else { 0xff << 23 };
    bits & !(1 << (8 * dtype.bytes() - 1)) <= infinity
}

/// Whether the bits are neither a NaN's nor an infinity's.
fn is_finite(bits: u64, dtype: DType) -> bool {
    let infinity = if dtype == DType::F64 { 0x7ff << 52 } else { 0xff << 23 };
    bits & infinity != infinity
}

/// Minimum or maximum that orders zeros and ignores a quiet NaN.
fn range(dtype: DType) -> Opcode {
    if dtype == DType::F64 { Opcode::RangeF64 } else { Opcode::RangeF32 }
}

/// Minimum or maximum, the second operand if either is NaN or both are zero.
fn extreme(min: bool, dtype: DType) -> Opcode {
    match (min, dtype) {
        (true, DType::F64) => Opcode::MinF64,
        (true, _) => Opcode::MinF32,
        (false, DType::F64) => Opcode::MaxF64,
        (false, _) => Opcode::MaxF32,
    }
}

/// Minimum or maximum that is NaN if either operand is, and orders zeros.
fn propagating(min: bool, dtype: DType) -> Opcode {
    match (min, dtype) {
        (true, DType::F64) => Opcode::MinimumF64,
        (true, _) => Opcode::MinimumF32,
        (false, DType::F64) => Opcode::MaximumF64,
        (false, _) => Opcode::MaximumF32,
    }
}
