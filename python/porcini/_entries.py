"""Values as what has entries along axes."""

import porcini as pc

from ._axes import integer
from ._porcini import _operand


def has_complex_lanes(x):
    return isinstance(x, pc.Array) and not isinstance(x, pc.Tensor) and x.ndim == 2 and "complex" in x.dtype


def entries(x):
    """x as what has entries along axes: complex numbers, whose first axis is that of their parts, are a row of them."""
    x = _operand(x)
    return pc.reshape(pc.Tensor(x), [-1]) if has_complex_lanes(x) else x


def as_given(x, found):
    """What was made of the entries of x: lanes again, if x has such and it is a row of complex numbers."""
    if isinstance(found, (list, tuple)):
        return type(found)(as_given(x, part) for part in found)
    if not has_complex_lanes(x) or not isinstance(found, pc.Tensor) or "complex" not in found.dtype or found.ndim > 1:
        return found
    return (pc.Complex2d if found.dtype == "complex128" else pc.Complex2f)(found)


def item(x, index):
    """The entry with a number among all, or with one for each axis, as a Python number."""
    x = entries(x)
    index = index[0] if len(index) == 1 and isinstance(index[0], tuple) else index
    places = tuple(integer("item", "an index", place) for place in index)
    if len(places) not in (1, x.ndim):
        raise ValueError(f"item: got {len(places)} indices of {x.ndim} axes, expected one, or one for each axis")
    return pc.ravel(x)[places[0]] if len(places) == 1 else x[places]


def wide(x):
    """Entries as sums of many and quotients need them: masks and integers as the floats that mean gives, halves as float32."""
    if x.dtype == "float16" or x.dtype.kind in "bui":
        return x.astype("float64" if x.dtype.itemsize == 8 else "float32")
    return x
