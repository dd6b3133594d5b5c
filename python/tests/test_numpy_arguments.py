"""Arguments and names of NumPy, SciPy, JAX and Dr.Jit mean what they mean there, or are told what is written here."""

import inspect
import math

import pytest

import porcini as pc
from porcini._elsewhere import ELSEWHERE, MEMBERS

np = pytest.importorskip("numpy")

rng = np.random.default_rng(1)
line, matrix, cube = rng.random(6), rng.random((3, 4)), rng.random((2, 3, 4))
positive = matrix[:, :3] @ matrix[:, :3].T + np.eye(3)
integers = np.array([3, 1, 2, 2])

# Calls that both libraries take alike.
ALIKE = {
    "sort kind": (lambda l, x: l.sort(x, axis=0, kind="stable"), matrix),
    "sort all": (lambda l, x: l.sort(x, axis=None, kind="stable"), matrix),
    "argsort stable": (lambda l, x: l.argsort(x, stable=True), integers),
    "where": (lambda l, x: l.where(x > 0.5), matrix),
    "diff in front": (lambda l, x: l.diff(x, prepend=0), line),
    "diff between": (lambda l, x: l.diff(x, n=2, axis=0, prepend=x[:1], append=1), matrix),
    "interp": (lambda l, x: l.interp(x, [0.3, 0.6], [0, 10], left=-5, right=50), line),
    "trapezoid": (lambda l, x: l.trapezoid(x, dx=0.5, axis=0), matrix),
    "unwrap": (lambda l, x: l.unwrap(x * 1000, period=360), line),
    "rot90": (lambda l, x: l.rot90(x, k=3, axes=(2, 1)), cube),
    "reshape": (lambda l, x: l.reshape(x, (4, -1), order="F"), cube),
    "reshape in a row": (lambda l, x: l.reshape(x, -1, order="F"), matrix),
    "ravel": (lambda l, x: l.ravel(x, order="F"), matrix),
    "flatten": (lambda l, x: x.flatten("F"), cube),
    "trace": (lambda l, x: l.trace(x, offset=1), matrix),
    "trace of many": (lambda l, x: l.trace(x, 0, 1, 2), cube),
    "diagonal": (lambda l, x: l.diagonal(x, offset=-1), matrix),
    "diagonal of many": (lambda l, x: l.diagonal(x), cube),
    "diagonal of axes": (lambda l, x: l.diagonal(x, -1, axis1=2, axis2=1), cube),
    "logspace": (lambda l, x: l.logspace(0, 3, 4, endpoint=False), None),
    "geomspace": (lambda l, x: l.geomspace(1, 16, 4, endpoint=False), None),
    "pad number": (lambda l, x: l.pad(x, ((1, 1), (0, 2)), constant_values=7), matrix),
    "einsum": (lambda l, x: l.einsum("ij,ij->i", x, x, optimize=True), matrix),
    "insert several": (lambda l, x: l.insert(x, [3, 1, -1], [7, 8, 9]), line),
    "insert columns": (lambda l, x: l.insert(x, [1, 3], 9, 1), matrix),
    "insert rows": (lambda l, x: l.insert(x, np.array([0, 0]), [[1, 2, 3, 4], [5, 6, 7, 8]], axis=0), matrix),
    "insert in many places": (lambda l, x: l.insert(x, np.arange(300) * 7 % 13 - 6, 9), line),
    "delete many places": (lambda l, x: l.delete(x, np.arange(300) * 2 % 6), line),
    "delete columns": (lambda l, x: l.delete(x, np.array([1, -1, 1]), 1), matrix),
    "insert slice": (lambda l, x: l.insert(x, slice(0, 4, 2), 9), line),
    "select": (lambda l, x: l.select([x > 0.6, x > 0.3], [x, x * 10], default=-1), matrix),
    "take wrapped": (lambda l, x: l.take(x, [5, 1, -9], axis=1, mode="wrap"), matrix),
    "take clipped": (lambda l, x: l.take(x, [5, 1], axis=0, mode="clip"), matrix),
    "compress": (lambda l, x: l.compress(x > 0.5, x), line),
    "isin": (lambda l, x: l.isin(x, [1, 2], invert=True), integers),
    "concatenate": (lambda l, x: l.concatenate([x, x], axis=0, dtype="float32"), matrix),
    "eye": (lambda l, x: l.eye(2, M=3, k=1), None),
    "cross": (lambda l, x: l.cross(x, x[:, ::-1] + 1, axis=1), cube),
    "cov of columns": (lambda l, x: l.cov(x, rowvar=False), matrix),
    "cov of two": (lambda l, x: l.cov(x, x * x, ddof=0), line),
    "cov bias": (lambda l, x: l.cov(x, bias=True), matrix),
    "sum where": (lambda l, x: l.sum(x, where=x > 0.5, initial=3), matrix),
    "mean where": (lambda l, x: l.mean(x, axis=0, where=x > 0.2), matrix),
    "max where": (lambda l, x: l.max(x, axis=0, where=x < 0.5, initial=-1, keepdims=True), matrix),
    "prod where": (lambda l, x: l.prod(x, axis=1, where=x > 0.5), matrix),
    "item": (lambda l, x: x.item(5), matrix),
    "left_shift": (lambda l, x: l.left_shift(x, 2), integers),
    "right_shift": (lambda l, x: l.bitwise_right_shift(x, 1), integers),
    "positive": (lambda l, x: l.positive(x), matrix),
    "divmod": (lambda l, x: l.divmod(x - 2, 2), integers),
    "modf": (lambda l, x: l.modf(x * 9 - 4), line),
    "true_divide": (lambda l, x: l.true_divide(x, 2), line),
    "hsplit": (lambda l, x: l.hsplit(x, 2), matrix),
    "hsplit row": (lambda l, x: l.hsplit(x, [1, 4]), line),
    "vsplit": (lambda l, x: l.vsplit(x, 3), matrix),
    "dsplit": (lambda l, x: l.dsplit(x, 2), cube),
    "atleast": (lambda l, x: [l.atleast_1d(x), l.atleast_2d(x), l.atleast_3d(x)], line),
    "atleast of a matrix": (lambda l, x: l.atleast_3d(x, x), matrix),
    "matrix_transpose": (lambda l, x: l.matrix_transpose(x), cube),
    "permute_dims": (lambda l, x: l.permute_dims(x, (2, 0, 1)), cube),
    "diag_indices": (lambda l, x: x[l.diag_indices(3)], matrix),
    "indices": (lambda l, x: l.indices((2, 3)), None),
    "ix_": (lambda l, x: x[l.ix_([0, 2], [1, 3])], matrix),
    "ravel_multi_index": (lambda l, x: l.ravel_multi_index((x, x + 1), (4, 5)), integers),
    "nancumprod": (lambda l, x: l.nancumprod(l.where(x > 0.5, math.nan, x), 1), matrix),
    "nanargmax": (lambda l, x: l.nanargmax(l.where(x > 0.5, math.nan, x), 0), matrix),
    "cumulative_sum": (lambda l, x: l.cumulative_sum(x, axis=1), matrix),
    "insert by a mask": (lambda l, x: l.insert(x, np.array([1, 0, 1, 0, 0, 0]) > 0, 9), line),
    "insert in a list of one": (lambda l, x: l.insert(x, [1], [8, 9]), line),
    "insert a column": (lambda l, x: l.insert(x, [1], [[7], [8], [9]], axis=1), matrix),
    "quantiles": (lambda l, x: l.quantile(x, [0.7, 0.2], method="lower"), np.arange(11.0)),
    "quantile in a list": (lambda l, x: l.quantile(x, [0.7], method="higher", keepdims=True), np.arange(11.0)),
    "quantiles of all": (lambda l, x: l.quantile(x, np.array([0.7, 0.2]), method="hazen"), matrix),
    "pad sides alike": (lambda l, x: l.pad(x, [[1], [0]]), matrix),
    "pad in pairs": (lambda l, x: l.pad(x, [[1, 2]], mode="edge"), matrix),
    "take of all": (lambda l, x: l.take(x, [13, -1], axis=None, mode="wrap"), matrix),
    "norms of matrices": (lambda l, x: [linear(l).norm(x, ord=p, axis=(0, 2), keepdims=True) for p in (1, -2, np.inf, "nuc", "fro")], cube),
    "polyint with constants": (lambda l, x: l.polyint(x, 2, k=[1, 2]), line),
    "polysub of counts": (lambda l, x: l.polysub(x, x[2:]), np.array([5, 6, 7], "uint32")),
    "cov of one": (lambda l, x: l.cov(x, bias=True), np.array([1.0])),
    "mean where of integers": (lambda l, x: l.mean(x + (2**31 - 4), where=x > 0), np.array(integers, "int32")),
    "var where of integers": (lambda l, x: l.var(x, where=x < 3, keepdims=True), np.array(integers, "int32")),
    "var around a mean": (lambda l, x: l.var(x, axis=0, mean=x[:1] * 0 + 1), np.array([[1, 5], [2, 2]], "int32")),
    "var where of a mask": (lambda l, x: l.var(x > 0.5, where=x > 0.2), matrix),
    "sum where nothing": (lambda l, x: l.sum(x, axis=0, where=False), matrix),
    "any where nothing": (lambda l, x: l.any(x > 0, where=False), matrix),
    "cov of integers": (lambda l, x: l.cov(x, aweights=[0.1, 0.2, 0.3, 0.4]), np.array(integers, "int32")),
    "interp backwards": (lambda l, x: l.interp(x, [1, 2], [3, 4], period=-3), line),
    "quantiles with axes": (lambda l, x: l.quantile(x, [[0.1, 0.2], [0.3, 0.4]]), line),
    "cond of small entries": (lambda l, x: linear(l).cond(x, 1), np.eye(20, dtype="float32") * np.float32(1e-3)),
    "cov of matrices": (lambda l, x: l.cov(x, x * x), matrix),
    "cov beside a row": (lambda l, x: l.cov(x, x[0], ddof=0), matrix),
    "polyfit with weights": (lambda l, x: l.polyfit(x, x * x * x, 2, w=x), line),
    "polyfit of columns": (lambda l, x: l.polyfit(x[:, 0], x[:, 1:], 1), matrix),
    "setdiff1d as it is": (lambda l, x: l.setdiff1d(l.ravel(x), [1], assume_unique=True), integers),
    "searchsorted in an order": (lambda l, x: l.searchsorted(x, x[:3], "right", sorter=l.argsort(x)), line),
    "choose wrapped": (lambda l, x: l.choose(x - 2, [x, x * 10], mode="wrap"), integers),
    "choose clipped": (lambda l, x: l.choose(x - 2, [x, x * 10], mode="clip"), integers),
    "ravel_multi_index wrapped": (lambda l, x: l.ravel_multi_index((x - 9, x + 9), (4, 5), mode=("wrap", "clip")), integers),
    "ravel_multi_index by columns": (lambda l, x: l.ravel_multi_index((x, x + 1), (4, 5), order="F"), integers),
    "polynomials": (lambda l, x: [l.polymul(x, x[:2]), l.polyadd(x, x[:2]), l.polysub(x[:2], x), l.polyder(x, 2), l.polyint(x, 2, k=3)], line),
}  # fmt: skip
for mode in ["constant", "edge", "reflect", "symmetric", "wrap"]:
    for widths in [9, (1, 8), ((0, 3), (5, 1))]:
        ALIKE[f"pad {mode} {widths}"] = (lambda l, x, mode=mode, widths=widths: l.pad(x, widths, mode=mode), matrix)
