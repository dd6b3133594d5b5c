"""Arguments that NumPy's functions have and core's tables do not: what a call means that the tables did not take.

A form has the name of the table's function and calls it with what is left; NotImplemented lets the error stand."""

import math
import numbers

import porcini as pc

from ._axes import axes_of, axis_of, integer, within
from ._form import called, described, form as _form  # noqa: F401
from ._porcini import _operand

# Families with a file of their own.
from . import (  # noqa: F401 isort: skip
    _edges,
    _fourier_forms,
    _linear_forms,
    _packed,
    _quantiles,
    _reductions,
    _signal_forms,
    _statistics_forms,
)


@_form("clip")
def _clip(clip, x, a_min=None, a_max=None, *, min=None, max=None):
    """As NumPy has it: a bound that is None, or left out, is none."""
    low, high = (min if a_min is None else a_min), (max if a_max is None else a_max)
    if low is not None and high is not None:
        return clip(x, low, high)
    if low is not None:
        return pc.maximum(x, low)
    return _operand(x) if high is None else pc.minimum(x, high)


def _end(x, axis, entries):
    """What is put in front of x or behind it: a number is one more entry in its type, in every line."""
    if entries is None:
        return []
    if not isinstance(entries, numbers.Number):
        entries = _operand(entries)
        return [entries if entries.ndim > 0 else _in_every_line(x, axis, entries)]
    # A fraction beside integers keeps its digits.
    is_kept = isinstance(entries, int) or "int" not in x.dtype
    return [_in_every_line(x, axis, pc.full(1, entries, dtype=x.dtype) if is_kept else _operand(entries))]


def _in_every_line(x, axis, entry):
    return pc.broadcast_to(entry, [1 if place == axis else extent for place, extent in enumerate(x.shape)])


@_form("diff", gives_rows=True)
def _diff(diff, x, n=1, axis=-1, prepend=None, append=None):
    """As NumPy has it: n times, with the entries of prepend= in front and those of append= behind; a number is one in every line."""
    if n < 0:
        raise ValueError(f"diff: got {n} times, expected 0 or more")
    x = _operand(x)
    if prepend is not None or append is not None:
        axis = axis_of("diff", axis, x.ndim)
        x = pc.concat([*_end(x, axis, prepend), x, *_end(x, axis, append)], axis)
    for _ in range(n):
        x = diff(x, axis)
    return x


@_form("linspace")
def _linspace(linspace, start, stop, num=50, endpoint=True, **named):
    """The names that NumPy has, and its 50 numbers where none is told."""
    return linspace(start, stop, num, endpoint, **named)


@_form("logspace", "geomspace")
def _in_ratio(made, start, stop, num=50, endpoint=True, **named):
    """The names that NumPy has, and its 50 numbers; with endpoint=False the last one lies a step before the end."""
    if not endpoint and num > 0:
        # Of as many numbers the last one then lies a step before the end.
        part = (num - 1) / num
        stop = start + (stop - start) * part if made.__name__ == "logspace" else start * (stop / start) ** part
    return made(start, stop, num, **named)


def _is_type(dtype):
    return dtype is None or pc._porcini._lane_type_name(dtype) is not None


def _may_be_type(dtype):
    """Whether it is meant as a type; a text that is none is told of as such."""
    return _is_type(dtype) or isinstance(dtype, str)


def _is_complex(number):
    return isinstance(number, numbers.Complex) and not isinstance(number, numbers.Real)


def _stretched(number, dtype, shape):
    return pc.broadcast_to(pc.reshape(pc.asarray(number, dtype=dtype), ()), shape)


@_form("zeros", "ones")
def _filled(made, shape, dtype):
    """With the type in second place, as NumPy has it."""
    return made(shape, dtype=dtype) if _may_be_type(dtype) else NotImplemented


@_form("full")
def _full(full, shape, fill_value, dtype=None):
    """With the type in third place, and complex numbers."""
    if _is_complex(fill_value):
        return _stretched(fill_value, dtype, shape)
    return full(shape, fill_value, dtype=dtype) if _may_be_type(dtype) else NotImplemented


