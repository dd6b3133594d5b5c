//! Reductions, by the tree of S11.
//!
//! # In a kernel
//!
//! One warp runs one chunk of 4096 lanes. Thread t takes lanes t, t + 32, t + 64, … of the chunk in
//! order, so its accumulator is number t of S11: lane j goes to accumulator j mod 32, in order of j.
//! Several of them are in flight as long as there are so many, then one after the other to the first lane
//! beyond the chunk or the launch: the missing lanes would hold the identity, and combining with an identity
//! changes no bits, so leaving them out is the same.
//!
//! Then accumulator i takes accumulator i + 16, then i + 8, 4, 2, 1, by shuffles. Accumulators that
//! have no partner combine with themselves, which is never read. Thread 0 writes the chunk's result.
//!
//! # Between chunks
//!
//! Chunk c (by lane number, also of a split launch) writes the result of the r-th of R reductions to scratch
//! word `c * R + r`; the only chunk of a launch writes the results themselves. The kernel of [`fold_of`],
//! launched behind it, reduces the tree above, whose nodes have [`FOLDED`] children: a warp combines the words of
//! a node, neighbours first, leaves the result among the words of the next level, which follow, and counts
//! itself at the counter of the node there. The last warp to count goes on with that node. Counters
//! lie before the scratch words of the launch, the first next to them, and are 0 between launches. Which warp goes on
//! differs from run to run, what it computes does not.
//!
//! Of a launch that runs some chunks of more, the fold combines those of a subtree at a time ([`cover_of`]), whose words
//! begin as many bytes behind the counters as its lane base says.
//!
//! Chunks do not count themselves: that is a wait of a microsecond for each, a tenth of what a sum takes.
#![deny(clippy::wildcard_enum_match_arm)]

use super::op::Types;
use super::sharing::{CHUNK, LANES_PER_WARP, Sharing};
use super::writer::{Class, Guard, Name, Writer, ptx, untyped};
use super::{Lowering, Target};
use crate::dtype::DType;
use crate::ir::kernel::{
    BufferIndex, BufferParam, Code, Inst, Kernel, LiteralMode, Reduction, Reg, WORD_CHUNKS,
    WORD_LANE_BASE, WORD_SCRATCH, WORD_SIZE,
};
use crate::ir::legal::legalise;
use crate::ir::op::{Op, ReduceOp};
use crate::ir::scalar::identity_bits;

/// Words that a warp combines at once: children of a node of the tree above the chunks.
pub const FOLDED: u64 = 8 * LANES_PER_WARP;
/// Words that a thread combines, all on the way at once.
const WORDS: u32 = 8;

/// Scratch words and counters of the tree above a number of chunks with several results each.
pub fn tree_size(n_chunks: u64, n_results: u64) -> (u64, u64) {
    let (mut words, mut counters, mut level) = (n_chunks, 0, n_chunks.div_ceil(FOLDED));
    while level > 1 {
        words += level;
        level = level.div_ceil(FOLDED);
        counters += level;
    }
    (words * n_results, counters)
}

fn result_type(op: ReduceOp, dtype: DType) -> DType {
    op.result(dtype).expect("internal error: reduction of a type that it does not take")
}

