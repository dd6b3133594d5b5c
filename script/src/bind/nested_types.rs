//! The types of vectors, matrices, complex numbers and quaternions: constructors and static functions.

use std::rc::Rc;

use porcini_core::DType;
use porcini_core::tensor::Tensor;
use porcini_core::trace::nested::{NestedFunction, rows};
use porcini_core::value::{Argument, Type, signature};
use rhai::{Dynamic, FnPtr, Module, NativeCallContext};

use super::many_arguments::{self, FEW};
use super::registry::Registry;
use super::types::{convert, size_argument, static_function, statics};
use crate::context::Context;
use crate::diagnose::diagnosis::LISTED;
use crate::fault::{IntoFault, Result, fault, fault_with_hint};
use crate::value::host_array::HostRef;
use crate::value::to_core;
use crate::value::{Arg, ArrayRef, Form, Node, scalar, type_name};

/// Help of the static functions that are made here.
const STATIC_DOCS: [(&str, &str, &str); 5] = [
    (
        "Matrix3fC::identity",
        "(n)",
        "n lanes of the identity matrix (default 1), a literal.\n\n\
         >> Matrix2fC::identity()\n[[[1, 0], [0, 1]]]",
    ),
    (
        "Quaternion4fC::identity",
        "(n)",
        "n lanes of the number 1 (default 1), a literal.\n\n\
         >> Quaternion4fC::identity()\n[1 + 0i + 0j + 0k]",
    ),
    (
        "Matrix3fC::from_rows",
        "(a, b, c)",
        "The matrix with these rows, lists or vectors.\n\n\
         >> Matrix2fC::from_rows([1, 2], [3, 4])\n[[[1, 2], [3, 4]]]",
    ),
    (
        "Matrix3fC::from_cols",
        "(a, b, c)",
        "The matrix with these columns, lists or vectors.\n\n\
         >> Matrix2fC::from_cols([1, 2], [3, 4])\n[[[1, 3], [2, 4]]]",
    ),
    (
        "Vector3fC::unravel",
        "(a)",
        "The vector of an array x0 y0 z0 x1 y1 z1 .. (or a list), which ravel(v) makes; so have all types of vectors, \
         matrices (row by row), complex numbers and quaternions. Recorded, not run.\n\n\
         >> Vector2fC::unravel(FloatC([1, 3, 2, 4]))\n[[1, 3],\n [2, 4]]",
    ),
];

pub(super) fn register(registry: &mut Registry<'_>) {
    for (name, parameters, text) in STATIC_DOCS {
        registry.doc(name, parameters, text);
    }
    let mut many = Vec::new();
    for nested in Type::all() {
        let (parameters, doc) = help(&nested);
        registry.doc(&nested.name, parameters, &format!("{doc}\n\n>> {}", example(&nested)));
        let owned = nested.clone();
        registry.any(&nested.name, 1, move |context, call, args| {
            if call.fn_source() != Some(LISTED) {
                context.at(call);
            }
            make(&owned, context, call, args[0])
        });
        let n_entries = nested.form.n_entries();
        let arities = match nested.form {
            Form::Quaternion => vec![2, 4],
            // Vectors may be among the components.
            Form::Vector(n) => (2..=n).collect(),
            // Vectors are columns or rows: the error says how to say which.
            Form::Matrix(n) => vec![n, n_entries],
            Form::Scalar | Form::Tensor | Form::Complex => vec![n_entries],
        };
        for arity in arities {
            if arity > FEW {
                many.push((nested.name.to_string(), arity));
                continue;
            }
            let owned = nested.clone();
            registry.any(&nested.name, arity, move |context, call, args| {
                context.at(call);
                let parts: Vec<Dynamic> = args.iter().map(|arg| (**arg).clone()).collect();
                of_entries(&owned, context, &parts)
            });
        }
        if let Some(dtype) = nested.dtype {
            let wrapped = nested.clone();
            let mut module = statics(&registry.context, &nested.name, dtype, move |array| {
                wrapped.filled(&array).map(ArrayRef::from).or_fault()
            });
            add_statics(&nested, registry, &mut module, dtype);
            registry.engine.register_static_module(&nested.name, module.into());
        }
    }
    many_arguments::register(registry.engine, &many);
}

