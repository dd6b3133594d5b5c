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
        let runs = |value: &Weak<RefCell<Node>>| {
            let value = value.upgrade().map(ArrayRef);
            value.is_some_and(|value| !value.leaves().iter().all(Array::is_ready))
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
    fn what_is_not_there_yet_is_told_of_once() {
        let session = Session::new().unwrap();
        let recorded = || {
            let array = session.arange(DType::I32, 0.into(), 9.into(), 1.into()).unwrap();
            ArrayRef::leaf(array)
        };
        let (value, mut begun) = (recorded(), Begun::default());
        begun.set(&[recorded()]);
        assert!(!begun.is_to_tell(), "nobody has it any more");
        begun.set(std::slice::from_ref(&value));
        assert!(begun.is_to_tell());
        assert!(!begun.is_to_tell());
    }
}
