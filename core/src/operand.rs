//! What operations take: arrays, and numbers that take the arrays' type.

use crate::array::Array;
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::half::F16;
use crate::ir::var::VarId;
use crate::trace::Recorder;

/// An operand of an operation: another array, or a number that takes the array's type.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// An array.
    Array(&'a Array),
    /// A number.
    Number(Scalar),
}

impl Operand<'_> {
    pub(crate) fn is_number(&self) -> bool {
        matches!(self, Self::Number(_))
    }
}

impl<'a> From<&'a Array> for Operand<'a> {
    fn from(array: &'a Array) -> Self {
        Self::Array(array)
    }
}

macro_rules! number_operands {
    ($($t:ty),*) => { $(
        impl From<$t> for Operand<'_> {
            fn from(number: $t) -> Self { Self::Number(number.into()) }
        }
    )* };
}
number_operands!(bool, i8, u8, i16, u16, i32, u32, i64, u64, F16, f32, f64, Scalar);

/// The variable of a number that joins arrays of type `dtype`.
pub(crate) fn number_variable(
    recorder: &mut Recorder<'_>,
    number: Scalar,
    dtype: Option<DType>,
) -> Result<VarId> {
    match number {
        // A truth value is a mask of one lane; it joins numbers as masks do.
        Scalar::Bool(truth) => Ok(recorder.literal(DType::Mask, u64::from(truth), 1)),
        number => recorder.number_for(dtype.unwrap_or(DType::of(number)), number),
    }
}

/// The variable of an operand; a number joins arrays of type `dtype`.
pub(crate) fn variable(
    recorder: &mut Recorder<'_>,
    operand: Operand<'_>,
    dtype: Option<DType>,
) -> Result<VarId> {
    match operand {
        Operand::Array(array) => Ok(array.id()),
        Operand::Number(number) => number_variable(recorder, number, dtype),
    }
}

/// The type in which numbers join arrays: that of the arrays, promoted; `None` without arrays.
pub(crate) fn common_type(
    operands: &[Operand<'_>],
    dtype: impl Fn(VarId) -> DType,
) -> Option<DType> {
    operands.iter().fold(None, |common: Option<DType>, operand| match operand {
        Operand::Array(array) => {
            let dtype = dtype(array.id());
            Some(common.map_or(dtype, |common| common.promote(dtype).unwrap_or(common)))
        }
        Operand::Number(_) => common,
    })
}
