"""What every float function should give: a reference of mpmath, where to look, and the bound it states.

A new float function needs a row here or a place in EXACT; `cargo test` and the sweep both say so.
"""

import math
from dataclasses import dataclass
from typing import Callable

from mpmath import mp, mpf


@dataclass
class Row:
    """One function: for each argument the intervals and the points that deserve a closer look."""

    function: Callable
    # Largest error in ulp, of f32 and of f64; the help text states it too.
    bound: float
    # One list of places per argument: (low, high) is an interval, a number a point to come close to.
    places: list
    # Size that the error is measured against, if it is larger than the result: near zeros.
    scale: Callable = None
    # Points are divided by this: some references are slow.
    slowness: int = 1
    # Arguments outside are not tried at random: there the reference is out of reach.
    reach: float = math.inf


# Functions that are exact or a few correctly rounded steps: the tests of operations cover them.
EXACT = """fmod sqr rcp rsqrt safe_sqrt safe_rsqrt sign copysign copysign_neg mulsign mulsign_neg lerp clamp clip
fmadd fmsub fnmadd fnmsub isnan isinf isfinite isdenormal next_float prev_float deg_to_rad rad_to_deg mantissa
exponent ldexp fract softsign leaky_relu smooth_l1 round_away heaviside isposinf isneginf
hard_sigmoid nextafter signbit""".split()

# Functions of vectors, whose help states a bound too, with that bound; their sweeps are their own.
NESTED = {"sh_eval": 32}


def power(a, b):
    if b == 0 or a == 1:
        return mpf(1)
    if a == 0:
        return mp.inf if b < 0 else mpf(0)
    odd = a < 0 and b % 2 == 1
    if a < 0 and b != mp.floor(b):
        return mp.nan
    exponent = b * mp.log(abs(a))
    size = mp.exp(exponent) if abs(exponent) < 2000 else mp.inf if exponent > 0 else mpf(0)
    return -size if odd else size


def with_pole(function):
    """A function with a pole at 0, which is positive there."""
    return lambda x: function(x) if x else mp.inf


def in_unit(function):
    return lambda x: function(max(mpf(-1), min(x, mpf(1))))


def erfc(x):
    """Zero where no float is left and mpmath overflows."""
    return mp.erfc(x) if x < 10**6 else mpf(0)


def erfcinv(q):
    """By Newton's method for log erfc, which needs no more digits for small q."""
    if not 0 <= q <= 2:
        return mp.nan
    if q in (0, 2):
        return mp.inf if q == 0 else -mp.inf
    if q > mpf("0.1"):
        with mp.workprec(3 * mp.prec + 60):
            return -erfcinv(2 - q) if q > mpf("1.9") else mp.erfinv(1 - q)
    w = -mp.log(q)
    y = mp.sqrt(w - mp.log(mp.pi * w) / 2)
    for _ in range(12):
        c = mp.erfc(y)
        step = mp.log(c / q) * c * mp.exp(y * y) * mp.sqrt(mp.pi) / 2
        y += step
        if abs(step) < y * mp.eps * 1000:
            break
    return y


def erfinv(x):
    if abs(x) < 0.5:
        return mp.erfinv(x)
    return erfcinv(1 - x) if x > 0 else -erfcinv(1 + x)


def norm_ppf(p):
    return -mp.sqrt(2) * erfcinv(2 * p)


def norm_cdf(x):
    return erfc(-x / mp.sqrt(2)) / 2


def trigamma(x):
    """By the series of DLMF 5.15.8, far out, where it has all digits: mpmath's takes long."""
    if x <= 0 and x == mp.floor(x):
        return mp.inf
    if x < 0.5:
        return (mp.pi / mp.sinpi(x)) ** 2 - trigamma(1 - x)
    total = mpf(0)
    while x < 60:
        total += 1 / x**2
        x += 1
    return total + 1 / x + 1 / (2 * x**2) + sum(mp.bernoulli(2 * k) / x ** (2 * k + 1) for k in range(1, 40))


def logit(x):
    return mp.log(x / (1 - x)) if x != 1 else mp.inf


