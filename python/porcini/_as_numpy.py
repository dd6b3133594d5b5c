"""Functions of NumPy whose names mean something else in the package: what np.dot(x, y) is of our values."""

import numbers

import porcini as pc


def _is_number(x):
    return isinstance(x, numbers.Number) or not isinstance(x, pc.Array) and getattr(x, "ndim", 1) == 0


def dot(a, b):
    if _is_number(a) or _is_number(b) or pc.ndim(a) == 0 or pc.ndim(b) == 0:
        return pc.multiply(a, b)
    if pc.ndim(b) > 2 and pc.ndim(a) > 1:
        return pc.tensordot(a, b, axes=([-1], [-2]))
    return pc.matmul(a, b)


def _may_be_nan(bound):
    return bound is not None and not (isinstance(bound, numbers.Real) and bound == bound)


def clip(a, a_min=None, a_max=None, *, min=None, max=None):
    low, high = (min if a_min is None else a_min), (max if a_max is None else a_max)
    if _may_be_nan(low) or _may_be_nan(high):
        # Ours go past a bound that is NaN.
        a = a if low is None else pc.maximum(a, low)
        return a if high is None else pc.minimum(a, high)
    return pc.clip(a, low, high)
