//! Entries by index, read and written (S25): a place for each axis, from the first on.

use super::Tensor;
use super::shape::Shape;
use super::view::View;
use crate::array::{Array, Slice, place};
use crate::error::{Error, Result};
use crate::ir::op::ScatterOp;
use crate::ir::primitive::lane_number_type;
use crate::ir::var::Reader;

/// What an index says about an axis.
#[derive(Clone, Debug)]
pub enum AxisIndex {
    /// One entry, the axis goes away; negative numbers count from the end.
    Number(i64),
    /// Entries at equal distances.
    Slice(Slice),
    /// The entries with these numbers, of any shape; negative ones count from the end. Several such places go together:
    /// their shapes broadcast, and their axes are one shape, where the first is if they are neighbours, else in front.
    Numbers(Tensor),
    /// A new axis of one entry.
    New,
}

/// Places of an index: the view of the axes that stay or are cut, and numbers for some of its axes.
struct Chosen {
    view: View,
    numbers: Vec<Numbers>,
}

/// Numbers of entries along an axis of that view, and which one it is of the tensor.
struct Numbers {
    axis: usize,
    own: u8,
    entries: Tensor,
}

impl Tensor {
    /// The entries at places; axes without one stay whole.
    ///
    /// # Errors
    /// `IndexOutOfRange`; `Argument` for more places than axes. Numbers out of bounds are told later (S13).
    pub fn at(&self, places: &[AxisIndex]) -> Result<Self> {
        self.at_as(Reader::Index, places)
    }

    /// As [`Tensor::at`], as a part of a function, whose errors it has.
    pub(super) fn at_as(&self, reader: fn(u8) -> Reader, places: &[AxisIndex]) -> Result<Self> {
        let chosen = self.chosen(places)?;
        if chosen.numbers.is_empty() {
            return Ok(self.viewed(chosen.view));
        }
        let (lanes, shape) = chosen.lanes(&self.parts[0], reader)?;
        let gather = |part: &Array| match part.size() {
            // Its only lane would do for every index, and nobody would look at them.
            1 => {
                let lanes = part.brought(reader(0).name(), &lanes)?;
                let session = part.session();
                session
                    .record(|recorder| recorder.gather_as(reader(0), part.id(), lanes.id(), None))
            }
            _ => part.gather(&lanes, None),
        };
        let parts = self.parts.iter().map(gather);
        Self::of(parts.collect::<Result<Vec<_>>>()?, shape)
    }

    /// The tensor with other entries at places: those of a value that broadcasts to what stands there. Of entries named
    /// several times the last value stays.
    ///
    /// # Errors
    /// As [`Tensor::at`]; `Forms` for a value that does not broadcast; `TypeMismatch` for one that does not fit.
    pub fn with_at(&self, places: &[AxisIndex], value: &Self) -> Result<Self> {
        self.with_at_as("[]=", Reader::Index, places, value)
    }

    /// As [`Tensor::with_at`], as a part of a function, whose errors it has.
    pub(super) fn with_at_as(
        &self,
        op: &'static str,
        reader: fn(u8) -> Reader,
        places: &[AxisIndex],
        value: &Self,
    ) -> Result<Self> {
        let whole = Self::of(self.entries()?, self.shape().clone())?;
        let chosen = whole.chosen(places)?;
        let (lanes, shape) = chosen.lanes(&whole.parts[0], reader)?;
        let value = value.as_entries(op, &shape)?.entries()?;
        let mut parts = whole.parts.clone();
        for (part, value) in parts.iter_mut().zip(&value) {
            part.scatter(ScatterOp::Set, value, &lanes, None)?;
        }
        Self::of(parts, whole.shape().clone())
    }

