"""pad as NumPy has it: widths for each axis, and edges that go on in other ways than with a number."""

import numbers

from ._axes import integer
from ._form import form
from ._porcini import _operand

_MODES = ("edge", "wrap", "symmetric", "reflect")


def _widths(widths, n_axes):
    """What stands before and behind each axis: NumPy's pairs, one pair for all, one number for all, or those in a row."""
    rows = list(widths) if hasattr(widths, "__len__") else [widths]
    if not any(hasattr(row, "__len__") for row in rows):
        rows = [rows] if len(rows) % 2 == 1 else list(zip(rows[::2], rows[1::2]))
    pairs = [_pair(row) for row in rows]
    pairs = pairs * n_axes if len(pairs) == 1 else pairs
    if len(pairs) != n_axes or any(len(pair) != 2 or min(pair) < 0 for pair in pairs):
        raise ValueError(f"pad: got the widths {widths} of {n_axes} axes, expected two for each, 0 or more")
    return pairs


def _pair(widths):
    """Both sides of an axis; one width is that of both."""
    pair = [integer("pad", "a width", width) for width in (widths if hasattr(widths, "__len__") else [widths])]
    return pair * 2 if len(pair) == 1 else pair


@form("pad", gives_rows=True)
def _pad(pad, x, pad_width, *mode_or_value, mode="constant", constant_values=0):
    """As NumPy has it: widths in pairs for each axis, and edges that go on with mode="edge", "reflect", "symmetric" or "wrap"."""
    x = _operand(x)
    widths = [width for pair in _widths(pad_width, x.ndim) for width in pair]
    for given in mode_or_value:
        is_value = isinstance(given, numbers.Number) and not isinstance(given, bool)
        mode, constant_values = (mode, given) if is_value else (given, constant_values)
    if mode == "constant":
        return pad(x, widths, constant_values)
    if mode not in _MODES:
        raise TypeError(f"pad: got mode={mode!r}, expected 'constant', {', '.join(map(repr, _MODES))}")
    return pad(x, widths, mode=mode)
