//! Integer powers of values.

use super::argument::Argument;
use super::map::apply;
use super::{Form, Value};
use crate::error::{Error, Result};
use crate::ir::op::Op;
use crate::trace::power::by_squaring;

impl Value {
    /// The power by repeated squaring, exact for integers; of matrices by the matrix product, and for a negative
    /// exponent of the inverse.
    ///
    /// # Errors
    /// `Forms` for a negative power of integers; as [`apply`] of `Op::Mul`.
    pub fn powi(&self, exponent: i64) -> Result<Self> {
        power("powi", self, exponent)
    }
}

/// [`Value::powi`] where errors name `op`.
///
/// # Errors
/// As [`Value::powi`].
pub fn power(op: &str, base: &Value, exponent: i64) -> Result<Value> {
    if exponent < 0 && !base.dtype().is_float() {
        let why = "a negative power of integers; convert with FloatC(..) first";
        return Err(Error::forms(format!("{op}: {why}")));
    }
    let n = exponent.unsigned_abs();
    if exponent < -1 && is_by_entries(base) {
        return Argument::from(base)
            .each("**", |x| x.session().record(|recorder| recorder.reciprocal_power(x.id(), n)));
    }
    let multiply = |a: &Value, b: &Value| apply(Op::Mul, &[&a.into(), &b.into()]);
    let product = by_squaring(base, n, multiply)?;
    let product = product.map_or_else(|| one_like(base), Ok)?;
    // Of a matrix the inverse.
    if exponent < 0 { product.rcp() } else { Ok(product) }
}

/// Whether products go entry by entry.
fn is_by_entries(value: &Value) -> bool {
    match value {
        Value::Array(_) => true,
        Value::Tensor(tensor) => !tensor.is_complex(),
        Value::Nested(form, parts) => {
            matches!(form, Form::Vector(_)) && parts.iter().all(is_by_entries)
        }
    }
}

/// The number 1 of the type and size of `base`: of a matrix the identity.
fn one_like(base: &Value) -> Result<Value> {
    let zero = Argument::from(base).each("**", |x| x.session().zeros(x.dtype(), x.size()))?;
    apply(Op::Add, &[&(&zero).into(), &Argument::from(1)])
}
