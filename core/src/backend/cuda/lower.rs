//! From a [`Kernel`] to the PTX of one entry.
//!
//! # Parameters
//!
//! The parameter block of `ir/kernel.rs`, by value (`.param .b8 params[8 * words]`) up to
//! [`MAX_DIRECT_BYTES`], else its address (`.param .u64 params`).
//!
//! # Launch
//!
//! *Without reductions* one thread runs one lane; threads beyond the n lanes of word 0 leave. Blocks
//! and threads are counted in x alone.
//!
//! *With reductions* one warp runs one chunk of [`CHUNK`] lanes, see `lower_reduce.rs`: the launch
//! needs `ceil(n / 4096)` warps, and a block size that is a multiple of [`LANES_PER_WARP`]. The lane
//! base must be a multiple of [`CHUNK`].
//!
//! # Lanes
//!
//! `%offset` counts lanes from the launch's first, `%lane` = lane base + `%offset`. Buffers are
//! addressed by `%lane`: a split launch passes the same addresses each time.
//!
//! Uniform instructions come once per thread, after threads without lanes have left. They do not see
//! `%lane`; a failing access among them reports lane 0.
#![deny(clippy::wildcard_enum_match_arm)]

use std::collections::HashMap;

use super::lower_op::Types;
use super::writer::{Class, Label, Name, Writer, ptx, untyped};
use crate::dtype::DType;
use crate::ir::display::ptx_literal;
use crate::ir::kernel::{
    Code, End, Inst, Kernel, LiteralMode, MAX_DIRECT_BYTES, Reg, WORD_ABORT, WORD_LANE_BASE,
    WORD_SIZE,
};
use crate::ir::legal::legalise;

/// Lanes that are reduced together, by one warp (S11).
pub const CHUNK: u64 = 4096;
/// Lanes of a chunk that are in flight at once: its accumulators.
pub const LANES_PER_WARP: u64 = 32;

/// The processor to compile for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// 75 for `sm_75`.
    pub compute_capability: u32,
    /// Version of the PTX language; it must know the processor.
    pub ptx_version: (u32, u32),
}

impl Target {
    /// The oldest processor supported, and what is printed where no device says otherwise. Version 7.0
    /// is the first that also knows `sm_80`, and older drivers take it.
    pub const SM_75: Self = Self { compute_capability: 75, ptx_version: (7, 0) };

    /// The lines before the entries of a module.
    pub fn header(self) -> String {
        let Self { compute_capability, ptx_version: (major, minor) } = self;
        format!(".version {major}.{minor}\n.target sm_{compute_capability}\n.address_size 64\n\n")
    }
}

impl Default for Target {
    fn default() -> Self {
        Self::SM_75
    }
}

/// The kernel as a PTX module with one entry, `porcini_` and the first 16 digits of its hash.
///
/// The kernel must pass `ir::verify`: what that refuses comes out as PTX that `ptxas` refuses.
pub fn lower(kernel: &Kernel, mode: LiteralMode, target: Target) -> String {
    let hash = kernel.hash.to_string();
    let name = format!("porcini_{}", &hash[..16]);
    target.header() + &lower_entry(kernel, mode, &name)
}

/// The kernel as a PTX entry called `name`, without the header of a module.
pub fn lower_entry(kernel: &Kernel, mode: LiteralMode, name: &str) -> String {
    let kernel = &*legalise(kernel);
    let mut lowering = Lowering {
        kernel,
        mode,
        writer: Writer::default(),
        values: Vec::with_capacity(kernel.insts.len()),
        numbers: HashMap::new(),
        in_memory: kernel.n_words() * 8 > MAX_DIRECT_BYTES,
        first_literal: kernel.literal_word(0),
        regions: Vec::new(),
    };
    lowering.parameters();
    if kernel.ends.iter().any(|end| matches!(end, End::Reduce { .. })) {
        lowering.chunk();
    } else {
        lowering.lane();
    }
    let param = if lowering.in_memory {
        ".param .u64 params".into()
    } else {
        format!(".param .align 8 .b8 params[{}]", kernel.n_words() * 8)
    };
    lowering.writer.finish(name, &[param])
}

/// A kernel on its way to text.
pub(super) struct Lowering<'k> {
    pub(super) kernel: &'k Kernel,
    mode: LiteralMode,
    pub(super) writer: Writer,
    /// Registers of the instructions so far.
    values: Vec<Name>,
    /// Registers that hold embedded numbers: one per number, however often the script wrote it.
    numbers: HashMap<(DType, u64), Name>,
    /// Whether the parameter block is in memory.
    in_memory: bool,
    /// Word of the first literal: asking the kernel each time would count its buffers each time.
    first_literal: usize,
    /// Regions on the way.
    regions: Vec<OpenRegion>,
}

