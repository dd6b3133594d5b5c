//! Executable memory that is never writable and executable at one address, not for one thread.
//!
//! Chunks of an anonymous file are mapped twice, once to write and once to run; kernels share a chunk. A fork of the
//! process has the same memory: chunks that are there before it are run by both, and written by none of them any more.
//! Where the system refuses that, every kernel gets pages of its own that become executable when they
//! are written. Where it refuses that too, there is no executable memory, and the caller interprets.
#![expect(unsafe_code, reason = "maps memory and writes code into it")]

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap, mmap_anonymous, mprotect, munmap};

use super::machine::Machine;
use super::native::Native;

/// Bytes of a chunk, unless a kernel needs more.
const CHUNK: usize = 1 << 20;
/// Kernels start on a cache line, as their constants expect.
const ALIGNMENT: usize = 64;

/// Ways to get executable memory, the preferred one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapping {
    /// Two views of one file.
    Dual,
    /// One view that a thread may write while others run it, as macOS has it on ARM for programs under its hardened
    /// runtime. Made by Apple's documentation, and never run.
    Jit,
    /// One view, first writable and then executable.
    Protected,
}

/// Memory for machine code.
pub(super) struct Arena {
    /// Ways to try.
    mappings: Vec<Mapping>,
    /// Bytes that may be mapped in all.
    limit: usize,
    chunks: Mutex<Vec<Chunk>>,
}

/// Mapped memory and its free ranges.
struct Chunk {
    write: NonNull<c_void>,
    run: NonNull<c_void>,
    bytes: usize,
    /// Start and length, by start; never adjacent.
    free: Vec<(usize, usize)>,
    /// Whether another process may run it, too: nothing is written any more.
    is_sealed: bool,
}

// SAFETY: a chunk is memory at an address; who writes or runs what is settled by `Arena`.
unsafe impl Send for Chunk {}

/// A block of code; freed when dropped.
pub(super) struct Block {
    arena: Arc<Arena>,
    address: usize,
    bytes: usize,
}

impl Block {
    /// Where the code runs.
    pub(super) fn address(&self) -> usize {
        self.address
    }
}

impl Arena {
    pub(super) fn new(mappings: Vec<Mapping>, limit: usize) -> Arc<Self> {
        Arc::new(Self { mappings, limit, chunks: Mutex::default() })
    }

    /// A block with this code; `None` where the system gives no executable memory, or no more.
    pub(super) fn place(self: &Arc<Self>, code: &[u8]) -> Option<Block> {
        let bytes = code.len().checked_next_multiple_of(ALIGNMENT)?.max(ALIGNMENT);
        let mut chunks = self.chunks.lock().unwrap_or_else(PoisonError::into_inner);
        let address = match chunks.iter_mut().find_map(|chunk| chunk.place(bytes, code)) {
            Some(address) => address,
            None => {
                let mapped: usize = chunks.iter().map(|chunk| chunk.bytes).sum();
                let room = self.limit.saturating_sub(mapped);
                let mut ways = self.mappings.iter();
                let chunk = ways.find_map(|way| Chunk::map(*way, bytes, code, room))?;
                let address = chunk.run.as_ptr().expose_provenance();
                chunks.push(chunk);
                address
            }
        };
        Some(Block { arena: self.clone(), address, bytes })
    }

    fn free(&self, address: usize, bytes: usize) {
        let mut chunks = self.chunks.lock().unwrap_or_else(PoisonError::into_inner);
        let found = chunks.iter_mut().position(|chunk| chunk.give_back(address, bytes));
        // One empty chunk is kept for the next kernel.
        if let Some(i) = found
            && chunks[i].is_empty()
            && (chunks[i].write == chunks[i].run || chunks[i].is_sealed || chunks.len() > 1)
        {
            drop(chunks.swap_remove(i));
        }
    }

    /// Leaves what is written as it is: from here on code goes to new chunks. To be called before a fork.
    pub(super) fn seal(&self) {
        let mut chunks = self.chunks.lock().unwrap_or_else(PoisonError::into_inner);
        chunks.retain(|chunk| !chunk.is_empty());
        chunks.iter_mut().for_each(Chunk::seal);
    }

    /// Bytes mapped.
    #[cfg(test)]
    fn mapped(&self) -> usize {
        self.chunks.lock().unwrap().iter().map(|chunk| chunk.bytes).sum()
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.arena.free(self.address, self.bytes);
    }
}

