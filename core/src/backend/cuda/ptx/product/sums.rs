//! From shared memory to sums, and from there to memory.

use super::super::writer::{Class, Name, ptx};
use super::matrix_units::{Fragments, SIDE};
use super::thread_tile::{Lowering, ThreadTile};

/// What belongs to a thread.
pub(super) struct Own {
    /// Rows and columns from its first entry on.
    pub(super) left: [Name; 2],
    /// Bytes from the first entry of the result to its own.
    pub(super) start: Name,
    /// Where the first vectors of the left and of the right factor are in shared memory.
    pub(super) shared: Vec<Name>,
    /// What matrix units need besides.
    pub(super) fragments: Option<Fragments>,
}

impl Lowering {
    /// Finds out which rows and columns are this thread's. Of each four threads two share rows and two columns, so that
    /// two quarters of a warp read vectors at once.
    pub(super) fn own(&mut self, place: &ThreadTile) -> Own {
        if self.code.is_by_matrix_units() {
            return self.own_fragments(place);
        }
        let bits = [0, 1].map(|axis| (self.tile.sides[axis] / self.tile.per[axis]).ilog2());
        let mut order = vec![0, 1, 1, 1, 0];
        order.extend([1; 8]);
        order.extend([0; 8]);
        let first = [(); 2].map(|()| self.w.temporary(Class::B32));
        for name in first {
            ptx!(self.w, "mov.u32 {name}, 0");
        }
        let mut taken = [0, 0];
        let mark = self.w.mark();
        let bit = self.w.temporary(Class::B32);
        let mut number = 0;
        for axis in order {
            if taken[axis] < bits[axis] {
                let name = first[axis];
                ptx!(self.w, "shr.u32 {bit}, {}, {number}", place.thread);
                ptx!(self.w, "and.b32 {bit}, {bit}, 1");
                ptx!(self.w, "shl.b32 {bit}, {bit}, {}", taken[axis]);
                ptx!(self.w, "or.b32 {name}, {name}, {bit}");
                taken[axis] += 1;
                number += 1;
            }
        }
        self.w.release_to(mark);
        let before = self.code.parts.n_planes() * self.tile.depth;
        let before = [0, before * self.code.pitch(self.tile.sides[0])];
        let shared = [0, 1].map(|axis| {
            let (shared, first) = (self.w.temporary(Class::B32), first[axis]);
            let n = self.code.vector(self.tile.per[axis]);
            ptx!(self.w, "mul.lo.u32 {first}, {first}, {n}");
            ptx!(self.w, "mad.lo.u32 {shared}, {first}, {}, {}", self.bytes, place.shared);
            ptx!(self.w, "add.u32 {shared}, {shared}, {}", before[axis]);
            shared
        });
        let left = [0, 1].map(|axis| {
            let left = self.w.temporary(Class::B32);
            ptx!(self.w, "sub.s32 {left}, {}, {}", place.left[axis], first[axis]);
            left
        });
        let start = self.start_of(place, first);
        Own { left, start, shared: shared.to_vec(), fragments: None }
    }

    /// Bytes from the first entry of the result to one of a tile.
    pub(super) fn start_of(&mut self, place: &ThreadTile, entry: [Name; 2]) -> Name {
        let [rows, columns] = [0, 1].map(|word| self.w.param(word));
        let w = &mut self.w;
        let [start, row, column] = [(); 3].map(|()| w.temporary(Class::B64));
        ptx!(w, "cvt.u64.u32 {row}, {}", entry[0]);
        ptx!(w, "add.u64 {row}, {row}, {}", place.first[0]);
        ptx!(w, "mad.lo.u64 {row}, {}, {rows}, {row}", place.matrix);
        ptx!(w, "cvt.u64.u32 {column}, {}", entry[1]);
        ptx!(w, "add.u64 {column}, {column}, {}", place.first[1]);
        ptx!(w, "mad.lo.u64 {start}, {row}, {columns}, {column}");
        ptx!(w, "mul.lo.u64 {start}, {start}, {}", self.bytes);
        start
    }

    /// Rows or columns from a thread's first to another one of its own.
    fn offset(&self, axis: usize, i: u32) -> u32 {
        let (side, per) = (self.tile.sides[axis], self.tile.per[axis]);
        if self.code.is_by_matrix_units() {
            let n = if axis == 0 { 2 } else { 4 };
            return i / n * SIDE + i % n;
        }
        let n = self.code.vector(per);
        i / n * (side / (per / n)) + i % n
    }

