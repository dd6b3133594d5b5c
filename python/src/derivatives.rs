//! Derivatives: what goes into functions that are differentiated, behind marks, and what comes out of them (S29).
//! `porcini/_derivatives.py` has the functions of functions.

use porcini_core::value::Marked;
use porcini_core::{Array, DType, Isolation, Result as CoreResult, Scalar, Session, Value};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::around::Around;
use crate::convert::{is_sequence, number};
use crate::custom::asking;
use crate::errors::{OrRaise, got, wrong_type};
use crate::functions;
use crate::home;
use crate::object::{self, PyValue};
use crate::recursion::Level;
use crate::tree::{
    Numbers, Tree, differentiable_of, losses_of, one_or_tuple, outputs_of, own, own_contents,
    values,
};

type Object<'py> = Bound<'py, PyAny>;

/// Arguments of a function with their arrays of floats behind marks.
struct Arguments {
    session: &'static Session,
    tree: Tree,
    arrays: Vec<Array>,
    /// Of each value, if it is one of floats that derivatives are asked by.
    marked: Vec<Option<Marked>>,
}

impl Arguments {
    /// `chosen` are the places of those that derivatives are asked by; all without.
    fn new(
        op: &'static str,
        args: &Bound<'_, PyTuple>,
        chosen: Option<&[usize]>,
    ) -> PyResult<Self> {
        let session = home::session(args.py())?;
        let (mut arrays, mut marked, mut items) = (Vec::new(), Vec::new(), Vec::new());
        for (i, arg) in args.iter().enumerate() {
            let is_chosen = chosen.is_none_or(|chosen| chosen.contains(&i));
            let (arg, numbers) = match is_chosen {
                true => (own_contents(session, arg)?, Numbers::Floats),
                false => (arg, Numbers::Untouched),
            };
            let mut own = Vec::new();
            items.push(Tree::of(session, &arg, numbers, &mut own)?);
            let mut own = own.into_iter();
            items[i].each_value(&mut |skeleton| {
                let value = match skeleton {
                    Some(skeleton) => skeleton.with(&mut own).or_raise()?,
                    None => {
                        arrays.extend(own.by_ref().take(2));
                        marked.push(None);
                        return Ok(());
                    }
                };
                let mark = (is_chosen && value.dtype().is_float()).then(|| value.marked(op));
                let mark = mark.transpose().or_raise()?;
                match &mark {
                    Some(mark) => arrays.extend(mark.marks().iter().cloned()),
                    None => arrays.extend(value.arrays().or_raise()?),
                }
                marked.push(mark);
                Ok(())
            })?;
        }
        if marked.iter().all(Option::is_none) {
            let args: Vec<String> = args.iter().map(|arg| got(&arg)).collect();
            return Err(wrong_type(format!(
                "{op}: got ({}), no arguments of floats; those are arrays and numbers, alone and in lists, tuples, dicts \
                 and data classes",
                args.join(", ")
            )));
        }
        Ok(Self { session, tree: Tree::Tuple(items), arrays, marked })
    }

    fn args<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        Ok(self.tree.with(py, &mut self.arrays.iter().cloned())?.cast_into::<PyTuple>()?)
    }

    fn marks(&self) -> Vec<&Array> {
        self.marked.iter().flatten().flat_map(Marked::marks).collect()
    }

    /// What is said of each value that has marks, in the form of the arguments; None of others.
    fn each<'py>(
        &self,
        py: Python<'py>,
        said: &mut dyn FnMut(&Marked) -> PyResult<Object<'py>>,
    ) -> PyResult<Vec<Object<'py>>> {
        let mut marks = self.marked.iter();
        let Tree::Tuple(items) = &self.tree else { return Ok(Vec::new()) };
        items.iter().map(|item| of_tree(py, item, &mut marks, said)).collect()
    }

    /// Takes the marks back, but for those that outputs are made of.
    fn release(&self, outputs: &[Array]) {
        let marked: Vec<&Marked> = self.marked.iter().flatten().collect();
        Marked::release(&marked, &outputs.iter().collect::<Vec<_>>());
    }
}

