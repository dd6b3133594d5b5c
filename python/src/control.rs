//! Loops and branches of arrays: Python functions over states, recorded once by core.

use porcini_core::{Array, DType, Error, Scalar, Session};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::errors::{OrRaise, got, raised, wrong_type};
use crate::home;
use crate::object::PyValue;
use crate::tree::{Numbers, Tree};

type Object<'py> = Bound<'py, PyAny>;

/// An error of a Python function on its way through core.
struct Thrown(PyErr);

impl From<Error> for Thrown {
    fn from(error: Error) -> Self {
        Self(raised(&error))
    }
}

impl From<PyErr> for Thrown {
    fn from(error: PyErr) -> Self {
        Self(error)
    }
}

/// States as functions take them: several one by one, a dictionary or a value as it is.
struct States<'py> {
    py: Python<'py>,
    session: &'static Session,
    op: &'static str,
    tree: Tree,
    arrays: Vec<Array>,
}

impl<'py> States<'py> {
    fn new(op: &'static str, states: &Object<'py>) -> PyResult<Self> {
        let (py, session) = (states.py(), home::session(states.py())?);
        let mut arrays = Vec::new();
        let tree = Tree::of(session, states, Numbers::Arrays(None), &mut arrays)?;
        tree.expect_arrays(py, op)?;
        Ok(Self { py, session, op, tree, arrays })
    }

