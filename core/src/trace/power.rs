//! Integer powers by repeated squaring: small powers are a few products.

use super::Recorder;
use crate::error::Result;
use crate::ir::op::Op;
use crate::ir::var::{Kind, VarId};

/// Name of the calls of [`Recorder::reciprocal_power`].
const NAME: &str = "powi";

/// The power by repeated squaring; `None` for an exponent of 0.
///
/// # Errors
/// What `multiply` returns.
pub(crate) fn by_squaring<T: Clone>(
    base: &T,
    mut exponent: u64,
    mut multiply: impl FnMut(&T, &T) -> Result<T>,
) -> Result<Option<T>> {
    let mut square = base.clone();
    let mut product: Option<T> = None;
    while exponent > 0 {
        if exponent & 1 != 0 {
            product = Some(match product {
                Some(product) => multiply(&product, &square)?,
                None => square.clone(),
            });
        }
        exponent >>= 1;
        if exponent > 0 {
            square = multiply(&square, &square)?;
        }
    }
    Ok(product)
}

impl Recorder<'_> {
    /// The reciprocal of a power of floats, as one call: through its steps the slope at 0, and where the power is beyond the
    /// range of the type, would be 0 times infinity.
    ///
    /// # Errors
    /// `UnsupportedType`.
    pub(crate) fn reciprocal_power(&mut self, x: VarId, exponent: u64) -> Result<VarId> {
        let recipe = |recorder: &mut Recorder<'_>, args: &[VarId]| {
            let multiply = |a: &VarId, b: &VarId| recorder.same(Op::Mul, &[*a, *b]);
            let power = by_squaring(&args[0], exponent, multiply)?;
            let one = recorder.one(recorder.dtype(args[0]));
            Ok(vec![recorder.same(Op::Div, &[one, power.unwrap_or(one)])?])
        };
        Ok(self.call_all(NAME, &[exponent], &[x], recipe)?[0])
    }

    /// The exponent of what [`Recorder::reciprocal_power`] recorded.
    pub(super) fn exponent_of_reciprocal(&self, id: VarId) -> Option<u64> {
        let Kind::Call(body) = self.var(id).made_by() else { return None };
        let body = self.table.body(body);
        match *body.shape {
            [exponent] if body.name == NAME => Some(exponent),
            _ => None,
        }
    }
}
