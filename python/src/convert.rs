//! Python objects as what core takes, and what core gives as Python objects.

use porcini_core::catalogue::Answer;
use porcini_core::tensor::Tensor;
use porcini_core::{Array, DType, Scalar, Session, Value};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyComplex, PyFloat, PyFrozenSet, PyInt, PyList, PyRange, PySet, PyString, PyTuple,
    PyType,
};

use crate::buffers::check_unmasked;
use crate::errors::{OrRaise, got, wrong_type};
use crate::given::integer;
pub(crate) use crate::given::{Given, dtype_of, number, number_for, plain_number};
use crate::interchange::{self, is_foreign};
use crate::lane_type::own_type;
use crate::memory::Taking;
use crate::object::{self, PyValue};

/// Lists in lists deeper than any tensor has axes.
const MOST_AXES: usize = 16;

/// Elements of a list between looks at Ctrl-C.
const LOOK: usize = 1 << 14;

impl Given {
    /// What an object is now, if it is something that has lanes, entries or is a number.
    pub(crate) fn of(session: &Session, object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        Self::taken(session, object, Taking::Now)
    }

    /// As [`Given::of`]; says what becomes of memory of others.
    fn taken(
        session: &Session,
        object: &Bound<'_, PyAny>,
        taking: Taking,
    ) -> PyResult<Option<Self>> {
        if let Ok(value) = object.cast::<PyValue>() {
            return Ok(Some(Self::Value(value.get().value().clone())));
        }
        if let Some(number) = number(object)? {
            return Ok(Some(Self::Number(number)));
        }
        if let Ok(z) = object.cast::<PyComplex>() {
            return Ok(Some(Self::Complex(z.real(), z.imag())));
        }
        if is_sequence(object) {
            return Ok(Some(Self::Value(of_list(session, object, None)?)));
        }
        if object.is_instance_of::<PyType>() {
            // A class has the methods of its objects; they are none of its own.
            return Ok(None);
        }
        if let Some(host) = interchange::taken(session, object, taking)? {
            return Ok(Some(host));
        }
        // Numbers of other libraries: they say so by these methods.
        if object.hasattr("__index__")? {
            return integer(&object.call_method0("__index__")?).map(Self::Number).map(Some);
        }
        if object.hasattr("__float__")? {
            let number = object.call_method0("__float__")?.extract::<f64>()?;
            return Ok(Some(Self::Number(Scalar::Float(number))));
        }
        Ok(None)
    }

    /// As [`Given::of`], of what stands beside lanes of a type.
    pub(crate) fn beside(
        session: &Session,
        object: &Bound<'_, PyAny>,
        dtype: impl FnOnce() -> Option<DType>,
    ) -> PyResult<Option<Self>> {
        let is_integer = object.is_exact_instance_of::<PyInt>();
        let dtype = if is_integer || is_sequence(object) { dtype() } else { None };
        match dtype {
            Some(_) if is_integer => Ok(number_for(object, dtype)?.map(Self::Number)),
            Some(dtype) => of_list_beside(session, object, dtype).map(Self::Value).map(Some),
            None => Self::of(session, object),
        }
    }

    /// As [`Given::of`]; an error that names the function otherwise.
    pub(crate) fn expected(
        session: &Session,
        op: &str,
        object: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        Self::expected_as(session, op, object, Taking::Now)
    }

    /// As [`Given::expected`], of what stands beside lanes of a type.
    pub(crate) fn expected_beside(
        session: &Session,
        op: &str,
        object: &Bound<'_, PyAny>,
        dtype: impl FnOnce() -> Option<DType>,
    ) -> PyResult<Self> {
        Self::beside(session, object, dtype)?.ok_or_else(|| unknown(op, object))
    }

    /// As [`Given::expected`], of what a user makes an array of; says what becomes of memory of others.
    pub(crate) fn expected_as(
        session: &Session,
        op: &str,
        object: &Bound<'_, PyAny>,
        taking: Taking,
    ) -> PyResult<Self> {
        Self::taken(session, object, taking)?.ok_or_else(|| unknown(op, object))
    }
}

fn unknown(op: &str, object: &Bound<'_, PyAny>) -> PyErr {
    wrong_type(format!("{op}: got {}, expected an array or a number", got(object)))
}

