//! Vectors, matrices, complex numbers and quaternions of arrays (structure of arrays), as lists of
//! their entries, which [`trace::nested`](crate::trace::nested) orders; see [`value`](crate::value) for the values themselves.

use crate::array::Array;
use crate::array::operand::{Operand, common_type, variable};
use crate::error::{Error, Result};
use crate::ir::op::Class;
use crate::session::Session;
use crate::trace::expr::Expr;
use crate::trace::nested::harmonics::{MAX_ORDER, harmonics};
use crate::trace::nested::{NestedCall, morton};

pub use crate::trace::nested::Form;

/// The entries of the results, from the entries of all arguments; numbers take the arrays' common type. Where
/// [`NestedCall::takes_parts`], parts of complex numbers and quaternions may stand for entries.
///
/// # Errors
/// `Argument` if no entry is an array; `TypeMismatch`, `UnsupportedType`, `SizeMismatch`, `NumberRange`,
/// `ForeignArray`.
pub fn apply(call: NestedCall, entries: &[Operand<'_>]) -> Result<Vec<Array>> {
    let function = call.function();
    record(function.name, function.class, &call.shape(), entries, |entries| call.expand(entries))
}

/// As [`apply`] where entries may be complex: real part, and imaginary part if there is one. The results
/// likewise; all are complex, or none.
///
/// # Errors
/// As [`apply`]; `Argument` for functions without a complex form.
pub fn apply_complex(
    call: NestedCall,
    entries: &[(Operand<'_>, Option<Operand<'_>>)],
) -> Result<Vec<(Array, Option<Array>)>> {
    let function = call.function();
    if !call.takes_complex_entries() {
        let what = "not defined for complex entries".into();
        return Err(Error::Argument { op: function.name, what });
    }
    let flat: Vec<Operand<'_>> =
        entries.iter().flat_map(|&(re, im)| [Some(re), im]).flatten().collect();
    let mut shape = Vec::from(call.shape());
    shape.extend(entries.iter().map(|(_, im)| u64::from(im.is_some())));
    let results = record(function.name, function.class, &shape, &flat, |flat| {
        let mut flat = flat.iter().copied();
        let parts = entries.iter().filter_map(|(_, im)| {
            Some((flat.next()?, if im.is_some() { flat.next() } else { None }))
        });
        let results = call.expand_complex(&parts.collect::<Vec<_>>());
        let complex = results.iter().any(|(_, im)| im.is_some());
        let mut flat = Vec::with_capacity(2 * results.len());
        for (re, im) in results {
            flat.push(re);
            if complex {
                flat.push(im.unwrap_or_else(|| re.constant(0)));
            }
        }
        flat
    })?;
    let n_entries: usize = call.results().map(Form::n_entries).sum();
    let complex = results.len() > n_entries;
    let mut results = results.into_iter();
    let next = || {
        let re = results.next()?;
        Some((re, if complex { results.next() } else { None }))
    };
    Ok(std::iter::from_fn(next).collect())
}

/// Real spherical harmonics of the unit vector `d` up to `order` (0 to 9), with Enoki's signs: `Y[l, m]` at
/// place `l * l + l + m`. The first one is a constant of one lane.
///
/// **Accuracy**: at most 32 ulp of the largest value of the same l.
///
/// # Errors
/// `Argument` if there are not three components or the order is above 9; `TypeMismatch`,
/// `UnsupportedType`, `SizeMismatch`, `ForeignArray`.
pub fn spherical_harmonics(d: &[Array], order: usize) -> Result<Vec<Array>> {
    let op = "sh_eval";
    if d.len() != 3 || order > MAX_ORDER {
        let got = format!("got {} components and order {order}", d.len());
        let what = format!("{got}, expected 3 and an order up to {MAX_ORDER}");
        return Err(Error::Argument { op, what });
    }
    let entries: Vec<Operand<'_>> = d.iter().map(Operand::Array).collect();
    record(op, Class::Float, &[order as u64], &entries, |d| harmonics(d, order))
}

/// The Morton code of integer components: bit i of component k is bit `i * n + k` of the code; of w bits of each the
/// lowest w / n are kept.
///
/// # Errors
/// `Argument` without components; `UnsupportedType`, `SizeMismatch`, `ForeignArray`.
pub fn morton_encode(components: &[Array]) -> Result<Array> {
    let entries: Vec<Operand<'_>> = components.iter().map(Operand::Array).collect();
    Ok(record("morton_encode", Class::Int, &[], &entries, morton::encode)?.remove(0))
}

/// The `n` components of a Morton code, see [`morton_encode`].
///
/// # Errors
/// `Argument` if `n` is not 1 to 4; `UnsupportedType`.
pub fn morton_decode(code: &Array, n: usize) -> Result<Vec<Array>> {
    let op = "morton_decode";
    if !(1..=4).contains(&n) {
        return Err(Error::Argument { op, what: format!("got {n} components, expected 1 to 4") });
    }
    record(op, Class::Int, &[n as u64], &[code.into()], |code| morton::decode(code[0], n))
}

/// Records `recipe` of entries promoted to their common type.
fn record(
    op: &'static str,
    class: Class,
    shape: &[u64],
    entries: &[Operand<'_>],
    recipe: impl for<'r> FnOnce(&[Expr<'r>]) -> Vec<Expr<'r>>,
) -> Result<Vec<Array>> {
    let session = session(op, entries)?;
    session.record_all(|recorder| {
        let dtype = common_type(entries, |id| recorder.dtype(id));
        let ids = entries.iter().map(|&entry| variable(recorder, entry, dtype));
        let ids = ids.collect::<Result<Vec<_>>>()?;
        recorder.expand_many(op, class, shape, &ids, recipe)
    })
}

/// The session of the arrays, which must be one.
fn session(op: &'static str, entries: &[Operand<'_>]) -> Result<Session> {
    let mut arrays = entries.iter().filter_map(|entry| match entry {
        Operand::Array(array) => Some(*array),
        Operand::Number(_) => None,
    });
    let what = || Error::Argument { op, what: "got numbers only, expected arrays".into() };
    let first = arrays.next().ok_or_else(what)?;
    arrays.try_for_each(|array| first.check_session(op, array))?;
    Ok(first.session().clone())
}
