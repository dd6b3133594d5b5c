//! The entry that sorts short rows, each by itself: a block has as many as its shared memory holds, with the numbers of
//! their lanes, which make equal ones differ and the order stable.
//!
//! Rows are filled up to a power of two, behind which comes what is in no row. Runs of k/2 slots, sorted, become runs of k
//! as in Batcher's bitonic sort: slots are compared with those that mirror them in the run, then with those at distances
//! k/4, k/8 … 1, so that the smaller always comes first. A thread has four slots, which are two distances at once.
#![deny(clippy::wildcard_enum_match_arm)]

use super::scan::params;
use super::sort::raw;
use super::writer::{Class, Name, Writer, ptx};
use crate::dtype::DType;
use crate::ir::primitive::Order;

/// Slots of a block, and so the longest row.
pub(in super::super) const SLOTS: u32 = 4096;
/// Threads of a block: slots that a thread has at once.
pub(super) const THREADS: u32 = SLOTS / AT_ONCE;
const AT_ONCE: u32 = 4;

/// Where slots, or one, are in shared memory: keys of 64 bits, and behind them numbers, unless a key's lower half is it.
#[derive(Clone, Copy)]
struct Slots {
    keys: Name,
    numbers: Option<Name>,
}

/// What is in a slot.
#[derive(Clone, Copy)]
struct Held {
    key: Name,
    number: Option<Name>,
}

/// Words of parameters: number of lanes, lanes of a row, the power of two that has as many, address of the lanes, address
/// of the sorted ones (0: they are not wanted), address of their numbers in the row, u32 (0: likewise). A block for as
/// many rows as fit.
pub(super) fn sort_rows(dtype: DType, order: Order, name: &str) -> String {
    let (mut w, raw) = (Writer::default(), raw(dtype));
    let is_wide = raw.bytes() == 8;
    w.shared_words = SLOTS + if is_wide { SLOTS / 2 } else { 0 };
    let [n, extent, bits, x, lanes_to, numbers_to] = [0, 1, 2, 3, 4, 5].map(|word| w.param(word));
    let [thread, all, run, distance] = [(); 4].map(|()| w.temporary(Class::B32));
    let slots = {
        let keys = w.temporary(Class::B32);
        ptx!(w, "mov.u32 {keys}, words");
        let numbers = is_wide.then(|| w.temporary(Class::B32));
        if let Some(numbers) = numbers {
            ptx!(w, "add.u32 {numbers}, {keys}, {}", 8 * SLOTS);
        }
        Slots { keys, numbers }
    };
    let rows = Rows::of(&mut w, extent, bits, thread);
    ptx!(w, "mov.u32 {thread}, %tid.x");
    ptx!(w, "mov.u32 {all}, 1");
    ptx!(w, "shl.b32 {all}, {all}, {}", rows.bits);
    let kept = w.mark();
    for i in 0..AT_ONCE {
        let place = rows.place(&mut w, i, n);
        let (lane_bits, key) = (w.temporary_of(raw), w.temporary(Class::B64));
        let own = w.temporary_of(raw);
        let address = w.element_address(raw, x, place.lane);
        w.set(raw.widened(), lane_bits, 0);
        ptx!(w, "@{} ld.global.nc.{} {lane_bits}, [{address}]", place.within, raw.ptx());
        w.key(dtype, order, own, lane_bits);
        match is_wide {
            true => ptx!(w, "mov.b64 {key}, {own}"),
            false => ptx!(w, "mov.b64 {key}, {{{}, {own}}}", place.number),
        }
        ptx!(w, "selp.b64 {key}, {key}, -1, {}", place.within);
        let number = slots.numbers.map(|_| place.number);
        let slot = w.slot(slots, place.slot);
        w.put(slot, Held { key, number });
        w.release_to(kept);
    }
    let [longer, closer, singly, done] = [(); 4].map(|()| w.new_label());
    let is_done = w.temporary(Class::Pred);
    let kept = w.mark();
    ptx!(w, "mov.u32 {run}, 2");
    ptx!(w, "bra {singly}");
    w.put_label(longer);
    ptx!(w, "shl.b32 {run}, {run}, 1");
    ptx!(w, "setp.gt.u32 {is_done}, {run}, {all}");
    ptx!(w, "@{is_done} bra {done}");
    // Slots and those that mirror them, then those at a quarter of the run.
    ptx!(w, "shr.u32 {distance}, {run}, 2");
    let [first, start, second, third, last] = [(); 5].map(|()| w.temporary(Class::B32));
    w.first_slot(thread, distance, first, start);
    ptx!(w, "add.u32 {second}, {first}, {distance}");
    // Twice the run's start, its length less one, less the first slot.
    ptx!(w, "shl.b32 {last}, {start}, 1");
    ptx!(w, "add.u32 {last}, {last}, {run}");
    ptx!(w, "sub.u32 {last}, {last}, 1");
    ptx!(w, "sub.u32 {last}, {last}, {first}");
    ptx!(w, "sub.u32 {third}, {last}, {distance}");
    w.exchange_four(slots, [first, second, third, last], &[(0, 3), (1, 2), (0, 1), (2, 3)]);
    ptx!(w, "shr.u32 {distance}, {run}, 3");
    w.put_label(closer);
    ptx!(w, "setp.eq.u32 {is_done}, {distance}, 0");
    ptx!(w, "@{is_done} bra {longer}");
    ptx!(w, "setp.eq.u32 {is_done}, {distance}, 1");
    ptx!(w, "@{is_done} bra {singly}");
    // Two distances, of which the second is half of the first.
    let half = w.temporary(Class::B32);
    ptx!(w, "shr.u32 {half}, {distance}, 1");
    w.first_slot(thread, half, first, start);
    ptx!(w, "add.u32 {second}, {first}, {half}");
    ptx!(w, "add.u32 {third}, {first}, {distance}");
    ptx!(w, "add.u32 {last}, {third}, {half}");
    w.exchange_four(slots, [first, second, third, last], &[(0, 2), (1, 3), (0, 1), (2, 3)]);
    ptx!(w, "shr.u32 {distance}, {distance}, 2");
    ptx!(w, "bra {closer}");
    w.put_label(singly);
    ptx!(w, "shl.b32 {first}, {thread}, 2");
    ptx!(w, "add.u32 {second}, {first}, 1");
    ptx!(w, "add.u32 {third}, {first}, 2");
    ptx!(w, "add.u32 {last}, {first}, 3");
    w.exchange_four(slots, [first, second, third, last], &[(0, 1), (2, 3)]);
    ptx!(w, "bra {longer}");
    w.put_label(done);
    w.release_to(kept);
    ptx!(w, "bar.sync 0");
    let [moves_lanes, moves_numbers] = [lanes_to, numbers_to].map(|address| {
        let moves = w.temporary(Class::Pred);
        ptx!(w, "setp.ne.u64 {moves}, {address}, 0");
        moves
    });
    for i in 0..AT_ONCE {
        let kept = w.mark();
        let place = rows.place(&mut w, i, n);
        let [next, no_lanes] = [(); 2].map(|()| w.new_label());
        ptx!(w, "@!{} bra {next}", place.within);
        let slot = w.slot(slots, place.slot);
        let held = w.take(slot);
        let number = held.number.unwrap_or_else(|| {
            let (number, above) = (w.temporary(Class::B32), w.temporary(Class::B32));
            ptx!(w, "mov.b64 {{{number}, {above}}}, {}", held.key);
            number
        });
        ptx!(w, "@!{moves_lanes} bra {no_lanes}");
        let (lane, value) = (w.temporary(Class::B64), w.temporary_of(raw));
        ptx!(w, "cvt.u64.u32 {lane}, {number}");
        ptx!(w, "add.u64 {lane}, {lane}, {}", place.start);
        let from = w.element_address(raw, x, lane);
        ptx!(w, "ld.global.nc.{} {value}, [{from}]", raw.ptx());
        let to = w.element_address(raw, lanes_to, place.lane);
        ptx!(w, "st.global.{} [{to}], {value}", raw.ptx());
        w.put_label(no_lanes);
        ptx!(w, "@!{moves_numbers} bra {next}");
        let to = w.element_address(DType::U32, numbers_to, place.lane);
        ptx!(w, "st.global.u32 [{to}], {number}");
        w.put_label(next);
        w.release_to(kept);
    }
    w.finish(name, &[params(6)])
}

