//! The registers of the kernel being built: which variables have one, and the instructions so far.

use std::collections::HashMap;

use hashbrown::HashTable;

use super::walk::SlotMap;
use crate::ir::call::Application;
use crate::ir::kernel::{BufferIndex, Inst, Reg};
use crate::ir::mix::Mix;
use crate::ir::var::VarId;

/// Marks the register of a per-lane instruction until uniform ones are moved to the front.
pub(super) const LANE: u32 = 1 << 31;

/// Where the kernel being built has the values of slots, and room for building.
#[derive(Default)]
pub(super) struct Registers {
    pub(super) reg_of: SlotMap<Reg>,
    pub(super) buffer_of: SlotMap<BufferIndex>,
    pub(super) path: Vec<(VarId, usize)>,
    pub(super) uniform: Vec<Inst>,
    pub(super) lanes: Vec<Inst>,
    /// Bytes that the kernel's hash is computed from.
    pub(super) hashed: Vec<u8>,
    pub(super) calls: Calls,
}

/// Entries of room that is kept between evaluations.
const KEPT: usize = 1 << 16;

impl Registers {
    pub(super) fn grow(&mut self, n_slots: usize) {
        self.reg_of.grow(n_slots);
        self.buffer_of.grow(n_slots);
    }

    pub(super) fn inst(&self, reg: Reg) -> &Inst {
        let number = (reg.0 & !LANE) as usize;
        if reg.0 & LANE != 0 { &self.lanes[number] } else { &self.uniform[number] }
    }

    /// Whether every lane has the same value.
    pub(super) fn is_uniform(reg: Reg) -> bool {
        reg.0 & LANE == 0
    }

    pub(super) fn push(&mut self, inst: Inst, is_uniform: bool) -> Reg {
        let (list, mark) =
            if is_uniform { (&mut self.uniform, 0) } else { (&mut self.lanes, LANE) };
        list.push(inst);
        Reg(small(list.len() - 1) | mark)
    }

    pub(super) fn clear(&mut self) {
        self.reg_of.clear();
        self.buffer_of.clear();
        self.path.clear();
        self.calls.clear();
        for insts in [&mut self.uniform, &mut self.lanes] {
            insts.clear();
            insts.shrink_to(KEPT);
        }
        self.hashed.clear();
        self.hashed.shrink_to(KEPT * size_of::<Inst>());
    }
}

/// The registers of a call's arguments and of the steps of its body, as far as they are there.
pub(super) type Frame = Vec<Option<Reg>>;

/// Scratch memory that calls share.
#[derive(Default)]
pub(super) struct Calls {
    /// The frames of calls that are visited again: for other results, or from inside a region.
    pub(super) frames: HashMap<VarId, Frame, Mix>,
    /// The frame of a call that is visited once.
    pub(super) single: Frame,
    /// Instructions of bodies with their hashes and scopes: a sine and a cosine share a good part.
    pub(super) known: HashTable<(u64, u32, Reg)>,
}

impl Calls {
    /// Forgets the last kernel, in the time that it took and not in that of the largest one.
    pub(super) fn clear(&mut self) {
        self.frames = HashMap::default();
        if self.known.len() < self.known.capacity() / 8 {
            self.known = HashTable::new();
        } else {
            self.known.clear();
        }
    }

    /// Takes the frame of a call.
    pub(super) fn frame(&mut self, function: Application<'_>) -> Frame {
        self.frames.remove(&function.id).unwrap_or_else(|| {
            let mut frame = std::mem::take(&mut self.single);
            frame.clear();
            frame.resize(function.body.n_arguments + function.body.steps.len(), None);
            frame
        })
    }
}

/// A position in a kernel. Registers keep their highest bit for [`LANE`].
pub(super) fn small(position: usize) -> u32 {
    let position = u32::try_from(position).ok().filter(|&position| position < LANE);
    position.expect("internal error: more than 2^31 values in a kernel")
}
