"""Steps that read and write entries in other places."""

import numpy as np

from .lines import MOST_AXES, MOST_ENTRIES, Lines, said, said_list
from .meaning import (
    ALL, ARRAYS, COMPLEX, INTEGERS, NUMBERS, REAL, TYPES, cast, differs, is_complex, joined, letter, minus, plus,
    promoted, real_type, times,
)  # fmt: skip


class Places(Lines):
    def a_slice(self, extent):
        """A range of an axis as scripts write it, and as NumPy has it."""
        start, end = (self.random.randint(-extent - 1, extent + 1) for _ in range(2))
        return self.random.choice([
            (f"{start}..{end}", slice(start, end)),
            (f"{start}..", slice(start, None)),
            (f"..{end}", slice(None, end)),
            (f"..={end}", slice(None, end + 1 if end != -1 else None)),
            (f"{start}..={end}", slice(start, end + 1 if end != -1 else None)),
            ("all", slice(None)),
            ("..", slice(None)),
            (f"range({extent - 1}, -1, -2)", slice(None, None, -2)),
            (f"range(0, {extent}, 2)", slice(None, None, 2)),
        ])  # fmt: skip

    def numbers(self, extent, shape):
        """Numbers of entries along an axis, of any type of integers that holds them."""
        dtype = np.dtype(TYPES[self.random.choice(INTEGERS)])
        bounds = np.iinfo(dtype)
        least, most = max(bounds.min, -extent), min(bounds.max, extent - 1)
        numbers = [self.random.randint(least, most) for _ in range(np.prod(shape))]
        return np.array(numbers, dtype).reshape(shape)

    def index(self, extent, shape):
        """Numbers as an index, of a shape that broadcasts to one: a list, an array or a tensor."""
        shape = [1 if self.flip(0.2) else n for n in shape[self.random.choice([0, 0, len(shape) - 1]) :]]
        numbers = self.numbers(extent, shape)
        return str(numbers.tolist()) if self.flip(0.6) else self.literal(numbers), numbers

    @differs("index-order", "index-masks")
    def places(self, x):
        """An index as a script writes it; what it takes of an array; and which of the entries taken a mask leaves."""
        text, plain, lists, masks = [], [], {}, []
        axis, kind = 0, self.random.choice(["ranges", "lists", "masks"])
        shape = self.random.choice([[1], [2], [3], [0], [2, 2]])
        for extent in x.shape[: self.random.randint(1, x.ndim)]:
            if self.flip(0.1):
                text.append("()")
                plain.append(None)
                axis += 1
            if self.flip(0.25) and extent:
                plain.append(self.random.randrange(-extent, extent))
                text.append(str(plain[-1]))
                continue
            if kind == "lists" and self.flip() and extent:
                said, lists[axis] = self.index(extent, shape)
                plain.append(slice(None))
            elif kind == "masks" and self.flip():
                masks.append((axis, self.entries("m", [extent])))
                said = f"MaskC({said_list(masks[-1][1])})"
                plain.append(slice(None))
            else:
                said, part = self.a_slice(extent)
                plain.append(part)
            text.append(said)
            axis += 1

        def take(array):
            array = array[tuple(plain)]
            return array[tuple(lists.get(axis, slice(None)) for axis in range(max(lists) + 1))] if lists else array

        found = take(x)
        leaves = np.ones(found.shape, bool)
        for axis, mask in masks:
            leaves &= mask.reshape([-1 if i == axis else 1 for i in range(found.ndim)])
        # A place alone needs no list around it, unless it is one; a mask alone is one of all entries.
        is_alone = len(text) == 1 and text[0][0] not in "[M" and self.flip()
        return f"[{text[0]}]" if is_alone else f"[[{', '.join(text)}]]", take, leaves

    def do_index(self):
        a, x = self.pick(ALL)
        a = self.tensor(a, x)
        text, take, leaves = self.places(x)
        found = np.where(leaves, take(x), x.dtype.type(0))
        self.add(found, f"{a}{text}" if found.ndim else f"TensorX{letter(x)}C({a}{text})")

    def do_lanes(self):
        """A list is one of lanes of an array, where it is one of places of a tensor."""
        x = self.entries(self.random.choice(REAL + ["m"]), [self.random.randint(2, 9)])
        a = self.line(f"{ARRAYS[letter(x)]}({said_list(x)})")
        numbers = self.numbers(x.size, [self.random.choice([0, 1, 2, 5])])
        self.add_array(x[numbers], f"{a}[{numbers.tolist()}]")
        self.add(x, f"{a}[all]")
        self.add(x[:, None], f"{a}[[all, ()]]")
        self.add(x[None], f"{a}[[(), all]]")
        self.add(x[numbers, None], f"{a}[[{numbers.tolist()}, ()]]")
        changed, value = x.copy(), x[0]
        changed[numbers] = value
        self.add(changed, f"copy({a})", f" IT[{numbers.tolist()}] = {said(value)};") if np.isfinite(value) else None

    @differs("index-masks")
    def do_masked_index(self):
        a, x = self.pick(ALL)
        b, mask = self.beside(x.shape, ["m"])
        if mask.ndim > x.ndim:
            return
        # Of fewer axes it goes along the first.
        mask = mask.reshape(mask.shape + (1,) * (x.ndim - mask.ndim if mask.ndim else 0))
        if all(own in (1, extent) for own, extent in zip(mask.shape, x.shape)):
            self.add(np.where(mask, x, x.dtype.type(0)), f"{self.tensor(a, x)}[{b}]")

    @differs("references", "writes-fit", "entry-numbers")
    def do_assign(self):
        """A write is seen through every name, and in nothing that was made before."""
        a, x = self.pick(ALL)
        text, take, leaves = self.places(x)
        places = take(np.arange(x.size).reshape(x.shape))
        if not np.ndim(places) and is_complex(x):
            return
        b, y = self.value_for(x, np.shape(places))
        operators = ["=", "+=", "-=", "*="] if letter(x) != "m" and np.ndim(places) else ["="]
        operator = self.random.choice(operators)
        old = take(x)
        new = {"=": lambda x, y: y, "+=": plus, "-=": minus, "*=": times}[operator](old, y)
        changed, leaves = x.reshape(-1).copy(), leaves.reshape(-1)
        changed[np.reshape(places, -1)[leaves]] = np.broadcast_to(new, np.shape(places)).reshape(-1)[leaves]
        target = self.line(f"copy({self.tensor(a, x)})")
        made = [(x.T, f"{target}.T"), (x[0:1], f"{target}[0..1]"), (x.reshape(-1), f"reshape({target}, [-1])")]
        self.add(*self.random.choice(made))
        self.add(changed.reshape(x.shape), target, f" {target}{text} {operator} {b};")
        self.add(x, a)

    def value_for(self, x, shape):
        """What is written to entries of a tensor: a number, or what broadcasts, of its type or one that fits."""
        if self.flip(0.3):
            number = self.flip() if letter(x) == "m" else self.random.randint(0, 9)
            return said(number), np.full((), number, real_type(x.dtype))
        fitting = [other for other in ALL if other != "m" and promoted(x, np.zeros(0, TYPES[other])) == x.dtype]
        fitting = [other for other in fitting if is_complex(x) or other not in COMPLEX]
        shape = [1 if self.flip(0.2) else extent for extent in shape[self.random.choice([0, 0, len(shape) // 2]) :]]
        b, y = self.fresh(["m"] if letter(x) == "m" else fitting, shape)
        return b, cast(y, x.dtype if is_complex(y) else real_type(x.dtype))

    @differs("references")
    def do_members(self):
        """Members are written through."""
        a, x = self.pick(ALL, range(2, MOST_AXES))
        b, y = self.value_for(x, x.T.shape)
        target = self.line(f"copy({a})")
        self.add(np.broadcast_to(y, x.T.shape).T.astype(x.dtype), target, f" {target}.T[all] = {b};")
        if is_complex(x):
            b, y = self.fresh(["f"], x.shape)
            target = self.line(f"copy({a})")
            if self.flip():
                self.add(joined(x.real, y.astype(x.real.dtype)), target, f" {target}.imag = {b};")
            else:
                self.add(joined(x.real + y, x.imag), target, f" {target}.real += {b};")

    def do_join(self):
        a, x = self.pick(ALL)
        axis = self.axis(x)
        letters = ["m"] if letter(x) == "m" else NUMBERS
        extents = list(x.shape)
        parts, same = [(a, x)], [(a, x)]
        for _ in range(self.random.randint(0, 2)):
            extents[axis] = self.random.randint(0, 3)
            parts.append(self.fresh(letters, extents))
            same.append(self.fresh(letters, x.shape))
        for name, function, of, axis in [
            ("concat", np.concatenate, parts, axis),
            ("stack", np.stack, same, self.random.randrange(-x.ndim - 1, x.ndim + 1)),
        ]:
            dtype = promoted(*(x for _, x in of))
            names = ", ".join(name for name, _ in of)
            self.add(function([cast(x, dtype) for _, x in of], axis), f"{name}([{names}], {axis})")
        # Beside matrices rows, and below columns.
        below = [self.fresh(letters, [self.random.randint(0, 3), *x.shape[1:]]) if x.ndim > 1 else self.fresh(letters, x.shape)]
        below += [self.fresh(letters, x.shape[-1:])] if x.ndim == 2 else []
        beside = [self.fresh(letters, [*x.shape[:1], 2, *x.shape[2:]] if x.ndim > 1 else [2])]
        for name, function, others in [("vstack", np.vstack, below), ("hstack", np.hstack, beside)]:
            of = self.random.sample([(a, x), *others], 1 + len(others))
            dtype = promoted(*(x for _, x in of))
            names = ", ".join(name for name, _ in of)
            self.add(function([cast(x, dtype) for _, x in of]), f"{name}([{names}])")

    def do_split(self):
        a, x = self.pick(ALL)
        axis = self.axis(x)
        extent = x.shape[axis]
        if not extent:
            return
        n = self.random.choice([n for n in range(1, extent + 1) if extent % n == 0])
        self.add(np.split(x, n, axis)[n - 1], f"split({a}, {n}, {axis})[{n - 1}]")
        self.add(np.take(x, extent - 1, axis), f"unstack({a}, {axis})[{extent - 1}]")

    def do_places(self):
        a, x = self.pick(ALL)
        axis, n, times = self.axis(x), self.random.randint(-7, 7), self.random.randint(0, 3)
        text, axes, keeps = self.axes(x)
        if not keeps:
            self.add(np.flip(x, axes), f"flip({a}{text.removesuffix(', false')})")
        self.add(np.roll(x, n, axis), f"roll({a}, {n}, {axis})")
        self.add(np.roll(x, n), f"roll({a}, {n})")
        numbers = [self.random.randint(-7, 7) for _ in range(self.random.randint(1, 3))]
        some = [self.axis(x) for _ in numbers]
        self.add(np.roll(x, numbers, some), f"roll({a}, {numbers}, {some})")
        self.add(np.roll(x, sum(numbers)), f"roll({self.tensor(a, x)}, {numbers})")
        repeats = [self.random.randint(0, 3) for _ in range(self.random.randint(1, x.ndim + 1))]
        if x.size * np.prod(repeats) <= MOST_ENTRIES:
            self.add(np.tile(x, repeats), f"tile({a}, {repeats})")
        self.add(np.repeat(x, times, axis), f"repeat({a}, {times}, {axis})")
        self.add(np.take(x, list(range(x.shape[axis])) * times, axis), f"tile({a}, {times}, {axis})")

    def do_pad(self):
        a, x = self.pick(ALL)
        pairs = [[self.random.randint(0, 2), self.random.randint(0, 2)] for _ in range(x.ndim)]
        number = self.flip() if letter(x) == "m" else self.random.randint(0, 9)
        text, pairs = self.random.choice([
            (sum(pairs, []), pairs),
            (pairs[0], [pairs[0]] * x.ndim),
            (pairs[0][0], [[pairs[0][0]] * 2] * x.ndim),
        ])  # fmt: skip
        self.add(np.pad(x, pairs, constant_values=number), f"pad({a}, {text}, {said(number)})")
        self.add(np.pad(x, pairs), f"pad({a}, {text})")

    def do_take(self):
        a, x = self.pick(ALL)
        axis = self.axis(x)
        if not x.shape[axis]:
            return
        shape = self.random.choice([[2], [3], [0], [2, 2], [1, 2]])
        numbers = self.numbers(x.shape[axis], shape)
        index = self.literal(numbers)
        self.add(np.take(x, numbers, axis), f"take({a}, {index}, {axis})")
        if len(shape) == 1:
            b, y = self.value_for(x, x.shape[:axis] + (shape[0],) + x.shape[axis % x.ndim + 1 :])
            changed = x.copy()
            changed[(slice(None),) * (axis % x.ndim) + (numbers,)] = y
            self.add(changed, f"put({a}, {index}, {b}, {axis})")
