"""Calls as Dr.Jit writes them: packed gathers and scatters, axes of vectors, structs as states, names and traits."""

import math

import numpy as np
import pytest

import porcini as pc

FLAT = [1, 2, 3, 4]


def same(a, expected):
    assert a.tolist() == expected, (a, expected)


# ---- memory ----


def test_gather_of_a_class():
    x, index = pc.Float(FLAT), pc.UInt32([0, 1])
    same(pc.gather(pc.Array2f, x, index), [[1, 2], [3, 4]])
    same(pc.gather(pc.Array2f, x, index, pc.Mask([False, True])), [[0, 0], [3, 4]])
    same(pc.gather(pc.Array2f, x, [1, 0]), [[3, 4], [1, 2]])
    same(pc.gather(dtype=pc.Array2f, source=x, index=1), [[3, 4]])
    same(pc.gather(pc.Matrix2f, x, 0), [[[1, 2], [3, 4]]])
    same(pc.gather(pc.Array2f, pc.Array2f([1, 2], [3, 4]), index), [[1, 3], [2, 4]])
    assert type(pc.gather(pc.Float, pc.Int32(FLAT), index)) is pc.Float
    same(pc.gather(x, index, mode=None), [1, 2])
    near = pc.grad(lambda x: pc.sum(pc.dot(pc.gather(pc.Array2f, x, index), pc.Array2f(1, 10))))(x)
    same(near, [1, 10, 1, 10])
    with pytest.raises(TypeError, match="gather"):
        pc.gather(x, index, nothing=1)


@pytest.mark.parametrize(("name", "expected"), [("scatter", [6, 8, 5, 7]), ("scatter_add", [7, 9, 6, 8])])
def test_scatter_of_components(name, expected):
    scatter, value, index = getattr(pc, name), pc.Array2f([5, 6], [7, 8]), pc.UInt32([1, 0])
    x = pc.Float([1, 1, 1, 1])
    scatter(x, value, index)
    same(x, expected)
    x = pc.Float([1, 1, 1, 1])
    scatter(x, value, index, pc.Mask([False, True]))
    same(x, expected[:2] + [1, 1])
    x = pc.Float([1, 1, 1, 1])
    pc.scatter_reduce(pc.ReduceOp.Add, x, value, index, mode=None)
    same(x, [7, 9, 6, 8])


def test_masks_of_components_set_what_they_say():
    x = pc.Array2f([1, 2], [3, 4])
    x[x > 1.5] = 0
    same(x, [[1, 0], [0, 0]])
    x[x == 0] = pc.Array2f([5, 6], [7, 8])
    same(x, [[1, 7], [6, 8]])
    m = pc.Matrix2f(1, 2, 3, 4)
    m[m > 2] = -1
    same(m, [[[1, 2], [-1, -1]]])
    with pytest.raises(TypeError, match="index of a value with components"):
        x[x > 1]
    with pytest.raises(ValueError):
        x[pc.Array3f(1) > 0] = 0


# ---- axes of vectors ----


def test_reductions_of_vectors_along_axes():
    v = pc.Array3f([1, 2], [3, 4], [5, 6])
    for f, components, lanes, everything in [
        (pc.sum, [9, 12], [[3, 7, 11]], [21]), (pc.prod, [15, 48], [[2, 12, 30]], [720]), (pc.min, [1, 2], [[1, 3, 5]], [1]),
        (pc.max, [5, 6], [[2, 4, 6]], [6]), (pc.mean, [3, 4], [[1.5, 3.5, 5.5]], [3.5]),
    ]:  # fmt: skip
        same(f(v, axis=0), components)
        same(f(v, axis=1), lanes)
        same(f(v, axis=-1), lanes)
        same(f(v, axis=None), everything)
        same(f(v, axis=(0, 1)), everything)
        same(f(v), components)
    same(pc.all(v > 1.5, axis=0), [False, True])
    same(pc.any(v > 5.5, axis=1), [[False, False, True]])
    assert pc.any(v > 5, axis=None) and not pc.all(v > 5, axis=None)
    same(pc.sum(pc.Array3f([1, 2], 0, 5), axis=1), [[3, 0, 10]])
    same(pc.max(v, 4), [[4, 4, 5], [4, 4, 6]])
    with pytest.raises(ValueError, match="sum: got axis 2"):
        pc.sum(v, axis=2)
    with pytest.raises(TypeError, match="keepdims"):
        pc.sum(v, axis=0, keepdims=True)


