//! Functions whose derivatives Python has: `custom(f, backward, forward)`, and those that are computed again:
//! `checkpoint(f)`.

use std::sync::Arc;

use porcini_core::{Array, Ask, DType, Error, Result as CoreResult, Session, Told, Value};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::around::Around;
use crate::convert::{Given, is_sequence, number};
use crate::draws::Draws;
use crate::errors::{OrRaise, got, wrong_type};
use crate::home;
use crate::interrupt::{blocking_once, in_python};
use crate::random::Generator;
use crate::tree::{Numbers, Tree, generators, one_or_tuple, outputs_of};

type Object<'py> = Bound<'py, PyAny>;

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
    /// Behind the arrays of the arguments are those of what it draws from.
    draws: Draws,
    value: Tree,
    /// Types and sizes of the arrays of the value.
    outputs: Vec<(DType, u64)>,
}

#[pymethods]
impl Custom {
    /// What a call of it runs: a function that is recorded reads what these have captured.
    #[getter]
    fn __wrapped__(&self, py: Python<'_>) -> Py<PyAny> {
        self.eval.clone_ref(py)
    }

    #[getter]
    fn backward(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.backward.as_ref().map(|backward| backward.clone_ref(py))
    }

    #[getter]
    fn forward(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.forward.as_ref().map(|forward| forward.clone_ref(py))
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Object<'py>> {
        let (py, op) = (slf.py(), slf.get().op);
        let args = &slf.get().by_place(args, kwargs)?;
        let session = home::session(py)?;
        let mut arrays = Vec::new();
        let tree = Tree::of(session, args, Numbers::Kept, &mut arrays)?;
        let untracked =
            arrays.iter().map(Array::detach).collect::<CoreResult<Vec<_>>>().or_raise()?;
        let inside = tree.with(py, &mut untracked.into_iter())?.cast_into::<PyTuple>()?;
        let (mut own, mut lent) = (Vec::new(), Vec::new());
        generators(args, &mut own)?;
        generators(&inside, &mut lent)?;
        let (value, draws, states) = slf.get().called(&inside)?;
        own.iter().zip(&lent).for_each(move_on);
        arrays.extend(states);
        let mut outputs = Vec::new();
        let form = Tree::of(session, &value, Numbers::Kept, &mut outputs)?;
        if outputs.is_empty() {
            return Err(wrong_type(format!(
                "{op}: the function gave {}, expected an array, or several in a tuple",
                got(&value)
            )));
        }
        if session.follows() && outputs.iter().any(Array::is_tracked) {
            return Err(PyTypeError::new_err(format!(
                "{op}: the function uses a marked array that is no argument of it; pass it, or detach(w)"
            )));
        }
        let called = Called {
            function: slf.clone().unbind(),
            args: tree,
            draws,
            value: form,
            outputs: outputs.iter().map(|output| (output.dtype(), output.size())).collect(),
        };
        Arc::new(called).told(py, &arrays, &outputs)
    }
}

/// A generator that is an argument is where the one that the function was lent in its place has come to.
fn move_on<'py>((own, lent): (&Bound<'py, Generator>, &Bound<'py, Generator>)) {
    let serials = |[state, inc]: [&Array; 2]| [state.serial(), inc.serial()];
    let ([state, inc], before) = (lent.get().arrays(), own.get().arrays());
    if serials([&state, &inc]) != serials([&before[0], &before[1]]) {
        Generator::set(own, state, inc);
    }
}

impl Custom {
    /// What the function gives; if it is to be computed again, what it drew from, and where that began.
    fn called<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
    ) -> PyResult<(Object<'py>, Draws, Vec<Array>)> {
        let eval = self.eval.bind(args.py());
        if self.op != "checkpoint" {
            return Ok((eval.call1(args)?, Draws::default(), Vec::new()));
        }
        let (value, draws, states) = Draws::of(|| eval.call1(args));
        Ok((value?, draws, states))
    }

    /// The arguments in the order of the function's parameters: derivatives know them by place.
    fn by_place<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let (py, op) = (args.py(), self.op);
        let Some(kwargs) = kwargs.filter(|kwargs| !kwargs.is_empty()) else {
            return Ok(args.clone());
        };
        let signature = py.import("inspect")?.call_method1("signature", (&self.eval,))?;
        let bound = signature.call_method("bind", args, Some(kwargs))?;
        // A parameter behind one that was left out is in place with that one's default.
        let given = bound.getattr("arguments")?.call_method0("copy")?;
        bound.call_method0("apply_defaults")?;
        let left = bound.getattr("kwargs")?.cast_into::<PyDict>()?;
        if let Some(name) = kwargs.keys().iter().find(|name| left.contains(name).unwrap_or(false)) {
            return Err(wrong_type(format!(
                "{op}: got {name}=.., which the function takes by name alone; expected arguments by place"
            )));
        }
        let all = bound.getattr("args")?.cast_into::<PyTuple>()?;
        let names = signature.getattr("parameters")?.try_iter()?.take(all.len());
        let names = names.collect::<PyResult<Vec<_>>>()?;
        let last = names.iter().rposition(|name| given.contains(name).unwrap_or(false));
        let n = last.map_or(0, |last| last + 1).max(args.len());
        Ok(all.get_slice(0, n))
    }
}

