//! What makes values of a type: `Float.zeros(3)`, `Matrix4f.look_at(..)`, `zeros((2, 3), dtype=Float64)`.

use std::collections::BTreeSet;

use porcini_core::catalogue::{Answer, MAKERS, Row, TENSOR_MAKERS};
use porcini_core::tensor::Tensor;
use porcini_core::trace::nested::{self, NestedFunction};
use porcini_core::value::{self, Argument, Form, Type};
use porcini_core::{Array, DType, Scalar, Session, Value};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyComplex, PyDict, PyTuple, PyType};

use crate::arguments::{arguments, takes_names, told};
use crate::convert::{Given, answered, drawn, dtype_of, is_sequence, number, number_for, of_list};
use crate::errors::{OrRaise, got, wrong_type};
use crate::home;
use crate::interchange::offers_contents;
use crate::interrupt::blocking;
use crate::lane_type::{LaneType, lane_type, own_type};
use crate::memory::Taking;
use crate::object::{self, PyValue};
use crate::recursion::Level;
use crate::types::{self, Class, Kind as ClassKind};

type Object<'py> = Bound<'py, PyAny>;

/// `Float.zeros(3)`: what a class makes.
#[pyclass(frozen, module = "porcini")]
struct Maker {
    name: &'static str,
}

#[pymethods]
impl Maker {
    fn __get__<'py>(
        &self,
        instance: &Object<'py>,
        class: Option<&Object<'py>>,
    ) -> PyResult<Object<'py>> {
        let none = || PyTypeError::new_err("expected a class");
        let class = class.ok_or_else(none)?.cast::<PyType>()?.clone().unbind();
        let name = self.name;
        let py = instance.py();
        let made = PyCFunction::new_closure(
            py,
            Some(c"maker"),
            // Python reads the parameters off its first line.
            Some(c"maker(*args, **kwargs)\n--\n\nWhat a class makes, as the function of this name does."),
            move |args: &Bound<'_, PyTuple>, named: Option<&Bound<'_, PyDict>>| {
                let (class, args) = (class.bind(args.py()), args.iter().collect::<Vec<_>>());
                made_by(class, name, &args, named.filter(|named| !named.is_empty()))
                    .map(Bound::unbind)
            },
        );
        made.map(Bound::into_any)
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let base = module.py().get_type::<PyValue>();
    let of_rows = MAKERS.iter().chain(TENSOR_MAKERS).map(|row| row.name);
    let of_nested = nested::rows().filter_map(|row| Some(row.name.split_once("::")?.1));
    let others = ["identity", "unravel", "from_rows", "from_cols"];
    let names: BTreeSet<&'static str> = of_rows.chain(of_nested).chain(others).collect();
    for name in names {
        base.setattr(name, Maker { name })?;
    }
    module.add_function(wrap_pyfunction!(asarray, module)?)?;
    module.add_function(wrap_pyfunction!(_operand, module)?)?;
    module.add_function(wrap_pyfunction!(from_dlpack, module)?)?;
    module.add_function(wrap_pyfunction!(_lane_type_name, module)?)?;
    module.add_function(wrap_pyfunction!(opaque, module)?)
}

/// opaque(Float, value, n=1): n lanes of a number that kernels take as data, so that another number needs no other kernel.
#[pyfunction]
#[pyo3(signature = (dtype, value, n=None))]
fn opaque<'py>(
    dtype: &Bound<'py, PyType>,
    value: Object<'py>,
    n: Option<Object<'py>>,
) -> PyResult<Object<'py>> {
    made_by(dtype, "opaque", &[Some(value), n].into_iter().flatten().collect::<Vec<_>>(), None)
}

