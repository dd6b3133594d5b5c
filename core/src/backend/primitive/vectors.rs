//! Sorting with AVX-512: keys below a pivot leave a vector together, and a few vectors are sorted by a
//! network of exchanges in registers.
//!
//! Vectors pass through no closure of others' functions, such as `array::map`: those have no AVX-512, and
//! what has it is not inlined there.
#![expect(unsafe_code, reason = "instructions that not every processor has, lanes by pointer")]
#![expect(clippy::multiple_unsafe_ops_per_block, reason = "every operation on vectors is one")]

use std::arch::x86_64::{
    __m512i, _mm512_cmplt_epu32_mask, _mm512_cmplt_epu64_mask, _mm512_loadu_si512,
    _mm512_mask_loadu_epi32, _mm512_mask_loadu_epi64, _mm512_mask_max_epu32, _mm512_mask_max_epu64,
    _mm512_mask_storeu_epi32, _mm512_mask_storeu_epi64, _mm512_maskz_compress_epi32,
    _mm512_maskz_compress_epi64, _mm512_max_epu32, _mm512_max_epu64, _mm512_min_epu32,
    _mm512_min_epu64, _mm512_permutex2var_epi32, _mm512_permutex2var_epi64,
    _mm512_permutexvar_epi32, _mm512_permutexvar_epi64, _mm512_set1_epi32, _mm512_set1_epi64,
    _mm512_storeu_si512, _mm512_stream_si512,
};

use crate::backend::isa::Isa;

/// Vectors that the largest network sorts.
const NETWORK: usize = 16;
/// Vectors between two questions whether to go on.
const PATIENCE: usize = 1 << 14;

/// Says that the processor has AVX-512.
#[derive(Clone, Copy)]
pub(super) struct Vectors(());

/// Which keys stay in the array that is partitioned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stay {
    Below,
    Others,
}

impl Vectors {
    /// If code for an instruction set may use AVX-512.
    pub(super) fn of(isa: Isa) -> Option<Self> {
        (isa == Isa::Avx512 && isa.is_available()).then_some(Self(()))
    }

    /// Keys up to which [`Vectors::sort_few`] sorts.
    pub(super) const fn few<K: VectorKey>() -> usize {
        NETWORK * <K::Vector as Vector>::LANES
    }

    /// `to[i] = f(from[i])`, as fast as the compiler makes it.
    pub(super) fn map<A: Copy, B>(self, from: &[A], to: &mut [B], f: impl Fn(A) -> B) {
        // SAFETY: AVX-512 is there.
        unsafe { map(from, to, f) }
    }

    /// `keys[i] = f(keys[i])`, as fast as the compiler makes it.
    pub(super) fn update<A: Copy>(self, keys: &mut [A], f: impl Fn(A) -> A) {
        // SAFETY: AVX-512 is there.
        unsafe { update(keys, f) }
    }

    /// Puts the keys of `from`, or those of `to` itself, in order into `to`.
    pub(super) fn sort_few<K: VectorKey>(self, from: Option<&[K]>, to: &mut [K]) {
        let n = to.len();
        assert!(n <= Self::few::<K>() && from.is_none_or(|from| from.len() == n));
        let to = to.as_mut_ptr();
        let from = from.map_or(to.cast_const(), <[K]>::as_ptr);
        // SAFETY: AVX-512 is there, and both arrays hold `n` keys.
        unsafe {
            match n.div_ceil(<K::Vector as Vector>::LANES) {
                0..=1 => network::<K::Vector, 1>(from, to, n),
                2 => network::<K::Vector, 2>(from, to, n),
                3..=4 => network::<K::Vector, 4>(from, to, n),
                5..=8 => network::<K::Vector, 8>(from, to, n),
                _ => network::<K::Vector, NETWORK>(from, to, n),
            }
        }
    }

    /// Moves keys of `from` into `to`, which is as long: those that do not stay. Both kinds lie at the
    /// start of their array then, in any order. The number of those that stayed; `None` if it shall not
    /// go on, when both arrays have any contents.
    pub(super) fn partition<K: VectorKey>(
        self,
        from: &mut [K],
        to: &mut [K],
        pivot: K,
        stay: Stay,
        goes_on: impl Fn() -> bool,
    ) -> Option<usize> {
        assert_eq!(from.len(), to.len());
        let patience = PATIENCE * <K::Vector as Vector>::LANES;
        let n = from.len();
        let (from, to) = (from.as_mut_ptr(), to.as_mut_ptr());
        let mut stayed = 0;
        let mut first = 0;
        while first < n {
            if !goes_on() {
                return None;
            }
            let last = n.min(first + patience);
            let left = first - stayed;
            // SAFETY: AVX-512 is there. Of the first keys, `stayed` are at the start of `from` and `left`
            // at that of `to`; what is written from there on is no more than what was read.
            let more = unsafe {
                let from = from.add(first);
                partition::<K::Vector>(
                    from,
                    from.sub(left),
                    to.add(left),
                    last - first,
                    pivot,
                    stay,
                )
            };
            stayed += more;
            first = last;
        }
        Some(stayed)
    }
}