impl Lowering<'_> {
    /// The body for one warp a chunk.
    pub(super) fn chunk(&mut self) {
        self.enter_chunk();
        self.uniform_insts();
        let reductions: Vec<Reduction> = self.kernel.reductions().collect();
        for &Reduction { op, dtype, number, .. } in &reductions {
            let accumulator = self.writer.accumulator(dtype, number);
            self.writer.set(dtype, accumulator, identity_bits(op, dtype));
        }
        let base = self.word(WORD_LANE_BASE);
        let w = &mut self.writer;
        let [lane, offset] = ["lane", "offset"].map(|name| w.special(name));
        ptx!(w, "add.u64 {lane}, {base}, {offset}");
        let are_several = self.lanes > 1;
        if are_several {
            self.rows(are_several);
            self.lanes = 1;
        }
        self.rows(are_several);
        for reduction in &reductions {
            self.writer.release_temporaries();
            self.writer.combine_halves(reduction);
        }
        self.writer.release_temporaries();
        self.leave_chunk(&reductions);
    }

    /// Sets `%offset` to the thread's first lane and `%end` behind the chunk's last one.
    ///
    /// Warps without a chunk leave as a whole: the shuffles later need all threads of the others.
    fn enter_chunk(&mut self) {
        let n = self.word(WORD_SIZE);
        let w = &mut self.writer;
        let [thread, chunk] = ["thread", "chunk"].map(|name| w.special(name));
        let [offset, end] = ["offset", "end"].map(|name| w.special(name));
        let first = w.enter_warp(thread, chunk, CHUNK, n);
        ptx!(w, "add.u64 {offset}, {first}, {thread}");
        ptx!(w, "add.u64 {end}, {first}, {CHUNK}");
        ptx!(w, "min.u64 {end}, {end}, {n}");
    }

    /// The lanes of a thread that are left, `self.lanes` of them at a time as long as there are so many. Where several
    /// are in flight, the compiler would take several times as long for several turns in one.
    fn rows(&mut self, are_several: bool) {
        self.values.truncate(self.kernel.n_uniform);
        self.numbers.clear();
        self.pointers.clear();
        let w = &mut self.writer;
        let [lane, offset, end] = ["lane", "offset", "end"].map(|name| w.special(name));
        let (again, done) = (w.new_label(), w.new_label());
        let step = u64::from(self.lanes) * LANES_PER_WARP;
        w.put_label(again);
        if are_several {
            ptx!(w, ".pragma \"nounroll\"");
        }
        let (beyond, mut last) = (w.temporary(Class::Pred), offset);
        if self.lanes > 1 {
            last = w.temporary(Class::B64);
            ptx!(w, "add.u64 {last}, {offset}, {}", step - LANES_PER_WARP);
        }
        ptx!(w, "setp.ge.u64 {beyond}, {last}, {end}");
        ptx!(w, "@{beyond} bra {done}");
        self.lane_insts();
        ptx!(self.writer, "add.u64 {offset}, {offset}, {step}");
        ptx!(self.writer, "add.u64 {lane}, {lane}, {step}");
        ptx!(self.writer, "bra {again}");
        self.writer.put_label(done);
    }

    /// Combines the lanes in flight into the accumulator of the write `number`.
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

    /// Writes a chunk's results where the fold finds them, or where they are wanted if it is the only chunk.
    fn leave_chunk(&mut self, reductions: &[Reduction]) {
        let [base, words, count] =
            [WORD_LANE_BASE, WORD_SCRATCH, WORD_CHUNKS].map(|it| self.word(it));
        let w = &mut self.writer;
        let [thread, number] = ["thread", "chunk"].map(|name| w.special(name));
        let [follows, single] = [(); 2].map(|()| w.temporary(Class::Pred));
        let result = w.new_label();
        ptx!(w, "setp.ne.u64 {follows}, {thread}, 0");
        ptx!(w, "@{follows} ret");
        ptx!(w, "setp.eq.u64 {single}, {count}, 1");
        ptx!(w, "@{single} bra {result}");
        ptx!(w, "shr.u64 {base}, {base}, {}", CHUNK.ilog2());
        ptx!(w, "add.u64 {number}, {number}, {base}");
        w.store_words(reductions, number, words);
        ptx!(w, "ret");
        w.put_label(result);
        self.store_results(reductions);
    }

    /// The body of the fold: a warp for each node above the chunks, and on from there.
    fn reduce_tree(&mut self) {
        let reductions: Vec<Reduction> = self.kernel.reductions().collect();
        let n = 8 * reductions.len() as u64;
        let [words, count, before] =
            [WORD_SCRATCH, WORD_CHUNKS, WORD_LANE_BASE].map(|it| self.word(it));
        let w = &mut self.writer;
        let [thread, node] = ["thread", "node"].map(|name| w.special(name));
        let first = w.enter_warp(thread, node, FOLDED, count);
        let [counters, address, number] = [(); 3].map(|()| w.temporary(Class::B64));
        let [arrived, others] = [(); 2].map(|()| w.temporary(Class::B32));
        let [follows, done] = [(); 2].map(|()| w.temporary(Class::Pred));
        let (level, told, result) = (w.new_label(), w.new_label(), w.new_label());
        ptx!(w, "setp.ne.u64 {follows}, {thread}, 0");
        ptx!(w, "sub.u64 {counters}, {words}, {before}");
        ptx!(w, "sub.u64 {counters}, {counters}, 4");
        w.put_label(level);
        ptx!(w, "shl.b64 {first}, {node}, {}", FOLDED.ilog2());
        ptx!(w, "mad.lo.u64 {first}, {thread}, {WORDS}, {first}");
        ptx!(w, "mad.lo.u64 {address}, {first}, {n}, {words}");
        // How many of the thread's words there are: at most 0 where its first is not.
        ptx!(w, "sub.u64 {first}, {count}, {first}");
        let kept = w.mark();
        for (r, reduction) in (0..).zip(&reductions) {
            w.fold(reduction, address, r, n, first);
            w.release_to(kept);
        }
        ptx!(w, "mad.lo.u64 {words}, {count}, {n}, {words}");
        ptx!(w, "add.u64 {count}, {count}, {}", FOLDED - 1);
        ptx!(w, "shr.u64 {count}, {count}, {}", FOLDED.ilog2());
        ptx!(w, "setp.eq.u64 {done}, {count}, 1");
        ptx!(w, "@{done} bra {result}");
        ptx!(w, "mov.u64 {number}, {node}");
        ptx!(w, "shr.u64 {node}, {number}, {}", FOLDED.ilog2());
        ptx!(w, "mov.u32 {arrived}, 0");
        ptx!(w, "@{follows} bra {told}");
        w.store_words(&reductions, number, words);
        // Whoever sees the count sees the words.
        ptx!(w, "membar.gl");
        ptx!(w, "shl.b64 {first}, {node}, {}", FOLDED.ilog2());
        ptx!(w, "sub.u64 {first}, {count}, {first}");
        ptx!(w, "min.u64 {first}, {first}, {FOLDED}");
        ptx!(w, "cvt.u32.u64 {others}, {first}");
        ptx!(w, "sub.u32 {others}, {others}, 1");
        ptx!(w, "shl.b64 {address}, {node}, 2");
        ptx!(w, "sub.u64 {address}, {counters}, {address}");
        // The last one makes it 0 again.
        ptx!(w, "atom.global.inc.u32 {arrived}, [{address}], {others}");
        ptx!(w, "setp.eq.u32 {done}, {arrived}, {others}");
        ptx!(w, "selp.u32 {arrived}, 1, 0, {done}");
        w.put_label(told);
        ptx!(w, "shfl.sync.idx.b32 {arrived}, {arrived}, 0, 0x1f, 0xffffffff");
        ptx!(w, "setp.eq.u32 {done}, {arrived}, 0");
        ptx!(w, "@{done} ret");
        // What the first thread has seen by the count, the others see behind the barrier.
        ptx!(w, "bar.warp.sync 0xffffffff");
        ptx!(w, "membar.gl");
        ptx!(w, "add.u64 {first}, {count}, {}", FOLDED - 1);
        ptx!(w, "shr.u64 {first}, {first}, {}", FOLDED.ilog2());
        ptx!(w, "shl.b64 {first}, {first}, 2");
        ptx!(w, "sub.u64 {counters}, {counters}, {first}");
        ptx!(w, "bra {level}");
        w.put_label(result);
        ptx!(w, "@{follows} ret");
        self.store_results(&reductions);
    }

    fn store_results(&mut self, reductions: &[Reduction]) {
        for reduction in reductions {
            self.writer.release_temporaries();
            self.store_result(reduction);
        }
    }

    fn store_result(&mut self, &Reduction { dtype, stored, number, buffer, .. }: &Reduction) {
        let address = self.buffer(buffer);
        let w = &mut self.writer;
        let mut result = w.accumulator(dtype, number);
        if dtype != stored {
            let types = Types { result: stored, operand: dtype };
            let last = w.temporary_of(stored);
            w.op(Op::Cast, types, last, [result, result, result]);
            result = last;
        }
        w.store_at(stored, Guard(None), address, 0, result);
    }
}

