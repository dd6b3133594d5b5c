//! Room in host memory for what sessions copy there: checked before it is asked for.

use crate::backend::host::HostMemory;
use crate::backend::{Capacity, Memory as _};
use crate::error::{Error, Result};
use crate::eval::exhausted::out_of_memory;
use crate::memory::caching_allocator::{Bytes, Held, Limit};
use crate::session::Session;

/// What to do where lanes are too many.
const FEWER_LANES: &str = "; fewer lanes at a time take less";

impl Session {
    /// Refuses to copy more to the host than it has left, or than the session may have: a memory limit that was set
    /// holds for copies too.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn check_host_memory(&self, bytes: u64) -> Result<()> {
        self.check_room(bytes, FEWER_LANES)
    }

    /// The same of what is in a file, which has no lanes.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn check_file_memory(&self, bytes: u64) -> Result<()> {
        self.check_room(bytes, "")
    }

    fn check_room(&self, bytes: u64, remedy: &str) -> Result<()> {
        // Asking the system costs as much as copying this much.
        const SMALL: u64 = 1 << 24;
        if bytes < SMALL {
            return Ok(());
        }
        if let Some(limit) = self.runtime().memory_limit() {
            let device = self.runtime().opened();
            // What a GPU holds takes nothing from the host.
            let host = device.filter(|device| device.backend.gpu().is_none());
            let used = host.map_or(0, |device| device.memory.info().used);
            if used.saturating_add(bytes) > limit.bytes {
                return Err(self.host_exhausted(bytes, limit.to_string(), remedy));
            }
        }
        let fits = bytes <= HostMemory.capacity().bytes;
        if fits { Ok(()) } else { Err(self.no_host_memory(bytes, remedy)) }
    }

    /// The memory limit, if one was set.
    pub fn memory_limit(&self) -> Option<Limit> {
        self.runtime().memory_limit()
    }

    /// Counts what is in host memory beside arrays as used, as long as it is held; `None` where arrays are in that of a GPU.
    ///
    /// # Errors
    /// `OutOfMemory` beyond the memory limit; what opening the device fails with.
    pub fn hold_host_memory(&self, bytes: u64) -> Result<Option<Held>> {
        let device = self.device()?;
        if device.backend.gpu().is_some() {
            return Ok(None);
        }
        let held = device.memory.hold(bytes);
        held.map(Some).map_err(|exhausted| self.with_table(|table| out_of_memory(table, exhausted)))
    }

    fn no_host_memory(&self, bytes: u64, remedy: &str) -> Error {
        let Capacity { bytes: left, whose } = HostMemory.capacity();
        self.host_exhausted(bytes, format!("{} that {whose} has left", Bytes(left)), remedy)
    }

    fn host_exhausted(&self, bytes: u64, limit: String, remedy: &str) -> Error {
        Error::OutOfMemory {
            requested: Bytes(bytes).to_string(),
            used: Bytes(self.memory_info().used).to_string(),
            limit,
            largest: remedy.into(),
        }
    }

    /// Room for `n` values in host memory, or the error that says there is too little.
    pub(crate) fn host_room<T>(&self, n: usize) -> Result<Vec<T>> {
        let bytes = n.saturating_mul(size_of::<T>()) as u64;
        self.check_host_memory(bytes)?;
        let mut room = Vec::new();
        room.try_reserve_exact(n).map_err(|_| self.no_host_memory(bytes, FEWER_LANES))?;
        Ok(room)
    }
}
