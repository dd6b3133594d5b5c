//! Recording of regions (S21): the bodies of loops and branches, once, with their states.
//!
//! A region is opened, its condition and body are recorded with the states in the place of values, and it
//! is closed with the values at the body's end. What the body reads from outside it uses as it is; so what
//! does not depend on a state is computed once, before the region.
//!
//! A state is either a value of each lane, or *memory*: an array that the body scatters to. Memory is
//! passed on from write to write and used for nothing else, but that a lane may find what is there before
//! its write ([`Kind::Fetch`]).

use std::collections::{HashMap, HashSet};

use super::{Recorder, broadcast_size};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ir::mix::Mix;
use crate::ir::op::{ScatterMode, ScatterOp};
use crate::ir::table::OpenRegion;
use crate::ir::var::{Kind, Region, VarId, Variable};

/// Regions inside each other. Lowering costs operations times depth, and uses the stack for each level.
const MAX_DEPTH: usize = 32;

/// A value that a region changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    /// The state that stood for it; a branch may have none.
    pub(crate) state: Option<VarId>,
    /// Its value where the region does not run, for a change without a state; zero if absent.
    pub(crate) otherwise: Option<VarId>,
    /// Whether it is an argument, and another branch gives the value where the region does not run.
    pub(crate) covered: bool,
    /// Its value at the body's end.
    pub(crate) next: VarId,
}

impl Change {
    /// The value of a state at the body's end.
    pub(crate) const fn of(state: VarId, next: VarId) -> Self {
        Self { state: Some(state), otherwise: None, covered: false, next }
    }
}

/// How a region runs, which its recording tells.
#[derive(Debug)]
pub(crate) struct Form {
    /// Its lanes (S21).
    pub(crate) lanes: u64,
    /// The role of each of its states.
    pub(crate) roles: Vec<Role>,
    /// Whether what it writes or finds depends on the order of its lanes.
    pub(crate) in_order: bool,
}

/// The role of a state in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A value of each lane.
    Lanes,
    /// A value that it leaves alone, and that alone gives the region its lanes.
    Widest,
    /// An array that it uses by index only: it has a size of its own.
    Whole,
}

/// Uses of states that a walk through a body collects.
#[derive(Default)]
struct Uses {
    /// Gathers, and the states that they read, which never change.
    gathers: Vec<(VarId, VarId)>,
    writes: Option<ScatterOp>,
    in_order: bool,
    fetches: bool,
}

impl Uses {
    /// Notes a write. Operations that commute with themselves do not with others.
    fn write(&mut self, op: ScatterOp, dtype: DType) {
        let first = *self.writes.get_or_insert(op);
        self.in_order |= first != op || !op.commutes(dtype);
    }
}