    pub(super) fn clear(&mut self) {
        let [rows, columns] = self.tile.per;
        for i in 0..rows * columns * self.code.parts.n_results() {
            self.w.set(self.code.dtype, self.sums.next(i), 0);
        }
    }

    /// Adds the products of a stage, from which so many lanes less than `left` are left.
    pub(super) fn multiply(&mut self, own: &Own, (left, before): (Name, u32), offset: u32) {
        let [short, added] = [(); 2].map(|()| self.w.new_label());
        let mark = self.w.mark();
        let ends = self.w.temporary(Class::Pred);
        ptx!(self.w, "setp.lt.s32 {ends}, {left}, {}", before + self.tile.depth);
        ptx!(self.w, "@{ends} bra {short}");
        if let Some(fragments) = &own.fragments {
            self.add_fragments((own, fragments), (left, before), offset, false);
        } else {
            let pitches = self.tile.sides.map(|side| self.code.pitch(side));
            for k in 0..self.tile.depth {
                let offsets = pitches.map(|pitch| offset + k * pitch);
                self.add_products([own.shared[0], own.shared[1]], offsets);
            }
        }
        ptx!(self.w, "bra {added}");
        self.w.put_label(short);
        match &own.fragments {
            Some(fragments) => {
                self.add_fragments((own, fragments), (left, before), offset, true);
            }
            None => self.add_few(own, (left, before), offset),
        }
        self.w.put_label(added);
        self.w.release_to(mark);
    }

    /// Adds the products of fewer lanes than a stage has.
    fn add_few(&mut self, own: &Own, (left, before): (Name, u32), offset: u32) {
        let places = [(); 2].map(|()| self.w.temporary(Class::B32));
        let (count, more) = (self.w.temporary(Class::B32), self.w.temporary(Class::Pred));
        let [again, done] = [(); 2].map(|()| self.w.new_label());
        for (place, shared) in places.iter().zip(&own.shared) {
            ptx!(self.w, "mov.u32 {place}, {shared}");
        }
        ptx!(self.w, "sub.s32 {count}, {left}, {before}");
        self.w.put_label(again);
        ptx!(self.w, "setp.le.s32 {more}, {count}, 0");
        ptx!(self.w, "@{more} bra {done}");
        self.add_products(places, [offset; 2]);
        for (place, side) in places.into_iter().zip(self.tile.sides) {
            ptx!(self.w, "add.u32 {place}, {place}, {}", self.code.pitch(side));
        }
        ptx!(self.w, "sub.s32 {count}, {count}, 1");
        ptx!(self.w, "bra {again}");
        self.w.put_label(done);
    }

    /// Adds the products of a lane along the depth.
    fn add_products(&mut self, shared: [Name; 2], offsets: [u32; 2]) {
        let mark = self.w.mark();
        let [left, right] = [0, 1].map(|axis| self.load_vectors(axis, shared[axis], offsets[axis]));
        let (t, [rows, columns]) = (self.t, self.tile.per);
        let add = if self.code.dtype.is_float() { "fma.rn" } else { "mad.lo" };
        for (result, terms) in (0..).zip(self.code.terms()) {
            for (left_plane, right_plane, is_negative) in terms {
                let mut left = left[left_plane].clone();
                if is_negative {
                    for value in &mut left {
                        let negative = self.w.temporary_of(self.code.dtype);
                        ptx!(self.w, "neg.{t} {negative}, {value}");
                        *value = negative;
                    }
                }
                for (i, left) in (0..).zip(&left) {
                    for (j, right) in (0..).zip(&right[right_plane]) {
                        let sum = self.sums.next((result * rows + i) * columns + j);
                        ptx!(self.w, "{add}.{t} {sum}, {left}, {right}, {sum}");
                    }
                }
            }
        }
        self.w.release_to(mark);
    }

    /// The entries of this thread's rows or columns, by plane.
    fn load_vectors(&mut self, axis: usize, shared: Name, offset: u32) -> Vec<Vec<Name>> {
        let per = self.tile.per[axis];
        let n = self.code.vector(per);
        let plane = self.tile.depth * self.code.pitch(self.tile.sides[axis]);
        let n_planes = self.code.parts.n_planes();
        let of_plane = |number: u32| {
            let values: Vec<Name> =
                (0..per).map(|_| self.w.temporary_of(self.code.dtype)).collect();
            for (i, vector) in (0..).zip(values.chunks(n as usize)) {
                let list: Vec<String> = vector.iter().map(ToString::to_string).collect();
                let (t, list) = (self.t, list.join(", "));
                let at = offset + number * plane + self.offset(axis, i * n) * self.bytes;
                ptx!(self.w, "ld.shared.v{n}.{t} {{{list}}}, [{shared}+{at}]");
            }
            values
        };
        (0..n_planes).map(of_plane).collect()
    }

