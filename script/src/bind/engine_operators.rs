//! Operators and engines of scripts: what is pushed is done when somebody wants it, operations that are alike together.

use std::any::TypeId;
use std::cell::RefCell;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use porcini_core::engine::{Agenda, Doer, Handle, Input, Member, Row, State};
use porcini_core::{Array, interrupt};
use rhai::{Dynamic, EvalAltResult, FnPtr, ImmutableString, Map, NativeCallContext};

use super::custom::Arguments;
use super::engine::{MOST_PUSHED, call_function, check_function, nearest};
use super::registry::Registry;
use crate::context::{Context, Ending};
use crate::fault::{Fault, Result, check_interrupt, fault, fault_with_hint};
use crate::value::custom::{Custom, CustomRef};
use crate::value::{ArrayRef, Node, type_name};

/// Operations that wait from which on an engine that is online does them.
const FULL: usize = 1 << 16;

/// The function that does what is to be done before the session ends.
pub(crate) const END: &str = "end_session";

/// Keys of what describes an operator.
const KEYS: [&str; 8] =
    ["name", "exec", "batched", "signature", "shape", "effects", "backward", "forward"];
/// Keys of the options of an engine.
const OPTIONS: [&str; 3] = ["threads", "mode", "cap"];

/// An operator that a script made.
#[derive(Debug)]
struct Described {
    name: ImmutableString,
    exec: FnPtr,
    batched: Option<FnPtr>,
    signature: Option<FnPtr>,
    shape: Option<FnPtr>,
    has_effects: bool,
    /// The function with its derivative, if that was told.
    derivative: Option<CustomRef>,
}

/// The same as scripts hold it.
#[derive(Clone, Debug)]
struct OperatorRef(Rc<Described>);

/// What an engine does: a function by its name, or an operator of the script.
#[derive(Clone, Debug)]
enum Op {
    Named(ImmutableString),
    Own(Rc<Described>),
}

impl PartialEq for Op {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Named(one), Self::Named(other)) => one == other,
            (Self::Own(one), Self::Own(other)) => Rc::ptr_eq(one, other),
            (Self::Named(_), Self::Own(_)) | (Self::Own(_), Self::Named(_)) => false,
        }
    }
}

impl Eq for Op {}

impl Hash for Op {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Named(name) => name.hash(state),
            Self::Own(own) => Rc::as_ptr(own).hash(state),
        }
    }
}

impl Op {
    fn name(&self) -> &str {
        match self {
            Self::Named(name) => name,
            Self::Own(own) => &own.name,
        }
    }
}

/// An engine.
struct Engine {
    agenda: RefCell<Agenda<Op, Dynamic, Fault>>,
    /// Operations that wait from which on they are done.
    full: usize,
    /// Operations of a batch, at most.
    most: usize,
}

/// The same as scripts hold it.
#[derive(Clone)]
struct EngineRef(Rc<Engine>);

/// A result to come.
#[derive(Clone)]
struct HandleRef {
    engine: EngineRef,
    name: ImmutableString,
    handle: Handle,
}

