"""Functions that SciPy, JAX and PyTorch have and core's tables do not: each in a few words of those that they have."""

import math

import porcini as pc

from ._axes import axis_of
from ._entries import entries
from ._porcini import _operand

__all__ = "relu6 selu glu zscore factorial comb perm log_ndtr histogram_bin_edges convolve2d".split()


def relu6(x):
    """x between 0 and 6, 0 below and 6 above; NaN stays.

    >>> pc.relu6(pc.Float([-1, 2, 9]))
    [0, 2, 6]
    """
    return pc.minimum(pc.relu(x), 6)


def selu(x):
    """The exponential linear unit that keeps mean and variance: 1.0507 times elu of 1.67326.

    >>> pc.selu(pc.Float([-1, 2]))
    [-1.11133, 2.1014]
    """
    return 1.0507009873554805 * pc.elu(x, 1.6732632423543772)


def glu(x, axis=-1):
    """The first half along an axis times the sigmoid of the second.

    >>> pc.glu(pc.Float([1, 2, 0, 0]))
    [0.5, 1]
    """
    x = entries(x)
    n = x.shape[axis_of("glu", axis, x.ndim)]
    if n % 2:
        raise ValueError(f"glu: got {n} entries along axis {axis}, expected two halves")
    first, second = pc.split(x, 2, axis)
    return first * pc.sigmoid(second)


def zscore(x, axis=0, ddof=0):
    """The distances from the mean along an axis, or of all entries, over the deviation: as std has it.

    >>> pc.zscore(pc.Float([1, 2, 3]))
    [-1.22474,        0,  1.22474]
    """
    x = _operand(x)
    return (x - pc.mean(x, axis, True)) / pc.std(x, axis, True, ddof)


# ---- counts ----


def _wide(*counts):
    """Counts in 64 bits: logarithms of the results have no digits to lose."""
    return [_operand(x).astype("float64") for x in counts]


def factorial(n):
    """The product of the integers up to n, gamma(n + 1); 0 below 0. Of integers in 64 bits.

    >>> pc.factorial([0, 3, 5])
    [1, 6, 120]
    """
    n = _operand(n)
    n = n if "float" in n.dtype else n.astype("float64")
    return pc.where(n < 0, 0, pc.gamma(pc.maximum(n, 0) + 1))


def _ratio(n, k, *others):
    """gamma(n + 1) over those of others, whole where n and k are; 0 where k is not from 0 to n."""
    is_one = (k >= 0) & (k <= n)
    logs = (pc.lgamma(pc.where(is_one, x, 0) + 1) for x in (n, *others))
    found = next(logs)
    for log in logs:
        found = found - log
    found, is_whole = pc.exp(found), (n == pc.rint(n)) & (k == pc.rint(k))
    return pc.where(is_one, pc.where(is_whole, pc.rint(found), found), 0)


def comb(n, k):
    """How many sets of k there are among n things; of fractions what gamma says. In 64 bits, with about 13 digits.

    >>> pc.comb(5, [0, 2, 6])
    [1, 10, 0]
    """
    n, k = _wide(n, k)
    return _ratio(n, k, k, n - k)


def perm(n, k):
    """How many rows of k there are of n things, none twice; of fractions what gamma says. In 64 bits, with about 13 digits.

    >>> pc.perm(5, [0, 2, 6])
    [1, 20, 0]
    """
    n, k = _wide(n, k)
    return _ratio(n, k, n - k)


# ---- distributions ----


def log_ndtr(x):
    """The logarithm of norm_cdf, also where that is next to 0 or 1.

    >>> pc.log_ndtr(pc.Float64([-40, 0]))
    [-804.608, -0.693147]
    """
    x = _operand(x)
    if x.dtype == "float16":
        return log_ndtr(x.astype("float32")).astype("float16")
    x = x if "float" in x.dtype else x.astype("float32")
    far = -30 if x.dtype == "float64" else -12
    # Where norm_cdf is next to nothing, by its asymptotic series.
    z = pc.minimum(x, far)
    inverse, rest = 1 / (z * z), 0
    for i in (13, 11, 9, 7, 5, 3, 1):
        rest = -i * inverse * (1 + rest)
    tail = -z * z / 2 - pc.log(-z) - math.log(math.tau) / 2 + pc.log1p(rest)
    near = pc.clip(x, far, 0)
    above = pc.log1p(-pc.norm_cdf(-pc.maximum(x, 0)))
    return pc.where(x < far, tail, pc.where(x > 0, above, pc.log(pc.norm_cdf(near))))


