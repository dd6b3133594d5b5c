//! Loops and branches.
//!
//! The value of a branch is that of what it does, over the value where it is not taken: it is recorded again without the
//! region. The tangents of a loop's states are states of a loop beside them. Cotangents take a loop that runs backwards
//! ([`super::reverse_loop`]), behind one that keeps what the states were ([`super::turns`]).

use super::{Ends, Of, Recorder, Turn, Way};
use crate::error::{Error, Result, ScriptLine};
use crate::ir::var::VarId;
use crate::trace::copy::{Copy, LOOP};
use crate::trace::region::Change;

/// A loop that was recorded.
#[derive(Clone)]
pub(super) struct Loop {
    pub(super) scope: u32,
    pub(super) running: VarId,
    /// States that change, and their values at the end of a turn.
    pub(super) values: Vec<(VarId, VarId)>,
    pub(super) lanes: u64,
}

impl Recorder<'_> {
    /// What stands for the values behind a branch, by position.
    ///
    /// # Errors
    /// `Argument` for a branch whose lanes read what others write, or overwrite it.
    pub(super) fn straight_line(&mut self, region: VarId) -> Result<Vec<VarId>> {
        if self.var(region).region().is_some_and(|region| region.fetches) {
            return Err(self.no_derivative(region));
        }
        let shape = self.loop_of(region);
        if self.order_shows(&shape, false) {
            let what = format!(
                "a branch ({}) that writes an array twice has no derivative: a lane may overwrite what another one \
                 wrote; write once in each of two branches",
                ScriptLine::of(self.var(region).line)
            );
            return Err(Error::Argument { op: "backward", what });
        }
        let Loop { scope, values, lanes, .. } = shape;
        let mut copy = Copy::of_scope(scope);
        for &(state, _) in &values {
            let first = self.first_of(state);
            copy.of.insert(state, first);
        }
        let value = |&(state, end): &(VarId, VarId)| {
            let value = self.copied(&mut copy, end)?;
            // An array that is written has its own size.
            if self.is_written(state) { Ok(value) } else { self.widen(value, lanes) }
        };
        values.iter().map(value).collect()
    }

    /// The tracked variables from outside that a loop is made of.
    pub(super) fn outside_of(&self, region: VarId) -> Vec<VarId> {
        let mut outside = self.around(region);
        outside.retain(|&id| self.var(id).tracked);
        outside
    }

    pub(super) fn loop_of(&self, region: VarId) -> Loop {
        let lanes = self.size(region);
        let known = self.var(region).region().expect("internal error: a region without a body");
        Loop { scope: known.scope, running: known.running, values: known.values.clone(), lanes }
    }

    pub(super) fn is_moving(&self, id: VarId) -> bool {
        self.dtype(id).is_float()
    }

    /// The tangents of the values behind a loop, by position, from those of variables outside.
    ///
    /// # Errors
    /// `Argument` for what has no derivative.
    pub(super) fn push_loop(
        &mut self,
        tangents: &Of<VarId>,
        region: VarId,
    ) -> Result<Vec<Option<VarId>>> {
        let outside = self.outside_of(region);
        let Loop { scope: own, running, values, .. } = self.loop_of(region);
        self.in_region(LOOP, |recorder, scope, active| {
            let mut copy = Copy::of_scope(own);
            let states = recorder.copied_states(&mut copy, scope, &values)?;
            let mut inputs = Vec::new();
            let mut moves: Vec<Option<VarId>> = Vec::new();
            for (&(state, _), &made) in values.iter().zip(&states) {
                let first = recorder.first_of(state);
                moves.push(if recorder.is_moving(state) {
                    let tangent = tangents.get(&first).copied();
                    let tangent = tangent.unwrap_or_else(|| recorder.zeros_like(first));
                    let tangent = recorder.state(scope, tangent);
                    recorder.table.get_mut(made).tracked = true;
                    inputs.push((made, tangent));
                    Some(tangent)
                } else {
                    None
                });
            }
            let there = outside.iter().filter_map(|&id| Some((id, *tangents.get(&id)?)));
            inputs.extend(there);
            let (running, ends) = recorder
                .followed(|recorder| recorder.copied_turn(&mut copy, running, active, &values))?;
            let known: Vec<VarId> = inputs.iter().map(|&(input, _)| input).collect();
            let cone = recorder.cone(Way::Forward, &ends, Ends::At(&known))?;
            let mut way = recorder.begin_push(cone, &inputs)?;
            let turn = recorder.push_on(&mut way)?;
            recorder.at_the_end(turn)?;
            let mut changes = Vec::new();
            for ((&state, &end), &moved) in states.iter().zip(&ends).zip(&moves) {
                changes.push(Change::of(state, end));
                if let Some(moved) = moved {
                    let next = way.tangent(end);
                    let next = next.unwrap_or_else(|| recorder.zeros_like(end));
                    changes.push(Change::of(moved, next));
                }
            }
            let all: Vec<Option<VarId>> = changes.iter().map(|change| change.state).collect();
            let mut results = recorder.close_region(true, running, &all, &changes)?.0.into_iter();
            let result = |moved: &Option<VarId>| {
                results.next();
                moved.and_then(|_| results.next())
            };
            Ok(moves.iter().map(result).collect())
        })
    }

    /// The condition of a loop and its states at the end of a turn, which both may be made of the same.
    fn copied_turn(
        &mut self,
        copy: &mut Copy,
        running: VarId,
        active: VarId,
        values: &[(VarId, VarId)],
    ) -> Result<(VarId, Vec<VarId>)> {
        let running = self.copied_condition(copy, LOOP, running, active)?;
        let ends = values.iter().map(|&(_, end)| self.copied(copy, end));
        Ok((running, ends.collect::<Result<_>>()?))
    }

    /// Records what is tracked.
    pub(super) fn followed<R>(&mut self, record: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.table.recording.exchange_untracked(false);
        let result = record(self);
        self.table.recording.exchange_tracking(before);
        result
    }

    /// The same value as a variable that is not tracked.
    pub(crate) fn detached(&mut self, id: VarId) -> VarId {
        let detached = self.table.detached(id);
        self.owned.push(detached);
        detached
    }

    /// The same value as a tracked variable of its own.
    pub(super) fn alias(&mut self, id: VarId) -> VarId {
        let alias = self.table.same_value(id);
        self.table.get_mut(alias).tracked = true;
        self.table.get_mut(alias).cold_mut().is_border = true;
        self.owned.push(alias);
        alias
    }

    /// Refuses what a way through a body halts at.
    ///
    /// # Errors
    /// `Argument`.
    pub(super) fn at_the_end(&self, turn: Turn) -> Result<()> {
        match turn {
            Turn::Done => Ok(()),
            Turn::Asks { id, .. } | Turn::Counts { region: id, .. } => {
                Err(self.no_derivative_inside(id))
            }
        }
    }

    #[cold]
    fn no_derivative_inside(&self, id: VarId) -> Error {
        let name = self.table.name_of_maker(self.var(id));
        self.none_backwards(id, &format!("with {name} inside"))
    }

    pub(super) fn none_backwards(&self, id: VarId, what: &str) -> Error {
        let what = format!(
            "a loop ({}) {what} has no derivative backwards; jvp and forward(x) go forward, and \
             set_flag(\"record_loops\", false) runs loops step by step, but where the order of lanes shows",
            ScriptLine::of(self.var(id).line)
        );
        Error::Argument { op: "backward", what }
    }
}