pub(super) fn register(registry: &mut Registry<'_>) {
    registry.engine.register_type_with_name::<OperatorRef>("operator");
    registry.engine.register_type_with_name::<EngineRef>("engine");
    registry.engine.register_type_with_name::<HandleRef>("handle");
    documented(registry);
    let context = registry.context.clone();
    registry.engine.register_raw_fn(END, [] as [TypeId; 0], move |call, _| {
        context.take_endings().into_iter().try_for_each(|ending| ending.end(&context, &call))
    });
    registry.any("operator", 1, |context, _, args| {
        operator(context, args[0]).map(|own| OperatorRef(Rc::new(own)))
    });
    registry.any("engine", 0, |context, _, _| engine(context, &Map::new()));
    registry.any("engine", 1, |context, _, args| match args[0].as_int() {
        Ok(threads) => engine(context, &Map::from([("threads".into(), threads.into())])),
        Err(_) => engine(context, &map("engine", args[0])?),
    });
    let (of_engine, of_handle) = (TypeId::of::<EngineRef>(), TypeId::of::<HandleRef>());
    for arity in 2..=MOST_PUSHED + 2 {
        registry.typed("push", of_engine, arity, |context, call, args| {
            context.at(call);
            push(context, call, &held::<EngineRef>("push", args[0])?, args[1], &args[2..])
        });
    }
    registry.typed("flush", of_engine, 1, |context, call, args| {
        held::<EngineRef>("flush", args[0])?.run(context, call, None)
    });
    registry.typed("flush", of_engine, 2, |context, call, args| {
        let (engine, handle) =
            (held::<EngineRef>("flush", args[0])?, held::<HandleRef>("flush", args[1])?);
        engine.owns("flush", &handle)?;
        engine.run(context, call, Some(&[handle.handle]))
    });
    registry.typed("flush", of_handle, 1, |context, call, args| {
        let handle = held::<HandleRef>("flush", args[0])?;
        handle.engine.run(context, call, Some(&[handle.handle]))
    });
    registry.typed("get", of_engine, 2, |context, call, args| {
        let (engine, handle) =
            (held::<EngineRef>("get", args[0])?, held::<HandleRef>("get", args[1])?);
        engine.owns("get", &handle)?;
        handle.get(context, call)
    });
    registry.typed("get", of_handle, 1, |context, call, args| {
        held::<HandleRef>("get", args[0])?.get(context, call)
    });
    registry.typed("is_ready", of_handle, 1, |_, _, args| {
        let handle = held::<HandleRef>("is_ready", args[0])?;
        Ok(!matches!(handle.engine.state("is_ready", &handle.handle)?, State::Pending))
    });
    registry.typed("engine_stats", of_engine, 1, |_, _, args| {
        let engine = held::<EngineRef>("engine_stats", args[0])?;
        Ok(engine.0.borrow("engine_stats")?.rows().iter().map(row).collect::<rhai::Array>())
    });
    for name in ["to_string", "to_debug"] {
        registry.engine.register_fn(name, |handle: &mut HandleRef| handle.to_string());
    }
}

fn documented(registry: &mut Registry<'_>) {
    registry.doc(
        "operator",
        "(description)",
        "An operator for engine(): a map of name and exec, a function of the inputs that gives the result; and if wanted batched, a \
         function of a list with the inputs of each operation that gives the list of results; signature, a function of the inputs \
         that gives the text which operations done together have in common (by default types and sizes of the inputs); shape, a \
         function of the inputs that gives type and size of the result, to be checked; effects: true if it is done though nobody \
         holds its handle; backward and forward, its derivative, as custom takes them, where exec reads values: what is \
         recorded has derivatives anyway. Operations are done on the thread of the script. Arrays need no operator: what is recorded makes \
         batches by itself.\n\n\
         >> double = operator(#{name: \"double\", exec: |x| x * 2})\n\
         >> e = engine(); e.get(e.push(double, FloatC([1, 2])))\n[2, 4]",
    );
    registry.doc(
        "engine",
        "(options)",
        "An engine: e.push(op, inputs..) takes an operator, or the name of a function, and gives a handle at once; inputs may be \
         handles. e.get(h) gives its value, e.flush() does all that waits and has a handle in use, e.flush(h) what h needs. \
         Operations of one operator and signature are done together, those with the fewest before them first; \
         engine_stats(e) tells how many in how many batches. Options: mode, \"online\" (65 536 operations that wait are done without \
         being asked) or \"biphasic\" (only at flush and get); cap, the most operations of a batch; threads are those of the shell \
         (--threads), whatever is asked for.\n\n\
         >> e = engine(#{mode: \"biphasic\"}); a = FloatC([1, 2])\n\
         >> h = e.push(\"rscalar_add\", a, a); e.get(h)\n[2, 4]",
    );
}

/// An engine, or a handle.
fn held<T: Clone + 'static>(op: &str, value: &Dynamic) -> Result<T> {
    value.read_lock::<T>().map(|held| held.clone()).ok_or_else(|| {
        fault_with_hint(
            format!("{op}: got {}, expected a handle", type_name(value)),
            "e = engine(); h = e.push(op, x) gives one",
        )
    })
}

