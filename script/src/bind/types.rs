//! Array types: constructors `FloatC(x)`, static functions `FloatC::arange(n)`.

use std::any::TypeId;
use std::rc::Rc;

use porcini_core::catalogue::{Answer, Kind, MAKERS};
use porcini_core::tensor;
use porcini_core::value::Type;
use porcini_core::{Array, DType, Scalar, Session};
use rhai::{Dynamic, EvalAltResult, FuncRegistration, Module, NativeCallContext, RhaiFunc};

use super::registry::Registry;
use crate::context::Context;
use crate::fault::{IntoFault, Result, check_interrupt, fault, fault_with_hint, under_name};
use crate::value::host_array::HostRef;
use crate::value::to_core::lend;
use crate::value::{self, Arg, ArrayRef, Form, GENERATOR, scalar};

/// Names of the one-dimensional types, floats first.
fn scalar_types() -> impl Iterator<Item = (&'static str, DType)> {
    let own = DType::ALL.into_iter().rev().map(|dtype| (dtype.script_name(), dtype));
    own.chain([("Float32C", DType::F32)])
}

/// Every name that has static functions.
pub(crate) fn type_names() -> Vec<String> {
    let scalars = scalar_types().map(|(name, _)| name).chain([GENERATOR]);
    let nested = Type::all().map(|nested| nested.name.into_owned());
    scalars.map(Into::into).chain(nested).chain(tensor::type_names()).collect()
}

pub(super) fn register(registry: &mut Registry<'_>) {
    for (name, dtype) in scalar_types() {
        registry.doc(
            name,
            "(value)",
            &format!(
                "Array of {} lanes from a number (one lane), a list, another array (converted) or a \
                 host array; of a tensor the tensor of its shape with such entries. {name}::zero(n), ones(n), full(value, n), \
                 empty(n), {}opaque(value, n) make others.\n\n\
                 >> {name}([0, 1])\n[0, 1]",
                dtype.numpy_name(),
                further_makers(dtype)
            ),
        );
        registry.any(name, 1, move |context, call, args| {
            context.at(call);
            if let Some(tensor) = args[0].read_lock::<ArrayRef>()
                && tensor.form() == Form::Tensor
            {
                if tensor.leaves().len() > 1 {
                    let got = tensor.type_name();
                    return Err(fault_with_hint(
                        format!("{name}: got {got}, expected real entries"),
                        "take the parts, as z.real and z.imag, or abs(z)",
                    ));
                }
                return tensor.lend(|tensor| tensor.cast(dtype)).map(ArrayRef::from).or_fault();
            }
            convert(context, name, dtype, args[0]).map(ArrayRef::leaf)
        });
        registry.any(name, 0, move |context, _, _| {
            context.session.zeros(dtype, 0).map(ArrayRef::leaf).or_fault()
        });
        let module = statics(&registry.context, name, dtype, |array| Ok(ArrayRef::leaf(array)));
        registry.engine.register_static_module(name, module.into());
    }
    for row in MAKERS {
        let name = format!("FloatC::{}", row.name);
        registry.doc_form(&name, &row.signature(), &row.doc());
    }
}

/// What makes arrays of some types only.
fn further_makers(dtype: DType) -> &'static str {
    if dtype == DType::Mask {
        ""
    } else if dtype.is_float() {
        "arange(start, stop, step), linspace(first, last, n), reinterpret(x), "
    } else {
        "arange(start, stop, step), reinterpret(x), "
    }
}

/// The lane type of a one-dimensional type by its name.
pub(super) fn scalar_type(name: &str) -> Option<DType> {
    scalar_types().find(|(known, _)| *known == name).map(|(_, dtype)| dtype)
}

