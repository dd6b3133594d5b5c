//! Messages between ranks that a launcher of MPI has started: those of a leader and a rank, and bytes that ranks exchange.
#![expect(unsafe_code, reason = "MPI is told where bytes are")]

use std::ffi::c_int;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::channel::{Channel, Idle};
use super::mpi::{Address, Mpi, PARCEL, PIECE, Request, TAG};
use crate::backend::Parcel;
use crate::backend::host::pointer;
use crate::interrupt;

/// Bytes that a rank gets from all others, about, between two looks at the interrupt flag; and of a message that is not all
/// of a parcel, at least.
const ROUND: u64 = 1 << 23;
const LEAST: u64 = 1 << 16;
/// What tells a rank that it is over: no head. And how long that may take to be sent.
static OVER: [u8; 16] = [0; 16];
const FAREWELL: Duration = Duration::from_secs(2);

/// Messages to and from another rank.
pub(super) struct Peer {
    mpi: Arc<Mpi>,
    number: c_int,
    /// The lengths of the next message.
    lengths: Box<[u8; 16]>,
    /// What they are received by, while they are waited for.
    expected: Option<Request>,
    /// Whether they have come, and what is behind them has not been received.
    has_come: bool,
    /// Whether this is the leader's end, which says when it is over.
    leads: bool,
}

impl Peer {
    pub(super) fn new(mpi: &Arc<Mpi>, rank: usize, leads: bool) -> io::Result<Self> {
        let number = c_int::try_from(rank).map_err(io::Error::other)?;
        let lengths = Box::new([0; 16]);
        Ok(Self { mpi: mpi.clone(), number, lengths, expected: None, has_come: false, leads })
    }

    /// Waits for a request, whatever `idle` says: MPI would go on with it.
    fn wait(&self, mut request: Request, idle: Idle<'_>) -> io::Result<()> {
        let mut patience = Patience::default();
        while !self.mpi.is_done(&mut request)? {
            patience.wait();
            if patience.is_long() {
                drop(idle());
            }
        }
        Ok(())
    }

    fn send_all(&self, bytes: &[u8], idle: Idle<'_>) -> io::Result<()> {
        for piece in bytes.chunks(PIECE) {
            // SAFETY: the bytes outlive the wait.
            let request = unsafe { self.mpi.begin_send(piece, (self.number, TAG)) }?;
            self.wait(request, idle)?;
        }
        Ok(())
    }

    fn receive_all(&self, bytes: &mut Vec<u8>, n: u64, idle: Idle<'_>) -> io::Result<()> {
        let n = usize::try_from(n).map_err(io::Error::other)?;
        bytes.clear();
        bytes.try_reserve(n).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        bytes.resize(n, 0);
        for piece in bytes.chunks_mut(PIECE) {
            // SAFETY: the bytes outlive the wait, and nobody uses them meanwhile.
            let request = unsafe {
                self.mpi.begin_receive(piece.as_mut_ptr(), piece.len(), (self.number, TAG))
            }?;
            self.wait(request, idle)?;
        }
        Ok(())
    }
}

/// A message of an exchange: where its bytes are, how many, and who has the other side.
type Message = (*mut u8, usize, Address);

/// The messages of parcels that begin behind so many of their bytes, at most so long: both sides cut them alike.
fn messages(
    parcels: &[Parcel],
    first: u64,
    most: u64,
) -> impl Iterator<Item = io::Result<Message>> {
    parcels.iter().filter(move |parcel| first < parcel.bytes).map(move |parcel| {
        let n = usize::try_from((parcel.bytes - first).min(most)).map_err(io::Error::other)?;
        let peer = c_int::try_from(parcel.rank).map_err(io::Error::other)?;
        Ok((pointer(parcel.here + first), n, (peer, PARCEL)))
    })
}

/// What is told of a rank that its leader let go while others may wait for it.
fn let_go() -> io::Error {
    let what = "its leader gave up an exchange, as another rank is gone";
    io::Error::new(io::ErrorKind::ConnectionAborted, what)
}

