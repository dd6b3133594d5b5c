//! Lanes at even distances along several axes: what views of tensors are made of.
//!
//! A view of what is not evaluated yet reads what that is made of: of a sum in other places the summands in those places.
//! So a slice of an expression is one kernel, which computes the lanes of the slice alone.

use std::ops::RangeInclusive;

use smallvec::{SmallVec, smallvec};

use super::Recorder;
use super::runs::Lanes;
use crate::convert::exactly;
use crate::dtype::DType;
use crate::error::Result;
use crate::ir::op::Op;
use crate::ir::primitive::lane_number_type;
use crate::ir::var::{Kind, MAX_OPERANDS, VarId, Variable};

/// The name of the composite that a view is.
const VIEW: &str = "view";

/// Operations and views that are recorded again in other places at most; what is made of more is computed in memory.
const MOST_OPERATIONS: usize = 32;

/// Lanes, those of a matrix, and rows and columns from which on matrices are turned by a primitive.
pub(crate) const LARGE: u64 = 1 << 16;
const LARGE_MATRIX: u64 = 1 << 10;
const LARGE_SIDE: u64 = 8;
/// So few rows, as those of a stack along the last axis, lie far from each other: a primitive puts them side by side.
const FEW_ROWS: RangeInclusive<u64> = 2..=4;

/// Which matrices a primitive turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sides {
    /// Those of [`FEW_ROWS`] too: processors read memory as it lies, where GPUs read it as they need it.
    Any,
    Long,
}