fn map(op: &str, value: &Dynamic) -> Result<Map> {
    value.read_lock::<Map>().map(|map| map.clone()).ok_or_else(|| {
        fault_with_hint(
            format!("{op}: got {}, expected a map", type_name(value)),
            format!("help(\"{op}\") says what it holds"),
        )
    })
}

fn check_keys(op: &str, map: &Map, known: &[&str]) -> Result<()> {
    match map.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => {
            let others = format!("there are {}", known.join(", "));
            let hint = nearest(key, known.iter().copied(), &others);
            Err(fault_with_hint(format!("{op}: unknown key `{key}`"), hint))
        }
        None => Ok(()),
    }
}

fn operator(context: &Context, description: &Dynamic) -> Result<Described> {
    let description = map("operator", description)?;
    check_keys("operator", &description, &KEYS)?;
    let function = |key: &str| match description.get(key) {
        None => Ok(None),
        Some(value) => match value.read_lock::<FnPtr>() {
            Some(function) => Ok(Some(function.clone())),
            None => {
                let got = type_name(value);
                Err(fault(format!("operator: {key} is {got}, expected a function")))
            }
        },
    };
    let name = description.get("name").and_then(|name| name.clone().into_immutable_string().ok());
    let missing = |key: &str| {
        fault_with_hint(
            format!("operator: there is no {key}"),
            "operator(#{name: \"double\", exec: |x| x * 2})",
        )
    };
    let exec = function("exec")?.ok_or_else(|| missing("exec"))?;
    let (backward, forward) = (function("backward")?, function("forward")?);
    let is_told = backward.is_some() || forward.is_some();
    let derivative = is_told.then(|| {
        let (eval, others) = (exec.clone(), Vec::new());
        let custom = Custom { op: "operator", eval, backward, forward, others };
        context.customs.borrow_mut().add(custom)
    });
    Ok(Described {
        name: name.ok_or_else(|| missing("name"))?,
        exec,
        derivative,
        batched: function("batched")?,
        signature: function("signature")?,
        shape: function("shape")?,
        has_effects: description.get("effects").is_some_and(|on| on.as_bool() == Ok(true)),
    })
}

fn engine(context: &Context, options: &Map) -> Result<EngineRef> {
    check_keys("engine", options, &OPTIONS)?;
    let number = |key: &str| match options.get(key) {
        None => Ok(None),
        Some(value) => match value.as_int().ok().and_then(|n| usize::try_from(n).ok()) {
            Some(n) if n > 0 => Ok(Some(n)),
            _ => Err(fault(format!("engine: {key} is {value}, expected a number from 1 on"))),
        },
    };
    number("threads")?;
    let most = number("cap")?;
    let mode = options.get("mode").map_or_else(|| "online".into(), ToString::to_string);
    let full = match mode.as_str() {
        "online" => FULL.min(most.unwrap_or(FULL)),
        "biphasic" => usize::MAX,
        _ => {
            let what = format!("engine: mode is `{mode}`, expected \"online\" or \"biphasic\"");
            return Err(fault(what));
        }
    };
    let (agenda, most) = (RefCell::default(), most.unwrap_or(usize::MAX));
    let engine = Rc::new(Engine { agenda, full, most });
    let ending: Rc<dyn Ending> = engine.clone();
    context.at_end(Rc::downgrade(&ending));
    Ok(EngineRef(engine))
}

