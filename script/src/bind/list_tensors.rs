//! Lists of numbers that act as arrays and tensors. Beside tensors they take their type: `m @ [1, 2]`, `m + [1, 2]`,
//! `solve(m, [3, 5])`, `vstack([m, [1, 2]])`; alone they have one by what is in them: `inv([[2, 1], [1, 3]])`, `hsum([1, 2])`,
//! `segment_sum(x, [0, 1, 0], 2)`.

use std::any::TypeId;
use std::cell::Cell;

use porcini_core::catalogue::{ACROSS_LANES, Kind, Row, tensor_rows};
use porcini_core::tensor::Tensor;
use porcini_core::{DType, Scalar};
use rhai::{Dynamic, NativeCallContext};

use super::entries::entries;
use super::given::recalled;
use super::registry::Registry;
use crate::context::Context;
use crate::fault::{IntoFault, Result};
use crate::value::{self, ArrayRef, Form};

/// Functions of lists that do something else, or lists of something else.
const OF_LISTS: [&str; 9] =
    ["len", "sort", "sort_desc", "reverse", "split", "pad", "argsort", "compress", "gather"];

/// Registers functions of arrays and tensors for lists of numbers.
pub(super) fn register(registry: &mut Registry<'_>) {
    for row in ACROSS_LANES.iter().chain(tensor_rows()) {
        // An operand in front of a tensor is no vector.
        let first = row.parameters[0].1;
        let is_tensor =
            first != Kind::Operand || row.parameters.iter().any(|(_, kind)| *kind == Kind::Tensor);
        if OF_LISTS.contains(&row.name) || !(takes_list(first) && is_tensor) {
            continue;
        }
        for arity in row.n_required..=row.parameters.len() {
            let list = TypeId::of::<rhai::Array>();
            registry.typed(row.name, list, arity, |context, call, args| {
                called(context, call, row, args)
            });
        }
    }
}

/// Calls a function with what lists among the arguments stand for.
pub(super) fn called(
    context: &Context,
    call: &NativeCallContext<'_>,
    row: &Row,
    args: &[&mut Dynamic],
) -> Result<Dynamic> {
    let floats = floats(args.iter().map(|arg| &**arg));
    let mut given: Vec<Dynamic> = args.iter().map(|arg| (**arg).clone()).collect();
    for (arg, (_, kind)) in given.iter_mut().zip(row.parameters) {
        let list = arg.read_lock::<rhai::Array>().map(|list| list.clone());
        if let Some(list) = list.filter(|_| takes_list(*kind)) {
            // What is summed has room.
            *arg = value_of(context, row.name, [DType::I64, floats], &list)?;
        }
    }
    recalled(call, row.name, given)
}

/// Whether a parameter takes a list of numbers as the array that it is.
fn takes_list(kind: Kind) -> bool {
    matches!(kind, Kind::Value | Kind::Each | Kind::Mask | Kind::Tensor | Kind::Operand)
}

/// The array or tensor that a list of numbers is by itself: of integers in the first type if they fit, of floats in the
/// second.
pub(super) fn value_of(
    context: &Context,
    name: &str,
    types: [DType; 2],
    list: &rhai::Array,
) -> Result<Dynamic> {
    let tensor = entries(context, name, own_type(list, types)?, list)?;
    let is_line = tensor.shape().rank() == 1;
    let value = if is_line { tensor.lanes() } else { Ok(tensor.into()) };
    Ok(Dynamic::from(ArrayRef::from(value.or_fault()?)))
}

/// The type of the numbers in lists of lists: that of arrays among them, if there are some.
fn own_type(list: &rhai::Array, [integers, floats]: [DType; 2]) -> Result<DType> {
    let dtype = Cell::new(None);
    let is_wide = |item: &Dynamic| {
        if let Some(array) = item.read_lock::<ArrayRef>() {
            let other = array.dtype();
            dtype.set(dtype.get().map_or(Some(other), |one: DType| one.promote(other)));
        }
        item.as_int().is_ok_and(|n| i32::try_from(n).is_err())
    };
    // Looks at all of them where none is wide.
    let is_wide = value::is_any(list, &is_wide)?;
    Ok(if let Some(dtype) = dtype.get() {
        dtype
    } else if value::is_any(list, &Dynamic::is_float)? {
        floats
    } else if value::is_any(list, &Dynamic::is_bool)? {
        DType::Mask
    } else if is_wide {
        DType::I64
    } else {
        integers
    })
}

