//! Registers for a program, in one pass back and one forward; the forward pass has a machine encode as it goes.
//!
//! Back: for each use of a value, where it is used next. Forward: a value that needs a register while
//! all are taken gets that of the value used furthest ahead. A value with a home (a constant, a uniform
//! value, a lane of a buffer) is dropped and read again; others are spilled to the thread's frame.
//! Linear in the length of the program.

use super::lower::Lowered;
use super::machine::{Machine, Physical, Stored, Style, Walked};
use super::program::{Home, Location, MachineOp, Program, Special, VReg, Virtual};
use super::regions::{self, RegionPlan};
use crate::convert::exactly;
use crate::error::{Error, Result};
use crate::interrupt;

/// No next use.
pub(super) const NEVER: u32 = u32::MAX;
/// No register.
pub(super) const NOWHERE: u8 = u8::MAX;
/// Not spilled.
pub(super) const NO_SLOT: u32 = u32::MAX;
/// Registers kept free of hoisted constants, for temporaries.
pub(super) const TEMPORARIES: usize = 3;
/// Instructions between two looks at the interrupt flag.
const POLL_INTERVAL: usize = 1 << 14;

/// What allocation found out about a program.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    pub(super) registers: usize,
    pub(super) spills: usize,
    /// Bytes of the frame used for spills.
    pub(super) spill_bytes: u32,
}

/// Registers of one class and the values in them.
pub(super) struct Bank {
    pub(super) owner: [VReg; 32],
    pub(super) free: u32,
    /// Registers that keep their value throughout.
    pub(super) hoisted: u32,
    used: u32,
}

impl Bank {
    fn new(all: u32) -> Self {
        Self { owner: [VReg::NONE; 32], free: all, hoisted: 0, used: 0 }
    }
}

/// A program being encoded.
pub(super) struct Allocator<'p, T> {
    pub(super) lowered: &'p Lowered,
    pub(super) program: &'p Program,
    pub(super) machine: &'p mut T,
    prefetch: bool,
    /// Bytes of code after which a segment ends, if the program is cut into segments.
    segment_bytes: Option<u64>,
    /// Code position of the segment's loop.
    segment_start: u64,
    /// Regions by number, and how many are open.
    pub(super) regions: Vec<RegionPlan>,
    pub(super) depth: usize,
    /// Next use behind each use.
    pub(super) next: Vec<[u32; 3]>,
    /// Instructions whose result nobody needs.
    dead: Vec<bool>,
    /// Next use of each value from here.
    pub(super) due: Vec<u32>,
    pub(super) assigned: Vec<u8>,
    pub(super) slot: Vec<u32>,
    pub(super) vectors: Bank,
    pub(super) masks: Bank,
    pub(super) free_slots: Vec<u32>,
    /// Slots to be free after the current instruction, which may still read them.
    ending_slots: Vec<u32>,
    n_slots: u32,
    n_spills: usize,
    most_live: usize,
    /// Lane vectors already fetched ahead.
    fetched: Vec<bool>,
    /// Code position and origin of each kernel instruction's code.
    pub(super) notes: Option<Vec<(u64, u32)>>,
}

impl<'p, T: Machine> Allocator<'p, T> {
    /// For a function in a style of code; in segments of so many bytes, if it is cut into segments.
    pub(super) fn new(
        lowered: &'p Lowered,
        program: &'p Program,
        machine: &'p mut T,
        style: Style,
        segment_bytes: Option<u64>,
    ) -> Self {
        machine.begin(style, segment_bytes.is_some());
        let n = program.virtuals.len();
        let target = lowered.packet.target;
        let mut allocator = Self {
            lowered,
            program,
            machine,
            prefetch: style.prefetch,
            segment_bytes,
            segment_start: 0,
            regions: regions::plan(program),
            depth: 0,
            next: vec![[NEVER; 3]; program.insts.len()],
            dead: vec![false; program.insts.len()],
            due: vec![NEVER; n],
            assigned: vec![NOWHERE; n],
            slot: vec![NO_SLOT; n],
            vectors: Bank::new(target.vectors),
            masks: Bank::new(target.masks),
            free_slots: Vec::new(),
            ending_slots: Vec::new(),
            n_slots: 0,
            n_spills: 0,
            most_live: 0,
            fetched: vec![false; n],
            notes: style.notes.then(Vec::new),
        };
        allocator.look_back();
        allocator
    }