fn push(
    context: &Context,
    call: &NativeCallContext<'_>,
    engine: &EngineRef,
    op: &Dynamic,
    inputs: &[&mut Dynamic],
) -> Result<HandleRef> {
    let op = if let Some(own) = op.read_lock::<OperatorRef>() {
        Op::Own(own.0.clone())
    } else if let Ok(name) = op.clone().into_immutable_string() {
        check_function(context, &name)?;
        Op::Named(name)
    } else {
        return Err(fault_with_hint(
            format!("push: got {}, expected an operator or the name of a function", type_name(op)),
            "operator(#{name: .., exec: ..}) makes one",
        ));
    };
    let inputs = inputs.iter().map(|input| match input.read_lock::<HandleRef>() {
        Some(handle) => {
            engine.owns("push", &handle)?;
            Ok(Input::Handle(handle.handle.clone()))
        }
        None => Ok(Input::Object(own(input))),
    });
    let inputs = inputs.collect::<Result<Vec<_>>>()?;
    let line = context.line(call.call_position());
    let name = ImmutableString::from(op.name());
    let doer = Closures { context, call, results: Vec::new() };
    let mut agenda = engine.0.borrow_mut("push")?;
    let handle = agenda.push(op, inputs, line, &doer);
    let is_full = agenda.n_waiting() >= engine.0.full;
    drop(agenda);
    if is_full {
        engine.run(context, call, None)?;
    }
    Ok(HandleRef { engine: engine.clone(), name, handle })
}

impl Engine {
    fn borrow(&self, op: &str) -> Result<std::cell::Ref<'_, Agenda<Op, Dynamic, Fault>>> {
        self.agenda.try_borrow().map_err(|_| busy(op))
    }

    fn borrow_mut(&self, op: &str) -> Result<std::cell::RefMut<'_, Agenda<Op, Dynamic, Fault>>> {
        self.agenda.try_borrow_mut().map_err(|_| busy(op))
    }
}

impl Ending for Engine {
    /// Does what waits, for those who hold handles of it or for what it does besides; fails as the first that fails.
    fn end(self: Rc<Self>, context: &Context, call: &NativeCallContext<'_>) -> Result<()> {
        let engine = EngineRef(self);
        engine.0.borrow_mut("flush")?.take_failure();
        engine.run(context, call, None)?;
        let failure = engine.0.borrow_mut("flush")?.take_failure();
        failure.map_or(Ok(()), |fault| Err(Fault::raised(fault)))
    }
}

fn busy(op: &str) -> Box<EvalAltResult> {
    fault_with_hint(
        format!("{op}: the engine is at work"),
        "an operator may not push to its own engine or read from it; it may use another one, or call functions",
    )
}

impl EngineRef {
    fn owns(&self, op: &str, handle: &HandleRef) -> Result<()> {
        match Rc::ptr_eq(&self.0, &handle.engine.0) {
            true => Ok(()),
            false => Err(fault_with_hint(
                format!("{op}: the handle is another engine's"),
                "its value can be given: e.push(op, get(h))",
            )),
        }
    }

    fn state(&self, op: &str, handle: &Handle) -> Result<State<Dynamic, Fault>> {
        Ok(self.0.borrow(op)?.state(handle))
    }

    /// Does what handles need, or all that waits, and evaluates the results together.
    fn run(
        &self,
        context: &Context,
        call: &NativeCallContext<'_>,
        wanted: Option<&[Handle]>,
    ) -> Result<()> {
        let mut doer = Closures { context, call, results: Vec::new() };
        let done = self.0.borrow_mut("flush")?.run(wanted, self.0.most, &mut doer);
        // What stops it is told as what stops any script.
        done.or_else(|_| check_interrupt())?;
        context.eval(&doer.results)
    }
}

impl HandleRef {
    fn get(&self, context: &Context, call: &NativeCallContext<'_>) -> Result<Dynamic> {
        self.engine.run(context, call, Some(std::slice::from_ref(&self.handle)))?;
        match self.engine.state("get", &self.handle)? {
            State::Done(value) => Ok(own(&value)),
            State::Failed(fault) => Err(Fault::raised(fault)),
            State::Pending => Err(fault("get: the operation waits")),
        }
    }
}

impl std::fmt::Display for HandleRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = match self.engine.state("print", &self.handle) {
            Ok(State::Done(_)) => "done",
            Ok(State::Failed(_)) => "failed",
            Ok(State::Pending) => "waits",
            Err(_) => "at work",
        };
        write!(f, "handle of {}, {state}", self.name)
    }
}

