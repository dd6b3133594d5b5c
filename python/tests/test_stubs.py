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
with pc.no_grad():
    t: pc.Tensor = pc.TensorXf([[1]])
"""


def test_mypy(tmp_path):
    pytest.importorskip("mypy")
    use, stubs = tmp_path / "use.py", tmp_path / "stubs/porcini"
    use.write_text(USE)
    stubs.mkdir(parents=True)
    for name in ["__init__.pyi", "py.typed"]:
        shutil.copy(Path(pc.__file__).parent / name, stubs)
    said = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(use)], capture_output=True, text=True,
        env={"MYPYPATH": str(stubs.parent), "PATH": ""},
    )  # fmt: skip
    assert said.returncode == 0, said.stdout + said.stderr
