//! Operations that wait for nothing, by what they have in common: who reads one has the others done with it.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

use super::super::order::{Key, Number, Order};
use super::{Agenda, Doer};

/// What was done together, if others joined.
type Joined<O, E> = Result<Option<Vec<(Number, Result<O, E>)>>, E>;

/// Operations without effects that wait for no result; some of them may be done by now.
#[derive(Debug)]
pub(super) struct Alike<P> {
    /// Those whose signature nobody has asked for.
    new: HashMap<P, BTreeSet<Number>>,
    sorted: HashMap<Key<P>, BTreeSet<Number>>,
    /// How many there are in all.
    n: usize,
}

/// Operations from which on those are looked for that were done.
const FEW: usize = 1024;

impl<P> Default for Alike<P> {
    fn default() -> Self {
        Self { new: HashMap::new(), sorted: HashMap::new(), n: 0 }
    }
}

impl<P: Clone + Eq + Hash> Alike<P> {
    pub(super) fn add(&mut self, operator: P, number: Number) {
        self.n += usize::from(self.new.entry(operator).or_default().insert(number));
    }

    /// Forgets an operation that nobody sees; where its signature was asked for, [`Alike::tidy`] does.
    pub(super) fn remove(&mut self, operator: &P, number: Number) {
        let Some(numbers) = self.new.get_mut(operator) else { return };
        self.n -= usize::from(numbers.remove(&number));
        if numbers.is_empty() {
            self.new.remove(operator);
        }
    }

    /// The operations of an operator whose signatures are not known.
    fn take_new(&mut self, operator: &P) -> BTreeSet<Number> {
        let numbers = self.new.remove(operator).unwrap_or_default();
        self.n -= numbers.len();
        numbers
    }

    fn sort(&mut self, key: Key<P>, number: Number) {
        self.n += usize::from(self.sorted.entry(key).or_default().insert(number));
    }

    /// The first ones of a signature that wait, and for which `is_wanted` holds; those before them that were done are
    /// forgotten.
    fn of(
        &mut self,
        key: &Key<P>,
        most: usize,
        waits: impl Fn(Number) -> bool,
        is_wanted: impl Fn(Number) -> bool,
    ) -> Vec<Number> {
        let Some(numbers) = self.sorted.get_mut(key) else { return Vec::new() };
        let (mut looked_at, mut found) = (Vec::new(), Vec::new());
        while found.len() < most
            && let Some(number) = numbers.pop_first()
        {
            self.n -= 1;
            if waits(number) {
                looked_at.push(number);
                found.extend(is_wanted(number).then_some(number));
            }
        }
        self.n += looked_at.len();
        numbers.extend(looked_at);
        found
    }

    /// Forgets operations of a signature that were done, and with the last one its operator.
    fn forget<'n>(&mut self, key: &Key<P>, done: impl Iterator<Item = &'n Number>) {
        let Some(numbers) = self.sorted.get_mut(key) else { return };
        self.n -= done.filter(|number| numbers.remove(number)).count();
        if numbers.is_empty() {
            self.sorted.remove(key);
        }
    }

    /// Forgets those that do not wait, once there are many more of them than operations that somebody can see.
    pub(super) fn tidy(&mut self, n_seen: usize, waits: impl Fn(Number) -> bool) {
        if self.n <= 2 * n_seen + FEW {
            return;
        }
        self.n = 0;
        let mut keep = |numbers: &mut BTreeSet<Number>| {
            numbers.retain(|&number| waits(number));
            self.n += numbers.len();
            !numbers.is_empty()
        };
        self.new.retain(|_, numbers| keep(numbers));
        self.sorted.retain(|_, numbers| keep(numbers));
    }
}

