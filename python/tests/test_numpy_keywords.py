"""What NumPy's own suite, and those of JAX and SciPy, call: keywords, also at their neutral values, wrappers, lists, numbers alone."""

import math

import pytest

import porcini as pc

np = pytest.importorskip("numpy")

matrix = np.random.default_rng(3).random((3, 4))
mask, holes = matrix > 0.3, np.where(matrix > 0.8, np.nan, matrix)
counts, angles = np.array([1, 2, 3, 1]), np.array([-180.0, -170, -185, 185, -10, -5, 0, 365])


def linear(library):
    return np.linalg if library is np else library


# Calls that both libraries take alike, with what they are about.
ALIKE = {
    **{
        f"{name} where {axis}": (lambda l, x, m, name=name, axis=axis: getattr(l, name)(x, axis=axis, where=m, keepdims=True), (holes, mask))
        for name in "sum prod mean var std nansum nanprod nanmean nanvar nanstd".split()
        for axis in (None, 0, (0, 1), 1)
    },
    "nanmax where": (lambda l, x, m: l.nanmax(x, axis=0, where=m, initial=-1), (holes, mask)),
    "nanmin where": (lambda l, x, m: l.nanmin(x, where=m, initial=3), (holes, mask)),
    "var ddof where": (lambda l, x, m: l.var(x, axis=1, ddof=1, where=m), (matrix, mask)),
    "std correction": (lambda l, x: l.std(x, axis=1, correction=1), (matrix,)),
    "std around a mean": (lambda l, x: l.std(x, axis=1, mean=l.mean(x, axis=1, keepdims=True)), (matrix,)),
    "std where all": (lambda l, x: l.std(x, axis=1, where=True), (matrix,)),
    "all where": (lambda l, x, m: l.all(x > 0.3, axis=1, where=m, keepdims=True), (matrix, mask)),
    "any where": (lambda l, x, m: l.any(x > 0.9, axis=0, where=m), (matrix, mask)),
    "nancumsum": (lambda l, x: l.nancumsum(x, 1, dtype="float32"), (holes,)),
    "cumulative_sum": (lambda l, x: l.cumulative_sum(x, axis=1, include_initial=True), (matrix,)),
    "cumulative_prod": (lambda l, x: l.cumulative_prod(x, include_initial=True), (matrix[0],)),
    "average": (lambda l, x: l.average(x, returned=True), (matrix,)),
    "average of weights": (lambda l, x: l.average(x, weights=x, axis=0, returned=True), (matrix,)),
    "average of rows": (lambda l, x: l.average(x, weights=x[0], axis=1, returned=True), (matrix,)),
    "unwrap": (lambda l, x: l.unwrap(x * 30, axis=0, discont=5), (matrix,)),
    "cov counts": (lambda l, x, n: l.cov(x, fweights=n), (matrix, counts)),
    "cov weights": (lambda l, x, n: l.cov(x, fweights=n, aweights=n * 0.5, ddof=0), (matrix, counts)),
    "cov weights alone": (lambda l, x, n: l.cov(x, aweights=n * 0.5), (matrix, counts)),
    "corrcoef": (lambda l, x: l.corrcoef(x, rowvar=False), (matrix,)),
    "quantile of axes": (lambda l, x: l.quantile(x, np.array([[0.1, 0.9]]), method="lower"), (matrix,)),
    "percentile of axes": (lambda l, x: l.percentile(x, [[10, 20], [3, 90]], axis=0, method="hazen", keepdims=True), (matrix,)),
    "percentile weights": (lambda l, x: l.percentile(x, 30, weights=None), (matrix,)),
    "pad in second place": (lambda l, x: l.pad(x, ((1, 1), (0, 2)), "wrap"), (matrix,)),
    "full_like": (lambda l, x: l.full_like(x, fill_value=2), (matrix,)),
    "full_like type": (lambda l, x: l.full_like(x, 2, "int32"), (matrix,)),
    "ones_like": (lambda l, x: l.ones_like(x, shape=(2, 2)), (matrix,)),
    "zeros_like": (lambda l, x: l.zeros_like(x, "int32"), (matrix,)),
    "unravel_index": (lambda l, x: l.unravel_index(indices=x, shape=(2, 3)), (counts,)),
    "unravel_index F": (lambda l, x: l.unravel_index(x, (2, 3), order="F"), (counts,)),
    "ravel_multi_index": (lambda l, x: l.ravel_multi_index(([2379], [1284], [40]), (2706, 2706, 1000)), (counts,)),
    "ravel_multi_index of bytes": (lambda l, x: l.ravel_multi_index((x.astype("uint8") * 60, x.astype("uint8")), (255, 255)), (counts,)),
    "nan_to_num": (lambda l, x: l.nan_to_num(x, copy=True, nan=7.0), (holes,)),
    "isin": (lambda l, x: l.isin(x, [1, 2], kind=None), (counts,)),
    "concatenate": (lambda l, x: l.concatenate([x, x], axis=None, casting="same_kind"), (matrix,)),
    "interp": (lambda l, x: l.interp(x, [190, -190, 350, -350], [5, 10, 3, 4], period=360), (angles,)),
    "interp at places": (lambda l, x: l.interp(x, [-10.0, 0, 0, 365, 365], [1.0, 2, 3, 4, 5]), (angles,)),
    "unique": (lambda l, x: l.unique(x, equal_nan=True), (holes,)),
    "intersect1d": (lambda l, x: l.intersect1d(x, [1, 5, 3, 3], return_indices=True), (counts,)),
    "tri": (lambda l, x: l.tri(3, 4, 1, dtype="int32"), (counts,)),
    "indices": (lambda l, x: l.indices((2, 3), dtype="int64"), (counts,)),
    "vecdot": (lambda l, x: linear(l).vecdot(l.stack([x, x + 1]), x[:2], axis=0), (matrix[:2],)),
    "dot of a row": (lambda l, x: l.dot(x[0], x.T), (matrix,)),
    "compress": (lambda l, x: l.compress(l.asarray([True, False, True]), x, axis=0), (matrix,)),
    "compress by a list": (lambda l, x: l.compress([True, False, True], x, 0), (matrix,)),
    "compress by a short mask": (lambda l, x: l.compress(l.asarray([False, True]), x, axis=0), (matrix,)),
    "compress of all by a short list": (lambda l, x: l.compress([True], x), (matrix,)),
    "compress of lanes by a short list": (lambda l, x: l.compress([False, True], x), (matrix[0],)),
    "compress of a mask": (lambda l, x: l.compress(x[:, 0], x, axis=0), (mask,)),
    "quantile of infinities": (lambda l, x: l.quantile(l.asarray([-np.inf, -1.39, -1, -0.9]), 0.3), (counts,)),
    "nanvar of complex entries": (lambda l, x: l.nanvar(x * (1 + 2j), axis=0), (holes,)),
    "nanvar of infinities": (lambda l, x: l.nanvar(l.asarray([1.0, np.inf, np.nan])), (counts,)),
}  # fmt: skip
for method in """lower higher nearest midpoint inverted_cdf averaged_inverted_cdf closest_observation interpolated_inverted_cdf hazen
weibull median_unbiased normal_unbiased""".split():
    for axis in (None, 0, 1):
        of = lambda l, x, method=method, axis=axis: l.nanquantile(x, [0.1, 0.5, 0.75], axis=axis, method=method)  # noqa: E731
        ALIKE[f"nanquantile {method} {axis}"] = (of, (holes,))
    ALIKE[f"nanpercentile {method}"] = (lambda l, x, method=method: l.nanpercentile(x, 40, axis=1, keepdims=True, method=method), (holes,))
    ALIKE[f"nanpercentile {method} of a row"] = (lambda l, x, method=method: l.nanpercentile(x, 40, method=method), (holes[1],))


