//! What multiplies and adds in one operation, of matrices, complex numbers and quaternions: what their operators say,
//! one after the other.

use porcini_core::ir::op::Op;
use porcini_core::{Array, Error, Operand, Result as CoreResult, Scalar};

use super::{Arg, ArrayRef, Kind, Result, has, map};
use crate::fault::{IntoFault, renamed};

type Formula = fn(&Steps<'_>, &Arg, &Arg, &Arg) -> Result<ArrayRef>;

const FORMULAS: [(&str, Formula); 6] = [
    ("fma", |steps, a, b, c| steps.plus(&steps.product(a, b)?, c)),
    ("fmadd", |steps, a, b, c| steps.plus(&steps.product(a, b)?, c)),
    ("fmsub", |steps, a, b, c| steps.minus(&steps.product(a, b)?, c)),
    ("fnmadd", |steps, a, b, c| steps.minus(c, &steps.product(a, b)?)),
    ("fnmsub", |steps, a, b, c| steps.minus(&steps.negative(&steps.product(a, b)?)?, c)),
    ("lerp", |steps, a, b, t| {
        let way = Arg::Value(steps.minus(b, a)?);
        steps.plus(&steps.product(t, &way)?, a)
    }),
];

/// `None` for another operation, or where all values are plain arrays, vectors of them and numbers.
pub(super) fn in_steps(op: &str, args: &[Arg]) -> Option<Result<ArrayRef>> {
    let [a, b, c] = args else { return None };
    let (_, formula) = FORMULAS.iter().find(|(name, _)| *name == op)?;
    args.iter().any(has_numbers).then(|| {
        let a = match (a, b, c) {
            (Arg::Number(number), Arg::Number(_), Arg::Value(beside)) => like(*number, beside)?,
            _ => a.clone(),
        };
        formula(&Steps { op }, &a, b, c)
    })
}

fn has_numbers(arg: &Arg) -> bool {
    let is_number = |kind| kind != Kind::Vector;
    matches!(arg, Arg::Value(value) if value.kind().is_some_and(is_number) || has(value, is_number))
}

/// Two script numbers meet in the type of what is beside them.
fn like(number: Scalar, beside: &ArrayRef) -> Result<Arg> {
    let leaves = beside.leaves();
    let leaf = leaves.first().ok_or_else(no_array).or_fault()?;
    let number = leaf.session().full(leaf.dtype(), number, 1).or_fault()?;
    Ok(Arg::Value(ArrayRef::leaf(number)))
}

/// Operators in the name of the operation that needs them.
struct Steps<'a> {
    op: &'a str,
}

impl Steps<'_> {
    fn product(&self, a: &Arg, b: &Arg) -> Result<Arg> {
        self.apply(Op::Mul, &[a.clone(), b.clone()]).map(Arg::Value)
    }

    fn negative(&self, a: &Arg) -> Result<Arg> {
        self.apply(Op::Neg, std::slice::from_ref(a)).map(Arg::Value)
    }

    fn plus(&self, a: &Arg, b: &Arg) -> Result<ArrayRef> {
        self.apply(Op::Add, &[a.clone(), b.clone()])
    }

    fn minus(&self, a: &Arg, b: &Arg) -> Result<ArrayRef> {
        self.apply(Op::Sub, &[a.clone(), b.clone()])
    }

    fn apply(&self, op: Op, args: &[Arg]) -> Result<ArrayRef> {
        let symbol = op.info().operator.unwrap_or("-");
        map(symbol, args, &|operands| on_leaves(op, operands))
            .map_err(|error| renamed(error, symbol, self.op))
    }
}

fn on_leaves(op: Op, operands: &[Operand<'_>]) -> CoreResult<Array> {
    let array = operands.iter().find_map(|operand| match operand {
        Operand::Array(array) => Some(array.session()),
        Operand::Number(_) => None,
    });
    array.ok_or_else(no_array)?.apply(op, operands)
}

fn no_array() -> Error {
    Error::Argument { op: "fma", what: "got no arrays, expected one".into() }
}
