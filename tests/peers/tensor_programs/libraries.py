"""Steps of linear algebra and Fourier transforms: factors are compared by what they multiply to."""

import numpy as np
from scipy.linalg import expm

from .lines import Lines, is_tame, said_list
from .meaning import (
    ALL, COMPLEX, FLOATS, LETTERS, NUMBERS, REAL, SIGNED, TYPES, cast, complex_type, differs, float_type,
    is_complex, promoted, real_type, size_of, wide,
)  # fmt: skip


class Libraries(Lines):
    def matrices(self, is_square=False, scales=False):
        a, x = self.pick(NUMBERS, range(2, 5), lambda x: is_tame(x) and (not is_square or x.shape[-1] == x.shape[-2]))
        if is_square and self.flip(0.3):
            a, x = self.sparse_matrices()
        dtype = float_type(x.dtype)
        x_wide = wide(cast(x, dtype))
        # Libraries scale what would overflow on the way.
        if scales and real_type(dtype) == np.float64 and self.flip(0.2):
            scale = self.random.choice([2.0**-600, 2.0**600])
            a, x_wide = f"({a} * {scale!r})", x_wide * scale
        return a, x_wide, x.dtype

    def sparse_matrices(self):
        """Small numbers, most of them 0: without full rank, with equal eigenvalues and too few eigenvectors."""
        n, numbers = self.random.randint(1, 6), [0, 0, 0, 0, 1, 1, -1, 2, -3]
        dtype = TYPES[self.random.choice(FLOATS + SIGNED + COMPLEX)]
        x = np.array([self.random.choice(numbers) for _ in range(8 * n * n)], dtype).reshape(8, n, n)
        return self.add(x, self.literal(x)), x

    def is_regular(self, x):
        return x.size and np.linalg.cond(x).max() < 1e3

    @differs("library-types", "singular")
    def do_solve(self):
        a, x, own = self.matrices(is_square=True)
        dtype = float_type(own)
        size = np.prod(np.maximum(np.linalg.norm(x, axis=-1), 1e-3), -1)
        self.near(np.linalg.det(x), f"det({a})", size, dtype)
        if not self.is_regular(x):
            return
        condition = np.linalg.cond(x)
        self.near(condition, f"cond({a})", 10 * condition, real_type(dtype))
        inverse = np.linalg.inv(x)
        scale = np.abs(inverse).max()
        self.near(inverse, f"inv({a})", np.full(x.shape, 1e3 * scale), dtype)
        shape = [x.shape[-1]] if self.flip(0.3) else list(x.shape[:-1]) + [self.random.randint(0, 3)]
        b, y = self.fresh(NUMBERS, shape)
        if is_tame(y):
            both = float_type(promoted(x.astype(own), y))
            value = np.linalg.solve(x, wide(y))
            self.near(value, f"solve({a}, {b})", np.full(value.shape, 1e5 * scale), both)
        sign, logarithm = np.linalg.slogdet(x)
        self.near(sign, f"slogdet({a})[0]", np.full(sign.shape, 1e3), dtype)
        self.near(logarithm, f"slogdet({a})[1]", np.full(sign.shape, 1e3), real_type(dtype))

    @differs("library-types")
    def do_exponential(self):
        a, x, own = self.matrices(is_square=True)
        value = expm(x / 16)
        size = np.broadcast_to(np.abs(value).max((-2, -1), keepdims=True, initial=0), value.shape)
        self.near(value, f"expm({a} / 16)", size, float_type(own), 10)

    @differs("library-types")
    def do_least_squares(self):
        a, x, own = self.matrices()
        dtype = float_type(own)
        if not x.size:
            return
        values = np.linalg.svd(x, compute_uv=False)
        largest = values.max(-1, keepdims=True)
        if not np.all((values > 1e-2 * largest) | (values < 1e-10 * largest)):
            return
        rank = (values > 1e-6 * largest).sum(-1)
        self.add(rank.astype(np.uint32), f"matrix_rank({a})")
        inverse = np.linalg.pinv(x, rcond=1e-6)
        scale = 1e3 * np.abs(inverse).max()
        self.near(inverse, f"pinv({a})", np.full(inverse.shape, scale), dtype)
        b, y = self.fresh(REAL, list(x.shape[:-1]) + [2] if x.ndim > 2 or self.flip() else [x.shape[0]])
        if is_tame(y):
            both = float_type(promoted(x.astype(own), y))
            value = inverse @ y
            self.near(value, f"lstsq({a}, {b})", np.full(value.shape, 100 * scale), both)

    @differs("library-types", "lu")
    def do_factors(self):
        a, x, own = self.matrices(scales=True)
        dtype = float_type(own)
        rows, columns = x.shape[-2:]
        n, size = min(rows, columns), np.full(x.shape, 10 * np.abs(x).max(initial=0))
        batch = list(x.shape[:-2])
        ones = np.broadcast_to(np.eye(n), batch + [n, n])
        near_one = np.full(ones.shape, 10.0)
        f = self.line(f"svd({a})")
        self.near(x, f"{f}[0] * expand({f}[1], -2) @ {f}[2]", size, dtype)
        self.near(ones, f"moveaxis(conj({f}[0]), -1, -2) @ {f}[0]", near_one, complex_type(dtype))
        self.near(ones, f"{f}[2] @ moveaxis(conj({f}[2]), -1, -2)", near_one, complex_type(dtype))
        values = np.linalg.svd(x, compute_uv=False)
        large = np.full(values.shape, 10 * np.abs(x).max(initial=0))
        self.near(values, f"{f}[1]", large, real_type(dtype))
        self.near(values, f"singular_values({a})", large, real_type(dtype))
        f = self.line(f"qr({a})")
        self.near(x, f"{f}[0] @ {f}[1]", size, dtype)
        self.near(ones, f"moveaxis(conj({f}[0]), -1, -2) @ {f}[0]", near_one, complex_type(dtype))
        self.lower_is_zero(f"{f}[1]", batch, n, columns, dtype)
        f = self.line(f"lu({a})")
        self.near(x, f"{f}[0] @ {f}[1] @ {f}[2]", size, dtype)
        ones = np.broadcast_to(np.eye(rows), batch + [rows, rows])
        self.near(ones, f"{f}[0] @ moveaxis({f}[0], -1, -2)", 0 * ones, dtype)
        self.lower_is_zero(f"{f}[2]", batch, n, columns, dtype)
        self.lower_is_zero(f"moveaxis({f}[1], -1, -2)", batch, n, rows, dtype)

    def lower_is_zero(self, code, batch, rows, columns, dtype):
        below = np.tri(rows, columns, -1, bool)
        zeros = np.zeros(batch + [rows, columns])
        mask = f"TensorXmC({said_list(below.reshape(-1))}, {[rows, columns]})"
        self.near(zeros, f"select({mask}, {code}, 0)", zeros, dtype)

    @differs("library-types", "halves-of-matrices")
    def do_hermitian(self):
        a, x, own = self.matrices(is_square=True)
        dtype, batch, n = float_type(own), list(x.shape[:-2]), x.shape[-1]
        x, a = x.astype(dtype), self.line(f"TensorX{LETTERS[dtype]}C({a})")
        x, turned = wide(x), f"moveaxis({self.conj(a, x)}, -1, -2)"
        both, code = x + np.conj(np.swapaxes(x, -1, -2)), f"({a} + {turned})"
        values, large = np.linalg.eigvalsh(both), 10 * np.abs(both).max(initial=1) * n
        f = self.line(f"eigh({code})")
        for code in [f"{f}[0]", f"eigvalsh({code})"]:
            self.near(values, code, np.full(values.shape, large), real_type(dtype))
        vectors, rows = f"{f}[1]", f"moveaxis({self.conj(f + '[1]', x)}, -1, -2)"
        self.near(both, f"{vectors} * expand({f}[0], -2) @ {rows}", np.full(x.shape, large), dtype)
        self.near(np.broadcast_to(np.eye(n), x.shape), f"{rows} @ {vectors}", np.full(x.shape, 10.0), dtype)
        gram = x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(n)
        f = self.line(f"cholesky({a} @ {turned} + eye({n}))")
        large = np.full(x.shape, 10 * np.abs(gram).max(initial=1))
        self.near(gram, f"{f} @ moveaxis({self.conj(f, x)}, -1, -2)", large, dtype)
        self.lower_is_zero(f"moveaxis({f}, -1, -2)", batch, n, n, dtype)

    @differs("library-types")
    def do_eigenvalues(self):
        a, x, own = self.matrices(is_square=True, scales=True)
        dtype, both = float_type(own), complex_type(float_type(own))
        a, large = self.line(f"TensorX{LETTERS[dtype]}C({a})"), 10 * np.abs(x).max(initial=0) * x.shape[-1]
        f = self.line(f"eig({a})")
        self.near(0 * x, f"{a} @ {f}[1] - {f}[1] * expand({f}[0], -2)", np.full(x.shape, large), both)
        self.near(np.trace(x, axis1=-2, axis2=-1), f"hsum({f}[0], -1)", np.full(x.shape[:-2], large), both)
        zeros, ones = np.zeros(x.shape[:-1]), np.ones(x.shape[:-1])
        self.near(zeros, f"eigvals({a}) - {f}[0]", large * ones, both)
        self.near(ones, f"norm({f}[1], -2)", ones, real_type(dtype))

    def conj(self, code, x):
        return f"conj({code})" if is_complex(x) else code

    @differs("transforms")
    def do_transform(self):
        a, x = self.pick(NUMBERS, fits=is_tame)
        axis = self.axis(x)
        if not x.shape[axis]:
            return self.refused(f"fft(moveaxis({a}, {axis}, -1))")
        n = self.random.randint(1, 2 * x.shape[axis])
        text = f", {n}, {axis}"
        if axis in (-1, x.ndim - 1) and self.flip():
            n, text = self.random.choice([(n, f", {n}"), (None, "")])
        dtype = float_type(x.dtype)
        y, size = wide(cast(x, dtype)), size_of(x).sum(axis, keepdims=True) + 1
        for name, of in [("fft", np.fft.fft), ("ifft", np.fft.ifft), ("rfft", np.fft.rfft), ("irfft", np.fft.irfft)]:
            if name == "rfft" and is_complex(x) or name == "irfft" and n is None and x.shape[axis] == 1:
                continue
            value = of(y, n, axis)
            result = real_type(dtype) if name == "irfft" else complex_type(dtype)
            self.near(value, f"{name}({a}{text})", np.broadcast_to(size, value.shape), result, 2)

    @differs("transforms")
    def do_transforms(self):
        a, x = self.pick(NUMBERS, range(2, 5), lambda x: is_tame(x) and x.size > 0)
        dtype = float_type(x.dtype)
        y, result = wide(cast(x, dtype)), complex_type(dtype)
        size = np.full(x.shape, size_of(x).sum() + 1)
        axes = self.random.sample(range(-x.ndim, 0), self.random.randint(1, x.ndim))
        for name, of, code in [
            ("fft2", np.fft.fft2, ""), ("ifft2", np.fft.ifft2, ""),
            ("fftn", np.fft.fftn, ""), ("ifftn", np.fft.ifftn, ""),
            ("fftn", lambda y: np.fft.fftn(y, axes=axes), f", {axes}"),
            ("ifftn", lambda y: np.fft.ifftn(y, axes=axes), f", {axes}"),
        ]:  # fmt: skip
            if self.flip():
                self.near(of(y), f"{name}({a}{code})", size, result, 4)
        n, last = self.random.randint(1, 2 * x.shape[-1]), axes[-1]
        halves = [
            ("rfft2", np.fft.rfft2, ""),
            ("rfftn", lambda y: np.fft.rfftn(y, axes=axes), f", {axes}"),
        ] if not is_complex(x) else []  # fmt: skip
        halves.append(("irfft2", lambda y: np.fft.irfft2(y, (x.shape[-2], n)), f", {n}"))
        if x.shape[last] > 1:
            halves.append(("irfftn", lambda y: np.fft.irfftn(y, axes=axes), f", {axes}"))
        for name, of, code in halves:
            if self.flip():
                value, kind = of(y), real_type(dtype) if name.startswith("i") else result
                self.near(value, f"{name}({a}{code})", np.full(value.shape, size.flat[0]), kind, 4)

    def do_transform_shift(self):
        a, x = self.pick(ALL)
        text, axes, keeps = self.axes(x)
        if not keeps:
            text = text.removesuffix(", false")
            self.add(np.fft.fftshift(x, axes), f"fftshift({a}{text})")
            self.add(np.fft.ifftshift(x, axes), f"ifftshift({a}{text})")
