//! Memory: of devices, in blocks that arrays share, and of the process.

#[doc(hidden)]
pub mod alloc;
#[doc(hidden)]
pub mod buffer;
pub mod heap;
