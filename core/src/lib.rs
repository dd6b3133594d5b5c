//! Temporary crate docs.
pub mod backend;
pub mod buffer;
pub mod dtype;
pub mod error;
pub mod ir;
pub mod log;
pub mod trace;
