//! Entries for prefix sums, products and extremes, in the order of S11, and for the numbers of true lanes.
//!
//! A block of [`THREADS`] threads runs a chunk of [`CHUNK`] lanes, a thread a run of [`RUN`] neighbours. The
//! totals of the runs double in shared memory as `backend/primitive/scan.rs` says: `t[k] += t[k - d]` for
//! d = 1, 2, 4 …. Where there is no `t[k - d]`, an identity is combined, which changes no bits.
//!
//! A run with a lane below the end is loaded and stored whole: what it has beyond lies within the arrays'
//! blocks, whose sizes are multiples of 64 bytes, and reaches no lane before.
#![deny(clippy::wildcard_enum_match_arm)]

use super::op::Types;
use super::writer::{Class, Guard, Name, Writer, ptx, untyped};
use crate::dtype::DType;
use crate::ir::op::{Op, ReduceOp};
use crate::ir::scalar::identity_bits;

/// Lanes of a chunk.
pub(in super::super) const CHUNK: u64 = 1024;
/// Neighbouring lanes of a thread.
const RUN: u32 = 8;
/// Threads of a block.
pub(super) const THREADS: u32 = 128;
/// The longest distance of the doubling.
const LONGEST: u32 = THREADS / 2;
/// Words of shared memory for one set of totals: the identities before them, and they.
const WORDS: u32 = LONGEST + THREADS;

/// The operation that combines two lanes, and their type.
#[derive(Clone, Copy)]
struct Combine {
    op: Op,
    dtype: DType,
    /// Bits that change nothing, of the widened type.
    nothing: u64,
}

impl Combine {
    fn new(op: ReduceOp, dtype: DType) -> Self {
        Self { op: op.combine(), dtype, nothing: identity_bits(op, dtype.widened()) }
    }

    /// Numbers of true lanes.
    fn counts() -> Self {
        Self::new(ReduceOp::Sum, DType::U32)
    }
}

/// The position of a thread in a launch.
#[derive(Clone, Copy)]
struct Position {
    block: Name,
    thread: Name,
    /// Number of the run's first lane.
    lane: Name,
}

/// Words of parameters: number of lanes, their address, the address of what becomes the sum or product of
/// each chunk. One block a chunk, all of whose lanes there are.
pub(super) fn chunk_totals(op: ReduceOp, dtype: DType, name: &str) -> String {
    let mut w = Writer::default();
    let combine = Combine::new(op, dtype);
    let position = w.position_in_chunk();
    let [x, totals] = [1, 2].map(|word| w.param(word));
    let run = w.load_run(dtype, x, position.lane);
    w.sum_run(combine, run);
    w.double(combine, position, run.next(RUN - 1));
    w.store_total(dtype, totals, position, run.next(RUN - 1));
    w.finish(name, &[params(3)])
}

/// Words of parameters: number of lanes, their address, the address of the prefix sums of the totals of
/// chunks, which the first chunk does not need, the address of the result. One block a chunk.
pub(super) fn prefix(op: ReduceOp, dtype: DType, name: &str) -> String {
    let mut w = Writer::default();
    let combine = Combine::new(op, dtype);
    let position = w.position_in_chunk();
    let [n, x, before, result] = [0, 1, 2, 3].map(|word| w.param(word));
    let (beyond, loaded) = (w.temporary(Class::Pred), w.new_label());
    let run = w.values(dtype, 0, RUN);
    w.set(dtype.widened(), run.next(RUN - 1), combine.nothing);
    ptx!(w, "setp.ge.u64 {beyond}, {}, {n}", position.lane);
    ptx!(w, "@{beyond} bra {loaded}");
    w.load_run(dtype, x, position.lane);
    w.sum_run(combine, run);
    w.put_label(loaded);
    let total = w.temporary_of(dtype);
    ptx!(w, "mov.{} {total}, {}", untyped(dtype), run.next(RUN - 1));
    let in_chunk = w.double(combine, position, total);
    ptx!(w, "@{beyond} ret");
    let before = w.load_before(dtype, combine.nothing, before, position);
    for sum in (0..RUN).map(|i| run.next(i)) {
        w.combine_lanes(combine, sum, in_chunk, sum);
        w.combine_lanes(combine, sum, before, sum);
    }
    w.store_run(dtype, result, position.lane, run);
    w.finish(name, &[params(4)])
}

