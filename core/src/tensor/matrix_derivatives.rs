//! Derivatives of functions of matrices, which the host computes.
//!
//! With the convention that the gradient by a complex entry has the derivatives by its parts as parts, cotangents go
//! through adjoints: `Y = A⁻¹` has `-Yᴴ Ȳ Yᴴ`. Formulas: M. Giles, "An extended collection of matrix derivative results
//! for forward and reverse mode algorithmic differentiation" (2008).

use super::factor_derivatives::{pull_lu, pull_qr, pull_svd, push_lu, push_qr, push_svd};
use super::{Shape, Tensor};
use crate::array::Array;
use crate::array::rules::Derivative;
use crate::dtype::Scalar;
use crate::error::{Error, Result};
use crate::ir::op::Op;
use crate::linear::Function;
use crate::value::{Argument, Value, apply};

/// The derivative of a part of one result.
struct OfMatrices {
    op: &'static str,
    function: Function,
    /// Of the matrices, of the results, and of what else was kept: shape and number of parts.
    inputs: Vec<(Shape, usize)>,
    results: Vec<(Shape, usize)>,
    /// Which result, and which part.
    result: usize,
    part: usize,
}

/// The results of a function of matrices, which know their derivatives if the matrices are tracked.
///
/// # Errors
/// As [`Array::with_derivative`].
pub(super) fn with_derivatives(
    op: &'static str,
    function: Function,
    inputs: &[&Tensor],
    results: Vec<Tensor>,
) -> Result<Vec<Tensor>> {
    let entries = inputs.iter().map(|input| input.entries()).collect::<Result<Vec<_>>>()?;
    if !entries.iter().flatten().any(Array::is_followed) || function == Function::Rank {
        return Ok(results);
    }
    let all: Vec<Array> = entries.into_iter().flatten().chain(kept(&results)).collect();
    let all: Vec<&Array> = all.iter().collect();
    let shape = |tensor: &Tensor| (tensor.shape().clone(), tensor.parts.len());
    let with = |i: usize, result: &Tensor| {
        // The order of rows is no smooth function.
        if function == Function::Lu && i == 0 {
            return Ok(result.clone());
        }
        let part = |part: usize| {
            let rule = OfMatrices {
                op,
                function,
                inputs: inputs.iter().map(|&input| shape(input)).collect(),
                results: results.iter().map(shape).collect(),
                result: i,
                part,
            };
            result.parts[part].with_derivative(op, &all, rule)
        };
        let parts = (0..result.parts.len()).map(part).collect::<Result<Vec<_>>>()?;
        Tensor::of(parts, result.shape().clone())
    };
    results.iter().enumerate().map(|(i, result)| with(i, result)).collect()
}

/// The parts of tensors.
fn kept(tensors: &[Tensor]) -> impl Iterator<Item = Array> + '_ {
    tensors.iter().flat_map(|tensor| tensor.parts.iter().cloned())
}

impl OfMatrices {
    /// Arrays as the tensors that they are the parts of.
    fn tensors(shapes: &[(Shape, usize)], arrays: &mut &[Array]) -> Result<Vec<Tensor>> {
        let tensor = |(shape, n): &(Shape, usize)| {
            let (parts, rest) = arrays.split_at(*n);
            *arrays = rest;
            Tensor::of(parts.iter().cloned(), shape.clone())
        };
        shapes.iter().map(tensor).collect()
    }

    /// The matrices and the results, these computed again where derivatives of derivatives may be asked for.
    fn operands(&self, mut args: &[Array]) -> Result<(Vec<Tensor>, Vec<Tensor>)> {
        let inputs = Self::tensors(&self.inputs, &mut args)?;
        let results = Self::tensors(&self.results, &mut args)?;
        if !inputs.iter().flat_map(|input| &input.parts).any(|part| part.is_followed()) {
            return Ok((inputs, results));
        }
        let results = match &inputs[..] {
            [a, b] => vec![a.solved(self.op, self.function, b)?],
            inputs => inputs[0].linear(self.op, self.function)?,
        };
        Ok((inputs, results))
    }

