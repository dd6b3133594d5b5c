//! Small vectors of arrays (structure of arrays): the operations over their components.
//!
//! **Accuracy**: sums run over the components in order, without fma.

use crate::array::Array;
use crate::error::{Error, Result};
use crate::ir::op::Op;

/// `sum of a[k] * b[k]` over the components, lane by lane.
///
/// # Errors
/// `Argument` if the vectors have different or no components; `SizeMismatch`, `TypeMismatch`.
pub fn dot(a: &[Array], b: &[Array]) -> Result<Array> {
    let op = "dot";
    if a.len() != b.len() {
        let what = format!("vectors of {} and {} components", a.len(), b.len());
        return Err(Error::Argument { op, what });
    }
    let products = a.iter().zip(b).map(|(a, b)| a.apply(Op::Mul, &[b.into()]));
    let sum = products.reduce(|sum, product| sum?.apply(Op::Add, &[(&product?).into()]));
    sum.unwrap_or_else(|| Err(Error::Argument { op, what: "vectors without components".into() }))
}

/// Squared Euclidean length.
///
/// # Errors
/// As [`dot`].
pub fn squared_norm(v: &[Array]) -> Result<Array> {
    dot(v, v)
}

/// Euclidean length.
///
/// # Errors
/// As [`dot`].
pub fn norm(v: &[Array]) -> Result<Array> {
    squared_norm(v)?.sqrt()
}

/// The vector divided by its length.
///
/// # Errors
/// As [`dot`].
pub fn normalize(v: &[Array]) -> Result<Vec<Array>> {
    let length = norm(v)?;
    v.iter().map(|component| component.apply(Op::Div, &[(&length).into()])).collect()
}

/// Cross product of two vectors of three components.
///
/// # Errors
/// `Argument` if there are not three components; `SizeMismatch`, `TypeMismatch`.
pub fn cross(a: &[Array], b: &[Array]) -> Result<Vec<Array>> {
    if a.len() != 3 || b.len() != 3 {
        let what = format!("got {} and {} components, expected 3 and 3", a.len(), b.len());
        return Err(Error::Argument { op: "cross", what });
    }
    let minor = |i: usize, j: usize| {
        let (left, right) =
            (a[i].apply(Op::Mul, &[(&b[j]).into()])?, a[j].apply(Op::Mul, &[(&b[i]).into()])?);
        left.apply(Op::Sub, &[(&right).into()])
    };
    Ok(vec![minor(1, 2)?, minor(2, 0)?, minor(0, 1)?])
}
