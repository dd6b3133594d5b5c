"""Functions of NumPy, SciPy and JAX that are a few words of ours."""

import math

import pytest

import porcini as pc

np = pytest.importorskip("numpy")

matrix = np.random.default_rng(5).random((3, 4))
TYPES = "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128".split()


def linear(library):
    return np.linalg if library is np else library


ALIKE = {
    "block": lambda l, x: l.block([[x, x], [x * 2, x * 3]]),
    "block of rows": lambda l, x: l.block([[x[0], x[1]], [x[0], x[1]]]),
    "block of one": lambda l, x: l.block([x[0], x[1]]),
    "dstack": lambda l, x: l.dstack([x, x]),
    "broadcast_arrays": lambda l, x: l.broadcast_arrays(x, x[:1], x[0]),
    "apply_along_axis": lambda l, x: l.apply_along_axis(l.sum, 0, x),
    "apply_along_axis of an axis": (lambda l, x: l.apply_along_axis(lambda line: l.sum(line, keepdims=True), 0, x)),
    "apply_along_axis of lines": lambda l, x: l.apply_along_axis(lambda line: line[::-1], 0, x),
    "apply_along_axis of matrices": lambda l, x: l.apply_along_axis(lambda line: l.stack([line, line * 2]), 0, x),
    "tril_indices_from": lambda l, x: l.tril_indices_from(x, 1),
    "triu_indices_from": lambda l, x: l.triu_indices_from(x, -1),
    "matrix_norm": lambda l, x: linear(l).matrix_norm(x, ord=2, keepdims=True),
    "multi_dot": lambda l, x: linear(l).multi_dot([x, x.T, x, x[0]]),
    "multi_dot of a row": lambda l, x: linear(l).multi_dot([x[0], x.T, x]),
    "polydiv": lambda l, x: l.polydiv(x[0], x[1, :2]),
    **{
        f"vector_norm {axis} {order}": lambda l, x, axis=axis, order=order: [linear(l).vector_norm(x, axis=axis, ord=order, keepdims=keepdims) for keepdims in (False, True)]
        for axis in (None, 0, 1, (0, 1))
        for order in (1, 2, 3, np.inf)
    },
}  # fmt: skip


def parts(result):
    return [part for item in result for part in parts(item)] if isinstance(result, (tuple, list)) else [np.asarray(result)]


@pytest.mark.parametrize("name", ALIKE)
def test_calls_mean_the_same(name):
    expected, got = parts(ALIKE[name](np, matrix)), parts(ALIKE[name](pc, pc.asarray(matrix)))
    assert len(got) == len(expected)
    for a, b in zip(got, expected):
        assert a.shape == b.shape or a.size == b.size == 1
        np.testing.assert_allclose(a.reshape(b.shape), b, 1e-12)


def test_what_is_written_along_an_axis():
    for index, values, axis in [(np.argmax(matrix, 1)[:, None], 9, 1), ([[0, 1, 2, 0]], [[5, 6, 7, 8]], 0), ([1, -1], [7, 8], None)]:
        x, own = matrix.copy(), pc.array(matrix)
        np.put_along_axis(x, np.asarray(index), np.asarray(values), axis)
        pc.put_along_axis(own, index, values, axis)
        assert own.tolist() == x.tolist()
    x, own = matrix.copy(), pc.array(matrix)
    np.fill_diagonal(x, 5)
    pc.fill_diagonal(own, 5)
    assert own.tolist() == x.tolist()
    with pytest.raises(TypeError, match="fill_diagonal: got 1 axes"):
        pc.fill_diagonal(pc.Float([1]), 2)


def test_shapes_and_types():
    assert pc.broadcast_shapes() == () and pc.broadcast_shapes(3, (2, 1)) == (2, 3) and pc.broadcast_shapes((0,), (1,)) == (0,)
    with pytest.raises(ValueError, match="broadcast_shapes: got"):
        pc.broadcast_shapes((2,), (3,))
    for casting in ("safe", "same_kind", "no", "unsafe"):
        for a in TYPES:
            assert [pc.can_cast(a, b, casting) for b in TYPES] == [np.can_cast(a, b, casting) for b in TYPES]
    assert pc.result_type(pc.Int32([1]), 2.5) == (pc.Int32([1]) + 2.5).dtype and pc.promote_types("int32", pc.Float) == "float32"
    assert pc.result_type(True, pc.Mask([True])) == "bool" and pc.result_type("bool", "int8") == "int8" and pc.result_type(pc.Float, 1j) == "complex64"


