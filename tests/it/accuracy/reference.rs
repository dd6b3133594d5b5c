//! The elementary functions by other means: f64 of the standard library for f32, astro-float for f64.

use std::f64::consts::PI;

use astro_float::{BigFloat, Consts, RoundingMode};

/// A function with the error it may have.
pub(super) struct Case {
    pub(super) name: &'static str,
    /// Largest error in ulp, f32 and f64.
    pub(super) bound: f64,
    /// Where the function of f64 is worth testing: not trivial, not undefined.
    pub(super) domain: [f64; 2],
    /// The function of f64, good enough for f32.
    pub(super) near: fn(f64) -> f64,
    /// The function in `bits` bits.
    pub(super) exact: fn(&Big<'_>, &BigFloat) -> BigFloat,
}

/// As [`Case`], of two arguments.
pub(super) struct PairCase {
    pub(super) name: &'static str,
    pub(super) bound: f64,
    pub(super) near: fn(f64, f64) -> f64,
    pub(super) exact: fn(&Big<'_>, &BigFloat, &BigFloat) -> BigFloat,
}

pub(super) const MODE: RoundingMode = RoundingMode::ToEven;

/// Arithmetic of so many bits.
pub(super) struct Big<'c> {
    pub(super) bits: usize,
    pub(super) constants: std::cell::RefCell<&'c mut Consts>,
}

macro_rules! big {
    (plain $($plain:ident),*; with constants $($name:ident),*; binary $($binary:ident),*) => {
        impl Big<'_> {
            $(fn $plain(&self, x: &BigFloat) -> BigFloat { x.$plain(self.bits, MODE) })*
            $(fn $name(&self, x: &BigFloat) -> BigFloat {
                x.$name(self.bits, MODE, &mut self.constants.borrow_mut())
            })*
            $(fn $binary(&self, x: &BigFloat, y: &BigFloat) -> BigFloat { x.$binary(y, self.bits, MODE) })*
        }
    };
}
big!(
    plain sqrt, cbrt, reciprocal;
    with constants exp, ln, log2, log10, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, asinh, acosh,
        atanh;
    binary add, sub, mul, div
);

impl Big<'_> {
    pub(super) fn number(&self, x: f64) -> BigFloat {
        BigFloat::from_f64(x, self.bits)
    }

    fn power(&self, base: &BigFloat, exponent: &BigFloat) -> BigFloat {
        base.pow(exponent, self.bits, MODE, &mut self.constants.borrow_mut())
    }

    fn pi(&self) -> BigFloat {
        self.constants.borrow_mut().pi(self.bits, MODE)
    }

    /// x half turns without whole turns, less than 2 either way: exact.
    fn half_turns(&self, x: &BigFloat) -> BigFloat {
        let turns = self.mul(x, &self.number(0.5)).int();
        self.sub(x, &self.mul(&turns, &self.number(2.0)))
    }

    /// The sine of less than 2 half turns either way, zero where it is.
    fn sine(&self, x: &BigFloat) -> BigFloat {
        let (sign, size) = (x.signum(), x.abs());
        let folded = if size > self.number(1.5) {
            self.sub(x, &self.mul(&sign, &self.number(2.0)))
        } else if size > self.number(0.5) {
            self.sub(&sign, x)
        } else {
            x.clone()
        };
        self.sin(&self.mul(&folded, &self.pi()))
    }
}

/// x half turns without whole turns, −1 to 1: exact.
fn within_turn(x: f64) -> f64 {
    x - 2.0 * (x * 0.5).round()
}

fn sinpi(x: f64) -> f64 {
    let rest = within_turn(x);
    let folded = if rest.abs() > 0.5 { rest.signum() - rest } else { rest };
    // At integers a zero with the sign of x.
    if folded == 0.0 { 0.0_f64.copysign(x) } else { (PI * folded).sin() }
}

fn cospi(x: f64) -> f64 {
    (PI * (0.5 - within_turn(x).abs())).sin()
}

const ALL: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];

