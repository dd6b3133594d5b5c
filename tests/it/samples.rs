//! Every float function against a few values of mpmath, in f32 and f64, and special values.
//!
//! `tests/accuracy/sweep.py --samples` writes the values; the sweep itself tries many more points.

#![expect(clippy::cast_possible_truncation, reason = "f64 is rounded to f32 on purpose")]

use porcini_core::ir::op::Class;
use porcini_core::trace::functions::{self, FUNCTIONS, Function};
use porcini_core::{Element, Operand, Session};

const REFERENCES: &str = include_str!("../accuracy/references.py");
const SAMPLES: &str = include_str!("../accuracy/samples.txt");

/// A line of the file: function, bound in ulp, arguments that f32 has too, value in f64.
struct Sample {
    name: &'static str,
    bound: f64,
    arguments: Vec<f64>,
    value: f64,
}

fn samples() -> impl Iterator<Item = Sample> {
    SAMPLES.lines().map(|line| {
        let mut words = line.split(' ');
        let name = words.next().unwrap();
        let mut numbers: Vec<f64> = words.map(|word| word.parse().unwrap()).collect();
        let value = numbers.pop().unwrap();
        Sample { name, bound: numbers.remove(0), arguments: numbers, value }
    })
}

fn call<T: Element>(session: &Session, function: &Function, arguments: &[T]) -> T {
    let arrays: Vec<_> = arguments.iter().map(|&x| session.array(&[x]).unwrap()).collect();
    let operands: Vec<Operand<'_>> = arrays.iter().map(Operand::Array).collect();
    session.call(function, &operands).unwrap().to_vec().unwrap()[0]
}

/// Numbers of the type between two of them; ±0 are one number, infinities follow the largest.
fn steps(a: f64, b: f64, single: bool) -> f64 {
    let place = |x: f64| {
        let bits = if single {
            i64::from((x.abs() as f32).to_bits())
        } else {
            x.abs().to_bits().cast_signed()
        };
        if x < 0.0 { -bits } else { bits }
    };
    if a.is_nan() || b.is_nan() {
        return if a.is_nan() && b.is_nan() { 0.0 } else { f64::INFINITY };
    }
    (place(a) - place(b)).unsigned_abs() as f64
}

