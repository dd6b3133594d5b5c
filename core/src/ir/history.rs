//! What tracked variables were made of, once they are in memory (S29).
//!
//! The trace is the tape: derivatives are recorded from the operations that made a value. An evaluation turns a variable
//! into data, which is made of nothing; one that is tracked keeps its operands here. They keep theirs, and what of them
//! is not in memory is computed again where a derivative needs it.

use std::sync::Arc;

use smallvec::SmallVec;

use super::composite::Composite;
use super::var::{Kind, VarId, Variable};

/// How a variable came about.
#[derive(Debug)]
pub(crate) struct History {
    pub(crate) kind: Kind,
    pub(crate) operands: SmallVec<[VarId; 4]>,
    pub(crate) composite: Option<Arc<Composite>>,
}

impl Variable {
    /// Whether an evaluation leaves it its operands.
    pub(crate) fn keeps_operands(&self) -> bool {
        self.tracked && self.history().is_none()
    }

    /// What it was made of before an evaluation.
    pub(crate) fn history(&self) -> Option<&History> {
        self.cold.as_ref()?.history.as_ref()
    }

    /// Makes its operands its history: they keep the references that it held.
    pub(super) fn remember(&mut self) {
        let (kind, operands) = (self.kind, self.operands().collect());
        self.operands = Default::default();
        let cold = self.cold_mut();
        cold.arguments = Default::default();
        let composite = cold.composite.take();
        cold.history = Some(History { kind, operands, composite });
    }

    /// How it came about, whether it is in memory or not.
    pub(crate) fn made_by(&self) -> Kind {
        self.history().map_or(self.kind, |history| history.kind)
    }

    /// The operands that it was made of.
    pub(crate) fn made_of(&self) -> SmallVec<[VarId; 4]> {
        self.history().map_or_else(|| self.operands().collect(), |history| history.operands.clone())
    }

    /// The function that it is a call of, if that is a composite.
    pub(crate) fn called_composite(&self) -> Option<&Arc<Composite>> {
        self.history().map_or_else(|| self.composite(), |history| history.composite.as_ref())
    }
}
