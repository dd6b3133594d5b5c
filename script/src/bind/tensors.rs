//! The functions of tensors, from the tables of core. Where a name has another meaning for arrays and vectors, the first
//! argument decides: see [`Registry::typed`](super::registry::Registry::typed).

use std::any::TypeId;
use std::collections::{HashMap, HashSet};

use porcini_core::catalogue::{ACROSS_LANES, Kind, Row, tensor_rows};
use porcini_core::tensor::Tensor;
use porcini_core::trace::nested;
use porcini_core::{DType, Result as CoreResult, Value};
use rhai::{Dynamic, NativeCallContext};

use super::catalogue::{self, with_arguments};
use super::given::{of_array, recalled};
use super::list_tensors::{beside_tensors, called, floats, value_of};
use super::registry::{OfTensors, Registry, TensorForm};
use crate::context::Context;
use crate::fault::{IntoFault, Result, fault_with_hint};
use crate::value::to_core::lend;
use crate::value::{Arg, ArrayRef, Form, scalar, type_name};

/// Tensors that `einsum` takes, and the text in front of them.
const MAX_FACTORS: usize = 9;

/// Names that everybody else has.
const ALIASES: [(&str, &str); 3] = [("sum", "hsum"), ("prod", "hprod"), ("mean", "hmean")];

/// The precedence of `*` in Rhai.
const PRECEDENCE: u8 = 180;

/// Registers the functions that no other table has with as many arguments, and `a @ b`.
pub(super) fn register(registry: &mut Registry<'_>) {
    for row in tensor_rows() {
        registry.doc_form(row.name, &row.signature(), &row.doc());
        let is_any = matches!(row.parameters[0].1, Kind::List | Kind::Operand);
        let first = if is_any { TypeId::of::<Dynamic>() } else { TypeId::of::<ArrayRef>() };
        for arity in row.n_required..=row.parameters.len() {
            if !registry.has_tensor_form(row.name, arity, first) {
                registry.typed(row.name, first, arity, |context, call, args| {
                    run(context, call, row, args)
                });
            }
        }
    }
    products(registry);
    einsum(registry);
    registry.typed("stack", TypeId::of::<ArrayRef>(), 1, |context, call, args| {
        context.at(call);
        let value = of_array("stack", args[0])?;
        match value.form() {
            Form::Vector(_) | Form::Matrix(_) => {
                value.lend(|value| value.stacked()).map(ArrayRef::tensor).or_fault()
            }
            _ => Err(fault_with_hint(
                format!(
                    "stack: got {}, expected a list of arrays, or a vector or matrix",
                    value.type_name()
                ),
                "write stack([a, b])",
            )),
        }
    });
    for (alias, name) in ALIASES {
        registry.alias(alias, name);
        for first in [TypeId::of::<ArrayRef>(), TypeId::of::<rhai::Array>()] {
            for arity in 1..=3 {
                registry.typed(alias, first, arity, move |_, call, args| {
                    recalled(call, name, args.iter().map(|arg| (**arg).clone()).collect())
                });
            }
        }
    }
}

/// `a @ b` is `matmul(a, b)`.
fn products(registry: &mut Registry<'_>) {
    let known = registry.engine.register_custom_operator("@", PRECEDENCE);
    known.expect("internal error: Rhai refuses an operator");
    let text = "The product of matrices, matmul(a, b); as strong as *.\n\n\
                >> TensorXfC([[1, 2], [3, 4]]) @ FloatC([1, 0])\n[1, 3]";
    registry.doc("@", "a @ b", text);
    let row = tensor_rows().find(|row| row.name == "matmul");
    let row = row.expect("internal error: no products");
    registry.any("@", 2, |context, call, args| run(context, call, row, args));
    registry.typed("@", TypeId::of::<rhai::Array>(), 2, |context, call, args| {
        called(context, call, row, args)
    });
}

