"""Arguments that NumPy's reductions have and core's tables do not: dtype=, initial=, where= and the like."""

import math

import porcini as pc

from ._axes import axes_of, axis_of
from ._entries import wide
from ._form import form
from ._porcini import _operand

_JOINED = {"sum": lambda a, b: a + b, "prod": lambda a, b: a * b, "max": pc.maximum, "min": pc.minimum}


def _of_type(x, dtype):
    x = _operand(x)
    return x if dtype is None else x.astype(dtype)


def _as_type(found, dtype):
    return found if dtype is None else found.astype(dtype)


def _mask(where):
    """The mask where=; None if it says nothing."""
    return None if where is None or where is True else _operand(where)


def _own(x, dtype):
    """The type of what is found in lanes that are wide: of halves their own."""
    return "float16" if dtype is None and x.dtype == "float16" else dtype


def _is_vector(x):
    return isinstance(x, pc.Array) and not isinstance(x, pc.Tensor) and x.ndim == 2 and "complex" not in x.dtype


def _of_vector(reduce, x, axis=None, keepdims=False):
    """Of a vector along its axes: those of components and of lanes, in this order, as Dr.Jit has it."""
    if keepdims:
        name = reduce.__name__.removeprefix("h")
        raise TypeError(f"{name}: got keepdims=True of a vector, expected False: pc.Tensor(v) is the tensor [lanes, components]")
    axes = (0, 1) if axis is None else axes_of(reduce.__name__, axis if hasattr(axis, "__len__") else [axis], 2)
    if list(axes) == [0]:
        return reduce(x)
    rows = pc.Tensor(x)
    return reduce(rows) if len(axes) > 1 else getattr(pc, f"Vector{len(x)}")(reduce(rows, 0))


@form("hsum", "hprod", "hmax", "hmin", "nansum", "nanprod", "nanmax", "nanmin")
def _combined(reduce, x, *args, dtype=None, initial=None, where=None, **named):
    """Other arguments as above. With dtype= in lanes of that type, from initial= on, of the entries where the mask where= is
    true; of extremes with where= initial= is what there is of none. A vector has the axes of components and of lanes."""
    where = _mask(where)
    if dtype is None and initial is None and where is None:
        return _of_vector(reduce, x, *args, **named) if _is_vector(x) else reduce(x, *args, **named)
    name = reduce.__name__.removeprefix("nan").removeprefix("h")
    x = _of_type(x, dtype)
    if where is not None:
        neutral = {"sum": 0, "prod": 1}.get(name, initial)
        if neutral is None:
            raise TypeError(f"{name}: got where= without initial=, which is the result of no entries")
        x = pc.where(where, x, neutral)
    if initial is not None and x.size == 0 and name in ("max", "min"):
        # There is none of no entries, but a sum, which has the shape.
        return pc.full_like(pc.hsum(x, *args, **named).astype(x.dtype), initial)
    found = reduce(x, *args, **named)
    return _as_type(found if initial is None else _JOINED[name](found, initial), dtype)


@form("hmean", "nanmean")
def _mean(mean, x, axis=None, keepdims=False, *, dtype=None, where=None):
    """With dtype= in lanes of that type, of the entries where the mask where= is true. A vector has the axes of components and of
    lanes."""
    x, where = _of_type(x, dtype), _mask(where)
    if where is None and _is_vector(x):
        return _of_vector(mean, x, axis, keepdims)
    if where is None:
        return _as_type(mean(x) if axis is None and not keepdims else mean(x, axis, keepdims), dtype)
    total, n = _sums(wide(x), where, axis, keepdims, mean.__name__ == "nanmean")
    return _as_type(total / n, _own(x, dtype))


def _sums(x, where, axis, keepdims, is_nan_left_out=False):
    """The sum of the entries where a mask is true, or of all, and how many they are."""
    ones = pc.ones_like(x)
    if is_nan_left_out:
        x, ones = pc.where(pc.isnan(x), 0, x), pc.where(pc.isnan(x), 0, ones)
    counted = (x, ones) if where is None else (pc.where(where, of, 0) for of in (x, ones))
    return (pc.hsum(of, axis, keepdims) for of in counted)


