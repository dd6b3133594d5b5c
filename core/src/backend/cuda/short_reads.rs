//! Short reads of what is under way. A copy begins when the engine that copies has heard that the work is done, and is done
//! when the driver says so; a kernel behind the work puts a few bytes into memory that the host looks at.

use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError};

use super::entries::Entries;
use super::gpu::{Function, Gpu, Grid, Mapped, Turn};
use super::ptx::Step;
use crate::error::Result;

/// Bytes of a read at most: the kernel has a thread for each.
const MOST_BYTES: usize = 256;
/// Reads after which the kernel is made: it takes longer than they do.
const FEW: u32 = 4;

/// The room that short reads go through.
pub(super) struct ShortReads {
    gpu: Arc<Gpu>,
    steps: Arc<Entries<Step>>,
    /// Reads so far.
    n_reads: AtomicU32,
    room: Mutex<Room>,
}

#[derive(Default)]
struct Room {
    /// The number of the read that was last answered, and behind it the bytes.
    words: Option<Mapped>,
    /// The number of the last read.
    number: u64,
    /// Words that a kernel may still write which nobody waited for.
    left: Vec<Mapped>,
}

impl ShortReads {
    pub(super) fn new(gpu: Arc<Gpu>, steps: Arc<Entries<Step>>) -> Self {
        Self { gpu, steps, n_reads: AtomicU32::new(0), room: Mutex::default() }
    }

    /// The kernel, if so many bytes are better read by it.
    pub(super) fn entry(&self, bytes: usize) -> Option<Function> {
        let is_short = (1..=MOST_BYTES).contains(&bytes);
        if !is_short || self.n_reads.fetch_add(1, Ordering::Relaxed) < FEW {
            return None;
        }
        self.steps.step(Step::Sent).ok()
    }

    /// Reads bytes, behind what the stream of a turn was given.
    ///
    /// # Errors
    /// `Interrupted`, a failure of the device.
    pub(super) fn read(
        &self,
        entry: Function,
        turn: &Turn<'_>,
        source: u64,
        target: &mut [u8],
    ) -> Result<()> {
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        let Room { words, number, left } = &mut *room;
        *number += 1;
        let own = match words.take() {
            Some(words) => words,
            None => self.new_words()?,
        };
        let params = [target.len() as u64, source, own.address + 8, own.address, *number];
        self.gpu.launch(turn.stream, entry, Grid::of(1, Step::Sent.threads()), &params)?;
        let is_there = || own.get(0) == Some(*number);
        if let Err(error) = self.gpu.wait_for_sign(turn.stream, is_there) {
            left.push(own);
            return Err(error);
        }
        turn.is_done();
        // What was written before the number is there as well.
        fence(Ordering::Acquire);
        for (i, piece) in (1..).zip(target.chunks_mut(8)) {
            let word = own.get(i).unwrap_or_default().to_le_bytes();
            piece.copy_from_slice(&word[..piece.len()]);
        }
        *words = Some(own);
        // Of a device that was lost meanwhile no word is read.
        self.gpu.enter()
    }

    fn new_words(&self) -> Result<Mapped> {
        let words = self.gpu.mapped(1 + MOST_BYTES / 8)?;
        words.set(0, 0);
        Ok(words)
    }
}