for method in """linear lower higher nearest midpoint inverted_cdf averaged_inverted_cdf closest_observation interpolated_inverted_cdf
hazen weibull median_unbiased normal_unbiased""".split():
    for q in [0, 0.3, 0.5, 0.77, 1]:
        ALIKE[f"quantile {method} {q}"] = (lambda l, x, q=q, method=method: l.quantile(x, q, method=method), line)
    ALIKE[f"percentile {method}"] = (lambda l, x, method=method: l.percentile(x, [20, 50], axis=(0, 2), method=method, keepdims=True), cube)


def linear(library):
    """Where a library has its linear algebra."""
    return np.linalg if library is np else library


def ours(x):
    return x if x is None else pc.asarray(x)


def parts(result):
    return [part for item in result for part in parts(item)] if isinstance(result, (tuple, list)) else [np.asarray(result)]


@pytest.mark.parametrize("name", ALIKE)
def test_calls_mean_the_same(name):
    f, x = ALIKE[name]
    expected, got = parts(f(np, x)), parts(f(pc, ours(x)))
    assert len(got) == len(expected)
    for a, b in zip(got, expected):
        assert a.shape == b.shape or a.size == b.size == 1
        np.testing.assert_allclose(a.reshape(b.shape), b, 1e-5, 1e-6)


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize(
    "f",
    [
        lambda l, x, norm: l.fft2(x, norm=norm), lambda l, x, norm: l.ifft2(x, norm=norm), lambda l, x, norm: l.rfft2(x, s=(2, 5), norm=norm),
        lambda l, x, norm: l.fftn(x, s=(3, 2), axes=(0, 2), norm=norm), lambda l, x, norm: l.ifftn(x, axes=(0, 1), norm=norm),
        lambda l, x, norm: l.rfftn(x, norm=norm), lambda l, x, norm: l.irfftn(l.rfftn(x), s=(2, 3, 4), axes=(0, 1, 2), norm=norm),
        lambda l, x, norm: l.irfft2(x, s=(3, 5), norm=norm),
    ],
)  # fmt: skip
def test_transforms_of_several_axes(f, norm):
    np.testing.assert_allclose(np.asarray(f(pc, pc.asarray(cube), norm)), f(np.fft, cube, norm), 1e-9, 1e-12)


