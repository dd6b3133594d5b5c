//! Slices: lanes at equal distances.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use super::{Array, place};
use crate::convert::exactly;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::ir::op::ScatterOp;

/// Lanes at equal distances, as ranges say them: negative numbers count from the end, and what lies outside is left
/// out.
#[derive(Clone, Copy, Debug)]
pub struct Slice {
    start: Option<i64>,
    stop: Option<i64>,
    step: i64,
}

impl Slice {
    /// Lanes from `start` up to but not including `stop`, or down to it by a negative step, which is not 0.
    pub fn new(start: i64, stop: i64, step: i64) -> Self {
        Self { start: Some(start), stop: Some(stop), step }
    }

    /// Every so many lanes of the slice's ends.
    pub fn step_by(self, step: i64) -> Self {
        Self { step, ..self }
    }

    /// First lane and number of lanes of the slice of an array.
    fn lanes(self, size: u64) -> (u64, u64) {
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        if size == 0 || self.step == 0 {
            return (0, 0);
        }
        let down = self.step < 0;
        let (lowest, highest) = if down { (-1, size - 1) } else { (0, size) };
        let from_end = |i: i64| if i < 0 { i.saturating_add(size) } else { i };
        let first = self.start.map_or(if down { highest } else { 0 }, from_end).clamp(0, highest);
        // Counting down from a lane given from the front, -1 is the place before lane 0.
        let before_first = down && self.start.is_some_and(|start| start >= 0);
        let last = match self.stop {
            Some(-1) if before_first => -1,
            Some(stop) => from_end(stop).clamp(lowest, highest),
            None => {
                if down {
                    lowest
                } else {
                    highest
                }
            }
        };
        let way = if down { first.abs_diff(last) } else { last.abs_diff(first) };
        let is_empty = if down { last >= first } else { last <= first };
        let n = if is_empty { 0 } else { way.div_ceil(self.step.unsigned_abs()) };
        (first.unsigned_abs(), n)
    }

    /// The first of the places that it chooses among `n`, their number, and the step between them.
    pub(crate) fn run(self, n: u64) -> (u64, u64, i64) {
        let (first, n) = self.lanes(n);
        (first, n, self.step)
    }

    /// The places that it chooses among `n`, in its order.
    pub fn places(self, n: u64) -> impl Iterator<Item = u64> {
        let (start, n) = self.lanes(n);
        (0..n).map(move |i| {
            let distance = i.wrapping_mul(self.step.cast_unsigned());
            start.wrapping_add(distance)
        })
    }

    /// The numbers of its lanes of an array.
    fn numbers(self, array: &Array) -> Result<Array> {
        let size = array.size();
        let (start, n) = self.lanes(size);
        let dtype = if size <= 1 << 32 { DType::U32 } else { DType::U64 };
        // A negative step wraps, as unsigned lane numbers do; of a single lane it does not matter.
        let bits = self.step.cast_unsigned() & (u64::MAX >> (64 - dtype.bits()));
        let step = Scalar::UInt(if n > 1 { bits } else { 1 });
        array.session().record(|recorder| recorder.range(dtype, Scalar::UInt(start), step, n))
    }
}

impl From<Range<i64>> for Slice {
    fn from(range: Range<i64>) -> Self {
        Self::new(range.start, range.end, 1)
    }
}

impl From<RangeInclusive<i64>> for Slice {
    /// `2..=-1` ends with the last lane.
    fn from(range: RangeInclusive<i64>) -> Self {
        let stop = Some(*range.end()).filter(|&end| end != -1).map(|end| end.saturating_add(1));
        Self { start: Some(*range.start()), stop, step: 1 }
    }
}

impl From<RangeFrom<i64>> for Slice {
    fn from(range: RangeFrom<i64>) -> Self {
        Self { start: Some(range.start), stop: None, step: 1 }
    }
}

impl From<RangeTo<i64>> for Slice {
    fn from(range: RangeTo<i64>) -> Self {
        Self { start: None, stop: Some(range.end), step: 1 }
    }
}

impl From<RangeToInclusive<i64>> for Slice {
    /// `..=-1` ends with the last lane.
    fn from(range: RangeToInclusive<i64>) -> Self {
        Self { start: None, ..Self::from(0..=range.end) }
    }
}

impl From<RangeFull> for Slice {
    fn from(_: RangeFull) -> Self {
        Self { start: None, stop: None, step: 1 }
    }
}

impl Array {
    /// The lanes of a slice, lazily: `a.slice(2..8)`, `a.slice(-3..)`, `a.slice(Slice::from(..).step_by(-1))`.
    ///
    /// # Errors
    /// None at present.
    pub fn slice(&self, slice: impl Into<Slice>) -> Result<Self> {
        self.places(&slice.into().numbers(self)?)
    }

    /// Writes to the lanes of a slice, one value to each or one to all. The handle then names the new value.
    ///
    /// # Errors
    /// `Argument` if there are not as many values as lanes; as [`Array::scatter`].
    pub fn set_slice(&mut self, slice: impl Into<Slice>, value: &Self) -> Result<()> {
        let numbers = slice.into().numbers(self)?;
        let (got, expected) = (value.size(), numbers.size());
        if got != expected && got != 1 {
            let what = format!("{got} values for a slice of {expected} lanes");
            return Err(Error::Argument { op: "[]=", what });
        }
        self.scatter(ScatterOp::Set, value, &numbers, None)
    }

    /// The place of a lane; negative numbers count from the end.
    ///
    /// # Errors
    /// `IndexOutOfRange`.
    pub fn lane(&self, index: i64) -> Result<Slice> {
        let lane = exactly::<i64>(place(index, self.size())?);
        Ok(Slice::new(lane, lane + 1, 1))
    }
}
