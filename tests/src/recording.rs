//! A device that runs kernels on the interpreter and keeps each one that it is asked to compile.

use std::sync::{Arc, Mutex, PoisonError};

use porcini_core::Result;
use porcini_core::backend::interp::Interp;
use porcini_core::backend::isa::Isa;
use porcini_core::backend::primitive::{PrimitiveCall, Room};
use porcini_core::backend::{Backend, Executable, Memory};
use porcini_core::ir::kernel::{Kernel, LiteralMode};

/// The device.
pub struct Recording {
    interp: Interp,
    kernels: Mutex<Vec<Kernel>>,
    is_hasty: bool,
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
        Arc::new(Self { interp, kernels: Mutex::default(), is_hasty })
    }

    /// The kernels compiled so far.
    pub fn kernels(&self) -> Vec<Kernel> {
        self.kernels.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Backend for Recording {
    fn name(&self) -> String {
        "recording".into()
    }

    fn quick_version(&self, kernel: &Kernel, _mode: LiteralMode) -> Option<Kernel> {
        self.is_hasty.then(|| Kernel { is_for_few: true, ..kernel.clone() })
    }

    fn lower(&self, kernel: &Kernel, mode: LiteralMode) -> Result<Arc<dyn Executable>> {
        self.kernels.lock().unwrap_or_else(PoisonError::into_inner).push(kernel.clone());
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
