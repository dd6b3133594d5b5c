#!/usr/bin/env python3
"""Writes the stubs of porcini and porcini.array_api, which editors and type checkers read, from the packages as they are."""

import enum
import inspect
import keyword
import sys
from pathlib import Path

import array_api_stubs

HEAD = '''"""Written by stubs.py from the package; see there."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from enum import Enum
from types import EllipsisType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from typing_extensions import Buffer

_A = TypeVar("_A", bound=_Lanes[Any] | Tensor)
_F = TypeVar("_F", bound=Callable[..., Any])
_Floats = TypeVar("_Floats", bound=_OfFloats)
_L = TypeVar("_L", bound=_Lanes[float])
_N = TypeVar("_N")
_P = ParamSpec("_P")
_Q = ParamSpec("_Q")
_R = TypeVar("_R")
_Index = int | slice | None | EllipsisType | Array | list[int] | list[bool] | tuple[Any, ...]
_Operand = Any


class _DType(str):
    def __eq__(self, other: object) -> bool: ...
    def __ne__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def type(self) -> Any: ...


class _Function(Generic[_P, _R]):
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    @overload
    def __get__(self, instance: None, owner: Any = ...) -> Self: ...
    @overload
    def __get__(self: _Function[Concatenate[Any, _Q], _R], instance: object, owner: Any = ...) -> Callable[_Q, _R]: ...
    @property
    def __wrapped__(self) -> Callable[_P, _R]: ...
    @property
    def n_recordings(self) -> int: ...
    def clear(self) -> None: ...


__version__: str
pi: float
e: float
inf: float
nan: float
newaxis: None
two_pi: float
four_pi: float
inv_pi: float
inv_two_pi: float
inv_four_pi: float
sqrt_pi: float
inv_sqrt_pi: float
sqrt_two_pi: float
inv_sqrt_two_pi: float
sqrt_four_pi: float
inv_sqrt_four_pi: float
sqrt_two: float
inv_sqrt_two: float
log_two: float
inv_log_two: float
PCG32_DEFAULT_STATE: int
PCG32_DEFAULT_STREAM: int
'''


def recording(name):
    """A function that records another one, and without it is a decorator."""
    options = "*, static_argnums: Any = ..., static_argnames: Any = ..., **others: Any"
    made = "_Function[_P, _R]"
    return (
        f"@overload\ndef {name}(f: Callable[_P, _R], {options}) -> {made}: ...\n\n"
        f"@overload\ndef {name}(f: None = ..., {options}) -> Callable[[Callable[_P, _R]], {made}]: ..."
    )


# What is said better than by looking: results, and decorators that keep the type of what they get.
SPECIAL = {
    "max": "def max(x: Any, axis: Any = ..., keepdims: bool = ..., **kwargs: Any) -> Any: ...",
    "min": "def min(x: Any, axis: Any = ..., keepdims: bool = ..., **kwargs: Any) -> Any: ...",
    "function": recording("function"),
    "jit": recording("jit"),
    "freeze": recording("freeze"),
    "checkpoint": "def checkpoint(f: _F) -> _F: ...",
    "no_grad": "def no_grad() -> AbstractContextManager[None]: ...",
    "suspend_grad": "def suspend_grad() -> AbstractContextManager[None]: ...",
    "resume_grad": "def resume_grad() -> AbstractContextManager[None]: ...",
    "isolate_grad": "def isolate_grad() -> AbstractContextManager[None]: ...",
}
ARITHMETIC = "add sub mul floordiv mod pow".split()
BITS = "and or xor lshift rshift".split()
# What gives floats, or complex numbers, of the class that it takes, and what rearranges any lanes. Integers and numbers become
# what the class of floats is that they make.
LIKE_FLOATS = set(
    """sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp exp2 expm1 log log2 log10 log1p sqrt cbrt rsqrt rcp erf
    erfc lgamma tgamma floor ceil round trunc sigmoid relu softplus gelu silu""".split()
)
LIKE_ANY = {"sort", "reverse", "roll", "copy", "detach"}
TOTALS = {"sum", "prod", "mean", "hsum", "hprod", "hmean", "hmin", "hmax"}
TEXTS = {"ptx", "sass", "asm", "ir", "explain", "plan", "graphviz", "device"}


def has_form(made):
    """Whether a function of the tables has a form in Python, which stands in its help."""
    from porcini._form import FORMS, described

    texts = (made.__name__ + "\n\n".join(described(name)) for name in FORMS)
    return type(made).__module__ == "porcini" and any(text in (made.__doc__ or "") for text in texts)


