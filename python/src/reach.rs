//! What a call of a Python function can reach: its arguments, and what it captures, names and holds, through containers,
//! attributes and other functions.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use porcini_core::{Array, DType, Scalar, Value};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyCode, PyDict, PyFloat, PyFunction, PyInt, PyList, PyString, PyTuple, PyType,
};

use crate::convert::number;
use crate::errors::OrRaise;
use crate::object::PyValue;
use crate::random::Generator;
use crate::recursion::Level;
use crate::types;

type Object<'py> = Bound<'py, PyAny>;

/// Facts of a call that are worth comparing: beyond these, calling the function is faster.
const MOST_FACTS: usize = 1 << 16;

/// What a call depends on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fact {
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
    /// Something else, by its address: the recording keeps it alive. What it holds follows.
    Object(usize),
    Flags(u64),
}

/// What a call can reach: its facts, and the objects whose arrays it may read and change.
#[derive(Default)]
pub(crate) struct Reach<'py> {
    pub(crate) facts: Vec<Fact>,
    pub(crate) slots: Vec<Object<'py>>,
    pub(crate) arrays: Vec<Array>,
    pub(crate) others: Vec<Py<PyAny>>,
    /// Objects by their addresses, in the order in which they were met.
    met: HashMap<usize, usize>,
}

