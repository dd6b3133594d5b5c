//! A device with parts (S31): each has memory of its own, and runs its lanes of every launch.
//!
//! One session records, plans and reads; what it launches goes to all parts with the same kernel. Lane numbers are those
//! of the whole launch, parts begin at borders of the tree of reductions, and what a part reads of others is brought to
//! it before (`memory.rs`), found from the expressions of indices (`windows.rs`): so the bits are those of one part.

mod launch;
mod memory;
mod partition;
mod primitive;
mod scatter;
mod shared;
mod spans;
mod windows;
mod working;

use std::sync::Arc;

use self::memory::PartMemory;
use self::shared::{Exchanged, Shared};
use super::primitive::{PrimitiveCall, Room};
use super::{Backend, Executable, Memory};
use crate::error::Result;
use crate::ir::kernel::{Kernel, LiteralMode};

/// Lanes from which on arrays are split; shorter ones are whole at every part.
pub(super) const WHOLE: u64 = 1 << 16;

/// Parts of the memory and the time of one device.
pub struct Parts {
    shared: Arc<Shared>,
}

impl Parts {
    /// So many parts of a device; arrays of fewer lanes than `whole` are whole at every part.
    pub fn of(device: Arc<dyn Backend>, parts: usize, whole: u64) -> Self {
        let memory = PartMemory::new(device.clone(), parts.max(1));
        Self { shared: Arc::new(Shared { device, memory, whole, exchanged: Exchanged::default() }) }
    }
}

impl Backend for Parts {
    fn name(&self) -> String {
        // The first word is what users call it.
        let parts = self.shared.memory.parts();
        self.shared.device.name().replacen("cpu", &format!("cpu:{parts}"), 1)
    }

    fn lower(&self, kernel: &Kernel, mode: LiteralMode) -> Result<Arc<dyn Executable>> {
        Ok(Arc::new(launch::Loaded::new(&self.shared, kernel, mode)?))
    }

    fn disassemble(&self, kernel: &Kernel, mode: LiteralMode) -> Result<Option<String>> {
        self.shared.device.disassemble(kernel, mode)
    }

    fn run_primitive(&self, call: &PrimitiveCall, room: Room<'_>) -> Result<()> {
        primitive::run(&self.shared, call, room)
    }

    fn take_exchanged(&self) -> u64 {
        self.shared.exchanged.take()
    }

    fn held_by_parts(&self, address: u64, bytes: u64) -> Option<Vec<u64>> {
        Some(self.shared.memory.has(address, bytes))
    }

    fn memory(&self) -> &dyn Memory {
        &self.shared.memory
    }

    fn sync(&self) -> Result<()> {
        self.shared.device.sync()
    }
}
