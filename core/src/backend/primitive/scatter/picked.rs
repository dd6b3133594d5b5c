//! Scatters of lanes that each window picks out of all of them, with AVX-512: sixteen are looked at a time.
#![expect(unsafe_code, reason = "instructions that not every processor has, lanes by pointer")]
#![expect(clippy::multiple_unsafe_ops_per_block, reason = "every operation on vectors is one")]

use std::arch::x86_64::{
    _mm_maskz_loadu_epi8, _mm_test_epi8_mask, _mm512_mask_cmpge_epu32_mask,
    _mm512_mask_cmplt_epu32_mask, _mm512_maskz_compress_epi32, _mm512_maskz_compress_epi64,
    _mm512_maskz_loadu_epi32, _mm512_maskz_loadu_epi64, _mm512_set1_epi32, _mm512_storeu_si512,
    _mm512_sub_epi32,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::super::MemoryArray;
use super::super::lanes::Lanes;
use super::super::pieces::Workers;
use super::super::vectors::Vectors;
use super::hits::{Apply, Hits, OfLanes, Scatter, apply_of, on_own_lines};
use crate::backend::OutOfBounds;
use crate::convert::exactly;
use crate::error::Result;

/// Lanes of a vector of indices.
const VECTOR: usize = 16;
/// Lanes that are looked at before those that hit write.
const BLOCK: usize = 1 << 11;
/// Blocks between two questions whether to go on.
const PATIENCE: usize = 1 << 6;
/// Threads up to which looking at all lanes is faster than to put them in order: each reads all of them.
const MOST_THREADS: usize = 6;
/// Elements that a signed index reaches.
const MOST_ELEMENTS: u64 = 1 << 31;

/// Whether there is code for a scatter, and each of few threads has a window.
pub(super) fn suits(workers: &Workers<'_>, scatter: &Scatter) -> bool {
    scatter.index_type.bytes() == 4
        && scatter.target.dtype.bytes() >= 4
        && scatter.target.size <= MOST_ELEMENTS
        && workers.pool.threads() <= MOST_THREADS
}

/// As [`super::write`].
///
/// # Errors
/// `Interrupted`, and the target is undefined then.
pub(super) fn write(
    workers: &Workers<'_>,
    vectors: Vectors,
    scatter: &Scatter,
) -> Result<Option<OutOfBounds>> {
    let [lanes, elements] = [scatter.lanes, scatter.target.size].map(exactly::<usize>);
    let threads = workers.pool.threads();
    let window = elements.div_ceil(threads);
    let (windows, piece) = (elements.div_ceil(window), lanes.div_ceil(threads));
    let lowest = Arc::new(AtomicU64::new(u64::MAX));
    let job = Job {
        scatter: scatter.clone(),
        window,
        apply: apply_of(scatter.op, scatter.target.dtype),
        lowest: lowest.clone(),
        _vectors: vectors,
    };
    workers.tasks(windows + threads, true, move |task, goes_on| {
        match task.checked_sub(windows) {
            None => job.write(task, goes_on),
            Some(number) => job.look(number * piece, piece),
        }
    })?;
    Ok(scatter.outside(lowest.load(Ordering::Relaxed)))
}

/// One scatter, shared by the threads that work on it.
struct Job {
    scatter: Scatter,
    /// Elements of a window.
    window: usize,
    apply: Apply,
    /// The lowest lane out of bounds.
    lowest: Arc<AtomicU64>,
    _vectors: Vectors,
}

/// Lanes that hit a window. Vectors are stored at the end of those before.
struct Found<V> {
    elements: [u32; BLOCK + VECTOR],
    values: [V; BLOCK + VECTOR],
}

impl Job {
    /// Lets the lanes that hit a window write there.
    fn write(&self, number: usize, goes_on: &dyn Fn() -> bool) {
        match self.scatter.target.dtype.bytes() {
            4 => self.write_as::<u32>(number, goes_on),
            _ => self.write_as::<u64>(number, goes_on),
        }
    }

    fn write_as<V: Value>(&self, number: usize, goes_on: &dyn Fn() -> bool) {
        let target = self.scatter.target;
        let first = number * self.window;
        let size = self.window.min(exactly::<usize>(target.size) - first);
        let address = target.address + (first * size_of::<V>()) as u64;
        let elements = MemoryArray { address, size: size as u64, dtype: target.dtype };
        on_own_lines(elements, |elements| self.write_to::<V>(elements, first, goes_on));
    }

    fn write_to<V: Value>(&self, elements: MemoryArray, first: usize, goes_on: &dyn Fn() -> bool) {
        let same = match self.scatter.value {
            OfLanes::Array(_) => V::default(),
            OfLanes::Bits(bits) => V::of_bits(bits),
        };
        let mut found = Found { elements: [0; BLOCK + VECTOR], values: [same; BLOCK + VECTOR] };
        let lanes = exactly::<usize>(self.scatter.lanes);
        for (count, start) in (0..lanes).step_by(BLOCK).enumerate() {
            if count % PATIENCE == 0 && !goes_on() {
                return;
            }
            let n = BLOCK.min(lanes - start);
            let n = self.pick::<V>(&mut found, start, n, [exactly(first), exactly(elements.size)]);
            let at = found.elements.as_ptr().expose_provenance() as u64;
            let values = found.values.as_ptr().expose_provenance() as u64;
            (self.apply)(elements, Hits::Apart(at, values), n);
        }
    }

    /// Finds, of some lanes, those that hit a window; how many.
    fn pick<V: Value>(
        &self,
        found: &mut Found<V>,
        start: usize,
        n: usize,
        window: [u32; 2],
    ) -> usize {
        let values = match self.scatter.value {
            OfLanes::Array(at) => Some(Lanes::<V>::at(at, start + n).slice(start, start + n)),
            OfLanes::Bits(_) => None,
        };
        let (indices, active) = self.lanes(start, start + n);
        // SAFETY: AVX-512 is there, as `_vectors` says, and there is room for as many lanes and a vector.
        unsafe { pick(indices, values, active, window, found) }
    }

    /// Notes the lowest of some lanes that is out of bounds.
    fn look(&self, start: usize, n: usize) {
        let end = exactly::<usize>(self.scatter.lanes).min(start + n);
        if start >= end {
            return;
        }
        let (indices, active) = self.lanes(start, end);
        // SAFETY: AVX-512 is there, as `_vectors` says.
        let lane = unsafe { beyond(indices, active, exactly(self.scatter.target.size)) };
        if let Some(lane) = lane {
            self.lowest.fetch_min((start + lane) as u64, Ordering::Relaxed);
        }
    }

    /// Indices of some lanes, and which of them write.
    fn lanes(&self, start: usize, end: usize) -> (&[u32], Option<&[u8]>) {
        let active = self.scatter.active.map(|at| Lanes::<u8>::at(at, end).slice(start, end));
        (Lanes::<u32>::at(self.scatter.index, end).slice(start, end), active)
    }
}

/// The bits of a value.
trait Value: Copy + Default {
    fn of_bits(bits: u64) -> Self;

    /// Stores those of sixteen lanes at an address on that a mask has, behind each other.
    ///
    /// # Safety
    /// Needs AVX-512, the lanes of `exist` at `from`, and room for two vectors behind `to`.
    unsafe fn compress(hits: u16, exist: u16, from: *const Self, to: *mut Self);
}

impl Value for u32 {
    fn of_bits(bits: u64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "the low half are its bits")]
        let low = bits as Self;
        low
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn compress(hits: u16, exist: u16, from: *const Self, to: *mut Self) {
        // SAFETY: passed on to the caller.
        unsafe {
            let lanes = _mm512_maskz_loadu_epi32(exist, from.cast());
            _mm512_storeu_si512(to.cast(), _mm512_maskz_compress_epi32(hits, lanes));
        }
    }
}