    /// Stretched to the shape of entries that are written; axes of one entry in front of as many as these have go away.
    ///
    /// # Errors
    /// `Forms`, naming both shapes.
    pub fn as_entries(&self, op: &str, shape: &Shape) -> Result<Self> {
        let extents = self.shape().extents();
        let (in_front, own) = extents.split_at(extents.len().saturating_sub(shape.rank()));
        let is_in_line = !in_front.is_empty() && in_front.iter().all(|&extent| extent == 1);
        let line = is_in_line.then(|| Self::of(self.entries()?, Shape::new("[]=", own)?));
        line.transpose()?.as_ref().unwrap_or(self).broadcast(op, shape).map_err(|_| {
            let what = match shape.rank() {
                0 => format!("{op}: got values of shape {} for one entry", self.shape()),
                _ => format!("{op}: got values of shape {} for entries of {shape}", self.shape()),
            };
            let remedy =
                "values have the extents of the entries, or 1; axes in front may be missing";
            Error::Forms { what, remedy: Some(remedy) }
        })
    }

    fn chosen(&self, places: &[AxisIndex]) -> Result<Chosen> {
        let op = "[]";
        let n = places.iter().filter(|place| !matches!(place, AxisIndex::New)).count();
        if n > self.shape().rank() {
            let rank = self.shape().rank();
            let what = format!("got {n} indices for {}, expected at most {rank}", self.shape());
            return Err(Error::Argument { op, what });
        }
        let (mut view, mut numbers) = (View::clone(&self.view), Vec::new());
        let (mut axis, mut own) = (0, 0);
        for place_ in places {
            view = match place_ {
                AxisIndex::Number(i) => {
                    let extent = view.shape().extents()[axis];
                    let at = place(*i, extent).map_err(|_| Error::IndexOutOfRange {
                        axis: Some(own),
                        index: *i,
                        size: extent,
                    })?;
                    own += 1;
                    view.entry(axis, at)
                }
                AxisIndex::Slice(slice) => {
                    axis += 1;
                    own += 1;
                    view.sliced(axis - 1, *slice)
                }
                AxisIndex::Numbers(entries) => {
                    numbers.push(Numbers { axis, own, entries: entries.clone() });
                    axis += 1;
                    own += 1;
                    view
                }
                AxisIndex::New => {
                    axis += 1;
                    view.expanded(op, axis - 1)?
                }
            };
        }
        Ok(Chosen { view, numbers })
    }
}

impl Chosen {
    /// The lanes of an array where the entries are, and their shape.
    fn lanes(&self, array: &Array, reader: fn(u8) -> Reader) -> Result<(Array, Shape)> {
        let op = reader(0).name();
        let shapes = self.numbers.iter().map(|numbers| numbers.entries.shape());
        let together =
            shapes.into_iter().try_fold(Shape::number(), |all, other| all.broadcast(op, other))?;
        let axes: Vec<usize> = self.numbers.iter().map(|numbers| numbers.axis).collect();
        let are_neighbours = axes.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        let front = if are_neighbours { axes.first().copied().unwrap_or(0) } else { 0 };
        // What stays, with the axes of the numbers in one place.
        let kept = axes.iter().rev().fold(self.view.clone(), |view, &axis| view.without(axis));
        let spread =
            |view: View| {
                together.extents().iter().rev().try_fold(view, |view, &extent| {
                    view.expanded(op, front)?.stretched(front, extent)
                })
            };
        let kept = spread(kept)?;
        let shape = kept.shape().clone();
        let size = array.size().max(shape.n_entries());
        let mut lanes = kept.lane_numbers(array.session(), size)?;
        let n_behind = shape.rank() - front - together.rank();
        for Numbers { axis, own, entries } in &self.numbers {
            let along = self.view.only(*axis).lane_numbers(array.session(), size)?;
            let numbers = entries.broadcast(op, &together)?;
            let numbers = (0..n_behind).try_fold(numbers, |numbers, _| numbers.expand(-1))?;
            let found = numbers.each(|numbers| along.take_as(reader(*own), numbers))?;
            let [found] = &found.broadcast(op, &shape)?.entries()?[..] else {
                let what = "got complex numbers as index".into();
                return Err(Error::Argument { op, what });
            };
            lanes = lanes.try_add(found)?;
        }
        Ok((lanes.cast(lane_number_type(size))?, shape))
    }
}
