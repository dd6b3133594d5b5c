//! Elementary functions against references of higher precision (S10), and C99's special values.
//!
//! f32 against f64 of the standard library, whose own error is 2^-29 of an f32's ulp: half a million
//! points spread over all exponents, or every sixteenth bit pattern with `PORCINI_FULL=1`. f64 against
//! astro-float at 160 bits. The largest errors are printed as a table (`--nocapture`).

#![expect(clippy::cast_possible_truncation, reason = "f64 is rounded to f32 on purpose")]

mod reference;
mod special;

use std::cell::RefCell;

use astro_float::{BigFloat, Consts};
use porcini_core::{Element, Operand, Session, trace::functions};
use porcini_tests::extent::is_full;
use porcini_tests::random::Random;

use reference::{Big, CASES, MODE, PAIR_CASES};

fn call<T: Element>(session: &Session, name: &str, args: &[&[T]]) -> Vec<T> {
    let function = functions::find(name).unwrap_or_else(|| panic!("no function {name}"));
    let args: Vec<_> = args.iter().map(|x| session.array(x).unwrap()).collect();
    let others: Vec<_> = args[1..].iter().map(Operand::Array).collect();
    args[0].call(function, &others).unwrap().to_vec().unwrap()
}

/// The worst error seen.
struct Worst {
    name: &'static str,
    dtype: &'static str,
    ulp: f64,
    at: f64,
    points: usize,
}

impl Worst {
    fn new(name: &'static str, dtype: &'static str) -> Self {
        Self { name, dtype, ulp: 0.0, at: f64::NAN, points: 0 }
    }

    fn note(&mut self, x: f64, ulp: f64) {
        self.points += 1;
        if ulp > self.ulp || ulp.is_nan() {
            (self.ulp, self.at) = (ulp, x);
        }
    }

    #[expect(clippy::print_stdout, reason = "the table is what the sweep is run for")]
    fn check(&self, bound: f64) {
        let Self { name, dtype, ulp, at, points } = self;
        println!("{name:<6} {dtype} {ulp:.3} ulp at {at:e} of {points} points");
        assert!(*ulp <= bound, "{name} {dtype}: {ulp} ulp at {at:e}, allowed {bound}");
    }
}

/// Distance of neighbouring floats at `x` for a format with `precision` bits and least exponent `least`.
fn ulp_at(x: f64, precision: i32, least: i32) -> f64 {
    let field = i32::try_from(x.to_bits() >> 52 & 0x7ff).unwrap();
    let exponent = (field - 1023).max(least);
    scale(1.0, exponent - (precision - 1))
}

