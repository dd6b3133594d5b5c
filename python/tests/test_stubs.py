"""What editors and type checkers read is what the package has."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import porcini as pc

SOURCES = Path(__file__).parent.parent


def test_stubs_are_written_anew():
    sys.path.insert(0, str(SOURCES))
    try:
        import stubs
    finally:
        sys.path.pop(0)
    for path, text in stubs.files().items():
        assert (Path(pc.__file__).parent / path).read_text() == text, "run python/stubs.py"


USE = """
import porcini as pc
import porcini.array_api as xp

x = pc.Float([1, 2, 3])
n: int = len(x)
shape: tuple[int, ...] = x.shape


@pc.function
def f(x: pc.Array, k: float) -> pc.Array:
    return x * k + 1


z = f(x, 2.0)
print(z[0], x.sum(), pc.Vector3f(x, 0, 1).x, pc.TensorXf([[1]]).T, pc.PCG32(1).next_float32(), pc.explain(z).upper(), n, shape)
made = [pc.zeros(3, dtype="f4"), pc.zeros(pc.Float, 3), pc.zeros((2, 3)), pc.arange(3), pc.arange(1, 7, 2), pc.rand(3)]
found = [pc.sum(x, axis=0, keepdims=True), pc.max(x), pc.max(x, 0), pc.std(x, ddof=1), x.std(ddof=1), x.to("cpu")]
same: bool = x.dtype == pc.Float
pc.scatter_reduce(pc.ReduceOp.Add, x, 1.0, pc.UInt32([0]))
ordered = [pc.sort(x, descending=True), pc.pad(x, 2, mode="edge"), pc.sum(x, dtype="f8"), pc.divmod(x, 2), pc.softplus(x)]
print(made, found, same, ordered)
with pc.no_grad():
    t: pc.Tensor = pc.TensorXf([[1]])

y: pc.Float = x + 1
y = 2.5 * x - y
m: pc.Mask = x > 1
m = (x > y) & ~m
x += 1
x -= y
quotient, rest = divmod(x, 2)
first: float = x[0]
part: pc.Float = x[1:]
truth: bool = m[0]
i: pc.Int32 = pc.Int32([1]) * 2
half: pc.Float = i * 0.5
v: pc.Vector3f = -pc.Vector3f(x, 0, 1) * 2.5
x.grad = None
on: bool = x.requires_grad
curve: pc.Float = pc.sin(x) + 1
curve = pc.sum(x) * pc.sort(x, descending=True)
turned: pc.TensorXf = pc.sqrt(pc.TensorXf([[1]])).T
alike: pc.Mask = x == 1
print(curve, turned, alike)
print(quotient, rest, first, part, truth, half, v, on, x.dtype.itemsize)



@pc.jit(static_argnums=1)
def g(x: pc.Float, n: int) -> pc.Float:
    return x * n


class Model:
    @pc.freeze
    def scaled(self, x: pc.Float) -> pc.Float:
        return x * 2


scaled: pc.Float = g(Model().scaled(x), 2)
forms: int = g.n_recordings
g.clear()
print(scaled, forms, pc.jit(pc.sin)(x))

a = xp.asarray([1.0, 2.0])
b: xp.Array = a + 1
b += a
print(xp.sum(a, axis=0), xp.linalg.inv(xp.eye(2)), xp.fft.fft(b), xp.float32, a.shape[0], pc.array_api.mean(a), len(a))
"""


@pytest.fixture
def use(tmp_path):
    """A program beside the stubs alone."""
    stubs = tmp_path / "stubs/porcini"
    (stubs / "array_api").mkdir(parents=True)
    for name in ["__init__.pyi", "py.typed", *(f"array_api/{name}.pyi" for name in ("__init__", "fft", "linalg"))]:
        shutil.copy(Path(pc.__file__).parent / name, stubs / name)
    (tmp_path / "use.py").write_text(USE)
    return tmp_path / "use.py"


def check(*command, **environment):
    command = [sys.executable, "-m", *map(str, command)]
    said = subprocess.run(command, capture_output=True, text=True, env={"PATH": "", **environment})
    assert said.returncode == 0, said.stdout + said.stderr


def test_mypy(use):
    pytest.importorskip("mypy")
    check("mypy", "--strict", "--cache-dir", use.parent / "cache", use, MYPYPATH=str(use.parent / "stubs"))


def test_pyright(use):
    # Pyright as PyPI carries it whole; Microsoft's fetches its program when it runs.
    pytest.importorskip("basedpyright", reason="basedpyright brings 280 MB, so no requirement asks for it")
    settings = '{"typeCheckingMode": "strict", "extraPaths": ["stubs"], "include": ["use.py", "stubs"]}'
    (use.parent / "pyrightconfig.json").write_text(settings)
    check("basedpyright", "-p", use.parent)
