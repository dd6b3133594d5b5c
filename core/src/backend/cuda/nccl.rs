//! NVIDIA's library of bytes between GPUs, NCCL, for GPUs of several processes: looked for when there is much to send.
//!
//! Only bytes are sent and received, no sums are made: those would depend on how many GPUs there are. Nothing here waits for
//! another process, which may be gone, but in moments, unless the environment has `NCCL_COMM_BLOCKING=1`. The library takes
//! some hundred MiB of each GPU for itself, which nobody counts.
#![expect(unsafe_code, reason = "a C library")]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cudarc::driver::sys::CUstream;
use libloading::Library;

use super::gpu::Gpu;
use super::toolkit::Toolkit;
use crate::backend::{Begun, Communicator, Parcel};
use crate::convert::exactly;
use crate::error::{Error, Result};
use crate::interrupt;

/// How long an answer waits for what is under way.
const MOMENT: Duration = Duration::from_millis(5);
/// How long GPUs may take to reach each other: when they meet, and at the first bytes between two.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long what was given up may take to end.
const LAST: Duration = Duration::from_secs(5);

/// A status: done, or under way.
const SUCCESS: c_int = 0;
const IN_PROGRESS: c_int = 7;
/// The type of bytes.
const BYTES: c_int = 1;

/// What processes tell each other to meet.
#[repr(C)]
#[derive(Clone, Copy)]
struct UniqueId([c_char; UNIQUE_ID]);

const UNIQUE_ID: usize = 128;

/// The beginning of `ncclConfig_t` as of NCCL 2.14, which later versions read.
#[repr(C)]
struct Config {
    size: usize,
    magic: c_uint,
    version: c_uint,
    blocking: c_int,
    /// Of 2.17; left to the library.
    cluster_size: c_int,
}

type Handle = *mut c_void;
type GetUniqueId = unsafe extern "C" fn(*mut UniqueId) -> c_int;
type Init = unsafe extern "C" fn(*mut Handle, c_int, UniqueId, c_int, *mut Config) -> c_int;
/// Address, how many, type, the other, communicator, stream.
type Transfer = unsafe extern "C" fn(u64, usize, c_int, c_int, Handle, CUstream) -> c_int;
type Group = unsafe extern "C" fn() -> c_int;
type Ask = unsafe extern "C" fn(Handle, *mut c_int) -> c_int;
type Abort = unsafe extern "C" fn(Handle) -> c_int;
type Describe = unsafe extern "C" fn(c_int) -> *const c_char;

/// The functions of the library; it stays, as threads of its own may outlive us.
#[derive(Clone, Copy)]
struct Calls {
    get_unique_id: GetUniqueId,
    init: Init,
    send: Transfer,
    receive: Transfer,
    begin_group: Group,
    end_group: Group,
    state: Ask,
    abort: Abort,
    describe: Describe,
}

/// What a GPU has of the library.
pub(super) struct Nccl {
    gpu: Arc<Gpu>,
    toolkit: Toolkit,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    calls: Option<Calls>,
    /// The communicator, once it has begun to meet the others.
    handle: Option<Handle>,
    /// When it was last given something.
    begun: Option<Instant>,
}

// SAFETY: a communicator may be used from every thread, by one at a time, as the lock around it has it.
unsafe impl Send for State {}

fn failed(reason: impl Into<String>) -> Error {
    Error::Tool { program: "NCCL", reason: reason.into() }
}

/// A function of the library. Callers ask for the type that NCCL gives to the name since 2.14.
fn function<T: Copy>(library: &Library, name: &[u8]) -> std::result::Result<T, libloading::Error> {
    // SAFETY: as said; who uses it answers for the use.
    unsafe { library.get::<T>(name) }.map(|function| *function)
}

impl Calls {
    fn open(file: &Path) -> std::result::Result<Self, libloading::Error> {
        // SAFETY: NVIDIA's library may be loaded; what else is under this name the user has put there.
        let library: &'static Library = Box::leak(Box::new(unsafe { Library::new(file) }?));
        Ok(Self {
            get_unique_id: function(library, b"ncclGetUniqueId")?,
            init: function(library, b"ncclCommInitRankConfig")?,
            send: function(library, b"ncclSend")?,
            receive: function(library, b"ncclRecv")?,
            begin_group: function(library, b"ncclGroupStart")?,
            end_group: function(library, b"ncclGroupEnd")?,
            state: function(library, b"ncclCommGetAsyncError")?,
            abort: function(library, b"ncclCommAbort")?,
            describe: function(library, b"ncclGetErrorString")?,
        })
    }

    /// # Errors
    /// What the library says of a status.
    fn check(&self, status: c_int) -> Result<()> {
        if matches!(status, SUCCESS | IN_PROGRESS) {
            return Ok(());
        }
        // SAFETY: takes any status.
        let text = unsafe { (self.describe)(status) };
        // SAFETY: a text of the library's, which stays.
        let text = unsafe { CStr::from_ptr(text) };
        Err(failed(format!("{} (NCCL_DEBUG=WARN says more)", text.to_string_lossy())))
    }
}

