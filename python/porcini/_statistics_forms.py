"""Arguments that NumPy's histograms, averages and covariances have and core's tables do not."""

import math

import porcini as pc

from ._entries import wide
from ._form import form
from ._functions_of_others import bounds_of, edges_by_name
from ._porcini import _operand


def _weighed(x, weights, n, low, high, bin):
    """The sums of weights in bins; what is the last bound belongs to the last one."""
    weights, is_inside = pc.ravel(_operand(weights)), (x >= low) & (x <= high)
    bin = pc.minimum(pc.where(is_inside, bin, 0).astype("int64"), n - 1)
    return pc.segment_sum(pc.where(is_inside, weights, 0), bin, n)


def _weighed_between(x, edges, weights):
    x = pc.ravel(x)
    bin = pc.searchsorted(edges, x, "right").astype("int64") - 1
    return _weighed(x, weights, edges.size - 1, edges[:1], edges[-1:], bin)


def _weighed_alike(x, bins, low, high, weights):
    """Between bounds at equal distances: the bin of each entry is the one in which it is counted without weights."""
    x = wide(pc.ravel(x))
    return _weighed(x, weights, bins, low, high, (x - low) * (bins / (high - low)))


@form("histogram")
def _histogram(histogram, x, bins=10, range=None, density=False, weights=None):
    """As NumPy has it, but the counts alone, or the sums of weights=: np.histogram(x) gives the bounds too. These are those of x
    unless range= tells them; with density=True the counts over their sum and the widths."""
    x = _operand(x)
    bins = edges_by_name(x, bins, range) if isinstance(bins, str) else bins
    if hasattr(bins, "__len__"):
        edges = _operand(bins)
        counts = histogram(x, bins) if weights is None else _weighed_between(x, edges, weights)
        widths = edges[1:] - edges[:-1]
    else:
        low, high = bounds_of("histogram", x, range)
        widths = (high - low) / bins
        counts = histogram(x, bins, low, high) if weights is None else _weighed_alike(x, bins, low, high, weights)
    return counts / (pc.hsum(counts) * widths) if density else counts


@form("histogram2d")
def _histogram2d(histogram2d, x, y, bins=10, range=None, density=False):
    """As NumPy has it: bounds are those of x and y unless range= tells them; with density=True the counts over their sum and the
    areas."""
    bins = list(bins) if hasattr(bins, "__len__") else [bins, bins]
    bounds = [(pc.hmin(of).item(), pc.hmax(of).item()) for of in (x, y)] if range is None else range
    counts = histogram2d(x, y, bins, *bounds[0], *bounds[1])
    if not density:
        return counts
    area = math.prod((high - low) / n for (low, high), n in zip(bounds, bins))
    return counts / (pc.hsum(counts) * area)


@form("average")
def _average(average, x, weights=None, axis=None, keepdims=False, *, returned=False):
    """With returned=True a tuple: the average, and the sum of the weights."""
    found = average(x, weights, axis, keepdims)
    if not returned:
        return found
    x = _operand(x)
    if weights is None:
        return found, pc.full_like(found, x.size / max(found.size, 1))
    weights = _operand(weights)
    of_one_axis = weights.ndim == 1 and x.ndim > 1
    total = pc.hsum(weights) if of_one_axis else pc.hsum(weights, axis, keepdims)
    return found, total.astype(found.dtype) + pc.zeros_like(found)


def _rows(m, y, rowvar):
    """Variables in rows."""
    rows = [_operand(x) for x in (m, y) if x is not None]
    return [x if rowvar or x.ndim < 2 else pc.swapaxes(x, 0, 1) for x in rows]


