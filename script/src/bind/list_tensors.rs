//! Lists of numbers beside tensors, which act as tensors: `m @ [1, 2]`, `m + [1, 2]`, `solve(m, [3, 5])`,
//! `vstack([m, [1, 2]])`.

use porcini_core::catalogue::{Kind, Row};
use porcini_core::tensor::Tensor;
use porcini_core::{DType, Scalar};
use rhai::Dynamic;

use super::tensor_types::entries;
use crate::context::Context;
use crate::fault::{IntoFault, Result};
use crate::value::{self, ArrayRef, Form};

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

/// The type of the numbers beside a list, if there are some: those of a mask may be any.
fn beside<'a>(values: impl Iterator<Item = &'a Dynamic>) -> Option<DType> {
    let dtypes = values.filter_map(|value| Some(value.read_lock::<ArrayRef>()?.dtype()));
    dtypes.reduce(|first, other| if first == DType::Mask { other } else { first })
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