def test_activations():
    x = pc.Float([-4, -1, 0, 7])
    assert pc.relu6(x).tolist() == [0, 0, 0, 6] and pc.grad(pc.relu6)(pc.Float([-1, 0, 3, 6, 7])).tolist() == [0, 0, 1, 0, 0]
    np.testing.assert_allclose(pc.selu(x).numpy(), 1.0507009873554805 * np.where(x.numpy() > 0, x.numpy(), 1.6732632423543772 * np.expm1(x.numpy())), 1e-6)
    np.testing.assert_allclose(pc.glu(pc.asarray(matrix), 1).numpy(), matrix[:, :2] / (1 + np.exp(-matrix[:, 2:])), 1e-12)
    signs = pc.Float64([-4, -1, 0, 0.5, 7])
    assert pc.hard_tanh(signs).tolist() == [-1, -1, 0, 0.5, 1] and pc.hard_silu(signs)[-1] == pc.hard_swish(signs)[-1] == 7
    np.testing.assert_allclose(pc.celu(signs, 2).numpy(), np.where(signs.numpy() > 0, signs.numpy(), 2 * np.expm1(signs.numpy() / 2)), 1e-12)
    assert not np.isnan(pc.grad(lambda x: pc.sum(pc.celu(x)))(pc.Float([-1000, 0, 1000])).numpy()).any()
    np.testing.assert_allclose(pc.standardize(pc.asarray(matrix), 1, 0).numpy(), (matrix - matrix.mean(1, keepdims=True)) / matrix.std(1, keepdims=True), 1e-10)
    np.testing.assert_allclose(pc.logmeanexp(pc.asarray(matrix), 1).numpy(), np.log(np.exp(matrix).mean(1)), 1e-12)
    np.testing.assert_allclose(pc.log1mexp(pc.Float64([1e-20, 0.5, 3, 50])).numpy(), [math.log(1e-20), math.log(-math.expm1(-0.5)), math.log1p(-math.exp(-3)), -math.exp(-50)], 1e-12)
    with pytest.raises(ValueError, match="glu: got 3 entries"):
        pc.glu(pc.asarray(matrix), 0)


def test_functions_of_scipy():
    special, signal, stats = (pytest.importorskip(f"scipy.{name}") for name in ("special", "signal", "stats"))
    x = np.array([-500.0, -60, -30.1, -29.9, -10, -1, 0, 1, 5, 9, 30])
    np.testing.assert_allclose(pc.log_ndtr(pc.asarray(x)).numpy(), special.log_ndtr(x), 1e-12)
    assert not np.isnan(pc.grad(lambda x: pc.sum(pc.log_ndtr(x)))(pc.Float([-100, 0, 100])).numpy()).any()
    n, k = [5, 60, 100, 3], [2, 30, 50, 7]
    np.testing.assert_allclose(pc.comb(n, k).numpy(), special.comb(n, k), 1e-12)
    np.testing.assert_allclose(pc.perm(n, k).numpy(), special.perm(n, k), 1e-12)
    np.testing.assert_allclose(pc.factorial([0, 1, 5, 20, -1]).numpy(), special.factorial([0, 1, 5, 20, -1]), 1e-12)
    small = matrix[:2, :3]
    for mode in ("full", "same", "valid"):
        for a, b in [(matrix, small), (small, matrix)]:
            np.testing.assert_allclose(pc.convolve2d(pc.asarray(a), pc.asarray(b), mode).numpy(), signal.convolve2d(a, b, mode), 1e-12)
    for axis in (0, 1, None):
        np.testing.assert_allclose(pc.zscore(pc.asarray(matrix), axis, ddof=1).numpy(), stats.zscore(matrix, axis, ddof=1), 1e-10)


@pytest.mark.parametrize("method", ["average", "min", "max", "dense", "ordinal"])
def test_ranks(method):
    stats, x = pytest.importorskip("scipy.stats"), np.array([3, 1, 3, 0, 2, 1, 3.0])
    found, expected = pc.rankdata(pc.asarray(x), method), stats.rankdata(x, method)
    assert found.tolist() == expected.tolist() and found.dtype == str(expected.dtype)


