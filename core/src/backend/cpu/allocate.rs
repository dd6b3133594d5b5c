//! Registers for a program, in one pass back and one forward; the forward pass encodes as it goes.
//!
//! Back: for each use of a value, where it is used next. Forward: a value that needs a register while
//! all are taken gets that of the value used furthest ahead. A value with a home (a constant, a uniform
//! value, a lane of a buffer) is dropped and read again; others are spilled to the thread's frame.
//! Linear in the length of the program.

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::cold::Cold;
use super::encode::{
    END, Encoder, FRAME, Jump, LANE, SCRATCH, UNIFORMS, WORDS, Width, at, in_code, indexed,
};
use super::lower::Lowered;
use super::program::{
    ENDED_EARLY, Home, Place, Program, SPILL_STRIDE, TILE_START, V, Virtual, What,
};
use super::regions::{self, RegionPlan};
use crate::backend::isa::Isa;
use crate::convert::exactly;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::ir::kernel::WORD_ABORT;

/// No next use.
pub(super) const NEVER: u32 = u32::MAX;
/// No register.
pub(super) const NOWHERE: u8 = u8::MAX;
/// Not spilled.
pub(super) const NO_SLOT: u32 = u32::MAX;
/// Scratch of loads, which may stand between the two halves of another instruction's work.
const FILL: Register = Register::R9;
/// Registers kept free of hoisted constants, for temporaries.
pub(super) const TEMPORARIES: usize = 3;
/// How far ahead of a load its lanes are fetched, in bytes.
const PREFETCH: u32 = 2048;
/// Instructions between two looks at the interrupt flag.
const POLL_INTERVAL: usize = 1 << 14;

/// Spills of the packet at work, in segments.
const SPILLS: Register = Register::R15;
/// Registers that hold addresses of buffers throughout the loop.
const POINTERS: [Register; 6] =
    [Register::RBX, Register::RBP, Register::R12, Register::R13, Register::R14, Register::R15];

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
    pub(super) owner: [V; 32],
    pub(super) free: u32,
    /// Registers that keep their value throughout.
    pub(super) hoisted: u32,
    used: u32,
}

impl Bank {
    fn new(all: u32) -> Self {
        Self { owner: [V::NONE; 32], free: all, hoisted: 0, used: 0 }
    }
}

/// A program being encoded.
pub(super) struct Allocator<'p> {
    pub(super) lowered: &'p Lowered,
    pub(super) program: &'p Program,
    pub(super) code: &'p mut Encoder,
    pub(super) nontemporal: bool,
    pub(super) prefetch: bool,
    /// Whether lanes are gathered one by one.
    pub(super) singly: bool,
    /// Whether the program is cut into segments.
    pub(super) segmented: bool,
    /// Bytes of code after which a segment ends.
    pub(super) segment_bytes: u64,
    /// Code position of the segment's loop.
    segment_start: u64,
    /// Jumps to the end of the call.
    pub(super) exits: Vec<Jump>,
    /// Regions by number, and how many are open.
    pub(super) regions: Vec<RegionPlan>,
    pub(super) depth: usize,
    /// Next use behind each use.
    pub(super) next: Vec<[u32; 3]>,
    /// Instructions whose result nobody needs.
    dead: Vec<bool>,
    /// Next use of each value from here.
    pub(super) due: Vec<u32>,
    pub(super) place: Vec<u8>,
    pub(super) slot: Vec<u32>,
    pub(super) vectors: Bank,
    pub(super) masks: Bank,
    pub(super) free_slots: Vec<u32>,
    /// Slots to be free after the current instruction, which may still read them.
    ending_slots: Vec<u32>,
    n_slots: u32,
    n_spills: usize,
    most_live: usize,
    /// Buffers whose address is in a register.
    pointers: Vec<u32>,
    /// Lane vectors already fetched ahead.
    fetched: Vec<bool>,
    pub(super) cold: Vec<Cold>,
    /// Forward jumps and where they go.
    pub(super) jumps: Vec<(Jump, u64)>,
    /// Code position and origin of each kernel instruction's code.
    pub(super) notes: Option<Vec<(u64, u32)>>,
}