/// `einsum(spec, a, b, ..)`.
fn einsum(registry: &mut Registry<'_>) {
    let text = "The sum of products that a text names: a letter for each axis of each tensor. Axes of one letter run \
        together; those without a letter behind the arrow are summed. Without an arrow the letters that occur once \
        remain, in the order of the alphabet. ... stands for any axes, which broadcast. Two tensors at a time, those \
        first whose product is smallest, as matmul where each has axes of its own. Sums of one tensor are those of hsum. Recorded, not run.\n\n\
        >> einsum(\"ij,jk->ik\", TensorXfC([[1, 2], [3, 4]]), TensorXfC([[0, 1], [1, 0]]))\n[[2, 1],\n [4, 3]]\n\
        >> einsum(\"ii\", TensorXfC([[1, 2], [3, 4]]))\n[5]";
    registry.doc("einsum", "einsum(spec, a, b)", text);
    for arity in 2..=MAX_FACTORS {
        registry.any("einsum", arity, |context, call, args| {
            context.at(call);
            let spec = args[0].as_immutable_string_ref().map_err(|_| {
                let got = type_name(args[0]);
                fault_with_hint(
                    format!("einsum: got {got}, expected a text"),
                    "the text comes first: einsum(\"ij,jk->ik\", a, b)",
                )
            })?;
            let types = [DType::I64, floats(args[1..].iter().map(|arg| &**arg))];
            let tensors = args[1..].iter().map(|arg| match arg.read_lock::<rhai::Array>() {
                Some(list) => Arg::new("einsum", &value_of(context, "einsum", types, &list)?),
                None => Arg::new("einsum", arg),
            });
            let tensors = tensors.collect::<Result<Vec<Arg>>>()?;
            let sum = lend(&tensors, |args| {
                let tensors = args.iter().map(|arg| arg.to_tensor("einsum"));
                let sum = Tensor::einsum(&spec, &tensors.collect::<CoreResult<Vec<_>>>()?)?;
                if sum.shape().rank() == 0 { sum.lanes() } else { Ok(Value::Tensor(sum)) }
            });
            Ok(Dynamic::from(ArrayRef::from(sum.or_fault()?)))
        });
    }
}

/// What a function of tensors gives; lists beside tensors are tensors.
fn run(
    context: &Context,
    call: &NativeCallContext<'_>,
    row: &Row,
    args: &[&mut Dynamic],
) -> Result<Dynamic> {
    context.at(call);
    let made = beside_tensors(context, row, args)?;
    with_arguments(args, made, |args| catalogue::run(context, call, row, args))
}

/// The functions of tensors, looked up for every function that is registered.
pub(super) fn forms() -> OfTensors {
    let mut rows: HashMap<&str, Vec<&'static Row>> = HashMap::new();
    tensor_rows().for_each(|row| rows.entry(row.name).or_default().push(row));
    // Names of vectors' functions, and whether none of these takes arrays.
    let mut of_vectors: HashMap<&str, bool> = HashMap::new();
    for row in nested::rows() {
        let takes_array = row.over_lanes.is_some() || row.parameters[0] == Form::Scalar;
        *of_vectors.entry(row.name).or_insert(true) &= !takes_array;
    }
    let of_arrays = ACROSS_LANES.iter().filter(|row| row.parameters[0].1 == Kind::Array);
    let of_arrays: HashSet<&str> = of_arrays.map(|row| row.name).collect();
    Box::new(move |name, arity| {
        let takes = |row: &&'static Row| (row.n_required..=row.parameters.len()).contains(&arity);
        let row = rows.get(name)?.iter().copied().find(takes)?;
        let others: &[Form] = match of_vectors.get(name) {
            Some(true) => &[Form::Scalar],
            // Tensors know complex numbers.
            _ if of_arrays.contains(name) => &[Form::Complex],
            _ => &[],
        };
        Some(form(row, others))
    })
}

/// The function of a row, which takes other forms, too, that others of its name do not take.
fn form(row: &'static Row, others: &'static [Form]) -> TensorForm {
    // A list of numbers, one for each axis; or a tensor.
    let second = row.parameters.get(1).map(|(_, kind)| *kind);
    let is_second = move |arg: &Dynamic| match second {
        Some(Kind::Integers(_)) => arg.is_array(),
        Some(Kind::Numbers(_)) => scalar(arg).is_none(),
        Some(Kind::Tensor) => {
            arg.read_lock::<ArrayRef>().is_some_and(|value| value.form() == Form::Tensor)
        }
        _ => false,
    };
    let of_list = matches!(row.parameters[0].1, Kind::List);
    Box::new(move |context, call, args| {
        let is_known = args.get(1).is_some_and(|arg| is_second(arg));
        let others = if is_known { &[Form::Scalar, Form::Complex] } else { others };
        let is_meant = is_meant(args, others) || of_list && has_list_beside_array(args[0]);
        is_meant.then(|| run(context, call, row, args))
    })
}

/// Whether a call is one of tensors: its first argument is one, or a list with one; or one of the forms that others of the
/// name do not take.
fn is_meant(args: &[&mut Dynamic], others: &[Form]) -> bool {
    let is_tensor = |value: &Dynamic| {
        let form = value.read_lock::<ArrayRef>().map(|value| value.form());
        form.is_some_and(|form| form == Form::Tensor || others.contains(&form))
    };
    let Some(first) = args.first() else { return false };
    is_tensor(first)
        || first.read_lock::<rhai::Array>().is_some_and(|list| list.iter().any(is_tensor))
}

/// Whether lists stand beside arrays in a list.
fn has_list_beside_array(list: &Dynamic) -> bool {
    let is_array = |value: &Dynamic| {
        value.read_lock::<ArrayRef>().is_some_and(|value| value.form() == Form::Scalar)
    };
    list.read_lock::<rhai::Array>()
        .is_some_and(|list| list.iter().any(is_array) && list.iter().any(Dynamic::is_array))
}