/// Keys that vectors hold.
pub(super) trait VectorKey: Copy {
    type Vector: Vector<Key = Self>;
}

impl VectorKey for u32 {
    type Vector = Vector32;
}

impl VectorKey for u64 {
    type Vector = Vector64;
}

/// Lanes of a register.
///
/// # Safety
/// Everything here needs AVX-512 F; a pointer must be valid for a vector, or for as many keys as are said.
pub(super) trait Vector: Copy {
    type Key: Copy;
    const LANES: usize;
    unsafe fn splat(key: Self::Key) -> Self;
    unsafe fn load(from: *const Self::Key) -> Self;
    /// The first `n` keys, then the largest there is.
    unsafe fn load_first(from: *const Self::Key, n: usize) -> Self;
    unsafe fn store(self, to: *mut Self::Key);
    unsafe fn store_first(self, to: *mut Self::Key, n: usize);
    /// Past the caches, to the start of a line; before others read it, a fence is needed.
    unsafe fn stream(self, to: *mut Self::Key);
    /// The last `n` lanes of this one, then the first of the other; `n` is at most the number of lanes.
    unsafe fn join(self, other: Self, n: usize) -> Self;
    unsafe fn below(self, pivot: Self) -> u32;
    /// The lanes of the mask, then others.
    unsafe fn compress(self, mask: u32) -> Self;
    unsafe fn min(self, other: Self) -> Self;
    unsafe fn max(self, other: Self) -> Self;
    /// Every lane meets the one whose number differs by the bits of `X`; the smaller key goes to the lower.
    unsafe fn exchange<const X: usize>(self) -> Self;
    unsafe fn reverse(self) -> Self;
    /// Of two by two lanes whose numbers differ by `D`, the first of both and the second of both.
    unsafe fn transpose<const D: usize>(self, other: Self) -> (Self, Self);
}

/// The lanes that meet lower ones in an exchange: those with the highest bit of `x`.
const fn upper(x: usize, lanes: usize) -> u32 {
    let (mut mask, mut lane) = (0, 0);
    while lane < lanes {
        if lane & (1 << x.ilog2()) != 0 {
            mask |= 1 << lane;
        }
        lane += 1;
    }
    mask
}

/// The lanes that lanes meet in an exchange, as a vector's bytes: `LANES` numbers of `bytes` bytes.
const fn partners(x: usize, lanes: usize) -> [u8; 64] {
    let mut numbers = [0; 64];
    let mut lane = 0;
    while lane < lanes {
        // A lane's number is below 16: one byte of it says all.
        numbers[lane * (64 / lanes)] = (lane ^ x).to_le_bytes()[0];
        lane += 1;
    }
    numbers
}

/// The lanes of two vectors, one after the other, that [`Vector::transpose`] puts into its first result, or
/// its second.
const fn transposed(d: usize, second: bool, lanes: usize) -> [u8; 64] {
    let mut numbers = [0; 64];
    let mut lane = 0;
    while lane < lanes {
        let from = match (lane & d == 0, second) {
            (true, false) => lane,
            (true, true) => lane + d,
            (false, false) => lanes + lane - d,
            (false, true) => lanes + lane,
        };
        numbers[lane * (64 / lanes)] = from.to_le_bytes()[0];
        lane += 1;
    }
    numbers
}

