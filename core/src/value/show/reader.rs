//! The lanes that are shown, read block by block.

use std::ops::Range;

use super::{Options, number};
use crate::array::Array;
use crate::convert::exactly;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::value::Argument;

/// Lanes that are read at once: few enough to look at Ctrl-C in between, and to take little memory.
const BLOCK: usize = 4096;

/// The lanes of a value that are shown: all, or of a long one those at both ends.
pub struct Lanes<'a> {
    leaves: Vec<&'a Array>,
    n: u64,
    ends: [Range<u64>; 2],
}

/// Lanes that were read.
pub struct Block {
    /// Their numbers.
    pub lanes: Range<u64>,
    /// Number of lanes left out before them.
    pub skipped: u64,
    /// Type and contents of each array inside.
    columns: Vec<(DType, Vec<Scalar>)>,
}

impl<'a> Lanes<'a> {
    /// Evaluates a value; `None` if its components disagree in their number of lanes.
    ///
    /// # Errors
    /// What the evaluation fails with.
    pub fn new(value: &Argument<'a>, options: &Options) -> Result<Option<Self>> {
        let Some(n) = value.lanes() else { return Ok(None) };
        let leaves = value.leaves();
        if let Some(session) = leaves.first().map(|leaf| leaf.session()) {
            let unevaluated: Vec<&Array> =
                leaves.iter().copied().filter(|leaf| leaf.literal().is_none()).collect();
            if unevaluated.len() > 1 && !session.flag("forbid_eval")? {
                session.eval(&unevaluated)?;
            }
        }
        Ok(Some(Self { leaves, n, ends: options.ends(n) }))
    }

    /// Reads them in order, a block at a time. A value without lanes is read too: it may have an error to tell.
    pub fn blocks(&self) -> impl Iterator<Item = Result<Block>> {
        let [head, tail] = &self.ends;
        let starts = (0..head.end.max(1)).step_by(BLOCK).chain(tail.clone().step_by(BLOCK));
        starts.map(|start| self.block(start))
    }

    fn block(&self, start: u64) -> Result<Block> {
        if interrupt::is_requested() {
            return Err(Error::Interrupted);
        }
        let [head, tail] = &self.ends;
        let part = if start < tail.start { head } else { tail };
        let skipped = if start == tail.start { tail.start - head.end } else { 0 };
        let lanes = start..part.end.min(start + BLOCK as u64);
        let column = |leaf: &&Array| Ok((leaf.dtype(), self.column(leaf, lanes.clone())?));
        let columns = self.leaves.iter().map(column);
        Ok(Block { columns: columns.collect::<Result<_>>()?, lanes, skipped })
    }

    fn column(&self, leaf: &Array, lanes: Range<u64>) -> Result<Vec<Scalar>> {
        if leaf.size() == 1 && self.n != 1 {
            let value = leaf.item(0)?;
            return Ok(lanes.map(|_| value).collect());
        }
        leaf.read(lanes)
    }
}

impl Block {
    /// A lane of one of the arrays.
    pub fn number(&self, leaf: usize, lane: u64) -> Scalar {
        self.columns[leaf].1[exactly::<usize>(lane - self.lanes.start)]
    }

    /// The same as text.
    pub fn text(&self, leaf: usize, lane: u64, options: &Options) -> String {
        match self.number(leaf, lane) {
            Scalar::Bool(truth) if options.words => truth.to_string(),
            shown => number(shown, self.columns[leaf].0, options.digits),
        }
    }
}
