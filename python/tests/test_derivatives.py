"""Derivatives as users of JAX and PyTorch ask for them."""

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
    with pytest.raises(ValueError, match="argnums=2"):
        pc.grad(f, 2)(x, y)
