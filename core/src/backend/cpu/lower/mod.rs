//! A kernel as programs over virtual registers, for every instruction set from one text.
//!
//! Two programs: the *prologue* computes the uniform values once a launch and stores them; the *body*
//! computes one packet of lanes and reads them as it reads constants. Operations are expanded here;
//! `instructions.rs` has the instructions to choose from, and the target says which of them the machine has.
#![deny(clippy::wildcard_enum_match_arm)]

mod access;
mod arith;
mod build;
mod convert;
mod fast;
mod integer;
mod layout;
mod masks;
mod narrow;
mod order;
mod region;
mod shift;
mod states;
mod writes;

use std::collections::HashMap;

use self::build::{Lowering, Values};
use self::layout::{Layout, carries, lay_out};
use super::instructions::Opcode;
use super::program::{Frame, Home, Location, Packet, Pool, Program, Reduction, Special, VReg};
use super::target::Target;
use crate::backend::reduce::ACCUMULATORS;
use crate::convert::exactly;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::ir::kernel::{BufferIndex, Code, Kernel, LiteralMode};

/// What lowering makes of a kernel.
pub(super) struct Lowered {
    pub(super) packet: Packet,
    pub(super) prologue: Program,
    pub(super) body: Program,
    pub(super) pool: Pool,
    pub(super) frame: Frame,
    pub(super) reductions: Vec<Reduction>,
    /// Bytes of the uniform values.
    pub(super) uniform_bytes: u32,
    /// Whether there are loops.
    pub(super) repeats: bool,
}

/// Instructions between two looks at the interrupt flag.
const POLL_INTERVAL: usize = 1 << 14;
/// Instructions up to which packets of two, four and eight times the least lanes are worth their code.
const DOUBLE_UP_TO: usize = 2000;
const QUADRUPLE_UP_TO: usize = 400;
const OCTUPLE_UP_TO: usize = 100;
/// Instructions from which on a packet's code hides the next packet's from the processor.
const LONG: usize = 64;

/// Lowers a kernel. With `far`, 32-bit indices reach beyond 2^31 elements.
///
/// # Errors
/// `Interrupted`.
pub(super) fn lower(
    kernel: &Kernel,
    mode: LiteralMode,
    target: &'static Target,
    far: bool,
) -> Result<Lowered> {
    let packet = Packet { target, narrow: packet_width(kernel, target) };
    let Layout { frame, reductions, offsets } = lay_out(kernel, packet);
    let mut lowering = Lowering {
        kernel,
        mode,
        far,
        packet: Packet { target, narrow: 1 },
        uniform: true,
        program: Program::default(),
        pool: Pool::new(target),
        frame,
        reductions,
        offsets,
        first_literal: kernel.literal_word(0),
        values: Values::new(kernel.insts.len(), 2),
        wide_masks: Values::new(kernel.insts.len(), 2),
        constants: HashMap::new(),
        carries: false,
        uniforms: vec![u32::MAX; kernel.n_uniform],
        uniform_bytes: 0,
        origin: 0,
        regions: Vec::new(),
        n_regions: 0,
        forms: Vec::new(),
        packed_halves: HashMap::new(),
    };
    lowering.prologue()?;
    let prologue = std::mem::take(&mut lowering.program);
    lowering.begin_body(packet);
    lowering.carries = carries(&lowering.reductions, packet);
    lowering.body()?;
    if !lowering.packed_halves.is_empty() {
        lowering.program.drop_unused();
    }
    states::change_early(&mut lowering.program);
    Ok(Lowered {
        packet,
        prologue,
        body: lowering.program,
        pool: lowering.pool,
        frame: lowering.frame,
        reductions: lowering.reductions,
        uniform_bytes: lowering.uniform_bytes,
        repeats: kernel
            .insts
            .iter()
            .any(|inst| matches!(inst.code, Code::RegionStart { repeat: true })),
    })
}

/// Registers that a 32-bit value should take: more interleave more chains of operations, as long as all
/// live values find registers.
fn packet_width(kernel: &Kernel, target: &Target) -> usize {
    let n = kernel.lane_insts().len();
    if n > DOUBLE_UP_TO {
        return 1;
    }
    let (bytes, masks) = most_live(kernel);
    let [registers, mask_registers] = target.roomy;
    let fits = |narrow: usize| {
        let vectors = (bytes * narrow).div_ceil(4);
        if target.has_mask_registers() {
            vectors <= registers && masks * narrow <= mask_registers
        } else {
            vectors + masks * narrow <= registers
        }
    };
    let reduces = kernel.reductions().next().is_some();
    let most = if reduces { 4 * ACCUMULATORS / target.vector } else { target.widest };
    let wanted = if n <= OCTUPLE_UP_TO {
        8
    } else if n <= QUADRUPLE_UP_TO {
        4
    } else {
        2
    };
    let wanted = wanted.min(target.widest);
    // Two chains at once gain more than some spills lose, where the code of a packet is too long for the
    // processor to look ahead into the next.
    let long = (LONG..=QUADRUPLE_UP_TO).contains(&n) && kernel.regions().is_empty();
    let spills = long && (bytes * 2).div_ceil(4) <= 3 * registers;
    let worth = |narrow: usize| fits(narrow) || narrow == 2 && spills;
    [8, 4, 2].into_iter().find(|&narrow| narrow <= wanted.min(most) && worth(narrow)).unwrap_or(1)
}

