//! From a [`Kernel`] to PTX text: a pure function of kernel, literal mode and target.
//!
//! | file | content |
//! |---|---|
//! | `mod.rs` | the outline of an entry: parameters, lane numbers, instructions, writes |
//! | `sharing.rs` | how threads share the lanes |
//! | `op.rs` | one arm per elementwise operation |
//! | `memory.rs` | loads, gathers, stores, scatters |
//! | `vector.rs` | loads and stores of neighbouring lanes |
//! | `reduce.rs` | the reduction tree of S11 |
//! | `private.rs` | scatters that add into few elements |
//! | `looked_up.rs` | functions of one half float, by a table |
//! | `primitive.rs` | the entries of primitives: `along.rs`, `scan.rs`, `sort.rs`, `sort_rows.rs`, `count.rs`, `turned.rs`, `product/` |
//! | `writer.rs` | text, register names and declarations |
//!
//! # Parameters
//!
//! The parameter block of `ir/kernel.rs`, by value (`.param .b8 params[8 * words]`) up to
//! [`MAX_DIRECT_BYTES`], else its address (`.param .u64 params`). Of a batch ([`BATCH`]) the address of the first member's:
//! `%ctaid.y` is the number of the member.
//!
//! # Lanes
//!
//! *Without reductions* a thread runs a few neighbouring lanes, as many as 16 bytes hold of the widest
//! array that passes through ([`Sharing::Lanes`]); what passes through is loaded and stored in one piece.
//! A kernel for few lanes gives a thread one.
//! The last thread may run lanes beyond the launch: what these load and store lies within the arrays'
//! blocks, whose sizes are multiples of 64 bytes; by index they write nothing, report nothing, and read in bounds. Where lanes gather, the
//! threads of a warp run neighbours instead ([`Sharing::Interleaved`]), and lanes beyond load and store nothing.
//!
//! *With reductions* a warp runs a chunk of [`CHUNK`] lanes ([`Sharing::Chunks`]), see `reduce.rs`. The lane
//! base must be a multiple of [`CHUNK`].
//!
//! Either way an instruction is written once per lane in flight, in all lanes before the next one, so that
//! loads come close together. `%offset` counts lanes from the launch's first, `%lane` = lane base +
//! `%offset`, both for the first lane in flight. Buffers are addressed by `%lane`: a split launch passes the
//! same addresses each time. Blocks and threads are counted in x alone.
//!
//! Uniform instructions come once per thread, after threads without lanes have left. They do not see
//! `%lane`; a failing access among them reports lane 0.
#![deny(clippy::wildcard_enum_match_arm)]

mod along;
mod count;
mod looked_up;
mod memory;
mod op;
mod place;
mod primitive;
mod private;
mod product;
mod reduce;
mod scan;
mod sent;
mod sharing;
mod sort;
mod sort_rows;
mod target;
mod turned;
mod vector;
mod writer;

use std::collections::HashMap;

pub use self::along::Columns as AlongColumns;
pub(super) use self::along::{CHUNK as ALONG_CHUNK, FOLDED as ALONG_FOLDED, SHORT as ALONG_SHORT};
pub(super) use self::count::THREADS as COUNT_BLOCK;
pub(super) use self::looked_up::{TABLE_BYTES, of_halves, tiles};
use self::memory::Indexed;
pub(super) use self::memory::WORDS_PER_ACCESS;
use self::op::Types;
pub(super) use self::place::parts as places_parts;
pub(super) use self::primitive::TRAP_ENTRY;
pub use self::primitive::{Step, lower_step, lower_trap};
pub use self::private::private_target;
pub use self::product::{Parts as ProductParts, Product as ProductCode, Size as ProductSize};
pub(super) use self::reduce::cover_of;
pub use self::reduce::{FOLDED, fold_of, lower_fold, tree_size};
pub(super) use self::scan::CHUNK as SCAN_CHUNK;
pub use self::sharing::{BATCH, CHUNK, LANES_PER_WARP, ONE_LANE, Sharing};
pub(super) use self::sort::{BUCKETS, COUNTED, DIGIT, STATES, raw, tile};
pub(super) use self::sort_rows::SLOTS;
pub use self::target::Target;
pub(super) use self::turned::SIDE as TURNED_SIDE;
use self::writer::{Class, Label, Name, Writer, ptx, untyped};
use crate::dtype::{DType, Scalar};
use crate::ir::display::ptx_literal;
use crate::ir::division::{self, Divisors};
use crate::ir::kernel::{
    BufferIndex, Code, Inst, Kernel, LiteralMode, MAX_DIRECT_BYTES, Reg, WORD_ABORT,
    WORD_LANE_BASE, WORD_SIZE,
};
use crate::ir::legal::legalise;
use crate::ir::op::Op;

