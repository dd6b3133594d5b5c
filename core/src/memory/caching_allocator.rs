//! The caching allocator (S17), written once over `Memory`.
//!
//! Freed blocks are kept by size and handed out again. Sizes are rounded up to steps of an eighth of
//! their power of two (at most 12.5 % more than asked for), at least 64 bytes. Before the device is
//! asked, the limit is checked; if the device refuses, the cache is emptied and it is asked again. Large blocks
//! that nobody wanted for a while go back to the device.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::backend::{Backend, Capacity, Counted, Counts};
use crate::error::Error;
use crate::memory::buffer::{Buffer, Release};

/// Blocks from this size on are given back, and have the limit checked, one by one.
const LARGE: usize = 1 << 20;

/// How long a large block is kept for whoever wants one of its size. Getting another costs page faults, which are more
/// than most kernels that fill it, but little beside so long a time.
pub(crate) const KEPT: Duration = Duration::from_secs(10);

/// Bytes in use, kept and allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Bytes of live buffers.
    pub used: u64,
    /// Bytes of freed blocks kept for reuse.
    pub cached: u64,
    /// Largest `used` so far.
    pub peak: u64,
    /// Bytes that may be in use.
    pub limit: u64,
}

impl MemoryInfo {
    /// Whether so many more go beyond the limit, unless kept blocks are given back.
    fn exceeded_by(&self, bytes: u64) -> bool {
        self.used.saturating_add(self.cached).saturating_add(bytes) > self.limit
    }
}

/// Bytes that may be in use, and the origin of that limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Bytes.
    pub bytes: u64,
    /// Origin of the limit, as people read it.
    pub source: LimitSource,
}

impl From<u64> for Limit {
    fn from(bytes: u64) -> Self {
        Self { bytes, source: LimitSource::Set("as set") }
    }
}

impl fmt::Display for Limit {
    /// `1 GiB (PORCINI_MEMORY_LIMIT)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = Bytes(self.bytes);
        match self.source {
            LimitSource::Set(name) => write!(f, "{bytes} ({name})"),
            LimitSource::Left(whose) => write!(f, "{bytes} (90 % of what {whose} had left)"),
        }
    }
}

/// The origin of a memory limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitSource {
    /// A setting of this name.
    Set(&'static str),
    /// No setting: the limit is most of what this had left.
    Left(&'static str),
}

/// An allocation beyond the limit, or refused by the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted {
    /// Bytes asked for.
    pub requested: u64,
    /// State when it failed.
    pub info: MemoryInfo,
    /// The limit.
    pub limit: Limit,
}

impl Exhausted {
    /// As an error; `purpose` comes behind what was asked for, and `largest` are the arrays that have most of the rest.
    pub(crate) fn told(self, purpose: &str, largest: String) -> Error {
        Error::OutOfMemory {
            requested: format!("{}{purpose}", Bytes(self.requested)),
            used: Bytes(self.info.used).to_string(),
            limit: self.limit.to_string(),
            largest,
        }
    }
}

impl Counts for Allocator {
    fn count(self: Arc<Self>, bytes: u64, purpose: &str) -> crate::error::Result<Counted> {
        let held = self.hold(bytes);
        let purpose = format!(" for {purpose}");
        let held = held.map_err(|exhausted| exhausted.told(&purpose, String::new()))?;
        Ok(Box::new(held))
    }
}

/// Bytes that the host has for somebody else, which count as used until this is dropped.
pub struct Held {
    memory: Arc<Allocator>,
    bytes: u64,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.memory.lock().used -= self.bytes;
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Held({})", Bytes(self.bytes))
    }
}

/// Hands out blocks of a device's memory.
pub struct Allocator {
    backend: Arc<dyn Backend>,
    limit: Option<Limit>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    used: u64,
    cached: u64,
    peak: u64,
    /// Bytes of small blocks since the limit was last checked.
    unchecked: u64,
    /// The limit, once the device was asked what it had left.
    measured: Option<Limit>,
    /// Kept blocks by their size; the last one freed is the first one used.
    free: BTreeMap<usize, Vec<u64>>,
    /// When each of the large ones was freed.
    freed: BTreeMap<usize, Vec<Instant>>,
    /// When the first of them is due to be given back, or before.
    due: Option<Instant>,
}

impl Allocator {
    /// An allocator over a device's memory; without `limit`, 90 % of what the device could hand out.
    pub fn new(backend: Arc<dyn Backend>, limit: Option<Limit>) -> Arc<Self> {
        Arc::new(Self { backend, limit, state: Mutex::default() })
    }

