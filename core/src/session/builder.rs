//! How a session starts.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::backend::cuda::Toolkit;
use crate::backend::{DeviceChoice, Listener, Outside};
use crate::error::Result;
use crate::log::{Log, LogSink};
use crate::memory::caching_allocator::{Limit, LimitSource};
use crate::session::flags::Flags;
use crate::session::runtime::{MOST_THREADS, Runtime};
use crate::session::watchers::Watchers;
use crate::session::{Clock, Common, Family, Session};

/// Settings of a new session.
pub struct SessionBuilder {
    runtime: Option<Arc<Runtime>>,
    device: DeviceChoice,
    threads: Option<usize>,
    memory_limit: Option<Limit>,
    log: Log,
    clock: Option<Clock>,
    progress: Option<LogSink>,
    warnings: Option<LogSink>,
    outside: Outside,
}

impl fmt::Debug for SessionBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("SessionBuilder");
        shown.field("runtime", &self.runtime).field("device", &self.device);
        shown.field("threads", &self.threads).field("log", &self.log).finish_non_exhaustive()
    }
}

impl SessionBuilder {
    /// Shares a runtime with other sessions; device, threads, memory limit, cache folder and toolkit are then
    /// the runtime's.
    #[must_use]
    pub fn runtime(mut self, runtime: Arc<Runtime>) -> Self {
        self.runtime = Some(runtime);
        self
    }

    /// The device; by default the best one that answers.
    #[must_use]
    pub fn device(mut self, device: DeviceChoice) -> Self {
        self.device = device;
        self
    }

    /// Threads that run kernels, the caller included: 1 to [`MOST_THREADS`]; by default one per processor.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Bytes of device memory that may be in use.
    #[must_use]
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit = Some(bytes.into());
        self
    }

    /// The same as [`SessionBuilder::memory_limit`], with the name of what sets it for errors.
    #[must_use]
    pub fn memory_limit_by(mut self, bytes: u64, name: &'static str) -> Self {
        self.memory_limit = Some(Limit { bytes, source: LimitSource::Set(name) });
        self
    }

    /// Who is told how far an evaluation is that takes longer than a second, `""` when it has ended; other threads call
    /// it. By default nobody.
    #[must_use]
    pub fn progress(mut self, sink: LogSink) -> Self {
        self.progress = Some(sink);
        self
    }

    /// Who is told what takes long for want of threads, and what to do about it; where nobody is told of progress, also which
    /// rank is waited for. By default nobody.
    #[must_use]
    pub fn warnings(mut self, sink: LogSink) -> Self {
        self.warnings = Some(sink);
        self
    }

    /// Where log lines go, and up to which level (0–5).
    #[must_use]
    pub fn log(mut self, level: u8, sink: LogSink) -> Self {
        self.log = Log::new(level, sink);
        self
    }

    /// The clock of logs and history; by default the monotonic one.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Where compiled GPU kernels are kept for other processes; by default nowhere.
    #[must_use]
    pub fn cache_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.outside.cache_folder = Some(folder.into());
        self
    }

    /// The library of MPI, for ranks that a launcher has started; by default the launcher's usual one.
    #[must_use]
    pub fn mpi_library(mut self, file: Option<OsString>) -> Self {
        self.outside.mpi = file;
        self
    }

    /// The program that is a rank of `ranks:N`, and its arguments but for the last, which is a number of threads: it calls
    /// [`serve_rank`](crate::device::serve_rank).
    #[must_use]
    pub fn rank_program(mut self, command: Vec<OsString>) -> Self {
        self.outside.rank = command;
        self
    }

    /// What starts the ranks of `ranks:N` on other machines, as `srun -n {}`: `{}` is how many. By default they are
    /// processes of this machine. Each calls [`serve_rank`](crate::device::serve_rank).
    #[must_use]
    pub fn launcher(mut self, words: Option<String>) -> Self {
        self.outside.launcher = words;
        self
    }

    /// Where to look for the programs that show a GPU's machine code; by default nowhere.
    #[must_use]
    pub fn toolkit(mut self, toolkit: Toolkit) -> Self {
        self.outside.toolkit = toolkit;
        self
    }

    /// Starts the session.
    ///
    /// # Errors
    /// `NoDevice` if the device asked for is not there; `Argument` for a number of threads that no session has.
    pub fn build(self) -> Result<Session> {
        let processors = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let runtime = match self.runtime {
            Some(runtime) => runtime,
            None => {
                let threads = self.threads;
                let threads = threads.unwrap_or_else(|| processors().min(MOST_THREADS.into()));
                let waiting = match (&self.progress, &self.warnings) {
                    (Some(sink), _) => Listener::InPlace(sink.clone()),
                    (None, Some(sink)) => Listener::Lines(sink.clone()),
                    (None, None) => Listener::Nobody,
                };
                let outside = Outside { waiting, ..self.outside };
                Runtime::with(self.device, threads, self.memory_limit, outside)?
            }
        };
        let start = Instant::now();
        let common = Common {
            line: AtomicU32::new(0),
            flags: Flags::default(),
            history: Mutex::default(),
            log: self.log,
            clock: self.clock.unwrap_or_else(|| Arc::new(move || start.elapsed())),
            progress: self.progress,
            warnings: self.warnings,
            watchers: Watchers::default(),
            plans: Arc::default(),
        };
        Ok(Session::start(runtime, Arc::new(common), Family::default()))
    }
}

impl Default for SessionBuilder {
    fn default() -> Self {
        Self {
            runtime: None,
            device: DeviceChoice::Auto,
            threads: None,
            memory_limit: None,
            log: Log::new(0, Arc::new(|_| {})),
            clock: None,
            progress: None,
            warnings: None,
            outside: Outside::default(),
        }
    }
}

impl Session {
    /// Settings for a new session.
    pub fn builder() -> SessionBuilder {
        SessionBuilder::default()
    }

    /// A session with default settings, on the best device that answers.
    ///
    /// # Errors
    /// `NoDevice`, which the CPU never gives.
    pub fn new() -> Result<Self> {
        Self::builder().build()
    }
}
