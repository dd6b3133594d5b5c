//! Derivatives of Fourier transforms, which are linear: tangents are transformed, cotangents go through the adjoint, which
//! is a transform too.

use super::{Shape, Tensor};
use crate::array::Array;
use crate::array::rules::Derivative;
use crate::dtype::Scalar;
use crate::error::Result;
use crate::ir::op::Op;
use crate::linear::fourier::{Length, Transform};

/// The derivative of a part of a transform of rows.
pub(super) struct OfTransform {
    pub(super) op: &'static str,
    pub(super) length: Length,
    /// Of the rows that go in, and of those that come out.
    pub(super) shapes: [Shape; 2],
    pub(super) n_parts: [usize; 2],
    pub(super) part: usize,
}

impl OfTransform {
    /// A transform of another kind, of rows that may be complex.
    fn as_kind(&self, kind: Transform, rows: &Tensor, shape: &Shape) -> Result<Tensor> {
        let length = Length { kind, n: self.length.n };
        Tensor::of(rows.transform(self.op, length, shape)?, shape.clone())
    }

    /// The adjoint of the transform of rows of n complex entries, which is not divided by n.
    fn adjoint(&self, v: &Tensor) -> Result<Tensor> {
        let turned = v.to_complex()?.conjugate()?;
        self.as_kind(Transform::Forward, &turned, turned.shape())?.conjugate()
    }

    /// The entries times what `factor` says of their place in a row of so many.
    fn scaled(rows: &Tensor, factor: impl Fn(u64) -> f64) -> Result<Tensor> {
        let n = rows.shape().extents().last().copied().unwrap_or(0);
        let factors: Vec<f64> = (0..n).map(factor).collect();
        let parts = rows.entries()?.into_iter().map(|part| {
            let factors = part.session().array(&factors)?.cast(part.dtype())?;
            let place = part.session().arange(
                crate::dtype::DType::U64,
                0.into(),
                Scalar::UInt(part.size()),
                1.into(),
            )?;
            let place = place.apply(Op::Rem, &[Scalar::UInt(n.max(1)).into()])?;
            part.try_mul(&factors.gather(&place, None)?)
        });
        Tensor::of(parts.collect::<Result<Vec<_>>>()?, rows.shape().clone())
    }
}

impl Derivative for OfTransform {
    fn pull(&self, args: &[Array], _value: &Array, v: &Array) -> Result<Vec<Option<Array>>> {
        let zeros = v.session().zeros(v.dtype(), v.size())?;
        let mut parts = vec![zeros; self.n_parts[1]];
        parts[self.part] = v.clone();
        let v = Tensor::of(parts, self.shapes[1].clone())?;
        let n = self.length.n;
        let by_n = Scalar::UInt(n).to_f64().recip();
        let adjoint = match self.length.kind {
            Transform::Forward => self.adjoint(&v)?,
            Transform::Inverse => {
                let complex = v.to_complex()?;
                let there = self.as_kind(Transform::Forward, &complex, complex.shape())?;
                Self::scaled(&there, |_| by_n)?
            }
            // The entries that are not given are no part of the sum.
            Transform::Real => {
                let rank = v.shape().rank();
                let mut widths = vec![[0, 0]; rank];
                widths[rank - 1] = [0, n - self.length.of_output()];
                self.adjoint(&v.to_complex()?.pad(&widths, 0.into())?)?
            }
            // Entries that stand for their conjugates too count twice.
            Transform::RealInverse => {
                let there = self.as_kind(Transform::Real, &v, &self.shapes[0])?;
                let is_alone = |k: u64| k == 0 || 2 * k == n;
                Self::scaled(&there, |k| if is_alone(k) { by_n } else { 2.0 * by_n })?
            }
        };
        let found = adjoint.entries()?;
        Ok((0..args.len()).map(|part| found.get(part).cloned()).collect())
    }

    fn push(&self, args: &[Array], _value: &Array, t: &[Option<Array>]) -> Result<Array> {
        let or_zeros = |(arg, t): (&Array, &Option<Array>)| match t {
            Some(t) => Ok(t.clone()),
            None => arg.session().zeros(arg.dtype(), arg.size()),
        };
        let rows = args.iter().zip(t).map(or_zeros).collect::<Result<Vec<_>>>()?;
        let rows = Tensor::of(rows, self.shapes[0].clone())?;
        Ok(rows.transform(self.op, self.length, &self.shapes[1])?.swap_remove(self.part))
    }
}
