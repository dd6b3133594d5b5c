//! Parts of a tape that are gone through on their own.

use super::held::Held;
use super::rules::{Ask, Nobody};
use crate::error::Result;
use crate::ir::table::Table;
use crate::ir::var::VarId;
use crate::session::Session;

/// While it lives, [`Array::backward`](crate::array::Array::backward) of the thread that began it goes to what was recorded
/// before it and halts there; [`Isolation::end`] goes on, to the border of the one around it if there is one.
#[derive(Debug)]
#[must_use = "dropping it ends the isolation at once"]
pub struct Isolation<'s> {
    session: &'s Session,
    /// The number of the part, until it ends.
    number: Option<u64>,
}

impl Session {
    /// Marks off what is recorded from now on.
    pub fn isolate_grad(&self) -> Isolation<'_> {
        let number = self.with_table(Table::isolate);
        Isolation { session: self, number: Some(number) }
    }
}

impl Isolation<'_> {
    /// Goes on from where gradients halted.
    ///
    /// # Errors
    /// As [`Array::backward`](crate::array::Array::backward).
    pub fn end(self) -> Result<()> {
        self.end_asking(&mut Nobody)
    }

    /// [`Isolation::end`] for a front end that has derivatives of functions.
    ///
    /// # Errors
    /// As [`Array::backward`](crate::array::Array::backward); what the front end says.
    pub fn end_asking(mut self, asked: &mut dyn Ask) -> Result<()> {
        let mut held = Held::new(self.session);
        let pairs = self.leave(&mut held);
        if pairs.is_empty() { Ok(()) } else { held.pull_to_marks(&pairs, &[], asked) }
    }

    /// Ends it; what had cotangents, and those, by serial.
    fn leave(&mut self, held: &mut Held<'_>) -> Vec<(VarId, VarId)> {
        let Some(number) = self.number.take() else { return Vec::new() };
        self.session.with_table(|table| {
            let Some(ended) = table.end_isolated(number) else { return Vec::new() };
            let mut pairs: Vec<(VarId, VarId)> = ended.borders.into_iter().collect();
            pairs.sort_by_key(|&(id, _)| table.get(id).serial);
            held.adopt(pairs.iter().flat_map(|&(id, cotangent)| [id, cotangent]));
            pairs
        })
    }
}

impl Drop for Isolation<'_> {
    fn drop(&mut self) {
        let mut held = Held::new(self.session);
        // Nobody goes on: what came together is dropped.
        self.leave(&mut held);
    }
}