def test_reductions_by_an_operation():
    op, v = pc.ReduceOp, pc.Array3f([1, 2], [3, 4], [5, 6])
    same(pc.reduce(op.Add, pc.Float(FLAT)), [10])
    same(pc.reduce(op.Mul, pc.Float(FLAT)), [24])
    same(pc.reduce(op.Add, v), [9, 12])
    same(pc.reduce(op.Max, v, axis=1), [[2, 4, 6]])
    same(pc.reduce(op.Min, pc.TensorXf([[1, 2], [3, 0]]), 1), [1, 0])
    assert pc.reduce(op.Or, pc.Mask([False, True])) and not pc.reduce(op.And, pc.Mask([False, True]))
    same(pc.block_reduce(op.Add, pc.UInt32([1, 3, 2]), 2), [4, 2])
    same(pc.block_reduce(op.Min, pc.UInt32([1, 3, 2, 4]), 2), [1, 2])
    same(pc.prefix_reduce(op.Mul, pc.Int32([1, 3, 2]), reverse=True), [6, 2, 1])
    same(pc.prefix_reduce(op.Min, pc.UInt32([1, 3, 2])), [2**32 - 1, 1, 1])
    same(pc.prefix_reduce(op.Max, pc.Int8([1, 3, 2])), [-128, 1, 3])
    same(pc.prefix_reduce(op.Add, pc.Float([1, 2, 3]), exclusive=False), [1, 3, 6])
    same(pc.prefix_reduce(op.Add, pc.TensorXf([[1, 2], [3, 4]])), [[0, 0], [1, 2]])
    same(pc.block_prefix_reduce(op.Add, pc.UInt32([1, 3, 2, 4]), 2), [0, 1, 0, 2])
    with pytest.raises(TypeError, match="reduce: got uint32 for ReduceOp.And"):
        pc.reduce(op.And, pc.UInt32([1]))
    with pytest.raises(TypeError, match="scatter_reduce: got ReduceOp.Mul as op"):
        pc.scatter_reduce(op.Mul, pc.Float([1]), 1, pc.UInt32([0]))


# ---- loops, branches, derivatives ----


class Ray:
    DRJIT_STRUCT = {"o": pc.Float, "n": pc.UInt32}

    def __init__(self, o=None, n=None):
        self.o, self.n = o, n


def test_structs_are_states():
    def body(ray):
        ray.o, ray.n = ray.o * 2, ray.n + 1
        return (ray,)

    (ray,) = pc.while_loop((Ray(pc.Float([1, 5]), pc.UInt32(0)),), lambda ray: ray.o < 10, body)
    assert type(ray) is Ray and ray.o.tolist() == [16, 10] and ray.n.tolist() == [4, 1]
    found = pc.if_stmt((Ray(pc.Float([1, 5]), pc.UInt32(1)),), pc.Mask([True, False]), lambda ray: Ray(ray.o + 1, ray.n), lambda ray: ray)
    assert type(found) is Ray and found.o.tolist() == [2, 5]
    same(pc.switch(pc.UInt32([0, 1]), [lambda ray: ray.o, lambda ray: -ray.o], Ray(pc.Float([1, 5]), pc.UInt32(1))), [1, -5])


def test_what_is_no_array_passes_through():
    x, nothing, word = pc.while_loop((pc.Float([1, 5]), None, "a"), lambda x, *_: x < 4, lambda x, *rest: (x + 1, *rest))
    assert x.tolist() == [4, 5] and nothing is None and word == "a"
    assert pc.if_stmt((pc.Float([1]),), pc.Mask([True]), lambda x: None, lambda x: None) is None
    with pytest.raises(TypeError, match="while_loop: got 'b', expected 'a' as before"):
        pc.while_loop((pc.Float([1, 5]), "a"), lambda x, _: x < 4, lambda x, _: (x + 1, "b"))
    with pytest.raises(TypeError, match="^if_stmt: got object"):
        pc.if_stmt((object(),), pc.Mask([True]), lambda x: x, lambda x: x)
    with pytest.raises((TypeError, ValueError, RuntimeError), match="^if_stmt: "):
        pc.if_stmt((pc.Float([1]),), pc.Mask([True]), lambda x: x, lambda x: (x, x))
    same(pc.switch(pc.UInt32([0, 1, 0]), [lambda x: x + 1, lambda x: x * 10], pc.Float([1, 2, 3]), active=pc.Mask([True, False, True])), [2, 0, 4])


