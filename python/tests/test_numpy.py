"""NumPy's functions of our arrays give what they give of NumPy's."""

import inspect
import math

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
nanmean nanmin nanmax nanmedian nanvar nanstd average count_nonzero""".split()
WHOLE = """ravel squeeze unique nonzero transpose rot90 nan_to_num zeros_like ones_like cov corrcoef trapezoid ptp shape ndim size
copy real""".split()
PAIRS = "dot vdot inner outer kron tensordot cross".split()
UFUNCS = """sign ceil rint floor sqrt exp log isnan maximum minimum fmax fmin fmod hypot cbrt exp2 expm1 log1p copysign square
logical_and logical_not signbit float_power floor_divide remainder divmod modf frexp fabs trunc""".split()

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
    "isclose": (lambda x: np.isclose(x, 0, atol=0.5, equal_nan=True), matrix_with_nan),
    "nanquantile": (lambda x: np.nanquantile(x, 0.3, axis=0), matrix_with_nan),
    "nanpercentile": (lambda x: np.nanpercentile(x, [20, 50]), with_nan),
    "weights": (lambda x: np.average(x, axis=0, weights=[1, 0, 2]), matrix),
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
    "rows": (lambda x: np.unique(x[[2, 0, 2]], True, True, True, axis=0), matrix),
    "columns": (lambda x: np.unique(x[:, [2, 0, 2]], axis=1), matrix),
    "windows": (lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 3)), matrix),
    "windows along": (lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, axis=-1), cube),
    "index of two axes": (lambda x: x[np.array([[0, -1], [2, 1]])], line),
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
    "real": (np.real, integers),
    "imag": (np.imag, matrix),
    "conjugate": (np.conjugate, integers),
    "extreme from": (lambda x: np.max(x, axis=0, initial=0.5), matrix),
    "clip below": (lambda x: np.clip(x, None, 0.5), matrix),
    "norm of matrices": (lambda x: np.linalg.norm(x, 1, axis=(1, 2)), cube),
    "no axis": (lambda x: np.concatenate([x, x], axis=None), matrix),
    "sort all": (lambda x: np.sort(x, axis=None), matrix),
    "argsort all": (lambda x: np.argsort(x, axis=None), matrix),
    "where it is": (lambda x: x[np.nonzero(x > 0.5)], matrix),
    "expand": (lambda x: np.expand_dims(x, (0, 2)), matrix),
    "move": (lambda x: np.moveaxis(x, [0, 1], [2, 0]), cube),
    "tensordot axes": (lambda x: np.tensordot(x, x, axes=([1, 0], [1, 0])), matrix),
    "append": (lambda x: np.append(x, [[9, 9, 9, 9]], axis=0), matrix),
    "insert": (lambda x: np.insert(x, 1, 9), line),
    "insert several": (lambda x: np.insert(x, [1, 2], 9), line),
    "delete": (lambda x: np.delete(x, [0, 2], 1), matrix),
    "delete some": (lambda x: np.delete(x, slice(0, 2)), line),
    "columns": (lambda x: np.column_stack([x, x]), line),
    "parts": (lambda x: np.array_split(x, 4), line),
    "diagflat": (lambda x: np.diagflat(x, 1), line),
    "index": (lambda x: np.unique(x, return_index=True, return_inverse=True), integers),
    "dot of stacks": (lambda x: np.dot(x, x.reshape(2, 4, 3)), cube),
    "dot with a stack": (lambda x: np.dot(x, np.ones((2, 4, 3), "f4")), matrix),
    "weights of axes": (lambda x: np.average(x, axis=(0, 2), weights=np.float32([[0, 1, 1, 2], [3, 0, 0.5, 0.5]])), cube),
    "weights of turned axes": (lambda x: np.average(x, axis=(2, 0), weights=np.float32([[0, 1], [1, 2], [3, 0], [0.5, 1]])), cube),
    "clip at NaN": (lambda x: np.clip(x, np.nan, 3), line),
    "clip by several": (lambda x: np.clip(x, [0, np.nan, 0, 0.5, 0, 0], 0.7), line),
    "few for ddof": (lambda x: np.nanvar(x, ddof=2), with_nan),
    "covariance of one row": (lambda x: np.cov(x[:1]), matrix),
    "places at infinity": (lambda x: np.interp(x, np.float32([-np.inf, np.inf]), np.float32([10, 10])), line),
    "one place at infinity": (lambda x: np.interp(x, np.float32([-np.inf, 2]), np.float32([1, 2])), line),
    "values at infinity": (lambda x: np.interp(x, np.float32([0, 2]), np.float32([np.inf, np.inf])), line),
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


def test_what_has_no_axes_of_ours_is_numpys():
    v, z, x = pc.Vector3f(1, 2, 3), pc.Complex2f(1, 2), pc.Float([1, 2])
    assert np.add.outer(v, x).tolist() == np.add.outer(np.asarray(v), [1, 2]).tolist()
    assert np.multiply.outer(z, x).ravel().tolist() == [1 + 2j, 2 + 4j]
    assert np.add.outer(x, 2).tolist() == [3, 4]
    assert np.add.reduce(v).tolist() == [1, 2, 3] and np.add.reduce(pc.TensorXf(3)) == 3
    with pytest.raises(TypeError, match="accumulate on a scalar"):
        np.add.accumulate(pc.TensorXf(3))
    for z in (z, pc.TensorXc([1, 2])):
        with pytest.raises(TypeError, match="'fabs' not supported"):
            np.fabs(z)


def test_components_are_an_axis_to_numpy():
    v = pc.Vector3d([1, 2], [3, 4], [5, 6])
    rows, mask = np.asarray(v), pc.Mask([True, False])
    for f in [
        np.sum, np.mean, np.linalg.norm, np.any, np.cumsum, lambda x: np.sum(x, axis=0), lambda x: np.roll(x, 1),
        lambda x: np.stack([x, x]),
    ]:  # fmt: skip
        np.testing.assert_allclose(f(v), f(rows))
    assert type(np.where(mask, v, v + 1)) is pc.Vector3d and type(np.copy(v)) is pc.Vector3d and type(np.sqrt(v)) is pc.Vector3d


def test_operators_behind_an_array_of_numpy():
    """As in front of it: lane by lane."""
    v, lanes = pc.Vector2d([1, 2, 3], [4, 5, 6]), np.array([1.0, 10, 100])
    assert (lanes * v).tolist() == (v * lanes).tolist() == [[1, 4], [20, 50], [300, 600]]
    assert (lanes - v).tolist() == (-(v - lanes)).tolist() and (np.float64(2) * v).tolist() == (v * 2).tolist()
    assert np.multiply([1, 10], v).shape == (3, 2)


def test_components_beside_what_has_axes():
    v, m, q = pc.Vector2d([1, 2, 3], [4, 5, 6]), pc.Matrix2d([[1, 2], [3, 4]]), pc.Quaternion4f(1, 2, 3, 4)
    rows, mask = np.asarray(v), np.array([True, False])
    for f in [
        lambda x: np.add(x, np.array([1, 2])), lambda x: np.multiply(x, [10, 100]), lambda x: np.multiply([10, 100], x), lambda x: np.where(mask, x, 0),
        lambda x: np.where([True, False], x, 0), lambda x: np.clip(x, [1, 5], [2, 100]), lambda x: np.isclose(x, [1, 4]), np.real, np.imag,
        lambda x: np.divide(2, x), lambda x: np.add(x, x), lambda x: np.multiply(x, 2), lambda x: np.clip(x, 2, 5),
    ]:  # fmt: skip
        np.testing.assert_allclose(np.asarray(f(v)), f(rows))
    for x in (m, q):
        for f in [np.square, np.real, lambda x: np.divide(2, x), lambda x: np.divide(x, 2), lambda x: np.multiply([1.0, 2], np.asarray(x)[..., :2])]:
            np.testing.assert_allclose(np.asarray(f(x)), f(np.asarray(x)), 1e-6)
    np.testing.assert_allclose(np.asarray(np.multiply([1.0, 2], m)), [1.0, 2] * np.asarray(m))
    assert type(np.multiply(v, 2)) is type(np.multiply(v, pc.Float64([1, 2, 3]))) is pc.Vector2d and type(np.divide(q, 2)) is pc.Quaternion4f


def test_complex_lanes_are_numbers_to_numpy():
    z = pc.Complex2f([1, 2], [3, 4])
    assert np.equal(z, z).tolist() == [True, True] and np.not_equal(z, 1).tolist() == [True, True]
    assert np.ravel(z).tolist() == [1 + 3j, 2 + 4j] and np.real(z).tolist() == [1, 2]


def test_products_of_entries():
    m, q = pc.Matrix2d(1, 2, 3, 4), pc.Quaternion4f(1, 2, 3, 4)
    assert np.multiply(m, m).tolist() == [[[1, 4], [9, 16]]] and np.multiply(q, q).tolist() == [[1, 4, 9, 16]]
    assert (m * m).tolist() == np.matmul(m, m).tolist() == [[[7, 10], [15, 22]]]
    assert type(np.float64(2) * m) is pc.Matrix2d and type(np.add(q, q)) is pc.Quaternion4f


def test_weights_of_another_shape_need_an_axis():
    with pytest.raises(TypeError):
        np.average(pc.TensorXf([[1, 2], [3, 4]]), weights=[1, 2])
    with pytest.raises(ValueError, match="got weights of"):
        pc.average(pc.zeros([2, 3, 4]), pc.zeros([2, 3]), [0, 2])


def test_an_ellipsis_of_no_axis_stands_apart():
    t = pc.zeros((4, 4, 1))
    with pytest.raises(TypeError, match="stands for no axis"):
        t[:, [0, 1, 2], ..., [0]]
    assert t[[0, 1, 2], ..., [0], [0]].shape == (3,) and t[:, ..., [0, 1], 0].shape == (4, 2)


big = 2**31 - 1


@pytest.mark.parametrize(
    "f",
    [
        lambda x, n: np.sum(x),
        lambda x, n: np.prod(x),
        lambda x, n: np.cumsum(x),
        lambda x, n: np.cumprod(x),
        lambda x, n: np.nansum(x),
        lambda x, n: np.mean(x),
        lambda x, n: np.var(x, ddof=1),
        lambda x, n: np.quantile(x, 0.3),
        lambda x, n: np.max(x),
        lambda x, n: np.fmod(x, n),
        lambda x, n: np.fmod(x, -7),
        lambda x, n: np.divmod(x, n)[1],
        lambda x, n: np.add.reduce(x),
        lambda x, n: np.fabs(x),
        lambda x, n: np.remainder(x, n),
        lambda x, n: np.divide(x, n),
        lambda x, n: np.true_divide(x, 3),
        lambda x, n: np.floor_divide(x, n),
        lambda x, n: np.power(n, n),
        lambda x, n: np.power(n, 19),
        lambda x, n: np.float_power(n, n),
        lambda x, n: np.sqrt(x),
        lambda x, n: np.arctan2(x, n),
        lambda x, n: np.maximum(x, n),
        lambda x, n: np.add(x, n),
        lambda x, n: np.square(n),
        lambda x, n: np.isnan(x),
    ],
)
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint8"])
@pytest.mark.filterwarnings("ignore")
def test_integers_mean_the_same(f, dtype):
    values = [big, 16777217, 1, big - 1] if dtype != "uint8" else [255, 200, 1, 254]
    x, n = np.array(values, dtype), np.array([2, 3, 19, 1], dtype)
    try:
        expected = np.asarray(f(x, n))
    except OverflowError:
        pytest.skip("a negative number does not fit")
    got = np.asarray(f(pc.asarray(x), pc.asarray(n)))
    if expected.dtype.kind in "iub":
        assert got.dtype == expected.dtype and got.reshape(expected.shape).tolist() == expected.tolist()
    else:
        np.testing.assert_allclose(got.reshape(expected.shape), expected, 1e-3 if dtype == "uint8" else 1e-12)


def test_sums_of_integers_are_wide():
    assert np.sum(pc.Int32([big] * 2)).tolist() == [2 * big] and np.sum(pc.Mask([1, 1])).tolist() == [2]
    assert np.fmod(pc.Int32([16777217]), pc.Int32([2])).tolist() == [1]
    assert pc.fmod(pc.Int64([9007199254740993, -7, 5]), pc.Int64([2, 3, 0])).tolist() == [1, -1, 0]
    assert type(pc.fmod(pc.Int64([7]), 2)) is pc.Int64
    assert np.divide(pc.Int32([16777217]), pc.Int32([1])).tolist() == [16777217]
    with pytest.raises(ValueError):
        np.power(pc.Int32([2]), -1)
    # Our own keep their types.
    assert type(pc.sum(pc.Int32([1]))) is pc.Int32 and type(pc.Int32([1]) / 2) is pc.Float


def test_extremes_propagate_nan():
    assert np.max(pc.Float([1, 3])).tolist() == [3] and math.isnan(np.max(pc.Float([1, np.nan, 3])).item())
    assert np.min(pc.TensorXf([[1, np.nan], [3, 4]]), axis=0).tolist()[0] == 1
    with pytest.raises(ValueError):
        np.max(pc.Float([]))


def test_singular_matrices_raise_what_numpy_raises():
    singular = pc.TensorXf([[1, 2], [2, 4]])
    for f, x in [
        (np.linalg.inv, singular),
        (lambda x: np.linalg.solve(x, pc.Float([1, 2])), singular),
        (np.linalg.cholesky, pc.TensorXf([[1, 2], [2, 1]])),
    ]:
        with pytest.raises(np.linalg.LinAlgError):
            f(x)


def test_shapes_of_values_with_components():
    for value in [pc.Vector3f([1, 2], 0, 1), pc.Complex2f([1, 2], 0), pc.Matrix2f(1)]:
        assert np.shape(value) == value.shape == tuple(pc.shape(value)) and np.ndim(value) == value.ndim == len(value.shape)
        assert np.size(value) == value.size == math.prod(value.shape)


def test_lists_of_arrays():
    made = pc.array([np.ones(3), np.zeros(3)])
    assert made.dtype == "float64" and made.tolist() == [[1, 1, 1], [0, 0, 0]]
    assert pc.Float([np.float32(1), np.int8(2)]).tolist() == [1, 2]
    assert pc.TensorXi([np.array([1, 2]), np.array([3, 4])]).tolist() == [[1, 2], [3, 4]]


def test_types_are_compared_and_named():
    x = pc.Float([1])
    assert x.dtype == np.float32 and x.dtype == np.dtype("f4") and x.dtype == pc.Float and x.dtype == "float32"
    assert x.dtype != np.float64 and np.float32 == x.dtype and hash(x.dtype) == hash("float32") and f"{x.dtype}" == "float32"
    assert np.dtype(x.dtype) == np.float32 and x.dtype != 3 and x.dtype is not None
    for values in (x, x > 0, pc.Int8([1]), pc.UInt64([1]), pc.Float16([1]), pc.Complex2f(x, x)):
        own, theirs = values.dtype, np.dtype(values.dtype)
        assert (own.kind, own.itemsize, own.name, own.type) == (theirs.kind, theirs.itemsize, theirs.name, theirs.type)
    for name, dtype in [("f4", "float32"), ("f8", "float64"), ("float", "float32"), ("i8", "int64"), ("<u2", "uint16")]:
        assert pc.zeros(2, dtype=name).dtype == dtype and pc.asarray([1], dtype=name).dtype == dtype
    for name in (complex, "complex64", "c8", np.complex64):
        z = pc.asarray([1, 2j], dtype=name)
        assert z.dtype == "complex64" and z.tolist() == [1, 2j]
        assert pc.zeros((2, 2), dtype=name).dtype == "complex64" and x.astype(name).tolist() == [1 + 0j]
    assert pc.asarray([1], dtype="complex128").dtype == np.complex128


def test_an_integer_behind_is_the_axis_of_extremes():
    t = pc.TensorXd([[1, 5, 3], [4, 2, 6]])
    assert t.max(0).tolist() == pc.max(t, 0).tolist() == [4, 5, 6] and t.min(-1).tolist() == [1, 2]
    assert pc.max(t, 1, keepdims=True).tolist() == [[5], [6]] and pc.max(t, None).tolist() == [6]
    assert pc.min(pc.Float([1, 5]), 0).tolist() == [1] and pc.max(np.array([[1.0, 5]]), 0).tolist() == [1, 5]
    # All else is the other operand.
    assert pc.max(t, 3.0).tolist() == [[3, 5, 3], [4, 3, 6]] and pc.max(pc.Float([1, 5]), pc.Int32(3)).tolist() == [3, 5]
    assert pc.maximum(t, 3).tolist() == pc.fmax(t, 3).tolist() == [[3, 5, 3], [4, 3, 6]] and pc.max(2, 3) == 3
    assert np.fmax(pc.Float([1, 5]), 3).tolist() == [3, 5]
    with pytest.raises((TypeError, ValueError, IndexError)):
        t.max(2)


def test_integers_of_numpy_and_tuples_are_axes_of_extremes():
    t = pc.TensorXd([[1, 5, 3], [4, 2, 6]])
    for axis in [np.int64(0), np.uint8(0), (0,), (np.int64(0),)]:
        assert pc.max(t, axis).tolist() == t.max(axis).tolist() == [4, 5, 6]
    assert t.max((0, 1)).tolist() == pc.max(t, (0, np.int8(-1))).tolist() == [6] and pc.min(t, (0, 1), True).shape == (1, 1)
    assert pc.concat([t, t], np.int64(1)).shape == (2, 6) and t.reshape(np.int64(3), 2).shape == (3, 2)
    # What has no axes goes lane by lane.
    assert pc.max(pc.Vector3f(1, 2, 3), 2).tolist() == [[2, 2, 3]] and pc.min(pc.Matrix2f([1, 2], [3, 4]), 2).dtype == "float32"
    assert pc.max(np.float32(3), 4) == 4 and pc.max(3, np.int64(4)) == 4 and pc.max(t, [0, 5, 4]).tolist() == [[1, 5, 4], [4, 5, 6]]
    assert str(inspect.signature(pc.max)) == str(inspect.signature(pc.sum)) == str(inspect.signature(pc.amin))


def test_no_axis_is_all_entries_in_one_row():
    t = pc.TensorXf([[3, 1], [2, 0]])
    assert pc.sort(t, None).tolist() == pc.sort(t, axis=None).tolist() == t.sort(axis=None).tolist() == [0, 1, 2, 3]
    assert pc.argsort(t, axis=None).tolist() == [3, 1, 2, 0] and pc.take(t, [0, 3], axis=None).tolist() == [3, 0]
    assert pc.concat([t, t], None).tolist() == pc.concatenate([t, t], axis=None).tolist() == [3, 1, 2, 0] * 2
    assert pc.sort(t).tolist() == [[1, 3], [0, 2]]


def test_real_numbers_have_parts():
    n, t = pc.Int8([1, -2]), pc.TensorXi64([[3]])
    for f in [pc.real, pc.conj, np.real, np.conj]:
        assert f(n).tolist() == [1, -2] and f(n).dtype == "int8" and f(t).dtype == "int64" and f(t).tolist() == [[3]]
    assert pc.imag(n).tolist() == n.imag.tolist() == [0, 0] and pc.imag(n).dtype == "int8"
    assert t.imag.tolist() == [[0]] and t.real.tolist() == [[3]] and pc.imag(2.5) == 0 and pc.conj(3) == 3
    assert pc.imag(pc.Complex2f(1, 2)).tolist() == [2] and pc.conj(pc.TensorXc([1 + 2j])).tolist() == [1 - 2j]


def test_powers_of_integers_are_exact():
    n = pc.Int32([3])
    assert pc.power(n, 19).tolist() == n.pow(19).tolist() == (n**19).tolist() == [3**19] and pc.power(n, 19).dtype == "int32"
    assert pc.pow(3, 40) == 3**40 and pc.pow(2.0, 3) == 8 and pc.pow(pc.Float([2]), 0.5).tolist() == [pytest.approx(2**0.5)]
    with pytest.raises(ValueError, match="negative power"):
        pc.power(n, -1)


def test_arguments_of_numpy():
    t, x = pc.TensorXd([[1, 5, 3], [4, 2, 6]]), pc.Float64([3, 1, 2, 3])
    n, m = np.asarray(t), np.asarray(x)
    assert t.sum(dtype="float32").dtype == "float32" and pc.mean(pc.Int32([1, 2]), dtype=pc.Float64).tolist() == [1.5]
    assert pc.sum(t, axis=1, initial=10).tolist() == [19, 22] and pc.max(t, axis=1, initial=5.5).tolist() == [5.5, 6]
    assert pc.max(pc.Float([]), initial=5).tolist() == [5] and pc.prod(x, initial=2).tolist() == [36]
    for low, high in [(2, None), (None, 2), (1.5, 2.5)]:
        assert pc.clip(x, low, high).tolist() == pc.clip(x, min=low, max=high).tolist() == np.clip(m, low, high).tolist()
    assert pc.diff(x, n=2).tolist() == np.diff(m, n=2).tolist() and pc.linspace(0, 1).size == 50
    assert pc.linspace(0, 1, num=5, endpoint=False).tolist() == pytest.approx([0, 0.2, 0.4, 0.6, 0.8])
    assert pc.zeros(3, np.int32).dtype == "int32" and pc.ones((2, 2), "float64").dtype == "float64"
    assert pc.zeros_like(t, dtype="int8").dtype == "int8" and pc.full_like(t, 7, dtype=pc.Int32).tolist() == [[7] * 3] * 2
    for name in ["index", "inverse", "counts"]:
        for a, b in zip(pc.unique(x, **{f"return_{name}": True}), np.unique(m, **{f"return_{name}": True})):
            assert a.tolist() == b.tolist()
    assert pc.quantile(x, 0.5, method="linear").tolist() == [2.5] and [a.tolist() for a in pc.split(x, [1, 3])] == [[3], [1, 2], [3]]
    assert [a.tolist() for a in pc.meshgrid(pc.Float([1, 2]), pc.Float([5, 6]), indexing="ij")] == [[1, 1, 2, 2], [5, 6, 5, 6]]
    assert pc.tensordot(t, t, axes=([0, 1], [0, 1])).tolist() == [91] or float(pc.tensordot(t, t, axes=([0, 1], [0, 1]))) == 91
    cube = pc.zeros([2, 3, 4])
    assert pc.expand_dims(cube, (0, -1)).shape == (1, 2, 3, 4, 1) and pc.moveaxis(cube, [0, 1], [-1, -2]).shape == (4, 3, 2)
    for order in [1, 2, np.inf, "fro", "nuc", -1]:
        assert pc.norm(t, ord=order).tolist() == [pytest.approx(np.linalg.norm(n, order))]
    assert pc.norm(x, ord=1).tolist() == [9] and pc.fftfreq(4, d=0.5).tolist() == [0, 0.5, -1, -0.5]
    np.testing.assert_allclose(np.asarray(pc.fft(x, norm="ortho")), np.fft.fft(m, norm="ortho"))
    assert round(pc.Float([0.5, 1.7])).tolist() == [0, 2] and round(pc.Float64([1.25]), 1).tolist() == [1.2]
    for call in [lambda: pc.sum(x, wrong=1), lambda: pc.clip("a", 0, 1), lambda: pc.quantile(x, "a"), lambda: pc.split(x)]:
        with pytest.raises(TypeError):
            call()


def test_names_of_numpy():
    t, x = pc.TensorXd([[1, 5, 3], [4, 2, 6]]), pc.Float64([3, 1, 2, 3])
    n, m = np.asarray(t), np.asarray(x)
    gaps = np.array([[1, np.nan, 3], [4, 2, 7]])
    cases = [
        (lambda l, t, x: l.add(t, 1), n + 1), (lambda l, t, x: l.divide(t, t), n / n), (lambda l, t, x: l.bitwise_xor(l.asarray([5, 6]), 4), [1, 2]),
        (lambda l, t, x: l.append(x, [7, 8]), None), (lambda l, t, x: l.append(t, [[7, 8, 9]], 0), None), (lambda l, t, x: l.append(t, 5), None),
        (lambda l, t, x: l.insert(x, 1, [8, 9]), None), (lambda l, t, x: l.insert(t, -1, 9, 0), None), (lambda l, t, x: l.insert(t, 1, [8, 9], 1), None),
        (lambda l, t, x: l.delete(x, 1), None), (lambda l, t, x: l.delete(t, [0, -1], 1), None), (lambda l, t, x: l.delete(t, 4), None), (lambda l, t, x: l.delete(x, x > 2), None),
        (lambda l, t, x: l.column_stack([x, x]), None), (lambda l, t, x: l.array_split(x, 3)[0], None), (lambda l, t, x: l.array_split(t, [1], 1)[1], None),
        (lambda l, t, x: l.tri(2, 3, 1), None), (lambda l, t, x: l.identity(3), None), (lambda l, t, x: l.diagonal(t, 1), None), (lambda l, t, x: l.diagflat(x, -1), None),
        (lambda l, t, x: t[l.tril_indices(2, 0, 3)], None), (lambda l, t, x: t[l.triu_indices(2, 0, 3)], None),
        (lambda l, t, x: l.angle(x - 2), None), (lambda l, t, x: l.lexsort([x, l.flip(x)]), None), (lambda l, t, x: l.setxor1d(x, l.asarray([3, 5])), None),
        (lambda l, t, x: l.nanvar(l.asarray(gaps), 0), None), (lambda l, t, x: l.nanstd(l.asarray(gaps), 1, ddof=1) if l is pc else np.nanstd(gaps, 1, ddof=1), None),
        (lambda l, t, x: l.nancumsum(l.asarray(gaps), 1), None), (lambda l, t, x: l.nancumsum(l.asarray(gaps)), None), (lambda l, t, x: l.vecdot(t, t), (n * n).sum(1)),
        (lambda l, t, x: l.piecewise(x, [x < 2, x > 2], [-1, lambda v: v * 2, 7]) if l is pc else [6, -1, 7, 6], None),
        (lambda l, t, x: l.choose(l.asarray([0, 1, 0, 1]), [x, x * 10]), None), (lambda l, t, x: l.astype(x, "int32") if l is pc else m.astype(int), None),
        (lambda l, t, x: [l.ndim(t), l.size(t)], None), (lambda l, t, x: l.deg2rad(x), None), (lambda l, t, x: l.degrees(x), None), (lambda l, t, x: l.rint(x / 2), None),
        (lambda l, t, x: l.amax(t, 0), None), (lambda l, t, x: l.fmin(x, 2), None), (lambda l, t, x: l.reciprocal(x), None), (lambda l, t, x: l.around(x / 3, 1), None),
    ]  # fmt: skip
    for f, expected in cases:
        expected = np.asarray(f(np, n, m) if expected is None else expected)
        np.testing.assert_allclose(np.asarray(f(pc, t, x)).reshape(expected.shape), expected, 1e-6)
    for name, words in [("float32", "pc.Float"), ("linalg", "pc.solve"), ("uint8", "pc.UInt8"), ("sinn", "did you mean")]:
        with pytest.raises(AttributeError, match=words):
            getattr(pc, name)
    for wrong in [lambda: pc.insert(x, 9, 1), lambda: pc.delete(x, 9), lambda: pc.delete(x, [0, -5])]:
        with pytest.raises(IndexError):
            wrong()


def test_numbers_on_the_left_take_the_type_of_arrays():
    for f, l in [(pc.add, np.add), (pc.subtract, np.subtract), (pc.multiply, np.multiply), (pc.divide, np.divide)]:
        for a in [0.1, 1e300]:
            found = f(a, pc.Float64([2]))
            assert found.dtype == "float64" and found.item() == l(a, np.array([2.0])).item()
    assert pc.add(0.1, np.array([1.0])).item() == 1.1 and pc.add([1.5], 2).tolist() == [3.5] and pc.add(1, [1.5]).tolist() == [2.5]
    for f in [pc.add, pc.multiply, pc.bitwise_or]:
        assert f(2, pc.Int8([3])).dtype == "int8" and f(pc.Int8([3]), 2).dtype == "int8"


def test_insert_and_delete_as_numpy():
    t, x = np.arange(9.0).reshape(3, 3), np.array([3.0, 1, 2, 3])
    column = np.array([[7.0], [8], [9]])
    for at, values, axis in [
        (1, column, 1), (1, column, 0), (1, column[:2], 1), (1, [[5]], 1), (1, np.ones((2, 3)), 1), (np.int64(1), 5, 1), (-1, [1, 2, 3], 1), (3, [1, 2, 3], 0)
    ]:  # fmt: skip
        assert pc.insert(pc.TensorXd(t), at, values, axis).tolist() == np.insert(t, at, values, axis).tolist()
    for values in [np.ones((3, 2)), [1, 2]]:
        for l in [np, pc]:
            with pytest.raises(ValueError):
                l.insert(t, 1, values, 1)
    for places in [np.int64(1), slice(1, 3), slice(None, None, -2), [], np.array([0, -1]), np.array([True, False, False, True])]:
        assert pc.delete(pc.Float64(x), places).tolist() == np.delete(x, places).tolist()
    with pytest.raises(TypeError, match="delete: got 1.0 as a place"):
        pc.delete(x, [1.0])
    with pytest.raises(TypeError, match="insert: got 1.5 as the place"):
        pc.insert(x, 1.5, 0)


def test_piecewise_and_choose_as_numpy():
    x, m = pc.Float64([3, 1, 2, 3]), np.array([3.0, 1, 2, 3])
    for conditions in [m > 2, [True, False, True, False], [m > 2]]:
        for values in [[1, 2], [lambda v: v * 2]]:
            assert pc.piecewise(x, conditions, values).tolist() == np.piecewise(m, conditions, values).tolist()
    assert pc.piecewise(x, x > 2, [1, 2]).tolist() == [1, 2, 2, 1]
    for conditions, values in [(x > 2, [1, 2, 3]), ([x > 2, x < 1], [1])]:
        with pytest.raises(ValueError, match="piecewise: got . values for . conditions"):
            pc.piecewise(x, conditions, values)
    zero, t = [0, 0, 0, 0], pc.TensorXd([[1, 2], [3, 4]])
    assert pc.choose(zero, [x]).tolist() == m.tolist() and pc.choose(zero, [5]).tolist() == [5] * 4
    assert pc.choose(pc.TensorXi([[0, 1], [1, 0]]), [t, t * 10]).tolist() == [[1, 20], [30, 4]]
    assert pc.choose(np.array([True, False]), [1, 2]).tolist() == [2, 1]
    for index in [[0, 2, 0, 1], [0, -1, 0, 1]]:
        with pytest.raises(IndexError, match="out of bounds for size 2"):
            pc.choose(index, [x, x * 10]).tolist()
    with pytest.raises(ValueError, match="choose: got no choices"):
        pc.choose(zero, [])


def test_axes_out_of_range_and_twice():
    t, cube = pc.TensorXd([[1, 5, 3], [4, 2, 6]]), pc.zeros([2, 1, 4])
    for wrong in [
        lambda: pc.moveaxis(cube, [0, 7], [1, 2]), lambda: pc.moveaxis(cube, [0, 1], [1, -4]), lambda: pc.moveaxis(cube, [0, 0], [0, 1]),
        lambda: pc.moveaxis(cube, [0, 1], [0]), lambda: pc.squeeze(cube, (5,)), lambda: pc.squeeze(cube, (1, 1)), lambda: pc.expand_dims(t, (7,)),
        lambda: pc.expand_dims(t, (1, 1)), lambda: pc.expand_dims(t, (0, -4)), lambda: pc.split(t, [1], axis=4), lambda: pc.insert(t, 0, 1, 2),
        lambda: pc.delete(t, 0, -3), lambda: pc.array_split(t, 2, 2), lambda: pc.array_split(t, 0),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match="expected"):
            wrong()
    assert pc.moveaxis(cube, [np.int64(0)], [-1]).shape == (1, 4, 2) and pc.squeeze(cube, (-2,)).shape == (2, 4)
    assert pc.split(t, np.array([1]), axis=np.int64(1))[1].shape == (2, 2) and pc.array_split(t, np.int64(2))[0].shape == (1, 3)


def test_types_of_results():
    n = pc.UInt8([200, 100])
    for f, l in [(pc.sum, np.sum), (pc.cumsum, np.cumsum), (pc.prod, np.prod)]:
        found, expected = f(n, dtype="uint8"), l(np.asarray(n), dtype="uint8")
        assert found.dtype == "uint8" and found.tolist() == np.atleast_1d(expected).tolist()
    assert pc.sum(n, dtype="uint8", initial=1).tolist() == [45] and pc.sum(n, dtype=None).tolist() == [300]
    assert pc.zeros(3, None).tolist() == [0] * 3 and pc.full(3, 1, None).tolist() == [1] * 3 and pc.zeros_like(n, dtype=None).dtype == "uint8"
    empty = pc.zeros((0, 3))
    assert pc.max(empty, axis=0, initial=5).tolist() == [5, 5, 5] and pc.min(empty, axis=1, initial=5).size == 0
    assert pc.max(empty, axis=0, keepdims=True, initial=5).shape == (1, 3) and pc.max(pc.UInt8([]), initial=5).dtype == "uint8"
    t = pc.TensorXd([[3, 0], [4, 0]])
    assert pc.norm(t, ord="fro").tolist() == pc.norm(t, ord="fro", axis=(0, 1)).tolist() == [5] and pc.norm(t, ord=1, axis=np.int64(0)).tolist() == [7, 0]
    for x, named in [(t, {"axis": 0}), (n, {}), (pc.zeros([2, 2, 2]), {})]:
        with pytest.raises(TypeError, match="norm: got ord='fro' of"):
            pc.norm(x, ord="fro", **named)


@pytest.mark.parametrize("name", ["hanning", "hamming", "blackman", "bartlett", "kaiser"])
def test_windows(name):
    more = [(0,), (5.5,)] if name == "kaiser" else [()]
    for n in (0, 1, 2, 7, 12):
        for beta in more:
            found = np.asarray(getattr(pc, name)(n, *beta, dtype=pc.Float64))
            np.testing.assert_allclose(found, getattr(np, name)(n, *beta), 1e-13, 1e-15)
    assert getattr(pc, name)(M=4, **({"beta": 2} if name == "kaiser" else {})).dtype == "float32"


def test_names_of_scipy():
    scipy = pytest.importorskip("scipy")
    import scipy.linalg, scipy.special, scipy.stats

    m, p, n = rng.random((3, 7)), rng.random(9), rng.random(9) * 20 - 8
    cases = [
        (pc.skew(pc.TensorXd(m), 1), scipy.stats.skew(m, 1)), (pc.kurtosis(pc.TensorXd(m), axis=0), scipy.stats.kurtosis(m)),
        (pc.toeplitz(pc.Float64(p), pc.Float64(n[:4])), scipy.linalg.toeplitz(p, n[:4])), (pc.toeplitz(pc.Float64(p)), scipy.linalg.toeplitz(p)),
        (pc.logit(pc.Float64(p)), scipy.special.logit(p)), (pc.entr(pc.Float64(p)), scipy.special.entr(p)),
        (pc.xlogy(pc.Float64(n), pc.Float64(p)), scipy.special.xlogy(n, p)), (pc.trigamma(pc.Float64(abs(n))), scipy.special.polygamma(1, abs(n))),
        (pc.gammainc(pc.Float64(p * 9), pc.Float64(abs(n))), scipy.special.gammainc(p * 9, abs(n))),
        (pc.gammaincc(pc.Float64(p * 9), pc.Float64(abs(n))), scipy.special.gammaincc(p * 9, abs(n))),
        (pc.betainc(pc.Float64(abs(n)), pc.Float64(p * 9), pc.Float64(p)), scipy.special.betainc(abs(n), p * 9, p)),
        (pc.beta(pc.Float64(abs(n)), pc.Float64(p)), scipy.special.beta(abs(n), p)),
        (pc.betaln(pc.Float64(abs(n)), pc.Float64(p)), scipy.special.betaln(abs(n), p)),
        (pc.i0(pc.Float64(n)), scipy.special.i0(n)), (pc.i1(pc.Float64(n)), scipy.special.i1(n)),
        (pc.j0(pc.Float64(n)), scipy.special.j0(n)), (pc.j1(pc.Float64(n)), scipy.special.j1(n)),
        (pc.y0(pc.Float64(p)), scipy.special.y0(p)), (pc.y1(pc.Float64(p)), scipy.special.y1(p)),
        (pc.vander(pc.Float64(p)), np.vander(p)), (pc.vander(pc.Float64(p), N=3, increasing=True), np.vander(p, 3, True)),
        (pc.lexsort(pc.TensorXi([[2, 1, 1], [0, 1, 0]])), np.lexsort([[2, 1, 1], [0, 1, 0]])),
        (pc.one_hot(pc.UInt32([2, 0]), 3, dtype=pc.Int32), np.eye(3)[[2, 0]]),
    ]  # fmt: skip
    for found, expected in cases:
        np.testing.assert_allclose(np.asarray(found), expected, 1e-11)


def test_complex_entries_have_an_order_and_products():
    z = rng.integers(-2, 3, 40) + 1j * rng.integers(-2, 3, 40)
    x, m = pc.asarray(z), pc.asarray(z.reshape(4, 10))
    for found, expected in [
        (pc.sort(x), np.sort(z)), (pc.sort(m, 0), np.sort(z.reshape(4, 10), 0)), (pc.argsort(x), np.argsort(z, kind="stable")),
        (pc.unique(x), np.unique(z)), (pc.cumprod(x / 2, 0), np.cumprod(z / 2)), (pc.cumprod(m, 1), np.cumprod(z.reshape(4, 10), 1)),
        (pc.expm1(x * 1e-3), np.expm1(z * 1e-3)), (pc.log1p(x * 0.3), np.log1p(z * 0.3)), (np.log1p(x * 0.3), np.log1p(z * 0.3)),
    ]:  # fmt: skip
        np.testing.assert_allclose(np.asarray(found), expected, 1e-12, 1e-14)
    values, first, inverse, counts = pc.unique(x, return_index=True, return_inverse=True, return_counts=True)
    expected = np.unique(z, return_index=True, return_inverse=True, return_counts=True)
    for found, other in zip((values, first, inverse, counts), expected, strict=True):
        np.testing.assert_array_equal(np.asarray(found), other)


def test_a_truth_value_that_is_written_is_0_or_1_as_numpy_has_it():
    x, y = pc.Float([2, 3]), np.array([2, 3], "f4")
    x[0], y[0] = True, True
    assert x.tolist() == y.tolist() == [1, 3]


def test_signals_and_triangles_are_those_of_scipy():
    scipy = pytest.importorskip("scipy")
    import scipy.linalg, scipy.signal

    x, m, r = rng.random(41), rng.random((3, 12)), np.random.default_rng(3).random((4, 4)) + 2 * np.eye(4)
    b, a = np.array([0.2, 0.3, 0.1]), np.array([1.5, -0.4, 0.1, 0.05])
    s, l, p, d = scipy.signal, scipy.linalg, pc.Float64(x), pc.TensorXd(m)
    o, t = pc.asarray, pc.TensorXd(r)
    y, state = pc.lfilter(o(b), o(a), d, zi=o(m[:, :3]))
    expected, left = s.lfilter(b, a, m, zi=m[:, :3])
    definite, whole = r @ r.T, np.arange(9) * 7 % 5 + 2**60
    high = np.random.default_rng(4).integers(0, 50, 100_000).astype(float)
    cases = [
        (y, expected), (state, left), (pc.lfilter(o(b), 1, p), s.lfilter(b, 1, x)), (pc.lfilter(o(b), o(a), d, 0), s.lfilter(b, a, m, 0)),
        (pc.lfilter(2, o(a), p), s.lfilter([2], a, x)), (pc.lfilter(o(b), o(a), d, zi=o(m[:1, :3]))[1], s.lfilter(b, a, m, zi=m[:1, :3])[1]),
        (pc.lfilter(o(b), o(a), o(x + 1j * x)), s.lfilter(b, a, x + 1j * x)),
        (pc.savgol_filter(p, 7, 3), s.savgol_filter(x, 7, 3)), (pc.savgol_filter(d, 5, 2, deriv=1, delta=0.5), s.savgol_filter(m, 5, 2, 1, 0.5)),
        (pc.savgol_filter(d, 3, 1, axis=0, mode="interp"), s.savgol_filter(m, 3, 1, axis=0)),
        (pc.savgol_filter(d, 7, 4, deriv=3, delta=0.5), s.savgol_filter(m, 7, 4, 3, 0.5)), (pc.savgol_filter(d, 11, 6), s.savgol_filter(m, 11, 6)),
        (np.asarray(pc.medfilt(o(whole), 5)) - 2**60, s.medfilt(whole, 5) - 2**60), (pc.medfilt(p, 5), s.medfilt(x, 5)), (pc.medfilt(d, (3, 1)), s.medfilt(m, (3, 1))),
        (pc.detrend(d), s.detrend(m)), (pc.detrend(d, 0, type="constant"), s.detrend(m, 0, "constant")),
        (pc.hilbert(p), s.hilbert(x)), (pc.hilbert(d, N=10, axis=1), s.hilbert(m, 10, 1)),
        (pc.find_peaks(p), s.find_peaks(x)[0]), (pc.find_peaks(p, height=0.6), s.find_peaks(x, height=0.6)[0]),
        (pc.find_peaks(p, distance=4), s.find_peaks(x, distance=4)[0]), (pc.find_peaks(p, prominence=0.4), s.find_peaks(x, prominence=0.4)[0]),
        (pc.find_peaks(o(high), prominence=30), s.find_peaks(high, prominence=30)[0]),
        (pc.fftconvolve(p, o(b), mode="same"), s.fftconvolve(x, b, "same")),
        (pc.fftconvolve(o(b), p, "same"), s.fftconvolve(b, x, "same")), (pc.fftconvolve(p[:6], p, "same"), s.fftconvolve(x[:6], x, "same")),
        (pc.detrend(p, bp=np.int64(0)), s.detrend(x)), (pc.detrend(p, bp=[0]), s.detrend(x)),
        (pc.solve_triangular(t, d.T[:4]), l.solve_triangular(r, m.T[:4])),
        (pc.solve_triangular(t, p[:4], lower=True, unit_diagonal=True), l.solve_triangular(r, x[:4], lower=True, unit_diagonal=True)),
        (pc.solve_triangular(t, p[:4], trans="T"), l.solve_triangular(r, x[:4], trans="T")),
        (pc.cho_solve(pc.cholesky(o(definite)), p[:4]), np.linalg.solve(definite, x[:4])),
        (pc.cho_solve((pc.cholesky(o(definite)), True), p[:4]), np.linalg.solve(definite, x[:4])),
        (pc.cho_solve((pc.cholesky(o(definite)).T, False), p[:4]), np.linalg.solve(definite, x[:4])),
        (pc.hankel(p[:3], r=p[2:7]), l.hankel(x[:3], x[2:7])), (pc.hankel(p[:3]), l.hankel(x[:3])), (pc.circulant(p[:4]), l.circulant(x[:4])),
        (pc.block_diag(t, d), l.block_diag(r, m)), (pc.block_diag([t, d]), l.block_diag(r, m)),
        (pc.block_diag([t, t]), l.block_diag(r, r)), (pc.block_diag([[1, 2], [3, 4]]), l.block_diag([[1, 2], [3, 4]])), (pc.block_diag([1, 2]), l.block_diag([1, 2])),
    ]  # fmt: skip
    for found, expected in cases:
        np.testing.assert_allclose(np.asarray(found), expected, 1e-9, 1e-12)
    with pytest.raises(ValueError, match="mode='nearest'"):
        pc.savgol_filter(p, 5, 2, mode="nearest")
    with pytest.raises(ValueError, match="bp="):
        pc.detrend(p, bp=[0, 5])


def test_a_weight_by_name_is_no_length():
    x = pc.Int32([0, 2])
    assert pc.bincount(x, weights=np.int64(2)).tolist() == pc.bincount(x, weights=np.float32(2)).tolist() == [2, 0, 2]


def test_a_count_of_an_order_is_an_integer():
    assert pc.permutation(np.array([5])).tolist() == [5]
    assert pc.permutation(np.int64(3)).size == 3 == pc.permutation(np.array(3)).size


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "uint64", "float16", "float32", "float64"])
def test_unique_rows(dtype):
    for shape, axis in [((40, 2), 0), ((40, 11), 0), ((3, 40), 1), ((9, 2, 3), 0), ((1, 4), 0), ((3, 0), 0), ((0, 3), 0)]:
        x = (rng.integers(0, 3, shape) - (1 if np.dtype(dtype).kind in "if" else 0)).astype(dtype)
        for found, expected in zip(pc.unique_all(pc.asarray(x), axis=axis), np.unique(x, True, True, True, axis=axis)):
            np.testing.assert_array_equal(np.asarray(found), expected)
        assert len(pc.unique(pc.asarray(x), True, axis=axis)) == 2
    assert pc.unique(pc.TensorXf([[np.nan, 1], [0.0, 2], [np.nan, 1], [-0.0, 2]]), axis=0).shape == (2, 2)


def test_matrices_of_many_and_the_largest():
    m = np.arange(18).reshape(2, 3, 3)
    x = pc.asarray(m)
    assert pc.trace(x).tolist() == np.trace(m).tolist() and pc.diag(x, 1).tolist() == np.linalg.diagonal(m, offset=1).tolist()
    values, places = pc.topk(pc.Float([3, math.nan, 5, 3]), 2)
    assert values.tolist() == [5, 3] and places.tolist() == [2, 0]
    assert pc.topk(x, k=1, axis=1)[0].tolist() == m.max(1, keepdims=True).tolist()
    assert pc.diff(pc.Int32([1, 4, 9]), 2, 0).tolist() == pc.diff(pc.Int32([1, 4, 9]), n=2).tolist() == [2]
    assert type(pc.split(pc.Float([1, 2, 3]), [1])[0]) is type(pc.split(pc.Float([1, 2]), 2)[0]) is pc.Float
    for mode in ("edge", "reflect", "symmetric", "wrap"):
        for widths in (1, (2, 0), ((0, 0), (5, 7), (3, 1))):
            assert pc.pad(x, widths, mode=mode).tolist() == np.pad(m, widths, mode=mode).tolist()


def test_an_index_of_more_axes_gives_its_shape():
    index, m = np.array([[0, -1], [2, 1]]), np.arange(3, dtype="f4")
    for own in [pc.TensorXi(index), index, index.tolist()]:
        x = pc.Float(m)
        assert x[own].tolist() == pc.take(x, own).tolist() == m[index].tolist()
        x[own] = [5, 6]
        expected = m.copy()
        expected[index] = [5, 6]
        assert x.tolist() == expected.tolist()
    x = pc.Float([0, 0])
    pc.scatter_add(x, pc.TensorXf([[1, 2]]), pc.TensorXu([[0, 1], [1, 1]]))
    assert x.tolist() == [1, 5] and pc.gather(x, pc.TensorXu([[1], [0]])).tolist() == [[5], [1]]
    places = pc.TensorXu([[1, 0], [0, 1]])
    assert pc.gather(x, places, pc.Mask([True, False])).tolist() == [[5, 0], [1, 0]]
    assert pc.gather(x, places, pc.TensorXm([[True], [False]])).tolist() == [[5, 1], [0, 0]]
    n = pc.UInt([0, 0])
    assert pc.scatter_inc(n, pc.TensorXu([[0, 1], [0, 0]])).tolist() == [[0, 0], [1, 2]] and n.tolist() == [3, 1]
    # One lane is read by every index.
    assert pc.Float([9])[[[0, 7]]].tolist() == pc.Float([9])[pc.TensorXi([[0, 7]])].tolist() == [[9, 9]]


def test_an_index_of_more_axes_reads_and_writes_complex_lanes():
    index, m = np.array([[0, -1], [2, 1]]), np.array([1 + 4j, 2 + 5j, 3 + 6j], dtype="c8")
    for own in [pc.TensorXi(index), index.tolist()]:
        z = pc.Complex2f([1, 2, 3], [4, 5, 6])
        assert z[own].tolist() == pc.take(z, own).tolist() == m[index].tolist()
        z[own] = pc.Complex2f([7, 8], 1)
        expected = m.copy()
        expected[index] = [7 + 1j, 8 + 1j]
        assert z.real.tolist() == expected.real.tolist() and z.imag.tolist() == expected.imag.tolist()


def test_conditions_and_choices_are_what_numpy_takes():
    x = np.array([-2.0, -1, 1, 2])
    rows = np.array([x < 0, x >= 0])
    for conditions in [rows, list(rows), pc.asarray(rows)]:
        assert pc.piecewise(x, conditions, [-1, 1]).tolist() == [-1, -1, 1, 1]
    for conditions in [x < 0, [x < 0], list(x < 0), [True, True, False, False]]:
        assert pc.piecewise(x, conditions, [-1, 1]).tolist() == [-1, -1, 1, 1]
    assert pc.choose(pc.UInt32([0, 1]), [pc.Float64([1, 2]), 0.1]).tolist() == [1, 0.1]
    assert pc.choose(pc.UInt32([0, 1]), [pc.UInt8([1, 2]), 7]).dtype == "uint8"
    assert pc.choose(pc.UInt32([0, 0]), [5]).tolist() == [5, 5]
    with pytest.raises(ValueError, match="-1 times"):
        pc.diff(x, n=-1)


def test_complex_numbers_beside_tensors():
    z, x = pc.TensorXc([1, 2j]), pc.TensorXf([[1, 2], [3, 4]])
    assert (z + 2j).tolist() == (2j + z).tolist() == [1 + 2j, 4j] and (z / 1j).tolist() == [-1j, 2]
    assert (z * np.complex64(1j)).tolist() == np.multiply(z, 1j).tolist() == [1j, -2]
    assert (z == 2j).tolist() == [False, True] and (z != 2j).tolist() == [True, False]
    assert (x * 2j).tolist() == [[2j, 4j], [6j, 8j]] and (x * 2j).dtype == "complex64"
    assert (pc.TensorXz([1, 2]) - 1j).dtype == "complex128" and (x[0] + 1j).tolist() == (1j + x[0]).tolist() == [1 + 1j, 2 + 1j]
    assert pc.where(pc.TensorXm([True, False]), z, 3j).tolist() == [1, 3j]
    np.testing.assert_allclose((z**2j).tolist(), np.array([1, 2j]) ** 2j, rtol=1e-5)
    z[0] = 5 - 1j
    assert z.tolist() == [5 - 1j, 2j]
    with pytest.raises(TypeError, match="expected real ones"):
        pc.TensorXc(z, pc.Float([1, 2]))
    with pytest.raises(ValueError, match="got a complex number, expected values for TensorXf"):
        x[0] = 2j
    assert pc.full((2, 1), 2j).tolist() == [[2j], [2j]] and pc.full(2, np.complex128(1j)).dtype == "complex128"
    assert pc.full_like(z, 1j).tolist() == [1j, 1j]


def test_values_that_lose_digits_are_converted_by_whom_they_belong_to():
    for x in (pc.Float([1, 2, 3]), pc.TensorXf([1, 2, 3])):
        with pytest.raises(TypeError, match=r'got values of Float64 for Float; convert them: values.astype\("float32"\)'):
            x[0:2] = np.array([1.0, 2.0])
        x[0:2] = np.array([1.0, 2.0]).astype("float32")
        x[2] = np.float64(4)
        assert x.tolist() == [1, 2, 4]
