//! Entries for counters that lanes read and increment one after the other, without running them so: lanes are sorted
//! by the element that they count, stably, so that those of one element stand in lane order. What a lane finds is
//! the element and as much more as lanes of it stand before. And those for sorts of rows, which number lanes.
#![deny(clippy::wildcard_enum_match_arm)]

use super::scan::params;
use super::sort::raw;
use super::writer::{Class, Name, Writer, ptx};
use crate::dtype::DType;

/// Threads of a block, one a lane.
pub(in super::super) const THREADS: u32 = 256;

/// Words of parameters: number of lanes, address of the indices (u64) and bytes from one lane's to the next, address
/// of a mask (0: all lanes count) and bytes as well, number of elements, address of what becomes the element of each
/// lane, a u32: the number of elements if it has none.
pub(super) fn counted_elements(name: &str) -> String {
    let mut w = Writer::default();
    let lane = w.lane_of_thread();
    let [indices, step, mask, mask_step, n_elements, result] =
        [1, 2, 3, 4, 5, 6].map(|i| w.param(i));
    let [address, element] = [(); 2].map(|()| w.temporary(Class::B64));
    let short = w.temporary(Class::B32);
    let [all, off] = [(); 2].map(|()| w.temporary(Class::Pred));
    let known = w.new_label();
    ptx!(w, "mad.lo.u64 {address}, {lane}, {step}, {indices}");
    ptx!(w, "ld.global.nc.u64 {element}, [{address}]");
    ptx!(w, "min.u64 {element}, {element}, {n_elements}");
    ptx!(w, "setp.eq.u64 {all}, {mask}, 0");
    ptx!(w, "@{all} bra {known}");
    ptx!(w, "mad.lo.u64 {address}, {lane}, {mask_step}, {mask}");
    ptx!(w, "ld.global.nc.u8 {short}, [{address}]");
    ptx!(w, "and.b32 {short}, {short}, 1");
    ptx!(w, "setp.eq.u32 {off}, {short}, 0");
    ptx!(w, "selp.b64 {element}, {n_elements}, {element}, {off}");
    w.put_label(known);
    ptx!(w, "cvt.u32.u64 {short}, {element}");
    w.set_element_address(DType::U32, address, result, lane);
    ptx!(w, "st.global.u32 [{address}], {short}");
    w.finish(name, &[params(7)])
}

/// Words of parameters: number of lanes, address of their elements in ascending order (u32) and of the numbers of the
/// lanes in that order (u32), number of elements, address of the counters, address of the result.
pub(super) fn increments(dtype: DType, name: &str) -> String {
    let mut w = Writer::default();
    let raw = raw(dtype);
    let place = w.lane_of_thread();
    let [elements, numbers, n_elements, counters, result] = [1, 2, 3, 4, 5].map(|i| w.param(i));
    let [short, other] = [(); 2].map(|()| w.temporary(Class::B32));
    let [element, lane, from, to, middle, address] = [(); 6].map(|()| w.temporary(Class::B64));
    let [ends, before] = [(); 2].map(|()| w.temporary(Class::Pred));
    let [again, found, stored] = [(); 3].map(|()| w.new_label());
    let [count, value] = [(); 2].map(|()| w.temporary_of(raw.widened()));
    w.set_element_address(DType::U32, address, numbers, place);
    ptx!(w, "ld.global.nc.u32 {short}, [{address}]");
    ptx!(w, "cvt.u64.u32 {lane}, {short}");
    w.set_element_address(DType::U32, address, elements, place);
    ptx!(w, "ld.global.nc.u32 {short}, [{address}]");
    ptx!(w, "cvt.u64.u32 {element}, {short}");
    w.set(raw.widened(), value, 0);
    ptx!(w, "setp.ge.u64 {ends}, {element}, {n_elements}");
    ptx!(w, "@{ends} bra {stored}");
    // The first lane of the element stands at `from` or behind, at `to` or before.
    ptx!(w, "mov.u64 {from}, 0");
    ptx!(w, "mov.u64 {to}, {place}");
    w.put_label(again);
    ptx!(w, "setp.ge.u64 {ends}, {from}, {to}");
    ptx!(w, "@{ends} bra {found}");
    ptx!(w, "add.u64 {middle}, {from}, {to}");
    ptx!(w, "shr.u64 {middle}, {middle}, 1");
    w.set_element_address(DType::U32, address, elements, middle);
    ptx!(w, "ld.global.nc.u32 {other}, [{address}]");
    ptx!(w, "setp.lt.u32 {before}, {other}, {short}");
    ptx!(w, "selp.b64 {to}, {to}, {middle}, {before}");
    ptx!(w, "add.u64 {middle}, {middle}, 1");
    ptx!(w, "selp.b64 {from}, {middle}, {from}, {before}");
    ptx!(w, "bra {again}");
    w.put_label(found);
    ptx!(w, "sub.u64 {from}, {place}, {from}");
    w.set_element_address(raw, address, counters, element);
    ptx!(w, "ld.global.nc.{} {value}, [{address}]", raw.ptx());
    match raw.bytes() {
        8 => ptx!(w, "mov.b64 {count}, {from}"),
        _ => ptx!(w, "cvt.u32.u64 {count}, {from}"),
    }
    ptx!(w, "add.{} {value}, {value}, {count}", raw.widened().ptx());
    w.put_label(stored);
    w.set_element_address(raw, address, result, lane);
    ptx!(w, "st.global.{} [{address}], {value}", raw.ptx());
    w.finish(name, &[params(6)])
}

