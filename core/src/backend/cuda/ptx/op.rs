//! Elementwise operations in PTX, bit for bit as `ir/scalar.rs` has them.
//!
//! Facts of the PTX ISA that the arms rely on:
//! * without `.ftz` subnormals are kept; with an explicit `.rn` an addition and a multiplication are
//!   never contracted into an fma;
//! * `min` and `max` of floats return the other operand for a NaN and take -0 as below +0;
//! * `cvt.rmi/rpi/rni/rzi` between equal float types round to an integral value, halves to even for
//!   `rni`; NaN stays NaN and zeros keep their sign, as do results that round to zero;
//! * `neg` and `abs` of floats keep a NaN a NaN; `neg` of integers wraps, so MIN gives MIN;
//! * `max(max(a, -b), c)` of 32 bits loses its minus where all have one signedness (`ptxas` 13.0 for `sm_90`; `min` too),
//!   and a difference from 0 and a product by -1 are such negatives: they have the other one here;
//! * `abs` of integers does too, but `ptxas` 13.0 takes it to be never negative: `abs(MIN) % 511` loses its sign;
//! * `popc`, `clz` of 64 bits give a 32-bit count, and `clz` of 0 is the width;
//! * integer division by zero, and of MIN by -1, is unspecified, but does not trap;
//! * comparisons of floats are ordered, except the `u` forms (`neu`).
#![deny(clippy::wildcard_enum_match_arm)]

use std::fmt;

use super::writer::{Class, Name, Writer, ptx, untyped};
use crate::dtype::DType;
use crate::ir::display::ptx_literal;
use crate::ir::op::Op;
use crate::ir::scalar::quiet_nan;

/// The types around an operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Types {
    /// Of the result.
    pub(super) result: DType,
    /// Of the last operand.
    pub(super) operand: DType,
}

impl Types {
    /// Operands and result of one type.
    pub(super) const fn same(dtype: DType) -> Self {
        Self { result: dtype, operand: dtype }
    }
}

/// An instruction of a row with types in the places of [`crate::ir::op::OpInfo::ptx`].
struct Mnemonic {
    template: &'static str,
    types: Types,
}

impl fmt::Display for Mnemonic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Types { result, operand } = self.types;
        let mut pieces = self.template.split('$');
        f.write_str(pieces.next().unwrap_or_default())?;
        pieces.try_for_each(|piece| {
            let (place, rest) = piece.split_at(2);
            f.write_str(match place {
                "t1" => result.ptx(),
                "b1" => untyped(result),
                "t2" => operand.ptx(),
                _ => unreachable!("internal error: ${place} in an instruction"),
            })?;
            f.write_str(rest)
        })
    }
}

