//! The meaning of every operation on one lane (semantics S7–S9, S11).
//!
//! This file decides: the interpreter runs these functions over blocks of lanes, constant folding
//! calls them, and every other backend is compared with them bit for bit. All functions are total:
//! no input panics or traps.

#![expect(clippy::unnested_or_patterns, reason = "a group of operations is a macro")]

use crate::dtype::{DType, Element};
use crate::half::F16;
use crate::ir::op::{Op, ReduceOp, Shape};

/// Operations by the types that they take, as patterns.
macro_rules! of_numbers {
    () => {
        Op::Neg
            | Op::Abs
            | Op::Add
            | Op::Sub
            | Op::Mul
            | Op::Min
            | Op::Max
            | Op::Minimum
            | Op::Maximum
            | Op::Fma
    };
}
macro_rules! of_bits {
    () => {
        Op::Not | Op::And | Op::Or | Op::Xor
    };
}
macro_rules! of_integers {
    () => {
        Op::Popcnt
            | Op::Lzcnt
            | Op::Tzcnt
            | Op::Brev
            | Op::IDiv
            | Op::Rem
            | Op::MulHi
            | Op::Shl
            | Op::Shr
    };
}
macro_rules! of_floats {
    () => {
        Op::Sqrt | Op::Floor | Op::Ceil | Op::Round | Op::Trunc | Op::Div | Op::BoundedDiv
    };
}
macro_rules! comparisons {
    () => {
        Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge
    };
}
/// Those between types.
macro_rules! conversions {
    () => {
        Op::Cast | Op::Reinterpret | Op::BitsAnyNan | Op::Select
    };
}

/// The verifier lets no kernel ask for it.
#[cold]
fn not_taken<T>(op: Op) -> T {
    unreachable!("internal error: {op:?} of {}", std::any::type_name::<T>())
}

/// A lane type with its arithmetic.
pub trait Lane: Element {
    /// The result of an operation whose operands and result all have this type. Operands beyond the operation's
    /// arity are ignored.
    ///
    /// # Panics
    /// If the operation does not take this type.
    fn apply(op: Op, a: Self, b: Self, c: Self) -> Self;
    /// The result of a comparison.
    fn compare(op: Op, a: Self, b: Self) -> bool;
    /// The value that leaves `op` unchanged when combined with any other.
    fn identity(op: ReduceOp) -> Self;
}

macro_rules! integer_lane {
    ($($t:ty, $unsigned:ty, $wide:ty;)*) => { $(
        impl Lane for $t {
            #[inline(always)]
            #[allow(
                clippy::cast_possible_truncation, clippy::cast_lossless, clippy::unnecessary_cast,
                clippy::cast_sign_loss, clippy::cast_possible_wrap, unused_comparisons,
                reason = "one body for signed and unsigned types, wrapping on purpose"
            )]
            fn apply(op: Op, a: Self, b: Self, c: Self) -> Self {
                match op {
                    Op::Neg => a.wrapping_neg(),
                    Op::Not => !a,
                    Op::Abs => if a < 0 { a.wrapping_neg() } else { a },
                    Op::Popcnt => a.count_ones() as Self,
                    Op::Lzcnt => a.leading_zeros() as Self,
                    Op::Tzcnt => a.trailing_zeros() as Self,
                    Op::Brev => a.reverse_bits(),
                    Op::Add => a.wrapping_add(b),
                    Op::Sub => a.wrapping_sub(b),
                    Op::Mul => a.wrapping_mul(b),
                    Op::IDiv => if b == 0 { 0 } else { a.wrapping_div(b) },
                    Op::Rem => if b == 0 { 0 } else { a.wrapping_rem(b) },
                    Op::MulHi => ((a as $wide * b as $wide) >> Self::BITS) as Self,
                    Op::Min | Op::Minimum => if b < a { b } else { a },
                    Op::Max | Op::Maximum => if b > a { b } else { a },
                    Op::And => a & b,
                    Op::Or => a | b,
                    Op::Xor => a ^ b,
                    Op::Shl => {
                        let shifted = a.wrapping_shl(b as u32);
                        if (b as $unsigned) < Self::BITS as $unsigned { shifted } else { 0 }
                    }
                    Op::Shr => {
                        let last = Self::BITS as $unsigned - 1;
                        let shifted = a.wrapping_shr(b as u32);
                        let sign = if a < 0 { !0 } else { 0 };
                        if b as $unsigned <= last { shifted } else { sign }
                    }
                    Op::Fma => a.wrapping_mul(b).wrapping_add(c),
                    of_floats!() | comparisons!() | conversions!() => not_taken(op),
                }
            }

            #[inline(always)]
            fn compare(op: Op, a: Self, b: Self) -> bool {
                compare(op, a, b)
            }

            fn identity(op: ReduceOp) -> Self {
                match op {
                    ReduceOp::Sum | ReduceOp::Count | ReduceOp::Any => 0,
                    ReduceOp::Prod | ReduceOp::All => 1,
                    ReduceOp::Min => Self::MAX,
                    ReduceOp::Max => Self::MIN,
                }
            }
        }
    )* };
}
integer_lane! {
    i8, u8, i16;
    u8, u8, u16;
    i16, u16, i32;
    u16, u16, u32;
    i32, u32, i64;
    u32, u32, u64;
    i64, u64, i128;
    u64, u64, u128;
}

