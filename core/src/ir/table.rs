//! The variable table: slots, reference counts and value numbering (semantics S4, S5).
//!
//! Invariants:
//! * a live slot has at least one reference, external or internal, except while a recorder owns it;
//! * operands of a live variable are live (each holds an internal reference);
//! * `numbering` holds exactly the live variables whose `number` is not 0;
//! * a variable without references is dead: nothing finds it any more, but it waits to be freed;
//! * nothing here recurses over the graph, and what dies is freed piece by piece: dropping the last handle of a
//!   million variables takes no longer than dropping that of a thousand. [`Table::sweep`] frees the rest.

mod room;

use std::collections::HashMap;
use std::hash::Hasher;
use std::thread::{ThreadId, current};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use crate::convert::exactly;
use crate::dtype::DType;
use crate::error::Error;
use crate::interrupt;
use crate::ir::body::{Bodies, Body, BodyId};
use crate::ir::display;
use crate::ir::mix::Mix;
use crate::ir::var::{Kind, MAX_OPERANDS, Serial, VarId, Variable};
use crate::log::{LogQueue, TRACE_LEVEL};

/// Serials below this are never given out, as in Enoki.
const FIRST_SERIAL: u64 = 10;

/// Dead variables freed at once when a handle is dropped: a fraction of a millisecond.
const FREED_BY_DROP: usize = 1 << 12;
/// Dead variables freed for each one that is recorded: more are never waiting than once were alive.
const FREED_BY_RECORDING: usize = 4;

/// A region that is being recorded, by one thread.
pub(crate) struct OpenRegion {
    /// Set by the table.
    pub(crate) scope: u32,
    /// Name and line of the call, for errors.
    pub(crate) op: &'static str,
    pub(crate) line: u32,
    pub(crate) thread: ThreadId,
    /// Variables from here on were recorded since it was opened; set by the table.
    pub(crate) serial: u64,
    /// Lanes that gathers and scatters are limited to.
    pub(crate) mask: VarId,
    /// Lanes of what was recorded so far; 1 broadcasts.
    pub(crate) lanes: u64,
    /// Whether it is run step by step, so that values can be read.
    pub(crate) evaluated: bool,
    /// Step by step: the serials of arrays after writes and before them, of the outermost body.
    pub(crate) writes: HashMap<u64, u64>,
}

/// All recorded values of a session.
pub struct Table {
    slots: Vec<Variable>,
    free: Vec<VarId>,
    /// Variables with their hashes, so that growing the table reads no variable.
    numbering: HashTable<(u64, VarId)>,
    /// Dead variables, to be freed.
    doomed: Vec<VarId>,
    owned: Vec<VarId>,
    /// A superset of the variables that somebody holds and that are not evaluated; see
    /// [`Table::held_unevaluated`].
    candidates: Vec<VarId>,
    next_serial: u64,
    last_scope: u32,
    open_regions: Vec<OpenRegion>,
    pub(crate) bodies: Bodies,
    /// Whether equal operations share a variable (flag `cse`).
    pub value_numbering: bool,
    /// Lines waiting to be written once the table is unlocked.
    pub log: LogQueue,
}

