//! Engines and handles as scripts hold them: what is read, and what is done then.

use std::cell::{Cell, Ref, RefCell, RefMut};
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

use indexmap::IndexMap;
use porcini_core::engine::{Agenda, Handle, Input, State};
use porcini_core::{Mark, Owed};
use rhai::{Dynamic, EvalAltResult, ImmutableString, Map, NativeCallContext, Position};

use super::engine_closures::{Closures, Done, Pushed, busy};
use super::engine_failures::Failure;
use super::engine_inputs::{add_all, holds, in_parts, own, put_in, take_out};
use crate::context::{Context, Ending};
use crate::fault::{IntoFault, Result, check_interrupt, fault, fault_with_hint};
use crate::value::{ArrayRef, type_name};

/// The operations of an engine.
pub(super) type Operations = Agenda<Pushed, Dynamic, Failure>;

/// An engine.
pub(super) struct Engine {
    agenda: RefCell<Operations>,
    /// Operations that wait from which on they are done.
    pub(super) full: usize,
    /// Operations of a batch, at most.
    most: usize,
    /// Whether no name is left of it: there are handles at most.
    pub(super) is_ended: Cell<bool>,
    /// What was done by launches of which it is not known whether they failed.
    unsettled: RefCell<Option<Unsettled>>,
}

/// Operations that may have failed.
struct Unsettled {
    done: Vec<Done>,
    owed: Owed,
}

/// The same as handles hold it.
#[derive(Clone)]
pub(super) struct EngineRef(pub(super) Rc<Engine>);

/// A result to come.
#[derive(Clone)]
pub(super) struct HandleRef {
    pub(super) name: ImmutableString,
    pub(super) handle: Handle,
    /// Behind the handle: what nobody sees any more is let go when it is dropped.
    pub(super) engine: EngineRef,
}

/// An engine, or a handle.
pub(super) fn held<T: Clone + 'static>(op: &str, value: &Dynamic) -> Result<T> {
    value.read_lock::<T>().map(|held| held.clone()).ok_or_else(|| {
        fault_with_hint(
            format!("{op}: got {}, expected a handle", type_name(value)),
            "e = engine(); h = e.push(op, x) gives one",
        )
    })
}

/// The handles that a value is made of, itself or as a list or map.
pub(super) fn all_of(op: &str, value: &Dynamic, found: &mut Vec<HandleRef>) -> Result<()> {
    if let Some(list) = value.read_lock::<rhai::Array>() {
        return list.iter().try_for_each(|item| all_of(op, item, found));
    }
    if let Some(map) = value.read_lock::<Map>() {
        return map.values().try_for_each(|item| all_of(op, item, found));
    }
    found.push(held(op, value)?);
    Ok(())
}

/// What a handle gives, of a list or map of handles one of what they give; they are of the engine, if one is asked.
pub(super) fn value_of(
    context: &Context,
    call: &NativeCallContext<'_>,
    engine: Option<&EngineRef>,
    value: &Dynamic,
) -> Result<Dynamic> {
    let mut handles = Vec::new();
    all_of("get", value, &mut handles)?;
    if let Some(engine) = engine {
        engine.owns_all("get", &handles)?;
    }
    with_results(context, call, value, &|handle| handle.value(context, call))
}

/// The value with lists of arrays in place of the handles in it: the arrays in what they give.
pub(super) fn with_arrays(
    context: &Context,
    call: &NativeCallContext<'_>,
    value: &Dynamic,
) -> Result<Dynamic> {
    if !holds::<HandleRef>(value) {
        return Ok(value.clone());
    }
    with_results(context, call, value, &|handle| {
        let mut arrays = Vec::new();
        if let State::Done(mut result) = handle.engine.state("get", &handle.handle)? {
            result = own(result);
            take_out::<ArrayRef>(&mut result, &mut arrays);
        }
        Ok(arrays.into_iter().map(Dynamic::from).collect::<rhai::Array>().into())
    })
}

/// The value with `result` of each handle in its place, after all of them are done.
fn with_results(
    context: &Context,
    call: &NativeCallContext<'_>,
    value: &Dynamic,
    result: &dyn Fn(&HandleRef) -> Result<Dynamic>,
) -> Result<Dynamic> {
    let (mut value, mut handles) = (own(value.clone()), Vec::new());
    take_out::<HandleRef>(&mut value, &mut handles);
    let mut of_engines: IndexMap<*const Engine, (&EngineRef, Vec<Handle>)> = IndexMap::new();
    for HandleRef { engine, handle, .. } in &handles {
        let of_engine = of_engines.entry(Rc::as_ptr(&engine.0)).or_insert((engine, Vec::new()));
        of_engine.1.push(handle.clone());
    }
    for (engine, wanted) in of_engines.values() {
        engine.run(context, call, Some(wanted))?;
    }
    let results = handles.iter().map(result).collect::<Result<Vec<_>>>();
    // Who hears of the first that failed hears of all.
    let results = results.inspect_err(|_| handles.iter().for_each(HandleRef::told))?;
    put_in(&mut value, &mut results.into_iter());
    Ok(value)
}