/// Words of parameters: number of lanes of a mask, their address, the address of what becomes the numbers
/// of true ones (u64). One block a chunk.
pub(super) fn count_true(name: &str) -> String {
    let mut w = Writer::default();
    let position = w.position_in_chunk();
    let [n, mask, counts] = [0, 1, 2].map(|word| w.param(word));
    let (_, count) = w.truths(mask, n, position.lane);
    w.double(Combine::counts(), position, count);
    let wide = w.temporary(Class::B64);
    ptx!(w, "cvt.u64.u32 {wide}, {count}");
    w.store_total(DType::U64, counts, position, wide);
    w.finish(name, &[params(3)])
}

/// Words of parameters: number of lanes of a mask, their address, the address of the prefix sums of the
/// counts, which the first chunk does not need, the address of the numbers of the true lanes, which are
/// of type `number`. One block a chunk.
pub(super) fn place_true(number: DType, name: &str) -> String {
    let mut w = Writer::default();
    let position = w.position_in_chunk();
    let [n, mask, before, result] = [0, 1, 2, 3].map(|word| w.param(word));
    let (truths, count) = w.truths(mask, n, position.lane);
    let in_chunk = w.double(Combine::counts(), position, count);
    let before = w.load_before(DType::U64, 0, before, position);
    let [wide, bit] = [(); 2].map(|()| w.temporary(Class::B64));
    ptx!(w, "cvt.u64.u32 {wide}, {in_chunk}");
    ptx!(w, "add.u64 {before}, {before}, {wide}");
    let address = w.element_address(number, result, before);
    let (lane, holds) = (w.temporary_of(number), w.temporary(Class::Pred));
    match number.bytes() {
        4 => ptx!(w, "cvt.u32.u64 {lane}, {}", position.lane),
        _ => ptx!(w, "mov.b64 {lane}, {}", position.lane),
    }
    for i in 0..RUN {
        ptx!(w, "and.b64 {bit}, {truths}, {:#x}", 1_u64 << (8 * i));
        ptx!(w, "setp.ne.u64 {holds}, {bit}, 0");
        w.store(number, Guard(Some(holds)), address, lane);
        ptx!(w, "@{holds} add.u64 {address}, {address}, {}", number.bytes());
        ptx!(w, "add.{} {lane}, {lane}, 1", number.ptx());
    }
    w.finish(name, &[params(4)])
}

/// The declaration of a block of words.
pub(super) fn params(words: usize) -> String {
    format!(".param .align 8 .b8 params[{}]", 8 * words)
}

impl Writer {
    /// A temporary with a word of the parameters.
    pub(super) fn param(&mut self, word: usize) -> Name {
        let d = self.temporary(Class::B64);
        match self.member {
            Some(member) => ptx!(self, "ld.global.nc.u64 {d}, [{member}+{}]", 8 * word),
            None => ptx!(self, "ld.param.u64 {d}, [params+{}]", 8 * word),
        }
        d
    }

    /// Lets [`Writer::param`] read the words of the member of a batch that blocks along y are.
    pub(super) fn take_member(&mut self, words: usize) {
        let member = self.member_block(8 * words);
        self.member = Some(member);
    }

    /// Where the block of parameters of a member lies, of which each has so many bytes.
    pub(super) fn member_block(&mut self, bytes: usize) -> Name {
        let (block, number) = (self.special("params"), self.temporary(Class::B32));
        ptx!(self, "ld.param.u64 {block}, [params]");
        ptx!(self, "mov.u32 {number}, %ctaid.y");
        ptx!(self, "mad.wide.u32 {block}, {number}, {bytes}, {block}");
        block
    }

