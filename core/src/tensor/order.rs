//! Entries in order along an axis: sorts, places of the extremes, middle values; sums of those before.

use super::reduce::FEW;
use super::{Shape, Tensor};
use crate::array::Array;
use crate::convert::exactly;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::ir::op::{Op, ReduceOp};
use crate::ir::primitive::{Order, Sorting, lane_number_type};

/// Entries in windows that are in memory at once, which is taken for them a few times over.
const MOST_WINDOWED: u64 = 1 << 24;

/// The entries in a place of those in order along an axis.
type Sorted<'f> = &'f dyn Fn(u64) -> Result<Array>;

impl Tensor {
    /// The entries in order along an axis, as [`Array::sort`]; complex ones by their real parts, where those are equal by
    /// the imaginary ones, and behind all others those of which a part is NaN.
    ///
    /// # Errors
    /// `Argument` if there is no such axis.
    pub fn sort(&self, order: Order, axis: i64) -> Result<Self> {
        if self.is_complex() {
            return self.take_along(&self.argsort(order, axis)?, axis);
        }
        self.in_rows("sort", axis, |x, extent| {
            let sorting = Sorting { order, extent };
            x.session().record(|recorder| recorder.sort_rows(x.id(), sorting))
        })
    }

    /// The numbers that sort the entries along an axis, as [`Array::argsort`].
    ///
    /// # Errors
    /// As [`Tensor::sort`].
    pub fn argsort(&self, order: Order, axis: i64) -> Result<Self> {
        if self.is_complex() {
            let [real, imag] = self.whole_parts()?;
            let by_imag = imag.argsort(order, axis)?;
            // Zeros of both signs are equal: imaginary parts decide.
            let real = real.each(|real| real.try_add(0))?;
            let by_real = real.take_along(&by_imag, axis)?.argsort(order, axis)?;
            return by_imag.take_along(&by_real, axis);
        }
        self.in_rows("argsort", axis, |x, extent| {
            let sorting = Sorting { order, extent };
            x.session().record(|recorder| recorder.sort_index_rows(x.id(), sorting))
        })
    }

    /// Real and imaginary parts, both NaN where one is: such an entry is NaN.
    pub(super) fn whole_parts(&self) -> Result<[Self; 2]> {
        let [real, imag] = &self.entries()?[..] else { return Ok([self.part(0)?, self.part(1)?]) };
        let is_number = real.eq(real)?.try_and(&imag.eq(imag)?)?;
        let part = |own: &Array| {
            let nan = Scalar::Float(f64::NAN);
            let whole = is_number.apply(Op::Select, &[own.into(), nan.into()])?;
            Self::of([whole], self.shape().clone())
        };
        Ok([part(real)?, part(imag)?])
    }

    /// Sums of the entries up to each along an axis; floats are added by doubling, as [`Array::block_prefix_sum`] does, but
    /// where there is one row alone, as [`Array::psum`].
    ///
    /// # Errors
    /// `Argument` if there is no such axis.
    pub fn cumsum(&self, axis: i64) -> Result<Self> {
        let parts = (0..self.parts().len())
            .map(|i| self.part(i)?.combined_up_to("cumsum", ReduceOp::Sum, axis));
        Self::zip(&parts.collect::<Result<Vec<_>>>()?)
    }

    /// Products of the entries up to each along an axis, as [`Tensor::cumsum`]; of complex entries by doubling.
    ///
    /// # Errors
    /// `Argument` if there is no such axis.
    pub fn cumprod(&self, axis: i64) -> Result<Self> {
        if !self.is_complex() {
            return self.combined_up_to("cumprod", ReduceOp::Prod, axis);
        }
        let extent = self.shape().extents()[self.shape().axis("cumprod", axis)?];
        let steps = std::iter::successors(Some(1), |step| Some(2 * step));
        steps.take_while(|&step| step < extent).try_fold(self.clone(), |products, step| {
            // Those that are products of all before stay.
            let behind = products.slice(axis, exactly::<i64>(step)..)?;
            let before = products.slice(axis, ..exactly::<i64>(extent - step))?;
            let first = products.slice(axis, ..exactly::<i64>(step))?;
            Self::concat(&[first, behind.times(&before)?], axis)
        })
    }

