//! The memory of the CPU backends: blocks from the process's allocator, large ones from the system.
#![expect(unsafe_code, reason = "buffers are raw blocks; every access to one goes through here")]

use std::alloc::{GlobalAlloc as _, Layout, System};

#[cfg(target_os = "linux")]
use super::pages;
use super::shared_file::read_at;
use super::{Capacity, FileLanes, Memory, control_groups, limits};
use crate::convert::exactly;
use crate::error::{Error, Result};
use crate::memory::caching_allocator::Bytes;

/// Every block starts on a cache line, which is also the widest vector.
pub(crate) const ALIGNMENT: usize = 64;
/// Alignment of the process's allocator. Beyond it, it would write the zeros itself, page by
/// page, where the system hands out zeroed pages as they are touched.
const NATURAL: usize = 16;

/// Host memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostMemory;

fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes.checked_add(ALIGNMENT)?, NATURAL).ok()
}

/// The block's bytes for reading.
///
/// # Safety
/// `address` must be a live block of at least `bytes` bytes that is not written meanwhile.
unsafe fn bytes_at<'a>(address: u64, bytes: usize) -> &'a [u8] {
    // SAFETY: passed on to the caller.
    unsafe { std::slice::from_raw_parts(pointer(address), bytes) }
}

/// The block's bytes for writing.
///
/// # Safety
/// `address` must be a live block of at least `bytes` bytes without another user meanwhile.
unsafe fn bytes_at_mut<'a>(address: u64, bytes: usize) -> &'a mut [u8] {
    // SAFETY: passed on to the caller.
    unsafe { std::slice::from_raw_parts_mut(pointer(address), bytes) }
}

