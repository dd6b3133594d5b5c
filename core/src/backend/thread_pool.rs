//! A small worker pool that sessions share.
//!
//! A job is a number of chunks and a function that takes chunks until none is left. The caller always
//! works; workers join while chunks are left, so a late worker costs nothing. Workers start with the first job that
//! wants them, after a fork of the process anew, spin after a job, longer where the next one came soon, and then sleep; those who wake wake others. Where no
//! job has chunks left, they do what waits for anybody ([`Background`]).

use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use crate::convert::exactly;

/// How long an idle worker looks for work before it sleeps.
const SPIN: Duration = Duration::from_micros(30);
/// The same where the last work came soon and each thread has a processor, so that none is taken from another: one that
/// sleeps comes 5 to 150 microseconds late.
const LONG_SPIN: Duration = Duration::from_micros(300);
/// Workers that whoever has work wakes, and each of them again: to wake one keeps its waker some microseconds.
const WOKEN_AT_ONCE: usize = 4;

/// The function of a job: called once by each thread that joins, which takes chunks until none is left.
pub type Work = Arc<dyn Fn(&Claims<'_>) + Send + Sync>;

/// What workers do when no job has chunks left.
pub trait Background: Send + Sync {
    /// Does something, on the worker of this number; whether there was anything.
    fn work(&self, worker: usize) -> bool;
}

thread_local! {
    /// The number of a worker; 0 of other threads.
    static NUMBER: Cell<usize> = const { Cell::new(0) };
}

/// The number of the worker that this thread is; 0 of other threads.
pub fn worker_number() -> usize {
    NUMBER.get()
}

/// Chunks of a job that threads claim, in parts: a thread begins with its own part, so that it finds the lanes of a launch
/// where it left them in the one before, and goes on with those of others.
pub struct Chunks {
    parts: Box<[Part]>,
}

/// A run of chunks, on cache lines of its own.
#[repr(align(128))]
struct Part {
    next: AtomicU64,
    end: u64,
}

impl Part {
    fn is_empty(&self) -> bool {
        self.next.load(Ordering::Acquire) >= self.end
    }
}

/// A thread's way through the chunks.
pub struct Claims<'c> {
    chunks: &'c Chunks,
    /// The part that it claims of.
    part: Cell<usize>,
}

impl Chunks {
    /// The chunks `0..n`, claimed in order.
    pub fn new(n: u64) -> Self {
        Self::in_parts(n, 1)
    }

    fn in_parts(n: u64, parts: u64) -> Self {
        // No counter comes round.
        let n = n.min(u64::MAX / 2);
        let (length, longer) = (n / parts, n % parts);
        let start = |part: u64| part * length + part.min(longer);
        let part = |part: u64| Part { next: AtomicU64::new(start(part)), end: start(part + 1) };
        Self { parts: (0..parts).map(part).collect() }
    }

    /// Claims of a thread of this number.
    pub fn claims(&self, thread: usize) -> Claims<'_> {
        Claims { chunks: self, part: Cell::new(thread % self.parts.len()) }
    }

    /// Leaves unclaimed chunks undone.
    fn stop(&self) {
        for part in &self.parts {
            // Whoever takes from here on finds none, and whoever took before is known to be at work.
            part.next.fetch_max(part.end, Ordering::AcqRel);
        }
    }

    /// Whether none is left. Whoever joins for nothing keeps others waiting, if it has no processor.
    fn is_empty(&self) -> bool {
        self.parts.iter().all(Part::is_empty)
    }
}

impl Claims<'_> {
    /// Claims a chunk.
    pub fn take(&self) -> Option<u64> {
        let parts = &self.chunks.parts;
        for _ in 0..parts.len() {
            let part = &parts[self.part.get()];
            // Looking first keeps the counter from growing without end.
            if !part.is_empty() {
                // Whoever sees the last claim also sees that earlier claimants have joined, see `Job::work`.
                let chunk = part.next.fetch_add(1, Ordering::AcqRel);
                if chunk < part.end {
                    return Some(chunk);
                }
            }
            self.part.set((self.part.get() + 1) % parts.len());
        }
        None
    }

    /// Leaves unclaimed chunks undone.
    pub fn stop(&self) {
        self.chunks.stop();
    }
}

