//! Programs of the system, for hosts that let somebody start them.

use std::fs::File;
use std::io;
use std::process::{Child, Command, ExitStatus, Stdio};

use porcini_core::interrupt;

use crate::world::folders::what_has_come;

/// Bytes of a line that is still going on, after which it is shown as it is.
const LONGEST_LINE: usize = 64 << 10;

/// A line as the system's shell runs it.
pub fn shell(line: &str) -> Command {
    let (shell, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
    let mut command = Command::new(shell);
    command.arg(flag).arg(line);
    command
}

/// Runs a program that has no terminal: what it writes goes to `print`, line by line as it comes. Ctrl-C ends it, and what
/// it has started.
///
/// # Errors
/// It does not start; `Interrupted`.
pub fn captured(mut command: Command, print: impl Fn(&str)) -> io::Result<ExitStatus> {
    let (reader, writer) = io::pipe()?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn()?;
    // The pipe ends with the child, whose ends of it this still holds.
    drop(command);
    let mut output = as_file(reader);
    let mut bytes = Vec::new();
    loop {
        if interrupt::is_requested() {
            end(&mut child);
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

/// Ends a program with all that is in its group; whatever happens, it is gone then.
fn end(child: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        // It may have ended by itself.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    drop(child.kill());
    drop(child.wait());
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
        assert_eq!(*lines.borrow(), ["a"]);
    }
}