def test_linear_algebra():
    a, p = pc.asarray(matrix), pc.asarray(positive)
    l = np.linalg
    for got, expected in [
        (pc.svd(a, full_matrices=False)[1], l.svd(matrix)[1]), (pc.svd(a, compute_uv=False), l.svd(matrix)[1]), (pc.svd(p, full_matrices=True)[1], l.svd(positive)[1]),
        (abs(pc.qr(a, mode="reduced")[0]), abs(l.qr(matrix)[0])), (abs(pc.qr(a, mode="r")), abs(l.qr(matrix, mode="r"))),
        (pc.cholesky(p, upper=True), l.cholesky(positive).T), (pc.eigvalsh(p, UPLO="U"), l.eigvalsh(positive)), (pc.pinv(p, hermitian=True), l.pinv(positive)),
        (pc.pinv(a, rcond=0.5), l.pinv(matrix, rcond=0.5)), (pc.matrix_rank(a, tol=0.9).ravel(), [l.matrix_rank(matrix, tol=0.9)]),
        (pc.lstsq(a.T, pc.asarray(matrix[0]), rcond=None), l.lstsq(matrix.T, matrix[0])[0]), (pc.lstsq(a.T, pc.asarray(matrix[0]), rcond=-1), l.lstsq(matrix.T, matrix[0])[0]),
        (abs(pc.qr(a.T, mode="complete")[0]), abs(l.qr(matrix.T, mode="complete")[0])), (abs(pc.qr(a.T, mode="complete")[1]), abs(l.qr(matrix.T, mode="complete")[1])),
        *((pc.cond(p, order).ravel(), [l.cond(positive, order)]) for order in [None, 1, 2, -2, np.inf, "fro"]),
    ]:  # fmt: skip
        np.testing.assert_allclose(np.asarray(got), expected, 1e-9, 1e-12)
    for wrong in [lambda: pc.svd(a, full_matrices=True), lambda: pc.qr(a, mode="raw"), lambda: pc.eigh(p, UPLO="x"), lambda: pc.lstsq(a, a, rcond=1)]:
        with pytest.raises(TypeError, match="expected"):
            wrong()


