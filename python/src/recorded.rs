//! `@function`: Python functions that are recorded once, and called with other arrays (S21).
//!
//! What a call depends on besides the lanes of arrays is put down as facts: types and sizes, numbers, texts. For facts that
//! were met before, what the function recorded then is recorded again with other arrays in it; no Python runs.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use porcini_core::{Array, DType, Recorded, Scalar, Session, Value};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use crate::convert::number;
use crate::errors::{OrRaise, raised};
use crate::home;
use crate::object::PyValue;
use crate::random::Generator;
use crate::tree::{Numbers, Tree, is_foreign, own};

type Object<'py> = Bound<'py, PyAny>;

/// Recordings of a function that are kept.
const MOST_RECORDINGS: usize = 16;

/// What a call depends on.
#[derive(Clone, Debug, PartialEq)]
enum Fact {
    Nothing,
    Bool(bool),
    Int(i64),
    UInt(u64),
    /// The bits of a float.
    Float(u64),
    Text(String),
    /// So many objects follow.
    List(usize),
    Tuple(usize),
    Dict(usize),
    /// A value of this type, with so many arrays, which follow.
    Value(String, Vec<u64>, usize),
    Lanes(DType, u64),
    Generator,
    /// The same object as another one before.
    Same(usize),
    /// Something else, by its address: the recording keeps it alive.
    Object(usize),
    Flags(u64),
}

/// What a call can reach: its facts, and the objects whose arrays it may read and change.
#[derive(Default)]
struct Reach<'py> {
    facts: Vec<Fact>,
    slots: Vec<Object<'py>>,
    arrays: Vec<Array>,
    others: Vec<Py<PyAny>>,
}

impl<'py> Reach<'py> {
    fn add(&mut self, object: &Object<'py>) -> PyResult<()> {
        if let Some(place) = self.slots.iter().position(|slot| slot.is(object)) {
            self.facts.push(Fact::Same(place));
            return Ok(());
        }
        if let Ok(value) = object.cast::<PyValue>() {
            let value = value.get().value().clone();
            let arrays = value.arrays().or_raise()?;
            let extents = match &value {
                Value::Tensor(tensor) => tensor.shape().extents().to_vec(),
                _ => Vec::new(),
            };
            self.facts.push(Fact::Value(value.type_name(), extents, arrays.len()));
            self.facts.extend(arrays.iter().map(|array| Fact::Lanes(array.dtype(), array.size())));
            self.arrays.extend(arrays);
            self.slots.push(object.clone());
            return Ok(());
        }
        if let Ok(generator) = object.cast::<Generator>() {
            let arrays = generator.get().arrays();
            self.facts.push(Fact::Generator);
            self.facts.extend(arrays.iter().map(|array| Fact::Lanes(array.dtype(), array.size())));
            self.arrays.extend(arrays);
            self.slots.push(object.clone());
            return Ok(());
        }
        let fact = match number(object) {
            Ok(Some(Scalar::Bool(truth))) => Fact::Bool(truth),
            Ok(Some(Scalar::Int(integer))) => Fact::Int(integer),
            Ok(Some(Scalar::UInt(integer))) => Fact::UInt(integer),
            Ok(Some(Scalar::Float(float))) => Fact::Float(float.to_bits()),
            _ if object.is_none() => Fact::Nothing,
            _ => return self.add_other(object),
        };
        self.facts.push(fact);
        Ok(())
    }

    fn add_other(&mut self, object: &Object<'py>) -> PyResult<()> {
        if let Ok(text) = object.cast::<PyString>() {
            self.facts.push(Fact::Text(text.to_string()));
        } else if let Ok(list) = object.cast::<PyList>() {
            self.facts.push(Fact::List(list.len()));
            list.iter().try_for_each(|item| self.add(&item))?;
        } else if let Ok(tuple) = object.cast::<PyTuple>() {
            self.facts.push(Fact::Tuple(tuple.len()));
            tuple.iter().try_for_each(|item| self.add(&item))?;
        } else if let Ok(dict) = object.cast::<PyDict>() {
            self.facts.push(Fact::Dict(dict.len()));
            dict.iter().try_for_each(|(key, item)| {
                self.add(&key)?;
                self.add(&item)
            })?;
        } else {
            self.facts.push(Fact::Object(object.as_ptr().addr()));
            self.others.push(object.clone().unbind());
        }
        Ok(())
    }

    /// What a function has captured, and the global arrays, generators and numbers that it names.
    fn add_captured(&mut self, f: &Object<'py>) -> PyResult<()> {
        if let Ok(cells) = f.getattr("__closure__")
            && let Ok(cells) = cells.cast::<PyTuple>()
        {
            for cell in cells.iter() {
                // An empty one belongs to a name that has no value yet.
                match cell.getattr("cell_contents") {
                    Ok(contents) => self.add(&contents)?,
                    Err(_) => self.facts.push(Fact::Nothing),
                }
            }
        }
        let (Ok(code), Ok(globals)) = (f.getattr("__code__"), f.getattr("__globals__")) else {
            return Ok(());
        };
        let globals = globals.cast_into::<PyDict>()?;
        for name in code.getattr("co_names")?.try_iter()? {
            let Some(object) = globals.get_item(name?)? else { continue };
            let is_data = object.is_instance_of::<PyValue>()
                || object.is_instance_of::<Generator>()
                || number(&object)?.is_some();
            if is_data {
                self.add(&object)?;
            }
        }
        Ok(())
    }
}