fn of_tree<'py, 'm>(
    py: Python<'py>,
    tree: &Tree,
    marks: &mut dyn Iterator<Item = &'m Option<Marked>>,
    said: &mut dyn FnMut(&Marked) -> PyResult<Object<'py>>,
) -> PyResult<Object<'py>> {
    let mut all = |items: &[Tree]| -> PyResult<Vec<Object<'py>>> {
        items.iter().map(|item| of_tree(py, item, marks, said)).collect()
    };
    Ok(match tree {
        Tree::Value(_) | Tree::Generator => match marks.next() {
            Some(Some(own)) => said(own)?,
            _ => py.None().into_bound(py),
        },
        Tree::List(items) => PyList::new(py, all(items)?)?.into_any(),
        Tree::Tuple(items) => PyTuple::new(py, all(items)?)?.into_any(),
        Tree::Dict(entries) => {
            let dict = PyDict::new(py);
            for (key, item) in entries {
                dict.set_item(key, of_tree(py, item, marks, said)?)?;
            }
            dict.into_any()
        }
        Tree::Object(around, items) => around.with(py, all(items)?)?,
        Tree::Other(_) | Tree::Known(_) => py.None().into_bound(py),
    })
}

/// Calls a function that is differentiated.
fn called<'py>(
    session: &Session,
    f: &Object<'py>,
    args: Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Object<'py>> {
    session.differentiating(|| f.call(args, kwargs))
}

/// A function's value, what else it gave, and the gradients by its arguments.
#[pyfunction]
fn _gradients_of<'py>(
    op: &str,
    f: &Object<'py>,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
    chosen: Option<Vec<usize>>,
    has_aux: bool,
) -> PyResult<(Object<'py>, Vec<Object<'py>>)> {
    let py = f.py();
    let op = if op == "grad" { "grad" } else { "value_and_grad" };
    let arguments = Arguments::new(op, args, chosen.as_deref())?;
    let value = called(arguments.session, f, arguments.args(py)?, kwargs)?;
    let first = if has_aux { first_of_pair(op, &value)? } else { value.clone() };
    if is_sequence(&first) || first.is_instance_of::<PyDict>() {
        return Err(wrong_type(format!(
            "{op}: the function gave {}, expected an array; add them up, or with has_aux=True the first of a tuple is \
             differentiated",
            got(&first)
        )));
    }
    let outputs = match constant(arguments.session, &first)? {
        Some(constant) => vec![constant],
        None => losses_of(op, &first)?,
    };
    let pairs: Vec<(&Array, Option<&Array>)> = outputs.iter().map(|y| (y, None)).collect();
    let (session, marks) = (arguments.session, arguments.marks());
    let found = asking(py, |asked| session.grad_asking(&pairs, &marks, asked))?;
    let mut kept = arrays_in(&value)?;
    kept.extend(found.iter().cloned());
    arguments.release(&kept);
    let mut found = found.into_iter();
    let gradients =
        arguments.each(py, &mut |mark| object::of(py, mark.with(&mut found).or_raise()?))?;
    Ok((value, gradients))
}

/// The arrays in an object.
fn arrays_in(object: &Object<'_>) -> PyResult<Vec<Array>> {
    let mut found = Vec::new();
    values(object, &mut found)?;
    let arrays = found.iter().map(Value::arrays).collect::<CoreResult<Vec<_>>>();
    Ok(arrays.or_raise()?.concat())
}

/// What is differentiated of a pair.
fn first_of_pair<'py>(op: &str, value: &Object<'py>) -> PyResult<Object<'py>> {
    let is_pair = is_sequence(value) && value.len()? == 2;
    if is_pair {
        return value.get_item(0);
    }
    Err(wrong_type(format!(
        "{op}: the function gave {}, expected a pair with has_aux=True: what is differentiated, and what else there is",
        got(value)
    )))
}

/// A number, which nothing that is marked went into, as an array of one lane.
fn constant(session: &Session, object: &Object<'_>) -> PyResult<Option<Array>> {
    match number(object)? {
        Some(number @ Scalar::Float(_)) => session.full(DType::F32, number, 1).map(Some).or_raise(),
        _ => Ok(None),
    }
}

