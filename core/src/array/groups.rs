//! Lanes by key: values that occur, sums over segments.

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
        self.session().eval(&[&sorted, &starts])?;
        sorted.compress(&starts)
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
            recorder.search_sorted(starts, next)
        })?;
        behind.try_sub(1)
    }
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
