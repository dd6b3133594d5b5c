"""Complex entries stay entries, complex lanes stay lanes: whatever puts them in a row, joins them or takes them apart."""

import cmath
import math

import pytest

import porcini as pc

np = pytest.importorskip("numpy")

Z = [1 + 2j, 3, 5j]


def entries():
    return pc.asarray(np.array(Z))


def lanes():
    return pc.Complex2d([1, 2], [3, 4])


OF_ENTRIES = {
    "ravel": np.ravel,
    "cumsum": np.cumsum,
    "append": lambda z: np.append(z, z),
    "append a number": lambda z: np.append(z, 5),
    "append a complex number": lambda z: np.append(z, 0.1j),
    "concatenate": lambda z: np.concatenate([z, z], axis=None),
    "delete": lambda z: np.delete(z, 0),
    "delete where": lambda z: np.delete(z, np.array([True] + [False] * (z.shape[0] - 1))),
    "insert": lambda z: np.insert(z, 0, 9),
    "diagflat": np.diagflat,
    "column_stack": lambda z: np.column_stack([z, z]),
    "convolve": lambda z: np.convolve(z, z),
}


@pytest.mark.parametrize("name", OF_ENTRIES)
@pytest.mark.parametrize("values", [Z, Z[:1]])
def test_entries_in_one_row(name, values):
    f, z = OF_ENTRIES[name], np.array(values)
    np.testing.assert_allclose(np.asarray(f(pc.asarray(z))), f(z))


@pytest.mark.parametrize(
    "f",
    [
        pc.ravel, pc.flatten, pc.cumsum, pc.prefix_sum, lambda z: pc.append(z, z), lambda z: pc.convolve(z, z),
        lambda z: pc.correlate(z, z), lambda z: z.ravel(), lambda z: pc.ravel(t=z), lambda z: pc.roots(pc.Float64([1, 0, 1])),
    ],
)  # fmt: skip
def test_a_row_of_entries_is_a_tensor(f):
    found = f(entries())
    assert type(found) is pc.TensorXz and found.ndim == 1 and isinstance(found[0], complex)
    assert len(found) == found.shape[0] and found[::-1].tolist() == found.tolist()[::-1]


def test_lanes_stay_lanes():
    z = lanes()
    for found, expected in [
        (pc.append(z, z), [1 + 3j, 2 + 4j, 1 + 3j, 2 + 4j]),
        (np.append(z, z), [1 + 3j, 2 + 4j, 1 + 3j, 2 + 4j]),
        (pc.concat([z, z], None), [1 + 3j, 2 + 4j, 1 + 3j, 2 + 4j]),
        (pc.append(z, 5), [1 + 3j, 2 + 4j, 5]),
        (pc.concat([z, 0.1j]), [1 + 3j, 2 + 4j, 0.1j]),
        (pc.append(z, [7, 8]), [1 + 3j, 2 + 4j, 7, 8]),
        (pc.insert(z, 0, 9), [9, 1 + 3j, 2 + 4j]),
        (pc.insert(z, 1, z), [1 + 3j, 1 + 3j, 2 + 4j, 2 + 4j]),
        (pc.delete(z, 0), [2 + 4j]),
        (pc.split(z, 2)[1], [2 + 4j]),
        (pc.split(z, [1])[0], [1 + 3j]),
        (pc.array_split(z, 2)[1], [2 + 4j]),
        (pc.cumsum(z), [1 + 3j, 3 + 7j]),
    ]:
        assert type(found) is pc.Complex2d and found.tolist() == expected
    assert pc.diagflat(z).tolist() == [[1 + 3j, 0], [0, 2 + 4j]] and pc.column_stack([z, z]).shape == (2, 2)
    assert type(pc.append(pc.Complex2f(1, 2), pc.Complex2f(3, 4))) is pc.Complex2f


def test_one_lane_has_an_axis():
    z = pc.Complex2d(1, 2)
    assert pc.fft(z).tolist() == [1 + 2j] and pc.sum(z, 0).tolist() == [1 + 2j] and pc.diff(z).shape == (0,)


def test_numbers_and_lists_take_the_digits_of_what_they_join():
    x = pc.Float64([1])
    assert pc.append(x, 0.1).tolist() == pc.append(x, [0.1]).tolist() == pc.concat([x, [0.1]]).tolist() == [1, 0.1]
    assert pc.insert(x, 0, 0.1).tolist() == [0.1, 1] and (x + [0.1]).tolist() == [1.1] and pc.maximum(x, [1.1]).tolist() == [1.1]
    assert pc.dot(pc.Float64([1, 0]), [0.1, 2]).tolist() == np.dot(pc.Float64([1, 0]), [0.1, 2]).tolist() == [0.1]
    assert pc.interp(pc.Float64([0.1]), [0, 0.2], [0, 0.2]).tolist() == [0.1]
    assert pc.take_along_axis(pc.Float64([5, 6]), [1, 0]).tolist() == [6, 5]


def test_equal_as_the_operator():
    z = lanes()
    assert pc.equal(pc.Mask([True]), pc.Mask([False])).tolist() == [False]
    assert pc.not_equal(z, z).tolist() == (z != z).tolist() and pc.equal(pc.Float([1, 2]), 2).tolist() == [False, True]


def test_logarithms_of_large_numbers():
    xp = pytest.importorskip("porcini.array_api")
    assert math.isclose(complex(xp.log1p(xp.asarray([1e200 + 1e200j]))[0]).real, 460.8635921890891)
    assert math.isclose(complex(xp.log1p(xp.asarray([3e16 + 1.85e19j], dtype=xp.complex64))[0]).real, 44.36430, rel_tol=1e-6)
    assert math.isclose(complex(xp.log1p(xp.asarray([1e-9 + 0j]))[0]).real, 1e-9)


def test_logarithms_near_minus_one_keep_their_digits():
    xp = pytest.importorskip("porcini.array_api")
    for z in (-1 + 1e-9j, -1.001 + 1e-5j, 0.4 - 1e-12j, 1e-12 + 0.3j):
        got = complex(xp.log1p(xp.asarray([z]))[0])
        assert cmath.isclose(got, complex(np.log1p(z)), rel_tol=1e-12), z