impl Table {
    /// An empty table.
    pub fn new(log: LogQueue) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            numbering: HashTable::new(),
            doomed: Vec::new(),
            owned: Vec::new(),
            candidates: Vec::new(),
            next_serial: FIRST_SERIAL,
            last_scope: 0,
            open_regions: Vec::new(),
            bodies: Bodies::default(),
            value_numbering: true,
            log,
        }
    }

    /// The variable in slot `id`.
    #[inline]
    pub fn get(&self, id: VarId) -> &Variable {
        &self.slots[id.index()]
    }

    /// The variable in slot `id`, to change.
    #[inline]
    pub fn get_mut(&mut self, id: VarId) -> &mut Variable {
        &mut self.slots[id.index()]
    }

    /// What a function that is one variable is made of.
    #[inline]
    pub fn body(&self, id: BodyId) -> &Body {
        self.bodies.get(id)
    }

    /// Bytes of the temporaries of a function that is one variable.
    pub(crate) fn bytes_within(&self, variable: &Variable) -> u64 {
        let Kind::Call(body) = variable.kind else { return 0 };
        self.body(body).bytes_within().saturating_mul(variable.size)
    }

    /// Number of slots, live or free: an upper bound for `VarId::index`.
    pub fn n_slots(&self) -> usize {
        self.slots.len()
    }

    /// Number of variables that are not freed.
    pub fn n_live(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Live variables in slot order.
    pub fn iter(&self) -> impl Iterator<Item = (VarId, &Variable)> {
        self.slots
            .iter()
            .enumerate()
            .filter(|(_, variable)| !variable.is_dead())
            .map(|(index, variable)| (VarId::new(exactly(index)), variable))
    }

    /// Adds a variable, or finds an equal one. The caller owns one external reference to the result.
    pub fn intern(&mut self, mut variable: Variable) -> VarId {
        let numbered = self.value_numbering && has_number(variable.kind);
        if !numbered {
            return self.insert(variable);
        }
        let hash = number(&variable);
        let next = self.next_id();
        let slots = &self.slots;
        let same = |&(other, id): &(u64, VarId)| {
            let known = &slots[id.index()];
            other == hash && same_number(known, &variable) && !known.is_dead()
        };
        match self.numbering.entry(hash, same, |&(hash, _)| hash) {
            Entry::Occupied(entry) => {
                let id = entry.get().1;
                self.inc_external(id);
                id
            }
            Entry::Vacant(entry) => {
                entry.insert((hash, next));
                variable.number = hash;
                self.insert_at(next, variable)
            }
        }
    }

    /// The slot that the next variable takes.
    #[inline]
    fn next_id(&self) -> VarId {
        let new = || VarId::new(exactly(self.slots.len()));
        self.free.last().copied().unwrap_or_else(new)
    }

    /// Adds a variable that value numbering never merges with another. The caller owns one external
    /// reference to the result.
    pub fn insert(&mut self, variable: Variable) -> VarId {
        self.insert_at(self.next_id(), variable)
    }

    #[inline(always)]
    fn insert_at(&mut self, id: VarId, mut variable: Variable) -> VarId {
        variable.serial = self.next_serial;
        self.next_serial += 1;
        variable.external = 1;
        variable.internal = 0;
        let mut scope = 0;
        let counts = self.log.enabled(5);
        for operand in variable.operands.into_iter().flatten() {
            let operand_row = &mut self.slots[operand.index()];
            operand_row.internal += 1;
            scope = scope.max(operand_row.scope);
            if counts {
                self.log_count("inc_ref_int", operand, self.get(operand).internal);
            }
        }
        if let Some(region) = variable.region() {
            let more = (0..).map_while(|position| region.operand(position));
            more.for_each(|operand| self.inc_internal(operand));
        }
        // What a region gives belongs to the regions around it.
        if !matches!(variable.kind, Kind::Region { .. } | Kind::Result { .. }) {
            variable.scope = variable.scope.max(scope);
        }
        if self.free.pop().is_some() {
            let slot = &mut self.slots[id.index()];
            variable.generation = slot.generation.wrapping_add(1);
            *slot = variable;
        } else {
            self.slots.push(variable);
        }
        self.add_candidate(id);
        if self.log.enabled(TRACE_LEVEL) {
            display::trace_lines(self, id).into_iter().for_each(|line| self.log.push(line));
        }
        if !self.doomed.is_empty() {
            self.free_doomed(FREED_BY_RECORDING);
        }
        id
    }

    /// The variables that somebody holds, that are neither data nor numbers, in recording order. Costs what
    /// was recorded since the last call, not the size of the table.
    pub fn held_unevaluated(&mut self) -> Vec<VarId> {
        self.prune_candidates();
        let mut held = self.candidates.clone();
        // What stands for values in a body has no lanes.
        held.retain(|&id| self.get(id).scope == 0);
        held.sort_unstable_by_key(|&id| self.get(id).serial);
        held
    }

    #[inline]
    fn add_candidate(&mut self, id: VarId) {
        if self.candidates.len() == self.candidates.capacity() {
            self.make_room_for_candidates();
        }
        self.candidates.push(id);
    }

    /// Before the list grows, drops what died: it stays within twice the number of live ones.
    #[cold]
    fn make_room_for_candidates(&mut self) {
        self.prune_candidates();
        self.candidates.reserve(self.candidates.len() + 64);
    }

    fn prune_candidates(&mut self) {
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.retain(|&id| {
            let variable = self.get(id);
            let pending = variable.kind != Kind::Data && variable.kind.number().is_none();
            variable.external > 0 && pending
        });
        candidates.sort_unstable();
        candidates.dedup();
        self.candidates = candidates;
    }

    /// Adds an external reference.
    #[inline]
    pub fn inc_external(&mut self, id: VarId) {
        let variable = &mut self.slots[id.index()];
        variable.external += 1;
        if variable.external == 1 {
            self.add_candidate(id);
        }
        if self.log.enabled(5) {
            self.log_count("inc_ref_ext", id, self.get(id).external);
        }
    }

    /// Adds an internal reference.
    #[inline]
    pub fn inc_internal(&mut self, id: VarId) {
        self.slots[id.index()].internal += 1;
        if self.log.enabled(5) {
            self.log_count("inc_ref_int", id, self.get(id).internal);
        }
    }

    /// Drops an external reference; what nothing refers to any more is freed, now or a little later.
    #[inline]
    pub fn dec_external(&mut self, id: VarId) {
        let variable = &mut self.slots[id.index()];
        debug_assert!(variable.external > 0, "internal error: no external reference to drop");
        variable.external -= 1;
        let dead = variable.is_dead();
        if self.log.enabled(5) {
            self.log_count("dec_ref_ext", id, self.get(id).external);
        }
        if dead {
            self.doomed.push(id);
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
            self.doomed.push(id);
            self.free_doomed(FREED_BY_DROP);
        }
    }

    /// Turns a variable into data: it keeps its buffer and lets its operands go.
    pub fn become_data(&mut self, id: VarId, data: std::sync::Arc<crate::buffer::Buffer>) {
        self.forget_number(id);
        let variable = &mut self.slots[id.index()];
        variable.kind = Kind::Data;
        variable.data = Some(data);
        let operands = std::mem::replace(&mut variable.operands, [None; MAX_OPERANDS]);
        for operand in operands.into_iter().flatten() {
            self.dec_internal(operand);
        }
    }

    /// Gives a variable another first operand.
    pub(crate) fn replace_source(&mut self, id: VarId, source: VarId) {
        self.forget_number(id);
        self.inc_internal(source);
        let old = self.slots[id.index()].operands[0].replace(source);
        old.into_iter().for_each(|old| self.dec_internal(old));
    }

    /// Opens a region; its scope is above those of all before.
    pub(crate) fn open_region(&mut self, mut region: OpenRegion) -> u32 {
        self.last_scope += 1;
        region.scope = self.last_scope;
        region.serial = self.next_serial;
        self.open_regions.push(region);
        self.last_scope
    }

    /// Closes a region of this thread and those opened inside it.
    pub(crate) fn close_region(&mut self, scope: u32) {
        let own = std::thread::current().id();
        self.open_regions.retain(|region| region.scope < scope || region.thread != own);
    }

    /// The array before the last write to it, or before the region that wrote it.
    pub(crate) fn before_write(&self, id: VarId) -> Option<VarId> {
        let variable = self.get(id);
        match variable.kind {
            Kind::Scatter { .. } => variable.operands[0],
            Kind::Result { position, memory: true } => {
                let region = self.get(variable.operands[0]?).region()?;
                let (state, _) = *region.values.get(position as usize)?;
                self.get(state).operands[0]
            }
            Kind::Literal(_)
            | Kind::Constant(_)
            | Kind::Index
            | Kind::Op(_)
            | Kind::Call(_)
            | Kind::Gather { .. }
            | Kind::Fetch
            | Kind::Reduce(_)
            | Kind::Primitive(_)
            | Kind::Entering
            | Kind::Running
            | Kind::State { .. }
            | Kind::Region { .. }
            | Kind::Result { memory: false, .. }
            | Kind::Data => None,
        }
    }

    /// Notes a write of a body that runs step by step, to be known when it was evaluated.
    pub(crate) fn note_write(&mut self, result: VarId, target: VarId) {
        let [result, target] = [result, target].map(|id| self.get(id).serial);
        let own = std::thread::current().id();
        let mut open = self.open_regions.iter_mut();
        if let Some(outermost) = open.find(|region| region.evaluated && region.thread == own) {
            outermost.writes.insert(result, target);
        }
    }

    /// The serial of an array before a noted write.
    pub(crate) fn written_before(&self, serial: u64) -> Option<u64> {
        self.own_regions().find(|region| region.evaluated)?.writes.get(&serial).copied()
    }

    /// The regions that this thread records, from the outermost.
    pub(crate) fn own_regions(&self) -> impl Iterator<Item = &OpenRegion> {
        let own = std::thread::current().id();
        self.open_regions.iter().filter(move |region| region.thread == own)
    }

    /// The error of using a value of a region's body where it has no lanes.
    pub(crate) fn inside(&self, what: &'static str, scope: u32) -> Error {
        let open = self.open_regions.iter().find(|region| region.scope == scope);
        match open {
            Some(region) => Error::Recording { what, region: region.op, line: region.line },
            None => Error::LeftRegion { what },
        }
    }

    /// The innermost region that this thread records.
    #[inline]
    pub(crate) fn open_region_mut(&mut self) -> Option<&mut OpenRegion> {
        // Nearly always there is none.
        let thread = if self.open_regions.is_empty() { None } else { Some(current().id()) };
        let mut open = self.open_regions.iter_mut().rev();
        open.find(|region| Some(region.thread) == thread)
    }

    /// Takes a variable out of value numbering, so that later recordings never find it.
    pub fn forget_number(&mut self, id: VarId) {
        let variable = &mut self.slots[id.index()];
        let hash = std::mem::take(&mut variable.number);
        if hash == 0 {
            return;
        }
        if let Ok(entry) = self.numbering.find_entry(hash, |&(_, other)| other == id) {
            entry.remove();
        }
    }

    /// Makes all contents unreadable: their memory is gone.
    pub fn lose_contents(&mut self, why: &Error) {
        for variable in &mut self.slots {
            if variable.data.is_some() {
                variable.rare_mut().poisoned = Some(why.clone());
            }
        }
    }

    /// A copy of `id` that only the caller refers to; used to label one of several equal values.
    ///
    /// States and results belong to their region, which knows no copies: they stay what they are.
    pub fn fork(&mut self, id: VarId) -> VarId {
        let source = self.get(id);
        if matches!(source.kind, Kind::State { .. } | Kind::Result { .. }) {
            self.inc_external(id);
            return id;
        }
        let mut copy = Variable::new(source.kind, source.dtype, source.size, source.operands);
        copy.line = source.line;
        copy.data.clone_from(&source.data);
        if let Some(error) = source.poisoned() {
            copy.rare_mut().poisoned = Some(error.clone());
        }
        self.insert(copy)
    }

    /// Lends the work list of a recorder, so that recording one operation allocates nothing.
    pub(crate) fn take_owned(&mut self) -> Vec<VarId> {
        std::mem::take(&mut self.owned)
    }

    /// Takes the work list back.
    pub(crate) fn put_owned(&mut self, owned: Vec<VarId>) {
        self.owned = owned;
    }

    /// Frees what is dead with the memory it holds, unless Ctrl-C comes: who needs memory, or counts of references,
    /// sweeps before.
    pub fn sweep(&mut self) {
        while !self.doomed.is_empty() && !interrupt::is_requested() {
            self.free_doomed(FREED_BY_DROP);
        }
    }

    /// Frees so many dead variables.
    fn free_doomed(&mut self, most: usize) {
        for _ in 0..most {
            let Some(id) = self.doomed.pop() else { break };
            self.forget_number(id);
            if self.log.enabled(5) {
                let serial = self.get(id).serial;
                self.log.push(format!("var_free({serial})"));
            }
            let variable = &mut self.slots[id.index()];
            variable.data = None;
            let operands = std::mem::replace(&mut variable.operands, [None; MAX_OPERANDS]);
            let rare = variable.rare.take();
            operands.into_iter().flatten().for_each(|operand| self.release(operand));
            if let Some(region) = rare.and_then(|rare| rare.region) {
                let more = (0..).map_while(|position| region.operand(position));
                more.for_each(|operand| self.release(operand));
            }
            self.free.push(id);
        }
    }

    /// Drops an internal reference; what nothing refers to any more waits to be freed.
    #[inline]
    fn release(&mut self, operand: VarId) {
        let variable = &mut self.slots[operand.index()];
        variable.internal -= 1;
        if variable.is_dead() {
            self.doomed.push(operand);
        }
    }

    fn log_count(&mut self, what: &str, id: VarId, count: u32) {
        let serial = Serial(self.get(id).serial);
        self.log.push(format!("{what}({serial}) -> {count}"));
    }
}

