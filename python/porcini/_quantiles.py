"""The methods of NumPy's quantile beside the line between two neighbours, which core's tables have."""

import math

import porcini as pc

from ._axes import axes_of
from ._form import form
from ._porcini import _operand


def _between(a, b):
    """Places on lines between neighbours, as Hyndman and Fan number them by two parameters."""
    return lambda n, q: n * q + a + q * (1 - a - b) - 1


def _whole(of_number, of_array):
    """Rounding of a place, or of an array of them."""
    return lambda place: of_array(place) if isinstance(place, pc.Array) else of_number(place)


_floor, _ceil, _round = _whole(math.floor, pc.floor), _whole(math.ceil, pc.ceil), _whole(round, pc.round)

# The place of the quantile q among n entries in order, from 0: between two of them on their line.
_PLACES = {
    "lower": lambda n, q: _floor((n - 1) * q),
    "higher": lambda n, q: _ceil((n - 1) * q),
    "nearest": lambda n, q: _round((n - 1) * q),
    "midpoint": lambda n, q: (_floor((n - 1) * q) + _ceil((n - 1) * q)) / 2,
    "inverted_cdf": lambda n, q: _ceil(n * q - 1),
    # Halfway to the next one where it is whole, else the next one.
    "averaged_inverted_cdf": lambda n, q: (_floor(n * q - 1) + 1 + _ceil(n * q - 1)) / 2,
    # Halves to the even one as it is counted from 1.
    "closest_observation": lambda n, q: _round(n * q) - 1,
    "interpolated_inverted_cdf": _between(0, 1),
    "hazen": _between(0.5, 0.5),
    "weibull": _between(0, 0),
    "median_unbiased": _between(1 / 3, 1 / 3),
    "normal_unbiased": _between(3 / 8, 3 / 8),
}


@form("quantile", "percentile", "nanquantile", "nanpercentile")
def _quantile(quantile, x, q, axis=None, keepdims=False, *, method="linear", weights=None):
    """With NumPy's methods, as method="lower", "nearest" or "hazen"; q= may be a list, or have axes, which stand in front."""
    name = quantile.__name__
    if weights is not None:
        raise TypeError(f"{name}: got weights=, expected None: pc.repeat(x, counts) has entries several times")
    if method == "linear":
        has_axes = isinstance(q, (list, tuple)) and len(_extents(q)) > 1
        return quantile(x, pc.asarray(q, dtype="float64") if has_axes else q, axis, keepdims)
    if method not in _PLACES:
        raise TypeError(f"{name}: got the method {method!r}, expected {', '.join(map(repr, ['linear', *_PLACES]))}")
    x, scale = _operand(x), 100 if name.endswith("percentile") else 1
    axes = range(x.ndim) if axis is None else axes_of(name, axis if hasattr(axis, "__len__") else [axis], x.ndim)
    entries, shape = _last(x, list(axes)), [1 if i in axes else n for i, n in enumerate(x.shape)]
    parts = q.tolist() if hasattr(q, "tolist") else q
    extents = _extents(parts)
    found = _of_parts(entries, [part / scale for part in _in_one_row(parts)], method, name)
    if keepdims:
        found = pc.reshape(found, [found.shape[0], *shape])
    if len(extents) > 1:
        return pc.reshape(found, [*extents, *found.shape[1:]])
    # Of one row each is a lane.
    return found if extents or entries.ndim == 1 and not keepdims else found[0]


def _extents(parts):
    """The shape of lists in lists."""
    return [len(parts), *_extents(parts[0])] if hasattr(parts, "__len__") and len(parts) > 0 else []


def _in_one_row(parts):
    return [one for part in parts for one in _in_one_row(part)] if hasattr(parts, "__len__") else [parts]


def _last(x, axes):
    """The entries along axes as the last axis."""
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    x = pc.permute(x, kept + axes) if x.ndim > 1 else x
    return pc.reshape(x, [x.shape[i] for i in range(len(kept))] + [math.prod(x.shape[len(kept) :])])


def _of_parts(x, parts, method, name):
    """The quantiles along the last axis, which are the first; NaN where there is one, unless it is left out."""
    n, is_float = x.shape[-1], "float" in x.dtype
    for part in parts:
        if not 0 <= part <= 1 or n == 0:
            raise ValueError(f"{name}: got the part {part} of {n} entries, expected 0 to 1 of at least one")
    of = _among_known if name.startswith("nan") and is_float else _among_all
    found = of(x, parts, method)
    if is_float and of is _among_all:
        found = pc.where(pc.hsum(pc.isnan(x), -1, True) > 0, math.nan, found)
    return pc.ravel(found) if x.ndim == 1 else pc.moveaxis(found, -1, 0)


def _among_all(x, parts, method):
    n = x.shape[-1]
    places = [min(max(_PLACES[method](n, part), 0), n - 1) for part in parts]
    below, ordered = [math.floor(place) for place in places], pc.sort(x)
    found = pc.take(ordered, pc.Int64(below), -1)
    if all(isinstance(place, int) for place in places):
        return found
    # Integers as floats, on a line or not.
    above = pc.take(ordered, pc.Int64([min(i + 1, n - 1) for i in below]), -1)
    found, above = (entry if "float" in x.dtype else entry / 1 for entry in (found, above))
    return _on_the_way(found, above, pc.asarray([place - i for place, i in zip(places, below)], dtype=found.dtype))


def _among_known(x, parts, method):
    """Of the entries that are not NaN, of which each line has its own number; NaN of none."""
    ordered, n = pc.sort(x), pc.hsum(~pc.isnan(x), -1, True).astype("float64")
    place = pc.maximum(pc.minimum(_PLACES[method](n, pc.Float64(parts)), n - 1), 0)
    below = pc.floor(place)
    take = pc.take if x.ndim == 1 else pc.take_along_axis
    above = pc.maximum(pc.minimum(below + 1, n - 1), 0)
    found, above = (take(ordered, at.astype("int64"), -1) for at in (below, above))
    return _on_the_way(found, above, (place - below).astype(x.dtype))


def _on_the_way(found, above, rest):
    """A part of the way to the next entry. Beside an infinity it is that one, which the sum of both is too."""
    between = found + (above - found) * rest
    between = pc.where(pc.isnan(between), found + above, between)
    return pc.where(rest == 0, found, between)
