//! A device that runs on the interpreter until it is told to fail, and passes for a GPU.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use porcini_core::backend::interp::Interp;
use porcini_core::backend::isa::Isa;
use porcini_core::backend::primitive::{PrimitiveCall, Room};
use porcini_core::backend::{Backend, Capacity, Executable, GpuBackend, Memory};
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
        self
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

/// A copy to the host hears of a failure, as that of a GPU does.
impl Memory for Fragile {
    fn alloc_raw(&self, bytes: usize) -> Option<u64> {
        self.interp.memory().alloc_raw(bytes)
    }

    fn free_raw(&self, address: u64, bytes: usize) {
        self.interp.memory().free_raw(address, bytes);
    }

    fn fill(&self, address: u64, pattern: u64, bytes: usize, n: u64) -> Result<()> {
        self.interp.memory().fill(address, pattern, bytes, n)
    }

    fn copy(&self, target: u64, source: u64, bytes: usize) -> Result<()> {
        self.interp.memory().copy(target, source, bytes)
    }

    fn write(&self, target: u64, source: &[u8]) -> Result<()> {
        self.interp.memory().write(target, source)
    }

    fn read(&self, source: u64, target: &mut [u8]) -> Result<()> {
        self.sync()?;
        self.interp.memory().read(source, target)
    }

    fn capacity(&self) -> Capacity {
        self.interp.memory().capacity()
    }

    fn is_host(&self) -> bool {
        self.interp.memory().is_host()
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