/// Waits for others, who may have lost their processor to another process: waiting must not keep it.
pub fn wait_until(is_done: impl Fn() -> bool) {
    let waiting = Instant::now();
    while !is_done() {
        if waiting.elapsed() < SPIN {
            std::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
    }
}

/// Stops the others if a thread panics: they may wait for it.
pub struct OnPanic<'s>(pub &'s AtomicBool);

impl Drop for OnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// Threads that claim chunks of jobs.
pub struct Pool {
    threads: usize,
    shared: Arc<Shared>,
    workers: Mutex<Vec<std::thread::JoinHandle<()>>>,
    /// Whether there are workers: those who have work need not take the lock to see it.
    has_workers: AtomicBool,
}

#[derive(Default)]
struct Shared {
    /// Many read at once, when a job comes.
    jobs: RwLock<VecDeque<Arc<Job>>>,
    /// How often something came; spinning workers watch it without taking a lock.
    arrivals: AtomicUsize,
    /// How many threads sleep, or are about to.
    asleep: AtomicUsize,
    /// Held by who is about to sleep.
    sleep: Mutex<()>,
    wake: Condvar,
    stop: AtomicBool,
    longest_spin: Duration,
    background: OnceLock<Weak<dyn Background>>,
}

struct Job {
    work: Work,
    chunks: Chunks,
    /// Threads at work; each joins before its first claim.
    active: AtomicUsize,
    panicked: AtomicBool,
}

impl Job {
    /// Does this thread's share.
    fn work(&self) {
        self.active.fetch_add(1, Ordering::Relaxed);
        let claims = self.chunks.claims(NUMBER.get());
        if catch_unwind(AssertUnwindSafe(|| (self.work)(&claims))).is_err() {
            self.panicked.store(true, Ordering::Relaxed);
            claims.stop();
        }
        self.active.fetch_sub(1, Ordering::Release);
    }
}

