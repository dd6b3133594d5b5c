//! Elementary functions against references of higher precision (S10), and C99's special values.
//!
//! f32 against f64 of the standard library, whose own error is 2^-29 of an f32's ulp: about two million
//! points spread over all exponents, or every bit pattern with `PORCINI_FULL=1`. f64 against
//! astro-float at 160 bits. The largest errors are printed as a table (`--nocapture`).

#![expect(clippy::cast_possible_truncation, reason = "f64 is rounded to f32 on purpose")]

use astro_float::{BigFloat, Consts, RoundingMode};
use porcini_core::{Element, Session, trace::functions};
use porcini_tests::random::Random;

type Reference = fn(f64) -> f64;

/// Name, largest error allowed in ulp, and the same function of f64.
const FUNCTIONS: [(&str, f64, Reference); 5] = [
    ("exp", 1.5, f64::exp),
    ("log", 1.5, f64::ln),
    ("sin", 1.5, f64::sin),
    ("cos", 1.5, f64::cos),
    ("tanh", 2.5, f64::tanh),
];

fn call<T: Element>(session: &Session, name: &str, x: &[T]) -> Vec<T> {
    let function = functions::find(name).unwrap();
    session.array(x).unwrap().call(function, &[]).unwrap().to_vec().unwrap()
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
        println!("{name:<5} {dtype} {ulp:.3} ulp at {at:e} of {points} points");
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

/// Bit patterns of the sweep, in pieces: all, or `1 << 13` of each of the 256 exponents.
fn single_points(full: bool) -> impl Iterator<Item = Vec<f32>> {
    let mut random = Random::new(7);
    let pieces = if full { 4096 } else { 512 };
    (0..pieces).map(move |piece: u32| {
        if full {
            return (0..1 << 20).map(|i| f32::from_bits(piece << 20 | i)).collect();
        }
        let (first, mask) = (piece << 23, (1 << 23) - 1);
        let bits = |_| first | u32::try_from(random.word() & mask).unwrap();
        let edges = [first, first + 1, first + 0x7f_ffff].into_iter();
        (0..1 << 12).map(bits).chain(edges).map(f32::from_bits).collect()
    })
}

#[test]
fn single_precision_is_as_accurate_as_stated() {
    let session = Session::new().unwrap();
    let full = std::env::var_os("PORCINI_FULL").is_some();
    for (name, bound, reference) in FUNCTIONS {
        let mut worst = Worst::new(name, "f32");
        for x in single_points(full) {
            for (&x, &got) in x.iter().zip(&call(&session, name, &x)) {
                worst.note(f64::from(x), single_error(got, reference(f64::from(x))));
            }
        }
        worst.check(bound);
    }
}

/// Bits of the reference.
const PRECISION: usize = 160;

/// `f(x)` with so many bits that sin of 10^300 has `PRECISION` good ones.
fn reference(name: &str, x: f64, constants: &mut Consts) -> BigFloat {
    const MODE: RoundingMode = RoundingMode::ToEven;
    let p =
        if matches!(name, "sin" | "cos") && x.abs() > 1e3 { 1200 + PRECISION } else { PRECISION };
    let x = BigFloat::from_f64(x, p);
    match name {
        "exp" => x.exp(p, MODE, constants),
        "log" => x.ln(p, MODE, constants),
        "sin" => x.sin(p, MODE, constants),
        "cos" => x.cos(p, MODE, constants),
        _ => x.tanh(p, MODE, constants),
    }
}

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
    let lifted = want.mul(&big(lift), PRECISION + 64, RoundingMode::ToEven);
    let rest = lifted.sub(&big(high * lift), PRECISION, RoundingMode::ToEven);
    let ulp = ulp_at(high, 53, -1022);
    // The difference is small and its parts are exact.
    ((got - high) / ulp - truncated(&rest) / (ulp * lift)).abs()
}

/// Random arguments where the function neither overflows nor is trivial.
fn double_points(name: &str, n: usize) -> Vec<f64> {
    let mut random = Random::new(name.bytes().map(u64::from).sum());
    let mut unit = move || (random.word() >> 11) as f64 / (1_u64 << 53) as f64;
    let mut points: Vec<f64> = Vec::with_capacity(n);
    while points.len() < n {
        let sign = if unit() < 0.5 { -1.0 } else { 1.0 };
        let small = sign * 2.0_f64.powf(unit() * 40.0 - 30.0);
        points.push(match (name, points.len() % 4) {
            ("exp", 0 | 1) => unit() * 1454.0 - 745.0,
            ("log", 0 | 1) => 2.0_f64.powf(unit() * 2040.0 - 1020.0),
            ("log", 2) => 1.0 + sign * unit() / 8.0,
            ("log", _) => small.abs(),
            ("sin" | "cos", 0) => sign * 2.0_f64.powf(30.0 + unit() * 990.0),
            ("sin" | "cos", 1) => sign * unit() * 1e9,
            // Next to multiples of π/2.
            ("sin" | "cos", 2) => (unit() * 1e5).round() * std::f64::consts::FRAC_PI_2,
            ("tanh", 0 | 1) => sign * unit() * 22.0,
            ("exp", _) => small % 700.0,
            _ => small,
        });
    }
    points
}

#[test]
fn double_precision_is_as_accurate_as_stated() {
    let session = Session::new().unwrap();
    let mut constants = Consts::new().unwrap();
    let n = if std::env::var_os("PORCINI_FULL").is_some() { 200_000 } else { 2000 };
    for (name, bound, _) in FUNCTIONS {
        let mut worst = Worst::new(name, "f64");
        let mut points = double_points(name, n);
        if matches!(name, "sin" | "cos") {
            // The double nearest to a multiple of π/2, and other published hard cases.
            points.extend([6_381_956_970_095_103.0 * 2.0_f64.powi(797), 1e22, f64::MAX, 1e300]);
        }
        for (&x, &got) in points.iter().zip(&call(&session, name, &points)) {
            worst.note(x, double_error(got, &reference(name, x, &mut constants)));
        }
        worst.check(bound);
    }
}

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// Function, argument and result as C99's annex F gives them.
const SPECIAL: [(&str, f64, f64); 29] = [
    ("exp", 0.0, 1.0),
    ("exp", -0.0, 1.0),
    ("exp", INF, INF),
    ("exp", -INF, 0.0),
    ("exp", NAN, NAN),
    ("exp", 1e30, INF),
    ("exp", -1e30, 0.0),
    ("log", 1.0, 0.0),
    ("log", 0.0, -INF),
    ("log", -0.0, -INF),
    ("log", -1.0, NAN),
    ("log", -INF, NAN),
    ("log", INF, INF),
    ("log", NAN, NAN),
    ("sin", 0.0, 0.0),
    ("sin", -0.0, -0.0),
    ("sin", INF, NAN),
    ("sin", -INF, NAN),
    ("sin", NAN, NAN),
    ("cos", 0.0, 1.0),
    ("cos", -0.0, 1.0),
    ("cos", INF, NAN),
    ("cos", -INF, NAN),
    ("cos", NAN, NAN),
    ("tanh", 0.0, 0.0),
    ("tanh", -0.0, -0.0),
    ("tanh", INF, 1.0),
    ("tanh", -INF, -1.0),
    ("tanh", NAN, NAN),
];

#[test]
fn special_values_are_those_of_c99() {
    let session = Session::new().unwrap();
    for (name, x, want) in SPECIAL {
        let double = call(&session, name, &[x])[0];
        let single = f64::from(call(&session, name, &[x as f32])[0]);
        for got in [single, double] {
            let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
            assert!(same, "{name}({x}) = {got}, not {want}");
        }
    }
}
