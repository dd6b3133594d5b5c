"""Values and refusals at the edges of functions, as NumPy, SciPy and JAX have them."""

import warnings

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
    with pytest.raises(ValueError, match="^setxor1d: got Vector3f"):
        pc.setxor1d(pc.Vector3f(1, 2, 3), [1])
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


def test_constants_have_no_derivative():
    x, fixed = pc.Float64([2, 3]), np.array([1.0, 2])
    assert pc.jvp(lambda x: (x * x, 3.0), (x,), (pc.Float64([1, 1]),))[1][1] == 0
    value, moved = pc.jvp(lambda x: {"y": x * x, "n": [2], "c": fixed}, (x,), (pc.Float64([1, 1]),))
    assert value["n"] == [2] and value["c"] is fixed
    assert moved["y"].tolist() == [4, 6] and moved["n"] == [0] and moved["c"].tolist() == [0, 0]
    assert pc.jvp(lambda x: 3.0, (x,), (x,)) == (3.0, 0.0)
    own, number, array = pc.jacobian(lambda x: (x * x, 3.0, fixed))(x)
    assert own.tolist() == [[4, 0], [0, 6]] and number.tolist() == [0, 0] and array.tolist() == [[0, 0], [0, 0]]
    assert pc.grad(lambda x: 3.0)(x).tolist() == [0, 0] and pc.jacobian(lambda x: 3.0)(x).tolist() == [0, 0]
    value, slope = pc.value_and_grad(lambda x: 3.0)(x)
    assert value == 3 and slope.tolist() == [0, 0]
    assert pc.vjp(lambda x: (x * x, 3.0), (x,), (pc.Float64([1, 10]), 1.0))[1].tolist() == [4, 60]


def test_a_pair_is_expected():
    for f in [lambda x: x * x, lambda x: (x * x,), lambda x: {"y": x, "n": 1}]:
        with pytest.raises(TypeError, match="expected a pair with has_aux=True"):
            pc.grad(f, has_aux=True)(pc.Float(2))


def test_no_index():
    x, t, z = pc.Float([1, 2]), pc.ones((3, 2)), pc.Complex2f([1, 2], [3, 4])
    assert x[[]].tolist() == [] and type(x[[]]) is pc.Float and z[[]].shape == (2, 0)
    assert t[[]].shape == (0, 2) and t[:, []].shape == (3, 0) and pc.asarray(np.array([1j, 2]))[[]].shape == (0,)
    x[[]], t[[]], t[:, []] = 1.0, 2.0, 3.0
    assert x.tolist() == [1, 2] and t.sum().item() == 6
    assert pc.take(x, []).tolist() == pc.gather(x, []).tolist() == [] and pc.take(t, [], 1).shape == (3, 0)
    assert type(pc.take(x, [])) is pc.Float and t[pc.ix_([], [0])].shape == (0, 1)
    assert [found.tolist() for found in pc.unravel_index([], (2, 3))] == [[], []]


def test_an_entry_of_one_lane():
    z = pc.asarray(np.array([1j, 2]))
    z[0] = z[1:2]
    assert z.tolist() == [2, 2]
    z[1] = pc.asarray(np.array(2j))
    assert z.tolist() == [2, 2j]
    t = pc.TensorXf([[1, 2], [3, 4]])
    t[0, 0] = t[0, 1:2]
    t[1] = t[0:1] * 10
    assert t.tolist() == [[2, 2], [20, 20]]
    with pytest.raises(ValueError, match="got values of shape"):
        t[0] = pc.ones((2, 2))


def test_half_turns():
    for turns in ([0, 3, -3], [0, 1, 0], [0, -5, 5]):
        x = np.array(turns) * np.pi
        np.testing.assert_allclose(pc.unwrap(pc.Float64(x)).numpy(), np.unwrap(x), 1e-12, 1e-12)


def test_shares_beside_infinity():
    for x in ([1, 2, np.inf], [-np.inf, -np.inf]):
        for of in (pc.softmax, pc.log_softmax):
            assert np.isnan(of(pc.Float(x)).numpy()).all() and np.isnan(of(pc.Float64(x), axis=None).numpy()).all()
    assert pc.logsumexp(pc.Float([1, np.inf])).item() == np.inf
    assert pc.softmax(pc.Float([0, -np.inf])).tolist() == [1, 0]


def test_too_few_points():
    for x, y, degree in [([1, 2], [1, 3], 3), ([0.5, 3, 4], [1, -2, 7], 2), ([0, 1, 2, 5], [1, 2, 2, 9], 1)]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = np.polyfit(x, y, degree)
        np.testing.assert_allclose(pc.polyfit(pc.Float64(x), pc.Float64(y), degree).numpy(), expected, 1e-9)
    with pytest.raises(ValueError, match="polyfit: got no points"):
        pc.polyfit(pc.Float64([]), pc.Float64([]), 1)


