//! From roots to kernels: which variables are computed, in which stage, with what else (S2, S5).
//!
//! A *stage* ends where a value must be complete in memory before it can be used: behind a reduction, a
//! scatter, before and behind a primitive, at the source of a gather, and behind what a write to a large array has read
//! of it. Within a stage, variables of
//! equal size form one kernel, and each primitive is a launch. A region (S21) with all its body belongs to
//! one kernel. Three
//! passes, each linear in the number of variables and free of recursion:
//!
//! 1. `Walk`: everything the roots need, operands first, each with its stage and a cost;
//! 2. `mark_stored`: which values go to memory: roots, sources, and what a later stage needs and would
//!    be dear to compute again;
//! 3. `build`: the kernels, from their writes back to loads; of components that are `alike` one kernel.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use smallvec::{SmallVec, smallvec};

use super::alike::{Components, FEWEST, Group};
use super::cones::{Cones, Met};
use super::kernel_registers::Registers;
use super::known::KnownPlans;
use super::launches::{Keep, Plan, PrimitiveLaunch, Step};
use super::walk::{CHEAP, Node, POLL_INTERVAL, SlotMap, Walk, ends_stage, is_found};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::ir::kernel::{Inst, Target};
use crate::ir::mix::Mix;
use crate::ir::primitive::Primitive;
use crate::ir::table::Table;
use crate::ir::var::{Kind, MAX_OPERANDS, VarId, Variable};

/// Values up to this cost are rematerialised if they are asked for: most are never asked for, and
/// each store would cost what moving another input does.
const CHEAP_IF_HELD: u32 = 2 * CHEAP;

/// The same of values of one lane, for each of which another launch would be made.
const CHEAP_LANE_IF_HELD: u32 = 8 * CHEAP;

/// Operations, one behind the other, between values that are kept for what nobody has asked for yet.
const FAR: u32 = 32;

/// How many times what is read these may take.
const MUCH: u64 = 4;

/// Lanes from which on a primitive is worth a launch of its own.
const MANY_LANES: u64 = 1 << 17;

/// Maps from slots, kept between evaluations: an evaluation then costs what it visits, however large the
/// table has become.
#[derive(Default)]
pub struct Scratch {
    node_of: SlotMap<u32>,
    number_of: SlotMap<u32>,
    /// Room for the nodes, and for the way to them.
    nodes: Vec<Node>,
    path: Vec<(VarId, usize)>,
    registers: Registers,
    /// What calls launch that were planned before.
    pub(super) known: KnownPlans,
    /// What was planned before in the same form.
    pub(super) cones: Cones,
    /// Instructions and the like of the plans that each of both keeps.
    pub(super) most_kept: usize,
}

/// Bytes of an instruction, a form or a binding of a plan, about.
const PLANNED: usize = size_of::<Inst>();

impl Scratch {
    /// Maps of a scheduler that keeps plans of at most so many bytes.
    pub fn within(room: usize) -> Self {
        Self { most_kept: room / 2 / PLANNED, ..Self::default() }
    }

    /// Forgets what was planned before.
    pub fn forget_plans(&mut self) {
        self.known = KnownPlans::default();
        self.cones = Cones::default();
    }

    /// Walks over what roots need, see [`Cones::meet`].
    pub(super) fn meet(&mut self, table: &Table, roots: &[VarId], target: Target) -> Option<Met> {
        self.cones.meet(table, roots, target)
    }
}

