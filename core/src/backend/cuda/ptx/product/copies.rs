//! From memory to shared memory.

use super::super::writer::{Class, Guard, Name, ptx};
use super::thread_tile::{Lowering, ThreadTile};
use super::tile::VECTOR;

/// The first words of parameters of each factor.
const FACTOR_WORDS: [usize; 2] = [8, 13];
/// Threads of a warp.
const WARP: u32 = 32;

/// A factor on its way to shared memory.
pub(super) struct Factor {
    /// Whether neighbours lie along the depth, else across it: along a row of the left factor or a column of the right one.
    is_along: bool,
    /// Where this thread reads next, for each plane: in several rows if neighbours lie along the depth.
    pointers: Vec<Vec<Name>>,
    /// Bytes from a lane of this thread to the next along the depth, if neighbours lie across it.
    step: Name,
    /// This thread's first lane along the depth.
    own: Name,
    /// Rows or columns from this thread's first one on, if neighbours lie across the depth.
    left: Name,
    /// Where this thread writes first.
    pub(super) shared: Name,
    /// Threads that read side by side across the depth, and along it.
    threads: [u32; 2],
    /// How often a thread reads across the depth, and along it.
    times: [u32; 2],
    /// Neighbours that it reads at once.
    unit: u32,
    /// Bytes from a lane along the depth to the next in shared memory, and from plane to plane.
    pitch: u32,
    plane: u32,
    /// What is on its way where copies need registers.
    values: Vec<Name>,
    /// Whether this thread has something to read, if not all have.
    takes_part: Option<Name>,
}

/// How an instruction names registers that it reads or writes at once.
fn vector_of(values: &[Name]) -> (String, String) {
    match values {
        [value] => (String::new(), value.to_string()),
        _ => {
            let list: Vec<String> = values.iter().map(ToString::to_string).collect();
            (format!(".v{}", values.len()), format!("{{{}}}", list.join(", ")))
        }
    }
}

impl Lowering {
    /// Finds out where a factor, the left or the right one, lies.
    pub(super) fn factor(&mut self, number: usize, place: &ThreadTile) -> Factor {
        let (side, depth) = (self.tile.sides[number], self.tile.depth);
        let is_along = (number == 0) != self.code.turned[number];
        let n = self.tile.threads_of_slot();
        let unit = if is_along || !self.code.aligned[number] { 1 } else { self.code.vector(side) };
        let units = side / unit;
        let along = if is_along { n.min(depth) } else { depth.min(n / units.min(WARP)).max(1) };
        let threads = [(n / along).min(units), along];
        let times = [units / threads[0], depth / along];
        let (pitch, w) = (self.code.pitch(side), &mut self.w);
        let [own, own_across, left] = [(); 3].map(|()| w.temporary(Class::B32));
        let (thread, split) = (place.thread, threads[usize::from(is_along)]);
        let [low, high] = if is_along { [own, own_across] } else { [own_across, own] };
        ptx!(w, "and.b32 {low}, {thread}, {}", split - 1);
        ptx!(w, "shr.u32 {high}, {thread}, {}", split.ilog2());
        let takes_part = (threads[0] * threads[1] < n).then(|| {
            let takes_part = w.temporary(Class::Pred);
            ptx!(w, "setp.lt.u32 {takes_part}, {own}, {depth}");
            // The others have nothing to read.
            ptx!(w, "selp.b32 {own}, {own}, {}, {takes_part}", 1 << 30);
            takes_part
        });
        if unit > 1 {
            ptx!(w, "shl.b32 {own_across}, {own_across}, {}", unit.ilog2());
        }
        ptx!(w, "sub.s32 {left}, {}, {own_across}", place.left[number]);
        let (pointers, step) = self.pointers(number, place, [own_across, own], (threads, times));
        let shared = self.w.temporary(Class::B32);
        let n_planes = self.code.parts.n_planes();
        let before = if number == 0 { 0 } else { self.code.pitch(self.tile.sides[0]) * n_planes };
        ptx!(self.w, "mad.lo.u32 {shared}, {own}, {pitch}, {}", place.shared);
        ptx!(self.w, "mad.lo.u32 {shared}, {own_across}, {}, {shared}", self.bytes);
        ptx!(self.w, "add.u32 {shared}, {shared}, {}", before * depth);
        let mut values = Vec::new();
        if !self.copies_alone {
            let n = n_planes * times[0] * times[1] * unit;
            values.extend((0..n).map(|_| self.w.temporary_of(self.code.dtype)));
        }
        let plane = depth * pitch;
        Factor {
            is_along,
            pointers,
            step,
            own,
            left,
            shared,
            threads,
            times,
            unit,
            pitch,
            plane,
            values,
            takes_part,
        }
    }