def test_orders_and_places():
    x, t = pc.Float64([3, 1, 2, 1]), pc.TensorXd([[1, 5, 3], [4, 2, 6]])
    assert pc.sort(x, descending=True).tolist() == [3, 2, 1, 1] and pc.argsort(x, descending=True).tolist() == [0, 2, 1, 3]
    assert t.sort(axis=1, descending=True).tolist() == [[5, 3, 1], [6, 4, 2]] and x.sort(kind="stable").tolist() == [1, 1, 2, 3]
    assert t.reshape(3, 2, order="F").tolist() == [[1, 2], [4, 3], [5, 6]] and t.ravel("F").tolist() == [1, 4, 5, 2, 3, 6]
    assert [a.tolist() for a in pc.meshgrid(x)] == [x.tolist()]
    four = [pc.Int32([0, 1])] * 4
    assert [a.tolist() for a in pc.meshgrid(*four)] == [np.ravel(a).tolist() for a in np.meshgrid(*[[0, 1]] * 4)]
    assert pc.meshgrid(*four, indexing="ij")[0].tolist() == [0] * 8 + [1] * 8
    assert pc.pad(t, [0, 0, 1, 0]).tolist() == [[0, 1, 5, 3], [0, 4, 2, 6]] and pc.pad(x, (1, 1), 9).tolist() == [9, 3, 1, 2, 1, 9]


