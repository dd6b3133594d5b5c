//! Entries that masks and numbers choose, and windows of neighbours.

use super::{AxisIndex, Shape, Tensor};
use crate::array::{Array, combining};
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::ir::op::{Op, ReduceOp, ScatterMode, ScatterOp};
use crate::ir::primitive::{Order, lane_number_type};
use crate::ir::var::Reader;

impl Shape {
    /// The numbers along an axis of the entries with these numbers, in the order in which entries lie. Recorded, not run.
    ///
    /// # Errors
    /// `UnsupportedType` unless they are integers.
    pub(crate) fn number_along(&self, entries: &Array, axis: usize) -> Result<Array> {
        if self.n_entries() == 0 {
            return Ok(entries.clone());
        }
        let step = self.extents()[axis + 1..].iter().product();
        let number = entries.apply(Op::IDiv, &[Scalar::UInt(step).into()])?;
        if axis == 0 { Ok(number) } else { number.try_rem(Scalar::UInt(self.extents()[axis])) }
    }
}

impl Tensor {
    /// Where entries are not 0: their numbers along each axis, an array an axis, in the order of the entries. Evaluates.
    ///
    /// # Errors
    /// What evaluation fails with.
    pub fn nonzero(&self) -> Result<Vec<Array>> {
        let [mask] = &self.is_not_zero()?.entries()?[..] else {
            return Err(Error::EmptyReduction { op: "nonzero" });
        };
        let lanes = mask.true_lanes()?;
        (0..self.shape().rank()).map(|axis| self.shape().number_along(&lanes, axis)).collect()
    }

    /// Which entries are not 0, or true. Recorded, not run.
    ///
    /// # Errors
    /// None at present.
    pub fn is_not_zero(&self) -> Result<Self> {
        let is_other = |part: &Array| match part.dtype() {
            DType::Mask => Ok(part.clone()),
            _ => part.apply(Op::Ne, &[0.into()]),
        };
        let masks = self.entries()?;
        let masks = masks.iter().map(is_other);
        let mask = masks
            .reduce(|all, mask| all?.try_or(&mask?))
            .unwrap_or(Err(Error::EmptyReduction { op: "nonzero" }))?;
        Self::of([mask], self.shape().clone())
    }

    /// The entries along an axis where a mask, as long as it, is true. Evaluates the mask.
    ///
    /// # Errors
    /// `Argument` for a mask of another length; `UnsupportedType` if it is none.
    pub fn compress(&self, mask: &Array, axis: i64) -> Result<Self> {
        let op = "compress";
        let extent = self.shape().extents()[self.shape().axis(op, axis)?];
        if mask.size() != extent {
            let what =
                format!("got a mask of {} lanes for axis {axis} of {}", mask.size(), self.shape());
            return Err(Error::Argument { op, what });
        }
        let lanes = mask.true_lanes()?;
        let shape = Shape::line(lanes.size());
        self.take(&Self::of([lanes], shape)?, axis)
    }

    /// Which entries are equal to one of some values. Recorded, not run; complex ones are evaluated.
    ///
    /// # Errors
    /// `TypeMismatch` for masks and numbers.
    pub fn is_among(&self, values: &Self) -> Result<Self> {
        let op = "isin";
        if self.is_complex() || values.is_complex() {
            return self.is_among_complex(op, values);
        }
        let (lhs, rhs) = (self.dtype(), values.dtype());
        let dtype = lhs.promote(rhs).ok_or(Error::TypeMismatch { op, lhs, rhs })?;
        // Masks have no order.
        let dtype = if dtype == DType::Mask { DType::U8 } else { dtype };
        let values = values.entries()?[0].cast(dtype)?;
        let Some(last) = values.size().checked_sub(1) else {
            return self.each(|part| part.session().zeros(DType::Mask, part.size()));
        };
        let sorted = values.sort(Order::Ascending)?;
        self.each(|part| {
            let part = part.cast(dtype)?;
            let place =
                sorted.search_sorted(&part)?.apply(Op::Min, &[Scalar::UInt(last).into()])?;
            sorted.gather(&place, None)?.apply(Op::Eq, &[(&part).into()])
        })
    }

