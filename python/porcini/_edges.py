"""pad as NumPy has it: widths for each axis, and edges that go on in other ways than with a number."""

import porcini as pc

from ._axes import integer
from ._form import form
from ._porcini import _operand

# For the numbers of entries, of which those below 0 and from n on lie outside, the numbers of those that stand there.
_MODES = {
    "edge": lambda i, n: pc.clip(i, 0, n - 1),
    "wrap": lambda i, n: i % n,
    "symmetric": lambda i, n: pc.minimum(i % (2 * n), 2 * n - 1 - i % (2 * n)),
    "reflect": lambda i, n: pc.minimum(i % max(2 * n - 2, 1), max(2 * n - 2, 1) - i % max(2 * n - 2, 1)),
}


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
def _pad(pad, x, pad_width, mode="constant", constant_values=0):
    """As NumPy has it: widths in pairs for each axis, and edges that go on with mode="edge", "reflect", "symmetric" or "wrap"."""
    x = _operand(x)
    widths = _widths(pad_width, x.ndim)
    if not isinstance(mode, str):
        mode, constant_values = "constant", mode
    if mode == "constant":
        return pad(x, [width for pair in widths for width in pair], constant_values)
    if mode not in _MODES:
        raise TypeError(f"pad: got mode={mode!r}, expected 'constant', {', '.join(map(repr, _MODES))}")
    for axis, (before, behind) in enumerate(widths):
        n = x.shape[axis]
        if n == 0 and before + behind > 0:
            raise ValueError(f"pad: got an axis without entries, expected some for mode={mode!r}")
        if before + behind > 0:
            x = pc.take(x, _MODES[mode](pc.arange(-before, n + behind), n), axis)
    return x
