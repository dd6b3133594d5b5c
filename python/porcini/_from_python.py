"""The source of a Python function as the text of a kernel, where it is in the subset that both have: assignments, if, while,
for over range, arithmetic, calls of functions of the catalogue, one or several results."""

import ast
import inspect
import textwrap

_BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Mod: "%", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
    ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
_COMPARE = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_TYPES = {"float": "float", "int": "int", "bool": "bool"}


class _Writer(ast.NodeVisitor):
    def __init__(self, name, path, first_line):
        self.name, self.path, self.first_line = name, path, first_line
        self.lines, self.depth, self.known = [], 1, set()

    def refused(self, node, what):
        line = self.first_line + getattr(node, "lineno", 1) - 1
        return SyntaxError(f"kernel {self.name}: {what} ({self.path}, line {line}); write the kernel as text")

    def generic_visit(self, node):
        raise self.refused(node, f"got {type(node).__name__}, which kernels do not have")

    def line(self, text):
        self.lines.append("    " * self.depth + text)

    def block(self, statements):
        self.depth += 1
        for statement in statements:
            self.visit(statement)
        self.depth -= 1

    # ---- statements ----

    def visit_Return(self, node):
        if node.value is None:
            raise self.refused(node, "a kernel returns a value")
        self.line(f"return {self.text(node.value)};")

    def visit_Assign(self, node):
        if len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
            raise self.refused(node, "expected one name to assign to")
        self.assign(node.targets[0].id, self.text(node.value))

    def visit_AnnAssign(self, node):
        kind = _TYPES.get(getattr(node.annotation, "id", None))
        if kind is None or node.value is None or not isinstance(node.target, ast.Name):
            raise self.refused(node, "expected name: float = value")
        self.known.add(node.target.id)
        self.line(f"{kind} {node.target.id} = {self.text(node.value)};")

    def assign(self, name, value):
        if name in self.known:
            self.line(f"{name} = {value};")
        else:
            self.known.add(name)
            self.line(f"auto {name} = {value};")

    def visit_AugAssign(self, node):
        if not isinstance(node.target, ast.Name):
            raise self.refused(node, "expected a name to assign to")
        name = node.target.id
        self.line(f"{name} = {self.binary(node, node.op, name, self.text(node.value))};")

    def visit_If(self, node):
        # What both branches assign to is declared before them: scopes end with braces.
        for name in sorted(_assigned(node.body) & _assigned(node.orelse) - self.known):
            first = next(value for target, value in _assignments(node.body) if target == name)
            self.known.add(name)
            self.line(f"auto {name} = {self.text(first)};")
        outer = set(self.known)
        self.line(f"if ({self.text(node.test)}) {{")
        self.block(node.body)
        self.known = set(outer)
        if node.orelse:
            self.line("} else {")
            self.block(node.orelse)
            self.known = outer
        self.line("}")

    def visit_While(self, node):
        if node.orelse:
            raise self.refused(node, "a loop has no else")
        outer = set(self.known)
        self.line(f"while ({self.text(node.test)}) {{")
        self.block(node.body)
        self.known = outer
        self.line("}")

    def visit_For(self, node):
        call = node.iter
        is_range = isinstance(call, ast.Call) and getattr(call.func, "id", None) == "range" and not call.keywords
        if not is_range or not isinstance(node.target, ast.Name) or node.orelse or not 1 <= len(call.args) <= 2:
            raise self.refused(node, "expected for k in range(n) or range(a, b)")
        start, stop = ("0", self.text(call.args[0])) if len(call.args) == 1 else map(self.text, call.args)
        name, outer = node.target.id, set(self.known)
        self.known.add(name)
        self.line(f"for (int {name} = {start}; {name} < {stop}; {name}++) {{")
        self.block(node.body)
        self.known = outer
        self.line("}")

    def visit_Break(self, node):
        self.line("break;")

    def visit_Continue(self, node):
        self.line("continue;")

    def visit_Pass(self, node):
        pass

    def visit_Expr(self, node):
        if not (isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)):
            raise self.refused(node, "a value that nobody uses")

    # ---- expressions ----

    def text(self, node):
        match node:
            case ast.Constant(value=bool() as truth):
                return "true" if truth else "false"
            case ast.Constant(value=int() | float() as number):
                return repr(number)
            case ast.Name(id=name):
                return name
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return f"(-{self.text(operand)})"
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return f"(!{self.text(operand)})"
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                return f"(~{self.text(operand)})"
            case ast.BinOp(left=left, op=op, right=right):
                return self.binary(node, op, self.text(left), self.text(right))
            case ast.BoolOp(op=op, values=values):
                joint = " && " if isinstance(op, ast.And) else " || "
                return "(" + joint.join(map(self.text, values)) + ")"
            case ast.Compare(left=left, ops=ops, comparators=others):
                sides = [left, *others]
                pairs = [
                    f"{self.text(a)} {_COMPARE[type(op)]} {self.text(b)}"
                    for a, op, b in zip(sides, ops, others)
                    if type(op) in _COMPARE
                ]
                if len(pairs) != len(ops):
                    raise self.refused(node, "got `in` or `is`, which kernels do not have")
                return "(" + " && ".join(pairs) + ")"
            case ast.IfExp(test=test, body=body, orelse=otherwise):
                return f"({self.text(test)} ? {self.text(body)} : {self.text(otherwise)})"
            case ast.Subscript(value=ast.Name(id=name), slice=index):
                return f"{name}[{self.text(index)}]"
            case ast.Call(func=func, args=args, keywords=[]):
                # pc.sin and math.sin are sin.
                name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", None)
                if name is None:
                    raise self.refused(node, "expected a function by name")
                return f"{name}({', '.join(map(self.text, args))})"
        raise self.refused(node, f"got {type(node).__name__}, which kernels do not have")

    def binary(self, node, op, left, right):
        if isinstance(op, ast.Div):
            return f"({left} / {right})"
        if isinstance(op, ast.Pow):
            return f"pow({left}, {right})"
        if isinstance(op, ast.FloorDiv):
            return f"floor_divide({left}, {right})"
        if isinstance(op, ast.Mod):
            return f"mod({left}, {right})"
        if type(op) not in _BINARY:
            raise self.refused(node, f"got {type(op).__name__}, which kernels do not have")
        return f"({left} {_BINARY[type(op)]} {right})"


def _assignments(statements):
    for statement in statements:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            yield statement.targets[0].id, statement.value


def _assigned(statements):
    return {name for name, _ in _assignments(statements)}


def translated(f):
    """The text of the kernel that a function is."""
    source = textwrap.dedent(inspect.getsource(f))
    definition = ast.parse(source).body[0]
    path, first_line = inspect.getsourcefile(f), f.__code__.co_firstlineno
    if not isinstance(definition, ast.FunctionDef):
        raise SyntaxError(f"kernel: expected a function made with def ({path}, line {first_line})")
    writer = _Writer(f.__name__, path, first_line)
    parameters = []
    for parameter in definition.args.args:
        annotation = getattr(parameter.annotation, "id", None)
        parameters.append(f"{_TYPES.get(annotation, 'T')} {parameter.arg}")
        writer.known.add(parameter.arg)
    for statement in definition.body:
        writer.visit(statement)
    returns = _TYPES.get(getattr(definition.returns, "id", None), "T")
    return f"{returns} {f.__name__}({', '.join(parameters)}) {{\n" + "\n".join(writer.lines) + "\n}"
