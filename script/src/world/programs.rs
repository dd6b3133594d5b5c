//! Programs of the system, for hosts that let somebody start them.

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::process::{Child, Command, ExitStatus, Stdio};

use porcini_core::interrupt;

use crate::world::pipes::what_has_come;
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

/// What programs have left running in the background: it ends with this.
#[derive(Default)]
pub struct Background(RefCell<Vec<ProcessGroup>>);

impl Background {
    /// Forgets what has ended meanwhile.
    fn look_again(&self) {
        let left = self.0.take().into_iter().filter_map(ProcessGroup::leave).collect();
        self.0.replace(left);
    }
}

/// Whether whoever started this process had it ignore a signal.
pub fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Runs a program that has no terminal: what it writes goes to `print`, line by line as it comes. Ctrl-C ends it, and what
/// it has started; the end of this process does, too, but for what leaves its group of processes, as `setsid` does.
///
/// # Errors
/// It does not start; `Interrupted`.
pub fn captured(
    mut command: Command,
    background: &Background,
    print: impl Fn(&str),
) -> io::Result<ExitStatus> {
    background.look_again();
    let (reader, writer) = io::pipe()?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let group = ProcessGroup::new()?;
    group.take_in(&mut command);
    let mut child = command.spawn()?;
    // The pipe ends with the child, whose ends of it this still holds.
    drop(command);
    let told = tell(&mut child, as_file(reader), &print);
    if told.is_err() {
        // What it has started ends with its group, here.
        drop(child.kill());
        drop(child.wait());
    } else if let Some(left) = group.leave() {
        background.0.borrow_mut().push(left);
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

    fn leave(self) -> Option<Self> {
        None
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn output_comes_line_by_line() {
        let (lines, background) = (RefCell::new(Vec::new()), Background::default());
        let run = |line: &str| {
            lines.borrow_mut().clear();
            let print = |line: &str| lines.borrow_mut().push(line.to_string());
            captured(shell(line), &background, print).unwrap()
        };
        assert!(run("echo a; echo b >&2; printf c").success());
        assert_eq!(*lines.borrow(), ["a", "b", "c"]);
        assert_eq!(run("printf '\\377'; exit 3").code(), Some(3));
        assert_eq!(*lines.borrow(), ["\u{fffd}"]);
        // Who stays behind is not waited for.
        assert!(run("sleep 60 & echo a").success());
        assert_eq!(*lines.borrow(), ["a", GOES_ON]);
        assert!(run("true").success());
        assert_eq!(background.0.borrow().len(), 1);
    }
}
