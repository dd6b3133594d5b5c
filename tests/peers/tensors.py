#!/usr/bin/env python3
"""Compares random programs of tensors with NumPy.

Each program makes a few tensors of small integers and up to forty more from them: views, indices, reductions along axes,
sorts, products. Every value is written to a file and compared: integers and shapes exactly, means and medians to 1e-5.
Where the two mean different things, the program says what NumPy would be asked for: an integer in an index takes its axis
away before lists of numbers are placed.

    python3 tests/peers/tensors.py --programs 1000 [--device cuda]

Needs NumPy and a build of Porcini.
"""

import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent
MOST_ENTRIES = 3000
MOST_AXES = 5


class Program:
    """A script on its way, and what NumPy makes of the same."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []
        self.values = {}
        self.checks = {}
        for _ in range(4):
            self.fresh()
        steps = [getattr(self, name) for name in dir(self) if name.startswith("do_")]
        for _ in range(40):
            name = self.random.choice(list(self.values))
            self.random.choice(steps)(name, self.values[name])

    def fresh(self):
        extents = [self.random.choice([0, 1, 2, 2, 3, 3, 4, 5]) for _ in range(self.random.randint(1, 3))]
        n = int(np.prod(extents))
        entries = [self.random.randint(-9, 9) for _ in range(n)]
        self.add(np.array(entries, np.int32).reshape(extents), f"reshape(Int32C({entries}), {extents})")

    def add(self, value, code):
        """Another tensor, unless it is too large, or a number."""
        value = np.asarray(value)
        if value.size <= MOST_ENTRIES and 0 < value.ndim <= MOST_AXES:
            name = f"t{len(self.lines)}"
            self.lines.append(f"let {name} = {code};")
            self.values[name] = value.astype(np.int32)

    def check(self, value, code):
        """A tensor of floats, from which nothing more is made."""
        if np.ndim(value) > 0:
            name = f"c{len(self.lines)}"
            self.lines.append(f"let {name} = {code};")
            self.checks[name] = value

    def axis(self, x):
        return self.random.randrange(-x.ndim, x.ndim)

    def other(self):
        name = self.random.choice(list(self.values))
        return name, self.values[name]

    def do_arithmetic(self, a, x):
        for _ in range(3):
            b, y = self.other()
            try:
                value = {"+": x + y, "-": x - y, "*": x * y}
            except ValueError:
                continue
            operator = self.random.choice(list(value))
            self.add(value[operator], f"{a} {operator} {b}")

    def do_select(self, a, x):
        self.add(np.where(x > 0, x, 0), f"select({a} > 0, {a}, 0)")

    def do_turn(self, a, x):
        axes = self.random.sample(range(x.ndim), x.ndim)
        self.add(x.T, f"{a}.T")
        self.add(x.transpose(axes), f"permute({a}, {axes})")

    def do_move(self, a, x):
        start, end = self.axis(x), self.random.randrange(x.ndim)
        self.add(np.moveaxis(x, start, end), f"moveaxis({a}, {start}, {end})")

    def do_reshape(self, a, x):
        extents, rest = [], x.size
        while rest > 1 and len(extents) < 3:
            extents.append(self.random.choice([n for n in range(1, rest + 1) if rest % n == 0]))
            rest //= extents[-1]
        extents.append(rest)
        self.random.shuffle(extents)
        said = list(extents)
        if x.size and self.random.random() < 0.3:
            said[self.random.randrange(len(said))] = -1
        self.add(x.reshape(extents), f"reshape({a}, {said})")

    def places(self, x):
        """An index as the script writes it, and what it takes of an array."""
        said, steps, axis = [], [], 0
        takes_list = True
        for extent in x.shape[: self.random.randint(1, x.ndim)]:
            kind = self.random.random()
            if kind < 0.3 and extent:
                i = self.random.randrange(-extent, extent)
                said.append(str(i))
                steps.append((axis, i))
                continue
            if kind < 0.6:
                start = self.random.randint(0, extent)
                end = self.random.randint(start, extent)
                said.append(f"{start}..{end}")
                steps.append((axis, range(start, end)))
            elif kind < 0.8 and extent and takes_list:
                takes_list = False
                numbers = [self.random.randrange(-extent, extent) for _ in range(self.random.randint(1, 4))]
                said.append(str(numbers))
                steps.append((axis, numbers))
            elif kind < 0.9 and extent:
                said.append(f"range({extent - 1}, -1, -2)")
                steps.append((axis, range(extent - 1, -1, -2)))
            else:
                said.append("all")
            axis += 1

        def take(array):
            for axis, numbers in steps:
                numbers = numbers if isinstance(numbers, int) else np.array(numbers, np.int64)
                array = np.take(array, numbers, axis=axis)
            return array

        return f"[[{', '.join(said)}]]", take

    def do_index(self, a, x):
        said, take = self.places(x)
        self.add(take(x), f"{a}{said}")

    def do_assign(self, a, x):
        said, take = self.places(x)
        chosen, number = take(np.arange(x.size).reshape(x.shape)), self.random.randint(-99, 99)
        if np.ndim(chosen) > 0:
            changed = x.reshape(-1).copy()
            changed[chosen.reshape(-1)] = number
            name = f"t{len(self.lines)}"
            self.lines.append(f"let {name} = copy({a}); {name}{said} = {number};")
            self.values[name] = changed.reshape(x.shape)

    def do_reduce(self, a, x):
        axes = tuple(self.random.sample(range(x.ndim), self.random.randint(1, x.ndim)))
        keeps = self.random.random() < 0.4
        said = f"{a}, {list(axes)}, {str(keeps).lower()}"
        self.add(x.sum(axes, keepdims=keeps), f"hsum({said})")
        if all(x.shape[axis] for axis in axes):
            self.add(x.max(axes, keepdims=keeps), f"hmax({said})")
            self.add(x.min(axes, keepdims=keeps), f"hmin({said})")
            self.check(x.mean(axes, keepdims=keeps), f"hmean({said})")
            self.check(x.var(axes, keepdims=keeps), f"var({said})")

    def do_order(self, a, x):
        axis = self.axis(x)
        self.add(np.sort(x, axis), f"sort({a}, {axis})")
        self.add(np.argsort(x, axis, kind="stable"), f"TensorXiC(argsort({a}, {axis}))")
        self.add(np.cumsum(x, axis), f"cumsum({a}, {axis})")
        if x.shape[axis]:
            self.add(np.diff(x, axis=axis), f"diff({a}, {axis})")
            self.add(np.argmax(x, axis), f"TensorXiC(argmax({a}, {axis}))")
            self.check(np.median(x, axis), f"median({a}, {axis})")
            self.check(np.quantile(x, 0.3, axis), f"quantile({a}, 0.3, {axis})")

    def do_join(self, a, x):
        axis = self.axis(x)
        extents = list(x.shape)
        extents[axis] = self.random.randint(0, 3)
        filled = f"TensorXiC::full({extents}, 7)"
        self.add(np.concatenate([x, np.full(extents, 7)], axis), f"concat([{a}, {filled}], {axis})")
        self.add(np.stack([x, x * 2], axis), f"stack([{a}, {a} * 2], {axis})")

    def do_places(self, a, x):
        axis, n, times = self.axis(x), self.random.randint(-7, 7), self.random.randint(0, 3)
        self.add(np.flip(x, axis), f"flip({a}, {axis})")
        self.add(np.roll(x, n, axis), f"roll({a}, {n}, {axis})")
        self.add(np.roll(x, n), f"roll({a}, {n})")
        self.add(np.repeat(x, times, axis), f"repeat({a}, {times}, {axis})")
        tiled = np.concatenate([x] * times, axis) if times else np.take(x, np.array([], int), axis)
        self.add(tiled, f"tile({a}, {times}, {axis})")
        widths = [[self.random.randint(0, 2), self.random.randint(0, 2)] for _ in range(x.ndim)]
        self.add(np.pad(x, widths, constant_values=n), f"pad({a}, {sum(widths, [])}, {n})")

    def do_axes(self, a, x):
        place = self.random.randrange(x.ndim + 1)
        self.add(np.expand_dims(x, place), f"expand({a}, {place})")
        extents = [2] + [3 if extent == 1 else extent for extent in x.shape]
        self.add(np.broadcast_to(x, extents), f"broadcast_to({a}, {extents})")
        if 1 in x.shape:
            axis = x.shape.index(1)
            self.add(np.squeeze(x, axis), f"squeeze({a}, {axis})")

    def do_products(self, a, x):
        for b, y in [self.other(), (f"{a}.T", x.T)]:
            if x.size * y.size <= MOST_ENTRIES:
                self.add(np.multiply.outer(x, y), f"outer({a}, {b})")
            try:
                self.add(x @ y, f"{a} @ {b}")
            except ValueError:
                continue

    def do_diagonal(self, a, x):
        if x.ndim <= 2:
            self.add(np.diag(x), f"diag({a})")


def run(program, binary, device, folder):
    """What differs, in words; nothing if all is well."""
    wanted = {**program.values, **program.checks}
    writes = [f'write_npy("{folder}/{name}.npy", TensorXdC({name}));' for name in wanted]
    script = folder / "program.rhai"
    script.write_text("\n".join(program.lines + writes))
    done = subprocess.run([binary, "--device", device, script], capture_output=True, text=True)
    if done.returncode:
        return done.stderr
    for name, want in wanted.items():
        got = np.load(folder / f"{name}.npy")
        if got.shape != want.shape or not np.allclose(got, want, rtol=1e-5, atol=1e-6):
            line = next(line for line in program.lines if line.startswith(f"let {name} "))
            return f"{line}\nwant {want.shape} {want.tolist()}\ngot {got.shape} {got.tolist()}"
    return None


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--programs", type=int, default=200)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--device", default="cpu")
    arguments.add_argument("--binary", default=ROOT / "target/release/porcini")
    given = arguments.parse_args()
    n_values = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(given.seed, given.seed + given.programs):
            program = Program(seed)
            n_values += len(program.values) + len(program.checks)
            differs = run(program, given.binary, given.device, Path(folder))
            if differs:
                sys.exit(f"program {seed}:\n{differs}")
    print(f"{given.programs} programs, {n_values} values: all as NumPy has them")


if __name__ == "__main__":
    main()
