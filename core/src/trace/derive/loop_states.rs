//! What is kept of the turns of loops, to go back through them.
//!
//! A loop is run once to count its turns, which are read, unless numbers tell them; and once to keep what its states are at
//! the beginning of each turn, in an array for each state, by turn and lane. Of a loop inside another one it is by turn of
//! that, own turn and lane.

use super::region::Loop;
use super::unroll::Turns;
use super::{Of, Recorder};
use crate::dtype::DType;
use crate::error::{Error, Result, ScriptLine};
use crate::ir::op::{Op, ReduceOp, ScatterMode, ScatterOp, Writer};
use crate::ir::primitive::lane_number_type;
use crate::ir::var::{Kind, VarId};
use crate::memory::caching_allocator::Bytes;
use crate::trace::copy::Copy;
use crate::trace::region::Change;

/// Memory for turns of which it is not known whether they are taken: where it is less, they are not counted.
const UNCOUNTED: u64 = 64 << 20;

/// A loop, and the loops in its body in which turns are counted too.
#[derive(Clone)]
pub(super) struct Nest {
    pub(super) region: VarId,
    pub(super) shape: Loop,
    pub(super) inner: Vec<Self>,
}

impl Nest {
    /// How many loops it has.
    fn len(&self) -> usize {
        1 + self.inner.iter().map(Self::len).sum::<usize>()
    }
}

/// What is kept of a loop.
#[derive(Clone)]
pub(super) struct Kept {
    /// Of each state its values, but for arrays that it writes, and where turns are undone.
    pub(super) states: Vec<Option<VarId>>,
    /// Where turns are undone, the states behind the loop.
    pub(super) ends: Option<Vec<VarId>>,
    /// Of such arrays the turn and lane whose value each entry has in the end.
    pub(super) writers: Vec<Option<VarId>>,
    /// How many turns each lane takes.
    pub(super) count: VarId,
    /// The turn of the loops around it.
    pub(super) around: Option<VarId>,
    /// The largest number of turns.
    turns: u64,
    /// Those in its body, and the loop that each is of.
    pub(super) inner: Vec<(VarId, Self)>,
}

/// Arrays to keep something of a loop and the loops inside.
struct Rooms {
    /// As in [`Kept`].
    states: Vec<Option<VarId>>,
    writers: Vec<Option<VarId>>,
    turns: u64,
    /// How many turns are there in all, with those of the loops around.
    in_all: u64,
    /// Those of the loops inside, and their numbers of turns, which the loop around writes.
    inner: Vec<(VarId, Self)>,
}

impl Rooms {
    /// All arrays that a loop writes.
    fn each(&mut self, visit: &mut impl FnMut(&mut VarId)) {
        self.states.iter_mut().chain(&mut self.writers).flatten().for_each(&mut *visit);
        for (counts, inner) in &mut self.inner {
            visit(counts);
            inner.each(visit);
        }
    }

    fn ids(&mut self) -> Vec<VarId> {
        let mut ids = Vec::new();
        self.each(&mut |room| ids.push(*room));
        ids
    }
}

