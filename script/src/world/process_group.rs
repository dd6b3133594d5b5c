//! The group of processes that a command and what it starts are: it ends with this process, in whatever way that ends.
//!
//! Its first member is a shell that reads from a pipe of which only this process has the other end. The pipe closes
//! when this process is gone, also when it was killed, and then the shell ends the group.

use std::io::{self, Write as _};
use std::os::fd::IntoRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

/// A line lets the group go on, the end of the pipe ends it.
const WATCH: &str = "read -r _ || kill -KILL 0";

/// A group, while this is held: who drops it ends it.
pub(super) struct ProcessGroup {
    /// The process whose number the group has; while it is there no other group can have the number.
    watcher: Child,
    pipe: ChildStdin,
}

impl ProcessGroup {
    /// A group of its watcher.
    pub(super) fn new() -> io::Result<Self> {
        Self::watched(0)
    }

    /// A watcher in a group that there is; 0 is a new one.
    fn watched(number: i32) -> io::Result<Self> {
        let mut watcher = Command::new("sh")
            .args(["-c", WATCH])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(number)
            .spawn()?;
        let pipe = watcher.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self { watcher, pipe })
    }

    fn number(&self) -> i32 {
        // Numbers of processes are positive ones of their C type.
        i32::try_from(self.watcher.id()).unwrap_or(0)
    }

    /// Has a command run in the group.
    pub(super) fn take_in(&self, command: &mut Command) {
        command.process_group(self.number());
    }

    /// Ends what is in the group.
    pub(super) fn end(mut self) {
        if let Some(group) = Pid::from_raw(self.number()) {
            // It may have ended by itself.
            let _ = kill_process_group(group, Signal::KILL);
        }
        drop(self.watcher.wait());
    }

    /// The command has ended. Whether something that it started goes on; that ends with this process.
    pub(super) fn leave(mut self) -> bool {
        let number = self.number();
        // The watcher may have been ended with others of its group.
        drop(self.pipe.write_all(b"\n"));
        drop(self.watcher.wait());
        // Nobody joins a group without members.
        let Ok(watched) = Self::watched(number) else { return false };
        // Closed by the end of this process.
        let _ = watched.pipe.into_raw_fd();
        true
    }
}
