"""The extension of Fourier transforms, which a library makes on the host."""

import math

import porcini as pc

from . import (
    Array, _axis, _device, _FLOATS, _wrap, astype, complex64, complex128, concat, conj, divide, float32, float64, multiply, real, roll,
    zeros,
)  # fmt: skip

__all__ = [
    "fft", "ifft", "fftn", "ifftn", "rfft", "irfft", "rfftn", "irfftn", "hfft", "ihfft", "fftfreq", "rfftfreq", "fftshift", "ifftshift",
]  # fmt: skip


def _complex(x):
    return astype(x, {float32: complex64, float64: complex128}.get(x.dtype, x.dtype), copy=False)


def _fitted(x, n, axis):
    """Cut, or filled up with zeros, along an axis."""
    have = x.shape[axis]
    if n == have:
        return x
    if n < have:
        return x[tuple(slice(n) if i == axis else slice(None) for i in range(x.ndim))]
    shape = [n - have if i == axis else extent for i, extent in enumerate(x.shape)]
    return concat([x, zeros(shape, dtype=x.dtype)], axis=axis)


def _scaled(x, n, norm, is_inverse):
    """What a transform with the norm "backward" is to others."""
    if norm not in ("backward", "ortho", "forward"):
        raise ValueError(f"no norm {norm!r}: backward, ortho, forward")
    if norm == "backward":
        return x
    factor = math.sqrt(n) if norm == "ortho" else float(n)
    return multiply(x, factor) if is_inverse else divide(x, factor)


def _checked(name, x, kinds):
    if x.dtype.kind not in kinds:
        raise TypeError(f"{name}: got {x.dtype}, expected {' or '.join(kinds)}")


def fft(x, /, *, n=None, axis=-1, norm="backward"):
    _checked("fft", x, _FLOATS)
    axis = _axis(x, axis)
    x = _fitted(_complex(x), x.shape[axis] if n is None else n, axis)
    return _scaled(_wrap(pc.fft(x._x, x.shape[axis], axis)), x.shape[axis], norm, False)


def ifft(x, /, *, n=None, axis=-1, norm="backward"):
    _checked("ifft", x, _FLOATS)
    axis = _axis(x, axis)
    x = _fitted(_complex(x), x.shape[axis] if n is None else n, axis)
    return _scaled(_wrap(pc.ifft(x._x, x.shape[axis], axis)), x.shape[axis], norm, True)


def _each(own, x, s, axes, norm):
    axes = list(range(x.ndim)) if axes is None and s is None else list(range(x.ndim - len(s), x.ndim)) if axes is None else [_axis(x, a) for a in axes]
    sizes = [x.shape[a] for a in axes] if s is None else list(s)
    for n, axis in zip(sizes, axes):
        x = own(x, n=n, axis=axis, norm=norm)
    return x, sizes, axes


def fftn(x, /, *, s=None, axes=None, norm="backward"):
    return _each(fft, x, s, axes, norm)[0]


def ifftn(x, /, *, s=None, axes=None, norm="backward"):
    return _each(ifft, x, s, axes, norm)[0]


def rfft(x, /, *, n=None, axis=-1, norm="backward"):
    _checked("rfft", x, ("real floating",))
    axis = _axis(x, axis)
    full = fft(x, n=n, axis=axis, norm=norm)
    half = full.shape[axis] // 2 + 1
    return full[tuple(slice(half) if i == axis else slice(None) for i in range(x.ndim))]


def irfft(x, /, *, n=None, axis=-1, norm="backward"):
    _checked("irfft", x, _FLOATS)
    axis = _axis(x, axis)
    n = 2 * (x.shape[axis] - 1) if n is None else n
    x = _fitted(_complex(x), n // 2 + 1, axis)
    return _scaled(_wrap(pc.irfft(x._x, n, axis)), n, norm, True)


def rfftn(x, /, *, s=None, axes=None, norm="backward"):
    axes = list(range(x.ndim)) if axes is None and s is None else list(range(x.ndim - len(s), x.ndim)) if axes is None else [_axis(x, a) for a in axes]
    sizes = [x.shape[a] for a in axes] if s is None else list(s)
    x = rfft(x, n=sizes[-1], axis=axes[-1], norm=norm)
    for n, axis in zip(sizes[:-1], axes[:-1]):
        x = fft(x, n=n, axis=axis, norm=norm)
    return x


def irfftn(x, /, *, s=None, axes=None, norm="backward"):
    axes = list(range(x.ndim)) if axes is None and s is None else list(range(x.ndim - len(s), x.ndim)) if axes is None else [_axis(x, a) for a in axes]
    sizes = [*[x.shape[a] for a in axes[:-1]], 2 * (x.shape[axes[-1]] - 1)] if s is None else list(s)
    for n, axis in zip(sizes[:-1], axes[:-1]):
        x = ifft(x, n=n, axis=axis, norm=norm)
    return irfft(x, n=sizes[-1], axis=axes[-1], norm=norm)


_TURNED = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def hfft(x, /, *, n=None, axis=-1, norm="backward"):
    _checked("hfft", x, _FLOATS)
    axis = _axis(x, axis)
    n = 2 * (x.shape[axis] - 1) if n is None else n
    return irfft(conj(_complex(x)), n=n, axis=axis, norm=_TURNED.get(norm, norm))


def ihfft(x, /, *, n=None, axis=-1, norm="backward"):
    return conj(rfft(x, n=n, axis=axis, norm=_TURNED.get(norm, norm)))


def _frequencies(numbers, n, d, dtype):
    return divide(astype(numbers, dtype), n * d)


def fftfreq(n, /, *, d=1.0, dtype=None, device=None):
    from . import arange

    _device(device)
    dtype = dtype or float64
    numbers = concat([arange(0, (n - 1) // 2 + 1), arange(-(n // 2), 0)])
    return _frequencies(numbers, n, d, dtype)


def rfftfreq(n, /, *, d=1.0, dtype=None, device=None):
    from . import arange

    _device(device)
    return _frequencies(arange(0, n // 2 + 1), n, d, dtype or float64)


def _shifted(x, axes, way):
    axes = range(x.ndim) if axes is None else (axes,) if isinstance(axes, int) else axes
    for axis in axes:
        half = x.shape[axis] // 2
        x = roll(x, half if way > 0 else -half, axis=axis)
    return x


def fftshift(x, /, *, axes=None):
    return _shifted(x, axes, 1)


def ifftshift(x, /, *, axes=None):
    return _shifted(x, axes, -1)
