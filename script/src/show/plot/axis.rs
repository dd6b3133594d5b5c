//! An axis: where a number stands between its ends, and its ticks.

use std::ops::Range;

use porcini_core::value::show::{Digits, number};
use porcini_core::{DType, Scalar};

/// Significant digits of labels.
const DIGITS: usize = 7;
/// The same, where ticks stand close together far from 0: all that a float has.
const MOST_DIGITS: usize = 17;
/// Letters of a label; of longer ones an offset takes away what they share.
const LONGEST: usize = 10;
/// Most ticks, whatever the range.
const MOST_TICKS: usize = 50;

/// An axis from end to end.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    /// Ends; of a logarithmic axis their logarithms.
    ends: Range<f64>,
    is_log: bool,
    ticks: Vec<f64>,
    /// Significant digits of labels.
    digits: usize,
    /// What labels leave out of numbers that lie close together far from 0.
    offset: f64,
    /// Of rows, the first on top: the labels of the ticks.
    names: Vec<String>,
}

impl Axis {
    /// An axis of rows, one unit high each, the first on top.
    pub(super) fn of_rows(names: &[String]) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "few rows")]
        let real = |n: usize| n as f64;
        let ticks = (0..names.len()).rev().map(|row| real(row) + 0.5).collect();
        let ends = 0.0..real(names.len());
        Self { names: names.to_vec(), ..Self::plain(ends, ticks) }
    }

    /// An axis with these ends.
    pub(super) fn exactly(ends: Range<f64>, is_log: bool, n: usize) -> Self {
        if is_log {
            return Self::log(ends.start.log10()..ends.end.log10(), n);
        }
        Self::linear(ends.clone(), step(&ends, n)).near(&ends)
    }

    /// The same with whole numbers as labels, however long.
    pub(super) fn in_full(ends: Range<f64>, n: usize) -> Self {
        Self::linear(ends.clone(), step(&ends, n))
    }

    fn linear(ends: Range<f64>, step: f64) -> Self {
        let ticks = ticks(&ends, step);
        let axis = Self::plain(ends, ticks);
        Self { digits: axis.digits(), ..axis }
    }

    fn plain(ends: Range<f64>, ticks: Vec<f64>) -> Self {
        Self { ends, is_log: false, ticks, digits: DIGITS, offset: 0.0, names: Vec::new() }
    }

    /// The same with a round number near a range as offset, if the labels of its ticks are long without it.
    fn near(self, range: &Range<f64>) -> Self {
        let length = range.end - range.start;
        let is_far = range.start.abs().max(range.end.abs()) >= length * 1e3;
        if length.is_infinite() || !is_far || self.longest(self.digits) <= LONGEST {
            return self;
        }
        let offset = rounded(f64::midpoint(range.start, range.end), length.log10().ceil() + 1.0);
        Self { offset, ..self }
    }

    /// An axis whose ends are ticks, around a range.
    pub(super) fn around(range: Range<f64>, is_log: bool, n: usize) -> Self {
        if is_log {
            let (low, high) = (range.start.log10().floor(), range.end.log10().ceil());
            let each = powers(high - low, n);
            return Self::log(low..low + each * ((high - low) / each).ceil().max(1.0), n);
        }
        let step = step(&range, n);
        let low = (range.start / step + 1e-9).floor() * step;
        let high = (range.end / step - 1e-9).ceil() * step;
        // Where floats are sparse, steps are lost.
        let is_wide = low < high && (high - low).is_finite();
        let ends = if is_wide { low..high } else { range.clone() };
        Self::linear(ends, step).near(&range)
    }

    fn log(ends: Range<f64>, n: usize) -> Self {
        let decades = ends.end - ends.start;
        let mut ticks = Vec::new();
        let each = powers(decades, n);
        let mut power = ends.start.ceil();
        while power <= ends.end + 1e-9 && ticks.len() < MOST_TICKS {
            ticks.push(10_f64.powf(power));
            power += each;
        }
        // Between few powers of ten stand 2 and 5 times them.
        if decades <= 2.5 {
            let power = |i: i32| 10_f64.powf(ends.start.floor() + f64::from(i));
            let more = (0..4).flat_map(|i| [2.0 * power(i), 5.0 * power(i)]);
            let inside = |x: &f64| (ends.start..=ends.end).contains(&x.log10());
            ticks.extend(more.filter(inside));
            ticks.sort_by(f64::total_cmp);
        }
        Self { is_log: true, ..Self::plain(ends, ticks) }
    }

    /// Where a number stands: 0 at the lower end, 1 at the upper one; `None` for one that has no place.
    pub(super) fn part(&self, x: f64) -> Option<f64> {
        let x = if self.is_log { x.log10() } else { x };
        // Halved, so that the difference of the largest floats is finite.
        let (low, high) = (self.ends.start / 2.0, self.ends.end / 2.0);
        Some((x / 2.0 - low) / (high - low)).filter(|part| part.is_finite())
    }

    pub(super) fn ticks(&self) -> &[f64] {
        &self.ticks
    }

    /// Both ends as numbers.
    pub(super) fn ends(&self) -> Range<f64> {
        let number = |end: f64| if self.is_log { 10_f64.powf(end) } else { end };
        number(self.ends.start)..number(self.ends.end)
    }

    /// A tick as text, without the offset; what is next to nothing beside the length of the axis is 0.
    pub(super) fn label(&self, x: f64) -> String {
        if let Some((_, name)) = self.ticks.iter().zip(&self.names).find(|(tick, _)| **tick == x) {
            return name.clone();
        }
        if let (Some(step), true) = (self.step(), self.offset != 0.0) {
            // What is left of numbers far from 0 is no more exact than their last digit.
            return text(rounded(x - self.offset, power_below(step)), DIGITS);
        }
        let length = self.ends.end / 2.0 - self.ends.start / 2.0;
        let is_zero = !self.is_log && x.abs() < (length * 1e-9).max(1e-280);
        text(if is_zero { 0.0 } else { x }, self.digits)
    }

    /// What is to be added to the labels, if anything is: `+1.7e+09`.
    pub(super) fn offset(&self) -> Option<String> {
        let sign = if self.offset > 0.0 { "+" } else { "" };
        let shortest = || number(Scalar::Float(self.offset), DType::F64, Digits::Shortest);
        (self.offset != 0.0).then(|| format!("{sign}{}", shortest()))
    }

    /// A number of the axis by itself.
    pub(super) fn whole(&self, x: f64) -> String {
        if self.offset == 0.0 { self.label(x) } else { text(x, self.digits) }
    }

    /// As many as tell one tick from the next; of whole numbers all, where powers of ten would be long: 20240101.
    fn digits(&self) -> usize {
        let Some(step) = self.step() else { return DIGITS };
        let largest = self.ends.start.abs().max(self.ends.end.abs());
        let (digits, whole) = (digits_of(largest, step), digits_of(largest, 1.0));
        let is_short = (digits..=LONGEST).contains(&whole);
        if is_short && self.longest(digits) > LONGEST { whole } else { digits }
    }

    /// Letters of the longest label of so many digits.
    fn longest(&self, digits: usize) -> usize {
        self.ticks.iter().map(|&x| text(x, digits).len()).max().unwrap_or(0)
    }

    fn step(&self) -> Option<f64> {
        match self.ticks[..] {
            [first, second, ..] if !self.is_log => Some(second - first),
            _ => None,
        }
    }
}

