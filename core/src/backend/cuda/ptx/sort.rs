//! Entries for stable radix sorts: lanes move by one digit of 8 bits at a time, from the lowest up.
//!
//! One pass counts all digits of all lanes. Then each digit takes one pass, as in "Onesweep: A Faster Least Significant
//! Digit Radix Sort for GPUs" (Adinets and Merrill, 2022): a block takes the next tile of lanes, ranks them by digit, and
//! finds out where its lanes of each digit go by looking back at the tiles before. Those tell how many lanes of each digit
//! they have, and, once they know, where they end. In shared memory a tile's lanes come in order, so that neighbours go to
//! neighbours. A digit that all lanes share moves nothing.
//!
//! Within a tile a warp has a part of 32 times [`lanes`] neighbours, 32 at a time: threads with the same digit set their bits
//! in one word of shared memory, and so know each other and their ranks.
//!
//! Lanes stay as they are in memory; their keys, unsigned integers in the order of the lanes, are made anew
//! for each digit, see `backend/primitive/sort.rs`.
#![deny(clippy::wildcard_enum_match_arm)]

use super::scan::params;
use super::target::Target;
use super::writer::{Class, Label, Name, Writer, ptx, untyped};
use crate::dtype::DType;
use crate::ir::primitive::Order;

/// Values of a digit.
pub(in super::super) const BUCKETS: u32 = 256;
/// Bits of a digit.
pub(in super::super) const DIGIT: u32 = 8;
/// Threads of a block that counts: one for each value of a digit.
pub(super) const COUNT_THREADS: u32 = 256;
/// Lanes of a thread that counts which are on their way at once.
const COUNTED_AT_ONCE: u32 = 4;
/// Of what the lanes of a block that counts are a multiple.
pub(in super::super) const COUNTED: u64 = (COUNT_THREADS * COUNTED_AT_ONCE) as u64;
/// Threads of a block that moves lanes.
pub(super) const THREADS: u32 = 384;
const WARP: u32 = 32;
const WARPS: u32 = THREADS / WARP;
/// Bytes of the counts of a digit's values in shared memory.
const COUNTS: u32 = 4 * BUCKETS;
/// Bytes from the counts of the warps to their words of bits.
const BITS: u32 = WARPS * COUNTS;
/// Bytes of a tile's words about digits in the memory that tiles look back at.
pub(in super::super) const STATES: u64 = 8 * BUCKETS as u64;

/// Lanes of a thread, 32 apart: a tile of them fits in shared memory.
const fn lanes(dtype: DType) -> u32 {
    if dtype.bytes() == 8 { 12 } else { 16 }
}

/// Lanes of a block that moves lanes.
pub(in super::super) const fn tile(dtype: DType) -> u64 {
    (THREADS * lanes(dtype)) as u64
}