def test_numbers_in_front_keep_their_digits():
    n, z = pc.Int32([1, 2]), pc.TensorXz([1, 2j])
    assert pc.diff(n, prepend=0.5).tolist() == [0.5, 1] and pc.diff(n, prepend=0).dtype == "int32"
    assert pc.diff(pc.Float64([1]), prepend=0.1).tolist() == [0.9] and pc.diff(z, prepend=1j).tolist() == [1 - 1j, -1 + 2j]


def test_counts_and_quantiles():
    x = pc.Float64(line)
    for bins, bounds in [(3, None), (4, (0.2, 0.7)), ([0, 0.1, 0.9], None)]:
        for density in (False, True):
            got = pc.histogram(x, bins, range=bounds, density=density)
            np.testing.assert_allclose(np.asarray(got), np.histogram(line, bins, bounds, density)[0])
    for bins, bounds in [(2, None), ([2, 3], ((0, 1), (0.1, 0.9)))]:
        got = pc.histogram2d(x, x * x, bins=bins, range=bounds)
        assert got.tolist() == np.histogram2d(line, line * line, bins, bounds)[0].tolist()
    assert pc.quantile(pc.Int32([1, 2, 4]), 0.5, method="nearest").dtype == "int32"
    assert pc.quantile(pc.Int32([1, 2, 4]), 0.5, method="midpoint").tolist() == [2]
    assert math.isnan(pc.quantile(pc.Float([1, math.nan]), 0, method="lower").item())
    assert pc.quantile(pc.Float64([-math.inf, 1, math.inf]), [0, 0.5, 1], method="hazen").tolist() == [-math.inf, 1, math.inf]
    parts, holes = np.array([[0, 0.25, 0.5], [0.6, 0.9, 1]]), np.where(cube > cube.max() - 0.1, np.nan, cube)
    # NumPy's nanquantile turns two axes of parts around, keepdims does so in both.
    for name, q, keepdims in [("quantile", parts, False), ("quantile", parts[0], True), ("nanquantile", parts[1], True)]:
        for axis in (None, 1, (0, 2)):
            got = getattr(pc, name)(pc.asarray(holes), q, axis, keepdims)
            np.testing.assert_allclose(np.asarray(got), getattr(np, name)(holes, q, axis, keepdims=keepdims), 1e-12)
    with pytest.raises(TypeError, match="quantile: got the method 'lowest', expected 'linear', 'lower'"):
        pc.quantile(x, 0.5, method="lowest")
    with pytest.raises(ValueError, match="got the part 2"):
        pc.quantile(x, 2, method="lower")


def test_what_is_like_values_with_components():
    v, m, z = pc.Vector3d([1, 2], 3, 4), pc.Matrix2f([[1, 2], [3, 4]]), pc.Complex2f(1, 2)
    for x in (v, m):
        for f, number in [(pc.zeros_like, 0), (pc.ones_like, 1), (pc.empty_like, 0), (lambda x: pc.full_like(x, 7), 7)]:
            assert type(f(x)) is type(x) and f(x).shape == x.shape and set(np.ravel(np.asarray(f(x))).tolist()) == {number}
    assert type(pc.zeros_like(z)) is pc.Complex2f and pc.zeros_like(v, dtype="float32").dtype == "float32"


def test_wrong_arguments_are_told():
    t = pc.TensorXd(matrix)
    for wrong, words in [
        (lambda: pc.pad(t, 1, mode="mean"), "pad: got mode='mean', expected 'constant', 'edge'"), (lambda: pc.reshape(t, -1, order="X"), "order='X'"),
        (lambda: pc.pad(t, "a"), "pad: got 'a' as a width"), (lambda: pc.polyder(t), "polyder: got 2 axes"), (lambda: pc.diagonal(t[0]), "diagonal: got 1 axes"),
    ]:  # fmt: skip
        with pytest.raises(TypeError, match=words):
            wrong()
    for wrong in [
        lambda: pc.pad(t, ((1, 1),) * 3), lambda: pc.pad(t, -1, mode="edge"), lambda: pc.pad(pc.zeros((0, 2)), 1, mode="wrap"), lambda: pc.fftn(t, s=(1,), axes=(0, 1)),
        lambda: pc.polyint(t[0], -1), lambda: pc.ravel_multi_index(([1],), (2, 3)), lambda: pc.insert(t, [1, 2], [[1, 2, 3]], 0),
    ]:  # fmt: skip
        with pytest.raises(ValueError):
            wrong()
    with pytest.raises(IndexError, match="insert: got 9 as a place"):
        pc.insert(t, [0, 9], 1, axis=0)


