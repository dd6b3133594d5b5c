//! Entries for stable radix sorts: lanes move by one digit of 8 bits, from the lowest up.
//!
//! A block of 256 threads runs a tile of [`TILE`] lanes, a warp a part of it of 512 neighbours, 32 at a
//! time. First each warp counts the digits of its part: the threads that `match` finds with the same
//! digit take their ranks in order. Then thread d of the block knows how many lanes of digit d each warp
//! has, and with the sums of the counts of all tiles where each warp's go.
//!
//! Lanes stay as they are in memory; their keys, unsigned integers in the order of the lanes, are made anew
//! for each digit, see `backend/primitive/sort.rs`.
#![deny(clippy::wildcard_enum_match_arm)]

use super::scan::params;
use super::writer::{Class, Name, Writer, ptx, untyped};
use crate::dtype::DType;
use crate::ir::primitive::Order;

/// Values of a digit.
pub(in super::super) const BUCKETS: u64 = 256;
/// Bits of a digit.
pub(in super::super) const DIGIT: u32 = 8;
/// Lanes of a block.
pub(in super::super) const TILE: u64 = 4096;
/// Threads of a block: one for each value of a digit.
pub(super) const THREADS: u32 = 256;
const WARP: u32 = 32;
const WARPS: u32 = THREADS / WARP;
/// Lanes of a thread, 32 apart.
const LANES: u32 = 16;
/// Bytes of the counts of a warp in shared memory.
const COUNTS: u32 = 4 * 256;

/// A thread's registers after the digits of its tile are ranked.
struct Ranked {
    tile: Name,
    thread: Name,
    /// Number of lanes in all.
    n: Name,
    /// Its first lane.
    lane: Name,
    /// The bits of its lanes, in the first of [`LANES`] registers.
    bits: Name,
    /// Where in shared memory the number of each one's digit in this warp is.
    bins: Name,
    /// How many lanes of the warp with the same digit come before each.
    ranks: Name,
    /// The count of digit `thread` in the first warp.
    own: Name,
}

/// Words of parameters: number of lanes, address, bits below the digit, address of what becomes the counts,
/// number of tiles. One block a tile; its count of digit d goes to element `d * tiles + tile`, a u32.
pub(super) fn count_digits(dtype: DType, order: Order, name: &str) -> String {
    let mut w = Writer::default();
    let ranked = w.rank_digits(dtype, order);
    let [counts, n_tiles] = [3, 4].map(|word| w.param(word));
    let [sum, count] = [(); 2].map(|()| w.temporary(Class::B32));
    ptx!(w, "mov.u32 {sum}, 0");
    for warp in 0..WARPS {
        ptx!(w, "ld.shared.u32 {count}, [{}+{}]", ranked.own, COUNTS * warp);
        ptx!(w, "add.u32 {sum}, {sum}, {count}");
    }
    let element = w.element_of_tile(&ranked, n_tiles);
    let address = w.element_address(DType::U32, counts, element);
    ptx!(w, "st.global.u32 [{address}], {sum}");
    w.finish(name, &[params(5)])
}

/// Words of parameters: number of lanes, address, bits below the digit, address of the prefix sums of the
/// counts, number of tiles, address to which lanes move (0: they need not), address of their numbers (0:
/// they are still in their places), address to which numbers move (0: they need not). Numbers are u32.
pub(super) fn move_lanes(dtype: DType, order: Order, name: &str) -> String {
    let mut w = Writer::default();
    let ranked = w.rank_digits(dtype, order);
    let [sums, n_tiles] = [3, 4].map(|word| w.param(word));
    let [lanes_to, numbers_from, numbers_to] = [5, 6, 7].map(|word| w.param(word));
    w.first_places(&ranked, sums, n_tiles);
    let raw = raw(dtype);
    let [moves_lanes, moves_numbers, moved, within] = [(); 4].map(|()| w.temporary(Class::Pred));
    ptx!(w, "setp.ne.u64 {moves_lanes}, {lanes_to}, 0");
    ptx!(w, "setp.ne.u64 {moves_numbers}, {numbers_to}, 0");
    ptx!(w, "setp.ne.u64 {moved}, {numbers_from}, 0");
    let [place, number] = [(); 2].map(|()| w.temporary(Class::B32));
    let [wide, lane, address] = [(); 3].map(|()| w.temporary(Class::B64));
    for i in 0..LANES {
        let [next, no_lanes, in_place] = [(); 3].map(|()| w.new_label());
        w.lane_within(&ranked, i, lane, within);
        ptx!(w, "@!{within} bra {next}");
        ptx!(w, "ld.shared.u32 {place}, [{}]", ranked.bins.next(i));
        ptx!(w, "add.u32 {place}, {place}, {}", ranked.ranks.next(i));
        ptx!(w, "cvt.u64.u32 {wide}, {place}");
        ptx!(w, "@!{moves_lanes} bra {no_lanes}");
        w.set_element_address(raw, address, lanes_to, wide);
        ptx!(w, "st.global.{} [{address}], {}", raw.ptx(), ranked.bits.next(i));
        w.put_label(no_lanes);
        ptx!(w, "@!{moves_numbers} bra {next}");
        ptx!(w, "cvt.u32.u64 {number}, {lane}");
        ptx!(w, "@!{moved} bra {in_place}");
        w.set_element_address(DType::U32, address, numbers_from, lane);
        ptx!(w, "ld.global.nc.u32 {number}, [{address}]");
        w.put_label(in_place);
        w.set_element_address(DType::U32, address, numbers_to, wide);
        ptx!(w, "st.global.u32 [{address}], {number}");
        w.put_label(next);
    }
    w.finish(name, &[params(8)])
}