macro_rules! vector {
    ($name:ident: $lanes:literal of $key:ty as $signed:ty, masks $mask:ty,
     $splat:ident, $load_some:ident, $store_some:ident, $below:ident, $compress:ident,
     $min:ident, $max:ident, $max_some:ident, $permute:ident, $pick:ident) => {
        /// Lanes of one type in a register.
        #[derive(Clone, Copy)]
        pub(super) struct $name(pub(super) __m512i);

        #[expect(clippy::cast_possible_truncation, reason = "a mask has a bit a lane")]
        impl Vector for $name {
            type Key = $key;
            const LANES: usize = $lanes;

            #[inline]
            #[target_feature(enable = "avx512f")]
            unsafe fn splat(key: $key) -> Self {
                Self($splat(key.cast_signed()))
            }

            #[inline]
            #[target_feature(enable = "avx512f")]
            unsafe fn load(from: *const $key) -> Self {
                // SAFETY: passed on to the caller.
                Self(unsafe { _mm512_loadu_si512(from.cast()) })
            }

            #[inline]
            #[target_feature(enable = "avx512f")]
            unsafe fn load_first(from: *const $key, n: usize) -> Self {
                let ones = _mm512_set1_epi32(-1);
                // SAFETY: passed on to the caller.
                Self(unsafe { $load_some(ones, first_lanes(n) as $mask, from.cast()) })
            }

            #[inline]
            #[target_feature(enable = "avx512f")]
            unsafe fn store(self, to: *mut $key) {
                // SAFETY: passed on to the caller.
                unsafe { _mm512_storeu_si512(to.cast(), self.0) }
            }

            #[inline]
            #[target_feature(enable = "avx512f")]
            unsafe fn store_first(self, to: *mut $key, n: usize) {
                // SAFETY: passed on to the caller.
                unsafe { $store_some(to.cast(), first_lanes(n) as $mask, self.0) }
            }

            #[inline]
            #[target_feature(enable = "avx512f")]
            unsafe fn stream(self, to: *mut $key) {
                // SAFETY: passed on to the caller.
                unsafe { _mm512_stream_si512(to.cast(), self.0) }
            }

            #[inline]
            #[target_feature(enable = "avx512f")]
            unsafe fn join(self, other: Self, n: usize) -> Self {
                let numbers: [$key; 2 * $lanes] = const {
                    let (mut numbers, mut lane) = ([0; 2 * $lanes], 0);
                    while lane < numbers.len() {
                        numbers[lane] = lane as $key;
                        lane += 1;
                    }
                    numbers
                };
                // SAFETY: as many numbers as lanes are behind each of the first.
                let lanes = unsafe { _mm512_loadu_si512(numbers[$lanes - n..].as_ptr().cast()) };
                Self($pick(self.0, lanes, other.0))
            }

            #[inline]
            #[target_feature(enable = "avx512f")]
            unsafe fn below(self, pivot: Self) -> u32 {
                u32::from($below(self.0, pivot.0))
            }

            #[inline]
            #[target_feature(enable = "avx512f")]
            unsafe fn compress(self, mask: u32) -> Self {
                Self($compress(mask as $mask, self.0))
            }

            #[inline]
            #[target_feature(enable = "avx512f")]
            unsafe fn min(self, other: Self) -> Self {
                Self($min(self.0, other.0))
            }

            #[inline]
            #[target_feature(enable = "avx512f")]
            unsafe fn max(self, other: Self) -> Self {
                Self($max(self.0, other.0))
            }

            #[inline]
            #[target_feature(enable = "avx512f")]
            unsafe fn exchange<const X: usize>(self) -> Self {
                let partners = const { partners(X, $lanes) };
                // SAFETY: a vector's bytes.
                let partners = unsafe { _mm512_loadu_si512(partners.as_ptr().cast()) };
                let other = $permute(partners, self.0);
                let least = $min(self.0, other);
                Self($max_some(least, const { upper(X, $lanes) } as $mask, self.0, other))
            }

            #[inline]
            #[target_feature(enable = "avx512f")]
            unsafe fn reverse(self) -> Self {
                let partners = const { partners($lanes - 1, $lanes) };
                // SAFETY: a vector's bytes.
                let partners = unsafe { _mm512_loadu_si512(partners.as_ptr().cast()) };
                Self($permute(partners, self.0))
            }

            #[inline]
            #[target_feature(enable = "avx512f")]
            unsafe fn transpose<const D: usize>(self, other: Self) -> (Self, Self) {
                let first = const { transposed(D, false, $lanes) };
                let second = const { transposed(D, true, $lanes) };
                // SAFETY: a vector's bytes.
                let first = unsafe { _mm512_loadu_si512(first.as_ptr().cast()) };
                // SAFETY: as above.
                let second = unsafe { _mm512_loadu_si512(second.as_ptr().cast()) };
                (Self($pick(self.0, first, other.0)), Self($pick(self.0, second, other.0)))
            }
        }
    };
}

vector!(Vector32: 16 of u32 as i32, masks u16,
    _mm512_set1_epi32, _mm512_mask_loadu_epi32, _mm512_mask_storeu_epi32, _mm512_cmplt_epu32_mask,
    _mm512_maskz_compress_epi32, _mm512_min_epu32, _mm512_max_epu32, _mm512_mask_max_epu32,
    _mm512_permutexvar_epi32, _mm512_permutex2var_epi32);

