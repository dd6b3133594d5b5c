"""What Dr.Jit's own tests ask for, in Porcini's words: arithmetic, horizontal operations, gathers and scatters, loops,
derivatives (tests/test_arithmetic.py, test_reduce.py, test_memop.py, test_while_loop.py, test_ad.py of Dr.Jit 1.x)."""

import math
import operator

import numpy as np
import pytest

import porcini as pc

FLOATS = [pc.Float16, pc.Float, pc.Float64]
SIGNED = [pc.Int8, pc.Int16, pc.Int32, pc.Int64]
UNSIGNED = [pc.UInt8, pc.UInt16, pc.UInt32, pc.UInt64]
INTEGERS = SIGNED + UNSIGNED
NUMBERS = FLOATS + INTEGERS


def near(a, b, tolerance=1e-5):
    np.testing.assert_allclose(np.asarray(a, dtype="f8"), np.asarray(b, dtype="f8"), rtol=tolerance, atol=tolerance)


def same(a, expected):
    assert a.tolist() == expected, (a, expected)


# ---- arithmetic ----


@pytest.mark.parametrize("T", NUMBERS)
@pytest.mark.parametrize("op", [operator.add, operator.sub, operator.mul])
def test_binary_operators(T, op):
    a, b = [3, 5, 9], [1, 2, 3]
    expected = [op(x, y) for x, y in zip(a, b)]
    same(op(T(a), T(b)), expected)
    same(op(T(a), 2), [op(x, 2) for x in a])
    same(op(9, T(b)), [op(9, y) for y in b])
    assert type(op(T(a), T(b))) is T