    /// The cotangent of a result of which one part has one.
    fn of_result(&self, v: &Array) -> Result<Tensor> {
        let (shape, n_parts) = &self.results[self.result];
        let zeros = v.session().zeros(v.dtype(), v.size())?;
        let mut parts = vec![zeros; *n_parts];
        parts[self.part] = v.clone();
        Tensor::of(parts, shape.clone())
    }
}

impl Derivative for OfMatrices {
    fn pull(&self, args: &[Array], _value: &Array, v: &Array) -> Result<Vec<Option<Array>>> {
        let (inputs, results) = self.operands(args)?;
        let adjoints = self.pull_result(&inputs, &results, &self.of_result(v)?)?;
        let mut parts = Vec::with_capacity(args.len());
        for (adjoint, (_, n_parts)) in adjoints.iter().zip(&self.inputs) {
            let found = adjoint.entries()?;
            parts.extend((0..*n_parts).map(|part| found.get(part).cloned()));
        }
        parts.resize(args.len(), None);
        Ok(parts)
    }

    fn push(&self, args: &[Array], _value: &Array, t: &[Option<Array>]) -> Result<Array> {
        let (inputs, results) = self.operands(args)?;
        let or_zeros = |(arg, t): (&Array, &Option<Array>)| match t {
            Some(t) => Ok(t.clone()),
            None => arg.session().zeros(arg.dtype(), arg.size()),
        };
        let moved = args.iter().zip(t).map(or_zeros).collect::<Result<Vec<_>>>()?;
        let moved = Self::tensors(&self.inputs, &mut &moved[..])?;
        let tangent = self.push_result(&inputs, &results, &moved)?;
        match tangent.entries()?.get(self.part) {
            Some(part) => Ok(part.clone()),
            None => args[0].session().zeros(args[0].dtype(), tangent.shape().n_entries()),
        }
    }
}

impl OfMatrices {
    /// What the matrices get from a result.
    fn pull_result(
        &self,
        inputs: &[Tensor],
        results: &[Tensor],
        v: &Tensor,
    ) -> Result<Vec<Tensor>> {
        let (a, y) = (&inputs[0], &results[self.result]);
        Ok(match self.function {
            Function::Inverse => vec![y.h()?.dot(&v.dot(&y.h()?)?)?.minus()?],
            Function::Solve => pull_solution(self.op, Function::Solve, [a, y, v])?,
            Function::SolveLower => pull_solution(self.op, Function::SolveUpper, [a, y, v])?,
            Function::SolveUpper => pull_solution(self.op, Function::SolveLower, [a, y, v])?,
            Function::Determinant => {
                let cofactors = a.linear(self.op, Function::Cofactors)?.swap_remove(0);
                vec![cofactors.conjugate()?.times(&v.of_matrices()?)?]
            }
            Function::SignAndLog => {
                let factor = match self.result {
                    0 => y.conjugate()?.times(v)?.turn()?,
                    _ => v.clone(),
                };
                vec![a.inverse(self.op)?.h()?.times(&factor.of_matrices()?)?]
            }
            Function::Cofactors => {
                let (inverse, conjugate) = (a.inverse(self.op)?.h()?, y.conjugate()?);
                let all = conjugate.times(v)?.sum_of_matrices()?.of_matrices()?;
                let crossed = conjugate.dot(&v.matrix_transpose()?)?.dot(&inverse)?;
                vec![inverse.times(&all)?.less(&crossed)?]
            }
            Function::Cholesky => {
                let inverse = y.inverse(self.op)?;
                let inner = y.h()?.dot(v)?.lower_half()?;
                vec![inverse.h()?.dot(&inner.dot(&inverse)?)?.symmetric()?]
            }
            Function::Lu => vec![pull_lu(results, self.result, v)?],
            Function::Qr => vec![pull_qr(results, self.result, v)?],
            Function::EigenSymmetric => {
                let (w, vectors) = (&results[0], &results[1]);
                let inner = match self.result {
                    0 => vectors.times(&v.expand(-2)?)?.dot(&vectors.h()?)?,
                    _ => {
                        let inner = vectors.h()?.dot(v)?.times(&w.gaps()?)?;
                        vectors.dot(&inner)?.dot(&vectors.h()?)?
                    }
                };
                vec![inner.symmetric()?]
            }
            Function::Eigen => {
                let (w, vectors) = (&results[0], &results[1]);
                let inner = match self.result {
                    0 => vectors.h()?.times(&v.expand(-1)?)?,
                    _ => {
                        let inner = vectors.h()?.dot(v)?;
                        let lengths = vectors.h()?.dot(vectors)?.times(&inner.real_diagonal()?)?;
                        let gaps = w.gaps()?.conjugate()?;
                        inner.less(&lengths)?.times(&gaps)?.dot(&vectors.h()?)?
                    }
                };
                vec![vectors.h()?.solved(self.op, Function::Solve, &inner)?]
            }
            Function::Svd => vec![pull_svd(results, self.result, v)?],
            Function::PseudoInverse => vec![pull_pseudo_inverse(a, y, v)?],
            Function::LeastSquares => {
                let p = a.linear(self.op, Function::PseudoInverse)?.swap_remove(0);
                let of_inverse = v.dot(&inputs[1].h()?)?;
                vec![pull_pseudo_inverse(a, &p, &of_inverse)?, p.h()?.dot(v)?]
            }
            Function::Exponential => vec![a.h()?.exponential_along(v)?],
            Function::Rank
            | Function::Condition
            | Function::ConditionOfFactors
            | Function::SingularValues
            | Function::EigenvaluesSymmetric => return Err(self.none()),
        })
    }

