//! Entries of tensors: `t[i]`, `t[[i, 2..5, all, -1]]` (S25).

use porcini_core::tensor::{AxisIndex, Tensor};
use porcini_core::value::{Argument, Slice};
use porcini_core::{DType, Value};
use rhai::Dynamic;

use super::entries::{entries, tensor_of};
use super::given::check_lane;
use super::tensor_members;
use crate::context::Context;
use crate::fault::{IntoFault, Result, fault, fault_with_hint};
use crate::value::nested::lend;
use crate::value::range::{self, All};
use crate::value::{Arg, ArrayRef, Node, dynamic, type_name};

/// What an index says: places of axes, or where to look.
enum Index {
    /// A place for each axis from the first on; masks choose among the entries of an axis of what stands there.
    Axes(Vec<AxisIndex>, Vec<(usize, ArrayRef)>),
    /// A mask of all entries.
    Mask(ArrayRef),
}

/// `t[index]`: entries, an entry alone a number.
pub(super) fn get(context: &Context, value: &ArrayRef, index: &Dynamic) -> Result<Dynamic> {
    if let Ok(name) = index.clone().into_immutable_string() {
        return tensor_members::get(&tensor_of(value)?, &name);
    }
    let tensor = tensor_of(value)?;
    match read(context, &tensor, index)? {
        Index::Mask(mask) => masked(value, &mask).map(Dynamic::from),
        Index::Axes(axes, masks) => {
            let mut found = ArrayRef::tensor(tensor.at(&axes).or_fault()?);
            for (axis, mask) in masks {
                let mask = along(&tensor_of(&found)?, axis, &mask)?;
                found = masked(&found, &mask)?;
            }
            number_or_tensor(&tensor_of(&found)?)
        }
    }
}

/// `t[index] = value`.
pub(super) fn set(
    context: &Context,
    target: &ArrayRef,
    index: &Dynamic,
    value: &Dynamic,
) -> Result<()> {
    let op = "[]=";
    let tensor = tensor_of(target)?;
    if let Ok(name) = index.clone().into_immutable_string() {
        let new = tensor_members::with(&tensor, &name, value)?;
        return store(context, target, &tensor, &new);
    }
    let list = value.read_lock::<rhai::Array>().map(|list| list.clone());
    let made = match list {
        Some(list) => Dynamic::from(ArrayRef::tensor(entries(context, op, tensor.dtype(), &list)?)),
        None => value.clone(),
    };
    let argument = [Arg::new(op, &made)?];
    let value = lend(&argument, |args| args[0].fitted_to(op, &tensor)).or_fault()?;
    let new = match read(context, &tensor, index)? {
        Index::Mask(mask) => assigned(target, &mask, value)?,
        Index::Axes(axes, masks) => {
            // Entries where a mask is false keep what they are.
            let old = tensor.at(&axes).or_fault()?;
            let masks = masks.iter().map(|(axis, mask)| along(&old, *axis, mask));
            let both = masks.reduce(|all, mask| and(&all?, &mask?)).transpose()?;
            let value = match both {
                Some(mask) => assigned(&ArrayRef::tensor(old), &mask, value)?,
                None => value,
            };
            tensor.with_at(&axes, &value).or_fault()?
        }
    };
    store(context, target, &tensor, &new)
}

/// A tensor with a value where a mask is true.
fn assigned(old: &ArrayRef, mask: &ArrayRef, value: Tensor) -> Result<Tensor> {
    let value = value.as_entries("[]=", tensor_of(old)?.shape()).or_fault()?;
    let args = [old.clone(), mask.clone(), ArrayRef::tensor(value)].map(Arg::Value);
    let result = lend(&args, |args| args[0].assigned(args[1], args[2])).or_fault()?;
    tensor_of(&ArrayRef::from(result))
}

fn store(context: &Context, target: &ArrayRef, old: &Tensor, new: &Tensor) -> Result<()> {
    if new.shape() != old.shape() {
        let (got, expected) = (new.shape(), old.shape());
        return Err(fault(format!("[]=: got values of shape {got}, expected {expected}")));
    }
    for part in old.parts() {
        context.session.check_change("[]=", part).or_fault()?;
    }
    target.set(Node::Tensor(new.clone()));
    Ok(())
}

/// A tensor; without axes a script number, or a complex one.
fn number_or_tensor(tensor: &Tensor) -> Result<Dynamic> {
    if tensor.shape().rank() > 0 {
        return Ok(Dynamic::from(ArrayRef::tensor(tensor.clone())));
    }
    match tensor.lanes().or_fault()? {
        Value::Array(one) => {
            check_lane(&one)?;
            one.item(0).map(dynamic).or_fault()
        }
        complex => Ok(Dynamic::from(ArrayRef::from(complex))),
    }
}

/// The entries where a mask is true; others are 0.
fn masked(value: &ArrayRef, mask: &ArrayRef) -> Result<ArrayRef> {
    let args = [value.clone(), mask.clone()].map(Arg::Value);
    lend(&args, |args| args[0].masked(args[1])).map(ArrayRef::from).or_fault()
}

fn and(a: &ArrayRef, b: &ArrayRef) -> Result<ArrayRef> {
    let args = [a.clone(), b.clone()].map(Arg::Value);
    let both = |args: &[&Argument<'_>]| porcini_core::value::apply(porcini_core::Op::And, args);
    lend(&args, both).map(ArrayRef::from).or_fault()
}

/// A mask of the entries along an axis, as one that broadcasts to all.
fn along(tensor: &Tensor, axis: usize, mask: &ArrayRef) -> Result<ArrayRef> {
    let n = tensor.shape().rank();
    let mut extents = vec![1; n];
    let own = tensor_of(mask)?;
    extents[axis] = i64::try_from(own.shape().n_entries()).unwrap_or(i64::MAX);
    own.reshape(&extents).map(ArrayRef::tensor).or_fault()
}

/// A mask of fewer axes chooses along the first ones, as in NumPy: of a matrix its rows.
fn of_first_axes(tensor: &Tensor, mask: &ArrayRef) -> Result<ArrayRef> {
    let (own, of) = (tensor_of(mask)?, tensor.shape());
    let rank = own.shape().rank();
    if rank == 0 {
        return Ok(mask.clone());
    }
    let mut both = own.shape().extents().iter().zip(of.extents());
    if rank > of.rank() || !both.all(|(&own, &of)| own == of || own == 1) {
        return Err(fault_with_hint(
            format!("[]: got a mask of {} for {of}", own.shape()),
            "a mask goes along the first axes; along another one: t[[all, mask]]",
        ));
    }
    if rank == of.rank() {
        return Ok(mask.clone());
    }
    let axes = (0..of.rank())
        .map(|axis| if axis < rank { AxisIndex::Slice((..).into()) } else { AxisIndex::New });
    own.at(&axes.collect::<Vec<_>>()).map(ArrayRef::tensor).or_fault()
}

fn read(context: &Context, tensor: &Tensor, index: &Dynamic) -> Result<Index> {
    if let Some(array) = index.read_lock::<ArrayRef>()
        && array.dtype() == DType::Mask
    {
        return of_first_axes(tensor, &array).map(Index::Mask);
    }
    let list = index.read_lock::<rhai::Array>();
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
                    masks.push((axis, mask));
                    AxisIndex::Slice(Slice::from(..))
                }
                numbers => AxisIndex::Numbers(tensor_of(&numbers)?),
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
fn numbers(context: &Context, item: &Dynamic) -> Result<ArrayRef> {
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
