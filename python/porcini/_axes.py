"""Axes and other integers as NumPy counts them: negative ones from the end."""

import operator

import porcini as pc


def integer(op, what, number):
    """An integer, also one of another library."""
    try:
        return operator.index(number)
    except TypeError:
        raise TypeError(f"{op}: got {number!r} as {what}, expected an integer") from None


def within(op, mode, numbers, n):
    """Numbers of n entries; those out of bounds count on from the other end with "wrap", are those at the ends with "clip"."""
    if mode not in ("raise", "wrap", "clip"):
        raise TypeError(f"{op}: got mode={mode!r}, expected 'raise', 'wrap' or 'clip'")
    return numbers % n if mode == "wrap" else pc.clip(numbers, 0, n - 1) if mode == "clip" else numbers


def axis_of(op, axis, n):
    """An axis of n, from 0."""
    place = integer(op, "axis", axis)
    if not -n <= place < n:
        raise ValueError(f"{op}: got axis {place} of {n} axes, expected {-n} to {n - 1}")
    return place % n


def axes_of(op, axes, n):
    """Several axes of n, from 0."""
    places = [axis_of(op, axis, n) for axis in axes]
    if len(set(places)) < len(places):
        raise ValueError(f"{op}: got the axes {list(axes)}, expected each once")
    return places