/// One array of `dtype` from a number, list, array or host array.
pub(super) fn convert(
    context: &Context,
    name: &str,
    dtype: DType,
    value: &Dynamic,
) -> Result<Array> {
    if let Some(array) = value.read_lock::<ArrayRef>() {
        return array.array(name)?.cast(dtype).or_fault();
    }
    if let Some(host) = value.read_lock::<HostRef>() {
        return match host.shape().len() {
            0 | 1 => host.column(&context.session, None)?.cast(dtype).or_fault(),
            _ => Err(fault(format!(
                "{name}: got an ndarray of shape {:?}, expected one dimension (x.ravel() makes it so)",
                host.shape()
            ))),
        };
    }
    if let Some(list) = value.read_lock::<rhai::Array>() {
        return from_list(&context.session, name, dtype, &list);
    }
    match scalar(value) {
        Some(number) => context.session.full(dtype, number, 1).or_fault(),
        None => {
            let got = value::type_name(value);
            let message =
                format!("{name}: got {got}, expected a number, a list, an array or an ndarray");
            Err(match got.as_str() {
                "a range" => fault_with_hint(
                    message,
                    format!("write {name}::arange(3), or {name}::arange(2, 5)"),
                ),
                _ => fault(message),
            })
        }
    }
}

pub(super) fn from_list(
    session: &Session,
    name: &str,
    dtype: DType,
    list: &[Dynamic],
) -> Result<Array> {
    if let Some(joined) = of_tracked(session, name, dtype, list)? {
        return Ok(joined);
    }
    let mut bytes = Vec::with_capacity(list.len() * dtype.bytes());
    for (i, item) in list.iter().enumerate() {
        check_interrupt()?;
        let number = match item.read_lock::<ArrayRef>() {
            Some(array) => lane(name, i, &array.array(name)?)?,
            None => number(name, i, item)?,
        };
        let bits = dtype.encode(number);
        let bits = bits.map_err(|error| fault(format!("{name}: element {i}: {error}")))?;
        bytes.extend_from_slice(&bits.to_le_bytes()[..dtype.bytes()]);
    }
    session.from_bytes(dtype, &bytes).or_fault()
}

/// Lanes of arrays of which some are tracked: what they are made of stays known.
pub(super) fn of_tracked(
    session: &Session,
    name: &str,
    dtype: DType,
    list: &[Dynamic],
) -> Result<Option<Array>> {
    if !dtype.is_float() || !value::is_any(list, &value::is_tracked)? {
        return Ok(None);
    }
    let lanes = list.iter().enumerate().map(|(i, item)| {
        check_interrupt()?;
        let Some(array) = item.read_lock::<ArrayRef>() else {
            return session.full(dtype, number(name, i, item)?, 1).or_fault();
        };
        let array = array.array(name)?;
        match array.size() {
            1 => array.cast(dtype).or_fault(),
            _ => lane(name, i, &array).map(|_| array),
        }
    });
    let lanes = lanes.collect::<Result<Vec<_>>>()?;
    session.concat(&lanes.iter().collect::<Vec<_>>()).map(Some).or_fault()
}

/// A number in a list.
fn number(name: &str, i: usize, item: &Dynamic) -> Result<Scalar> {
    scalar(item).ok_or_else(|| {
        let got = value::type_name(item);
        let message = format!("{name}: element {i} is {got}, expected a number");
        match item.is_array() {
            true => fault_with_hint(message, value::OF_LISTS_IN_LISTS),
            false => fault(message),
        }
    })
}

/// The only lane of an array in a list.
fn lane(name: &str, i: usize, array: &Array) -> Result<Scalar> {
    match array.size() {
        1 => {
            array.refuse_tracked("list").or_fault()?;
            array.item(0).or_fault()
        }
        n => Err(fault_with_hint(
            format!("{name}: element {i} has {n} lanes, expected one"),
            "concat([a, b]) joins arrays",
        )),
    }
}

