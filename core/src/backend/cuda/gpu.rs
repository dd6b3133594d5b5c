//! An open GPU: its context, its streams, and every call to the driver.
//!
//! Addresses come from [`Gpu::alloc`] and are what kernels see. Work goes to a stream in a [`Turn`], which names what it
//! uses: so it runs behind what it needs, and memory may be handed out again as soon as its owner is gone.
#![expect(unsafe_code, reason = "the driver is a C library")]

mod backing;
pub(super) mod foreign;
mod launcher;
mod link;
mod peers;
mod signal;
mod sparse;
mod streams;

pub(super) use link::Compiled;
pub(super) use signal::Signal;
use sparse::Sparse;
use streams::Streams;
pub(super) use streams::{Stream, Turn};

use std::ffi::{CString, c_void};
use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cudarc::driver::sys::{self, CUdevice_attribute as Attribute, CUresult};

use super::driver_library::{self, Driver, OLDEST_CAPABILITY, attribute, describe};
use crate::error::{Error, Result};

/// A GPU with a context and streams.
pub(super) struct Gpu {
    pub(super) number: u32,
    /// Version of the driver.
    pub(super) driver: String,
    /// Name of the product.
    pub(super) name: String,
    /// 90 for 9.0.
    pub(super) compute_capability: u32,
    /// Number of multiprocessors.
    pub(super) multiprocessors: u32,
    /// A number that no other GPU has; where the driver gives none, that among those of this host.
    pub(super) identity: u128,
    device: sys::CUdevice,
    context: sys::CUcontext,
    streams: Streams,
    sparse: Sparse,
    lost: AtomicBool,
    /// The last kernel of others that was launched: ours do not fail.
    foreign: Mutex<Option<Arc<str>>>,
}

// SAFETY: handles of the driver may be used from every thread.
unsafe impl Send for Gpu {}
// SAFETY: the driver's functions are safe to call from several threads at once.
unsafe impl Sync for Gpu {}

/// A loaded module.
pub(super) struct Module(sys::CUmodule);

// SAFETY: handles of the driver may be used from every thread.
unsafe impl Send for Module {}
// SAFETY: the driver's functions are safe to call from several threads at once.
unsafe impl Sync for Module {}

/// An entry of a loaded module.
#[derive(Clone, Copy)]
pub(super) struct Function(sys::CUfunction);

// SAFETY: handles of the driver may be used from every thread.
unsafe impl Send for Function {}
// SAFETY: the driver's functions are safe to call from several threads at once.
unsafe impl Sync for Function {}

/// Resources that the compiled code of an entry uses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resources {
    pub(super) registers: u32,
    /// Bytes of local memory a thread: what is spilled.
    pub(super) local_bytes: u32,
    /// Threads that a block may have.
    pub(super) most_threads: u32,
}

/// How many threads run an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    pub(super) blocks: u32,
    pub(super) threads: u32,
    /// Members of a batch, blocks each.
    pub(super) members: u32,
    /// Bytes of shared memory of each block, beyond what the entry declares.
    pub(super) shared_bytes: u32,
}

impl Grid {
    /// Blocks of so many threads.
    pub(super) const fn of(blocks: u32, threads: u32) -> Self {
        Self { blocks, threads, members: 1, shared_bytes: 0 }
    }
}

