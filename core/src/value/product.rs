//! Products of matrices and vectors, as `a @ b` writes them.

use super::argument::Argument;
use super::call::call;
use super::map::apply;
use super::{Form, Value};
use crate::error::Result;
use crate::ir::op::Op;

/// The product that `*` is of matrices, of a matrix and a vector on either side; of two vectors the sum of the products of
/// their components. `None` of anything else, as of tensors.
///
/// # Errors
/// As [`apply`] and [`call`].
pub(crate) fn product(a: &Argument<'_>, b: &Argument<'_>) -> Result<Option<Value>> {
    Ok(match (a.form(), b.form()) {
        (Form::Matrix(_), Form::Matrix(_) | Form::Vector(_)) => Some(apply(Op::Mul, &[a, b])?),
        (Form::Vector(_), Form::Matrix(_)) => {
            let rows = call("transpose", &[b])?;
            Some(apply(Op::Mul, &[&(&rows[0]).into(), a])?)
        }
        (Form::Vector(_), Form::Vector(_)) => Some(call("dot", &[a, b])?.swap_remove(0)),
        _ => None,
    })
}
