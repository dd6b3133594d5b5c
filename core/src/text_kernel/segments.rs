//! Segments of lanes, and the rows of tensors: their rows for a reduction, and scans that begin anew in each.

use super::fold::Rows;
use super::reduction::Work;
use crate::array::{Array, Operand};
use crate::convert::exactly;
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::ir::op::{Op, ReduceOp, ScatterOp};
use crate::tensor::Tensor;
use crate::value::Value;

impl Work<'_> {
    /// The segments between offsets. How long the longest is, is read.
    pub(super) fn segments(&self, offsets: &Array, n: u64) -> Result<Rows> {
        let n_segments = offsets.size().saturating_sub(1);
        if !offsets.dtype().is_int() || offsets.is_empty() {
            return Err(
                self.wrong("offsets are integers: where segments begin, and the last one ends")
            );
        }
        let places = offsets.cast(DType::I64)?;
        let starts = places.slice(0..exactly::<i64>(n_segments))?;
        let lengths = places.slice(1..)?.try_sub(&starts)?;
        let mut extent = 0;
        if n_segments > 0 {
            let longest = lengths.reduce(ReduceOp::Max)?.item(0)?;
            let shortest = lengths.reduce(ReduceOp::Min)?.item(0)?;
            let (first, last) = (places.item(0)?, places.item(-1)?);
            let is_inside = first.to_f64() >= 0.0 && last.to_f64() <= n as f64;
            if shortest.to_f64() < 0.0 || !is_inside {
                return Err(self.wrong(&format!("offsets rise from 0 to at most {n}")));
            }
            extent = longest.integer().and_then(|longest| u64::try_from(longest).ok()).unwrap_or(0);
        }
        Ok(Rows { n: n_segments, extent, inner: 1, segments: Some([starts, lengths]) })
    }

    /// The states up to each lane; where lanes `begin` something anew, a state has beside it whether one does in it, and
    /// then takes nothing from before.
    pub(super) fn scanned(
        &self,
        states: Vec<Array>,
        begin: Option<Array>,
        n: u64,
    ) -> Result<Vec<Array>> {
        if let (Some(op), None) = (self.known(), &begin) {
            let scan = if op == ReduceOp::Sum { Array::psum } else { Array::cumprod };
            return states.iter().map(scan).collect();
        }
        let n_states = states.len();
        let mut scanned = states;
        scanned.extend(begin);
        self.with_folder(n, |folder| {
            scanned = folder.scan(&scanned, n)?;
            Ok(())
        })?;
        scanned.truncate(n_states);
        Ok(scanned)
    }

    /// Scans from where each segment begins.
    pub(super) fn scan_segments(
        &self,
        states: Vec<Array>,
        offsets: &Array,
        n: u64,
    ) -> Result<Vec<Array>> {
        let Rows { segments, .. } = self.segments(offsets, n)?;
        let [starts, lengths] = segments.expect("internal error: segments without any");
        let mut begins = self.session.zeros(DType::U8, n)?;
        // The first lane of none may be that of another.
        let is_some = lengths.gt(0)?;
        begins.scatter(ScatterOp::Set, 1, &starts, Some(&is_some))?;
        let scanned = self.scanned(states, Some(begins.neq(0)?), n)?;
        if starts.is_empty() {
            return self.finished(&scanned, None);
        }
        // The lanes from the last start on; before the first one there are those from lane 0 on.
        let behind = self.numbers(n, 1)?;
        let n_before = starts.search_sorted(&behind)?;
        let is_inside = n_before.gt(0)?;
        let start = starts.gather(&n_before.try_sub(1)?, Some(&is_inside))?;
        self.finished(&scanned, Some(behind.try_sub(&start)?))
    }

    /// Scans along an axis of tensors.
    pub(super) fn scan_along(&self, states: &[Tensor], axes: Option<&[i64]>) -> Result<Vec<Value>> {
        let Some(&[axis]) = axes else {
            let what = "a scan of a tensor goes along one axis, #{axis: 0}, or over all entries of ravel(t)";
            return Err(self.wrong(what));
        };
        let place = exactly::<i64>(states[0].shape().axis("scan", axis)?);
        let rows = states.iter().map(|state| state.move_axis(place, -1));
        let rows = rows.collect::<Result<Vec<Tensor>>>()?;
        let shape = rows[0].shape().extents().to_vec();
        let (n, extent) = (shape.iter().product::<u64>(), shape.last().copied().unwrap_or(1));
        let lanes = rows.iter().map(|row| Ok(row.entries()?.swap_remove(0)));
        let lanes = self.widened(&lanes.collect::<Result<Vec<Array>>>()?, n)?;
        let at = self.numbers(n, 0)?.apply(Op::Rem, &[Scalar::UInt(extent.max(1)).into()])?;
        let scanned = match self.known() {
            Some(op) => {
                let scan = |state: &Array| {
                    let state = Tensor::new(state, &shape)?;
                    let sums =
                        if op == ReduceOp::Sum { state.cumsum(-1) } else { state.cumprod(-1) };
                    Ok(sums?.entries()?.swap_remove(0))
                };
                lanes.iter().map(scan).collect::<Result<_>>()?
            }
            None => self.scanned(lanes, Some(at.eq(0)?), n)?,
        };
        let results = self.finished(&scanned, Some(at.try_add(1)?))?;
        let back = |result: &Array| Tensor::new(result, &shape)?.move_axis(-1, place);
        results.iter().map(|result| back(result).map(Value::Tensor)).collect()
    }

    /// As many numbers, one after the other.
    fn numbers(&self, n: u64, first: u64) -> Result<Array> {
        let [first, stop] = [first, first + n].map(|number| Scalar::Int(exactly(number)));
        self.session.arange(DType::I64, first, stop, Scalar::Int(1))
    }

    /// Two states combined, from those of all lanes: the second one where a segment begins in it.
    pub(super) fn within_segments(
        &self,
        combined: &mut Vec<Array>,
        [a, b]: [&[Array]; 2],
    ) -> Result<()> {
        let n = combined.len();
        let ([begun], [begins]) = (&a[n..], &b[n..]) else { return Ok(()) };
        for (both, own) in combined.iter_mut().zip(b) {
            *both = self.session.apply(Op::Select, &[begins, own, both].map(Operand::Array))?;
        }
        combined.push(begun.try_or(begins)?);
        Ok(())
    }
}
