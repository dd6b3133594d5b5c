//! Changes in place inside bodies that are recorded (S21): of states, and of what the body made. All that changes a value
//! asks here first, and puts what is there then [as its own](Array::own).

use crate::array::Array;
use crate::error::{Error, Result};
use crate::session::Session;

impl Session {
    /// Refuses a change of an array that is from outside the body being recorded, and no state of it.
    ///
    /// # Errors
    /// `NotState`.
    pub fn check_change(&self, op: &'static str, array: &Array) -> Result<()> {
        // What is changed may be elsewhere than what is recorded here.
        let outside = array.session().with_table(|table| table.outside_of(array.id()));
        outside.map_or(Ok(()), |(region, line)| Err(Error::NotState { op, region, line }))
    }

    /// Refuses to change what is no array, and so no state of a body, while one is recorded: the generator behind
    /// `rand` would give the same numbers in every turn.
    ///
    /// # Errors
    /// `SessionGenerator`.
    pub fn check_draw(&self, op: &'static str) -> Result<()> {
        if self.records_function() {
            let error = Error::SessionGenerator { op, region: "jit", line: 0 };
            self.fail_recording(error.clone());
            return Err(error);
        }
        self.with_table(|table| match table.open_region_mut() {
            Some(open) if !open.evaluated => {
                Err(Error::SessionGenerator { op, region: open.op, line: open.line })
            }
            _ => Ok(()),
        })
    }
}

impl Array {
    /// The same lanes as what a body that is recorded may change: where the array is from outside of it, another variable.
    /// Elsewhere the array.
    pub fn own(&self) -> Self {
        let handle = self.session().with_table(|table| {
            let id = self.id();
            let own = if table.outside_of(id).is_none() {
                table.inc_external(id);
                id
            } else if table.get(id).kind.number().is_some() {
                table.fork(id)
            } else {
                table.same_value(id)
            };
            table.handle(own)
        });
        Self::adopt(self.session().clone(), handle)
    }
}
