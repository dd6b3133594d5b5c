//! Lanes in other places: compositions of gathers and scatters, so that they fuse with what makes and
//! uses them. Lane numbers that our own arithmetic gives are in bounds and not checked again.

use std::cmp::Reverse;

use smallvec::SmallVec;

use super::Recorder;
use crate::convert::exactly;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::ir::op::{Class, Op, ReduceOp, ScatterMode, ScatterOp, Writer};
use crate::ir::primitive::lane_number_type;
use crate::ir::scalar::identity_bits;
use crate::ir::var::{Kind, Reader, VarId, Variable};

impl Recorder<'_> {
    /// The lanes from the last to the first.
    ///
    /// # Errors
    /// None at present.
    pub fn reverse(&mut self, x: VarId) -> Result<VarId> {
        let size = self.size(x);
        if size <= 1 {
            return Ok(x);
        }
        let lane = self.lane_numbers(size);
        let last = self.literal(self.dtype(lane), size - 1, 1);
        let index = self.same(Op::Sub, &[last, lane])?;
        self.pick(x, index, None)
    }

    /// The lanes moved up by `distance`, those at the end coming in at the front; down if negative.
    ///
    /// # Errors
    /// None at present.
    pub fn roll(&mut self, x: VarId, distance: i64) -> Result<VarId> {
        let size = self.size(x);
        if size <= 1 {
            return Ok(x);
        }
        let distance = i128::from(distance).rem_euclid(i128::from(size));
        let distance = exactly::<u64>(distance);
        if distance == 0 {
            return Ok(x);
        }
        let lane = self.lane_numbers(size);
        let dtype = self.dtype(lane);
        let [down, up] = [distance, size - distance].map(|by| self.literal(dtype, by, 1));
        let from_end = self.same(Op::Lt, &[lane, down])?;
        let (ahead, behind) =
            (self.same(Op::Add, &[lane, up])?, self.same(Op::Sub, &[lane, down])?);
        let index = self.select(from_end, ahead, behind)?;
        self.pick(x, index, None)
    }

    /// All lanes, `n` times over.
    ///
    /// # Errors
    /// `Argument` if the result would have more than 2⁶⁴ lanes.
    pub fn tile(&mut self, x: VarId, n: u64) -> Result<VarId> {
        self.multiply("tile", x, n, Op::Rem)
    }

    /// Each lane `n` times.
    ///
    /// # Errors
    /// As [`Recorder::tile`].
    pub fn repeat(&mut self, x: VarId, n: u64) -> Result<VarId> {
        self.multiply("repeat", x, n, Op::IDiv)
    }

    fn multiply(&mut self, name: &'static str, x: VarId, n: u64, op: Op) -> Result<VarId> {
        let (dtype, size) = (self.dtype(x), self.size(x));
        let total = size.checked_mul(n).ok_or_else(|| Error::Argument {
            op: name,
            what: format!("{n} times {size} lanes are more than 2^64"),
        })?;
        if total == 0 {
            return Ok(self.literal(dtype, 0, 0));
        }
        if size == 1 || n == 1 {
            return self.widen(x, total);
        }
        let lane = self.lane_numbers(total);
        let by = if op == Op::Rem { size } else { n };
        let by = self.literal(self.dtype(lane), by, 1);
        let index = self.same(op, &[lane, by])?;
        self.pick(x, index, None)
    }

    /// `size` lanes: one lane in all of them; of several the first ones, then zeros.
    ///
    /// # Errors
    /// As [`Recorder::gather`].
    pub fn resize(&mut self, x: VarId, size: u64) -> Result<VarId> {
        let (dtype, from) = (self.dtype(x), self.size(x));
        if from == 1 || from == size {
            return self.widen(x, size);
        }
        if from == 0 || size == 0 {
            let zeros = self.literal(dtype, 0, size);
            return Ok(self.tracked_number(&[x], zeros));
        }
        let lane = self.lane_numbers(size);
        if size < from {
            return self.pick(x, lane, None);
        }
        let end = self.literal(self.dtype(lane), from, 1);
        let inside = self.same(Op::Lt, &[lane, end])?;
        self.pick(x, lane, Some(inside))
    }

    /// The lanes of all parts one after the other, promoted to their common type.
    ///
    /// # Errors
    /// `TypeMismatch` if masks meet numbers; `Argument` without parts.
    pub fn concat(&mut self, parts: &[VarId]) -> Result<VarId> {
        self.side_by_side(parts, 1)
    }

    /// Of parts that are so many rows each, the first rows of all one after the other, then the second ones, and so on.
    ///
    /// # Errors
    /// As [`Recorder::concat`].
    pub fn side_by_side(&mut self, parts: &[VarId], rows: u64) -> Result<VarId> {
        let nothing = Error::Argument { op: "concat", what: "expected at least one array".into() };
        let (&first, others) = parts.split_first().ok_or(nothing)?;
        let mut dtype = self.dtype(first);
        for &other in others {
            let rhs = self.dtype(other);
            let mismatch = Error::TypeMismatch { op: "concat", lhs: dtype, rhs };
            dtype = dtype.promote(rhs).ok_or(mismatch)?;
        }
        if others.is_empty() {
            return Ok(first);
        }
        let total = parts.iter().try_fold(0, |sum: u64, &part| sum.checked_add(self.size(part)));
        let total = total.ok_or_else(|| Error::Argument {
            op: "concat",
            what: "the parts have more than 2^64 lanes together".into(),
        })?;
        let counter = lane_number_type(total);
        let mut result = self.room(dtype, total);
        let mut start = 0;
        let mut placed: SmallVec<[(VarId, u64); 4]> = SmallVec::new();
        for &part in parts.iter().filter(|&&part| self.size(part) > 0) {
            placed.push((part, start));
            start += self.size(part) / rows;
        }
        let row = i64::try_from(start).unwrap_or(i64::MAX);
        // The largest first: in a loop that joins a little to what it has, all results would begin with the little ones,
        // which wait for nothing, and lie in memory together.
        placed.sort_by_key(|&(part, _)| Reverse(self.size(part)));
        for (part, start) in placed {
            let own = self.size(part) / rows;
            let index = match rows {
                1 => self.strided_lanes(counter, start, &[(own, 1)])?,
                _ => self.strided_lanes(counter, start, &[(rows, row), (own, 1)])?,
            };
            let value = self.cast(part, dtype)?;
            result = self.put("concat", ScatterOp::Set, result, [value, index], None)?;
        }
        Ok(result)
    }

    /// The first lanes of all parts, then the second ones, and so on; a part of one lane has it everywhere.
    ///
    /// # Errors
    /// `SizeMismatch`; `TypeMismatch` if masks meet numbers; `Argument` without parts.
    pub fn interleave(&mut self, parts: &[VarId]) -> Result<VarId> {
        let refuse = |what: &str| Error::Argument { op: "ravel", what: what.into() };
        let (&first, others) =
            parts.split_first().ok_or_else(|| refuse("expected at least one array"))?;
        let (mut dtype, mut size) = (self.dtype(first), self.size(first));
        for &other in others {
            let (lhs, rhs) = (dtype, self.dtype(other));
            dtype = lhs.promote(rhs).ok_or(Error::TypeMismatch { op: "ravel", lhs, rhs })?;
            size = super::broadcast_size("ravel", size, self.size(other))?;
        }
        if others.is_empty() {
            return Ok(first);
        }
        let n = parts.len() as u64;
        let total = size.checked_mul(n).ok_or_else(|| refuse("more than 2^64 lanes"))?;
        if size == 0 {
            return Ok(self.literal(dtype, 0, total));
        }
        let mut result = self.room(dtype, total);
        let counter = lane_number_type(total);
        let (lane, step) = (self.lane_index(counter, size), self.literal(counter, n, 1));
        let row = self.same(Op::Mul, &[lane, step])?;
        for (i, &part) in (0..n).zip(parts) {
            let place = self.literal(counter, i, 1);
            let index = self.same(Op::Add, &[row, place])?;
            let value = self.cast(part, dtype)?;
            result = self.put("ravel", ScatterOp::Set, result, [value, index], None)?;
        }
        Ok(result)
    }

    /// `x[index[i]]`; negative indices count from the end. An index out of bounds is reported (S13).
    ///
    /// # Errors
    /// As [`Recorder::gather`].
    pub fn take(&mut self, x: VarId, index: VarId) -> Result<VarId> {
        self.take_as(Reader::Take, x, index)
    }

    /// As [`Recorder::take`], as a part of a function, whose errors it has.
    ///
    /// # Errors
    /// As [`Recorder::take`].
    pub fn take_as(&mut self, reader: Reader, x: VarId, index: VarId) -> Result<VarId> {
        self.check_access(reader.name(), index, None, None)?;
        if !self.dtype(index).is_signed() {
            return self.gather_as(reader, x, index, None);
        }
        let index = self.cast(index, DType::I64)?;
        let size = self.literal(DType::I64, self.size(x), 1);
        let zero = self.constant(DType::I64, 0);
        let from_end = self.same(Op::Add, &[index, size])?;
        // An index that is out of bounds either way stays what it is, for the report.
        let (negative, inside) =
            (self.same(Op::Lt, &[index, zero])?, self.same(Op::Ge, &[from_end, zero])?);
        let counts = self.same(Op::And, &[negative, inside])?;
        let index = self.select(counts, from_end, index)?;
        self.gather_as(reader, x, index, None)
    }

    /// The table between its entries: `lerp(table[floor(x)], table[floor(x) + 1], x - floor(x))`, where x
    /// is first brought between 0 and the last entry's number. NaN stays NaN.
    ///
    /// **Dtypes**: the common float type of both; f16 by way of f32.
    ///
    /// # Errors
    /// `UnsupportedType` for masks, `Argument` for an empty table.
    pub fn take_interpolated(&mut self, table: VarId, x: VarId) -> Result<VarId> {
        self.require("take_interp", Class::Number, table)?;
        self.require("take_interp", Class::Number, x)?;
        let n = self.size(table);
        if n == 0 {
            return Err(Error::Argument { op: "take_interp", what: "the table is empty".into() });
        }
        let dtypes = [table, x].map(|x| self.dtype(x).quotient());
        let dtype = dtypes[0].promote(dtypes[1]).unwrap_or(DType::F64);
        if dtype.is_half() {
            let x = self.cast(x, DType::F32)?;
            return self.in_single(table, |recorder, table| recorder.take_interpolated(table, x));
        }
        let (table, x) = (self.cast(table, dtype)?, self.cast(x, dtype)?);
        if n == 1 {
            let is_nan = self.same(Op::Ne, &[x, x])?;
            return self.select(is_nan, x, table);
        }
        let zero = self.constant(dtype, 0);
        let last = self.literal(dtype, dtype.encode(Scalar::UInt(n - 1))?, 1);
        let x = self.same(Op::Maximum, &[x, zero])?;
        let x = self.same(Op::Minimum, &[x, last])?;
        let counter = lane_number_type(n);
        let start = self.literal(counter, n - 2, 1);
        let one = self.constant(counter, 1);
        let whole = self.cast(x, counter)?;
        let lower = self.same(Op::Min, &[whole, start])?;
        let upper = self.same(Op::Add, &[lower, one])?;
        let (a, b) = (self.pick(table, lower, None)?, self.pick(table, upper, None)?);
        let whole = self.cast(lower, dtype)?;
        let (t, step) = (self.same(Op::Sub, &[x, whole])?, self.same(Op::Sub, &[b, a])?);
        self.same(Op::Fma, &[t, step, a])
    }

    /// The line through the points (`places`, `table`) at `x`, where places ascend; beyond them the table's ends, NaN
    /// where x is.
    ///
    /// # Errors
    /// `UnsupportedType` for masks, `Argument` if there is no point, or of one more than of the other.
    pub fn interpolate(&mut self, x: VarId, places: VarId, table: VarId) -> Result<VarId> {
        let op = "interp";
        let mut dtype = DType::F16;
        for x in [x, places, table] {
            self.require(op, Class::Number, x)?;
            dtype = dtype.promote(self.dtype(x).quotient()).unwrap_or(DType::F64);
        }
        if dtype.is_half() {
            dtype = DType::F32;
        }
        let (n, n_values) = (self.size(places), self.size(table));
        if n == 0 || n != n_values {
            let what =
                format!("got {n} places and {n_values} values, expected as many, at least 1");
            return Err(Error::Argument { op, what });
        }
        let (x, places, table) =
            (self.cast(x, dtype)?, self.cast(places, dtype)?, self.cast(table, dtype)?);
        let counter = lane_number_type(n);
        let (one, last) = (self.constant(counter, 1), self.literal(counter, n - 1, 1));
        // At a place that stands there twice the value is that of the last one.
        let found = self.search_sorted(places, x, Op::Le)?;
        let found = self.cast(found, counter)?;
        let upper = self.same(Op::Max, &[found, one])?;
        let upper = self.same(Op::Min, &[upper, last])?;
        let lower = self.same(Op::Max, &[upper, one])?;
        let lower = self.same(Op::Sub, &[lower, one])?;
        let [a, b] = [self.pick(places, lower, None)?, self.pick(places, upper, None)?];
        let [low, high] = [self.pick(table, lower, None)?, self.pick(table, upper, None)?];
        let (way, width) = (self.same(Op::Sub, &[x, a])?, self.same(Op::Sub, &[b, a])?);
        let (part, step) = (self.same(Op::Div, &[way, width])?, self.same(Op::Sub, &[high, low])?);
        let between = self.same(Op::Fma, &[part, step, low])?;
        let between = self.or_from_above(between, x, [b, width, step], [low, high])?;
        let (mut low, mut high) = (low, high);
        if [x, places].iter().any(|&id| self.var(id).tracked) {
            let slope = self.same(Op::Div, &[step, width])?;
            low = self.on_line(low, way, slope)?;
            let way = self.same(Op::Sub, &[x, b])?;
            high = self.on_line(high, way, slope)?;
        }
        let is_below = self.same(Op::Le, &[x, a])?;
        let value = self.select(is_below, low, between)?;
        let is_above = self.same(Op::Ge, &[x, b])?;
        self.select(is_above, high, value)
    }

    /// A value on a line, or where it is NaN, as from an end at infinity, the one seen from the end above; between two
    /// equal ends theirs.
    fn or_from_above(
        &mut self,
        value: VarId,
        x: VarId,
        [above, width, step]: [VarId; 3],
        [low, high]: [VarId; 2],
    ) -> Result<VarId> {
        let way = self.same(Op::Sub, &[x, above])?;
        let part = self.same(Op::Div, &[way, width])?;
        let from_above = self.same(Op::Fma, &[part, step, high])?;
        let (is_level, is_number) = (self.same(Op::Eq, &[low, high])?, self.same(Op::Eq, &[x, x])?);
        let is_level = self.same(Op::And, &[is_level, is_number])?;
        let other = self.select(is_level, low, from_above)?;
        let is_known = self.same(Op::Eq, &[value, value])?;
        self.select(is_known, value, other)
    }

    /// The value at the end of a line, which has the slope of the line there: `way` from the end is 0. Beyond, the value.
    fn on_line(&mut self, value: VarId, way: VarId, slope: VarId) -> Result<VarId> {
        let more = self.same(Op::Mul, &[way, slope])?;
        let zero = self.constant(self.dtype(value), 0);
        let is_there = self.same(Op::Eq, &[more, zero])?;
        let sum = self.same(Op::Add, &[value, more])?;
        self.select(is_there, sum, value)
    }

    /// Sums of blocks of `length` lanes, each in lane order; the last block may be short. f16 accumulates
    /// in f32.
    ///
    /// # Errors
    /// `Argument` for blocks of no lanes.
    pub fn block_sum(&mut self, x: VarId, length: u64) -> Result<VarId> {
        if length == 0 {
            let what = "a block has at least one lane".into();
            return Err(Error::Argument { op: "block_sum", what });
        }
        let (dtype, size) = (self.dtype(x).accumulated(), self.size(x));
        let x = self.cast(x, dtype)?;
        if size == 0 || length == 1 {
            return Ok(x);
        }
        if dtype.is_half() {
            return self.in_single(x, |recorder, x| recorder.block_sum(x, length));
        }
        self.whole("block_sum", x)?;
        let length = length.min(size);
        let x = self.filled_up(ReduceOp::Sum, x, size.next_multiple_of(length))?;
        self.sums_of_blocks(x, length)
    }

    /// As many lanes as wanted, those behind the ones that there are with what an operation leaves others as they are.
    fn filled_up(&mut self, op: ReduceOp, x: VarId, size: u64) -> Result<VarId> {
        if self.size(x) == size {
            return Ok(x);
        }
        let dtype = self.dtype(x);
        let nothing = self.constant(dtype, identity_bits(op, dtype));
        let lane = self.lane_numbers(size);
        let end = self.literal(self.dtype(lane), self.size(x), 1);
        let is_there = self.same(Op::Lt, &[lane, end])?;
        let lanes = self.pick(x, lane, Some(is_there))?;
        self.select(is_there, lanes, nothing)
    }

    /// Prefix sums in each block of `length` lanes, by doubling: each lane takes the sum so far of the lane 1, 2, 4 .. before
    /// it in the block. f16 accumulates in f32.
    ///
    /// # Errors
    /// `Argument` for blocks of no lanes; `Recording` in a body.
    pub fn block_prefix_sum(&mut self, x: VarId, length: u64) -> Result<VarId> {
        if length == 0 {
            let what = "a block has at least one lane".into();
            return Err(Error::Argument { op: "block_prefix_sum", what });
        }
        self.block_prefix(Op::Add, x, length)
    }

    /// As [`Recorder::block_prefix_sum`] with another operation, of blocks with a lane or more.
    ///
    /// # Errors
    /// `Recording` in a body.
    pub fn block_prefix(&mut self, op: Op, x: VarId, length: u64) -> Result<VarId> {
        let (dtype, size) = (self.dtype(x).accumulated(), self.size(x));
        let mut sums = self.cast(x, dtype)?;
        let length = length.min(size);
        if length <= 1 {
            return Ok(sums);
        }
        if dtype.is_half() {
            return self.in_single(sums, |recorder, x| recorder.block_prefix(op, x, length));
        }
        let lane = self.lane_numbers(size);
        let counter = self.dtype(lane);
        let by = self.literal(counter, length, 1);
        let place = self.same(Op::Rem, &[lane, by])?;
        for step in 0..=(length - 1).ilog2() {
            let distance = self.constant(counter, 1 << step);
            let inside = self.same(Op::Ge, &[place, distance])?;
            let before = self.same(Op::Sub, &[lane, distance])?;
            let before = self.pick(sums, before, Some(inside))?;
            let sum = self.same(op, &[before, sums])?;
            sums = self.select(inside, sum, sums)?;
        }
        Ok(sums)
    }

    /// How many lanes of `x` fall into each of `bins` intervals of equal width from `low` to `high`, both
    /// included: lane x counts in bin `min(trunc((x - low) * (bins / (high - low))), bins - 1)`.
    ///
    /// **Dtypes**: counts are u32, beyond 2³² lanes u64.
    ///
    /// # Errors
    /// `UnsupportedType` for masks, `Argument` for no bins or an interval that is empty or not finite.
    pub fn histogram(&mut self, x: VarId, bins: u64, low: f64, high: f64) -> Result<VarId> {
        let [bin, inside] = self.bins(x, bins, low, high)?;
        let counter = lane_number_type(self.size(x));
        let (counts, one) = (self.literal(counter, 0, bins), self.constant(counter, 1));
        self.put("histogram", ScatterOp::Add, counts, [one, bin], Some(inside))
    }

    /// The bin of each lane, as [`Recorder::histogram`] has it, and whether the lane lies in one.
    ///
    /// # Errors
    /// As [`Recorder::histogram`].
    pub fn bins(&mut self, x: VarId, bins: u64, low: f64, high: f64) -> Result<[VarId; 2]> {
        self.require("histogram", Class::Number, x)?;
        let refuse = |what: String| Err(Error::Argument { op: "histogram", what });
        if !(1..=1 << 31).contains(&bins) {
            return refuse(format!("{bins} bins; expected 1 to 2^31"));
        }
        if !(low < high && (high - low).is_finite()) {
            return refuse(format!("from {low} to {high} is no finite interval"));
        }
        let dtype = self.dtype(x).quotient().widened();
        let x = self.cast(x, dtype)?;
        let scale = Scalar::UInt(bins).to_f64() / (high - low);
        let numbers = [low, high, scale].map(|number| dtype.encode(Scalar::Float(number)));
        let [low, high, scale] = numbers.map(|bits| bits.unwrap_or(0));
        let [low, high, scale] = [low, high, scale].map(|bits| self.literal(dtype, bits, 1));
        let (above, below) = (self.same(Op::Ge, &[x, low])?, self.same(Op::Le, &[x, high])?);
        let active = self.same(Op::And, &[above, below])?;
        let distance = self.same(Op::Sub, &[x, low])?;
        let place = self.same(Op::Mul, &[distance, scale])?;
        let (place, last) = (self.cast(place, DType::U32)?, self.literal(DType::U32, bins - 1, 1));
        Ok([self.same(Op::Min, &[place, last])?, active])
    }

    /// For each of `total` lanes the first of `ends`, which ascend, that lies behind it.
    ///
    /// # Errors
    /// As [`Recorder::search_sorted`].
    pub fn lanes_by_ends(&mut self, ends: VarId, total: u64) -> Result<VarId> {
        let dtype = self.dtype(ends);
        let lane = self.lane_index(dtype, total);
        let one = self.constant(dtype, 1);
        let next = self.same(Op::Add, &[lane, one])?;
        self.search_sorted(ends, next, Op::Lt)
    }

    /// How many lanes of `sorted`, which ascends, are below each lane of `x` (`Lt`), or not above it (`Le`): where it could
    /// be inserted. NaN is above all numbers, as in sorted arrays.
    ///
    /// # Errors
    /// `TypeMismatch` for masks and numbers, `UnsupportedType` for masks.
    pub fn search_sorted(&mut self, sorted: VarId, x: VarId, is_below: Op) -> Result<VarId> {
        self.require("searchsorted", Class::Number, sorted)?;
        self.require("searchsorted", Class::Number, x)?;
        let below = self.below_in_sorted(sorted, x, is_below)?;
        if !self.dtype(x).is_float() {
            return Ok(below);
        }
        let n_below_nan = if is_below == Op::Le {
            self.literal(self.dtype(below), self.size(sorted), 1)
        } else {
            let dtype = self.dtype(x);
            let infinite = self.constant(dtype, dtype.encode(Scalar::Float(f64::INFINITY))?);
            self.below_in_sorted(sorted, infinite, Op::Le)?
        };
        let is_nan = self.elementwise(Op::Ne, &[x, x])?;
        self.elementwise(Op::Select, &[is_nan, n_below_nan, below])
    }

    /// As [`Self::search_sorted`]; of NaN nothing is below.
    fn below_in_sorted(&mut self, sorted: VarId, x: VarId, is_below: Op) -> Result<VarId> {
        let n = self.size(sorted);
        let counter = lane_number_type(n.saturating_add(1));
        let mut low = self.literal(counter, 0, self.size(x));
        if n == 0 {
            return Ok(low);
        }
        let mut high = self.literal(counter, n, 1);
        let last = self.literal(counter, n - 1, 1);
        for _ in 0..=n.ilog2() {
            let [middle, place] = self.middle([low, high], last)?;
            let value = self.pick(sorted, place, None)?;
            let below = self.elementwise(is_below, &[value, x])?;
            [low, high] = self.half([low, high], middle, below)?;
        }
        Ok(low)
    }

    /// The middle of intervals in a bisection, and the place to look at: where the search has ended, the middle may be
    /// behind the last one.
    pub(crate) fn middle(&mut self, [low, high]: [VarId; 2], last: VarId) -> Result<[VarId; 2]> {
        let one = self.constant(self.dtype(low), 1);
        let distance = self.same(Op::Sub, &[high, low])?;
        let half = self.same(Op::Shr, &[distance, one])?;
        let middle = self.same(Op::Add, &[low, half])?;
        Ok([middle, self.same(Op::Min, &[middle, last])?])
    }

    /// The upper half of intervals where `below`, else the lower one; those that are empty stay.
    ///
    /// # Errors
    /// `SizeMismatch`; `UnsupportedType` unless `below` is a mask.
    pub(crate) fn half(
        &mut self,
        [low, high]: [VarId; 2],
        middle: VarId,
        below: VarId,
    ) -> Result<[VarId; 2]> {
        let one = self.constant(self.dtype(low), 1);
        let open = self.same(Op::Lt, &[low, high])?;
        let up = self.elementwise(Op::And, &[below, open])?;
        let above = self.same(Op::Add, &[middle, one])?;
        Ok([self.select(up, above, low)?, self.select(up, high, middle)?])
    }

    /// A scatter whose indices are known to be in bounds, for the function `name`.
    pub(super) fn put(
        &mut self,
        name: &'static str,
        op: ScatterOp,
        target: VarId,
        [value, index]: [VarId; 2],
        active: Option<VarId>,
    ) -> Result<VarId> {
        self.check_access(name, index, active, Some(value))?;
        // The result is complete only behind all lanes: in a loop's body, its values cannot be used.
        for operand in [value, index].into_iter().chain(active) {
            self.whole(name, operand)?;
        }
        let (dtype, size) = (self.dtype(target), self.size(target));
        let operands = [Some(target), Some(value), Some(index), active];
        // A sum of floats depends on its order, and adding in memory takes GPUs' subnormals for 0.
        let exact = op == ScatterOp::Add && dtype.is_float();
        let mode = match op {
            // No place is in the index twice.
            ScatterOp::Set => ScatterMode::Apart,
            _ if exact => ScatterMode::Exact,
            _ => ScatterMode::Fast,
        };
        let kind = Kind::Scatter { op, mode, checked: false, writer: Writer::Scatter };
        Ok(self.add(Variable::new(kind, dtype, size, operands)))
    }
}
