//! The entry for products of matrices, in the order of S26.
//!
//! A block of [`THREADS`] threads computes a tile of 16 by 16 times the entries of a thread. [`DEPTH`] terms of both factors
//! at a time go to shared memory, while those behind them are on their way; each thread then reads its rows and columns,
//! vectors of 16 bytes. At the end of a chunk the sums go to the result.
#![deny(clippy::wildcard_enum_match_arm)]

use super::scan::params;
use super::writer::{Class, Label, Name, Writer, ptx};
use crate::dtype::DType;

/// Threads of a block.
pub(in super::super) const THREADS: u32 = 256;
/// Threads along a side of a tile.
const SIDE_THREADS: u32 = 16;
/// Terms in shared memory.
const DEPTH: u32 = 8;
/// Bytes of a vector.
const VECTOR: u32 = 16;

/// Entries of a vector of a type.
const fn vector(dtype: DType) -> u32 {
    VECTOR * 8 / dtype.widened().bits()
}

/// Entries along a side of a tile.
pub(in super::super) const fn side(dtype: DType) -> u32 {
    SIDE_THREADS * 2 * vector(dtype)
}

/// A factor while it is read.
struct Factor {
    /// Where the values of this thread are for the next terms.
    pointers: Vec<Name>,
    /// The values that are on their way.
    values: Vec<Name>,
    /// Bytes from the terms of a tile to the next.
    step: Name,
    /// Numbers of the terms of this thread within a tile, one value after the other.
    terms: Vec<Name>,
    /// Whether values change their sign.
    negative: Name,
    /// Where this thread's first value goes in shared memory, and bytes from there to the next.
    shared: Name,
    next: u32,
}

struct Product {
    w: Writer,
    dtype: DType,
    t: &'static str,
    bytes: u32,
    /// Entries of a thread along a side.
    per: u32,
    sums: Name,
    /// Terms before the tile, in all, and pairs of terms a lane as a shift.
    before: Name,
    terms: Name,
    pairs: Name,
}

/// Words of parameters: rows, columns, terms, whether terms are pairs (1, else 0), terms of a chunk; blocks along rows and
/// along columns; address of the result; of each factor the addresses of what the first and the second term of a pair
/// are in, bits that say which change their sign, lanes from a row (of the right factor, column) to the next, along the
/// depth and from matrix to matrix. One block a tile, first along columns, then along rows, then matrices.
pub(super) fn product(dtype: DType, turned: [bool; 2], name: &str) -> String {
    let mut p = Product::new(dtype);
    let [rows, columns, chunk, row_blocks, column_blocks, result] =
        [0, 1, 4, 5, 6, 7].map(|i| p.w.param(i));
    let (thread, block) = (p.w.temporary(Class::B32), p.w.temporary(Class::B32));
    let [wide, rest, row, column, matrix] = [(); 5].map(|()| p.w.temporary(Class::B64));
    ptx!(p.w, "mov.u32 {thread}, %tid.x");
    ptx!(p.w, "mov.u32 {block}, %ctaid.x");
    ptx!(p.w, "cvt.u64.u32 {wide}, {block}");
    ptx!(p.w, "rem.u64 {column}, {wide}, {column_blocks}");
    ptx!(p.w, "div.u64 {rest}, {wide}, {column_blocks}");
    ptx!(p.w, "rem.u64 {row}, {rest}, {row_blocks}");
    ptx!(p.w, "div.u64 {matrix}, {rest}, {row_blocks}");
    let side = side(dtype);
    ptx!(p.w, "mul.lo.u64 {row}, {row}, {side}");
    ptx!(p.w, "mul.lo.u64 {column}, {column}, {side}");
    let left = p.factor(8, turned[0], thread, [row, rows, matrix], 0);
    let right = p.factor(14, !turned[1], thread, [column, columns, matrix], 1);
    let [left_at, right_at] = p.own_vectors(thread, [row, column]);
    let end = p.w.temporary(Class::B64);
    let has_sums = p.w.temporary(Class::Pred);
    ptx!(p.w, "mov.u64 {}, 0", p.before);
    ptx!(p.w, "mov.u64 {end}, {chunk}");
    ptx!(p.w, "setp.ne.u64 {has_sums}, {end}, {end}");
    p.clear();
    p.load(&left);
    p.load(&right);
    let [again, short, added, goes_on] = [(); 4].map(|()| p.w.new_label());
    let (left_terms, ends) = (p.w.temporary(Class::B64), p.w.temporary(Class::Pred));
    p.w.put_label(again);
    p.store(&left);
    p.store(&right);
    ptx!(p.w, "bar.sync 0");
    ptx!(p.w, "sub.u64 {left_terms}, {}, {}", p.terms, p.before);
    ptx!(p.w, "add.u64 {}, {}, {DEPTH}", p.before, p.before);
    p.load(&left);
    p.load(&right);
    ptx!(p.w, "setp.lt.u64 {ends}, {left_terms}, {DEPTH}");
    ptx!(p.w, "@{ends} bra {short}");
    for k in 0..DEPTH {
        p.add_products([left_at, right_at], k * p.pitch());
    }
    ptx!(p.w, "bra {added}");
    p.w.put_label(short);
    p.add_few([left_at, right_at], left_terms);
    p.w.put_label(added);
    ptx!(p.w, "bar.sync 0");
    ptx!(p.w, "min.u64 {wide}, {end}, {}", p.terms);
    ptx!(p.w, "setp.lt.u64 {ends}, {}, {wide}", p.before);
    ptx!(p.w, "@{ends} bra {goes_on}");
    p.put_down([row, column], [rows, columns, matrix], result, has_sums);
    p.clear();
    ptx!(p.w, "setp.eq.u64 {has_sums}, {end}, {end}");
    ptx!(p.w, "add.u64 {end}, {end}, {chunk}");
    p.w.put_label(goes_on);
    ptx!(p.w, "setp.lt.u64 {ends}, {}, {}", p.before, p.terms);
    ptx!(p.w, "@{ends} bra {again}");
    p.w.finish(name, &[params(20)])
}

