//! What operations take: arrays, and numbers that take the arrays' type; and how they are recorded.

use crate::array::Array;
use crate::dtype::{DType, Scalar};
use crate::error::{Result, counted};
use crate::ir::op::Op;
use crate::ir::var::{MAX_OPERANDS, VarId};
use crate::session::Session;
use crate::trace::Recorder;
use crate::trace::functions::{Column, Function};

/// An operand of an operation: another array, or a number that takes the array's type.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// An array.
    Array(&'a Array),
    /// A number.
    Number(Scalar),
}

impl Operand<'_> {
    pub(crate) fn is_number(&self) -> bool {
        matches!(self, Self::Number(_))
    }
}

impl<'a> From<&'a Array> for Operand<'a> {
    fn from(array: &'a Array) -> Self {
        Self::Array(array)
    }
}

impl<T: Into<Scalar>> From<T> for Operand<'_> {
    fn from(number: T) -> Self {
        Self::Number(number.into())
    }
}

/// The variable of a number that joins arrays of type `dtype`.
pub(crate) fn number_variable(
    recorder: &mut Recorder<'_>,
    number: Scalar,
    dtype: Option<DType>,
) -> Result<VarId> {
    match number {
        // A truth value is a mask of one lane; it joins numbers as masks do.
        Scalar::Bool(truth) => Ok(recorder.literal(DType::Mask, u64::from(truth), 1)),
        number => recorder.number_for(dtype.unwrap_or(DType::of(number)), number),
    }
}

/// The variable of an operand; a number joins arrays of type `dtype`.
pub(crate) fn variable(
    recorder: &mut Recorder<'_>,
    operand: Operand<'_>,
    dtype: Option<DType>,
) -> Result<VarId> {
    match operand {
        Operand::Array(array) => Ok(array.id()),
        Operand::Number(number) => number_variable(recorder, number, dtype),
    }
}

