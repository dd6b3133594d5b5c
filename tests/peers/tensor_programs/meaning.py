"""What functions of tensors mean where NumPy means something else, said in NumPy.

Everything here, and in steps, that is not NumPy's own way names its reason, a key of tensors_differences.txt.
"""

from pathlib import Path

import numpy as np

DIFFERENCES = Path(__file__).parent.with_name("tensors_differences.txt")
REASONS = dict(line.split(" | ", 1) for line in DIFFERENCES.read_text().splitlines() if line and line[0] != "#")
GIVEN = set()

# The letters of lane types, TensorXfC, and the types of arrays.
TYPES = {
    "h": np.float16, "f": np.float32, "d": np.float64,
    "i8": np.int8, "i16": np.int16, "i": np.int32, "i64": np.int64,
    "u8": np.uint8, "u16": np.uint16, "u": np.uint32, "u64": np.uint64,
    "m": np.bool_, "c": np.complex64, "z": np.complex128,
}  # fmt: skip
LETTERS = {np.dtype(dtype): letter for letter, dtype in TYPES.items()}
ARRAYS = {
    "h": "Float16C", "f": "FloatC", "d": "Float64C",
    "i8": "Int8C", "i16": "Int16C", "i": "Int32C", "i64": "Int64C",
    "u8": "UInt8C", "u16": "UInt16C", "u": "UInt32C", "u64": "UInt64C", "m": "MaskC",
}  # fmt: skip
FLOATS, SIGNED, UNSIGNED, COMPLEX = ["h", "f", "d"], ["i8", "i16", "i", "i64"], ["u8", "u16", "u", "u64"], ["c", "z"]
INTEGERS = SIGNED + UNSIGNED
REAL = FLOATS + INTEGERS
NUMBERS = REAL + COMPLEX
ALL = NUMBERS + ["m"]


def differs(*keys):
    """Marks what is not as NumPy has it, with the reasons."""
    unknown = set(keys) - REASONS.keys()
    if unknown:
        raise SystemExit(f"{DIFFERENCES.name} has no {', '.join(sorted(unknown))}")
    GIVEN.update(keys)
    return lambda function: function


def unused_reasons():
    return sorted(REASONS.keys() - GIVEN)


def letter(x):
    return LETTERS[x.dtype]


def is_float(dtype):
    return np.dtype(dtype).kind in "fc"


def is_complex(x):
    return x.dtype.kind == "c"


@differs("promotion")
def promoted(*arrays):
    """The type that several have together."""
    dtypes = [np.dtype(x.dtype) for x in arrays]
    floats = [real_type(dtype) for dtype in dtypes if is_float(dtype)]
    if floats:
        widest = max(floats, key=lambda dtype: dtype.itemsize)
        return complex_type(widest) if any(dtype.kind == "c" for dtype in dtypes) else widest
    both = np.result_type(*dtypes)
    return np.dtype(np.int64) if both.kind == "f" else both


def real_type(dtype):
    """The type of the parts of complex numbers; real ones stay what they are."""
    return np.dtype(dtype).type(0).real.dtype


@differs("complex-halves")
def complex_type(dtype):
    return np.dtype(np.complex128 if float_type(real_type(dtype)).itemsize == 8 else np.complex64)


@differs("quotients")
def quotient_type(dtype):
    """The type of quotients and means."""
    dtype = np.dtype(dtype)
    return dtype if is_float(dtype) else np.dtype(np.float64 if dtype.itemsize == 8 else np.float32)


@differs("sum-types")
def sum_type(dtype):
    """The type of sums and products along axes."""
    dtype = np.dtype(dtype)
    if dtype.itemsize > 2 or is_float(dtype):
        return dtype
    return np.dtype(np.int32 if dtype.kind == "i" else np.uint32)


@differs("library-types")
def float_type(dtype):
    """The type of what libraries compute."""
    dtype = quotient_type(dtype)
    return np.dtype(np.float32) if dtype == np.float16 else dtype


@differs("saturation")
def cast(x, dtype):
    """The entries as another type: floats saturate, NaN is 0; integers wrap."""
    x, dtype = np.asarray(x), np.dtype(dtype)
    if dtype.kind not in "iu" or x.dtype.kind != "f":
        return x.astype(dtype)
    bounds = np.iinfo(dtype)
    wide = np.trunc(np.nan_to_num(x.astype(np.float64), nan=0.0))
    above, below = wide >= float(bounds.max), wide <= float(bounds.min)
    inside = np.where(above | below, 0, wide).astype(dtype)
    return np.where(above, dtype.type(bounds.max), np.where(below, dtype.type(bounds.min), inside))