impl Pool {
    /// A pool of `threads` threads in all, the caller included (at least one).
    pub fn new(threads: usize) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let longest_spin = if threads <= processors { LONG_SPIN } else { SPIN };
        let shared = Arc::new(Shared { longest_spin, ..Shared::default() });
        let (workers, has_workers) = (Mutex::default(), AtomicBool::new(false));
        Self { threads: threads.max(1), shared, workers, has_workers }
    }

    /// Number of threads that may run a chunk, the caller included.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Runs `work`, here and on other threads, and returns when all that joined are done. Chunks that
    /// `work` neither takes nor stops are left.
    ///
    /// # Panics
    /// If `work` panicked.
    pub fn run(&self, n_chunks: u64, work: Work) {
        let parts = n_chunks.clamp(1, self.threads as u64);
        self.run_chunks(n_chunks, Chunks::in_parts(n_chunks, parts), work);
    }

    /// The same where a chunk may wait for those before it: they are claimed in order.
    ///
    /// # Panics
    /// If `work` panicked.
    pub fn run_in_order(&self, n_chunks: u64, work: Work) {
        self.run_chunks(n_chunks, Chunks::new(n_chunks), work);
    }

    fn run_chunks(&self, n_chunks: u64, chunks: Chunks, work: Work) {
        let job = Arc::new(Job {
            work,
            chunks,
            active: AtomicUsize::new(0),
            panicked: AtomicBool::new(false),
        });
        let shared = self.threads > 1 && n_chunks > 1;
        if shared {
            self.start_workers();
            self.shared.change(|jobs| jobs.push_back(job.clone()));
            self.shared.arrive(exactly(n_chunks.min(WOKEN_AT_ONCE as u64 + 1) - 1));
        }
        job.work();
        // A worker that joins from now on finds no chunk.
        job.chunks.stop();
        wait_until(|| job.active.load(Ordering::Acquire) == 0);
        if shared {
            // What the job holds must not live until the next one comes.
            self.shared.change(|jobs| jobs.retain(|other| !Arc::ptr_eq(other, &job)));
        }
        assert!(!job.panicked.load(Ordering::Relaxed), "internal error: a kernel panicked");
    }

    /// Gives workers something to do when no job has chunks left; the first one stays.
    pub fn set_background(&self, background: Weak<dyn Background>) {
        // There is one for a device.
        drop(self.shared.background.set(background));
    }

    /// Tells workers, and those who rest, that something came or was done.
    pub fn wake(&self) {
        if self.threads > 1 {
            self.start_workers();
        }
        self.shared.arrive(usize::MAX);
    }

    /// How often something came, to be asked before looking for it.
    pub fn arrivals(&self) -> usize {
        self.shared.arrivals.load(Ordering::Acquire)
    }

    /// Joins a job with chunks left; whether there was one.
    pub fn assist(&self) -> bool {
        let job = self.shared.take();
        job.inspect(|job| job.work()).is_some()
    }

    /// Waits until something comes, or came since `seen`, or this time is over.
    pub fn rest(&self, seen: usize, time: Duration) {
        self.shared.rest(seen, SPIN, Some(time));
    }

    /// Ends the workers once they have done what they are at: a fork of the process has none of them, but what they hold at
    /// the moment. The next job starts others.
    pub fn dismiss(&self) {
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        let sleep = self.shared.sleep.lock().unwrap_or_else(PoisonError::into_inner);
        self.shared.stop.store(true, Ordering::Relaxed);
        drop(sleep);
        self.shared.wake.notify_all();
        for worker in workers.drain(..) {
            // A worker may be the last to hold its own pool; it ends by itself.
            if worker.thread().id() != std::thread::current().id() {
                // A worker that panicked has been reported by the job it ran.
                drop(worker.join());
            }
        }
        self.shared.stop.store(false, Ordering::Relaxed);
        // Not before: whoever of them has work for others would wait for the lock, and this for them.
        self.has_workers.store(false, Ordering::Release);
    }

    fn start_workers(&self) {
        if self.has_workers.load(Ordering::Acquire) {
            return;
        }
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.has_workers.load(Ordering::Acquire) {
            *workers = self.start();
            self.has_workers.store(true, Ordering::Release);
        }
    }

    fn start(&self) -> Vec<std::thread::JoinHandle<()>> {
        let spawn = |thread| {
            let shared = self.shared.clone();
            let builder = std::thread::Builder::new().name(format!("porcini-worker-{thread}"));
            builder.spawn(move || shared.serve(thread)).ok()
        };
        // A thread that the system refuses is one worker fewer: the caller does its share.
        (1..self.threads).filter_map(spawn).collect()
    }
}

impl Shared {
    fn change(&self, change: impl FnOnce(&mut VecDeque<Arc<Job>>)) {
        change(&mut self.jobs.write().unwrap_or_else(PoisonError::into_inner));
    }

    /// The first job with chunks left.
    fn take(&self) -> Option<Arc<Job>> {
        let jobs = self.jobs.read().unwrap_or_else(PoisonError::into_inner);
        jobs.iter().find(|job| !job.chunks.is_empty()).cloned()
    }

    /// Tells those who spin that something came, and wakes so many of those who sleep.
    fn arrive(&self, n: usize) {
        // Whoever is not counted as asleep looks at the number of arrivals after this.
        self.arrivals.fetch_add(1, Ordering::SeqCst);
        self.rouse(n);
    }

    /// Wakes so many of those who sleep.
    fn rouse(&self, n: usize) {
        let asleep = self.asleep.load(Ordering::SeqCst);
        if asleep == 0 {
            return;
        }
        // Who found nothing is asleep when the lock is free.
        drop(self.sleep.lock().unwrap_or_else(PoisonError::into_inner));
        if n >= asleep {
            self.wake.notify_all();
        } else {
            (0..n).for_each(|_| self.wake.notify_one());
        }
    }

    fn serve(&self, worker: usize) {
        NUMBER.set(worker);
        let (mut spin, mut has_slept) = (SPIN, false);
        while !self.stop.load(Ordering::Relaxed) {
            let seen = self.arrivals.load(Ordering::Acquire);
            if let Some(job) = self.take() {
                if std::mem::take(&mut has_slept) {
                    self.rouse(WOKEN_AT_ONCE);
                }
                job.work();
                continue;
            }
            let background = self.background.get().and_then(Weak::upgrade);
            if !background.is_some_and(|background| background.work(worker)) {
                let idle = Instant::now();
                has_slept = self.rest(seen, spin, None);
                // What comes again soon is worth waiting for.
                let idle = idle.elapsed();
                let is_soon = idle < self.longest_spin;
                spin = if is_soon { (2 * idle).clamp(SPIN, self.longest_spin) } else { SPIN };
            }
        }
    }

