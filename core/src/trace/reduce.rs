//! Recording of reductions: arrays of size 1 that stay lazy (S1, S11).

use super::Recorder;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ir::op::{Op, ReduceOp};
use crate::ir::scalar::identity_bits;
use crate::ir::var::{Kind, VarId, Variable};

impl Recorder<'_> {
    /// All lanes of `x` combined into one, by the fixed tree of S11.
    ///
    /// **Dtypes**: sums and products have [`DType::accumulated`] (integers wrap), `count` gives u64, `any` and `all`
    /// a mask. **Empty**: sum 0, product 1, any false, all true, count 0.
    ///
    /// # Errors
    /// `UnsupportedType`; `EmptyReduction` for the minimum or maximum of nothing.
    pub fn reduce(&mut self, op: ReduceOp, x: VarId) -> Result<VarId> {
        let (from, size) = (self.dtype(x), self.size(x));
        let dtype = op.result(from).ok_or(Error::UnsupportedType {
            op: op.name(),
            dtype: from,
            expected: if matches!(op, ReduceOp::Count | ReduceOp::Any | ReduceOp::All) {
                "a mask (compare first: x != 0)"
            } else {
                "an array of numbers (count adds up masks)"
            },
        })?;
        self.whole(op.name(), x)?;
        if size == 0 {
            let number = self.reduce_nothing(op, dtype)?;
            return Ok(self.tracked_number(&[x], number));
        }
        let is_total = matches!(op, ReduceOp::Sum | ReduceOp::Prod);
        let x = if is_total || size == 1 { self.cast(x, dtype)? } else { x };
        if size == 1 {
            return Ok(x);
        }
        Ok(self.add(Variable::new(Kind::Reduce(op), dtype, 1, [Some(x), None, None, None])))
    }

    /// The arithmetic mean `hsum(x) / n`, of a mask how many of its lanes are true; NaN for an empty array.
    ///
    /// **Dtypes**: floats keep theirs, integers and masks give f32 (64-bit ones f64). f16 is added in f32, integers in f64,
    /// and the mean is rounded.
    ///
    /// # Errors
    /// `Recording` in a body.
    pub fn mean(&mut self, x: VarId) -> Result<VarId> {
        let (own, n) = (self.dtype(x), self.size(x));
        let dtype = own.averaged();
        let x = self.cast(x, dtype)?;
        let sum = self.reduce(ReduceOp::Sum, x)?;
        let n = dtype.encode(crate::dtype::Scalar::UInt(n))?;
        // A literal: arrays of other sizes take the same kernel.
        let n = self.literal(dtype, n, 1);
        let mean = self.same(Op::Div, &[sum, n])?;
        self.cast(mean, own.quotient())
    }

    /// Records `compute` on lanes of a half in f32, rounded once.
    pub(super) fn in_single(
        &mut self,
        x: VarId,
        compute: impl FnOnce(&mut Self, VarId) -> Result<VarId>,
    ) -> Result<VarId> {
        let wide = self.cast(x, DType::F32)?;
        let result = compute(self, wide)?;
        self.cast(result, self.dtype(x))
    }

    fn reduce_nothing(&mut self, op: ReduceOp, dtype: DType) -> Result<VarId> {
        match op {
            ReduceOp::Min | ReduceOp::Max => Err(Error::EmptyReduction { op: op.name() }),
            ReduceOp::Sum => Ok(self.constant(dtype, 0)),
            ReduceOp::Prod | ReduceOp::Count | ReduceOp::Any | ReduceOp::All => {
                Ok(self.constant(dtype, identity_bits(op, dtype)))
            }
        }
    }
}
