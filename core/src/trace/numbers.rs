//! Functions of plain numbers: the recipes of arrays, computed at once and with twice the digits: the results are within one
//! ulp (1.2 for `cbrt` and three hyperbolic ones) where the recipe is exact to that, and depend on no system's library.

use std::cell::{OnceCell, RefCell};

use super::expr::{Expr, Record};
use super::functions::Recipe;
use super::math;
use crate::convert::exactly;
use crate::dtype::DType;
use crate::ir::op::{Op, Shape};
use crate::ir::scalar::apply_bits;
use crate::ir::var::VarId;

/// A function of plain numbers, whose recipe is recorded when it is first called.
#[derive(Debug)]
pub struct NumberFunction {
    recipe: Recipe,
    /// Its steps, of which the first are the arguments, and which of them is the result.
    steps: OnceCell<(Vec<(DType, Step)>, usize)>,
}

/// A recipe that is being recorded.
#[derive(Default)]
struct Steps(RefCell<Vec<(DType, Step)>>);

#[derive(Clone, Copy, Debug)]
enum Step {
    Argument,
    Constant(Number),
    Op(Op, [VarId; 3]),
    Cast(VarId),
}

/// A number of a recipe.
#[derive(Clone, Copy, Debug, Default)]
struct Number {
    bits: u64,
    /// A float, and what is missing to it: less than half of its last place. Bits that were taken from a float keep it.
    float: (f64, f64),
}

impl NumberFunction {
    pub(super) fn new(recipe: Recipe) -> Self {
        Self { recipe, steps: OnceCell::new() }
    }

    /// What the function makes of numbers.
    pub fn call(&self, args: &[f64]) -> f64 {
        let (steps, result) = self.steps.get_or_init(|| Steps::of(self.recipe, args.len()));
        let mut known = vec![None; steps.len()];
        for (known, &x) in known.iter_mut().zip(args) {
            *known = Some(Number::from(x.to_bits()));
        }
        f64::from_bits(value(steps, &mut known, *result).bits)
    }
}

/// What a step gives; of a selection only the side is computed that is taken.
fn value(steps: &[(DType, Step)], known: &mut [Option<Number>], i: usize) -> Number {
    if let Some(number) = known[i] {
        return number;
    }
    let (dtype, step) = steps[i];
    let mut of = |id: VarId| (steps[id.index()].0, value(steps, known, id.index()));
    let number = match step {
        Step::Argument => panic!("internal error: a function of more arguments"),
        Step::Constant(number) => number,
        Step::Op(Op::Select, [mask, a, b]) => {
            let is_true = of(mask).1.bits & 1 != 0;
            of(if is_true { a } else { b }).1
        }
        Step::Op(Op::Reinterpret, [x, ..]) => {
            let (from, number) = of(x);
            let bits = apply_bits(Op::Reinterpret, dtype, from, [number.bits, 0, 0]);
            match dtype {
                DType::F64 => Number::choice(bits, &[number; 3]),
                _ => Number { bits, ..number },
            }
        }
        Step::Op(op, args) => {
            let mut operand = DType::Mask;
            let numbers = std::array::from_fn(|i| {
                if i >= op.info().arity {
                    return Number::default();
                }
                let (dtype, number) = of(args[i]);
                operand = dtype;
                number
            });
            let bits = apply_bits(op, dtype, operand, numbers.map(|number| number.bits));
            match dtype {
                DType::F64 => Number::of(op, f64::from_bits(bits), &numbers),
                DType::I64 | DType::U64 => Number::choice(bits, &numbers),
                _ => Number::from(bits),
            }
        }
        Step::Cast(x) => {
            let (from, number) = of(x);
            let bits = [number.bits, 0, 0];
            Number::from(match (from, dtype) {
                // As 1 and 0.
                (DType::Mask, _) => apply_bits(Op::Cast, dtype, DType::U8, bits),
                (_, DType::Mask) => apply_bits(Op::Ne, dtype, from, bits),
                _ => apply_bits(Op::Cast, dtype, from, bits),
            })
        }
    };
    known[i] = Some(number);
    number
}

