//! Launches of others' kernels in quick succession.
//!
//! The driver takes longer over a launch than a script over its next line. After a row of launches with nothing else between
//! them a thread gives them to the driver, in their order, while the script goes on. Whoever else asks the streams for
//! something waits until the driver has them all. What the driver refuses is told then, by whoever waits first.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use cudarc::driver::sys::CUresult;

use crate::convert::exactly;

/// Launches in a row after which the thread is woken.
const ROW: u32 = 16;

/// Launches that wait for the driver at most.
const MOST: u32 = 1024;

/// How long the thread looks for more before it sleeps.
const PATIENCE: Duration = Duration::from_micros(200);

/// Processors of a host that has one to spare.
const PROCESSORS: usize = 4;

/// A kernel that the driver refused, and what it said.
type Refusal = (Arc<str>, CUresult);

/// What can be launched later.
pub(super) trait Launch: Send + 'static {
    /// The kernel's name.
    fn name(&self) -> &Arc<str>;

    /// Gives it to the driver; what that says.
    fn give(&self) -> CUresult;
}

/// The thread, and what it was given.
#[derive(Default)]
pub(super) struct Launcher {
    /// Launches in a row so far.
    row: AtomicU32,
    /// Launches that were left to the thread.
    posted: AtomicU64,
    worker: Mutex<Option<Worker>>,
    has_processors: OnceLock<bool>,
    shared: Arc<Shared>,
}

struct Worker {
    launches: SyncSender<Box<dyn Launch>>,
    thread: Thread,
}

#[derive(Default)]
struct Shared {
    /// Whether the thread looks for launches.
    is_awake: AtomicBool,
    /// Launches that the driver has.
    given: AtomicU64,
    has_refused: AtomicBool,
    refused: Mutex<Option<Refusal>>,
}

impl Launcher {
    /// Something else than a launch is asked for: waits until the driver has what was posted.
    pub(super) fn drain(&self) {
        self.row.store(0, Ordering::Relaxed);
        self.wait_for(self.posted.load(Ordering::Relaxed));
    }

    /// A kernel that the driver refused since somebody asked last.
    pub(super) fn refusal(&self) -> Option<Refusal> {
        if !self.shared.has_refused.swap(false, Ordering::Acquire) {
            return None;
        }
        self.shared.refused.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Launches in a row so far.
    pub(super) fn row(&self) -> u32 {
        self.row.load(Ordering::Relaxed)
    }

    /// A launch of a row was given to the driver; a long one wakes the thread.
    pub(super) fn goes_on(&self, before: u32) {
        let row = before.wrapping_add(1);
        self.row.store(row, Ordering::Relaxed);
        if row.is_multiple_of(ROW) && !self.shared.is_awake.load(Ordering::Relaxed) {
            self.wake();
        }
    }

    /// Whether the thread would take a launch.
    pub(super) fn is_awake(&self) -> bool {
        self.row() >= ROW && self.shared.is_awake.load(Ordering::Relaxed)
    }

    /// Leaves a launch to the thread, which was seen awake. The caller sees to it that nobody else does meanwhile.
    pub(super) fn post(&self, launch: Box<dyn Launch>) {
        let worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        let worker = worker.as_ref().expect("internal error: no thread is awake");
        let posted = self.posted.load(Ordering::Relaxed) + 1;
        self.wait_for(posted.saturating_sub(MOST.into()));
        worker.launches.send(launch).expect("internal error: the thread of launches ended");
        self.posted.store(posted, Ordering::Release);
        // The thread may be about to sleep: either it sees the launch, or this sees that.
        fence(Ordering::SeqCst);
        if !self.shared.is_awake.load(Ordering::Relaxed) {
            worker.thread.unpark();
        }
    }

    /// Whether the driver has all that was posted.
    pub(super) fn is_drained(&self) -> bool {
        self.shared.given.load(Ordering::Acquire) >= self.posted.load(Ordering::Acquire)
    }

    fn wait_for(&self, given: u64) {
        while self.shared.given.load(Ordering::Acquire) < given {
            std::hint::spin_loop();
        }
    }

    fn wake(&self) {
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        match worker.as_ref() {
            Some(worker) => worker.thread.unpark(),
            None if self.is_worth_a_thread() => *worker = self.start(),
            None => {}
        }
    }

    fn is_worth_a_thread(&self) -> bool {
        *self
            .has_processors
            .get_or_init(|| thread::available_parallelism().map_or(1, usize::from) >= PROCESSORS)
    }

    /// Starts the thread, unless the system has none.
    fn start(&self) -> Option<Worker> {
        let (launches, received) = sync_channel(exactly(MOST));
        let shared = self.shared.clone();
        let run = move || shared.run(&received);
        let thread = thread::Builder::new().name("launches".into()).spawn(run).ok()?;
        Some(Worker { launches, thread: thread.thread().clone() })
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        let worker = self.worker.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Worker { launches, thread }) = worker {
            drop(launches);
            thread.unpark();
        }
    }
}