def xlogy(x, y):
    return x * mp.log(y) if x else mpf(0)


def entr(x):
    if x < 0:
        return -mp.inf
    return -x * mp.log(x) if x else mpf(0)


def incomplete_gamma(a, x):
    """The lower and the upper one over gamma(a): by the series below a, by the continued fraction above."""
    if a < 0 or x < 0 or a == x == 0:
        return mp.nan, mp.nan
    if a == 0 or x == 0:
        return (mpf(1), mpf(0)) if x else (mpf(0), mpf(1))
    with mp.workprec(mp.prec + 140):
        power = mp.exp(a * mp.log(x) - x - mp.loggamma(a + 1).real)
        if x < max(a, 1):
            total = term = mpf(1)
            n = 0
            while term > total * mp.eps:
                n += 1
                term *= x / (a + n)
                total += term
            # Of next to no a the difference would be next to nothing.
            upper = a * mp.e1(x) if a < mpf(2) ** -90 else 1 - power * total
            return power * total, upper
        c, d = mp.inf, 1 / (x + 1 - a)
        fraction, n, change = d, 0, mpf(0)
        while abs(change - 1) > mp.eps * 1024:
            n += 1
            k = -n * (n - a)
            b = x + 1 - a + 2 * n
            d, c = 1 / (k * d + b), b + k / c
            change = c * d
            fraction *= change
        return 1 - power * a * fraction, power * a * fraction


def incomplete_beta(a, b, x):
    """Over B(a, b): by the continued fraction below a / (a + b), above it what is missing to 1."""
    if a < 0 or b < 0 or not 0 <= x <= 1 or a == b == 0:
        return mp.nan
    if x in (0, 1):
        return x
    if a == 0 or b == 0:
        return mpf(a == 0)
    with mp.workprec(mp.prec + 140):
        y = 1 - x
        return lower_beta(a, b, x, y) if x <= a / (a + b) else 1 - lower_beta(b, a, y, x)


def lower_beta(a, b, x, y):
    """The same for x = 1 - y up to a / (a + b)."""
    size = (mp.loggamma(a + b) - mp.loggamma(a) - mp.loggamma(b)).real
    if b < 1 and y < min(0.5, 30 / a):
        # There the fraction takes long; of next to no b the difference would be next to nothing.
        with mp.workprec(mp.prec + 60 - mp.mag(b)):
            size = (mp.loggamma(a + b) - mp.loggamma(a) - mp.loggamma(b + 1)).real
            term, total = mpf(1), mpf(1)
            for n in range(1, 400):
                term *= (n - a) / n * y
                total += b * term / (b + n)
            return 1 - mp.exp(size + b * mp.log(y)) * total
    start = a * y - b * x + 1
    fraction = c = a / (a + 1) * start
    d, n, change = mpf(0), 0, mpf(0)
    while abs(change - 1) > mp.eps * 1024:
        n += 1
        t = a + 2 * n - 1
        k = (a + n - 1) / t * (a + b + n - 1) / t * n * (b - n) * x * x
        term = n + n * (b - n) * x / t + (a + n) / (t + 2) * (start + n * (1 + y))
        d, c = 1 / (term + k * d), term + k / c
        change = c * d
        fraction *= change
    return mp.exp(size + a * mp.log(x) + b * mp.log(y)) / fraction


def betaln(a, b):
    if a < 0 or b < 0:
        return mp.nan
    with mp.workprec(mp.prec + 40):
        return (mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)).real if a and b else mp.inf


def lgamma(x):
    if x <= 0 and x == mp.floor(x):
        return mp.inf
    return mp.loggamma(x).real


def tgamma(x):
    if x <= 0 and x == mp.floor(x):
        return mp.nan if x else mp.inf
    if abs(x) > 200:
        return mp.inf if x > 0 else mpf(0)
    return mp.gamma(x)


def lgamma_size(x):
    """Below -1/2 two terms cancel near zeros."""
    return mp.loggamma(2 - x).real if x < -0.5 else mpf(0)


