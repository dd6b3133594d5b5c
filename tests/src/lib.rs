//! The harness of the integration tests in `it/`.
//!
//! [`golden`] runs the sessions in `sessions/`: real scripts with expectations in comments.

pub mod golden;
pub mod host;