    /// What a result gets from the matrices.
    fn push_result(&self, inputs: &[Tensor], results: &[Tensor], t: &[Tensor]) -> Result<Tensor> {
        let (a, y, t_a) = (&inputs[0], &results[self.result], &t[0]);
        Ok(match self.function {
            Function::Inverse => y.dot(&t_a.dot(y)?)?.minus()?,
            Function::Solve | Function::SolveLower | Function::SolveUpper => {
                a.solved(self.op, self.function, &t[1].less(&t_a.dot(y)?)?)?
            }
            Function::Determinant => {
                let cofactors = a.linear(self.op, Function::Cofactors)?.swap_remove(0);
                cofactors.times(t_a)?.sum_of_matrices()?
            }
            Function::SignAndLog => {
                let along = a.inverse(self.op)?.matrix_transpose()?.times(t_a)?;
                let along = along.sum_of_matrices()?;
                if self.result == 0 { y.times(&along.turn()?)? } else { along.part(0)? }
            }
            Function::Cofactors => {
                let inverse = a.inverse(self.op)?.matrix_transpose()?;
                let all = inverse.times(t_a)?.sum_of_matrices()?.of_matrices()?;
                y.times(&all)?.less(&inverse.dot(&t_a.matrix_transpose()?)?.dot(y)?)?
            }
            Function::Cholesky => {
                let inverse = y.inverse(self.op)?;
                let inner = inverse.dot(&t_a.symmetric()?)?.dot(&inverse.h()?)?;
                y.dot(&inner.lower_half()?)?
            }
            Function::Lu => push_lu(results, self.result, t_a)?,
            Function::Qr => push_qr(results, self.result, t_a)?,
            Function::EigenSymmetric => {
                let (w, vectors) = (&results[0], &results[1]);
                let inner = vectors.h()?.dot(&t_a.symmetric()?)?.dot(vectors)?;
                match self.result {
                    0 => inner.diagonal_of_each()?,
                    _ => vectors.dot(&inner.times(&w.gaps()?)?)?,
                }
            }
            Function::Eigen => {
                let (w, vectors) = (&results[0], &results[1]);
                let moved = t_a.dot(vectors)?;
                let inner = vectors.solved(self.op, Function::Solve, &moved)?;
                if self.result == 0 {
                    return inner.diagonal_of_each();
                }
                let moved = vectors.dot(&inner.times(&w.gaps()?)?)?;
                let along = vectors.h()?.dot(&moved)?.real_diagonal()?;
                moved.less(&vectors.times(&along)?)?
            }
            Function::Svd => push_svd(results, self.result, t_a)?,
            Function::PseudoInverse => push_pseudo_inverse(a, y, t_a)?,
            Function::LeastSquares => {
                let p = a.linear(self.op, Function::PseudoInverse)?.swap_remove(0);
                push_pseudo_inverse(a, &p, t_a)?.dot(&inputs[1])?.plus(&p.dot(&t[1])?)?
            }
            Function::Exponential => a.exponential_along(t_a)?,
            Function::Rank
            | Function::Condition
            | Function::ConditionOfFactors
            | Function::SingularValues
            | Function::EigenvaluesSymmetric => return Err(self.none()),
        })
    }

