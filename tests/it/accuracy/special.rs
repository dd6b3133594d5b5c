//! Special values: C99's annex F, C23's for functions that C99 lacks, ours for the rest.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

use porcini_core::Session;

use super::call;

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// A function's name, with arguments and results.
type Values<Row> = &'static [(&'static str, &'static [Row])];

const SPECIAL: Values<(f64, f64)> = &[
    (
        "exp",
        &[(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (NAN, NAN), (1e30, INF), (-1e30, 0.0)],
    ),
    (
        "exp2",
        &[
            (0.0, 1.0),
            (-0.0, 1.0),
            (INF, INF),
            (-INF, 0.0),
            (NAN, NAN),
            (10.0, 1024.0),
            (-3.0, 0.125),
        ],
    ),
    ("exp10", &[(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (NAN, NAN), (1e30, INF)]),
    (
        "expm1",
        &[
            (0.0, 0.0),
            (-0.0, -0.0),
            (INF, INF),
            (-INF, -1.0),
            (NAN, NAN),
            (1e30, INF),
            (-100.0, -1.0),
        ],
    ),
    ("expm1", &[(1e-40, 1e-40), (-1e-40, -1e-40)]),
    (
        "log",
        &[(1.0, 0.0), (0.0, -INF), (-0.0, -INF), (-1.0, NAN), (-INF, NAN), (INF, INF), (NAN, NAN)],
    ),
    (
        "log2",
        &[(1.0, 0.0), (0.0, -INF), (-0.0, -INF), (-1.0, NAN), (-INF, NAN), (INF, INF), (NAN, NAN)],
    ),
    ("log2", &[(1024.0, 10.0), (0.125, -3.0), (7.174648137343064e-43, -140.0)]),
    (
        "log10",
        &[(1.0, 0.0), (0.0, -INF), (-0.0, -INF), (-1.0, NAN), (-INF, NAN), (INF, INF), (NAN, NAN)],
    ),
    (
        "log1p",
        &[(0.0, 0.0), (-0.0, -0.0), (-1.0, -INF), (-2.0, NAN), (-INF, NAN), (INF, INF), (NAN, NAN)],
    ),
    ("log1p", &[(1e-40, 1e-40), (-1e-40, -1e-40)]),
    (
        "cbrt",
        &[
            (0.0, 0.0),
            (-0.0, -0.0),
            (INF, INF),
            (-INF, -INF),
            (NAN, NAN),
            (27.0, 3.0),
            (-8.0, -2.0),
        ],
    ),
    ("sin", &[(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN)]),
    ("cos", &[(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN), (NAN, NAN)]),
    ("tan", &[(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN)]),
    ("cot", &[(0.0, INF), (-0.0, -INF), (INF, NAN), (-INF, NAN), (NAN, NAN)]),
    ("sec", &[(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN), (NAN, NAN)]),
    ("csc", &[(0.0, INF), (-0.0, -INF), (INF, NAN), (-INF, NAN), (NAN, NAN)]),
    (
        "sinpi",
        &[
            (0.0, 0.0),
            (-0.0, -0.0),
            (INF, NAN),
            (-INF, NAN),
            (NAN, NAN),
            (1e30, 0.0),
            (-1e30, -0.0),
        ],
    ),
    (
        "sinpi",
        &[
            (1.0, 0.0),
            (-1.0, -0.0),
            (2.0, 0.0),
            (-2.0, -0.0),
            (0.5, 1.0),
            (1.5, -1.0),
            (-0.5, -1.0),
        ],
    ),
    (
        "cospi",
        &[(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN), (NAN, NAN), (1e30, 1.0), (-1e30, 1.0)],
    ),
    (
        "cospi",
        &[(0.5, 0.0), (-0.5, 0.0), (1.5, 0.0), (-1.5, 0.0), (1.0, -1.0), (-1.0, -1.0), (2.0, 1.0)],
    ),
    (
        "asin",
        &[
            (0.0, 0.0),
            (-0.0, -0.0),
            (1.0, FRAC_PI_2),
            (-1.0, -FRAC_PI_2),
            (1.5, NAN),
            (-INF, NAN),
            (NAN, NAN),
        ],
    ),
    (
        "acos",
        &[
            (1.0, 0.0),
            (0.0, FRAC_PI_2),
            (-0.0, FRAC_PI_2),
            (-1.0, PI),
            (1.5, NAN),
            (-INF, NAN),
            (NAN, NAN),
        ],
    ),
    ("safe_asin", &[(0.0, 0.0), (-0.0, -0.0), (10.0, FRAC_PI_2), (-INF, -FRAC_PI_2), (NAN, NAN)]),
    ("safe_acos", &[(1.0, 0.0), (0.0, FRAC_PI_2), (10.0, 0.0), (-INF, PI), (NAN, NAN)]),
    ("atan", &[(0.0, 0.0), (-0.0, -0.0), (INF, FRAC_PI_2), (-INF, -FRAC_PI_2), (NAN, NAN)]),
    ("sinh", &[(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (NAN, NAN), (1e-40, 1e-40)]),
    ("cosh", &[(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF), (NAN, NAN)]),
    ("tanh", &[(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (NAN, NAN), (1e-40, 1e-40)]),
    ("coth", &[(0.0, INF), (-0.0, -INF), (INF, 1.0), (-INF, -1.0), (NAN, NAN)]),
    ("sech", &[(0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, 0.0), (NAN, NAN)]),
    ("csch", &[(0.0, INF), (-0.0, -INF), (INF, 0.0), (-INF, -0.0), (NAN, NAN)]),
    ("asinh", &[(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (NAN, NAN), (1e-40, 1e-40)]),
    ("acosh", &[(1.0, 0.0), (0.5, NAN), (-INF, NAN), (INF, INF), (NAN, NAN), (-1e30, NAN)]),
    (
        "atanh",
        &[(0.0, 0.0), (-0.0, -0.0), (1.0, INF), (-1.0, -INF), (2.0, NAN), (-INF, NAN), (NAN, NAN)],
    ),
    ("atanh", &[(1e-40, 1e-40), (-1e30, NAN)]),
    ("mantissa", &[(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (NAN, NAN), (-12.0, -0.75)]),
    ("exponent", &[(0.0, 0.0), (-0.0, 0.0), (INF, 0.0), (-INF, 0.0), (NAN, 0.0), (-12.0, 4.0)]),
    ("exponent", &[(1.401298464324817e-45, -148.0)]),
    (
        "fract",
        &[(0.0, 0.0), (-0.0, 0.0), (INF, NAN), (-INF, NAN), (NAN, NAN), (-2.0, 0.0), (-0.25, 0.75)],
    ),
    ("safe_rsqrt", &[(4.0, 0.5), (0.0, INF), (-0.0, INF), (-4.0, INF), (INF, 0.0)]),
];

const SPECIAL_PAIRS: Values<(f64, f64, f64)> = &[
    (
        "pow",
        &[(0.0, 3.0, 0.0), (-0.0, 3.0, -0.0), (0.0, 2.5, 0.0), (-0.0, 2.5, 0.0), (-0.0, 2.0, 0.0)],
    ),
    (
        "pow",
        &[
            (0.0, -3.0, INF),
            (-0.0, -3.0, -INF),
            (0.0, -2.5, INF),
            (-0.0, -2.5, INF),
            (-0.0, -2.0, INF),
        ],
    ),
    ("pow", &[(0.0, -INF, INF), (-0.0, -INF, INF), (0.0, INF, 0.0), (-0.0, INF, 0.0)]),
    (
        "pow",
        &[(-1.0, INF, 1.0), (-1.0, -INF, 1.0), (1.0, INF, 1.0), (1.0, NAN, 1.0), (1.0, -INF, 1.0)],
    ),
    (
        "pow",
        &[(NAN, 0.0, 1.0), (NAN, -0.0, 1.0), (INF, 0.0, 1.0), (-INF, 0.0, 1.0), (0.0, 0.0, 1.0)],
    ),
    (
        "pow",
        &[
            (-2.0, 0.5, NAN),
            (-2.0, 3.0, -8.0),
            (-2.0, -2.0, 0.25),
            (-2.0, 1e30, INF),
            (-0.5, 1e30, 0.0),
        ],
    ),
    (
        "pow",
        &[(0.5, -INF, INF), (2.0, -INF, 0.0), (0.5, INF, 0.0), (2.0, INF, INF), (-2.0, INF, INF)],
    ),
    (
        "pow",
        &[
            (-INF, -3.0, -0.0),
            (-INF, -2.0, 0.0),
            (-INF, 3.0, -INF),
            (-INF, 2.5, INF),
            (-INF, -2.5, 0.0),
        ],
    ),
    (
        "pow",
        &[(INF, -1.0, 0.0), (INF, 1.0, INF), (-INF, INF, INF), (-INF, -INF, 0.0), (INF, -INF, 0.0)],
    ),
    (
        "pow",
        &[(NAN, 1.0, NAN), (2.0, NAN, NAN), (NAN, NAN, NAN), (-1.0, NAN, NAN), (0.0, NAN, NAN)],
    ),
    (
        "pow",
        &[
            (2.0, 10.0, 1024.0),
            (3.0, 4.0, 81.0),
            (10.0, 3.0, 1000.0),
            (4.0, 0.5, 2.0),
            (2.0, -1.0, 0.5),
        ],
    ),
    ("pow", &[(1e-30, 1e30, 0.0), (1e-30, -1e30, INF), (-8.0, 1.0 / 3.0, NAN)]),
    (
        "hypot",
        &[(3.0, 4.0, 5.0), (INF, NAN, INF), (NAN, -INF, INF), (NAN, 1.0, NAN), (1.0, NAN, NAN)],
    ),
    (
        "hypot",
        &[
            (0.0, 0.0, 0.0),
            (-0.0, -0.0, 0.0),
            (-0.0, 2.0, 2.0),
            (-5.0, -12.0, 13.0),
            (1e-45, 0.0, 1e-45),
        ],
    ),
    ("hypot", &[(3e38, 0.0, 3e38), (-INF, -INF, INF)]),
    ("atan2", &[(0.0, -0.0, PI), (-0.0, -0.0, -PI), (0.0, 0.0, 0.0), (-0.0, 0.0, -0.0)]),
    ("atan2", &[(0.0, -1.0, PI), (-0.0, -1.0, -PI), (0.0, 1.0, 0.0), (-0.0, 1.0, -0.0)]),
    (
        "atan2",
        &[
            (-1.0, 0.0, -FRAC_PI_2),
            (-1.0, -0.0, -FRAC_PI_2),
            (1.0, 0.0, FRAC_PI_2),
            (1.0, -0.0, FRAC_PI_2),
        ],
    ),
    ("atan2", &[(1.0, -INF, PI), (-1.0, -INF, -PI), (1.0, INF, 0.0), (-1.0, INF, -0.0)]),
    (
        "atan2",
        &[
            (INF, 1.0, FRAC_PI_2),
            (-INF, 1.0, -FRAC_PI_2),
            (INF, -1.0, FRAC_PI_2),
            (-INF, -1.0, -FRAC_PI_2),
        ],
    ),
    (
        "atan2",
        &[(INF, -INF, 3.0 * FRAC_PI_4), (-INF, -INF, -3.0 * FRAC_PI_4), (INF, INF, FRAC_PI_4)],
    ),
    (
        "atan2",
        &[
            (-INF, INF, -FRAC_PI_4),
            (NAN, 1.0, NAN),
            (1.0, NAN, NAN),
            (NAN, INF, NAN),
            (-INF, NAN, NAN),
        ],
    ),
    (
        "ldexp",
        &[(0.75, 4.0, 12.0), (-0.0, 5.0, -0.0), (INF, -1e9, INF), (NAN, 1.0, NAN), (1.0, NAN, NAN)],
    ),
    (
        "ldexp",
        &[
            (1.0, 1e9, INF),
            (-1.0, -1e9, -0.0),
            (1.0, -140.0, 7.174648137343064e-43),
            (1.0, 2.9, 4.0),
        ],
    ),
    ("ldexp", &[(0.0, INF, 0.0), (1.0, -INF, 0.0), (1.0, INF, INF)]),
];

#[expect(clippy::cast_possible_truncation, reason = "f64 is rounded to f32 on purpose")]
#[test]
fn special_values_are_those_of_c99() {
    let session = Session::new().unwrap();
    let single = SPECIAL
        .iter()
        .flat_map(|(name, rows)| rows.iter().map(move |&(x, want)| (*name, vec![x], want)));
    let pairs = SPECIAL_PAIRS
        .iter()
        .flat_map(|(name, rows)| rows.iter().map(move |&(x, y, want)| (*name, vec![x, y], want)));
    for (name, args, want) in single.chain(pairs) {
        let wide: Vec<Vec<f64>> = args.iter().map(|&x| vec![x]).collect();
        let narrow: Vec<Vec<f32>> = args.iter().map(|&x| vec![x as f32]).collect();
        let got = call(&session, name, &wide.iter().map(Vec::as_slice).collect::<Vec<_>>())[0];
        let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
        assert!(same, "{name}({args:?}) = {got} in f64, not {want}");
        let got = call(&session, name, &narrow.iter().map(Vec::as_slice).collect::<Vec<_>>())[0];
        let want = want as f32;
        let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
        assert!(same, "{name}({args:?}) = {got} in f32, not {want}");
    }
}
