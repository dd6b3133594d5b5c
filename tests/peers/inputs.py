"""What works read and how results are checked, for peers whose arrays come from NumPy."""

import numpy as np


def inputs(n, count):
    """Input number 0, 1, 2, ..: from -1.25 up to 1.25 in steps that every peer represents exactly."""
    lane = np.arange(n, dtype=np.uint32)
    return [(lane * (number + 1) % 640).astype(np.float32) / 256 - np.float32(1.25) for number in range(count)]


def mixed(n):
    """Lane numbers mixed up: every u32 once among 2^32 lanes."""
    x = np.arange(n, dtype=np.uint32) * np.uint32(2654435761)
    x = (x ^ (x >> 15)) * np.uint32(2246822519)
    return x ^ (x >> 13)


def sevenths(n):
    """Weights that tell lanes apart."""
    return (np.arange(n, dtype=np.uint32) % 7).astype(np.float32)


def moments(array):
    """Mean and mean square, which check an array."""
    array = np.asarray(array).astype(np.float64)
    return [float(np.mean(array)), float(np.mean(array * array))]
