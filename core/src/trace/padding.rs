//! Entries with a number around them: read where there are some, in one pass over the result.

use super::Recorder;
use crate::error::Result;
use crate::ir::op::Op;
use crate::ir::primitive::lane_number_type;
use crate::ir::var::VarId;

/// What stands along an axis: so many entries of a number, so many others, and so many of the number again.
pub(crate) type Around = [u64; 3];

impl Recorder<'_> {
    /// The lanes of `x`, of which there are some, with a number around them along each axis, the last one running fastest.
    /// A call, which an evaluation spells out: slices of the result read what it made, not all of this again.
    ///
    /// # Errors
    /// As [`Recorder::gather`].
    pub(crate) fn padded(&mut self, x: VarId, number: VarId, axes: &[Around]) -> Result<VarId> {
        let n = axes.iter().map(|around| around.iter().sum::<u64>()).product();
        let (result, axes) = ((self.dtype(x), n), axes.to_vec());
        self.known_composite("pad", axes.as_flattened(), &[x, number], result, {
            let axes = axes.clone();
            move |recorder, args| recorder.read_within(args[0], args[1], n, &axes)
        })
    }

    fn read_within(&mut self, x: VarId, number: VarId, n: u64, axes: &[Around]) -> Result<VarId> {
        let counter = lane_number_type(n);
        // Outside the index is any: lanes beyond the array are 0.
        let (mut index, mut within) = (None, None);
        let (mut left, mut inner) = (self.lane_index(counter, n), 1);
        for (i, &[before, extent, behind]) in axes.iter().enumerate().rev() {
            let mut place = left;
            if i > 0 {
                let width = self.literal(counter, before + extent + behind, 1);
                left = self.same(Op::IDiv, &[place, width])?;
                place = self.same(Op::Rem, &[place, width])?;
            }
            if before > 0 {
                let before = self.literal(counter, before, 1);
                place = self.same(Op::Sub, &[place, before])?;
            }
            if before + behind > 0 {
                let end = self.literal(counter, extent, 1);
                let is_within = self.same(Op::Lt, &[place, end])?;
                within = Some(self.with(Op::And, within, is_within)?);
            }
            if inner > 1 {
                let inner = self.literal(counter, inner, 1);
                place = self.same(Op::Mul, &[place, inner])?;
            }
            index = Some(self.with(Op::Add, index, place)?);
            inner *= extent;
        }
        let (Some(index), Some(within)) = (index, within) else { return Ok(x) };
        let entries = self.places(x, index)?;
        self.select(within, entries, number)
    }

    /// A value and what there is already, if there is something.
    fn with(&mut self, op: Op, known: Option<VarId>, value: VarId) -> Result<VarId> {
        known.map_or(Ok(value), |known| self.same(op, &[known, value]))
    }
}
