//! Derivatives: what goes into functions that are differentiated, behind marks, and what comes out of them (S29).
//! `porcini/_derivatives.py` has the functions of functions.

use std::sync::Arc;

use porcini_core::value::{Marked, Skeleton};
use porcini_core::{Array, Ask, Error, Isolation, Result as CoreResult, Session, Told, Value};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::convert::{Given, number};
use crate::errors::{OrRaise, got, raised, wrong_type};
use crate::home;
use crate::object::{self, PyValue};
use crate::tree::{Numbers, Tree, values};

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
            let numbers = if is_chosen { Numbers::Floats } else { Numbers::Kept };
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
            return Err(wrong_type(format!("{op}: got no arguments of floats")));
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
        Tree::Other(_) => py.None().into_bound(py),
    })
}

/// The arrays of floats in what a function gave.
fn outputs_of(op: &str, value: &Object<'_>) -> PyResult<Vec<Array>> {
    let mut found = Vec::new();
    values(value, &mut found)?;
    let arrays = found.iter().map(Value::arrays).collect::<CoreResult<Vec<_>>>().or_raise()?;
    if arrays.is_empty() {
        return Err(wrong_type(format!(
            "{op}: the function gave {}, expected an array",
            got(value)
        )));
    }
    Ok(arrays.concat())
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
    let first = if has_aux { value.get_item(0)? } else { value.clone() };
    let outputs = outputs_of(op, &first)?;
    let pairs: Vec<(&Array, Option<&Array>)> = outputs.iter().map(|y| (y, None)).collect();
    let found =
        asking(py, |asked| arguments.session.grad_asking(&pairs, &arguments.marks(), asked))?;
    let mut kept = outputs_of(op, &value)?;
    kept.extend(found.iter().cloned());
    arguments.release(&kept);
    let mut found = found.into_iter();
    let gradients =
        arguments.each(py, &mut |mark| object::of(py, mark.with(&mut found).or_raise()?))?;
    Ok((value, gradients))
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
    let outputs = outputs_of(op, &value)?;
    let directions = directions(op, &arguments, tangents)?;
    let marks = arguments.marks();
    let pairs: Vec<_> = marks.iter().copied().zip(directions.iter().map(Some)).collect();
    let lent: Vec<&Array> = outputs.iter().collect();
    let found = asking(py, |asked| arguments.session.jvp_asking(&lent, &pairs, asked))?;
    arguments.release(&[outputs, found.clone()].concat());
    let mut arrays = Vec::new();
    let tree = Tree::of(arguments.session, &value, Numbers::Kept, &mut arrays)?;
    Ok((value, tree.with(py, &mut found.into_iter())?))
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
    let outputs = outputs_of(op, &value)?;
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
    let found =
        asking(py, |asked| arguments.session.grad_asking(&pairs, &arguments.marks(), asked))?;
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
    let mut kept = outputs_of(op, &value)?;
    let mut of_value = |y: &Object<'py>| -> PyResult<Object<'py>> {
        let y = y.cast::<PyValue>()?.get().value().clone();
        let found = arguments.each(py, &mut |mark| {
            let matrix = asking(py, |asked| mark.jacobian(op, &y, asked))?;
            kept.extend(matrix.arrays().or_raise()?);
            object::of(py, matrix)
        })?;
        one_or_tuple(py, found)
    };
    let found = in_form(&value, &mut of_value)?;
    arguments.release(&kept);
    Ok(found)
}

fn one_or_tuple<'py>(py: Python<'py>, mut found: Vec<Object<'py>>) -> PyResult<Object<'py>> {
    if found.len() == 1 { Ok(found.remove(0)) } else { Ok(PyTuple::new(py, found)?.into_any()) }
}

/// What is made of each value in an object, in its form.
fn in_form<'py>(
    object: &Object<'py>,
    made: &mut dyn FnMut(&Object<'py>) -> PyResult<Object<'py>>,
) -> PyResult<Object<'py>> {
    let py = object.py();
    if object.is_instance_of::<PyValue>() {
        return made(object);
    }
    if let Ok(dict) = object.cast::<PyDict>() {
        let found = PyDict::new(py);
        for (key, item) in dict.iter() {
            found.set_item(key, in_form(&item, made)?)?;
        }
        return Ok(found.into_any());
    }
    let items = object.try_iter()?.map(|item| in_form(&item?, made));
    let items = items.collect::<PyResult<Vec<_>>>()?;
    if object.is_instance_of::<PyList>() {
        Ok(PyList::new(py, items)?.into_any())
    } else {
        Ok(PyTuple::new(py, items)?.into_any())
    }
}