impl Writer {
    /// `d = op(a, b, c)`; operands beyond the arity are not looked at.
    pub(super) fn op(&mut self, op: Op, types: Types, d: Name, [a, b, c]: [Name; 3]) {
        let Types { result: dtype, operand } = types;
        match op {
            Op::Neg if dtype.is_int() => self.negative(dtype, d, a),
            Op::Sub if dtype.is_int() => ptx!(self, "sub.{} {d}, {a}, {b}", other_sign(dtype)),
            Op::Abs if dtype.is_float() => self.magnitude(dtype, d, a),
            Op::Abs if !dtype.is_signed() => ptx!(self, "mov.{} {d}, {a}", untyped(dtype)),
            Op::Abs => self.absolute(dtype, d, a),
            Op::Popcnt => self.count("popc", dtype, d, a),
            Op::Lzcnt => self.count("clz", dtype, d, a),
            Op::Tzcnt => self.trailing_zeros(dtype, d, a),
            Op::Cast => self.cast(operand, dtype, d, a),
            Op::Reinterpret => self.reinterpret(operand, dtype, d, a),
            Op::BoundedDiv if dtype == DType::F32 => self.bounded_quotient(d, a, b),
            Op::IDiv => self.quotient(dtype, d, a, b),
            Op::Rem => self.remainder(dtype, d, a, b),
            Op::Minimum => self.propagating("min", dtype, d, a, b),
            Op::Maximum => self.propagating("max", dtype, d, a, b),
            Op::Shl => self.shift("shl", untyped(dtype), dtype, d, a, b),
            Op::Shr => self.shift("shr", dtype.ptx(), dtype, d, a, b),
            Op::Select if dtype == DType::Mask => self.select_mask(d, a, b, c),
            Op::Select => ptx!(self, "selp.{} {d}, {b}, {c}, {a}", dtype.ptx()),
            Op::Neg
            | Op::Not
            | Op::Sqrt
            | Op::Floor
            | Op::Ceil
            | Op::Round
            | Op::Trunc
            | Op::Brev
            | Op::BitsAnyNan
            | Op::Add
            | Op::Sub
            | Op::Mul
            | Op::MulHi
            | Op::Div
            | Op::BoundedDiv
            | Op::Min
            | Op::Max
            | Op::And
            | Op::Or
            | Op::Xor
            | Op::Eq
            | Op::Ne
            | Op::Lt
            | Op::Le
            | Op::Gt
            | Op::Ge
            | Op::Fma => self.instruction(op, types, d, &[a, b, c][..op.arity()]),
        }
    }

    /// `d = op(args)` as the operation's row has it.
    fn instruction(&mut self, op: Op, types: Types, d: Name, args: &[Name]) {
        let name = Mnemonic { template: op.ptx(types.result, types.operand), types };
        match *args {
            [a] => ptx!(self, "{name} {d}, {a}"),
            [a, b] => ptx!(self, "{name} {d}, {a}, {b}"),
            [a, b, c] => ptx!(self, "{name} {d}, {a}, {b}, {c}"),
            _ => unreachable!("internal error: {op:?} of {} operands", args.len()),
        }
    }

    /// `d = op(a, b, c)` in f32, subnormals taken and given as 0, quotients and roots to 2 ulp; whether there is
    /// such an instruction. Sums and products stay apart, since double arithmetic in two f32 needs both.
    pub(super) fn fast_op(&mut self, op: Op, types: Types, d: Name, args: [Name; 3]) -> bool {
        const FAST: [(Op, &str, usize); 7] = [
            (Op::Add, "add.rn.ftz", 2),
            (Op::Sub, "sub.rn.ftz", 2),
            (Op::Mul, "mul.rn.ftz", 2),
            (Op::Fma, "fma.rn.ftz", 3),
            // All divisors: `div.approx` gives 0 for the largest.
            (Op::Div, "div.full.ftz", 2),
            (Op::BoundedDiv, "div.full.ftz", 2),
            (Op::Sqrt, "sqrt.approx.ftz", 1),
        ];
        let Some((_, name, n)) = FAST.into_iter().find(|(fast, ..)| *fast == op) else {
            return false;
        };
        let is_single = types.result == DType::F32 && types.operand == DType::F32;
        if is_single {
            let args = args.map(|arg| arg.to_string())[..n].join(", ");
            ptx!(self, "{name}.f32 {d}, {args}");
        }
        is_single
    }

    /// `popc` or `clz`, whose result has 32 bits whatever the operand.
    fn count(&mut self, name: &str, dtype: DType, d: Name, a: Name) {
        let bits = untyped(dtype);
        if dtype.bits() == 32 {
            return ptx!(self, "{name}.{bits} {d}, {a}");
        }
        let count = self.temporary(Class::B32);
        ptx!(self, "{name}.{bits} {count}, {a}");
        ptx!(self, "cvt.u64.u32 {d}, {count}");
    }

    fn trailing_zeros(&mut self, dtype: DType, d: Name, a: Name) {
        let reversed = self.temporary_of(dtype);
        ptx!(self, "brev.{} {reversed}, {a}", untyped(dtype));
        self.count("clz", dtype, d, reversed);
    }