@differs("remainder")
def remainder(x, y):
    """With the sign of x; of integers by zero 0."""
    if x.dtype.kind == "f":
        return np.fmod(x, y)
    least = np.iinfo(x.dtype).min
    is_beyond = (y == 0) | ((x == least) & (y == -1) if least else False)
    return np.where(is_beyond, 0, np.fmod(x, np.where(is_beyond, 1, y))).astype(x.dtype)


@differs("remainder")
def truncated_quotient(x, y):
    """Of integers; by zero 0."""
    least = np.iinfo(x.dtype).min
    overflows = (x == least) & (y == -1) if least else np.zeros(np.broadcast(x, y).shape, bool)
    divisor = np.where(overflows | (y == 0), 1, y)
    quotient = np.where(y == 0, 0, (x - np.fmod(x, divisor)) // divisor)
    return np.where(overflows, least, quotient).astype(x.dtype)


def quotient(x, y):
    """Of numbers as they are, without a type of integers for both."""
    dtype = quotient_type(promoted(x, y))
    return np.divide(x.astype(dtype), y.astype(dtype))


def ranked(x):
    """Integers in the order of the entries: -0 is below +0, NaN above all."""
    if x.dtype.kind == "b":
        return x.astype(np.uint8)
    if x.dtype.kind in "iu":
        return x
    x = np.where(np.isnan(x), np.array(np.nan, x.dtype), x)
    bits = x.view(f"u{x.dtype.itemsize}")
    sign = bits >> (8 * x.dtype.itemsize - 1)
    top = bits.dtype.type(1 << (8 * x.dtype.itemsize - 1))
    return np.where(np.isnan(x), ~bits.dtype.type(0), np.where(sign == 1, ~bits, bits | top))


@differs("order")
def argsort(x, axis, descends=False):
    """Equal entries keep their order; NaN comes last in both directions."""
    keys = ranked(x)
    if descends:
        # What is complemented is in opposite order; NaN stays behind.
        keys = np.where(np.isnan(x), keys, ~keys) if x.dtype.kind == "f" else ~keys
    return np.argsort(keys, axis, kind="stable").astype(np.uint32)


@differs("nan")
def extreme_place(x, axis, largest):
    """The number of the first extreme entry along an axis; NaN is ignored."""
    order = argsort(x, axis, largest)
    return np.take(order, 0, axis)


@differs("nan")
def extreme(x, axes, keeps, largest):
    """The extreme entries along axes; NaN is ignored, and -0 is below +0."""
    rest = [axis for axis in range(x.ndim) if axis not in axes]
    n = int(np.prod([x.shape[axis] for axis in axes]))
    rows = x.transpose(rest + list(axes)).reshape([x.shape[axis] for axis in rest] + [n])
    places = np.expand_dims(extreme_place(rows, -1, largest), -1)
    result = np.take_along_axis(rows, places.astype(int), -1)[..., 0]
    return np.expand_dims(result, sorted(axes)) if keeps else result


@differs("nan")
def pairwise_extreme(x, y, largest):
    """The larger or smaller of two; NaN is ignored."""
    keys, others = ranked(x), ranked(y)
    takes_first = (keys >= others) if largest else (keys <= others)
    if x.dtype.kind == "f":
        takes_first = np.where(np.isnan(x), False, np.where(np.isnan(y), True, takes_first))
    return np.where(takes_first, x, y)


def propagating_extreme(x, y, largest):
    """The larger or smaller of two; NaN where one is."""
    if x.dtype.kind != "f":
        return pairwise_extreme(x, y, largest)
    return np.where(np.isnan(x) | np.isnan(y), np.array(np.nan, x.dtype), pairwise_extreme(x, y, largest))


@differs("promotion")
def common(x, y):
    """Both with parts of one type; what is real stays real."""
    dtype = promoted(x, y)
    return [cast(one, dtype if is_complex(one) else real_type(dtype)) for one in (x, y)]


def are_complex(x, y):
    return is_complex(x) and is_complex(y)


@differs("complex-beside-real")
def sum_of(real, imag, x, y):
    """A sum or difference; beside a real number an imaginary part keeps its bits."""
    return joined(real(x.real, y.real), imag(x, y)) if is_complex(x) or is_complex(y) else real(x, y)


def plus(x, y):
    def imag(x, y):
        return x.imag + y.imag if are_complex(x, y) else (x if is_complex(x) else y).imag

    return sum_of(np.add, imag, x, y)


def minus(x, y):
    def imag(x, y):
        return x.imag - y.imag if are_complex(x, y) else x.imag if is_complex(x) else -y.imag

    return sum_of(np.subtract, imag, x, y)


@differs("complex-beside-real")
def times(x, y):
    if are_complex(x, y):
        return joined(x.real * y.real - x.imag * y.imag, x.real * y.imag + x.imag * y.real)
    if is_complex(y):
        x, y = y, x
    return joined(x.real * y, x.imag * y) if is_complex(x) else x * y


def joined(real, imag):
    both = np.empty(np.broadcast_shapes(np.shape(real), np.shape(imag)), complex_type(real.dtype))
    both.real, both.imag = real, imag
    return both


@differs("unique")
def unique(x):
    """The entries that are there, ascending; NaN last, and once."""
    flat = x.reshape(-1)[argsort(x.reshape(-1), 0)]
    if not flat.size:
        return flat
    same = flat[1:] == flat[:-1]
    if x.dtype.kind == "f":
        same |= np.isnan(flat[1:]) & np.isnan(flat[:-1])
    return flat[np.concatenate([[True], ~same])]


@differs("segments")
def segments(x, keys, n, of):
    """The rows of x with each key, as `of` combines them; of none NaN, or what is beyond all integers."""
    of_none = {"sum": 0, "min": np.nan, "max": np.nan}[of]
    if of != "sum" and x.dtype.kind in "iu":
        bounds = np.iinfo(x.dtype)
        of_none = bounds.max if of == "min" else bounds.min
    dtype = sum_type(x.dtype) if of == "sum" else x.dtype
    rows = np.full((n,) + x.shape[1:], of_none, wide_type(dtype))
    for key in range(n):
        chosen = x[np.array(keys, int) == key].astype(rows.dtype)
        if of == "sum":
            rows[key] = chosen.sum(0, dtype=rows.dtype)
        elif len(chosen):
            rows[key] = extreme(chosen, (0,), False, of == "max")
    return rows


def wide_type(dtype):
    """The type in which a reference is computed: integers wrap as they do, floats are exact enough."""
    dtype = np.dtype(dtype)
    if not is_float(dtype):
        return dtype
    return np.dtype(np.complex128 if dtype.kind == "c" else np.float64)


def wide(x):
    return x.astype(wide_type(x.dtype))


def size_of(x):
    """Absolute values for bounds of errors; of complex numbers the sum of both parts'; what is not finite has none."""
    parts = [x.real, x.imag] if is_complex(x) else [x]
    return sum(np.where(np.isfinite(part), np.abs(part.astype(np.float64)), 0.0) for part in parts)


def binary_places(x):
    """How many binary digits the entries have behind the point; too many are as good as all."""
    parts = np.concatenate([x.real.reshape(-1), x.imag.reshape(-1)]).astype(np.float64)
    for places in range(8):
        if (parts * 2**places == np.round(parts * 2**places)).all():
            return places
    return np.inf


@differs("histogram")
def bins(x, n, low, high):
    """The number of each entry's bin, -1 outside of all."""
    dtype = float_type(x.dtype)
    x, low, high, scale = x.astype(dtype), *(dtype.type(number) for number in (low, high, n / (high - low)))
    inside = (x >= low) & (x <= high)
    place = np.minimum(np.trunc(np.where(inside, (x - low) * scale, 0)), n - 1)
    return np.where(inside, place, -1).astype(int)


def counts(places, n):
    """How often each number from 0 to n - 1 is there."""
    return np.bincount(places[places >= 0], minlength=n).astype(np.uint32)


def product(x, y):
    """A product of matrices, each product of entries taken: libraries leave out zeros beside infinities."""
    left, right = np.atleast_2d(x), y[:, None] if y.ndim == 1 else y
    result = np.einsum("...ij,...jk->...ik", left, right)
    result = result[..., 0] if y.ndim == 1 else result
    return (result[..., 0, :] if y.ndim > 1 else result[..., 0]) if x.ndim == 1 else result
