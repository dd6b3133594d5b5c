//! Reductions by any associative and commutative function, and scans by any associative one, recorded with what there is: gathers, loops and selections. The
//! order is that of S11, so the bits are the same everywhere.

use super::trouble::Trouble;
use crate::array::{Array, Operand};
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::ir::op::Op;
use crate::session::Session;

/// Lanes in a chunk, and accumulators of one.
const CHUNK: u64 = 4096;
const ACCUMULATORS: u64 = 32;
/// Lanes of a run that a scan takes one after the other.
const RUN: u64 = 8;

/// What two states give together.
pub(super) type Combine<'c> = dyn FnMut(&[Array], &[Array]) -> Result<Vec<Array>, Trouble> + 'c;

/// Which lanes belong to each result: `starts + k * inner` for k below `extent`.
pub(super) struct Rows {
    /// Results.
    pub(super) n: u64,
    /// Lanes of each; the most, where there are `segments`.
    pub(super) extent: u64,
    /// From one lane of a result to the next.
    pub(super) inner: u64,
    /// First lanes and numbers of lanes.
    pub(super) segments: Option<[Array; 2]>,
}

/// Folds and scans.
pub(super) struct Folder<'s, 'c> {
    pub(super) session: &'s Session,
    /// A type that numbers all lanes.
    pub(super) index: DType,
    pub(super) combine: &'c mut Combine<'c>,
}

impl Folder<'_, '_> {
    /// The states of each row combined into one; `values` has at least one lane for every row, but for empty segments,
    /// whose results are any.
    pub(super) fn fold(&mut self, values: &[Array], rows: &Rows) -> Result<Vec<Array>, Trouble> {
        let n_chunks = rows.extent.div_ceil(CHUNK).max(1);
        let n_accumulators = rows.extent.clamp(1, ACCUMULATORS);
        let accumulators = self.accumulate(values, rows, n_chunks, n_accumulators)?;
        let mut states = self.chunks(&accumulators, rows, n_chunks, n_accumulators)?;
        let (mut count, mut span) = (n_chunks, CHUNK);
        while count > 1 {
            states = self.neighbours(&states, rows, count, span)?;
            count = count.div_ceil(ACCUMULATORS);
            span *= ACCUMULATORS;
        }
        Ok(states)
    }

    /// Every 32nd lane of each chunk, one after the other.
    fn accumulate(
        &mut self,
        values: &[Array],
        rows: &Rows,
        n_chunks: u64,
        n_accumulators: u64,
    ) -> Result<Vec<Array>, Trouble> {
        let session = self.session;
        let lane = self.numbers(rows.n * n_chunks * n_accumulators)?;
        let (rest, j) = divided(&lane, n_accumulators)?;
        let (row, chunk) = divided(&rest, n_chunks)?;
        let first = plus(&times(&chunk, CHUNK)?, &j)?;
        let start = match &rows.segments {
            Some([starts, _]) => starts.gather(&row, None)?.cast(lane.dtype())?,
            None => {
                let (outer, inner) = divided(&row, rows.inner)?;
                plus(&times(&outer, rows.extent * rows.inner)?, &inner)?
            }
        };
        let place = |at: &Array| plus(&start, &times(at, rows.inner)?);
        let length = self.length(rows, &row)?;
        // The last chunk may have fewer lanes than accumulators.
        let active = first.lt(&length)?;
        let place_of_first = place(&first)?;
        let firsts = values.iter().map(|value| value.gather(&place_of_first, Some(&active)));
        let mut states = firsts.collect::<Result<Vec<_>>>()?;
        if rows.extent <= ACCUMULATORS {
            return Ok(states);
        }
        let end = plus(&first, &number(session, &lane, CHUNK)?)?.min(&length)?;
        states.push(plus(&first, &number(session, &lane, ACCUMULATORS)?)?);
        let n_values = values.len();
        let mut results = session.while_loop(
            &states,
            |inside| Ok::<_, Trouble>(inside[n_values].lt(&end)?),
            |inside| {
                let at = place(&inside[n_values])?;
                let next = values.iter().map(|value| value.gather(&at, None));
                let next = next.collect::<Result<Vec<_>>>()?;
                let mut combined = (self.combine)(&inside[..n_values], &next)?;
                combined.push(inside[n_values].try_add(scalar(ACCUMULATORS))?);
                Ok(combined)
            },
        )?;
        results.truncate(n_values);
        Ok(results)
    }

