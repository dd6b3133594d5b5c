//! `@function`: Python functions that are recorded once, and called with other arrays (S21).
//!
//! What a call depends on besides the lanes of arrays is put down as facts: types and sizes, numbers, texts. For facts that
//! were met before, what the function recorded then is recorded again with other arrays in it; no Python runs.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use porcini_core::{Array, Recorded, Session};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::errors::{OrRaise, got, raised, wrong_type};
use crate::home;
use crate::interchange::is_foreign;
use crate::object::PyValue;
use crate::random::Generator;
use crate::reach::{Fact, Reach};
use crate::stand_ins::StandIns;
use crate::statics::Statics;
use crate::tree::{Numbers, Tree, own};

type Object<'py> = Bound<'py, PyAny>;

/// Recordings of a function that are kept.
const MOST_RECORDINGS: usize = 16;

/// What a function did with stand-ins.
struct Recording {
    recorded: Recorded,
    /// What the function changes, each with its arrays.
    changes: Vec<(Slot, Tree)>,
    /// What it returns: outputs are the arrays in changes, then those in here. What a call reaches is returned itself,
    /// by its place among the slots, with what the call wrote to it.
    result: Tree,
    /// What facts name by address; a call that returns one returns itself.
    others: Vec<Py<PyAny>>,
    /// Whether recording it again with other arrays is all that the function does: it put no other objects into lists,
    /// attributes and such.
    is_all: bool,
}

/// A value that a function changes.
enum Slot {
    /// The one that was met at this place before the call.
    Met(usize),
    /// One that the function put where a call can reach it.
    New(Py<PyAny>),
}

/// A function that is recorded once for each form of its arguments.
#[pyclass(module = "porcini", frozen, name = "Function", dict, weakref)]
struct Function {
    #[pyo3(get, name = "__wrapped__")]
    f: Py<PyAny>,
    recordings: Mutex<VecDeque<(Vec<Fact>, Arc<Recording>)>>,
    statics: Option<Statics>,
}

#[pymethods]
impl Function {
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Object<'py>> {
        let py = slf.py();
        let session = home::session(py)?;
        let f = slf.get().f.bind(py);
        // Arrays of other libraries may be written by them: they are ours from here on, whatever is recorded.
        let args = &PyTuple::new(
            py,
            args.iter().map(|arg| own(session, arg)).collect::<PyResult<Vec<_>>>()?,
        )?;
        let known = match &slf.get().statics {
            Some(statics) => Some(statics.known(args, kwargs)?),
            None => None,
        };
        let (args, kwargs) = match &known {
            Some((args, kwargs)) => (args, kwargs.as_ref()),
            None => (args, kwargs),
        };
        let reach = Reach::of_call(session.flag_bits(), f, args, kwargs)?;
        let is_others = |other: &Py<PyAny>| is_foreign(other.bind(py));
        let holds_others = reach.others.iter().any(is_others);
        if reach.is_too_much() || holds_others || !session.replays(&reach.arrays) {
            return f.call(args, kwargs);
        }
        let known = slf.get().find(&reach.facts);
        let recording = match known {
            Some(known) => known,
            None => {
                let recording = Arc::new(recorded(session, f, args, kwargs, &reach)?);
                if recording.is_all {
                    slf.get().keep(reach.facts.clone(), recording.clone());
                }
                recording
            }
        };
        let arrays = arrays_now(session, &reach)?;
        let outputs = recording.recorded.call(&arrays.iter().collect::<Vec<_>>()).or_raise()?;
        let mut outputs = outputs.into_iter();
        for (slot, tree) in &recording.changes {
            let slot = match slot {
                Slot::Met(place) => &reach.slots[*place],
                Slot::New(object) => object.bind(py),
            };
            change(py, slot, tree, &mut outputs)?;
        }
        let new = recording.changes.iter().filter_map(|(slot, _)| match slot {
            Slot::Met(_) => None,
            Slot::New(object) => Some(object.bind(py).clone()),
        });
        let mut known = reach.slots;
        known.extend(new);
        known.extend(recording.others.iter().map(|other| other.bind(py).clone()));
        recording.result.with_around(py, &known, &mut outputs)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<recorded {}>", self.f.bind(py).repr()?))
    }

    /// By its name, as Python's functions are, where that is this one, a decorated function; else as the function that it
    /// records, without what was recorded.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Object<'py>> {
        let py = slf.py();
        if let Some(name) = global_name(slf)? {
            return Ok(name);
        }
        let own = py.import("porcini._porcini")?.getattr("_recorded_again")?;
        let told = slf.get().statics.as_ref().map(Statics::told).unwrap_or_default();
        (own, (slf.get().f.bind(py), told.0, told.1)).into_bound_py_any(py)
    }

    /// Forgets what was recorded: the next call runs the function.
    fn clear(&self, py: Python<'_>) {
        if let Some(statics) = &self.statics {
            statics.clear(py);
        }
        let old = mem::take(&mut *self.recordings());
        // Their objects may run Python as they go, which may call the function.
        drop(old);
    }

    /// How many forms of arguments it keeps recordings for, 16 at most: the oldest goes first.
    #[getter]
    fn n_recordings(&self) -> usize {
        self.recordings().len()
    }

    fn __get__<'py>(
        slf: &Bound<'py, Self>,
        instance: &Object<'py>,
        _class: Option<&Object<'py>>,
    ) -> PyResult<Object<'py>> {
        if instance.is_none() {
            return Ok(slf.clone().into_any());
        }
        slf.py().import("types")?.getattr("MethodType")?.call1((slf, instance))
    }
}

