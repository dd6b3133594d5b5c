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
GCC = ["aarch64-linux-gnu-gcc", "-O3", "-w", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fwrapv"]
TYPES = {
    "f32": "float", "f64": "double", "f16": "__fp16", "i8": "signed char", "u8": "unsigned char", "i16": "short",
    "u16": "unsigned short", "i32": "int", "u32": "unsigned", "i64": "long", "u64": "unsigned long", "msk": "_Bool",
}
BINARY = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "bounded_div": "/", "and": "&", "or": "|", "xor": "^",
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "shl": "<<", "shr": ">>",
}
CALLS = {
    "sqrt": "__builtin_sqrt", "floor": "__builtin_floor", "ceil": "__builtin_ceil", "trunc": "__builtin_trunc",
    "round": "__builtin_rint", "abs": "__builtin_fabs", "fma": "__builtin_fma", "min": "__builtin_fmin",
    "max": "__builtin_fmax", "minimum": "__builtin_fmin", "maximum": "__builtin_fmax",
}
BRANCH = re.compile(r"^(b|b\.\w+|cbz|cbnz|tbz|tbnz)\s")


class Unknown(Exception):
    """C has no such thing."""


def kernels(log):
    """The kernels in a log behind the mark: lanes a round, lines of the common form, lines of machine code."""
    found, current = [], []
    for line in log.split("the work:", 1)[-1].splitlines():
        head = re.match(r"; NEON, (\d+) lanes a round", line)
        if line.startswith("kernel "):
            common = current = []
        elif head:
            current = []
            found.append((int(head[1]), common, current))
        elif re.match(r"machine code|inc_ref|dec_ref|trace_|eval|jit_|launch", line):
            current = []
        else:
            current.append(line.strip())
    return found


def loop_of(code, innermost):
    """The instructions of the loop over lanes, or of the one within it: (position, text) pairs."""
    places = {position: k for k, (position, _) in enumerate(code)}
    best = None
    for k, (position, text) in enumerate(code):
        target = re.search(r"(?:0x)?([0-9a-f]+)(?: <.*)?$", text)
        if BRANCH.match(text) and target and int(target[1], 16) in places:
            start = places[int(target[1], 16)]
            if start <= k and (best is None or (k - start > best[1] - best[0]) != innermost):
                best = (start, k)
    return code[best[0]:best[1] + 1] if best else []


def ours(lanes, listing, innermost):
    code = []
    for line in listing[listing.index("body:"):]:
        match = re.match(r"([0-9a-f]+)  (.*)", line)
        if match:
            code.append((int(match[1], 16), match[2]))
        if match and match[2].startswith("ret"):
            break
    return len(loop_of(code, innermost)) / lanes


def statement(text, types, buffers):
    """One instruction of a kernel as C."""
    text = text.split("//")[0].strip()
    value = re.match(r"%(\d+): (\w+) = (\S+)(.*)$", text)
    if not value:
        store = re.match(r"store (\w+), %(\d+)$", text)
        if store:
            buffers[store[1]] = types[store[2]]
            return f"{store[1]}[i] = v{store[2]};"
        reduce = re.match(r"reduce (\w+) (\w+), %(\d+)$", text)
        if reduce:
            buffers[reduce[2]] = types[reduce[3]]
            combine = {"hsum": "acc + v", "hmin": "__builtin_fminf(acc, v)", "hmax": "__builtin_fmaxf(acc, v)"}[reduce[1]]
            return "acc = " + combine.replace("acc, v", f"acc, v{reduce[3]}").replace("acc + v", f"acc + v{reduce[3]}") + ";"
        scatter = re.match(r"(\w+) (\w+)\[%(\d+)\], %(\d+)$", text)
        if scatter:
            buffers[scatter[2]] = types[scatter[4]]
            sign = {"scatter": "=", "scatter_add": "+="}[scatter[1]]
            return f"{scatter[2]}[v{scatter[3]}] {sign} v{scatter[4]};"
        raise Unknown(text)
    number, dtype, op, rest = value.groups()
    args = ["v" + arg for arg in re.findall(r"%(\d+)", rest)]
    types[number] = dtype
    kind = TYPES[dtype]
    if op in ("constant", "literal"):
        number_text = rest.strip()
        number_text = {"inf": "__builtin_inf()", "NaN": "__builtin_nan(\"\")", "-inf": "-__builtin_inf()",
                       "true": "1", "false": "0"}.get(number_text, number_text)
        return f"{kind} v{number} = {number_text};"
    if op == "load":
        buffers[rest.strip()] = dtype
        return f"{kind} v{number} = {rest.strip()}[i];"
    if op == "gather":
        source = rest.split()[0].strip(",")
        buffers[source] = dtype
        return f"{kind} v{number} = {source}[{args[0]}];"
    if op == "index":
        return f"{kind} v{number} = i;"
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
        made = f"{'!' if dtype == 'msk' else '~'}{args[0]}"
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
    return f"{kind} v{number} = {made};"