@_form("zeros_like", "ones_like", "full_like")
def _like(like, x, *args, fill_value=None, dtype=None, shape=None):
    """With lanes of another type, of vectors, matrices and complex numbers too, or of another shape=."""
    args = args if fill_value is None else (*args, fill_value)
    is_full = like.__name__ == "full_like"
    if len(args) > is_full:
        # The type in the next place, as NumPy has it.
        *args, dtype = args
    if not _may_be_type(dtype) or len(args) != is_full:
        return NotImplemented
    x = _operand(x)
    if shape is not None:
        value = args[0] if args else like.__name__ == "ones_like"
        return pc.full(shape, value, dtype=x.dtype if dtype is None else dtype)
    if dtype is not None and "complex" in x.dtype and "complex" not in (pc._porcini._lane_type_name(dtype) or ""):
        x = pc.real(x)
    if not isinstance(x, pc.Tensor) and x.ndim > 1:
        made = getattr(type(x), like.__name__.removesuffix("_like"))(*args, x.shape[-1])
        return made if dtype is None else made.astype(dtype)
    if any(map(_is_complex, args)):
        return _stretched(*args, x.dtype if dtype is None else dtype, x.shape)
    return like(x if dtype is None else x.astype(dtype), *args)


@_form("sort", "argsort")
def _order(order, x, axis=-1, kind=None, *, stable=None, descending=False):
    """With descending=True the largest first. Equal entries keep their order, whatever kind= and stable= say."""
    order = getattr(pc, f"{order.__name__}_desc") if descending else order
    return order(x) if axis == -1 else order(x, axis)


@_form("partition")
def _partition(partition, x, kth, axis=-1):
    """As NumPy has it: entry kth of those in order along an axis in its place, for all are."""
    return pc.sort(x) if axis == -1 else pc.sort(x, axis)


@_form("where")
def _where(where, mask):
    """Of one mask the numbers of the entries where it is true, as nonzero."""
    return pc.nonzero(mask)


@_form("select")
def _select(select, condlist, choicelist, default=0):
    """As NumPy has it: of each lane the choice whose condition is true, of several the first; default= where none is."""
    if not isinstance(condlist, (list, tuple)) or not isinstance(choicelist, (list, tuple)):
        return NotImplemented
    if len(condlist) != len(choicelist):
        raise ValueError(f"select: got {len(condlist)} conditions and {len(choicelist)} choices, expected as many")
    if not condlist:
        raise ValueError("select: got no conditions, expected at least one")
    found = default
    for condition, choice in list(zip(condlist, choicelist))[::-1]:
        found = select(condition, choice, found)
    return found


@_form("compress")
def _compress(compress, condition, x=None, axis=None):
    """As NumPy has it, with the mask in front, which may be shorter; as Dr.Jit has it, of a mask alone the numbers of the lanes
    where it is true."""
    is_row, condition = hasattr(condition, "__len__"), _operand(condition)
    if condition.dtype != "bool":
        return NotImplemented
    if x is None:
        return pc.flatnonzero(condition)
    x, axis = (pc.ravel(x), 0) if axis is None else (_operand(x), axis)
    if is_row and condition.size < x.shape[axis]:
        x = pc.take(x, pc.arange(condition.size), axis)
    return compress(x, condition, axis)


@_form("take")
def _take(take, x, index, axis=0, mode="raise"):
    """With mode="wrap" numbers out of bounds count on from the other end, with mode="clip" they are those at the ends."""
    if mode == "raise":
        return take(x, index, axis)
    x, axis = (pc.ravel(x), 0) if axis is None else (_operand(x), axis)
    return take(x, within("take", mode, _operand(index), x.shape[axis_of("take", axis, x.ndim)]), axis)


@_form("isin")
def _isin(isin, x, values, *, assume_unique=False, invert=False, kind=None):
    """With invert=True the others; assume_unique= and kind= change nothing."""
    found = isin(x, values)
    return ~found if invert else found


@_form("setdiff1d")
def _setdiff1d(setdiff1d, a, b, assume_unique=False):
    """With assume_unique=True in the order of a, what is there twice too."""
    a = pc.ravel(_operand(a))
    return pc.compress(a, ~pc.isin(a, b)) if assume_unique else setdiff1d(a, b)