def digamma(x):
    """Poles as SciPy has them."""
    if x <= 0 and x == mp.floor(x):
        return mp.nan if x else -mp.inf
    return mp.digamma(x)


def digamma_size(x):
    """Below 1/2 two terms cancel near zeros."""
    if x >= 0.5 or x == mp.floor(x):
        return mpf(0)
    return max(abs(mp.digamma(1 - x)), abs(mp.pi * mp.cospi(x) / mp.sinpi(x)))


def rcbrt(x):
    return mp.sign(x) / mp.cbrt(abs(x)) if x else mp.inf


def sigmoid(x):
    """Without a difference, so that small results keep their digits."""
    return 1 / (1 + mp.exp(-x)) if abs(x) < 10**6 else mpf(x > 0)


def softrelu(x):
    if abs(x) > 10**6:
        return max(x, mpf(0))
    return max(x, mpf(0)) + mp.log1p(mp.exp(-abs(x)))


def mish(x):
    if abs(x) > 10**6:
        return max(x, mpf(0))
    e = mp.exp(-abs(x))
    above = 1 + 2 * e if x > 0 else e * (e + 2)
    return x * above / (above + 2 * (e * e if x > 0 else 1))


def gelu_erf(x):
    return x * norm_cdf(x) if x > -(10**6) else mpf(0)


def logaddexp(a, b):
    if not (mp.isfinite(a) and mp.isfinite(b)):
        return max(a, b)
    return max(a, b) + softrelu(-abs(a - b))


def bessel(order):
    def value(x):
        if abs(x) > 1e7:
            v = 1 / abs(x)
            m = 4 * order * order - 1
            series = 1 - m * v / 8 * (1 - (m - 8) * v / 16 * (1 - (m - 24) * v / 24))
            return series * mp.sqrt(v / (2 * mp.pi)) * mp.sign(x) ** order
        return mp.besseli(order, x) * mp.exp(-abs(x))

    return value


def bessel_i(order):
    """Beyond 1000 all is infinite."""
    return lambda x: mp.besseli(order, x) if abs(x) < 1000 else mp.sign(x) ** order * mp.inf


def bessel_j(order):
    """With digits for the angle of large numbers."""

    def value(x):
        with mp.workprec(mp.prec + max(0, 2 * mp.mag(x)) if x else mp.prec):
            return mp.besselj(order, x)

    return value


def bessel_y(order):
    def value(x):
        if x <= 0:
            return mp.nan if x else -mp.inf
        with mp.workprec(mp.prec + max(0, 2 * mp.mag(x))):
            return mp.bessely(order, x)

    return value


def wave(least):
    """How far Bessel functions go beyond some number, near their zeros too."""
    return lambda x: mp.sqrt(2 / (mp.pi * abs(x))) if abs(x) > least else mpf(0)


def dawson(x):
    if abs(x) > 1e5:
        v = 1 / (2 * x * x)
        return (1 + v * (1 + 3 * v * (1 + 5 * v))) / (2 * x)
    return x * mp.exp(-x * x) * mp.hyp1f1(0.5, 1.5, x * x)


def modulus_of(complete):
    return lambda k: complete(k * k) if abs(k) < 1 else mp.nan if abs(k) > 1 else complete(mpf(1))


def third(k, nu):
    if abs(k) > 1 or nu < -1:
        return mp.nan
    return mp.inf if abs(k) == 1 or nu == -1 else mp.ellippi(-nu, k * k)


def incomplete(integral, diverges=True):
    """Quasiperiodic in phi; NaN where k² sin² exceeds 1 on the way, or a pole is crossed."""

    def value(phi, k, *nu):
        m, beyond = k * k, abs(phi) > mp.pi / 2
        top = mpf(1) if beyond else mp.sin(phi) ** 2
        if m * top > 1 or nu and 1 + nu[0] * top < 0:
            return mp.nan
        if beyond and m == 1 and diverges or nu and 1 + nu[0] * top == 0:
            return mp.sign(phi) * mp.inf
        return integral(phi, m, *nu)

    return value


