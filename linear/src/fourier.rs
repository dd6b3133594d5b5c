//! Fourier transforms of rows on the host, through rustfft: each row by one thread with one plan, so that its bits depend
//! on the machine alone.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::num_complex::Complex;
use rustfft::num_traits::Zero;
use rustfft::{Fft, FftDirection, FftNum, FftPlanner};

use crate::in_pieces;

/// A transform of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transform {
    /// Sums of entries times exp(-2πi jk/n).
    Forward,
    /// Sums of entries times exp(2πi jk/n), divided by n.
    Inverse,
    /// The first n/2 + 1 of those of real entries.
    Real,
    /// The n real entries that have these.
    RealInverse,
}

/// Rows behind each other: real parts, and imaginary ones unless they are real.
#[derive(Clone, Debug)]
pub struct Rows<T> {
    /// Real parts.
    pub real: Vec<T>,
    /// Imaginary parts, or nothing.
    pub imag: Vec<T>,
}

/// How long a transform is.
#[derive(Clone, Copy, Debug)]
pub struct Length {
    /// Which transform.
    pub kind: Transform,
    /// Entries of a row, of the real one where one side is real; at least 1.
    pub n: u64,
}

impl Transform {
    /// The length for a row of so many entries, unless another is asked for.
    pub const fn length(self, extent: u64) -> u64 {
        match self {
            Self::RealInverse => 2 * extent.saturating_sub(1),
            _ => extent,
        }
    }
}

impl Length {
    /// Entries of a row that goes in.
    pub const fn of_input(self) -> u64 {
        match self.kind {
            Transform::RealInverse => self.n / 2 + 1,
            _ => self.n,
        }
    }

    /// Entries of a row that comes out.
    pub const fn of_output(self) -> u64 {
        match self.kind {
            Transform::Real => self.n / 2 + 1,
            _ => self.n,
        }
    }

    /// Complex numbers that the plan, and so many rows in work beside each other, have room for: about, where the length
    /// has large prime factors. Those are transformed as convolutions of up to three times the length.
    pub fn workspace(self, n_rows: u64) -> u64 {
        const SMALL_FACTORS: [u64; 6] = [2, 3, 5, 7, 11, 13];
        let without = |n: u64, factor: u64| {
            std::iter::successors(Some(n), |&n| n.is_multiple_of(factor).then(|| n / factor))
                .last()
                .unwrap_or(1)
        };
        let large = SMALL_FACTORS.into_iter().fold(self.n.max(1), without);
        let convolved = if large == 1 { 0 } else { large.saturating_mul(5) };
        // Twiddle factors are as many as entries; a row in work has a copy of its own.
        let each = self.n.saturating_mul(2).saturating_add(convolved);
        each.saturating_mul(n_rows.saturating_add(1))
    }
}

/// Entries that are worth a thread.
const PIECE: usize = 1 << 15;
/// Entries of the rows that plans are kept of.
const KEPT: usize = 1 << 22;

/// What transforms of some lengths go by. To make one takes longer than the transform, so they are kept.
#[derive(Default)]
pub struct Plans {
    single: Mutex<HashMap<(Transform, usize), Plan<f32>>>,
    double: Mutex<HashMap<(Transform, usize), Plan<f64>>>,
}

#[derive(Clone)]
enum Plan<T> {
    Complex(Arc<dyn Fft<T>>),
    Real(Arc<dyn RealToComplex<T>>),
    RealInverse(Arc<dyn ComplexToReal<T>>),
}

impl<T: FftNum> Plan<T> {
    /// By a planner of its own: one that has planned other lengths builds on what it has, and the bits of a transform
    /// would depend on those before.
    fn new(kind: Transform, n: usize) -> Self {
        let (mut complex, mut real) = (FftPlanner::new(), RealFftPlanner::new());
        match kind {
            Transform::Forward => Self::Complex(complex.plan_fft_forward(n)),
            Transform::Inverse => Self::Complex(complex.plan_fft_inverse(n)),
            Transform::Real => Self::Real(real.plan_fft_forward(n)),
            Transform::RealInverse => Self::RealInverse(real.plan_fft_inverse(n)),
        }
    }
}

/// The plan that was kept, or a new one, which is kept unless it is long; many make room for others.
fn plan_of<T: FftNum>(
    plans: &Mutex<HashMap<(Transform, usize), Plan<T>>>,
    kind: Transform,
    n: usize,
) -> Plan<T> {
    // What a panic left is as good as before.
    let mut plans = plans.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(plan) = plans.get(&(kind, n)) {
        return plan.clone();
    }
    let plan = Plan::new(kind, n);
    if n <= KEPT {
        if plans.keys().map(|(_, n)| n).sum::<usize>() + n > KEPT {
            plans.clear();
        }
        plans.insert((kind, n), plan.clone());
    }
    plan
}

/// A type of entries: f32 or f64, each with code of its own in this package.
pub trait Real: Copy + Send + Sync + 'static {
    /// The transforms of all rows, on so many threads; nothing where they are stopped.
    ///
    /// # Panics
    /// If a row is longer than memory.
    fn transform_all(
        rows: &Rows<Self>,
        length: Length,
        plans: &Plans,
        threads: usize,
        stop: &AtomicBool,
    ) -> Option<Rows<Self>>;
}

macro_rules! real {
    ($($entry:ty: $plans:ident),*) => {$(
        impl Real for $entry {
            fn transform_all(
                rows: &Rows<Self>,
                length: Length,
                plans: &Plans,
                threads: usize,
                stop: &AtomicBool,
            ) -> Option<Rows<Self>> {
                transform_all(rows, length, &plans.$plans, threads, stop)
            }
        }
    )*};
}
real!(f32: single, f64: double);

