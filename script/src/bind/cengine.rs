//! Cengine's names of what exists under another, and of what makes its scalars and tensors; the operations themselves are
//! rows of the catalogue.

use porcini_core::DType;
use porcini_core::catalogue::{CENGINE, CENGINE_TENSORS, NEW};
use porcini_core::tensor::Tensor;
use rhai::{Dynamic, EvalAltResult, FnPtr, NativeCallContext};

use super::catalogue;
use super::entries::tensor_of;
use super::registry::Registry;
use crate::fault::{Fault, IntoFault, Result, fault, fault_with_hint};
use crate::value::{ArrayRef, got, type_name};

/// Name, parameters, how many at least and at most, the function that it is, and what help says.
type Other = (&'static str, &'static str, [usize; 2], &'static str, &'static str);

const OTHERS: [Other; 3] = [
    (
        "rscalar",
        "(x)",
        [1, 1],
        "FloatC",
        "A real scalar of Cengine, of several numbers a bundle.\n\n>> rscalar([1, 2])\n[1, 2]",
    ),
    (
        "cscalar",
        "(re, im)",
        [1, 2],
        "Complex2fC",
        "A complex scalar of Cengine, of lists a bundle: cscalar([1, 2], [3, 4]). A list alone is both parts, an empty one a \
         bundle of none.\n\n>> cscalar(1, 2)\n[1 + 2i]",
    ),
    (
        "ctensor",
        "(re, im)",
        [1, 2],
        "TensorXcC",
        "A complex tensor of Cengine, of its real and imaginary parts; reshape(z, shape) gives it another shape.\n\n>> ctensor([[1, 2]], [[0, 1]])\n[[1 + 0i, 2 + 1i]]",
    ),
];

pub(super) fn register(registry: &mut Registry<'_>) {
    catalogue::register(registry, CENGINE);
    catalogue::register(registry, CENGINE_TENSORS);
    for (name, parameters, [least, most], own, doc) in OTHERS {
        registry.doc(name, parameters, doc);
        for arity in least..=most {
            registry.any(name, arity, move |context, call, args| {
                context.at(call);
                let mut args: Vec<Dynamic> = args.iter().map(|arg| (**arg).clone()).collect();
                if name == "cscalar" && is_empty_list(&args) {
                    args.push(args[0].clone());
                }
                let made =
                    call.call_native_fn_raw(own, true, &mut args.iter_mut().collect::<Vec<_>>());
                let made = made.map_err(|error| said_of(*error, name))?;
                let own = made.read_lock::<ArrayRef>().map(|made| made.own_copy());
                Ok(own.map_or(made, Dynamic::from))
            });
        }
    }
    makers(registry);
    registry.doc(
        "to_device",
        "(x, d)",
        "A value on another device by Cengine's numbers: 0 is the processor, k the GPU cuda:k-1. The same as x.to(\"cuda:0\").\n\n\
         >> to_device(FloatC([1, 2]), 0)\n[1, 2]",
    );
    registry.any("to_device", 2, |context, call, args| {
        context.at(call);
        moved(call, "to_device", args[0].clone(), args[1])
    });
    let name = "new_ctensor_from_gtensor";
    registry.any(name, 3, move |context, call, args| {
        context.at(call);
        let mut own = [args[0].clone(), args[1].clone()];
        let made = call.call_native_fn_raw(name, true, &mut own.iter_mut().collect::<Vec<_>>())?;
        moved(call, name, made, args[2])
    });
    functions(registry);
}

/// Whether all that is given is a list of nothing.
fn is_empty_list(args: &[Dynamic]) -> bool {
    let is_empty =
        |list: &Dynamic| list.read_lock::<rhai::Array>().is_some_and(|list| list.is_empty());
    matches!(args, [list] if is_empty(list))
}

/// A value on the device of one of Cengine's numbers, for a function.
fn moved(
    call: &NativeCallContext<'_>,
    name: &str,
    value: Dynamic,
    device: &Dynamic,
) -> Result<Dynamic> {
    let device = match device.as_int() {
        Ok(0) => "cpu".to_string(),
        Ok(k) if k > 0 => format!("cuda:{}", k - 1),
        _ => {
            let what = if name == "to_device" { "" } else { " as dev" };
            let hint = "0 is the processor, k the GPU cuda:k-1";
            return Err(fault_with_hint(format!("{name}: got {}{what}", got(device)), hint));
        }
    };
    let mut args = [value, device.into()];
    let moved = call.call_native_fn_raw("to", true, &mut args.iter_mut().collect::<Vec<_>>());
    moved.map_err(|error| said_of(*error, name))
}

/// An error of another function, told of the one that was called.
fn said_of(error: EvalAltResult, name: &str) -> Box<EvalAltResult> {
    match error {
        EvalAltResult::ErrorRuntime(value, position) if value.is::<Fault>() => {
            let fault = value.cast::<Fault>();
            let message = format!("{name}: {}", fault.message);
            EvalAltResult::ErrorRuntime(Dynamic::from(Fault { message, ..fault }), position).into()
        }
        other => other.into(),
    }
}