    /// Without the sign bit. `abs` would do the same, but `ptxas` (13.0) takes `abs(x) > -1` for true, which a
    /// NaN makes false.
    fn magnitude(&mut self, dtype: DType, d: Name, a: Name) {
        let bits = dtype.widened().unsigned();
        let raw = self.temporary_of(bits);
        let t = untyped(bits);
        ptx!(self, "mov.{t} {raw}, {a}");
        ptx!(self, "and.{t} {raw}, {raw}, {:#x}", u64::MAX >> (65 - bits.bits()));
        ptx!(self, "mov.{t} {d}, {raw}");
    }

    /// Shift counts are u32 in PTX, and one above the width acts as the width: 0, or the sign.
    /// A count of the value's own type is taken as unsigned, so a negative one is above the width too.
    /// A number above 64 is one that `ptxas` (13.0) takes modulo 64, so that is chosen here.
    fn shift(&mut self, name: &str, suffix: &str, dtype: DType, d: Name, a: Name, b: Name) {
        if dtype.bits() == 32 {
            return ptx!(self, "{name}.{suffix} {d}, {a}, {b}");
        }
        let (wide, count) = (self.temporary(Class::B64), self.temporary(Class::B32));
        ptx!(self, "min.u64 {wide}, {b}, 63");
        ptx!(self, "cvt.u32.u64 {count}, {wide}");
        if suffix.starts_with('s') {
            return ptx!(self, "{name}.{suffix} {d}, {a}, {count}");
        }
        let (shifted, within) = (self.temporary(Class::B64), self.temporary(Class::Pred));
        ptx!(self, "{name}.{suffix} {shifted}, {a}, {count}");
        ptx!(self, "setp.lt.u64 {within}, {b}, 64");
        ptx!(self, "selp.b64 {d}, {shifted}, 0, {within}");
    }

    /// The unspecified quotients (by zero, and by -1 of signed types) are computed and dropped.
    fn quotient(&mut self, dtype: DType, d: Name, a: Name, b: Name) {
        let t = dtype.ptx();
        let (mut quotient, by_zero) = (self.temporary_of(dtype), self.temporary(Class::Pred));
        ptx!(self, "div.{t} {quotient}, {a}, {b}");
        if dtype.is_signed() {
            let (by_minus_one, negated) = (self.temporary(Class::Pred), self.temporary_of(dtype));
            let guarded = self.temporary_of(dtype);
            ptx!(self, "setp.eq.{t} {by_minus_one}, {b}, -1");
            self.negative(dtype, negated, a);
            ptx!(self, "selp.{t} {guarded}, {negated}, {quotient}, {by_minus_one}");
            quotient = guarded;
        }
        ptx!(self, "setp.eq.{t} {by_zero}, {b}, 0");
        ptx!(self, "selp.{t} {d}, 0, {quotient}, {by_zero}");
    }

    /// The correctly rounded quotient, after P. Markstein 1990: the reciprocal and the quotient are corrected by what
    /// an fma says is missing. `div.rn` does the same, and looks for numbers for which that overflows.
    fn bounded_quotient(&mut self, d: Name, a: Name, b: Name) {
        const ONE: &str = "0f3f800000";
        let [inverse, minus_b, rest, quotient] = [(); 4].map(|()| self.temporary_of(DType::F32));
        ptx!(self, "rcp.approx.ftz.f32 {inverse}, {b}");
        ptx!(self, "neg.f32 {minus_b}, {b}");
        ptx!(self, "fma.rn.f32 {rest}, {minus_b}, {inverse}, {ONE}");
        ptx!(self, "fma.rn.f32 {inverse}, {inverse}, {rest}, {inverse}");
        ptx!(self, "mul.rn.f32 {quotient}, {a}, {inverse}");
        for result in [quotient, d] {
            ptx!(self, "fma.rn.f32 {rest}, {minus_b}, {quotient}, {a}");
            ptx!(self, "fma.rn.f32 {result}, {rest}, {inverse}, {quotient}");
        }
    }

