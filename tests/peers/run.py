#!/usr/bin/env python3
"""Runs the same works in Porcini and in its peers, one after another, and prints how their times compare.

A process of its own runs each work, size, thread count and round, on as many processors as it may have threads;
rounds are interleaved, so that whatever else the machine does meets all alike. A process reports the median time of
an iteration, from recording to the finished result, after a first iteration that also compiles (with no kernel cache
on disk) and a warm-up. Results are compared too. Who would take too long at a size, judged by the size before, is
left out. Needs a release build of Porcini, Python 3.11 and, for Dr.Jit, a libLLVM: the one of a Rust toolchain does.

To add a work: a row of WORKS, porcini/NAME.rhai, and a function in each peer_*.py that can do it.
To add a peer: peer_NAME.py, and its packages in requirements.txt.
"""

import argparse
import contextlib
import datetime
import glob
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PORCINI = "porcini"
JIT = "porcini jit"  # the same script, whose functions are recorded once
SYSTEM = Path("system")
RELEASE = ROOT / "target/release/porcini"


class Work(NamedTuple):
    what: str
    tolerance: float  # largest difference of checks, relative to the larger of them and 1
    script: str  # in porcini/
    bytes: int = 0  # that a lane must move to and from memory, where that is what limits the work
    most: float = float("inf")  # lanes beyond which it measures nothing else


MOMENTS = 1e-6  # of mean and mean square: functions are not equally accurate
COUNT = 1e-5  # not everybody has fma, so points on the border fall either way

SUMS = 1e-3  # f32, added in another order, or a function in f16

WORKS = {
    "copy": Work("an array in memory plus 1, the pace of memory", MOMENTS, "copy", 8),
    "tanh": Work("tanh(x + x), x in memory", MOMENTS, "tanh", 8),
    "mem10": Work("3 arrays in memory, 10 simple operations, 1 array out", MOMENTS, "mem10", 16),
    "sphere": Work("PCG32 a lane, 3 floats, count of points in a sphere", COUNT, "sphere"),
    "sphere4": Work("as sphere, nearest of 4 points", COUNT, "sphere"),
    "cross": Work("cross product of 3-vectors, divided by its length", SUMS, "cross", 36),
    "blackscholes": Work("price of an option: log, 3 exp, 2 polynomials", SUMS, "blackscholes", 16),
    "mandelbrot": Work("a loop in the kernel, at most 64 turns a lane", COUNT, "mandelbrot"),
    "nbody": Work("pull of 16 bodies on each particle", SUMS, "nbody"),
    "histogram10": Work("scatter_add of weights into 10 bins", SUMS, "histogram", 8),
    "histogram1024": Work("the same, 1024 bins", SUMS, "histogram", 8),
    "histogram1e6": Work("the same, a million bins", SUMS, "histogram", 8),
    "gather": Work("by a random permutation", MOMENTS, "permute", 12),
    "scatter": Work("by a random permutation, into zeros", MOMENTS, "permute", 12),
    "sort": Work("floats in random order", MOMENTS, "sort"),
    "psum": Work("prefix sums of floats", SUMS, "psum", 8),
    "sum": Work("of floats", SUMS, "reduce", 4),
    "dot": Work("dot product of floats", SUMS, "reduce", 8),
    "min": Work("smallest float", MOMENTS, "reduce", 4),
    "sigmoid16": Work("1 / (1 + exp(-x)), f16 in and out", SUMS, "sigmoid16", 4),
    "loop": Work("1000 kernels y * a + b, one after another, b changing", SUMS, "loop", most=1e6),
    "heat": Work("10 kernels with two gathers each", SUMS, "heat"),
    "graph30": Work("30 random operations, recorded each time", SUMS, "graph"),
    "graph1000": Work("1000 random operations", SUMS, "graph"),
    "graph10000": Work("10 000 random operations", SUMS, "graph"),
    "graph100000": Work("100 000 random operations", SUMS, "graph", most=1e3),
    "graph1000000": Work("a million random operations", SUMS, "graph", most=1e3),
}
PEERS = sorted(path.stem.removeprefix("peer_") for path in HERE.glob("peer_*.py"))


