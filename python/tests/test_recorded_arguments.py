"""Arguments of functions that are recorded, and of those that record, as JAX and Dr.Jit have them."""

import dataclasses
import enum
import gc
import typing
import weakref

import pytest

import porcini as pc


@dataclasses.dataclass(frozen=True)
class Options:
    scale: float


@pytest.mark.parametrize("which", [{"static_argnums": 1}, {"static_argnums": (-1,)}, {"static_argnames": "options"}])
def test_equal_static_arguments_have_one_recording(which):
    f = pc.jit(lambda x, options: x * options.scale, **which)
    for _ in range(3):
        assert f(pc.Float([1, 2]), Options(2.0)).tolist() == [2, 4]
    assert f.n_recordings == 1
    assert f(pc.Float([1, 2]), Options(3.0)).tolist() == [3, 6]
    assert f.n_recordings == 2


def test_static_arguments_by_name():
    f = pc.jit(lambda x, options: x * options.scale, static_argnames=["options"])
    for _ in range(2):
        assert f(pc.Float([1, 2]), options=Options(2.0)).tolist() == [2, 4]
    assert f.n_recordings == 1


def test_numbers_of_several_types_are_apart():
    f = pc.jit(lambda x, n: x * n, static_argnums=1)
    assert type(f(pc.Int32([1, 2]), 2)) is pc.Int32
    assert type(f(pc.Int32([1, 2]), 2.0)) is pc.Float
    with pytest.raises(TypeError, match="static argument, expected what has a hash"):
        f(pc.Float([1]), [2])


def test_equal_numbers_that_are_not_the_same_are_apart():
    f = pc.jit(lambda x, s: pc.copysign(x, s), static_argnums=1)
    assert f(pc.Float([1, 2]), 0.0).tolist() == [1, 2] and f(pc.Float([1, 2]), -0.0).tolist() == [-1, -2]
    f = pc.jit(lambda x, s: x * s[0], static_argnums=1)
    assert type(f(pc.Int32([3]), (1,))) is pc.Int32 and type(f(pc.Int32([3]), (1.0,))) is pc.Float
    f = pc.jit(lambda x, options: x * options[0].scale, static_argnums=1)
    for _ in range(3):
        assert f(pc.Float([1, 2]), (Options(2.0), "text", None)).tolist() == [2, 4]
    assert f.n_recordings == 1


def test_static_arguments_are_forgotten():
    f = pc.jit(lambda x, options: x * options.scale, static_argnums=1)
    many = [Options(float(k)) for k in range(300)]
    met = [weakref.ref(options) for options in many]
    for options in many:
        f(pc.Float([1]), options)
    del many, options
    gc.collect()
    assert sum(each() is not None for each in met) == 256
    f.clear()
    gc.collect()
    assert not any(each() for each in met)
    assert f(pc.Float([1, 2]), Options(2.0)).tolist() == [2, 4]


def test_decorators_with_arguments():
    @pc.jit()
    def f(x):
        return x * 2

    @pc.freeze(auto_opaque=True, limit=4)
    def g(x):
        return x + 1

    assert f(pc.Float([1])).tolist() == [2] and g(pc.Float([1])).tolist() == [2]
    assert f.n_recordings == 1 and f.__name__ == "f"
    with pytest.raises(TypeError, match="got static=.., expected static_argnums"):
        pc.jit(lambda x: x, static=1)


def test_what_means_nothing_is_taken():
    x = pc.Float([-4, 9])
    found = pc.if_stmt((x,), x > 0, lambda x: x, lambda x: -x, arg_labels=("x",), rv_labels=("y",), mode="symbolic")
    assert found.tolist() == [4, 9]
    assert pc.switch(pc.UInt32([0, 1]), [lambda x: x, lambda x: x * 2], x, mode="symbolic").tolist() == [-4, 18]
    found = pc.while_loop((x,), lambda x: x < 0, lambda x: x + 1, strict=True, compress=False)
    assert found[0].tolist() == [0, 9]