impl Product {
    fn new(dtype: DType) -> Self {
        let mut w = Writer::default();
        let bytes = dtype.bits() / 8;
        let per = 2 * vector(dtype);
        let sums = w.values(dtype, 0, per * per);
        let [terms, pairs] = [2, 3].map(|i| w.param(i));
        let before = w.temporary(Class::B64);
        let mut product = Self { w, dtype, t: dtype.ptx(), bytes, per, sums, before, terms, pairs };
        product.w.shared_words = (2 * DEPTH * product.pitch()).div_ceil(8);
        product.w.has_vectors_shared = true;
        product
    }

    /// Bytes from a term to the next in shared memory: a vector more than a side, so that neither way of writing meets
    /// the same banks.
    fn pitch(&self) -> u32 {
        side(self.dtype) * self.bytes + VECTOR
    }

    /// Reads where a factor lies: its words begin with `word`. Neighbouring threads take neighbouring lanes, which are
    /// along the depth or across it.
    fn factor(
        &mut self,
        word: usize,
        is_across: bool,
        thread: Name,
        [first, extent, matrix]: [Name; 3],
        number: u32,
    ) -> Factor {
        let (side, bytes) = (side(self.dtype), self.bytes);
        let [plane, other, signs, across, along, matrices] =
            [0, 1, 2, 3, 4, 5].map(|i| self.w.param(word + i));
        let w = &mut self.w;
        let n = side * DEPTH / THREADS;
        let [outer, term] = [(); 2].map(|()| w.temporary(Class::B32));
        // From a value of the thread to the next: rows, or terms.
        let (next_outer, next_term) =
            if is_across { (0, THREADS / side) } else { (THREADS / DEPTH, 0) };
        if is_across {
            ptx!(w, "and.b32 {outer}, {thread}, {}", side - 1);
            ptx!(w, "shr.u32 {term}, {thread}, {}", side.ilog2());
        } else {
            ptx!(w, "shr.u32 {outer}, {thread}, {}", DEPTH.ilog2());
            ptx!(w, "and.b32 {term}, {thread}, {}", DEPTH - 1);
        }
        let [wide_term, parity, bit] = [(); 3].map(|()| w.temporary(Class::B64));
        ptx!(w, "cvt.u64.u32 {wide_term}, {term}");
        ptx!(w, "and.b64 {parity}, {wide_term}, {}", self.pairs);
        let [is_second, negative] = [(); 2].map(|()| w.temporary(Class::Pred));
        ptx!(w, "setp.ne.u64 {is_second}, {parity}, 0");
        let base = w.temporary(Class::B64);
        ptx!(w, "selp.b64 {base}, {other}, {plane}, {is_second}");
        // Bit 0 for the first of a pair, bit 1 for the second.
        ptx!(w, "add.u64 {bit}, {parity}, 1");
        ptx!(w, "and.b64 {bit}, {bit}, {signs}");
        ptx!(w, "setp.ne.u64 {negative}, {bit}, 0");
        let [lane, place, last, shift] = [(); 4].map(|()| w.temporary(Class::B64));
        let short_pairs = w.temporary(Class::B32);
        ptx!(w, "cvt.u32.u64 {short_pairs}, {}", self.pairs);
        ptx!(w, "sub.u64 {last}, {extent}, 1");
        ptx!(w, "mul.lo.u64 {shift}, {matrix}, {matrices}");
        let (mut pointers, mut terms, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for i in 0..n {
            let (pointer, own) = (w.temporary(Class::B64), w.temporary(Class::B64));
            // What is beyond the last row is that row again: nobody stores its sums.
            ptx!(w, "cvt.u64.u32 {place}, {outer}");
            ptx!(w, "add.u64 {place}, {place}, {}", next_outer * i);
            ptx!(w, "add.u64 {place}, {place}, {first}");
            ptx!(w, "min.u64 {place}, {place}, {last}");
            ptx!(w, "mad.lo.u64 {lane}, {place}, {across}, {shift}");
            ptx!(w, "add.u64 {own}, {wide_term}, {}", next_term * i);
            ptx!(w, "shr.u64 {place}, {own}, {short_pairs}");
            ptx!(w, "mad.lo.u64 {lane}, {place}, {along}, {lane}");
            ptx!(w, "mad.lo.u64 {pointer}, {lane}, {bytes}, {base}");
            pointers.push(pointer);
            terms.push(own);
            values.push(w.temporary_of(self.dtype));
        }
        let step = w.temporary(Class::B64);
        ptx!(w, "mov.u64 {step}, {}", DEPTH * bytes);
        ptx!(w, "shr.u64 {step}, {step}, {short_pairs}");
        ptx!(w, "mul.lo.u64 {step}, {step}, {along}");
        let shared = w.temporary(Class::B32);
        let pitch = self.pitch();
        let w = &mut self.w;
        ptx!(w, "mov.u32 {shared}, words");
        ptx!(w, "mad.lo.u32 {shared}, {term}, {pitch}, {shared}");
        ptx!(w, "mad.lo.u32 {shared}, {outer}, {bytes}, {shared}");
        ptx!(w, "add.u32 {shared}, {shared}, {}", number * DEPTH * pitch);
        let next = next_outer * bytes + next_term * pitch;
        Factor { pointers, values, step, terms, negative, shared, next }
    }

    /// Loads the values of the next terms, if there are any, and goes on by a tile.
    fn load(&mut self, factor: &Factor) {
        let (t, w) = (self.t, &mut self.w);
        let mark = w.mark();
        let (term, inside) = (w.temporary(Class::B64), w.temporary(Class::Pred));
        let values = factor.pointers.iter().zip(&factor.values).zip(&factor.terms);
        for ((pointer, value), own) in values {
            ptx!(w, "add.u64 {term}, {own}, {}", self.before);
            ptx!(w, "setp.lt.u64 {inside}, {term}, {}", self.terms);
            ptx!(w, "@{inside} ld.global.nc.{t} {value}, [{pointer}]");
            ptx!(w, "add.u64 {pointer}, {pointer}, {}", factor.step);
        }
        w.release_to(mark);
    }

    /// Puts loaded values into shared memory, with their signs.
    fn store(&mut self, factor: &Factor) {
        let (t, w) = (self.t, &mut self.w);
        for (i, value) in (0..).zip(&factor.values) {
            if self.dtype.is_float() {
                ptx!(w, "@{} neg.{t} {value}, {value}", factor.negative);
            }
            ptx!(w, "st.shared.{t} [{}+{}], {value}", factor.shared, i * factor.next);
        }
    }

    /// Where this thread's first vectors are in shared memory; rows and columns become those of its first entry.
    fn own_vectors(&mut self, thread: Name, [row, column]: [Name; 2]) -> [Name; 2] {
        let (n, bytes) = (vector(self.dtype), self.bytes);
        let start = DEPTH * self.pitch();
        let w = &mut self.w;
        let [y, x, left, right] = [(); 4].map(|()| w.temporary(Class::B32));
        let wide = w.temporary(Class::B64);
        ptx!(w, "shr.u32 {y}, {thread}, {}", SIDE_THREADS.ilog2());
        ptx!(w, "and.b32 {x}, {thread}, {}", SIDE_THREADS - 1);
        for (place, at, first) in [(y, left, row), (x, right, column)] {
            ptx!(w, "mov.u32 {at}, words");
            ptx!(w, "mad.lo.u32 {at}, {place}, {}, {at}", n * bytes);
            ptx!(w, "mul.wide.u32 {wide}, {place}, {n}");
            ptx!(w, "add.u64 {first}, {first}, {wide}");
        }
        ptx!(w, "add.u32 {right}, {right}, {start}");
        [left, right]
    }

    fn clear(&mut self) {
        for i in 0..self.per * self.per {
            self.w.set(self.dtype, self.sums.next(i), 0);
        }
    }

    /// Adds the products of a term that lies so far behind the first in shared memory.
    fn add_products(&mut self, [left, right]: [Name; 2], offset: u32) {
        let (n, t) = (vector(self.dtype), self.t);
        let half = side(self.dtype) / 2 * self.bytes;
        let w = &mut self.w;
        let mark = w.mark();
        let factors = [left, right].map(|at| {
            let values: Vec<Name> = (0..2 * n).map(|_| w.temporary_of(self.dtype)).collect();
            for (i, values) in (0..).zip(values.chunks(n as usize)) {
                let list: Vec<String> = values.iter().map(ToString::to_string).collect();
                let list = list.join(", ");
                ptx!(w, "ld.shared.v{n}.{t} {{{list}}}, [{at}+{}]", offset + i * half);
            }
            values
        });
        let add = if self.dtype.is_float() { "fma.rn" } else { "mad.lo" };
        for (i, left) in (0..).zip(&factors[0]) {
            for (j, right) in (0..).zip(&factors[1]) {
                let sum = self.sums.next(i * self.per + j);
                ptx!(w, "{add}.{t} {sum}, {left}, {right}, {sum}");
            }
        }
        w.release_to(mark);
    }

    /// Adds the products of fewer terms than a tile has.
    fn add_few(&mut self, [left, right]: [Name; 2], n: Name) {
        let pitch = self.pitch();
        let mark = self.w.mark();
        let [at_left, at_right] = [(); 2].map(|()| self.w.temporary(Class::B32));
        let (count, more) = (self.w.temporary(Class::B64), self.w.temporary(Class::Pred));
        let again: Label = self.w.new_label();
        ptx!(self.w, "mov.u32 {at_left}, {left}");
        ptx!(self.w, "mov.u32 {at_right}, {right}");
        ptx!(self.w, "mov.u64 {count}, {n}");
        self.w.put_label(again);
        self.add_products([at_left, at_right], 0);
        ptx!(self.w, "add.u32 {at_left}, {at_left}, {pitch}");
        ptx!(self.w, "add.u32 {at_right}, {at_right}, {pitch}");
        ptx!(self.w, "sub.u64 {count}, {count}, 1");
        ptx!(self.w, "setp.ne.u64 {more}, {count}, 0");
        ptx!(self.w, "@{more} bra {again}");
        self.w.release_to(mark);
    }

    /// Writes the sums, or adds them to those that are there.
    fn put_down(
        &mut self,
        [row, column]: [Name; 2],
        [rows, columns, matrix]: [Name; 3],
        result: Name,
        has_sums: Name,
    ) {
        let (n, bytes, t) = (vector(self.dtype), self.bytes, self.t);
        let half = side(self.dtype) / 2;
        let w = &mut self.w;
        let mark = w.mark();
        let [own_row, own_column, start, address] = [(); 4].map(|()| w.temporary(Class::B64));
        let [in_row, inside, adds] = [(); 3].map(|()| w.temporary(Class::Pred));
        let old = w.temporary_of(self.dtype);
        let place = |i: u32| i / n * half + i % n;
        let add = if self.dtype.is_float() { "add.rn" } else { "add" };
        for i in 0..self.per {
            ptx!(w, "add.u64 {own_row}, {row}, {}", place(i));
            ptx!(w, "setp.lt.u64 {in_row}, {own_row}, {rows}");
            ptx!(w, "mad.lo.u64 {start}, {matrix}, {rows}, {own_row}");
            ptx!(w, "mul.lo.u64 {start}, {start}, {columns}");
            for j in 0..self.per {
                let sum = self.sums.next(i * self.per + j);
                ptx!(w, "add.u64 {own_column}, {column}, {}", place(j));
                ptx!(w, "setp.lt.and.u64 {inside}, {own_column}, {columns}, {in_row}");
                ptx!(w, "add.u64 {address}, {start}, {own_column}");
                ptx!(w, "mad.lo.u64 {address}, {address}, {bytes}, {result}");
                ptx!(w, "and.pred {adds}, {inside}, {has_sums}");
                ptx!(w, "@{adds} ld.global.{t} {old}, [{address}]");
                ptx!(w, "@{adds} {add}.{t} {sum}, {old}, {sum}");
                ptx!(w, "@{inside} st.global.{t} [{address}], {sum}");
            }
        }
        w.release_to(mark);
    }
}
