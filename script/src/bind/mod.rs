//! The functions that scripts call, registered with Rhai from the tables of core.
//!
//! A binding reads its arguments, calls core and turns errors into faults; nothing is computed here.
//! [`Registry`] also remembers name, parameters and help of each function, which completion, help and
//! error hints read.

mod assign;
mod index;
mod inspect;
mod memory;
mod ops;
pub(crate) mod random;
mod reduce;
mod runtime;
mod scalars;
mod types;

use std::any::TypeId;
use std::rc::Rc;

use rhai::{Dynamic, Engine, NativeCallContext};

use crate::context::Context;
use crate::fault::Result;
use crate::tokens::registered;
use crate::value::ArrayRef;

pub(crate) use random::RngRef;
pub(crate) use scalars::Range;
pub(crate) use types::{STATICS, type_names};

/// Name, parameters and help of a function.
#[derive(Clone, Debug)]
pub struct FunctionDoc {
    /// Name as typed.
    pub name: String,
    /// Parameters as typed: `(source, index, active)`.
    pub parameters: String,
    /// Help text.
    pub doc: String,
}

/// Registers functions with an engine and keeps their documentation.
pub(crate) struct Registry<'e> {
    pub(crate) engine: &'e mut Engine,
    pub(crate) context: Rc<Context>,
    docs: Vec<FunctionDoc>,
}

impl<'e> Registry<'e> {
    fn new(engine: &'e mut Engine, context: Rc<Context>) -> Self {
        Self { engine, context, docs: Vec::new() }
    }

    /// Documents a name; the shortest signature of several is given first.
    pub(crate) fn doc(&mut self, name: &str, parameters: &str, doc: &str) {
        self.docs.push(FunctionDoc {
            name: name.into(),
            parameters: parameters.into(),
            doc: doc.trim().into(),
        });
    }

    /// Registers a function of `arity` arguments of any type.
    pub(crate) fn any<T: Clone + 'static>(
        &mut self,
        name: &str,
        arity: usize,
        function: impl Fn(&Context, &NativeCallContext<'_>, &[&mut Dynamic]) -> Result<T> + 'static,
    ) {
        let context = self.context.clone();
        let types = vec![TypeId::of::<Dynamic>(); arity];
        self.engine.register_raw_fn(registered(name), types, move |call, args| {
            function(&context, &call, args)
        });
    }

    /// Registers a function whose first argument is an array value, the others of any type.
    pub(crate) fn on_array<T: Clone + 'static>(
        &mut self,
        name: &str,
        arity: usize,
        function: impl Fn(&Context, &NativeCallContext<'_>, &ArrayRef, &[&mut Dynamic]) -> Result<T>
        + 'static,
    ) {
        let context = self.context.clone();
        let mut types = vec![TypeId::of::<Dynamic>(); arity];
        types[0] = TypeId::of::<ArrayRef>();
        self.engine.register_raw_fn(registered(name), types, move |call, args| {
            let Some((first, rest)) = args.split_first() else {
                return Err(crate::fault::fault("a function was called without arguments"));
            };
            let first = first.read_lock::<ArrayRef>().map(|first| first.clone());
            let first = first.ok_or_else(|| crate::fault::fault("expected an array"))?;
            function(&context, &call, &first, rest)
        });
    }
}

/// Registers everything; the documentation of all functions comes back.
pub(crate) fn register(engine: &mut Engine, context: &Rc<Context>) -> Vec<FunctionDoc> {
    engine.register_type_with_name::<ArrayRef>(crate::error::ARRAY);
    engine.register_type_with_name::<crate::host_array::HostRef>("ndarray");
    engine.register_type_with_name::<crate::fault::Fault>("error");
    let mut registry = Registry::new(engine, context.clone());
    scalars::register(&mut registry);
    ops::register(&mut registry);
    types::register(&mut registry);
    index::register(&mut registry);
    reduce::register(&mut registry);
    memory::register(&mut registry);
    random::register(&mut registry);
    runtime::register(&mut registry);
    inspect::register(&mut registry);
    registry.docs
}
