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
    assert (Path(pc.__file__).parent / "__init__.pyi").read_text() == stubs.stubs(), "run python/stubs.py"


USE = """
import porcini as pc

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
"""


@pytest.fixture
def use(tmp_path):
    """A program beside the stubs alone."""
    stubs = tmp_path / "stubs/porcini"
    stubs.mkdir(parents=True)
    for name in ["__init__.pyi", "py.typed"]:
        shutil.copy(Path(pc.__file__).parent / name, stubs)
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
