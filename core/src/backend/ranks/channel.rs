//! Messages between a leader and a rank: a head, and bytes that come behind it as they are.

use std::io;
#[cfg(unix)]
use std::os::fd::AsFd;
use std::time::Duration;

#[cfg(unix)]
use rustix::event::{PollFd, PollFlags, Timespec, poll};
#[cfg(unix)]
use rustix::io::Errno;
#[cfg(unix)]
use rustix::net::{RecvFlags, SendFlags, recv, send as send_some};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::backend::Parcel;

/// Bytes that a head may have: a kernel of a million instructions, several times over. More is no head.
const MOST: u64 = 1 << 32;

/// What is called while the other end takes or gives nothing; how long until it is called again. Its error is that of who waits.
pub(super) type Idle<'i> = &'i mut dyn FnMut() -> io::Result<Duration>;

/// One end of a connection, on which messages come as they were sent.
pub(super) trait Channel: Send {
    /// Sends a head and the bytes behind it.
    ///
    /// # Errors
    /// The other end is gone.
    fn send(&mut self, head: &[u8], bytes: &[u8], idle: Idle<'_>) -> io::Result<()>;

    /// Waits for a head, and makes `bytes` as long as what comes behind it.
    ///
    /// # Errors
    /// The other end is gone, or sends what is no message.
    fn receive(
        &mut self,
        head: &mut Vec<u8>,
        bytes: &mut Vec<u8>,
        idle: Idle<'_>,
    ) -> io::Result<()>;

    /// Whether ranks have each other as it has them.
    fn joins_ranks(&self) -> bool {
        false
    }

    /// Sends bytes of this process to other ranks, and receives what these send it.
    ///
    /// # Errors
    /// `Interrupted`: what it was to send may be missing. A rank is gone: this one, too, is of no more use.
    fn exchange(&mut self, _sends: &[Parcel], _receives: &[Parcel]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Waits no longer than a moment; whether there is something to receive, or the other end is gone.
    ///
    /// # Errors
    /// The connection broke.
    fn is_there(&mut self, moment: Duration) -> io::Result<bool>;
}

/// For who has nothing else to do.
pub(super) fn patient() -> io::Result<Duration> {
    Ok(Duration::from_secs(3600))
}

/// Over a socket: the lengths of both, then both.
#[cfg(unix)]
pub(super) struct Stream<S>(pub(super) S);

#[cfg(unix)]
impl<S: AsFd> Stream<S> {
    /// Waits for what it can do next; whether it can.
    fn poll(&self, what: PollFlags, moment: Duration) -> io::Result<bool> {
        let timeout = Timespec::try_from(moment).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(&self.0, what)], Some(&timeout)) {
            Err(Errno::INTR) => Ok(false),
            n => Ok(n? > 0),
        }
    }

    /// Calls what gives none while the socket is not ready.
    fn when_ready(
        &self,
        what: PollFlags,
        idle: Idle<'_>,
        mut act: impl FnMut() -> rustix::io::Result<usize>,
    ) -> io::Result<usize> {
        loop {
            match act() {
                Err(Errno::AGAIN) => {
                    let moment = idle()?;
                    self.poll(what, moment)?;
                }
                Err(Errno::INTR) => {}
                done => return Ok(done?),
            }
        }
    }

    fn write_all(&self, mut bytes: &[u8], idle: Idle<'_>) -> io::Result<()> {
        while !bytes.is_empty() {
            let n = self.when_ready(PollFlags::OUT, idle, || send_some(&self.0, bytes, SENDS))?;
            bytes = &bytes[n..];
        }
        Ok(())
    }

    fn read_exact(&self, mut bytes: &mut [u8], idle: Idle<'_>) -> io::Result<()> {
        while !bytes.is_empty() {
            let flags = RecvFlags::DONTWAIT;
            let receive = || recv(&self.0, &mut *bytes, flags).map(|(_, n)| n);
            let n = self.when_ready(PollFlags::IN, idle, receive)?;
            if n == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            bytes = &mut bytes[n..];
        }
        Ok(())
    }

    /// Reads so many bytes; room for them is asked for as they come, as no length is believed.
    fn fill(&self, to: &mut Vec<u8>, n: u64, idle: Idle<'_>) -> io::Result<()> {
        const AT_ONCE: u64 = 1 << 24;
        to.clear();
        while (to.len() as u64) < n {
            let start = to.len();
            let more = usize::try_from((n - start as u64).min(AT_ONCE)).unwrap_or(0);
            to.try_reserve(more).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
            to.resize(start + more, 0);
            self.read_exact(&mut to[start..], idle)?;
        }
        Ok(())
    }
}