def test_arguments_of_scipy():
    special, signal, stats, integrate = (pytest.importorskip(f"scipy.{name}") for name in ("special", "signal", "stats", "integrate"))
    x, y, cube, small = matrix, matrix[0], np.random.default_rng(6).random((4, 5, 6)), np.random.default_rng(7).random((2, 3, 3))
    steps = np.array([0, 1, 3, 3, 0, 2, 1, 4, 4, 4, 1, 5, 2, 2, 2.0])
    pairs = [
        (pc.cumulative_trapezoid(pc.asarray(x), axis=0, initial=0), integrate.cumulative_trapezoid(x, axis=0, initial=0)),
        (pc.fftconvolve(pc.asarray(cube), pc.asarray(small[:, :1, :1] + 0 * cube[:2, :, :1]), axes=0), signal.fftconvolve(cube, small[:, :1, :1] + 0 * cube[:2, :, :1], axes=0)),
    ]
    for axis in (0, 1):
        pairs += [(pc.skew(pc.asarray(x), axis, bias=False), stats.skew(x, axis, bias=False))]
        pairs += [(pc.logsumexp(pc.asarray(x * 900), axis, b=pc.asarray(y)), special.logsumexp(x * 900, axis, b=y))]
        pairs += [(pc.kurtosis(pc.asarray(x.T), axis, fisher=fisher, bias=bias), stats.kurtosis(x.T, axis, fisher=fisher, bias=bias)) for fisher in (True, False) for bias in (True, False)]
    for mode in ("full", "same", "valid"):
        pairs += [(pc.fftconvolve(pc.asarray(cube), pc.asarray(small), mode), signal.fftconvolve(cube, small, mode))]
        for boundary in ("fill", "wrap", "symm"):
            a, b = pc.asarray(x), pc.asarray(small[0])
            pairs += [(pc.convolve2d(a, b, mode, boundary, 2), signal.convolve2d(x, small[0], mode, boundary, 2))]
    for threshold, plateau in [(1, None), ((1, 2), None), (None, 2), (1, (2, 3))]:
        found = signal.find_peaks(steps, threshold=threshold, plateau_size=plateau)[0]
        pairs += [(pc.find_peaks(pc.asarray(steps), threshold=threshold, plateau_size=plateau), found)]
    for got, expected in pairs:
        np.testing.assert_allclose(np.asarray(got), expected, 1e-9, 1e-12)
    assert pc.one_hot(pc.Int32([0, 2]), 3, axis=0, dtype="int32").tolist() == [[1, 0], [0, 0], [0, 1]]
    with pytest.raises(TypeError, match="find_peaks: got threshold= or plateau_size= beside distance="):
        pc.find_peaks(pc.asarray(steps), distance=2, threshold=1)


def test_scans_of_functions():
    def states(w, xs):
        def step(h, x):
            h = pc.tanh(w @ h + x["x"])
            return h, (h, {"sum": pc.sum(h), "none": None})

        return pc.scan(step, pc.zeros(4), {"x": xs})

    w, xs = pc.rand((4, 4)), pc.rand((5, 4))
    h, (all_h, others) = states(w, xs)
    assert all_h.shape == (5, 4) and all_h[-1].tolist() == h.tolist() and others["none"] is None
    np.testing.assert_allclose(others["sum"].numpy(), all_h.numpy().sum(1), 1e-5)
    expected = w * 0
    for i in range(5):
        expected += pc.grad(lambda w, i=i: pc.sum(states(w, xs)[1][0][i]))(w)
    np.testing.assert_allclose(pc.grad(lambda w: pc.sum(states(w, xs)[1][0]))(w).numpy(), expected.numpy(), 1e-4)
    assert pc.grad(lambda x: pc.sum(pc.scan(lambda c, x: (c + x * x, c * x), 0, x)[1]))(pc.Float([1, 2, 3])).tolist() == [10, 13, 5]
    carry, y = pc.scan(lambda c, _: (2 * c, c), 1, length=4)
    assert carry == 16 and y.tolist() == [1, 2, 4, 8]
    assert pc.scan(lambda c, _: (c, c), 1, length=0) == (1, None)
    for xs, length in [([pc.ones(3), pc.ones(4)], None), (None, None), (pc.ones(3), 4)]:
        with pytest.raises(ValueError, match="scan: got .*expected xs of one length, or length="):
            pc.scan(lambda c, x: (c, c), 1, xs, length)
    with pytest.raises(TypeError, match="map= and reduce="):
        pc.scan("T f(T x)")
