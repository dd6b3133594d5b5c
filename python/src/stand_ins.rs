//! What the thread that records a function sees in the objects that the function reaches: stand-ins, which have no lanes. Other
//! threads see what the objects hold. So it is with generators that are drawn from again.

use std::cell::RefCell;
use std::collections::BTreeMap;

use porcini_core::Value;
use porcini_core::random::{Pcg32, SplitMix64};
use pyo3::prelude::*;

/// What stands in an object, by the address of what it holds.
#[derive(Default)]
struct Seen {
    values: BTreeMap<usize, Value>,
    generators: BTreeMap<usize, Pcg32>,
    /// In place of the seeds of the session.
    seeds: Option<SplitMix64>,
    /// Of calls under way, the innermost last, the generators that have moved.
    moved: Vec<Vec<Moved>>,
}

/// A generator by its address, and what it was before it moved.
pub(crate) struct Moved {
    pub(crate) address: usize,
    pub(crate) before: Pcg32,
    /// Its object lives on: no other one has the address.
    pub(crate) object: Py<PyAny>,
}

thread_local! {
    static SEEN: RefCell<Seen> = const {
        RefCell::new(Seen {
            values: BTreeMap::new(),
            generators: BTreeMap::new(),
            seeds: None,
            moved: Vec::new(),
        })
    };
}

/// Until it is dropped, this thread sees stand-ins where they were lent, and nothing that was lent before. Their objects
/// outlive it.
pub(crate) struct StandIns(Seen);

impl StandIns {
    pub(crate) fn new() -> Self {
        Self(SEEN.take())
    }
}

impl Drop for StandIns {
    fn drop(&mut self) {
        drop(SEEN.replace(std::mem::take(&mut self.0)));
    }
}

/// What this thread sees in a value in place of what it holds.
pub(crate) fn value(address: usize) -> Option<Value> {
    SEEN.with_borrow(|seen| seen.values.get(&address).cloned())
}

/// Whether this thread sees a stand-in there.
pub(crate) fn has_value(address: usize) -> bool {
    SEEN.with_borrow(|seen| seen.values.contains_key(&address))
}

/// Lets this thread see a value there.
pub(crate) fn lend_value(address: usize, value: Value) {
    drop(SEEN.with_borrow_mut(|seen| seen.values.insert(address, value)));
}

/// As [`value`], of a generator.
pub(crate) fn generator(address: usize) -> Option<Pcg32> {
    SEEN.with_borrow(|seen| seen.generators.get(&address).cloned())
}

/// As [`lend_value`], of a generator.
pub(crate) fn lend_generator(address: usize, rng: Pcg32) {
    drop(SEEN.with_borrow_mut(|seen| seen.generators.insert(address, rng)));
}

/// As [`lend_generator`], or what the generator holds, if nothing is lent.
pub(crate) fn lend_generator_or_not(address: usize, rng: Option<Pcg32>) {
    drop(SEEN.with_borrow_mut(|seen| match rng {
        Some(rng) => seen.generators.insert(address, rng),
        None => seen.generators.remove(&address),
    }));
}

/// The seeds that this thread sees in place of those of the session.
pub(crate) fn seeds() -> Option<SplitMix64> {
    SEEN.with_borrow(|seen| seen.seeds)
}

/// Lets this thread see other seeds, or those of the session.
pub(crate) fn lend_seeds(seeds: Option<SplitMix64>) {
    SEEN.with_borrow_mut(|seen| seen.seeds = seeds);
}

/// Notes that a generator is about to move, for calls under way that do not know it yet.
pub(crate) fn note(object: &Bound<'_, PyAny>, address: usize, before: impl Fn() -> Pcg32) {
    let is_unknown = |call: &Vec<Moved>| !call.iter().any(|known| known.address == address);
    if !SEEN.with_borrow(|seen| seen.moved.iter().any(is_unknown)) {
        return;
    }
    let before = before();
    SEEN.with_borrow_mut(|seen| {
        for call in seen.moved.iter_mut().filter(|call| is_unknown(call)) {
            let object = object.clone().unbind();
            call.push(Moved { address, before: before.clone(), object });
        }
    });
}

/// What work gives, and the generators that it moved.
pub(crate) fn noting<R>(work: impl FnOnce() -> R) -> (R, Vec<Moved>) {
    SEEN.with_borrow_mut(|seen| seen.moved.push(Vec::new()));
    let result = work();
    (result, SEEN.with_borrow_mut(|seen| seen.moved.pop()).unwrap_or_default())
}

/// Does work that is noted for nobody.
pub(crate) fn unnoted<R>(work: impl FnOnce() -> R) -> R {
    let moved = SEEN.with_borrow_mut(|seen| std::mem::take(&mut seen.moved));
    let result = work();
    SEEN.with_borrow_mut(|seen| seen.moved = moved);
    result
}
