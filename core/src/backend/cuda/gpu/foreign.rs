//! Entries of others' modules: what they take, and launches of them.
#![expect(unsafe_code, reason = "the driver is a C library")]

use std::any::Any;
use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::{Arc, PoisonError};

use cudarc::driver::sys::{self, CUdevice_attribute as Attribute, CUresult};
use smallvec::SmallVec;

use super::super::driver_library::attribute;
use super::launcher::Launch;
use super::{Function, Gpu, Module};
use crate::backend::LaunchShape;
use crate::error::Result;

/// A launch of an entry of others.
pub(in super::super) struct ForeignLaunch {
    pub(in super::super) gpu: Arc<Gpu>,
    #[expect(dead_code, reason = "it keeps the entry loaded")]
    pub(in super::super) module: Arc<dyn Any + Send + Sync>,
    pub(in super::super) name: Arc<str>,
    pub(in super::super) function: Function,
    pub(in super::super) shape: LaunchShape,
    /// Each is the bytes of one parameter, lowest first.
    pub(in super::super) args: SmallVec<[u64; 8]>,
}

impl Launch for ForeignLaunch {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn give(&self) -> CUresult {
        let Self { gpu, function, shape, .. } = self;
        if gpu.is_lost() {
            return CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED;
        }
        let entered = gpu.make_current();
        if entered != CUresult::CUDA_SUCCESS {
            return entered;
        }
        *gpu.foreign.lock().unwrap_or_else(PoisonError::into_inner) = Some(self.name.clone());
        let pointer = |arg: &u64| ptr::from_ref(arg).cast_mut().cast::<c_void>();
        let mut pointers: SmallVec<[*mut c_void; 8]> = self.args.iter().map(pointer).collect();
        let LaunchShape { grid: [gx, gy, gz], block: [bx, by, bz], shared_bytes, .. } = *shape;
        let (stream, args) = (gpu.first_stream().handle, pointers.as_mut_ptr());
        if shape.is_cooperative {
            // SAFETY: there are as many arguments as the entry's declaration says, each of its size,
            // which is at most a word; the call copies them.
            unsafe {
                sys::cuLaunchCooperativeKernel(
                    function.0,
                    gx,
                    gy,
                    gz,
                    bx,
                    by,
                    bz,
                    shared_bytes,
                    stream,
                    args,
                )
            }
        } else {
            let none = ptr::null_mut();
            // SAFETY: as above.
            unsafe {
                sys::cuLaunchKernel(
                    function.0,
                    gx,
                    gy,
                    gz,
                    bx,
                    by,
                    bz,
                    shared_bytes,
                    stream,
                    args,
                    none,
                )
            }
        }
    }
}

impl Gpu {
    /// Launches an entry of others, behind all before and before all behind.
    ///
    /// # Errors
    /// A failure of the device; of a row of launches one that the driver refuses is told by whoever uses the GPU next.
    pub(in super::super) fn launch_foreign(&self, launch: ForeignLaunch) -> Result<()> {
        // How many blocks can run at once the driver alone knows: what it refuses is told at once.
        let left = if launch.shape.is_cooperative { Some(launch) } else { self.post(launch)? };
        let Some(launch) = left else { return Ok(()) };
        let launcher = &self.streams.launcher;
        let row = launcher.row();
        let turn = self.turn_alone()?;
        self.enter()?;
        let given = launch.give();
        turn.end();
        launcher.goes_on(row);
        self.check("launching a kernel", given)
    }

    /// Bytes of the first parameters of an entry, up to `most`; `None` where the driver is older than 12.4 and does not
    /// tell.
    pub(in super::super) fn parameter_sizes(
        &self,
        function: Function,
        most: usize,
    ) -> Option<Vec<usize>> {
        type Info =
            unsafe extern "C" fn(sys::CUfunction, usize, *mut usize, *mut usize) -> CUresult;
        self.enter().ok()?;
        // SAFETY: the driver's library, which is loaded already.
        let library = unsafe { libloading::Library::new("libcuda.so.1") }.ok()?;
        // SAFETY: this is the type of that function.
        let info = unsafe { library.get::<Info>(b"cuFuncGetParamInfo") }.ok()?;
        let mut sizes = Vec::new();
        while sizes.len() < most {
            let (mut offset, mut size) = (0, 0);
            // SAFETY: writes two words; the function is loaded.
            let result = unsafe { info(function.0, sizes.len(), &raw mut offset, &raw mut size) };
            if result != CUresult::CUDA_SUCCESS {
                break;
            }
            sizes.push(size);
        }
        Some(sizes)
    }

    /// Threads of a block with which an entry occupies the GPU best.
    pub(in super::super) fn best_block(
        &self,
        function: Function,
        shared_bytes: u32,
    ) -> Option<u32> {
        self.enter().ok()?;
        let (mut blocks, mut threads) = (0, 0);
        let bytes = usize::try_from(shared_bytes).ok()?;
        // SAFETY: writes two ints; the function is loaded.
        let result = unsafe {
            sys::cuOccupancyMaxPotentialBlockSize(
                &raw mut blocks,
                &raw mut threads,
                function.0,
                None,
                bytes,
                0,
            )
        };
        if result != CUresult::CUDA_SUCCESS {
            return None;
        }
        u32::try_from(threads).ok().filter(|&threads| threads > 0)
    }

    /// Address and bytes of a variable of a module, if it has one of this name.
    pub(in super::super) fn variable(&self, module: &Module, name: &str) -> Option<[u64; 2]> {
        self.enter().ok()?;
        let name = CString::new(name).ok()?;
        let (mut address, mut bytes) = (0, 0);
        // SAFETY: writes two words; the module is loaded, the name ends with a zero.
        let result = unsafe {
            sys::cuModuleGetGlobal_v2(&raw mut address, &raw mut bytes, module.0, name.as_ptr())
        };
        (result == CUresult::CUDA_SUCCESS).then_some([address, bytes as u64])
    }

    /// Bytes of shared memory that a block may have if its entry asks for them.
    pub(in super::super) fn most_shared(&self) -> u32 {
        attribute(self.device, Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
    }

    /// Lets blocks of an entry have so much shared memory.
    ///
    /// # Errors
    /// It is more than there is.
    pub(in super::super) fn allow_shared(&self, function: Function, bytes: u32) -> Result<()> {
        use sys::CUfunction_attribute as Attribute;
        self.enter()?;
        // What waits for the driver may have asked for more.
        self.streams.launcher.drain();
        let most = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function is loaded.
        let result = unsafe { sys::cuFuncSetAttribute(function.0, most, bytes.cast_signed()) };
        self.check("allowing shared memory", result)
    }
}