/// The most bytes of numbers a lane, and the most masks, that are live at once.
fn most_live(kernel: &Kernel) -> (usize, usize) {
    let last_use = kernel.last_uses();
    let size = |i: usize| {
        let dtype = kernel.insts[i].dtype;
        if dtype == DType::Mask { (0, 1) } else { (dtype.widened().bytes(), 0) }
    };
    let mut ending = vec![(0, 0); kernel.insts.len() + 1];
    for (i, &last) in last_use.iter().enumerate().skip(kernel.n_uniform).filter(|(i, l)| *l > i) {
        let (bytes, masks) = size(i);
        ending[last] = (ending[last].0 + bytes, ending[last].1 + masks);
    }
    let (mut bytes, mut masks) = (0, 0);
    let mut most = (0, 0);
    for i in kernel.n_uniform..kernel.first_write {
        (bytes, masks) = (bytes - ending[i].0, masks - ending[i].1);
        if last_use[i] > i {
            let (more_bytes, more_masks) = size(i);
            (bytes, masks) = (bytes + more_bytes, masks + more_masks);
        }
        most = (most.0.max(bytes), most.1.max(masks));
    }
    most
}

impl<'k> Lowering<'k> {
    /// The uniform instructions, and stores of those that lanes use.
    fn prologue(&mut self) -> Result<()> {
        let kernel = self.kernel;
        let mut wanted = vec![false; kernel.n_uniform];
        for reg in kernel.insts[kernel.n_uniform..].iter().flat_map(|inst| inst.args()) {
            if kernel.is_uniform(reg) {
                wanted[reg.index()] = true;
            }
        }
        for (i, wanted) in wanted.into_iter().enumerate() {
            self.inst(i)?;
            if wanted && self.known_bits(i).is_none() {
                self.store_uniform(i);
            }
        }
        Ok(())
    }

    fn store_uniform(&mut self, i: usize) {
        let dtype = self.kernel.insts[i].dtype;
        let mask = dtype == DType::Mask;
        let value = if mask { self.narrow_mask(i, 0) } else { self.values.get(i, 0) };
        let target = self.packet.target;
        let offset = self.uniform_bytes;
        // Where it is not repeated as it is read, it is a whole vector.
        self.uniform_bytes += if target.repeats { 8 } else { exactly(target.vector) };
        self.uniforms[i] = offset;
        let bytes = if mask { 4 } else { exactly(dtype.bytes()) };
        self.effect(Special::StoreUniform { offset, bytes, mask }, [value]);
    }

    fn begin_body(&mut self, packet: Packet) {
        self.uniform = false;
        self.packet = packet;
        self.constants.clear();
        self.packed_halves.clear();
        let n = self.kernel.insts.len();
        self.values = Values::new(n, packet.parts(8));
        self.wide_masks = Values::new(n, packet.parts(8));
    }

    fn body(&mut self) -> Result<()> {
        let kernel = self.kernel;
        for i in 0..kernel.n_uniform {
            self.uniform_home(i);
        }
        order::order(kernel, self.packet).into_iter().try_for_each(|i| self.inst(i))
    }

    /// Gives a uniform value its place in memory.
    fn uniform_home(&mut self, i: usize) {
        let dtype = self.kernel.insts[i].dtype;
        let value = match self.known_bits(i) {
            Some(bits) if dtype == DType::Mask => self.mask_constant(bits & 1 != 0),
            Some(bits) => self.constant(bits, exactly(dtype.bytes())),
            None if self.uniforms[i] == u32::MAX => return,
            None => {
                let location = Location::Uniform(self.uniforms[i]);
                let home = match (self.packet.target.repeats, dtype) {
                    (false, _) => Home::Vector(location),
                    (true, DType::Mask) => Home::Mask(location),
                    (true, _) if dtype.bytes() == 8 => Home::Repeat8(location),
                    (true, _) => Home::Repeat4(location),
                };
                self.at_home(home)
            }
        };
        for part in 0..self.values.stride {
            self.values.set(i, part, value);
            self.wide_masks.set(i, part, value);
        }
    }

    /// The bits of a value that is part of the code.
    pub(super) fn known_bits(&self, i: usize) -> Option<u64> {
        match self.kernel.insts[i].code {
            Code::Constant(bits) => Some(bits),
            Code::Literal(literal) if self.mode == LiteralMode::Embedded => {
                Some(self.kernel.literals[literal as usize].1)
            }
            Code::Literal(_)
            | Code::Index
            | Code::Op(_)
            | Code::Load(_)
            | Code::Gather { .. }
            | Code::RegionStart { .. }
            | Code::Phi
            | Code::RunningMask
            | Code::BackEdge
            | Code::RegionEnd
            | Code::Store(_)
            | Code::Reduce { .. }
            | Code::Scatter { .. } => None,
        }
    }