/// An address of host memory as a pointer.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "host addresses fit a host pointer")]
pub(super) fn pointer(address: u64) -> *mut u8 {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

/// The address of what the system, or machine code, reads or writes.
pub(super) fn exposed<T>(place: &mut T) -> u64 {
    std::ptr::from_mut(place).expose_provenance() as u64
}

/// Fills with elements of a width that the compiler knows, and so with vectors.
fn fill_elements<const N: usize>(block: &mut [u8], pattern: [u8; 8]) {
    let mut element = [0; N];
    element.copy_from_slice(&pattern[..N]);
    block.as_chunks_mut().0.fill(element);
}

/// What memory of the host is called.
const HOST: &str = "the host";

/// What says that there are not so many bytes left.
pub(super) fn exhausted(bytes: u64) -> Error {
    exhausted_of(HOST, bytes)
}

/// Why a memory, of the host or not, gives no block of so many bytes.
pub(super) fn refusal(memory: &dyn Memory, bytes: u64) -> Error {
    memory.failure().unwrap_or_else(|| exhausted_of(&memory.owner(), bytes))
}

fn exhausted_of(owner: &str, bytes: u64) -> Error {
    Error::OutOfMemory {
        requested: Bytes(bytes).to_string(),
        used: "the rest".into(),
        limit: format!("the memory of {owner}"),
        largest: String::new(),
    }
}

impl HostMemory {
    /// Puts bytes into a block.
    pub(crate) fn put(self, target: u64, source: &[u8]) {
        // SAFETY: the target is not shared yet.
        unsafe { bytes_at_mut(target, source.len()) }.copy_from_slice(source);
    }

    /// Gets bytes of a block.
    pub(crate) fn get(self, source: u64, target: &mut [u8]) {
        // SAFETY: the source is kept alive by the caller, and shared buffers are never written.
        target.copy_from_slice(unsafe { bytes_at(source, target.len()) });
    }
}

impl Memory for HostMemory {
    fn alloc_raw(&self, bytes: usize) -> Option<u64> {
        #[cfg(target_os = "linux")]
        if bytes >= pages::LARGE {
            return pages::map(bytes).map(|block| block.expose_provenance() as u64);
        }
        // SAFETY: the layout's size is not zero.
        let block = unsafe { System.alloc_zeroed(layout(bytes)?) };
        if block.is_null() {
            return None;
        }
        // At least NATURAL bytes in front of the address keep the distance to the block's start.
        let distance = ALIGNMENT - block.expose_provenance() % ALIGNMENT;
        // SAFETY: the block has ALIGNMENT bytes more than asked for, and distance is at most that.
        let aligned = unsafe { block.add(distance) };
        // SAFETY: the word lies in the NATURAL bytes before the aligned address.
        let word = unsafe { aligned.cast::<usize>().sub(1) };
        // SAFETY: it is aligned, and the block has no other user yet.
        unsafe { word.write(distance) };
        Some(aligned.expose_provenance() as u64)
    }

    fn free_raw(&self, address: u64, bytes: usize) {
        #[cfg(target_os = "linux")]
        if bytes >= pages::LARGE {
            // SAFETY: `alloc_raw` mapped a block of this size, and its buffer is gone.
            unsafe { pages::unmap(pointer(address), bytes) };
            return;
        }
        if let Some(layout) = layout(bytes) {
            let aligned = pointer(address);
            // SAFETY: the word lies in the NATURAL bytes before the aligned address.
            let word = unsafe { aligned.cast::<usize>().sub(1) };
            // SAFETY: `alloc_raw` wrote the distance there.
            let distance = unsafe { word.read() };
            // SAFETY: that far before the address the block starts.
            let block = unsafe { aligned.sub(distance) };
            // SAFETY: the block came from `alloc_raw` with the same size, and its buffer is gone.
            unsafe { System.dealloc(block, layout) }
        }
    }

    fn fill(&self, address: u64, pattern: u64, bytes: usize, n: u64) -> Result<()> {
        let Ok(n) = usize::try_from(n) else { return Ok(()) };
        // SAFETY: the evaluation that fills a buffer is its only user.
        let block = unsafe { bytes_at_mut(address, bytes * n) };
        let pattern = pattern.to_le_bytes();
        match bytes {
            1 => block.fill(pattern[0]),
            2 => fill_elements::<2>(block, pattern),
            4 => fill_elements::<4>(block, pattern),
            8 => fill_elements::<8>(block, pattern),
            _ => block.chunks_exact_mut(bytes).for_each(|to| to.copy_from_slice(&pattern[..bytes])),
        }
        Ok(())
    }

    fn expect_writes(&self, _: u64, _: usize, _: u64) -> Result<()> {
        Ok(())
    }

    fn copy(&self, target: u64, source: u64, bytes: usize) -> Result<()> {
        // SAFETY: buffers are distinct blocks; the target is not shared yet.
        let target = unsafe { bytes_at_mut(target, bytes) };
        // SAFETY: the source is kept alive by the caller, and shared buffers are never written.
        target.copy_from_slice(unsafe { bytes_at(source, bytes) });
        Ok(())
    }

    fn write(&self, target: u64, source: &[u8]) -> Result<()> {
        self.put(target, source);
        Ok(())
    }

    fn read(&self, source: u64, target: &mut [u8]) -> Result<()> {
        self.get(source, target);
        Ok(())
    }

    /// Straight into the block.
    fn load(&self, target: u64, lanes: &FileLanes) -> Result<bool> {
        lanes.in_pieces(false, |file, at, bytes| {
            let n = exactly(bytes.end - bytes.start);
            // SAFETY: the evaluation that fills a buffer is its only user.
            Ok(read_at(file, unsafe { bytes_at_mut(target + bytes.start, n) }, at))
        })
    }

    fn is_host(&self) -> bool {
        true
    }

    fn owner(&self) -> String {
        HOST.into()
    }

    fn capacity(&self) -> Capacity {
        let limit = limits::left();
        let there = physical_capacity();
        limit.filter(|limit| limit.bytes < there.bytes).unwrap_or(there)
    }
}

/// Memory that the system, or a control group of this process, has left.
pub(crate) fn physical_capacity() -> Capacity {
    let system = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available =
        control_groups::amount(&system, "MemAvailable:").map(|kilobytes| kilobytes * 1024);
    let system = Capacity { bytes: available.unwrap_or(u64::MAX), whose: "the system" };
    let group = control_groups::left().map(|bytes| Capacity { bytes, whose: "the control group" });
    group.filter(|group| group.bytes < system.bytes).unwrap_or(system)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Its limit may be the system's or that of a control group; the memory is the host's.
    #[test]
    fn memory_is_refused_by_whose_it_is() {
        let told = "out of memory: wanted 400 B, the rest of the memory of the host in use";
        assert_eq!(refusal(&HostMemory, 400).to_string(), told);
    }

    #[test]
    fn a_fill_writes_whole_elements_and_nothing_else() {
        let address = HostMemory.alloc_raw(64).unwrap();
        for bytes in [1, 2, 4, 8] {
            let pattern = 0x0123_4567_89ab_cdef_u64;
            HostMemory.fill(address, 0, 1, 64).unwrap();
            HostMemory.fill(address + 8, pattern, bytes, 5).unwrap();
            let mut lanes = [0; 64];
            HostMemory.read(address, &mut lanes).unwrap();
            let mut want = [0; 64];
            want[8..8 + 5 * bytes].copy_from_slice(&pattern.to_le_bytes()[..bytes].repeat(5));
            assert_eq!(lanes, want, "{bytes} bytes");
        }
        HostMemory.free_raw(address, 64);
    }
}