impl<'py> Reach<'py> {
    /// What a call reaches.
    pub(crate) fn of_call(
        flags: u64,
        f: &Object<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Self> {
        let mut reach = Self::default();
        reach.facts.push(Fact::Flags(flags));
        args.iter().try_for_each(|arg| reach.add(&arg))?;
        if let Some(kwargs) = kwargs {
            reach.add_other(kwargs)?;
        }
        reach.add(f)?;
        Ok(reach)
    }

    /// Whether there is more than a recording is worth.
    pub(crate) fn is_too_much(&self) -> bool {
        self.facts.len() > MOST_FACTS
    }

    /// Whether it holds what another one holds: the same objects in the same places.
    pub(crate) fn holds_what(&self, other: &Self) -> bool {
        let mut slots = self.slots.iter().zip(&other.slots);
        self.slots.len() == other.slots.len()
            && slots.all(|(a, b)| a.is(b))
            && self.facts == other.facts
    }

    fn add(&mut self, object: &Object<'py>) -> PyResult<()> {
        if self.is_too_much() {
            return Ok(());
        }
        // Modules may make what they are asked for, and that takes its time.
        if object.is_instance_of::<PyModule>() || object.is_instance_of::<PyFunction>() {
            return self.add_once(object);
        }
        let fact = match number(object) {
            Ok(Some(Scalar::Bool(truth))) => Fact::Bool(truth),
            Ok(Some(Scalar::Int(integer))) => Fact::Int(integer),
            Ok(Some(Scalar::UInt(integer))) => Fact::UInt(integer),
            Ok(Some(Scalar::Float(float))) => Fact::Float(float.to_bits()),
            _ if object.is_none() => Fact::Nothing,
            _ => return self.add_once(object),
        };
        self.facts.push(fact);
        self.add_class_of_plain(object);
        Ok(())
    }

    /// The class of a number or text, if it is not one of Python's own: those of NumPy have types, those of users methods.
    fn add_class_of_plain(&mut self, object: &Object<'py>) {
        let is_plain = object.is_none()
            || object.is_exact_instance_of::<PyFloat>()
            || object.is_exact_instance_of::<PyInt>()
            || object.is_exact_instance_of::<PyBool>()
            || object.is_exact_instance_of::<PyString>();
        if !is_plain {
            self.add_itself(object.get_type().as_any());
        }
    }

    fn add_once(&mut self, object: &Object<'py>) -> PyResult<()> {
        if let Ok(text) = object.cast::<PyString>() {
            self.facts.push(Fact::Text(text.to_string()));
            self.add_class_of_plain(object);
            return Ok(());
        }
        let n = self.met.len();
        match self.met.entry(object.as_ptr().addr()) {
            Entry::Occupied(met) => {
                self.facts.push(Fact::Same(*met.get()));
                return Ok(());
            }
            Entry::Vacant(place) => place.insert(n),
        };
        if let Ok(value) = object.cast::<PyValue>() {
            let value = value.get().value().clone();
            let extents = match &value {
                Value::Tensor(tensor) => tensor.shape().extents().to_vec(),
                _ => Vec::new(),
            };
            let arrays = value.arrays().or_raise()?;
            self.facts.push(Fact::Value(value.type_name(), extents, arrays.len()));
            self.add_slot(object, arrays);
            if types::is_of_user(&object.get_type())? {
                self.add_of_class(object)?;
            }
            return Ok(());
        }
        if let Ok(generator) = object.cast::<Generator>() {
            self.facts.push(Fact::Generator);
            self.add_slot(object, generator.get().arrays().into());
            return Ok(());
        }
        self.add_other(object)
    }

    fn add_slot(&mut self, slot: &Object<'py>, arrays: Vec<Array>) {
        self.facts.extend(arrays.iter().map(|array| Fact::Lanes(array.dtype(), array.size())));
        self.arrays.extend(arrays);
        self.slots.push(slot.clone());
    }

    fn add_other(&mut self, object: &Object<'py>) -> PyResult<()> {
        let _level = Level::enter(object.py())?;
        if let Ok(list) = object.cast::<PyList>() {
            self.facts.push(Fact::List(list.len()));
            list.iter().try_for_each(|item| self.add(&item))?;
            return self.add_derived(object, list.is_exact_instance_of::<PyList>());
        }
        if let Ok(tuple) = object.cast::<PyTuple>() {
            self.facts.push(Fact::Tuple(tuple.len()));
            tuple.iter().try_for_each(|item| self.add(&item))?;
            return self.add_derived(object, tuple.is_exact_instance_of::<PyTuple>());
        }
        if let Ok(dict) = object.cast::<PyDict>() {
            self.facts.push(Fact::Dict(dict.len()));
            dict.iter().try_for_each(|(key, item)| {
                self.add(&key)?;
                self.add(&item)
            })?;
            return self.add_derived(object, dict.is_exact_instance_of::<PyDict>());
        }
        self.add_itself(object);
        if object.is_instance_of::<PyModule>() || object.is_instance_of::<PyType>() {
            return Ok(());
        }
        held(object)?.iter().try_for_each(|held| self.add(held))?;
        if object.getattr_opt("__code__")?.is_some_and(|code| code.is_instance_of::<PyCode>()) {
            return self.add_captured(object);
        }
        self.add_attributes(object)
    }

    fn add_itself(&mut self, object: &Object<'py>) {
        self.facts.push(Fact::Object(object.as_ptr().addr()));
        self.others.push(object.clone().unbind());
    }

    /// What a list, tuple or dict of a user's class has beside its items.
    fn add_derived(&mut self, object: &Object<'py>, is_plain: bool) -> PyResult<()> {
        if is_plain { Ok(()) } else { self.add_of_class(object) }
    }

    /// The class of an object, whose methods the function may call, and its attributes.
    fn add_of_class(&mut self, object: &Object<'py>) -> PyResult<()> {
        self.add_itself(object.get_type().as_any());
        self.add_attributes(object)
    }

    /// What an object has in its dictionary and in slots.
    fn add_attributes(&mut self, object: &Object<'py>) -> PyResult<()> {
        let py = object.py();
        let _level = Level::enter(py)?;
        if let Ok(attributes) = object.getattr(intern!(py, "__dict__")) {
            self.add(&attributes)?;
        }
        let copyreg = py.import(intern!(py, "copyreg"))?;
        let names = copyreg.call_method1(intern!(py, "_slotnames"), (object.get_type(),))?;
        for name in names.try_iter()? {
            match object.getattr(name?.cast::<PyString>()?) {
                Ok(attribute) => self.add(&attribute)?,
                Err(_) => self.facts.push(Fact::Nothing),
            }
        }
        Ok(())
    }

    /// What a function has captured, its defaults, and the globals that it names.
    fn add_captured(&mut self, f: &Object<'py>) -> PyResult<()> {
        for name in ["__defaults__", "__kwdefaults__"] {
            if let Some(defaults) = f.getattr_opt(name)? {
                self.add(&defaults)?;
            }
        }
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
        let globals = globals.cast::<PyDict>()?;
        // Ours stay as they are, as those of `pc.grad`, which is named through the module.
        if is_ours(globals)? { Ok(()) } else { self.add_globals(&code, globals) }
    }

    /// What code names, that of functions within it, too.
    fn add_globals(&mut self, code: &Object<'py>, globals: &Bound<'py, PyDict>) -> PyResult<()> {
        for name in code.getattr("co_names")?.try_iter()? {
            if let Some(object) = globals.get_item(name?)? {
                self.add(&object)?;
            }
        }
        for constant in code.getattr("co_consts")?.try_iter()? {
            let constant = constant?;
            if constant.is_instance_of::<PyCode>() {
                let _level = Level::enter(code.py())?;
                self.add_globals(&constant, globals)?;
            }
        }
        Ok(())
    }
}

/// Whether globals are those of a module of this package: `functools.wraps` names another in what `pc.grad(f)` gives.
fn is_ours(globals: &Bound<'_, PyDict>) -> PyResult<bool> {
    let Some(name) = globals.get_item(intern!(globals.py(), "__name__"))? else { return Ok(false) };
    let Ok(name) = name.cast::<PyString>() else { return Ok(false) };
    Ok(name.to_str()?.starts_with("porcini."))
}

/// What methods, `functools.partial`, wrappers and functions with derivatives of their own hold. Objects of other classes
/// have their data in `__dict__` and slots, which are added as a whole: their properties are not asked.
fn held<'py>(object: &Object<'py>) -> PyResult<Vec<Object<'py>>> {
    let module = object.get_type().getattr("__module__")?;
    let module = module.cast::<PyString>().map_or_else(|_| String::new(), |name| name.to_string());
    if !["builtins", "functools", "porcini"].contains(&module.as_str()) {
        return Ok(Vec::new());
    }
    let names = ["__self__", "__wrapped__", "func", "args", "keywords", "backward", "forward"];
    names.iter().filter_map(|name| object.getattr_opt(*name).transpose()).collect()
}
