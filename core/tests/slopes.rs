//! Derivatives where a rule that looks right may lose digits, or all of them (S29), beside those of 30-digit arithmetic.

use porcini_core::DType::{F32, F64};
use porcini_core::trace::functions::{FUNCTIONS, Function};
use porcini_core::{Array, DType, Operand, Result, Session};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;
/// The largest finite numbers, or nearly.
const HUGE: f64 = 1.7e308;

/// A function, its type and arguments, the arguments by which it is differentiated in turn, and the derivative.
type Case = (&'static str, DType, &'static [f64], &'static [usize], f64);

const CASES: &[Case] = &[
    // The third kind on ν = −k², at ν = 0 and near to it.
    ("comp_ellint_3", F64, &[0.5, -0.25], &[0], 0.675573328077),
    ("comp_ellint_3", F64, &[0.5, -0.25], &[1], -1.35114665615),
    ("comp_ellint_3", F64, &[0.5, -0.25], &[0, 0], 2.37598101699),
    ("comp_ellint_3", F64, &[0.5, -0.25], &[0, 1], -0.683222907223),
    ("comp_ellint_3", F64, &[0.5, -0.25], &[1, 0], -0.683222907223),
    ("comp_ellint_3", F64, &[0.5, -0.25], &[1, 1], 2.73289162889),
    ("comp_ellint_3", F64, &[0.5, 0.0], &[0], 0.541731848613),
    ("comp_ellint_3", F64, &[0.5, 0.0], &[0, 1], -0.420622230668),
    ("comp_ellint_3", F64, &[0.5, 0.0], &[1, 0], -0.420622230668),
    ("comp_ellint_3", F64, &[0.5, 0.0], &[1, 1], 1.32568293312),
    ("comp_ellint_3", F64, &[0.0, 1e-8], &[1, 1], 1.17809721564),
    ("comp_ellint_3", F64, &[0.0, 1e-4], &[1, 1], 1.17780277232),
    ("comp_ellint_3", F64, &[0.0, 1e-4], &[0, 0], 0.785339263444),
    ("comp_ellint_3", F32, &[0.5, 0.0009765625], &[1, 1], 1.32243187285),
    ("comp_ellint_3", F64, &[0.5, 3.0], &[0], 0.174395497917),
    ("comp_ellint_3", F64, &[0.5, 3.0], &[1], -0.106127570813),
    ("comp_ellint_3", F64, &[0.5, 3.0], &[0, 0], 0.580103840523),
    ("comp_ellint_3", F64, &[0.5, 3.0], &[0, 1], -0.0373328346185),
    ("comp_ellint_3", F64, &[0.5, 3.0], &[1, 1], 0.0403579617265),
    ("comp_ellint_3", F64, &[1.0, 3.0], &[0], INF),
    ("comp_ellint_3", F64, &[1.0, 0.5], &[1], -INF),
    ("comp_ellint_3", F64, &[0.5, -1.0], &[1], -INF),
    ("comp_ellint_3", F64, &[0.5, -1.5], &[1], NAN),
    ("ellint_3", F64, &[1.0, 0.5, -0.25], &[1], 0.186410475665),
    ("ellint_3", F64, &[1.0, 0.5, -0.25], &[1, 2], -0.10298103369),
    ("ellint_3", F64, &[4.0, 0.5, -0.25], &[1], 1.46710737644),
    ("ellint_3", F64, &[4.0, 0.5, -0.25], &[2, 2], 5.66087274864),
    ("ellint_3", F64, &[4.0, 0.5, 0.0], &[2, 1], -0.880053003628),
    ("ellint_3", F64, &[4.0, 0.5, 3.0], &[1, 1], 1.29455679889),
    ("ellint_3", F64, &[4.0, 0.5, 3.0], &[2], -0.264102306731),
    ("ellint_3", F64, &[4.0, 0.5, 3.0], &[2, 0], -0.0837420147259),
    ("ellint_3", F64, &[4.0, 0.5, 3.0], &[0, 2], -0.0837420147259),
    ("ellint_3", F64, &[0.125, 0.75, 2.0], &[1], 0.000481647421068),
    ("ellint_3", F64, &[0.125, 0.75, 2.0], &[2, 2], 1.13818684842e-5),
    // Differences of what is nearly the same, at large x.
    ("dawson", F32, &[6.0], &[0], -0.0145122676945),
    ("dawson", F32, &[20.0], &[0], -0.00125471705615),
    ("dawson", F32, &[20.0], &[0, 0], 0.000125946393068),
    ("dawson", F64, &[-1000.0], &[0], -5.00000750002e-7),
    ("dawson", F64, &[-1000.0], &[0, 0], -1.00000300001e-9),
    ("dawson", F64, &[INF], &[0], 0.0),
    ("dawson", F64, &[INF], &[0, 0], 0.0),
    ("i0e", F32, &[20.0], &[0], -0.00227408970154),
    ("i0e", F32, &[-20.0], &[0], 0.00227408970154),
    ("i0e", F32, &[20.0], &[0, 0], 0.00017286829391),
    ("i0e", F64, &[1e17], &[0], -6.30783130505e-27),
    ("i0e", F64, &[1e17], &[0, 0], 9.46174695758e-44),
    ("i0e", F64, &[INF], &[0, 0], 0.0),
    ("i1e", F32, &[20.0], &[0], -0.00210122140763),
    ("i1e", F32, &[-20.0], &[0, 0], -0.000150958331929),
    ("i1e", F64, &[1e17], &[0], -6.30783130505e-27),
    ("i1e", F64, &[1e17], &[0, 0], 9.46174695758e-44),
    ("i1e", F64, &[0.0], &[0], 0.5),
    ("i1e", F64, &[0.0], &[0, 0], 0.0),
    ("i1e", F64, &[1e-40], &[0, 0], -1.0),
    ("i1e", F64, &[-1e-40], &[0, 0], 1.0),
    // Densities.
    ("xlogy", F64, &[0.0, 2.0], &[1, 0], 0.5),
    ("xlogy", F64, &[0.0, 0.0], &[1], 0.0),
    ("gammainc", F64, &[0.5, 2.0], &[1], 0.0539909665132),
    ("gammainc", F64, &[0.5, 2.0], &[1, 1], -0.0674887081415),
    ("gammainc", F64, &[50.0, 60.0], &[1], 0.0193926646069),
    ("gammainc", F64, &[50.0, 60.0], &[1, 1], -0.0035553218446),
    ("gammainc", F32, &[50.0, 60.0], &[1], 0.0193926646069),
    ("gammainc", F64, &[1e6, 1_000_500.0], &[1], 0.000351904009615),
    ("gammainc", F64, &[50.0, 0.0], &[1], 0.0),
    ("gammainc", F64, &[35.0, 1e-300], &[1, 1], 0.0),
    ("gammainc", F64, &[35.0, 1e-3], &[1], 3.3837720710000e-141),
    ("gammainc", F64, &[35.0, 1e-3], &[1, 1], 1.15044866642e-136),
    ("gammainc", F64, &[35.0, 30.0], &[1, 1], 0.00704794223569),
    ("gammainc", F64, &[1.0, 0.0], &[1], 1.0),
    ("gammainc", F64, &[0.5, 0.0], &[1], INF),
    ("gammainc", F64, &[0.0, 1.0], &[1], 0.0),
    ("gammainc", F64, &[50.0, INF], &[1], 0.0),
    ("gammainc", F64, &[50.0, -1.0], &[1], NAN),
    ("gammaincc", F64, &[31.0, 20.0], &[1], -0.00834353624564),
    ("gammaincc", F64, &[31.0, 20.0], &[1, 1], -0.00417176812282),
    ("betainc", F64, &[2.0, 3.0, 0.25], &[2], 1.6875),
    ("betainc", F64, &[2.0, 3.0, 0.25], &[2, 2], 2.25),
    ("betainc", F64, &[0.5, 0.5, 0.125], &[2], 0.962478627081),
    ("betainc", F64, &[0.5, 0.5, 0.125], &[2, 2], -3.29992672142),
    ("betainc", F64, &[30.0, 40.0, 0.4], &[2, 2], 45.6964934517),
    ("betainc", F64, &[30.0, 40.0, 0.4], &[2, 2, 2], -1421.66868517),
    // At the ends, and so near to one that powers on the way are below the range of the type.
    ("betainc", F64, &[2.0, 3.0, 0.0], &[2, 2], 12.0),
    ("betainc", F64, &[1.0, 2.0, 0.0], &[2, 2], -2.0),
    ("betainc", F64, &[1.5, 2.0, 0.0], &[2, 2], INF),
    ("betainc", F64, &[0.5, 0.5, 0.0], &[2], INF),
    ("betainc", F64, &[0.5, 0.5, 0.0], &[2, 2], -INF),
    ("betainc", F64, &[0.5, 0.5, 1.0], &[2, 2], INF),
    ("betainc", F64, &[2.0, 0.5, 1.0], &[2, 2], INF),
    ("betainc", F64, &[3.0, 1.0, 1.0], &[2, 2], 6.0),
    ("betainc", F64, &[1.5, 2.0, 1.0], &[2, 2], -3.75),
    ("betainc", F64, &[2.0, 3.0, 1e-300], &[2], 1.2e-299),
    ("betainc", F64, &[2.0, 3.0, 1e-300], &[2, 2], 12.0),
    ("betainc", F64, &[1.0, 2.0, 1e-300], &[2, 2], -2.0),
    ("betainc", F64, &[1.5, 2.0, 1e-300], &[2], 3.75e-150),
    ("betainc", F64, &[1.5, 2.0, 1e-300], &[2, 2], 1.875e150),
    ("betainc", F64, &[0.5, 0.5, 1e-300], &[2, 2], -INF),
    ("betainc", F64, &[0.5, 0.5, 1e-100], &[2, 2, 2], 2.38732414638e249),
    ("betainc", F64, &[50.0, 70.0, 0.4375], &[2], 7.85560966852),
    ("betainc", F32, &[50.0, 70.0, 0.4375], &[2], 7.85560966852),
    ("betainc", F64, &[50.0, 70.0, 0.4375], &[2, 2], -83.7931697976),
    ("betainc", F64, &[1e5, 2e5, 0.3333], &[2], 463.204226612),
    ("betainc", F64, &[1.0, 3.0, 0.0], &[2], 3.0),
    ("betainc", F64, &[0.5, 3.0, 0.0], &[2], INF),
    ("betainc", F64, &[2.0, 3.0, 0.0], &[2], 0.0),
    ("betainc", F64, &[2.0, 1.0, 1.0], &[2], 2.0),
    ("betainc", F64, &[2.0, 3.0, 0.0], &[2, 2], 12.0),
    ("betainc", F64, &[2.0, 3.0, 0.0], &[2, 2, 2], -48.0),
    ("betainc", F64, &[2.0, 3.0, 1.0], &[2, 2], 0.0),
    ("betainc", F64, &[2.0, 3.0, 1.0], &[2, 2, 2], 24.0),
    ("betainc", F32, &[3.0, 2.0, 1.0], &[2, 2], -12.0),
    ("betainc", F64, &[0.5, 3.0, 0.0], &[2, 2], -INF),
    ("betainc", F64, &[1000.0, 2000.0, 0.0], &[2, 2], 0.0),
    ("betainc", F64, &[2.0, 3.0, 1.5], &[2], NAN),
    ("beta", F64, &[100.0, 0.25], &[0], -0.00287976348086),
    ("betaln", F64, &[200.0, 0.5], &[0], -0.00250312499023),
    ("betaln", F32, &[1e5, 0.5], &[0], -5.0000125e-6),
    ("i0", F64, &[20.0], &[0, 0], 41_435_533.890_3),
    ("i1", F64, &[0.0], &[0], 0.5),
    ("i1", F64, &[1e-40], &[0], 0.5),
    ("i1", F64, &[-5.0], &[0], 22.3727433951),
    ("i1", F64, &[20.0], &[0], 41_435_533.890_3),
    ("i1", F64, &[800.0], &[0], INF),
    ("j0", F64, &[3.0], &[0], -0.339058958526),
    ("j0", F64, &[3.0], &[0, 0], 0.373071607744),
    ("j0", F64, &[20.0], &[0, 0], -0.163683008132),
    ("j1", F64, &[0.0], &[0], 0.5),
    ("j1", F64, &[1e-40], &[0], 0.5),
    ("j1", F64, &[20.0], &[0], 0.163683008132),
    ("j1", F64, &[3.0], &[0, 0], -0.177028538331),
    ("j1", F64, &[20.0], &[0, 0], -0.074850191772),
    ("j1", F64, &[INF], &[0], 0.0),
    ("y0", F64, &[3.0], &[0], -0.324674424792),
    ("y0", F64, &[3.0], &[0, 0], -0.268625201749),
    ("y0", F64, &[0.0], &[0], INF),
    ("y1", F64, &[3.0], &[0], 0.268625201749),
    ("y1", F64, &[3.0], &[0, 0], -0.37814122262),
    ("y1", F64, &[0.0], &[0], INF),
    ("y1", F64, &[0.0], &[0, 0], -INF),
    ("y0", F64, &[0.0], &[0, 0], -INF),
    // A leg next to nothing.
    ("hypot", F32, &[1e-4, 1.0], &[1, 1], 9.99999985e-9),
    ("hypot", F32, &[1e-2, 1.0], &[1, 1], 9.99850018748e-5),
    ("hypot", F32, &[1.0, 1e-3], &[1, 1], 0.999998500002),
    ("hypot", F64, &[3.0, 4.0], &[1], 0.8),
    ("hypot", F64, &[3.0, 4.0], &[1, 1], 0.072),
    ("hypot", F64, &[3.0, 4.0], &[0, 1], -0.096),
    ("hypot", F64, &[0.0, -4.0], &[1], -1.0),
    ("hypot", F64, &[0.0, 0.0], &[0], 0.0),
    ("hypot", F64, &[0.0, 0.0], &[1], 0.0),
    // The quotient that the value has, not the rounded one.
    ("mod", F64, &[3.0, -0.3], &[1], 11.0),
    ("mod", F64, &[-1e-20, 3.0], &[1], 1.0),
    ("mod", F64, &[-3.0, INF], &[1], 1.0),
    ("mod", F64, &[7.5, 2.0], &[1], -3.0),
    ("fmod", F32, &[16.0, 0.1], &[1], -159.0),
    ("fmod", F64, &[-7.5, 2.0], &[1], 3.0),
    // Where a square overflows, or its slope.
    ("asinh", F32, &[1e30], &[0], 1e-30),
    ("asinh", F64, &[-1e200], &[0], 1e-200),
    ("asinh", F64, &[1.0], &[0, 0], -0.353553390593),
    ("asinh", F64, &[HUGE], &[0, 0], 0.0),
    ("atan", F64, &[HUGE], &[0, 0], 0.0),
    ("atan", F64, &[-HUGE], &[0, 0], 0.0),
    ("erf", F64, &[HUGE], &[0, 0], 0.0),
    ("erf", F64, &[-HUGE], &[0, 0], 0.0),
    ("norm_cdf", F64, &[HUGE], &[0, 0], 0.0),
    ("mish", F64, &[HUGE], &[0, 0], 0.0),
    ("mish", F64, &[-HUGE], &[0, 0], 0.0),
    // Infinite ends.
    ("asin", F64, &[1.0], &[0, 0], INF),
    ("asin", F64, &[-1.0], &[0, 0], -INF),
    ("acos", F64, &[1.0], &[0, 0], -INF),
    ("atanh", F64, &[1.0], &[0, 0], INF),
    ("acosh", F64, &[1.0], &[0, 0], -INF),
    ("cbrt", F64, &[0.0], &[0, 0], -INF),
    ("cbrt", F64, &[-0.0], &[0, 0], INF),
    ("cbrt", F64, &[8.0], &[0, 0], -0.00694444444444),
    ("logit", F64, &[0.0], &[0, 0], -INF),
    ("logit", F64, &[1.0], &[0, 0], INF),
    ("erfinv", F64, &[1.0], &[0, 0], INF),
    ("erfinv", F64, &[-1.0], &[0, 0], -INF),
    ("erfinv", F64, &[0.5], &[0, 0], 1.18074635),
    ("erfcinv", F64, &[0.0], &[0, 0], INF),
    ("erfcinv", F64, &[2.0], &[0, 0], -INF),
    ("norm_ppf", F64, &[0.0], &[0, 0], -INF),
    ("norm_ppf", F64, &[1.0], &[0, 0], INF),
    ("norm_ppf", F64, &[0.25], &[0, 0], -6.67931000753),
    ("softsign", F64, &[NAN], &[0, 0], NAN),
    ("softsign", F64, &[1.0], &[0, 0], -0.25),
    ("softsign", F64, &[0.0], &[0, 0], 0.0),
    ("softsign", F64, &[INF], &[0, 0], 0.0),
    // Tails.
    ("sigmoid", F32, &[16.0], &[0], 1.12535149391e-7),
    ("sigmoid", F32, &[20.0], &[0], 2.06115361394e-9),
    ("sigmoid", F32, &[20.0], &[0, 0], -2.06115360545e-9),
    ("sigmoid", F32, &[-20.0], &[0, 0], 2.06115360545e-9),
    ("tanh", F32, &[10.0], &[0], 8.24461445577e-9),
    ("tanh", F32, &[20.0], &[0, 0], -3.39868340423e-17),
    ("silu", F32, &[10.0], &[0, 0], -0.000363125244429),
    ("silu", F32, &[20.0], &[0, 0], -3.7100764881e-8),
    ("silu", F32, &[-20.0], &[0, 0], -3.7100764881e-8),
    ("mish", F32, &[10.0], &[0, 0], -1.48371621785e-7),
    ("mish", F32, &[15.0], &[0, 0], -1.04805229545e-11),
];

fn call(function: &Function, x: &[Array]) -> Result<Array> {
    let others: Vec<Operand<'_>> = x[1..].iter().map(Operand::from).collect();
    x[0].call(function, &others)
}

/// The derivative by these arguments in turn: each but the last backwards, and that forwards too.
fn derivatives(function: &Function, x: &[Array], by: &[usize]) -> Result<[Array; 2]> {
    let (&last, before) = by.split_last().expect("an argument");
    let marked = x.iter().map(Array::enable_grad).collect::<Result<Vec<_>>>()?;
    let session = x[0].session();
    let y = match before {
        [] => call(function, &marked)?,
        _ => derivatives(function, &marked, before)?[0].clone(),
    };
    let back = session.grad(&[(&y, None)], &[&marked[last]])?.swap_remove(0);
    let forward = session.jvp(&[&y], &[(&marked[last], None)])?.swap_remove(0);
    Ok([back, forward])
}

#[test]
fn no_digits_are_lost() -> Result<()> {
    let session = Session::new()?;
    for &(name, dtype, at, by, expected) in CASES {
        let function = FUNCTIONS.iter().find(|function| function.name == name).unwrap();
        let x: Result<Vec<_>> = at.iter().map(|&x| session.array(&[x])?.cast(dtype)).collect();
        let found = derivatives(function, &x?, by)?;
        let tolerance = if dtype == F64 { 1e-11 } else { 4e-6 };
        for (way, found) in ["back", "forward"].iter().zip(&found) {
            let found = found.item(0)?.to_f64();
            assert!(
                found == expected
                    || found.is_nan() && expected.is_nan()
                    || (found - expected).abs() <= tolerance * expected.abs(),
                "{name} of {dtype} at {at:?} by {by:?}, {way}: {found}, not {expected}"
            );
        }
    }
    Ok(())
}

/// Products of lanes, some of them 0, beside loops over their other factors: by runs of lanes, and runs of runs.
#[test]
fn products_of_lanes_have_the_slopes_of_their_other_factors() -> Result<()> {
    let session = Session::new()?;
    let near =
        |found: f64, expected: f64| (found - expected).abs() <= 1e-9 * (1.0 + expected.abs());
    for n in [2_usize, 16, 17, 300, 20_000] {
        for zeros in [vec![], vec![n / 3], vec![n / 3, 2 * n / 3]] {
            let wave = |i: usize| (i as f64 * 0.37).sin();
            let mut x: Vec<f64> = (0..n).map(|i| 1.0 + 0.01 * wave(i)).collect();
            zeros.iter().for_each(|&zero| x[zero] = 0.0);
            let w: Vec<f64> = (0..n).map(|i| wave(i + 3)).collect();
            // Of the lanes before each, and of those behind it with their weights.
            let mut before = vec![1.0; n];
            (1..n).for_each(|i| before[i] = before[i - 1] * x[i - 1]);
            let (mut others, mut back, mut on) = (before.clone(), w.clone(), w.clone());
            let mut behind = 1.0;
            for i in (0..n).rev() {
                others[i] *= behind;
                behind *= x[i];
                back[i] += if i + 1 < n { x[i + 1] * back[i + 1] } else { 0.0 };
            }
            back.iter_mut().zip(&before).for_each(|(lane, before)| *lane *= before);
            for i in 0..n {
                on[i] = w[i] * before[i] + if i > 0 { x[i] * on[i - 1] } else { 0.0 };
            }
            let (x, w) = (session.array(&x[..])?.enable_grad()?, session.array(&w[..])?);
            let y = x.cumprod()?;
            let found = [
                session.grad(&[(&y, Some(&w))], &[&x])?.swap_remove(0),
                session.jvp(&[&y], &[(&x, Some(&w))])?.swap_remove(0),
                session.grad(&[(&x.hprod()?, None)], &[&x])?.swap_remove(0),
            ];
            for (name, (found, expected)) in
                ["back", "forward", "others"].iter().zip(found.iter().zip([back, on, others]))
            {
                let found = found.to_vec::<f64>()?;
                let pairs = found.iter().zip(&expected);
                let wrong =
                    pairs.enumerate().find(|(_, (found, expected))| !near(**found, **expected));
                assert_eq!(wrong, None, "{name} of {n} lanes, 0 at {zeros:?}");
            }
        }
    }
    // Where the product is 0, and a lane so small that nothing can be divided by it.
    let x = session.array(&[1e-200, 1e-310, 1e-200, 3.0])?.enable_grad()?;
    let slopes = session.grad(&[(&x.cumprod()?, None)], &[&x])?.swap_remove(0).to_vec::<f64>()?;
    assert_eq!(slopes[..2], [1.0, 1e-200], "of products beyond the range");
    // Products of later lanes are beyond the range of the type, and nothing asks for them.
    let x = session.array(&[1.5_f32; 1000])?.enable_grad()?;
    let asked: Vec<f32> = (0..1000).map(|i| f32::from(u8::from(i == 2))).collect();
    let y = x.cumprod()?;
    let slopes = session.grad(&[(&y, Some(&session.array(&asked[..])?))], &[&x])?.swap_remove(0);
    assert_eq!(slopes.to_vec::<f32>()?[..5], [2.25, 2.25, 2.25, 0.0, 0.0]);
    Ok(())
}