macro_rules! float_lane {
    ($($t:ty;)*) => { $(
        impl Lane for $t {
            #[inline(always)]
            fn apply(op: Op, a: Self, b: Self, c: Self) -> Self {
                // Functions of their own: were `apply` to call itself, it could not be inlined.
                // Equal operands differ at most in the sign of a zero: the bits of -0 are those of
                // +0 and a sign, so or takes the smaller and and the larger. Where b is NaN, the comparison
                // is false: a.
                #[inline(always)]
                fn least(a: $t, b: $t) -> $t {
                    let equal = <$t>::from_bits(a.to_bits() | b.to_bits());
                    let less = if b < a { b } else { a };
                    let number = if a != a { b } else { less };
                    if a == b { equal } else { number }
                }
                #[inline(always)]
                fn greatest(a: $t, b: $t) -> $t {
                    let equal = <$t>::from_bits(a.to_bits() & b.to_bits());
                    let greater = if b > a { b } else { a };
                    let number = if a != a { b } else { greater };
                    if a == b { equal } else { number }
                }
                match op {
                    Op::Neg => -a,
                    Op::Abs => a.abs(),
                    Op::Sqrt => a.sqrt(),
                    Op::Floor => a.floor(),
                    Op::Ceil => a.ceil(),
                    Op::Round => a.round_ties_even(),
                    Op::Trunc => a.trunc(),
                    Op::Add => a + b,
                    Op::Sub => a - b,
                    Op::Mul => a * b,
                    Op::Div | Op::BoundedDiv => a / b,
                    Op::Min => least(a, b),
                    Op::Max => greatest(a, b),
                    // The sum is NaN if either is.
                    Op::Minimum => if a != a || b != b { a + b } else { least(a, b) },
                    Op::Maximum => if a != a || b != b { a + b } else { greatest(a, b) },
                    Op::Fma => a.mul_add(b, c),
                    of_bits!() | of_integers!() | comparisons!() | conversions!() => not_taken(op),
                }
            }

            #[inline(always)]
            fn compare(op: Op, a: Self, b: Self) -> bool {
                compare(op, a, b)
            }

            /// Minimum and maximum ignore a NaN, so NaN itself is their identity.
            fn identity(op: ReduceOp) -> Self {
                match op {
                    ReduceOp::Sum | ReduceOp::Count | ReduceOp::Any => -0.0,
                    ReduceOp::Prod | ReduceOp::All => 1.0,
                    ReduceOp::Min | ReduceOp::Max => Self::NAN,
                }
            }
        }
    )* };
}
float_lane! { f32; f64; }