impl Gpu {
    /// Opens GPU number `number`.
    ///
    /// # Errors
    /// `NoDevice`, with the remedy.
    pub(super) fn open(number: u32) -> Result<Self> {
        let refused = |reason: String| Error::NoDevice { name: format!("cuda:{number}"), reason };
        if !driver_library::is_installed() {
            return Err(driver_library::not_installed(number));
        }
        let driver = Driver::start().map_err(refused)?;
        let ordinal = i32::try_from(number).ok().filter(|&ordinal| ordinal < driver.n_gpus);
        let Some(ordinal) = ordinal else {
            let there = match driver.n_gpus {
                0 => "there is none".into(),
                1 => "there is only cuda:0".into(),
                n => format!("there are cuda:0 to cuda:{}", n - 1),
            };
            return Err(refused(there));
        };
        let device = driver.device(ordinal).map_err(refused)?;
        let compute_capability = driver_library::compute_capability(device);
        let name = driver_library::name(device);
        if compute_capability < OLDEST_CAPABILITY {
            let (major, minor) = (compute_capability / 10, compute_capability % 10);
            return Err(refused(format!(
                "{name} has compute capability {major}.{minor}, and 7.5 is needed; use --device cpu"
            )));
        }
        let said = |what| move |error| refused(driver_library::said(what)(error));
        let mut context = ptr::null_mut();
        // SAFETY: writes one handle.
        let retained = unsafe { sys::cuDevicePrimaryCtxRetain(&raw mut context, device) };
        if is_fatal(retained) {
            // Drivers give a process whose work failed no context any more, primary or not (seen with 580).
            return Err(refused(
                "work on it failed, and the driver serves this process no more; start again, or use \
                 --device cpu"
                    .into(),
            ));
        }
        retained.result().map_err(said("the GPU gives no context"))?;
        // SAFETY: the handle is valid.
        let current = unsafe { sys::cuCtxSetCurrent(context) };
        current.result().map_err(said("the GPU gives no context"))?;
        let streams = Streams::new().map_err(said("the GPU gives no stream"))?;
        let lost = AtomicBool::new(false);
        let multiprocessors =
            attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT).max(1);
        Ok(Self {
            number,
            driver: driver.version,
            name,
            compute_capability,
            multiprocessors,
            identity: driver_library::identity(device).unwrap_or(number.into()),
            device,
            context,
            streams,
            sparse: Sparse::new(device),
            lost,
            foreign: Mutex::default(),
        })
    }

    /// Whether a failure has made the context useless.
    pub(super) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// `cuda:0`
    pub(super) fn short_name(&self) -> String {
        format!("cuda:{}", self.number)
    }

    /// Gives the context up, since work in it does not end.
    pub(super) fn abandon(&self, what: &'static str) -> Error {
        self.lose();
        let reason = "it does not answer".into();
        Error::DeviceFailed { device: self.short_name(), what, reason, lost: true }
    }

    /// Bytes of memory that are free.
    pub(super) fn free_memory(&self) -> u64 {
        let (mut free, mut total) = (0, 0);
        if self.enter().is_err() {
            return 0;
        }
        // SAFETY: writes two numbers; a context is current.
        let known = unsafe { sys::cuMemGetInfo_v2(&raw mut free, &raw mut total) };
        if known == CUresult::CUDA_SUCCESS { free as u64 } else { 0 }
    }

    /// A block of memory, or `None` if there is too little.
    pub(super) fn alloc(&self, bytes: usize) -> Option<u64> {
        self.enter().ok()?;
        let mut address = 0;
        // SAFETY: writes one address; a context is current.
        let result = unsafe { sys::cuMemAlloc_v2(&raw mut address, bytes.max(1)) };
        (result == CUresult::CUDA_SUCCESS).then_some(address)
    }

    /// Gives a block back. It waits for all work, by itself where another GPU may still copy: the driver waits for what
    /// streams were given, and not for what these were told to wait for.
    pub(super) fn free(&self, address: u64) {
        let is_idle = !self.sparse.has_met() || self.wait_until(|| false).is_ok();
        if is_idle && self.enter().is_ok() {
            // SAFETY: the block came from `alloc`, and its owner is gone. A failure leaks it.
            let _ = unsafe { sys::cuMemFree_v2(address) };
        }
    }

    /// Fills `n` elements of 1, 2 or 4 bytes with the low bits of `pattern`.
    ///
    /// # Errors
    /// A failure of the device.
    pub(super) fn fill(
        &self,
        stream: Stream,
        address: u64,
        pattern: u32,
        bytes: usize,
        n: usize,
    ) -> Result<()> {
        self.enter()?;
        let [low, high, ..] = pattern.to_le_bytes();
        let result = match bytes {
            // SAFETY: the caller owns the elements.
            1 => unsafe { sys::cuMemsetD8Async(address, low, n, stream.handle) },
            2 => {
                let pattern = u16::from_le_bytes([low, high]);
                // SAFETY: the caller owns the elements.
                unsafe { sys::cuMemsetD16Async(address, pattern, n, stream.handle) }
            }
            // SAFETY: the caller owns the elements.
            _ => unsafe { sys::cuMemsetD32Async(address, pattern, n, stream.handle) },
        };
        self.check("filling memory", result)
    }

    /// Copies within the device.
    ///
    /// # Errors
    /// A failure of the device.
    pub(super) fn copy(
        &self,
        stream: Stream,
        target: u64,
        source: u64,
        bytes: usize,
    ) -> Result<()> {
        self.enter()?;
        // SAFETY: both are live blocks of the device.
        let result = unsafe { sys::cuMemcpyDtoDAsync_v2(target, source, bytes, stream.handle) };
        self.check("copying memory", result)
    }

    /// Copies from the host; the bytes have been read when it returns.
    ///
    /// # Errors
    /// A failure of the device.
    pub(super) fn write(&self, stream: Stream, target: u64, source: &[u8]) -> Result<()> {
        self.enter()?;
        let (from, bytes) = (source.as_ptr().cast::<c_void>(), source.len());
        // SAFETY: the target is a live block; pageable memory has been read when the call returns.
        let result = unsafe { sys::cuMemcpyHtoDAsync_v2(target, from, bytes, stream.handle) };
        self.check("copying to the GPU", result)
    }

    /// Copies to the host, after all work given so far.
    ///
    /// # Errors
    /// `Interrupted`, a failure of the device.
    pub(super) fn read(&self, source: u64, target: &mut [u8]) -> Result<()> {
        self.wait()?;
        let (to, bytes) = (target.as_mut_ptr().cast::<c_void>(), target.len());
        // SAFETY: the source is a live block, and the target is ours until the call returns.
        let result = unsafe { sys::cuMemcpyDtoH_v2(to, source, bytes) };
        self.check("copying to the host", result)
    }

    /// Waits until the driver says that something is ready, or `give_up` says so.
    ///
    /// # Errors
    /// `Interrupted` if it gave up; a failure of the work.
    pub(super) fn poll(
        &self,
        state: impl Fn() -> CUresult,
        give_up: impl Fn() -> bool,
    ) -> Result<()> {
        /// Beyond it, waking up late costs little.
        const SHORT: Duration = Duration::from_millis(2);
        self.enter()?;
        let start = Instant::now();
        loop {
            match state() {
                CUresult::CUDA_ERROR_NOT_READY => {}
                result => return self.check("waiting for the GPU", result),
            }
            if give_up() {
                return Err(Error::Interrupted);
            }
            if start.elapsed() < SHORT {
                std::hint::spin_loop();
            } else {
                std::thread::sleep(Duration::from_micros(100));
            }
        }
    }

    /// Launches an entry with one parameter, a block of words.
    ///
    /// # Errors
    /// A failure of the device.
    pub(super) fn launch(
        &self,
        stream: Stream,
        function: Function,
        grid: Grid,
        params: &[u64],
    ) -> Result<()> {
        self.enter()?;
        let mut block = params.as_ptr().cast_mut().cast::<c_void>();
        let Grid { blocks, threads, members, shared_bytes } = grid;
        // SAFETY: the entry takes one block of so many words, which the call copies.
        let result = unsafe {
            sys::cuLaunchKernel(
                function.0,
                blocks,
                members,
                1,
                threads,
                1,
                1,
                shared_bytes,
                stream.handle,
                &raw mut block,
                ptr::null_mut(),
            )
        };
        self.check("launching a kernel", result)
    }

    /// Loads compiled code.
    ///
    /// # Errors
    /// A failure of the device; code for another one.
    pub(super) fn load(&self, cubin: &[u8]) -> Result<Module> {
        self.enter()?;
        let mut module = ptr::null_mut();
        // SAFETY: the image is complete, as its checksum or the compiler vouches, and is copied.
        let result = unsafe { sys::cuModuleLoadData(&raw mut module, cubin.as_ptr().cast()) };
        self.check("loading code", result)?;
        Ok(Module(module))
    }

    /// An entry of a module by its name.
    ///
    /// # Errors
    /// It is not there.
    pub(super) fn function(&self, module: &Module, name: &str) -> Result<Function> {
        self.enter()?;
        let name = CString::new(name).unwrap_or_default();
        let mut function = ptr::null_mut();
        // SAFETY: the module is loaded.
        let result =
            unsafe { sys::cuModuleGetFunction(&raw mut function, module.0, name.as_ptr()) };
        self.check("finding an entry", result)?;
        Ok(Function(function))
    }

    /// Resources that the compiled code of an entry uses.
    pub(super) fn resources(&self, function: Function) -> Resources {
        use sys::CUfunction_attribute as Attribute;
        let get = |attribute| {
            let mut value = 0;
            // SAFETY: writes one int; the function is loaded.
            let _ = unsafe { sys::cuFuncGetAttribute(&raw mut value, attribute, function.0) };
            u32::try_from(value).unwrap_or(0)
        };
        Resources {
            registers: get(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS),
            local_bytes: get(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
            most_threads: get(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
        }
    }

    /// Forgets a module.
    pub(super) fn unload(&self, module: &Module) {
        if self.enter().is_ok() {
            // SAFETY: its owner is gone. The driver waits for kernels that still run it.
            let _ = unsafe { sys::cuModuleUnload(module.0) };
        }
    }

    /// Pinned words of the host that the device sees as well: the pointer and the device's address.
    ///
    /// # Errors
    /// A failure of the device.
    pub(super) fn mapped(self: &Arc<Self>, n_words: usize) -> Result<Mapped> {
        self.enter()?;
        let mut block = ptr::null_mut();
        let kind = sys::CU_MEMHOSTALLOC_DEVICEMAP | sys::CU_MEMHOSTALLOC_PORTABLE;
        // SAFETY: writes one pointer.
        let result = unsafe { sys::cuMemHostAlloc(&raw mut block, n_words * 8, kind) };
        self.check("pinning memory", result)?;
        let mut address = 0;
        // SAFETY: the block was allocated with a mapping.
        let result = unsafe { sys::cuMemHostGetDevicePointer_v2(&raw mut address, block, 0) };
        self.check("pinning memory", result)?;
        Ok(Mapped { gpu: self.clone(), words: block.cast(), n_words, address })
    }

    /// Waits for all work in the context, which this process's other libraries share.
    ///
    /// # Errors
    /// A failure of the work.
    pub(super) fn wait_for_context(&self) -> Result<()> {
        self.enter()?;
        // SAFETY: a context is current.
        self.check("waiting for the GPU", unsafe { sys::cuCtxSynchronize() })
    }

    /// Makes the context current in this thread.
    ///
    /// # Errors
    /// It failed before.
    pub(super) fn enter(&self) -> Result<()> {
        if self.is_lost() {
            return Err(Error::DeviceFailed {
                device: self.short_name(),
                what: "being used",
                reason: "it failed before".into(),
                lost: true,
            });
        }
        self.check("using the GPU", self.make_current())
    }

    /// Makes the context current without asking whether it failed; what the driver says.
    fn make_current(&self) -> CUresult {
        // SAFETY: the handle is that of the primary context, which is held until this is dropped; of one that was reset the
        // driver says so.
        unsafe { sys::cuCtxSetCurrent(self.context) }
    }

    /// Remembers that the context is useless, and clears the way for a new one.
    fn lose(&self) {
        if !self.lost.swap(true, Ordering::SeqCst) {
            // No launch may be on its way to the driver.
            self.settle_posted();
            // SAFETY: the context has no user any more: `enter` refuses from now on.
            let _ = unsafe { sys::cuDevicePrimaryCtxReset_v2(self.device) };
        }
    }

    /// A result of the driver; failures from which no context recovers are remembered.
    ///
    /// # Errors
    /// The result is no success.
    pub(super) fn check(&self, what: &'static str, result: CUresult) -> Result<()> {
        let Err(error) = result.result() else { return Ok(()) };
        let lost = is_fatal(result);
        if lost {
            self.lose();
        }
        let mut reason = describe(error);
        let foreign = self.foreign.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(name) = foreign.as_ref().filter(|_| lost) {
            reason = format!("{reason}, after `{name}` of a CUDA module was launched");
        }
        Err(Error::DeviceFailed { device: self.short_name(), what, reason, lost })
    }
}

impl fmt::Display for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = (self.compute_capability / 10, self.compute_capability % 10);
        write!(f, "cuda:{} ({}, compute capability {major}.{minor})", self.number, self.name)
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        // The process may be at its end, where the driver refuses: then there is nothing to do.
        if self.enter().is_err() {
            return;
        }
        self.streams.destroy();
        // SAFETY: retained once in `open`.
        let _ = unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device) };
    }
}

