//! What makes the scalars and tensors of Cengine, and its names of what exists under another; the operations themselves are
//! rows of the catalogue.

use porcini_core::catalogue::{CENGINE, CENGINE_TENSORS};
use porcini_core::random::{Draw, Pcg32};
use porcini_core::tensor::{Shape, Tensor};
use porcini_core::{Array, DType, Scalar, Value};
use rhai::{Dynamic, EvalAltResult, FnPtr};

use super::catalogue;
use super::entries::tensor_of;
use super::registry::Registry;
use super::session_numbers::drawn;
use crate::context::Context;
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
        "A complex scalar of Cengine.\n\n>> cscalar(1, 2)\n[1 + 2i]",
    ),
    (
        "ctensor",
        "(re, im)",
        [1, 2],
        "TensorXcC",
        "A complex tensor of Cengine.\n\n>> ctensor([[1, 2]], [[0, 1]])\n[[1 + 0i, 2 + 1i]]",
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
                let made =
                    call.call_native_fn_raw(own, true, &mut args.iter_mut().collect::<Vec<_>>());
                made.map_err(|error| said_of(*error, name))
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
        let device = match args[1].as_int() {
            Ok(0) => "cpu".to_string(),
            Ok(k) if k > 0 => format!("cuda:{}", k - 1),
            _ => {
                let got = got(args[1]);
                let hint = "0 is the processor, k the GPU cuda:k-1";
                return Err(fault_with_hint(format!("to_device: got {got}"), hint));
            }
        };
        let mut args = [args[0].clone(), device.into()];
        let moved = call.call_native_fn_raw("to", true, &mut args.iter_mut().collect::<Vec<_>>());
        moved.map_err(|error| said_of(*error, "to_device"))
    });
    functions(registry);
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

/// What is put into a new scalar or tensor.
#[derive(Clone, Copy, PartialEq)]
enum Fill {
    Zero,
    One,
    /// Where row and column are the same.
    Identity,
    /// The numbers from 0 up.
    Sequential,
    /// Normal numbers times another, in real and imaginary parts.
    Gaussian,
}

/// What a new value is: its function, whether it is a tensor, whether it is complex, what is in it, and what help shows.
type New = (&'static str, bool, bool, Fill, &'static str);

const NEW: [New; 12] = [
    ("new_rscalar", false, false, Fill::Zero, "new_rscalar(2)\n[0, 0]"),
    ("new_rscalar_zero", false, false, Fill::Zero, "new_rscalar_zero(2)\n[0, 0]"),
    ("new_rscalar_gaussian", false, false, Fill::Gaussian, "len(new_rscalar_gaussian(3))\n3"),
    ("new_cscalar", false, true, Fill::Zero, "new_cscalar()\n[0 + 0i]"),
    ("new_cscalar_zero", false, true, Fill::Zero, "new_cscalar_zero(2)\n[0 + 0i,\n 0 + 0i]"),
    ("new_cscalar_gaussian", false, true, Fill::Gaussian, "len(new_cscalar_gaussian(3).real)\n3"),
    ("new_ctensor", true, true, Fill::Zero, "new_ctensor([1, 2])\n[[0 + 0i, 0 + 0i]]"),
    ("new_ctensor_zero", true, true, Fill::Zero, "new_ctensor_zero([1, 2])\n[[0 + 0i, 0 + 0i]]"),
    ("new_ctensor_ones", true, true, Fill::One, "new_ctensor_ones([2], 1)\n[[1 + 0i, 1 + 0i]]"),
    (
        "new_ctensor_identity",
        true,
        true,
        Fill::Identity,
        "new_ctensor_identity([1, 1])\n[[1 + 0i]]",
    ),
    (
        "new_ctensor_sequential",
        true,
        true,
        Fill::Sequential,
        "new_ctensor_sequential([1, 2])\n[[0 + 0i, 1 + 0i]]",
    ),
    (
        "new_ctensor_gaussian",
        true,
        true,
        Fill::Gaussian,
        "new_ctensor_gaussian([2, 3]).shape\n[2, 3]",
    ),
];

