//! Who runs the works: the threads of a pool that have nothing else to do, and whoever waits for one.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use super::works::{Load, Number, Taken, Use, Works};
use crate::backend::thread_pool::{Background, Pool};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::memory::process_heap;

/// Works that may wait; who adds more does some of them.
const MOST_WAITING: usize = 1 << 12;
/// Nanoseconds that they may take together, on one thread: whoever wants all done after an interrupt waits so long.
const MOST_TIME: u64 = 1_000_000_000;
/// Works from which on workers are woken even for short ones.
const WORTH_WAKING: usize = 8;
/// How often who waits looks at the interrupt flag.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Something to be done. It may be run again if it was interrupted.
pub(super) trait Work: Send {
    /// Does it on the worker of this number, 0 being who waits.
    ///
    /// # Errors
    /// `Interrupted`; why what it writes is lost.
    fn run(&mut self, worker: usize) -> Result<()>;
}

type Boxed = Box<dyn Work>;

/// Works under way, and those who do them.
pub(super) struct Workers {
    pool: Arc<Pool>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// How many works are not done, and blocks lost, for those who need no more.
    n_open: AtomicUsize,
    /// How many works a worker may find, less those who are about to take one: all that come at once need not take the
    /// lock to see that others were faster.
    n_to_take: AtomicUsize,
    /// How many wait for a work to be done.
    n_waiters: AtomicUsize,
    pool: Weak<Pool>,
}

#[derive(Default)]
struct State {
    works: Works<Boxed>,
    /// How many run.
    n_running: usize,
    /// Whether one runs that keeps all threads busy.
    is_wide: bool,
    /// Whether an interrupt stopped one: nothing begins until somebody wants something.
    is_paused: bool,
    /// Bytes of memory of those who pushed that workers gave back, as a change.
    given_back: i64,
}

impl Workers {
    pub(super) fn new(pool: Arc<Pool>) -> Self {
        let shared = Arc::new(Shared { pool: Arc::downgrade(&pool), ..Shared::default() });
        let background: Weak<dyn Background> = Arc::downgrade(&shared) as Weak<dyn Background>;
        pool.set_background(background);
        Self { pool, shared }
    }

    /// Whether nothing is under way, and nothing was lost.
    pub(super) fn are_idle(&self) -> bool {
        self.shared.n_open.load(Ordering::Acquire) == 0
    }

    /// Adds a work, which begins once nothing touches its blocks. If too many wait, some are done before.
    ///
    /// # Errors
    /// `Interrupted`: it was not added.
    pub(super) fn push(&self, work: Boxed, uses: Vec<Use>, load: Load) -> Result<()> {
        while self.is_full() {
            self.shared.wait(&self.pool, |works| works.oldest(works.len().div_ceil(4)))?;
        }
        self.add(work, uses, load);
        Ok(())
    }

    fn is_full(&self) -> bool {
        let works = &self.shared.lock().works;
        works.len() >= MOST_WAITING || works.time() >= MOST_TIME
    }

    /// As [`Workers::push`], however many wait.
    pub(super) fn add(&self, work: Boxed, uses: Vec<Use>, load: Load) {
        let mut state = self.shared.lock();
        state.works.push(work, uses, load);
        process_heap::receive(std::mem::take(&mut state.given_back));
        if !interrupt::is_requested() {
            state.is_paused = false;
        }
        self.shared.count(&state);
        // One that waits for others is found by whoever does the last of them.
        let is_worth = load.is_wide && state.n_running == 0 || state.works.len() >= WORTH_WAKING;
        let is_worth = is_worth && state.n_running + 1 < self.pool.threads();
        drop(state);
        if is_worth {
            self.pool.wake();
        }
    }

    /// Sees to it that what waits begins.
    pub(super) fn nudge(&self) {
        if !interrupt::is_requested() {
            let mut state = self.shared.lock();
            state.is_paused = false;
            self.shared.count(&state);
        }
        self.pool.wake();
    }

