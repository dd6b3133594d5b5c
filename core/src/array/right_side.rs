//! What operators take on their right.

use super::Array;
use super::operand::Operand;
use super::operators::{operator_rows, recorded};
use crate::dtype::Scalar;
use crate::error::Result;
use crate::ir::op::Op;

/// What may stand on the right of an operator whose left side is an `L`: what operations on it take, and arrays and
/// values that are given away; behind arrays and numbers also values and tensors.
#[diagnostic::on_unimplemented(message = "no operator joins `{L}` with `{Self}`")]
pub trait RightSide<L> {
    /// What the operation gives.
    type Output;

    /// Records it.
    ///
    /// # Errors
    /// As [`Array::apply`].
    fn record(self, op: Op, left: &L) -> Result<Self::Output>;
}

impl<'a, T: Into<Operand<'a>>> RightSide<Array> for T {
    type Output = Array;
    fn record(self, op: Op, left: &Array) -> Result<Array> {
        left.apply(op, &[self.into()])
    }
}

impl RightSide<Self> for Array {
    type Output = Self;
    fn record(self, op: Op, left: &Self) -> Result<Self> {
        (&self).record(op, left)
    }
}

impl RightSide<Scalar> for &Array {
    type Output = Array;
    fn record(self, op: Op, left: &Scalar) -> Result<Array> {
        self.session().apply(op, &[Operand::Number(*left), self.into()])
    }
}

impl RightSide<Scalar> for Array {
    type Output = Self;
    fn record(self, op: Op, left: &Scalar) -> Result<Self> {
        (&self).record(op, left)
    }
}

/// Numbers in front of arrays, values and tensors.
macro_rules! numbers_in_front {
    (@rows () $($op:ident $trait:ident $method:ident $assign:ident $assigned:ident;)*) => { $(
        /// # Panics
        /// If the operands do not fit.
        impl<T: RightSide<Self>> std::ops::$trait<T> for Scalar {
            type Output = T::Output;
            #[track_caller]
            fn $method(self, right: T) -> T::Output {
                recorded(right.record(Op::$op, &self))
            }
        }
    )* };
}
operator_rows!(numbers numbers_in_front ());
operator_rows!(bits numbers_in_front ());