def test_complex_lanes_are_a_row_of_entries():
    z = pc.Complex2d([1, 2, 3, 4], [0, 1, 0, -1])
    row = z.numpy()
    for f in [
        lambda l, x: l.pad(x, 1, mode="edge"), lambda l, x: l.diff(x, prepend=0), lambda l, x: l.reshape(x, (2, 2), order="F"), lambda l, x: l.hsplit(x, 2),
        lambda l, x: l.atleast_2d(x), lambda l, x: l.split(x, [1]), lambda l, x: l.polyadd(x, x[1:] if l is np else pc.Complex2d(row[1:])),
        *(lambda l, x, p=p: linear(l).norm(x, ord=p) for p in (2, 3, 0, np.inf)), *(lambda l, x, n=n: (np.fft if l is np else pc).fft(x, axis=0, norm=n) for n in ("ortho", "forward")),
        lambda l, x: (np.fft if l is np else pc).fftn(x, s=[3], axes=[0]), lambda l, x: np.fft.fft(x, norm="ortho"), lambda l, x: l.full_like(x, 2 + 1j),
    ]:  # fmt: skip
        for got, expected in zip(parts(f(pc, z)), parts(f(np, row))):
            np.testing.assert_allclose(got.ravel(), expected.ravel(), 1e-9, 1e-12)
    assert type(pc.pad(z, 1, mode="edge")) is type(pc.pad(z, 1)) and type(pc.full_like(z, 1j)) is pc.Complex2d and type(pc.hsplit(z, 2)[0]) is pc.Complex2d
    assert pc.atleast_2d(z).shape == (1, 4)


def test_what_no_form_takes_is_told_by_the_tables():
    x, t = pc.Float([1, 2]), pc.TensorXf([[1, 2]])
    for wrong, words in [
        (lambda: pc.concat([x, "x"]), "concat: "), (lambda: pc.select(True, 1), "select: "), (lambda: pc.unique("x"), "unique: got"), (lambda: pc.norm("x"), "norm: got"),
        (lambda: pc.interp("x", x, x), "interp: got"), (lambda: pc.take(x, "x"), "take: got"),
    ]:  # fmt: skip
        with pytest.raises(TypeError, match=words):
            wrong()
    with pytest.raises(ValueError, match="take: got axis 5 of 2 axes"):
        pc.take(t, [0], 5, mode="wrap")
    with pytest.raises(ValueError, match="polyint: got 2 constants for 3 times"):
        pc.polyint(x, 3, k=[1, 2])


def test_one_entry():
    z, t = pc.Complex2f([1, 2], 3), pc.TensorXf([[1, 2], [3, 4]])
    assert z.item(1) == z.numpy().item(1) == 2 + 3j and t.item((1, 0)) == t.item(1, 0) == 3 and t.item(-1) == 4
    with pytest.raises(TypeError, match="item: got slice.* as an index"):
        t.item(slice(2))
    with pytest.raises(ValueError, match="item: got 3 indices of 2 axes"):
        t.item(0, 0, 0)


def test_what_has_no_meaning():
    with pytest.raises(TypeError, match="TensorXf: got a shape without entries; zeros of it are pc.zeros"):
        pc.TensorXf(shape=(2, 2))
    with pytest.raises(TypeError, match="full: got complex as value") as told:
        pc.Vector2f.full(1j, 2)
    assert told.type is TypeError


def test_edges_of_counts():
    assert math.isnan(pc.cov(pc.Float([1]), ddof=1).item()) and pc.cov(pc.Float([1]), bias=True).tolist() == [0]
    for density in (False, True):
        assert pc.histogram(pc.Float([1, 1]), 2, range=(1, 1), density=density).tolist() == [0, 2]
    assert pc.histogram(pc.Float([2, 2]), 4, density=True).tolist() == [0, 0, 4, 0]
    assert np.dot(pc.Float([1, 2]), 2).tolist() == np.dot(pc.Float([1, 2]), np.array(2.0)).tolist() == [2, 4]
    many = pc.asarray(np.stack([positive, positive * [1, 2, 3]]))
    assert pc.cond(many, -2).shape == (2,) and pc.cond(pc.TensorXd([[1, 1], [1, 1]]), 1).tolist() == pc.cond(pc.zeros((2, 2)), -2).tolist() == [math.inf]
    for order in (1, 2, -2, np.inf, "fro"):
        np.testing.assert_allclose(np.ravel(np.asarray(pc.cond(many, order))), np.linalg.cond(np.asarray(many), order), 1e-9)


