//! Entries of tensors: `t[i]`, `t[[i, 2..5, all, -1]]` (S25).

use porcini_core::tensor::{AxisIndex, Tensor};
use porcini_core::value::{Index, Slice};
use porcini_core::{DType, Value};
use rhai::Dynamic;

use super::entries::{entries, tensor_of};
use super::given::check_lane;
use super::tensor_members;
use crate::context::Context;
use crate::fault::{IntoFault, Result, fault, fault_with_hint};
use crate::value::range::{self, All};
use crate::value::to_core::lend;
use crate::value::{Arg, ArrayRef, Node, dynamic, type_name};

/// `t[index]`: entries, an entry alone a number.
pub(super) fn get(context: &Context, value: &ArrayRef, index: &Dynamic) -> Result<Dynamic> {
    if let Ok(name) = index.clone().into_immutable_string() {
        return tensor_members::get(&tensor_of(value)?, &name);
    }
    let tensor = tensor_of(value)?;
    let index = read(context, &tensor, index)?;
    let found = tensor.indexed(&index).or_fault()?;
    match index {
        Index::Mask(_) => Ok(Dynamic::from(ArrayRef::tensor(found))),
        Index::Axes(..) => number_or_tensor(&found),
    }
}

/// `t[index] = value`.
pub(super) fn set(
    context: &Context,
    target: &ArrayRef,
    index: &Dynamic,
    value: &Dynamic,
) -> Result<()> {
    let tensor = tensor_of(target)?;
    let new = match index.clone().into_immutable_string() {
        Ok(name) => tensor_members::with(&tensor, &name, value)?,
        Err(_) => changed(context, &tensor, index, value)?,
    };
    store(context, target, &tensor, &new)
}

/// A tensor with other entries where an index says.
pub(super) fn changed(
    context: &Context,
    tensor: &Tensor,
    index: &Dynamic,
    value: &Dynamic,
) -> Result<Tensor> {
    let op = "[]=";
    let list = value.read_lock::<rhai::Array>().map(|list| list.clone());
    let made = match list {
        Some(list) => Dynamic::from(ArrayRef::tensor(entries(context, op, tensor.dtype(), &list)?)),
        None => value.clone(),
    };
    let argument = [Arg::new(op, &made)?];
    let value = lend(&argument, |args| args[0].fitted_to(op, tensor)).or_fault()?;
    tensor.with_indexed(&read(context, tensor, index)?, &value).or_fault()
}

fn store(context: &Context, target: &ArrayRef, old: &Tensor, new: &Tensor) -> Result<()> {
    if new.shape() != old.shape() {
        let (got, expected) = (new.shape(), old.shape());
        return Err(fault(format!("[]=: got values of shape {got}, expected {expected}")));
    }
    for part in old.parts() {
        context.session.check_change("[]=", part).or_fault()?;
    }
    let own = new.each(|part| Ok(part.own())).or_fault()?;
    target.set(Node::Tensor(own));
    Ok(())
}

/// A tensor; without axes a script number, or a complex one.
fn number_or_tensor(tensor: &Tensor) -> Result<Dynamic> {
    if tensor.shape().rank() > 0 {
        return Ok(Dynamic::from(ArrayRef::tensor(tensor.clone())));
    }
    if let Some((array, lane)) = tensor.lane_in_memory() {
        check_lane(array)?;
        return array.item(lane).map(dynamic).or_fault();
    }
    match tensor.lanes().or_fault()? {
        Value::Array(one) => {
            check_lane(&one)?;
            one.item(0).map(dynamic).or_fault()
        }
        complex => Ok(Dynamic::from(ArrayRef::from(complex))),
    }
}

fn read(context: &Context, tensor: &Tensor, index: &Dynamic) -> Result<Index> {
    if let Some(array) = index.read_lock::<ArrayRef>()
        && array.dtype() == DType::Mask
    {
        return Index::mask(tensor, tensor_of(&array)?).or_fault();
    }
    let list = index.read_lock::<rhai::Array>();
    // A list of truth values is a mask of the first axis.
    let is_mask = |list: &rhai::Array| !list.is_empty() && list.iter().all(Dynamic::is_bool);
    let list = list.filter(|list| !is_mask(list));
    let items = list.as_ref().map_or(std::slice::from_ref(index), |list| list.as_slice());
    let (mut axes, mut masks) = (Vec::with_capacity(items.len()), Vec::new());
    // The axes of what is found.
    let mut axis = 0;
    for item in items {
        let chosen = if let Ok(i) = item.as_int() {
            AxisIndex::Number(i)
        } else if let Some(slice) = range::slice(item) {
            AxisIndex::Slice(slice)
        } else if item.is::<All>() {
            AxisIndex::Slice(Slice::from(..))
        } else if item.is_unit() {
            AxisIndex::New
        } else {
            match numbers(context, item)? {
                mask if mask.dtype() == DType::Mask => {
                    masks.push((axis, tensor_of(&mask)?));
                    AxisIndex::Slice(Slice::from(..))
                }
                // How many entries an array finds does not decide about axes: one lane keeps its axis, too.
                numbers => {
                    AxisIndex::Numbers(numbers.lend(|given| given.to_tensor("[]")).or_fault()?)
                }
            }
        };
        axis += usize::from(!matches!(chosen, AxisIndex::Number(_)));
        axes.push(chosen);
    }
    if !masks.is_empty() && axes.iter().any(|chosen| matches!(chosen, AxisIndex::Numbers(_))) {
        return Err(fault_with_hint(
            format!("[]: got a mask beside numbers as index of {}", tensor.shape()),
            "take them one after the other: t[[mask, all]][[all, numbers]]",
        ));
    }
    Ok(Index::Axes(axes, masks))
}

/// An index of several entries: an array, or a list of integers.
pub(super) fn numbers(context: &Context, item: &Dynamic) -> Result<ArrayRef> {
    if let Some(list) = item.read_lock::<rhai::Array>() {
        let are_truths = !list.is_empty() && list.iter().all(Dynamic::is_bool);
        let dtype = if are_truths { DType::Mask } else { DType::I64 };
        return entries(context, "[]", dtype, &list).map(ArrayRef::tensor);
    }
    let array = item.read_lock::<ArrayRef>().map(|array| array.clone());
    array.filter(|array| !array.is_nested()).ok_or_else(|| {
        let got = type_name(item);
        fault_with_hint(
            format!("[]: got {got} as index of a tensor"),
            "an axis takes an integer, a range, all, a list of integers, an array of integers or a mask: t[[0, 1..3, all]]",
        )
    })
}

/// The entries along the first axis, for `for row in t`.
pub(super) fn rows(tensor: Tensor) -> Result<impl Iterator<Item = Result<Dynamic>>> {
    let n = tensor.shape().extents().first().copied();
    let n = n.ok_or_else(|| fault("for: got a tensor without axes"))?;
    let row = move |i: u64| {
        let place = AxisIndex::Number(i64::try_from(i).unwrap_or(i64::MAX));
        number_or_tensor(&tensor.at(&[place]).or_fault()?)
    };
    Ok((0..n).map(row))
}