/// Plans the evaluation of `roots`, for which calls of composites are replaced by what these are made of; `target`
/// identifies the backend in kernel hashes.
///
/// # Errors
/// `Poisoned` if a root depends on an array that a failed write left half done; `Interrupted`; `OutOfMemory`.
pub fn schedule(
    table: &mut Table,
    roots: &[VarId],
    keep: Keep,
    target: Target,
    scratch: &mut Scratch,
) -> Result<Plan> {
    let Scratch { node_of, number_of, nodes, path, registers, .. } = scratch;
    let mut walk = Walk::new(table, node_of, nodes, path, target.apart);
    for &root in roots {
        let scope = walk.table.get(root).scope;
        if scope != 0 {
            return Err(walk.table.inside("reading an array", scope));
        }
        if let Err(error) = walk.visit(root) {
            walk.table.note_stand_in(&error);
            return Err(error);
        }
    }
    let mut walk = walk.end(keep)?;
    let table = walk.table;
    number_of.grow(table.n_slots());
    registers.grow(table.n_slots());
    mark_stored(&mut walk, roots, keep)?;
    let mut groups = group(&walk);
    if target.batch {
        groups = Components::new(&walk, number_of).split(groups)?;
    }
    let mut builder = super::build::Builder::new(table, &walk, target, registers);
    let step = |group: Group| match primitive_launch(&walk, &group) {
        Some(launch) => Ok((group.stage, Step::Primitive(launch))),
        None => Ok((group.stage, Step::Kernel(builder.build(group)?))),
    };
    let steps = groups.into_iter().map(step).collect::<Result<_>>()?;
    let mut steps = joined(steps);
    if target.batch {
        steps = together(table, steps);
    }
    let steps = steps.into_iter().map(|(_, step)| step).collect();
    Ok(Plan { fills: walk.fills, steps })
}

fn primitive_launch(walk: &Walk<'_>, group: &Group) -> Option<PrimitiveLaunch> {
    let result = walk.nodes[*group.writes.first()?].id;
    let variable = walk.table.get(result);
    let Kind::Primitive(primitive) = variable.kind else { return None };
    let operands = variable.operands().collect();
    Some(PrimitiveLaunch { primitive, operands, result, imag: None, others: Vec::new() })
}

/// Makes one launch of two that follow each other where they make the real and the imaginary part of a product.
fn joined(steps: Vec<(u32, Step)>) -> Vec<(u32, Step)> {
    let mut joined: Vec<(u32, Step)> = Vec::with_capacity(steps.len());
    for (stage, step) in steps {
        if let (Some((_, Step::Primitive(real))), Step::Primitive(imag)) =
            (joined.last_mut(), &step)
            && real.has_imag(imag)
        {
            real.imag = Some(imag.result);
        } else {
            joined.push((stage, step));
        }
    }
    joined
}

/// Makes one launch of the primitives of a stage that are the same, over as many lanes of the same types, if they are many:
/// what is in a stage does not depend on what else is.
fn together(table: &Table, steps: Vec<(u32, Step)>) -> Vec<(u32, Step)> {
    if steps.len() < FEWEST {
        return steps;
    }
    let kind = |(stage, step): &(u32, Step)| {
        let Step::Primitive(launch) = step else { return None };
        let array = |id: VarId| {
            let variable = table.get(id);
            (variable.size, variable.dtype)
        };
        let mut arrays = [None; MAX_OPERANDS];
        let operands = arrays.iter_mut().zip(&launch.operands);
        operands.for_each(|(place, &id)| *place = Some(array(id)));
        let result = array(launch.result);
        // Large ones are worth a launch of their own, whose results and dead operands are known at once.
        let is_large = |(size, _)| size >= MANY_LANES;
        let is_product = matches!(launch.primitive, Primitive::Product(_));
        if !is_product && arrays.iter().flatten().copied().chain([result]).any(is_large) {
            return None;
        }
        Some((*stage, launch.primitive, arrays, result, launch.imag.is_some()))
    };
    // The kind of each step by number, and of each kind how many there are and where the first one goes.
    let mut number_of: HashMap<_, usize, Mix> = HashMap::default();
    let mut kinds: Vec<(usize, Option<usize>)> = Vec::new();
    let numbers: Vec<Option<usize>> = steps
        .iter()
        .map(|step| {
            let number = *number_of.entry(kind(step)?).or_insert(kinds.len());
            if number == kinds.len() {
                kinds.push((0, None));
            }
            kinds[number].0 += 1;
            Some(number)
        })
        .collect();
    let mut kept: Vec<(u32, Step)> = Vec::new();
    for (step, number) in steps.into_iter().zip(numbers) {
        let place = match number.map(|number| &mut kinds[number]) {
            Some((FEWEST.., first)) => *first.get_or_insert(kept.len()),
            _ => kept.len(),
        };
        match (kept.get_mut(place), step) {
            (Some((_, Step::Primitive(first))), (_, Step::Primitive(launch))) => {
                first.others.push(launch);
            }
            (_, step) => kept.push(step),
        }
    }
    kept
}

