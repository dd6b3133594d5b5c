#!/usr/bin/env python3
"""Fits the polynomials of `core/src/trace/special/` and prints them as Rust constants.

Each is the polynomial of least relative error, found by Remez' exchange in 300-bit arithmetic, its coefficients
then rounded to the type. `fit.py` prints all, `fit.py ERF GAMMA` those whose name contains one of the words.
The comment behind a name is the error before rounding, as a power of two.
"""

import struct
import sys

from mpmath import mp, mpf

mp.prec = 300


def remez(function, low, high, basis, steps=7):
    """Coefficients c such that |sum of c[k] basis[k] / function - 1| is least on [low, high]; that error."""
    n = len(basis) + 1
    fine = 16 * n
    middle, radius = (mpf(low) + mpf(high)) / 2, (mpf(high) - mpf(low)) / 2
    grid = [middle - radius * mp.cos(mp.pi * i / fine) for i in range(fine + 1)]
    rows = []
    for x in grid:
        y = function(x)
        rows.append([b(x) / y for b in basis])
    places = [i * fine // (n - 1) for i in range(n)]
    for _ in range(steps):
        system = mp.matrix(n, n)
        for row, place in enumerate(places):
            for k, value in enumerate(rows[place]):
                system[row, k] = value
            system[row, n - 1] = (-1) ** row
        solution = list(mp.lu_solve(system, mp.ones(n, 1)))[:-1]
        errors = [mp.fdot(solution, row) - 1 for row in rows]
        places = extrema(errors, n)
    return solution, max(abs(error) for error in errors)


def in_turn(function, low, high, degree, width):
    """Coefficients rounded to the type one after the other, each time fitting the others anew (least squares of
    the relative error): they make up for what rounding the first ones has changed."""
    n = degree + 1
    n_places = max(2 * n, 40)
    middle, radius = (mpf(low) + mpf(high)) / 2, (mpf(high) - mpf(low)) / 2
    places = [middle + radius * mp.cos(mp.pi * (2 * i + 1) / (2 * n_places)) for i in range(n_places)]
    rows = [[x**k / function(x) for k in range(n)] for x in places]
    known = []
    for k in range(n):
        rest = mp.matrix([[row[j] for j in range(k, n)] for row in rows])
        wanted = mp.matrix([1 - mp.fdot(known, row[:k]) for row in rows])
        first = mp.lu_solve(rest.T * rest, rest.T * wanted)[0]
        known.append(mpf(rounded(first, width)))
    return known, max(abs(mp.fdot(known, row) - 1) for row in rows)


def rounded(x, width):
    return float(x) if width == 64 else struct.unpack("f", struct.pack("f", float(x)))[0]


def extrema(errors, n):
    """Places of n alternating extrema: the largest of each run of one sign, without the lesser end."""
    runs = []
    for i, error in enumerate(errors):
        if runs and (errors[runs[-1]] > 0) == (error > 0):
            if abs(error) > abs(errors[runs[-1]]):
                runs[-1] = i
        else:
            runs.append(i)
    while len(runs) > n:
        runs.pop(0 if abs(errors[runs[0]]) < abs(errors[runs[-1]]) else -1)
    if len(runs) < n:
        raise ArithmeticError(f"{len(runs)} extrema, not {n}: lower the degree")
    return runs


def powers(degree):
    return [lambda x, k=k: x**k for k in range(degree + 1)]


def absolute(degree):
    """A fit of least absolute error of what is below 2: one of least relative error of 2 more."""

    def fit(function, low, high):
        coefficients, error = remez(lambda x: function(x) + 2, low, high, powers(degree))
        return [coefficients[0] - 2] + coefficients[1:], error

    return fit


def with_logarithm(degree, first):
    """x^k, then -x^k log x from k = first on, for k up to the degree."""
    plain = powers(degree)
    return plain + [lambda x, k=k: -(x**k) * mp.log(x) for k in range(first, degree + 1)]


# ---- the functions that are approximated ----


def erf_near(u):
    """erf x / x of u = x²."""
    x = mp.sqrt(u)
    return mp.erf(x) / x if x else 2 / mp.sqrt(mp.pi)


def erfcx(x):
    """exp x² erfc x."""
    return mp.exp(x * x) * mp.erfc(x)


def erfc_far(t):
    """(3 + x) exp x² erfc x of t = (x - 3) / (x + 3)."""
    x = 3 * (1 + t) / (1 - t)
    return (3 + x) * erfcx(x)


def erfinv(w):
    """erfinv x / x of w = -log(1 - x²)."""
    if not w:
        return mp.sqrt(mp.pi) / 2
    x = mp.sqrt(-mp.expm1(-w))
    rest = mp.exp(-w) / (1 + x)
    y = mp.sqrt(w) * (1 - mp.log(4 + w) / (4 + 2 * w))
    for _ in range(60):
        c = erfcx(y)
        step = (mp.log(c) - y * y - mp.log(rest)) * c * mp.sqrt(mp.pi) / 2
        y += step
        if abs(step) < y * mpf(2) ** -150:
            return y / x
    raise ArithmeticError(f"no inverse at {w}")


def erfinv_of_square(u):
    """erfinv x / x of u = x²."""
    return erfinv(-mp.log1p(-u))


def gamma_near(d):
    """log gamma(2 + d) / d."""
    if abs(d) < mpf(2) ** -60:
        return 1 - mp.euler + d * (mp.zeta(2) - 1) / 2
    return mp.loggamma(2 + d).real / d


def stirling(u):
    """x times what Stirling's formula lacks to log gamma x, of u = 1/x²."""
    if u < mpf(2) ** -60:
        return mpf(1) / 12 - u / 360
    x = 1 / mp.sqrt(u)
    half = mpf(1) / 2
    return x * (mp.loggamma(x).real - ((x - half) * mp.log(x) - x + mp.log(2 * mp.pi) / 2))


def sinc(u):
    """sin(pi r) / (pi r) of u = r²."""
    return mp.sincpi(mp.sqrt(u))


PSI_ZERO = mp.findroot(mp.digamma, mpf("1.4616321449683623"))


def psi_near(t):
    """psi x / (x - its zero) of t = x - 7/4."""
    d = t + mpf(7) / 4 - PSI_ZERO
    if abs(d) < mpf(2) ** -60:
        return mp.psi(1, PSI_ZERO) + d * mp.psi(2, PSI_ZERO) / 2
    return mp.digamma(PSI_ZERO + d) / d


def psi_far(u):
    """x² times what log x - 1/(2x) exceeds psi x by, of u = 1/x²."""
    if u < mpf(2) ** -60:
        return mpf(1) / 12 - u / 120
    x = 1 / mp.sqrt(u)
    return (mp.log(x) - mp.digamma(x)) / u - x / 2


def cotangent(u):
    """pi r cot(pi r) (1 - r²) / (1 - 4 r²) of u = r²."""
    if u < mpf(2) ** -120:
        return mpf(1)
    if abs(u - mpf(1) / 4) < mpf(2) ** -120:
        return 3 * mp.pi**2 / 32
    r = mp.sqrt(u)
    return mp.pi * r * mp.cospi(r) / mp.sinpi(r) * (1 - u) / (1 - 4 * u)


def bessel_near(order):
    """I0 x, or I1 x / x, of u = x²."""
    return lambda u: mp.besseli(order, mp.sqrt(u)) / mp.sqrt(u) ** order if u else mpf(1) / (1 + order)


def bessel_far(order):
    """sqrt x exp(-x) I x of v = 1/x."""
    m = 4 * order * order - 1

    def value(v):
        if v < mpf(2) ** -40:
            return (1 - m * v / 8 + m * (m - 8) * v * v / 128) / mp.sqrt(2 * mp.pi)
        return mp.besseli(order, 1 / v) * mp.exp(-1 / v) / mp.sqrt(v)

    return value


def dawson(x):
    return x * mp.exp(-x * x) * mp.hyp1f1(0.5, 1.5, x * x)


def dawson_near(d):
    """dawson x / x of d = x² - 9/2."""
    x = mp.sqrt(d + mpf(9) / 2)
    return dawson(x) / x if x else mpf(1)


def dawson_middle(centre):
    return lambda d: dawson(centre + d)


def dawson_far(v):
    """2 x dawson x of v = 1/x²."""
    return 1 + v / 2 + 3 * v * v / 4 if v < mpf(2) ** -100 else 2 / mp.sqrt(v) * dawson(1 / mp.sqrt(v))


def dawson_slope(v):
    """x² (2 x dawson x - 1) of v = 1/x²."""
    return mpf(1) / 2 + 3 * v / 4 + 15 * v * v / 8 if v < mpf(2) ** -60 else (dawson_far(v) - 1) / v


def bessel_gap(v):
    """x sqrt x exp(-x) (I0 x - I1 x) of v = 1/x."""
    if v < mpf(2) ** -60:
        return (1 + 3 * v / 8) / (2 * mp.sqrt(2 * mp.pi))
    return (bessel_far(0)(v) - bessel_far(1)(v)) / v


def oscillating_near(order):
    """J0 x, or J1 x / x, over x² less the squares of its first three zeros, of s = x²/32 - 1."""
    squares = [mp.besseljzero(order, k) ** 2 for k in (1, 2, 3)]

    def value(s):
        u = 32 * (s + 1)
        y = mp.besselj(order, mp.sqrt(u)) / mp.sqrt(u) ** order if u else mpf(1) / (1 + order)
        return y / mp.fprod(u - square for square in squares)

    return value


def logarithmic_rest(order):
    """Y0 x less 2/pi log x J0 x, or Y1 x less 2/pi (log x J1 x - 1/x) over x, of s = x²/32 - 1."""

    def value(s):
        u = 32 * (s + 1)
        if u < mpf(2) ** -60:
            return (2 * mp.euler - 2 * mp.log(2) if order == 0 else mp.euler - mp.log(2) - mpf(1) / 2) / mp.pi
        x = mp.sqrt(u)
        known = mp.log(x) * mp.besselj(order, x) - order / x
        return (mp.bessely(order, x) - 2 / mp.pi * known) / x**order

    return value


def oscillating_far(order, part):
    """P, or x Q, of J x = sqrt(2 / (pi x)) (P cos c - Q sin c), c = x - pi/4 - order pi/2, of v = 1/x² (DLMF 10.17.3)."""
    m = 4 * order * order

    def value(v):
        if v < mpf(2) ** -60:
            return mpf(m - 1) / 8 if part else 1 - mpf((m - 1) * (m - 9)) * v / 128
        x = 1 / mp.sqrt(v)
        c = x - (2 * order + 1) * mp.pi / 4
        j, y = mp.besselj(order, x), mp.bessely(order, x)
        root = mp.sqrt(mp.pi * x / 2)
        return x * root * (y * mp.cos(c) - j * mp.sin(c)) if part else root * (j * mp.cos(c) + y * mp.sin(c))

    return value


def elliptic(kind):
    return lambda m: kind(1 - m)


# ---- the fits: name, type, function, interval, basis (or a degree: coefficients rounded in turn; or what fits) ----

W1, S2, S3, S4 = 5, mpf("4.1"), mpf("10.3"), mpf("27.5")


def tail(low, high):
    """erfinv x / x of d = sqrt w - centre, and its interval."""
    centre = round((low + high) / 2)
    return lambda d: erfinv((centre + d) ** 2), low - centre, high - centre


def t_of(x):
    return (mpf(x) - 3) / (mpf(x) + 3)


LEAST = mpf(2) ** -80
FITS = [
    ("ERF_NEAR", 32, erf_near, 0, 1, powers(6)),
    ("ERF_NEAR", 64, erf_near, 0, 1, powers(12)),
    ("ERFC_FAR", 32, erfc_far, t_of("0.47"), t_of("10.6"), 9),
    ("ERFC_FAR", 64, erfc_far, t_of("0.47"), t_of("27.6"), 22),
    ("ERFCX", 64, erfc_far, -1, t_of("27.6"), powers(22)),
    ("ERFINV_NEAR", 0, lambda d: erfinv(d + 2), -2, 3, powers(9)),
    ("ERFINV_TAIL", 0, *tail(mp.sqrt(5), S2), powers(9)),
    ("ERFINV_FAR", 0, *tail(S2, S3), powers(9)),
    ("ERFINV_FARTHER", 0, *tail(S3, S4), powers(8)),
    ("ERFINV_CENTRE", 64, erfinv_of_square, 0, mpf("0.395"), powers(19)),
    ("LGAMMA_NEAR", 32, gamma_near, -0.5, 0.5, powers(9)),
    ("LGAMMA_NEAR", 64, gamma_near, -0.5, 0.5, powers(18)),
    ("STIRLING", 32, stirling, 0, 0.16, powers(5)),
    ("STIRLING", 64, stirling, 0, 0.16, powers(14)),
    ("SINC", 32, sinc, 0, 0.25, powers(4)),
    ("SINC", 64, sinc, 0, 0.25, powers(8)),
    ("PSI_NEAR", 32, psi_near, -0.5, 0.5, powers(8)),
    ("PSI_NEAR", 64, psi_near, -0.5, 0.5, powers(19)),
    ("PSI_FAR", 32, psi_far, 0, mpf(16) / 81, powers(4)),
    ("PSI_FAR", 64, psi_far, 0, mpf(16) / 81, powers(16)),
    ("COTANGENT", 32, cotangent, 0, 0.25, powers(3)),
    ("COTANGENT", 64, cotangent, 0, 0.25, powers(8)),
    ("ATANH", 64, lambda u: (mp.atanh(mp.sqrt(u)) / mp.sqrt(u) - 1) / u * 2 if u else mpf(2) / 3, 0, 0.0401, powers(8)),
    ("I0_NEAR", 32, bessel_near(0), 0, 60.1, powers(9)),
    ("I0_NEAR", 64, bessel_near(0), 0, 60.1, powers(15)),
    ("I0_FAR", 32, bessel_far(0), 0, 1 / mpf("7.75"), powers(6)),
    ("I0_FAR", 64, bessel_far(0), 0, 1 / mpf("7.75"), powers(23)),
    ("I1_NEAR", 32, bessel_near(1), 0, 60.1, powers(9)),
    ("I1_NEAR", 64, bessel_near(1), 0, 60.1, powers(14)),
    ("I1_FAR", 32, bessel_far(1), 0, 1 / mpf("7.75"), powers(6)),
    ("I1_FAR", 64, bessel_far(1), 0, 1 / mpf("7.75"), powers(23)),
    ("BESSEL_GAP", 32, bessel_gap, 0, 1 / mpf("7.75"), powers(6)),
    ("BESSEL_GAP", 64, bessel_gap, 0, 1 / mpf("7.75"), powers(21)),
    ("DAWSON_NEAR", 32, dawson_near, -4.5, 4.5, powers(14)),
    ("DAWSON_NEAR", 64, dawson_near, -4.5, 4.5, powers(24)),
    ("DAWSON_MIDDLE", 32, dawson_middle(4), -1, 1, powers(11)),
    ("DAWSON_MIDDLE", 64, dawson_middle(4), -1, 1, powers(22)),
    ("DAWSON_FAR", 32, dawson_far, 0, mpf(1) / 25, powers(5)),
    ("DAWSON_FAR", 64, dawson_far, 0, mpf(1) / 25, powers(18)),
    ("DAWSON_SLOPE", 32, dawson_slope, 0, mpf(1) / 25, powers(5)),
    ("DAWSON_SLOPE", 64, dawson_slope, 0, mpf(1) / 25, powers(18)),
    ("J0_NEAR", 64, oscillating_near(0), -1, 1, powers(13)),
    ("J1_NEAR", 64, oscillating_near(1), -1, 1, powers(13)),
    ("J0_P", 64, oscillating_far(0, 0), 0, mpf(1) / 64, powers(13)),
    ("J0_Q", 64, oscillating_far(0, 1), 0, mpf(1) / 64, powers(14)),
    ("J1_P", 64, oscillating_far(1, 0), 0, mpf(1) / 64, powers(13)),
    ("J1_Q", 64, oscillating_far(1, 1), 0, mpf(1) / 64, powers(14)),
    ("Y0_REST", 64, logarithmic_rest(0), -1, 1, absolute(16)),
    ("Y1_REST", 64, logarithmic_rest(1), -1, 1, absolute(16)),
    ("COMPLETE_1", 32, elliptic(mp.ellipk), LEAST, 1, with_logarithm(4, 0)),
    ("COMPLETE_1", 64, elliptic(mp.ellipk), LEAST, 1, with_logarithm(10, 0)),
    ("COMPLETE_2", 32, elliptic(mp.ellipe), LEAST, 1, with_logarithm(5, 1)),
    ("COMPLETE_2", 64, elliptic(mp.ellipe), LEAST, 1, with_logarithm(10, 1)),
]


def spelled(x, width):
    """A bit pattern of the type, or for width 0 a number good to f32."""
    if width == 0:
        return mp.nstr(x, 10)
    pattern = struct.pack(">f" if width == 32 else ">d", float(x)).hex()
    return "0x" + "_".join(pattern[i : i + 4] for i in range(0, len(pattern), 4))


def main():
    words = sys.argv[1:] or [""]
    for name, width, function, low, high, basis in FITS:
        if not any(word in name for word in words):
            continue
        if callable(basis):
            coefficients, error = basis(function, low, high)
        elif isinstance(basis, list):
            coefficients, error = remez(function, low, high, basis)
        else:
            coefficients, error = in_turn(function, low, high, basis, width)
        print(f"{name} {width} // 2^{float(mp.log(error, 2)):.1f}")
        print("    " + ",\n    ".join(spelled(c, width) for c in coefficients) + ",", flush=True)


if __name__ == "__main__":
    main()
