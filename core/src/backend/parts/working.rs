//! Working memory, which is given back.

use super::shared::Shared;
use crate::backend::Memory;
use crate::backend::host::{ALIGNMENT, refusal};
use crate::error::{Error, Result};
use crate::memory::caching_allocator::Held;

/// A block of working memory.
pub(super) struct Working<'m> {
    memory: &'m dyn Memory,
    pub(super) address: u64,
    bytes: usize,
    /// What it counts in the session.
    _held: Option<Held>,
}

impl<'m> Working<'m> {
    /// Some that is small.
    pub(super) fn of(memory: &'m dyn Memory, bytes: usize) -> Result<Self> {
        let bytes = bytes.max(1).next_multiple_of(ALIGNMENT);
        let address = memory.alloc_raw(bytes).ok_or_else(|| refusal(memory, bytes as u64))?;
        Ok(Self { memory, address, bytes, _held: None })
    }

    /// The same of any length, within the session's limit: ` for a sort`.
    pub(super) fn counted(
        shared: &Shared,
        memory: &'m dyn Memory,
        bytes: u64,
        purpose: &str,
    ) -> Result<Self> {
        let held = shared.hold(bytes, purpose)?;
        let fits = usize::try_from(bytes).ok().filter(|&bytes| bytes <= MOST);
        let bytes = fits.ok_or_else(|| refusal(memory, bytes))?;
        Ok(Self { _held: held, ..Self::of(memory, bytes)? })
    }

    /// So many bytes at each part, which all of them will write from end to end.
    pub(super) fn of_parts(shared: &'m Shared, bytes: &[u64], purpose: &str) -> Result<Vec<Self>> {
        see_that_there_is(shared, bytes)?;
        let of_part =
            |(part, &bytes)| Self::counted(shared, shared.memory.of(part), bytes, purpose);
        bytes.iter().enumerate().map(of_part).collect()
    }
}

/// Bytes from which on the system is asked whether it has room.
const LARGE: u64 = 1 << 26;
/// Bytes that no system has, and that can still be rounded up.
const MOST: usize = isize::MAX.cast_unsigned() - ALIGNMENT;

/// Asks machines for what their parts will write, as a system gives more than it has. Parts of this machine are asked for
/// together.
fn see_that_there_is(shared: &Shared, bytes: &[u64]) -> Result<()> {
    let is_near = |part: usize| shared.is_here(part) || shared.devices[part].process().is_some();
    let (near, far): (Vec<_>, Vec<_>) =
        bytes.iter().copied().enumerate().partition(|&(part, _)| is_near(part));
    let here = near.into_iter().map(|(_, bytes)| bytes).fold(0, u64::saturating_add);
    let wanted = [(0, here)].into_iter().chain(far);
    for (part, bytes) in wanted.filter(|&(_, bytes)| bytes >= LARGE) {
        let memory = shared.memory.of(part);
        if memory.capacity().bytes < bytes {
            return Err(refusal(memory, bytes));
        }
    }
    Ok(())
}

/// What is told of memory that is short when elements were written: who asks for it again would write them twice.
pub(super) fn halfway(shared: &Shared, error: Error) -> Error {
    match error {
        Error::OutOfMemory { .. } => Error::DeviceFailed {
            device: shared.devices[0].name(),
            what: "scattering",
            reason: error.to_string(),
            lost: false,
        },
        other => other,
    }
}

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.memory.free_raw(self.address, self.bytes);
    }
}