/// The kernel that combines what the chunks of another left: its buffers are the results, in the order of the
/// reductions. It is the same for all that reduce alike.
pub fn fold_of(kernel: &Kernel) -> Kernel {
    let reductions = kernel.writes().filter_map(|(_, inst)| {
        let Code::Reduce { op, .. } = inst.code else { return None };
        Some((op, kernel.dtype(inst.arg(0)), inst.dtype))
    });
    fold(kernel, &reductions.collect::<Vec<_>>())
}

/// The same for some of the chunks, whose results go on as they are: f16 rounds where all have come together.
pub(in super::super) fn cover_of(kernel: &Kernel) -> Kernel {
    let legal = legalise(kernel);
    let reductions = legal.writes().filter_map(|(_, inst)| {
        let Code::Reduce { op, .. } = inst.code else { return None };
        let lane = legal.dtype(inst.arg(0));
        Some((op, lane, result_type(op, lane)))
    });
    fold(kernel, &reductions.collect::<Vec<_>>())
}

/// A fold of reductions, each of a type of lanes, stored as another.
fn fold(kernel: &Kernel, reductions: &[(ReduceOp, DType, DType)]) -> Kernel {
    let inst = |code, dtype, arg| Inst { code, dtype, args: [arg, None, None], serial: 0 };
    let lanes = reductions.iter().map(|&(_, lane, _)| inst(Code::Constant(0), lane, None));
    let write = |(number, &(op, _, stored)): (u32, &(ReduceOp, DType, DType))| {
        let buffer = BufferIndex(number);
        inst(Code::Reduce { op, buffer }, stored, Some(Reg(number)))
    };
    let buffer = |&(_, _, dtype): &(ReduceOp, DType, DType)| BufferParam {
        dtype,
        written: true,
        length: None,
        anywhere: false,
    };
    Kernel {
        insts: lanes.chain((0..).zip(reductions).map(write)).collect(),
        n_uniform: 0,
        first_write: reductions.len(),
        buffers: reductions.iter().map(buffer).collect(),
        literals: Vec::new(),
        accesses: Vec::new(),
        n_ops: 0,
        fast_math: kernel.fast_math,
        variant: 0,
        hash: kernel.hash,
    }
}

