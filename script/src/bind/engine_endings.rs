//! What engines do when they end: with the last name of one, or with the session.

use std::any::TypeId;
use std::cell::RefCell;
use std::rc::{Rc, Weak};

use porcini_core::Error;
use rhai::{EvalAltResult, NativeCallContext};

use super::engine_handles::{Engine, EngineRef};
use super::registry::Registry;
use crate::context::{Context, Ending};
use crate::fault::{Fault, IntoFault, Result, late_fault};

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
        raised(&context, all_ended(&context, &call, context.take_forgotten())?)
    });
    let context = registry.context.clone();
    registry.engine.register_raw_fn(END, [] as [TypeId; 0], move |call, _| {
        let failed = all_ended(&context, &call, context.take_endings())?;
        // What they have written, too.
        let session = &context.session;
        let written = session.eval_writes().and_then(|()| session.sync());
        if written == Err(Error::Interrupted) {
            return written.or_fault();
        }
        let late = written.err().into_iter().chain(session.take_errors());
        let late = late.map(|error| Fault::of(&late_fault(&error))).collect();
        raised(&context, in_order(failed, late))
    });
}

/// Ends what has something to do; one that fails keeps no other from its end. What failed, as it was pushed.
fn all_ended(
    context: &Context,
    call: &NativeCallContext<'_>,
    endings: Vec<Rc<dyn Ending>>,
) -> Result<Vec<Fault>> {
    let (mut failed, mut stopped) = (Vec::new(), Ok(()));
    for ending in endings {
        match ending.end(context, call) {
            Ok(more) => failed = in_order(failed, more),
            Err(stop) if matches!(*stop, EvalAltResult::ErrorTerminated(..)) => {
                stopped = stopped.and(Err(stop));
            }
            Err(error) => failed.push(Fault::of(&error)),
        }
    }
    stopped.map(|()| failed)
}

/// Failures by their lines, where each list has an order of its own.
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

/// The first of what failed; the others are told with it.
fn raised(context: &Context, failed: Vec<Fault>) -> Result<()> {
    let mut failed = failed.into_iter();
    let Some(first) = failed.next() else { return Ok(()) };
    context.further.replace(failed.map(|fault| fault.message).collect());
    Err(first.raised())
}

impl Ending for Engine {
    fn is_due(&self) -> bool {
        // One at work may get more to do.
        self.borrow("flush").map_or(true, |agenda| {
            let has_more = agenda.n_waiting() > 0 || agenda.has_failures();
            agenda.has_effects() || self.is_ended.get() && has_more
        })
    }

    fn is_ended(&self) -> bool {
        self.is_ended.get()
    }

    fn flush(self: Rc<Self>, context: &Context, call: &NativeCallContext<'_>) -> Result<()> {
        if self.borrow("flush").is_err() {
            return Ok(());
        }
        EngineRef(self).run(context, call, None)
    }

    /// Does what waits, for those who hold handles of it or for what it does besides; what has failed and was not told.
    fn end(self: Rc<Self>, context: &Context, call: &NativeCallContext<'_>) -> Result<Vec<Fault>> {
        let engine = EngineRef(self);
        engine.run(context, call, None)?;
        let failures = engine.0.borrow_mut("flush")?.take_failures();
        Ok(failures.into_iter().map(|failure| failure.told(context)).collect())
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