/// A function's value and its derivative in a direction.
#[pyfunction]
fn _jvp<'py>(
    f: &Object<'py>,
    args: &Bound<'py, PyTuple>,
    tangents: &Bound<'py, PyTuple>,
) -> PyResult<(Object<'py>, Object<'py>)> {
    let (py, op) = (f.py(), "jvp");
    let arguments = Arguments::new(op, args, None)?;
    let value = called(arguments.session, f, arguments.args(py)?, None)?;
    // Arrays of other libraries are constants, as numbers are.
    let mut outputs = Vec::new();
    let tree = Tree::of(arguments.session, &value, Numbers::Kept, &mut outputs)?;
    let is_float = |output: &Array| output.dtype().is_float();
    if !outputs.iter().any(is_float) && constant(arguments.session, &value)?.is_none() {
        differentiable_of(op, &value)?;
    }
    let directions = directions(op, &arguments, tangents)?;
    let marks = arguments.marks();
    let pairs: Vec<_> = marks.iter().copied().zip(directions.iter().map(Some)).collect();
    let lent: Vec<&Array> = outputs.iter().collect();
    let session = arguments.session;
    let found = asking(py, |asked| session.jvp_asking(&lent, &pairs, asked))?;
    arguments.release(&[outputs, found.clone()].concat());
    let tangent = tree.still(py)?.with(py, &mut found.into_iter())?;
    Ok((value, tangent))
}

/// Directions in the form of the arguments.
fn directions(
    op: &str,
    arguments: &Arguments,
    tangents: &Bound<'_, PyTuple>,
) -> PyResult<Vec<Array>> {
    let mut arrays = Vec::new();
    // Numbers take the types of what they belong to.
    let like: Vec<Array> = arguments.arrays.clone();
    Tree::of(arguments.session, tangents, Numbers::Arrays(Some(&like)), &mut arrays)?;
    let marks = arguments.marks();
    if arrays.len() != marks.len() {
        return Err(wrong_type(format!(
            "{op}: got {} arrays as directions of {}",
            arrays.len(),
            marks.len()
        )));
    }
    Ok(arrays)
}

/// A function's value, and the gradients by its arguments of the sum of it times factors.
#[pyfunction]
fn _vjp<'py>(
    f: &Object<'py>,
    args: &Bound<'py, PyTuple>,
    factors: &Object<'py>,
) -> PyResult<(Object<'py>, Vec<Object<'py>>)> {
    let (py, op) = (f.py(), "vjp");
    let arguments = Arguments::new(op, args, None)?;
    let value = called(arguments.session, f, arguments.args(py)?, None)?;
    let mut outputs = Vec::new();
    Tree::of(arguments.session, &value, Numbers::Floats, &mut outputs)?;
    if !outputs.iter().any(|output| output.dtype().is_float()) {
        differentiable_of(op, &value)?;
    }
    let mut given = Vec::new();
    Tree::of(arguments.session, factors, Numbers::Arrays(Some(&outputs)), &mut given)?;
    if given.len() != outputs.len() {
        return Err(wrong_type(format!(
            "{op}: got {} factors of {} arrays",
            given.len(),
            outputs.len()
        )));
    }
    let pairs: Vec<_> = outputs.iter().zip(given.iter().map(Some)).collect();
    let (session, marks) = (arguments.session, arguments.marks());
    let found = asking(py, |asked| session.grad_asking(&pairs, &marks, asked))?;
    arguments.release(&[outputs.clone(), found.clone()].concat());
    let mut found = found.into_iter();
    let gradients =
        arguments.each(py, &mut |mark| object::of(py, mark.with(&mut found).or_raise()?))?;
    Ok((value, gradients))
}

/// The derivatives of each entry of a function's value by each entry of its arguments.
#[pyfunction]
fn _jacobians_of<'py>(
    f: &Object<'py>,
    args: &Bound<'py, PyTuple>,
    chosen: Option<Vec<usize>>,
) -> PyResult<Object<'py>> {
    let (py, op) = (f.py(), "jacobian");
    let arguments = Arguments::new(op, args, chosen.as_deref())?;
    let value = called(arguments.session, f, arguments.args(py)?, None)?;
    let session = arguments.session;
    let mut kept = match constant(session, &value)? {
        Some(_) => Vec::new(),
        None => differentiable_of(op, &value)?,
    };
    let mut of_value = |y: &Object<'py>| -> PyResult<Object<'py>> {
        let y = y.cast::<PyValue>()?.get().value().clone();
        let found = arguments.each(py, &mut |mark| {
            let matrix = asking(py, |asked| mark.jacobian(op, &y, asked))?;
            kept.extend(matrix.arrays().or_raise()?);
            object::of(py, matrix)
        })?;
        one_or_tuple(py, found)
    };
    let found = in_form(session, &value, &mut of_value)?;
    arguments.release(&kept);
    Ok(found)
}

