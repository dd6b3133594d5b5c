//! A kernel as a list of steps with the places of their lanes.
//!
//! Values live in slots of a block of lanes, reused after their last use; loads read buffers in place
//! and a value that is only stored is computed in its buffer. Uniform values are computed once per
//! thread with one lane and then repeated over a whole slot.
#![deny(clippy::wildcard_enum_match_arm)]

use std::collections::HashMap;

use super::memory_steps::{AccessFn, gather_step, scatter_step};
use super::steps::{Step, broadcast, copying, elementwise, lane_number};
use crate::backend::isa::Isa;
use crate::backend::reduce::{Accumulate, accumulate_step};
use crate::convert::exactly;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::ir::kernel::{BufferIndex, Code, Inst, Kernel, LiteralMode, Reduction, Reg};
use crate::ir::op::{Op, ScatterOp};

/// The location of a value's lanes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Location {
    /// A slot of the block memory, by its offset in bytes per lane.
    Slot(u32),
    /// This lane of the buffer whose address is in this word of the parameter block.
    Buffer {
        /// Word of the address.
        word: u32,
        /// Bytes of an element.
        bytes: u32,
    },
    /// Element 0 of that buffer, or the word itself: a uniform value in memory.
    Scalar {
        /// Word of the address, or of the value.
        word: u32,
        /// Whether the word holds the value itself.
        direct: bool,
    },
    /// A number of the program's own.
    Number(u32),
    /// The slot that holds this one of the program's repeated numbers in every lane.
    Repeated(u32),
    /// No argument.
    Absent,
}

/// The location of a number that lanes use.
#[derive(Clone, Copy)]
pub(super) enum Number {
    /// Among the program's own.
    Own(u32),
    /// In this word of the parameter block.
    Word(u32),
}

/// One instruction, ready to run.
#[derive(Clone, Copy)]
pub(super) enum Action {
    /// Compute lanes from lanes.
    Compute {
        /// The loop.
        step: Step,
        /// Arguments.
        sources: [Location; 3],
        /// Result.
        target: Location,
    },
    /// Read indexed elements.
    Gather {
        /// The loop.
        step: AccessFn,
        /// Index and active mask.
        sources: [Location; 2],
        /// Result.
        target: Location,
        /// The buffer.
        buffer: Accessed,
    },
    /// Write indexed elements.
    Scatter {
        /// The loop.
        step: AccessFn,
        /// Index and active mask.
        sources: [Location; 2],
        /// The value.
        value: Location,
        /// The buffer.
        buffer: Accessed,
    },
    /// Make a mask true in the lane that runs alone, the first one (S12).
    FirstLane {
        /// The mask.
        target: Location,
    },
    /// Make a mask true in the next lane alone and jump to an action, unless there is none.
    NextLane {
        /// The mask.
        target: Location,
        /// The action.
        to: usize,
    },
    /// Jump to an action if a mask holds in no lane.
    JumpIfNone {
        /// The mask.
        mask: Location,
        /// The action.
        to: usize,
    },
    /// Jump to an action.
    Jump {
        /// The action.
        to: usize,
    },
    /// Add lanes to the accumulators of a reduction.
    Reduce {
        /// The loop.
        step: Accumulate,
        /// The value.
        value: Location,
        /// Number of the reduction.
        reduction: usize,
    },
}

/// A buffer that is accessed by index.
#[derive(Clone, Copy)]
pub(super) struct Accessed {
    /// Word of the address.
    pub(super) address: usize,
    /// Word of the length.
    pub(super) length: usize,
    /// Number of the access that reports errors.
    pub(super) access: Option<usize>,
}

/// A kernel as the interpreter runs it.
pub(super) struct Program {
    /// Run once per thread with one lane.
    pub(super) prologue: Vec<Action>,
    /// Run for every block.
    pub(super) body: Vec<Action>,
    /// Uniform slots to repeat over the block after the prologue.
    pub(super) repeats: Vec<(Step, u32)>,
    /// Numbers that lanes use, repeated over slots before the prologue.
    pub(super) repeated: Vec<(DType, Number)>,
    pub(super) reductions: Vec<Reduction>,
    pub(super) numbers: Vec<u64>,
    pub(super) n_accesses: usize,
    /// Block memory per lane, in bytes, without the repeated numbers.
    pub(super) bytes_per_lane: u32,
    /// Whether lanes must run in order on one thread.
    pub(super) in_order: bool,
}

/// Instructions between two looks at the interrupt flag.
const POLL_INTERVAL: usize = 1 << 14;

