//! Loops and branches.
//!
//! The value of a branch is that of what it does, over the value where it is not taken: it is recorded again without the
//! region. The tangents of a loop's states are states of a loop beside them. Cotangents take a loop that runs backwards:
//! one before it keeps the states of every turn in memory, by turn and lane. How many turns there are is counted, and
//! read, before.

use super::copy::Copy;
use super::reverse::PullBack;
use super::{Of, Recorder, Turn};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ir::op::{Op, ReduceOp, ScatterMode, ScatterOp, Writer};
use crate::ir::var::{Kind, VarId};
use crate::memory::alloc::Bytes;
use crate::trace::region::Change;

/// The name of loops in errors.
const LOOP: &str = "while_loop";

/// A loop that was recorded.
struct Loop {
    scope: u32,
    running: VarId,
    /// States that change, and their values at the end of a turn.
    values: Vec<(VarId, VarId)>,
    lanes: u64,
}

impl Recorder<'_> {
    /// What stands for the values behind a branch, by position.
    ///
    /// # Errors
    /// `Argument` for a branch whose lanes read what others write.
    pub(super) fn straight_line(&mut self, region: VarId) -> Result<Vec<VarId>> {
        if self.var(region).region().is_some_and(|region| region.fetches) {
            return Err(self.no_derivative(region));
        }
        let Loop { scope, values, lanes, .. } = self.loop_of(region);
        let mut copy = Copy::of_scope(scope);
        for &(state, _) in &values {
            let first = self.first_of(state);
            copy.of.insert(state, first);
        }
        let value = |&(state, end): &(VarId, VarId)| {
            let value = self.copied(&mut copy, end)?;
            // An array that is written has its own size.
            let is_written = self.var(state).kind == Kind::Phi { memory: true };
            if is_written { Ok(value) } else { self.widen(value, lanes) }
        };
        values.iter().map(value).collect()
    }

    /// The tracked variables from outside that a loop is made of.
    pub(super) fn outside_of(&self, region: VarId) -> Vec<VarId> {
        let mut outside = self.around(region);
        outside.retain(|&id| self.var(id).tracked);
        outside
    }

    /// The variables from outside that a region is made of.
    pub(super) fn around(&self, region: VarId) -> Vec<VarId> {
        let Loop { scope, running, values, .. } = self.loop_of(region);
        let mut found = Vec::new();
        let mut seen: Of<()> = Of::default();
        let mut work: Vec<VarId> = values.iter().map(|&(_, end)| end).collect();
        work.push(running);
        work.extend(values.iter().map(|&(state, _)| self.first_of(state)));
        while let Some(id) = work.pop() {
            if seen.insert(id, ()).is_some() {
                continue;
            }
            if self.var(id).scope < scope {
                found.push(id);
            } else {
                work.extend(self.var(id).operands());
            }
        }
        // The walk takes the last first.
        found.reverse();
        found
    }

    fn loop_of(&self, region: VarId) -> Loop {
        let lanes = self.size(region);
        let known = self.var(region).region().expect("internal error: a region without a body");
        Loop { scope: known.scope, running: known.running, values: known.values.clone(), lanes }
    }

    fn first_of(&self, state: VarId) -> VarId {
        self.var(state).operands[0].expect("internal error: a state without a first value")
    }

    fn is_moving(&self, id: VarId) -> bool {
        self.dtype(id).is_float()
    }

    // ---- forward ----

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
            let running = recorder.copied_condition(&mut copy, LOOP, running, active)?;
            let ends = recorder.followed(|recorder| {
                let end = |&(_, end): &(VarId, VarId)| recorder.copied(&mut copy, end);
                values.iter().map(end).collect::<Result<Vec<_>>>()
            })?;
            let known: Vec<VarId> = inputs.iter().map(|&(input, _)| input).collect();
            let cone = recorder.cone(&ends, Some(&known))?;
            let mut way = recorder.begin_push(cone, &inputs)?;
            match recorder.push_on(&mut way)? {
                Turn::Done => {}
                Turn::Asks { id, .. } | Turn::Counts { region: id, .. } => {
                    return Err(recorder.no_derivative_inside(id));
                }
            }
            let mut changes = Vec::new();
            let change =
                |state, next| Change { state: Some(state), otherwise: None, covered: false, next };
            for ((&state, &end), &moved) in states.iter().zip(&ends).zip(&moves) {
                changes.push(change(state, end));
                if let Some(moved) = moved {
                    let next = way.tangent(end);
                    let next = next.unwrap_or_else(|| recorder.zeros_like(end));
                    changes.push(change(moved, next));
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

    // ---- reverse ----

    /// The largest number of turns of a loop in any lane, as a variable of one lane.
    ///
    /// # Errors
    /// `Argument` for loops that write arrays.
    pub(super) fn turns_of(&mut self, region: VarId) -> Result<VarId> {
        let Loop { scope: own, running, values, lanes } = self.loop_of(region);
        if self.table.open_region_mut().is_some() {
            return Err(self.none_backwards(region, "inside another one"));
        }
        let writes =
            |&(state, _): &(VarId, VarId)| self.var(state).kind == Kind::Phi { memory: true };
        if values.iter().any(writes) {
            return Err(self.none_backwards(region, "that writes an array"));
        }
        if lanes == 0 {
            return Ok(self.constant(DType::U32, 0));
        }
        let none = self.literal(DType::U32, 0, lanes);
        let results = self.in_region(LOOP, |recorder, scope, active| {
            let mut copy = Copy::of_scope(own);
            let states = recorder.copied_states(&mut copy, scope, &values)?;
            let count = recorder.state(scope, none);
            let running = recorder.copied_condition(&mut copy, LOOP, running, active)?;
            let mut changes = recorder.copied_changes(&mut copy, &values, &states)?;
            changes.push(recorder.counted(count, Op::Add)?);
            let all: Vec<Option<VarId>> = changes.iter().map(|change| change.state).collect();
            Ok(recorder.close_region(true, running, &all, &changes)?.0)
        })?;
        self.reduce(ReduceOp::Max, results[results.len() - 1])
    }

    /// The states of a loop at the end of a turn.
    fn copied_changes(
        &mut self,
        copy: &mut Copy,
        values: &[(VarId, VarId)],
        states: &[VarId],
    ) -> Result<Vec<Change>> {
        let mut changes = Vec::with_capacity(values.len());
        for (&(_, end), &state) in values.iter().zip(states) {
            let next = self.copied(copy, end)?;
            changes.push(Change { state: Some(state), otherwise: None, covered: false, next });
        }
        Ok(changes)
    }

    /// One turn more, or less.
    fn counted(&mut self, count: VarId, op: Op) -> Result<Change> {
        let one = self.constant(self.dtype(count), 1);
        let next = self.same(op, &[count, one])?;
        Ok(Change { state: Some(count), otherwise: None, covered: false, next })
    }

    /// Passes the cotangents of the values behind a loop, by position, to variables outside. The loop takes so many turns
    /// at most, whose states may take so much memory.
    ///
    /// # Errors
    /// `Argument` for too many turns, and what has no derivative.
    pub(crate) fn pull_loop(
        &mut self,
        way: &mut PullBack,
        region: VarId,
        turns: u64,
        room: u64,
    ) -> Result<()> {
        let cotangents = way.take_loop(region);
        let shape = self.loop_of(region);
        let bytes: u64 =
            shape.values.iter().map(|&(state, _)| self.dtype(state).bytes() as u64).sum();
        let lanes = turns.checked_mul(shape.lanes.max(1));
        let bytes = lanes.and_then(|lanes| lanes.checked_mul(bytes));
        if bytes.is_none_or(|bytes| bytes > room) {
            let needed =
                bytes.map_or_else(|| "more than there is".into(), |n| Bytes(n).to_string());
            let what = format!(
                "the states of {turns} turns of a loop (line {}) take {needed}, there are {}; take fewer turns or lanes at \
                 a time, or forward mode: jvp, forward(x)",
                self.var(region).line,
                Bytes(room)
            );
            return Err(Error::Argument { op: "backward", what });
        }
        let (kept, count) = self.keep_turns(&shape, turns)?;
        self.run_back(way, region, &shape, &cotangents, &kept, count)
    }

    /// Runs a loop and keeps what its states are at the beginning of each turn: an array for each, by turn and lane; and
    /// how many turns each lane takes.
    fn keep_turns(&mut self, shape: &Loop, turns: u64) -> Result<(Vec<VarId>, VarId)> {
        let Loop { scope: own, running, values, lanes } = shape;
        let size = turns.max(1) * lanes;
        let counter = crate::ir::primitive::lane_number_type(size);
        let none = self.literal(counter, 0, *lanes);
        let rooms = values.iter().map(|&(state, _)| {
            let dtype = self.dtype(state);
            self.literal(dtype, 0, size)
        });
        let rooms: Vec<VarId> = rooms.collect();
        let results = self.in_region(LOOP, |recorder, scope, active| {
            let mut copy = Copy::of_scope(*own);
            let states = recorder.copied_states(&mut copy, scope, values)?;
            let rooms: Vec<VarId> = rooms.iter().map(|&room| recorder.state(scope, room)).collect();
            let count = recorder.state(scope, none);
            let running = recorder.copied_condition(&mut copy, LOOP, *running, active)?;
            let place = recorder.place_of_turn(count, *lanes)?;
            let mut changes = recorder.copied_changes(&mut copy, values, &states)?;
            for (&state, &room) in states.iter().zip(&rooms) {
                let operands = [room, state, place];
                let (set, mode) = (ScatterOp::Set, ScatterMode::Apart);
                let next = recorder.write(set, mode, Writer::Scatter, operands, None)?;
                changes.push(Change { state: Some(room), otherwise: None, covered: false, next });
            }
            changes.push(recorder.counted(count, Op::Add)?);
            let all: Vec<Option<VarId>> = changes.iter().map(|change| change.state).collect();
            Ok(recorder.close_region(true, running, &all, &changes)?.0)
        })?;
        let n = values.len();
        Ok((results[n..2 * n].to_vec(), results[2 * n]))
    }

    /// Where the states of a turn are kept.
    fn place_of_turn(&mut self, turn: VarId, lanes: u64) -> Result<VarId> {
        let dtype = self.dtype(turn);
        let (lane, lanes) = (self.lane_index(dtype, lanes), self.literal(dtype, lanes, 1));
        self.same(Op::Fma, &[turn, lanes, lane])
    }

    /// The loop backwards: of each turn the states are read, and what it does with them is recorded again.
    fn run_back(
        &mut self,
        way: &mut PullBack,
        region: VarId,
        shape: &Loop,
        cotangents: &[Option<VarId>],
        kept: &[VarId],
        count: VarId,
    ) -> Result<()> {
        let Loop { scope: own, running, values, lanes } = shape;
        let outside: Vec<VarId> =
            self.outside_of(region).into_iter().filter(|&id| way.wants(id)).collect();
        // What is read by index collects its cotangents in an array; the rest in its lane.
        let mut copy = Copy::of_scope(*own);
        let mut of_lanes = Vec::new();
        let mut of_sources = Vec::new();
        for &id in &outside {
            let wide = if self.size(id) == 1 { self.widen(id, *lanes)? } else { id };
            let alias = self.followed(|recorder| recorder.alias(wide));
            if self.size(alias) == *lanes {
                copy.of.insert(id, alias);
                let zeros = self.zeros_like(alias);
                of_lanes.push((id, alias, zeros));
            }
            let source = self.followed(|recorder| recorder.alias(id));
            copy.sources.insert(id, source);
            let zeros = self.zeros_like(source);
            of_sources.push((id, source, zeros));
        }
        let seeds = values.iter().zip(cotangents).map(|(&(state, _), cotangent)| {
            let is_moving = self.is_moving(state);
            let zeros = self.literal(self.dtype(state), 0, *lanes);
            is_moving.then(|| cotangent.unwrap_or(zeros))
        });
        let seeds: Vec<Option<VarId>> = seeds.collect();
        let results = self.in_region(LOOP, |recorder, scope, active| {
            let count = recorder.state(scope, count);
            let moves: Vec<Option<VarId>> =
                seeds.iter().map(|seed| seed.map(|seed| recorder.state(scope, seed))).collect();
            let sums: Vec<VarId> =
                of_lanes.iter().map(|&(_, _, zeros)| recorder.state(scope, zeros)).collect();
            let arrays: Vec<VarId> =
                of_sources.iter().map(|&(_, _, zeros)| recorder.state(scope, zeros)).collect();
            let zero = recorder.constant(recorder.dtype(count), 0);
            let is_left = recorder.same(Op::Gt, &[count, zero])?;
            let running_back = recorder.run(LOOP, is_left)?;
            let turn = recorder.counted(count, Op::Sub)?;
            let place = recorder.place_of_turn(turn.next, *lanes)?;
            let mut inputs = Vec::new();
            for (&(state, _), &kept) in values.iter().zip(kept) {
                let value = recorder.pick(kept, place, None)?;
                let value = if recorder.is_moving(state) {
                    let value = recorder.followed(|recorder| recorder.alias(value));
                    inputs.push(value);
                    value
                } else {
                    value
                };
                copy.of.insert(state, value);
            }
            let [entering, _] = recorder.var(*running).operands().collect::<Vec<_>>()[..] else {
                unreachable!("internal error: a mask without a condition")
            };
            copy.of.insert(entering, active);
            copy.of.insert(*running, running_back);
            let ends = recorder.followed(|recorder| {
                let end = |&(_, end): &(VarId, VarId)| recorder.copied(&mut copy, end);
                values.iter().map(end).collect::<Result<Vec<_>>>()
            })?;
            let pairs: Vec<(VarId, VarId)> =
                ends.iter().zip(&moves).filter_map(|(&end, &v)| Some((end, v?))).collect();
            let ends: Vec<VarId> = pairs.iter().map(|&(end, _)| end).collect();
            let states = inputs.clone();
            inputs.extend(of_lanes.iter().map(|&(_, alias, _)| alias));
            inputs.extend(of_sources.iter().map(|&(_, source, _)| source));
            let cone = recorder.cone(&ends, Some(&inputs))?;
            let mut inner = recorder.begin_pull(cone, &pairs, &inputs)?;
            for (&(_, source, _), &array) in of_sources.iter().zip(&arrays) {
                inner.collect_in(source, array);
            }
            match recorder.pull_on(&mut inner)? {
                Turn::Done => {}
                Turn::Asks { id, .. } | Turn::Counts { region: id, .. } => {
                    return Err(recorder.no_derivative_inside(id));
                }
            }
            let change =
                |state, next| Change { state: Some(state), otherwise: None, covered: false, next };
            let mut changes = vec![turn];
            for (&state, &value) in moves.iter().flatten().zip(&states) {
                let next = inner.cotangent(value);
                let next = next.unwrap_or_else(|| recorder.zeros_like(value));
                changes.push(change(state, next));
            }
            for (&(_, alias, _), &sum) in of_lanes.iter().zip(&sums) {
                let next = match inner.cotangent(alias) {
                    Some(part) => recorder.same(Op::Add, &[sum, part])?,
                    None => sum,
                };
                changes.push(change(sum, next));
            }
            for (&(_, source, _), &array) in of_sources.iter().zip(&arrays) {
                changes.push(change(array, inner.cotangent(source).unwrap_or(array)));
            }
            let all: Vec<Option<VarId>> = changes.iter().map(|change| change.state).collect();
            Ok(recorder.close_region(true, running_back, &all, &changes)?.0)
        })?;
        let mut results = results.into_iter().skip(1);
        for (&(state, _), seed) in values.iter().zip(&seeds) {
            if let (Some(_), Some(result)) = (seed, seed.and_then(|_| results.next())) {
                let first = self.first_of(state);
                self.pass_on(way, first, result)?;
            }
        }
        for &(id, _, _) in of_lanes.iter().chain(&of_sources) {
            if let Some(result) = results.next() {
                self.pass_on(way, id, result)?;
            }
        }
        Ok(())
    }

    /// Records what is tracked.
    pub(super) fn followed<R>(&mut self, record: impl FnOnce(&mut Self) -> R) -> R {
        let before = std::mem::replace(&mut self.table.untracked, false);
        let result = record(self);
        self.table.untracked = before;
        result
    }

    /// The same value as a tracked variable of its own.
    fn alias(&mut self, id: VarId) -> VarId {
        let alias = self.table.same_value(id);
        self.table.get_mut(alias).tracked = true;
        self.table.get_mut(alias).cold_mut().is_border = true;
        self.owned.push(alias);
        alias
    }

    #[cold]
    fn no_derivative_inside(&self, id: VarId) -> Error {
        let name = self.table.name(self.var(id));
        self.none_backwards(id, &format!("with {name} inside"))
    }

    fn none_backwards(&self, id: VarId, what: &str) -> Error {
        let what = format!(
            "a loop (line {}) {what} has no derivative backwards; set_flag(\"record_loops\", false) runs it step by step, \
             which has one, and jvp and forward(x) go forward",
            self.var(id).line
        );
        Error::Argument { op: "backward", what }
    }
}
