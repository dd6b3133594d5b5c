//! What core does with nested values, of those that scripts hold: they are lent to it, and its results are new ones.

use std::cell::Ref;

use porcini_core::Value;
use porcini_core::trace::nested::NestedFunction;
use porcini_core::value::{self, Argument, Leaf};
use smallvec::SmallVec;

use crate::fault::{IntoFault, Result};
use crate::value::{Arg, ArrayRef, Form, Node};

impl From<Value> for ArrayRef {
    fn from(value: Value) -> Self {
        match value {
            Value::Array(array) => Self::leaf(array),
            Value::Nested(form, components) => {
                Self::nested(form, components.into_iter().map(Self::from).collect())
            }
            Value::Tensor(tensor) => Self::tensor(tensor),
        }
    }
}

impl ArrayRef {
    /// Lends what it leads to.
    pub(crate) fn lend<T>(&self, take: impl FnOnce(&Argument<'_>) -> T) -> T {
        match &*self.node() {
            Node::Leaf(array) => take(&Argument::Array(array)),
            Node::Tensor(tensor) => take(&Argument::Tensor(tensor)),
            Node::Nested(..) => lend(&[Arg::Value(self.clone())], |args| take(args[0])),
        }
    }

    /// The value as it is now.
    pub(crate) fn to_value(&self) -> Value {
        match &*self.node() {
            Node::Leaf(array) => Value::Array(array.clone()),
            Node::Nested(form, components) => {
                Value::of_known(*form, components.iter().map(Self::to_value).collect())
            }
            Node::Tensor(tensor) => Value::Tensor(tensor.clone()),
        }
    }

    /// Whether its arrays are those of a value.
    pub(crate) fn holds(&self, value: &Value) -> bool {
        let serials = |leaves: Vec<&porcini_core::Array>| {
            leaves.iter().map(|leaf| leaf.serial()).collect::<Vec<_>>()
        };
        self.lend(|own| serials(own.leaves())) == serials(value.leaves())
    }

    /// How many hold it.
    pub(crate) fn holders(&self) -> usize {
        std::rc::Rc::strong_count(&self.0)
    }

    /// Whether it is held by more than an argument and who reads it there.
    pub(crate) fn is_kept(&self) -> bool {
        self.holders() > 2
    }

    /// Makes every holder of its arrays see those of another value of its form.
    pub(crate) fn write(&self, value: &Value) {
        match value {
            Value::Array(array) => self.set(Node::Leaf(array.clone())),
            Value::Nested(_, parts) => {
                let components = self.components().unwrap_or_default();
                components.iter().zip(parts).for_each(|(component, part)| component.write(part));
            }
            Value::Tensor(tensor) => self.set(Node::Tensor(tensor.clone())),
        }
    }

    fn add_leaves(&self, leaves: &mut Leaves) {
        match &*self.node() {
            Node::Leaf(_) | Node::Tensor(_) => leaves.push(self.clone()),
            Node::Nested(_, components) => {
                components.iter().for_each(|component| component.add_leaves(leaves));
            }
        }
    }

    /// The value as core knows it, with its arrays and tensors in their order.
    fn argument<'a>(&self, leaves: &mut impl Iterator<Item = &'a Node>) -> Argument<'a> {
        if let Node::Nested(form, components) = &*self.node() {
            let parts = components.iter().map(|component| component.argument(leaves));
            return Argument::Nested(*form, parts.collect());
        }
        match leaves.next() {
            Some(Node::Leaf(array)) => Argument::Array(array),
            Some(Node::Tensor(tensor)) => Argument::Tensor(tensor),
            Some(Node::Nested(..)) | None => {
                unreachable!("internal error: an array less than before")
            }
        }
    }
}

/// Most calls have few arguments of few arrays, for which no memory is taken.
const FEW: usize = 4;
const FEW_LEAVES: usize = 8;
type Leaves = SmallVec<[ArrayRef; FEW_LEAVES]>;

/// Lends what arguments hold.
pub(crate) fn lend<T>(args: &[Arg], take: impl FnOnce(&[&Argument<'_>]) -> T) -> T {
    let mut leaves = Leaves::new();
    for arg in args {
        if let Arg::Value(value) = arg {
            value.add_leaves(&mut leaves);
        }
    }
    let nodes: SmallVec<[Ref<'_, Node>; FEW_LEAVES]> = leaves.iter().map(ArrayRef::node).collect();
    let mut nodes = nodes.iter().map(|node| &**node);
    let argument = |arg: &Arg| match arg {
        Arg::Value(value) => value.argument(&mut nodes),
        Arg::Number(number) => Argument::Number(*number),
        Arg::Numbers(list) => {
            let numbers = list.iter().map(|&number| Argument::Number(number));
            Argument::Nested(Form::Vector(list.len()), numbers.collect())
        }
    };
    let args: SmallVec<[Argument<'_>; FEW]> = args.iter().map(argument).collect();
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
