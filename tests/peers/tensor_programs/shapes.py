"""Steps that give tensors other shapes, and that make some."""

import numpy as np

from .lines import MOST_AXES, Lines, said
from .meaning import ALL, COMPLEX, REAL, TYPES, cast, differs, letter


class Shapes(Lines):
    def do_turn(self):
        a, x = self.pick(ALL)
        axes = self.random.sample(range(x.ndim), x.ndim)
        self.add(x.T, f"{self.tensor(a, x)}.T")
        self.add(x.transpose(axes), f"{self.random.choice(['permute', 'transpose'])}({a}, {axes})")
        start, end = self.axis(x), self.axis(x)
        self.add(np.moveaxis(x, start, end), f"moveaxis({a}, {start}, {end})")
        self.add(np.swapaxes(x, start, end), f"swapaxes({a}, {start}, {end})")

    def do_reshape(self):
        a, x = self.pick(ALL)
        extents, rest = [], x.size
        while rest > 1 and len(extents) < 3:
            extents.append(self.random.choice([n for n in range(1, rest + 1) if rest % n == 0]))
            rest //= extents[-1]
        extents.append(rest)
        self.random.shuffle(extents)
        text = list(extents)
        if x.size and self.flip(0.3):
            text[self.random.randrange(len(text))] = -1
        self.add(x.reshape(extents), f"reshape({a}, {text})")
        self.add_array(x.reshape(-1), f"ravel({self.tensor(a, x)})")

    def do_named(self):
        a, x = self.pick(ALL)
        self.add_array(x.reshape(-1), f"flatten({a})")
        axis = self.random.randint(-x.ndim - 1, x.ndim)
        self.add(np.expand_dims(x, axis), f"expand_dims({a}, {axis})")
        b, y = self.pick([letter(x)])
        same = x.shape == y.shape and bool((x == y).all())
        self.add(np.array(same), f"MaskC(array_equal({a}, {b}))")
        if x.ndim > 1:
            turns = self.random.randint(-2, 3)
            self.add(np.rot90(x, turns), f"rot90({a}, {turns})")
            self.add(np.fliplr(x), f"fliplr({a})")
        self.add(np.flipud(x), f"flipud({a})")
        axis = self.axis(x)
        if x.shape[axis]:
            n = self.random.randint(1, 3)
            numbers = np.array([self.random.randrange(x.shape[axis]) for _ in range(n * x.size // x.shape[axis])])
            shape = [n if i == axis % x.ndim else extent for i, extent in enumerate(x.shape)]
            numbers = numbers.astype(np.uint32).reshape(shape)
            code = f"take_along_axis({a}, {self.literal(numbers)}, {axis})"
            self.add(np.take_along_axis(x, numbers.astype(int), axis), code)
        n, m, k = (self.random.randint(0, 5) for _ in range(3))
        k -= 3
        self.add(np.eye(n, m, k, np.float32), f"eye({n}, {m}, {k})")

    def do_axes(self):
        a, x = self.pick(ALL)
        place = self.random.randrange(-x.ndim - 1, x.ndim + 1)
        self.add(np.expand_dims(x, place), f"expand({a}, {place})")
        extents = [2] * self.flip() + [self.random.choice([0, 3]) if extent == 1 else extent for extent in x.shape]
        self.add(np.broadcast_to(x, extents), f"broadcast_to({a}, {extents})")
        self.add(np.squeeze(x), f"squeeze({a})")
        if 1 in x.shape:
            axis = x.shape.index(1) - x.ndim * self.flip()
            self.add(np.squeeze(x, axis), f"squeeze({a}, {axis})")

    def do_diagonal(self):
        a, x = self.pick(ALL, [1, 2])
        k = self.random.randint(-4, 4)
        self.add(np.diag(x), f"diag({self.tensor(a, x)})")
        self.add(np.diag(x, k), f"diag({a}, {k})")
        a, x = self.pick(ALL, range(2, MOST_AXES))
        name, of = self.random.choice([("tril", np.tril), ("triu", np.triu)])
        self.add(of(x), f"{name}({a})")
        self.add(of(x, k), f"{name}({a}, {k})")

    @differs("makers")
    def do_files(self):
        """Complex numbers, whose values are read by their parts elsewhere."""
        a, x = self.pick(COMPLEX, range(MOST_AXES))
        self.add(x, a)

    def do_make(self):
        extents = self.extents(self.random.randint(0, 3))
        letter = self.random.choice(ALL)
        dtype = np.dtype(TYPES[letter])
        kind, n, m = f"TensorX{letter}C", self.random.randint(0, 4), self.random.randint(0, 4)
        self.add(np.zeros(extents, dtype), f"{kind}::zeros({extents})")
        self.add(np.ones(extents, dtype), f"{kind}::ones({extents})")
        number = True if letter == "m" else 3
        self.add(np.full(extents, number, dtype), f"{kind}::full({extents}, {said(number)})")
        self.add(np.eye(n, dtype=dtype), f"{kind}::eye({n})")
        self.add(np.eye(n, m, dtype=np.float32), f"eye({n}, {m})")
        self.add(np.full([n, m], 2.5, np.float32), f"full([{n}, {m}], 2.5)")
        i, j = np.arange(n, dtype=np.int32)[:, None], np.arange(m, dtype=np.int32)
        self.add(i * 10 - j, f"from_fn([{n}, {m}], |i, j| i * 10 - j)")
        a, x = self.pick(ALL)
        self.add(np.zeros_like(x), f"zeros_like({a})")
        self.add(np.ones_like(x), f"ones_like({a})")
        number = True if x.dtype == bool else 3
        self.add(np.full_like(x, number), f"full_like({a}, {said(number)})")
        a, x = self.pick(REAL, [1], lambda x: x.size != 1)
        self.add(x.reshape(1, -1), f"TensorC({a}, [1, {x.size}])")
        self.add(cast(x, np.float64), f"TensorXdC({a}.ndarray())")

    def do_many_axes(self):
        """Up to sixteen axes, most of them of one entry."""
        a, x = self.pick(ALL)
        extents = [*x.shape, *[1] * self.random.randint(0, 16 - x.ndim)]
        self.random.shuffle(extents)
        axes = self.random.sample(range(len(extents)), len(extents))
        y = x.reshape(extents).transpose(axes)
        b = self.line(f"permute(reshape({a}, {extents}), {axes})")
        self.add(y[..., ::-1].reshape(x.shape), f"reshape(flip({b}, -1), {list(x.shape)})")

    def do_extents(self):
        a, x = self.pick(ALL, range(2, MOST_AXES + 1))
        self.want(np.array(x.shape, np.int64), None, f"Int64C(shape({a}))")
        self.want(np.array([len(x), x.ndim, x.size], np.int64), None, f"Int64C([len({a}), {a}.ndim, {a}.size])")

    @differs("vectors")
    def do_vectors(self):
        """A last axis of two entries, or more, is the components of a vector of arrays."""
        n = self.random.randint(2, 4)
        a, x = self.fresh(["f", "d", "i"], [self.random.choice([2, 3, 5]), n])
        v = self.line(f"Vector{n}{letter(x)}C({a})")
        self.add(x, f"TensorC({v})")
        self.add(x[:, 1], f"{v}.y")
        self.add(np.stack([x[:, 0], x[:, 1]]), f"stack([{v}.x, {v}.y])")
