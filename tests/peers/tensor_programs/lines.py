"""What programs are made of: lines, tensors to take, axes."""

import random

import numpy as np

from .meaning import (
    ARRAYS, COMPLEX, TYPES, binary_places, cast, differs, is_complex, is_float, joined, letter, promoted,
    real_type, size_of, sum_type, wide,
)  # fmt: skip

MOST_ENTRIES = 2000
MOST_AXES = 5

# What an error may be of the sum of the absolute values that were added; halves are rounded once.
PRECISION = {np.dtype(np.float16): 1e-3, np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-13}
# Sums beyond may overflow, or not.
LARGEST = {np.dtype(np.float16): 6e4, np.dtype(np.float32): 1e37, np.dtype(np.float64): 1e300}

# What stands for the value of a line that is an error.
REFUSED = object()


class UnfitError(Exception):
    """There is no tensor for a step; another step is taken."""


def said(number):
    """A number as scripts write it."""
    if isinstance(number, (bool, np.bool_)):
        return str(bool(number)).lower()
    if isinstance(number, (int, np.integer)):
        return hex(number) if number >= 1 << 63 else str(int(number))
    return repr(float(number))


def said_list(numbers):
    return f"[{', '.join(said(number) for number in numbers)}]"


def nested(x):
    """Lists in lists of the entries."""
    return said(x[()]) if x.ndim == 0 else f"[{', '.join(nested(row) for row in x)}]"


def is_finite(x):
    return bool(np.isfinite(x).all())


def is_tame(x):
    """Whether entries are finite, and small enough for products in every type."""
    return is_finite(x) and np.abs(x.astype(complex)).max(initial=0) < 100