impl<P: Clone + Eq + Hash, O: Clone, E: Clone> Agenda<P, O, E> {
    /// Does operations with others like them, at most `most`; nothing if there are none. Others that fail are for who wants
    /// them.
    pub(super) fn join(
        &mut self,
        key: &Key<P>,
        numbers: &[Number],
        order: &Order<P>,
        most: usize,
        doer: &mut dyn Doer<P, O, E>,
    ) -> Joined<O, E> {
        if doer.has_effects(&key.0) || numbers.len() >= most {
            return Ok(None);
        }
        for number in self.alike.take_new(&key.0) {
            // What is in order was asked already, and is done anyway.
            if self.pending(number).is_none() || order.has(number) {
                continue;
            }
            match self.member(number).and_then(|member| doer.signature(&key.0, &member)) {
                Ok(signature) => self.alike.sort((key.0.clone(), signature), number),
                // Whoever wants it hears of that.
                Err(_) => doer.stops().map_or(Ok(()), Err)?,
            }
        }
        self.let_go();
        let (waits, is_other) =
            (|number| self.waiting.contains(&number), |number| !order.has(number));
        let others = self.alike.of(key, most - numbers.len(), waits, is_other);
        if others.is_empty() {
            return Ok(None);
        }
        let mut all = [numbers, &others].concat();
        all.sort_unstable();
        let results = doer.run(&key.0, &self.members(&all));
        let mut results: Vec<_> = all.into_iter().zip(results).collect();
        self.alike.forget(key, results.iter().map(|(number, _)| number));
        if doer.stops().is_none() {
            results
                .retain(|(number, result)| result.is_ok() || numbers.binary_search(number).is_ok());
        }
        Ok(Some(results))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Handle, Input, Member};
    use super::*;

    /// Batches of sums, which fail for a number below 0.
    #[derive(Default)]
    struct Sums(Vec<usize>);

    impl Doer<(), i64, String> for Sums {
        fn name<'p>(&self, (): &'p ()) -> &'p str {
            "sum"
        }

        fn signature(&mut self, (): &(), member: &Member<i64>) -> Result<String, String> {
            Ok(member.inputs.len().to_string())
        }

        fn run(&mut self, (): &(), members: &[Member<i64>]) -> Vec<Result<i64, String>> {
            self.0.push(members.len());
            let one = |member: &Member<i64>| match member.inputs.iter().sum() {
                sum @ 0.. => Ok(sum),
                sum => Err(sum.to_string()),
            };
            members.iter().map(one).collect()
        }

        fn has_effects(&self, (): &()) -> bool {
            false
        }
    }

    fn read_one_by_one(numbers: &[i64], most: usize, dropped: usize) -> Vec<usize> {
        let (mut agenda, mut doer) = (Agenda::default(), Sums::default());
        let push = |&number: &i64| agenda.push((), vec![Input::Object(number)], 0, &doer);
        let mut handles: Vec<Handle> = numbers.iter().map(push).collect();
        handles.truncate(numbers.len() - dropped);
        for handle in &handles {
            agenda.run(Some(std::slice::from_ref(handle)), most, &mut doer).unwrap();
        }
        doer.0
    }

    #[test]
    fn who_reads_one_has_all_done_that_are_alike() {
        let numbers: Vec<i64> = (0..1000).collect();
        assert_eq!(read_one_by_one(&numbers, usize::MAX, 0), [1000]);
        assert_eq!(read_one_by_one(&numbers, 400, 0), [400, 400, 200]);
        assert_eq!(read_one_by_one(&numbers, usize::MAX, 990), [10], "nobody holds the others");
    }

    #[test]
    fn one_that_fails_is_for_who_wants_it() {
        assert_eq!(read_one_by_one(&[1, 2, -3, 4], usize::MAX, 0), [4, 1]);
        assert_eq!(read_one_by_one(&[-1, 2, -3, 4], usize::MAX, 0), [4, 1]);
    }

    #[test]
    fn what_waits_for_others_joins_when_they_are_done() {
        let (mut agenda, mut doer) = (Agenda::default(), Sums::default());
        let mut chains: Vec<Handle> = Vec::new();
        for start in 0..8 {
            let mut chain = agenda.push((), vec![Input::Object(start)], 0, &doer);
            for _ in 0..3 {
                chain = agenda.push((), vec![Input::Handle(chain)], 0, &doer);
            }
            chains.push(chain);
        }
        for chain in &chains {
            agenda.run(Some(std::slice::from_ref(chain)), usize::MAX, &mut doer).unwrap();
        }
        assert_eq!(doer.0, [8, 8, 8, 8]);
    }
}
