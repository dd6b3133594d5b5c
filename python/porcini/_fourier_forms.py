"""Arguments that NumPy's Fourier transforms have and core's tables do not: norm=, and s= of several axes."""

import math

import porcini as pc

from ._axes import axes_of, integer
from ._form import form
from ._porcini import _operand


def _numbers(x):
    """Masks as the numbers 0 and 1."""
    x = _operand(x)
    return x.astype("float32") if x.dtype == "bool" else x


@form("fft", "rfft", "ifft", "irfft", gives_rows=True)
def _transform(transform, x, n=None, axis=-1, norm="backward"):
    """With norm="ortho" divided by the root of the size both ways, with norm="forward" by the size on the way there alone."""
    if norm not in (None, "backward", "ortho", "forward"):
        raise TypeError(f"{transform.__name__}: got norm={norm!r}, expected 'backward', 'ortho' or 'forward'")
    x = _numbers(x)
    found = transform(x, n, axis)
    if norm in (None, "backward"):
        return found
    is_inverse = transform.__name__.startswith("i")
    size = found.shape[axis] if is_inverse else n or x.shape[axis]
    size = math.sqrt(size) if norm == "ortho" else size
    return found * size if is_inverse else found / size


@form("fftfreq", "rfftfreq")
def _frequencies(made, n, d=1.0):
    """The name that NumPy has for the distance of samples."""
    return made(n, d)


@form("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn", gives_rows=True)
def _along_several(transform, x, s=None, axes=None, norm="backward"):
    """Along several axes, cut or filled up to the extents s=; norm= as of fft."""
    name, x = transform.__name__, _numbers(x)
    if axes is None and name.endswith("2"):
        axes = (-2, -1)
    if axes is None:
        axes = range(x.ndim) if s is None else range(-len(s), 0)
    axes = axes_of(name, axes, x.ndim)
    sizes = [None] * len(axes) if s is None else [None if n in (None, -1) else integer(name, "an extent", n) for n in s]
    if len(sizes) != len(axes):
        raise ValueError(f"{name}: got {len(sizes)} extents and {len(axes)} axes, expected as many")
    # Half of a spectrum is that of the last axis.
    own, others = getattr(pc, name[:-1]), pc.ifft if name.startswith("i") else pc.fft
    along = list(zip([others] * (len(axes) - 1) + [own], sizes, axes))
    for of, n, axis in along if name.startswith("ir") else along[::-1]:
        x = of(x, n, axis, norm)
    return x