class Lines:
    """A script on its way; its values by name, with the errors that they may have, none for the same bits."""

    def __init__(self, seed, without=()):
        self.seed, self.random = seed, random.Random(seed)
        self.lines, self.step_of, self.pool, self.wanted = {}, {}, {}, {}
        steps = [name for name in dir(self) if name.startswith("do_") and name not in without]
        while len(self.step_of) == 0 or self.random.random() < 0.96:
            self.step = self.random.choice(steps)
            try:
                getattr(self, self.step)()
            except UnfitError:
                continue

    def line(self, code, then=""):
        """A line that defines a name, and what is done with IT next."""
        name = f"t{len(self.lines)}"
        evaluates = " eval(IT);" if self.random.random() < 0.1 else ""
        self.lines[name] = f"IT = {code};{then}{evaluates}".replace("IT", name)
        self.step_of[name] = self.step
        return name

    def want(self, value, error, code, then=""):
        name = self.line(code, then)
        self.wanted[name] = (value, error)
        return name

    def add(self, value, code, then=""):
        """A value of the same bits, of which more is made unless it is too large, or mostly NaN."""
        value = np.asarray(value)
        if value.size > MOST_ENTRIES:
            return None
        name = self.want(value, None, code, then)
        if value.ndim <= MOST_AXES and np.isfinite(value).sum() >= value.size / 2:
            self.pool[name] = value
        return name

    @differs("lone-lanes")
    def add_array(self, value, code):
        """An array, which of one lane is a number."""
        return self.add(value.reshape(() if value.size == 1 else value.shape), code)

    def near(self, value, code, size, dtype, steps=1):
        """A value up to rounding: an error is a part of a size, once a step."""
        part = real_type(dtype)
        size = np.asarray(size, np.float64)
        if np.size(value) > MOST_ENTRIES or not size.max(initial=0) < LARGEST[part]:
            return
        error = steps * (PRECISION[part] * size + 4 * float(np.finfo(part).smallest_subnormal))
        self.want(np.asarray(value).astype(dtype), error, code)

    def total(self, of, code, *xs, dtype=None, steps=1):
        """Sums of products of entries, as `of` has them in NumPy: those of integers and of small floats are exact."""
        dtype = np.dtype(dtype or promoted(*xs))
        xs = [cast(x, dtype) for x in xs]
        if not is_float(dtype):
            return self.add(np.asarray(of(*xs)).astype(dtype), code)
        value, size = np.asarray(of(*map(wide, xs))), np.asarray(of(*map(size_of, xs)))
        digits = sum(map(binary_places, xs))
        parts = np.stack([value.real, value.imag]) if is_complex(value) else value
        # The sign of a zero depends on the order of a sum.
        is_exact = is_finite(value) and parts.all() and all(map(is_finite, xs))
        if is_exact and size.max(initial=0) * 2.0**digits < 2.0 ** (np.finfo(dtype).nmant + 1):
            return self.add(value.astype(dtype), code)
        return self.near(value, code, size, dtype, steps)

    def products(self, of, code, x):
        """Products of entries, which keep no small absolute error."""
        dtype = sum_type(x.dtype)
        if is_float(dtype):
            value, sizes = np.asarray(of(wide(x))), size_of(x)
            size = np.where(np.isfinite(value), np.abs(value), 0)
            # Nothing overflows on the way, and nothing loses bits.
            bounds = np.prod(np.maximum(sizes, 1)), 1 / np.prod(np.minimum(sizes[sizes > 0], 1))
            return self.near(value, code, size, dtype, 4) if max(bounds) < LARGEST[real_type(dtype)] else None
        return self.add(np.asarray(of(cast(x, dtype))).astype(dtype), code)

    def refused(self, code):
        """A line that is an error, when it is recorded or when it is read."""
        self.want(REFUSED, None, code, " eval(IT); sync();")

    def entries(self, letter, extents):
        n, pick = int(np.prod(extents)), self.random.choice
        if letter in COMPLEX:
            return joined(*(self.entries("f" if letter == "c" else "d", extents) for _ in range(2)))
        dtype = np.dtype(TYPES[letter])
        if letter == "m":
            return np.array([self.random.random() < 0.5 for _ in range(n)], bool).reshape(extents)
        least = 0 if dtype.kind == "u" else -9
        if dtype.kind == "f":
            # Quarters, half of the time wholes.
            numbers = [self.random.randint(4 * least, 36) for _ in range(n)]
            entries = np.array(numbers, dtype) / dtype.type(4)
            bounds = np.finfo(dtype)
            special = [np.nan, np.inf, -np.inf, -0.0, 0.0, bounds.max, bounds.smallest_subnormal]
            if self.random.random() < 0.5:
                entries = np.trunc(entries)
        else:
            entries = np.array([self.random.randint(least, 9) for _ in range(n)], dtype)
            special = [np.iinfo(dtype).max, np.iinfo(dtype).min]
        if n and self.random.random() < 0.15:
            for _ in range(self.random.randint(1, 3)):
                entries[self.random.randrange(n)] = pick(special)
        return entries.reshape(extents)

    def extents(self, rank):
        extents = [self.random.choice([0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 5, 7]) for _ in range(rank)]
        if rank and np.prod(extents) < 50 and self.flip(0.1):
            extents[self.random.randrange(rank)] = self.random.choice([8, 15, 16, 17, 31, 32, 33])
        return extents

    def fresh(self, letters, extents=None):
        """The name of another tensor, and the same in NumPy."""
        extents = self.extents(self.random.randint(1, 3)) if extents is None else list(extents)
        if np.prod(extents) > MOST_ENTRIES:
            raise UnfitError
        x = self.entries(self.random.choice(letters), extents)
        return self.add(x, self.literal(x)), x

    def literal(self, x):
        """A tensor as a script writes it, plain or turned; an array where it is one."""
        if x.ndim > 1 and self.flip(0.3):
            return f"{self.literal(x.T)}.T"
        if x.size and x.ndim and self.flip(0.3):
            lists = ", ".join(nested(part) for part in ([x.real, x.imag] if is_complex(x) else [x]))
            return f"TensorX{letter(x)}C({lists})"
        if is_complex(x):
            parts = f"{said_list(x.real.reshape(-1))}, {said_list(x.imag.reshape(-1))}"
            return f"reshape(TensorX{letter(x)}C({parts}), {list(x.shape)})"
        numbers = said_list(x.reshape(-1))
        if x.ndim == 1 and x.size != 1 and self.flip():
            return f"{ARRAYS[letter(x)]}({numbers})"
        if x.ndim == 0:
            return f"TensorX{letter(x)}C({said(x[()])})"
        return f"TensorX{letter(x)}C({numbers}, {list(x.shape)})"

    def pick(self, letters, ranks=range(1, MOST_AXES + 1), fits=lambda x: True):
        """One of the tensors that fit, or a fresh one."""
        names = [name for name, x in self.pool.items() if letter(x) in letters and x.ndim in ranks and fits(x)]
        if names and self.random.random() < 0.8:
            name = self.random.choice(names)
            return name, self.pool[name]
        for _ in range(5):
            name, x = self.fresh(letters, self.extents(self.random.choice([n for n in ranks if n < 4])))
            if fits(x):
                return name, x
        raise UnfitError

    def beside(self, shape, letters, fits=lambda x: True):
        """A tensor that broadcasts with a shape."""

        def broadcasts(x):
            try:
                return np.prod(np.broadcast_shapes(x.shape, shape)) <= MOST_ENTRIES and fits(x)
            except ValueError:
                return False

        names = [name for name, x in self.pool.items() if letter(x) in letters and broadcasts(x)]
        if names and self.random.random() < 0.5:
            name = self.random.choice(names)
            return name, self.pool[name]
        shape = [1 if self.random.random() < 0.2 else extent for extent in shape]
        for _ in range(5):
            name, x = self.fresh(letters, shape[self.random.choice([0, 0, 0, len(shape) // 2, len(shape)]) :])
            if fits(x):
                return name, x
        raise UnfitError

    def flip(self, part=0.5):
        return self.random.random() < part

    def axis(self, x):
        if not x.ndim:
            raise UnfitError
        return self.random.randrange(-x.ndim, x.ndim)

    def axes(self, x):
        """Axes as arguments behind a tensor, and as NumPy has them: one, several, or all."""
        chosen = self.random.sample(range(x.ndim), self.random.randint(1, x.ndim))
        chosen = [axis - x.ndim if self.flip(0.3) else axis for axis in chosen]
        text = str(chosen[0] if len(chosen) == 1 and self.flip() else chosen)
        keeps = self.flip(0.4)
        if self.flip(0.2):
            chosen = list(range(x.ndim))
            if self.flip():
                return "", tuple(chosen), False
            text = "all"
        text += f", {said(keeps)}" if keeps or self.flip(0.2) else ""
        return f", {text}", tuple(axis % x.ndim for axis in chosen), keeps

    def one_axis(self, x):
        """As `axes`, but one or all; all are None."""
        keeps, axis = self.flip(0.4), self.axis(x)
        if self.flip(0.2):
            return ("", None, False) if self.flip() else (f", all, {said(keeps)}", None, keeps)
        return f", {axis}, {said(keeps)}", axis, keeps

    def tensor(self, a, x):
        """The name of a tensor where it may be an array, which has no members, and other indices."""
        return a if x.ndim > 1 else self.line(f"TensorX{letter(x)}C({a})")