/// Operations on f16 are those on f32, rounded once more: f32 has so many bits that the second rounding
/// gives what one would. Only the sum of `a * b + c` needs all of f64: there the product is exact, and
/// where the sum is not, what it loses lies too far below the last bit to matter.
impl Lane for F16 {
    #[inline(always)]
    fn apply(op: Op, a: Self, b: Self, c: Self) -> Self {
        let wide = |x: Self| f64::from(x.to_f32());
        if op == Op::Fma {
            return Self::from_f64(wide(a).mul_add(wide(b), wide(c)));
        }
        Self::from_f32(f32::apply(op, a.to_f32(), b.to_f32(), c.to_f32()))
    }

    #[inline(always)]
    fn compare(op: Op, a: Self, b: Self) -> bool {
        compare(op, a, b)
    }

    fn identity(op: ReduceOp) -> Self {
        Self::from_f32(f32::identity(op))
    }
}

impl Lane for bool {
    #[inline(always)]
    fn apply(op: Op, a: Self, b: Self, _: Self) -> Self {
        match op {
            Op::Not => !a,
            Op::And => a & b,
            Op::Or => a | b,
            Op::Xor => a ^ b,
            of_numbers!() | of_integers!() | of_floats!() | comparisons!() | conversions!() => {
                not_taken(op)
            }
        }
    }

    #[inline(always)]
    fn compare(op: Op, a: Self, b: Self) -> bool {
        compare(op, a, b)
    }

    fn identity(op: ReduceOp) -> Self {
        matches!(op, ReduceOp::All)
    }
}

#[inline(always)]
fn compare<T: PartialOrd>(op: Op, a: T, b: T) -> bool {
    match op {
        Op::Eq => a == b,
        Op::Ne => a != b,
        Op::Lt => a < b,
        Op::Le => a <= b,
        Op::Gt => a > b,
        Op::Ge => a >= b,
        of_numbers!() | of_bits!() | of_integers!() | of_floats!() | conversions!() => {
            not_taken(op)
        }
    }
}

/// Conversion between number types: Rust's `as` is exactly S9 (saturating, NaN to 0, nearest even).
pub trait CastFrom<S> {
    /// `source` as this type.
    fn cast_from(source: S) -> Self;
}

macro_rules! casts {
    ($($t:ty),*) => { $( casts!(@to $t: i8, u8, i16, u16, i32, u32, i64, u64, f32, f64); )* };
    (@to $t:ty: $($s:ty),*) => { $(
        impl CastFrom<$s> for $t {
            #[inline(always)]
            #[allow(
                clippy::cast_possible_truncation, clippy::cast_lossless, clippy::cast_precision_loss,
                clippy::cast_sign_loss, clippy::cast_possible_wrap, clippy::unnecessary_cast,
                reason = "the conversion is the meaning"
            )]
            fn cast_from(source: $s) -> Self { source as Self }
        }
    )* };
}
casts!(i8, u8, i16, u16, i32, u32, i64, u64, f32, f64);

macro_rules! half_casts {
    ($($t:ty),*) => { $(
        impl CastFrom<$t> for F16 {
            /// Where f64 rounds an integer, the result is infinite anyway.
            #[inline(always)]
            fn cast_from(source: $t) -> Self { Self::from_f64(CastFrom::cast_from(source)) }
        }
        impl CastFrom<F16> for $t {
            #[inline(always)]
            fn cast_from(source: F16) -> Self { CastFrom::cast_from(source.to_f32()) }
        }
    )* };
}
half_casts!(i8, u8, i16, u16, i32, u32, i64, u64, f32, f64);

impl CastFrom<Self> for F16 {
    #[inline(always)]
    fn cast_from(source: Self) -> Self {
        source
    }
}

/// The bits of a value with any NaN replaced by the quiet NaN: what reinterpretation and export see.
#[inline(always)]
pub fn visible_bits<T: Lane>(x: T) -> u64 {
    if T::DTYPE.is_float() && T::compare(Op::Ne, x, x) {
        quiet_nan(T::DTYPE)
    } else {
        x.to_bits64()
    }
}

