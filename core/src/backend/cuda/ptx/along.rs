//! Entries for reductions along the middle axis of lanes `[outer, extent, inner]`, in the order of S11.
//!
//! A chunk along the axis has 32 accumulators for each column beside it, and a thread is one of them: neighbouring
//! threads have neighbouring columns, as far as there are some. The accumulators of a column combine by halves in
//! shared memory; where a column has several chunks, these fold pairwise. Of a short axis a thread has a whole column.
#![deny(clippy::wildcard_enum_match_arm)]

use super::op::Types;
use super::scan::params;
use super::writer::{Class, Guard, Name, Writer, ptx, untyped};
use crate::dtype::DType;
use crate::ir::op::{Op, ReduceOp};
use crate::ir::scalar::identity_bits;

/// Entries of a chunk along the axis.
pub(in super::super) const CHUNK: u64 = 4096;
/// Chunks that a thread folds.
pub(in super::super) const FOLDED: u64 = 16;
/// The most entries along an axis that a thread combines by itself.
pub(in super::super) const SHORT: u64 = 32;
/// Accumulators of a column in a chunk.
const ACCUMULATORS: u32 = 32;
/// Threads of a block, unless its columns need more.
const THREADS: u32 = 256;
/// Loads of a thread in flight.
const LOADS: u64 = 8;

/// How many columns a block has: a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Columns(u32);

impl Columns {
    /// All numbers of columns that blocks have.
    pub const ALL: [Self; 6] = [Self(1), Self(2), Self(4), Self(8), Self(16), Self(32)];

    /// For so many columns beside each other: a warp of them at most.
    pub fn of(inner: u64) -> Self {
        let [.., most] = Self::ALL;
        Self::ALL.into_iter().find(|columns| columns.number() >= inner).unwrap_or(most)
    }

    /// How many.
    pub const fn number(self) -> u64 {
        self.0 as u64
    }

    /// Threads of a block.
    pub(super) fn threads(self) -> u32 {
        THREADS.max(ACCUMULATORS * self.0)
    }

    /// Chunks of a block: several where a row is short.
    pub fn chunks(self) -> u64 {
        u64::from(self.threads() / (ACCUMULATORS * self.0))
    }
}

/// How two results combine.
#[derive(Clone, Copy)]
struct Combine {
    op: ReduceOp,
    /// As in memory; truth values are bytes.
    dtype: DType,
}

impl Combine {
    /// Bits that change nothing.
    fn nothing(self) -> u64 {
        let is_truth = self.dtype == DType::U8;
        identity_bits(self.op, if is_truth { DType::Mask } else { self.dtype.widened() })
    }
}

