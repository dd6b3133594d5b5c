"""Times the works of one peer. Every peer_NAME.py ends with a call of `main`; run.py starts it with the
arguments WORK N THREADS SECONDS. porcini/measure.rhai does the same for Porcini.
"""

import json
import os
import sys
import time


def main(version, works):
    """Runs one work and prints what run.py wants to know.

    `works` maps a name to a function of n, which returns two functions: `iterate` does the work once, from
    recording to the finished result, and returns the result; `check` makes of it the numbers that are
    compared with Porcini's.
    """
    work, n, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[4])
    if work not in works:
        print(json.dumps({"version": version}))
        return
    iterate, check = works[work](n)
    first = milliseconds(iterate)
    repeat(iterate, 1, seconds / 5)
    start = time.process_time(), time.perf_counter()
    times = sorted(repeat(iterate, 5, seconds))
    processors = (time.process_time() - start[0]) / (time.perf_counter() - start[1])
    print(json.dumps({
        "first_ms": first,
        "ms": times[len(times) // 2],
        "iterations": len(times),
        "processors": processors,
        "check": check(iterate()),
        "version": version,
    }))


def threads():
    """Threads that the peer may use, for those that must be told so."""
    return int(sys.argv[3])


def device():
    """The device that PEERS_DEVICE names, for those that work on several; an empty text without it."""
    return os.environ.get("PEERS_DEVICE", "")


def plan(operations):
    """Random operations over the last 64 values, as in porcini/graph.rhai: two operands and a kind each."""
    seed, rows = operations, []
    for n_values in range(3, 3 + operations):
        first = max(0, n_values - 64)
        draws = []
        for _ in range(3):
            seed = (seed * 1103515245 + 12345) % 2147483648
            draws.append(seed // 65536)
        p, q = (first + draw % (n_values - first) for draw in draws[:2])
        rows.append((p, q, draws[2] % 3))
    return rows


def graph(x, plan):
    """A straight-line graph: the operations of a plan, and the sum of its last values."""
    values = [x, x + 1, x * 0.5]
    for p, q, kind in plan:
        if kind == 0:
            values.append((values[p] + values[q]) * 0.5)
        elif kind == 1:
            values.append(1 - values[p] * values[q])
        else:
            values.append((values[p] - values[q]) * 0.5)
    total = values[-1]
    for value in values[max(0, len(values) - 64):-1]:
        total = total + value
    return total


def repeat(iterate, at_least, seconds):
    times = []
    start = time.perf_counter()
    while True:
        times.append(milliseconds(iterate))
        elapsed = time.perf_counter() - start
        # What takes long is not repeated for an exact median.
        if elapsed > seconds and (len(times) >= at_least or elapsed > 10 * seconds):
            return times


def milliseconds(iterate):
    """The result is freed within, as in a program that goes on: the next iteration uses its memory."""
    start = time.perf_counter()
    iterate()
    return (time.perf_counter() - start) * 1000
