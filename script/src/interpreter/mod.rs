//! The interpreter that both front ends drive: text in, values and diagnostics out.

mod exchange;
mod setup;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::{Duration, Instant};

use porcini_core::interrupt::{self, Cause};
use porcini_core::memory::process_heap;
use porcini_core::random::SplitMix64;
use porcini_core::{Array, Session};
use rhai::{AST, Dynamic, Engine, EvalAltResult, Expr, ParseError, Position, Scope, Stmt, Token};

use crate::bind::constants::Constants;
use crate::bind::deletion::Deletions;
use crate::bind::doc::{Docs, FunctionDoc};
use crate::bind::engine_endings::{END, END_FORGOTTEN};
use crate::context::{Context, FIRST_SEED, Signatures};
use crate::diagnose::diagnosis::Surroundings;
use crate::diagnose::error::{Error, ErrorKind};
use crate::diagnose::location::late_location;
use crate::fault::{late_fault, parse_fault};
use crate::language::assignments;
use crate::language::cell::{Cell, Lines, Piece};
use crate::language::tokens::Variables;
use crate::options::Options;
use crate::show::outcome::Outcome;
use crate::value::cuda_module::ModuleKernelRef;
use crate::value::outputs::LAST;
use crate::value::{ArrayRef, Deleted, Node};
use crate::world::bounds::{Watch, resident};
use crate::world::control_characters;
use crate::world::engine_thread::{ENGINE_STACK, stack};
use crate::world::host::Host;
use crate::world::modules::Texts;

/// Bytes that are free and may stay with the process.
const MOST_KEPT: u64 = 64 << 20;
/// A turn after which nobody looks.
const SHORT: Duration = Duration::from_millis(5);

/// Runs scripts in one session. Lives on one thread with a stack of [`ENGINE_STACK`](crate::ENGINE_STACK).
pub struct Interpreter {
    pub(crate) engine: Engine,
    pub(crate) scope: Scope<'static>,
    /// Functions defined so far.
    pub(crate) definitions: AST,
    pub(crate) context: Rc<Context>,
    pub(crate) docs: Docs,
    constants: Constants,
    deletions: Deletions,
    /// Variables that the running cell declares by assigning to them.
    declared: HashSet<String>,
    /// Names of the variables that [`Self::tidy_scope`] has left.
    known: Variables,
    /// Name and text of the cell that defined each function.
    pub(crate) cells: HashMap<String, (Rc<str>, Rc<str>)>,
    /// Texts of the imported modules.
    pub(crate) modules: Texts,
    /// What `import "path" as name` at top level named.
    pub(crate) imports: HashMap<String, String>,
    /// Number and text of the cells that were typed.
    pub(crate) inputs: Vec<(usize, String)>,
    /// Numbers of those that failed.
    pub(crate) failed: BTreeSet<usize>,
    /// Bytes besides values that the system did not take back when they were offered.
    kept: u64,
    /// Where `%cd -` leads.
    pub(crate) last_folder: Option<String>,
    /// Looks at what runs: whether it keeps the bounds of a sandbox, or takes all memory.
    watch: Rc<Watch>,
    /// How it was set up.
    setup: (Rc<dyn Host>, Options),
}

impl Interpreter {
    /// The session.
    pub fn session(&self) -> &Session {
        &self.context.session
    }

    /// Names, parameters and help of all functions.
    pub fn functions(&self) -> &[FunctionDoc] {
        &self.docs
    }

    /// Gives scripts an array of [the session](Self::session) as a variable.
    pub fn set_array(&mut self, name: &str, array: Array) {
        self.scope.set_or_push(name, Dynamic::from(ArrayRef::leaf(array)));
    }

