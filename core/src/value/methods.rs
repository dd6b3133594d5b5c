//! Operators and functions of values as methods.
//!
//! Operators panic with the text of the error that the method `try_add` and so on would return.

use super::argument::Argument;
use super::map::{apply, function};
use super::{Value, call};
use crate::error::Result;
use crate::ir::op::{Op, ReduceOp};
use crate::operators::operators;
use crate::trace::functions::function_rows;

operators!(Value, Argument);

impl Value {
    /// Records an elementwise operation with other arguments.
    ///
    /// # Errors
    /// As [`apply`].
    pub fn apply(&self, op: Op, others: &[Argument<'_>]) -> Result<Self> {
        let own = Argument::from(self);
        apply(op, &[&own].into_iter().chain(others).collect::<Vec<_>>())
    }

    fn elementwise(&self, name: &'static str, others: &[Argument<'_>]) -> Result<Self> {
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

macro_rules! methods {
    (unary $($name:ident $op:ident),*; binary $($bname:ident $bop:ident),*; nested $($nname:ident),*; pairs $($pname:ident),*; reduce $($rname:ident $rop:ident),*;) => {
        impl Value {
            $(
                #[doc = concat!("Records [`Op::", stringify!($op), "`].\n\n# Errors\nAs [`Value::apply`].")]
                pub fn $name(&self) -> Result<Self> {
                    self.apply(Op::$op, &[])
                }
            )*
            $(
                #[doc = concat!("Records [`Op::", stringify!($bop), "`].\n\n# Errors\nAs [`Value::apply`].")]
                pub fn $bname<'a>(&self, other: impl Into<Argument<'a>>) -> Result<Self> {
                    self.apply(Op::$bop, &[other.into()])
                }
            )*
            $(
                #[doc = concat!("Records [`ReduceOp::", stringify!($rop), "`].\n\n# Errors\nAs [`Value::reduce`].")]
                pub fn $rname(&self) -> Result<Self> {
                    self.reduce(ReduceOp::$rop)
                }
            )*
            $(
                #[doc = concat!("Calls `", stringify!($nname), "`, see [`trace::nested`](crate::trace::nested).\n\n# Errors\nAs [`Value::call`].")]
                pub fn $nname(&self) -> Result<Self> {
                    self.call(stringify!($nname), &[])
                }
            )*
            $(
                #[doc = concat!("Calls `", stringify!($pname), "`, see [`trace::nested`](crate::trace::nested).\n\n# Errors\nAs [`Value::call`].")]
                pub fn $pname<'a>(&self, other: impl Into<Argument<'a>>) -> Result<Self> {
                    self.call(stringify!($pname), &[other.into()])
                }
            )*
        }
    };
}
methods!(
    unary abs Abs, sqrt Sqrt, floor Floor, ceil Ceil, round Round, trunc Trunc;
    binary eq Eq, ne Ne, lt Lt, le Le, gt Gt, ge Ge, min Min, max Max;
    nested norm, squared_norm, normalize, conj, arg, transpose, inverse, det, trace, frob, diag;
    pairs dot, cross, mul_elem, rotate;
    reduce hsum Sum, hprod Prod, hmin Min, hmax Max, count Count, any Any, all All;
);

/// A method for each row of the table of functions.
macro_rules! function_methods {
    ($(
        $(#[doc = $doc:literal])+
        $name:ident / $arity:tt, $class:ident $(($($column:ident),+))? = $recipe:expr $(, half = $half:expr)?;
    )*) => {
        impl Value {
            $(function_methods!(@method $name / $arity);)*
        }
    };
    (@method $name:ident / 1) => {
        #[doc = concat!("Records the function `", stringify!($name), "` of `trace/functions.rs`.\n\n# Errors\nAs [`map`](super::map).")]
        pub fn $name(&self) -> Result<Self> {
            self.elementwise(stringify!($name), &[])
        }
    };
    (@method $name:ident / 2) => {
        #[doc = concat!("Records the function `", stringify!($name), "` of `trace/functions.rs`, `self` first.\n\n# Errors\nAs [`map`](super::map).")]
        pub fn $name<'a>(&self, other: impl Into<Argument<'a>>) -> Result<Self> {
            self.elementwise(stringify!($name), &[other.into()])
        }
    };
    (@method $name:ident / 3) => {
        #[doc = concat!("Records the function `", stringify!($name), "` of `trace/functions.rs`, `self` first.\n\n# Errors\nAs [`map`](super::map).")]
        pub fn $name<'a>(
            &self,
            b: impl Into<Argument<'a>>,
            c: impl Into<Argument<'a>>,
        ) -> Result<Self> {
            self.elementwise(stringify!($name), &[b.into(), c.into()])
        }
    };
}
function_rows!(function_methods);
