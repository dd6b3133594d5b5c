//! The CUDA backend: an NVIDIA GPU by PTX text, which the driver compiles.
//!
//! | file | content |
//! |---|---|
//! | `ptx/` | kernels as PTX text: pure, needs no GPU |
//! | `gpu.rs` | an open GPU: every call to the driver |
//! | `order.rs` | which stream work goes to, and what it waits for |
//! | `launch.rs` | compiled kernels, and how they are launched |
//! | `compiler.rs` | PTX into modules: from the disk, or by the driver's compiler |
//! | `entries.rs` | modules that many launches share |
//! | `driver.rs` | the driver's library, and the GPUs it knows |
//! | `disk_cache.rs` | compiled kernels on disk |
//! | `toolkit.rs` | programs that show machine code, and where libraries are |
//! | `headers.rs` | CUDA's headers: ours, and where others come from |
//! | `halves.rs` | functions of one half float, by a table |
//! | `reports.rs` | the words in which running kernels report, as indices out of bounds |
//! | `ranges.rs` | some lanes of a launch, whose others run elsewhere |
//! | `memory.rs` | the memory of a GPU |
//! | `staging.rs`, `short_reads.rs` | pinned memory through which arrays come and go, and a few bytes at once |
//! | `cut.rs`, `parts.rs` | long kernels in parts, which several threads compile |
//! | `primitive.rs` | primitives as launches, one after the other |
//! | `cublas.rs` | products on tensor cores, for those who ask |
//! | `nccl.rs` | bytes from and to GPUs of other processes |
//! | `nvrtc.rs`, `modules.rs` | CUDA C++ of users: its compiler, and its code on a GPU |
//! | `on_host.rs` | what needs one lane after the other |
//!
//! The driver's library is looked for at run time, and a GPU is opened when a value is needed. Kernels,
//! copies and fills go to streams, each behind the work that it needs, and are not waited for; reading a value waits for
//! what makes it.

mod compiler;
mod cublas;
mod cut;
pub mod disk_cache;
mod driver_library;
mod entries;
mod gpu;
mod halves;
mod headers;
mod launch;
mod memory;
mod modules;
mod nccl;
mod nvrtc;
mod on_host;
mod order;
mod parts;
mod primitive;
mod ptx;
mod ranges;
mod reports;
mod short_reads;
mod staging;
mod toolkit;

use std::any::Any;
use std::path::Path;
use std::sync::Arc;

use self::compiler::Compiler;
use self::driver_library::Driver;
pub use self::driver_library::{GpuInfo, OLDEST_CAPABILITY};
use self::gpu::{Gpu, Grid};
use self::launch::{Loaded, Shared};
use self::memory::GpuMemory;
use self::nccl::Nccl;
pub use self::nvrtc::{Code, Nvrtc, Source};
use self::on_host::OnHost;
use self::parts::Parts;
use self::primitive::Primitives;
pub use self::primitive::{Work, run_steps};
pub use self::ptx::{
    AlongColumns, BATCH, CHUNK, FOLDED, LANES_PER_WARP, ONE_LANE, ProductCode, ProductParts,
    ProductSize, SHARED_DECLARATION, Sharing, Step, Target, fold_of, lower, lower_entry,
    lower_fold, lower_private, lower_step, lower_trap, private_target, tree_size,
};
pub use self::toolkit::Toolkit;
use super::primitive::{PrimitiveCall, Room};
use super::{Backend, Begun, Communicator, Executable, GpuBackend, LoadedModule, Memory, Outside};
use crate::convert::exactly;
use crate::error::{Error, Result};
use crate::ir::kernel::{Kernel, LiteralMode};
use driver_library::NO_LIBRARY;
pub use driver_library::not_installed;

/// Whether the driver's library is there.
pub fn is_installed() -> bool {
    driver_library::is_installed()
}

/// Whether there may be a GPU, for those who did not ask for one: looking for the library takes milliseconds
/// of every start, looking for the files of its kernel module microseconds.
pub fn is_likely() -> bool {
    // Of a computer, of Windows's Linux, of a Jetson.
    let files = ["/dev/nvidiactl", "/dev/dxg", "/dev/nvhost-gpu"];
    !cfg!(target_os = "linux") || files.iter().any(|file| Path::new(file).exists())
}

/// The driver's version and the GPUs that it lists.
pub struct Survey {
    /// Its release: `580.65.06 (CUDA 13.0)`.
    pub driver: String,
    /// For each number the GPU, or why it does not answer.
    pub gpus: Vec<std::result::Result<GpuInfo, String>>,
    /// The first two, by number, that do not reach each other's memory by themselves.
    pub apart: Option<[usize; 2]>,
}

