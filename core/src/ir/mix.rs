//! Hashing of trusted words: slots, kinds, hashes of kernels.

use crate::convert::exactly;
use std::hash::{BuildHasher, Hasher};

/// Multiply-and-fold hashing: a few cycles a word, good enough in all bits for a hash table.
#[derive(Clone, Copy, Default)]
pub(crate) struct Mix(u64);

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    #[inline]
    fn write_u8(&mut self, byte: u8) {
        self.write_u64(u64::from(byte));
    }

    #[inline]
    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    #[inline]
    fn write_isize(&mut self, word: isize) {
        self.write_u64(word.cast_unsigned() as u64);
    }

    #[inline]
    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        let product =
            u128::from(self.0 ^ word ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93_u128;
        self.0 = exactly::<u64>(product >> 64) ^ exactly::<u64>(product & u128::from(u64::MAX));
    }

    #[inline]
    fn write_u128(&mut self, words: u128) {
        let [low, high] = [words, words >> 64].map(|word| word & u128::from(u64::MAX));
        self.write_u64(exactly::<u64>(low ^ high));
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

impl BuildHasher for Mix {
    type Hasher = Self;

    fn build_hasher(&self) -> Self {
        *self
    }
}