vector!(Vector64: 8 of u64 as i64, masks u8,
    _mm512_set1_epi64, _mm512_mask_loadu_epi64, _mm512_mask_storeu_epi64, _mm512_cmplt_epu64_mask,
    _mm512_maskz_compress_epi64, _mm512_min_epu64, _mm512_max_epu64, _mm512_mask_max_epu64,
    _mm512_permutexvar_epi64, _mm512_permutex2var_epi64);

/// A mask of the first `n` lanes.
#[inline(always)]
fn first_lanes(n: usize) -> u32 {
    (1_u32 << n).wrapping_sub(1)
}

/// # Safety
/// Needs AVX-512.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl")]
unsafe fn map<A: Copy, B>(from: &[A], to: &mut [B], f: impl Fn(A) -> B) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to = f(from);
    }
}

/// # Safety
/// Needs AVX-512.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl")]
unsafe fn update<A: Copy>(keys: &mut [A], f: impl Fn(A) -> A) {
    keys.iter_mut().for_each(|key| *key = f(*key));
}

/// Keys in `n` lanes from `from` on: those that stay go to `start`, the others to `to`. How many stayed.
///
/// # Safety
/// Needs AVX-512. `start` is at or before `from`, and as much after it as `to` may be written.
#[target_feature(enable = "avx512f,popcnt")]
unsafe fn partition<V: Vector>(
    from: *const V::Key,
    start: *mut V::Key,
    to: *mut V::Key,
    n: usize,
    pivot: V::Key,
    stay: Stay,
) -> usize {
    let all = first_lanes(V::LANES);
    let flip = if stay == Stay::Below { 0 } else { all };
    let mut stayed = 0;
    // SAFETY: the caller has AVX-512. At lane `i`, `stayed + left == i`: a whole vector written at either
    // place ends at most where the one that was read ends.
    unsafe {
        let pivot = V::splat(pivot);
        let mut divide = |keys: V, i: usize| {
            let mask = keys.below(pivot) ^ flip;
            keys.compress(mask).store(start.add(stayed));
            keys.compress(mask ^ all).store(to.add(i - stayed));
            stayed += mask.count_ones() as usize;
        };
        let mut i = 0;
        // Four are read before any is written.
        while i + 4 * V::LANES <= n {
            let mut four = [pivot; 4];
            for (k, keys) in four.iter_mut().enumerate() {
                *keys = V::load(from.add(i + k * V::LANES));
            }
            for (k, &keys) in four.iter().enumerate() {
                divide(keys, i + k * V::LANES);
            }
            i += 4 * V::LANES;
        }
        while i + V::LANES <= n {
            divide(V::load(from.add(i)), i);
            i += V::LANES;
        }
        let some = first_lanes(n - i);
        let keys = V::load_first(from.add(i), n - i);
        let mask = (keys.below(pivot) ^ flip) & some;
        let more = mask.count_ones() as usize;
        keys.compress(mask).store_first(start.add(stayed), more);
        keys.compress(mask ^ some).store_first(to.add(i - stayed), n - i - more);
        stayed + more
    }
}

/// Sorts `n` keys, no more than `N` vectors hold.
///
/// # Safety
/// Needs AVX-512, and `n` keys at both places.
#[target_feature(enable = "avx512f")]
unsafe fn network<V: Vector, const N: usize>(from: *const V::Key, to: *mut V::Key, n: usize) {
    let lanes = |i: usize| n.saturating_sub(i * V::LANES).min(V::LANES);
    // SAFETY: passed on to the caller; beyond `n` keys, no lane is read or written.
    unsafe {
        let mut vectors = [V::load_first(from, lanes(0)); N];
        for (i, keys) in vectors.iter_mut().enumerate() {
            *keys = V::load_first(from.wrapping_add(i * V::LANES), lanes(i));
        }
        sort_each(&mut vectors);
        merge::<V, N, 1>(&mut vectors);
        merge::<V, N, 2>(&mut vectors);
        merge::<V, N, 4>(&mut vectors);
        merge::<V, N, 8>(&mut vectors);
        for (i, &keys) in vectors.iter().enumerate() {
            keys.store_first(to.wrapping_add(i * V::LANES), lanes(i));
        }
    }
}

/// Exchanges whole vectors by the numbers of a sorting network.
macro_rules! exchange {
    ($vectors:ident[$first:ident]: $($a:literal $b:literal),*) => {{ $(
        let (a, b) = ($vectors[$first + $a], $vectors[$first + $b]);
        $vectors[$first + $a] = a.min(b);
        $vectors[$first + $b] = a.max(b);
    )* }};
}