    /// The accumulators of each chunk, by halves.
    fn chunks(
        &mut self,
        accumulators: &[Array],
        rows: &Rows,
        n_chunks: u64,
        n_accumulators: u64,
    ) -> Result<Vec<Array>, Trouble> {
        if n_accumulators == 1 {
            return Ok(accumulators.to_vec());
        }
        let lane = self.numbers(rows.n * n_chunks)?;
        let (row, chunk) = divided(&lane, n_chunks)?;
        let length = self.length(rows, &row)?;
        let first = times(&chunk, CHUNK)?;
        let of_last = rows.extent - (n_chunks - 1) * CHUNK;
        let are_all_there = rows.segments.is_none() && of_last >= n_accumulators;
        let mut states = self.spread(accumulators, &lane, n_accumulators, n_accumulators)?;
        let mut half = ACCUMULATORS / 2;
        while half > 0 {
            for i in 0..half.min(n_accumulators.saturating_sub(half)) {
                let other = i + half;
                let is_there = match are_all_there {
                    true => None,
                    false => Some(first.try_add(scalar(other))?.lt(&length)?),
                };
                self.merge(&mut states, i, other, is_there.as_ref())?;
            }
            half /= 2;
        }
        Ok(states.swap_remove(0))
    }

    /// Groups of 32 states of a row, each with its neighbour; a state stands for `span` lanes.
    fn neighbours(
        &mut self,
        states: &[Array],
        rows: &Rows,
        count: u64,
        span: u64,
    ) -> Result<Vec<Array>, Trouble> {
        let n_groups = count.div_ceil(ACCUMULATORS);
        let lane = self.numbers(rows.n * n_groups)?;
        let (row, group) = divided(&lane, n_groups)?;
        let size = count.min(ACCUMULATORS);
        let from = plus(&times(&row, count)?, &times(&group, ACCUMULATORS)?)?;
        let length = self.length(rows, &row)?;
        let mut members = Vec::new();
        let mut there = Vec::new();
        for i in 0..size {
            let within = times(&group, ACCUMULATORS)?.try_add(scalar(i))?;
            let is_sure = rows.segments.is_none() && (n_groups == 1 || i == 0);
            let is_there = if is_sure { None } else { Some(times(&within, span)?.lt(&length)?) };
            // Which is more than what lies in the array, beyond the last row.
            let at = from.try_add(scalar(i))?;
            let inside = within.lt(scalar(count))?;
            let member = states.iter().map(|state| state.gather(&at, Some(&inside)));
            members.push(member.collect::<Result<Vec<_>>>()?);
            there.push(is_there);
        }
        let mut step = 1;
        while step < size {
            let mut i = 0;
            while i + step < size {
                let other = i + step;
                let is_there = there[usize::try_from(other).unwrap_or(0)].clone();
                self.merge(&mut members, i, other, is_there.as_ref())?;
                i += 2 * step;
            }
            step *= 2;
        }
        Ok(members.swap_remove(0))
    }

    /// Members 0 to `count` of groups that lie one after the other.
    fn spread(
        &self,
        states: &[Array],
        group: &Array,
        size: u64,
        count: u64,
    ) -> Result<Vec<Vec<Array>>, Trouble> {
        let first = times(group, size)?;
        let member = |i: u64| {
            let at = first.try_add(scalar(i))?;
            states.iter().map(|state| state.gather(&at, None)).collect::<Result<Vec<_>>>()
        };
        Ok((0..count).map(member).collect::<Result<_>>()?)
    }

    /// Member `i` becomes what it gives with another, where that is there.
    fn merge(
        &mut self,
        members: &mut [Vec<Array>],
        i: u64,
        other: u64,
        is_there: Option<&Array>,
    ) -> Result<(), Trouble> {
        let [i, other] = [i, other].map(|place| usize::try_from(place).unwrap_or(0));
        let combined = self.combined(&members[i], &members[other], is_there)?;
        members[i] = combined;
        Ok(())
    }