@pytest.mark.parametrize("T", INTEGERS)
def test_integer_division(T):
    same(T([7, 8, 9]) // 2, [3, 4, 4])
    same(T([7, 8, 9]) % 4, [3, 0, 1])
    same(pc.idiv(T([7, 8, 9]), 2), [3, 4, 4])
    near((T([1, 2, 4]) / 2).tolist(), [0.5, 1, 2])


@pytest.mark.parametrize("T", SIGNED)
def test_division_of_negative_integers(T):
    same(T([-7, 7]) // 2, [-4, 3])
    same(T([-7, 7]) % 2, [1, 1])
    same(pc.idiv(T([-7, 7]), 2), [-3, 3])
    same(-T([1, -2]), [-1, 2])
    same(abs(T([1, -2])), [1, 2])


@pytest.mark.parametrize("T", INTEGERS)
def test_bits(T):
    same(T([6, 5]) & 3, [2, 1])
    same(T([6, 5]) | 3, [7, 7])
    same(T([6, 5]) ^ 3, [5, 6])
    same(T([1, 2]) << 2, [4, 8])
    same(T([8, 4]) >> 2, [2, 1])
    same(pc.popcnt(T([7, 8])), [3, 1])
    same(pc.tzcnt(T([8, 1])), [3, 0])


@pytest.mark.parametrize("T", NUMBERS)
def test_comparisons(T):
    a, b = T([1, 2, 3]), T([3, 2, 1])
    same(a < b, [True, False, False])
    same(a <= b, [True, True, False])
    same(a > b, [False, False, True])
    same(a >= b, [False, True, True])
    same(a == b, [False, True, False])
    same(a != b, [True, False, True])
    same(pc.minimum(a, b), [1, 2, 1])
    same(pc.maximum(a, b), [3, 2, 3])
    same(pc.select(a > b, a, b), [3, 2, 3])
    same(pc.clip(a, 2, 2), [2, 2, 2])


@pytest.mark.parametrize("T", FLOATS)
def test_functions_of_floats(T):
    tolerance = 5e-3 if T is pc.Float16 else 1e-6
    x = [0.25, 0.5, 0.75]
    for name in "sin cos tan asin acos atan exp exp2 log log2 sqrt cbrt sinh cosh tanh asinh atanh erf".split():
        expected = [getattr(math, name)(v) if hasattr(math, name) else 2**v for v in x]
        near(getattr(pc, name)(T(x)).tolist(), expected, tolerance)
    near(pc.rcp(T(x)).tolist(), [1 / v for v in x], tolerance)
    near(pc.rsqrt(T(x)).tolist(), [v**-0.5 for v in x], tolerance)
    near(pc.hypot(T(x), 1).tolist(), [math.hypot(v, 1) for v in x], tolerance)
    near(pc.atan2(T(x), 1).tolist(), [math.atan2(v, 1) for v in x], tolerance)
    near(pc.fma(T(x), 2, 1).tolist(), [v * 2 + 1 for v in x], tolerance)
    near(pc.lerp(T(x), 1, 0.5).tolist(), [v + (1 - v) * 0.5 for v in x], tolerance)
    near((T(x) ** 3).tolist(), [v**3 for v in x], tolerance)
    same(pc.floor(T([1.5, -1.5])), [1, -2])
    same(pc.ceil(T([1.5, -1.5])), [2, -1])
    same(pc.trunc(T([1.5, -1.5])), [1, -1])
    same(pc.round(T([0.5, 1.5, 2.5])), [0, 2, 2])
    same(pc.isnan(T([math.nan, 1])), [True, False])
    same(pc.isinf(T([math.inf, 1])), [True, False])
    same(pc.isfinite(T([math.nan, 1])), [False, True])
    same(pc.copysign(T([1, 2]), T([-1, 1])), [-1, 2])
    same(pc.sign(T([-3, 2])), [-1, 1])


def test_sincos_and_others_with_two_results():
    s, c = pc.sincos(pc.Float([0, 1]))
    near(s.tolist(), [0, math.sin(1)])
    near(c.tolist(), [1, math.cos(1)])
    m, e = pc.frexp(pc.Float([12]))
    assert m.tolist() == [0.75] and e.tolist() == [4]


def test_masks():
    a, b = pc.Mask([True, True, False]), pc.Mask([True, False, False])
    same(a & b, [True, False, False])
    same(a | b, [True, True, False])
    same(a ^ b, [False, True, False])
    same(~a, [False, False, True])
    assert pc.any(a) and not pc.all(a) and not pc.none(a) and pc.count(a) == 2
    assert pc.all(pc.Mask([])) and not pc.any(pc.Mask([]))


@pytest.mark.parametrize(("A", "B", "C"), [
    (pc.Int32, pc.Float, pc.Float), (pc.Int32, pc.Int64, pc.Int64), (pc.UInt32, pc.Int32, pc.Int64), (pc.Float16, pc.Float, pc.Float),
    (pc.Float, pc.Float64, pc.Float64), (pc.Int8, pc.UInt8, pc.Int16), (pc.UInt64, pc.Float, pc.Float),
])  # fmt: skip
def test_promotion(A, B, C):
    assert type(A([1]) + B([2])) is C and type(B([2]) + A([1])) is C and (A([1]) + B([2])).tolist() == [3]


@pytest.mark.parametrize("A", NUMBERS)
@pytest.mark.parametrize("B", NUMBERS)
def test_conversions(A, B):
    same(B(A([1, 2, 3])), [1, 2, 3])
    assert type(B(A([1]))) is B


# ---- horizontal operations ----


@pytest.mark.parametrize("T", [pc.Int32, pc.UInt32, pc.Int64, pc.Float, pc.Float64])
@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 4095, 4096, 4097, 70_000])
def test_reductions(T, n):
    a = np.arange(n) % 97 + 1
    x = T(a)
    near(pc.sum(x).tolist(), [a.sum()], 1e-6)
    near(pc.min(x).tolist(), [a.min()])
    near(pc.max(x).tolist(), [a.max()])
    near(pc.mean(x).tolist(), [a.mean()], 1e-5)
    near(pc.dot(x, x).tolist(), [(a * a).sum()], 1e-5)
    near(pc.cumsum(x)[-1], a.sum(), 1e-6)
    assert pc.count(x > 50) == (a > 50).sum()


def test_prefix_sums_and_compress():
    x = pc.UInt32([1, 2, 3, 4])
    same(pc.psum(x), [1, 3, 6, 10])
    same(pc.psum_exclusive(x), [0, 1, 3, 6])
    same(pc.compress(x, x > 2), [3, 4])
    same(pc.block_sum(x, 2), [3, 7])
    same(pc.prod(x), [24])
    same(pc.sort(pc.Float([3, 1, 2])), [1, 2, 3])
    same(pc.argsort(pc.Float([3, 1, 2])), [1, 2, 0])


