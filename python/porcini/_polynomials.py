"""Polynomials as polyval, polyfit and roots have them: rows of coefficients, the highest power first."""

import porcini as pc

from ._axes import integer
from ._porcini import _operand


def _row(op, p):
    p = _operand(p)
    if p.ndim > 1:
        raise TypeError(f"{op}: got {p.ndim} axes, expected a row of coefficients")
    return pc.reshape(p, [-1])


def _times(op, m):
    m = integer(op, "the number of times", m)
    if m < 0:
        raise ValueError(f"{op}: got {m} times, expected 0 or more")
    return range(m)


def _added(op, a, b, sign):
    a, b = _row(op, a), _row(op, b)
    n = max(a.size, b.size)
    return pc.pad(a, [n - a.size, 0]) + sign * pc.pad(b, [n - b.size, 0])


def polyadd(a, b):
    """The sum of two polynomials.

    >>> pc.polyadd(pc.Float([1, 1]), pc.Float([1, 0, 2]))
    [1, 1, 3]
    """
    return _added("polyadd", a, b, 1)


def polysub(a, b):
    """The difference of two polynomials.

    >>> pc.polysub(pc.Float([1, 1]), pc.Float([1, 0, 2]))
    [-1,  1, -1]
    """
    return _added("polysub", a, b, -1)


def polymul(a, b):
    """The product of two polynomials.

    >>> pc.polymul(pc.Float([1, 1]), pc.Float([1, -1]))
    [1, 0, -1]
    """
    return pc.convolve(_row("polymul", a), _row("polymul", b))


def polyder(p, m=1):
    """The derivative of a polynomial, or the one of order m.

    >>> pc.polyder(pc.Float([1, 2, 3]))
    [2, 2]
    """
    p = _row("polyder", p)
    for _ in _times("polyder", m):
        n = p.size
        p = p[: n - 1] * pc.arange(n - 1, 0, -1).astype(p.dtype) if n > 1 else pc.zeros_like(p)
    return p


def polyint(p, m=1, k=0):
    """The integral of a polynomial, or the one of order m, with k as the constant of each.

    >>> pc.polyint(pc.Float([2, 2]))
    [1, 2, 0]
    """
    p = _row("polyint", p)
    for _ in _times("polyint", m):
        parts = p / pc.arange(p.size, 0, -1).astype(p.dtype)
        p = pc.concat([parts, _operand([k]).astype(parts.dtype)])
    return p
