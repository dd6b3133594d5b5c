//! Fourier transforms of rows on the host, through rustfft: each row by one thread with one plan, so that its bits depend
//! on the machine alone.

use std::sync::atomic::AtomicBool;

use realfft::RealFftPlanner;
use rustfft::num_complex::Complex;
use rustfft::num_traits::Zero;
use rustfft::{FftNum, FftPlanner};

use crate::in_pieces;

/// A transform of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}

/// Entries that are worth a thread.
const PIECE: usize = 1 << 15;

/// A type of entries: f32 or f64, each with code of its own in this package.
pub trait Real: Copy + Send + Sync + 'static {
    /// The transforms of all rows, on so many threads; nothing where they are stopped.
    ///
    /// # Panics
    /// If a row is longer than memory.
    fn transform_all(
        rows: &Rows<Self>,
        length: Length,
        threads: usize,
        stop: &AtomicBool,
    ) -> Option<Rows<Self>>;
}

macro_rules! real {
    ($($entry:ty),*) => {$(
        impl Real for $entry {
            fn transform_all(
                rows: &Rows<Self>,
                length: Length,
                threads: usize,
                stop: &AtomicBool,
            ) -> Option<Rows<Self>> {
                transform_all(rows, length, threads, stop)
            }
        }
    )*};
}
real!(f32, f64);

fn transform_all<T: FftNum>(
    rows: &Rows<T>,
    length: Length,
    threads: usize,
    stop: &AtomicBool,
) -> Option<Rows<T>> {
    let [n, width] = [length.n, length.of_input()]
        .map(|n| usize::try_from(n).expect("internal error: a row longer than memory"));
    let n_rows = rows.real.len() / width;
    // Several pieces a thread, so that an interrupt is seen.
    let height = n_rows.div_ceil(4 * threads.max(1)).max(PIECE.div_ceil(width));
    let n_pieces = n_rows.div_ceil(height);
    let piece = |k: usize| {
        let part = |plane: &[T]| {
            let (start, end) = (k * height * width, ((k + 1) * height * width).min(plane.len()));
            plane.get(start..end).unwrap_or_default().to_vec()
        };
        let part = Rows { real: part(&rows.real), imag: part(&rows.imag) };
        Ok::<Rows<T>, std::convert::Infallible>(transform(length.kind, &part, width, n))
    };
    let Ok(pieces) = in_pieces(n_pieces, threads, stop, piece);
    let mut all = Rows { real: Vec::new(), imag: Vec::new() };
    for piece in pieces? {
        all.real.extend(piece.real);
        all.imag.extend(piece.imag);
    }
    Some(all)
}

/// The transforms of rows, which have `width` entries, `n` being the length of the transform.
fn transform<T: FftNum>(kind: Transform, rows: &Rows<T>, width: usize, n: usize) -> Rows<T> {
    let n_rows = rows.real.len() / width;
    let out = match kind {
        Transform::Real => n / 2 + 1,
        _ => n,
    };
    let mut result = Rows { real: Vec::with_capacity(n_rows * out), imag: Vec::new() };
    let scale = T::one() / T::from_usize(n.max(1)).unwrap_or_else(T::one);
    match kind {
        Transform::Forward | Transform::Inverse => {
            let mut planner = FftPlanner::new();
            let is_forward = kind == Transform::Forward;
            let plan =
                if is_forward { planner.plan_fft_forward(n) } else { planner.plan_fft_inverse(n) };
            let scale = if is_forward { T::one() } else { scale };
            let mut row = vec![Complex::zero(); n];
            let mut scratch = vec![Complex::zero(); plan.get_inplace_scratch_len()];
            for (real, imag) in rows.real.chunks_exact(n).zip(rows.imag.chunks_exact(n)) {
                let entries = real.iter().zip(imag).map(|(&re, &im)| Complex { re, im });
                row.iter_mut().zip(entries).for_each(|(place, entry)| *place = entry);
                plan.process_with_scratch(&mut row, &mut scratch);
                result.real.extend(row.iter().map(|entry| entry.re * scale));
                result.imag.extend(row.iter().map(|entry| entry.im * scale));
            }
        }
        Transform::Real => {
            let plan = RealFftPlanner::new().plan_fft_forward(n);
            let (mut row, mut spectrum) = (plan.make_input_vec(), plan.make_output_vec());
            for real in rows.real.chunks_exact(n) {
                row.copy_from_slice(real);
                // Lengths are those of the plan.
                let _done = plan.process(&mut row, &mut spectrum);
                result.real.extend(spectrum.iter().map(|entry| entry.re));
                result.imag.extend(spectrum.iter().map(|entry| entry.im));
            }
        }
        Transform::RealInverse => {
            let plan = RealFftPlanner::new().plan_fft_inverse(n);
            let (mut spectrum, mut row) = (plan.make_input_vec(), plan.make_output_vec());
            for (real, imag) in rows.real.chunks_exact(width).zip(rows.imag.chunks_exact(width)) {
                let entries = real.iter().zip(imag).map(|(&re, &im)| Complex { re, im });
                spectrum.iter_mut().zip(entries).for_each(|(place, entry)| *place = entry);
                // What has no imaginary part in a spectrum of real entries.
                if let Some(first) = spectrum.first_mut() {
                    first.im = T::zero();
                }
                if n.is_multiple_of(2)
                    && let Some(last) = spectrum.last_mut()
                {
                    last.im = T::zero();
                }
                let _done = plan.process(&mut spectrum, &mut row);
                result.real.extend(row.iter().map(|&entry| entry * scale));
            }
        }
    }
    result
}
