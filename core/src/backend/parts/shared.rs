//! What launches on parts share.

use std::ops::Range;
use std::sync::Arc;

use super::memory::PartMemory;
use super::notes::Notes;
use crate::backend::host::exhausted;
use crate::backend::primitive::Room;
use crate::backend::{Backend, Executable};
use crate::error::Result;
use crate::ir::kernel::{Kernel, LiteralMode};
use crate::memory::caching_allocator::Allocator;

/// The parts of a device.
pub(super) struct Shared {
    /// What computes for each part; the first is here.
    pub(super) devices: Vec<Arc<dyn Backend>>,
    pub(super) memory: PartMemory,
    /// Lanes from which on arrays are split.
    pub(super) whole: u64,
    pub(super) notes: Notes,
    /// Working memory of each GPU, for primitives; the session has that of the first part.
    rooms: Vec<Arc<Allocator>>,
}

/// Code of one kernel for each part.
pub(super) type Codes = Vec<Arc<dyn Executable>>;

impl Shared {
    pub(super) fn new(devices: Vec<Arc<dyn Backend>>, whole: u64) -> Self {
        let gpus = devices.iter().filter(|device| device.gpu().is_some());
        Self {
            memory: PartMemory::new(devices.clone()),
            whole,
            notes: Notes::default(),
            rooms: gpus.map(|gpu| Allocator::new(gpu.clone(), None)).collect(),
            devices,
        }
    }

    /// Whether the parts are GPUs: their work goes on while the caller does, and a launch costs each of them
    /// microseconds.
    pub(super) fn are_gpus(&self) -> bool {
        !self.rooms.is_empty()
    }

    /// Whether this process runs what a part is given.
    pub(super) fn is_here(&self, part: usize) -> bool {
        self.are_gpus() || Arc::ptr_eq(&self.devices[part], &self.devices[0])
    }

    /// The parts that compute what is small: all, which are then spared bringing it, unless it takes them longer than that.
    pub(super) fn for_small(&self) -> Range<usize> {
        0..if self.are_gpus() { 1 } else { self.devices.len() }
    }

    /// Calls `work` with working memory of a part; `room` is what the session hands out, at the first one.
    ///
    /// # Errors
    /// Those of `work`.
    pub(super) fn with_room(
        &self,
        part: usize,
        room: Room<'_>,
        work: impl FnOnce(Room<'_>) -> Result<()>,
    ) -> Result<()> {
        match self.rooms.get(part).filter(|_| part > 0) {
            Some(own) => work(&|bytes| own.alloc(bytes).map_err(|_| exhausted(bytes))),
            None => work(&|bytes| {
                let own = room(bytes)?;
                self.memory.place(0, own.address(), 0..bytes)?;
                Ok(own)
            }),
        }
    }

    /// Compiles a kernel, once where parts share a device.
    ///
    /// # Errors
    /// What a device says.
    pub(super) fn lower(&self, kernel: &Kernel, mode: LiteralMode) -> Result<Codes> {
        let mut codes: Codes = Vec::with_capacity(self.devices.len());
        for (part, device) in self.devices.iter().enumerate() {
            let code = match codes.last() {
                Some(last) if Arc::ptr_eq(device, &self.devices[part - 1]) => last.clone(),
                _ => device.lower(kernel, mode)?,
            };
            codes.push(code);
        }
        Ok(codes)
    }
}