/// An entry called `name` with the code of [`fold_of`], launched with a warp for each [`FOLDED`] chunks, where there
/// are several.
pub fn lower_fold(fold: &Kernel, target: Target, name: &str) -> String {
    let fold = &*legalise(fold);
    let sharing = Sharing::of_legal(fold);
    let lowering = Lowering::new(fold, LiteralMode::Parameter, target, sharing, None);
    lowering.entry(name, Lowering::reduce_tree)
}

impl Writer {
    /// `thread = ` its number in its warp, `warp = ` the warp's in the launch; the first of the `share` items that
    /// are the warp's. Warps without one of the `n` items leave as a whole.
    fn enter_warp(&mut self, thread: Name, warp: Name, share: u64, n: Name) -> Name {
        let (first, none) = (self.temporary(Class::B64), self.temporary(Class::Pred));
        self.thread_number(thread);
        ptx!(self, "shr.u64 {warp}, {thread}, {}", LANES_PER_WARP.ilog2());
        ptx!(self, "and.b64 {thread}, {thread}, {}", LANES_PER_WARP - 1);
        ptx!(self, "shl.b64 {first}, {warp}, {}", share.ilog2());
        ptx!(self, "setp.ge.u64 {none}, {first}, {n}");
        ptx!(self, "@{none} ret");
        first
    }

