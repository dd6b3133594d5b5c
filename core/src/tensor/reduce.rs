//! Reductions along an axis, in the order of S11.
//!
//! Few entries are combined by operations, which fuse with what made them and what follows; many by a primitive, which
//! reads each once where it lies.

use std::sync::Arc;

use super::Tensor;
use super::product::products;
use super::shape::Shape;
use super::view::View;
use crate::array::Array;
use crate::convert::exactly;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::ir::op::ReduceOp;
use crate::ir::primitive::Lines;
use crate::ir::scalar::identity_bits;
use crate::trace::strided::LARGE;

/// The most entries along an axis that operations combine.
pub(super) const FEW: u64 = 16;
/// The same where lines lie in memory, one behind the other, of many entries: gathers of each place of a line take longer
/// than the lines as they lie (1e6 of 16 f32: 9 ms, 3 as they lie).
const FEW_IN_MEMORY: u64 = 3;

impl Tensor {
    /// The entries along axes combined into one; without axes all of them, in their order. The axes go away, or remain as
    /// axes of one entry. Of several axes the entries are taken in the order that they have without the others.
    /// Recorded, not run; types as of [`Array::reduce`].
    ///
    /// # Errors
    /// `Argument` if there is no such axis; `EmptyReduction` for the minimum or maximum of nothing; `UnsupportedType`,
    /// and `Forms` for complex entries, which have sums and products alone.
    pub fn reduce(&self, op: ReduceOp, axes: Option<&[i64]>, keeps: bool) -> Result<Self> {
        let name = op.name();
        if !matches!(op, ReduceOp::Sum | ReduceOp::Prod) {
            self.real(name)?;
        }
        let along = |x: &Self, axis: usize| x.one_axis(op, axis);
        let of_all = |all: &Self| match op {
            ReduceOp::Prod if all.is_complex() => all.one_axis(op, 0),
            _ => all.each(|part| part.reduce(op)),
        };
        self.over(name, axes, keeps, &of_all, &along)
    }

    /// Sums along the axes along which entries of a shape are broadcast to these; itself where they are not.
    ///
    /// # Errors
    /// As [`Tensor::reduce`].
    pub(crate) fn summed_to(&self, shape: &Shape) -> Result<Self> {
        let extents = self.shape().extents();
        let Some(n_new) = extents.len().checked_sub(shape.rank()) else { return Ok(self.clone()) };
        let is_summed =
            |axis: usize| axis < n_new || extents[axis] != 1 && shape.extents()[axis - n_new] == 1;
        let axes: Vec<i64> = (0_i64..)
            .zip(0..extents.len())
            .filter(|&(_, axis)| is_summed(axis))
            .map(|(i, _)| i)
            .collect();
        let is_broadcast =
            |axis: usize| is_summed(axis) || extents[axis] == shape.extents()[axis - n_new];
        if axes.is_empty() || !(0..extents.len()).all(is_broadcast) {
            return Ok(self.clone());
        }
        let sums = self.reduce(ReduceOp::Sum, Some(&axes), true)?;
        Self::of(sums.entries()?, shape.clone())
    }

    /// Means along axes, as [`Tensor::reduce`]; of a mask how many are true, from 0 to 1.
    ///
    /// # Errors
    /// As [`Tensor::reduce`].
    pub fn mean(&self, axes: Option<&[i64]>, keeps: bool) -> Result<Self> {
        let along = |x: &Self, axis: usize| {
            // A half is added in f32, integers in f64, and the mean is rounded.
            let (own, n) = (x.dtype().quotient(), x.shape().extents()[axis]);
            let wide = x.each(|part| part.cast(x.dtype().averaged()))?;
            let sum = wide.one_axis(ReduceOp::Sum, axis)?;
            sum.each(|sum| sum.try_div(Scalar::UInt(n).to_f64())?.cast(own))
        };
        self.over("hmean", axes, keeps, &|all| all.each(Array::mean), &along)
    }