    /// With other entries at these numbers along an axis: those of a value that broadcasts to what stands there. Negative
    /// numbers count from the end.
    ///
    /// # Errors
    /// As [`Tensor::with_at`].
    pub fn put(&self, numbers: &Self, value: &Self, axis: i64) -> Result<Self> {
        let axis = self.shape().axis("put", axis)?;
        let mut places = vec![AxisIndex::Slice((..).into()); axis];
        places.push(AxisIndex::Numbers(numbers.clone()));
        self.with_at_as("put", Reader::Put, &places, value)
    }

    /// The runs of n neighbours along one axis of a tensor that has no other, each a row.
    ///
    /// # Errors
    /// `Argument` if it has other axes, or fewer entries.
    pub(crate) fn windows(&self, op: &'static str, n: u64) -> Result<Self> {
        match *self.shape().extents() {
            [extent] if 0 < n && n <= extent => {
                Ok(self.viewed(self.view.windows(op, extent - n + 1, n)?))
            }
            _ => {
                let what =
                    format!("got {}, expected one axis of {n} entries or more", self.shape());
                Err(Error::Argument { op, what })
            }
        }
    }

    /// How many entries along an axis fall into each of the bins, as [`Array::histogram`]: the bins are the last axis.
    ///
    /// # Errors
    /// As [`Array::histogram`]; `Forms` for complex entries.
    pub fn histogram(&self, bins: u64, low: f64, high: f64, axis: i64) -> Result<Self> {
        let op = "histogram";
        let rows = self.real(op)?.move_axis(axis, -1)?;
        let (extent, mut extents) =
            (self.shape().extents()[self.shape().axis(op, axis)?], rows.shape().extents().to_vec());
        let [bin, inside] = rows.entries()?[0].bins(bins, low, high)?;
        if let Some(last) = extents.last_mut() {
            *last = bins;
        }
        let shape = Shape::new(op, extents)?;
        let session = self.parts[0].session();
        let size = rows.shape().n_entries();
        let counter = lane_number_type(size.max(shape.n_entries()));
        let place = if extent == 0 {
            bin
        } else {
            let lane = session.arange(counter, 0.into(), Scalar::UInt(size), 1.into())?;
            let row = lane.apply(Op::IDiv, &[Scalar::UInt(extent).into()])?;
            row.try_mul(Scalar::UInt(bins))?.try_add(&bin.cast(counter)?)?
        };
        let counts = counted(&place, &inside, shape.n_entries())?;
        Self::of([counts], shape)
    }

    /// How many pairs of entries of two tensors fall into each rectangle, as [`Array::histogram`] along each.
    ///
    /// # Errors
    /// As [`Array::histogram`]; `Forms` if shapes differ.
    pub fn histogram_2d(
        &self,
        other: &Self,
        bins: [u64; 2],
        ranges: [[f64; 2]; 2],
    ) -> Result<Self> {
        let op = "histogram2d";
        if self.shape() != other.shape() {
            let what = format!("{op}: shapes {} and {} differ", self.shape(), other.shape());
            return Err(Error::forms(what));
        }
        let shape = Shape::new(op, bins)?;
        let of = |tensor: &Self, i: usize| {
            let [low, high] = ranges[i];
            tensor.real(op)?.entries()?[0].bins(bins[i], low, high)
        };
        let ([x, x_inside], [y, y_inside]) = (of(self, 0)?, of(other, 1)?);
        let counter = lane_number_type(shape.n_entries());
        let place = x.cast(counter)?.try_mul(Scalar::UInt(bins[1]))?.try_add(&y.cast(counter)?)?;
        Self::of([counted(&place, &x_inside.try_and(&y_inside)?, shape.n_entries())?], shape)
    }

