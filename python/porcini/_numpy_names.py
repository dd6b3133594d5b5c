"""Functions that NumPy has and core's tables do not: each in a few words of those that they have."""

import math
import numbers
import operator

import porcini as pc

from ._axes import axis_of, integer, within
from ._entries import as_given, entries, has_complex_lanes
from ._porcini import _operand

__all__ = """add subtract multiply divide true_divide divmod bitwise_and bitwise_or bitwise_xor left_shift right_shift
bitwise_left_shift bitwise_right_shift positive empty empty_like identity tri copy astype ndim size append insert
delete column_stack array_split hsplit vsplit dsplit atleast_1d atleast_2d atleast_3d matrix_transpose diagonal
diagflat diag_indices tril_indices triu_indices indices ix_ ravel_multi_index angle modf nancumsum nancumprod
piecewise choose setxor1d vecdot""".split()


def _of_two(name, symbol, of, example):
    def function(a, b):
        if isinstance(a, pc.Array) or isinstance(b, pc.Array):
            return of(a, b)
        # A number takes the type of what it meets.
        return of(a, _operand(b)) if isinstance(a, numbers.Number) else of(_operand(a), b)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"a {symbol} b, under NumPy's name.\n\n{example}\n"
    return function


add = _of_two("add", "+", operator.add, ">>> pc.add(pc.Float([1, 2]), 3)\n[4, 5]")
subtract = _of_two("subtract", "-", operator.sub, ">>> pc.subtract(pc.Float([1, 2]), 3)\n[-2, -1]")
multiply = _of_two("multiply", "*", operator.mul, ">>> pc.multiply(pc.Float([1, 2]), 3)\n[3, 6]")
divide = _of_two("divide", "/", operator.truediv, ">>> pc.divide(pc.Float([1, 2]), 4)\n[0.25, 0.5]")
bitwise_and = _of_two("bitwise_and", "&", operator.and_, ">>> pc.bitwise_and(pc.UInt32([5, 6]), 4)\n[4, 4]")
bitwise_or = _of_two("bitwise_or", "|", operator.or_, ">>> pc.bitwise_or(pc.UInt32([5, 6]), 1)\n[5, 7]")
bitwise_xor = _of_two("bitwise_xor", "^", operator.xor, ">>> pc.bitwise_xor(pc.UInt32([5, 6]), 4)\n[1, 2]")
left_shift = _of_two("left_shift", "<<", operator.lshift, ">>> pc.left_shift(pc.UInt32([5, 6]), 1)\n[10, 12]")
right_shift = _of_two("right_shift", ">>", operator.rshift, ">>> pc.right_shift(pc.UInt32([5, 6]), 1)\n[2, 3]")


bitwise_left_shift, bitwise_right_shift, true_divide = left_shift, right_shift, divide


def divmod(a, b):
    """a // b and a % b: a tuple.

    >>> pc.divmod(pc.Int32([7, -7]), 4)
    ([1, -2], [3, 1])
    """
    a = _operand(a)
    return a // b, a % b


def positive(x):
    """+x: x as it is.

    >>> pc.positive(pc.Float([1, -2]))
    [1, -2]
    """
    return +_operand(x)


# ---- made ----


def empty(shape, dtype=None):
    """Zeros: memory is made when lanes are computed, so nothing is saved by leaving them open; empty(Float, 3) too.

    >>> pc.empty(2)
    [0, 0]
    """
    if isinstance(shape, type):
        return pc.zeros(shape, 1 if dtype is None else dtype)
    return pc.zeros(shape) if dtype is None else pc.zeros(shape, dtype=dtype)


def empty_like(x, dtype=None):
    """Zeros of the form of x, as empty.

    >>> pc.empty_like(pc.Float([1, 2]))
    [0, 0]
    """
    return pc.zeros_like(x) if dtype is None else pc.zeros_like(x, dtype=dtype)


