//! The types of tensors: `TensorXfC([[1, 2], [3, 4]])`, `TensorC(array, shape)`, `zeros([2, 3])` (S25).

use std::rc::Rc;

use porcini_core::DType;
use porcini_core::catalogue::{Row, TENSOR_MAKERS};
use porcini_core::tensor::{self, ANY_TYPE, Tensor};
use rhai::{Dynamic, FnPtr, Module, NativeCallContext};

use super::catalogue::{answered, arguments};
use super::entries::{Entries, entries, tensor_of};
use super::registry::Registry;
use super::types::static_function;
use crate::context::Context;
use crate::fault::{IntoFault, Result, fault, fault_with_hint};
use crate::value::host_array::HostRef;
use crate::value::to_core::lend;
use crate::value::{self, ArrayRef, Form, scalar};

/// A type of tensors.
#[derive(Clone)]
struct Type {
    name: String,
    /// Lane type; `None` takes that of what it is made of.
    dtype: Option<DType>,
    is_complex: bool,
}

impl Type {
    fn all() -> impl Iterator<Item = Self> {
        let typed = tensor::types();
        let typed =
            typed.map(|(name, dtype, is_complex)| Self { name, dtype: Some(dtype), is_complex });
        typed.chain([Self { name: ANY_TYPE.into(), dtype: None, is_complex: false }])
    }
}

pub(super) fn register(registry: &mut Registry<'_>) {
    for tensor in Type::all() {
        let (parameters, doc) = help(&tensor);
        registry.doc(&tensor.name, parameters, &doc);
        let owned = tensor.clone();
        registry.any(&tensor.name, 1, move |context, call, args| {
            context.at(call);
            make(context, &owned, args[0], None).map(ArrayRef::tensor)
        });
        let owned = tensor.clone();
        registry.any(&tensor.name, 2, move |context, call, args| {
            context.at(call);
            make(context, &owned, args[0], Some(&*args[1])).map(ArrayRef::tensor)
        });
        if let Some(dtype) = tensor.dtype {
            let module = statics(registry, &tensor, dtype);
            registry.engine.register_static_module(&tensor.name, module.into());
        }
    }
    for row in TENSOR_MAKERS {
        registry.doc_form(row.name, &row.signature(), &row.doc());
        for arity in row.n_required..=row.parameters.len() {
            registry.any(row.name, arity, move |context, call, args| {
                context.at(call);
                let args: Vec<Dynamic> = args.iter().map(|arg| (**arg).clone()).collect();
                made(context, row, DType::F32, &args).map(Dynamic::from)
            });
        }
    }
    from_fn(registry);
}

fn help(tensor: &Type) -> (&'static str, String) {
    let name = &tensor.name;
    if tensor.is_complex {
        let doc = format!(
            "Tensor of complex numbers: from lists in lists, an array or a tensor, or from two of them, the real and the \
             imaginary parts, of which one may be a number; reshape(z, shape) gives them another shape. z.real and z.imag are its parts, z.T has its axes in \
             opposite order, z.H the last two turned and the sign of imaginary parts changed.\n\n\
             >> {name}([[1, 2]], [[3, -4]])\n[[1 + 3i, 2 - 4i]]"
        );
        return ("(re, im)", doc);
    }
    let one = if tensor.dtype == Some(DType::Mask) { "[[true, false]]" } else { "[[1, 0]]" };
    let example = if tensor.dtype.is_none() {
        format!("{name}(Int32C([1, 0]), [1, 2])\n[[1, 0]]")
    } else {
        format!("{name}({one})\n[[1, 0]]")
    };
    // Without a type of entries they are functions, which make floats.
    let makers = if tensor.dtype.is_none() { String::new() } else { format!("{name}::") };
    let doc = format!(
        "Tensor: from lists in lists, an array, a tensor or a host array, and perhaps a shape, a list of extents. t[i] \
         takes the first axis away, t[[i, 2..5, all, -1]] has a place for each axis, where lists and arrays of integers \
         keep theirs; t.T has its axes in opposite order, t.shape tells its extents; shapes broadcast as NumPy's. \
         {makers}zeros(shape), ones(shape), full(shape, value), eye(n) make others.\n\n>> {example}"
    );
    ("(value, shape)", doc)
}