/// Lowers a kernel.
///
/// # Errors
/// `Interrupted`.
pub(super) fn lower(kernel: &Kernel, mode: LiteralMode, isa: Isa) -> Result<Program> {
    let mut lowering = Lowering {
        kernel,
        mode,
        isa,
        places: vec![Location::Absent; kernel.insts.len()],
        last_use: kernel.last_uses(),
        kept: HashMap::new(),
        serial: kernel.serial_regions(),
        open: Vec::new(),
        slots: Slots::default(),
        n_reduced: 0,
        program: Program {
            prologue: Vec::new(),
            body: Vec::with_capacity(kernel.insts.len()),
            repeats: Vec::new(),
            repeated: Vec::new(),
            reductions: kernel.reductions().collect(),
            numbers: Vec::new(),
            n_accesses: kernel.accesses.len(),
            bytes_per_lane: 0,
            in_order: kernel.lanes_meet(),
        },
    };
    for (reg, &last) in lowering.last_use.iter().enumerate() {
        if kernel.insts.get(last).is_some_and(|inst| inst.code == Code::RegionEnd) {
            lowering.kept.entry(last).or_default().push(reg);
        }
    }
    let destinations = destinations(kernel);
    for (i, inst) in kernel.insts.iter().enumerate() {
        if i % POLL_INTERVAL == POLL_INTERVAL - 1 && interrupt::is_requested() {
            return Err(Error::Interrupted);
        }
        lowering.inst(i, inst, &destinations);
    }
    lowering.program.bytes_per_lane = lowering.slots.bytes_per_lane;
    Ok(lowering.program)
}

struct Lowering<'k> {
    kernel: &'k Kernel,
    mode: LiteralMode,
    isa: Isa,
    places: Vec<Location>,
    last_use: Vec<usize>,
    /// Values whose last use is the end of a region.
    kept: HashMap<usize, Vec<usize>>,
    /// Starts of the regions that run lane by lane.
    serial: Vec<usize>,
    /// Regions on the way.
    open: Vec<OpenRegion>,
    slots: Slots,
    /// Reductions so far.
    n_reduced: usize,
    program: Program,
}

/// A region being lowered.
struct OpenRegion {
    /// Position of its start.
    start: usize,
    /// The first action of an iteration.
    first: usize,
    /// The action that leaves it.
    leave: usize,
    repeat: bool,
}

