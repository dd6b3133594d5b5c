//! Some lanes of a launch whose others run elsewhere: on another GPU, or in another part of the same.
//!
//! What they reduce is not stored, but left in words of the host: of each of the largest subtrees of S11's tree that cover the
//! lanes the result, which is combined with those of the others there.

use std::ops::Range;
use std::sync::Arc;

use super::gpu::{Mapped, Stream};
use super::launch::{Cover, Loaded, uses};
use super::order::Ticket;
use super::ptx::CHUNK;
use super::reports::Words;
use crate::backend::reduce::{self, Subtree};
use crate::backend::{Begun, Ran, Running, RunsRanges};
use crate::error::Result;
use crate::ir::kernel::{ParamBlock, WORD_CHUNKS, WORD_SCRATCH, WORD_SIZE};

/// Where a launch leaves what it reduces: a word of each reduction for each subtree.
struct Covers {
    words: Arc<Mapped>,
    first: usize,
    n_results: usize,
    subtrees: Vec<(u32, Range<u64>)>,
}

impl Covers {
    fn word(&self, subtree: usize, result: usize) -> usize {
        self.first + subtree * self.n_results + result
    }

    /// For each reduction its subtrees; to be asked when the launch is done.
    fn read(&self) -> Vec<Vec<Subtree>> {
        let of = |result: usize| {
            let subtrees = self.subtrees.iter().enumerate();
            let subtree = |(i, (level, chunks)): (usize, &(u32, Range<u64>))| Subtree {
                level: *level,
                number: chunks.start >> level,
                result: self.words.get(self.word(i, result)).unwrap_or(0),
            };
            subtrees.map(subtree).collect()
        };
        (0..self.n_results).map(of).collect()
    }
}

/// Lanes that a stream was given.
struct Given {
    stream: Stream,
    ticket: Ticket,
    errors: Option<Words>,
    covers: Option<Covers>,
}

impl Loaded {
    fn give(&self, mut params: ParamBlock, lanes: Range<u64>) -> Result<Given> {
        let turn = self.shared.gpu.turn(uses(&self.buffers, &params), None)?;
        let stream = turn.stream;
        let errors = self.prepare(&mut params, &lanes)?;
        let covers = match &self.cover {
            Some(cover) => Some(self.give_chunks(cover, stream, params, lanes, errors.as_ref())?),
            None => {
                self.start(stream, &mut params, lanes, errors.as_ref())?;
                None
            }
        };
        Ok(Given { stream, ticket: turn.end(), errors, covers })
    }

    /// The same of a kernel with reductions.
    fn give_chunks(
        &self,
        cover: &Cover,
        stream: Stream,
        mut params: ParamBlock,
        lanes: Range<u64>,
        errors: Option<&Words>,
    ) -> Result<Covers> {
        let shared = &self.shared;
        let entry = cover.entry(shared)?;
        let n_results = cover.n_results();
        let chunk = 8 * n_results as u64;
        let n_chunks = params.words()[WORD_SIZE].div_ceil(CHUNK);
        let chunks = lanes.start / CHUNK..lanes.end.div_ceil(CHUNK);
        let subtrees = reduce::subtrees(chunks.clone(), n_chunks);
        let (words, first) = shared.reports.take_words(subtrees.len() * n_results, 0)?;
        let covers = Covers { words, first, n_results, subtrees };
        shared.with_tree(stream, chunks.end - chunks.start, n_results, |scratch| {
            // Chunks have the numbers that they have in the whole launch, of which there are more than one.
            params.set(WORD_SCRATCH, scratch.wrapping_sub(chunks.start * chunk));
            params.set(WORD_CHUNKS, n_chunks.max(2));
            self.start(stream, &mut params, lanes, errors)?;
            // The last one first: what a fold leaves on its way up lies over the words behind its own.
            for (i, (_, own)) in covers.subtrees.iter().enumerate().rev() {
                let before = (own.start - chunks.start) * chunk;
                let address =
                    |result: usize| covers.words.address + 8 * covers.word(i, result) as u64;
                let results = (0..n_results).map(address);
                let n = own.end - own.start;
                entry.launch(shared, stream, (scratch + before, before), n, results)?;
            }
            Ok(())
        })?;
        Ok(covers)
    }

    /// Waits for what is told of the lanes; of others nobody waits.
    fn take(&self, given: &Given) -> Result<Ran> {
        if self.has_loops {
            self.shared.wait_for_loops(given.stream)?;
        } else if given.errors.is_some() || given.covers.is_some() {
            self.shared.gpu.wait_for_ticket(given.ticket)?;
        }
        let failures = given.errors.as_ref().map(Running::failures).unwrap_or_default();
        let covers = given.covers.as_ref().map(Covers::read).unwrap_or_default();
        Ok(Ran { failures, covers, time: None })
    }
}

impl RunsRanges for Loaded {
    fn run_range(&self, params: ParamBlock, lanes: Range<u64>) -> Result<Ran> {
        self.take(&self.give(params, lanes)?)
    }

    fn begin_range(&self, params: ParamBlock, lanes: Range<u64>) -> Begun<'_, Ran> {
        let given = self.give(params, lanes);
        Box::new(move || self.take(&given?))
    }
}