@_form("concat")
def _concat(concat, arrays, axis=0, *, dtype=None, casting="same_kind"):
    """With dtype= in lanes of that type; casting= changes nothing."""
    if dtype is None:
        return concat(arrays, axis)
    return concat([_operand(x).astype(dtype) for x in arrays], axis)


@_form("eye")
def _eye(eye, N, M=None, k=0, **named):
    """The names that NumPy has for rows and columns."""
    return eye(N, N if M is None else M, k, **named)


@_form("cross")
def _cross(cross, a, b, axis=-1):
    """Along an axis."""
    return pc.moveaxis(cross(*(pc.moveaxis(_operand(x), axis, -1) for x in (a, b))), -1, axis)


@_form("psum")
def _psum(psum, x, exclusive=False, reverse=False):
    """With exclusive=True without the lane itself, with reverse=True from the end on."""
    if exclusive and reverse:
        return pc.reverse(pc.psum_exclusive(pc.reverse(x)))
    return pc.psum_exclusive(x) if exclusive else pc.psum_reverse(x) if reverse else psum(x)


@_form("block_prefix_sum")
def _block_psum(block_prefix_sum, x, n, exclusive=False, reverse=False):
    """With exclusive=True without the lane itself, with reverse=True from the end of each block on."""
    x = _operand(x)
    if reverse:
        # From the other end the last block must be as long as the others.
        return NotImplemented if x.size % n else pc.reverse(_block_psum(block_prefix_sum, pc.reverse(x), n, exclusive))
    found = block_prefix_sum(x, n)
    return pc.select(pc.arange(found.size) % n == 0, 0, pc.roll(found, 1)) if exclusive else found


@_form("enable_grad", takes_lanes=True)
def _enable_grad(enable_grad, *values):
    """Of several at once."""
    for x in values:
        enable_grad(x)


@_form("interp")
def _interp(interp, x, xp, fp, left=None, right=None, period=None):
    """With left= in front of the first place and right= behind the last; with period= places come again, and need no order.
    Values may be complex."""
    if "complex" in _operand(fp).dtype:
        parts = [[None if of is None else part(of) for of in (fp, left, right)] for part in (pc.real, pc.imag)]
        re, im = (_interp(interp, x, xp, *own, period) for own in parts)
        return (pc.TensorXz if re.dtype == "float64" else pc.TensorXc)(re, im)
    if period is not None:
        period = abs(period)
        if period == 0:
            raise ValueError("interp: got period=0, expected the distance at which places come again")
        return interp(_operand(x) % period, *_around(_operand(xp) % period, _operand(fp), period))
    found = interp(x, xp, fp)
    x, xp = _operand(x), _operand(xp)
    found = found if left is None else pc.where(x < xp[:1], left, found)
    return found if right is None else pc.where(x > xp[-1:], right, found)


def _around(xp, fp, period):
    """Places in order with those of the neighbouring periods beside them, and their values."""
    order = pc.argsort(xp)
    xp, fp = pc.gather(xp, order), pc.gather(fp, order)
    return pc.concat([xp[-1:] - period, xp, xp[:1] + period]), pc.concat([fp[-1:], fp, fp[:1]])


@_form("trapezoid")
def _trapezoid(trapezoid, y, x=None, dx=1.0, axis=-1):
    """With dx= between all places."""
    return trapezoid(y, dx if x is None else x, axis)


@_form("cumulative_trapezoid", gives_rows=True)
def _cumulative_trapezoid(cumulative_trapezoid, y, x=None, dx=1.0, axis=-1, initial=None):
    """With dx= between all places; initial= is put in front: as many entries as y has."""
    found = cumulative_trapezoid(y, dx if x is None else x, axis)
    if initial is None:
        return found
    axis = axis_of("cumulative_trapezoid", axis, found.ndim)
    return pc.concat([*_end(found, axis, initial), found], axis)


@_form("searchsorted")
def _searchsorted(searchsorted, a, v, side="left", sorter=None):
    """The names that NumPy has; with sorter= of the lanes of a in that order, as argsort gives it."""
    return searchsorted(a if sorter is None else pc.take(_operand(a), sorter), v, side)