def test_sets_of_complex_numbers():
    a, b = np.array([3, 1 + 2j, 3, 1j]), np.array([1j, 4, 1 - 2j])
    own = pc.asarray(a), pc.asarray(b)
    for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d"):
        assert getattr(pc, name)(*own).tolist() == getattr(np, name)(a, b).tolist(), name
    assert pc.union1d(own[0], pc.Float64([5])).tolist() == np.union1d(a, [5]).tolist()
    np.testing.assert_allclose(pc.vander(own[0], 3).numpy(), np.vander(a, 3))


def test_places_of_one_row():
    x, index = pc.TensorXf([[1, 2], [3, 4]]), pc.Int32([3, 0])
    assert pc.take_along_axis(x, index, axis=None).tolist() == np.take_along_axis(x.numpy(), index.numpy(), axis=None).tolist()
    with pytest.raises(ValueError, match="take_along_axis: got an index"):
        pc.take_along_axis(x, pc.Int32([[1, 1]]), axis=None)


def test_lists_of_conditions():
    x = pc.Float([1, 2, 3])
    assert pc.select([x < 2], [x * 10], 9).tolist() == np.select([x.numpy() < 2], [x.numpy() * 10], 9).tolist()
    assert pc.select([x < 2, x < 3], [x, 7], 9).tolist() == [1, 7, 9] and pc.select([x > 1], [x]).tolist() == [0, 2, 3]
    assert pc.select([True, False], [1, 2], [3, 4]).tolist() == [1, 4]


def test_complex_values():
    z = np.array([1j, 2])
    own = pc.asarray(z)
    found = pc.meshgrid(own, pc.Float64([1, 2]))
    assert [x.tolist() for x in found] == [x.ravel().tolist() for x in np.meshgrid(z, [1, 2])]
    x, xp = [0.5, 3, -1], [0, 1]
    for ends in ({}, {"left": 3j, "right": 5}):
        assert pc.interp(pc.Float64(x), pc.Float64(xp), own, **ends).tolist() == np.interp(x, xp, z, **ends).tolist()
    with pytest.raises(TypeError, match="searchsorted: got TensorXz, expected a one-dimensional array of real numbers"):
        pc.searchsorted(own, 1.0)


def test_bins():
    x = np.array([1.0, 2, 2.5, 9, 4])
    for rule in ("auto", "sturges", "fd", "sqrt"):
        edges = pc.histogram_bin_edges(pc.Float64(x), rule)
        np.testing.assert_allclose(edges.numpy(), np.histogram_bin_edges(x, rule))
        assert pc.histogram(pc.Float64(x), bins=rule).tolist() == np.histogram(x, rule)[0].tolist()
    for other in (np.inf, np.nan):
        with pytest.raises(ValueError, match="histogram_bin_edges: got .*, expected finite ones"):
            pc.histogram_bin_edges(pc.Float64([1, other]))


def test_convolution_along_all_axes():
    signal, rng = pytest.importorskip("scipy.signal"), np.random.default_rng(1)
    for own, peer in [((4, 5), (2, 3)), ((2, 3), (4, 5)), ((3, 4, 5), (2, 2, 2))]:
        a, b = rng.random(own), rng.random(peer)
        for mode in ("full", "same", "valid"):
            found = pc.fftconvolve(pc.asarray(a), pc.asarray(b), mode)
            np.testing.assert_allclose(found.numpy(), signal.fftconvolve(a, b, mode), 1e-9, 1e-12)
    with pytest.raises(ValueError, match="fftconvolve: got the shapes"):
        pc.fftconvolve(pc.ones((2, 2)), pc.Float([1, 2]))


def test_gradients_in_the_form_of_arguments():
    product = pc.custom(lambda d: d["a"] * d["b"][0], backward=lambda v, d: {"b": [v * d["a"]], "a": v * d["b"][0]})
    a, b = pc.Float([1, 2]), pc.Float([3, 4])
    found = pc.grad(product)({"a": a, "b": [b]})
    assert found["a"].tolist() == [3, 4] and found["b"][0].tolist() == [1, 2]
    # What is left out, or None, has no gradient; one value is that of an argument with one array.
    half = pc.custom(lambda d: d["a"] * d["b"], backward=lambda v, d: {"a": v * d["b"]})
    assert [x.tolist() for x in pc.grad(half)({"a": a, "b": b}).values()] == [[3, 4], [0, 0]]
    alone = pc.custom(lambda d: d["a"] * 2, backward=lambda v, d: v * 2)
    assert pc.grad(alone)({"a": a})["a"].tolist() == [2, 2]
