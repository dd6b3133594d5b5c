//! Reductions, by the tree of S11.
//!
//! # In a kernel
//!
//! One warp runs one chunk of 4096 lanes. Thread t takes lanes t, t + 32, t + 64, … of the chunk in
//! order, so its accumulator is number t of S11: lane j goes to accumulator j mod 32, in order of j.
//! A thread leaves the loop at the first lane beyond the launch. The missing lanes would hold the
//! identity, and combining with an identity changes no bits, so leaving them out is the same.
//!
//! Then accumulator i takes accumulator i + 16, then i + 8, 4, 2, 1, by shuffles. Accumulators that
//! have no partner combine with themselves, which nobody looks at. Thread 0 writes the chunk's result.
//!
//! # Partial results
//!
//! They go to the scratch memory of the launch: the r-th `Reduce` end (r counts `Reduce` ends only)
//! writes result c, for chunk c of the launch, to `scratch + r * n_chunks * 8 + c * bytes`, where
//! `n_chunks = ceil(n / 4096)` and `bytes` is the size of the end's result type; masks are bytes.
//! The end's own buffer is left to whoever combines them.
//!
//! # Between chunks
//!
//! [`lower_combine`] makes one level of the tree above: neighbours combine in order, an odd last one
//! passes up unchanged. Launched until one result is left.
#![deny(clippy::wildcard_enum_match_arm)]

use super::lower::{CHUNK, LANES_PER_WARP, Lowering};
use super::lower_op::Types;
use super::writer::{Class, Guard, Name, Writer, ptx};
use crate::dtype::DType;
use crate::ir::kernel::{End, Reg, WORD_LANE_BASE, WORD_SCRATCH, WORD_SIZE};
use crate::ir::op::ReduceOp;
use crate::ir::scalar::identity_bits;

/// A `Reduce` end on its way to its partial result.
struct Reduction {
    op: ReduceOp,
    /// Type of the result.
    dtype: DType,
    accumulator: Name,
}

/// An entry called `name` that combines partial results of type `dtype` (the reduction's result type)
/// by pairs.
///
/// Parameters, all u64: address of the inputs, address of the outputs, number of inputs. Thread i
/// makes `out[i] = combine(in[2i], in[2i + 1])`, or `in[2i]` where that is the last. Threads beyond
/// leave. The two arrays must not overlap.
pub fn lower_combine(op: ReduceOp, dtype: DType, name: &str) -> String {
    let mut w = Writer::default();
    let (i, left) = (w.special("i"), w.special("left"));
    let [source, target, count] = [(); 3].map(|()| w.temporary(Class::B64));
    let [none, single] = [(); 2].map(|()| w.temporary(Class::Pred));
    let (result, other) = (w.temporary_of(dtype), w.temporary_of(dtype));
    let (store, bytes) = (w.new_label(), dtype.bytes());

    w.thread_number(i);
    ptx!(w, "ld.param.u64 {count}, [count]");
    ptx!(w, "shl.b64 {left}, {i}, 1");
    ptx!(w, "setp.ge.u64 {none}, {left}, {count}");
    ptx!(w, "@{none} ret");
    ptx!(w, "ld.param.u64 {source}, [source]");
    let at = w.element_address(dtype, source, left);
    w.load(dtype, result, "global.nc", format_args!("{at}"));
    ptx!(w, "add.u64 {left}, {left}, 1");
    ptx!(w, "setp.ge.u64 {single}, {left}, {count}");
    ptx!(w, "@{single} bra {store}");
    w.load(dtype, other, "global.nc", format_args!("{at}+{bytes}"));
    w.combine(op, dtype, result, other);
    w.put_label(store);
    ptx!(w, "ld.param.u64 {target}, [target]");
    let at = w.element_address(dtype, target, i);
    w.store(dtype, Guard(None), at, result);
    w.finish(name, &["source", "target", "count"].map(|param| format!(".param .u64 {param}")))
}