/// Adds the gradient of y to those of the marked arrays that it is computed from.
#[pyfunction]
fn backward(y: &Object<'_>) -> PyResult<()> {
    let mut arrays = outputs_of("backward", y)?;
    // Of a vector the parts that nothing marked went into have nothing to say, unless that is all of them.
    if arrays.iter().any(Array::is_tracked) {
        arrays.retain(Array::is_tracked);
    }
    asking(y.py(), |asked| arrays.iter().try_for_each(|y| y.backward_asking(asked)))
}

/// The gradients of y by marked arrays, in the form of those.
#[pyfunction]
fn _gradients_by<'py>(y: &Object<'py>, inputs: &Object<'py>) -> PyResult<Object<'py>> {
    let py = y.py();
    let session = home::session(py)?;
    let mut arrays = Vec::new();
    let tree = Tree::of(session, inputs, Numbers::Kept, &mut arrays)?;
    let outputs = outputs_of("grad", y)?;
    let pairs: Vec<(&Array, Option<&Array>)> = outputs.iter().map(|y| (y, None)).collect();
    let lent: Vec<&Array> = arrays.iter().collect();
    let found = asking(py, |asked| session.grad_asking(&pairs, &lent, asked))?;
    tree.with(py, &mut found.into_iter())
}

/// The gradient that backward left in a marked array; zeros before that.
#[pyfunction(name = "gradient")]
pub(crate) fn stored_gradient<'py>(x: &Bound<'py, PyValue>) -> PyResult<Object<'py>> {
    let py = x.py();
    let value = x.get().value().clone();
    let found = asking(py, |asked| value.each_array(&mut |x| x.gradient_asking(asked)))?;
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
#[pyclass(module = "porcini")]
struct Isolated(Option<Isolation<'static>>);

#[pymethods]
impl Isolated {
    fn __enter__(&mut self, py: Python<'_>) -> PyResult<()> {
        self.0 = Some(home::session(py)?.isolate_grad());
        Ok(())
    }

    fn __exit__(
        &mut self,
        py: Python<'_>,
        error: &Object<'_>,
        _value: &Object<'_>,
        _trace: &Object<'_>,
    ) -> PyResult<bool> {
        match self.0.take() {
            Some(isolation) if error.is_none() => asking(py, |asked| isolation.end_asking(asked))?,
            isolation => drop(isolation),
        }
        Ok(false)
    }
}

/// with isolate_grad(): backward inside halts at what was there before; at the end it goes on, once.
#[pyfunction]
fn isolate_grad() -> Isolated {
    Isolated(None)
}

// ---- functions whose derivatives are Python's ----

/// A function with a derivative of its own.
#[pyclass(module = "porcini", frozen)]
struct Custom {
    op: &'static str,
    eval: Py<PyAny>,
    backward: Option<Py<PyAny>>,
    forward: Option<Py<PyAny>>,
}

/// What is kept with a call.
struct Called {
    function: Py<Custom>,
    args: Tree,
    value: Skeleton,
}

#[pymethods]
impl Custom {
    #[pyo3(signature = (*args))]
    fn __call__<'py>(slf: &Bound<'py, Self>, args: &Bound<'py, PyTuple>) -> PyResult<Object<'py>> {
        let (py, op) = (slf.py(), slf.get().op);
        let session = home::session(py)?;
        let mut arrays = Vec::new();
        let tree = Tree::of(session, args, Numbers::Kept, &mut arrays)?;
        let untracked =
            arrays.iter().map(Array::detach).collect::<CoreResult<Vec<_>>>().or_raise()?;
        let inside = tree.with(py, &mut untracked.into_iter())?.cast_into::<PyTuple>()?;
        let value = slf.get().eval.bind(py).call1(inside)?;
        let value = match value.cast::<PyValue>() {
            Ok(value) => value.get().value().clone(),
            Err(_) => {
                return Err(wrong_type(format!(
                    "{op}: the function gave {}, expected an array",
                    got(&value)
                )));
            }
        };
        if value.is_tracked() && session.follows() {
            return Err(PyTypeError::new_err(format!(
                "{op}: the function uses a marked array that is no argument of it; pass it, or detach(w)"
            )));
        }
        let value = value.each_array(&mut |array| array.detach()).or_raise()?;
        let called =
            Called { function: slf.clone().unbind(), args: tree, value: Skeleton::of(&value) };
        let call: Arc<dyn std::any::Any + Send + Sync> = Arc::new(called);
        let lent: Vec<&Array> = arrays.iter().collect();
        object::of(py, value.with_told_derivative(op, &lent, &call).or_raise()?)
    }
}

/// A function with a derivative that you write: backward(v, *args) gives from v, as long as the value, the gradient by each
/// argument times v; forward(t, *args) from a direction of the arguments that of the value.
///
/// >>> safe = pc.custom(lambda x: pc.log(x), backward=lambda v, x: v / pc.max(x, 0.1))
/// >>> pc.grad(safe)(pc.Float([1, 0]))
/// [1, 10]
#[pyfunction]
#[pyo3(signature = (eval, backward=None, forward=None))]
fn custom(
    eval: Py<PyAny>,
    backward: Option<Py<PyAny>>,
    forward: Option<Py<PyAny>>,
) -> PyResult<Custom> {
    if backward.is_none() && forward.is_none() {
        return Err(PyTypeError::new_err(
            "custom: expected backward or forward beside the function",
        ));
    }
    Ok(Custom { op: "custom", eval, backward, forward })
}

/// The function f, of which nothing between arguments and value is kept for derivatives: it is computed again when they are
/// asked for.
///
/// >>> step = pc.checkpoint(lambda x: pc.sin(x) * x)
/// >>> pc.grad(step)(pc.Float([0, 1]))
/// [0, 1.38177]
#[pyfunction]
fn checkpoint(f: Py<PyAny>) -> Custom {
    Custom { op: "checkpoint", eval: f, backward: None, forward: None }
}

/// Asks core for derivatives; those that Python functions are, are asked of them, whose exceptions are told.
fn asking<R>(py: Python<'_>, work: impl FnOnce(&mut dyn Ask) -> CoreResult<R>) -> PyResult<R> {
    let mut asked = Functions { py, thrown: None };
    let result = work(&mut asked);
    match asked.thrown {
        Some(thrown) => Err(thrown),
        None => result.map_err(|error| raised(&error)),
    }
}

struct Functions<'py> {
    py: Python<'py>,
    thrown: Option<PyErr>,
}

