//! The harness of the integration tests in `it/`: random programs and what they should give.
//!
//! [`programs`] draws a program and runs it in a session; [`oracle`] computes the same, lane by lane,
//! from the meaning of each operation alone.

pub mod data;
pub mod generate;
pub mod oracle;
pub mod programs;
pub mod random;
