//! Integer division by a number that all lanes share, without division.
//!
//! Vectors of integers divide slowly. [`rewrite`] makes masks and shifts of divisions by powers of two, and
//! products with a reciprocal of the others: known here where the divisor is part of the code, else computed by the
//! kernel before its lanes run. Kernels are legal before ([`legal`](super::legal)), so only types of 32 and 64 bits
//! divide. A remainder shares the quotient of the same numbers.
//!
//! With `w` bits, a divisor `d` and the least `l` with `d <= 2^l` there is a factor of `w + 1` bits whose product with
//! any dividend, shifted right by `w + l`, is the quotient. Its highest bit is always set and stays out of the product.
//!
//! **Source**: Granlund and Montgomery, Division by invariant integers using multiplication, 1994; for the reciprocal
//! of 64 bits Möller and Granlund, Improved division by invariant integers, 2011, algorithm 3.

use std::borrow::Cow;
use std::collections::HashMap;

use super::kernel::{Code, Inst, Kernel, LiteralMode, Reg};
use super::kernel_copy::Rewrite;
use super::op::Op;
use super::scalar::apply_bits;
use super::sections::Section;
use crate::dtype::DType;

/// Which divisors lanes need not divide by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Divisors {
    /// Those that are part of the code.
    Known,
    /// All that lanes share: for devices that compute such values once a launch.
    Shared,
}

/// The kernel without divisions of lanes by such numbers; the kernel itself if it has none.
pub fn rewrite(kernel: Cow<'_, Kernel>, mode: LiteralMode, divisors: Divisors) -> Cow<'_, Kernel> {
    if kernel.lane_insts().iter().any(|inst| is_rewritten(&kernel, mode, divisors, inst)) {
        Cow::Owned(Rewriter::new(&kernel, mode, divisors).run())
    } else {
        kernel
    }
}

fn is_rewritten(kernel: &Kernel, mode: LiteralMode, divisors: Divisors, inst: &Inst) -> bool {
    matches!(inst.code, Code::Op(Op::IDiv | Op::Rem))
        && kernel.is_uniform(inst.arg(1))
        && (divisors == Divisors::Shared || known(kernel, mode, inst.arg(1)).is_some())
}

/// The bits of a number that is part of the code.
fn known(kernel: &Kernel, mode: LiteralMode, number: Reg) -> Option<u64> {
    match (kernel.inst(number).code, mode) {
        (Code::Constant(bits), _) => Some(bits),
        (Code::Literal(literal), LiteralMode::Embedded) => {
            Some(kernel.literals[literal as usize].1)
        }
        (_, LiteralMode::Embedded | LiteralMode::Parameter) => None,
    }
}

/// What lanes need of a divisor that only the kernel knows.
#[derive(Clone, Copy)]
struct Reciprocal {
    /// The low bits of the factor.
    factor: Reg,
    /// The shift right by `l`, in two: first at most by 1.
    shifts: [Reg; 2],
    /// All ones unless the divisor is 0.
    nonzero: Reg,
}

/// What is divided by: of a number that is part of the code its bits, which the literals of several places share.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Divisor {
    Known(u64),
    Computed(Reg),
}

struct Rewriter<'k> {
    kernel: &'k Kernel,
    mode: LiteralMode,
    divisors: Divisors,
    values: Vec<Reg>,
    code: Rewrite,
    /// By dividend and divisor.
    quotients: HashMap<(Reg, Divisor), Reg>,
    /// By divisor.
    reciprocals: HashMap<Reg, Reciprocal>,
}

impl<'k> Rewriter<'k> {
    fn new(kernel: &'k Kernel, mode: LiteralMode, divisors: Divisors) -> Self {
        Self {
            kernel,
            mode,
            divisors,
            values: Vec::with_capacity(kernel.insts.len()),
            code: Rewrite::new(),
            quotients: HashMap::new(),
            reciprocals: HashMap::new(),
        }
    }

    fn run(mut self) -> Kernel {
        for (i, inst) in self.kernel.insts.iter().enumerate() {
            self.code.replace(self.kernel, i);
            let rewritten = i >= self.kernel.n_uniform
                && is_rewritten(self.kernel, self.mode, self.divisors, inst);
            let args: Vec<Reg> = inst.args().map(|arg| self.values[arg.index()]).collect();
            // What a region computes is not there outside.
            if matches!(inst.code, Code::RegionStart { .. } | Code::RegionEnd) {
                self.quotients.clear();
            }
            let value = if !rewritten {
                self.code.push(inst.code, inst.dtype, &args)
            } else if inst.code == Code::Op(Op::IDiv) {
                self.quotient(inst, args[0])
            } else {
                self.remainder(inst, args[0])
            };
            self.values.push(value);
        }
        self.code.finish(self.kernel, self.kernel.literals.clone())
    }

