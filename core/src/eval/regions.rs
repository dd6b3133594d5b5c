//! Regions in the kernel being built (S21): their operands come first, then start, phis, condition, body,
//! next values and end, in one piece.

use std::collections::{HashMap, HashSet};

use super::build::Builder;
use super::launches::Binding;
use super::walk::is_memory_operand;
use crate::ir::kernel::{BufferIndex, Code, Reg};
use crate::ir::mix::Mix;
use crate::ir::var::{Kind, Region, VarId, Variable};

/// The regions of the kernel being built.
#[derive(Default)]
pub(super) struct Regions {
    /// Operands from outside of each open region.
    needs: HashMap<VarId, Needs, Mix>,
    /// The buffers that are written, by the outermost phi.
    written: HashMap<VarId, BufferIndex, Mix>,
}

/// Operands of a region from outside, each once.
#[derive(Default)]
struct Needs {
    values: Vec<VarId>,
    /// Functions inside of which some arguments are from outside.
    calls: Vec<VarId>,
}

impl Regions {
    pub(super) fn clear(&mut self) {
        self.needs.clear();
        self.written.clear();
    }

    pub(super) fn write(&mut self, state: VarId, buffer: BufferIndex) {
        self.written.insert(state, buffer);
    }
}

impl Builder<'_, '_> {
    /// What a region needs from outside, at a position.
    pub(super) fn region_need(
        &mut self,
        id: VarId,
        region: &Region,
        position: usize,
    ) -> Option<VarId> {
        if position == 0 {
            if region.fetches {
                region.values.iter().for_each(|&(state, _)| self.bind_unwanted(state));
            }
            let needs = self.needs(region);
            self.regions.needs.insert(id, needs);
        }
        self.regions.needs.get(&id)?.values.get(position).copied()
    }

    /// Handles variables that are parts of regions, not instructions of their own.
    pub(super) fn is_region_part(&mut self, id: VarId, variable: &Variable) -> bool {
        match variable.kind {
            Kind::Region { repeat } => self.region(id, variable, repeat),
            // A phi that never changes is its first value.
            Kind::Phi { memory: false } => {
                let first = variable.operands[0].and_then(|first| self.known(first));
                self.alias(id, first.expect("internal error: a state without a first value"));
            }
            // Memory has no register: that of the writes only says that they came.
            Kind::Phi { memory: true } => self.alias(id, Reg(0)),
            Kind::Result { memory: true, .. } => self.alias(id, Reg(0)),
            // The region gave it a register.
            Kind::Result { .. } => {}
            Kind::Literal(_)
            | Kind::Constant(_)
            | Kind::Index
            | Kind::Op(_)
            | Kind::Call(_)
            | Kind::Output { .. }
            | Kind::Composite
            | Kind::Gather { .. }
            | Kind::Fetch
            | Kind::Scatter { .. }
            | Kind::Reduce(_)
            | Kind::Primitive(_)
            | Kind::ActiveMask
            | Kind::RunningMask
            | Kind::Data => return false,
        }
        true
    }

    fn region(&mut self, id: VarId, variable: &Variable, repeat: bool) {
        let region = variable.region().expect("internal error: a region without a body");
        let needs = self.regions.needs.remove(&id).unwrap_or_default();
        for need in needs.values {
            // What is in memory is loaded here, for all uses inside and behind.
            self.known(need);
        }
        for call in needs.calls {
            self.call_outside(call, region.scope, variable.scope);
        }
        let running = self.table.get(region.running);
        let active = running.operands[0].expect("internal error: nothing enters a region");
        let outer = self.table.get(active).operands[0].and_then(|outer| self.known(outer));
        let start = self.emit_lane(active, Code::RegionStart { repeat }, [outer, None, None]);
        self.alias(active, start);
        self.alias(id, start);
        let lanes = region.values.iter().filter(|(state, _)| !is_memory(self.table, *state));
        let lanes: Vec<(VarId, VarId)> = lanes.copied().collect();
        let mut firsts = Vec::with_capacity(lanes.len());
        for &(state, _) in &lanes {
            let first = self.table.get(state).operands[0];
            firsts.push(first.and_then(|first| self.known(first)));
        }
        let mut states = Vec::with_capacity(lanes.len());
        for (&(state, _), first) in lanes.iter().zip(firsts) {
            let reg = self.emit_lane(state, Code::Phi, [first, None, None]);
            self.alias(state, reg);
            states.push(reg);
        }
        let run = self.value(region.running);
        for &(state, next) in &region.values {
            if self.is_wanted(state) {
                self.value(next);
            }
        }
        for (&(state, next), &reg) in lanes.iter().zip(&states) {
            let next = self.value(next);
            self.emit_lane(state, Code::BackEdge, [Some(reg), Some(next), None]);
        }
        self.emit_lane(region.running, Code::RegionEnd, [Some(run), None, None]);
        let mut states = states.into_iter();
        for (&(result, generation), &(state, _)) in region.results.iter().zip(&region.values) {
            if is_memory(self.table, state) {
                continue;
            }
            let reg = states.next().expect("internal error: a state without a register");
            if self.table.get(result).generation == generation {
                self.alias(result, reg);
            }
        }
    }

