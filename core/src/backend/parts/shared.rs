//! What launches on parts share.

use std::ops::Range;
use std::sync::{Arc, OnceLock, Weak};

use super::begun::all;
use super::memory::PartMemory;
use super::notes::{Notes, Took};
use crate::backend::host::refusal;
use crate::backend::primitive::Room;
use crate::backend::{Backend, Counted, Counts, Executable};
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
    /// Who counts what sessions use, and bounds it.
    counted: OnceLock<Weak<dyn Counts>>,
    /// Working memory of each GPU of this process, for primitives; the session has that of the first part.
    rooms: Vec<Option<Arc<Allocator>>>,
}

/// Code of one kernel for each part.
pub(super) type Codes = Vec<Arc<dyn Executable>>;

impl Shared {
    pub(super) fn new(devices: Vec<Arc<dyn Backend>>, whole: u64) -> Self {
        let room =
            |device: &Arc<dyn Backend>| device.gpu().map(|_| Allocator::new(device.clone(), None));
        let rooms: Vec<_> = devices.iter().map(room).collect();
        let memory = PartMemory::new(devices.clone(), rooms.clone(), whole);
        let (notes, counted) = (Notes::default(), OnceLock::new());
        Self { memory, whole, notes, counted, rooms, devices }
    }

    pub(super) fn count_in(&self, memory: Weak<dyn Counts>) {
        // The first has all sessions of a device.
        drop(self.counted.set(memory));
    }

    /// Counts bytes that parts take beside arrays, for `a sort`, until what this returns is dropped.
    ///
    /// # Errors
    /// `OutOfMemory` beyond the limit of sessions.
    pub(super) fn hold(&self, bytes: u64, purpose: &str) -> Result<Option<Counted>> {
        let counts = self.counted.get().and_then(Weak::upgrade);
        counts.map(|counts| counts.count(bytes, purpose)).transpose()
    }

    /// Whether the parts are GPUs, here or of other processes: their work goes on while the caller does, and a launch costs
    /// each of them microseconds.
    pub(super) fn are_gpus(&self) -> bool {
        self.devices[0].gpu_id().is_some()
    }

    /// Whether parts get code when they share a launch: GPUs of other processes, which compile slowly and one kernel after the
    /// other, and of which the first runs alone what is short.
    pub(super) fn compiles_late(&self) -> bool {
        self.are_gpus() && self.rooms.iter().any(Option::is_none)
    }

    /// Whether this process runs what a part is given.
    pub(super) fn is_here(&self, part: usize) -> bool {
        self.rooms[part].is_some() || Arc::ptr_eq(&self.devices[part], &self.devices[0])
    }

    /// The parts that compute what is small: all, which are then spared bringing it, unless it takes them longer than that.
    pub(super) fn for_small(&self) -> Range<usize> {
        0..if self.are_gpus() { 1 } else { self.devices.len() }
    }

    /// Takes note of how long parts took. Of GPUs nobody waits for some, and for others only behind them.
    pub(super) fn took(&self, works: impl IntoIterator<Item = Took>) {
        if !self.are_gpus() {
            self.notes.took(works);
        }
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
        match self.rooms[part].as_ref().filter(|_| part > 0) {
            Some(own) => {
                let refused = |bytes| refusal(self.memory.of(part), bytes);
                work(&|bytes| own.alloc(bytes).map_err(|_| refused(bytes)))
            }
            None => work(&|bytes| {
                let own = room(bytes)?;
                self.memory.place(0, own.address(), 0..bytes)?;
                Ok(own)
            }),
        }
    }

    /// Compiles a kernel for each part.
    ///
    /// # Errors
    /// What a device says.
    pub(super) fn lower(&self, kernel: &Kernel, mode: LiteralMode) -> Result<Codes> {
        self.lower_behind(self.devices[0].lower(kernel, mode)?, kernel, mode)
    }

    /// The code of each part, of which the first has its own: once where parts share a device, and by other processes beside
    /// each other.
    ///
    /// # Errors
    /// What a device says.
    pub(super) fn lower_behind(
        &self,
        first: Arc<dyn Executable>,
        kernel: &Kernel,
        mode: LiteralMode,
    ) -> Result<Codes> {
        let is_again = |part: usize| Arc::ptr_eq(&self.devices[part], &self.devices[part - 1]);
        let others = (1..self.devices.len()).filter(|&part| !is_again(part));
        let begun = others.map(|part| self.devices[part].begin_lower(kernel, mode));
        let mut lowered = all(begun)?.into_iter();
        let mut codes = vec![first];
        for part in 1..self.devices.len() {
            let again = codes.last().filter(|_| is_again(part)).cloned();
            codes.extend(again.or_else(|| lowered.next()));
        }
        Ok(codes)
    }
}
