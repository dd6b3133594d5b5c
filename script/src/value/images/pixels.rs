//! What decoders make, and the room for it.

use porcini_core::memory::caching_allocator::Bytes;
use porcini_core::memory::process_heap;
use porcini_core::{DType, Error, Session, interrupt};

use super::refusal::{Refusal, Result};

/// Bytes that are worked on between two looks at the interrupt flag.
pub(super) const PIECE: usize = 1 << 20;

/// The picture of a file, row by row.
pub(super) struct Pixels {
    pub(super) width: u64,
    pub(super) height: u64,
    /// One of greys, three of colours, four with an opacity.
    pub(super) channels: u64,
    pub(super) dtype: DType,
    /// Little-endian.
    pub(super) bytes: Vec<u8>,
}

/// Room for the pixels, if there is as much and so much `besides`.
pub(super) fn room(session: &Session, bytes: u64, besides: u64) -> Result<Vec<u8>> {
    session.check_host_memory(bytes.saturating_add(besides))?;
    let made = usize::try_from(bytes).ok().and_then(process_heap::zeroed);
    made.ok_or(Refusal::Room(Bytes(bytes)))
}

pub(super) fn check_interrupt() -> Result<()> {
    if interrupt::is_requested() { Err(Error::Interrupted.into()) } else { Ok(()) }
}
