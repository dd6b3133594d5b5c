//! Recording of elementwise operations.

use super::{Recorder, fmod, identities};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ir::op::{Class, Op, ReduceOp, Shape};
use crate::ir::scalar::identity_bits;
use crate::ir::var::{Kind, VarId, Variable};

impl Recorder<'_> {
    /// Records `op` as a user means it: operands promoted to a common type (S7), `/` of integers as
    /// true division, `%` of floats as C's fmod, `&` and `|` of numbers with masks as selections.
    ///
    /// # Errors
    /// `SizeMismatch`, `TypeMismatch` or `UnsupportedType`; nothing is recorded then.
    pub fn elementwise(&mut self, op: Op, args: &[VarId]) -> Result<VarId> {
        debug_assert_eq!(args.len(), op.arity(), "internal error: arity of {op:?}");
        match (op.info().shape, args) {
            (Shape::Select, &[mask, a, b]) => self.select(mask, a, b),
            (Shape::Special, _) => Err(Error::UnsupportedType {
                op: op.name(),
                dtype: self.dtype(args[0]),
                expected: "a target type",
            }),
            (_, &[x]) => self.unary(op, x),
            (_, &[a, b]) => self.binary(op, a, b),
            _ => {
                self.broadcast(|| op.spelling(), args)?;
                let dtype = self.common_type(op, args)?;
                let mut operands = [args[0]; 3];
                for (operand, &arg) in operands.iter_mut().zip(args) {
                    *operand = self.cast(arg, dtype)?;
                }
                self.same(op, &operands[..args.len()])
            }
        }
    }

    /// Where lanes are near: `|a − b| ≤ atol + rtol·|b|`, or equal, or (if `equal_nan`) both NaN.
    ///
    /// # Errors
    /// `SizeMismatch`, `TypeMismatch`.
    pub fn isclose(
        &mut self,
        args: [VarId; 2],
        [rtol, atol]: [f64; 2],
        equal_nan: bool,
    ) -> Result<VarId> {
        let (op, [lhs, rhs]) = ("allclose", args.map(|x| self.dtype(x)));
        let dtype = lhs.promote(rhs).ok_or(Error::TypeMismatch { op, lhs, rhs })?.quotient();
        if lhs == DType::Mask {
            return self.elementwise(Op::Eq, &args);
        }
        let [rtol, atol] = [rtol, atol].map(|number| self.number_for(dtype, number.into()));
        let args = [args[0], args[1], rtol?, atol?];
        let close = self.call_all(op, &[equal_nan.into()], &args, |recorder, args| {
            // Equal as what they are: conversion rounds large integers.
            let same = recorder.elementwise(Op::Eq, &args[..2])?;
            let near = recorder.expand(op, args, |x| {
                let (a, b) = (x[0].cast(dtype), x[1].cast(dtype));
                let allowed = b.abs().fma(x[2], x[3]);
                // Infinity allows any distance.
                let is_near = (a - b).abs().le(allowed) & b.abs().lt(b.constant(f64::INFINITY));
                if equal_nan { is_near | (a.neq(a) & b.neq(b)) } else { is_near }
            })?;
            Ok(vec![recorder.same(Op::Or, &[near, same])?])
        })?;
        Ok(close[0])
    }

    fn unary(&mut self, op: Op, x: VarId) -> Result<VarId> {
        let dtype = self.dtype(x);
        let float = match op {
            // The float functions take integers too, as their float.
            Op::Sqrt if dtype.is_int() => self.cast(x, dtype.quotient())?,
            // Integers are their own rounding.
            Op::Floor | Op::Ceil | Op::Round | Op::Trunc if dtype.is_int() => return Ok(x),
            _ => x,
        };
        self.same(op, &[float])
    }

    fn binary(&mut self, op: Op, a: VarId, b: VarId) -> Result<VarId> {
        let size = self.broadcast(|| op.spelling(), &[a, b])?;
        let (ta, tb) = (self.dtype(a), self.dtype(b));
        // What most recordings are: operands that the operation takes as they come.
        if ta == tb && op.info().class.contains(ta) {
            return Ok(self.intern_sized(op, result_type(op, ta), size, &[a, b]));
        }
        match op {
            Op::And | Op::Or if ta.is_int() && tb == DType::Mask => self.mask_number(op, a, b),
            Op::And | Op::Or if tb.is_int() && ta == DType::Mask => self.mask_number(op, b, a),
            Op::And if ta.is_float() && tb == DType::Mask => self.mask_number(op, a, b),
            Op::And if tb.is_float() && ta == DType::Mask => self.mask_number(op, b, a),
            Op::Eq | Op::Ne if ta == DType::Mask && tb == DType::Mask => {
                let different = self.same(Op::Xor, &[a, b])?;
                if op == Op::Ne { Ok(different) } else { self.same(Op::Not, &[different]) }
            }
            Op::Shl | Op::Shr => self.shift(op, a, b),
            Op::Div => {
                let dtype = self.common_type(op, &[a, b])?.quotient();
                let (a, b) = (self.cast(a, dtype)?, self.cast(b, dtype)?);
                self.same(op, &[a, b])
            }
            Op::Rem => {
                let dtype = self.common_type(op, &[a, b])?;
                let (a, b) = (self.cast(a, dtype)?, self.cast(b, dtype)?);
                if dtype.is_float() {
                    self.call("%", &[a, b], |recorder, args| recorder.remainder(args))
                } else {
                    self.same(op, &[a, b])
                }
            }
            _ => {
                let dtype = self.common_type(op, &[a, b])?;
                let (a, b) = (self.cast(a, dtype)?, self.cast(b, dtype)?);
                self.same(op, &[a, b])
            }
        }
    }

    fn remainder(&mut self, args: &[VarId]) -> Result<VarId> {
        let dtype = self.dtype(args[0]);
        // Exact in f32, and the remainder of two f16 is one.
        let wide = if dtype.is_half() { DType::F32 } else { dtype };
        let args = [self.cast(args[0], wide)?, self.cast(args[1], wide)?];
        let remainder = self.expand("%", &args, |x| fmod::fmod(x[0], x[1]))?;
        self.cast(remainder, dtype)
    }

    /// `mask ? a : b`, values promoted to their common type.
    ///
    /// # Errors
    /// `UnsupportedType` if `mask` is not a mask, else as [`Recorder::elementwise`].
    pub fn select(&mut self, mask: VarId, a: VarId, b: VarId) -> Result<VarId> {
        self.broadcast(|| "select", &[mask, a, b])?;
        if self.dtype(mask) != DType::Mask {
            return Err(Error::UnsupportedType {
                op: "select",
                dtype: self.dtype(mask),
                expected: "a mask first, select(mask, a, b)",
            });
        }
        let dtype = self.common_type(Op::Select, &[a, b])?;
        let (a, b) = (self.cast(a, dtype)?, self.cast(b, dtype)?);
        self.with_type(Op::Select, dtype, &[mask, a, b])
    }

    /// `x` as another type: numbers as [`Op::Cast`], masks as 1 and 0, numbers to a mask as `x != 0`.
    ///
    /// # Errors
    /// None at present; conversions between all types exist.
    pub fn cast(&mut self, x: VarId, dtype: DType) -> Result<VarId> {
        let from = self.dtype(x);
        if from == dtype {
            return Ok(x);
        }
        if let (Some(bits), true) =
            (self.var(x).kind.number(), from.is_number() && dtype.is_number())
        {
            return Ok(self.cast_number(x, bits, dtype));
        }
        if from == DType::Mask {
            let one = self.one(dtype);
            let zero = self.constant(dtype, 0);
            return self.with_type(Op::Select, dtype, &[x, one, zero]);
        }
        if dtype == DType::Mask {
            let zero = self.constant(from, 0);
            return self.with_type(Op::Ne, DType::Mask, &[x, zero]);
        }
        self.with_type(Op::Cast, dtype, &[x])
    }

    /// The same bits as another type of the same width.
    ///
    /// # Errors
    /// `Argument` if the widths differ or a mask is involved.
    pub fn reinterpret(&mut self, x: VarId, dtype: DType) -> Result<VarId> {
        let from = self.dtype(x);
        if from == dtype {
            return Ok(x);
        }
        if !from.is_number() || !dtype.is_number() {
            let (from, to) = (from.script_name(), dtype.script_name());
            let what = format!("{from} and {to} share no bits: a mask is converted, {to}(x)");
            return Err(Error::Argument { op: "reinterpret", what });
        }
        if from.bytes() != dtype.bytes() {
            return Err(Error::Argument {
                op: "reinterpret",
                what: format!(
                    "{} has {} bits and {} has {}; the widths must agree",
                    from.script_name(),
                    from.bits(),
                    dtype.script_name(),
                    dtype.bits()
                ),
            });
        }
        self.with_type(Op::Reinterpret, dtype, &[x])
    }

    /// Records `op` on operands that already have its type.
    ///
    /// # Errors
    /// `UnsupportedType` if the operation does not take that type, `SizeMismatch`.
    pub fn same(&mut self, op: Op, args: &[VarId]) -> Result<VarId> {
        let info = op.info();
        let dtype = self.dtype(args[0]);
        if !info.class.contains(dtype) {
            return Err(Error::UnsupportedType {
                op: op.spelling(),
                dtype,
                expected: info.class.expected_for(dtype),
            });
        }
        self.with_type(op, result_type(op, dtype), args)
    }

    /// Records `op`, whose result has this type.
    ///
    /// # Errors
    /// `SizeMismatch`.
    pub(super) fn with_type(&mut self, op: Op, dtype: DType, args: &[VarId]) -> Result<VarId> {
        let size = self.broadcast(|| op.spelling(), args)?;
        Ok(self.intern_sized(op, dtype, size, args))
    }

    #[inline(always)]
    fn intern_sized(&mut self, op: Op, dtype: DType, size: u64, args: &[VarId]) -> VarId {
        if self.settings.fold
            && let Some(id) = identities::simplify(self, op, dtype, size, args)
        {
            return id;
        }
        let mut operands = [None; 4];
        for (operand, &arg) in operands.iter_mut().zip(args) {
            *operand = Some(arg);
        }
        self.add(Variable::new(Kind::Op(op), dtype, size, operands))
    }

    fn common_type(&self, op: Op, args: &[VarId]) -> Result<DType> {
        let mut dtype = self.dtype(args[0]);
        for &arg in &args[1..] {
            let other = self.dtype(arg);
            let mismatch = || Error::TypeMismatch { op: op.spelling(), lhs: dtype, rhs: other };
            dtype = dtype.promote(other).ok_or_else(mismatch)?;
        }
        let class = op.info().class;
        // `/` and `%` take both kinds of numbers: integers divide as floats, floats have their remainder.
        let class = if matches!(op, Op::Div | Op::Rem) { Class::Number } else { class };
        if !class.contains(dtype) {
            let is_order = op.info().shape == Shape::Compare;
            let expected = if is_order { class.describe() } else { class.expected_for(dtype) };
            return Err(Error::UnsupportedType { op: op.spelling(), dtype, expected });
        }
        Ok(dtype)
    }

    /// `x & m` is `select(m, x, 0)`; `x | m` is `select(m, all ones, x)` (S7).
    fn mask_number(&mut self, op: Op, x: VarId, mask: VarId) -> Result<VarId> {
        let dtype = self.dtype(x);
        if op == Op::And {
            let zero = self.constant(dtype, 0);
            return self.with_type(Op::Select, dtype, &[mask, x, zero]);
        }
        let ones = self.constant(dtype, u64::MAX >> (64 - dtype.bits()));
        self.with_type(Op::Select, dtype, &[mask, ones, x])
    }

    /// Shifts keep the left type; the count, taken as unsigned, is capped at the width before it takes
    /// that type, so that a large count never wraps into a small one.
    fn shift(&mut self, op: Op, a: VarId, count: VarId) -> Result<VarId> {
        let (dtype, from) = (self.dtype(a), self.dtype(count));
        if !dtype.is_int() {
            let (op, expected) = (op.spelling(), "an array of integers");
            return Err(Error::UnsupportedType { op, dtype, expected });
        }
        if !from.is_int() {
            return Err(Error::UnsupportedType {
                op: op.spelling(),
                dtype: from,
                expected: "an integer shift count",
            });
        }
        if dtype == from {
            return self.same(op, &[a, count]);
        }
        let unsigned = self.reinterpret(count, from.unsigned())?;
        let width = self.constant(from.unsigned(), u64::from(dtype.bits()));
        let capped = self.with_type(Op::Min, from.unsigned(), &[unsigned, width])?;
        let count = self.cast(capped, dtype)?;
        self.same(op, &[a, count])
    }

    /// A number known while recording converts while recording: it stays a literal (S7).
    fn cast_number(&mut self, x: VarId, bits: u64, dtype: DType) -> VarId {
        let variable = self.var(x);
        let bits = crate::ir::scalar::apply_bits(Op::Cast, dtype, variable.dtype, [bits, 0, 0]);
        let kind = match variable.kind {
            Kind::Constant(_) => Kind::Constant(bits),
            _ => Kind::Literal(bits),
        };
        let size = variable.size;
        self.add(Variable::new(kind, dtype, size, [None; 4]))
    }

    pub(super) fn one(&mut self, dtype: DType) -> VarId {
        let bits = identity_bits(ReduceOp::Prod, dtype);
        self.constant(dtype, bits)
    }
}

/// The type of what `op` makes of operands of type `dtype`.
#[inline]
fn result_type(op: Op, dtype: DType) -> DType {
    match op {
        _ if op.info().shape == Shape::Compare => DType::Mask,
        Op::BitsAnyNan => dtype.unsigned(),
        _ => dtype,
    }
}