def parameters(made):
    try:
        signature = inspect.signature(made)
    except (TypeError, ValueError):
        return "*args: Any, **kwargs: Any"
    names = signature.parameters
    if type(made).__module__ == "porcini" and "dtype" in names and names["dtype"].kind is inspect.Parameter.KEYWORD_ONLY:
        # What makes values has forms with a class first, zeros(Float, 3), and with extents side by side.
        return "*args: Any, dtype: Any = ..., **kwargs: Any"
    texts, starred = [], False
    is_open_to_more = has_form(made)
    for parameter in signature.parameters.values():
        name = parameter.name + ("_" if keyword.iskeyword(parameter.name) else "")
        if parameter.kind is parameter.VAR_POSITIONAL:
            texts.append(f"*{name}: Any")
            starred = True
        elif parameter.kind is parameter.VAR_KEYWORD:
            texts.append(f"**{name}: Any")
        else:
            if parameter.kind is parameter.KEYWORD_ONLY and not starred:
                texts.append("*")
                starred = True
            # What a form takes may be fewer: where(mask).
            is_open = parameter.default is not parameter.empty or is_open_to_more and texts
            texts.append(f"{name}: Any" + (" = ..." if is_open else ""))
    if "axes" in names and not starred:
        texts.append("axis: Any = ...")  # as NumPy calls them
    if is_open_to_more and not starred:
        texts += ["*args: Any", "**kwargs: Any"]
    return ", ".join(texts)


def summary(made):
    doc = (made.__doc__ or "").strip()
    lines = [line for line in doc.split("\n") if line and not line.startswith((">>>", f"{made.__name__}("))]
    return lines[0].strip().replace("\\", "\\\\").replace('"""', "'''") if lines else ""


def result(name):
    return "str" if name in TEXTS else "Any"


def function(name, made):
    text = SPECIAL.get(name, f"def {name}({parameters(made)}) -> {result(name)}: ...")
    doc = summary(made)
    if doc:
        text = text.removesuffix(" ...") + f'\n    """{doc}"""\n    ...'
    first, _, rest = parameters(made).partition(", ")
    first = first.partition(":")[0]
    known = [
        (LIKE_FLOATS, f"{first}: _Floats", "_Floats"),
        (LIKE_ANY, ", ".join([f"{first}: _A", *filter(None, [rest])]), "_A"),
        (TOTALS, f"{first}: _L", "_L"),
    ]
    for names, takes, gives in known:
        if name in names:
            return f"@overload\ndef {name}({takes}) -> {gives}: ...\n\n@overload\n{text}"
    return text


def overloads(name, *forms, key="other"):
    """A method of several forms: what it takes, and gives."""
    extra = ", modulus: None = ..." if name == "pow" else ""
    return [line for given, made in forms for line in ("    @overload", f"    def __{name}__(self, {key}: {given}{extra}) -> {made}: ...")]


def reflected(names, made):
    modulus = {"pow": ", modulus: None = ..."}
    return [f"    def __r{name}__(self, other: _Operand{modulus.get(name, '')}) -> {made}: ..." for name in names]


def families():
    """What classes with one type of lanes say better: what they make of their own and of numbers, what their lanes are."""
    # Floats stay what they are beside any number.
    lines = ["class _OfFloats(Array):"]
    for name in [*ARITHMETIC, "truediv"]:
        lines += overloads(name, ("Self | float", "Self"), ("_Operand", "Any"))
    lines += [*reflected([*ARITHMETIC, "truediv"], "Self"), "", ""]
    # Integers become floats beside them.
    lines += ["class _OfIntegers(Array):"]
    for name in ARITHMETIC:
        lines += overloads(name, ("Self | int", "Self"), ("_Operand", "Any"))
    lines += [*reflected([*ARITHMETIC, "truediv"], "Any"), "    def __truediv__(self, other: _Operand) -> Any: ..."]
    lines += ["", "", "class _Lanes(Array, Generic[_N]):"]
    for name in "lt le gt ge".split():
        lines += overloads(name, ("Self | float", "Mask"), ("_Operand", "Any"))
    for name in "eq ne".split():
        lines += overloads(name, ("Self | float", "Mask"), ("object", "Any"))
    lines += overloads("getitem", ("int", "_N"), ("slice", "Self"), ("Any", "Any"), key="key")
    return "\n".join([*lines, "    def __abs__(self) -> Self: ...", "    def __iter__(self) -> Iterator[_N]: ..."])


def bases(made):
    """The class that it has, behind what its lanes say."""
    name, own = made.__name__, made.__base__.__name__
    if name == "Mask":
        return "_Lanes[bool]"
    if own == "Array":
        lanes = {"F": "_OfFloats, _Lanes[float]", "I": "_OfIntegers, _Lanes[int]", "U": "_OfIntegers, _Lanes[int]"}
        return lanes.get(name[0], own)
    letter = name.rstrip("0123456789")[-1]
    family = "_OfFloats, " if letter in "fdhcz" else "_OfIntegers, " if letter in "iu" else ""
    return family + own


