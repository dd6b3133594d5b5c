//! Reductions, by the tree of S11.
//!
//! # In a kernel
//!
//! One warp runs one chunk of 4096 lanes. Thread t takes lanes t, t + 32, t + 64, … of the chunk in
//! order, so its accumulator is number t of S11: lane j goes to accumulator j mod 32, in order of j.
//! In a full chunk several of them are in flight. In the last one a thread goes on lane by lane, to the
//! first lane beyond the launch: the missing lanes would hold the identity, and combining with an identity
//! changes no bits, so leaving them out is the same.
//!
//! Then accumulator i takes accumulator i + 16, then i + 8, 4, 2, 1, by shuffles. Accumulators that
//! have no partner combine with themselves, which nobody looks at. Thread 0 writes the chunk's result.
//!
//! # Between chunks
//!
//! Chunk c (by lane number, also of a split launch) writes the result of the r-th of R `Reduce` ends to
//! scratch word `c * R + r`. The entry of [`lower_fold`] combines up to [`FOLDED`] neighbours in a block:
//! level by level, an odd last one passing up unchanged. Where that leaves several words, it is launched
//! again over them.
#![deny(clippy::wildcard_enum_match_arm)]

use super::Lowering;
use super::op::Types;
use super::sharing::{CHUNK, LANES_PER_WARP};
use super::writer::{Class, Guard, Name, Writer, ptx};
use crate::dtype::DType;
use crate::ir::kernel::{End, Kernel, Reg, WORD_LANE_BASE, WORD_SCRATCH, WORD_SIZE};
use crate::ir::legal::legalise;
use crate::ir::op::{Op, ReduceOp};
use crate::ir::scalar::identity_bits;

/// Words that a block of the fold combines: its threads.
pub const FOLDED: u32 = 1024;

/// A `Reduce` end.
#[derive(Clone, Copy)]
struct Reduction {
    op: ReduceOp,
    /// Type of the accumulators.
    dtype: DType,
    /// Type of the result in memory.
    stored: DType,
    /// Number among the ends.
    end: u32,
}

fn reductions(kernel: &Kernel) -> Vec<Reduction> {
    let ends = (0..).zip(&kernel.ends).filter_map(|(end, what)| match *what {
        End::Reduce { op, value, buffer } => {
            let dtype = result_type(op, kernel.dtype(value));
            let stored = kernel.buffers[buffer.index()].dtype;
            Some(Reduction { op, dtype, stored, end })
        }
        End::Store { .. } | End::Scatter { .. } => None,
    });
    ends.collect()
}

fn result_type(op: ReduceOp, dtype: DType) -> DType {
    op.result(dtype).expect("internal error: reduction of a type that it does not take")
}

