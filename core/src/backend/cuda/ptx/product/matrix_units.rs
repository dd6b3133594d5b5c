//! Sums of doubles on the matrix units of sm_90.
//!
//! `mma.m16n8k4` of doubles adds four products to each sum one after the other, in ascending order and each by a fma: the
//! order and the bits of S26 (found on an H200 over 6 x 10^7 sums: ordinary numbers, far magnitudes, cancellation, subnormal
//! numbers, infinities, NaN), at twice the rate. Of complex products the four are two lanes along the depth, each with its
//! two terms.
//!
//! A warp has a part of the tile, a thread of it pairs of rows 16 apart and fours of columns 16 apart. Which of the tile's rows
//! and columns an instruction takes for its own is free: those of a pair lie side by side, and are read at once.

use super::super::writer::{Class, Name, ptx};
use super::sums::Own;
use super::thread_tile::{Lowering, ThreadTile};
use crate::dtype::DType;

/// Terms that an instruction adds to each sum.
const TERMS: u32 = 4;
/// Rows, and columns, that two instructions share.
pub(super) const SIDE: u32 = 16;
/// The bits of -0: what a lane beyond the last adds changes no sum, not even one of -0.
const MINUS_ZERO: u64 = 1 << 63;

/// What a thread of matrix units has besides.
pub(super) struct Fragments {
    /// Which lane along the depth of those of an instruction is its own.
    along: Name,
    /// Bits that change the sign of its entries of the left factor, of each result.
    signs: Vec<Name>,
    /// Which place in shared memory has the right factor of each result.
    rights: Vec<usize>,
}

impl Lowering {
    /// Lanes along the depth of an instruction.
    fn lanes_at_once(&self) -> u32 {
        TERMS / self.code.parts.n_planes()
    }

    /// Finds out which rows and columns are this thread's.
    pub(super) fn own_fragments(&mut self, place: &ThreadTile) -> Own {
        let n_planes = self.code.parts.n_planes();
        let [rows, columns] = [self.tile.per[0] * 8, self.tile.per[1] * 4];
        let across = (self.tile.sides[1] / columns).ilog2();
        let w = &mut self.w;
        let [group, along, plane, warp, first_row, first_column] =
            [(); 6].map(|()| w.temporary(Class::B32));
        ptx!(w, "and.b32 {along}, {}, 3", place.thread);
        ptx!(w, "shr.u32 {group}, {}, 2", place.thread);
        ptx!(w, "and.b32 {group}, {group}, 7");
        ptx!(w, "shr.u32 {warp}, {}, 5", place.thread);
        ptx!(w, "shr.u32 {first_row}, {warp}, {across}");
        ptx!(w, "mul.lo.u32 {first_row}, {first_row}, {rows}");
        ptx!(w, "mad.lo.u32 {first_row}, {group}, 2, {first_row}");
        ptx!(w, "and.b32 {first_column}, {warp}, {}", (1 << across) - 1);
        ptx!(w, "mul.lo.u32 {first_column}, {first_column}, {columns}");
        let columns_at = w.temporary(Class::B32);
        ptx!(w, "mad.lo.u32 {columns_at}, {group}, 2, {first_column}");
        ptx!(w, "mad.lo.u32 {first_column}, {along}, 4, {first_column}");
        ptx!(w, "and.b32 {plane}, {along}, {}", n_planes - 1);
        ptx!(w, "shr.u32 {along}, {along}, {}", n_planes.ilog2());
        let pitches = self.tile.sides.map(|side| self.code.pitch(side));
        let before = [0, n_planes * self.tile.depth * pitches[0]];
        let mut shared: Vec<Name> = [first_row, columns_at]
            .into_iter()
            .enumerate()
            .map(|(axis, first)| {
                let (shared, pitch) = (self.w.temporary(Class::B32), pitches[axis]);
                let plane_bytes = self.tile.depth * pitch;
                ptx!(self.w, "mad.lo.u32 {shared}, {first}, {}, {}", self.bytes, place.shared);
                ptx!(self.w, "mad.lo.u32 {shared}, {along}, {pitch}, {shared}");
                ptx!(self.w, "mad.lo.u32 {shared}, {plane}, {plane_bytes}, {shared}");
                ptx!(self.w, "add.u32 {shared}, {shared}, {}", before[axis]);
                shared
            })
            .collect();
        let is_second = self.w.temporary(Class::Pred);
        ptx!(self.w, "setp.ne.u32 {is_second}, {plane}, 0");
        let (mut signs, mut rights) = (Vec::new(), Vec::new());
        for terms in self.code.terms() {
            let sign = self.w.temporary(Class::B64);
            let of = |term: usize| if terms[term].2 { MINUS_ZERO } else { 0 };
            let last = terms.len() - 1;
            ptx!(self.w, "selp.b64 {sign}, {:#x}, {:#x}, {is_second}", of(last), of(0));
            signs.push(sign);
            // The first term may want the other plane of the right factor.
            if terms[0].1 == 1 {
                let (other, plane_bytes) =
                    (self.w.temporary(Class::B32), self.tile.depth * pitches[1]);
                let back = self.w.temporary(Class::B32);
                ptx!(self.w, "add.u32 {other}, {}, {plane_bytes}", shared[1]);
                ptx!(self.w, "sub.u32 {back}, {}, {plane_bytes}", shared[1]);
                ptx!(self.w, "selp.b32 {other}, {back}, {other}, {is_second}");
                shared.push(other);
            }
            rights.push(if terms[0].1 == 1 { shared.len() - 1 } else { 1 });
        }
        let left = [(0, first_row), (1, first_column)].map(|(axis, first): (usize, Name)| {
            let left = self.w.temporary(Class::B32);
            ptx!(self.w, "sub.s32 {left}, {}, {first}", place.left[axis]);
            left
        });
        let start = self.start_of(place, [first_row, first_column]);
        Own { left, start, shared, fragments: Some(Fragments { along, signs, rights }) }
    }

