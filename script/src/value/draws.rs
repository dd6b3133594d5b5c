//! What calls draw from, so that they draw the same numbers when they are done again for their derivatives.

use std::cell::RefCell;
use std::rc::Rc;

use porcini_core::Array;
use porcini_core::random::Pcg32;
use rhai::Dynamic;

use crate::value::generator::RngRef;

/// A generator, and what it was before it moved.
pub(crate) type Moved = (RngRef, Pcg32);

/// Of calls under way, the innermost last, the generators that have moved.
#[derive(Default)]
pub(crate) struct Draws(RefCell<Vec<Vec<Moved>>>);

impl Draws {
    /// Notes a generator that is about to move, for calls that do not know it yet; other values are none.
    pub(crate) fn note(&self, value: &Dynamic) {
        if let Some(rng) = value.read_lock::<RngRef>() {
            self.note_generator(&rng);
        }
    }

    pub(crate) fn note_generator(&self, rng: &RngRef) {
        for call in self.0.borrow_mut().iter_mut() {
            if !call.iter().any(|(known, _)| Rc::ptr_eq(&known.0, &rng.0)) {
                call.push((rng.clone(), rng.0.borrow().clone()));
            }
        }
    }

    /// What work gives, and the generators that it moved.
    pub(crate) fn noting<R>(&self, work: impl FnOnce() -> R) -> (R, Vec<Moved>) {
        self.0.borrow_mut().push(Vec::new());
        let result = work();
        (result, self.0.borrow_mut().pop().unwrap_or_default())
    }

    /// Does work that is noted for nobody: generators have stand-ins in them, or go back.
    pub(crate) fn unnoted<R>(&self, work: impl FnOnce() -> R) -> R {
        let moved = self.0.take();
        let result = work();
        self.0.replace(moved);
        result
    }

    /// Does work that draws from states and increments of before; then the generators are where they had come to.
    pub(crate) fn again<R>(
        &self,
        generators: &[RngRef],
        began: &[Array],
        work: impl FnOnce() -> R,
    ) -> R {
        let put = |rng: &RngRef, other: Pcg32| rng.0.replace(other);
        let began = began.chunks(2).map(|rng| Pcg32 { state: rng[0].clone(), inc: rng[1].clone() });
        let now: Vec<Pcg32> =
            generators.iter().zip(began).map(|(rng, old)| put(rng, old)).collect();
        let result = self.unnoted(work);
        generators.iter().zip(now).for_each(|(rng, now)| drop(put(rng, now)));
        result
    }
}