/// The static functions of a type: of nested types `wrap` makes the value from one array.
pub(super) fn statics(
    context: &Rc<Context>,
    name: &str,
    dtype: DType,
    wrap: impl Fn(Array) -> Result<ArrayRef> + Clone + 'static,
) -> Module {
    let (mut module, of) = (Module::new(), Rc::from(name));
    for row in MAKERS {
        for arity in row.n_required..=row.parameters.len() {
            let wrap = wrap.clone();
            static_function(
                &mut module,
                context,
                (&of, row.name),
                arity,
                move |context, name, args| {
                    let kinds = row.parameters.iter().zip(args);
                    let args = kinds.map(|((_, kind), value)| argument(name, *kind, value));
                    let args = args.collect::<Result<Vec<_>>>()?;
                    let made = lend(&args, |args| row.call_of(Some(dtype), &context.session, args));
                    wrap(made.and_then(Answer::array).or_fault()?)
                },
            );
        }
    }
    module
}

/// An argument of a static function.
fn argument(name: &str, kind: Kind, value: &Dynamic) -> Result<Arg> {
    Ok(Arg::Number(match kind {
        Kind::Count(_) => size_argument(name, Some(value))?.into(),
        Kind::Number(_) | Kind::Scalar(_) => number_argument(name, value)?,
        Kind::Bool(place) => {
            let got = || value::type_name(value);
            let truth = value.as_bool();
            truth
                .map_err(|_| fault(format!("{name}: got {} {place}, expected a bool", got())))?
                .into()
        }
        _ => {
            return match Arg::new(name, value)? {
                Arg::Value(x) => Ok(Arg::Value(ArrayRef::leaf(x.array(name)?))),
                Arg::Number(_) | Arg::Numbers(_) => {
                    Err(fault(format!("{name}: got a number, expected an array")))
                }
            };
        }
    }))
}

/// Adds a static function of a type with arguments of any type; `make` is told its name, `FloatC::zero`.
pub(super) fn static_function<T: Clone + 'static>(
    module: &mut Module,
    context: &Rc<Context>,
    (of, function): (&Rc<str>, &'static str),
    arity: usize,
    make: impl Fn(&Context, &str, &[Dynamic]) -> Result<T> + 'static,
) {
    let registration = FuncRegistration::new(function);
    let (context, of) = (context.clone(), of.clone());
    let call = move |call: Option<NativeCallContext<'_>>, args: &mut [&mut Dynamic]| {
        if let Some(call) = &call {
            context.at(call);
        }
        let args: Vec<Dynamic> = args.iter().map(|arg| (**arg).clone()).collect();
        // Rhai gives errors of qualified functions no place.
        let place = |mut error: Box<EvalAltResult>| {
            if let Some(call) = &call
                && error.position().is_none()
            {
                error.set_position(call.call_position());
            }
            error
        };
        let name = [&of, "::", function].concat();
        let made = make(&context, &name, &args).map(Dynamic::from);
        made.map_err(|error| place(under_name(error, &name)))
    };
    let function = RhaiFunc::Pure {
        func: Rc::new(call),
        has_context: true,
        is_pure: true,
        is_volatile: false,
    };
    let types = vec![TypeId::of::<Dynamic>(); arity];
    registration.set_into_module_raw(module, types, function);
}

fn number_argument(name: &str, value: &Dynamic) -> Result<Scalar> {
    if let Some(array) = value.read_lock::<ArrayRef>()
        && let Ok(array) = array.array(name)
        && array.size() == 1
    {
        array.refuse_tracked("number").or_fault()?;
        return array.item(0).or_fault();
    }
    scalar(value)
        .ok_or_else(|| fault(format!("{name}: got {}, expected a number", value::type_name(value))))
}

pub(super) fn size_argument(name: &str, value: Option<&Dynamic>) -> Result<u64> {
    let Some(value) = value else { return Ok(1) };
    let size = value.as_int().ok().and_then(|size| u64::try_from(size).ok());
    size.ok_or_else(|| {
        let got = value::got(value);
        fault(format!("{name}: size {got}, expected an integer from 0 up"))
    })
}
