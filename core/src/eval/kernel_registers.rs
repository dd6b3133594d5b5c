//! The registers of the kernel being built: which variables have one, and the instructions so far.

use std::collections::HashMap;

use hashbrown::HashTable;

use super::walk::SlotMap;
use crate::ir::call::Application;
use crate::ir::kernel::{BufferIndex, Inst, Reg};
use crate::ir::mix::Mix;
use crate::ir::sections::{Section, Sections};
use crate::ir::var::VarId;

/// Where the kernel being built has the values of slots, and room for building.
#[derive(Default)]
pub(super) struct Registers {
    pub(super) reg_of: SlotMap<Reg>,
    pub(super) buffer_of: SlotMap<BufferIndex>,
    pub(super) path: Vec<(VarId, usize)>,
    pub(super) insts: Sections,
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
        self.insts.inst(reg)
    }

    /// Whether every lane has the same value.
    pub(super) fn is_uniform(reg: Reg) -> bool {
        Sections::is_uniform(reg)
    }

    pub(super) fn push(&mut self, inst: Inst, is_uniform: bool) -> Reg {
        self.insts.push(if is_uniform { Section::Uniform } else { Section::Lanes }, inst)
    }

    pub(super) fn clear(&mut self) {
        self.reg_of.clear();
        self.buffer_of.clear();
        self.path.clear();
        self.calls.clear();
        self.insts.clear(KEPT);
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
