//! Recording of gathers, scatters, ranges and slices.

use super::Recorder;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::ir::op::{Op, ScatterMode, ScatterOp, Writer};
use crate::ir::var::{Kind, Reader, VarId, Variable};

/// Largest array whose lanes a u32 can number.
const U32_LANES: u64 = 1 << 32;

impl Recorder<'_> {
    /// `source[index[i]]`, 0 in lanes that are inactive or out of bounds (S13).
    ///
    /// **Sizes**: index and active broadcast to the result; a source of size 1 is a scalar that every
    /// index reads. **Evaluation**: traced; a source that is not evaluated yet is, in the same
    /// evaluation, one stage earlier.
    ///
    /// # Errors
    /// `UnsupportedType` if the index is not an integer or `active` not a mask, `SizeMismatch`.
    pub fn gather(&mut self, source: VarId, index: VarId, active: Option<VarId>) -> Result<VarId> {
        if let Some(known) = self.gather_known(source, index, active)? {
            return Ok(known);
        }
        self.gather_as(Reader::Gather, source, index, active)
    }

    /// [`Recorder::gather`] as a part of a function, whose errors it has.
    pub(crate) fn gather_as(
        &mut self,
        reader: Reader,
        source: VarId,
        index: VarId,
        active: Option<VarId>,
    ) -> Result<VarId> {
        let checked = self.settings.bounds_check.then_some(reader);
        self.gather_checked(source, index, active, checked)
    }

    /// [`Recorder::gather`] that reports indices out of bounds as those of a function, or not at all.
    pub(super) fn gather_checked(
        &mut self,
        source: VarId,
        index: VarId,
        active: Option<VarId>,
        checked: Option<Reader>,
    ) -> Result<VarId> {
        let name = checked.map_or("gather", Reader::name);
        let size = self.check_access(name, index, active, None)?;
        let dtype = self.dtype(source);
        if self.size(source) == 1 && checked.is_none_or(Reader::takes_number) {
            return self.gather_scalar(source, size, active);
        }
        if !matches!(self.var(source).kind, Kind::Phi { .. }) {
            self.whole(name, source)?;
        }
        // What reports nothing and depends on no region need not be limited to the lanes of one.
        let outside = |id: VarId| self.var(id).scope == 0;
        let active = if checked.is_some() || !outside(index) || !active.is_none_or(outside) {
            self.masked(active)?
        } else {
            active
        };
        // What is read at one place has the lanes of the mask: it is 0 where that does not hold.
        let size = active
            .map_or(Ok(size), |active| super::broadcast_size(name, size, self.size(active)))?;
        let operands = [Some(source), Some(index), active, None];
        Ok(self.add(Variable::new(Kind::Gather { checked }, dtype, size, operands)))
    }

    /// The target with `value[i]` written to, or combined with, the element at `index[i]`, as a new variable (S12).
    ///
    /// **Sizes**: value, index and active broadcast with each other; the result has the target's size.
    /// **Dtypes**: the value is converted to the target's type. **Evaluation**: traced; when it runs,
    /// the target is updated in place if nothing else refers to it, else copied.
    ///
    /// # Errors
    /// As [`Recorder::gather`]; `UnsupportedType` for a target outside the operation's class.
    pub fn scatter(
        &mut self,
        op: ScatterOp,
        mode: ScatterMode,
        target: VarId,
        value: VarId,
        index: VarId,
        active: Option<VarId>,
    ) -> Result<VarId> {
        self.write(op, mode, Writer::Scatter, [target, value, index], active)
    }

    /// [`Recorder::scatter`] of target, value and index as a part of a function, whose errors it has.
    pub(crate) fn write(
        &mut self,
        op: ScatterOp,
        mode: ScatterMode,
        writer: Writer,
        [target, value, index]: [VarId; 3],
        active: Option<VarId>,
    ) -> Result<VarId> {
        let (dtype, name) = (self.dtype(target), op.function(writer));
        if !op.class().contains(dtype) {
            let expected = op.class().describe();
            return Err(Error::UnsupportedType { op: name, dtype, expected });
        }
        let value = self.writable(name, value, dtype)?;
        let lanes = self.check_access(name, index, active, Some(value))?;
        self.check_target(name, target, lanes)?;
        let active = self.masked(active)?;
        let size = self.size(target);
        let checked = self.settings.bounds_check;
        let kind = Kind::Scatter { op, mode, checked, writer };
        let operands = [Some(target), Some(value), Some(index), active];
        let result = self.add(Variable::new(kind, dtype, size, operands));
        self.table.note_write(result, target);
        Ok(result)
    }

    /// A value as the type of a target that it fits.
    pub(super) fn writable(
        &mut self,
        name: &'static str,
        value: VarId,
        dtype: DType,
    ) -> Result<VarId> {
        let from = self.dtype(value);
        if dtype.promote(from) != Some(dtype) {
            return Err(Error::conversion(name, from, dtype));
        }
        self.cast(value, dtype)
    }

    /// `start, start + step, …` with `size` lanes.
    ///
    /// **Accuracy**: integers wrap; floats are `fma(i, step, start)`, rounded once, f16 from f32.
    ///
    /// # Errors
    /// `UnsupportedType` for masks; `NumberRange` if start or step does not fit and is needed.
    pub fn range(&mut self, dtype: DType, start: Scalar, step: Scalar, size: u64) -> Result<VarId> {
        if !dtype.is_number() {
            return Err(Error::UnsupportedType { op: "arange", dtype, expected: "a number type" });
        }
        if dtype.is_half() {
            let range = self.range(DType::F32, start, step, size)?;
            return self.cast(range, dtype);
        }
        let counter = if size <= U32_LANES { DType::U32 } else { DType::U64 };
        let index = self.lane_index(counter, size);
        let index = self.cast(index, dtype)?;
        let needed =
            |bits: Result<u64>, from: u64| if size < from { Ok(bits.unwrap_or(0)) } else { bits };
        let start = needed(dtype.encode(start), 1)?;
        let step = needed(encode_step(dtype, step), 2)?;
        let (start, step) = (self.literal(dtype, start, 1), self.literal(dtype, step, 1));
        if dtype.is_float() {
            if self.is_number(step, 1.0) && self.is_number(start, 0.0) {
                return Ok(index);
            }
            return self.same(Op::Fma, &[index, step, start]);
        }
        let scaled = self.same(Op::Mul, &[index, step])?;
        self.same(Op::Add, &[scaled, start])
    }

    /// `size` floats from `first` to `last`, both included: `fma(i, step, first)` with the last lane
    /// exactly `last`; a single one is `first`. f16 is rounded from f32.
    ///
    /// # Errors
    /// `UnsupportedType` if the type is not a float.
    pub fn linspace(
        &mut self,
        dtype: DType,
        first: Scalar,
        last: Scalar,
        size: u64,
    ) -> Result<VarId> {
        if !dtype.is_float() {
            let expected = "a float type (arange makes integers)";
            return Err(Error::UnsupportedType { op: "linspace", dtype, expected });
        }
        if size <= 1 {
            let bits = dtype.encode(first)?;
            return Ok(self.literal(dtype, bits, size));
        }
        if dtype.is_half() {
            let lanes = self.linspace(DType::F32, first, last, size)?;
            return self.cast(lanes, dtype);
        }
        let counter = if size <= U32_LANES { DType::U32 } else { DType::U64 };
        let lane = self.lane_index(counter, size);
        let index = self.cast(lane, dtype)?;
        let steps = size - 1;
        let step = linspace_step(dtype, first.to_f64(), last.to_f64(), steps)?;
        let (first, last) = (dtype.encode(first)?, dtype.encode(last)?);
        let [first, last, step] = [first, last, step].map(|bits| self.literal(dtype, bits, 1));
        let value = self.same(Op::Fma, &[index, step, first])?;
        // A literal: other sizes take the same kernel.
        let end = self.literal(counter, steps, 1);
        let at_end = self.same(Op::Eq, &[lane, end])?;
        self.select(at_end, last, value)
    }

    /// `x` in `size` lanes; its own size must be 1 or `size`.
    ///
    /// # Errors
    /// `SizeMismatch`.
    pub fn widen(&mut self, x: VarId, size: u64) -> Result<VarId> {
        let from = self.size(x);
        if from == size {
            return Ok(x);
        }
        super::broadcast_size("resize", from, size)?;
        let variable = self.var(x);
        let dtype = variable.dtype;
        if let Some(bits) = variable.kind.number() {
            return Ok(self.literal(dtype, bits, size));
        }
        let all = self.literal(DType::Mask, 1, size);
        let operands = [Some(all), Some(x), Some(x), None];
        Ok(self.add(Variable::new(Kind::Op(Op::Select), dtype, size, operands)))
    }

    pub(super) fn gather_scalar(
        &mut self,
        source: VarId,
        size: u64,
        active: Option<VarId>,
    ) -> Result<VarId> {
        let wide = self.widen(source, size)?;
        match active {
            None => Ok(wide),
            Some(active) => {
                let zero = self.constant(self.dtype(source), 0);
                self.select(active, wide, zero)
            }
        }
    }

    fn is_number(&self, x: VarId, value: f64) -> bool {
        let variable = self.var(x);
        let bits = variable.dtype.encode(Scalar::Float(value)).ok();
        variable.kind.number().is_some() && variable.kind.number() == bits
    }

    /// Checks index, mask and value of an access; the number of lanes it runs over.
    pub(super) fn check_access(
        &self,
        op: &'static str,
        index: VarId,
        active: Option<VarId>,
        value: Option<VarId>,
    ) -> Result<u64> {
        let dtype = self.dtype(index);
        if !dtype.is_int() {
            return Err(Error::UnsupportedType {
                op,
                dtype,
                expected: "an array of integers as index",
            });
        }
        if let Some(active) = active
            && self.dtype(active) != DType::Mask
        {
            let dtype = self.dtype(active);
            return Err(Error::UnsupportedType { op, dtype, expected: "a mask as active" });
        }
        let mut size = self.size(index);
        for other in value.into_iter().chain(active) {
            size = super::broadcast_size(op, size, self.size(other))?;
        }
        Ok(size)
    }
}

/// A range's step: a negative one of an unsigned type wraps, so that the values count down.
fn encode_step(dtype: DType, step: Scalar) -> Result<u64> {
    match step {
        // A step beyond the type is only met in ranges of one value, which need none.
        Scalar::Int(step) if !dtype.is_signed() && step < 0 => {
            Ok(step.cast_unsigned() & (u64::MAX >> (64 - dtype.bits())))
        }
        _ => dtype.encode(step),
    }
}

/// The bits of the distance between neighbours, finite if first and last are.
fn linspace_step(dtype: DType, first: f64, last: f64, steps: u64) -> Result<u64> {
    let n = Scalar::UInt(steps).to_f64();
    let encode = |step: f64| dtype.encode(Scalar::Float(step));
    let is_finite = |bits: u64| dtype.decode(bits).to_f64().is_finite();
    let step = encode((last - first) / n)?;
    let ends_are_finite = is_finite(encode(first)?) && is_finite(encode(last)?);
    if is_finite(step) || !ends_are_finite {
        return Ok(step);
    }
    // The distance of the ends overflows, which leaves room for two steps or more. A single step is not
    // used: both lanes are ends.
    if steps == 1 { Ok(0) } else { encode(last / n - first / n) }
}
