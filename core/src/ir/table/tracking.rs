//! Tracked variables: those of which derivatives may be asked for (S29).
//!
//! A variable is tracked if it is a float and something it is made of is tracked, or if it was marked. Tracking is a
//! property of the variable, not of a handle: whatever records an operation knows nothing of it.

use std::collections::{HashMap, HashSet};
use std::thread;

use super::Table;
use super::recording_state::{Detached, Isolated, Tracking};
use crate::ir::mix::Mix;
use crate::ir::var::{History, Kind, VarId, Variable};

/// So many are known at once: a loop reads what it has detached soon.
const MOST_DETACHED: usize = 64;

impl Table {
    /// Marks off what is recorded from now on, for this thread; the number to end that by.
    pub(crate) fn isolate(&mut self) -> u64 {
        let all = &mut self.recording.isolated;
        let number = all.iter().map(|isolated| isolated.number + 1).max().unwrap_or(0);
        let (thread, from) = (thread::current().id(), self.next_serial);
        all.push(Isolated { number, thread, from, borders: HashMap::default() });
        number
    }

    /// Ends an isolated part, whichever began since.
    pub(crate) fn end_isolated(&mut self, number: u64) -> Option<Isolated> {
        let all = &mut self.recording.isolated;
        let place = all.iter().position(|isolated| isolated.number == number)?;
        Some(all.remove(place))
    }

    /// The innermost isolated part of this thread.
    pub(crate) fn isolated(&self) -> Option<&Isolated> {
        let own = thread::current().id();
        self.recording.isolated.iter().rfind(|isolated| isolated.thread == own)
    }

    /// The cotangent that a variable from before an isolated part has had.
    pub(crate) fn border(&self, id: VarId) -> Option<VarId> {
        self.isolated()?.borders.get(&id).copied()
    }

    /// Gives such a variable another cotangent, in exchange for an external reference to it.
    pub(crate) fn set_border(&mut self, id: VarId, cotangent: VarId) {
        let own = thread::current().id();
        let mut all = self.recording.isolated.iter_mut();
        let Some(isolated) = all.rfind(|isolated| isolated.thread == own) else { return };
        match isolated.borders.insert(id, cotangent) {
            Some(old) => self.dec_external(old),
            None => self.inc_external(id),
        }
    }

    /// Whether a variable with tracked operands is tracked. A call may have results of several types.
    #[cold]
    pub(super) fn may_be_tracked(&self, variable: &Variable) -> bool {
        let has_floats = if let Kind::Call(body) = variable.kind {
            self.body(body).results.iter().any(|result| result.dtype.is_float())
        } else {
            variable.dtype.is_float() || matches!(variable.kind, Kind::Region { .. })
        };
        has_floats && !self.recording.tracking().untracked
    }

    /// The value of `id` as a variable that is tracked, and marked: gradients end there. The caller owns an external
    /// reference to it.
    pub(crate) fn marked(&mut self, id: VarId) -> VarId {
        let source = self.get(id);
        // A number would be folded away, and what is tracked, or made of what is, stays behind the mark.
        let is_number = source.kind.number().is_some();
        let is_behind = source.tracked || is_number || self.is_derived(id);
        let marked = if is_behind { self.same_value(id) } else { self.fork(id) };
        // What belongs to a region is not forked.
        let marked = if marked == id { self.exchange_for_same(id) } else { marked };
        self.get_mut(marked).tracked = true;
        self.get_mut(marked).cold_mut().is_border = true;
        marked
    }

    /// Records what derivatives end at, in the bodies of regions too.
    pub(crate) fn detaching<R>(&mut self, record: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.recording.exchange_tracking(Tracking::asked(false));
        let result = record(self);
        self.recording.exchange_tracking(before);
        result
    }

    /// The value of `id` as a variable that is not tracked. The caller owns an external reference to it.
    pub(crate) fn detached(&mut self, id: VarId) -> VarId {
        if self.get(id).scope != 0 {
            return self.detaching(|table| table.same_value(id));
        }
        if !self.get(id).tracked {
            self.inc_external(id);
            return id;
        }
        let before = self.recording.exchange_untracked(true);
        let is_of_region = matches!(self.get(id).kind, Kind::Phi { .. } | Kind::Result { .. });
        let detached = if is_of_region { self.same_value(id) } else { self.bare_copy(id) };
        self.recording.exchange_tracking(before);
        self.get_mut(detached).cold_mut().is_border = true;
        self.know_detached(id, detached);
        detached
    }

    /// Notes what is a number without derivatives, while both wait.
    fn know_detached(&mut self, id: VarId, detached: VarId) {
        if self.get(id).size != 1 || !self.is_pending(id) {
            return;
        }
        let mut known = std::mem::take(&mut self.detached);
        known.retain(|known| self.waits(known.of) && self.waits(known.number));
        if known.len() == MOST_DETACHED {
            known.remove(0);
        }
        let [of, number] = [id, detached].map(|id| (id, self.get(id).generation));
        known.push(Detached { of, number });
        self.detached = known;
    }

    /// Whether somebody holds what is not evaluated in a slot of this generation.
    fn waits(&self, (id, generation): (VarId, u32)) -> bool {
        self.slots.get(id.index()).is_some_and(|variable| {
            variable.generation == generation && variable.external > 0 && self.is_pending(id)
        })
    }

