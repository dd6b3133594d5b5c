//! Derivatives by differences, and by each other (S29).

use porcini_core::ir::op::{Class, OPS, Op, Shape};
use porcini_core::trace::functions::FUNCTIONS;
use porcini_core::{Array, DType, Operand, Result, Session};

/// What is differentiated: lanes of some arguments to lanes.
type Function<'f> = dyn Fn(&[Array]) -> Result<Array> + 'f;

/// Places away from kinks, within and beyond where functions are defined.
const PLACES: [f64; 16] = [
    -7.3, -2.6, -1.21, -0.83, -0.41, -0.107, -0.013, 0.017, 0.113, 0.37, 0.72, 0.93, 1.19, 2.3,
    5.7, 11.9,
];

/// All pairs, or triples, of places: lanes of each argument.
fn grid(arity: usize) -> Vec<Vec<f64>> {
    // Remainders by small numbers are nothing but kinks.
    let places: Vec<f64> = PLACES.into_iter().filter(|x| arity == 1 || x.abs() > 0.1).collect();
    let power = |n: usize| places.len().pow(u32::try_from(n).unwrap());
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
fn differences(f: &Function<'_>, x: &[Array], i: usize) -> Result<Vec<f64>> {
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
fn check(name: &str, f: &Function<'_>, x: &[Array], order: u32) -> Result<usize> {
    let session = x[0].session();
    let marked = x.iter().map(Array::enable_grad).collect::<Result<Vec<_>>>()?;
    let mut n_compared = 0;
    for i in 0..x.len() {
        let y = f(&marked)?;
        if !y.is_tracked() {
            continue;
        }
        let found = session.grad(&[(&y, None)], &[&marked[i]])?.swap_remove(0).to_vec::<f64>()?;
        let one = session.jvp(&[&y], &[(&marked[i], None)])?.swap_remove(0).to_vec::<f64>()?;
        let expected = differences(f, x, i)?;
        for (k, (&found, &expected)) in found.iter().zip(&expected).enumerate() {
            let at = || {
                let at = x.iter().map(|x| x.item(k.try_into().unwrap()).map(|x| x.to_f64()));
                format!("{name}, order {order}, by argument {i} at {:?}", at.collect::<Vec<_>>())
            };
            assert!(one[k].to_bits() == found.to_bits() || one[k].is_nan() && found.is_nan()
                || near(one[k], found, 1e-9), "{}: {} forward, {found} reverse", at(), one[k]);
            if expected.is_finite() {
                n_compared += 1;
                assert!(near(found, expected, 2e-6), "{}: {found}, by differences {expected}", at());
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

fn arguments(session: &Session, arity: usize) -> Result<Vec<Array>> {
    grid(arity).iter().map(|lanes| session.array(&lanes[..])).collect()
}

#[test]
fn functions_have_the_slopes_of_differences() -> Result<()> {
    let session = Session::new()?;
    for function in FUNCTIONS.iter().filter(|function| function.is_of_floats()) {
        let x = arguments(&session, function.arity)?;
        let f = |x: &[Array]| {
            let others: Vec<Operand<'_>> = x[1..].iter().map(Operand::from).collect();
            x[0].call(function, &others)
        };
        let n = check(function.name, &f, &x, 1)?;
        assert!(n >= 4, "{}: {n} places compared", function.name);
    }
    Ok(())
}

#[test]
fn operations_have_the_slopes_of_differences() -> Result<()> {
    let session = Session::new()?;
    let is_of_floats = |class: Class| class.contains(DType::F64);
    let rows = OPS.iter().filter(|row| is_of_floats(row.class) && row.shape == Shape::Same);
    for row in rows {
        let x = arguments(&session, row.arity)?;
        let f = |x: &[Array]| {
            let others: Vec<Operand<'_>> = x[1..].iter().map(Operand::from).collect();
            x[0].apply(row.op, &others)
        };
        let n = check(row.name, &f, &x, 1)?;
        assert!(n > 8, "{}: {n} places compared", row.name);
    }
    let x = arguments(&session, 2)?;
    let chosen = |x: &[Array]| x[0].gt(&x[1])?.apply(Op::Select, &[(&x[0]).into(), (&x[1]).into()]);
    check("select", &chosen, &x, 1)?;
    Ok(())
}
