//! Gathers of consecutive lanes: loads of the source from one lane on.

use crate::ir::op::Op;
use crate::ir::table::Table;
use crate::ir::var::{Kind, VarId, Variable};

/// The array that a gather reads lane after lane in a kernel of `size` lanes, and the first lane.
pub(super) fn run(table: &Table, variable: &Variable, size: u64) -> Option<(VarId, u64)> {
    let (Kind::Gather { .. }, [Some(source), Some(index), None, _]) =
        (variable.kind, variable.operands)
    else {
        return None;
    };
    let counter = table.get(index);
    let is_lane = |id: VarId| table.get(id).kind == Kind::Index;
    let first = match (counter.kind, counter.operands) {
        (Kind::Index, _) => 0,
        (Kind::Op(Op::Add), [Some(a), Some(b), ..]) => {
            let (lane, number) = if is_lane(a) { (a, b) } else { (b, a) };
            let bits = table.get(number).kind.number().filter(|_| is_lane(lane))?;
            counter.dtype.decode(bits).integer().and_then(|first| u64::try_from(first).ok())?
        }
        _ => return None,
    };
    let n = variable.size;
    let is_of_all = n == size && counter.size == n && variable.scope == 0;
    let end = first.checked_add(n)?;
    (is_of_all && n > 1 && end <= table.get(source).size).then_some((source, first))
}
