//! Programs of the system, for hosts that let somebody start them.

use std::fs::File;
use std::io;
use std::process::{Child, Command, ExitStatus, Stdio};

use porcini_core::interrupt;

use crate::world::folders::what_has_come;
#[cfg(unix)]
use crate::world::process_group::ProcessGroup;

/// Bytes of a line that is still going on, after which it is shown as it is.
const LONGEST_LINE: usize = 64 << 10;
/// What is said of programs that a command leaves behind.
const GOES_ON: &str = ".. something goes on in the background, until this session ends; what it writes is not shown: let it \
                       write to a file ..";

/// A line as the system's shell runs it.
pub fn shell(line: &str) -> Command {
    let (shell, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
    let mut command = Command::new(shell);
    command.arg(flag).arg(line);
    command
}

/// Runs a program that has no terminal: what it writes goes to `print`, line by line as it comes. Ctrl-C ends it, and what
/// it has started; the end of this process does, too.
///
/// # Errors
/// It does not start; `Interrupted`.
pub fn captured(mut command: Command, print: impl Fn(&str)) -> io::Result<ExitStatus> {
    let (reader, writer) = io::pipe()?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let group = ProcessGroup::new()?;
    group.take_in(&mut command);
    let mut child = command.spawn()?;
    // The pipe ends with the child, whose ends of it this still holds.
    drop(command);
    let told = tell(&mut child, as_file(reader), &print);
    if told.is_err() {
        group.end();
        drop(child.kill());
        drop(child.wait());
    } else if group.leave() {
        print(GOES_ON);
    }
    told
}

/// Tells what a program writes until it ends.
fn tell(child: &mut Child, mut output: File, print: &impl Fn(&str)) -> io::Result<ExitStatus> {
    let mut bytes = Vec::new();
    loop {
        if interrupt::is_requested() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        // What it has left behind in the background may hold the pipe for long.
        let is_over = child.try_wait()?.is_some();
        let came = what_has_come(&mut output, &mut bytes)?;
        let goes_on = came.map_or(!is_over, |n| n > 0);
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let whole = if goes_on && bytes.len() - whole < LONGEST_LINE { whole } else { bytes.len() };
        for line in bytes[..whole].split_inclusive(|&byte| byte == b'\n') {
            print(String::from_utf8_lossy(line).trim_end_matches(['\r', '\n']));
        }
        bytes.drain(..whole);
        if !goes_on {
            return child.wait();
        }
    }
}

#[cfg(unix)]
fn as_file(reader: io::PipeReader) -> File {
    File::from(std::os::fd::OwnedFd::from(reader))
}

#[cfg(windows)]
fn as_file(reader: io::PipeReader) -> File {
    File::from(std::os::windows::io::OwnedHandle::from(reader))
}

/// Where there are no groups of processes.
#[cfg(not(unix))]
struct ProcessGroup;

#[cfg(not(unix))]
impl ProcessGroup {
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    fn take_in(&self, _: &mut Command) {}

    fn end(self) {}

    fn leave(self) -> bool {
        false
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn output_comes_line_by_line() {
        let lines = RefCell::new(Vec::new());
        let run = |line: &str| {
            lines.borrow_mut().clear();
            captured(shell(line), |line| lines.borrow_mut().push(line.to_string())).unwrap()
        };
        assert!(run("echo a; echo b >&2; printf c").success());
        assert_eq!(*lines.borrow(), ["a", "b", "c"]);
        assert_eq!(run("printf '\\377'; exit 3").code(), Some(3));
        assert_eq!(*lines.borrow(), ["\u{fffd}"]);
        // Who stays behind is not waited for.
        assert!(run("sleep 60 & echo a").success());
        assert_eq!(*lines.borrow(), ["a", GOES_ON]);
    }

    #[test]
    fn who_drops_a_group_ends_it() {
        let group = ProcessGroup::new().unwrap();
        let mut command = shell("sleep 600");
        group.take_in(&mut command);
        let mut child = command.spawn().unwrap();
        drop(group);
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn a_group_without_members_is_left() {
        let group = ProcessGroup::new().unwrap();
        let mut command = shell("true");
        group.take_in(&mut command);
        assert!(command.status().unwrap().success());
        assert!(!group.leave());
    }
}
