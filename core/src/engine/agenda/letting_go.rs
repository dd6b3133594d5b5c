//! Which operations somebody can see: handles hold them, or what waits takes their results. Others are let go, with what
//! they take and what they gave.

use std::collections::hash_map::Entry;
use std::hash::Hash;

use super::super::order::Number;
use super::{Agenda, Operation, Source};

impl<P: Clone + Eq + Hash, O: Clone, E: Clone> Agenda<P, O, E> {
    /// Lets go of what nobody can see any more since handles were dropped. Each call does so too; whoever wants memory
    /// back at once asks when a handle is gone.
    pub fn let_go(&mut self) {
        loop {
            // What is let go may hold handles.
            let gone = self.home.take();
            if gone.is_empty() {
                return;
            }
            for number in &gone {
                if let Some(operation) = self.operations.get_mut(number) {
                    operation.is_held = false;
                }
            }
            self.let_go_of(gone);
        }
    }

    /// Lets go of those of the operations that nobody can see, and then of what they alone took.
    pub(super) fn let_go_of(&mut self, mut open: Vec<Number>) {
        while let Some(number) = open.pop() {
            let Entry::Occupied(entry) = self.operations.entry(number) else { continue };
            if entry.get().is_seen() {
                continue;
            }
            let operation = entry.remove();
            if self.waiting.remove(&number) {
                self.alike.remove(&operation.operator, number);
            }
            self.give_back(number, &operation.inputs, &mut open);
        }
    }

    /// An operation takes nothing any more; `open` gets what it took.
    pub(super) fn give_back(
        &mut self,
        number: Number,
        inputs: &[Source<O>],
        open: &mut Vec<Number>,
    ) {
        for before in inputs.iter().filter_map(Source::operation) {
            if let Some(operation) = self.operations.get_mut(&before) {
                operation.after.remove(&number);
                open.push(before);
            }
        }
    }
}

impl<P, O, E> Operation<P, O, E> {
    /// Whether somebody sees what becomes of it.
    fn is_seen(&self) -> bool {
        self.is_held || !self.after.is_empty() || self.has_effects && self.waits()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Weak};

    use super::super::{Doer, Handle, Input, Member};
    use super::*;

    type Object = Arc<Vec<Handle>>;

    /// Gives objects that nobody else has.
    struct Makes;

    impl Doer<(), Object, ()> for Makes {
        fn name<'p>(&self, (): &'p ()) -> &'p str {
            "make"
        }

        fn signature(&mut self, (): &(), _: &Member<Object>) -> Result<String, ()> {
            Ok(String::new())
        }

        fn run(&mut self, (): &(), members: &[Member<Object>]) -> Vec<Result<Object, ()>> {
            members.iter().map(|_| Ok(Arc::default())).collect()
        }

        fn has_effects(&self, (): &()) -> bool {
            false
        }
    }

    fn is_gone(object: &Weak<Vec<Handle>>) -> bool {
        object.strong_count() == 0
    }

    #[test]
    fn what_nobody_sees_is_let_go_at_once() {
        let mut agenda = Agenda::default();
        let given = Object::default();
        let watched = Arc::downgrade(&given);
        let first = agenda.push((), vec![Input::Object(given)], 0, &Makes);
        let second = agenda.push((), vec![Input::Handle(first.clone())], 0, &Makes);
        drop(first);
        agenda.let_go();
        assert!(!is_gone(&watched), "the second one needs it");
        assert_eq!((agenda.len(), agenda.n_waiting()), (2, 2));
        agenda.run(Some(std::slice::from_ref(&second)), usize::MAX, &mut Makes).unwrap();
        assert!(is_gone(&watched), "it was taken");
        assert_eq!((agenda.len(), agenda.n_waiting()), (1, 0), "so was the first result");
        drop(second);
        agenda.let_go();
        assert!(agenda.is_empty());
    }

    #[test]
    fn what_is_let_go_may_hold_handles() {
        let mut agenda = Agenda::default();
        let mut held = agenda.push((), Vec::new(), 0, &Makes);
        for _ in 0..100_000 {
            held = agenda.push((), vec![Input::Object(Arc::new(vec![held]))], 0, &Makes);
        }
        drop(held);
        agenda.let_go();
        assert!(agenda.is_empty() && agenda.n_waiting() == 0);
    }
}
