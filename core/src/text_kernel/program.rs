//! What was read of a text, and of what is around it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::tree::Function;
use crate::dtype::Scalar;

/// What a text uses of what is around it, by name.
#[derive(Clone, Debug)]
pub enum Captured {
    /// A number, by its value now.
    Number(Scalar),
    /// Another kernel.
    Kernel(TextKernel),
}

/// A kernel of a text. Cloning names the same one.
#[derive(Clone, Debug)]
pub struct TextKernel {
    pub(super) program: Arc<Program>,
}

/// A text that was read.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) text: String,
    /// The last one is the kernel.
    pub(super) functions: Vec<Function>,
    pub(super) captured: Vec<(String, Captured)>,
    pub(super) stats: Mutex<BTreeMap<String, Stats>>,
}

/// Calls with arguments of certain types.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stats {
    /// How many there were.
    pub calls: u64,
    /// What the first one took to record.
    pub first: Duration,
}
