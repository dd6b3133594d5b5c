"""Arguments that NumPy's functions have and core's tables do not: what a call means that the tables did not take.

A form has the name of the table's function and calls it with what is left; NotImplemented lets the error stand."""

import functools
import inspect
import math
import threading

import porcini as pc

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
        return NotImplemented
    x = pc.asarray(x) if dtype is None else pc.asarray(x).astype(dtype)
    if initial is None:
        return reduce(x, *args, **named)
    joined = {"hsum": lambda a, b: a + b, "hprod": lambda a, b: a * b, "hmax": pc.maximum, "hmin": pc.minimum}
    if reduce.__name__ not in joined:
        return NotImplemented
    if x.size == 0 and reduce.__name__ in ("hmax", "hmin"):
        return pc.asarray([initial], dtype=x.dtype)
    return joined[reduce.__name__](reduce(x, *args, **named), initial)


@_form("clip")
def _clip(clip, x, a_min=None, a_max=None, *, min=None, max=None):
    low, high = (min if a_min is None else a_min), (max if a_max is None else a_max)
    if low is not None and high is not None:
        return clip(x, low, high)
    if low is not None:
        return pc.maximum(x, low)
    return pc.asarray(x) if high is None else pc.minimum(x, high)


@_form("diff")
def _diff(diff, x, n=1, axis=-1):
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
    return dtype is not None and pc._porcini._lane_type_name(dtype) is not None


@_form("zeros", "ones")
def _filled(made, shape, dtype):
    return made(shape, dtype=dtype) if _is_type(dtype) else NotImplemented


@_form("full")
def _full(full, shape, fill_value, dtype=None):
    return full(shape, fill_value, dtype=dtype) if _is_type(dtype) else NotImplemented


@_form("zeros_like", "ones_like", "full_like")
def _like(like, x, *args, dtype=None):
    return like(pc.asarray(x).astype(dtype), *args) if _is_type(dtype) else NotImplemented


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
def _split(split, x, places, axis=0):
    if not isinstance(places, (list, tuple)):
        return NotImplemented
    x = pc.asarray(x)
    axis = axis % x.ndim
    before = (slice(None),) * axis
    ends = [0, *places, x.shape[axis]]
    return [x[(*before, slice(start, end))] for start, end in zip(ends, ends[1:])]


@_form("tensordot")
def _tensordot(tensordot, a, b, axes=2):
    if isinstance(axes, int):
        return tensordot(a, b, axes)
    first, second = ([own] if isinstance(own, int) else list(own) for own in axes)
    return tensordot(a, b, first, second)


@_form("expand_dims")
def _expand_dims(expand_dims, x, axis):
    if not isinstance(axis, (list, tuple)):
        return NotImplemented
    n = pc.asarray(x).ndim + len(axis)
    for place in sorted(place % n for place in axis):
        x = expand_dims(x, place)
    return x


@_form("squeeze")
def _squeeze(squeeze, x, axis):
    if not isinstance(axis, (list, tuple)):
        return NotImplemented
    n = pc.asarray(x).ndim
    for place in sorted((place % n for place in axis), reverse=True):
        x = squeeze(x, place)
    return x


@_form("moveaxis")
def _moveaxis(moveaxis, x, source, destination):
    if not isinstance(source, (list, tuple)):
        return NotImplemented
    n = pc.asarray(x).ndim
    source, destination = [place % n for place in source], [place % n for place in destination]
    order = [place for place in range(n) if place not in source]
    for to, place in sorted(zip(destination, source)):
        order.insert(to, place)
    return pc.permute(x, order)


@_form("norm")
def _norm(norm, x, ord=None, axis=None, keepdims=False):
    x = pc.asarray(x)
    if ord is None or ord == "fro":
        return norm(x, axis, keepdims)
    if x.ndim == 2 and axis is None:
        found = _norm_of_matrix(x, ord)
        return pc.reshape(found, [1, 1]) if keepdims else found
    is_of_vectors = isinstance(axis, int) or axis is None and x.ndim == 1
    return norm(x, axis, keepdims, ord) if is_of_vectors and not isinstance(ord, str) else NotImplemented


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
    found = transform(x, n, axis)
    if norm in (None, "backward"):
        return found
    is_inverse = transform.__name__.startswith("i")
    size = found.shape[axis] if is_inverse else n or pc.asarray(x).shape[axis]
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