/// What is made of each value in an object, in its form; numbers and arrays of other libraries are values. None of others.
fn in_form<'py>(
    session: &Session,
    object: &Object<'py>,
    made: &mut dyn FnMut(&Object<'py>) -> PyResult<Object<'py>>,
) -> PyResult<Object<'py>> {
    let py = object.py();
    let object = &own(session, object.clone())?;
    if object.is_instance_of::<PyValue>() {
        return made(object);
    }
    if let Some(number) = number(object)? {
        let constant = session.full(DType::F32, Scalar::Float(number.to_f64()), 1).or_raise()?;
        return made(&object::of(py, constant.into())?);
    }
    let _level = Level::enter(py)?;
    if let Ok(dict) = object.cast::<PyDict>() {
        let found = PyDict::new(py);
        for (key, item) in dict.iter() {
            found.set_item(key, in_form(session, &item, made)?)?;
        }
        return Ok(found.into_any());
    }
    if let Some((around, held)) = Around::of(object)? {
        let held = held.iter().map(|item| in_form(session, item, made));
        return around.with(py, held.collect::<PyResult<Vec<_>>>()?);
    }
    if !is_sequence(object) {
        return Ok(py.None().into_bound(py));
    }
    let items = object.try_iter()?.map(|item| in_form(session, &item?, made));
    let items = items.collect::<PyResult<Vec<_>>>()?;
    if object.is_instance_of::<PyList>() {
        Ok(PyList::new(py, items)?.into_any())
    } else {
        Ok(PyTuple::new(py, items)?.into_any())
    }
}

/// Adds the gradient of y to those of the marked arrays that it is computed from.
///
/// With gradient= that of each lane of y times one of its lanes. Who holds y can ask again, so it keeps what it was made of:
/// of a loss to remember keep pc.detach(loss) or float(loss).
///
/// >>> x = pc.Float([1, 2])
/// >>> pc.enable_grad(x)
/// >>> pc.backward(x * x, pc.Float([1, 10]))
/// >>> x.grad
/// [2, 40]
#[pyfunction]
#[pyo3(signature = (y, gradient=None))]
pub(crate) fn backward<'py>(y: &Object<'py>, gradient: Option<&Object<'py>>) -> PyResult<()> {
    if let Some(gradient) = gradient {
        functions::by_name(y.py(), "set_gradient", &[y, gradient])?;
    }
    let mut arrays = outputs_of("backward", y)?;
    // Of a vector the parts that nothing marked went into have nothing to say, unless that is all of them.
    if arrays.iter().any(Array::is_tracked) {
        arrays.retain(Array::is_tracked);
    }
    // What was given is said of this call alone.
    let given: Vec<Array> = match gradient {
        Some(_) => arrays.iter().filter(|array| array.is_derived()).cloned().collect(),
        None => Vec::new(),
    };
    let done = asking(y.py(), |asked| Array::backward_all(&arrays, asked));
    given.iter().for_each(Array::clear_gradient);
    done
}

/// The gradients of y by marked arrays, in the form of those.
#[pyfunction]
fn _gradients_by<'py>(y: &Object<'py>, inputs: &Object<'py>) -> PyResult<Object<'py>> {
    let py = y.py();
    let session = home::session(py)?;
    let mut arrays = Vec::new();
    let tree = Tree::of(session, inputs, Numbers::Kept, &mut arrays)?;
    let outputs = losses_of("grad", y)?;
    let pairs: Vec<(&Array, Option<&Array>)> = outputs.iter().map(|y| (y, None)).collect();
    let lent: Vec<&Array> = arrays.iter().collect();
    let found = asking(py, |asked| session.grad_asking(&pairs, &lent, asked))?;
    tree.with(py, &mut found.into_iter())
}

