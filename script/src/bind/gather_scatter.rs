//! Gathers, scatters, copies, host arrays and files.

use porcini_core::ir::op::{ScatterMode, ScatterOp};
use porcini_core::{Array, Scalar};
use rhai::Dynamic;

use super::registry::Registry;
use crate::context::Context;
use crate::fault::{IntoFault, Result, fault, fault_with_hint};
use crate::value::generator::RngRef;
use crate::value::host_array::HostRef;
use crate::value::{Arg, ArrayRef, Node, scalar, type_name};

/// What holds for every scatter.
const SCATTERS: &str = "\
Only lanes where active (optional) is true take part. The value is a number or an array of the target's type or one \
that fits it. Recorded, not run. Every name of the target sees the write, copies do not. An index out of bounds is \
dropped, and an error at the next read. A vector is written component by component. The mode (optional, last) says what \
a GPU does where lanes meet at one element: \"fast\" takes them in any order, \"exact\" (or \"last\") in that of the CPU, \
lane after lane.";

pub(super) fn register(registry: &mut Registry<'_>) {
    registry.doc(
        "gather",
        "(source, index, active)",
        "`source[index[i]]` for each lane of an integer index; 0 where active (optional) is false or the \
         index is out of bounds, which is an error at the next read. A source of size 1 is a scalar. \
         Vectors gather component by component. Recorded, not run.\n\n\
         >> gather(FloatC([5, 6, 7]), UInt32C([2, 0]))\n[7, 5]",
    );
    for arity in [2, 3] {
        registry.on_array("gather", arity, |context, call, source, rest| {
            context.at(call);
            let index = array_argument("gather", "index", rest[0])?;
            let active = rest.get(1).map(|mask| array_argument("gather", "active", mask));
            gather(source, &index, active.transpose()?.as_ref())
        });
    }
    for op in ScatterOp::ALL {
        let (meaning, example) = op.doc().split_once("\n\n").unwrap_or((op.doc(), ""));
        let doc = format!("{meaning}\n{SCATTERS}\n\n{example}");
        registry.doc(op.name(), "(target, value, index, active, mode)", &doc);
        for arity in [3, 4, 5] {
            registry.on_array(op.name(), arity, move |context, call, target, rest| {
                context.at(call);
                let value = Arg::new(op.name(), rest[0])?;
                let index = array_argument(op.name(), "index", rest[1])?;
                let (active, mode) = active_and_mode(op.name(), &rest[2..])?;
                scatter((op, mode), target, &value, &index, active.as_ref())
            });
        }
    }
    registry.doc(
        "copy",
        "(x)",
        "A value of its own: writes to one of the two are not seen by the other. Free until written.\n\n\
         >> a = Int32C([1, 2]); b = copy(a); scatter(b, 9, UInt32C(0)); a\n[1, 2]",
    );
    registry.on_array("copy", 1, |_, _, array, _| Ok(array.copy()));
    host_arrays(registry);
}

pub(super) fn array_argument(op: &str, parameter: &str, value: &Dynamic) -> Result<Array> {
    match value.read_lock::<ArrayRef>() {
        Some(array) => array.array(op),
        None => {
            let message =
                format!("{op}: got {} as {parameter}, expected an array", type_name(value));
            let constructor = match scalar(value) {
                Some(Scalar::Int(..0)) if parameter == "index" => {
                    let hint = "lanes count from 0; a[-1] is the last one";
                    return Err(fault_with_hint(message, hint));
                }
                Some(Scalar::Bool(_)) => "MaskC",
                Some(Scalar::Float(_)) => "FloatC",
                Some(Scalar::Int(_) | Scalar::UInt(_)) => "UInt32C",
                None => return Err(fault(message)),
            };
            let hint = format!("a single {parameter} is an array too: {constructor}({value})");
            Err(fault_with_hint(message, hint))
        }
    }
}

fn gather(source: &ArrayRef, index: &Array, active: Option<&Array>) -> Result<ArrayRef> {
    match &*source.node() {
        Node::Leaf(source) => source.gather(index, active).map(ArrayRef::leaf).or_fault(),
        Node::Nested(kind, components) => {
            let gathered = components.iter().map(|component| gather(component, index, active));
            Ok(ArrayRef::nested(*kind, gathered.collect::<Result<_>>()?))
        }
    }
}

/// What follows the index of a scatter: a mask, a mode, or both.
fn active_and_mode(op: &str, rest: &[&mut Dynamic]) -> Result<(Option<Array>, ScatterMode)> {
    let (masks, mode) = match rest {
        [.., last] if rest.len() == 2 || last.is_string() => {
            (&rest[..rest.len() - 1], scatter_mode(op, last)?)
        }
        _ => (rest, ScatterMode::Fast),
    };
    let active = masks.first().map(|mask| array_argument(op, "active", mask)).transpose()?;
    Ok((active, mode))
}

