//! Shapes: how many entries a tensor has along each axis.

use std::fmt;

use smallvec::{SmallVec, smallvec};

use crate::array::place;
use crate::convert::exactly;
use crate::error::{Error, Result};

/// The most axes that a tensor has.
pub const MAX_RANK: usize = 16;

/// Something for each axis; of few axes it takes no memory of its own.
pub(crate) type OfAxes<T> = SmallVec<[T; 4]>;

/// Numbers of entries along the axes, the last of which runs fastest; without axes there is one entry.
///
/// **Prints** as a list: `[2, 3]`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Shape(OfAxes<u64>);

impl Clone for Shape {
    fn clone(&self) -> Self {
        // Copied as they lie, not one by one.
        Self(OfAxes::from_slice(&self.0))
    }
}

impl Shape {
    /// A shape with these extents.
    ///
    /// # Errors
    /// `Argument` for more than [`MAX_RANK`] axes, or 2⁶³ entries and more.
    pub fn new(op: &'static str, extents: impl AsRef<[u64]>) -> Result<Self> {
        let shape = Self(SmallVec::from_slice(extents.as_ref()));
        check_rank(op, shape.rank())?;
        // Where an extent is 0 there is no entry, but there may be one along other axes.
        let mut lengths = shape.0.iter().filter(|&&extent| extent > 0);
        let n = lengths.try_fold(1_u64, |n, &extent| n.checked_mul(extent));
        if n.is_none_or(|n| i64::try_from(n).is_err()) {
            let along = if shape.0.contains(&0) { " along its other axes" } else { "" };
            let what = format!("the shape {shape} has more than 2^63 entries{along}");
            return Err(Error::Argument { op, what });
        }
        Ok(shape)
    }

    /// The shape of one entry without axes.
    pub(crate) fn number() -> Self {
        Self(SmallVec::new())
    }

    /// The shape of one axis; there are never as many lanes as no shape may have.
    pub(crate) fn line(n: u64) -> Self {
        Self(smallvec![n])
    }

    /// Changes an extent into one that is no larger.
    pub(super) fn shrink(&mut self, axis: usize, extent: u64) {
        debug_assert!(extent <= self.0[axis], "internal error: an extent that grew");
        self.0[axis] = extent;
    }

    /// Takes an axis away; of those that are left no more entries are left than there were, unless it had none.
    pub(super) fn remove(&mut self, axis: usize) {
        self.0.remove(axis);
    }

    /// Puts an axis into another place.
    pub(super) fn relocate(&mut self, from: usize, to: usize) {
        let extent = self.0.remove(from);
        self.0.insert(to, extent);
    }

    /// Puts an axis of one entry in front of another, or behind all.
    ///
    /// # Errors
    /// `Argument` for too many axes.
    pub(super) fn insert(&mut self, op: &'static str, axis: usize) -> Result<()> {
        self.0.insert(axis, 1);
        check_rank(op, self.rank())
    }

