"""Several threads with the same arrays, generators and functions."""

import sys
import threading

import pytest

import porcini as pc

N_THREADS = 4


@pytest.fixture(autouse=True)
def many_switches():
    """Threads take turns as often as Python lets them."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(work):
    """Calls work(i) in threads; what one raises is raised."""
    raised = []

    def run(i):
        try:
            work(i)
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(N_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


def test_writes_by_index_are_all_there():
    x = pc.zeros(N_THREADS)

    def work(i):
        for k in range(100):
            pc.scatter(x, float(k + 1), pc.UInt32([i]))

    in_threads(work)
    assert x.tolist() == [100] * N_THREADS


def test_sums_are_all_there():
    x = pc.Int32([0, 0, 0])
    v = pc.Vector2f([0, 0], 0)

    def work(i):
        for _ in range(50):
            pc.scatter_add(x, 1, pc.UInt32([0, 2]))
            pc.scatter_add(v.x, 1, pc.UInt32([1]))

    in_threads(work)
    assert x.tolist() == [50 * N_THREADS, 0, 50 * N_THREADS]
    assert v.x.tolist() == [0, 50 * N_THREADS]


def test_no_number_is_drawn_twice():
    rng = pc.PCG32()
    again = rng.copy()
    expected = [again.next_uint32().item() for _ in range(20 * N_THREADS)]
    drawn = []
    in_threads(lambda i: drawn.extend([rng.next_uint32() for _ in range(20)]))
    assert sorted(x.item() for x in drawn) == sorted(expected)


def test_one_recorded_function():
    x = pc.Float([1, 2, 3])
    f = pc.jit(lambda x, k: pc.sum(x * k))

    def work(i):
        for k in range(50):
            assert f(x, float(i + k)).item() == 6 * (i + k)

    in_threads(work)
    assert x.tolist() == [1, 2, 3]


def test_writes_of_a_recorded_function_that_runs_each_time():
    x, rng, calls, drawn = pc.zeros(2), pc.PCG32(), [], []

    @pc.jit
    def f(x):
        calls.append(None)
        pc.scatter_add(x, 1.0, pc.UInt32([0]))
        return rng.next_uint32()

    in_threads(lambda i: drawn.extend([f(x) for _ in range(20)]))
    assert len(calls) == 20 * N_THREADS
    assert x.tolist() == [20 * N_THREADS, 0]
    assert len({each.item() for each in drawn}) == 20 * N_THREADS


def test_others_see_what_arrays_hold_while_one_records():
    x = pc.Float([1, 2])
    rng = pc.PCG32()
    is_inside, is_read = threading.Event(), threading.Event()
    found = []

    def f(y, generator):
        is_inside.set()
        assert is_read.wait(60)
        return y * 2 + generator.next_float32() * 0

    thread = threading.Thread(target=lambda: found.append(pc.jit(f)(x, rng).tolist()))
    thread.start()
    assert is_inside.wait(60)
    try:
        assert x.tolist() == [1, 2] and len(rng) == 1
        assert pc.sum(x * 3).item() == 9
        assert len(pc.rand(2)) == 2
        x[0] = 5
    finally:
        is_read.set()
        thread.join()
    # What others write meanwhile counts: the call comes after it.
    assert found == [[10, 4]]
    assert x.tolist() == [5, 2]


def test_loops_and_gradients_beside_others():
    x = pc.Float([1, 2, 3])

    def work(i):
        for _ in range(10):
            if i % 2:
                _, y = pc.while_loop((pc.Int32(0), x), lambda n, y: n < 3, lambda n, y: (n + 1, y * 2))
                assert y.tolist() == [8, 16, 24]
            else:
                assert pc.grad(lambda x: pc.sum(x * x))(x).tolist() == [2, 4, 6]

    in_threads(work)
