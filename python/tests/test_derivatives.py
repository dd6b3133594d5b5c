"""Derivatives as users of JAX and PyTorch ask for them."""

import math
import random
import threading
import warnings

import pytest

import porcini as pc


def test_argnums_as_jax_gives_them():
    x, y = pc.Float([1, 2]), pc.Float([3, 4])

    def f(x, y):
        return pc.sum(x * x * y)

    assert pc.grad(f, 0)(x, y).tolist() == [6, 16] and pc.grad(f, -1)(x, y).tolist() == [1, 4]
    assert [g.tolist() for g in pc.grad(f, (0, 1))(x, y)] == [[6, 16], [1, 4]]
    assert pc.value_and_grad(f, 1)(x, y)[1].tolist() == [1, 4]
    assert pc.jacobian(f, 1)(x, y).tolist() == [1, 4] and pc.hessian(f, 0)(x, y).tolist() == [[6, 0], [0, 8]]
    assert [g.tolist() for g in pc.grad(f, [0, 1])(x, y)] == [[6, 16], [1, 4]]
    np = pytest.importorskip("numpy")
    assert pc.grad(f, np.int64(1))(x, y).tolist() == [1, 4]
    with pytest.raises(ValueError, match="argnums=2"):
        pc.grad(f, 2)(x, y)


def marked(lanes):
    x = pc.Float(lanes)
    pc.enable_grad(x)
    return x


@pytest.mark.parametrize("read", [lambda x: x[1], list, lambda x: pc.array([pc.sum(x), 1]), lambda x: pc.TensorXf(x)[1]])
def test_lanes_that_are_read_beside_marks_are_warned_of(read):
    x = marked([2, 3])
    with pytest.warns(UserWarning, match=r"x\[1:2\] is the lane as an array"):
        read(x)


def test_what_loses_no_derivative_is_not_warned_of():
    x = marked([2, 3])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (pc.sum(x) + pc.sum(x[1:2] ** 2)).backward()
        assert x.grad.tolist() == [1, 7] and x.grad[1] == 7
        assert pc.detach(x)[1] == 3 and x.tolist() == [2, 3] and float(pc.sum(x)) == 5
        with pc.no_grad():
            assert x[0] == 2


def test_marks_as_pytorch_has_them():
    x = marked([1, 2])
    assert x.requires_grad is True and (x * 2).grad_enabled is True and pc.Float(1).requires_grad is False
    (x * x).backward(pc.Float([1, 10]))
    assert x.grad.tolist() == [2, 40]
    x.grad = None
    assert x.grad.tolist() == [0, 0]
    pc.backward(x * x, 2)
    assert x.grad.tolist() == [4, 8]


@pytest.mark.parametrize("f", [lambda x: pc.sum(x > 1), pc.argmax, lambda x: x.astype("int32")])
def test_integers_and_masks_have_no_derivative(f):
    x = pc.Float([1, 2])
    for differentiated in (pc.grad, pc.value_and_grad, pc.jacobian):
        with pytest.raises((TypeError, ValueError), match="integers and masks have no derivative"):
            differentiated(f)(x)
    with pytest.raises((TypeError, ValueError), match="integers and masks have no derivative"):
        pc.vjp(f, x, 1)


def test_a_gradient_is_given_for_one_call():
    x = marked([1, 2])
    y = x * x
    y.backward(pc.Float([5, 5]))
    assert x.grad.tolist() == [10, 20]
    x.grad = None
    y.backward()
    assert x.grad.tolist() == [2, 4]


def test_columns_of_pandas_are_arguments():
    pd = pytest.importorskip("pandas")
    assert pc.grad(lambda x: pc.sum(x * x))(pd.Series([1.0, 2.0])).tolist() == [2, 4]


def test_gradients_of_another_shape_are_refused():
    for shape, is_right in (((3, 2), False), ((6, 1), False), ((2, 3), True), ((1, 2, 3), True), ((1, 1), True)):
        f = pc.custom(lambda t: t * 2, backward=lambda v, t: pc.ones(shape))
        if is_right:
            assert pc.grad(f)(pc.ones((2, 3))).tolist() == [[1] * 3] * 2
        else:
            with pytest.raises((TypeError, ValueError), match="got a gradient .* by an argument"):
                pc.grad(f)(pc.ones((2, 3)))


def test_gradients_by_what_is_computed_from_each_other():
    x = pc.Float64([2, 3])
    pc.enable_grad(x)
    y = x * x
    z = y * 3 + x
    assert [g.tolist() for g in pc.grad(z, [x, y])] == [[13, 19], [3, 3]]
    assert [g.tolist() for g in pc.grad(pc.sum(z * y), [z, y, x])] == [[4, 9], [26, 57], [108, 351]]
    # Of itself, of what it does not depend on, twice the same.
    w = pc.Float64([1, 1])
    pc.enable_grad(w)
    assert [g.tolist() for g in pc.grad(y, [x, y, z, w, x])] == [[4, 6], [1, 1], [0, 0], [0, 0], [4, 6]]
    # Through a loop, and a second time.
    u = pc.while_loop((x, pc.Int32(0)), lambda p, i: i < 2, lambda p, i: (p * p, i + 1))[0]
    first, second = pc.grad(u * u, [u, x])
    assert first.tolist() == [32, 162] and second.tolist() == [8 * 2**7, 8 * 3**7]
    assert pc.grad(second, [x])[0].tolist() == [56 * 2**6, 56 * 3**6]