impl Recorder<'_> {
    /// A loop with those in its body.
    ///
    /// # Errors
    /// `Argument` for what is not gone through backwards.
    pub(super) fn nest_of(&mut self, region: VarId) -> Result<Nest> {
        if self.table.open_region_mut().is_some() {
            return Err(self.none_backwards(region, "inside a branch of another one"));
        }
        self.nest_in(region, true)
    }

    fn nest_in(&self, region: VarId, is_outermost: bool) -> Result<Nest> {
        let shape = self.loop_of(region);
        let known = self.var(region).region();
        let writes = |&(state, _): &(VarId, VarId)| self.is_written(state);
        if known.is_some_and(|known| known.fetches) {
            return Err(self.none_backwards(region, "in which lanes read what others write"));
        }
        if !is_outermost && shape.values.iter().any(writes) {
            return Err(self.none_backwards(region, "inside another one that writes an array"));
        }
        let mut inside = self.loops_in(&shape);
        // What one is made of comes before it.
        inside.sort_by_key(|&id| self.var(id).serial);
        let inner = inside.into_iter().map(|id| self.nest_in(id, false)).collect::<Result<_>>()?;
        Ok(Nest { region, shape, inner })
    }

    /// The loops in the body of one that are not recorded turn by turn.
    fn loops_in(&self, shape: &Loop) -> Vec<VarId> {
        let mut found = Vec::new();
        let mut seen: Of<()> = Of::default();
        let mut work: Vec<VarId> = shape.values.iter().map(|&(_, end)| end).collect();
        while let Some(id) = work.pop() {
            let variable = self.var(id);
            if variable.scope < shape.scope || seen.insert(id, ()).is_some() {
                continue;
            }
            let is_loop = variable.kind == Kind::Region { repeat: true };
            if is_loop && variable.scope == shape.scope && self.few_turns_of(id).is_none() {
                found.push(id);
            }
            work.extend(variable.operands());
        }
        found
    }

    /// Whether a state is an array that the loop writes.
    pub(super) fn is_written(&self, state: VarId) -> bool {
        self.var(state).kind == Kind::Phi { memory: true }
    }

    /// The largest numbers of turns in any lane of a loop and those inside, as variables of one lane.
    ///
    /// # Errors
    /// None at present.
    pub(super) fn turns_of(&mut self, nest: &Nest) -> Result<Vec<VarId>> {
        if nest.shape.lanes == 0 {
            return Ok(vec![self.constant(DType::U32, 0); nest.len()]);
        }
        if nest.inner.is_empty()
            && let Some(Turns { most, is_exact }) = self.turns_told(&nest.shape)
        {
            let bytes = self.bytes_of(nest, 1, &mut [most].into_iter());
            if is_exact || bytes.is_some_and(|bytes| bytes <= UNCOUNTED) {
                return Ok(vec![self.constant(DType::U32, most)]);
            }
        }
        let counts = self.counted(&mut Copy::of_scope(nest.shape.scope), nest)?;
        counts.into_iter().map(|count| self.reduce(ReduceOp::Max, count)).collect()
    }

    /// The numbers of turns of each lane: those of the loop, and the largest of each loop inside.
    fn counted(&mut self, copy: &mut Copy, nest: &Nest) -> Result<Vec<VarId>> {
        let none = self.literal(DType::U32, 0, nest.shape.lanes);
        self.run_again(copy, nest, |recorder, copy, scope| {
            let states: Vec<VarId> = (0..nest.len()).map(|_| recorder.state(scope, none)).collect();
            let mut changes = vec![recorder.one_more(states[0], Op::Add)?];
            let mut most = states[1..].iter();
            for inner in &nest.inner {
                for count in recorder.counted(copy, inner)? {
                    let Some(&state) = most.next() else { continue };
                    changes.push(Change::of(state, recorder.same(Op::Max, &[state, count])?));
                }
            }
            Ok(changes)
        })
    }

    /// One turn more, or less.
    pub(super) fn one_more(&mut self, count: VarId, op: Op) -> Result<Change> {
        let one = self.constant(self.dtype(count), 1);
        self.same(op, &[count, one]).map(|next| Change::of(count, next))
    }

    /// Records a loop again, without the arrays that it writes, and with more in its body; the values of that behind it.
    fn run_again(
        &mut self,
        copy: &mut Copy,
        nest: &Nest,
        more: impl FnOnce(&mut Self, &mut Copy, u32) -> Result<Vec<Change>>,
    ) -> Result<Vec<VarId>> {
        let Nest { region, shape, .. } = nest;
        let mut values = shape.values.clone();
        values.retain(|&(state, _)| !self.is_written(state));
        let mut results = self.copied_with(copy, *region, &values, more)?;
        let more = results.split_off(values.len());
        let mut results = results.into_iter();
        let result = |&(state, _): &(VarId, VarId)| {
            let own = if self.is_written(state) { None } else { results.next() };
            own.unwrap_or_else(|| self.first_of(state))
        };
        copy.results.insert(*region, shape.values.iter().map(result).collect());
        Ok(more)
    }

    /// Runs a loop and those inside, of so many turns each, and keeps what their states are; of the arrays that are
    /// `watched` who wrote them.
    ///
    /// # Errors
    /// `Argument` where that takes more memory than there is room.
    pub(super) fn keep_turns(
        &mut self,
        nest: &Nest,
        watched: &[bool],
        turns: &[u64],
        room: u64,
    ) -> Result<Kept> {
        let needed = self.bytes_of(nest, 1, &mut turns.iter().copied());
        if needed.is_none_or(|bytes| bytes > room) {
            let needed =
                needed.map_or_else(|| "more than there is".into(), |n| Bytes(n).to_string());
            let what = format!(
                "the states of {} turns of a loop ({}) take {needed}, there are {}; say how a turn is undone, \
                 #{{invertible: f}}, take fewer turns or lanes at a time, or forward mode: jvp, forward(x)",
                turns[0],
                ScriptLine::of(self.var(nest.region).line),
                Bytes(room)
            );
            return Err(Error::Argument { op: "backward", what });
        }
        let mut rooms = self.rooms_of(nest, 1, &mut turns.iter().copied());
        for (place, (&(state, _), is_watched)) in nest.shape.values.iter().zip(watched).enumerate()
        {
            if *is_watched {
                let dtype = lane_number_type(turns[0].max(1) * nest.shape.lanes);
                rooms.writers[place] = Some(self.nobody(dtype, self.size(state)));
            }
        }
        let count = self.filled(&mut Copy::of_scope(nest.shape.scope), nest, &mut rooms, None)?;
        Ok(kept(nest, rooms, count))
    }

    /// What is kept of a loop whose turns can be undone: where it ends, and after how many.
    ///
    /// # Errors
    /// None at present.
    pub(super) fn keep_ends(&mut self, region: VarId) -> Result<Option<Kept>> {
        let is_undone = self.var(region).region().is_some_and(|known| !known.undone.is_empty());
        if !is_undone || self.table.open_region_mut().is_some() {
            return Ok(None);
        }
        let nest = self.nest_of(region)?;
        let n = nest.shape.values.len();
        if !nest.inner.is_empty()
            || nest.shape.values.iter().any(|&(state, _)| self.is_written(state))
        {
            return Ok(None);
        }
        let mut copy = Copy::of_scope(nest.shape.scope);
        let count = self.counted(&mut copy, &nest)?[0];
        let (ends, states, writers) = (copy.results.remove(&region), vec![None; n], vec![None; n]);
        let (around, turns, inner) = (None, 1, Vec::new());
        Ok(Some(Kept { states, ends, writers, count, around, turns, inner }))
    }

    /// An array that nobody wrote.
    pub(super) fn nobody(&mut self, dtype: DType, size: u64) -> VarId {
        self.literal(dtype, u64::MAX >> (64 - dtype.bits()), size)
    }

    /// The memory that the states of all turns take; `None` beyond all numbers.
    fn bytes_of(
        &self,
        nest: &Nest,
        around: u64,
        turns: &mut impl Iterator<Item = u64>,
    ) -> Option<u64> {
        let own = around.checked_mul(turns.next()?.max(1))?;
        let states = nest.shape.values.iter().filter(|(state, _)| !self.is_written(*state));
        let bytes: u64 = states.map(|&(state, _)| self.dtype(state).bytes() as u64).sum();
        let mut sum = own.checked_mul(nest.shape.lanes.max(1))?.checked_mul(bytes)?;
        for inner in &nest.inner {
            sum = sum.checked_add(self.bytes_of(inner, own, turns)?)?;
        }
        Some(sum)
    }

    fn rooms_of(
        &mut self,
        nest: &Nest,
        around: u64,
        left: &mut impl Iterator<Item = u64>,
    ) -> Rooms {
        let turns = left.next().unwrap_or_default().max(1);
        let (lanes, in_all) = (nest.shape.lanes, around * turns);
        let room = |&(state, _): &(VarId, VarId)| {
            let dtype = self.dtype(state);
            (!self.is_written(state)).then(|| self.literal(dtype, 0, in_all * lanes))
        };
        let states: Vec<Option<VarId>> = nest.shape.values.iter().map(room).collect();
        let inner = nest.inner.iter().map(|inner| {
            let rooms = self.rooms_of(inner, in_all, left);
            let lanes = inner.shape.lanes;
            let counter = lane_number_type(rooms.in_all * lanes);
            (self.literal(counter, 0, in_all * lanes), rooms)
        });
        let inner = inner.collect();
        Rooms { writers: vec![None; states.len()], states, turns, in_all, inner }
    }

    /// Runs a loop that fills its rooms; how many turns each lane takes.
    fn filled(
        &mut self,
        copy: &mut Copy,
        nest: &Nest,
        rooms: &mut Rooms,
        around: Option<VarId>,
    ) -> Result<VarId> {
        let lanes = nest.shape.lanes;
        let none = self.literal(lane_number_type(rooms.in_all * lanes), 0, lanes);
        let mut results = self.run_again(copy, nest, |recorder, copy, scope| {
            rooms.each(&mut |room| *room = recorder.state(scope, *room));
            let states = rooms.ids();
            let count = recorder.state(scope, none);
            let turn = recorder.turn_of(around, rooms.turns, count)?;
            let place = recorder.place_of(turn, lanes)?;
            for (&(state, _), room) in nest.shape.values.iter().zip(&mut rooms.states) {
                if let Some(room) = room {
                    let value = recorder.copied(copy, state)?;
                    *room = recorder.set_apart(*room, value, place)?;
                }
            }
            for (&(_, end), room) in nest.shape.values.iter().zip(&mut rooms.writers) {
                if let Some(room) = room {
                    *room = recorder.signed(copy, end, *room, place)?;
                }
            }
            for (inner, (counts, rooms)) in nest.inner.iter().zip(&mut rooms.inner) {
                let count = recorder.filled(copy, inner, rooms, Some(turn))?;
                let place = recorder.place_of(turn, inner.shape.lanes)?;
                *counts = recorder.set_apart(*counts, count, place)?;
            }
            let changes =
                states.iter().zip(rooms.ids()).map(|(&state, end)| Change::of(state, end));
            changes.map(Ok).chain([recorder.one_more(count, Op::Add)]).collect()
        })?;
        let count = results.pop().expect("internal error: a loop without a number of turns");
        let mut results = results.into_iter();
        rooms.each(&mut |room| *room = results.next().unwrap_or(*room));
        Ok(count)
    }

    /// The number of a turn among all turns of the loops around.
    pub(super) fn turn_of(
        &mut self,
        around: Option<VarId>,
        turns: u64,
        turn: VarId,
    ) -> Result<VarId> {
        let Some(around) = around else { return Ok(turn) };
        let dtype = self.dtype(turn);
        let (around, turns) = (self.cast(around, dtype)?, self.constant(dtype, turns));
        self.same(Op::Fma, &[around, turns, turn])
    }

    /// Where the states of a turn are kept.
    pub(super) fn place_of(&mut self, turn: VarId, lanes: u64) -> Result<VarId> {
        let dtype = self.dtype(turn);
        let (lane, lanes) = (self.lane_index(dtype, lanes), self.literal(dtype, lanes, 1));
        self.same(Op::Fma, &[turn, lanes, lane])
    }

    fn set_apart(&mut self, room: VarId, value: VarId, place: VarId) -> Result<VarId> {
        let operands = [room, value, place];
        self.write(ScatterOp::Set, ScatterMode::Apart, Writer::Scatter, operands, None)
    }

    /// Writes where a value is written who does.
    fn signed(&mut self, copy: &mut Copy, end: VarId, room: VarId, place: VarId) -> Result<VarId> {
        let Kind::Scatter { mode, .. } = self.var(end).kind else { return Ok(room) };
        let [index, active] = self.copied_access(copy, end)?;
        let Some(index) = index else { return Ok(room) };
        self.write(ScatterOp::Set, mode, Writer::Scatter, [room, place, index], active)
    }

    /// Index and mask of a write in a body, copied.
    pub(super) fn copied_access(
        &mut self,
        copy: &mut Copy,
        end: VarId,
    ) -> Result<[Option<VarId>; 2]> {
        let [index, active] = [2, 3].map(|place| self.var(end).operands[place]);
        let mut copied = |id: Option<VarId>| id.map(|id| self.copied(copy, id)).transpose();
        Ok([copied(index)?, copied(active)?])
    }
}

