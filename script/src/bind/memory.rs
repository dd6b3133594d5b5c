//! Copies, host arrays, evaluation of all that values hold.

use std::any::TypeId;
use std::mem;

use rhai::{Dynamic, Map};

use super::engine_handles::HandleRef;
use super::engine_inputs::{for_each_item, holds};
use super::given::check_contents;
use super::registry::Registry;
use crate::context::Context;
use crate::fault::{Result, fault, fault_with_hint};
use crate::value::generator::RngRef;
use crate::value::host_array::HostRef;
use crate::value::{ArrayRef, type_name};

pub(super) fn register(registry: &mut Registry<'_>) {
    registry.doc(
        "copy",
        "(x)",
        "A value of its own: writes to one of the two are not seen by the other. Free until written. Of a list or map: with \
         copies of what is in it.\n\n\
         >> a = Int32C([1, 2]); b = copy(a); scatter(b, 9, UInt32C(0)); a\n[1, 2]",
    );
    registry.on_array("copy", 1, |_, _, array, _| Ok(array.own_copy()));
    for of in [TypeId::of::<rhai::Array>(), TypeId::of::<Map>()] {
        registry.typed("copy", of, 1, |_, _, args| Ok(copied(args[0].clone())));
    }
    host_arrays(registry);
}

/// A value with arrays and generators of its own, in lists and maps too.
fn copied(value: Dynamic) -> Dynamic {
    let mut value = value.flatten();
    if let Some(array) = value.read_lock::<ArrayRef>().map(|array| array.own_copy()) {
        return Dynamic::from(array);
    }
    if let Some(rng) = value.read_lock::<RngRef>().map(|rng| rng.own_copy()) {
        return Dynamic::from(rng);
    }
    for_each_item(&mut value, &mut |item| *item = copied(mem::take(item)));
    value
}

fn host_arrays(registry: &mut Registry<'_>) {
    registry.doc(
        "ndarray",
        "(x, evaluate)",
        "The contents as a host array: shape [lanes], or [lanes, components] of a vector; of a tensor its own, with a last \
         extent of two if entries are complex. a[k] is the k-th of all elements, \
         a[[i, j]] the one at a place along each axis. With false it holds zeros until the next eval() fills it.\n\n\
         >> FloatC([1, 2]).ndarray()\n[1, 2]\nndarray f32 [2]",
    );
    registry.alias("numpy", "ndarray");
    for name in ["ndarray", "numpy"] {
        registry.on_array(name, 1, |_, _, array, _| {
            check_contents("ndarray", array)?;
            HostRef::of(array)
        });
        registry.on_array(name, 2, move |context, _, array, rest| {
            check_contents("ndarray", array)?;
            let evaluates = rest[0].as_bool().map_err(|_| {
                let got = type_name(rest[0]);
                let hint = "false leaves the contents for the next eval()";
                fault_with_hint(format!("{name}: got {got} as evaluate, expected a bool"), hint)
            })?;
            if evaluates {
                return HostRef::of(array);
            }
            let host = HostRef::deferred(array)?;
            context.defer(host.clone());
            Ok(host)
        });
    }
    registry.doc_form(
        "ravel",
        "(host)",
        "All elements of a host array in row-major order, as one dimension.\n\n\
         >> Vector2fC([1, 2], [3, 4]).ndarray().ravel()\n[1, 3, 2, 4]\nndarray f32 [4]",
    );
    registry.engine.register_fn("ravel", |host: &mut HostRef| host.ravel());
    registry.doc_form(
        "reshape",
        "(host, shape)",
        "The elements of a host array in another shape, in row-major order: to be written as a file of it.\n\n\
         >> Int32C([1, 2, 3, 4]).ndarray().reshape([2, 2])\n[[1, 2],\n [3, 4]]\nndarray i32 [2, 2]",
    );
    registry.engine.register_fn(
        "reshape",
        |host: &mut HostRef, shape: rhai::Array| -> Result<HostRef> {
            let extent = |item: &Dynamic| item.as_int().ok().and_then(|n| usize::try_from(n).ok());
            let shape: Option<Vec<usize>> = shape.iter().map(extent).collect();
            let shape =
                shape.ok_or_else(|| fault("reshape: expected a list of integers from 0 up"))?;
            host.reshape(&shape)
        },
    );
}

/// Evaluates the array values among `args`; lists and maps are looked through.
pub(super) fn evaluate_values(context: &Context, args: &[&mut Dynamic]) -> Result<()> {
    if let [arg] = args
        && let Some(array) = arg.read_lock::<ArrayRef>()
    {
        return begin(context, std::slice::from_ref(&*array));
    }
    begin(context, &values("eval", "arrays", args)?)
}

fn begin(context: &Context, values: &[ArrayRef]) -> Result<()> {
    context.eval(values)?;
    context.begun.borrow_mut().set(values);
    Ok(())
}

/// The array values among `args`, which are nothing else; lists and maps are looked through, and may hold names and numbers
/// beside.
pub(super) fn values(op: &str, expected: &str, args: &[&mut Dynamic]) -> Result<Vec<ArrayRef>> {
    if args.iter().any(|arg| holds::<HandleRef>(arg)) {
        let hint = format!(
            "what an operation makes is there when it was done: {op}(get(h)); flush(h) has it done"
        );
        return Err(fault_with_hint(format!("{op}: got handle, expected {expected}"), hint));
    }
    let mut values = Vec::new();
    match args.iter().find(|arg| !add_arrays(arg, &mut values)) {
        Some(other) => Err(fault(format!("{op}: got {}, expected {expected}", type_name(other)))),
        None => Ok(values),
    }
}

/// Evaluates a value if it is of arrays; others are computed already.
pub(crate) fn evaluate(context: &Context, value: &Dynamic) -> Result<()> {
    let mut values = Vec::new();
    add_arrays(value, &mut values);
    if values.is_empty() { Ok(()) } else { context.eval(&values) }
}

/// Adds the arrays that a value is made of; whether it is one that may be made of some.
fn add_arrays(value: &Dynamic, to: &mut Vec<ArrayRef>) -> bool {
    if let Some(array) = value.read_lock::<ArrayRef>() {
        to.push(array.clone());
    } else if let Some(list) = value.read_lock::<rhai::Array>() {
        for item in list.iter() {
            add_arrays(item, to);
        }
    } else if let Some(map) = value.read_lock::<Map>() {
        for item in map.values() {
            add_arrays(item, to);
        }
    } else if let Some(host) = value.read_lock::<HostRef>() {
        to.extend(host.source());
    } else if let Some(rng) = value.read_lock::<RngRef>() {
        to.extend(rng.arrays());
    } else {
        return false;
    }
    true
}
