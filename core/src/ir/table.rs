//! The variable table: slots, reference counts and value numbering (semantics S4, S5).
//!
//! Invariants:
//! * a live slot has at least one reference, external or internal, except while a recorder owns it;
//! * operands of a live variable are live (each holds an internal reference);
//! * `numbering` holds exactly the live variables whose `number` is not 0;
//! * a variable without references is dead: nothing finds it any more, but it waits to be freed;
//! * nothing here recurses over the graph, and reclamation is incremental: dropping the last handle of a
//!   million variables takes no longer than dropping that of a thousand. [`Table::sweep`] frees the rest.

mod accesses;
mod composites;
mod free_slots;
mod numbering;
mod open_regions;
mod reclaim;
mod recording_state;
mod rehearsals;
mod room;
mod tracking;
mod waiting;

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashTable;

use self::free_slots::FreeSlots;
pub(crate) use self::recording_state::OpenRegion;
pub use self::recording_state::Tracking;
use self::recording_state::{Detached, Recording};
use crate::convert::exactly;
use crate::dtype::DType;
use crate::error::{Error, ScriptLine};
use crate::ir::body::{Bodies, Body};
use crate::ir::composite::Rehearsals;
use crate::ir::display;
use crate::ir::var::{BodyId, Handle, Kind, MAX_OPERANDS, Serial, VarId, Variable};
use crate::log::{LogQueue, MAX_LEVEL, TRACE_LEVEL};
use crate::memory::buffer::Buffer;

/// Serials below this are never given out, as in Enoki.
const FIRST_SERIAL: u64 = 10;
/// Variables from which on what is held is evaluated though nobody asks: 600 MB of them.
const HIGH_WATER: usize = 1 << 20;

/// The variables that equal operations find.
pub(crate) struct Numbering {
    /// With their hashes, so that growing the table reads no variable.
    known: HashTable<(u64, VarId)>,
    /// Whether equal operations share a variable (flag `cse`).
    pub(crate) enabled: bool,
}

impl Default for Numbering {
    fn default() -> Self {
        Self { known: HashTable::new(), enabled: true }
    }
}

/// Slots without a live variable.
#[derive(Default)]
struct Unused {
    free: FreeSlots,
    /// Those of dead variables, to be freed.
    doomed: Vec<VarId>,
    /// What dead variables had of others, and whether somebody drops such.
    of_others: OfOthers,
    are_dropped: bool,
}

/// What others made: to drop it may call the session, so that waits until the table is unlocked.
pub(crate) type OfOthers = Vec<Arc<dyn Any + Send + Sync>>;

/// Which accesses are copies.
#[derive(Debug, Default)]
struct Accesses {
    /// Whether any has a name.
    are_named: bool,
    /// The serials of the originals, by those of the copies.
    originals: BTreeMap<u64, u64>,
    /// What derivatives were recorded for, by the serials of their accesses: an index of theirs is one of that.
    meant: BTreeMap<u64, &'static str>,
}

/// When to look at what waits.
#[derive(Debug)]
struct Looks {
    /// Reads before it is worth looking for values that are alike: the last look cost as much, and was in vain.
    pauses: usize,
    /// So many variables are too many.
    high_water: usize,
}

impl Default for Looks {
    fn default() -> Self {
        Self { pauses: 0, high_water: HIGH_WATER }
    }
}

/// All recorded values of a session.
pub struct Table {
    slots: Vec<Variable>,
    unused: Unused,
    pub(crate) numbering: Numbering,
    /// A superset of the variables that have handles and are not evaluated, each once; see
    /// [`Table::held_unevaluated`].
    candidates: Vec<VarId>,
    next_serial: u64,
    pub(crate) bodies: Bodies,
    pub(crate) recording: Recording,
    rehearsals: Rehearsals,
    /// The work list of the recorder, which is lent to it.
    owned: Vec<VarId>,
    accesses: Accesses,
    looks: Looks,
    detached: Vec<Detached>,
    /// Data that a launch writes over its inputs meanwhile: they are looked at when it has run.
    pub(crate) overwritten: Vec<VarId>,
    /// Lines waiting to be written once the table is unlocked.
    pub log: LogQueue,
}

impl Table {
    /// An empty table.
    pub fn new(log: LogQueue) -> Self {
        Self {
            slots: Vec::new(),
            unused: Unused::default(),
            numbering: Numbering::default(),
            candidates: Vec::new(),
            next_serial: FIRST_SERIAL,
            bodies: Bodies::default(),
            recording: Recording::default(),
            rehearsals: Rehearsals::default(),
            owned: Vec::new(),
            accesses: Accesses::default(),
            looks: Looks::default(),
            detached: Vec::new(),
            overwritten: Vec::new(),
            log,
        }
    }

    /// The serial of the variable that is made next.
    pub(crate) fn next_serial(&self) -> u64 {
        self.next_serial
    }

    /// The variable in slot `id`.
    #[inline]
    pub fn get(&self, id: VarId) -> &Variable {
        &self.slots[id.index()]
    }

