"""Functions that go another way where there is more to do give what NumPy gives."""

import subprocess
import sys

import pytest

import porcini as pc

np = pytest.importorskip("numpy")

rng = np.random.default_rng(3)
SIZES = (1, 2, 7, 8, 9, 16, 17, 127, 128, 129, 300)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("dtype", ["i4", "f4", "f8", "c8"])
def test_convolutions(dtype, mode):
    """Integers exactly; few lanes of many taps and many lanes of few."""
    for n in (1, 20, 300):
        for m in SIZES:
            a, b = (rng.integers(-9, 9, size).astype(dtype) for size in (n, m))
            if dtype == "c8":
                a, b = a + 1j * a[::-1], b - 2j * b
            ours = np.asarray(pc.convolve(pc.asarray(a), pc.asarray(b), mode))
            assert np.array_equal(ours, np.convolve(a, b, mode)), (n, m)


def test_long_convolutions_are_exact():
    a, b = rng.integers(0, 9, 20_000).astype("i4"), rng.integers(0, 9, 5000).astype("i4")
    ours = np.asarray(pc.convolve(pc.Int32(a), pc.Int32(b), "valid"))
    assert np.array_equal(ours, np.convolve(a, b, "valid"))


def test_long_convolutions_take_the_memory_of_their_sums():
    made = "pc.convolve(pc.Float.linspace(0, 1, 20000), pc.Float.linspace(0, 1, 5000))"
    text = f"import porcini as pc; pc.init(device='cpu'); pc.eval({made}); print(pc.mem_get_info()['peak'])"
    out = subprocess.run([sys.executable, "-c", text], check=True, capture_output=True, text=True).stdout
    # A row of sums takes 0.1 MB; one for each eight lanes of the shorter array took 65.
    assert int(out) < 8 << 20


def test_many_wide_windows_are_sorted_in_pieces():
    x = rng.integers(0, 1000, 17_000).astype("f4")
    ours, at_once = pc.medfilt(pc.Float(x), 1001), pc.medfilt(pc.Float(x[:3000]), 1001)
    padded = np.pad(x, 500)
    for i in (0, 1, 8000, 16_759, 16_760, 16_761, 16_999):
        assert ours[i] == np.median(padded[i : i + 1001])
    # Before the end of the shorter one is in sight both have the same neighbours.
    assert ours[:2500].tolist() == at_once[:2500].tolist()
    rows = rng.integers(0, 1000, (4200, 9)).astype("i4")
    ours = pc.medfilt(pc.TensorXi(rows), (101, 5))
    padded = np.pad(rows, ((50, 50), (2, 2)))
    for i, j in ((0, 0), (3690, 4), (3691, 4), (4199, 8)):
        assert ours[i, j] == np.median(padded[i : i + 101, j : j + 5])


def test_convolution_of_inf_touches_its_neighbours_alone():
    x = np.zeros(600, "f4")
    x[300] = np.inf
    taps = np.arange(1, 201, dtype="f4")
    found = np.isinf(np.asarray(pc.convolve(pc.Float(x), pc.Float(taps), "same")))
    with np.errstate(invalid="ignore"):
        assert found.sum() == 200


