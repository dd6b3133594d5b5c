//! Functions of plain numbers: the recipes of arrays, computed at once and with twice the digits: the results are within one
//! ulp (`cbrt`, `tanh`: 1.1) where the recipe is exact to that, and depend on no system's library.

use std::cell::RefCell;

use super::expr::{Expr, Record};
use super::math;
use crate::convert::exactly;
use crate::dtype::DType;
use crate::ir::op::{Op, Shape};
use crate::ir::scalar::apply_bits;
use crate::ir::var::VarId;

/// A number of a recipe.
#[derive(Clone, Copy, Default)]
struct Number {
    bits: u64,
    /// A float, and what is missing to it: less than half of its last place. Bits that were taken from a float keep it.
    float: (f64, f64),
}

/// What was computed so far.
struct Numbers(RefCell<Vec<(DType, Number)>>);

impl Numbers {
    fn get(&self, id: VarId) -> (DType, u64) {
        let (dtype, number) = self.0.borrow()[id.index()];
        (dtype, number.bits)
    }

    fn add(&self, dtype: DType, bits: u64) -> VarId {
        self.add_number(dtype, Number { bits, float: (f64::from_bits(bits), 0.0) })
    }

    fn add_number(&self, dtype: DType, number: Number) -> VarId {
        let mut numbers = self.0.borrow_mut();
        numbers.push((dtype, number));
        VarId::new(exactly(numbers.len() - 1))
    }
}

impl Number {
    /// What an operation makes of floats, whose plain result is `plain`: T. J. Dekker's arithmetic, where nothing
    /// overflows and no rest is too small.
    fn of(op: Op, plain: f64, of: &[Self; 3]) -> Self {
        let [a, b, c] = of.map(|number| number.float);
        let (high, rest) = match op {
            Op::Add => sum(a, b),
            Op::Sub => sum(a, (-b.0, -b.1)),
            Op::Mul => product(a, b),
            Op::Fma => sum(product(a, b), c),
            Op::Div => {
                let high = a.0 / b.0;
                ordered_sum(high, ((-high).mul_add(b.0, a.0) + a.1 - high * b.1) / b.0)
            }
            Op::Sqrt => {
                let high = a.0.sqrt();
                ordered_sum(high, ((-high).mul_add(high, a.0) + a.1) / (high + high))
            }
            _ => return Self::choice(plain.to_bits(), of),
        };
        let float = match high.abs() {
            SMALL..LARGE if !rest.is_nan() => (high, rest),
            // All that was there was taken away.
            ..SMALL if plain.abs() >= SMALL => (high, 0.0),
            _ => (plain, 0.0),
        };
        Self { bits: float.0.to_bits(), float }
    }

    /// A float that is one of others but for its sign and exponent, as operations on bits make it, or a new one.
    fn choice(bits: u64, of: &[Self; 3]) -> Self {
        let float = f64::from_bits(bits);
        let rest = |of: &Self| {
            let (high, rest) = of.float;
            let is_same = (high.to_bits() ^ bits) << 12 == 0;
            Some(rest * (float / high)).filter(|rest| is_same && rest.is_finite() && *rest != 0.0)
        };
        Self { bits, float: (float, of.iter().find_map(rest).unwrap_or(0.0)) }
    }
}

/// Rests of smaller numbers are not exact.
const SMALL: f64 = 1e-270;
/// Recipes round by adding so much.
const LARGE: f64 = (1_u64 << 51) as f64;

/// A sum as a float and its rest, where the first number is larger.
fn ordered_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    (sum, b - (sum - a))
}

fn sum(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    let exact = |a: f64, b: f64| {
        let sum = a + b;
        let of_b = sum - a;
        (sum, (a - (sum - of_b)) + (b - of_b))
    };
    let ((high, low), (rest, last)) = (exact(a.0, b.0), exact(a.1, b.1));
    let (high, low) = ordered_sum(high, low + rest);
    ordered_sum(high, low + last)
}

fn product(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    let high = a.0 * b.0;
    ordered_sum(high, a.0.mul_add(b.0, -high) + (a.0 * b.1 + a.1 * b.0))
}