impl Default for Target {
    fn default() -> Self {
        Self::SM_75
    }
}

/// The name of a kernel's entry: `porcini_` and the first 16 digits of its hash.
pub(super) fn entry_name(kernel: &Kernel) -> String {
    format!("porcini_{}", &kernel.hash.to_string()[..16])
}

/// The kernel as a PTX module; what the chunks of reductions leave, another combines ([`fold_of`]).
///
/// The kernel must pass `ir::verify`: what that refuses comes out as PTX that `ptxas` refuses.
pub fn lower(kernel: &Kernel, mode: LiteralMode, target: Target) -> String {
    let private = lower_private(kernel, mode, target, PRIVATE_ENTRY);
    let mut text = target.header();
    if private.is_some() {
        text.push_str(SHARED_DECLARATION);
    }
    text.push_str(&lower_entry(kernel, mode, target, &entry_name(kernel)));
    if let Some(private) = private {
        text.push('\n');
        text.push_str(&private);
    }
    text
}

/// Name of the entry of [`lower_fold`]'s modules.
pub(super) const FOLD_ENTRY: &str = "fold";
/// Name of the entry whose blocks add into elements of their own.
pub(super) const PRIVATE_ENTRY: &str = "private";
/// Name of the shared memory whose size the launch chooses.
const SHARED: &str = "shared_elements";
/// Its declaration, before the entries of a module.
pub const SHARED_DECLARATION: &str = ".extern .shared .align 8 .b8 shared_elements[];\n\n";

/// The kernel as a PTX entry called `name`, without the header of a module.
pub fn lower_entry(kernel: &Kernel, mode: LiteralMode, target: Target, name: &str) -> String {
    let kernel = legalise(kernel);
    // Launches know it from the kernel as it was.
    let sharing = Sharing::of_legal(&kernel);
    let kernel = &*division::rewrite(kernel, mode, Divisors::Known);
    Lowering::new(kernel, mode, target, sharing, None).entry(name, |this| match sharing {
        Sharing::Lanes(_) | Sharing::Interleaved(_) => this.lanes_of_threads(),
        Sharing::Chunks(_) => this.chunk(),
    })
}

/// The kernel as a PTX entry called `name` whose blocks have the elements of [`private_target`] for themselves,
/// in shared memory declared as [`SHARED_DECLARATION`]; launched with any number of
/// threads.
pub fn lower_private(
    kernel: &Kernel,
    mode: LiteralMode,
    target: Target,
    name: &str,
) -> Option<String> {
    let private = private_target(kernel)?;
    let kernel = legalise(kernel);
    let sharing = Sharing::of_legal(&kernel);
    let kernel = &*division::rewrite(kernel, mode, Divisors::Known);
    let lowering = Lowering::new(kernel, mode, target, sharing, Some(private));
    Some(lowering.entry(name, |this| this.privately(private)))
}

/// Whether the blocks along y are members of a batch.
fn is_batch(kernel: &Kernel) -> bool {
    kernel.variant & BATCH != 0
}

