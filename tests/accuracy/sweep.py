#!/usr/bin/env python3
"""Measures every float function of the `porcini` binary against mpmath, in f16, f32 and f64.

`sweep.py BINARY` prints a table of the largest errors in ulp and fails if one exceeds its bound in
`references.py`, or if the binary has other functions than `references.py`.

--points N        points per function and type (some slow references take fewer), default 1000
--only NAME ..    only these functions
--types TYPE ..   only these types
--write           writes the table to docs/accuracy.md
--samples         writes samples.txt, a few reference values for `cargo test`
"""

import argparse
import datetime
import math
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from measure import TYPES, error, points, reference
from mpmath import mp, mpf
from references import EXACT, FUNCTIONS, NESTED, harmonics

HERE = Path(__file__).parent
PAGE = HERE.parent.parent / "docs" / "accuracy.md"
F16_BOUND = 0.52
FAST_BOUND = 2
# f16 has few numbers.
F16_POINTS = 3000
INTRODUCTION = """\
# How accurate the functions are

Largest errors seen, in units in the last place (ulp) of the true result, against mpmath on {date}: `points`
arguments in all, drawn as random bit patterns, from the intervals where a function is interesting, and ever
closer to zeros, poles and the borders between approximations. The bound is what a function states in its
help and what `./test --full` holds it to. All backends compute the same bits, so this holds for each of them.

Below -1/2 the error of `lgamma` is measured against the larger of `log gamma(2 - x)`, one of its two terms, and the result.
Below 1/2 that of `digamma` is measured against the larger of `digamma(1 - x)` and `pi cot(pi x)`, that of `logaddexp`
against the largest of |a|, |b| and the result. That of `betaln` is measured against 1 at least, that of `j0` and `j1` beyond 8,
of `y0` beyond 0.4 and of `y1` beyond 1/2 against `sqrt(2 / (pi x))`, up to 1e9.
`linear_to_srgb` and `srgb_to_linear` are measured up to 2, elliptic integrals for arguments up to 100; their error
beyond |k| = 1 against `phi / (1 - k^2 sin(phi)^2)`. That of `sh_eval` up to order 9 is measured against the largest
value of the same l.

Made by `tests/accuracy/sweep.py --write`; the references are in `tests/accuracy/references.py`.

A script's own numbers take the formulas of f64 with twice the digits, rounded once: elementary functions are exact to 1 ulp then,
`cbrt`, `tanh`, `sech` and `csch` to 1.2 (`tests/it/accuracy.rs` holds them to it), the others as far as their polynomials are: seen were
up to 1.2 of `norm_ppf`, 1.8 of the colour functions, 2.3 of `i0`, `i1`, `dawson`, the gamma and incomplete gamma functions,
2.6 of `y0`, 3.7 of `j1`, 4.3 of `betainc`.

f16 goes through f32 and is rounded once; its bound is {f16} ulp for every function, measured likewise. Those in the table of operations
work with shorter polynomials than f32 and are tested for every argument there is (`tests/it/halves.rs`), to 0.51 ulp.

| function | bound | f16 | worst at | points | f32 | worst at | points | f64 | worst at | points |
|---|---|---|---|---|---|---|---|---|---|---|
"""


OPERATIONS = """
Operations that a function records (`tests/it/operations.rs` holds them), an fma counted as one; of f16 both
conversions included. sin, cos and tan of f32 are computed in f64. Beside them Cephes 2.2 in single precision:
operations of the longer way, comparisons and branches not counted, and the largest relative error that its source
states, for sin and cos up to 8192.

| function | f16 | f32 | f64 | Cephes f32 | its error |
|---|---|---|---|---|---|
| exp | 17 | 23 | 28 | 23 | |
| exp2 | 16 | 23 | 28 | | |
| exp10 | 17 | 23 | 28 | | |
| log | 24 | 31 | 44 | 32 | 0.6 to 1.3 ulp (7.6e-8) |
| log2 | 24 | 34 | 45 | | |
| log10 | 24 | 35 | 46 | | |
| sin | 16 | 37 | 136 | 25 | 2.5 to 5 ulp (3.0e-7) |
| cos | 18 | 34 | 132 | 25 | 2.5 to 5 ulp (3.0e-7) |
| tan | 33 | 44 | 134 | | |
| tanh | 12 | 31 | 42 | | |
"""

FAST = """
With `set_flag("fast_math", true)` quotients and roots of f32 are approximate (docs/cpu.md), and not the same on all
processors. Operands, quotients and reciprocals of divisors are normal numbers; the bound is 2 ulp.

| operation | AVX-512 | worst at | AVX2 | worst at | points |
|---|---|---|---|---|---|
"""


