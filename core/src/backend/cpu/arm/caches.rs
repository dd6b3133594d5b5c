//! The caches that code and working memory are made to fit.

use crate::backend::cpu::machine::Caches;

/// A program may not ask the processor, and systems differ in whether they tell. No processor of the last ten years has
/// less for each core of its own, but for the smallest.
pub(super) const OF_MOST_PROCESSORS: Caches = Caches { instructions: 48 << 10, second: 512 << 10 };
