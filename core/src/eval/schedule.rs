//! From roots to kernels: which variables are computed, in which stage, with what else (S2, S5).
//!
//! A *stage* ends where a value must be complete in memory before it can be used: behind a reduction, a
//! scatter, before and behind a primitive, and at the source of a gather. Within a stage, variables of
//! equal size form one kernel, and each primitive is a launch. A region (S21) with all its body belongs to
//! one kernel. Three
//! passes, each linear in the number of variables and free of recursion:
//!
//! 1. `Walk`: everything the roots need, operands first, each with its stage and a cost;
//! 2. `mark_stored`: which values go to memory: roots, sources, and what a later stage needs and would
//!    be dear to compute again;
//! 3. `build`: the kernels, from their ends back to loads.

use std::collections::BTreeMap;

use crate::convert::exactly;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::ir::kernel::{Kernel, Target};
use crate::ir::primitive::Primitive;
use crate::ir::table::Table;
use crate::ir::var::{Kind, VarId, Variable};

/// Values up to this tree cost are computed again where a later stage needs them. A store and a load
/// of a lane take about as long as this many operations.
const CHEAP: u32 = 8;
/// Values up to this cost are rematerialised if they are asked for: most are never asked for, and
/// each store would cost what moving another input does.
const CHEAP_IF_HELD: u32 = 2 * CHEAP;
/// Cost of a load from memory, in operations.
const LOAD_COST: u32 = 2;
/// Cost of a gather, in operations.
const GATHER_COST: u32 = 4;
/// Cost of a region besides that of its body: it may run often.
const REGION_COST: u32 = 1000;

/// Which values an evaluation stores besides those it must.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Dear ones that the user still holds, to spare computing them again.
    Held,
    /// None: memory is short.
    Wanted,
}

/// The binding of a buffer parameter at a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// The variable's data is read.
    Read(VarId),
    /// The variable becomes data in a new buffer.
    Write(VarId),
    /// The variable, a scatter, becomes data: its target's buffer, or a copy.
    Update {
        /// The scatter.
        result: VarId,
        /// Its target.
        target: VarId,
    },
    /// A copy of the variable's data, for writes that no one wants behind the launch.
    Scratch(VarId),
}

/// A kernel with the variables that it is to run on.
#[derive(Debug)]
pub struct Launch {
    /// The program.
    pub kernel: Kernel,
    /// Number of lanes.
    pub size: u64,
    /// One per buffer of the kernel.
    pub bindings: Vec<Binding>,
}

/// A primitive with the variables that it is to run on.
#[derive(Debug)]
pub struct PrimitiveLaunch {
    /// The primitive to run.
    pub primitive: Primitive,
    /// The variables read; they are in memory by then.
    pub operands: Vec<VarId>,
    /// The variable that becomes data.
    pub result: VarId,
}

/// One launch of either kind.
#[derive(Debug)]
pub enum Step {
    /// A kernel.
    Kernel(Launch),
    /// A primitive.
    Primitive(PrimitiveLaunch),
}

/// Everything an evaluation does, in order.
#[derive(Debug, Default)]
pub struct Plan {
    /// Numbers that must stand in memory: sources of gathers, targets of scatters, operands of primitives.
    pub fills: Vec<VarId>,
    /// Launches.
    pub steps: Vec<Step>,
}

impl Plan {
    /// The launches of kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &Launch> {
        self.steps.iter().filter_map(|step| match step {
            Step::Kernel(launch) => Some(launch),
            Step::Primitive(_) => None,
        })
    }
}

/// Maps from slots, kept between evaluations: an evaluation then costs what it visits, however large the
/// table has become.
#[derive(Default)]
pub struct Scratch {
    node_of: SlotMap<u32>,
    /// Room for the nodes, and for the way to them.
    nodes: Vec<Node>,
    path: Vec<(VarId, usize)>,
    registers: super::build::Registers,
}

impl Scratch {
    fn grow(&mut self, n_slots: usize) {
        self.node_of.grow(n_slots);
        self.registers.grow(n_slots);
    }
}

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

