#!/usr/bin/env python3
"""Counts the instructions a lane of the peers' works in NEON code, beside those of `gcc -O3` for the same loop.

    tests/arm/counts.py PORCINI [WORK ...]

PORCINI runs the program built for 64-bit ARM, with qemu in front where need be: `qemu-aarch64 -L DIR target/../porcini`.
Each kernel that a work launches is told by log level 5: its instructions in the backends' common form, each above its
machine code. That form is written as a loop in C, which gcc compiles (no errno, no traps, nothing contracted, as our
floats are). Both are counted in the loop over lanes as it stands; what a loop within a kernel takes counts once.
"""

import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SCRIPTS = HERE.parent / "peers" / "porcini"
WORKS = {
    "copy": "copy", "tanh": "tanh", "mem10": "mem10", "sphere": "sphere", "cross": "cross",
    "blackscholes": "blackscholes", "mandelbrot": "mandelbrot", "nbody": "nbody", "histogram1024": "histogram",
    "gather": "permute", "scatter": "permute", "sum": "reduce", "dot": "reduce", "min": "reduce",
    "sigmoid16": "sigmoid16", "heat": "heat", "graph30": "graph",
}
GCC = ["aarch64-linux-gnu-gcc", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fwrapv"]
TYPES = {
    "f32": "float", "f64": "double", "f16": "__fp16", "i8": "signed char", "u8": "unsigned char", "i16": "short",
    "u16": "unsigned short", "i32": "int", "u32": "unsigned", "i64": "long", "u64": "unsigned long", "mask": "_Bool",
}
BINARY = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "bounded_div": "/", "and": "&", "or": "|", "xor": "^",
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "shl": "<<", "shr": ">>",
}
CALLS = {
    "sqrt": "__builtin_sqrt", "floor": "__builtin_floor", "ceil": "__builtin_ceil", "trunc": "__builtin_trunc",
    "round": "__builtin_rint", "abs": "__builtin_fabs", "fma": "__builtin_fma", "min": "__builtin_fmin",
    "max": "__builtin_fmax",
}
BRANCH = re.compile(r"^(b|b\.\w+|cbz|cbnz|tbz|tbnz)\s")


class Unknown(Exception):
    """C has no such thing."""


def kernels(log):
    """The listings in a log behind the mark: lines of (instruction of the kernel or None, text)."""
    found, current = [], None
    for line in log.split("the work:", 1)[-1].splitlines():
        head = re.match(r"; NEON, (\d+) lanes a round", line.strip())
        if head:
            current = (int(head[1]), [])
            found.append(current)
        elif current is not None and re.match(r"\s*(; |prologue:|body:|[0-9a-f]+  )", line):
            current[1].append(line.strip())
    return found


def loop_of(code):
    """Instructions between the last jump back that ends a loop over lanes and its target: (position, text) pairs."""
    places = {position: k for k, (position, _) in enumerate(code)}
    best = None
    for k, (position, text) in enumerate(code):
        target = re.search(r"(?:0x)?([0-9a-f]+)(?: <.*)?$", text)
        if BRANCH.match(text) and target and int(target[1], 16) in places:
            start = places[int(target[1], 16)]
            if start <= k and (best is None or k - start > best[1] - best[0]):
                best = (start, k)
    return code[best[0]:best[1] + 1] if best else []


def ours(lanes, listing):
    code = []
    for line in listing[listing.index("body:"):]:
        match = re.match(r"([0-9a-f]+)  (.*)", line)
        if match:
            code.append((int(match[1], 16), match[2]))
        if match and match[2].startswith("ret"):
            break
    return len(loop_of(code)) / lanes


def statement(text, types, buffers):
    """One instruction of a kernel as C, and whether it is known before the lanes."""
    text = text.split("//")[0].strip()
    value = re.match(r"%(\d+): (\w+) = (\S+)(.*)$", text)
    if not value:
        store = re.match(r"store (\w+), %(\d+)$", text)
        if store:
            buffers[store[1]] = types[store[2]]
            return f"{store[1]}[i] = v{store[2]};", False
        reduce = re.match(r"reduce (\w+) (\w+), %(\d+)$", text)
        if reduce:
            buffers[reduce[2]] = types[reduce[3]]
            combine = {"sum": "acc + v", "min": "__builtin_fminf(acc, v)", "max": "__builtin_fmaxf(acc, v)"}[reduce[1]]
            return "acc = " + combine.replace("acc, v", f"acc, v{reduce[3]}").replace("acc + v", f"acc + v{reduce[3]}") + ";", False
        scatter = re.match(r"(\w+) (\w+)\[%(\d+)\], %(\d+)$", text)
        if scatter:
            buffers[scatter[2]] = types[scatter[4]]
            sign = {"set": "=", "add": "+="}[scatter[1].removeprefix("scatter_")]
            return f"{scatter[2]}[v{scatter[3]}] {sign} v{scatter[4]};", False
        raise Unknown(text)
    number, dtype, op, rest = value.groups()
    args = ["v" + arg for arg in re.findall(r"%(\d+)", rest)]
    types[number] = dtype
    kind = TYPES[dtype]
    if op in ("constant", "literal"):
        number_text = rest.strip()
        number_text = {"inf": "__builtin_inf()", "nan": "__builtin_nan(\"\")", "-inf": "-__builtin_inf()",
                       "true": "1", "false": "0"}.get(number_text, number_text)
        return f"{kind} v{number} = {number_text};", True
    if op == "load":
        buffers[rest.strip()] = dtype
        return f"{kind} v{number} = {rest.strip()}[i];", False
    if op == "gather":
        source = rest.split()[0].strip(",")
        buffers[source] = dtype
        return f"{kind} v{number} = {source}[{args[0]}];", False
    if op == "index":
        return f"{kind} v{number} = i;", False
    if op in BINARY and len(args) == 2:
        made = f"{args[0]} {BINARY[op]} {args[1]}"
    elif op in CALLS and dtype in ("f32", "f64"):
        made = f"{CALLS[op]}{'f' if dtype == 'f32' else ''}({', '.join(args)})"
    elif op in ("min", "max"):
        made = f"{args[0]} {'<' if op == 'min' else '>'} {args[1]} ? {args[0]} : {args[1]}"
    elif op == "select":
        made = f"{args[0]} ? {args[1]} : {args[2]}"
    elif op == "neg":
        made = f"-{args[0]}"
    elif op == "not":
        made = f"{'!' if dtype == 'mask' else '~'}{args[0]}"
    elif op == "cast":
        made = f"({kind}){args[0]}"
    elif op in ("reinterpret", "bits_any_nan"):
        before = TYPES[types[args[0][1:]]]
        made = f"((union {{ {before} from; {kind} to; }}){{ .from = {args[0]} }}).to"
    elif op == "mulhi" and dtype == "u32":
        made = f"(unsigned long){args[0]} * {args[1]} >> 32"
    elif op == "fma":
        made = f"{args[0]} * {args[1]} + {args[2]}"
    else:
        raise Unknown(text)
    return f"{kind} v{number} = {made};", False


