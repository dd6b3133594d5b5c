//! The CUDA backend.
//!
//! [`lower()`] prints a kernel as PTX text: a pure function of kernel, literal mode and target, so it
//! runs and is tested without a device.
//!
//! | file | content |
//! |---|---|
//! | `lower.rs` | the outline of an entry: parameters, lane number, instructions, ends |
//! | `lower_op.rs` | one arm per elementwise operation |
//! | `lower_memory.rs` | loads, gathers, stores, scatters |
//! | `lower_reduce.rs` | the reduction tree of S11 |
//! | `writer.rs` | text, register names and declarations |

mod lower;
mod lower_memory;
mod lower_op;
mod lower_reduce;
mod writer;

pub use lower::{CHUNK, LANES_PER_WARP, Target, lower, lower_entry};
pub use lower_reduce::lower_combine;
