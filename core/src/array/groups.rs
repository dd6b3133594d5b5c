//! Lanes by key: values that occur, sums over segments, what is told of groups.

use crate::array::Array;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::ir::op::{Op, ReduceOp, ScatterMode, ScatterOp, Writer};
use crate::ir::primitive::{Order, lane_number_type};
use crate::ir::scalar::identity_bits;

impl Array {
    /// The values that occur, each once, ascending; NaN comes last and counts as one value. Evaluates.
    ///
    /// # Errors
    /// What evaluation fails with.
    pub fn unique(&self) -> Result<Self> {
        let sorted = self.sort(Order::Ascending)?;
        let starts = sorted.starts_of_runs()?;
        self.session().eval_for("unique", &[&sorted, &starts])?;
        sorted.compress(&starts)
    }

    /// The values that occur, as [`Array::unique`], and how often each does. Evaluates.
    ///
    /// # Errors
    /// What evaluation fails with.
    pub fn unique_counts(&self) -> Result<[Self; 2]> {
        let session = self.session();
        let sorted = self.sort(Order::Ascending)?;
        let starts = sorted.starts_of_runs()?;
        session.eval_for("unique_counts", &[&sorted, &starts])?;
        let first = starts.true_lanes()?;
        if first.is_empty() {
            return Ok([sorted, first]);
        }
        let end = session.full(first.dtype(), Scalar::UInt(self.size()), 1)?;
        let next = session.concat(&[&first.slice(1..)?, &end])?;
        Ok([sorted.take(&first)?, next.try_sub(&first)?])
    }

    /// Where a lane differs from the one before, as the first one does. Recorded, not run.
    ///
    /// # Errors
    /// `OutOfMemory` if the trace is full.
    pub(super) fn starts_of_runs(&self) -> Result<Self> {
        let session = self.session();
        let counter = lane_number_type(self.size());
        let lane = session.arange(counter, 0.into(), Scalar::UInt(self.size()), 1.into())?;
        let before = self.roll(1)?;
        let mut differs = self.neq(&before)?;
        if self.dtype().is_float() {
            let is_number = |x: &Self| x.apply(Op::Eq, &[x.into()]);
            differs = differs.try_and(&is_number(self)?.try_or(&is_number(&before)?)?)?;
        }
        differs.try_or(&lane.eq(0)?)
    }

    /// The active lanes combined that have the same key, which is a number below `n`: a lane for each key. `Sum` in lane
    /// order on every device, types as of [`Array::reduce`]; of a key that does not occur 0, or for `Min` and `Max` the
    /// identity. Recorded, not run.
    ///
    /// # Errors
    /// `SizeMismatch`; `UnsupportedType` unless the keys are integers; keys out of bounds are told later (S13).
    pub fn segments(
        &self,
        op: ReduceOp,
        keys: &Self,
        n: u64,
        active: Option<&Self>,
    ) -> Result<Self> {
        let writer = combining(op)?;
        let own = self.session().zeros(self.dtype(), 1)?.reduce(op)?.dtype();
        // Halves are added in f32 and rounded once.
        let dtype = if own.is_half() { own.widened() } else { own };
        let bits = if op == ReduceOp::Sum { 0 } else { identity_bits(op, dtype) };
        let mut segments = self.session().full(dtype, dtype.decode(bits), n)?;
        let values = self.cast(dtype)?;
        segments.write(
            writer,
            ScatterMode::Exact,
            Writer::Segment,
            (&values).into(),
            keys,
            active,
        )?;
        segments.cast(own)
    }

    /// How many lanes have each key, which is a number below `n`: the keys are these lanes. Recorded, not run.
    ///
    /// # Errors
    /// As [`Array::segments`].
    pub fn key_counts(&self, n: u64) -> Result<Self> {
        let mut counts = self.session().full(DType::U32, 0, n)?;
        let (mode, one) = (ScatterMode::default(), Scalar::UInt(1));
        counts.write(ScatterOp::Add, mode, Writer::SegmentCount, one.into(), self, None)?;
        Ok(counts)
    }

    /// For each of so many lanes the number of its segment: `starts`, which ascend from 0, are where segments start.
    /// Recorded, not run.
    ///
    /// # Errors
    /// `UnsupportedType` unless they are integers.
    pub fn segment_numbers(&self, size: u64) -> Result<Self> {
        let counter = lane_number_type(size.max(self.size()));
        let session = self.session();
        let lane = session.arange(counter, 0.into(), Scalar::UInt(size), 1.into())?;
        // As many starts as are not behind the lane, the first of which is segment 0.
        let behind = session.record(|recorder| {
            let starts = recorder.cast(self.id(), counter)?;
            let one = recorder.literal(counter, 1, 1);
            let next = recorder.same(Op::Add, &[lane.id(), one])?;
            recorder.search_sorted(starts, next, Op::Lt)
        })?;
        behind.try_sub(1)
    }
}