def bounds_of(op, x, range):
    """Where the bins of x begin and end."""
    low, high = (pc.min(x).item(), pc.max(x).item()) if range is None else range
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError(f"{op}: got {low} and {high} as bounds, expected finite ones; range=(low, high) tells others")
    return (low - 0.5, high + 0.5) if low == high else (low, high)


def edges_by_name(x, rule, range):
    """The bounds of as many bins as one of NumPy's rules finds."""
    import numpy

    return pc.asarray(numpy.histogram_bin_edges(numpy.asarray(_operand(x)), rule, range))


def histogram_bin_edges(x, bins=10, range=None):
    """The bounds of bins of one width that histogram counts in, from the smallest lane to the largest unless range= tells
    both; bounds that are given are they. A word is one of NumPy's rules, "auto", "sturges", "fd" .., for which NumPy must be there.

    >>> pc.histogram_bin_edges(pc.Float([0, 3, 1]), 3)
    [0, 1, 2, 3]
    """
    if isinstance(bins, str):
        return edges_by_name(x, bins, range)
    if hasattr(bins, "__len__"):
        return _operand(bins)
    x = _operand(x)
    if range is None and x.dtype.kind == "f" and pc.any(pc.isnan(x)):
        raise ValueError("histogram_bin_edges: got NaN among the entries, expected finite ones; range=(low, high) tells the bounds")
    return pc.linspace(*bounds_of("histogram_bin_edges", x, range), bins + 1, dtype=x.dtype if "float" in x.dtype else "float64")


def middle(op, found, shapes, mode, axes):
    """Of a convolution of two shapes along axes all of it, what is as large as the first, or what needs no zeros beside both."""
    own, other = ([shape[axis] for axis in axes] for shape in shapes)
    if mode == "valid" and not (all(n >= m for n, m in zip(own, other)) or all(n <= m for n, m in zip(own, other))):
        raise ValueError(f"{op}: got the shapes {shapes[0]} and {shapes[1]}, expected one as large as the other along all axes")
    pairs = list(zip(own, other))
    extents = {"full": [n + m - 1 for n, m in pairs], "same": own, "valid": [max(n, m) - min(n, m) + 1 for n, m in pairs]}
    if mode not in extents:
        raise TypeError(f"{op}: got mode={mode!r}, expected 'full', 'same' or 'valid'")
    place = [slice(None)] * found.ndim
    for axis, n in zip(axes, extents[mode]):
        start = (found.shape[axis] - n) // 2
        place[axis] = slice(start, start + n)
    return found[tuple(place)]


_BOUNDARIES = {"fill": "constant", "wrap": "wrap", "symm": "symmetric"}


def convolve2d(a, b, mode="full", boundary="fill", fillvalue=0):
    """The convolution of two matrices: all of it, what is as large as a with mode="same", what needs no entries beside both with
    mode="valid". Around a there are zeros, or fillvalue=, with boundary="wrap" the entries of the other side, with "symm" a turned
    around. Each entry of the smaller one is a term: for small ones.

    >>> pc.convolve2d(pc.TensorXf([[1, 2], [3, 4]]), pc.TensorXf([[1, 1]]), "same")
    [[1, 3],
     [3, 7]]
    """
    a, b = _operand(a), _operand(b)
    if a.ndim != 2 or b.ndim != 2 or min(a.size, b.size) == 0:
        raise ValueError(f"convolve2d: got the shapes {a.shape} and {b.shape}, expected two matrices")
    if boundary not in _BOUNDARIES:
        raise TypeError(f"convolve2d: got boundary={boundary!r}, expected 'fill', 'wrap' or 'symm'")
    if mode == "valid" or boundary == "fill" and fillvalue == 0:
        return middle("convolve2d", _convolved(a, b), [a.shape, b.shape], mode, [0, 1])
    widths = [(n - 1, n - 1) for n in b.shape]
    kind = {"constant_values": fillvalue} if boundary == "fill" else {}
    around = pc.pad(a, widths, mode=_BOUNDARIES[boundary], **kind)
    # Where all of b lies in what is around a too.
    whole = _convolved(around, b)
    (n_rows, n_columns), (rows, columns) = b.shape, whole.shape
    whole = whole[n_rows - 1 : rows - n_rows + 1, n_columns - 1 : columns - n_columns + 1]
    return middle("convolve2d", whole, [a.shape, b.shape], mode, [0, 1])


def _convolved(a, b):
    """All of it, with zeros around both."""
    large, small = (a, b) if a.size >= b.size else (b, a)
    n_rows, n_columns = small.shape
    terms = (
        pc.pad(large, [i, n_rows - 1 - i, j, n_columns - 1 - j]) * small[i : i + 1, j : j + 1] for i in range(n_rows) for j in range(n_columns)
    )
    found = next(terms)
    for term in terms:
        found = found + term
    return found
