//! Numbers as text (S22): of arrays as C's `%.6g`, a script's own floats so that they read back.

use crate::dtype::Scalar;

/// Digits that decide alone where the exponential notation begins.
const USUAL: usize = 6;

/// A number: floats with `digits` significant digits as C's `%g`, truth values as 1 and 0.
pub fn number(number: Scalar, digits: usize) -> String {
    match number {
        Scalar::Float(x) => general(x, digits, digits),
        Scalar::Bool(truth) => u8::from(truth).to_string(),
        Scalar::Int(_) | Scalar::UInt(_) => number.to_string(),
    }
}

/// The shortest text that reads back as the same float.
pub fn exact(x: f64) -> String {
    let shortest = format!("{x:e}");
    let (mantissa, _) = shortest.split_once('e').unwrap_or((&shortest, ""));
    let digits = mantissa.bytes().filter(u8::is_ascii_digit).count();
    general(x, digits, digits.max(USUAL))
}

/// The shorter of fixed and exponential notation, without trailing zeros; with the exponent `limit` begins the
/// exponential one. C's `%.*g` if that is the number of digits.
fn general(x: f64, digits: usize, limit: usize) -> String {
    if x.is_nan() {
        return "nan".into();
    }
    if x.is_infinite() {
        return if x < 0.0 { "-inf".into() } else { "inf".into() };
    }
    let (digits, limit) = (digits.max(1), i32::try_from(limit.max(1)).unwrap_or(i32::MAX));
    let exponential = format!("{x:.*e}", digits - 1);
    let Some((mantissa, exponent)) = exponential.split_once('e') else { return exponential };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if exponent < -4 || exponent >= limit {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.abs());
    }
    let last = i32::try_from(digits).unwrap_or(i32::MAX) - 1;
    let decimals = usize::try_from(last - exponent).unwrap_or(0);
    without_zeros(&format!("{x:.decimals$}")).into()
}

fn without_zeros(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_print_as_in_c() {
        for (x, want) in [
            (0.523_946, "0.523946"),
            (2e7, "2e+07"),
            (1e-5, "1e-05"),
            (-0.0, "-0"),
            (f64::NAN, "nan"),
            (f64::INFINITY, "inf"),
            (100_000.0, "100000"),
            (1e6, "1e+06"),
            (999_999.5, "1e+06"),
            (0.0001, "0.0001"),
            (f64::from(0.1f32), "0.1"),
            (1.0, "1"),
            (22_026.465, "22026.5"),
        ] {
            assert_eq!(number(Scalar::Float(x), 6), want);
        }
        assert_eq!(number(Scalar::Float(f64::from(1.2f32)), 9), "1.20000005");
    }

    #[test]
    fn floats_of_a_script_read_back() {
        for (x, want) in [
            (1.0 / 3.0, "0.3333333333333333"),
            (0.1 + 0.2, "0.30000000000000004"),
            (0.1, "0.1"),
            (2e7, "2e+07"),
            (100_000.0, "100000"),
            (1e6, "1e+06"),
            (1_234_567.0, "1234567"),
            (1_234_567.25, "1234567.25"),
            (-0.0, "-0"),
            (1e-5, "1e-05"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (9_007_199_254_740_993.0, "9007199254740992"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(exact(x), want);
            assert_eq!(want.parse::<f64>().unwrap().to_bits(), x.to_bits());
        }
        let mut bits = 1_u64;
        for _ in 0..20_000 {
            bits = bits
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let x = f64::from_bits(bits);
            if x.is_finite() {
                assert_eq!(exact(x).parse::<f64>().unwrap().to_bits(), bits, "{x:e}");
            }
        }
    }
}
