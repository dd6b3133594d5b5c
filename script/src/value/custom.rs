//! Functions whose derivatives scripts have written.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, Weak};

use rhai::{Dynamic, FnPtr, ImmutableString};

/// A function with a derivative of its own.
#[derive(Clone, Debug)]
pub(crate) struct Custom {
    pub(crate) op: &'static str,
    /// Of an operator, its own.
    pub(crate) name: Option<ImmutableString>,
    pub(crate) eval: FnPtr,
    /// From cotangent and arguments to those of the arguments; without it, the function is computed again.
    pub(crate) backward: Option<FnPtr>,
    /// From tangents and arguments to that of the value.
    pub(crate) forward: Option<FnPtr>,
    /// Of a call, the arguments that are neither arrays nor numbers.
    pub(crate) others: Vec<Dynamic>,
}

impl Custom {
    /// How errors name it.
    pub(crate) fn subject(&self) -> String {
        self.name
            .as_ref()
            .map_or("custom: the function".into(), |name| format!("the operator {name}"))
    }

    /// How errors name the closure that is `role` of it.
    pub(crate) fn whose(&self, role: &str) -> String {
        format!("the {role} of {}", self.name.as_deref().unwrap_or(self.op))
    }
}

/// What keeps such a function: scripts that may call it, and traces that may ask for its derivative. Traces may be dropped
/// by any thread, closures by their own alone.
#[derive(Clone, Debug)]
pub(crate) struct CustomRef(Arc<usize>);

/// The functions of a session by number.
#[derive(Default)]
pub(crate) struct Customs {
    known: HashMap<usize, (Weak<usize>, Rc<Custom>)>,
    made: usize,
    /// How many there may be before it is looked which nobody keeps any more.
    room: usize,
}

impl Customs {
    pub(crate) fn add(&mut self, custom: Custom) -> CustomRef {
        if self.known.len() >= self.room {
            self.known.retain(|_, (kept, _)| kept.strong_count() > 0);
            self.room = 2 * self.known.len() + 16;
        }
        let number = Arc::new(self.made);
        self.known.insert(self.made, (Arc::downgrade(&number), Rc::new(custom)));
        self.made += 1;
        CustomRef(number)
    }

    pub(crate) fn get(&self, function: &CustomRef) -> Rc<Custom> {
        self.known.get(&function.0).expect("internal error: a function that nobody keeps").1.clone()
    }
}