/// How the slots of a block are rows.
struct Rows {
    thread: Name,
    extent: Name,
    /// The power of two that they are filled up to.
    bits: Name,
    /// The block's first row.
    first: Name,
}

/// A slot as a place in a row.
struct Entry {
    slot: Name,
    /// Its number in the row.
    number: Name,
    /// The row's first lane, and the slot's.
    start: Name,
    lane: Name,
    /// Whether there is such a lane.
    within: Name,
}

impl Rows {
    fn of(w: &mut Writer, extent: Name, bits: Name, thread: Name) -> Self {
        let (short, first) = (w.temporary(Class::B32), w.temporary(Class::B64));
        let [block, n] = [(); 2].map(|()| w.temporary(Class::B32));
        ptx!(w, "cvt.u32.u64 {short}, {bits}");
        ptx!(w, "mov.u32 {block}, %ctaid.x");
        ptx!(w, "mov.u32 {n}, {SLOTS}");
        ptx!(w, "shr.u32 {n}, {n}, {short}");
        ptx!(w, "mul.wide.u32 {first}, {block}, {n}");
        Self { thread, extent, bits: short, first }
    }

    /// The thread's i-th slot.
    fn place(&self, w: &mut Writer, i: u32, n: Name) -> Entry {
        let [slot, row, number, mask] = [(); 4].map(|()| w.temporary(Class::B32));
        let [start, lane, wide] = [(); 3].map(|()| w.temporary(Class::B64));
        let [within, has_lane] = [(); 2].map(|()| w.temporary(Class::Pred));
        let Self { thread, extent, bits, first } = self;
        ptx!(w, "add.u32 {slot}, {thread}, {}", i * THREADS);
        ptx!(w, "shr.u32 {row}, {slot}, {bits}");
        ptx!(w, "shl.b32 {mask}, {row}, {bits}");
        ptx!(w, "sub.u32 {number}, {slot}, {mask}");
        ptx!(w, "cvt.u64.u32 {start}, {row}");
        ptx!(w, "add.u64 {start}, {start}, {first}");
        ptx!(w, "mul.lo.u64 {start}, {start}, {extent}");
        ptx!(w, "cvt.u64.u32 {wide}, {number}");
        ptx!(w, "add.u64 {lane}, {start}, {wide}");
        ptx!(w, "setp.lt.u64 {has_lane}, {lane}, {n}");
        ptx!(w, "setp.lt.and.u64 {within}, {wide}, {extent}, {has_lane}");
        Entry { slot, number, start, lane, within }
    }
}

