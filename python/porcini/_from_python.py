"""The source of a Python function as the text of a kernel, where it is in the subset that both have: assignments, if, while,
for over range, arithmetic, calls of functions of the catalogue and of kernels, numbers that the function sees, one result.

Python finds the type of a name at each assignment, a kernel once: a local is declared with the type that all its values
fit in. What would mean something else in a kernel is refused, with the line."""

import ast
import builtins
import inspect
import math
import textwrap

from . import _porcini

_BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<",
    ast.RShift: ">>",
}  # fmt: skip
_NAMED = {ast.Pow: "pow", ast.FloorDiv: "floor_divide", ast.Mod: "mod"}
_COMPARE = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_TYPES = {
    "float": "float", "int": "int", "bool": "bool", "Float": "float", "Float32": "float", "Float64": "double",
    "Float16": "half", "Int": "int", "UInt": "uint32", "Mask": "bool", "Bool": "bool", "Int8": "int8", "Int16": "int16",
    "Int32": "int", "Int64": "int64", "UInt8": "uint8", "UInt16": "uint16", "UInt32": "uint32", "UInt64": "uint64",
}  # fmt: skip
_FLOATS = {"float", "double", "half"}
# Functions whose results are truth values, and those whose results are what their arguments are.
_TRUTHS = {"isnan", "isinf", "isfinite", "bool"}
_ALIKE = {"abs", "min", "max", "clip", "sqr", "idiv", "mod", "floor_divide", "round", "floor", "ceil", "trunc", "sign"}
# Names that mean something in the text of a kernel.
_WORDS = set(
    "i n T e pi auto double float half int bool char short long signed unsigned const void do switch case default goto struct "
    "union static volatile extern enum typedef sizeof inout out raw masked register inline true false size_t acc_t".split()
)


