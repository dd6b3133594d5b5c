//! Ranks that a launcher of MPI has started, found without headers: its library is opened when the launcher's environment
//! says that there are several.
//!
//! Handles are ints in MPICH, pointers in Open MPI and in the standard ABI of MPI 5: as words in registers one set of
//! function types serves all three. Only bytes are sent, and nothing blocks: who waits looks at the interrupt flag.
#![expect(unsafe_code, reason = "MPI is a C library")]

use std::ffi::{OsStr, OsString, c_int, c_void};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_LAZY, Symbol};

use super::channel::Channel;
use super::local::{RanksOn, local_rank};
use super::remote::{self, Process};
use super::worker::{Open, serve};
use crate::backend::host::pointer;
use crate::backend::{Backend, Outside, Parcel};
use crate::error::{Error, Result};

/// Bytes of a message at most: counts are ints.
const PIECE: usize = 1 << 30;
/// The tag of messages between the leader and a rank, and that of bytes between ranks.
const TAG: c_int = 77;
const PARCEL: c_int = 78;

/// What libraries of Open MPI are called, newest first.
const OPEN_MPI: [&str; 3] = ["libmpi.so.40", "libmpi.so.80", "libmpi.so"];
/// Those of MPICH and what descends from it, the standard ABI first.
const MPICH: [&str; 4] = ["libmpi_abi.so.1", "libmpich.so.12", "libmpi.so.12", "libmpi.so"];

/// Whether a library was started, which it can be once.
static IS_STARTED: AtomicBool = AtomicBool::new(false);

/// A rank, and a tag.
type Address = (c_int, c_int);
type Handle = usize;
type Request = usize;

/// What tells ranks of a launcher apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launched {
    /// The number of this process; 0 leads.
    pub rank: usize,
    /// How many there are.
    pub size: usize,
    /// Its number among those of its host.
    pub local: usize,
    /// Whether Open MPI says so, not a launcher that speaks PMI.
    is_open_mpi: bool,
}

impl Launched {
    /// By the environment; nothing where a process is alone.
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let number = |name: &str| variable(name)?.parse::<usize>().ok();
        let both = |rank, size, is_open_mpi| {
            let (rank, size) = (number(rank)?, number(size)?);
            let local = local_rank(&variable).unwrap_or(rank);
            (size > 1 && rank < size).then_some(Self { rank, size, local, is_open_mpi })
        };
        both("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", true)
            .or_else(|| both("PMI_RANK", "PMI_SIZE", false))
            // Slurm's own names, where it speaks PMIx.
            .or_else(|| {
                number("PMIX_RANK")?;
                both("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", true)
            })
    }

    /// By the environment the number of this process and how many Slurm has started, where these have no way to find each
    /// other: `srun` without `--mpi=pmi2` or `--mpi=pmix`.
    pub fn unconnected(variable: impl Fn(&str) -> Option<String>) -> Option<[usize; 2]> {
        let number = |name: &str| variable(name)?.parse::<usize>().ok();
        let own = [number("SLURM_PROCID")?, number("SLURM_STEP_NUM_TASKS")?];
        let is_alone = own[1] < 2 || variable("PMI_RANK").is_some();
        (!is_alone && Self::of(variable).is_none()).then_some(own)
    }
}

/// The values that headers would give.
struct Constants {
    world: Handle,
    byte: Handle,
    errors_return: Handle,
    ignore_status: usize,
    serialized: c_int,
}

