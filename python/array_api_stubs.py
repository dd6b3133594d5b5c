"""The stubs of porcini.array_api and its extensions, which stubs.py writes."""

import inspect
import types

HEAD = '''"""Written by stubs.py from the package; see there."""

import builtins
from collections.abc import Iterator
from typing import Any, NamedTuple

'''

# What Python's own operations give.
RESULTS = {
    "__init__": "None",
    "__len__": "builtins.int",
    "__hash__": "builtins.int",
    "__int__": "builtins.int",
    "__index__": "builtins.int",
    "__bool__": "builtins.bool",
    "__float__": "builtins.float",
    "__complex__": "builtins.complex",
    "__repr__": "builtins.str",
    "__str__": "builtins.str",
    "__iter__": "Iterator[Any]",
    "__buffer__": "memoryview",
    "__setitem__": "None",
    "ndim": "builtins.int",
    "size": "builtins.int",
    "shape": "tuple[builtins.int, ...]",
    "dtype": "DType",
}
OTHERS = {"__eq__", "__ne__"}


def parameters(made):
    """As they are, of any type."""
    texts, kinds = [], []
    for parameter in inspect.signature(made).parameters.values():
        kind, name = parameter.kind, parameter.name
        if kinds and kinds[-1] is parameter.POSITIONAL_ONLY and kind is not kinds[-1]:
            texts.append("/")
        if kind is parameter.KEYWORD_ONLY and not {parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL} & set(kinds):
            texts.append("*")
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(kind, "")
        kinds.append(kind)
        if name == "self":
            texts.append(name)
            continue
        texts.append(f"{stars}{name}: Any" + (" = ..." if parameter.default is not parameter.empty else ""))
    if kinds and kinds[-1] is inspect.Parameter.POSITIONAL_ONLY:
        texts.append("/")
    return ", ".join(texts)


def function(name, made, result="Any", indent=""):
    if name in OTHERS:
        return f"{indent}def {name}(self, other: object) -> Any: ..."
    return f"{indent}def {name}({parameters(made)}) -> {RESULTS.get(name, result)}: ..."


def class_of(name, made):
    if hasattr(made, "_fields"):
        return "\n".join([f"class {name}(NamedTuple):", *(f"    {field}: Any" for field in made._fields)])
    lines = [f"class {name}:"]
    for member, value in vars(made).items():
        is_operator = member.startswith("__")
        if isinstance(value, property):
            lines += ["    @property", f"    def {member}(self) -> {RESULTS.get(member, 'Any')}: ..."]
        elif inspect.isfunction(value) and (is_operator or not member.startswith("_")):
            own = name if is_operator and member not in ("__array_namespace__", "__array__", "__reduce__", "__getitem__") else "Any"
            lines.append(function(member, value, "Any" if member.startswith("__dlpack") else own, "    "))
        elif isinstance(value, types.MemberDescriptorType) and not member.startswith("_"):
            lines.append(f"    {member}: Any")
    return "\n".join(lines)


def stubs(module):
    """What a module has, but for what it has from others."""
    parts, public = [], getattr(module, "__all__", None)
    for name, made in vars(module).items():
        is_own = name == "__array_namespace_info__" or not name.startswith("_")
        if not is_own or public is not None and name not in public or name == "IntEnum":
            continue
        if inspect.ismodule(made):
            if made.__name__.startswith(module.__name__ + "."):
                parts.append(f"from . import {name} as {name}")
        elif inspect.isclass(made):
            parts.append(class_of(name, made))
        elif inspect.isfunction(made):
            parts.append(function(name, made))
        else:
            parts.append(f"{name}: {'DType' if type(made).__name__ == 'DType' else 'Any'}")
    return HEAD + "\n".join(parts) + "\n"