    /// The one-dimensional arrays in a variable, in order: of vectors those of all components, of lists
    /// those of all values. Empty if there are none.
    pub fn arrays(&self, name: &str) -> Vec<Array> {
        let mut values: Vec<Dynamic> = self.scope.get(name).cloned().into_iter().collect();
        let mut arrays = Vec::new();
        while let Some(value) = values.pop() {
            if let Some(list) = value.read_lock::<rhai::Array>() {
                values.extend(list.iter().rev().cloned());
            } else if let Some(array) = value.read_lock::<ArrayRef>() {
                arrays.extend(array.leaves());
            }
        }
        arrays
    }

    /// Runs a script called `name`.
    ///
    /// # Errors
    /// As [`Interpreter::run`].
    pub fn execute(&mut self, text: &str, name: &str) -> Result<Outcome, Box<Error>> {
        // Reading is part of the turn.
        self.in_one_turn(|interpreter| {
            let cell = Cell::script(text);
            match cell.pieces() {
                [piece, ..] => interpreter.run(&cell, piece, name),
                [] => Ok(Outcome::default()),
            }
        })
    }

    /// Runs a piece of a cell or file called `name`.
    ///
    /// Variables stay for the next one, also when this one fails.
    ///
    /// # Errors
    /// What went wrong, where and what to do; `ErrorKind::Exit` if the script wants to end.
    pub fn run(&mut self, cell: &Cell, piece: &Piece, name: &str) -> Result<Outcome, Box<Error>> {
        self.bounded(|interpreter| interpreter.guarded(|it| it.run_script(cell, piece, name)))
    }

    /// Runs a text whose value does not become `_`: what an editor asks beside the cells.
    ///
    /// # Errors
    /// As [`Interpreter::execute`].
    pub fn evaluate(&mut self, text: &str, name: &str) -> Result<Outcome, Box<Error>> {
        // What the value takes until it is gone is part of the turn.
        self.bounded(|interpreter| {
            let last = interpreter.scope.get(LAST).cloned();
            let result = interpreter.execute(text, name);
            match last {
                Some(last) => drop(interpreter.scope.set_or_push(LAST, last)),
                None => drop(interpreter.scope.remove::<Dynamic>(LAST)),
            }
            result
        })
    }