    /// A block of `bytes` bytes; its contents are undefined.
    ///
    /// # Errors
    /// `Exhausted` when the limit or the device says no even after the cache was emptied.
    pub fn alloc(self: &Arc<Self>, bytes: u64) -> Result<Buffer, Exhausted> {
        let fail = || {
            let info = self.info();
            Exhausted { requested: bytes, info, limit: self.limit(info.used + info.cached) }
        };
        let n = usize::try_from(bytes).map_err(|_| fail())?;
        let capacity = round_up(n).ok_or_else(fail)?;
        let kept = self.reuse(capacity);
        if capacity >= LARGE {
            self.give_back_due();
        }
        let address = match kept {
            Some(address) => address,
            None => self.fresh(capacity).ok_or_else(fail)?,
        };
        Ok(Buffer::new(address, n, capacity, self.clone()))
    }

    /// Counts bytes that lie elsewhere in the same memory; kept blocks make room for them.
    ///
    /// # Errors
    /// `Exhausted` beyond the limit.
    pub fn hold(self: &Arc<Self>, bytes: u64) -> Result<Held, Exhausted> {
        if self.info().exceeded_by(bytes) {
            self.trim();
        }
        let info = self.info();
        if info.used.saturating_add(bytes) > info.limit {
            let limit = self.limit(info.used + info.cached);
            return Err(Exhausted { requested: bytes, info, limit });
        }
        self.lock().count(bytes);
        Ok(Held { memory: self.clone(), bytes })
    }

    /// Gives all kept blocks back to the device; the number of blocks and bytes.
    pub fn trim(&self) -> (usize, u64) {
        let mut state = self.lock();
        let free = std::mem::take(&mut state.free);
        let bytes = std::mem::take(&mut state.cached);
        state.freed.clear();
        state.due = None;
        drop(state);
        let mut blocks = 0;
        for (capacity, addresses) in free {
            blocks += addresses.len();
            for address in addresses {
                self.backend.memory().free_raw(address, capacity);
            }
        }
        (blocks, bytes)
    }

    /// Gives large blocks back to the device that were kept for so long; the time after which others are due.
    pub fn give_back_unused(&self, kept: Duration) -> Option<Duration> {
        let now = Instant::now();
        let (unused, due) = {
            let mut state = self.lock();
            (state.take_unused(now, kept), state.due)
        };
        for (capacity, address) in unused {
            self.backend.memory().free_raw(address, capacity);
        }
        Some(due?.saturating_duration_since(now))
    }

    /// Looks for blocks to be given back when there may be some.
    fn give_back_due(&self) {
        let due = self.lock().due;
        if due.is_some_and(|due| due <= Instant::now()) {
            self.give_back_unused(KEPT);
        }
    }

    /// Bytes in use, kept and allowed.
    pub fn info(&self) -> MemoryInfo {
        let (used, cached, peak) = {
            let state = self.lock();
            (state.used, state.cached, state.peak)
        };
        MemoryInfo { used, cached, peak, limit: self.limit(used + cached).bytes }
    }

    /// The limit that was set, else 90 % of what the device had left when it was first asked.
    ///
    /// Asked once, unless that is [forgotten](Self::forget_limit): pages that were handed out but not touched yet do not
    /// show in what is left, so adding what we hold to a later answer would count them twice.
    fn limit(&self, held: u64) -> Limit {
        if let Some(limit) = self.limit.or_else(|| self.lock().measured) {
            return limit;
        }
        let Capacity { bytes, whose } = self.backend.memory().capacity();
        let bytes = bytes.saturating_add(held) / 10 * 9;
        let limit = Limit { bytes, source: LimitSource::Left(whose) };
        // Another thread's is as good.
        *self.lock().measured.get_or_insert(limit)
    }

    /// Has the device be asked again what it has left: somebody who had some of it is gone.
    pub fn forget_limit(&self) {
        self.lock().measured = None;
    }

    fn reuse(&self, capacity: usize) -> Option<u64> {
        let mut state = self.lock();
        let address = state.free.get_mut(&capacity)?.pop()?;
        if capacity >= LARGE {
            state.freed.get_mut(&capacity).and_then(Vec::pop);
        }
        state.cached -= capacity as u64;
        state.count(capacity as u64);
        Some(address)
    }