def theirs(common, folder, innermost):
    """Instructions a lane of gcc's loop."""
    types, buffers, before, lanes, results = {}, {}, [], [], []
    uniform, is_open, steps = "each lane:" in common, False, []
    for line in common:
        if line == "each lane:":
            uniform = False
            continue
        if is_open and "= state" not in line:
            lanes.append("for (;;) {")
            is_open = False
        if re.match(r"%\d+: msk = loop", line):
            is_open = True
        elif state := re.match(r"%(\d+): (\w+) = state %(\d+)", line):
            types[state[1]] = state[2]
            lanes.append(f"{TYPES[state[2]]} v{state[1]} = v{state[3]};")
        elif run := re.match(r"%(\d+): msk = run %\d+, %(\d+)", line):
            types[run[1]] = "msk"
            lanes.append(f"if (!v{run[2]}) break; _Bool v{run[1]} = 1;")
        elif step := re.match(r"next %(\d+), %(\d+)", line):
            steps.append(f"v{step[1]} = v{step[2]};")
        elif line.startswith("end"):
            lanes.append(" ".join(steps) + " }")
        else:
            text = statement(line, types, buffers)
            (before if uniform else lanes).append(text.replace("[i]", "[0]") if uniform else text)
    if any(line.startswith("acc") for line in lanes):
        before.append("float acc = 0;")
        results.append("out[0] = acc;")
        buffers = {name: kind for name, kind in buffers.items() if re.search(rf"\b{name}\b", " ".join(before + lanes))}
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
        if BRANCH.match(text) and not text.startswith("b ") and target and places.get(int(target[1], 16), k + 1) <= k:
            loops.append([line for _, line in code[places[int(target[1], 16)]:k + 1]])
    if not loops:
        raise Unknown("gcc made no loop")
    has_vectors = lambda loop: any(re.search(r"\bv\d+\.|\bq\d+", line) for line in loop)
    if innermost:
        loop = min(loops, key=len)
    else:
        loop = max(loops, key=lambda loop: (has_vectors(loop), len(loop)))
    if "-v" in sys.argv:
        print("\n".join(loop))
    # Whole vectors go by; else one lane does.
    by_vectors = has_vectors(loop) and any(re.search(r"#0x10$|#16$", line) for line in loop)
    return len(loop) / (4 if by_vectors else 1)


def main():
    command, works = shlex.split(sys.argv[1]), [work for work in sys.argv[2:] if work != "-v"] or list(WORKS)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for script in SCRIPTS.glob("*.rhai"):
            (folder / script.name).write_text(script.read_text())
        (folder / "measure.rhai").write_text((HERE / "measure.rhai").read_text())
        print("| work | lanes a round | ours | gcc | ours / gcc |\n|---|---:|---:|---:|---:|")
        for work in works:
            run = subprocess.run([*command, folder / f"{WORKS[work]}.rhai", work], capture_output=True, text=True)
            if run.returncode != 0:
                print(work, "failed:", run.stderr.strip())
                continue
            for lanes, common, listing in kernels(run.stdout + run.stderr):
                innermost = any("= loop" in text for text in common)
                count = ours(lanes, listing, innermost)
                try:
                    other = theirs(common, folder, innermost)
                    print(f"| {work} | {lanes} | {count:.2f} | {other:.2f} | {count / other:.2f} |", flush=True)
                except (Unknown, subprocess.CalledProcessError) as error:
                    print(f"| {work} | {lanes} | {count:.2f} | {error} | |", flush=True)


main()
