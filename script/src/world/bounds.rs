//! Bounds of scripts that are not trusted: what they may use, and how they are stopped when they use more. Those that
//! are trusted are stopped before the system ends the process for want of memory.

use std::cell::Cell;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

use porcini_core::device::{Capacity, physical_capacity};
use porcini_core::interrupt;
use porcini_core::log::LogSink;
use porcini_core::memory::caching_allocator::{Bytes, Limit, LimitSource};
use porcini_core::memory::process_heap;

use crate::diagnose::error::{Error, ErrorKind};
use crate::show::outcome::Outcome;
use crate::world::control_characters;
use crate::world::engine_thread::ENGINE_STACK;

/// Elements of a list, and bytes of a text.
pub(crate) const LARGEST_LIST: usize = 1_000_000;
/// Memory of all lists and texts together, besides arrays.
pub(crate) const LISTS: u64 = 512 << 20;
/// Threads, and code.
const SLACK: u64 = 512 << 20;
/// What a turn that deletes what is too large may take at first.
const A_LITTLE: u64 = 1 << 20;
/// A script that was stopped and goes on for so long is in something that cannot be stopped: its process ends.
const LAST_GRACE: Duration = Duration::from_secs(5);
/// How often somebody looks at the memory of a script that is not trusted.
const LOOK_AFTER: Duration = Duration::from_millis(2);

/// Bytes that a script takes in a second at most: pages must be cleared.
const BYTES_IN_A_SECOND: f64 = 16e9;
/// How often somebody looks at the memory of a script that is trusted.
const SELDOM: Duration = Duration::from_millis(250);

/// What scripts that are not trusted may use. Recursion is bounded always.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The only folder with files that may be read and written; `None`: no files.
    pub folder: Option<PathBuf>,
    /// Seconds of a cell that is typed, or of a whole script.
    pub seconds: u64,
    /// Operations of the script language, for each cell.
    pub operations: u64,
    /// Bytes of arrays.
    pub memory: u64,
    /// Bytes that a cell shows.
    pub output: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            folder: None,
            seconds: 60,
            operations: 100_000_000,
            memory: 1 << 30,
            output: 10 << 20,
        }
    }
}

impl Bounds {
    /// Has the system end this process rather than give it much more memory than scripts may have: the last line, if
    /// one operation takes so much that nobody could look in between. A warning where the system has no such bound.
    pub fn bind_process(&self) -> Option<String> {
        // An operation may double what there is before somebody looks; a script that must leave room for copies
        // (`process_heap`) is not to be stopped for that.
        let most = self.memory.saturating_add(LISTS).saturating_mul(3);
        let most = most.saturating_add(ENGINE_STACK as u64 + SLACK);
        let error = bind_data(most).err()?;
        Some(format!("the system does not bound the memory of this process: {error}"))
    }
}

#[cfg(unix)]
fn bind_data(most: u64) -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let most = Some(most);
    setrlimit(Resource::Data, Rlimit { current: most, maximum: most })
        .map_err(|error| io::Error::from_raw_os_error(error.raw_os_error()))
}