impl Shared {
    /// Gives launches to the driver until nobody is left who could post some.
    fn run(&self, received: &Receiver<Box<dyn Launch>>) {
        loop {
            self.is_awake.store(true, Ordering::Relaxed);
            let mut last = Instant::now();
            while last.elapsed() < PATIENCE {
                match received.try_recv() {
                    Ok(launch) => {
                        self.give(launch);
                        last = Instant::now();
                    }
                    Err(TryRecvError::Empty) => std::hint::spin_loop(),
                    Err(TryRecvError::Disconnected) => return,
                }
            }
            self.is_awake.store(false, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            match received.try_recv() {
                Ok(launch) => self.give(launch),
                Err(TryRecvError::Empty) => thread::park(),
                Err(TryRecvError::Disconnected) => return,
            }
        }
    }

    fn give(&self, launch: Box<dyn Launch>) {
        let result = launch.give();
        if result != CUresult::CUDA_SUCCESS {
            let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
            refused.get_or_insert_with(|| (launch.name().clone(), result));
            drop(refused);
            self.has_refused.store(true, Ordering::Release);
        }
        // What the launch holds may be the last of its GPU, which nobody waits for.
        drop(launch);
        self.given.fetch_add(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The launch that is refused, late in a row.
    const REFUSED: u64 = 4999;

    struct Noted {
        number: u64,
        name: Arc<str>,
        given: Arc<Mutex<Vec<u64>>>,
    }

    impl Launch for Noted {
        fn name(&self) -> &Arc<str> {
            &self.name
        }

        fn give(&self) -> CUresult {
            self.given.lock().unwrap().push(self.number);
            if self.number == REFUSED {
                CUresult::CUDA_ERROR_INVALID_VALUE
            } else {
                CUresult::CUDA_SUCCESS
            }
        }
    }

    /// All launches are given in their order, whether the thread takes them, sleeps, or is about to.
    #[test]
    fn launches_keep_their_order() {
        let launcher = Launcher::default();
        *launcher.worker.lock().unwrap() = launcher.start();
        let given = Arc::new(Mutex::new(Vec::new()));
        let n = 20_000;
        let (mut n_posted, mut is_refused) = (0, false);
        for number in 0..n {
            let noted = Noted { number, name: "k".into(), given: given.clone() };
            if number % 501 == 500 {
                launcher.drain();
                assert_eq!(given.lock().unwrap().len() as u64, number);
            }
            if number % 3000 == 0 {
                thread::sleep(PATIENCE + Duration::from_micros(number / 100));
            }
            if number % 3000 == 1500 {
                // However busy the machine is.
                while !launcher.shared.is_awake.load(Ordering::Relaxed) {
                    launcher.wake();
                    thread::yield_now();
                }
            }
            let row = launcher.row();
            if launcher.is_awake() {
                launcher.post(Box::new(noted));
                is_refused |= number == REFUSED;
                n_posted += 1;
            } else {
                launcher.drain();
                let _ = noted.give();
                launcher.goes_on(row);
            }
        }
        launcher.drain();
        assert!(given.lock().unwrap().iter().copied().eq(0..n));
        assert!(n_posted > 0);
        let refused = launcher.refusal().map(|(name, _)| name.to_string());
        assert_eq!(refused, is_refused.then(|| "k".into()));
        assert_eq!(launcher.refusal(), None);
    }
}
