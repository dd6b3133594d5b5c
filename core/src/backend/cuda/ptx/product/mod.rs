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
//! | `tile.rs` | what there is to compute, and which entries a block and a thread take |
//! | `thread_tile.rs` | where a thread works |
//! | `copies.rs` | from memory to shared memory |
//! | `sums.rs` | from shared memory to sums, and from there to memory |
//! | `matrix_units.rs` | sums of doubles where the device has units for them that keep the order |
#![deny(clippy::wildcard_enum_match_arm)]

mod copies;
mod matrix_units;
mod sums;
mod thread_tile;
mod tile;

use self::copies::Factor;
use self::sums::Own;
use self::thread_tile::Lowering;
use super::scan::params;
use super::target::Target;
use super::writer::{Class, Name, ptx};
use crate::ir::primitive::Product as Products;

pub use self::tile::{Parts, Product, Size};

/// The parameter of a batch: the address of the first member's words.
const MEMBERS: &str = ".param .u64 params";
/// Words of parameters.
const WORDS: usize = 18;

/// Words of parameters: rows, columns, depth, blocks along rows and along columns, matrices; addresses of the result and of
/// the second one, if there are two; of each factor the addresses of its planes, bytes from a row (of the right factor,
/// column) to the next, along the depth and from matrix to matrix. One block a tile, first along columns, then along rows,
/// then matrices.
pub(super) fn product(code: Product, target: Target, name: &str) -> String {
    let mut p = Lowering::new(code, target);
    if code.is_batch {
        p.w.take_member(WORDS);
    }
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
    p.w.finish(name, &[if code.is_batch { MEMBERS.into() } else { params(WORDS) }])
}

impl Lowering {
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
            for place in &own.shared {
                ptx!(self.w, "add.u32 {place}, {place}, {}", self.flip);
            }
            ptx!(self.w, "neg.s32 {}, {}", self.flip, self.flip);
        }
    }
}
