//! The group of processes that a command and what it starts are: it ends with this process, in whatever way that ends.
//!
//! One member is a shell that reads from a pipe of which only this process has the other end. The pipe closes when this
//! process is gone, also when it was killed, and then the shell ends the group. What leaves the group, as `setsid` does,
//! is on its own.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

/// The end of the pipe ends the group.
const WATCH: &str = "read -r _ || kill -KILL 0";

/// A group, while this is held: who drops it ends it.
pub(super) struct ProcessGroup {
    /// That of the first watcher; 0 of a group that has ended.
    number: i32,
    /// A member that has not been waited for: while there is one no other group can have the number. It holds the pipe.
    watcher: Child,
}

impl ProcessGroup {
    /// A group of its watcher.
    pub(super) fn new() -> io::Result<Self> {
        let watcher = watcher(0)?;
        // Numbers of processes are positive ones of their C type.
        let number = i32::try_from(watcher.id()).unwrap_or(0);
        Ok(Self { number, watcher })
    }

    /// Has a command run in the group.
    pub(super) fn take_in(&self, command: &mut Command) {
        command.process_group(self.number);
    }

    /// The command has ended. The group, if something that it started goes on.
    pub(super) fn leave(mut self) -> Option<Self> {
        // It may have been ended, or stopped, with others of its group; alone it ends without a word to them.
        drop(self.watcher.kill());
        drop(self.watcher.wait());
        match watcher(self.number) {
            Ok(watcher) => self.watcher = watcher,
            // Nobody joins a group without members.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => self.number = 0,
            Err(_) => {}
        }
        (self.number != 0).then_some(self)
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(group) = Pid::from_raw(self.number) {
            // It may have ended by itself.
            let _ = kill_process_group(group, Signal::KILL);
        }
        drop(self.watcher.wait());
    }
}

/// A watcher in a group that there is; 0 is a new one.
fn watcher(group: i32) -> io::Result<Child> {
    Command::new("sh")
        .args(["-c", WATCH])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(group)
        .spawn()
}

#[cfg(test)]
mod tests {
    use rustix::process::test_kill_process;

    use super::*;

    fn taken_in(group: &ProcessGroup, seconds: &str) -> Child {
        let mut command = Command::new("sleep");
        group.take_in(&mut command);
        command.arg(seconds).spawn().unwrap()
    }

    #[test]
    fn who_drops_a_group_ends_it() {
        let group = ProcessGroup::new().unwrap();
        let mut child = taken_in(&group, "600");
        let watcher = Pid::from_child(&group.watcher);
        drop(group);
        assert!(!child.wait().unwrap().success());
        // The watcher was waited for.
        assert!(test_kill_process(watcher).is_err());
    }

    #[test]
    fn a_group_that_is_stopped_is_left() {
        let group = ProcessGroup::new().unwrap();
        let mut child = taken_in(&group, "600");
        kill_process_group(Pid::from_raw(group.number).unwrap(), Signal::STOP).unwrap();
        drop(group.leave().unwrap());
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn a_group_is_left_until_it_has_no_members() {
        let group = ProcessGroup::new().unwrap();
        let mut child = taken_in(&group, "600");
        let group = group.leave().unwrap().leave().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(group.leave().is_none());
    }
}