def identity(n, dtype=None, size=1):
    """A matrix of n rows with ones on its diagonal, as eye; of a class, identity(Matrix3f, size), so many lanes of it.

    >>> pc.identity(2)
    [[1, 0],
     [0, 1]]
    """
    if isinstance(n, type):
        return n.identity(size if dtype is None else dtype)
    return pc.eye(n) if dtype is None else pc.eye(n, dtype=dtype)


def tri(n, m=None, k=0, dtype=None):
    """A matrix of n rows (and m columns) with ones on a diagonal, k above that from the corner, and below it.

    >>> pc.tri(2, 3)
    [[1, 0, 0],
     [1, 1, 0]]
    """
    return pc.tril(pc.ones([n, n if m is None else m], dtype=dtype), k)


def copy(x):
    """An array of its own: what is written to x afterwards, or to memory that it shares, is not seen.

    >>> pc.copy(pc.Float([1, 2]))
    [1, 2]
    """
    return pc.array(x)


def astype(x, dtype):
    """The lanes of x converted to a type: a class such as Float64, or a name as NumPy's.

    >>> pc.astype(pc.Float([1.5, 2]), "int32")
    [1, 2]
    """
    return _operand(x).astype(dtype)


def ndim(x):
    """The number of axes.

    >>> pc.ndim(pc.TensorXf([[1, 2]]))
    2
    """
    return pc.asarray(x).ndim


def size(x):
    """The number of lanes or entries.

    >>> pc.size(pc.TensorXf([[1, 2]]))
    2
    """
    return pc.asarray(x).size


# ---- put together and taken apart ----


def _of_type(x, dtype):
    """x as lanes of a type; numbers of Python's are rounded to it alone."""
    is_of_numbers = isinstance(x, (int, float, complex, list, tuple)) and ("float" in dtype or "complex" in dtype)
    return pc.asarray(x, dtype=dtype) if is_of_numbers else _operand(x).astype(dtype)


def _flat_or(op, x, axis):
    """An array or tensor and the axis that is meant: without one all entries in a row."""
    x = entries(x)
    return (x, axis_of(op, axis, x.ndim)) if axis is not None else (pc.ravel(x), 0)


def append(x, values, axis=None):
    """The entries of x, then others: along an axis, or all of them in one row.

    >>> pc.append(pc.Float([1, 2]), [3, 4])
    [1, 2, 3, 4]
    """
    if axis is None and has_complex_lanes(x):
        return as_given(x, pc.concat([entries(x), entries(values) if isinstance(values, pc.Array) else values], axis))
    return pc.concat([x, values], axis)


def _cut(x, places, axis):
    """x in pieces that begin at these places."""
    return pc.split(x, list(places), axis)


def insert(x, place, values, axis=None):
    """x with others in front of the entry with a number: along an axis, or in the row of all entries. With several numbers, or
    where a mask is true, a value in front of each, or the same one.

    >>> pc.insert(pc.Float([1, 2, 3]), 1, [8, 9])
    [1, 8, 9, 2, 3]
    """
    given, (x, axis) = x, _flat_or("insert", x, axis)
    n = x.shape[axis]
    if isinstance(place, slice):
        place = range(n)[place]
    is_number = not hasattr(place, "__len__")
    places = pc.Int64([0]) if is_number else _places(place)
    if places.size != 1:
        return as_given(given, _inserted(x, places, values, axis))
    place = integer("insert", "the place", place if is_number else places.tolist()[0])
    if not -n <= place <= n:
        raise IndexError(f"insert: got {place} as the place, expected an integer from {-n} to {n}")
    before, behind = _cut(x, [place + n if place < 0 else place], axis)
    values = _of_type(entries(values) if isinstance(values, pc.Array) else values, x.dtype)
    if x.ndim > 1:
        values = pc.reshape(values, [1] * (x.ndim - values.ndim) + list(values.shape))
        # As NumPy has it, with a number the first axis of the values is the one along which they are inserted.
        values = pc.moveaxis(values, 0, axis) if is_number else values
        values = pc.broadcast_to(values, [values.shape[i] if i == axis else m for i, m in enumerate(x.shape)])
    return as_given(given, pc.concat([before, values, behind], axis))


