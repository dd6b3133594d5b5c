//! Views: which lanes of an array the entries of a tensor are.

use std::borrow::Cow;
use std::cmp::Reverse;

use smallvec::smallvec;

use super::shape::{OfAxes, Shape};
use crate::array::{Array, Slice};
use crate::convert::exactly;
use crate::error::{Error, Result};
use crate::ir::primitive::lane_number_type;
use crate::session::Session;
use crate::trace::strided::{LARGE, Sides};

/// Entry (i, j, ..) of a shape is lane start + i s₀ + j s₁ + ..; arithmetic wraps, as that of lane numbers does.
///
/// Transposing, slicing, stretching change the start and the steps alone.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct View {
    shape: Shape,
    start: u64,
    steps: OfAxes<i64>,
}

impl Clone for View {
    fn clone(&self) -> Self {
        // Copied as they lie, not one by one.
        let steps = OfAxes::from_slice(&self.steps);
        Self { shape: self.shape.clone(), start: self.start, steps }
    }
}

impl View {
    /// Entries that lie anywhere in a number of lanes; `None` if one is outside.
    pub(crate) fn strided(shape: Shape, start: u64, steps: &[i64], n_lanes: u64) -> Option<Self> {
        let (mut first, mut last) = (i128::from(start), i128::from(start));
        for (&extent, &step) in shape.extents().iter().zip(steps) {
            let way = i128::from(extent.saturating_sub(1)).checked_mul(i128::from(step))?;
            first = first.checked_add(way.min(0))?;
            last = last.checked_add(way.max(0))?;
        }
        let fits = first >= 0 && last < i128::from(n_lanes) && steps.len() == shape.rank();
        fits.then(|| Self { start, steps: OfAxes::from_slice(steps), shape })
    }