fn make(
    context: &Context,
    tensor: &Type,
    value: &Dynamic,
    more: Option<&Dynamic>,
) -> Result<Tensor> {
    let name = &tensor.name;
    if tensor.is_complex
        && let Some(imag) = more.filter(|more| !is_shape(value, more))
    {
        let part = |value: &Dynamic| match real(context, tensor, value)? {
            part if part.is_complex() => Err(fault_with_hint(
                format!("{name}: got complex numbers as a part, expected real ones"),
                "z.real and z.imag are the parts of complex numbers",
            )),
            part => Ok(part),
        };
        let (real, imag) = (part(value)?, part(imag)?);
        return join(name, &real, &imag);
    }
    let made = if tensor.is_complex {
        complex(context, tensor, value)?
    } else {
        real(context, tensor, value)?
    };
    match more {
        None => Ok(made),
        Some(shape) => {
            let shape = shape_of(name, shape)?;
            made.spread(&shape).or_fault()
        }
    }
}

/// Whether a second argument says the shape of complex entries: a list of integers behind what has imaginary parts.
fn is_shape(value: &Dynamic, more: &Dynamic) -> bool {
    let of_integers =
        more.read_lock::<rhai::Array>().is_some_and(|list| list.iter().all(Dynamic::is_int));
    let is_complex = |array: &ArrayRef| tensor_of(array).is_ok_and(|tensor| tensor.is_complex());
    of_integers
        && (value.read_lock::<ArrayRef>().is_some_and(|array| is_complex(&array))
            || value.read_lock::<HostRef>().is_some_and(|host| host.is_complex()))
}

fn shape_of(name: &str, value: &Dynamic) -> Result<Vec<i64>> {
    let one = |value: &Dynamic| {
        value.as_int().map_err(|_| {
            let got = value::got(value);
            fault_with_hint(
                format!("{name}: got {got} in a shape, expected integers"),
                format!("write {name}(values, [2, 3])"),
            )
        })
    };
    match value.read_lock::<rhai::Array>() {
        Some(list) => list.iter().map(one).collect(),
        None => Ok(vec![one(value)?]),
    }
}

/// A tensor of real entries.
fn real(context: &Context, tensor: &Type, value: &Dynamic) -> Result<Tensor> {
    let name = &tensor.name;
    let dtype = tensor.dtype;
    if let Some(list) = value.read_lock::<rhai::Array>() {
        return entries(context, name, dtype.unwrap_or(DType::F32), &list);
    }
    let cast = |made: Tensor| match dtype {
        Some(dtype) => made.each(|part| part.cast(dtype)).or_fault(),
        None => Ok(made),
    };
    if let Some(array) = value.read_lock::<ArrayRef>() {
        if matches!(array.form(), Form::Vector(_) | Form::Matrix(_)) {
            return cast(array.lend(|value| value.stacked()).or_fault()?);
        }
        let lanes = array.lanes();
        let made = tensor_of(&array)?;
        if made.is_complex() && !tensor.is_complex && dtype.is_some() {
            return Err(fault_with_hint(
                format!("{name}: got complex entries, expected real ones"),
                "take the parts, as z.real and z.imag, or abs(z)",
            ));
        }
        let is_array = matches!(&*array.node(), value::Node::Leaf(_));
        if is_array && lanes == Some(1) {
            return cast(made.reshape(&[1]).or_fault()?);
        }
        return cast(made);
    }
    if let Some(host) = value.read_lock::<HostRef>() {
        let takes_complex = tensor.is_complex || dtype.is_none();
        return cast(of_host(context, &host, takes_complex && host.is_complex())?);
    }
    let Some(number) = scalar(value) else {
        let got = value::type_name(value);
        return Err(fault(format!(
            "{name}: got {got}, expected lists in lists, an array, a tensor or an ndarray"
        )));
    };
    let dtype = dtype.unwrap_or(DType::of(number));
    Tensor::new(&context.session.full(dtype, number, 1).or_fault()?, &[]).or_fault()
}

/// The elements of a host array; complex ones have their parts along the last axis.
fn of_host(context: &Context, host: &HostRef, is_complex: bool) -> Result<Tensor> {
    let extents: Vec<u64> = host.shape().iter().map(|&n| n as u64).collect();
    if let (true, [extents @ .., _]) = (is_complex, &extents[..]) {
        let [real, imag] = [0, 1].map(|part| host.column(&context.session, Some(part)));
        return Tensor::complex(&real?, &imag?, extents).or_fault();
    }
    Tensor::new(&host.ravel()?.column(&context.session, None)?, &extents).or_fault()
}

/// A tensor of complex entries; real ones have no imaginary part.
fn complex(context: &Context, tensor: &Type, value: &Dynamic) -> Result<Tensor> {
    if let Some(list) = value.read_lock::<rhai::Array>() {
        let dtype = tensor.dtype.unwrap_or(DType::F32);
        return Entries::read(context, &tensor.name, dtype, true, &list);
    }
    real(context, tensor, value)?.to_complex().or_fault()
}