/// What lists in the place of arrays are, and lists of lists in that of a list of arrays, with their places.
pub(super) fn alone(
    context: &Context,
    row: &Row,
    args: &[&mut Dynamic],
) -> Result<Vec<(usize, Dynamic)>> {
    let floats = floats(args.iter().map(|arg| &**arg));
    let mut made = Vec::new();
    for (place, (arg, (name, kind))) in args.iter().zip(row.parameters).enumerate() {
        let Some(list) = arg.read_lock::<rhai::Array>() else { continue };
        match kind {
            // An index has any shape.
            Kind::Array | Kind::Index | Kind::Active
                if place > 0 && (*name == "index" || !list.iter().any(Dynamic::is_array)) =>
            {
                made.push((place, value_of(context, row.name, [DType::I32, floats], &list)?));
            }
            Kind::List if !list.is_empty() && list.iter().all(Dynamic::is_array) => {
                let item = |item: &Dynamic| match item.read_lock::<rhai::Array>() {
                    Some(list) => value_of(context, row.name, [DType::I64, floats], &list),
                    None => Ok(item.clone()),
                };
                let items = list.iter().map(item).collect::<Result<rhai::Array>>()?;
                made.push((place, items.into()));
            }
            Kind::Tensor if place > 0 => {
                if let Some(beside) = beside(args.iter().map(|arg| &**arg)) {
                    let tensor = tensor(context, row.name, beside, &list)?;
                    made.push((place, Dynamic::from(ArrayRef::tensor(tensor))));
                }
            }
            _ => {}
        }
    }
    Ok(made)
}

/// The tensors that lists among the arguments are, with their places; none where no array is beside.
pub(super) fn beside_tensors(
    context: &Context,
    row: &Row,
    args: &[&mut Dynamic],
) -> Result<Vec<(usize, Dynamic)>> {
    let mut made = Vec::new();
    if !matches!(row.parameters[0].1, Kind::Tensor | Kind::Operand | Kind::List) {
        return Ok(made);
    }
    for (place, (arg, (_, kind))) in args.iter().zip(row.parameters).enumerate() {
        let Some(list) = arg.read_lock::<rhai::Array>() else { continue };
        match kind {
            Kind::Tensor | Kind::Operand => {
                if let Some(beside) = beside(args.iter().map(|arg| &**arg)) {
                    let tensor = tensor(context, row.name, beside, &list)?;
                    made.push((place, Dynamic::from(ArrayRef::tensor(tensor))));
                }
            }
            Kind::List if list.iter().any(Dynamic::is_array) => {
                if let Some(beside) = beside(list.iter()) {
                    let are_arrays = !list.iter().any(is_tensor);
                    let item = |item: &Dynamic| {
                        let Some(list) = item.read_lock::<rhai::Array>() else {
                            return Ok(item.clone());
                        };
                        let made = tensor(context, row.name, beside, &list)?;
                        let is_line = are_arrays && made.shape().rank() == 1;
                        let lanes = if is_line { made.lanes() } else { Ok(made.into()) };
                        Ok(Dynamic::from(ArrayRef::from(lanes.or_fault()?)))
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

/// The same of an operation entry by entry: beside arrays and vectors a list would be lanes or components.
pub(super) fn of_entries(
    context: &Context,
    name: &str,
    args: &[&mut Dynamic],
) -> Result<Vec<(usize, Dynamic)>> {
    if !args.iter().any(|arg| is_tensor(arg)) {
        return Ok(Vec::new());
    }
    let Some(beside) = beside(args.iter().map(|arg| &**arg)) else { return Ok(Vec::new()) };
    let lists = args.iter().enumerate().filter_map(|(place, arg)| {
        let list = arg.read_lock::<rhai::Array>()?;
        let made = tensor(context, name, beside, &list);
        Some(made.map(|made| (place, Dynamic::from(ArrayRef::tensor(made)))))
    });
    lists.collect()
}

fn is_tensor(value: &Dynamic) -> bool {
    value.read_lock::<ArrayRef>().is_some_and(|value| value.form() == Form::Tensor)
}

/// The type of the numbers beside a list, if there are some: those of a mask may be any, and floats say more than integers.
fn beside<'a>(values: impl Iterator<Item = &'a Dynamic>) -> Option<DType> {
    let dtypes = values.filter_map(|value| Some(value.read_lock::<ArrayRef>()?.dtype()));
    dtypes.reduce(|first, other| match (first.is_float(), other.is_float()) {
        (true, true) => first.promote(other).unwrap_or(first),
        (false, true) => other,
        (..) if first == DType::Mask => other,
        (..) => first,
    })
}

/// The type of floats in lists among values: that of arrays of floats, wherever they stand, as a script's float has it (S7).
pub(super) fn floats<'a>(values: impl Iterator<Item = &'a Dynamic>) -> DType {
    beside(values).filter(|dtype| dtype.is_float()).unwrap_or(DType::F32)
}

fn tensor(context: &Context, name: &str, beside: DType, list: &rhai::Array) -> Result<Tensor> {
    let dtype = match beside {
        _ if value::is_any(list, &Dynamic::is_bool)? => DType::Mask,
        DType::Mask => DType::I32,
        numbers => numbers,
    };
    // As a script's float does (S7).
    let has_floats = dtype != DType::Mask && value::is_any(list, &Dynamic::is_float)?;
    let dtype = if has_floats { dtype.meet(Scalar::Float(0.0)) } else { dtype };
    entries(context, name, dtype, list)
}