/// Words of parameters: number of lanes, address, address of what becomes the counts, lanes of a block. The counts, a u32
/// for each value of each digit from the lowest up, were zeros.
pub(super) fn count_digits(dtype: DType, order: Order, name: &str) -> String {
    let mut w = Writer::default();
    let raw = raw(dtype);
    let n_digits = dtype.bits() / DIGIT;
    let [n, x, counts, share] = [0, 1, 2, 3].map(|word| w.param(word));
    let [thread, block, own, bin] = [(); 4].map(|()| w.temporary(Class::B32));
    let [lane, end, address, number] = [(); 4].map(|()| w.temporary(Class::B64));
    w.shared_words = n_digits * COUNTS / 8;
    ptx!(w, "mov.u32 {thread}, %tid.x");
    ptx!(w, "mov.u32 {block}, %ctaid.x");
    ptx!(w, "mov.u32 {own}, words");
    ptx!(w, "mad.lo.u32 {own}, {thread}, 4, {own}");
    for digit in 0..n_digits {
        ptx!(w, "st.shared.u32 [{own}+{}], 0", COUNTS * digit);
    }
    ptx!(w, "cvt.u64.u32 {lane}, {block}");
    ptx!(w, "mul.lo.u64 {lane}, {lane}, {share}");
    ptx!(w, "add.u64 {end}, {lane}, {share}");
    ptx!(w, "min.u64 {end}, {end}, {n}");
    ptx!(w, "mad.wide.u32 {lane}, {thread}, 1, {lane}");
    ptx!(w, "bar.sync 0");
    let (again, done, is_done) = (w.new_label(), w.new_label(), w.temporary(Class::Pred));
    w.put_label(again);
    ptx!(w, "setp.ge.u64 {is_done}, {lane}, {end}");
    ptx!(w, "@{is_done} bra {done}");
    let bits = w.values(raw, 0, COUNTED_AT_ONCE);
    let within = [(); COUNTED_AT_ONCE as usize].map(|()| w.temporary(Class::Pred));
    for (i, within) in (0..).zip(within) {
        let bits = bits.next(i);
        ptx!(w, "add.u64 {number}, {lane}, {}", COUNT_THREADS * i);
        ptx!(w, "setp.lt.u64 {within}, {number}, {end}");
        w.set_element_address(raw, address, x, number);
        w.set(raw.widened(), bits, 0);
        ptx!(w, "@{within} ld.global.nc.{} {bits}, [{address}]", raw.ptx());
    }
    let (key, shifted_key) = (w.temporary_of(raw), w.temporary_of(raw));
    for (i, within) in (0..).zip(within) {
        let mark = w.mark();
        w.key(dtype, order, key, bits.next(i));
        w.release_to(mark);
        for digit in 0..n_digits {
            ptx!(w, "shr.{} {shifted_key}, {key}, {}", shifted(raw), DIGIT * digit);
            w.low_digit(raw, bin, shifted_key);
            ptx!(w, "mov.u32 {block}, words");
            ptx!(w, "mad.lo.u32 {bin}, {bin}, 4, {block}");
            ptx!(w, "@{within} red.shared.add.u32 [{bin}+{}], 1", COUNTS * digit);
        }
    }
    ptx!(w, "add.u64 {lane}, {lane}, {COUNTED}");
    ptx!(w, "bra {again}");
    w.put_label(done);
    ptx!(w, "bar.sync 0");
    ptx!(w, "mad.wide.u32 {address}, {thread}, 4, {counts}");
    for digit in 0..n_digits {
        ptx!(w, "ld.shared.u32 {bin}, [{own}+{}]", COUNTS * digit);
        ptx!(w, "red.global.add.u32 [{address}+{}], {bin}", COUNTS * digit);
    }
    w.finish(name, &[params(4)])
}

/// A block that moves the lanes of a tile.
struct Tile {
    w: Writer,
    dtype: DType,
    order: Order,
    raw: DType,
    /// Lanes of a thread.
    lanes: u32,
    thread: Name,
    in_warp: Name,
    /// Number of lanes in all, their address, and how far the digit is to the right.
    n: Name,
    from: Name,
    shift: Name,
    /// Addresses of lanes and numbers as they become, 0 for none, and of the numbers that there are, 0 for places.
    lanes_to: Name,
    numbers_from: Name,
    numbers_to: Name,
    /// Where in shared memory, behind a tile's lanes, what is added to a place in the tile stands for each digit.
    offsets: u32,
    /// There, behind those: sums of warps, and the number of the tile.
    sums: u32,
}

/// Words of parameters: number of lanes, address, bits below the digit, address of how many lanes have each of its values,
/// address of the number of the next tile (u32), address of the tiles' states, twice the number of the digit from 1 up, address
/// to which lanes move (0: they need not), address of their numbers (0: they are still in their places), address to which
/// numbers move (0: they need not). Numbers are u32. One block a tile; number and states were zeros before the first digit.
///
/// The state of a tile is a u64 for each value of a digit: above, the word that says which digit it is of, or one more; below,
/// how many lanes of the tile have the value, or, with one more, where those of the next tile go.
pub(super) fn move_lanes(dtype: DType, order: Order, target: Target, name: &str) -> String {
    let mut tile = Tile::new(dtype, order, target);
    tile.copy_if_all_share_the_digit();
    let (number, first, here) = tile.take();
    let own = tile.own_lane();
    let bits = tile.load(first, own, here);
    let places = tile.rank(own, here, bits);
    tile.find_places(number, bits, places);
    tile.exchange(first, own, here, bits, places);
    tile.w.finish(name, &[params(10)])
}

