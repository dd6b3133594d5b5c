//! Reductions by any associative and commutative function, and scans by any associative one, recorded with what there
//! is: gathers, loops and selections. The order is that of S11, so the bits are the same everywhere.

use super::trouble::Trouble;
use crate::array::{Array, Operand};
use crate::dtype::{DType, Scalar};
use crate::error::Result;
use crate::ir::op::Op;
use crate::session::Session;

/// Lanes in a chunk, and accumulators of one.
const CHUNK: u64 = 4096;
const ACCUMULATORS: u64 = 32;
/// Lanes that an accumulator reads before it combines them: a device waits for all at once.
const AT_ONCE: u64 = 4;
/// States that meet in one launch. More would be longer to compile, fewer take more launches.
const MEMBERS: u64 = 4;
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
            count = count.div_ceil(MEMBERS);
            span *= MEMBERS;
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
        let nowhere = number(session, &lane, 0)?;
        let place_of_first = active.select(&place(&first)?, &nowhere)?;
        let firsts = values.iter().map(|value| value.places(&place_of_first));
        let mut states = firsts.collect::<Result<Vec<_>>>()?;
        if rows.extent <= ACCUMULATORS {
            return Ok(states);
        }
        let end = plus(&first, &number(session, &lane, CHUNK)?)?.min(&length)?;
        states.push(plus(&first, &number(session, &lane, ACCUMULATORS)?)?);
        let n_values = values.len();
        // As many at once as there are, then one by one.
        for n_steps in [AT_ONCE, 1] {
            if rows.extent <= n_steps * ACCUMULATORS {
                continue;
            }
            states = session.while_loop(
                &states,
                |inside| {
                    let last = inside[n_values].try_add(scalar((n_steps - 1) * ACCUMULATORS))?;
                    Ok::<_, Trouble>(last.lt(&end)?)
                },
                |inside| {
                    let at = |step| inside[n_values].try_add(scalar(step * ACCUMULATORS));
                    let read = |step| -> Result<Vec<Array>, Trouble> {
                        let place = place(&at(step)?)?;
                        let next = values.iter().map(|value| value.places(&place));
                        Ok(next.collect::<Result<_>>()?)
                    };
                    let next = (0..n_steps).map(read).collect::<Result<Vec<_>, _>>()?;
                    let mut combined = inside[..n_values].to_vec();
                    for next in &next {
                        combined = (self.combine)(&combined, next)?;
                    }
                    combined.push(at(n_steps)?);
                    Ok(combined)
                },
            )?;
        }
        states.truncate(n_values);
        Ok(states)
    }

    /// The accumulators of each chunk, by halves: in one launch two of them.
    fn chunks(
        &mut self,
        accumulators: &[Array],
        rows: &Rows,
        n_chunks: u64,
        n_accumulators: u64,
    ) -> Result<Vec<Array>, Trouble> {
        let of_last = rows.extent - (n_chunks - 1) * CHUNK;
        let are_full = rows.segments.is_none() && of_last >= n_accumulators;
        let (mut states, mut width) = (accumulators.to_vec(), n_accumulators);
        while width > 1 {
            let left = (width.next_power_of_two() / MEMBERS).max(1);
            let n_members = width.div_ceil(left);
            let lane = self.numbers(rows.n * n_chunks * left)?;
            let (group, i) = divided(&lane, left)?;
            let from = plus(&times(&group, width)?, &i)?;
            let (row, chunk) = divided(&group, n_chunks)?;
            let first = plus(&times(&chunk, CHUNK)?, &i)?;
            let length = self.length(rows, &row)?;
            let is_there = |member: u64| {
                let place = scalar(member * left);
                if member == 0 || are_full && width == n_members * left {
                    return Ok(None);
                }
                let is_in_width = i.try_add(place)?.lt(scalar(width))?;
                is_in_width.try_and(&first.try_add(place)?.lt(&length)?).map(Some)
            };
            let there = (0..n_members).map(is_there).collect::<Result<Vec<_>>>()?;
            let mut members = self.members(&states, &from, left, &there)?;
            for step in [2, 1] {
                for i in 0..step.min(members.len().saturating_sub(step)) {
                    self.merge(&mut members, i, i + step, &there)?;
                }
            }
            states = members.swap_remove(0);
            width = left;
        }
        Ok(states)
    }

    /// States of a row, each with its neighbour, and what they give with theirs; a state stands for `span` lanes.
    fn neighbours(
        &mut self,
        states: &[Array],
        rows: &Rows,
        count: u64,
        span: u64,
    ) -> Result<Vec<Array>, Trouble> {
        let n_groups = count.div_ceil(MEMBERS);
        let lane = self.numbers(rows.n * n_groups)?;
        let (row, group) = divided(&lane, n_groups)?;
        let first = times(&group, MEMBERS)?;
        let from = plus(&times(&row, count)?, &first)?;
        let length = self.length(rows, &row)?;
        let is_there = |member: u64| {
            if member == 0 {
                return Ok(None);
            }
            let within = first.try_add(scalar(member))?;
            let is_inside = within.lt(scalar(count))?;
            is_inside.try_and(&times(&within, span)?.lt(&length)?).map(Some)
        };
        let there = (0..MEMBERS.min(count)).map(is_there).collect::<Result<Vec<_>>>()?;
        let mut members = self.members(states, &from, 1, &there)?;
        for step in [1, 2] {
            for i in (0..members.len().saturating_sub(step)).step_by(2 * step) {
                self.merge(&mut members, i, i + step, &there)?;
            }
        }
        Ok(members.swap_remove(0))
    }

    /// The states `step` from one another, where they are there.
    fn members(
        &self,
        states: &[Array],
        from: &Array,
        step: u64,
        there: &[Option<Array>],
    ) -> Result<Vec<Vec<Array>>, Trouble> {
        let member = |(i, is_there): (u64, &Option<Array>)| {
            gathered(states, &from.try_add(scalar(i * step))?, is_there.as_ref())
        };
        (0..).zip(there).map(member).collect()
    }

    /// Member `i` becomes what it gives with another, where that is there.
    fn merge(
        &mut self,
        members: &mut [Vec<Array>],
        i: usize,
        other: usize,
        there: &[Option<Array>],
    ) -> Result<(), Trouble> {
        members[i] = self.combined(&members[i], &members[other], there[other].as_ref())?;
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