    /// Whether it is neither in memory nor a number.
    #[inline]
    pub(crate) fn is_pending(&self, id: VarId) -> bool {
        let kind = self.get(id).kind;
        kind != Kind::Data && kind.number().is_none()
    }

    /// What who holds the variable keeps of it.
    #[inline]
    pub(crate) fn handle(&self, id: VarId) -> Handle {
        let &Variable { generation, dtype, size, .. } = self.get(id);
        Handle { id, generation, dtype, size }
    }

    /// The variable in slot `id`, to change.
    #[inline]
    pub fn get_mut(&mut self, id: VarId) -> &mut Variable {
        &mut self.slots[id.index()]
    }

    /// The body of a function that is one variable.
    #[inline]
    pub fn body(&self, id: BodyId) -> &Body {
        self.bodies.get(id)
    }

    /// Bytes of the temporaries of a function that is one variable.
    pub(crate) fn bytes_within(&self, variable: &Variable) -> u64 {
        if let Kind::Call(body) = variable.kind {
            return self.body(body).bytes_within().saturating_mul(variable.size);
        }
        variable.composite().map_or(0, |composite| composite.bytes_within)
    }

    /// Number of slots, live or free: an upper bound for `VarId::index`.
    pub fn n_slots(&self) -> usize {
        self.slots.len()
    }

    /// Number of variables that are not freed.
    pub fn n_live(&self) -> usize {
        self.slots.len() - self.unused.free.len()
    }

    /// Live variables in slot order.
    pub fn iter(&self) -> impl Iterator<Item = (VarId, &Variable)> {
        self.slots
            .iter()
            .enumerate()
            .filter(|(_, variable)| !variable.is_dead())
            .map(|(index, variable)| (VarId::new(exactly(index)), variable))
    }

    /// The slot that the next variable takes.
    #[inline]
    fn next_id(&self) -> VarId {
        let new = || VarId::new(exactly(self.slots.len()));
        self.unused.free.first().unwrap_or_else(new)
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
        let (mut scope, mut is_tracked) = (0, false);
        let counts = self.log.enabled(5);
        for operand in variable.operands.into_iter().flatten() {
            let operand_row = &mut self.slots[operand.index()];
            operand_row.internal += 1;
            scope = scope.max(operand_row.scope);
            is_tracked |= operand_row.tracked;
            if counts {
                self.log_count("inc_ref_int", operand, self.get(operand).internal);
            }
        }
        if variable.cold.is_some() || matches!(variable.kind, Kind::Output { .. }) {
            scope = self.count_aside(id, &variable, scope);
            is_tracked |= variable.operands_aside().any(|id| self.get(id).tracked);
        }
        if is_tracked {
            variable.tracked = self.may_be_tracked(&variable);
        }
        // What a region gives belongs to the regions around it.
        if !matches!(variable.kind, Kind::Region { .. } | Kind::Result { .. }) {
            variable.scope = variable.scope.max(scope);
        }
        if scope != 0 && self.recording.tracking() == Tracking::asked(false) {
            variable.cold_mut().is_detached = true;
        }
        if id.index() < self.slots.len() {
            self.unused.free.take_first();
            let slot = &mut self.slots[id.index()];
            variable.generation = slot.generation.wrapping_add(1);
            variable.is_listed = slot.is_listed;
            *slot = variable;
        } else {
            self.slots.push(variable);
        }
        self.add_candidate(id);
        // What a composite is made of was shown when it was called.
        if self.log.enabled(if self.recording.inlines { MAX_LEVEL } else { TRACE_LEVEL }) {
            display::trace_lines(self, id).into_iter().for_each(|line| self.log.push(line));
        }
        self.free_a_few();
        id
    }

    /// Counts the operands that do not stand in the row. Gives the scope of all that the value needs, if `scope` is
    /// that of the operands in the row.
    #[cold]
    fn count_aside(&mut self, id: VarId, variable: &Variable, mut scope: u32) -> u32 {
        for operand in variable.operands_aside() {
            self.inc_internal(operand);
            scope = scope.max(self.get(operand).scope);
        }
        if !matches!(variable.kind, Kind::Output { .. }) {
            return scope;
        }
        self.needs(id, variable).iter().map(|need| self.get(need).scope).max().unwrap_or(0)
    }