impl Lowering<'_> {
    fn inst(&mut self, i: usize, inst: &Inst, destinations: &[Option<BufferIndex>]) {
        let uniform = i < self.kernel.n_uniform;
        let destination = destinations[i];
        match inst.code {
            Code::Literal(literal) => self.literal(i, literal as usize),
            Code::Constant(bits) => self.number(i, bits),
            Code::Load(buffer) => {
                let word = self.word(buffer);
                if uniform {
                    self.uniform_source(i, Location::Scalar { word, direct: false });
                } else {
                    self.places[i] = Location::Buffer { word, bytes: bytes(inst.dtype) };
                }
            }
            Code::Index => {
                let step = lane_number(self.isa, inst.dtype);
                self.compute(i, step, [Location::Absent; 3], destination);
            }
            Code::Op(op) => {
                let operand = inst.args().last().map_or(inst.dtype, |arg| self.kernel.dtype(arg));
                let step = elementwise(self.isa, op, inst.dtype, operand);
                let sources = inst.args.map(|arg| self.place(arg));
                self.compute(i, step, sources, destination);
            }
            Code::Gather { source, access } => self.gather(i, inst, source, access, destination),
            Code::RegionStart { repeat } => self.enter_region(i, inst, repeat),
            Code::Phi => {
                let sources = [self.place(inst.args[0]), Location::Absent, Location::Absent];
                self.compute(i, copying(inst.dtype), sources, None);
                if let Some(region) = self.open.last_mut() {
                    region.first = self.program.body.len();
                }
            }
            Code::RunningMask => {
                let step = elementwise(self.isa, Op::And, DType::Mask, DType::Mask);
                let sources = inst.args.map(|arg| self.place(arg));
                self.compute(i, step, sources, None);
                if let Some(region) = self.open.last_mut() {
                    region.leave = self.program.body.len();
                }
                self.program.body.push(Action::JumpIfNone { mask: self.places[i], to: 0 });
            }
            Code::BackEdge => {
                let [state, next, _] = inst.args.map(|arg| self.place(arg));
                let sources = [next, Location::Absent, Location::Absent];
                let step = copying(inst.dtype);
                self.program.body.push(Action::Compute { step, sources, target: state });
            }
            Code::RegionEnd => self.leave_region(i, inst),
            // Already there.
            Code::Store(buffer) if destinations[inst.arg(0).index()] == Some(buffer) => {}
            Code::Store(buffer) => {
                let target = Location::Buffer { word: self.word(buffer), bytes: bytes(inst.dtype) };
                let sources = [self.place(inst.args[0]), Location::Absent, Location::Absent];
                let step = copying(inst.dtype);
                self.program.body.push(Action::Compute { step, sources, target });
            }
            Code::Reduce { op, .. } => {
                let step = accumulate_step(op, self.kernel.dtype(inst.arg(0)));
                let value = self.place(inst.args[0]);
                let reduction = self.n_reduced;
                self.n_reduced += 1;
                self.program.body.push(Action::Reduce { step, value, reduction });
            }
            Code::Scatter { op, target, access, .. } => self.scatter(op, inst, target, access),
        }
        self.release_after(i, inst);
    }

    fn enter_region(&mut self, i: usize, inst: &Inst, repeat: bool) {
        let outer = match inst.args[0] {
            Some(outer) => self.place(Some(outer)),
            None => {
                let number = exactly(self.program.numbers.len());
                self.program.numbers.push(1);
                self.program.repeated.push((DType::Mask, Number::Own(number)));
                Location::Repeated(exactly(self.program.repeated.len() - 1))
            }
        };
        self.compute(i, copying(DType::Mask), [outer, Location::Absent, Location::Absent], None);
        if self.serial.contains(&i) {
            self.program.body.push(Action::FirstLane { target: self.places[i] });
        }
        let first = self.program.body.len();
        self.open.push(OpenRegion { start: i, first, leave: first, repeat });
    }

    fn leave_region(&mut self, i: usize, inst: &Inst) {
        let region = self.open.pop().expect("internal error: the end of no region");
        let body = &mut self.program.body;
        if region.repeat {
            let active = self.places[region.start];
            let running = inst.args[0].map_or(Location::Absent, |run| self.places[run.index()]);
            let sources = [running, Location::Absent, Location::Absent];
            body.push(Action::Compute { step: copying(DType::Mask), sources, target: active });
            body.push(Action::Jump { to: region.first });
        }
        let here = body.len();
        if let Action::JumpIfNone { to, .. } = &mut body[region.leave] {
            *to = here;
        }
        if self.serial.contains(&region.start) {
            body.push(Action::NextLane { target: self.places[region.start], to: region.first });
        }
        for reg in self.kept.remove(&i).unwrap_or_default() {
            let shared = reg < self.kernel.n_uniform;
            if let (false, Location::Slot(offset)) = (shared, self.places[reg]) {
                self.last_use[reg] = usize::MAX;
                self.slots.put(self.kernel.insts[reg].dtype, offset);
            }
        }
    }

    fn scatter(&mut self, op: ScatterOp, inst: &Inst, target: BufferIndex, access: Option<u32>) {
        let step = scatter_step(op, inst.dtype, self.kernel.dtype(inst.arg(1)));
        let [value, index, active] = inst.args.map(|arg| self.place(arg));
        let (sources, buffer) = ([index, active], self.accessed(target, access));
        self.program.body.push(Action::Scatter { step, sources, value, buffer });
    }

    /// A literal is a number of the program, or a word of the parameter block.
    fn literal(&mut self, i: usize, literal: usize) {
        match self.mode {
            LiteralMode::Embedded => self.number(i, self.kernel.literals[literal].1),
            LiteralMode::Parameter => {
                let word = exactly(self.kernel.literal_word(literal));
                self.place_number(i, Location::Scalar { word, direct: true }, Number::Word(word));
            }
        }
    }

    fn number(&mut self, i: usize, bits: u64) {
        let number = exactly(self.program.numbers.len());
        self.program.numbers.push(bits);
        self.place_number(i, Location::Number(number), Number::Own(number));
    }

    /// A number is used where it is by the prologue, and repeated for lanes.
    fn place_number(&mut self, i: usize, source: Location, number: Number) {
        self.places[i] = if self.last_use[i] < self.kernel.n_uniform {
            source
        } else {
            self.program.repeated.push((self.kernel.insts[i].dtype, number));
            Location::Repeated(exactly(self.program.repeated.len() - 1))
        };
    }

    /// A uniform value in memory: used where it is by the prologue, repeated into a slot for lanes.
    fn uniform_source(&mut self, i: usize, source: Location) {
        let dtype = self.kernel.insts[i].dtype;
        if self.last_use[i] < self.kernel.n_uniform {
            self.places[i] = source;
        } else {
            self.compute(i, copying(dtype), [source, Location::Absent, Location::Absent], None);
        }
    }

    fn compute(
        &mut self,
        i: usize,
        step: Step,
        sources: [Location; 3],
        destination: Option<BufferIndex>,
    ) {
        let target = self.target(i, destination);
        self.push(i, Action::Compute { step, sources, target });
    }

    fn gather(
        &mut self,
        i: usize,
        inst: &Inst,
        source: BufferIndex,
        access: Option<u32>,
        destination: Option<BufferIndex>,
    ) {
        let index = inst.args[0].map_or(DType::U32, |index| self.kernel.dtype(index));
        let step = gather_step(inst.dtype, index);
        let sources = [self.place(inst.args[0]), self.place(inst.args[1])];
        let buffer = self.accessed(source, access);
        let target = self.target(i, destination);
        self.push(i, Action::Gather { step, sources, target, buffer });
    }

    /// The place of a new value: its output buffer if it is only stored, else a slot. A uniform value
    /// that lanes use is repeated over its slot.
    fn target(&mut self, i: usize, destination: Option<BufferIndex>) -> Location {
        let dtype = self.kernel.insts[i].dtype;
        let place = match destination {
            Some(buffer) => Location::Buffer { word: self.word(buffer), bytes: bytes(dtype) },
            None => self.slots.take(dtype),
        };
        if let Location::Slot(offset) = place
            && i < self.kernel.n_uniform
            && self.last_use[i] >= self.kernel.n_uniform
        {
            self.program.repeats.push((broadcast(dtype), offset));
        }
        self.places[i] = place;
        place
    }

    fn push(&mut self, i: usize, action: Action) {
        let uniform = i < self.kernel.n_uniform;
        let list = if uniform { &mut self.program.prologue } else { &mut self.program.body };
        list.push(action);
    }

    fn place(&self, reg: Option<Reg>) -> Location {
        reg.map_or(Location::Absent, |reg| self.places[reg.index()])
    }

    fn word(&self, buffer: BufferIndex) -> u32 {
        exactly(self.kernel.address_word(buffer))
    }

    fn accessed(&self, buffer: BufferIndex, access: Option<u32>) -> Accessed {
        let address = self.kernel.address_word(buffer);
        let length = self.kernel.length_word(buffer);
        let length = length.expect("internal error: an accessed buffer has a length");
        Accessed { address, length, access: access.map(|access| access as usize) }
    }

    /// Frees the slots of arguments whose last use was instruction `i`, after its own slot was taken,
    /// so that a result never overlaps an argument. Uniform slots that lanes use stay.
    fn release_after(&mut self, i: usize, inst: &Inst) {
        for arg in inst.args() {
            let arg_is_shared = arg.index() < self.kernel.n_uniform && i >= self.kernel.n_uniform;
            if self.last_use[arg.index()] == i && !arg_is_shared {
                // An argument that appears twice is freed once.
                self.last_use[arg.index()] = usize::MAX;
                if let Location::Slot(offset) = self.places[arg.index()] {
                    self.slots.put(self.kernel.dtype(arg), offset);
                }
            }
        }
    }
}