/// Decides which nodes go to memory besides reductions, scatters and primitives, which always do.
///
/// Stored are: roots; sources and targets; values that a later stage uses; values the user still holds,
/// so that a loop that prints a sum each time does not compute everything from the start again. The
/// last two only when they are dear to compute (a scalar part that is not very dear is recomputed). What one later
/// stage alone needs, and is made of nothing in memory, that stage computes.
///
/// Stored is, too, some of what is far from memory and leads to what is not evaluated ([`mark_far`]): a loop that prints its
/// loss, and never the weights that come out of each other, would compute them from the start each time.
///
/// # Errors
/// `Interrupted`.
fn mark_stored(walk: &mut Walk<'_>, roots: &[VarId], keep: Keep) -> Result<()> {
    let (table, mut n_stages) = (walk.table, 0);
    for &root in roots {
        if let Some(node) = walk.node_mut(root) {
            node.stored = true;
        }
    }
    for i in 0..walk.nodes.len() {
        poll(i)?;
        let Node { id, stage, cost, .. } = walk.nodes[i];
        let variable = table.get(id);
        let held = keep == Keep::Held && variable.external > 0 && variable.scope == 0;
        let cheap = if variable.size == 1 { CHEAP_LANE_IF_HELD } else { CHEAP_IF_HELD };
        let held = held && cost > cheap;
        if held || ends_stage(variable) || is_found(table, variable) {
            walk.nodes[i].stored = true;
        }
        n_stages = n_stages.max(stage + 1);
        for (position, operand) in table.needs(id, variable).iter().enumerate() {
            if walk.needs_memory(variable, position, operand)
                && is_value(table.get(operand))
                && let Some(node) = walk.node_mut(operand)
            {
                node.stored = true;
            }
        }
    }
    if keep == Keep::Held {
        mark_far(walk)?;
    }
    if n_stages > 1 { mark_used_later(walk) } else { Ok(()) }
}

/// Stores values that lie before what has users that are not evaluated, [`FAR`] operations or less: those users begin there
/// when they are wanted. None, if they take much more than what is read.
///
/// # Errors
/// `Interrupted`.
fn mark_far(walk: &mut Walk<'_>) -> Result<()> {
    let (table, n) = (walk.table, walk.nodes.len());
    let mut uses = vec![0; n];
    for i in 0..n {
        poll(i)?;
        operands(walk, i).into_iter().for_each(|operand| uses[operand] += 1);
    }
    let is_shared = |(node, &uses): (&Node, &u32)| table.get(node.id).internal > uses;
    let shared: Vec<bool> = walk.nodes.iter().zip(&uses).map(is_shared).collect();
    if !shared.contains(&true) {
        return Ok(());
    }
    let leads = behind(walk, &shared, |i| walk.nodes[i].stored)?;
    let (mut depths, mut is_mark) = (vec![0_u32; n], vec![false; n]);
    for i in 0..n {
        poll(i)?;
        let deepest = operands(walk, i).into_iter().map(|operand| depths[operand]).max();
        let depth = deepest.unwrap_or(0).saturating_add(1);
        let is_kept = walk.nodes[i].stored;
        is_mark[i] = !is_kept && leads[i] && depth >= FAR && is_value(table.get(walk.nodes[i].id));
        depths[i] = if is_kept || is_mark[i] { 0 } else { depth };
    }
    // Of several in a row the last one is enough.
    let last = behind(walk, &shared, |i| walk.nodes[i].stored || is_mark[i])?;
    let marks: Vec<usize> = (0..n).filter(|&i| is_mark[i] && last[i]).collect();
    let n_written = marks.iter().map(|&i| bytes(table.get(walk.nodes[i].id))).sum::<u64>();
    if n_written <= MUCH.saturating_mul(read_bytes(walk)) {
        marks.into_iter().for_each(|i| walk.nodes[i].stored = true);
    }
    Ok(())
}