def test_functions_with_several_outputs_and_their_own_derivatives():
    def backward(v, x):
        return v[0] * 2 * x + pc.Float(pc.sum(v[1])) * 10

    def forward(t, x):
        return t * 2 * x, pc.Float64(t) * 10

    both = pc.custom(lambda x: (x * x, pc.Float64(x) * 3), backward=backward, forward=forward)
    x = pc.Float([1, 2])
    square, triple = both(x)
    assert square.tolist() == [1, 4] and triple.tolist() == [3, 6] and type(triple) is pc.Float64
    same(pc.grad(lambda x: both(x)[0])(x), [2, 4])
    same(pc.grad(lambda x: pc.Float(both(x)[1]))(pc.Float([1])), [10])
    same(pc.jvp(lambda x: both(x)[1], (x,), (pc.Float([1, 2]),))[1], [10, 20])
    with pytest.raises(TypeError, match="custom: the function gave None, expected an array, or several in a tuple"):
        pc.custom(lambda x: None, backward=backward)(x)


# ---- names ----


def test_forms_with_a_class_in_front():
    x = pc.Float(FLAT)
    assert pc.identity(pc.Matrix3f, 2).shape == (3, 3, 2) and pc.identity(pc.Matrix3f, size=4).shape == (3, 3, 4)
    same(pc.reshape(pc.TensorXf, x, (2, 2)), [[1, 2], [3, 4]])
    same(pc.reshape(pc.TensorXf, x, (2, 2), order="F"), [[1, 3], [2, 4]])
    same(pc.reshape(x, (2, 2), "F"), [[1, 3], [2, 4]])
    same(pc.unravel(pc.Array2f, x), [[1, 2], [3, 4]])
    same(pc.reinterpret_array(pc.UInt32, pc.Float([1])), [1065353216])
    turned = pc.rotate(pc.Quaternion4f, axis=pc.Array3f(0, 0, 1), angle=0.5)
    same(turned, pc.Quaternion4f.rotate(pc.Array3f(0, 0, 1), 0.5).tolist())
    with pytest.raises(TypeError, match=r"rotate: got \(axis=\.\., angle=\.\.\), expected .* by place"):
        pc.Quaternion4f.rotate(axis=pc.Array3f(0, 0, 1), angle=0.5)


def test_generators_by_their_keywords():
    rng = pc.PCG32(size=3, initstate=5, initseq=7)
    assert rng.inc.tolist() == [15, 17, 19] and rng.state.tolist() == [16602260034678550419, 17247924632509377820, 17893589230340205221]
    assert pc.PCG32(size=3).state.tolist() == [16869222179800739361, 17514886777631566762, 18160551375462394163]


def test_order_of_grids():
    arrays = [np.arange(2), np.arange(3) + 5, np.arange(2) + 9, np.arange(2)]
    for n in (1, 2, 3, 4):
        for indexing in ("xy", "ij"):
            expected = np.meshgrid(*arrays[:n], indexing=indexing)
            got = pc.meshgrid(*map(pc.asarray, arrays[:n]), indexing=indexing)
            assert [x.tolist() for x in got] == [x.ravel().tolist() for x in expected]
    assert "slowest" not in pc.meshgrid.__doc__


def test_traits():
    classes = [pc.Float, pc.Array3f, pc.Matrix3f, pc.Complex2f, pc.TensorXf, pc.Bool, pc.Quaternion4f, pc.Array3f(1, 2, 3), 1.0, 1]
    assert [pc.depth_v(x) for x in classes] == [1, 2, 3, 2, 0, 1, 2, 2, 0, 0]
    assert [pc.size_v(x) for x in classes] == [-1, 3, 3, 2, 0, -1, 4, 3, 1, 1]
    assert [pc.is_float_v(x) for x in classes] == [True, True, True, True, True, False, True, True, True, False]
    assert [x for x in classes[:7] if pc.is_vector_v(x)] == [pc.Array3f] and pc.is_matrix_v(pc.Matrix3f) and pc.is_quaternion_v(pc.Quaternion4f)
    assert [pc.value_t(x) for x in classes[:5]] == [float, pc.Float, pc.Vector3f, pc.Float, float] and pc.scalar_t(pc.Array3f) is float
    assert [pc.mask_t(x) for x in (pc.Float, pc.Array3f, 1.0)] == [pc.Mask, pc.Vector3m, bool] and pc.type_v(pc.UInt32) == "uint32"
    assert pc.is_unsigned_v(pc.UInt32) and not pc.is_signed_v(pc.UInt32) and pc.is_integral_v(3) and pc.itemsize_v(pc.Complex2d) == 8
    for T, numpy in [(pc.Float16, "f2"), (pc.Float, "f4"), (pc.Float64, "f8")]:
        info = np.finfo(numpy)
        assert pc.largest(T) == info.max and pc.smallest(T([1])) == info.tiny and pc.epsilon(T) == info.eps / 2
        assert pc.one_minus_epsilon(T) == 1 - info.eps / 2
    with pytest.raises(TypeError, match="largest: got int32"):
        pc.largest(pc.Int32)
    assert pc.two_pi == math.tau and pc.inv_sqrt_two == 1 / math.sqrt(2) and pc.log_two == math.log(2)