fn help(nested: &Type) -> (&'static str, String) {
    let (name, n) = (&nested.name, nested.form.n_components());
    // Without a type of parts a name makes no values by itself.
    let floats = if nested.dtype.is_some() { name } else { "Quaternion4fC" };
    match nested.form {
        // One is a case of its own in English.
        Form::Vector(1) => (
            "(x)",
            "Vector of one array: from its component, a list of it, another vector, a function of the component number, or \
             a host array of one column."
                .into(),
        ),
        Form::Scalar | Form::Tensor | Form::Vector(_) => (
            ["()", "(x)", "(x, y)", "(x, y, z)", "(x, y, z, w)"][n.min(4)],
            format!(
                "Vector of {n} arrays: from {n} components (of smaller vectors, too), a list of {n}, one value for all, another \
                 vector, a function of the component number, or a host array of {n} columns."
            ),
        ),
        Form::Complex => (
            "(re, im)",
            "Complex number: from real and imaginary part, a list of both, a real number, another complex \
             number, or a host array of 2 columns. z.real and z.imag are its parts."
                .into(),
        ),
        Form::Quaternion => (
            "(x, y, z, w)",
            format!(
                "Quaternion w + xi + yj + zk: from its parts (w comes last), a vector of 3 and w, a list, a \
                 real number or another quaternion. {floats}::identity() and {floats}::rotate(axis, angle) make others."
            ),
        ),
        Form::Matrix(_) => (
            "(rows)",
            format!(
                "Matrix of {n} rows and columns: from a list of rows, {} numbers row by row, a number (times \
                 the identity), a function of row and column, or another matrix (cut, or filled up with \
                 the identity). m[j] is column j, m[[i, j]] the entry in row i and column j. \
                 `*` is the matrix product, and so are m ** 2, sqr and fma; rcp is the inverse; m + 1 adds to \
                 the diagonal. Other functions of numbers go entry by entry.",
                n * n
            ),
        ),
    }
}

fn example(nested: &Type) -> String {
    let name = &nested.name;
    let one = if nested.dtype == Some(DType::Mask) { "true" } else { "1" };
    match nested.form {
        Form::Scalar | Form::Tensor => format!("{name}({one})\n[1]"),
        Form::Vector(n) => format!("{name}({}).x\n[1]", vec![one; n].join(", ")),
        Form::Complex => format!("{name}(1, 2)\n[1 + 2i]"),
        Form::Quaternion => format!("{name}(1, 2, 3, 4)\n[4 + 1i + 2j + 3k]"),
        Form::Matrix(2) => format!("{name}([[1, 2], [3, 4]])\n[[[1, 2], [3, 4]]]"),
        Form::Matrix(n) => {
            let one = |i: usize, j: usize| if i == j { "1" } else { "0" };
            let row = |i: usize| (0..n).map(|j| one(i, j)).collect::<Vec<_>>().join(", ");
            let rows: Vec<String> = (0..n).map(|i| format!("[{}]", row(i))).collect();
            format!("{name}(1)\n[[{}]]", rows.join(", "))
        }
    }
}

fn make(
    nested: &Type,
    context: &Context,
    call: &NativeCallContext<'_>,
    value: &Dynamic,
) -> Result<ArrayRef> {
    if let Some(list) = value.read_lock::<rhai::Array>() {
        return of_list(nested, context, &list);
    }
    if let Some(each) = value.read_lock::<FnPtr>() {
        return of_function(nested, context, call, &each.clone());
    }
    if let Some(host) = value.read_lock::<HostRef>() {
        return of_host(nested, context, &host);
    }
    if let Some(value) = value.read_lock::<ArrayRef>()
        && let Node::Tensor(tensor) = &*value.node()
    {
        return of_tensor(nested, tensor);
    }
    converted(nested, context, &argument(nested, context, value)?)
}

fn converted(nested: &Type, context: &Context, value: &Arg) -> Result<ArrayRef> {
    let value =
        to_core::lend(std::slice::from_ref(value), |args| nested.of(&context.session, args[0]));
    value.map(ArrayRef::from).or_fault()
}

/// What an entry is made of: an array of a list or host array where the lane type is known.
fn argument(nested: &Type, context: &Context, entry: &Dynamic) -> Result<Arg> {
    match nested.dtype {
        Some(dtype) if scalar(entry).is_none() && !entry.is::<ArrayRef>() => {
            convert(context, &nested.name, dtype, entry)
                .map(|array| Arg::Value(ArrayRef::leaf(array)))
        }
        _ => Arg::new(&nested.name, entry),
    }
}

fn of_entries(nested: &Type, context: &Context, entries: &[Dynamic]) -> Result<ArrayRef> {
    if entries.iter().any(has_axes) {
        return of_parts(nested, context, entries);
    }
    let entries = entries.iter().map(|entry| argument(nested, context, entry));
    let entries = entries.collect::<Result<Vec<_>>>()?;
    let value = to_core::lend(&entries, |entries| nested.of_entries(&context.session, entries));
    value.map(ArrayRef::from).or_fault()
}