    /// What a function gives for arrays in the place of the states.
    fn called(&self, f: &Object<'py>, arrays: &[Array]) -> PyResult<Object<'py>> {
        let states = self.tree.with(self.py, &mut arrays.iter().cloned())?;
        match (&self.tree, states.cast::<PyTuple>()) {
            (Tree::Tuple(_) | Tree::Object(..), Ok(several)) => f.call1(several.clone()),
            (Tree::List(_), _) => {
                let several = PyTuple::new(self.py, states.cast::<PyList>()?.iter())?;
                f.call1(several)
            }
            _ => f.call1((states,)),
        }
    }

    /// The arrays of what a function gives for the next states.
    fn next(&self, f: &Object<'py>, arrays: &[Array]) -> PyResult<Vec<Array>> {
        let next = self.called(f, arrays)?;
        let mut found = Vec::new();
        let tree = Tree::of(self.session, &next, Numbers::Arrays(Some(arrays)), &mut found)?;
        tree.expect_arrays(self.py, self.op)?;
        self.expect_same(&self.tree, &tree)?;
        Ok(found)
    }

    /// An error of core's under the name that was called.
    fn named(&self, error: PyErr) -> PyErr {
        let text = error.value(self.py).to_string();
        let is_of_core = text.starts_with("if_then: ") || text.contains("the body of if_then ");
        if self.op == "if_then" || !is_of_core {
            return error;
        }
        let text = text.replace("if_then", self.op);
        error.value(self.py).setattr("args", (text,)).err().unwrap_or(error)
    }

    /// An error where None or a text stands that is another one in a tree before.
    fn expect_same(&self, before: &Tree, after: &Tree) -> PyResult<()> {
        let (before, after) = (before.others(), after.others());
        let is_other =
            |(a, b): (&&Py<PyAny>, &&Py<PyAny>)| Ok(!a.bind(self.py).eq(b.bind(self.py))?);
        let differ: PyResult<Vec<bool>> = before.iter().zip(&after).map(is_other).collect();
        match differ?.iter().position(|&differs| differs) {
            None if before.len() == after.len() => Ok(()),
            place => {
                let of = |all: &[&Py<PyAny>]| match place.and_then(|place| all.get(place)) {
                    Some(object) => got(object.bind(self.py)),
                    None => format!("{} without arrays", all.len()),
                };
                let (op, got, expected) = (self.op, of(&after), of(&before));
                Err(wrong_type(format!(
                    "{op}: got {got}, expected {expected} as before: arrays, numbers and generators alone change"
                )))
            }
        }
    }

    fn mask(&self, f: &Object<'py>, arrays: &[Array]) -> PyResult<Array> {
        let mask = self.called(f, arrays)?;
        match mask.cast::<PyValue>() {
            Ok(mask) => mask.get().deciding(self.op, &self.tree.shapes()),
            Err(_) => Err(wrong_type(format!(
                "{}: the condition gave {}, expected a Mask",
                self.op,
                got(&mask)
            ))),
        }
    }
}

/// Repeats body in every lane while cond holds there; the states at the end.
///
/// States are a tuple (or list, or dict) of arrays, numbers and generators; both functions take them one by one, and body
/// returns the next ones. Objects of data classes, and of those with DRJIT_STRUCT, hold states; None and texts stay what they
/// are. Recorded once, runs inside a kernel; a lane that is done keeps its values. max_iterations ends it in
/// any case; invertible=f, where f gives the states at the beginning of a turn from those at its end, saves the memory that
/// gradients take for them.
///
/// >>> x, n = pc.while_loop((pc.UInt32([1, 7, 10]), pc.UInt32(0)), lambda x, n: x > 1, lambda x, n: (pc.select(x % 2 == 0, x >> 1, 3 * x + 1), n + 1))
/// >>> n
/// [0, 16, 6]
#[pyfunction]
#[pyo3(signature = (state, cond, body, *, max_iterations=None, invertible=None, labels=None, label=None, mode=None, strict=None, compress=None))]
#[expect(clippy::too_many_arguments, reason = "as users name them, those of Dr.Jit too")]
fn while_loop<'py>(
    state: &Object<'py>,
    cond: &Object<'py>,
    body: &Object<'py>,
    max_iterations: Option<u32>,
    invertible: Option<&Object<'py>>,
    labels: Option<&Object<'py>>,
    label: Option<&Object<'py>>,
    mode: Option<&Object<'py>>,
    strict: Option<&Object<'py>>,
    compress: Option<&Object<'py>>,
) -> PyResult<Object<'py>> {
    let _ = (labels, label, mode, strict, compress);
    let states = States::new("while_loop", state)?;
    let (session, arrays) = (states.session, &states.arrays);
    let condition = |arrays: &[Array]| Ok::<_, Thrown>(states.mask(cond, arrays)?);
    let turn = |arrays: &[Array]| Ok::<_, Thrown>(states.next(body, arrays)?);
    let after = match (max_iterations, invertible) {
        (Some(most), _) => session.while_loop_at_most(most, arrays, condition, turn),
        (None, Some(inverse)) => {
            let back = |arrays: &[Array]| Ok::<_, Thrown>(states.next(inverse, arrays)?);
            session.while_loop_invertible(arrays, condition, turn, back)
        }
        (None, None) => session.while_loop(arrays, condition, turn),
    };
    let after = after.map_err(|Thrown(error)| error)?;
    states.tree.with(states.py, &mut after.into_iter())
}

/// What true_fn gives in lanes where the mask is true, what false_fn gives in the others. Both take args and return values of
/// the same types; recorded, and a packet of lanes skips the function that none of its lanes needs.
///
/// >>> x = pc.Float([-4, 9])
/// >>> pc.if_stmt((x,), x > 0, lambda x: pc.sqrt(x), lambda x: -x)
/// [4, 3]
#[pyfunction]
#[pyo3(signature = (args, cond, true_fn, false_fn, *, arg_labels=None, rv_labels=None, label=None, mode=None, strict=None))]
#[expect(clippy::too_many_arguments, reason = "those of Dr.Jit, which change nothing")]
fn if_stmt<'py>(
    args: &Object<'py>,
    cond: &Object<'py>,
    true_fn: &Object<'py>,
    false_fn: &Object<'py>,
    arg_labels: Option<&Object<'py>>,
    rv_labels: Option<&Object<'py>>,
    label: Option<&Object<'py>>,
    mode: Option<&Object<'py>>,
    strict: Option<&Object<'py>>,
) -> PyResult<Object<'py>> {
    let _ = (arg_labels, rv_labels, label, mode, strict);
    branched("if_stmt", cond, args, true_fn, false_fn)
}

