//! What a picture draws of arrays: points, bars, pixels. Lanes are read piece by piece, and Ctrl-C ends it.

use std::ops::Range;

use porcini_core::memory::caching_allocator::Bytes;
use porcini_core::{Array, DType, Scalar};

use super::chart::{Grid, Point};
use super::colours::{Map, part};
use crate::fault::{IntoFault, Result, check_interrupt, fault, fault_with_hint};

/// Points of a series that are drawn; of more, the lowest and the highest of each run.
const MOST_POINTS: usize = 4000;
/// Points that are all kept where they stand by themselves, and places in a picture where one of more is kept.
const MOST_SCATTERED: u64 = 10_000;
const PLACES: (usize, usize) = (240, 146);
/// What is no number among greys: both black and white are numbers there.
const NO_GREY: [u8; 3] = [0xff, 0x80, 0x80];
/// Lanes read at once.
const PIECE: u64 = 1 << 16;

/// The points of one line: of very many the lowest and the highest of each run.
pub(crate) fn points(op: &str, x: Option<&Array>, y: &Array) -> Result<Vec<Point>> {
    let n = y.size();
    let run = n.div_ceil(MOST_POINTS as u64 / 2).max(1);
    let (points, lowest, highest) = (Vec::new(), None, None);
    let mut thin = Thin { run, points, lowest, highest, is_gap: false };
    let mut lane = 0;
    each_point(op, x, y, |point| {
        // A run may reach over the end of a piece.
        thin.add(lane, point);
        lane += 1;
    })?;
    thin.flush();
    Ok(thin.points)
}

/// Points by themselves: of very many one for each place of a picture, whose axes are logarithmic or not.
pub(crate) fn scattered(
    op: &str,
    x: Option<&Array>,
    y: &Array,
    are_log: [bool; 2],
) -> Result<Vec<Point>> {
    let on_axis = |x: f64, is_log: bool| if is_log { x.log10() } else { x };
    let spot = |(x, y): Point| [on_axis(x, are_log[0]), on_axis(y, are_log[1])];
    let mut points = Vec::new();
    if y.size() <= MOST_SCATTERED {
        each_point(op, x, y, |point| points.push(point))?;
        return Ok(points);
    }
    let mut ends = [(f64::INFINITY, f64::NEG_INFINITY); 2];
    let is_point = |spot: &[f64; 2]| spot.iter().all(|x| x.is_finite());
    each_point(op, x, y, |point| {
        if let Some(spot) = Some(spot(point)).filter(is_point) {
            for ((low, high), x) in ends.iter_mut().zip(spot) {
                (*low, *high) = (low.min(x), high.max(x));
            }
        }
    })?;
    let mut taken = vec![false; PLACES.0 * PLACES.1];
    let place = |x: f64, (low, high): (f64, f64), n: usize| index(part(x, &(low..high)), n);
    each_point(op, x, y, |point| {
        if let Some([x, y]) = Some(spot(point)).filter(is_point) {
            let column = place(x, ends[0], PLACES.0);
            let taken = &mut taken[place(y, ends[1], PLACES.1) * PLACES.0 + column];
            if !std::mem::replace(taken, true) {
                points.push(point);
            }
        }
    })?;
    Ok(points)
}

/// The lanes of arrays of which a picture shows all.
pub(crate) fn all_points<const N: usize>(op: &str, arrays: [&Array; N]) -> Result<Vec<[f64; N]>> {
    let n = arrays.iter().map(|array| array.size()).max().unwrap_or(0);
    if let Some(array) = arrays.iter().find(|array| ![1, n].contains(&array.size())) {
        let got = array.size();
        return Err(fault(format!(
            "{op}: got {got} and {n} lanes, expected as many in all arrays"
        )));
    }
    if n > MOST_SCATTERED {
        let most = format!("{op}: got {n} points, expected at most {MOST_SCATTERED}");
        return Err(fault_with_hint(most, "show a part of them: x[0..1000]"));
    }
    let mut points = vec![[0.0; N]; usize::try_from(n).unwrap_or(0)];
    for (i, array) in arrays.into_iter().enumerate() {
        let lanes = array.read(0..array.size()).or_fault()?;
        for (lane, point) in points.iter_mut().enumerate() {
            point[i] = lanes[if lanes.len() == 1 { 0 } else { lane }].to_f64();
        }
    }
    Ok(points)
}

