//! Shapes of values, parts of vectors and matrices, and functions of vectors whose results depend on an integer.

use super::{Answer, Call, Kind, Row, table};
use crate::array::Array;
use crate::array::Operand;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::random::philox4x32;
use crate::value::entries::{morton_decode, morton_encode, spherical_harmonics};
use crate::value::{Argument, Value, alike, lift};

table! {
    /// What says how large values are, and has their parts.
    pub SHAPES;
    /// Number of lanes of an array, of components of a vector.
    ///
    /// >> len(FloatC([1, 2, 3]))
    /// 3
    len(x: Value) = |c| {
        let n = c.args[0].components().len() as u64;
        let lanes = || c.args[0].lanes().unwrap_or(0);
        Ok::<_, Error>(Scalar::UInt(if c.args[0].is_nested() { n } else { lanes() }))
    };
    /// Extents as a list, components first: of a matrix columns, rows, lanes.
    ///
    /// >> shape(Vector3fC(FloatC::arange(5)))
    /// [3, 5]
    shape(x: Value) = |c| shape(c);
    /// Entry in row i and column j of a matrix, as m[[i, j]]; writes to it are seen in the matrix.
    ///
    /// >> coeff(Matrix2fC([[1, 2], [3, 4]]), 0, 1)
    /// [2]
    coeff(m: Value, i: Integer, j: Integer) = |c| {
        let place = c.matrix(0)?.entry(c.integer(1)?, c.integer(2)?);
        place.map(|place| Answer::Parts(vec![place.into()]))
    };
    /// Column j of a matrix, as m[j].
    ///
    /// >> col(Matrix2fC([[1, 2], [3, 4]]), 0)
    /// [[1, 3]]
    col(m: Value, j: Integer) = |c| {
        let column = c.matrix(0)?.position(c.integer(1)?);
        column.map(|column| Answer::Parts(vec![vec![column]]))
    };
    /// Row i of a matrix, a vector of its entries.
    ///
    /// >> row(Matrix2fC([[1, 2], [3, 4]]), 0)
    /// [[1, 2]]
    row(m: Value, i: Integer) = |c| {
        let (columns, i) = (c.matrix(0)?.components().iter().enumerate(), c.integer(1)?);
        let entries = columns.map(|(j, column)| Ok(vec![j, column.position(i)?]));
        entries.collect::<Result<_>>().map(Answer::Parts)
    };
}

