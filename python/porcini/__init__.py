"""Arrays whose operations are recorded, not run: looking at a value fuses all it needs into one kernel.

>>> import porcini as pc
>>> x = pc.linspace(0, 1, 5)
>>> y = pc.sin(x) * 2 + 1        # recorded
>>> y                            # one kernel, compiled and run
[1, 1.49481, 1.95885, 2.36328, 2.68294]

Classes are Float, Int32, Mask and so on, Vector3f, Matrix4f, Complex2f, Quaternion4f, TensorXf, PCG32. Functions of arrays
have the names that they have in scripts, and are methods of their first argument; help(pc.sort) tells more. What only scripts
have, as engines and Cengine's operations, run_text runs: pc.run_text('e = engine(); e.get(e.push("sin", x))', {"x": x}).
"""

import builtins
from importlib import import_module as _import_module

from . import _porcini
from ._arrangement import *  # noqa: F403
from ._bridges import to_jax, to_torch
from ._derivatives import check_gradients, grad, hessian, jacobian, jvp, value_and_grad, vjp
from ._drjit_names import *  # noqa: F403
from ._drjit_traits import *  # noqa: F403
from ._files import load, save, savez
from ._functions_of_others import *  # noqa: F403
from ._kernels import kernel, reduction, scan
from ._linear_names import matrix_norm, multi_dot, vector_norm
from ._numpy_names import *  # noqa: F403
from ._polynomials import polyadd, polyder, polydiv, polyint, polymul, polysub
from ._porcini import *  # noqa: F403
from ._porcini import __version__
from ._scatter_reduce import ReduceOp, block_prefix_reduce, block_reduce, prefix_reduce, reduce, scatter_reduce
from ._scripts import of_scripts as _of_scripts
from ._scripts import run, run_text

pi = 3.141592653589793
e = 2.718281828459045
inf = float("inf")
nan = float("nan")
newaxis = None
jit = freeze = _porcini.function
plan = _porcini.explain


def __getattr__(name):
    # Functions of core's tables are made when they are first asked for: there are hundreds, and imports are short.
    if name == "__all__":  # import *: Python's own functions stay what they are
        return [name for name in __dir__() if not hasattr(builtins, name)]
    if name.startswith("__"):  # what Python and libraries ask of any object
        raise AttributeError(f"module porcini has no {name}")
    if name == "array_api":
        return _import_module("porcini.array_api")
    made = _porcini._function(name)
    if made is None:
        from ._elsewhere import ELSEWHERE

        hint = f": {ELSEWHERE[name]}" if name in ELSEWHERE else _of_scripts(name) + _porcini._similar(name)
        raise AttributeError(f"module porcini has no {name}{hint}")
    globals()[name] = made
    return made


def array(object, dtype=None):
    """As asarray, of memory of its own: what is written to object afterwards is not seen.

    >>> pc.array([1.5, 2])
    [1.5, 2]
    """
    return _porcini.asarray(object, dtype, copy=True)


def __dir__():
    return sorted({name for name in globals() if not name.startswith("_")} | set(_porcini._function_names()))


def load_ipython_extension(shell):
    """%load_ext porcini"""
    from ._ipython import load

    load(shell)


def unload_ipython_extension(shell):
    """%unload_ext porcini"""
    from ._ipython import unload

    unload(shell)
