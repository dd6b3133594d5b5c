//! Handles of operations, and where they say that they are gone.

use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use super::super::order::Number;

/// The result of an operation, to come: it is done only while somebody holds one.
#[derive(Clone, Debug)]
pub struct Handle(Arc<Held>);

/// The last handle of an operation says that it is gone.
#[derive(Debug)]
struct Held {
    number: Number,
    home: Arc<Home>,
}

/// What handles and their agenda share: the operations whose handles are gone, until the agenda has let them go.
#[derive(Debug, Default)]
pub(super) struct Home(Mutex<Vec<Number>>);

impl Handle {
    pub(super) fn new(number: Number, home: &Arc<Home>) -> Self {
        Self(Arc::new(Held { number, home: home.clone() }))
    }

    pub(super) fn number(&self) -> Number {
        self.0.number
    }

    pub(super) fn is_of(&self, home: &Arc<Home>) -> bool {
        Arc::ptr_eq(&self.0.home, home)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.home.0.lock().unwrap_or_else(PoisonError::into_inner).push(self.number);
    }
}

impl Home {
    pub(super) fn take(&self) -> Vec<Number> {
        mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
