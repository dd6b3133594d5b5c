"""Points to try, and errors in ulp."""

import math

import numpy as np
from mpmath import mp, mpf

# Name of a type: NumPy's, bits of its significand, least exponent of a normal number.
TYPES = {"f16": (np.float16, 11, -14), "f32": (np.float32, 24, -126), "f64": (np.float64, 53, -1022)}


def points(row, name, n, seed):
    """n points, one array per argument: random bit patterns, intervals, and steps towards single points."""
    rng = np.random.default_rng(seed)
    arguments = [argument(places, row.reach, name, n, rng) for places in row.places]
    for column in arguments[1:]:
        rng.shuffle(column)
    return arguments


def argument(places, reach, name, n, rng):
    dtype, precision, _ = TYPES[name]
    kinds = [random_bits(dtype, reach, rng)]
    kinds += [interval(place, dtype, rng) if isinstance(place, tuple) else close(place, dtype, precision, rng) for place in places]
    share = -(-n // len(kinds))
    # Without -0, which the references do not know.
    return np.concatenate([kind(share) for kind in kinds])[:n] + dtype(0)


def random_bits(dtype, reach, rng):
    def draw(n):
        bits = rng.integers(0, 256, (4 * n + 8, np.dtype(dtype).itemsize), np.uint8)
        values = bits.view(dtype).ravel()
        with np.errstate(invalid="ignore"):
            values = values[np.isfinite(values) & (np.abs(values) < reach)]
        return values[:n]

    return draw


def interval(place, dtype, rng):
    most = float(np.finfo(dtype).max)
    return lambda n: rng.uniform(max(place[0], -most), min(place[1], most), n).astype(dtype)


def close(point, dtype, precision, rng):
    """The point itself, its neighbours, and points at distances of all orders."""

    def draw(n):
        distance = 2.0 ** -rng.uniform(1, 60 if point == 0 else precision + 1, n)
        values = (point + rng.choice([-1, 1], n) * distance * (abs(point) or 1)).astype(dtype)
        at = dtype(point)
        exact = [at, np.nextafter(at, dtype(9)), np.nextafter(at, dtype(-9))]
        values[: len(exact)] = exact[:n]
        return values

    return draw


def error(row, name, at, got):
    """Error in ulp of the true value (or of the row's size); infinite for a wrong special value."""
    _, precision, least = TYPES[name]
    with mp.workprec(2 * precision + 60):
        at = [mpf(float(x)) for x in at]
        want = reference(row, at)
        got = mpf(float(got))
        if mp.isnan(want) or mp.isnan(got):
            return 0.0 if mp.isnan(want) and mp.isnan(got) else math.inf
        if mp.isinf(want):
            return 0.0 if got == want else math.inf
        size = max(abs(want), abs(row.scale(*at))) if row.scale else abs(want)
        exponent = mp.frexp(size)[1] - 1 if size else least
        ulp = mp.ldexp(1, min(max(exponent, least), 1 - least) - precision + 1)
        # An infinity stands for the number that would follow the largest one, and so does what is beyond.
        beyond = mp.ldexp(1, 2 - least)
        got, want = (mp.sign(y) * min(abs(y), beyond) for y in (got, want))
        return float(abs(got - want) / ulp)


def reference(row, at):
    """The true value, NaN where there is none."""
    try:
        value = mp.mpmathify(row.function(*at))
    except (ValueError, ZeroDivisionError):
        return mp.nan
    return mp.nan if isinstance(value, mp.mpc) and value.imag else value.real
