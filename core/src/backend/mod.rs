//! Devices behind one trait: lower, launch, primitives, memory.

mod apart;
mod control_groups;
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), unix))]
pub mod cpu;
pub mod cuda;
mod gpus;
pub mod host;
mod index;
mod interface;
pub mod interp;
pub mod isa;
pub(crate) mod limits;
mod open;
mod outside;
#[cfg(target_os = "linux")]
pub(crate) mod pages;
pub mod parts;
pub mod primitive;
pub mod queue;
pub mod ranks;
pub(crate) mod reduce;
pub mod thread_pool;

pub use gpus::Gpus;
pub use interface::{
    Alone, Backend, Begun, Capacity, CodeStatistics, Exchange, Executable, Failures, GpuBackend,
    LaunchShape, Launched, LoadedEntry, LoadedModule, Memory, Operand, Origin, OutOfBounds,
    Outcome, PartNotes, Pending, Ran, Running, RunsRanges, Slowest,
};
pub use open::{DeviceChoice, gives_executable_memory, open, open_processor, opens_late, prepare};
pub use outside::{Listener, Outside};
