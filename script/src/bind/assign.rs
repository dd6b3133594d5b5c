//! Writing into existing values: `a[mask] = v`, `a[2..4] = v`, `v.x = b`. The place keeps its type, its
//! number of components and its other lanes.

use porcini_core::Session;
use rhai::Dynamic;

use super::types::from_list;
use crate::context::Context;
use crate::fault::{IntoFault, Result, fault};
use crate::value::to_core;
use crate::value::{Arg, ArrayRef, Form, Node};

/// `value` as something that can stand in `place`, see [`Argument::fitted`](porcini_core::value::Argument::fitted);
/// lists become arrays, in a place of several components those.
pub(super) fn fitting(
    context: &Context,
    op: &'static str,
    place: &ArrayRef,
    value: &Dynamic,
) -> Result<ArrayRef> {
    if let Some(list) = value.read_lock::<rhai::Array>() {
        if let Some(components) = place.components() {
            return of_components(context, op, place, &components, &list);
        }
        return from_list(&session_of(context, place), op, place.dtype(), &list)
            .map(ArrayRef::leaf);
    }
    let args = [Arg::new(op, value)?, Arg::Value(place.clone())];
    to_core::lend(&args, |args| args[0].fitted(op, args[1])).map(ArrayRef::from).or_fault()
}

/// A list as a value like `place`, an item for each component.
fn of_components(
    context: &Context,
    op: &'static str,
    place: &ArrayRef,
    components: &[ArrayRef],
    list: &[Dynamic],
) -> Result<ArrayRef> {
    let (got, expected) = (list.len(), components.len());
    if got != expected {
        let what = if got == 1 { "component" } else { "components" };
        return Err(fault(format!("{op}: got {got} {what}, expected {expected}")));
    }
    // Lists of a matrix are its rows, components its columns.
    let items = match place.form() {
        Form::Matrix(n) => columns(list, n).ok_or_else(|| {
            fault(format!("{op}: got rows of other lengths, expected {n} rows of {n}"))
        })?,
        _ => list.to_vec(),
    };
    let pairs = components.iter().zip(&items);
    let parts = pairs.map(|(component, item)| fitting(context, op, component, item));
    Ok(ArrayRef::nested(place.form(), parts.collect::<Result<_>>()?))
}

/// The columns of rows of n items.
fn columns(rows: &[Dynamic], n: usize) -> Option<Vec<Dynamic>> {
    let items = |row: &Dynamic| Some(row.read_lock::<rhai::Array>()?.clone());
    let rows: Vec<rhai::Array> = rows.iter().map(items).collect::<Option<_>>()?;
    let column = |j: usize| rows.iter().map(|row| row.get(j).cloned()).collect::<Option<Vec<_>>>();
    let is_square = rows.iter().all(|row| row.len() == n);
    (0..n).filter(|_| is_square).map(|j| column(j).map(Dynamic::from_array)).collect()
}

/// The session that a value is of: numbers and lists that go with it go there.
pub(super) fn session_of(context: &Context, value: &ArrayRef) -> Session {
    value.leaves().first().map_or_else(|| context.session.clone(), |leaf| leaf.session().clone())
}

/// `place[mask] = value`: lanes where the mask is false keep their bits.
pub(super) fn assign_masked(
    context: &Context,
    place: &ArrayRef,
    mask: &ArrayRef,
    value: &Dynamic,
) -> Result<()> {
    let value = fitting(context, "[]=", place, value)?;
    let args = [place, mask, &value].map(|arg| Arg::Value(arg.clone()));
    let result = to_core::lend(&args, |args| args[0].assigned(args[1], args[2])).or_fault()?;
    replace(context, place, &result.into())
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
            place.set(Node::Leaf(array.own()));
            Ok(())
        }
        _ => {
            let (got, expected) = (result.type_name(), place.type_name());
            Err(fault(format!("=: got {got}, expected {expected}")))
        }
    }
}
