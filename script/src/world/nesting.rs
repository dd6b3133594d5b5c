//! How deep values hold each other: lists in lists, and closures in what closures captured. They are copied, shown and
//! dropped by functions that call themselves, for which there is so much stack; a script that goes deeper is stopped.
//!
//! A level takes at least one operation to make, so that it is enough to look now and then: from where a variable
//! is used, all of them are in sight.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::time::Instant;

use porcini_core::Session;
use porcini_core::interrupt::{self, Cause};
use porcini_core::memory::process_heap;
use rhai::{Array, Dynamic, Engine, EvalContext, FnPtr, Map};

use crate::fault::{DEEPEST, Result, Stop, out_of_memory, stop};
use crate::value::held;

/// Operations after which somebody looks again, at least, and at most: each may add a level, for which there must
/// be stack.
const SOON: usize = 2_000;
const LATE: usize = 500_000;
/// What a script does between two looks, in values that a look saw, or in times that it took: then looks cost little beside it.
const REST: usize = 32;
const REST_TIME: u32 = 128;
/// Operations after which somebody looks how much waits to be evaluated.
const RELIEF: usize = 1 << 14;

/// When somebody looks.
#[derive(Default)]
pub(crate) struct Nesting {
    operations: Cell<usize>,
    due: Cell<usize>,
    /// After so many operations, or so much time, the last look has cost little enough. A script that copies deep values
    /// takes long for few operations, the longer the deeper.
    late: Cell<usize>,
    rested: Cell<Option<Instant>>,
}

impl Nesting {
    /// Looks between any two operations whether a script should go on, and counts them; now and then what waits to be
    /// evaluated makes room.
    pub(crate) fn watch(engine: &mut Engine, session: Session) -> Rc<Self> {
        let nesting = Rc::new(Self::default());
        let counter = nesting.clone();
        engine.on_progress(move |_| {
            let n = counter.operations.get() + 1;
            counter.operations.set(n);
            if n.is_multiple_of(RELIEF) {
                // What fails here fails, and is told, where it is read.
                session.relieve().ok();
            }
            if interrupt::is_requested() { counter.stopped() } else { None }
        });
        nesting
    }

    /// Why the script ends; where memory is short, an error that it may catch comes instead, with the next variable.
    #[cold]
    fn stopped(&self) -> Option<Dynamic> {
        self.due.set(0);
        let is_short = interrupt::cause() == Some(Cause::Short);
        (!is_short).then(|| Dynamic::from(Stop::asked()))
    }

    /// Looks at the variables, if it is time; `name` is one that is used.
    #[inline]
    pub(crate) fn look(
        &self,
        name: &str,
        context: &EvalContext<'_, '_, '_, '_, '_, '_>,
    ) -> Result<()> {
        if self.operations.get() < self.due.get() { Ok(()) } else { self.look_now(name, context) }
    }

    fn look_now(&self, name: &str, context: &EvalContext<'_, '_, '_, '_, '_, '_>) -> Result<()> {
        if interrupt::cause() == Some(Cause::Short) {
            return Err(out_of_memory());
        }
        if let Some(room) = process_heap::room_for_copies() {
            // Using a variable may copy it. Somebody looks each time until there is more room.
            let fits = context.scope().get(name).is_none_or(|value| held(value) as u64 <= room);
            return if fits { Ok(()) } else { Err(out_of_memory()) };
        }
        let n = self.operations.get();
        self.due.set(n + SOON);
        let start = Instant::now();
        if n < self.late.get() && self.rested.get().is_some_and(|rested| start < rested) {
            return Ok(());
        }
        let mut walk = Walk::default();
        let mut names = HashSet::new();
        // The newest come first; what they hide cannot grow.
        let mut variables = context.scope().iter_raw().filter(|(name, ..)| names.insert(*name));
        let is_too_deep = variables.any(|(_, _, value)| walk.height(value, 0).is_none());
        self.late.set(n + (REST * walk.seen).clamp(SOON, LATE));
        self.rested.set(Some(Instant::now() + REST_TIME * start.elapsed()));
        if is_too_deep { Err(stop(Stop::TooDeep)) } else { Ok(()) }
    }
}

/// A walk over values.
#[derive(Default)]
struct Walk {
    /// Values looked at.
    seen: usize,
    /// Levels below a variable that closures share; 0 while it is looked at, so that rings end.
    shared: HashMap<*const Dynamic, usize>,
}

impl Walk {
    /// Levels of a value that stands so deep; `None` if they are too many.
    fn height(&mut self, value: &Dynamic, depth: usize) -> Option<usize> {
        self.seen += 1;
        if value.is_shared() {
            // Whoever changes it now has it to himself.
            let Some(inner) = value.read_lock::<Dynamic>() else { return Some(0) };
            let place = std::ptr::from_ref(&*inner);
            if let Some(height) = self.shared.get(&place) {
                return Some(*height).filter(|height| depth + height < DEEPEST);
            }
            self.shared.insert(place, 0);
            let height = self.height_within(&inner, depth)?;
            self.shared.insert(place, height);
            return Some(height);
        }
        self.height_within(value, depth)
    }

    fn height_within(&mut self, value: &Dynamic, depth: usize) -> Option<usize> {
        if depth >= DEEPEST || interrupt::is_requested() {
            return (depth < DEEPEST).then_some(0);
        }
        // Most values hold none; to ask for their kind is quicker than for a type.
        if !(value.is_array() || value.is_map() || value.is_fnptr()) {
            return Some(0);
        }
        if let Some(list) = value.read_lock::<Array>() {
            self.highest(list.iter(), depth)
        } else if let Some(map) = value.read_lock::<Map>() {
            self.highest(map.values(), depth)
        } else if let Some(closure) = value.read_lock::<FnPtr>() {
            self.highest(closure.iter_curry(), depth)
        } else {
            Some(0)
        }
    }

    fn highest<'v>(
        &mut self,
        values: impl Iterator<Item = &'v Dynamic>,
        depth: usize,
    ) -> Option<usize> {
        let mut highest = 0;
        for value in values {
            highest = highest.max(self.height(value, depth + 1)?);
        }
        Some(highest + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn height(text: &str) -> Option<usize> {
        let value: Dynamic = Engine::new().eval(text).unwrap();
        Walk::default().height(&value, 0)
    }

    #[test]
    fn levels_are_counted() {
        assert_eq!(height("1"), Some(0));
        assert_eq!(height("[]"), Some(1));
        assert_eq!(height("[1, [2], [[3]]]"), Some(3));
        assert_eq!(height("#{a: [1]}"), Some(2));
        assert_eq!(height("let a = [1]; let f = || a; [f, f]"), Some(3));
        assert_eq!(height("let f = 0; for i in 0..100 { let g = f; f = || g; } f"), Some(100));
        let ring = "let l = []; let f = || l; l = [f]; f";
        assert!(height(ring).is_some());
        assert_eq!(height("let l = [[]]; for i in 0..5000 { l.push([l.pop()]); } l"), None);
    }

    /// Each closure holds the one before twice: 2^60 ways lead down.
    #[test]
    fn what_is_shared_is_looked_at_once() {
        let text = "let f = 0; for i in 0..60 { let g = f; let h = f; f = || [g, h]; } f";
        assert!(height(text).is_some());
    }
}