fn makers(registry: &mut Registry<'_>) {
    for new in &NEW {
        let (name, parameters) = (new.name, new.parameters());
        registry.doc(name, &format!("({})", parameters.join(", ")), &new.doc());
        for arity in usize::from(new.is_tensor)..=parameters.len() {
            registry.any(name, arity, move |context, call, args| {
                context.at(call);
                let (shape, rest) = args.split_at(usize::from(new.is_tensor));
                let bundle = bundles(name, rest.first().map(|nbu| &**nbu))?;
                let shape = shape.first().map(|shape| extents_of(name, shape)).transpose()?;
                let factor = rest.get(2).map_or(Ok(1.0), |c| number(name, c))?;
                let mut seeds = context.seeds.get();
                let shape = shape.unwrap_or_default();
                let made = new.make(&context.session, &mut seeds, bundle, &shape, factor);
                context.seeds.set(seeds);
                let made = Dynamic::from(ArrayRef::from(made.or_fault()?));
                rest.get(1).map_or(Ok(made.clone()), |dev| moved(call, name, made, dev))
            });
        }
    }
}

/// How many bundles; -1 is none.
fn bundles(name: &str, value: Option<&Dynamic>) -> Result<Option<u64>> {
    let Some(value) = value else { return Ok(None) };
    match value.as_int() {
        Ok(-1) => Ok(None),
        Ok(n) if n >= 0 => Ok(Some(n.cast_unsigned())),
        _ => Err(fault(format!(
            "{name}: got {} as nbu, expected -1 or an integer from 0 up",
            got(value)
        ))),
    }
}

fn extents_of(name: &str, value: &Dynamic) -> Result<Vec<u64>> {
    let refuse = |got: &str| {
        fault_with_hint(format!("{name}: got {got}"), "a list of extents from 0 up: [2, 3]")
    };
    let list = value.read_lock::<rhai::Array>();
    let list = list.ok_or_else(|| refuse(&format!("{} as shape", type_name(value))))?;
    let extent = |extent: &Dynamic| {
        let n = extent.as_int().ok().and_then(|n| u64::try_from(n).ok());
        n.ok_or_else(|| refuse(&format!("{} in the shape", got(extent))))
    };
    list.iter().map(extent).collect()
}

fn number(name: &str, value: &Dynamic) -> Result<f64> {
    let number = value.as_float().or_else(|_| value.as_int().map(|n| n as f64));
    number.map_err(|_| fault(format!("{name}: got {} as c, expected a number", got(value))))
}

/// `rscalar_apply(x, f)` and the like.
fn functions(registry: &mut Registry<'_>) {
    for (name, shown) in [
        ("rscalar_apply", "rscalar_apply(rscalar(3), |x| x * x)\n[9]"),
        ("cscalar_apply", "cscalar_apply(cscalar(0, 1), |z| z * z)\n[-1 + 0i]"),
        ("ctensor_apply", "ctensor_apply(ctensor([[0]], [[1]]), |z| z * z)\n[[-1 + 0i]]"),
    ] {
        let doc = format!(
            "What a function makes of the value, called once for all entries.\n\n>> {shown}"
        );
        registry.doc(name, "(x, f)", &doc);
        registry.any(name, 2, move |context, call, args| {
            context.at(call);
            let value = args[0].clone();
            function(name, args[1])?.call_within_context::<Dynamic>(call, (value,))
        });
    }
    let name = "ctensor_apply2";
    let doc = "What a function makes of the numbers of row and column and the entry, called once for all entries.\n\n\
        >> ctensor_apply2(ctensor([[1, 1]]), |i, j, z| z * (j + 1))\n[[1 + 0i, 2 + 0i]]";
    registry.doc(name, "(x, f)", doc);
    registry.any(name, 2, move |context, call, args| {
        context.at(call);
        let value = args[0].clone();
        let x = args[0].read_lock::<ArrayRef>().map(|x| x.clone());
        let x =
            x.ok_or_else(|| fault(format!("{name}: got {}, expected a tensor", got(args[0]))))?;
        let tensor = tensor_of(&x)?;
        let &[_, _] = tensor.shape().extents() else {
            return Err(fault(format!("{name}: got {}, expected two axes", tensor.shape())));
        };
        let [i, j] = [0, 1].map(|axis| {
            let extents = tensor.shape().extents();
            let numbers = Tensor::numbers_along(&context.session, DType::F32, extents, axis);
            numbers.map(|numbers| Dynamic::from(ArrayRef::tensor(numbers))).or_fault()
        });
        let (i, j) = (i?, j?);
        function(name, args[1])?.call_within_context::<Dynamic>(call, (i, j, value))
    });
}

fn function(name: &str, value: &Dynamic) -> Result<FnPtr> {
    let function = value.clone().try_cast::<FnPtr>();
    function.ok_or_else(|| fault(format!("{name}: got {}, expected a function", got(value))))
}
