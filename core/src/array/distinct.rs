//! The different lanes of an array: numbers for them, as categories have, and how often each is there.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::array::Array;
use crate::dtype::Scalar;
use crate::error::{Error, Result};
use crate::interrupt;

/// Lanes between two looks at the interrupt flag.
const PIECE: usize = 1 << 16;

impl Array {
    /// The different lanes, each once, ascending with NaN last, and for each lane the number of its value, u32. Zeros are
    /// equal, and the first of them stands for all; so does the first NaN. Evaluates.
    ///
    /// ```
    /// # fn main() -> porcini_core::Result<()> {
    /// let session = porcini_core::Session::new()?;
    /// let [values, numbers] = session.array(&[7, 5, 7])?.encode()?;
    /// assert_eq!(values.to_vec::<i32>()?, [5, 7]);
    /// assert_eq!(numbers.to_vec::<u32>()?, [1, 0, 1]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `OutOfMemory`; what evaluation fails with.
    pub fn encode(&self) -> Result<[Self; 2]> {
        let Distinct { lanes, numbers } = self.distinct()?;
        let firsts: Vec<u64> = lanes.iter().map(|lane| lane.first).collect();
        let firsts = self.session().array(&firsts)?;
        Ok([self.take(&firsts)?, self.session().array(&numbers)?])
    }

    /// The different lanes as of [`Array::encode`] and how often each is there, the most frequent first. Evaluates.
    ///
    /// ```
    /// # fn main() -> porcini_core::Result<()> {
    /// let session = porcini_core::Session::new()?;
    /// let counts = session.array(&[5, 7, 7])?.value_counts()?;
    /// assert_eq!(counts, [(7.into(), 2), (5.into(), 1)]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Array::encode`].
    pub fn value_counts(&self) -> Result<Vec<(Scalar, u64)>> {
        let lanes = self.distinct()?.lanes.into_iter();
        let mut counts: Vec<_> = lanes.map(|lane| (lane.value, lane.count)).collect();
        counts.sort_by_key(|&(_, count)| Reverse(count));
        Ok(counts)
    }

    fn distinct(&self) -> Result<Distinct> {
        let n = self.size();
        self.session().check_host_memory(n.saturating_mul(size_of::<u32>() as u64))?;
        let mut found = Distinct { lanes: Vec::new(), numbers: Vec::new() };
        let mut known: HashMap<u64, u32> = HashMap::new();
        for start in (0..n).step_by(PIECE) {
            if interrupt::is_requested() {
                return Err(Error::Interrupted);
            }
            for (lane, value) in (start..).zip(self.read(start..n.min(start + PIECE as u64))?) {
                let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
                let number = *known.entry(key(value)).or_insert(next);
                if number == next {
                    found.lanes.push(Different { value, first: lane, count: 0 });
                }
                found.lanes[number as usize].count += 1;
                found.numbers.push(number);
            }
        }
        found.sort();
        Ok(found)
    }
}

/// The different lanes, and for each lane the number of its value.
struct Distinct {
    lanes: Vec<Different>,
    numbers: Vec<u32>,
}

/// A value that lanes have.
#[derive(Clone, Copy)]
struct Different {
    value: Scalar,
    /// The first lane that has it.
    first: u64,
    count: u64,
}

impl Distinct {
    /// Brings the lanes into order, NaN last.
    fn sort(&mut self) {
        let rank = |&i: &usize| match self.lanes[i].value {
            Scalar::Bool(truth) => (i128::from(truth), 0.0),
            Scalar::Int(int) => (int.into(), 0.0),
            Scalar::UInt(int) => (int.into(), 0.0),
            Scalar::Float(x) => (i128::from(x.is_nan()), x),
        };
        let mut order: Vec<usize> = (0..self.lanes.len()).collect();
        order.sort_by(|a, b| {
            let ((a, x), (b, y)) = (rank(a), rank(b));
            a.cmp(&b).then(x.total_cmp(&y))
        });
        let mut places = vec![0; order.len()];
        for (place, &i) in (0..).zip(&order) {
            places[i] = place;
        }
        self.numbers.iter_mut().for_each(|number| *number = places[*number as usize]);
        self.lanes = order.iter().map(|&i| self.lanes[i]).collect();
    }
}

/// What equal values have in common.
fn key(value: Scalar) -> u64 {
    match value {
        Scalar::Bool(truth) => truth.into(),
        Scalar::Int(int) => int.cast_unsigned(),
        Scalar::UInt(int) => int,
        // Zeros are equal, and every NaN reads as one.
        Scalar::Float(x) => (x + 0.0).to_bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Session;

    #[test]
    fn zeros_and_nans_are_one_value_each() -> Result<()> {
        let x = Session::new()?.array(&[3.0_f32, f32::NAN, -0.0, 0.0, f32::NAN])?;
        let [values, numbers] = x.encode()?;
        let values = values.to_vec::<f32>()?;
        assert_eq!(values[..2], [-0.0, 3.0]);
        assert!(values[0].is_sign_negative() && values[2].is_nan() && values.len() == 3);
        assert_eq!(numbers.to_vec::<u32>()?, [1, 2, 0, 0, 2]);
        Ok(())
    }

    #[test]
    fn of_equally_frequent_lanes_the_smaller_comes_first() -> Result<()> {
        let x = Session::new()?.array(&[9_i64, -4, 2, 2, -4])?;
        assert_eq!(x.value_counts()?, [((-4).into(), 2), (2.into(), 2), (9.into(), 1)]);
        Ok(())
    }

    #[test]
    fn nothing_has_no_values() -> Result<()> {
        let x = Session::new()?.array::<f32>(&[])?;
        assert!(x.value_counts()?.is_empty());
        assert!(x.encode()?.iter().all(Array::is_empty));
        Ok(())
    }
}
