//! Peaks: entries that are larger than their neighbours.

use super::Call;
use crate::array::Array;
use crate::convert::exactly;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::ir::primitive::lane_number_type;

/// The numbers of the lanes that are peaks as high, as far from each other and as prominent as is asked for.
pub(super) fn found(c: &Call<'_, '_>) -> Result<Array> {
    let given = c.tensor(0)?;
    let given = if given.shape().rank() == 0 { given.reshape(&[1])? } else { given };
    if given.shape().rank() != 1 {
        return Err(c.unexpected(0, "an array"));
    }
    let lanes = given.real(c.op)?.entries()?[0].cast(DType::F64)?;
    c.session.eval_for(c.op, &[&lanes])?;
    let x = lanes.to_vec::<f64>()?;
    let mut peaks = all(&x);
    if c.given(1).is_some() {
        let height = c.number(1, 0.0)?;
        peaks.retain(|&peak| x[peak] >= height);
    }
    if c.given(2).is_some() {
        let distance = c.number(2, 1.0)?;
        if distance.is_nan() || distance < 1.0 {
            let what = format!("got the distance {distance}, expected 1 or more");
            return Err(Error::Argument { op: c.op, what });
        }
        peaks = apart(&x, &peaks, distance.ceil());
    }
    if c.given(3).is_some() {
        let prominence = c.number(3, 0.0)?;
        peaks.retain(|&peak| x[peak] - base(&x, peak) >= prominence);
    }
    let numbers: Vec<u64> = peaks.into_iter().map(exactly).collect();
    c.session.array(&numbers)?.cast(lane_number_type(x.len() as u64))
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

/// The higher one of the lowest entries on both sides, up to one that is higher than the peak.
fn base(x: &[f64], peak: usize) -> f64 {
    let lowest = |side: &mut dyn Iterator<Item = &f64>| {
        side.take_while(|&&other| other <= x[peak]).fold(x[peak], |low, &other| low.min(other))
    };
    lowest(&mut x[..peak].iter().rev()).max(lowest(&mut x[peak..].iter()))
}
