//! Loops of which the trace tells how many turns they take: a counter runs from one number to another.
//!
//! One of few turns is differentiated as what its turns do one after another. That is a kernel without a loop, in which
//! registers hold what memory holds for longer ones.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::region::Loop;
use super::{Of, Recorder};
use crate::dtype::DType;
use crate::error::Result;
use crate::interrupt;
use crate::ir::op::{Op, ScatterMode, ScatterOp};
use crate::ir::scalar::apply_bits;
use crate::ir::var::{Kind, VarId};
use crate::trace::copy::Copy;

/// Operations that the turns of a loop may take to be recorded one after another.
const MOST: u64 = 1 << 10;
/// Turns that are counted while recording.
const FAR: u64 = 1 << 16;

/// How many turns a loop takes.
#[derive(Clone, Copy)]
pub(super) struct Turns {
    pub(super) most: u64,
    /// Whether every lane that enters takes as many.
    pub(super) is_exact: bool,
}

/// An operation of a counter.
struct Step {
    op: Op,
    dtype: DType,
    /// The type of the last operand.
    operand: DType,
    from: SmallVec<[usize; 4]>,
    to: usize,
}

/// How the values of a counter follow from each other.
#[derive(Default)]
struct Counter {
    /// What stands in a slot is computed from what stands in others.
    steps: Vec<Step>,
    slots: Vec<u64>,
    of: Of<usize>,
}

impl Counter {
    fn put(&mut self, id: VarId, bits: u64) -> usize {
        self.of.insert(id, self.slots.len());
        self.slots.push(bits);
        self.slots.len() - 1
    }

    fn advance(&mut self) {
        for Step { op, dtype, operand, from, to } in &self.steps {
            let mut bits = [0; 3];
            bits.iter_mut().zip(from).for_each(|(bits, &from)| *bits = self.slots[from]);
            self.slots[*to] = apply_bits(*op, *dtype, *operand, bits);
        }
    }
}