/// if_then(mask, args, then, otherwise): what `then` gives in lanes where the mask is true, `otherwise` in the others.
///
/// >>> x = pc.Float([-4, 9])
/// >>> pc.if_then(x > 0, (x,), lambda x: pc.sqrt(x), lambda x: -x)
/// [4, 3]
#[pyfunction]
fn if_then<'py>(
    mask: &Object<'py>,
    args: &Object<'py>,
    then: &Object<'py>,
    otherwise: &Object<'py>,
) -> PyResult<Object<'py>> {
    branched("if_then", mask, args, then, otherwise)
}

/// As [`if_then`], under the name that was called.
fn branched<'py>(
    op: &'static str,
    mask: &Object<'py>,
    args: &Object<'py>,
    then: &Object<'py>,
    otherwise: &Object<'py>,
) -> PyResult<Object<'py>> {
    let states = States::new(op, args)?;
    let mask = match mask.cast::<PyValue>() {
        Ok(mask) => mask.get().deciding(op, &states.tree.shapes())?,
        // A bool chooses for all lanes.
        Err(_) => match mask.extract::<bool>() {
            Ok(truth) => states.session.full(DType::Mask, Scalar::Bool(truth), 1).or_raise()?,
            Err(_) => return Err(wrong_type(format!("{op}: got {}, expected a Mask", got(mask)))),
        },
    };
    let form = std::cell::RefCell::new(None);
    let branch = |f: &Object<'py>, arrays: &[Array]| given(&states, &form, f, arrays);
    let results = states.session.if_then(
        &mask,
        &states.arrays,
        |arrays| branch(then, arrays),
        |arrays| branch(otherwise, arrays),
    );
    rebuilt(&states, &form, results)
}

/// Lane i gets what function number index[i] gives for args; zeros where there is no such function.
///
/// >>> pc.dispatch(pc.UInt32([0, 1, 7]), [lambda x: x + 1, lambda x: x * 10], (pc.Float([1, 2, 3]),))
/// [2, 20, 0]
#[pyfunction]
fn dispatch<'py>(
    index: &Object<'py>,
    functions: Vec<Object<'py>>,
    args: &Object<'py>,
) -> PyResult<Object<'py>> {
    let op = "dispatch";
    let states = States::new(op, args)?;
    let index = match index.cast::<PyValue>() {
        Ok(index) => {
            index.get().deciding(op, &states.tree.shapes())?.cast(DType::U32).or_raise()?
        }
        Err(_) => return Err(wrong_type(format!("{op}: got {}, expected integers", got(index)))),
    };
    let form = std::cell::RefCell::new(None);
    let results = states.session.dispatch(&index, functions.len(), &states.arrays, |k, arrays| {
        given(&states, &form, &functions[k], arrays)
    });
    rebuilt(&states, &form, results)
}

type Form = std::cell::RefCell<Option<Tree>>;

/// The arrays of what a branch gives, whose form all branches share.
fn given<'py>(
    states: &States<'py>,
    form: &Form,
    f: &Object<'py>,
    arrays: &[Array],
) -> Result<Vec<Array>, Thrown> {
    let value = states.called(f, arrays)?;
    let mut found = Vec::new();
    let tree = Tree::of(states.session, &value, Numbers::Arrays(None), &mut found)?;
    tree.expect_arrays(states.py, states.op)?;
    if let Some(first) = &*form.borrow() {
        states.expect_same(first, &tree)?;
    }
    form.borrow_mut().get_or_insert(tree);
    Ok(found)
}

fn rebuilt<'py>(
    states: &States<'py>,
    form: &Form,
    results: Result<Vec<Array>, Thrown>,
) -> PyResult<Object<'py>> {
    let results = results.map_err(|Thrown(error)| states.named(error))?;
    let form = form.borrow();
    let form = form
        .as_ref()
        .ok_or_else(|| wrong_type(format!("{}: no function was called", states.op)))?;
    form.with(states.py, &mut results.into_iter())
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(while_loop, module)?)?;
    module.add_function(wrap_pyfunction!(if_stmt, module)?)?;
    module.add_function(wrap_pyfunction!(if_then, module)?)?;
    module.add_function(wrap_pyfunction!(dispatch, module)?)
}
