//! What the thread that records a function sees in the objects that the function reaches: stand-ins, which have no lanes. Other
//! threads see what the objects hold.

use std::cell::RefCell;
use std::collections::BTreeMap;

use porcini_core::Value;
use porcini_core::random::Pcg32;

/// What stands in an object, by the address of what it holds.
#[derive(Default)]
struct Seen {
    values: BTreeMap<usize, Value>,
    generators: BTreeMap<usize, Pcg32>,
}

thread_local! {
    static SEEN: RefCell<Seen> =
        const { RefCell::new(Seen { values: BTreeMap::new(), generators: BTreeMap::new() }) };
}

/// Until it is dropped, this thread sees stand-ins where they were lent. Their objects outlive it.
pub(crate) struct StandIns(());

impl StandIns {
    pub(crate) const fn new() -> Self {
        Self(())
    }
}

impl Drop for StandIns {
    fn drop(&mut self) {
        drop(SEEN.take());
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