impl Peer {
    /// Exchanges pieces of all parcels, then the next of all. Who is interrupted sends the rest without bytes, as others count
    /// on every message.
    fn exchange_rounds(
        &mut self,
        [sends, receives]: [&[Parcel]; 2],
        is_requested: impl Fn() -> bool,
    ) -> io::Result<()> {
        let most = (ROUND / self.mpi.size as u64).max(LEAST);
        let longest = sends.iter().chain(receives).map(|parcel| parcel.bytes).max().unwrap_or(0);
        let (mut first, mut is_over) = (0, false);
        while first < longest {
            is_over |= is_requested();
            self.exchange_round(
                [sends, receives].map(|parcels| messages(parcels, first, most)),
                is_over,
            )?;
            first += most;
        }
        if is_over { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
    }

    fn exchange_round<I: Iterator<Item = io::Result<Message>>>(
        &mut self,
        [sends, receives]: [I; 2],
        is_over: bool,
    ) -> io::Result<()> {
        let mut requests = Vec::new();
        for message in receives {
            let (bytes, n, from) = message?;
            // SAFETY: the bytes are in a block of this rank, which does nothing else until all is done, and ends if that
            // fails.
            requests.push(unsafe { self.mpi.begin_receive(bytes, n, from) }?);
        }
        for message in sends {
            let (bytes, n, to) = message?;
            // SAFETY: as those that are received.
            let bytes = unsafe { std::slice::from_raw_parts(bytes, if is_over { 0 } else { n }) };
            // SAFETY: as those that are received.
            requests.push(unsafe { self.mpi.begin_send(bytes, to) }?);
        }
        requests.into_iter().try_for_each(|request| self.wait_beside_leader(request))
    }

    /// Waits for a request. The leader says nothing before it has an answer, but that it is over.
    fn wait_beside_leader(&mut self, mut request: Request) -> io::Result<()> {
        let mut patience = Patience::default();
        while !self.mpi.is_done(&mut request)? {
            patience.wait();
            if patience.is_long() && self.is_there(Duration::ZERO)? {
                return Err(let_go());
            }
        }
        Ok(())
    }

    /// Tells the other end that it is over.
    fn take_leave(&self) -> io::Result<()> {
        // SAFETY: the bytes are never written.
        let mut request = unsafe { self.mpi.begin_send(&OVER, (self.number, TAG)) }?;
        let (since, mut patience) = (Instant::now(), Patience::default());
        while !self.mpi.is_done(&mut request)? {
            if since.elapsed() > FAREWELL {
                self.mpi.breaks();
                break;
            }
            patience.wait();
        }
        Ok(())
    }
}

impl Channel for Peer {
    fn joins_ranks(&self) -> bool {
        true
    }

    fn exchange(&mut self, sends: &[Parcel], receives: &[Parcel]) -> io::Result<()> {
        let exchanged = self.exchange_rounds([sends, receives], interrupt::is_requested);
        // Others may wait for what does not come any more.
        let broken = |error: &io::Error| error.kind() != io::ErrorKind::Interrupted;
        if exchanged.as_ref().is_err_and(broken) {
            self.mpi.breaks();
        }
        exchanged
    }

    fn send(&mut self, head: &[u8], bytes: &[u8], idle: Idle<'_>) -> io::Result<()> {
        let lengths = [head.len() as u64, bytes.len() as u64].map(u64::to_le_bytes);
        self.send_all(lengths.as_flattened(), idle)?;
        self.send_all(head, idle)?;
        self.send_all(bytes, idle)
    }

    fn receive(
        &mut self,
        head: &mut Vec<u8>,
        bytes: &mut Vec<u8>,
        idle: Idle<'_>,
    ) -> io::Result<()> {
        let mut patience = Patience::default();
        while !self.is_there(Duration::ZERO)? {
            patience.wait();
        }
        self.has_come = false;
        let (lengths, _) = self.lengths.as_chunks::<8>();
        let [of_head, of_bytes] = [lengths[0], lengths[1]].map(u64::from_le_bytes);
        if of_head == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.receive_all(head, of_head, idle)?;
        self.receive_all(bytes, of_bytes, idle)
    }

    fn is_there(&mut self, moment: Duration) -> io::Result<bool> {
        if self.has_come {
            return Ok(true);
        }
        let mut request = match self.expected {
            Some(request) => request,
            // SAFETY: the box stays where it is, and is read only when this is done: `drop` sees to it.
            None => unsafe {
                self.mpi.begin_receive(
                    self.lengths.as_mut_ptr(),
                    self.lengths.len(),
                    (self.number, TAG),
                )
            }?,
        };
        let since = Instant::now();
        let mut patience = Patience::default();
        loop {
            if self.mpi.is_done(&mut request)? {
                // What is done must not be tested again.
                (self.expected, self.has_come) = (None, true);
                return Ok(true);
            }
            self.expected = Some(request);
            if since.elapsed() >= moment {
                return Ok(false);
            }
            patience.wait();
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        if self.leads {
            drop(self.take_leave());
        }
        if self.expected.is_some() {
            // MPI would write into it.
            Box::leak(std::mem::replace(&mut self.lengths, Box::new([0; 16])));
        }
    }
}

/// How who waits lets others have the processor: not at once, as most waits are short.
#[derive(Default)]
struct Patience(u32);

impl Patience {
    fn wait(&mut self) {
        self.0 = self.0.saturating_add(1);
        match self.0 {
            ..200 => std::hint::spin_loop(),
            200..2000 => std::thread::yield_now(),
            n => std::thread::sleep(Duration::from_micros(u64::from(n / 200).min(500))),
        }
    }