    /// What waits and is this number without derivatives: who keeps that keeps all that it is made of until it is evaluated.
    /// The caller owns an external reference to each.
    pub(crate) fn hold_detached(&mut self, id: VarId) -> Vec<VarId> {
        if self.detached.is_empty() || !self.is_pending(id) {
            return Vec::new();
        }
        let of = (id, self.get(id).generation);
        let is_of_it = |known: &&Detached| known.of == of && self.waits(known.number);
        let found = self.detached.iter().filter(is_of_it).map(|known| known.number.0);
        let found: Vec<VarId> = found.collect();
        found.iter().for_each(|&id| self.inc_external(id));
        found
    }

    /// Takes marks back: what leads to `outputs` and was tracked for their sake is so no longer, and lets its operands go.
    pub(crate) fn unmark(&mut self, marks: &[VarId], outputs: &[VarId]) {
        let behind = self.tracked_behind(marks, outputs);
        let (own, others) = behind.split_at(marks.len());
        // Other marks stay, and what is made of them.
        let is_changing: Vec<bool> = others.iter().map(|&id| self.is_derived(id)).collect();
        let changing = others.iter().zip(is_changing).filter_map(|(&id, is)| is.then_some(id));
        for id in own.iter().copied().chain(changing) {
            if self.is_derived(id) {
                continue;
            }
            let variable = self.get_mut(id);
            variable.tracked = false;
            let history = variable.cold.as_mut().and_then(|cold| cold.history.take());
            let history = history.map(|history| (history.composite, history.operands));
            let (composite, operands) = history.unzip();
            self.leave_composite(composite.flatten());
            operands.into_iter().flatten().for_each(|operand| self.dec_internal(operand));
            self.forget_derivatives(id);
        }
    }

    /// Whether a variable is made of tracked ones.
    pub(crate) fn is_derived(&self, id: VarId) -> bool {
        let variable = self.get(id);
        let is_tracked = |operand: VarId| self.get(operand).tracked;
        match variable.history() {
            Some(history) => history.operands.iter().any(|&operand| is_tracked(operand)),
            None => variable.operands().any(is_tracked),
        }
    }

    /// The marks, then the tracked variables that lead to `outputs`, operands before users.
    fn tracked_behind(&self, marks: &[VarId], outputs: &[VarId]) -> Vec<VarId> {
        let mut order = marks.to_vec();
        let mut seen: HashSet<VarId, Mix> = marks.iter().copied().collect();
        let place = |id: VarId| (id, self.get(id).made_of(), 0);
        for &output in outputs {
            if !self.get(output).tracked || !seen.insert(output) {
                continue;
            }
            let mut path = vec![place(output)];
            while let Some((id, operands, next)) = path.last_mut() {
                let Some(&operand) = operands.get(*next) else {
                    order.push(*id);
                    path.pop();
                    continue;
                };
                *next += 1;
                if self.get(operand).tracked && seen.insert(operand) {
                    path.push(place(operand));
                }
            }
        }
        order
    }

    /// Whether derivatives may compute a value again from the array that it was written over.
    pub(crate) fn keeps_source(&self, id: VarId) -> bool {
        let variable = self.get(id);
        let of_region =
            matches!(variable.kind, Kind::Result { .. }).then_some(variable.operands[0]);
        let region = of_region.flatten().is_some_and(|region| self.get(region).tracked);
        variable.keeps_operands() || region
    }

    /// Keeps what an expanded call is made of, if it is tracked.
    pub(super) fn remember_call(&mut self, id: VarId) {
        let variable = self.get(id);
        if !variable.keeps_operands() {
            return;
        }
        let (kind, operands) = (variable.kind, variable.operands().collect());
        let history = History { kind, operands, composite: variable.composite().cloned() };
        history.operands.iter().for_each(|&operand| self.inc_internal(operand));
        self.get_mut(id).cold_mut().history = Some(history);
    }

    /// Gives a variable another gradient, in exchange for an external reference to it.
    pub(crate) fn set_gradient(&mut self, id: VarId, gradient: Option<VarId>) {
        let slot = &mut self.get_mut(id).cold_mut().gradient;
        let old = std::mem::replace(slot, gradient);
        self.exchange(old, gradient);
    }

    /// Gives a variable another tangent, in exchange for an external reference to it.
    pub(crate) fn set_tangent(&mut self, id: VarId, tangent: Option<VarId>) {
        let slot = &mut self.get_mut(id).cold_mut().tangent;
        let old = std::mem::replace(slot, tangent);
        self.exchange(old, tangent);
    }

    fn exchange(&mut self, old: Option<VarId>, new: Option<VarId>) {
        if let Some(new) = new {
            self.inc_internal(new);
            self.dec_external(new);
        }
        old.into_iter().for_each(|old| self.dec_internal(old));
    }

    /// Forgets the gradient of a variable, which may be made of it, if nobody is left who could ask for it.
    #[cold]
    pub(super) fn drop_derivatives(&mut self, id: VarId) {
        if self.get(id).external == 0 {
            self.forget_derivatives(id);
        }
    }

    fn forget_derivatives(&mut self, id: VarId) {
        let Some(cold) = self.get_mut(id).cold.as_mut() else { return };
        let derivatives = [cold.gradient.take(), cold.tangent.take()];
        derivatives.into_iter().flatten().for_each(|id| self.dec_internal(id));
    }
}