/// The name under which the module of a function has it.
fn global_name<'py>(function: &Bound<'py, Function>) -> PyResult<Option<Object<'py>>> {
    let Some(name) = function.getattr_opt("__qualname__")? else { return Ok(None) };
    let modules = function.py().import("sys")?.getattr("modules")?;
    let module = function.getattr_opt("__module__")?.map(|module| modules.get_item(module));
    let Some(Ok(mut found)) = module else { return Ok(None) };
    for part in name.extract::<String>()?.split('.') {
        match found.getattr_opt(part)? {
            Some(member) => found = member,
            None => return Ok(None),
        }
    }
    Ok(found.is(function).then_some(name))
}

/// What a pickle of a recorded function holds.
#[pyfunction]
fn _recorded_again<'py>(
    f: &Object<'py>,
    static_argnums: &Object<'py>,
    static_argnames: &Object<'py>,
) -> PyResult<Object<'py>> {
    function_of(f.py(), Some(f), Some(static_argnums), Some(static_argnames), None)
}

impl Function {
    fn recordings(&self) -> MutexGuard<'_, VecDeque<(Vec<Fact>, Arc<Recording>)>> {
        self.recordings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, facts: &[Fact]) -> Option<Arc<Recording>> {
        let recordings = self.recordings();
        recordings.iter().find(|(known, _)| known == facts).map(|(_, recording)| recording.clone())
    }

    fn keep(&self, facts: Vec<Fact>, recording: Arc<Recording>) {
        let mut recordings = self.recordings();
        // Another thread may have been faster.
        if recordings.iter().any(|(known, _)| *known == facts) {
            return;
        }
        recordings.push_back((facts, recording));
        let is_full = recordings.len() > MOST_RECORDINGS;
        let old = if is_full { recordings.pop_front() } else { None };
        // As in `clear`.
        drop(recordings);
        drop(old);
    }
}

/// The arrays that a call reaches: what other threads wrote while Python ran is not to be written over.
fn arrays_now(session: &Session, reach: &Reach<'_>) -> PyResult<Vec<Array>> {
    let mut now = Vec::new();
    for slot in &reach.slots {
        Tree::of(session, slot, Numbers::Kept, &mut now)?;
    }
    let forms = |arrays: &[Array]| -> Vec<_> {
        arrays.iter().map(|array| (array.dtype(), array.size())).collect()
    };
    Ok(if forms(&now) == forms(&reach.arrays) { now } else { reach.arrays.clone() })
}