/// Plans the evaluation of `roots`; `target` identifies the backend in kernel hashes.
///
/// # Errors
/// `Poisoned` if a root depends on an array that a failed write left half done; `Interrupted`.
pub fn schedule(
    table: &Table,
    roots: &[VarId],
    keep: Keep,
    target: Target,
    scratch: &mut Scratch,
) -> Result<Plan> {
    scratch.grow(table.n_slots());
    let Scratch { node_of, nodes, path, registers } = scratch;
    let mut walk = Walk::new(table, node_of, nodes, path);
    for &root in roots {
        let scope = table.get(root).scope;
        if scope != 0 {
            return Err(table.inside("reading an array", scope));
        }
        walk.visit(root)?;
    }
    if keep == Keep::Held {
        for result in std::mem::take(&mut walk.siblings) {
            walk.visit(result)?;
        }
    }
    for result in std::mem::take(&mut walk.found) {
        walk.visit(result)?;
    }
    mark_stored(&mut walk, roots, keep)?;
    let groups = group(&walk);
    let mut builder = super::build::Builder::new(table, &walk, target, registers);
    let step = |group: &Group| match primitive_launch(&walk, group) {
        Some(launch) => Ok(Step::Primitive(launch)),
        None => builder.build(group).map(Step::Kernel),
    };
    let steps = groups.iter().map(step).collect::<Result<_>>()?;
    Ok(Plan { fills: walk.fills, steps })
}

fn primitive_launch(walk: &Walk<'_>, group: &Group) -> Option<PrimitiveLaunch> {
    let result = walk.nodes[*group.ends.first()?].id;
    let variable = walk.table.get(result);
    let Kind::Primitive(primitive) = variable.kind else { return None };
    let operands = variable.operands().collect();
    Some(PrimitiveLaunch { primitive, operands, result })
}

/// One variable to compute.
pub(super) struct Node {
    pub(super) id: VarId,
    /// Stage in which it is computed.
    pub(super) stage: u32,
    /// Operations to compute it from memory, counted as a tree.
    cost: u32,
    /// Whether it goes to memory.
    pub(super) stored: bool,
}

/// The variables that an evaluation computes, operands before users.
pub(super) struct Walk<'t> {
    pub(super) table: &'t Table,
    pub(super) nodes: &'t mut Vec<Node>,
    /// Node number of each slot, or [`PENDING`].
    node_of: &'t mut SlotMap<u32>,
    path: &'t mut Vec<(VarId, usize)>,
    fills: Vec<VarId>,
    /// Other results of regions that have handles: they cost nothing while the region runs, a whole run later.
    siblings: Vec<VarId>,
    /// Results of regions whose lanes read what others wrote: they cannot be computed again later.
    found: Vec<VarId>,
    /// Functions among the nodes.
    pub(super) n_calls: usize,
}

/// Nodes between two looks at the interrupt flag.
pub(super) const POLL_INTERVAL: usize = 1 << 14;

/// Marks a slot that is on the way to become a node.
const PENDING: u32 = u32::MAX;

impl<'t> Walk<'t> {
    fn new(
        table: &'t Table,
        node_of: &'t mut SlotMap<u32>,
        nodes: &'t mut Vec<Node>,
        path: &'t mut Vec<(VarId, usize)>,
    ) -> Self {
        node_of.clear();
        nodes.clear();
        path.clear();
        let (fills, siblings, found) = (Vec::new(), Vec::new(), Vec::new());
        Self { table, nodes, node_of, path, fills, siblings, found, n_calls: 0 }
    }

    /// The node of a variable that is computed in this evaluation.
    pub(super) fn node(&self, id: VarId) -> Option<&Node> {
        self.node_of.get(id).and_then(|number| self.nodes.get(number as usize))
    }

    fn node_mut(&mut self, id: VarId) -> Option<&mut Node> {
        self.node_of.get(id).and_then(|number| self.nodes.get_mut(number as usize))
    }

    /// Adds `root` and all it needs.
    fn visit(&mut self, root: VarId) -> Result<()> {
        if self.enter(root)? {
            self.path.push((root, 0));
        }
        'nodes: while let Some((id, next)) = self.path.pop() {
            let variable = self.table.get(id);
            for position in next.. {
                let Some(operand) = self.table.need(id, variable, position) else { break };
                if self.enter(operand)? {
                    self.path.extend([(id, position + 1), (operand, 0)]);
                    continue 'nodes;
                }
            }
            self.leave(id);
        }
        Ok(())
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
            self.node_of.insert(id, PENDING);
        }
        Ok(new)
    }

    fn leave(&mut self, id: VarId) {
        let variable = self.table.get(id);
        let mut stage = 0;
        let function = self.table.application(id, variable);
        let mut cost = function.map_or_else(|| own_cost(variable.kind), |f| f.output.n_operations);
        self.n_calls += usize::from(function.is_some());
        for (position, operand) in self.table.needs(id, variable).enumerate() {
            let needs_memory = is_memory_operand(self.table, variable, position);
            match self.node(operand) {
                Some(node) => {
                    let complete = needs_memory || ends_stage(self.table.get(operand));
                    stage = stage.max(node.stage + u32::from(complete));
                    cost = cost.saturating_add(if complete { LOAD_COST } else { node.cost });
                }
                None if matches!(self.table.get(operand).kind, Kind::Data) => {
                    cost = cost.saturating_add(LOAD_COST);
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
                    self.found.push(id);
                } else if lives && result.external > 0 {
                    self.siblings.push(id);
                }
            }
        }
        self.node_of.insert(id, exactly::<u32>(self.nodes.len()));
        self.nodes.push(Node { id, stage, cost, stored: false });
    }
}

