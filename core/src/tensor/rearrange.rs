//! Tensors put together, and their entries in other places along axes.

use std::borrow::{Borrow, Cow};
use std::sync::Arc;

use smallvec::SmallVec;

use super::view::View;
use super::{AxisIndex, Parts, Shape, Tensor};
use crate::array::{Array, Slice};
use crate::convert::exactly;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::ir::op::Op;
use crate::ir::primitive::lane_number_type;
use crate::ir::var::Reader;
use crate::trace::padding::Around;

/// What is wrong with the entries of a tensor that is made.
const TOO_MANY: &str = "more entries than 2^63";

/// Entries of a row from which on rows are written one by one; shorter ones column by column, and turned.
const LONG_ROW: u64 = 32;

/// Bytes that a tensor takes on the host, in a list and with a view of its own.
const PART: u64 = 512;

/// Something for each of some tensors, mostly few.
type OfFew<T> = SmallVec<[T; 2]>;

impl Tensor {
    /// Tensors behind each other along an axis, promoted to one type; other axes are equal.
    ///
    /// # Errors
    /// `Argument` if there is none, or no such axis; `Forms`, naming the shapes, if other axes differ; `TypeMismatch`.
    pub fn concat(tensors: &[impl Borrow<Self>], axis: i64) -> Result<Self> {
        Self::joined("concat", tensors, axis)
    }

    /// As [`Tensor::concat`], for another function, which errors name.
    pub(crate) fn joined(
        op: &'static str,
        tensors: &[impl Borrow<Self>],
        axis: i64,
    ) -> Result<Self> {
        let tensors = borrowed(tensors);
        let Some(first) = tensors.first() else {
            let what = "got an empty list, expected tensors or arrays".into();
            return Err(Error::Argument { op, what });
        };
        let axis = first.shape().axis(op, axis)?;
        for tensor in &tensors {
            let own = tensor.shape();
            if !own.is_like(first.shape(), axis) {
                let what =
                    format!("{op}: shapes {} and {own} differ beside axis {axis}", first.shape());
                return Err(Error::forms(what));
            }
        }
        let rows: u64 = first.shape().extents()[..axis].iter().product();
        let is_long = |tensor: &&Self| tensor.shape().n_entries() >= rows.saturating_mul(LONG_ROW);
        if rows > 1 && tensors.len() > 1 && tensors.iter().all(is_long) {
            return Self::side_by_side(op, &tensors, rows, axis);
        }
        let views = tensors.iter().map(|tensor| View::clone(&tensor.view).moved(axis, 0));
        Self::behind_each_other(op, &tensors, &views.collect::<OfFew<_>>(), axis)
    }

    /// Tensors whose entries are so many rows, those before an axis that is joined, one beside the other.
    fn side_by_side(op: &'static str, tensors: &[&Self], rows: u64, axis: usize) -> Result<Self> {
        let tensors = alike(op, tensors)?;
        let extents = tensors.iter().map(|tensor| tensor.shape().extents()[axis]);
        let extent = extents.fold(0, u64::saturating_add);
        let shape = tensors[0].shape().with_extent(op, axis, extent)?;
        let lanes = tensors.iter().map(|tensor| tensor.entries()).collect::<Result<OfFew<_>>>()?;
        let part = |i: usize| {
            let parts: OfFew<&Array> = lanes.iter().map(|lanes| &lanes[i]).collect();
            parts[0].session().side_by_side(&parts, rows)
        };
        let parts = (0..tensors[0].parts.len()).map(part).collect::<Result<Parts>>()?;
        Self::of(parts, shape)
    }

