//! Reclamation: what nothing refers to any more is freed, a bounded number of variables at a time.

use std::sync::Arc;

use super::{OfOthers, Table};
use crate::interrupt;
use crate::ir::composite::Composite;
use crate::ir::var::{MAX_OPERANDS, Undone, VarId};
use crate::memory::buffer::Buffer;

/// Dead variables freed at once when a handle is dropped: a fraction of a millisecond.
const FREED_BY_DROP: usize = 1 << 12;
/// Dead variables freed for each one that is recorded: more are never waiting than once were alive.
const FREED_BY_RECORDING: usize = 4;

impl Table {
    /// Drops an external reference; what nothing refers to any more is freed, now or a little later.
    #[inline]
    pub fn dec_external(&mut self, id: VarId) {
        let variable = &mut self.slots[id.index()];
        debug_assert!(variable.external > 0, "internal error: no external reference to drop");
        variable.external -= 1;
        if let (0, Some(cold)) = (variable.external, &mut variable.cold)
            && cold.is_label_passed_on
        {
            cold.label = None;
        }
        let dead = variable.is_dead();
        if variable.tracked {
            self.drop_derivatives(id);
        }
        if self.log.enabled(5) {
            self.log_count("dec_ref_ext", id, self.get(id).external);
        }
        if dead {
            self.unused.doomed.push(id);
            self.free_doomed(FREED_BY_DROP);
        }
    }

    /// Drops an internal reference; what nothing refers to any more is freed, now or a little later.
    pub fn dec_internal(&mut self, id: VarId) {
        let variable = &mut self.slots[id.index()];
        debug_assert!(variable.internal > 0, "internal error: no internal reference to drop");
        variable.internal -= 1;
        let dead = variable.is_dead();
        if self.log.enabled(5) {
            self.log_count("dec_ref_int", id, self.get(id).internal);
        }
        if dead {
            self.unused.doomed.push(id);
            self.free_doomed(FREED_BY_DROP);
        }
    }

    /// Frees what is dead with the memory it holds, unless Ctrl-C comes: who needs memory, or counts of references,
    /// sweeps before.
    pub fn sweep(&mut self) {
        while !self.unused.doomed.is_empty() && !interrupt::is_requested() {
            self.free_doomed(FREED_BY_DROP);
        }
    }

    /// Frees dead variables while new ones are recorded.
    #[inline]
    pub(super) fn free_a_few(&mut self) {
        if !self.unused.doomed.is_empty() {
            self.free_doomed(FREED_BY_RECORDING);
        }
    }

    /// Frees at most a number of dead variables.
    fn free_doomed(&mut self, most: usize) {
        for _ in 0..most {
            let Some(id) = self.unused.doomed.pop() else { break };
            self.forget_number(id);
            if self.log.enabled(5) {
                let serial = self.get(id).serial;
                self.log.push(format!("var_free({serial})"));
            }
            let variable = &mut self.slots[id.index()];
            let data = variable.data.take();
            let operands = std::mem::replace(&mut variable.operands, [None; MAX_OPERANDS]);
            let cold = variable.cold.take();
            self.leave_data(data);
            operands.into_iter().flatten().for_each(|operand| self.release(operand));
            if let Some(cold) = cold {
                cold.operands().for_each(|operand| self.release(operand));
                let history = cold.history.iter().flat_map(|history| history.operands.iter());
                history.for_each(|&operand| self.release(operand));
                let derivatives = [cold.gradient, cold.tangent];
                derivatives.into_iter().flatten().for_each(|operand| self.release(operand));
                let undone = cold.region.iter().flat_map(|region| &region.undone);
                undone.flat_map(Undone::held).for_each(|operand| self.release(operand));
                self.leave_composite(cold.composite);
                self.leave_composite(cold.history.and_then(|history| history.composite));
            }
            self.unused.free.put(id);
        }
    }

    /// Lets a block of memory go.
    #[inline]
    fn leave_data(&mut self, data: Option<Arc<Buffer>>) {
        if let Some(data) = data
            && !data.may_be_overwritten()
        {
            self.unused.of_others.push(data);
        }
    }