impl Tile {
    fn new(dtype: DType, order: Order, target: Target) -> Self {
        let mut w = Writer::of_target(target);
        let (raw, lanes) = (raw(dtype), lanes(dtype));
        let offsets = (THREADS * lanes * 4.max(raw.bits() / 8)).max(2 * BITS);
        let sums = offsets + COUNTS;
        w.shared_words = (sums + 4 * WARPS + 16) / 8;
        w.has_vectors_shared = true;
        // Processors before sm_80 have threads for two, and shared memory for one of doubles.
        let resident = 2 + u32::from(w.is_since_80()) - u32::from(raw.bytes() == 8);
        w.launch_bounds = Some([THREADS, resident]);
        let [n, from, bits_below] = [0, 1, 2].map(|word| w.param(word));
        let [lanes_to, numbers_from, numbers_to] = [7, 8, 9].map(|word| w.param(word));
        let [thread, in_warp, shift] = [(); 3].map(|()| w.temporary(Class::B32));
        ptx!(w, "mov.u32 {thread}, %tid.x");
        ptx!(w, "and.b32 {in_warp}, {thread}, {}", WARP - 1);
        ptx!(w, "cvt.u32.u64 {shift}, {bits_below}");
        Self {
            w,
            dtype,
            order,
            raw,
            lanes,
            thread,
            in_warp,
            n,
            from,
            shift,
            lanes_to,
            numbers_from,
            numbers_to,
            offsets,
            sums,
        }
    }

    /// Copies lanes and numbers to where they are, if nothing moves.
    fn copy_if_all_share_the_digit(&mut self) {
        let mark = self.w.mark();
        let counts = self.w.param(3);
        let [lane, address, wide] = [(); 3].map(|()| self.w.temporary(Class::B64));
        let [block, digit, count] = [(); 3].map(|()| self.w.temporary(Class::B32));
        let (bits, moves, within) =
            (self.w.temporary_of(self.raw), self.w.new_label(), self.w.temporary(Class::Pred));
        let (raw, tile) = (self.raw, THREADS * self.lanes);
        ptx!(self.w, "mov.u32 {block}, %ctaid.x");
        ptx!(self.w, "mul.wide.u32 {lane}, {block}, {tile}");
        self.w.set_element_address(raw, address, self.from, lane);
        ptx!(self.w, "ld.global.nc.{} {bits}, [{address}]", raw.ptx());
        self.digit(digit, bits);
        ptx!(self.w, "mad.wide.u32 {address}, {digit}, 4, {counts}");
        ptx!(self.w, "ld.global.nc.u32 {count}, [{address}]");
        ptx!(self.w, "cvt.u64.u32 {wide}, {count}");
        ptx!(self.w, "setp.ne.u64 {within}, {wide}, {}", self.n);
        ptx!(self.w, "@{within} bra {moves}");
        ptx!(self.w, "mad.wide.u32 {lane}, {}, 1, {lane}", self.thread);
        let [no_lanes, again, no_numbers, placed] = [(); 4].map(|()| self.w.new_label());
        let left = self.w.temporary(Class::B32);
        ptx!(self.w, "mov.u32 {left}, {}", self.lanes);
        self.w.put_label(again);
        ptx!(self.w, "setp.ge.u64 {within}, {lane}, {}", self.n);
        ptx!(self.w, "@{within} ret");
        self.unless(self.lanes_to, no_lanes);
        self.w.set_element_address(raw, address, self.from, lane);
        ptx!(self.w, "ld.global.nc.{} {bits}, [{address}]", raw.ptx());
        self.w.set_element_address(raw, address, self.lanes_to, lane);
        ptx!(self.w, "st.global.{} [{address}], {bits}", raw.ptx());
        self.w.put_label(no_lanes);
        self.unless(self.numbers_to, no_numbers);
        ptx!(self.w, "cvt.u32.u64 {count}, {lane}");
        self.unless(self.numbers_from, placed);
        self.w.set_element_address(DType::U32, address, self.numbers_from, lane);
        ptx!(self.w, "ld.global.nc.u32 {count}, [{address}]");
        self.w.put_label(placed);
        self.w.set_element_address(DType::U32, address, self.numbers_to, lane);
        ptx!(self.w, "st.global.u32 [{address}], {count}");
        self.w.put_label(no_numbers);
        ptx!(self.w, "add.u64 {lane}, {lane}, {THREADS}");
        ptx!(self.w, "sub.u32 {left}, {left}, 1");
        ptx!(self.w, "setp.ne.u32 {within}, {left}, 0");
        ptx!(self.w, "@{within} bra {again}");
        ptx!(self.w, "ret");
        self.w.put_label(moves);
        self.w.release_to(mark);
    }