/// Slots per element width, by offset in bytes per lane.
#[derive(Default)]
struct Slots {
    free: [Vec<u32>; 9],
    bytes_per_lane: u32,
}

impl Slots {
    fn take(&mut self, dtype: DType) -> Location {
        Location::Slot(self.free[dtype.bytes()].pop().unwrap_or_else(|| {
            let offset = self.bytes_per_lane;
            self.bytes_per_lane += bytes(dtype);
            offset
        }))
    }

    fn put(&mut self, dtype: DType, offset: u32) {
        self.free[dtype.bytes()].push(offset);
    }
}

/// The buffer in which a value can be computed: the first one it is stored to, if it varies by lane.
///
/// Other instructions may read it there too; nothing else writes that buffer.
fn destinations(kernel: &Kernel) -> Vec<Option<BufferIndex>> {
    let mut destinations = vec![None; kernel.insts.len()];
    for (_, inst) in kernel.writes() {
        if let (Code::Store(buffer), value) = (inst.code, inst.arg(0)) {
            let computed = kernel.inst(value).code;
            let computed = matches!(computed, Code::Op(_) | Code::Index | Code::Gather { .. });
            if computed && !kernel.is_uniform(value) {
                destinations[value.index()].get_or_insert(buffer);
            }
        }
    }
    destinations
}

fn bytes(dtype: DType) -> u32 {
    exactly(dtype.bytes())
}