/// Some rows, and where their transforms go.
struct Piece<'r, T> {
    real: &'r [T],
    /// Nothing where they are real.
    imag: &'r [T],
    to_real: &'r mut [T],
    to_imag: &'r mut [T],
}

fn transform_all<T: FftNum>(
    rows: &Rows<T>,
    length: Length,
    plans: &Mutex<HashMap<(Transform, usize), Plan<T>>>,
    threads: usize,
    stop: &AtomicBool,
) -> Option<Rows<T>> {
    let [n, width, to_width] = [length.n, length.of_input(), length.of_output()]
        .map(|n| usize::try_from(n).expect("internal error: a row longer than memory"));
    let n_rows = rows.real.len() / width;
    let plan = plan_of(plans, length.kind, n);
    let zeros = |n_rows: usize| vec![T::zero(); n_rows * to_width];
    let is_real = length.kind == Transform::RealInverse;
    let mut all = Rows { real: zeros(n_rows), imag: zeros(if is_real { 0 } else { n_rows }) };
    // Several pieces a thread, so that an interrupt is seen.
    let height = n_rows.div_ceil(4 * threads.max(1)).max(PIECE.div_ceil(width));
    let mut imag = rows.imag.chunks(height * width);
    let mut to_imag = all.imag.chunks_mut(height * to_width);
    let pieces: Vec<Mutex<Option<Piece<'_, T>>>> = rows
        .real
        .chunks(height * width)
        .zip(all.real.chunks_mut(height * to_width))
        .map(|(real, to_real)| {
            let (imag, to_imag) =
                (imag.next().unwrap_or_default(), to_imag.next().unwrap_or_default());
            Mutex::new(Some(Piece { real, imag, to_real, to_imag }))
        })
        .collect();
    let piece = |k: usize| {
        if let Some(piece) = pieces[k].lock().unwrap_or_else(PoisonError::into_inner).take() {
            transform(&plan, piece, n);
        }
        Ok::<(), std::convert::Infallible>(())
    };
    let Ok(done) = in_pieces(pieces.len(), threads, stop, piece);
    drop(pieces);
    done.map(|_| all)
}

/// The transforms of rows, `n` being their length.
fn transform<T: FftNum>(plan: &Plan<T>, piece: Piece<'_, T>, n: usize) {
    let scale = T::one() / T::from_usize(n.max(1)).unwrap_or_else(T::one);
    match plan {
        Plan::Complex(plan) => complex(&**plan, piece, scale),
        Plan::Real(plan) => from_real(&**plan, piece),
        Plan::RealInverse(plan) => to_real(&**plan, piece, scale),
    }
}

fn complex<T: FftNum>(plan: &dyn Fft<T>, piece: Piece<'_, T>, scale: T) {
    let n = plan.len();
    let scale = if plan.fft_direction() == FftDirection::Forward { T::one() } else { scale };
    let mut row = vec![Complex::zero(); n];
    let mut scratch = vec![Complex::zero(); plan.get_inplace_scratch_len()];
    let from = piece.real.chunks_exact(n).zip(piece.imag.chunks_exact(n));
    let to = piece.to_real.chunks_exact_mut(n).zip(piece.to_imag.chunks_exact_mut(n));
    for (from, to) in from.zip(to) {
        gather(&mut row, from);
        plan.process_with_scratch(&mut row, &mut scratch);
        spread(&row, to, scale);
    }
}

fn from_real<T: FftNum>(plan: &dyn RealToComplex<T>, piece: Piece<'_, T>) {
    let (mut row, mut spectrum) = (plan.make_input_vec(), plan.make_output_vec());
    let mut scratch = plan.make_scratch_vec();
    let n = spectrum.len();
    let to = piece.to_real.chunks_exact_mut(n).zip(piece.to_imag.chunks_exact_mut(n));
    for (real, to) in piece.real.chunks_exact(row.len()).zip(to) {
        row.copy_from_slice(real);
        // Lengths are those of the plan.
        let _done = plan.process_with_scratch(&mut row, &mut spectrum, &mut scratch);
        spread(&spectrum, to, T::one());
    }
}

fn to_real<T: FftNum>(plan: &dyn ComplexToReal<T>, piece: Piece<'_, T>, scale: T) {
    let (mut spectrum, mut row) = (plan.make_input_vec(), plan.make_output_vec());
    let (mut scratch, is_even) = (plan.make_scratch_vec(), row.len().is_multiple_of(2));
    let width = spectrum.len();
    let from = piece.real.chunks_exact(width).zip(piece.imag.chunks_exact(width));
    for (from, to) in from.zip(piece.to_real.chunks_exact_mut(row.len())) {
        gather(&mut spectrum, from);
        // What has no imaginary part in a spectrum of real entries.
        if let Some(first) = spectrum.first_mut() {
            first.im = T::zero();
        }
        if let Some(last) = spectrum.last_mut().filter(|_| is_even) {
            last.im = T::zero();
        }
        let _done = plan.process_with_scratch(&mut spectrum, &mut row, &mut scratch);
        to.iter_mut().zip(&row).for_each(|(to, &entry)| *to = entry * scale);
    }
}

/// Complex numbers of their parts.
fn gather<T: FftNum>(row: &mut [Complex<T>], (real, imag): (&[T], &[T])) {
    for (entry, (&re, &im)) in row.iter_mut().zip(real.iter().zip(imag)) {
        *entry = Complex { re, im };
    }
}

/// The parts of complex numbers, times a number.
fn spread<T: FftNum>(row: &[Complex<T>], (real, imag): (&mut [T], &mut [T]), scale: T) {
    for (entry, (re, im)) in row.iter().zip(real.iter_mut().zip(imag)) {
        *re = entry.re * scale;
        *im = entry.im * scale;
    }
}