    /// The squared distances from the mean along axes, added and divided by `n - ddof` of `n` entries, in two passes; a real
    /// one of complex entries too. `ddof`, degrees of freedom that are lost, is 0 of all there are, 1 of a sample. Of no
    /// more entries than that it is infinite, or NaN.
    ///
    /// # Errors
    /// As [`Tensor::reduce`]; `UnsupportedType` for masks.
    pub fn variance(&self, axes: Option<&[i64]>, keeps: bool, ddof: f64) -> Result<Self> {
        let (op, dtype) = ("var", self.dtype());
        if dtype == DType::Mask {
            return Err(Error::UnsupportedType { op, dtype, expected: "numbers" });
        }
        let (own, wide) = (dtype.quotient(), dtype.averaged());
        let x = self.each(|x| x.cast(wide))?;
        let mean = x.mean(axes, true)?.broadcast(op, self.shape())?.entries()?;
        let entries = x.entries()?;
        let squares = entries.iter().zip(&mean).map(|(x, mean)| {
            let distance = x.try_sub(mean)?;
            distance.try_mul(&distance)
        });
        let square = match &squares.collect::<Result<Vec<_>>>()?[..] {
            [real, imag] => real.try_add(imag)?,
            squares => squares[0].clone(),
        };
        let square = Self::of([square], self.shape().clone())?;
        if ddof == 0.0 {
            return square.mean(axes, keeps)?.each(|var| var.cast(own));
        }
        let extents =
            self.shape().axes(op, axes)?.into_iter().map(|axis| self.shape().extents()[axis]);
        let left = Scalar::UInt(extents.product()).to_f64() - ddof;
        let left = if left < 0.0 { 0.0 } else { left };
        square.reduce(ReduceOp::Sum, axes, keeps)?.each(|sum| sum.try_div(left)?.cast(own))
    }

    /// What is made of all entries as one axis, or of one axis of which an entry remains.
    pub(super) fn over(
        &self,
        op: &'static str,
        axes: Option<&[i64]>,
        keeps: bool,
        of_all: &dyn Fn(&Self) -> Result<Self>,
        along: &dyn Fn(&Self, usize) -> Result<Self>,
    ) -> Result<Self> {
        let rank = self.shape().rank();
        let axes = self.shape().axes(op, axes)?;
        let reduced = match axes[..] {
            // Of no axes every entry is its own result, of the type that results have.
            [] if rank > 0 => {
                let one = Self::of(vec![self.sample()?; self.parts.len()], Shape::line(1))?;
                let dtype = of_all(&one)?.dtype();
                return self.each(|part| part.cast(dtype));
            }
            _ if axes.len() == rank => {
                let all = Self::of(self.entries()?, Shape::line(self.shape().n_entries()))?;
                Self { parts: of_all(&all)?.parts, view: Arc::new(View::whole(Shape::number())) }
            }
            [axis] => along(self, axis)?.squeezed(axis)?,
            [first, ..] if axes.windows(2).all(|pair| pair[0] + 1 == pair[1]) => {
                let extents = self.shape().extents();
                let end = first + axes.len();
                let merged = extents[first..end].iter().product();
                let extents = [&extents[..first], &[merged], &extents[end..]].concat();
                along(&self.shaped(op, extents)?, first)?.squeezed(first)?
            }
            _ => {
                let rows = self.merged(op, &axes)?;
                let last = rows.shape().rank() - 1;
                along(&rows, last)?.squeezed(last)?
            }
        };
        if !keeps {
            return Ok(reduced);
        }
        axes.iter()
            .try_fold(View::clone(&reduced.view), |view, &axis| view.expanded(op, axis))
            .map(|view| reduced.viewed(view))
    }

    /// The axes behind all others, as one.
    pub(super) fn merged(&self, op: &'static str, axes: &[usize]) -> Result<Self> {
        let extents = self.shape().extents();
        let others = (0..extents.len()).filter(|axis| !axes.contains(axis));
        let order: Vec<i64> = others.chain(axes.iter().copied()).map(exactly::<i64>).collect();
        let mut shape: Vec<u64> =
            order.iter().map(|&axis| extents[exactly::<usize>(axis)]).collect();
        let merged = shape.split_off(extents.len() - axes.len()).iter().product();
        shape.push(merged);
        Self::of(self.permute(&order)?.entries()?, Shape::new(op, shape)?)
    }

    /// The entries along an axis combined into one.
    fn one_axis(&self, op: ReduceOp, axis: usize) -> Result<Self> {
        let extent = self.shape().extents()[axis];
        if self.shape().n_entries() == 0 {
            return self.nothing(op, axis);
        }
        if op == ReduceOp::Prod && self.is_complex() {
            return self.product_along(axis);
        }
        // The type, and whether there is one, of a reduction of one lane.
        let result = self.sample()?.reduce(op)?.dtype();
        let x = self.each(|part| part.cast(result.widened()))?;
        // True lanes are ones then.
        let op = if op == ReduceOp::Count { ReduceOp::Sum } else { op };
        let is_few =
            extent <= FEW && !x.goes_back_along(op, extent) && !x.has_lines_in_memory(axis);
        let combined = if is_few { x.halves(op, axis)? } else { x.along(op, axis)? };
        combined.each(|part| part.cast(result))
    }

