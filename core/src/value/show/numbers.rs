//! Numbers as text (S22): of arrays as C's `%.6g`, a script's own floats so that they read back.

use crate::dtype::{DType, Scalar};

/// How many digits of a float are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Digits {
    /// So many that count, as C's `%.6g`.
    Significant(usize),
    /// So many behind the point, as C's `%.2f`.
    Decimals(usize),
    /// So many behind the point of a number from 1 to 10, as C's `%.2e`.
    Exponential(usize),
    /// As few as read back as the same float of its type.
    Shortest,
}

impl From<usize> for Digits {
    fn from(n: usize) -> Self {
        Self::Significant(n)
    }
}

/// Digits that decide alone where the exponential notation begins.
const USUAL: usize = 6;

/// A number of a type: floats with so many digits, truth values as 1 and 0. Integers have them all, and a fraction
/// where one is asked for.
pub fn number(number: Scalar, dtype: DType, digits: Digits) -> String {
    match (number, digits) {
        (Scalar::Float(x), Digits::Decimals(n)) if x.is_finite() => format!("{x:.n$}"),
        (Scalar::Float(x), Digits::Exponential(n)) if x.is_finite() => exponential(x, n),
        (Scalar::Float(x), Digits::Shortest) => {
            let n = needed(x, dtype);
            general(x, n, n.max(USUAL))
        }
        (Scalar::Float(x), Digits::Significant(n)) => general(x, n, n),
        (Scalar::Float(x), _) => general(x, USUAL, USUAL),
        (Scalar::Bool(truth), _) => u8::from(truth).to_string(),
        (_, Digits::Decimals(n @ 1..)) => format!("{number}.{:0<n$}", ""),
        (_, Digits::Exponential(n)) => exponential(number.to_f64(), n),
        (Scalar::Int(_) | Scalar::UInt(_), _) => number.to_string(),
    }
}

/// Digits of the shortest text that reads back as the same float of its type.
fn needed(x: f64, dtype: DType) -> usize {
    let shortest = match dtype.significand_digits() {
        53 => format!("{x:e}"),
        24 => format!("{:e}", Scalar::Float(x).to_f32()),
        _ => {
            let reads_back = |text: &String| {
                let read = Scalar::Float(text.parse().unwrap_or(f64::NAN));
                dtype.encode(read).is_ok_and(|bits| dtype.decode(bits) == Scalar::Float(x))
            };
            let mut texts = (0..USUAL).map(|n| format!("{x:.n$e}"));
            texts.find(reads_back).unwrap_or_default()
        }
    };
    let (mantissa, _) = shortest.split_once('e').unwrap_or((&shortest, ""));
    mantissa.bytes().filter(u8::is_ascii_digit).count()
}

/// C's `%.*e`.
fn exponential(x: f64, digits: usize) -> String {
    let text = format!("{x:.digits$e}");
    let Some((mantissa, exponent)) = text.split_once('e') else { return text };
    let sign = if exponent.starts_with('-') { '-' } else { '+' };
    format!("{mantissa}e{sign}{:0>2}", exponent.trim_start_matches('-'))
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
            assert_eq!(number(Scalar::Float(x), DType::F32, 6.into()), want);
        }
        let shown = |x, digits| number(Scalar::Float(x), DType::F64, digits);
        assert_eq!(shown(f64::from(1.2f32), 9.into()), "1.20000005");
        assert_eq!(shown(2.0 / 3.0, Digits::Decimals(2)), "0.67");
        assert_eq!(shown(-1e6, Digits::Decimals(0)), "-1000000");
        assert_eq!(shown(12345.0, Digits::Exponential(2)), "1.23e+04");
        assert_eq!(shown(0.012, Digits::Exponential(0)), "1e-02");
        assert_eq!(shown(f64::NAN, Digits::Decimals(2)), "nan");
        let integer = |digits| number(Scalar::Int(i64::MIN), DType::I64, digits);
        assert_eq!(integer(Digits::Decimals(2)), "-9223372036854775808.00");
        assert_eq!(integer(Digits::Decimals(0)), "-9223372036854775808");
        assert_eq!(integer(Digits::Exponential(1)), "-9.2e+18");
    }

    #[test]
    fn narrow_floats_read_back_as_what_they_are() {
        let shown = |x: f64, dtype| number(Scalar::Float(x), dtype, Digits::Shortest);
        assert_eq!(shown(f64::from(0.1f32), DType::F32), "0.1");
        assert_eq!(shown(f64::from(0.1f32), DType::F64), "0.10000000149011612");
        assert_eq!(shown(f64::from(16_777_216.0f32), DType::F32), "16777216");
        for bits in 0..0x7c00 {
            let Scalar::Float(x) = DType::F16.decode(bits) else { unreachable!() };
            let read = shown(x, DType::F16).parse::<f64>().unwrap();
            assert_eq!(DType::F16.encode(Scalar::Float(read)), Ok(bits));
        }
        assert_eq!(shown(0.099_975_585_937_5, DType::F16), "0.1");
    }

    #[test]
    fn floats_of_a_script_read_back() {
        let exact = |x: f64| number(Scalar::Float(x), DType::F64, Digits::Shortest);
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
