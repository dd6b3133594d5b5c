//! Which operations of those to be done are next.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;
use std::rc::Rc;

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

/// The turn of a group: that of the lowest mean depth is first, of those the one that was pushed first.
struct Turn {
    depths: u64,
    n: u64,
    first: Number,
}

/// Operations to be done, and what they wait for.
pub(super) struct Order<P> {
    n_before: HashMap<Number, usize>,
    after: HashMap<Number, Vec<Number>>,
    /// Those that wait for nothing.
    groups: HashMap<Rc<Key<P>>, Group>,
    turns: BTreeMap<Turn, Rc<Key<P>>>,
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
            turns: BTreeMap::new(),
            effects: BTreeMap::new(),
            begun: None,
        }
    }
}

impl Group {
    fn turn(&self) -> Option<Turn> {
        let first = *self.numbers.first()?;
        Some(Turn { depths: self.depths, n: self.numbers.len() as u64, first })
    }
}

impl Ord for Turn {
    fn cmp(&self, other: &Self) -> Ordering {
        // Fractions compare by their products.
        let (depths, others) = (self.depths * other.n, other.depths * self.n);
        depths.cmp(&others).then(self.first.cmp(&other.first))
    }
}

impl PartialOrd for Turn {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Turn {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Turn {}

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
        let entry = self.groups.entry(Rc::new(key));
        let key = entry.key().clone();
        let group = entry.or_default();
        let before = group.turn();
        group.numbers.insert(number);
        group.depths += depth;
        let turn = group.turn();
        // Mostly they are as deep as those that are there.
        if before != turn {
            before.iter().for_each(|before| drop(self.turns.remove(before)));
            turn.into_iter().for_each(|turn| drop(self.turns.insert(turn, key.clone())));
        }
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

    /// The group whose turn it is, or its first operations. What was taken before is done.
    pub(super) fn take(&mut self, most: usize) -> Option<(Key<P>, Vec<Number>)> {
        self.begin();
        let (_, key) = self.turns.pop_first()?;
        let group = self.groups.get_mut(&key)?;
        let n = group.numbers.len() as u64;
        let taken: Vec<Number> =
            std::iter::from_fn(|| group.numbers.pop_first()).take(most.max(1)).collect();
        // Those that are left are as deep, about: the depths are of use for an order only.
        group.depths = group.depths * group.numbers.len() as u64 / n;
        match group.turn() {
            Some(turn) => drop(self.turns.insert(turn, key.clone())),
            None => drop(self.groups.remove(&key)),
        }
        Some((Key::clone(&key), taken))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_mean_depth_is_first() {
        let mut order = Order::default();
        let key = |name: &str| ((), name.to_string());
        // Mean depths of 2, 1 and 1.
        for (number, name, depth) in
            [(0, "two", 2), (3, "one", 2), (2, "other", 1), (1, "one", 0), (4, "one", 1)]
        {
            order.add(number, false, std::iter::empty());
            order.enter(number, key(name), depth);
        }
        assert_eq!(order.take(2), Some((key("one"), vec![1, 3])));
        assert_eq!(order.take(2), Some((key("other"), vec![2])));
        assert_eq!(order.take(2), Some((key("one"), vec![4])));
        assert_eq!(order.take(2), Some((key("two"), vec![0])));
        assert_eq!(order.take(2), None);
    }

    #[test]
    fn what_is_left_of_a_group_is_as_deep_as_it_was() {
        let mut order = Order::default();
        let key = |name: &str| ((), name.to_string());
        for (number, name, depth) in
            [(0, "one", 1), (1, "one", 1), (2, "one", 1), (3, "one", 1), (4, "two", 2)]
        {
            order.add(number, false, std::iter::empty());
            order.enter(number, key(name), depth);
        }
        assert_eq!(order.take(2), Some((key("one"), vec![0, 1])));
        assert_eq!(order.take(2), Some((key("one"), vec![2, 3])));
        assert_eq!(order.take(2), Some((key("two"), vec![4])));
    }
}
