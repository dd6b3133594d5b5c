//! The variables that an evaluation computes: everything the roots need, operands first, each with its stage and cost.

use std::ops::Deref;

use super::consecutive::run;
use super::launches::Keep;
use crate::convert::exactly;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::ir::op::Op;
use crate::ir::table::Table;
use crate::ir::var::{Kind, VarId, Variable};

/// Cost of a load from memory, in operations.
const LOAD_COST: u32 = 2;
/// Cost of a gather, in operations.
const GATHER_COST: u32 = 4;
/// Cost of a region besides that of its body: it may run often.
const REGION_COST: u32 = 1000;

/// Values up to this tree cost are computed again where a later stage needs them. A store and a load
/// of a lane take about as long as this many operations.
pub(super) const CHEAP: u32 = 8;

/// Bytes from which on copying the target of a scatter takes longer than another launch: 1 MiB.
const LARGE_TARGET: u64 = 1 << 20;
/// How many times as large as the values it is then.
const MUCH_LARGER: u64 = 4;

/// A map from slots that is emptied in constant time: entries count only if they carry its round.
#[derive(Default)]
pub(super) struct SlotMap<T> {
    round: u32,
    entries: Vec<(u32, T)>,
}

impl<T: Copy + Default> SlotMap<T> {
    pub(super) fn grow(&mut self, n_slots: usize) {
        if self.entries.len() < n_slots {
            self.entries.resize(n_slots.next_power_of_two(), (0, T::default()));
        }
    }

    /// Forgets all entries.
    pub(super) fn clear(&mut self) {
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.entries.fill((0, T::default()));
            self.round = 1;
        }
    }

    pub(super) fn get(&self, id: VarId) -> Option<T> {
        let (round, value) = self.entries[id.index()];
        (round == self.round).then_some(value)
    }

    pub(super) fn insert(&mut self, id: VarId, value: T) {
        self.entries[id.index()] = (self.round, value);
    }
}

/// One variable to compute.
pub(super) struct Node {
    pub(super) id: VarId,
    /// Stage in which it is computed.
    pub(super) stage: u32,
    /// Operations to compute it from memory, counted as a tree.
    pub(super) cost: u32,
    /// Whether it goes to memory.
    pub(super) stored: bool,
    /// Whether it is made of numbers and the numbers of lanes alone, so that any stage can compute it.
    pub(super) is_free: bool,
    /// The array that it gathers from in its stage; of several the largest.
    source: Option<VarId>,
}

/// The variables that an evaluation computes, operands before users. On the way functions that gather, reduce, .. become
/// what they are made of, so the table changes; then it is only read.
pub(super) struct Walk<'t, T = &'t Table> {
    pub(super) table: T,
    pub(super) nodes: &'t mut Vec<Node>,
    /// Node number of each slot, or [`PENDING`].
    node_of: &'t mut SlotMap<u32>,
    path: &'t mut Vec<(VarId, usize)>,
    pub(super) fills: Vec<VarId>,
    /// Other results of regions that have handles: they cost nothing while the region runs, a whole run later.
    siblings: Vec<VarId>,
    /// Results of regions whose lanes read what others wrote: they cannot be computed again later. One that nobody wants
    /// any more may be gone, and its slot another's.
    found: Vec<(VarId, u32)>,
    /// Functions among the nodes.
    pub(super) n_calls: usize,
    /// Whether lanes are computed in a launch before the one that reduces them ([`crate::ir::kernel::Target::apart`]).
    apart: fn(u64, u32) -> bool,
}

/// Nodes between two looks at the interrupt flag.
pub(super) const POLL_INTERVAL: usize = 1 << 14;

/// Marks a slot that is on the way to become a node.
const PENDING: u32 = u32::MAX;

impl<T: Deref<Target = Table>> Walk<'_, T> {
    /// The node of a variable that is computed in this evaluation.
    pub(super) fn node(&self, id: VarId) -> Option<&Node> {
        self.position(id).map(|position| &self.nodes[position])
    }

    /// The position of a node.
    pub(super) fn position(&self, id: VarId) -> Option<usize> {
        let number = self.node_of.get(id).map(|number| number as usize);
        number.filter(|&number| number < self.nodes.len())
    }

    /// Whether an operand must be in memory before a variable is computed.
    pub(super) fn needs_memory(
        &self,
        variable: &Variable,
        position: usize,
        operand: VarId,
    ) -> bool {
        let is_apart = |node: &Node| (self.apart)(self.table.get(operand).size, node.cost);
        is_memory_operand(&self.table, variable, position)
            || matches!(variable.kind, Kind::Reduce(_)) && self.node(operand).is_some_and(is_apart)
            || self.reads_target(variable, position, operand)
    }

    /// Whether an operand of a scatter is made of a few elements of its large target, as in `t[i] += row`. In one kernel with
    /// what reads it a target is copied; read in a launch before, it is written in place.
    fn reads_target(&self, variable: &Variable, position: usize, operand: VarId) -> bool {
        let (Kind::Scatter { .. }, Some(target)) = (variable.kind, variable.operands[0]) else {
            return false;
        };
        let (of, size) = (self.table.get(target), self.table.get(operand).size);
        position > 0
            && variable.scope == 0
            // What somebody still has is copied anyway.
            && of.external == 0
            && of.size.saturating_mul(of.dtype.bytes() as u64) >= LARGE_TARGET
            && size <= of.size / MUCH_LARGER
            && self.node(operand).is_some_and(|node| node.source == Some(target))
    }

    /// The larger of two arrays, of like ones that which was recorded last.
    fn larger(&self, one: Option<VarId>, other: Option<VarId>) -> Option<VarId> {
        let size = |&id: &VarId| {
            let variable = self.table.get(id);
            (variable.size.saturating_mul(variable.dtype.bytes() as u64), variable.serial)
        };
        one.into_iter().chain(other).max_by_key(size)
    }

    pub(super) fn node_mut(&mut self, id: VarId) -> Option<&mut Node> {
        self.position(id).map(|position| &mut self.nodes[position])
    }
}