    /// Finds the next use of every value behind each of its uses, and how many are live at once.
    fn look_back(&mut self) {
        let mut live = 0_usize;
        let mut open: Vec<u32> = Vec::new();
        let mut left: Vec<u32> = self.program.virtuals.iter().map(|v| v.uses).collect();
        for (i, inst) in self.program.insts.iter().enumerate().rev() {
            let here = exactly::<u32>(i);
            match inst.op {
                MachineOp::End { region, .. } => {
                    live += self.enter_backwards(region, here);
                    self.raise_pressure(region, live);
                    open.push(region);
                }
                MachineOp::Begin { region } => {
                    open.pop();
                    if let Some(&outer) = open.last() {
                        self.raise_pressure(outer, self.most_live_in(region));
                    }
                }
                _ => {}
            }
            if inst.dst.is_some() {
                // What does more than compute has no result, but for carried vectors.
                if self.due[inst.dst.index()] == NEVER && !matches!(inst.op, MachineOp::Carry) {
                    self.dead[i] = true;
                    for source in inst.src.into_iter().filter(|source| source.is_some()) {
                        left[source.index()] -= 1;
                    }
                    continue;
                }
                live -= usize::from(self.occupies(inst.dst));
            }
            for k in 0..3 {
                let source = inst.src[k];
                if !source.is_some() {
                    continue;
                }
                // An operand that appears twice has one next use.
                if let Some(first) = inst.src[..k].iter().position(|&other| other == source) {
                    self.next[i][k] = self.next[i][first];
                    left[source.index()] -= 1;
                    continue;
                }
                self.next[i][k] = self.due[source.index()];
                let counted = self.occupies(source);
                live += usize::from(counted && self.due[source.index()] == NEVER);
                self.due[source.index()] = here;
                left[source.index()] -= 1;
            }
            self.most_live = self.most_live.max(live);
            if let Some(&region) = open.last() {
                self.raise_pressure(region, live);
            }
            for k in 0..3 {
                let source = inst.src[k];
                // The first use of a lane vector is where it is loaded.
                if source.is_some() && left[source.index()] == 0 {
                    let home = self.program.virtuals[source.index()].home;
                    if matches!(home, Home::Vector(Location::Lanes { .. })) {
                        live = live.saturating_sub(1);
                        left[source.index()] = NEVER;
                    }
                }
            }
        }
    }

    /// Whether a value counts as live in a vector register between its uses.
    pub(super) fn occupies(&self, v: VReg) -> bool {
        let Virtual { home, mask, .. } = self.program.virtuals[v.index()];
        !mask && matches!(home, Home::Computed | Home::Vector(Location::Lanes { .. }))
    }

    /// The buffers whose addresses are best kept in registers, the most used first.
    pub(super) fn busy_buffers(&self) -> Vec<Walked> {
        // Uses, and bytes of an element.
        let mut buffers = vec![(0_u32, 0_u8); self.n_buffers()];
        for Virtual { home, uses: n, .. } in &self.program.virtuals {
            if let Home::Vector(Location::Lanes { buffer, bytes, .. }) = *home {
                let (uses, element) = &mut buffers[buffer as usize];
                (*uses, *element) = (*uses + n, bytes);
            }
        }
        for inst in &self.program.insts {
            let MachineOp::Special(special) = inst.op else { continue };
            let (buffer, bytes) = match special {
                Special::Store { buffer, bytes, .. }
                | Special::StorePacked { buffer, bytes, .. } => (buffer, bytes),
                Special::LoadHalves { buffer, .. } => (buffer, 2),
                Special::LoadNarrow { buffer, dtype, .. } => (buffer, exactly(dtype.bytes())),
                Special::LoadBytes { buffer, .. } => (buffer, 1),
                _ => continue,
            };
            let (uses, element) = &mut buffers[buffer as usize];
            (*uses, *element) = (*uses + 1, bytes);
        }
        let mut busy: Vec<(u32, &(u32, u8))> =
            (0..).zip(&buffers).filter(|(_, (uses, _))| *uses > 0).collect();
        busy.sort_by_key(|(_, (uses, _))| std::cmp::Reverse(*uses));
        busy.into_iter().map(|(buffer, &(_, bytes))| Walked { buffer, bytes }).collect()
    }

    fn n_buffers(&self) -> usize {
        let frame = &self.lowered.frame;
        (frame.scratch - frame.pointers) as usize / 8
    }