    /// Writes the words of a chunk or a node.
    fn store_words(&mut self, reductions: &[Reduction], position: Name, words: Name) {
        let address = self.temporary(Class::B64);
        let n = 8 * reductions.len() as u64;
        ptx!(self, "mad.lo.u64 {address}, {position}, {n}, {words}");
        for (r, &Reduction { dtype, number, .. }) in (0..).zip(reductions) {
            let accumulator = self.accumulator(dtype, number);
            self.store_at(dtype, Guard(None), address, 8 * r, accumulator);
        }
    }

    /// `left = combine(left, right)` on partial results.
    fn combine(&mut self, op: ReduceOp, dtype: DType, left: Name, right: Name) {
        self.op(op.combine(), Types::same(dtype), left, [left, right, left]);
    }

    /// Combines the words of one reduction that a warp's threads find from `address` on, `left` of them at most:
    /// those of a thread, then those of the threads.
    fn fold(&mut self, reduction: &Reduction, address: Name, r: u64, distance: u64, left: Name) {
        let &Reduction { op, dtype, number, .. } = reduction;
        let values: Vec<Name> = (0..WORDS).map(|_| self.temporary_of(dtype)).collect();
        for (i, &value) in (0..).zip(&values) {
            let there = self.temporary(Class::Pred);
            ptx!(self, "setp.gt.s64 {there}, {left}, {i}");
            self.load_shared_word(dtype, value, there, address, distance * i + 8 * r, op);
        }
        let mut step = 1;
        while step < values.len() {
            for pair in values.chunks(2 * step) {
                self.combine(op, dtype, pair[0], pair[step]);
            }
            step *= 2;
        }
        let accumulator = self.accumulator(dtype, number);
        ptx!(self, "mov.{} {accumulator}, {}", untyped(dtype), values[0]);
        let other = self.temporary_of(dtype);
        let mut distance = 1;
        while distance < LANES_PER_WARP {
            self.shuffle_down(dtype, other, accumulator, distance);
            self.combine(op, dtype, accumulator, other);
            distance *= 2;
        }
    }

    /// A word that another warp may have written, or the identity.
    fn load_shared_word(
        &mut self,
        dtype: DType,
        d: Name,
        there: Name,
        address: Name,
        offset: u64,
        op: ReduceOp,
    ) {
        let identity = identity_bits(op, dtype);
        if dtype == DType::Mask {
            let byte = self.temporary(Class::B32);
            ptx!(self, "mov.u32 {byte}, {identity}");
            ptx!(self, "@{there} ld.relaxed.gpu.global.u8 {byte}, [{address}+{offset}]");
            ptx!(self, "setp.ne.u32 {d}, {byte}, 0");
        } else {
            self.set(dtype, d, identity);
            let t = dtype.ptx();
            ptx!(self, "@{there} ld.relaxed.gpu.global.{t} {d}, [{address}+{offset}]");
        }
    }

    fn combine_halves(&mut self, &Reduction { op, dtype, number, .. }: &Reduction) {
        let (accumulator, other) = (self.accumulator(dtype, number), self.temporary_of(dtype));
        let mut half = LANES_PER_WARP / 2;
        while half > 0 {
            self.shuffle_down(dtype, other, accumulator, half);
            self.combine(op, dtype, accumulator, other);
            half /= 2;
        }
    }

    /// `d = ` the `a` of the thread `by` further on. Shuffles move 32 bits.
    fn shuffle_down(&mut self, dtype: DType, d: Name, a: Name, by: u64) {
        match (dtype, dtype.bytes()) {
            (DType::Mask, _) => {
                let bit = self.temporary(Class::B32);
                ptx!(self, "selp.u32 {bit}, 1, 0, {a}");
                self.shuffle_word(bit, bit, by);
                ptx!(self, "setp.ne.u32 {d}, {bit}, 0");
            }
            (_, 4) => self.shuffle_word(d, a, by),
            (_, bytes) => {
                assert_eq!(bytes, 8, "internal error: {dtype} is reduced in 32 bits");
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
