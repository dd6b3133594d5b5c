//! A small worker pool that sessions share.
//!
//! A job is a number of chunks and a function of the chunk number. The caller always works; workers
//! join while chunks are left, so a late worker costs nothing. Workers start with the first job that
//! wants them, spin briefly after a job and then sleep.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How long an idle worker looks for work before it sleeps.
const SPIN: Duration = Duration::from_micros(30);

/// What a job does with a chunk; the second argument is the number of the thread that runs it.
pub type Work = Arc<dyn Fn(usize, usize) + Send + Sync>;

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
}

struct Job {
    work: Work,
    n_chunks: usize,
    next: AtomicUsize,
    finished: AtomicUsize,
    panicked: AtomicBool,
}

impl Job {
    /// Runs chunks until none is left.
    fn run(&self, thread: usize) {
        loop {
            let chunk = self.next.fetch_add(1, Ordering::Relaxed);
            if chunk >= self.n_chunks {
                return;
            }
            if catch_unwind(AssertUnwindSafe(|| (self.work)(chunk, thread))).is_err() {
                self.panicked.store(true, Ordering::Relaxed);
            }
            self.finished.fetch_add(1, Ordering::Release);
        }
    }

    fn is_claimed(&self) -> bool {
        self.next.load(Ordering::Relaxed) >= self.n_chunks
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

    /// Runs `work` for every chunk below `n_chunks` and returns when all are done.
    ///
    /// # Panics
    /// If `work` panicked.
    pub fn run(&self, n_chunks: usize, work: Work) {
        let job = Arc::new(Job {
            work,
            n_chunks,
            next: AtomicUsize::new(0),
            finished: AtomicUsize::new(0),
            panicked: AtomicBool::new(false),
        });
        if self.threads > 1 && n_chunks > 1 {
            self.workers.get_or_init(|| self.start());
            self.shared.lock().push_back(job.clone());
            self.shared.arrivals.fetch_add(1, Ordering::Release);
            self.shared.wake.notify_all();
        }
        job.run(0);
        while job.finished.load(Ordering::Acquire) < n_chunks {
            std::hint::spin_loop();
        }
        assert!(!job.panicked.load(Ordering::Relaxed), "internal error: a kernel panicked");
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
        let mut jobs = self.lock();
        while jobs.front().is_some_and(|job| job.is_claimed()) {
            jobs.pop_front();
        }
        jobs.front().cloned()
    }

    fn serve(&self, thread: usize) {
        while !self.stop.load(Ordering::Relaxed) {
            let seen = self.arrivals.load(Ordering::Acquire);
            if let Some(job) = self.take() {
                job.run(thread);
                continue;
            }
            let idle = Instant::now();
            while self.arrivals.load(Ordering::Acquire) == seen && idle.elapsed() < SPIN {
                std::hint::spin_loop();
            }
            let jobs = self.lock();
            if self.arrivals.load(Ordering::Acquire) == seen && !self.stop.load(Ordering::Relaxed) {
                drop(self.wake.wait(jobs).unwrap_or_else(PoisonError::into_inner));
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
            // A worker that panicked has been reported by the job it ran.
            drop(worker.join());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chunk_runs_once_on_any_number_of_threads() {
        for threads in [1, 2, 5] {
            let pool = Pool::new(threads);
            for n_chunks in [0, 1, 2, 1000] {
                let counts: Arc<Vec<AtomicUsize>> =
                    Arc::new((0..n_chunks).map(|_| AtomicUsize::new(0)).collect());
                let seen = counts.clone();
                pool.run(
                    n_chunks,
                    Arc::new(move |chunk, thread| {
                        assert!(thread < threads);
                        seen[chunk].fetch_add(1, Ordering::Relaxed);
                    }),
                );
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
                        pool.run(
                            8,
                            Arc::new(move |_, _| {
                                total.fetch_add(1, Ordering::Relaxed);
                            }),
                        );
                    }
                });
            }
        });
        assert_eq!(total.load(Ordering::Relaxed), 4 * 50 * 8);
    }
}