/// How many GPUs the driver has.
///
/// # Errors
/// It is not there, or does not start.
pub fn n_gpus() -> std::result::Result<u32, String> {
    if !is_installed() {
        return Err(NO_LIBRARY.into());
    }
    Driver::start().map(|driver| u32::try_from(driver.n_gpus).unwrap_or(0))
}

/// Asks the driver, which must be there ([`is_installed`]), without opening a GPU.
///
/// # Errors
/// Why it does not start.
pub fn survey() -> std::result::Result<Survey, String> {
    let driver = Driver::start()?;
    let gpus = (0..driver.n_gpus).map(|number| driver.gpu(number)).collect();
    let pairs = (0..driver.n_gpus).flat_map(|other| (0..other).map(move |one| [one, other]));
    let mut apart = pairs.filter(|&pair| driver.reach_each_other(pair) == Ok(false));
    let apart = apart.next().map(|pair| pair.map(exactly::<usize>));
    Ok(Survey { driver: driver.version, gpus, apart })
}

/// An NVIDIA GPU.
pub struct Cuda {
    gpu: Arc<Gpu>,
    memory: GpuMemory,
    compiler: Arc<Compiler>,
    shared: Arc<Shared>,
    primitives: Primitives,
    host: Arc<OnHost>,
    nccl: Nccl,
    toolkit: Toolkit,
}

/// As many lanes as threads that a large GPU runs at once have in flight, four each. With fewer, one a thread
/// occupies more of it, and compiles in half the time.
const FEW_LANES: u64 = 1 << 20;

/// Lanes beyond which chunks, a warp each, occupy a GPU.
const MOST_LANES_APART: u64 = 1 << 22;

/// Rows of a chunk times operations of a lane from which on a launch of their own pays for lanes that are reduced.
const LEAST_WORK_APART: u64 = 1 << 15;

/// Lanes up to which one a thread pays for the first launch: the driver's compiler takes half of some 20 ms for
/// it, and the code runs 1.5 times as long, a few picoseconds more a lane.
const MOST_LANES_QUICK: u64 = 1 << 31;

impl Cuda {
    /// Opens GPU number `number`; takes a third of a second.
    ///
    /// # Errors
    /// `NoDevice`, with the reason and the remedy.
    pub fn open(number: u32, outside: &Outside) -> Result<Self> {
        let gpu = Arc::new(Gpu::open(number)?);
        let compiler = Arc::new(Compiler::new(gpu.clone(), outside.cache_folder.clone()));
        let shared = Arc::new(Shared::new(gpu.clone(), compiler.clone())?);
        let (memory, host) =
            (GpuMemory::new(gpu.clone(), shared.steps.clone()), Arc::new(OnHost::new(gpu.clone())));
        let toolkit = outside.toolkit.clone();
        let primitives = Primitives::new(gpu.clone(), shared.steps.clone(), toolkit.clone());
        let nccl = Nccl::new(gpu.clone(), toolkit.clone());
        Ok(Self { gpu, memory, compiler, shared, primitives, host, nccl, toolkit })
    }
}

impl Backend for Cuda {
    fn name(&self) -> String {
        self.gpu.to_string()
    }

    fn gpu(&self) -> Option<&dyn GpuBackend> {
        Some(self)
    }

    fn gpu_id(&self) -> Option<u128> {
        Some(self.gpu.identity)
    }

    fn lower(&self, kernel: &Kernel, mode: LiteralMode) -> Result<Arc<dyn Executable>> {
        if runs_on_host(kernel) {
            return Ok(Arc::new(self.host.lower(kernel, mode)?));
        }
        match cut::cut(kernel) {
            Some(cut) => Ok(Arc::new(Parts::new(&self.shared, kernel, cut, mode)?)),
            None => Ok(Arc::new(Loaded::new(&self.shared, kernel, mode)?)),
        }
    }

    /// Without the program that shows it, there is none to show.
    fn disassemble(&self, kernel: &Kernel, mode: LiteralMode) -> Result<Option<String>> {
        if !self.toolkit.has_nvdisasm() {
            return Ok(None);
        }
        let show = |text: &String| self.toolkit.disassemble(&self.compiler.machine_code(text)?);
        let shown = self.texts(kernel, mode).iter().map(show).collect::<Result<Vec<_>>>()?;
        Ok((!shown.is_empty()).then(|| shown.join("\n")))
    }

    fn run_primitive(&self, call: &PrimitiveCall, room: Room<'_>) -> Result<()> {
        if self.primitives.run(call, room)? { Ok(()) } else { self.host.run_primitive(call) }
    }

    fn run_primitives(&self, calls: &[PrimitiveCall], room: Room<'_>) -> Result<()> {
        match self.primitives.run_all(&self.shared, calls)? {
            true => Ok(()),
            false => calls.iter().try_for_each(|call| self.run_primitive(call, room)),
        }
    }