    /// The entries in the order of lanes, the last axis running fastest.
    pub(crate) fn whole(shape: Shape) -> Self {
        let mut steps = OfAxes::from_elem(0, shape.rank());
        let mut step = 1_u64;
        for (place, &extent) in steps.iter_mut().zip(shape.extents()).rev() {
            *place = step.cast_signed();
            step = step.wrapping_mul(extent);
        }
        Self { shape, start: 0, steps }
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The axes in another order.
    ///
    /// # Errors
    /// `Argument` unless each axis is named once.
    pub(crate) fn permuted(&self, op: &'static str, axes: &[i64]) -> Result<Self> {
        let places = axes.iter().map(|&axis| self.shape.axis(op, axis));
        let places = places.collect::<Result<OfAxes<_>>>()?;
        let is_named = |axis: &usize| places.contains(axis);
        if places.len() != self.shape.rank() || !(0..places.len()).all(|axis| is_named(&axis)) {
            let what = format!("got the axes {axes:?} of {}, expected each once", self.shape);
            return Err(Error::Argument { op, what });
        }
        let extents: OfAxes<u64> = places.iter().map(|&axis| self.shape.extents()[axis]).collect();
        let steps = places.iter().map(|&axis| self.steps[axis]).collect();
        Ok(Self { shape: Shape::new(op, extents)?, start: self.start, steps })
    }

    /// The entries from one number up to another along an axis, which has them.
    pub(crate) fn part(self, axis: usize, start: u64, end: u64) -> Self {
        let [start, end] = [start, end].map(exactly::<i64>);
        self.sliced(axis, Slice::new(start, end, 1))
    }

    /// One entry of an axis, which has it and goes away.
    pub(crate) fn entry(mut self, axis: usize, entry: u64) -> Self {
        let step = self.steps[axis].cast_unsigned();
        self.start = self.start.wrapping_add(entry.wrapping_mul(step));
        self.without(axis)
    }

    /// The lanes of a slice along an axis.
    pub(crate) fn sliced(mut self, axis: usize, slice: Slice) -> Self {
        let (first, n, step) = slice.run(self.shape.extents()[axis]);
        self.shape.shrink(axis, n);
        let own = self.steps[axis];
        self.start = self.start.wrapping_add(first.wrapping_mul(own.cast_unsigned()));
        self.steps[axis] = own.wrapping_mul(step);
        self
    }

    /// Without an axis of one entry.
    ///
    /// # Errors
    /// `Argument` if it has another number of entries.
    pub(crate) fn squeezed(self, op: &'static str, axis: usize) -> Result<Self> {
        let extent = self.shape.extents()[axis];
        if extent != 1 {
            let what = format!("axis {axis} of {} has {extent} entries, expected 1", self.shape);
            return Err(Error::Argument { op, what });
        }
        Ok(self.without(axis))
    }

    /// With an axis of one entry in front of another, or behind all.
    ///
    /// # Errors
    /// `Argument` for too many axes.
    pub(crate) fn expanded(mut self, op: &'static str, axis: usize) -> Result<Self> {
        self.shape.insert(op, axis)?;
        self.steps.insert(axis, 0);
        Ok(self)
    }

    /// With an axis in another place, the others in their order.
    pub(crate) fn moved(mut self, from: usize, to: usize) -> Self {
        self.shape.relocate(from, to);
        let step = self.steps.remove(from);
        self.steps.insert(to, step);
        self
    }

    /// Stretched to a shape.
    ///
    /// # Errors
    /// `Forms` if it does not stretch to it.
    pub(crate) fn broadcast(&self, op: &str, shape: &Shape) -> Result<Self> {
        if self.shape.broadcast(op, shape)? != *shape {
            return Err(Error::forms(format!("{op}: {} does not stretch to {shape}", self.shape)));
        }
        let missing = shape.rank() - self.shape.rank();
        let own = self.shape.extents().iter().zip(&self.steps);
        // An axis of one entry stands still.
        let own = own.map(|(&extent, &step)| if extent == 1 { 0 } else { step });
        let steps = std::iter::repeat_n(0, missing).chain(own).collect();
        Ok(Self { shape: shape.clone(), start: self.start, steps })
    }

    /// The entries of an array as lanes, the last axis running fastest. Recorded, not run.
    ///
    /// # Errors
    /// As [`Array::gather`].
    pub(crate) fn entries_of(&self, array: &Array) -> Result<Array> {
        self.lanes_of(array).map(Cow::into_owned)
    }

    /// As [`View::entries_of`]; the array itself where they are its lanes.
    pub(crate) fn lanes_of<'a>(&self, array: &'a Array) -> Result<Cow<'a, Array>> {
        if self.is_whole(array.size()) {
            return Ok(Cow::Borrowed(array));
        }
        let (session, start, runs) = (array.session(), self.start(), self.runs());
        let sides = match array.size() >= LARGE && session.is_on_host() && !session.is_recording() {
            true => Sides::Any,
            false => Sides::Long,
        };
        session.record(|recorder| recorder.view(array.id(), start, runs, sides)).map(Cow::Owned)
    }

    /// Without an axis, of which the first entry stays.
    pub(crate) fn without(mut self, axis: usize) -> Self {
        self.shape.remove(axis);
        self.steps.remove(axis);
        self
    }

    /// With an axis of one entry stretched to more.
    pub(crate) fn stretched(mut self, axis: usize, extent: u64) -> Result<Self> {
        self.shape = self.shape.with_extent("[]", axis, extent)?;
        self.steps[axis] = 0;
        Ok(self)
    }

    /// Other axes, of so many entries each: along several of its own at the same time, or along none, which has the same
    /// entries again. Where one has a single entry it is everywhere.
    pub(crate) fn together(&self, op: &'static str, axes: &[(u64, Vec<usize>)]) -> Result<Self> {
        let own = self.shape.extents();
        let step = |of: &Vec<usize>| {
            let moving = of.iter().filter(|&&axis| own[axis] != 1);
            moving.fold(0_i64, |sum, &axis| sum.wrapping_add(self.steps[axis]))
        };
        let steps = axes.iter().map(|(_, of)| step(of)).collect();
        let extents: OfAxes<u64> = axes.iter().map(|&(extent, _)| extent).collect();
        Ok(Self { shape: Shape::new(op, extents)?, start: self.start, steps })
    }

    /// Of one axis so many runs of n neighbours, each one entry behind the other.
    pub(crate) fn windows(&self, op: &'static str, rows: u64, n: u64) -> Result<Self> {
        self.together(op, &[(rows, vec![0]), (n, vec![0])])
    }

    /// Whether the entries are all of so many lanes, matrix after matrix, each row by row (`false`) or column by column.
    pub(crate) fn is_turned(&self, lanes: u64) -> Option<bool> {
        if self.is_whole(lanes) {
            return Some(false);
        }
        let outer = self.steps.len().checked_sub(2)?;
        let [row, column] =
            [outer, outer + 1].map(|axis| (self.shape.extents()[axis], self.steps[axis]));
        self.are_all(lanes, self.axes().take(outer).chain([column, row])).then_some(true)
    }

    /// The order of the axes in which the entries are all of so many lanes, one behind the other, if there is one.
    pub(crate) fn order_in_memory(&self, lanes: u64) -> Option<Vec<i64>> {
        let mut order: Vec<usize> = (0..self.shape.rank()).collect();
        // Axes of one entry have any step.
        order.sort_by_key(|&axis| Reverse((self.steps[axis], self.shape.extents()[axis])));
        let order: Vec<i64> = order.into_iter().map(exactly).collect();
        let lying = self.permuted("permute", &order).ok()?;
        lying.is_whole(lanes).then_some(order)
    }

    /// Where lines of neighbours along an axis begin, if they have more entries than there are lanes: some are in several.
    pub(crate) fn overlapping_lines(&self, axis: usize, lanes: u64) -> Option<Self> {
        let overlap = self.steps[axis] == 1 && self.shape.n_entries() > lanes;
        let starts = overlap.then(|| self.clone().without(axis))?;
        let differ = starts.axes().any(|(extent, step)| extent > 1 && step != 0);
        differ.then_some(starts)
    }

    /// Lanes as those of a matrix, row by row, in which lines along an axis that overlap go down: its columns, and where the same
    /// entries are once they lie column by column, each line in neighbours. `None` where an axis steps from one row to
    /// another across columns.
    pub(crate) fn with_lines_turned(&self, axis: usize, lanes: u64) -> Option<(u64, Self)> {
        let columns = u64::try_from(self.steps[axis]).ok().filter(|&step| step > 1)?;
        if self.shape.n_entries() <= lanes || !lanes.is_multiple_of(columns) {
            return None;
        }
        let rows = lanes / columns;
        let (row, mut column) = (self.start / columns, self.start % columns);
        let (start, mut steps) = (column * rows + row, OfAxes::new());
        for (extent, step) in self.axes() {
            let step = u64::try_from(step).ok()?;
            let (down, across) = (step / columns, step % columns);
            column = column.checked_add(across.checked_mul(extent.saturating_sub(1))?)?;
            steps.push((across * rows + down).cast_signed());
        }
        (column < columns).then(|| (columns, Self { shape: self.shape.clone(), start, steps }))
    }

    /// Of one axis alone how far each entry is from the first.
    pub(crate) fn only(&self, axis: usize) -> Self {
        let shape = Shape::line(self.shape.extents()[axis]);
        Self { shape, start: 0, steps: smallvec![self.steps[axis]] }
    }

    /// The numbers of the lanes that the entries are, of a type for arrays of so many lanes. Recorded, not run.
    ///
    /// # Errors
    /// `OutOfMemory` if the trace is full.
    pub(crate) fn lane_numbers(&self, session: &Session, size: u64) -> Result<Array> {
        let (start, runs) = (self.start(), self.runs());
        session.record(|recorder| recorder.strided_lanes(lane_number_type(size), start, &runs))
    }

    /// The lane of the first entry.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// Extents and steps of the axes, of which neighbours are one where their lanes go on evenly.
    pub(crate) fn runs(&self) -> Vec<(u64, i64)> {
        let mut runs: Vec<(u64, i64)> = Vec::new();
        for (extent, step) in self.axes().filter(|&(extent, _)| extent != 1) {
            match runs.last_mut() {
                Some((outer, outer_step))
                    if *outer_step == step.wrapping_mul(extent.cast_signed()) =>
                {
                    (*outer, *outer_step) = (*outer * extent, step);
                }
                _ => runs.push((extent, step)),
            }
        }
        runs
    }

    /// Extents and steps of the axes.
    fn axes(&self) -> impl DoubleEndedIterator<Item = (u64, i64)> + ExactSizeIterator {
        self.shape.extents().iter().copied().zip(self.steps.iter().copied())
    }

    /// Whether its entries are all of so many lanes, in their order.
    pub(crate) fn is_whole(&self, lanes: u64) -> bool {
        self.are_all(lanes, self.axes())
    }

    /// Whether entries along axes of these extents and steps are all of so many lanes, in their order.
    fn are_all(&self, lanes: u64, axes: impl DoubleEndedIterator<Item = (u64, i64)>) -> bool {
        let mut n = 1_u64;
        // Along an axis of one entry nothing steps.
        let is_in_order = axes.rev().all(|(extent, step)| {
            let is_next = extent == 1 || step == n.cast_signed();
            n = n.wrapping_mul(extent);
            is_next
        });
        is_in_order && self.start == 0 && n == lanes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(extents: &[u64]) -> View {
        View::whole(Shape::new("test", extents).unwrap())
    }

    #[test]
    fn lines_that_go_down_a_matrix_are_turned() {
        // Windows of 3 rows of a matrix [5, 2].
        let windows = view(&[5, 2]).together("test", &[(3, vec![0]), (2, vec![1]), (3, vec![0])]);
        let windows = windows.unwrap();
        assert_eq!(windows.runs(), [(6, 1), (3, 2)]);
        let (columns, turned) = windows.with_lines_turned(2, 10).unwrap();
        assert_eq!((columns, turned.start(), turned.runs()), (2, 0, vec![(3, 1), (2, 5), (3, 1)]));
        assert_eq!(windows.with_lines_turned(1, 10), None);
        // Windows of every third lane go from one column to the next.
        let spread = View::strided(Shape::new("test", [6, 3]).unwrap(), 0, &[1, 3], 12).unwrap();
        assert_eq!(spread.with_lines_turned(1, 12), None);
    }

    #[test]
    fn axes_that_go_on_evenly_are_one_run() {
        let whole = view(&[2, 3, 4]);
        assert_eq!(whole.runs(), [(24, 1)]);
        assert!(whole.is_whole(24) && !whole.is_whole(25));
        let turned = whole.permuted("permute", &[2, 0, 1]).unwrap();
        assert_eq!(turned.runs(), [(4, 1), (6, 4)]);
        assert_eq!(turned.permuted("permute", &[1, -1, 0]).unwrap(), whole);
        let part = whole.clone().sliced(1, (1..3).into());
        assert_eq!((part.start(), part.runs()), (4, vec![(2, 12), (8, 1)]));
        let back = whole.clone().sliced(2, Slice::from(..).step_by(-1));
        assert_eq!((back.start(), back.runs()), (3, vec![(6, 4), (4, -1)]));
        let wide = view(&[3, 1]).broadcast("+", &Shape::new("+", [2, 3, 4]).unwrap()).unwrap();
        assert_eq!(wide.runs(), [(2, 0), (3, 1), (4, 0)]);
        assert_eq!(view(&[]).runs(), []);
        assert!(view(&[1]).squeezed("squeeze", 0).unwrap().is_whole(1));
        assert_eq!(turned.order_in_memory(24), Some(vec![1, 2, 0]));
        assert_eq!(view(&[3, 1, 2]).order_in_memory(6), Some(vec![0, 1, 2]));
        assert_eq!((part.order_in_memory(24), back.order_in_memory(24)), (None, None));
        assert!(whole.clone().squeezed("squeeze", 0).is_err());
        assert!(whole.permuted("permute", &[0, 1, 1]).is_err());
        assert!(whole.permuted("permute", &[0, 1]).is_err());
    }
}
