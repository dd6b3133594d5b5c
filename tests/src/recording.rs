//! A device that runs kernels on the interpreter and keeps each one that it is asked to compile.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use porcini_core::backend::interp::Interp;
use porcini_core::backend::isa::Isa;
use porcini_core::backend::primitive::{PrimitiveCall, Room};
use porcini_core::backend::{Backend, Executable, GpuBackend, Memory};
use porcini_core::ir::kernel::{Kernel, LiteralMode};
use porcini_core::{Error, Result};

/// The device.
pub struct Recording {
    interp: Interp,
    kernels: Mutex<Vec<Kernel>>,
    is_hasty: bool,
    /// The compilation that fails, by its number.
    refused: AtomicUsize,
}

impl Recording {
    /// A device on one thread.
    pub fn new() -> Arc<Self> {
        Self::with(false)
    }

    /// The same, whose first launches have kernels for few lanes.
    pub fn hasty() -> Arc<Self> {
        Self::with(true)
    }

    fn with(is_hasty: bool) -> Arc<Self> {
        let interp = Interp::new(Isa::detect(), 1);
        let refused = AtomicUsize::new(usize::MAX);
        Arc::new(Self { interp, kernels: Mutex::default(), is_hasty, refused })
    }

    /// Lets the compilation of this number fail, counted from 0.
    pub fn refuse(&self, number: usize) {
        self.refused.store(number, Ordering::Relaxed);
    }

    /// The kernels compiled so far, refused ones too.
    pub fn kernels(&self) -> Vec<Kernel> {
        self.kernels.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Backend for Recording {
    fn name(&self) -> String {
        "recording".into()
    }

    fn gpu(&self) -> Option<&dyn GpuBackend> {
        self.is_hasty.then_some(self as &dyn GpuBackend)
    }

    fn lower(&self, kernel: &Kernel, mode: LiteralMode) -> Result<Arc<dyn Executable>> {
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        kernels.push(kernel.clone());
        if kernels.len() == self.refused.load(Ordering::Relaxed).saturating_add(1) {
            let message = "refused".into();
            return Err(Error::Compilation { device: self.name(), message });
        }
        self.interp.lower(kernel, mode)
    }

    fn run_primitive(&self, call: &PrimitiveCall, room: Room<'_>) -> Result<()> {
        self.interp.run_primitive(call, room)
    }

    fn memory(&self) -> &dyn Memory {
        self.interp.memory()
    }

    fn sync(&self) -> Result<()> {
        self.interp.sync()
    }
}

impl GpuBackend for Recording {
    fn number(&self) -> u32 {
        0
    }

    fn quick_version(&self, kernel: &Kernel, _mode: LiteralMode, _n: u64) -> Option<Kernel> {
        Some(Kernel { variant: 1, ..kernel.clone() })
    }
}