impl Writer {
    /// The first of a thread's four slots where those of neighbouring threads are beside it, `distance` of them; and where
    /// its run of four times as many starts.
    fn first_slot(&mut self, thread: Name, distance: Name, first: Name, start: Name) {
        ptx!(self, "sub.u32 {start}, {distance}, 1");
        ptx!(self, "and.b32 {first}, {thread}, {start}");
        ptx!(self, "sub.u32 {start}, {thread}, {first}");
        ptx!(self, "shl.b32 {start}, {start}, 2");
        ptx!(self, "add.u32 {first}, {first}, {start}");
    }

    /// Exchanges what is in pairs of four slots, one pair after the other, so that the smaller is in the first.
    fn exchange_four(&mut self, slots: Slots, places: [Name; 4], pairs: &[(usize, usize)]) {
        let kept = self.mark();
        ptx!(self, "bar.sync 0");
        let slots = places.map(|place| self.slot(slots, place));
        let mut held = slots.map(|slot| self.take(slot));
        for &(low, high) in pairs {
            (held[low], held[high]) = self.in_order(held[low], held[high]);
        }
        slots.into_iter().zip(held).for_each(|(slot, held)| self.put(slot, held));
        self.release_to(kept);
    }

    /// The smaller and the larger of two.
    fn in_order(&mut self, a: Held, b: Held) -> (Held, Held) {
        let [low, high] = [(); 2].map(|()| self.temporary(Class::B64));
        let (Some(x), Some(y)) = (a.number, b.number) else {
            ptx!(self, "min.u64 {low}, {}, {}", a.key, b.key);
            ptx!(self, "max.u64 {high}, {}, {}", a.key, b.key);
            return (Held { key: low, number: None }, Held { key: high, number: None });
        };
        let [less, later] = [(); 2].map(|()| self.temporary(Class::Pred));
        let [first, second] = [(); 2].map(|()| self.temporary(Class::B32));
        ptx!(self, "setp.gt.u32 {later}, {x}, {y}");
        ptx!(self, "setp.eq.and.u64 {later}, {}, {}, {later}", a.key, b.key);
        ptx!(self, "setp.gt.or.u64 {less}, {}, {}, {later}", a.key, b.key);
        ptx!(self, "selp.b64 {low}, {}, {}, {less}", b.key, a.key);
        ptx!(self, "selp.b64 {high}, {}, {}, {less}", a.key, b.key);
        ptx!(self, "selp.b32 {first}, {y}, {x}, {less}");
        ptx!(self, "selp.b32 {second}, {x}, {y}, {less}");
        (Held { key: low, number: Some(first) }, Held { key: high, number: Some(second) })
    }

    /// Where a place is: what 16 threads have at once, at any distance, lies in 16 different pairs of banks of shared
    /// memory, since two bits of the place turn the four that choose the pair.
    fn slot(&mut self, slots: Slots, place: Name) -> Slots {
        let [turned, bank, keys] = [(); 3].map(|()| self.temporary(Class::B32));
        ptx!(self, "bfe.u32 {turned}, {place}, 4, 2");
        ptx!(self, "mul.lo.u32 {turned}, {turned}, 5");
        ptx!(self, "xor.b32 {bank}, {place}, {turned}");
        ptx!(self, "mad.lo.u32 {keys}, {bank}, 8, {}", slots.keys);
        let numbers = slots.numbers.map(|first| {
            let numbers = self.temporary(Class::B32);
            ptx!(self, "mad.lo.u32 {numbers}, {bank}, 4, {first}");
            numbers
        });
        Slots { keys, numbers }
    }

    /// What is in a slot.
    fn take(&mut self, slot: Slots) -> Held {
        let key = self.temporary(Class::B64);
        ptx!(self, "ld.shared.u64 {key}, [{}]", slot.keys);
        let number = slot.numbers.map(|numbers| {
            let number = self.temporary(Class::B32);
            ptx!(self, "ld.shared.u32 {number}, [{numbers}]");
            number
        });
        Held { key, number }
    }

    fn put(&mut self, slot: Slots, held: Held) {
        ptx!(self, "st.shared.u64 [{}], {}", slot.keys, held.key);
        if let (Some(numbers), Some(number)) = (slot.numbers, held.number) {
            ptx!(self, "st.shared.u32 [{numbers}], {number}");
        }
    }
}