/// A region being lowered.
struct OpenRegion {
    /// Where a loop begins anew, once that is known.
    start: Option<Label>,
    end: Label,
    repeat: bool,
}

impl Lowering<'_> {
    fn parameters(&mut self) {
        if self.in_memory {
            let block = self.writer.special("params");
            ptx!(self.writer, "ld.param.u64 {block}, [params]");
        }
    }

    /// The body for one thread a lane.
    fn lane(&mut self) {
        let w = &mut self.writer;
        let (offset, lane, outside) =
            (w.special("offset"), w.special("lane"), w.temporary(Class::Pred));
        w.thread_number(offset);
        let n = self.word(WORD_SIZE);
        ptx!(self.writer, "setp.ge.u64 {outside}, {offset}, {n}");
        ptx!(self.writer, "@{outside} ret");
        self.uniform_insts();
        let base = self.word(WORD_LANE_BASE);
        ptx!(self.writer, "add.u64 {lane}, {base}, {offset}");
        self.lane_insts();
        self.ends();
    }

    /// Instructions before the lanes.
    pub(super) fn uniform_insts(&mut self) {
        self.insts(0, self.kernel.n_uniform);
    }

    /// Instructions of every lane.
    pub(super) fn lane_insts(&mut self) {
        self.insts(self.kernel.n_uniform, self.kernel.insts.len());
    }

    fn insts(&mut self, start: usize, end: usize) {
        let kernel = self.kernel;
        for inst in &kernel.insts[start..end] {
            self.writer.release_temporaries();
            self.begin_turn(inst);
            self.inst(inst);
        }
        self.writer.release_temporaries();
    }

    fn inst(&mut self, inst: &Inst) {
        let number = u32::try_from(self.values.len()).expect("internal error: kernel too long");
        let d = self.writer.value(inst.dtype, number);
        match inst.code {
            Code::Literal(literal) => {
                let literal = literal as usize;
                match self.mode {
                    LiteralMode::Embedded => {
                        return self.number(inst, d, self.kernel.literals[literal].1);
                    }
                    LiteralMode::Parameter => self.literal(inst.dtype, d, literal),
                }
            }
            Code::Constant(bits) => return self.number(inst, d, bits),
            Code::Index => self.index(inst.dtype, d),
            Code::Op(op) => {
                let operand = inst.args().last().map_or(inst.dtype, |arg| self.kernel.dtype(arg));
                let args = inst.args.map(|arg| arg.map_or(d, |arg| self.register(arg)));
                self.writer.op(op, Types { result: inst.dtype, operand }, d, args);
            }
            Code::Load(buffer) => {
                let uniform = self.is_uniform_part();
                self.load(inst.dtype, d, buffer, uniform);
            }
            Code::Gather { source, access } => self.gather(inst, d, source, access),
            Code::Region { .. } => self.region(inst, d),
            Code::State => {
                let first = inst.args[0].expect("internal error: a state without a first value");
                let first = self.register(first);
                ptx!(self.writer, "mov.{} {d}, {first}", untyped(inst.dtype));
            }
            Code::Run => self.run(inst, d),
            Code::Scatter { op, target, access } => {
                let [value, index, active] = inst.args;
                let (Some(value), Some(index)) = (value, index) else {
                    unreachable!("internal error: a scatter without value or index")
                };
                let place = self.place(target, access, index, active, false);
                self.scatter(op, value, &place);
            }
            Code::Next => {
                let [state, next, _] = inst.args.map(|arg| arg.map_or(d, |arg| self.register(arg)));
                ptx!(self.writer, "mov.{} {state}, {next}", untyped(inst.dtype));
            }
            Code::Leave => self.leave(),
        }
        self.writer.comment(format_args!("r{}", inst.serial));
        self.values.push(d);
    }

    /// The start of a region: a thread enters if its lane runs the region around.
    fn region(&mut self, inst: &Inst, d: Name) {
        match inst.args[0] {
            Some(outer) => {
                let outer = self.register(outer);
                ptx!(self.writer, "mov.pred {d}, {outer}");
            }
            None => ptx!(self.writer, "mov.pred {d}, 1"),
        }
        let repeat = inst.code == Code::Region { repeat: true };
        let end = self.writer.new_label();
        self.regions.push(OpenRegion { start: None, end, repeat });
    }

    /// The condition: the one place to which a loop goes back is behind its states.
    fn run(&mut self, inst: &Inst, d: Name) {
        let [entering, condition, _] = inst.args.map(|arg| arg.map_or(d, |arg| self.register(arg)));
        ptx!(self.writer, "and.pred {d}, {entering}, {condition}");
        if let Some(region) = self.regions.last() {
            let end = region.end;
            ptx!(self.writer, "@!{d} bra {end}");
        }
    }

    /// The end of a region. A loop that was interrupted leaves.
    fn leave(&mut self) {
        let Some(OpenRegion { start, end, repeat }) = self.regions.pop() else { return };
        if let (true, Some(start)) = (repeat, start) {
            let (address, flag) = (self.word(WORD_ABORT), self.writer.temporary(Class::B32));
            let going_on = self.writer.temporary(Class::Pred);
            ptx!(self.writer, "ld.volatile.global.u32 {flag}, [{address}]");
            ptx!(self.writer, "setp.eq.u32 {going_on}, {flag}, 0");
            ptx!(self.writer, "@{going_on} bra {start}");
        }
        self.writer.put_label(end);
    }

    /// Marks the place behind the states, where a loop begins anew.
    fn begin_turn(&mut self, inst: &Inst) {
        if matches!(inst.code, Code::Region { .. } | Code::State) {
            return;
        }
        if let Some(OpenRegion { start: start @ None, repeat: true, .. }) = self.regions.last_mut()
        {
            let label = self.writer.new_label();
            *start = Some(label);
            self.writer.put_label(label);
        }
    }

    /// A number in the code; equal ones share the register of the first.
    fn number(&mut self, inst: &Inst, d: Name, bits: u64) {
        let key = (inst.dtype, bits);
        if let Some(&register) = self.numbers.get(&key) {
            return self.values.push(register);
        }
        self.writer.set(inst.dtype, d, bits);
        self.writer.comment(format_args!("r{}", inst.serial));
        // Inside a region the place may be passed over.
        if self.regions.is_empty() {
            self.numbers.insert(key, d);
        }
        self.values.push(d);
    }

    /// Words are little-endian, so a narrow literal is read at the word's own address.
    fn literal(&mut self, dtype: DType, d: Name, literal: usize) {
        let word = self.first_literal + literal;
        if self.in_memory {
            let block = self.writer.special("params");
            self.writer.load(dtype, d, "global.nc", format_args!("{block}+{}", 8 * word));
        } else {
            self.writer.load(dtype, d, "param", format_args!("params+{}", 8 * word));
        }
    }

    fn index(&mut self, dtype: DType, d: Name) {
        let lane = self.writer.special("lane");
        if dtype.bits() == 32 {
            ptx!(self.writer, "cvt.u32.u64 {d}, {lane}");
        } else {
            ptx!(self.writer, "mov.{} {d}, {lane}", untyped(dtype));
        }
    }

    /// What happens at the end of each lane.
    pub(super) fn ends(&mut self) {
        let kernel = self.kernel;
        for (number, end) in (0..).zip(&kernel.ends) {
            self.writer.release_temporaries();
            let value = match *end {
                End::Store { value, buffer } => {
                    self.store(value, buffer);
                    value
                }
                End::Reduce { op, value, .. } => {
                    self.accumulate(number, op, value);
                    value
                }
                End::Scatter { op, value, index, active, target, access } => {
                    let place = self.place(target, access, index, active, false);
                    self.scatter(op, value, &place);
                    value
                }
            };
            self.writer.comment(format_args!("r{}", kernel.inst(value).serial));
        }
        self.writer.release_temporaries();
    }

    /// Whether the instruction being lowered is uniform.
    pub(super) fn is_uniform_part(&self) -> bool {
        self.values.len() < self.kernel.n_uniform
    }

    /// The register of an instruction's value.
    pub(super) fn register(&self, reg: Reg) -> Name {
        self.values[reg.index()]
    }

    /// A temporary with a word of the parameter block.
    pub(super) fn word(&mut self, word: usize) -> Name {
        let d = self.writer.temporary(Class::B64);
        if self.in_memory {
            let block = self.writer.special("params");
            ptx!(self.writer, "ld.global.nc.u64 {d}, [{block}+{}]", 8 * word);
        } else {
            ptx!(self.writer, "ld.param.u64 {d}, [params+{}]", 8 * word);
        }
        d
    }
}

impl Writer {
    /// `d = ` this thread's number in the launch.
    pub(super) fn thread_number(&mut self, d: Name) {
        let [block, size, thread] = [(); 3].map(|()| self.temporary(Class::B32));
        ptx!(self, "mov.u32 {block}, %ctaid.x");
        ptx!(self, "mov.u32 {size}, %ntid.x");
        ptx!(self, "mov.u32 {thread}, %tid.x");
        ptx!(self, "cvt.u64.u32 {d}, {thread}");
        ptx!(self, "mad.wide.u32 {d}, {block}, {size}, {d}");
    }

    /// `d = ` a number, by its exact bits.
    pub(super) fn set(&mut self, dtype: DType, d: Name, bits: u64) {
        ptx!(self, "mov.{} {d}, {}", dtype.ptx(), ptx_literal(dtype, bits));
    }
}
