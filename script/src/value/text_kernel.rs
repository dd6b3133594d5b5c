//! Kernels of texts as scripts hold them.

use porcini_core::text_kernel::TextKernel;
use rhai::{Dynamic, FnPtr};

/// The function that calls a kernel, in front of whose arguments it stands.
pub(crate) const CALL: &str = "call_kernel";

/// A kernel; copies are the same one.
#[derive(Clone, Debug)]
pub(crate) struct KernelRef(pub(crate) TextKernel);

impl KernelRef {
    /// The function that `k(x)` calls.
    pub(crate) fn as_closure(&self) -> FnPtr {
        let mut closure = FnPtr::new(CALL).expect("internal error: no name of a function");
        closure.add_curry(Dynamic::from(self.clone()));
        closure
    }
}
