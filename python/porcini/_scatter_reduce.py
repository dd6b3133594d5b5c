"""scatter_reduce, as Dr.Jit has it, over the functions that say their operation in their names."""

import enum


class ReduceOp(enum.Enum):
    """Operations of scatter_reduce; Identity writes as scatter does."""

    Identity = "scatter"
    Add = "scatter_add"
    Min = "scatter_min"
    Max = "scatter_max"
    And = "scatter_and"
    Or = "scatter_or"


def scatter_reduce(op, target, value, index, active=None):
    """Combines value with what is there in the lanes of target that index says: another name of scatter_add(target,
    value, index) and the like, op one of ReduceOp.Add, Min, Max, And, Or, Identity. Lanes where active is false take no
    part.

    >>> x = pc.Float([1, 2])
    >>> pc.scatter_reduce(pc.ReduceOp.Add, x, 10, pc.UInt32([1, 1]))
    >>> x
    [1, 22]
    """
    import porcini as pc

    if not isinstance(op, ReduceOp):
        names = ", ".join(f"ReduceOp.{known.name}" for known in ReduceOp)
        raise TypeError(f"scatter_reduce: got {op!r} as op, expected one of {names}")
    scatter = getattr(pc, op.value)
    return scatter(target, value, index) if active is None or active is True else scatter(target, value, index, active)
