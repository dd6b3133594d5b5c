//! Derivatives of factors of matrices: P L U, Q R, U diag(s) Vᴴ.
//!
//! Formulas: for QR S. Walter and others (2012), of which the wide one is that of its square half; for the SVD J. Townsend
//! (2016). Phases of complex singular vectors are free: U takes what turns them, as in JAX.

use super::Tensor;
use crate::error::Result;
use crate::ir::op::Op;

/// What A gets from L or U: with L and U made square by ones behind, `M = L⁻¹ Pᵀ dA U⁻¹` is `L⁻¹ dL` below the diagonal,
/// and `dU U⁻¹` from there on.
pub(super) fn pull_lu(results: &[Tensor], result: usize, v: &Tensor) -> Result<Tensor> {
    let [p, l, u] = results else { unreachable!("internal error: three factors") };
    let (square_l, square_u) = (l.made_square()?, u.made_square()?);
    let inner = if result == 1 {
        let inner = square_l.h()?.dot(v)?;
        inner.padded([l.extent("lu", -2)?, u.extent("lu", -1)?])?.strictly_lower()?
    } else {
        let inner = v.dot(&square_u.h()?)?;
        inner.padded([l.extent("lu", -2)?, u.extent("lu", -1)?])?.upper()?
    };
    let of_rows = square_l.inverse("lu")?.h()?.dot(&inner)?.dot(&square_u.inverse("lu")?.h()?)?;
    p.dot(&of_rows)
}

pub(super) fn push_lu(results: &[Tensor], result: usize, t: &Tensor) -> Result<Tensor> {
    let [p, l, u] = results else { unreachable!("internal error: three factors") };
    let (square_l, square_u) = (l.made_square()?, u.made_square()?);
    let rows = p.h()?.dot(t)?;
    let inner = square_l.inverse("lu")?.dot(&rows)?.dot(&square_u.inverse("lu")?)?;
    let k = l.extent("lu", -1)?.cast_signed();
    if result == 1 {
        square_l.dot(&inner.strictly_lower()?.slice(-1, ..k)?)
    } else {
        inner.upper()?.slice(-2, ..k)?.dot(&square_u)
    }
}

/// What A gets from Q or R. Of columns beside the square half, which may be none, R is Qᴴ A.
pub(super) fn pull_qr(results: &[Tensor], result: usize, v: &Tensor) -> Result<Tensor> {
    let [q, r] = results else { unreachable!("internal error: two factors") };
    let (square, beside) = r.split_at(q.extent("qr", -1)?)?;
    let (inner, outer, of_beside) = if result == 0 {
        (v.h()?.dot(q)?.minus()?, v.clone(), beside.less(&beside)?)
    } else {
        let (v, v_beside) = v.split_at(q.extent("qr", -1)?)?;
        let of_q = beside.dot(&v_beside.h()?)?;
        (square.dot(&v.h()?)?.less(&of_q.h()?)?, q.dot(&of_q)?, v_beside)
    };
    let of_square = outer.plus(&q.dot(&inner.mirrored()?)?)?.dot(&square.inverse("qr")?.h()?)?;
    Tensor::concat(&[of_square, q.dot(&of_beside)?], -1)
}

pub(super) fn push_qr(results: &[Tensor], result: usize, t: &Tensor) -> Result<Tensor> {
    let [q, r] = results else { unreachable!("internal error: two factors") };
    let (square, beside) = r.split_at(q.extent("qr", -1)?)?;
    let (t, t_beside) = t.split_at(q.extent("qr", -1)?)?;
    let moved = t.dot(&square.inverse("qr")?)?;
    let inner = q.h()?.dot(&moved)?;
    let lower = inner.strictly_lower()?;
    let turn = lower.less(&lower.h()?)?.plus(&inner.turning()?)?;
    let of_q = moved.plus(&q.dot(&turn.less(&inner)?)?)?;
    if result == 0 {
        return Ok(of_q);
    }
    let of_beside = of_q.h()?.dot(&q.dot(&beside)?)?.plus(&q.h()?.dot(&t_beside)?)?;
    Tensor::concat(&[inner.less(&turn)?.dot(&square)?, of_beside], -1)
}