/// The inputs of an operation, and the function that knows its derivative.
struct Derived {
    function: CustomRef,
    arguments: Arguments,
}

/// Does operations by their closures, and functions by their names.
struct Closures<'c> {
    context: &'c Context,
    call: &'c NativeCallContext<'c>,
    /// The arrays that were made.
    results: Vec<ArrayRef>,
}

impl Closures<'_> {
    fn call_closure(&self, function: &FnPtr, args: Vec<Dynamic>) -> Result<Dynamic> {
        function.call_within_context(self.call, args).map_err(|error| match error.unwrap_inner() {
            // Rhai lends the engine to the method that runs this.
            EvalAltResult::ErrorDataRace(of, _) => {
                let is_of = |op: &&&str| of.ends_with(&format!("of function '{op}'"));
                let op = ["push", "get", "flush"].iter().find(is_of).map(|op| busy(op));
                // It does not say what a shared variable is lent to.
                op.or_else(|| of.is_empty().then(|| busy("exec"))).unwrap_or(error)
            }
            _ => error,
        })
    }

    fn one(&self, op: &Op, inputs: &[Dynamic]) -> Result<Dynamic> {
        match op {
            Op::Own(own) => self.call_closure(&own.exec, inputs.to_vec()),
            Op::Named(name) => call_function(self.call, name, inputs.to_vec()),
        }
    }

    /// The inputs of operations whose operator tells its derivative, where some are tracked.
    fn derived(&self, op: &Op, members: &[Member<Dynamic>]) -> Result<Vec<Option<Derived>>> {
        let derivative = match op {
            Op::Own(own) if self.context.session.follows() => own.derivative.as_ref(),
            Op::Own(_) | Op::Named(_) => None,
        };
        let told = |member: &Member<Dynamic>| {
            let Some(function) = derivative else { return Ok(None) };
            let arguments = Arguments::new("operator", member.inputs.iter())?;
            let function = function.clone();
            Ok(arguments.are_tracked().then_some(Derived { function, arguments }))
        };
        members.iter().map(told).collect()
    }

    fn batch(&self, own: &Described, members: &[&[Dynamic]]) -> Option<Result<rhai::Array>> {
        let batched = own.batched.as_ref()?;
        let inputs: rhai::Array =
            members.iter().map(|inputs| Dynamic::from_array(inputs.to_vec())).collect();
        let results = self.call_closure(batched, vec![Dynamic::from_array(inputs)]);
        Some(results.and_then(|results| {
            let list = results.read_lock::<rhai::Array>().map(|list| list.clone());
            match list {
                Some(list) if list.len() == members.len() => Ok(list),
                Some(list) => {
                    let (got, expected) = (list.len(), members.len());
                    Err(fault(format!("batched gave {got} results for {expected} operations")))
                }
                None => {
                    Err(fault(format!("batched gave {}, expected a list", type_name(&results))))
                }
            }
        }))
    }

    /// Checks a result's kind where the operator says it.
    fn check(&self, op: &Op, member: &Member<Dynamic>, result: &Dynamic) -> Result<()> {
        let Op::Own(own) = op else { return Ok(()) };
        let Some(shape) = &own.shape else { return Ok(()) };
        let expected = self.call_closure(shape, member.inputs.clone())?.to_string();
        let got = kind(result);
        match got == expected {
            true => Ok(()),
            false => Err(fault(format!("the result is {got}, its shape says {expected}"))),
        }
    }
}

