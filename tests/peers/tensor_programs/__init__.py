"""Random programs of tensors, and what NumPy makes of the same.

A step `do_..` takes tensors that there are, or makes some, and adds what functions give for them. Values that are the
same bit by bit go on; of others, which `near` adds, nothing more is made.
"""

from .along import Along
from .choose import Choose
from .curves import Curves
from .entries import Entries
from .libraries import Libraries
from .meaning import NUMBERS, differs, is_complex
from .multiply import Multiply
from .places import Places
from .shapes import Shapes


class Program(Entries, Shapes, Places, Along, Multiply, Choose, Curves, Libraries):
    @differs("refusals")
    def do_refuse(self):
        a, x = self.pick(NUMBERS, fits=lambda x: x.size > 0)
        b, _ = self.fresh(["m"], x.shape)
        n, extent = x.ndim, x.shape[0]
        codes = [
            f"hsum({a}, {n})", f"hsum({a}, {-n - 1})", f"hmean({a}, {[0, 0]})", f"sort({a}, {n})", f"quantile({a}, 2)",
            f"moveaxis({a}, 0, {n})", f"expand({a}, {n + 1})", f"permute({a}, {[0] * (n + 1)})", f"{a}[{extent}]",
            f"reshape({a}, [2, 0, -1])", f"reshape({a}, [{x.size + 1}])", f"diag(expand({a}, [0, 0]))",
            f"broadcast_to({a}, [])", f"{a}[{-extent - 1}]", f"{a}[[{extent}]]", f"{self.tensor(a, x)}[{[0] * (n + 1)}]",
            f"{a} + {b}", f"{a} @ {b}", f"{a} @ 2", f"any({a})", f"hmin({b})", f"inp({a}, expand({a}, 0))",
            f"percentile({a}, 101)", f"swapaxes({a}, 0, {n})", f"tril(hsum({a}))",
            f"concat([{a}, {b}])", f"stack([{a}, expand({a}, 0)])", f"split({a}, {extent + 1})", f"pad({a}, -1)",
            f"repeat({a}, -1)", f"compress({a}, {b}, {n})", f"compress({a}, expand({b}, 0))",
            f"tensordot({a}, {a}, {n + 1})", f'einsum("{"i" * (n + 1)}", {a})', f'einsum("{"ijklm"[:n]}->z", {a})',
            f"segment_sum({a}, UInt32C([0, {1 if extent != 2 else 7}]), 2)", f"{a}[[[{extent}]]]",
            f"take({a}, Int32C([0, {extent}]), 0)", f"roll({a}, [1, 1], {[0] * 3})",
        ]  # fmt: skip
        if 1 not in x.shape:
            codes.append(f"{a} + TensorXfC::zeros({[m + 2 for m in x.shape]})")
        if is_complex(x):
            names = ["hmin", "argmax", "median", "cummax", "rfft", "TensorXfC"]
            codes += [f"{name}({a})" for name in names] + [f"{a} < 1", f"histogram({a}, 2, 0, 1)"]
            codes.append(f"segment_min({a}, UInt32C::zero({extent}), 1)")
        self.refused(self.random.choice(codes))
