//! What core does with nested values, of those that scripts hold: they are lent to it, and its results are new ones.

use std::cell::Ref;

use porcini_core::trace::nested::NestedFunction;
use porcini_core::value::{self, Argument, Leaf};
use porcini_core::{Array, Value};

use crate::fault::{IntoFault, Result};
use crate::value::{Arg, ArrayRef, Node};

impl From<Value> for ArrayRef {
    fn from(value: Value) -> Self {
        match value {
            Value::Array(array) => Self::leaf(array),
            Value::Nested(form, components) => {
                Self::nested(form, components.into_iter().map(Self::from).collect())
            }
        }
    }
}

impl ArrayRef {
    /// Lends what it leads to.
    pub(crate) fn lend<T>(&self, take: impl FnOnce(&Argument<'_>) -> T) -> T {
        lend(&[Arg::Value(self.clone())], |args| take(args[0]))
    }

    /// The value as it is now.
    pub(crate) fn to_value(&self) -> Value {
        match &*self.node() {
            Node::Leaf(array) => Value::Array(array.clone()),
            Node::Nested(form, components) => {
                Value::Nested(*form, components.iter().map(Self::to_value).collect())
            }
        }
    }

    /// Makes every holder of its arrays see those of another value of its form.
    pub(crate) fn write(&self, value: &Value) {
        match value {
            Value::Array(array) => self.set(Node::Leaf(array.clone())),
            Value::Nested(_, parts) => {
                let components = self.components().unwrap_or_default();
                components.iter().zip(parts).for_each(|(component, part)| component.write(part));
            }
        }
    }

    fn add_leaves(&self, leaves: &mut Vec<Self>) {
        match &*self.node() {
            Node::Leaf(_) => leaves.push(self.clone()),
            Node::Nested(_, components) => {
                components.iter().for_each(|component| component.add_leaves(leaves));
            }
        }
    }

    /// The value as core knows it, with its arrays in their order.
    fn argument<'a>(&self, arrays: &mut impl Iterator<Item = &'a Array>) -> Argument<'a> {
        match &*self.node() {
            Node::Leaf(_) => {
                Argument::Array(arrays.next().expect("internal error: an array less than before"))
            }
            Node::Nested(form, components) => {
                let parts = components.iter().map(|component| component.argument(arrays));
                Argument::Nested(*form, parts.collect())
            }
        }
    }
}

/// Lends what arguments hold.
pub(crate) fn lend<T>(args: &[Arg], take: impl FnOnce(&[&Argument<'_>]) -> T) -> T {
    let mut leaves = Vec::with_capacity(8);
    for arg in args {
        if let Arg::Value(value) = arg {
            value.add_leaves(&mut leaves);
        }
    }
    let nodes: Vec<Ref<'_, Node>> = leaves.iter().map(ArrayRef::node).collect();
    let mut arrays = nodes.iter().filter_map(|node| node.leaf());
    let argument = |arg: &Arg| match arg {
        Arg::Value(value) => value.argument(&mut arrays),
        Arg::Number(number) => Argument::Number(*number),
    };
    let args: Vec<Argument<'_>> = args.iter().map(argument).collect();
    match &args[..] {
        [a] => take(&[a]),
        [a, b] => take(&[a, b]),
        [a, b, c] => take(&[a, b, c]),
        more => take(&more.iter().collect::<Vec<_>>()),
    }
}

/// Applies an operation through nested values.
pub(crate) fn map(op: &str, args: &[Arg], leaf: &Leaf<'_>) -> Result<ArrayRef> {
    lend(args, |args| value::map(op, args, leaf)).map(ArrayRef::from).or_fault()
}

/// Applies an operation to every component, whatever it means for numbers of several parts.
pub(crate) fn components(op: &str, args: &[Arg], leaf: &Leaf<'_>) -> Result<ArrayRef> {
    lend(args, |args| value::components(op, args, leaf)).map(ArrayRef::from).or_fault()
}

/// Calls a function of nested values.
pub(crate) fn call(op: &str, args: &[Arg]) -> Result<Vec<ArrayRef>> {
    lend(args, |args| value::call(op, args)).map(references).or_fault()
}

/// Whether a call with these arguments is one of this row.
pub(crate) fn takes(row: &'static NestedFunction, args: &[Arg]) -> bool {
    lend(args, |args| value::takes(row, args))
}

fn references(values: Vec<Value>) -> Vec<ArrayRef> {
    values.into_iter().map(ArrayRef::from).collect()
}