/// A function with a derivative that you write: backward(v, *args) gives from v, as long as the value, the gradient by each
/// argument times v; forward(t, *args) from a direction of the arguments that of the value; numbers have the direction 0. Of
/// several arrays in a tuple v is such a tuple, and backward is called for each, with zeros in the places of the others.
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
/// asked for, with the same numbers from generators.
///
/// >>> step = pc.checkpoint(lambda x: pc.sin(x) * x)
/// >>> pc.grad(step)(pc.Float([0, 1]))
/// [0, 1.38177]
#[pyfunction]
fn checkpoint(f: Py<PyAny>) -> Custom {
    Custom { op: "checkpoint", eval: f, backward: None, forward: None }
}

/// Asks core for derivatives, without Python's lock; those that Python functions are, are asked of them, whose exceptions
/// are told.
pub(crate) fn asking<R: Send>(
    py: Python<'_>,
    work: impl FnOnce(&mut dyn Ask) -> CoreResult<R> + Send,
) -> PyResult<R> {
    let mut asked = Functions::default();
    let result = blocking_once(py, || work(&mut asked));
    asked.0.map_or(result, Err)
}

/// What a function threw.
#[derive(Default)]
struct Functions(Option<PyErr>);

impl Ask for Functions {
    fn pull(
        &mut self,
        told: &Told,
        args: &[Array],
        cotangent: &Array,
    ) -> CoreResult<Vec<Option<Array>>> {
        let found = in_python(|py| pulled(py, told, args, cotangent));
        self.keep(found)
    }

    fn push(
        &mut self,
        told: &Told,
        args: &[Array],
        tangents: &[Option<Array>],
    ) -> CoreResult<Array> {
        let found = in_python(|py| pushed(py, told, args, tangents));
        self.keep(found)
    }
}

impl Functions {
    fn keep<R>(&mut self, result: PyResult<R>) -> CoreResult<R> {
        result.map_err(|error| {
            let what = error.to_string();
            self.0.get_or_insert(error);
            Error::Argument { op: "custom", what }
        })
    }
}

fn of_call(told: &Told) -> &Called {
    told.call.downcast_ref().expect("internal error: a call of somebody else")
}

impl Called {
    /// The value, each array of which is asked for by its place.
    fn told<'py>(
        self: Arc<Self>,
        py: Python<'py>,
        args: &[Array],
        outputs: &[Array],
    ) -> PyResult<Object<'py>> {
        let (op, lent) = (self.function.get().op, args.iter().collect::<Vec<_>>());
        let outputs = outputs.iter().enumerate().map(|(place, output)| {
            output.detach()?.with_told_derivative(op, &lent, Told { place, call: self.clone() })
        });
        let outputs = outputs.collect::<CoreResult<Vec<_>>>().or_raise()?;
        self.value.with(py, &mut outputs.into_iter())
    }

    /// A cotangent of the value, which is one of its arrays alone.
    fn with_one<'py>(
        &self,
        py: Python<'py>,
        told: &Told,
        cotangent: &Array,
    ) -> PyResult<Object<'py>> {
        let arrays = self.outputs.iter().enumerate().map(|(place, &(dtype, size))| {
            let is_own = place == told.place;
            if is_own { Ok(cotangent.clone()) } else { cotangent.session().zeros(dtype, size) }
        });
        let arrays = arrays.collect::<CoreResult<Vec<_>>>().or_raise()?;
        self.value.still(py)?.with(py, &mut arrays.into_iter())
    }

    fn args<'py>(&self, py: Python<'py>, arrays: &[Array]) -> PyResult<Vec<Object<'py>>> {
        let args = self.args.with(py, &mut arrays.iter().cloned())?;
        Ok(args.cast_into::<PyTuple>()?.iter().collect())
    }

    /// The directions of the arguments, of which arrays alone move.
    fn moves<'py>(&self, py: Python<'py>, arrays: &[Array]) -> PyResult<Vec<Object<'py>>> {
        let moves = self.args.still(py)?.with(py, &mut arrays.iter().cloned())?;
        Ok(moves.cast_into::<PyTuple>()?.iter().collect())
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
    let Some(backward) = &custom.backward else {
        if custom.op != "checkpoint" {
            return Err(PyTypeError::new_err(
                "custom: the function has no backward, which grad and backward need",
            ));
        }
        let (marks, outputs) = again(py, custom, called, args)?;
        let output = outputs.get(told.place).ok_or_else(|| {
            wrong_type("checkpoint: the function gave another value when it was computed again")
        })?;
        let session = home::session(py)?;
        return asking(py, |asked| session.grad_by_tracked((output, cotangent), &marks, asked));
    };
    let mut values = called.args(py, args)?;
    values.insert(0, called.with_one(py, told, cotangent)?);
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
    let session = home::session(py)?;
    let mut found = Vec::with_capacity(args.len());
    for (item, gradient) in items.iter().zip(&each) {
        let of = &args[found.len()..found.len() + n_arrays(item)];
        found.extend(gradients_by(session, item, gradient, of)?);
    }
    Ok(found)
}

