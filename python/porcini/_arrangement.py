"""Functions of NumPy about shapes and places of entries, and types that several have in common, which core's tables do not
have: each in a few words of those that they have."""

import math
import numbers

import porcini as pc

from . import _porcini
from ._axes import axis_of
from ._dtype import DType
from ._entries import as_given, entries
from ._porcini import _operand

__all__ = """broadcast_shapes broadcast_arrays dstack block put_along_axis fill_diagonal tril_indices_from triu_indices_from
argpartition apply_along_axis result_type promote_types can_cast""".split()


# ---- shapes ----


def broadcast_shapes(*shapes):
    """The shape to which several broadcast: a tuple.

    >>> pc.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    rows = [tuple(shape) if hasattr(shape, "__len__") else (shape,) for shape in shapes]
    n_axes = max(map(len, rows), default=0)
    found = []
    for extents in zip(*((1,) * (n_axes - len(row)) + row for row in rows)):
        others = set(extents) - {1}
        if len(others) > 1:
            raise ValueError(f"broadcast_shapes: got {', '.join(map(str, rows))}, which do not broadcast")
        found.append(others.pop() if others else 1)
    return tuple(found)


def broadcast_arrays(*arrays):
    """Arrays as they broadcast to each other: a tuple.

    >>> pc.broadcast_arrays(pc.TensorXf([[1], [2]]), pc.Float([5, 6]))[1]
    [[5, 6],
     [5, 6]]
    """
    rows = [entries(x) for x in arrays]
    shape = broadcast_shapes(*(x.shape for x in rows))
    found = (x if tuple(x.shape) == shape else pc.broadcast_to(x, list(shape)) for x in rows)
    return tuple(as_given(x, of) for x, of in zip(arrays, found))


def dstack(arrays):
    """Arrays behind each other along a third axis.

    >>> pc.dstack([pc.Float([1, 2]), pc.Float([3, 4])])
    [[[1, 3],
      [2, 4]]]
    """
    return pc.concat([pc.atleast_3d(entries(x)) for x in arrays], 2)


def _depth(parts):
    return 1 + max(map(_depth, parts), default=0) if isinstance(parts, list) else 0


def block(arrays):
    """A matrix of blocks, or more axes: lists in lists, the innermost of them side by side.

    >>> pc.block([[pc.eye(2), pc.zeros((2, 1))], [pc.ones((1, 3))]])
    [[1, 0, 0],
     [0, 1, 0],
     [1, 1, 1]]
    """
    depth, n_axes = _depth(arrays), max([_depth(arrays), *(x.ndim for x in _blocks(arrays))])

    def joined(part, level):
        if isinstance(part, list):
            return pc.concat([joined(inner, level - 1) for inner in part], -level)
        x = entries(part)
        return pc.reshape(x, [1] * (n_axes - x.ndim) + list(x.shape))

    return joined(arrays, depth)


def _blocks(parts):
    return [block for part in parts for block in _blocks(part)] if isinstance(parts, list) else [entries(parts)]


# ---- places ----


def put_along_axis(x, index, values, axis):
    """Writes values to the entries of x that have these numbers along an axis, one for each line, as take_along_axis reads
    them; with axis=None to those of all in a row.

    >>> x = pc.TensorXf([[1, 2], [3, 4]])
    >>> pc.put_along_axis(x, pc.Int32([[1], [0]]), 9, 1)
    >>> x
    [[1, 9],
     [9, 4]]
    """
    index = _operand(index)
    if axis is None:
        row = pc.ravel(x)
        row[pc.ravel(index)] = values
        x[...] = pc.reshape(row, list(x.shape))
        return
    axis = axis_of("put_along_axis", axis, x.ndim)
    lines = (pc.reshape(pc.arange(n), [-1 if i == place else 1 for i in range(x.ndim)]) for place, n in enumerate(x.shape))
    x[tuple(index if place == axis else line for place, line in enumerate(lines))] = values


def fill_diagonal(x, value, wrap=False):
    """Writes a value to the diagonal of a matrix, or of more axes of one extent; entries of a row that is shorter come again.
    With wrap=True the diagonal of a tall matrix begins again a row below its end.

    >>> x = pc.zeros((2, 2))
    >>> pc.fill_diagonal(x, 3)
    >>> x
    [[3, 0],
     [0, 3]]
    """
    if x.ndim < 2:
        raise TypeError(f"fill_diagonal: got {x.ndim} axes, expected a matrix")
    if x.ndim > 2 and len(set(x.shape)) > 1:
        raise ValueError(f"fill_diagonal: got the shape {x.shape}, expected one extent along all axes")
    n_columns = x.shape[-1]
    rows = range(0, x.size, n_columns + 1) if wrap and x.ndim == 2 else range(min(x.shape))
    places = [divmod(place, n_columns) for place in rows] if wrap and x.ndim == 2 else [(i,) * x.ndim for i in rows]
    if not places:
        return
    value = pc.ravel(_operand(value))
    if value.size > 1:
        value = value[pc.arange(len(places)) % value.size]
    x[tuple(pc.Int64(list(axis)) for axis in zip(*places))] = value


def tril_indices_from(x, k=0):
    """The rows and the columns of the entries on and below a diagonal of x, as tril_indices.

    >>> pc.tril_indices_from(pc.zeros((2, 2)))
    ([0, 1, 1], [0, 0, 1])
    """
    return pc.tril_indices(x.shape[0], k, x.shape[1])


def triu_indices_from(x, k=0):
    """The rows and the columns of the entries on and above a diagonal of x, as triu_indices.

    >>> pc.triu_indices_from(pc.zeros((2, 2)))
    ([0, 0, 1], [0, 1, 1])
    """
    return pc.triu_indices(x.shape[0], k, x.shape[1])


def argpartition(x, kth, axis=-1):
    """The numbers that bring entry kth of those in order along an axis to its place, smaller ones in front: as argsort, which
    all are in order by.

    >>> pc.argpartition(pc.Float([3, 1, 2]), 1)
    [1, 2, 0]
    """
    return pc.argsort(x, axis)


def apply_along_axis(f, axis, x, *args, **named):
    """What a function makes of each line along an axis, in its place; other arguments go to it. It is called once a line: for few
    of them. One lane is a number, but for a tensor of an axis.

    >>> pc.apply_along_axis(pc.sum, 0, pc.TensorXf([[1, 2], [3, 4]]))
    [4, 6]
    """
    x = entries(x)
    axis = axis_of("apply_along_axis", axis, x.ndim)
    x = pc.moveaxis(x, axis, -1)
    shape = list(x.shape[:-1])
    lines = pc.reshape(x, [math.prod(shape), x.shape[-1]])
    if lines.shape[0] == 0:
        raise ValueError(f"apply_along_axis: got the shape {tuple(x.shape)}, expected at least one line")
    found = [_operand(f(lines[i], *args, **named)) for i in range(lines.shape[0])]
    own = [] if found[0].size == 1 and not isinstance(found[0], pc.Tensor) else list(found[0].shape)
    rows = pc.reshape(pc.stack([pc.reshape(one, own or [1]) for one in found]), shape + own)
    places = list(range(axis, axis + len(own)))
    return pc.moveaxis(rows, list(range(len(shape), len(shape) + len(own))), places) if own else rows


# ---- types ----


def _type_of(x):
    """The type that an array has or that something says; None of a number."""
    return None if isinstance(x, numbers.Number) else x.dtype if isinstance(x, pc.Array) else _porcini._lane_type_name(x) or _operand(x).dtype


def result_type(*arrays_and_types):
    """The type of lanes that arrays, types and numbers have together in operations.

    >>> pc.result_type(pc.Int32([1]), "float64", 2)
    'float64'
    """
    if not arrays_and_types:
        raise TypeError("result_type: got nothing, expected arrays or types")
    known = [found for found in map(_type_of, arrays_and_types) if found is not None]
    given = [x for x in arrays_and_types if isinstance(x, numbers.Number)]
    if not known:
        return sum(map(_operand, given[1:]), _operand(given[0])).dtype
    # Masks take the type of what they meet.
    others = [found for found in known if found != "bool"]
    given = [x for x in given if not isinstance(x, bool)]
    if not others:
        return sum(map(_operand, given[1:]), _operand(given[0])).dtype if given else DType("bool")
    found = pc.zeros(1, dtype=others[0])
    for other in others[1:]:
        found = found + pc.zeros(1, dtype=other)
    return sum(given, found).dtype


def promote_types(a, b):
    """The type of lanes that two have together.

    >>> pc.promote_types("int32", pc.Float)
    'float32'
    """
    return result_type(a, b)


# How many digits a type has, of integers bits, with the kinds in their order.
_KINDS, _DIGITS = "buifc", {"float16": 11, "float32": 24, "float64": 64, "complex64": 24, "complex128": 64}


def _keeps(source, target):
    """Whether a type has room for all that another one says; 64 bits count as kept by doubles, as NumPy has it."""
    order = _KINDS.index(target.kind) - _KINDS.index(source.kind)
    digits = [_DIGITS.get(of, of.itemsize * 8) for of in (source, target)]
    if source.kind == "b" or order < 0:
        return source.kind == "b"
    return digits[1] > digits[0] if (source.kind, target.kind) == ("u", "i") else digits[1] >= digits[0]


def can_cast(source, target, casting="safe"):
    """Whether lanes of a type become another one: with all that they say, with casting="same_kind" to fewer digits too,
    with "no" or "equiv" to the same one alone, with "unsafe" always.

    >>> pc.can_cast("int32", "float64"), pc.can_cast(pc.Float64, pc.Float), pc.can_cast("float64", "float32", "same_kind")
    (True, False, True)
    """
    source, target = (DType(result_type(of)) for of in (source, target))
    of = {
        "no": lambda: source == target,
        "equiv": lambda: source == target,
        "safe": lambda: _keeps(source, target),
        "same_kind": lambda: _KINDS.index(target.kind) >= _KINDS.index(source.kind),
        "unsafe": lambda: True,
    }
    if casting not in of:
        raise TypeError(f"can_cast: got casting={casting!r}, expected {', '.join(map(repr, of))}")
    return of[casting]()