    /// Gives an array that is written, and not wanted, a copy to be written.
    fn bind_unwanted(&mut self, state: VarId) {
        if let (true, Some((outermost, target))) = (!self.is_wanted(state), self.array_of(state)) {
            let buffer = self.bind(Binding::Scratch(target), self.table.get(state).dtype, true);
            self.give_length(buffer);
            self.regions.write(outermost, buffer);
        }
    }

    fn needs(&self, region: &Region) -> Needs {
        let table = self.table;
        let mut needs = Needs::default();
        let mut seen: HashSet<VarId, Mix> = HashSet::default();
        let mut work = vec![region.running];
        for &(state, next) in region.values.iter().rev() {
            if self.is_wanted(state) {
                work.extend([next, state]);
            }
        }
        while let Some(id) = work.pop() {
            if !seen.insert(id) {
                continue;
            }
            let variable = table.get(id);
            // Of a region inside, too, only what is wanted.
            if let Some(inner) = variable.region().filter(|_| variable.scope >= region.scope) {
                work.push(inner.running);
                let wanted = inner.values.iter().filter(|(state, _)| self.is_wanted(*state));
                work.extend(wanted.flat_map(|&(state, next)| [state, next]));
                continue;
            }
            if variable.scope < region.scope {
                if variable.kind.number().is_none() {
                    needs.values.push(id);
                }
                continue;
            }
            if table.application(id, variable).is_some() && self.has_outside(id, region.scope) {
                needs.calls.push(id);
            }
            for (position, operand) in table.needs(id, variable).iter().enumerate() {
                if !is_memory_operand(table, variable, position) {
                    work.push(operand);
                }
            }
        }
        needs
    }

    /// Whether the back-edge value of a phi is to be computed: an array without users is not written.
    fn is_wanted(&self, state: VarId) -> bool {
        !is_memory(self.table, state) || self.written(state).is_some()
    }

    /// The buffer that a write, or a phi of memory, stands for.
    pub(super) fn written(&self, id: VarId) -> Option<BufferIndex> {
        let (state, _) = self.array_of(id)?;
        self.regions.written.get(&state).copied()
    }

    /// The outermost phi of an array that a region writes, and the array before.
    pub(super) fn array_of(&self, id: VarId) -> Option<(VarId, VarId)> {
        let mut id = id;
        loop {
            let variable = self.table.get(id);
            let operand = variable.operands[0]?;
            id = match variable.kind {
                Kind::Phi { .. } if self.table.get(operand).scope == 0 => {
                    return Some((id, operand));
                }
                Kind::Scatter { .. } | Kind::Phi { .. } => operand,
                Kind::Result { position, .. } => {
                    let region = self.table.get(operand).region()?;
                    region.values.get(position as usize)?.0
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
                | Kind::Reduce(_)
                | Kind::Primitive(_)
                | Kind::ActiveMask
                | Kind::RunningMask
                | Kind::Region { .. }
                | Kind::Data => return None,
            };
        }
    }
}

fn is_memory(table: &crate::ir::table::Table, state: VarId) -> bool {
    table.get(state).kind == Kind::Phi { memory: true }
}
