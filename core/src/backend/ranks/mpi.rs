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
use std::time::Duration;

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_LAZY, Symbol};

use super::launched::Launched;
use super::link::Process;
use super::local::RanksOn;
use super::peer::Peer;
use super::remote;
use super::worker::{Open, serve};
use crate::backend::{Backend, Outside};
use crate::error::{Error, Result};

/// Bytes of a message at most: counts are ints.
pub(super) const PIECE: usize = 1 << 30;
/// The tag of messages between the leader and a rank, and that of bytes between ranks.
pub(super) const TAG: c_int = 77;
pub(super) const PARCEL: c_int = 78;

/// What libraries of Open MPI are called, newest first.
const OPEN_MPI: [&str; 3] = ["libmpi.so.40", "libmpi.so.80", "libmpi.so"];
/// Those of MPICH and what descends from it, the standard ABI first.
const MPICH: [&str; 4] = ["libmpi_abi.so.1", "libmpich.so.12", "libmpi.so.12", "libmpi.so"];

/// Whether a library was started, which it can be once.
static IS_STARTED: AtomicBool = AtomicBool::new(false);

/// A rank, and a tag.
pub(super) type Address = (c_int, c_int);
pub(super) type Handle = usize;
pub(super) type Request = usize;

/// The values that headers would give.
pub(super) struct Constants {
    pub(super) world: Handle,
    pub(super) byte: Handle,
    pub(super) errors_return: Handle,
    pub(super) ignore_status: usize,
    pub(super) serialized: c_int,
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
pub(super) type Transfer =
    unsafe extern "C" fn(*mut c_void, c_int, Handle, c_int, c_int, Handle, *mut Request) -> c_int;
pub(super) type Test = unsafe extern "C" fn(*mut Request, *mut c_int, usize) -> c_int;
type SetHandler = unsafe extern "C" fn(Handle, Handle) -> c_int;
pub(super) type Finalize = unsafe extern "C" fn() -> c_int;

/// A library of MPI that was started; one thread at a time calls it.
pub(super) struct Mpi {
    calls: Mutex<Calls>,
    constants: Constants,
    pub(super) rank: usize,
    pub(super) size: usize,
    /// Whether messages are under way that may never come to their ends: who waits for all of them, as at the regular end,
    /// may wait for ever. The launcher ends the others when this process does.
    is_broken: AtomicBool,
}

pub(super) struct Calls {
    pub(super) send: Transfer,
    pub(super) receive: Transfer,
    pub(super) test: Test,
    pub(super) finalize: Finalize,
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
        // The library stays.
        let calls = Calls {
            send: *function(library, "MPI_Isend")?,
            receive: *function(library, "MPI_Irecv")?,
            test: *function(library, "MPI_Test")?,
            finalize: *function(library, "MPI_Finalize")?,
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
        Ok(Arc::new(Self::of(calls, constants, rank, size)))
    }

    pub(super) fn of(calls: Calls, constants: Constants, rank: usize, size: usize) -> Self {
        Self { calls: Mutex::new(calls), constants, rank, size, is_broken: AtomicBool::new(false) }
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Of what fails others may wait for the rest.
    fn check(&self, what: &str, code: c_int) -> io::Result<()> {
        check(what, code).inspect_err(|_| self.breaks())
    }

    pub(super) fn breaks(&self) {
        self.is_broken.store(true, Ordering::Relaxed);
    }

    /// Begins to send.
    ///
    /// # Safety
    /// The bytes stay where they are until the request is done.
    pub(super) unsafe fn begin_send(&self, bytes: &[u8], to: Address) -> io::Result<Request> {
        // SAFETY: MPI only reads what it sends, which stays, as the caller says.
        unsafe { self.begin(self.lock().send, bytes.as_ptr().cast_mut(), bytes.len(), to) }
    }

    /// Begins to receive.
    ///
    /// # Safety
    /// The bytes stay where they are, and nobody uses them, until the request is done.
    pub(super) unsafe fn begin_receive(
        &self,
        bytes: *mut u8,
        n: usize,
        from: Address,
    ) -> io::Result<Request> {
        // SAFETY: as the caller says.
        unsafe { self.begin(self.lock().receive, bytes, n, from) }
    }

    /// Begins to send or to receive.
    ///
    /// # Safety
    /// As for the function.
    unsafe fn begin(
        &self,
        function: Transfer,
        bytes: *mut u8,
        n: usize,
        (peer, tag): Address,
    ) -> io::Result<Request> {
        let (mut request, n) = (0, c_int::try_from(n).map_err(io::Error::other)?);
        let Constants { world, byte, .. } = self.constants;
        // SAFETY: as the caller says.
        let code = unsafe { function(bytes.cast(), n, byte, peer, tag, world, &raw mut request) };
        self.check("a message", code).map(|()| request)
    }

    /// Whether a request is done.
    pub(super) fn is_done(&self, request: &mut Request) -> io::Result<bool> {
        let mut flag = 0;
        // SAFETY: a request that was begun and is not done, and no status.
        let code =
            unsafe { (self.lock().test)(request, &raw mut flag, self.constants.ignore_status) };
        self.check("a test", code).map(|()| flag != 0)
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        if !self.is_broken.load(Ordering::Relaxed) {
            // SAFETY: no request is under way: channels are gone.
            unsafe { (self.lock().finalize)() };
        }
    }
}

/// How long after the first the last process may hear a signal that a launcher passes on.
const LATE: Duration = Duration::from_millis(50);

/// How long a leader has to say what has gone wrong before a rank ends, and with it the leader.
const LAST_WORDS: Duration = Duration::from_secs(1);

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

    fn ends(&self) -> Option<String> {
        // A launcher passes Ctrl-C on to all, of which the leader may be the last.
        std::thread::sleep(LATE);
        None
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
    serve(Peer::new(&mpi, 0, false)?, open).inspect_err(|_| {
        // Others may wait for its messages.
        mpi.breaks();
        // Its end ends them all: the leader has a moment to tell why.
        std::thread::sleep(LAST_WORDS);
    })
}