class _Translation:
    def __init__(self, f, definition, path, first_line):
        self.name, self.path, self.first_line = f.__name__, path, first_line
        self.seen = _seen_by(f)
        self.kernels = {}
        self.lines, self.depth, self.n_loops = [], 1, 0
        self.parameters = self.types_of(definition.args, f)
        self.values = _values(definition.body)
        self.counters = _counters(definition.body)
        self.returned = [node for node in _walked(definition) if isinstance(node, ast.Return)]
        # What a name holds: types of kernels, "int" and "float" for Python's numbers, which are as wide as what they meet.
        self.kinds = {name: {kind} for name, kind in self.parameters.items()}
        self.kinds |= {name: {"int"} for name in self.counters}
        self.settle()
        self.definite = set(self.parameters)

    def refused(self, node, what):
        line = self.first_line + getattr(node, "lineno", 1) - 1
        return SyntaxError(f"kernel {self.name}: {what} ({self.path}, line {line}); write the kernel as text")

    # ---- what names are ----

    def types_of(self, arguments, f):
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
            raise self.refused(arguments.args[0] if arguments.args else None, "expected plain parameters")
        return {
            argument.arg: "T" if argument.annotation is None else self.type_of(argument.annotation)
            for argument in arguments.posonlyargs + arguments.args
        }

    def type_of(self, annotation):
        name = getattr(annotation, "attr", None) or getattr(annotation, "id", None) or getattr(annotation, "value", None)
        if name not in _TYPES:
            raise self.refused(annotation, f"got `{ast.unparse(annotation)}` as a type, expected float, int, bool or Float64")
        return _TYPES[name]

    def settle(self):
        """Goes through assignments until no name gets another type."""
        while True:
            before = {name: set(kinds) for name, kinds in self.kinds.items()}
            for name, values in self.values.items():
                for value in values:
                    kinds = {self.type_of(value.annotation)} if isinstance(value, ast.AnnAssign) else self.kinds_of(value)
                    self.kinds[name] = self.kinds.get(name, set()) | kinds
            if self.kinds == before:
                return

    def kinds_of(self, node):
        """What a value may be."""
        match node:
            case ast.Constant(value=value):
                return {type(value).__name__}
            case ast.Name(id=name) if name in self.kinds or name in self.values:
                return self.kinds.get(name, set())
            case ast.Name() | ast.Attribute():
                return {type(self.number(node)).__name__}
            case ast.UnaryOp(op=ast.Not()) | ast.Compare() | ast.BoolOp():
                return {"bool"}
            case ast.UnaryOp(operand=operand):
                return self.kinds_of(operand)
            case ast.BinOp(left=left, op=op, right=right):
                return self.kinds_of(left) | self.kinds_of(right) | ({"float"} if isinstance(op, ast.Div) else set())
            case ast.IfExp(body=body, orelse=otherwise):
                return self.kinds_of(body) | self.kinds_of(otherwise)
            case ast.Subscript(value=value):
                return self.kinds_of(value)
            case ast.Call(func=func, args=args):
                name = self.function(func)
                if name in _TRUTHS or name in _TYPES:
                    return {_TYPES.get(name, "bool")}
                kinds = set().union(*map(self.kinds_of, args))
                return kinds if name in _ALIKE else kinds | {"float"}
        raise self.refused(node, f"got {type(node).__name__}, which kernels do not have")

    def declaration(self, name, kinds):
        """A declaration of what all those values fit in."""
        kinds = kinds - {"bool"} or kinds
        wide = kinds - {"int"} or kinds
        if len(wide) == 1:
            return f"{wide.pop()} {name} = 0;"
        # Of several types it is what they promote to; a literal takes the type of what it meets.
        terms = [f"{kind}(0)" for kind in sorted(kinds - {"float"})] + ["0.5"] * ("float" in kinds)
        return f"auto {name} = {' * '.join(terms)};"

    def spelled(self, name):
        """A local, which may not be called as what a kernel has, nor as a parameter that it is first a copy of."""
        return f"{name}_" if name in _WORDS or name in self.parameters and name in self.values else name

    def number(self, node):
        """The number that a name, or an attribute of one, is for the function."""
        value = self.looked_up(node)
        if isinstance(value, (bool, int, float)):
            return value
        got = "has no value here" if value is None else f"is of type {type(value).__name__}"
        raise self.refused(node, f"`{ast.unparse(node)}` {got}: expected a parameter, a local or a number")

    def looked_up(self, node):
        if isinstance(node, ast.Attribute):
            return getattr(self.looked_up(node.value), node.attr, None)
        name = getattr(node, "id", None)
        return None if name in self.values or name in self.counters else self.seen.get(name, getattr(builtins, name or "", None))

    def function(self, node):
        """What a function is called in a kernel."""
        found = self.looked_up(node)
        if isinstance(found, _porcini.Kernel):
            self.kernels[found.__name__] = found
        name = getattr(found, "__name__", None) if found is not None else getattr(node, "id", None)
        if not isinstance(name, str):
            raise self.refused(node, f"got `{ast.unparse(node)}`, expected a function")
        return name

    # ---- statements ----

    def line(self, text):
        self.lines.append("    " * self.depth + text)

    def block(self, statements):
        self.depth += 1
        for statement in statements:
            self.statement(statement)
        self.depth -= 1

    def begin(self):
        for name in self.values:
            if name in self.counters:
                raise self.refused(self.values[name][0], f"`{name}` counts a loop, too: expected another name")
            self.line(self.declaration(self.spelled(name), self.kinds[name]))
            if name in self.parameters:
                self.line(f"{self.spelled(name)} = {self.outer(name)};")
        if len(self.returned) > 1:
            kinds = set().union(*(self.kinds_of(node.value) for node in self.returned if node.value))
            self.line(self.declaration("result_", kinds))

    def outer(self, name):
        return f"{name}_in" if name in _WORDS else name

    def statement(self, node):
        match node:
            case ast.Return(value=None):
                raise self.refused(node, "a kernel returns a value")
            case ast.Return(value=value) if len(self.returned) > 1:
                self.line(f"result_ = {self.text(value)};")
                self.line("return result_;")
                self.definite = None
            case ast.Return(value=value):
                self.line(f"return {self.text(value)};")
                self.definite = None
            case ast.Assign(targets=[ast.Name(id=name)], value=value) | ast.AnnAssign(target=ast.Name(id=name), value=value):
                if value is None:
                    raise self.refused(node, "expected name: float = value")
                self.assign(name, self.text(value))
            case ast.AugAssign(target=ast.Name(id=name)):
                self.assign(name, self.text(_augmented(node)))
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
                raise self.refused(node, "expected one name to assign to")
            case ast.If():
                self.branch(node)
            case ast.While(orelse=[]):
                self.line(f"while ({self.text(node.test)}) {{")
                self.turns(node.body)
            case ast.For(orelse=[], target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=args, keywords=[])):
                self.count(node, name, args)
            case ast.For():
                raise self.refused(node, "expected for k in range(n), range(a, b) or range(a, b, 2)")
            case ast.Break() | ast.Continue():
                self.line(type(node).__name__.lower() + ";")
                self.definite = None
            case ast.Pass() | ast.Expr(value=ast.Constant(value=str())):
                pass
            case ast.Expr():
                raise self.refused(node, "a value that nobody uses")
            case _:
                raise self.refused(node, f"got {type(node).__name__}, which kernels do not have")

    def assign(self, name, value):
        self.line(f"{self.spelled(name)} = {value};")
        if self.definite is not None:
            self.definite.add(name)

    def branch(self, node):
        self.line(f"if ({self.text(node.test)}) {{")
        before = None if self.definite is None else set(self.definite)
        self.block(node.body)
        first, self.definite = self.definite, before
        if node.orelse:
            self.line("} else {")
            self.block(node.orelse)
        # What a branch that ends by return or break assigns to does not matter.
        ends = [known for known in (first, self.definite) if known is not None]
        self.definite = set.intersection(*ends) if ends else None
        self.line("}")

    def turns(self, body):
        before = None if self.definite is None else set(self.definite)
        self.block(body)
        self.definite = before
        self.line("}")

    def count(self, node, name, args):
        step = args[2] if len(args) == 3 else ast.Constant(1)
        step = -step.operand.value if isinstance(step, ast.UnaryOp) and isinstance(step.op, ast.USub) else getattr(step, "value", 0)
        if not 1 <= len(args) <= 3 or type(step) is not int or step == 0:
            raise self.refused(node, "expected for k in range(n), range(a, b) or range(a, b, 2)")
        bounds = [ast.Constant(0), args[0]] if len(args) == 1 else args[:2]
        for bound in bounds:
            if not self.kinds_of(bound) <= {"int", "bool"}:
                got = ast.unparse(bound)
                raise self.refused(node, f"got `{got}` as a bound, expected an integer: int({got}), or a parameter {got}: int")
        start, stop = map(self.text, bounds)
        # The bounds are those at the first turn, and what a turn does to the name does not change the count.
        self.n_loops += 1
        turn, end = f"turn{self.n_loops}_", f"end{self.n_loops}_"
        self.line(f"int {end} = {stop};")
        self.line(f"for (int {turn} = {start}; {turn} {'<' if step > 0 else '>'} {end}; {turn} += {step}) {{")
        self.line(f"    int {self.spelled(name)} = {turn};")
        if self.definite is None:
            return self.turns(node.body)
        outer = set(self.definite)
        self.definite.add(name)
        self.turns(node.body)
        self.definite = outer

    # ---- expressions ----

    def text(self, node):
        match node:
            case ast.Constant(value=bool() | int() | float() as number):
                return _literal(number)
            case ast.Name(id=name) if name in self.kinds:
                if self.definite is not None and name not in self.definite:
                    raise self.refused(node, f"`{name}` may have no value here: give it one before")
                return self.spelled(name) if name in self.values or name in self.counters else self.outer(name)
            case ast.Name() | ast.Attribute():
                return _literal(self.number(node))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return f"(-{self.text(operand)})"
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.text(operand)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return f"(!{self.text(operand)})"
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                return f"(~{self.text(operand)})"
            case ast.BinOp(left=left, op=op, right=right):
                return self.binary(node, op, self.text(left), self.text(right))
            case ast.BoolOp(op=op, values=values):
                for value in values:
                    if self.kinds_of(value) != {"bool"}:
                        got = ast.unparse(value)
                        raise self.refused(node, f"got `{got}` beside and, or: expected a truth value such as {got} != 0")
                joint = " && " if isinstance(op, ast.And) else " || "
                return "(" + joint.join(map(self.text, values)) + ")"
            case ast.Compare(left=left, ops=ops, comparators=others):
                if not all(type(op) in _COMPARE for op in ops):
                    raise self.refused(node, "got `in` or `is`, which kernels do not have")
                sides = [self.text(side) for side in [left, *others]]
                pairs = [f"{a} {_COMPARE[type(op)]} {b}" for a, op, b in zip(sides, ops, sides[1:])]
                return "(" + " && ".join(pairs) + ")"
            case ast.IfExp(test=test, body=body, orelse=otherwise):
                return f"({self.text(test)} ? {self.text(body)} : {self.text(otherwise)})"
            case ast.Call(func=func, args=args, keywords=[]):
                return f"{self.function(func)}({', '.join(map(self.text, args))})"
        raise self.refused(node, f"got {type(node).__name__}, which kernels do not have")

    def binary(self, node, op, left, right):
        if isinstance(op, ast.Div):
            # Of two numbers of Python it is a float, as it is there.
            whole = self.kinds_of(node) <= {"int", "bool", "float"} and "float" not in (
                self.kinds_of(node.left) | self.kinds_of(node.right)
            )
            return f"(float({left}) / {right})" if whole else f"({left} / {right})"
        if type(op) in _NAMED:
            return f"{_NAMED[type(op)]}({left}, {right})"
        if type(op) not in _BINARY:
            raise self.refused(node, f"got {type(op).__name__}, which kernels do not have")
        return f"({left} {_BINARY[type(op)]} {right})"