impl Lowering<'_> {
    /// The body for one warp a chunk.
    pub(super) fn chunk(&mut self) {
        let reductions = self.reductions();
        self.enter_chunk();
        self.uniform_insts();
        for Reduction { op, dtype, accumulator } in &reductions {
            self.writer.set(*dtype, *accumulator, identity_bits(*op, *dtype));
        }
        self.lanes_of_chunk();
        for reduction in &reductions {
            self.writer.release_temporaries();
            self.writer.combine_halves(reduction);
        }
        self.writer.release_temporaries();
        self.store_partials(&reductions);
    }

    fn reductions(&mut self) -> Vec<Reduction> {
        let kernel = self.kernel;
        let mut reductions = Vec::new();
        for (number, end) in (0..).zip(&kernel.ends) {
            match *end {
                End::Reduce { op, value, .. } => {
                    let dtype = result_type(op, kernel.dtype(value));
                    let accumulator = self.writer.accumulator(dtype, number);
                    reductions.push(Reduction { op, dtype, accumulator });
                }
                End::Store { .. } | End::Scatter { .. } => {}
            }
        }
        reductions
    }

    /// Sets `%offset` to the thread's first lane and `%end` behind the chunk's last one.
    ///
    /// Warps without a chunk leave as a whole: the shuffles later need all threads of the others.
    fn enter_chunk(&mut self) {
        let w = &mut self.writer;
        let [thread, chunk, n] = ["thread", "chunk", "n"].map(|name| w.special(name));
        let [offset, end] = ["offset", "end"].map(|name| w.special(name));
        let (first, none) = (w.temporary(Class::B64), w.temporary(Class::Pred));
        w.thread_number(thread);
        ptx!(w, "shr.u64 {chunk}, {thread}, {}", LANES_PER_WARP.ilog2());
        ptx!(w, "and.b64 {thread}, {thread}, {}", LANES_PER_WARP - 1);
        ptx!(w, "shl.b64 {first}, {chunk}, {}", CHUNK.ilog2());
        let size = self.word(WORD_SIZE);
        let w = &mut self.writer;
        ptx!(w, "mov.u64 {n}, {size}");
        ptx!(w, "setp.ge.u64 {none}, {first}, {n}");
        ptx!(w, "@{none} ret");
        ptx!(w, "add.u64 {offset}, {first}, {thread}");
        ptx!(w, "add.u64 {end}, {first}, {CHUNK}");
        ptx!(w, "min.u64 {end}, {end}, {n}");
    }

    fn lanes_of_chunk(&mut self) {
        let base = self.word(WORD_LANE_BASE);
        let w = &mut self.writer;
        let [lane, start] = ["lane", "base"].map(|name| w.special(name));
        let [offset, end] = ["offset", "end"].map(|name| w.special(name));
        let (again, done) = (w.new_label(), w.new_label());
        ptx!(w, "mov.u64 {start}, {base}");
        w.put_label(again);
        let beyond = w.temporary(Class::Pred);
        ptx!(w, "setp.ge.u64 {beyond}, {offset}, {end}");
        ptx!(w, "@{beyond} bra {done}");
        ptx!(w, "add.u64 {lane}, {start}, {offset}");
        self.lane_insts();
        self.ends();
        ptx!(self.writer, "add.u64 {offset}, {offset}, {LANES_PER_WARP}");
        ptx!(self.writer, "bra {again}");
        self.writer.put_label(done);
    }

    /// Combines a lane's value into the accumulator of the end `number`.
    pub(super) fn accumulate(&mut self, number: u32, op: ReduceOp, value: Reg) {
        let dtype = result_type(op, self.kernel.dtype(value));
        let accumulator = self.writer.accumulator(dtype, number);
        let mut lane = self.register(value);
        if op == ReduceOp::Count {
            let one = self.writer.temporary_of(dtype);
            ptx!(self.writer, "selp.{} {one}, 1, 0, {lane}", dtype.ptx());
            lane = one;
        }
        self.writer.combine(op, dtype, accumulator, lane);
    }

    fn store_partials(&mut self, reductions: &[Reduction]) {
        let w = &mut self.writer;
        let [thread, chunk, n] = ["thread", "chunk", "n"].map(|name| w.special(name));
        let (others, n_chunks) = (w.temporary(Class::Pred), w.temporary(Class::B64));
        ptx!(w, "setp.ne.u64 {others}, {thread}, 0");
        ptx!(w, "@{others} ret");
        ptx!(w, "add.u64 {n_chunks}, {n}, {}", CHUNK - 1);
        ptx!(w, "shr.u64 {n_chunks}, {n_chunks}, {}", CHUNK.ilog2());
        let partials = self.word(WORD_SCRATCH);
        for (r, Reduction { dtype, accumulator, .. }) in reductions.iter().enumerate() {
            if r > 0 {
                ptx!(self.writer, "mad.lo.u64 {partials}, {n_chunks}, 8, {partials}");
            }
            let address = self.writer.element_address(*dtype, partials, chunk);
            self.writer.store(*dtype, Guard(None), address, *accumulator);
        }
    }
}

impl Writer {
    /// `left = combine(left, right)` on partial results.
    fn combine(&mut self, op: ReduceOp, dtype: DType, left: Name, right: Name) {
        self.op(op.combine(), Types::same(dtype), left, [left, right, left]);
    }

    fn combine_halves(&mut self, reduction: &Reduction) {
        let &Reduction { op, dtype, accumulator } = reduction;
        let other = self.temporary_of(dtype);
        let mut half = LANES_PER_WARP / 2;
        while half > 0 {
            self.shuffle_down(dtype, other, accumulator, half);
            self.combine(op, dtype, accumulator, other);
            half /= 2;
        }
    }

    /// `d = ` the `a` of the thread `by` further on. Shuffles move 32 bits.
    fn shuffle_down(&mut self, dtype: DType, d: Name, a: Name, by: u64) {
        match dtype {
            DType::Mask => {
                let bit = self.temporary(Class::B32);
                ptx!(self, "selp.u32 {bit}, 1, 0, {a}");
                self.shuffle_word(bit, bit, by);
                ptx!(self, "setp.ne.u32 {d}, {bit}, 0");
            }
            DType::I8 | DType::U8 | DType::I16 | DType::U16 | DType::F16 => {
                unreachable!("internal error: {dtype} is reduced in 32 bits")
            }
            DType::I32 | DType::U32 | DType::F32 => self.shuffle_word(d, a, by),
            DType::I64 | DType::U64 | DType::F64 => {
                let [low, high] = [(); 2].map(|()| self.temporary(Class::B32));
                ptx!(self, "mov.b64 {{{low}, {high}}}, {a}");
                self.shuffle_word(low, low, by);
                self.shuffle_word(high, high, by);
                ptx!(self, "mov.b64 {d}, {{{low}, {high}}}");
            }
        }
    }

    /// All 32 threads take part; 0x1f is the last thread of the one segment.
    fn shuffle_word(&mut self, d: Name, a: Name, by: u64) {
        ptx!(self, "shfl.sync.down.b32 {d}, {a}, {by}, 0x1f, 0xffffffff");
    }
}

fn result_type(op: ReduceOp, dtype: DType) -> DType {
    op.result(dtype).expect("internal error: reduction of a type that it does not take")
}
