//! The integration tests: one binary, one module per subject.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod golden;
mod idiv;