def test_isolated_parts_are_those_of_their_thread():
    x = pc.Float64(2)
    pc.enable_grad(x)
    y = x * x
    isolation = pc.isolate_grad()
    begun, ended = threading.Event(), threading.Event()

    def other():
        with pc.isolate_grad():
            begun.set()
            ended.wait(10)
            pc.backward(y * 10)

    thread = threading.Thread(target=other)
    with isolation:
        thread.start()
        begun.wait(10)
        pc.backward(y)
        # The same once more, inside itself.
        with isolation:
            pc.backward(y * 2)
        assert x.grad.tolist() == [0]
    assert x.grad.tolist() == [12]
    ended.set()
    thread.join()
    assert x.grad.tolist() == [52]


@pytest.mark.parametrize("n", range(-4, 5))
def test_slopes_of_integer_powers_at_zero_too(n):
    places = [0.0, -0.0, -2.0, 0.5, 3.0]

    def expected(order, x):
        factor, power = math.prod(range(n, n - order, -1)), n - order
        if factor == 0 or (x == 0 and power > 0):
            return 0
        return factor * (x**power if x != 0 or power == 0 else math.copysign(math.inf, x) ** -power)

    reverse = forward = lambda x: x**n
    for order in range(1, 4):
        reverse = pc.grad(reverse)
        forward = lambda x, f=forward: pc.jvp(f, (x,), (1.0,))[1]  # noqa: E731
        for slope in (reverse, forward):
            found = slope(pc.Float64(places)).tolist()
            assert found == pytest.approx([expected(order, x) for x in places], rel=1e-14), (order, found)


@pytest.mark.parametrize("n", [8, 40, 1000, 20000])
def test_slopes_of_products_whose_parts_are_beyond_the_range(n):
    logs = [300 if i < n // 2 else -300 for i in range(n)]
    for _ in range(2):
        found = pc.grad(pc.prod)(pc.Float64([math.exp(x) for x in logs])).tolist()
        assert found == pytest.approx([math.exp(-x) for x in logs], rel=1e-9)
        random.Random(n).shuffle(logs)
    zero = [0.0] + [1e200] * (n - 1)
    assert pc.grad(pc.prod)(pc.Float64(zero)).tolist() == [math.inf] + [0] * (n - 1)
    # Where what is behind a lane multiplies to what is beyond the range, the lane is divided out. Of more lanes the products
    # themselves are NaN.
    if n <= 40:
        small = n // 2 * [1e-20] + n // 2 * [1e20]
        slopes = pc.grad(pc.cumprod)(pc.Float64(small)).tolist()
        assert slopes == pytest.approx([1 / x for x in small], rel=1e-4)
    if n == 8:
        slopes = pc.grad(pc.cumprod)(pc.Float64([0.0] + 7 * [1e200])).tolist()
        assert slopes == [math.inf] + 7 * [0]


def test_second_slopes_of_products():
    x = [3.0, 0.0, -2.0, 1e150, 1e-150]
    found = pc.hessian(pc.prod)(pc.Float64(x)).tolist()
    for i, row in enumerate(found):
        others = [math.prod(x[k] for k in range(5) if k not in (i, j)) if i != j else 0 for j in range(5)]
        assert row == pytest.approx(others, rel=1e-12, abs=1e-200)


@pytest.mark.parametrize("others", [0, 20])
def test_second_slopes_of_products_where_the_first_are_below_the_range(others):
    """The second by two lanes is the product of the rest, whatever comes of the first on the way."""
    for kind, least in ((pc.Float64, 1e-200), (pc.Float, 1e-15)):
        n = 3 if kind is pc.Float64 else 4
        x, rest = kind([least] * n + [1.0] * others), least ** (n - 2)
        expected = [0.0] + [rest] * (n - 1)
        found = pc.grad(lambda x, n=n: pc.sum(pc.grad(pc.prod)(x)[0:1]))(x).tolist()
        assert found[:n] == pytest.approx(expected, rel=1e-5, abs=0)
        assert pc.hessian(pc.prod)(x).tolist()[0][:n] == pytest.approx(expected, rel=1e-5, abs=0)


def test_slopes_of_the_product_of_a_million_lanes():
    n = 2**20 + 3
    found = pc.grad(pc.prod)(pc.Float([2.0] + [1.0] * (n - 2) + [0.5]))
    assert found.tolist() == [0.5] + [1.0] * (n - 2) + [2.0]
