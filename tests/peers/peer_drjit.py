"""Dr.Jit's LLVM backend."""

import drjit as dr
from drjit.llvm import PCG32, Float, Float64, UInt32

import measure


def evaluated(array):
    dr.eval(array)
    dr.sync_thread()
    return array


def inputs(n, count):
    lane = dr.arange(UInt32, n)
    return [evaluated(Float(lane * (number + 1) % 640) / 256 - 1.25) for number in range(count)]


def moments(array):
    array = Float64(array)
    return [dr.mean(array)[0], dr.mean(array * array)[0]]


def tanh(n):
    [x] = inputs(n, 1)
    return lambda: evaluated(dr.tanh(x + x)), moments


def mem10(n):
    a, b, c = inputs(n, 3)

    def iterate():
        t = (a * b + c) * 0.5 - a
        t = dr.maximum(t * t + b, c)
        return evaluated(dr.abs(t * 0.25 - c))

    return iterate, moments


def sphere(n, rounds=1):
    def points(rng):
        x = rng.next_float32()
        y = rng.next_float32()
        z = rng.next_float32()
        return dr.fma(z, z, dr.fma(y, y, x * x))

    def iterate():
        rng = PCG32(size=n)  # seeds lane i with both defaults plus i
        nearest = points(rng)
        for _ in range(1, rounds):
            nearest = dr.minimum(nearest, points(rng))
        return dr.count(nearest < 1)[0]

    return iterate, lambda inside: [inside]


if __name__ == "__main__":
    dr.set_thread_count(measure.threads())
    inputs(16, 1)  # loads LLVM, which is not part of a work's first iteration
    llvm = ".".join(map(str, dr.detail.llvm_version()))
    works = {"tanh": tanh, "mem10": mem10, "sphere": sphere, "sphere4": lambda n: sphere(n, 4)}
    measure.main(f"Dr.Jit {dr.__version__}, LLVM {llvm}", works)