    /// The extents, of the outermost axis first.
    pub fn extents(&self) -> &[u64] {
        &self.0
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// The number of entries.
    pub fn n_entries(&self) -> u64 {
        self.0.iter().product()
    }

    /// The number of an axis; negative ones count from the last.
    ///
    /// # Errors
    /// `Argument` if there is no such axis.
    pub fn axis(&self, op: &'static str, axis: i64) -> Result<usize> {
        let rank = self.rank();
        place(axis, rank as u64).map(exactly).map_err(|_| {
            let what = match rank {
                0 => format!("got axis {axis} of a tensor without axes"),
                _ => format!("got axis {axis} of {self}, expected -{rank} to {}", rank - 1),
            };
            Error::Argument { op, what }
        })
    }

    /// The shape with an axis of another extent.
    pub(crate) fn with_extent(&self, op: &'static str, axis: usize, extent: u64) -> Result<Self> {
        let mut extents = OfAxes::from_slice(&self.0);
        extents[axis] = extent;
        Self::new(op, extents)
    }

    /// Whether the extents are those of another shape, but perhaps for an axis.
    pub(super) fn is_like(&self, other: &Self, axis: usize) -> bool {
        let mut both = self.0.iter().zip(&other.0).enumerate();
        self.rank() == other.rank() && both.all(|(i, (own, other))| i == axis || own == other)
    }

    /// The numbers of axes in ascending order, or of all.
    ///
    /// # Errors
    /// `Argument` if there is no such axis, or one is named twice.
    pub fn axes(&self, op: &'static str, axes: Option<&[i64]>) -> Result<Vec<usize>> {
        let Some(axes) = axes else { return Ok((0..self.rank()).collect()) };
        let mut places =
            axes.iter().map(|&axis| self.axis(op, axis)).collect::<Result<Vec<_>>>()?;
        places.sort_unstable();
        if places.windows(2).any(|pair| pair[0] == pair[1]) {
            let what = format!("got the axes {axes:?} of {self}, expected each once");
            return Err(Error::Argument { op, what });
        }
        Ok(places)
    }

    /// The shape that both have when axes of one entry are stretched, and missing ones are put in front (NumPy's rule).
    ///
    /// # Errors
    /// `Forms`, naming both shapes and the axis.
    pub fn broadcast(&self, op: &str, other: &Self) -> Result<Self> {
        self.broadcast_in_front(op, other, [self, other])
    }

    /// The same of the axes in front of others, which the whole shapes have besides and errors name.
    pub(super) fn broadcast_in_front(
        &self,
        op: &str,
        other: &Self,
        [own, others]: [&Self; 2],
    ) -> Result<Self> {
        let rank = self.rank().max(other.rank());
        let extent = |shape: &Self, axis: usize| match (axis + shape.rank()).checked_sub(rank) {
            Some(own) => shape.0[own],
            None => 1,
        };
        let both = |axis: usize| match (extent(self, axis), extent(other, axis)) {
            (1, n) | (n, 1) => Ok(n),
            (n, m) if n == m => Ok(n),
            (n, m) => {
                let from_end = rank - axis + own.rank() - self.rank();
                let what = format!(
                    "{op}: shapes {own} and {others} do not broadcast: {n} and {m} along axis -{from_end}"
                );
                Err(Error::Forms { what, remedy: Some("extents are equal, or one of them is 1") })
            }
        };
        Self::new("tensor", (0..rank).map(both).collect::<Result<OfAxes<_>>>()?)
    }

    /// The shape of as many entries that extents say, of which one may be -1: what is left.
    ///
    /// # Errors
    /// `Argument` if they say other numbers of entries.
    pub fn reshaped(&self, op: &'static str, extents: &[i64]) -> Result<Self> {
        let n = self.n_entries();
        let refuse = |what: String| Err(Error::Argument { op, what });
        let wanted = || {
            let words: Vec<String> = extents.iter().map(ToString::to_string).collect();
            format!("[{}]", words.join(", "))
        };
        if let Some(extent) = extents.iter().find(|&&extent| extent < -1) {
            return refuse(format!(
                "got {extent} in {}, expected -1 or numbers from 0 up",
                wanted()
            ));
        }
        let open = extents.iter().filter(|&&extent| extent == -1).count();
        if open > 1 {
            return refuse(format!("got {}, expected -1 but once", wanted()));
        }
        let known =
            extents.iter().filter(|&&extent| extent >= 0).map(|&extent| extent.unsigned_abs());
        let known = Self::new(op, known.collect::<OfAxes<_>>())?.n_entries();
        let fits = if open == 1 { known > 0 && n.is_multiple_of(known) } else { known == n };
        if !fits {
            return refuse(format!("the {n} entries of {self} do not fit {}", wanted()));
        }
        let extent = |&extent: &i64| if extent < 0 { n / known } else { extent.unsigned_abs() };
        Self::new(op, extents.iter().map(extent).collect::<OfAxes<_>>())
    }
}

fn check_rank(op: &'static str, rank: usize) -> Result<()> {
    if rank <= MAX_RANK {
        return Ok(());
    }
    let what = format!("got {rank} axes, expected at most {MAX_RANK}");
    Err(Error::Argument { op, what })
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        write!(f, "[{}]", words.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(extents: &[u64]) -> Shape {
        Shape::new("test", extents).unwrap()
    }

    #[test]
    fn shapes_broadcast_from_the_last_axis() {
        let both = |a: &[u64], b: &[u64]| {
            shape(a).broadcast("+", &shape(b)).map(|both| both.extents().to_vec())
        };
        assert_eq!(both(&[2, 3], &[3]).unwrap(), [2, 3]);
        assert_eq!(both(&[2, 1], &[4, 1, 3]).unwrap(), [4, 2, 3]);
        assert_eq!(both(&[], &[0, 2]).unwrap(), [0, 2]);
        assert_eq!(both(&[1], &[0]).unwrap(), [0]);
        let error = both(&[2, 3], &[2]).unwrap_err().message();
        assert_eq!(error, "+: shapes [2, 3] and [2] do not broadcast: 3 and 2 along axis -1");
        assert!(both(&[1 << 40, 1], &[1 << 40]).is_err());
    }

    #[test]
    fn one_extent_may_be_left_out() {
        let to_from = |from: &[u64], extents: &[i64]| {
            shape(from).reshaped("reshape", extents).map(|shape| shape.extents().to_vec())
        };
        let to = |extents: &[i64]| to_from(&[4, 6], extents);
        assert_eq!(to(&[-1]).unwrap(), [24]);
        assert_eq!(to(&[2, -1, 3]).unwrap(), [2, 4, 3]);
        assert_eq!(to(&[24, 1]).unwrap(), [24, 1]);
        for wrong in [&[5, -1][..], &[-1, -1], &[0, -1], &[-2, -12], &[23], &[]] {
            assert!(to(wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(to_from(&[0, 3], &[-1, 3]).unwrap(), [0, 3]);
        assert_eq!(to_from(&[1], &[]).unwrap(), [0; 0]);
        assert!(Shape::new("test", vec![1; 17]).is_err());
        assert!(Shape::new("test", [0, u64::MAX, 2]).is_err());
        assert!(Shape::new("test", [1 << 63]).is_err());
    }
}
