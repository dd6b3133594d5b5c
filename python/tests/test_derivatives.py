"""Gradients of what broadcasts and of what is equal, and the forms in which they come."""

import pytest

import porcini as pc


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