/// Whether an object is a list, a tuple or a range.
pub(crate) fn is_sequence(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyList>()
        || object.is_instance_of::<PyTuple>()
        || object.is_instance_of::<PyRange>()
}

/// What an object gives that can only be gone through, such as a generator or a view of a dictionary, as a list; `None` of
/// others, and of what is no array in any order: texts, sets and mappings.
pub(crate) fn drawn<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyList>>> {
    let is_one_thing = is_sequence(object)
        || is_pythons(object)
        || object.is_instance_of::<PyValue>()
        || object.is_instance_of::<PyString>()
        || object.is_instance_of::<PyType>()
        || object.is_instance_of::<PySet>()
        || object.is_instance_of::<PyFrozenSet>();
    if is_one_thing
        || !object.hasattr("__iter__")?
        || object.hasattr("keys")?
        || interchange::offers_contents(object)
    {
        return Ok(None);
    }
    let list = PyList::empty(object.py());
    for (i, item) in object.try_iter()?.enumerate() {
        if i.is_multiple_of(LOOK) {
            object.py().check_signals()?;
        }
        list.append(item?)?;
    }
    Ok(Some(list))
}

/// A number that a list may hold, of lanes of a type: also an array of one lane, and numbers of other libraries.
fn item(object: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Scalar> {
    if let Some(number) = number_for(object, dtype)? {
        return Ok(number);
    }
    if let Ok(value) = object.cast::<PyValue>() {
        let value = value.get().value().clone();
        return match value {
            Value::Array(one) if one.size() == 1 => {
                let value = Value::Array(one.clone());
                object::check_read("a list of numbers", &value)?;
                object::warn_of_read(object.py(), &value)?;
                object::lane(object.py(), &one, 0)
            }
            other => Err(PyValueError::new_err(format!(
                "got an array of {} lanes in a list, expected numbers; concat([a, b]) joins arrays, stack([a, b]) makes rows of them",
                other.lanes().unwrap_or_default()
            ))),
        };
    }
    if object.hasattr("__index__")? {
        return integer(&object.call_method0("__index__")?);
    }
    if object.hasattr("__float__")? && !object.is_instance_of::<PyString>() {
        return Ok(Scalar::Float(object.call_method0("__float__")?.extract()?));
    }
    Err(wrong_type(format!("got {} in a list, expected numbers", got(object))))
}

/// A number of another library as one of Python's; other objects as they are.
fn pythons_own<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let is_number = is_pythons(object) || object.is_instance_of::<PyValue>();
    if is_number || !object.hasattr("dtype")? || !object.hasattr("item")? {
        return Ok(object.clone());
    }
    check_unmasked(object)?;
    object.call_method0("item")
}

fn is_pythons(object: &Bound<'_, PyAny>) -> bool {
    object.is_exact_instance_of::<PyFloat>()
        || object.is_exact_instance_of::<PyInt>()
        || object.is_exact_instance_of::<PyBool>()
        || object.is_exact_instance_of::<PyComplex>()
}

/// The type of the lanes that a number of another library, or an array of one lane, says; `None` of Python's own numbers.
fn dtype_of_item(object: &Bound<'_, PyAny>) -> Option<DType> {
    if is_pythons(object) { None } else { own_type(object).map(|own| own.dtype) }
}

/// Numbers of lists in lists, row by row, and how many each list has.
#[derive(Default)]
struct Entries {
    numbers: Vec<Scalar>,
    imaginary: Option<Vec<f64>>,
    shape: Vec<usize>,
    /// The type that is asked for, so that what numbers say does not matter.
    asked: Option<DType>,
    /// Whether a number says its type: those of Python's own do not.
    says_type: bool,
    /// The type that the numbers so far have in common.
    common: Option<DType>,
}

impl Entries {
    fn add(&mut self, list: &Bound<'_, PyAny>, depth: usize) -> PyResult<()> {
        let n = list.len()?;
        if depth == MOST_AXES {
            return Err(PyValueError::new_err(format!("lists in lists deeper than {MOST_AXES}")));
        }
        match self.shape.get(depth) {
            None if self.numbers.is_empty() => self.shape.push(n),
            Some(&expected) if expected == n => {}
            expected => {
                let expected = expected.map_or_else(|| "numbers".into(), |n| format!("{n} items"));
                return Err(PyValueError::new_err(format!(
                    "lists in lists of unequal lengths: got {n} items, expected {expected}"
                )));
            }
        }
        for object in list.try_iter()? {
            let object = object?;
            if is_sequence(&object) {
                self.add(&object, depth + 1)?;
            } else if depth + 1 < self.shape.len() {
                return Err(PyValueError::new_err("got a number beside lists"));
            } else {
                self.push(&object)?;
            }
        }
        Ok(())
    }