/// Lanes in groups: those whose keys have the same number, from 0 up to and not including `n`.
///
/// ```
/// use porcini_core::{Session, array::Groups};
///
/// # fn main() -> porcini_core::Result<()> {
/// let session = Session::new()?;
/// let groups = Groups::new(session.array(&[1_u32, 0, 1])?, 2);
/// let x = session.array(&[1.0_f32, 2.0, 3.0])?;
/// assert_eq!(groups.told("mean", &x)?.to_vec::<f32>()?, [2.0, 2.0]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Groups {
    numbers: Array,
    n: u64,
}

impl Groups {
    /// What is told of groups. Sum and mean of lanes with NaN are NaN, the least and the largest pass over it, and the count has
    /// it.
    pub const WORDS: [&'static str; 5] = ["count", "sum", "mean", "min", "max"];

    /// The groups of lanes whose keys have these numbers below `n`, integers.
    pub const fn new(numbers: Array, n: u64) -> Self {
        Self { numbers, n }
    }

    /// What a word of [`Groups::WORDS`], `nansum` or `nanmean` tells of the lanes of each group, in order; the last two pass over
    /// NaN. Recorded, not run.
    ///
    /// **Dtypes**: counts are u32, means as of [`Array::mean`], others as of [`Array::reduce`].
    ///
    /// # Errors
    /// `Forms` for another word, or unless there are as many lanes as keys, or one; as [`Array::segments`].
    pub fn told(&self, word: &str, x: &Array) -> Result<Array> {
        let (got, expected) = (x.size(), self.numbers.size());
        if ![1, expected].contains(&got) {
            return Err(Error::forms(format!("group_by: got {got} lanes for {expected} keys")));
        }
        match word {
            "count" => self.counts(),
            "sum" => self.reduced(x, ReduceOp::Sum, None),
            "mean" => self.means(x, None),
            "min" => self.reduced(x, ReduceOp::Min, None),
            "max" => self.reduced(x, ReduceOp::Max, None),
            "nansum" => self.reduced(x, ReduceOp::Sum, numbers(x)?.as_ref()),
            "nanmean" => self.means(x, numbers(x)?.as_ref()),
            _ => Err(Error::Forms {
                what: format!("group_by: got \"{word}\""),
                remedy: Some(
                    "it is \"count\", \"sum\", \"mean\", \"min\" or \"max\", without nan \"nansum\" or \"nanmean\"",
                ),
            }),
        }
    }

    /// How many lanes each group has.
    ///
    /// # Errors
    /// As [`Array::segments`].
    pub fn counts(&self) -> Result<Array> {
        self.counted(None)
    }

    fn counted(&self, active: Option<&Array>) -> Result<Array> {
        let ones = self.numbers.session().full(DType::U32, 1, self.numbers.size())?;
        self.reduced(&ones, ReduceOp::Sum, active)
    }

    fn reduced(&self, x: &Array, op: ReduceOp, active: Option<&Array>) -> Result<Array> {
        x.segments(op, &self.numbers, self.n, active)
    }

    fn means(&self, x: &Array, active: Option<&Array>) -> Result<Array> {
        // Halves are added in f32 and rounded once.
        let own = x.dtype().quotient();
        let wide = own.widened();
        let sums = self.reduced(&x.cast(wide)?, ReduceOp::Sum, active)?;
        sums.try_div(&self.counted(active)?.cast(wide)?)?.cast(own)
    }
}

/// Which lanes are not NaN; `None` where all are not.
fn numbers(x: &Array) -> Result<Option<Array>> {
    x.dtype().is_float().then(|| x.apply(Op::Eq, &[x.into()])).transpose()
}

/// What a scatter does that combines segments.
///
/// # Errors
/// `Argument` for other reductions.
pub(crate) fn combining(op: ReduceOp) -> Result<ScatterOp> {
    Ok(match op {
        ReduceOp::Sum => ScatterOp::Add,
        ReduceOp::Min => ScatterOp::Min,
        ReduceOp::Max => ScatterOp::Max,
        _ => {
            let what = format!("got {}, expected a sum, a minimum or a maximum", op.name());
            return Err(Error::Argument { op: "segments", what });
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Session;

    #[test]
    fn groups_are_told_of_by_every_word() -> Result<()> {
        let session = Session::new()?;
        let groups = Groups::new(session.array(&[1_u32, 0, 1])?, 2);
        let x = session.array(&[1, 2, 4])?;
        let told = Groups::WORDS.map(|word| groups.told(word, &x)?.cast(DType::F64)?.to_vec());
        let told = told.into_iter().collect::<Result<Vec<Vec<f64>>>>()?;
        assert_eq!(told, [[1.0, 2.0], [2.0, 5.0], [2.0, 2.5], [2.0, 1.0], [2.0, 4.0]]);
        assert!(groups.told("middle", &x).is_err());
        assert!(groups.told("sum", &session.array(&[1, 2])?).is_err());
        Ok(())
    }
}
