"""Kernels from text, with the numbers and kernels that their caller has by name; and from Python functions."""

import sys

from . import _porcini


def _names(depth=2):
    frame = sys._getframe(depth)
    return {**frame.f_globals, **frame.f_locals}


def kernel(text):
    """A kernel written as text, a small typed subset of C: it is called with arrays, lane by lane, and is recorded like any
    other operation. Numbers and kernels that the caller has may be used by name. Of a Python function, @pc.kernel, the source
    is read: assignments, if, while, for over range, arithmetic, functions, numbers that it sees; a parameter without a type
    takes any, `int` is an integer of 32 bits.

    >>> axpy = pc.kernel("T axpy(T a, T x, T y) { return a * x + y; }")
    >>> axpy(2, pc.Float([1, 2]), pc.Float([10, 20]))
    [12, 24]
    """
    if callable(text):
        from ._from_python import translated

        return _porcini._kernel(*translated(text))
    if not isinstance(text, str):
        raise TypeError(f"kernel: got {text!r}, expected a text, as 'T f(T x) {{ return x * x; }}', or a function")
    return _porcini._kernel(text, _names())


def reduction(header, *, map, reduce, post=None, identity=None):
    """A reduction written as text: map is what each lane becomes, reduce how two of them, a and b, combine (associative and
    commutative), post the result (of a, and n, how many there were), identity the value of no lanes.

    >>> l2 = pc.reduction("T l2(T x)", map="x * x", reduce="a + b", post="sqrt(a)", identity=0)
    >>> l2(pc.Float([3, 4]))
    [5]
    """
    return _porcini._reduction(header, map, reduce, post, identity, False, _names())


def scan(header, init=None, xs=None, length=None, *, map=None, reduce=None, post=None, identity=None):
    """As reduction, but for each lane the result of the lanes up to it.

    Of a Python function, scan(f, init, xs), as jax.lax.scan: carry, y = f(carry, x) for each entry x of xs along the first
    axis, one lane of an array, from the carry init; the last carry, and all y beside each other. xs and y may be dicts, lists
    and tuples; without xs there are length turns. A plain loop, of which each turn is recorded; pc.while_loop has one kernel.

    >>> top = pc.scan("T top(T x)", map="x", reduce="max(a, b)")
    >>> top(pc.Float([1, 3, 2, 5]))
    [1, 3, 3, 5]
    >>> pc.scan(lambda carry, x: (carry + x, carry * x), 0, pc.Float([1, 2, 3]))
    ([6], [0, 2, 9])
    """
    if callable(header):
        from ._turns import turns

        return turns(header, init, xs, length)
    if map is None or reduce is None:
        raise TypeError("scan: expected map= and reduce= beside the text, or a function: scan(f, init, xs)")
    return _porcini._reduction(header, map, reduce, post, identity, True, _names())
