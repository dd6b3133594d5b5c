//! Messages between a leader and a rank: a head, and bytes that come behind it as they are.

use std::io::{self, Read, Write};
#[cfg(unix)]
use std::os::fd::AsFd;
use std::time::Duration;

#[cfg(unix)]
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::backend::Parcel;

/// Bytes that a head may have: a kernel of a million instructions, several times over. More is no head.
const MOST: u64 = 1 << 32;

/// One end of a connection, on which messages come as they were sent.
pub(super) trait Channel: Send {
    /// Sends a head and the bytes behind it.
    ///
    /// # Errors
    /// The other end is gone.
    fn send(&mut self, head: &[u8], bytes: &[u8]) -> io::Result<()>;

    /// Waits for a head, and makes `bytes` as long as what comes behind it.
    ///
    /// # Errors
    /// The other end is gone, or sends what is no message.
    fn receive(&mut self, head: &mut Vec<u8>, bytes: &mut Vec<u8>) -> io::Result<()>;

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

/// Over a stream of bytes: the lengths of both, then both.
pub(super) struct Stream<S>(pub(super) S);

impl<S: Read + Write> Stream<S> {
    /// As [`Channel::send`].
    pub(super) fn send(&mut self, head: &[u8], bytes: &[u8]) -> io::Result<()> {
        let lengths = [head.len() as u64, bytes.len() as u64].map(u64::to_le_bytes);
        // A short message is one packet.
        let mut packet = Vec::with_capacity(16 + head.len());
        packet.extend_from_slice(lengths.as_flattened());
        packet.extend_from_slice(head);
        self.0.write_all(&packet)?;
        self.0.write_all(bytes)?;
        self.0.flush()
    }

    /// As [`Channel::receive`].
    pub(super) fn receive(&mut self, head: &mut Vec<u8>, bytes: &mut Vec<u8>) -> io::Result<()> {
        let mut lengths = [[0; 8]; 2];
        self.0.read_exact(lengths.as_flattened_mut())?;
        let [of_head, of_bytes] = lengths.map(u64::from_le_bytes);
        fill(&mut self.0, head, of_head.min(MOST))?;
        fill(&mut self.0, bytes, of_bytes)
    }
}

#[cfg(unix)]
impl<S: Read + Write + AsFd + Send> Channel for Stream<S> {
    fn send(&mut self, head: &[u8], bytes: &[u8]) -> io::Result<()> {
        Self::send(self, head, bytes)
    }

    fn receive(&mut self, head: &mut Vec<u8>, bytes: &mut Vec<u8>) -> io::Result<()> {
        Self::receive(self, head, bytes)
    }

    fn is_there(&mut self, moment: Duration) -> io::Result<bool> {
        let timeout = Timespec::try_from(moment).map_err(io::Error::other)?;
        let mut events = [PollFd::new(&self.0, PollFlags::IN)];
        match poll(&mut events, Some(&timeout)) {
            Err(rustix::io::Errno::INTR) => Ok(false),
            n => Ok(n? > 0),
        }
    }
}

/// Reads so many bytes; room for them is asked for as they come, as no length is believed.
fn fill(from: &mut impl Read, to: &mut Vec<u8>, n: u64) -> io::Result<()> {
    const AT_ONCE: u64 = 1 << 24;
    to.clear();
    while (to.len() as u64) < n {
        let start = to.len();
        let more = usize::try_from((n - start as u64).min(AT_ONCE)).unwrap_or(0);
        to.try_reserve(more).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        to.resize(start + more, 0);
        from.read_exact(&mut to[start..])?;
    }
    Ok(())
}

/// Sends a message.
///
/// # Errors
/// As [`Channel::send`].
pub(super) fn send(
    channel: &mut dyn Channel,
    head: &impl Serialize,
    bytes: &[u8],
) -> io::Result<()> {
    let head = postcard::to_allocvec(head).map_err(io::Error::other)?;
    channel.send(&head, bytes)
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

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn messages_come_as_they_were_sent() {
        let mut stream = Stream(Cursor::new(Vec::new()));
        for (head, bytes) in [(&b"head"[..], &b"bytes"[..]), (b"", b""), (b"x", b"")] {
            stream.send(head, bytes).unwrap();
        }
        stream.0.set_position(0);
        let (mut head, mut bytes) = (vec![1; 9], vec![2; 9]);
        for want in [("head", "bytes"), ("", ""), ("x", "")] {
            stream.receive(&mut head, &mut bytes).unwrap();
            assert_eq!((&head[..], &bytes[..]), (want.0.as_bytes(), want.1.as_bytes()));
        }
        let end = stream.receive(&mut head, &mut bytes).unwrap_err();
        assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn no_length_is_believed() {
        let mut lengths = [[0xff; 8]; 2].concat();
        lengths.extend_from_slice(b"short");
        let (mut head, mut bytes) = (Vec::new(), Vec::new());
        let end = Stream(Cursor::new(lengths)).receive(&mut head, &mut bytes).unwrap_err();
        assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
        assert!(head.capacity() <= 1 << 25, "{}", head.capacity());
    }
}
