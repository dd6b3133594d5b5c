//! What engines do when they end: with the last name of one, or with the session.

use std::any::TypeId;
use std::cell::RefCell;
use std::rc::{Rc, Weak};

use porcini_core::Error;
use rhai::{EvalAltResult, NativeCallContext};

use super::engine_handles::{Engine, EngineRef};
use super::registry::Registry;
use crate::context::{Context, Ending};
use crate::fault::{Fault, IntoFault, Result, Stop, late_fault};

/// The function that does what is to be done before the session ends.
pub(crate) const END: &str = "end_session";

/// The function that does what engines have to do that nobody holds any more.
pub(crate) const END_FORGOTTEN: &str = "end_forgotten";

/// An engine as scripts hold it; handles do not keep it from its end.
#[derive(Clone)]
pub(super) struct HeldEngine {
    pub(super) engine: EngineRef,
    /// Behind it: the last one ends the engine.
    #[expect(dead_code, reason = "counted")]
    name: Rc<Name>,
}

/// What the names of an engine share.
struct Name {
    engine: Rc<Engine>,
    kept: Weak<RefCell<Vec<Rc<dyn Ending>>>>,
}

impl HeldEngine {
    pub(super) fn new(context: &Context, engine: EngineRef) -> Self {
        let name = Name { engine: engine.0.clone(), kept: context.kept() };
        Self { engine, name: Rc::new(name) }
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        self.engine.is_ended.set(true);
        if self.engine.is_due()
            && let Some(kept) = self.kept.upgrade()
        {
            kept.borrow_mut().push(self.engine.clone());
        }
    }
}

pub(super) fn register(registry: &mut Registry<'_>) {
    let context = registry.context.clone();
    registry.engine.register_raw_fn(END_FORGOTTEN, [] as [TypeId; 0], move |call, _| {
        let forgotten = context.take_forgotten();
        let starting: Vec<_> = forgotten.iter().filter(|ending| ending.starts(&context)).collect();
        let ended = flushed(&context, &call, starting).with_failures(&context, &forgotten);
        context.keep_due(forgotten);
        ended.raised(&context)
    });
    let context = registry.context.clone();
    registry.engine.register_raw_fn(END, [] as [TypeId; 0], move |call, _| {
        let endings = context.take_endings();
        let mut ended = flushed(&context, &call, endings.iter().collect());
        if !ended.is_interrupted() {
            // What they have written, too.
            let session = &context.session;
            match session.eval_writes().and_then(|()| session.sync()) {
                Err(Error::Interrupted) => ended.stopped = Err(Error::Interrupted).or_fault(),
                written => ended.late.extend(written.err().map(|error| told(&error))),
            }
        }
        if !ended.is_interrupted() {
            ended.late.extend(context.session.take_errors().iter().map(told));
        }
        ended.with_failures(&context, &endings).raised(&context)
    });
}

fn told(error: &Error) -> Fault {
    Fault::of(&late_fault(error))
}

/// What became of what has ended.
struct Ended {
    /// As it was pushed.
    failed: Vec<Fault>,
    /// What shows where nothing is pushed.
    late: Vec<Fault>,
    /// What ends the script.
    stopped: Result<()>,
}

/// Does what has something to do; one that fails, or ends the script, keeps no other from its end.
fn flushed(
    context: &Context,
    call: &NativeCallContext<'_>,
    endings: Vec<&Rc<dyn Ending>>,
) -> Ended {
    let mut ended = Ended { failed: Vec::new(), late: Vec::new(), stopped: Ok(()) };
    for ending in endings {
        match ending.clone().flush(context, call) {
            Err(stop) if matches!(*stop, EvalAltResult::ErrorTerminated(..)) => {
                ended.stopped = ended.stopped.and(Err(stop));
                if ended.is_interrupted() {
                    break;
                }
            }
            done => ended.late.extend(done.err().map(|error| Fault::of(&error))),
        }
    }
    ended
}