impl<'p> Allocator<'p> {
    pub(super) fn new(lowered: &'p Lowered, program: &'p Program, code: &'p mut Encoder) -> Self {
        let n = program.virtuals.len();
        let avx512 = lowered.packet.isa == Isa::Avx512;
        let mut allocator = Self {
            lowered,
            program,
            code,
            nontemporal: false,
            prefetch: false,
            singly: false,
            segmented: false,
            segment_bytes: 0,
            segment_start: 0,
            exits: Vec::new(),
            regions: regions::plan(program),
            depth: 0,
            next: vec![[NEVER; 3]; program.insts.len()],
            dead: vec![false; program.insts.len()],
            due: vec![NEVER; n],
            place: vec![NOWHERE; n],
            slot: vec![NO_SLOT; n],
            vectors: Bank::new(if avx512 { u32::MAX } else { 0xffff }),
            // The first mask register means no mask.
            masks: Bank::new(if avx512 { 0xfe } else { 0 }),
            free_slots: Vec::new(),
            ending_slots: Vec::new(),
            n_slots: 0,
            n_spills: 0,
            most_live: 0,
            pointers: Vec::new(),
            fetched: vec![false; n],
            cold: Vec::new(),
            jumps: Vec::new(),
            notes: None,
        };
        allocator.look_back();
        allocator
    }

    pub(super) fn avx512(&self) -> bool {
        self.lowered.packet.isa == Isa::Avx512
    }

    /// Finds the next use of every value behind each of its uses, and how many are live at once.
    fn look_back(&mut self) {
        let mut live = 0_usize;
        let mut open: Vec<u32> = Vec::new();
        let mut left: Vec<u32> = self.program.virtuals.iter().map(|v| v.uses).collect();
        for (i, inst) in self.program.insts.iter().enumerate().rev() {
            let here = exactly::<u32>(i);
            match inst.what {
                What::End { region, .. } => {
                    live += self.look_into(region, here);
                    self.note_live(region, live);
                    open.push(region);
                }
                What::Begin { region } => {
                    open.pop();
                    if let Some(&outer) = open.last() {
                        self.note_live(outer, self.most_live_in(region));
                    }
                }
                _ => {}
            }
            if inst.dst.is_some() {
                if self.due[inst.dst.index()] == NEVER && !inst.what.has_effect() {
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
                self.note_live(region, live);
            }
            for k in 0..3 {
                let source = inst.src[k];
                // The first use of a lane vector is where it is loaded.
                if source.is_some() && left[source.index()] == 0 {
                    let home = self.program.virtuals[source.index()].home;
                    if matches!(home, Home::Vector(Place::Lanes { .. })) {
                        live = live.saturating_sub(1);
                        left[source.index()] = NEVER;
                    }
                }
            }
        }
    }

    /// Whether a value counts as live in a vector register between its uses.
    pub(super) fn occupies(&self, v: V) -> bool {
        let Virtual { home, mask, .. } = self.program.virtuals[v.index()];
        !mask && matches!(home, Home::Computed | Home::Vector(Place::Lanes { .. }))
    }

    /// Registers that hold addresses of this program's buffers, the most used first.
    pub(super) fn choose_pointers(&mut self) {
        let mut uses = vec![0_u32; self.n_buffers()];
        for Virtual { home, uses: n, .. } in &self.program.virtuals {
            if let Home::Vector(Place::Lanes { buffer, .. }) = home {
                uses[*buffer as usize] += n;
            }
        }
        for inst in &self.program.insts {
            match inst.what {
                What::Store { buffer, .. }
                | What::StorePacked { buffer, .. }
                | What::LoadNarrow { buffer, .. }
                | What::LoadBytes { buffer, .. } => uses[buffer as usize] += 1,
                _ => {}
            }
        }
        let mut order: Vec<u32> = (0_u32..).take(uses.len()).collect();
        order.retain(|&buffer| uses[buffer as usize] > 0);
        order.sort_by_key(|&buffer| std::cmp::Reverse(uses[buffer as usize]));
        order.truncate(POINTERS.len() - usize::from(self.segmented));
        self.pointers = order;
    }

    fn n_buffers(&self) -> usize {
        let frame = &self.lowered.frame;
        (frame.scratch - frame.pointers) as usize / 8
    }

    /// Registers that the caller expects to keep and that hold addresses.
    pub(super) fn saved(&self) -> &'static [Register] {
        if self.segmented { &POINTERS } else { &POINTERS[..self.pointers.len()] }
    }

