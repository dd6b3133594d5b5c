//! How an interpreter is put together: session, engine, functions, help, sandbox.

use std::cell::LazyCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use porcini_core::{DeviceChoice, Session};
use rhai::{AST, Engine, OptimizationLevel, Scope};

use super::Interpreter;
use crate::assist::help;
use crate::bind::constants::{self, Constants};
use crate::bind::deletion::{self, Deletions};
use crate::bind::doc::Docs;
use crate::bind::{self, types::type_names};
use crate::context::Context;
use crate::diagnose::error::{Error, ErrorKind};
use crate::language::{powers, tokens};
use crate::options::Options;
use crate::value::Deleted;
use crate::world::bounds::{Limited, Watch};
use crate::world::engine_thread::{ENGINE_STACK, stack};
use crate::world::host::{Host, NOTHING};
use crate::world::modules::{Resolver, Texts};
use crate::world::nesting::Nesting;
use crate::world::sandbox::Sandbox;

/// Nested function calls of a script, on the whole stack.
const MAX_CALLS: usize = 1500;
/// What errors call the limit of arrays.
const MEMORY_LIMIT: &str = "PORCINI_MEMORY_LIMIT";
/// Nested expressions of a script, on the whole stack.
const MAX_EXPRESSIONS: usize = 2000;
/// Nested expressions in a function: calls times these levels, a few kilobytes each, fit the stack.
const MAX_EXPRESSIONS_IN_FUNCTIONS: usize = 64;

impl Interpreter {
    /// Starts a session on a device.
    ///
    /// # Errors
    /// If the device, or the folder of the sandbox, is not there.
    pub fn new(host: Rc<dyn Host>, options: &Options) -> Result<Self, Box<Error>> {
        let end = host.process_end();
        let limit = limited(options, end.is_some());
        let end = end.unwrap_or_else(|| Arc::new(|_| {}));
        let watch = Watch::new(options.sandbox.clone(), limit, end);
        if !watch.is_sandbox {
            return Self::within(watch, host, options);
        }
        let sandbox = Sandbox::new(host, watch.clone()).map_err(|error| {
            let folder = watch.bounds.folder.clone().unwrap_or_default();
            refuse(format!("--sandbox={}: {error}", folder.display()))
        })?;
        Self::within(watch, Rc::new(sandbox), options)
    }

    /// An interpreter whose bounds, and what was used of them, are there already.
    fn within(watch: Rc<Watch>, host: Rc<dyn Host>, options: &Options) -> Result<Self, Box<Error>> {
        let setup = (host.clone(), options.clone());
        let session = session(&host, options).map_err(|error| refuse(error.to_string()))?;
        let context = Context::new(session, host.clone(), options.sandbox.as_ref());
        let mut engine = Engine::new();
        let modules = Texts::default();
        configure(&mut engine, &host, &modules);
        let nesting = watch_over(&mut engine, &watch, &context.session);
        let written = bind::register(&mut engine, &context);
        let docs: Docs = Rc::new(LazyCell::new(Box::new(|| written.into_docs(constants::docs()))));
        help::register(&mut engine, &context, &docs);
        let deletions = Deletions::new(context.clone());
        deletion::register(&mut engine, &deletions);
        context.outputs.register(&mut engine);
        let constants = Constants::install(&mut engine, &context, nesting, deletions.clone());
        let known = tokens::variables(&engine).unwrap_or_default();
        let interpreter = Self {
            engine,
            scope: Scope::new(),
            definitions: AST::empty(),
            context,
            docs,
            constants,
            deletions,
            declared: HashSet::new(),
            known,
            cells: HashMap::new(),
            modules,
            imports: HashMap::new(),
            inputs: Vec::new(),
            failed: BTreeSet::new(),
            kept: 0,
            last_folder: None,
            watch,
            setup,
        };
        interpreter.tell_functions();
        Ok(interpreter)
    }

    /// Begins anew on another device, with the cells typed so far.
    pub(crate) fn begin_on(&mut self, device: DeviceChoice) -> Result<(), Box<Error>> {
        let (host, options) = &self.setup;
        let level = self.context.session.log_level();
        let options =
            Options { device, log_level: level, runtime: None, session: None, ..options.clone() };
        let (inputs, failed) = (self.inputs.clone(), self.failed.clone());
        let anew = Self::within(self.watch.clone(), host.clone(), &options)?;
        *self = Self { inputs, failed, ..anew };
        Ok(())
    }
}