table! {
    /// What takes vectors apart and puts them together.
    pub VECTORS;
    /// The first n components of a vector, as v[0..n].
    ///
    /// >> head(Vector3fC(1, 2, 3), 2)
    /// [[1, 2]]
    head(v: Value, n: Integer) = |c| part(c, |_, n| 0..n);
    /// The last n components of a vector, as v[-n..].
    ///
    /// >> tail(Vector3fC(1, 2, 3), 2)
    /// [[2, 3]]
    tail(v: Value, n: Integer) = |c| part(c, |all, n| all - n..all);
    /// A vector of the components of v and then of w; a plain array or number is one component.
    ///
    /// >> concat(Vector3fC(1, 2, 3), 4)
    /// [[1, 2, 3, 4]]
    concat(v: Value, w: Operand) = |c| concat(c);
    /// Real spherical harmonics of the unit vector d up to an order from 0 to 9, with Enoki's signs: a list in which
    /// Y[l, m] is at place l * l + l + m. Normalised Legendre polynomials by their recurrence over l, times a part of
    /// (x + iy)^m. At most 32 ulp of the largest value of the same l.
    ///
    /// >> sh_eval(Vector3fC(0, 0, 1), 1)
    /// [[0.282095], [-0], [0.488603], [-0]]
    sh_eval(d: Value, order: Count("an integer")) = |c| {
        let order = c.integer(1)?;
        lift(c.op, &c.vector(0)?, &|d| spherical_harmonics(&arrays(d), order))
    };
    /// Four random words a lane, Philox4x32-10: of four words of a counter and two of a key, which may be any; equal ones
    /// give equal words, on every device. Recorded, not run.
    ///
    /// >> philox4x32(Vector4uC(UInt32C::arange(2), 0, 0, 0), Vector2uC(7, 0))
    /// [[4099963437, 3221879260, 490388034, 367897730],
    ///  [1747881627, 3415718931, 737869675, 4113952422]]
    philox4x32(counter: Value, key: Value) = |c| {
        let (counter, key) = (c.vector(0)?, c.vector(1)?);
        let n = counter.len();
        let words = |words: &[Operand<'_>]| {
            let words = arrays(words);
            let (counter, key) = words.split_at(n.min(words.len()));
            philox4x32(counter, key)
        };
        lift(c.op, &[counter, key].concat(), &words).map(Value::of_known_vector)
    };
    /// Morton code of the integer components of a vector: bit i of component k becomes bit i * n + k; of w bits the
    /// lowest w / n are kept.
    ///
    /// >> morton_encode(Vector2uC(3, 4))
    /// [37]
    morton_encode(v: Value) = |c| {
        let code = |parts: &[Operand<'_>]| Ok(vec![morton_encode(&arrays(parts))?]);
        Ok::<Value, Error>(lift(c.op, &c.vector(0)?, &code)?.remove(0))
    };
    /// The vector of n components (1 to 4) that morton_encode made a code of.
    ///
    /// >> morton_decode(UInt32C(37), 2)
    /// [[3, 4]]
    morton_decode(code: Value, n: Count("an integer")) = |c| {
        let n = c.integer(1)?;
        lift(c.op, &c.args[..1], &|code| match code {
            [Operand::Array(code)] => morton_decode(code, n),
            _ => Ok(Vec::new()),
        })
        .map(Value::of_known_vector)
    };
}

fn shape(c: &Call<'_, '_>) -> Result<Vec<Scalar>> {
    let x = c.args[0];
    let lanes = x.lanes().ok_or_else(|| {
        let sizes: Vec<String> = x.leaves().iter().map(|leaf| leaf.size().to_string()).collect();
        let what = format!("{}: the components have different sizes: {}", c.op, sizes.join(", "));
        Error::Forms { what, remedy: Some("components need equal sizes, or size 1") }
    })?;
    let extents = x.extents().into_iter().map(|n| n as u64);
    Ok(extents.chain([lanes]).map(Scalar::UInt).collect())
}

/// The components of a vector in a range, which depends on how many there are and the number given.
fn part(c: &Call<'_, '_>, range: fn(usize, usize) -> std::ops::Range<usize>) -> Result<Value> {
    c.vector(0)?;
    let components = c.value(0)?.into_components();
    let all = components.len();
    let n = c.integer(1).ok().filter(|n| (1..=all).contains(n));
    let expected =
        || Error::forms(format!("{}: expected a number of components from 1 to {all}", c.op));
    Ok(Value::of_known_vector(components[range(all, n.ok_or_else(expected)?)].to_vec()))
}

fn concat(c: &Call<'_, '_>) -> Result<Value> {
    let mut components = c.vector(0).map_err(|error| match error {
        Error::Forms { what, .. } => {
            Error::Forms { what, remedy: Some("arrays go in a list: concat([x, y])") }
        }
        other => other,
    })?;
    let number = match c.args[1] {
        Argument::Number(w) => {
            let dtype = c.args[0].dtype().unwrap_or(DType::F32);
            Some(c.session.full(dtype, *w, 1)?)
        }
        _ => None,
    };
    let number = number.as_ref().map(Argument::Array);
    match number.as_ref().unwrap_or(c.args[1]) {
        Argument::Nested(_, parts) => components.extend(parts),
        w => components.push(w),
    }
    alike(c.op, &components).map(Value::of_known_vector)
}

/// The arrays among operands of which none is a number.
fn arrays(operands: &[Operand<'_>]) -> Vec<Array> {
    let array = |operand: &Operand<'_>| match operand {
        Operand::Array(array) => Some((*array).clone()),
        Operand::Number(_) => None,
    };
    operands.iter().filter_map(array).collect()
}