    /// Tensors seen in ways whose first axes are joined; that axis of the result then goes to its place.
    fn behind_each_other(
        op: &'static str,
        tensors: &[&Self],
        views: &[View],
        axis: usize,
    ) -> Result<Self> {
        let tensors = alike(op, tensors)?;
        let extents = views.iter().map(|view| view.shape().extents()[0]);
        // Beyond 2^63 there is no shape.
        let extent = extents.fold(0, u64::saturating_add);
        let shape = views[0].shape().with_extent(op, 0, extent)?;
        let session = tensors[0].parts[0].session();
        let part = |i: usize| {
            let of_each = tensors.iter().zip(views);
            let lanes = of_each.map(|(tensor, view)| view.lanes_of(&tensor.parts[i]));
            let lanes = lanes.collect::<Result<OfFew<Cow<'_, Array>>>>()?;
            session.concat(&lanes.iter().map(Cow::as_ref).collect::<OfFew<&Array>>())
        };
        let parts = (0..tensors[0].parts.len()).map(part).collect::<Result<Parts>>()?;
        Ok(Self { parts, view: Arc::new(View::whole(shape).moved(0, axis)) })
    }

    /// Tensors of one shape along a new axis.
    ///
    /// # Errors
    /// As [`Tensor::concat`]; `Forms` if shapes differ.
    pub fn stack(tensors: &[impl Borrow<Self>], axis: i64) -> Result<Self> {
        let (op, tensors) = ("stack", borrowed(tensors));
        if let [first, others @ ..] = &tensors[..]
            && let Some(other) = others.iter().find(|other| other.shape() != first.shape())
        {
            let what = format!("{op}: got the shapes {} and {}", first.shape(), other.shape());
            let remedy = "they are equal, or made so: broadcast_to(t, shape), reshape(t, shape)";
            return Err(Error::Forms {
                what: format!("{what}, expected equal ones"),
                remedy: Some(remedy),
            });
        }
        let Some(first) = tensors.first() else { return Self::joined(op, &tensors, axis) };
        let axis = first.place_between(op, axis)?;
        let views = tensors.iter().map(|tensor| View::clone(&tensor.view).expanded(op, 0));
        Self::behind_each_other(op, &tensors, &views.collect::<Result<OfFew<_>>>()?, axis)
    }

    /// An axis in another place, the others in their order.
    ///
    /// # Errors
    /// `Argument` if there is no such axis.
    pub fn move_axis(&self, from: i64, to: i64) -> Result<Self> {
        let op = "moveaxis";
        let (from, to) = (self.shape().axis(op, from)?, self.shape().axis(op, to)?);
        if from == to {
            return Ok(self.clone());
        }
        Ok(self.viewed(View::clone(&self.view).moved(from, to)))
    }

    /// Two axes changed for each other.
    ///
    /// # Errors
    /// `Argument` if there is no such axis.
    pub fn swap_axes(&self, a: i64, b: i64) -> Result<Self> {
        let op = "swapaxes";
        let (a, b) = (self.shape().axis(op, a)?, self.shape().axis(op, b)?);
        let mut axes: Vec<i64> = (0..exactly::<i64>(self.shape().rank())).collect();
        axes.swap(a, b);
        self.permute(&axes)
    }

    /// Of each line along an axis the entries with the numbers in the same line of an index, which has as many axes; its
    /// other extents are the tensor's, or 1. Recorded, not run.
    ///
    /// # Errors
    /// `Argument` for another shape; numbers out of bounds are told later (S13).
    pub fn take_along(&self, index: &Self, axis: i64) -> Result<Self> {
        let op = "take_along_axis";
        let (own, axis) = (self.shape().extents(), self.shape().axis(op, axis)?);
        let given = index.shape().extents();
        let fits =
            |(i, (&own, &given)): (usize, (&u64, &u64))| i == axis || given == own || given == 1;
        if own.len() != given.len() || !own.iter().zip(given).enumerate().all(fits) {
            let what = format!(
                "got an index of {}, expected the extents of {} but for axis {axis}",
                index.shape(),
                self.shape()
            );
            return Err(Error::Argument { op, what });
        }
        let session = self.parts()[0].session();
        let places = (0..own.len()).map(|i| {
            if i == axis {
                return Ok(AxisIndex::Numbers(index.clone()));
            }
            Self::numbers_along(session, DType::U64, own, i).map(AxisIndex::Numbers)
        });
        self.at(&places.collect::<Result<Vec<_>>>()?)
    }

