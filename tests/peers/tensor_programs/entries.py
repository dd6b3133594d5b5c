"""Steps that go entry by entry."""

import numpy as np

from .lines import MOST_AXES, Lines, is_tame
from .meaning import (
    ALL, COMPLEX, INTEGERS, NUMBERS, REAL, TYPES, cast, common, differs, is_complex, letter,
    minus, pairwise_extreme, plus, promoted, propagating_extreme, quotient, quotient_type, real_type, remainder,
    times, truncated_quotient, wide,
)  # fmt: skip


class Entries(Lines):
    def do_arithmetic(self):
        a, x = self.pick(NUMBERS, range(MOST_AXES))
        b, y = self.beside(x.shape, NUMBERS)
        dtype, given = promoted(x, y), (x, y)
        x, y = common(x, y)
        of = {"+": plus, "-": minus, "*": times}
        functions = {}
        if dtype.kind != "c":
            of |= {"/": lambda *_: quotient(*given), "%": remainder}
            functions |= {
                "min": lambda x, y: pairwise_extreme(x, y, False),
                "max": lambda x, y: pairwise_extreme(x, y, True),
                "minimum": lambda x, y: propagating_extreme(x, y, False),
                "maximum": lambda x, y: propagating_extreme(x, y, True),
            }
        if dtype.kind in "iu":
            of |= {"&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor}
            functions["idiv"] = truncated_quotient
        operator = self.random.choice(list(of) + list(functions))
        if operator in of:
            self.add(of[operator](x, y), f"{a} {operator} {b}")
        else:
            self.add(functions[operator](x, y), f"{operator}({a}, {b})")
        if dtype.kind == "c" and is_tame(x) and is_tame(y) and np.all(np.abs(y) > 0.1):
            self.near(wide(x) / wide(y), f"{a} / {b}", 4 * np.abs(wide(x)) / np.abs(wide(y)), dtype)

    def do_same(self):
        """Two views of one tensor."""
        a, x = self.pick(NUMBERS, range(2, MOST_AXES))
        a = self.tensor(a, x)
        self.add(minus(x[1:], x[:-1]), f"{a}[1..] - {a}[..-1]")
        if x.shape[0]:
            self.add(times(x, x[-1]), f"{a} * {a}[-1]")
        if x.shape == x.T.shape:
            self.add(plus(x, x.T), f"{a} + {a}.T")
        self.add(plus(x[..., None], x[..., None, :]), f"expand({a}, -1) + expand({a}, -2)")

    @differs("script-numbers")
    def do_numbers(self):
        """Numbers of the script take the type of the tensor; a float makes floats of integers."""
        a, x = self.pick(NUMBERS)
        number = self.random.choice([0, 1, 2, 3, 0.5, 2.25, -1, -0.5])
        if x.dtype.kind == "u" and number < 0:
            return
        dtype = quotient_type(x.dtype) if isinstance(number, float) else x.dtype
        x, y = cast(x, dtype), np.full((), number, real_type(dtype))
        self.add(plus(x, y), f"{a} + {number}")
        self.add(minus(y, x), f"{number} - {a}")
        self.add(times(x, y), f"{a} * {number}")
        if not is_complex(x):
            self.add(quotient(y, x), f"{number} / {a}")
            self.add(x >= y, f"{a} >= {number}")

    @differs("script-numbers")
    def do_lists(self):
        """Lists beside a tensor take its type, as numbers do."""
        a, x = self.pick(REAL)
        a, numbers = self.tensor(a, x), [self.random.randint(0, 9) for _ in range(x.shape[-1])]
        y = np.array(numbers, x.dtype)
        self.add(plus(x, y), f"{a} + {numbers}")
        self.add(times(y, x), f"{numbers} * {a}")
        self.add(x >= y, f"{a} >= {numbers}")

    @differs("shifts")
    def do_shift(self):
        a, x = self.pick(INTEGERS)
        b, y = self.beside(x.shape, INTEGERS)
        bits = 8 * x.dtype.itemsize
        beyond = (y < 0) | (y >= np.uint64(bits)) if y.dtype.kind == "u" else (y < 0) | (y >= bits)
        by = np.where(beyond, bits - 1, y).astype(x.dtype)
        self.add(np.where(beyond, 0, x << by).astype(x.dtype), f"{a} << {b}")
        self.add(np.where(beyond & (x >= 0), 0, x >> by).astype(x.dtype), f"{a} >> {b}")

    def do_compare(self):
        letters = self.random.choice([REAL, REAL, COMPLEX, ["m"]])
        a, x = self.pick(letters, range(2 if letters is COMPLEX else 0, MOST_AXES))
        b, y = self.beside(x.shape, letters)
        if letters is COMPLEX and y.ndim < 2:
            # Arrays of complex numbers are compared part by part.
            b = self.tensor(b, y)
        dtype = promoted(x, y)
        x, y = cast(x, dtype), cast(y, dtype)
        of = {"==": np.equal, "!=": np.not_equal}
        if letters is REAL:
            of |= {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
        operator = self.random.choice(list(of))
        self.add(of[operator](x, y), f"{a} {operator} {b}")

    def do_logic(self):
        a, x = self.pick(["m"], range(MOST_AXES))
        b, y = self.beside(x.shape, ["m"])
        self.add(x & y, f"{a} & {b}")
        self.add(x | y, f"{a} | {b}")
        self.add(x ^ y, f"{a} ^ {b}")
        self.add(~x, f"!{a}")

    @differs("masks-beside-numbers")
    def do_masked(self):
        a, x = self.pick(REAL)
        b, mask = self.beside(x.shape, ["m"])
        zero = np.zeros((), x.dtype)
        self.add(np.where(mask, x, zero), f"{a} & {b}")
        if x.dtype.kind in "iu":
            self.add(np.where(mask, ~zero, x), f"{a} | {b}")

    @differs("sign", "quotients")
    def do_unary(self):
        a, x = self.pick(NUMBERS, range(MOST_AXES))
        of = {"-{}": np.negative, "sqr({})": lambda x: times(x, x), "{} ** 2": lambda x: times(x, x)}
        if not is_complex(x):
            of |= {"abs({})": np.abs, "sqrt({})": lambda x: np.sqrt(x.astype(quotient_type(x.dtype)))}
        if x.dtype.kind == "f":
            rounding = {"floor": np.floor, "ceil": np.ceil, "round": np.rint, "trunc": np.trunc}
            rounding |= {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite}
            of |= {f"{name}({{}})": function for name, function in rounding.items()}
            of["sign({})"] = lambda x: np.where(np.isnan(x), x, np.copysign(x.dtype.type(1), x))
        if x.dtype.kind in "iu":
            of |= {"!{}": np.invert, "sign({})": lambda x: np.where(x < 0, -1, 1).astype(x.dtype)}
        code = self.random.choice(list(of))
        self.add(of[code](x), code.format(a))

    @differs("parts")
    def do_parts(self):
        a, x = self.pick(ALL, range(2, MOST_AXES))
        self.add(x.real, f"{a}.real")
        self.add(x.imag, f"{a}.imag")
        self.add(np.swapaxes(np.conj(x) if is_complex(x) else x, -1, -2), f"{a}.H")
        if letter(x) != "m":
            self.add(np.conj(x), f"conj({a})")
        if is_complex(x) and is_tame(x):
            self.near(np.abs(wide(x)), f"abs({a})", np.abs(wide(x)), real_type(x.dtype))

    @differs("saturation")
    def do_cast(self):
        a, x = self.pick(ALL, range(MOST_AXES))
        to = self.random.choice(COMPLEX if is_complex(x) else ALL)
        self.add(cast(x, TYPES[to]), f"TensorX{to}C({a})")

    def do_select(self):
        mask, chosen = self.pick(["m"])
        letters = self.random.choice([NUMBERS, NUMBERS, ["m"]])
        a, x = self.beside(chosen.shape, letters)
        b, y = self.beside(np.broadcast_shapes(chosen.shape, x.shape), letters)
        dtype = promoted(x, y)
        name = self.random.choice(["select", "where"])
        self.add(np.where(chosen, cast(x, dtype), cast(y, dtype)), f"{name}({mask}, {a}, {b})")
        self.add(np.where(chosen, x, x.dtype.type(1)), f"{name}({mask}, {a}, {'true' if letter(x) == 'm' else 1})")
