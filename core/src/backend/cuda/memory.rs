//! The memory of a GPU.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::entries::Entries;
use super::gpu::{Gpu, Stream};
use super::order::{DOWN, N_COMPUTE, UP, Use};
use super::ptx::Step;
use super::short_reads::ShortReads;
use super::staging::Staging;
use crate::backend::{Capacity, Memory};
use crate::error::Result;

/// Bytes that are copied from the host before the device copies them on.
const SEED_BYTES: usize = 1 << 16;

/// Bytes from which on a copy has a stream of its own, and runs beside kernels.
const LONG: usize = 1 << 20;

/// The memory of a GPU: blocks from the driver, aligned to 256 bytes.
pub(super) struct GpuMemory {
    gpu: Arc<Gpu>,
    /// Made for the first copy.
    staging: Mutex<Option<Staging>>,
    short_reads: ShortReads,
}

impl GpuMemory {
    pub(super) fn new(gpu: Arc<Gpu>, steps: Arc<Entries<Step>>) -> Self {
        Self { short_reads: ShortReads::new(gpu.clone(), steps), gpu, staging: Mutex::default() }
    }

    fn with_staging(&self, work: impl FnOnce(&mut Staging) -> Result<()>) -> Result<()> {
        let mut staging = self.staging.lock().unwrap_or_else(PoisonError::into_inner);
        if staging.is_none() {
            *staging = Some(Staging::new(self.gpu.clone())?);
        }
        staging.as_mut().map_or(Ok(()), work)
    }
}

impl Memory for GpuMemory {
    fn alloc_raw(&self, bytes: usize) -> Option<u64> {
        let address = self.gpu.alloc(bytes)?;
        self.gpu.add_block(address, bytes);
        let turn = self.gpu.turn([Use::Write(address)], None).ok()?;
        self.gpu.fill(turn.stream, address, 0, 1, bytes).ok()?;
        Some(address)
    }

    fn free_raw(&self, address: u64, _bytes: usize) {
        self.gpu.remove_block(address);
        if !self.gpu.release(address) {
            self.gpu.free(address);
        }
    }

    fn reserve_raw(&self, bytes: usize) -> Option<u64> {
        let Some(address) = self.gpu.reserve(bytes) else { return self.alloc_raw(bytes) };
        self.gpu.add_block(address, bytes);
        Some(address)
    }

    fn back(&self, block: u64, bytes: Range<u64>) -> Result<bool> {
        self.gpu.back(block, &bytes)
    }

    #[expect(clippy::cast_possible_truncation, reason = "the halves of a pattern")]
    fn fill(&self, address: u64, pattern: u64, bytes: usize, n: u64) -> Result<()> {
        let Ok(n) = usize::try_from(n) else { return Ok(()) };
        let (low, high) = (pattern as u32, (pattern >> 32) as u32);
        let turn = self.gpu.turn([Use::Write(address)], None)?;
        match bytes {
            8 if low == high => self.gpu.fill(turn.stream, address, low, 4, 2 * n),
            8 => self.fill_wide(turn.stream, address, pattern, n),
            _ => self.gpu.fill(turn.stream, address, low, bytes, n),
        }
    }

    fn copy(&self, target: u64, source: u64, bytes: usize) -> Result<()> {
        let turn = self.gpu.turn([Use::Read(source), Use::Write(target)], None)?;
        self.gpu.copy(turn.stream, target, source, bytes)
    }

    fn write(&self, target: u64, source: &[u8]) -> Result<()> {
        let stream = (source.len() >= LONG).then_some(UP);
        let turn = self.gpu.turn([Use::Write(target)], stream)?;
        self.with_staging(|staging| staging.write(turn.stream, target, source))
    }

    fn read(&self, source: u64, target: &mut [u8]) -> Result<()> {
        // A short copy of what is under way goes on in its stream, which costs less than a wait of another one.
        let own = if target.len() >= LONG { None } else { self.gpu.stream_of(source) };
        let turn = self.gpu.turn([Use::Read(source)], own.or(Some(DOWN)))?;
        if own.is_some_and(|own| own < N_COMPUTE)
            && let Some(entry) = self.short_reads.entry(target.len())
        {
            return self.short_reads.read(entry, &turn, source, target);
        }
        self.with_staging(|staging| staging.read(turn.stream, source, target))
    }

    fn is_ready(&self, address: u64) -> bool {
        self.gpu.is_block_ready(address)
    }

    fn wait(&self, address: u64) -> Result<()> {
        self.gpu.wait_for_block(address)
    }

    fn borrow_block(&self, address: u64, bytes: usize) -> bool {
        self.gpu.add_block(address, bytes);
        true
    }

    fn return_block(&self, address: u64) {
        // Where the GPU fails nothing reads any more.
        drop(self.gpu.wait_until(|| false));
        self.gpu.remove_block(address);
    }

    fn capacity(&self) -> Capacity {
        Capacity { bytes: self.gpu.free_memory(), whose: "the GPU" }
    }
}

impl GpuMemory {
    /// The driver fills by up to 32 bits: a few elements come from the host and double.
    fn fill_wide(&self, stream: Stream, address: u64, pattern: u64, n: usize) -> Result<()> {
        let bytes = 8 * n;
        let seed = pattern.to_le_bytes().repeat(n.min(SEED_BYTES / 8));
        self.gpu.write(stream, address, &seed)?;
        let mut filled = seed.len();
        while filled < bytes {
            let more = filled.min(bytes - filled);
            self.gpu.copy(stream, address + filled as u64, address, more)?;
            filled += more;
        }
        Ok(())
    }
}