def porcini(binary, script, folder=".", **variables):
    done = subprocess.run(
        [binary, "-"], input=script, cwd=folder, capture_output=True, text=True, env={**os.environ, **variables}
    )
    if done.returncode:
        sys.exit(f"porcini failed:\n{done.stderr}")
    return done.stdout


def functions(binary):
    """Functions whose help speaks of ulp; so does that of a switch."""
    names = re.findall(r"^  (\w+)\(", porcini(binary, 'help("ulp")'), re.MULTILINE)
    return [name for name in names if name != "set_flag"]


def values(binary, tried):
    """What the binary gives: for each (function, type) an array."""
    with tempfile.TemporaryDirectory() as folder:
        lines = []
        for (name, dtype), arguments in tried.items():
            array = {"f16": "Float16C", "f32": "FloatC", "f64": "Float64C"}[dtype]
            texts = []
            for i, column in enumerate(arguments):
                np.save(f"{folder}/{name}.{dtype}.{i}.npy", column)
                texts.append(f'{array}(read_npy("{name}.{dtype}.{i}.npy"))')
            lines.append(f'write_npy("{name}.{dtype}.npy", {name}({", ".join(texts)}));')
        porcini(binary, "\n".join(lines), folder)
        return {key: np.load(f"{folder}/{key[0]}.{key[1]}.npy") for key in tried}


def allowed(name, dtype):
    """f16 goes through f32 and is rounded once."""
    if name in NESTED:
        return NESTED[name]
    return F16_BOUND if dtype == "f16" else FUNCTIONS[name].bound