def test_custom_functions_take_names():
    product = pc.custom(lambda x, y, k=1: x * y * k, backward=lambda v, x, y, k=1: (v * y * k, v * x * k, None)[: 2 + (k != 1)])
    assert product(y=pc.Float(3), x=pc.Float(2)).tolist() == [6]
    assert pc.grad(lambda x: product(x, y=pc.Float(3)))(pc.Float(2)).tolist() == [3]
    assert pc.grad(lambda x: product(x, k=2, y=pc.Float(3)))(pc.Float(2)).tolist() == [6]
    assert pc.grad(lambda x: pc.checkpoint(lambda x, n: x**n)(x, n=2))(pc.Float(3)).tolist() == [6]
    powers = pc.custom(lambda x, k=2.0, y=1.0, *, z=0: x * k * y, backward=lambda v, x, k, y: (v * k * y, None, None))
    assert powers(pc.Float(3), y=4.0).tolist() == [24]
    assert pc.grad(lambda x: powers(x, y=4.0))(pc.Float(3)).tolist() == [8]
    with pytest.raises(TypeError, match="z=.., which the function takes by name alone"):
        powers(pc.Float(3), y=4.0, z=1)
    with pytest.raises(TypeError, match="by name alone"):
        pc.custom(lambda x, *, k: x, backward=lambda v, x: v)(pc.Float(1), k=2)


def test_components_of_arguments_come_back():
    f = pc.jit(lambda v: (v.y, [v.xy]))
    for k in (1, 2):
        y, [both] = f(pc.Vector3f(k, [k, 2 * k], 3))
        assert y.tolist() == [k, 2 * k] and both.x.tolist() == [k]

    @pc.jit
    def doubled(v):
        y = v.y
        y[:] = y * 2
        return y

    for k in (1, 2):
        v = pc.Vector2f(1, k)
        assert doubled(v).tolist() == [2 * k] and v.y.tolist() == [2 * k]


class Doubled(pc.Float):
    def changed(self):
        return self * 2


class Tripled(pc.Float):
    def changed(self):
        return self * 3


class First(typing.NamedTuple):
    a: object
    b: object


class Second(typing.NamedTuple):
    b: object
    a: object


class Sums(list):
    def changed(self):
        return self[0] + 1


class Products(list):
    def changed(self):
        return self[0] * 10


class Scaled(pc.Vector2f):
    __slots__ = ("scale",)


@dataclasses.dataclass(slots=True)
class Weights:
    w: object
    k: float


def test_classes_are_told_apart():
    f = pc.jit(lambda x: x.changed())
    for _ in range(2):
        assert f(Doubled([1, 2])).tolist() == [2, 4] and f(Tripled([1, 2])).tolist() == [3, 6]
        assert f(Sums([pc.Float([2])])).tolist() == [3] and f(Products([pc.Float([2])])).tolist() == [20]
    assert f.n_recordings == 4
    f = pc.jit(lambda pair: pair.a - pair.b)
    for _ in range(2):
        assert f(First(pc.Float([5]), pc.Float([3]))).tolist() == [2]
        assert f(Second(pc.Float([5]), pc.Float([3]))).tolist() == [-2]


class Once(enum.IntEnum):
    ONE = 1

    def of(self, x):
        return x * 2


class Twice(enum.IntEnum):
    ONE = 1

    def of(self, x):
        return x * 3


def test_classes_of_numbers_are_told_apart():
    f = pc.jit(lambda x, k: k.of(x))
    for _ in range(2):
        assert f(pc.Float([1]), Once.ONE).tolist() == [2] and f(pc.Float([1]), Twice.ONE).tolist() == [3]
    assert f.n_recordings == 2
    np = pytest.importorskip("numpy")
    f = pc.jit(lambda k: pc.array([k, k]))
    assert type(f(np.float64(2))) is pc.Float64 and type(f(2.0)) is pc.Float


def test_attributes_in_slots_are_seen():
    f = pc.jit(lambda v: v.x * v.scale)
    v = Scaled(3, 4)
    for scale in (2.0, 5.0):
        v.scale = scale
        assert f(v).tolist() == [3 * scale]
    f = pc.jit(lambda p: p.w * p.k)
    weights = Weights(pc.Float([1, 2]), 2.0)
    assert f(weights).tolist() == [2, 4]
    weights.k = 3.0
    assert f(weights).tolist() == [3, 6]
    weights.w = pc.Float([4, 5])
    assert f(weights).tolist() == [12, 15]


def test_objects_that_go_may_ask_the_function():
    class Last:
        def __init__(self, f):
            self.f = f

        def __del__(self):
            asked.append(self.f.n_recordings)

    asked = []
    f = pc.jit(lambda x, last: x * 2)
    for _ in range(17):
        f(pc.Float([1]), Last(f))
    assert asked == [16]
    f.clear()
    assert asked == [16] + [0] * 16


def test_a_recorded_gradient_sees_what_its_function_reaches():
    factor = 2.0
    f = pc.jit(pc.grad(lambda x: pc.sum(x * x * factor)))
    assert f(pc.Float([1, 2])).tolist() == f(pc.Float([1, 2])).tolist() == [4, 8] and f.n_recordings == 1
    factor = 3.0
    assert f(pc.Float([1, 2])).tolist() == [6, 12] and f.n_recordings == 2
