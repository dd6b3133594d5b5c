//! Which operations of those to be done are next.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;

/// Operations are numbered in the order in which they were pushed.
pub(super) type Number = u64;

/// What operations that are done together have in common: operator and signature.
pub(super) type Key<P> = (P, String);

/// Ready operations of one operator and signature.
#[derive(Default)]
struct Group {
    numbers: BTreeSet<Number>,
    depths: u64,
}

/// Operations to be done, and what they wait for.
pub(super) struct Order<P> {
    n_before: HashMap<Number, usize>,
    after: HashMap<Number, Vec<Number>>,
    /// Those that wait for nothing.
    groups: HashMap<Key<P>, Group>,
    /// Those with effects that may not begin yet: all before them come first. Beside each its key and depth, once it
    /// waits for no result.
    effects: BTreeMap<Number, Option<(Key<P>, u64)>>,
    /// The key of those with effects that began last: only others like them may join them.
    begun: Option<Key<P>>,
}

impl<P> Default for Order<P> {
    fn default() -> Self {
        Self {
            n_before: HashMap::new(),
            after: HashMap::new(),
            groups: HashMap::new(),
            effects: BTreeMap::new(),
            begun: None,
        }
    }
}

impl<P: Clone + Eq + Hash> Order<P> {
    /// Whether an operation is to be done.
    pub(super) fn has(&self, number: Number) -> bool {
        self.n_before.contains_key(&number)
    }

    /// Adds an operation that waits for the results of others.
    pub(super) fn add(
        &mut self,
        number: Number,
        has_effects: bool,
        before: impl Iterator<Item = Number>,
    ) {
        let mut n_before = 0;
        for before in before {
            self.after.entry(before).or_default().push(number);
            n_before += 1;
        }
        self.n_before.insert(number, n_before);
        if has_effects {
            self.effects.insert(number, None);
        }
    }

    /// An operation that waits for no result joins those like it, one with effects when it may begin.
    pub(super) fn enter(&mut self, number: Number, key: Key<P>, depth: u64) {
        match self.effects.get_mut(&number) {
            Some(known) => *known = Some((key, depth)),
            None => self.join(number, key, depth),
        }
    }

    fn join(&mut self, number: Number, key: Key<P>, depth: u64) {
        let group = self.groups.entry(key).or_default();
        group.numbers.insert(number);
        group.depths += depth;
    }

    /// Operations with effects begin as they were pushed: the next one does if those before it are done, or like it.
    fn begin(&mut self) {
        while let Some(next) = self.effects.first_entry() {
            let Some((key, _)) = next.get() else { return };
            let is_like = |begun: &Key<P>| begun == key || !self.groups.contains_key(begun);
            if !self.begun.as_ref().is_none_or(is_like) {
                return;
            }
            if let (number, Some((key, depth))) = next.remove_entry() {
                self.begun = Some(key.clone());
                self.join(number, key, depth);
            }
        }
    }

    /// An operation is done, or has failed: those that waited for it, and now for no result.
    pub(super) fn done(&mut self, number: Number) -> Vec<Number> {
        self.effects.remove(&number);
        let mut ready = self.after.remove(&number).unwrap_or_default();
        ready.retain(|after| {
            let n_before = self.n_before.get_mut(after);
            n_before.is_some_and(|n_before| {
                *n_before -= 1;
                *n_before == 0
            })
        });
        ready
    }

    /// The group of the lowest mean depth, of those the one that was pushed first, or its first operations. What was
    /// taken before is done.
    pub(super) fn take(&mut self, most: usize) -> Option<(Key<P>, Vec<Number>)> {
        self.begin();
        let order = |a: &Group, b: &Group| {
            // Fractions compare by their products.
            let (depths, others) =
                (a.depths * b.numbers.len() as u64, b.depths * a.numbers.len() as u64);
            depths.cmp(&others).then_with(|| a.numbers.first().cmp(&b.numbers.first()))
        };
        let first = self.groups.iter().min_by(|(_, a), (_, b)| order(a, b));
        let key = first.map(|(key, _)| key.clone())?;
        let group = self.groups.get_mut(&key)?;
        let n = group.numbers.len() as u64;
        let taken: Vec<Number> =
            std::iter::from_fn(|| group.numbers.pop_first()).take(most.max(1)).collect();
        // Those that are left are as deep, about: the depths are of use for an order only.
        group.depths = group.depths / n * group.numbers.len() as u64;
        if group.numbers.is_empty() {
            self.groups.remove(&key);
        }
        Some((key, taken))
    }
}
