"""numexpr: one expression at a time, interpreted in blocks; mathematical functions without VML."""

import numexpr
import numpy as np

import measure
from inputs import inputs, moments

# As arrays of one lane: numbers in the text would make everything float64.
NUMBERS = {"half": np.float32(0.5), "quarter": np.float32(0.25)}


def tanh(n):
    [x] = inputs(n, 1)
    return lambda: numexpr.evaluate("tanh(x + x)", {"x": x}), moments


def mem10(n):
    a, b, c = inputs(n, 3)

    def iterate():
        arrays = {"a": a, "b": b, "c": c, **NUMBERS}
        arrays["t"] = numexpr.evaluate("(a * b + c) * half - a", arrays)
        arrays["t"] = numexpr.evaluate("t * t + b", arrays)
        return numexpr.evaluate("abs(where(t > c, t, c) * quarter - c)", arrays)

    return iterate, moments


def reduction(n, text):
    a, b = inputs(n, 2)
    return lambda: numexpr.evaluate(text, {"a": a, "b": b}), lambda value: [float(value) / n]


if __name__ == "__main__":
    numexpr.set_num_threads(measure.threads())
    works = {
        "tanh": tanh,
        "mem10": mem10,
        "sum": lambda n: reduction(n, "sum(a)"),
        "dot": lambda n: reduction(n, "sum(a * b)"),
        "min": lambda n: reduction(n, "min(a)"),
    }
    measure.main(f"numexpr {numexpr.__version__}", works)
