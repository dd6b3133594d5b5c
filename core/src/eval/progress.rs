//! How far a large evaluation is, told from a thread of its own once it takes longer than a second.
//!
//! Planning and compiling are long passes without natural pauses; the thread looks at what they say they do.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use crate::log::LogSink;

/// Variables from which on an evaluation may take that long: fewer are compiled in a tenth of a second.
const LARGE: usize = 100_000;
/// Quiet at first, and between two reports.
const PATIENCE: Duration = Duration::from_secs(1);
const EVERY: Duration = Duration::from_millis(200);

/// Reports progress until it is dropped.
#[derive(Default)]
pub(super) struct Progress(Option<Telling>);

struct Telling {
    doing: Arc<Mutex<String>>,
    ended: Option<Sender<()>>,
    teller: Option<JoinHandle<()>>,
}

impl Progress {
    /// Starts to report on an evaluation in a table of this many variables, if it may take long and has a listener.
    pub(super) fn begin(sink: Option<&LogSink>, n_variables: usize) -> Self {
        let Some(sink) = sink.filter(|_| n_variables >= LARGE).cloned() else {
            return Self::default();
        };
        let doing = Arc::new(Mutex::new("planning".to_string()));
        let (ended, end) = channel();
        let told = doing.clone();
        let tell = move || tell(&sink, &told, &end);
        // Without a thread there is no report, and the work is done all the same.
        let teller = Builder::new().name("progress".into()).spawn(tell).ok();
        Self(Some(Telling { doing, ended: Some(ended), teller }))
    }

    /// Says what is done from now on.
    pub(super) fn now(&self, doing: impl FnOnce() -> String) {
        if let Some(telling) = &self.0 {
            *telling.doing.lock().unwrap_or_else(PoisonError::into_inner) = doing();
        }
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        drop(self.ended.take());
        // What it shows must be gone before anything else is shown. It does not panic.
        drop(self.teller.take().map(JoinHandle::join));
    }
}

fn tell(sink: &LogSink, doing: &Mutex<String>, end: &Receiver<()>) {
    let start = Instant::now();
    let mut wait = PATIENCE;
    while end.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
        let doing = doing.lock().unwrap_or_else(PoisonError::into_inner).clone();
        sink(&format!("{doing}, {} s", start.elapsed().as_secs()));
        wait = EVERY;
    }
    if wait == EVERY {
        sink("");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_long_is_told_and_taken_back() {
        let said: Arc<Mutex<Vec<String>>> = Arc::default();
        let lines = said.clone();
        let sink: LogSink = Arc::new(move |line| lines.lock().unwrap().push(line.into()));
        for (n, heard) in [(LARGE - 1, false), (LARGE, true)] {
            let progress = Progress::begin(Some(&sink), n);
            progress.now(|| "compiling".into());
            if heard {
                let start = Instant::now();
                while said.lock().unwrap().is_empty() {
                    assert!(start.elapsed() < Duration::from_secs(60), "nothing was told");
                    std::thread::yield_now();
                }
            }
            drop(progress);
            let said = std::mem::take(&mut *said.lock().unwrap());
            assert_eq!(said.first().is_some_and(|line| line.starts_with("compiling, ")), heard);
            assert_eq!(said.last().is_some_and(String::is_empty), heard, "{said:?}");
        }
    }
}