    /// The largest entry up to each along an axis; NaN is ignored.
    ///
    /// # Errors
    /// `Argument` if there is no such axis; `Forms` for complex entries.
    pub fn cummax(&self, axis: i64) -> Result<Self> {
        let found = self.combined_up_to("cummax", ReduceOp::Max, axis)?;
        found.each(|x| x.cast(self.dtype()))
    }

    /// The smallest entry up to each along an axis; NaN is ignored.
    ///
    /// # Errors
    /// As [`Tensor::cummax`].
    pub fn cummin(&self, axis: i64) -> Result<Self> {
        let found = self.combined_up_to("cummin", ReduceOp::Min, axis)?;
        found.each(|x| x.cast(self.dtype()))
    }

    /// What an operation makes of the entries up to each along an axis: of one row in a pass, of several by doubling.
    fn combined_up_to(&self, op: &'static str, by: ReduceOp, axis: i64) -> Result<Self> {
        self.in_rows(op, axis, |x, extent| {
            if x.size() == extent {
                return x.session().record(|recorder| recorder.prefix(by, x.id()));
            }
            x.session().compose(op, &[extent], &[x], move |recorder, args| {
                recorder.block_prefix(by.combine(), args[0], extent)
            })
        })
    }

    /// The number of the first entry along an axis that is smallest, or largest, as [`Array::argmin`]; without an axis
    /// among all.
    ///
    /// # Errors
    /// `EmptyReduction`; `Forms` for complex entries.
    pub fn arg_extreme(&self, op: ReduceOp, axis: Option<i64>, keeps: bool) -> Result<Self> {
        let name = if op == ReduceOp::Min { "argmin" } else { "argmax" };
        let x = self.real(name)?;
        let Some(axis) = axis else {
            let all = Self::from(&self.entries()?[0]);
            let found = all.each(|x| if op == ReduceOp::Min { x.argmin() } else { x.argmax() })?;
            let ones = vec![1; if keeps { self.shape().rank() } else { 0 }];
            return Self::of(found.parts, Shape::new(name, ones)?);
        };
        let extent = self.shape().extents()[self.shape().axis(name, axis)?];
        if extent == 0 {
            return Err(Error::EmptyReduction { op: name });
        }
        if self.dtype() == DType::Mask {
            return self.each(|x| x.cast(DType::U8))?.arg_extreme(op, Some(axis), keeps);
        }
        let place = self.shape().axis(name, axis)?;
        let is_of_lanes = extent > FEW && extent < u64::from(u32::MAX);
        if is_of_lanes && self.shape().n_entries() > 0 {
            let extreme = x.reduce(op, Some(&[axis]), true)?;
            let found = first_if_none(&x.first_place(place, &extreme)?)?;
            return if keeps { Ok(found) } else { found.squeeze(axis) };
        }
        let x = x.move_axis(axis, -1)?;
        let rows = x.entries()?[0].clone();
        let extreme = x.reduce(op, Some(&[-1]), true)?.broadcast(name, x.shape())?.entries()?;
        let bits = self.dtype().unsigned();
        let found =
            rows.reinterpret(bits)?.apply(Op::Eq, &[(&extreme[0].reinterpret(bits)?).into()])?;
        let counter = lane_number_type(extent);
        let lane = Self::counting(rows.session(), counter, extent)?;
        let lane = lane.broadcast(name, x.shape())?.entries()?;
        let beyond = Scalar::UInt(u64::MAX >> (64 - counter.bits()));
        let found = found.apply(Op::Select, &[(&lane[0]).into(), beyond.into()])?;
        let found = Self::of([found], x.shape().clone())?;
        let least = found.reduce(ReduceOp::Min, Some(&[-1]), true)?;
        let least = first_if_none(&least)?.move_axis(-1, axis)?;
        if keeps { Ok(least) } else { least.squeeze(axis) }
    }

