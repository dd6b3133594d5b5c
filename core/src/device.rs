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

pub use crate::backend::ranks::RanksOn;

#[cfg(unix)]
use std::path::PathBuf;
#[cfg(unix)]
use std::sync::Arc;

use crate::backend::Memory;
use crate::backend::host::{self, HostMemory};
#[cfg(unix)]
use crate::backend::ranks::{self, local_rank, number_on_host};
#[cfg(unix)]
use crate::backend::{Backend, Outside, open_rank};
#[cfg(unix)]
use crate::error::Result;

/// A process that is to serve as a rank: what it may use of its host.
#[cfg(unix)]
#[derive(Clone, Debug)]
pub struct Rank {
    threads: usize,
    /// Its number among the ranks of its host, where a launcher says it.
    local: Option<usize>,
    outside: Outside,
}

#[cfg(unix)]
impl Rank {
    /// One of so many threads. The environment, asked by name, says which of its host's GPUs is its own, if it is to compute on
    /// one.
    pub fn new(threads: usize, variable: impl Fn(&str) -> Option<String>) -> Self {
        Self { threads, local: local_rank(variable), outside: Outside::default() }
    }

    /// Where kernels that were compiled for GPUs are kept for other processes; by default nowhere.
    #[must_use]
    pub fn cache_folder(mut self, folder: Option<PathBuf>) -> Self {
        self.outside.cache_folder = folder;
        self
    }

    /// Where libraries are that GPUs can use; by default nowhere.
    #[must_use]
    pub fn toolkit(mut self, toolkit: Toolkit) -> Self {
        self.outside.toolkit = toolkit;
        self
    }

    fn open(&self, on: RanksOn, numbers: [usize; 2]) -> Result<Arc<dyn Backend>> {
        open_rank(on, numbers, self.threads, &self.outside)
    }
}

/// Serves the leader of `ranks:N` that has started this process, until it goes: over standard input, or where `leader`, the
/// value of the variable [`LEADER`], says that a launcher came between.
///
/// # Errors
/// There is no leader, or the connection broke.
#[cfg(unix)]
pub fn serve_rank(leader: Option<&str>, own: &Rank) -> std::io::Result<()> {
    let Some(leader) = leader else {
        // A leader's own processes are on its host, and the environment may be that of what has started the leader.
        return ranks::serve_leader(&|on, rank| own.open(on, [rank, rank]));
    };
    // Launchers bind ranks to processors.
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let own = Rank { threads, ..own.clone() };
    let leads_here = ranks::leads_here(leader);
    let local = |rank| number_on_host(own.local, rank, leads_here);
    ranks::serve_distant(leader, &|on, rank| own.open(on, [rank, local(rank)]))
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
    own: &Rank,
) -> std::io::Result<()> {
    let open = |on, rank| own.open(on, [rank, launched.local]);
    ranks::serve_launched(launched, library, &open)
}

/// What the system could still hand out.
pub fn host_capacity() -> Capacity {
    HostMemory.capacity()
}

/// What the system could still hand out if it did not limit this process.
pub fn physical_capacity() -> Capacity {
    host::physical_capacity()
}