impl Lowering<'_> {
    /// The body for one warp a chunk.
    pub(super) fn chunk(&mut self) {
        self.enter_chunk();
        self.uniform_insts();
        let reductions = reductions(self.kernel);
        for &Reduction { op, dtype, end, .. } in &reductions {
            let accumulator = self.writer.accumulator(dtype, end);
            self.writer.set(dtype, accumulator, identity_bits(op, dtype));
        }
        let base = self.word(WORD_LANE_BASE);
        let w = &mut self.writer;
        let [lane, offset, end] = ["lane", "offset", "end"].map(|name| w.special(name));
        ptx!(w, "add.u64 {lane}, {base}, {offset}");
        if self.lanes > 1 {
            let (partial, rest) =
                (self.writer.temporary(Class::Pred), self.writer.temporary(Class::B64));
            let (one_by_one, done) = (self.writer.new_label(), self.writer.new_label());
            let thread = self.writer.special("thread");
            ptx!(self.writer, "sub.u64 {rest}, {end}, {offset}");
            ptx!(self.writer, "add.u64 {rest}, {rest}, {thread}");
            ptx!(self.writer, "setp.lt.u64 {partial}, {rest}, {CHUNK}");
            ptx!(self.writer, "@{partial} bra {one_by_one}");
            self.rows();
            ptx!(self.writer, "bra {done}");
            self.writer.put_label(one_by_one);
            self.lanes = 1;
            self.rows();
            self.writer.put_label(done);
        } else {
            self.rows();
        }
        for reduction in &reductions {
            self.writer.release_temporaries();
            self.writer.combine_halves(reduction);
        }
        self.writer.release_temporaries();
        self.store_partials(&reductions);
    }

    /// Sets `%offset` to the thread's first lane and `%end` behind the chunk's last one.
    ///
    /// Warps without a chunk leave as a whole: the shuffles later need all threads of the others.
    fn enter_chunk(&mut self) {
        let n = self.word(WORD_SIZE);
        let w = &mut self.writer;
        let [thread, chunk] = ["thread", "chunk"].map(|name| w.special(name));
        let [offset, end] = ["offset", "end"].map(|name| w.special(name));
        let (first, none) = (w.temporary(Class::B64), w.temporary(Class::Pred));
        w.thread_number(thread);
        ptx!(w, "shr.u64 {chunk}, {thread}, {}", LANES_PER_WARP.ilog2());
        ptx!(w, "and.b64 {thread}, {thread}, {}", LANES_PER_WARP - 1);
        ptx!(w, "shl.b64 {first}, {chunk}, {}", CHUNK.ilog2());
        ptx!(w, "setp.ge.u64 {none}, {first}, {n}");
        ptx!(w, "@{none} ret");
        ptx!(w, "add.u64 {offset}, {first}, {thread}");
        ptx!(w, "add.u64 {end}, {first}, {CHUNK}");
        ptx!(w, "min.u64 {end}, {end}, {n}");
    }

    /// The lanes of a thread, `self.lanes` of them at a time.
    fn rows(&mut self) {
        self.values.truncate(self.kernel.n_uniform);
        self.numbers.clear();
        self.pointers.clear();
        let w = &mut self.writer;
        let [lane, offset, end] = ["lane", "offset", "end"].map(|name| w.special(name));
        let (again, done) = (w.new_label(), w.new_label());
        w.put_label(again);
        let beyond = w.temporary(Class::Pred);
        ptx!(w, "setp.ge.u64 {beyond}, {offset}, {end}");
        ptx!(w, "@{beyond} bra {done}");
        self.lane_insts();
        self.ends();
        let step = u64::from(self.lanes) * LANES_PER_WARP;
        ptx!(self.writer, "add.u64 {offset}, {offset}, {step}");
        ptx!(self.writer, "add.u64 {lane}, {lane}, {step}");
        ptx!(self.writer, "bra {again}");
        self.writer.put_label(done);
    }

    /// Combines the lanes in flight into the accumulator of the end `number`.
    pub(super) fn accumulate(&mut self, number: u32, op: ReduceOp, value: Reg) {
        let dtype = result_type(op, self.kernel.dtype(value));
        let accumulator = self.writer.accumulator(dtype, number);
        for lane in 0..self.lanes {
            self.writer.release_temporaries();
            let mut value = self.register_in(value, lane);
            if op == ReduceOp::Count {
                let one = self.writer.temporary_of(dtype);
                ptx!(self.writer, "selp.{} {one}, 1, 0, {value}", dtype.ptx());
                value = one;
            }
            self.writer.combine(op, dtype, accumulator, value);
        }
    }

    fn store_partials(&mut self, reductions: &[Reduction]) {
        let (base, scratch) = (self.word(WORD_LANE_BASE), self.word(WORD_SCRATCH));
        let w = &mut self.writer;
        let [thread, chunk] = ["thread", "chunk"].map(|name| w.special(name));
        let others = w.temporary(Class::Pred);
        ptx!(w, "setp.ne.u64 {others}, {thread}, 0");
        ptx!(w, "@{others} ret");
        ptx!(w, "shr.u64 {base}, {base}, {}", CHUNK.ilog2());
        ptx!(w, "add.u64 {chunk}, {chunk}, {base}");
        ptx!(w, "mad.lo.u64 {scratch}, {chunk}, {}, {scratch}", 8 * reductions.len());
        for (r, &Reduction { dtype, end, .. }) in (0..).zip(reductions) {
            let accumulator = w.accumulator(dtype, end);
            w.store_at(dtype, Guard(None), scratch, 8 * r, accumulator);
        }
    }
}

/// An entry called `name` that combines the words that the chunks of a kernel left.
///
/// Parameters: a block of u64 words: the number of words of each reduction, where they are, where to leave
/// what is not the last result, and the addresses of the results. Launched with [`FOLDED`] threads a
/// block, `ceil(number / FOLDED)` blocks and a row of blocks for each reduction; where that is one block,
/// it writes the results.
pub fn lower_fold(kernel: &Kernel, name: &str) -> String {
    let kernel = &*legalise(kernel);
    let reductions = reductions(kernel);
    let mut w = Writer::default();
    let [count, source, rest] = [(); 3].map(|()| w.temporary(Class::B64));
    let [number, thread, block, row] = [(); 4].map(|()| w.temporary(Class::B32));
    let none = w.temporary(Class::Pred);
    w.shared_words = FOLDED;
    ptx!(w, "mov.u32 {thread}, %tid.x");
    ptx!(w, "mov.u32 {block}, %ctaid.x");
    ptx!(w, "mov.u32 {row}, %ctaid.y");
    ptx!(w, "ld.param.u64 {count}, [params]");
    ptx!(w, "ld.param.u64 {source}, [params+8]");
    // From here on only what this block combines counts.
    ptx!(w, "mul.wide.u32 {rest}, {block}, {FOLDED}");
    ptx!(w, "mad.lo.u64 {source}, {rest}, {}, {source}", 8 * reductions.len());
    ptx!(w, "sub.u64 {rest}, {count}, {rest}");
    ptx!(w, "min.u64 {rest}, {rest}, {FOLDED}");
    ptx!(w, "cvt.u32.u64 {number}, {rest}");
    ptx!(w, "mul.wide.u32 {rest}, {thread}, {}", 8 * reductions.len());
    ptx!(w, "add.u64 {source}, {source}, {rest}");
    let fold = Fold { count, source, number, thread, block, n: reductions.len() };
    for (r, reduction) in (0..).zip(&reductions) {
        let next = w.new_label();
        ptx!(w, "setp.ne.u32 {none}, {row}, {r}");
        ptx!(w, "@{none} bra {next}");
        w.fold(&fold, r, reduction);
        ptx!(w, "ret");
        w.put_label(next);
    }
    w.finish(name, &[format!(".param .align 8 .b8 params[{}]", 8 * (3 + reductions.len()))])
}