    /// Waits until something comes, or came since `seen`, or this time is over: spins, then sleeps; whether it slept.
    fn rest(&self, seen: usize, spin: Duration, time: Option<Duration>) -> bool {
        let idle = Instant::now();
        while self.arrivals.load(Ordering::Acquire) == seen && idle.elapsed() < spin {
            std::hint::spin_loop();
        }
        if self.arrivals.load(Ordering::Acquire) != seen {
            return false;
        }
        let sleep = self.sleep.lock().unwrap_or_else(PoisonError::into_inner);
        self.asleep.fetch_add(1, Ordering::SeqCst);
        let sleeps =
            self.arrivals.load(Ordering::SeqCst) == seen && !self.stop.load(Ordering::Relaxed);
        if sleeps {
            match time {
                Some(time) => drop(self.wake.wait_timeout(sleep, time)),
                None => drop(self.wake.wait(sleep)),
            }
        }
        self.asleep.fetch_sub(1, Ordering::SeqCst);
        sleeps
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.dismiss();
        // For a worker that is the last to hold it.
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A job that calls `each` for every chunk.
    fn chunks(each: impl Fn(u64) + Send + Sync + 'static) -> Work {
        Arc::new(move |claims| {
            while let Some(chunk) = claims.take() {
                each(chunk);
            }
        })
    }

    #[test]
    fn every_chunk_runs_once_on_any_number_of_threads() {
        for threads in [1, 2, 5] {
            let pool = Pool::new(threads);
            for n_chunks in [0, 1, 2, 7, 1000] {
                let counts: Arc<Vec<AtomicUsize>> =
                    Arc::new((0..n_chunks).map(|_| AtomicUsize::new(0)).collect());
                let seen = counts.clone();
                let count = move |chunk| {
                    seen[usize::try_from(chunk).unwrap()].fetch_add(1, Ordering::Relaxed);
                };
                pool.run(n_chunks, chunks(count));
                assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 1));
            }
        }
    }

    #[test]
    fn a_pool_whose_workers_were_dismissed_starts_others() {
        let pool = Pool::new(3);
        for _ in 0..20 {
            let total = Arc::new(AtomicUsize::new(0));
            let sum = total.clone();
            let count = move |_| {
                sum.fetch_add(1, Ordering::Relaxed);
            };
            pool.run(100, chunks(count));
            assert_eq!(total.load(Ordering::Relaxed), 100);
            assert_eq!(pool.workers.lock().unwrap().len(), 2);
            pool.dismiss();
            assert_eq!(Arc::strong_count(&pool.shared), 1, "a worker is still there");
        }
    }

    #[test]
    fn callers_share_the_pool() {
        let pool = Arc::new(Pool::new(2));
        let total = Arc::new(AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let (pool, total) = (pool.clone(), total.clone());
                scope.spawn(move || {
                    for _ in 0..50 {
                        let total = total.clone();
                        let count = move |_| {
                            total.fetch_add(1, Ordering::Relaxed);
                        };
                        pool.run(8, chunks(count));
                    }
                });
            }
        });
        assert_eq!(total.load(Ordering::Relaxed), 4 * 50 * 8);
    }

    #[test]
    fn a_job_ends_early_and_lets_go_of_what_it_held() {
        for threads in [1, 3] {
            let pool = Pool::new(threads);
            let held = Arc::new(());
            let kept = held.clone();
            let work: Work = Arc::new(move |claims| {
                let _kept = &kept;
                while claims.take().is_some() {
                    claims.stop();
                }
            });
            pool.run(u64::MAX, work);
            // A worker may be about to find that no chunk is left.
            let start = Instant::now();
            while Arc::strong_count(&held) > 1 {
                assert!(start.elapsed() < Duration::from_secs(10), "the job is still there");
            }
        }
    }
}
