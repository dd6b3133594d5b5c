"""Reductions by an operation that is an argument, as Dr.Jit has them, over the functions that say it in their names."""

import enum

import porcini as pc

from ._porcini import _operand


class ReduceOp(enum.Enum):
    """Operations of reduce, scatter_reduce and the like; Identity writes as scatter does."""

    Identity = "scatter"
    Add = "scatter_add"
    Mul = "scatter_mul"
    Min = "scatter_min"
    Max = "scatter_max"
    And = "scatter_and"
    Or = "scatter_or"


def _named(function, op, names):
    """What a function has for an operation."""
    if op not in names:
        got = f"ReduceOp.{op.name}" if isinstance(op, ReduceOp) else repr(op)
        known = ", ".join(f"ReduceOp.{known.name}" for known in names)
        raise TypeError(f"{function}: got {got} as op, expected one of {known}")
    return names[op]


_SCATTERS = {op: op.value for op in ReduceOp if op is not ReduceOp.Mul}


def scatter_reduce(op, target, value, index, active=None, *, mode=None):
    """Combines value with what is there in the lanes of target that index says: another name of scatter_add(target,
    value, index) and the like, op one of ReduceOp.Add, Min, Max, And, Or, Identity. Lanes where active is false take no
    part. mode changes nothing.

    >>> x = pc.Float([1, 2])
    >>> pc.scatter_reduce(pc.ReduceOp.Add, x, 10, pc.UInt32([1, 1]))
    >>> x
    [1, 22]
    """
    scatter = getattr(pc, _named("scatter_reduce", op, _SCATTERS))
    return scatter(target, value, index) if active is None or active is True else scatter(target, value, index, active)


_REDUCTIONS = {
    ReduceOp.Add: "hsum", ReduceOp.Mul: "hprod", ReduceOp.Min: "hmin", ReduceOp.Max: "hmax", ReduceOp.And: "all", ReduceOp.Or: "any",
}  # fmt: skip


def reduce(op, value, axis=..., mode=None, keepdims=False):
    """sum, prod, min, max, all or any, by ReduceOp.Add, Mul, Min, Max, And, Or; without axis that of all entries, of a vector
    of its components. And, Or take masks. mode changes nothing.

    >>> pc.reduce(pc.ReduceOp.Mul, pc.Float([2, 3]))
    [6]
    """
    of, x = _named("reduce", op, _REDUCTIONS), _operand(value)
    if of in ("all", "any") and x.dtype != "bool":
        raise TypeError(f"reduce: got {x.dtype} for ReduceOp.{op.name}, expected a mask; bits of integers scatter_reduce joins in one lane")
    if axis is ... and not keepdims:
        return getattr(pc, of)(x)
    return getattr(pc, of)(x, axis=None if axis is ... else axis, keepdims=keepdims)


def block_reduce(op, value, block_size, mode=None):
    """As reduce, of each block of so many lanes; these are a multiple of it, but for sums.

    >>> pc.block_reduce(pc.ReduceOp.Max, pc.Float([1, 5, 4, 3]), 2)
    [5, 4]
    """
    if op is ReduceOp.Add:
        return pc.block_sum(value, block_size)
    return pc.ravel(reduce(op, pc.reshape(value, [-1, block_size]), 1))


_PREFIXES = {ReduceOp.Add: "cumsum", ReduceOp.Mul: "cumprod", ReduceOp.Min: "cummin", ReduceOp.Max: "cummax"}


def _neutral(op, dtype):
    """What an operation makes of no entries."""
    if op is ReduceOp.Add or op is ReduceOp.Mul:
        return int(op is ReduceOp.Mul)
    if dtype.kind == "f":
        return pc.inf if op is ReduceOp.Min else -pc.inf
    bits = 8 * dtype.itemsize - (dtype.kind == "i")
    return 2**bits - 1 if op is ReduceOp.Min else -(2**bits) if dtype.kind == "i" else 0


def prefix_reduce(op, value, axis=0, exclusive=True, reverse=False):
    """For each entry what ReduceOp.Add, Mul, Min or Max makes of those before it along an axis, without itself, as Dr.Jit has
    it; exclusive=False with it. reverse=True goes from the end.

    >>> pc.prefix_reduce(pc.ReduceOp.Max, pc.Float([1, 3, 2]))
    [-inf,    1,    3]
    """
    of, x = getattr(pc, _named("prefix_reduce", op, _PREFIXES)), _operand(value)
    x = pc.flip(x, axis) if reverse else x
    found = of(x, axis=axis)
    if exclusive and found.shape[axis]:
        first = pc.full_like(pc.take(found, [0], axis), _neutral(op, found.dtype))
        found = pc.concat([first, pc.take(found, pc.arange(found.shape[axis] - 1), axis)], axis=axis)
    return pc.flip(found, axis) if reverse else found


def block_prefix_reduce(op, value, block_size, exclusive=True, reverse=False):
    """As prefix_reduce, anew in each block of so many lanes; these are a multiple of it, but for sums.

    >>> pc.block_prefix_reduce(pc.ReduceOp.Mul, pc.Float([2, 3, 4, 5]), 2)
    [1, 2, 1, 4]
    """
    if op is ReduceOp.Add:
        return pc.block_prefix_sum(value, block_size, exclusive=exclusive, reverse=reverse)
    return pc.ravel(prefix_reduce(op, pc.reshape(value, [-1, block_size]), 1, exclusive, reverse))
