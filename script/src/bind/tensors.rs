//! The functions of tensors, from the tables of core. Where a name has another meaning for arrays and vectors, the first
//! argument decides: see [`Registry::typed`](super::registry::Registry::typed).

use std::any::TypeId;

use porcini_core::catalogue::{Kind, Row, tensor_rows};
use porcini_core::trace::nested::{self, NestedFunction};
use rhai::Dynamic;

use super::catalogue::run;
use super::registry::{Registry, TensorForm};
use crate::value::{ArrayRef, Form};

/// The precedence of `*` in Rhai.
const PRECEDENCE: u8 = 180;

/// Registers the functions that no other table has with as many arguments, and `a @ b`.
pub(super) fn register(registry: &mut Registry<'_>) {
    for row in tensor_rows() {
        registry.doc_form(row.name, &row.signature(), &row.doc());
        let of_list = matches!(row.parameters[0].1, Kind::List);
        let first = if of_list { TypeId::of::<Dynamic>() } else { TypeId::of::<ArrayRef>() };
        for arity in row.n_required..=row.parameters.len() {
            if !registry.has_tensor_form(row.name, arity, first) {
                registry.typed(row.name, first, arity, |context, call, args| {
                    run(context, call, row, args)
                });
            }
        }
    }
    products(registry);
}

/// `a @ b` is `matmul(a, b)`.
fn products(registry: &mut Registry<'_>) {
    let known = registry.engine.register_custom_operator("@", PRECEDENCE);
    known.expect("internal error: Rhai refuses an operator");
    let text = "The product of matrices, matmul(a, b); as strong as *.\n\n\
                >> TensorXfC([[1, 2], [3, 4]]) @ FloatC([1, 0])\n[1, 3]";
    registry.doc("@", "a @ b", text);
    let row = find("matmul").expect("internal error: no products");
    registry.any("@", 2, |context, call, args| run(context, call, row, args));
}

/// The function of tensors with a name.
fn find(name: &str) -> Option<&'static Row> {
    tensor_rows().find(|row| row.name == name)
}

/// The function of tensors that has a name and takes so many arguments.
pub(super) fn form(name: &str, arity: usize) -> Option<TensorForm> {
    let takes = |row: &&'static Row| (row.n_required..=row.parameters.len()).contains(&arity);
    let row = tensor_rows().filter(|row| row.name == name).find(takes)?;
    let mut others = nested::rows().filter(|row| row.name == name).peekable();
    let takes_array =
        |row: &NestedFunction| row.over_lanes.is_some() || row.parameters[0] == Form::Scalar;
    let with_arrays = others.peek().is_some() && !others.any(takes_array);
    Some(Box::new(move |context, call, args| {
        is_meant(args, with_arrays).then(|| run(context, call, row, args))
    }))
}

/// Whether a call is one of tensors: its first argument is one, or a list with one; or an array, which others of the name
/// do not take.
fn is_meant(args: &[&mut Dynamic], with_arrays: bool) -> bool {
    let is_tensor = |value: &Dynamic| {
        let form = value.read_lock::<ArrayRef>().map(|value| value.form());
        form == Some(Form::Tensor) || with_arrays && form == Some(Form::Scalar)
    };
    let Some(first) = args.first() else { return false };
    is_tensor(first)
        || first.read_lock::<rhai::Array>().is_some_and(|list| list.iter().any(is_tensor))
}
