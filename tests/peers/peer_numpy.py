"""NumPy: no recording, no fusing, one thread."""

import numpy as np

import measure
from inputs import inputs, mixed, moments, sevenths

MULTIPLIER = np.uint64(0x5851F42D4C957F2D)
STATE = np.uint64(0x853C49E6748FEA9B)
STREAM = np.uint64(0xDA3E39CB94B95BDB)


def copy(n):
    [x] = inputs(n, 1)
    return lambda: x + np.float32(1), moments


def tanh(n):
    [x] = inputs(n, 1)
    return lambda: np.tanh(x + x), moments


def mem10(n):
    a, b, c = inputs(n, 3)

    def iterate():
        t = (a * b + c) * 0.5 - a
        t = np.maximum(t * t + b, c)
        return np.abs(t * 0.25 - c)

    return iterate, moments


class PCG32:
    def __init__(self, n):
        lane = np.arange(n, dtype=np.uint64)
        self.inc = ((lane + STREAM) << 1) | 1
        self.state = (self.inc + (lane + STATE)) * MULTIPLIER + self.inc

    def next_float32(self):
        state = self.state
        self.state = state * MULTIPLIER + self.inc
        mixed = (((state >> 18) ^ state) >> 27).astype(np.uint32)
        right = (state >> 59).astype(np.uint32)
        bits = (mixed >> right) | (mixed << (-right & 31))
        return ((bits >> 9) | 0x3F800000).view(np.float32) - 1


def sphere(n, rounds=1):
    def points(rng):
        x = rng.next_float32()
        y = rng.next_float32()
        z = rng.next_float32()
        return z * z + (y * y + x * x)

    def iterate():
        rng = PCG32(n)
        nearest = points(rng)
        for _ in range(1, rounds):
            nearest = np.minimum(nearest, points(rng))
        return np.count_nonzero(nearest < 1)

    return iterate, lambda inside: [int(inside)]


def cross(n):
    ax, ay, az, bx, by, bz = inputs(n, 6)

    def iterate():
        x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        length = np.sqrt(x * x + y * y + z * z + np.float32(1e-6))
        return x / length, y / length, z / length

    return iterate, lambda r: moments(r[0] + 2 * r[1] + 3 * r[2])


def blackscholes(n):
    a, b, c = inputs(n, 3)
    price, strike, years = 100 + 20 * a, 100 + 20 * b, np.float32(1.5) + c

    def below(d):
        k = 1 / (1 + 0.2316419 * abs(d))
        p = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
        w = 1 - 0.39894228 * np.exp(-0.5 * d * d) * p
        return np.where(d < 0, 1 - w, w)

    def iterate():
        spread = 0.2 * np.sqrt(years)
        d1 = (np.log(price / strike) + 0.07 * years) / spread
        return price * below(d1) - strike * np.exp(-0.05 * years) * below(d1 - spread)

    return iterate, lambda value: moments(value * np.float32(0.01))


def mandelbrot(n):
    a, im = inputs(n, 2)
    re = a - np.float32(0.5)

    def iterate():
        turns = np.zeros(n, np.uint32)
        lanes, x, y = np.arange(n), np.zeros(n, np.float32), np.zeros(n, np.float32)
        for _ in range(64):
            inside = x * x + y * y < 4
            lanes, x, y = lanes[inside], x[inside], y[inside]
            turns[lanes] += 1
            x, y = x * x - y * y + re[lanes], 2 * x * y + im[lanes]
        return turns

    return iterate, moments


def nbody(n):
    x, y, z = inputs(n, 3)

    def iterate():
        ax = ay = az = np.float32(0)
        for k in range(16):
            dx, dy, dz = k * 0.125 - 1 - x, k * 0.25 - 2 - y, 1 - k * 0.0625 - z
            r = 1 / np.sqrt(dx * dx + dy * dy + dz * dz + np.float32(0.01))
            f = r * r * r
            ax, ay, az = ax + dx * f, ay + dy * f, az + dz * f
        return ax, ay, az

    return iterate, lambda a: moments((a[0] + 2 * a[1] + 3 * a[2]) * np.float32(0.01))


def histogram(n, bins):
    weight, index = inputs(n, 1)[0] + np.float32(1.25), mixed(n) % np.uint32(bins)
    return lambda: np.bincount(index, weight, bins), lambda sums: moments(sums / (n / bins))


def gather(n):
    [source] = inputs(n, 1)
    index = np.argsort(mixed(n), kind="stable")
    return lambda: source[index], lambda y: moments(y * sevenths(n))


def scatter(n):
    [source] = inputs(n, 1)
    index = np.argsort(mixed(n), kind="stable")

    def iterate():
        y = np.zeros(n, np.float32)
        y[index] = source
        return y

    return iterate, lambda y: moments(y * sevenths(n))


def sort(n):
    x = (mixed(n) >> 8).astype(np.float32) / 16777216
    return lambda: np.sort(x), lambda y: moments(y * sevenths(n))


def psum(n):
    [x] = inputs(n, 1)
    return lambda: np.cumsum(x), lambda y: moments(y / np.float32(n))


def reduction(n, function):
    a, b = inputs(n, 2)
    return lambda: function(a, b), lambda value: [float(value) / n]


def sigmoid16(n):
    x = inputs(n, 1)[0].astype(np.float16)
    return lambda: (1 / (1 + np.exp(-x.astype(np.float32)))).astype(np.float16), moments


def loop(n):
    [x] = inputs(n, 1)

    def iterate():
        y = x
        for i in range(1000):
            y = y * np.float32(0.999) + np.float32(i * 0.001)
        return y

    return iterate, moments


def heat(n):
    [x] = inputs(n, 1)
    lane = np.arange(n)
    left, right = (lane + n - 1) % n, (lane + 1) % n

    def iterate():
        u = x
        for _ in range(10):
            u = u + np.float32(0.1) * (u[left] - 2 * u + u[right])
        return u

    return iterate, moments


def graph(n, operations):
    """Every value stays in memory, so only few operations."""
    [x] = inputs(n, 1)
    plan = measure.plan(operations)
    return lambda: measure.graph(x, plan), moments


if __name__ == "__main__":
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
        "sum": lambda n: reduction(n, lambda a, b: np.sum(a)),
        "dot": lambda n: reduction(n, np.dot),
        "min": lambda n: reduction(n, lambda a, b: np.min(a)),
        "sigmoid16": sigmoid16,
        "loop": loop,
        "heat": heat,
        "graph30": lambda n: graph(n, 30),
    }
    measure.main(f"NumPy {np.__version__}", works)