impl Ask for Functions<'_> {
    fn pull(
        &mut self,
        told: &Told,
        args: &[Array],
        cotangent: &Array,
    ) -> CoreResult<Vec<Option<Array>>> {
        let found = pulled(self.py, told, args, cotangent);
        self.keep(found)
    }

    fn push(
        &mut self,
        told: &Told,
        args: &[Array],
        tangents: &[Option<Array>],
    ) -> CoreResult<Array> {
        let found = pushed(self.py, told, args, tangents);
        self.keep(found)
    }
}

impl Functions<'_> {
    fn keep<R>(&mut self, result: PyResult<R>) -> CoreResult<R> {
        result.map_err(|error| {
            let what = error.to_string();
            self.thrown.get_or_insert(error);
            Error::Argument { op: "custom", what }
        })
    }
}

fn of_call(told: &Told) -> &Called {
    told.call.downcast_ref().expect("internal error: a call of somebody else")
}

impl Called {
    fn args<'py>(&self, py: Python<'py>, arrays: &[Array]) -> PyResult<Vec<Object<'py>>> {
        let args = self.args.with(py, &mut arrays.iter().cloned())?;
        Ok(args.cast_into::<PyTuple>()?.iter().collect())
    }
}

fn pulled(
    py: Python<'_>,
    told: &Told,
    args: &[Array],
    cotangent: &Array,
) -> PyResult<Vec<Option<Array>>> {
    let called = of_call(told);
    let custom = called.function.get();
    let v = called.value.with_one(told.place, cotangent).or_raise()?;
    let Some(backward) = &custom.backward else {
        if custom.op != "checkpoint" {
            return Err(PyTypeError::new_err(
                "custom: the function has no backward, which grad and backward need",
            ));
        }
        let (marks, outputs) = again(py, custom, called, args)?;
        let factors = v.arrays().or_raise()?;
        let pairs: Vec<_> = outputs.iter().zip(factors.iter().map(Some)).collect();
        let lent: Vec<&Array> = marks.iter().collect();
        let session = home::session(py)?;
        let found = asking(py, |asked| session.grad_asking(&pairs, &lent, asked))?;
        return Ok(found.into_iter().map(Some).collect());
    };
    let mut values = called.args(py, args)?;
    values.insert(0, object::of(py, v)?);
    let found = backward.bind(py).call1(PyTuple::new(py, values)?)?;
    let Tree::Tuple(items) = &called.args else {
        return Err(wrong_type("internal error: no arguments"));
    };
    let each: Vec<Object<'_>> = match found.cast::<PyTuple>() {
        Ok(several) if items.len() != 1 => several.iter().collect(),
        _ => vec![found],
    };
    if each.len() != items.len() {
        return Err(wrong_type(format!(
            "custom: backward gave {} gradients of {} arguments",
            each.len(),
            items.len()
        )));
    }
    let mut found = Vec::with_capacity(args.len());
    for (item, gradient) in items.iter().zip(&each) {
        let n = n_arrays(item);
        if gradient.is_none() || n == 0 {
            found.extend((0..n).map(|_| None));
            continue;
        }
        let of = &args[found.len()..found.len() + n];
        let arrays = match number(gradient)? {
            Some(number) => {
                let full = |x: &Array| x.session().full(x.dtype(), number, 1);
                of.iter().map(full).collect::<CoreResult<Vec<_>>>().or_raise()?
            }
            None => {
                let given = Given::expected(home::session(py)?, "custom", gradient)?;
                match given {
                    Given::Value(value) => value.arrays().or_raise()?,
                    _ => return Err(wrong_type("custom: backward gave no array")),
                }
            }
        };
        if arrays.len() != n {
            return Err(wrong_type(format!(
                "custom: backward gave {} as a gradient",
                got(gradient)
            )));
        }
        found.extend(arrays.into_iter().map(Some));
    }
    Ok(found)
}