impl<'t> Walk<'t, &'t mut Table> {
    pub(super) fn new(
        table: &'t mut Table,
        node_of: &'t mut SlotMap<u32>,
        nodes: &'t mut Vec<Node>,
        path: &'t mut Vec<(VarId, usize)>,
        apart: fn(u64, u32) -> bool,
    ) -> Self {
        node_of.grow(table.n_slots());
        node_of.clear();
        nodes.clear();
        path.clear();
        let (fills, siblings, found) = (vec![], vec![], vec![]);
        Self { table, nodes, node_of, path, fills, siblings, found, n_calls: 0, apart }
    }

    /// What was met, and what the regions among it give besides if that is wanted.
    ///
    /// # Errors
    /// As [`Self::visit`].
    pub(super) fn end(mut self, keep: Keep) -> Result<Walk<'t>> {
        if keep == Keep::Held {
            for result in std::mem::take(&mut self.siblings) {
                self.visit(result)?;
            }
        }
        for (result, generation) in std::mem::take(&mut self.found) {
            let variable = self.table.get(result);
            if variable.generation == generation && !variable.is_dead() {
                self.visit(result)?;
            }
        }
        let Self { table, nodes, node_of, path, fills, siblings, found, n_calls, apart } = self;
        Ok(Walk { table, nodes, node_of, path, fills, siblings, found, n_calls, apart })
    }

    /// Adds `root` and all it needs.
    ///
    /// # Errors
    /// `Poisoned`, `Interrupted`; what the functions among it cannot be made of.
    pub(super) fn visit(&mut self, root: VarId) -> Result<()> {
        if self.enter(root)? {
            self.path.push((root, 0));
        }
        while let Some((id, next)) = self.path.pop() {
            match self.next_operand(id, next)? {
                Some((position, operand)) => {
                    self.path.extend([(id, position + 1), (operand, 0)]);
                }
                None => self.leave(id),
            }
        }
        Ok(())
    }

    /// The next operand from a position on that must be computed and was not met before.
    fn next_operand(&mut self, id: VarId, next: usize) -> Result<Option<(usize, VarId)>> {
        for position in next.. {
            let needs = self.table.needs(id, self.table.get(id));
            let Some(operand) = needs.get(position) else { break };
            if self.enter(operand)? {
                return Ok(Some((position, operand)));
            }
        }
        Ok(None)
    }

    /// Whether a variable must be computed and was not met before.
    fn enter(&mut self, id: VarId) -> Result<bool> {
        if self.nodes.len() % POLL_INTERVAL == POLL_INTERVAL - 1 && interrupt::is_requested() {
            return Err(Error::Interrupted);
        }
        let variable = self.table.get(id);
        if let Some(error) = variable.poisoned() {
            return Err(error.clone());
        }
        if matches!(variable.kind, Kind::Data) || variable.kind.number().is_some() {
            return Ok(false);
        }
        let new = self.node_of.get(id).is_none();
        if new {
            // What was recorded once may end in a call itself.
            while self.table.get(id).kind == Kind::Composite {
                if interrupt::is_requested() {
                    return Err(Error::Interrupted);
                }
                self.table.expand(id)?;
                self.node_of.grow(self.table.n_slots());
            }
            self.node_of.insert(id, PENDING);
        }
        Ok(new)
    }

    fn leave(&mut self, id: VarId) {
        let variable = self.table.get(id);
        let mut stage = 0;
        let mut is_free = matches!(variable.kind, Kind::Index | Kind::Op(_)) && variable.scope == 0;
        let gathers = matches!(variable.kind, Kind::Gather { .. }) && variable.scope == 0;
        let mut source = variable.operands[0].filter(|_| gathers);
        let function = self.table.application(id, variable);
        let mut cost = function.map_or_else(|| own_cost(variable), |f| f.output.n_operations);
        self.n_calls += usize::from(function.is_some());
        let mut before = None;
        for (position, operand) in self.table.needs(id, variable).iter().enumerate() {
            if before.replace(operand) == Some(operand) && is_same_value(variable) {
                continue;
            }
            let needs_memory = self.needs_memory(variable, position, operand);
            match self.node(operand) {
                Some(node) => {
                    let complete = needs_memory || ends_stage(self.table.get(operand));
                    stage = stage.max(node.stage + u32::from(complete));
                    is_free &= node.is_free;
                    cost = cost.saturating_add(if complete { LOAD_COST } else { node.cost });
                    if !complete && node.source.is_some() {
                        source = self.larger(source, node.source);
                    }
                }
                None if matches!(self.table.get(operand).kind, Kind::Data) => {
                    cost = cost.saturating_add(LOAD_COST);
                    is_free = false;
                }
                None if needs_memory => self.fills.push(operand),
                None => {}
            }
        }
        if let Some(region) = variable.region() {
            for &(id, generation) in &region.results {
                let result = self.table.get(id);
                let lives = result.generation == generation && !result.is_dead();
                if lives && region.fetches && variable.scope == 0 {
                    self.found.push((id, generation));
                } else if lives && result.external > 0 {
                    self.siblings.push(id);
                }
            }
        }
        // Consecutive lanes are a load, wherever they are needed.
        if run(self.table, variable, variable.size).is_some() {
            cost = LOAD_COST;
        }
        self.node_of.insert(id, exactly::<u32>(self.nodes.len()));
        self.nodes.push(Node { id, stage, cost, stored: false, is_free, source });
    }
}

