//! A device that runs on the interpreter until it is told to fail, and passes for a GPU.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use porcini_core::backend::interp::Interp;
use porcini_core::backend::isa::Isa;
use porcini_core::backend::primitive::{PrimitiveCall, Room};
use porcini_core::backend::{Backend, Executable, GpuBackend, Memory};
use porcini_core::ir::kernel::{Kernel, LiteralMode};
use porcini_core::{Error, Result};

const SOUND: u8 = 0;
const FAILING: u8 = 1;
const LOST: u8 = 2;

/// The device.
pub struct Fragile {
    interp: Interp,
    state: AtomicU8,
}

impl Fragile {
    /// A device on one thread.
    pub fn new() -> Arc<Self> {
        Arc::new(Self { interp: Interp::new(Isa::detect(), 1), state: AtomicU8::new(SOUND) })
    }
}

impl Backend for Fragile {
    fn name(&self) -> String {
        "fragile".into()
    }

    fn gpu(&self) -> Option<&dyn GpuBackend> {
        Some(self)
    }

    fn lower(&self, kernel: &Kernel, mode: LiteralMode) -> Result<Arc<dyn Executable>> {
        self.interp.lower(kernel, mode)
    }

    fn run_primitive(&self, call: &PrimitiveCall, room: Room<'_>) -> Result<()> {
        self.interp.run_primitive(call, room)
    }

    fn memory(&self) -> &dyn Memory {
        self.interp.memory()
    }

    fn sync(&self) -> Result<()> {
        if self.state.load(Ordering::Relaxed) == SOUND {
            return Ok(());
        }
        self.state.store(LOST, Ordering::Relaxed);
        let (what, reason) = ("waiting", "it was told to".into());
        Err(Error::DeviceFailed { device: self.name(), what, reason, lost: true })
    }
}

impl GpuBackend for Fragile {
    fn number(&self) -> u32 {
        0
    }

    fn fail(&self) -> Result<()> {
        self.state.store(FAILING, Ordering::Relaxed);
        Ok(())
    }

    fn is_lost(&self) -> bool {
        self.state.load(Ordering::Relaxed) == LOST
    }
}