impl Recorder<'_> {
    /// What stands for the values behind a loop of few turns, by position.
    ///
    /// # Errors
    /// None at present.
    pub(super) fn unrolled(&mut self, region: VarId) -> Result<Option<Vec<VarId>>> {
        let Some(turns) = self.few_turns_of(region) else { return Ok(None) };
        self.turn_by_turn(&self.loop_of(region), turns).map(Some)
    }

    /// How many turns a loop takes, if they are few and follow from numbers alone; none of one in which lanes overwrite
    /// what others wrote: all turns of a lane come before those of the next.
    pub(super) fn few_turns_of(&self, region: VarId) -> Option<Turns> {
        let shape = self.loop_of(region);
        if self.order_shows(&shape, true) {
            return None;
        }
        let turns = self.turns_told(&shape)?;
        (turns.most.saturating_mul(self.operations_of(&shape)) <= MOST).then_some(turns)
    }

    /// Whether an array shows that each lane writes all that it writes before the next one does, though what a body
    /// writes is recorded without it: one write after another, of all lanes. A body that is run once writes an array
    /// several times for that.
    pub(super) fn order_shows(&self, shape: &Loop, repeats: bool) -> bool {
        shape.values.iter().filter(|&&(state, _)| self.is_written(state)).any(|&(state, end)| {
            let (mut writes, mut id) = (Vec::new(), end);
            while let Kind::Scatter { op, mode, .. } = self.var(id).kind
                && id != state
                && let Some(target) = self.var(id).operands[0]
            {
                writes.push((op, mode));
                id = target;
            }
            let commute = |&(op, mode): &(ScatterOp, ScatterMode)| {
                op == writes[0].0 && (op != ScatterOp::Set || mode == ScatterMode::Apart)
            };
            (repeats || writes.len() > 1) && !writes.iter().all(commute)
        })
    }

    /// So many turns of a loop, one after another: the values behind them, by position.
    fn turn_by_turn(&mut self, shape: &Loop, turns: Turns) -> Result<Vec<VarId>> {
        let active = self.var(shape.running).operands[0];
        let active = active.filter(|&id| self.var(id).kind == Kind::ActiveMask);
        let entering = active.and_then(|active| self.var(active).operands[0]);
        let entering = entering.unwrap_or_else(|| self.constant(DType::Mask, 1));
        let mut now: Vec<VarId> =
            shape.values.iter().map(|&(state, _)| self.first_of(state)).collect();
        for _ in 0..turns.most {
            let mut copy = Copy::of_scope(shape.scope);
            copy.of.extend(shape.values.iter().zip(&now).map(|(&(state, _), &now)| (state, now)));
            copy.of.extend(active.map(|active| (active, entering)));
            if turns.is_exact {
                copy.of.insert(shape.running, entering);
            }
            let end = |&(_, end): &(VarId, VarId)| self.copied(&mut copy, end);
            now = shape.values.iter().map(end).collect::<Result<_>>()?;
        }
        let value = |(&(state, _), &value): (&(VarId, VarId), &VarId)| {
            if self.is_written(state) { Ok(value) } else { self.widen(value, shape.lanes) }
        };
        shape.values.iter().zip(&now).map(value).collect()
    }

    /// How many operations a turn of a loop takes, regions inside counted once.
    fn operations_of(&self, shape: &Loop) -> u64 {
        let mut seen: Of<()> = Of::default();
        let mut work: Vec<VarId> = shape.values.iter().map(|&(_, end)| end).collect();
        let mut n = 0;
        while let Some(id) = work.pop() {
            if self.var(id).scope >= shape.scope && seen.insert(id, ()).is_none() {
                n += 1;
                work.extend(self.var(id).operands());
            }
        }
        n
    }

    /// How many turns a loop takes, if that follows from numbers alone: those that a counter allows, which may be one of
    /// several conditions.
    pub(super) fn turns_told(&self, shape: &Loop) -> Option<Turns> {
        let mut conditions = vec![self.var(shape.running).operands[1]?];
        let mut most_told: Option<u64> = None;
        let mut is_exact = true;
        while let Some(condition) = conditions.pop() {
            let variable = self.var(condition);
            if variable.kind == Kind::Op(Op::And) && variable.scope >= shape.scope {
                conditions.extend(variable.operands());
            } else if let Some(most) = self.turns_while(shape, condition) {
                most_told = Some(most_told.map_or(most, |told| told.min(most)));
            } else {
                is_exact = false;
            }
        }
        most_told.map(|most| Turns { most, is_exact })
    }

    /// How many turns a loop takes while one of its conditions holds, if that follows from numbers alone.
    fn turns_while(&self, shape: &Loop, condition: VarId) -> Option<u64> {
        let ends: HashMap<VarId, VarId> = shape.values.iter().copied().collect();
        let mut counter = Counter::default();
        // As long as a lane goes on, it runs.
        counter.put(shape.running, 1);
        let mut states: Vec<VarId> = Vec::new();
        let holds = self.follow(&mut counter, &mut states, &ends, condition)?;
        let mut moves = Vec::new();
        while let Some(&state) = states.get(moves.len()) {
            moves.push(self.follow(&mut counter, &mut states, &ends, ends[&state])?);
        }
        let places: Vec<usize> = states.iter().map(|state| counter.of[state]).collect();
        let mut next = vec![0; places.len()];
        for turn in 0..FAR {
            counter.advance();
            if counter.slots[holds] & 1 == 0 {
                return Some(turn);
            }
            next.iter_mut().zip(&moves).for_each(|(next, &from)| *next = counter.slots[from]);
            places.iter().zip(&next).for_each(|(&to, &bits)| counter.slots[to] = bits);
            if turn.is_multiple_of(1 << 12) && interrupt::is_requested() {
                return None;
            }
        }
        None
    }

    /// Adds what a variable is computed from; its slot, if that is numbers and states.
    fn follow(
        &self,
        counter: &mut Counter,
        states: &mut Vec<VarId>,
        ends: &HashMap<VarId, VarId>,
        root: VarId,
    ) -> Option<usize> {
        let mut path = vec![root];
        while let Some(&id) = path.last() {
            if counter.of.contains_key(&id) {
                path.pop();
                continue;
            }
            let variable = self.var(id);
            match variable.kind {
                Kind::Literal(bits) | Kind::Constant(bits) => _ = counter.put(id, bits),
                Kind::Phi { memory: false } if ends.contains_key(&id) => {
                    let first = self.var(self.first_of(id)).kind.number()?;
                    counter.put(id, first);
                    states.push(id);
                }
                Kind::Op(op) => {
                    let operands: SmallVec<[VarId; 4]> = variable.operands().collect();
                    let unknown = operands.iter().find(|id| !counter.of.contains_key(id));
                    if let Some(&unknown) = unknown {
                        path.push(unknown);
                        continue;
                    }
                    let from = operands.iter().map(|id| counter.of[id]).collect();
                    let operand = self.dtype(*operands.last()?);
                    let to = counter.put(id, 0);
                    counter.steps.push(Step { op, dtype: variable.dtype, operand, from, to });
                }
                _ => return None,
            }
            path.pop();
        }
        counter.of.get(&root).copied()
    }
}