fn scatter_mode(op: &str, value: &Dynamic) -> Result<ScatterMode> {
    let name = value.read_lock::<rhai::ImmutableString>();
    let known = |name: &str| ScatterMode::NAMES.into_iter().find(|(known, _)| *known == name);
    if let Some((_, mode)) = name.as_deref().and_then(|name| known(name)) {
        return Ok(mode);
    }
    let got = name.map_or_else(|| type_name(value), |name| format!("\"{}\"", &*name));
    let message = format!("{op}: got {got} as mode, expected \"fast\", \"exact\" or \"last\"");
    Err(fault_with_hint(message, format!("{op}(target, value, index, active, \"exact\")")))
}

fn scatter(
    (op, mode): (ScatterOp, ScatterMode),
    target: &ArrayRef,
    value: &Arg,
    index: &Array,
    active: Option<&Array>,
) -> Result<()> {
    if let Some(components) = target.components() {
        let parts = match value {
            Arg::Value(value) => value.components(),
            Arg::Number(_) => None,
        };
        for (i, component) in components.iter().enumerate() {
            let part = match &parts {
                Some(parts) => match parts.get(i) {
                    Some(part) => Arg::Value(part.clone()),
                    None => return Err(fault(format!("{}: too few components", op.name()))),
                },
                None => value.clone(),
            };
            scatter((op, mode), component, &part, index, active)?;
        }
        return Ok(());
    }
    let mut array = target.array(op.name())?;
    match value {
        Arg::Value(value) => {
            let value = value.array(op.name())?;
            array.scatter_as(op, mode, &value, index, active).or_fault()?;
        }
        Arg::Number(number) => {
            array.scatter_as(op, mode, *number, index, active).or_fault()?;
        }
    }
    target.set(Node::Leaf(array));
    Ok(())
}

fn host_arrays(registry: &mut Registry<'_>) {
    registry.doc(
        "ndarray",
        "(x, evaluate)",
        "The contents as a host array: shape [lanes], or [lanes, components] of a vector. With false it holds \
         zeros until the next eval() fills it.\n\n\
         >> FloatC([1, 2]).ndarray()\n[1, 2]\nndarray f32 [2]",
    );
    registry.alias("numpy", "ndarray");
    for name in ["ndarray", "numpy"] {
        registry.on_array(name, 1, |_, _, array, _| HostRef::of(array));
        registry.on_array(name, 2, |context, _, array, rest| {
            if rest[0].as_bool().unwrap_or(true) {
                return HostRef::of(array);
            }
            let host = HostRef::deferred(array)?;
            context.defer(host.clone());
            Ok(host)
        });
    }
    registry.doc(
        "ravel",
        "(host)",
        "All elements of a host array in row-major order, as one dimension.\n\n\
         >> Vector2fC([1, 2], [3, 4]).ndarray().ravel()\n[1, 3, 2, 4]\nndarray f32 [4]",
    );
    registry.engine.register_fn("ravel", |host: &mut HostRef| host.ravel());
}

/// Evaluates the array values among `args`; lists are looked through.
pub(super) fn evaluate_values(context: &Context, args: &[&mut Dynamic]) -> Result<()> {
    if let [arg] = args
        && let Some(array) = arg.read_lock::<ArrayRef>()
    {
        return context.eval(std::slice::from_ref(&*array));
    }
    let mut values = Vec::new();
    args.iter().try_for_each(|arg| collect(arg, &mut values))?;
    context.eval(&values)
}

/// Evaluates a value if it is of arrays; others are computed already.
pub(crate) fn evaluate(context: &Context, value: &Dynamic) -> Result<()> {
    let mut values = Vec::new();
    match collect(value, &mut values) {
        Ok(()) => context.eval(&values),
        Err(_) => Ok(()),
    }
}

fn collect(value: &Dynamic, values: &mut Vec<ArrayRef>) -> Result<()> {
    if let Some(array) = value.read_lock::<ArrayRef>() {
        values.push(array.clone());
        return Ok(());
    }
    if let Some(list) = value.read_lock::<rhai::Array>() {
        return list.iter().try_for_each(|item| collect(item, values));
    }
    if let Some(host) = value.read_lock::<HostRef>() {
        values.extend(host.source());
        return Ok(());
    }
    if let Some(rng) = value.read_lock::<RngRef>() {
        values.extend(rng.arrays());
        return Ok(());
    }
    Err(fault(format!("eval: got {}, expected arrays", type_name(value))))
}