    /// The divisor of a division, if it is part of the code: its magnitude, and whether it is negative.
    fn known(&self, division: &Inst) -> Option<(u64, bool)> {
        let bits = known(self.kernel, self.mode, division.arg(1))?;
        let dtype = division.dtype;
        let negative = dtype.is_signed() && bits >> (dtype.bits() - 1) & 1 != 0;
        Some((apply_bits(Op::Abs, dtype, dtype, [bits, 0, 0]), negative))
    }

    fn quotient(&mut self, division: &Inst, a: Reg) -> Reg {
        let divisor = division.arg(1);
        let bits = known(self.kernel, self.mode, divisor);
        let key = (a, bits.map_or(Divisor::Computed(divisor), Divisor::Known));
        if let Some(&known) = self.quotients.get(&key) {
            return known;
        }
        let dtype = division.dtype;
        let quotient = match self.known(division) {
            Some((0, _)) => self.and(dtype, a, 0),
            Some((d, negative)) if dtype.is_signed() => self.signed_quotient(dtype, a, d, negative),
            Some((d, _)) => self.unsigned_quotient(dtype, a, d),
            None if dtype.is_signed() => {
                let d = self.values[division.arg(1).index()];
                let magnitude = self.magnitude(dtype, a);
                let quotient = self.by_reciprocal(dtype.unsigned(), magnitude, division);
                let quotient = self.code.op(Op::Reinterpret, dtype, &[quotient]);
                let signs = self.code.op(Op::Xor, dtype, &[a, d]);
                let sign = self.shift(dtype, signs, dtype.bits() - 1);
                let flipped = self.code.op(Op::Xor, dtype, &[quotient, sign]);
                self.code.op(Op::Sub, dtype, &[flipped, sign])
            }
            None => self.by_reciprocal(dtype, a, division),
        };
        self.quotients.insert(key, quotient);
        quotient
    }

    fn remainder(&mut self, division: &Inst, a: Reg) -> Reg {
        let dtype = division.dtype;
        let known = self.known(division);
        match known {
            Some((0, _)) => return self.and(dtype, a, 0),
            Some((d, _)) if d.is_power_of_two() && dtype.is_signed() => {
                let biased = self.biased(dtype, a, d);
                let multiple = self.and(dtype, biased, !(d - 1));
                return self.code.op(Op::Sub, dtype, &[a, multiple]);
            }
            Some((d, _)) if d.is_power_of_two() => return self.and(dtype, a, d - 1),
            Some(_) | None => {}
        }
        let quotient = self.quotient(division, a);
        let d = self.values[division.arg(1).index()];
        let product = self.code.op(Op::Mul, dtype, &[quotient, d]);
        let remainder = self.code.op(Op::Sub, dtype, &[a, product]);
        if known.is_some() {
            return remainder;
        }
        let nonzero = self.reciprocal(division).nonzero;
        let nonzero = self.code.op(Op::Reinterpret, dtype, &[nonzero]);
        self.code.op(Op::And, dtype, &[remainder, nonzero])
    }

    fn unsigned_quotient(&mut self, dtype: DType, a: Reg, d: u64) -> Reg {
        if d.is_power_of_two() {
            return self.shift(dtype, a, d.trailing_zeros());
        }
        let (factor, shift) = factor(d, dtype.bits(), dtype.bits());
        let low = self.number(dtype, factor);
        let high = self.code.op(Op::MulHi, dtype, &[a, low]);
        if factor >> dtype.bits() == 0 {
            return self.shift(dtype, high, shift);
        }
        // The sum of both may have a bit more than the type.
        let rest = self.code.op(Op::Sub, dtype, &[a, high]);
        let half = self.shift(dtype, rest, 1);
        let sum = self.code.op(Op::Add, dtype, &[half, high]);
        self.shift(dtype, sum, shift - 1)
    }

    fn signed_quotient(&mut self, dtype: DType, a: Reg, d: u64, negative: bool) -> Reg {
        let quotient = if d.is_power_of_two() {
            let biased = self.biased(dtype, a, d);
            self.shift(dtype, biased, d.trailing_zeros())
        } else {
            let (factor, shift) = factor(d, dtype.bits(), dtype.bits() - 1);
            let low = self.number(dtype, factor);
            let mut high = self.code.op(Op::MulHi, dtype, &[a, low]);
            if factor >> (dtype.bits() - 1) != 0 {
                high = self.code.op(Op::Add, dtype, &[high, a]);
            }
            let down = self.shift(dtype, high, shift);
            let sign = self.shift(dtype, a, dtype.bits() - 1);
            self.code.op(Op::Sub, dtype, &[down, sign])
        };
        if negative { self.code.op(Op::Neg, dtype, &[quotient]) } else { quotient }
    }

