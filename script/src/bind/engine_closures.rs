//! How operations of engines are done: operators of scripts by their closures, functions by their names.

use std::cell::RefCell;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use porcini_core::engine::{Doer, Member};
use porcini_core::{Array, Mark, interrupt};
use rhai::{Dynamic, EvalAltResult, FnPtr, ImmutableString, Map, NativeCallContext};

use super::custom::Arguments;
use super::engine_failures::{Failure, Raised};
use super::engine_functions::{call_function, draws, has_effects, is_scripted};
use super::engine_inputs::{add_all, assembled, lent, own};
use crate::context::Context;
use crate::fault::{Result, Stop, fault, fault_with_hint};
use crate::value::custom::CustomRef;
use crate::value::{ArrayRef, Node, type_name};

/// Values in lists and maps whose kinds are part of a signature.
const MOST_TOLD: usize = 256;

/// An operator that a script made.
#[derive(Debug)]
pub(super) struct Described {
    pub(super) name: ImmutableString,
    pub(super) exec: FnPtr,
    pub(super) batched: Option<FnPtr>,
    pub(super) signature: Option<FnPtr>,
    pub(super) shape: Option<FnPtr>,
    pub(super) has_effects: bool,
    /// The function with its derivative, if that was told.
    pub(super) derivative: Option<CustomRef>,
}

/// What an engine does: a function by its name, or an operator of the script.
#[derive(Clone, Debug)]
pub(super) enum Op {
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

/// What is pushed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pushed {
    pub(super) op: Op,
    /// Whether it was pushed inside `no_grad`: what it records is not tracked, whoever reads it.
    pub(super) detaches: bool,
}

impl Op {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Named(name) => name,
            Self::Own(own) => &own.name,
        }
    }

    /// Whether it does more than to give a result.
    pub(super) fn has_effects(&self) -> bool {
        match self {
            Self::Own(own) => own.has_effects,
            Self::Named(name) => has_effects(name),
        }
    }

    /// Whether it draws from the generator of the session.
    pub(super) fn draws(&self) -> bool {
        matches!(self, Self::Named(name) if draws(name))
    }
}

/// The inputs of an operation, and the function that knows its derivative.
struct Derived {
    function: CustomRef,
    arguments: Arguments,
}

/// What a function gives, before it is looked at.
type Given = (Dynamic, Option<Derived>);

/// What became of an operation.
type Settled = std::result::Result<Dynamic, Failure>;

/// An operation that was done, or has failed, whoever sees its result.
pub(super) struct Done {
    pub(super) number: u64,
    pub(super) name: ImmutableString,
    /// The line that pushed it.
    pub(super) line: u32,
    /// The operations whose results it took.
    pub(super) before: Vec<u64>,
    /// The arrays in its result: it does not keep them.
    pub(super) marks: Vec<Mark>,
}

/// Does operations by their closures, and functions by their names.
pub(super) struct Closures<'c> {
    context: &'c Context,
    call: &'c NativeCallContext<'c>,
    /// Those that were done. Their results are whose handles and operations need them.
    pub(super) done: Vec<Done>,
    /// What ended the script, `exit()` for one; not what interrupted it.
    pub(super) stop: RefCell<Option<Dynamic>>,
    /// Whether operations are done together.
    pub(super) batches: bool,
}

impl<'c> Closures<'c> {
    pub(super) fn new(context: &'c Context, call: &'c NativeCallContext<'c>) -> Self {
        let batches = context.session.flag("batch").unwrap_or(true);
        Self { context, call, done: Vec::new(), stop: RefCell::default(), batches }
    }

    /// Works as where it was pushed: what is recorded is tracked as there.
    fn tracked<R>(&mut self, pushed: &Pushed, work: impl FnOnce(&mut Self) -> R) -> R {
        let session = &self.context.session;
        let work = || work(self);
        match pushed.detaches {
            detaches if detaches == session.detaches() => work(),
            true => session.no_grad(work),
            false => session.with_grad(work),
        }
    }

    /// What the function gives that is `role` of an operator.
    fn call_closure(&self, role: &str, function: &FnPtr, args: Vec<Dynamic>) -> Result<Dynamic> {
        let n = args.len();
        function.call_within_context(self.call, args).map_err(|error| match error.unwrap_inner() {
            EvalAltResult::ErrorTerminated(why, _) => {
                // What was interrupted waits, and can be done again.
                let is_interrupted = why.read_lock::<Stop>().is_some_and(|why| why.is_of_others());
                if !is_interrupted {
                    self.stop.replace(Some(why.clone()));
                }
                error
            }
            // Rhai lends the engine to the method that runs this.
            EvalAltResult::ErrorDataRace(of, _) => {
                let is_of = |op: &&&str| of.ends_with(&format!("of function '{op}'"));
                let op = ["push", "get", "flush"].iter().find(is_of).map(|op| busy(op));
                // It does not say what a shared variable is lent to.
                op.or_else(|| of.is_empty().then(|| busy("exec"))).unwrap_or(error)
            }
            EvalAltResult::ErrorFunctionNotFound(called, _)
                if called
                    .strip_prefix(function.fn_name())
                    .is_some_and(|rest| function.is_anonymous() && takes(rest, n)) =>
            {
                let inputs = if n == 1 { "input" } else { "inputs" };
                let hint = match role {
                    "batched" => "it takes one list: |members| members.map(|inputs| inputs[0] * 2)",
                    _ => "it takes the inputs of an operation: two are |a, b| a + b",
                };
                fault_with_hint(format!("{role} does not take {n} {inputs}"), hint)
            }
            _ => error,
        })
    }

