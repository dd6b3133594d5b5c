//! The functions that scripts call, registered with Rhai from the tables of core.
//!
//! A binding reads its arguments, calls core and turns errors into faults; nothing is computed here.
//! [`Registry`] also remembers name, parameters and help of each function, which completion, help and
//! error hints read.

mod assign;
pub(crate) mod constants;
mod control;
pub(crate) mod csv_columns;
pub(crate) mod deletion;
mod devices;
pub(crate) mod doc;
mod files;
mod gather_scatter;
mod geometry;
mod horizontal;
mod index;
mod inspect;
mod json;
mod language_help;
mod many_arguments;
mod measure;
mod nested_types;
mod notebook;
mod ops;
mod plots;
mod power;
mod printing;
mod progress;
pub(crate) mod random;
mod rearrange;
mod reduce;
mod runtime;
mod script_numbers;
mod sizes;
mod sorting;
mod split;
pub(crate) mod stopwatch;
mod types;

use std::any::TypeId;
use std::collections::BTreeSet;
use std::rc::Rc;

use rhai::{Dynamic, Engine, NativeCallContext};

use crate::bind::doc::FunctionDoc;
use crate::context::Context;
use crate::fault::{Result, fault, under_name};
use crate::language::tokens::registered;
use crate::value::ArrayRef;

pub(crate) use gather_scatter::evaluate;
pub(crate) use many_arguments::LISTED;
pub(crate) use measure::profile;
pub(crate) use random::RngRef;
pub(crate) use script_numbers::Range;
pub(crate) use sizes::held;
pub(crate) use types::{STATICS, type_names};

/// Registers functions with an engine and keeps their documentation.
pub(crate) struct Registry<'e> {
    pub(crate) engine: &'e mut Engine,
    pub(crate) context: Rc<Context>,
    /// What the functions registered next belong to.
    pub(crate) family: &'static str,
    docs: Vec<FunctionDoc>,
    names: BTreeSet<String>,
}

/// Registers the functions of a file.
type Register = fn(&mut Registry<'_>);

/// What the functions belong to, and what registers them. A later one replaces an earlier one of the same
/// name and types.
const FAMILIES: &[(&str, Register)] = &[
    ("script numbers and ranges", script_numbers::register),
    ("lists, maps and text", sizes::register),
    ("lists, maps and text", sorting::register),
    ("elementwise functions", ops::register),
    ("elementwise functions", power::register),
    ("types", types::register),
    ("indices and shapes", index::register),
    ("over lanes or components", reduce::register),
    ("over lanes or components", horizontal::register),
    ("memory and host arrays", gather_scatter::register),
    ("lanes in other places", rearrange::register),
    ("loops and branches in kernels", control::register),
    ("vectors, matrices, complex numbers", geometry::register),
    ("types of vectors, matrices, complex numbers", nested_types::register),
    ("files", files::register),
    ("random numbers", random::register),
    ("evaluation and settings", runtime::register),
    ("evaluation and settings", devices::register),
    ("evaluation and settings", progress::register),
    ("showing and watching", printing::register),
    ("showing and watching", inspect::register),
    ("showing and watching", measure::register),
    ("showing and watching", notebook::register),
    ("pictures", plots::register),
    ("lists, maps and text", language_help::register),
    ("lists, maps and text", json::register),
];

impl<'e> Registry<'e> {
    fn new(engine: &'e mut Engine, context: Rc<Context>) -> Self {
        Self { engine, context, family: "", docs: Vec::new(), names: BTreeSet::new() }
    }

    /// Documents a name; see [`crate::bind::doc`] for the form of the text. Operators have `a + b` for parameters,
    /// constants nothing.
    pub(crate) fn doc(&mut self, name: &str, parameters: &str, text: &str) {
        self.docs.push(FunctionDoc::new(name, parameters, self.family, text));
    }

    /// Adds a form of a function to its page, or documents it for the first time.
    pub(crate) fn doc_form(&mut self, name: &str, parameters: &str, text: &str) {
        let form = FunctionDoc::new(name, parameters, self.family, text);
        match self.docs.iter_mut().find(|doc| doc.name == name) {
            Some(doc) => {
                doc.doc = format!("{}\n{}: {}", doc.doc, form.parameters, form.doc);
                doc.examples.extend(form.examples);
            }
            None => self.docs.push(form),
        }
    }

    /// Documents another name of a function that is documented already.
    pub(crate) fn alias(&mut self, alias: &str, name: &str) {
        let Some(original) = self.docs.iter().find(|doc| doc.name == name) else { return };
        let mut doc = original.clone();
        for example in &mut doc.examples {
            example.code = example.code.replace(&format!("{name}("), &format!("{alias}("));
        }
        doc.doc = format!("Another name of {name}. {}", doc.doc);
        doc.name = alias.into();
        self.docs.push(doc);
    }

    /// The documentation; names without any have an empty text.
    fn into_docs(mut self) -> Vec<FunctionDoc> {
        for name in std::mem::take(&mut self.names) {
            if !self.docs.iter().any(|doc| doc.name == name) {
                self.docs.push(FunctionDoc::new(&name, "(..)", "not documented", ""));
            }
        }
        self.docs
    }

    /// Registers a function of `arity` arguments of any type. Its errors get its name, if they have it not.
    pub(crate) fn any<T: Clone + 'static>(
        &mut self,
        name: &str,
        arity: usize,
        function: impl Fn(&Context, &NativeCallContext<'_>, &[&mut Dynamic]) -> Result<T> + 'static,
    ) {
        self.names.insert(name.into());
        let (context, owned) = (self.context.clone(), name.to_string());
        let types = vec![TypeId::of::<Dynamic>(); arity];
        self.engine.register_raw_fn(registered(name), types, move |call, args| {
            function(&context, &call, args).map_err(|error| under_name(error, &owned))
        });
    }

    /// Registers a function whose first argument is an array value, the others of any type; errors as of
    /// [`Self::any`].
    pub(crate) fn on_array<T: Clone + 'static>(
        &mut self,
        name: &str,
        arity: usize,
        function: impl Fn(&Context, &NativeCallContext<'_>, &ArrayRef, &[&mut Dynamic]) -> Result<T>
        + 'static,
    ) {
        self.names.insert(name.into());
        let (context, owned) = (self.context.clone(), name.to_string());
        let mut types = vec![TypeId::of::<Dynamic>(); arity];
        types[0] = TypeId::of::<ArrayRef>();
        self.engine.register_raw_fn(registered(name), types, move |call, args| {
            let Some((first, rest)) = args.split_first() else {
                return Err(fault("a function was called without arguments"));
            };
            let first = first.read_lock::<ArrayRef>().map(|first| first.clone());
            let first = first.ok_or_else(|| fault("expected an array"))?;
            function(&context, &call, &first, rest).map_err(|error| under_name(error, &owned))
        });
    }
}

/// Registers everything; the documentation of all functions comes back.
pub(crate) fn register(engine: &mut Engine, context: &Rc<Context>) -> Vec<FunctionDoc> {
    engine.register_type_with_name::<ArrayRef>(crate::diagnose::error::ARRAY);
    engine.register_type_with_name::<crate::value::host_array::HostRef>("ndarray");
    engine.register_type_with_name::<crate::fault::Fault>("error");
    let mut registry = Registry::new(engine, context.clone());
    for &(family, register) in FAMILIES {
        registry.family = family;
        register(&mut registry);
    }
    registry.into_docs()
}