/// The lanes of a grid, row after row; of more than so many of a side the means of neighbours.
pub(crate) fn grid(a: &Array, columns: usize, rows: usize, most: usize) -> Result<Grid> {
    let (width, height) = (columns.min(most), rows.min(most));
    let mut sums = vec![(0.0, 0_u32); width * height];
    let mut lane = 0;
    each_piece(a, |_, lanes| {
        for &x in lanes {
            let (column, row) = (lane % columns, lane / columns);
            let cell = &mut sums[row * height / rows * width + column * width / columns];
            if x.is_finite() {
                *cell = (cell.0 + x, cell.1 + 1);
            }
            lane += 1;
        }
    })?;
    let values = sums.into_iter().map(|(sum, n)| sum / f64::from(n)).collect();
    let side = |n: usize| {
        #[expect(clippy::cast_precision_loss, reason = "cells of a side")]
        let end = n as f64;
        0.0..end
    };
    let (x, y) = (side(columns), side(rows));
    Ok(Grid { columns: width, rows: height, values, x, y, colours: Map::default() })
}

/// The points of a line piece by piece; without x against the number of the lane.
#[expect(clippy::cast_precision_loss, reason = "lane numbers on an axis")]
fn each_point(op: &str, x: Option<&Array>, y: &Array, mut take: impl FnMut(Point)) -> Result<()> {
    let n = y.size();
    if let Some(x) = x
        && x.size() != n
    {
        let got = x.size();
        return Err(fault(format!("{op}: got {got} and {n} lanes, expected as many x as y")));
    }
    let mut abscissas = Vec::new();
    let mut trouble = Ok(());
    each_piece(y, |start, lanes| {
        abscissas.clear();
        if let Some(x) = x {
            match x.read(start..start + lanes.len() as u64).or_fault() {
                Ok(read) => abscissas.extend(read.into_iter().map(Scalar::to_f64)),
                Err(error) => trouble = Err(error),
            }
        }
        for (i, &y) in (0..).zip(lanes) {
            let lane = (start + i as u64) as f64;
            take((abscissas.get(i).copied().unwrap_or(lane), y));
        }
    })?;
    trouble
}

/// The place of `n` that a part from 0 to 1 falls in.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "places in a picture"
)]
fn index(part: f64, n: usize) -> usize {
    ((part * n as f64) as usize).min(n - 1)
}

/// Keeps the extremes of each run of lanes, in their order.
struct Thin {
    run: u64,
    points: Vec<Point>,
    lowest: Option<(u64, Point)>,
    highest: Option<(u64, Point)>,
    /// Whether no number of the run is finite.
    is_gap: bool,
}

impl Thin {
    fn add(&mut self, lane: u64, point: Point) {
        if self.run == 1 {
            self.points.push(point);
            return;
        }
        if lane.is_multiple_of(self.run) {
            self.flush();
        }
        self.is_gap |= self.lowest.is_none();
        if !point.1.is_finite() {
            return;
        }
        self.is_gap = false;
        if self.lowest.is_none_or(|(_, lowest)| point.1 < lowest.1) {
            self.lowest = Some((lane, point));
        }
        if self.highest.is_none_or(|(_, highest)| point.1 > highest.1) {
            self.highest = Some((lane, point));
        }
    }