    fn none(&self) -> Error {
        Error::Argument {
            op: self.op,
            what: "has no derivative; detach(x) takes it without".into(),
        }
    }
}

/// Of `A Y = B`, whose adjoint, the other triangle of one, is solved as `adjoint` says.
fn pull_solution(
    op: &'static str,
    adjoint: Function,
    [a, y, v]: [&Tensor; 3],
) -> Result<Vec<Tensor>> {
    let right = a.h()?.solved(op, adjoint, v)?;
    Ok(vec![right.dot(&y.h()?)?.minus()?, right])
}

fn pull_pseudo_inverse(a: &Tensor, p: &Tensor, v: &Tensor) -> Result<Tensor> {
    let (ph, vh) = (p.h()?, v.h()?);
    let first = ph.dot(v)?.dot(&ph)?;
    let left = vh.less(&a.dot(p)?.dot(&vh)?)?.dot(p)?.dot(&ph)?;
    let right = ph.dot(p)?.dot(&vh)?;
    let right = right.less(&right.dot(&p.dot(a)?)?)?;
    left.plus(&right)?.less(&first)
}

fn push_pseudo_inverse(a: &Tensor, p: &Tensor, t: &Tensor) -> Result<Tensor> {
    let (ph, th) = (p.h()?, t.h()?);
    let first = p.dot(t)?.dot(p)?;
    let left = p.dot(&ph)?.dot(&th)?;
    let left = left.less(&left.dot(&a.dot(p)?)?)?;
    let right = th.dot(&ph)?.dot(p)?;
    let right = right.less(&p.dot(a)?.dot(&right)?)?;
    left.plus(&right)?.less(&first)
}

/// What formulas are made of.
impl Tensor {
    pub(crate) fn elementwise(op: Op, args: &[&Self]) -> Result<Self> {
        let args: Vec<Argument<'_>> = args.iter().map(|&arg| arg.into()).collect();
        match apply(op, &args.iter().collect::<Vec<_>>())? {
            Value::Tensor(tensor) => Ok(tensor),
            other => Argument::from(&other).to_tensor(op.name()),
        }
    }

    pub(crate) fn plus(&self, other: &Self) -> Result<Self> {
        Self::elementwise(Op::Add, &[self, other])
    }

    pub(crate) fn less(&self, other: &Self) -> Result<Self> {
        Self::elementwise(Op::Sub, &[self, other])
    }

    pub(crate) fn times(&self, other: &Self) -> Result<Self> {
        Self::elementwise(Op::Mul, &[self, other])
    }

    pub(super) fn minus(&self) -> Result<Self> {
        Self::elementwise(Op::Neg, &[self])
    }

    pub(super) fn dot(&self, other: &Self) -> Result<Self> {
        self.matmul(other)
    }

    /// The conjugate transpose.
    pub(super) fn h(&self) -> Result<Self> {
        self.matrix_transpose()?.conjugate()
    }

    pub(super) fn inverse(&self, op: &'static str) -> Result<Self> {
        Ok(self.linear(op, Function::Inverse)?.swap_remove(0))
    }

    pub(super) fn reciprocal(&self) -> Result<Self> {
        self.number(1.0)?.divided_by(self)
    }

    pub(crate) fn divided_by(&self, divisor: &Self) -> Result<Self> {
        Self::elementwise(Op::Div, &[self, divisor])
    }