def _literal(number):
    if isinstance(number, bool):
        return "true" if number else "false"
    if isinstance(number, float) and not math.isfinite(number):
        return "NAN" if math.isnan(number) else "INFINITY" if number > 0 else "(-INFINITY)"
    return f"({number!r})" if number < 0 else repr(number)


def _seen_by(f):
    """What names mean in a function."""
    cells = zip(f.__code__.co_freevars, f.__closure__ or ())
    captured = {}
    for name, cell in cells:
        try:
            captured[name] = cell.cell_contents
        except ValueError:  # a name that has no value yet
            pass
    return {**f.__globals__, **captured}


def _walked(definition):
    return (node for statement in definition.body for node in ast.walk(statement))


def _augmented(node):
    load = ast.copy_location(ast.Name(node.target.id, ast.Load()), node)
    return ast.copy_location(ast.BinOp(load, node.op, node.value), node)


def _values(body):
    """The values that names are given."""
    found = {}
    for node in (node for statement in body for node in ast.walk(statement)):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found.setdefault(name, []).append(value)
            case ast.AnnAssign(target=ast.Name(id=name)):
                found.setdefault(name, []).append(node)
            case ast.AugAssign(target=ast.Name(id=name)):
                found.setdefault(name, []).append(_augmented(node))
    return found


