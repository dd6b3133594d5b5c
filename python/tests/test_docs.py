"""Every example in every help text is run."""

import doctest
import inspect

import pytest

import porcini as pc
from porcini import _porcini

PARSER = doctest.DocTestParser()


def run(name, text):
    test = PARSER.get_doctest(text, {"pc": pc}, name, None, 0)
    said = []
    doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    # Told by exceptions elsewhere: here it is what the runner wrote.
    assert not said, "".join(said)
    return len(test.examples)


def test_functions_of_the_tables():
    n = sum(run(name, getattr(pc, name).__doc__) for name in _porcini._function_names())
    assert n > 450


def test_functions_of_the_package():
    own = [
        (name, made.__doc__)
        for name, made in list(vars(pc).items())
        if callable(made) and not inspect.isclass(made) and not name.startswith("_") and made.__doc__
    ]
    assert sum(run(name, text) for name, text in own) > 15


def test_the_front_page():
    assert run("porcini", pc.__doc__) >= 4


@pytest.mark.parametrize("name", ["sin", "sort", "roll", "sum", "svd", "matmul"])
def test_help_shows_forms(name):
    assert getattr(pc, name).__doc__.startswith(f"{name}(")
    assert "(" in str(inspect.signature(getattr(pc, name)))


def test_help_shows_arguments_of_python_alone():
    assert "\nsort(x, axis=-1, kind=None, *, stable=None, descending=False)\n" in pc.sort.__doc__
    assert "\nsum(x, *args, dtype=None, initial=None" in pc.sum.__doc__ and "dtype=" not in pc.sin.__doc__


def test_names_are_listed():
    names = dir(pc)
    assert {"Float", "Vector3f", "TensorXf", "sin", "sort", "grad", "kernel", "PCG32"} <= set(names)
    assert "sin" in dir(pc.Float(1)) and "x" in dir(pc.Vector2f(1, 2))


def test_the_readme():
    from pathlib import Path

    page = Path(__file__).parent.parent / "README.md"
    assert run("README", page.read_text()) >= 5


def test_the_notebook():
    """Its cells run, and give what it shows."""
    import json
    from pathlib import Path

    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    shown = nbformat.reads((Path(__file__).parent.parent / "examples/first.ipynb").read_text(), 4)
    made = nbformat.from_dict(json.loads(json.dumps(shown)))
    nbclient.NotebookClient(made, timeout=120, kernel_name="python3").execute()

    def texts(notebook):
        return [output.data.get("text/plain") for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output]

    assert len(texts(shown)) >= 8
    # Of listings only that there is one: they have numbers that go up.
    for cell_shown, cell_made in zip(shown.cells, made.cells):
        if "whos" not in cell_shown.source:
            assert texts(nbformat.from_dict({"cells": [cell_made]})) == texts(nbformat.from_dict({"cells": [cell_shown]}))
