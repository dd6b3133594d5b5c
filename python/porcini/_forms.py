"""Arguments that NumPy's functions have and core's tables do not: what a call means that the tables did not take.

A form has the name of the table's function and calls it with what is left; NotImplemented lets the error stand."""

import functools
import inspect
import math
import numbers
import threading

import porcini as pc

from ._axes import axes_of, axis_of, integer
from ._entries import as_given, entries
from ._porcini import _operand

FORMS = {}

# Names of the forms that a thread is in: within one of them the tables have the last word.
_inside = threading.local()


def called(name, args, named):
    """What a call means, or NotImplemented."""
    form, inside = FORMS.get(name), _inside.__dict__.setdefault("names", set())
    if form is None or name in inside:
        return NotImplemented
    try:
        inspect.signature(form).bind(*args, **named)
    except TypeError:
        return NotImplemented
    inside.add(name)
    try:
        return form(*args, **named)
    finally:
        inside.discard(name)


def _form(*names):
    """Registers a form of functions of the tables: a function without the first parameter, which gets the table's."""

    def register(form):
        for name in names:
            FORMS[name] = functools.partial(form, getattr(pc, name))
        return form

    return register


@_form("hsum", "hprod", "hmax", "hmin", "hmean", "var", "std", "cumsum", "cumprod", "nansum", "nanprod", "nanmean", "nanvar", "nanstd")
def _of_type(reduce, x, *args, dtype=None, initial=None, **named):
    if dtype is None and initial is None:
        return reduce(x, *args, **named)
    joined = {"hsum": lambda a, b: a + b, "hprod": lambda a, b: a * b, "hmax": pc.maximum, "hmin": pc.minimum}
    name = reduce.__name__
    if initial is not None and name not in joined:
        return NotImplemented
    x = _operand(x)
    if dtype is not None:
        x = x.astype(dtype)
    if initial is not None and x.size == 0 and name in ("hmax", "hmin"):
        # There is none of no entries, but a sum, which has the shape.
        return pc.full_like(pc.hsum(x, *args, **named).astype(x.dtype), initial)
    found = reduce(x, *args, **named)
    found = found if initial is None else joined[name](found, initial)
    return found if dtype is None else found.astype(dtype)


@_form("clip")
def _clip(clip, x, a_min=None, a_max=None, *, min=None, max=None):
    low, high = (min if a_min is None else a_min), (max if a_max is None else a_max)
    if low is not None and high is not None:
        return clip(x, low, high)
    if low is not None:
        return pc.maximum(x, low)
    return _operand(x) if high is None else pc.minimum(x, high)


@_form("diff")
def _diff(diff, x, n=1, axis=-1):
    if n < 0:
        raise ValueError(f"diff: got {n} times, expected 0 or more")
    x = _operand(x)
    for _ in range(n):
        x = diff(x, axis)
    return x


@_form("linspace")
def _linspace(linspace, start, stop, num=50, endpoint=True, **named):
    return linspace(start, stop, num, endpoint, **named)


@_form("logspace", "geomspace")
def _in_ratio(made, start, stop, num=50, **named):
    return made(start, stop, num, **named)


def _is_type(dtype):
    return dtype is None or pc._porcini._lane_type_name(dtype) is not None


def _is_complex(number):
    return isinstance(number, numbers.Complex) and not isinstance(number, numbers.Real)


def _stretched(number, dtype, shape):
    return pc.broadcast_to(pc.reshape(pc.asarray(number, dtype=dtype), ()), shape)


@_form("zeros", "ones")
def _filled(made, shape, dtype):
    return made(shape, dtype=dtype) if _is_type(dtype) else NotImplemented


@_form("full")
def _full(full, shape, fill_value, dtype=None):
    if _is_complex(fill_value):
        return _stretched(fill_value, dtype, shape)
    return full(shape, fill_value, dtype=dtype) if _is_type(dtype) else NotImplemented


@_form("zeros_like", "ones_like", "full_like")
def _like(like, x, *args, dtype=None):
    if not _is_type(dtype):
        return NotImplemented
    x = _operand(x)
    if any(map(_is_complex, args)):
        return _stretched(*args, x.dtype if dtype is None else dtype, x.shape)
    return like(x if dtype is None else x.astype(dtype), *args)


@_form("unique")
def _unique(unique, x, return_index=False, return_inverse=False, return_counts=False):
    values, inverse = pc.unique_inverse(x)
    found = [values]
    if return_index:
        places = pc.ravel(inverse).astype(pc.UInt32)
        found.append(pc.segment_min(pc.arange(places.size), places, values.size))
    if return_inverse:
        found.append(inverse)
    if return_counts:
        found.append(pc.unique_counts(x)[1])
    return tuple(found) if found[1:] else values


@_form("quantile", "percentile", "nanquantile", "nanpercentile")
def _linear(quantile, x, q, *args, method="linear", **named):
    if method != "linear":
        raise TypeError(f"{quantile.__name__}: got the method {method!r}, expected 'linear'")
    return quantile(x, q, *args, **named)