impl Recorder<'_> {
    /// [`Recorder::strided`] as a call, which an evaluation spells out.
    ///
    /// # Errors
    /// As [`Recorder::gather`].
    pub(crate) fn view(
        &mut self,
        x: VarId,
        start: u64,
        runs: Vec<(u64, i64)>,
        sides: Sides,
    ) -> Result<VarId> {
        let n: u64 = runs.iter().map(|(extent, _)| extent).product();
        if n == 0 || self.size(x) == 1 || self.var(x).kind.number().is_some() {
            return self.strided(x, start, &runs, sides);
        }
        let mut words = to_words(start, &runs);
        words.push(u64::from(sides == Sides::Any));
        let result = (self.dtype(x), n);
        self.known_composite(VIEW, &words, &[x], result, move |recorder, args| {
            recorder.strided(args[0], start, &runs, sides)
        })
    }

    /// The lanes start + i s₀ + j s₁ + .. of `x`, which has them, for all numbers i, j, .. below the extents, the last
    /// running fastest; `runs` are extents and steps. One lane of `x` stands in all of them.
    ///
    /// # Errors
    /// As [`Recorder::gather`].
    fn strided(
        &mut self,
        x: VarId,
        start: u64,
        runs: &[(u64, i64)],
        sides: Sides,
    ) -> Result<VarId> {
        let n: u64 = runs.iter().map(|(extent, _)| extent).product();
        let (dtype, size) = (self.dtype(x), self.size(x));
        if n == 0 {
            let none = self.literal(dtype, 0, 0);
            return Ok(self.tracked_number(&[x], none));
        }
        if size == 1 {
            return self.widen(x, n);
        }
        if let Some([rows, columns]) = matrices_turned(size, start, runs, sides) {
            return self.turned(x, rows, columns);
        }
        let lanes = Lanes::new(start, runs);
        // More lanes than there are would be computed more than once.
        let is_again = n > size && !lanes.is_one();
        if is_again || !self.is_short(x) {
            let index = self.strided_lanes(lane_number_type(n.max(size)), start, runs)?;
            return self.pick(x, index, None);
        }
        self.in_lanes(x, lanes, &mut Reread::new(n))
    }

    /// The lanes of `x` in places that it has. Of what is not evaluated yet and made of few operations, these are
    /// computed for those places.
    ///
    /// # Errors
    /// As [`Recorder::gather`].
    pub fn places(&mut self, x: VarId, index: VarId) -> Result<VarId> {
        if self.size(x) == 1 || !self.is_short(x) {
            return self.pick(x, index, None);
        }
        let n = self.size(index);
        self.in_places(x, &Places::at(index), &mut Reread::new(n))
    }

    /// Whether a value that is not evaluated is made of few operations.
    fn is_short(&self, x: VarId) -> bool {
        let mut open: SmallVec<[VarId; 8]> = smallvec![x];
        let mut seen: SmallVec<[VarId; 8]> = SmallVec::new();
        while let Some(x) = open.pop() {
            let variable = self.var(x);
            let goes_on = matches!(variable.kind, Kind::Op(_)) || is_view(variable);
            if goes_on && looks_through(variable) && !seen.contains(&x) {
                seen.push(x);
                open.extend(variable.operands());
            }
            if seen.len() > MOST_OPERATIONS {
                return false;
            }
        }
        true
    }

    /// Whether a value that is not evaluated is made of few operations on numbers and the numbers of lanes.
    pub(super) fn is_of_lane_numbers(&self, x: VarId) -> bool {
        let size = self.size(x);
        let mut open: SmallVec<[VarId; 8]> = smallvec![x];
        let mut n_operations = 0;
        while let Some(x) = open.pop() {
            let variable = self.var(x);
            if variable.size != size {
                continue;
            }
            match variable.kind {
                Kind::Index | Kind::Literal(_) | Kind::Constant(_) if !variable.tracked => {}
                Kind::Op(_) if looks_through(variable) && n_operations < MOST_OPERATIONS => {
                    n_operations += 1;
                    open.extend(variable.operands());
                }
                _ => return false,
            }
        }
        true
    }

    /// The lanes of `x` in places that it has, through operations that are not evaluated yet.
    fn in_places(&mut self, x: VarId, at: &Places, reread: &mut Reread) -> Result<VarId> {
        let mut known = reread.known.iter();
        if let Some(&(.., known)) = known.find(|&&(of, index, _)| (of, index) == (x, at.index)) {
            return Ok(known);
        }
        let variable = self.var(x);
        let (kind, dtype, size) = (variable.kind, variable.dtype, variable.size);
        let (is_outside, is_tracked) = (looks_through(variable), variable.tracked);
        let view = view_of(variable).filter(|_| is_outside);
        let mut operands = [None; MAX_OPERANDS];
        operands.iter_mut().zip(variable.operands()).for_each(|(to, own)| *to = Some(own));
        let result = match (kind, view) {
            (Kind::Op(_), _) if is_outside => {
                for operand in operands.iter_mut().flatten() {
                    if self.size(*operand) == size {
                        *operand = self.in_places(*operand, at, reread)?;
                    }
                }
                self.add(Variable::new(kind, dtype, reread.n, operands))
            }
            (_, Some(view)) => {
                let source = operands[0].expect("internal error: a view of nothing");
                self.in_view(source, &view, at, reread)?
            }
            _ if is_tracked => self.pick(x, at.index, None)?,
            (Kind::Index, _) => self.cast(at.index, dtype)?,
            (Kind::Literal(bits) | Kind::Constant(bits), _) => self.literal(dtype, bits, reread.n),
            _ => self.pick(x, at.index, None)?,
        };
        // What was recorded without derivatives is made of what has some.
        let is_of_tracked = !is_tracked && self.var(result).tracked;
        let result = if is_of_tracked { self.detached(result) } else { result };
        reread.known.push((x, at.index, result));
        Ok(result)
    }

    /// The lanes of a view in some places.
    fn in_view(
        &mut self,
        source: VarId,
        view: &Lanes,
        at: &Places,
        reread: &mut Reread,
    ) -> Result<VarId> {
        if let Some(lanes) = at.lanes.as_ref().and_then(|lanes| view.at(lanes)) {
            return self.in_lanes(source, lanes, reread);
        }
        let counter = lane_number_type(self.size(source).max(view.size()).max(reread.n));
        let lane = self.cast(at.index, counter)?;
        let index = self.strided_from(lane, reread.n, view.start, &view.runs)?;
        self.in_places(source, &Places::at(index), reread)
    }

    /// Lanes of `x` at even distances, as [`Recorder::in_places`]. One alone is computed before all lanes.
    fn in_lanes(&mut self, x: VarId, lanes: Lanes, reread: &mut Reread) -> Result<VarId> {
        let (size, n) = (self.size(x), reread.n);
        if size == n && lanes.is_whole(size) {
            return Ok(x);
        }
        let counter = lane_number_type(size.max(n));
        if lanes.is_one() && n > 1 {
            let index = self.literal(counter, lanes.start, 1);
            let lanes = Some(Lanes::new(lanes.start, &[]));
            let one = self.in_places(x, &Places { index, lanes }, &mut Reread::new(1))?;
            return self.widen(one, n);
        }
        let index = self.strided_lanes(counter, lanes.start, &lanes.runs)?;
        self.in_places(x, &Places { index, lanes: Some(lanes) }, reread)
    }

    /// The numbers start + i s₀ + j s₁ + .. themselves, which wrap.
    ///
    /// # Errors
    /// None at present.
    pub fn strided_lanes(
        &mut self,
        counter: DType,
        start: u64,
        runs: &[(u64, i64)],
    ) -> Result<VarId> {
        let n: u64 = runs.iter().map(|(extent, _)| extent).product();
        if n == 0 {
            return Ok(self.literal(counter, 0, 0));
        }
        let lane = self.lane_index(counter, n);
        self.strided_from(lane, n, start, runs)
    }

    /// The same for given numbers of the entries, of which there are `n`.
    fn strided_from(
        &mut self,
        lane: VarId,
        n: u64,
        start: u64,
        runs: &[(u64, i64)],
    ) -> Result<VarId> {
        let counter = self.dtype(lane);
        // What is beyond the type wraps, as the sums do: of a negative step the lower bits remain.
        let bits = |number: u64| number & (u64::MAX >> (64 - counter.bits()));
        // The start comes last: views that differ in it alone share the rest.
        let mut distance = None;
        let mut inner: u64 = runs.iter().map(|(extent, _)| extent).product();
        for (i, &(extent, step)) in runs.iter().enumerate() {
            inner /= extent;
            if step == 0 {
                continue;
            }
            let mut along = lane;
            if inner > 1 {
                let by = self.literal(counter, inner, 1);
                along = self.same(Op::IDiv, &[along, by])?;
            }
            if i > 0 {
                let by = self.literal(counter, extent, 1);
                along = self.same(Op::Rem, &[along, by])?;
            }
            if step != 1 {
                let by = self.literal(counter, bits(step.cast_unsigned()), 1);
                along = self.same(Op::Mul, &[along, by])?;
            }
            distance = Some(match distance {
                Some(distance) => self.same(Op::Add, &[distance, along])?,
                None => along,
            });
        }
        let Some(distance) = distance else { return Ok(self.literal(counter, bits(start), n)) };
        if start == 0 {
            return Ok(distance);
        }
        let start = self.literal(counter, bits(start), 1);
        self.same(Op::Add, &[distance, start])
    }
}

