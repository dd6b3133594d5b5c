//! Segments of lanes: their rows for a reduction, and scans that begin anew in each.

use super::fold::Rows;
use super::reduction::Work;
use crate::array::{Array, Operand};
use crate::convert::exactly;
use crate::dtype::DType;
use crate::error::Result;
use crate::ir::op::{Op, ReduceOp, ScatterOp};

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

    /// The states up to each lane, from where its segment begins: a state has beside it whether one begins in it, and then
    /// takes nothing from before.
    pub(super) fn scanned(
        &self,
        states: Vec<Array>,
        offsets: Option<&Array>,
        n: u64,
    ) -> Result<Vec<Array>> {
        if let (Some(op), None) = (self.known(), offsets) {
            let scan = if op == ReduceOp::Sum { Array::psum } else { Array::cumprod };
            return states.iter().map(scan).collect();
        }
        let mut scanned = states;
        if let Some(offsets) = offsets {
            let Rows { segments, .. } = self.segments(offsets, n)?;
            let [starts, lengths] = segments.expect("internal error: segments without any");
            let mut begins = self.session.zeros(DType::U8, n)?;
            // The first lane of none may be that of another.
            let is_some = lengths.gt(0)?;
            begins.scatter(ScatterOp::Set, 1, &starts, Some(&is_some))?;
            scanned.push(begins.neq(0)?);
        }
        self.with_folder(n, |folder| {
            scanned = folder.scan(&scanned, n)?;
            Ok(())
        })?;
        scanned.truncate(scanned.len() - usize::from(offsets.is_some()));
        Ok(scanned)
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