/// Whether it is the value of another variable, which needs one of its own.
fn is_same_value(variable: &Variable) -> bool {
    let [_, yes, no, _] = variable.operands;
    matches!(variable.kind, Kind::Op(Op::Select)) && yes == no
}

fn own_cost(variable: &Variable) -> u32 {
    match variable.kind {
        Kind::Op(_) if is_same_value(variable) => 0,
        Kind::Gather { .. } | Kind::Fetch => GATHER_COST,
        Kind::Region { .. } => REGION_COST,
        Kind::Literal(_)
        | Kind::Constant(_)
        | Kind::Index
        | Kind::Op(_)
        | Kind::Call(_)
        | Kind::Output { .. }
        | Kind::Composite
        | Kind::Scatter { .. }
        | Kind::Reduce(_)
        | Kind::Primitive(_)
        | Kind::ActiveMask
        | Kind::RunningMask
        | Kind::Phi { .. }
        | Kind::Result { .. }
        | Kind::Data => 1,
    }
}

/// Whether the value is complete only behind its kernel. A region of one lane is not repeated in every
/// lane of another kernel.
pub(super) fn ends_stage(variable: &Variable) -> bool {
    let ends = match variable.kind {
        Kind::Reduce(_)
        | Kind::Scatter { .. }
        | Kind::Primitive(_)
        | Kind::Result { memory: true, .. } => true,
        Kind::Result { .. } => variable.size == 1,
        Kind::Literal(_)
        | Kind::Constant(_)
        | Kind::Index
        | Kind::Op(_)
        | Kind::Call(_)
        | Kind::Output { .. }
        | Kind::Composite
        | Kind::Gather { .. }
        | Kind::Fetch
        | Kind::ActiveMask
        | Kind::RunningMask
        | Kind::Phi { .. }
        | Kind::Region { .. }
        | Kind::Data => false,
    };
    ends && variable.scope == 0
}

/// Whether the value is of lanes that read what others wrote.
pub(super) fn is_found(table: &Table, variable: &Variable) -> bool {
    let of = |region: VarId| table.get(region).region().is_some_and(|region| region.fetches);
    matches!(variable.kind, Kind::Result { .. })
        && variable.scope == 0
        && variable.operands[0].is_some_and(of)
}

/// Whether an operand is used as memory, not lane by lane; inside a region, memory is a phi.
pub(super) fn is_memory_operand(table: &Table, variable: &Variable, position: usize) -> bool {
    let outside = |operand| table.get(operand).scope == 0;
    match variable.kind {
        Kind::Gather { .. } | Kind::Scatter { .. } | Kind::Phi { memory: true } => {
            position == 0 && variable.operands[0].is_some_and(outside)
        }
        Kind::Primitive(_) => true,
        Kind::Literal(_)
        | Kind::Constant(_)
        | Kind::Index
        | Kind::Op(_)
        | Kind::Call(_)
        | Kind::Output { .. }
        | Kind::Composite
        | Kind::Fetch
        | Kind::Reduce(_)
        | Kind::ActiveMask
        | Kind::RunningMask
        | Kind::Phi { memory: false }
        | Kind::Region { .. }
        | Kind::Result { .. }
        | Kind::Data => false,
    }
}
