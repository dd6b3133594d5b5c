"""Arrays go to NumPy, JAX and PyTorch and come back; run by dlpack.rs with the library's path."""

import ctypes
import sys

import numpy as np

lib = ctypes.CDLL(sys.argv[1])
P = ctypes.c_void_p
for name, result, arguments in [
    ("open", P, []),
    ("close", None, [P]),
    ("used", ctypes.c_uint64, [P]),
    ("linspace", P, [P, ctypes.c_uint64]),
    ("import", P, [P, P]),
    ("export", P, [P]),
    ("export_legacy", P, [P]),
    ("double", ctypes.c_bool, [P]),
    ("address", ctypes.c_uint64, [P]),
    ("free", None, [P]),
]:
    function = getattr(lib, "porcini_" + name)
    function.restype, function.argtypes = result, arguments

api = ctypes.pythonapi
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [P, ctypes.c_char_p, P]
api.PyCapsule_GetPointer.restype = P
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]

session = lib.porcini_open()


class Tensor:
    """What `from_dlpack` functions expect. A capsule that nobody takes leaks, which the test does not do."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if max_version is not None and max_version[0] >= 1:
            return api.PyCapsule_New(lib.porcini_export(self.array), b"dltensor_versioned", None)
        return api.PyCapsule_New(lib.porcini_export_legacy(self.array), b"dltensor", None)


def take(array):
    """Hands an array of another library to ours."""
    capsule = array.__dlpack__()
    pointer = api.PyCapsule_GetPointer(capsule, b"dltensor")
    api.PyCapsule_SetName(capsule, b"used_dltensor")
    return lib.porcini_import(session, pointer)


def to_numpy(array):
    return np.from_dlpack(Tensor(array))


def aligned(n, dtype):
    """NumPy aligns to 16 bytes only."""
    raw = np.empty(n * dtype.itemsize + 64, dtype=np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + n * dtype.itemsize].view(dtype)


n = 1 << 20
want = np.linspace(0, 1, n, dtype=np.float32)

# Without a copy, read-only, and the block outlives the array.
array = lib.porcini_linspace(session, n)
seen = to_numpy(array)
assert seen.dtype == np.float32 and seen.shape == (n,)
assert np.allclose(seen, want, atol=1e-6)
assert seen.ctypes.data == lib.porcini_address(array)
assert not seen.flags.writeable
before = seen.copy()
assert lib.porcini_double(array)
assert (seen == before).all(), "the exported block was overwritten"
assert (to_numpy(array) == before * 2).all()
lib.porcini_free(array)
assert (seen == before).all()
assert lib.porcini_used(session) >= 4 * n, "the exported block is not counted any more"
del seen
assert lib.porcini_used(session) == 0, "the exported block was not freed"

# All types, there and back.
for name in ["bool", "int8", "uint8", "int16", "uint16", "float16", "int32", "uint32", "int64", "uint64", "float32", "float64"]:
    for size in [0, 1, 7, 1000]:
        dtype = np.dtype(name)
        given = aligned(size, dtype)
        given[:] = (np.arange(size) % 3).astype(dtype)
        array = take(given)
        assert array, name
        back = to_numpy(array)
        assert back.dtype == dtype and (back == given).all(), name
        lib.porcini_free(array)

# An imported block stays where it is and is never written.
given = aligned(n, np.dtype("float32"))
given[:] = want
array = take(given)
assert lib.porcini_address(array) == given.ctypes.data
assert lib.porcini_double(array)
assert (given == want).all(), "the imported block was overwritten"
assert lib.porcini_address(array) != given.ctypes.data
assert (to_numpy(array) == want * 2).all()
lib.porcini_free(array)

# So does any dense array of NumPy's own; elements of several dimensions follow one another row by row.
for given in [np.arange(7, dtype=np.float64), np.arange(6, dtype=np.int32).reshape(2, 3), np.arange(9, dtype=np.float32)[1:]]:
    array = take(given)
    assert lib.porcini_address(array) == given.ctypes.data
    assert (to_numpy(array) == given.ravel()).all()
    lib.porcini_free(array)

# What is refused.
assert not take(np.zeros((2, 3), dtype=np.float32).T)
assert not take(np.zeros(10, dtype=np.float32)[::2])
assert not take(np.zeros(3, dtype=np.complex64))

done = ["numpy " + np.__version__]

try:
    import jax
except ImportError:
    jax = None
if jax is not None:
    array = lib.porcini_linspace(session, n)
    seen = jax.dlpack.from_dlpack(Tensor(array))
    assert np.allclose(np.asarray(seen), want, atol=1e-6)
    assert np.allclose(float((seen * 2).sum()), n, rtol=1e-4)
    lib.porcini_free(array)
    array = take(jax.numpy.arange(1000, dtype=jax.numpy.float32))
    assert (to_numpy(array) == np.arange(1000)).all()
    lib.porcini_free(array)
    done.append("jax " + jax.__version__)

try:
    import torch
except ImportError:
    torch = None
if torch is not None:
    array = lib.porcini_linspace(session, n)
    seen = torch.from_dlpack(Tensor(array))
    assert np.allclose(seen.numpy(), want, atol=1e-6)
    lib.porcini_free(array)
    array = take(torch.arange(1000, dtype=torch.float32))
    assert (to_numpy(array) == np.arange(1000)).all()
    lib.porcini_free(array)
    done.append("torch " + torch.__version__)

print(", ".join(done))