    fn communicator(&self) -> Option<&dyn Communicator> {
        Some(&self.nccl)
    }

    fn memory(&self) -> &dyn Memory {
        &self.memory
    }

    fn sync(&self) -> Result<()> {
        self.gpu.wait()
    }
}

impl GpuBackend for Cuda {
    fn capability(&self) -> u32 {
        self.gpu.compute_capability
    }

    fn load(&self, code: &[u8]) -> Result<Arc<dyn LoadedModule>> {
        Ok(Arc::new(modules::Foreign::load(&self.gpu, code)?))
    }

    fn number(&self) -> u32 {
        self.gpu.number
    }

    fn meet(&self, other: &dyn GpuBackend) {
        let other: &dyn Any = other;
        if let Some(other) = other.downcast_ref::<Self>() {
            self.gpu.reach(&other.gpu);
            other.gpu.reach(&self.gpu);
        }
    }

    fn begin_bring<'g>(
        &'g self,
        target: u64,
        from: &'g dyn GpuBackend,
        source: u64,
        bytes: usize,
    ) -> Begun<'g, ()> {
        let from: &dyn Any = from;
        let other = || Error::NoDevice {
            name: self.gpu.short_name(),
            reason: "it takes nothing of GPUs that are not NVIDIA's".into(),
        };
        let begun = from
            .downcast_ref::<Self>()
            .ok_or_else(other)
            .and_then(|from| self.gpu.begin_bring(target, &from.gpu, source, bytes));
        Box::new(move || begun?.end())
    }

    fn wait_for_everyone(&self) -> Result<()> {
        self.gpu.wait_for_context()
    }

    fn variant(&self) -> fn(&Kernel, u64, usize) -> u64 {
        |kernel, n, n_members| {
            let reduces = kernel.reductions().next().is_some();
            // How the lanes of reductions and loops are shared does not depend on their number.
            let is_few = n.saturating_mul(n_members as u64) < FEW_LANES;
            let is_one = is_few && !reduces && !kernel.has_regions();
            // The tree above chunks is for one launch.
            let is_batch = n_members > 1 && (!reduces || n <= CHUNK);
            let lanes = if is_one { ONE_LANE } else { 0 };
            lanes | if is_batch { BATCH } else { 0 }
        }
    }

    fn apart(&self) -> fn(u64, u32) -> bool {
        // A warp reduces a chunk, a row of 32 lanes after the other. What it waits for in each is waited for once where every
        // lane has a thread, but then a launch and a way through memory are paid for.
        |n, cost| {
            let rows = n.min(CHUNK) / LANES_PER_WARP;
            n <= MOST_LANES_APART && rows * u64::from(cost) >= LEAST_WORK_APART
        }
    }

    fn quick_version(&self, kernel: &Kernel, mode: LiteralMode, n: u64) -> Option<Kernel> {
        if n > MOST_LANES_QUICK || runs_on_host(kernel) || !Sharing::is_dear(kernel) {
            return None;
        }
        let is_kept = self.compiler.has_kept(&self.compiler.source(kernel, mode));
        let variant = kernel.variant | ONE_LANE;
        (!is_kept).then(|| Kernel { variant, ..kernel.clone() })
    }

    fn source(&self, kernel: &Kernel, mode: LiteralMode) -> Option<String> {
        let texts = self.texts(kernel, mode);
        (!texts.is_empty()).then(|| texts.join("\n"))
    }

    fn fail(&self) -> Result<()> {
        let module = self.compiler.load(&self.compiler.trap())?.module;
        let entry = self.gpu.function(&module, ptx::TRAP_ENTRY)?;
        let turn = self.gpu.turn_alone()?;
        self.gpu.launch(turn.stream, entry, Grid::of(1, 1), &[0])
    }

    fn is_lost(&self) -> bool {
        self.gpu.is_lost()
    }
}

impl Cuda {
    /// PTX of a kernel: of its parts if it is long, none if it runs on the host.
    fn texts(&self, kernel: &Kernel, mode: LiteralMode) -> Vec<String> {
        let texts = |kernel: &Kernel| {
            let reduces = kernel.reductions().next().is_some();
            let fold = reduces.then(|| self.compiler.fold(&fold_of(kernel)));
            std::iter::once(self.compiler.source(kernel, mode)).chain(fold).collect::<Vec<_>>()
        };
        match cut::cut(kernel) {
            _ if runs_on_host(kernel) => Vec::new(),
            Some(cut) => cut.parts.iter().flat_map(|part| texts(&part.kernel)).collect(),
            None => texts(kernel),
        }
    }
}

/// Whether a kernel needs one lane after the other, for which a GPU is too slow.
fn runs_on_host(kernel: &Kernel) -> bool {
    kernel.writes_in_order() || !kernel.serial_regions().is_empty()
}