/// The type in which numbers join arrays: that of the arrays, promoted; `None` without arrays.
pub(crate) fn common_type(
    operands: &[Operand<'_>],
    dtype: impl Fn(VarId) -> DType,
) -> Option<DType> {
    operands.iter().fold(None, |common: Option<DType>, operand| match operand {
        Operand::Array(array) => {
            let dtype = dtype(array.id());
            Some(common.map_or(dtype, |common| common.promote(dtype).unwrap_or(common)))
        }
        Operand::Number(_) => common,
    })
}

/// Puts the variables of numbers among the `operands` into `ids`. They take the common type of the arrays from `first`
/// on.
fn record_numbers(
    recorder: &mut Recorder<'_>,
    operands: &[Operand<'_>],
    first: usize,
    ids: &mut [VarId],
) -> Result<()> {
    let values = operands.get(first..).unwrap_or_default();
    let dtype = if values.iter().any(Operand::is_number) {
        common_type(values, |id| recorder.dtype(id))
    } else {
        None
    };
    for (id, operand) in ids.iter_mut().zip(operands) {
        if let Operand::Number(number) = *operand {
            *id = number_variable(recorder, number, dtype)?;
        }
    }
    Ok(())
}

impl Session {
    /// Records an elementwise operation; numbers take the arrays' common type (S7).
    ///
    /// # Errors
    /// As [`Array::apply`].
    pub fn apply(&self, op: Op, operands: &[Operand<'_>]) -> Result<Array> {
        counted(|| op.spelling(), operands.len(), op.arity())?;
        if let (Op::Shl | Op::Shr, [value, Operand::Number(Scalar::Int(count))]) = (op, operands)
            && !(0..64).contains(count)
        {
            // Any count of the width or more, or below 0, shifts everything out (S8).
            let operands = [*value, Operand::Number(Scalar::Int(64))];
            return self.with_operands(
                || op.spelling(),
                &operands,
                0,
                |recorder, ids| recorder.elementwise(op, ids),
            );
        }
        // The mask of a selection is no part of the values' common type.
        let first = usize::from(op == Op::Select);
        self.with_operands(
            || op.spelling(),
            operands,
            first,
            |recorder, ids| recorder.elementwise(op, ids),
        )
    }

    /// Records a function; numbers take the arrays' common type (S7).
    ///
    /// # Errors
    /// As [`Array::apply`].
    pub fn call(&self, function: &Function, operands: &[Operand<'_>]) -> Result<Array> {
        counted(|| function.name, operands.len(), function.arity)?;
        let counted;
        let operands = match *operands {
            // Counts are modulo the width; the type of a narrow value may not hold others.
            [value @ Operand::Array(array), Operand::Number(count)]
                if function.has(Column::Count) =>
            {
                let width = array.dtype().bits();
                let count = match count {
                    Scalar::Int(count) => Scalar::Int(count.rem_euclid(width.into())),
                    Scalar::UInt(count) => Scalar::UInt(count % u64::from(width)),
                    other => other,
                };
                counted = [value, Operand::Number(count)];
                &counted
            }
            _ => operands,
        };
        self.with_operands(
            || function.name,
            operands,
            0,
            |recorder, ids| recorder.function(function, ids),
        )
    }

    /// What a function of arrays gives for numbers, each as one lane of its widest type. Evaluates.
    ///
    /// # Errors
    /// What `apply` and evaluation fail with.
    pub fn of_numbers(
        &self,
        numbers: &[Scalar],
        apply: impl FnOnce(&[Operand<'_>]) -> Result<Array>,
    ) -> Result<Scalar> {
        let lanes = numbers.iter().map(|&number| self.full(DType::widest(number), number, 1));
        let lanes = lanes.collect::<Result<Vec<_>>>()?;
        apply(&lanes.iter().map(Operand::Array).collect::<Vec<_>>())?.item(0)
    }

    /// Records what `record` makes of operands: numbers take the common type of the arrays from `first` on, and go where
    /// these are.
    pub(super) fn with_operands(
        &self,
        op: impl Fn() -> &'static str,
        operands: &[Operand<'_>],
        first: usize,
        record: impl FnOnce(&mut Recorder<'_>, &[VarId]) -> Result<VarId>,
    ) -> Result<Array> {
        let mut ids = [VarId::new(0); MAX_OPERANDS];
        let mut with_numbers = false;
        for (id, operand) in ids.iter_mut().zip(operands) {
            match operand {
                Operand::Array(array) if self.is(array.session()) => *id = array.id(),
                Operand::Array(_) => return self.across(op, operands, first, record),
                Operand::Number(_) => with_numbers = true,
            }
        }
        self.record(|recorder| {
            if with_numbers {
                record_numbers(recorder, operands, first, &mut ids)?;
            }
            record(recorder, &ids[..operands.len()])
        })
    }

    /// Arrays of several devices: numbers go where the others are.
    #[cold]
    fn across(
        &self,
        op: impl Fn() -> &'static str,
        operands: &[Operand<'_>],
        first: usize,
        record: impl FnOnce(&mut Recorder<'_>, &[VarId]) -> Result<VarId>,
    ) -> Result<Array> {
        let arrays = operands.iter().filter_map(|operand| match operand {
            Operand::Array(array) => Some(*array),
            Operand::Number(_) => None,
        });
        let home = self.home(arrays);
        let adopted = operands.iter().map(|operand| match operand {
            Operand::Array(array) => home.adopt_number(op(), array).map(Some),
            Operand::Number(_) => Ok(None),
        });
        let adopted = adopted.collect::<Result<Vec<_>>>()?;
        let here = operands.iter().zip(&adopted);
        let here: Vec<Operand<'_>> = here
            .map(|(&operand, adopted)| adopted.as_ref().map_or(operand, Operand::Array))
            .collect();
        home.with_operands(op, &here, first, record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::op::ScatterOp;
    use crate::trace::functions;

    /// A truth value is written as a mask is.
    #[test]
    fn truth_is_no_number() {
        let session = Session::new().unwrap();
        let index = session.array(&[0_u32]).unwrap();
        let mut x = session.array(&[1.0_f32]).unwrap();
        let error = x.scatter(ScatterOp::Add, true, &index, None).unwrap_err();
        let as_mask = x.scatter(ScatterOp::Add, &session.array(&[true]).unwrap(), &index, None);
        assert_eq!(as_mask.unwrap_err(), error);
        let mut mask = session.array(&[false]).unwrap();
        mask.scatter(ScatterOp::Set, true, &index, None).unwrap();
        assert_eq!(mask.to_vec::<bool>().unwrap(), [true]);
    }

    #[test]
    fn operands_are_counted() {
        let session = Session::new().unwrap();
        let x = session.array(&[1.0_f32]).unwrap();
        let is_told = |result: Result<Array>, text: &str| {
            assert_eq!(result.unwrap_err().to_string(), text);
        };
        is_told(x.apply(Op::Add, &[]), "+: got 1 operand, expected 2");
        is_told(x.apply(Op::Add, &[(&x).into(); 9]), "+: got 10 operands, expected 2");
        is_told(session.apply(Op::Add, &[]), "+: got 0 operands, expected 2");
        let lerp = functions::find("lerp").unwrap();
        is_told(x.call(lerp, &[]), "lerp: got 1 operand, expected 3");
        is_told(session.call(lerp, &[(&x).into(); 9]), "lerp: got 9 operands, expected 3");
    }
}
