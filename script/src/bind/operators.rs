//! Operators and elementwise functions, from the tables of operations and functions.

use std::any::TypeId;

use porcini_core::ir::op::{Class, OPS, Op, OpInfo, Shape};
use porcini_core::trace::functions::{self, FUNCTIONS, Function};
use porcini_core::{Array, DType, Operand, Result as CoreResult, Scalar, Session};
use rhai::{Dynamic, ImmutableString, NativeCallContext};

use super::catalogue::with_arguments;
use super::likeness::{self, CONTAINS, compared_by_lane};
use super::list_tensors::of_entries;
use super::registry::Registry;
use crate::context::{AsAxis, Context};
use crate::fault::{IntoFault, Result, fault_with_hint, under_name};
use crate::value::to_core;
use crate::value::{Arg, ArrayRef, Node, dynamic, scalar};

pub(super) fn register(registry: &mut Registry<'_>) {
    for info in OPS {
        registry.family = family(info.operator, info.class);
        match info.operator {
            Some(operator) => {
                registry.doc(operator, &format!("a {operator} b"), info.doc);
                binary_operator(registry, operator, |context, args| {
                    operate(context, operator, args, info.op)
                });
            }
            None if info.shape == Shape::Special => {}
            None => named_operation(registry, info),
        }
    }
    // The words for the operators that Enoki's Python had as functions.
    for info in OPS.iter().filter(|info| info.shape == Shape::Compare) {
        registry.family = family(info.operator, info.class);
        named_operation(registry, info);
    }
    unary_operators(registry);
    for function in FUNCTIONS {
        registry.family = family(None, function.class);
        named_function(registry, function);
    }
    traps(registry);
}

fn family(operator: Option<&str>, class: Class) -> &'static str {
    match class {
        _ if operator.is_some() => "operators",
        Class::Int | Class::Bits => "integers and bits",
        Class::Number | Class::Float | Class::Any => "elementwise functions",
    }
}

/// Registers `a op b`, and `a op= b` as a rebinding of `a`.
pub(super) fn binary_operator<T: Clone + 'static>(
    registry: &mut Registry<'_>,
    operator: &'static str,
    operate: impl Fn(&Context, &[&mut Dynamic]) -> Result<T> + Clone + 'static,
) {
    let context = registry.context.clone();
    let run = move |call: &NativeCallContext<'_>, args: &[&mut Dynamic]| {
        context.at(call);
        operate(&context, args).map_err(|error| under_name(error, operator))
    };
    let (array, any) = (TypeId::of::<ArrayRef>(), TypeId::of::<Dynamic>());
    for types in [[array, any], [any, array]] {
        let run = run.clone();
        registry.engine.register_raw_fn(operator, types, move |call, args| run(&call, args));
    }
    if !matches!(operator, "==" | "!=" | "<" | ">" | "<=" | ">=") {
        let assigned = format!("{operator}=");
        registry.engine.register_raw_fn(assigned, [array, any], move |call, args| {
            *args[0] = Dynamic::from(run(&call, args)?);
            Ok(())
        });
    }
}

