//! Memory of other processes of this machine, from and to which the system copies where it lets us.
#![allow(unsafe_code, reason = "the system copies by address, where it does at all")]

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use super::host::exposed;
use super::memory::{AT_ONCE, Piece, Reach};
use crate::error::{Error, Result};
use crate::interrupt;

/// Which way bytes are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    /// From the other process.
    Here,
    /// To the other process.
    There,
}

/// Copies pieces; whether the system could, and the other processes were there.
///
/// # Errors
/// `Interrupted`.
pub(crate) fn copy(way: Way, pieces: impl IntoIterator<Item = Piece>) -> Result<bool> {
    let mut met = None;
    for piece in pieces {
        // The number of one that has ended may be another's by now, which has something else at these addresses.
        if met != Some(piece.process) && !piece.process.is_there() {
            return Ok(false);
        }
        met = Some(piece.process);
        let mut done = 0;
        while done < piece.bytes {
            if interrupt::is_requested() {
                return Err(Error::Interrupted);
            }
            let bytes = (piece.bytes - done).min(AT_ONCE as u64);
            let (there, here) = (piece.there + done, piece.here + done);
            if !copy_at_once(way, Piece { there, here, bytes, ..piece }) {
                return Ok(false);
            }
            done += bytes;
        }
    }
    Ok(true)
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn copy_at_once(way: Way, piece: Piece) -> bool {
    let (Ok(process), Ok(bytes)) = (piece.process.process.try_into(), usize::try_from(piece.bytes))
    else {
        return false;
    };
    let span = |address: u64| libc::iovec {
        iov_base: super::host::pointer(address).cast(),
        iov_len: bytes,
    };
    let [here, there] = [piece.here, piece.there].map(span);
    let call = match way {
        Way::Here => libc::process_vm_readv,
        Way::There => libc::process_vm_writev,
    };
    // SAFETY: the bytes here are within a block without another user, and the system knows what is memory there.
    let copied = unsafe { call(process, &raw const here, 1, &raw const there, 1, 0) };
    usize::try_from(copied) == Ok(bytes)
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn copy_at_once(_: Way, _: Piece) -> bool {
    false
}

impl Reach {
    /// Of this process, as long as it lives. What its parent has started may reach it, where the system asks for that.
    pub(crate) fn own() -> Self {
        #[cfg(target_os = "linux")]
        if let Some(parent) = rustix::process::getppid().filter(|parent| !parent.is_init()) {
            // Only Yama knows of it, and others need none.
            rustix::process::set_ptracer(rustix::process::PTracer::ProcessID(parent)).ok();
        }
        let number = RandomState::new().build_hasher().finish();
        let address = exposed(Box::leak(Box::new(number)));
        Self { process: std::process::id(), address, number }
    }

    /// Whether this process reaches it: one of another machine may have the same number.
    pub(crate) fn is_there(self) -> bool {
        let mut number = 0_u64;
        let here = exposed(&mut number);
        let piece = Piece { process: self, there: self.address, here, bytes: 8 };
        // An interrupt says nothing of the other process.
        copy_at_once(Way::Here, piece) && number == self.number
    }

    /// The number of the process.
    #[cfg(test)]
    pub(crate) fn id(self) -> u32 {
        self.process
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_copied_from_who_has_the_number_of_another() {
        let own = Reach::own();
        if !own.is_there() {
            return;
        }
        let copied = |process| {
            let (mut from, mut to) = ([1_u8, 2, 3], [0_u8; 3]);
            let [there, here] = [&mut from, &mut to].map(exposed);
            let pieces =
                [0, 1].map(|at| Piece { process, there: there + at, here: here + at, bytes: 1 });
            (copy(Way::Here, pieces).unwrap(), to)
        };
        assert_eq!(copied(own), (true, [1, 2, 0]));
        assert_eq!(copied(Reach { number: !own.number, ..own }), (false, [0; 3]));
    }
}