class Cell(NamedTuple):
    """What one row of the table is about."""

    work: str
    n: int
    threads: int


class Failure(Exception):
    """Ends the benchmark with a message for its user."""


def main():
    options = arguments()
    try:
        python = environment(options.venv) if options.peers else None
        if options.venv == SYSTEM:
            options.peers = [peer for peer in options.peers if works(python, peer)]
        libllvm = find_libllvm(options.libllvm) if "drjit" in options.peers else None
        porcini = options.porcini.resolve()
        if not porcini.is_file():
            raise Failure(f"no program {porcini}: run cargo build --release, or say --porcini PATH")
    except Failure as failure:
        sys.exit(f"error: {failure}")

    def run(runner, cell):
        if runner in (PORCINI, JIT):
            command = porcini_command(porcini, cell, options.seconds, runner)
            return worker(command, dict(options.env), cell.threads, options.timeout)
        command = peer_command(python, runner, cell, options.seconds)
        return worker(command, peer_variables(cell.threads, libllvm), cell.threads, options.timeout)

    runners = [PORCINI, *([JIT] if options.jit else []), *options.peers]
    sizes = sorted(options.n)
    cells = [Cell(work, n, threads) for work in options.works for n in sizes for threads in options.threads]
    cells = [cell for cell in cells if cell.n <= WORKS[cell.work].most]
    results = {cell: {runner: [] for runner in runners} for cell in cells}
    # What is cut off loses nothing that was measured.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt):
        rounds(run, results, options)
    measured = [cell for cell in cells if any(results[cell][PORCINI])]
    print(report(results, runners, measured, options))
    complaints = disagreements(results, runners, cells)
    for complaint in complaints:
        print(f"error: {complaint}", file=sys.stderr)
    sys.exit(1 if complaints else 0)


def arguments():
    what = "\n".join(f"  {name:14}{work.what}" for name, work in WORKS.items())
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=f"works:\n{what}\n\nA ratio above 1 says how many times faster Porcini is.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )

    def names(known):
        def parse(text):
            chosen = [name for name in text.split(",") if name]
            for name in chosen:
                if name not in known:
                    raise argparse.ArgumentTypeError(f"{name}: choose from {', '.join(known)}")
            return chosen

        return parse

    def counts(text):
        return [whole(number) for number in text.split(",")]

    def setting(text):
        if "=" not in text:
            raise argparse.ArgumentTypeError(f"{text}: expected NAME=VALUE")
        return tuple(text.split("=", 1))

    add = parser.add_argument
    add("--works", type=names(WORKS), default=list(WORKS), metavar="A,B", help="default: all")
    add("--peers", type=names(PEERS), default=PEERS, metavar="A,B", help=f"default: {','.join(PEERS)}")
    add("--n", type=counts, default="1e6,1e7", metavar="N,N", help="numbers of lanes (default: %(default)s)")
    add("--threads", type=counts, default="1,2", metavar="N,N", help="default: %(default)s")
    add("--rounds", type=whole, default=5, metavar="N", help="default: %(default)s")
    add("--seconds", type=float, default=0.3, help="least time of measuring in a process (default: %(default)s)")
    longest = "most seconds of an iteration, judged by the size before (default: %(default)s)"
    add("--longest", type=float, default=2, metavar="S", help=longest)
    add("--jit", action="store_true", help="also time our scripts with jit: their functions are recorded once")
    add("--short", action="store_true", help="a narrower table: ours, the fastest peer and their ratio")
    add("--timeout", type=float, default=600, help="most seconds of a process (default: %(default)s)")
    add("--porcini", type=Path, default=RELEASE, metavar="PATH", help="default: %(default)s")
    add("--env", type=setting, action="append", default=[], metavar="NAME=VALUE", help="set for Porcini only")
    venv = "the peers' packages, installed if need be; system: this Python's, as they are (default: %(default)s)"
    add("--venv", type=Path, default=ROOT / "target/peers", metavar="DIR", help=venv)
    add("--libllvm", metavar="PATH", help="for Dr.Jit (default: DRJIT_LIBLLVM_PATH, rustc's, the system's)")
    add("--json", metavar="PATH", help="also write every measurement to this file, as soon as it is there")
    return parser.parse_args()