/// Words that host and device share.
pub(super) struct Mapped {
    gpu: Arc<Gpu>,
    words: *mut u64,
    n_words: usize,
    /// Where the device finds the first.
    pub(super) address: u64,
}

// SAFETY: the words are only reached by the volatile accesses below.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// Whose words they are.
    pub(super) fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Where the host finds a word.
    fn host(&self, i: usize) -> *const u64 {
        assert!(i < self.n_words, "internal error: a word beyond the mapped ones");
        self.words.wrapping_add(i)
    }

    /// Number of words.
    pub(super) fn len(&self) -> usize {
        self.n_words
    }

    /// A word as the device left it; `None` if the device is lost, and the words with it.
    pub(super) fn get(&self, i: usize) -> Option<u64> {
        assert!(i < self.n_words, "internal error: a word beyond the mapped ones");
        if self.gpu.is_lost() {
            return None;
        }
        // SAFETY: in bounds.
        let word = unsafe { self.words.add(i) };
        // SAFETY: pinned as long as this lives; the device writes whole words.
        Some(unsafe { word.read_volatile() })
    }

    /// Sets a word, unless the device is lost, and the words with it.
    pub(super) fn set(&self, i: usize, value: u64) {
        assert!(i < self.n_words, "internal error: a word beyond the mapped ones");
        if self.gpu.is_lost() {
            return;
        }
        // SAFETY: in bounds.
        let word = unsafe { self.words.add(i) };
        // SAFETY: pinned as long as this lives.
        unsafe { word.write_volatile(value) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // A kernel under way may still write here; where the device does not answer, the words stay.
        if self.gpu.wait_until(|| false).is_ok() {
            // SAFETY: allocated in `mapped`, and it has no user any more.
            let _ = unsafe { sys::cuMemFreeHost(self.words.cast()) };
        }
    }
}

/// Failures after which every call to the context fails.
const fn is_fatal(result: CUresult) -> bool {
    matches!(
        result,
        CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
            | CUresult::CUDA_ERROR_LAUNCH_FAILED
            | CUresult::CUDA_ERROR_LAUNCH_TIMEOUT
            | CUresult::CUDA_ERROR_ASSERT
            | CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR
            | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
            | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS
            | CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE
            | CUresult::CUDA_ERROR_INVALID_PC
            | CUresult::CUDA_ERROR_ECC_UNCORRECTABLE
            | CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED
            | CUresult::CUDA_ERROR_UNKNOWN
    )
}
