//! What programs ask of devices: which to use, what the machine has, how much memory is left.
//!
//! How devices compile and run kernels is not public: kernels and memory are addresses there. The feature `internals`
//! opens `backend` for tests and benchmarks; nothing checks what they hand over.

pub use crate::backend::cuda::disk_cache::{DiskCache, LIMIT as CACHE_LIMIT};
pub use crate::backend::cuda::{
    GpuInfo, OLDEST_CAPABILITY, Survey, Toolkit, is_installed as has_cuda, survey as survey_cuda,
};
pub use crate::backend::isa::Isa;
pub use crate::backend::{Capacity, DeviceChoice, gives_executable_memory, prepare};

use crate::backend::Memory;
use crate::backend::host::{self, HostMemory};

/// What the system could still hand out.
pub fn host_capacity() -> Capacity {
    HostMemory.capacity()
}

/// What the system could still hand out if it did not limit this process.
pub fn physical_capacity() -> Capacity {
    host::physical_capacity()
}