/// What a function did with stand-ins.
struct Recording {
    recorded: Recorded,
    /// Places that the function changes, each with the number of its arrays.
    changes: Vec<(usize, Tree)>,
    /// What it returns: outputs are the arrays in changes, then those in here.
    result: Tree,
    /// What facts name by address.
    _others: Vec<Py<PyAny>>,
}

/// A function that is recorded once for each form of its arguments.
#[pyclass(module = "porcini", frozen, name = "Function", dict, weakref)]
struct Function {
    #[pyo3(get, name = "__wrapped__")]
    f: Py<PyAny>,
    recordings: Mutex<VecDeque<(Vec<Fact>, std::sync::Arc<Recording>)>>,
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
        let mut reach = Reach::default();
        reach.facts.push(Fact::Flags(session.flag_bits()));
        for arg in args.iter() {
            reach.add(&arg)?;
        }
        if let Some(kwargs) = kwargs {
            reach.add(kwargs.as_any())?;
        }
        reach.add_captured(f)?;
        let holds_others = reach.others.iter().any(|other| is_foreign(other.bind(py)));
        if holds_others || !session.replays(&reach.arrays) {
            return f.call(args, kwargs);
        }
        let known = slf.get().find(&reach.facts);
        let recording = match known {
            Some(known) => known,
            None => {
                let recording =
                    std::sync::Arc::new(recorded(session, f, args, kwargs, &mut reach)?);
                slf.get().keep(reach.facts.clone(), recording.clone());
                recording
            }
        };
        let outputs =
            recording.recorded.call(&reach.arrays.iter().collect::<Vec<_>>()).or_raise()?;
        let mut outputs = outputs.into_iter();
        for (place, tree) in &recording.changes {
            change(py, &reach.slots[*place], tree, &mut outputs)?;
        }
        recording.result.with(py, &mut outputs)
    }

    /// How many forms of arguments it was recorded for.
    #[getter]
    fn n_recordings(&self) -> usize {
        self.recordings.lock().unwrap_or_else(PoisonError::into_inner).len()
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

impl Function {
    fn find(&self, facts: &[Fact]) -> Option<std::sync::Arc<Recording>> {
        let recordings = self.recordings.lock().unwrap_or_else(PoisonError::into_inner);
        recordings.iter().find(|(known, _)| known == facts).map(|(_, recording)| recording.clone())
    }

    fn keep(&self, facts: Vec<Fact>, recording: std::sync::Arc<Recording>) {
        let mut recordings = self.recordings.lock().unwrap_or_else(PoisonError::into_inner);
        recordings.push_back((facts, recording));
        if recordings.len() > MOST_RECORDINGS {
            recordings.pop_front();
        }
    }
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
                generator.get().set(state, inc);
            }
        }
        _ => {}
    }
    Ok(())
}

/// Calls a function with stand-ins in all that it can reach.
fn recorded(
    session: &Session,
    f: &Object<'_>,
    args: &Bound<'_, PyTuple>,
    kwargs: Option<&Bound<'_, PyDict>>,
    reach: &mut Reach<'_>,
) -> PyResult<Recording> {
    let py = f.py();
    let stand_ins = session.stand_ins(&reach.arrays.iter().collect::<Vec<_>>()).or_raise()?;
    let mut trees = Vec::new();
    let mut own = Vec::new();
    for slot in &reach.slots {
        trees.push(Tree::of(session, slot, Numbers::Kept, &mut own)?);
    }
    let put = |arrays: &[Array]| -> PyResult<()> {
        let mut arrays = arrays.iter().cloned();
        let mut slots = reach.slots.iter().zip(&trees);
        slots.try_for_each(|(slot, tree)| change(py, slot, tree, &mut arrays))
    };
    put(&stand_ins)?;
    let value = session.recording_function(|| f.call(args, kwargs));
    // What stands in the slots now, before it is put back.
    let mut after = Vec::new();
    let mut held = Vec::new();
    for slot in &reach.slots {
        let start = after.len();
        let tree = Tree::of(session, slot, Numbers::Kept, &mut after)?;
        held.push((tree, start..after.len()));
    }
    put(&own)?;
    if let Some(error) = session.take_recording_failure() {
        return Err(raised(&error));
    }
    let value = value?;
    let (mut changes, mut outputs) = (Vec::new(), Vec::new());
    for (place, (tree, range)) in held.into_iter().enumerate() {
        let serials = |arrays: &[Array]| arrays.iter().map(Array::serial).collect::<Vec<_>>();
        if serials(&after[range.clone()]) != serials(&stand_ins[range.clone()]) {
            outputs.extend(after[range].iter().cloned());
            changes.push((place, tree));
        }
    }
    let result = Tree::of(session, &value, Numbers::Kept, &mut outputs)?;
    let lent: Vec<&Array> = stand_ins.iter().collect();
    let recorded =
        session.recorded("function", &lent, &outputs.iter().collect::<Vec<_>>()).or_raise()?;
    Ok(Recording { recorded, changes, result, _others: std::mem::take(&mut reach.others) })
}

/// The function f, recorded once for each form of its arguments: a call with arrays of the same types and sizes, and the same
/// numbers, records what the first one recorded, without running f. Arrays and generators that f has captured are read, and
/// changed, at each call. Inside no lane can be read (if, any, x[i], print).
///
/// >>> f = pc.function(lambda x: pc.sin(x) * x)
/// >>> f(pc.Float([1, 2])), f(pc.Float([0, 1]))
/// ([0.841471, 1.81859], [0, 0.841471])
#[pyfunction(name = "function")]
fn function_of(f: Py<PyAny>) -> Function {
    Function { f, recordings: Mutex::default() }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(function_of, module)?)
}
