//! Memory: of devices, in blocks that arrays share, and of the process.

#[doc(hidden)]
pub mod buffer;
#[doc(hidden)]
pub mod caching_allocator;
pub mod process_heap;
