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
mod memory;
#[cfg(test)]
pub(crate) mod mocks;
mod open;
mod outside;
#[cfg(target_os = "linux")]
pub(crate) mod pages;
mod part_notes;
pub mod parts;
mod peer_memory;
pub mod primitive;
pub mod queue;
pub mod ranks;
pub(crate) mod reduce;
mod shared_file;
mod sorted_run;
pub mod thread_pool;
mod waiting;

pub use gpus::Gpus;
pub use interface::{
    Alone, Backend, Begun, CodeStatistics, Communicator, Executable, Failures, GpuBackend,
    LaunchShape, Launched, LoadedEntry, LoadedModule, Origin, OutOfBounds, Outcome, Pending, Ran,
    Running, RunsRanges,
};
pub use memory::{Capacity, Counted, Counts, Memory, Parcel, Piece, Reach};
#[cfg(unix)]
pub use open::open_rank;
pub use open::{
    DeviceChoice, MOST_RANKS, gives_executable_memory, open, open_processor, opens_late, prepare,
};
pub use outside::{Listener, Outside};
pub use part_notes::{Exchange, Operand, PartNotes, PartWork, Slowest};
pub use shared_file::{FileLanes, SharedFile};
pub use sorted_run::{Look, SortedRun, Sought, Words};