/// Words of parameters: number of lanes, address of lane numbers (u32), lanes of a row, address of the result (u32).
pub(super) fn by_rows(operation: &str, name: &str) -> String {
    let mut w = Writer::default();
    let place = w.lane_of_thread();
    let [numbers, extent, result] = [1, 2, 3].map(|i| w.param(i));
    let [number, short] = [(); 2].map(|()| w.temporary(Class::B32));
    let address = w.temporary(Class::B64);
    ptx!(w, "cvt.u32.u64 {short}, {extent}");
    w.set_element_address(DType::U32, address, numbers, place);
    ptx!(w, "ld.global.nc.u32 {number}, [{address}]");
    ptx!(w, "{operation}.u32 {number}, {number}, {short}");
    w.set_element_address(DType::U32, address, result, place);
    ptx!(w, "st.global.u32 [{address}], {number}");
    w.finish(name, &[params(4)])
}

/// Words of parameters: number of lanes, address of lane numbers (u32), address of lanes, address of the result.
pub(super) fn picked(raw: DType, name: &str) -> String {
    let mut w = Writer::default();
    let place = w.lane_of_thread();
    let [numbers, lanes, result] = [1, 2, 3].map(|i| w.param(i));
    let (number, bits) = (w.temporary(Class::B32), w.temporary_of(raw.widened()));
    let [lane, address] = [(); 2].map(|()| w.temporary(Class::B64));
    w.set_element_address(DType::U32, address, numbers, place);
    ptx!(w, "ld.global.nc.u32 {number}, [{address}]");
    ptx!(w, "cvt.u64.u32 {lane}, {number}");
    w.set_element_address(raw, address, lanes, lane);
    ptx!(w, "ld.global.nc.{} {bits}, [{address}]", raw.ptx());
    w.set_element_address(raw, address, result, place);
    ptx!(w, "st.global.{} [{address}], {bits}", raw.ptx());
    w.finish(name, &[params(4)])
}

impl Writer {
    /// The lane of this thread; a thread without one ends.
    pub(super) fn lane_of_thread(&mut self) -> Name {
        let [block, thread] = [(); 2].map(|()| self.temporary(Class::B32));
        let (lane, beyond) = (self.temporary(Class::B64), self.temporary(Class::Pred));
        let n = self.param(0);
        ptx!(self, "mov.u32 {block}, %ctaid.x");
        ptx!(self, "mov.u32 {thread}, %tid.x");
        ptx!(self, "mul.wide.u32 {lane}, {block}, {THREADS}");
        ptx!(self, "mad.wide.u32 {lane}, {thread}, 1, {lane}");
        ptx!(self, "setp.ge.u64 {beyond}, {lane}, {n}");
        ptx!(self, "@{beyond} ret");
        lane
    }
}