    /// Of an integer.
    fn negative(&mut self, dtype: DType, d: Name, a: Name) {
        ptx!(self, "sub.{} {d}, 0, {a}", other_sign(dtype));
    }

    /// The larger of a signed integer and its negative: of MIN, MIN.
    fn absolute(&mut self, dtype: DType, d: Name, a: Name) {
        let (t, negative) = (dtype.ptx(), self.temporary_of(dtype));
        self.negative(dtype, negative, a);
        ptx!(self, "max.{t} {d}, {a}, {negative}");
    }

    /// By zero the remainder is 0 by decree, by -1 it is always 0.
    fn remainder(&mut self, dtype: DType, d: Name, a: Name, b: Name) {
        let t = dtype.ptx();
        let (remainder, zero) = (self.temporary_of(dtype), self.temporary(Class::Pred));
        ptx!(self, "rem.{t} {remainder}, {a}, {b}");
        ptx!(self, "setp.eq.{t} {zero}, {b}, 0");
        if dtype.is_signed() {
            ptx!(self, "setp.eq.or.{t} {zero}, {b}, -1, {zero}");
        }
        ptx!(self, "selp.{t} {d}, 0, {remainder}, {zero}");
    }

    fn cast(&mut self, from: DType, to: DType, d: Name, a: Name) {
        let (s, t) = (from.ptx(), to.ptx());
        if from.is_narrow() || to.is_narrow() {
            return self.narrow_cast(from, to, d, a);
        }
        if from.is_float() && to.is_int() {
            return self.float_to_int(from, to, d, a);
        }
        if from == to || (from.is_int() && to.is_int() && from.bits() == to.bits()) {
            return ptx!(self, "mov.{} {d}, {a}", untyped(to));
        }
        if from.is_int() && to.is_int() {
            // The source decides between sign and zero extension; narrowing drops the upper half.
            let extended = if from.is_signed() { signed(to) } else { to.unsigned().ptx() };
            return ptx!(self, "cvt.{extended}.{s} {d}, {a}");
        }
        // Only f32 to f64 is exact; PTX wants a rounding mode for all others and none there.
        let rn = if from == DType::F32 { "" } else { ".rn" };
        ptx!(self, "cvt{rn}.{t}.{s} {d}, {a}");
    }

    /// Between a narrow type and its widened one. In registers a narrow integer is extended, and an f16 is
    /// the f32 of the same number, so only narrowing does something.
    fn narrow_cast(&mut self, from: DType, to: DType, d: Name, a: Name) {
        if from.is_narrow() {
            ptx!(self, "mov.b32 {d}, {a}");
        } else if to.is_half() {
            let half = self.temporary(Class::B16);
            ptx!(self, "cvt.rn.{}.f32 {half}, {a}", to.ptx());
            ptx!(self, "cvt.f32.{} {d}, {half}", to.ptx());
        } else {
            ptx!(self, "cvt.{}.{} {d}, {a}", to.widened().ptx(), to.ptx());
        }
    }

    /// Between a half and u16.
    fn narrow_reinterpret(&mut self, [from, to]: [DType; 2], d: Name, a: Name) {
        let half = self.temporary(Class::B16);
        if !from.is_half() {
            // By way of the upper half of a word: ptxas (13.0 and 13.5, from sm_80 on) takes the bits of a mask, 0 or 1, for
            // the numbers 0 and 1 where they are converted as they are.
            let (word, low) = (self.temporary(Class::B32), self.temporary(Class::B16));
            ptx!(self, "shl.b32 {word}, {a}, 16");
            ptx!(self, "mov.b32 {{{low}, {half}}}, {word}");
            return ptx!(self, "cvt.f32.{} {d}, {half}", to.ptx());
        }
        let (number, raw) = (self.temporary(Class::Pred), self.temporary(Class::B32));
        ptx!(self, "setp.num.f32 {number}, {a}, {a}");
        ptx!(self, "cvt.rn.{}.f32 {half}, {a}", from.ptx());
        ptx!(self, "cvt.u32.u16 {raw}, {half}");
        ptx!(self, "selp.b32 {d}, {raw}, {:#x}, {number}", quiet_nan(from));
    }

