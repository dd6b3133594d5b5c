"""What Dr.Jit tells of types: of classes, values and Python's numbers."""

import porcini as pc

__all__ = """is_array_v is_tensor_v is_vector_v is_matrix_v is_complex_v is_quaternion_v is_float_v is_integral_v is_signed_v
is_unsigned_v is_mask_v is_arithmetic_v depth_v size_v itemsize_v type_v value_t scalar_t mask_t""".split()

_SCALARS = {"b": bool, "i": int, "u": int, "f": float, "c": float}


def _class(x):
    return x if isinstance(x, type) else type(x)


def _value(x):
    """A value of the class, None of what is no array."""
    if isinstance(x, pc.Array):
        return x
    return x(0) if isinstance(x, type) and issubclass(x, pc.Array) else None


def _kind(x):
    """The letter of the lane type, as in dtype.kind; None of other things."""
    value = _value(x)
    if value is not None:
        return value.dtype.kind
    return next((letter for letter, scalar in _SCALARS.items() if scalar is _class(x)), None)


def _has_name(x, name):
    """Whether a class, or one that it is derived from, is of a family."""
    return is_array_v(x) and any(base.__module__ == "porcini" and base.__name__.startswith(name) for base in _class(x).__mro__)


def is_array_v(x):
    """Whether x is an array of any kind, or a class of them."""
    return issubclass(_class(x), pc.Array)


def is_tensor_v(x):
    """Whether x is a tensor, or a class of them."""
    return issubclass(_class(x), pc.Tensor)


def is_vector_v(x):
    """Whether x is a vector, or a class of them.

    >>> pc.is_vector_v(pc.Vector3f), pc.is_vector_v(pc.Float)
    (True, False)
    """
    return _has_name(x, "Vector")


def is_matrix_v(x):
    """Whether x is a matrix, or a class of them."""
    return _has_name(x, "Matrix")


def is_complex_v(x):
    """Whether x is complex lanes, or a class of them."""
    return _has_name(x, "Complex")


def is_quaternion_v(x):
    """Whether x is a quaternion, or a class of them."""
    return _has_name(x, "Quaternion")


def is_float_v(x):
    """Whether x, or a class, has floats.

    >>> pc.is_float_v(pc.Vector3f), pc.is_float_v(pc.Int32([1]))
    (True, False)
    """
    return _kind(x) in ("f", "c")


def is_integral_v(x):
    """Whether x, or a class, has integers."""
    return _kind(x) in ("i", "u")


def is_signed_v(x):
    """Whether x, or a class, has numbers with signs."""
    return _kind(x) in ("i", "f", "c")


def is_unsigned_v(x):
    """Whether x, or a class, has numbers without signs, or truth values."""
    return _kind(x) in ("u", "b")


def is_mask_v(x):
    """Whether x, or a class, has truth values."""
    return _kind(x) == "b"


def is_arithmetic_v(x):
    """Whether x, or a class, has numbers."""
    return _kind(x) in ("i", "u", "f", "c")


def depth_v(x):
    """How many levels of components and lanes there are: 1 of arrays, 2 of vectors, 3 of matrices; 0 of tensors and numbers.

    >>> pc.depth_v(pc.Matrix3f)
    3
    """
    value = _value(x)
    return 0 if value is None or isinstance(value, pc.Tensor) else len(value.shape)


def size_v(x):
    """How many components there are, of a matrix rows; -1 of lanes, 0 of tensors, 1 of numbers.

    >>> pc.size_v(pc.Vector3f), pc.size_v(pc.Float)
    (3, -1)
    """
    depth = depth_v(x)
    if depth == 0:
        return 0 if is_tensor_v(x) else 1
    return -1 if depth == 1 else _value(x).shape[0]


def itemsize_v(x):
    """How many bytes a number takes, of a class or a value."""
    value = _value(x)
    if value is None:
        raise TypeError(f"itemsize_v: got {x!r}, expected an array or a class")
    return value.dtype.itemsize // (2 if value.dtype.kind == "c" else 1)


def type_v(x):
    """The type of the lanes, a text as x.dtype; None of what is no array."""
    value = _value(x)
    return None if value is None else value.dtype


def scalar_t(x):
    """The type of Python's that one number has.

    >>> pc.scalar_t(pc.Vector3f)
    <class 'float'>
    """
    return _SCALARS.get(_kind(x), _class(x))


def value_t(x):
    """The class of the components, of lanes and tensors the type of Python's that a number has.

    >>> pc.value_t(pc.Vector3f)
    <class 'porcini.Float'>
    """
    return type(_value(x)[0]) if depth_v(x) > 1 else scalar_t(x)


def mask_t(x):
    """The class that comparisons give.

    >>> pc.mask_t(pc.Float)
    <class 'porcini.Mask'>
    """
    value = _value(x)
    return bool if value is None else type(value == value)
