//! The tape, as data: the variables of which derivatives may be asked for (S29).
//!
//! The trace is the tape. A variable that is tracked keeps what it is made of; its lanes are kept if it was evaluated, else
//! a derivative that needs them computes them again.

use std::sync::Arc;

use crate::dtype::DType;
use crate::ir::table::Table;
use crate::ir::var::{Kind, Variable};
use crate::session::Session;

/// A tracked variable.
#[derive(Clone, Debug)]
pub struct TapeRow {
    /// Serial.
    pub id: u64,
    /// Lane type.
    pub dtype: DType,
    /// Number of lanes.
    pub size: u64,
    /// Bytes of its lanes that are kept in memory; `None` if they are computed again.
    pub kept: Option<u64>,
    /// What made it; `None` of a mark, at which gradients end.
    pub made_by: Option<&'static str>,
    /// Serials of the tracked variables that it was made of: where cotangents are passed on to.
    pub made_of: Vec<u64>,
    /// Whether it has a gradient, set or added to.
    pub has_gradient: bool,
    /// Label, if set.
    pub label: Option<Arc<str>>,
}

impl Session {
    /// Lists the tracked variables by serial.
    pub fn tape(&self) -> Vec<TapeRow> {
        let mut rows = self.with_table(|table| {
            let tracked = table.iter().filter(|(_, variable)| variable.tracked);
            tracked.map(|(_, variable)| row(table, variable)).collect::<Vec<_>>()
        });
        rows.sort_by_key(|row| row.id);
        rows
    }
}

fn row(table: &Table, variable: &Variable) -> TapeRow {
    let mut made_of: Vec<u64> = Vec::new();
    for operand in variable.made_of() {
        let operand = table.get(operand);
        if operand.tracked && !made_of.contains(&operand.serial) {
            made_of.push(operand.serial);
        }
    }
    TapeRow {
        id: variable.serial,
        dtype: variable.dtype,
        size: variable.size,
        kept: (variable.kind == Kind::Data).then(|| variable.bytes()),
        made_by: (!made_of.is_empty()).then(|| table.name_of_maker(variable)),
        made_of,
        has_gradient: variable.cold.as_ref().is_some_and(|cold| cold.gradient.is_some()),
        label: variable.label().cloned(),
    }
}
