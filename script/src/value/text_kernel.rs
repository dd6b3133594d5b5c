//! Kernels of texts as scripts hold them: functions that stand for a kernel, called as any other.

use porcini_core::text_kernel::{Stats, TextKernel, TextReduction};
use porcini_core::{DType, Result as CoreResult, Session, Value};
use rhai::{Dynamic, FnPtr};

use super::standing::standing_for;

/// The function that calls a kernel, which is its first argument.
pub(crate) const CALL: &str = "call_kernel";
/// The most arguments with which a kernel is called. Each number more is read at each start, which takes as long as its
/// square.
pub(crate) const MOST_PARAMETERS: usize = 20;

/// A kernel or a reduction; copies are the same one.
#[derive(Clone, Debug)]
pub(crate) enum KernelRef {
    Kernel(TextKernel),
    Reduction(TextReduction),
}

impl PartialEq for KernelRef {
    /// Whether both name the same kernel.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Kernel(one), Self::Kernel(other)) => one.is(other),
            (Self::Reduction(one), Self::Reduction(other)) => one.is(other),
            _ => false,
        }
    }
}

impl KernelRef {
    /// The function that stands for it.
    pub(crate) fn into_function(self) -> FnPtr {
        standing_for(CALL, Dynamic::from(self))
    }

    /// What a function stands for.
    pub(crate) fn of(value: &Dynamic) -> Option<Self> {
        let function = value.read_lock::<FnPtr>()?;
        let first = function.curry().first()?;
        first.read_lock::<Self>().map(|kernel| kernel.clone())
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Kernel(kernel) => kernel.name(),
            Self::Reduction(reduction) => reduction.name(),
        }
    }

    /// Its calls by the types of the arguments.
    pub(crate) fn stats(&self) -> Vec<(String, Stats)> {
        match self {
            Self::Kernel(kernel) => kernel.stats(),
            Self::Reduction(reduction) => reduction.stats(),
        }
    }

    /// What it gives for arrays of a few lanes, to look at.
    pub(crate) fn sample(
        &self,
        session: &Session,
        types: &[Option<DType>],
    ) -> CoreResult<Vec<Value>> {
        match self {
            Self::Kernel(kernel) => kernel.sample(session, types),
            Self::Reduction(reduction) => reduction.sample(session, types),
        }
    }

    /// What it is and takes: `kernel sq(T x, T y)`.
    pub(crate) fn signature(&self) -> String {
        match self {
            Self::Kernel(kernel) => format!("kernel {}", kernel.signature()),
            Self::Reduction(reduction) => reduction.signature(),
        }
    }

    /// Its text.
    pub(crate) fn source(&self) -> &str {
        match self {
            Self::Kernel(kernel) => kernel.source(),
            Self::Reduction(reduction) => reduction.source(),
        }
    }
}