/// Registers of the fold.
struct Fold {
    count: Name,
    source: Name,
    number: Name,
    thread: Name,
    block: Name,
    /// Number of reductions.
    n: usize,
}

impl Writer {
    /// `left = combine(left, right)` on partial results.
    fn combine(&mut self, op: ReduceOp, dtype: DType, left: Name, right: Name) {
        self.op(op.combine(), Types::same(dtype), left, [left, right, left]);
    }

    /// The words of one reduction, in shared memory.
    fn fold(&mut self, fold: &Fold, r: usize, &Reduction { op, dtype, stored, .. }: &Reduction) {
        let &Fold { count, source, number, thread, block, n } = fold;
        let (value, other) = (self.temporary_of(dtype), self.temporary_of(dtype));
        let [absent, single] = [(); 2].map(|()| self.temporary(Class::Pred));
        let [slot, partner] = [(); 2].map(|()| self.temporary(Class::B32));
        let (loaded, result) = (self.new_label(), self.new_label());
        ptx!(self, "mov.u32 {slot}, tree");
        ptx!(self, "mad.lo.u32 {slot}, {thread}, 8, {slot}");
        ptx!(self, "setp.ge.u32 {absent}, {thread}, {number}");
        ptx!(self, "@{absent} bra {loaded}");
        self.load(dtype, value, "global", format_args!("{source}+{}", 8 * r));
        self.store_shared(dtype, slot, value);
        self.put_label(loaded);
        let mut distance = 1;
        while distance < FOLDED {
            let skip = self.new_label();
            ptx!(self, "bar.sync 0");
            ptx!(self, "and.b32 {partner}, {thread}, {}", 2 * distance - 1);
            ptx!(self, "setp.ne.u32 {absent}, {partner}, 0");
            ptx!(self, "@{absent} bra {skip}");
            ptx!(self, "add.u32 {partner}, {thread}, {distance}");
            ptx!(self, "setp.ge.u32 {absent}, {partner}, {number}");
            ptx!(self, "@{absent} bra {skip}");
            self.load(dtype, other, "shared", format_args!("{slot}+{}", 8 * distance));
            self.combine(op, dtype, value, other);
            self.store_shared(dtype, slot, value);
            self.put_label(skip);
            distance *= 2;
        }
        ptx!(self, "setp.ne.u32 {absent}, {thread}, 0");
        ptx!(self, "@{absent} ret");
        let address = self.temporary(Class::B64);
        ptx!(self, "setp.le.u64 {single}, {count}, {FOLDED}");
        ptx!(self, "@{single} bra {result}");
        ptx!(self, "ld.param.u64 {address}, [params+16]");
        ptx!(self, "mad.wide.u32 {address}, {block}, {}, {address}", 8 * n);
        self.store_at(dtype, Guard(None), address, 8 * r as u64, value);
        ptx!(self, "ret");
        self.put_label(result);
        ptx!(self, "ld.param.u64 {address}, [params+{}]", 24 + 8 * r);
        let mut last = value;
        if dtype != stored {
            last = self.temporary_of(stored);
            let types = Types { result: stored, operand: dtype };
            self.op(Op::Cast, types, last, [value, value, value]);
        }
        self.store_at(stored, Guard(None), address, 0, last);
    }

    /// A value in its word of shared memory.
    fn store_shared(&mut self, dtype: DType, slot: Name, value: Name) {
        let value = self.stored(dtype, value);
        ptx!(self, "st.shared.{} [{slot}], {value}", super::writer::in_memory(dtype));
    }

    fn combine_halves(&mut self, &Reduction { op, dtype, end, .. }: &Reduction) {
        let (accumulator, other) = (self.accumulator(dtype, end), self.temporary_of(dtype));
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
