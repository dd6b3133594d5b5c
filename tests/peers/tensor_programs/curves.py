"""Steps of statistics and curves."""

import numpy as np

from .lines import MOST_AXES, Lines, is_tame
from .meaning import (
    NUMBERS, REAL, TYPES, cast, differs, float_type, is_float, letter, promoted, quotient_type, size_of, sum_type,
    wide,
)  # fmt: skip


class Curves(Lines):
    @differs("quotients")
    def do_covariance(self):
        a, x = self.pick(NUMBERS, [1, 2], lambda x: is_tame(x) and x.size > 1 and x.shape[-1] > 1)
        dtype = quotient_type(x.dtype)
        y, n = wide(cast(x, dtype)), x.shape[-1]
        size = 4 * np.abs(y).max() ** 2 * n / (n - 1)
        value = np.cov(y)
        self.near(value, f"cov({a})", np.full(value.shape, size), dtype, 4)
        if x.ndim == 1:
            b, z = self.fresh([letter(x)], x.shape)
            if is_tame(z):
                other = wide(cast(z, dtype))
                size = 4 * max(np.abs(y).max(), np.abs(other).max()) ** 2 * n / (n - 1)
                self.near(np.cov(y, other), f"cov({a}, {b})", np.full((2, 2), size), dtype, 4)
        spread = np.abs(y - y.mean(-1, keepdims=True)).max(-1)
        if np.all((spread > 0.5) | (spread == 0)) and dtype != np.float16:
            # The clipping of real ones to -1 and 1 is within the error.
            value = np.corrcoef(y)
            self.near(value, f"corrcoef({a})", np.full(value.shape, size), dtype, 4)

    @differs("quotients")
    def do_gradient(self):
        a, x = self.pick(NUMBERS, fits=lambda x: is_tame(x) and x.ndim > 0)
        axis, dx = self.axis(x), self.random.choice([1, 0.5, 2])
        if x.shape[axis] < 2:
            return self.refused(f"gradient_of({a}, {dx}, {axis})")
        dtype = quotient_type(x.dtype)
        value = np.gradient(wide(cast(x, dtype)), dx, axis=axis)
        return self.near(value, f"gradient_of({a}, {dx}, {axis})", np.full(value.shape, 200 / dx), dtype, 2)

    @differs("quotients")
    def do_area(self):
        a, x = self.pick(REAL, fits=lambda x: is_tame(x) and x.ndim > 0)
        axis, dx = self.axis(x), self.random.choice([1, 0.5, 2])
        if x.shape[axis] < 2:
            return
        dtype = quotient_type(x.dtype)
        y = wide(cast(x, dtype))
        strips = ((y + np.roll(y, 1, axis)) * (dx / 2)).take(range(1, x.shape[axis]), axis)
        size = 200.0 * dx * x.shape[axis]
        for name, area in [("trapezoid", strips.sum(axis)), ("cumulative_trapezoid", strips.cumsum(axis))]:
            self.near(area, f"{name}({a}, {dx}, {axis})", np.full(area.shape, size), dtype, 2)

    def do_angles(self):
        a, x = self.pick(["f", "d"], fits=lambda x: is_tame(x) and x.ndim > 0)
        axis = self.axis(x)
        value = np.unwrap(wide(x), axis=axis)
        # A jump of half a turn goes either way.
        jumps = np.abs(np.diff(wide(x), axis=axis)) / np.pi % 2
        if (np.abs(jumps - 1) > 1e-3).all():
            self.near(value, f"unwrap({a}, {axis})", np.full(x.shape, 100.0 * x.shape[axis]), x.dtype, 4)

    @differs("quotients", "lone-lanes")
    def do_average(self):
        a, x = self.pick(REAL, fits=lambda x: is_tame(x) and x.ndim > 0 and x.size > 0)
        axis = self.axis(x)
        weights = [self.random.randint(1, 4) for _ in range(x.shape[axis])]
        dtype = quotient_type(x.dtype)
        value = np.average(wide(cast(x, dtype)), axis=axis, weights=weights)
        listed = ", ".join(map(str, weights))
        self.near(value, f"average({a}, [{listed}], {axis})", np.full(np.shape(value), 100.0), dtype, 4)

    def do_decimals(self):
        a, x = self.pick(["f", "d"], fits=is_tame)
        decimals = self.random.randint(-2, 3)
        self.add(np.round(x, decimals), f"round({a}, {decimals})")

    @differs("vector-products", "lone-lanes")
    def do_slide(self):
        a, x = self.pick(NUMBERS, [1], lambda x: is_tame(x) and x.size > 1)
        b, y = self.pick(NUMBERS, [1], lambda x: is_tame(x) and x.size > 1)
        mode = self.random.choice(["full", "same", "valid"])
        dtype = promoted(x, y)
        for name, of in [("convolve", np.convolve), ("correlate", np.correlate)]:
            code = f'{name}({a}, {b}, "{mode}")'
            if is_float(dtype):
                value = of(wide(cast(x, dtype)), wide(cast(y, dtype)), mode)
                size = of(size_of(x), size_of(y), mode)
                shape = () if value.size == 1 else value.shape
                self.near(value.reshape(shape), code, size.reshape(shape), dtype)
            else:
                # Products wrap in their own type, sums in theirs: every entry is a sum over a diagonal of products.
                other = cast(y, dtype) if name == "convolve" else cast(y, dtype)[::-1]
                each = (cast(x, dtype)[:, None] * other[None, :])[::-1]
                full = [each.diagonal(i).sum() for i in range(1 - len(x), len(y))]
                marks = of(np.arange(1, x.size + 1.0), np.ones(y.size), mode)
                everywhere = of(np.arange(1, x.size + 1.0), np.ones(y.size), "full")
                first = next(i for i in range(len(full)) if np.array_equal(everywhere[i : i + len(marks)], marks))
                self.add_array(np.array(full[first : first + len(marks)]).astype(sum_type(dtype)), code)

    def do_polynomial(self):
        p, coefficients = self.pick(NUMBERS, [1], lambda x: is_tame(x) and 1 < x.size < 5)
        a, x = self.pick(NUMBERS, range(MOST_AXES), is_tame)
        # Powers have digits of their own.
        dtype, n = promoted(coefficients, x), coefficients.size
        if not is_float(dtype):
            return self.total(np.polyval, f"polyval({p}, {a})", coefficients, x)
        value = np.polyval(wide(cast(coefficients, dtype)), wide(cast(x, dtype)))
        size = np.polyval(size_of(coefficients), size_of(x))
        return self.near(value, f"polyval({p}, {a})", size, dtype, 4 * n)

    @differs("library-types")
    def do_roots(self):
        wanted = sorted(self.random.sample(range(-4, 5), self.random.randint(2, 4)))
        p = np.poly(wanted).astype(TYPES[self.random.choice(["f", "d", "i", "i64", "h"])])
        p = np.concatenate([np.zeros(self.random.randint(0, 2), p.dtype), p])
        value = np.array(wanted, float_type(p.dtype))
        self.near(value, f"sort(roots({self.literal(p)}).real)", np.full(value.shape, 100.0), value.dtype)

    @differs("library-types")
    def do_fit(self):
        degree, letter = self.random.randint(0, 2), self.random.choice(["f", "d", "i", "u8", "i64", "h"])
        x = np.array(self.random.sample(range(10), self.random.randint(degree + 2, 8)), TYPES[letter])
        a = self.add(x, self.literal(x))
        b, y = self.fresh(REAL, x.shape)
        if is_tame(y):
            value = np.polyfit(wide(x).astype(float), wide(y).astype(float), degree)
            dtype, shape = float_type(x.dtype), () if degree == 0 else value.shape
            self.near(value.reshape(shape), f"polyfit({a}, {b}, {degree})", np.full(shape, 100.0), dtype, 10)

    @differs("library-types", "meshgrid")
    def do_curves(self):
        a, x = self.pick(REAL, range(MOST_AXES), is_tame)
        letter = self.random.choice(["f", "d", "i", "u8"])
        places = np.array(sorted(self.random.sample(range(20), self.random.randint(2, 5))), TYPES[letter])
        p = self.add(places, self.literal(places))
        b, values = self.fresh(REAL, places.shape)
        if is_tame(values):
            dtype = np.dtype(np.result_type(*(float_type(x.dtype) for x in [x, places, values])))
            value = np.interp(wide(x).astype(float), places.astype(float), wide(values).astype(float))
            self.near(value, f"interp({a}, {p}, {b})", np.full(value.shape, 200.0), dtype, 2)
            value = np.interp(wide(x).astype(float), np.arange(places.size), wide(values).astype(float))
            dtype = np.result_type(quotient_type(x.dtype), quotient_type(values.dtype))
            self.near(value, f"take_interp({b}, {a})", np.full(value.shape, 200.0), dtype, 3)
        dtype = promoted(x, places)
        found = np.searchsorted(cast(places, dtype), cast(x, dtype)).astype(np.uint32)
        self.add(found, f"searchsorted({p}, {a})")
        found = np.searchsorted(cast(places, dtype), cast(x, dtype), "right").astype(np.uint32)
        self.add(found, f'searchsorted({p}, {a}, "right")')
        self.add(np.digitize(cast(x, dtype), cast(places, dtype)).astype(np.uint32), f"digitize({a}, {p})")
        b, y = self.pick(REAL + ["m"], [1], lambda x: x.size > 1)
        for i, value in enumerate(np.meshgrid(places, y)):
            self.add(value.reshape(-1), f"meshgrid({p}, {b})[{i}]")
