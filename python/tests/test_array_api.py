"""The array API standard, beside its reference implementation. The suite of the standard itself (array-api-tests) runs from a
checkout: see CONTRIBUTING."""

import numpy as np
import pytest

xp = pytest.importorskip("porcini.array_api")
strict = pytest.importorskip("array_api_strict")

RNG = np.random.default_rng(1)
TYPES = ["bool", "int8", "uint8", "int32", "int64", "uint64", "float32", "float64", "complex64", "complex128"]


def sample(dtype, shape=(3, 4)):
    values = RNG.uniform(-4, 4, shape)
    if dtype == "bool":
        return values > 0
    if dtype.startswith("uint"):
        return np.abs(values).astype(dtype)
    if dtype.startswith("complex"):
        return (values + 1j * RNG.uniform(-4, 4, shape)).astype(dtype)
    return values.astype(dtype)


def both(a):
    return xp.asarray(a), strict.asarray(a)


def same(ours, theirs, tolerance=None):
    assert ours.shape == theirs.shape and str(ours.dtype) == str(theirs.dtype).split(".")[-1], (ours, theirs)
    a, b = np.asarray(ours), np.asarray(theirs._array if hasattr(theirs, "_array") else theirs)
    rtol = tolerance or (1e-4 if a.dtype in ("float32", "complex64") else 1e-11)
    np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


UNARY = """abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag isfinite isinf isnan log log1p
log2 log10 logical_not negative positive real reciprocal round sign signbit sin sinh sqrt square tan tanh trunc""".split()
BINARY = """add atan2 bitwise_and bitwise_or bitwise_xor copysign divide equal floor_divide greater greater_equal hypot less
less_equal logaddexp logical_and logical_or logical_xor maximum minimum multiply not_equal remainder subtract pow""".split()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", UNARY)
def test_unary(name, dtype):
    a = sample(dtype)
    if name in ("acos", "asin", "atanh") and dtype.startswith("float"):
        a = a / 5
    if name in ("acosh",) and dtype.startswith("float"):
        a = np.abs(a) + 1
    if name in ("log", "log2", "log10", "log1p", "sqrt") and dtype.startswith("float"):
        a = np.abs(a)
    ours, theirs = both(a)
    try:
        expected = getattr(strict, name)(theirs)
    except TypeError:
        with pytest.raises(TypeError):
            getattr(xp, name)(ours)
        return
    same(getattr(xp, name)(ours), expected)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", BINARY)
def test_binary(name, dtype):
    a, b = sample(dtype), sample(dtype)
    if name in ("floor_divide", "remainder"):
        b = np.where(b == 0, np.ones((), b.dtype), b)
    if name == "pow":
        a, b = (np.abs(a) + 1, b) if dtype.startswith("float") else (a, np.abs(b).astype(b.dtype) if not dtype.startswith("complex") else b)
    (a, their_a), (b, their_b) = both(a), both(b)
    try:
        expected = getattr(strict, name)(their_a, their_b)
    except TypeError:
        with pytest.raises(TypeError):
            getattr(xp, name)(a, b)
        return
    same(getattr(xp, name)(a, b), expected)


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean", "var", "std", "any", "all", "count_nonzero"])
def test_reductions(name, axis, keepdims):
    for dtype in ["int8", "int32", "float32", "float64"]:
        if name in ("mean", "var", "std") and dtype.startswith("int"):
            continue
        ours, theirs = both(sample(dtype))
        same(getattr(xp, name)(ours, axis=axis, keepdims=keepdims), getattr(strict, name)(theirs, axis=axis, keepdims=keepdims))


KEYS = [(0, ...), (-1, ...), (slice(1, 3), ...), (slice(None, None, -1), ...), (0, 1), (..., 1), (slice(None), slice(0, 4, 2)), ...]


@pytest.mark.parametrize("key", KEYS)
def test_indices(key):
    ours, theirs = both(sample("float64"))
    same(ours[key], theirs[key])
    ours[key], theirs[key] = 7.0, 7.0
    same(ours, theirs)


def test_masks_pack():
    ours, theirs = both(sample("float64"))
    same(ours[ours > 0], theirs[theirs > 0])
    ours[ours > 0] = 0.0
    theirs[theirs > 0] = 0.0
    same(ours, theirs)