def sweep(binary, names, types, n):
    tried = {}
    for name in names:
        for dtype in types:
            row = FUNCTIONS[name]
            most = min(n, F16_POINTS) if dtype == "f16" else n
            tried[name, dtype] = points(row, dtype, max(most // row.slowness, 30), len(tried))
    worst = {}
    for (name, dtype), got in values(binary, tried).items():
        arguments = tried[name, dtype]
        errors = [error(FUNCTIONS[name], dtype, at, y) for *at, y in zip(*arguments, got)]
        place = int(np.argmax(errors))
        worst[name, dtype] = (errors[place], [column[place] for column in arguments], len(errors))
    return worst


def sweep_harmonics(binary, dtype, n, order=9):
    """Largest error of `sh_eval` in ulp of the largest value of the same l, where, and the number of directions."""
    rng = np.random.default_rng(7)
    directions = rng.normal(size=(n, 3))
    directions[:3] = np.eye(3)
    directions = (directions / np.linalg.norm(directions, axis=1)[:, None]).astype(TYPES[dtype][0])
    vector = {"f16": "Vector3C", "f32": "Vector3fC", "f64": "Vector3dC"}[dtype]
    with tempfile.TemporaryDirectory() as folder:
        columns = []
        for i, column in enumerate(directions.T):
            np.save(f"{folder}/{i}.npy", column)
            array = {"f16": "Float16C", "f32": "FloatC", "f64": "Float64C"}[dtype]
            columns.append(f'{array}(read_npy("{i}.npy"))')
        script = f"let y = sh_eval({vector}([{', '.join(columns)}]), {order});"
        script += f'for i in 0..{(order + 1) ** 2} {{ write_npy(`y${{i}}.npy`, y[i]); }}'
        porcini(binary, script, folder)
        got = [np.broadcast_to(np.load(f"{folder}/y{i}.npy"), n) for i in range((order + 1) ** 2)]
    _, precision, _ = TYPES[dtype]
    worst = (0.0, directions[0], n)
    with mp.workprec(2 * precision + 60):
        for k, direction in enumerate(directions):
            for band, wanted in enumerate(harmonics(*(mpf(float(x)) for x in direction), order)):
                ulp = mp.ldexp(1, mp.frexp(max(map(abs, wanted)))[1] - precision)
                for m, want in enumerate(wanted):
                    error = float(abs(mpf(float(got[band * band + m][k])) - want) / ulp)
                    worst = max(worst, (error, direction, n), key=lambda found: found[0])
    return worst


def sweep_fast(binary, n):
    """Largest errors of fast quotients and roots in ulp, and where, by operation and processor; f64 is the reference."""
    rng = np.random.default_rng(7)
    x, y = (rng.integers(0, 1 << 32, 2 * n, dtype=np.uint32).view(np.float32) for _ in range(2))
    with np.errstate(all="ignore"):
        normal = [np.isfinite(v) & (np.abs(v) > 2.0**-126) & (np.abs(v) < 2.0**126) for v in (x, y, x.astype("f8") / y)]
    x, y = (v[np.logical_and.reduce(normal)][:n] for v in (x, y))
    quotient, root = x.astype("f8") / y, np.sqrt(np.abs(x).astype("f8"))
    wanted = {"x / y": ("quotient", quotient, (x, y)), "sqrt(x)": ("root", root, (np.abs(x),))}
    script = """set_flag("fast_math", true);
        let x = FloatC(read_npy("x.npy"));
        write_npy("quotient.npy", x / FloatC(read_npy("y.npy")));
        write_npy("root.npy", sqrt(abs(x)));"""
    worst = {}
    for cpu in ("avx512", "avx2"):
        with tempfile.TemporaryDirectory() as folder:
            np.save(f"{folder}/x.npy", x)
            np.save(f"{folder}/y.npy", y)
            porcini(binary, script, folder, PORCINI_CPU=cpu)
            for name, (file, want, operands) in wanted.items():
                got = np.load(f"{folder}/{file}.npy").astype("f8")
                errors = np.abs(got - want) / np.exp2(np.floor(np.log2(np.abs(want))) - 23)
                place = int(np.argmax(errors))
                at = ", ".join(str(operand[place]) for operand in operands)
                worst[name, cpu] = (float(errors[place]), at, len(errors))
    return worst


def fast_table(worst):
    rows = []
    for name in dict.fromkeys(name for name, _ in worst):
        cells = [cell for cpu in ("avx512", "avx2") for cell in (f"{worst[name, cpu][0]:.2f}", worst[name, cpu][1])]
        rows.append("| " + " | ".join([name, *cells, str(worst[name, "avx2"][2])]) + " |")
    return "\n".join(rows) + "\n"


def table(worst, names, types):
    rows = []
    for name in names:
        cells = []
        for dtype in types:
            ulp, at, n = worst[name, dtype]
            cells += [f"{ulp:.2f}", ", ".join(map(str, at)), str(n)]
        bound = NESTED[name] if name in NESTED else FUNCTIONS[name].bound
        rows.append("| " + " | ".join([name, f"{bound:g}"] + cells) + " |")
    return "\n".join(rows) + "\n"


def samples(names, n=24):
    """Lines `function bound arguments.. value`: arguments that both types have, values of f64."""
    lines = []
    for name in names:
        row = FUNCTIONS[name]
        for at in zip(*points(row, "f32", n, 1)):
            with mp.workprec(200):
                at = [mpf(float(x)) for x in at]
                value, size = float(reference(row, at)), row.scale and float(abs(row.scale(*at)))
            # Without a relative error these say little.
            if size and size > abs(value):
                continue
            lines.append(" ".join([name, f"{row.bound:g}"] + [repr(float(x)) for x in at] + [repr(value)]))
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", nargs="?", type=Path)
    parser.add_argument("--points", type=int, default=1000)
    names = [*FUNCTIONS, *NESTED]
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=names, default=names)
    parser.add_argument("--types", nargs="+", choices=TYPES, default=list(TYPES))
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--samples", action="store_true")
    options = parser.parse_args()
    if options.samples:
        (HERE / "samples.txt").write_text(samples([name for name in options.only if name in FUNCTIONS]))
        return
    if not options.binary:
        parser.error("which binary?")
    binary = options.binary.resolve()
    rounding = set(functions(binary)) - set(EXACT) - set(NESTED)
    if different := rounding.symmetric_difference(FUNCTIONS):
        sys.exit(f"either the binary or {HERE / 'references.py'} lacks {', '.join(sorted(different))}")
    plain = [name for name in options.only if name in FUNCTIONS]
    worst = sweep(binary, plain, options.types, options.points)
    if "sh_eval" in options.only:
        for dtype in options.types:
            worst["sh_eval", dtype] = sweep_harmonics(binary, dtype, max(options.points // 20, 30))
    rows = table(worst, options.only, options.types)
    fast = sweep_fast(binary, 100 * options.points)
    fast_rows = fast_table(fast)
    print(rows, fast_rows, sep="\n", end="")
    if options.write:
        PAGE.parent.mkdir(exist_ok=True)
        date = datetime.date.today().isoformat()
        count = sum(n for _, _, n in worst.values())
        text = INTRODUCTION.format(date=date, f16=F16_BOUND).replace("`points`", f"{count:,}".replace(",", " "))
        PAGE.write_text(text + rows + OPERATIONS + FAST + fast_rows)
    failed = [key for key, (ulp, _, _) in worst.items() if not ulp <= allowed(*key)]
    worst.update(fast)
    failed += [key for key, (ulp, _, _) in fast.items() if not ulp <= FAST_BOUND]
    for key in failed:
        bound = FAST_BOUND if key in fast else allowed(*key)
        print(f"{' '.join(key)}: {worst[key][0]:.2f} ulp, allowed {bound:g}", file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
