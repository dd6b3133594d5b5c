//! A summary of an array's lanes.

use crate::array::Array;
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::ir::primitive::Order;

/// What there is to say of an array's lanes, in f64; NaN where there are none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Description {
    /// How many lanes are numbers.
    pub count: u64,
    /// How many are NaN.
    pub missing: u64,
    /// As [`Array::mean`] has it.
    pub mean: f64,
    /// As [`Array::std`] has it.
    pub std: f64,
    /// The values below which no lane, a quarter, half, three quarters and all of them lie: between two lanes by linear
    /// interpolation.
    pub quartiles: [f64; 5],
}

impl Description {
    /// What it says, in order.
    pub const NAMES: [&'static str; 9] =
        ["count", "missing", "mean", "std", "min", "q1", "median", "q3", "max"];

    /// The numbers of these names.
    pub const fn numbers(&self) -> [Scalar; 9] {
        let [min, q1, median, q3, max] = self.quartiles;
        [
            Scalar::UInt(self.count),
            Scalar::UInt(self.missing),
            Scalar::Float(self.mean),
            Scalar::Float(self.std),
            Scalar::Float(min),
            Scalar::Float(q1),
            Scalar::Float(median),
            Scalar::Float(q3),
            Scalar::Float(max),
        ]
    }
}

impl Array {
    /// A summary of the lanes, of those that are not NaN. Evaluates.
    ///
    /// ```
    /// # fn main() -> porcini_core::Result<()> {
    /// let session = porcini_core::Session::new()?;
    /// let told = session.array(&[1.0_f32, 4.0, f32::NAN, 3.0])?.describe()?;
    /// assert_eq!((told.count, told.missing), (3, 1));
    /// assert_eq!(told.quartiles, [1.0, 2.0, 3.0, 3.5, 4.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// What evaluation fails with.
    pub fn describe(&self) -> Result<Description> {
        let sorted = self.cast(DType::F64)?.sort(Order::Ascending)?;
        let at = |i: u64| sorted.item(i.cast_signed()).map(Scalar::to_f64);
        // NaN stands last.
        let (mut count, mut end) = (0, sorted.size());
        while count < end {
            let middle = count.midpoint(end);
            if at(middle)?.is_nan() { end = middle } else { count = middle + 1 }
        }
        let values = sorted.slice(0..count.cast_signed())?;
        let mut quartiles = [f64::NAN; 5];
        if let Some(last) = count.checked_sub(1) {
            for (quartile, part) in quartiles.iter_mut().zip([0.0, 0.25, 0.5, 0.75, 1.0]) {
                *quartile = between(part, last, at)?;
            }
        }
        Ok(Description {
            count,
            missing: sorted.size() - count,
            mean: values.mean()?.item(0)?.to_f64(),
            std: values.std()?.item(0)?.to_f64(),
            quartiles,
        })
    }
}

/// What lies at a part of the way from lane 0 to the last one.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers of lanes"
)]
fn between(part: f64, last: u64, at: impl Fn(u64) -> Result<f64>) -> Result<f64> {
    let place = part * last as f64;
    let (low, high) = (at(place.floor() as u64)?, at((place.ceil() as u64).min(last))?);
    let part = place.fract();
    Ok(if low == high { low } else { low * (1.0 - part) + high * part })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Session;

    #[test]
    fn names_and_numbers_are_in_one_order() -> Result<()> {
        let told = Session::new()?.array(&[2, 4])?.describe()?;
        let numbers = told.numbers().map(Scalar::to_f64);
        assert_eq!(numbers, [2.0, 0.0, 3.0, 1.0, 2.0, 2.5, 3.0, 3.5, 4.0]);
        assert_eq!(Description::NAMES[6], "median");
        Ok(())
    }

    #[test]
    fn of_no_numbers_nothing_is_known() -> Result<()> {
        let told = Session::new()?.array(&[f32::NAN; 2])?.describe()?;
        assert_eq!((told.count, told.missing), (0, 2));
        assert!(told.mean.is_nan() && told.std.is_nan() && told.quartiles[0].is_nan());
        Ok(())
    }
}
