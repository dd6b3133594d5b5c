//! The entry for products of matrices, in the order of S26.
//!
//! A block computes a tile of a product, or those of several small matrices. [`Tile::depth`] lanes of both factors at a
//! time go to shared memory, several stages ahead of those that are multiplied; each thread reads its rows and columns as
//! vectors of 16 bytes. At the end of a chunk the sums go to the result. Of complex products a block computes the real part, the
//! imaginary part, or both.
//!
//! | file | content |
//! |---|---|
//! | `mod.rs` | the outline |
//! | `tile.rs` | which entries a block and a thread compute |
//! | `copies.rs` | from memory to shared memory |
//! | `sums.rs` | from shared memory to sums, and from there to memory |
#![deny(clippy::wildcard_enum_match_arm)]

mod copies;
mod sums;
mod tile;

use self::copies::Factor;
use self::sums::Own;
use self::tile::Tile;
use super::scan::params;
use super::target::Target;
use super::writer::{Class, Name, Writer, ptx};
use crate::dtype::DType;
use crate::ir::primitive::Product as Products;

pub use self::tile::Size;

/// What is computed of products.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Parts {
    /// Real ones.
    Whole,
    /// The real part of complex ones.
    Real,
    /// The imaginary part.
    Imag,
    /// Real and imaginary part.
    Both,
}

/// The code of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Product {
    /// Type of the entries.
    pub dtype: DType,
    /// Whether the left, and the right factor lies column by column.
    pub turned: [bool; 2],
    /// Whether their imaginary parts change their signs.
    pub conjugate: [bool; 2],
    /// Whether each begins, and goes on to the next lane along the depth and to the next matrix, by whole vectors.
    pub aligned: [bool; 2],
    /// What is computed.
    pub parts: Parts,
    /// How much a block computes.
    pub size: Size,
}

/// A term of a sum: planes of the left and of the right factor, and whether it changes its sign.
type Term = (usize, usize, bool);

impl Parts {
    /// Arrays that a factor consists of.
    const fn n_planes(self) -> u32 {
        match self {
            Self::Whole => 1,
            Self::Real | Self::Imag | Self::Both => 2,
        }
    }

    const fn n_results(self) -> u32 {
        match self {
            Self::Whole | Self::Real | Self::Imag => 1,
            Self::Both => 2,
        }
    }
}

impl Product {
    /// Threads of a block.
    pub(super) fn threads(self) -> u32 {
        self.tile().threads()
    }

    /// The terms of each result, in their order.
    fn terms(self) -> Vec<Vec<Term>> {
        let [left, right] = self.conjugate;
        let real = vec![(0, 0, false), (1, 1, left == right)];
        let imag = vec![(0, 1, right), (1, 0, left)];
        match self.parts {
            Parts::Whole => vec![vec![(0, 0, false)]],
            Parts::Real => vec![real],
            Parts::Imag => vec![imag],
            Parts::Both => vec![real, imag],
        }
    }
}

/// Words of parameters.
const WORDS: usize = 18;
/// The first of those of a factor.
const FACTOR_WORDS: [usize; 2] = [8, 13];

/// Where a thread and its block work.
struct Place {
    /// Number of the thread among those of a matrix.
    thread: Name,
    /// Where the matrix' part of shared memory begins.
    shared: Name,
    /// Which matrix; the last where there are fewer.
    matrix: Name,
    /// First row and column of the tile, and how many there are from there on, as 32 bits and at most as many as a
    /// tile has; none where there is no matrix.
    first: [Name; 2],
    left: [Name; 2],
}

/// A product being written.
struct Lowering {
    w: Writer,
    code: Product,
    tile: Tile,
    t: &'static str,
    bytes: u32,
    /// Whether copies to shared memory go on while threads do other things.
    copies_alone: bool,
    /// Sums of each result, row by row.
    sums: Name,
    /// Bytes from the half of the stages that is read to the other one, where there are four.
    flip: Name,
}