/// Puts arrays into a value or generator.
fn change(
    py: Python<'_>,
    slot: &Object<'_>,
    tree: &Tree,
    arrays: &mut dyn Iterator<Item = Array>,
) -> PyResult<()> {
    match (tree, slot.cast::<PyValue>(), slot.cast::<Generator>()) {
        (Tree::Value(skeleton), Ok(value), _) => {
            value.get().set(py, skeleton.with(arrays).or_raise()?);
        }
        (_, _, Ok(generator)) => {
            if let (Some(state), Some(inc)) = (arrays.next(), arrays.next()) {
                Generator::set(generator, state, inc);
            }
        }
        _ => {}
    }
    Ok(())
}

/// As [`change`], for this thread alone, until it has recorded the function.
fn lend(
    py: Python<'_>,
    slot: &Object<'_>,
    tree: &Tree,
    arrays: &mut dyn Iterator<Item = Array>,
) -> PyResult<()> {
    if let (Tree::Value(skeleton), Ok(value)) = (tree, slot.cast::<PyValue>()) {
        value.get().lend(py, skeleton.with(arrays).or_raise()?);
    } else if let Ok(generator) = slot.cast::<Generator>()
        && let (Some(state), Some(inc)) = (arrays.next(), arrays.next())
    {
        generator.get().lend(state, inc);
    }
    Ok(())
}

/// Lets this thread see stand-ins in all that a call can reach.
fn seen_by_itself(session: &Session, reach: &Reach<'_>, stand_ins: &[Array]) -> PyResult<StandIns> {
    let seen = StandIns::new();
    let mut lent = stand_ins.iter().cloned();
    for slot in &reach.slots {
        let tree = Tree::of(session, slot, Numbers::Kept, &mut Vec::new())?;
        lend(slot.py(), slot, &tree, &mut lent)?;
    }
    Ok(seen)
}

/// What a function made of the slots in which it found stand-ins.
fn changes_of(
    session: &Session,
    reach: &Reach<'_>,
    stand_ins: &[Array],
    outputs: &mut Vec<Array>,
) -> PyResult<Vec<(Slot, Tree)>> {
    let serials = |arrays: &[Array]| arrays.iter().map(Array::serial).collect::<Vec<_>>();
    let (mut changes, mut start) = (Vec::new(), 0);
    for (place, slot) in reach.slots.iter().enumerate() {
        let mut now = Vec::new();
        let tree = Tree::of(session, slot, Numbers::Kept, &mut now)?;
        let end = start + now.len();
        if serials(&now) != serials(&stand_ins[start..end]) {
            outputs.append(&mut now);
            changes.push((Slot::Met(place), tree));
        }
        start = end;
    }
    Ok(changes)
}

/// Calls a function with stand-ins in all that it can reach.
fn recorded(
    session: &Session,
    f: &Object<'_>,
    args: &Bound<'_, PyTuple>,
    kwargs: Option<&Bound<'_, PyDict>>,
    reach: &Reach<'_>,
) -> PyResult<Recording> {
    let py = f.py();
    let stand_ins = session.stand_ins(&reach.arrays.iter().collect::<Vec<_>>()).or_raise()?;
    let seen = seen_by_itself(session, reach, &stand_ins)?;
    let value = session.recording_function(|| f.call(args, kwargs));
    if let Some(error) = session.take_recording_failure() {
        return Err(raised(&error));
    }
    let value = value?;
    // Components follow the whole: all is taken down before the slots hold again what they held.
    let mut outputs = Vec::new();
    let mut changes = changes_of(session, reach, &stand_ins, &mut outputs)?;
    let mut known = reach.slots.clone();
    let now = Reach::of_call(session.flag_bits(), f, args, kwargs)?;
    for slot in now.slots.iter().filter(|slot| !reach.slots.iter().any(|met| met.is(*slot))) {
        let tree = Tree::of(session, slot, Numbers::Kept, &mut outputs)?;
        changes.push((Slot::New(slot.clone().unbind()), tree));
        known.push(slot.clone());
    }
    // A result that is one of them is what a call finds there at its end.
    known.extend(reach.others.iter().map(|other| other.bind(py).clone()));
    let result = Tree::of_around(session, &value, Numbers::Kept, &known, &mut outputs)?;
    result.check_fields(py)?;
    drop(seen);
    let since = Reach::of_call(session.flag_bits(), f, args, kwargs)?;
    let is_all = since.holds_what(reach);
    let lent: Vec<&Array> = stand_ins.iter().collect();
    let recorded =
        session.recorded("function", &lent, &outputs.iter().collect::<Vec<_>>()).or_raise()?;
    let others = reach.others.iter().map(|other| other.clone_ref(py)).collect();
    Ok(Recording { recorded, changes, result, others, is_all })
}

