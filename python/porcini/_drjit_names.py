"""Functions that Dr.Jit has under other names, or with their arguments in another order."""

import porcini as pc

from ._porcini import _operand


def suspend_grad(*values):
    """with suspend_grad(): nothing inside is tracked; another name of no_grad."""
    if values:
        raise TypeError("suspend_grad: got values, expected none: what is made of pc.detach(x) is not tracked")
    return pc.no_grad()


def switch(index, targets, *args, label=None, mode=None):
    """For each lane what the function with its number gives: dispatch(index, targets, args), as Dr.Jit writes it; an integer is
    the number of all. label and mode change nothing.

    >>> pc.switch(pc.UInt32([0, 1]), [lambda x: x + 1, lambda x: x * 10], pc.Float([1, 2]))
    [2, 20]
    """
    return pc.dispatch(pc.Int64(index) if isinstance(index, int) else index, targets, args)


def width(x):
    """The number of lanes, of a tensor that of entries.

    >>> pc.width(pc.Vector3f([1, 2], 0, 0))
    2
    """
    x = _operand(x)
    return x.size if isinstance(x, pc.Tensor) else x.shape[-1]