def whole(text):
    """A count, also as 1e6."""
    number = float(text)
    if number != int(number) or number < 1:
        raise argparse.ArgumentTypeError(f"{text}: expected a whole number from 1 up")
    return int(number)


# What the peers need.


def environment(folder):
    """The Python of a virtual environment that has the pinned packages."""
    if folder == SYSTEM:
        return Path(sys.executable)
    wanted = (HERE / "requirements.txt").read_text()
    stamp = folder / "installed.txt"
    python = folder.resolve() / "bin/python"
    if not stamp.is_file() or stamp.read_text() != wanted:
        log(f"installing {HERE / 'requirements.txt'} into {folder}")
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        for command in [[sys.executable, "-m", "venv", folder], [*pip, "-r", HERE / "requirements.txt"]]:
            if subprocess.run(command, stdout=sys.stderr).returncode != 0:
                raise Failure("the peers could not be installed; --peers '' runs Porcini alone")
        stamp.write_text(wanted)
    return python


def works(python, peer):
    """Whether a Python has what a peer needs: its script, asked for no work, says its version."""
    command = [python, HERE / f"peer_{peer}.py", "none", "1", "1", "0"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        log(f"left out, as this Python cannot run it: {peer}: {done.stderr.strip().splitlines()[-1:]}")
    return done.returncode == 0


def find_libllvm(given):
    """Path of an LLVM that Dr.Jit can load: what the user says, rustc's, then the newest of the system."""
    given = given or os.environ.get("DRJIT_LIBLLVM_PATH")
    if given:
        if not Path(given).is_file():
            raise Failure(f"no libLLVM at {given}")
        return given
    for patterns in [rustc_patterns(), SYSTEM_PATTERNS]:
        found = [path for pattern in patterns for path in glob.glob(pattern)]
        found = [path for path in found if llvm_version(path) >= OLDEST_LLVM]
        if found:
            return max(found, key=llvm_version)
    raise Failure(
        f"Dr.Jit needs libLLVM {OLDEST_LLVM} or later, and neither the Rust toolchain nor the system has it: "
        "say --libllvm PATH, or leave Dr.Jit out with --peers numpy"
    )


OLDEST_LLVM = 16  # with older ones Dr.Jit's maximum aborts the process
SYSTEM_PATTERNS = [
    "/usr/lib/llvm-*/lib/libLLVM*.so*",
    "/usr/lib*/libLLVM*.so*",
    "/usr/lib/*-linux-gnu/libLLVM*.so*",
    "/usr/local/lib/libLLVM*.so*",
    "/opt/homebrew/opt/llvm*/lib/libLLVM*.dylib",
    "/usr/local/opt/llvm*/lib/libLLVM*.dylib",
]


def rustc_patterns():
    try:
        # Asked here, so a toolchain file of the workspace counts.
        command = ["rustc", "--print", "sysroot"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    except FileNotFoundError:
        return []
    return [f"{done.stdout.strip()}/lib/libLLVM*.so*"] if done.returncode == 0 else []


def llvm_version(path):
    """Major version by the name of the library, behind links if need be; 0 if no name tells."""
    for name in [Path(path).name, Path(path).resolve().name, path]:
        version = re.search(r"(?:LLVM|llvm)[-.](?:so\.)?(\d+)", name)
        if version:
            return int(version[1])
    return 0


# Running.


def porcini_command(porcini, cell, seconds, runner):
    script = HERE / "porcini" / f"{WORKS[cell.work].script}.rhai"
    command = [porcini, "--threads", cell.threads, script, cell.work, cell.n, seconds]
    return [*command, "jit"] if runner == JIT else command


def peer_command(python, peer, cell, seconds):
    return [python, HERE / f"peer_{peer}.py", cell.work, cell.n, cell.threads, seconds]


def peer_variables(threads, libllvm):
    names = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_MAX_THREADS"]
    variables = dict.fromkeys(names, str(threads))
    if libllvm:
        variables["DRJIT_LIBLLVM_PATH"] = str(libllvm)
    return variables


def worker(command, variables, threads, timeout):
    """The measurements of one process."""
    # Kernel caches on disk go to the home directory; an empty one makes first iterations compile.
    with tempfile.TemporaryDirectory(prefix="peers-") as home:
        variables = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "HOME": home, **variables}
        start = time.perf_counter()
        with open(Path(home) / "out", "w+") as out, open(Path(home) / "err", "w+") as err:
            process = subprocess.Popen(
                [str(word) for word in command],
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                preexec_fn=lambda: share(threads),
            )
            used = wait(process, timeout)
            [output, complaint] = [(file.seek(0), file.read())[1] for file in (out, err)]
        if used is None:
            return {"error": f"no result within {timeout:g} s"}
        if process.returncode != 0:
            return {"error": f"exit code {process.returncode}\n{complaint.strip()}"}
        busy = (used.ru_utime + used.ru_stime) / (time.perf_counter() - start)
    # Peers measure the processors without their start, which takes long.
    return {"processors": busy, "peak_mb": used.ru_maxrss / 1024, **json.loads(output)}


def wait(process, timeout):
    """What a process used when it has ended; None if it was ended, as it took too long."""
    timer = threading.Timer(timeout, process.kill)
    timer.start()
    try:
        _, status, used = os.wait4(process.pid, 0)
    except BaseException:
        process.kill()
        raise
    finally:
        in_time = timer.is_alive()
        timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return used if in_time else None


def share(threads):
    """Leaves this process that many processors, where the system lets it: not everybody can be told a number.

    One of each core as long as there are cores, and the last ones, for the first one mostly has the system's own work.
    """
    if hasattr(os, "sched_setaffinity"):
        ours = sorted(os.sched_getaffinity(0), key=lambda number: (is_first_of_core(number), number))
        os.sched_setaffinity(0, ours[-threads:])


def is_first_of_core(number):
    """Whether a processor is the first that its core appears as; all are, where the system does not say."""
    with contextlib.suppress(OSError, ValueError):
        siblings = Path(f"/sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list").read_text()
        return int(re.split("[-,]", siblings)[0]) == number
    return True


def rounds(run, results, options):
    """Adds measurements by cell and runner, one a round. The order of runners rotates."""
    for number in range(options.rounds):
        for cell in results:
            for runner in rotated(list(results[cell]), number):
                if expected_seconds(results, cell, runner) > options.longest:
                    log(f"left out, as it would take too long: {name(cell)}: {runner}")
                    # A place stays in the list, so that rounds keep their numbers.
                    results[cell][runner].append({})
                    continue
                row = run(runner, cell)
                results[cell][runner].append(row)
                shown = f"{row['ms']:.4g} ms" if "ms" in row else "failed" if "error" in row else "cannot"
                log(f"round {number + 1}/{options.rounds}: {name(cell)}: {runner}: {shown}")
                if options.json:
                    save(options.json, results)


def expected_seconds(results, cell, runner):
    """Of an iteration, by the largest size before; 0 if there is none. Who was left out stays out."""
    before = [other for other in results if other.n < cell.n and other._replace(n=cell.n) == cell]
    if not before:
        return 0
    smaller = max(before, key=lambda other: other.n)
    rows = results[smaller][runner]
    if rows and not any(rows):
        return float("inf")
    times = column(rows, "ms")
    return statistics.median(times) * cell.n / smaller.n / 1000 if times else 0


def rotated(runners, number):
    number %= len(runners)
    return runners[number:] + runners[:number]


def log(line):
    print(line, file=sys.stderr, flush=True)


# Reporting.


def others(runners):
    """Those who are not Porcini."""
    return [runner for runner in runners if runner not in (PORCINI, JIT)]


def report(results, runners, cells, options):
    peers = others(runners)
    kept = {cell: steady(results[cell]) for cell in cells}
    paces = {cell: pace(cell, column(kept[cell][PORCINI], "ms")) for cell in cells}
    copies = {(cell.n, cell.threads): pace for cell, pace in paces.items() if cell.work == "copy"}
    settings = {name: value for name, value in os.environ.items() if name.startswith("PORCINI_")}
    settings.update(options.env)
    versions = {
        runner: row["version"]
        for cell in cells
        for runner in runners
        for row in results[cell][runner]
        if "version" in row
    }
    described = [str(options.porcini), *([commit()] if options.porcini == RELEASE else [])]
    described += [f"{name}={value}" for name, value in settings.items()]
    lines = [
        "# On the CPU, beside others",
        "",
        f"`{' '.join(['python3 tests/peers/run.py', *sys.argv[1:]])}`, {datetime.date.today()}.",
        f"Machine: {processor()}, {os.cpu_count()} processors.",
        f"Porcini: {', '.join(described)}: {versions.get(PORCINI, 'failed')}.",
        f"Peers: {'; '.join(versions.get(peer, f'{peer} failed') for peer in peers) or 'none'}.",
        "",
        *explanation(options),
        "",
        *times(kept, runners, cells, copies, options.short),
    ]
    if not options.short:
        lines += [
            "",
            "Milliseconds of the first iteration, compilation included.",
            "",
            *table(
                ["work", "n", "threads", *(f"{runner} first ms" for runner in runners)],
                [first_row(cell, results[cell], runners) for cell in cells],
            ),
            "",
            "Most memory of the process, MiB: programs and libraries, inputs, results and what is kept between.",
            "",
            *table(
                ["work", "n", "threads", *(f"{runner} MiB" for runner in runners)],
                [peak_row(cell, results[cell], runners) for cell in cells],
            ),
        ]
    return "\n".join(lines)


def explanation(options):
    counted = f"Milliseconds an iteration, recording included; medians (rounds: {options.rounds}). "
    if options.jit:
        counted += "jit: functions are\nrecorded once, as JAX does; Dr.Jit records each time. "
    if options.short:
        return [
            counted + "best: how many times faster",
            "Porcini is than the fastest peer; of copy: the pace of memory by that of the work copy; spread: slowest",
            "round by fastest, of whom it was worst.",
        ]
    return [
        counted + "Ratios are medians of the",
        "rounds' ratios: above 1, Porcini is faster; best: that to the fastest peer. GB/s: bytes that the work must move,",
        "ours; of copy: by those of the work copy, what memory can. Busy: processors that each had, in the same order;",
        "rounds in which one had much less than in its best are left out. Spread: slowest round by fastest, of whom it",
        "was worst.",
    ]


def times(kept, runners, cells, copies, short):
    """The table of times; the short one names the fastest peer only."""
    head = ["work", "n", "threads", *(f"{runner} ms" for runner in runners)]
    head += [f"{peer} / {PORCINI}" for peer in others(runners)] + ["best"] + ["best, jit"] * (JIT in runners)
    head += ["GB/s", "of copy", "busy", "spread"]
    rows = [time_row(cell, kept[cell], runners, copies.get((cell.n, cell.threads))) for cell in cells]
    if short:
        jit = [f"{JIT} ms", "best, jit"] if JIT in runners else []
        names = ["work", "n", "threads", f"{PORCINI} ms", *jit[:1], "fastest peer", "ms", "best", *jit[1:], "of copy", "spread"]
        rows = [short_row(dict(zip(head, row)), runners) for row in rows]
        return table(names, rows)
    return table(head, rows)


def short_row(row, runners):
    ours = runners[: len(runners) - len(others(runners))]
    peers = [peer for peer in others(runners) if row[f"{peer} ms"] != "–"]
    peer = min(peers, key=lambda peer: float(row[f"{peer} ms"]), default=None)
    fastest = [peer, row[f"{peer} ms"]] if peer else ["–", "–"]
    left = [row[name] for name in ["work", "n", "threads", *(f"{runner} ms" for runner in ours)]]
    bests = [row[name] for name in ["best", "best, jit"][: len(ours)]]
    return [*left, *fastest, *bests, row["of copy"], row["spread"]]


def steady(results):
    """The rows of one cell, without those whose process the system gave too few processors."""
    kept = {}
    for runner, rows in results.items():
        best = max(column(rows, "processors"), default=0)
        # A place stays in the list, so that rounds keep their numbers.
        kept[runner] = [row if row.get("processors", 0) > STEADY * best else {} for row in rows]
    return kept


STEADY = 0.8  # least share of a runner's best round


def time_row(cell, rows, runners, copy):
    times = {runner: column(rows[runner], "ms") for runner in runners}
    ratios = [ratio(rows[peer], rows[PORCINI]) for peer in others(runners)]
    of_jit = [ratio(rows[peer], rows[JIT]) for peer in others(runners)] if JIT in rows else []
    spreads = [max(column) / min(column) for column in times.values() if column]
    ours = pace(cell, times[PORCINI])
    return [
        *key(cell),
        *(milliseconds(times[runner]) for runner in runners),
        *ratios,
        least(ratios),
        *([least(of_jit)] if JIT in rows else []),
        number(ours, ".1f"),
        number(ours and copy and ours / copy, ".2f"),
        " ".join(median(column(rows[runner], "processors"), ".1f") for runner in runners),
        f"{max(spreads):.2f}" if spreads else "–",
    ]


def least(ratios):
    return min((entry for entry in ratios if entry != "–"), key=float, default="–")


def pace(cell, times):
    """GB/s of the bytes that the work must move; None if memory is not what limits it."""
    moved = WORKS[cell.work].bytes * cell.n
    return moved / statistics.median(times) / 1e6 if moved and times else None


def number(value, shape):
    return format(value, shape) if value else "–"


def first_row(cell, rows, runners):
    return [*key(cell), *(milliseconds(column(rows[runner], "first_ms")) for runner in runners)]


def peak_row(cell, rows, runners):
    return [*key(cell), *(median(column(rows[runner], "peak_mb"), ".0f") for runner in runners)]


def key(cell):
    n = f"{cell.n:g}".replace("e+0", "e").replace("e+", "e")
    return [cell.work, n if float(n) == cell.n else cell.n, cell.threads]


def column(rows, field):
    return [row[field] for row in rows if field in row]


def milliseconds(times):
    return median(times, ".3g" if times and statistics.median(times) < 1000 else ".0f")


def ratio(peer, ours):
    return median([a["ms"] / b["ms"] for a, b in zip(peer, ours) if "ms" in a and "ms" in b], ".2f")


def median(numbers, shape):
    return format(statistics.median(numbers), shape) if numbers else "–"


def table(head, rows):
    """A Markdown table, in columns for those who read it as text."""
    rows = [head, *([str(entry) for entry in row] for row in rows)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    lines = ["| " + " | ".join(entry.rjust(width) for entry, width in zip(row, widths)) + " |" for row in rows]
    rule = "|" + "|".join("-" * (width + 1) + ":" for width in widths) + "|"
    return [lines[0], rule, *lines[1:]]


def processor():
    try:
        found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else "unknown processor"


def commit():
    command = ["git", "-C", ROOT, "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        return "unknown commit"
    return done.stdout.strip() or "unknown commit"


def disagreements(results, runners, cells):
    """What failed, and whose numbers are not Porcini's."""
    complaints = []
    for cell in cells:
        expected = next(iter(column(results[cell][PORCINI], "check")), None)
        for runner in runners:
            for row in results[cell][runner]:
                if "error" in row:
                    complaints.append(f"{name(cell)}: {runner}: {row['error']}")
                elif "check" in row and expected and not agree(row["check"], expected, WORKS[cell.work].tolerance):
                    complaints.append(f"{name(cell)}: {runner} computes {row['check']}, {PORCINI} {expected}")
    return list(dict.fromkeys(complaints))


def agree(a, b, tolerance):
    # Written so that a NaN disagrees.
    return len(a) == len(b) and all(abs(x - y) <= tolerance * max(abs(x), abs(y), 1) for x, y in zip(a, b))


def name(cell):
    threads = "1 thread" if cell.threads == 1 else f"{cell.threads} threads"
    return f"{cell.work}, n = {key(cell)[1]}, {threads}"


def save(path, results):
    rows = [
        {**cell._asdict(), "runner": runner, "round": number, **row}
        for cell, runners in results.items()
        for runner, column in runners.items()
        for number, row in enumerate(column, 1)
    ]
    Path(path).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