impl Recorder<'_> {
    /// Opens a region for the call `op`; its scope, and the lanes that enter.
    ///
    /// # Errors
    /// `Argument` beyond the depth that is allowed.
    pub(crate) fn open_region(&mut self, op: &'static str) -> Result<(u32, VarId)> {
        let outer = self.table.open_region_mut().map(|open| open.mask);
        if self.table.own_regions().count() >= MAX_DEPTH {
            let what = format!("more than {MAX_DEPTH} loops and branches inside each other");
            return Err(Error::Argument { op, what });
        }
        let operands = [outer, None, None, None];
        // The mask of active lanes is recorded inside the region.
        let scope = self.begin(op, VarId::new(0), false);
        let size = outer.map_or(1, |outer| self.size(outer));
        let mut active = Variable::new(Kind::ActiveMask, DType::Mask, size, operands);
        active.scope = scope;
        let active = self.add(active);
        self.limit(active);
        Ok((scope, active))
    }

    /// Limits gathers and scatters to lanes of real values, within those that they are limited to already.
    pub(crate) fn open_evaluated(&mut self, op: &'static str, mask: VarId) -> Result<(u32, VarId)> {
        let mask = self.masked(Some(mask))?.unwrap_or(mask);
        Ok((self.begin(op, mask, true), mask))
    }

    fn begin(&mut self, op: &'static str, mask: VarId, evaluated: bool) -> u32 {
        self.table.open_region(OpenRegion {
            scope: 0,
            op,
            line: self.settings.line,
            thread: std::thread::current().id(),
            serial: 0,
            mask,
            lanes: 1,
            evaluated,
            writes: HashMap::new(),
        })
    }

    /// Records the phi of a value in the body.
    pub(crate) fn state(&mut self, scope: u32, first: VarId) -> VarId {
        let (dtype, size) = (self.dtype(first), self.size(first));
        let operands = [Some(first), None, None, None];
        let mut state = Variable::new(Kind::Phi { memory: false }, dtype, size, operands);
        state.scope = scope;
        self.add(state)
    }

    /// The value of a state before its region.
    pub(super) fn first_of(&self, state: VarId) -> VarId {
        self.var(state).operands[0].expect("internal error: a state without a first value")
    }

    /// Records the condition: the lanes that run the body.
    ///
    /// # Errors
    /// `UnsupportedType` if it is not a mask.
    pub(crate) fn run(&mut self, op: &'static str, condition: VarId) -> Result<VarId> {
        let dtype = self.dtype(condition);
        if dtype != DType::Mask {
            return Err(Error::UnsupportedType { op, dtype, expected: "a mask as condition" });
        }
        let active = self.table.open_region_mut().map(|open| open.mask);
        let active_size = active.map_or(1, |active| self.size(active));
        let size = broadcast_size(op, active_size, self.size(condition))?;
        let operands = [active, Some(condition), None, None];
        let running = self.add(Variable::new(Kind::RunningMask, DType::Mask, size, operands));
        self.limit(running);
        Ok(running)
    }

    /// Limits gathers and scatters of the open region to some lanes.
    pub(crate) fn limit(&mut self, mask: VarId) {
        if let Some(open) = self.table.open_region_mut() {
            open.mask = mask;
        }
    }

    /// Closes the innermost region, of these states (`None`: known as memory); the values behind it, and how it runs.
    ///
    /// # Errors
    /// `SizeMismatch`; `Argument` for a state that changes its type, or is memory and something else.
    pub(crate) fn close_region(
        &mut self,
        repeat: bool,
        running: VarId,
        states: &[Option<VarId>],
        changes: &[Change],
    ) -> Result<(Vec<VarId>, Form)> {
        let open = self.table.open_region_mut().expect("internal error: no region is open");
        let (scope, op, mut lanes) = (open.scope, open.op, open.lanes);
        lanes = broadcast_size(op, lanes, self.size(running))?;
        let mut values = Vec::with_capacity(changes.len());
        for (position, change) in changes.iter().enumerate() {
            let value = match self.written(scope, change.next) {
                Some(root) if change.state.is_none_or(|state| state == root) => {
                    self.table.get_mut(root).kind = Kind::Phi { memory: true };
                    (root, change.next)
                }
                Some(_) => {
                    let what = format!(
                        "value {position} is another state's array; return each array that the body writes in its own place"
                    );
                    return Err(Error::Argument { op, what });
                }
                None => self.lane_value(op, scope, running, position, change)?,
            };
            if value.0 != value.1 && !self.is_memory(value.0) {
                lanes = broadcast_size(op, lanes, self.size(value.0))?;
                lanes = broadcast_size(op, lanes, self.size(value.1))?;
            }
            values.push(value);
        }
        let uses = self.check_uses(op, scope, running, &values)?;
        let tables = self.read_first_values(&uses.gathers)?;
        let roles = self.roles(states, &tables, &mut lanes);
        self.table.close_region(scope);
        let outer = self.table.open_region_mut();
        let outer_scope = outer.as_ref().map_or(0, |outer| outer.scope);
        if let Some(outer) = outer {
            outer.lanes = broadcast_size(op, outer.lanes, lanes)?;
        }
        let mut region = Variable::new(Kind::Region { repeat }, DType::Mask, lanes, [None; 4]);
        region.scope = outer_scope;
        let changed = values.iter().copied().filter(|(state, next)| state != next).collect();
        let fetches = uses.fetches;
        let (results, undone) = (Vec::new(), Vec::new());
        region.cold_mut().region =
            Some(Region { scope, running, values: changed, results, fetches, undone });
        let region = self.add(region);
        let results = self.results(region, repeat, &values, &tables)?;
        Ok((results, Form { lanes, roles, in_order: uses.in_order }))
    }

    /// Lets gathers from states that never change read their first values, which are in memory as a whole; those
    /// states.
    ///
    /// # Errors
    /// `Recording` where that is a value of a body around this one, which has no lanes yet.
    fn read_first_values(&mut self, gathers: &[(VarId, VarId)]) -> Result<HashSet<VarId, Mix>> {
        for &(gather, state) in gathers {
            let first = self.first_of(state);
            // Of a state, the region around this one decides when it is closed.
            if !matches!(self.var(first).kind, Kind::Phi { .. }) {
                self.whole("gather", first)?;
            }
            self.table.replace_source(gather, first);
        }
        Ok(gathers.iter().map(|&(_, state)| state).collect())
    }

    /// The role of each state of a region. One that it leaves alone counts for its lanes, unless its size is that
    /// of no lane: what else changes must not show in how often the body runs.
    fn roles(
        &self,
        states: &[Option<VarId>],
        tables: &HashSet<VarId, Mix>,
        lanes: &mut u64,
    ) -> Vec<Role> {
        let role = |state: &Option<VarId>| {
            let Some(state) = *state else { return Role::Whole };
            let size = self.size(state);
            if self.is_memory(state) || tables.contains(&state) {
                Role::Whole
            } else if size == 1 || size == *lanes {
                Role::Lanes
            } else if *lanes == 1 {
                *lanes = size;
                Role::Widest
            } else {
                Role::Whole
            }
        };
        states.iter().map(role).collect()
    }

    /// The variables behind a region. A state that does not change is its first value; of a loop in all its
    /// lanes.
    fn results(
        &mut self,
        region: VarId,
        repeat: bool,
        values: &[(VarId, VarId)],
        tables: &HashSet<VarId, Mix>,
    ) -> Result<Vec<VarId>> {
        let (lanes, outer) = (self.size(region), self.var(region).scope);
        let mut results = Vec::with_capacity(values.len());
        for &(state, next) in values {
            if state == next {
                let first = self.first_of(state);
                let is_whole = self.is_memory(state) || tables.contains(&state);
                let widens = repeat && self.size(first) == 1 && !is_whole;
                results.push(if widens { self.widen(first, lanes)? } else { first });
                continue;
            }
            let known = self.var(region).region().map_or(0, |known| known.results.len());
            let position = u32::try_from(known).expect("internal error: too many states");
            let memory = self.is_memory(state);
            let size = if memory { self.size(state) } else { lanes };
            let kind = Kind::Result { position, memory };
            let operands = [Some(region), None, None, None];
            let mut result = Variable::new(kind, self.dtype(state), size, operands);
            result.scope = outer;
            let result = self.add(result);
            let generation = self.var(result).generation;
            if let Some(known) = &mut self.table.get_mut(region).cold_mut().region {
                known.results.push((result, generation));
            }
            results.push(result);
        }
        Ok(results)
    }

    /// A value of each lane: its phi, and its back-edge value, which is the old one where the body does not run.
    fn lane_value(
        &mut self,
        op: &'static str,
        scope: u32,
        running: VarId,
        position: usize,
        change: &Change,
    ) -> Result<(VarId, VarId)> {
        let next = change.next;
        let state = match (change.state, change.otherwise) {
            (Some(state), _) => state,
            (None, Some(first)) => self.state(scope, first),
            (None, None) => {
                let zero = self.constant(self.dtype(next), 0);
                self.state(scope, zero)
            }
        };
        if state == next {
            return Ok((state, state));
        }
        // A branch that leaves an argument alone, over the same array where it is not taken.
        if change.state.is_none() && !self.is_memory(next) {
            let is_state =
                matches!(self.var(next).kind, Kind::Phi { .. }) && self.var(next).scope == scope;
            let value = if is_state { self.var(next).operands[0] } else { Some(next) };
            if change.covered || (change.otherwise.is_some() && change.otherwise == value) {
                let state = if is_state { next } else { self.state(scope, next) };
                return Ok((state, state));
            }
        }
        let (from, to) = (self.dtype(state), self.dtype(next));
        if from != to && self.var(next).kind.number().is_none() {
            let (from, to) = (from.script_name(), to.script_name());
            let what =
                format!("value {position} is {from} and becomes {to}; convert it: {from}(x)");
            return Err(Error::Argument { op, what });
        }
        let lanes = broadcast_size(op, self.size(state), self.size(next))?;
        broadcast_size(op, self.size(running), lanes)?;
        let next = self.cast(next, from)?;
        let next = self.select(running, next, state)?;
        Ok((state, next))
    }

    fn is_memory(&self, state: VarId) -> bool {
        self.var(state).kind == Kind::Phi { memory: true }
    }

    /// The state whose array a value of the region is after writes; `None` for a value of each lane.
    fn written(&self, scope: u32, value: VarId) -> Option<VarId> {
        let variable = self.var(value);
        if variable.scope != scope || matches!(variable.kind, Kind::Phi { .. }) {
            return None;
        }
        let mut id = value;
        while let Some(before) = self.table.before_write(id) {
            id = before;
        }
        let root = self.var(id);
        let is_state = matches!(root.kind, Kind::Phi { .. }) && root.scope == scope;
        (id != value && is_state).then_some(id)
    }

    /// Checks the body's uses of its states.
    fn check_uses(
        &self,
        op: &'static str,
        scope: u32,
        running: VarId,
        values: &[(VarId, VarId)],
    ) -> Result<Uses> {
        let mut uses = Uses::default();
        let mut seen: HashSet<VarId, Mix> = HashSet::default();
        let mut work: Vec<VarId> = values.iter().map(|&(_, next)| next).collect();
        work.push(running);
        if work.iter().any(|&id| self.var(id).scope > scope) {
            return Err(Error::LeftRegion { what: op });
        }
        let around: Vec<u32> = self.table.own_regions().map(|region| region.scope).collect();
        while let Some(id) = work.pop() {
            let variable = self.var(id);
            if variable.scope < scope && variable.scope != 0 && !around.contains(&variable.scope) {
                return Err(Error::LeftRegion { what: op });
            }
            if variable.scope < scope || !seen.insert(id) {
                continue;
            }
            if let Kind::Scatter { op, mode, .. } = variable.kind
                && mode != ScatterMode::Apart
            {
                uses.write(op, variable.dtype);
            }
            uses.fetches |= variable.kind == Kind::Fetch;
            for (position, operand) in variable.operands().enumerate() {
                work.push(operand);
                let source = self.var(operand);
                let passes_on = match variable.kind {
                    Kind::Scatter { .. } | Kind::Fetch => position == 0,
                    Kind::Phi { memory } => memory,
                    Kind::Region { .. } => true,
                    _ => false,
                };
                if source.scope >= scope && is_memory(source.kind) && !passes_on {
                    let what = "the body writes an array and reads it too; read the old one under \
                                another name, or run step by step: set_flag(\"record_loops\", false)";
                    return Err(Error::Argument { op, what: what.into() });
                }
                let is_source = matches!(variable.kind, Kind::Gather { .. }) && position == 0;
                if is_source && source.scope == scope && matches!(source.kind, Kind::Phi { .. }) {
                    if values.iter().any(|&(state, next)| state == operand && next != state) {
                        let what = "gather from a state that changes; only arrays from outside can be \
                                    read by index";
                        return Err(Error::Argument { op, what: what.into() });
                    }
                    uses.gathers.push((id, operand));
                }
            }
        }
        Ok(uses)
    }

    /// The active mask of an access inside a region.
    pub(super) fn masked(&mut self, active: Option<VarId>) -> Result<Option<VarId>> {
        let Some(mask) = self.table.open_region_mut().map(|open| open.mask) else {
            return Ok(active);
        };
        match active {
            None => Ok(Some(mask)),
            Some(active) => self.same(crate::ir::op::Op::And, &[mask, active]).map(Some),
        }
    }

    /// Refuses what needs all lanes of a value of a region.
    pub(super) fn whole(&self, op: &'static str, x: VarId) -> Result<()> {
        let scope = self.var(x).scope;
        if scope == 0 { Ok(()) } else { Err(self.table.inside(op, scope)) }
    }

    /// Checks the target of a scatter inside a region: it must be a state of that region, perhaps after writes.
    pub(super) fn check_target(
        &mut self,
        op: &'static str,
        target: VarId,
        lanes: u64,
    ) -> Result<()> {
        let Some(open) = self.table.open_region_mut() else {
            return self.whole(op, target);
        };
        if !open.evaluated {
            let error = Error::NotState { op, region: open.op, line: open.line };
            if !self.is_memory_of_region(target) {
                return Err(error);
            }
        }
        if let Some(open) = self.table.open_region_mut() {
            open.lanes = broadcast_size(op, open.lanes, lanes)?;
        }
        Ok(())
    }

    /// Whether a value is a state of the innermost region that is recorded, perhaps after writes.
    pub(super) fn is_memory_of_region(&mut self, value: VarId) -> bool {
        let open = self.table.open_region_mut().filter(|open| !open.evaluated);
        let Some(scope) = open.map(|open| open.scope) else { return false };
        let variable = self.var(value);
        let may_be = is_memory(variable.kind) || matches!(variable.kind, Kind::Phi { .. });
        may_be && variable.scope == scope
    }
}

/// Whether a value of a region is an array that it writes.
fn is_memory(kind: Kind) -> bool {
    match kind {
        Kind::Scatter { .. } => true,
        Kind::Phi { memory } | Kind::Result { memory, .. } => memory,
        _ => false,
    }
}
