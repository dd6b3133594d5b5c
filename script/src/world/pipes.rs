//! What is no plain file, a pipe or a device: nobody waits in the system for who is at its other end, so that Ctrl-C is heard.

use std::fs::File;
#[cfg(not(unix))]
use std::io;
#[cfg(unix)]
use std::io::{self, Read as _, Write as _};
use std::path::Path;

#[cfg(unix)]
use porcini_core::interrupt;
#[cfg(unix)]
use rustix::event::{PollFd, PollFlags, Timespec, poll};
#[cfg(unix)]
use rustix::fs::{Mode, OFlags};
#[cfg(unix)]
use rustix::io::Errno;

/// Between two looks at the interrupt flag.
#[cfg(unix)]
const A_WHILE: Timespec = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
/// Bytes that are read or written at most before somebody looks again.
#[cfg(unix)]
const PIECE: usize = 1 << 16;

/// A file, and whether it is a plain one. Others are opened without waiting for whoever writes into them.
#[cfg(unix)]
pub(super) fn open(path: &Path) -> io::Result<(File, bool)> {
    if std::fs::metadata(path)?.is_file() {
        return Ok((File::open(path)?, true));
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok((rustix::fs::open(path, flags, Mode::empty())?.into(), false))
}

#[cfg(not(unix))]
pub(super) fn open(path: &Path) -> io::Result<(File, bool)> {
    Ok((File::open(path)?, true))
}

/// Takes what a pipe or the like has; `None` if nothing came for a while, 0 at its end.
#[cfg(unix)]
pub(crate) fn what_has_come(file: &mut File, bytes: &mut Vec<u8>) -> io::Result<Option<usize>> {
    let mut waiting = [PollFd::new(file, PollFlags::IN)];
    match poll(&mut waiting, Some(&A_WHILE)) {
        Ok(0) | Err(Errno::INTR) => return Ok(None),
        Ok(_) => {}
        Err(error) => return Err(error.into()),
    }
    let mut piece = [0; PIECE];
    match file.read(&mut piece) {
        Ok(n) => {
            bytes.try_reserve(n).map_err(|_| io::ErrorKind::OutOfMemory)?;
            bytes.extend_from_slice(&piece[..n]);
            Ok(Some(n))
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(not(unix))]
pub(crate) fn what_has_come(file: &mut File, bytes: &mut Vec<u8>) -> io::Result<Option<usize>> {
    super::folders::read_piece(file, bytes).map(Some)
}

/// Writes into it, once somebody reads, as fast as he does.
///
/// # Errors
/// What the system says; `Interrupted` by Ctrl-C.
#[cfg(unix)]
pub(super) fn write_into(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut file = open_to_write(path)?;
    let mut rest = contents;
    while !rest.is_empty() {
        match poll(&mut [PollFd::new(&file, PollFlags::OUT)], Some(&A_WHILE)) {
            Ok(0) | Err(Errno::INTR) => check()?,
            Ok(_) => match file.write(&rest[..rest.len().min(PIECE)]) {
                Ok(n) => rest = &rest[n..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => check()?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => check()?,
                Err(error) => return Err(error),
            },
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(not(unix))]
pub(super) fn write_into(path: &Path, contents: &[u8]) -> io::Result<()> {
    std::fs::write(path, contents)
}

/// Opens it when somebody reads.
#[cfg(unix)]
fn open_to_write(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::FileTypeExt as _;
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let is_pipe = std::fs::metadata(path)?.file_type().is_fifo();
    loop {
        match rustix::fs::open(path, flags, Mode::empty()) {
            Err(Errno::NXIO) if is_pipe => check()?,
            Err(Errno::INTR) => check()?,
            opened => return Ok(opened?.into()),
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[cfg(unix)]
fn check() -> io::Result<()> {
    if interrupt::is_requested() { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
}
