//! Working memory, which is given back.

use super::machines;
use super::shared::Shared;
use crate::backend::host::{ALIGNMENT, refusal};
use crate::backend::{Counted, Memory};
use crate::error::{Error, Result};

/// A block of working memory.
pub(super) struct Working<'m> {
    memory: &'m dyn Memory,
    pub(super) address: u64,
    bytes: usize,
    /// What it counts in the session.
    _held: Option<Counted>,
}

impl<'m> Working<'m> {
    /// Some that is small.
    pub(super) fn of(memory: &'m dyn Memory, bytes: usize) -> Result<Self> {
        Self::with(memory, bytes, None)
    }

    fn with(memory: &'m dyn Memory, bytes: usize, held: Option<Counted>) -> Result<Self> {
        let bytes = bytes.max(1).next_multiple_of(ALIGNMENT);
        let address = memory.alloc_raw(bytes).ok_or_else(|| refusal(memory, bytes as u64))?;
        Ok(Self { memory, address, bytes, _held: held })
    }

    /// The same of any length, for `a sort`, within the session's limit.
    pub(super) fn counted(
        shared: &Shared,
        memory: &'m dyn Memory,
        bytes: u64,
        purpose: &str,
    ) -> Result<Self> {
        let held = shared.hold(bytes, purpose)?;
        Self::long(memory, bytes, held)
    }

    fn long(memory: &'m dyn Memory, bytes: u64, held: Option<Counted>) -> Result<Self> {
        let fits = usize::try_from(bytes).ok().filter(|&bytes| bytes <= MOST);
        Self::with(memory, fits.ok_or_else(|| refusal(memory, bytes))?, held)
    }

    /// So many bytes at each part, without a block where there are none, which all of them will write from end to end. The
    /// session's limit is that of this machine; others are asked what they have.
    pub(super) fn of_parts(shared: &'m Shared, bytes: &[u64], purpose: &str) -> Result<Vec<Self>> {
        machines::see_that_there_is(&shared.devices, bytes, purpose)?;
        let of_part = |(part, &bytes): (usize, &u64)| {
            let memory = shared.memory.of(part);
            match shared.devices[part].host() {
                // Others need not be asked.
                _ if bytes == 0 => Ok(Self { memory, address: 0, bytes: 0, _held: None }),
                None => Self::counted(shared, memory, bytes, purpose),
                Some(_) => Self::long(memory, bytes, None),
            }
        };
        bytes.iter().enumerate().map(of_part).collect()
    }
}

/// Bytes that no system has, and that can still be rounded up.
const MOST: usize = isize::MAX.cast_unsigned() - ALIGNMENT;

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
        if self.bytes > 0 {
            self.memory.free_raw(self.address, self.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::host::exhausted;
    use crate::backend::open_processor;

    /// A launch that ends with `OutOfMemory` is repeated.
    #[test]
    fn what_has_written_does_not_ask_for_memory() {
        let shared = Shared::new(vec![open_processor(1); 2], 4096);
        let told = |error| halfway(&shared, error);
        assert!(matches!(told(exhausted(64)), Error::DeviceFailed { lost: false, .. }));
        assert_eq!(told(Error::Interrupted), Error::Interrupted);
    }

    #[test]
    fn a_part_without_bytes_has_no_block() {
        let shared = Shared::new(vec![open_processor(1); 2], 4096);
        let blocks = Working::of_parts(&shared, &[0, 64], "a test").unwrap();
        assert!(blocks[0].address == 0 && blocks[1].address > 0);
    }
}
