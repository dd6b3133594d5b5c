//! Peaks: entries that are larger than their neighbours.

use super::Call;
use crate::array::Array;
use crate::convert::exactly;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::ir::primitive::lane_number_type;
use crate::tensor::interruptible;

/// The numbers of the lanes that are peaks as high, as far from each other and as prominent as is asked for.
pub(super) fn found(c: &Call<'_, '_>) -> Result<Array> {
    let given = c.tensor(0)?.atleast_1d()?;
    if given.shape().rank() != 1 {
        return Err(c.unexpected(0, "an array"));
    }
    let lanes = given.real(c.op)?.entries()?[0].cast(DType::F64)?;
    let wanted = Wanted::new(c)?;
    c.session.eval_for(c.op, &[&lanes])?;
    let n = lanes.size();
    // The lanes, half of them as peaks and in order, and what is higher than all behind it.
    c.session.check_host_memory(n.saturating_mul(48))?;
    let x = lanes.to_vec::<f64>()?;
    let peaks = interruptible(c.op, n, move |_| wanted.among(&x))?;
    let numbers: Vec<u64> = peaks.into_iter().map(exactly).collect();
    c.session.array(&numbers)?.cast(lane_number_type(n))
}

/// What is asked of peaks.
struct Wanted {
    height: Option<f64>,
    distance: Option<f64>,
    prominence: Option<f64>,
}

impl Wanted {
    fn new(c: &Call<'_, '_>) -> Result<Self> {
        let number = |i: usize| c.given(i).map(|_| c.number(i, 0.0)).transpose();
        let wanted = Self { height: number(1)?, distance: number(2)?, prominence: number(3)? };
        match wanted.distance {
            Some(distance) if distance.is_nan() || distance < 1.0 => {
                let what = format!("got the distance {distance}, expected 1 or more");
                Err(Error::Argument { op: c.op, what })
            }
            _ => Ok(wanted),
        }
    }

    fn among(&self, x: &[f64]) -> Vec<usize> {
        let mut peaks = all(x);
        if let Some(height) = self.height {
            peaks.retain(|&peak| x[peak] >= height);
        }
        if let Some(distance) = self.distance {
            peaks = apart(x, &peaks, distance.ceil());
        }
        match self.prominence {
            Some(prominence) => prominent(x, &peaks, prominence),
            None => peaks,
        }
    }
}

/// Where entries rise to what falls behind it: the middle of what is equal, the left one of two.
fn all(x: &[f64]) -> Vec<usize> {
    let mut peaks = Vec::new();
    let mut i = 1;
    while i + 1 < x.len() {
        if x[i - 1] < x[i] {
            let equal = x[i..].iter().take_while(|&&other| other == x[i]).count();
            let behind = i + equal.max(1);
            if x.get(behind).is_some_and(|&other| other < x[i]) {
                peaks.push(i.midpoint(behind - 1));
            }
            i = behind;
        } else {
            i += 1;
        }
    }
    peaks
}

/// The highest first, those that are so far from all that were taken before; of equal ones the last.
fn apart(x: &[f64], peaks: &[usize], distance: f64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..peaks.len()).collect();
    order.sort_by(|&a, &b| x[peaks[a]].total_cmp(&x[peaks[b]]));
    let mut is_taken = vec![true; peaks.len()];
    let is_near =
        |a: usize, b: usize| Scalar::UInt(peaks[a].abs_diff(peaks[b]) as u64).to_f64() < distance;
    for &highest in order.iter().rev() {
        if !is_taken[highest] {
            continue;
        }
        let before = (0..highest).rev().take_while(|&other| is_near(other, highest));
        let behind = (highest + 1..peaks.len()).take_while(|&other| is_near(other, highest));
        before.chain(behind).for_each(|other| is_taken[other] = false);
    }
    peaks.iter().zip(is_taken).filter(|(_, is_taken)| *is_taken).map(|(&peak, _)| peak).collect()
}

/// Those that stand so far out of the higher one of the lowest entries on both sides.
fn prominent(x: &[f64], peaks: &[usize], prominence: f64) -> Vec<usize> {
    let entries = || x.iter().copied().enumerate();
    let before = lowest(entries(), peaks.iter());
    let behind = lowest(entries().rev(), peaks.iter().rev());
    let sides = before.into_iter().zip(behind.into_iter().rev());
    let all = peaks.iter().zip(sides);
    let kept = all.filter(|&(&peak, (before, behind))| x[peak] - before.max(behind) >= prominence);
    kept.map(|(&peak, _)| peak).collect()
}

/// For each peak the lowest entry since one that is higher, NaN or the end.
fn lowest<'p>(
    entries: impl Iterator<Item = (usize, f64)>,
    peaks: impl Iterator<Item = &'p usize>,
) -> Vec<f64> {
    let mut peaks = peaks.peekable();
    // What is higher than all that came since, with the lowest entry since the one in front of it.
    let mut higher: Vec<(f64, f64)> = Vec::new();
    let mut found = Vec::new();
    for (i, x) in entries {
        let mut low = x;
        while let Some((_, since)) = higher.pop_if(|(height, _)| *height <= x) {
            low = low.min(since);
        }
        higher.push((x, low));
        if peaks.next_if(|&&peak| peak == i).is_some() {
            found.push(low);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_entries_on_both_sides_end_at_something_higher() {
        let x = [0.0, 3.0, 1.0, 2.0, 2.0, 2.0, 0.5, 5.0, f64::NAN, 4.0, 6.0, 4.5, 6.0, 1.0];
        let peaks = all(&x);
        // Beside NaN is no peak.
        assert_eq!(peaks, [1, 4, 10, 12]);
        // Of two of one height each looks past the other.
        assert_eq!(lowest(x.into_iter().enumerate(), peaks.iter()), [0.0, 1.0, 4.0, 4.0]);
        let behind = lowest(x.into_iter().enumerate().rev(), peaks.iter().rev());
        assert_eq!(behind, [1.0, 1.0, 0.5, 0.5]);
        assert_eq!(prominent(&x, &peaks, 2.0), [1, 10, 12]);
    }
}