impl Ended {
    /// Whether somebody else stopped it: the rest waits.
    fn is_interrupted(&self) -> bool {
        let Err(stop) = &self.stopped else { return false };
        match &**stop {
            EvalAltResult::ErrorTerminated(why, _) => {
                why.read_lock::<Stop>().is_some_and(|why| why.is_of_others())
            }
            _ => true,
        }
    }

    /// With what has failed of all, in the order of the pushes; what was interrupted tells it with the rest.
    fn with_failures(mut self, context: &Context, endings: &[Rc<dyn Ending>]) -> Self {
        if !self.is_interrupted() {
            let failed = endings.iter().flat_map(|ending| ending.take_failures(context));
            let mut failed: Vec<_> = failed.collect();
            failed.sort_by_key(|(number, _)| *number);
            self.failed = failed.into_iter().map(|(_, fault)| fault).collect();
        }
        self
    }

    /// What ends the script, or else the first of what failed; the others are told with it.
    fn raised(self, context: &Context) -> Result<()> {
        let mut failed = in_order(self.failed, self.late).into_iter();
        let first = match self.stopped {
            Err(stop) => Some(stop),
            Ok(()) => failed.next().map(Fault::raised),
        };
        context.further.replace(failed.map(|fault| fault.message).collect());
        first.map_or(Ok(()), Err)
    }
}

/// Failures as they were pushed, and others, which have lines alone; each list has an order of its own.
fn in_order(failed: Vec<Fault>, others: Vec<Fault>) -> Vec<Fault> {
    let mut others = others.into_iter().peekable();
    let mut all = Vec::new();
    for fault in failed {
        while let Some(other) = others.next_if(|other| other.line < fault.line) {
            all.push(other);
        }
        all.push(fault);
    }
    all.extend(others);
    all
}

impl Ending for Engine {
    fn is_due(&self) -> bool {
        // One at work may get more to do.
        self.borrow("flush").map_or(true, |agenda| {
            let has_more = agenda.n_waiting() > 0 || agenda.has_failures() || self.is_unsettled();
            agenda.has_effects() || self.is_ended.get() && has_more
        })
    }

    fn is_ended(&self) -> bool {
        self.is_ended.get()
    }

    fn starts(&self, context: &Context) -> bool {
        let has_effects = || self.borrow("flush").is_ok_and(|agenda| agenda.has_effects());
        !context.session.flag("forbid_eval").unwrap_or(false) || has_effects()
    }

    fn has_failures(&self) -> bool {
        self.borrow("flush").is_ok_and(|agenda| agenda.has_failures())
    }

    fn flush(self: Rc<Self>, context: &Context, call: &NativeCallContext<'_>) -> Result<()> {
        if self.borrow("flush").is_err() {
            return Ok(());
        }
        EngineRef(self).run(context, call, None)
    }

    fn take_failures(&self, context: &Context) -> Vec<(u64, Fault)> {
        // What fails here is the device, which is told by itself.
        drop(self.settle(context, true));
        let failures = self.borrow_mut("flush").map(|mut agenda| agenda.take_failures());
        let failures = failures.unwrap_or_default().into_iter();
        failures.map(|failure| (failure.number, failure.told(context))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_told_by_their_lines() {
        let at =
            |line: u32| Fault { line: Some(line).filter(|&line| line > 0), ..Fault::default() };
        let lines = |failed: &[u32], others: &[u32]| {
            let [failed, others] =
                [failed, others].map(|lines| lines.iter().map(|&n| at(n)).collect());
            let all = in_order(failed, others);
            all.into_iter().map(|fault| fault.line.unwrap_or(0)).collect::<Vec<_>>()
        };
        assert_eq!(lines(&[2, 3, 5], &[4, 6]), [2, 3, 4, 5, 6]);
        // Each list knows better: a function may be called from several places.
        assert_eq!(lines(&[7, 3], &[5, 1]), [5, 1, 7, 3]);
        assert_eq!(lines(&[], &[0, 1]), [0, 1]);
    }
}
