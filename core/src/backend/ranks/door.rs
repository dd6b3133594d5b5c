//! Where ranks of other machines come in: over TCP, as does whoever else finds the port. Nobody who says nothing, or little at a
//! time, keeps others waiting.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use rustix::net::sockopt;

/// Bytes of a token, and of the number by which the two connections of a rank find each other.
pub(super) const TOKEN: usize = 32;
/// Bytes of a greeting.
const LENGTH: usize = 2 * TOKEN + 1;
/// How long a connection may take to show its token.
const MOMENT: Duration = Duration::from_secs(if cfg!(test) { 60 } else { 2 });
/// How many may be about to show theirs, more than all ranks together; of more the first is let go who has not.
const MOST: usize = if cfg!(test) { 8 } else { 1 << 12 };
/// After which silence a machine is asked whether it is still there; twice as long without an answer, and it is gone.
const QUIET_MS: u32 = 15_000;
const QUIET: Duration = Duration::from_millis(QUIET_MS as u64);

/// What a rank says first.
pub(super) struct Greeting {
    pub(super) token: [u8; TOKEN],
    /// Of the rank's own choice.
    pub(super) rank: [u8; TOKEN],
    /// 0 for messages, 1 for interrupts.
    pub(super) kind: u8,
}

impl Greeting {
    pub(super) fn send(&self, stream: &mut TcpStream) -> io::Result<()> {
        stream.write_all(&[&self.token[..], &self.rank, &[self.kind]].concat())
    }

    fn of(said: &[u8; LENGTH]) -> Self {
        let mut greeting = Self { token: [0; TOKEN], rank: [0; TOKEN], kind: said[2 * TOKEN] };
        greeting.token.copy_from_slice(&said[..TOKEN]);
        greeting.rank.copy_from_slice(&said[TOKEN..2 * TOKEN]);
        greeting
    }
}

/// Somebody who has not said all yet.
struct Arrival {
    stream: TcpStream,
    said: [u8; LENGTH],
    n: usize,
    since: Instant,
}

impl Arrival {
    /// Listens without waiting; whether all was said.
    fn has_greeted(&mut self) -> io::Result<bool> {
        while self.n < LENGTH {
            match self.stream.read(&mut self.said[self.n..]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(n) => self.n += n,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// What was said, and the connection as others use it.
    fn into_greeting(self) -> io::Result<(Greeting, TcpStream)> {
        self.stream.set_nonblocking(false)?;
        prepare(&self.stream)?;
        Ok((Greeting::of(&self.said), self.stream))
    }
}

/// A port, and those who came to it.
pub(super) struct Door {
    listener: TcpListener,
    arrivals: Vec<Arrival>,
}

impl Door {
    /// Listens on some port, which this tells.
    pub(super) fn open() -> io::Result<(Self, u16)> {
        let listener = TcpListener::bind(("0.0.0.0", 0))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        Ok((Self { listener, arrivals: Vec::new() }, port))
    }

    /// Somebody who has greeted, if there is one.
    pub(super) fn next(&mut self) -> Option<(Greeting, TcpStream)> {
        self.let_in();
        let mut place = 0;
        while place < self.arrivals.len() {
            let arrival = &mut self.arrivals[place];
            match arrival.has_greeted() {
                // Whoever has said all may have waited for us.
                Ok(false) if arrival.since.elapsed() < MOMENT => place += 1,
                Ok(true) => {
                    let greeted = self.arrivals.swap_remove(place).into_greeting();
                    if let Ok(greeted) = greeted {
                        return Some(greeted);
                    }
                }
                Ok(false) | Err(_) => drop(self.arrivals.swap_remove(place)),
            }
        }
        None
    }

    /// Takes note of those who are at the door.
    fn let_in(&mut self) {
        while self.has_room()
            && let Ok((stream, _)) = self.listener.accept()
        {
            if stream.set_nonblocking(true).is_err() {
                continue;
            }
            let (said, n, since) = ([0; LENGTH], 0, Instant::now());
            self.arrivals.push(Arrival { stream, said, n, since });
        }
    }

    /// Whether another may come in: when too many are here the first goes who has not said all.
    fn has_room(&mut self) -> bool {
        if self.arrivals.len() < MOST {
            return true;
        }
        let is_silent = |arrival: &mut Arrival| !matches!(arrival.has_greeted(), Ok(true));
        let silent = self.arrivals.iter_mut().position(is_silent);
        silent.map(|place| self.arrivals.remove(place)).is_some()
    }
}

/// Messages go at once, and a machine that is gone without a word breaks the connection, though nobody sends.
pub(super) fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, QUIET)?;
    sockopt::set_tcp_keepintvl(stream, QUIET / 3)?;
    sockopt::set_tcp_keepcnt(stream, 3)?;
    // The same of what is sent and not acknowledged.
    #[cfg(target_os = "linux")]
    sockopt::set_tcp_user_timeout(stream, 2 * QUIET_MS)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greeting(kind: u8) -> Greeting {
        Greeting { token: [b'a'; TOKEN], rank: [b'b'; TOKEN], kind }
    }

    #[test]
    fn who_says_little_keeps_nobody_waiting() {
        let (mut door, port) = Door::open().unwrap();
        let come = || TcpStream::connect(("127.0.0.1", port)).unwrap();
        let (silent, mut slow, gone) = (come(), come(), come());
        drop(gone);
        let [first, rest] = [b'a', b'b'].map(|letter| [letter; TOKEN]);
        slow.write_all(&first).unwrap();
        let mut whole = come();
        greeting(7).send(&mut whole).unwrap();
        let since = Instant::now();
        let mut next = || loop {
            if let Some((greeting, _)) = door.next() {
                return greeting;
            }
            assert!(since.elapsed() < Duration::from_secs(60), "nobody came");
            std::thread::yield_now();
        };
        assert_eq!(next().kind, 7);
        slow.write_all(&rest).unwrap();
        slow.write_all(&[1]).unwrap();
        let greeting = next();
        assert_eq!((greeting.token, greeting.rank, greeting.kind), (first, rest, 1));
        drop(silent);
    }

    #[test]
    fn who_has_greeted_is_not_let_go_when_many_come() {
        let (mut door, port) = Door::open().unwrap();
        let come = || TcpStream::connect(("127.0.0.1", port)).unwrap();
        let greets = |kind| {
            let mut stream = come();
            greeting(kind).send(&mut stream).unwrap();
            stream
        };
        let first = greets(1);
        let silent: Vec<TcpStream> = (0..2 * MOST).map(|_| come()).collect();
        let last = greets(2);
        let since = Instant::now();
        let mut kinds = Vec::new();
        while kinds.len() < 2 {
            kinds.extend(door.next().map(|(greeting, _)| greeting.kind));
            assert!(since.elapsed() < Duration::from_secs(60), "{kinds:?} came");
        }
        kinds.sort_unstable();
        assert_eq!(kinds, [1, 2]);
        drop((first, silent, last));
    }
}