/// The bit pattern of the quiet NaN of a float type; 0 for others, which have none.
pub const fn quiet_nan(dtype: DType) -> u64 {
    match dtype {
        DType::F64 => 0x7ff8_0000_0000_0000,
        DType::F32 => 0x7fc0_0000,
        DType::F16 => 0x7e00,
        DType::Mask
        | DType::I8
        | DType::U8
        | DType::I16
        | DType::U16
        | DType::I32
        | DType::U32
        | DType::I64
        | DType::U64 => 0,
    }
}

/// Calls `$body` with `$T` bound to the Rust type of the number type `$dtype`, or `$mask` for a mask.
macro_rules! with_lane {
    ($dtype:expr, $T:ident => $body:expr, mask => $mask:expr) => {
        with_lane!(@arms $dtype, $T => $body, $mask;
            I8 i8, U8 u8, I16 i16, U16 u16, I32 i32, U32 u32, I64 i64, U64 u64,
            F16 crate::half::F16, F32 f32, F64 f64;)
    };
    (@arms $dtype:expr, $T:ident => $body:expr, $mask:expr; $($name:ident $t:ty),*; $($rest:tt)*) => {
        match $dtype {
            DType::Mask => $mask,
            $(DType::$name => {
                type $T = $t;
                $body
            })*
            $($rest)*
        }
    };
}
pub(crate) use with_lane;

/// The same for types that are not narrow: kernels compute only with these (`ir/legal.rs`).
macro_rules! with_word {
    ($dtype:expr, $T:ident => $body:expr, mask => $mask:expr) => {
        with_lane!(@arms $dtype, $T => $body, $mask;
            I32 i32, U32 u32, I64 i64, U64 u64, F32 f32, F64 f64;
            narrow => unreachable!("internal error: arithmetic on {narrow} lanes"))
    };
}
pub(crate) use with_word;

/// The result of `op` on bit patterns: result type `dtype`, type of the last operand `operand`.
///
/// The one-lane form of the whole table, for folding and for tests.
pub fn apply_bits(op: Op, dtype: DType, operand: DType, [a, b, c]: [u64; 3]) -> u64 {
    fn same<T: Lane>(op: Op, [a, b, c]: [u64; 3]) -> u64 {
        T::apply(op, T::from_bits64(a), T::from_bits64(b), T::from_bits64(c)).to_bits64()
    }
    match op.info().shape {
        Shape::Select => {
            if a & 1 != 0 {
                b
            } else {
                c
            }
        }
        Shape::Same => {
            with_lane!(dtype, T => same::<T>(op, [a, b, c]), mask => same::<bool>(op, [a, b, c]))
        }
        Shape::Compare => u64::from(with_lane!(operand,
            T => T::compare(op, T::from_bits64(a), T::from_bits64(b)),
            mask => bool::compare(op, a & 1 != 0, b & 1 != 0))),
        Shape::Special if op == Op::BoundedDiv => apply_bits(Op::Div, dtype, operand, [a, b, c]),
        Shape::Special if matches!(op, Op::Reinterpret | Op::BitsAnyNan) => {
            with_lane!(operand, T => visible_bits(T::from_bits64(a)), mask => a)
        }
        Shape::Special => with_lane!(operand,
            S => with_lane!(dtype, T => T::cast_from(S::from_bits64(a)).to_bits64(), mask => a),
            mask => a),
    }
}

/// A narrow number in the 32-bit type that holds it; the bits of other types stay.
pub fn widened_bits(dtype: DType, bits: u64) -> u64 {
    if dtype.is_narrow() {
        apply_bits(Op::Cast, dtype.widened(), dtype, [bits, 0, 0])
    } else {
        bits
    }
}