fn n_arrays(tree: &Tree) -> usize {
    match tree {
        Tree::Value(skeleton) => skeleton.n_arrays(),
        Tree::Generator => 2,
        Tree::List(items) | Tree::Tuple(items) => items.iter().map(n_arrays).sum(),
        Tree::Dict(entries) => entries.iter().map(|(_, item)| n_arrays(item)).sum(),
        Tree::Other(_) => 0,
    }
}

fn pushed(
    py: Python<'_>,
    told: &Told,
    args: &[Array],
    tangents: &[Option<Array>],
) -> PyResult<Array> {
    let called = of_call(told);
    let custom = called.function.get();
    let session = home::session(py)?;
    let moves = args.iter().zip(tangents).map(|(arg, tangent)| match tangent {
        Some(tangent) => Ok(tangent.clone()),
        None => session.zeros(arg.dtype(), arg.size()),
    });
    let moves = moves.collect::<CoreResult<Vec<_>>>().or_raise()?;
    let arrays = match &custom.forward {
        Some(forward) => {
            let mut values = called.args(py, args)?;
            let moves = called.args(py, &moves)?;
            values.insert(0, one_or_tuple(py, moves)?);
            outputs_of("custom", &forward.bind(py).call1(PyTuple::new(py, values)?)?)?
        }
        None if custom.op == "checkpoint" => {
            let (marks, outputs) = again(py, custom, called, args)?;
            let pairs: Vec<_> = marks.iter().zip(moves.iter().map(Some)).collect();
            let lent: Vec<&Array> = outputs.iter().collect();
            asking(py, |asked| session.jvp_asking(&lent, &pairs, asked))?
        }
        None => {
            return Err(PyTypeError::new_err(
                "custom: the function has no forward, which jvp needs",
            ));
        }
    };
    let array = arrays.into_iter().nth(told.place);
    array.ok_or_else(|| wrong_type("custom: forward gave too few arrays"))
}

/// The arguments behind marks of their own, and the function of them.
fn again(
    py: Python<'_>,
    custom: &Custom,
    called: &Called,
    args: &[Array],
) -> PyResult<(Vec<Array>, Vec<Array>)> {
    let session = home::session(py)?;
    session.with_grad(|| {
        let marks = args.iter().map(|arg| match arg.is_tracked() {
            true => Value::from(arg.clone()).marked(custom.op)?.value.arrays(),
            false => Ok(vec![arg.clone()]),
        });
        let marks = marks.collect::<CoreResult<Vec<_>>>().or_raise()?.concat();
        let inside = PyTuple::new(py, called.args(py, &marks)?)?;
        let outputs = outputs_of(custom.op, &custom.eval.bind(py).call1(inside)?)?;
        Ok((marks, outputs))
    })
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_gradients_of, module)?)?;
    module.add_function(wrap_pyfunction!(_gradients_by, module)?)?;
    module.add_function(wrap_pyfunction!(stored_gradient, module)?)?;
    module.add_function(wrap_pyfunction!(_jvp, module)?)?;
    module.add_function(wrap_pyfunction!(_vjp, module)?)?;
    module.add_function(wrap_pyfunction!(_jacobians_of, module)?)?;
    module.add_function(wrap_pyfunction!(backward, module)?)?;
    module.add_function(wrap_pyfunction!(no_grad, module)?)?;
    module.add_function(wrap_pyfunction!(resume_grad, module)?)?;
    module.add_function(wrap_pyfunction!(isolate_grad, module)?)?;
    module.add_function(wrap_pyfunction!(custom, module)?)?;
    module.add_function(wrap_pyfunction!(checkpoint, module)?)
}