fn text(x: f64, digits: usize) -> String {
    number(Scalar::Float(x), DType::F64, digits.into())
}

/// Digits that tell a number from one that is a step away.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "few digits")]
fn digits_of(largest: f64, step: f64) -> usize {
    let decades = (power_below(largest) - power_below(step)).max(0.0);
    (decades as usize + 1).clamp(DIGITS, MOST_DIGITS)
}

/// The power of ten of the first digit, also where the number is a little less than it was.
fn power_below(x: f64) -> f64 {
    (x * 1.001).log10().floor()
}

/// The nearest multiple of a power of ten.
fn rounded(x: f64, power: f64) -> f64 {
    // Those above 1 are exact.
    let unit = 10_f64.powf(power.abs());
    if power < 0.0 { (x * unit).round() / unit } else { (x / unit).round() * unit }
}

/// The powers of ten between about `n` ticks.
#[expect(clippy::cast_precision_loss, reason = "few ticks")]
fn powers(decades: f64, n: usize) -> f64 {
    (decades / n.max(1) as f64).ceil().max(1.0)
}

/// The distance of about `n` ticks: 1, 2 or 5 times a power of ten.
fn step(range: &Range<f64>, n: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "few ticks")]
    let n = n.clamp(2, 12) as f64;
    let rough = range.end / n - range.start / n;
    let power = 10_f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    let step = steps.iter().map(|step| step * power).find(|&step| step >= rough * 0.8);
    step.unwrap_or(10.0 * power)
}