impl Steps {
    fn of(recipe: Recipe, arity: usize) -> (Vec<(DType, Step)>, usize) {
        let steps = Self::default();
        let args: Vec<VarId> = (0..arity).map(|_| steps.add(DType::F64, Step::Argument)).collect();
        let args: Vec<Expr<'_>> = args.into_iter().map(|id| Expr::new(&steps, id)).collect();
        let result = recipe(&args).id().index();
        drop(args);
        (steps.0.into_inner(), result)
    }

    fn add(&self, dtype: DType, step: Step) -> VarId {
        let mut steps = self.0.borrow_mut();
        steps.push((dtype, step));
        VarId::new(exactly(steps.len() - 1))
    }
}

impl Record for Steps {
    fn dtype(&self, id: VarId) -> DType {
        self.0.borrow()[id.index()].0
    }

    fn constant(&self, dtype: DType, bits: u64) -> VarId {
        self.add(dtype, Step::Constant(bits.into()))
    }

    fn rounded_constant(&self, dtype: DType, bits: u64, rest: f64) -> VarId {
        let float = (f64::from_bits(bits), rest);
        self.add(dtype, Step::Constant(Number { bits, float }))
    }

    fn op(&self, op: Op, args: &[VarId]) -> VarId {
        let operand = args.last().map_or(DType::Mask, |&arg| self.dtype(arg));
        let dtype = match op {
            _ if op.info().shape == Shape::Compare => DType::Mask,
            Op::BitsAnyNan => operand.unsigned(),
            _ => operand,
        };
        let mut all = [VarId::new(0); 3];
        all[..args.len()].copy_from_slice(args);
        self.add(dtype, Step::Op(op, all))
    }

    fn cast(&self, id: VarId, dtype: DType) -> VarId {
        if self.dtype(id) == dtype { id } else { self.add(dtype, Step::Cast(id)) }
    }

    fn reinterpret(&self, id: VarId, dtype: DType) -> VarId {
        self.add(dtype, Step::Op(Op::Reinterpret, [id; 3]))
    }
}

impl From<u64> for Number {
    fn from(bits: u64) -> Self {
        Self { bits, float: (f64::from_bits(bits), 0.0) }
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

/// Powers and logarithms to any base, exact where they can be.
#[derive(Debug)]
pub struct Powers {
    pow: NumberFunction,
    log: NumberFunction,
}

impl Default for Powers {
    fn default() -> Self {
        let [pow, log]: [Recipe; 2] = [|x| math::pow(x[0], x[1]), |x| math::log(x[0])];
        Self { pow: NumberFunction::new(pow), log: NumberFunction::new(log) }
    }
}

impl Powers {
    /// `base ** exponent`: the power that is a float, or the reciprocal of one, for integer exponents; else as `pow` says.
    pub fn power(&self, base: f64, exponent: f64) -> f64 {
        match exact_power(base, exponent.abs()) {
            Some(power) if exponent < 0.0 => 1.0 / power,
            Some(power) => power,
            None => self.pow.call(&[base, exponent]),
        }
    }

    /// The logarithm of `x` to `base`: an integer where that power of the base is `x`, else the quotient of logarithms.
    pub fn logarithm(&self, x: f64, base: f64) -> f64 {
        let quotient = self.log.call(&[x]) / self.log.call(&[base]);
        let whole = quotient.round();
        if self.power(base, whole) == x { whole } else { quotient }
    }
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

    fn power(base: f64, exponent: f64) -> f64 {
        Powers::default().power(base, exponent)
    }

    fn logarithm(x: f64, base: f64) -> f64 {
        Powers::default().logarithm(x, base)
    }

    #[test]
    fn exact_powers_stay_exact() {
        for n in 0..=22 {
            let want: f64 = format!("1e{n}").parse().unwrap();
            assert_eq!(want.to_bits(), power(10.0, n.into()).to_bits(), "10 ** {n}");
            let small: f64 = format!("1e-{n}").parse().unwrap();
            assert_eq!(small.to_bits(), power(10.0, (-n).into()).to_bits(), "10 ** -{n}");
        }
        for n in -1074..=1023 {
            let exponent = f64::from(n);
            let want = if n < -1022 {
                f64::from_bits(1 << (n + 1074))
            } else {
                f64::from_bits(u64::try_from(n + 1023).unwrap() << 52)
            };
            assert_eq!(power(2.0, exponent).to_bits(), want.to_bits(), "2 ** {n}");
            let of = |name: &str, x: f64| find(name).unwrap().of_numbers().call(&[x]);
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