impl Nccl {
    pub(super) fn new(gpu: Arc<Gpu>, toolkit: Toolkit) -> Self {
        Self { gpu, toolkit, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The library, with the GPU's context current.
    fn calls(&self, state: &mut State) -> Result<Calls> {
        self.gpu.enter()?;
        if let Some(calls) = state.calls {
            return Ok(calls);
        }
        let file = self.toolkit.nccl().ok_or_else(|| {
            failed(
                "libnccl.so.2 was not found; pip install nvidia-nccl-cu13, or set LD_LIBRARY_PATH",
            )
        })?;
        let opened = Calls::open(&file);
        let calls = opened.map_err(|error| failed(format!("{}: {error}", file.display())))?;
        state.calls = Some(calls);
        Ok(calls)
    }

    fn joined(state: &State) -> Result<(Calls, Handle)> {
        state.calls.zip(state.handle).ok_or_else(|| failed("it has not met the others"))
    }

    fn join(&self, invitation: &[u8], [number, n]: [usize; 2]) -> Result<()> {
        let mut state = self.lock();
        let calls = self.calls(&mut state)?;
        let invitation: [u8; UNIQUE_ID] =
            invitation.try_into().map_err(|_| failed("an invitation of another length"))?;
        let id = UniqueId(invitation.map(u8::cast_signed));
        let mut config = Config {
            size: size_of::<Config>(),
            magic: 0xcafe_beef,
            version: 21_400,
            blocking: 0,
            cluster_size: c_int::MIN,
        };
        let [number, n] = [number, n].map(exactly::<c_int>);
        let mut handle = ptr::null_mut();
        // SAFETY: writes one handle and reads the beginning of a configuration, as long as that says; a context is current.
        let status = unsafe { (calls.init)(&raw mut handle, n, id, number, &raw mut config) };
        state.handle = Some(handle).filter(|handle| !handle.is_null());
        state.begun = Some(Instant::now());
        calls.check(status)
    }

    fn exchange(&self, sends: &[Parcel], receives: &[Parcel]) -> Result<()> {
        let mut state = self.lock();
        let (calls, handle) = Self::joined(&state)?;
        state.begun = Some(Instant::now());
        // Blocks are named to no turn: nothing else that uses them is under way.
        self.gpu.wait_until(interrupt::is_requested)?;
        self.gpu.enter()?;
        let stream = self.gpu.first_stream().handle;
        // SAFETY: groups are begun and ended on one thread.
        calls.check(unsafe { (calls.begin_group)() })?;
        let give = |function: Transfer, parcel: &Parcel| {
            let other = exactly::<c_int>(parcel.rank);
            // SAFETY: the blocks live until the leader, who has asked for this, knows that it is done.
            calls.check(unsafe {
                function(parcel.here, exactly(parcel.bytes), BYTES, other, handle, stream)
            })
        };
        let sent = sends.iter().try_for_each(|parcel| give(calls.send, parcel));
        let given = sent.and(receives.iter().try_for_each(|parcel| give(calls.receive, parcel)));
        // SAFETY: it was begun.
        let ended = calls.check(unsafe { (calls.end_group)() });
        given.and(ended)
    }

    fn settle(&self) -> Result<bool> {
        let state = self.lock();
        let (calls, handle) = Self::joined(&state)?;
        self.gpu.enter()?;
        let since = Instant::now();
        let is_late = || since.elapsed() > MOMENT;
        let mut status = IN_PROGRESS;
        // Until then its stream was not given all of it.
        while status == IN_PROGRESS {
            if state.begun.is_some_and(|begun| begun.elapsed() > PATIENCE) {
                let time = PATIENCE.as_secs();
                return Err(failed(format!("GPUs did not reach each other within {time} s")));
            }
            if is_late() {
                return Ok(false);
            }
            // SAFETY: writes one number.
            calls.check(unsafe { (calls.state)(handle, &raw mut status) })?;
            calls.check(status)?;
            std::thread::yield_now();
        }
        match self.gpu.wait_for(self.gpu.first_stream(), is_late) {
            Err(Error::Interrupted) => Ok(false),
            done => done.map(|()| true),
        }
    }

    fn leave(&self) {
        let mut state = self.lock();
        let (Some(calls), Some(handle)) = (state.calls, state.handle.take()) else { return };
        if self.gpu.enter().is_ok() {
            // SAFETY: nobody uses it any more.
            let _ = unsafe { (calls.abort)(handle) };
            // What was under way ends with it: before others have the blocks it wrote to.
            let since = Instant::now();
            drop(self.gpu.wait_for(self.gpu.first_stream(), || since.elapsed() > LAST));
        }
    }
}

impl Drop for Nccl {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Communicator for Nccl {
    fn invite(&self) -> Result<Option<Vec<u8>>> {
        if self.toolkit.is_without_nccl() {
            return Ok(None);
        }
        let calls = self.calls(&mut self.lock())?;
        let mut id = UniqueId([0; UNIQUE_ID]);
        // SAFETY: writes an identifier.
        calls.check(unsafe { (calls.get_unique_id)(&raw mut id) })?;
        Ok(Some(id.0.iter().map(|byte| byte.cast_unsigned()).collect()))
    }

    fn begin_join(&self, invitation: Vec<u8>, place: [usize; 2]) -> Begun<'_, ()> {
        Box::new(move || self.join(&invitation, place))
    }

    fn begin_exchange(&self, sends: Vec<Parcel>, receives: Vec<Parcel>) -> Begun<'_, ()> {
        Box::new(move || self.exchange(&sends, &receives))
    }

    fn begin_settle(&self) -> Begun<'_, bool> {
        Box::new(|| self.settle())
    }

    fn begin_leave(&self) -> Begun<'_, ()> {
        Box::new(|| {
            self.leave();
            Ok(())
        })
    }
}
