//! Work on many lanes in pieces, by several threads if that pays.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Room;
use super::lanes::Lanes;
use crate::backend::isa::Isa;
use crate::backend::thread_pool::{Chunks, Claims, Pool, wait_until, worker_number};
use crate::convert::exactly;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::memory::buffer::Buffer;

/// Lanes of a piece, unless there would be more than [`MAX_PIECES`].
pub(super) const PIECE: usize = 1 << 16;
/// Most pieces: what is kept for each stays small beside the array.
pub(super) const MAX_PIECES: usize = 1 << 14;
/// Lanes below which a second thread does not pay.
pub(super) const WORTH_A_THREAD: usize = 1 << 17;

/// Threads and working memory of one call.
pub(super) struct Workers<'a> {
    pub(super) pool: &'a Pool,
    /// Instructions that may be used.
    pub(super) isa: Isa,
    pub(super) room: Room<'a>,
}

/// Working memory that is freed with it.
pub(super) struct Scratch<T> {
    pub(super) lanes: Lanes<T>,
    _memory: Buffer,
}

/// Working memory of threads, a place of so many lanes each.
pub(super) struct ScratchPool<T> {
    lanes: Lanes<T>,
    length: usize,
    free: Mutex<Vec<usize>>,
}

impl<T: Copy> Scratch<T> {
    /// Cut into places of so many lanes.
    pub(super) fn places(&self, length: usize) -> ScratchPool<T> {
        let free = Mutex::new((0..self.lanes.len() / length).collect());
        ScratchPool { lanes: self.lanes, length, free }
    }
}

impl<T: Copy> ScratchPool<T> {
    /// Calls `work` with the number of a place and its lanes, which no other thread has meanwhile: the one that this thread
    /// had in a call before, whose lanes are in its cache, or another. Threads that wait for something else may help, so
    /// that there are more than places.
    pub(super) fn with<R>(&self, work: impl FnOnce(usize, Lanes<T>) -> R) -> R {
        let own = worker_number();
        let taken = Cell::new(None);
        wait_until(|| {
            let mut free = lock(&self.free);
            let at = free.iter().position(|&number| number == own);
            taken.set(at.map(|at| free.swap_remove(at)).or_else(|| free.pop()));
            taken.get().is_some()
        });
        let number = taken.get().expect("internal error: no place");
        let _place = Place { free: &self.free, number };
        work(number, self.lanes.range(number * self.length, self.length))
    }
}

/// A place that is given back with this, also where a thread panics: others may wait for it.
struct Place<'p> {
    free: &'p Mutex<Vec<usize>>,
    number: usize,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        lock(self.free).push(self.number);
    }
}

impl Workers<'_> {
    /// Undefined lanes to work with.
    pub(super) fn scratch<T: Copy>(&self, n: usize) -> Result<Scratch<T>> {
        let memory = (self.room)((n * size_of::<T>()) as u64)?;
        Ok(Scratch { lanes: Lanes::at(memory.address(), n), _memory: memory })
    }

    /// Calls `each` for every number below `n`, on several threads if that is worth it; it may ask whether to go on.
    ///
    /// # Errors
    /// `Interrupted`.
    pub(super) fn tasks(
        &self,
        n: usize,
        is_worth: bool,
        each: impl Fn(usize, &dyn Fn() -> bool) + Send + Sync + 'static,
    ) -> Result<()> {
        let stopped = Arc::new(AtomicBool::new(false));
        let stop = stopped.clone();
        let work = move |claims: &Claims<'_>| {
            let goes_on = || {
                if interrupt::is_requested() {
                    stop.store(true, Ordering::Relaxed);
                    claims.stop();
                }
                !stop.load(Ordering::Relaxed)
            };
            while let Some(number) = claims.take() {
                if !goes_on() {
                    return;
                }
                each(exactly::<usize>(number), &goes_on);
            }
        };
        if is_worth {
            self.pool.run(n as u64, Arc::new(work));
        } else {
            work(&Chunks::new(n as u64).claims(0));
        }
        if stopped.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Calls `each` for every piece of `n` lanes, on several threads if that pays.
    ///
    /// # Errors
    /// `Interrupted`.
    pub(super) fn pieces(
        &self,
        n: usize,
        each: impl Fn(Piece) + Send + Sync + 'static,
    ) -> Result<()> {
        let length = piece_length(n);
        let n_pieces = n.div_ceil(length);
        let stopped = Arc::new(AtomicBool::new(false));
        let stop = stopped.clone();
        let work = move |claims: &Claims<'_>| {
            while let Some(number) = claims.take() {
                if interrupt::is_requested() {
                    stop.store(true, Ordering::Relaxed);
                    claims.stop();
                    return;
                }
                let number = exactly::<usize>(number);
                let start = number * length;
                each(Piece { number, start, end: n.min(start + length) });
            }
        };
        if n < WORTH_A_THREAD {
            work(&Chunks::new(n_pieces as u64).claims(0));
        } else {
            self.pool.run(n_pieces as u64, Arc::new(work));
        }
        if stopped.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }
}

/// A range of lanes.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    pub(super) number: usize,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Lanes of each piece of `n` lanes but the last: a power of two.
pub(super) fn piece_length(n: usize) -> usize {
    n.div_ceil(MAX_PIECES).next_power_of_two().max(PIECE)
}

/// Takes a lock, whoever else failed with it.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