impl Constants {
    /// Those of an implementation, told by what its library exports.
    fn of(library: &Library) -> io::Result<Self> {
        let address = |name: &str| -> io::Result<usize> {
            let symbol: Symbol<*mut c_void> = function(library, name)?;
            Ok(symbol.into_raw().expose_provenance())
        };
        if let Ok(world) = address("ompi_mpi_comm_world") {
            let (byte, errors_return) =
                (address("ompi_mpi_byte")?, address("ompi_mpi_errors_return")?);
            return Ok(Self { world, byte, errors_return, ignore_status: 0, serialized: 2 });
        }
        if is_standard(library) {
            let (world, byte, errors_return) = (0x101, 0x247, 0x143);
            return Ok(Self { world, byte, errors_return, ignore_status: 0, serialized: 2048 });
        }
        let (world, byte, errors_return) = (0x4400_0000, 0x4c00_010d, 0x5400_0001);
        Ok(Self { world, byte, errors_return, ignore_status: 1, serialized: 2 })
    }
}

/// Whether a library has the standard ABI: MPICH's own exports the function too, and says -1.
fn is_standard(library: &Library) -> bool {
    let version: io::Result<Symbol<Version>> = function(library, "MPI_Abi_get_version");
    let [mut major, mut minor] = [0; 2];
    // SAFETY: it takes two ints, and may be called before the start.
    version.is_ok_and(|version| unsafe { version(&raw mut major, &raw mut minor) } == 0)
        && major >= 1
}

/// Opens a library, for all that it loads itself to find its symbols.
fn open(name: impl AsRef<OsStr>) -> Option<Library> {
    // SAFETY: loading runs the library's initialisers, as linking to it would.
    unsafe { Library::open(Some(name.as_ref()), RTLD_LAZY | RTLD_GLOBAL) }.ok()
}

/// The libraries of MPI that this machine has under their usual names.
pub fn libraries() -> Vec<&'static str> {
    let mut names: Vec<&str> = OPEN_MPI.into_iter().chain(MPICH).collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| open(name).is_some());
    names
}

/// A function or an object of MPI. Callers ask for the type that the standard gives to the name, with handles as words.
fn function<T>(library: &Library, name: &str) -> io::Result<Symbol<T>> {
    // SAFETY: as said; who uses it answers for the use.
    unsafe { library.get(name.as_bytes()) }.map_err(io::Error::other)
}

fn check(what: &str, code: c_int) -> io::Result<()> {
    match code {
        0 => Ok(()),
        code => Err(io::Error::other(format!("{what} of MPI gave error {code}"))),
    }
}

type Init = unsafe extern "C" fn(*mut c_int, *mut c_void, c_int, *mut c_int) -> c_int;
type Version = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
type Ask = unsafe extern "C" fn(Handle, *mut c_int) -> c_int;
type Transfer =
    unsafe extern "C" fn(*mut c_void, c_int, Handle, c_int, c_int, Handle, *mut Request) -> c_int;
type Test = unsafe extern "C" fn(*mut Request, *mut c_int, usize) -> c_int;
type SetHandler = unsafe extern "C" fn(Handle, Handle) -> c_int;
type Finalize = unsafe extern "C" fn() -> c_int;

/// A library of MPI that was started; one thread at a time calls it.
struct Mpi {
    calls: Mutex<Calls>,
    constants: Constants,
    rank: usize,
    size: usize,
}

struct Calls {
    send: Symbol<Transfer>,
    receive: Symbol<Transfer>,
    test: Symbol<Test>,
    finalize: Symbol<Finalize>,
}

/// What is said where MPI cannot be used.
fn refused(reason: String) -> Error {
    Error::NoDevice { name: "mpi".into(), reason }
}

impl Mpi {
    /// Opens and starts the library of the launcher: `file`, or one of the usual names.
    fn start(launched: Launched, file: Option<OsString>) -> Result<Arc<Self>> {
        if IS_STARTED.swap(true, Ordering::Relaxed) {
            let reason = "the processes of a launcher cannot be started anew: start the job again";
            return Err(refused(reason.into()));
        }
        let usual = if launched.is_open_mpi { &OPEN_MPI[..] } else { &MPICH };
        let names =
            file.map_or_else(|| usual.iter().map(OsString::from).collect(), |file| vec![file]);
        let library = names.iter().find_map(open).ok_or_else(|| {
            let names: Vec<_> = names.iter().map(|name| name.to_string_lossy()).collect();
            refused(format!(
                "{} processes were launched, and there is no library of MPI ({}); PORCINI_MPI=FILE names it",
                launched.size,
                names.join(", ")
            ))
        })?;
        Self::with(library, launched).map_err(|error| refused(error.to_string()))
    }

