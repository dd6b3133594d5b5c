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
}

impl Recording {
    /// A device on one thread.
    pub fn new() -> Arc<Self> {
        Arc::new(Self { interp: Interp::new(Isa::detect(), 1), kernels: Mutex::default() })
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
