//! What goes into functions that are differentiated, behind marks, and what comes out of them.

use porcini_core::value::{Marked, Skeleton};
use porcini_core::{Array, DType, Value};
use rhai::{Dynamic, Identifier};

use crate::context::Context;
use crate::fault::{IntoFault, Result, fault, fault_with_hint};
use crate::value::{Arg, ArrayRef, type_name};

/// An argument with its arrays of floats behind marks.
pub(super) enum Tree {
    Value(Marked),
    List(Vec<Self>),
    Map(Vec<(Identifier, Self)>),
    /// What has no derivatives.
    Other(Dynamic),
}

impl Tree {
    pub(super) fn new(context: &Context, op: &'static str, value: &Dynamic) -> Result<Self> {
        if let Some(list) = value.read_lock::<rhai::Array>() {
            let items = list.iter().map(|item| Self::new(context, op, item));
            return items.collect::<Result<_>>().map(Self::List);
        }
        if let Some(map) = value.read_lock::<rhai::Map>() {
            let entry = |(key, item): (&Identifier, &Dynamic)| {
                Ok((key.clone(), Self::new(context, op, item)?))
            };
            return map.iter().map(entry).collect::<Result<_>>().map(Self::Map);
        }
        if let Ok(number) = value.as_float() {
            let array = context.session.full(DType::F32, number, 1).or_fault()?;
            return Value::from(array).marked(op).map(Self::Value).or_fault();
        }
        let array = value.read_lock::<ArrayRef>().map(|value| value.to_value());
        match array {
            Some(array) if array.dtype().is_float() => array.marked(op).map(Self::Value).or_fault(),
            _ => Ok(Self::Other(value.clone())),
        }
    }

    /// The argument to call the function with.
    pub(super) fn value(&self) -> Dynamic {
        match self {
            Self::Value(marked) => Dynamic::from(ArrayRef::from(marked.value.clone())),
            Self::List(items) => Dynamic::from_array(items.iter().map(Self::value).collect()),
            Self::Map(entries) => {
                let entries = entries.iter().map(|(key, item)| (key.clone(), item.value()));
                Dynamic::from_map(entries.collect())
            }
            Self::Other(value) => value.clone(),
        }
    }

    /// What a function says of the marks, in the form of the argument; nothing of what has no derivatives.
    pub(super) fn each(&self, said: &mut dyn FnMut(&Marked) -> Result<Dynamic>) -> Result<Dynamic> {
        Ok(match self {
            Self::Value(marked) => said(marked)?,
            Self::List(items) => {
                let items = items.iter().map(|item| item.each(said));
                Dynamic::from_array(items.collect::<Result<_>>()?)
            }
            Self::Map(entries) => {
                let each = entries.iter().map(|(key, item)| Ok((key.clone(), item.each(said)?)));
                Dynamic::from_map(each.collect::<Result<_>>()?)
            }
            Self::Other(_) => Dynamic::UNIT,
        })
    }

    pub(super) fn marks(&self) -> Vec<&Array> {
        match self {
            Self::Value(marked) => marked.marks().iter().collect(),
            Self::List(items) => items.iter().flat_map(Self::marks).collect(),
            Self::Map(entries) => entries.iter().flat_map(|(_, item)| item.marks()).collect(),
            Self::Other(_) => Vec::new(),
        }
    }

    pub(super) fn marked(&self) -> Vec<&Marked> {
        match self {
            Self::Value(marked) => vec![marked],
            Self::List(items) => items.iter().flat_map(Self::marked).collect(),
            Self::Map(entries) => entries.iter().flat_map(|(_, item)| item.marked()).collect(),
            Self::Other(_) => Vec::new(),
        }
    }

    /// Gradients in the form of the argument.
    pub(super) fn gradients(&self, arrays: &mut dyn Iterator<Item = Array>) -> Result<Dynamic> {
        self.each(&mut |marked| Ok(Dynamic::from(ArrayRef::from(marked.with(arrays).or_fault()?))))
    }

    /// The arrays of a value that has the argument's form.
    pub(super) fn arrays_of(&self, op: &str, value: &Dynamic) -> Result<Vec<Array>> {
        let mismatch = || {
            let (own, got) = (type_name(&self.value()), type_name(value));
            fault(format!("{op}: got {got} as direction of {own}"))
        };
        match self {
            Self::Value(marked) => {
                let arrays = match Arg::new(op, value)? {
                    Arg::Value(value) => value.to_value().arrays().or_fault()?,
                    Arg::Number(number) => {
                        let full = |x: &Array| x.session().full(x.dtype(), number, 1).or_fault();
                        marked.marks().iter().map(full).collect::<Result<_>>()?
                    }
                    Arg::Numbers(_) => return Err(mismatch()),
                };
                if arrays.len() == marked.marks().len() { Ok(arrays) } else { Err(mismatch()) }
            }
            Self::List(items) => {
                let list = value.read_lock::<rhai::Array>().ok_or_else(mismatch)?;
                if list.len() != items.len() {
                    return Err(mismatch());
                }
                let arrays =
                    items.iter().zip(&*list).map(|(item, value)| item.arrays_of(op, value));
                Ok(arrays.collect::<Result<Vec<_>>>()?.concat())
            }
            Self::Map(entries) => {
                let map = value.read_lock::<rhai::Map>().ok_or_else(mismatch)?;
                let arrays = entries.iter().map(|(key, item)| {
                    item.arrays_of(op, map.get(key.as_str()).ok_or_else(mismatch)?)
                });
                Ok(arrays.collect::<Result<Vec<_>>>()?.concat())
            }
            Self::Other(_) => Ok(Vec::new()),
        }
    }
}