    /// `a`, plus `d - 1` where it is negative: shifts of it round towards zero.
    fn biased(&mut self, dtype: DType, a: Reg, d: u64) -> Reg {
        let sign = self.shift(dtype, a, dtype.bits() - 1);
        let bias = self.and(dtype, sign, d - 1);
        self.code.op(Op::Add, dtype, &[a, bias])
    }

    /// The quotient of unsigned numbers; 0 for a divisor of 0.
    fn by_reciprocal(&mut self, dtype: DType, a: Reg, division: &Inst) -> Reg {
        let Reciprocal { factor, shifts, .. } = self.reciprocal(division);
        let high = self.code.op(Op::MulHi, dtype, &[a, factor]);
        let rest = self.code.op(Op::Sub, dtype, &[a, high]);
        let half = self.code.op(Op::Shr, dtype, &[rest, shifts[0]]);
        let sum = self.code.op(Op::Add, dtype, &[half, high]);
        self.code.op(Op::Shr, dtype, &[sum, shifts[1]])
    }

    /// What lanes need of the divisor's magnitude, computed before they run.
    fn reciprocal(&mut self, division: &Inst) -> Reciprocal {
        if let Some(&known) = self.reciprocals.get(&division.arg(1)) {
            return known;
        }
        let section = std::mem::replace(&mut self.code.section, Section::Uniform);
        let word = division.dtype.unsigned();
        let d = self.values[division.arg(1).index()];
        let d = if division.dtype.is_signed() { self.magnitude(division.dtype, d) } else { d };
        let [zero, one] = [0, 1].map(|number| self.code.constant(word, number));
        let width = self.code.constant(word, u64::from(word.bits()));
        let less = self.code.op(Op::Sub, word, &[d, one]);
        let zeros = self.code.op(Op::Lzcnt, word, &[less]);
        let log = self.code.op(Op::Sub, word, &[width, zeros]);
        let factor =
            if word == DType::U64 { self.factor64(d, less) } else { self.factor32(d, log) };
        let first = self.code.op(Op::Min, word, &[log, one]);
        let last = self.code.op(Op::Sub, word, &[log, first]);
        let is_zero = self.code.op(Op::Eq, DType::Mask, &[d, zero]);
        let ones = self.number(word, u128::MAX);
        let nonzero = self.code.op(Op::Select, word, &[is_zero, zero, ones]);
        let reciprocal = Reciprocal { factor, shifts: [first, last], nonzero };
        self.reciprocals.insert(division.arg(1), reciprocal);
        self.code.section = section;
        reciprocal
    }

    /// The low bits of the factor, `2^32 (2^l - d) / d + 1`; 1 for 0.
    fn factor32(&mut self, d: Reg, log: Reg) -> Reg {
        let long = DType::U64;
        let [d, log] = [d, log].map(|x| self.code.op(Op::Cast, long, &[x]));
        let one = self.code.constant(long, 1);
        let power = self.code.op(Op::Shl, long, &[one, log]);
        let excess = self.code.op(Op::Sub, long, &[power, d]);
        let excess = self.left(excess, 32);
        let quotient = self.code.op(Op::IDiv, long, &[excess, d]);
        let factor = self.code.op(Op::Add, long, &[quotient, one]);
        self.code.op(Op::Cast, DType::U32, &[factor])
    }