#[test]
fn functions_give_the_sampled_values() {
    let session = Session::new().unwrap();
    let mut wrong = Vec::new();
    for Sample { name, bound, arguments, value } in samples() {
        let function = functions::find(name).unwrap_or_else(|| panic!("no function {name}"));
        let singles: Vec<f32> = arguments.iter().map(|&x| x as f32).collect();
        let single = f64::from(call(&session, function, &singles));
        let double = call(&session, function, &arguments);
        // Half an ulp is the rounding of the sample.
        for (got, single) in [(single, true), (double, false)] {
            let error = steps(got, value, single);
            if error > bound + 1.0 {
                wrong.push(format!("{name} {arguments:?}: {got:e}, not {value:e}, {error} steps"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A float function is either exact or has a reference, a bound, samples, and a help text that says so.
#[test]
fn every_float_function_has_a_reference() {
    let (_, exact) = REFERENCES.split_once("EXACT = \"\"\"").unwrap();
    let exact: Vec<&str> = exact.split("\"\"\"").next().unwrap().split_whitespace().collect();
    for function in FUNCTIONS.iter().filter(|function| function.class == Class::Float) {
        let name = function.name;
        if exact.contains(&name) {
            continue;
        }
        assert!(
            REFERENCES.contains(&format!("\"{name}\": Row(")),
            "{name}: add it to FUNCTIONS or EXACT in tests/accuracy/references.py"
        );
        let sample = samples().find(|sample| sample.name == name);
        let sample =
            sample.unwrap_or_else(|| panic!("{name}: run tests/accuracy/sweep.py --samples"));
        let text = function.doc.split_whitespace().collect::<Vec<_>>().join(" ");
        let bound = format!("At most {} ulp", sample.bound);
        assert!(text.contains(&bound), "{name}: its help does not say \"{bound}\"");
    }
}

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// Function, arguments and result where it is exact: zeros, poles, ends of the domain.
const SPECIAL: &[(&str, &[f64], f64)] = &[
    ("erf", &[0.0], 0.0),
    ("erf", &[-0.0], -0.0),
    ("erf", &[INF], 1.0),
    ("erf", &[-INF], -1.0),
    ("erf", &[NAN], NAN),
    ("erfc", &[0.0], 1.0),
    ("erfc", &[-0.0], 1.0),
    ("erfc", &[INF], 0.0),
    ("erfc", &[-INF], 2.0),
    ("erfc", &[NAN], NAN),
    ("erfinv", &[0.0], 0.0),
    ("erfinv", &[-0.0], -0.0),
    ("erfinv", &[1.0], INF),
    ("erfinv", &[-1.0], -INF),
    ("erfinv", &[1.5], NAN),
    ("erfinv", &[-INF], NAN),
    ("erfinv", &[NAN], NAN),
    ("erfcinv", &[0.0], INF),
    ("erfcinv", &[1.0], 0.0),
    ("erfcinv", &[2.0], -INF),
    ("erfcinv", &[-1.0], NAN),
    ("erfcinv", &[INF], NAN),
    ("erfcinv", &[NAN], NAN),
    ("norm_cdf", &[0.0], 0.5),
    ("norm_cdf", &[INF], 1.0),
    ("norm_cdf", &[-INF], 0.0),
    ("norm_cdf", &[NAN], NAN),
    ("norm_ppf", &[0.0], -INF),
    ("norm_ppf", &[1.0], INF),
    ("norm_ppf", &[1.5], NAN),
    ("norm_ppf", &[NAN], NAN),
    ("lgamma", &[0.0], INF),
    ("lgamma", &[-0.0], INF),
    ("lgamma", &[1.0], 0.0),
    ("lgamma", &[2.0], 0.0),
    ("lgamma", &[-1.0], INF),
    ("lgamma", &[-1e30], INF),
    ("lgamma", &[INF], INF),
    ("lgamma", &[-INF], INF),
    ("lgamma", &[NAN], NAN),
    ("tgamma", &[0.0], INF),
    ("tgamma", &[-0.0], -INF),
    ("tgamma", &[1.0], 1.0),
    ("tgamma", &[-1.0], NAN),
    ("tgamma", &[-1e30], NAN),
    ("tgamma", &[1e30], INF),
    ("tgamma", &[INF], INF),
    ("tgamma", &[-INF], NAN),
    ("tgamma", &[NAN], NAN),
    ("digamma", &[0.0], -INF),
    ("digamma", &[-0.0], INF),
    ("digamma", &[-1.0], NAN),
    ("digamma", &[-1e30], NAN),
    ("digamma", &[INF], INF),
    ("digamma", &[-INF], NAN),
    ("digamma", &[NAN], NAN),
    ("trigamma", &[0.0], INF),
    ("trigamma", &[-0.0], INF),
    ("trigamma", &[-1.0], INF),
    ("trigamma", &[-1e30], INF),
    ("trigamma", &[INF], 0.0),
    ("trigamma", &[-INF], NAN),
    ("trigamma", &[NAN], NAN),
    ("xlogy", &[0.0, 0.0], 0.0),
    ("xlogy", &[-0.0, -1.0], 0.0),
    ("xlogy", &[0.0, INF], 0.0),
    ("xlogy", &[0.0, NAN], NAN),
    ("xlogy", &[2.0, 0.0], -INF),
    ("xlogy", &[-2.0, 0.0], INF),
    ("xlogy", &[3.0, 1.0], 0.0),
    ("xlogy", &[NAN, 1.0], NAN),
    ("entr", &[0.0], 0.0),
    ("entr", &[-0.0], 0.0),
    ("entr", &[1.0], 0.0),
    ("entr", &[-1.0], -INF),
    ("entr", &[INF], -INF),
    ("entr", &[NAN], NAN),
    ("gammainc", &[1.0, 0.0], 0.0),
    ("gammainc", &[0.5, 0.0], 0.0),
    ("gammainc", &[0.0, 1.0], 1.0),
    ("gammainc", &[0.0, INF], 1.0),
    ("gammainc", &[2.0, INF], 1.0),
    ("gammainc", &[INF, 2.0], 0.0),
    ("gammainc", &[INF, 0.0], 0.0),
    ("gammainc", &[1e30, 3.0], 0.0),
    ("gammainc", &[3.0, 1e30], 1.0),
    ("gammainc", &[0.0, 0.0], NAN),
    ("gammainc", &[INF, INF], NAN),
    ("gammainc", &[-1.0, 1.0], NAN),
    ("gammainc", &[1.0, -1.0], NAN),
    ("gammainc", &[NAN, 1.0], NAN),
    ("gammainc", &[1.0, NAN], NAN),
    ("gammaincc", &[1.0, 0.0], 1.0),
    ("gammaincc", &[0.5, 0.0], 1.0),
    ("gammaincc", &[0.0, 1.0], 0.0),
    ("gammaincc", &[0.0, 0.5], 0.0),
    ("gammaincc", &[2.0, INF], 0.0),
    ("gammaincc", &[INF, 2.0], 1.0),
    ("gammaincc", &[0.0, 0.0], NAN),
    ("gammaincc", &[INF, INF], NAN),
    ("gammaincc", &[-1.0, 1.0], NAN),
    ("gammaincc", &[1.0, NAN], NAN),
    ("beta", &[0.0, 1.0], INF),
    ("beta", &[1.0, 0.0], INF),
    ("beta", &[1.0, INF], 0.0),
    ("beta", &[INF, 2.0], 0.0),
    ("beta", &[-1.5, 2.0], NAN),
    ("beta", &[1.0, NAN], NAN),
    ("betaln", &[0.0, 1.0], INF),
    ("betaln", &[1.0, INF], -INF),
    ("betaln", &[2.0, -1.0], NAN),
    ("betaln", &[NAN, 1.0], NAN),
    ("betainc", &[2.0, 3.0, 0.0], 0.0),
    ("betainc", &[2.0, 3.0, 1.0], 1.0),
    ("betainc", &[3.0, 2.0, 0.0], 0.0),
    ("betainc", &[3.0, 2.0, 1.0], 1.0),
    ("betainc", &[0.0, 3.0, 0.5], 1.0),
    ("betainc", &[0.0, 3.0, 0.0], 0.0),
    ("betainc", &[3.0, 0.0, 0.5], 0.0),
    ("betainc", &[3.0, 0.0, 1.0], 1.0),
    ("betainc", &[INF, 3.0, 0.5], 0.0),
    ("betainc", &[3.0, INF, 0.5], 1.0),
    ("betainc", &[0.0, 0.0, 0.5], NAN),
    ("betainc", &[INF, INF, 0.5], NAN),
    ("betainc", &[-1.0, 3.0, 0.5], NAN),
    ("betainc", &[3.0, -1.0, 0.5], NAN),
    ("betainc", &[2.0, 3.0, -0.5], NAN),
    ("betainc", &[2.0, 3.0, 1.5], NAN),
    ("betainc", &[NAN, 3.0, 0.5], NAN),
    ("betainc", &[2.0, 3.0, NAN], NAN),
    ("i0e", &[0.0], 1.0),
    ("i0e", &[-INF], 0.0),
    ("i0e", &[NAN], NAN),
    ("i1e", &[0.0], 0.0),
    ("i1e", &[-0.0], -0.0),
    ("i1e", &[-INF], -0.0),
    ("i1e", &[NAN], NAN),
    ("i0", &[0.0], 1.0),
    ("i0", &[-INF], INF),
    ("i0", &[1e30], INF),
    ("i0", &[NAN], NAN),
    ("i1", &[0.0], 0.0),
    ("i1", &[-0.0], -0.0),
    ("i1", &[-INF], -INF),
    ("i1", &[1e30], INF),
    ("i1", &[NAN], NAN),
    ("j0", &[0.0], 1.0),
    ("j0", &[-0.0], 1.0),
    ("j0", &[INF], 0.0),
    ("j0", &[-INF], 0.0),
    ("j0", &[NAN], NAN),
    ("j1", &[0.0], 0.0),
    ("j1", &[-0.0], -0.0),
    ("j1", &[INF], 0.0),
    ("j1", &[-INF], -0.0),
    ("j1", &[NAN], NAN),
    ("y0", &[0.0], -INF),
    ("y0", &[INF], 0.0),
    ("y0", &[-1.0], NAN),
    ("y0", &[-INF], NAN),
    ("y0", &[NAN], NAN),
    ("y1", &[0.0], -INF),
    ("y1", &[INF], 0.0),
    ("y1", &[-10.0], NAN),
    ("y1", &[NAN], NAN),
    ("dawson", &[0.0], 0.0),
    ("dawson", &[-0.0], -0.0),
    ("dawson", &[INF], 0.0),
    ("dawson", &[-INF], -0.0),
    ("dawson", &[NAN], NAN),
    ("comp_ellint_1", &[1.0], INF),
    ("comp_ellint_1", &[-1.0], INF),
    ("comp_ellint_1", &[1.5], NAN),
    ("comp_ellint_1", &[INF], NAN),
    ("comp_ellint_1", &[NAN], NAN),
    ("comp_ellint_2", &[1.0], 1.0),
    ("comp_ellint_2", &[-1.5], NAN),
    ("comp_ellint_2", &[NAN], NAN),
    ("comp_ellint_3", &[1.0, 0.5], INF),
    ("comp_ellint_3", &[1.0, -0.5], INF),
    ("comp_ellint_3", &[0.5, -1.0], INF),
    ("comp_ellint_3", &[1.0, -1.0], INF),
    ("comp_ellint_3", &[0.5, -2.0], NAN),
    ("comp_ellint_3", &[1.5, 0.5], NAN),
    ("comp_ellint_3", &[0.5, NAN], NAN),
    ("ellint_1", &[0.0, 0.5], 0.0),
    ("ellint_1", &[-0.0, 0.5], -0.0),
    ("ellint_1", &[4.0, 1.0], INF),
    ("ellint_1", &[-4.0, 1.0], -INF),
    ("ellint_1", &[1.0, 2.0], NAN),
    ("ellint_1", &[INF, 0.5], NAN),
    ("ellint_1", &[0.5, NAN], NAN),
    ("ellint_2", &[0.0, 0.5], 0.0),
    ("ellint_2", &[-0.0, 0.5], -0.0),
    ("ellint_2", &[1.0, 2.0], NAN),
    ("ellint_2", &[INF, 0.5], NAN),
    ("ellint_2", &[NAN, 0.5], NAN),
    ("ellint_3", &[0.0, 0.5, 0.5], 0.0),
    ("ellint_3", &[-0.0, 0.5, -0.5], -0.0),
    ("ellint_3", &[-4.0, 1.0, -0.5], -INF),
    ("ellint_3", &[1.0, 0.5, -2.0], NAN),
    ("ellint_3", &[1.0, 0.5, NAN], NAN),
    ("rcbrt", &[0.0], INF),
    ("rcbrt", &[-0.0], -INF),
    ("rcbrt", &[-8.0], -0.5),
    ("rcbrt", &[-INF], -0.0),
    ("rcbrt", &[NAN], NAN),
    ("logaddexp", &[INF, INF], INF),
    ("logaddexp", &[-INF, -INF], -INF),
    ("logaddexp", &[INF, -INF], INF),
    ("logaddexp", &[-INF, 2.0], 2.0),
    ("logaddexp", &[2.0, -INF], 2.0),
    ("logaddexp", &[NAN, INF], NAN),
    ("sigmoid", &[-0.0], 0.5),
    ("sigmoid", &[INF], 1.0),
    ("sigmoid", &[-INF], 0.0),
    ("sigmoid", &[NAN], NAN),
    ("log_sigmoid", &[INF], 0.0),
    ("log_sigmoid", &[-INF], -INF),
    ("log_sigmoid", &[NAN], NAN),
    ("logit", &[0.0], -INF),
    ("logit", &[-0.0], -INF),
    ("logit", &[0.5], 0.0),
    ("logit", &[1.0], INF),
    ("logit", &[1.5], NAN),
    ("logit", &[-1.0], NAN),
    ("logit", &[INF], NAN),
    ("logit", &[-INF], NAN),
    ("logit", &[NAN], NAN),
    ("softrelu", &[INF], INF),
    ("softrelu", &[-INF], 0.0),
    ("softrelu", &[NAN], NAN),
    ("softsign", &[-0.0], -0.0),
    ("softsign", &[INF], 1.0),
    ("softsign", &[-INF], -1.0),
    ("softsign", &[NAN], NAN),
    ("silu", &[-0.0], -0.0),
    ("silu", &[INF], INF),
    ("silu", &[-INF], -0.0),
    ("silu", &[NAN], NAN),
    ("mish", &[-0.0], -0.0),
    ("mish", &[INF], INF),
    ("mish", &[-INF], -0.0),
    ("mish", &[NAN], NAN),
    ("gelu_erf", &[-0.0], -0.0),
    ("gelu_erf", &[INF], INF),
    ("gelu_erf", &[-INF], -0.0),
    ("gelu_erf", &[NAN], NAN),
    ("elu", &[-INF, 2.0], -2.0),
    ("elu", &[INF, 2.0], INF),
    ("elu", &[NAN, 2.0], NAN),
    ("smooth_l1", &[INF, 1.0], INF),
    ("smooth_l1", &[NAN, 1.0], NAN),
    ("leaky_relu", &[-INF, 0.5], -INF),
    ("hard_sigmoid", &[-INF, 0.2, 0.5], 0.0),
    ("hard_sigmoid", &[INF, 0.2, 0.5], 1.0),
    ("hard_sigmoid", &[NAN, 0.2, 0.5], NAN),
    ("nextafter", &[NAN, 1.0], NAN),
    ("nextafter", &[1.0, NAN], NAN),
    ("nextafter", &[0.0, -0.0], -0.0),
    ("nextafter", &[-0.0, 0.0], 0.0),
    ("nextafter", &[INF, INF], INF),
    ("nextafter", &[-INF, -INF], -INF),
    ("round_away", &[0.5], 1.0),
    ("round_away", &[-2.5], -3.0),
    ("round_away", &[-0.25], -0.0),
    ("round_away", &[8_388_609.0], 8_388_609.0),
    ("round_away", &[-INF], -INF),
    ("round_away", &[NAN], NAN),
    ("heaviside", &[-0.0, 0.25], 0.25),
    ("heaviside", &[-1.0, NAN], 0.0),
    ("heaviside", &[NAN, 0.5], NAN),
    ("mod", &[-1.0, INF], INF),
    ("mod", &[1.0, INF], 1.0),
    ("mod", &[-6.0, 3.0], 0.0),
    ("mod", &[6.0, -3.0], -0.0),
    ("mod", &[5.0, 0.0], NAN),
    ("mod", &[INF, 3.0], NAN),
    ("floor_divide", &[-1.0, INF], -1.0),
    ("floor_divide", &[1.0, INF], 0.0),
    ("floor_divide", &[-7.0, 2.0], -4.0),
    ("floor_divide", &[5.0, 0.0], INF),
    ("floor_divide", &[0.0, 0.0], NAN),
    ("floor_divide", &[-0.0, 3.0], -0.0),
    ("sgn", &[-0.0], 0.0),
    ("sgn", &[-INF], -1.0),
    ("sgn", &[NAN], NAN),
    ("relu", &[-0.0], 0.0),
    ("relu", &[NAN], NAN),
    ("linear_to_srgb", &[0.0], 0.0),
    ("linear_to_srgb", &[-0.0], -0.0),
    ("linear_to_srgb", &[INF], INF),
    ("linear_to_srgb", &[NAN], NAN),
    ("srgb_to_linear", &[-0.0], -0.0),
    ("srgb_to_linear", &[INF], INF),
    ("srgb_to_linear", &[NAN], NAN),
];

#[test]
fn special_values_are_exact() {
    let session = Session::new().unwrap();
    for &(name, arguments, want) in SPECIAL {
        let singles: Vec<f32> = arguments.iter().map(|&x| x as f32).collect();
        let function = functions::find(name).unwrap();
        let single = f64::from(call(&session, function, &singles));
        for got in [single, call(&session, function, arguments)] {
            let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
            assert!(same, "{name}{arguments:?} = {got}, not {want}");
        }
    }
}
