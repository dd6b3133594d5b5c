//! Operators and functions of values as methods.
//!
//! Operators panic with the text of the error that the method `try_add` and so on would return.

use super::argument::Argument;
use super::map::{apply, function};
use super::{Value, call};
use crate::array::operators::{methods, operators};
use crate::array::{Array, RightSide};
use crate::dtype::Scalar;
use crate::error::Result;
use crate::ir::op::Op;
use crate::tensor::Tensor;
use crate::trace::nested::{
    complex_rows, matrix_rows, quaternion_rows, transform_rows, vector_rows,
};

/// Values and tensors on the right of operators, given away or borrowed.
macro_rules! right_sides {
    ($type:ident => $output:ident, $made:expr) => {
        right_sides!(@given $type, Value Tensor);
        right_sides!(@beside $type, Array Scalar => $output, $made);
    };
    (@given $type:ident, $($left:ident)*) => { $(
        impl $crate::array::RightSide<$left> for $type {
            type Output = $left;
            fn record(self, op: $crate::ir::op::Op, left: &$left) -> Result<$left> {
                left.apply(op, &[(&self).into()])
            }
        }
    )* };
    (@beside $type:ident, $($left:ident)* => $output:ident, $made:expr) => { $(
        impl $crate::array::RightSide<$left> for &$type {
            type Output = $output;
            fn record(self, op: $crate::ir::op::Op, left: &$left) -> Result<$output> {
                $crate::value::apply(op, &[&left.into(), &self.into()]).and_then($made)
            }
        }
        impl $crate::array::RightSide<$left> for $type {
            type Output = $output;
            fn record(self, op: $crate::ir::op::Op, left: &$left) -> Result<$output> {
                (&self).record(op, left)
            }
        }
    )* };
}
pub(super) use right_sides;

impl<'a, T: Into<Argument<'a>>> RightSide<Value> for T {
    type Output = Value;
    fn record(self, op: Op, left: &Value) -> Result<Value> {
        left.apply(op, &[self.into()])
    }
}

/// Of arrays, complex numbers and numbers beside a tensor there is a tensor; vectors and matrices do not fit it.
impl<'a, T: Into<Argument<'a>>> RightSide<Tensor> for T {
    type Output = Tensor;
    fn record(self, op: Op, left: &Tensor) -> Result<Tensor> {
        left.apply(op, &[self.into()])
    }
}

right_sides!(@given Array, Value Tensor);
right_sides!(Value => Value, Ok);
right_sides!(Tensor => Tensor, Tensor::try_from);
operators!(Value, Argument);
operators!(Tensor, Argument);
methods!(Value, Argument);

impl Value {
    /// Records an elementwise operation with other arguments.
    ///
    /// # Errors
    /// As [`apply`].
    pub fn apply(&self, op: Op, others: &[Argument<'_>]) -> Result<Self> {
        let own = Argument::from(self);
        apply(op, &[&own].into_iter().chain(others).collect::<Vec<_>>())
    }

    fn named(&self, name: &'static str, others: &[Argument<'_>]) -> Result<Self> {
        let own = Argument::from(self);
        function(name, &[&own].into_iter().chain(others).collect::<Vec<_>>())
    }

    /// The first result of a function of [`trace::nested`](crate::trace::nested) with further arguments; of a tensor as
    /// [`Tensor::call`], where tensors have such a function.
    ///
    /// # Errors
    /// As [`call`].
    pub fn call(&self, name: &str, others: &[Argument<'_>]) -> Result<Self> {
        if let Self::Tensor(tensor) = self
            && let Some(answer) = tensor.called(name, others)
        {
            return answer?.into_first();
        }
        let own = Argument::from(self);
        let args: Vec<&Argument<'_>> = [&own].into_iter().chain(others).collect();
        Ok(call(name, &args)?.swap_remove(0))
    }
}

impl Tensor {
    /// Records an elementwise operation with other arguments.
    ///
    /// # Errors
    /// As [`apply`].
    pub fn apply(&self, op: Op, others: &[Argument<'_>]) -> Result<Self> {
        let own = Argument::from(self);
        apply(op, &[&own].into_iter().chain(others).collect::<Vec<_>>())?.try_into()
    }
}

/// A method for each row of `trace/nested` that asks for one.
macro_rules! nested_methods {
    ($($name:tt $forms:tt $doc:tt;)*) => {
        #[allow(rustdoc::broken_intra_doc_links, reason = "the arrays of examples stand in brackets")]
        impl Value { $(nested_methods!(@ $name $forms $doc);)* }
    };
    (@ [] $forms:tt $doc:tt) => {};
    (@ [$name:ident] ($a:expr) $doc:tt) => { nested_methods!(@ $name 1 $doc); };
    (@ [$name:ident] ($a:expr, $b:expr) $doc:tt) => { nested_methods!(@ $name 2 $doc); };
    (@ [$name:ident] ($a:expr, $b:expr, $c:expr) $doc:tt) => { nested_methods!(@ $name 3 $doc); };
    (@ $name:ident $arity:tt [$($doc:literal),+]) => {
        methods!(@arity Argument $name $arity [call(stringify!($name))] concat!(
            $($doc, "\n",)+ "\n`self` is the first argument. Recorded, not run; the example is a script's."
        ));
    };
}
vector_rows!(nested_methods);
complex_rows!(nested_methods);
quaternion_rows!(nested_methods);
matrix_rows!(nested_methods);
transform_rows!(nested_methods);