impl Engine {
    pub(super) fn borrow(&self, op: &str) -> Result<Ref<'_, Operations>> {
        self.agenda.try_borrow().map_err(|_| busy(op))
    }

    pub(super) fn borrow_mut(&self, op: &str) -> Result<RefMut<'_, Operations>> {
        self.agenda.try_borrow_mut().map_err(|_| busy(op))
    }

    /// Whether some of what was done may have failed.
    pub(super) fn is_unsettled(&self) -> bool {
        self.unsettled.borrow().is_some()
    }

    fn leave_unsettled(&self, done: Vec<Done>, owed: Owed) {
        if done.is_empty() {
            return;
        }
        let mut unsettled = self.unsettled.borrow_mut();
        match &mut *unsettled {
            Some(earlier) => {
                earlier.done.extend(done);
                earlier.owed.extend([owed]);
            }
            None => *unsettled = Some(Unsettled { done, owed }),
        }
    }

    /// Has what was done fail that comes of an index out of bounds, if that is known, or is to be waited for.
    pub(super) fn settle(&self, context: &Context, waits: bool) -> Result<()> {
        let is_known = |it: &Unsettled| waits || it.owed.are_known();
        if !self.unsettled.borrow().as_ref().is_some_and(is_known) {
            return Ok(());
        }
        match self.unsettled.take() {
            Some(Unsettled { done, owed }) => self.fail_out_of_bounds(context, done, &owed),
            None => Ok(()),
        }
    }

    /// Operations whose results come of an index out of bounds have failed, and those that took them, whatever they made of
    /// them: who reads them is told, and nobody else.
    fn fail_out_of_bounds(
        &self,
        context: &Context,
        mut done: Vec<Done>,
        owed: &Owed,
    ) -> Result<()> {
        // What was pushed first is first, and before those that took it.
        done.sort_by_key(|done| done.number);
        let marks: Vec<Mark> = done.iter().flat_map(|done| done.marks.iter().cloned()).collect();
        let mut errors = context.session.take_errors_of(&marks, owed).or_fault()?.into_iter();
        let (mut causes, mut failed) = (HashMap::new(), HashMap::new());
        let mut agenda = self.borrow_mut("flush")?;
        for Done { number, name, line, before, marks } in done {
            let own = errors.by_ref().take(marks.len()).flatten().collect::<Vec<_>>();
            let inherited = before.iter().find_map(|before| failed.get(before).cloned());
            let own = own.into_iter().next().map(|(access, error)| {
                let cause = *causes.entry(access).or_insert(number);
                (cause, Failure::out_of_bounds(&name, (line, number), error))
            });
            let Some((cause, failure)) = inherited.or(own) else { continue };
            agenda.fail(number, cause, failure.clone());
            failed.insert(number, (cause, failure));
        }
        Ok(())
    }
}

impl EngineRef {
    /// One that does operations when so many wait, at most so many at a time; and before the session ends.
    pub(super) fn new(context: &Context, full: usize, most: usize) -> Self {
        let (agenda, is_ended, unsettled) = Default::default();
        let engine = Rc::new(Engine { agenda, full, most, is_ended, unsettled });
        let ending: Rc<dyn Ending> = engine.clone();
        context.at_end(Rc::downgrade(&ending));
        Self(engine)
    }

    /// Adds what an operation takes as it is now: a handle, or an object and behind it the handles in it.
    pub(super) fn add_input(&self, input: &Dynamic, to: &mut Vec<Input<Dynamic>>) -> Result<()> {
        let (mut value, mut handles) = (own(input.clone()), Vec::new());
        take_out::<HandleRef>(&mut value, &mut handles);
        self.owns_all("push", &handles)?;
        if !input.is::<HandleRef>() {
            to.push(Input::Object(in_parts(value, handles.len())));
        }
        to.extend(handles.into_iter().map(|handle| Input::Handle(handle.handle)));
        Ok(())
    }

    /// Keeps the engine until the effects of what was pushed were there, whoever lets go of it.
    pub(super) fn keep(&self, context: &Context) {
        context.keep(self.0.clone());
    }

    pub(super) fn owns_all(&self, op: &str, handles: &[HandleRef]) -> Result<()> {
        handles.iter().try_for_each(|handle| self.owns(op, handle))
    }

