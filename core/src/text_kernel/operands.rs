//! What operands become where they meet: truth values that are counted, literals beside types, signed integers beside
//! bits that they have not.

use std::borrow::Cow;

use super::item::{Item, folded};
use super::record::Recorder;
use super::trouble::{Span, Trouble};
use crate::array::{Array, Operand};
use crate::dtype::{DType, Scalar};
use crate::error::Error;
use crate::ir::op::{Op, Shape};

impl Recorder<'_> {
    /// Records an operation, or computes it where all is known.
    pub(super) fn apply(&self, op: Op, items: &[Item]) -> Result<Item, Trouble> {
        let items = &*self.counted(op, items)?;
        // The count of a shift is no part of its type.
        let is_shift = matches!(op, Op::Shl | Op::Shr);
        let items = &*if is_shift { Cow::Borrowed(items) } else { self.met(items)? };
        let items = &*self.unsigned(op, items)?;
        let numbers = items.iter().map(|item| match item {
            Item::Number(number, dtype) => Some((*number, *dtype)),
            _ => None,
        });
        if let Some(numbers) = numbers.collect::<Option<Vec<_>>>()
            && let Some(number) = folded(op, &numbers)?
        {
            return Ok(number);
        }
        let result = self.with_operands(items, |operands| self.session.apply(op, operands))?;
        Ok(if items.iter().all(Item::is_literal) { result.of_literals() } else { result })
    }

    /// Operands of which truth values are the numbers 0 and 1 where they meet integers or are computed with, as C has it.
    fn counted<'i>(&self, op: Op, items: &'i [Item]) -> Result<Cow<'i, [Item]>, Trouble> {
        let is_bits = matches!(op, Op::And | Op::Or | Op::Xor);
        let is_compared = op.info().shape == Shape::Compare;
        let is_counted = match op {
            Op::Add | Op::Sub | Op::Mul | Op::Div | Op::IDiv | Op::Rem | Op::Shl | Op::Shr => true,
            Op::Neg | Op::Not | Op::Abs | Op::Min | Op::Max | Op::Minimum | Op::Maximum => true,
            _ => is_compared && !matches!(op, Op::Eq | Op::Ne),
        };
        let of_numbers = || items.iter().filter(|item| !item.is_truth());
        let is_of_floats = is_bits && of_numbers().any(|item| !item.is_integer());
        let is_of_truths = !is_counted && of_numbers().next().is_none();
        if !(is_bits || is_counted || is_compared)
            || is_of_floats
            || is_of_truths
            || !items.iter().any(Item::is_truth)
        {
            return Ok(Cow::Borrowed(items));
        }
        let are_literals = of_numbers().all(Item::is_literal);
        let dtype = of_numbers().find_map(Item::own_dtype).unwrap_or(DType::I32);
        let counted = |item: &Item| match (item.is_truth(), are_literals) {
            (true, true) => Ok(match item.known_truth() {
                Some(truth) => Item::Number(Scalar::Int(truth.into()), None),
                None => item.converted(self.session, dtype)?.of_literals(),
            }),
            (true, false) => item.converted(self.session, dtype),
            (false, _) => Ok(item.clone()),
        };
        Ok(Cow::Owned(items.iter().map(counted).collect::<Result<_, _>>()?))
    }

    /// Operands of which signed ones are unsigned where they meet bits that they have not, as C has it: `x ^ 0x80000000`,
    /// `x * 0x85ebca6b`.
    fn unsigned<'i>(&self, op: Op, items: &'i [Item]) -> Result<Cow<'i, [Item]>, Trouble> {
        let signed = match items {
            [Item::Number(number, None), other] | [other, Item::Number(number, None)] => {
                let own = other.own_dtype().filter(|dtype| dtype.is_int() && dtype.is_signed());
                // Narrower ones are `int` in C.
                let own = own.filter(|dtype| dtype.bytes() >= 4);
                own.filter(|dtype| {
                    dtype.encode(*number).is_err() && dtype.unsigned().encode(*number).is_ok()
                })
            }
            _ => None,
        };
        let is_written = |item: &Item| matches!(item, Item::Number(Scalar::UInt(_), None));
        let is_taken = match op {
            Op::And | Op::Or | Op::Xor => true,
            Op::Add | Op::Sub | Op::Mul => items.iter().any(is_written),
            _ => op.info().shape == Shape::Compare && items.iter().any(is_written),
        };
        match signed.filter(|_| is_taken) {
            None => Ok(Cow::Borrowed(items)),
            Some(dtype) => {
                let unsigned = items.iter().map(|item| match item {
                    Item::Number(number, None) => Ok(Item::Number(*number, None)),
                    item => item.converted(self.session, dtype.unsigned()),
                });
                Ok(Cow::Owned(unsigned.collect::<Result<_, _>>()?))
            }
        }
    }

    /// Operands of which what literals alone made is unsigned beside unsigned integers, as a literal is.
    pub(super) fn met<'i>(&self, items: &'i [Item]) -> Result<Cow<'i, [Item]>, Trouble> {
        if !items.iter().any(|item| matches!(item, Item::Literal(_))) {
            return Ok(Cow::Borrowed(items));
        }
        let typed = items.iter().filter(|item| !item.is_literal()).filter_map(Item::own_dtype);
        let typed = typed.filter(|dtype| *dtype != DType::Mask);
        let common = typed.reduce(|one, other| one.promote(other).unwrap_or(one));
        let Some(dtype) = common.filter(|dtype| dtype.is_int() && !dtype.is_signed()) else {
            return Ok(Cow::Borrowed(items));
        };
        let met = items.iter().map(|item| match item {
            // In C a narrow one becomes an int there.
            Item::Literal(array) if array.dtype().bytes() <= dtype.bytes() => {
                item.converted(self.session, dtype)
            }
            item => Ok(item.clone()),
        });
        Ok(Cow::Owned(met.collect::<Result<_, _>>()?))
    }

    /// Integers as the floats of their quotient, where C's functions are of floats; numbers without a type take that of those.
    pub(super) fn as_floats<'i>(&self, items: Cow<'i, [Item]>) -> Result<Cow<'i, [Item]>, Trouble> {
        let typed = items.iter().filter_map(Item::own_dtype);
        let common = typed.reduce(|one, other| one.promote(other).unwrap_or(one));
        let Some(dtype) = common.filter(|dtype| dtype.is_int()) else { return Ok(items) };
        let floats = items.iter().map(|item| match item {
            Item::Number(_, None) => Ok(item.clone()),
            item => item.converted(self.session, dtype.quotient()),
        });
        Ok(Cow::Owned(floats.collect::<Result<_, _>>()?))
    }

    /// Records something of operands: numbers without a type take that of the arrays.
    pub(super) fn with_operands(
        &self,
        items: &[Item],
        record: impl FnOnce(&[Operand<'_>]) -> Result<Array, Error>,
    ) -> Result<Item, Trouble> {
        let has_arrays = items.iter().any(|item| !matches!(item, Item::Number(_, None)));
        let typed = items.iter().map(|item| match item {
            Item::Number(_, None) if has_arrays => Ok(None),
            item => item.array(self.session).map(Some),
        });
        let typed = typed.collect::<Result<Vec<Option<Array>>, _>>()?;
        let operands = items.iter().zip(&typed).map(|(item, typed)| match (item, typed) {
            (Item::Number(number, _), None) => Operand::Number(*number),
            (_, Some(array)) => Operand::Array(array),
            (_, None) => Operand::Number(Scalar::Int(0)),
        });
        Ok(Item::Array(record(&operands.collect::<Vec<_>>())?))
    }
}

/// Refuses a plain number that shifts all of a narrow integer out to the left, which would be wider in C.
pub(super) fn check_shift(op: Op, items: &[Item]) -> Result<(), Trouble> {
    let (Op::Shl, [shifted, Item::Number(count, None)]) = (op, items) else { return Ok(()) };
    let narrow = shifted.own_dtype().filter(|dtype| dtype.is_int() && dtype.bytes() < 4);
    let Some(dtype) = narrow.filter(|dtype| count.to_f64() >= dtype.bits().into()) else {
        return Ok(());
    };
    let name = dtype.script_name();
    let what = format!("<<: {count} places shift all {} bits of {name} out", dtype.bits());
    let remedy = format!("a narrow integer stays narrow: int(x) << {count}");
    Err(Trouble::new(Span::default(), what).nowhere().with(Some(remedy)))
}
