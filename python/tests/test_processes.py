"""Forks of the process, and signals while it computes: each in a process of its own."""

import subprocess
import sys
import textwrap

START = """
import os, signal, subprocess, threading, time
import porcini as pc

def turns(n):
    '''Two, after so many turns of a loop.'''
    loop = (pc.Float.arange(1000), pc.UInt32(0))
    return pc.while_loop(loop, lambda x, k: k < n, lambda x, k: (x * 0.5 + 1, k + 1))[0]

def turns_of(seconds):
    '''So many take about that long.'''
    n = 1 << 14
    while True:
        start = time.perf_counter()
        turns(n).tolist()
        took = time.perf_counter() - start
        if took > 0.05:
            return int(n * seconds / took)
        n *= 4

def endless():
    return pc.while_loop((pc.Float.arange(1000),), lambda x: x > -1, lambda x: (x + 1,))[0]

def later(seconds, number):
    '''A signal from outside: which thread hears of it is the system's choice.'''
    subprocess.Popen(["sh", "-c", f"sleep {seconds}; kill -{int(number)} {os.getpid()}"])

def code(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def forked(work):
    '''A child that does this, and ends with 0 if it is true.'''
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(0 if work() else 1)
        except BaseException as error:
            print(repr(error), flush=True)
            os._exit(2)
    return pid
"""


def said(text):
    """What a program prints."""
    program = START + textwrap.dedent(text)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return done.stdout.split()


class TestForks:
    def test_parent_and_child_have_kernels_of_their_own(self):
        text = """
            x = pc.Float([1, 2, 3, 4])
            pc.eval(x)
            print((x + 0.5).tolist() == [1.5, 2.5, 3.5, 4.5])
            (heard, tell), (heard_back, tell_back) = os.pipe(), os.pipe()

            def work():
                first = pc.maximum(x, 2.5).tolist()
                os.write(tell, b"1")
                os.read(heard_back, 1)
                return first == pc.maximum(x, 2.5).tolist() == [2.5, 2.5, 3, 4]

            pid = forked(work)
            os.read(heard, 1)
            print(pc.minimum(x, 2.5).tolist() == [1, 2, 2.5, 2.5])
            os.write(tell_back, b"1")
            print(code(pid), (x + 0.5).tolist() == [1.5, 2.5, 3.5, 4.5])
        """
        assert said(text) == ["True", "True", "0", "True"]

    def test_both_compile_at_the_same_time(self):
        text = """
            x = pc.linspace(0, 1, 5000)
            pc.eval(pc.sin(x))

            def kernels(start):
                def one(k):
                    y = x
                    for bit in range(8):
                        y = y + 1 if k >> bit & 1 else y * 2
                    return y[0]

                def expected(k):
                    y = 0
                    for bit in range(8):
                        y = y + 1 if k >> bit & 1 else y * 2
                    return y

                return all(one(k) == expected(k) for k in range(start, start + 30))

            for start in range(0, 240, 60):
                pid = forked(lambda: kernels(start))
                print(kernels(start + 30), code(pid))
        """
        assert said(text) == 4 * ["True", "0"]

    def test_pools_of_processes(self):
        text = """
            import multiprocessing
            x = pc.linspace(0, 1, 10000)
            pc.eval(x)
            pool = multiprocessing.get_context("fork").Pool(2, maxtasksperchild=1)
            with pool:
                sums = [pc.sum(y).item() for y in pool.imap(double, [x + k for k in range(40)])]
            print(all(abs(s - 2 * (5000 + 10000 * k)) < 1e-4 * s + 1 for k, s in enumerate(sums)))
        """
        assert said("def double(x):\n    return x * 2\n" + textwrap.dedent(text)) == ["True"]

    def test_while_threads_compute(self):
        text = """
            x = pc.linspace(0, 1, 100000)
            is_over = False

            def busy():
                k = 0
                while not is_over:
                    k += 1
                    pc.sin(x * k).tolist()

            threads = [threading.Thread(target=busy, daemon=True) for _ in range(2)]
            for thread in threads:
                thread.start()
            print(*(code(forked(lambda: pc.sum(pc.Float([1, 2, k])).item() == 3 + k)) for k in range(10)))
            is_over = True
            for thread in threads:
                thread.join()
        """
        assert said(text) == 10 * ["0"]

    def test_of_children_and_of_what_no_session_has(self):
        text = """
            print(code(forked(lambda: code(forked(lambda: pc.sum(pc.Float([1, 2])).item() == 3)) == 0)))
            print(pc.sum(pc.linspace(0, 1, 100000)).item())
            print(code(forked(lambda: code(forked(lambda: pc.sum(pc.Float([1, 2])).item() == 3)) == 0)))
        """
        assert said(text) == ["0", "50000.0", "0"]

    def test_while_another_thread_starts(self):
        text = """
            thread = threading.Thread(target=lambda: pc.eval(pc.Float([1, 2]) + 1))
            thread.start()
            print(code(forked(lambda: (pc.Float([1, 2]) + 1).tolist() == [2, 3])))
            thread.join()
        """
        assert said(text) == ["0"]

    def test_scripts(self):
        text = """
            print(pc.run_text("k = 2; k + 1")[1])
            print(code(forked(lambda: pc.run_text("1 + 1")[1] == 2)), pc.run_text("k")[1])
        """
        assert said(text) == ["3", "0", "2"]


