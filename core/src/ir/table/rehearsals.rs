//! What composites are, as recording them aside tells: once for all calls that are alike.

use super::Table;
use crate::error::Result;
use crate::ir::composite::{Asked, Composite, Rehearsed};
use crate::ir::var::{VarId, Variable};

impl Table {
    /// What a composite of these arguments is.
    ///
    /// # Errors
    /// What its recipe says.
    pub(crate) fn rehearsed(
        &mut self,
        composite: &Composite,
        arguments: &[VarId],
    ) -> Result<Rehearsed> {
        let argument = |&id: &VarId| {
            let Variable { kind, dtype, size, .. } = *self.get(id);
            (kind.number().map(|_| kind), dtype, size)
        };
        let asked = Asked::of(composite, arguments.iter().map(argument));
        if let Some(known) = self.rehearsals.get(&asked) {
            return Ok(known);
        }
        let rehearsal = Self::rehearse(composite, arguments.iter().map(|&id| self.get(id)))?;
        let result = rehearsal.table.get(rehearsal.result);
        let place = rehearsal.arguments.iter().position(|&argument| argument == rehearsal.result);
        let rehearsed = match (place, result.kind.number()) {
            (Some(place), _) => Rehearsed::Argument(place),
            (None, Some(_)) => Rehearsed::Number(result.kind, result.dtype, result.size),
            (None, None) => Rehearsed::Value {
                dtype: result.dtype,
                size: result.size,
                bytes_within: rehearsal.bytes_within(),
            },
        };
        self.rehearsals.insert(asked, rehearsed);
        Ok(rehearsed)
    }
}