    /// Goes on at a label where an address is 0.
    fn unless(&mut self, address: Name, label: Label) {
        let is_none = self.w.temporary(Class::Pred);
        ptx!(self.w, "setp.eq.u64 {is_none}, {address}, 0");
        ptx!(self.w, "@{is_none} bra {label}");
    }

    /// `digit = ` the one that this pass is about.
    fn digit(&mut self, digit: Name, bits: Name) {
        let mark = self.w.mark();
        let key = self.w.temporary_of(self.raw);
        self.w.key(self.dtype, self.order, key, bits);
        ptx!(self.w, "shr.{} {key}, {key}, {}", shifted(self.raw), self.shift);
        self.w.low_digit(self.raw, digit, key);
        self.w.release_to(mark);
    }

    /// Takes a tile and clears the block's counts: its number, its first lane, and how many it has.
    fn take(&mut self) -> (Name, Name, Name) {
        let (ticket, w) = (self.w.param(4), &mut self.w);
        let [number, address, zero, here] = [(); 4].map(|()| w.temporary(Class::B32));
        let [first, left] = [(); 2].map(|()| w.temporary(Class::B64));
        let (others, taken, sums) = (w.temporary(Class::Pred), w.new_label(), self.sums);
        ptx!(w, "mov.u32 {zero}, 0");
        ptx!(w, "mov.u32 {address}, words");
        ptx!(w, "setp.ne.u32 {others}, {}, 0", self.thread);
        ptx!(w, "@{others} bra {taken}");
        ptx!(w, "atom.global.add.u32 {number}, [{ticket}], 1");
        ptx!(w, "st.shared.u32 [{address}+{}], {number}", sums + 4 * WARPS);
        w.put_label(taken);
        ptx!(w, "mad.lo.u32 {address}, {}, 16, {address}", self.thread);
        for i in (0..2 * BITS).step_by(16 * THREADS as usize) {
            ptx!(w, "st.shared.v4.u32 [{address}+{i}], {{{zero}, {zero}, {zero}, {zero}}}");
        }
        ptx!(w, "bar.sync 0");
        ptx!(w, "mov.u32 {address}, words");
        ptx!(w, "ld.shared.u32 {number}, [{address}+{}]", sums + 4 * WARPS);
        let tile = THREADS * self.lanes;
        ptx!(w, "mul.wide.u32 {first}, {number}, {tile}");
        ptx!(w, "sub.u64 {left}, {}, {first}", self.n);
        ptx!(w, "min.u64 {left}, {left}, {tile}");
        ptx!(w, "cvt.u32.u64 {here}, {left}");
        (number, first, here)
    }

    /// This thread's first lane in the tile.
    fn own_lane(&mut self) -> Name {
        let own = self.w.temporary(Class::B32);
        ptx!(self.w, "shr.u32 {own}, {}, {}", self.thread, WARP.ilog2());
        ptx!(self.w, "mad.lo.u32 {own}, {own}, {}, {}", WARP * self.lanes, self.in_warp);
        own
    }

    /// `within = ` whether there is the thread's i-th lane.
    fn within(&mut self, within: Name, i: u32, own: Name, here: Name) {
        let lane = self.w.temporary(Class::B32);
        ptx!(self.w, "add.u32 {lane}, {own}, {}", WARP * i);
        ptx!(self.w, "setp.lt.u32 {within}, {lane}, {here}");
    }