    /// Conversions to integers saturate without `.sat`. A NaN gives 0 only from f32 to 32 bits;
    /// otherwise it gives the upper bit alone, so 0 is selected.
    fn float_to_int(&mut self, from: DType, to: DType, d: Name, a: Name) {
        let (s, t) = (from.ptx(), to.ptx());
        if from == DType::F32 && to.bits() == 32 {
            return ptx!(self, "cvt.rzi.{t}.{s} {d}, {a}");
        }
        let (number, converted) = (self.temporary(Class::Pred), self.temporary_of(to));
        ptx!(self, "setp.num.{s} {number}, {a}, {a}");
        ptx!(self, "cvt.rzi.{t}.{s} {converted}, {a}");
        ptx!(self, "selp.{t} {d}, {converted}, 0, {number}");
    }

    /// The bits of a NaN are outside the promise of S9, so they show as the quiet NaN's.
    fn reinterpret(&mut self, from: DType, to: DType, d: Name, a: Name) {
        let bits = untyped(to);
        if from.is_narrow() {
            return self.narrow_reinterpret([from, to], d, a);
        }
        if !from.is_float() {
            return ptx!(self, "mov.{bits} {d}, {a}");
        }
        let number = self.temporary(Class::Pred);
        ptx!(self, "setp.num.{} {number}, {a}, {a}", from.ptx());
        if to.is_float() {
            let nan = ptx_literal(to, quiet_nan(to));
            return ptx!(self, "selp.{} {d}, {a}, {nan}, {number}", to.ptx());
        }
        let raw = self.temporary_of(to);
        ptx!(self, "mov.{bits} {raw}, {a}");
        ptx!(self, "selp.{bits} {d}, {raw}, {:#x}, {number}", quiet_nan(from));
    }

    /// `min` or `max` that is NaN if either operand is; `.NaN` needs sm_80 and knows no f64.
    fn propagating(&mut self, name: &str, dtype: DType, d: Name, a: Name, b: Name) {
        let t = dtype.ptx();
        if !dtype.is_float() {
            return ptx!(self, "{name}.{t} {d}, {a}, {b}");
        }
        if self.is_since_80() && dtype == DType::F32 {
            return ptx!(self, "{name}.NaN.{t} {d}, {a}, {b}");
        }
        let (nan, sum) = (self.temporary(Class::Pred), self.temporary_of(dtype));
        ptx!(self, "setp.nan.{t} {nan}, {a}, {b}");
        ptx!(self, "add.rn.{t} {sum}, {a}, {b}");
        ptx!(self, "{name}.{t} {d}, {a}, {b}");
        ptx!(self, "selp.{t} {d}, {sum}, {d}, {nan}");
    }

    /// There is no `selp.pred`.
    fn select_mask(&mut self, d: Name, mask: Name, yes: Name, no: Name) {
        let (left, right) = (self.temporary(Class::Pred), self.temporary(Class::Pred));
        ptx!(self, "and.pred {left}, {mask}, {yes}");
        ptx!(self, "not.pred {right}, {mask}");
        ptx!(self, "and.pred {right}, {right}, {no}");
        ptx!(self, "or.pred {d}, {left}, {right}");
    }
}

/// The signed integers of as many bits.
const fn signed(dtype: DType) -> &'static str {
    if dtype.bytes() == 8 { DType::I64.ptx() } else { DType::I32.ptx() }
}

/// The integers of as many bits that have a sign where these have none; what wraps has the same bits in both.
const fn other_sign(dtype: DType) -> &'static str {
    if dtype.is_signed() { dtype.widened().unsigned().ptx() } else { signed(dtype) }
}
