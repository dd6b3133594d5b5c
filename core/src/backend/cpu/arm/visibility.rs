//! When threads see code as it was written: caches of instructions do not follow those of data by themselves.
#![expect(unsafe_code, reason = "instructions of cache maintenance")]

use std::arch::asm;

/// Has every thread that synchronises run code as it was just written: where it runs, and its bytes. Data caches are
/// cleaned and instruction caches invalidated line by line; both work for any address of the same memory, but the
/// instruction cache may go by the one where code runs.
#[cfg(not(target_vendor = "apple"))]
pub(super) fn publish(address: usize, bytes: usize) {
    let sizes: usize;
    // SAFETY: reads a register that every program may read on Linux and the BSDs.
    unsafe { asm!("mrs {}, ctr_el0", out(reg) sizes, options(nomem, nostack, preserves_flags)) };
    let (instructions, data) = (4 << (sizes & 0xf), 4 << (sizes >> 16 & 0xf));
    let lines = |size: usize| (address / size * size..address + bytes).step_by(size);
    for line in lines(data) {
        // SAFETY: cleans a line of mapped memory.
        unsafe { asm!("dc cvau, {}", in(reg) line, options(nostack, preserves_flags)) };
    }
    // SAFETY: a barrier: the cleaning is complete.
    unsafe { asm!("dsb ish", options(nostack, preserves_flags)) };
    for line in lines(instructions) {
        // SAFETY: invalidates a line of mapped memory.
        unsafe { asm!("ic ivau, {}", in(reg) line, options(nostack, preserves_flags)) };
    }
    // SAFETY: barriers: the invalidation is complete, here too.
    unsafe { asm!("dsb ish", "isb", options(nostack, preserves_flags)) };
}

/// Has every thread that synchronises run code as it was just written. Only the system may ask for the lines' size here.
#[cfg(target_vendor = "apple")]
pub(super) fn publish(address: usize, bytes: usize) {
    unsafe extern "C" {
        fn sys_icache_invalidate(start: *mut std::ffi::c_void, bytes: usize);
    }
    // SAFETY: the range is mapped memory.
    unsafe { sys_icache_invalidate(std::ptr::with_exposed_provenance_mut(address), bytes) };
}

/// Has this thread fetch anew what it may have fetched before.
pub(super) fn synchronise() {
    // SAFETY: a barrier.
    unsafe { asm!("isb", options(nostack, preserves_flags)) };
}
