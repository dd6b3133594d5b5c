"""Values and refusals at the edges of functions, as NumPy, SciPy and JAX have them."""

import pytest

import porcini as pc

np = pytest.importorskip("numpy")


def test_turns_of_any_period():
    for x, period in [([0, 50], 100), ([30, 210], 360), ([210, 30], 360), ([0, 359, 2.0**40], 360), ([0, 4, 10], 5.5)]:
        own = pc.unwrap(pc.Float64(x), period=period)
        assert type(own) is pc.Float64 and own.tolist() == np.unwrap(np.array(x, "float64"), period=period).tolist()
    for x, period in [([0, 359, 718, 1077], 360), ([-5, -3, 8, 1], 4), ([-5, -3, 8, 1], 5)]:
        own = pc.unwrap(pc.Int32(x), period=period)
        assert type(own) is pc.Int32 and own.tolist() == np.unwrap(np.array(x), period=period).tolist()
    assert pc.unwrap(pc.UInt32([0, 359, 718]), period=360).tolist() == [0, -1, -2]
    matrix = np.array([[0, 300.0], [200, 10]])
    assert pc.unwrap(pc.asarray(matrix), 0, period=360).tolist() == np.unwrap(matrix, axis=0, period=360).tolist()
    assert pc.unwrap(pc.Float64([]), period=360).tolist() == []


def test_counts_of_fractions():
    assert pc.comb(5.5, 2).item() == pytest.approx(12.375) and pc.perm(5.5, 2).item() == pytest.approx(24.75)
    assert pc.comb(5.5, 2.5).item() == pytest.approx(14.4375) and pc.comb(30, 15).item() == 155117520


def test_sets():
    found = pc.setxor1d(pc.Float([pc.nan, 1]), pc.Float([pc.nan, 2])).numpy()
    np.testing.assert_array_equal(found, [1, 2, np.nan, np.nan])
    masks = pc.Mask([True, False]), pc.Mask([False, False])
    assert [x.tolist() for x in pc.intersect1d(*masks, return_indices=True)] == [[False], [1], [0]]
    own, peer = [1, 3, 2, 2, 7], [2, 5, 1]
    found = pc.intersect1d(pc.Int32(own), pc.Int32(peer), return_indices=True)
    assert [x.tolist() for x in found] == [x.tolist() for x in np.intersect1d(own, peer, return_indices=True)]


def test_what_is_refused():
    refused = [
        (lambda: pc.ix_(pc.ones((2, 2)), [1]), "ix_: got 2 axes"),
        (lambda: pc.select([], []), "select: got no conditions"),
        (lambda: pc.hessian(lambda x: x**3)(pc.Float([1, 2])), "hessian: the function gave the shape"),
    ]
    for call, match in refused:
        with pytest.raises(ValueError, match=match):
            call()


def test_a_number_of_a_function():
    assert pc.switch(1, [lambda x: x + 1, lambda x: x * 10], pc.Float([1, 2])).tolist() == [10, 20]