    /// The middle value in order along axes, or of all entries, as [`Array::median`].
    ///
    /// # Errors
    /// As [`Tensor::sort`].
    pub fn median(&self, axes: Option<&[i64]>, keeps: bool) -> Result<Self> {
        self.among_sorted("median", axes, keeps, &median)
    }

    /// As [`Tensor::median`], of the entries that are not NaN; NaN where there are none.
    ///
    /// # Errors
    /// As [`Tensor::median`].
    pub fn nanmedian(&self, axes: Option<&[i64]>, keeps: bool) -> Result<Self> {
        let op = "nanmedian";
        if !self.real(op)?.dtype().is_float() {
            return self.among_sorted(op, axes, keeps, &median);
        }
        let along = |x: &Self, axis: usize| x.median_of_known(op, axis);
        self.over(op, axes, keeps, &|all| along(all, 0), &along)
    }

    /// The entry in the middle of those in order, of a window of odd extents around each; beyond the ends there are zeros. In
    /// the type that entries have: nothing is computed. NaN where there is one. Of many entries in windows so many at once as
    /// memory is fit for, which evaluates.
    ///
    /// # Errors
    /// As [`Tensor::sort`]; `Argument` unless there is an extent for each axis.
    pub(crate) fn middle_of_windows(&self, extents: &[u64]) -> Result<Self> {
        let (op, widths) = ("medfilt", extents.iter().map(|extent| [extent / 2; 2]));
        let padded = self.pad(&widths.collect::<Vec<_>>(), Scalar::Int(0))?;
        let (whole, session) = (self.shape().extents()[0], self.parts[0].session());
        let window: u64 = extents.iter().product();
        let of_place = (self.shape().n_entries() / whole).saturating_mul(window);
        let places = (MOST_WINDOWED / of_place).max(1);
        // What is recorded, and what keeps all for derivatives, has the windows as a whole.
        if places >= whole || !session.replays(&self.parts) {
            return padded.middles(extents);
        }
        let eval = |x: &Self| session.eval_for(op, &x.entries()?.iter().collect::<Vec<_>>());
        eval(&padded)?;
        let mut pieces = Vec::new();
        for first in (0..whole).step_by(exactly(places)) {
            let end = whole.min(first + places) + extents[0] - 1;
            let piece = padded.slice(0, exactly::<i64>(first)..exactly(end))?.middles(extents)?;
            eval(&piece)?;
            pieces.push(piece);
        }
        Self::concat(&pieces, 0)
    }

    /// The entry in the middle of those in order of each window of such extents; NaN where there is one.
    fn middles(&self, extents: &[u64]) -> Result<Self> {
        let windows = self.sliding_window_view(extents, None)?;
        let n: u64 = extents.iter().product();
        let shape = &windows.shape().extents()[..extents.len()];
        let own = Shape::new("medfilt", shape)?;
        let rows = [shape, &[n]].concat();
        let sorted = windows.shaped("medfilt", rows)?.sort(Order::Ascending, -1)?;
        let at = |i: u64| sorted.slice(-1, exactly::<i64>(i)..exactly(i + 1))?.squeeze(-1);
        let (middle, last) = (at(n / 2)?, at(n - 1)?);
        if !self.dtype().is_float() {
            return Ok(middle);
        }
        let [middle, last] = [&middle, &last].map(Self::entries);
        let (middle, last) = (&middle?[0], &last?[0]);
        let is_nan = last.apply(Op::Ne, &[last.into()])?;
        let found = is_nan.apply(Op::Select, &[last.into(), middle.into()])?;
        Self::of([found], own)
    }