    fn number(&self, number: f64) -> Result<Self> {
        let part = &self.parts[0];
        Self::new(&part.session().full(part.dtype(), Scalar::Float(number), 1)?, &[])
    }

    /// `(A + Aᴴ) / 2`.
    fn symmetric(&self) -> Result<Self> {
        self.plus(&self.h()?)?.times(&self.number(0.5)?)
    }

    /// The lower triangle, its diagonal halved; of complex ones without imaginary part.
    fn lower_half(&self) -> Result<Self> {
        let below = self.triangle("tril", Op::Le, -1)?;
        below.plus(&self.on_diagonal()?.times(&self.number(0.5)?)?)
    }

    /// The lower triangle, and its adjoint above.
    pub(super) fn mirrored(&self) -> Result<Self> {
        let below = self.triangle("tril", Op::Le, -1)?;
        below.plus(&below.h()?)?.plus(&self.on_diagonal()?)
    }

    /// The real parts of the diagonals; the other entries are 0.
    pub(super) fn on_diagonal(&self) -> Result<Self> {
        let real = self.part(0)?;
        real.triangle("tril", Op::Le, 0)?.triangle("triu", Op::Ge, 0)
    }

    /// The real parts of the diagonals as rows.
    fn real_diagonal(&self) -> Result<Self> {
        self.on_diagonal()?.reduce(crate::ir::op::ReduceOp::Sum, Some(&[-2]), true)
    }

    /// The diagonals.
    pub(super) fn diagonal_of_each(&self) -> Result<Self> {
        let parts = (0..self.parts.len()).map(|part| {
            let rows = self.part(part)?.real_diagonal()?.squeeze(-2)?;
            Ok(rows.entries()?.swap_remove(0))
        });
        let parts = parts.collect::<Result<Vec<_>>>()?;
        let extents = self.shape().extents();
        Self::of(parts, Shape::new("diag", &extents[..extents.len() - 1])?)
    }

    /// Numbers, one for each matrix, as matrices of one entry.
    fn of_matrices(&self) -> Result<Self> {
        self.expand(-1)?.expand(-1)
    }

    /// Numbers without their real parts; zeros of real ones.
    pub(super) fn turn(&self) -> Result<Self> {
        let lanes = match self.parts() {
            [real, _] => vec![real.try_sub(real)?, self.entries()?.swap_remove(1)],
            _ => return self.less(self),
        };
        Self::of(lanes, self.shape().clone())
    }

    /// The sums over matrices.
    fn sum_of_matrices(&self) -> Result<Self> {
        self.reduce(crate::ir::op::ReduceOp::Sum, Some(&[-2, -1]), false)
    }

    /// `1 / (w[j] - w[i])` for each i and j, and 0 for i = j.
    pub(super) fn gaps(&self) -> Result<Self> {
        let gaps = self.expand(-2)?.less(&self.expand(-1)?)?;
        let one = gaps.less(&gaps)?.on_diagonal_ones()?;
        gaps.plus(&one)?.reciprocal()?.less(&one)
    }

    /// Ones on the diagonals of matrices, zeros elsewhere.
    pub(super) fn on_diagonal_ones(&self) -> Result<Self> {
        let part = &self.parts[0];
        let ones = part.session().full(part.dtype(), 1, self.shape().n_entries())?;
        Self::of([ones], self.shape().clone())?.on_diagonal()
    }

    /// The derivative of the exponential in a direction: a block of that of `[[A, E], [0, A]]`.
    fn exponential_along(&self, direction: &Self) -> Result<Self> {
        let n = *self.shape().extents().last().unwrap_or(&0);
        let zeros = self.less(self)?;
        let above = Self::concat(&[self.clone(), direction.clone()], -1)?;
        let below = Self::concat(&[zeros, self.clone()], -1)?;
        let block = Self::concat(&[above, below], -2)?;
        let exponential = block.linear("expm", Function::Exponential)?.swap_remove(0);
        let half = crate::array::Slice::from(0..n.cast_signed());
        exponential.slice(-2, half)?.slice(-1, n.cast_signed()..)
    }
}
