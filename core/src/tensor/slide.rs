//! An array moved along another: the sums of products wherever it lies, of which convolutions are made (S26).

use super::product::products_by;
use super::rearrange::alike;
use super::reduce::FEW;
use super::{Parts, Shape, Tensor};
use crate::array::Array;
use crate::array::rules::Derivative;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::ir::op::Op;
use crate::ir::primitive::lane_number_type;

/// Products that are added up in a turn of the loop, before all sums meet them.
const TOGETHER: u64 = 8;

impl Tensor {
    /// The sums of products of another array with as many neighbours, from each entry on that has them. Both have one axis.
    /// Recorded, not run; no memory is taken but for the sums.
    ///
    /// # Errors
    /// `Argument` if the other one is longer, or empty; `UnsupportedType` for masks; `TypeMismatch`.
    pub(crate) fn slid(&self, op: &'static str, other: &Self) -> Result<Self> {
        let m = other.shape().n_entries();
        let windows = self.windows(op, m)?;
        if m <= FEW || self.dtype() == DType::Mask || other.dtype() == DType::Mask {
            return windows.matmul(other);
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
    let value = long.session().no_grad(|| added_up(long, short))?;
    value.with_derivative("convolve", &[long, short], Slid)
}

/// [`sums`] in a loop that every lane goes through; what is left of the last turn is added behind it.
fn added_up(long: &Array, short: &Array) -> Result<Array> {
    let (session, dtype) = (long.session(), long.dtype());
    let (m, n) = (short.size(), long.size() - short.size() + 1);
    let counter = lane_number_type(long.size());
    let lane = session.arange(counter, 0.into(), Scalar::UInt(n), 1.into())?;
    let add_product = |sum: &Array, place: &Array, tap: &Array| {
        let (a, b) = (long.places(place)?, short.places(tap)?);
        match dtype.is_float() {
            true => a.apply(Op::Fma, &[(&b).into(), sum.into()]),
            // Products wrap in their own type, and their sum in its.
            false => a.try_mul(&b)?.cast(sum.dtype())?.try_add(sum),
        }
    };
    let total = dtype.accumulated();
    let zero = session.zeros(total, 1)?;
    let end = m / TOGETHER * TOGETHER;
    let states = [session.zeros(total, n)?, session.zeros(counter, 1)?];
    let after = session.while_loop(
        &states,
        |states| states[1].lt(Scalar::UInt(end)),
        |states| {
            let (mut part, mut tap) = (zero.clone(), states[1].clone());
            for _ in 0..TOGETHER {
                part = add_product(&part, &lane.try_add(&tap)?, &tap)?;
                tap = tap.try_add(1)?;
            }
            Ok::<_, Error>(vec![states[0].try_add(&part)?, tap])
        },
    )?;
    (end..m).try_fold(after[0].clone(), |sum, tap| {
        let tap = session.full(counter, Scalar::UInt(tap), 1)?;
        add_product(&sum, &lane.try_add(&tap)?, &tap)
    })
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