def test_vectors():
    a, b = pc.Vector3f(1, 2, 3), pc.Vector3f(4, 5, 6)
    same(pc.dot(a, b), [32])
    same(pc.squared_norm(a), [14])
    near(pc.norm(a).tolist(), [math.sqrt(14)])
    same(pc.cross(a, b), [[-3, 6, -3]])
    near(pc.normalize(pc.Vector2f(3, 4)).tolist(), [[0.6, 0.8]])
    assert isinstance(a, pc.Array3f) and len(a) == 3
    same(a + b, [[5, 7, 9]])
    same(a * 2, [[2, 4, 6]])
    same(pc.Vector3f(1), [[1, 1, 1]])
    same(a.zyx, [[3, 2, 1]])


# ---- memory ----


def test_gather():
    x = pc.Float([10, 20, 30])
    same(pc.gather(x, pc.UInt32([2, 0])), [30, 10])
    same(pc.gather(x, pc.UInt32([2, 0]), pc.Mask([True, False])), [30, 0])
    same(pc.gather(pc.Vector2f([1, 2], [3, 4]), pc.UInt32([1])), [[2, 4]])
    same(pc.take(x, pc.UInt32([1])), [20])


@pytest.mark.parametrize(("name", "expected"), [
    ("scatter", [7, 1, 8]), ("scatter_add", [8, 1, 9]), ("scatter_min", [1, 1, 1]), ("scatter_max", [7, 1, 8]),
])  # fmt: skip
def test_scatter(name, expected):
    x = pc.Int32([1, 1, 1])
    getattr(pc, name)(x, pc.Int32([8, 7]), pc.UInt32([2, 0]))
    same(x, expected)
    y = pc.Int32([1, 1, 1])
    getattr(pc, name)(y, pc.Int32([8, 7]), pc.UInt32([2, 0]), pc.Mask([False, False]))
    same(y, [1, 1, 1])


def test_scatter_add_of_many_to_one():
    x = pc.UInt32([0])
    pc.scatter_add(x, pc.UInt32.ones(10_000), pc.UInt32.zeros(10_000))
    same(x, [10_000])
    counter = pc.UInt32([0])
    places = pc.scatter_inc(counter, pc.UInt32.zeros(100))
    assert sorted(places.tolist()) == list(range(100)) and counter.tolist() == [100]


def test_copies_are_apart():
    x = pc.Float([1, 2])
    y = x.copy()
    pc.scatter(x, pc.Float([9]), pc.UInt32([0]))
    assert x.tolist() == [9, 2] and y.tolist() == [1, 2]


def test_meshgrid_and_others():
    x, y = pc.meshgrid(pc.Float([1, 2]), pc.Float([10, 20]))
    assert x.tolist() == [1, 2, 1, 2] and y.tolist() == [10, 10, 20, 20]
    same(pc.tile(pc.Float([1, 2]), 2), [1, 2, 1, 2])
    same(pc.repeat(pc.Float([1, 2]), 2), [1, 1, 2, 2])
    same(pc.concat([pc.Float([1]), pc.Float([2, 3])]), [1, 2, 3])
    same(pc.reverse(pc.Float([1, 2])), [2, 1])


# ---- loops ----


@pytest.mark.parametrize("optimize", [True, False])
def test_while_loops(optimize):
    pc.set_flag("record_loops", optimize)
    i, = pc.while_loop((pc.Int32([1, 5, 30]),), lambda i: i < 10, lambda i: (i + 1,))
    same(i, [10, 10, 30])
    a, b = pc.while_loop((pc.UInt32([0, 1, 2, 3]), pc.UInt32(1)), lambda a, b: a > 0, lambda a, b: (a - 1, b * 2))
    same(b, [1, 2, 4, 8])

    def nested(i, total):
        j, total = pc.while_loop((pc.UInt32(0), total), lambda j, total: j < 3, lambda j, total: (j + 1, total + 1))
        return i + 1, total

    _, total = pc.while_loop((pc.UInt32([0, 2]), pc.UInt32(0)), lambda i, total: i < 4, nested)
    same(total, [12, 6])


# ---- derivatives ----