impl Chunk {
    /// A chunk that begins with a block of code.
    fn map(way: Mapping, bytes: usize, code: &[u8], room: usize) -> Option<Self> {
        let page = rustix::param::page_size();
        let least = bytes.checked_next_multiple_of(page)?;
        if least > room {
            return None;
        }
        match way {
            Mapping::Dual => {
                let size = least.max(CHUNK.min(room / page * page));
                let mut chunk = Self::dual(size)?;
                chunk.place(bytes, code)?;
                Some(chunk)
            }
            Mapping::Jit => Self::jit(least, code),
            Mapping::Protected => Self::protected(least, code),
        }
    }

    /// Pages that the system lets this thread write, or run.
    #[cfg(all(target_os = "macos", target_arch = "aarch64"))]
    fn jit(bytes: usize, code: &[u8]) -> Option<Self> {
        /// The flag of such pages.
        const MAP_JIT: u32 = 0x800;
        unsafe extern "C" {
            fn pthread_jit_write_protect_np(is_protected: std::ffi::c_int);
        }
        let all = ProtFlags::READ | ProtFlags::WRITE | ProtFlags::EXEC;
        let flags = MapFlags::PRIVATE | MapFlags::from_bits_retain(MAP_JIT);
        // SAFETY: a new mapping at an address that the system chooses.
        let address = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, all, flags) };
        let address = NonNull::new(address.ok()?)?;
        let mut chunk =
            Self { write: address, run: address, bytes, free: vec![(0, bytes)], is_sealed: false };
        // SAFETY: this thread runs no such pages until they are protected again.
        unsafe { pthread_jit_write_protect_np(0) };
        let placed = chunk.place(bytes, code);
        // SAFETY: it writes none from here on.
        unsafe { pthread_jit_write_protect_np(1) };
        placed.map(|_| chunk)
    }

    #[cfg(not(all(target_os = "macos", target_arch = "aarch64")))]
    fn jit(_: usize, _: &[u8]) -> Option<Self> {
        None
    }

    #[cfg(target_os = "linux")]
    fn dual(bytes: usize) -> Option<Self> {
        use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
        let file = memfd_create("porcini-code", MemfdFlags::CLOEXEC).ok()?;
        ftruncate(&file, bytes as u64).ok()?;
        let map = |protection| {
            // SAFETY: a new mapping of our own file at an address that the system chooses.
            let address = unsafe {
                mmap(std::ptr::null_mut(), bytes, protection, MapFlags::SHARED, &file, 0)
            };
            address.ok().and_then(NonNull::new)
        };
        let write = map(ProtFlags::READ | ProtFlags::WRITE)?;
        let Some(run) = map(ProtFlags::READ | ProtFlags::EXEC) else {
            // SAFETY: nobody knows of the mapping.
            let _ = unsafe { munmap(write.as_ptr(), bytes) };
            return None;
        };
        Some(Self { write, run, bytes, free: vec![(0, bytes)], is_sealed: false })
    }

    #[cfg(not(target_os = "linux"))]
    fn dual(_: usize) -> Option<Self> {
        None
    }

    fn protected(bytes: usize, code: &[u8]) -> Option<Self> {
        let writable = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address that the system chooses.
        let address =
            unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, writable, MapFlags::PRIVATE) };
        let address = NonNull::new(address.ok()?)?;
        let mut chunk =
            Self { write: address, run: address, bytes, free: vec![(0, bytes)], is_sealed: false };
        chunk.place(bytes, code)?;
        let executable = MprotectFlags::READ | MprotectFlags::EXEC;
        // SAFETY: the pages are ours, and nobody runs or writes them yet.
        unsafe { mprotect(address.as_ptr(), bytes, executable) }.ok()?;
        Some(chunk)
    }

    /// Writes code into the first free range that holds `bytes`; the address where it runs.
    fn place(&mut self, bytes: usize, code: &[u8]) -> Option<usize> {
        if self.is_sealed {
            return None;
        }
        let i = self.free.iter().position(|&(_, length)| length >= bytes)?;
        let (start, length) = self.free[i];
        if length == bytes {
            self.free.remove(i);
        } else {
            self.free[i] = (start + bytes, length - bytes);
        }
        // SAFETY: the range lies in the writable view.
        let target = unsafe { self.write.as_ptr().cast::<u8>().add(start) };
        // SAFETY: the range is free, so nobody reads or runs it, and `code` is at most `bytes` long.
        unsafe { std::ptr::copy_nonoverlapping(code.as_ptr(), target, code.len()) };
        let address = self.run.as_ptr().expose_provenance() + start;
        Native::publish(address, code.len());
        Some(address)
    }

    /// Takes a block back if it is one of this chunk's.
    fn give_back(&mut self, address: usize, bytes: usize) -> bool {
        let Some(start) = address.checked_sub(self.run.as_ptr().expose_provenance()) else {
            return false;
        };
        if start >= self.bytes {
            return false;
        }
        // A kernel that has pages of its own holds them all.
        let bytes = if self.write == self.run { self.bytes } else { bytes };
        let i = self.free.partition_point(|&(other, _)| other < start);
        self.free.insert(i, (start, bytes));
        if self.free.get(i + 1).is_some_and(|&(next, _)| next == start + bytes) {
            self.free[i].1 += self.free.remove(i + 1).1;
        }
        if i > 0 && self.free[i - 1].0 + self.free[i - 1].1 == start {
            self.free[i - 1].1 += self.free.remove(i).1;
        }
        true
    }

    /// Lets go of what lies behind the last block, and of the rest once no block is left.
    fn seal(&mut self) {
        self.is_sealed = true;
        let Some(&(start, length)) = self.free.last() else { return };
        let end = start.next_multiple_of(rustix::param::page_size());
        // Pages of a kernel's own have nothing to let go of.
        if start + length < self.bytes || end >= self.bytes || self.write == self.run {
            return;
        }
        for view in [self.write, self.run] {
            // SAFETY: the view is longer.
            let behind = unsafe { view.as_ptr().byte_add(end) };
            // SAFETY: whole pages at the end of both views, where no block is.
            let _ = unsafe { munmap(behind, self.bytes - end) };
        }
        self.bytes = end;
        self.free.pop();
        if start < end {
            self.free.push((start, end - start));
        }
    }

    fn is_empty(&self) -> bool {
        self.free == [(0, self.bytes)]
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        // SAFETY: no block of the chunk is left, or the arena itself is gone, which every block holds.
        let _ = unsafe { munmap(self.write.as_ptr(), self.bytes) };
        if self.run != self.write {
            // SAFETY: as above.
            let _ = unsafe { munmap(self.run.as_ptr(), self.bytes) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function that returns the number.
    fn code(number: u16) -> Vec<u8> {
        if cfg!(target_arch = "aarch64") {
            // movz w0, number; ret
            let words = [0x5280_0000 | u32::from(number) << 5, 0xd65f_03c0];
            return words.into_iter().flat_map(u32::to_le_bytes).collect();
        }
        // mov eax, number; ret
        let mut code = vec![0xb8];
        code.extend_from_slice(&u32::from(number).to_le_bytes());
        code.push(0xc3);
        code
    }

    fn call(block: &Block) -> u32 {
        let code = std::ptr::with_exposed_provenance::<()>(block.address());
        // SAFETY: the block holds a function that takes nothing and returns a number.
        let function: extern "C" fn() -> u32 = unsafe { std::mem::transmute(code) };
        function()
    }

    #[test]
    fn code_runs_and_its_memory_is_used_again() {
        for mapping in [Mapping::Dual, Mapping::Protected] {
            let arena = Arena::new(vec![mapping], 1 << 24);
            let blocks: Vec<Block> =
                (0..100).map(|i| arena.place(&code(i)).expect("this system maps code")).collect();
            for (i, block) in (0..).zip(&blocks) {
                assert_eq!(call(block), i);
            }
            let mapped = arena.mapped();
            drop(blocks);
            let again: Vec<Block> = (0..100).filter_map(|i| arena.place(&code(i + 7))).collect();
            assert_eq!(call(&again[50]), 57);
            assert_eq!(arena.mapped(), mapped, "{mapping:?}");
        }
    }

    #[test]
    fn what_is_sealed_runs_and_is_not_written() {
        let arena = Arena::new(vec![Mapping::Dual], 1 << 24);
        let before = arena.place(&code(1)).expect("this system maps code");
        let gone = arena.place(&code(2)).unwrap();
        let there = gone.address();
        arena.seal();
        let page = rustix::param::page_size();
        assert_eq!(arena.mapped(), page);
        drop(gone);
        let after: Vec<Block> = (3..6).filter_map(|i| arena.place(&code(i))).collect();
        assert!(after.iter().all(|block| block.address() / page != there / page));
        assert_eq!((call(&before), call(&after[0]), call(&after[2])), (1, 3, 5));
        drop(before);
        assert_eq!(arena.mapped(), CHUNK, "the sealed chunk is gone");
        drop(after);
        arena.seal();
        assert_eq!(arena.mapped(), 0);
        assert_eq!(arena.place(&code(9)).map(|block| call(&block)), Some(9));
    }

    #[test]
    fn a_large_kernel_grows_the_arena_and_a_small_limit_holds() {
        let arena = Arena::new(vec![Mapping::Dual], 4 << 20);
        let mut large = code(5);
        large.resize(3 << 20, 0);
        assert_eq!(arena.place(&large).map(|block| call(&block)), Some(5));
        let _held = arena.place(&large).unwrap();
        assert!(arena.place(&large).is_none());
        let none = Arena::new(Vec::new(), 1 << 20);
        assert!(none.place(&code(1)).is_none());
    }
}