#[cfg(not(unix))]
fn bind_data(_: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Bytes of memory that this process has.
#[cfg(target_os = "linux")]
pub(crate) fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

/// Other systems do not tell.
#[cfg(not(target_os = "linux"))]
pub(crate) fn resident() -> Option<u64> {
    None
}

/// What the running turn has used, and why it is stopped. Other threads write logs and watch the time.
#[derive(Default)]
pub(crate) struct Turn {
    state: Mutex<State>,
    printed: AtomicU64,
}

#[derive(Default)]
struct State {
    runs: bool,
    why: Option<String>,
    /// How long somebody was asked, and since when somebody is.
    asked: Duration,
    asks_since: Option<Instant>,
}

impl Turn {
    /// Stops what runs, once.
    pub(crate) fn stop(&self, why: &str) {
        self.stop_with(format!("stopped by the sandbox: {why}"));
    }

    fn stop_with(&self, message: String) {
        let mut state = self.lock();
        // What has ended in the meantime needs no stop, and must not stop the next.
        if state.runs {
            state.why.get_or_insert(message);
            interrupt_script();
        }
    }

    /// Counts what is to be shown; what is too much stops the script and is not shown.
    pub(crate) fn may_show(&self, bytes: usize, most: u64) -> bool {
        let before = self.printed.fetch_add(bytes as u64, Ordering::Relaxed);
        let fits = bytes == 0 || before.saturating_add(bytes as u64) <= most;
        if !fits {
            self.stop(&format!("{} of output (--max-output)", Bytes(most)));
        }
        fits
    }

    /// Asks somebody, whose time is none that a script takes.
    pub(crate) fn while_asking<R>(&self, ask: impl FnOnce() -> R) -> R {
        let start = Instant::now();
        self.lock().asks_since = Some(start);
        let answer = ask();
        let mut state = self.lock();
        state.asks_since = None;
        state.asked += start.elapsed();
        answer
    }

    /// How long somebody was asked so far.
    fn asked(&self) -> Duration {
        let state = self.lock();
        state.asked + state.asks_since.map_or(Duration::ZERO, |start| start.elapsed())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Watches over what one interpreter runs.
pub(crate) struct Watch {
    pub(crate) bounds: Bounds,
    /// Whether the bounds hold; else only memory is looked at.
    pub(crate) is_sandbox: bool,
    /// Of arrays of scripts that are trusted, if somebody said so.
    limit: Option<Limited>,
    pub(crate) turn: Arc<Turn>,
    depth: Cell<usize>,
    /// Ends the process.
    end: LogSink,
}

/// The time of a turn; it ends when this is dropped.
pub(crate) struct Running {
    watch: Rc<Watch>,
    /// Its end ends the thread that waits for the time to be over.
    _timer: Option<mpsc::Sender<()>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let depth = self.watch.depth.get() - 1;
        self.watch.depth.set(depth);
        if depth == 0 {
            *self.watch.turn.lock() = State::default();
        }
    }
}

impl Watch {
    /// A watch over scripts in a sandbox, or without bounds over those that are trusted, whose arrays may have a limit.
    pub(crate) fn new(bounds: Option<Bounds>, limit: Option<Limited>, end: LogSink) -> Rc<Self> {
        Rc::new(Self {
            is_sandbox: bounds.is_some(),
            limit,
            bounds: bounds.unwrap_or_default(),
            turn: Arc::default(),
            depth: Cell::new(0),
            end,
        })
    }

    /// Begins a turn, unless one runs.
    pub(crate) fn begin(self: &Rc<Self>) -> Running {
        self.depth.set(self.depth.get() + 1);
        let timer = (self.depth.get() == 1).then(|| {
            self.turn.printed.store(0, Ordering::Relaxed);
            *self.turn.lock() = State { runs: true, ..State::default() };
            process_heap::watch();
            self.start_timer()
        });
        Running { watch: self.clone(), _timer: timer.flatten() }
    }

    /// Counts what is to be shown; false if it is too much.
    pub(crate) fn may_show(&self, bytes: usize) -> bool {
        self.turn.may_show(bytes, self.bounds.output)
    }

    fn start_timer(&self) -> Option<mpsc::Sender<()>> {
        // Under a limit of the system the heap is looked at, and it may have no room for a thread.
        let room = if self.is_sandbox { None } else { process_heap::room() };
        if room.is_some_and(|room| room < physical_capacity().bytes) {
            return None;
        }
        let (timer, ended) = mpsc::channel::<()>();
        let (turn, seconds, memory) = (self.turn.clone(), self.bounds.seconds, self.bounds.memory);
        let (is_sandbox, limit, end) = (self.is_sandbox, self.limit, self.end.clone());
        let wait = move || {
            if is_sandbox {
                guard_bounds(&turn, &ended, seconds, memory);
                if let Some(why) = outlived(&turn, &ended, LAST_GRACE) {
                    end(&why);
                }
            } else {
                guard_memory(&turn, &ended, resident, &Allowance::of(physical_capacity(), limit));
            }
        };
        match Builder::new().name("timer".into()).spawn(wait) {
            Ok(_) => Some(timer),
            Err(_) if !is_sandbox => None,
            // Without a clock nothing may run.
            Err(error) => {
                self.turn.stop(&format!("no thread for its clock: {error}"));
                None
            }
        }
    }

    /// The result of a turn, or why it was stopped. What a sandbox gives is counted, and gives no orders to a terminal.
    pub(crate) fn judge(&self, result: Result<Outcome, Box<Error>>) -> Result<Outcome, Box<Error>> {
        let result = if self.is_sandbox { self.admitted(result) } else { result };
        let stopped = match &result {
            Ok(_) => true,
            Err(error) => error.kind == ErrorKind::Interrupted,
        };
        let why = self.turn.lock().why.take().filter(|_| stopped);
        let Some(why) = why else { return result };
        let mut error = result.err().unwrap_or_else(|| Error::plain(ErrorKind::Runtime, "").into());
        error.kind = ErrorKind::Runtime;
        error.message = why;
        Err(error)
    }

    fn admitted(&self, result: Result<Outcome, Box<Error>>) -> Result<Outcome, Box<Error>> {
        let outcome = control_characters::in_outcome(result.map_err(control_characters::in_error)?);
        // What is too much stops the turn, which is told then.
        Ok(if self.may_show(bytes(&outcome)) { outcome } else { Outcome::default() })
    }
}

/// Bytes of all that a cell gave.
fn bytes(outcome: &Outcome) -> usize {
    let texts = outcome.text.iter().chain(&outcome.next_input).map(String::len);
    texts.chain(outcome.forms.iter().map(|(_, content)| content.len())).sum()
}

/// Stops a turn that takes too long, or too much memory for its lists and texts besides arrays. Returns when the turn
/// has ended or was stopped, also by somebody else.
fn guard_bounds(turn: &Turn, ended: &mpsc::Receiver<()>, seconds: u64, memory: u64) {
    let start = Instant::now();
    // Whatever is too large can be deleted, which takes time: nothing must come on top of it meanwhile.
    let most = memory.saturating_add(LISTS).max(resident().unwrap_or(0).saturating_add(A_LITTLE));
    loop {
        let taken = start.elapsed().saturating_sub(turn.asked());
        let left = Duration::from_secs(seconds).saturating_sub(taken);
        if ended.recv_timeout(left.min(LOOK_AFTER)) != Err(RecvTimeoutError::Timeout) {
            return;
        }
        if left.is_zero() {
            return turn.stop(&format!("{seconds} s of time (--max-seconds)"));
        }
        if resident().is_some_and(|bytes| bytes > most) {
            let (lists, arrays) = (Bytes(LISTS), Bytes(memory));
            return turn.stop(&format!(
                "{lists} of lists and texts besides {arrays} of arrays; del x frees one, %reset all"
            ));
        }
        if turn.lock().why.is_some() {
            return;
        }
    }
}

/// Why the process has to end: the turn was stopped and has not ended by the end of its grace.
fn outlived(turn: &Turn, ended: &mpsc::Receiver<()>, grace: Duration) -> Option<String> {
    let why = turn.lock().why.clone()?;
    let is_over = ended.recv_timeout(grace) != Err(RecvTimeoutError::Timeout);
    // Whoever told the reason has stopped.
    (!is_over && turn.lock().why.is_some()).then(|| {
        format!("{why}; nothing stopped it for {} s more, so the process ends", grace.as_secs())
    })
}

/// A limit of the arrays of scripts that are trusted.
#[derive(Clone, Copy)]
pub(crate) struct Limited {
    limit: Limit,
    /// Bytes that the process had before scripts took any, if it is theirs alone.
    before: Option<u64>,
}

impl Limited {
    /// A limit for scripts that are all that this process does.
    pub(crate) fn alone(bytes: u64, name: &'static str) -> Self {
        let limit = Limit { bytes, source: LimitSource::Set(name) };
        Self { limit, before: resident() }
    }

    /// A limit for scripts beside which the process takes what it likes: only what a turn takes counts.
    pub(crate) fn beside_others(limit: Limit) -> Self {
        Self { limit, before: None }
    }
}

/// What scripts that are trusted may take, and of what.
struct Allowance {
    bytes: u64,
    whole: String,
    /// What the process had before they took any; else what it has as a turn begins.
    before: Option<u64>,
}

impl Allowance {
    /// Nearly all that is left, before the system ends the process. A limit of arrays leaves as much again for lists and
    /// texts, and in any case as much as a sandbox, and what a GPU's driver takes; that holds for all turns together.
    fn of(left: Capacity, limited: Option<Limited>) -> Self {
        const BESIDES: u64 = LISTS + SLACK;
        let whole = format!(", 95 % of what {} had left", left.whose);
        let left = Self { bytes: left.bytes / 20 * 19, whole, before: None };
        let most = |limit: u64| limit.saturating_mul(2).saturating_add(BESIDES);
        match limited.map(|limited| (most(limited.limit.bytes), limited)) {
            Some((bytes, Limited { limit, before })) if bytes < left.bytes => {
                let besides = Bytes(BESIDES);
                let whole = format!(": twice {limit} and {besides}, for arrays, lists and texts");
                Self { bytes, whole, before }
            }
            _ => left,
        }
    }
}

/// Stops a turn that takes more than it may. Arrays have a lower limit of their own: these are lists and texts.
fn guard_memory(
    turn: &Turn,
    ended: &mpsc::Receiver<()>,
    used: impl Fn() -> Option<u64>,
    allowed: &Allowance,
) {
    let Some(now) = used() else { return };
    let before = allowed.before.unwrap_or(now);
    let mut taken = now.saturating_sub(before);
    // Whatever is too large can be deleted, which takes a little.
    let most = if taken > allowed.bytes { taken.saturating_add(A_LITTLE) } else { allowed.bytes };
    while taken <= most {
        // Nobody needs to look before so much can have been taken.
        #[expect(clippy::cast_precision_loss, reason = "a time")]
        let soonest = Duration::from_secs_f64((most - taken) as f64 / BYTES_IN_A_SECOND);
        if ended.recv_timeout(soonest.clamp(LOOK_AFTER, SELDOM)) != Err(RecvTimeoutError::Timeout) {
            return;
        }
        taken = used().unwrap_or(0).saturating_sub(before);
    }
    let (whole, bytes, taken) = (&allowed.whole, Bytes(allowed.bytes), Bytes(taken));
    turn.stop_with(format!(
        "out of memory: the script took {taken} of {bytes}{whole}; del x frees a list or array, \
         %reset all; eval(x) in a long loop lets go of what was recorded; arrays take less than lists"
    ));
}

/// Stops the script that runs. Tests of this crate run side by side, and stop nobody.
fn interrupt_script() {
    if !cfg!(test) {
        interrupt::request();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nowhere() -> LogSink {
        Arc::new(|_| {})
    }

    #[test]
    fn memory_is_guarded_where_nothing_else_is() {
        let watch = Watch::new(None, None, nowhere());
        let _running = watch.begin();
        let (_turn, ended) = mpsc::channel();
        let samples = Mutex::new([100, 150, 1200].into_iter());
        let used = || samples.lock().unwrap().next();
        let left = Capacity { bytes: 1000, whose: "the system" };
        let limited = Limited { before: Some(100), ..Limited::alone(300 << 20, "LIMIT") };
        guard_memory(&watch.turn, &ended, used, &Allowance::of(left, Some(limited)));
        let error = watch.judge(Ok(Outcome::default())).unwrap_err();
        let text = "took 1.0742 KiB of 950 B, 95 % of what the system had left; del x";
        assert!(error.message.contains(text), "{}", error.message);
        assert!(watch.judge(Ok(Outcome::default())).is_ok());
        let allowed = Allowance::of(Capacity { bytes: 4 << 30, ..left }, Some(limited));
        assert_eq!(allowed.bytes, 1624 << 20);
        let whole = ": twice 300 MiB (LIMIT) and 1 GiB, for arrays, lists and texts";
        assert_eq!(allowed.whole, whole);
    }

    /// Turns that take a little each take much together; one that begins with too much can still delete it.
    #[test]
    fn a_limit_holds_for_all_turns_together() {
        let watch = Watch::new(None, None, nowhere());
        let _running = watch.begin();
        let (_turn, ended) = mpsc::channel();
        let limited = Limited { before: Some(100), ..Limited::alone(0, "LIMIT") };
        let left = Capacity { bytes: 4 << 30, whose: "the system" };
        let allowed = Allowance::of(left, Some(limited));
        let guard = |samples: [u64; 2]| {
            let samples = Mutex::new(samples.into_iter());
            let next = || samples.lock().unwrap().next();
            guard_memory(&watch.turn, &ended, || next().or(Some(u64::MAX)), &allowed);
            watch.judge(Ok(Outcome::default())).unwrap_err().message
        };
        let message = guard([1 << 30, (1 << 30) + 200]);
        assert!(message.contains("took 1 GiB of 1 GiB: twice 0 B (LIMIT)"), "{message}");
        // Only the sample behind these is too much.
        let message = guard([2 << 30, (2 << 30) + 200]);
        assert!(message.contains("took 16777216 TiB of 1 GiB"), "{message}");
    }

    #[test]
    fn a_turn_is_stopped_once_and_the_next_is_not() {
        let watch = Watch::new(Some(Bounds { output: 10, ..Bounds::default() }), None, nowhere());
        watch.turn.stop("nobody runs");
        let running = watch.begin();
        let inner = watch.begin();
        assert!(watch.turn.may_show(10, 10) && !watch.turn.may_show(1, 10));
        drop(inner);
        let error = watch.judge(Ok(Outcome::default())).unwrap_err();
        assert!(error.message.contains("10 B of output"), "{}", error.message);
        assert!(watch.judge(Ok(Outcome::default())).is_ok());
        drop(running);
        let _running = watch.begin();
        assert!(watch.turn.may_show(10, 10) && watch.judge(Ok(Outcome::default())).is_ok());
    }

    #[test]
    fn a_turn_that_goes_on_ends_the_process() {
        let watch = Watch::new(Some(Bounds::default()), None, nowhere());
        let running = watch.begin();
        let (timer, ended) = mpsc::channel::<()>();
        let moment = Duration::from_millis(1);
        assert_eq!(outlived(&watch.turn, &ended, moment), None);
        watch.turn.stop("1 s of time");
        guard_bounds(&watch.turn, &ended, 60, 1 << 30);
        let why = outlived(&watch.turn, &ended, moment).unwrap();
        assert!(
            why.starts_with("stopped by the sandbox: 1 s of time; nothing stopped it"),
            "{why}"
        );
        drop(timer);
        assert_eq!(outlived(&watch.turn, &ended, moment), None);
        drop(running);
    }

    #[test]
    fn answers_take_no_time() {
        let watch = Watch::new(Some(Bounds { seconds: 1, ..Bounds::default() }), None, nowhere());
        let _running = watch.begin();
        let moment = Duration::from_millis(50);
        assert_eq!(watch.turn.asked(), Duration::ZERO);
        let so_far = watch.turn.while_asking(|| {
            std::thread::sleep(moment);
            watch.turn.asked()
        });
        assert!(so_far >= moment && watch.turn.asked() >= so_far);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_system_tells_how_much_memory_there_is() {
        let before = resident().unwrap();
        let block = std::hint::black_box(vec![1_u8; 64 << 20]);
        assert!(resident().unwrap() > before + (60 << 20));
        drop(block);
    }
}