SHAPES = {
    "reshape": ((4, 3),), "permute_dims": ((1, 0),), "matrix_transpose": (), "flip": (), "tril": (), "triu": (), "sort": (),
    "argsort": (), "expand_dims": (0,), "cumulative_sum": {"axis": 1}, "diff": (), "roll": (2,), "tile": ((2, 1),), "repeat": (2,),
    "moveaxis": (0, 1), "unique_values": (), "argmax": (), "argmin": (),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_and_orders(name):
    more = SHAPES[name]
    args, kwargs = ((), more) if isinstance(more, dict) else (more, {})
    for dtype in ["int64", "float32"]:
        ours, theirs = both(sample(dtype))
        same(getattr(xp, name)(ours, *args, **kwargs), getattr(strict, name)(theirs, *args, **kwargs))


@pytest.mark.parametrize("name", ["det", "inv", "qr", "svdvals", "eigvalsh", "cholesky", "matrix_norm", "trace", "pinv", "slogdet", "matrix_rank"])
def test_linear_algebra(name):
    a = sample("float64", (2, 3, 3))
    a = a @ np.swapaxes(a, -1, -2) + np.eye(3)
    ours, theirs = both(a)
    found, expected = getattr(xp.linalg, name)(ours), getattr(strict.linalg, name)(theirs)
    if name == "qr":
        same(found.Q @ found.R, theirs)
        return
    for one, other in zip(found, expected) if isinstance(found, tuple) else [(found, expected)]:
        same(one, other, 1e-8)


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "fftn", "hfft", "fftshift"])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_transforms(name, norm):
    a = sample("float64" if name == "rfft" else "complex128", (3, 8))
    ours, theirs = both(a)
    more = {} if name == "fftshift" else {"norm": norm}
    same(getattr(xp.fft, name)(ours, **more), getattr(strict.fft, name)(theirs, **more), 1e-9)


def test_kinds_do_not_mix():
    with pytest.raises(TypeError):
        xp.asarray([1]) + xp.asarray([1.0])
    with pytest.raises(TypeError):
        xp.asarray([1]) + 1.5
    with pytest.raises(TypeError):
        xp.asarray([1]) / xp.asarray([2])
    assert (xp.asarray([1.0]) + 1).dtype == xp.float64 and xp.result_type(xp.int8, xp.uint8) == xp.int16


def test_others_accept_it():
    compat = pytest.importorskip("array_api_compat")
    assert compat.array_namespace(xp.asarray([1])) is xp


def test_masked_writes_to_arrays_without_axes():
    q = xp.asarray(0.5)
    q[xp.asarray(False)] = xp.asarray([], dtype=xp.float64)
    assert q.shape == () and float(q) == 0.5
    q[xp.asarray(True)] = xp.asarray([7.0])
    assert q.shape == () and float(q) == 7
    q[xp.asarray(True)] = xp.asarray(8.0)
    assert q.shape == () and float(q) == 8
    with pytest.raises(ValueError):
        q[xp.asarray(True)] = xp.asarray([], dtype=xp.float64)


def test_truth_values_are_counted_and_integers_have_no_negative_powers():
    x = xp.asarray([True, True, False])
    assert xp.sum(x).dtype == xp.int64 and int(xp.sum(x)) == 2 and int(xp.prod(x)) == 0
    x = xp.asarray([1, 2, -1, 0])
    with pytest.raises(ValueError, match="negative power"):
        x**-1
    assert (x ** xp.asarray([-1, -1, -3, -1]))._x.tolist() == [1, 0, -1, 0]


@pytest.mark.parametrize("dtype", ["int8", "uint16"])
def test_products_of_small_integers_have_their_type(dtype):
    row, matrix = np.ones(3, dtype), np.ones((3, 3), dtype)
    for a, b in [(row, row), (row, matrix), (matrix, row), (matrix, matrix)]:
        same(xp.matmul(xp.asarray(a), xp.asarray(b)), strict.matmul(strict.asarray(a), strict.asarray(b)))
        assert (xp.asarray(a) @ xp.asarray(b)).dtype == xp.asarray(a).dtype