def theirs(listing, folder):
    """Instructions a lane of gcc's loop."""
    types, buffers, before, lanes, results = {}, {}, [], [], []
    seen = set()
    for line in listing:
        if not line.startswith("; ") or line in seen:
            continue
        seen.add(line)
        text, is_known = statement(line[2:], types, buffers)
        (before if is_known else lanes).append(text)
    if any(line.startswith("acc") for line in lanes):
        before.append("float acc = 0;")
        results.append("out[0] = acc;")
        buffers = {name: kind for name, kind in buffers.items() if re.search(rf"\b{name}\b", " ".join(lanes))}
        buffers["out"] = "f32"
    parameters = ", ".join(f"{TYPES[kind]} *restrict {name}" for name, kind in buffers.items())
    source = folder / "loop.c"
    body = "\n        ".join(lanes)
    source.write_text(
        f"void loop({parameters}, long n) {{\n    {' '.join(before)}\n"
        f"    for (long i = 0; i < n; i++) {{\n        {body}\n    }}\n    {' '.join(results)}\n}}\n")
    subprocess.run([*GCC, "-c", source, "-o", folder / "loop.o"], check=True)
    text = subprocess.run(["aarch64-linux-gnu-objdump", "-d", "--no-show-raw-insn", folder / "loop.o"],
                          check=True, capture_output=True, text=True).stdout
    code = [(int(match[1], 16), re.sub(r"\s*//.*", "", match[2].replace("\t", " ")))
            for match in re.finditer(r"^\s+([0-9a-f]+):\s+(.*)$", text, re.M)]
    # The loops of gcc: with vectors, and one lane at a time for what is left.
    loops, places = [], {position: k for k, (position, _) in enumerate(code)}
    for k, (_, text) in enumerate(code):
        target = re.search(r" ([0-9a-f]+)(?: <.*)?$", text)
        if BRANCH.match(text) and target and places.get(int(target[1], 16), k + 1) <= k:
            loops.append([line for _, line in code[places[int(target[1], 16)]:k + 1]])
    has_vectors = lambda loop: any(re.search(r"\bv\d+\.|\bq\d+", line) for line in loop)
    loops.sort(key=lambda loop: (has_vectors(loop), len(loop)), reverse=True)
    if not loops:
        raise Unknown("gcc made no loop")
    loop = loops[0]
    steps = [int(match[1], 0) for line in loop for match in re.finditer(r"^add\s+(x\d+), \1, #(\w+)", line)]
    steps = [int(match[2], 0) for line in loop for match in [re.match(r"add\s+(x\d+), \1, #(\w+)", line)] if match]
    steps += [int(match[1], 0) for line in loop for match in [re.search(r"\], #(\w+)$", line)] if match]
    return len(loop), has_vectors(loop), steps, loop


def main():
    command, works = shlex.split(sys.argv[1]), sys.argv[2:] or list(WORKS)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for script in SCRIPTS.glob("*.rhai"):
            (folder / script.name).write_text(script.read_text())
        (folder / "measure.rhai").write_text((HERE / "measure.rhai").read_text())
        for work in works:
            run = subprocess.run([*command, folder / f"{WORKS[work]}.rhai", work], capture_output=True, text=True)
            if run.returncode != 0:
                print(work, "failed:", run.stderr.strip())
                continue
            for lanes, listing in kernels(run.stdout + run.stderr):
                line = f"{work:14} {lanes:3} lanes a round  {ours(lanes, listing):7.2f}"
                try:
                    n, vectors, steps, loop = theirs(listing, folder)
                    line += f"   gcc: {n} instructions, vectors {vectors}, steps {steps}"
                    if "-v" in sys.argv:
                        print("\n".join(loop))
                except (Unknown, subprocess.CalledProcessError) as error:
                    line += f"   gcc: {error}"
                print(line, flush=True)


main()
