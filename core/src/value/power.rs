//! Integer powers by repeated squaring: small powers are a few products.

use super::Value;
use super::argument::Argument;
use super::map::apply;
use crate::error::{Error, Result};
use crate::ir::op::Op;

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
    let multiply = |a: &Value, b: &Value| apply(Op::Mul, &[&a.into(), &b.into()]);
    let mut n = exponent.unsigned_abs();
    let mut square = base.clone();
    let mut product: Option<Value> = None;
    while n > 0 {
        if n & 1 != 0 {
            product = Some(match product {
                Some(product) => multiply(&product, &square)?,
                None => square.clone(),
            });
        }
        n >>= 1;
        if n > 0 {
            square = multiply(&square, &square)?;
        }
    }
    let product = product.map_or_else(|| one_like(base), Ok)?;
    // Of a matrix the inverse.
    if exponent < 0 { product.rcp() } else { Ok(product) }
}

/// The number 1 of the type and size of `base`: of a matrix the identity.
fn one_like(base: &Value) -> Result<Value> {
    let zero = Argument::from(base).each("**", |x| x.session().zeros(x.dtype(), x.size()))?;
    apply(Op::Add, &[&(&zero).into(), &Argument::from(1)])
}
