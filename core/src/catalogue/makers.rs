//! Functions of the types, which make arrays: `FloatC::arange(n)`.

use super::{Answer, Call, Kind, Row, table};
use crate::array::Array;
use crate::dtype::Scalar;
use crate::error::Result;

table! {
    /// What makes an array of a type, see [`Row::call_of`]. A size that is left out is 1.
    pub MAKERS;
    /// n lanes of 0 (default 1), a literal.
    ///
    /// >> FloatC::zero(3)
    /// [0, 0, 0]
    zero(; n: Count("a size")) = |c| full(c, 0, 0);
    /// n lanes of 0 (default 1), a literal.
    ///
    /// >> UInt32C::zeros(2)
    /// [0, 0]
    zeros(; n: Count("a size")) = |c| full(c, 0, 0);
    /// n lanes of 1 (default 1), a literal.
    ///
    /// >> FloatC::ones(3)
    /// [1, 1, 1]
    ones(; n: Count("a size")) = |c| full(c, 1, 0);
    /// n lanes to be written later; they read 0.
    ///
    /// >> FloatC::empty(2)
    /// [0, 0]
    empty(; n: Count("a size")) = |c| full(c, 0, 0);
    /// n lanes of a number, a literal.
    ///
    /// >> FloatC::full(0.5, 3)
    /// [0.5, 0.5, 0.5]
    full(value: Number("as a value"); n: Count("a size")) = |c| full(c, c.scalar(0)?, 1);
    /// n lanes of a number as data in memory, so that kernels do not depend on its value.
    ///
    /// >> FloatC::opaque(0.5, 2)
    /// [0.5, 0.5]
    opaque(value: Number("as a value"); n: Count("a size")) = |c| {
        c.session.opaque(c.dtype(), c.scalar(0)?, c.size(1)?)
    };
    /// start, start + step (default 1) and so on up to but not including stop. What does not fit an integer type is an
    /// error. Recorded.
    ///
    /// >> Int32C::arange(2, 11, 3)
    /// [2, 5, 8]
    arange(start: Number("as a start"), stop: Number("as a stop"); step: Number("as a step")) = |c| {
        let step = c.args.get(2).map_or(Ok(1.into()), |_| c.scalar(2))?;
        c.session.arange(c.dtype(), c.scalar(0)?, c.scalar(1)?, step)
    };
    /// Counts from 0 up to but not including n.
    ///
    /// >> Int32C::arange(3)
    /// [0, 1, 2]
    arange(n: Number("as a stop")) = |c| c.session.arange(c.dtype(), 0.into(), c.scalar(0)?, 1.into());
    /// n numbers at equal distances, both ends exact; one is first. With endpoint false (optional) the last of n + 1 is
    /// left out. Recorded.
    ///
    /// >> FloatC::linspace(0, 1, 5)
    /// [0, 0.25, 0.5, 0.75, 1]
    linspace(
        first: Number("as a first number"), last: Number("as a last one"), n: Count("a size"); endpoint: Bool("as endpoint")
    ) = |c| {
        let (first, last, n) = (c.scalar(0)?, c.scalar(1)?, c.size(2)?);
        if n == 0 || c.args.len() < 4 || c.truth(3)? {
            return Ok(c.session.linspace(c.dtype(), first, last, n)?.into());
        }
        c.session.linspace(c.dtype(), first, last, n.saturating_add(1))?.resize(n)
    };
    /// The same bits as another type of the same width.
    ///
    /// >> UInt32C::reinterpret(FloatC([1]))
    /// [1065353216]
    reinterpret(x: Array) = |c| c.array(0)?.reinterpret(c.dtype());
}

/// Lanes of a number, as many as argument `i` says.
fn full(c: &Call<'_, '_>, number: impl Into<Scalar>, i: usize) -> Result<Array> {
    c.session.full(c.dtype(), number, c.size(i)?)
}
