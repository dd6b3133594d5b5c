"""Steps that sum products."""

from functools import reduce

import numpy as np

from .lines import LARGEST, MOST_ENTRIES, Lines, UnfitError, is_finite, is_tame
from .meaning import (
    ALL, NUMBERS, REAL, cast, common, differs, is_complex, is_float, letter, product, promoted, size_of,
    sum_type, times, wide,
)  # fmt: skip


class Multiply(Lines):
    def matrix_for(self, x, letters):
        """What x can be multiplied by, plain or turned around."""
        n, before = x.shape[-1], list(x.shape[:-2])
        before = before[self.random.choice([0, 0, len(before) // 2]) :]
        before = [1 if self.flip(0.2) else 3 if extent == 1 and self.flip() else extent for extent in before]
        if self.flip(0.2):
            return self.fresh(letters, [n])
        columns = self.random.choice([0, 1, 2, 3, 4, 9])
        if self.flip():
            return self.fresh(letters, before + [n, columns])
        if self.flip(0.3):
            name, y = self.fresh(letters, before + [n, 2 * columns])
            return f"{name}[[{'all, ' * (len(before) + 1)}range(0, {2 * columns}, 2)]]", y[..., ::2]
        name, y = self.fresh(letters, before + [columns, n])
        return f"moveaxis({name}, -1, -2)", np.swapaxes(y, -1, -2)

    @differs("vector-products")
    def do_matmul(self):
        a, x = self.pick(NUMBERS, fits=lambda x: is_tame(x) or not is_complex(x))
        b, y = f"moveaxis({a}, -1, -2)", np.swapaxes(x, -1, -2) if x.ndim > 1 else x
        if x.ndim == 1 or self.flip(0.8):
            b, y = self.matrix_for(x, NUMBERS)
        if is_complex(x) and not is_finite(y) or is_complex(y) and not (is_finite(y) and is_finite(x)):
            return
        # An array in front makes dot that of arrays.
        name = "dot" if x.ndim > 1 and self.flip() else "matmul"
        code = self.random.choice([f"{a} @ {b}", f"{name}({a}, {b})"])
        dtype = promoted(x, y)
        if min(x.ndim, y.ndim) == 1 and not is_float(dtype):
            # Products wrap in their own type, sums in theirs.
            columns, rows = (y[:, None] if y.ndim == 1 else y), np.atleast_2d(x)
            each = cast(rows, dtype)[..., :, :, None] * cast(columns, dtype)[..., None, :, :]
            value = each.sum(-2).astype(sum_type(dtype))
            value = value[..., 0] if y.ndim == 1 else value
            value = value if x.ndim > 1 else value[..., 0, :] if y.ndim > 1 else value[..., 0]
            self.add(value, code)
        else:
            self.total(product, code, x, y)

    @differs("vector-products")
    def do_dots(self):
        a, x = self.pick(NUMBERS, fits=is_tame)
        b, y = self.fresh(NUMBERS, x.shape)
        if not is_tame(y):
            return
        dtype = promoted(x, y)
        for name, of in [("inp", lambda x, y: (x * np.conj(y)).sum()), ("vdot", lambda x, y: (np.conj(x) * y).sum())]:
            if is_float(dtype):
                self.total(of, f"{name}({a}, {b})", x, y, steps=2)
            else:
                products = cast(x, dtype) * cast(y, dtype)
                self.add(products.sum().astype(sum_type(dtype)), f"{name}({a}, {b})")

    def do_outer(self):
        a, x = self.pick(NUMBERS, range(1, 4), is_tame)
        b, y = self.pick(NUMBERS, range(1, 3), is_tame)
        if x.size * y.size <= MOST_ENTRIES:
            left, right = common(x.reshape(x.shape + (1,) * y.ndim), y)
            products = times(left, right)
            self.add(products, f"outer({a}, {b})")
            value = np.kron(np.ones(x.shape, bool), np.ones(y.shape, bool))
            rank = max(x.ndim, y.ndim)
            own, theirs = ((1,) * (rank - z.ndim) + z.shape for z in (x, y))
            pairs = products.reshape(own + theirs).transpose([k for i in range(rank) for k in (i, rank + i)])
            self.add(pairs.reshape(value.shape), f"kron({a}, {b})")
        b, y = self.fresh([letter(x)], x.shape[:-1] + (3,))
        c, z = self.fresh([letter(x)], [3])
        if is_tame(y) and is_tame(z):
            rows = [(1, 2), (2, 0), (0, 1)]
            parts = [times(y[..., i], z[j]) - times(y[..., j], z[i]) for i, j in rows]
            self.add(np.stack(parts, -1), f"cross({b}, {c})")

    def do_tensordot(self):
        a, x = self.pick(NUMBERS, fits=is_tame)
        n = self.random.randint(0, x.ndim)
        own, extents = self.random.sample(range(x.ndim), n), self.extents(self.random.randint(0, 2))
        places = sorted(self.random.sample(range(n + len(extents)), n))
        theirs = self.random.sample(places, n)
        shape, rest = [0] * (n + len(extents)), list(extents)
        for axis, other in zip(own, theirs):
            shape[other] = x.shape[axis]
        shape = [shape[i] if i in theirs else rest.pop() for i in range(len(shape))]
        if not shape or x.size * np.prod(shape) > 20 * MOST_ENTRIES:
            return
        b, y = self.fresh(NUMBERS, shape)
        if is_tame(y):
            text = f"{[axis - x.ndim if self.flip(0.3) else axis for axis in own]}, {theirs}"
            self.total(lambda x, y: np.tensordot(x, y, (own, theirs)), f"tensordot({a}, {b}, {text})", x, y)
        other, z = self.fresh(NUMBERS, x.shape[x.ndim - n :] + tuple(extents))
        if is_tame(z) and z.ndim:
            self.total(lambda x, z: np.tensordot(x, z, n), f"tensordot({a}, {other}, {n})", x, z)
        other, z = self.fresh(NUMBERS, extents + [x.shape[-1]])
        if is_tame(z):
            self.total(np.inner, f"inner({a}, {other})", x, z)

    @differs("traces")
    def do_squares(self):
        a, x = self.pick(NUMBERS, [2, 3], lambda x: is_tame(x) and x.shape[-1] == x.shape[-2])
        n = self.random.randint(0, 3)
        if n:
            self.total(lambda *xs: reduce(np.matmul, xs), f"matrix_power({a}, {n})", *[x] * n, steps=n)
        else:
            self.add(np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape), f"matrix_power({a}, {n})")
        b, y = self.pick(ALL, [2])
        self.total(np.trace, f"trace({b})", y, dtype=sum_type(y.dtype))

    def do_einsum(self):
        """One to four tensors; axes of a letter have one extent, or some of them one entry."""
        extents, terms, names, xs = {}, [], [], []
        for _ in range(self.random.choice([1, 2, 2, 3, 4])):
            a, x = self.pick(NUMBERS, range(1, 4), is_tame)
            term, own = "", {}
            for extent in x.shape:
                # An entry alone stands for all of another tensor's.
                fits = [name for name, known in extents.items() if extent in (known, 1)]
                fits = [name for name in fits if own.get(name, extent) == extent]
                free = next(name for name in "ijklmnopqrstuvwxyz" if name not in extents)
                name = self.random.choice(fits) if fits and self.flip(0.6) else free
                term, own[name] = term + name, extent
                extents[name] = extent if extent != 1 else extents.get(name, 1)
            terms.append(term)
            names.append(a)
            xs.append(x)
        used = sorted(set("".join(terms)))
        if np.prod([float(extents[name]) for name in used]) > 20 * MOST_ENTRIES:
            return
        spec = ",".join(terms)
        if self.flip(0.8):
            spec += f"->{''.join(self.random.sample(used, self.random.randint(0, len(used))))}"
        # Between two products halves are rounded, and may overflow.
        dtype, largest = promoted(*xs), np.prod([size_of(x).max(initial=1) for x in xs])
        if dtype == np.float16 and len(xs) > 2 and 100 * largest > LARGEST[dtype]:
            return
        steps = 2 * len(xs)
        # Sums of one tensor are those of hsum.
        letters = "".join(terms)
        kept = spec.partition("->")[2] if "->" in spec else [name for name in used if letters.count(name) == 1]
        dtype = sum_type(xs[0].dtype) if len(xs) == 1 and set(used) - set(kept) else None
        self.total(lambda *xs: np.einsum(spec, *xs), f'einsum("{spec}", {", ".join(names)})', *xs, dtype=dtype, steps=steps)

    def do_einsum_rest(self):
        """Axes without names broadcast."""
        a, x = self.pick(NUMBERS, range(2, 5), is_tame)
        b, y = self.fresh(NUMBERS, [1 if self.flip(0.3) else n for n in x.shape[1:]])
        if is_tame(y):
            specs = ["...i,...i->...", "...i,...i->i...", "...i,...j->...ij", "...i,...i", "...,...->..."]
            spec = self.random.choice(specs)
            self.total(lambda x, y: np.einsum(spec, x, y), f'einsum("{spec}", {a}, {b})', x, y, steps=2)
        spec = self.random.choice(["...ij->...ji", "...ij->...", "i...->...i", "i...->...", "...i->..."])
        terms, kept = spec.split("->")
        dtype = sum_type(x.dtype) if set(terms) - set(kept) else None
        self.total(lambda x: np.einsum(spec, x), f'einsum("{spec}", {a})', x, dtype=dtype, steps=2)

    def do_large_product(self):
        if not self.flip(0.2):
            raise UnfitError
        sides = [(70, 130, 33), (3, 4100, 5), (17, 8200, 2), (129, 65, 130), (1, 300, 200), (64, 64, 64)]
        m, k, n = self.random.choice(sides)
        batch = self.random.choice([(), (), (2,), (3, 1)]) if k < 200 else ()
        letters = [self.random.choice(REAL)]
        a, x = self.large(letters, batch + ((m, k) if self.flip() else (k, m)))
        b, y = self.large(letters, (k, n) if self.flip() else (n, k))
        if x.shape[-1] != k:
            a, x = f"moveaxis({a}, -1, -2)", np.swapaxes(x, -1, -2)
        if y.shape[-2] != k:
            b, y = f"{b}.T", y.T
        self.last(cast(wide(x) @ wide(y), x.dtype) if is_float(x.dtype) else x @ y, f"{a} @ {b}")