    fn with(library: Library, launched: Launched) -> io::Result<Arc<Self>> {
        // Threads of its own may outlive us.
        let library: &'static Library = Box::leak(Box::new(library));
        let constants = Constants::of(library)?;
        let (init, set_handler): (Symbol<Init>, Symbol<SetHandler>) =
            (function(library, "MPI_Init_thread")?, function(library, "MPI_Comm_set_errhandler")?);
        let (rank, size): (Symbol<Ask>, Symbol<Ask>) =
            (function(library, "MPI_Comm_rank")?, function(library, "MPI_Comm_size")?);
        let calls = Calls {
            send: function(library, "MPI_Isend")?,
            receive: function(library, "MPI_Irecv")?,
            test: function(library, "MPI_Test")?,
            finalize: function(library, "MPI_Finalize")?,
        };
        let (none, mut provided, world) = (std::ptr::null_mut(), 0, constants.world);
        // SAFETY: no arguments are handed over, and the result is an int.
        let code = unsafe { init(none, none.cast(), constants.serialized, &raw mut provided) };
        check("the start", code)?;
        // SAFETY: both handles are the library's own.
        check("the start", unsafe { set_handler(world, constants.errors_return) })?;
        let ask = |function: &Symbol<Ask>| {
            let mut number = 0;
            // SAFETY: the result is an int.
            check("the start", unsafe { function(world, &raw mut number) })?;
            usize::try_from(number).map_err(io::Error::other)
        };
        let (rank, size) = (ask(&rank)?, ask(&size)?);
        if (rank, size) != (launched.rank, launched.size) {
            return Err(io::Error::other(format!(
                "the launcher says {} processes and MPI {size}: this is another MPI's launcher, or srun needs --mpi=pmix or --mpi=pmi2",
                launched.size
            )));
        }
        Ok(Arc::new(Self { calls: Mutex::new(calls), constants, rank, size }))
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to send.
    ///
    /// # Safety
    /// The bytes stay where they are until the request is done.
    unsafe fn begin_send(&self, bytes: &[u8], to: Address) -> io::Result<Request> {
        // SAFETY: MPI only reads what it sends, which stays, as the caller says.
        unsafe { self.begin(&self.lock().send, bytes.as_ptr().cast_mut(), bytes.len(), to) }
    }

    /// Begins to receive.
    ///
    /// # Safety
    /// The bytes stay where they are, and nobody uses them, until the request is done.
    unsafe fn begin_receive(&self, bytes: *mut u8, n: usize, from: Address) -> io::Result<Request> {
        // SAFETY: as the caller says.
        unsafe { self.begin(&self.lock().receive, bytes, n, from) }
    }

    /// Begins to send or to receive.
    ///
    /// # Safety
    /// As for the function.
    unsafe fn begin(
        &self,
        function: &Symbol<Transfer>,
        bytes: *mut u8,
        n: usize,
        (peer, tag): Address,
    ) -> io::Result<Request> {
        let (mut request, n) = (0, c_int::try_from(n).map_err(io::Error::other)?);
        let Constants { world, byte, .. } = self.constants;
        // SAFETY: as the caller says.
        let code = unsafe { function(bytes.cast(), n, byte, peer, tag, world, &raw mut request) };
        check("a message", code).map(|()| request)
    }

    /// Whether a request is done.
    fn is_done(&self, request: &mut Request) -> io::Result<bool> {
        let mut flag = 0;
        // SAFETY: a request that was begun and is not done, and no status.
        let code =
            unsafe { (self.lock().test)(request, &raw mut flag, self.constants.ignore_status) };
        check("a test", code).map(|()| flag != 0)
    }

    /// Waits for a request.
    fn wait(&self, mut request: Request) -> io::Result<()> {
        let mut patience = Patience::default();
        while !self.is_done(&mut request)? {
            patience.wait();
        }
        Ok(())
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        // SAFETY: no request is under way: channels are gone.
        unsafe { (self.lock().finalize)() };
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
}

/// Messages to and from another rank.
struct Peer {
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
    fn new(mpi: &Arc<Mpi>, rank: usize, leads: bool) -> io::Result<Self> {
        let number = c_int::try_from(rank).map_err(io::Error::other)?;
        let lengths = Box::new([0; 16]);
        Ok(Self { mpi: mpi.clone(), number, lengths, expected: None, has_come: false, leads })
    }

    fn send_all(&self, bytes: &[u8]) -> io::Result<()> {
        for piece in bytes.chunks(PIECE) {
            // SAFETY: the bytes outlive the wait.
            let request = unsafe { self.mpi.begin_send(piece, (self.number, TAG)) }?;
            self.mpi.wait(request)?;
        }
        Ok(())
    }

    fn receive_all(&self, bytes: &mut Vec<u8>, n: u64) -> io::Result<()> {
        let n = usize::try_from(n).map_err(io::Error::other)?;
        bytes.clear();
        bytes.try_reserve(n).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        bytes.resize(n, 0);
        for piece in bytes.chunks_mut(PIECE) {
            // SAFETY: the bytes outlive the wait, and nobody uses them meanwhile.
            let request = unsafe {
                self.mpi.begin_receive(piece.as_mut_ptr(), piece.len(), (self.number, TAG))
            }?;
            self.mpi.wait(request)?;
        }
        Ok(())
    }
}

/// The pieces of parcels: where, how many bytes, and who has the other side.
fn pieces(parcels: &[Parcel]) -> impl Iterator<Item = io::Result<(*mut u8, usize, Address)>> {
    parcels.iter().flat_map(|parcel| {
        let piece = |first: u64| {
            let n = usize::try_from((parcel.bytes - first).min(PIECE as u64));
            let peer = c_int::try_from(parcel.rank);
            let (n, peer) = (n.map_err(io::Error::other)?, peer.map_err(io::Error::other)?);
            Ok((pointer(parcel.here + first), n, (peer, PARCEL)))
        };
        (0..parcel.bytes).step_by(PIECE).map(piece)
    })
}

impl Channel for Peer {
    fn joins_ranks(&self) -> bool {
        true
    }

    fn exchange(&mut self, sends: &[Parcel], receives: &[Parcel]) -> io::Result<()> {
        let mut requests = Vec::new();
        for piece in pieces(receives) {
            let (bytes, n, from) = piece?;
            // SAFETY: the bytes are in a block of this rank, which does nothing else until all is done.
            requests.push(unsafe { self.mpi.begin_receive(bytes, n, from) }?);
        }
        for piece in pieces(sends) {
            let (bytes, n, to) = piece?;
            // SAFETY: as those that are received.
            let bytes = unsafe { std::slice::from_raw_parts(bytes, n) };
            // SAFETY: as those that are received.
            requests.push(unsafe { self.mpi.begin_send(bytes, to) }?);
        }
        requests.into_iter().try_for_each(|request| self.mpi.wait(request))
    }

    fn send(&mut self, head: &[u8], bytes: &[u8]) -> io::Result<()> {
        let lengths = [head.len() as u64, bytes.len() as u64].map(u64::to_le_bytes);
        self.send_all(lengths.as_flattened())?;
        self.send_all(head)?;
        self.send_all(bytes)
    }

    fn receive(&mut self, head: &mut Vec<u8>, bytes: &mut Vec<u8>) -> io::Result<()> {
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
        self.receive_all(head, of_head)?;
        self.receive_all(bytes, of_bytes)
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
            // No head: it is over.
            drop(self.send_all(&[0; 16]));
        }
        if self.expected.is_some() {
            // MPI would write into it.
            Box::leak(std::mem::replace(&mut self.lengths, Box::new([0; 16])));
        }
    }
}

/// A process that a launcher has started, and would end with all others.
struct Other;

impl Process for Other {
    fn interrupt(&self) -> bool {
        false
    }