impl Value for u64 {
    fn of_bits(bits: u64) -> Self {
        bits
    }

    #[inline]
    #[target_feature(enable = "avx512f,popcnt")]
    unsafe fn compress(hits: u16, exist: u16, from: *const Self, to: *mut Self) {
        let [low, high] = hits.to_le_bytes();
        let [low_lanes, high_lanes] = exist.to_le_bytes();
        // SAFETY: passed on to the caller.
        unsafe {
            let lanes = _mm512_maskz_loadu_epi64(low_lanes, from.cast());
            _mm512_storeu_si512(to.cast(), _mm512_maskz_compress_epi64(low, lanes));
            let lanes = _mm512_maskz_loadu_epi64(high_lanes, from.wrapping_add(VECTOR / 2).cast());
            let to = to.add(low.count_ones() as usize);
            _mm512_storeu_si512(to.cast(), _mm512_maskz_compress_epi64(high, lanes));
        }
    }
}

/// The first lanes of a vector, so many of them.
fn lanes_of(n: usize) -> u16 {
    if n >= VECTOR { u16::MAX } else { (1 << n) - 1 }
}

/// # Safety
/// Needs AVX-512; `found` has room for all lanes and a vector.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
unsafe fn pick<V: Value>(
    indices: &[u32],
    values: Option<&[V]>,
    active: Option<&[u8]>,
    [first, size]: [u32; 2],
    found: &mut Found<V>,
) -> usize {
    let [first, size] = [first, size].map(|number| number.cast_signed());
    let (first, size) = (_mm512_set1_epi32(first), _mm512_set1_epi32(size));
    let mut n = 0;
    for lane in (0..indices.len()).step_by(VECTOR) {
        let exist = lanes_of(indices.len() - lane);
        // SAFETY: lanes that exist are within their slices; there is room for a vector behind those found.
        unsafe {
            let index = _mm512_maskz_loadu_epi32(exist, indices.as_ptr().add(lane).cast());
            let element = _mm512_sub_epi32(index, first);
            let mut hits = _mm512_mask_cmplt_epu32_mask(exist, element, size);
            if let Some(active) = active {
                let bytes = _mm_maskz_loadu_epi8(exist, active.as_ptr().add(lane).cast());
                hits &= _mm_test_epi8_mask(bytes, bytes);
            }
            let packed = _mm512_maskz_compress_epi32(hits, element);
            _mm512_storeu_si512(found.elements.as_mut_ptr().add(n).cast(), packed);
            if let Some(values) = values {
                let to = found.values.as_mut_ptr().add(n);
                V::compress(hits, exist, values.as_ptr().add(lane), to);
            }
            n += hits.count_ones() as usize;
        }
    }
    n
}

/// The first lane whose index is none of an element.
///
/// # Safety
/// Needs AVX-512.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
unsafe fn beyond(indices: &[u32], active: Option<&[u8]>, elements: u32) -> Option<usize> {
    let elements = _mm512_set1_epi32(elements.cast_signed());
    for lane in (0..indices.len()).step_by(VECTOR) {
        let exist = lanes_of(indices.len() - lane);
        // SAFETY: lanes that exist are within their slices.
        unsafe {
            let index = _mm512_maskz_loadu_epi32(exist, indices.as_ptr().add(lane).cast());
            let mut outside = _mm512_mask_cmpge_epu32_mask(exist, index, elements);
            if let Some(active) = active {
                let bytes = _mm_maskz_loadu_epi8(exist, active.as_ptr().add(lane).cast());
                outside &= _mm_test_epi8_mask(bytes, bytes);
            }
            if outside != 0 {
                return Some(lane + outside.trailing_zeros() as usize);
            }
        }
    }
    None
}
