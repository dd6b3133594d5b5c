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
    if not hasattr(widths, "__len__"):
        widths = [widths]
    flat = [integer("pad", "a width", width) for pair in widths for width in (pair if hasattr(pair, "__len__") else [pair])]
    flat = flat * 2 if len(flat) == 1 else flat
    flat = flat * n_axes if len(flat) == 2 else flat
    if len(flat) != 2 * n_axes or min(flat, default=0) < 0:
        raise ValueError(f"pad: got the widths {flat} of {n_axes} axes, expected two for each, 0 or more")
    return list(zip(flat[::2], flat[1::2]))


@form("pad")
def _pad(pad, x, pad_width, mode="constant", constant_values=0):
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