    /// Writes the sums, or adds them to those that are there.
    pub(super) fn put_down(&mut self, own: &Own, has_sums: Name) {
        let mark = self.w.mark();
        let (start, left) = (own.start, own.left);
        let columns = self.w.param(1);
        let next = self.w.temporary(Class::B64);
        ptx!(self.w, "mul.lo.u64 {next}, {columns}, {}", self.bytes);
        let starts: Vec<Name> = (0..self.code.parts.n_results())
            .map(|result| {
                let base = self.w.param(6 + result as usize);
                ptx!(self.w, "add.u64 {base}, {base}, {start}");
                base
            })
            .collect();
        let [fresh, single, done] = [(); 3].map(|()| self.w.new_label());
        ptx!(self.w, "@!{has_sums} bra {fresh}");
        self.add_old(&starts, next, left);
        self.w.put_label(fresh);
        let n = self.code.vector(self.tile.per[1]);
        let (rest, is_odd) = (self.w.temporary(Class::B64), self.w.temporary(Class::Pred));
        ptx!(self.w, "and.b64 {rest}, {columns}, {}", n - 1);
        ptx!(self.w, "setp.ne.u64 {is_odd}, {rest}, 0");
        ptx!(self.w, "@{is_odd} bra {single}");
        self.write(&starts, next, left, n);
        ptx!(self.w, "bra {done}");
        self.w.put_label(single);
        self.write(&starts, next, left, 1);
        self.w.put_label(done);
        self.w.release_to(mark);
    }

    /// Calls `with` for each of this thread's entries that there are, every `n`th along rows, with a predicate for it,
    /// the address of its row, its offset and the number of its sum.
    fn for_entries(
        &mut self,
        starts: &[Name],
        next: Name,
        left: [Name; 2],
        n: u32,
        with: impl Fn(&mut Self, Name, (Name, u32), Name),
    ) {
        let [rows, columns] = self.tile.per;
        let (address, in_row, inside) = (
            self.w.temporary(Class::B64),
            self.w.temporary(Class::Pred),
            self.w.temporary(Class::Pred),
        );
        for (result, &start) in (0..).zip(starts) {
            for i in 0..rows {
                let row = self.offset(0, i);
                ptx!(self.w, "setp.gt.s32 {in_row}, {}, {row}", left[0]);
                ptx!(self.w, "mad.lo.u64 {address}, {next}, {row}, {start}");
                for j in (0..columns).step_by(n as usize) {
                    let column = self.offset(1, j);
                    let sum = self.sums.next((result * rows + i) * columns + j);
                    ptx!(self.w, "setp.gt.and.s32 {inside}, {}, {column}, {in_row}", left[1]);
                    with(self, inside, (address, column * self.bytes), sum);
                }
            }
        }
    }

    /// Adds the sums to those of the chunks before.
    fn add_old(&mut self, starts: &[Name], next: Name, left: [Name; 2]) {
        let (t, old) = (self.t, self.w.temporary_of(self.code.dtype));
        let add = if self.code.dtype.is_float() { "add.rn" } else { "add" };
        self.for_entries(starts, next, left, 1, |this, inside, (address, offset), sum| {
            ptx!(this.w, "@{inside} ld.global.{t} {old}, [{address}+{offset}]");
            ptx!(this.w, "@{inside} {add}.{t} {sum}, {old}, {sum}");
        });
    }

    /// Writes the sums as vectors of `n`.
    fn write(&mut self, starts: &[Name], next: Name, left: [Name; 2], n: u32) {
        let t = self.t;
        self.for_entries(starts, next, left, n, |this, inside, (address, offset), sum| {
            if n == 1 {
                ptx!(this.w, "@{inside} st.global.{t} [{address}+{offset}], {sum}");
            } else {
                let list: Vec<String> = (0..n).map(|i| sum.next(i).to_string()).collect();
                let list = list.join(", ");
                ptx!(this.w, "@{inside} st.global.v{n}.{t} [{address}+{offset}], {{{list}}}");
            }
        });
    }
}