    fn position_in_chunk(&mut self) -> Position {
        let [block, thread] = [(); 2].map(|()| self.temporary(Class::B32));
        let lane = self.temporary(Class::B64);
        ptx!(self, "mov.u32 {block}, %ctaid.x");
        ptx!(self, "mov.u32 {thread}, %tid.x");
        ptx!(self, "mul.wide.u32 {lane}, {block}, {CHUNK}");
        ptx!(self, "mad.wide.u32 {lane}, {thread}, {RUN}, {lane}");
        Position { block, thread, lane }
    }

    /// The run that begins with a lane, in the first registers.
    fn load_run(&mut self, dtype: DType, x: Name, lane: Name) -> Name {
        let run = self.values(dtype, 0, RUN);
        for (first, at, lanes) in self.pieces(dtype, x, lane) {
            self.load_vector(dtype, run.next(first), lanes, at);
        }
        run
    }

    fn store_run(&mut self, dtype: DType, result: Name, lane: Name, run: Name) {
        for (first, at, lanes) in self.pieces(dtype, result, lane) {
            let values: Vec<Name> = (0..lanes).map(|i| run.next(first + i)).collect();
            self.store_vector(dtype, at, &values);
        }
    }

    /// A run in pieces of up to 16 bytes: their first lanes in the run, addresses, and lengths.
    fn pieces(&mut self, dtype: DType, array: Name, lane: Name) -> Vec<(u32, Name, u32)> {
        let lanes = RUN.min(128 / dtype.bits());
        let start = self.element_address(dtype, array, lane);
        let piece = |first: u32| {
            let at = self.temporary(Class::B64);
            ptx!(self, "add.u64 {at}, {start}, {}", first as usize * dtype.bytes());
            (first, at, lanes)
        };
        (0..RUN).step_by(lanes as usize).map(piece).collect()
    }

    /// Each lane of a run becomes the sum up to it.
    fn sum_run(&mut self, combine: Combine, run: Name) {
        for i in 1..RUN {
            self.combine_lanes(combine, run.next(i), run.next(i - 1), run.next(i));
        }
    }

    /// `d = combine(a, b)`, rounded or wrapped to the type.
    fn combine_lanes(&mut self, Combine { op, dtype, .. }: Combine, d: Name, a: Name, b: Name) {
        let wide = dtype.widened();
        self.op(op, Types::same(wide), d, [a, b, a]);
        if dtype.is_narrow() {
            let half = Types { result: dtype, operand: wide };
            self.op(Op::Cast, half, d, [d, d, d]);
        }
    }

    /// `total` becomes the sum of the totals of all threads up to this one; gives that of those before.
    fn double(&mut self, combine: Combine, position: Position, total: Name) -> Name {
        let wide = combine.dtype.widened();
        let [slot, other] = [self.temporary(Class::B32), self.temporary_of(wide)];
        let (after, filled) = (self.temporary(Class::Pred), self.new_label());
        // Two sets, so that one barrier a step is enough.
        self.shared_words = 2 * WORDS;
        let mut sets = [0, 8 * WORDS];
        ptx!(self, "mov.u32 {slot}, words");
        ptx!(self, "mad.lo.u32 {slot}, {}, 8, {slot}", position.thread);
        ptx!(self, "setp.ge.u32 {after}, {}, {LONGEST}", position.thread);
        ptx!(self, "@{after} bra {filled}");
        self.set(wide, other, combine.nothing);
        for set in sets {
            self.share(wide, slot, set, other);
        }
        self.put_label(filled);
        let mut distance = 1;
        while distance <= LONGEST {
            let [from, to] = sets;
            self.share(wide, slot, from + 8 * LONGEST, total);
            ptx!(self, "bar.sync 0");
            let earlier = from + 8 * (LONGEST - distance);
            self.load(wide, other, "shared", format_args!("{slot}+{earlier}"));
            self.combine_lanes(combine, total, other, total);
            sets = [to, from];
            distance *= 2;
        }
        let [last, _] = sets;
        self.share(wide, slot, last + 8 * LONGEST, total);
        ptx!(self, "bar.sync 0");
        self.load(wide, other, "shared", format_args!("{slot}+{}", last + 8 * (LONGEST - 1)));
        other
    }