/// Words of parameters: address of the lanes, extent, columns, chunks of a column, blocks of columns, chunks in all,
/// address of what becomes the results of the chunks, address of the factors, if entries have some.
pub(super) fn chunks(
    (op, dtype, is_weighted): (ReduceOp, DType, bool),
    columns: Columns,
    name: &str,
) -> String {
    let mut w = Writer::default();
    let combine = Combine { op, dtype };
    w.shared_words = columns.threads();
    let [x, extent, inner, n_chunks, n_blocks, n, target] =
        [0, 1, 2, 3, 4, 5, 6].map(|word| w.param(word));
    let [thread, block, divisor, quotient, accumulator, left] =
        [(); 6].map(|()| w.temporary(Class::B32));
    let [chunk, column, place, rest, step] = [(); 5].map(|()| w.temporary(Class::B64));
    let [idle, there] = [(); 2].map(|()| w.temporary(Class::Pred));
    let [again, done] = [(); 2].map(|()| w.new_label());
    let sum = w.temporary_of(dtype);
    w.set(dtype.widened(), sum, combine.nothing());
    ptx!(w, "mov.u32 {thread}, %tid.x");
    ptx!(w, "mov.u32 {block}, %ctaid.x");
    // Where a block has several chunks, all columns are in one block.
    ptx!(w, "cvt.u32.u64 {divisor}, {n_blocks}");
    ptx!(w, "div.u32 {quotient}, {block}, {divisor}");
    ptx!(w, "mul.lo.u32 {divisor}, {quotient}, {divisor}");
    ptx!(w, "sub.u32 {block}, {block}, {divisor}");
    ptx!(w, "and.b32 {left}, {thread}, {}", columns.0 - 1);
    ptx!(w, "cvt.u64.u32 {column}, {left}");
    ptx!(w, "mad.wide.u32 {column}, {block}, {}, {column}", columns.0);
    ptx!(w, "shr.u32 {accumulator}, {thread}, {}", columns.0.ilog2());
    ptx!(w, "shr.u32 {left}, {accumulator}, {}", ACCUMULATORS.ilog2());
    ptx!(w, "and.b32 {accumulator}, {accumulator}, {}", ACCUMULATORS - 1);
    ptx!(w, "cvt.u64.u32 {chunk}, {left}");
    ptx!(w, "mad.wide.u32 {chunk}, {quotient}, {}, {chunk}", columns.chunks());
    ptx!(w, "setp.ge.u64 {idle}, {chunk}, {n}");
    ptx!(w, "setp.ge.u64 {there}, {column}, {inner}");
    ptx!(w, "or.pred {idle}, {idle}, {there}");
    ptx!(w, "@{idle} bra {done}");
    // The first entry of the accumulator, along the axis; the places of factors are those along the axis.
    ptx!(w, "div.u64 {rest}, {chunk}, {n_chunks}");
    ptx!(w, "mul.lo.u64 {place}, {rest}, {n_chunks}");
    ptx!(w, "sub.u64 {place}, {chunk}, {place}");
    ptx!(w, "shl.b64 {place}, {place}, {}", CHUNK.ilog2());
    ptx!(w, "mad.wide.u32 {place}, {accumulator}, 1, {place}");
    let factors = is_weighted.then(|| {
        let factors = w.param(7);
        w.element_address(dtype, factors, place)
    });
    ptx!(w, "mul.lo.u64 {rest}, {rest}, {extent}");
    ptx!(w, "add.u64 {rest}, {rest}, {place}");
    ptx!(w, "mad.lo.u64 {rest}, {rest}, {inner}, {column}");
    let address = w.element_address(dtype, x, rest);
    // Entries from there to the end of the axis, or as many as a chunk has, and bytes from one of the accumulator to the next.
    ptx!(w, "sub.u64 {place}, {extent}, {place}");
    ptx!(w, "min.s64 {place}, {place}, {CHUNK}");
    ptx!(w, "cvt.u32.u64 {left}, {place}");
    ptx!(w, "mul.lo.u64 {step}, {inner}, {}", ACCUMULATORS as usize * dtype.bytes());
    w.put_label(again);
    ptx!(w, "setp.le.s32 {there}, {left}, 0");
    ptx!(w, "@{there} bra {done}");
    let is_there = |w: &mut Writer, i: u64| {
        let there = w.temporary(Class::Pred);
        ptx!(w, "setp.gt.s32 {there}, {left}, {}", u64::from(ACCUMULATORS) * i);
        there
    };
    let entries = w.entries(combine, LOADS, address, step, is_there);
    if let Some(factors) = factors {
        let each = u64::from(ACCUMULATORS) * dtype.bytes() as u64;
        w.weigh(combine, &entries, factors, each, is_there);
    }
    for entry in entries {
        w.pair(combine, sum, entry);
    }
    ptx!(w, "sub.s32 {left}, {left}, {}", LOADS * u64::from(ACCUMULATORS));
    ptx!(w, "bra {again}");
    w.put_label(done);
    w.halve(combine, columns, (thread, accumulator), sum);
    ptx!(w, "@{idle} ret");
    ptx!(w, "setp.ne.u32 {there}, {accumulator}, 0");
    ptx!(w, "@{there} ret");
    ptx!(w, "mad.lo.u64 {chunk}, {chunk}, {inner}, {column}");
    let address = w.element_address(dtype, target, chunk);
    w.store(dtype, Guard(None), address, sum);
    w.finish(name, &[params(8)])
}

/// Words of parameters: number of results, address of those of the chunks, chunks of a column, columns, results of a
/// column, address of what becomes the results. A thread has one.
pub(super) fn fold(op: ReduceOp, dtype: DType, name: &str) -> String {
    with_threads((op, dtype, false), FOLDED, name, |w, combine, words| {
        let mut distance = 1;
        while distance < words.len() {
            for pair in words.chunks(2 * distance) {
                w.pair(combine, pair[0], pair[distance]);
            }
            distance *= 2;
        }
    })
}

/// As [`fold`], of the entries of axes that are no longer than there are accumulators; results of a column are 1. Behind
/// the other words the address of the factors, if entries have some.
pub(super) fn short((op, dtype, is_weighted): (ReduceOp, DType, bool), name: &str) -> String {
    with_threads((op, dtype, is_weighted), SHORT, name, |w, combine, entries| {
        let mut half = entries.len() / 2;
        while half > 0 {
            for i in 0..half {
                w.pair(combine, entries[i], entries[i + half]);
            }
            half /= 2;
        }
    })
}

