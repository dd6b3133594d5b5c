"""Gradients of what broadcasts and of what is equal, and the forms in which they come."""

import dataclasses
import functools
import typing

import pytest

import porcini as pc


class Pair(typing.NamedTuple):
    a: object
    b: object


@dataclasses.dataclass(frozen=True)
class Model:
    w: object
    name: str = "m"


class Plain:
    def __init__(self, w):
        self.w = w


@pytest.mark.parametrize(
    ("y", "expected"), [([[2]], [[10]]), ([[2, 3]], [[4, 6]]), ([2, 3], [4, 6]), ([[2], [3]], [[8], [2]])]
)
def test_what_was_broadcast_to_a_tensor_has_the_sum(y, expected):
    product = pc.custom(lambda x, y: x * y, backward=lambda v, x, y: (v * y, v * x))
    x = pc.TensorXf([[3, 5], [1, 1]])
    assert pc.grad(product, argnums=1)(x, pc.TensorXf(y)).tolist() == expected


def test_what_was_broadcast_to_lanes_has_the_sum():
    product = pc.custom(lambda x, y: x * y, backward=lambda v, x, y: (v * y, v * x))
    assert pc.grad(product, argnums=1)(pc.Float([3, 5]), pc.Float(2)).tolist() == [8]


@pytest.mark.parametrize("extent", [3, 8, 20])
@pytest.mark.parametrize("extreme", [pc.max, pc.min])
def test_equal_entries_share_the_slope(extent, extreme):
    slope = pc.grad(lambda t: pc.sum(extreme(t, axis=1)))(pc.ones((2, extent)))
    assert (abs(slope - 1 / extent) < 1e-6).tolist() == [[True] * extent] * 2
    slope = pc.grad(lambda t: pc.sum(pc.ptp(t, axis=1)))(pc.ones((2, extent)))
    assert slope.tolist() == [[0] * extent] * 2


def test_named_tuples_stay_what_they_are():
    x = Pair(pc.Float([1, 2]), [pc.Float(3)])
    slope = pc.grad(lambda p: pc.sum(p.a * p.b[0]))(x)
    assert type(slope) is Pair and slope.a.tolist() == [3, 3] and slope.b[0].tolist() == [3]
    value, slope = pc.value_and_grad(lambda p: pc.sum(p.a * p.b[0]))(x)
    assert value.tolist() == [9] and type(slope) is Pair
    pair = pc.jit(lambda x: Pair(x * 2, x + 1))
    for k in (1, 2):
        found = pair(pc.Float([k]))
        assert type(found) is Pair and found.a.tolist() == [2 * k] and found.b.tolist() == [k + 1]
    end = pc.while_loop(Pair(pc.Int32(0), pc.Float(1)), lambda i, x: i < 3, lambda i, x: Pair(i + 1, x * 2))
    assert type(end) is Pair and end.b.tolist() == [8]
    assert pc.grad(pc.checkpoint(lambda p: p.a * p.a))(Pair(pc.Float(3), 1)).a.tolist() == [6]


def test_data_classes_are_trees():
    model = Model(pc.Float([1, 2]))
    slope = pc.grad(lambda m: pc.sum(m.w * m.w))(model)
    assert type(slope) is Model and slope.w.tolist() == [2, 4] and slope.name is None
    assert model.w.tolist() == [1, 2] and model.name == "m"
    f = pc.jit(lambda x: Model(x * 2, "made"))
    for k in (1, 2):
        found = f(pc.Float([k]))
        assert type(found) is Model and found.w.tolist() == [2 * k] and found.name == "made"
    end = pc.while_loop(Pair(pc.Int32(0), pc.Float(1)), lambda i, x: i < 2, lambda i, x: (i + 1, x * 2))
    assert end.b.tolist() == [4]


@dataclasses.dataclass
class Cached:
    x: object

    @functools.cached_property
    def n(self):
        return pc.sum(self.x * self.x)


@dataclasses.dataclass
class Computed:
    x: object

    def __post_init__(self):
        self.n = pc.sum(self.x * self.x)


def test_what_is_computed_from_fields_has_their_derivative():
    cached = Cached(pc.Float([1, 2]))
    assert cached.n.tolist() == [5]
    assert pc.grad(lambda c: c.n)(cached).x.tolist() == [2, 4]
    assert cached.n.tolist() == [5]
    with pytest.raises(TypeError, match="Computed, whose attribute n has arrays in it and is no field"):
        pc.grad(lambda c: c.n)(Computed(pc.Float([1, 2])))


@dataclasses.dataclass
class Settings:
    n: int
    index: object = None

    def __post_init__(self):
        self.table = pc.Float([1, 10]) * self.n