def parts(result):
    return [part for item in result for part in parts(item)] if isinstance(result, (tuple, list)) else [np.asarray(result)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ALIKE)
def test_calls_mean_the_same(name):
    f, given = ALIKE[name]
    expected, got = parts(f(np, *given)), parts(f(pc, *map(pc.asarray, given)))
    assert len(got) == len(expected)
    for a, b in zip(got, expected):
        assert a.shape == b.shape or a.size == b.size == 1
        np.testing.assert_allclose(a.reshape(b.shape), b, 1e-5, 1e-6)


def test_histograms():
    x = pc.asarray(matrix)
    for bins, bounds in [(4, None), (3, (0.2, 0.7)), ([0, 0.2, 0.5, 0.9], None)]:
        for density in (False, True):
            got = pc.histogram(x, bins, range=bounds, density=density, weights=x * 2)
            np.testing.assert_allclose(got.numpy(), np.histogram(matrix, bins, bounds, density, matrix * 2)[0], 1e-5)
        np.testing.assert_allclose(pc.histogram_bin_edges(x, bins, bounds).numpy(), np.histogram_bin_edges(matrix, bins, bounds))
    row = matrix.ravel()
    np.testing.assert_allclose(pc.histogram2d(x.ravel(), x.ravel() * 2, density=True).numpy(), np.histogram2d(row, row * 2, density=True)[0], 1e-5)


