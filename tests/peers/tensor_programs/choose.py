"""Steps that choose entries by masks, numbers and keys, and count them."""

import numpy as np

from .lines import Lines, is_finite, said_list
from .meaning import (
    ALL, ARRAYS, INTEGERS, REAL, bins, cast, counts, differs, extreme, is_complex, is_float, letter, promoted,
    quotient_type, segments, size_of, sum_type, unique, wide,
)  # fmt: skip


class Choose(Lines):
    def do_choose(self):
        a, x = self.pick(ALL)
        axis = self.axis(x)
        truths = self.entries("m", [x.shape[axis]])
        if truths.size != 1:
            self.add(np.compress(truths, x, axis), f"compress({a}, {self.literal(truths)}, {axis})")
        b, mask = self.fresh(["m"], x.shape)
        self.add_array(x[mask], f"compress({a}, {b})")
        for i, numbers in enumerate(np.nonzero(x)):
            self.add_array(numbers.astype(np.uint32), f"nonzero({a})[{i}]")
        self.add(np.argwhere(x).astype(np.uint32), f"argwhere({a})")
        self.add_array(np.flatnonzero(x).astype(np.uint32), f"flatnonzero({a})")
        numbers = [self.random.randrange(x.size) for _ in range(self.random.randint(2, 5))] if x.size else []
        shape = x.shape if x.size else (2, 0, 3)
        for i, places in enumerate(np.unravel_index(np.array(numbers, int), shape)):
            code = f"unravel_index(UInt32C({numbers}), {list(shape)})[{i}]"
            self.add_array(places.astype(np.uint32), code)
        if not is_complex(x):
            own = unique(x)
            self.add_array(own, f"unique({a})")
            same = (x[..., None] == own) | ((x != x)[..., None] & (own != own))
            self.add_array(own, f"unique_counts({a})[0]")
            self.add_array(same.sum(tuple(range(x.ndim))).astype(np.uint32), f"unique_counts({a})[1]")
            if x.size:
                self.add(same.argmax(-1).astype(np.uint32), f"unique_inverse({a})[1]")

    def do_fill(self):
        a, x = self.pick(ALL, [1], lambda x: x.size > 0)
        b, mask = self.fresh(["m"], x.shape)
        n = int(mask.sum())
        if n < 2 or n in (x.shape[-1], 1):
            return
        c, values = self.fresh([letter(x)], [n])
        value = x.copy()
        value[mask] = values
        self.add(value, f"copy({self.tensor(a, x)})", f" IT[{b}] = {c};")

    @differs("promotion")
    def do_among(self):
        a, x = self.pick(REAL + ["m"])
        b, y = self.pick(["m"] if letter(x) == "m" else REAL)
        dtype = promoted(x, y)
        self.add(np.isin(cast(x, dtype), cast(y, dtype)), f"isin({a}, {b})")
        both = np.concatenate([cast(x, dtype).reshape(-1), cast(y, dtype).reshape(-1)])
        self.add_array(unique(both), f"union1d({a}, {b})")
        own = unique(x)
        found = np.isin(cast(own, dtype), cast(y, dtype))
        self.add_array(own[found], f"intersect1d({a}, {b})")
        self.add_array(own[~found], f"setdiff1d({a}, {b})")
        if letter(x) != "m":
            numbers = [self.random.randint(0, 9) for _ in range(self.random.randint(0, 3))]
            self.add(np.isin(x, np.array(numbers, x.dtype)), f"isin({a}, {numbers})")

    @differs("sum-types", "segments")
    def do_segments(self):
        a, x = self.pick(REAL + ["m"])
        rows, n = x.shape[0], self.random.randint(1, 4)
        keys = np.array([self.random.randrange(n) for _ in range(rows)], np.uint32)
        ends = np.array(sorted(self.random.randint(0, rows) for _ in range(n + 1)), np.uint32)
        between = np.searchsorted(ends, np.arange(rows), "right").astype(int) - 1
        if rows == 1:
            return
        said_keys = f"{ARRAYS[self.random.choice(INTEGERS)]}({said_list(keys)})"
        for numbers, more in [(keys, f"{said_keys}, {n}"), (between, f"UInt32C({said_list(ends)})")]:
            for of in ["sum", "min", "max"] if letter(x) != "m" else ["sum"]:
                value, code = segments(x, numbers, n, of), f"segment_{of}({a}, {more})"
                result = sum_type(x.dtype) if of == "sum" else x.dtype
                if of == "sum" and is_float(x.dtype):
                    size = np.array([size_of(x)[numbers == key].sum(0) for key in range(n)])
                    value = value.reshape(()) if value.size == 1 and value.ndim == 1 else value
                    self.near(value, code, size.reshape(value.shape), result)
                elif value.ndim == 1:
                    self.add_array(value.astype(result), code)
                else:
                    self.add(value.astype(result), code)
        self.add_array(np.bincount(keys, minlength=n).astype(np.uint32), f"segment_count({said_keys}, {n})")
        self.add_array(np.bincount(keys).astype(np.uint32), f"bincount({said_keys})")

    @differs("groups")
    def do_groups(self):
        """The groups are those of pandas rather than NumPy's."""
        a, x = self.pick(INTEGERS, [1], lambda x: x.size > 1)
        b, y = self.fresh(REAL, x.shape)
        keys = unique(x)
        chosen = [y[x == key] for key in keys]
        part = self.random.choice(["key", "count", "sum", "mean", "min", "max"])
        code = f"group_by({a}, {b}).{part}"
        if part in ["key", "count"]:
            self.add_array(keys if part == "key" else np.array([len(y) for y in chosen], np.uint32), code)
        elif part in ["min", "max"]:
            self.add_array(np.array([extreme(y, (0,), False, part == "max") for y in chosen], y.dtype), code)
        elif part == "sum" and not is_float(y.dtype):
            dtype = sum_type(y.dtype)
            self.add_array(np.array([y.sum(dtype=dtype) for y in chosen], dtype), code)
        elif is_finite(y):
            dtype = sum_type(y.dtype) if part == "sum" else quotient_type(y.dtype)
            of = np.sum if part == "sum" else np.mean
            values, sizes = (np.array([of(f(cast(y, dtype))) for y in chosen]) for f in (wide, size_of))
            shape = () if len(keys) == 1 else values.shape
            self.near(values.reshape(shape), code, sizes.reshape(shape), dtype, 2)

    @differs("histogram")
    def do_histogram(self):
        a, x = self.pick(REAL)
        axis, n, m = self.axis(x), self.random.randint(1, 5), self.random.randint(1, 3)
        low = self.random.choice([-9, -2.5, 0, 0.0])
        high = low + self.random.choice([1, 2.5, 12])
        places = np.moveaxis(bins(x, n, low, high), axis, -1)
        rows = places.reshape(int(np.prod(places.shape[:-1])), places.shape[-1])
        value = np.array([counts(row, n) for row in rows], np.uint32).reshape(places.shape[:-1] + (n,))
        self.add(value, f"histogram({a}, {n}, {low}, {high}, {axis})")
        if n > 1:
            self.add(counts(bins(x, n, low, high).reshape(-1), n), f"histogram({a}, {n}, {low}, {high})")
        bounds = np.array(sorted(self.random.sample(range(-20, 20), self.random.randint(3, 5))), float) / 2
        edges = self.random.choice([f"{said_list(bounds)}", f"Float64C({said_list(bounds)})"])
        flat = wide(x).reshape(-1)
        found = np.histogram(flat[np.isfinite(flat)], bounds)[0]
        self.add(found.astype(np.uint32), f"histogram({a}, {edges})")
        down = f"{ARRAYS['d']}({said_list(bounds[::-1])})"
        right = self.flip()
        places = np.digitize(wide(x), bounds[::-1], right)
        self.add(places.astype(np.uint32), f"digitize({a}, {down}, {str(right).lower()})")
        b, y = self.fresh(REAL, x.shape)
        i, j = bins(x, n, low, high), bins(y, m, -4, 4)
        both = np.where((i >= 0) & (j >= 0), i * m + j, -1).reshape(-1)
        self.add(counts(both, n * m).reshape(n, m), f"histogram2d({a}, {b}, [{n}, {m}], {low}, {high}, -4, 4)")
