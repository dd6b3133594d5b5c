"""Scripts in Rhai, run from Python. They share the session, so arrays go in and out without a copy."""

import os

from . import _porcini

_scripts = None


def _forget():
    """In a child of the process, which has not the thread that it works on."""
    global _scripts
    _scripts = None


os.register_at_fork(after_in_child=_forget)


def run(path, *args, **given):
    """Runs a script file; a dict of its variables. Keyword arguments are variables that it has from the start, others the
    texts in its ARGS.

    >>> import tempfile, pathlib
    >>> script = pathlib.Path(tempfile.mkdtemp()) / "double.rhai"
    >>> _ = script.write_text("y = x * 2; n = ARGS.len();")
    >>> pc.run(script, "a", x=pc.Float([1, 2]))["y"]
    [2, 4]
    """
    # Slow to import, and needed here alone.
    from pathlib import Path

    text = Path(path).read_text()
    found, _ = _porcini.Scripts([str(arg) for arg in args]).run(text, str(path), given)
    return {**given, **found}


def run_text(text, namespace=None, wanted=None):
    """Runs a text of a script with the variables of a namespace that it names; a dict of what it assigned, and its value.
    Functions and variables of texts stay for later ones.

    >>> found, value = pc.run_text("y = x + 1; y * 10", {"x": pc.Float([1, 2])})
    >>> found["y"], value
    ([2, 3], [20, 30])
    """
    return run_shown(text, namespace or {}, wanted, None)


def run_shown(text, namespace, wanted, display):
    """As run_text; pictures are shown by display."""
    words = _porcini._words(text)
    given = {name: namespace[name] for name in words if name in namespace}
    found, value = shared().run(text, "<cell>", given, display)
    keep = words if wanted is None else set(wanted)
    return {name: value for name, value in found.items() if name in keep}, value


def shared():
    """The interpreter of all texts."""
    global _scripts
    if _scripts is None:
        _scripts = _porcini.Scripts()
    return _scripts


def of_scripts(name):
    """How a function is called that only scripts have; nothing for other names."""
    # Another interpreter than that of the texts, which may be what asks; some processes have none.
    try:
        _, known = _porcini.Scripts().complete(name, len(name))
    except RuntimeError:
        return ""
    is_function = any(found == name and kind == "function" for found, kind in known)
    return f": it is a function of scripts: pc.run_text('{name}(..)', {{'x': x}})" if is_function else ""
