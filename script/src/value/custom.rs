//! Functions whose derivatives scripts have written.

use rhai::FnPtr;

/// A function with a derivative of its own.
pub(crate) struct Custom {
    pub(crate) op: &'static str,
    pub(crate) eval: FnPtr,
    /// From cotangent and arguments to those of the arguments; without it, the function is computed again.
    pub(crate) backward: Option<FnPtr>,
    /// From tangents and arguments to that of the value.
    pub(crate) forward: Option<FnPtr>,
}
