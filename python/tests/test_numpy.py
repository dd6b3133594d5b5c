"""NumPy's functions of our arrays give what they give of NumPy's."""

import pytest

import porcini as pc

np = pytest.importorskip("numpy")

rng = np.random.default_rng(0)
line, matrix, cube, square = (rng.random(shape, "f4") for shape in ((6,), (3, 4), (2, 3, 4), (3, 3)))
integers = np.array([3, 1, 2, 2], "i4")
with_nan = np.array([1, np.nan, 3], "f4")
matrix_with_nan = np.where(np.arange(12).reshape(3, 4) == 6, np.float32(np.nan), matrix)
positive = square @ square.T + np.eye(3, dtype="f4")
edges, others = np.array([-1.5, 0, np.nan, 2.5, -0.0, np.inf], "f4"), np.array([2, 1, 1, np.nan, -3, 2], "f4")

ALONG = """sum prod mean amin amax min max cumsum cumprod sort argsort argmin argmax median var std any all diff flip nansum
nanmean count_nonzero""".split()
WHOLE = """ravel squeeze unique nonzero transpose rot90 nan_to_num zeros_like ones_like cov corrcoef trapezoid ptp shape ndim size
copy real""".split()
PAIRS = "dot vdot inner outer kron tensordot cross".split()
UFUNCS = """sign ceil rint floor sqrt exp log isnan maximum minimum fmax fmin fmod hypot cbrt exp2 expm1 log1p copysign square
logical_and logical_not signbit float_power floor_divide remainder divmod modf trunc""".split()

CASES = {}
for name in ALONG:
    f = getattr(np, name)
    for x in (line, matrix, cube, integers, with_nan, matrix_with_nan):
        CASES[f"{name} {x.shape} {x.dtype}"] = (f, x)
        for axis in range(-1, x.ndim):
            CASES[f"{name} {x.shape} {axis}"] = (lambda x, f=f, axis=axis: f(x, axis=axis), x)
for name in WHOLE:
    for x in (line, matrix) if name == "rot90" else (line, matrix, integers, with_nan):
        if name != "rot90" or x.ndim == 2:
            CASES[f"{name} {x.shape} {x.dtype}"] = (getattr(np, name), x)
for name in PAIRS:
    for a, b in ((line[:3], line[3:]), (matrix, matrix.T), (square, square), (matrix, matrix[0]), (cube, matrix.T)):
        CASES[f"{name} {a.shape} {b.shape}"] = (getattr(np, name), a, b)
for name in UFUNCS:
    f = getattr(np, name)
    CASES[name] = (f, *(edges, others)[: f.nin])
    CASES[f"{name} of a number"] = (lambda x, f=f: f(x, 2.0) if f.nin == 2 else f(x), edges)
for norm in (None, 1, 2, np.inf, "fro"):
    CASES[f"norm {norm}"] = (lambda x, norm=norm: np.linalg.norm(x, norm), matrix)
for q in (0.3, [0.1, 0.9]):
    CASES[f"quantile {q}"] = (lambda x, q=q: np.quantile(x, q, axis=0), matrix)
CASES |= {
    "keepdims": (lambda x: np.sum(x, axis=1, keepdims=True), matrix),
    "ddof": (lambda x: np.var(x, ddof=1), matrix),
    "dtype": (lambda x: np.sum(x, dtype="f8"), matrix),
    "axes": (lambda x: np.sum(x, axis=(0, 1)), cube),
    "concatenate": (lambda x: np.concatenate([x, x], 1), matrix),
    "stack": (lambda x: np.stack([x, x], -1), line),
    "vstack": (lambda x: np.vstack([x, x]), line),
    "where": (lambda x: np.where(x > 0.5, x, 0), matrix),
    "where alone": (lambda x: np.where(x > 0.5), matrix),
    "method": (lambda x: np.quantile(x, 0.3, method="lower"), line),
    "order": (lambda x: np.reshape(x, (4, 3), order="F"), matrix),
    "roll": (lambda x: np.roll(x, 1, 1), matrix),
    "tile": (lambda x: np.tile(x, 2), matrix),
    "repeat": (lambda x: np.repeat(x, 2), matrix),
    "take": (lambda x: np.take(x, [1, 2]), matrix),
    "diff": (lambda x: np.diff(x, 2), line),
    "clip": (lambda x: np.clip(x, 0.2, 0.8), with_nan),
    "tril": (lambda x: np.tril(x, 1), matrix),
    "interp": (lambda x: np.interp(x, [0.3, 0.6], [0, 10], -5, 50), line),
    "trapezoid dx": (lambda x: np.trapezoid(x, dx=0.5), line),
    "searchsorted": (lambda x: np.searchsorted(x, 2, "right"), np.sort(integers)),
    "counts": (lambda x: np.unique(x, return_counts=True), integers),
    "solve": (lambda x: np.linalg.solve(x, np.ones(3, "f4")), positive),
    "inv": (np.linalg.inv, positive),
    "det": (np.linalg.det, positive),
    "lstsq": (lambda x: np.linalg.lstsq(x, np.ones(3, "f4"), rcond=None)[0], matrix),
    "svd": (lambda x: np.linalg.svd(x)[1], matrix),
    "cond": (np.linalg.cond, positive),
    "fft": (np.fft.fft, matrix),
    "fft axis": (lambda x: np.fft.rfft(x, axis=0), matrix),
    "fft norm": (lambda x: np.fft.fft(x, norm="ortho"), line),
    "reduce": (np.add.reduce, matrix),
    "accumulate": (np.add.accumulate, line),
    "einsum": (lambda x: np.einsum("ij,ij->i", x, x), matrix),
    "histogram": (lambda x: np.histogram(x, 3), line),
    "convolve": (lambda x: np.convolve(x, x), line),
}


def ours(x):
    return pc.TensorXf(x) if x.ndim > 1 else (pc.Int32 if x.dtype == np.int32 else pc.Float)(x)


def parts(result):
    if isinstance(result, (tuple, list)):
        return [part for item in result for part in parts(item)]
    return [np.asarray(result)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_means_the_same(name):
    f, *args = CASES[name]
    try:
        expected = parts(f(*args))
    except (ValueError, TypeError, IndexError):
        pytest.skip("NumPy has no answer")
    got = parts(f(*map(ours, args)))
    assert len(got) == len(expected)
    for a, b in zip(got, expected):
        # What is one number in NumPy may be an array of one lane.
        assert a.shape == b.shape or a.size == b.size == 1
        np.testing.assert_allclose(a.reshape(b.shape), b, 1e-3, 1e-5)
