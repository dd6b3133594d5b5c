//! A small worker pool that sessions share.
//!
//! A job is a number of chunks and a function that takes chunks until none is left. The caller always
//! works; workers join while chunks are left, so a late worker costs nothing. Workers start with the first job that
//! wants them, spin briefly after a job and then sleep. Where no job has chunks left, they do what waits for anybody
//! ([`Background`]).

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

/// How long an idle worker looks for work before it sleeps.
const SPIN: Duration = Duration::from_micros(30);

/// The function of a job: called once by each thread that joins, which takes chunks until none is left.
pub type Work = Arc<dyn Fn(&Claims) + Send + Sync>;

/// What workers do when no job has chunks left.
pub trait Background: Send + Sync {
    /// Does something, on the worker of this number; whether there was anything.
    fn work(&self, worker: usize) -> bool;
}

/// The unclaimed chunks of a job.
pub struct Claims {
    n_chunks: u64,
    next: AtomicU64,
}

impl Claims {
    /// The chunks `0..n_chunks`.
    pub fn new(n_chunks: u64) -> Self {
        Self { n_chunks, next: AtomicU64::new(0) }
    }

    /// Claims a chunk.
    pub fn take(&self) -> Option<u64> {
        // Looking first keeps the counter from growing without end.
        if self.is_empty() {
            return None;
        }
        // Whoever sees the last claim also sees that earlier claimants have joined, see `Job::work`.
        let chunk = self.next.fetch_add(1, Ordering::AcqRel);
        (chunk < self.n_chunks).then_some(chunk)
    }

    /// Leaves unclaimed chunks undone.
    pub fn stop(&self) {
        self.next.fetch_max(self.n_chunks, Ordering::AcqRel);
    }

    fn is_empty(&self) -> bool {
        self.next.load(Ordering::Acquire) >= self.n_chunks
    }
}

/// Threads that claim chunks of jobs.
pub struct Pool {
    threads: usize,
    shared: Arc<Shared>,
    workers: OnceLock<Vec<std::thread::JoinHandle<()>>>,
}

#[derive(Default)]
struct Shared {
    jobs: Mutex<VecDeque<Arc<Job>>>,
    /// Number of jobs ever queued; spinning workers watch it without taking the lock.
    arrivals: AtomicUsize,
    wake: Condvar,
    stop: AtomicBool,
    background: OnceLock<Weak<dyn Background>>,
}

struct Job {
    work: Work,
    claims: Claims,
    /// Threads at work; each joins before its first claim.
    active: AtomicUsize,
    panicked: AtomicBool,
}

impl Job {
    /// Does this thread's share.
    fn work(&self) {
        self.active.fetch_add(1, Ordering::Relaxed);
        if catch_unwind(AssertUnwindSafe(|| (self.work)(&self.claims))).is_err() {
            self.panicked.store(true, Ordering::Relaxed);
            self.claims.stop();
        }
        self.active.fetch_sub(1, Ordering::Release);
    }
}

impl Pool {
    /// A pool of `threads` threads in all, the caller included (at least one).
    pub fn new(threads: usize) -> Self {
        Self { threads: threads.max(1), shared: Arc::default(), workers: OnceLock::new() }
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
        let job = Arc::new(Job {
            work,
            claims: Claims::new(n_chunks),
            active: AtomicUsize::new(0),
            panicked: AtomicBool::new(false),
        });
        let shared = self.threads > 1 && n_chunks > 1;
        if shared {
            self.workers.get_or_init(|| self.start());
            let mut jobs = self.shared.lock();
            jobs.push_back(job.clone());
            // Under the lock: a worker that found nothing is either asleep or looks again.
            self.shared.arrivals.fetch_add(1, Ordering::Release);
            drop(jobs);
            self.shared.wake.notify_all();
        }
        job.work();
        // A worker that joins from now on finds no chunk.
        job.claims.stop();
        // A worker that joined may have lost its processor to another process: waiting must not keep it.
        let waiting = Instant::now();
        while job.active.load(Ordering::Acquire) > 0 {
            if waiting.elapsed() < SPIN {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
        if shared {
            // What the job holds must not live until the next one comes.
            self.shared.lock().retain(|other| !Arc::ptr_eq(other, &job));
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
            self.workers.get_or_init(|| self.start());
        }
        let jobs = self.shared.lock();
        self.shared.arrivals.fetch_add(1, Ordering::Release);
        drop(jobs);
        self.shared.wake.notify_all();
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
        self.shared.rest(seen, Some(time));
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
    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Job>>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first job with chunks left.
    fn take(&self) -> Option<Arc<Job>> {
        self.lock().iter().find(|job| !job.claims.is_empty()).cloned()
    }

    fn serve(&self, worker: usize) {
        while !self.stop.load(Ordering::Relaxed) {
            let seen = self.arrivals.load(Ordering::Acquire);
            if let Some(job) = self.take() {
                job.work();
                continue;
            }
            let background = self.background.get().and_then(Weak::upgrade);
            if !background.is_some_and(|background| background.work(worker)) {
                self.rest(seen, None);
            }
        }
    }

    fn rest(&self, seen: usize, time: Option<Duration>) {
        let idle = Instant::now();
        while self.arrivals.load(Ordering::Acquire) == seen && idle.elapsed() < SPIN {
            std::hint::spin_loop();
        }
        let jobs = self.lock();
        if self.arrivals.load(Ordering::Acquire) == seen && !self.stop.load(Ordering::Relaxed) {
            match time {
                Some(time) => drop(self.wake.wait_timeout(jobs, time)),
                None => drop(self.wake.wait(jobs)),
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let jobs = self.shared.lock();
        self.shared.stop.store(true, Ordering::Relaxed);
        drop(jobs);
        self.shared.wake.notify_all();
        for worker in self.workers.take().into_iter().flatten() {
            // A worker may be the last to hold its own pool; it ends by itself.
            if worker.thread().id() != std::thread::current().id() {
                // A worker that panicked has been reported by the job it ran.
                drop(worker.join());
            }
        }
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
            for n_chunks in [0, 1, 2, 1000] {
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
