//! Quantiles of several parts at once: the entries are sorted once, and lanes find their places by arithmetic.

use super::order::as_part;
use super::{Shape, Tensor};
use crate::array::{Array, Operand};
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::ir::op::{Op, ReduceOp};
use crate::ir::primitive::{Order, Sorting, lane_number_type};

/// Of several parts along axes, whose entries remain or not.
type AtParts<'a> = (&'a [f64], Option<&'a [i64]>, bool);

impl Tensor {
    /// The values below which parts of the entries along axes lie, or of all, as [`Tensor::quantile`] of each: the first axis
    /// is that of the parts.
    ///
    /// # Errors
    /// As [`Tensor::quantile`].
    pub fn quantiles(&self, parts: &[f64], axes: Option<&[i64]>, keeps: bool) -> Result<Self> {
        self.at_parts("quantile", (parts, axes, keeps), Self::quantile, |_, _| Ok(None))
    }

    /// As [`Tensor::quantiles`], of the entries that are not NaN; NaN where there are none.
    ///
    /// # Errors
    /// As [`Tensor::quantile`].
    pub fn nanquantiles(&self, parts: &[f64], axes: Option<&[i64]>, keeps: bool) -> Result<Self> {
        if !self.dtype().is_float() {
            return self.quantiles(parts, axes, keeps);
        }
        let known = |lanes: &Array, row_shape: &Shape| {
            let known = Self::of([lanes.apply(Op::Eq, &[lanes.into()])?], row_shape.clone())?;
            let count = known.reduce(ReduceOp::Count, Some(&[-1]), false)?.entries()?;
            count[0].apply(Op::Max, &[1.into()])?.try_sub(1).map(Some)
        };
        self.at_parts("nanquantile", (parts, axes, keeps), Self::nanquantile, known)
    }

    /// The same; `last` counts which entry in order is the last that counts, a lane a row, unless all of them do.
    fn at_parts(
        &self,
        op: &'static str,
        (parts, axes, keeps): AtParts<'_>,
        of_one: impl Fn(&Self, f64, Option<&[i64]>, bool) -> Result<Self>,
        last: impl Fn(&Array, &Shape) -> Result<Option<Array>>,
    ) -> Result<Self> {
        let dtype = self.real(op)?.dtype();
        if dtype == DType::Mask {
            return Err(Error::UnsupportedType { op, dtype, expected: "numbers" });
        }
        parts.iter().try_for_each(|&part| as_part(op, part))?;
        let places = self.shape().axes(op, axes)?;
        let sorts_none = places.is_empty() && self.shape().rank() > 0;
        if let [part] = *parts {
            return of_one(self, part, axes, keeps)?.expand(0);
        }
        if sorts_none || self.shape().n_entries() == 0 {
            let each = parts.iter().map(|&part| of_one(self, part, axes, keeps));
            return Self::stack(&each.collect::<Result<Vec<_>>>()?, 0);
        }
        let rows = self.merged(op, &places)?;
        let lanes = &rows.entries()?[0];
        let values = lanes.at_parts_of_rows(
            rows.extent(op, -1)?,
            parts,
            last(lanes, rows.shape())?.as_ref(),
        )?;
        let kept = self.shape().extents().iter().enumerate().filter_map(|(i, &extent)| {
            let is_sorted = places.contains(&i);
            if is_sorted { keeps.then_some(1) } else { Some(extent) }
        });
        let extents: Vec<u64> = std::iter::once(parts.len() as u64).chain(kept).collect();
        Self::of([values], Shape::new(op, extents)?)
    }
}

impl Array {
    /// Of rows of so many lanes the quantiles at parts: of the first part those of all rows, then of the next one.
    fn at_parts_of_rows(&self, extent: u64, parts: &[f64], last: Option<&Self>) -> Result<Self> {
        let (session, n_rows) = (self.session(), self.size() / extent);
        let n = n_rows.saturating_mul(parts.len() as u64);
        let counter = lane_number_type(self.size().max(n));
        let lane = session.arange(counter, 0.into(), Scalar::UInt(n), 1.into())?;
        let number = lane.apply(Op::IDiv, &[Scalar::UInt(n_rows).into()])?;
        let part = session.array(parts)?.places(&number)?;
        let row = lane.try_rem(Scalar::UInt(n_rows))?;
        let place = match last {
            Some(last) => last.places(&row)?.cast(DType::F64)?.try_mul(&part)?,
            None => part.try_mul(Scalar::UInt(extent - 1).to_f64())?,
        };
        let sorting = Sorting { order: Order::Ascending, extent };
        let sorted = session.record(|recorder| recorder.sort_rows(self.id(), sorting))?;
        let start = row.try_mul(Scalar::UInt(extent))?;
        let value = sorted.between_lanes(&start, &place)?;
        if last.is_some() {
            return value.cast(self.dtype().quotient());
        }
        let end = start.try_add(Scalar::UInt(extent - 1))?;
        let greatest = sorted.places(&end)?.cast(value.dtype())?;
        let broken = greatest.apply(Op::Ne, &[(&greatest).into()])?;
        let value = broken.apply(Op::Select, &[(&greatest).into(), (&value).into()])?;
        value.cast(self.dtype().quotient())
    }

    /// The values at places, in f64, behind lanes: on the line between two of them; halves in f32.
    fn between_lanes(&self, start: &Self, place: &Self) -> Result<Self> {
        let (counter, wide) = (start.dtype(), self.dtype().quotient().widened());
        let at = |place: &Self| self.places(&start.try_add(&place.cast(counter)?)?)?.cast(wide);
        let below = place.apply(Op::Floor, &[])?;
        let (lower, upper) = (at(&below)?, at(&place.apply(Op::Ceil, &[])?)?);
        let rest = place.try_sub(&below)?;
        lower.on_the_way(&upper, (&rest.cast(wide)?).into())
    }

    /// The value at a part of the way to another. Beside an infinity it is that one, which the sum of both is too.
    pub(super) fn on_the_way(&self, upper: &Self, part: Operand<'_>) -> Result<Self> {
        let step = upper.try_sub(self)?;
        let between = step.apply(Op::Fma, &[part, self.into()])?;
        let is_known = between.apply(Op::Eq, &[(&between).into()])?;
        let sum = self.try_add(upper)?;
        is_known.apply(Op::Select, &[(&between).into(), (&sum).into()])
    }
}