    /// Loads what stays in registers throughout the loop.
    pub(super) fn load_invariants(&mut self) {
        for (&register, &buffer) in POINTERS.iter().zip(&self.pointers) {
            let memory = at(FRAME, self.lowered.frame.pointers + 8 * buffer);
            self.code.load(Code::Mov_r64_rm64, register, memory);
        }
        for i in 0..self.program.virtuals.len() {
            if let Home::Carried(place) = self.program.virtuals[i].home {
                let v = V(exactly(i));
                let register = self.take(v, 0);
                let (code, memory) = (self.load_code(), self.memory(place, FILL));
                let whole = self.code.vector(register, Width::Whole);
                self.code.load(code, whole, memory);
                self.vectors.hoisted |= 1 << register;
            }
        }
        if self.segmented {
            return;
        }
        let n_registers = self.vectors.free.count_ones() as usize;
        let spare = n_registers.saturating_sub(self.most_live + TEMPORARIES);
        let mut constants: Vec<(u32, usize)> = Vec::new();
        for (i, Virtual { home, mask, uses, .. }) in self.program.virtuals.iter().enumerate() {
            let constant = match home {
                Home::Computed | Home::Mask(_) | Home::Carried(_) => false,
                Home::Vector(place) | Home::Repeat4(place) | Home::Repeat8(place) => {
                    !matches!(place, Place::Lanes { .. } | Place::Frame(_))
                }
            };
            if constant && !mask && *uses > 0 {
                constants.push((*uses, i));
            }
        }
        constants.sort_unstable_by_key(|&(uses, i)| (std::cmp::Reverse(uses), i));
        for &(_, i) in constants.iter().take(spare) {
            let v = V(exactly(i));
            let register = self.take(v, 0);
            self.fill(v, register);
            self.vectors.hoisted |= 1 << register;
        }
    }

    /// Writes back what stayed in registers throughout the loop.
    pub(super) fn store_carried(&mut self) {
        for i in 0..self.program.virtuals.len() {
            if let Home::Carried(place) = self.program.virtuals[i].home {
                let memory = self.memory(place, FILL);
                self.store_vector(memory, self.place[i]);
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
                let position = self.code.position();
                let long = position - self.segment_start > self.segment_bytes;
                if self.segmented && long && self.depth == 0 {
                    self.end_segment();
                    self.begin_segment();
                }
                let position = self.code.position();
                if let Some(notes) = &mut self.notes {
                    notes.push((position, origin));
                }
            }
            match inst.what {
                What::Machine(m, immediate) => self.machine(i, inst, m, immediate),
                What::Begin { region } => self.begin_region(region),
                What::End { region, repeat } => self.end_region(region, repeat),
                What::Assign => self.assign(i, inst.src[0], inst.src[1]),
                _ => self.special(i, inst),
            }
            let mut ending = std::mem::take(&mut self.ending_slots);
            self.free_slots.append(&mut ending);
            self.ending_slots = ending;
        }
        Ok(())
    }

    /// Begins a loop over the packets of the tile, unless an interrupt was requested.
    pub(super) fn begin_segment(&mut self) {
        let abort = at(WORDS, 8 * exactly::<u32>(WORD_ABORT));
        self.code.load(Code::Mov_r64_rm64, SCRATCH, abort);
        self.code.put(Instruction::with2(Code::Cmp_rm8_imm8, at(SCRATCH, 0), 0));
        self.exits.push(self.code.jump_ahead(Code::Jne_rel32_64));
        self.code.load(Code::Mov_r64_rm64, LANE, at(FRAME, TILE_START));
        self.code.load(Code::Lea_r64_m, SPILLS, at(FRAME, self.lowered.frame.spills));
        self.code.align();
        self.segment_start = self.code.position();
    }

