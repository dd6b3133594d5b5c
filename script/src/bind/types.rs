//! Array types: constructors `FloatC(x)`, static functions `FloatC::arange(n)`.

use std::rc::Rc;

use porcini_core::{Array, DType, Scalar, Session};
use rhai::{Dynamic, EvalAltResult, FnPtr, FuncRegistration, Module, NativeCallContext};

use super::Registry;
use crate::context::Context;
use crate::fault::{IntoFault, Result, fault, fault_with_hint};
use crate::host_array::HostRef;
use crate::value::{self, Arg, ArrayRef, VECTOR_LETTERS, VECTOR_SIZES, scalar};

/// Names of the one-dimensional types.
const SCALAR_TYPES: [(&str, DType); 13] = [
    ("FloatC", DType::F32),
    ("Float32C", DType::F32),
    ("Float64C", DType::F64),
    ("Float16C", DType::F16),
    ("Int8C", DType::I8),
    ("UInt8C", DType::U8),
    ("Int16C", DType::I16),
    ("UInt16C", DType::U16),
    ("Int32C", DType::I32),
    ("UInt32C", DType::U32),
    ("Int64C", DType::I64),
    ("UInt64C", DType::U64),
    ("MaskC", DType::Mask),
];

/// Names of the static functions.
pub(crate) const STATICS: [(&str, &str); 9] = [
    ("zero", "(n)"),
    ("zeros", "(n)"),
    ("ones", "(n)"),
    ("empty", "(n)"),
    ("full", "(value, n)"),
    ("opaque", "(value, n)"),
    ("arange", "(n), (start, stop) or (start, stop, step)"),
    ("linspace", "(first, last, n)"),
    ("reinterpret", "(x)"),
];

/// Help of the static functions, which all types have.
const STATIC_DOCS: [(&str, &str, &str); STATICS.len()] = [
    ("zero", "(n)", "n lanes of 0 (default 1), a literal.\n\n>> FloatC::zero(3)\n[0, 0, 0]"),
    ("zeros", "(n)", "n lanes of 0 (default 1), a literal.\n\n>> UInt32C::zeros(2)\n[0, 0]"),
    ("ones", "(n)", "n lanes of 1 (default 1), a literal.\n\n>> FloatC::ones(3)\n[1, 1, 1]"),
    ("empty", "(n)", "n lanes to be written later; they read 0.\n\n>> FloatC::empty(2)\n[0, 0]"),
    (
        "full",
        "(value, n)",
        "n lanes of a number, a literal.\n\n>> FloatC::full(0.5, 3)\n[0.5, 0.5, 0.5]",
    ),
    (
        "opaque",
        "(value, n)",
        "n lanes of a number as data in memory, so that kernels do not depend on its value.\n\n\
         >> FloatC::opaque(0.5, 2)\n[0.5, 0.5]",
    ),
    (
        "arange",
        "(start, stop, step)",
        "start, start + step and so on up to but not including stop; arange(n) counts from 0, \
         arange(start, stop) by 1. Recorded.\n\n>> Int32C::arange(2, 11, 3)\n[2, 5, 8]",
    ),
    (
        "linspace",
        "(first, last, n)",
        "n numbers at equal distances, both ends exact; one is first. Recorded.\n\n\
         >> FloatC::linspace(0, 1, 5)\n[0, 0.25, 0.5, 0.75, 1]",
    ),
    (
        "reinterpret",
        "(x)",
        "The same bits as another type of the same width.\n\n\
         >> UInt32C::reinterpret(FloatC([1]))\n[1065353216]",
    ),
];

/// Every name that has static functions.
pub(crate) fn type_names() -> Vec<String> {
    let scalars = SCALAR_TYPES.iter().map(|(name, _)| (*name).to_string());
    scalars.chain(vector_types().into_iter().map(|(name, ..)| name)).collect()
}

/// Names of the vector types with their components' number and type; `None` takes any type.
fn vector_types() -> Vec<(String, usize, Option<DType>)> {
    let mut types = Vec::new();
    for n in VECTOR_SIZES {
        for (letter, dtype) in VECTOR_LETTERS {
            types.push((format!("Vector{n}{letter}C"), n, Some(dtype)));
        }
        types.push((format!("Vector{n}C"), n, None));
    }
    types
}