def _places(places):
    """The numbers of entries in a list; of a mask those where it is true."""
    places = pc.ravel(_operand(places))
    return pc.flatnonzero(places) if places.dtype == "bool" else places


def _from_the_front(op, places, low, high, n):
    """Places from low to high as numbers from 0; those below it count from the end of n. Evaluates."""
    if places.size and places.dtype.kind not in "ui":
        integer(op, "a place", max(places.tolist(), key=lambda place: place % 1))
    places = places.astype("int64")
    is_wrong = (places < low) | (places > high)
    if pc.any(is_wrong):
        raise IndexError(f"{op}: got {pc.compress(places, is_wrong).tolist()[0]} as a place, expected an integer from {low} to {high}")
    return pc.where(places < 0, places + n, places)


def _inserted(x, places, values, axis):
    """x with a value in front of each of several places of an axis, which are counted before anything is put there."""
    n, m = x.shape[axis], places.size
    places = _from_the_front("insert", places, -n, n, n)
    values = _of_type(values, x.dtype)
    values = pc.broadcast_to(values, [m if i == axis else extent for i, extent in enumerate(x.shape)])
    if not m:
        return x
    # Which entry of both in a row stands where: values of one place keep their order.
    order = pc.argsort(places).astype("int64")
    to = pc.gather(places, order) + pc.arange(m).astype("int64")
    found = pc.zeros(n + m, dtype="int64")
    pc.scatter(found, n + order, to)
    is_new = found != 0 if n else pc.full(m, True, dtype="bool")
    own = pc.arange(n + m).astype("int64") - pc.cumsum(is_new).astype("int64")
    return pc.take(pc.concat([x, values], axis), pc.where(is_new, found, own), axis)


def delete(x, places, axis=None):
    """x without the entries that have these numbers, one or several or a slice, or where a mask is true: along an axis, or in
    the row of all entries.

    >>> pc.delete(pc.Float([1, 2, 3, 4]), [0, -1])
    [2, 3]
    """
    given, (x, axis) = x, _flat_or("delete", x, axis)
    n = x.shape[axis]
    places = _operand(range(n)[places] if isinstance(places, slice) else places)
    if places.dtype == "bool":
        return as_given(given, pc.compress(x, ~places, axis))
    places = _from_the_front("delete", pc.ravel(places), -n, n - 1, n)
    is_kept = pc.full(n, True, dtype="bool")
    pc.scatter(is_kept, False, places)
    return as_given(given, pc.compress(x, is_kept, axis) if places.size else x)


def column_stack(arrays):
    """Arrays side by side as the columns of a matrix; what is a matrix gives all of its own.

    >>> pc.column_stack([pc.Float([1, 2]), pc.Float([3, 4])])
    [[1, 3],
     [2, 4]]
    """
    columns = [entries(x) for x in arrays]
    return pc.concat([pc.expand_dims(x, 1) if x.ndim == 1 else x for x in columns], 1)


def array_split(x, parts, axis=0):
    """A list of so many parts of an axis, the first of them one entry longer where they cannot be alike; or of the parts
    between places.

    >>> pc.array_split(pc.Float([1, 2, 3]), 2)
    [[1, 2], [3]]
    """
    given, x = x, entries(x)
    if not hasattr(parts, "__len__"):
        parts = integer("array_split", "the number of parts", parts)
        if parts < 1:
            raise ValueError(f"array_split: got {parts} parts, expected at least one")
        n = x.shape[axis_of("array_split", axis, x.ndim)]
        least, n_longer = n // parts, n % parts
        parts = [i * least + min(i, n_longer) for i in range(1, parts)]
    return [as_given(given, part) for part in _cut(x, parts, axis)]


def hsplit(x, parts):
    """Parts of the columns, or of an array with one axis: so many, or those between places.

    >>> pc.hsplit(pc.Float([1, 2, 3, 4]), 2)
    [[1, 2], [3, 4]]
    """
    return pc.split(x, parts, min(1, entries(x).ndim - 1))