def array_class(pc):
    lines = ["class Array(Buffer):", "    def __init__(self, *args: Any, shape: Any = ...) -> None: ..."]
    for name in ARITHMETIC + BITS:
        lines += overloads(name, ("Self | int", "Self"), ("float", "Array"), ("_Operand", "Any"))
    lines += reflected([*ARITHMETIC, *BITS, "truediv", "matmul"], "Array")
    lines += [f"    def __{name}__(self, other: _Operand) -> Array: ..." for name in ("truediv", "matmul")]
    lines += [f"    def __{name}__(self, other: _Operand) -> tuple[Any, Any]: ..." for name in ("divmod", "rdivmod")]
    lines += [f"    def __{name}__(self, other: _Operand) -> Array: ..." for name in "lt le gt ge".split()]
    lines += [
        "    def __eq__(self, other: object) -> Any: ...",
        "    def __ne__(self, other: object) -> Any: ...",
        "    def __neg__(self) -> Self: ...",
        "    def __pos__(self) -> Self: ...",
        "    def __abs__(self) -> Array: ...",
        "    def __invert__(self) -> Self: ...",
        "    def __len__(self) -> int: ...",
        "    def __iter__(self) -> Iterator[Any]: ...",
        "    def __contains__(self, item: Any) -> bool: ...",
        "    def __getitem__(self, key: _Index) -> Any: ...",
        "    def __setitem__(self, key: _Index, value: Any) -> None: ...",
        "    def __bool__(self) -> bool: ...",
        "    def __float__(self) -> float: ...",
        "    def __complex__(self) -> complex: ...",
        "    def __int__(self) -> int: ...",
        "    def __index__(self) -> int: ...",
        "    def __bytes__(self) -> bytes: ...",
        "    def __buffer__(self, flags: int, /) -> memoryview: ...",
        "    # Components and every function that takes an array first.",
        "    def __getattr__(self, name: str) -> Any: ...",
        "    @property",
        "    def shape(self) -> tuple[int, ...]: ...",
        "    @property",
        "    def ndim(self) -> int: ...",
        "    @property",
        "    def size(self) -> int: ...",
        "    @property",
        "    def dtype(self) -> _DType: ...",
        "    @property",
        "    def T(self) -> Self: ...",
        "    @property",
        "    def grad(self) -> Any: ...",
        "    @grad.setter",
        "    def grad(self, gradient: Any) -> None: ...",
        "    @property",
        "    def requires_grad(self) -> bool: ...",
        "    @property",
        "    def grad_enabled(self) -> bool: ...",
        "    def backward(self, gradient: Any = ...) -> None: ...",
        "    def copy(self) -> Any: ...",
        "    def item(self, *index: Any) -> Any: ...",
        "    def tolist(self) -> list[Any]: ...",
        "    def numpy(self, dtype: Any = ...) -> Any: ...",
        "    def to(self, device: str) -> Any: ...",
    ]
    makers = sorted(name for name, made in vars(pc.Array).items() if type(made).__name__ == "Maker")
    lines += [f"    @classmethod\n    def {name}(cls, *args: Any, **kwargs: Any) -> Any: ..." for name in makers]
    return "\n".join(lines)


def stubs():
    import porcini as pc

    parts, aliases, classes = [HEAD, array_class(pc), families()], [], []
    for name in sorted(vars(pc)):
        made = getattr(pc, name)
        if not inspect.isclass(made) or name.startswith("_") or name == "Array":
            continue
        if made.__name__ != name:
            aliases.append(f"{name} = {made.__name__}")
        elif issubclass(made, enum.Enum):
            parts.append(f"class {name}(Enum):\n" + "\n".join(f"    {member.name} = {member.value!r}" for member in made))
        elif issubclass(made, pc.Array):
            classes.append((made.__base__ is not pc.Array, name, made))
        else:
            methods = [n for n in sorted(vars(made)) if not n.startswith("_")]
            body = [f"    def __init__(self, *args: Any, **kwargs: Any) -> None: ..."]
            for n in methods:
                is_method = callable(getattr(made, n))
                body.append(f"    def {n}(self, *args: Any, **kwargs: Any) -> Any: ..." if is_method and n != "seeded" else
                            f"    {n}: Any" if n != "seeded" else "    @staticmethod\n    def seeded(n: int, seed: int = ...) -> PCG32: ...")
            if made.__name__ in ("Kernel", "Reduction", "Function"):
                body.append("    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...")
            if made.__name__ == "PCG32":
                body.append("    def __len__(self) -> int: ...")
            parts.append(f"class {name}:\n" + "\n".join(body))
    # Bases come first.
    for _, name, made in sorted(classes, key=lambda row: row[:2]):
        parts.append(f'class {name}({bases(made)}):\n    """{made.__doc__.splitlines()[0]}"""')
    parts += aliases
    own = {name for name, made in vars(pc).items() if callable(made) and not inspect.isclass(made) and not name.startswith("_")}
    names = {name for name in own if not inspect.ismodule(getattr(pc, name))} | set(pc._porcini._function_names())
    for name in sorted(names - {"load_ipython_extension", "unload_ipython_extension"}):
        parts.append(function(name, getattr(pc, name)))
    return "\n\n".join(parts) + "\n"


def files():
    """The texts of all stubs by their paths in the package."""
    import porcini.array_api as xp

    modules = {"__init__": xp, "fft": xp.fft, "linalg": xp.linalg}
    return {"__init__.pyi": stubs()} | {f"array_api/{name}.pyi": array_api_stubs.stubs(made) for name, made in modules.items()}


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    for path, text in files().items():
        (Path(__file__).parent / "porcini" / path).write_text(text)
