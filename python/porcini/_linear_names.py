"""Functions of NumPy's linear algebra that core's tables do not have."""

import porcini as pc

from ._axes import axis_of
from ._entries import entries

__all__ = ["vector_norm", "matrix_norm", "multi_dot"]


def vector_norm(x, *, axis=None, keepdims=False, ord=2):
    """The norm of the entries along an axis, or several, as one vector: of all unless told.

    >>> pc.vector_norm(pc.TensorXf([[3, 4], [0, 5]]), axis=1, ord=1)
    [7, 5]
    """
    x = entries(x)
    axes = list(range(x.ndim)) if axis is None else sorted(axis_of("vector_norm", i, x.ndim) for i in (axis if hasattr(axis, "__len__") else [axis]))
    kept = [n for i, n in enumerate(x.shape) if i not in axes]
    rows = pc.reshape(pc.moveaxis(x, axes, list(range(len(kept), x.ndim))), [*kept, -1]) if x.ndim > 1 else x
    found = pc.norm(rows, ord=ord, axis=-1)
    return pc.reshape(found, [1 if i in axes else n for i, n in enumerate(x.shape)]) if keepdims else found


def matrix_norm(x, *, keepdims=False, ord="fro"):
    """The norms of the matrices in the last two axes; ord= as of norm.

    >>> pc.matrix_norm(pc.TensorXf([[1, -2], [3, 4]]), ord=1)
    [6]
    """
    return pc.norm(x, ord=ord, axis=(-2, -1), keepdims=keepdims)


def multi_dot(arrays):
    """The product of matrices in the order with the fewest products of numbers; the first and the last may be vectors.

    >>> pc.multi_dot([pc.TensorXf([[1, 2]]), pc.TensorXf([[1, 0], [0, 2]]), pc.Float([1, 1])])
    [5]
    """
    arrays = [entries(x) for x in arrays]
    if len(arrays) < 2:
        raise ValueError(f"multi_dot: got {len(arrays)} matrices, expected two or more")
    first, last = arrays[0], arrays[-1]
    extents = [1 if first.ndim == 1 else first.shape[0], *(x.shape[0] for x in arrays[1:]), 1 if last.ndim == 1 else last.shape[1]]
    best = {}
    for length in range(1, len(arrays) + 1):
        for i in range(len(arrays) - length + 1):
            end = i + length
            costs = ((best[i, j][0] + best[j, end][0] + extents[i] * extents[j] * extents[end], j) for j in range(i + 1, end))
            best[i, end] = min(costs, default=(0, i))

    def product(i, end):
        j = best[i, end][1]
        return arrays[i] if end == i + 1 else product(i, j) @ product(j, end)

    return product(0, len(arrays))