/// Turns of a loop from one look at whether to leave to the next, a power of two.
const TURNS_UNASKED: u32 = 16;

/// A kernel on its way to text.
struct Lowering<'k> {
    kernel: &'k Kernel,
    mode: LiteralMode,
    writer: Writer,
    /// Registers of the instructions so far.
    values: Vec<Value>,
    /// Registers that hold embedded numbers: one per number, however often the script wrote it.
    numbers: HashMap<(DType, u64), Name>,
    /// Where the first lane in flight of a buffer lies.
    pointers: HashMap<BufferIndex, Name>,
    /// Lanes in flight.
    lanes: u32,
    /// Between two lanes in flight.
    distance: u64,
    /// Whether no lane in flight is beyond the launch if the first is not.
    is_whole: bool,
    /// The lane in flight that is being written.
    lane: u32,
    /// Numbers of registers from one instruction to the next: the most lanes ever in flight.
    spread: u32,
    /// A buffer whose elements each block has for itself.
    private: Option<BufferIndex>,
    /// Whether the parameter block is in memory.
    in_memory: bool,
    /// Word of the first literal: asking the kernel each time would count its buffers each time.
    first_literal: usize,
    /// Regions on the way.
    regions: Vec<OpenRegion>,
    /// Accesses whose indices may be out of bounds.
    unreported: Vec<(u32, Indexed)>,
}

/// Where the value of an instruction is.
#[derive(Clone, Copy)]
struct Value {
    /// In the first lane in flight.
    first: Name,
    /// Whether it is there for all of them.
    shared: bool,
}

/// A region being lowered.
struct OpenRegion {
    /// The loop header, target of the back edge, once that is known.
    start: Option<Label>,
    end: Label,
    repeat: bool,
}

impl<'k> Lowering<'k> {
    fn new(
        kernel: &'k Kernel,
        mode: LiteralMode,
        target: Target,
        sharing: Sharing,
        private: Option<BufferIndex>,
    ) -> Self {
        Self {
            kernel,
            mode,
            writer: Writer::of_target(target),
            values: Vec::with_capacity(kernel.insts.len()),
            numbers: HashMap::new(),
            pointers: HashMap::new(),
            lanes: sharing.lanes(),
            distance: sharing.distance(),
            is_whole: matches!(sharing, Sharing::Chunks(_)),
            lane: 0,
            spread: sharing.lanes(),
            private,
            in_memory: is_batch(kernel) || kernel.n_words() * 8 > MAX_DIRECT_BYTES,
            first_literal: kernel.literal_word(0),
            regions: Vec::new(),
            unreported: Vec::new(),
        }
    }

    /// The entry called `name` with a body.
    fn entry(mut self, name: &str, body: impl FnOnce(&mut Self)) -> String {
        self.parameters();
        body(&mut self);
        let param = if self.in_memory {
            ".param .u64 params".into()
        } else {
            format!(".param .align 8 .b8 params[{}]", self.kernel.n_words() * 8)
        };
        self.writer.finish(name, &[param])
    }
}

