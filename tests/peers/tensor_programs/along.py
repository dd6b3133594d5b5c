"""Steps that go along axes."""

import numpy as np

from .lines import LARGEST, PRECISION, Lines, UnfitError, is_finite, is_tame, said
from .meaning import (
    ALL, NUMBERS, REAL, TYPES, UNSIGNED, argsort, cast, differs, extreme, extreme_place, is_complex, letter,
    promoted, quotient_type, real_type, size_of, sum_type, wide,
)  # fmt: skip


class Along(Lines):
    @differs("sum-types", "complex-reductions", "nan")
    def do_reduce(self):
        a, x = self.pick(ALL)
        text, axes, keeps = self.axes(x)
        dtype = sum_type(x.dtype)
        self.total(lambda x: x.sum(axes, keepdims=keeps), f"hsum({a}{text})", x, dtype=dtype)
        # Which parts of a complex product are NaN depends on the order.
        if not is_complex(x) or is_finite(x):
            self.products(lambda x: x.prod(axes, keepdims=keeps), f"hprod({a}{text})", x)
        if is_complex(x) or letter(x) == "m":
            return
        for name, largest in [("hmin", False), ("hmax", True)]:
            if all(x.shape[axis] for axis in axes):
                self.add(extreme(x, axes, keeps, largest), f"{name}({a}{text})")
            elif x.size == 0 and np.prod([x.shape[axis] for axis in range(x.ndim) if axis not in axes]):
                self.refused(f"{name}({a}{text})")

    @differs("quotients", "variances")
    def do_moments(self):
        a, x = self.pick(ALL, fits=is_finite)
        text, axes, keeps = self.axes(x)
        dtype, wide_x = quotient_type(x.dtype), wide(cast(x, quotient_type(x.dtype)))
        size = size_of(x)
        self.near(wide_x.mean(axes, keepdims=keeps), f"hmean({a}{text})", size.mean(axes, keepdims=keeps), dtype)
        if letter(x) != "m":
            dtype = real_type(dtype)
            # What is squared may be as far apart as the largest is from 0.
            var, size = wide_x.var(axes, keepdims=keeps), (4 * size**2).mean(axes, keepdims=keeps)
            self.near(var, f"var({a}{text})", size, dtype)
            least = np.maximum(np.sqrt(var), np.sqrt(PRECISION[dtype] * size))
            if size.max(initial=0) < LARGEST[dtype]:
                self.near(np.sqrt(var), f"std({a}{text})", size / np.where(least > 0, least, 1), dtype)
            n, ddof = np.prod([x.shape[axis] for axis in axes]), self.random.choice([0.5, 1])
            if n > 1:
                var, size = wide_x.var(axes, keepdims=keeps, ddof=ddof), size * n / (n - ddof)
                self.near(var, f"var({a}, {list(axes)}, {said(keeps)}, {ddof})", size, dtype, 2)

    @differs("sum-types", "quotients")
    def do_missing(self):
        a, x = self.pick(REAL, fits=lambda x: not np.isinf(x).any())
        axis = self.axis(x)
        there = ~np.isnan(x)
        rest = np.where(there, x, x.dtype.type(0))
        self.total(lambda x: x.sum(axis), f"nansum({a}, {axis})", rest, dtype=sum_type(x.dtype))
        self.products(lambda x: x.prod(axis), f"nanprod({a}, {axis})", np.where(there, x, x.dtype.type(1)))
        n = there.sum(axis)
        if x.shape[axis] and (n > 0).all():
            dtype = quotient_type(x.dtype)
            mean, size = (np.divide(f(cast(rest, dtype)).sum(axis), n) for f in (wide, size_of))
            self.near(mean, f"nanmean({a}, {axis})", size, dtype)
            known = np.where(there, wide(cast(rest, dtype)), np.nan)
            square = np.divide((4 * size_of(cast(rest, dtype)) ** 2).sum(axis), n)
            self.near(np.nanvar(known, axis), f"nanvar({a}, {axis})", square, dtype)
            largest, least = (extreme(x, (axis % x.ndim,), False, of_largest) for of_largest in (True, False))
            self.add(largest - least, f"ptp({a}, {axis})")
            self.add(largest, f"nanmax({a}, {axis})")
            self.add(least, f"nanmin({a}, {axis})")
            middle = np.nanmedian(known, axis)
            self.near(middle, f"nanmedian({a}, {axis})", size_of(cast(rest, dtype)).max(axis), dtype, 3)

    def do_shares(self):
        a, x = self.pick(["f", "d"], fits=lambda x: is_tame(x) and x.size > 0)
        axis, y = self.axis(x), wide(x)
        parts = np.exp(y - y.max(axis, keepdims=True))
        total = parts.sum(axis, keepdims=True)
        ones = np.ones(x.shape)
        self.near(parts / total, f"softmax({a}, {axis})", ones, x.dtype, 4)
        logs = y - y.max(axis, keepdims=True) - np.log(total)
        self.near(logs, f"log_softmax({a}, {axis})", ones + size_of(x) + np.abs(logs), x.dtype, 4)
        whole = (y.max(axis, keepdims=True) + np.log(total)).squeeze(axis)
        self.near(whole, f"logsumexp({a}, {axis})", 1 + size_of(x).max(axis) + np.abs(whole), x.dtype, 4)

    @differs("norms")
    def do_norm(self):
        a, x = self.pick(NUMBERS, fits=is_tame)
        text, axes, keeps = self.axes(x)
        length = np.sqrt((np.abs(wide(cast(x, promoted(x, np.zeros(0, np.float64))))) ** 2).sum(axes, keepdims=keeps))
        self.near(length, f"norm({a}{text})", length, real_type(quotient_type(x.dtype)), 4)
        if all(x.shape[axis] for axis in axes):
            lengths, (order, of) = np.abs(wide(cast(x, promoted(x, np.zeros(0, np.float64))))), self.random.choice([
                ("0", np.count_nonzero), ("1", np.sum), ("inf", np.max), ("-inf", np.min),
                ("3", lambda x, axes, keepdims: (x**3).sum(axes, keepdims=keepdims) ** (1 / 3)),
            ])  # fmt: skip
            value, code = of(lengths, axes, keepdims=keeps), f"norm({a}, {list(axes)}, {said(keeps)}, {order})"
            self.near(value, code, value, real_type(quotient_type(x.dtype)), 8)

    def do_close(self):
        a, x = self.pick(NUMBERS, fits=is_finite)
        x, step = wide(x), self.random.choice([0, 1e-7, 0.25])
        near = np.asarray(np.allclose(x + step, x, 1e-3, 1e-6))
        self.want(near, None, f"MaskC(allclose(TensorX{letter(x)}C({a}) + {step}, {a}, 1e-3, 1e-6))")

    @differs("counts")
    def do_truth(self):
        a, x = self.pick(["m"])
        text, axes, keeps = self.axes(x)
        for name, value in [
            ("any", x.any(axes, keepdims=keeps)),
            ("all", x.all(axes, keepdims=keeps)),
            ("count", np.count_nonzero(x, axes, keepdims=keeps)),
        ]:
            value = np.asarray(value)
            code = f"{name}({a}{text})"
            if value.ndim == 0:
                # Of all entries it is a number of the script.
                kind = "MaskC" if value.dtype == bool else "UInt64C"
                self.want(value.astype(np.uint64) if name == "count" else value, None, f"{kind}({code})")
            else:
                self.add(value if name != "count" else value.astype(np.uint64), code)

    @differs("counts")
    def do_count_nonzero(self):
        a, x = self.pick(ALL)
        text, axes, keeps = self.axes(x)
        value = np.asarray(np.count_nonzero(x, axes, keepdims=keeps)).astype(np.uint64)
        code = f"count_nonzero({a}{text})"
        if value.ndim == 0:
            self.want(value, None, f"UInt64C({code})")
        else:
            self.add(value, code)

    @differs("nan", "order", "unsigned-places")
    def do_extreme_places(self):
        a, x = self.pick(REAL)
        text, axis, keeps = self.one_axis(x)
        rows, of_axis = (x.reshape(-1), 0) if axis is None else (x, axis)
        for name, largest in [("argmin", False), ("argmax", True)]:
            if not rows.shape[of_axis]:
                self.refused(f"{name}({a}{text})")
                continue
            value = extreme_place(rows, of_axis, largest)
            if keeps:
                value = value.reshape([1] * x.ndim) if axis is None else np.expand_dims(value, axis)
            self.add(value, f"{name}({a}{text})")

    @differs("quotients")
    def do_quantiles(self):
        a, x = self.pick(REAL, fits=lambda x: not np.isinf(x).any())
        text, axis, keeps = self.one_axis(x)
        dtype, size = quotient_type(x.dtype), size_of(x).max(initial=0)
        x = wide(cast(x, dtype))
        extents = [1] * x.ndim if axis is None else [1 if i == axis % x.ndim else n for i, n in enumerate(x.shape)]
        shape = tuple(extents) if keeps else np.sum(x, axis).shape
        part = self.random.choice([0.0, 0.25, 0.3, 0.5, 0.9, 1.0])
        is_empty = x.size == 0 and 0 in ([x.size] if axis is None else [x.shape[axis]])
        for code, of in [
            (f"median({a}{text})", lambda: np.median(x, axis)),
            (f"quantile({a}, {part}{text})", lambda: np.quantile(x, part, axis)),
            (f"percentile({a}, {100 * part}{text})", lambda: np.percentile(x, 100 * part, axis)),
            (f"nanquantile({a}, {part}{text})", lambda: np.nanquantile(x, part, axis)),
        ]:
            value = np.full(shape, np.nan) if is_empty else of().reshape(shape)
            self.near(value, code, np.full(shape, size), dtype, 3)
        parts = self.random.choice([[0.25, 0.5], [0.0, 0.3, 1.0], [[0.1, 0.5], [0.75, 0.9]]])
        shape = np.shape(parts) + shape
        said_parts = f"TensorXdC({parts})" if np.ndim(parts) > 1 or self.flip() else str(parts)
        value = np.full(shape, np.nan) if is_empty else np.quantile(x, parts, axis).reshape(shape)
        self.near(value, f"quantile({a}, {said_parts}{text})", np.full(shape, size), dtype, 3)

    @differs("order", "unsigned-places")
    def do_order(self):
        a, x = self.pick(ALL, fits=lambda x: not is_complex(x) or is_finite(x))
        axis = self.axis(x)
        text = "" if axis in (-1, x.ndim - 1) and self.flip() else f", {axis}"
        if is_complex(x):
            # By real parts, then by imaginary ones; no zero is below another.
            order = np.argsort(x + 0, axis, kind="stable")
            self.add(order.astype(np.uint32), f"argsort({a}{text})")
            return self.add(np.take_along_axis(x, order, axis), f"sort({a}{text})")
        for suffix, descends in [("", False), ("_desc", True)]:
            order = argsort(x, axis, descends)
            self.add(order, f"argsort{suffix}({a}{text})")
            self.add(np.take_along_axis(x, order.astype(int), axis), f"sort{suffix}({a}{text})")

    @differs("sum-types", "complex-reductions")
    def do_prefix(self):
        a, x = self.pick(ALL)
        axis, dtype = self.axis(x), sum_type(x.dtype)
        self.total(lambda x: np.cumsum(x, axis), f"cumsum({a}, {axis})", x, dtype=dtype)
        if x.size != 1:
            self.total(lambda x: np.cumsum(x), f"cumsum({a})", x, dtype=dtype)
        if not is_complex(x) or is_finite(x):
            self.products(lambda x: np.cumprod(x, axis), f"cumprod({a}, {axis})", x)
        if letter(x) != "m":
            self.add(np.diff(x, axis=axis), f"diff({a}, {axis})")
        if not is_complex(x) and letter(x) != "m":
            for name, largest in [("cummin", False), ("cummax", True)]:
                ends = range(1, x.shape[axis] + 1)
                upto = [extreme(x.take(range(end), axis), (axis % x.ndim,), True, largest) for end in ends]
                self.add(np.concatenate([x.take([], axis), *upto], axis), f"{name}({a}, {axis})")

    def large(self, letters, shape):
        letter, n = self.random.choice(letters), int(np.prod(shape))
        factor, period = self.random.choice([3, 7, 11]), self.random.choice([13, 19])
        least = 0 if letter in UNSIGNED else period // 2
        x = (np.arange(n) * factor % period - least).astype(TYPES[letter]).reshape(shape)
        code = f"TensorX{letter}C(Int32C::arange({n}) * {factor} % {period} - {least}, {list(shape)})"
        return self.line(code), x

    def last(self, value, code):
        """A large value, of which nothing is made; sums are exact, if they fit."""
        if letter(value) != "h" or np.abs(value.astype(float)).max(initial=0) < 2000:
            self.want(value, None, code)

    @differs("sum-types", "order", "nan")
    def do_large(self):
        if not self.flip(0.2):
            raise UnfitError
        shapes = [(5000,), (70, 130), (3, 40, 50), (4100, 3), (2, 4097), (8200,), (129, 65), (1, 9000), (2, 1, 8193)]
        shape = self.random.choice(shapes)
        a, x = self.large(REAL, shape)
        if x.ndim > 1 and self.flip():
            a, x = f"{a}.T", x.T
        axis, largest = self.axis(x), self.flip()
        rest = {"axis": axis % x.ndim, "keepdims": self.flip()}
        text = f"{axis}, {said(rest['keepdims'])}"
        self.last(x.sum(**rest, dtype=sum_type(x.dtype)), f"hsum({a}, {text})")
        name = "max" if largest else "min"
        self.last(extreme(x, (rest["axis"],), rest["keepdims"], largest), f"h{name}({a}, {text})")
        self.last(extreme_place(x, axis, largest), f"arg{name}({a}, {axis})")
        order = argsort(x, axis)
        self.last(order, f"argsort({a}, {axis})")
        self.last(np.take_along_axis(x, order.astype(int), axis), f"sort({a}, {axis})")
        self.last(np.cumsum(x, axis, dtype=sum_type(x.dtype)), f"cumsum({a}, {axis})")
        self.last(np.roll(x, 1000, axis), f"roll({a}, 1000, {axis})")
        mask = x > 2
        self.last(np.count_nonzero(mask, axis).astype(np.uint64), f"count({a} > 2, {axis})")
        self.last(x.T.reshape(-1)[mask.T.reshape(-1)], f"compress({a}.T, {a}.T > 2)")
        keys = np.arange(len(x)) % 7
        sums = np.stack([x[keys == key].sum(0, dtype=sum_type(x.dtype)) for key in range(7)])
        self.last(sums, f"segment_sum({a}, UInt32C::arange({len(x)}) % 7, 7)")
