"""Porcini's Python package: what its front end costs beside scripts, and how it compares with other libraries of Python."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "python"))

import numpy as np
import porcini as pc
from porcini import PCG32, Float, Float16, Float64, UInt32, UInt64, Vector3f

import measure


def evaluated(array):
    pc.eval(array)
    pc.sync()
    return array


def inputs(n, count):
    lane = pc.arange(UInt32, n)
    return [evaluated(Float(lane * (number + 1) % 640) / 256 - 1.25) for number in range(count)]


def mixed(n):
    x = pc.arange(UInt32, n) * 2654435761
    x = (x ^ (x >> 15)) * 2246822519
    return evaluated(x ^ (x >> 13))


def sevenths(n):
    """Weights that tell lanes apart."""
    return Float(pc.arange(UInt32, n) % 7)


def moments(array):
    array = Float64(array)
    return [float(pc.mean(array)), float(pc.mean(array * array))]


def copy(n):
    [x] = inputs(n, 1)
    return lambda: evaluated(x + 1), moments


def tanh(n):
    [x] = inputs(n, 1)
    return lambda: evaluated(pc.tanh(x + x)), moments


def mem10(n):
    a, b, c = inputs(n, 3)

    def iterate():
        t = (a * b + c) * 0.5 - a
        t = pc.max(t * t + b, c)
        return evaluated(abs(t * 0.25 - c))

    return iterate, moments


def sphere(n, rounds=1):
    def points(rng):
        x, y, z = rng.next_float32(), rng.next_float32(), rng.next_float32()
        return pc.fma(z, z, pc.fma(y, y, x * x))

    def iterate():
        lane = pc.arange(UInt64, n)
        rng = PCG32(lane + pc.PCG32_DEFAULT_STATE, lane + pc.PCG32_DEFAULT_STREAM)
        nearest = points(rng)
        for _ in range(1, rounds):
            nearest = pc.min(nearest, points(rng))
        return int(pc.count(nearest < 1))

    return iterate, lambda inside: [inside]


def cross(n):
    of = inputs(n, 6)
    v, w = Vector3f(*of[:3]), Vector3f(*of[3:])

    def iterate():
        t = pc.cross(v, w)
        return evaluated(t / pc.sqrt(pc.dot(t, t) + 1e-6))

    return iterate, lambda r: moments(r.x + 2 * r.y + 3 * r.z)


def blackscholes(n):
    a, b, c = inputs(n, 3)
    price, strike, years = evaluated(100 + 20 * a), evaluated(100 + 20 * b), evaluated(1.5 + c)

    def below(d):
        k = 1 / (1 + 0.2316419 * abs(d))
        p = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
        w = 1 - 0.39894228 * pc.exp(-0.5 * d * d) * p
        return pc.select(d < 0, 1 - w, w)

    def iterate():
        spread = 0.2 * pc.sqrt(years)
        d1 = (pc.log(price / strike) + 0.07 * years) / spread
        return evaluated(price * below(d1) - strike * pc.exp(-0.05 * years) * below(d1 - spread))

    return iterate, lambda value: moments(value * 0.01)


def mandelbrot(n):
    a, im = inputs(n, 2)
    re = evaluated(a - 0.5)

    def iterate():
        _, _, turns = pc.while_loop(
            (pc.zeros(Float, n), pc.zeros(Float, n), pc.zeros(UInt32, n)),
            lambda x, y, turn: (x * x + y * y < 4) & (turn < 64),
            lambda x, y, turn: (x * x - y * y + re, 2 * x * y + im, turn + 1),
        )
        return evaluated(turns)

    return iterate, moments


def nbody(n):
    x, y, z = inputs(n, 3)

    def iterate():
        ax, ay, az = Float(0), Float(0), Float(0)
        for k in range(16):
            dx, dy, dz = k * 0.125 - 1 - x, k * 0.25 - 2 - y, 1 - k * 0.0625 - z
            r = 1 / pc.sqrt(dx * dx + dy * dy + dz * dz + 0.01)
            f = r * r * r
            ax, ay, az = ax + dx * f, ay + dy * f, az + dz * f
        return evaluated(Vector3f(ax, ay, az))

    return iterate, lambda a: moments((a.x + 2 * a.y + 3 * a.z) * 0.01)


def histogram(n, bins):
    weight, index = evaluated(inputs(n, 1)[0] + 1.25), evaluated(mixed(n) % bins)

    def iterate():
        sums = pc.zeros(Float, bins)
        pc.scatter_add(sums, weight, index)
        return evaluated(sums)

    return iterate, lambda sums: moments(sums / (n / bins))


def permutation(n):
    return UInt32(np.argsort(np.asarray(mixed(n)), kind="stable").astype(np.uint32))


def gather(n):
    [source], index = inputs(n, 1), permutation(n)
    return lambda: evaluated(pc.gather(source, index)), lambda y: moments(y * sevenths(n))


def scatter(n):
    [source], index = inputs(n, 1), permutation(n)

    def iterate():
        y = pc.zeros(Float, n)
        pc.scatter(y, source, index)
        return evaluated(y)

    return iterate, lambda y: moments(y * sevenths(n))


def sort(n):
    x = evaluated(Float(mixed(n)))
    return lambda: evaluated(pc.sort(x)), lambda y: moments(y * sevenths(n) / 2**32)


def psum(n):
    [x] = inputs(n, 1)
    return lambda: evaluated(pc.cumsum(x)), lambda y: moments(y / n)


def reduction(n, function):
    a, b = inputs(n, 2)
    return lambda: float(function(a, b)), lambda value: [value / n]


def sigmoid16(n):
    x = evaluated(Float16(inputs(n, 1)[0]))
    return lambda: evaluated(Float16(1 / (1 + pc.exp(-Float(x))))), moments


def loop(n):
    [x] = inputs(n, 1)

    def iterate():
        y = x
        for i in range(1000):
            y = y * 0.999 + pc.opaque(Float, i * 0.001)
            pc.eval(y)
        return evaluated(y)

    return iterate, moments


def heat(n):
    [x] = inputs(n, 1)
    lane = pc.arange(UInt32, n)
    left, right = evaluated((lane + (n - 1)) % n), evaluated((lane + 1) % n)

    def iterate():
        u = x
        for _ in range(10):
            u = u + 0.1 * (pc.gather(u, left) - 2 * u + pc.gather(u, right))
            pc.eval(u)
        return evaluated(u)

    return iterate, moments


def graph(n, operations):
    [x] = inputs(n, 1)
    plan = measure.plan(operations)
    return lambda: evaluated(measure.graph(x, plan)), moments


if __name__ == "__main__":
    pc.init(threads=measure.threads(), device=measure.device() or "cpu")
    inputs(16, 1)  # opens the device, which is not part of a work's first iteration
    works = {
        "copy": copy,
        "tanh": tanh,
        "mem10": mem10,
        "sphere": sphere,
        "sphere4": lambda n: sphere(n, 4),
        "cross": cross,
        "blackscholes": blackscholes,
        "mandelbrot": mandelbrot,
        "nbody": nbody,
        "histogram10": lambda n: histogram(n, 10),
        "histogram1024": lambda n: histogram(n, 1024),
        "histogram1e6": lambda n: histogram(n, 1_000_000),
        "gather": gather,
        "scatter": scatter,
        "sort": sort,
        "psum": psum,
        "sum": lambda n: reduction(n, lambda a, b: pc.sum(a)),
        "dot": lambda n: reduction(n, pc.dot),
        "min": lambda n: reduction(n, lambda a, b: pc.min(a)),
        "sigmoid16": sigmoid16,
        "loop": loop,
        "heat": heat,
        "graph30": lambda n: graph(n, 30),
        "graph1000": lambda n: graph(n, 1000),
        "graph10000": lambda n: graph(n, 10_000),
        "graph100000": lambda n: graph(n, 100_000),
        "graph1000000": lambda n: graph(n, 1_000_000),
    }
    measure.main(f"Python package, {pc.device()}", works)
