"""Arguments that SciPy's functions of signals and of special matrices have and core's tables do not."""

import porcini as pc

from ._form import form
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
    """Of blocks one by one, as SciPy has it, or of a list of them."""
    return block_diag([_operand(block) for block in arrs])


@form("detrend")
def _detrend(detrend, data, axis=-1, type="linear", bp=0, overwrite_data=False):
    """The names that SciPy has; bp= is 0: one line for all."""
    return detrend(data, axis, type) if isinstance(bp, int) and bp == 0 else NotImplemented


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
def _fftconvolve(fftconvolve, in1, in2, mode="full"):
    """The names that SciPy has for the arrays."""
    return fftconvolve(in1, in2, mode)