def test_names_of_others():
    x = pc.Float([-1, 0.5, 2])
    for name, own in [("softplus", "softrelu"), ("gelu", "gelu_erf"), ("swish", "silu"), ("expit", "sigmoid"), ("ndtr", "norm_cdf"), ("fix", "trunc"), ("fabs", "abs")]:
        assert getattr(pc, name)(x).tolist() == getattr(pc, own)(x).tolist() == getattr(x, name)().tolist()
        assert getattr(pc, name).__doc__.startswith(f"{name}(")
    assert pc.gamma(pc.Float([5])).tolist() == [24] and pc.bitwise_count(pc.UInt32([7])).tolist() == [3]
    assert pc.in1d(x, [2]).tolist() == [False, False, True] and pc.cumulative_prod(x).tolist() == [-1, -0.5, -1]
    assert "divmod" not in pc.__all__


def test_names_of_drjit():
    x, index = pc.Float([1, 2, 3]), pc.UInt32([0, 1, 0])
    assert pc.switch(index, [lambda x: x + 1, lambda x: x * 10], x).tolist() == [2, 20, 4]
    assert pc.width(pc.Vector3f(x, 0, 0)) == pc.width(x) == 3 and pc.width(2.5) == 1 and pc.width(pc.TensorXf([[1, 2]])) == 2
    assert pc.prefix_sum(x).tolist() == [1, 3, 6] and pc.prefix_sum(x, exclusive=True).tolist() == [0, 1, 3]
    assert pc.prefix_sum(x, reverse=True).tolist() == [6, 5, 3] and pc.prefix_sum(x, exclusive=True, reverse=True).tolist() == [5, 3, 0]
    assert pc.block_prefix_sum(pc.Int32([1, 2, 3, 4, 5]), 2, exclusive=True).tolist() == [0, 1, 0, 3, 0]
    assert pc.block_prefix_sum(pc.Int32([1, 2, 3, 4]), 2, reverse=True).tolist() == [3, 2, 7, 4]
    assert pc.compress(x > 1).tolist() == [1, 2] and pc.identity(pc.Matrix2f).numpy().tolist() == [[[1, 0], [0, 1]]]
    assert pc.TensorXf(x, shape=(3, 1)).tolist() == pc.Tensor(x, shape=[3, 1]).tolist() == [[1], [2], [3]]
    with pytest.raises(TypeError, match="shape"):
        pc.Float(x, shape=(3, 1))
    with pytest.raises(TypeError, match="pc.detach"):
        pc.suspend_grad(x)
    a, b = pc.Float([1]), pc.Float([2])
    pc.enable_grad(a, b)
    with pc.suspend_grad():
        assert not pc.requires_grad(a * b)
    pc.backward(a * b)
    assert a.grad.tolist() == [2] and b.grad.tolist() == [1]
    pc.clear_grad(a)


def test_hints_name_what_there_is():
    """A name that is told of is none of ours, and what stands in its place is."""
    import re

    x = pc.Float([1, 2])
    for name, words in MEMBERS.items():
        with pytest.raises(AttributeError, match=re.escape(f"Float has no member {name}: {words}")):
            getattr(x, name)
        for own in re.findall(r"\bpc\.(\w+)", words):
            assert hasattr(pc, own), (name, own)
        for own in re.findall(r"\bx\.(\w+)", words):
            assert hasattr(x, own), (name, own)
    for name, words in ELSEWHERE.items():
        assert not hasattr(pc, name), name
        for own in re.findall(r"\bpc\.(\w+)", words):
            assert hasattr(pc, own), (name, own)
    for name, words in [("vmap", "lane by lane"), ("jacrev", "pc.jacobian"), ("CustomOp", "pc.custom"), ("fromfunction", "pc.indices"), ("syntax", "pc.while_loop")]:
        with pytest.raises(AttributeError, match=words):
            getattr(pc, name)
    assert str(inspect.signature(pc.diagonal)) == "(x, offset=0, axis1=0, axis2=1)"


