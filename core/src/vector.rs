//! Geometry of small vectors of arrays (structure of arrays).
//!
//! **Accuracy**: sums run over the components in order, without fma.

use crate::array::Array;
use crate::error::{Error, Result};
use crate::nested::{Form, call};

/// `sum of a[k] * b[k]` over the components, lane by lane.
///
/// # Errors
/// `Argument` if the vectors have different or no components; `SizeMismatch`, `TypeMismatch`.
pub fn dot(a: &[Array], b: &[Array]) -> Result<Array> {
    scalar("dot", &[a, b])
}

/// Squared Euclidean length.
///
/// # Errors
/// As [`dot`].
pub fn squared_norm(v: &[Array]) -> Result<Array> {
    scalar("squared_norm", &[v])
}

/// Euclidean length.
///
/// # Errors
/// As [`dot`].
pub fn norm(v: &[Array]) -> Result<Array> {
    scalar("norm", &[v])
}

/// The vector divided by its length.
///
/// # Errors
/// As [`dot`].
pub fn normalize(v: &[Array]) -> Result<Vec<Array>> {
    vectors("normalize", &[v])
}

/// Cross product of two vectors of three components.
///
/// # Errors
/// `Argument` if there are not three components; `SizeMismatch`, `TypeMismatch`.
pub fn cross(a: &[Array], b: &[Array]) -> Result<Vec<Array>> {
    vectors("cross", &[a, b])
}

fn vectors(op: &'static str, args: &[&[Array]]) -> Result<Vec<Array>> {
    if args.iter().any(|arg| arg.is_empty()) {
        return Err(Error::Argument { op, what: "vectors without components".into() });
    }
    let values: Vec<(Form, &[Array])> =
        args.iter().map(|arg| (Form::Vector(arg.len()), *arg)).collect();
    call(op, &values)
}

fn scalar(op: &'static str, args: &[&[Array]]) -> Result<Array> {
    let mut results = vectors(op, args)?;
    Ok(results.remove(0))
}