/// An entry in which a thread combines so many words or entries to a result.
fn with_threads(
    (op, dtype, is_weighted): (ReduceOp, DType, bool),
    n: u64,
    name: &str,
    tree: impl Fn(&mut Writer, Combine, &[Name]),
) -> String {
    let mut w = Writer::default();
    let combine = Combine { op, dtype };
    let result = w.lane_of_thread();
    let [x, n_chunks, inner, n_results, target] = [1, 2, 3, 4, 5].map(|word| w.param(word));
    let [column, outer, first, rest, step] = [(); 5].map(|()| w.temporary(Class::B64));
    ptx!(w, "div.u64 {rest}, {result}, {inner}");
    ptx!(w, "mul.lo.u64 {column}, {rest}, {inner}");
    ptx!(w, "sub.u64 {column}, {result}, {column}");
    ptx!(w, "div.u64 {outer}, {rest}, {n_results}");
    ptx!(w, "mul.lo.u64 {first}, {outer}, {n_results}");
    ptx!(w, "sub.u64 {first}, {rest}, {first}");
    ptx!(w, "shl.b64 {first}, {first}, {}", n.ilog2());
    ptx!(w, "mad.lo.u64 {rest}, {outer}, {n_chunks}, {first}");
    ptx!(w, "mad.lo.u64 {rest}, {rest}, {inner}, {column}");
    let address = w.element_address(dtype, x, rest);
    ptx!(w, "sub.u64 {first}, {n_chunks}, {first}");
    ptx!(w, "mul.lo.u64 {step}, {inner}, {}", dtype.bytes());
    let is_there = |w: &mut Writer, i: u64| {
        let there = w.temporary(Class::Pred);
        ptx!(w, "setp.gt.s64 {there}, {first}, {i}");
        there
    };
    let words = w.entries(combine, n, address, step, is_there);
    if is_weighted {
        // The only result of a column begins with the axis.
        let factors = w.param(6);
        w.weigh(combine, &words, factors, dtype.bytes() as u64, is_there);
    }
    tree(&mut w, combine, &words);
    let address = w.element_address(dtype, target, result);
    w.store(dtype, Guard(None), address, words[0]);
    w.finish(name, &[params(if is_weighted { 7 } else { 6 })])
}

impl Writer {
    /// So many entries from an address on, which moves behind them; identities where there are none.
    fn entries(
        &mut self,
        combine: Combine,
        n: u64,
        address: Name,
        step: Name,
        is_there: impl Fn(&mut Self, u64) -> Name,
    ) -> Vec<Name> {
        let Combine { dtype, .. } = combine;
        let t = dtype.ptx();
        let entry = |i| {
            let entry = self.temporary_of(dtype);
            let there = is_there(self, i);
            self.set(dtype.widened(), entry, combine.nothing());
            ptx!(self, "@{there} ld.global.nc.{t} {entry}, [{address}]");
            ptx!(self, "add.u64 {address}, {address}, {step}");
            entry
        };
        (0..n).map(entry).collect()
    }

    /// Multiplies entries by factors, of which one follows the other in so many bytes; the address moves behind them.
    fn weigh(
        &mut self,
        Combine { dtype, .. }: Combine,
        entries: &[Name],
        factors: Name,
        bytes: u64,
        is_there: impl Fn(&mut Self, u64) -> Name,
    ) {
        let (t, one) = (dtype.ptx(), identity_bits(ReduceOp::Prod, dtype));
        for (i, &entry) in (0..).zip(entries) {
            let (factor, there) = (self.temporary_of(dtype), is_there(self, i));
            // What adds nothing does so still.
            self.set(dtype, factor, one);
            ptx!(self, "@{there} ld.global.nc.{t} {factor}, [{factors}]");
            ptx!(self, "add.u64 {factors}, {factors}, {bytes}");
            self.op(Op::Mul, Types::same(dtype), entry, [entry, factor, entry]);
        }
    }

    /// `left = combine(left, right)`.
    fn pair(&mut self, Combine { op, dtype }: Combine, left: Name, right: Name) {
        self.op(op.combine(), Types::same(dtype.widened()), left, [left, right, left]);
    }

    /// The first accumulator of each column becomes the combination of all.
    fn halve(
        &mut self,
        combine: Combine,
        columns: Columns,
        (thread, accumulator): (Name, Name),
        sum: Name,
    ) {
        let wide = combine.dtype.widened();
        let (slot, lower) = (self.temporary(Class::B32), self.temporary(Class::Pred));
        let other = self.temporary_of(wide);
        ptx!(self, "mov.u32 {slot}, words");
        ptx!(self, "mad.lo.u32 {slot}, {thread}, 8, {slot}");
        let mut storing = Guard(None);
        let mut half = ACCUMULATORS / 2;
        while half > 0 {
            let distance = 8 * half * columns.0;
            ptx!(self, "{storing}st.shared.{} [{slot}], {sum}", wide.ptx());
            ptx!(self, "bar.sync 0");
            // Those of the upper half are read while those of the lower one are stored.
            ptx!(self, "setp.lt.u32 {lower}, {accumulator}, {half}");
            ptx!(self, "mov.{} {other}, {sum}", untyped(wide));
            ptx!(self, "@{lower} ld.shared.{} {other}, [{slot}+{distance}]", wide.ptx());
            self.pair(combine, sum, other);
            storing = Guard(Some(lower));
            half /= 2;
        }
    }
}