/// The gradient that backward left in a marked array; zeros before that.
#[pyfunction]
fn gradient<'py>(x: &Bound<'py, PyValue>) -> PyResult<Object<'py>> {
    stored_gradient(x).map_err(|error| match x.get().value().is_tracked() {
        true => error,
        false => PyValueError::new_err(format!(
            "{}; slopes between neighbours are np.gradient(x)",
            error.value(x.py())
        )),
    })
}

/// As [`gradient`], for who asks an array.
pub(crate) fn stored_gradient<'py>(x: &Bound<'py, PyValue>) -> PyResult<Object<'py>> {
    let py = x.py();
    let value = x.get().value().clone();
    let found = asking(py, |asked| value.gradient_asking(asked))?;
    object::of(py, found)
}

// ---- scopes ----

/// Until its end what is computed is not tracked, whatever it is computed from; or is tracked, inside such a scope too.
#[pyclass(module = "porcini", frozen)]
struct Scope {
    tracks: bool,
    before: std::sync::Mutex<Vec<porcini_core::Tracking>>,
}

#[pymethods]
impl Scope {
    fn __enter__(slf: &Bound<'_, Self>) -> PyResult<()> {
        let before = home::session(slf.py())?.start_tracking(slf.get().tracks);
        slf.get().before.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(before);
        Ok(())
    }

    fn __exit__(
        slf: &Bound<'_, Self>,
        _type: &Object<'_>,
        _value: &Object<'_>,
        _trace: &Object<'_>,
    ) -> PyResult<bool> {
        let before =
            slf.get().before.lock().unwrap_or_else(std::sync::PoisonError::into_inner).pop();
        let before = before.ok_or_else(|| PyRuntimeError::new_err("the scope was not entered"))?;
        home::session(slf.py())?.track_as(before);
        Ok(false)
    }
}

fn scope(tracks: bool) -> Scope {
    Scope { tracks, before: std::sync::Mutex::default() }
}

/// with no_grad(): what is computed inside is not tracked, whatever it is computed from.
#[pyfunction]
fn no_grad() -> Scope {
    scope(false)
}

/// with resume_grad(): what is computed inside from marked arrays is tracked, inside no_grad too.
#[pyfunction]
fn resume_grad() -> Scope {
    scope(true)
}

/// Inside, backward(y) goes back to what was there before and halts; at the end all that came together goes on from there.
/// Entered again inside itself, it begins another such part.
#[pyclass(module = "porcini")]
struct Isolated(Vec<Isolation<'static>>);

#[pymethods]
impl Isolated {
    fn __enter__(&mut self, py: Python<'_>) -> PyResult<()> {
        self.0.push(home::session(py)?.isolate_grad());
        Ok(())
    }

    fn __exit__(
        &mut self,
        py: Python<'_>,
        error: &Object<'_>,
        _value: &Object<'_>,
        _trace: &Object<'_>,
    ) -> PyResult<bool> {
        match self.0.pop() {
            Some(isolation) if error.is_none() => asking(py, |asked| isolation.end_asking(asked))?,
            isolation => drop(isolation),
        }
        Ok(false)
    }
}

/// with isolate_grad(): backward inside halts at what was there before; at the end it goes on, once.
#[pyfunction]
fn isolate_grad() -> Isolated {
    Isolated(Vec::new())
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_gradients_of, module)?)?;
    module.add_function(wrap_pyfunction!(_gradients_by, module)?)?;
    module.add_function(wrap_pyfunction!(gradient, module)?)?;
    module.add_function(wrap_pyfunction!(_jvp, module)?)?;
    module.add_function(wrap_pyfunction!(_vjp, module)?)?;
    module.add_function(wrap_pyfunction!(_jacobians_of, module)?)?;
    module.add_function(wrap_pyfunction!(backward, module)?)?;
    module.add_function(wrap_pyfunction!(no_grad, module)?)?;
    module.add_function(wrap_pyfunction!(resume_grad, module)?)?;
    module.add_function(wrap_pyfunction!(isolate_grad, module)?)
}
