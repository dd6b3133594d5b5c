//! Entries around a tensor that go on as those in it.

use super::Tensor;
use crate::array::Array;
use crate::convert::exactly;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::ir::op::Op;

/// How entries go on beyond the ends of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edges {
    /// With the entry at the end: `a a [a b c] c c`.
    Edge,
    /// Backwards, without the entry at the end: `c b [a b c] b a`.
    Reflect,
    /// Backwards: `b a [a b c] c b`.
    Symmetric,
    /// From the other end: `b c [a b c] a b`.
    Wrap,
}

impl Edges {
    /// What scripts call them.
    pub const NAMES: [(&str, Self); 4] = [
        ("edge", Self::Edge),
        ("reflect", Self::Reflect),
        ("symmetric", Self::Symmetric),
        ("wrap", Self::Wrap),
    ];

    /// For places that begin so many in front of an axis of n entries, the numbers of the entries that stand there.
    fn numbers(self, place: &Array, before: u64, n: u64) -> Result<Array> {
        let at_most = |place: &Array, last: u64| place.apply(Op::Min, &[Scalar::UInt(last).into()]);
        // A whole period later nothing is negative.
        let within = |period: u64| {
            let start = period - before % period;
            place.try_add(Scalar::UInt(start))?.try_rem(Scalar::UInt(period))
        };
        // What comes after the middle of a period, from its end.
        let turned = |place: &Array, end: u64| {
            let back = place.session().full(place.dtype(), Scalar::UInt(end), 1)?.try_sub(place)?;
            place.apply(Op::Min, &[(&back).into()])
        };
        match self {
            Self::Edge => {
                let inside = place.apply(Op::Max, &[Scalar::UInt(before).into()])?;
                at_most(&inside.try_sub(Scalar::UInt(before))?, n - 1)
            }
            Self::Wrap => within(n),
            Self::Symmetric => turned(&within(2 * n)?, 2 * n - 1),
            Self::Reflect => {
                let period = (2 * n - 2).max(1);
                turned(&within(period)?, period)
            }
        }
    }
}

impl Tensor {
    /// With so many entries before and behind those of each axis, which go on beyond its ends. Recorded, not run.
    ///
    /// ```
    /// # fn main() -> porcini_core::Result<()> {
    /// # use porcini_core::{Session, tensor::{Edges, Tensor}};
    /// let x = Tensor::from(&Session::new()?.array(&[1, 2, 3])?);
    /// assert_eq!(x.pad_with(&[[2, 2]], Edges::Reflect)?.to_string(), "[3, 2, 1, 2, 3, 2, 1]");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Argument` for another number of pairs than axes, an axis without entries, or too many entries.
    pub fn pad_with(&self, widths: &[[u64; 2]], edges: Edges) -> Result<Self> {
        let op = "pad";
        if widths.len() != self.shape().rank() {
            let what = format!("got {} pairs of widths for {}", widths.len(), self.shape());
            return Err(Error::Argument { op, what });
        }
        let is_changed = |&axis: &usize| widths[axis] != [0; 2];
        let axes: Vec<usize> = (0..widths.len()).filter(is_changed).collect();
        if axes.is_empty() {
            return Ok(self.clone());
        }
        let mut shape = self.shape().clone();
        for &axis in &axes {
            shape = shape.with_extent(op, axis, self.edged(axis, widths[axis])?)?;
        }
        let number = |axis: usize, place: &Array| {
            let (n, before) = (self.shape().extents()[axis], widths[axis][0]);
            let total = shape.extents()[axis];
            let is_wide = u32::try_from(total.saturating_add(n.saturating_mul(2))).is_err();
            let wide = if is_wide { place.cast(DType::U64)? } else { place.clone() };
            edges.numbers(&wide, before, n)?.cast(place.dtype())
        };
        if shape.n_entries() > 0 && self.is_whole() {
            return self.placed(shape.clone(), &axes, number);
        }
        axes.iter().try_fold(self.clone(), |all, &axis| {
            all.picked(exactly(axis), shape.extents()[axis], |place| number(axis, place))
        })
    }

    /// Entries along an axis with so many more before and behind.
    fn edged(&self, axis: usize, [before, behind]: [u64; 2]) -> Result<u64> {
        let (op, n) = ("pad", self.shape().extents()[axis]);
        if n == 0 {
            let what = format!("axis {axis} of {} has no entries that could go on", self.shape());
            return Err(Error::Argument { op, what });
        }
        let total = before.checked_add(behind).and_then(|around| around.checked_add(n));
        total.filter(|&total| i64::try_from(total).is_ok()).ok_or_else(|| {
            let what = format!("got the widths {before} and {behind}, which are too many entries");
            Error::Argument { op, what }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Session;

    #[test]
    fn axes_go_on_beyond_more_than_their_length() -> Result<()> {
        let x = Tensor::from(&Session::new()?.array(&[1, 2, 3])?);
        let padded = |edges: Edges| x.pad_with(&[[4, 5]], edges)?.entries()?[0].to_vec::<i32>();
        assert_eq!(padded(Edges::Edge)?, [1, 1, 1, 1, 1, 2, 3, 3, 3, 3, 3, 3]);
        assert_eq!(padded(Edges::Reflect)?, [1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3, 2]);
        assert_eq!(padded(Edges::Symmetric)?, [3, 3, 2, 1, 1, 2, 3, 3, 2, 1, 1, 2]);
        assert_eq!(padded(Edges::Wrap)?, [3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2]);
        let one = x.slice(0, 1..2)?;
        let one = one.pad_with(&[[1, 2]], Edges::Reflect)?;
        assert_eq!(one.entries()?[0].to_vec::<i32>()?, [2, 2, 2, 2]);
        Ok(())
    }
}
