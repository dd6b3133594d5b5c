"""Arguments that SciPy's functions of signals and of special matrices have and core's tables do not."""

import math
from numbers import Number

import porcini as pc

from ._axes import axes_of
from ._form import form
from ._functions_of_others import middle
from ._porcini import _operand


@form("solve_triangular")
def _solve_triangular(solve_triangular, a, b, trans=0, lower=False, unit_diagonal=False, overwrite_b=False, check_finite=True):
    """With trans= of a.T ("T", 1) or its conjugate ("C", 2), as SciPy has it; nothing is overwritten."""
    if trans not in (0, 1, 2, "N", "T", "C"):
        raise ValueError(f"solve_triangular: got trans={trans!r}, expected 0, 1, 2, 'N', 'T' or 'C'")
    a = pc.conj(_operand(a)) if trans in (2, "C") else a
    return solve_triangular(a, b, lower, trans not in (0, "N"), unit_diagonal)


@form("toeplitz", "hankel")
def _of_column(made, c, r=None):
    """The names that SciPy has for the column and the row."""
    return made(c) if r is None else made(c, r)


@form("circulant")
def _circulant(circulant, c):
    """The name that SciPy has for the column."""
    return circulant(c)


@form("block_diag")
def _block_diag(block_diag, *arrs):
    """Of blocks one by one, as SciPy has it, or of a list of them; numbers in lists, or in lists of lists, are one block."""
    if len(arrs) == 1 and isinstance(arrs[0], (list, tuple)) and not _is_of_numbers(arrs[0]):
        arrs = arrs[0]
    return block_diag([_operand(block) for block in arrs])


def _is_of_numbers(block):
    rows = (row if isinstance(row, (list, tuple)) else [row] for row in block)
    return all(isinstance(number, Number) for row in rows for number in row)


@form("cho_solve")
def _cho_solve(cho_solve, c_and_lower, b, lower=None, overwrite_b=False, check_finite=True):
    """Of a triangle, or of it and whether it is the lower one, (c, True), as SciPy has it; nothing is overwritten."""
    if isinstance(c_and_lower, tuple) and len(c_and_lower) == 2:
        c_and_lower, lower = c_and_lower
    return cho_solve(c_and_lower, b) if lower is None else cho_solve(c_and_lower, b, bool(lower))


@form("detrend")
def _detrend(detrend, data, axis=-1, type="linear", bp=0, overwrite_data=False):
    """The names that SciPy has; bp= is 0: one line for all."""
    starts = bp if hasattr(bp, "__iter__") else [bp]
    if type == "linear" and any(start != 0 for start in starts):
        raise ValueError(f"detrend: got bp={bp!r}, expected 0: one line for all; of pieces it goes one by one")
    return detrend(data, axis, type)


@form("hilbert")
def _hilbert(hilbert, x, N=None, axis=-1):
    """The name that SciPy has for the length."""
    return hilbert(x, N, axis)


@form("savgol_filter")
def _savgol_filter(savgol_filter, x, window_length, polyorder, deriv=0, delta=1.0, axis=-1, mode="interp"):
    """mode= is "interp": at the ends the polynomials of the first and the last window."""
    if mode != "interp":
        raise ValueError(f"savgol_filter: got mode={mode!r}, expected 'interp'; pc.pad(x, n, mode=..) in front of it goes on otherwise")
    return savgol_filter(x, window_length, polyorder, deriv, delta, axis)


@form("medfilt")
def _medfilt(medfilt, volume, kernel_size=3):
    """The name that SciPy has for the array."""
    return medfilt(volume, 3 if kernel_size is None else kernel_size)


@form("fftconvolve")
def _fftconvolve(fftconvolve, in1, in2, mode="full", axes=None):
    """The names that SciPy has for the arrays; with "same" as many sums as the first has entries. Of several axes along all of them,
    or along axes=; along the others both have as many entries, or one of them a single one."""
    in1, in2 = _operand(in1), _operand(in2)
    if max(in1.ndim, in2.ndim) > 1:
        return _of_transforms(in1, in2, mode, axes)
    if mode != "same":
        return fftconvolve(in1, in2, mode)
    first = (in2.size - 1) // 2
    return fftconvolve(in1, in2, "full")[first : first + in1.size]


def _of_transforms(a, b, mode, axes):
    if a.ndim != b.ndim or min(a.size, b.size) == 0:
        raise ValueError(f"fftconvolve: got the shapes {a.shape} and {b.shape}, expected as many axes, and entries")
    axes = list(range(a.ndim)) if axes is None else axes_of("fftconvolve", axes if hasattr(axes, "__len__") else [axes], a.ndim)
    s = [a.shape[axis] + b.shape[axis] - 1 for axis in axes]
    is_complex = any("complex" in x.dtype for x in (a, b))
    there, back = (pc.fftn, pc.ifftn) if is_complex else (pc.rfftn, pc.irfftn)
    found = back(there(a, s=s, axes=axes) * there(b, s=s, axes=axes), s=s, axes=axes)
    return middle("fftconvolve", found, [a.shape, b.shape], mode, axes)


@form("find_peaks")
def _find_peaks(find_peaks, x, height=None, distance=None, prominence=None, *, threshold=None, plateau_size=None):
    """Also those that are so much higher than both their neighbours, and plateaus of so many entries, or more; each a number,
    or the least and the most. Without distance=, which SciPy looks at behind both."""
    if distance is not None:
        raise TypeError("find_peaks: got threshold= or plateau_size= beside distance=, expected one or the other")
    x = _operand(x)
    peaks = find_peaks(x, height, None, prominence)
    if peaks.size and threshold is not None:
        low, high = _bounds(threshold)
        at, before, behind = (pc.gather(x, peaks.astype("int64") + step) for step in (0, -1, 1))
        least = pc.minimum(at - before, at - behind)
        most = pc.maximum(at - before, at - behind)
        peaks = pc.compress(peaks, (least >= low) & (most <= high))
    if peaks.size and plateau_size is not None:
        low, high = _bounds(plateau_size)
        run = pc.concat([pc.Int64([0]), pc.cumsum((x[1:] != x[:-1]).astype("int64"))])
        sizes = pc.gather(pc.bincount(run), pc.gather(run, peaks))
        peaks = pc.compress(peaks, (sizes >= low) & (sizes <= high))
    return peaks


def _bounds(given):
    low, high = given if hasattr(given, "__len__") else (given, None)
    return -math.inf if low is None else low, math.inf if high is None else high
