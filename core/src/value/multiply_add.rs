//! What multiplies and adds in one operation, of matrices, complex numbers and quaternions: what their operators say,
//! one after the other.

use super::argument::Argument;
use super::map::apply;
use super::{Form, Value};
use crate::array::Array;
use crate::dtype::Scalar;
use crate::error::{Error, Result};
use crate::ir::op::Op;

type Formula = fn(&Argument<'_>, &Argument<'_>, &Argument<'_>) -> Result<Value>;

const FORMULAS: [(&str, Formula); 6] = [
    ("fma", |a, b, c| plus(&product(a, b)?, c)),
    ("fmadd", |a, b, c| plus(&product(a, b)?, c)),
    ("fmsub", |a, b, c| minus(&(&product(a, b)?).into(), c)),
    ("fnmadd", |a, b, c| minus(c, &(&product(a, b)?).into())),
    ("fnmsub", |a, b, c| {
        let negative = apply(Op::Neg, &[&(&product(a, b)?).into()])?;
        minus(&(&negative).into(), c)
    }),
    ("lerp", |a, b, t| plus(&product(t, &(&minus(b, a)?).into())?, a)),
];

/// `None` for another operation, or where all values are arrays, vectors of them and numbers.
pub(super) fn in_steps(op: &str, args: &[&Argument<'_>]) -> Option<Result<Value>> {
    let [a, b, c] = args else { return None };
    let (_, formula) = FORMULAS.iter().find(|(name, _)| *name == op)?;
    args.iter().any(|arg| has_numbers(arg)).then(|| match (a, b) {
        (Argument::Number(number), Argument::Number(_)) => {
            formula(&(&like(*number, c)?).into(), b, c)
        }
        _ => formula(a, b, c),
    })
}

fn has_numbers(arg: &Argument<'_>) -> bool {
    let is_number = |form: Form| !form.is_vector();
    arg.is_nested() && is_number(arg.form()) || arg.has(&is_number)
}

/// A number in the type of what is beside it: two of them would have none.
fn like(number: Scalar, beside: &Argument<'_>) -> Result<Array> {
    let none = || Error::Argument { op: "fma", what: "got no arrays, expected one".into() };
    let leaf = *beside.leaves().first().ok_or_else(none)?;
    leaf.session().full(leaf.dtype(), number, 1)
}

fn product(a: &Argument<'_>, b: &Argument<'_>) -> Result<Value> {
    apply(Op::Mul, &[a, b])
}

fn plus(a: &Value, b: &Argument<'_>) -> Result<Value> {
    apply(Op::Add, &[&a.into(), b])
}

fn minus(a: &Argument<'_>, b: &Argument<'_>) -> Result<Value> {
    apply(Op::Sub, &[a, b])
}
