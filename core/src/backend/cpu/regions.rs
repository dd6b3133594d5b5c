//! Register allocation at the edges of regions (S21).
//!
//! Where a region begins, a loop begins anew and a region ends, the registers must agree on all ways that
//! lead there. So at those places values are in memory, except some that are *pinned* to their registers
//! throughout the region: first the copies that the region changes, then what it only reads. What a region
//! uses of outside is live to its end.

use super::machine::{Jump, Machine, Physical, Stored};
use super::program::{Home, MachineOp, Program, VReg};
use super::register_allocation::{Allocator, NEVER, NO_SLOT, NOWHERE, TEMPORARIES};

/// Mask registers that stay free for temporaries, of seven.
const FREE_MASKS: usize = 4;

/// Vector registers that stay free for temporaries at least.
const FREE_VECTORS: usize = 6;

/// A region as allocation sees it.
#[derive(Default)]
pub(super) struct RegionPlan {
    /// Values computed outside and used inside, the changing ones first, with the next use behind the
    /// region of each.
    kept: Vec<(VReg, u32)>,
    /// The copies that it changes itself.
    changing: Vec<VReg>,
    /// Vector registers that values need at once, kept ones included.
    most_live: usize,
    /// Kept values that count in that number.
    n_occupying: usize,
    pinned_vectors: u32,
    pinned_masks: u32,
    /// Code position of the beginning.
    begin: u64,
    leave: Option<Jump>,
}

/// The regions of a program with what they keep.
pub(super) fn plan(program: &Program) -> Vec<RegionPlan> {
    let mut plans: Vec<RegionPlan> = Vec::new();
    if !program.insts.iter().any(|inst| matches!(inst.op, MachineOp::Begin { .. })) {
        return plans;
    }
    let mut defined = vec![NEVER; program.virtuals.len()];
    let mut open: Vec<(usize, u32)> = Vec::new();
    for (i, inst) in (0..).zip(&program.insts) {
        if inst.dst.is_some() {
            defined[inst.dst.index()] = i;
        }
        if let (MachineOp::Assign, Some(&(region, _))) = (inst.op, open.last()) {
            plans[region].changing.push(inst.src[0]);
        }
        for source in inst.src.into_iter().filter(|source| source.is_some()) {
            let around = open.iter().filter(|&&(_, begin)| defined[source.index()] < begin);
            around.for_each(|&(region, _)| plans[region].kept.push((source, NEVER)));
        }
        match inst.op {
            MachineOp::Begin { region } => {
                let region = region as usize;
                plans.resize_with(plans.len().max(region + 1), RegionPlan::default);
                open.push((region, i));
            }
            MachineOp::End { .. } => {
                open.pop();
            }
            _ => {}
        }
    }
    for plan in &mut plans {
        plan.changing.sort_unstable_by_key(|v| v.0);
        let changes = |v: VReg| plan.changing.binary_search_by_key(&v.0, |v| v.0).is_ok();
        plan.kept.sort_unstable_by_key(|&(v, _)| (!changes(v), v.0));
        plan.kept.dedup();
    }
    plans
}