    fn median_of_known(&self, op: &'static str, axis: usize) -> Result<Self> {
        if self.shape().extents()[axis] == 0 {
            return self.along_sorted(op, axis, &median);
        }
        // NaN comes last: where there is nothing else, the first one is it.
        let sorted = self.sort(Order::Ascending, exactly(axis))?;
        let known = self.each(|x| x.apply(Op::Eq, &[x.into()]))?;
        let count = known.reduce(ReduceOp::Count, Some(&[exactly(axis)]), true)?;
        let own = self.dtype();
        let at = |place: &dyn Fn(&Array) -> Result<Array>| {
            sorted.take_along(&count.each(place)?, exactly(axis))?.each(|x| x.cast(own.widened()))
        };
        let half = |count: &Array| count.apply(Op::IDiv, &[2.into()]);
        let upper = at(&half)?;
        let lower = at(&|count| half(&count.apply(Op::Max, &[1.into()])?.try_sub(1)?))?;
        let [upper, lower, count_of] = [&upper, &lower, &count].map(Self::entries);
        let (upper, lower, count_of) = (&upper?[0], &lower?[0], &count_of?[0]);
        // Halving the only one would round it.
        let is_odd = count_of.apply(Op::And, &[1.into()])?.apply(Op::Eq, &[1.into()])?;
        let value = is_odd.apply(Op::Select, &[upper.into(), (&mean(lower, upper)?).into()])?;
        let value = value.cast(own)?;
        Self::of([value], count.shape().clone())
    }

