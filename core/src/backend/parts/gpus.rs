//! What GPUs as parts of one device are to the rest: what each of them is, since they are alike. Those of other processes are
//! asked for nothing here.

use super::Parts;
use crate::backend::{GpuBackend, LoadedModule};
use crate::error::{Error, Result};
use crate::ir::kernel::{Kernel, LiteralMode};

impl Parts {
    fn gpus(&self) -> impl Iterator<Item = &dyn GpuBackend> {
        self.shared.devices.iter().filter_map(|device| device.gpu())
    }

    fn first(&self) -> &dyn GpuBackend {
        self.gpus().next().expect("internal error: a GPU among parts that are none")
    }
}

impl GpuBackend for Parts {
    /// That of the first, where others find what they are lent.
    fn number(&self) -> u32 {
        self.first().number()
    }

    fn wait_for_everyone(&self) -> Result<()> {
        self.gpus().try_for_each(GpuBackend::wait_for_everyone)
    }

    fn variant(&self) -> fn(&Kernel, u64, usize) -> u64 {
        self.first().variant()
    }

    fn apart(&self) -> fn(u64, u32) -> bool {
        self.first().apart()
    }

    fn quick_version(&self, kernel: &Kernel, mode: LiteralMode, n: u64) -> Option<Kernel> {
        self.first().quick_version(kernel, mode, n)
    }

    fn source(&self, kernel: &Kernel, mode: LiteralMode) -> Option<String> {
        self.first().source(kernel, mode)
    }

    fn fail(&self) -> Result<()> {
        self.first().fail()
    }

    fn capability(&self) -> u32 {
        self.first().capability()
    }

    fn load(&self, _: &[u8]) -> Result<std::sync::Arc<dyn LoadedModule>> {
        Err(Error::NoDevice {
            name: self.name.clone(),
            reason: "CUDA modules run on one GPU; use --device cuda:0".into(),
        })
    }

    fn is_lost(&self) -> bool {
        self.gpus().any(GpuBackend::is_lost)
    }
}