impl<T: Machine> Allocator<'_, T> {
    /// Looking back, enters a region at its end: what it keeps is used here.
    pub(super) fn enter_backwards(&mut self, region: u32, here: u32) -> usize {
        let mut more = 0;
        let mut plan = std::mem::take(&mut self.regions[region as usize]);
        for (v, after) in &mut plan.kept {
            *after = self.due[v.index()];
            let counts = usize::from(self.occupies(*v));
            plan.n_occupying += counts;
            if *after == NEVER {
                more += counts;
                self.due[v.index()] = here;
            }
        }
        self.regions[region as usize] = plan;
        more
    }

    /// Notes the values that are live at once in a region and those around it.
    pub(super) fn raise_pressure(&mut self, region: u32, live: usize) {
        let plan = &mut self.regions[region as usize];
        plan.most_live = plan.most_live.max(live);
    }

    pub(super) fn most_live_in(&self, region: u32) -> usize {
        self.regions[region as usize].most_live
    }

    /// Begins a region: pins some of what it keeps, and puts everything else into memory.
    pub(super) fn begin_region(&mut self, region: u32) {
        let mut plan = std::mem::take(&mut self.regions[region as usize]);
        let taken = self.vectors.hoisted.count_ones() as usize;
        let target = self.lowered.packet.target;
        let all = target.vectors.count_ones() as usize;
        let others = plan.most_live.saturating_sub(plan.n_occupying) + TEMPORARIES;
        let mut vectors = (all - taken).saturating_sub(others.max(FREE_VECTORS));
        let taken = self.masks.hoisted.count_ones() as usize;
        let mut masks = (target.masks.count_ones() as usize).saturating_sub(taken + FREE_MASKS);
        for &(v, _) in &plan.kept {
            let register = self.assigned[v.index()];
            let mask = self.program.virtuals[v.index()].mask;
            let left = if mask { &mut masks } else { &mut vectors };
            if register == NOWHERE || *left == 0 {
                continue;
            }
            let (bank, pinned) = if mask {
                (&mut self.masks, &mut plan.pinned_masks)
            } else {
                (&mut self.vectors, &mut plan.pinned_vectors)
            };
            if bank.hoisted & 1 << register != 0 {
                continue;
            }
            *left -= 1;
            bank.hoisted |= 1 << register;
            *pinned |= 1 << register;
            // A value that changes in its register is no longer the one in memory.
            if plan.changing.binary_search_by_key(&v.0, |v| v.0).is_ok() {
                let slot = std::mem::replace(&mut self.slot[v.index()], NO_SLOT);
                self.free_slots.extend((slot != NO_SLOT).then_some(slot));
            }
        }
        self.evict_all();
        self.machine.align();
        plan.begin = self.machine.position();
        self.regions[region as usize] = plan;
        self.depth += 1;
    }

    /// Puts every value that is not pinned into memory.
    pub(super) fn evict_all(&mut self) {
        for register in 0..32 {
            for mask in [false, true] {
                let bank = if mask { &mut self.masks } else { &mut self.vectors };
                if bank.hoisted & 1 << register != 0 {
                    continue;
                }
                let v = std::mem::replace(&mut bank.owner[usize::from(register)], VReg::NONE);
                if v.is_some() {
                    bank.free |= 1 << register;
                    self.evict(v, register);
                }
            }
        }
    }

    /// Jumps to a region's end unless a mask holds somewhere.
    pub(super) fn leave_if_none(&mut self, region: u32, mask: Physical) {
        let jump = self.machine.jump_if_none(mask);
        self.regions[region as usize].leave = Some(jump);
    }

    /// Gives a copy another value, in its register or in memory.
    pub(super) fn assign(&mut self, i: usize, copy: VReg, value: VReg) {
        let from = self.ensure(value, 0);
        let mask = self.program.virtuals[copy.index()].mask;
        let to = self.assigned[copy.index()];
        let hoisted = if mask { self.masks.hoisted } else { self.vectors.hoisted };
        if to != NOWHERE && hoisted & 1 << to != 0 {
            self.machine.copy(self.physical(copy, to), self.physical(value, from));
            return self.release_all(i);
        }
        if to != NOWHERE {
            let bank = if mask { &mut self.masks } else { &mut self.vectors };
            bank.free |= 1 << to;
            bank.owner[usize::from(to)] = VReg::NONE;
            self.assigned[copy.index()] = NOWHERE;
        }
        let slot = Stored::Slot(self.slot[copy.index()]);
        self.machine.store(slot, self.physical(value, from));
        self.release_all(i);
    }

    /// Ends a region; a loop begins anew unless an interrupt was requested.
    pub(super) fn end_region(&mut self, region: u32, repeat: bool) {
        self.depth -= 1;
        let plan = std::mem::take(&mut self.regions[region as usize]);
        if repeat {
            self.machine.exit_if_interrupted();
            self.machine.jump_back(plan.begin);
        }
        if let Some(leave) = plan.leave {
            self.machine.land(leave);
        }
        // Whatever way led here, only pinned registers hold their values.
        for mask in [false, true] {
            let bank = if mask { &mut self.masks } else { &mut self.vectors };
            for register in 0..32_u8 {
                if bank.hoisted & 1 << register == 0 {
                    let v = std::mem::replace(&mut bank.owner[usize::from(register)], VReg::NONE);
                    if v.is_some() {
                        bank.free |= 1 << register;
                        self.assigned[v.index()] = NOWHERE;
                    }
                }
            }
        }
        self.vectors.hoisted &= !plan.pinned_vectors;
        self.masks.hoisted &= !plan.pinned_masks;
        for (v, after) in plan.kept {
            self.due[v.index()] = after;
            if after == NEVER && self.program.virtuals[v.index()].home == Home::Computed {
                self.forget(v);
            }
        }
    }
}
