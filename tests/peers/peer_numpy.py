"""NumPy: no recording, no fusing, one thread."""

import numpy as np

import measure

MULTIPLIER = np.uint64(0x5851F42D4C957F2D)
STATE = np.uint64(0x853C49E6748FEA9B)
STREAM = np.uint64(0xDA3E39CB94B95BDB)


def inputs(n, count):
    lane = np.arange(n, dtype=np.uint32)
    return [(lane * (number + 1) % 640).astype(np.float32) / 256 - np.float32(1.25) for number in range(count)]


def moments(array):
    array = array.astype(np.float64)
    return [float(np.mean(array)), float(np.mean(array * array))]


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


if __name__ == "__main__":
    works = {"tanh": tanh, "mem10": mem10, "sphere": sphere, "sphere4": lambda n: sphere(n, 4)}
    measure.main(f"NumPy {np.__version__}", works)