    /// The rows along the first axis combined that have the same key, as [`Array::segments`]: n rows.
    ///
    /// # Errors
    /// As [`Array::segments`]; `Argument` for another number of keys than rows.
    pub fn segments(
        &self,
        op: ReduceOp,
        keys: &Array,
        n: u64,
        active: Option<&Array>,
    ) -> Result<Self> {
        let name = "segments";
        if op != ReduceOp::Sum {
            self.real(name)?;
        }
        let Some((&rows, rest)) = self.shape().extents().split_first() else {
            return Err(Error::Argument { op: name, what: "got a tensor without axes".into() });
        };
        if ![1, rows].contains(&keys.size()) {
            let what = format!("got {} keys for {rows} entries of {}", keys.size(), self.shape());
            return Err(Error::Argument { op: name, what });
        }
        let shape = Shape::new(name, [&[n], rest].concat())?;
        let wide = |lanes: &Array| {
            let ones = vec![1; rest.len()];
            let column = Shape::new(name, [&[rows], &ones[..]].concat())?;
            let column = Self::of([lanes.clone()], column)?;
            Ok(column.broadcast(name, self.shape())?.entries()?.swap_remove(0))
        };
        let counter = lane_number_type(shape.n_entries().max(self.shape().n_entries()));
        let mut keys = keys.clone();
        let inner: u64 = rest.iter().product();
        if !rest.is_empty() {
            let session = keys.session();
            let lane = session.arange(
                counter,
                0.into(),
                Scalar::UInt(self.shape().n_entries()),
                1.into(),
            )?;
            let within = lane.try_rem(Scalar::UInt(inner.max(1)))?.cast(DType::U64)?;
            let step = inner.max(1);
            let end = Scalar::UInt(n.saturating_mul(step));
            let starts = session.arange(DType::U64, 0.into(), end, Scalar::UInt(step))?;
            // Keys are looked up, not multiplied: so those out of bounds are told as they were given.
            let reader = Reader::Segment(combining(op)?);
            let start = session.record(|recorder| {
                let active = active.map(Array::id);
                recorder.gather_as(reader, starts.id(), keys.id(), active)
            })?;
            let place = wide(&start)?.try_add(&within)?;
            // Sign extension makes negative keys huge.
            let is_inside = keys.cast(DType::U64)?.apply(Op::Lt, &[Scalar::UInt(n).into()])?;
            let is_inside = wide(&is_inside)?;
            keys =
                is_inside.apply(Op::Select, &[(&place).into(), Scalar::UInt(u64::MAX).into()])?;
        }
        let active = active.map(wide).transpose()?;
        let part = |part: &Array| part.segments(op, &keys, shape.n_entries(), active.as_ref());
        let parts = self.entries()?.iter().map(part).collect::<Result<Vec<_>>>()?;
        Self::of(parts, shape.clone())
    }

    /// As [`Tensor::segments`] of rows that lie behind each other: segment i is from `offsets[i]` up to and not including
    /// `offsets[i + 1]`.
    ///
    /// # Errors
    /// As [`Tensor::segments`]; `Argument` without offsets, or for those that fall, which evaluates them.
    pub fn segments_between(&self, op: ReduceOp, offsets: &Array) -> Result<Self> {
        let Some(n) = offsets.size().checked_sub(1) else {
            return Err(Error::Argument {
                op: "segments",
                what: "got no offsets, expected one or more".into(),
            });
        };
        if n > 0 {
            let falls = offsets.slice(1..)?.lt(&offsets.slice(..-1)?)?;
            if falls.any()?.item(0)? == Scalar::Bool(true) {
                let what = "got offsets that fall: they ascend, from where a segment starts to where it ends; of keys it is (x, keys, n)";
                return Err(Error::Argument { op: "segments", what: what.into() });
            }
        }
        let rows = self.shape().extents().first().copied().unwrap_or(1);
        let (first, last) = (offsets.item(0)?, offsets.item(-1)?);
        if first.to_f64() < 0.0 || last.to_f64() > rows as f64 {
            let what = format!(
                "got offsets from {first} to {last}, expected them from 0 to {rows} at most"
            );
            return Err(Error::Argument { op: "segments", what });
        }
        let keys = offsets.segment_numbers(rows)?;
        let active = keys.apply(Op::Lt, &[Scalar::UInt(n).into()])?;
        self.segments(op, &keys, n, Some(&active))
    }
}

/// How often each number below n occurs where a mask is true.
fn counted(numbers: &Array, active: &Array, n: u64) -> Result<Array> {
    let counter = lane_number_type(numbers.size());
    let mut counts = numbers.session().zeros(counter, n)?;
    counts.scatter_as(ScatterOp::Add, ScatterMode::Fast, Scalar::UInt(1), numbers, Some(active))?;
    Ok(counts)
}
