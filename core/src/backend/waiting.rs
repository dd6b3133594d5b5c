//! What is said of what is waited for.

use std::time::{Duration, Instant};

use crate::backend::Listener;

/// How long nothing is said.
const QUIET: Duration = Duration::from_secs(2);
/// Time between two lines that stand in one place.
const EVERY: Duration = Duration::from_millis(200);
/// When a line that stays is due: the longer it takes, the more seldom.
const TIMES: [Duration; 4] =
    [QUIET, Duration::from_secs(10), Duration::from_secs(60), Duration::from_secs(600)];

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
        let time = self.since.elapsed();
        let (sink, is_due) = match self.listener {
            Listener::Nobody => return,
            Listener::InPlace(sink) => {
                (sink, time > QUIET && self.said.is_none_or(|said| said.elapsed() > EVERY))
            }
            Listener::Lines(sink) => {
                let last = self.said.map_or(Duration::ZERO, |said| said - self.since);
                (sink, TIMES.iter().any(|due| (last..time).contains(due)))
            }
        };
        if is_due {
            sink(&line(time));
            self.said = Some(Instant::now());
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let (Listener::InPlace(sink), Some(_)) = (self.listener, self.said) {
            sink("");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// What is said of a wait that began so long ago, asked twice.
    fn lines(listener: fn(crate::log::LogSink) -> Listener, ago: u64) -> Vec<String> {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let into = lines.clone();
        let listener = listener(Arc::new(move |line: &str| into.lock().unwrap().push(line.into())));
        let since = Instant::now().checked_sub(Duration::from_secs(ago)).unwrap();
        let mut waiting = Waiting { since, ..Waiting::new(&listener) };
        for _ in 0..2 {
            waiting.say(|time| format!("{} s", time.as_secs()));
        }
        drop(waiting);
        lines.lock().unwrap().clone()
    }

    #[test]
    fn who_is_silent_is_told_of() {
        assert_eq!(lines(Listener::Lines, 1), [""; 0]);
        assert_eq!(lines(Listener::Lines, 3), ["3 s"]);
        assert_eq!(lines(Listener::InPlace, 1), [""; 0]);
        assert_eq!(lines(Listener::InPlace, 3), ["3 s", ""]);
    }
}
