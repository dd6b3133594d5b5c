//! The entry that looks for values along the middle axis of lanes `[outer, extent, inner]`.
//!
//! A thread looks at a few entries of a line. Where those of a line are neighbours, neighbouring threads do.
#![deny(clippy::wildcard_enum_match_arm)]

use super::scan::params;
use super::writer::{Class, Name, Writer, ptx, untyped};
use crate::dtype::DType;

/// Entries that a thread looks at.
const ENTRIES: u64 = 16;
/// Threads whose entries are neighbours, where those of a line are.
const WARP: u64 = 32;

/// How many threads look at a line.
pub(in super::super) fn parts(extent: u64, is_line: bool) -> u64 {
    let together = if is_line { WARP } else { 1 };
    extent.div_ceil(ENTRIES * together) * together
}

/// Words of parameters: number of threads, address of the lanes, which are bits of a type, extent, columns, address of the
/// values, threads of a line, address of what becomes the place that each thread finds, the largest u32 if it finds none.
pub(super) fn places(dtype: DType, is_line: bool, name: &str) -> String {
    let mut w = Writer::default();
    let step = if is_line { WARP } else { 1 };
    let thread = w.lane_of_thread();
    let [x, extent, inner, values, n_parts, target] = [1, 2, 3, 4, 5, 6].map(|word| w.param(word));
    let [column, outer, first, rest, bytes] = [(); 5].map(|()| w.temporary(Class::B64));
    ptx!(w, "div.u64 {rest}, {thread}, {inner}");
    ptx!(w, "mul.lo.u64 {column}, {rest}, {inner}");
    ptx!(w, "sub.u64 {column}, {thread}, {column}");
    ptx!(w, "div.u64 {outer}, {rest}, {n_parts}");
    ptx!(w, "mul.lo.u64 {first}, {outer}, {n_parts}");
    ptx!(w, "sub.u64 {first}, {rest}, {first}");
    // The value of the line.
    ptx!(w, "mad.lo.u64 {rest}, {outer}, {inner}, {column}");
    let value = w.temporary_of(dtype.widened());
    let at = w.element_address(dtype, values, rest);
    ptx!(w, "ld.global.nc.{} {value}, [{at}]", dtype.ptx());
    // The first entry: of a warp those behind it are the others' first ones.
    if is_line {
        ptx!(w, "and.b64 {rest}, {first}, {}", WARP - 1);
        ptx!(w, "sub.u64 {first}, {first}, {rest}");
        ptx!(w, "mad.lo.u64 {first}, {first}, {ENTRIES}, {rest}");
    } else {
        ptx!(w, "mul.lo.u64 {first}, {first}, {ENTRIES}");
    }
    ptx!(w, "mad.lo.u64 {rest}, {outer}, {extent}, {first}");
    ptx!(w, "mad.lo.u64 {rest}, {rest}, {inner}, {column}");
    let address = w.element_address(dtype, x, rest);
    ptx!(w, "mul.lo.u64 {bytes}, {inner}, {}", step * dtype.bytes() as u64);
    // Entries from there on, which may be none.
    ptx!(w, "sub.u64 {rest}, {extent}, {first}");
    let entries: Vec<(Name, Name)> = (0..ENTRIES)
        .map(|i| {
            let (entry, there) = (w.temporary_of(dtype.widened()), w.temporary(Class::Pred));
            ptx!(w, "setp.gt.s64 {there}, {rest}, {}", i * step);
            w.set(dtype.widened(), entry, 0);
            ptx!(w, "@{there} ld.global.nc.{} {entry}, [{address}]", dtype.ptx());
            ptx!(w, "add.u64 {address}, {address}, {bytes}");
            (entry, there)
        })
        .collect();
    let [place, start, own] = [(); 3].map(|()| w.temporary(Class::B32));
    ptx!(w, "mov.b32 {place}, {}", u32::MAX);
    ptx!(w, "cvt.u32.u64 {start}, {first}");
    let same = w.temporary(Class::Pred);
    // From the last to the first, which stays.
    let mut behind = ENTRIES;
    for (entry, there) in entries.into_iter().rev() {
        behind -= 1;
        ptx!(w, "setp.eq.and.{} {same}, {entry}, {value}, {there}", untyped(dtype.widened()));
        ptx!(w, "add.u32 {own}, {start}, {}", behind * step);
        ptx!(w, "selp.b32 {place}, {own}, {place}, {same}");
    }
    let address = w.element_address(DType::U32, target, thread);
    ptx!(w, "st.global.u32 [{address}], {place}");
    w.finish(name, &[params(7)])
}