    /// The entries with these numbers along an axis; see [`AxisIndex::Numbers`].
    ///
    /// # Errors
    /// As [`Tensor::at`].
    pub fn take(&self, numbers: &Self, axis: i64) -> Result<Self> {
        let axis = self.shape().axis("take", axis)?;
        let mut places = vec![AxisIndex::Slice((..).into()); axis];
        places.push(AxisIndex::Numbers(numbers.clone()));
        self.at_as(Reader::TakeAlong, &places)
    }

    /// Entry i goes to place i + n along an axis, those beyond the end to the start.
    ///
    /// # Errors
    /// `Argument` if there is no such axis.
    pub fn roll(&self, n: i64, axis: i64) -> Result<Self> {
        let extent = self.extent("roll", axis)?;
        if extent == 0 {
            return Ok(self.clone());
        }
        let start = i128::from(n).rem_euclid(i128::from(extent));
        let start = u64::try_from(start).unwrap_or(0);
        let [start, rest] = [start, extent - start].map(Scalar::UInt);
        self.picked(axis, extent, |place| {
            let (ahead, behind) = (place.try_add(rest)?, place.try_sub(start)?);
            place.lt(start)?.select(&ahead, &behind)
        })
    }

    /// All of it n times along an axis.
    ///
    /// # Errors
    /// `Argument` if there is no such axis, or too many entries.
    pub fn tile(&self, n: u64, axis: i64) -> Result<Self> {
        let extent = self.extent("tile", axis)?;
        let wide = self.shape().with_extent("tile", self.shape().axis("tile", axis)?, 1)?;
        let all = product("tile", &[extent, n])?;
        product("tile", &[all, wide.n_entries()])?;
        self.picked(axis, all, |lane| lane.try_rem(Scalar::UInt(extent)))
    }

    /// Each entry n times along an axis.
    ///
    /// # Errors
    /// As [`Tensor::tile`].
    pub fn repeat(&self, n: u64, axis: i64) -> Result<Self> {
        let extent = self.extent("repeat", axis)?;
        let all = product("repeat", &[extent, n])?;
        self.picked(axis, all, |lane| lane.apply(Op::IDiv, &[Scalar::UInt(n).into()]))
    }

    /// Each entry along an axis as often as that of `counts`, integers, says. Adds them up, which evaluates.
    ///
    /// # Errors
    /// As [`Array::repeat_each`]; `Argument` if there is no such axis.
    pub fn repeat_each(&self, counts: &Array, axis: i64) -> Result<Self> {
        let extent = self.extent("repeat", axis)?;
        let own = Self::counting(counts.session(), lane_number_type(extent), extent)?;
        let numbers = own.parts[0].repeat_each(counts)?;
        self.take(&Self::new(&numbers, &[numbers.size()])?, axis)
    }

    /// With so many entries of a number before and behind those of each axis.
    ///
    /// # Errors
    /// `Argument` for another number of pairs than axes; `NumberRange`.
    pub fn pad(&self, widths: &[[u64; 2]], number: Scalar) -> Result<Self> {
        let op = "pad";
        let rank = self.shape().rank();
        if widths.len() != rank {
            let what = format!("got {} pairs of widths for {}", widths.len(), self.shape());
            return Err(Error::Argument { op, what });
        }
        if widths.iter().all(|pair| *pair == [0; 2]) {
            return Ok(self.clone());
        }
        let pairs = self.shape().extents().iter().zip(widths);
        let sum = |(&extent, &[before, behind]): (&u64, &[u64; 2])| {
            let sum = before.checked_add(extent).and_then(|sum| sum.checked_add(behind));
            sum.ok_or_else(|| Error::Argument { op, what: TOO_MANY.into() })
        };
        let shape = Shape::new(op, pairs.map(sum).collect::<Result<Vec<_>>>()?)?;
        let n = shape.n_entries();
        // Of what writes the gradient reads; of what reads it would add.
        if self.shape().n_entries() > 0 && !self.parts.iter().any(Array::is_followed) {
            return self.read_within(widths, number, shape);
        }
        let session = self.parts()[0].session();
        let mut padding = vec![session.full(self.dtype(), number, n)?];
        if self.is_complex() {
            padding.push(session.zeros(self.dtype(), n)?);
        }
        let pairs = self.shape().extents().iter().zip(widths);
        let place = |(&extent, &[before, _]): (&u64, &[u64; 2])| {
            let [start, stop] = [before, before + extent].map(exactly::<i64>);
            AxisIndex::Slice(Slice::new(start, stop, 1))
        };
        Self::of(padding, shape)?.with_at(&pairs.map(place).collect::<Vec<_>>(), self)
    }