    /// Ends it: what is live goes to the packet's spills, where the next segment finds it.
    pub(super) fn end_segment(&mut self) {
        self.evict_all();
        let lanes = exactly::<i32>(self.lowered.packet.lanes());
        self.code.number(Code::Add_rm64_imm8, LANE, lanes);
        self.code.load(Code::Add_r64_rm64, SPILLS, at(FRAME, SPILL_STRIDE));
        self.code.registers(Code::Cmp_r64_rm64, LANE, END);
        self.code.jump_back(Code::Jb_rel32_64, self.segment_start);
    }

    /// Where interrupted segments go on.
    pub(super) fn end_call(&mut self) {
        if self.exits.is_empty() {
            return;
        }
        let complete = self.code.jump_ahead(Code::Jmp_rel32_64);
        let here = self.code.position();
        self.code.put(Instruction::with2(Code::Mov_rm64_imm32, at(FRAME, ENDED_EARLY), 1));
        self.jumps.push((complete, self.code.position()));
        let exits = std::mem::take(&mut self.exits);
        self.jumps.extend(exits.into_iter().map(|exit| (exit, here)));
    }

    pub(super) fn usage(&self) -> Usage {
        let count = |bank: &Bank| bank.used.count_ones() as usize;
        Usage {
            registers: count(&self.vectors) + count(&self.masks),
            spills: self.n_spills,
            spill_bytes: self.n_slots * self.slot_bytes(),
        }
    }

    fn slot_bytes(&self) -> u32 {
        if self.avx512() { 64 } else { 32 }
    }

    // Registers.

    fn bank(&mut self, v: V) -> &mut Bank {
        if self.program.virtuals[v.index()].mask { &mut self.masks } else { &mut self.vectors }
    }

