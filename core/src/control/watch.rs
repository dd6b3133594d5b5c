//! Watching how bodies run: what a body shows is no value of the kernel, so it is run step by step beside it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use crate::session::Session;

/// While it lives, loops and branches of this thread run step by step, and their results count for nothing else.
#[derive(Debug)]
pub struct Watch<'s>(&'s Mutex<Vec<ThreadId>>);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        let mut watching = lock(self.0);
        if let Some(position) = watching.iter().position(|&thread| thread == current()) {
            watching.swap_remove(position);
        }
    }
}

impl Session {
    /// Notes that the body being recorded shows a value, which it has only where it is watched.
    pub fn note_shown(&self) {
        let mut showing = lock(&self.watchers().showing);
        if !showing.contains(&current()) {
            showing.push(current());
        }
    }

    /// Whether a body that this thread recorded since the last call shows values.
    pub fn take_shown(&self) -> bool {
        let mut showing = lock(&self.watchers().showing);
        let position = showing.iter().position(|&thread| thread == current());
        position.map(|position| showing.swap_remove(position)).is_some()
    }

    /// Watches what bodies show: the same calls of [`Session::while_loop`], [`Session::if_then`] and
    /// [`Session::dispatch`] with this alive run step by step. Their values are those of the kernel, but writes to one
    /// element by several lanes take longer.
    #[must_use]
    pub fn watch(&self) -> Watch<'_> {
        let watching = &self.watchers().watching;
        lock(watching).push(current());
        Watch(watching)
    }

    /// Whether this thread watches.
    pub fn is_watched(&self) -> bool {
        lock(&self.watchers().watching).contains(&current())
    }
}

fn current() -> ThreadId {
    thread::current().id()
}

fn lock(threads: &Mutex<Vec<ThreadId>>) -> MutexGuard<'_, Vec<ThreadId>> {
    threads.lock().unwrap_or_else(PoisonError::into_inner)
}