@_form("meshgrid")
def _meshgrid(meshgrid, *arrays, indexing="xy"):
    if indexing not in ("xy", "ij"):
        raise TypeError(f"meshgrid: got indexing={indexing!r}, expected 'xy' or 'ij'")
    return meshgrid(*arrays) if indexing == "xy" else meshgrid(*arrays[::-1])[::-1]


@_form("split")
def _split(split, given, places, axis=0):
    x = entries(given)
    if not hasattr(places, "__len__"):
        return NotImplemented if x is given else [as_given(given, part) for part in split(x, places, axis)]
    axis = axis_of("split", axis, x.ndim)
    before = (slice(None),) * axis
    ends = [0, *(integer("split", "a place", place) for place in places), x.shape[axis]]
    return [as_given(given, x[(*before, slice(start, end))]) for start, end in zip(ends, ends[1:])]


@_form("tensordot")
def _tensordot(tensordot, a, b, axes=2):
    if not hasattr(axes, "__len__"):
        return tensordot(a, b, integer("tensordot", "axes", axes))
    first, second = (list(own) if hasattr(own, "__len__") else [own] for own in axes)
    return tensordot(a, b, first, second)


@_form("expand_dims")
def _expand_dims(expand_dims, x, axis):
    if not isinstance(axis, (list, tuple)):
        return NotImplemented
    x = _operand(x)
    for place in sorted(axes_of("expand_dims", axis, x.ndim + len(axis))):
        x = expand_dims(x, place)
    return x


@_form("squeeze")
def _squeeze(squeeze, x, axis):
    if not isinstance(axis, (list, tuple)):
        return NotImplemented
    x = _operand(x)
    for place in sorted(axes_of("squeeze", axis, x.ndim), reverse=True):
        x = squeeze(x, place)
    return x


@_form("moveaxis")
def _moveaxis(moveaxis, x, source, destination):
    if not isinstance(source, (list, tuple)):
        return NotImplemented
    x = _operand(x)
    source, destination = axes_of("moveaxis", source, x.ndim), axes_of("moveaxis", destination, x.ndim)
    if len(source) != len(destination):
        raise ValueError(f"moveaxis: got {len(source)} axes and {len(destination)} places of axes, expected as many")
    order = [place for place in range(x.ndim) if place not in source]
    for to, place in sorted(zip(destination, source)):
        order.insert(to, place)
    return pc.permute(x, order)


@_form("norm")
def _norm(norm, x, ord=None, axis=None, keepdims=False):
    x = _operand(x)
    n_axes = x.ndim if axis is None else len(axis) if hasattr(axis, "__len__") else 1
    if ord is None or ord == "fro" and n_axes == 2:
        return norm(x, axis, keepdims)
    if isinstance(ord, str) and n_axes != 2:
        raise TypeError(f"norm: got ord={ord!r} of {n_axes} axes, expected a number of one axis, 'fro' or 'nuc' of a matrix")
    if x.ndim == 2 and axis is None:
        found = _norm_of_matrix(x, ord)
        return pc.reshape(found, [1, 1]) if keepdims else found
    return norm(x, axis, keepdims, ord) if n_axes == 1 else NotImplemented


def _norm_of_matrix(x, ord):
    if ord == "nuc":
        return pc.hsum(pc.singular_values(x))
    if abs(ord) not in (1, 2, math.inf):
        raise TypeError(f"norm: got ord={ord!r} of a matrix, expected 1, 2, inf, their negatives, 'fro' or 'nuc'")
    of = {1: lambda: pc.hsum(abs(x), 0), 2: lambda: pc.singular_values(x), math.inf: lambda: pc.hsum(abs(x), 1)}
    return (pc.hmin if ord < 0 else pc.hmax)(of[abs(ord)]())


@_form("fft", "rfft", "ifft", "irfft")
def _transform(transform, x, n=None, axis=-1, norm="backward"):
    if norm not in (None, "backward", "ortho", "forward"):
        raise TypeError(f"{transform.__name__}: got norm={norm!r}, expected 'backward', 'ortho' or 'forward'")
    x = _operand(x)
    found = transform(x, n, axis)
    if norm in (None, "backward"):
        return found
    is_inverse = transform.__name__.startswith("i")
    size = found.shape[axis] if is_inverse else n or x.shape[axis]
    size = math.sqrt(size) if norm == "ortho" else size
    return found * size if is_inverse else found / size


@_form("fftfreq", "rfftfreq")
def _frequencies(made, n, d=1.0):
    return made(n, d)


@_form("hanning", "hamming", "blackman", "bartlett", "kaiser")
def _window(made, M, *beta, **named):
    return made(M, *beta, **named)


@_form("vander")
def _vander(vander, x, N=None, increasing=False):
    return vander(x, N, increasing)
