//! Scatters by all threads, with the bits of one.
//!
//! Lanes may meet in an element, and then their order shows (S12). The target is cut into windows, each written by one
//! thread at a time, which takes the lanes that hit it in their order: it looks for them in all lanes ([`picked`]), which
//! takes vectors, or lanes are put in the order of windows first ([`windows`]). Where no order shows, threads may write to
//! [`copies`] of a small target.

mod copies;
mod hits;
#[cfg(target_arch = "x86_64")]
mod picked;
mod windows;

use super::pieces::Workers;
#[cfg(target_arch = "x86_64")]
use super::vectors::Vectors;
use crate::backend::OutOfBounds;
use crate::error::Result;

pub(in crate::backend) use copies::combine_copy;
pub(in crate::backend) use hits::{OfLanes, Scatter};

/// Writes; the lowest lane whose index is out of bounds, which wrote nothing.
///
/// # Errors
/// `OutOfMemory`, and nothing is written; `Interrupted`, and the target is undefined then.
pub(super) fn write(workers: &Workers<'_>, scatter: &Scatter) -> Result<Option<OutOfBounds>> {
    #[cfg(target_arch = "x86_64")]
    if let Some(vectors) = Vectors::of(workers.isa)
        && picked::suits(workers, scatter)
    {
        return picked::write(workers, vectors, scatter);
    }
    windows::write(workers, scatter)
}