DERIVATIVES = {
    "sin": math.cos, "cos": lambda x: -math.sin(x), "tan": lambda x: 1 / math.cos(x) ** 2, "exp": math.exp,
    "log": lambda x: 1 / x, "sqrt": lambda x: 0.5 / math.sqrt(x), "rcp": lambda x: -1 / x**2, "rsqrt": lambda x: -0.5 * x**-1.5,
    "sinh": math.cosh, "cosh": math.sinh, "tanh": lambda x: 1 - math.tanh(x) ** 2, "asin": lambda x: 1 / math.sqrt(1 - x * x),
    "acos": lambda x: -1 / math.sqrt(1 - x * x), "atan": lambda x: 1 / (1 + x * x), "asinh": lambda x: 1 / math.sqrt(1 + x * x),
    "atanh": lambda x: 1 / (1 - x * x), "exp2": lambda x: 2**x * math.log(2), "log2": lambda x: 1 / (x * math.log(2)),
    "cbrt": lambda x: x ** (-2 / 3) / 3, "erf": lambda x: 2 / math.sqrt(math.pi) * math.exp(-x * x), "abs": lambda x: 1,
    "sqr": lambda x: 2 * x, "log1p": lambda x: 1 / (1 + x), "expm1": math.exp,
}  # fmt: skip


@pytest.mark.parametrize("name", DERIVATIVES)
@pytest.mark.parametrize("T", [pc.Float, pc.Float64])
def test_derivatives_of_functions(name, T):
    x, f = [0.2, 0.5, 0.8], getattr(pc, name)
    expected = [DERIVATIVES[name](v) for v in x]
    tolerance = 1e-5 if T is pc.Float else 1e-11
    near(pc.grad(lambda x: f(x))(T(x)).tolist(), expected, tolerance)
    near(pc.jvp(f, (T(x),), (T([1, 1, 1]),))[1].tolist(), expected, tolerance)
    y = T(x)
    pc.enable_grad(y)
    pc.backward(f(y))
    near(y.grad.tolist(), expected, tolerance)


def test_derivatives_of_operators():
    a, b = pc.Float64([3]), pc.Float64([2])
    for f, da, db in [
        (lambda a, b: a + b, 1, 1), (lambda a, b: a - b, 1, -1), (lambda a, b: a * b, 2, 3), (lambda a, b: a / b, 0.5, -0.75),
        (lambda a, b: pc.maximum(a, b), 1, 0), (lambda a, b: pc.minimum(a, b), 0, 1), (lambda a, b: pc.hypot(a, b), 3 / 13**0.5, 2 / 13**0.5),
        (lambda a, b: pc.atan2(a, b), 2 / 13, -3 / 13), (lambda a, b: a**2 * b, 12, 9), (lambda a, b: pc.fma(a, b, a), 3, 3),
        (lambda a, b: pc.select(a > b, a * a, b), 6, 0), (lambda a, b: pc.pow(a, b), 6, 9 * math.log(3)),
    ]:  # fmt: skip
        ga, gb = pc.grad(f)(a, b)
        near([ga[0], gb[0]], [da, db], 1e-12)


def test_derivatives_through_memory():
    index = pc.UInt32([0, 0, 2])
    near(pc.grad(lambda x: pc.sum(pc.gather(x, index) * pc.Float([1, 2, 3])))(pc.Float([1, 1, 1])).tolist(), [3, 0, 3])

    def scattered(v):
        target = pc.Float([0, 0, 0])
        pc.scatter_add(target, v, index)
        return pc.sum(target * target)

    near(pc.grad(scattered)(pc.Float([1, 2, 3])).tolist(), [6, 6, 6])
    near(pc.grad(lambda x: pc.sum(pc.psum(x)))(pc.Float([1, 2, 3])).tolist(), [3, 2, 1])
    near(pc.grad(lambda x: pc.max(x))(pc.Float([1, 5, 3])).tolist(), [0, 1, 0])
    near(pc.grad(lambda x: pc.prod(x))(pc.Float([2, 5, 3])).tolist(), [15, 6, 10])


def test_detached_and_suspended():
    x = pc.Float([2])
    pc.enable_grad(x)
    pc.backward(x * pc.detach(x))
    same(x.grad, [2])
    pc.clear_gradient(x)
    with pc.suspend_grad():
        y = x * x
    pc.backward(x * 3 + y)
    same(x.grad, [3])
    pc.set_grad(x, 7)
    same(x.grad, [7])
    assert pc.grad_enabled(x) and not pc.grad_enabled(y)


def test_second_derivatives():
    f = lambda x: pc.sin(x) * x**2  # noqa: E731
    x = 0.7
    expected = -math.sin(x) * x * x + 4 * x * math.cos(x) + 2 * math.sin(x)
    near(pc.grad(pc.grad(f))(pc.Float64([x])).tolist(), [expected], 1e-11)