@form("cov")
def _cov(cov, m, y=None, rowvar=True, bias=False, ddof=None, *, fweights=None, aweights=None):
    """As NumPy has it: variables in columns with rowvar=False; divided by n - ddof, with bias=True by n. fweights= says how often
    each observation is there, aweights= how much it counts."""
    rows = _rows(m, y, rowvar)
    if len({x.shape[-1] for x in rows}) > 1:
        raise ValueError(f"cov: got {' and '.join(str(x.shape[-1]) for x in rows)} observations, expected as many of all variables")
    if len(rows) == 2 and max(x.ndim for x in rows) > 1:
        rows = [pc.concat([pc.reshape(x, [-1, x.shape[-1]]) for x in rows], 0)]
    n, ddof = rows[0].shape[-1], ddof if ddof is not None else 0 if bias else 1
    if fweights is not None or aweights is not None:
        return _weighed_cov(rows, fweights, aweights, ddof)
    # Of one entry, as of the same one twice, the deviations are 0 whatever they are divided by.
    rows = [pc.concat([x, x], -1) for x in rows] if n == 1 else rows
    return cov(*rows) * ((n - 1) / (n - ddof) if n > ddof else math.inf)


def _weighed_cov(rows, fweights, aweights, ddof):
    x = wide(pc.concat([pc.reshape(row, [-1, row.shape[-1]]) for row in rows], 0))
    given = [_operand(weights).astype(x.dtype) for weights in (fweights, aweights) if weights is not None]
    weights = given[0] * given[-1] if len(given) == 2 else given[0]
    total = pc.hsum(weights)
    lost = ddof if aweights is None else ddof * pc.hsum(weights * given[-1]) / total
    x = x - pc.hsum(x * weights, -1, True) / total
    found = (x * weights) @ pc.conj(pc.swapaxes(x, 0, 1)) / (total - lost)
    return found if x.shape[0] > 1 else pc.ravel(found)


@form("corrcoef")
def _corrcoef(corrcoef, x, y=None, rowvar=True):
    """Of variables in columns with rowvar=False."""
    return corrcoef(*_rows(x, y, rowvar))


# ---- moments and logarithms of sums ----


def _n_of_each(x, found):
    """How many entries each of the results is made of."""
    return x.size // max(found.size, 1)


@form("skew")
def _skew(skew, x, axis=None, keepdims=False, *, bias=True):
    """With bias=False of a sample: times sqrt(n (n - 1)) / (n - 2), of three entries and more."""
    x = _operand(x)
    found = skew(x, axis, keepdims)
    n = _n_of_each(x, found)
    return found if bias or n < 3 else found * (math.sqrt(n * (n - 1)) / (n - 2))


@form("kurtosis")
def _kurtosis(kurtosis, x, axis=None, keepdims=False, *, fisher=True, bias=True):
    """With fisher=False a normal distribution has 3; with bias=False of a sample, of four entries and more."""
    x = _operand(x)
    found = kurtosis(x, axis, keepdims)
    n = _n_of_each(x, found)
    if not bias and n > 3:
        found = (found * (n + 1) + 6) * ((n - 1) / ((n - 2) * (n - 3)))
    return found if fisher else found + 3


@form("logsumexp")
def _logsumexp(logsumexp, x, axis=None, keepdims=False, *, b=None):
    """With b= of the exponentials times b, NaN where their sum is below 0."""
    if b is None:
        return logsumexp(x, axis, keepdims)
    b = _operand(b)
    x = pc.where(b != 0, _operand(x) + pc.zeros_like(b), -math.inf)
    top = pc.max(x, axis, keepdims=True)
    top = pc.where(pc.isfinite(top), top, 0)
    found = pc.log(pc.sum(b * pc.exp(x - top), axis, keepdims=True)) + top
    return found if keepdims else pc.sum(found, axis)


@form("polyfit")
def _polyfit(polyfit, x, y, deg, *, w=None):
    """With w= the distances times a weight each; y may have several columns, each with coefficients of its own."""
    x, y = _operand(x), _operand(y)
    if w is None and y.ndim == 1:
        return polyfit(x, y, deg)
    powers = pc.vander(x.astype("float64"), deg + 1)
    # Columns of one length, whatever the powers are.
    lengths = pc.sqrt(pc.sum(powers * powers, 0))
    weights = pc.ones(x.size, dtype="float64") if w is None else _operand(w).astype("float64")
    values = y.astype("float64") * (weights if y.ndim == 1 else weights[:, None])
    found = pc.lstsq(powers * weights[:, None] / lengths, values)
    found = found / (lengths if y.ndim == 1 else lengths[:, None])
    return found if "float64" in (x.dtype, y.dtype) else found.astype("float32")
