//! What multiplies and adds in one operation, of matrices, complex numbers and quaternions: what their operators say,
//! one after the other.

use porcini_core::ir::op::Op;
use porcini_core::{Array, Error, Operand, Result as CoreResult, Scalar};

use super::{Arg, ArrayRef, Kind, Result, has, map};
use crate::fault::IntoFault;

type Formula = fn(&Arg, &Arg, &Arg) -> Result<ArrayRef>;

const FORMULAS: [(&str, Formula); 6] = [
    ("fma", |a, b, c| plus(&product(a, b)?, c)),
    ("fmadd", |a, b, c| plus(&product(a, b)?, c)),
    ("fmsub", |a, b, c| minus(&product(a, b)?, c)),
    ("fnmadd", |a, b, c| minus(c, &product(a, b)?)),
    ("fnmsub", |a, b, c| minus(&negative(&product(a, b)?)?, c)),
    ("lerp", |a, b, t| {
        let way = Arg::Value(minus(b, a)?);
        plus(&product(t, &way)?, a)
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
        formula(&a, b, c)
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

fn product(a: &Arg, b: &Arg) -> Result<Arg> {
    apply(Op::Mul, &[a.clone(), b.clone()]).map(Arg::Value)
}

fn negative(a: &Arg) -> Result<Arg> {
    apply(Op::Neg, std::slice::from_ref(a)).map(Arg::Value)
}

fn plus(a: &Arg, b: &Arg) -> Result<ArrayRef> {
    apply(Op::Add, &[a.clone(), b.clone()])
}

fn minus(a: &Arg, b: &Arg) -> Result<ArrayRef> {
    apply(Op::Sub, &[a.clone(), b.clone()])
}

fn apply(op: Op, args: &[Arg]) -> Result<ArrayRef> {
    let symbol = op.info().operator.unwrap_or("-");
    map(symbol, args, &|operands| on_leaves(op, operands))
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