@_form("one_hot")
def _one_hot(one_hot, x, num_classes, *, dtype=None, axis=-1):
    """The names that JAX has: the numbers along another axis, in lanes of another type."""
    found = one_hot(x, num_classes)
    return pc.moveaxis(found if dtype is None else found.astype(dtype), -1, axis)


@_form("rot90")
def _rot90(rot90, x, k=1, axes=(0, 1)):
    """So many quarter turns, from the first of two axes to the second."""
    x = _operand(x)
    axes = axes_of("rot90", axes, x.ndim)
    return pc.moveaxis(rot90(pc.moveaxis(x, axes, [0, 1]), k), [0, 1], axes)


def _is_turned(made, order):
    if order not in ("C", "F", "A", "K"):
        raise TypeError(f"{made.__name__}: got order={order!r}, expected 'C' or 'F'")
    return order == "F"


@_form("reshape")
def _reshape(reshape, x, shape, *last, order="C"):
    """With order="F", by place too, the first axis runs fastest. With a class in front of that class: reshape(TensorXf, x, shape)."""
    if isinstance(x, type):
        return x(_reshape(reshape, shape, *last, order=order))
    order = last[0] if last else order
    if not _is_turned(reshape, order):
        return reshape(x, shape)
    return _turned(reshape(_turned(_operand(x)), shape[::-1] if hasattr(shape, "__len__") else shape))


@_form("ravel", "flatten")
def _ravel(ravel, x, order="C"):
    """With order="F" the first axis runs fastest."""
    return ravel(_turned(_operand(x)) if _is_turned(ravel, order) else x)


def _turned(x):
    """The axes in the other order."""
    return pc.permute(x, list(range(x.ndim))[::-1]) if x.ndim > 1 else x


@_form("unique")
def _unique(unique, x, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True):
    """A tuple with what is asked for behind the values: where each stands first, the number of each entry's value, counts."""
    if not equal_nan:
        raise TypeError("unique: got equal_nan=False, expected True: NaN is one value")
    along = () if axis is None else (axis,)
    if not (return_index or return_inverse or return_counts):
        return unique(x, *along)
    values, *others = pc.unique_all(x, *along)
    asked = zip((return_index, return_inverse, return_counts), others)
    return (values, *(found for is_asked, found in asked if is_asked))


@_form("intersect1d")
def _intersect1d(intersect1d, a, b, assume_unique=False, return_indices=False):
    """With return_indices=True a tuple: the values, and where each stands first in both; assume_unique= changes nothing."""
    values = intersect1d(a, b)
    if not return_indices:
        return values
    return (values, *(pc.gather(first, pc.flatnonzero(pc.isin(known, values))) for known, first in (pc.unique_all(x)[:2] for x in (a, b))))


@_form("nan_to_num")
def _nan_to_num(nan_to_num, x, *args, copy=True, **named):
    """As above; copy= changes nothing, x stays what it is."""
    return nan_to_num(x, *args, **named)


@_form("unravel_index")
def _unravel_index(unravel_index, indices, shape, order="C"):
    """The names that NumPy has; with order="F" the first axis runs fastest."""
    if not _is_turned(unravel_index, order):
        return unravel_index(indices, shape)
    return unravel_index(indices, list(shape)[::-1])[::-1]


@_form("meshgrid")
def _meshgrid(meshgrid, *arrays, indexing="xy", sparse=False, copy=True):
    """Of any number of arrays, in one row each, in NumPy's order: the last runs fastest, but that with indexing="xy" the first two
    have changed places, so that of two the first does. copy= changes nothing.

    >>> pc.meshgrid(pc.Int32([0, 1]), pc.Int32([5, 6]), pc.Int32([8, 9]))
    [[0, 0, 1, 1, 0, 0, 1, 1], [5, 5, 5, 5, 6, 6, 6, 6], [8, 9, 8, 9, 8, 9, 8, 9]]
    """
    if sparse:
        raise TypeError("meshgrid: got sparse=True, expected False: pc.ix_(x, y) has an axis for each")
    if indexing not in ("xy", "ij"):
        raise TypeError(f"meshgrid: got indexing={indexing!r}, expected 'xy' or 'ij'")
    arrays = [_operand(x) for x in arrays]
    # From that which runs fastest.
    order = list(range(len(arrays)))[::-1]
    if indexing == "xy" and len(arrays) > 1:
        order[-2:] = order[-1], order[-2]
    found = dict(zip(order, _grid(meshgrid, [arrays[place] for place in order])))
    return [found[place] for place in range(len(arrays))]