def test_wrappers_hand_over_no_names():
    def wrapped(f):
        return lambda *args, **named: f(*args, **named)

    x, m = pc.Float([1, 0]), pc.Mask([True, False])
    assert wrapped(pc.real)(x).tolist() == wrapped(pc.conj)(x).tolist() == [1, 0] and wrapped(pc.imag)(x).tolist() == [0, 0]
    assert wrapped(pc.equal)(m, m).tolist() == [True, True] and wrapped(pc.not_equal)(pc.Complex2f(1, 2), pc.Complex2f(1, 2)).tolist() == [[False, False]]
    assert wrapped(pc.power)(pc.Int32([7]), 10).tolist() == [282475249]


def test_lists_and_numbers_alone():
    assert pc.diag([1, 2]).tolist() == [[1, 0], [0, 2]] and pc.cross([1, 2, 3], [4, 5, 6]).tolist() == [-3, 6, -3]
    assert abs(pc.exp(1j) - np.exp(1j)) < 1e-12 and pc.abs(3 + 4j) == 5 and pc.conj(1j) == -1j and abs(pc.pow(1j, 2) + 1) < 1e-12
    for letter in "?bBhHiIqQefdFD":
        assert pc.zeros(3, dtype=letter).dtype == np.dtype(letter)
    with pytest.raises(TypeError, match="got 'x' as a type"):
        pc.full(3, fill_value=2, dtype="x")


def test_complex_numbers_are_of_floats():
    z = pc.TensorXz([1 + 1j, 2])
    for wrong in [lambda: z.astype(pc.Int16), lambda: pc.asarray(z, dtype="int32"), lambda: pc.sum(z, dtype=pc.Int16)]:
        with pytest.raises(TypeError, match="for complex numbers, expected a complex type"):
            wrong()
    assert z.astype("complex64").dtype == "complex64"
    assert pc.zeros_like(z, dtype="int32").dtype == "int32" and pc.ones_like(pc.Complex2f([1, 2], 0), dtype="float64").tolist() == [1, 1]


def test_shares_of_all():
    x = pc.asarray(matrix)
    powers = np.exp(matrix)
    for axis, of in [(None, powers / powers.sum()), ((0, 1), powers / powers.sum()), ((1,), powers / powers.sum(1, keepdims=True))]:
        np.testing.assert_allclose(pc.softmax(x, axis=axis).numpy(), of, 1e-6)
        np.testing.assert_allclose(pc.log_softmax(x, axis).numpy(), np.log(of), 1e-6)
    assert pc.softmax(pc.Float([0, 0]), axis=None).tolist() == [0.5, 0.5]
    assert pc.leaky_relu(pc.Float64([-1, 2])).tolist() == [-0.01, 2] and pc.elu(pc.Float64([-math.inf])).tolist() == [-1]


def test_what_is_refused_is_told():
    x = pc.Float([1, 2])
    for wrong, words in [
        (lambda: pc.pad(x, 1, mode=7), "pad: got mode=7, expected 'constant'"), (lambda: pc.max(x, where=x > 1), "max: got where= without initial="),
        (lambda: pc.percentile(x, 30, weights=[1, 2]), "percentile: got weights="), (lambda: pc.unique(x, equal_nan=False), "unique: got equal_nan=False"),
        (lambda: pc.meshgrid(x, x, sparse=True), "meshgrid: got sparse=True"), (lambda: pc.lstsq(pc.ones((2, 2)), x, rcond=1), "lstsq: got rcond=1"),
    ]:  # fmt: skip
        with pytest.raises(TypeError, match=words):
            wrong()