pub(super) fn register(registry: &mut Registry<'_>) {
    for (name, dtype) in SCALAR_TYPES {
        registry.doc(
            name,
            "(value)",
            &format!(
                "Array of {} lanes from a number (one lane), a list, another array (converted) or a \
                 host array. {name}::zero(n), ones(n), full(value, n), empty(n), arange(start, stop, \
                 step), linspace(first, last, n), opaque(value, n), reinterpret(x) make others.\n\n\
                 >> {name}([0, 1])\n[0, 1]",
                dtype.numpy_name()
            ),
        );
        registry.any(name, 1, move |context, call, args| {
            context.at(call);
            convert(context, name, dtype, args[0]).map(ArrayRef::leaf)
        });
        registry.any(name, 0, move |context, _, _| {
            context.session.zeros(dtype, 0).map(ArrayRef::leaf).or_fault()
        });
        let module = statics(&registry.context, name, None, dtype);
        registry.engine.register_static_module(name, module.into());
    }
    for (name, parameters, text) in STATIC_DOCS {
        registry.doc(&format!("FloatC::{name}"), parameters, text);
    }
    for (name, n, dtype) in vector_types() {
        vector_type(registry, &name, n, dtype);
    }
}

/// One array of `dtype` from a number, list, array or host array.
fn convert(context: &Context, name: &str, dtype: DType, value: &Dynamic) -> Result<Array> {
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
        Some(number) => number_array(&context.session, dtype, number, 1),
        None => Err(fault(format!(
            "{name}: got {}, expected a number, a list, an array or an ndarray",
            value::type_name(value)
        ))),
    }
}

/// `size` lanes of a script number, which must be a value of the type.
fn number_array(session: &Session, dtype: DType, number: Scalar, size: u64) -> Result<Array> {
    session.full(dtype, number, size).or_fault()
}

pub(super) fn from_list(
    session: &Session,
    name: &str,
    dtype: DType,
    list: &[Dynamic],
) -> Result<Array> {
    let mut bytes = Vec::with_capacity(list.len() * dtype.bytes());
    for (i, item) in list.iter().enumerate() {
        let number = match item.read_lock::<ArrayRef>() {
            Some(array) => array.array(name)?.item(0).or_fault()?,
            None => scalar(item).ok_or_else(|| {
                let got = value::type_name(item);
                fault(format!("{name}: element {i} is {got}, expected a number"))
            })?,
        };
        let bits = dtype.encode(number);
        let bits = bits.map_err(|error| fault(format!("{name}: element {i}: {error}")))?;
        bytes.extend_from_slice(&bits.to_le_bytes()[..dtype.bytes()]);
    }
    session.from_bytes(dtype, &bytes).or_fault()
}

fn vector_type(registry: &mut Registry<'_>, name: &str, n: usize, dtype: Option<DType>) {
    let ones = vec!["1"; n].join(", ");
    let ones = if dtype == Some(DType::Mask) { ones.replace('1', "true") } else { ones };
    registry.doc(
        name,
        "(x, y, ..)",
        &format!(
            "Vector of {n} arrays: from {n} components, a list of {n}, one value for all, another \
             vector, a function of the component number, or a host array of {n} columns.\n\n\
             >> {name}({ones}).x\n[1]",
        ),
    );
    let owned: Rc<str> = name.into();
    let type_name = owned.clone();
    registry.any(name, 1, move |context, call, args| {
        context.at(call);
        vector_from(context, call, &type_name, n, dtype, args[0])
    });
    let type_name = owned.clone();
    registry.any(name, n, move |context, call, args| {
        context.at(call);
        let parts: Vec<Dynamic> = args.iter().map(|arg| (**arg).clone()).collect();
        vector_of(context, &type_name, dtype, &parts)
    });
    if let Some(dtype) = dtype {
        let module = statics(&registry.context, &owned, Some(n), dtype);
        registry.engine.register_static_module(name, module.into());
    }
}