fn own_cost(kind: Kind) -> u32 {
    match kind {
        Kind::Gather { .. } | Kind::Fetch => GATHER_COST,
        Kind::Region { .. } => REGION_COST,
        Kind::Literal(_)
        | Kind::Constant(_)
        | Kind::Index
        | Kind::Op(_)
        | Kind::Call(_)
        | Kind::Output { .. }
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
fn is_found(table: &Table, variable: &Variable) -> bool {
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

/// Decides which nodes go to memory besides reductions, scatters and primitives, which always do.
///
/// Stored are: roots; sources and targets; values that a later stage uses; values the user still holds,
/// so that a loop that prints a sum each time does not compute everything from the start again. The
/// last two only when they are dear to compute (and per lane: a scalar part is recomputed).
///
/// # Errors
/// `Interrupted`.
fn mark_stored(walk: &mut Walk<'_>, roots: &[VarId], keep: Keep) -> Result<()> {
    let table = walk.table;
    for &root in roots {
        if let Some(node) = walk.node_mut(root) {
            node.stored = true;
        }
    }
    for i in 0..walk.nodes.len() {
        if i % POLL_INTERVAL == POLL_INTERVAL - 1 && interrupt::is_requested() {
            return Err(Error::Interrupted);
        }
        let Node { id, stage, cost, .. } = walk.nodes[i];
        let variable = table.get(id);
        let held = keep == Keep::Held && variable.external > 0 && variable.scope == 0;
        let held = held && cost > CHEAP_IF_HELD && variable.size != 1;
        if held || ends_stage(variable) || is_found(table, variable) {
            walk.nodes[i].stored = true;
        }
        for (position, operand) in table.needs(id, variable).enumerate() {
            let source = table.get(operand);
            // Inside a region nothing is stored, and a region is no value.
            if source.scope != 0 || matches!(source.kind, Kind::Region { .. }) {
                continue;
            }
            let needs_memory = is_memory_operand(table, variable, position);
            let scalar = source.size == 1;
            if let Some(node) = walk.node_mut(operand) {
                let dear_later = node.stage < stage && node.cost > CHEAP && !scalar;
                node.stored |= needs_memory || dear_later;
            }
        }
    }
    Ok(())
}

/// The ends of one kernel: stored nodes of one stage and size, by node number.
pub(super) struct Group {
    pub(super) stage: u32,
    pub(super) size: u64,
    pub(super) ends: Vec<usize>,
}

/// Stored nodes by stage and size, in the order of their first recording.
fn group(walk: &Walk<'_>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut by_key: BTreeMap<(u32, u64, Option<usize>), usize> = BTreeMap::new();
    for (i, node) in walk.nodes.iter().enumerate().filter(|(_, node)| node.stored) {
        let variable = walk.table.get(node.id);
        let size = lanes(walk.table, variable);
        // A primitive is a launch of its own.
        let alone = matches!(variable.kind, Kind::Primitive(_)).then_some(i);
        let group = *by_key.entry((node.stage, size, alone)).or_insert_with(|| {
            groups.push(Group { stage: node.stage, size, ends: Vec::new() });
            groups.len() - 1
        });
        groups[group].ends.push(i);
    }
    let serial = |&end: &usize| walk.table.get(walk.nodes[end].id).serial;
    for group in &mut groups {
        group.ends.sort_by_key(serial);
    }
    groups.sort_by_key(|group| (group.stage, group.ends.first().map(serial)));
    groups
}

/// Lanes of the kernel that computes a variable.
fn lanes(table: &Table, variable: &Variable) -> u64 {
    let first = match variable.kind {
        Kind::Reduce(_) => 0,
        Kind::Scatter { .. } => 1,
        Kind::Result { .. } => {
            return variable.operands[0].map_or(variable.size, |region| table.get(region).size);
        }
        Kind::Literal(_)
        | Kind::Constant(_)
        | Kind::Index
        | Kind::Op(_)
        | Kind::Call(_)
        | Kind::Output { .. }
        | Kind::Gather { .. }
        | Kind::Fetch
        | Kind::Primitive(_)
        | Kind::ActiveMask
        | Kind::RunningMask
        | Kind::Phi { .. }
        | Kind::Region { .. }
        | Kind::Data => return variable.size,
    };
    let sizes = variable.operands().skip(first).map(|operand| table.get(operand).size);
    sizes.fold(1, |size, other| if size == 1 { other } else { size })
}
