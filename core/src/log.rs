//! The session's log (design §5): lines at levels 0–5 for a sink.
//!
//! 0 none · 1 launches · 2 + compilation and cache · 3 + generated source · 4 + trace · 5 + reference
//! counts and machine code. Lines of recordings wait until the table is unlocked; those of evaluations are
//! written as it goes. So a sink may look at the session (`whos`, history), but not evaluate in it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// Receives log lines, one call each, without a line end.
pub type LogSink = Arc<dyn Fn(&str) + Send + Sync>;

/// The level from which on each recorded variable has a line.
pub const TRACE_LEVEL: u8 = 4;

/// The most talkative level.
pub const MAX_LEVEL: u8 = 5;

/// A level and a sink, shared by all parts of a session.
#[derive(Clone)]
pub struct Log {
    level: Arc<AtomicU8>,
    sink: LogSink,
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("level", &self.level()).finish_non_exhaustive()
    }
}

impl Log {
    /// A log that hands lines up to `level` to `sink`.
    pub fn new(level: u8, sink: LogSink) -> Self {
        Self { level: Arc::new(AtomicU8::new(level.min(MAX_LEVEL))), sink }
    }

    /// The level.
    #[inline]
    pub fn level(&self) -> u8 {
        self.level.load(Ordering::Relaxed)
    }

    /// Changes the level (at most [`MAX_LEVEL`]).
    pub fn set_level(&self, level: u8) {
        self.level.store(level.min(MAX_LEVEL), Ordering::Relaxed);
    }

    /// Whether lines of `level` are wanted.
    #[inline]
    pub fn enabled(&self, level: u8) -> bool {
        self.level() >= level
    }

    /// Writes a line of `level`, made only if it is wanted.
    pub fn line(&self, level: u8, text: impl FnOnce() -> String) {
        if self.enabled(level) {
            (self.sink)(&text());
        }
    }
}

/// A log whose lines wait until [`LogQueue::take`].
pub struct LogQueue {
    log: Log,
    waiting: Vec<String>,
}

impl LogQueue {
    /// A queue in front of `log`.
    pub fn new(log: Log) -> Self {
        Self { log, waiting: Vec::new() }
    }

    /// Whether lines of `level` are wanted.
    #[inline]
    pub fn enabled(&self, level: u8) -> bool {
        self.log.enabled(level)
    }

    /// Adds a line.
    pub fn push(&mut self, line: String) {
        self.waiting.push(line);
    }

    /// Whether no line waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The waiting lines, which the caller writes once no lock is held.
    pub fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.waiting)
    }
}