/// The bit pattern of the identity of `op` on partial results of type `dtype`.
pub fn identity_bits(op: ReduceOp, dtype: DType) -> u64 {
    with_lane!(dtype, T => T::identity(op).to_bits64(), mask => bool::identity(op).to_bits64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Lane + PartialEq + std::fmt::Debug>(op: Op, a: T, b: T, want: T) {
        let got = T::apply(op, a, b, T::default());
        assert_eq!(visible_bits(got), visible_bits(want), "{op:?}({a:?}, {b:?}) = {got:?}");
    }

    #[test]
    fn integer_division_never_traps() {
        check(Op::IDiv, 7i32, 0, 0);
        check(Op::Rem, 7i32, 0, 0);
        check(Op::IDiv, i32::MIN, -1, i32::MIN);
        check(Op::Rem, i64::MIN, -1, 0);
        check(Op::IDiv, -7i32, 2, -3);
        check(Op::Rem, -7i32, 2, -1);
    }

    #[test]
    fn shifts_beyond_the_width() {
        check(Op::Shl, 1u32, 32, 0);
        check(Op::Shr, -5i32, 40, -1);
        check(Op::Shr, -5i64, -1, -1);
        check(Op::Shl, 1i64, -1, 0);
        check(Op::Shr, 0xdead_beef_u32.cast_signed(), 4, -34_939_922);
    }

    #[test]
    fn minimum_ignores_nan_and_orders_zeros() {
        check(Op::Min, f32::NAN, 1.0, 1.0);
        check(Op::Max, 1.0, f64::NAN, 1.0);
        check(Op::Min, 0.0f32, -0.0, -0.0);
        check(Op::Max, -0.0f32, 0.0, 0.0);
        check(Op::Min, f32::NAN, f32::NAN, f32::NAN);
    }

    #[test]
    fn conversions_saturate() {
        let cast = |to, from, bits| apply_bits(Op::Cast, to, from, [bits, 0, 0]);
        assert_eq!(cast(DType::I32, DType::F32, u64::from(1e10f32.to_bits())), 0x7fff_ffff);
        assert_eq!(cast(DType::U32, DType::F32, u64::from((-1f32).to_bits())), 0);
        assert_eq!(cast(DType::I64, DType::F64, f64::NAN.to_bits()), 0);
        assert_eq!(cast(DType::F32, DType::I32, 16_777_217), u64::from(16_777_216f32.to_bits()));
    }

    #[test]
    fn identities_change_nothing() {
        for op in [ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Min, ReduceOp::Max] {
            for x in [0.0f32, -0.0, 1.5, f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
                check(op.combine(), f32::identity(op), x, x);
            }
            for x in [0i32, -1, i32::MIN, i32::MAX] {
                check(op.combine(), i32::identity(op), x, x);
            }
        }
    }

    /// A finite f16 in units of 2^-48.
    #[expect(clippy::cast_possible_truncation, reason = "the number of units is an integer")]
    fn units(x: F16) -> i128 {
        (f64::from(x.to_f32()) * 2f64.powi(48)) as i128
    }

    #[test]
    fn half_operations_round_once() {
        let mut state = 1_u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Mostly near 1, where sums cancel and round.
            let bits = u16::try_from(state >> 48).unwrap_or(0);
            F16::from_bits(if state >> 46 & 3 == 0 { bits } else { bits & 0x8fff | 0x3000 })
        };
        let mut checked = 0;
        for _ in 0..200_000 {
            let (a, b, c) = (draw(), draw(), draw());
            let got = F16::apply(Op::Fma, a, b, c);
            let inputs = [a, b, c, got].map(F16::to_f32);
            if inputs.iter().any(|x| !x.is_finite()) || got.to_bits() & 0x7fff == 0x7bff {
                continue;
            }
            let exact = ((units(a) * units(b)) >> 48) + units(c);
            let distance = |bits: u16| (units(F16::from_bits(bits)) - exact).abs();
            let bits = got.to_bits();
            for other in [bits.wrapping_sub(1), bits.wrapping_add(1)] {
                let closer = distance(other).cmp(&distance(bits));
                let tie_to_odd = closer.is_eq() && bits & 1 == 1 && other & 0x8000 == bits & 0x8000;
                let outside = bits & 0x7fff == 0 || closer.is_gt();
                assert!(outside || closer.is_eq() && !tie_to_odd, "fma({a:?}, {b:?}, {c:?})");
            }
            checked += 1;
        }
        assert!(checked > 100_000);
        let third = F16::apply(Op::Div, F16::from_f32(1.0), F16::from_f32(3.0), F16::default());
        assert_eq!(third.to_bits(), 0x3555);
    }
}