/// The nodes that some are made of, as far as the first ones on the way back where it `ends`, these included.
///
/// # Errors
/// `Interrupted`.
fn behind(walk: &Walk<'_>, some: &[bool], ends: impl Fn(usize) -> bool) -> Result<Vec<bool>> {
    let mut found = some.to_vec();
    for i in (0..found.len()).rev() {
        poll(i)?;
        if found[i] && !ends(i) {
            operands(walk, i).into_iter().for_each(|operand| found[operand] = true);
        }
    }
    Ok(found)
}

/// The nodes that one needs.
fn operands(walk: &Walk<'_>, i: usize) -> SmallVec<[usize; MAX_OPERANDS]> {
    let (table, id) = (walk.table, walk.nodes[i].id);
    table.needs(id, table.get(id)).iter().filter_map(|id| walk.position(id)).collect()
}

/// Bytes that are read, and those of the largest value.
fn read_bytes(walk: &Walk<'_>) -> u64 {
    let (table, mut read, mut largest) = (walk.table, HashMap::<VarId, u64, Mix>::default(), 0);
    for &Node { id, .. } in walk.nodes.iter() {
        largest = bytes(table.get(id)).max(largest);
        let others = table.needs(id, table.get(id)).iter();
        read.extend(
            others.filter(|&id| walk.position(id).is_none()).map(|id| (id, bytes(table.get(id)))),
        );
    }
    read.values().fold(largest, |sum, bytes| sum.saturating_add(*bytes))
}

fn bytes(variable: &Variable) -> u64 {
    variable.size.saturating_mul(variable.dtype.bytes() as u64)
}

/// Looks for an interrupt from time to time.
fn poll(i: usize) -> Result<()> {
    let is_due = i % POLL_INTERVAL == POLL_INTERVAL - 1;
    if is_due && interrupt::is_requested() { Err(Error::Interrupted) } else { Ok(()) }
}

/// Inside a region nothing is stored, and a region is no value.
fn is_value(variable: &Variable) -> bool {
    variable.scope == 0 && !matches!(variable.kind, Kind::Region { .. })
}

/// Decides which nodes go to memory for a later stage.
///
/// # Errors
/// `Interrupted`.
fn mark_used_later(walk: &mut Walk<'_>) -> Result<()> {
    let table = walk.table;
    // The first and the last stage that needs each.
    let mut uses: Vec<Option<(u32, u32)>> = vec![None; walk.nodes.len()];
    for i in (0..walk.nodes.len()).rev() {
        poll(i)?;
        let Node { id, stage: own, cost, stored, is_free, .. } = walk.nodes[i];
        let variable = table.get(id);
        let stage = match uses[i] {
            Some((first, last)) if is_free && !stored && first == last => first,
            _ => own,
        };
        let is_late = uses[i].is_some_and(|(_, last)| last > stage);
        if is_late && cost > CHEAP && variable.size != 1 && is_value(variable) {
            walk.nodes[i].stored = true;
        }
        for operand in table.needs(id, variable).iter() {
            let Some(operand) = walk.position(operand) else { continue };
            let (first, last) = uses[operand].unwrap_or((stage, stage));
            uses[operand] = Some((first.min(stage), last.max(stage)));
        }
    }
    Ok(())
}

/// Stored nodes by stage and size, in the order of their first recording.
fn group(walk: &Walk<'_>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut by_key: BTreeMap<(u32, u64), usize> = BTreeMap::new();
    for (i, node) in walk.nodes.iter().enumerate().filter(|(_, node)| node.stored) {
        let variable = walk.table.get(node.id);
        let size = lanes(walk.table, variable);
        let new = |writes| Group { stage: node.stage, size, writes, alike: None, together: None };
        // A primitive is a launch of its own.
        if matches!(variable.kind, Kind::Primitive(_)) {
            groups.push(new(smallvec![i]));
            continue;
        }
        let group = *by_key.entry((node.stage, size)).or_insert_with(|| {
            groups.push(new(SmallVec::new()));
            groups.len() - 1
        });
        groups[group].writes.push(i);
    }
    let serial = |&node: &usize| walk.table.get(walk.nodes[node].id).serial;
    for group in groups.iter_mut().filter(|group| group.writes.len() > 1) {
        group.writes.sort_by_key(serial);
    }
    groups.sort_by_key(|group| (group.stage, group.writes.first().map(serial)));
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
        | Kind::Composite
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
