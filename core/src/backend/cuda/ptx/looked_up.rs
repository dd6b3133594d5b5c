//! The entry of functions of one half float, whose results for all values are known: a table in shared memory has them.
#![deny(clippy::wildcard_enum_match_arm)]

use super::scan::params;
use super::writer::{Class, Name, Writer, ptx};
use super::{SHARED, SHARED_DECLARATION};
use crate::ir::kernel::{BufferIndex, Code, Kernel};

/// Threads of a block, of which a multiprocessor has one. Twice as many have more under way than memory does in good order.
pub(super) const THREADS: u32 = 512;
/// Bytes of the table, an element for every value.
pub(in super::super) const TABLE_BYTES: u32 = 2 << 16;
/// Bytes of a vector.
const VECTOR: u32 = 16;
/// Vectors that a thread reads at once, and how often it does so in a tile.
const AT_ONCE: u32 = 4;
const ROUNDS: u32 = 4;
/// What is on its way and what is looked up change places in each round, and are where they were behind the last.
const _: () = assert!(ROUNDS.is_multiple_of(2));
/// Bytes of a tile, the share of a warp. A ticket takes 2 ns, since all warps draw from one counter: a tile must take longer.
const TILE: u32 = 32 * VECTOR * AT_ONCE * ROUNDS;

/// The buffers that a kernel reads and writes if each lane is a function of one half float and nothing else.
pub(in super::super) fn of_halves(kernel: &Kernel) -> Option<[BufferIndex; 2]> {
    let [source, result] = &kernel.buffers[..] else { return None };
    let is_wanted = source.dtype.is_half() && result.dtype.is_half();
    let is_wanted = is_wanted && !source.written && result.written && !source.anywhere;
    let is_of_lane = |code: Code| {
        matches!(
            code,
            Code::Literal(_) | Code::Constant(_) | Code::Op(_) | Code::Load(_) | Code::Store(_)
        )
    };
    let uniform = &kernel.insts[..kernel.n_uniform];
    let is_of_lane = kernel.insts.iter().all(|inst| is_of_lane(inst.code))
        && !uniform.iter().any(|inst| matches!(inst.code, Code::Load(_)));
    (is_wanted && is_of_lane).then_some([BufferIndex(0), BufferIndex(1)])
}

/// Number of tiles of a number of lanes.
pub(in super::super) fn tiles(n: u64) -> u64 {
    (2 * n).div_ceil(TILE.into())
}

/// Words of parameters: number of lanes, address of the lanes, address of the result, both aligned to 16 bytes, address of
/// the table, address of a counter, which is 0 between launches, number of [`tiles`]. Any number of blocks; the last
/// thread may run lanes beyond, up to a whole number of 16 bytes.
///
/// Warps draw tickets, since those of some multiprocessors get through more than others. A warp's first tile is its own
/// number, and it draws until a ticket is beyond: as many are drawn as there are tiles, and the last one sets the counter to 0.
pub(super) fn looked_up(name: &str) -> String {
    let mut w = Writer::default();
    w.launch_bounds = Some([THREADS, 1]);
    let [n, source, result, table, counter, n_tiles] = [0, 1, 2, 3, 4, 5].map(|word| w.param(word));
    let [thread, shared, own, n_warps, tile, ticket, last] =
        [(); 7].map(|()| w.temporary(Class::B32));
    let [offset, next, at] = [(); 3].map(|()| w.temporary(Class::B64));
    let [draws, beyond] = [(); 2].map(|()| w.temporary(Class::Pred));
    let (again, end) = (w.new_label(), w.new_label());
    ptx!(w, "mov.u32 {thread}, %tid.x");
    ptx!(w, "mov.u32 {n_warps}, %nctaid.x");
    ptx!(w, "mul.lo.u32 {n_warps}, {n_warps}, {}", THREADS / 32);
    ptx!(w, "mov.u32 {tile}, %ctaid.x");
    ptx!(w, "shr.u32 {own}, {thread}, 5");
    ptx!(w, "mad.lo.u32 {tile}, {tile}, {}, {own}", THREADS / 32);
    ptx!(w, "cvt.u32.u64 {last}, {n_tiles}");
    ptx!(w, "sub.u32 {last}, {last}, 1");
    // From here on the end is that of a thread's vectors, counted from its place in a tile.
    ptx!(w, "and.b32 {own}, {thread}, 31");
    ptx!(w, "setp.eq.u32 {draws}, {own}, 0");
    ptx!(w, "mul.wide.u32 {offset}, {own}, {VECTOR}");
    ptx!(w, "shl.b64 {n}, {n}, 1");
    ptx!(w, "sub.s64 {n}, {n}, {offset}");
    let stream = Stream { end: n, source, result, at };
    for array in [source, result] {
        ptx!(w, "add.u64 {array}, {array}, {offset}");
    }
    let enter = |w: &mut Writer, offset| {
        ptx!(w, "setp.gt.u32 {beyond}, {tile}, {last}");
        ptx!(w, "mul.wide.u32 {offset}, {tile}, {TILE}");
    };
    enter(&mut w, offset);
    let (mut present, mut coming) = (w.vectors(), w.vectors());
    w.load_vectors(stream, offset, 0, present);
    ptx!(w, "mov.u32 {shared}, {SHARED}");
    ptx!(w, "mad.lo.u32 {own}, {thread}, {VECTOR}, {shared}");
    ptx!(w, "mad.wide.u32 {table}, {thread}, {VECTOR}, {table}");
    for i in 0..TABLE_BYTES / VECTOR / THREADS {
        let kept = w.mark();
        let (words, at) = (listed(w.words()), i * VECTOR * THREADS);
        ptx!(w, "ld.global.nc.v4.b32 {{{words}}}, [{table}+{at}]");
        ptx!(w, "st.shared.v4.b32 [{own}+{at}], {{{words}}}");
        w.release_to(kept);
    }
    ptx!(w, "bar.sync 0");
    w.put_label(again);
    ptx!(w, "@{beyond} bra {end}");
    ptx!(w, "@{draws} atom.global.inc.u32 {ticket}, [{counter}], {last}");
    for round in 0..ROUNDS {
        if round + 1 < ROUNDS {
            w.load_vectors(stream, offset, round + 1, coming);
        } else {
            ptx!(w, "shfl.sync.idx.b32 {tile}, {ticket}, 0, 0x1f, 0xffffffff");
            ptx!(w, "add.u32 {tile}, {tile}, {n_warps}");
            enter(&mut w, next);
            w.load_vectors(stream, next, 0, coming);
        }
        w.look_up(stream, offset, round, present, shared);
        std::mem::swap(&mut present, &mut coming);
    }
    ptx!(w, "mov.b64 {offset}, {next}");
    ptx!(w, "bra {again}");
    w.put_label(end);
    format!("{SHARED_DECLARATION}{}", w.finish(name, &[params(6)]))
}

