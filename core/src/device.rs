//! What programs ask of devices: which to use, what the machine has, how much memory is left.
//!
//! How devices compile and run kernels is not public: kernels and memory are addresses there. The feature `internals`
//! opens `backend` for tests and benchmarks; nothing checks what they hand over.

pub use crate::backend::cuda::disk_cache::{DiskCache, LIMIT as CACHE_LIMIT};
pub use crate::backend::cuda::{
    GpuInfo, OLDEST_CAPABILITY, Survey, Toolkit, is_installed as has_cuda, survey as survey_cuda,
};
pub use crate::backend::isa::Isa;
pub use crate::backend::{
    Capacity, DeviceChoice, Gpus, MOST_RANKS, PartNotes, PartWork, SharedFile, Slowest,
    gives_executable_memory, prepare,
};

#[cfg(unix)]
pub use crate::backend::ranks::{LEADER, Launched, libraries as mpi_libraries};

use crate::backend::Memory;
use crate::backend::host::{self, HostMemory};

/// Serves the leader of `ranks:N` that has started this process, until it goes: over standard input, or where `leader`, the
/// value of the variable [`LEADER`], says that a launcher came between.
///
/// # Errors
/// There is no leader, or the connection broke.
#[cfg(unix)]
pub fn serve_rank(leader: Option<&str>, threads: usize) -> std::io::Result<()> {
    let Some(leader) = leader else {
        return crate::backend::ranks::serve_leader(crate::backend::open_processor(threads));
    };
    // Launchers bind ranks to processors.
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    crate::backend::ranks::serve_distant(leader, crate::backend::open_processor(threads))
}

/// Serves rank 0 of the processes that a launcher of MPI has started, until it goes. `library` is that of MPI, by default
/// the launcher's usual one.
///
/// # Errors
/// There is no library of MPI, or it is not the launcher's; the connection broke.
#[cfg(unix)]
pub fn serve_launched(
    launched: Launched,
    library: Option<std::ffi::OsString>,
    threads: usize,
) -> std::io::Result<()> {
    let device = crate::backend::open_processor(threads);
    crate::backend::ranks::serve_launched(launched, library, device)
}

/// What the system could still hand out.
pub fn host_capacity() -> Capacity {
    HostMemory.capacity()
}

/// What the system could still hand out if it did not limit this process.
pub fn physical_capacity() -> Capacity {
    host::physical_capacity()
}