def elliptic_size(phi, k, *nu):
    """Beyond |k| = 1 digits are lost where k² sin² nears 1."""
    rest = 1 - (k * mp.sin(phi)) ** 2
    return abs(phi) / rest if abs(k) > 1 and rest > 0 else mpf(0)


def linear_to_srgb(x):
    if x <= mpf(0.0031308):
        return x * mpf("12.92")
    return mpf("1.055") * x ** (mpf(5) / 12) - mpf("0.055")


def srgb_to_linear(x):
    if x <= mpf(0.04045):
        return x / mpf("12.92")
    return ((x + mpf("0.055")) / mpf("1.055")) ** mpf("2.4")


REAL = [(-8, 8), 0, 1, -1]
EXPONENT = [(-3, 3), (-800, 800), 0]
TAILS = [(-6, 6), (-110, 110), (-760, 760), 0]
LOGARITHM = [(0, 10), 0, 1]
ANGLE = [(-10, 10), (-1e5, 1e5), 0, math.pi, math.pi / 2]
HYPERBOLIC = [(-20, 20), (-90, 90), (-710, 710), 0]
UNIT = [(-1, 1), 0, 1, -1]
PROBABILITY = [(0, 1), 0, 1]
MODULUS = UNIT
ANY_MODULUS = MODULUS + [(1, 3)]
AMPLITUDE = [(-1.6, 1.6), (-20, 20), 0, math.pi / 2]
SHAPE = [(0, 3), (0, 30), (0, 1000), (0, 1e6), (20, 22), 0, 1, 12, 1000]
CHARACTERISTIC = [(-1, 1), (0, 50), 0]