def _grid(meshgrid, arrays):
    """All their entries beside each other, of which the first runs fastest."""
    if len(arrays) in (2, 3) and not any("complex" in x.dtype for x in arrays):
        return meshgrid(*arrays)
    arrays = [pc.ravel(x) for x in arrays]
    sizes = [x.size for x in arrays]
    numbers_of_all, found, n_before = pc.arange(math.prod(sizes)), [], 1
    for x, size in zip(arrays, sizes):
        found.append(pc.take(x, numbers_of_all // n_before % size))
        n_before *= size
    return found


@_form("split")
def _split(split, x, places, axis=0):
    """Of the parts between places."""
    if not hasattr(places, "__len__"):
        return split(x, places, axis)
    x = _operand(x)
    axis = axis_of("split", axis, x.ndim)
    before = (slice(None),) * axis
    ends = [0, *(integer("split", "a place", place) for place in places), x.shape[axis]]
    return [x[(*before, slice(start, end))] for start, end in zip(ends, ends[1:])]


@_form("tensordot")
def _tensordot(tensordot, a, b, axes=2):
    """Over so many axes, the last of a and the first of b, or over lists of those of each."""
    if not hasattr(axes, "__len__"):
        return tensordot(a, b, integer("tensordot", "axes", axes))
    first, second = (list(own) if hasattr(own, "__len__") else [own] for own in axes)
    return tensordot(a, b, first, second)


@_form("moveaxis")
def _moveaxis(moveaxis, x, source, destination):
    """Several axes at once."""
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
    """ord= is of vectors a number, of matrices 1, 2, inf, their negatives, "fro" or "nuc". An integer in second place is an axis,
    where NumPy has the order: norm(a, ord=1)."""
    if ord is None:
        return norm(x, axis, keepdims)
    x = _operand(x)
    axes = range(x.ndim) if axis is None else axes_of("norm", axis if hasattr(axis, "__len__") else [axis], x.ndim)
    if ord == "fro" and len(axes) == 2:
        return norm(x, axis, keepdims)
    if isinstance(ord, str) and len(axes) != 2:
        raise TypeError(f"norm: got ord={ord!r} of {len(axes)} axes, expected a number of one axis, 'fro' or 'nuc' of a matrix")
    if len(axes) != 2:
        return norm(x, axis, keepdims, ord) if len(axes) == 1 else NotImplemented
    found = _norm_of_matrices(pc.moveaxis(x, list(axes), [-2, -1]), ord)
    return pc.reshape(found, [1 if i in axes else n for i, n in enumerate(x.shape)]) if keepdims else found


def _norm_of_matrices(x, ord):
    """The norms of the matrices in the last two axes."""
    if ord == "nuc":
        return pc.hsum(pc.singular_values(x), -1)
    if abs(ord) not in (1, 2, math.inf):
        raise TypeError(f"norm: got ord={ord!r} of a matrix, expected 1, 2, inf, their negatives, 'fro' or 'nuc'")
    of = {1: lambda: pc.hsum(abs(x), -2), 2: lambda: pc.singular_values(x), math.inf: lambda: pc.hsum(abs(x), -1)}
    return (pc.hmin if ord < 0 else pc.hmax)(of[abs(ord)](), -1)


@_form("hanning", "hamming", "blackman", "bartlett", "kaiser")
def _window(made, M, *beta, **named):
    """The name that NumPy has for the number of lanes."""
    return made(M, *beta, **named)


@_form("vander")
def _vander(vander, x, N=None, increasing=False):
    """The name that NumPy has for the number of columns."""
    return vander(x, N, increasing)