    fn share(&mut self, dtype: DType, slot: Name, offset: u32, value: Name) {
        ptx!(self, "st.shared.{} [{slot}+{offset}], {value}", dtype.ptx());
    }

    /// The last thread, which knows it, writes the chunk's total.
    fn store_total(&mut self, dtype: DType, totals: Name, position: Position, total: Name) {
        let (others, chunk) = (self.temporary(Class::Pred), self.temporary(Class::B64));
        ptx!(self, "setp.ne.u32 {others}, {}, {}", position.thread, THREADS - 1);
        ptx!(self, "@{others} ret");
        ptx!(self, "cvt.u64.u32 {chunk}, {}", position.block);
        let address = self.element_address(dtype, totals, chunk);
        self.store(dtype, Guard(None), address, total);
    }

    /// Loads the combined value of the chunks before.
    fn load_before(&mut self, dtype: DType, nothing: u64, sums: Name, position: Position) -> Name {
        let (before, first) = (self.temporary_of(dtype), self.temporary(Class::Pred));
        let (chunk, loaded) = (self.temporary(Class::B64), self.new_label());
        self.set(dtype.widened(), before, nothing);
        ptx!(self, "setp.eq.u32 {first}, {}, 0", position.block);
        ptx!(self, "@{first} bra {loaded}");
        ptx!(self, "cvt.u64.u32 {chunk}, {}", position.block);
        ptx!(self, "sub.u64 {chunk}, {chunk}, 1");
        let address = self.element_address(dtype, sums, chunk);
        self.load(dtype, before, "global.nc", format_args!("{address}"));
        self.put_label(loaded);
        before
    }

    /// The eight lanes of a mask from `lane` on, each 0 or 1 in a byte, and how many are true. Those from
    /// lane `n` on are not.
    fn truths(&mut self, mask: Name, n: Name, lane: Name) -> (Name, Name) {
        let [truths, rest, address] = [(); 3].map(|()| self.temporary(Class::B64));
        let [count, bits] = [(); 2].map(|()| self.temporary(Class::B32));
        let (beyond, loaded) = (self.temporary(Class::Pred), self.new_label());
        ptx!(self, "mov.b64 {truths}, 0");
        ptx!(self, "setp.ge.u64 {beyond}, {lane}, {n}");
        ptx!(self, "@{beyond} bra {loaded}");
        ptx!(self, "add.u64 {address}, {mask}, {lane}");
        ptx!(self, "ld.global.nc.b64 {truths}, [{address}]");
        ptx!(self, "sub.u64 {rest}, {n}, {lane}");
        ptx!(self, "min.u64 {rest}, {rest}, {RUN}");
        ptx!(self, "cvt.u32.u64 {bits}, {rest}");
        ptx!(self, "shl.b32 {bits}, {bits}, 3");
        // A shift by all 64 bits gives 0, and so a word of ones.
        ptx!(self, "mov.b64 {rest}, 1");
        ptx!(self, "shl.b64 {rest}, {rest}, {bits}");
        ptx!(self, "sub.u64 {rest}, {rest}, 1");
        ptx!(self, "and.b64 {truths}, {truths}, {rest}");
        ptx!(self, "and.b64 {truths}, {truths}, 0x0101010101010101");
        self.put_label(loaded);
        ptx!(self, "popc.b64 {count}, {truths}");
        (truths, count)
    }
}