/// Sorts the lanes of each vector.
///
/// As many vectors as each has lanes are a square: its columns are sorted by networks (of 60 exchanges
/// (Green) and of 19 (Batcher)), all at once, and become rows.
///
/// # Safety
/// Needs AVX-512.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn sort_each<V: Vector, const N: usize>(vectors: &mut [V; N]) {
    // SAFETY: passed on to the caller.
    unsafe {
        if N < V::LANES {
            for keys in vectors {
                *keys = sort_lanes(*keys);
            }
            return;
        }
        let mut first = 0;
        while first < N {
            if V::LANES == 16 {
                exchange!(vectors[first]:
                    0 1, 2 3, 4 5, 6 7, 8 9, 10 11, 12 13, 14 15, 0 2, 4 6, 8 10, 12
                    14, 1 3, 5 7, 9 11, 13 15, 0 4, 8 12, 1 5, 9 13, 2 6, 10 14, 3
                    7, 11 15, 0 8, 1 9, 2 10, 3 11, 4 12, 5 13, 6 14, 7 15, 5 10, 6
                    9, 3 12, 13 14, 4 8, 7 11, 1 2, 1 4, 7 13, 2 8, 11 14, 2 4, 5 6,
                    9 10, 11 13, 3 8, 7 12, 6 8, 10 12, 3 5, 7 9, 3 4, 5 6, 7 8, 9
                    10, 11 12, 6 7, 8 9);
            } else {
                exchange!(vectors[first]:
                    0 1, 2 3, 4 5, 6 7, 0 2, 1 3, 4 6, 5 7, 1 2, 5 6, 0 4, 1 5, 2 6,
                    3 7, 2 4, 3 5, 1 2, 3 4, 5 6);
            }
            first += V::LANES;
        }
        if V::LANES == 16 {
            transpose_vectors::<V, N, 8>(vectors);
        }
        transpose_vectors::<V, N, 4>(vectors);
        transpose_vectors::<V, N, 2>(vectors);
        transpose_vectors::<V, N, 1>(vectors);
    }
}

/// # Safety
/// Needs AVX-512.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn transpose_vectors<V: Vector, const N: usize, const D: usize>(vectors: &mut [V; N]) {
    for i in (0..N).filter(|i| i & D == 0) {
        // SAFETY: passed on to the caller.
        (vectors[i], vectors[i + D]) = unsafe { vectors[i].transpose::<D>(vectors[i + D]) };
    }
}

/// # Safety
/// Needs AVX-512.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn sort_lanes<V: Vector>(keys: V) -> V {
    // SAFETY: passed on to the caller.
    unsafe {
        let keys = keys.exchange::<1>();
        let keys = keys.exchange::<3>().exchange::<1>();
        let keys = keys.exchange::<7>().exchange::<2>().exchange::<1>();
        if V::LANES == 8 {
            return keys;
        }
        keys.exchange::<15>().exchange::<4>().exchange::<2>().exchange::<1>()
    }
}

/// Merges runs of `M` vectors, each in order, pairwise.
///
/// # Safety
/// Needs AVX-512.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn merge<V: Vector, const N: usize, const M: usize>(vectors: &mut [V; N]) {
    if N <= M {
        return;
    }
    let before = *vectors;
    // SAFETY: passed on to the caller.
    unsafe {
        for i in (0..N).filter(|i| i & M == 0) {
            // The second run backwards, so that both together rise and fall.
            let opposite = before[(i & !(M - 1)) + 2 * M - 1 - i % M].reverse();
            vectors[i] = before[i].min(opposite);
            vectors[i + M] = before[i].max(opposite);
        }
        if M >= 8 {
            exchange_vectors::<V, N, 4>(vectors);
        }
        if M >= 4 {
            exchange_vectors::<V, N, 2>(vectors);
        }
        if M >= 2 {
            exchange_vectors::<V, N, 1>(vectors);
        }
        for keys in vectors {
            let far = if V::LANES == 16 { keys.exchange::<8>() } else { *keys };
            *keys = far.exchange::<4>().exchange::<2>().exchange::<1>();
        }
    }
}

/// Lanes meet those of the vector `D` further on.
///
/// # Safety
/// Needs AVX-512.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn exchange_vectors<V: Vector, const N: usize, const D: usize>(vectors: &mut [V; N]) {
    for i in (0..N).filter(|i| i & D == 0) {
        let (a, b) = (vectors[i], vectors[i + D]);
        // SAFETY: passed on to the caller.
        unsafe {
            vectors[i] = a.min(b);
            vectors[i + D] = a.max(b);
        }
    }
}
