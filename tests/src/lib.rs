//! The harness of the integration tests in `it/`: random numbers and sessions.

pub mod random;
