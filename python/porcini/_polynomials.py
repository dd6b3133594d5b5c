"""Polynomials as polyval, polyfit and roots have them: rows of coefficients, the highest power first."""

import operator

import porcini as pc

from ._axes import integer
from ._entries import as_given, entries, has_complex_lanes
from ._porcini import _operand


def _row(op, p):
    p = entries(p)
    if p.ndim > 1:
        raise TypeError(f"{op}: got {p.ndim} axes, expected a row of coefficients")
    return pc.reshape(p, [-1])


def _times(op, m):
    m = integer(op, "the number of times", m)
    if m < 0:
        raise ValueError(f"{op}: got {m} times, expected 0 or more")
    return range(m)


def _of_rows(op, of, a, b):
    """What is made of two rows of coefficients: complex lanes again where one of them is such."""
    return as_given(a if has_complex_lanes(a) else b, of(_row(op, a), _row(op, b)))


def _as_long(of):
    """An operation of both with zeros in front of the shorter one."""

    def of_both(a, b):
        n = max(a.size, b.size)
        return of(pc.pad(a, [n - a.size, 0]), pc.pad(b, [n - b.size, 0]))

    return of_both


def polyadd(a, b):
    """The sum of two polynomials.

    >>> pc.polyadd(pc.Float([1, 1]), pc.Float([1, 0, 2]))
    [1, 1, 3]
    """
    return _of_rows("polyadd", _as_long(operator.add), a, b)


def polysub(a, b):
    """The difference of two polynomials.

    >>> pc.polysub(pc.Float([1, 1]), pc.Float([1, 0, 2]))
    [-1,  1, -1]
    """
    return _of_rows("polysub", _as_long(operator.sub), a, b)


def polymul(a, b):
    """The product of two polynomials.

    >>> pc.polymul(pc.Float([1, 1]), pc.Float([1, -1]))
    [1, 0, -1]
    """
    return _of_rows("polymul", pc.convolve, a, b)


def polydiv(a, b):
    """The quotient of two polynomials and what is left: a tuple. It has one coefficient fewer than b, zeros too.

    >>> pc.polydiv(pc.Float([3, 5, 2]), pc.Float([2, 1]))
    ([ 1.5, 1.75], [0.25])
    """
    given, a, b = a if has_complex_lanes(a) else b, _row("polydiv", a), _row("polydiv", b)
    n, rest, quotient = b.size, a / 1, []
    for _ in range(a.size - n + 1):
        quotient.append(rest[:1] / b[:1])
        rest = pc.concat([rest[1:n] - quotient[-1] * b[1:], rest[n:]])
    # What is of a lower degree is left over as a whole, of a constant nothing.
    quotient = pc.concat(quotient) if quotient else pc.zeros_like(rest[:1])
    return as_given(given, quotient), as_given(given, rest if rest.size else pc.zeros_like(quotient[:1]))


def polyder(p, m=1):
    """The derivative of a polynomial, or the one of order m.

    >>> pc.polyder(pc.Float([1, 2, 3]))
    [2, 2]
    """
    given, p = p, _row("polyder", p)
    for _ in _times("polyder", m):
        n = p.size
        p = p[: n - 1] * pc.arange(n - 1, 0, -1).astype(p.dtype) if n > 1 else pc.zeros_like(p)
    return as_given(given, p)


def polyint(p, m=1, k=0):
    """The integral of a polynomial, or the one of order m, with k as the constant of each, or a list of them.

    >>> pc.polyint(pc.Float([2, 2]))
    [1, 2, 0]
    """
    given, p, times = p, _row("polyint", p), _times("polyint", m)
    constants = list(k) if hasattr(k, "__len__") else [k]
    constants = constants * m if len(constants) == 1 else constants
    if len(constants) < m:
        raise ValueError(f"polyint: got {len(constants)} constants for {m} times, expected one for each")
    for _, constant in zip(times, constants):
        parts = p / pc.arange(p.size, 0, -1).astype(p.dtype)
        p = pc.concat([parts, _operand([constant]).astype(parts.dtype)])
    return as_given(given, p)
