//! What the compiler may use.

use super::executable_memory::Mapping;
use super::machine::Machine;
use super::native::Native;

/// What the compiler may use and takes for granted.
#[derive(Clone, Debug)]
pub struct CpuOptions {
    /// Ways to get executable memory, in the order tried; without any, kernels are interpreted.
    pub mappings: Vec<Mapping>,
    /// Bytes of executable memory in all; kernels beyond are interpreted.
    pub code_bytes: usize,
    /// Elements of the largest buffer that is reached by 32-bit indices as they are; they are signed to
    /// the processor.
    pub near: u64,
    /// Instructions from which on a program is cut into segments: as code they fill a cache of instructions.
    pub segmented_from: usize,
    /// Bytes of a segment: what a cache of instructions holds.
    pub segment_bytes: u64,
    /// Bytes of spills of the packets that run through a segment one after the other, about.
    pub tile_bytes: usize,
    /// Bytes that a launch moves from which on it is measured which style of code suits the caches.
    pub tuned_from: u64,
    /// Nanoseconds of work from which on a second thread pays: waking it costs some.
    pub threaded_from: u32,
    /// Lanes from which on it is measured whether threads share what they scatter; from 0 on they do.
    pub scattered_from: u64,
}

impl Default for CpuOptions {
    fn default() -> Self {
        let caches = Native::caches();
        Self {
            mappings: vec![Mapping::Dual, Mapping::Jit, Mapping::Protected],
            code_bytes: 1 << 30,
            near: 1 << 31,
            segmented_from: caches.instructions / Native::INSTRUCTION_BYTES,
            // The last quarter is for what the cache holds besides, and for what falls on the same lines.
            segment_bytes: caches.instructions as u64 / 4 * 3,
            tile_bytes: caches.second,
            tuned_from: 4 * caches.second as u64,
            threaded_from: 40_000,
            scattered_from: 1 << 15,
        }
    }
}