/// Error of an f32 in its ulp; 0 for a special value that is right, infinite for one that is wrong.
fn single_error(got: f32, want: f64) -> f64 {
    let rounded = want as f32;
    if want.is_nan() || got.is_nan() {
        return if want.is_nan() && got.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if got == rounded {
        let signs_agree = want != 0.0 || got.is_sign_negative() == want.is_sign_negative();
        return if signs_agree && want.is_finite() {
            let ulp = ulp_at(want, 24, -126);
            if got.is_finite() { (f64::from(got) - want).abs() / ulp } else { 0.0 }
        } else if signs_agree {
            0.0
        } else {
            f64::INFINITY
        };
    }
    // An infinity counts as the number that would follow the largest one.
    let got = if got.is_infinite() {
        f64::from(got.signum()) * 2.0_f64.powi(128)
    } else {
        f64::from(got)
    };
    (got - want).abs() / ulp_at(want.clamp(-f64::from(f32::MAX), f64::from(f32::MAX)), 24, -126)
}

/// Bit patterns of the sweep, in pieces: one of sixteen, or `1 << 11` of each of the 256 exponents.
fn single_points(full: bool) -> impl Iterator<Item = Vec<f32>> {
    let mut random = Random::new(7);
    let pieces = if full { 4096 } else { 512 };
    (0..pieces).map(move |piece: u32| {
        if full {
            // Each piece has other low bits.
            return (0..1 << 16)
                .map(|i| f32::from_bits((piece << 20) | (i << 4) | (piece % 16)))
                .collect();
        }
        let (first, mask) = (piece << 23, (1 << 23) - 1);
        let bits = |_| first | u32::try_from(random.word() & mask).unwrap();
        let edges = [first, first + 1, first + 0x7f_ffff].into_iter();
        (0..1 << 10).map(bits).chain(edges).map(f32::from_bits).collect()
    })
}

#[test]
fn single_precision_is_as_accurate_as_stated() {
    let session = Session::new().unwrap();
    for case in CASES {
        let mut worst = Worst::new(case.name, "f32");
        for x in single_points(is_full()) {
            for (&x, &got) in x.iter().zip(&call(&session, case.name, &[&x])) {
                worst.note(f64::from(x), single_error(got, (case.near)(f64::from(x))));
            }
        }
        worst.check(case.bound);
    }
}

#[test]
fn single_precision_of_two_arguments_is_as_accurate_as_stated() {
    let session = Session::new().unwrap();
    let n = if is_full() { 20_000_000 } else { 200_000 };
    for case in PAIR_CASES {
        let mut worst = Worst::new(case.name, "f32");
        let mut random = Random::new(11);
        let bits = |random: &mut Random| f32::from_bits((random.word() >> 32) as u32);
        for _ in (0..n).step_by(1 << 16) {
            let (x, y): (Vec<f32>, Vec<f32>) = (0..1 << 16)
                .map(|i| match i % 4 {
                    0 => (f64::from(bits(&mut random)), f64::from(bits(&mut random))),
                    _ => pair_point(case.name, &mut random, 150.0),
                })
                .map(|(x, y)| (x as f32, y as f32))
                .unzip();
            for ((&x, &y), &got) in x.iter().zip(&y).zip(&call(&session, case.name, &[&x, &y])) {
                let want = (case.near)(f64::from(x), f64::from(y));
                worst.note(f64::from(x), single_error(got, want));
            }
        }
        worst.check(case.bound);
    }
}

/// Bits of the reference.
const PRECISION: usize = 160;

fn truncated(x: &BigFloat) -> f64 {
    let Some((words, _, sign, exponent, _)) = x.as_raw_parts() else { return f64::NAN };
    let Some(&top) = words.last().filter(|_| !x.is_zero()) else { return 0.0 };
    // The mantissa is a fraction of the exponent's power; 53 bits of it are exact.
    let magnitude = (top >> 11) as f64;
    let scaled = scale(magnitude, exponent - 53);
    if sign == astro_float::Sign::Neg { -scaled } else { scaled }
}

/// `x · 2^n` in two steps, the second of which may round to a subnormal.
fn scale(x: f64, n: i32) -> f64 {
    let first = n.clamp(-900, 900);
    x * 2.0_f64.powi(first) * 2.0_f64.powi((n - first).clamp(-1000, 1000))
}

/// Error of an f64 in its ulp: its distance from the truncated result, less what was cut off.
fn double_error(got: f64, want: &BigFloat) -> f64 {
    let high = truncated(want);
    // A subnormal number is not what BigFloat takes it for: lift small ones, by an exact factor.
    let lift = if high.abs() < 1.0 { 2.0_f64.powi(200) } else { 1.0 };
    let big = |x| BigFloat::from_f64(x, PRECISION);
    let lifted = want.mul(&big(lift), PRECISION + 64, MODE);
    let rest = lifted.sub(&big(high * lift), PRECISION, MODE);
    let ulp = ulp_at(high, 53, -1022);
    // The difference is small and its parts are exact.
    ((got - high) / ulp - truncated(&rest) / (ulp * lift)).abs()
}

/// A random number from 0 to 1.
fn unit(random: &mut Random) -> f64 {
    (random.word() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Random arguments in a function's domain, where it is not trivial.
fn double_points([least, most]: [f64; 2], n: usize) -> Vec<f64> {
    let mut random = Random::new(least.to_bits() ^ most.to_bits());
    let mut points: Vec<f64> = Vec::with_capacity(n);
    let candidates = (0..).map(|i| {
        let mut unit = || unit(&mut random);
        let sign = if unit() < 0.5 { -1.0 } else { 1.0 };
        let size = match i % 8 {
            0 if most.is_finite() => unit() * most,
            0 => unit() * 1e9,
            1 => unit(),
            2 => unit() * 25.0,
            3 => 1.0 + sign * unit() / 8.0,
            // Next to multiples of π/2.
            4 => (unit() * 1e5).round() * std::f64::consts::FRAC_PI_2,
            5 => 2.0_f64.powf(30.0 + unit() * 990.0),
            6 if least == 0.0 => 2.0_f64.powf(unit() * 2040.0 - 1020.0),
            _ => 2.0_f64.powf(unit() * 40.0 - 30.0),
        };
        if unit() < 0.5 { -size } else { size }
    });
    points.extend(candidates.filter(|x| (least..most).contains(x)).take(n));
    points
}

/// Random arguments of a function of two; powers stay within 2^±octaves.
fn pair_point(name: &str, random: &mut Random, octaves: f64) -> (f64, f64) {
    let mut unit = || unit(random);
    let mut size = || {
        let sign = if unit() < 0.5 { -1.0 } else { 1.0 };
        sign * 2.0_f64.powf(unit() * 40.0 - 20.0)
    };
    let (x, y) = (size(), size());
    if name == "pow" {
        return (x.abs(), octaves * (2.0 * unit() - 1.0) / x.abs().log2());
    }
    let near = if unit() < 0.5 { x * (0.5 + unit()) } else { y };
    // As large and as small as numbers of such a range get.
    let scale = 2.0_f64.powf((unit() * 1.6 - 0.8) * octaves);
    (x * scale, near * scale)
}

#[test]
fn double_precision_is_as_accurate_as_stated() {
    let session = Session::new().unwrap();
    let mut constants = Consts::new().unwrap();
    let n = if is_full() { 100_000 } else { 600 };
    let hardest = 6_381_956_970_095_103.0 * 2.0_f64.powi(797);
    for case in CASES {
        let mut worst = Worst::new(case.name, "f64");
        let mut points = double_points(case.domain, n);
        let circular = matches!(case.name, "sin" | "cos" | "tan" | "cot" | "sec" | "csc");
        if circular {
            // The double nearest to a multiple of π/2, and other published hard cases.
            points.extend([hardest, 1e22, f64::MAX, 1e300]);
        }
        let mut script = Worst::new(case.name, "number");
        let function = functions::find(case.name).unwrap().of_numbers();
        for (&x, &got) in points.iter().zip(&call(&session, case.name, &[&points])) {
            // So many bits that sin of 10^300 has `PRECISION` good ones.
            let extra = if circular && x.abs() > 1e3 { 1200 } else { 64 };
            let bits = PRECISION + extra;
            let big = Big { bits, constants: RefCell::new(&mut constants) };
            let want = (case.exact)(&big, &big.number(x));
            worst.note(x, double_error(got, &want));
            // Next to the hardest multiple of π/2 the angle has no more digits than in arrays.
            if x != hardest {
                script.note(x, double_error(function.call(&[x]), &want));
            }
        }
        worst.check(case.bound);
        // Their recipes leave more than rounding does.
        let is_rough = matches!(case.name, "cbrt" | "tanh" | "sech" | "csch");
        script.check(if is_rough { 1.2 } else { 1.0 });
    }
}

#[test]
fn double_precision_of_two_arguments_is_as_accurate_as_stated() {
    let session = Session::new().unwrap();
    let mut constants = Consts::new().unwrap();
    let big = Big { bits: PRECISION + 64, constants: RefCell::new(&mut constants) };
    let n = if is_full() { 100_000 } else { 1000 };
    for case in PAIR_CASES {
        let mut worst = Worst::new(case.name, "f64");
        let mut random = Random::new(13);
        let points = (0..n).map(|_| pair_point(case.name, &mut random, 1020.0));
        let (x, y): (Vec<f64>, Vec<f64>) = points.unzip();
        let mut script = Worst::new(case.name, "number");
        let function = functions::find(case.name).unwrap().of_numbers();
        for ((&x, &y), &got) in x.iter().zip(&y).zip(&call(&session, case.name, &[&x, &y])) {
            let want = (case.exact)(&big, &big.number(x), &big.number(y));
            worst.note(x, double_error(got, &want));
            script.note(x, double_error(function.call(&[x, y]), &want));
        }
        worst.check(case.bound);
        script.check(1.0);
    }
}