    /// Waits until blocks can be touched, and does what is in the way.
    ///
    /// # Errors
    /// `Interrupted`; why what is read there is lost.
    pub(super) fn wait_for(&self, uses: &[Use]) -> Result<()> {
        if self.are_idle() {
            return Ok(());
        }
        self.shared.wait(&self.pool, |works| works.before(uses))?;
        match self.shared.lock().works.failure(uses) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Takes note that blocks have contents again.
    pub(super) fn mend(&self, uses: &[Use]) {
        if !self.are_idle() {
            let mut state = self.shared.lock();
            state.works.mend(uses);
            self.shared.count(&state);
        }
    }

    /// Whether works are under way that touch blocks.
    pub(super) fn touch(&self, uses: &[Use]) -> bool {
        !self.are_idle() && !self.shared.lock().works.before(uses).is_empty()
    }

    /// Whether memory is left for a work that touches so many blocks.
    pub(super) fn has_room(&self, n_uses: usize) -> bool {
        self.shared.lock().works.make_room(n_uses)
    }

    /// Waits until nothing is under way.
    ///
    /// # Errors
    /// `Interrupted`.
    pub(super) fn finish(&self) -> Result<()> {
        match self.are_idle() {
            true => Ok(()),
            false => {
                let end = self.shared.lock().works.next();
                self.shared.wait_until(
                    &self.pool,
                    |works| works.are_done_before(end),
                    |works, with_wide| works.take(with_wide),
                )
            }
        }
    }
}

impl Drop for Workers {
    /// What waits is not done: nobody can read it. What runs ends first, so that no worker is the last to hold its own
    /// pool.
    fn drop(&mut self) {
        self.shared.n_waiters.fetch_add(1, Ordering::Relaxed);
        let left = loop {
            let seen = self.pool.arrivals();
            let mut state = self.shared.lock();
            state.is_paused = true;
            if state.n_running == 0 {
                break std::mem::take(&mut state.works);
            }
            drop(state);
            if !self.pool.assist() {
                self.pool.rest(seen, POLL_INTERVAL);
            }
        };
        drop(left);
    }
}

impl Background for Shared {
    fn work(&self, worker: usize) -> bool {
        let one_less = |n: usize| n.checked_sub(1);
        if self.n_to_take.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_less).is_err() {
            return false;
        }
        let mut state = self.lock();
        let with_wide = !state.is_wide;
        let taken = if state.is_paused { None } else { state.works.take(with_wide) };
        match taken {
            Some(taken) => {
                drop(self.run(state, taken, worker));
                true
            }
            None => {
                self.count(&state);
                false
            }
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells those who have no lock what there is, whenever that changed.
    fn count(&self, state: &State) {
        self.n_open.store(state.works.n_open(), Ordering::Release);
        let n_to_take = if state.is_paused { 0 } else { state.works.n_ready(!state.is_wide) };
        self.n_to_take.store(n_to_take, Ordering::Release);
    }

    fn run<'s>(
        &'s self,
        mut state: MutexGuard<'s, State>,
        mut taken: Taken<Boxed>,
        worker: usize,
    ) -> MutexGuard<'s, State> {
        let (number, is_wide) = (taken.number, taken.is_wide);
        let lost = state.works.lost(number);
        state.n_running += 1;
        state.is_wide |= is_wide;
        self.count(&state);
        drop(state);
        let result = match lost {
            Some(error) => Err(error),
            None => {
                catch_unwind(AssertUnwindSafe(|| taken.work.run(worker))).unwrap_or_else(|_| {
                    Err(Error::DeviceFailed {
                        device: "cpu".into(),
                        what: "running a launch",
                        reason: "internal error: it panicked".into(),
                        lost: false,
                    })
                })
            }
        };
        let mut state = self.lock();
        state.n_running -= 1;
        if is_wide {
            state.is_wide = false;
        }
        if result == Err(Error::Interrupted) {
            state.works.put_back(taken);
            state.is_paused = true;
            self.count(&state);
        } else {
            state.works.finish(number, result);
            self.count(&state);
            // What it keeps alive may be dropped, which takes time and locks.
            drop(state);
            drop(taken);
            let given_back = if worker > 0 { process_heap::hand_over() } else { 0 };
            state = self.lock();
            state.given_back += given_back;
        }
        // Who ran it looks for the next one itself.
        let n_ready = state.works.n_ready(true);
        if n_ready > 1 || self.n_waiters.load(Ordering::Relaxed) > 0 {
            drop(state);
            if let Some(pool) = self.pool.upgrade() {
                pool.wake();
            }
            state = self.lock();
        }
        state
    }

    /// Waits until the works that `find` names are done.
    fn wait(&self, pool: &Pool, find: impl FnOnce(&mut Works<Boxed>) -> Vec<Number>) -> Result<()> {
        let wanted = RefCell::new(find(&mut self.lock().works));
        let are_done = |works: &mut Works<Boxed>| {
            let mut wanted = wanted.borrow_mut();
            while wanted.pop_if(|number| !works.is_waiting(*number)).is_some() {}
            wanted.is_empty()
        };
        self.wait_until(pool, are_done, |works, with_wide| {
            works.take_for(&wanted.borrow(), with_wide)
        })
    }

    /// Waits until `is_done`, and does what `next` gives meanwhile, and a share of what others do.
    fn wait_until(
        &self,
        pool: &Pool,
        is_done: impl Fn(&mut Works<Boxed>) -> bool,
        next: impl Fn(&mut Works<Boxed>, bool) -> Option<Taken<Boxed>>,
    ) -> Result<()> {
        loop {
            let seen = pool.arrivals();
            let mut state = self.lock();
            if is_done(&mut state.works) {
                process_heap::receive(std::mem::take(&mut state.given_back));
                return Ok(());
            }
            if interrupt::is_requested() {
                return Err(Error::Interrupted);
            }
            let was_paused = std::mem::take(&mut state.is_paused);
            let with_wide = !state.is_wide;
            if let Some(taken) = next(&mut state.works, with_wide) {
                drop(self.run(state, taken, 0));
                continue;
            }
            self.count(&state);
            drop(state);
            if was_paused {
                pool.wake();
            }
            if !pool.assist() {
                self.n_waiters.fetch_add(1, Ordering::Relaxed);
                // Done between the look and the count: nobody was told.
                if !is_done(&mut self.lock().works) {
                    pool.rest(seen, POLL_INTERVAL);
                }
                self.n_waiters.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }
}
