#!/usr/bin/env python3
"""The Python package beside Dr.Jit, both called from Python: every work of run.py as a row of a table.

    python_table.py [--device cuda] [--threads 2] [--n 1e3,1e6,1e8] [--rounds 3] [--works A,B]

A process of its own runs each work, size and round, by turns; of the rounds the least median counts. Needs the package
beside this script (python/porcini with its library) and a Python with NumPy and Dr.Jit; on a CPU DRJIT_LIBLLVM_PATH
where Dr.Jit finds no LLVM by itself. Rows are printed when they are there.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import run

HERE = Path(__file__).resolve().parent
PEERS = ["python", "drjit"]


def measured(peer, work, n, options):
    """What a process of a peer prints, or why it printed nothing."""
    command = [sys.executable, HERE / f"peer_{peer}.py", work, n, options.threads, options.seconds]
    # Kernel caches on disk go to the home directory; an empty one makes first iterations compile.
    with tempfile.TemporaryDirectory(prefix="peers-") as home:
        variables = {**os.environ, "HOME": home, "PEERS_DEVICE": options.device, "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(
                list(map(str, command)), env=variables, capture_output=True, text=True, timeout=options.timeout
            )
        except subprocess.TimeoutExpired:
            return {"error": f"no result within {options.timeout:g} s"}
    if done.returncode != 0 or not done.stdout.strip():
        return {"error": (done.stderr.strip().splitlines() or ["no result"])[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def row(work, n, options):
    results = {peer: [] for peer in PEERS}
    for _ in range(options.rounds):
        for peer in PEERS:
            results[peer].append(measured(peer, work, n, options))
    failed = [f"{peer}: {one['error']}" for peer in PEERS for one in results[peer] if "error" in one]
    if failed or any("ms" not in results[peer][0] for peer in PEERS):
        return f"| {work} | {n:.0e} | {failed[0] if failed else 'not done by both'} | | |"
    ours, theirs = (min(one["ms"] for one in results[peer]) * 1000 for peer in PEERS)
    first, their_first = (min(one["first_ms"] for one in results[peer]) for peer in PEERS)
    pairs = zip(*(results[peer][0]["check"] for peer in PEERS))
    most = run.WORKS[work].tolerance
    # Uneven sums of few lanes differ by what one lane may.
    agree = all(abs(a - b) <= most * max(1, abs(a), abs(b)) + 2 / n for a, b in pairs)
    note = "" if agree else " results differ"
    return (
        f"| {work} | {n:.0e} | {ours:.1f} | {theirs:.1f} | {theirs / ours:.2f}{note} | {first:.1f} | {their_first:.1f} |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--n", default="1e3,1e6,1e8")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("--works", default=",".join(run.WORKS))
    options = parser.parse_args()
    print("| work | lanes | ours, us | Dr.Jit | ratio | first, ms | Dr.Jit |\n|---|---|---|---|---|---|---|", flush=True)
    for work in options.works.split(","):
        for n in (int(float(n)) for n in options.n.split(",")):
            if n <= run.WORKS[work].most:
                print(row(work, n, options), flush=True)


if __name__ == "__main__":
    main()
