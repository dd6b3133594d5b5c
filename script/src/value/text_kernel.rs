//! Kernels of texts as scripts hold them.

use porcini_core::text_kernel::{TextKernel, TextReduction};
use rhai::{Dynamic, FnPtr};

/// The function that calls a kernel, in front of whose arguments it stands.
pub(crate) const CALL: &str = "call_kernel";

/// A kernel; copies are the same one.
#[derive(Clone, Debug)]
pub(crate) struct KernelRef(pub(crate) TextKernel);

/// A reduction or scan; copies are the same one.
#[derive(Clone, Debug)]
pub(crate) struct ReductionRef(pub(crate) TextReduction);

/// The function that `k(x)` calls, if `k` is a kernel or a reduction.
pub(crate) fn as_closure(value: &Dynamic) -> Option<FnPtr> {
    let is_callable = value.is::<KernelRef>() || value.is::<ReductionRef>();
    is_callable.then(|| {
        let mut closure = FnPtr::new(CALL).expect("internal error: no name of a function");
        closure.add_curry(value.clone());
        closure
    })
}