    fn give_up(&self) {}

    fn end(&self) -> String {
        "does not answer any more".into()
    }
}

/// Greets the ranks that a launcher has started beside this one.
///
/// # Errors
/// `NoDevice`: there is no library of MPI, or it is not the launcher's; a rank has nothing to compute on.
pub fn greet(launched: Launched, on: RanksOn, outside: &Outside) -> Result<Vec<Arc<dyn Backend>>> {
    let mpi = Mpi::start(launched, outside.mpi.clone())?;
    // Whatever becomes of one, all are told when it is over.
    let peers = (1..mpi.size).map(|rank| Peer::new(&mpi, rank, true));
    let peers =
        peers.collect::<io::Result<Vec<_>>>().map_err(|error| refused(error.to_string()))?;
    let stranger = |peer| (Box::new(peer) as _, Box::new(Other) as _);
    remote::greet(peers.into_iter().map(stranger), on, &outside.waiting)
}

/// Serves rank 0 until it goes.
///
/// # Errors
/// As [`greet`]; the connection broke.
pub fn serve_launched(
    launched: Launched,
    file: Option<OsString>,
    open: &Open<'_>,
) -> io::Result<()> {
    let mpi = Mpi::start(launched, file).map_err(io::Error::other)?;
    debug_assert!(mpi.rank > 0, "internal error: the leader serves");
    serve(Peer::new(&mpi, 0, false)?, open)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A variable of an environment.
    fn value(set: &[(&str, &str)], name: &str) -> Option<String> {
        set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_string())
    }