/// The gradients by the arrays of an argument, in its form or as one value.
fn gradients_by(
    session: &Session,
    item: &Tree,
    gradient: &Object<'_>,
    of: &[Array],
) -> PyResult<Vec<Option<Array>>> {
    if gradient.is_none() || of.is_empty() {
        return Ok(of.iter().map(|_| None).collect());
    }
    if let Some(parts) = parts_beside(item, gradient)? {
        let mut found = Vec::with_capacity(of.len());
        for (item, part) in parts {
            let of = &of[found.len()..found.len() + n_arrays(item)];
            found.extend(gradients_by(session, item, &part, of)?);
        }
        return Ok(found);
    }
    let arrays = match number(gradient)? {
        Some(number) => {
            let full = |x: &Array| x.session().full(x.dtype(), number, 1);
            of.iter().map(full).collect::<CoreResult<Vec<_>>>().or_raise()?
        }
        None => match (Given::expected(session, "custom", gradient)?, item) {
            (Given::Value(value), Tree::Value(form)) => {
                form.summed(value).and_then(|value| value.arrays()).or_raise()?
            }
            (Given::Value(value), _) => value.arrays().or_raise()?,
            _ => return Err(wrong_type("custom: backward gave no array")),
        },
    };
    if arrays.len() != of.len() {
        let got = got(gradient);
        return Err(wrong_type(format!("custom: backward gave {got} as a gradient")));
    }
    Ok(arrays.into_iter().map(Some).collect())
}

/// The parts of an argument, each with its own of a gradient that has the form of it.
fn parts_beside<'t, 'py>(
    item: &'t Tree,
    gradient: &Object<'py>,
) -> PyResult<Option<Vec<(&'t Tree, Object<'py>)>>> {
    let py = gradient.py();
    let none = || py.None().into_bound(py);
    let (items, parts): (Vec<&Tree>, Vec<Object<'py>>) = match item {
        Tree::Dict(entries) => {
            let Ok(dict) = gradient.cast::<PyDict>() else { return Ok(None) };
            let part = |key: &Py<PyAny>| Ok(dict.get_item(key.bind(py))?.unwrap_or_else(none));
            let parts = entries.iter().map(|(key, _)| part(key)).collect::<PyResult<_>>()?;
            (entries.iter().map(|(_, item)| item).collect(), parts)
        }
        Tree::List(items) | Tree::Tuple(items) if is_sequence(gradient) => {
            (items.iter().collect(), gradient.try_iter()?.collect::<PyResult<_>>()?)
        }
        Tree::Object(_, items) => match Around::of(gradient)? {
            Some((_, held)) => (items.iter().collect(), held),
            None => return Ok(None),
        },
        _ => return Ok(None),
    };
    Ok((items.len() == parts.len()).then(|| items.into_iter().zip(parts).collect()))
}

fn n_arrays(tree: &Tree) -> usize {
    match tree {
        Tree::Value(skeleton) => skeleton.n_arrays(),
        Tree::Generator => 2,
        Tree::List(items) | Tree::Tuple(items) | Tree::Object(_, items) => {
            items.iter().map(n_arrays).sum()
        }
        Tree::Dict(entries) => entries.iter().map(|(_, item)| n_arrays(item)).sum(),
        Tree::Other(_) | Tree::Known(_) => 0,
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
            let moves = called.moves(py, &moves)?;
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
        let value = called.draws.again(&marks, || custom.eval.bind(py).call1(inside))?;
        let outputs = outputs_of(custom.op, &value)?;
        Ok((marks, outputs))
    })
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(custom, module)?)?;
    module.add_function(wrap_pyfunction!(checkpoint, module)?)
}