pub(crate) fn made_by<'py>(
    class: &Bound<'py, PyType>,
    name: &'static str,
    args: &[Object<'py>],
    named: Option<&Bound<'py, PyDict>>,
) -> PyResult<Object<'py>> {
    let py = class.py();
    let session = home::session(py)?;
    let unknown = || {
        let class = class.name().map_or_else(|_| String::new(), |name| name.to_string());
        PyTypeError::new_err(format!(
            "{class} makes no {name}; write {name}(x, ..) without {class}, or {class}({name}(x, ..))"
        ))
    };
    let known = types::kind_of(class)?.ok_or_else(unknown)?;
    if let ClassKind::Nested(nested) = &known.kind
        && let Some(made) = of_nested(session, known, nested, name, (args, named))?
    {
        return object::of(py, made);
    }
    let (rows, dtype) = match &known.kind {
        ClassKind::Lanes(dtype) => (MAKERS, *dtype),
        ClassKind::Nested(nested) => (MAKERS, nested.dtype.unwrap_or(DType::F32)),
        ClassKind::Tensor { dtype, .. } => (TENSOR_MAKERS, dtype.unwrap_or(DType::F32)),
    };
    let named = named.map(|named| size_by_own_name(rows, name, named)).transpose()?;
    let named = named.as_ref();
    let n = args.len() + named.map_or(0, |named| named.len());
    let mut rows = rows.iter().filter(|row| row.name == name);
    let row = rows.clone().find(|row| {
        (row.n_required..=row.parameters.len()).contains(&n) && takes_names(row, args.len(), named)
    });
    let row = row.ok_or_else(|| match rows.next() {
        Some(row) => PyTypeError::new_err(format!(
            "{}.{name}: got {n} arguments, expected {}",
            known.name,
            row.signature()
        )),
        None => unknown(),
    })?;
    let given = arguments(session, row, args, named).map_err(|error| told(py, error))?;
    let args: Vec<Argument<'_>> = given.iter().map(Given::argument).collect();
    let answer = row.call_of(Some(dtype), session, &args.iter().collect::<Vec<_>>()).or_raise()?;
    let value = match (answer, &known.kind) {
        (Answer::Value(Value::Array(array)), ClassKind::Nested(nested)) => {
            nested.filled(&array).or_raise()?
        }
        (Answer::Value(value), ClassKind::Tensor { is_complex, .. }) => {
            let tensor = Argument::from(&value).to_tensor(name).or_raise()?;
            Value::Tensor(if *is_complex { tensor.to_complex().or_raise()? } else { tensor })
        }
        (Answer::Value(value), _) => value,
        _ => return Err(unknown()),
    };
    object::of(py, value)
}

/// Arguments by name with the number of lanes as rows call it, where NumPy has a shape or num.
fn size_by_own_name<'py>(
    rows: &[Row],
    name: &str,
    named: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyDict>> {
    let rows = rows.iter().filter(|row| row.name == name);
    let parameters: Vec<&str> =
        rows.flat_map(|row| row.parameters.iter().map(|(parameter, _)| *parameter)).collect();
    let has = |own| parameters.contains(&own);
    let renamed = named.copy()?;
    for key in ["num", "shape"] {
        if let Some(size) = named.get_item(key)?.filter(|_| !has(key) && has("n")) {
            renamed.del_item(key)?;
            renamed.set_item("n", size)?;
        }
    }
    Ok(renamed)
}

/// What a type of values with components makes besides those of arrays; `None` of other names.
fn of_nested(
    session: &Session,
    class: &Class,
    nested: &Type,
    name: &str,
    (args, named): (&[Object<'_>], Option<&Bound<'_, PyDict>>),
) -> PyResult<Option<Value>> {
    let dtype = nested.dtype.unwrap_or(DType::F32);
    let count = |expected: &str| {
        let got = args.len();
        wrong_type(format!("{}.{name}: got {got} arguments, expected {expected}", class.name))
    };
    let entries = |object: &Object<'_>| entries_of(session, &class.name, dtype, object);
    Ok(Some(match (name, nested.form) {
        ("unravel", _) => match args {
            [one] => match entries(one)? {
                Value::Array(array) => nested.unravel(&array).or_raise()?,
                _ => return Err(count("one array")),
            },
            _ => return Err(count("one array")),
        },
        ("identity", Form::Matrix(_) | Form::Complex | Form::Quaternion) => {
            let size = args.first().map_or(Ok(1), |size| size.extract::<u64>())?;
            let one = session.full(dtype, 1, size).or_raise()?;
            nested.of(session, &Argument::from(&one)).or_raise()?
        }
        ("from_rows" | "from_cols", Form::Matrix(n)) => {
            if args.len() != n {
                return Err(count(&format!("{n} rows")));
            }
            let rows = args.iter().map(entries).collect::<PyResult<Vec<_>>>()?;
            let parts: Vec<Argument<'_>> = rows.iter().map(Argument::from).collect();
            let each: Vec<&Argument<'_>> = parts.iter().flat_map(Argument::components).collect();
            let matrix = nested.of_entries(session, &each).or_raise()?;
            if name == "from_rows" { matrix } else { matrix.call("transpose", &[]).or_raise()? }
        }
        _ => {
            let prefix = format!("{}::", nested.form.word());
            let is_own = |row: &&'static NestedFunction| {
                row.results == [nested.form] && row.name.strip_prefix(&prefix) == Some(name)
            };
            let rows: Vec<&'static NestedFunction> = nested::rows().filter(is_own).collect();
            let Some(row) = rows.first() else { return Ok(None) };
            let values = args.iter().map(entries).collect::<PyResult<Vec<_>>>()?;
            let lent: Vec<Argument<'_>> = values.iter().map(Argument::from).collect();
            let lent: Vec<&Argument<'_>> = lent.iter().collect();
            if !rows.iter().any(|row| value::takes(row, &lent)) {
                let names = named.into_iter().flat_map(|named| named.keys());
                let names = names.map(|key| format!("{key}=.."));
                let got: Vec<String> = args.iter().map(got).chain(names).collect();
                let (class, got) = (&class.name, got.join(", "));
                let expected = value::signature(row.parameters);
                let what = format!("{class}.{name}: got ({got}), expected {expected} by place");
                return Err(wrong_type(what));
            }
            value::call(row.name, &lent).or_raise()?.swap_remove(0)
        }
    }))
}