    fn inst(&mut self, i: usize) -> Result<()> {
        if i % POLL_INTERVAL == POLL_INTERVAL - 1 && interrupt::is_requested() {
            return Err(Error::Interrupted);
        }
        let kernel = self.kernel;
        // Listings show what a write takes with the value.
        if i < kernel.first_write {
            self.origin = exactly(i);
        }
        let inst = &kernel.insts[i];
        self.begin_turn(inst.code);
        if let Some(bits) = self.known_bits(i) {
            let value = if inst.dtype == DType::Mask {
                self.mask_constant(bits & 1 != 0)
            } else {
                self.constant(bits, exactly(inst.dtype.bytes()))
            };
            for part in 0..self.values.stride {
                self.values.set(i, part, value);
                self.wide_masks.set(i, part, value);
            }
            return Ok(());
        }
        match inst.code {
            Code::Literal(literal) => {
                let word = exactly(self.first_literal + literal as usize);
                self.uniform_source(i, Location::Word(word));
            }
            Code::Constant(_) => {}
            Code::Load(buffer) if self.uniform && inst.dtype.is_narrow() => {
                self.uniform_narrow(i, self.address_word(buffer), inst.dtype);
            }
            Code::Load(buffer) if self.uniform => {
                let word = exactly(self.kernel.address_word(buffer));
                self.uniform_source(i, Location::Element(word));
            }
            Code::Load(buffer) => self.load(i, buffer),
            Code::Index => self.lane_number(i, inst.dtype),
            Code::Op(op) => self.op(i, op),
            Code::Gather { source, access } => self.gather(i, source, access),
            Code::RegionStart { repeat } => self.enter_region(i, repeat),
            Code::Phi => self.state(i, inst),
            Code::RunningMask => self.run_region(i, inst),
            Code::BackEdge => self.next_value(inst),
            Code::RegionEnd => self.leave_region(inst),
            Code::Store(buffer) => self.store(inst.arg(0), buffer),
            Code::Reduce { op, buffer } => self.reduce(op, inst.arg(0), buffer),
            Code::Scatter { op, target, access, .. } => self.scatter(op, inst, target, access),
        }
        Ok(())
    }

    /// A number from memory in every lane of the prologue.
    fn uniform_source(&mut self, i: usize, location: Location) {
        let dtype = self.kernel.insts[i].dtype;
        if dtype == DType::Mask {
            let bytes = match location {
                Location::Element(word) => self.make(Special::RepeatElement { word, dtype }, []),
                Location::Pool(_)
                | Location::Uniform(_)
                | Location::Frame(_)
                | Location::Word(_)
                | Location::Lanes { .. } => self.at_home(Home::Repeat4(location)),
            };
            let mask = self.mask_from_ones(bytes);
            self.values.set(i, 0, mask);
            return;
        }
        let home =
            if dtype.bytes() == 8 { Home::Repeat8(location) } else { Home::Repeat4(location) };
        let value = self.at_home(home);
        for part in 0..self.packet.parts(dtype.bytes()) {
            self.values.set(i, part, value);
        }
    }

    /// A mask from 32-bit lanes of 0 or 1.
    fn mask_from_ones(&mut self, lanes: VReg) -> VReg {
        let one = self.constant(1, 4);
        self.binary(
            if self.has(Opcode::Test32) { Opcode::Test32 } else { Opcode::Equal32 },
            lanes,
            one,
        )
    }

    fn load(&mut self, i: usize, buffer: BufferIndex) {
        let dtype = self.kernel.insts[i].dtype;
        if dtype.is_narrow() {
            return self.load_narrow(i, buffer, dtype);
        }
        for part in 0..self.packet.parts(dtype.bytes()) {
            let number = exactly(part);
            let value = if dtype == DType::Mask {
                let bytes = self.make(Special::LoadBytes { buffer: buffer.0, part: number }, []);
                if self.has(Opcode::TestBytes) {
                    self.binary(Opcode::TestBytes, bytes, bytes)
                } else {
                    self.mask_from_ones(bytes)
                }
            } else {
                let bytes = exactly(dtype.bytes());
                self.at_home(Home::Vector(Location::Lanes {
                    buffer: buffer.0,
                    bytes,
                    part: number,
                }))
            };
            self.values.set(i, part, value);
        }
    }

    fn lane_number(&mut self, i: usize, dtype: DType) {
        let wide = dtype.bytes() == 8 || dtype.is_float();
        let first = self.make(Special::LaneNumber { wide }, []);
        let bytes = if wide { 8 } else { 4 };
        let lanes = self.packet.vector() / bytes;
        let mut numbers = Vec::new();
        for part in 0..self.packet.parts(bytes) {
            let location = Location::Pool(self.pool.counting((part * lanes) as u64, bytes));
            let offsets = self.at_home(Home::Vector(location));
            numbers.push(self.binary(
                if wide { Opcode::Add64 } else { Opcode::Add32 },
                first,
                offsets,
            ));
        }
        if dtype.is_float() {
            self.convert_parts(i, DType::U64, dtype, &numbers);
        } else {
            for (part, number) in numbers.into_iter().enumerate() {
                self.values.set(i, part, number);
            }
        }
    }
}
