"""Kernels from Python functions: each lane is what the function gives for the number in it, or it is refused."""

import math
from math import sin as sine

import pytest

import porcini as pc

n, scale, i = 7, 2.5, 3  # i and n mean something in the text of a kernel


def int_local(x):
    y = 0
    y += x
    return y


def float_local(x):
    y = 0.5
    y = y + x
    return y * n + i


def changed_parameter(x):
    for q in range(3):
        x = x + q * 0.5
    return x


def bound_changes(x):
    m = 2
    t = 0
    for _ in range(m):
        m = 5
        t += 1
    return t * x


def several_results(x):
    if x > 0:
        return 0
    return x


def both_branches(x):
    if x > 0:
        y = x
    else:
        y = 2
    return y


def numbers_and_functions(x):
    return math.pi * x + sine(x) + abs(x) * scale


def chained(x):
    return 0 < x < 2 and not x == 1.5


def divided(x):
    c = 1
    c = c / 2
    x = x / 2
    return c * x


def floored(x):
    return x // 2 + x % 2


def turns(x):
    while x < 10:
        x += 1
        if x > 5:
            break
        else:
            continue
    return x


def down(x):
    s = 0
    for j in range(10, 0, -3):
        s += j * x
    return s


def words(x):
    e = 1
    T = 2
    double = 3
    return e + T * x + double


def truth(x):
    b = False
    if x > 0:
        b = True
    return b


def counted(x):
    n = 0
    m = int(abs(x))
    while m > 0:
        m -= 1
        n += 1
    return n


ALIKE = [
    int_local, float_local, changed_parameter, bound_changes, several_results, both_branches, numbers_and_functions, chained,
    divided, floored, turns, down, words, truth, counted,
]  # fmt: skip


@pytest.mark.parametrize("x", [pc.Float([1.5, 2.5, -1]), pc.Int([1, 2, -3]), pc.Float64([1.5, 2.5, -1])], ids=repr)
@pytest.mark.parametrize("f", ALIKE, ids=lambda f: f.__name__)
def test_alike(f, x):
    got, expected = pc.kernel(f)(x).tolist(), [f(lane) for lane in x.tolist()]
    assert all(abs(a - b) <= 1e-5 * max(1, abs(b)) for a, b in zip(got, expected)), (got, expected)


def test_parameters():
    @pc.kernel
    def f(x, i, n=2):
        return x * i + n

    assert f(pc.Float([1, 2]), 3).tolist() == [5, 8] and f(pc.Float([1, 2]), 3, 0.5).tolist() == [3.5, 6.5]

    @pc.kernel
    def steps(x: int) -> int:
        n = 0
        while x > 1:
            if x % 2 == 0:
                x = x // 2
            else:
                x = 3 * x + 1
            n += 1
        return n

    assert steps(pc.Int32([1, 7, 10])).tolist() == [0, 16, 6]


def test_kernels_of_kernels():
    @pc.kernel
    def inner(x):
        return x * x + 1

    @pc.kernel
    def outer(x):
        return inner(x) * 2

    assert outer(pc.Float([1, 2])).tolist() == [4, 10]


def after_loop(x):
    for q in range(3):
        pass
    return q


def one_branch(x):
    if x > 0:
        y = x
    return y


def unknown(x):
    return elsewhere + x  # noqa: F821


def values_of_and(x):
    return x and 3


def two_names(x):
    a = b = x
    return a + b


def float_bound(x):
    for q in range(x):
        pass
    return x


def counter_is_local(x):
    for q in range(3):
        q = 9
    return x


def several_places(x, *y):
    return x


def a_list(x):
    return [x]


REFUSED = {
    after_loop: "`q` may have no value",
    one_branch: "`y` may have no value",
    unknown: "`elsewhere` has no value here",
    values_of_and: "x != 0",
    two_names: "one name to assign to",
    float_bound: "`x` as a bound",
    counter_is_local: "`q` counts a loop",
    several_places: "plain parameters",
    a_list: "got List",
}


@pytest.mark.parametrize("f", REFUSED, ids=lambda f: f.__name__)
def test_refused(f):
    with pytest.raises(SyntaxError, match=f"kernel {f.__name__}: .*line .*write the kernel as text") as refused:
        pc.kernel(f)
    assert REFUSED[f] in str(refused.value)


def test_no_source():
    names = {}
    exec("def f(x): return x", names)
    for f in (names["f"], lambda x: x):
        with pytest.raises(SyntaxError, match="made with def"):
            pc.kernel(f)
    with pytest.raises(TypeError, match="expected a text or a function"):
        pc.kernel(len)