    /// The same of some entries, read by the lanes of the result.
    fn read_within(&self, widths: &[[u64; 2]], number: Scalar, shape: Shape) -> Result<Self> {
        let mut axes: Vec<Around> = Vec::new();
        for (&extent, &[before, behind]) in self.shape().extents().iter().zip(widths) {
            match axes.last_mut() {
                // Nothing is between the entries of an axis that has nothing around it.
                Some(outer) if before + behind == 0 => outer.iter_mut().for_each(|n| *n *= extent),
                _ => axes.push([before, extent, behind]),
            }
        }
        let session = self.parts[0].session();
        let entries = self.entries()?;
        let numbers = [session.full(self.dtype(), number, 1)?, session.zeros(self.dtype(), 1)?];
        let parts = entries.iter().zip(&numbers).map(|(part, number)| {
            let ids = session.ids("pad", &[part, number])?;
            session.record(|recorder| recorder.padded(ids[0], ids[1], &axes))
        });
        Self::of(parts.collect::<Result<Parts>>()?, shape)
    }

    /// The parts of an axis, n of one length.
    ///
    /// # Errors
    /// `Argument` if they are not equal, or there is no such axis; `OutOfMemory` for a list of too many.
    pub fn sections(&self, n: u64, axis: i64) -> Result<Vec<Self>> {
        let op = "split";
        let extent = self.shape().extents()[self.shape().axis(op, axis)?];
        if n == 0 || !extent.is_multiple_of(n) {
            let what = format!(
                "the {extent} entries along axis {axis} of {} do not make {n} parts",
                self.shape()
            );
            return Err(Error::Argument { op, what });
        }
        // Parts without entries may be any number.
        self.parts[0].session().check_host_memory(n.saturating_mul(PART))?;
        let length = exactly::<i64>(extent / n);
        let part = |i: i64| {
            if interrupt::is_requested() {
                return Err(Error::Interrupted);
            }
            self.slice(axis, Slice::new(i * length, (i + 1) * length, 1))
        };
        (0..exactly::<i64>(n)).map(part).collect()
    }

    /// The diagonal of a matrix, so many above it, of many those of their last two axes; of one axis a matrix with this
    /// diagonal there.
    ///
    /// # Errors
    /// `Argument` for other shapes.
    pub fn diag(&self, above: i64) -> Result<Self> {
        let op = "diag";
        let from = above.unsigned_abs();
        match *self.shape().extents() {
            [n] => {
                let side = n.checked_add(from);
                let side = side.ok_or_else(|| Error::Argument { op, what: TOO_MANY.into() })?;
                let zero = self.each(|part| part.session().zeros(part.dtype(), 1))?;
                let zeros = Self::of(zero.parts, Shape::new(op, [side, side])?)?;
                let session = self.parts()[0].session();
                let first = Self::counting(session, DType::U64, n)?;
                let moved = first.each(|numbers| numbers.try_add(Scalar::UInt(from)))?;
                let [row, column] = if above < 0 { [moved, first] } else { [first, moved] };
                zeros.with_at(&[row, column].map(AxisIndex::Numbers), self)
            }
            [ref outer @ .., m, n] => {
                let row = outer.len();
                let (axis, extent) = if above < 0 { (row, m) } else { (row + 1, n) };
                let rest = self.range(axis, from.min(extent), extent);
                let sides = &rest.shape().extents()[row..];
                let side = (sides[0].min(sides[1]), vec![row, row + 1]);
                let outer = outer.iter().enumerate().map(|(axis, &n)| (n, vec![axis]));
                let axes: Vec<_> = outer.chain([side]).collect();
                Ok(rest.viewed(rest.view.together(op, &axes)?))
            }
            [] => {
                let what = format!("got {}, expected one axis or more", self.shape());
                Err(Error::Argument { op, what })
            }
        }
    }

