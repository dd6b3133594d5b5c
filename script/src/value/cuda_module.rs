//! Modules of CUDA C++ as scripts hold them, and kernels of them.

use porcini_core::cuda_module::{CudaModule, ModuleKernel};
use rhai::Dynamic;

/// Kernels that a line names at most.
const MOST_KERNELS: usize = 3;

/// A module.
#[derive(Clone, Debug)]
pub(crate) struct ModuleRef(pub(crate) CudaModule);

/// A kernel of one.
#[derive(Clone, Debug)]
pub(crate) struct ModuleKernelRef(pub(crate) ModuleKernel);

impl ModuleRef {
    /// The kernels that its source declares, as C++ has them.
    pub(crate) fn kernels(&self) -> Vec<String> {
        let kernels = self.0.kernels().into_iter();
        kernels.map(|(name, signature)| format!("{name}({signature})")).collect()
    }

    /// What `help(m)` says.
    pub(crate) fn about(&self) -> String {
        let kernels: String = self.kernels().iter().map(|kernel| format!("  {kernel}\n")).collect();
        format!("A module of CUDA C++.\n\n{kernels}\nhelp(\"cuda_module\") tells of modules.\n")
    }
}

impl ModuleKernelRef {
    fn signature(&self) -> String {
        format!("cuda_kernel {}({})", self.0.name(), self.0.types())
    }

    /// What `help(k)` says.
    pub(crate) fn about(&self) -> String {
        format!("{}\n\nhelp(\"launch\") tells how it is launched.\n", self.signature())
    }
}

/// A module or a kernel of one in a line.
pub(crate) fn line_of(value: &Dynamic) -> Option<String> {
    if let Some(kernel) = value.read_lock::<ModuleKernelRef>() {
        return Some(kernel.signature());
    }
    let kernels = value.read_lock::<ModuleRef>()?.kernels();
    let first = kernels[..kernels.len().min(MOST_KERNELS)].join(", ");
    let more = match kernels.len().saturating_sub(MOST_KERNELS) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    Some(format!("cuda_module {first}{more}").trim_end().into())
}