fn vector_from(
    context: &Context,
    call: &NativeCallContext<'_>,
    name: &str,
    n: usize,
    dtype: Option<DType>,
    value: &Dynamic,
) -> Result<ArrayRef> {
    let parts: Vec<Dynamic> = if let Some(array) = value.read_lock::<ArrayRef>() {
        match array.components() {
            Some(components) => components.into_iter().map(Dynamic::from).collect(),
            None => vec![value.clone(); n],
        }
    } else if let Some(list) = value.read_lock::<rhai::Array>() {
        list.clone()
    } else if let Some(each) = value.read_lock::<FnPtr>() {
        let each = each.clone();
        let part = |i: usize| {
            let i = i64::try_from(i).unwrap_or(i64::MAX);
            each.call_within_context::<Dynamic>(call, (i,))
        };
        (0..n).map(part).collect::<Result<_>>()?
    } else if let Some(host) = value.read_lock::<HostRef>() {
        columns(context, name, n, &host)?
    } else {
        vec![value.clone(); n]
    };
    if parts.len() != n {
        return Err(fault(format!("{name}: got {} components, expected {n}", parts.len())));
    }
    vector_of(context, name, dtype, &parts)
}

fn columns(context: &Context, name: &str, n: usize, host: &HostRef) -> Result<Vec<Dynamic>> {
    let shape = host.shape();
    if shape.len() != 2 || shape[1] != n {
        return Err(fault(format!(
            "{name}: got an ndarray of shape {shape:?}, expected [lanes, {n}]"
        )));
    }
    let column = |i| host.column(&context.session, Some(i)).map(ArrayRef::leaf).map(Dynamic::from);
    (0..n).map(column).collect()
}

fn vector_of(
    context: &Context,
    name: &str,
    dtype: Option<DType>,
    parts: &[Dynamic],
) -> Result<ArrayRef> {
    let component = |part: &Dynamic| match dtype {
        Some(dtype) => convert(context, name, dtype, part).map(ArrayRef::leaf),
        None => match Arg::new(name, part)? {
            Arg::Value(value) => Ok(value.copy()),
            Arg::Number(number) => {
                number_array(&context.session, DType::of(number), number, 1).map(ArrayRef::leaf)
            }
        },
    };
    let components: Vec<ArrayRef> = parts.iter().map(component).collect::<Result<_>>()?;
    let vector = ArrayRef::vector(components);
    match vector.lanes() {
        Some(_) => Ok(vector),
        None => {
            let sizes: Vec<String> =
                vector.leaves().iter().map(|leaf| leaf.size().to_string()).collect();
            Err(fault_with_hint(
                format!("{name}: components of sizes {}", sizes.join(", ")),
                "components need equal sizes, or size 1",
            ))
        }
    }
}

/// The static functions of a type: of `Vector3fC` they make every component alike.
fn statics(context: &Rc<Context>, name: &str, n: Option<usize>, dtype: DType) -> Module {
    let mut module = Module::new();
    let mut add = |function: &str, arity: usize, make: Maker| {
        let maker = StaticFunction {
            context: context.clone(),
            name: format!("{name}::{function}"),
            components: n,
            dtype,
            make,
        };
        maker.register(&mut module, function, arity);
    };
    for (function, number) in [("zero", 0), ("zeros", 0), ("ones", 1), ("empty", 0)] {
        let make: Maker = match (function, number) {
            (_, 1) => {
                |session, name, dtype, args| full(session, name, dtype, 1.into(), args.first())
            }
            _ => |session, name, dtype, args| full(session, name, dtype, 0.into(), args.first()),
        };
        add(function, 0, make);
        add(function, 1, make);
    }
    for arity in [1, 2] {
        add("full", arity, |session, name, dtype, args| {
            full(session, name, dtype, number_argument(name, &args[0])?, args.get(1))
        });
        add("opaque", arity, |session, name, dtype, args| {
            let size = size_argument(name, args.get(1))?;
            session.opaque(dtype, number_argument(name, &args[0])?, size).or_fault()
        });
    }
    for arity in [1, 2, 3] {
        add("arange", arity, arange);
    }
    add("linspace", 3, |session, name, dtype, args| {
        let (first, last) = (number_argument(name, &args[0])?, number_argument(name, &args[1])?);
        session.linspace(dtype, first, last, size_argument(name, args.get(2))?).or_fault()
    });
    add("reinterpret", 1, |_, name, dtype, args| match Arg::new(name, &args[0])? {
        Arg::Value(x) => x.array(name)?.reinterpret(dtype).or_fault(),
        Arg::Number(_) => Err(fault(format!("{name}: got a number, expected an array"))),
    });
    module
}

