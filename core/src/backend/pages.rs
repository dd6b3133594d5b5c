//! Large blocks of host memory, straight from Linux and in huge pages.
//!
//! A fresh block costs a page fault for each page that is touched first: with pages of 4 KiB more than
//! the kernel that fills it. Blocks here start near a multiple of 2 MiB and ask for pages of that size. A
//! page never reaches beyond its block, so nothing is resident that was not asked for.
#![expect(unsafe_code, reason = "blocks are mapped and unmapped by address")]

use std::ptr::null_mut;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// Blocks from this size on are worth the system calls.
pub(super) const LARGE: usize = 4 << 20;
/// Size and alignment of a huge page.
const HUGE: usize = 2 << 20;
/// A multiple of the small page on every machine.
const SMALL: usize = 64 << 10;

/// Blocks begin at one of this many distances from their first huge page. Arrays at the same distance lie
/// in the same sets of the caches and the same banks of memory, lane for lane, and get in each other's
/// way when a kernel walks through several.
const PLACES: usize = 16;
/// Bytes between two such places: a small page and some cache lines.
const STEP: usize = 4096 + 4 * 64;

/// Bytes that a block of `bytes` takes, wherever it begins.
fn mapped(bytes: usize) -> Option<usize> {
    bytes.checked_add(PLACES * STEP)?.checked_next_multiple_of(SMALL)
}

/// Where the block in the huge pages from `start` on begins.
fn place(start: *mut u8) -> usize {
    // Neighbours of any size in huge pages get different places, mostly.
    let page = (start.addr() / HUGE).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (page >> 40) % PLACES * STEP
}

/// A zeroed block that nothing is spent on before it is touched.
pub(super) fn map(bytes: usize) -> Option<*mut u8> {
    let length = mapped(bytes)?;
    let room = length.checked_add(HUGE)?;
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: the system chooses the place, so nothing that exists is replaced.
    let start = unsafe { mmap_anonymous(null_mut(), room, access, MapFlags::PRIVATE) };
    let start = start.ok()?.cast::<u8>();
    let before = start.addr().next_multiple_of(HUGE) - start.addr();
    // SAFETY: `before` is less than HUGE, and the mapping is that much longer than the block.
    let block = unsafe { start.add(before) };
    // SAFETY: the block ends within the mapping.
    let end = unsafe { block.add(length) };
    // SAFETY: both parts are in the mapping and outside of the block.
    unsafe { unmap_part(start, before) };
    // SAFETY: as above.
    unsafe { unmap_part(end, HUGE - before) };
    // SAFETY: the range is ours; the advice does not change what it holds. A system without huge pages
    // refuses, and the block is as good as any.
    let _ = unsafe { madvise(block.cast(), length, Advice::LinuxHugepage) };
    // SAFETY: `mapped` counts the last place in.
    Some(unsafe { block.add(place(block)) })
}

/// Asks for huge pages in a block of another allocator, wherever whole ones lie in it.
pub(crate) fn ask_for_huge(block: *mut u8, bytes: usize) {
    let before = block.addr().next_multiple_of(HUGE) - block.addr();
    let length = bytes.saturating_sub(before) / HUGE * HUGE;
    if length > 0 {
        // SAFETY: the range lies in the block; the advice does not change what it holds.
        let start = unsafe { block.add(before) };
        // SAFETY: as above. A system without huge pages refuses.
        let _ = unsafe { madvise(start.cast(), length, Advice::LinuxHugepage) };
    }
}

/// Gives a block back.
///
/// # Safety
/// `block` came from [`map`] with the same size, and it has no user any more.
pub(super) unsafe fn unmap(block: *mut u8, bytes: usize) {
    let length = mapped(bytes).unwrap_or(0);
    // SAFETY: all places lie in the first huge page.
    let start = unsafe { block.sub(block.addr() % HUGE) };
    // SAFETY: passed on to the caller.
    unsafe { unmap_part(start, length) }
}

/// # Safety
/// The `length` bytes from `start` must be mapped pages without users.
unsafe fn unmap_part(start: *mut u8, length: usize) {
    if length > 0 {
        // SAFETY: passed on to the caller.
        let result = unsafe { munmap(start.cast(), length) };
        // It fails when the process has too many mappings to split one; the pages are then lost.
        debug_assert!(result.is_ok(), "internal error: {result:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_zeroed_and_separate() {
        let sizes = [LARGE, LARGE + 1, LARGE + SMALL, 7 * HUGE];
        let blocks: Vec<_> = sizes.map(|bytes| (map(bytes).unwrap(), bytes)).into();
        for &(block, bytes) in &blocks {
            assert!(block.addr().is_multiple_of(64));
            // SAFETY: the block has that many bytes, and only this test knows it.
            let lanes = unsafe { std::slice::from_raw_parts_mut(block, bytes) };
            assert!(lanes.iter().all(|&byte| byte == 0));
            lanes.fill(1);
        }
        for (block, bytes) in blocks {
            // SAFETY: the blocks above.
            unsafe { unmap(block, bytes) };
        }
        assert_eq!(map(usize::MAX), None);
        assert_eq!(map(usize::MAX / 2), None);
    }
}