    /// Lets a function go.
    #[inline]
    pub(super) fn leave_composite(&mut self, composite: Option<Arc<Composite>>) {
        if let Some(composite) = composite
            && composite.derivative.is_some()
        {
            self.unused.of_others.push(composite);
        }
    }

    /// The lines that wait until the table is unlocked; `None` if neither lines do nor what others made.
    #[inline]
    pub(crate) fn take_left(&mut self) -> Option<Vec<String>> {
        let has_others = !self.unused.of_others.is_empty() && !self.unused.are_dropped;
        (has_others || !self.log.is_empty()).then(|| self.log.take())
    }

    /// What others made, to be dropped by the caller, who asks again until there is none: to drop it may leave more. None
    /// while somebody else does so.
    pub(crate) fn take_of_others(&mut self) -> Option<OfOthers> {
        if self.unused.are_dropped || self.unused.of_others.is_empty() {
            return None;
        }
        self.unused.are_dropped = true;
        Some(std::mem::take(&mut self.unused.of_others))
    }

    /// Others may take what others made.
    pub(crate) fn others_are_dropped(&mut self) {
        self.unused.are_dropped = false;
    }

    /// Drops an internal reference; what nothing refers to any more waits to be freed.
    #[inline]
    fn release(&mut self, operand: VarId) {
        let variable = &mut self.slots[operand.index()];
        variable.internal -= 1;
        if variable.is_dead() {
            self.unused.doomed.push(operand);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::ir::op::Op;
    use crate::ir::table::number_variable;
    use crate::ir::var::{Kind, Variable};
    use crate::log::{Log, LogQueue};

    fn table() -> Table {
        Table::new(LogQueue::new(Log::new(0, Arc::new(|_| ()))))
    }

    /// A chain of `n` operations; the caller holds its end.
    fn chain(table: &mut Table, first: VarId, n: usize) -> VarId {
        table.inc_external(first);
        (0..n).fold(first, |id, _| {
            let next =
                Variable::new(Kind::Op(Op::Sqrt), DType::F32, 8, [Some(id), None, None, None]);
            let next = table.intern(next);
            table.dec_external(id);
            next
        })
    }

    #[test]
    fn what_dies_is_freed_piece_by_piece() {
        const N: usize = 10 * FREED_BY_DROP;
        let mut table = table();
        let first = table.intern(number_variable(Kind::Index, DType::F32, 8));
        let end = chain(&mut table, first, N);
        assert_eq!(table.n_live(), 1 + N);
        table.dec_external(end);
        assert_eq!(table.n_live(), 1 + N - FREED_BY_DROP);
        // The dead one that waits is never found again; those that it holds may be.
        let again = chain(&mut table, first, N / 2);
        assert!(!table.get(again).is_dead());
        table.sweep();
        assert_eq!(table.n_live(), 1 + N / 2);
        table.dec_external(again);
        table.dec_external(first);
        table.sweep();
        assert_eq!((table.n_live(), table.numbering.known.len()), (0, 0));
    }

    #[test]
    fn a_slot_that_is_used_again_is_listed_once() {
        let mut table = table();
        let first = table.intern(number_variable(Kind::Index, DType::F32, 8));
        for _ in 0..50 {
            let end = chain(&mut table, first, 1);
            assert_eq!(table.candidates.len(), 2);
            table.dec_external(end);
            table.sweep();
        }
        let end = chain(&mut table, first, 1);
        assert_eq!(table.held_unevaluated(), [first, end]);
    }

    #[test]
    fn recording_frees_more_than_it_adds() {
        let mut table = table();
        let first = table.intern(number_variable(Kind::Index, DType::F32, 8));
        for _ in 0..20 {
            let end = chain(&mut table, first, 10 * FREED_BY_DROP);
            table.dec_external(end);
            assert!(table.n_slots() <= 1 + 20 * FREED_BY_DROP, "{}", table.n_slots());
        }
    }
}
