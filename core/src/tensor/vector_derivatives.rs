//! Derivatives of products of matrices and a vector.
//!
//! Gone through backwards sum by sum and entry by entry, they are all products written to where their factors came from. So
//! cotangents go through the matrix as the vector did, the other way round.

use super::{Shape, Tensor};
use crate::array::Array;
use crate::array::rules::Derivative;
use crate::convert::exactly;
use crate::error::Result;
use crate::ir::op::{Op, ReduceOp};

/// The derivative of a product, or of its real or imaginary part.
struct OfVector {
    /// The shape of the matrices, entries of the vector, and the shape of the product.
    shape: Shape,
    vector: u64,
    product: Shape,
    /// Whether the vector stands on the left, and the axis before the last one goes away; else the last one does.
    is_left: bool,
    terms: &'static [Term],
}

/// A product of real factors: a part of the matrices and one of the vector.
struct Term {
    matrix: usize,
    vector: usize,
    is_negative: bool,
}

const fn term(matrix: usize, vector: usize, is_negative: bool) -> Term {
    Term { matrix, vector, is_negative }
}

const WHOLE: &[Term] = &[term(0, 0, false)];
const REAL: &[Term] = &[term(0, 0, false), term(1, 1, true)];
const IMAG: &[Term] = &[term(0, 1, false), term(1, 0, false)];

impl Tensor {
    /// A product of matrices and a vector, on either side, with a derivative of its own; `None` where none is asked for, or
    /// in the body of a loop, which goes through all that it is made of.
    pub(super) fn by_followed_vector(
        &self,
        other: &Self,
        product: impl FnOnce() -> Result<Self>,
    ) -> Result<Option<Self>> {
        let is_left = self.shape().rank() == 1;
        let (vector, matrix) = if is_left { (self, other) } else { (other, self) };
        let parts = || matrix.parts.iter().chain(&vector.parts);
        if matrix.shape().rank() == 1
            || matrix.shape().n_entries() == 0
            || !parts().any(Array::is_followed)
            || parts().any(Array::is_recorded)
        {
            return Ok(None);
        }
        let value = self.parts[0].session().no_grad(product)?;
        // Of what lies column by column the transpose is there.
        let is_turned = matrix.view.is_turned(matrix.parts[0].size()) == Some(true);
        let lying = if is_turned { matrix.matrix_transpose()? } else { matrix.clone() };
        let args: Vec<Array> = lying.entries()?.into_iter().chain(vector.entries()?).collect();
        let args: Vec<&Array> = args.iter().collect();
        let terms = if value.is_complex() { &[REAL, IMAG][..] } else { &[WHOLE] };
        let parts = value.entries()?.into_iter().zip(terms).map(|(part, terms)| {
            let rule = OfVector {
                shape: lying.shape().clone(),
                vector: vector.shape().n_entries(),
                product: value.shape().clone(),
                is_left: is_left != is_turned,
                terms,
            };
            part.with_derivative("matmul", &args, rule)
        });
        let parts = parts.collect::<Result<Vec<_>>>()?;
        Self::of(parts, value.shape().clone()).map(Some)
    }
}

impl OfVector {
    /// The matrices and the vector that a term multiplies.
    fn factors<'a>(&self, term: &Term, args: &'a [Array]) -> [&'a Array; 2] {
        let (matrix, vector) = args.split_at(args.len() / 2);
        [&matrix[term.matrix], &vector[term.vector]]
    }

    fn product(&self, matrix: &Array, vector: &Array) -> Result<Array> {
        let [matrix, vector] = self.tensors(matrix, vector)?;
        let product = if self.is_left { vector.dot(&matrix) } else { matrix.dot(&vector) };
        Ok(product?.entries()?.swap_remove(0))
    }

    fn tensors(&self, matrix: &Array, vector: &Array) -> Result<[Tensor; 2]> {
        let Self { shape, vector: n, .. } = self;
        Ok([
            Tensor::of([matrix.clone()], shape.clone())?,
            Tensor::of([vector.clone()], Shape::line(*n))?,
        ])
    }

    /// What each matrix gets: the vector times the cotangent, entry by entry.
    fn pull_matrix(&self, vector: &Tensor, v: &Tensor) -> Result<Tensor> {
        if self.is_left {
            return vector.expand(-1)?.times(&v.expand(-2)?);
        }
        v.expand(-1)?.times(vector)
    }

    /// What the vector gets of all matrices.
    fn pull_vector(&self, matrix: &Tensor, v: &Tensor) -> Result<Tensor> {
        let n = exactly::<i64>(self.vector);
        if !self.is_left {
            // The rows of all matrices are those of one.
            return v.reshape(&[-1])?.dot(&matrix.reshape(&[-1, n])?);
        }
        if self.shape.rank() == 2 {
            return matrix.dot(v);
        }
        let each = matrix.dot(&v.expand(-1)?)?.reshape(&[-1, n])?;
        each.reduce(ReduceOp::Sum, Some(&[0]), false)
    }
}

impl Derivative for OfVector {
    fn pull(&self, args: &[Array], value: &Array, v: &Array) -> Result<Vec<Option<Array>>> {
        let mut parts = vec![None; args.len()];
        let shape = &self.product;
        for term in self.terms {
            let v = v.resize(value.size())?;
            let v = if term.is_negative { v.apply(Op::Neg, &[])? } else { v };
            let v = Tensor::of([v], shape.clone())?;
            let [matrix, vector] = self.factors(term, args);
            let [matrices, others] = self.tensors(matrix, vector)?;
            let own = self.pull_matrix(&others, &v)?;
            parts[term.matrix] = Some(own.entries()?.swap_remove(0));
            let others = self.pull_vector(&matrices, &v)?;
            parts[args.len() / 2 + term.vector] = Some(others.entries()?.swap_remove(0));
        }
        Ok(parts)
    }

    fn push(&self, args: &[Array], value: &Array, tangents: &[Option<Array>]) -> Result<Array> {
        let mut sum = value.session().zeros(value.dtype(), value.size())?;
        for term in self.terms {
            let [matrix, vector] = self.factors(term, args);
            let of_matrix = tangents[term.matrix].as_ref().map(|t| (t, vector));
            let of_vector = tangents[args.len() / 2 + term.vector].as_ref().map(|t| (matrix, t));
            for (matrix, vector) in of_matrix.into_iter().chain(of_vector) {
                let part = self.product(matrix, vector)?;
                sum = if term.is_negative { sum.try_sub(&part)? } else { sum.try_add(&part)? };
            }
        }
        Ok(sum)
    }
}