/// The multiples of a step in a range.
fn ticks(range: &Range<f64>, step: f64) -> Vec<f64> {
    let first = (range.start / step - 1e-9).ceil();
    let last = (range.end / step + 1e-9).floor();
    let mut ticks: Vec<f64> = (0_u8..)
        .map(|i| first + f64::from(i))
        .take_while(|&at| at <= last)
        .take(MOST_TICKS)
        .map(|at| at * step)
        .collect();
    // Where floats are sparse, several are one.
    ticks.dedup();
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        let of = |range: Range<f64>, n| ticks(&range, step(&range, n));
        assert_eq!(of(0.0..1.0, 5), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        assert_eq!(of(-3.0..17.0, 4), [0.0, 5.0, 10.0, 15.0]);
        assert_eq!(of(1e9..1e9 + 10.0, 2), [1e9, 1e9 + 5.0, 1e9 + 10.0]);
        for range in [-1e300..1e300, 0.0..1e-289, 1e15..1e15 + 1e7] {
            let n = of(range.clone(), 6).len();
            assert!((2..=50).contains(&n), "{range:?}: {n}");
        }
    }

    #[test]
    fn ticks_stand_at_both_ends() {
        for range in [0.0..6.3, -1.0..1.0, -3.2e-5..7.1e-5, 1e9..1e9 + 7.0, -1e300..1e300] {
            let axis = Axis::around(range.clone(), false, 6);
            let (first, last) = (axis.ticks[0], axis.ticks[axis.ticks.len() - 1]);
            let part = |x| axis.part(x).unwrap();
            assert!(part(first).abs() < 1e-6 && (part(last) - 1.0).abs() < 1e-6, "{axis:?}");
            assert!(part(range.start) >= -1e-6 && part(range.end) <= 1.0 + 1e-6, "{axis:?}");
        }
    }

    #[test]
    fn labels_of_ticks_differ() {
        let ranges = [
            999.999..1000.001,
            123_456.0..123_456.01,
            1.0..1.000_001,
            -1e9..-1e9 + 7.0,
            1.7e9..1.7e9 + 0.05,
            1.0 - 5e-10..1.0 + 5e-10,
            1e12 - 1.0..1e12 + 1.0,
            1e15..1e15 + 2.0,
        ];
        for (range, n) in ranges.into_iter().flat_map(|range| [(range.clone(), 2), (range, 6)]) {
            let axis = Axis::around(range, false, n);
            let labels: Vec<String> = axis.ticks.iter().map(|&x| axis.label(x)).collect();
            assert!(labels.iter().all(|label| label.len() <= LONGEST), "{labels:?}");
            let read = labels.iter().map(|label| label.parse::<f64>().unwrap() + axis.offset);
            let off = read
                .zip(&axis.ticks)
                .map(|(read, x)| (read - x).abs() / (axis.ticks[1] - axis.ticks[0]));
            assert!(off.fold(0.0, f64::max) < 0.01, "{labels:?}");
        }
        let of = |range: Range<f64>| Axis::around(range, false, 6).offset();
        assert_eq!(of(1.7e9..1.7e9 + 0.05), Some("+1.7e+09".into()));
        assert_eq!(of(-1e12 - 1.0..-1e12 + 1.0), Some("-1e+12".into()));
        assert_eq!(of(1.0 - 5e-10..1.0 + 5e-10), Some("+1".into()));
        for n in 2..9 {
            let dates = Axis::around(20_240_101.0..20_240_131.0, false, n);
            let is_plain = |&x: &f64| dates.label(x) == format!("{x}");
            assert!(dates.offset().is_none() && dates.ticks.iter().all(is_plain), "{dates:?}");
        }
        assert_eq!(of(0.0..1e15), None);
        let whole = Axis::around(1.7e9..1.7e9 + 0.05, false, 6);
        assert_eq!(whole.whole(whole.ends().end), "1700000000.05");
        assert_eq!(Axis::around(0.0..1.0, false, 5).label(0.600_000_000_000_000_1), "0.6");
    }

    #[test]
    fn powers_of_ten_stand_at_equal_distances() {
        let axis = Axis::around(0.02..300.0, true, 6);
        assert_eq!(axis.ticks.len(), 6);
        assert!((axis.part(1.0).unwrap() - 0.4).abs() < 1e-12);
        assert_eq!(axis.part(0.0), None);
        assert_eq!(axis.part(-1.0), None);
        assert_eq!(Axis::around(1.0..10.0, true, 6).ticks, [1.0, 2.0, 5.0, 10.0]);
    }
}
