//! The numbers of the true lanes of a mask.
#![expect(unsafe_code, reason = "instructions that not every processor has")]

use std::ops::Add;

use super::MemoryArray;
use super::lanes::{Lanes, Numbers};
use super::pieces::{Piece, Workers, piece_length};
use crate::backend::isa::Isa;
use crate::convert::exactly;
use crate::error::Result;
use crate::ir::primitive::Primitive;

/// Lanes looked at between two copies to the result.
const BLOCK: usize = 1024;
/// Lanes whose numbers are written at once, whichever are true: no predictor knows which.
const TOGETHER: usize = 8;
/// Lanes that are counted in bytes.
const COUNTED: usize = 128;
/// Of every byte the places of the bits that are set, the lowest first.
const PLACES: [[u8; TOGETHER]; 256] = places();

/// Writes the numbers of the true lanes of `mask`, in order; the first lane has the number `base`.
pub(super) fn find(
    workers: &Workers<'_>,
    mask: MemoryArray,
    result: MemoryArray,
    base: u64,
) -> Result<()> {
    match Numbers::of(result) {
        Numbers::U32(result) => {
            let base = exactly::<u32>(base);
            find_as(workers, Lanes::of(mask), result, move |lane| base + exactly::<u32>(lane))
        }
        Numbers::U64(result) => {
            find_as(workers, Lanes::of(mask), result, move |lane| base + lane as u64)
        }
    }
}

/// How many lanes of each chunk are true.
pub(super) fn count(workers: &Workers<'_>, mask: Lanes<u8>, counts: Lanes<u64>) -> Result<()> {
    workers.pieces(mask.len(), move |piece| {
        for first in (piece.start..piece.end).step_by(Primitive::CHUNK) {
            let lanes = mask.slice(first, piece.end.min(first + Primitive::CHUNK));
            counts.set(first / Primitive::CHUNK, n_true(lanes) as u64);
        }
    })
}

fn find_as<I: Number>(
    workers: &Workers<'_>,
    mask: Lanes<u8>,
    result: Lanes<I>,
    number: impl Fn(usize) -> I + Copy + Send + Sync + 'static,
) -> Result<()> {
    let n = mask.len();
    let counts = workers.scratch::<usize>(n.div_ceil(piece_length(n)))?;
    let starts = counts.lanes;
    workers.pieces(n, move |piece| {
        starts.set(piece.number, n_true(mask.slice(piece.start, piece.end)));
    })?;
    let mut n_before = 0;
    for start in starts.slice_mut(0, starts.len()) {
        n_before += std::mem::replace(start, n_before);
    }
    if matches!(workers.isa, Isa::Avx2 | Isa::Avx512) {
        return workers.pieces(n, move |piece| {
            // SAFETY: the instructions are those of the processor.
            unsafe { find_in_piece_avx2(mask, piece, result, starts.get(piece.number), number) };
        });
    }
    workers.pieces(n, move |piece| {
        find_in_piece(mask, piece, result, starts.get(piece.number), number);
    })
}

/// Types of lane numbers.
trait Number: Copy + Default + From<u8> + Add<Output = Self> + Send + Sync + 'static {}

impl Number for u32 {}
impl Number for u64 {}

/// How many lanes are true.
fn n_true(lanes: &[u8]) -> usize {
    let of_few = |lanes: &[u8]| lanes.iter().map(|lane| lane & 1).sum::<u8>();
    lanes.chunks(COUNTED).map(|lanes| usize::from(of_few(lanes))).sum()
}

/// # Safety
/// Needs AVX2.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2,popcnt"))]
unsafe fn find_in_piece_avx2<I: Number>(
    mask: Lanes<u8>,
    piece: Piece,
    result: Lanes<I>,
    next: usize,
    number: impl Fn(usize) -> I,
) {
    find_in_piece(mask, piece, result, next, number);
}

/// The numbers of a piece, from lane `next` of the result on. Inlined where there are vectors.
#[inline(always)]
fn find_in_piece<I: Number>(
    mask: Lanes<u8>,
    piece: Piece,
    result: Lanes<I>,
    mut next: usize,
    number: impl Fn(usize) -> I,
) {
    let mut found = [I::default(); BLOCK + TOGETHER];
    for first in (piece.start..piece.end).step_by(BLOCK) {
        let lanes = mask.slice(first, piece.end.min(first + BLOCK));
        let n_found = find_in_block(lanes, |lane| number(first + lane), &mut found);
        // Behind them the result is other threads'.
        result.slice_mut(next, next + n_found).copy_from_slice(&found[..n_found]);
        next += n_found;
    }
}

