//! An array moved along another: the sums of products wherever it lies, of which convolutions are made (S26). Windows that
//! are moved along axes.

use super::product::products_by;
use super::rearrange::alike;
use super::{Parts, Shape, Tensor};
use crate::array::Array;
use crate::array::rules::Derivative;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};

impl Tensor {
    /// The windows of so many neighbours along axes, or along all: an entry for each place where one fits, and the axes of
    /// the windows behind all others. Nothing is copied or recorded.
    ///
    /// ```
    /// # fn main() -> porcini_core::Result<()> {
    /// # use porcini_core::{Session, tensor::Tensor};
    /// let x = Tensor::from(&Session::new()?.array(&[1, 2, 3, 4])?);
    /// let pairs = x.sliding_window_view(&[2], None)?;
    /// assert_eq!(pairs.to_string(), "[[1, 2],\n [2, 3],\n [3, 4]]");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Argument` if a window is longer than its axis, there is no such axis, or not a number for each.
    pub fn sliding_window_view(&self, window: &[u64], axes: Option<&[i64]>) -> Result<Self> {
        let (op, own) = ("sliding_window_view", self.shape());
        let axes: Vec<usize> = match axes {
            Some(axes) => axes.iter().map(|&axis| own.axis(op, axis)).collect::<Result<_>>()?,
            None => (0..own.rank()).collect(),
        };
        if axes.len() != window.len() {
            let n = axes.len();
            let what = format!(
                "got a window {window:?} for {n} axes of {own}, expected a number for each"
            );
            return Err(Error::Argument { op, what });
        }
        let mut extents = own.extents().to_vec();
        for (&axis, &n) in axes.iter().zip(window) {
            let left = extents[axis].checked_sub(n).ok_or_else(|| {
                let what = format!("got a window of {n} entries for axis {axis} of {own}");
                Error::Argument { op, what: format!("{what}, expected {} at most", extents[axis]) }
            })?;
            extents[axis] = left + 1;
        }
        let places = extents.iter().enumerate().map(|(axis, &n)| (n, vec![axis]));
        let within = axes.iter().zip(window).map(|(&axis, &n)| (n, vec![axis]));
        let axes: Vec<_> = places.chain(within).collect();
        Ok(self.viewed(self.view.together(op, &axes)?))
    }

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
