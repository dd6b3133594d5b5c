"""Functions that SciPy, JAX and PyTorch have and core's tables do not: each in a few words of those that they have."""

import math

import porcini as pc

from ._axes import axis_of
from ._entries import entries, wide
from ._porcini import _operand

__all__ = """relu6 selu celu glu hard_tanh hard_silu hard_swish squareplus standardize zscore logmeanexp log1mexp rankdata factorial
comb perm log_ndtr histogram_bin_edges convolve2d""".split()


def relu6(x):
    """x between 0 and 6, 0 below and 6 above; NaN stays. Its slope is 0 at 0 and at 6.

    >>> pc.relu6(pc.Float([-1, 2, 9]))
    [0, 2, 6]
    """
    x = _operand(x)
    return pc.where(x >= 6, 6, pc.relu(x))


def selu(x):
    """The exponential linear unit that keeps mean and variance: 1.0507 times elu of 1.67326.

    >>> pc.selu(pc.Float([-1, 2]))
    [-1.11133, 2.1014]
    """
    return 1.0507009873554805 * pc.elu(x, 1.6732632423543772)


def celu(x, alpha=1.0):
    """x where it is above 0, below alpha (exp(x / alpha) - 1): the exponential linear unit without a kink.

    >>> pc.celu(pc.Float([-1, 2]), 2)
    [-0.786939, 2]
    """
    return pc.maximum(x, 0) + alpha * pc.expm1(pc.minimum(x, 0) / alpha)


def hard_tanh(x):
    """x between -1 and 1, these beyond; NaN stays.

    >>> pc.hard_tanh(pc.Float([-3, 0.5, 2]))
    [-1, 0.5, 1]
    """
    return pc.maximum(pc.minimum(x, 1), -1)


def hard_silu(x):
    """x times relu6(x + 3) / 6.

    >>> pc.hard_silu(pc.Float([-4, 1, 4]))
    [-0, 0.666667, 4]
    """
    x = _operand(x)
    return x * (relu6(x + 3) / 6)


hard_swish = hard_silu


def squareplus(x, b=4):
    """(x + sqrt(x * x + b)) / 2, a softplus without exponentials.

    >>> pc.squareplus(pc.Float([0, 1.5]))
    [1, 2]
    """
    x = _operand(x)
    return (x + pc.sqrt(x * x + b)) / 2


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


def standardize(x, axis=-1, epsilon=1e-5):
    """The distances from the mean along an axis, or several, over the root of the variance and epsilon: of layers.

    >>> pc.standardize(pc.Float([1, 3]), epsilon=0)
    [-1,  1]
    """
    x = _operand(x)
    x = x if x.dtype.kind in "fc" else wide(x)
    return (x - pc.mean(x, axis, True)) / pc.sqrt(pc.var(x, axis, True) + epsilon)


def logmeanexp(x, axis=None, keepdims=False):
    """The logarithm of the mean of the exponentials along axes, without overflow on the way.

    >>> pc.logmeanexp(pc.Float([1000, 1000]))
    [1000]
    """
    x = _operand(x)
    found = pc.logsumexp(x, axis, keepdims)
    return found - math.log(x.size // max(found.size, 1)) if x.size else found * math.nan


def log1mexp(x):
    """The logarithm of 1 - exp(-x), of x above 0, with all digits where x is small or large.

    >>> pc.log1mexp(pc.Float64([1e-20, 1, 50]))
    [-46.0517, -0.458675, -1.92875e-22]
    """
    x = _operand(x)
    is_small = x < math.log(2)
    # Of each side what is far from it is not looked at, by derivatives either.
    small, large = pc.where(is_small, x, math.log(2)), pc.where(is_small, math.log(2), x)
    return pc.where(is_small, pc.log(-pc.expm1(-small)), pc.log1p(-pc.exp(-large)))


def rankdata(x, method="average"):
    """The places that entries have in order, from 1, of all in one row. Equal ones have the mean of theirs (method="average"), the
    first ("min"), the last ("max"), one after the other ("ordinal"), or a place each kind ("dense"). NaN comes last.

    >>> pc.rankdata(pc.Float([20, 10, 20]))
    [2.5, 1, 2.5]
    """
    x = pc.ravel(_operand(x))
    ordered = pc.sort(pc.unique(x) if method == "dense" else x)
    of = {
        "average": lambda: (first() + last()) / 2,
        "min": lambda: first(),
        "dense": lambda: first(),
        "max": lambda: last(),
        "ordinal": lambda: pc.argsort(pc.argsort(x)).astype("int64") + 1,
    }
    if method not in of:
        raise TypeError(f"rankdata: got method={method!r}, expected {', '.join(map(repr, of))}")

    def first():
        return pc.searchsorted(ordered, x).astype("int64") + 1

    def last():
        return pc.searchsorted(ordered, x, "right").astype("int64")

    return of[method]()


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