/// Puts the numbers of the true ones of at most a block of lanes in front of others; how many they are.
#[inline(always)]
fn find_in_block<I: Number>(
    lanes: &[u8],
    number: impl Fn(usize) -> I,
    found: &mut [I; BLOCK + TOGETHER],
) -> usize {
    let (words, rest) = lanes.as_chunks::<TOGETHER>();
    let mut n_found = 0;
    for (i, &word) in words.iter().enumerate() {
        n_found += find_in_word(word, number(i * TOGETHER), &mut found[n_found..]);
    }
    if !rest.is_empty() {
        let mut word = [0; TOGETHER];
        word[..rest.len()].copy_from_slice(rest);
        n_found += find_in_word(word, number(words.len() * TOGETHER), &mut found[n_found..]);
    }
    n_found
}

#[inline(always)]
fn find_in_word<I: Number>(lanes: [u8; TOGETHER], first: I, found: &mut [I]) -> usize {
    let ones = u64::from_le_bytes(lanes) & 0x0101_0101_0101_0101;
    // The sum of shifts that bring the bit of lane i to bit 56 + i; no others meet there, so that nothing is carried.
    let [.., bits] = ones.wrapping_mul(0x0102_0408_1020_4080).to_le_bytes();
    for (number, place) in found[..TOGETHER].iter_mut().zip(PLACES[usize::from(bits)]) {
        *number = first + I::from(place);
    }
    exactly(bits.count_ones())
}

const fn places() -> [[u8; TOGETHER]; 256] {
    let mut places = [[0; TOGETHER]; 256];
    let mut bits = 0;
    while bits < places.len() {
        let (mut place, mut n) = (0, 0);
        while place < 8 {
            if bits >> place & 1 == 1 {
                places[bits][n] = place;
                n += 1;
            }
            place += 1;
        }
        bits += 1;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::primitive::room_of_the_heap;
    use crate::backend::thread_pool::Pool;
    use crate::dtype::DType;

    fn array<T>(dtype: DType, lanes: &mut [T]) -> MemoryArray {
        let address = lanes.as_mut_ptr().expose_provenance() as u64;
        MemoryArray { address, size: lanes.len() as u64, dtype }
    }

    fn check<I: Number + PartialEq>(dtype: DType, mut mask: Vec<u8>, number: impl Fn(usize) -> I) {
        let (pool, n) = (Pool::new(2), mask.len());
        let want: Vec<I> = (0..n).filter(|&lane| mask[lane] == 1).map(number).collect();
        assert_eq!(n_true(&mask), want.len(), "of {n} lanes");
        for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
            // What stands behind them is somebody else's.
            let mut numbers = vec![I::default(); want.len() + TOGETHER];
            let workers = Workers { pool: &pool, isa, room: &room_of_the_heap };
            let result = array(dtype, &mut numbers[..want.len()]);
            find(&workers, array(DType::Mask, &mut mask), result, 7).expect("numbers");
            assert!(numbers[..want.len()] == want, "{isa}: {dtype} numbers of {n} lanes");
            assert!(numbers[want.len()..] == [I::default(); TOGETHER], "{isa}: {n} lanes");
        }
    }

    #[test]
    fn numbers_are_those_of_the_true_lanes() {
        for n in [0, 1, 7, 8, 9, 127, 129, 1023, 1024, 1025, (1 << 16) + 3, (1 << 18) + 1025] {
            let masks: [fn(usize) -> bool; 4] =
                [|_| true, |_| false, |i| i * i % 7 < 3, |i| i % 64 > 60];
            for is_true in masks {
                let mask: Vec<u8> = (0..n).map(|i| u8::from(is_true(i))).collect();
                check(DType::U32, mask.clone(), |lane| exactly::<u32>(lane) + 7);
                check(DType::U64, mask, |lane| lane as u64 + 7);
            }
        }
    }
}
