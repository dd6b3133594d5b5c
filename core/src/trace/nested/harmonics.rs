//! Real spherical harmonics, with Enoki's order and signs.

use super::Expr;

/// Highest order.
pub(crate) const MAX_ORDER: usize = 9;

/// `Y[l, m]` of the unit vector x y z for l up to `order`, at place `l * l + l + m`.
///
/// The associated Legendre polynomials come from their recurrence over l, normalised, as polynomials in z;
/// `(x + iy)^m` gives what depends on the azimuth. After Sloan, Efficient Spherical Harmonic Evaluation (2013).
pub(crate) fn harmonics<'r>(d: &[Expr<'r>], order: usize) -> Vec<Expr<'r>> {
    let &[x, y, z] = d else { panic!("internal error: three components expected") };
    let mut values = vec![z; (order + 1) * (order + 1)];
    // Real and imaginary part of (x + iy)^m, and the normalised polynomial of l = m.
    let mut power: Option<(Expr<'r>, Expr<'r>)> = None;
    let mut diagonal = (0.25 / std::f64::consts::PI).sqrt();
    for m in 0..=order {
        if m > 0 {
            power = Some(match power {
                None => (x, y),
                Some((re, im)) => (x * re - y * im, x * im + y * re),
            });
            let ratio = (2 * m + 1) as f64 / (2 * m) as f64;
            diagonal *= -(ratio * if m == 1 { 2.0 } else { 1.0 }).sqrt();
        }
        let (mut before, mut polynomial) = (None, z.constant(diagonal));
        for l in m..=order {
            if l > m {
                let (rise, fall) = recurrence(l as f64, m as f64);
                let next = z * z.constant(rise) * polynomial;
                let next = match before {
                    Some(before) => next + before * z.constant(fall),
                    None => next,
                };
                before = Some(polynomial);
                polynomial = next;
            }
            let middle = l * l + l;
            match power {
                None => values[middle] = polynomial,
                Some((re, im)) => {
                    values[middle + m] = polynomial * re;
                    values[middle - m] = polynomial * im;
                }
            }
        }
    }
    values
}

/// Factors of z times the polynomial of l - 1, and of that of l - 2.
fn recurrence(l: f64, m: f64) -> (f64, f64) {
    let square = l * l - m * m;
    let rise = ((4.0 * l * l - 1.0) / square).sqrt();
    let below = l - 1.0;
    let fall = -((2.0 * l + 1.0) / (2.0 * l - 3.0) * (below * below - m * m) / square).sqrt();
    (rise, fall)
}