/// Words of parameters: rows, columns, depth, blocks along rows and along columns, matrices; addresses of the result and of
/// the second one, if there are two; of each factor the addresses of its planes, bytes from a row (of the right factor,
/// column) to the next, along the depth and from matrix to matrix. One block a tile, first along columns, then along rows,
/// then matrices.
pub(super) fn product(code: Product, target: Target, name: &str) -> String {
    let mut p = Lowering::new(code, target);
    let place = p.place();
    let mut factors = [0, 1].map(|number| p.factor(number, &place));
    let own = p.own(&place);
    p.clear();
    ptx!(p.w, "mov.u32 {}, {}", p.flip, p.half());
    // Lanes along the depth that are left, and how many are when the chunk ends.
    let [left, end] = [(); 2].map(|()| p.w.temporary(Class::B32));
    let depth = p.w.param(2);
    let chunk = Products::CHUNK;
    ptx!(p.w, "cvt.u32.u64 {left}, {depth}");
    ptx!(p.w, "sub.s32 {end}, {left}, {chunk}");
    p.start(&mut factors, left);
    let [has_sums, goes_on] = [(); 2].map(|()| p.w.temporary(Class::Pred));
    ptx!(p.w, "setp.ne.u32 {has_sums}, {left}, {left}");
    let stop = p.w.temporary(Class::B32);
    let again = p.w.new_label();
    p.w.put_label(again);
    ptx!(p.w, "max.s32 {stop}, {end}, 0");
    p.stages(&mut factors, &own, left);
    ptx!(p.w, "setp.gt.s32 {goes_on}, {left}, {stop}");
    ptx!(p.w, "@{goes_on} bra {again}");
    p.put_down(&own, has_sums);
    ptx!(p.w, "setp.gt.s32 {goes_on}, {left}, 0");
    ptx!(p.w, "@!{goes_on} ret");
    p.clear();
    ptx!(p.w, "setp.eq.u32 {has_sums}, {left}, {left}");
    ptx!(p.w, "sub.s32 {end}, {end}, {chunk}");
    ptx!(p.w, "bra {again}");
    p.w.finish(name, &[params(WORDS)])
}

impl Lowering {
    fn new(code: Product, target: Target) -> Self {
        let mut w = Writer::of_target(target);
        let copies_alone = w.is_since_80();
        let mut tile = code.tile();
        if !copies_alone {
            tile.stages = 2;
        }
        let n = tile.per[0] * tile.per[1] * code.parts.n_results();
        let flip = w.temporary(Class::B32);
        let sums = w.values(code.dtype, 0, n);
        w.shared_words = tile.stages * code.stage_bytes(tile) / 8;
        w.has_vectors_shared = true;
        w.launch_bounds = Some([tile.threads(), tile.resident]);
        let bytes = code.dtype.bits() / 8;
        Self { w, code, tile, t: code.dtype.ptx(), bytes, copies_alone, sums, flip }
    }

