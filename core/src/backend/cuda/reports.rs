//! The words in which running kernels report: indices out of bounds, and what parts of a launch reduced. They are host
//! memory that the GPU writes, so nothing has to be copied, least of all where nothing failed.

use std::sync::{Arc, Mutex, PoisonError};

use super::gpu::{Gpu, Mapped};
use super::order::Ticket;
use super::ptx::WORDS_PER_ACCESS;
use crate::backend::{Failures, OutOfBounds, Running};
use crate::dtype::DType;
use crate::error::Result;
use crate::ir::kernel::{Kernel, NO_ERROR};

/// Words that are pinned at a time.
const SLAB: usize = 1 << 14;

/// Hands out words for launches.
pub(super) struct ReportWords {
    gpu: Arc<Gpu>,
    /// The words handed out last, and how many of them.
    slab: Mutex<Option<(Arc<Mapped>, usize)>>,
}

/// The words of one launch: a pair for each piece of it and each access.
pub(super) struct Words {
    slab: Arc<Mapped>,
    first: usize,
    /// Type of the index of each access.
    accesses: Vec<DType>,
    pieces: usize,
    /// The first lane, and lanes of a piece.
    first_lane: u64,
    piece: u64,
    /// The launch, once it was given to a stream.
    launch: Option<Ticket>,
}

impl ReportWords {
    pub(super) fn new(gpu: Arc<Gpu>) -> Self {
        Self { gpu, slab: Mutex::default() }
    }

    /// Words for a launch in pieces from a lane on, all without an error.
    pub(super) fn take(
        &self,
        accesses: &[DType],
        first_lane: u64,
        pieces: usize,
        piece: u64,
    ) -> Result<Words> {
        let n = accesses.len() * pieces * WORDS_PER_ACCESS;
        let (slab, first) = self.take_words(n, NO_ERROR)?;
        let accesses = accesses.to_vec();
        Ok(Words { slab, first, accesses, pieces, first_lane, piece, launch: None })
    }

    /// So many words of a value, which nobody else has: those from a number on.
    pub(super) fn take_words(&self, n: usize, value: u64) -> Result<(Arc<Mapped>, usize)> {
        let mut slab = self.slab.lock().unwrap_or_else(PoisonError::into_inner);
        let room = slab.as_ref().is_some_and(|(words, used)| used + n <= words.len());
        if !room {
            *slab = Some((Arc::new(self.gpu.mapped(SLAB.max(4 * n))?), 0));
        }
        let (words, used) = slab.as_mut().expect("internal error: a slab was just made");
        let first = *used;
        *used += n;
        (first..first + n).for_each(|word| words.set(word, value));
        Ok((words.clone(), first))
    }
}

/// The types of a kernel's checked indices.
pub(super) fn index_types(kernel: &Kernel) -> Vec<DType> {
    kernel.accesses.iter().map(|access| access.index).collect()
}

impl Words {
    /// The words of a launch that was given to a stream.
    pub(super) fn of(self, launch: Ticket) -> Self {
        Self { launch: Some(launch), ..self }
    }

    /// Where the GPU finds the words of a piece.
    pub(super) fn address(&self, piece: usize) -> u64 {
        self.slab.address + 8 * self.word(piece, 0) as u64
    }

    fn word(&self, piece: usize, access: usize) -> usize {
        self.first + (piece * self.accesses.len() + access) * WORDS_PER_ACCESS
    }

    /// What failed in a piece, whose first lane is `start`.
    fn failure(&self, piece: usize, access: usize, start: u64) -> Option<OutOfBounds> {
        let word = self.word(piece, access);
        let [low, high] = [word, word + 1].map(|word| self.slab.get(word).unwrap_or(NO_ERROR));
        let lane = (low >> 32) + start;
        // Narrow indices were extended when they were compared.
        let index = (high & u64::from(u32::MAX)) << 32 | low & u64::from(u32::MAX);
        (low != NO_ERROR).then_some(OutOfBounds { lane, index })
    }
}

impl Running for Words {
    fn failures(&self) -> Failures {
        let failure = |access| {
            (0..self.pieces).find_map(|piece| {
                self.failure(piece, access, self.first_lane + piece as u64 * self.piece)
            })
        };
        (0..self.accesses.len()).map(failure).collect()
    }

    fn is_waiting(&self) -> bool {
        // What was given to no stream yet is under way.
        self.launch.is_none_or(|launch| !self.slab.gpu().is_over(launch))
    }
}

/// The words of a batch: the pieces are its members.
pub(super) struct OfMembers(pub(super) Words);

impl Running for OfMembers {
    fn failures(&self) -> Failures {
        let of = |member: usize| {
            (0..self.0.accesses.len()).map(move |access| self.0.failure(member, access, 0))
        };
        (0..self.0.pieces).flat_map(of).collect()
    }

    fn is_waiting(&self) -> bool {
        self.0.is_waiting()
    }
}