/// The function f, recorded once for each form of its arguments: a call with arrays of the same types and sizes, and the same
/// numbers, records what the first one recorded, without running f. Arrays and generators that f has captured are read, and
/// changed, at each call. Inside no lane can be read (if, any, x[i], print). The last 16 forms are kept, as f.n_recordings
/// says; f.clear() forgets them. Objects are the same where they are one; those in static_argnums, numbers of arguments, and
/// static_argnames where they are equal, as numbers and texts always are. Without f it is a decorator with these arguments; what
/// else JAX and Dr.Jit take, such as auto_opaque, changes nothing.
///
/// >>> f = pc.function(lambda x: pc.sin(x) * x)
/// >>> f(pc.Float([1, 2])), f(pc.Float([0, 1]))
/// ([0.841471, 1.81859], [0, 0.841471])
#[pyfunction(name = "function")]
#[pyo3(signature = (f=None, *, static_argnums=None, static_argnames=None, **others))]
fn function_of<'py>(
    py: Python<'py>,
    f: Option<&Object<'py>>,
    static_argnums: Option<&Object<'py>>,
    static_argnames: Option<&Object<'py>>,
    others: Option<&Bound<'py, PyDict>>,
) -> PyResult<Object<'py>> {
    let others = others.map_or_else(|| PyDict::new(py), Clone::clone);
    check_others(&others)?;
    let Some(f) = f else {
        others.set_item("static_argnums", static_argnums)?;
        others.set_item("static_argnames", static_argnames)?;
        let own = py.import("porcini._porcini")?.getattr("function")?;
        return py.import("functools")?.getattr("partial")?.call((own,), Some(&others));
    };
    if !f.is_callable() {
        return Err(wrong_type(format!("function: got {}, expected a function", got(f))));
    }
    let statics = Statics::new(f, static_argnums, static_argnames)?;
    let function = Function { f: f.clone().unbind(), recordings: Mutex::default(), statics };
    let function = Bound::new(py, function)?;
    for name in ["__name__", "__qualname__", "__doc__", "__module__"] {
        if let Some(named) = f.getattr_opt(name)? {
            function.setattr(name, named)?;
        }
    }
    Ok(function.into_any())
}

/// Arguments of JAX's jit and Dr.Jit's freeze that have no meaning here.
const OTHERS: [&str; 9] = [
    "auto_opaque",
    "backend",
    "donate_argnames",
    "donate_argnums",
    "inline",
    "keep_unused",
    "limit",
    "state_fn",
    "warn_after",
];

fn check_others(others: &Bound<'_, PyDict>) -> PyResult<()> {
    for name in others.keys() {
        let name = name.extract::<String>()?;
        if !OTHERS.contains(&name.as_str()) {
            return Err(wrong_type(format!(
                "function: got {name}=.., expected static_argnums=.. or static_argnames=.., or one of JAX's and Dr.Jit's that \
                 change nothing: {}",
                OTHERS.join(", ")
            )));
        }
    }
    Ok(())
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_recorded_again, module)?)?;
    module.add_function(wrap_pyfunction!(function_of, module)?)
}