/// Every elementary function of one argument.
pub(super) const CASES: &[Case] = &[
    Case {
        name: "exp",
        bound: 1.0,
        domain: [-745.0, 709.7],
        near: f64::exp,
        exact: |b, x| b.exp(x),
    },
    Case {
        name: "exp2",
        bound: 1.5,
        domain: [-1074.0, 1023.9],
        near: f64::exp2,
        exact: |b, x| b.power(&b.number(2.0), x),
    },
    Case {
        name: "exp10",
        bound: 1.5,
        domain: [-323.3, 308.2],
        near: |x| 10.0_f64.powf(x),
        exact: |b, x| b.power(&b.number(10.0), x),
    },
    Case {
        name: "expm1",
        bound: 2.0,
        domain: [-60.0, 709.7],
        near: f64::exp_m1,
        exact: |b, x| b.sub(&b.exp(x), &b.number(1.0)),
    },
    Case {
        name: "log",
        bound: 1.0,
        domain: [0.0, f64::INFINITY],
        near: f64::ln,
        exact: |b, x| b.ln(x),
    },
    Case {
        name: "log2",
        bound: 2.0,
        domain: [0.0, f64::INFINITY],
        near: f64::log2,
        exact: |b, x| b.log2(x),
    },
    Case {
        name: "log10",
        bound: 1.5,
        domain: [0.0, f64::INFINITY],
        near: f64::log10,
        exact: |b, x| b.log10(x),
    },
    Case {
        name: "log1p",
        bound: 2.0,
        domain: [-1.0, f64::INFINITY],
        near: f64::ln_1p,
        exact: |b, x| b.ln(&b.add(x, &b.number(1.0))),
    },
    Case { name: "cbrt", bound: 1.5, domain: ALL, near: f64::cbrt, exact: |b, x| b.cbrt(x) },
    Case { name: "sin", bound: 1.5, domain: ALL, near: f64::sin, exact: |b, x| b.sin(x) },
    Case { name: "cos", bound: 1.5, domain: ALL, near: f64::cos, exact: |b, x| b.cos(x) },
    Case { name: "tan", bound: 2.5, domain: ALL, near: f64::tan, exact: |b, x| b.tan(x) },
    Case {
        name: "cot",
        bound: 2.5,
        domain: ALL,
        near: |x| 1.0 / x.tan(),
        exact: |b, x| b.reciprocal(&b.tan(x)),
    },
    Case {
        name: "sec",
        bound: 2.0,
        domain: ALL,
        near: |x| 1.0 / x.cos(),
        exact: |b, x| b.reciprocal(&b.cos(x)),
    },
    Case {
        name: "csc",
        bound: 2.0,
        domain: ALL,
        near: |x| 1.0 / x.sin(),
        exact: |b, x| b.reciprocal(&b.sin(x)),
    },
    Case {
        name: "sinpi",
        bound: 1.5,
        domain: ALL,
        near: sinpi,
        exact: |b, x| b.sine(&b.half_turns(x)),
    },
    Case {
        name: "sinc",
        bound: 3.0,
        domain: ALL,
        near: |x| if x == 0.0 { 1.0 } else { sinpi(x) / (PI * x) },
        exact: |b, x| {
            let turns = b.mul(&b.pi(), x);
            if x.is_zero() { b.number(1.0) } else { b.div(&b.sine(&b.half_turns(x)), &turns) }
        },
    },
    Case {
        name: "cospi",
        bound: 1.5,
        domain: ALL,
        near: cospi,
        exact: |b, x| b.sine(&b.sub(&b.number(0.5), &b.half_turns(x).abs())),
    },
    Case {
        name: "asin",
        bound: 2.5,
        domain: [-1.0, 1.0],
        near: f64::asin,
        exact: |b, x| b.asin(x),
    },
    Case {
        name: "acos",
        bound: 1.5,
        domain: [-1.0, 1.0],
        near: f64::acos,
        exact: |b, x| b.acos(x),
    },
    Case { name: "atan", bound: 2.5, domain: ALL, near: f64::atan, exact: |b, x| b.atan(x) },
    Case {
        name: "sinh",
        bound: 2.5,
        domain: [-710.4, 710.4],
        near: f64::sinh,
        exact: |b, x| b.sinh(x),
    },
    Case {
        name: "cosh",
        bound: 2.0,
        domain: [-710.4, 710.4],
        near: f64::cosh,
        exact: |b, x| b.cosh(x),
    },
    Case {
        name: "tanh",
        bound: 2.5,
        domain: [-22.0, 22.0],
        near: f64::tanh,
        exact: |b, x| b.tanh(x),
    },
    Case {
        name: "coth",
        bound: 2.5,
        domain: [-22.0, 22.0],
        near: |x| 1.0 / x.tanh(),
        exact: |b, x| b.reciprocal(&b.tanh(x)),
    },
    Case {
        name: "sech",
        bound: 3.0,
        domain: [-745.0, 745.0],
        near: |x| 1.0 / x.cosh(),
        exact: |b, x| b.reciprocal(&b.cosh(x)),
    },
    Case {
        name: "csch",
        bound: 3.0,
        domain: [-745.0, 745.0],
        near: |x| 1.0 / x.sinh(),
        exact: |b, x| b.reciprocal(&b.sinh(x)),
    },
    Case { name: "asinh", bound: 2.5, domain: ALL, near: f64::asinh, exact: |b, x| b.asinh(x) },
    Case {
        name: "acosh",
        bound: 2.5,
        domain: [1.0, f64::INFINITY],
        near: f64::acosh,
        exact: |b, x| b.acosh(x),
    },
    Case {
        name: "atanh",
        bound: 2.5,
        domain: [-1.0, 1.0],
        near: f64::atanh,
        exact: |b, x| b.atanh(x),
    },
];

/// Every elementary function of two arguments.
pub(super) const PAIR_CASES: &[PairCase] = &[
    PairCase { name: "pow", bound: 2.0, near: f64::powf, exact: |b, x, y| b.power(x, y) },
    PairCase {
        name: "hypot",
        bound: 1.5,
        near: f64::hypot,
        exact: |b, x, y| b.sqrt(&b.add(&b.mul(x, x), &b.mul(y, y))),
    },
    PairCase {
        name: "atan2",
        bound: 2.5,
        near: f64::atan2,
        exact: |b, y, x| {
            let angle = b.atan(&b.div(y, x));
            match (x.is_negative(), y.is_negative()) {
                (false, _) => angle,
                (true, false) => b.add(&angle, &b.pi()),
                (true, true) => b.sub(&angle, &b.pi()),
            }
        },
    },
];