    /// The same of 64 bits: the reciprocal of the divisor shifted up to its highest bit, each step with about twice
    /// as many bits, all modulo 2^64.
    fn factor64(&mut self, divisor: Reg, less: Reg) -> Reg {
        let long = DType::U64;
        let op = |this: &mut Self, op, a, b| this.code.op(op, long, &[a, b]);
        let number = |this: &mut Self, bits| this.code.constant(long, bits);
        let one = number(self, 1);
        let zeros = self.code.op(Op::Lzcnt, long, &[divisor]);
        let d = op(self, Op::Shl, divisor, zeros);
        let d0 = op(self, Op::And, d, one);
        let d9 = self.shift(long, d, 55);
        let d40 = self.shift(long, d, 24);
        let d40 = op(self, Op::Add, d40, one);
        let half = self.shift(long, d, 1);
        let d63 = op(self, Op::Add, half, d0);
        let start = number(self, (1 << 19) - 3 * (1 << 8));
        let v0 = op(self, Op::IDiv, start, d9);
        // 2^11 v0 - 2^-40 v0^2 d40 - 1
        let square = op(self, Op::Mul, v0, v0);
        let product = op(self, Op::Mul, square, d40);
        let product = self.shift(long, product, 40);
        let up = self.left(v0, 11);
        let v1 = op(self, Op::Sub, up, product);
        let v1 = op(self, Op::Sub, v1, one);
        // 2^13 v1 + 2^-47 v1 (2^60 - v1 d40)
        let product = op(self, Op::Mul, v1, d40);
        let power = number(self, 1 << 60);
        let rest = op(self, Op::Sub, power, product);
        let product = op(self, Op::Mul, v1, rest);
        let product = self.shift(long, product, 47);
        let up = self.left(v1, 13);
        let v2 = op(self, Op::Add, up, product);
        // 2^31 v2 + 2^-65 v2 (2^96 - v2 d63 + (v2 / 2) d0)
        let product = op(self, Op::Mul, v2, d63);
        let half = self.shift(long, v2, 1);
        let odd = op(self, Op::Mul, half, d0);
        let error = op(self, Op::Sub, odd, product);
        let high = op(self, Op::MulHi, v2, error);
        let high = self.shift(long, high, 1);
        let up = self.left(v2, 31);
        let v3 = op(self, Op::Add, up, high);
        // v3 - 2^-64 (v3 + 2^64 + 1) d
        let low = op(self, Op::Mul, v3, d);
        let low = op(self, Op::Add, low, d);
        let carries = self.code.op(Op::Lt, DType::Mask, &[low, d]);
        let zero = number(self, 0);
        let carry = self.code.op(Op::Select, long, &[carries, one, zero]);
        let high = op(self, Op::MulHi, v3, d);
        let high = op(self, Op::Add, high, carry);
        let high = op(self, Op::Add, high, d);
        let v4 = op(self, Op::Sub, v3, high);
        let factor = op(self, Op::Add, v4, one);
        // Of powers of two, and of 0, the excess is none.
        let common = op(self, Op::And, divisor, less);
        let is_power = self.code.op(Op::Eq, DType::Mask, &[common, zero]);
        self.code.op(Op::Select, long, &[is_power, one, factor])
    }

    /// The absolute value as an unsigned number.
    fn magnitude(&mut self, dtype: DType, x: Reg) -> Reg {
        let magnitude = self.code.op(Op::Abs, dtype, &[x]);
        self.code.op(Op::Reinterpret, dtype.unsigned(), &[magnitude])
    }

    /// `x` shifted right.
    fn shift(&mut self, dtype: DType, x: Reg, by: u32) -> Reg {
        if by == 0 {
            return x;
        }
        let by = self.code.constant(dtype, u64::from(by));
        self.code.op(Op::Shr, dtype, &[x, by])
    }

    fn left(&mut self, x: Reg, by: u64) -> Reg {
        let by = self.code.constant(DType::U64, by);
        self.code.op(Op::Shl, DType::U64, &[x, by])
    }

    fn and(&mut self, dtype: DType, x: Reg, bits: u64) -> Reg {
        let bits = self.number(dtype, u128::from(bits));
        self.code.op(Op::And, dtype, &[x, bits])
    }

    /// The low bits of a number.
    #[expect(clippy::cast_possible_truncation, reason = "these bits are meant")]
    fn number(&mut self, dtype: DType, bits: u128) -> Reg {
        self.code.constant(dtype, bits as u64 & (u64::MAX >> (64 - dtype.bits())))
    }
}

/// The least factor of a divisor that is no power of two, for dividends below `2^precision`; and the shift to the
/// right after the upper half of the product.
fn factor(d: u64, bits: u32, precision: u32) -> (u128, u32) {
    let mut shift = 64 - (d - 1).leading_zeros();
    // Over 2^(bits + shift), which may have too many bits, there is this part above 2^bits.
    let excess = ((1 << shift) - u128::from(d)) << bits;
    let above = |excess: u128| (1 << bits) + excess / u128::from(d);
    let (mut low, mut high) = (above(excess), above(excess + (1 << (bits + shift - precision))));
    while low >> 1 < high >> 1 && shift > 0 {
        (low, high, shift) = (low >> 1, high >> 1, shift - 1);
    }
    (high, shift)
}

#[cfg(test)]
mod tests {
    use super::super::kernel::{BufferIndex, BufferParam, KernelHash};
    use super::*;