/// Arguments behind marks, of which there is one at least.
pub(super) fn trees(
    context: &Context,
    op: &'static str,
    args: &[&mut Dynamic],
) -> Result<Vec<Tree>> {
    let trees = args.iter().map(|arg| Tree::new(context, op, arg)).collect::<Result<Vec<_>>>()?;
    if trees.iter().flat_map(Tree::marks).next().is_none() {
        let got = args.iter().map(|arg| type_name(arg)).collect::<Vec<_>>().join(", ");
        let message = format!("{op}: got {got}, expected arrays of floats to differentiate by");
        let hint = "integers have no derivatives: write 3.0, or FloatC(x)";
        return Err(fault_with_hint(message, hint));
    }
    Ok(trees)
}

pub(super) fn release<'a>(trees: &[&Tree], outputs: impl Iterator<Item = &'a Array>) {
    let marked: Vec<&Marked> = trees.iter().flat_map(|tree| tree.marked()).collect();
    Marked::release(&marked, &outputs.collect::<Vec<_>>());
}

/// What a function that is differentiated gave.
pub(super) fn result(op: &str, value: Dynamic) -> Result<ArrayRef> {
    if let Some(array) = value.read_lock::<ArrayRef>()
        && array.to_value().dtype().is_float()
    {
        return Ok(array.clone());
    }
    let message =
        format!("{op}: the function gave {}, expected an array of floats", type_name(&value));
    Err(match type_name(&value).as_str() {
        _ if value.is_float() || value.is_int() => fault_with_hint(
            message,
            "a number does not know what it was computed from: x[0..1] is a lane as an array, hsum(x) a sum",
        ),
        _ if value.is_array() => fault_with_hint(message, "return the one that is differentiated"),
        _ => fault(message),
    })
}

/// The arrays that a function which is differentiated gave, in lists and maps, too.
pub(super) fn outputs_of(op: &str, y: &Dynamic) -> Result<Vec<Array>> {
    let mut outputs = Vec::new();
    let add = &mut |y: &ArrayRef| {
        outputs.extend(y.to_value().arrays().or_fault()?);
        Ok(Dynamic::UNIT)
    };
    in_form(op, y, add).map(|_| outputs)
}

/// What a function says of each value that a function which is differentiated gave, in the form of what it gave.
pub(super) fn in_form(
    op: &str,
    y: &Dynamic,
    said: &mut dyn FnMut(&ArrayRef) -> Result<Dynamic>,
) -> Result<Dynamic> {
    if let Some(list) = y.read_lock::<rhai::Array>() {
        let each = list.iter().map(|y| in_form(op, y, said));
        return each.collect::<Result<_>>().map(Dynamic::from_array);
    }
    if let Some(map) = y.read_lock::<rhai::Map>() {
        let each = map.iter().map(|(key, y)| Ok((key.clone(), in_form(op, y, said)?)));
        return each.collect::<Result<_>>().map(Dynamic::from_map);
    }
    said(&result(op, y.clone())?)
}

/// The value of the form of x that these arrays, of its own number of lanes, are.
pub(super) fn of_form(x: &ArrayRef, arrays: &mut impl Iterator<Item = Array>) -> Result<Dynamic> {
    let value = Skeleton::of(&x.to_value()).with(arrays).or_fault()?;
    Ok(Dynamic::from(ArrayRef::from(value)))
}

/// The arrays of floats in a value, and in lists and maps.
pub(super) fn arrays_in(value: &Dynamic) -> Vec<Array> {
    if let Some(list) = value.read_lock::<rhai::Array>() {
        return list.iter().flat_map(arrays_in).collect();
    }
    if let Some(map) = value.read_lock::<rhai::Map>() {
        return map.values().flat_map(arrays_in).collect();
    }
    value.read_lock::<ArrayRef>().map(|value| value.leaves()).unwrap_or_default()
}

/// What belongs to the only argument, or a list.
pub(super) fn one_or_list(mut each: rhai::Array) -> Dynamic {
    if each.len() == 1 { each.swap_remove(0) } else { each.into() }
}
