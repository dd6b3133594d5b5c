"""Arguments that NumPy's linear algebra has and core's tables do not."""

import math

import porcini as pc

from ._form import form
from ._porcini import _operand


def _turned(a):
    """The conjugate transpose of a matrix, or of many."""
    return pc.conj(pc.swapaxes(a, -1, -2))


@form("svd")
def _svd(svd, a, full_matrices=False, compute_uv=True, hermitian=False):
    """With compute_uv=False the singular values alone; hermitian= changes nothing."""
    a = _operand(a)
    if not compute_uv:
        return pc.singular_values(a)
    if full_matrices and a.shape[-1] != a.shape[-2]:
        raise TypeError("svd: got full_matrices=True, expected False: there are as many vectors as the shorter side has")
    return svd(a)


@form("qr")
def _qr(qr, a, mode="reduced"):
    """With mode="r" the upper matrix alone, with mode="complete" square matrices in front."""
    a = _operand(a)
    if mode not in ("reduced", "r", "complete"):
        raise TypeError(f"qr: got mode={mode!r}, expected 'reduced', 'complete' or 'r'")
    n_rows, n_columns = a.shape[-2:]
    if mode == "complete" and n_rows > n_columns:
        # What follows the columns of a fills up the space.
        others = pc.broadcast_to(pc.eye(n_rows, dtype=a.dtype), [*a.shape[:-2], n_rows, n_rows])
        q, r = qr(pc.concat([a, others], -1))
        return [q, r[..., :n_columns]]
    return qr(a)[1] if mode == "r" else qr(a)


@form("cholesky")
def _cholesky(cholesky, a, upper=False):
    """With upper=True of the upper half, as an upper matrix."""
    # The upper half of a is what is read then.
    return _turned(cholesky(_turned(_operand(a)))) if upper else cholesky(a)


@form("eigh", "eigvalsh")
def _of_half(of, a, UPLO="L"):
    """With UPLO="U" of the upper half."""
    if UPLO not in ("L", "U"):
        raise TypeError(f"{of.__name__}: got UPLO={UPLO!r}, expected 'L' or 'U'")
    return of(a if UPLO == "L" else _turned(_operand(a)))


@form("pinv")
def _pinv(pinv, a, rcond=None, hermitian=False, *, rtol=None):
    """Without singular values up to rcond= (or rtol=) times the largest."""
    # What is Hermitian has the same one.
    least = rtol if rcond is None else rcond
    if least is None:
        return pinv(a)
    u, s, vh = pc.svd(a)
    parts = pc.where(s > least * s[..., :1], 1 / s, 0)
    return _turned(vh) @ (pc.expand_dims(parts, -1) * _turned(u))


@form("matrix_rank")
def _matrix_rank(matrix_rank, a, tol=None, hermitian=False, *, rtol=None):
    """Of singular values above tol=, or above rtol= times the largest."""
    if tol is None and rtol is None:
        return matrix_rank(a)
    values = pc.singular_values(a)
    return pc.hsum(values > (rtol * values[..., :1] if tol is None else tol), -1)


@form("cond")
def _cond(cond, a, p=None):
    """By another norm, as norm has them; inf of a matrix without an inverse."""
    a = _operand(a)
    if p in (None, 2):
        return cond(a)
    if p == -2:
        values = pc.singular_values(a)
        found = pc.where(values[..., :1] == 0, math.inf, values[..., -1:] / values[..., :1])
        return pc.reshape(found, a.shape[:-2]) if a.ndim > 2 else found
    # Not by the determinant: that of small entries is 0 soon.
    has_inverse = pc.all(pc.diagonal(pc.lu(a)[2], 0, -2, -1) != 0, -1)
    turnable = pc.where(pc.reshape(has_inverse, [*a.shape[:-2], 1, 1]), a, pc.eye(a.shape[-1], dtype=a.dtype))
    found = pc.norm(a, ord=p, axis=(-2, -1)) * pc.norm(pc.inv(turnable), ord=p, axis=(-2, -1))
    return pc.where(has_inverse, found, math.inf)


@form("lstsq")
def _lstsq(lstsq, a, b, rcond=None):
    """As NumPy has it; rcond= is None, or -1: singular values that are rounding are none."""
    if rcond not in (None, -1):
        raise TypeError(f"lstsq: got rcond={rcond!r}, expected None: pc.pinv(a, rcond) @ b takes others")
    return lstsq(a, b)


@form("trace")
def _trace(trace, x, offset=0, axis1=0, axis2=1):
    """Of a diagonal above, offset=, and of any two axes; of many matrices the first two, as NumPy has it."""
    return pc.hsum(pc.diagonal(x, offset, axis1, axis2), -1)
