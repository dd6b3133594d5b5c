"""Writes complex.txt: values of the complex elementary functions in binary64, from the C library.

Points in all quadrants, near 0 and the singular points, and on both sides of every branch cut, where the sign
of the zero part says which side is meant (Kahan 1987).
Lines: function, real and imaginary part of the argument and of the value.
"""

import cmath
import itertools

FUNCTIONS = "exp log sqrt sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh".split()
PARTS = [0.0, 0.3, 1.0, 2.5, 7.0]
EXTRA = [(1e-5, 2e-6), (-1e-9, 1e-3), (0.999, 1e-4), (-1.001, -1e-4), (1e-4, 1.001), (40.0, 3.0), (-300.0, 0.5)]


def value(function, z):
    try:
        return getattr(cmath, function)(z)
    except (ValueError, OverflowError):
        return None


signed = [sign * part for part in PARTS for sign in (1, -1)]
points = list(itertools.product(signed, signed)) + EXTRA
with open("complex.txt", "w") as out:
    for function in FUNCTIONS:
        for re, im in points:
            w = value(function, complex(re, im))
            if w is None or not cmath.isfinite(w):
                continue
            out.write(f"{function} {re!r} {im!r} {w.real!r} {w.imag!r}\n")