def vsplit(x, parts):
    """Parts of the rows: so many, or those between places.

    >>> pc.vsplit(pc.TensorXf([[1, 2], [3, 4]]), 2)
    [[[1, 2]], [[3, 4]]]
    """
    return pc.split(x, parts, 0)


def dsplit(x, parts):
    """Parts of the third axis: so many, or those between places.

    >>> pc.dsplit(pc.TensorXf([[[1, 2]]]), 2)[1]
    [[[2]]]
    """
    return pc.split(_operand(x), parts, 2)


def atleast_1d(*arrays):
    """x, a number as an array of one lane; of several a list.

    >>> pc.atleast_1d(3.5)
    [3.5]
    """
    return _with_axes(arrays, lambda x: pc.reshape(x, [-1]) if x.ndim == 0 else x)


def atleast_2d(*arrays):
    """x as a matrix of one row if it has fewer than two axes; of several a list.

    >>> pc.atleast_2d(pc.Float([1, 2]))
    [[1, 2]]
    """
    return _with_axes(arrays, lambda x: pc.reshape(x, [1, -1]) if x.ndim < 2 else x)


def atleast_3d(*arrays):
    """x with three axes if it has fewer, new ones in front of a row and behind, or behind a matrix; of several a list.

    >>> pc.atleast_3d(pc.Float([1, 2])).shape
    (1, 2, 1)
    """
    of_few = {0: [1, 1, 1], 1: [1, -1, 1]}
    return _with_axes(arrays, lambda x: pc.expand_dims(x, 2) if x.ndim == 2 else pc.reshape(x, of_few.get(x.ndim, list(x.shape))))


def _with_axes(arrays, of):
    found = [as_given(x, of(entries(x))) for x in arrays]
    return found[0] if len(found) == 1 else found


def matrix_transpose(x):
    """The matrices in the last two axes turned: rows are columns.

    >>> pc.matrix_transpose(pc.TensorXf([[1, 2], [3, 4]]))
    [[1, 3],
     [2, 4]]
    """
    return pc.swapaxes(_operand(x), -1, -2)


# ---- diagonals, triangles and numbers of entries ----


def diagonal(x, offset=0, axis1=0, axis2=1):
    """The diagonal of a matrix, or that so many above it; of more axes those of the matrices in two of them, as the last axis.

    >>> pc.diagonal(pc.TensorXf([[1, 2], [3, 4]]))
    [1, 4]
    """
    x = _operand(x)
    if x.ndim < 2:
        raise TypeError(f"diagonal: got {x.ndim} axes, expected a matrix")
    if x.ndim == 2 and (axis1, axis2) == (0, 1):
        return pc.diag(x, offset)
    x = pc.moveaxis(x, [axis1, axis2], [-2, -1])
    n = max(min(x.shape[-2] + min(offset, 0), x.shape[-1] - max(offset, 0)), 0)
    return x[..., pc.arange(n) + max(-offset, 0), pc.arange(n) + max(offset, 0)]


def diagflat(x, k=0):
    """The matrix with all entries of x on its diagonal, or k above it.

    >>> pc.diagflat(pc.Float([1, 2]))
    [[1, 0],
     [0, 2]]
    """
    return pc.diag(pc.ravel(entries(x)), k)


def diag_indices(n, ndim=2):
    """The numbers of the entries on the diagonal of a matrix of n rows, or of more axes: a tuple, as t[..] takes.

    >>> pc.diag_indices(2)
    ([0, 1], [0, 1])
    """
    return (pc.arange(n),) * ndim


def tril_indices(n, k=0, m=None):
    """The rows and the columns of the entries on and below a diagonal of a matrix: a tuple, as t[..] takes.

    >>> pc.tril_indices(2)
    ([0, 1, 1], [0, 0, 1])
    """
    return pc.nonzero(tri(n, m, k))


def triu_indices(n, k=0, m=None):
    """The rows and the columns of the entries on and above a diagonal of a matrix: a tuple, as t[..] takes.

    >>> pc.triu_indices(2)
    ([0, 0, 1], [0, 1, 1])
    """
    return pc.nonzero(pc.triu(pc.ones([n, n if m is None else m]), k))


