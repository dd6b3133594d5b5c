//! States of regions change as early as they can: the next value of one and the value before it need a register each until
//! then.
//!
//! Lowering changes all states where a turn ends. A change goes up to where neither the state, as it was, nor the next value
//! by itself is used any more in that turn; not into the condition, behind which the region may be left, nor into a
//! region inside.

use crate::backend::cpu::program::{Home, Inst, MachineOp, Program, VReg};

/// No instruction, or no region.
const NONE: usize = usize::MAX;

/// A region.
struct Region {
    /// The one around it.
    outer: usize,
    /// Where it begins, and once that is known where it is left.
    left: usize,
    end: usize,
}

/// What is known in front of an instruction.
struct Before {
    regions: Vec<Region>,
    /// The innermost region around it.
    open: usize,
    /// The region around each instruction before.
    around: Vec<usize>,
    /// For each value what computes it, unless that changes.
    made: Vec<usize>,
    /// For each value its last use.
    used: Vec<usize>,
}

/// Moves the changes of states up.
pub(super) fn change_early(program: &mut Program) {
    if !program.insts.iter().any(|inst| matches!(inst.op, MachineOp::Assign)) {
        return;
    }
    let n = program.virtuals.len();
    let (made, used) = (vec![NONE; n], vec![NONE; n]);
    let mut before = Before { regions: Vec::new(), open: NONE, around: Vec::new(), made, used };
    // What follows on which instruction.
    let mut moved: Vec<(usize, usize)> = Vec::new();
    for (i, inst) in program.insts.iter().enumerate() {
        if let (MachineOp::Assign, [state, next, _]) = (inst.op, inst.src)
            && program.virtuals[next.index()].home == Home::Computed
            && let Some(place) = before.earliest(state, next)
            && place + 1 < i
        {
            moved.push((place, i));
        }
        before.pass(i, inst);
    }
    if !moved.is_empty() {
        program.insts = reordered(&program.insts, moved);
    }
}

/// Instructions, some of which follow on others.
fn reordered(insts: &[Inst], mut moved: Vec<(usize, usize)>) -> Vec<Inst> {
    moved.sort_unstable();
    let mut is_moved = vec![false; insts.len()];
    moved.iter().for_each(|&(_, i)| is_moved[i] = true);
    let mut moved = moved.into_iter().peekable();
    let mut order = Vec::with_capacity(insts.len());
    for (place, inst) in insts.iter().enumerate() {
        order.extend((!is_moved[place]).then_some(*inst));
        while let Some((_, i)) = moved.next_if(|&(behind, _)| behind == place) {
            order.push(insts[i]);
        }
    }
    order
}

impl Before {
    /// The instruction behind which a state of the open region can take its next value.
    fn earliest(&self, state: VReg, next: VReg) -> Option<usize> {
        let made = self.made[next.index()];
        if made == NONE || self.around[made] != self.open {
            return None;
        }
        let uses = [state, next].map(|v| self.used[v.index()]).into_iter();
        let last = uses.filter(|&used| used != NONE).fold(made, usize::max);
        let mut place = last.max(self.regions[self.open].left);
        let mut region = self.around[place];
        // Behind a region inside.
        while region != self.open {
            place = place.max(self.regions[region].end);
            region = self.regions[region].outer;
        }
        Some(place)
    }

