"""Executes the notebooks in examples/notebooks; what they show must be what they have stored.

notebooks.py [FOLDER KERNEL]: those in a folder below, on another kernel.
Cells with the tag "varies" (times, machine code, memory) are run and not compared. UPDATE_EXPECT=1 stores
what was shown.
"""

import os
import re
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parents[3] / "examples" / "notebooks"


def forms(output):
    """What is shown, by type; the processor's name is not the same everywhere."""
    return {mime: re.sub(r"cpu \([^)]*\)", "cpu", content) for mime, content in output.data.items()}


def texts(cell):
    """What a cell shows."""
    shown = []
    for output in cell.get("outputs", []):
        if output.output_type == "stream":
            # On a busy machine what a cell prints comes in several messages.
            if shown and shown[-1][0] == output.name:
                shown[-1] = (output.name, shown[-1][1] + output.text)
            else:
                shown.append((output.name, output.text))
        elif output.output_type == "error":
            shown.append(("error", output.evalue))
        else:
            shown.append((output.output_type, forms(output)))
    return shown


def main():
    folder, kernel = sys.argv[1:] or ("", "porcini")
    failures = []
    notebooks = sorted((FOLDER / folder).glob("*.ipynb"))
    for path in notebooks:
        stored = nbformat.read(path, as_version=4)
        shown = nbformat.read(path, as_version=4)
        NotebookClient(shown, kernel_name=kernel, timeout=60, startup_timeout=600).execute()
        for cell in shown.cells:
            cell.metadata.pop("execution", None)
        for i, (before, after) in enumerate(zip(stored.cells, shown.cells)):
            if after.cell_type == "code" and "varies" not in after.metadata.get("tags", []):
                if texts(before) != texts(after):
                    failures.append(f"{path.name}, cell {i + 1}:\n{after.source}\n"
                                    f"stored {texts(before)}\nshown  {texts(after)}\n")
        if os.environ.get("UPDATE_EXPECT"):
            nbformat.write(shown, path)
    if not notebooks or failures and not os.environ.get("UPDATE_EXPECT"):
        sys.exit("\n".join(failures) or "no notebooks")


main()