    fn fresh(&self, capacity: usize) -> Option<u64> {
        // Asking the system how much is left costs 20 us; a few small blocks cannot break the limit by much.
        if self.limit.is_some() || capacity >= LARGE || self.is_due(capacity) {
            let wanted = capacity as u64;
            let info = self.info();
            if info.exceeded_by(wanted) {
                self.trim();
            }
            // The next one is checked too.
            if info.used.saturating_add(wanted) > info.limit {
                return None;
            }
            self.lock().unchecked = 0;
        }
        let memory = self.backend.memory();
        let address = memory.alloc_raw(capacity).or_else(|| {
            self.trim();
            memory.alloc_raw(capacity)
        })?;
        self.lock().count(capacity as u64);
        Some(address)
    }

    /// Whether small blocks are numerous enough that the limit must be checked.
    fn is_due(&self, capacity: usize) -> bool {
        // Before the first look, and up to a part of what is known then: the rest of the process needs some too.
        const FIRST: u64 = 1 << 20;
        const MANY: u64 = 1 << 26;
        let mut state = self.lock();
        let many = state.measured.map_or(FIRST, |limit| (limit.bytes / 64).min(MANY));
        state.unchecked = state.unchecked.saturating_add(capacity as u64);
        state.unchecked >= many
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn count(&mut self, bytes: u64) {
        self.used += bytes;
        self.peak = self.peak.max(self.used);
    }

    /// Keeps a block for later, where there is room for a note of it.
    fn keep(&mut self, address: u64, capacity: usize) -> bool {
        let free = self.free.entry(capacity).or_default();
        if free.try_reserve(1).is_err() {
            return false;
        }
        if capacity >= LARGE {
            let freed = self.freed.entry(capacity).or_default();
            if freed.try_reserve(1).is_err() {
                return false;
            }
            let now = Instant::now();
            freed.push(now);
            self.due.get_or_insert(now + KEPT);
        }
        free.push(address);
        self.cached += capacity as u64;
        true
    }

    /// Takes out large blocks that were kept for so long; with each its size.
    fn take_unused(&mut self, now: Instant, kept: Duration) -> Vec<(usize, u64)> {
        let mut unused = Vec::new();
        for (&capacity, freed) in &mut self.freed {
            let n = freed.partition_point(|&freed| now.saturating_duration_since(freed) >= kept);
            freed.drain(..n);
            let blocks = self.free.get_mut(&capacity).into_iter();
            unused.extend(blocks.flat_map(|free| free.drain(..n)).map(|block| (capacity, block)));
        }
        self.freed.retain(|_, freed| !freed.is_empty());
        self.cached -= unused.iter().map(|&(capacity, _)| capacity as u64).sum::<u64>();
        self.due =
            self.freed.values().filter_map(|freed| freed.first()).min().map(|&first| first + kept);
        unused
    }
}

impl Release for Allocator {
    fn release(&self, address: u64, capacity: usize) {
        let mut state = self.lock();
        state.used -= capacity as u64;
        if !state.keep(address, capacity) {
            drop(state);
            // Where there is no room to keep it for later, the system needs it now.
            self.backend.memory().free_raw(address, capacity);
        }
    }
}

impl Drop for Allocator {
    fn drop(&mut self) {
        self.trim();
    }
}

/// The next size class: an eighth of the power of two below, at least a cache line.
fn round_up(bytes: usize) -> Option<usize> {
    let bytes = bytes.max(64);
    let step = (1_usize << (bytes.ilog2().max(9) - 3)).max(64);
    bytes.checked_next_multiple_of(step).filter(|&capacity| capacity <= isize::MAX.cast_unsigned())
}

/// A number of bytes as people read it: `%.5g` with B, KiB, MiB, GiB or TiB.
#[derive(Clone, Copy, Debug)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    #[expect(clippy::cast_precision_loss, reason = "five digits are shown")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut value = self.0 as f64;
        let mut unit = "B";
        for next in ["KiB", "MiB", "GiB", "TiB"] {
            if value < 1024.0 {
                break;
            }
            value /= 1024.0;
            unit = next;
        }
        let decimals = [10.0, 100.0, 1000.0, 1e4].iter().filter(|&&limit| value < limit).count();
        let text = format!("{value:.decimals$}");
        let text = if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.')
        } else {
            &text
        };
        write!(f, "{text} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::backend::Memory;
    use crate::backend::mocks::{computes_nothing, moves_nothing};

    /// A device that has this many bytes left and would hand out more.
    struct Generous(AtomicU64);

    impl Backend for Generous {
        computes_nothing!();

        fn name(&self) -> String {
            "generous".into()
        }
        fn memory(&self) -> &dyn Memory {
            self
        }
    }

    impl Memory for Generous {
        moves_nothing!();

        fn alloc_raw(&self, bytes: usize) -> Option<u64> {
            let less = |left: u64| Some(left.saturating_sub(bytes as u64));
            self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).ok()
        }
        fn free_raw(&self, _: u64, bytes: usize) {
            self.0.fetch_add(bytes as u64, Ordering::Relaxed);
        }
        fn capacity(&self) -> Capacity {
            Capacity { bytes: self.0.load(Ordering::Relaxed), whose: "the device" }
        }
    }

    #[test]
    fn what_is_held_elsewhere_counts() {
        let memory =
            Allocator::new(Arc::new(Generous((1_u64 << 30).into())), Some((1 << 20).into()));
        drop(memory.alloc(1 << 19).unwrap());
        let held = memory.hold(700 << 10).unwrap();
        assert_eq!((memory.info().used, memory.info().cached), (700 << 10, 0));
        assert!(memory.hold(400 << 10).is_err() && memory.alloc(400 << 10).is_err());
        drop(held);
        assert!(memory.alloc(400 << 10).is_ok());
    }

    #[test]
    fn large_blocks_that_nobody_wants_are_given_back() {
        let whole = 1_u64 << 30;
        let device = Arc::new(Generous(whole.into()));
        let memory = Allocator::new(device.clone(), None);
        let sizes = [1 << 10, 8 << 20, 8 << 20, 32 << 20];
        let blocks = sizes.map(|bytes| memory.alloc(bytes).unwrap());
        assert_eq!(memory.give_back_unused(Duration::ZERO), None);
        drop(blocks);
        // Not before their time, and what is used meanwhile is no longer kept.
        assert!(memory.give_back_unused(KEPT).is_some_and(|due| due <= KEPT));
        assert_eq!(memory.info().cached, sizes.iter().sum());
        let again = memory.alloc(8 << 20).unwrap();
        assert_eq!(memory.give_back_unused(Duration::ZERO), None);
        assert_eq!((memory.info().used, memory.info().cached), (8 << 20, 1 << 10));
        assert_eq!(device.0.load(Ordering::Relaxed), whole - (8 << 20) - (1 << 10));
        drop(again);
        assert_eq!(memory.info().cached, (8 << 20) + (1 << 10));
    }

    /// Blocks that are made while another still has most of the memory.
    #[test]
    fn what_was_left_is_asked_again_when_somebody_has_gone() {
        let device = Arc::new(Generous((64_u64 << 20).into()));
        let memory = Allocator::new(device.clone(), None);
        let first = memory.alloc(1 << 20).unwrap();
        device.free_raw(0, 1 << 30);
        assert!(memory.alloc(1 << 29).is_err());
        memory.forget_limit();
        assert!(memory.alloc(1 << 29).is_ok());
        drop(first);
    }

    #[test]
    fn many_small_blocks_meet_the_limit() {
        let memory = Allocator::new(Arc::new(Generous((200_u64 << 20).into())), None);
        let held: Vec<Buffer> =
            std::iter::from_fn(|| memory.alloc(1 << 16).ok()).take(1 << 13).collect();
        assert!(held.len() < 4 << 10, "{} blocks of 64 KiB in 200 MiB", held.len());
    }

    #[test]
    fn kept_blocks_never_exhaust_the_limit() {
        let limit = 100_u64 << 20;
        for limit_set in [Some(limit), None] {
            let left = (limit / 9 * 10).into();
            let memory = Allocator::new(Arc::new(Generous(left)), limit_set.map(Limit::from));
            // No two of these share a size class, so no kept block serves again.
            for step in 0..40 {
                let bytes = (4_u64 << 20) + step * (2 << 20);
                drop(memory.alloc(bytes).unwrap());
                let info = memory.info();
                assert!(info.used + info.cached <= info.limit, "{bytes}: {info:?}");
            }
            assert!(memory.alloc(limit + 1).is_err());
        }
    }

    #[test]
    fn bytes_have_five_digits() {
        for (bytes, want) in [
            (0, "0 B"),
            (4, "4 B"),
            (4936, "4.8203 KiB"),
            (1_000_000, "976.56 KiB"),
            (21_000_000, "20.027 MiB"),
            (8_000_000_000_000, "7.276 TiB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), want);
        }
    }

    #[test]
    fn classes_waste_at_most_an_eighth() {
        for bytes in [1, 63, 64, 65, 4096, 5000, 1 << 20, (1 << 20) + 1, 3_000_000_000] {
            let capacity = round_up(bytes).unwrap();
            assert!(capacity >= bytes && capacity.is_multiple_of(64));
            assert!(bytes < 512 || capacity - bytes <= bytes / 8, "{bytes} -> {capacity}");
        }
        assert_eq!(round_up(usize::MAX), None);
    }
}