    /// The bits of the thread's lanes, 0 beyond the last.
    fn load(&mut self, first: Name, own: Name, here: Name) -> Name {
        let (bits, raw) = (self.w.values(self.raw, 0, self.lanes), self.raw);
        let (lane, address) = (self.w.temporary(Class::B64), self.w.temporary(Class::B64));
        let within = self.w.temporary(Class::Pred);
        ptx!(self.w, "mad.wide.u32 {lane}, {own}, 1, {first}");
        self.w.set_element_address(raw, address, self.from, lane);
        for i in 0..self.lanes {
            let mark = self.w.mark();
            self.within(within, i, own, here);
            self.w.set(raw.widened(), bits.next(i), 0);
            let offset = WARP * i * raw.bits() / 8;
            let t = raw.ptx();
            ptx!(self.w, "@{within} ld.global.nc.{t} {}, [{address}+{offset}]", bits.next(i));
            self.w.release_to(mark);
        }
        bits
    }

    /// The counts of this thread's warp in shared memory.
    fn counts_of_warp(&mut self) -> Name {
        let [counts, words] = [(); 2].map(|()| self.w.temporary(Class::B32));
        ptx!(self.w, "mov.u32 {words}, words");
        ptx!(self.w, "shr.u32 {counts}, {}, {}", self.thread, WARP.ilog2());
        ptx!(self.w, "mad.lo.u32 {counts}, {counts}, {COUNTS}, {words}");
        counts
    }

    /// How many lanes of the warp with the same digit come before each of the thread's; the warp's counts are those of all.
    fn rank(&mut self, own: Name, here: Name, bits: Name) -> Name {
        let first = if self.raw.bytes() == 8 { 0 } else { self.lanes };
        let ranks = self.w.values(DType::U32, first, self.lanes);
        let counts = self.counts_of_warp();
        let [bit, below, bin, peers, before, count] =
            [(); 6].map(|()| self.w.temporary(Class::B32));
        let [within, is_first] = [(); 2].map(|()| self.w.temporary(Class::Pred));
        ptx!(self.w, "mov.u32 {bit}, 1");
        ptx!(self.w, "shl.b32 {bit}, {bit}, {}", self.in_warp);
        ptx!(self.w, "sub.u32 {below}, {bit}, 1");
        for i in 0..self.lanes {
            let (mark, rank) = (self.w.mark(), ranks.next(i));
            self.within(within, i, own, here);
            self.digit(bin, bits.next(i));
            ptx!(self.w, "mad.lo.u32 {bin}, {bin}, 4, {counts}");
            ptx!(self.w, "@{within} red.shared.or.b32 [{bin}+{BITS}], {bit}");
            ptx!(self.w, "bar.warp.sync 0xffffffff");
            ptx!(self.w, "ld.shared.u32 {peers}, [{bin}+{BITS}]");
            ptx!(self.w, "ld.shared.u32 {before}, [{bin}]");
            ptx!(self.w, "bar.warp.sync 0xffffffff");
            ptx!(self.w, "popc.b32 {count}, {peers}");
            ptx!(self.w, "and.b32 {rank}, {peers}, {below}");
            ptx!(self.w, "popc.b32 {rank}, {rank}");
            ptx!(self.w, "setp.eq.and.u32 {is_first}, {rank}, 0, {within}");
            ptx!(self.w, "add.u32 {count}, {before}, {count}");
            ptx!(self.w, "@{is_first} st.shared.u32 [{bin}], {count}");
            ptx!(self.w, "@{is_first} st.shared.u32 [{bin}+{BITS}], 0");
            ptx!(self.w, "add.u32 {rank}, {before}, {rank}");
            ptx!(self.w, "bar.warp.sync 0xffffffff");
            self.w.release_to(mark);
        }
        ptx!(self.w, "bar.sync 0");
        ranks
    }