impl Record for Numbers {
    fn dtype(&self, id: VarId) -> DType {
        self.get(id).0
    }

    fn constant(&self, dtype: DType, bits: u64) -> VarId {
        self.add(dtype, bits)
    }

    fn rounded_constant(&self, dtype: DType, bits: u64, rest: f64) -> VarId {
        self.add_number(dtype, Number { bits, float: (f64::from_bits(bits), rest) })
    }

    fn op(&self, op: Op, args: &[VarId]) -> VarId {
        let mut numbers = [Number::default(); 3];
        let mut operand = DType::Mask;
        for (to, &arg) in numbers.iter_mut().zip(args) {
            (operand, *to) = self.0.borrow()[arg.index()];
        }
        let dtype = match op {
            _ if op.info().shape == Shape::Compare => DType::Mask,
            Op::BitsAnyNan => operand.unsigned(),
            _ => operand,
        };
        let bits = apply_bits(op, dtype, operand, numbers.map(|number| number.bits));
        match dtype {
            DType::F64 => self.add_number(dtype, Number::of(op, f64::from_bits(bits), &numbers)),
            DType::I64 | DType::U64 => self.add_number(dtype, Number::choice(bits, &numbers)),
            _ => self.add(dtype, bits),
        }
    }

    fn cast(&self, id: VarId, dtype: DType) -> VarId {
        let (from, bits) = self.get(id);
        if from == dtype {
            return id;
        }
        if from == DType::Mask && dtype != DType::Mask {
            // As 1 and 0.
            return self.add(dtype, apply_bits(Op::Cast, dtype, DType::U8, [bits, 0, 0]));
        }
        let truth = || apply_bits(Op::Ne, DType::Mask, from, [bits, 0, 0]);
        let to_mask = dtype == DType::Mask && from != DType::Mask;
        self.add(
            dtype,
            if to_mask { truth() } else { apply_bits(Op::Cast, dtype, from, [bits, 0, 0]) },
        )
    }

    fn reinterpret(&self, id: VarId, dtype: DType) -> VarId {
        let (from, number) = self.0.borrow()[id.index()];
        let bits = apply_bits(Op::Reinterpret, dtype, from, [number.bits, 0, 0]);
        match dtype {
            DType::F64 => self.add_number(dtype, Number::choice(bits, &[number; 3])),
            _ => self.add_number(dtype, Number { bits, ..number }),
        }
    }
}

/// What `function` makes of numbers.
pub(super) fn apply(function: impl for<'r> Fn(&[Expr<'r>]) -> Expr<'r>, args: &[f64]) -> f64 {
    // As many as most recipes make.
    let numbers = Numbers(RefCell::new(Vec::with_capacity(256)));
    let ids: Vec<VarId> = args.iter().map(|x| numbers.add(DType::F64, x.to_bits())).collect();
    let args: Vec<Expr<'_>> = ids.into_iter().map(|id| Expr::new(&numbers, id)).collect();
    let (_, bits) = numbers.get(function(&args).id());
    f64::from_bits(bits)
}

/// `base ** exponent`: the power that is a float, or the reciprocal of one, for integer exponents; else as `pow` says.
pub fn power(base: f64, exponent: f64) -> f64 {
    match exact_power(base, exponent.abs()) {
        Some(power) if exponent < 0.0 => 1.0 / power,
        Some(power) => power,
        None => apply(|x| math::pow(x[0], x[1]), &[base, exponent]),
    }
}

/// The logarithm of `x` to `base`: an integer where that power of the base is `x`, else the quotient of logarithms.
pub fn logarithm(x: f64, base: f64) -> f64 {
    let [x_log, base_log] = [x, base].map(|x| apply(|x| math::log(x[0]), &[x]));
    let quotient = x_log / base_log;
    let whole = quotient.round();
    if power(base, whole) == x { whole } else { quotient }
}