/// An argument of a type's own function: numbers and lists take its lane type, and lists are vectors.
fn entries_of(session: &Session, name: &str, dtype: DType, object: &Object<'_>) -> PyResult<Value> {
    if is_sequence(object) {
        let _level = Level::enter(object.py())?;
        let parts = object.try_iter()?.map(|part| entries_of(session, name, dtype, &part?));
        return Value::vector(parts.collect::<PyResult<_>>()?).or_raise();
    }
    match Given::expected(session, name, object)? {
        Given::Number(number) => session.full(dtype, number, 1).map(Value::Array).or_raise(),
        given => given.argument().cast(dtype).or_raise(),
    }
}

/// Arguments by name without the type, and the type.
pub(crate) fn without_dtype<'py>(
    named: Option<&Bound<'py, PyDict>>,
) -> PyResult<(Option<Bound<'py, PyDict>>, Option<Object<'py>>)> {
    let Some(named) = named else { return Ok((None, None)) };
    let Some(dtype) = named.get_item("dtype")? else { return Ok((Some(named.clone()), None)) };
    let rest = named.copy()?;
    rest.del_item("dtype")?;
    Ok((Some(rest), Some(dtype).filter(|dtype| !dtype.is_none())))
}

/// The name of the lane type that something says; None of other things.
#[pyfunction]
fn _lane_type_name(object: &Object<'_>) -> Option<&'static str> {
    lane_type(object).ok().map(LaneType::numpy_name)
}

/// Something as an array or tensor: a list, a number, an array of another library, whose memory is shared where that can be:
/// whoever writes there afterwards writes under what is not computed yet. copy=True copies, as array does, and copy=False
/// raises where a list, a number or lanes of another type would be copied. What an operation takes beside arrays, as x + b, is
/// read as it is then.
///
/// >>> pc.asarray([1, 2, 3])
/// [1, 2, 3]
/// >>> pc.asarray([[1, 2], [3, 4]], dtype=pc.Float64).dtype
/// 'float64'
#[pyfunction]
#[pyo3(signature = (object, dtype=None, *, copy=None))]
fn asarray<'py>(
    object: &Object<'py>,
    dtype: Option<&Object<'py>>,
    copy: Option<bool>,
) -> PyResult<Object<'py>> {
    if copy == Some(false) && must_be_copied(object, dtype)? {
        let what = format!("asarray: {} must be copied, got copy=False", got(object));
        return Err(PyValueError::new_err(what));
    }
    let taking = if copy == Some(true) { Taking::Copied } else { Taking::Shared };
    as_array(object, dtype, taking)
}

/// Whether an object has no memory that an array of a type can share.
fn must_be_copied(object: &Object<'_>, dtype: Option<&Object<'_>>) -> PyResult<bool> {
    let asked = dtype.filter(|dtype| !dtype.is_none()).map(lane_type).transpose()?;
    let [asked, own] = [asked, own_type(object)].map(|of| of.map(LaneType::numpy_name));
    let is_other = asked.is_some() && own.is_some() && asked != own;
    let is_number = number(object)?.is_some() || object.is_instance_of::<PyComplex>();
    Ok(is_other || is_number || object.hasattr("__iter__")? && !offers_contents(object))
}

/// As asarray, of what is in memory now: how functions that are written in Python take their operands.
#[pyfunction]
fn _operand<'py>(object: &Object<'py>) -> PyResult<Object<'py>> {
    as_array(object, None, Taking::Now)
}

/// An array or tensor of an array of another library, whose memory is shared as asarray does, by DLPack or in whichever
/// way it offers.
///
/// >>> pc.from_dlpack(pc.Float([1, 2]))
/// [1, 2]
#[pyfunction]
#[pyo3(signature = (x, *, copy=None))]
fn from_dlpack<'py>(x: &Object<'py>, copy: Option<bool>) -> PyResult<Object<'py>> {
    if is_sequence(x) || !x.hasattr("__dlpack__")? {
        return Err(wrong_type(format!(
            "from_dlpack: got {}, expected an array of another library; asarray takes others",
            got(x)
        )));
    }
    asarray(x, None, copy)
}

