//! Lists of numbers beside tensors, which act as tensors: `m @ [1, 2]`, `solve(m, [3, 5])`, `vstack([m, [1, 2]])`.

use porcini_core::catalogue::{Kind, Row, find};
use porcini_core::{DType, Scalar};
use rhai::Dynamic;

use super::tensor_types::entries;
use crate::context::Context;
use crate::fault::Result;
use crate::value::ArrayRef;

/// The tensors that lists among the arguments are, with their places; none where no array is beside.
pub(super) fn beside_tensors(
    context: &Context,
    row: &Row,
    args: &[&mut Dynamic],
) -> Result<Vec<(usize, Dynamic)>> {
    let mut made = Vec::new();
    if !matches!(row.parameters[0].1, Kind::Tensor | Kind::List) {
        return Ok(made);
    }
    for (place, (arg, (_, kind))) in args.iter().zip(row.parameters).enumerate() {
        let Some(list) = arg.read_lock::<rhai::Array>() else { continue };
        match kind {
            Kind::Tensor | Kind::Operand => {
                if let Some(beside) = beside(args.iter().map(|arg| &**arg)) {
                    made.push((place, tensor(context, row, beside, &list)?));
                }
            }
            Kind::List if find(row.name).is_none() && list.iter().any(Dynamic::is_array) => {
                if let Some(beside) = beside(list.iter()) {
                    let item = |item: &Dynamic| match item.read_lock::<rhai::Array>() {
                        Some(list) => tensor(context, row, beside, &list),
                        None => Ok(item.clone()),
                    };
                    let items = list.iter().map(item).collect::<Result<rhai::Array>>()?;
                    made.push((place, items.into()));
                }
            }
            _ => {}
        }
    }
    Ok(made)
}

/// The type of the numbers beside a list, if there are some: those of a mask may be any.
fn beside<'a>(values: impl Iterator<Item = &'a Dynamic>) -> Option<DType> {
    let dtypes = values.filter_map(|value| Some(value.read_lock::<ArrayRef>()?.dtype()));
    dtypes.reduce(|first, other| if first == DType::Mask { other } else { first })
}

fn tensor(context: &Context, row: &Row, beside: DType, list: &rhai::Array) -> Result<Dynamic> {
    let dtype = match beside {
        _ if is_any(list, Dynamic::is_bool) => DType::Mask,
        DType::Mask => DType::I32,
        numbers => numbers,
    };
    // As a script's float does (S7).
    let has_floats = dtype != DType::Mask && is_any(list, Dynamic::is_float);
    let dtype = if has_floats { dtype.meet(Scalar::Float(0.0)) } else { dtype };
    entries(context, row.name, dtype, list).map(ArrayRef::tensor).map(Dynamic::from)
}

/// Whether one of the items, or of those of lists among them, is such.
fn is_any(list: &rhai::Array, such: fn(&Dynamic) -> bool) -> bool {
    let in_list =
        |item: &Dynamic| item.read_lock::<rhai::Array>().is_some_and(|list| is_any(&list, such));
    list.iter().any(|item| such(item) || in_list(item))
}