def indices(dimensions, dtype=None):
    """For each entry of a shape its numbers along the axes: a tensor with the axes in front.

    >>> pc.indices((2, 2))[1]
    [[0, 1],
     [0, 1]]
    """
    n_axes = len(dimensions)
    lines = [pc.reshape(pc.arange(n, dtype=dtype), [-1 if i == axis else 1 for i in range(n_axes)]) for axis, n in enumerate(dimensions)]
    return pc.stack([pc.broadcast_to(line, list(dimensions)) for line in lines])


def ix_(*numbers_of_axes):
    """Rows of numbers as what t[..] takes for all their combinations: each with an axis of its own.

    >>> pc.TensorXf([[1, 2, 3], [4, 5, 6]])[pc.ix_([0, 1], [0, 2])]
    [[1, 3],
     [4, 6]]
    """
    n_axes = len(numbers_of_axes)
    # No numbers are no floats.
    rows = [pc.Int64([]) if isinstance(row, (list, tuple)) and not row else _operand(row) for row in numbers_of_axes]
    for row in rows:
        if row.ndim != 1:
            raise ValueError(f"ix_: got {row.ndim} axes, expected rows of numbers or masks")
    rows = [pc.nonzero(row)[0] if row.dtype == "bool" else row for row in rows]
    return tuple(pc.reshape(row, [-1 if i == axis else 1 for i in range(n_axes)]) for axis, row in enumerate(rows))


def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    """The numbers of entries in the order in which they lie, from those along the axes of a shape: the other way than
    unravel_index. Numbers out of bounds are not looked for; with mode="wrap" they count on from the other end, with mode="clip"
    they are those at the ends. mode= may be a tuple with one for each axis. With order="F" the first axis runs fastest.

    >>> pc.ravel_multi_index(([1, 0], [2, 2]), (2, 3))
    [5, 2]
    """
    if len(multi_index) != len(dims):
        raise ValueError(f"ravel_multi_index: got the numbers of {len(multi_index)} axes, expected {len(dims)}")
    # Numbers of few axes may be small, those of all entries are not.
    number = pc.Int64(0) if math.prod(dims) > 2**31 else pc.Int32(0)
    modes = (mode,) * len(dims) if isinstance(mode, str) else tuple(mode)
    if order not in ("C", "F") or len(modes) != len(dims):
        raise ValueError(f"ravel_multi_index: got mode={mode!r}, order={order!r}, expected a mode, or one for each axis, and 'C' or 'F'")
    axes = list(zip(multi_index, dims, modes))
    for own, extent, mode in axes if order == "C" else axes[::-1]:
        number = within("ravel_multi_index", mode, _operand(own), extent) + number * extent
    return number


# ---- what is left ----


def angle(z, deg=False):
    """The angle of complex numbers, from -pi to pi, or in degrees; of real ones 0 or pi.

    >>> pc.angle(pc.Complex2f(0, 1), deg=True)
    [90]
    """
    z = _operand(z)
    found = pc.arg(z) if "complex" in z.dtype else pc.atan2(pc.imag(z), z)
    return pc.rad_to_deg(found) if deg else found


def _cast(x, dtype):
    return x if dtype is None else x.astype(dtype)


def nancumsum(x, axis=None, dtype=None):
    """Sums of the entries up to each, NaN as 0: along an axis, or of all in one row.

    >>> pc.nancumsum(pc.Float([1, pc.nan, 3]))
    [1, 1, 4]
    """
    return pc.cumsum(_cast(pc.nan_to_num(x, 0.0, pc.inf, -pc.inf), dtype), axis)


def nancumprod(x, axis=None, dtype=None):
    """Products of the entries up to each, NaN as 1: along an axis, or of all in one row.

    >>> pc.nancumprod(pc.Float([2, pc.nan, 3]))
    [2, 2, 6]
    """
    return pc.cumprod(_cast(pc.nan_to_num(x, 1.0, pc.inf, -pc.inf), dtype), axis)


