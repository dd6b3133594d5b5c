//! What a picture draws of arrays: points, bars, pixels. Lanes are read piece by piece, and Ctrl-C ends it.

use porcini_core::{Array, DType, Scalar};

use crate::fault::{IntoFault, Result, check_interrupt, fault};

/// Points of a series that are drawn; of more, the lowest and the highest of each run.
const MOST_POINTS: usize = 4000;
/// Lanes read at once.
const PIECE: u64 = 1 << 16;

/// The points of one line: of very many the lowest and the highest of each run.
#[expect(clippy::cast_precision_loss, reason = "lane numbers on an axis")]
pub(crate) fn points(x: Option<&Array>, y: &Array) -> Result<Vec<(f64, f64)>> {
    let n = y.size();
    if let Some(x) = x
        && x.size() != n
    {
        return Err(fault(format!(
            "plot: got {} and {n} lanes, expected as many x as y",
            x.size()
        )));
    }
    let run = n.div_ceil(MOST_POINTS as u64 / 2).max(1);
    let mut thin = Thin { run, points: Vec::new(), lowest: None, highest: None };
    // A run may reach over the end of a piece.
    let mut lane = 0;
    let mut abscissas = Vec::new();
    each_piece(y, |start, lanes| {
        abscissas.clear();
        if let Some(x) = x
            && let Ok(read) = x.read(start..start + lanes.len() as u64)
        {
            abscissas.extend(read.into_iter().map(Scalar::to_f64));
        }
        for (i, &y) in lanes.iter().enumerate() {
            thin.add(lane, (abscissas.get(i).copied().unwrap_or(lane as f64), y));
            lane += 1;
        }
    })?;
    thin.flush();
    Ok(thin.points)
}

/// Keeps the extremes of each run of lanes, in their order.
struct Thin {
    run: u64,
    points: Vec<(f64, f64)>,
    lowest: Option<(u64, (f64, f64))>,
    highest: Option<(u64, (f64, f64))>,
}

impl Thin {
    fn add(&mut self, lane: u64, point: (f64, f64)) {
        if self.run == 1 {
            self.points.push(point);
            return;
        }
        if lane.is_multiple_of(self.run) {
            self.flush();
        }
        if point.1.is_nan() {
            return;
        }
        if self.lowest.is_none_or(|(_, lowest)| point.1 < lowest.1) {
            self.lowest = Some((lane, point));
        }
        if self.highest.is_none_or(|(_, highest)| point.1 > highest.1) {
            self.highest = Some((lane, point));
        }
    }

    fn flush(&mut self) {
        let mut ends: Vec<(u64, (f64, f64))> =
            self.lowest.take().into_iter().chain(self.highest.take()).collect();
        ends.sort_by_key(|(lane, _)| *lane);
        ends.dedup_by_key(|(lane, _)| *lane);
        self.points.extend(ends.into_iter().map(|(_, point)| point));
    }
}

/// The bars of so many bins between the lowest and the highest finite lane; none if no lane is finite.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts on an axis, numbers of bins"
)]
pub(crate) fn histogram(x: &Array, bins: usize) -> Result<Vec<(f64, f64)>> {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    each_piece(x, |_, lanes| {
        for &x in lanes.iter().filter(|x| x.is_finite()) {
            (low, high) = (low.min(x), high.max(x));
        }
    })?;
    if low > high {
        return Ok(Vec::new());
    }
    if low == high {
        (low, high) = (low - 0.5, high + 0.5);
    }
    // Halved, so that the difference of the largest floats is finite.
    let width = (high / 2.0 - low / 2.0) / bins as f64 * 2.0;
    let mut counts = vec![0_u64; bins];
    each_piece(x, |_, lanes| {
        for &x in lanes.iter().filter(|x| x.is_finite()) {
            let bin = ((x / 2.0 - low / 2.0) / width * 2.0) as usize;
            counts[bin.min(bins - 1)] += 1;
        }
    })?;
    let bar = |(i, &n): (usize, &u64)| (low + i as f64 * width, n as f64);
    Ok(counts.iter().enumerate().map(bar).collect())
}

/// The colours of `n` lanes: of one array greys from its smallest to its largest number, of three red, green and blue.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 255")]
pub(crate) fn pixels(leaves: &[Array], n: u64) -> Result<Vec<[u8; 3]>> {
    let is_colour = leaves.len() == 3;
    let (mut low, mut high) = (0.0, 1.0);
    if !is_colour && leaves[0].dtype() != DType::Mask {
        (low, high) = (f64::INFINITY, f64::NEG_INFINITY);
        each_piece(&leaves[0], |_, piece| {
            for &x in piece.iter().filter(|x| x.is_finite()) {
                (low, high) = (low.min(x), high.max(x));
            }
        })?;
    }
    let level = |x: f64| {
        let part = if high > low { (x / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0) } else { 1.0 };
        // A number that is none is black.
        (part.clamp(0.0, 1.0) * 255.0).round() as u8
    };
    // Lanes are read once more rather than kept: Ctrl-C would wait for their memory to be freed.
    let mut pixels = vec![[0; 3]; usize::try_from(n).unwrap_or(0)];
    for (channel, leaf) in leaves.iter().enumerate() {
        let paint = |pixel: &mut [u8; 3], x: f64| {
            if is_colour { pixel[channel] = level(x) } else { *pixel = [level(x); 3] }
        };
        each_piece(leaf, |start, piece| {
            let rest = &mut pixels[usize::try_from(start).unwrap_or(0)..];
            if let ([x], true) = (piece, leaf.size() == 1) {
                rest.iter_mut().for_each(|pixel| paint(pixel, *x));
            } else {
                rest.iter_mut().zip(piece).for_each(|(pixel, &x)| paint(pixel, x));
            }
        })?;
    }
    Ok(pixels)
}

/// The lanes piece by piece as floats.
fn each_piece(array: &Array, mut piece: impl FnMut(u64, &[f64])) -> Result<()> {
    let n = array.size();
    let mut start = 0;
    while start < n {
        check_interrupt()?;
        let end = n.min(start + PIECE);
        let lanes: Vec<f64> =
            array.read(start..end).or_fault()?.into_iter().map(Scalar::to_f64).collect();
        piece(start, &lanes);
        start = end;
    }
    Ok(())
}
