//! Who watches the bodies that a session records; see `control/watch.rs`.

use std::sync::Mutex;
use std::thread::ThreadId;

/// The threads of a session that show values in bodies, and those that watch them.
#[derive(Default)]
pub(crate) struct Watchers {
    pub(crate) showing: Mutex<Vec<ThreadId>>,
    pub(crate) watching: Mutex<Vec<ThreadId>>,
}
