//! Composites in a table: recorded aside to see what they give, and in the place of their calls.

use std::sync::Arc;

use smallvec::SmallVec;

use super::Table;
use crate::dtype::DType;
use crate::error::Result;
use crate::ir::composite::{Call, Composite};
use crate::ir::op::Op;
use crate::ir::var::{Kind, MAX_OPERANDS, VarId, Variable};
use crate::log::{Log, LogQueue};

/// A composite recorded aside, on stand-ins for its arguments.
pub(crate) struct Rehearsal {
    pub(crate) table: Table,
    /// The stand-ins, the first variables of the table.
    pub(crate) arguments: Vec<VarId>,
    pub(crate) result: VarId,
}

impl Rehearsal {
    /// Bytes that the values between arguments and result would take in memory.
    pub(crate) fn bytes_within(&self) -> u64 {
        let steps = self.table.iter().skip(self.arguments.len());
        let computed =
            steps.filter(|&(id, step)| id != self.result && step.kind.number().is_none());
        computed.fold(0, |sum: u64, (_, step)| sum.saturating_add(step.bytes()))
    }
}

impl Table {
    /// A table for what is recorded aside, without a log.
    pub(crate) fn aside() -> Self {
        Self::new(LogQueue::new(Log::new(0, Arc::new(|_| ()))))
    }

    /// Records a composite aside, for arguments of these types, sizes and numbers.
    ///
    /// # Errors
    /// What the recipe says.
    pub(crate) fn rehearse<'v>(
        composite: &Composite,
        arguments: impl Iterator<Item = &'v Variable>,
    ) -> Result<Rehearsal> {
        let mut table = Self::aside();
        let stand_in = |argument: &Variable| {
            let kind = argument.kind.number().map_or(Kind::Data, |_| argument.kind);
            Variable::new(kind, argument.dtype, argument.size, [None; MAX_OPERANDS])
        };
        let arguments: Vec<VarId> =
            arguments.map(|argument| table.insert(stand_in(argument))).collect();
        table.recording.inlines = true;
        let result = (composite.record)(&mut table, 0, &arguments)?[0];
        Ok(Rehearsal { table, arguments, result })
    }

    /// Puts what a composite is made of in its call's place.
    ///
    /// # Errors
    /// As the recording of the call, which found none.
    pub(crate) fn expand(&mut self, id: VarId) -> Result<()> {
        let call = self.get(id);
        let composite = call.composite().expect("internal error: no composite is expanded");
        let (composite, line) = (composite.clone(), call.line);
        let arguments: Vec<VarId> = call.operands().collect();
        if composite.result_of.is_none() {
            // A part of a value is that part of what the value is made of.
            for &argument in &arguments {
                if self.get(argument).result_of().is_some() {
                    self.expand(argument)?;
                }
            }
        }
        // Derivatives are those of the call.
        let tracking = self.recording.exchange_untracked(true);
        let results = self.record_composite(&composite, line, &arguments);
        self.recording.exchange_tracking(tracking);
        let results = results?;
        let Some(of) = &composite.result_of else {
            self.put_in_place(id, results[0]);
            return Ok(());
        };
        // A copy of the call stands for itself alone.
        let own = of.call.results.get().and_then(|results| results[of.position]);
        let is_copy = own != Some((id, self.get(id).generation));
        let pending = if is_copy { SmallVec::new() } else { self.pending_results(&of.call) };
        for (position, &result) in results.iter().enumerate() {
            let other = pending.binary_search_by_key(&position, |&(position, _)| position);
            match other {
                _ if position == of.position => self.put_in_place(id, result),
                Ok(other) => self.put_in_place(pending[other].1, result),
                Err(_) => self.dec_external(result),
            }
        }
        Ok(())
    }

    /// Makes a call what it is made of, in exchange for an external reference to that.
    fn put_in_place(&mut self, id: VarId, mut result: VarId) {
        if !self.is_own_operation(result) {
            result = self.exchange_for_same(result);
        }
        self.remember_call(id);
        self.become_equal(id, result);
        self.dec_external(result);
    }

    /// The variables that still are results of a call, with their positions, in order.
    pub(crate) fn pending_results(&self, call: &Arc<Call>) -> SmallVec<[(usize, VarId); 2]> {
        let is_pending = |&(_, (id, generation)): &(usize, (VarId, u32))| {
            let variable = self.get(id);
            let is_it = variable.generation == generation && !variable.is_dead();
            is_it && variable.result_of().is_some_and(|of| Arc::ptr_eq(&of.call, call))
        };
        let results = call.results.get().into_iter().flatten().enumerate();
        let results = results.filter_map(|(position, result)| Some((position, (*result)?)));
        results.filter(is_pending).map(|(position, (id, _))| (position, id)).collect()
    }

    /// Records what a composite is made of. The caller owns an external reference to each result.
    ///
    /// # Errors
    /// As the recording of the call, which found none.
    pub(crate) fn record_composite(
        &mut self,
        composite: &Composite,
        line: u32,
        arguments: &[VarId],
    ) -> Result<SmallVec<[VarId; 2]>> {
        // It was called outside of all bodies, wherever its value is needed.
        let open = self.set_aside_regions();
        let inlines = std::mem::replace(&mut self.recording.inlines, true);
        let results = (composite.record)(self, line, arguments);
        self.recording.inlines = inlines;
        self.restore_regions(open);
        results
    }

    /// Whether nothing else refers to a variable that was just recorded, and it is an operation: the arguments
    /// themselves may tell that the result is one of them, a number, or known already.
    fn is_own_operation(&self, id: VarId) -> bool {
        let variable = self.get(id);
        let is_sole = variable.external == 1 && variable.internal == 0;
        is_sole && variable.kind != Kind::Data && variable.kind.number().is_none()
    }

    /// An operation that gives the value of `id`. The caller owns an external reference to it.
    pub(crate) fn same_value(&mut self, id: VarId) -> VarId {
        let Variable { dtype, size, .. } = *self.get(id);
        let all = self.insert(super::number_variable(Kind::Literal(1), DType::Mask, size));
        let operands = [Some(all), Some(id), Some(id), None];
        let same = self.insert(Variable::new(Kind::Op(Op::Select), dtype, size, operands));
        self.dec_external(all);
        same
    }

    /// The same, in exchange for an external reference to `id`.
    pub(super) fn exchange_for_same(&mut self, id: VarId) -> VarId {
        let same = self.same_value(id);
        self.dec_external(id);
        same
    }
}