    /// Whether lines along an axis are many, and lie in the memory of the host one behind the other.
    pub(super) fn has_lines_in_memory(&self, axis: usize) -> bool {
        let (shape, session) = (self.shape(), self.parts[0].session());
        let is_worth = shape.extents()[axis] > FEW_IN_MEMORY && shape.n_entries() >= LARGE;
        is_worth
            && axis + 1 == shape.rank()
            && self.is_whole()
            && session.is_on_host()
            && !session.is_recording()
            && self.parts.iter().all(|part| part.is_evaluated() && !part.is_followed())
    }

    /// Whether so many entries have a derivative that wants them together. Equal ones share that of a minimum or maximum,
    /// of which some would get more in halves; that of a sum goes to all at once, where halves are written one by one.
    /// Bodies that are recorded have operations alone.
    fn goes_back_along(&self, op: ReduceOp, extent: u64) -> bool {
        let is_wanted = match op {
            ReduceOp::Min | ReduceOp::Max => extent > 2,
            ReduceOp::Sum => {
                extent > 1 && self.view.order_in_memory(self.parts[0].size()).is_some()
            }
            ReduceOp::Prod | ReduceOp::Count | ReduceOp::Any | ReduceOp::All => false,
        };
        is_wanted
            && self.parts.iter().any(|part| part.is_followed() && !part.session().is_recording())
    }

    /// One lane of the type of the entries.
    pub(super) fn sample(&self) -> Result<Array> {
        self.parts[0].session().zeros(self.dtype(), 1)
    }

    /// What no entries along an axis combine to, or no columns beside it.
    fn nothing(&self, op: ReduceOp, axis: usize) -> Result<Self> {
        let has_result = !matches!(op, ReduceOp::Min | ReduceOp::Max);
        if !has_result && self.shape().extents()[axis] == 0 {
            return Err(Error::EmptyReduction { op: op.name() });
        }
        let dtype = self.sample()?.reduce(op)?.dtype();
        let bits = if op == ReduceOp::Sum { 0 } else { identity_bits(op, dtype) };
        let session = self.parts[0].session();
        let mut identity =
            vec![session.full(dtype, dtype.decode(bits), 1)?.of_nothing(&self.parts)?];
        if self.is_complex() {
            identity.push(session.zeros(dtype, 1)?.of_nothing(&self.parts)?);
        }
        let mut extents = self.shape().extents().to_vec();
        extents[axis] = 1;
        Self::of(identity, Shape::new(op.name(), extents)?)
    }

    /// The product of complex entries along an axis, of which there are some: the first half times the second, again and
    /// again. One that is left over is multiplied in the end.
    fn product_along(&self, axis: usize) -> Result<Self> {
        let op = ReduceOp::Prod;
        let (mut halved, mut left_over): (Self, Option<Self>) = (self.clone(), None);
        while halved.shape().extents()[axis] > 1 {
            let n = halved.shape().extents()[axis];
            if n % 2 == 1 {
                let last = halved.range(axis, n - 1, n);
                left_over = Some(match left_over {
                    Some(others) => last.with(op, &others)?,
                    None => last,
                });
            }
            let [first, second] = [0, n / 2].map(|start| halved.range(axis, start, start + n / 2));
            halved = first.with(op, &second)?;
        }
        match left_over {
            Some(others) => halved.with(op, &others),
            None => Ok(halved),
        }
    }

    /// Both of one shape, entry by entry.
    fn with(&self, op: ReduceOp, other: &Self) -> Result<Self> {
        let (own, others) = (self.entries()?, other.entries()?);
        if op == ReduceOp::Prod {
            return Self::of(products(&own, &others)?, self.shape().clone());
        }
        let pairs = own.iter().zip(&others);
        let parts = pairs.map(|(a, b)| a.apply(op.combine(), &[b.into()]));
        Self::of(parts.collect::<Result<Vec<_>>>()?, self.shape().clone())
    }

    /// Entries along an axis, of which there are some, combined where they lie; of a type that `Recorder::along` takes.
    fn along(&self, op: ReduceOp, axis: usize) -> Result<Self> {
        if let Some((lying, starts)) = self.windows_in_memory(op.name(), axis)? {
            return lying.along_windows(op, axis, &starts, None);
        }
        let Some(order) = self.view.order_in_memory(self.parts[0].size()) else {
            return self.whole()?.along(op, axis);
        };
        let (extent, own) = (self.shape().extents()[axis], exactly::<i64>(axis));
        let lying = self.permute(&order)?;
        let place = order.iter().position(|&axis| axis == own).unwrap_or(axis);
        let mut extents = lying.shape().extents().to_vec();
        let inner = extents[place + 1..].iter().product();
        extents[place] = 1;
        let part = |part: &Array| {
            if part.literal().is_some() {
                // All results are one.
                return part.resize(extent)?.reduce(op);
            }
            let ids = part.session().ids(op.name(), &[part])?;
            part.session().record(|recorder| recorder.along(op, ids[0], extent, inner))
        };
        let parts = self.parts.iter().map(part).collect::<Result<Vec<_>>>()?;
        // Back to where the axes were.
        let mut back = vec![0; order.len()];
        for (place, &axis) in order.iter().enumerate() {
            back[exactly::<usize>(axis)] = exactly(place);
        }
        Self::of(parts, Shape::new(op.name(), extents)?)?.permute(&back)
    }