    /// Loads what stays in registers throughout the loop.
    pub(super) fn load_invariants(&mut self) {
        for i in 0..self.program.virtuals.len() {
            if let Home::Carried(location) = self.program.virtuals[i].home {
                let v = VReg(exactly(i));
                let register = self.take(v, 0);
                self.machine.load(Physical::vector(register), Stored::Whole(location));
                self.vectors.hoisted |= 1 << register;
            }
        }
        if self.segment_bytes.is_some() {
            return;
        }
        let n_registers = self.vectors.free.count_ones() as usize;
        let spare = n_registers.saturating_sub(self.most_live + TEMPORARIES);
        let mut constants: Vec<(u32, usize)> = Vec::new();
        for (i, Virtual { home, mask, uses, .. }) in self.program.virtuals.iter().enumerate() {
            let constant = match home {
                Home::Computed | Home::Mask(_) | Home::Carried(_) => false,
                Home::Vector(location) | Home::Repeat4(location) | Home::Repeat8(location) => {
                    !matches!(location, Location::Lanes { .. } | Location::Frame(_))
                }
            };
            if constant && !mask && *uses > 0 {
                constants.push((*uses, i));
            }
        }
        constants.sort_unstable_by_key(|&(uses, i)| (std::cmp::Reverse(uses), i));
        for &(_, i) in constants.iter().take(spare) {
            let v = VReg(exactly(i));
            let register = self.take(v, 0);
            self.fill(v, register);
            self.vectors.hoisted |= 1 << register;
        }
    }

    /// Writes back what stayed in registers throughout the loop.
    pub(super) fn store_carried(&mut self) {
        for i in 0..self.program.virtuals.len() {
            if let Home::Carried(location) = self.program.virtuals[i].home {
                self.machine.store(Stored::Whole(location), Physical::vector(self.assigned[i]));
            }
        }
    }

    /// Encodes the program once through.
    ///
    /// # Errors
    /// `Interrupted`.
    pub(super) fn run(&mut self) -> Result<()> {
        let program = self.program;
        let mut origin = NEVER;
        for (i, inst) in program.insts.iter().enumerate() {
            if i % POLL_INTERVAL == POLL_INTERVAL - 1 && interrupt::is_requested() {
                return Err(Error::Interrupted);
            }
            if self.dead[i] {
                continue;
            }
            if inst.origin != origin {
                origin = inst.origin;
                let length = self.machine.position() - self.segment_start;
                if self.segment_bytes.is_some_and(|most| length > most) && self.depth == 0 {
                    self.end_segment();
                    self.begin_segment();
                }
                let position = self.machine.position();
                if let Some(notes) = &mut self.notes {
                    notes.push((position, origin));
                }
            }
            match inst.op {
                MachineOp::Simple(m, immediate) => self.instruction(i, inst, m, immediate),
                MachineOp::Begin { region } => self.begin_region(region),
                MachineOp::End { region, repeat } => self.end_region(region, repeat),
                MachineOp::Assign => self.assign(i, inst.src[0], inst.src[1]),
                _ => self.with_registers(i, inst),
            }
            let mut ending = std::mem::take(&mut self.ending_slots);
            self.free_slots.append(&mut ending);
            self.ending_slots = ending;
        }
        Ok(())
    }

    /// Begins a loop over the packets of the tile, unless an interrupt was requested.
    pub(super) fn begin_segment(&mut self) {
        self.machine.exit_if_interrupted();
        self.machine.begin_tile();
        self.machine.align();
        self.segment_start = self.machine.position();
    }

    /// Ends it: what is live goes to the packet's spills, where the next segment finds it.
    pub(super) fn end_segment(&mut self) {
        self.evict_all();
        self.machine.next_packet(self.segment_start);
    }

    pub(super) fn usage(&self) -> Usage {
        let count = |bank: &Bank| bank.used.count_ones() as usize;
        Usage {
            registers: count(&self.vectors) + count(&self.masks),
            spills: self.n_spills,
            spill_bytes: self.n_slots * exactly::<u32>(self.lowered.packet.vector()),
        }
    }

    // Registers.

    pub(super) fn is_mask(&self, v: VReg) -> bool {
        self.program.virtuals[v.index()].mask
    }

    /// A register of the class that a value needs.
    pub(super) fn physical(&self, v: VReg, number: u8) -> Physical {
        Physical { mask: self.is_mask(v), number }
    }

    fn bank(&mut self, v: VReg) -> &mut Bank {
        if self.is_mask(v) { &mut self.masks } else { &mut self.vectors }
    }