/// What A gets from U, s or Vᴴ; for vectors that singular values tell apart.
pub(super) fn pull_svd(results: &[Tensor], result: usize, v: &Tensor) -> Result<Tensor> {
    let [u, s, vh] = results else { unreachable!("internal error: three factors") };
    let row = s.expand(-2)?;
    if result == 1 {
        return u.times(&v.expand(-2)?)?.dot(vh);
    }
    let gaps = s.times(s)?.gaps()?;
    let inverse = row.reciprocal()?;
    if result == 0 {
        let inner = u.h()?.dot(v)?;
        let turn = inner.times(&gaps)?;
        let turn = turn.plus(&turn.h()?)?.times(&row)?;
        let turn = turn.plus(&inner.turning()?.times(&inverse)?)?;
        let outside = v.less(&u.dot(&inner)?)?.times(&inverse)?;
        return u.dot(&turn)?.plus(&outside)?.dot(vh);
    }
    let inner = vh.dot(&v.h()?)?;
    let turn = inner.times(&gaps)?;
    let turn = turn.plus(&turn.h()?)?.times(&s.expand(-1)?)?;
    let outside = v.less(&inner.h()?.dot(vh)?)?;
    u.dot(&turn.dot(vh)?)?.plus(&u.times(&inverse)?.dot(&outside)?)
}

pub(super) fn push_svd(results: &[Tensor], result: usize, t: &Tensor) -> Result<Tensor> {
    let [u, s, vh] = results else { unreachable!("internal error: three factors") };
    let (row, column) = (s.expand(-2)?, s.expand(-1)?);
    let inner = u.h()?.dot(t)?.dot(&vh.h()?)?;
    if result == 1 {
        return inner.diagonal_of_each();
    }
    let gaps = s.times(s)?.gaps()?;
    if result == 0 {
        let scaled = inner.times(&row)?;
        let turn = scaled.plus(&scaled.h()?)?.times(&gaps)?;
        let turn = turn.plus(&inner.turning()?.times(&row.reciprocal()?)?)?;
        let moved = t.dot(&vh.h()?)?;
        let outside = moved.less(&u.dot(&inner)?)?.times(&row.reciprocal()?)?;
        return u.dot(&turn)?.plus(&outside);
    }
    let scaled = inner.times(&column)?;
    let turn = scaled.plus(&scaled.h()?)?.times(&gaps)?;
    let moved = u.h()?.dot(t)?;
    let outside = moved.less(&inner.dot(vh)?)?.times(&column.reciprocal()?)?;
    turn.h()?.dot(vh)?.plus(&outside)
}

impl Tensor {
    /// The first columns, and the others.
    fn split_at(&self, n: u64) -> Result<(Self, Self)> {
        let n = n.cast_signed();
        Ok((self.slice(-1, ..n)?, self.slice(-1, n..)?))
    }

    fn strictly_lower(&self) -> Result<Self> {
        self.triangle("tril", Op::Le, -1)
    }

    fn upper(&self) -> Result<Self> {
        self.triangle("triu", Op::Ge, 0)
    }

    /// The same with zeros behind, in matrices of so many rows and columns.
    fn padded(&self, extents: [u64; 2]) -> Result<Self> {
        let mut widths = vec![[0, 0]; self.shape().rank()];
        for (axis, extent) in [-2, -1].into_iter().zip(extents) {
            widths[self.shape().axis("pad", axis)?][1] = extent - self.extent("pad", axis)?;
        }
        self.pad(&widths, 0.into())
    }

    /// A triangle with more rows than columns, or more columns, and ones on the rest of the diagonal.
    fn made_square(&self) -> Result<Self> {
        let [m, n] = [self.extent("lu", -2)?, self.extent("lu", -1)?];
        let (k, side) = (m.min(n), m.max(n));
        let square = self.padded([side, side])?;
        let first = self.slice(-2, ..k.cast_signed())?.slice(-1, ..k.cast_signed())?;
        let known = first.on_diagonal_ones()?.padded([side, side])?;
        square.plus(&square.on_diagonal_ones()?.less(&known)?)
    }

    /// The diagonal without its real parts, which turns phases; nothing in real matrices.
    fn turning(&self) -> Result<Self> {
        self.turn()?.times(&self.on_diagonal_ones()?)
    }
}