def test_extremes_of_masks_are_the_first_true_and_the_first_false():
    for n in (1, 15, 5000):
        x = rng.integers(0, 2, (n, 3)) > 0
        for axis in (None, 0, 1):
            ours = [np.asarray(f(pc.asarray(x), axis)).ravel() for f in (pc.argmin, pc.argmax)]
            assert np.array_equal(ours, [np.ravel(x.argmin(axis)), np.ravel(x.argmax(axis))])


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_places_of_extremes(dtype):
    for n in (1, 15, 1000, 5000):
        x = rng.integers(0, 100, n).astype(dtype)
        if dtype[0] == "i":
            x[n // 2 :] *= -1
        if dtype[0] == "f":
            x = (x - 50) / 8
        ours = pc.asarray(x)
        assert [int(pc.argmin(ours)[0]), int(pc.argmax(ours)[0])] == [x.argmin(), x.argmax()]
    if dtype[0] == "f":
        inf, nan = np.inf, np.nan
        for lanes, least, most in (
            ([nan, inf, nan], 1, 1),
            ([nan, -inf, 1], 1, 2),
            ([nan, nan], 0, 0),
            ([0.0, -0.0, 0.0], 1, 0),
        ):
            ours = pc.asarray(np.array(lanes, dtype))
            assert [int(pc.argmin(ours)[0]), int(pc.argmax(ours)[0])] == [least, most]
    else:
        ends = np.iinfo(np.dtype(dtype))
        ours = pc.asarray(np.array([ends.max, ends.min, ends.min, ends.max], dtype))
        assert [int(pc.argmin(ours)[0]), int(pc.argmax(ours)[0])] == [1, 0]


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_joins(axis):
    """Rows that are long, and ones that are short."""
    for long in (1, 7, 40):
        shapes = [[3, 2, long], [3, 2, long]]
        shapes[1][axis] += 2
        a, b = (rng.integers(0, 99, shape) for shape in shapes)
        for x, y in ((a.astype("f4"), b.astype("i4")), (a + 1j, b.astype("f8")), (a > 50, b > 50)):
            expected = np.concatenate([x, y, x], axis)
            ours = pc.concatenate([pc.asarray(z) for z in (x, y, x)], axis=axis)
            assert np.array_equal(np.asarray(ours), expected), (long, expected.dtype)


@pytest.mark.parametrize("n", range(1, 11))
@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
def test_small_matrices(n, dtype):
    a = rng.standard_normal((50, n, n)).astype(dtype)
    b = rng.standard_normal((50, n, 3)).astype(dtype)
    if dtype == "c16":
        a = a + 1j * rng.standard_normal(a.shape)
    a[0] = np.roll(np.eye(n, dtype=dtype), 1, 0)  # has no pivot where it stands
    ours, bound = pc.asarray(a), 2e-3 if dtype == "f4" else 1e-9
    assert np.allclose(np.asarray(pc.inv(ours)) @ a, np.eye(n), atol=bound)
    assert np.allclose(a @ np.asarray(pc.solve(ours, pc.asarray(b))), b, atol=bound)
    assert np.allclose(np.asarray(pc.det(ours)), np.linalg.det(a.astype(np.result_type(dtype, "f8"))), rtol=bound)
    sign, log = np.linalg.slogdet(a)
    found = pc.slogdet(ours)
    assert np.allclose(np.asarray(found[0]), sign) and np.allclose(np.asarray(found[1]), log, atol=bound)
    a[7, :, 0] = 0
    with pytest.raises(ValueError, match="matrix 7 of 50 is singular"):
        pc.inv(pc.asarray(a))
    assert np.asarray(pc.det(pc.asarray(a)))[7] == 0


def test_counts_of_values():
    for n in (0, 1, 5000):
        x = rng.integers(0, 700, n).astype("f4")
        x[x > 650] = np.nan
        values, counts = np.unique(x, return_counts=True)
        ours = pc.unique_counts(pc.Float(x))
        assert np.array_equal(np.asarray(ours[0]), values, equal_nan=True) and np.array_equal(np.asarray(ours[1]), counts)


@pytest.mark.parametrize("n", [2, 8, 9])
def test_pivots_whose_squares_have_no_room(n):
    a = np.eye(n, dtype="c16")
    a[0, 0] = 1e-200j
    ours = pc.asarray(a)
    assert np.allclose(np.asarray(pc.det(ours)), 1e-200j, rtol=1e-12, atol=0)
    assert np.allclose(np.asarray(pc.inv(ours)) * np.diag(a), np.eye(n))
    a[1] = 2 * a[0]  # singular
    p, lower, upper = (np.asarray(factor) for factor in pc.lu(pc.asarray(a)))
    assert np.allclose(p @ lower @ upper, a, rtol=1e-12, atol=0)


def test_gradients_of_long_kernels():
    """Sums over all lanes for a few hundred taps, and for more taps than lanes."""
    for n, m in ((3000, 300), (600, 500)):
        x, taps = (rng.integers(-5, 5, size).astype("f8") for size in (n, m))
        slope = pc.grad(lambda t, x=x: pc.hsum(pc.convolve(pc.Float64(x), t, "valid")))(pc.Float64(taps))
        assert np.array_equal(np.asarray(slope), np.convolve(x, np.ones(n - m + 1), "valid")[::-1])
