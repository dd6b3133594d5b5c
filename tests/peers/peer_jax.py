"""JAX, each work one jitted function, on the CPU. XLA takes as many threads as the process may use."""

import os

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np

import inputs as host
import measure
from inputs import mixed, moments, sevenths


def inputs(n, count):
    return [jnp.asarray(array) for array in host.inputs(n, count)]


def work(function, arguments, check=moments):
    compiled = jax.jit(function)
    return lambda: jax.block_until_ready(compiled(*arguments)), check


def copy(n):
    return work(lambda x: x + 1, inputs(n, 1))


def tanh(n):
    return work(lambda x: jnp.tanh(x + x), inputs(n, 1))


def mem10(n):
    def function(a, b, c):
        t = (a * b + c) * 0.5 - a
        t = jnp.maximum(t * t + b, c)
        return jnp.abs(t * 0.25 - c)

    return work(function, inputs(n, 3))


def cross(n):
    def function(ax, ay, az, bx, by, bz):
        x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        length = jnp.sqrt(x * x + y * y + z * z + 1e-6)
        return x / length, y / length, z / length

    return work(function, inputs(n, 6), lambda r: moments(r[0] + 2 * r[1] + 3 * r[2]))


def blackscholes(n):
    a, b, c = inputs(n, 3)

    def below(d):
        k = 1 / (1 + 0.2316419 * jnp.abs(d))
        p = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
        w = 1 - 0.39894228 * jnp.exp(-0.5 * d * d) * p
        return jnp.where(d < 0, 1 - w, w)

    def function(price, strike, years):
        spread = 0.2 * jnp.sqrt(years)
        d1 = (jnp.log(price / strike) + 0.07 * years) / spread
        return price * below(d1) - strike * jnp.exp(-0.05 * years) * below(d1 - spread)

    return work(function, [100 + 20 * a, 100 + 20 * b, 1.5 + c], lambda value: moments(value * 0.01))


def nbody(n):
    def function(x, y, z):
        ax = ay = az = 0
        for k in range(16):
            dx, dy, dz = k * 0.125 - 1 - x, k * 0.25 - 2 - y, 1 - k * 0.0625 - z
            r = 1 / jnp.sqrt(dx * dx + dy * dy + dz * dz + 0.01)
            f = r * r * r
            ax, ay, az = ax + dx * f, ay + dy * f, az + dz * f
        return ax, ay, az

    return work(function, inputs(n, 3), lambda a: moments((a[0] + 2 * a[1] + 3 * a[2]) * 0.01))


def histogram(n, bins):
    weight, index = inputs(n, 1)[0] + 1.25, jnp.asarray(mixed(n) % np.uint32(bins))
    sums = lambda weight, index: jnp.zeros(bins, jnp.float32).at[index].add(weight)
    return work(sums, [weight, index], lambda sums: moments(sums / (n / bins)))


def permutation(n):
    return jnp.asarray(np.argsort(mixed(n), kind="stable").astype(np.uint32))


def gather(n):
    arguments = [*inputs(n, 1), permutation(n)]
    return work(lambda source, index: source[index], arguments, lambda y: moments(y * sevenths(n)))


def scatter(n):
    arguments = [*inputs(n, 1), permutation(n)]
    function = lambda source, index: jnp.zeros(n, jnp.float32).at[index].set(source)
    return work(function, arguments, lambda y: moments(y * sevenths(n)))


def sort(n):
    x = jnp.asarray((mixed(n) >> 8).astype(np.float32) / 16777216)
    return work(jnp.sort, [x], lambda y: moments(y * sevenths(n)))


def psum(n):
    return work(jnp.cumsum, inputs(n, 1), lambda y: moments(y / n))


def reduction(n, function):
    return work(function, inputs(n, 2), lambda value: [float(value) / n])


def sigmoid16(n):
    function = lambda x: (1 / (1 + jnp.exp(-x.astype(jnp.float32)))).astype(jnp.float16)
    return work(function, [inputs(n, 1)[0].astype(jnp.float16)])


if __name__ == "__main__":
    works = {
        "copy": copy,
        "tanh": tanh,
        "mem10": mem10,
        "cross": cross,
        "blackscholes": blackscholes,
        "nbody": nbody,
        "histogram10": lambda n: histogram(n, 10),
        "histogram1024": lambda n: histogram(n, 1024),
        "histogram1e6": lambda n: histogram(n, 1_000_000),
        "gather": gather,
        "scatter": scatter,
        "sort": sort,
        "psum": psum,
        "sum": lambda n: reduction(n, lambda a, b: jnp.sum(a)),
        "dot": lambda n: reduction(n, jnp.dot),
        "min": lambda n: reduction(n, lambda a, b: jnp.min(a)),
        "sigmoid16": sigmoid16,
    }
    measure.main(f"JAX {jax.__version__}", works)
