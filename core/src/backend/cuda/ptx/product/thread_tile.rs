//! Where a thread works, and what it keeps while the code of a product is written.

use super::super::target::Target;
use super::super::writer::{Class, Name, Writer, ptx};
use super::tile::{Product, Tile};

/// Where a thread and its block work.
pub(super) struct ThreadTile {
    /// Number of the thread among those of a matrix.
    pub(super) thread: Name,
    /// Where the matrix' part of shared memory begins.
    pub(super) shared: Name,
    /// Which matrix; the last where there are fewer.
    pub(super) matrix: Name,
    /// First row and column of the tile, and how many there are from there on, as 32 bits and at most as many as a
    /// tile has; none where there is no matrix.
    pub(super) first: [Name; 2],
    pub(super) left: [Name; 2],
}

/// A product being written.
pub(super) struct Lowering {
    pub(super) w: Writer,
    pub(super) code: Product,
    pub(super) tile: Tile,
    pub(super) t: &'static str,
    pub(super) bytes: u32,
    /// Whether copies to shared memory go on while threads do other things.
    pub(super) copies_alone: bool,
    /// Sums of each result, row by row.
    pub(super) sums: Name,
    /// Bytes from the half of the stages that is read to the other one, where there are four.
    pub(super) flip: Name,
}

impl Lowering {
    pub(super) fn new(code: Product, target: Target) -> Self {
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
    pub(super) fn place(&mut self) -> ThreadTile {
        let tile = self.tile;
        let extents = [0, 1].map(|word| self.w.param(word));
        let blocks = [3, 4].map(|word| self.w.param(word));
        let n = self.w.param(5);
        let w = &mut self.w;
        let [thread, slot, rest, count, quotient, part] = [(); 6].map(|()| w.temporary(Class::B32));
        ptx!(w, "mov.u32 {thread}, %tid.x");
        ptx!(w, "mov.u32 {rest}, %ctaid.x");
        ptx!(w, "shr.u32 {slot}, {thread}, {}", tile.threads_of_slot().ilog2());
        ptx!(w, "and.b32 {thread}, {thread}, {}", tile.threads_of_slot() - 1);
        let first = [1, 0].map(|axis| {
            let first = w.temporary(Class::B64);
            ptx!(w, "cvt.u32.u64 {count}, {}", blocks[axis]);
            ptx!(w, "div.u32 {quotient}, {rest}, {count}");
            ptx!(w, "mul.lo.u32 {part}, {quotient}, {count}");
            ptx!(w, "sub.u32 {part}, {rest}, {part}");
            ptx!(w, "mov.u32 {rest}, {quotient}");
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
        ThreadTile { thread, shared, matrix, first, left }
    }

    /// Bytes of half of the stages where there are four, none where there are two.
    pub(super) const fn half(&self) -> u32 {
        self.code.stage_bytes(self.tile) * (self.tile.stages - 2)
    }
}