def test_help_says_what_arguments_of_numpy_mean():
    from porcini._form import FORMS, described

    for name in FORMS:
        assert "\n\n".join(described(name)) in getattr(pc, name).__doc__, name
    assert pc.where.__doc__.endswith("where(mask)\n\nOf one mask the numbers of the entries where it is true, as nonzero.\n")


def test_other_functions_of_the_name():
    x = pc.Float([3, 1, 2])
    assert pc.partition(x, 1).tolist() == [1, 2, 3] and pc.empty(pc.Float, 3).tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match=r"np\.gradient\(x\)"):
        pc.gradient(x)
    with pytest.raises(OverflowError, match=r"randint: got 9223372036854775808 as high, expected .* to 2\*\*63 - 1"):
        pc.randint(0, 2**63, 3)
    with pytest.raises(TypeError, match="randint: got 'a' as low"):
        pc.randint("a", 2, 3)
    assert pc.if_stmt((x,), True, lambda x: x, lambda x: -x).tolist() == [3, 1, 2]
    assert pc.if_then(False, (x,), lambda x: x, lambda x: -x).tolist() == [-3, -1, -2]


@pytest.mark.parametrize("f", [lambda m: 1 - m, lambda m: -m, lambda m: m + m, lambda m: m * m])
def test_masks_are_no_numbers(f):
    with pytest.raises(TypeError, match=r"T\(mask\) has 1 where it is true"):
        f(pc.Float([1, 2]) > 1)


def test_halves_are_summed_in_floats():
    x = pc.ones(70000, dtype="float16")
    for found, expected in [(pc.mean(x, where=x > 0), 1), (pc.std(x, where=x > 0), 0), (pc.nanmean(x, where=x > 0), 1)]:
        assert found.dtype == "float16" and found.tolist() == [expected]
    np.testing.assert_allclose(pc.log_ndtr(pc.Float16([-5, 0])).tolist(), [-15.0625, -0.6934], 1e-3)


def test_weights_are_in_the_bins_of_counts():
    x = pc.Int32([-1, 0, 1])
    counts = np.histogram([-1, 0, 1], range=(-1, 1))[0].tolist()
    assert pc.histogram(x, range=(-1, 1)).tolist() == pc.histogram(x, range=(-1, 1), weights=[1, 1, 1]).tolist() == counts


@pytest.mark.parametrize("shape", [(3, 3), (2, 5), (7, 3), (3, 3, 3)])
@pytest.mark.parametrize("value", [4, [1, 2]])
@pytest.mark.parametrize("wrap", [False, True])
def test_diagonals_are_filled(shape, value, wrap):
    expected, got = np.zeros(shape), pc.zeros(shape, dtype="float64")
    np.fill_diagonal(expected, value, wrap)
    pc.fill_diagonal(got, value, wrap)
    assert got.tolist() == expected.tolist()


def test_many_digits_of_counts_and_wrong_shapes():
    assert pc.comb(pc.Float([30]), 15).tolist() == [155117520]
    row, column = pc.TensorXf([[1, 2, 3]]), pc.TensorXf([[1], [2], [3]])
    for wrong in [
        lambda: pc.convolve2d(row, column, "valid"), lambda: pc.fill_diagonal(pc.zeros((2, 3, 4)), 1),
        lambda: pc.interp(pc.Float([1]), [1, 2], [3, 4], period=0), lambda: pc.apply_along_axis(pc.sum, 1, pc.zeros((0, 3))),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match="expected"):
            wrong()


def test_forms_are_recorded():
    x = pc.Float([1, 2, 3])
    for f, expected in [
        (lambda t: pc.mean(t, where=t > 1), [2.5]), (lambda t: pc.sum(t, dtype="float64"), [6]), (lambda t: pc.sum(t, initial=1), [7]),
        (lambda t: pc.cumulative_sum(t, include_initial=True), [0, 1, 3, 6]), (lambda t: pc.quantile(t, 0.4, method="lower"), [1]),
        (lambda t: pc.interp(t, pc.Float([1, 2]), pc.Float([3, 4]), period=2), [3, 4, 3]),
    ]:  # fmt: skip
        assert pc.jit(f)(x).tolist() == expected


def test_what_errors_call_arrays_is_not_computed():
    x = pc.arange(10, dtype="float32") + 1
    pc.kernel_history_clear()
    total = pc.sum(x, dtype="float64")
    assert len(pc.kernel_history()) == 0
    assert total.tolist() == [55]