impl Doer<Op, Dynamic, Fault> for Closures<'_> {
    fn signature(
        &mut self,
        op: &Op,
        member: &Member<Dynamic>,
    ) -> std::result::Result<String, Fault> {
        if let Op::Own(own) = op
            && let Some(signature) = &own.signature
        {
            let said = self.call_closure(signature, member.inputs.clone());
            return said
                .map(|said| said.to_string())
                .map_err(|error| named(op, member.line, &error));
        }
        Ok(member.inputs.iter().map(kind).collect::<Vec<_>>().join(", "))
    }

    fn run(
        &mut self,
        op: &Op,
        members: &[Member<Dynamic>],
    ) -> Vec<std::result::Result<Dynamic, Fault>> {
        let told = match self.derived(op, members) {
            Ok(told) => told,
            Err(error) => {
                return members.iter().map(|member| Err(named(op, member.line, &error))).collect();
            }
        };
        let inputs: Vec<&[Dynamic]> = members
            .iter()
            .zip(&told)
            .map(|(member, told)| match told {
                Some(told) => &told.arguments.untracked[..],
                None => &member.inputs[..],
            })
            .collect();
        let batch = match op {
            Op::Own(own) => self.batch(own, &inputs),
            Op::Named(_) => None,
        };
        let mut settled = Vec::with_capacity(members.len());
        let mut batch = batch.map(|batch| {
            batch.map(Vec::into_iter).map_err(|error| named(op, members[0].line, &error))
        });
        for ((member, inputs), told) in members.iter().zip(inputs).zip(&told) {
            let result = match &mut batch {
                Some(Ok(results)) => Ok(results.next().unwrap_or_default()),
                Some(Err(fault)) => Err(fault.clone().raised()),
                None => self.one(op, inputs),
            };
            let result = result.and_then(|result| {
                self.check(op, member, &result)?;
                match told {
                    Some(Derived { function, arguments }) => {
                        arguments.result(self.context, function.clone(), &result)
                    }
                    None => Ok(result),
                }
            });
            if interrupt::is_requested() {
                // Not a failure of its own: it waits, and those behind it.
                break;
            }
            if let Ok(result) = &result
                && let Some(array) = result.read_lock::<ArrayRef>()
            {
                self.results.push(array.clone());
            }
            settled.push(result.map_err(|error| named(op, member.line, &error)));
        }
        settled
    }

    fn stops(&self) -> Option<Fault> {
        interrupt::is_requested().then(Fault::interrupted)
    }

    fn has_effects(&self, op: &Op) -> bool {
        matches!(op, Op::Own(own) if own.has_effects)
    }
}

/// A value that no later write to an array of the script changes.
fn own(value: &Dynamic) -> Dynamic {
    match value.read_lock::<ArrayRef>() {
        Some(array) => Dynamic::from(array.copy()),
        None => value.clone(),
    }
}

/// The failure of an operation, with the line that pushed it.
fn named(op: &Op, line: u32, error: &EvalAltResult) -> Fault {
    let mut fault = Fault::of(error);
    if fault.line.is_none() {
        fault.message = format!("{}: {}", op.name(), fault.message);
        fault.line = Some(line).filter(|&line| line > 0);
        fault.is_late = true;
    }
    fault
}

/// Type and size of a value, and the name that a map gives to its type.
fn kind(value: &Dynamic) -> String {
    if let Some(array) = value.read_lock::<ArrayRef>() {
        let name = array.type_name();
        return match &*array.node() {
            Node::Tensor(tensor) => format!("{name} {}", tensor.shape()),
            Node::Leaf(_) | Node::Nested(..) => {
                let leaves = array.leaves();
                let lanes = leaves.iter().map(Array::size).max().unwrap_or(0);
                format!("{name} [{lanes}]")
            }
        };
    }
    if let Some(map) = value.read_lock::<Map>()
        && let Some(name) = map.get("type")
    {
        let parts = map.iter().filter(|(key, _)| *key != "type");
        let parts: Vec<String> =
            parts.map(|(key, value)| format!("{key} {}", kind(value))).collect();
        return format!("{name} ({})", parts.join(", "));
    }
    type_name(value)
}

fn row(row: &Row<Op>) -> Dynamic {
    let number = |n: usize| Dynamic::from(i64::try_from(n).unwrap_or(i64::MAX));
    Dynamic::from_map(Map::from([
        ("op".into(), row.operator.name().to_string().into()),
        ("signature".into(), row.signature.clone().into()),
        ("operations".into(), number(row.operations)),
        ("batches".into(), number(row.batches)),
        ("largest".into(), number(row.largest)),
    ]))
}