/// Whether equal variables of this kind mean the same value for ever.
fn has_number(kind: Kind) -> bool {
    match kind {
        Kind::Literal(_)
        | Kind::Constant(_)
        | Kind::Index
        | Kind::Op(_)
        | Kind::Call(_)
        | Kind::Gather { .. }
        | Kind::Reduce(_)
        | Kind::Primitive(_) => true,
        // Each region has states of its own; a region's results are as many as its values.
        Kind::Fetch
        | Kind::Scatter { .. }
        | Kind::Entering
        | Kind::Running
        | Kind::State { .. }
        | Kind::Region { .. }
        | Kind::Result { .. }
        | Kind::Data => false,
    }
}

fn same_number(a: &Variable, b: &Variable) -> bool {
    a.kind == b.kind && a.operands == b.operands && a.dtype == b.dtype && a.size == b.size
}

/// A hash of what makes variables equal; never 0.
fn number(variable: &Variable) -> u64 {
    let (tag, payload) = match variable.kind {
        Kind::Literal(bits) => (0, bits),
        Kind::Constant(bits) => (1, bits),
        Kind::Index => (2, 0),
        Kind::Op(op) => (3, op as u64),
        Kind::Gather { checked } => (4, u64::from(checked)),
        Kind::Scatter { op, mode, checked, counts } => {
            let flags = u64::from(counts) * 4 + mode as u64 * 2 + u64::from(checked);
            (5, op as u64 * 8 + flags)
        }
        Kind::Reduce(op) => (6, op as u64),
        Kind::Entering => (7, 0),
        Kind::Running => (8, 0),
        Kind::State { memory } => (9, u64::from(memory)),
        Kind::Region { repeat } => (10, u64::from(repeat)),
        Kind::Result { position, memory } => (11, u64::from(position) * 2 + u64::from(memory)),
        Kind::Data => (12, 0),
        Kind::Primitive(primitive) => (13, primitive.number()),
        Kind::Call(body) => (14, body.index() as u64),
        Kind::Fetch => (15, 0),
    };
    let slot = |i: usize| variable.operands[i].map_or(0, |id| id.index() as u64 + 1);
    let mut hasher = Mix::default();
    hasher.write_u64(payload ^ (tag << 56) ^ ((variable.dtype as u64) << 48));
    hasher.write_u64(variable.size);
    hasher.write_u64(slot(0) | slot(1) << 32);
    hasher.write_u64(slot(2) | slot(3) << 32);
    hasher.finish().max(1)
}

/// A literal or constant number, as recorders build it.
pub fn number_variable(kind: Kind, dtype: DType, size: u64) -> Variable {
    Variable::new(kind, dtype, size, [None; MAX_OPERANDS])
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::ir::op::Op;
    use crate::log::Log;

    fn table() -> Table {
        Table::new(LogQueue::new(Log::new(0, Arc::new(|_| ()))))
    }

    /// A chain of so many operations; the caller holds its end.
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
        assert_eq!((table.n_live(), table.numbering.len()), (0, 0));
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