/// Why there is no interpreter.
fn refuse(why: String) -> Box<Error> {
    Box::new(Error::plain(ErrorKind::Runtime, why))
}

fn session(host: &Rc<dyn Host>, options: &Options) -> porcini_core::Result<Session> {
    if let Some(session) = &options.session {
        return Ok(session.clone());
    }
    let mut builder = Session::builder()
        .device(options.device)
        .log(options.log_level, host.log_sink())
        .warnings(host.warning_sink())
        .toolkit(host.toolkit())
        .rank_program(host.rank_program())
        .launcher(options.launcher.clone())
        .mpi_library(host.variable("PORCINI_MPI").map(Into::into));
    if host.is_watched() {
        builder = builder.progress(host.progress_sink());
    }
    if let Some(folder) = host.cache_folder() {
        builder = builder.cache_folder(folder);
    }
    if let Some(runtime) = &options.runtime {
        builder = builder.runtime(runtime.clone());
    }
    if let Some(threads) = options.threads {
        builder = builder.threads(threads);
    }
    let set = options.memory_limit.map(|bytes| (bytes, MEMORY_LIMIT));
    let bound = options.sandbox.as_ref().map(|bounds| (bounds.memory, "--max-memory"));
    if let Some((bytes, name)) = set.into_iter().chain(bound).min() {
        builder = builder.memory_limit_by(bytes, name);
    }
    builder.build()
}

/// The limit of arrays: that of a session which others use too, or that of our own in a process of our own.
fn limited(options: &Options, is_alone: bool) -> Option<Limited> {
    match &options.session {
        Some(session) => session.memory_limit().map(Limited::beside_others),
        None => {
            let limit = options.memory_limit.filter(|_| is_alone);
            limit.map(|bytes| Limited::alone(bytes, MEMORY_LIMIT))
        }
    }
}

fn configure(engine: &mut Engine, host: &Rc<dyn Host>, modules: &Texts) {
    // The optimiser rewrites `a = a + b` to `a += b`, and built-in operators would bypass ours.
    engine.set_optimization_level(OptimizationLevel::None);
    engine.set_fast_operators(false);
    let stack = stack();
    // At least one: none is no limit.
    let part = |most: usize| (most * (stack >> 20) / (ENGINE_STACK >> 20)).max(1);
    engine.set_max_expr_depths(part(MAX_EXPRESSIONS), MAX_EXPRESSIONS_IN_FUNCTIONS);
    engine.set_max_call_levels(part(MAX_CALLS));
    engine.set_module_resolver(Resolver::new(host.clone(), modules.clone()));
    engine.register_type_with_name::<Deleted>("deleted variable");
    // Every call of a method asks for the name of its first argument's type, and looks through all modules for one
    // that nobody registered.
    for name in
        ["()", "bool", "i64", "f64", "char", "string", "array", "map", "range", "Fn", "timestamp"]
    {
        engine.register_type_with_name_raw(name, name);
    }
    let output = host.clone();
    engine.on_print(move |text| {
        if text != NOTHING {
            output.print(text);
        }
    });
    let output = host.clone();
    engine.on_debug(move |text, _, _| output.print(text));
    tokens::install(engine, type_names());
    powers::register(engine);
}

/// Looks between any two operations of a script whether it should go on.
fn watch_over(engine: &mut Engine, watch: &Watch, session: &Session) -> Rc<Nesting> {
    if watch.is_sandbox {
        engine.set_max_operations(watch.bounds.operations);
    }
    Nesting::watch(engine, session.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::tokens::{registered, typed};

    #[test]
    fn a_session_that_is_handed_in_has_its_limit() {
        let session = Session::builder().memory_limit_by(1 << 20, "memory_limit").build().unwrap();
        let has_limit = |session, memory_limit, is_alone| {
            limited(&Options { session, memory_limit, ..Options::default() }, is_alone).is_some()
        };
        assert!(has_limit(Some(session), None, false) && has_limit(None, Some(1), true));
        assert!(!has_limit(Some(Session::new().unwrap()), None, false));
        assert!(!has_limit(None, Some(1), false) && !has_limit(None, None, true));
    }

    /// Words that scripts call as functions must parse in both forms.
    #[test]
    fn every_registered_name_can_be_called() {
        let mut engine = Engine::new();
        tokens::install(&mut engine, type_names());
        for name in tokens::REMAPPED {
            for text in [format!("{name}(1)"), format!("let x = 1; x.{name}(1)")] {
                assert!(engine.compile(&text).is_ok(), "{text}");
            }
            assert_eq!(typed(&registered(name)), name);
        }
    }
}
