"""gather and scatter with a class or with components side by side, as Dr.Jit has them: those of lane i of k are lanes i*k .. i*k+k-1
of an array."""

import math

import porcini as pc

from ._form import form
from ._porcini import _operand


def _where(active):
    """The mask of the lanes that take part, as the tables have it: left out where these are all."""
    return () if active is None or active is True else (active,)


def _places(index, k):
    """Where each of k components lies."""
    index = pc.UInt32(index) if isinstance(index, (list, tuple)) else _operand(index)
    first = (index if index.dtype.itemsize >= 4 else index.astype("int32")) * k
    return (first + j for j in range(k))


@form("gather", takes_lanes=True)
def _gather(gather, *args, mode=None, shape=None, **named):
    """With a class in front the lanes in it: gather(Float, x, index). Of a class with k components, gather(Vector2f, x, index,
    active), those of lane i lie side by side in x, from index[i]*k on. mode= changes nothing."""
    if shape is not None:
        raise TypeError("gather: got shape=.., expected none: write pc.reshape(pc.gather(x, index), shape)")
    if "dtype" in named or args and isinstance(args[0], type):
        return _of_class(gather, *args, **named)
    return gather(*args, **named)


def _of_class(gather, dtype, source, index, active=None):
    source, where = _operand(source), _where(active)
    k = 1 if issubclass(dtype, pc.Tensor) else math.prod(dtype(0).shape[:-1])
    if k == 1 or isinstance(source, pc.Tensor) or source.ndim > 1:
        found = gather(source, index, *where)
        return found if type(found) is dtype else dtype(found)
    return dtype(*(gather(source, place, *where) for place in _places(index, k)))


def _components(value):
    """Those of vectors, complex numbers and quaternions, of a matrix row by row."""
    if value.ndim < 3:
        return list(value)
    n = len(value)
    return [value[i, j] for i in range(n) for j in range(n)]


@form("scatter", "scatter_add", "scatter_min", "scatter_max", "scatter_and", "scatter_or", takes_lanes=True)
def _scatter(scatter, target, value, index, active=None, *, mode=None):
    """Of a value with k components and an array as target the components side by side: those of lane i go to the lanes from
    index[i]*k on. mode= changes nothing."""
    if isinstance(target, pc.Tensor) or target.ndim > 1 or not isinstance(value, pc.Array) or isinstance(value, pc.Tensor) or value.ndim < 2:
        return scatter(target, value, index, *_where(active))
    parts = _components(value)
    for part, place in zip(parts, _places(index, len(parts))):
        scatter(target, part, place, *_where(active))


@form("rotate", takes_lanes=True)
def _rotate(rotate, dtype, axis, angle):
    """rotate(Quaternion4f, axis, angle) is Quaternion4f.rotate(axis, angle), as Dr.Jit writes it."""
    return dtype.rotate(axis, angle) if isinstance(dtype, type) else NotImplemented
