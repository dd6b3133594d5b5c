//! Temporary crate docs.
pub mod alloc;
pub mod array;
pub mod backend;
pub mod buffer;
pub mod dtype;
pub mod error;
pub mod eval;
pub mod inspect;
pub mod interrupt;
pub mod ir;
pub mod log;
pub mod random;
pub mod session;
pub mod trace;
pub mod vector;

pub use array::{Array, Operand};
pub use backend::DeviceChoice;
pub use dtype::{DType, Element, Scalar};
pub use error::{Error, Result};
pub use session::{Runtime, Session};