impl Lowering<'_> {
    fn parameters(&mut self) {
        if is_batch(self.kernel) {
            self.writer.member_block(self.kernel.n_words() * 8);
        } else if self.in_memory {
            let block = self.writer.special("params");
            ptx!(self.writer, "ld.param.u64 {block}, [params]");
        }
    }

    /// The body for threads that run some lanes each.
    fn lanes_of_threads(&mut self) {
        let offset = self.first_lane();
        let w = &mut self.writer;
        let (lane, outside) = (w.special("lane"), w.temporary(Class::Pred));
        let n = self.word(WORD_SIZE);
        ptx!(self.writer, "setp.ge.u64 {outside}, {offset}, {n}");
        ptx!(self.writer, "@{outside} ret");
        self.uniform_insts();
        let base = self.word(WORD_LANE_BASE);
        ptx!(self.writer, "add.u64 {lane}, {base}, {offset}");
        self.lane_insts();
    }

    /// `%offset = ` the number of the thread's first lane.
    fn first_lane(&mut self) -> Name {
        let w = &mut self.writer;
        let offset = w.special("offset");
        w.thread_number(offset);
        if self.lanes > 1 && self.distance > 1 {
            let in_warp = w.temporary(Class::B64);
            ptx!(w, "and.b64 {in_warp}, {offset}, {}", self.distance - 1);
            ptx!(w, "sub.u64 {offset}, {offset}, {in_warp}");
            ptx!(w, "mad.lo.u64 {offset}, {offset}, {}, {in_warp}", self.lanes);
        } else if self.lanes > 1 {
            ptx!(w, "shl.b64 {offset}, {offset}, {}", self.lanes.ilog2());
        }
        offset
    }

    /// Instructions before the lanes.
    fn uniform_insts(&mut self) {
        self.insts(&self.kernel.insts[..self.kernel.n_uniform]);
    }

    /// Instructions of every lane, and writes of the lanes in flight.
    fn lane_insts(&mut self) {
        self.insts(self.kernel.lane_insts());
        self.writes();
        self.report_outside(true);
    }

    fn insts(&mut self, insts: &[Inst]) {
        for inst in insts {
            self.writer.release_temporaries();
            self.begin_turn(inst);
            self.inst(inst);
        }
        self.writer.release_temporaries();
    }

    fn inst(&mut self, inst: &Inst) {
        let number = matches!(inst.code, Code::Literal(_) | Code::Constant(_));
        if self.is_uniform_part() && !number {
            return self.shared(inst, |this, d| this.lane_inst(inst, d));
        }
        match inst.code {
            Code::Literal(literal) => match self.mode {
                LiteralMode::Embedded => {
                    let (_, bits) = self.kernel.literals[literal as usize];
                    self.number(inst, bits);
                }
                LiteralMode::Parameter => self.shared(inst, |this, d| {
                    this.literal(inst.dtype, d, literal as usize);
                }),
            },
            Code::Constant(bits) => self.number(inst, bits),
            Code::Load(buffer) => {
                let first = self.new_register(inst.dtype);
                self.load_lanes(inst.dtype, first, buffer);
                self.define(inst, Value { first, shared: false });
            }
            Code::Index
            | Code::Op(_)
            | Code::Gather { .. }
            | Code::RegionStart { .. }
            | Code::Phi
            | Code::RunningMask
            | Code::BackEdge
            | Code::RegionEnd
            | Code::Store(_)
            | Code::Reduce { .. }
            | Code::Scatter { .. } => {
                let first = self.new_register(inst.dtype);
                for lane in 0..self.lanes {
                    self.lane = lane;
                    // Temporaries live within one lane of an instruction.
                    self.writer.release_temporaries();
                    self.lane_inst(inst, first.next(lane));
                }
                self.lane = 0;
                self.define(inst, Value { first, shared: false });
                self.report_outside(false);
            }
        }
    }

    /// The first register of the next instruction.
    fn new_register(&mut self, dtype: DType) -> Name {
        let number = u32::try_from(self.values.len()).expect("internal error: kernel too long");
        self.writer.values(dtype, number * self.spread, self.lanes)
    }

    /// An instruction that is written once for all lanes in flight.
    fn shared(&mut self, inst: &Inst, write: impl FnOnce(&mut Self, Name)) {
        let first = self.new_register(inst.dtype);
        write(self, first);
        self.define(inst, Value { first, shared: true });
    }

    fn define(&mut self, inst: &Inst, value: Value) {
        self.writer.comment(format_args!("r{}", inst.serial));
        self.values.push(value);
    }

    /// An instruction in one lane.
    fn lane_inst(&mut self, inst: &Inst, d: Name) {
        match inst.code {
            Code::Literal(_) | Code::Constant(_) => {
                unreachable!("internal error: numbers are shared")
            }
            Code::Index => self.index(inst.dtype, d),
            Code::Op(op) => {
                let operand = inst.args().last().map_or(inst.dtype, |arg| self.kernel.dtype(arg));
                let args = inst.args.map(|arg| arg.map_or(d, |arg| self.register(arg)));
                let types = Types { result: inst.dtype, operand };
                if self.kernel.fast_math && self.writer.fast_op(op, types, d, args) {
                    return;
                }
                let is = |i: usize, number| self.number_of(inst.args[i]) == Some(number);
                if op == Op::Div && is(0, Scalar::Float(1.0)) {
                    // The same bits in half the instructions.
                    return ptx!(self.writer, "rcp.rn.{} {d}, {}", inst.dtype.ptx(), args[1]);
                }
                match (0..2).find(|&i| op == Op::Mul && is(i, Scalar::Int(-1))) {
                    Some(i) => self.writer.op(Op::Neg, types, d, [args[1 - i]; 3]),
                    None => self.writer.op(op, types, d, args),
                }
            }
            Code::Load(buffer) => self.load_first(inst.dtype, d, buffer),
            Code::Gather { source, access } => self.gather(inst, d, source, access),
            Code::RegionStart { .. } => self.region(inst, d),
            Code::Phi => {
                let first = inst.args[0].expect("internal error: a state without a first value");
                let first = self.register(first);
                ptx!(self.writer, "mov.{} {d}, {first}", untyped(inst.dtype));
            }
            Code::RunningMask => self.run(inst, d),
            Code::BackEdge => {
                let [state, next, _] = inst.args.map(|arg| arg.map_or(d, |arg| self.register(arg)));
                ptx!(self.writer, "mov.{} {state}, {next}", untyped(inst.dtype));
            }
            Code::RegionEnd => self.leave(),
            Code::Scatter { op, target, access, .. } => self.scatter(op, inst, target, access),
            Code::Store(_) | Code::Reduce { .. } => {
                unreachable!("internal error: a write of one lane")
            }
        }
    }

    /// The start of a region: a thread is active if its lane runs the region around.
    fn region(&mut self, inst: &Inst, d: Name) {
        match inst.args[0] {
            Some(outer) => {
                let outer = self.register(outer);
                ptx!(self.writer, "mov.pred {d}, {outer}");
            }
            None => ptx!(self.writer, "mov.pred {d}, 1"),
        }
        let repeat = inst.code == Code::RegionStart { repeat: true };
        if repeat {
            let turn = self.writer.turn(self.regions.len());
            ptx!(self.writer, "mov.b32 {turn}, 0");
        }
        let end = self.writer.new_label();
        self.regions.push(OpenRegion { start: None, end, repeat });
    }

    /// The condition: a loop's back edge leads behind its phis.
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
            let turn = self.writer.turn(self.regions.len());
            let (address, flag) = (self.word(WORD_ABORT), self.writer.temporary(Class::B32));
            let going_on = self.writer.temporary(Class::Pred);
            ptx!(self.writer, "add.u32 {turn}, {turn}, 1");
            ptx!(self.writer, "and.b32 {flag}, {turn}, {}", TURNS_UNASKED - 1);
            ptx!(self.writer, "setp.ne.u32 {going_on}, {flag}, 0");
            ptx!(self.writer, "@{going_on} bra {start}");
            ptx!(self.writer, "ld.volatile.global.u32 {flag}, [{address}]");
            ptx!(self.writer, "setp.eq.u32 {going_on}, {flag}, 0");
            ptx!(self.writer, "@{going_on} bra {start}");
        }
        self.writer.put_label(end);
    }

    /// Emits the label behind the phis, target of a loop's back edge.
    fn begin_turn(&mut self, inst: &Inst) {
        if matches!(inst.code, Code::RegionStart { .. } | Code::Phi) {
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
    fn number(&mut self, inst: &Inst, bits: u64) {
        let key = (inst.dtype, bits);
        if let Some(&first) = self.numbers.get(&key) {
            return self.values.push(Value { first, shared: true });
        }
        self.shared(inst, |this, d| {
            this.writer.set(inst.dtype, d, bits);
            // Inside a region the place may be passed over.
            if this.regions.is_empty() {
                this.numbers.insert(key, d);
            }
        });
    }

    /// The number that an operand is, whatever the script says next time.
    fn number_of(&self, reg: Option<Reg>) -> Option<Scalar> {
        let inst = &self.kernel.insts[reg?.index()];
        let bits = match (inst.code, self.mode) {
            (Code::Constant(bits), _) => bits,
            (Code::Literal(literal), LiteralMode::Embedded) => {
                self.kernel.literals[literal as usize].1
            }
            _ => return None,
        };
        Some(inst.dtype.decode(bits))
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
        let further = u64::from(self.lane) * self.distance;
        match (dtype.bits(), further) {
            (32, 0) => ptx!(self.writer, "cvt.u32.u64 {d}, {lane}"),
            (32, _) => {
                ptx!(self.writer, "cvt.u32.u64 {d}, {lane}");
                ptx!(self.writer, "add.u32 {d}, {d}, {further}");
            }
            (_, 0) => ptx!(self.writer, "mov.{} {d}, {lane}", untyped(dtype)),
            _ => ptx!(self.writer, "add.u64 {d}, {lane}, {further}"),
        }
    }

    /// Stores, reductions and scatters of the lanes in flight.
    fn writes(&mut self) {
        let kernel = self.kernel;
        for (number, (_, inst)) in (0..).zip(kernel.writes()) {
            self.writer.release_temporaries();
            if let Code::Store(buffer) = inst.code {
                self.store_lanes(inst.arg(0), buffer);
                self.written(inst);
            } else if let Code::Reduce { op, .. } = inst.code {
                self.accumulate(number, op, inst.arg(0));
                self.written(inst);
            }
        }
        // What several scatters add up comes lane by lane.
        for lane in 0..self.lanes {
            self.lane = lane;
            for (_, inst) in kernel.writes() {
                if let Code::Scatter { op, target, access, .. } = inst.code {
                    self.writer.release_temporaries();
                    self.scatter(op, inst, target, access);
                    self.written(inst);
                    self.report_outside(false);
                }
            }
        }
        self.lane = 0;
        self.writer.release_temporaries();
    }

    fn written(&mut self, inst: &Inst) {
        self.writer.comment(format_args!("r{}", self.kernel.inst(inst.arg(0)).serial));
    }

    /// Whether the instruction being lowered is uniform.
    fn is_uniform_part(&self) -> bool {
        self.values.len() < self.kernel.n_uniform
    }

    /// The register of an instruction's value in the lane being written.
    fn register(&self, reg: Reg) -> Name {
        self.register_in(reg, self.lane)
    }

    /// The register of an instruction's value in a lane in flight.
    fn register_in(&self, reg: Reg, lane: u32) -> Name {
        let Value { first, shared } = self.values[reg.index()];
        if shared { first } else { first.next(lane) }
    }

    /// A temporary with a word of the parameter block.
    fn word(&mut self, word: usize) -> Name {
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
    fn thread_number(&mut self, d: Name) {
        let [block, size, thread] = [(); 3].map(|()| self.temporary(Class::B32));
        ptx!(self, "mov.u32 {block}, %ctaid.x");
        ptx!(self, "mov.u32 {size}, %ntid.x");
        ptx!(self, "mov.u32 {thread}, %tid.x");
        ptx!(self, "cvt.u64.u32 {d}, {thread}");
        ptx!(self, "mad.wide.u32 {d}, {block}, {size}, {d}");
    }

    /// `d = ` a number, by its exact bits.
    fn set(&mut self, dtype: DType, d: Name, bits: u64) {
        ptx!(self, "mov.{} {d}, {}", dtype.ptx(), ptx_literal(dtype, bits));
    }
}