    /// The variables with handles that are neither data nor numbers, in recording order. Costs what
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
        // A slot that is used again is among them already.
        if std::mem::replace(&mut self.slots[id.index()].is_listed, true) {
            return;
        }
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
            let is_waiting = self.get(id).external > 0 && self.is_pending(id);
            self.get_mut(id).is_listed = is_waiting;
            is_waiting
        });
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

    /// Turns a variable into data: it keeps its buffer, and lets its operands go unless it is tracked.
    pub fn become_data(&mut self, id: VarId, data: std::sync::Arc<crate::memory::buffer::Buffer>) {
        self.forget_number(id);
        let variable = &mut self.slots[id.index()];
        if variable.keeps_operands() {
            variable.remember();
            (variable.kind, variable.data) = (Kind::Data, Some(data));
            return;
        }
        (variable.kind, variable.data) = (Kind::Data, Some(data));
        let operands = std::mem::replace(&mut variable.operands, [None; MAX_OPERANDS]);
        let cold = variable.cold.as_mut();
        let aside = cold.map(|cold| (cold.composite.take(), std::mem::take(&mut cold.arguments)));
        let (composite, aside) = aside.unzip();
        self.leave_composite(composite.flatten());
        operands.into_iter().flatten().for_each(|operand| self.dec_internal(operand));
        aside.into_iter().flatten().for_each(|operand| self.dec_internal(operand));
    }

    /// Makes a call the operation `result`, to which nothing else refers: with its operands and its place in value
    /// numbering.
    pub(super) fn become_equal(&mut self, id: VarId, result: VarId) {
        self.forget_number(id);
        let source = self.get(result);
        let (kind, operands, data) = (source.kind, source.operands, source.data.clone());
        let (number, composite) = (source.number, source.composite().cloned());
        let arguments: Box<[VarId]> = source.operands_aside().collect();
        operands.iter().flatten().chain(&*arguments).for_each(|&id| self.inc_internal(id));
        self.forget_number(result);
        let variable = &mut self.slots[id.index()];
        let generation = variable.generation;
        (variable.kind, variable.data) = (kind, data);
        let old = std::mem::replace(&mut variable.operands, operands);
        let cold = variable.cold_mut();
        let old_composite = std::mem::replace(&mut cold.composite, composite);
        let old_aside = std::mem::replace(&mut cold.arguments, arguments);
        self.leave_composite(old_composite);
        old.iter().flatten().chain(&*old_aside).for_each(|&operand| self.dec_internal(operand));
        if number != 0 {
            self.number(id, number);
        }
        if let (Kind::Result { position, .. }, Some(region)) = (kind, operands[0])
            && let Some(region) = &mut self.get_mut(region).cold_mut().region
        {
            region.results[position as usize] = (id, generation);
        }
    }

    /// Gives a variable another first operand.
    pub(crate) fn replace_source(&mut self, id: VarId, source: VarId) {
        self.forget_number(id);
        self.inc_internal(source);
        let old = self.slots[id.index()].operands[0].replace(source);
        old.into_iter().for_each(|old| self.dec_internal(old));
    }

    /// Makes contents unreadable: the memory of a device is gone, but for what is `rescued` from it.
    pub(crate) fn lose_contents(
        &mut self,
        device: &str,
        rescued: &mut dyn FnMut(&Buffer) -> Option<Arc<Buffer>>,
    ) {
        for variable in &mut self.slots {
            let (Some(data), None) = (&variable.data, variable.poisoned()) else { continue };
            if let Some(there) = rescued(data) {
                variable.data = Some(there);
                continue;
            }
            let (line, label) = (variable.line, variable.label());
            let label = label.map(|label| format!(" `{label}`")).unwrap_or_default();
            let line = (line > 0).then(|| format!(" of {}", ScriptLine::of(line)));
            let recorded = line.unwrap_or_default();
            let (array, device) = (format!("{label}{recorded}"), device.into());
            variable.cold_mut().poisoned = Some(Error::Lost { array, device });
        }
    }

    /// A copy of `id` that only the caller refers to; used to label one of several equal values.
    ///
    /// States and results belong to their region, which knows no copies: they stay what they are.
    pub fn fork(&mut self, id: VarId) -> VarId {
        let source = self.get(id);
        if matches!(source.kind, Kind::Phi { .. } | Kind::Result { .. }) {
            self.inc_external(id);
            return id;
        }
        // What is tracked stays behind the copy, which derivatives pass.
        if source.tracked {
            return self.same_value(id);
        }
        self.bare_copy(id)
    }

    /// Notes that a function which is recorded asked for lanes.
    #[cold]
    pub(crate) fn note_stand_in(&mut self, error: &Error) {
        if matches!(error, Error::StandIn { .. }) && self.recording.functions.has_own() {
            self.recording.fail(error.clone());
        }
    }

    /// A copy of `id` that knows nothing of derivatives.
    fn bare_copy(&mut self, id: VarId) -> VarId {
        let source = self.get(id);
        let mut copy = Variable::new(source.kind, source.dtype, source.size, source.operands);
        copy.line = source.line;
        copy.data.clone_from(&source.data);
        if let Some(cold) = &source.cold
            && (!cold.arguments.is_empty() || cold.composite.is_some())
        {
            copy.cold_mut().arguments.clone_from(&cold.arguments);
            copy.cold_mut().composite.clone_from(&cold.composite);
        }
        if let Some(error) = source.poisoned() {
            copy.cold_mut().poisoned = Some(error.clone());
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

    fn log_count(&mut self, what: &str, id: VarId, count: u32) {
        let serial = Serial(self.get(id).serial);
        self.log.push(format!("{what}({serial}) -> {count}"));
    }
}

/// A literal or constant number, as recorders build it.
pub fn number_variable(kind: Kind, dtype: DType, size: u64) -> Variable {
    Variable::new(kind, dtype, size, [None; MAX_OPERANDS])
}