/// The type of the bits of a lane in memory.
pub(in super::super) fn raw(dtype: DType) -> DType {
    match dtype.bytes() {
        1 => DType::U8,
        2 => DType::U16,
        4 => DType::U32,
        _ => DType::U64,
    }
}

impl Writer {
    fn rank_digits(&mut self, dtype: DType, order: Order) -> Ranked {
        let raw = raw(dtype);
        let bits = self.values(raw, 0, LANES);
        let [bins, ranks] = [1, 2].map(|i| self.values(DType::U32, i * LANES, LANES));
        let [tile, thread, warp, in_warp] = [(); 4].map(|()| self.temporary(Class::B32));
        let [own, counts, below, shift32] = [(); 4].map(|()| self.temporary(Class::B32));
        let [n, x, shift] = [0, 1, 2].map(|word| self.param(word));
        let lane = self.temporary(Class::B64);
        self.shared_words = WARPS * COUNTS / 8;
        ptx!(self, "mov.u32 {tile}, %ctaid.x");
        ptx!(self, "mov.u32 {thread}, %tid.x");
        ptx!(self, "shr.u32 {warp}, {thread}, {}", WARP.ilog2());
        ptx!(self, "and.b32 {in_warp}, {thread}, {}", WARP - 1);
        ptx!(self, "mul.wide.u32 {lane}, {tile}, {TILE}");
        ptx!(self, "mad.wide.u32 {lane}, {warp}, {}, {lane}", WARP * LANES);
        ptx!(self, "mad.wide.u32 {lane}, {in_warp}, 1, {lane}");
        ptx!(self, "cvt.u32.u64 {shift32}, {shift}");
        // The threads of the warp before this one.
        ptx!(self, "mov.u32 {below}, 1");
        ptx!(self, "shl.b32 {below}, {below}, {in_warp}");
        ptx!(self, "sub.u32 {below}, {below}, 1");
        ptx!(self, "mov.u32 {own}, words");
        ptx!(self, "mad.lo.u32 {counts}, {warp}, {COUNTS}, {own}");
        ptx!(self, "mad.lo.u32 {own}, {thread}, 4, {own}");
        for warp in 0..WARPS {
            ptx!(self, "st.shared.u32 [{own}+{}], 0", COUNTS * warp);
        }
        let ranked = Ranked { tile, thread, n, lane, bits, bins, ranks, own };
        self.load_lanes_of(&ranked, raw, x);
        ptx!(self, "bar.sync 0");
        let key = self.temporary_of(raw);
        let [digit, peers, count, rank] = [(); 4].map(|()| self.temporary(Class::B32));
        let [within, first] = [(); 2].map(|()| self.temporary(Class::Pred));
        let number = self.temporary(Class::B64);
        for i in 0..LANES {
            let (bin, before) = (bins.next(i), ranks.next(i));
            self.key(dtype, order, key, bits.next(i));
            self.lane_within(&ranked, i, number, within);
            ptx!(self, "shr.{} {key}, {key}, {shift32}", shifted(raw));
            match raw.bytes() {
                8 => ptx!(self, "cvt.u32.u64 {digit}, {key}"),
                _ => ptx!(self, "mov.b32 {digit}, {key}"),
            }
            ptx!(self, "and.b32 {digit}, {digit}, {}", BUCKETS - 1);
            ptx!(self, "mad.lo.u32 {bin}, {digit}, 4, {counts}");
            // Threads without a lane are equal to no other.
            ptx!(self, "selp.u32 {digit}, {digit}, {BUCKETS}, {within}");
            ptx!(self, "match.any.sync.b32 {peers}, {digit}, 0xffffffff");
            ptx!(self, "ld.shared.u32 {before}, [{bin}]");
            ptx!(self, "bar.warp.sync 0xffffffff");
            ptx!(self, "popc.b32 {count}, {peers}");
            ptx!(self, "and.b32 {rank}, {peers}, {below}");
            ptx!(self, "popc.b32 {rank}, {rank}");
            ptx!(self, "setp.eq.and.u32 {first}, {rank}, 0, {within}");
            ptx!(self, "add.u32 {count}, {before}, {count}");
            ptx!(self, "@{first} st.shared.u32 [{bin}], {count}");
            ptx!(self, "add.u32 {before}, {before}, {rank}");
            ptx!(self, "bar.warp.sync 0xffffffff");
        }
        ptx!(self, "bar.sync 0");
        ranked
    }