/// A complex tensor of its parts, of which one may be a number for all entries.
fn join(name: &str, real: &Tensor, imag: &Tensor) -> Result<Tensor> {
    let beside = |part: &Tensor, other: &Tensor| match part.shape().rank() {
        0 => part.broadcast_to(other.shape().extents()),
        _ => Ok(part.clone()),
    };
    let (real, imag) = (&beside(real, imag).or_fault()?, &beside(imag, real).or_fault()?);
    if real.shape() != imag.shape() {
        let (re, im) = (real.shape(), imag.shape());
        return Err(fault_with_hint(
            format!("{name}: shapes {re} and {im} of the parts differ"),
            "one part may be a number; reshape(z, [2, 2]) gives complex numbers a shape",
        ));
    }
    let [re, im] = [real, imag].map(|part| part.entries());
    Tensor::complex(&re.or_fault()?[0], &im.or_fault()?[0], real.shape().extents()).or_fault()
}

/// The static functions of a type: `TensorXdC::zeros([2, 3])`.
fn statics(registry: &Registry<'_>, tensor: &Type, dtype: DType) -> Module {
    let (mut module, of) = (Module::new(), Rc::from(&*tensor.name));
    for row in TENSOR_MAKERS {
        for arity in row.n_required..=row.parameters.len() {
            let is_complex = tensor.is_complex;
            let named = (&of, row.name);
            static_function(
                &mut module,
                &registry.context,
                named,
                arity,
                move |context, _, args| {
                    let made = made(context, row, dtype, args)?;
                    if !is_complex {
                        return Ok(made);
                    }
                    tensor_of(&made)?.to_complex().map(ArrayRef::tensor).or_fault()
                },
            );
        }
    }
    module
}

fn made(context: &Context, row: &Row, dtype: DType, args: &[Dynamic]) -> Result<ArrayRef> {
    let mut args = args.to_vec();
    let args = arguments(row, &args.iter_mut().collect::<Vec<_>>())?;
    let answer = lend(&args, |args| row.call_of(Some(dtype), &context.session, args)).or_fault()?;
    let made = answered(answer, None).try_cast::<ArrayRef>();
    made.ok_or_else(|| fault(format!("{}: made no tensor", row.name)))
}

fn from_fn(registry: &mut Registry<'_>) {
    registry.doc(
        "from_fn",
        "(shape, f)",
        "The tensor whose entries a function makes of their numbers along the axes, tensors of that shape (TensorXiC) that \
         it is called with once: what it records is a kernel.\n\n\
         >> from_fn([2, 3], |i, j| i * 10 + j)\n[[ 0,  1,  2],\n [10, 11, 12]]",
    );
    registry.any("from_fn", 2, |context, call, args| {
        context.at(call);
        let name = "from_fn";
        let shape = shape_of(name, args[0])?;
        let function = args[1].read_lock::<FnPtr>().map(|function| function.clone());
        let function = function.ok_or_else(|| {
            let got = value::type_name(args[1]);
            fault_with_hint(
                format!("{name}: got {got}, expected a function"),
                "from_fn([2, 3], |i, j| i + j)",
            )
        })?;
        of_function(context, call, &shape, &function).map(Dynamic::from)
    });
}

fn of_function(
    context: &Context,
    call: &NativeCallContext<'_>,
    shape: &[i64],
    function: &FnPtr,
) -> Result<ArrayRef> {
    let name = "from_fn";
    let extents = shape.iter().map(|&n| {
        u64::try_from(n)
            .map_err(|_| fault(format!("{name}: got {n} as an extent, expected 0 or more")))
    });
    let extents = extents.collect::<Result<Vec<_>>>()?;
    let numbers = extents.iter().enumerate().map(|(axis, &n)| {
        let dtype = if n > 1 << 31 { DType::I64 } else { DType::I32 };
        let numbers = Tensor::numbers_along(&context.session, dtype, &extents, axis);
        let numbers = numbers.and_then(|line| line.broadcast_to(&extents));
        Ok(Dynamic::from(ArrayRef::tensor(numbers.or_fault()?)))
    });
    let numbers = numbers.collect::<Result<Vec<_>>>()?;
    let value: Dynamic = function.call_within_context(call, numbers)?;
    let any = Type { name: name.into(), dtype: None, is_complex: false };
    real(context, &any, &value)?.broadcast_to(&extents).map(ArrayRef::tensor).or_fault()
}
