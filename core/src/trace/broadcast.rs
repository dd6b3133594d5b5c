//! How many lanes an operation has: those of its operands, of which the ones with a single lane are repeated (S6).

use super::Recorder;
use crate::error::{Error, Result};
use crate::ir::var::VarId;

impl Recorder<'_> {
    /// The common size of operands of `op`.
    #[inline]
    pub(super) fn broadcast(&self, op: impl Fn() -> &'static str, ids: &[VarId]) -> Result<u64> {
        let first = self.size(ids[0]);
        if ids[1..].iter().all(|&id| self.size(id) == first) {
            return Ok(first);
        }
        ids.iter().try_fold(1, |size, &id| broadcast_size(op(), size, self.size(id)))
    }
}

/// The size of an operation on operands of sizes `lhs` and `rhs`: equal, or one of them 1 (S6).
///
/// # Errors
/// `SizeMismatch` otherwise.
#[inline]
pub fn broadcast_size(op: &'static str, lhs: u64, rhs: u64) -> Result<u64> {
    if lhs == rhs || rhs == 1 {
        Ok(lhs)
    } else if lhs == 1 {
        Ok(rhs)
    } else {
        Err(Error::SizeMismatch { op, lhs, rhs })
    }
}