/// Whether a value is a tensor that is no array: of two axes or more.
fn has_axes(value: &Dynamic) -> bool {
    let value = value.read_lock::<ArrayRef>();
    value.is_some_and(
        |value| matches!(&*value.node(), Node::Tensor(tensor) if tensor.shape().rank() > 1),
    )
}

/// Real and imaginary parts that are tensors are those of a tensor of complex numbers; other components have no type.
fn of_parts(nested: &Type, context: &Context, parts: &[Dynamic]) -> Result<ArrayRef> {
    let (name, form) = (&nested.name, nested.form);
    let [real, imag] = parts else { return Err(no_tensors(name, form)) };
    if form != Form::Complex {
        return Err(no_tensors(name, form));
    }
    let part = |part: &Dynamic| {
        let made = Arg::new(name, part)?;
        let tensor = to_core::lend(&[made], |args| args[0].as_tensor(name)).or_fault()?;
        let number = |number| context.session.full(nested.dtype.unwrap_or(DType::F32), number, 1);
        match (tensor, scalar(part)) {
            (Some(tensor), _) => Ok(tensor),
            (None, Some(one)) => Ok(Tensor::from(&number(one).or_fault()?)),
            (None, None) => Err(no_tensors(name, form)),
        }
    };
    let (real, imag) = (part(real)?, part(imag)?);
    let made = real.with_imaginary(&imag, nested.dtype).or_fault()?;
    Ok(ArrayRef::tensor(made))
}

fn no_tensors(name: &str, form: Form) -> Box<rhai::EvalAltResult> {
    let remedy = match form {
        Form::Vector(_) => "stack([x, y], -1) is the tensor with the components as its last axis",
        Form::Complex => "TensorXcC(re, im) is the tensor of complex numbers of two of one shape",
        _ => "ravel(t) is the array of a tensor's entries",
    };
    fault_with_hint(format!("{name}: got a tensor, expected arrays of one dimension"), remedy)
}

/// A matrix from its rows; else entries.
fn of_list(nested: &Type, context: &Context, list: &[Dynamic]) -> Result<ArrayRef> {
    let n = match nested.form {
        Form::Matrix(n) if list.len() == n => n,
        _ => return of_entries(nested, context, list),
    };
    let mut entries = Vec::with_capacity(n * n);
    for row in list {
        let row: Vec<Dynamic> = if let Some(row) = row.read_lock::<rhai::Array>() {
            row.clone()
        } else if let Some(row) = row.read_lock::<ArrayRef>().and_then(|row| row.components()) {
            row.into_iter().map(Dynamic::from).collect()
        } else {
            let got = type_name(row);
            return Err(fault(format!("{}: a row is {got}, expected a list", nested.name)));
        };
        if row.len() != n {
            let got = row.len();
            return Err(fault(format!("{}: a row of {got}, expected {n}", nested.name)));
        }
        entries.extend(row);
    }
    of_entries(nested, context, &entries)
}

fn of_function(
    nested: &Type,
    context: &Context,
    call: &NativeCallContext<'_>,
    each: &FnPtr,
) -> Result<ArrayRef> {
    let number = |i: usize| i64::try_from(i).unwrap_or(i64::MAX);
    let entry = |i: usize| match nested.form {
        Form::Matrix(n) => {
            each.call_within_context::<Dynamic>(call, (number(i / n), number(i % n)))
        }
        _ => each.call_within_context::<Dynamic>(call, (number(i),)),
    };
    let entries = (0..nested.form.n_entries()).map(entry).collect::<Result<Vec<_>>>()?;
    of_entries(nested, context, &entries)
}

/// The extents of a value: those of its entries, of a matrix row by row.
fn inner_extents(nested: &Type) -> Vec<usize> {
    match nested.form {
        Form::Matrix(n) => vec![n; 2],
        form => vec![form.n_components()],
    }
}

/// Lanes are the first axis, the entries the others; without lanes there is one. Complex entries are complex numbers.
fn of_tensor(nested: &Type, tensor: &Tensor) -> Result<ArrayRef> {
    let parts = tensor.entries().or_fault()?;
    if let (Form::Complex, [real, imag]) = (nested.form, &parts[..])
        && tensor.shape().rank() <= 1
    {
        let parts = [real, imag].map(Argument::Array);
        let made = nested.of_entries(real.session(), &parts.iter().collect::<Vec<_>>());
        return made.map(ArrayRef::from).or_fault();
    }
    let inner: Vec<u64> = inner_extents(nested).into_iter().map(|n| n as u64).collect();
    let extents = tensor.shape().extents();
    let fits = extents == inner || extents.get(1..) == Some(&inner[..]);
    match &parts[..] {
        [lanes] if fits => nested.unravel(lanes).map(ArrayRef::from).or_fault(),
        _ => {
            let words: Vec<String> = inner.iter().map(ToString::to_string).collect();
            let (name, got, shape) = (&nested.name, tensor.type_name(), tensor.shape());
            let message = format!(
                "{name}: got {got} of shape {shape}, expected [lanes, {}]",
                words.join(", ")
            );
            Err(match nested.form {
                Form::Complex => fault_with_hint(
                    message,
                    "TensorXcC(t) is the tensor of its entries as complex numbers",
                ),
                _ => fault(message),
            })
        }
    }
}