    /// Lines along an axis that share entries, as windows do, and are read where they lie: with where they begin, the same
    /// entries in lanes in which each lies in neighbours. On the host, where nothing is derived.
    pub(super) fn windows_in_memory(
        &self,
        op: &'static str,
        axis: usize,
    ) -> Result<Option<(Self, View)>> {
        let session = self.parts[0].session();
        let is_there = session.is_on_host()
            && !session.is_recording()
            && self.parts.iter().all(|part| part.literal().is_none() && !part.is_followed());
        if !is_there {
            return Ok(None);
        }
        let n = self.parts[0].size();
        let lying = match self.view.with_lines_turned(axis, n) {
            Some((columns, view)) => {
                let shape = Shape::new(op, [n / columns, columns])?;
                let lanes = self.parts.iter().cloned();
                let turned = Self::of(lanes, shape)?.matrix_transpose()?.entries()?;
                Self { parts: turned.into_iter().collect(), view: Arc::new(view) }
            }
            None => self.clone(),
        };
        let starts = lying.view.overlapping_lines(axis, n);
        Ok(starts.map(|starts| (lying, starts)))
    }

    /// As [`Tensor::along`], of lines that begin where a view says, perhaps times a factor for each place along the axis: the
    /// entries of all together are never in memory.
    pub(super) fn along_windows(
        &self,
        op: ReduceOp,
        axis: usize,
        starts: &View,
        factors: Option<&Array>,
    ) -> Result<Self> {
        let session = self.parts[0].session();
        let mut extents = self.shape().extents().to_vec();
        let extent = std::mem::replace(&mut extents[axis], 1);
        let n = self.parts[0].size().max(starts.shape().n_entries());
        let starts = starts.lane_numbers(session, n)?;
        let part = |part: &Array| {
            let arrays: Vec<&Array> = [part, &starts].into_iter().chain(factors).collect();
            let ids = session.ids(op.name(), &arrays)?;
            let factors = ids.get(2).copied();
            session.record(|recorder| recorder.windows(op, [ids[0], ids[1]], factors, extent))
        };
        let parts = self.parts.iter().map(part).collect::<Result<Vec<_>>>()?;
        Self::of(parts, Shape::new(op.name(), extents)?)
    }

    /// The numbers along an axis of the first entries with the bits of values, one for each line: as [`Recorder::first_place`].
    pub(super) fn first_place(&self, axis: usize, values: &Self) -> Result<Self> {
        let Some(order) = self.view.order_in_memory(self.parts[0].size()) else {
            return self.whole()?.first_place(axis, values);
        };
        let part = &self.parts[0];
        let session = part.session();
        if part.literal().is_some() {
            return Self::of([session.zeros(DType::U32, 1)?], values.shape().clone());
        }
        let (extent, own) = (self.shape().extents()[axis], exactly::<i64>(axis));
        let lying = self.permute(&order)?;
        let place = order.iter().position(|&axis| axis == own).unwrap_or(axis);
        let inner = lying.shape().extents()[place + 1..].iter().product();
        let values = values.permute(&order)?;
        let ids = session.ids("place", &[part, &values.entries()?[0]])?;
        let lines = Lines { extent, inner };
        let found = session.record(|recorder| recorder.first_place(ids[0], ids[1], lines))?;
        let mut back = vec![0; order.len()];
        for (place, &axis) in order.iter().enumerate() {
            back[exactly::<usize>(axis)] = exactly(place);
        }
        Self::of([found], values.shape().clone())?.permute(&back)
    }

    /// The entries along an axis, of which there are some and at most as many as accumulators, combined by halves:
    /// accumulator i takes i + 16, then i + 8, and so on; those that are missing hold the identity.
    fn halves(&self, op: ReduceOp, axis: usize) -> Result<Self> {
        let entry = |j: u64| self.range(axis, j, j + 1);
        let extent = self.shape().extents()[axis];
        let mut entries = (0..extent).map(entry).collect::<Vec<_>>();
        let mut half = entries.len().next_power_of_two() / 2;
        while half > 0 {
            let upper = entries.split_off(half.min(entries.len()));
            for (entry, other) in entries.iter_mut().zip(&upper) {
                *entry = entry.with(op, other)?;
            }
            half /= 2;
        }
        Ok(entries.swap_remove(0))
    }
}