    /// Ranks become places among the lanes of the tile in the order of the digit; thread d tells the tiles behind of its
    /// lanes with digit d, and finds out where they go.
    fn find_places(&mut self, number: Name, bits: Name, places: Name) {
        let mark = self.w.mark();
        let [states, tag] = [5, 6].map(|word| self.w.param(word));
        let state = self.w.temporary(Class::B64);
        let [total, count, start, base, bin] = [(); 5].map(|()| self.w.temporary(Class::B32));
        let [is_none, is_first] = [(); 2].map(|()| self.w.temporary(Class::Pred));
        let [counted, scanned, placed, is_known] = [(); 4].map(|()| self.w.new_label());
        ptx!(self.w, "mov.u32 {bin}, words");
        ptx!(self.w, "mad.lo.u32 {bin}, {}, 4, {bin}", self.thread);
        ptx!(self.w, "mad.wide.u32 {state}, {number}, {STATES}, {states}");
        ptx!(self.w, "mad.wide.u32 {state}, {}, 8, {state}", self.thread);
        ptx!(self.w, "mov.u32 {total}, 0");
        ptx!(self.w, "mov.u32 {base}, 0");
        ptx!(self.w, "setp.eq.u32 {is_first}, {number}, 0");
        ptx!(self.w, "setp.ge.u32 {is_none}, {}, {BUCKETS}", self.thread);
        ptx!(self.w, "@{is_none} bra {counted}");
        for warp in 0..WARPS {
            ptx!(self.w, "ld.shared.u32 {count}, [{bin}+{}]", COUNTS * warp);
            ptx!(self.w, "add.u32 {total}, {total}, {count}");
        }
        // The first tile knows at once where its lanes end, and there is none before it.
        ptx!(self.w, "@{is_first} bra {counted}");
        self.tell(state, tag, total);
        self.w.put_label(counted);
        self.sum_before(start, total);
        ptx!(self.w, "@!{is_first} bra {scanned}");
        let (of_all, address) = (self.w.param(3), self.w.temporary(Class::B64));
        ptx!(self.w, "mov.u32 {count}, 0");
        ptx!(self.w, "mad.wide.u32 {address}, {}, 4, {of_all}", self.thread);
        ptx!(self.w, "@!{is_none} ld.global.nc.u32 {count}, [{address}]");
        ptx!(self.w, "bar.sync 0");
        self.sum_before(base, count);
        self.w.put_label(scanned);
        ptx!(self.w, "@{is_none} bra {placed}");
        let end = self.w.temporary(Class::B32);
        ptx!(self.w, "mov.u32 {end}, {start}");
        for warp in 0..WARPS {
            ptx!(self.w, "ld.shared.u32 {count}, [{bin}+{}]", COUNTS * warp);
            ptx!(self.w, "st.shared.u32 [{bin}+{}], {end}", COUNTS * warp);
            ptx!(self.w, "add.u32 {end}, {end}, {count}");
        }
        ptx!(self.w, "@{is_first} bra {is_known}");
        self.look_back(state, tag, base);
        self.w.put_label(is_known);
        ptx!(self.w, "sub.u32 {count}, {base}, {start}");
        ptx!(self.w, "st.shared.u32 [{bin}+{}], {count}", self.offsets);
        ptx!(self.w, "add.u32 {base}, {base}, {total}");
        ptx!(self.w, "add.u64 {tag}, {tag}, 1");
        self.tell(state, tag, base);
        self.w.put_label(placed);
        ptx!(self.w, "bar.sync 0");
        let counts = self.counts_of_warp();
        for i in 0..self.lanes {
            self.digit(bin, bits.next(i));
            ptx!(self.w, "mad.lo.u32 {bin}, {bin}, 4, {counts}");
            ptx!(self.w, "ld.shared.u32 {count}, [{bin}]");
            ptx!(self.w, "add.u32 {place}, {place}, {count}", place = places.next(i));
        }
        ptx!(self.w, "bar.sync 0");
        self.w.release_to(mark);
    }

    /// A state becomes a number of lanes, and what it is.
    fn tell(&mut self, state: Name, tag: Name, n: Name) {
        let mark = self.w.mark();
        let (what, word) = (self.w.temporary(Class::B32), self.w.temporary(Class::B64));
        ptx!(self.w, "cvt.u32.u64 {what}, {tag}");
        ptx!(self.w, "mov.b64 {word}, {{{n}, {what}}}");
        ptx!(self.w, "st.relaxed.gpu.global.u64 [{state}], {word}");
        self.w.release_to(mark);
    }

