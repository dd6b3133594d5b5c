//! Operators and functions of values as methods.
//!
//! Operators panic with the text of the error that the method `try_add` and so on would return.

use super::argument::Argument;
use super::map::{apply, function};
use super::{Value, call};
use crate::array::operators::{methods, operators};
use crate::error::Result;
use crate::ir::op::Op;

operators!(Value, Argument);
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

    /// The first result of a function of [`trace::nested`](crate::trace::nested) with further arguments.
    ///
    /// # Errors
    /// As [`call`].
    pub fn call(&self, name: &str, others: &[Argument<'_>]) -> Result<Self> {
        let own = Argument::from(self);
        let args: Vec<&Argument<'_>> = [&own].into_iter().chain(others).collect();
        Ok(call(name, &args)?.swap_remove(0))
    }
}

/// A method for each of these functions of `trace/nested`, of one value or two.
macro_rules! nested_methods {
    ($($name:ident),*; $($pair:ident),*) => {
        impl Value {
            $(
                #[doc = concat!("Calls `", stringify!($name), "`, see [`trace::nested`](crate::trace::nested).\n\n# Errors\nAs [`Value::call`].")]
                pub fn $name(&self) -> Result<Self> {
                    self.call(stringify!($name), &[])
                }
            )*
            $(
                #[doc = concat!("Calls `", stringify!($pair), "`, see [`trace::nested`](crate::trace::nested).\n\n# Errors\nAs [`Value::call`].")]
                pub fn $pair<'a>(&self, other: impl Into<Argument<'a>>) -> Result<Self> {
                    self.call(stringify!($pair), &[other.into()])
                }
            )*
        }
    };
}
nested_methods!(
    norm, squared_norm, normalize, conj, arg, transpose, inverse, det, trace, frob, diag;
    dot, cross, mul_elem, rotate
);
