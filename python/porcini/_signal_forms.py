"""Arguments that SciPy's functions of signals and of special matrices have and core's tables do not."""

import operator
from numbers import Number

import porcini as pc

from ._form import form
from ._functions_of_others import part_of_sums
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
def _fftconvolve(fftconvolve, in1, in2, mode="full"):
    """The names that SciPy has for the arrays; with "same" as many sums as the first has entries. Of more axes along all."""
    in1, in2 = _operand(in1), _operand(in2)
    if in1.ndim > 1 or in2.ndim > 1:
        return _along_all(in1, in2, mode)
    if mode != "same":
        return fftconvolve(in1, in2, mode)
    first = (in2.size - 1) // 2
    return fftconvolve(in1, in2, "full")[first : first + in1.size]


def _along_all(a, b, mode):
    got = f"fftconvolve: got the shapes {tuple(a.shape)} and {tuple(b.shape)}"
    if a.ndim != b.ndim or min(a.size, b.size) == 0:
        raise ValueError(f"{got}, expected as many axes, with entries")
    extents = list(zip(a.shape, b.shape))
    if mode == "valid" and not any(all(of(*pair) for pair in extents) for of in (operator.ge, operator.le)):
        raise ValueError(f"{got}, expected one as large as the other along all axes")
    all_sums = [n + m - 1 for n, m in extents]
    found = pc.ifftn(pc.fftn(a, s=all_sums) * pc.fftn(b, s=all_sums))
    found = found if "complex" in a.dtype or "complex" in b.dtype else pc.real(found)
    return part_of_sums("fftconvolve", found, a.shape, [min(pair) for pair in extents], mode)
