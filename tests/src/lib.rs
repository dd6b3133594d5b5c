//! The harness of the integration tests in `it/`: random programs and what they should give.
//!
//! [`programs`] draws a program and runs it in a session; [`oracle`] computes the same, lane by lane,
//! from the meaning of each operation alone. [`nested`] draws programs over vectors, matrices and complex
//! numbers; what those mean, [`laws`] say. [`golden`] runs the sessions in `sessions/`: real scripts
//! with expectations in comments. [`texts`] draws kernels written as text and runs them as C says. [`in_place`] is a
//! device that overwrites inputs nobody needs any more.

pub mod data;
pub mod devices;
pub mod entries;
pub mod extent;
pub mod fragile;
pub mod generate;
pub mod golden;
pub mod gpu;
pub mod host;
pub mod in_place;
pub mod lanes;
pub mod laws;
pub mod loops;
pub mod nested;
pub mod oracle;
pub mod pace;
pub mod programs;
pub mod random;
pub mod ranks;
pub mod recording;
pub mod texts;
pub mod ways;
pub mod whole;

use std::path::{Path, PathBuf};

/// The root of the repository, or of a copy of what the tests read from it: `PORCINI_ROOT`.
pub fn root() -> PathBuf {
    let copy = std::env::var_os("PORCINI_ROOT").filter(|root| !root.is_empty());
    copy.map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), PathBuf::from)
}