    fn push(&mut self, object: &Bound<'_, PyAny>) -> PyResult<()> {
        if self.numbers.len().is_multiple_of(LOOK) {
            object.py().check_signals()?;
        }
        let own = pythons_own(object)?;
        let (number, imaginary) = match own.cast::<PyComplex>() {
            Ok(z) => {
                let n = self.numbers.len();
                self.imaginary.get_or_insert_with(|| vec![0.0; n]);
                (Scalar::Float(z.real()), z.imag())
            }
            Err(_) => (item(&own, self.asked)?, 0.0),
        };
        self.numbers.push(number);
        if self.asked.is_none() {
            let said = dtype_of_item(object);
            self.says_type |= said.is_some();
            self.join(said.unwrap_or_else(|| dtype_of(number)));
        }
        if let Some(parts) = &mut self.imaginary {
            parts.push(imaginary);
        }
        Ok(())
    }

    /// Takes note of the type of one more number.
    fn join(&mut self, own: DType) {
        self.common = Some(match self.common {
            None => own,
            // A truth value beside numbers is 0 or 1, as in Python.
            Some(DType::Mask) => own,
            Some(common) if own == DType::Mask => common,
            Some(common) => DType::promote(common, own).unwrap_or(common),
        });
    }

    /// The type that the numbers say.
    fn own(&self) -> DType {
        self.common.unwrap_or(DType::F32)
    }

    /// The type in which the numbers meet lanes of one: as a number does where all are Python's own and fit, else theirs.
    fn beside(&self, dtype: DType) -> DType {
        let met = self.numbers.iter().fold(dtype, |met, &number| met.meet(number));
        let fits =
            |&number: &Scalar| !matches!(number, Scalar::Bool(_)) && met.encode(number).is_ok();
        let takes = !self.says_type && dtype != DType::Mask && self.numbers.iter().all(fits);
        if takes { met } else { self.own() }
    }

    fn lanes(
        py: Python<'_>,
        session: &Session,
        numbers: &[Scalar],
        dtype: DType,
    ) -> PyResult<Array> {
        let mut bytes = Vec::with_capacity(numbers.len() * dtype.bytes());
        for (i, &number) in numbers.iter().enumerate() {
            if i.is_multiple_of(LOOK) {
                py.check_signals()?;
            }
            let number = match number {
                Scalar::Bool(truth) if dtype != DType::Mask => Scalar::Int(truth.into()),
                number => number,
            };
            bytes.extend_from_slice(
                &dtype.encode(number).or_raise()?.to_le_bytes()[..dtype.bytes()],
            );
        }
        session.from_bytes(dtype, &bytes).or_raise()
    }
}

/// The tensor that a list of arrays of other libraries is: a row of each.
fn foreign_rows(session: &Session, list: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    let is_row = |item: &Bound<'_, PyAny>| {
        // Numbers of NumPy have no axes.
        let n_axes = || item.getattr("ndim").and_then(|n| n.extract::<usize>()).unwrap_or_default();
        number(item).is_ok_and(|number| number.is_none()) && is_foreign(item) && n_axes() > 0
    };
    if !list.get_item(0).is_ok_and(|first| is_row(&first)) {
        return Ok(None);
    }
    let rows = list.try_iter()?.map(|row| Given::expected(session, "a list of arrays", &row?));
    let rows = rows.collect::<PyResult<Vec<_>>>()?;
    let rows = rows.iter().map(|row| row.argument().to_tensor("a list of arrays"));
    let rows = rows.collect::<porcini_core::Result<Vec<_>>>().or_raise()?;
    Tensor::stack(&rows, 0).map(|rows| Some(Value::Tensor(rows))).or_raise()
}

/// The array that a list is, or the tensor that lists in lists are; of a type, or that of the numbers.
pub(crate) fn of_list(
    session: &Session,
    list: &Bound<'_, PyAny>,
    dtype: Option<DType>,
) -> PyResult<Value> {
    listed(session, list, dtype, &|entries| dtype.unwrap_or_else(|| entries.own()))
}

