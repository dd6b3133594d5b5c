//! Functions of plain numbers: the recipes of arrays, computed at once, so that digits depend on no system's library.

use std::cell::RefCell;

use super::expr::{Expr, Record};
use super::math;
use crate::convert::exactly;
use crate::dtype::DType;
use crate::ir::op::{Op, Shape};
use crate::ir::scalar::apply_bits;
use crate::ir::var::VarId;

/// What was computed so far: type and bits.
struct Numbers(RefCell<Vec<(DType, u64)>>);

impl Numbers {
    fn get(&self, id: VarId) -> (DType, u64) {
        self.0.borrow()[id.index()]
    }

    fn add(&self, dtype: DType, bits: u64) -> VarId {
        let mut numbers = self.0.borrow_mut();
        numbers.push((dtype, bits));
        VarId::new(exactly(numbers.len() - 1))
    }
}

impl Record for Numbers {
    fn dtype(&self, id: VarId) -> DType {
        self.get(id).0
    }

    fn constant(&self, dtype: DType, bits: u64) -> VarId {
        self.add(dtype, bits)
    }

    fn op(&self, op: Op, args: &[VarId]) -> VarId {
        let mut bits = [0; 3];
        let mut operand = DType::Mask;
        for (to, &arg) in bits.iter_mut().zip(args) {
            (operand, *to) = self.get(arg);
        }
        let dtype = match op {
            _ if op.info().shape == Shape::Compare => DType::Mask,
            Op::BitsAnyNan => operand.unsigned(),
            _ => operand,
        };
        self.add(dtype, apply_bits(op, dtype, operand, bits))
    }

    fn cast(&self, id: VarId, dtype: DType) -> VarId {
        let (from, bits) = self.get(id);
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
        let (from, bits) = self.get(id);
        self.add(dtype, apply_bits(Op::Reinterpret, dtype, from, [bits, 0, 0]))
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
