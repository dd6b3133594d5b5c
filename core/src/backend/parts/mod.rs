//! A device with parts (S31): each has memory of its own, and runs its lanes of every launch.
//!
//! One session records, plans and reads; what it launches goes to all parts with the same kernel. Lane numbers are those
//! of the whole launch, parts begin at borders of the tree of reductions, and what a part reads of others is brought to
//! it before (`memory.rs`), found from the expressions of indices (`windows.rs`) or the indices
//! themselves (`extremes.rs`): so the bits are those of one part.

mod begun;
mod block;
mod by_owner;
mod calls;
mod company;
mod cuts;
mod extremes;
mod forecast;
mod gpus;
mod launch;
mod machines;
mod memory;
mod notes;
mod partition;
mod primitive;
mod scan;
mod scatter;
mod shared;
mod sort;
mod spans;
mod split;
mod stage;
mod transfer;
mod wanted;
mod windows;
mod working;

use std::sync::{Arc, Weak};

use self::shared::Shared;
use super::primitive::{PrimitiveCall, Room};
use super::{Backend, Counts, Exchange, Executable, GpuBackend, Memory, Operand, PartNotes};
use crate::error::Result;
use crate::ir::kernel::{Kernel, LiteralMode};

/// Lanes from which on arrays are split; shorter ones are whole at every part.
pub(super) const WHOLE: u64 = 1 << 16;
/// The same of GPUs, which run so many lanes at once; shorter ones are at the first.
pub(super) const WHOLE_ON_GPUS: u64 = 1 << 21;

/// One device of several, or of parts of the memory and the time of one.
pub struct Parts {
    name: String,
    shared: Arc<Shared>,
}

impl Parts {
    /// So many parts of a device; arrays of fewer lanes than `whole` are whole at every part.
    pub fn of(device: &Arc<dyn Backend>, parts: usize, whole: u64) -> Self {
        Self::over(&format!("cpu:{parts}"), vec![device.clone(); parts.max(1)], whole)
    }

    /// Devices as parts of one that users call so; the first is here.
    pub fn over(name: &str, devices: Vec<Arc<dyn Backend>>, whole: u64) -> Self {
        // The first word is what users call it.
        let first = devices[0].name();
        let own = first.split(' ').next().unwrap_or_default();
        let name = first.replacen(own, name, 1);
        Self { name, shared: Arc::new(Shared::new(devices, whole)) }
    }
}

impl Backend for Parts {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn gpu(&self) -> Option<&dyn GpuBackend> {
        self.shared.are_gpus().then_some(self)
    }

    fn lower(&self, kernel: &Kernel, mode: LiteralMode) -> Result<Arc<dyn Executable>> {
        Ok(Arc::new(launch::Loaded::new(&self.shared, kernel, mode)?))
    }

    fn disassemble(&self, kernel: &Kernel, mode: LiteralMode) -> Result<Option<String>> {
        self.shared.devices[0].disassemble(kernel, mode)
    }

    fn run_primitive(&self, call: &PrimitiveCall, room: Room<'_>) -> Result<()> {
        primitive::run(&self.shared, call, room)
    }

    fn count_in(&self, memory: Weak<dyn Counts>) {
        self.shared.count_in(memory);
    }

    fn parts(&self) -> usize {
        self.shared.devices.len()
    }

    fn take_notes(&self) -> PartNotes {
        let refusal = self.shared.memory.carrier.take_refusal();
        PartNotes { refusal: refusal.map(|error| error.to_string()), ..self.shared.notes.take() }
    }

    fn exchange(&self, kernel: &Kernel, n: u64, operands: &[Operand]) -> Option<Exchange> {
        Some(forecast::forecast(&self.shared, kernel, n, operands))
    }

    fn held_by_parts(&self, address: u64, bytes: u64) -> Option<Vec<u64>> {
        Some(self.shared.memory.has(address, bytes))
    }

    fn memory(&self) -> &dyn Memory {
        &self.shared.memory
    }

    fn sync(&self) -> Result<()> {
        self.shared.devices.iter().try_for_each(|device| device.sync())
    }

    fn before_fork(&self) -> Result<bool> {
        let can = self.shared.devices.iter().map(|device| device.before_fork());
        can.reduce(|all, can| Ok(all? & can?)).unwrap_or(Ok(true))
    }

    fn leave(&self) {
        self.shared.devices.iter().for_each(|device| device.leave());
    }

    fn is_lost(&self) -> bool {
        self.shared.devices.iter().any(|device| device.is_lost())
    }
}
