//! The CUDA backend: an NVIDIA GPU by PTX text, which the driver compiles.
//!
//! | file | content |
//! |---|---|
//! | `ptx/` | kernels as PTX text: pure, needs no GPU |
//! | `gpu.rs` | an open GPU: every call to the driver |
//! | `launch.rs` | compiled kernels, and how they are launched |
//! | `errors.rs` | the words in which running kernels report indices out of bounds |
//! | `memory.rs` | the memory of a GPU |
//! | `cut.rs`, `parts.rs` | long kernels in parts, which several threads compile |
//! | `primitive.rs` | primitives as launches, one after the other |
//! | `on_host.rs` | what needs one lane after the other |
//!
//! The driver's library is looked for at run time, and a GPU is opened when a value is needed. Kernels,
//! copies and fills go to one stream and are not waited for; reading a value waits.

mod cut;
mod errors;
mod gpu;
mod launch;
mod memory;
mod on_host;
mod parts;
mod primitive;
mod ptx;

use std::path::Path;
use std::sync::Arc;

use self::gpu::Gpu;
use self::launch::{Loaded, Shared};
use self::memory::GpuMemory;
use self::on_host::OnHost;
use self::parts::Parts;
use self::primitive::Primitives;
pub use self::primitive::{Work, run_steps};
pub use self::ptx::{
    CHUNK, FOLDED, LANES_PER_WARP, SHARED_DECLARATION, Sharing, Step, Target, lower, lower_entry,
    lower_fold, lower_private, lower_step, private_target,
};
use super::primitive::{PrimitiveCall, Room};
use super::{Backend, Executable, Memory};
use crate::error::{Error, Result};
use crate::ir::kernel::{Kernel, LiteralMode};

/// Whether the driver's library is there.
pub fn is_installed() -> bool {
    gpu::is_installed()
}

/// Whether there may be a GPU, for those who did not ask for one: looking for the library takes milliseconds
/// of every start, looking for the files of its kernel module microseconds.
pub fn is_likely() -> bool {
    // Of a computer, of Windows's Linux, of a Jetson.
    let files = ["/dev/nvidiactl", "/dev/dxg", "/dev/nvhost-gpu"];
    !cfg!(target_os = "linux") || files.iter().any(|file| Path::new(file).exists())
}

/// The error that says it is not.
pub fn not_installed(number: u32) -> Error {
    Error::NoDevice {
        name: format!("cuda:{number}"),
        reason: "the NVIDIA driver's library (libcuda.so.1) is not there; install driver 525 or newer, or use --device cpu".into(),
    }
}

/// An NVIDIA GPU.
pub struct Cuda {
    gpu: Arc<Gpu>,
    memory: GpuMemory,
    shared: Arc<Shared>,
    primitives: Primitives,
    host: Arc<OnHost>,
}

impl Cuda {
    /// Opens GPU number `number`; takes a third of a second.
    ///
    /// # Errors
    /// `NoDevice`, with the reason and the remedy.
    pub fn open(number: u32) -> Result<Self> {
        let gpu = Arc::new(Gpu::open(number)?);
        let shared = Arc::new(Shared::new(gpu.clone())?);
        let (memory, host) = (GpuMemory::new(gpu.clone()), Arc::new(OnHost::new(gpu.clone())));
        let primitives = Primitives::new(gpu.clone());
        Ok(Self { gpu, memory, shared, primitives, host })
    }
}

impl Backend for Cuda {
    fn name(&self) -> String {
        self.gpu.to_string()
    }

    fn lower(&self, kernel: &Kernel, mode: LiteralMode) -> Result<Arc<dyn Executable>> {
        let in_order = kernel.lane_order && kernel.writes_in_order();
        if in_order || !kernel.serial_regions().is_empty() {
            return Ok(Arc::new(self.host.lower(kernel, mode)?));
        }
        match cut::cut(kernel) {
            Some(cut) => Ok(Arc::new(Parts::new(&self.shared, kernel, cut, mode)?)),
            None => Ok(Arc::new(Loaded::new(&self.shared, kernel, mode)?)),
        }
    }

    fn run_primitive(&self, call: &PrimitiveCall, room: Room<'_>) -> Result<()> {
        if self.primitives.run(call, room)? { Ok(()) } else { self.host.run_primitive(call) }
    }

    fn memory(&self) -> &dyn Memory {
        &self.memory
    }

    fn sync(&self) -> Result<()> {
        self.gpu.wait()
    }

    fn is_lost(&self) -> bool {
        self.gpu.is_lost()
    }
}
