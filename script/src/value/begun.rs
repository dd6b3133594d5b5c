//! What `eval` began and nobody may have waited for: who measures time behind it is told.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use porcini_core::Array;

use super::{ArrayRef, Node};

/// The values that the last `eval` began.
#[derive(Default)]
pub(crate) struct Begun {
    values: Vec<Weak<RefCell<Node>>>,
    is_told: bool,
}

impl Begun {
    /// Remembers what was begun, but keeps nothing alive.
    pub(crate) fn set(&mut self, values: &[ArrayRef]) {
        self.values.clear();
        if !self.is_told {
            self.values.extend(values.iter().map(|value| Rc::downgrade(&value.0)));
        }
    }

    /// Whether some of it still runs; says so once.
    pub(crate) fn is_to_tell(&mut self) -> bool {
        // What was only recorded since, by a write, is not ready either.
        let is_running = |leaf: &Array| leaf.is_evaluated() && !leaf.is_ready();
        let runs = |value: &Weak<RefCell<Node>>| {
            let value = value.upgrade().map(ArrayRef);
            value.is_some_and(|value| value.leaves().iter().any(is_running))
        };
        let is_running = !self.is_told && self.values.iter().any(runs);
        self.is_told |= is_running;
        is_running
    }
}

#[cfg(test)]
mod tests {
    use porcini_core::{DType, Session};

    use super::*;

    #[test]
    fn what_still_runs_is_told_of_once() {
        let session = Session::builder().threads(2).build().unwrap();
        let recorded = || session.arange(DType::F32, 0.into(), 1_000_000.into(), 1.into()).unwrap();
        let (value, mut begun) = (ArrayRef::leaf(recorded()), Begun::default());
        begun.set(&[ArrayRef::leaf(recorded())]);
        assert!(!begun.is_to_tell(), "nobody has it any more");
        begun.set(std::slice::from_ref(&value));
        assert!(
            !begun.is_to_tell(),
            "it does not run yet, as what was written behind an evaluation"
        );
        // This takes far longer than to ask.
        let long = (0..50).fold(recorded(), |x, _| x.sin().unwrap());
        session.eval(&[&long]).unwrap();
        value.set(Node::Leaf(long));
        assert!(begun.is_to_tell());
        assert!(!begun.is_to_tell());
    }
}
