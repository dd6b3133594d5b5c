"""What a wheel has beside the library: only where one is installed."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(sys.prefix) / "bin"
pytestmark = pytest.mark.skipif(not (PROGRAMS / "porcini-jupyter").exists(), reason="no wheel is installed")


def test_the_shell():
    shown = subprocess.run([PROGRAMS / "porcini", "-e", "FloatC([1, 2]) * 2"], capture_output=True, text=True)
    assert shown.stdout == "[2, 4]\n"


def test_the_kernel_of_notebooks():
    client = pytest.importorskip("jupyter_client")
    manager, kernel = client.manager.start_new_kernel(kernel_name="porcini", startup_timeout=60)
    try:
        said = []
        kernel.execute_interactive("FloatC([1, 2]) * 2", timeout=60, output_hook=said.append)
        results = [message["content"]["data"]["text/plain"] for message in said if "data" in message["content"]]
        assert "[2, 4]" in results
    finally:
        kernel.stop_channels()
        manager.shutdown_kernel(now=True)


def test_magics():
    interactive = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell.instance()
    completer = pytest.importorskip("IPython.core.completer")
    interactive.run_line_magic("load_ext", "porcini")
    interactive.run_cell("import porcini as pc\nx = pc.Float([1, 2])")
    interactive.run_cell("%%porcini\nfn twice(v) { v * 2 }\ny = twice(x);")
    interactive.run_cell("%%porcini z\nz = twice(y); other = 1;")
    names = interactive.user_ns
    assert names["y"].tolist() == [2, 4] and names["z"].tolist() == [4, 8] and "other" not in names
    assert any(row["name"] == "x" for row in interactive.run_line_magic("whos_porcini", ""))
    # What is no name is told, and nothing runs.
    interactive.run_cell("%%porcini -o other\nother = 1;")
    assert "other" not in names
    interactive.run_cell("%porcini w = x * 3; w")
    assert names["w"].tolist() == [3, 6]
    with completer.provisionalcompleter():
        text = "%%porcini\na = FloatC::lins"
        found = [found.text for found in interactive.Completer.completions(text, len(text))]
        assert "linspace" in found
        for text, is_script in [("  y = %porcini FloatC::lins", True), ("%porcini FloatC::lins", True), ("print('%porcini FloatC::lins", False)]:
            found = [found.text for found in interactive.Completer.completions(text, len(text))]
            assert ("linspace" in found) == is_script
    interactive.run_line_magic("unload_ext", "porcini")
    assert interactive.find_magic("porcini", "cell") is None
    interactive.run_line_magic("load_ext", "porcini")
