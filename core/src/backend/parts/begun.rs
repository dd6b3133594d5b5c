//! What parts do beside each other.

use crate::backend::Begun;
use crate::error::Result;

/// Begins what others do, and waits for all of it.
///
/// # Errors
/// That of the first that fails.
pub(super) fn all<'c, T>(begun: impl Iterator<Item = Begun<'c, T>>) -> Result<Vec<T>> {
    let begun: Vec<Begun<'c, T>> = begun.collect();
    // Whatever fails, all come to their ends.
    let done: Vec<Result<T>> = begun.into_iter().map(|wait| wait()).collect();
    done.into_iter().collect()
}