def _counters(body):
    """The names that count loops."""
    nodes = (node for statement in body for node in ast.walk(statement))
    return {node.target.id for node in nodes if isinstance(node, ast.For) and isinstance(node.target, ast.Name)}


def _definition(f):
    if not inspect.isfunction(f):
        raise TypeError(f"kernel: got {type(f).__name__}, expected a text or a function made with def")
    path, first_line = f.__code__.co_filename, f.__code__.co_firstlineno
    try:
        definition = ast.parse(textwrap.dedent(inspect.getsource(f))).body[0]
    except (OSError, SyntaxError, IndexError):
        definition = None
    if not isinstance(definition, ast.FunctionDef) or definition.name != f.__name__:
        raise SyntaxError(
            f"kernel: expected a function made with def, whose source can be read ({path}, line {first_line}); write the "
            "kernel as text"
        )
    return definition, path, first_line


def translated(f):
    """The text of the kernel that a function is, and the kernels that it calls by name."""
    definition, path, first_line = _definition(f)
    writer = _Translation(f, definition, path, first_line)
    writer.begin()
    for statement in definition.body:
        writer.statement(statement)
    defaults = f.__defaults__ or ()
    given = dict(zip(reversed(writer.parameters), reversed(defaults)))
    for name, default in given.items():
        if not isinstance(default, (bool, int, float)):
            raise writer.refused(definition, f"got {default!r} as {name}, expected a number")
    parameters = ", ".join(
        f"{kind} {writer.outer(name)}" + (f" = {_literal(given[name])}" if name in given else "")
        for name, kind in writer.parameters.items()
    )
    returns = "auto" if definition.returns is None else writer.type_of(definition.returns)
    text = f"{returns} {f.__name__}({parameters}) {{\n" + "\n".join(writer.lines) + "\n}"
    return text, writer.kernels
