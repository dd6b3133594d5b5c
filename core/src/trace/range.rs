//! How many values a range has.

use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::ir::scalar::CastFrom;

/// Number of values of a range, the stop excluded.
pub(crate) fn range_size(start: Scalar, stop: Scalar, step: Scalar) -> Result<u64> {
    let too_many = || Error::Argument {
        op: "arange",
        what: format!("{start} to {stop} by {step} is no finite range"),
    };
    if step.to_f64() == 0.0 {
        return Err(Error::Argument { op: "arange", what: "the step is zero".into() });
    }
    if let (Some(start), Some(stop), Some(step)) = (start.integer(), stop.integer(), step.integer())
    {
        let distance = stop - start;
        let n = ((distance + step - step.signum()) / step).max(0);
        return u64::try_from(n).map_err(|_| too_many());
    }
    if ![start, stop, step].iter().all(|number| number.to_f64().is_finite()) {
        return Err(too_many());
    }
    let n = ((stop.to_f64() - start.to_f64()) / step.to_f64()).ceil().max(0.0);
    if n < 9e18 { Ok(<u64 as CastFrom<f64>>::cast_from(n)) } else { Err(too_many()) }
}

/// Fails if a range of integers leaves its type. `UInt64C` takes negative integers as bit patterns (S7).
pub(crate) fn check_range(
    dtype: DType,
    start: Scalar,
    stop: Scalar,
    step: Scalar,
    size: u64,
) -> Result<()> {
    let (Some(first), Some(by)) = (start.integer(), step.integer()) else { return Ok(()) };
    if !dtype.is_int() || size == 0 {
        return Ok(());
    }
    let last = first + i128::from(size - 1) * by;
    let (least, most) = dtype.limits();
    let least = if dtype == DType::U64 { i128::from(i64::MIN) } else { least };
    match [first, last].into_iter().find(|value| !(least..=most).contains(value)) {
        None => Ok(()),
        Some(value) => Err(Error::Argument {
            op: "arange",
            what: format!(
                "{start} to {stop} by {step} has {value}, which does not fit {} (valid: {}); take a wider type",
                dtype.script_name(),
                dtype.range()
            ),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n(start: i64, stop: i64, step: i64) -> u64 {
        range_size(Scalar::Int(start), Scalar::Int(stop), Scalar::Int(step)).unwrap()
    }

    #[test]
    fn ranges_fit_their_type() {
        let fits = |dtype, start, stop, step| {
            let [start, stop, step] = [start, stop, step].map(Scalar::Int);
            let size = range_size(start, stop, step).unwrap();
            check_range(dtype, start, stop, step, size).is_ok()
        };
        assert!(fits(DType::U8, 0, 256, 1));
        assert!(!fits(DType::U8, 0, 257, 1));
        assert!(fits(DType::U8, 255, -1, -1));
        assert!(!fits(DType::U8, 255, -2, -1));
        assert!(fits(DType::U8, 300, 300, 1));
        assert!(fits(DType::U8, 0, 300, 300));
        assert!(!fits(DType::U8, 0, 300, 299));
        assert!(!fits(DType::U8, 0, 300, 256));
        assert!(fits(DType::I8, -128, 128, 1));
        assert!(!fits(DType::I8, -129, 0, 1));
        assert!(fits(DType::U32, 0, 1 << 32, 1 << 20));
        assert!(!fits(DType::I32, 0, (1 << 31) + 1, 1 << 31));
        assert!(fits(DType::U64, -3, 2, 1));
        assert!(fits(DType::I64, i64::MIN, i64::MAX, i64::MAX));
        assert!(fits(DType::F32, 0, 1 << 40, 1 << 38));
        // A bool is 0 or 1.
        let [start, stop, step] = [Scalar::Bool(true), Scalar::Int(300), Scalar::Bool(true)];
        let size = range_size(start, stop, step).unwrap();
        assert_eq!(size, 299);
        assert!(check_range(DType::I8, start, stop, step, size).is_err());
        assert!(check_range(DType::I16, start, stop, step, size).is_ok());
    }

    #[test]
    fn ranges_exclude_their_stop() {
        assert_eq!(n(2, 11, 3), 3);
        assert_eq!(n(0, 10, 1), 10);
        assert_eq!(n(10, 0, -1), 10);
        assert_eq!(n(10, 0, -3), 4);
        assert_eq!(n(10, 0, -2), 5);
        assert_eq!(n(0, 5, -3), 0);
        assert_eq!(n(5, 5, 1), 0);
        assert_eq!(n(5, 0, 1), 0);
        let float = range_size(Scalar::Float(0.0), Scalar::Float(1.0), Scalar::Float(0.25));
        assert_eq!(float.unwrap(), 4);
        let beyond = range_size(Scalar::UInt(1 << 63), Scalar::UInt((1 << 63) + 3), Scalar::Int(1));
        assert_eq!(beyond.unwrap(), 3);
        assert!(range_size(Scalar::Float(0.0), Scalar::Float(0.0), Scalar::Float(0.0)).is_err());
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for place in 0..3 {
                let mut numbers = [0.0, 1.0, 0.5].map(Scalar::Float);
                numbers[place] = Scalar::Float(bad);
                let [start, stop, step] = numbers;
                let error = range_size(start, stop, step);
                assert!(matches!(error, Err(Error::Argument { .. })), "{start} {stop} {step}");
            }
        }
    }
}