    /// Stores `a / d` and `a % d` of a loaded `a` and a literal `d`.
    fn kernel(dtype: DType, d: u64) -> Kernel {
        let inst = |code, args: [Option<u32>; 2]| Inst {
            code,
            dtype,
            args: [args[0].map(Reg), args[1].map(Reg), None],
            serial: 0,
        };
        let buffer = |written| BufferParam { dtype, written, length: None, anywhere: false };
        Kernel {
            insts: vec![
                inst(Code::Literal(0), [None; 2]),
                inst(Code::Load(BufferIndex(0)), [None; 2]),
                inst(Code::Op(Op::IDiv), [Some(1), Some(0)]),
                inst(Code::Op(Op::Rem), [Some(1), Some(0)]),
                inst(Code::Store(BufferIndex(1)), [Some(2), None]),
                inst(Code::Store(BufferIndex(2)), [Some(3), None]),
            ],
            n_uniform: 1,
            first_write: 4,
            buffers: vec![buffer(false), buffer(true), buffer(true)],
            literals: vec![(dtype, d)],
            accesses: Vec::new(),
            n_ops: 2,
            fast_math: false,
            variant: 0,
            hash: KernelHash(0),
        }
    }

    /// Divides each of `dividends` by `d` by the rewritten kernel.
    fn check(dtype: DType, mode: LiteralMode, d: u64, dividends: &[u64]) {
        let kernel = kernel(dtype, d);
        let rewritten = rewrite(Cow::Borrowed(&kernel), mode, Divisors::Shared);
        let lanes = &rewritten.insts[rewritten.n_uniform..];
        let divides = |inst: &Inst| matches!(inst.code, Code::Op(Op::IDiv | Op::Rem));
        assert!(!lanes.iter().any(divides), "{rewritten}");
        let mut values = Vec::new();
        let compute = |values: &mut Vec<u64>, inst: &Inst, a: u64| {
            let mut args = [0; 3];
            inst.args().zip(&mut args).for_each(|(arg, to)| *to = values[arg.index()]);
            let operand = inst.args().last().map_or(dtype, |arg| rewritten.dtype(arg));
            values.push(if let Code::Constant(bits) = inst.code {
                bits
            } else if let Code::Op(op) = inst.code {
                apply_bits(op, inst.dtype, operand, args)
            } else if matches!(inst.code, Code::Literal(_)) {
                d
            } else if matches!(inst.code, Code::Load(_)) {
                a
            } else {
                args[0]
            });
        };
        for inst in &rewritten.insts[..rewritten.n_uniform] {
            compute(&mut values, inst, 0);
        }
        for &a in dividends {
            values.truncate(rewritten.n_uniform);
            lanes.iter().for_each(|inst| compute(&mut values, inst, a));
            let want = [Op::IDiv, Op::Rem].map(|op| apply_bits(op, dtype, dtype, [a, d, 0]));
            assert_eq!(values[values.len() - 2..], want, "{a} by {d} ({dtype:?}, {mode:?})");
        }
    }

    /// Numbers around powers of two and their multiples, and random ones of every size.
    fn numbers(dtype: DType) -> Vec<u64> {
        let all = u64::MAX >> (64 - dtype.bits());
        let mut numbers = vec![0, 3, 5, 6, 7, 10, 11, 100, 641, 1000, 6_700_417];
        let mut state = 0x853c_49e6_748f_ea9b_u64;
        for i in 0..dtype.bits() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let power = 1_u64 << i;
            numbers.extend([power - 1, power, power + 1, power / 3, state >> (63 - i)]);
        }
        numbers.extend(numbers.clone().into_iter().map(u64::wrapping_neg));
        numbers.into_iter().map(|number| number & all).collect()
    }

    #[test]
    fn quotients_of_words_are_right() {
        for dtype in [DType::I32, DType::U32, DType::I64, DType::U64] {
            let numbers = numbers(dtype);
            for &d in &numbers {
                for mode in [LiteralMode::Embedded, LiteralMode::Parameter] {
                    check(dtype, mode, d, &numbers);
                }
            }
        }
    }

    /// As 32 bits, which is what becomes of them.
    #[test]
    fn all_quotients_of_bytes_are_right() {
        for dtype in [DType::I32, DType::U32] {
            let first = if dtype.is_signed() { -128_i64 } else { 0 };
            let numbers: Vec<u64> =
                (first..first + 256).map(|x| x.cast_unsigned() & 0xffff_ffff).collect();
            for &d in &numbers {
                for mode in [LiteralMode::Embedded, LiteralMode::Parameter] {
                    check(dtype, mode, d, &numbers);
                }
            }
        }
    }
}