    /// The bits of the thread's lanes, 0 beyond the last.
    fn load_lanes_of(&mut self, ranked: &Ranked, raw: DType, x: Name) {
        let [lane, address] = [(); 2].map(|()| self.temporary(Class::B64));
        let within = self.temporary(Class::Pred);
        for i in 0..LANES {
            let d = ranked.bits.next(i);
            self.lane_within(ranked, i, lane, within);
            self.set_element_address(raw, address, x, lane);
            self.set(raw.widened(), d, 0);
            ptx!(self, "@{within} ld.global.nc.{} {d}, [{address}]", raw.ptx());
        }
    }

    /// `lane = ` the thread's i-th lane, `within = ` whether there is one.
    fn lane_within(&mut self, ranked: &Ranked, i: u32, lane: Name, within: Name) {
        ptx!(self, "add.u64 {lane}, {}, {}", ranked.lane, WARP * i);
        ptx!(self, "setp.lt.u64 {within}, {lane}, {}", ranked.n);
    }

    /// Thread d turns each warp's count of digit d into where the warp's first lane with that digit goes.
    fn first_places(&mut self, ranked: &Ranked, sums: Name, n_tiles: Name) {
        let [place, count] = [(); 2].map(|()| self.temporary(Class::B32));
        let (first, summed) = (self.temporary(Class::Pred), self.new_label());
        let element = self.element_of_tile(ranked, n_tiles);
        ptx!(self, "mov.u32 {place}, 0");
        ptx!(self, "setp.eq.u64 {first}, {element}, 0");
        ptx!(self, "@{first} bra {summed}");
        ptx!(self, "sub.u64 {element}, {element}, 1");
        let address = self.element_address(DType::U32, sums, element);
        ptx!(self, "ld.global.nc.u32 {place}, [{address}]");
        self.put_label(summed);
        for warp in 0..WARPS {
            let at = COUNTS * warp;
            ptx!(self, "ld.shared.u32 {count}, [{}+{at}]", ranked.own);
            ptx!(self, "st.shared.u32 [{}+{at}], {place}", ranked.own);
            ptx!(self, "add.u32 {place}, {place}, {count}");
        }
        ptx!(self, "bar.sync 0");
    }

    /// The element of digit `thread` and this tile among the counts.
    fn element_of_tile(&mut self, ranked: &Ranked, n_tiles: Name) -> Name {
        let [element, tile] = [(); 2].map(|()| self.temporary(Class::B64));
        ptx!(self, "cvt.u64.u32 {element}, {}", ranked.thread);
        ptx!(self, "cvt.u64.u32 {tile}, {}", ranked.tile);
        ptx!(self, "mad.lo.u64 {element}, {element}, {n_tiles}, {tile}");
        element
    }

    /// `key = ` an unsigned integer with the order of the lanes: sign bits flipped, and negative floats,
    /// whose bits grow downwards, inverted; the largest for a NaN, either way.
    pub(super) fn key(&mut self, dtype: DType, order: Order, key: Name, bits: Name) {
        let t = untyped(raw(dtype));
        let (all, sign) = (u64::MAX >> (64 - dtype.bits()), 1_u64 << (dtype.bits() - 1));
        let turned = if order == Order::Descending { all } else { 0 };
        if !dtype.is_float() {
            let flipped = turned ^ if dtype.is_signed() { sign } else { 0 };
            return ptx!(self, "xor.{t} {key}, {bits}, {flipped:#x}");
        }
        let u = shifted(raw(dtype));
        let (negative, nan) = (self.temporary(Class::Pred), self.temporary(Class::Pred));
        let infinity = infinity(dtype);
        ptx!(self, "and.{t} {key}, {bits}, {:#x}", all ^ sign);
        ptx!(self, "setp.gt.{u} {nan}, {key}, {infinity:#x}");
        ptx!(self, "setp.ge.{u} {negative}, {bits}, {sign:#x}");
        ptx!(self, "selp.{t} {key}, {:#x}, {:#x}, {negative}", all ^ turned, sign ^ turned);
        ptx!(self, "xor.{t} {key}, {bits}, {key}");
        ptx!(self, "selp.{t} {key}, {all:#x}, {key}, {nan}");
    }
}

/// The bits of the infinity of a float type: what is above, without its sign, is a NaN.
fn infinity(dtype: DType) -> u64 {
    match dtype.bytes() {
        2 => 0x7c00,
        4 => 0x7f80_0000,
        _ => 0x7ff0_0000_0000_0000,
    }
}

/// PTX suffix of the register that holds bits of that type.
fn shifted(raw: DType) -> &'static str {
    raw.widened().unsigned().ptx()
}
