//! Reductions along an axis, in the order of S11: chunks of 4096 entries, in each 32 accumulators that take turns, which
//! combine by halves; the results of chunks combine pairwise, an odd last one passing up unchanged.

use super::Tensor;
use super::shape::Shape;
use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ir::op::ReduceOp;
use crate::ir::scalar::identity_bits;
use crate::value::{Argument, Value};

/// Entries of a chunk along an axis, and accumulators in it.
const CHUNK: u64 = 4096;
const ACCUMULATORS: u64 = 32;

impl Tensor {
    /// The entries along an axis combined into one, which remains as an axis of one entry; without an axis all entries,
    /// as those of an array in their order. Recorded, not run; types as of
    /// [`Array::reduce`].
    ///
    /// # Errors
    /// `Argument` if there is no such axis; `EmptyReduction` for the minimum or maximum of nothing; `UnsupportedType`,
    /// and `Forms` for complex numbers, which have sums alone.
    pub fn reduce(&self, op: ReduceOp, axis: Option<i64>) -> Result<Self> {
        let name = op.name();
        let Some(axis) = axis else {
            let ones = Shape::new(name, vec![1; self.shape().rank()])?;
            return Self::of(self.entries()?.reduce(op)?, ones);
        };
        let axis = self.shape().axis(name, axis)?;
        if self.shape().extents()[axis] == 0 {
            return self.nothing(op, axis);
        }
        // The type, and whether there is one, of a reduction of one lane.
        let result = self.sample()?.reduce(op)?.dtype();
        let accumulated = match result {
            DType::F16 => DType::F32,
            result => result,
        };
        let sum = self.cast(accumulated)?.along(op, axis)?;
        sum.cast(result)
    }

    /// One lane of the type of the entries.
    fn sample(&self) -> Result<Value> {
        let one = |part: &Array| part.session().zeros(part.dtype(), 1);
        Argument::from(&self.lanes).each("reduce", one)
    }

    fn cast(&self, dtype: DType) -> Result<Self> {
        let lanes = Argument::from(&self.lanes).each("cast", |part| part.cast(dtype))?;
        Ok(Self { lanes, view: self.view.clone() })
    }

    /// What no entries along an axis combine to.
    fn nothing(&self, op: ReduceOp, axis: usize) -> Result<Self> {
        if matches!(op, ReduceOp::Min | ReduceOp::Max) {
            return Err(Error::EmptyReduction { op: op.name() });
        }
        let one = self.sample()?.reduce(op)?;
        let bits = |dtype| if op == ReduceOp::Sum { 0 } else { identity_bits(op, dtype) };
        let identity = Argument::from(&one).each(op.name(), |part| {
            part.session().full(part.dtype(), part.dtype().decode(bits(part.dtype())), 1)
        })?;
        let mut extents = self.shape().extents().to_vec();
        extents[axis] = 1;
        Self::of(identity, Shape::new(op.name(), extents)?)
    }

    /// As [`Tensor::reduce`], of a type that is its own result, and an axis of one entry or more.
    fn along(&self, op: ReduceOp, axis: usize) -> Result<Self> {
        let extent = self.shape().extents()[axis];
        let n_chunks = extent / CHUNK;
        let end = n_chunks * CHUNK;
        let mut tail = None;
        if end < extent {
            tail = Some(self.part(axis, end, extent)?.chunk(op, axis)?);
        }
        if n_chunks == 0 {
            return tail.ok_or(Error::EmptyReduction { op: op.name() });
        }
        // All full chunks at once, a chunk an entry.
        let chunks = self.part(axis, 0, end)?;
        let chunks = chunks.split(axis, &[n_chunks, CHUNK])?.chunk(op, axis + 1)?;
        let mut chunks = chunks.squeezed(axis + 1)?;
        let mut n = n_chunks;
        while n > 0 {
            if n == 1 && tail.is_none() {
                return Ok(chunks);
            }
            if n % 2 == 1 {
                let last = chunks.part(axis, n - 1, n)?;
                tail = Some(match tail {
                    Some(tail) => Self::apply(op.combine(), &[(&last).into(), (&tail).into()])?,
                    None => last,
                });
            }
            n /= 2;
            if n > 0 {
                let pairs = chunks.part(axis, 0, 2 * n)?.split(axis, &[n, 2])?;
                chunks = pairs.halves(op, axis + 1, 2)?.squeezed(axis + 1)?;
            }
        }
        tail.ok_or(Error::EmptyReduction { op: op.name() })
    }

    /// The entries of a chunk, or a part of one, along an axis.
    fn chunk(&self, op: ReduceOp, axis: usize) -> Result<Self> {
        let extent = self.shape().extents()[axis];
        let n_rows = extent / ACCUMULATORS;
        let end = n_rows * ACCUMULATORS;
        if n_rows == 0 {
            return self.halves(op, axis, extent);
        }
        let rows = self.part(axis, 0, end)?.split(axis, &[n_rows, ACCUMULATORS])?;
        let row = |k: u64| rows.part(axis, k, k + 1)?.squeezed(axis);
        let mut sums = row(0)?;
        for k in 1..n_rows {
            sums = Self::apply(op.combine(), &[(&sums).into(), (&row(k)?).into()])?;
        }
        if end == extent {
            return sums.halves(op, axis, ACCUMULATORS);
        }
        // The first accumulators take one more.
        let rest = self.part(axis, end, extent)?;
        let lane = |j: u64| {
            let sum = sums.part(axis, j, j + 1)?;
            if j < extent - end {
                let last = rest.part(axis, j, j + 1)?;
                return Self::apply(op.combine(), &[(&sum).into(), (&last).into()]);
            }
            Ok(sum)
        };
        Self::by_halves(op, (0..ACCUMULATORS).map(lane).collect::<Result<_>>()?)
    }

    /// So many entries along an axis combined by halves.
    fn halves(&self, op: ReduceOp, axis: usize, n: u64) -> Result<Self> {
        let entries = (0..n).map(|j| self.part(axis, j, j + 1)).collect::<Result<_>>()?;
        Self::by_halves(op, entries)
    }

    /// Accumulator i takes i + 16, then i + 8, and so on; those that are missing hold the identity.
    fn by_halves(op: ReduceOp, mut entries: Vec<Self>) -> Result<Self> {
        let mut half = entries.len().next_power_of_two() / 2;
        while half > 0 {
            let upper = entries.split_off(half.min(entries.len()));
            for (entry, other) in entries.iter_mut().zip(&upper) {
                *entry = Self::apply(op.combine(), &[(&*entry).into(), other.into()])?;
            }
            half /= 2;
        }
        Ok(entries.swap_remove(0))
    }
}