    /// Goes on behind an instruction.
    fn pass(&mut self, i: usize, inst: &Inst) {
        match inst.op {
            MachineOp::Begin { .. } => {
                self.regions.push(Region { outer: self.open, left: i, end: NONE });
                self.open = self.regions.len() - 1;
            }
            MachineOp::LeaveIfNone { .. } => self.regions[self.open].left = i,
            MachineOp::Simple(..)
            | MachineOp::Special(_)
            | MachineOp::Carry
            | MachineOp::Copy { .. }
            | MachineOp::Assign
            | MachineOp::End { .. } => {}
        }
        self.around.push(self.open);
        if let MachineOp::End { .. } = inst.op {
            let region = &mut self.regions[self.open];
            region.end = i;
            self.open = region.outer;
        }
        if matches!(inst.op, MachineOp::Simple(..) | MachineOp::Special(_)) && inst.dst.is_some() {
            self.made[inst.dst.index()] = i;
        }
        // A state that is changed is not used.
        let first = usize::from(matches!(inst.op, MachineOp::Assign));
        for source in inst.src[first..].iter().filter(|source| source.is_some()) {
            self.used[source.index()] = i;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cpu::program::{Nan, Special, Virtual};

    const MAKE: MachineOp = MachineOp::Special(Special::LaneNumber { wide: false });
    const COPY: MachineOp = MachineOp::Copy { mask: false };

    /// Instructions with their results, or none, and operands, before and after; told apart by their origins.
    fn check(insts: &[(MachineOp, Option<u32>, &[u32])], want: &[u32]) {
        let value = |v: Option<u32>| v.map_or(VReg::NONE, VReg);
        let inst = |(origin, &(op, dst, src)): (u32, &(MachineOp, Option<u32>, &[u32]))| {
            let src = [0, 1, 2].map(|k| value(src.get(k).copied()));
            Inst { op, dst: value(dst), src, origin }
        };
        let insts: Vec<Inst> = (0..).zip(insts).map(inst).collect();
        let computed = Virtual { home: Home::Computed, mask: false, nan: Nan::Any, uses: 1 };
        let mut program = Program { insts, virtuals: vec![computed; 16] };
        change_early(&mut program);
        let order: Vec<u32> = program.insts.iter().map(|inst| inst.origin).collect();
        assert_eq!(order, want);
    }

    fn begin(region: u32) -> (MachineOp, Option<u32>, &'static [u32]) {
        (MachineOp::Begin { region }, None, &[])
    }

    fn end(region: u32) -> (MachineOp, Option<u32>, &'static [u32]) {
        (MachineOp::End { region, repeat: true }, None, &[])
    }

    const LEAVE: MachineOp = MachineOp::LeaveIfNone { region: 0 };

    #[test]
    fn a_state_changes_behind_its_last_use() {
        let insts: [(MachineOp, Option<u32>, &[u32]); 11] = [
            (COPY, Some(0), &[9]),
            (COPY, Some(1), &[9]),
            begin(0),
            (MAKE, Some(2), &[]),
            (LEAVE, None, &[2]),
            (MAKE, Some(3), &[0, 1]),
            (MAKE, Some(4), &[1]),
            (MAKE, Some(5), &[4]),
            (MachineOp::Assign, None, &[0, 3]),
            (MachineOp::Assign, None, &[1, 4]),
            end(0),
        ];
        // Where the next value is used on, it would need a register anyway.
        check(&insts, &[0, 1, 2, 3, 4, 5, 8, 6, 7, 9, 10]);
    }

    #[test]
    fn no_state_changes_before_another_takes_its_value_or_the_region_is_left() {
        let insts: [(MachineOp, Option<u32>, &[u32]); 12] = [
            (COPY, Some(0), &[9]),
            (COPY, Some(1), &[9]),
            (COPY, Some(2), &[9]),
            begin(0),
            // Next values in the condition, of which one goes to two states.
            (MAKE, Some(3), &[2]),
            (MAKE, Some(4), &[3]),
            (LEAVE, None, &[4]),
            (MAKE, Some(5), &[9]),
            (MachineOp::Assign, None, &[0, 1]),
            (MachineOp::Assign, None, &[1, 3]),
            (MachineOp::Assign, None, &[2, 3]),
            end(0),
        ];
        check(&insts, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
        let mut others = insts;
        others[8].2 = &[0, 5];
        check(&others, &[0, 1, 2, 3, 4, 5, 6, 9, 7, 8, 10, 11]);
    }

    #[test]
    fn a_state_changes_behind_a_region_inside_that_uses_it() {
        let insts: [(MachineOp, Option<u32>, &[u32]); 16] = [
            (COPY, Some(0), &[9]),
            begin(0),
            (LEAVE, None, &[9]),
            (MAKE, Some(1), &[0]),
            (COPY, Some(2), &[0]),
            begin(1),
            (MachineOp::LeaveIfNone { region: 1 }, None, &[9]),
            (MAKE, Some(3), &[2, 0]),
            (MAKE, Some(4), &[3]),
            (MachineOp::Assign, None, &[2, 3]),
            end(1),
            (MAKE, Some(5), &[2]),
            (MAKE, Some(6), &[5]),
            (MachineOp::Assign, None, &[0, 1]),
            (MAKE, Some(7), &[]),
            end(0),
        ];
        check(&insts, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 11, 12, 14, 15]);
    }
}