    /// Adds the lanes of the tiles before, up to one that knows where its own end.
    fn look_back(&mut self, state: Name, tag: Name, base: Name) {
        let mark = self.w.mark();
        let [before, word, counted] = [(); 3].map(|()| self.w.temporary(Class::B64));
        let (n, again) = (self.w.temporary(Class::B32), self.w.new_label());
        let (goes_on, is_late) = (self.w.temporary(Class::Pred), self.w.temporary(Class::Pred));
        ptx!(self.w, "sub.u64 {before}, {state}, {STATES}");
        self.w.put_label(again);
        ptx!(self.w, "ld.relaxed.gpu.global.u64 {word}, [{before}]");
        ptx!(self.w, "shr.u64 {counted}, {word}, 32");
        ptx!(self.w, "setp.lt.u64 {is_late}, {counted}, {tag}");
        ptx!(self.w, "@{is_late} bra {again}");
        ptx!(self.w, "cvt.u32.u64 {n}, {word}");
        ptx!(self.w, "add.u32 {base}, {base}, {n}");
        ptx!(self.w, "setp.eq.u64 {goes_on}, {counted}, {tag}");
        ptx!(self.w, "@{goes_on} sub.u64 {before}, {before}, {STATES}");
        ptx!(self.w, "@{goes_on} bra {again}");
        self.w.release_to(mark);
    }

    /// `sum = ` that of the threads before this one. Shared memory for the sums of warps is free before.
    fn sum_before(&mut self, sum: Name, n: Name) {
        let mark = self.w.mark();
        let [warp, other, words] = [(); 3].map(|()| self.w.temporary(Class::B32));
        let is_before = self.w.temporary(Class::Pred);
        ptx!(self.w, "mov.u32 {words}, words");
        ptx!(self.w, "shr.u32 {warp}, {}, {}", self.thread, WARP.ilog2());
        ptx!(self.w, "mov.u32 {sum}, {n}");
        for distance in [1, 2, 4, 8, 16] {
            ptx!(self.w, "shfl.sync.up.b32 {other}, {sum}, {distance}, 0, 0xffffffff");
            ptx!(self.w, "setp.ge.u32 {is_before}, {}, {distance}", self.in_warp);
            ptx!(self.w, "@{is_before} add.u32 {sum}, {sum}, {other}");
        }
        ptx!(self.w, "setp.eq.u32 {is_before}, {}, {}", self.in_warp, WARP - 1);
        ptx!(self.w, "mad.lo.u32 {other}, {warp}, 4, {words}");
        ptx!(self.w, "@{is_before} st.shared.u32 [{other}+{}], {sum}", self.sums);
        ptx!(self.w, "sub.u32 {sum}, {sum}, {n}");
        ptx!(self.w, "bar.sync 0");
        for before in 0..WARPS - 1 {
            ptx!(self.w, "setp.gt.u32 {is_before}, {warp}, {before}");
            ptx!(self.w, "ld.shared.u32 {other}, [{words}+{}]", self.sums + 4 * before);
            ptx!(self.w, "@{is_before} add.u32 {sum}, {sum}, {other}");
        }
        self.w.release_to(mark);
    }

