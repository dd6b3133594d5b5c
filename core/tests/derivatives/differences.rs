//! How derivatives are compared with differences.

use porcini_core::trace::functions;
use porcini_core::{Array, DType, Result, Session};

/// What is differentiated: lanes of some arguments to lanes.
pub(crate) type Lanes<'f> = dyn Fn(&[Array]) -> Result<Array> + 'f;

/// Places away from kinks, within and beyond where functions are defined.
const PLACES: [f64; 16] = [
    -7.3, -2.6, -1.21, -0.83, -0.41, -0.107, -0.013, 0.017, 0.113, 0.37, 0.72, 0.93, 1.19, 2.3,
    5.7, 11.9,
];

/// All pairs, or triples, of places: lanes of each argument.
fn grid(arity: usize) -> Vec<Vec<f64>> {
    // Remainders by small numbers are nothing but kinks.
    let places: Vec<f64> = PLACES.into_iter().filter(|x| arity == 1 || x.abs() > 0.1).collect();
    let power = |n: usize| std::iter::repeat_n(places.len(), n).product::<usize>();
    let n = power(arity);
    let of = |argument: usize| {
        let step = power(argument);
        // No two arguments are the same, nor their sums.
        let shift = [0.0, 0.0031, 0.0057][argument];
        (0..n).map(|i| places[i / step % places.len()] + shift).collect()
    };
    (0..arity).map(of).collect()
}

/// The derivative by the i-th argument by differences over `h` and `2 h`; NaN where those of `h / 2` differ.
fn differences(f: &Lanes<'_>, x: &[Array], i: usize) -> Result<Vec<f64>> {
    let at = |h: f64| -> Result<Vec<f64>> {
        let moved = |steps: f64| -> Result<Vec<f64>> {
            let mut x = x.to_vec();
            let step = x[i].abs()?.maximum(0.05)?.try_mul(h * steps)?;
            x[i] = x[i].try_add(&step)?;
            f(&x)?.to_vec()
        };
        let [a, b, c, d] = [moved(-2.0)?, moved(-1.0)?, moved(1.0)?, moved(2.0)?];
        let size = x[i].abs()?.maximum(0.05)?.try_mul(h)?.to_vec::<f64>()?;
        let lane = |k: usize| (a[k] - 8.0 * b[k] + 8.0 * c[k] - d[k]) / (12.0 * size[k]);
        Ok((0..a.len()).map(lane).collect())
    };
    let (coarse, fine) = (at(1e-3)?, at(5e-4)?);
    let agree = |(a, b): (&f64, &f64)| if near(*a, *b, 1e-7) { *b } else { f64::NAN };
    Ok(coarse.iter().zip(&fine).map(agree).collect())
}

fn near(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * (1.0 + a.abs().max(b.abs()))
}

/// Compares both modes, and those of the derivative, with differences. The number of places compared.
pub(crate) fn check(name: &str, f: &Lanes<'_>, x: &[Array], order: u32) -> Result<usize> {
    let session = x[0].session();
    let marked = x.iter().map(Array::enable_grad).collect::<Result<Vec<_>>>()?;
    let mut n_compared = 0;
    for i in 0..x.len() {
        if order == 1 && functions::find(name).is_some_and(|row| !row.has_partial(i)) {
            continue;
        }
        let y = f(&marked)?;
        if !y.is_tracked() {
            continue;
        }
        let found = session.grad(&[(&y, None)], &[&marked[i]])?.swap_remove(0).to_vec::<f64>()?;
        let one = session.jvp(&[&y], &[(&marked[i], None)])?.swap_remove(0).to_vec::<f64>()?;
        let expected = differences(f, x, i)?;
        for (k, (&found, &expected)) in found.iter().zip(&expected).enumerate() {
            let at = || {
                let at = x.iter().map(|x| x.to_vec::<f64>().map(|x| x[k]));
                format!("{name}, order {order}, by argument {i} at {:?}", at.collect::<Vec<_>>())
            };
            assert!(
                one[k].to_bits() == found.to_bits()
                    || one[k].is_nan() && found.is_nan()
                    || near(one[k], found, 1e-9),
                "{}: {} forward, {found} reverse",
                at(),
                one[k]
            );
            if expected.is_finite() {
                n_compared += 1;
                assert!(
                    near(found, expected, 2e-6),
                    "{}: {found}, by differences {expected}",
                    at()
                );
            }
        }
        if order < 2 {
            let slope = |x: &[Array]| {
                let x = x.iter().map(Array::enable_grad).collect::<Result<Vec<_>>>()?;
                let y = f(&x)?;
                Ok(y.session().grad(&[(&y, None)], &[&x[i]])?.swap_remove(0))
            };
            check(name, &slope, x, order + 1)?;
        }
    }
    Ok(n_compared)
}

pub(crate) fn arguments(session: &Session, arity: usize) -> Result<Vec<Array>> {
    grid(arity).iter().map(|lanes| session.array(&lanes[..])).collect()
}

/// What goes across lanes, of the only argument.
pub(crate) type Whole<'f> = dyn Fn(&Array) -> Result<Array> + 'f;

fn sum(x: &Array) -> Result<f64> {
    Ok(x.hsum()?.item(0)?.to_f64())
}

/// Compares the derivative in a direction by both modes and by differences, then that of the gradient.
pub(crate) fn check_across(name: &str, f: &Whole<'_>, x: &Array, order: u32) -> Result<()> {
    let session = x.session();
    let mixed = |n: u64, start: f64| -> Result<Array> {
        session.linspace(DType::F64, start, start + n as f64, n)?.sin()
    };
    let marked = x.enable_grad()?;
    let y = f(&marked)?;
    let (t, w) = (mixed(x.size(), 0.3)?, mixed(y.size(), 1.1)?);
    let gradient = session.grad(&[(&y, Some(&w))], &[&marked])?.swap_remove(0);
    let tangent = session.jvp(&[&y], &[(&marked, Some(&t))])?.swap_remove(0);
    let (reverse, forward) = (sum(&gradient.try_mul(&t)?)?, sum(&tangent.try_mul(&w)?)?);
    let at = |h: f64| -> Result<f64> { sum(&f(&x.try_add(&t.try_mul(h)?)?)?.try_mul(&w)?) };
    let h = 2e-4;
    let expected = (at(-2.0 * h)? - 8.0 * at(-h)? + 8.0 * at(h)? - at(2.0 * h)?) / (12.0 * h);
    assert!(
        near(forward, reverse, 1e-9),
        "{name}, order {order}: {forward} forward, {reverse} reverse"
    );
    assert!(
        near(reverse, expected, 1e-6),
        "{name}, order {order}: {reverse}, by differences {expected}"
    );
    if order < 2 {
        let slope = |x: &Array| {
            let x = x.enable_grad()?;
            let y = f(&x)?;
            Ok(session.grad(&[(&y, Some(&w))], &[&x])?.swap_remove(0))
        };
        check_across(name, &slope, x, order + 1)?;
    }
    Ok(())
}