    fn one(&self, op: &Op, inputs: Vec<Dynamic>) -> Result<Dynamic> {
        match op {
            Op::Own(operator) => self.call_closure("exec", &operator.exec, inputs),
            Op::Named(name) if is_scripted(self.call, name, inputs.len()) => {
                something(self.call_closure(name, &FnPtr::new(name.as_str())?, inputs)?, false)
            }
            Op::Named(name) => call_function(self.call, name, inputs),
        }
    }

    /// The inputs of an operation whose operator tells its derivative, if some are tracked.
    fn derived(&self, op: &Op, inputs: &[Dynamic]) -> Result<Option<Derived>> {
        let Op::Own(own) = op else { return Ok(None) };
        let Some(function) = own.derivative.clone().filter(|_| self.context.session.follows())
        else {
            return Ok(None);
        };
        let arguments = Arguments::new("operator", inputs.iter())?;
        Ok(arguments.are_tracked().then_some(Derived { function, arguments }))
    }

    fn batch(&self, batched: &FnPtr, members: Vec<Vec<Dynamic>>) -> Result<rhai::Array> {
        let expected = members.len();
        let inputs: rhai::Array = members.into_iter().map(Dynamic::from_array).collect();
        let results = self.call_closure("batched", batched, vec![Dynamic::from_array(inputs)]);
        results.and_then(|results| {
            let list = results.read_lock::<rhai::Array>().map(|list| list.clone());
            match list {
                Some(list) if list.len() == expected => Ok(list),
                Some(list) => {
                    let got = list.len();
                    Err(fault(format!("batched gave {got} results for {expected} operations")))
                }
                None => {
                    Err(fault(format!("batched gave {}, expected a list", type_name(&results))))
                }
            }
        })
    }

    /// Checks a result's kind where the operator says it.
    fn check(&self, op: &Op, member: &Member<Dynamic>, result: &Dynamic) -> Result<()> {
        let Op::Own(own) = op else { return Ok(()) };
        let Some(shape) = &own.shape else { return Ok(()) };
        let said = self.call_closure("shape", shape, lent(&member.inputs))?;
        let hint = "it says type and size: \"FloatC [2]\", [\"TensorXfC\", 2, 3] or \"integer\"";
        if said.is_unit() {
            return Err(fault_with_hint("shape gave nothing", hint));
        }
        let (expected, got) = (said_kind(&said), kind(result));
        let what = format!("the result is {got}, its shape says {expected}");
        match got == expected {
            true => Ok(()),
            false if names_type(&said) => Err(fault(what)),
            false => Err(fault_with_hint(what, hint)),
        }
    }

    /// The failure of an operation.
    fn failure(&self, op: &Op, member: &Member<Dynamic>, raised: Rc<Raised>) -> Failure {
        let n = assembled(&member.inputs).len();
        let names_itself = matches!(op, Op::Named(name) if !is_scripted(self.call, name, n));
        Failure::new(op.name(), names_itself, (member.line, member.number), raised)
    }
}

impl Doer<Pushed, Dynamic, Failure> for Closures<'_> {
    fn name<'p>(&self, pushed: &'p Pushed) -> &'p str {
        pushed.op.name()
    }

    fn signature(
        &mut self,
        pushed: &Pushed,
        member: &Member<Dynamic>,
    ) -> std::result::Result<String, Failure> {
        self.tracked(pushed, |closures| closures.signature_of(&pushed.op, member))
    }

    fn run(&mut self, pushed: &Pushed, members: &[Member<Dynamic>]) -> Vec<Settled> {
        let settled = self.tracked(pushed, |closures| closures.done(&pushed.op, members));
        let done = members.iter().zip(&settled).map(|(member, result)| Done {
            number: member.number,
            name: pushed.op.name().into(),
            line: member.line,
            before: member.before.clone(),
            marks: result.as_ref().map_or_else(|_| Vec::new(), marks),
        });
        self.done.extend(done);
        settled
    }

    fn stops(&self) -> Option<Failure> {
        (interrupt::is_requested() || self.stop.borrow().is_some()).then(Failure::interrupted)
    }

    fn has_effects(&self, pushed: &Pushed) -> bool {
        pushed.op.has_effects()
    }
}