    /// Finds out where the thread works.
    fn place(&mut self) -> Place {
        let tile = self.tile;
        let extents = [0, 1].map(|word| self.w.param(word));
        let blocks = [3, 4].map(|word| self.w.param(word));
        let n = self.w.param(5);
        let w = &mut self.w;
        let [thread, slot, rest, count, part] = [(); 5].map(|()| w.temporary(Class::B32));
        ptx!(w, "mov.u32 {thread}, %tid.x");
        ptx!(w, "mov.u32 {rest}, %ctaid.x");
        ptx!(w, "shr.u32 {slot}, {thread}, {}", tile.threads_of_slot().ilog2());
        ptx!(w, "and.b32 {thread}, {thread}, {}", tile.threads_of_slot() - 1);
        let first = [1, 0].map(|axis| {
            let first = w.temporary(Class::B64);
            ptx!(w, "cvt.u32.u64 {count}, {}", blocks[axis]);
            ptx!(w, "rem.u32 {part}, {rest}, {count}");
            ptx!(w, "div.u32 {rest}, {rest}, {count}");
            ptx!(w, "mul.wide.u32 {first}, {part}, {}", tile.sides[axis]);
            first
        });
        let first = [first[1], first[0]];
        let (matrix, last, beyond) =
            (w.temporary(Class::B64), w.temporary(Class::B64), w.temporary(Class::Pred));
        ptx!(w, "mad.lo.u32 {rest}, {rest}, {}, {slot}", tile.slots);
        ptx!(w, "cvt.u64.u32 {matrix}, {rest}");
        ptx!(w, "setp.ge.u64 {beyond}, {matrix}, {n}");
        ptx!(w, "sub.u64 {last}, {n}, 1");
        ptx!(w, "min.u64 {matrix}, {matrix}, {last}");
        let left = [0, 1].map(|axis| {
            let (left, rest) = (w.temporary(Class::B32), w.temporary(Class::B64));
            ptx!(w, "sub.u64 {rest}, {}, {}", extents[axis], first[axis]);
            ptx!(w, "min.u64 {rest}, {rest}, {}", tile.sides[axis]);
            ptx!(w, "cvt.u32.u64 {left}, {rest}");
            ptx!(w, "selp.b32 {left}, 0, {left}, {beyond}");
            left
        });
        let shared = w.temporary(Class::B32);
        ptx!(w, "mov.u32 {shared}, words");
        ptx!(w, "mad.lo.u32 {shared}, {slot}, {}, {shared}", self.code.slot_bytes(tile));
        Place { thread, shared, matrix, first, left }
    }

    /// Copies what the first stages need.
    fn start(&mut self, factors: &mut [Factor; 2], left: Name) {
        for stage in 0..self.tile.stages - 1 {
            for factor in &mut *factors {
                self.copy(factor, (left, stage), stage, stage * self.code.stage_bytes(self.tile));
            }
            if self.copies_alone {
                ptx!(self.w, "cp.async.commit_group");
            } else {
                factors.iter().for_each(|factor| self.store(factor, 0));
            }
        }
        for factor in factors {
            self.go_on(factor, self.tile.stages - 1);
            // What comes next is the last stage.
            let half = self.half();
            ptx!(self.w, "add.u32 {}, {}, {half}", factor.shared, factor.shared);
        }
    }

    /// Multiplies two stages, and copies those that follow. Places in shared memory change between the first and the
    /// second half of the stages, where there are four.
    fn stages(&mut self, factors: &mut [Factor; 2], own: &Own, left: Name) {
        let (ahead, bytes) = (self.tile.stages - 1, self.code.stage_bytes(self.tile));
        for half in 0..2 {
            if self.copies_alone {
                ptx!(self.w, "cp.async.wait_group {}", self.tile.stages - 2);
            }
            ptx!(self.w, "bar.sync 0");
            let target = (1 - half) * bytes;
            for factor in &mut *factors {
                if half == 1 && self.half() > 0 {
                    ptx!(self.w, "sub.u32 {}, {}, {}", factor.shared, factor.shared, self.flip);
                }
                self.copy(factor, (left, ahead + half), half, target);
            }
            if self.copies_alone {
                ptx!(self.w, "cp.async.commit_group");
            }
            self.multiply(own, (left, half * self.tile.depth), half * bytes);
            if !self.copies_alone {
                factors.iter().for_each(|factor| self.store(factor, target));
            }
        }
        ptx!(self.w, "sub.s32 {left}, {left}, {}", 2 * self.tile.depth);
        for factor in factors {
            self.go_on(factor, 2);
        }
        if self.half() > 0 {
            for place in own.shared {
                ptx!(self.w, "add.u32 {place}, {place}, {}", self.flip);
            }
            ptx!(self.w, "neg.s32 {}, {}", self.flip, self.flip);
        }
    }

    /// Bytes of half of the stages where there are four, none where there are two.
    const fn half(&self) -> u32 {
        self.code.stage_bytes(self.tile) * (self.tile.stages - 2)
    }
}