/// As [`of_list`], beside lanes of a type, which Python's own numbers take as one alone does.
fn of_list_beside(session: &Session, list: &Bound<'_, PyAny>, dtype: DType) -> PyResult<Value> {
    listed(session, list, None, &|entries| entries.beside(dtype))
}

fn listed(
    session: &Session,
    list: &Bound<'_, PyAny>,
    dtype: Option<DType>,
    dtype_of: &dyn Fn(&Entries) -> DType,
) -> PyResult<Value> {
    if let Some(rows) = foreign_rows(session, list)? {
        return match dtype {
            Some(dtype) => rows.cast(dtype).or_raise(),
            None => Ok(rows),
        };
    }
    let mut entries = Entries { asked: dtype, ..Entries::default() };
    entries.add(list, 0)?;
    let extents: Vec<u64> = entries.shape.iter().map(|&n| n as u64).collect();
    let dtype = dtype_of(&entries);
    let lanes = Entries::lanes(list.py(), session, &entries.numbers, dtype)?;
    if let Some(imaginary) = &entries.imaginary {
        let parts: Vec<Scalar> = imaginary.iter().map(|&part| Scalar::Float(part)).collect();
        let imaginary = Entries::lanes(list.py(), session, &parts, dtype)?;
        return Tensor::complex(&lanes, &imaginary, &extents).map(Value::Tensor).or_raise();
    }
    match extents.len() {
        1 => Ok(Value::Array(lanes)),
        _ => Tensor::new(&lanes, &extents).map(Value::Tensor).or_raise(),
    }
}

/// Integers: one, or a list of them.
pub(crate) fn integers(op: &str, what: &str, object: &Bound<'_, PyAny>) -> PyResult<Given> {
    let one = |object: &Bound<'_, PyAny>| match item(object, None) {
        Ok(Scalar::Bool(truth)) => Ok(Scalar::Int(truth.into())),
        Ok(number @ (Scalar::Int(_) | Scalar::UInt(_))) => Ok(number),
        _ => Err(wrong_type(format!("{op}: got {} as {what}, expected integers", got(object)))),
    };
    if !is_sequence(object) {
        return one(object).map(Given::Number);
    }
    object.try_iter()?.map(|item| one(&item?)).collect::<PyResult<_>>().map(Given::Numbers)
}

/// A number as Python's own.
pub(crate) fn python_number(py: Python<'_>, number: Scalar) -> Bound<'_, PyAny> {
    match number {
        Scalar::Bool(truth) => PyBool::new(py, truth).to_owned().into_any(),
        Scalar::Int(integer) => PyInt::new(py, integer).into_any(),
        Scalar::UInt(integer) => PyInt::new(py, integer).into_any(),
        Scalar::Float(number) => PyFloat::new(py, number).into_any(),
    }
}

/// What a function of the catalogue gives; `first` is its first argument, which it may have written.
pub(crate) fn answered<'py>(
    py: Python<'py>,
    answer: Answer,
    first: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let first_value = || first.and_then(|first| first.cast::<PyValue>().ok());
    match answer {
        Answer::Value(value) => object::of(py, value),
        Answer::Number(number) => Ok(python_number(py, number)),
        Answer::Nothing => Ok(py.None().into_bound(py)),
        Answer::List(answers) => {
            let items = answers.into_iter().map(|answer| answered(py, answer, first));
            Ok(PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_any())
        }
        Answer::Written(value, rest) => {
            let target = first_value().ok_or_else(|| {
                PyTypeError::new_err("got an argument that cannot be written, expected an array")
            })?;
            target.get().set(py, value);
            answered(py, rest.map_or(Answer::Nothing, |rest| *rest), first)
        }
        Answer::Parts(places) => {
            let Some(first) = first_value() else { return Ok(py.None().into_bound(py)) };
            let mut parts = places.iter().map(|places| object::part(first, places));
            if places.len() == 1 {
                return parts.next().expect("internal error: no part");
            }
            let parts = parts.collect::<PyResult<Vec<_>>>()?;
            let values = parts.iter().map(|part| Ok(part.cast::<PyValue>()?.get().value().clone()));
            object::of(py, Value::vector(values.collect::<PyResult<_>>()?).or_raise()?)
        }
    }
}
