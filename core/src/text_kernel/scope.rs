//! Which variables are in sight while a text is read.

use super::parse::Parser;
use super::trouble::{Span, Trouble};
use crate::dtype::Scalar;

impl Parser<'_> {
    /// Reads a block, whose variables end with it.
    pub(super) fn scoped<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        let known = self.names.len();
        let around = std::mem::replace(&mut self.scope, known);
        let result = read(self);
        self.scope = around;
        self.forget(known);
        result
    }

    /// Refuses a name that the same block has already; an inner block may have it, too.
    pub(super) fn check_undeclared(&self, name: &str, at: Span) -> Result<(), Trouble> {
        let here = self.locals.iter().filter(|(_, place)| *place >= self.scope);
        let is_array = here.map(|(local, _)| &local.name).any(|known| known == name);
        if !is_array && !self.names[self.scope..].iter().any(|known| known == name) {
            return Ok(());
        }
        let what = format!("`{name}` is declared twice");
        let remedy =
            format!("assign to what is there: {name} = …; or give one of them another name");
        Err(Trouble::new(at, what).with(Some(remedy)))
    }

    /// Forgets variables that are out of sight.
    pub(super) fn forget(&mut self, known: usize) {
        self.names.truncate(known);
        self.fixed.retain(|&place| place < known);
        self.numbers.retain(|&(place, _)| place < known);
        self.locals.retain(|&(_, place)| place < known);
    }

    /// Whether nothing may be assigned to a variable.
    pub(super) fn is_fixed(&self, name: &str) -> bool {
        let place = self.names.iter().rposition(|known| known == name);
        place.is_some_and(|place| self.fixed.contains(&place))
    }

    /// The number that a const variable is, if that is written where it is declared.
    pub(super) fn known_number(&self, name: &str) -> Option<Scalar> {
        let place = self.names.iter().rposition(|known| known == name)?;
        self.numbers.iter().find(|(known, _)| *known == place).map(|(_, number)| *number)
    }
}