/// One static function of a type.
struct StaticFunction {
    context: Rc<Context>,
    name: String,
    /// Components of a vector type.
    components: Option<usize>,
    dtype: DType,
    make: Maker,
}

impl StaticFunction {
    fn register(self, module: &mut Module, function: &str, arity: usize) {
        type Call<'c> = NativeCallContext<'c>;
        let entry = FuncRegistration::new(function);
        match arity {
            0 => entry.set_into_module(module, move |call: Call<'_>| self.call(&call, &[])),
            1 => entry
                .set_into_module(module, move |call: Call<'_>, a: Dynamic| self.call(&call, &[a])),
            2 => entry.set_into_module(module, move |call: Call<'_>, a: Dynamic, b: Dynamic| {
                self.call(&call, &[a, b])
            }),
            _ => entry.set_into_module(
                module,
                move |call: Call<'_>, a: Dynamic, b: Dynamic, c: Dynamic| {
                    self.call(&call, &[a, b, c])
                },
            ),
        };
    }

    fn call(&self, call: &NativeCallContext<'_>, args: &[Dynamic]) -> Result<ArrayRef> {
        self.context.at(call);
        // Rhai gives errors of qualified functions no place.
        let place = |mut error: Box<EvalAltResult>| {
            if error.position().is_none() {
                error.set_position(call.call_position());
            }
            error
        };
        let array = (self.make)(&self.context.session, &self.name, self.dtype, args);
        let array = array.map_err(place)?;
        Ok(match self.components {
            None => ArrayRef::leaf(array),
            Some(n) => ArrayRef::vector((0..n).map(|_| ArrayRef::leaf(array.clone())).collect()),
        })
    }
}

type Maker = fn(&Session, &str, DType, &[Dynamic]) -> Result<Array>;

fn full(
    session: &Session,
    name: &str,
    dtype: DType,
    number: Scalar,
    size: Option<&Dynamic>,
) -> Result<Array> {
    session.full(dtype, number, size_argument(name, size)?).or_fault()
}

fn arange(session: &Session, name: &str, dtype: DType, args: &[Dynamic]) -> Result<Array> {
    let numbers = args.iter().map(|arg| number_argument(name, arg)).collect::<Result<Vec<_>>>()?;
    let (start, stop, step) = match *numbers {
        [stop] => (0.into(), stop, 1.into()),
        [start, stop] => (start, stop, 1.into()),
        [start, stop, step] => (start, stop, step),
        _ => return Err(fault(format!("{name}: expected 1 to 3 arguments"))),
    };
    session.arange(dtype, start, stop, step).or_fault()
}

fn number_argument(name: &str, value: &Dynamic) -> Result<Scalar> {
    if let Some(array) = value.read_lock::<ArrayRef>()
        && let Ok(array) = array.array(name)
        && array.size() == 1
    {
        return array.item(0).or_fault();
    }
    scalar(value)
        .ok_or_else(|| fault(format!("{name}: got {}, expected a number", value::type_name(value))))
}

fn size_argument(name: &str, value: Option<&Dynamic>) -> Result<u64> {
    let Some(value) = value else { return Ok(1) };
    let size = value.as_int().ok().and_then(|size| u64::try_from(size).ok());
    size.ok_or_else(|| {
        let got = scalar(value).map_or_else(|| value::type_name(value), |n| n.to_string());
        fault(format!("{name}: size {got}, expected an integer from 0 up"))
    })
}
