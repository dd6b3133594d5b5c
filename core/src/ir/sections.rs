//! The instructions of a kernel in the making: in sections, which become one list.

use super::kernel::{Inst, Reg};
use crate::convert::exactly;

/// Where an instruction stands in a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Section {
    /// Numbers that are added on the way, before all else.
    Constants,
    /// What is the same in every lane.
    Uniform,
    /// What runs in every lane.
    Lanes,
    /// Writes of what was computed.
    Writes,
}

/// Instructions by section. Until [`Sections::list`] numbers them, a [`Reg`] holds section and position there.
#[derive(Debug, Default)]
pub(crate) struct Sections([Vec<Inst>; 4]);

/// Bits of a position.
const BITS: u32 = 30;

impl Sections {
    /// Adds an instruction.
    pub(crate) fn push(&mut self, section: Section, inst: Inst) -> Reg {
        let list = &mut self.0[section as usize];
        let position = u32::try_from(list.len()).ok().filter(|position| position >> BITS == 0);
        list.push(inst);
        let position = position.expect("internal error: more than 2^30 values in a kernel");
        Reg((section as u32) << BITS | position)
    }

    /// The instruction that computes `reg`.
    pub(crate) fn inst(&self, reg: Reg) -> &Inst {
        let (section, position) = taken_apart(reg);
        &self.0[section][position]
    }

    /// Whether `reg` is the same in every lane.
    pub(crate) fn is_uniform(reg: Reg) -> bool {
        taken_apart(reg).0 <= Section::Uniform as usize
    }

    /// All instructions, to change them.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Inst> {
        self.0.iter_mut().flatten()
    }

    /// One list of all instructions, with the positions of the first that runs in every lane and of the first write.
    pub(crate) fn list(&self) -> (Vec<Inst>, usize, usize) {
        let mut insts = self.0.concat();
        let mut starts = [0; 4];
        for (i, section) in self.0[..3].iter().enumerate() {
            starts[i + 1] = starts[i] + section.len();
        }
        for arg in insts.iter_mut().flat_map(|inst| &mut inst.args).flatten() {
            let (section, position) = taken_apart(*arg);
            *arg = Reg(exactly(starts[section] + position));
        }
        (insts, starts[Section::Lanes as usize], starts[Section::Writes as usize])
    }

    /// Forgets all, but keeps some room.
    pub(crate) fn clear(&mut self, kept: usize) {
        for section in &mut self.0 {
            section.clear();
            section.shrink_to(kept);
        }
    }
}

fn taken_apart(reg: Reg) -> (usize, usize) {
    ((reg.0 >> BITS) as usize, (reg.0 & ((1 << BITS) - 1)) as usize)
}
