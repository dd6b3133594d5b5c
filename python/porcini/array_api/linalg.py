"""The extension of linear algebra. Factorisations are made on the host, by libraries; the rest is Porcini's."""

import builtins
import math
from collections import namedtuple

import porcini as pc

from . import (
    Array, _axis, _binary, _FLOATS, _NUMERIC, _reduced, _wrap, abs, astype, broadcast_to, complex64, complex128, conj, divide, eye,
    float32, float64, greater, isdtype, matmul, matrix_transpose, max, min, multiply, not_equal, pow, real, reshape, result_type, sqrt,
    subtract, sum, tensordot, vecdot, where, zeros,
)  # fmt: skip

__all__ = [
    "cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm", "matrix_power", "matrix_rank",
    "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip

EighResult = namedtuple("EighResult", "eigenvalues eigenvectors")
QRResult = namedtuple("QRResult", "Q R")
SlogdetResult = namedtuple("SlogdetResult", "sign logabsdet")
SVDResult = namedtuple("SVDResult", "U S Vh")


def _floats(name, *xs):
    for x in xs:
        if x.dtype.kind not in _FLOATS:
            raise TypeError(f"{name}: got {x.dtype}, expected floats")


def _matrices(name, x, square=True):
    _floats(name, x)
    if x.ndim < 2 or square and x.shape[-1] != x.shape[-2]:
        raise ValueError(f"{name}: got {x.shape}, expected {'square ' if square else ''}matrices")


def _shaped(value, shape):
    return Array(pc.reshape(_wrap(value)._x, list(shape)))


def _real_type(dtype):
    return {complex64: float32, complex128: float64}.get(dtype, dtype)


def cholesky(x, /, *, upper=False):
    _matrices("cholesky", x)
    found = _wrap(pc.cholesky(x._x)) if x.size else x
    return conj(matrix_transpose(found)) if upper else found


def cross(x1, x2, /, *, axis=-1):
    common = result_type(x1, x2)
    if common.kind not in _NUMERIC:
        raise TypeError(f"cross: got {common}, expected numbers")
    if not -builtins.min(x1.ndim, x2.ndim) <= axis < 0 or x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(f"cross: got {x1.shape} and {x2.shape}, expected 3 along axis {axis}")
    a, b = ([x[(..., i, *[slice(None)] * (-axis - 1))] for i in range(3)] for x in (x1, x2))
    parts = [subtract(multiply(a[i], b[j]), multiply(a[j], b[i])) for i, j in ((1, 2), (2, 0), (0, 1))]
    from . import stack

    return stack(parts, axis=axis)


def det(x, /):
    _matrices("det", x)
    return _shaped(pc.det(x._x), x.shape[:-2]) if x.size else zeros(x.shape[:-2], dtype=x.dtype) + 1


def diagonal(x, /, *, offset=0):
    if x.ndim < 2:
        raise ValueError(f"diagonal: got {x.ndim} axes, expected 2 or more")
    rows, columns = x.shape[-2:]
    n = builtins.max(0, builtins.min(rows + builtins.min(offset, 0), columns - builtins.max(offset, 0)))
    start = offset if offset >= 0 else -offset * columns
    flat = reshape(x, (*x.shape[:-2], rows * columns))
    return flat[..., start : start + n * (columns + 1) : columns + 1] if n else flat[..., :0]


def eigh(x, /):
    _matrices("eigh", x)
    if not x.size:
        return EighResult(zeros(x.shape[:-1], dtype=_real_type(x.dtype)), x)
    values, vectors = pc.eigh(x._x)
    return EighResult(_shaped(values, x.shape[:-1]), _shaped(vectors, x.shape))


def eigvalsh(x, /):
    return eigh(x).eigenvalues


def inv(x, /):
    _matrices("inv", x)
    return _wrap(pc.inv(x._x)) if x.size else x


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    _matrices("matrix_norm", x, square=False)
    if ord == "fro":
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord in (1, -1, math.inf, -math.inf):
        first, second = (-2, -1) if ord in (1, -1) else (-1, -2)
        sums = sum(abs(x), axis=first, keepdims=True)
        found = (max if ord > 0 else min)(sums, axis=second, keepdims=True)
    elif ord in (2, -2, "nuc"):
        values = svdvals(x)
        found = {2: max, -2: min, "nuc": sum}[ord](values, axis=-1, keepdims=True)[..., None]
    else:
        raise ValueError(f"matrix_norm: no order {ord!r}")
    return found if keepdims else reshape(found, x.shape[:-2])


def matrix_power(x, n, /):
    _matrices("matrix_power", x)
    x, n = (inv(x), -n) if n < 0 else (x, n)
    found = broadcast_to(eye(x.shape[-1], dtype=x.dtype), x.shape)
    while n:
        found = matmul(found, x) if n & 1 else found
        n >>= 1
        x = matmul(x, x) if n else x
    return found


def matrix_rank(x, /, *, rtol=None):
    _matrices("matrix_rank", x, square=False)
    values = svdvals(x)
    if rtol is None:
        rtol = builtins.max(x.shape[-2:]) * (2.0**-23 if _real_type(x.dtype) == float32 else 2.0**-52)
    if isinstance(rtol, Array):
        rtol = rtol[..., None]
    bound = multiply(max(values, axis=-1, keepdims=True), rtol)
    return sum(astype(greater(values, bound), result_type(_int64())), axis=-1)


def _int64():
    from . import int64

    return int64


def outer(x1, x2, /):
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError("outer: expected arrays of one axis")
    return multiply(x1[:, None], x2[None, :])


def pinv(x, /, *, rtol=None):
    _matrices("pinv", x, square=False)
    if not x.size:
        return zeros((*x.shape[:-2], x.shape[-1], x.shape[-2]), dtype=x.dtype)
    u, s, vh = svd(x, full_matrices=False)
    if rtol is None:
        rtol = builtins.max(x.shape[-2:]) * (2.0**-23 if s.dtype == float32 else 2.0**-52)
    if isinstance(rtol, Array):
        rtol = rtol[..., None]
    is_kept = greater(s, multiply(max(s, axis=-1, keepdims=True), rtol))
    one = where(is_kept, s, zeros((), dtype=s.dtype) + 1)
    inverse = where(is_kept, divide(zeros((), dtype=s.dtype) + 1, one), zeros((), dtype=s.dtype))
    v, uh = conj(matrix_transpose(vh)), conj(matrix_transpose(u))
    return matmul(multiply(v, astype(inverse, x.dtype)[..., None, :]), uh)


def qr(x, /, *, mode="reduced"):
    _matrices("qr", x, square=False)
    rows, columns = x.shape[-2:]
    k = builtins.min(rows, columns)
    if mode == "complete" and rows > k:
        # What is missing is found in the factors of the matrix beside the identity.
        wide = concat_columns(x, eye(rows, dtype=x.dtype))
        q, _ = qr(wide)
        from . import triu

        return QRResult(q, triu(matmul(conj(matrix_transpose(q)), x)))
    if not x.size:
        return QRResult(zeros((*x.shape[:-1], k), dtype=x.dtype), zeros((*x.shape[:-2], k, columns), dtype=x.dtype))
    q, r = pc.qr(x._x)
    return QRResult(_wrap(q)[..., :k], _wrap(r)[..., :k, :])


def concat_columns(x, other):
    from . import concat

    return concat([x, broadcast_to(other, (*x.shape[:-2], *other.shape))], axis=-1)


def slogdet(x, /):
    _matrices("slogdet", x)
    if not x.size:
        one = zeros(x.shape[:-2], dtype=x.dtype) + 1
        return SlogdetResult(one, zeros(x.shape[:-2], dtype=_real_type(x.dtype)))
    sign, log = pc.slogdet(x._x)
    return SlogdetResult(astype(_shaped(sign, x.shape[:-2]), x.dtype, copy=False), _shaped(log, x.shape[:-2]))


def solve(x1, x2, /):
    _matrices("solve", x1)
    _floats("solve", x2)
    common = result_type(x1, x2)
    x1, x2 = astype(x1, common, copy=False), astype(x2, common, copy=False)
    if x2.ndim == 1:
        column = solve(x1, x2[:, None])
        return reshape(column, column.shape[:-1])
    from . import broadcast_shapes

    batch = broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    if not math.prod(batch) * x2.shape[-1] * x2.shape[-2]:
        return zeros((*batch, *x2.shape[-2:]), dtype=common)
    a, b = broadcast_to(x1, (*batch, *x1.shape[-2:])), broadcast_to(x2, (*batch, *x2.shape[-2:]))
    return _wrap(pc.solve(a._x, b._x))


def svd(x, /, *, full_matrices=True):
    _matrices("svd", x, square=False)
    rows, columns = x.shape[-2:]
    k, kind = builtins.min(rows, columns), _real_type(x.dtype)
    if not x.size:
        batch, n, m = x.shape[:-2], rows if full_matrices else k, columns if full_matrices else k
        u, v = (broadcast_to(eye(i, j, dtype=x.dtype), (*batch, i, j)) for i, j in ((rows, n), (m, columns)))
        return SVDResult(u, zeros((*batch, k), dtype=kind), v)
    u, s, third = pc.svd(x._x)
    u, s, third = _wrap(u), _shaped(s, (*x.shape[:-2], k)), _wrap(third)
    vh = third
    u, vh = u[..., :k], vh[..., :k, :]
    if full_matrices:
        u = qr_completed(u)
        vh = conj(matrix_transpose(qr_completed(conj(matrix_transpose(vh)))))
    return SVDResult(u, s, vh)


def qr_completed(u):
    """Columns that are orthogonal, and others that are orthogonal to them."""
    rows, columns = u.shape[-2:]
    if rows == columns:
        return u
    q, _ = qr(u, mode="complete")
    from . import concat

    return concat([u, q[..., columns:]], axis=-1)


def svdvals(x, /):
    _matrices("svdvals", x, square=False)
    k = builtins.min(x.shape[-2:])
    if not x.size:
        return zeros((*x.shape[:-2], k), dtype=_real_type(x.dtype))
    return _shaped(pc.singular_values(x._x), (*x.shape[:-2], k))


def trace(x, /, *, offset=0, dtype=None):
    return sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    _floats("vector_norm", x)
    size = abs(x)
    if ord == math.inf:
        return max(size, axis=axis, keepdims=keepdims)
    if ord == -math.inf:
        return min(size, axis=axis, keepdims=keepdims)
    if ord == 0:
        count = not_equal(size, 0)
        return sum(astype(count, size.dtype), axis=axis, keepdims=keepdims)
    if ord == 1:
        return sum(size, axis=axis, keepdims=keepdims)
    if ord == 2:
        return sqrt(sum(multiply(size, size), axis=axis, keepdims=keepdims))
    total = sum(pow(size, float(ord)), axis=axis, keepdims=keepdims)
    return pow(total, 1.0 / ord)
