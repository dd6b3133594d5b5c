//! What is said of ranks that are waited for.

use std::time::{Duration, Instant};

use crate::backend::Listener;

/// How long nothing is said.
const QUIET: Duration = Duration::from_secs(2);
/// Time between two lines.
const EVERY: Duration = Duration::from_millis(200);

/// Says what is waited for, once that takes long, and at the end that it is no more.
pub(super) struct Waiting<'l> {
    listener: &'l Listener,
    since: Instant,
    /// When it was said last.
    said: Option<Instant>,
}

impl<'l> Waiting<'l> {
    pub(super) fn new(listener: &'l Listener) -> Self {
        Self { listener, since: Instant::now(), said: None }
    }

    /// Says a line, made of the time since then, if one is due.
    pub(super) fn say(&mut self, line: impl FnOnce(Duration) -> String) {
        let Some(sink) = &self.listener.0 else { return };
        let time = self.since.elapsed();
        if time > QUIET && self.said.is_none_or(|said| said.elapsed() > EVERY) {
            sink(&line(time));
            self.said = Some(Instant::now());
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let (Some(sink), Some(_)) = (&self.listener.0, self.said) {
            sink("");
        }
    }
}
