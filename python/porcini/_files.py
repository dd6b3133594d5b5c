"""Files of NumPy: one array, or several by name."""

import os

import porcini as pc


def save(path, x):
    """Writes an array or tensor to a file .npy, as np.save, which appends .npy to other names; NumPy must be there. A dict of
    arrays goes to a file .npz, savez(path, params).

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.npy"
    >>> pc.save(path, pc.Float([1, 2]))
    >>> pc.load(path)
    [1, 2]
    """
    import numpy

    if isinstance(x, dict):
        raise TypeError("save: got a dict, expected an array; pc.savez(path, x) writes those of a dict to a file .npz")
    numpy.save(path, pc.asarray(x).numpy())


def savez(path, *arrays, **named):
    """Writes arrays to a file .npz, as np.savez, which appends .npz to other names: those of a dict, such as the weights of a
    model, or given by name; others are arr_0, arr_1 and so on. pc.load(path) gives them in a dict. NumPy must be there.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "w.npz"
    >>> pc.savez(path, {"w": pc.Float([1, 2]), "b": pc.TensorXf([[3]])})
    >>> pc.load(path)
    {'w': [1, 2], 'b': [[3]]}
    """
    import numpy

    given = {f"arr_{i}": x for i, x in enumerate(x for x in arrays if not isinstance(x, dict))}
    for more in [x for x in arrays if isinstance(x, dict)] + [named]:
        if twice := sorted(map(str, given.keys() & more.keys())):
            raise TypeError(f"savez: got two arrays of the name {twice[0]}")
        given |= more
    numpy.savez(path, **{_text(name): _contents(name, x) for name, x in given.items()})


def _text(name):
    if not isinstance(name, str):
        raise TypeError(f"savez: got {name!r} as a name, expected a text")
    # NumPy's own parameter.
    if name in ("file", "allow_pickle"):
        raise ValueError(f"savez: an array cannot be named {name!r} in a file .npz that NumPy writes")
    return name


def _contents(name, x):
    if isinstance(x, (dict, tuple)):
        what = type(x).__name__
        raise TypeError(f"savez: got a {what} as {name!r}, expected an array: names of one level, as 'layer1.w', can be read again")
    return pc.asarray(x).numpy()


def load(path):
    """The array or tensor of a file .npy, as np.load; those of a file .npz in a dict by their names. NumPy must be there.
    help(pc.save) and help(pc.savez) have examples."""
    import numpy

    name = repr(str(getattr(path, "name", path)))
    try:
        found = numpy.load(path)
        if isinstance(found, numpy.ndarray):
            return pc.array(found)
        with found:
            return {key: pc.array(found[key]) for key in found.files}
    except FileNotFoundError:
        there = [f"{path}{end}" for end in (".npy", ".npz") if os.path.exists(f"{path}{end}")]
        hint = f"; there is {there[0]!r}, the name that save gives" if there else ""
        raise FileNotFoundError(f"load: no file {name}{hint}") from None
    except (ValueError, EOFError) as error:
        # What NumPy says of any other file is that it may hold pickled objects.
        if "pickle" not in str(error) and not isinstance(error, EOFError):
            raise
        raise ValueError(f"load: got {name}, expected a file .npy of numbers; np.loadtxt(path, delimiter=\",\") reads text") from None