impl Closures<'_> {
    fn signature_of(
        &self,
        op: &Op,
        member: &Member<Dynamic>,
    ) -> std::result::Result<String, Failure> {
        if let Op::Own(own) = op
            && let Some(signature) = &own.signature
        {
            let said = self.call_closure("signature", signature, lent(&member.inputs));
            return said
                .and_then(|said| key(&said))
                .map_err(|error| self.failure(op, member, Raised::new(*error)));
        }
        Ok(assembled(&member.inputs).iter().map(kind).collect::<Vec<_>>().join(", "))
    }

    /// Does operations of one signature: a result for each, or for the first of them if something stops the others.
    fn done(&mut self, op: &Op, members: &[Member<Dynamic>]) -> Vec<Settled> {
        let batched = match op {
            Op::Own(own) if self.batches => own.batched.as_ref(),
            Op::Own(_) | Op::Named(_) => None,
        };
        let Some(batched) = batched else {
            return self.each(members, |closures, member| {
                let given = closures.alone(op, member);
                closures.settled(op, member, given)
            });
        };
        let mut given = match self.together(op, batched, members) {
            Ok(given) => given.into_iter(),
            Err(error) => return self.failed_together(op, members, *error),
        };
        // A result is there for each, whatever interrupts the rest.
        members
            .iter()
            .zip(&mut given)
            .map_while(|(member, given)| self.settled(op, member, Ok(given)))
            .collect()
    }

    /// What becomes of a batch that failed: one of its members may have failed for all, so that each is tried by itself,
    /// but for effects, which were there.
    fn failed_together(
        &mut self,
        op: &Op,
        members: &[Member<Dynamic>],
        error: EvalAltResult,
    ) -> Vec<Settled> {
        if self.stop.borrow().is_some() {
            // What has ended the script is not done again at the end.
            return members.iter().map(|_| Ok(Dynamic::UNIT)).collect();
        }
        if interrupt::is_requested() {
            return Vec::new();
        }
        if members.len() > 1 && !op.has_effects() {
            return self.each(members, |closures, member| {
                closures.done(op, std::slice::from_ref(member)).pop()
            });
        }
        let raised = Raised::new(error);
        members.iter().map(|member| Err(self.failure(op, member, raised.clone()))).collect()
    }

    /// Does one operation after the other, until something stops them.
    fn each(
        &mut self,
        members: &[Member<Dynamic>],
        mut done: impl FnMut(&mut Self, &Member<Dynamic>) -> Option<Settled>,
    ) -> Vec<Settled> {
        let mut settled = Vec::with_capacity(members.len());
        for member in members {
            // Not a failure of its own: it waits, and those behind it.
            let Some(one) = done(self, member) else { break };
            settled.push(one);
            if self.stops().is_some() {
                break;
            }
        }
        settled
    }

    /// What the operations of a batch give.
    fn together(
        &self,
        op: &Op,
        batched: &FnPtr,
        members: &[Member<Dynamic>],
    ) -> Result<Vec<Given>> {
        let taken = members.iter().map(|member| self.taken(op, member));
        let (inputs, derived): (Vec<_>, Vec<_>) =
            taken.collect::<Result<Vec<_>>>()?.into_iter().unzip();
        let given = self.batch(batched, inputs)?;
        Ok(given.into_iter().zip(derived).collect())
    }

    fn alone(&self, op: &Op, member: &Member<Dynamic>) -> Result<Given> {
        let (inputs, derived) = self.taken(op, member)?;
        Ok((self.one(op, inputs)?, derived))
    }

    /// What an operation takes. Whatever an operator writes is its own: others have the same inputs.
    fn taken(&self, op: &Op, member: &Member<Dynamic>) -> Result<(Vec<Dynamic>, Option<Derived>)> {
        let inputs = lent(&member.inputs);
        Ok(match self.derived(op, &inputs)? {
            Some(told) => (told.arguments.untracked.iter().cloned().map(own).collect(), Some(told)),
            None => (inputs, None),
        })
    }

    /// What becomes of an operation; nothing if something else than a failure of its own stopped it.
    fn settled(
        &mut self,
        op: &Op,
        member: &Member<Dynamic>,
        given: Result<Given>,
    ) -> Option<Settled> {
        let is_stopped = self.stop.borrow().is_some();
        let result = match given {
            Ok(given) if !is_stopped => self.checked(op, member, given),
            Ok(_) => Ok(Dynamic::UNIT),
            Err(error) => Err(error),
        };
        if self.stop.borrow().is_some() {
            // What has ended the script is not done again at the end.
            return Some(Ok(Dynamic::UNIT));
        }
        match result {
            Err(_) if interrupt::is_requested() => None,
            Err(error) => Some(Err(self.failure(op, member, Raised::new(*error)))),
            Ok(result) => Some(Ok(result)),
        }
    }

    /// The result of an operation, if it is what its operator says.
    fn checked(
        &self,
        op: &Op,
        member: &Member<Dynamic>,
        (given, derived): Given,
    ) -> Result<Dynamic> {
        let given = match op {
            Op::Own(own) => something(given, own.has_effects)?,
            Op::Named(_) => given,
        };
        self.check(op, member, &given)?;
        let result = match derived {
            Some(Derived { function, arguments }) => {
                arguments.result(self.context, function, &given)?
            }
            None => given,
        };
        // The operator may keep and write what it gave.
        Ok(own(result))
    }
}