    fn combined(
        &mut self,
        one: &[Array],
        other: &[Array],
        is_there: Option<&Array>,
    ) -> Result<Vec<Array>, Trouble> {
        let combined = (self.combine)(one, other)?;
        let Some(is_there) = is_there else { return Ok(combined) };
        let pairs = combined.iter().zip(one);
        let chosen = pairs.map(|(new, old)| {
            let operands = [is_there, new, old].map(Operand::Array);
            self.session.apply(Op::Select, &operands)
        });
        Ok(chosen.collect::<Result<_>>()?)
    }

    /// Lanes of each row.
    fn length(&self, rows: &Rows, row: &Array) -> Result<Array, Trouble> {
        Ok(match &rows.segments {
            Some([_, lengths]) => lengths.gather(row, None)?.cast(row.dtype())?,
            None => number(self.session, row, rows.extent)?,
        })
    }

    fn numbers(&self, n: u64) -> Result<Array, Trouble> {
        Ok(self.session.arange(self.index, Scalar::Int(0), scalar(n), Scalar::Int(1))?)
    }

    /// The states up to each lane combined: runs of 8 lanes one after the other, their totals in the same way.
    pub(super) fn scan(&mut self, values: &[Array], n: u64) -> Result<Vec<Array>, Trouble> {
        if n <= 1 {
            return Ok(values.to_vec());
        }
        let n_runs = n.div_ceil(RUN);
        let before = if n_runs > 1 {
            let run = self.numbers(n_runs)?;
            let first = times(&run, RUN)?;
            let mut totals = gathered(values, &first, None)?;
            for k in 1..RUN {
                let at = first.try_add(scalar(k))?;
                let is_there = at.lt(scalar(n))?;
                let next = gathered(values, &at, Some(&is_there))?;
                totals = self.combined(&totals, &next, Some(&is_there))?;
            }
            Some(self.scan(&totals, n_runs)?)
        } else {
            None
        };
        let lane = self.numbers(n)?;
        let (run, place) = divided(&lane, RUN)?;
        let first = times(&run, RUN)?;
        let mut states = gathered(values, &first, None)?;
        for k in 1..RUN.min(n) {
            let is_there = place.ge(scalar(k))?;
            let at = first.try_add(scalar(k))?;
            let next = gathered(values, &at, Some(&is_there))?;
            states = self.combined(&states, &next, Some(&is_there))?;
        }
        let Some(before) = before else { return Ok(states) };
        let has_before = run.gt(0)?;
        let before = gathered(&before, &run.try_sub(1)?, Some(&has_before))?;
        let combined = (self.combine)(&before, &states)?;
        let pairs = combined.iter().zip(&states);
        let chosen = pairs.map(|(new, own)| {
            self.session.apply(Op::Select, &[&has_before, new, own].map(Operand::Array))
        });
        Ok(chosen.collect::<Result<_>>()?)
    }
}

fn gathered(values: &[Array], at: &Array, active: Option<&Array>) -> Result<Vec<Array>, Trouble> {
    Ok(values.iter().map(|value| value.gather(at, active)).collect::<Result<_>>()?)
}

fn scalar(n: u64) -> Scalar {
    i64::try_from(n).map_or(Scalar::UInt(n), Scalar::Int)
}

fn number(session: &Session, like: &Array, n: u64) -> Result<Array> {
    session.full(like.dtype(), scalar(n), 1)
}

fn plus(a: &Array, b: &Array) -> Result<Array> {
    a.try_add(b)
}

fn times(a: &Array, n: u64) -> Result<Array> {
    a.try_mul(scalar(n))
}

/// Quotient and remainder by a number.
fn divided(a: &Array, n: u64) -> Result<(Array, Array)> {
    let quotient = a.idiv(scalar(n))?;
    let remainder = a.try_sub(&quotient.try_mul(scalar(n))?)?;
    Ok((quotient, remainder))
}
