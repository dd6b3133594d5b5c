//! An array moved along another: the sums of products wherever it lies, of which convolutions are made (S26).

use super::product::products_by;
use super::rearrange::alike;
use super::{Parts, Shape, Tensor};
use crate::array::Array;
use crate::array::rules::Derivative;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};

impl Tensor {
    /// The sums of products of another array with as many neighbours, from each entry on that has them. Both have one axis.
    /// Recorded, not run; no memory is taken but for the sums.
    ///
    /// # Errors
    /// `Argument` if the other one is longer, or empty; `UnsupportedType` for masks; `TypeMismatch`.
    pub(crate) fn slid(&self, op: &'static str, other: &Self) -> Result<Self> {
        let windows = self.windows(op, other.shape().n_entries())?;
        if self.dtype() == DType::Mask || other.dtype() == DType::Mask {
            return Err(Error::UnsupportedType { op, dtype: DType::Mask, expected: "numbers" });
        }
        let pair = alike(op, &[self, other])?;
        let (dtype, n) = (pair[0].dtype(), windows.shape().extents()[0]);
        // As products of matrices: halves are added up in f32, and rounded once.
        let own = if dtype.is_float() { dtype.widened() } else { dtype };
        let wide = |tensor: &Self| {
            let entries = tensor.entries()?.into_iter();
            entries.map(|part| part.cast(own)).collect::<Result<Parts>>()
        };
        let (long, short) = (wide(&pair[0])?, wide(&pair[1])?);
        let sums = products_by(&long, &short, sums)?;
        let total = dtype.accumulated();
        let sums: Vec<Array> = sums.iter().map(|part| part.cast(total)).collect::<Result<_>>()?;
        Self::of(sums, Shape::new(op, [n])?)
    }
}

/// Lane i is the sum of `long[i + j] short[j]`.
fn sums(long: &Array, short: &Array) -> Result<Array> {
    let session = long.session();
    let ids = session.ids("convolve", &[long, short])?;
    let value = session.no_grad(|| session.record(|recorder| recorder.slid(ids[0], ids[1])))?;
    value.with_derivative("convolve", &[long, short], Slid)
}

/// The derivative of [`sums`]: sums of the same kind.
struct Slid;

impl Derivative for Slid {
    fn pull(&self, args: &[Array], _value: &Array, v: &Array) -> Result<Vec<Option<Array>>> {
        let (long, short) = (&args[0], &args[1]);
        let v = v.resize(long.size() - short.size() + 1)?;
        let beyond = short.size() - 1;
        let padded = Tensor::from(&v).pad(&[[beyond; 2]], Scalar::Int(0))?.entries()?;
        let turned = Tensor::from(short).flip(None)?.entries()?;
        Ok(vec![Some(sums(&padded[0], &turned[0])?), Some(sums(long, &v)?)])
    }

    fn push(&self, args: &[Array], value: &Array, tangents: &[Option<Array>]) -> Result<Array> {
        let of_long = tangents[0].as_ref().map(|long| sums(long, &args[1])).transpose()?;
        let of_short = tangents[1].as_ref().map(|short| sums(&args[0], short)).transpose()?;
        match (of_long, of_short) {
            (Some(a), Some(b)) => a.try_add(&b),
            (Some(one), None) | (None, Some(one)) => Ok(one),
            (None, None) => value.session().zeros(value.dtype(), value.size()),
        }
    }
}
