//! Gathers of consecutive lanes: loads of the source from one lane on.

use crate::ir::table::Table;
use crate::ir::var::{Kind, VarId, Variable};

/// The array that a gather reads lane after lane in a kernel of `size` lanes, and the first lane.
pub(super) fn run(table: &Table, variable: &Variable, size: u64) -> Option<(VarId, u64)> {
    let (Kind::Gather { .. }, [Some(source), Some(index), None, _]) =
        (variable.kind, variable.operands)
    else {
        return None;
    };
    let first = table.first_of_run(index)?;
    let n = variable.size;
    let is_of_all = n == size && table.get(index).size == n && variable.scope == 0;
    let end = first.checked_add(n)?;
    (is_of_all && n > 1 && end <= table.get(source).size).then_some((source, first))
}