class TestSignals:
    def test_a_handler_that_returns_runs_meanwhile(self):
        text = """
            heard = []
            signal.signal(signal.SIGINT, lambda *_: heard.append(time.perf_counter()))
            x = turns(turns_of(2))
            later(0.3, signal.SIGINT)
            start = time.perf_counter()
            pc.eval(x)
            took = time.perf_counter() - start
            print(len(heard), x[0], heard[0] - start < 0.3 + 0.5 * took)
        """
        assert said(text) == ["1", "2.0", "True"]

    def test_a_clock_does_not_keep_work_from_its_end(self):
        text = """
            heard = []
            signal.signal(signal.SIGALRM, lambda *_: heard.append(1))
            n = turns_of(0.6)
            signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
            print(turns(n).tolist()[0], pc.TensorXf(turns(n)).sum().item(), len(heard) > 0)
            # Python forgets its handlers before it ends.
            signal.setitimer(signal.ITIMER_REAL, 0)
        """
        assert said(text) == ["2.0", "2000.0", "True"]

    def test_a_signal_that_stops_nothing_leaves_writes_whole(self):
        text = """
            heard = []
            signal.signal(signal.SIGALRM, lambda *_: heard.append(1))
            x = pc.Float(pc.zeros(1000))
            pc.eval(x)
            signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
            pc.scatter_add(x, 1, pc.UInt32.arange(20_000_000) % 1000)
            value = x[3]
            time.sleep(0.01)
            print(value, len(heard) > 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
        """
        assert said(text) == ["20000.0", "True"]

    def test_a_function_that_is_asked_for_hears_of_signals_itself(self):
        text = """
            signal.signal(signal.SIGINT, lambda *_: print("heard", flush=True))
            pc.eval(turns(10))

            def backward(*args):
                thread = threading.Thread(target=lambda: print(turns(300000)[0], flush=True))
                thread.start()
                os.kill(os.getpid(), signal.SIGINT)
                thread.join()
                return args[-1] * 2

            f = pc.custom(lambda x: x * x, backward=backward)
            print(*pc.grad(lambda x: pc.sum(f(x)))(pc.Float([1, 2])).tolist())
        """
        assert said(text) == ["heard", "2.0", "2.0", "4.0"]

    def test_a_handler_that_raises_ends_work(self):
        text = """
            class Enough(Exception):
                pass

            def enough(*_):
                raise Enough

            signal.signal(signal.SIGINT, enough)
            later(0.3, signal.SIGINT)
            try:
                pc.eval(endless())
            except Enough:
                print((pc.Float([1]) + 1).tolist()[0])
        """
        assert said(text) == ["2.0"]

    def test_the_second_handler_may_raise(self):
        text = """
            n_heard = 0

            def count(*_):
                global n_heard
                n_heard += 1
                if n_heard == 3:
                    raise KeyboardInterrupt

            signal.signal(signal.SIGINT, count)
            for k in range(3):
                later(0.4 * (k + 1), signal.SIGINT)
            try:
                pc.eval(endless())
            except KeyboardInterrupt:
                print(n_heard)
        """
        assert said(text) == ["3"]

    def test_other_threads_go_on_and_the_main_one_is_told_once(self):
        text = """
            pc.eval(turns(10))
            n = turns_of(1.5)
            ended = []

            def work():
                try:
                    ended.append(turns(n).tolist()[0])
                except BaseException as error:
                    ended.append(repr(error))

            for _ in range(3):
                later(0.4, signal.SIGINT)
                thread = threading.Thread(target=work)
                thread.start()
                n_told = 0
                try:
                    try:
                        endless().tolist()
                    except KeyboardInterrupt:
                        n_told += 1
                        for _ in range(100000):
                            pass
                except KeyboardInterrupt:
                    n_told += 1
                thread.join()
                print(n_told)
            print(*ended)
        """
        assert said(text) == 3 * ["1"] + 3 * ["2.0"]

    def test_scripts_go_on_or_end(self):
        text = """
            heard = []
            signal.signal(signal.SIGINT, lambda *_: heard.append(1))
            later(0.3, signal.SIGINT)
            found, n = pc.run_text("let n = 0; for i in 0..3000000 { n += 1; } n")
            time.sleep(0.5)
            print(n, len(heard))
            signal.signal(signal.SIGINT, signal.default_int_handler)
            later(0.3, signal.SIGINT)
            try:
                pc.run_text("loop { }")
            except KeyboardInterrupt:
                print(pc.run_text("1 + 1")[1])
        """
        assert said(text) == ["3000000", "1", "2"]