    /// A register for a value, taken from another value if need be, but none of `pinned`.
    pub(super) fn take(&mut self, v: V, pinned: u32) -> u8 {
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
        self.place[v.index()] = register;
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

    pub(super) fn evict(&mut self, v: V, register: u8) {
        self.place[v.index()] = NOWHERE;
        let Virtual { home, mask, .. } = self.program.virtuals[v.index()];
        if home == Home::Computed && self.slot[v.index()] == NO_SLOT {
            let slot = self.free_slots.pop().unwrap_or_else(|| {
                self.n_slots += 1;
                self.n_slots - 1
            });
            self.slot[v.index()] = slot;
            self.n_spills += 1;
            let memory = self.spilled(slot);
            if mask {
                self.code.store(Code::VEX_Kmovw_m16_kr, memory, Encoder::mask(register));
            } else {
                self.store_vector(memory, register);
            }
        }
    }

    /// A slot of the packet at work.
    pub(super) fn spilled(&self, slot: u32) -> MemoryOperand {
        let offset = slot * self.slot_bytes();
        if self.segmented {
            at(SPILLS, offset)
        } else {
            at(FRAME, self.lowered.frame.spills + offset)
        }
    }

    pub(super) fn store_vector(&mut self, memory: MemoryOperand, register: u8) {
        let code = if self.avx512() {
            Code::EVEX_Vmovups_zmmm512_k1z_zmm
        } else {
            Code::VEX_Vmovups_ymmm256_ymm
        };
        let register = self.code.vector(register, Width::Whole);
        self.code.store(code, memory, register);
    }

    /// The register of a value, loaded if it is in none.
    pub(super) fn ensure(&mut self, v: V, pinned: u32) -> u8 {
        if self.place[v.index()] != NOWHERE {
            return self.place[v.index()];
        }
        let register = self.take(v, pinned);
        self.fill(v, register);
        register
    }

    /// Loads a value from its slot or home.
    pub(super) fn fill(&mut self, v: V, register: u8) {
        let Virtual { home, mask, .. } = self.program.virtuals[v.index()];
        let avx512 = self.avx512();
        if mask {
            let memory = match home {
                Home::Mask(place) => self.memory(place, FILL),
                _ => self.spilled(self.slot[v.index()]),
            };
            self.code.load(Code::VEX_Kmovw_kr_km16, Encoder::mask(register), memory);
            return;
        }
        let (code, memory) = match home {
            Home::Repeat4(place) if avx512 => {
                (Code::EVEX_Vbroadcastss_zmm_k1z_xmmm32, self.memory(place, FILL))
            }
            Home::Repeat4(place) => (Code::VEX_Vbroadcastss_ymm_m32, self.memory(place, FILL)),
            Home::Repeat8(place) if avx512 => {
                (Code::EVEX_Vbroadcastsd_zmm_k1z_xmmm64, self.memory(place, FILL))
            }
            Home::Repeat8(place) => (Code::VEX_Vbroadcastsd_ymm_m64, self.memory(place, FILL)),
            Home::Vector(place) => {
                self.fetch(v, place);
                (self.load_code(), self.memory(place, FILL))
            }
            Home::Computed | Home::Mask(_) | Home::Carried(_) => {
                (self.load_code(), self.spilled(self.slot[v.index()]))
            }
        };
        let register = self.code.vector(register, Width::Whole);
        self.code.load(code, register, memory);
    }

    pub(super) fn load_code(&self) -> Code {
        if self.avx512() {
            Code::EVEX_Vmovups_zmm_k1z_zmmm512
        } else {
            Code::VEX_Vmovups_ymm_ymmm256
        }
    }

    /// Has the lanes that come later fetched, the first time a vector of lanes is read.
    pub(super) fn fetch(&mut self, v: V, place: Place) {
        if self.prefetch
            && let Place::Lanes { .. } = place
            && !std::mem::replace(&mut self.fetched[v.index()], true)
        {
            let memory = self.memory(place, FILL);
            self.fetch_ahead(memory);
        }
    }

    /// Has what lies some lines behind an operand fetched.
    pub(super) fn fetch_ahead(&mut self, mut memory: MemoryOperand) {
        memory.displacement += i64::from(PREFETCH);
        memory.displ_size = 1;
        self.code.put(Instruction::with1(Code::Prefetcht0_m8, memory));
    }

    /// A place as a memory operand, by way of a scratch register if need be.
    pub(super) fn memory(&mut self, place: Place, scratch: Register) -> MemoryOperand {
        match place {
            Place::Pool(offset) => in_code(offset),
            Place::Uniform(offset) => at(UNIFORMS, offset),
            Place::Frame(offset) => at(FRAME, offset),
            Place::Word(word) => at(WORDS, 8 * word),
            Place::Element(word) => {
                self.code.load(Code::Mov_r64_rm64, scratch, at(WORDS, 8 * word));
                at(scratch, 0)
            }
            Place::Lanes { buffer, bytes, part } => {
                let vector = exactly::<u32>(self.lowered.packet.vector());
                self.lanes(buffer, bytes, u32::from(part) * vector, scratch)
            }
        }
    }

    /// Bytes of a buffer from the packet's first lane on.
    pub(super) fn lanes(
        &mut self,
        buffer: u32,
        bytes: u8,
        displacement: u32,
        scratch: Register,
    ) -> MemoryOperand {
        let base = match self.pointers.iter().position(|&other| other == buffer) {
            Some(number) => POINTERS[number],
            None => {
                let memory = at(FRAME, self.lowered.frame.pointers + 8 * buffer);
                self.code.load(Code::Mov_r64_rm64, scratch, memory);
                scratch
            }
        };
        indexed(base, LANE, bytes, displacement)
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
    pub(super) fn forget(&mut self, v: V) {
        let register = self.place[v.index()];
        if register != NOWHERE {
            let bank = self.bank(v);
            if bank.hoisted & 1 << register == 0 {
                bank.free |= 1 << register;
                bank.owner[usize::from(register)] = V::NONE;
                self.place[v.index()] = NOWHERE;
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