/// What errors of the arrays in a result are asked for by.
fn marks(result: &Dynamic) -> Vec<Mark> {
    let mut arrays = Vec::<ArrayRef>::new();
    add_all(result, &mut arrays);
    arrays.iter().flat_map(ArrayRef::leaves).map(|leaf| leaf.mark()).collect()
}

/// Whether a signature, ` (a, b)`, has so many types.
fn takes(signature: &str, n: usize) -> bool {
    let types = signature.strip_prefix(" (").and_then(|types| types.strip_suffix(')'));
    types.is_some_and(|types| types.split_terminator(", ").count() == n)
}

/// What operations have in common, as their operator says it.
fn key(said: &Dynamic) -> Result<String> {
    match said.is_string() || said.is_int() || said.is_float() || said.is_bool() {
        true => Ok(said.to_string()),
        false => Err(fault_with_hint(
            format!("signature gave {}, expected text or a number", type_name(said)),
            "what operations done together have in common: |x| `${x.len()}`",
        )),
    }
}

/// What exec gives: something, but of an operator that is there for its effects.
fn something(result: Dynamic, has_effects: bool) -> Result<Dynamic> {
    if result.is_unit() && !has_effects {
        return Err(fault_with_hint(
            "the operator gave nothing",
            "its last line is the result, without a semicolon; of an operator for its effects say effects: true",
        ));
    }
    Ok(result)
}

/// Type and size of a value, and the name that a map gives to its type; of lists and maps those of what is in them, of the
/// first ones.
fn kind(value: &Dynamic) -> String {
    kind_within(value, &mut 0)
}

/// As [`kind`], after so many values around it.
fn kind_within(value: &Dynamic, told: &mut usize) -> String {
    *told += 1;
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
    let mut parts = Vec::new();
    if let Some(map) = value.read_lock::<Map>() {
        let name = map.get("type").map_or_else(|| type_name(value), ToString::to_string);
        for (key, part) in map.iter().filter(|(key, _)| *key != "type") {
            if *told < MOST_TOLD {
                parts.push(format!("{key} {}", kind_within(part, told)));
            }
        }
        return format!("{name} ({})", parts.join(", "));
    }
    if let Some(list) = value.read_lock::<rhai::Array>() {
        for item in list.iter() {
            if *told >= MOST_TOLD {
                break;
            }
            parts.push(kind_within(item, told));
        }
        return format!("{} of {} ({})", type_name(value), list.len(), parts.join(", "));
    }
    type_name(value)
}

/// The type and size that an operator says: as a text, as a list of the type and its extents, or as a value of that kind; of
/// a list of results as a list of these.
fn said_kind(said: &Dynamic) -> String {
    let Some(list) = said.read_lock::<rhai::Array>() else {
        return if said.is_string() { with_article(&said.to_string()) } else { kind(said) };
    };
    if let Some((name, extents)) = list.split_first()
        && name.is_string()
        && extents.iter().all(|extent| extent.is::<i64>())
    {
        let extents: Vec<String> = extents.iter().map(ToString::to_string).collect();
        return format!("{name} [{}]", extents.join(", "));
    }
    let parts: Vec<String> = list.iter().map(said_kind).collect();
    format!("{} of {} ({})", type_name(said), list.len(), parts.join(", "))
}

/// Whether what an operator says is a type, not a value of one.
fn names_type(said: &Dynamic) -> bool {
    let list = said.read_lock::<rhai::Array>();
    said.is_string() || list.is_some_and(|list| list.first().is_some_and(names_type))
}

/// The kind of a value that is no array, as errors name it.
fn with_article(name: &str) -> String {
    match name {
        "integer" => format!("an {name}"),
        "bool" | "character" | "float" | "function" | "kernel" | "range" => format!("a {name}"),
        _ => name.into(),
    }
}

/// An engine is asked for something by an operation that it does.
pub(super) fn busy(op: &str) -> Box<EvalAltResult> {
    fault_with_hint(
        format!("{op}: the engine is at work"),
        "an operator may not push to its own engine or read from it; it may use another one, or call functions",
    )
}
