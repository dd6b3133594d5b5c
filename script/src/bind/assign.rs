//! Writing into existing values: `a[mask] = v`, `a[2..4] = v`, `v.x = b`. The place keeps its type, its
//! number of components and its other lanes.

use porcini_core::ir::op::Op;
use porcini_core::{Error, Operand};
use rhai::Dynamic;

use super::types::from_list;
use crate::context::Context;
use crate::fault::{IntoFault, Result, fault};
use crate::value::nested;
use crate::value::{Arg, ArrayRef, Node};

/// `value` as something that can stand in `place`: of its lane type, with its components.
///
/// Numbers must fit the type; arrays convert where nothing is lost (S7); lists become arrays; a plain
/// array goes into every component of a vector.
pub(super) fn fitting(
    context: &Context,
    op: &'static str,
    place: &ArrayRef,
    value: &Dynamic,
) -> Result<ArrayRef> {
    let dtype = place.dtype();
    if let Some(list) = value.read_lock::<rhai::Array>() {
        return from_list(&context.session, op, dtype, &list).map(ArrayRef::leaf);
    }
    let value = Arg::new(op, value)?;
    if let (Arg::Value(value), None) = (&value, place.components())
        && value.components().is_some()
    {
        let (got, expected) = (value.type_name(), place.type_name());
        return Err(fault(format!("{op}: got {got}, expected one value for {expected}")));
    }
    nested::components(op, &[value, Arg::Value(place.clone())], &|operands| match *operands {
        [Operand::Number(number), _] => context.session.full(dtype, number, 1),
        [Operand::Array(array), _] if dtype.promote(array.dtype()) == Some(dtype) => {
            array.cast(dtype)
        }
        [Operand::Array(array), _] => {
            Err(Error::TypeMismatch { op, lhs: dtype, rhs: array.dtype() })
        }
        _ => Err(Error::Argument { op, what: "one value expected".into() }),
    })
}

/// `place[mask] = value`: lanes where the mask is false keep their bits.
pub(super) fn assign_masked(
    context: &Context,
    place: &ArrayRef,
    mask: &ArrayRef,
    value: &Dynamic,
) -> Result<()> {
    let value = fitting(context, "[]=", place, value)?;
    let args = [Arg::Value(mask.clone()), Arg::Value(value), Arg::Value(place.clone())];
    let result =
        nested::components("[]=", &args, &|operands| context.session.apply(Op::Select, operands))?;
    replace(context, place, &result)
}

/// Makes component `i` of `vector` hold `value`.
pub(super) fn assign_component(
    context: &Context,
    vector: &ArrayRef,
    i: usize,
    value: &Dynamic,
) -> Result<()> {
    let components = vector.components().unwrap_or_default();
    let value = fitting(context, "=", &components[i], value)?;
    let mut changed = components.clone();
    changed[i] = value.clone();
    if ArrayRef::vector(changed).lanes().is_none() {
        let lanes = value.lanes().unwrap_or(0);
        return Err(fault(format!(
            "=: a component of {lanes} lanes in a vector of {} (equal sizes, or size 1)",
            vector.lanes().unwrap_or(0)
        )));
    }
    replace(context, &components[i], &value)
}

/// Makes every holder of `place` see `result`; components keep their identity.
fn replace(context: &Context, place: &ArrayRef, result: &ArrayRef) -> Result<()> {
    match (place.components(), result.components()) {
        (Some(old), Some(new)) if old.len() == new.len() => {
            old.iter().zip(&new).try_for_each(|(old, new)| replace(context, old, new))
        }
        (None, None) => {
            let array = result.array("=")?;
            context.session.check_change("=", &place.array("=")?).or_fault()?;
            place.set(Node::Leaf(array));
            Ok(())
        }
        _ => {
            let (got, expected) = (result.type_name(), place.type_name());
            Err(fault(format!("=: got {got}, expected {expected}")))
        }
    }
}