def test_other_names():
    same(pc.step(0.5, pc.Float([0.5, 1, 0])), [1, 0, 1])
    same(pc.mul_hi(pc.UInt32([2**31]), 4), [2])
    same(pc.mul_wide(pc.UInt32([2**31]), 4), [2**33])
    same(pc.mul_wide(pc.Int32([-(2**31)]), 4), [-(2**33)])
    assert pc.unit_angle(pc.Vector3d(1, 0, 0), pc.Vector3d(0, -1, 0)).item() == pytest.approx(math.pi / 2)
    x = pc.Float([1, 2])
    pc.assert_true(x > 0)
    pc.assert_false(x > 2)
    pc.assert_equal(pc.Array2f(1, x), pc.Array2f(1, x))
    pc.assert_allclose(x, [1, 2.000001])
    for wrong in (lambda: pc.assert_true(x > 1), lambda: pc.assert_equal(x, 1), lambda: pc.assert_allclose(x, 1)):
        with pytest.raises(AssertionError, match="expected"):
            wrong()
    pc.enable_grad(x)
    pc.backward_from(x * x)
    pc.accum_grad(x, 1)
    same(x.grad, [3, 5])
    with pytest.raises(AttributeError, match="axis=None"):
        pc.sum_nested


# ---- values from arrays ----


def test_values_from_arrays_have_lanes_in_front():
    rows = np.arange(15, dtype="f4").reshape(5, 3)
    v = pc.Array3f(rows)
    assert v.x.tolist() == rows[:, 0].tolist() and np.array_equal(np.asarray(v), rows)
    assert pc.Array3f(rows.T.tolist()).x.tolist() == rows[:, 0].tolist()
    same(pc.Array3f(pc.TensorXf([1, 2, 3])), [[1, 2, 3]])
    same(pc.Matrix2f(np.array([[1, 2], [3, 4]])), [[[1, 2], [3, 4]]])
    same(pc.Matrix2f(np.arange(8).reshape(2, 2, 2)), [[[0, 1], [2, 3]], [[4, 5], [6, 7]]])
    same(pc.Complex2f(np.array([[1, 2], [3, 4]])), [1 + 2j, 3 + 4j])
    assert type(pc.Complex2f(np.array([1 + 2j, 3]))) is pc.Complex2f and pc.Array3f(np.zeros((0, 3))).x.size == 0


@pytest.mark.parametrize(("T", "x", "words"), [
    (pc.Array3f, np.zeros((3, 5)), r"Vector3f: got shape \[3, 5\], expected \[lanes, 3\]; lanes come first: Vector3f\(x.T\)"),
    (pc.Array3f, np.zeros((5, 6)), r"expected \[lanes, 3\]; Vector3f\(x.reshape\(-1, 3\)\)"),
    (pc.Array3f, np.zeros((2, 3, 1)), r"expected \[lanes, 3\]"),
    (pc.Array2f, np.zeros((5, 3)), r"got shape \[5, 3\], expected \[lanes, 2\]"),
    (pc.Matrix2f, np.zeros((2, 2, 5)), r"expected \[lanes, 2, 2\]; lanes come first: Matrix2f\(pc.moveaxis\(x, -1, 0\)\)"),
    (pc.Matrix2f, np.zeros((5, 4)), r"expected \[lanes, 2, 2\]; Matrix2f\(x.reshape\(-1, 2, 2\)\)"),
    (pc.Quaternion4f, np.zeros((4, 5)), r"expected \[lanes, 4\]; lanes come first"),
    (pc.Complex2f, np.zeros((2, 5)), r"expected \[lanes, 2\]; lanes come first"),
    (pc.Complex2f, np.zeros((2, 2), "c8"), r"got complex entries of shape \[2, 2\], expected \[lanes\]"),
    (pc.Array3f, np.zeros((2, 3), "c8"), "take the parts"),
])  # fmt: skip
def test_shapes_of_others_are_refused(T, x, words):
    for given in (x, pc.Tensor(x)):
        with pytest.raises(ValueError, match=words):
            T(given)