/// Rows and columns of matrices that are all of so many lanes and are read column by column, if they are large enough for
/// a launch of their own to be worth it.
fn matrices_turned(size: u64, start: u64, runs: &[(u64, i64)], sides: Sides) -> Option<[u64; 2]> {
    let (matrices, &[(columns, 1), (rows, step)]) = runs.split_last_chunk::<2>()? else {
        return None;
    };
    let each = rows * columns;
    let are_all = match matrices {
        [] => each == size,
        &[(n, step)] => step.cast_unsigned() == each && n * each == size,
        _ => false,
    };
    let has_sides =
        rows.min(columns) >= LARGE_SIDE || sides == Sides::Any && FEW_ROWS.contains(&rows);
    let is_large = size >= LARGE && each >= LARGE_MATRIX && has_sides;
    let is_turned = start == 0 && step.cast_unsigned() == columns && are_all;
    (is_turned && is_large).then_some([rows, columns])
}

/// Where lanes are read.
struct Places {
    index: VarId,
    /// The same numbers, where they are known to be at even distances.
    lanes: Option<Lanes>,
}

impl Places {
    fn at(index: VarId) -> Self {
        Self { index, lanes: None }
    }
}

/// What is read in other places.
struct Reread {
    /// How many there are.
    n: u64,
    /// Variables, indices, and what stands for the one in the places of the other: as few as [`MOST_OPERATIONS`] give.
    known: SmallVec<[(VarId, VarId, VarId); 8]>,
}

impl Reread {
    fn new(n: u64) -> Self {
        Self { n, known: SmallVec::new() }
    }
}

/// A view as the words of its composite: the start, the number of runs, then extents and steps.
fn to_words(start: u64, runs: &[(u64, i64)]) -> Vec<u64> {
    let words = runs.iter().flat_map(|&(extent, step)| [extent, step.cast_unsigned()]);
    [start, runs.len() as u64].into_iter().chain(words).collect()
}

/// Whether what is read of a variable may be read of its operands: not of one whose derivative may be asked for.
fn looks_through(variable: &Variable) -> bool {
    variable.scope == 0 && !variable.is_border() && !variable.tracked
}

fn is_view(variable: &Variable) -> bool {
    variable.composite().is_some_and(|composite| composite.name == VIEW)
}

/// The lanes of a variable that is a view.
fn view_of(variable: &Variable) -> Option<Lanes> {
    let view = variable.composite().filter(|composite| composite.name == VIEW)?;
    let [start, n, runs @ ..] = &*view.words else { return None };
    let runs = runs.as_chunks::<2>().0.iter().take(exactly::<usize>(*n));
    let runs = runs.map(|&[extent, step]| (extent, step.cast_signed())).collect();
    Some(Lanes { start: *start, runs })
}