@form("var", "std", "nanvar", "nanstd")
def _spread(of, x, axis=None, keepdims=False, ddof=0, *, dtype=None, where=None, correction=None, mean=None):
    """With dtype= in lanes of that type, of the entries where the mask where= is true, correction= for ddof, around a mean= that
    is known."""
    x, ddof = _of_type(x, dtype), ddof if correction is None else correction
    where = _mask(where)
    if where is None and mean is None:
        return _as_type(of(x, axis, keepdims, ddof), dtype)
    name = of.__name__
    is_nan_left_out = name.startswith("nan")
    x, dtype = wide(x), _own(x, dtype)
    total, n = _sums(x, where, axis, True, is_nan_left_out)
    distance = x - (total / n if mean is None else mean)
    square = pc.real(distance * pc.conj(distance))
    total, n = _sums(square, where, axis, keepdims, is_nan_left_out)
    found = total / pc.maximum(n - ddof, 0)
    return _as_type(pc.sqrt(found) if name.endswith("std") else found, dtype)


@form("all", "any")
def _truth(reduce, x, *args, where=None, **named):
    """Of the entries where the mask where= is true. A vector has the axes of components and of lanes."""
    x, where = _operand(x), _mask(where)
    if where is None and _is_vector(x):
        return _of_vector(reduce, x, *args, **named)
    # Of numbers it says what to write.
    if where is None or x.dtype != "bool":
        return reduce(x, *args, **named)
    return reduce(pc.where(where, x, reduce.__name__ == "all"), *args, **named)


@form("cumsum", "cumprod")
def _accumulated(accumulate, x, axis=None, dtype=None, *, include_initial=False):
    """With dtype= in lanes of that type, with include_initial=True from 0, of products 1, on."""
    x = _of_type(x, dtype)
    found = _as_type(accumulate(x) if axis is None else accumulate(x, axis), dtype)
    if not include_initial:
        return found
    axis = 0 if axis is None else axis_of(accumulate.__name__, axis, found.ndim)
    shape = [1 if place == axis else extent for place, extent in enumerate(found.shape)]
    first = pc.zeros if accumulate.__name__ == "cumsum" else pc.ones
    return pc.concat([first(shape, dtype=found.dtype), found], axis)


@form("softmax", "log_softmax")
def _shares(of, x, axis=-1):
    """Along several axes, or with axis=None all."""
    x = _operand(x)
    if x.ndim == 1:
        return of(x)
    axes = None if axis is None else axes_of(of.__name__, axis if hasattr(axis, "__len__") else [axis], x.ndim)
    x = x - pc.hmax(x, axes, True)
    powers = pc.exp(x)
    total = pc.hsum(powers, axes, True)
    return powers / total if of.__name__ == "softmax" else x - pc.log(total)


@form("unwrap")
def _unwrap(unwrap, x, axis=-1, *, discont=None, period=math.tau):
    """With another period than a whole turn, of integers in integers; of jumps below discont= none is taken back."""
    x = _operand(x)
    # Differences of unsigned integers would wrap.
    x = x.astype("int64") if x.dtype.kind == "u" else x
    if not isinstance(period, int) and x.dtype.kind == "i":
        x = wide(x)
    half, is_even = (period / 2, True) if x.dtype.kind == "f" else (period // 2, period % 2 == 0)
    step = pc.diff(x, axis=axis)
    rest = (step + half) % period - half
    # Of half a period the one or the other way is as short: it keeps its own.
    rest = pc.where((rest == -half) & (step > 0), half, rest) if is_even else rest
    back = pc.where(abs(step) < (period / 2 if discont is None else discont), 0, rest - step)
    found = x + pc.cumsum(pc.concat([pc.zeros_like(pc.take(x, [0], axis)), back], axis), axis)
    return found if isinstance(x, pc.Tensor) else found.array