impl Fill {
    const fn text(self) -> &'static str {
        match self {
            Self::Zero => "zeros",
            Self::One => "ones",
            Self::Identity => "ones where row and column are the same, else zeros",
            Self::Sequential => "the numbers from 0 up",
            Self::Gaussian => {
                "normal numbers of the session times c (1 unless given), real and imaginary parts apart"
            }
        }
    }

    /// Real entries of a shape.
    fn tensor(self, context: &Context, name: &'static str, shape: &[u64]) -> Result<Tensor> {
        let full = |number: i32| {
            let one = context.session.full(DType::F32, number, 1)?;
            Tensor::new(&one, shape)
        };
        let n = Shape::new(name, shape).or_fault()?.n_entries();
        match self {
            Self::Zero => full(0).or_fault(),
            Self::One => full(1).or_fault(),
            Self::Sequential => {
                let stop = Scalar::UInt(n);
                let lanes = context.session.arange(DType::F32, 0.into(), stop, 1.into());
                lanes.and_then(|lanes| Tensor::new(&lanes, shape)).or_fault()
            }
            Self::Identity => {
                let [.., rows, columns] = shape else {
                    return Err(fault(format!("{name}: got {shape:?}, expected two axes or more")));
                };
                if rows != columns {
                    return Err(fault(format!(
                        "{name}: identity needs a square last pair of dims, got {rows}x{columns}"
                    )));
                }
                let one = full(1)
                    .and_then(|ones| ones.reshape(&[-1])?.slice(0, ..rows.cast_signed())?.diag(0));
                one.and_then(|one| one.broadcast_to(shape)).or_fault()
            }
            Self::Gaussian => {
                let draw = |rng: &mut Pcg32| rng.draw_lanes(name, Draw::Normal32, n);
                let lanes = drawn(context, name, n, None, &draw)?.array(name)?;
                Tensor::new(&lanes, shape).or_fault()
            }
        }
    }
}

fn makers(registry: &mut Registry<'_>) {
    for (name, is_tensor, is_complex, fill, shown) in NEW {
        let of = if is_tensor { "tensor" } else { "scalar" };
        let mut parameters = if is_tensor { vec!["shape", "nbu"] } else { vec!["nbu"] };
        if fill == Fill::Gaussian {
            parameters.push("c");
        }
        let doc = format!(
            "A new {of} of Cengine, a bundle of nbu (-1, the default, is none): {}.\n\n>> {shown}",
            fill.text()
        );
        registry.doc(name, &format!("({})", parameters.join(", ")), &doc);
        for arity in usize::from(is_tensor)..=parameters.len() {
            registry.any(name, arity, move |context, call, args| {
                context.at(call);
                let (shape, rest) = args.split_at(usize::from(is_tensor));
                let nbu = bundles(name, rest.first().map(|nbu| &**nbu))?;
                let mut extents: Vec<u64> = nbu.into_iter().collect();
                match shape.first() {
                    Some(shape) => extents.extend(extents_of(name, shape)?),
                    None if extents.is_empty() => extents.push(1),
                    None => {}
                }
                let factor = rest.get(1).map_or(Ok(1.0), |c| number(name, c))?;
                let part = |fill: Fill| {
                    let part = fill.tensor(context, name, &extents)?;
                    part.each(
                        |part| if factor == 1.0 { Ok(part.clone()) } else { part.try_mul(factor) },
                    )
                    .or_fault()
                };
                let real = part(fill)?;
                let made = if is_complex {
                    let imag = part(if fill == Fill::Gaussian { fill } else { Fill::Zero })?;
                    let lanes = |tensor: &Tensor| -> Result<Array> {
                        Ok(tensor.entries().or_fault()?.swap_remove(0))
                    };
                    Tensor::complex(&lanes(&real)?, &lanes(&imag)?, &extents).or_fault()?
                } else {
                    real
                };
                let value =
                    if is_tensor { Value::Tensor(made) } else { made.lanes().or_fault()? };
                Ok(Dynamic::from(ArrayRef::from(value)))
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
    let refuse = || {
        fault_with_hint(
            format!("{name}: got {} as shape", type_name(value)),
            "a list of extents: [2, 3]",
        )
    };
    let list = value.read_lock::<rhai::Array>().ok_or_else(refuse)?;
    let extent = |extent: &Dynamic| {
        let extent = extent.as_int().ok().and_then(|n| u64::try_from(n).ok());
        extent.ok_or_else(refuse)
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
        let &[rows, columns] = tensor.shape().extents() else {
            return Err(fault(format!("{name}: got {}, expected two axes", tensor.shape())));
        };
        let counted = |n: u64, shape: &[u64]| -> Result<Dynamic> {
            let lanes = context.session.arange(DType::F32, 0.into(), Scalar::UInt(n), 1.into());
            let numbers = lanes.and_then(|lanes| Tensor::new(&lanes, shape)).or_fault()?;
            Ok(Dynamic::from(ArrayRef::tensor(numbers)))
        };
        let (i, j) = (counted(rows, &[rows, 1])?, counted(columns, &[1, columns])?);
        function(name, args[1])?.call_within_context::<Dynamic>(call, (i, j, value))
    });
}

fn function(name: &str, value: &Dynamic) -> Result<FnPtr> {
    let function = value.clone().try_cast::<FnPtr>();
    function.ok_or_else(|| fault(format!("{name}: got {}, expected a function", got(value))))
}