FUNCTIONS = {
    # Elementary functions.
    "exp": Row(mp.exp, 1.5, [[(-745, 710), (-104, 89), 0]]),
    "exp2": Row(lambda x: power(mpf(2), x), 1.5, [[(-1075, 1024), (-150, 128), 0]]),
    "exp10": Row(lambda x: power(mpf(10), x), 1.5, [[(-324, 309), (-46, 39), 0]]),
    "expm1": Row(mp.expm1, 2, [[(-40, 710), (-1, 1), 0]]),
    "log": Row(mp.log, 1.5, [LOGARITHM]),
    "log2": Row(lambda x: mp.log(x, 2), 2, [LOGARITHM]),
    "log10": Row(mp.log10, 1.5, [LOGARITHM]),
    "log1p": Row(mp.log1p, 2, [[(-1, 10), 0, -1]]),
    "pow": Row(power, 2, [[(0, 10), (-5, 5), (0.5, 2), 1, 0], [(-10, 10), (-300, 300), 0, 1, 0.5]]),
    "cbrt": Row(lambda x: mp.sign(x) * mp.cbrt(abs(x)), 1.5, [REAL]),
    "rcbrt": Row(rcbrt, 1.5, [REAL]),
    "logaddexp": Row(logaddexp, 2.5, [EXPONENT, EXPONENT], lambda a, b: max(abs(a), abs(b))),
    "hypot": Row(mp.hypot, 1.5, [REAL, REAL]),
    "sin": Row(mp.sin, 1.5, [ANGLE]),
    "cos": Row(mp.cos, 1.5, [ANGLE]),
    "tan": Row(mp.tan, 2.5, [ANGLE]),
    "cot": Row(with_pole(mp.cot), 2.5, [ANGLE]),
    "sec": Row(mp.sec, 2, [ANGLE]),
    "csc": Row(with_pole(mp.csc), 2, [ANGLE]),
    "sinpi": Row(mp.sinpi, 1.5, [[(-2, 2), (-1e5, 1e5), 0, 0.5, 1]]),
    "sinc": Row(mp.sincpi, 3, [[(-2, 2), (-1e5, 1e5), 0, 0.5, 1]]),
    "cospi": Row(mp.cospi, 1.5, [[(-2, 2), (-1e5, 1e5), 0, 0.5, 1]]),
    "asin": Row(mp.asin, 2.5, [UNIT + [0.5]]),
    "acos": Row(mp.acos, 1.5, [UNIT + [0.5]]),
    "safe_asin": Row(in_unit(mp.asin), 2.5, [UNIT + [(-2, 2)]]),
    "safe_acos": Row(in_unit(mp.acos), 1.5, [UNIT + [(-2, 2)]]),
    "atan": Row(mp.atan, 2.5, [REAL]),
    "atan2": Row(mp.atan2, 2.5, [REAL, REAL]),
    "sinh": Row(mp.sinh, 2.5, [HYPERBOLIC]),
    "cosh": Row(mp.cosh, 2, [HYPERBOLIC]),
    "tanh": Row(mp.tanh, 2.5, [HYPERBOLIC + [0.625]]),
    "coth": Row(with_pole(mp.coth), 2.5, [HYPERBOLIC]),
    "sech": Row(mp.sech, 3, [HYPERBOLIC]),
    "csch": Row(with_pole(mp.csch), 3, [HYPERBOLIC]),
    "asinh": Row(mp.asinh, 2.5, [REAL]),
    "acosh": Row(mp.acosh, 2.5, [[(1, 10), 1]]),
    "atanh": Row(mp.atanh, 2.5, [UNIT]),
    # Special functions.
    "erf": Row(mp.erf, 3, [[(-6, 6), (-1, 1), 0, 1]]),
    "erfc": Row(erfc, 2.5, [[(-6, 10), (9, 10.2), (-1, 1), (10, 27.3), 0.47, -0.47]]),
    "erfinv": Row(erfinv, 4, [UNIT + [0.5]], slowness=8),
    "erfcinv": Row(erfcinv, 4, [[(0, 2), 0, 1, 2, 0.5]], slowness=8),
    "norm_cdf": Row(norm_cdf, 3, [[(-6, 6), (-14.3, -13), (-38.5, -6), 0, 0.6647]]),
    "norm_ppf": Row(norm_ppf, 6, [PROBABILITY + [0.5, 0.25]], slowness=8),
    "lgamma": Row(
        lgamma, 10, [[(-6, 6), (-0.5, 4), (-200, 200), 0, 1, 2, 2.5, -0.5, -1, -2, -3]], lgamma_size, slowness=4
    ),
    "tgamma": Row(
        tgamma, 10, [[(-6, 6), (-40, 36), (-184, 172), 0, 1, 2, 2.5, -0.5, -1, -2, -171]], slowness=4
    ),
    "digamma": Row(
        digamma, 8, [[(-6, 6), (0.2, 3), (-200, 200), 0, 1.4616321449683623, 0.5, 1.25, 2.25, -1, -2]], digamma_size, slowness=4
    ),
    "trigamma": Row(trigamma, 10, [[(-6, 6), (0.2, 3), (-200, 200), 0, 0.5, 16, -1, -2]], slowness=4),
    "xlogy": Row(xlogy, 2.5, [REAL, LOGARITHM]),
    "entr": Row(entr, 2.5, [LOGARITHM + [(0, 1)]]),
    "gammainc": Row(lambda a, x: incomplete_gamma(a, x)[0], 16, [SHAPE, SHAPE], slowness=10, reach=6e4),
    "gammaincc": Row(lambda a, x: incomplete_gamma(a, x)[1], 16, [SHAPE, SHAPE], slowness=10, reach=6e4),
    "beta": Row(lambda a, b: mp.exp(betaln(a, b)), 12, [SHAPE, SHAPE], slowness=4, reach=6e4),
    "betaln": Row(betaln, 10, [SHAPE, SHAPE], lambda a, b: mpf(1), slowness=4, reach=6e4),
    "betainc": Row(
        incomplete_beta, 16, [SHAPE, SHAPE, PROBABILITY + [(0, 0.01), (0.4, 0.6), 0.5]], slowness=10, reach=6e4
    ),
    "i0e": Row(bessel(0), 5, [[(-20, 20), (0, 1000), 0, 7.75]], slowness=4),
    "i1e": Row(bessel(1), 5, [[(-20, 20), (0, 1000), 0, 7.75]], slowness=4),
    "i0": Row(bessel_i(0), 6, [[(-20, 20), (80, 92), (0, 714), 0, 7.75]], slowness=4),
    "i1": Row(bessel_i(1), 6, [[(-20, 20), (80, 92), (0, 714), 0, 7.75]], slowness=4),
    "j0": Row(bessel_j(0), 8, [[(-20, 20), (0, 1000), 0, 8, 2.404825557695773]], wave(8), slowness=4, reach=1e9),
    "j1": Row(bessel_j(1), 8, [[(-20, 20), (0, 1000), 0, 8, 3.8317059702075125]], wave(8), slowness=4, reach=1e9),
    "y0": Row(bessel_y(0), 12, [[(0, 20), (0.4, 0.5), (0, 1000), 0, 8, 0.8935769662791675]], wave(0.4), slowness=8, reach=1e9),
    "y1": Row(bessel_y(1), 12, [[(0, 20), (0, 1000), 0, 8, 2.197141326031017]], wave(0.5), slowness=8, reach=1e9),
    "dawson": Row(dawson, 10, [[(-8, 8), (-30, 30), 0, 3, 5]], slowness=4),
    "comp_ellint_1": Row(modulus_of(mp.ellipk), 3, [MODULUS]),
    "comp_ellint_2": Row(modulus_of(mp.ellipe), 3, [MODULUS]),
    "comp_ellint_3": Row(third, 8, [MODULUS, CHARACTERISTIC + [-1]], slowness=20, reach=100),
    "ellint_1": Row(incomplete(mp.ellipf), 8, [AMPLITUDE, ANY_MODULUS], elliptic_size, slowness=20, reach=100),
    "ellint_2": Row(
        incomplete(mp.ellipe, diverges=False), 10, [AMPLITUDE, ANY_MODULUS], elliptic_size, slowness=20, reach=100
    ),
    "ellint_3": Row(
        incomplete(lambda phi, m, nu: mp.ellippi(-nu, phi, m)),
        16,
        [AMPLITUDE, ANY_MODULUS, CHARACTERISTIC],
        elliptic_size,
        slowness=40,
        reach=100,
    ),
    # Activations.
    "sigmoid": Row(sigmoid, 2.5, [TAILS]),
    "log_sigmoid": Row(lambda x: -softrelu(-x), 2, [TAILS]),
    "logit": Row(logit, 2.5, [PROBABILITY + [(0.2, 0.8), 0.5]]),
    "softrelu": Row(softrelu, 2, [TAILS]),
    "silu": Row(lambda x: x * sigmoid(x) if x > -(10**6) else mpf(0), 3, [TAILS]),
    "mish": Row(mish, 4, [TAILS]),
    "gelu_erf": Row(gelu_erf, 3.5, [[(-6, 6), (-14.5, -12), (-39, -6), 0, 0.6647, -0.6647]]),
    "elu": Row(lambda x, alpha: x if x >= 0 else alpha * mp.expm1(x), 2, [TAILS, [(-3, 3), 1]]),
    "linear_to_srgb": Row(linear_to_srgb, 10, [[(0, 1), (0, 0.01), 0, 0.0031308]], reach=2),
    "srgb_to_linear": Row(srgb_to_linear, 10, [[(0, 1), (0, 0.1), 0, 0.04045]], reach=2),
}


def harmonics(x, y, z, order):
    """Real spherical harmonics with Enoki's signs, (-1)^m, as polynomials of the coordinates: a list for each l."""
    bands = [[None] * (2 * band + 1) for band in range(order + 1)]
    for m in range(order + 1):
        around = mp.mpc(x, y) ** m
        below, here = mpf(0), mpf(mp.fac2(2 * m - 1)) if m else mpf(1)
        for band in range(m, order + 1):
            size = mp.sqrt(mpf(2 * band + 1) / (4 * mp.pi) * mp.factorial(band - m) / mp.factorial(band + m))
            size *= (-1) ** m * (mp.sqrt(2) if m else 1)
            bands[band][band + m] = size * here * around.real
            bands[band][band - m] = size * here * (around.imag if m else 1)
            below, here = here, ((2 * band + 1) * z * here - (band + m) * below) / (band + 1 - m)
    return bands