    /// Adds the products of a stage, from which so many lanes less than `left` are left; if they may end there, lanes
    /// beyond the last add nothing.
    pub(super) fn add_fragments(
        &mut self,
        (own, fragments): (&Own, &Fragments),
        (left, before): (Name, u32),
        offset: u32,
        may_end: bool,
    ) {
        let at_once = self.lanes_at_once();
        let mark = self.w.mark();
        let (inside, rest) = (self.w.temporary(Class::Pred), self.w.temporary(Class::B32));
        let inner = self.w.mark();
        for lane in (0..self.tile.depth).step_by(at_once as usize) {
            if may_end {
                ptx!(self.w, "sub.s32 {rest}, {left}, {}", before + lane);
                ptx!(self.w, "setp.gt.s32 {inside}, {rest}, {}", fragments.along);
            }
            let inside = may_end.then_some(inside);
            let lefts = self.pairs(own, 0, 0, offset + lane * self.code.pitch(self.tile.sides[0]));
            let right_offset = offset + lane * self.code.pitch(self.tile.sides[1]);
            for (result, (&sign, &right)) in
                (0..).zip(fragments.signs.iter().zip(&fragments.rights))
            {
                let rights = self.pairs(own, 1, right, right_offset);
                let rights = self.or_else(rights, 0, inside);
                let signed = self.signed(&lefts, sign);
                let lefts = self.or_else(signed, MINUS_ZERO, inside);
                self.multiply_fragments(result, &lefts, &rights);
            }
            self.w.release_to(inner);
        }
        self.w.release_to(mark);
    }

    /// A thread's entries of a factor, read two at a time.
    fn pairs(&mut self, own: &Own, axis: usize, place: usize, offset: u32) -> Vec<Name> {
        let side = if axis == 0 { self.tile.per[0] * 8 } else { self.tile.per[1] * 4 };
        let mut entries = Vec::new();
        for first in (0..side).step_by(SIDE as usize) {
            let pair = [(); 2].map(|()| self.w.temporary(Class::F64));
            let (shared, at) = (own.shared[place], offset + first * self.bytes);
            ptx!(self.w, "ld.shared.v2.f64 {{{}, {}}}, [{shared}+{at}]", pair[0], pair[1]);
            entries.extend(pair);
        }
        entries
    }

    /// Entries with other signs, where there are such.
    fn signed(&mut self, entries: &[Name], sign: Name) -> Vec<Name> {
        if self.code.parts.n_planes() == 1 {
            return entries.to_vec();
        }
        let bits = self.w.temporary(Class::B64);
        let change = |&entry: &Name| {
            let signed = self.w.temporary(Class::F64);
            ptx!(self.w, "mov.b64 {bits}, {entry}");
            ptx!(self.w, "xor.b64 {bits}, {bits}, {sign}");
            ptx!(self.w, "mov.b64 {signed}, {bits}");
            signed
        };
        entries.iter().map(change).collect()
    }

    /// Entries where there are such, else a number with these bits.
    fn or_else(&mut self, entries: Vec<Name>, bits: u64, inside: Option<Name>) -> Vec<Name> {
        let Some(inside) = inside else { return entries };
        let other = self.w.temporary(Class::F64);
        self.w.set(DType::F64, other, bits);
        let chosen = |&entry: &Name| {
            let chosen = self.w.temporary(Class::F64);
            ptx!(self.w, "selp.f64 {chosen}, {entry}, {other}, {inside}");
            chosen
        };
        entries.iter().map(chosen).collect()
    }

    fn multiply_fragments(&mut self, result: u32, lefts: &[Name], rights: &[Name]) {
        let [rows, columns] = self.tile.per;
        let sum = |i: u32, j: u32| self.sums.next((result * rows + i) * columns + j);
        let mut row = 0;
        for left in lefts.chunks(2) {
            let mut column = 0;
            for (number, right) in (0..).zip(rights) {
                let first = column + number % 2;
                let [a, b, c, d] = [(0, 0), (0, 2), (1, 0), (1, 2)]
                    .map(|(i, j): (u32, u32)| sum(row + i, first + j));
                let (sums, left) = (format!("{a}, {b}, {c}, {d}"), (left[0], left[1]));
                ptx!(
                    self.w,
                    "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {{{sums}}}, {{{}, {}}}, \
                     {{{right}}}, {{{sums}}}",
                    left.0,
                    left.1
                );
                column += if number % 2 == 1 { 4 } else { 0 };
            }
            row += 2;
        }
    }
}