    #[test]
    fn the_environment_tells_who_was_launched() {
        let of = |set: &[(&str, &str)]| Launched::of(|name| value(set, name));
        let open_mpi = [("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "4")];
        let launched = Launched { rank: 1, size: 4, local: 1, is_open_mpi: true };
        assert_eq!(of(&open_mpi), Some(launched));
        let on_host = [&open_mpi[..], &[("OMPI_COMM_WORLD_LOCAL_RANK", "0")]].concat();
        assert_eq!(of(&on_host), Some(Launched { local: 0, ..launched }));
        let pmi = [("PMI_RANK", "0"), ("PMI_SIZE", "2")];
        let launched = Launched { rank: 0, size: 2, local: 0, is_open_mpi: false };
        assert_eq!(of(&pmi), Some(launched));
        for alone in [&[][..], &[("PMI_RANK", "0"), ("PMI_SIZE", "1")], &[("PMI_SIZE", "2")]] {
            assert_eq!(of(alone), None, "{alone:?}");
        }
    }

    #[test]
    fn slurm_may_start_processes_that_do_not_find_each_other() {
        let of = |set: &[(&str, &str)]| Launched::unconnected(|name| value(set, name));
        let slurm = [("SLURM_PROCID", "1"), ("SLURM_STEP_NUM_TASKS", "4")];
        let with = |one| [&slurm[..], &[one]].concat();
        assert_eq!(of(&slurm), Some([1, 4]));
        assert_eq!(of(&with(("PMI_RANK", "1"))), None);
        assert_eq!(of(&with(("PMIX_RANK", "1"))), None);
        // In a batch script, and of one task.
        assert_eq!(of(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "4")]), None);
        assert_eq!(of(&[("SLURM_PROCID", "0"), ("SLURM_STEP_NUM_TASKS", "1")]), None);
    }
}