def modf(x):
    """The parts of x behind and in front of the point: a tuple, both with the sign of x.

    >>> pc.modf(pc.Float([2.5, -0.25]))
    ([0.5, -0.25], [2, -0])
    """
    x = _operand(x)
    whole = pc.trunc(x)
    return pc.copysign(pc.select(pc.isinf(x), 0, x - whole), x), whole


def _is_truth(truth):
    return type(truth).__name__ in ("bool", "bool_")


def _conditions(x, conditions):
    """A list of them: of one that needs no list, or of the rows of an array."""
    if not isinstance(conditions, (list, tuple)):
        conditions = _operand(conditions)
        if conditions.ndim > pc.ndim(x):
            return [conditions[i] for i in range(conditions.shape[0])]
        return [conditions]
    is_one = not isinstance(x, numbers.Number) and conditions and all(map(_is_truth, conditions))
    return [pc.Mask(list(map(bool, conditions)))] if is_one else conditions


def piecewise(x, conditions, values):
    """For each lane the value, or what a function gives of x, whose condition is true, of several the last one; one value more
    than conditions stands where none is. One condition needs no list. Of integers with fractions among the values it is floats;
    NumPy cuts them off.

    >>> pc.piecewise(pc.Float([-1, 2]), [pc.Mask([True, False])], [0, lambda x: x * 10])
    [0, 20]
    """
    x, conditions = _operand(x), _conditions(x, conditions)
    n = len(conditions)
    if len(values) not in (n, n + 1):
        raise ValueError(f"piecewise: got {len(values)} values for {n} conditions, expected {n} or {n + 1}")
    values = [value(x) if callable(value) else value for value in values]
    found = values.pop() if len(values) > n else pc.zeros_like(x)
    for condition, value in zip(conditions, values):
        found = pc.select(condition, value, found)
    return found + pc.zeros_like(x)


def choose(index, choices, mode="raise"):
    """For each lane the lane of the array that an index says; mode= as take has it for indices of no array.

    >>> pc.choose(pc.UInt32([1, 0]), [pc.Float([1, 2]), pc.Float([10, 20])])
    [10, 2]
    """
    # Numbers get the type of the arrays beside them.
    choices = [choice if isinstance(choice, numbers.Number) else _operand(choice) for choice in choices]
    index = _operand(index)
    if not choices:
        raise ValueError("choose: got no choices, expected at least one")
    index = within("choose", mode, index, len(choices))
    # Looked up in what they may be, so that others are out of bounds.
    known = pc.gather(pc.arange(len(choices)), pc.ravel(index).astype("int64"))
    index, found = pc.reshape(known, index.shape) if index.ndim > 1 else known, choices[0]
    for i, choice in enumerate(choices):
        found = pc.select(index == i, choice, found)
    return found if isinstance(found, pc.Array) else pc.select(index == 0, found, found)


def setxor1d(a, b):
    """The values that occur in one of two arrays, ascending; NaN, which is in none, once for each that has it. Evaluates.

    >>> pc.setxor1d(pc.Int32([1, 2]), pc.Int32([2, 3]))
    [1, 3]
    """
    try:
        first, second = pc.setdiff1d(a, b), pc.setdiff1d(b, a)
    except (TypeError, ValueError) as error:
        raise type(error)(str(error).replace("setdiff1d", "setxor1d")) from None
    return as_given(first, pc.sort(pc.concat([entries(first), entries(second)])))


def vecdot(a, b, axis=-1):
    """The sums of products along an axis, of complex numbers with the conjugates of the first.

    >>> pc.vecdot(pc.TensorXf([[1, 2], [3, 4]]), pc.TensorXf([[1, 1], [2, 2]]))
    [ 3, 14]
    """
    a, b = _operand(a), _operand(b)
    if axis >= 0:
        # NumPy counts it in each of both.
        a, b, axis = pc.moveaxis(a, axis, -1), pc.moveaxis(b, axis, -1), -1
    return pc.hsum(pc.conj(a) * b, axis)