    /// Where a thread reads first in each plane, and the bytes to where it reads next along the depth.
    fn pointers(
        &mut self,
        number: usize,
        place: &ThreadTile,
        [across, along]: [Name; 2],
        (threads, times): ([u32; 2], [u32; 2]),
    ) -> (Vec<Vec<Name>>, Name) {
        let is_along = (number == 0) != self.code.turned[number];
        let first_word = FACTOR_WORDS[number];
        let [base, other, next_across, next_along, matrices] =
            [0, 1, 2, 3, 4].map(|i| self.w.param(first_word + i));
        let extent = self.w.param(number);
        let w = &mut self.w;
        let [wide, row, last, step] = [(); 4].map(|()| w.temporary(Class::B64));
        ptx!(w, "mad.lo.u64 {base}, {}, {matrices}, {base}", place.matrix);
        ptx!(w, "mad.lo.u64 {other}, {}, {matrices}, {other}", place.matrix);
        ptx!(w, "cvt.u64.u32 {wide}, {along}");
        ptx!(w, "mad.lo.u64 {base}, {wide}, {next_along}, {base}");
        ptx!(w, "mad.lo.u64 {other}, {wide}, {next_along}, {other}");
        ptx!(w, "mul.lo.u64 {step}, {next_along}, {}", threads[1]);
        ptx!(w, "cvt.u64.u32 {wide}, {across}");
        ptx!(w, "add.u64 {wide}, {wide}, {}", place.first[number]);
        ptx!(w, "sub.u64 {last}, {extent}, 1");
        let n_rows = if is_along { times[0] } else { 1 };
        let bases = if self.code.parts.n_planes() == 2 { vec![base, other] } else { vec![base] };
        let mut pointers = vec![Vec::new(); bases.len()];
        for i in 0..n_rows {
            ptx!(w, "add.u64 {row}, {wide}, {}", i * threads[0]);
            // What is beyond the last row is that row again: nobody stores its sums.
            ptx!(w, "min.u64 {row}, {row}, {last}");
            for (pointers, &base) in pointers.iter_mut().zip(&bases) {
                let pointer = w.temporary(Class::B64);
                ptx!(w, "mad.lo.u64 {pointer}, {row}, {next_across}, {base}");
                pointers.push(pointer);
            }
        }
        (pointers, step)
    }

    /// Copies a stage that is so many stages ahead of those of which `left` lanes are left: where neighbours lie along the
    /// depth, from so many stages behind the pointers.
    pub(super) fn copy(
        &mut self,
        factor: &mut Factor,
        (left, ahead): (Name, u32),
        behind: u32,
        target: u32,
    ) {
        let mark = self.w.mark();
        let [rest, own_rest] = [(); 2].map(|()| self.w.temporary(Class::B32));
        let depth = self.tile.depth;
        ptx!(self.w, "sub.s32 {rest}, {left}, {}", ahead * depth);
        ptx!(self.w, "sub.s32 {own_rest}, {rest}, {}", factor.own);
        let mut number = 0;
        for k in 0..factor.times[1] {
            let inside = self.w.temporary(Class::Pred);
            ptx!(self.w, "setp.gt.s32 {inside}, {own_rest}, {}", k * factor.threads[1]);
            for i in 0..factor.times[0] {
                let own = i * factor.threads[0] * factor.unit;
                let guard = if factor.is_along {
                    inside
                } else {
                    let guard = self.w.temporary(Class::Pred);
                    ptx!(self.w, "setp.gt.and.s32 {guard}, {}, {own}, {inside}", factor.left);
                    guard
                };
                for plane in 0..factor.pointers.len() {
                    let to = target
                        + factor.plane * u32::try_from(plane).unwrap_or(0)
                        + k * factor.threads[1] * factor.pitch
                        + own * self.bytes;
                    let from = if factor.is_along {
                        let along = behind * depth + k * factor.threads[1];
                        (factor.pointers[plane][i as usize], along * self.bytes)
                    } else {
                        (factor.pointers[plane][0], own * self.bytes)
                    };
                    self.copy_value(factor, (guard, number), from, to);
                    number += factor.unit as usize;
                }
            }
            if !factor.is_along {
                for pointers in &factor.pointers {
                    let pointer = pointers[0];
                    ptx!(self.w, "add.u64 {pointer}, {pointer}, {}", factor.step);
                }
            }
        }
        self.w.release_to(mark);
    }

    fn copy_value(
        &mut self,
        factor: &Factor,
        (guard, number): (Name, usize),
        (from, offset): (Name, u32),
        to: u32,
    ) {
        let (t, bytes, shared) = (self.t, self.bytes * factor.unit, factor.shared);
        if self.copies_alone {
            // Whole vectors need not go through the nearest cache.
            let level = if bytes == VECTOR { "cg" } else { "ca" };
            let copy = format!("cp.async.{level}.shared.global");
            ptx!(self.w, "@{guard} {copy} [{shared}+{to}], [{from}+{offset}], {bytes}");
        } else {
            let values = &factor.values[number..number + factor.unit as usize];
            let (suffix, list) = vector_of(values);
            ptx!(self.w, "@{guard} ld.global.nc{suffix}.{t} {list}, [{from}+{offset}]");
        }
    }

    /// Writes what was on its way.
    pub(super) fn store(&mut self, factor: &Factor, target: u32) {
        let mut values = factor.values.chunks(factor.unit as usize);
        for k in 0..factor.times[1] {
            for i in 0..factor.times[0] {
                for (plane, values) in (0..self.code.parts.n_planes()).zip(&mut values) {
                    let along = k * factor.threads[1] * factor.pitch;
                    let to = target + factor.plane * plane + along;
                    let to = to + i * factor.threads[0] * factor.unit * self.bytes;
                    let (t, (suffix, list)) = (self.t, vector_of(values));
                    let (guard, shared) = (Guard(factor.takes_part), factor.shared);
                    ptx!(self.w, "{guard}st.shared{suffix}.{t} [{shared}+{to}], {list}");
                }
            }
        }
    }

    /// Goes on by stages, where neighbours lie along the depth.
    pub(super) fn go_on(&mut self, factor: &Factor, stages: u32) {
        if factor.is_along {
            let bytes = stages * self.tile.depth * self.bytes;
            for pointer in factor.pointers.iter().flatten() {
                ptx!(self.w, "add.u64 {pointer}, {pointer}, {bytes}");
            }
        }
    }
}
