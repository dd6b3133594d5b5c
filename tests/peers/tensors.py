#!/usr/bin/env python3
"""Compares random programs of tensors with NumPy.

Each program takes a few random steps (tensor_programs), with entries of all types: operators, views, indices and
writes, reductions along axes, sorts, products, sums by names, statistics, factors, transforms, and what has to be an
error. Integers, indices, shapes and types are compared exactly, and so are floats wherever each operation is rounded by
itself; sums of floats to 1e-5 of the sum of absolute values, 1e-13 in double precision, 1e-3 in half; factors by what
they multiply to.

Where the semantics differ from NumPy's, the programs expect them: tensors_differences.txt says where and why.

    python3 tests/peers/tensors.py --programs 1000 [--device cuda]

Needs NumPy, SciPy and a build of Porcini.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from tensor_programs import Program
from tensor_programs.lines import REFUSED
from tensor_programs.meaning import joined, unused_reasons

ROOT = Path(__file__).resolve().parent.parent.parent
# Functions of tensors: each is in some program, if there are enough of them.
TABLES = [ROOT / f"core/src/catalogue/{name}.rs" for name in ("tensors", "along", "linear", "statistics")]
ENOUGH = 500


def parts(program, name):
    """What of a line is written to a file, by the names there: complex numbers in parts, but for those of do_files."""
    want = program.wanted.get(name, (REFUSED,))[0]
    if want is REFUSED:
        return {}
    if want.dtype.kind == "c" and program.step_of[name] != "do_files":
        return {f"{name}_{part}": f"{name}.{part}" for part in ("real", "imag")}
    return {name: name}


def script(program, folder):
    """A program as a block, which writes its values to a file, and to another what went wrong."""
    lines = ["{", "let values = #{}; let troubles = #{};"]
    for name, line in program.lines.items():
        keeps = "".join(f" values.{key} = {code};" for key, code in parts(program, name).items())
        # What is made of a value that failed may fail, be the same nothing, or the truth that two are.
        keeps = f' if !["()", "bool"].contains(type_of({name})) {{{keeps} }}' if keeps else ""
        caught = f"catch (trouble) {{ troubles.{name} = `${{trouble}}`; }}"
        lines.append(f"let {name} = (); try {{ {line}{keeps} }} {caught}")
    values, troubles = (f"{folder}/{program.seed}.{kind}" for kind in ("npz", "json"))
    lines.append(f'try {{ write_npz("{values}", values); }} catch (trouble) {{ troubles.values = `${{trouble}}`; }}')
    lines += [f'write_text("{troubles}", to_json(troubles));', "}"]
    return "\n".join(lines)


def run(programs, given, folder):
    """What became of programs, in one process; of those that a crash or a hang took with it, each by itself."""
    source = folder / "programs.rhai"
    source.write_text("\n".join(script(program, folder) for program in programs))
    command = [given.porcini, "--device", given.device, source]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=given.timeout)
        ending = f"it ends with {done.returncode}: {done.stderr[:500]}" if done.returncode else None
    except subprocess.TimeoutExpired:
        ending = f"it runs for more than {given.timeout} s"
    if ending is None:
        for program in programs:
            yield program, *read(program, folder)
    elif len(programs) == 1:
        yield programs[0], {}, {"values": ending}
    else:
        for program in programs:
            yield from run([program], given, folder)


def read(program, folder):
    values, troubles = folder / f"{program.seed}.npz", folder / f"{program.seed}.json"
    troubles_by_name = json.loads(troubles.read_text())
    arrays = {}
    if "values" not in troubles_by_name:
        with np.load(values) as file:
            arrays = {name: array_in(file, name) for name in file}
        values.unlink()
    troubles.unlink()
    return arrays, troubles_by_name


def array_in(file, name):
    try:
        return file[name]
    except ValueError:
        # The file says another size than it has.
        return None


def names_in(text):
    return re.findall(r"\bt\d+\b", text)


def unlike(got, want, error):
    """In what a value, or the parts of one, is not what is wanted; nothing if it is."""
    if any(part is None for part in got):
        return "what NumPy does not read"
    if len(got) == 2 and got[0].dtype != want.real.dtype:
        return f"parts of {got[0].dtype}, wanted {want.dtype}"
    got = joined(*got) if len(got) == 2 else got[0]
    if got.dtype != want.dtype:
        return f"the type {got.dtype}, wanted {want.dtype}"
    if want.ndim == 0 and got.shape == (1,):
        got = got.reshape(())
    if got.shape != want.shape:
        return f"the shape {got.shape}, wanted {want.shape}"
    for part, wanted in [(got.real, want.real), (got.imag, want.imag)] if want.dtype.kind == "c" else [(got, want)]:
        same = part == wanted
        if part.dtype.kind == "f":
            same &= (np.signbit(part) == np.signbit(wanted)) | (error is not None)
            same |= np.isnan(part) & np.isnan(wanted)
            if error is not None:
                same |= np.abs(part.astype(float) - wanted.astype(float)) <= error
        if not same.all():
            return f"{got.tolist()}\nwanted {want.tolist()}"[:1500]
    return None


def failures(program, values, troubles):
    """What is not as wanted, by name, leaving out what is made of something that failed."""
    if "values" in troubles:
        yield None, troubles["values"]
        return
    failed = set()
    for name, line in program.lines.items():
        want, error = program.wanted.get(name, (None, None))
        if failed.intersection(names_in(line)) - {name}:
            failed.add(name)
        elif want is REFUSED:
            if name not in troubles:
                yield name, "no error"
        elif name in troubles:
            failed.add(name)
            yield name, f"error: {troubles[name]}"
        elif want is not None:
            difference = unlike([values.get(key) for key in parts(program, name)], want, error)
            if difference:
                failed.add(name)
                yield name, f"got {difference}"


def needed(program, name):
    """The lines of a program that define a value, or all."""
    if name is None:
        return [f"let {line}" for line in program.lines.values()]
    names, open_names = set(), [name]
    while open_names:
        one = open_names.pop()
        if one not in names:
            names.add(one)
            open_names += names_in(program.lines[one])
    return [f"let {line}" for one, line in program.lines.items() if one in names] + [name]


def uncovered(source):
    """The functions of tensors that no program has called."""
    names = [name for table in TABLES for name in re.findall(r"^    (\w+)\((?=\w+: |$)", table.read_text(), re.M)]
    return sorted(name for name in names if not re.search(rf"\b{name}\(", source))


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--programs", type=int, default=200)
    arguments.add_argument("--seed", type=int, default=0, help="number of the first program")
    arguments.add_argument("--device", default="cpu")
    arguments.add_argument("--porcini", "--binary", default=ROOT / "target/release/porcini")
    arguments.add_argument("--batch", type=int, default=50, help="programs that one process runs")
    arguments.add_argument("--timeout", type=float, default=120, help="seconds for a process")
    arguments.add_argument("--most", type=int, default=5, help="failures that are shown of each step")
    arguments.add_argument("--without", nargs="*", default=[], help="steps to leave out, such as do_norm")
    given = arguments.parse_args()
    if unused_reasons():
        sys.exit(f"tensors_differences.txt has reasons that nothing names: {', '.join(unused_reasons())}")
    start, n_values, called, failed = time.time(), 0, "", Counter()
    warnings.simplefilter("ignore", RuntimeWarning)
    with tempfile.TemporaryDirectory() as folder:
        for first in range(given.seed, given.seed + given.programs, given.batch):
            seeds = range(first, min(first + given.batch, given.seed + given.programs))
            programs = [Program(seed, given.without) for seed in seeds]
            for program, values, troubles in run(programs, given, Path(folder)):
                n_values += len(program.wanted)
                called += "" if len(called) > 10_000_000 else "\n".join(program.lines.values())
                for name, what in failures(program, values, troubles):
                    step = program.step_of.get(name, "as a whole")
                    failed[step] += 1
                    if failed[step] <= given.most:
                        lines = "\n".join(needed(program, name))
                        print(f"program {program.seed}, {step}:\n{lines}\n{what}\n", flush=True)
    seconds = time.time() - start
    print(f"{given.programs} programs, {n_values} values, {seconds:.0f} s")
    if given.programs >= ENOUGH and not given.without and uncovered(called):
        failed["uncovered"] += 1
        print(f"no program calls {', '.join(uncovered(called))}")
    if failed:
        sys.exit(f"other than wanted: {', '.join(f'{step} {n}' for step, n in failed.most_common())}")
    print("all as NumPy has them, or as tensors_differences.txt says")


if __name__ == "__main__":
    main()