    /// Whether it sleeps by now.
    fn is_long(&self) -> bool {
        self.0 >= 2000
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::ffi::c_void;

    use super::super::mpi::{Calls, Constants, Handle};
    use super::*;

    thread_local! {
        /// What each send had, in bytes.
        static SENT: RefCell<Vec<c_int>> = const { RefCell::new(Vec::new()) };
        static RECEIVED: RefCell<Vec<c_int>> = const { RefCell::new(Vec::new()) };
        /// What sends give.
        static CODE: Cell<c_int> = const { Cell::new(0) };
        /// Whether messages of ranks come, and those of the leader.
        static COMES: Cell<[bool; 2]> = const { Cell::new([true, false]) };
        static IS_FINALIZED: Cell<bool> = const { Cell::new(false) };
    }

    unsafe extern "C" fn send(
        _: *mut c_void,
        n: c_int,
        _: Handle,
        _: c_int,
        _: c_int,
        _: Handle,
        request: *mut Request,
    ) -> c_int {
        SENT.with_borrow_mut(|sent| sent.push(n));
        // SAFETY: the caller has a place for it.
        unsafe { request.write(0) };
        CODE.get()
    }

    unsafe extern "C" fn receive(
        _: *mut c_void,
        n: c_int,
        _: Handle,
        _: c_int,
        tag: c_int,
        _: Handle,
        request: *mut Request,
    ) -> c_int {
        RECEIVED.with_borrow_mut(|received| received.push(n));
        // SAFETY: as above.
        unsafe { request.write(usize::from(tag == TAG)) };
        0
    }

    unsafe extern "C" fn test(request: *mut Request, flag: *mut c_int, _: usize) -> c_int {
        // SAFETY: it was written when it began.
        let request = unsafe { request.read() };
        // SAFETY: the caller has a place for it.
        unsafe { flag.write(COMES.get()[request].into()) };
        0
    }

    unsafe extern "C" fn finalize() -> c_int {
        IS_FINALIZED.set(true);
        0
    }

    /// Rank 1 of three, on a library that only counts.
    fn peer() -> Peer {
        let calls = Calls { send, receive, test, finalize };
        let constants =
            Constants { world: 0, byte: 0, errors_return: 0, ignore_status: 0, serialized: 0 };
        Peer::new(&Arc::new(Mpi::of(calls, constants, 1, 3)), 0, false).unwrap()
    }

    /// One parcel each way, of several pieces: nobody reads or writes it.
    fn parcels() -> [Vec<Parcel>; 2] {
        let bytes = vec![0_u8; 1 << 24].leak().as_mut_ptr().expose_provenance() as u64;
        [2, 2].map(|rank| vec![Parcel { rank, here: bytes, bytes: ROUND + 5 }])
    }

    #[test]
    fn an_interrupt_empties_what_is_still_to_be_sent() {
        let (mut peer, [sends, receives]) = (peer(), parcels());
        let looks = Cell::new(0);
        let is_requested = || looks.replace(looks.get() + 1) == 2;
        let error = peer.exchange_rounds([&sends, &receives], is_requested).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
        let (most, rest) = ((1 << 23) / 3, (ROUND + 5) % (ROUND / 3));
        let rest = c_int::try_from(rest).unwrap();
        assert_eq!(SENT.take(), [most, most, 0, 0]);
        assert_eq!(RECEIVED.take(), [most, most, most, rest]);
        peer.exchange_rounds([&sends, &receives], || false).unwrap();
        assert_eq!(SENT.take(), [most, most, most, rest]);
        drop(peer);
        assert!(IS_FINALIZED.get());
    }

    #[test]
    fn who_may_be_waited_for_does_not_wait_for_the_others() {
        for (code, comes, told) in [
            (7, [true, false], "a message of MPI gave error 7"),
            (0, [false, true], "its leader gave up an exchange, as another rank is gone"),
        ] {
            CODE.set(code);
            COMES.set(comes);
            let (mut peer, [sends, receives]) = (peer(), parcels());
            assert_eq!(peer.exchange(&sends, &receives).unwrap_err().to_string(), told);
            drop(peer);
            assert!(!IS_FINALIZED.get());
        }
    }
}