/// Nobody waits in the system, and no signal tells that the other end is gone.
#[cfg(all(unix, not(target_vendor = "apple")))]
const SENDS: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);
#[cfg(all(unix, target_vendor = "apple"))]
const SENDS: SendFlags = SendFlags::DONTWAIT;

#[cfg(unix)]
impl<S: AsFd + Send> Channel for Stream<S> {
    fn send(&mut self, head: &[u8], bytes: &[u8], idle: Idle<'_>) -> io::Result<()> {
        let lengths = [head.len() as u64, bytes.len() as u64].map(u64::to_le_bytes);
        // A short message is one packet.
        let mut packet = Vec::with_capacity(16 + head.len());
        packet.extend_from_slice(lengths.as_flattened());
        packet.extend_from_slice(head);
        self.write_all(&packet, idle)?;
        self.write_all(bytes, idle)
    }

    fn receive(
        &mut self,
        head: &mut Vec<u8>,
        bytes: &mut Vec<u8>,
        idle: Idle<'_>,
    ) -> io::Result<()> {
        let mut lengths = [[0; 8]; 2];
        self.read_exact(lengths.as_flattened_mut(), idle)?;
        let [of_head, of_bytes] = lengths.map(u64::from_le_bytes);
        self.fill(head, of_head.min(MOST), idle)?;
        self.fill(bytes, of_bytes, idle)
    }

    fn is_there(&mut self, moment: Duration) -> io::Result<bool> {
        self.poll(PollFlags::IN, moment)
    }
}

/// Sends a message.
///
/// # Errors
/// As [`Channel::send`].
pub(super) fn send(
    channel: &mut dyn Channel,
    head: &impl Serialize,
    bytes: &[u8],
    idle: Idle<'_>,
) -> io::Result<()> {
    let head = postcard::to_allocvec(head).map_err(io::Error::other)?;
    channel.send(&head, bytes, idle)
}

/// What a head says.
///
/// # Errors
/// It is none of ours.
pub(super) fn read<M: DeserializeOwned>(head: &[u8]) -> io::Result<M> {
    let unreadable = |error| format!("sent what is no message ({error})");
    postcard::from_bytes(head)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, unreadable(error)))
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;

    use super::*;

    fn pair() -> [Stream<UnixStream>; 2] {
        let (one, other) = UnixStream::pair().unwrap();
        [one, other].map(Stream)
    }

    #[test]
    fn messages_come_as_they_were_sent() {
        let [mut from, mut to] = pair();
        for (head, bytes) in [(&b"head"[..], &b"bytes"[..]), (b"", b""), (b"x", b"")] {
            from.send(head, bytes, &mut patient).unwrap();
        }
        let (mut head, mut bytes) = (vec![1; 9], vec![2; 9]);
        for want in [("head", "bytes"), ("", ""), ("x", "")] {
            assert!(to.is_there(Duration::ZERO).unwrap());
            to.receive(&mut head, &mut bytes, &mut patient).unwrap();
            assert_eq!((&head[..], &bytes[..]), (want.0.as_bytes(), want.1.as_bytes()));
        }
        assert!(!to.is_there(Duration::ZERO).unwrap());
        drop(from);
        let end = to.receive(&mut head, &mut bytes, &mut patient).unwrap_err();
        assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn no_length_is_believed() {
        let [mut from, mut to] = pair();
        from.0.write_all(&[[0xff; 8]; 2].concat()).unwrap();
        from.0.write_all(b"short").unwrap();
        drop(from);
        let (mut head, mut bytes) = (Vec::new(), Vec::new());
        let end = to.receive(&mut head, &mut bytes, &mut patient).unwrap_err();
        assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
        assert!(head.capacity() <= 1 << 25, "{}", head.capacity());
    }

    /// Who has had enough stops it, also in the middle of a message.
    #[test]
    fn who_takes_or_gives_nothing_is_not_waited_for_in_the_system() {
        let [mut from, mut to] = pair();
        let mut left = 3;
        let mut idle = || {
            left -= 1;
            if left > 0 {
                Ok(Duration::from_millis(1))
            } else {
                Err(io::ErrorKind::TimedOut.into())
            }
        };
        let end = from.send(b"head", &vec![0; 1 << 24], &mut idle).unwrap_err();
        assert_eq!(end.kind(), io::ErrorKind::TimedOut);
        let mut stop = || Err(io::ErrorKind::TimedOut.into());
        let end = to.receive(&mut Vec::new(), &mut Vec::new(), &mut stop).unwrap_err();
        assert_eq!((end.kind(), left), (io::ErrorKind::TimedOut, 0));
    }
}
