//! Copies of what is recorded, with other values in the place of some: of the bodies of regions, in the place of states,
//! and of functions that were recorded once, in the place of arguments.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use smallvec::SmallVec;

use super::call::with_arguments;
use super::region::Change;
use super::{Recorder, broadcast_size};
use crate::dtype::DType;
use crate::error::Result;
use crate::ir::mix::Mix;
use crate::ir::op::Op;
use crate::ir::table::Tracking;
use crate::ir::var::{Kind, VarId, Variable};

/// Something for some variables.
pub(super) type Of<T> = HashMap<VarId, T, Mix>;

/// The name of loops in errors.
pub(super) const LOOP: &str = "while_loop";

/// Variables that are copied; others stay what they are.
enum Copied {
    /// Those of a region, and of regions inside it: of scopes from this one on.
    OfScope(u32),
    Of(Arc<HashSet<VarId, Mix>>),
}

/// What variables become in a copy.
pub(super) struct Copy {
    copied: Copied,
    /// Those of bodies, and others that something stands for.
    pub(super) of: Of<VarId>,
    /// What is read by index.
    pub(super) sources: Of<VarId>,
    /// Values behind copied regions.
    pub(super) results: Of<Vec<VarId>>,
    /// The lanes that enter, in the place of those that entered the region.
    pub(super) entering: Option<VarId>,
}

impl Copy {
    /// A copy of what is in a region.
    pub(super) fn of_scope(scope: u32) -> Self {
        Self::of(Copied::OfScope(scope))
    }

    /// A copy of these variables.
    pub(super) fn of_members(members: Arc<HashSet<VarId, Mix>>) -> Self {
        Self::of(Copied::Of(members))
    }

    fn of(copied: Copied) -> Self {
        let (of, sources, results) = (Of::default(), Of::default(), Of::default());
        Self { copied, of, sources, results, entering: None }
    }

    /// What is known to stand for a variable: itself, if it is from outside.
    fn known(&self, recorder: &Recorder<'_>, id: VarId) -> Option<VarId> {
        let stays = || match &self.copied {
            Copied::OfScope(scope) => recorder.var(id).scope < *scope,
            Copied::Of(members) => !members.contains(&id),
        };
        self.of.get(&id).copied().or_else(|| stays().then_some(id))
    }
}