fn operate(context: &Context, operator: &str, args: &[&mut Dynamic], op: Op) -> Result<ArrayRef> {
    let apply = |session: &Session, operands: &[Operand<'_>]| session.apply(op, operands);
    if let Some(result) = apply_to_leaves::<2>(context, args, &apply) {
        return result.map(ArrayRef::leaf).or_fault();
    }
    if args[0].is_array() || args[1].is_array() {
        let made = of_entries(context, operator, args)?;
        if !made.is_empty() {
            return with_arguments(args, made, |args| operate(context, operator, args, op));
        }
    }
    let args = [Arg::new(operator, args[0])?, Arg::new(operator, args[1])?];
    to_core::map(operator, &args, &|operands| apply(&context.session, operands))
}

/// The common case without detours: plain arrays and numbers. `None` for anything else.
fn apply_to_leaves<const N: usize>(
    context: &Context,
    args: &[&mut Dynamic],
    apply: &impl Fn(&Session, &[Operand<'_>]) -> CoreResult<Array>,
) -> Option<CoreResult<Array>> {
    let args: &[&mut Dynamic; N] = args.try_into().ok()?;
    let arrays = args.each_ref().map(|arg| arg.read_lock::<ArrayRef>());
    let nodes = arrays.each_ref().map(|array| array.as_ref().map(|array| array.node()));
    let mut operands = [Operand::Number(Scalar::Int(0)); N];
    for (i, operand) in operands.iter_mut().enumerate() {
        *operand = plain_operand(nodes[i].as_deref(), args[i])?;
    }
    Some(apply(&context.session, &operands))
}

/// A plain array or a number.
fn plain_operand<'a>(node: Option<&'a Node>, value: &Dynamic) -> Option<Operand<'a>> {
    match node {
        Some(Node::Leaf(array)) => Some(Operand::Array(array)),
        Some(Node::Nested(..) | Node::Tensor(_)) => None,
        None => scalar(value).map(Operand::Number),
    }
}

fn unary_operators(registry: &mut Registry<'_>) {
    registry.doc(
        "!",
        "!m",
        "Logical not of masks and bools, bitwise complement of integer arrays.\n\n\
         >> !(FloatC([1, 2]) > 1)\n[1, 0]",
    );
    for (symbol, op) in [("-", Op::Neg), ("!", Op::Not)] {
        registry.on_array(symbol, 1, move |context, call, x, _| {
            context.at(call);
            match &*x.node() {
                Node::Leaf(array) => array.apply(op, &[]).map(ArrayRef::leaf).or_fault(),
                Node::Nested(..) | Node::Tensor(_) => {
                    let args = [Arg::Value(x.clone())];
                    to_core::map(symbol, &args, &|operands| context.session.apply(op, operands))
                }
            }
        });
    }
    registry.on_array("+", 1, |_, _, x, _| Ok(x.copy()));
}

const PARAMETERS: [&str; 4] = ["()", "(x)", "(a, b)", "(a, b, c)"];

fn named_operation(registry: &mut Registry<'_>, info: &'static OpInfo) {
    let parameters =
        if info.shape == Shape::Select { "(mask, a, b)" } else { PARAMETERS[info.arity] };
    registry.doc(info.name, parameters, info.doc);
    named(registry, info.name, info.arity, move |session, operands| match operands {
        // A bool chooses for all lanes.
        [Operand::Number(mask @ Scalar::Bool(_)), a, b] if info.shape == Shape::Select => {
            let mask = session.full(DType::Mask, *mask, 1)?;
            session.apply(info.op, &[Operand::Array(&mask), *a, *b])
        }
        _ => session.apply(info.op, operands),
    });
}

fn named_function(registry: &mut Registry<'_>, function: &'static Function) {
    registry.doc(function.name, PARAMETERS[function.arity], function.doc);
    named(registry, function.name, function.arity, move |session, operands| {
        session.call(function, operands)
    });
    for arity in function.n_required()..function.arity {
        let defaults = &function.defaults[arity - function.n_required()..];
        named(registry, function.name, arity, move |session, operands| {
            let defaults = defaults.iter().map(|&number| Operand::from(number));
            let operands: Vec<Operand<'_>> = operands.iter().copied().chain(defaults).collect();
            session.call(function, &operands)
        });
    }
}

/// Registers a function of arrays and numbers; of numbers alone it gives a number.
fn named(
    registry: &mut Registry<'_>,
    name: &'static str,
    arity: usize,
    apply: impl Fn(&Session, &[Operand<'_>]) -> CoreResult<Array> + 'static,
) {
    let is_extreme = matches!(name, "max" | "min");
    registry.any(name, arity, move |context, call, args| {
        context.at(call);
        if is_extreme {
            note_axis(context, call, name, args);
        }
        call_with(context, name, args, &apply)
    });
}

/// Notes a call of a tensor of several axes with the number of one.
fn note_axis(
    context: &Context,
    call: &NativeCallContext<'_>,
    name: &'static str,
    args: &[&mut Dynamic],
) {
    let [tensor, number] = args else { return };
    let Ok(number) = number.as_int() else { return };
    let Some(tensor) = tensor.read_lock::<ArrayRef>() else { return };
    if let Node::Tensor(tensor) = &*tensor.node() {
        let rank = tensor.shape().extents().len();
        if rank > 1 && tensor.shape().axis(name, number).is_ok() {
            let line = context.line(call.call_position());
            context.as_axes.borrow_mut().insert(AsAxis { line, name, number });
        }
    }
}

/// The row called `name` of the table of functions, of arrays and numbers.
pub(super) fn call(
    context: &Context,
    name: &'static str,
    args: &[&mut Dynamic],
) -> Result<Dynamic> {
    let function = functions::find(name).expect("internal error: a function without a row");
    call_with(context, name, args, &|session, operands| session.call(function, operands))
}

fn call_with(
    context: &Context,
    name: &str,
    args: &[&mut Dynamic],
    apply: &impl Fn(&Session, &[Operand<'_>]) -> CoreResult<Array>,
) -> Result<Dynamic> {
    let leaves = match args.len() {
        _ if !args.iter().any(|arg| arg.is::<ArrayRef>()) => None,
        1 => apply_to_leaves::<1>(context, args, apply),
        2 => apply_to_leaves::<2>(context, args, apply),
        _ => apply_to_leaves::<3>(context, args, apply),
    };
    if let Some(result) = leaves {
        return result.map(|array| Dynamic::from(ArrayRef::leaf(array))).or_fault();
    }
    if args.iter().any(|arg| arg.is_array()) {
        let made = of_entries(context, name, args)?;
        if !made.is_empty() {
            return with_arguments(args, made, |args| call_with(context, name, args, apply));
        }
    }
    let args = args.iter().map(|arg| Arg::new(name, arg)).collect::<Result<Vec<_>>>()?;
    let number = |arg: &Arg| match arg {
        Arg::Number(number) => Some(*number),
        Arg::Value(_) | Arg::Numbers(_) => None,
    };
    let session = &context.session;
    match args.iter().map(number).collect::<Option<Vec<Scalar>>>() {
        Some(numbers) => {
            session.of_numbers(&numbers, |lanes| apply(session, lanes)).map(dynamic).or_fault()
        }
        None => to_core::map(name, &args, &|operands| apply(session, operands)).map(Dynamic::from),
    }
}

/// What Rhai does silently with values it does not know: text by `+`, equality of lists by type.
fn traps(registry: &mut Registry<'_>) {
    let (text, array) = (TypeId::of::<ImmutableString>(), TypeId::of::<ArrayRef>());
    for types in [[text, array], [array, text]] {
        registry.engine.register_raw_fn("+", types, |_, _| -> Result<ArrayRef> {
            Err(fault_with_hint(
                "+: got text and an array",
                "to show text beside an array write print(\"x =\", x), or `x = ${x}` in back quotes",
            ))
        });
    }
    registry
        .on_array("contains", 2, |_, _, _, _| -> Result<bool> { Err(compared_by_lane(CONTAINS)) });
    let (list, place) = (TypeId::of::<rhai::Array>(), TypeId::of::<i64>());
    for types in [vec![list, array], vec![list, array, place]] {
        registry.engine.register_raw_fn("index_of", types, |_, _| -> Result<i64> {
            Err(compared_by_lane("index_of"))
        });
    }
    likeness::register(registry.engine);
}