    /// The entries of matrices, which are the last two axes, whose column is at most (`Le`) or at least (`Ge`) so many behind
    /// the row; the others are 0.
    ///
    /// # Errors
    /// `Argument` if there are fewer axes.
    pub(crate) fn triangle(&self, op: &'static str, keeps: Op, above: i64) -> Result<Self> {
        let [.., m, n] = *self.shape().extents() else {
            let what = format!("got {}, expected a matrix: two axes or more", self.shape());
            return Err(Error::Argument { op, what });
        };
        let session = self.parts()[0].session();
        let is_small = i32::try_from(m.saturating_add(n)).is_ok();
        let counter = if is_small { DType::I32 } else { DType::I64 };
        let shape = Shape::new(op, [m, n])?;
        let numbers = |n: u64| Self::counting(session, counter, n);
        let row = numbers(m)?.expand(-1)?.broadcast(op, &shape)?.entries()?.swap_remove(0);
        let column = numbers(n)?.broadcast(op, &shape)?.entries()?.swap_remove(0);
        // All matrices have the same sides, of which none is so far.
        let above = above.clamp(-exactly::<i64>(m), exactly(n));
        let is_kept = column.try_sub(&row)?.apply(keeps, &[above.into()])?;
        let is_kept = Self::of([is_kept], shape)?.broadcast(op, self.shape())?.entries()?;
        let zero = session.zeros(self.dtype(), 1)?;
        let entries = self.entries()?;
        let parts = entries.iter().map(|part| is_kept[0].select(part, &zero));
        Self::of(parts.collect::<Result<Vec<_>>>()?, self.shape().clone())
    }

    pub(super) fn extent(&self, op: &'static str, axis: i64) -> Result<u64> {
        Ok(self.shape().extents()[self.shape().axis(op, axis)?])
    }

    /// So many entries along an axis: those whose numbers a function makes of theirs.
    pub(super) fn picked(
        &self,
        axis: i64,
        n: u64,
        number: impl Fn(&Array) -> Result<Array>,
    ) -> Result<Self> {
        let place = self.shape().axis("take", axis)?;
        let shape = self.shape().with_extent("take", place, n)?;
        if shape.n_entries() == 0 || !self.is_whole() {
            let session = self.parts()[0].session();
            let counter = self.counter(&shape);
            return self.take(&Self::counting(session, counter, n)?.each(number)?, axis);
        }
        self.placed(shape, &[place], |_, along| number(along))
    }

    /// Whether all lanes are entries, in their order.
    pub(super) fn is_whole(&self) -> bool {
        self.view.is_whole(self.parts()[0].size())
    }

    /// A type for the numbers of entries here and in another shape, and for twice those along an axis.
    fn counter(&self, shape: &Shape) -> DType {
        let longest = shape.extents().iter().max().map_or(0, |&extent| extent.saturating_mul(2));
        lane_number_type(longest.max(shape.n_entries()).max(self.shape().n_entries()))
    }