    /// Does work as one turn: all that it runs shares the time and the output that a sandbox gives.
    pub fn in_one_turn<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        let _running = self.watch.begin();
        work(self)
    }

    /// Runs work within the bounds of the sandbox, if there is one.
    pub(crate) fn bounded(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<Outcome, Box<Error>>,
    ) -> Result<Outcome, Box<Error>> {
        self.in_one_turn(|interpreter| {
            let start = Instant::now();
            let result = work(interpreter);
            // Nobody frees much in less.
            if start.elapsed() > SHORT {
                interpreter.give_back();
            }
            // Who makes no large arrays any more still has those of earlier cells.
            interpreter.context.session.give_back_unused();
            interpreter.watch.judge(result)
        })
    }

    /// Gives memory back to the system that lists and texts no longer use, once it is much.
    fn give_back(&mut self) {
        let arrays = self.context.session.memory_info();
        let free = || {
            let held = process_heap::held().saturating_add(arrays.used + arrays.cached);
            Some(resident()?.saturating_sub(held))
        };
        let Some(before) = free() else { return };
        self.kept = self.kept.min(before);
        if before > self.kept + MOST_KEPT {
            process_heap::trim();
            self.kept = free().unwrap_or(before);
        }
    }

    /// Runs work whose panics become errors.
    pub(crate) fn guarded(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<Outcome, Box<Error>>,
    ) -> Result<Outcome, Box<Error>> {
        let result = catch_unwind(AssertUnwindSafe(|| work(self)));
        result.unwrap_or_else(|panic| {
            // Whatever state the panic left: the variables are worth another try.
            drop(catch_unwind(AssertUnwindSafe(|| self.tidy_scope())));
            Err(Box::new(internal_error(panic.as_ref())))
        })
    }

    fn run_script(
        &mut self,
        cell: &Cell,
        piece: &Piece,
        name: &str,
    ) -> Result<Outcome, Box<Error>> {
        let result = self.value_of(cell, piece, name);
        let result = result.map_err(|error| Box::new(self.diagnose(&error, cell, name)));
        self.tidy_scope();
        self.context.session.set_line(0);
        // A script that leaves has gone to its end, as far as others can see.
        let is_over = result.as_ref().err().is_none_or(|error| error.is_exit_alone());
        let pending = if is_over { self.late_error() } else { None };
        let value = self.with_late(result, pending, cell, name)?;
        self.end_forgotten()?;
        self.shown(value, cell, piece, name)
    }

    /// What went wrong in what was launched, for which the end of a cell waits unless cells overlap.
    fn late_error(&self) -> Option<porcini_core::Error> {
        let session = &self.context.session;
        if self.waits_for_nothing() {
            return session.take_known_error();
        }
        // What is short of memory waits until somebody wants it.
        session.sync().err().filter(|error| {
            *error != porcini_core::Error::Interrupted || interrupt::cause() != Some(Cause::Short)
        })
    }

    /// Whether this is a cell, and cells overlap.
    fn waits_for_nothing(&self) -> bool {
        self.context.cells_overlap.get() && self.is_in_cell()
    }

    /// What else went wrong, and is known or waited for.
    fn further_errors(&self) -> Vec<porcini_core::Error> {
        let session = &self.context.session;
        if self.waits_for_nothing() {
            return std::iter::from_fn(|| session.take_known_error()).collect();
        }
        session.take_errors()
    }

    /// A result, unless something went wrong that shows only now; an error tells of all of it.
    pub(crate) fn with_late<T>(
        &self,
        result: Result<T, Box<Error>>,
        late: Option<porcini_core::Error>,
        cell: &Cell,
        name: &str,
    ) -> Result<T, Box<Error>> {
        let (mut error, when) = match (result, late) {
            (Ok(value), None) => return Ok(value),
            (Ok(_), Some(late)) => (self.diagnose(&late_fault(&late), cell, name), "then"),
            (Err(error), Some(late)) if error.is_exit_alone() => {
                let late = self.diagnose(&late_fault(&late), cell, name);
                (late.told_by(error.kind), "then")
            }
            (Err(error), _) => (*error, "before that"),
        };
        error.add_others(when, &self.further_errors());
        Err(Box::new(error))
    }

    fn value_of(
        &mut self,
        cell: &Cell,
        piece: &Piece,
        name: &str,
    ) -> Result<Dynamic, Box<EvalAltResult>> {
        let ast = cell.program(&self.engine, piece).map_err(parse_fault)?;
        let program = self.prepare(ast, cell, name);
        self.context.lines.set(piece.lines);
        let result = self.evaluate_once(&program).map_err(|mut error| {
            let place = piece.lines.place(error.position());
            error.set_position(place);
            error
        })?;
        self.keep_imports(ast, name);
        Ok(result)
    }

    /// What became of a part of a cell as a program that has all functions defined so far, and its variables declared.
    pub(crate) fn program(
        &mut self,
        ast: Result<AST, ParseError>,
        cell: &Cell,
        name: &str,
    ) -> Result<AST, Box<Error>> {
        let ast = ast.map_err(|error| Box::new(self.diagnose(&parse_fault(error), cell, name)))?;
        Ok(self.prepare(&ast, cell, name))
    }

    /// Runs a program once more.
    pub(crate) fn evaluate_once(&mut self, program: &AST) -> Result<Dynamic, Box<EvalAltResult>> {
        self.engine.eval_ast_with_scope(&mut self.scope, program)
    }

    fn prepare(&mut self, ast: &AST, cell: &Cell, name: &str) -> AST {
        self.declare_assigned(ast);
        self.context.print.borrow().columns.remember_written(ast);
        self.constants.look_for_unpacked();
        self.context.lines.set(Lines::default());
        self.deletions.begin(name);
        let written: (Rc<str>, Rc<str>) = (name.into(), cell.shared_text());
        for function in ast.iter_functions() {
            self.cells.insert(function.name.to_string(), written.clone());
        }
        let mut program = self.definitions.merge(ast);
        program.set_source(name);
        self.definitions = program.clone_functions_only();
        if ast.iter_functions().next().is_some() {
            self.tell_functions();
        }
        program
    }

    /// Makes `import "file" as name` at top level hold for later cells and functions too.
    fn keep_imports(&mut self, ast: &AST, name: &str) {
        for statement in ast.statements() {
            let Stmt::Import(import, position) = statement else { continue };
            let Expr::StringConstant(path, _) = &import.0 else { continue };
            let resolver = self.engine.module_resolver();
            // It has just been resolved: an error was reported then.
            if let Ok(module) = resolver.resolve(&self.engine, Some(name), path, *position)
                && !import.1.name.is_empty()
            {
                self.engine.register_static_module(import.1.name.as_str(), module);
                self.imports.insert(import.1.name.to_string(), path.to_string());
            }
        }
    }

    /// A bare assignment declares its variable; see [`assignments`].
    fn declare_assigned(&mut self, ast: &AST) {
        self.declared.clear();
        let new = self.scope.iter_raw().take(self.n_new());
        let new: HashSet<String> = new.map(|(name, ..)| name.into()).collect();
        for name in assignments::assigned_names(ast) {
            if !self.known.borrow().contains(&name) && !new.contains(&name) {
                self.scope.push_dynamic(name.clone(), Dynamic::UNIT);
                self.declared.insert(name);
            }
        }
    }

    /// Keeps the newest variable of each name, so that a repeated `let` frees the old array; forgets
    /// deleted ones.
    pub(crate) fn tidy_scope(&mut self) {
        if self.is_tidy() {
            return;
        }
        let mut seen = HashSet::new();
        let mut kept = Vec::new();
        // Moved, not cloned: a list may take half of the memory.
        let scope = std::mem::replace(&mut self.scope, Scope::new());
        let entries: Vec<_> = scope.into_iter().collect();
        for (name, value, _) in entries.into_iter().rev() {
            let never_assigned = value.is_unit() && self.declared.contains(&name);
            if !seen.insert(name.clone()) || value.is::<Deleted>() || never_assigned {
                continue;
            }
            self.deletions.forget(&name);
            kept.push((name, value));
        }
        let constants = kept.iter().filter(|(_, value)| value.is_read_only());
        self.constants
            .declare(constants.map(|(name, value)| (name.clone(), value.clone())).collect());
        self.known.borrow_mut().clear();
        for (name, value) in kept.into_iter().rev() {
            self.known.borrow_mut().insert(name.clone());
            if value.is_read_only() {
                self.scope.push_constant_dynamic(name, value);
            } else {
                self.scope.push_dynamic(name, value);
            }
        }
    }

    /// Whether all that has changed is that variables came to those known. These are not looked at: they may be many,
    /// and statements too.
    fn is_tidy(&mut self) -> bool {
        let n_new = self.n_new();
        if self.deletions.take_new() || self.known.borrow().len() > self.scope.len() {
            return false;
        }
        self.scope.iter_raw().take(n_new).all(|(name, is_constant, value)| {
            let is_left = value.is_unit() && self.declared.contains(name);
            self.deletions.forget(name);
            !is_left && !is_constant && self.known.borrow_mut().insert(name.into())
        })
    }

    /// Variables that came to those known.
    fn n_new(&self) -> usize {
        self.scope.len().saturating_sub(self.known.borrow().len())
    }

    /// Shows a value that a cell gave and remembers it.
    pub(crate) fn shown(
        &mut self,
        value: Dynamic,
        cell: &Cell,
        piece: &Piece,
        name: &str,
    ) -> Result<Outcome, Box<Error>> {
        // A `;` at the end shows nothing.
        let is_quiet = cell.last_of(piece).is_some_and(|last| last.token == Token::SemiColon);
        if value.is_unit() || is_quiet {
            return Ok(Outcome::default());
        }
        self.show(value).map_err(|mut error| {
            // What fails only when it is shown was computed by the last statement, unless it knows better.
            let runs = (!self.is_in_cell()).then_some((name, cell.text()));
            if late_location(&error, |number| self.typed(number), runs).is_none()
                && error.position().is_none()
                && let Some(place) = self.place_of_last(cell, piece)
            {
                error.set_position(place);
            }
            Box::new(self.diagnose(&error, cell, name))
        })
    }

    /// Where the last statement of a script begins.
    fn place_of_last(&self, cell: &Cell, piece: &Piece) -> Option<Position> {
        let program = cell.program(&self.engine, piece).ok().filter(|_| !piece.is_command)?;
        program.statements().last().map(|last| piece.lines.place(last.position()))
    }

    /// The variables, and functions with their parameters.
    pub(crate) fn defined(&self) -> Vec<String> {
        let variables = self.variables().into_iter().filter(|name| name != LAST);
        let functions = self.definitions.iter_functions().filter(|f| !f.name.contains('$'));
        let functions = functions.map(|f| format!("{}({})", f.name, f.params.join(", ")));
        variables.chain(functions).collect()
    }

    /// Forgets all variables, functions, imports and outputs, and what was drawn.
    pub(crate) fn reset(&mut self) {
        self.scope = Scope::new();
        self.known.borrow_mut().clear();
        self.definitions = AST::empty();
        self.tell_functions();
        self.constants.declare(HashMap::new());
        self.deletions.clear();
        self.cells.clear();
        self.imports.clear();
        self.context.outputs.clear();
        self.context.seeds.set(SplitMix64::new(FIRST_SEED));
        self.context.arguments.replace(self.context.host.arguments());
        self.context.session.malloc_trim();
        process_heap::trim();
    }

    fn show(&mut self, value: Dynamic) -> Result<Outcome, Box<EvalAltResult>> {
        let shown = self.context.shown(&value)?;
        if let Some(error) = self.context.session.take_error() {
            return Err(late_fault(&error));
        }
        self.scope.set_or_push(LAST, value);
        Ok(Outcome { text: Some(shown.text), forms: shown.forms, next_input: None })
    }

    /// What may be told of an error: in a sandbox it gives no orders to a terminal.
    pub(crate) fn told(&self, error: Error) -> Error {
        if self.context.is_sandbox { *control_characters::in_error(error.into()) } else { error }
    }

    // ---- errors ----

    fn is_in_cell(&self) -> bool {
        self.context.cell.borrow().number > 0
    }

    /// Name and text of the last cell of a number.
    fn typed(&self, number: u32) -> Option<(Rc<str>, Rc<str>)> {
        let number = usize::try_from(number).ok()?;
        let (_, text) = self.inputs.iter().rev().find(|(known, _)| *known == number)?;
        Some((self.context.host.cell_name(number).into(), text.as_str().into()))
    }

    pub(crate) fn diagnose(&self, error: &EvalAltResult, cell: &Cell, name: &str) -> Error {
        let cell_of = |function: &str| self.cells.get(function).cloned();
        let typed = |number: u32| self.typed(number);
        let module = |name: &str| self.modules.borrow().get(name).cloned();
        let size_of = |variable: &str| {
            let value = self.scope.get(variable)?.read_lock::<ArrayRef>()?.clone();
            value.lanes()
        };
        let tensor_shape = |variable: &str| {
            let value = self.scope.get(variable)?.read_lock::<ArrayRef>()?.clone();
            match &*value.node() {
                Node::Tensor(tensor) => Some(tensor.shape().to_string()),
                _ => None,
            }
        };
        let is_launched =
            |variable: &str| self.scope.get(variable).is_some_and(Dynamic::is::<ModuleKernelRef>);
        let deleted = |variable: &str| self.deletions.place(variable);
        let around = Surroundings {
            text: cell.text(),
            source: name,
            cell_of: &cell_of,
            is_cell: self.is_in_cell(),
            typed: &typed,
            module: &module,
            variables: self.variables(),
            functions: Vec::clone(&self.context.functions.borrow()),
            size_of: &size_of,
            tensor_shape: &tensor_shape,
            is_launched: &is_launched,
            deleted: &deleted,
        };
        let is_stack_overflow =
            matches!(error.unwrap_inner(), EvalAltResult::ErrorStackOverflow(_));
        let mut error = Error::new(error, &around);
        if error.kind == ErrorKind::Syntax {
            error.hints.extend(self.division_in_brackets(cell));
        }
        error.hints.extend(self.few_calls().filter(|_| is_stack_overflow));
        error
    }

    /// How many calls may nest, where the system gives this process a small stack.
    fn few_calls(&self) -> Option<String> {
        let n = self.engine.max_call_levels();
        let what = "the memory limit of this process (ulimit -v, ulimit -d) leaves a stack for";
        (stack() < ENGINE_STACK).then(|| format!("{what} {n} nested calls"))
    }

    /// Lets those who word errors know which functions there are.
    fn tell_functions(&self) {
        self.context.definitions.set(self.context.definitions.get() + 1);
        let scripted = self.definitions.iter_functions().map(|function| {
            (function.name.to_string(), format!("({})", function.params.join(", ")))
        });
        let (docs, scripted) = (self.docs.clone(), scripted.collect::<Vec<_>>());
        let all = move || {
            let own = docs.iter().filter(|doc| doc.is_function());
            let own = own.flat_map(|doc| {
                doc.signatures().map(|parameters| (doc.name.clone(), parameters.to_string()))
            });
            own.chain(scripted).collect()
        };
        *self.context.functions.borrow_mut() = Signatures::new(Box::new(all));
    }

    fn variables(&self) -> Vec<String> {
        self.scope.iter_raw().map(|(name, ..)| name.to_string()).collect()
    }

    /// Does what is still to be done before the session ends: writes into arrays, and what waits in engines.
    ///
    /// # Errors
    /// As [`Interpreter::run`].
    pub fn end(&mut self) -> Result<(), Box<Error>> {
        let is_waited_for = self.context.cells_overlap.take();
        let has_more = self.context.has_endings() || self.context.session.has_writes();
        if !is_waited_for && !has_more {
            return Ok(());
        }
        self.end_by(END)
    }

    /// Does what engines have to do that others see, and that nobody holds any more.
    fn end_forgotten(&mut self) -> Result<(), Box<Error>> {
        if self.context.has_forgotten() { self.end_by(END_FORGOTTEN) } else { Ok(()) }
    }

    fn end_by(&mut self, function: &str) -> Result<(), Box<Error>> {
        self.evaluate(&format!("{function}()"), "<end>").map(drop).map_err(|mut error| {
            // Nobody wrote that.
            error.location = None;
            let mut further = self.context.further.take();
            let mut when = "then";
            match error.kind {
                // An operation ends the script whatever else has failed.
                ErrorKind::Exit(_) if further.is_empty() => return error,
                ErrorKind::Exit(_) => {
                    error.message = further.remove(0);
                    *error = error.clone().told_by(error.kind);
                }
                ErrorKind::Interrupted => when = "before that",
                ErrorKind::Syntax | ErrorKind::Runtime | ErrorKind::Internal => {}
            }
            error.message = format!("at the end: {}", error.message);
            error.add_others(when, &further);
            error
        })
    }

    /// Ends with the process: the system takes its memory at once, where giving it back piece by piece takes time that
    /// no bound holds for.
    pub fn leave(self) {
        self.session().leave();
        std::mem::forget(self);
    }

    /// Stops whatever runs, from any thread; the interpreter then returns `ErrorKind::Interrupted`.
    pub fn interrupt() {
        interrupt::request();
    }
}

fn internal_error(panic: &(dyn std::any::Any + Send)) -> Error {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown cause");
    let text = text.trim_start_matches("internal error: ");
    let message = format!("internal error, please report: {text}");
    let mut error = Error::plain(ErrorKind::Internal, message);
    error.hints.push("the mistake is porcini's; the session goes on with all its variables".into());
    error
}
