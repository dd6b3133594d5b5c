//! Random number generators as scripts hold them.

use std::cell::RefCell;
use std::rc::Rc;

use porcini_core::Array;
use porcini_core::random::Pcg32;

use crate::value::ArrayRef;

/// A shared reference to a generator: drawing through one name moves it for all.
#[derive(Clone, Debug)]
pub(crate) struct RngRef(pub(crate) Rc<RefCell<Pcg32>>);

impl RngRef {
    /// A reference to a new generator.
    pub(crate) fn new(rng: Pcg32) -> Self {
        Self(Rc::new(RefCell::new(rng)))
    }

    /// A generator of its own, with other arrays as `change` says.
    pub(crate) fn with(&self, change: &mut impl FnMut(&mut Array)) -> Self {
        let mut rng = self.0.borrow().clone();
        change(&mut rng.state);
        change(&mut rng.inc);
        Self::new(rng)
    }

    /// A generator that draws the same, by itself.
    pub(crate) fn own_copy(&self) -> Self {
        self.with(&mut |part| *part = part.own())
    }

    /// State and increment, as values of their own.
    pub(crate) fn arrays(&self) -> [ArrayRef; 2] {
        let rng = self.0.borrow();
        [ArrayRef::leaf(rng.state.clone()), ArrayRef::leaf(rng.inc.clone())]
    }
}
