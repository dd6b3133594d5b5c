//! The entry that turns matrices: a tile passes through shared memory, so that neighbouring threads read neighbours and
//! write neighbours.
#![deny(clippy::wildcard_enum_match_arm)]

use super::scan::params;
use super::writer::{Class, Guard, Name, Writer, ptx};
use crate::dtype::DType;

/// Rows and columns of a tile: a thread for each column, or row.
pub(in super::super) const SIDE: u32 = 32;
/// Threads of a block.
pub(super) const THREADS: u32 = 256;
/// Lanes of shared memory from a row of the tile to the next: those of a column lie in different banks.
const STEP: u32 = SIDE + 1;

/// Words of parameters: address of the lanes, which are bits of a type, rows and columns of a matrix, tiles from top to
/// bottom and from left to right, address of the result. A block a tile.
pub(super) fn turned(dtype: DType, name: &str) -> String {
    let mut w = Writer::default();
    let bytes = dtype.bits() / 8;
    w.shared_words = (SIDE * STEP * bytes).div_ceil(8);
    let [x, rows, columns, down, across, result] = [0, 1, 2, 3, 4, 5].map(|word| w.param(word));
    let [thread, row, block, n, quotient, slot] = [(); 6].map(|()| w.temporary(Class::B32));
    let first = w.temporary(Class::B64);
    ptx!(w, "mov.u32 {thread}, %tid.x");
    ptx!(w, "shr.u32 {row}, {thread}, {}", SIDE.ilog2());
    ptx!(w, "and.b32 {thread}, {thread}, {}", SIDE - 1);
    ptx!(w, "mov.u32 {block}, %ctaid.x");
    // The tile's first column and row, and the matrix' first lane.
    let [left, top] = [across, down].map(|extent| {
        let start = w.temporary(Class::B64);
        ptx!(w, "cvt.u32.u64 {n}, {extent}");
        ptx!(w, "div.u32 {quotient}, {block}, {n}");
        ptx!(w, "mul.lo.u32 {n}, {quotient}, {n}");
        ptx!(w, "sub.u32 {n}, {block}, {n}");
        ptx!(w, "mov.u32 {block}, {quotient}");
        ptx!(w, "mul.wide.u32 {start}, {n}, {SIDE}");
        start
    });
    ptx!(w, "cvt.u64.u32 {first}, {block}");
    ptx!(w, "mul.lo.u64 {first}, {first}, {rows}");
    ptx!(w, "mul.lo.u64 {first}, {first}, {columns}");
    ptx!(w, "mov.u32 {slot}, words");
    // Where a thread writes to the tile it moves down, where it reads to the right.
    let [written, read] = [(row, thread), (thread, row)].map(|(down, across)| {
        let at = w.temporary(Class::B32);
        ptx!(w, "mad.lo.u32 {at}, {down}, {STEP}, {across}");
        ptx!(w, "mad.lo.u32 {at}, {at}, {bytes}, {slot}");
        at
    });
    let kept = w.mark();
    let values: Vec<Name> = w
        .each_of_side(first, [top, left], [rows, columns], (row, thread))
        .into_iter()
        .map(|(lane, beyond)| {
            let value = w.temporary_of(dtype);
            let address = w.element_address(dtype, x, lane);
            w.set(dtype.widened(), value, 0);
            ptx!(w, "@!{beyond} ld.global.nc.{} {value}, [{address}]", dtype.ptx());
            value
        })
        .collect();
    for (i, value) in (0..).zip(values) {
        let at = i * rows_at_once() * STEP * bytes;
        ptx!(w, "st.shared.{} [{written}+{at}], {value}", dtype.ptx());
    }
    ptx!(w, "bar.sync 0");
    w.release_to(kept);
    let places = w.each_of_side(first, [left, top], [columns, rows], (row, thread));
    for (i, (lane, beyond)) in (0..).zip(places) {
        let (value, inside) = (w.temporary_of(dtype), w.temporary(Class::Pred));
        ptx!(w, "ld.shared.{} {value}, [{read}+{}]", dtype.ptx(), i * rows_at_once() * bytes);
        ptx!(w, "not.pred {inside}, {beyond}");
        let address = w.element_address(dtype, result, lane);
        w.store(dtype, Guard(Some(inside)), address, value);
    }
    w.finish(name, &[params(6)])
}

/// Rows of a tile that the threads have at once.
const fn rows_at_once() -> u32 {
    THREADS / SIDE
}

impl Writer {
    /// The lanes of a thread in a tile with its first row and column, of a matrix of so many: their numbers, and whether
    /// they are beyond it.
    fn each_of_side(
        &mut self,
        first: Name,
        starts: [Name; 2],
        extents: [Name; 2],
        (row, column): (Name, Name),
    ) -> Vec<(Name, Name)> {
        let [line, place, lane] = [(); 3].map(|()| self.temporary(Class::B64));
        let (outside, wide) = (self.temporary(Class::Pred), self.temporary(Class::B64));
        ptx!(self, "cvt.u64.u32 {place}, {column}");
        ptx!(self, "add.u64 {place}, {place}, {}", starts[1]);
        ptx!(self, "setp.ge.u64 {outside}, {place}, {}", extents[1]);
        ptx!(self, "cvt.u64.u32 {line}, {row}");
        ptx!(self, "add.u64 {line}, {line}, {}", starts[0]);
        ptx!(self, "mad.lo.u64 {lane}, {line}, {}, {place}", extents[1]);
        ptx!(self, "add.u64 {lane}, {lane}, {first}");
        ptx!(self, "mul.lo.u64 {wide}, {}, {}", extents[1], rows_at_once());
        let each = |i: u32| {
            let (own, beyond) = (self.temporary(Class::B64), self.temporary(Class::Pred));
            ptx!(self, "mad.lo.u64 {own}, {wide}, {i}, {lane}");
            ptx!(self, "setp.ge.u64 {beyond}, {line}, {}", extents[0]);
            ptx!(self, "or.pred {beyond}, {beyond}, {outside}");
            ptx!(self, "add.u64 {line}, {line}, {}", rows_at_once());
            (own, beyond)
        };
        (0..SIDE / rows_at_once()).map(each).collect()
    }
}