fn as_array<'py>(
    object: &Object<'py>,
    dtype: Option<&Object<'py>>,
    taking: Taking,
) -> PyResult<Object<'py>> {
    let (py, session) = (object.py(), home::session(object.py())?);
    let asked = dtype.filter(|dtype| !dtype.is_none()).map(lane_type).transpose()?;
    let is_complex = asked.is_some_and(|asked| asked.is_complex);
    let dtype = asked.map(|asked| asked.dtype);
    let list = drawn(object)?;
    let object = list.as_ref().map_or(object, |list| list.as_any());
    if let Some(dtype) = dtype.filter(|dtype| *dtype != DType::Mask && is_sequence(object)) {
        // Numbers must fit, as those of a class: what was an array before is converted, as astype does.
        let value = of_list(session, object, Some(dtype))?;
        return object::of(py, if is_complex { as_complex(&value)? } else { value });
    }
    let own = || own_type(object).map(|own| own.dtype);
    let given = match number_for(object, dtype)? {
        Some(number) => Given::Number(number),
        None => Given::expected_as(session, "asarray", object, taking)?,
    };
    let value = match given {
        Given::Number(number) => {
            let dtype = dtype.or_else(own).unwrap_or_else(|| dtype_of(number));
            session.full(dtype, number, 1).map(Value::Array).or_raise()?
        }
        Given::Value(value) => match dtype {
            Some(dtype) => cast("asarray", &value, dtype)?,
            None => value,
        },
        Given::Complex(re, im) if is_complex || dtype.is_none() => {
            let dtype = dtype.or_else(own).unwrap_or(DType::F32);
            let part = |part: f64| session.full(dtype, part, 1);
            let (re, im) = (part(re).or_raise()?, part(im).or_raise()?);
            Tensor::complex(&re, &im, &[1]).map(Value::Tensor).or_raise()?
        }
        Given::Numbers(_) | Given::Complex(..) => {
            let got = got(object);
            return Err(wrong_type(format!(
                "asarray: got {got}, expected reals; without dtype it is taken as it is"
            )));
        }
    };
    let value = if is_complex { as_complex(&value)? } else { value };
    object::of(py, if matches!(taking, Taking::Copied) { owned(py, &value)? } else { value })
}

/// A value that nobody else can change: what lies in memory of others is copied.
pub(crate) fn owned(py: Python<'_>, value: &Value) -> PyResult<Value> {
    blocking(py, || value.each_array(&mut Array::owned))
}

/// `x.astype(Float64)`
pub(crate) fn converted(value: &Value, dtype: &Object<'_>) -> PyResult<Value> {
    let asked = lane_type(dtype)?;
    let value = cast("astype", value, asked.dtype)?;
    if asked.is_complex { as_complex(&value) } else { Ok(value) }
}

/// A value as lanes of a type; the parts of complex numbers are floats.
fn cast(op: &str, value: &Value, dtype: DType) -> PyResult<Value> {
    let is_complex = match value {
        Value::Tensor(tensor) => tensor.is_complex(),
        value => value.form() == Form::Complex,
    };
    if is_complex && !dtype.is_float() {
        let name = dtype.numpy_name();
        return Err(wrong_type(format!(
            "{op}: got {name} for complex numbers, expected a complex type; pc.real(z) is their real part"
        )));
    }
    Argument::from(value).cast(dtype).or_raise()
}

/// A value as complex numbers: a tensor, unless it has such components.
fn as_complex(value: &Value) -> PyResult<Value> {
    if value.form() == Form::Complex {
        return Ok(value.clone());
    }
    let tensor = Argument::from(value).to_tensor("complex").or_raise()?;
    tensor.to_complex().map(Value::Tensor).or_raise()
}

/// `zeros((2, 3), dtype=Float64)`
pub(crate) fn made_of_type<'py>(
    py: Python<'py>,
    row: &'static Row,
    args: &[Object<'py>],
    named: Option<&Bound<'py, PyDict>>,
    dtype: Option<&Object<'py>>,
) -> PyResult<Object<'py>> {
    let session = home::session(py)?;
    let asked = dtype.map(lane_type).transpose()?;
    // What NumPy's numbers fill has their type.
    let own = args.get(1).filter(|_| row.name == "full").and_then(own_type);
    let asked = asked.or(own);
    // What counts counts in integers, unless it is told floats.
    let given = arguments(session, row, args, named)?;
    let whole = row.name == "arange"
        && given
            .iter()
            .all(|given| matches!(given, Given::Number(Scalar::Int(_) | Scalar::UInt(_))));
    let natural = if whole { DType::I32 } else { DType::F32 };
    let dtype = asked.map_or(natural, |asked| asked.dtype);
    let args: Vec<Argument<'_>> = given.iter().map(Given::argument).collect();
    let answer = row.call_of(Some(dtype), session, &args.iter().collect::<Vec<_>>()).or_raise()?;
    match answer {
        Answer::Value(value) if asked.is_some_and(|asked| asked.is_complex) => {
            object::of(py, as_complex(&value)?)
        }
        answer => answered(py, answer, None),
    }
}
