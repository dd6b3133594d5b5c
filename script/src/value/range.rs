//! Ranges of integers.

use std::{fmt, ops};

use porcini_core::value::Slice;
use rhai::Dynamic;

/// `range(n)` and `range(start, stop, step)`: what loops run over and slices take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) start: i64,
    pub(crate) stop: i64,
    pub(crate) step: i64,
}

impl Range {
    /// Number of values.
    pub(crate) fn n(self) -> u64 {
        let distance = i128::from(self.stop) - i128::from(self.start);
        let step = i128::from(self.step);
        if distance == 0 || step == 0 || (distance < 0) != (step < 0) {
            return 0;
        }
        let n = (distance.abs() - 1) / step.abs() + 1;
        u64::try_from(n).unwrap_or(u64::MAX)
    }
}

/// The places that a range chooses, `1..3`, `-2..`, `range(9, 0, -1)`; `None` of another value.
pub(crate) fn slice(index: &Dynamic) -> Option<Slice> {
    if let Some(range) = index.read_lock::<ops::Range<i64>>() {
        return Some(range.clone().into());
    }
    if let Some(range) = index.read_lock::<ops::RangeInclusive<i64>>() {
        return Some(range.clone().into());
    }
    let range = index.read_lock::<Range>()?;
    Some(Slice::new(range.start, range.stop, range.step))
}

/// `all`: every entry along an axis, or every axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct All;

impl Iterator for Range {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        let more = if self.step > 0 { self.start < self.stop } else { self.start > self.stop };
        more.then(|| {
            let value = self.start;
            self.start = self.start.saturating_add(self.step);
            value
        })
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "range({}, {}, {})", self.start, self.stop, self.step)
    }
}