    /// The value below which a part of the entries along axes lies, or of all, as [`Array::quantile`].
    ///
    /// # Errors
    /// As [`Tensor::sort`]; `Argument` if the part is not from 0 to 1.
    pub fn quantile(&self, part: f64, axes: Option<&[i64]>, keeps: bool) -> Result<Self> {
        let op = "quantile";
        as_part(op, part)?;
        self.among_sorted(op, axes, keeps, &|at, n| {
            #[expect(
                clippy::cast_precision_loss,
                reason = "a place among so many entries is a float"
            )]
            let place = part * (n - 1) as f64;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place")]
            let lower = (place as u64).min(n - 1);
            let value = at(lower)?;
            if place.fract() == 0.0 || lower + 1 >= n {
                return Ok(value);
            }
            value.on_the_way(&at(lower + 1)?, Scalar::Float(place.fract()).into())
        })
    }

    /// As [`Tensor::quantile`], of the entries that are not NaN; NaN where there are none.
    ///
    /// # Errors
    /// As [`Tensor::quantile`].
    pub fn nanquantile(&self, part: f64, axes: Option<&[i64]>, keeps: bool) -> Result<Self> {
        let op = "nanquantile";
        if !self.real(op)?.dtype().is_float() || self.shape().n_entries() == 0 {
            return self.quantile(part, axes, keeps);
        }
        as_part(op, part)?;
        let along = |x: &Self, axis: usize| x.quantile_of_known(part, axis);
        self.over(op, axes, keeps, &|all| along(all, 0), &along)
    }

    fn quantile_of_known(&self, part: f64, axis: usize) -> Result<Self> {
        // NaN comes last: where there is nothing else, the first one is it.
        let sorted = self.sort(Order::Ascending, exactly(axis))?;
        let known = self.each(|x| x.apply(Op::Eq, &[x.into()]))?;
        let count = known.reduce(ReduceOp::Count, Some(&[exactly(axis)]), true)?;
        let own = self.dtype();
        let last = count.each(|count| count.apply(Op::Max, &[1.into()])?.try_sub(1))?;
        let place = last.each(|last| last.cast(DType::F64)?.try_mul(part))?;
        let at = |op: Op| {
            let number = place.each(|place| place.apply(op, &[])?.cast(count.dtype()))?;
            let entries = sorted.take_along(&number, exactly(axis))?.entries()?;
            entries[0].cast(own.widened())
        };
        let (lower, upper) = (at(Op::Floor)?, at(Op::Ceil)?);
        let place = &place.entries()?[0];
        let rest = place.try_sub(&place.apply(Op::Floor, &[])?)?;
        let value = lower.on_the_way(&upper, (&rest.cast(own.widened())?).into())?;
        Self::of([value.cast(own)?], count.shape().clone())
    }

    /// What is made of entries in order by their places along axes; NaN where there is one, or no entry.
    fn among_sorted(
        &self,
        op: &'static str,
        axes: Option<&[i64]>,
        keeps: bool,
        value: &dyn Fn(Sorted<'_>, u64) -> Result<Array>,
    ) -> Result<Self> {
        let dtype = self.real(op)?.dtype();
        if dtype == DType::Mask {
            return Err(Error::UnsupportedType { op, dtype, expected: "numbers" });
        }
        let along = |x: &Self, axis: usize| x.along_sorted(op, axis, value);
        self.over(op, axes, keeps, &|all| all.along_sorted(op, 0, value), &along)
    }

    /// The same along one axis, of which an entry remains.
    fn along_sorted(
        &self,
        op: &'static str,
        axis: usize,
        value: &dyn Fn(Sorted<'_>, u64) -> Result<Array>,
    ) -> Result<Self> {
        let n = self.shape().extents()[axis];
        let shape = self.shape().with_extent(op, axis, 1)?;
        let dtype = self.dtype().quotient();
        // Halves are computed in f32.
        let wide = dtype.widened();
        let sorted = self.sort(Order::Ascending, exactly(axis))?;
        let at = |i: u64| {
            let entries = sorted.range(axis, i, i + 1).entries()?;
            entries[0].cast(wide)
        };
        let result = if n == 0 {
            self.parts()[0].session().full(wide, f64::NAN, 1)?
        } else {
            let (value, last) = (value(&at, n)?, at(n - 1)?);
            let broken = last.apply(Op::Ne, &[(&last).into()])?;
            broken.apply(Op::Select, &[(&last).into(), (&value).into()])?
        };
        Self::of([result.cast(dtype)?], shape)
    }

    /// What is made of the rows along an axis, which lie behind each other and are so long: as many entries.
    fn in_rows(
        &self,
        op: &'static str,
        axis: i64,
        change: impl FnOnce(&Array, u64) -> Result<Array>,
    ) -> Result<Self> {
        let place = self.real(op)?.shape().axis(op, axis)?;
        let rows = self.move_axis(axis, -1)?;
        let extent = self.shape().extents()[place];
        if rows.shape().n_entries() == 0 {
            // None, of the type that one would have.
            let none = change(&self.sample()?, 1)?.dtype();
            let none = self.parts[0].session().zeros(none, 0)?.of_nothing(&self.parts)?;
            return Self::of([none], self.shape().clone());
        }
        let changed = change(&rows.entries()?[0], extent)?;
        Self::of([changed], rows.shape().clone())?.move_axis(-1, exactly(place))
    }

    /// Real and imaginary parts as one, of a single part it itself.
    fn zip(parts: &[Self]) -> Result<Self> {
        let entries = parts.iter().map(|part| Ok(part.entries()?.swap_remove(0)));
        Self::of(entries.collect::<Result<Vec<_>>>()?, parts[0].shape().clone())
    }
}

/// Refuses what is no part of a whole.
pub(super) fn as_part(op: &'static str, part: f64) -> Result<()> {
    let what = || format!("got the part {part}, expected 0 to 1");
    let is_part = (0.0..=1.0).contains(&part);
    if is_part { Ok(()) } else { Err(Error::Argument { op, what: what() }) }
}

/// The middle one of entries in order, of two their mean.
fn median(at: Sorted<'_>, n: u64) -> Result<Array> {
    let upper = at(n / 2)?;
    if n.is_multiple_of(2) { mean(&at(n / 2 - 1)?, &upper) } else { Ok(upper) }
}

/// The mean of two, halves first: the sum of large values would overflow.
fn mean(lower: &Array, upper: &Array) -> Result<Array> {
    let half = Scalar::Float(0.5);
    lower.apply(Op::Fma, &[half.into(), (&upper.try_mul(half)?).into()])
}

/// Places of which the largest number is none: where all entries are NaN, of any bits, the first one is meant.
fn first_if_none(places: &Tensor) -> Result<Tensor> {
    places.each(|places| {
        let none = Scalar::UInt(u64::MAX >> (64 - places.dtype().bits()));
        places.eq(none)?.apply(Op::Select, &[Scalar::UInt(0).into(), places.into()])
    })
}
