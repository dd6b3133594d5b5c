//! Memory that machine code works on besides buffers: frames, uniform values, copies of the last lanes.
#![expect(unsafe_code, reason = "hands out its memory as bytes")]

use std::hint::black_box;

use super::program::{ACTIVE_BITS, ACTIVE_VECTORS, Frame, Packet};
use crate::convert::exactly;

/// Zeroed memory on a cache line.
pub(super) struct Aligned {
    memory: Vec<u64>,
    offset: usize,
    bytes: usize,
}

impl Aligned {
    pub(super) fn new(bytes: usize) -> Self {
        if bytes == 0 {
            return Self { memory: Vec::new(), offset: 0, bytes };
        }
        // The C library keeps blocks ready for a thread, but none that it has to clear: it must not see that these are
        // cleared at once.
        let n = bytes.div_ceil(8) + 8;
        let mut memory = black_box(Vec::with_capacity(n));
        memory.resize(n, 0_u64);
        let offset = memory.as_ptr().align_offset(64) * 8;
        Self { memory, offset, bytes }
    }

    pub(super) fn pointer(&mut self) -> *mut u8 {
        // SAFETY: eight words more than asked for hold any offset to a cache line.
        unsafe { self.memory.as_mut_ptr().cast::<u8>().add(self.offset) }
    }

    /// The same for reading, while threads share it.
    pub(super) fn shared(&self) -> *mut u8 {
        self.memory.as_ptr().cast::<u8>().cast_mut().wrapping_add(self.offset)
    }

    pub(super) fn bytes(&mut self, start: usize, length: usize) -> &mut [u8] {
        assert!(start + length <= self.bytes, "internal error: beyond a kernel's memory");
        let pointer = self.pointer().wrapping_add(start);
        // SAFETY: the range was checked, and the borrow is of all of it.
        unsafe { std::slice::from_raw_parts_mut(pointer, length) }
    }

    pub(super) fn word(&mut self, start: u32) -> u64 {
        let mut word = [0; 8];
        word.copy_from_slice(self.bytes(start as usize, 8));
        u64::from_le_bytes(word)
    }

    pub(super) fn set_word(&mut self, start: u32, word: u64) {
        self.bytes(start as usize, 8).copy_from_slice(&word.to_le_bytes());
    }
}

pub(super) fn error_word(frame: &Frame, access: usize) -> u32 {
    frame.errors + 16 * exactly::<u32>(access)
}

pub(super) fn pointer_word(frame: &Frame, buffer: usize) -> u32 {
    frame.pointers + 8 * exactly::<u32>(buffer)
}

/// Makes the first `n` lanes of the packet lanes of the launch.
pub(super) fn set_active(frame: &mut Aligned, packet: Packet, n: usize) {
    let bits = if n >= 64 { u64::MAX } else { (1 << n) - 1 };
    frame.set_word(ACTIVE_BITS, bits);
    if !packet.target.has_mask_registers() {
        let vectors = frame.bytes(ACTIVE_VECTORS as usize, 4 * packet.lanes());
        vectors[..4 * n].fill(0xff);
        vectors[4 * n..].fill(0);
    }
}