/// What is kept in rooms that are filled.
fn kept(nest: &Nest, rooms: Rooms, count: VarId) -> Kept {
    let inner = nest.inner.iter().zip(rooms.inner);
    let inner = inner.map(|(inner, (counts, rooms))| (inner.region, kept(inner, rooms, counts)));
    let inner = inner.collect();
    let Rooms { states, writers, turns, .. } = rooms;
    Kept { states, ends: None, writers, count, around: None, turns, inner }
}

impl Kept {
    /// What is kept of the loops inside, for the copies of them.
    pub(super) fn of_copies(&self, recorder: &Recorder<'_>, copy: &Copy) -> Vec<(VarId, Self)> {
        let made_by = |result: &VarId| match recorder.var(*result).kind {
            Kind::Result { .. } => recorder.var(*result).operands[0],
            _ => None,
        };
        let of_copy = |(region, kept): &(VarId, Self)| {
            let copied = copy.results.get(region)?.iter().find_map(made_by)?;
            let inner = kept.of_copies(recorder, copy);
            Some((copied, Self { inner, ..kept.clone() }))
        };
        self.inner.iter().filter_map(of_copy).collect()
    }

    /// What is kept of a loop in the body of another one, at a turn of that.
    ///
    /// # Errors
    /// None at present.
    pub(super) fn at(&self, recorder: &mut Recorder<'_>, turn: VarId, lanes: u64) -> Result<Self> {
        let place = recorder.place_of(turn, lanes)?;
        let count = recorder.pick(self.count, place, None)?;
        Ok(Self { count, around: Some(turn), ..self.clone() })
    }

    /// The number of a turn among all of it.
    ///
    /// # Errors
    /// None at present.
    pub(super) fn turn(&self, recorder: &mut Recorder<'_>, turn: VarId) -> Result<VarId> {
        recorder.turn_of(self.around, self.turns, turn)
    }
}