    /// A register for a value, taken from another value if need be, but none of `pinned`.
    pub(super) fn take(&mut self, v: VReg, pinned: u32) -> u8 {
        let bank = if self.program.virtuals[v.index()].mask { &self.masks } else { &self.vectors };
        let register = if bank.free != 0 {
            bank.free.trailing_zeros()
        } else {
            let busy = !(pinned | bank.hoisted);
            let due = |&r: &u32| self.due[bank.owner[r as usize].index()];
            let candidates =
                (0..32).filter(|r| busy & 1 << r != 0 && bank.owner[*r as usize].is_some());
            candidates.max_by_key(due).expect("internal error: every register is pinned")
        };
        let register = exactly::<u8>(register);
        let before = bank.owner[usize::from(register)];
        if bank.free & 1 << register == 0 {
            self.evict(before, register);
        }
        self.assigned[v.index()] = register;
        let bank = self.bank(v);
        bank.free &= !(1 << register);
        bank.used |= 1 << register;
        bank.owner[usize::from(register)] = v;
        register
    }

    /// A register without a value, for use within an instruction, but none of `pinned`.
    pub(super) fn spare_vector(&mut self, pinned: u32) -> Option<u8> {
        let free = self.vectors.free & !pinned;
        let register = (free != 0).then(|| free.trailing_zeros())?;
        self.vectors.used |= 1 << register;
        u8::try_from(register).ok()
    }

    pub(super) fn evict(&mut self, v: VReg, register: u8) {
        self.assigned[v.index()] = NOWHERE;
        if self.program.virtuals[v.index()].home == Home::Computed
            && self.slot[v.index()] == NO_SLOT
        {
            let slot = self.free_slots.pop().unwrap_or_else(|| {
                self.n_slots += 1;
                self.n_slots - 1
            });
            self.slot[v.index()] = slot;
            self.n_spills += 1;
            self.machine.store(Stored::Slot(slot), self.physical(v, register));
        }
    }

    /// The register of a value, loaded if it is in none.
    pub(super) fn ensure(&mut self, v: VReg, pinned: u32) -> u8 {
        if self.assigned[v.index()] != NOWHERE {
            return self.assigned[v.index()];
        }
        let register = self.take(v, pinned);
        self.fill(v, register);
        register
    }

    /// Loads a value from its slot or home.
    pub(super) fn fill(&mut self, v: VReg, register: u8) {
        self.fetch(v);
        self.machine.load(self.physical(v, register), self.stored(v));
    }

    /// Where a value is in memory.
    pub(super) fn stored(&self, v: VReg) -> Stored {
        match self.program.virtuals[v.index()].home {
            Home::Repeat4(location) => Stored::Repeat4(location),
            Home::Repeat8(location) => Stored::Repeat8(location),
            Home::Vector(location) | Home::Mask(location) | Home::Carried(location) => {
                Stored::Whole(location)
            }
            Home::Computed => Stored::Slot(self.slot[v.index()]),
        }
    }

    /// Has the lanes that come later fetched, the first time a vector of lanes is read.
    #[inline]
    pub(super) fn fetch(&mut self, v: VReg) {
        if self.prefetch
            && let Home::Vector(location @ Location::Lanes { .. }) =
                self.program.virtuals[v.index()].home
            && !std::mem::replace(&mut self.fetched[v.index()], true)
        {
            self.machine.fetch_ahead(location);
        }
    }

    /// Ends a use.
    fn release(&mut self, i: usize, k: usize) {
        let v = self.program.insts[i].src[k];
        let next = self.next[i][k];
        self.due[v.index()] = next;
        if next == NEVER {
            self.forget(v);
        }
    }

    /// Frees the register and slot of a value that is not used again.
    pub(super) fn forget(&mut self, v: VReg) {
        let register = self.assigned[v.index()];
        if register != NOWHERE {
            let bank = self.bank(v);
            if bank.hoisted & 1 << register == 0 {
                bank.free |= 1 << register;
                bank.owner[usize::from(register)] = VReg::NONE;
                self.assigned[v.index()] = NOWHERE;
            }
        }
        let slot = std::mem::replace(&mut self.slot[v.index()], NO_SLOT);
        if slot != NO_SLOT {
            self.ending_slots.push(slot);
        }
    }

    pub(super) fn release_all(&mut self, i: usize) {
        for k in 0..3 {
            let src = self.program.insts[i].src;
            if src[k].is_some() && !src[..k].contains(&src[k]) {
                self.release(i, k);
            }
        }
    }
}
