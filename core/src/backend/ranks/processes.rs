//! Ranks as processes of this machine, each on one end of a socket.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::channel::Stream;
use super::launcher::VARIABLE as LEADER;
use super::link::Process;
use super::local::RanksOn;
use super::remote::{Stranger, greet};
use super::worker::{Open, serve};
use crate::backend::{Backend, Outside};
use crate::error::{Error, Result};

/// How long a process may take to be gone whose connection broke.
const MOMENT: Duration = Duration::from_millis(500);

/// The same of one that a signal has told to end, which first waits for what it is doing.
const FAREWELL: Duration = Duration::from_secs(2);

/// A process that is killed when it is let go.
struct Own(Mutex<Child>);

impl Own {
    /// How it ended, if it does in so long.
    fn end_within(&self, patience: Duration) -> Option<String> {
        let since = Instant::now();
        while since.elapsed() < patience {
            if let Ok(Some(status)) = self.with(Child::try_wait) {
                return Some(match (status.signal(), status.code()) {
                    (Some(signal), _) => format!("was killed by signal {signal}"),
                    (None, code) => format!("ended with exit code {}", code.unwrap_or_default()),
                });
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        None
    }

    fn with<R>(&self, act: impl FnOnce(&mut Child) -> R) -> R {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Process for Own {
    fn interrupt(&self) -> bool {
        self.with(|child| {
            // The number of one whose end was seen may be another's by now.
            let is_there = matches!(child.try_wait(), Ok(None));
            let id = i32::try_from(child.id()).ok().filter(|_| is_there);
            id.and_then(Pid::from_raw).map(|pid| kill_process(pid, Signal::INT).ok());
        });
        true
    }

    fn give_up(&self) {
        drop(self.with(Child::kill));
    }

    fn end(&self) -> String {
        self.end_within(MOMENT).unwrap_or_else(|| "does not answer any more".into())
    }

    fn ends(&self) -> Option<String> {
        self.end_within(FAREWELL)
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.with(|child| {
            // It may be at work, which nobody waits for any more.
            drop(child.kill());
            drop(child.wait());
        });
    }
}

/// Starts ranks 1 to `n - 1` of so many threads, of the program that `outside` names. They find
/// their connections as standard input.
///
/// # Errors
/// `NoDevice`: the program cannot be started, or does not answer as a rank of this version.
pub fn start(
    outside: &Outside,
    threads: usize,
    n: usize,
    on: RanksOn,
) -> Result<Vec<Arc<dyn Backend>>> {
    let started: Vec<Stranger> =
        (1..n).map(|rank| spawn(&outside.rank, threads, rank)).collect::<Result<_>>()?;
    // All of them start before the first is waited for.
    greet(started, on, &outside.waiting)
}

fn spawn(command: &[OsString], threads: usize, rank: usize) -> Result<Stranger> {
    let failed = |error: io::Error| Error::NoDevice {
        name: format!("rank {rank}"),
        reason: format!("it cannot be started: {error}"),
    };
    let [program, arguments @ ..] = command else {
        let reason = "this program starts none; porcini --ranks N does".into();
        return Err(Error::NoDevice { name: "ranks".into(), reason });
    };
    let refused = |error: io::Error| {
        let null = Path::new("/dev/null");
        let file = if null.exists() { Path::new(program) } else { null };
        failed(io::Error::new(error.kind(), format!("{}: {error}", file.display())))
    };
    let (own, other) = UnixStream::pair().map_err(failed)?;
    let child = Command::new(running(program))
        .args(arguments)
        .arg(threads.to_string())
        .stdin(Stdio::from(OwnedFd::from(other)))
        .stdout(Stdio::null())
        // Ctrl-C is for the leader, which passes it on.
        .process_group(0)
        .spawn();
    Ok((Box::new(Stream(own)), Box::new(Own(Mutex::new(child.map_err(refused)?)))))
}

/// What starts a program: where its file was removed or replaced since it started this process, by an upgrade for one,
/// what this process runs.
fn running(program: &OsStr) -> &OsStr {
    const RUNNING: &str = "/proc/self/exe";
    const GONE: &[u8] = b" (deleted)";
    let program_file = program.as_encoded_bytes();
    let program_file = program_file.strip_suffix(GONE).unwrap_or(program_file);
    let is_replaced = std::fs::read_link(RUNNING).is_ok_and(|file| {
        file.as_os_str().as_encoded_bytes().strip_suffix(GONE) == Some(program_file)
    });
    if is_replaced { OsStr::new(RUNNING) } else { program }
}

/// Serves the leader that has started this process, over standard input, until it goes.
///
/// # Errors
/// Standard input is no connection to a leader, or it broke.
pub fn serve_leader(open: &Open<'_>) -> io::Result<()> {
    let stream = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    if stream.peer_addr().is_err() {
        let what = format!(
            "standard input leads to no leader, and {LEADER} is not set: what starts ranks elsewhere passes it on, \
             Open MPI with -x {LEADER}"
        );
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    serve(Stream(stream), open)
}
