//! Derivatives of functions that are not made of recorded operations, or have better ones.

use std::any::Any;
use std::sync::Arc;

use super::Array;
use crate::error::{Error, Result};

/// The derivative of a function that is not made of recorded operations, or has a better one.
pub(crate) trait Derivative: Send + Sync {
    /// The cotangents of the arguments from that of the value; `None` where there is none.
    ///
    /// # Errors
    /// What it is recorded with.
    fn pull(&self, args: &[Array], value: &Array, cotangent: &Array) -> Result<Vec<Option<Array>>>;

    /// The tangent of the value from those of the arguments that have one.
    ///
    /// # Errors
    /// What it is recorded with.
    fn push(&self, args: &[Array], value: &Array, tangents: &[Option<Array>]) -> Result<Array>;
}

/// A derivative as variables hold it.
pub(super) enum Rule {
    Own(Box<dyn Derivative>),
    /// That of somebody who is asked.
    Told(Told),
}

/// A function whose derivative a front end has, which is asked for it.
#[derive(Clone)]
pub struct Told {
    /// Which array of the function's value it is.
    pub place: usize,
    /// What the front end keeps with a call, and knows the function by.
    pub call: Arc<dyn Any + Send + Sync>,
}

/// A front end that has derivatives of functions.
pub trait Ask {
    /// The cotangents of the arguments from that of a value; `None` where there is none.
    ///
    /// # Errors
    /// What the front end says.
    fn pull(
        &mut self,
        told: &Told,
        args: &[Array],
        cotangent: &Array,
    ) -> Result<Vec<Option<Array>>>;

    /// The tangent of a value from those of the arguments that have one.
    ///
    /// # Errors
    /// What the front end says.
    fn push(&mut self, told: &Told, args: &[Array], tangents: &[Option<Array>]) -> Result<Array>;
}

/// Who has no derivatives.
pub(super) struct Nobody;

impl Ask for Nobody {
    fn pull(&mut self, _: &Told, _: &[Array], _: &Array) -> Result<Vec<Option<Array>>> {
        Err(nobody())
    }

    fn push(&mut self, _: &Told, _: &[Array], _: &[Option<Array>]) -> Result<Array> {
        Err(nobody())
    }
}

#[cold]
fn nobody() -> Error {
    let what = "the derivative of a function is known to a script alone, which does not run".into();
    Error::Argument { op: "custom", what }
}