    fn flush(&mut self) {
        let mut ends: Vec<(u64, Point)> =
            self.lowest.take().into_iter().chain(self.highest.take()).collect();
        if std::mem::take(&mut self.is_gap) {
            self.points.push((f64::NAN, f64::NAN));
        }
        ends.sort_by_key(|(lane, _)| *lane);
        ends.dedup_by_key(|(lane, _)| *lane);
        self.points.extend(ends.into_iter().map(|(_, point)| point));
    }
}

/// The bars of so many bins between the lowest and the highest finite lane, and their width; none if no lane is finite.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts on an axis, numbers of bins"
)]
pub(crate) fn histogram(x: &Array, bins: usize) -> Result<(Vec<Point>, f64)> {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    each_piece(x, |_, lanes| {
        for &x in lanes.iter().filter(|x| x.is_finite()) {
            (low, high) = (low.min(x), high.max(x));
        }
    })?;
    if low > high {
        return Ok((Vec::new(), 1.0));
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
    Ok((counts.iter().enumerate().map(bar).collect(), width))
}

/// The colours of `n` lanes: of one array those of a map from its smallest to its largest number, of three red, green and
/// blue, floats from 0 to 1 and integers from 0 to 255, unsigned ones of 16 bits to 65535; of four the last is how much of it covers white. A `range` says
/// otherwise what is darkest and what lightest.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 255")]
pub(crate) fn pixels(
    leaves: &[Array],
    n: u64,
    colours: Map,
    range: Option<Range<f64>>,
) -> Result<Vec<[u8; 3]>> {
    let is_colour = leaves.len() >= 3;
    let (mut low, mut high) = match leaves[0].dtype() {
        DType::U16 if is_colour => (0.0, 65535.0),
        dtype if is_colour && dtype.is_int() => (0.0, 255.0),
        _ => (0.0, 1.0),
    };
    if let Some(range) = range {
        (low, high) = (range.start, range.end);
    } else if !is_colour && leaves[0].dtype() != DType::Mask {
        (low, high) = (f64::INFINITY, f64::NEG_INFINITY);
        each_piece(&leaves[0], |_, piece| {
            for &x in piece.iter().filter(|x| x.is_finite()) {
                (low, high) = (low.min(x), high.max(x));
            }
        })?;
    }
    // A part of a colour that is no number is 0.
    let level = |x: f64| (part(x, &(low..high)).clamp(0.0, 1.0) * 255.0).round() as u8;
    let colour = |x: f64| match colours {
        Map::Grey if x.is_nan() => NO_GREY,
        Map::Grey => [level(x); 3],
        colours => colours.colour(part(x, &(low..high))),
    };
    // Lanes are read once more rather than kept: Ctrl-C would wait for their memory to be freed.
    let mut pixels = black(&leaves[0], n)?;
    for (channel, leaf) in leaves.iter().enumerate() {
        let paint = |pixel: &mut [u8; 3], x: f64| match (is_colour, channel) {
            (false, _) => *pixel = colour(x),
            (true, 0..3) => pixel[channel] = level(x),
            (true, _) => *pixel = pixel.map(|part| over_white(part, level(x))),
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

/// So many black pixels, if there is room for them beside the arrays.
fn black(of: &Array, n: u64) -> Result<Vec<[u8; 3]>> {
    let bytes = n.saturating_mul(3);
    of.session().check_host_memory(bytes).or_fault()?;
    let n = usize::try_from(n).unwrap_or(usize::MAX);
    let mut pixels = Vec::new();
    let refused = |_| fault(format!("out of memory: the pixels take {}", Bytes(bytes)));
    pixels.try_reserve_exact(n).map_err(refused)?;
    pixels.resize(n, [0; 3]);
    Ok(pixels)
}

/// A colour of some opacity in front of white.
fn over_white(part: u8, opacity: u8) -> u8 {
    let [part, opacity] = [part, opacity].map(u16::from);
    let mixed = (part * opacity + 255 * (255 - opacity) + 127) / 255;
    u8::try_from(mixed).unwrap_or(u8::MAX)
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