    fn owns(&self, op: &str, handle: &HandleRef) -> Result<()> {
        match Rc::ptr_eq(&self.0, &handle.engine.0) {
            true => Ok(()),
            false => Err(fault_with_hint(
                format!("{op}: the handle is another engine's"),
                "its value can be given: e.push(op, get(h))",
            )),
        }
    }

    pub(super) fn state(&self, op: &str, handle: &Handle) -> Result<State<Dynamic, Failure>> {
        Ok(self.0.borrow(op)?.state(handle))
    }

    /// Does what handles need, or all that waits, and evaluates the results together.
    pub(super) fn run(
        &self,
        context: &Context,
        call: &NativeCallContext<'_>,
        wanted: Option<&[Handle]>,
    ) -> Result<()> {
        let since = context.session.evaluations();
        let results = self.work(context, call, wanted)?;
        let arrays = self.results(&results)?;
        match (context.eval(&arrays), wanted) {
            // What joined them may be what cannot be: that is told to who reads it.
            (Err(_), Some(wanted)) => context.eval(&self.arrays(wanted)?)?,
            (done, _) => done?,
        }
        self.0.leave_unsettled(results, context.session.owe_errors(&since));
        // Who reads waits for what is not known yet.
        self.0.settle(context, false)
    }

    /// Those of the handles' values that are arrays.
    fn arrays(&self, handles: &[Handle]) -> Result<Vec<ArrayRef>> {
        let agenda = self.0.borrow("get")?;
        let array = |handle| match agenda.state(handle) {
            State::Done(value) => value.read_lock::<ArrayRef>().map(|array| array.clone()),
            State::Pending | State::Failed(_) => None,
        };
        Ok(handles.iter().filter_map(array).collect())
    }

    /// The same without evaluating: what was done.
    pub(super) fn work(
        &self,
        context: &Context,
        call: &NativeCallContext<'_>,
        wanted: Option<&[Handle]>,
    ) -> Result<Vec<Done>> {
        let mut doer = Closures::new(context, call);
        let most = if doer.batches { self.0.most } else { 1 };
        let done = self.0.borrow_mut("flush")?.run(wanted, most, &mut doer);
        // What stops it is told as what stops any script.
        done.or_else(|_| match doer.stop.take() {
            Some(stop) => Err(EvalAltResult::ErrorTerminated(stop, Position::NONE).into()),
            None => check_interrupt(),
        })?;
        Ok(doer.done)
    }

    /// The arrays in results that somebody sees.
    fn results(&self, done: &[Done]) -> Result<Vec<ArrayRef>> {
        let agenda = self.0.borrow("flush")?;
        let mut arrays = Vec::with_capacity(done.len());
        let results = done.iter().filter_map(|done| agenda.result(done.number));
        results.for_each(|result| add_all(result, &mut arrays));
        Ok(arrays)
    }
}

impl Drop for EngineRef {
    fn drop(&mut self) {
        // An engine at work does so by itself.
        if let Ok(mut agenda) = self.0.agenda.try_borrow_mut() {
            agenda.let_go();
        }
    }
}

impl HandleRef {
    /// Has its engine do what it has to do, if that has ended: nobody else will ask.
    pub(super) fn flush_ended(
        &self,
        context: &Context,
        call: &NativeCallContext<'_>,
    ) -> Result<()> {
        let engine = &self.engine.0;
        match engine.is_ended() && engine.starts(context) {
            true => engine.clone().flush(context, call),
            false => Ok(()),
        }
    }

    /// Whether it was done, or has failed.
    pub(super) fn is_ready(&self) -> Result<bool> {
        Ok(!matches!(self.engine.state("is_ready", &self.handle)?, State::Pending))
    }

    /// That it failed, if it has, need not be told at the end.
    fn told(&self) {
        if let Ok(mut agenda) = self.engine.0.borrow_mut("get") {
            agenda.told(&self.handle);
        }
    }

    /// What it gives, which was done.
    fn value(&self, context: &Context, call: &NativeCallContext<'_>) -> Result<Dynamic> {
        self.engine.0.settle(context, true)?;
        let mut agenda = self.engine.0.borrow_mut("get")?;
        match agenda.state(&self.handle) {
            State::Done(value) => Ok(own(value)),
            State::Failed(failure) => {
                agenda.told(&self.handle);
                Err(failure.raised(context, call))
            }
            State::Pending => Err(fault("get: the operation waits")),
        }
    }
}

impl fmt::Display for HandleRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.engine.state("print", &self.handle) {
            Ok(State::Done(_)) => "done",
            Ok(State::Failed(_)) => "failed",
            Ok(State::Pending) => "waits",
            Err(_) => "at work",
        };
        write!(f, "handle of {}, {state}", self.name)
    }
}