    /// Moves lanes and numbers, by way of their places in the tile.
    fn exchange(&mut self, first: Name, own: Name, here: Name, bits: Name, places: Name) {
        let (raw, n) = (self.raw, self.lanes);
        let targets = self.w.values(DType::U32, 2 * n, n);
        let [words, place, digit, count] = [(); 4].map(|()| self.w.temporary(Class::B32));
        let [lane, address, wide] = [(); 3].map(|()| self.w.temporary(Class::B64));
        let [within, moves_lanes] = [(); 2].map(|()| self.w.temporary(Class::Pred));
        let [is_done, in_place] = [(); 2].map(|()| self.w.new_label());
        ptx!(self.w, "mov.u32 {words}, words");
        for i in 0..n {
            let mark = self.w.mark();
            self.within(within, i, own, here);
            ptx!(self.w, "mad.lo.u32 {place}, {}, {}, {words}", places.next(i), raw.bytes());
            ptx!(self.w, "@{within} st.shared.{} [{place}], {}", raw.ptx(), bits.next(i));
            self.w.release_to(mark);
        }
        ptx!(self.w, "bar.sync 0");
        let value = self.w.temporary_of(raw);
        ptx!(self.w, "setp.ne.u64 {moves_lanes}, {}, 0", self.lanes_to);
        for i in 0..n {
            let target = targets.next(i);
            ptx!(self.w, "add.u32 {place}, {}, {}", self.thread, THREADS * i);
            ptx!(self.w, "setp.lt.and.u32 {within}, {place}, {here}, {moves_lanes}");
            ptx!(self.w, "mad.lo.u32 {count}, {place}, {}, {words}", raw.bytes());
            ptx!(self.w, "ld.shared.{} {value}, [{count}]", raw.ptx());
            self.digit(digit, value);
            ptx!(self.w, "mad.lo.u32 {digit}, {digit}, 4, {words}");
            ptx!(self.w, "ld.shared.u32 {target}, [{digit}+{}]", self.offsets);
            ptx!(self.w, "add.u32 {target}, {target}, {place}");
            ptx!(self.w, "cvt.u64.u32 {wide}, {target}");
            self.w.set_element_address(raw, address, self.lanes_to, wide);
            ptx!(self.w, "@{within} st.global.{} [{address}], {value}", raw.ptx());
        }
        self.unless(self.numbers_to, is_done);
        ptx!(self.w, "bar.sync 0");
        ptx!(self.w, "mad.wide.u32 {lane}, {own}, 1, {first}");
        // Bits are not needed any more.
        let numbers = targets.next(n);
        self.w.values(DType::U32, 3 * n, n);
        self.w.set_element_address(DType::U32, address, self.numbers_from, lane);
        ptx!(self.w, "cvt.u32.u64 {count}, {lane}");
        for i in 0..n {
            ptx!(self.w, "add.u32 {}, {count}, {}", numbers.next(i), WARP * i);
        }
        self.unless(self.numbers_from, in_place);
        for i in 0..n {
            let mark = self.w.mark();
            self.within(within, i, own, here);
            let at = 4 * WARP * i;
            ptx!(self.w, "@{within} ld.global.nc.u32 {}, [{address}+{at}]", numbers.next(i));
            self.w.release_to(mark);
        }
        self.w.put_label(in_place);
        for i in 0..n {
            let mark = self.w.mark();
            self.within(within, i, own, here);
            ptx!(self.w, "mad.lo.u32 {place}, {}, 4, {words}", places.next(i));
            ptx!(self.w, "@{within} st.shared.u32 [{place}], {}", numbers.next(i));
            self.w.release_to(mark);
        }
        ptx!(self.w, "bar.sync 0");
        for i in 0..n {
            ptx!(self.w, "add.u32 {place}, {}, {}", self.thread, THREADS * i);
            ptx!(self.w, "setp.lt.u32 {within}, {place}, {here}");
            ptx!(self.w, "mad.lo.u32 {place}, {place}, 4, {words}");
            ptx!(self.w, "ld.shared.u32 {count}, [{place}]");
            ptx!(self.w, "cvt.u64.u32 {wide}, {}", targets.next(i));
            self.w.set_element_address(DType::U32, address, self.numbers_to, wide);
            ptx!(self.w, "@{within} st.global.u32 [{address}], {count}");
        }
        self.w.put_label(is_done);
    }
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
    /// `digit = ` the lowest one of a key, of bits of a type.
    fn low_digit(&mut self, raw: DType, digit: Name, key: Name) {
        match raw.bytes() {
            8 => ptx!(self, "cvt.u32.u64 {digit}, {key}"),
            _ => ptx!(self, "mov.b32 {digit}, {key}"),
        }
        ptx!(self, "and.b32 {digit}, {digit}, {}", BUCKETS - 1);
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