/// Lanes are the first extent, the entries (of matrices row by row) the others.
fn of_host(nested: &Type, context: &Context, host: &HostRef) -> Result<ArrayRef> {
    let shape = host.shape();
    let inner = inner_extents(nested);
    if shape.get(1..) != Some(&inner[..]) {
        let inner: Vec<String> = inner.iter().map(ToString::to_string).collect();
        return Err(fault(format!(
            "{}: got an ndarray of shape {shape:?}, expected [lanes, {}]",
            nested.name,
            inner.join(", ")
        )));
    }
    let all = host.ravel()?.column(&context.session, None)?;
    nested.unravel(&all).map(ArrayRef::from).or_fault()
}

/// `identity`, `from_rows`, `rotate`, …: the rows of the table that are called `Matrix::…` or
/// `Quaternion::…` and give this type.
fn add_statics(nested: &Type, registry: &mut Registry<'_>, module: &mut Module, dtype: DType) {
    let context = registry.context.clone();
    let (owned, of) = (nested.clone(), Rc::from(&*nested.name));
    static_function(module, &context, (&of, "unravel"), 1, move |context, name, args| {
        let entries = convert(context, name, dtype, &args[0])?;
        owned.unravel(&entries).map(ArrayRef::from).or_fault()
    });
    if !nested.form.is_vector() {
        for arity in [0, 1] {
            let owned = nested.clone();
            static_function(
                module,
                &context,
                (&of, "identity"),
                arity,
                move |context, name, args| {
                    let size = size_argument(name, args.first())?;
                    let one = context.session.full(dtype, 1, size).or_fault()?;
                    converted(&owned, context, &Arg::Value(ArrayRef::leaf(one)))
                },
            );
        }
    }
    if let Form::Matrix(n) = nested.form {
        for (function, by_columns) in [("from_rows", false), ("from_cols", true)] {
            let owned = nested.clone();
            static_function(module, &context, (&of, function), n, move |context, _, args| {
                let rows = of_list(&owned, context, args)?;
                if !by_columns {
                    return Ok(rows);
                }
                Ok(to_core::call("transpose", &[Arg::Value(rows)])?.remove(0))
            });
        }
    }
    let prefix = format!("{}::", nested.form.word());
    for row in rows().filter(|row| row.results == [nested.form]) {
        let Some(function) = row.name.strip_prefix(&prefix) else { continue };
        if dtype == DType::F32 {
            let name = format!("{}::{function}", nested.name);
            registry.doc_form(&name, &signature(row.parameters), row.doc);
        }
        let arity = row.parameters.len();
        static_function(module, &context, (&of, function), arity, move |context, name, args| {
            call_static(context, name, row, dtype, args)
        });
    }
}

/// Calls a row with arguments converted to `dtype`; lists are vectors.
fn call_static(
    context: &Context,
    name: &str,
    row: &'static NestedFunction,
    dtype: DType,
    args: &[Dynamic],
) -> Result<ArrayRef> {
    let argument = |value: &Dynamic| {
        if let Some(list) = value.read_lock::<rhai::Array>() {
            let parts = list.iter().map(|part| convert(context, name, dtype, part));
            let parts = parts.map(|part| part.map(ArrayRef::leaf));
            return Ok(Arg::Value(ArrayRef::vector(parts.collect::<Result<_>>()?)));
        }
        if let Some(number) = scalar(value) {
            let number = context.session.full(dtype, number, 1).or_fault()?;
            return Ok(Arg::Value(ArrayRef::leaf(number)));
        }
        let value = Arg::new(name, value)?;
        let converted = to_core::lend(&[value], |args| args[0].cast(dtype)).or_fault()?;
        Ok(Arg::Value(converted.into()))
    };
    let args = args.iter().map(argument).collect::<Result<Vec<_>>>()?;
    if !to_core::takes(row, &args) {
        let types: Vec<String> = args.iter().map(Arg::type_name).collect();
        let (got, expected) = (types.join(", "), signature(row.parameters));
        return Err(fault(format!("{name}: got ({got}), expected {expected}")));
    }
    Ok(to_core::call(row.name, &args)?.remove(0))
}