impl Recorder<'_> {
    /// The copy of a variable, and of all that it is made of and that nothing stands for yet.
    ///
    /// # Errors
    /// None at present.
    pub(super) fn copied(&mut self, copy: &mut Copy, root: VarId) -> Result<VarId> {
        let mut path = vec![root];
        while let Some(&id) = path.last() {
            if copy.known(self, id).is_some() {
                path.pop();
                continue;
            }
            let needed: SmallVec<[VarId; 4]> = match self.var(id).kind {
                // A region is copied as a whole.
                Kind::Result { .. } => SmallVec::new(),
                _ => self.var(id).operands().collect(),
            };
            if let Some(&operand) = needed.iter().find(|&&id| copy.known(self, id).is_none()) {
                path.push(operand);
                continue;
            }
            path.pop();
            let made = self.copy_of(copy, id)?;
            copy.of.insert(id, made);
        }
        Ok(copy.known(self, root).expect("internal error: a copy is missing"))
    }

    /// The copy of a variable whose operands are copied; derivatives end at it where they end at the variable.
    pub(super) fn copy_of(&mut self, copy: &mut Copy, id: VarId) -> Result<VarId> {
        if !self.var(id).is_detached() {
            return self.followed_copy_of(copy, id);
        }
        let before = self.table.recording.exchange_tracking(Tracking::asked(false));
        let made = self.followed_copy_of(copy, id);
        self.table.recording.exchange_tracking(before);
        // What is behind a region is no copy, and nor is what became one of its operands.
        Ok(self.detached(made?))
    }

    fn followed_copy_of(&mut self, copy: &mut Copy, id: VarId) -> Result<VarId> {
        let variable = self.var(id);
        let (kind, dtype, own) = (variable.kind, variable.dtype, variable.size);
        let composite = variable.composite().cloned();
        let mut operands: SmallVec<[VarId; 4]> = variable.operands().collect();
        if let Kind::Result { position, .. } = kind {
            let region = operands[0];
            if !copy.results.contains_key(&region) {
                let results = self.copied_region(copy, region)?;
                copy.results.insert(region, results);
            }
            return Ok(copy.results[&region][position as usize]);
        }
        let source = operands.first().and_then(|source| copy.sources.get(source)).copied();
        for operand in &mut operands {
            *operand = copy.known(self, *operand).expect("internal error: an operand is missing");
        }
        if matches!((kind, &copy.copied), (Kind::Scatter { .. }, Copied::Of(_)))
            && self.var(operands[0]).kind.number().is_some()
        {
            // Each call writes over lanes of its own.
            operands[0] = self.table.fork(operands[0]);
            self.owned.push(operands[0]);
        }
        // All lanes are no mask.
        let is_masked =
            matches!((kind, operands.len()), (Kind::Gather { .. }, 3) | (Kind::Scatter { .. }, 4));
        if is_masked
            && let [lanes @ .., mask] = &operands[1..]
            && self.var(*mask).kind.number() == Some(1)
            // It may be what says how many lanes there are.
            && [1, self.common_size(lanes)?].contains(&self.size(*mask))
        {
            operands.pop();
        }
        let size = match kind {
            // A state that nothing stands for never changes.
            Kind::Phi { .. } => return Ok(operands[0]),
            Kind::ActiveMask => return self.entering(copy.entering.or(operands.first().copied())),
            Kind::RunningMask => return self.same(Op::And, &operands),
            Kind::Gather { .. } | Kind::Fetch => {
                operands[0] = source.unwrap_or(operands[0]);
                self.common_size(&operands[1..])?
            }
            Kind::Op(op) => return self.with_type(op, dtype, &operands),
            Kind::Call(_) => self.common_size(&operands)?,
            Kind::Output { .. } => self.size(operands[0]).max(own),
            _ => own,
        };
        let mut made = with_arguments(Variable::new(kind, dtype, size, [None; 4]), &operands);
        if composite.is_some() {
            made.cold_mut().composite = composite;
        }
        let made = self.add(made);
        if matches!(kind, Kind::Gather { .. } | Kind::Scatter { .. } | Kind::Fetch) {
            self.table.keep_copy(id, made);
        }
        Ok(made)
    }

    fn common_size(&self, ids: &[VarId]) -> Result<u64> {
        ids.iter().try_fold(1, |size, &id| broadcast_size("derivative", size, self.size(id)))
    }

    /// The lanes that enter what is not a region any more.
    fn entering(&mut self, outer: Option<VarId>) -> Result<VarId> {
        Ok(outer.unwrap_or_else(|| self.literal(DType::Mask, 1, 1)))
    }

    /// The variables from outside that a region is made of.
    pub(super) fn around(&self, region: VarId) -> Vec<VarId> {
        let known = self.var(region).region().expect("internal error: a region without a body");
        let mut found = Vec::new();
        let mut seen: Of<()> = Of::default();
        let mut work: Vec<VarId> = known.values.iter().map(|&(_, end)| end).collect();
        work.push(known.running);
        work.extend(known.values.iter().map(|&(state, _)| self.first_of(state)));
        while let Some(id) = work.pop() {
            if seen.insert(id, ()).is_some() {
                continue;
            }
            if self.var(id).scope < known.scope {
                found.push(id);
            } else {
                work.extend(self.var(id).operands());
            }
        }
        // The walk takes the last first.
        found.reverse();
        found
    }

    /// A region in a body, as a region; its values.
    fn copied_region(&mut self, copy: &mut Copy, region: VarId) -> Result<Vec<VarId>> {
        let known = self.var(region).region().expect("internal error: a region without a body");
        let values = known.values.clone();
        self.copied_with(copy, region, &values, |_, _, _| Ok(Vec::new()))
    }

    /// A region, as a region of some of its values and of more, which is recorded in its body; both behind it.
    pub(super) fn copied_with(
        &mut self,
        copy: &mut Copy,
        region: VarId,
        values: &[(VarId, VarId)],
        more: impl FnOnce(&mut Self, &mut Copy, u32) -> Result<Vec<Change>>,
    ) -> Result<Vec<VarId>> {
        let Kind::Region { repeat } = self.var(region).kind else {
            unreachable!("internal error: a result of no region")
        };
        let op = if repeat { LOOP } else { "if_then" };
        let known = self.var(region).region().expect("internal error: a region without a body");
        let running = known.running;
        // What is from outside is not recorded inside.
        for id in self.around(region) {
            self.copied(copy, id)?;
        }
        self.in_region(op, |recorder, scope, active| {
            let states = recorder.copied_states(copy, scope, values)?;
            let running = recorder.copied_condition(copy, op, running, active)?;
            let more = more(recorder, copy, scope)?;
            let mut changes = recorder.copied_changes(copy, values, &states)?;
            changes.extend(more);
            // What gave the region its lanes may have been of no use, and is not copied.
            let lanes = recorder.size(region);
            if let Some(open) = recorder.table.open_region_mut().filter(|open| open.lanes == 1) {
                open.lanes = lanes;
            }
            let states: Vec<Option<VarId>> = changes.iter().map(|change| change.state).collect();
            Ok(recorder.close_region(repeat, running, &states, &changes)?.0)
        })
    }

    /// The states of a region at the end of its body.
    pub(super) fn copied_changes(
        &mut self,
        copy: &mut Copy,
        values: &[(VarId, VarId)],
        states: &[VarId],
    ) -> Result<Vec<Change>> {
        let change = |(&(_, end), &state): (&(VarId, VarId), &VarId)| {
            self.copied(copy, end).map(|next| Change::of(state, next))
        };
        values.iter().zip(states).map(change).collect()
    }

    /// States that begin as those of another region do.
    pub(super) fn copied_states(
        &mut self,
        copy: &mut Copy,
        scope: u32,
        values: &[(VarId, VarId)],
    ) -> Result<Vec<VarId>> {
        let mut states = Vec::with_capacity(values.len());
        for &(state, _) in values {
            let first = self.copied(copy, self.first_of(state))?;
            let made = self.state(scope, first);
            copy.of.insert(state, made);
            states.push(made);
        }
        Ok(states)
    }

    /// The lanes that run the body, from the condition of another region.
    pub(super) fn copied_condition(
        &mut self,
        copy: &mut Copy,
        op: &'static str,
        running: VarId,
        active: VarId,
    ) -> Result<VarId> {
        let [entering, condition] = self.var(running).operands().collect::<Vec<_>>()[..] else {
            unreachable!("internal error: a mask without a condition")
        };
        copy.of.insert(entering, active);
        let condition = self.copied(copy, condition)?;
        let made = self.run(op, condition)?;
        copy.of.insert(running, made);
        Ok(made)
    }

    /// Records a region, which is closed again if that fails.
    pub(super) fn in_region<R>(
        &mut self,
        op: &'static str,
        record: impl FnOnce(&mut Self, u32, VarId) -> Result<R>,
    ) -> Result<R> {
        let (scope, active) = self.open_region(op)?;
        let result = record(self, scope, active);
        if result.is_err() {
            self.table.close_region(scope);
        }
        result
    }
}
