//! What multiplies and adds in one operation, of matrices, complex numbers and quaternions: what their operators say,
//! one after the other.

use super::argument::Argument;
use super::map::{apply, meaning};
use super::{Form, Value};
use crate::array::Array;
use crate::dtype::Scalar;
use crate::error::{Error, Result};
use crate::ir::op::{Op, Parts};

type Formula = fn(&Argument<'_>, &Argument<'_>, &Argument<'_>) -> Result<Value>;

fn formula(parts: Parts) -> Option<Formula> {
    Some(match parts {
        Parts::Linear | Parts::Entries | Parts::Whole => return None,
        Parts::MulAdd => |a, b, c| plus(&product(a, b)?, c),
        Parts::MulSub => |a, b, c| minus(&(&product(a, b)?).into(), c),
        Parts::NegMulAdd => |a, b, c| minus(c, &(&product(a, b)?).into()),
        Parts::NegMulSub => |a, b, c| {
            let negative = apply(Op::Neg, &[&(&product(a, b)?).into()])?;
            minus(&(&negative).into(), c)
        },
        Parts::Lerp => |a, b, t| plus(&product(t, &(&minus(b, a)?).into())?, a),
    })
}

/// `None` for another operation, or where all values are arrays, vectors of them and numbers.
pub(super) fn in_steps(op: &str, args: &[&Argument<'_>]) -> Option<Result<Value>> {
    let [a, b, c] = args else { return None };
    let formula = args.iter().any(|arg| has_numbers(arg)).then(|| formula(meaning(op)))??;
    Some(match (a, b) {
        (Argument::Number(number), Argument::Number(_)) => {
            like(*number, c).and_then(|number| formula(&(&number).into(), b, c))
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