def test_what_objects_compute_is_no_matter_where_nothing_in_them_is_asked_by():
    x, settings, computed = pc.Float([1, 2]), Settings(3), Computed(pc.Float([1, 2]))

    def f(x, settings):
        return pc.sum(x * x * settings.table)

    assert pc.grad(f, 0)(x, settings).tolist() == [6, 120]
    slope, none = pc.grad(f)(x, settings)
    assert slope.tolist() == [6, 120] and none is None
    assert pc.grad(f)(x, Settings(1, pc.Int32([0])))[0].tolist() == [2, 40]
    assert pc.grad(lambda x, c: pc.sum(x * c.n * c.x), argnums=0)(x, computed).tolist() == [5, 10]
    assert pc.jacobian(lambda x, c: x * c[0].n, 0)(x, [computed]).tolist() == [[5, 0], [0, 5]]
    with pytest.raises(TypeError, match="Computed, whose attribute n has arrays in it and is no field"):
        pc.grad(lambda x, c: pc.sum(x * c.n))(x, computed)


def test_an_object_that_a_recorded_function_was_given_comes_back():
    @pc.jit
    def f(model):
        model.w[:] = model.w * 2
        return model

    for model in (Model(pc.Float([1, 2])), Plain(pc.Float([1, 2]))):
        for _ in range(2):
            assert f(model) is model
        assert model.w.tolist() == [4, 8]


def test_what_is_no_tree_is_named():
    with pytest.raises(TypeError, match="Plain.*has arrays in it; expected arrays and numbers"):
        pc.jit(lambda x: Plain(x * 2))(pc.Float([1, 2]))
    with pytest.raises(TypeError, match=r"grad: got \(.*Plain.*\), no arguments of floats"):
        pc.grad(lambda p: p.w)(Plain(pc.Float(1)))


def test_condition_numbers_have_the_same_bits_with_a_derivative():
    rng = pc.PCG32.seeded(9, 1)
    for _ in range(30):
        a = pc.TensorXf(rng.next_float32_normal(), [3, 3])
        b = a.copy()
        pc.enable_grad(b)
        assert bytes(pc.cond(a)) == bytes(pc.detach(pc.cond(b)))
    pc.backward(pc.cond(b))
    step = 1e-3 * pc.TensorXf(rng.next_float32_normal(), [3, 3])
    change = (pc.cond(a + step) - pc.cond(a - step)).item()
    slope = 2 * pc.sum(pc.gradient(b) * step).item()
    assert abs(change - slope) <= 0.05 * max(abs(slope), 1e-2)


def drawn(make, jit=False):
    """Values, gradients and states of a function that draws from a captured generator, an argument and the session."""
    pc.seed(3)
    g, r = pc.PCG32.seeded(8, 1), pc.PCG32.seeded(8, 2)
    masked = lambda g, x: pc.where(g.next_float32() < (0.5 if jit else pc.rand(8)), x * 2, 0)
    f = make(lambda x, r: masked(g, x) + masked(r, x))
    slope = pc.value_and_grad(lambda x: pc.sum(f(x, r)))
    slope = pc.jit(slope) if jit else slope
    found = [slope(pc.ones(8)) for _ in range(3)]
    forward = pc.jvp(lambda x: f(x, r), pc.ones(8), pc.ones(8))
    return str([found, forward, g.state, r.state, pc.rand(1)])


def test_what_is_computed_again_draws_the_same_again():
    for jit in (False, True):
        expected = drawn(lambda f: f, jit)
        assert drawn(pc.checkpoint, jit) == expected
        assert drawn(lambda f: pc.checkpoint(lambda x, r: pc.checkpoint(f)(x, r)), jit) == expected
        nested = lambda f: pc.checkpoint(lambda x, held: f(x, held["r"][0]))
        assert drawn(lambda f: lambda x, r: nested(f)(x, {"r": [r]}), jit) == expected


def test_functions_with_derivatives_move_generators_that_they_are_given():
    g, own = pc.PCG32.seeded(4, 1), pc.PCG32.seeded(4, 1)
    f = pc.custom(lambda x, given: x * given["g"].next_float32(), backward=lambda v, x, given: (v, None))
    for _ in range(2):
        assert f(pc.ones(4), {"g": g}).tolist() == own.next_float32().tolist()
    assert g.state.tolist() == own.state.tolist()


def test_a_recorded_function_sees_what_a_checkpoint_has_captured():
    held = {"w": pc.Float([1, 2])}
    f = pc.checkpoint(lambda x: x * held["w"])
    g = pc.jit(lambda x: f(x) + 1)
    assert g(pc.Float([1, 1])).tolist() == [2, 3]
    held["w"] = pc.Float([5, 6])
    assert g(pc.Float([1, 1])).tolist() == [6, 7]
