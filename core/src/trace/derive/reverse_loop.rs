//! Loops backwards: of each turn the states are read, and what it does with them is recorded again.

use super::loop_states::Kept;
use super::region::Loop;
use super::reverse::PullBack;
use super::{Ends, Recorder, Way};
use crate::error::Result;
use crate::ir::op::{Op, ScatterOp};
use crate::ir::var::{Kind, VarId};
use crate::trace::copy::{Copy, LOOP};
use crate::trace::region::Change;

/// What is from outside a loop, and collects cotangents from turn to turn.
struct Outside {
    id: VarId,
    /// What stands for it in the body.
    alias: VarId,
    /// What its cotangents are added to: in its lane, or in an array if it is read by index.
    sum: VarId,
    is_by_index: bool,
}

impl Recorder<'_> {
    /// Passes the cotangents of the values behind a loop to variables outside. The loop and those inside take so many
    /// turns at most, whose states may take so much memory.
    ///
    /// # Errors
    /// `Argument` for too many turns, and what has no derivative.
    pub(crate) fn pull_loop(
        &mut self,
        way: &mut PullBack,
        region: VarId,
        turns: &[u64],
        room: u64,
    ) -> Result<()> {
        let nest = self.nest_of(region)?;
        let cotangents = way.loop_of(region);
        let mut watched = vec![false; nest.shape.values.len()];
        let values = nest.shape.values.iter().zip(&cotangents);
        for ((&(state, end), cotangent), is_watched) in values.zip(&mut watched) {
            if cotangent.is_some() && self.is_written(state) {
                *is_watched = self.write_in(region, state, end)? == ScatterOp::Set;
            }
        }
        let kept = self.keep_turns(&nest, &watched, turns, room)?;
        self.run_back(way, region, &kept)
    }

    /// How a body writes an array, which it does once a turn.
    fn write_in(&self, region: VarId, state: VarId, end: VarId) -> Result<ScatterOp> {
        match self.var(end).kind {
            Kind::Scatter { op: op @ (ScatterOp::Set | ScatterOp::Add), .. }
                if self.var(end).operands[0] == Some(state) =>
            {
                Ok(op)
            }
            Kind::Scatter { .. } if self.var(end).operands[0] == Some(state) => {
                Err(self.none_backwards(region, "that keeps extremes in an array"))
            }
            _ => Err(self.none_backwards(region, "that writes an array twice in a turn")),
        }
    }

    /// The loop backwards.
    pub(super) fn run_back(
        &mut self,
        way: &mut PullBack,
        region: VarId,
        kept: &Kept,
    ) -> Result<()> {
        let cotangents = way.take_loop(region);
        let Loop { scope: own, running, values, lanes } = self.loop_of(region);
        let mut copy = Copy::of_scope(own);
        let outside = self.outside_wanted(way, region, lanes, &mut copy)?;
        let seeds = values.iter().zip(&cotangents).map(|(&(state, _), cotangent)| {
            let is_moving = self.is_moving(state) && !self.is_written(state);
            let zeros = self.literal(self.dtype(state), 0, lanes);
            is_moving.then(|| cotangent.unwrap_or(zeros))
        });
        let seeds: Vec<Option<VarId>> = seeds.collect();
        let mut moved = Vec::new();
        let results = self.in_region(LOOP, |recorder, scope, active| {
            let count = recorder.state(scope, kept.count);
            let moves: Vec<Option<VarId>> =
                seeds.iter().map(|seed| seed.map(|seed| recorder.state(scope, seed))).collect();
            let sums: Vec<VarId> =
                outside.iter().map(|outside| recorder.state(scope, outside.sum)).collect();
            let zero = recorder.constant(recorder.dtype(count), 0);
            let is_left = recorder.same(Op::Gt, &[count, zero])?;
            let running_back = recorder.run(LOOP, is_left)?;
            let mut changes = vec![recorder.one_more(count, Op::Sub)?];
            let turn = kept.turn(recorder, changes[0].next)?;
            let place = recorder.place_of(turn, lanes)?;
            let mut states = Vec::new();
            let (befores, undone) = recorder.undo(region, kept, &values, scope, running_back)?;
            changes.extend(undone);
            for (i, (&(state, _), kept)) in values.iter().zip(&kept.states).enumerate() {
                let value = match (befores.get(i), *kept) {
                    (Some(&before), _) => before,
                    (None, Some(kept)) => recorder.pick(kept, place, None)?,
                    (None, None) => continue,
                };
                let value = if recorder.is_moving(state) {
                    let value = recorder.followed(|recorder| recorder.alias(value));
                    states.push(value);
                    value
                } else {
                    value
                };
                copy.of.insert(state, value);
            }
            let [entering, _] = recorder.var(running).operands().collect::<Vec<_>>()[..] else {
                unreachable!("internal error: a mask without a condition")
            };
            copy.of.insert(entering, active);
            copy.of.insert(running, running_back);
            let mut pairs = Vec::new();
            for (place_of_state, &(state, end)) in values.iter().enumerate() {
                if let Some(moved) = moves[place_of_state] {
                    let end = recorder.followed(|recorder| recorder.copied(&mut copy, end))?;
                    pairs.push((end, moved));
                } else if let Some(cotangent) = cotangents[place_of_state]
                    && recorder.is_written(state)
                {
                    let writer = kept.writers[place_of_state];
                    pairs.extend(recorder.written_back(&mut copy, end, cotangent, writer, place)?);
                }
            }
            let ends: Vec<VarId> = pairs.iter().map(|&(end, _)| end).collect();
            let mut inputs = states.clone();
            inputs.extend(outside.iter().map(|outside| outside.alias));
            let cone = recorder.cone(Way::Back, &ends, Ends::At(&inputs))?;
            let mut inner = recorder.begin_pull(cone, &pairs, &inputs)?;
            for (region, kept) in kept.of_copies(recorder, &copy) {
                let lanes = recorder.size(region);
                inner.keep(region, kept.at(recorder, turn, lanes)?);
            }
            for (outside, &sum) in outside.iter().zip(&sums) {
                if outside.is_by_index {
                    inner.collect_in(outside.alias, sum);
                }
            }
            let turn = recorder.pull_on(&mut inner)?;
            recorder.at_the_end(turn)?;
            for (&state, &value) in moves.iter().flatten().zip(&states) {
                let next = inner.cotangent(value);
                let next = next.unwrap_or_else(|| recorder.zeros_like(value));
                changes.push(Change::of(state, next));
            }
            for (outside, &sum) in outside.iter().zip(&sums) {
                let next = match inner.cotangent(outside.alias) {
                    None => sum,
                    Some(all) if outside.is_by_index => all,
                    Some(part) => recorder.same(Op::Add, &[sum, part])?,
                };
                changes.push(Change::of(sum, next));
                moved.push(next != sum);
            }
            let all: Vec<Option<VarId>> = changes.iter().map(|change| change.state).collect();
            Ok(recorder.close_region(true, running_back, &all, &changes)?.0)
        })?;
        let n_undone = kept.ends.as_ref().map_or(0, Vec::len);
        let mut results = results.into_iter().skip(1 + n_undone);
        for (&(state, _), seed) in values.iter().zip(&seeds) {
            if let (Some(_), Some(result)) = (seed, seed.and_then(|_| results.next())) {
                let first = self.first_of(state);
                self.pass_on(way, first, result)?;
            }
        }
        for ((outside, result), is_moved) in outside.iter().zip(results).zip(moved) {
            if way.collects(outside.id) && is_moved {
                way.collect_in(outside.id, result);
            } else if is_moved {
                self.pass_on(way, outside.id, result)?;
            }
        }
        for ((&(state, _), cotangent), writers) in values.iter().zip(&cotangents).zip(&kept.writers)
        {
            if let (Some(cotangent), true) = (*cotangent, self.is_written(state)) {
                let left = self.left_alone(cotangent, *writers)?;
                let first = self.first_of(state);
                self.pass_on(way, first, left)?;
            }
        }
        Ok(())
    }

    /// The states at the beginning of a turn that is undone, and what becomes of those at its end; none if they are kept.
    fn undo(
        &mut self,
        region: VarId,
        kept: &Kept,
        values: &[(VarId, VarId)],
        scope: u32,
        running: VarId,
    ) -> Result<(Vec<VarId>, Vec<Change>)> {
        let Some(ends) = &kept.ends else { return Ok((Vec::new(), Vec::new())) };
        let known = self.var(region).region().map(|known| (known.undone.clone(), known.scope));
        let (undone, own) = known.expect("internal error: a region without a body");
        let mut copy = Copy::of_scope(own);
        copy.entering = Some(running);
        let mut changed = Vec::new();
        for undone in &undone {
            let place = values.iter().position(|&(state, _)| state == undone.state);
            let after = match place {
                Some(place) => {
                    let after = self.state(scope, ends[place]);
                    changed.push((place, after, undone.before));
                    after
                }
                None => self.first_of(undone.state),
            };
            copy.of.insert(undone.after, after);
        }
        changed.sort_by_key(|&(place, ..)| place);
        let mut befores = Vec::new();
        let mut changes = Vec::new();
        for (_, after, before) in changed {
            let before = self.copied(&mut copy, before)?;
            befores.push(before);
            changes.push(Change::of(after, before));
        }
        Ok((befores, changes))
    }

    /// What is from outside a loop and has a derivative on the way, with what stands for it in the body.
    fn outside_wanted(
        &mut self,
        way: &PullBack,
        region: VarId,
        lanes: u64,
        copy: &mut Copy,
    ) -> Result<Vec<Outside>> {
        let wanted: Vec<VarId> =
            self.outside_of(region).into_iter().filter(|&id| way.wants(id)).collect();
        let (mut of_lanes, mut by_index) = (Vec::new(), Vec::new());
        for id in wanted {
            let wide = if self.size(id) == 1 { self.widen(id, lanes)? } else { id };
            let alias = self.followed(|recorder| recorder.alias(wide));
            if self.size(alias) == lanes {
                copy.of.insert(id, alias);
                let sum = self.zeros_like(alias);
                of_lanes.push(Outside { id, alias, sum, is_by_index: false });
            }
            let alias = self.followed(|recorder| recorder.alias(id));
            copy.sources.insert(id, alias);
            let begun = way.cotangent(id).filter(|_| way.collects(id));
            let sum = begun.unwrap_or_else(|| self.zeros_like(alias));
            by_index.push(Outside { id, alias, sum, is_by_index: true });
        }
        of_lanes.append(&mut by_index);
        Ok(of_lanes)
    }

    /// The value that a body writes, with its cotangent: what is in the array in the end, where this turn's is.
    fn written_back(
        &mut self,
        copy: &mut Copy,
        end: VarId,
        cotangent: VarId,
        writers: Option<VarId>,
        place: VarId,
    ) -> Result<Option<(VarId, VarId)>> {
        // What says where may be a part of the value.
        let access = self.followed(|recorder| recorder.copied_access(copy, end))?;
        let (Some(value), [Some(index), active]) = (self.var(end).operands[1], access) else {
            return Ok(None);
        };
        let value = self.followed(|recorder| recorder.copied(copy, value))?;
        let landed = match writers {
            None => active,
            Some(writers) => {
                let last = self.pick(writers, index, active)?;
                let is_last = self.same(Op::Eq, &[last, place])?;
                let active = active.map(|active| self.same(Op::And, &[is_last, active]));
                Some(active.unwrap_or(Ok(is_last))?)
            }
        };
        Ok(Some((value, self.pick(cotangent, index, landed)?)))
    }

    /// The cotangent of an array before a loop that writes it.
    fn left_alone(&mut self, cotangent: VarId, writers: Option<VarId>) -> Result<VarId> {
        let Some(writers) = writers else { return Ok(cotangent) };
        let nobody = self.nobody(self.dtype(writers), 1);
        let is_left = self.same(Op::Eq, &[writers, nobody])?;
        let zero = self.constant(self.dtype(cotangent), 0);
        self.select(is_left, cotangent, zero)
    }
}
