//! What failed, and what becomes of what was done only after all seemed well.

use std::hash::Hash;
use std::mem;

use super::super::order::Number;
use super::{Agenda, Handle, State};

/// Failures that are kept until they are told.
const MOST_UNTOLD: usize = 1000;

impl<P: Clone + Eq + Hash, O: Clone, E: Clone> Agenda<P, O, E> {
    /// The result of the operation of a number, if somebody can see it.
    pub fn result(&self, number: u64) -> Option<&O> {
        match &self.operations.get(&number)?.state {
            State::Done(object) => Some(object),
            State::Pending | State::Failed(_) => None,
        }
    }

    /// An operation that was done, or has failed, has failed after all for the failure of the operation `cause`, its own or
    /// another's.
    pub fn fail(&mut self, number: u64, cause: u64, error: E) {
        let Some(operation) = self.operations.get_mut(&number) else { return };
        if operation.waits() {
            return;
        }
        operation.cause = cause;
        operation.state = State::Failed(error.clone());
        if cause != number {
            self.failures.remove(&number);
        }
        // Nobody may see the cause itself.
        if !self.failures.contains_key(&cause) {
            self.note(cause, cause, &error);
        }
    }

    /// Notes a failure until it is told, unless it is another's.
    pub(super) fn note(&mut self, number: Number, cause: Number, error: &E) {
        if cause == number {
            self.failures.insert(number, error.clone());
        }
        if self.failures.len() > MOST_UNTOLD {
            self.failures.pop_last();
        }
    }

    /// Why operations failed, as they were pushed: those whose failure was not told yet.
    pub fn take_failures(&mut self) -> Vec<E> {
        mem::take(&mut self.failures).into_values().collect()
    }

    /// The failure of an operation has been told.
    pub fn told(&mut self, handle: &Handle) {
        if let Some(operation) = self.operations.get(&handle.number()) {
            self.failures.remove(&operation.cause);
        }
    }

    /// The failure that an operation has from what it needs.
    pub(super) fn inherited(&self, number: Number) -> Option<Number> {
        self.operations.get(&number)?.sources().find_map(|before| {
            let before = self.operations.get(&before)?;
            matches!(before.state, State::Failed(_)).then_some(before.cause)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Doer, Input, Member};
    use super::*;

    /// Gives what it takes.
    struct Same;

    impl Doer<(), i64, &'static str> for Same {
        fn name<'p>(&self, (): &'p ()) -> &'p str {
            "same"
        }

        fn signature(&mut self, (): &(), _: &Member<i64>) -> Result<String, &'static str> {
            Ok(String::new())
        }

        fn run(&mut self, (): &(), members: &[Member<i64>]) -> Vec<Result<i64, &'static str>> {
            members.iter().map(|member| Ok(member.inputs[0])).collect()
        }

        fn has_effects(&self, (): &()) -> bool {
            false
        }
    }

    #[test]
    fn what_was_done_may_fail_after_all() {
        let mut agenda = Agenda::default();
        let first = agenda.push((), vec![Input::Object(1)], 7, &Same);
        let second = agenda.push((), vec![Input::Handle(first.clone())], 8, &Same);
        agenda.run(None, usize::MAX, &mut Same).unwrap();
        assert_eq!(agenda.result(0), Some(&1));
        agenda.fail(0, 0, "late");
        agenda.fail(1, 0, "late");
        let later = agenda.push((), vec![Input::Handle(second)], 9, &Same);
        agenda.run(None, usize::MAX, &mut Same).unwrap();
        assert!(matches!(agenda.state(&later), State::Failed("late")));
        assert!(agenda.has_failures());
        agenda.told(&later);
        assert!(!agenda.has_failures(), "all have one cause");
    }

    #[test]
    fn who_fails_with_what_is_gone_tells_for_it() {
        let mut agenda = Agenda::default();
        let first = agenda.push((), vec![Input::Object(1)], 7, &Same);
        let second = agenda.push((), vec![Input::Handle(first)], 8, &Same);
        agenda.run(None, usize::MAX, &mut Same).unwrap();
        assert_eq!(agenda.result(0), None);
        agenda.fail(0, 0, "late");
        assert!(!agenda.has_failures(), "nobody sees it");
        agenda.fail(1, 1, "own");
        agenda.fail(1, 0, "late");
        assert!(matches!(agenda.state(&second), State::Failed("late")));
        assert_eq!(agenda.take_failures(), ["late"]);
        let waits = agenda.push((), vec![Input::Object(1)], 9, &Same);
        agenda.fail(2, 0, "late");
        assert!(matches!(agenda.state(&waits), State::Pending));
    }
}