/// The lanes and results of a thread.
#[derive(Clone, Copy)]
struct Stream {
    /// Behind the last vector, counted as offsets are.
    end: Name,
    source: Name,
    result: Name,
    /// For an address.
    at: Name,
}

/// The vectors that a thread reads at once.
type Vectors = [[Name; 4]; AT_ONCE as usize];

impl Writer {
    fn vectors(&mut self) -> Vectors {
        [(); AT_ONCE as usize].map(|()| self.words())
    }

    /// Registers for 16 bytes.
    fn words(&mut self) -> [Name; 4] {
        [(); 4].map(|()| self.temporary(Class::B32))
    }

    /// `{at} = {array} + {offset}` of a vector in a round of the tile at an offset; whether it is before the end.
    fn address_of(&mut self, stream: Stream, array: Name, offset: Name, number: u32) -> Name {
        let (at, inside) = (stream.at, self.temporary(Class::Pred));
        ptx!(self, "add.u64 {at}, {offset}, {}", number * 32 * VECTOR);
        ptx!(self, "setp.lt.s64 {inside}, {at}, {}", stream.end);
        ptx!(self, "add.u64 {at}, {at}, {array}");
        inside
    }

    fn load_vectors(&mut self, stream: Stream, offset: Name, round: u32, vectors: Vectors) {
        for (i, words) in (round * AT_ONCE..).zip(vectors) {
            let kept = self.mark();
            let inside = self.address_of(stream, stream.source, offset, i);
            let (words, at) = (listed(words), stream.at);
            ptx!(self, "@{inside} ld.global.nc.v4.b32 {{{words}}}, [{at}]");
            self.release_to(kept);
        }
    }

    /// Looks up what was read, and stores it.
    fn look_up(
        &mut self,
        stream: Stream,
        offset: Name,
        round: u32,
        vectors: Vectors,
        shared: Name,
    ) {
        for (i, words) in (round * AT_ONCE..).zip(vectors) {
            let kept = self.mark();
            for word in words {
                // An element of the table is two bytes.
                let halves = [("shl.b32", 1), ("shr.u32", 15)].map(|(shift, bits)| {
                    let (at, half) = (self.temporary(Class::B32), self.temporary(Class::B16));
                    ptx!(self, "{shift} {at}, {word}, {bits}");
                    ptx!(self, "and.b32 {at}, {at}, {}", TABLE_BYTES - 2);
                    ptx!(self, "add.u32 {at}, {at}, {shared}");
                    ptx!(self, "ld.shared.b16 {half}, [{at}]");
                    half
                });
                ptx!(self, "mov.b32 {word}, {{{}, {}}}", halves[0], halves[1]);
            }
            let inside = self.address_of(stream, stream.result, offset, i);
            let (words, at) = (listed(words), stream.at);
            ptx!(self, "@{inside} st.global.v4.b32 [{at}], {{{words}}}");
            self.release_to(kept);
        }
    }
}

fn listed(words: [Name; 4]) -> String {
    words.map(|word| word.to_string()).join(", ")
}