/// The power by an integer, by squaring, if no product on the way is rounded.
fn exact_power(base: f64, exponent: f64) -> Option<f64> {
    /// No number but 0, 1 and -1 has an exact power beyond.
    const MOST: f64 = 1100.0;
    if exponent.fract() != 0.0 || exponent > MOST {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small integer")]
    let n = exponent as u32;
    // The rest of a product of very small numbers would be too small to see.
    let times = |a: f64, b: f64| {
        let product = a * b;
        let visible = product.abs() > 1e-200 || a == 0.0 || b == 0.0;
        (visible && a.mul_add(b, -product) == 0.0).then_some(product)
    };
    let mut bits = (0..u32::BITS - n.leading_zeros()).rev();
    bits.try_fold(1.0, |power, bit| {
        let square = times(power, power)?;
        if n >> bit & 1 == 1 { times(square, base) } else { Some(square) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::functions::find;

    #[test]
    fn exact_powers_stay_exact() {
        for n in 0..=22 {
            let power: f64 = format!("1e{n}").parse().unwrap();
            assert_eq!(power.to_bits(), super::power(10.0, n.into()).to_bits(), "10 ** {n}");
            let small: f64 = format!("1e-{n}").parse().unwrap();
            assert_eq!(small.to_bits(), super::power(10.0, (-n).into()).to_bits(), "10 ** -{n}");
        }
        for n in -1074..=1023 {
            let exponent = f64::from(n);
            let want = if n < -1022 {
                f64::from_bits(1 << (n + 1074))
            } else {
                f64::from_bits(u64::try_from(n + 1023).unwrap() << 52)
            };
            assert_eq!(power(2.0, exponent).to_bits(), want.to_bits(), "2 ** {n}");
            let of = |name: &str, x: f64| find(name).unwrap().of_numbers(&[x]);
            assert_eq!(of("exp2", exponent).to_bits(), want.to_bits(), "exp2({n})");
            assert_eq!(of("log2", want).to_bits(), exponent.to_bits(), "log2(2 ** {n})");
        }
        for base in -100_i64..=100 {
            for exponent in 0..8_u32 {
                #[expect(clippy::cast_precision_loss, reason = "it has 53 bits at most")]
                let (base, want) = (base as f64, base.pow(exponent) as f64);
                assert_eq!(
                    power(base, exponent.into()).to_bits(),
                    want.to_bits(),
                    "{base} ** {exponent}"
                );
                assert_eq!(
                    power(base / 4.0, exponent.into()) * 4_f64.powi(exponent.cast_signed()),
                    want
                );
            }
            #[expect(clippy::cast_precision_loss, reason = "it is small")]
            let base = base as f64;
            assert_eq!(power(base * base, 0.5), base.abs());
            assert_eq!(power(base.abs().powi(2), 1.5), base.abs().powi(3));
            if base > 1.0 {
                assert_eq!([2, 3, -1].map(|n| logarithm(base.powi(n), base)), [2.0, 3.0, -1.0]);
            }
        }
    }

    #[test]
    fn special_powers_are_those_of_c() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        for (base, exponent, want) in [
            (nan, 0.0, 1.0),
            (1.0, nan, 1.0),
            (0.0, -1.0, inf),
            (-0.0, -1.0, -inf),
            (-0.0, 3.0, -0.0),
            (-inf, 3.0, -inf),
            (inf, -2.0, 0.0),
            (2.0, 1e300, inf),
            (-1.0, 1e300, 1.0),
            (0.5, inf, 0.0),
            (1e200, 2.0, inf),
            (1e-200, 2.0, 0.0),
        ] {
            let got: f64 = power(base, exponent);
            assert_eq!(got.to_bits(), want.to_bits(), "{base} ** {exponent} = {got}");
        }
        assert!(logarithm(-1.0, 2.0).is_nan() && logarithm(2.0, nan).is_nan());
        assert_eq!(
            [logarithm(0.0, 2.0), logarithm(inf, 2.0), logarithm(1.0, 3.0)],
            [-inf, inf, 0.0]
        );
        assert!(power(-8.0, 1.0 / 3.0).is_nan() && power(nan, 1.0).is_nan());
    }
}