    /// The entries, all lanes in their order, in a shape that has some: along some axes those whose numbers a function makes
    /// of the axis and the number there. Other axes are equal.
    pub(super) fn placed(
        &self,
        shape: Shape,
        axes: &[usize],
        number: impl Fn(usize, &Array) -> Result<Array>,
    ) -> Result<Self> {
        // Neighbours that are equal are one axis.
        let mut runs: Vec<(u64, u64, Option<usize>)> = Vec::new();
        for (axis, (&own, &new)) in self.shape().extents().iter().zip(shape.extents()).enumerate() {
            match (axes.contains(&axis), runs.last_mut()) {
                (true, _) => runs.push((own, new, Some(axis))),
                (false, Some((outer, outer_new, None))) => {
                    (*outer, *outer_new) = (*outer * own, *outer_new * new);
                }
                (false, _) => runs.push((own, new, None)),
            }
        }
        runs.retain(|&(own, _, axis)| own > 1 || axis.is_some());
        let (total, counter) = (shape.n_entries(), self.counter(&shape));
        let session = self.parts()[0].session();
        let mut left = session.arange(counter, 0.into(), Scalar::UInt(total), 1.into())?;
        let times = |a: &Array, b: u64| a.try_mul(Scalar::UInt(b));
        let mut numbers = Vec::with_capacity(runs.len());
        for (i, &(own, new, axis)) in runs.iter().enumerate().rev() {
            let mut along = left.clone();
            if i > 0 {
                left = left.apply(Op::IDiv, &[Scalar::UInt(new).into()])?;
                along = along.try_sub(&times(&left, new)?)?;
            }
            let along = axis.map_or(Ok(along.clone()), |axis| number(axis, &along))?;
            numbers.push((own, along));
        }
        let index =
            numbers.into_iter().rev().try_fold(None, |outer: Option<Array>, (own, along)| {
                let Some(outer) = outer else { return Ok(Some(along)) };
                times(&outer, own)?.try_add(&along).map(Some)
            })?;
        let index = index.unwrap_or(left);
        let pick = |part: &Array| match total > self.shape().n_entries() {
            // Those of an expression would be computed more than once.
            true => session.record(|recorder| recorder.pick(part.id(), index.id(), None)),
            false => part.places(&index),
        };
        Self::of(self.parts().iter().map(pick).collect::<Result<Parts>>()?, shape)
    }
}

fn borrowed(tensors: &[impl Borrow<Tensor>]) -> OfFew<&Tensor> {
    tensors.iter().map(Borrow::borrow).collect()
}

/// Tensors of one type, complex if one of them is.
pub(super) fn alike<'t>(
    op: &'static str,
    tensors: &[&'t Tensor],
) -> Result<OfFew<Cow<'t, Tensor>>> {
    let mut dtypes = tensors.iter().map(|tensor| tensor.dtype());
    let first = dtypes.next().unwrap_or(DType::F32);
    let common =
        |lhs: DType, rhs: DType| lhs.promote(rhs).ok_or(Error::TypeMismatch { op, lhs, rhs });
    let dtype = dtypes.try_fold(first, common)?;
    let is_complex = tensors.iter().any(|tensor| tensor.is_complex());
    let like = |&tensor: &&'t Tensor| {
        if (tensor.dtype(), tensor.is_complex()) == (dtype, is_complex) {
            return Ok(Cow::Borrowed(tensor));
        }
        let mut tensor = tensor.each(|part| part.cast(dtype))?;
        if is_complex && !tensor.is_complex() {
            let real = &tensor.parts[0];
            let zeros = real.session().zeros(dtype, real.size())?;
            tensor.parts.push(zeros);
        }
        Ok(Cow::Owned(tensor))
    };
    tensors.iter().map(like).collect()
}

fn product(op: &'static str, factors: &[u64]) -> Result<u64> {
    let n = factors.iter().try_fold(1_u64, |n, &factor| n.checked_mul(factor));
    let n = n.filter(|&n| i64::try_from(n).is_ok());
    n.ok_or_else(|| Error::Argument { op, what: TOO_MANY.into() })
}
