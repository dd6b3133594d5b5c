"""The Python array API standard, 2024.12, over Porcini's tensors: https://data-apis.org/array-api/2024.12/

A class of its own, since the standard's operators differ from Porcini's: kinds of types do not mix, integers do not divide,
`x[mask]` packs, reductions give arrays without axes. What is lazy stays lazy; `nonzero`, `unique_*` and `x[mask]` evaluate.

>>> import porcini.array_api as xp
>>> x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
>>> xp.sum(x, axis=0)
Array([4, 6], dtype=float64)
"""

import builtins
import math
from enum import IntEnum

import porcini as pc

__array_api_version__ = "2024.12"

e, inf, nan, pi, newaxis = math.e, math.inf, math.nan, math.pi, None


class DType:
    """A type of elements."""

    __slots__ = ("name", "kind", "bits", "_class", "_tensor")

    def __init__(self, name, kind, bits, lanes, tensor):
        self.name, self.kind, self.bits, self._class, self._tensor = name, kind, bits, lanes, tensor

    def __repr__(self):
        return f"porcini.array_api.{self.name}"

    def __str__(self):
        return self.name

    def __reduce__(self):
        return self.name

    def __hash__(self):
        return hash(self.name)

    def __eq__(self, other):
        return isinstance(other, DType) and other.name == self.name


def _types():
    rows = [("bool", "bool", 8, "Mask", "m")]
    for bits, letters in [(8, "i8"), (16, "i16"), (32, "i"), (64, "i64")]:
        rows.append((f"int{bits}", "signed integer", bits, f"Int{bits}", letters))
        rows.append((f"uint{bits}", "unsigned integer", bits, f"UInt{bits}", "u" + letters[1:]))
    rows += [
        ("float32", "real floating", 32, "Float", "f"),
        ("float64", "real floating", 64, "Float64", "d"),
        ("complex64", "complex floating", 64, None, "c"),
        ("complex128", "complex floating", 128, None, "z"),
    ]
    for name, kind, bits, lanes, letters in rows:
        yield DType(name, kind, bits, lanes and getattr(pc, lanes), getattr(pc, f"TensorX{letters}"))


_BY_NAME = {dtype.name: dtype for dtype in _types()}
globals().update(_BY_NAME)
bool = _BY_NAME["bool"]
int8, int16, int32, int64 = (_BY_NAME[f"int{bits}"] for bits in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (_BY_NAME[f"uint{bits}"] for bits in (8, 16, 32, 64))
float32, float64, complex64, complex128 = (_BY_NAME[name] for name in ("float32", "float64", "complex64", "complex128"))

_INTEGERS = ("signed integer", "unsigned integer")
_FLOATS = ("real floating", "complex floating")
_DEFAULT_INT, _DEFAULT_FLOAT, _DEFAULT_COMPLEX = int64, float64, complex128


class Array:
    """An array of the standard: a tensor of Porcini, any number of axes, none too."""

    __slots__ = ("_x",)

    def __init__(self, tensor):
        self._x = tensor

    # ---- what it is ----

    @property
    def dtype(self):
        return _BY_NAME[self._x.dtype]

    @property
    def shape(self):
        return self._x.shape

    @property
    def ndim(self):
        return len(self._x.shape)

    @property
    def size(self):
        return math.prod(self._x.shape)

    @property
    def device(self):
        return pc.device(self._x).split(" ")[0]

    @property
    def T(self):
        if self.ndim != 2:
            raise ValueError(f"x.T: got {self.ndim} axes, expected 2; permute_dims turns others")
        return Array(self._x.T)

    @property
    def mT(self):
        return matrix_transpose(self)

    def to_device(self, device, /, *, stream=None):
        if stream is not None:
            raise ValueError("to_device: streams are Porcini's own; leave stream out")
        return self if device == self.device else Array(pc.to(self._x, device))

    def __array_namespace__(self, *, api_version=None):
        import porcini.array_api as namespace

        if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
            raise ValueError(f"no version {api_version!r} of the array API")
        return namespace

    def __repr__(self):
        return f"Array({self._x!r}, dtype={self.dtype})"

    def __array__(self, dtype=None, copy=None):
        return self._x.__array__(dtype, copy)

    def __buffer__(self, flags):
        return memoryview(self._x)

    def __dlpack__(self, /, *, stream=None, max_version=None, dl_device=None, copy=None):
        return self._x.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self):
        return self._x.__dlpack_device__()

    def __hash__(self):
        raise TypeError("arrays are compared entry by entry, so they are no keys")

    # ---- as Python's own ----

    def _item(self, kind):
        if self.ndim:
            raise TypeError(f"{kind}: got an array of shape {self.shape}, expected one without axes")
        return self._x.tolist()

    def __bool__(self):
        return builtins.bool(self._item("bool"))

    def __int__(self):
        return int(self._item("int"))

    def __float__(self):
        return float(self._item("float"))

    def __complex__(self):
        return complex(self._item("complex"))

    def __index__(self):
        if self.dtype.kind not in _INTEGERS:
            raise TypeError(f"got an array of {self.dtype} as an index, expected integers")
        return self._item("index")

    def __len__(self):
        if not self.ndim:
            raise TypeError("len() of an array without axes")
        return self.shape[0]

    def __iter__(self):
        if not self.ndim:
            raise TypeError("iteration over an array without axes")
        return (self[i] for i in range(len(self)))

    # ---- entries ----

    def _mask(self, key):
        """The mask that a key is, alone."""
        key = key[0] if isinstance(key, tuple) and len(key) == 1 else key
        return key if isinstance(key, Array) and key.dtype == bool else None

    def _checked(self, key):
        keys = key if isinstance(key, tuple) else (key,)
        axes, n = 0, builtins.sum(k is not None and k is not Ellipsis for k in keys)
        if n > self.ndim or (n < self.ndim and Ellipsis not in [k for k in keys if not isinstance(k, Array)] and isinstance(key, tuple) and n != self.ndim):
            if n > self.ndim:
                raise IndexError(f"got {n} indices for {self.ndim} axes")
        made = []
        for k in keys:
            if k is Ellipsis:
                axes += self.ndim - n
                made.append(k)
            elif k is None:
                made.append(k)
            elif isinstance(k, Array):
                if k.dtype.kind not in _INTEGERS:
                    raise IndexError(f"got an index of {k.dtype}, expected integers")
                if k.ndim == 0:
                    made.append(int(k))
                else:
                    made.append(k._x)
                axes += 1
            elif isinstance(k, slice):
                made.append(k)
                axes += 1
            else:
                i, extent = k.__index__(), self.shape[axes]
                if not -extent <= i < extent:
                    raise IndexError(f"index {i} is out of bounds for axis {axes} of extent {extent}")
                made.append(i)
                axes += 1
        return tuple(made)

    def __getitem__(self, key):
        mask = self._mask(key)
        if mask is not None:
            return _packed(self, mask)
        key = self._checked(key)
        found = self._x[key] if key else self._x
        if not isinstance(found, pc.Array):
            return asarray(found, dtype=self.dtype)
        return _wrap(found)

    def __setitem__(self, key, value):
        value = asarray(value, dtype=self.dtype) if not isinstance(value, Array) else value
        if result_type(self, value) != self.dtype:
            raise TypeError(f"got values of {value.dtype} for an array of {self.dtype}")
        mask = self._mask(key)
        if mask is not None:
            if not mask.ndim and not self.ndim:
                if value.ndim:
                    # As many values as the mask is true: one or none, and the array stays without axes.
                    if not value.size and not mask:
                        return
                    if value.size != 1:
                        raise ValueError(f"got {value.size} values for {int(builtins.bool(mask))} entries where the mask is true")
                    value = reshape(value, ())
                self._x = where(mask, value, self)._x
                return
            self._x[mask._x] = astype(value, self.dtype)._x
            return
        key = self._checked(key)
        if not self.ndim:
            self._x = broadcast_to(astype(value, self.dtype), ())._x.copy()
            return
        self._x[key if key else Ellipsis] = astype(value, self.dtype)._x


# ---- making ----


def _wrap(value):
    """A value of Porcini as an array; lanes are those of one axis."""
    if isinstance(value, Array):
        return value
    return Array(value if type(value).__name__.startswith("Tensor") else pc.Tensor(value))


def _scalar(value):
    """What a reduction over everything gives, without axes."""
    return Array(pc.Tensor(value, ()) if value.shape != () else value)


def _dtype_of(value):
    if isinstance(value, Array):
        return value.dtype
    if isinstance(value, builtins.bool):
        return bool
    if isinstance(value, int):
        return _DEFAULT_INT
    if isinstance(value, float):
        return _DEFAULT_FLOAT
    if isinstance(value, complex):
        return _DEFAULT_COMPLEX
    if isinstance(value, (list, tuple)):
        kinds = [_dtype_of(item) for item in value]
        if not kinds:
            return _DEFAULT_FLOAT
        if None in kinds:
            return None  # numbers of other libraries say their types
        order = [bool, _DEFAULT_INT, _DEFAULT_FLOAT, _DEFAULT_COMPLEX]
        if builtins.all(kind in order for kind in kinds):
            return order[builtins.max(map(order.index, kinds))]
        return result_type(*kinds)
    return None


def _device(device):
    if device not in (None, pc.device().split(" ")[0], "cpu"):
        raise ValueError(f"no device {device!r} in this session; x.to_device moves arrays")


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    _device(device)
    if isinstance(obj, Array):
        made = obj if dtype is None or dtype == obj.dtype else astype(obj, dtype)
        if copy is False and made is not obj:
            raise ValueError(f"asarray: {dtype} of {obj.dtype} needs a copy")
        return Array(made._x.copy()) if copy else made
    own = dtype or _dtype_of(obj)
    if own is None:
        made = Array(pc.Tensor(pc.array(obj) if copy and getattr(obj, "ndim", 1) else obj))
        return made if dtype is None or dtype == made.dtype else astype(made, dtype)
    if copy is False:
        raise ValueError("asarray: what Python holds needs a copy")
    if isinstance(obj, (list, tuple)):
        return Array(own._tensor(_plain(obj)))
    if own.kind == "complex floating":
        return Array(own._tensor(complex(obj)))
    if own.kind == "bool":
        return Array(own._tensor(builtins.bool(obj)))
    return Array(own._tensor(obj))


def _plain(items):
    return [_plain(item) if isinstance(item, (list, tuple)) else item._x.tolist() if isinstance(item, Array) else item for item in items]


def from_dlpack(x, /, *, device=None, copy=None):
    _device(device)
    return asarray(x, copy=copy)


def _shape(shape):
    return [shape] if isinstance(shape, int) else list(shape)


def full(shape, fill_value, *, dtype=None, device=None):
    _device(device)
    dtype = dtype or _dtype_of(fill_value)
    if dtype.kind == "complex floating":
        one = asarray(fill_value, dtype=dtype)
        return Array(pc.broadcast_to(one._x, _shape(shape)))
    if dtype.kind == "bool":
        fill_value = builtins.bool(fill_value)
    return Array(dtype._tensor.full(_shape(shape), fill_value))


def zeros(shape, *, dtype=None, device=None):
    return full(shape, 0, dtype=dtype or _DEFAULT_FLOAT, device=device)


def ones(shape, *, dtype=None, device=None):
    return full(shape, 1, dtype=dtype or _DEFAULT_FLOAT, device=device)


empty = zeros


def full_like(x, /, fill_value, *, dtype=None, device=None):
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=device)


def zeros_like(x, /, *, dtype=None, device=None):
    return full_like(x, 0, dtype=dtype, device=device)


def ones_like(x, /, *, dtype=None, device=None):
    return full_like(x, 1, dtype=dtype, device=device)


empty_like = zeros_like


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    _device(device)
    start, stop = (0, start) if stop is None else (start, stop)
    if dtype is None:
        dtype = _DEFAULT_INT if builtins.all(isinstance(end, int) for end in (start, stop, step)) else _DEFAULT_FLOAT
    n = builtins.max(0, math.ceil((stop - start) / step))
    if not n:
        return zeros(0, dtype=dtype)
    lanes = pc.Int64.arange(n)
    if dtype.kind in _INTEGERS and builtins.all(isinstance(end, int) for end in (start, step)):
        return Array(dtype._tensor(lanes * step + start))
    return Array(dtype._tensor(pc.Float64(lanes) * float(step) + float(start)))


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    _device(device)
    is_complex = isinstance(start, complex) or isinstance(stop, complex)
    dtype = dtype or (_DEFAULT_COMPLEX if is_complex else _DEFAULT_FLOAT)
    if not num:
        return zeros(0, dtype=dtype)
    if dtype.kind == "complex floating":
        parts = [pc.Float64.linspace(*ends, num, endpoint) for ends in zip(_parts(start), _parts(stop))]
        return Array(dtype._tensor(*parts))
    return Array(dtype._tensor(pc.Float64.linspace(float(start), float(stop), num, endpoint)))


def _parts(z):
    z = complex(z)
    return z.real, z.imag


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    _device(device)
    dtype = dtype or _DEFAULT_FLOAT
    n_cols = n_rows if n_cols is None else n_cols
    rows, columns = pc.reshape(pc.Int64.arange(n_rows), (n_rows, 1)), pc.reshape(pc.Int64.arange(n_cols), (1, n_cols))
    k = builtins.max(-n_rows - 1, builtins.min(k, n_cols + 1))
    return astype(Array(rows + k == columns), dtype)


def meshgrid(*arrays, indexing="xy"):
    if len({x.dtype for x in arrays}) > 1:
        raise ValueError("meshgrid: expected arrays of one type")
    shape = [x.size for x in arrays]
    order = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        order[0], order[1] = 1, 0
    made = []
    for place, x in enumerate(arrays):
        own = [1] * len(arrays)
        own[order[place]] = x.size
        full_shape = [1] * len(arrays)
        for i, n in enumerate(shape):
            full_shape[order[i]] = n
        made.append(Array(pc.broadcast_to(pc.reshape(x._x, own), full_shape)))
    return made


def tril(x, /, *, k=0):
    return Array(pc.tril(x._x, k))


def triu(x, /, *, k=0):
    return Array(pc.triu(x._x, k))


# ---- types ----


class _Facts:
    def __init__(self, **facts):
        self.__dict__.update(facts)

    def __repr__(self):
        return f"{self.dtype}: " + ", ".join(f"{key}={value}" for key, value in self.__dict__.items() if key != "dtype")


def _type_of(x):
    return x.dtype if isinstance(x, Array) else x


def finfo(type, /):
    dtype = _type_of(type)
    if dtype.kind not in _FLOATS:
        raise TypeError(f"finfo: got {dtype}, expected a type of floats")
    real = float64 if dtype in (float64, complex128) else float32
    if real == float64:
        return _Facts(bits=64, eps=2.0**-52, max=1.7976931348623157e308, min=-1.7976931348623157e308, smallest_normal=2.0**-1022, dtype=real)
    most = (2 - 2.0**-23) * 2.0**127
    return _Facts(bits=32, eps=2.0**-23, max=most, min=-most, smallest_normal=2.0**-126, dtype=real)


def iinfo(type, /):
    dtype = _type_of(type)
    if dtype.kind not in _INTEGERS:
        raise TypeError(f"iinfo: got {dtype}, expected a type of integers")
    signed = dtype.kind == "signed integer"
    low = -(2 ** (dtype.bits - 1)) if signed else 0
    return _Facts(bits=dtype.bits, max=2 ** (dtype.bits - signed) - 1, min=low, dtype=dtype)


def isdtype(dtype, kind):
    if isinstance(kind, tuple):
        return builtins.any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, DType):
        return dtype == kind
    sets = {
        "bool": ("bool",),
        "signed integer": ("signed integer",),
        "unsigned integer": ("unsigned integer",),
        "integral": _INTEGERS,
        "real floating": ("real floating",),
        "complex floating": ("complex floating",),
        "numeric": _INTEGERS + _FLOATS,
    }
    if kind not in sets:
        raise ValueError(f"isdtype: no kind {kind!r}")
    return dtype.kind in sets[kind]


def _promoted(a, b):
    if a == b:
        return a
    kinds = {a.kind, b.kind}
    if len(kinds) == 1:
        return a if a.bits >= b.bits else b
    if kinds == set(_INTEGERS):
        signed, unsigned = (a, b) if a.kind == "signed integer" else (b, a)
        if signed.bits > unsigned.bits:
            return signed
        if unsigned.bits < 64:
            return _BY_NAME[f"int{2 * unsigned.bits}"]
    if kinds == set(_FLOATS):
        return complex128 if 64 in [t.bits for t in (a, b) if t.kind == "real floating"] or complex128 in (a, b) else complex64
    raise TypeError(f"no common type for {a} and {b}")


def result_type(*arrays_and_dtypes):
    types = [_type_of(x) for x in arrays_and_dtypes if isinstance(x, (Array, DType))]
    if not types:
        raise ValueError("result_type: got no arrays and no types")
    common = types[0]
    for other in types[1:]:
        common = _promoted(common, other)
    for number in arrays_and_dtypes:
        if not isinstance(number, (Array, DType)):
            common = _with_number(common, number)
    return common


def _with_number(dtype, number):
    kind = dtype.kind
    fits = (
        isinstance(number, builtins.bool) and kind == "bool"
        or isinstance(number, int) and not isinstance(number, builtins.bool) and kind != "bool"
        or isinstance(number, float) and kind in _FLOATS
    )
    if fits:
        return dtype
    if isinstance(number, complex) and kind in _FLOATS:
        return complex128 if dtype in (float64, complex128) else complex64
    raise TypeError(f"a Python {type(number).__name__} does not meet an array of {dtype}")


def can_cast(from_, to, /):
    try:
        return _promoted(_type_of(from_), to) == to
    except TypeError:
        return False


def astype(x, dtype, /, *, copy=True, device=None):
    _device(device)
    if x.dtype == dtype:
        return Array(x._x.copy()) if copy else x
    if x.dtype.kind == "complex floating" and dtype.kind != "complex floating":
        raise TypeError(f"astype: got {x.dtype}, expected real entries; real(x) and imag(x) are its parts")
    if dtype.kind == "bool":
        return Array(x._x != 0)
    return Array(dtype._tensor(x._x))


def broadcast_to(x, /, shape):
    return Array(pc.broadcast_to(x._x, list(shape)))


def broadcast_shapes(*shapes):
    made = []
    for axis in range(-builtins.max((len(shape) for shape in shapes), default=0), 0):
        extents = {shape[axis] for shape in shapes if len(shape) >= -axis} - {1}
        if len(extents) > 1:
            raise ValueError(f"shapes {', '.join(map(str, shapes))} do not broadcast")
        made.append(extents.pop() if extents else 1)
    return tuple(made)


def broadcast_arrays(*arrays):
    shape = broadcast_shapes(*(x.shape for x in arrays))
    return [broadcast_to(x, shape) for x in arrays]


# ---- entry by entry ----

_NUMERIC = _INTEGERS + _FLOATS
_REAL = _INTEGERS + ("real floating",)
_ANY = ("bool", *_NUMERIC)
_BITS = ("bool", *_INTEGERS)


def _operands(name, kinds, xs):
    """Arrays of one type; numbers take it."""
    if not builtins.any(isinstance(x, Array) for x in xs):
        raise TypeError(f"{name}: got no arrays")
    common = result_type(*xs)
    if common.kind not in kinds:
        raise TypeError(f"{name}: got {common}, expected {' or '.join(kinds)}")
    return common, [astype(x, common, copy=False)._x if isinstance(x, Array) else asarray(x, dtype=common)._x for x in xs]


def _unary(name, kinds, own):
    def function(x, /):
        if x.dtype.kind not in kinds:
            raise TypeError(f"{name}: got {x.dtype}, expected {' or '.join(kinds)}")
        return _wrap(own(x._x))

    function.__name__ = function.__qualname__ = name
    return function


def _binary(name, kinds, own):
    def function(x1, x2, /):
        try:
            _, (a, b) = _operands(name, kinds, (x1, x2))
        except TypeError:
            if builtins.all(isinstance(x, (Array, int, float, complex)) for x in (x1, x2)):
                raise
            return NotImplemented
        return _wrap(own(a, b))

    function.__name__ = function.__qualname__ = name
    return function


def _divided(a, b):
    return a / b


def _remainder(a, b):
    return a % b


def _shift_right(a, b):
    return a >> b


def _sign(x):
    if x.dtype in ("complex64", "complex128"):
        size = pc.abs(x)
        return pc.select(size == 0, x - x, x / size)
    return pc.sgn(x)


def _round(x):
    if x.dtype.startswith("complex"):
        return type(x)(pc.round(x.real), pc.round(x.imag))
    return pc.round(x) if x.dtype.startswith("float") else x


def _expm1(x):
    if not x.dtype.startswith("complex"):
        return pc.expm1(x)
    a, b = x.real, x.imag
    half = pc.sin(b / 2)
    return type(x)(pc.expm1(a) * pc.cos(b) - half * half * 2, pc.exp(a) * pc.sin(b))


def _log1p(x):
    if not x.dtype.startswith("complex"):
        return pc.log1p(x)
    a, b = x.real, x.imag
    # 1 + a would lose the digits of a small a; further away squares overflow, or nearly cancel each other at -1.
    is_small = (pc.abs(a) < 0.5) & (pc.abs(b) < 0.5)
    size = pc.select(is_small, pc.log1p(a * (a + 2) + b * b) / 2, pc.log(pc.hypot(a + 1, b)))
    return type(x)(size, pc.atan2(b, a + 1))


def _whole(own):
    return lambda x: own(x) if x.dtype.startswith("float") else x


def _conjugate(x):
    return pc.conj(x)


acos = _unary("acos", _FLOATS, pc.acos)
acosh = _unary("acosh", _FLOATS, pc.acosh)
asin = _unary("asin", _FLOATS, pc.asin)
asinh = _unary("asinh", _FLOATS, pc.asinh)
atan = _unary("atan", _FLOATS, pc.atan)
atanh = _unary("atanh", _FLOATS, pc.atanh)
bitwise_invert = _unary("bitwise_invert", _BITS, lambda x: ~x)
ceil = _unary("ceil", _REAL, _whole(pc.ceil))
conj = _unary("conj", _NUMERIC, lambda x: pc.conj(x) if x.dtype.startswith("complex") else x)
cos = _unary("cos", _FLOATS, pc.cos)
cosh = _unary("cosh", _FLOATS, pc.cosh)
exp = _unary("exp", _FLOATS, pc.exp)
expm1 = _unary("expm1", _FLOATS, _expm1)
floor = _unary("floor", _REAL, _whole(pc.floor))
imag = _unary("imag", ("complex floating",), lambda x: x.imag)
isfinite = _unary("isfinite", _NUMERIC, lambda x: pc.isfinite(x.real) & pc.isfinite(x.imag) if x.dtype.startswith("complex") else pc.isfinite(x) if x.dtype.startswith("float") else x == x)
isinf = _unary("isinf", _NUMERIC, lambda x: pc.isinf(x.real) | pc.isinf(x.imag) if x.dtype.startswith("complex") else pc.isinf(x) if x.dtype.startswith("float") else x != x)
isnan = _unary("isnan", _NUMERIC, lambda x: pc.isnan(x.real) | pc.isnan(x.imag) if x.dtype.startswith("complex") else pc.isnan(x) if x.dtype.startswith("float") else x != x)
log = _unary("log", _FLOATS, pc.log)
log1p = _unary("log1p", _FLOATS, _log1p)
log2 = _unary("log2", _FLOATS, pc.log2)
log10 = _unary("log10", _FLOATS, pc.log10)
logical_not = _unary("logical_not", ("bool",), lambda x: ~x)
negative = _unary("negative", _NUMERIC, lambda x: -x)
positive = _unary("positive", _NUMERIC, lambda x: x.copy())
real = _unary("real", _NUMERIC, lambda x: x.real)
reciprocal = _unary("reciprocal", _FLOATS, lambda x: 1 / x)
round = _unary("round", _NUMERIC, _round)
sign = _unary("sign", _NUMERIC, _sign)
signbit = _unary("signbit", ("real floating",), pc.signbit)
sin = _unary("sin", _FLOATS, pc.sin)
sinh = _unary("sinh", _FLOATS, pc.sinh)
sqrt = _unary("sqrt", _FLOATS, pc.sqrt)
square = _unary("square", _NUMERIC, lambda x: x * x)
tan = _unary("tan", _FLOATS, pc.tan)
tanh = _unary("tanh", _FLOATS, pc.tanh)
trunc = _unary("trunc", _REAL, _whole(pc.trunc))
abs = _unary("abs", _NUMERIC, lambda x: x if x.dtype.startswith("uint") else pc.abs(x))

add = _binary("add", _NUMERIC, lambda a, b: a + b)
atan2 = _binary("atan2", ("real floating",), pc.atan2)
bitwise_and = _binary("bitwise_and", _BITS, lambda a, b: a & b)
bitwise_or = _binary("bitwise_or", _BITS, lambda a, b: a | b)
bitwise_xor = _binary("bitwise_xor", _BITS, lambda a, b: a ^ b)
bitwise_left_shift = _binary("bitwise_left_shift", _INTEGERS, lambda a, b: a << b)
bitwise_right_shift = _binary("bitwise_right_shift", _INTEGERS, _shift_right)
copysign = _binary("copysign", ("real floating",), pc.copysign)
divide = _binary("divide", _FLOATS, _divided)
equal = _binary("equal", _ANY, lambda a, b: a == b)
floor_divide = _binary("floor_divide", _REAL, lambda a, b: a // b)
greater = _binary("greater", _REAL, lambda a, b: a > b)
greater_equal = _binary("greater_equal", _REAL, lambda a, b: a >= b)
hypot = _binary("hypot", ("real floating",), pc.hypot)
less = _binary("less", _REAL, lambda a, b: a < b)
less_equal = _binary("less_equal", _REAL, lambda a, b: a <= b)
logaddexp = _binary("logaddexp", ("real floating",), pc.logaddexp)
logical_and = _binary("logical_and", ("bool",), lambda a, b: a & b)
logical_or = _binary("logical_or", ("bool",), lambda a, b: a | b)
logical_xor = _binary("logical_xor", ("bool",), lambda a, b: a ^ b)
maximum = _binary("maximum", _REAL, lambda a, b: pc.maximum(a, b))
minimum = _binary("minimum", _REAL, lambda a, b: pc.minimum(a, b))
multiply = _binary("multiply", _NUMERIC, lambda a, b: a * b)
nextafter = _binary("nextafter", ("real floating",), pc.nextafter)
not_equal = _binary("not_equal", _ANY, lambda a, b: a != b)
remainder = _binary("remainder", _REAL, _remainder)
subtract = _binary("subtract", _NUMERIC, lambda a, b: a - b)


def _powered(a, b):
    if a.dtype.startswith(("int", "uint")):
        # By squaring, bit by bit of the exponent.
        result, square_ = a * 0 + 1, a
        for bit in range(6):
            result = pc.select((b >> bit) & 1 == 1, result * square_, result)
            square_ = square_ * square_
        if a.dtype.startswith("uint"):
            return result
        # One over an integer is none, but of 1 and -1, whose powers go by the low bits of the exponent.
        return pc.select((b < 0) & (pc.abs(a) != 1), 0, result)
    return pc.pow(a, b)


_lazy_pow = _binary("pow", _NUMERIC, _powered)


def pow(x1, x2, /):
    if isinstance(x2, int) and x2 < 0 and isinstance(x1, Array) and x1.dtype.kind in _INTEGERS:
        raise ValueError(f"pow: integers to a negative power, {x2}, are no integers: astype(x, float64)")
    return _lazy_pow(x1, x2)


def clip(x, /, min=None, max=None):
    for end, own in ((min, maximum), (max, minimum)):
        if end is not None:
            end = astype(end, x.dtype, copy=False) if isinstance(end, Array) else end
            x = own(x, end)
    return Array(x._x.copy())


def where(condition, x1, x2, /):
    if condition.dtype != bool:
        raise TypeError(f"where: got {condition.dtype}, expected bool")
    _, (a, b) = _operands("where", _ANY, (x1, x2))
    return _wrap(pc.select(condition._x, a, b))


def _operator(function, name):
    def forward(self, other, /):
        return function(self, other) if isinstance(other, (Array, int, float, complex)) else NotImplemented

    def backward(self, other, /):
        return function(other, self) if isinstance(other, (Array, int, float, complex)) else NotImplemented

    def in_place(self, other, /):
        made = forward(self, other)
        if made is NotImplemented:
            return made
        if made.dtype != self.dtype or made.shape != self.shape:
            raise TypeError(f"__i{name}__: {made.dtype} of {made.shape} does not go into {self.dtype} of {self.shape}")
        self._x = made._x
        return self

    setattr(Array, f"__{name}__", forward)
    if name not in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(Array, f"__r{name}__", backward)
        setattr(Array, f"__i{name}__", in_place)


# ---- axes ----


def _axes(x, axis):
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return tuple(sorted(_axis(x, a) for a in axes))


def _axis(x, axis):
    if not -x.ndim <= axis < x.ndim:
        raise IndexError(f"no axis {axis} of {x.ndim}")
    return axis % x.ndim


def _reduced(x, own, axis, keepdims):
    axes = _axes(x, axis)
    shape = [1 if i in axes else n for i, n in enumerate(x.shape)]
    if not keepdims:
        shape = [n for i, n in enumerate(x.shape) if i not in axes]
    found = own(x._x, list(axes)) if axes else own(pc.reshape(x._x, [*x.shape, 1]), [x.ndim])
    return Array(pc.reshape(_wrap(found)._x, shape))


def _wide(x, dtype):
    """In what sums of a type are made."""
    if dtype is not None:
        return astype(x, dtype, copy=False)
    if x.dtype.kind == "bool":
        # Truth values are counted, as NumPy and PyTorch do.
        return astype(x, int64)
    if x.dtype.kind in _INTEGERS and x.dtype.bits < 64:
        return astype(x, int64 if x.dtype.kind == "signed integer" else uint64)
    return x


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    x = _wide(x, dtype)
    return astype(_reduced(x, lambda t, axes: pc.hsum(t, axes), axis, keepdims), x.dtype, copy=False)


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    x = _wide(x, dtype)
    if x.dtype.kind == "complex floating":
        # One axis after the other, factor by factor.
        def own(t, axes):
            for axis in sorted(axes, reverse=True):
                parts = pc.unstack(t, axis)
                made = parts[0] * 0 + 1 if parts else None
                for part in parts:
                    made = made * part
                t = made if made is not None else ones([n for i, n in enumerate(t.shape) if i != axis], dtype=x.dtype)._x
            return t

        return _reduced(x, own, axis, keepdims)
    return astype(_reduced(x, lambda t, axes: pc.hprod(t, axes), axis, keepdims), x.dtype, copy=False)


def max(x, /, *, axis=None, keepdims=False):
    return _extreme(x, pc.hmax, axis, keepdims)


def min(x, /, *, axis=None, keepdims=False):
    return _extreme(x, pc.hmin, axis, keepdims)


def _extreme(x, own, axis, keepdims):
    found = _reduced(x, lambda t, axes: own(t, axes), axis, keepdims)
    if x.dtype.kind != "real floating":
        return found
    # The standard's propagate NaN.
    has_nan = _reduced(isnan(x), lambda t, axes: _wrap(pc.hsum(pc.TensorXi(t), axes))._x > 0, axis, keepdims)
    return where(has_nan, full_like(found, nan), found)


def mean(x, /, *, axis=None, keepdims=False):
    return _reduced(x, lambda t, axes: pc.hmean(t, axes), axis, keepdims)


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    n = math.prod(x.shape[a] for a in _axes(x, axis))
    centred = subtract(x, mean(x, axis=axis, keepdims=True))
    total = sum(square(centred), axis=axis, keepdims=keepdims)
    return divide(total, float(n - correction)) if n != correction else divide(total, 0.0)


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    return sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))


def _truth(x):
    return x if x.dtype == bool else not_equal(x, asarray(0, dtype=x.dtype))


def any(x, /, *, axis=None, keepdims=False):
    count = lambda t, axes: _wrap(pc.hsum(pc.TensorXi(t), axes))._x > 0
    return _reduced(_truth(x), count, axis, keepdims)


def all(x, /, *, axis=None, keepdims=False):
    return logical_not(any(logical_not(_truth(x)), axis=axis, keepdims=keepdims))


def count_nonzero(x, /, *, axis=None, keepdims=False):
    return _reduced(_truth(x), lambda t, axes: pc.hsum(pc.TensorXi64(t), axes), axis, keepdims)


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    return _cumulative(x, pc.cumsum, 0, axis, dtype, include_initial)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    return _cumulative(x, pc.cumprod, 1, axis, dtype, include_initial)


def _cumulative(x, own, first, axis, dtype, include_initial):
    if axis is None:
        if x.ndim > 1:
            raise ValueError("expected an axis: the array has several")
        axis = 0
    x = _wide(x, dtype)
    if not x.ndim:
        x = reshape(x, (1,))
    axis = _axis(x, axis)
    if x.dtype.kind == "complex floating" and own is pc.cumprod:
        parts, made = pc.unstack(x._x, axis), []
        for part in parts:
            made.append(part if not made else made[-1] * part)
        found = stack([Array(pc.Tensor(part)) for part in made], axis=axis)
    else:
        found = _wrap(own(x._x, axis))
    found = astype(found, x.dtype, copy=False)
    if include_initial:
        shape = [1 if i == axis else n for i, n in enumerate(x.shape)]
        found = concat([full(shape, first, dtype=x.dtype), found], axis=axis)
    return found


def diff(x, /, *, axis=-1, n=1, prepend=None, append=None):
    parts = [part for part in (prepend, x, append) if part is not None]
    x = concat(parts, axis=axis) if len(parts) > 1 else x
    axis = _axis(x, axis)
    for _ in range(n):
        ends = [tuple(slice(*part) if i == axis else slice(None) for i in range(x.ndim)) for part in ((1, None), (None, -1))]
        a, b = x[ends[0]], x[ends[1]]
        x = not_equal(a, b) if x.dtype == bool else subtract(a, b)
    return x


# ---- order and places ----


def _as_lanes(x):
    return x._x.array


def argmax(x, /, *, axis=None, keepdims=False):
    return _place(x, pc.argmax, axis, keepdims)


def argmin(x, /, *, axis=None, keepdims=False):
    return _place(x, pc.argmin, axis, keepdims)


def _place(x, own, axis, keepdims):
    if axis is None:
        found = own(reshape(x, (-1,))._x)
        shape = (1,) * x.ndim if keepdims else ()
        return astype(reshape(_wrap(found if isinstance(found, pc.Array) else pc.Int64(found)), shape), int64)
    axis = _axis(x, axis)
    found = astype(_wrap(own(x._x, axis)), int64)
    shape = [n for i, n in enumerate(x.shape) if i != axis]
    found = reshape(found, shape)
    return expand_dims(found, axis=axis) if keepdims else found


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    if not x.ndim:
        return zeros((), dtype=int64)
    axis = _axis(x, axis)
    if descending:
        # Stable: of the entries in reverse, whose places count from the end.
        turned = flip(x, axis=axis)
        places = flip(_wrap(pc.argsort(turned._x, axis)), axis=axis)
        return astype(Array(x.shape[axis] - 1 - pc.TensorXi64(places._x)), int64)
    return astype(_wrap(pc.argsort(x._x, axis)), int64)


def sort(x, /, *, axis=-1, descending=False, stable=True):
    if not x.ndim:
        return Array(x._x.copy())
    axis = _axis(x, axis)
    found = _wrap(pc.sort(x._x, axis))
    return flip(found, axis=axis) if descending else found


def nonzero(x, /):
    if not x.ndim:
        raise ValueError("nonzero: got an array without axes")
    places = pc.nonzero(_truth(x)._x)
    return tuple(astype(_wrap(place), int64) for place in places)


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    x1 = take(x1, sorter) if sorter is not None else x1
    common = result_type(x1, x2)
    found = pc.searchsorted(astype(x1, common)._x.array, astype(x2, common)._x, side)
    return astype(reshape(_wrap(found), x2.shape), int64)


def _packed(x, mask):
    if mask.ndim > x.ndim or mask.shape != x.shape[: mask.ndim]:
        raise IndexError(f"got a mask of {mask.shape} for an array of {x.shape}")
    n = math.prod(mask.shape)
    rest = x.shape[mask.ndim :]
    flat = pc.reshape(x._x, [n, *rest])
    if not n:
        return Array(pc.reshape(flat, [0, *rest]))
    (places,) = pc.nonzero(pc.reshape(mask._x, [n]))
    return Array(pc.reshape(_wrap(flat[pc.Int64(places.array if places.ndim and hasattr(places, "array") else places)])._x, [-1, *rest] if math.prod(rest) else [places.size, *rest]))


def take(x, indices, /, *, axis=None):
    if axis is None:
        if x.ndim != 1:
            raise ValueError("take: expected an axis: the array has several")
        axis = 0
    axis = _axis(x, axis)
    key = tuple(indices if i == axis else slice(None) for i in range(x.ndim))
    return x[key]


def take_along_axis(x, indices, /, *, axis=-1):
    axis = _axis(x, axis)
    n = x.shape[axis]
    places = where(less(indices, 0), add(indices, n), indices)
    return _wrap(pc.take_along_axis(x._x, astype(places, int64)._x, axis))


def _order(x):
    """Places of the entries of one axis, smallest first; complex ones by their real parts, then by their imaginary ones."""
    if x.dtype.kind != "complex floating":
        return argsort(x)
    by_imag = argsort(imag(x))
    return take(by_imag, argsort(real(take(x, by_imag))))


def _uniques(x):
    """Values, places of the first of each, the number of each entry's value, and counts. Every NaN is one of its own."""
    flat = reshape(x, (x.size,))
    none = zeros(0, dtype=int64)
    if not x.size:
        return flat, none, reshape(none, x.shape), none
    order = _order(flat)
    ordered = take(flat, order)
    is_first = concat([ones(1, dtype=bool), not_equal(ordered[1:], ordered[:-1])])
    (starts,) = nonzero(is_first)
    numbers = subtract(cumulative_sum(astype(is_first, int64)), 1)
    inverse = zeros(x.size, dtype=int64)
    inverse._x[order._x] = numbers._x
    ends = concat([starts[1:], asarray([x.size])])
    return take(ordered, starts), take(order, starts), reshape(inverse, x.shape), subtract(ends, starts)


def unique_values(x, /):
    return _uniques(x)[0]


def _named(name, fields):
    from collections import namedtuple

    return namedtuple(name, fields)


UniqueCounts = _named("UniqueCounts", "values counts")
UniqueInverse = _named("UniqueInverse", "values inverse_indices")
UniqueAll = _named("UniqueAll", "values indices inverse_indices counts")


def unique_counts(x, /):
    own, _, _, counts = _uniques(x)
    return UniqueCounts(own, counts)


def unique_inverse(x, /):
    own, _, inverse, _ = _uniques(x)
    return UniqueInverse(own, inverse)


def unique_all(x, /):
    return UniqueAll(*_uniques(x))


# ---- shapes ----


def reshape(x, /, shape, *, copy=None):
    shape = list(shape)
    if -1 in shape and 0 in x.shape:
        rest = math.prod(n for n in shape if n != -1)
        shape[shape.index(-1)] = x.size // rest if rest else 0
    return Array(pc.reshape(x._x, shape))


def permute_dims(x, /, axes):
    return Array(pc.permute(x._x, list(axes))) if x.ndim else x


def matrix_transpose(x, /):
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose: got {x.ndim} axes, expected 2 or more")
    return Array(x._x.mT)


def moveaxis(x, source, destination, /):
    sources, destinations = ([a] if isinstance(a, int) else list(a) for a in (source, destination))
    sources, destinations = [_axis(x, a) for a in sources], [_axis(x, a) for a in destinations]
    order = [axis for axis in range(x.ndim) if axis not in sources]
    for place, axis in sorted(zip(destinations, sources)):
        order.insert(place, axis)
    return permute_dims(x, order)


def expand_dims(x, /, axis=0):
    if not -x.ndim - 1 <= axis <= x.ndim:
        raise IndexError(f"no place {axis} among {x.ndim} axes")
    axis = axis % (x.ndim + 1)
    return reshape(x, (*x.shape[:axis], 1, *x.shape[axis:]))


def squeeze(x, /, axis):
    axes = _axes(x, axis)
    if builtins.any(x.shape[a] != 1 for a in axes):
        raise ValueError(f"squeeze: axes {axis} of {x.shape} have more than one entry")
    return reshape(x, [n for i, n in enumerate(x.shape) if i not in axes])


def flip(x, /, *, axis=None):
    axes = _axes(x, axis)
    return Array(pc.flip(x._x, list(axes))) if axes else x


def roll(x, /, shift, *, axis=None):
    if not x.ndim or not x.size:
        return x
    if axis is None:
        return reshape(Array(pc.roll(pc.reshape(x._x, [x.size]), shift)), x.shape)
    shifts, axes = ([a] if isinstance(a, int) else list(a) for a in (shift, axis))
    shifts = shifts * len(axes) if len(shifts) == 1 else shifts
    for n, a in zip(shifts, axes):
        x = _wrap(pc.roll(x._x, n, _axis(x, a)))
    return x


def concat(arrays, /, *, axis=0):
    common = result_type(*arrays)
    parts = [astype(x, common, copy=False) for x in arrays]
    if axis is None:
        parts, axis = [reshape(x, (-1,)) for x in parts], 0
    axis = _axis(parts[0], axis)
    return _wrap(pc.concat([x._x for x in parts], axis)) if len(parts) > 1 else parts[0]


def stack(arrays, /, *, axis=0):
    n = arrays[0].ndim + 1
    if not -n <= axis < n:
        raise IndexError(f"no place {axis} among {n} axes")
    return concat([expand_dims(x, axis=axis % n) for x in arrays], axis=axis % n)


def unstack(x, /, *, axis=0):
    axis = _axis(x, axis)
    return tuple(x[tuple(i if a == axis else slice(None) for a in range(x.ndim))] for i in range(x.shape[axis]))


def repeat(x, repeats, /, *, axis=None):
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    axis = _axis(x, axis)
    n = x.shape[axis]
    if isinstance(repeats, int):
        counts = asarray([repeats] * n, dtype=int64) if n else zeros(0, dtype=int64)
    else:
        counts = broadcast_to(astype(repeats, int64), (n,))
    places = [i for i, count in enumerate(counts._x.tolist()) for _ in range(count)]
    return take(x, asarray(places, dtype=int64) if places else zeros(0, dtype=int64), axis=axis)


def tile(x, repetitions, /):
    repetitions = tuple(repetitions)
    n = builtins.max(x.ndim, len(repetitions))
    shape = (1,) * (n - x.ndim) + x.shape
    repetitions = (1,) * (n - len(repetitions)) + repetitions
    wide = [k for pair in zip(repetitions, shape) for k in pair]
    narrow = [k for extent in shape for k in (1, extent)]
    spread = Array(pc.broadcast_to(pc.reshape(x._x, narrow), wide))
    return reshape(spread, [a * b for a, b in zip(repetitions, shape)])


# ---- products ----


def matmul(x1, x2, /):
    if not isinstance(x1, Array) or not isinstance(x2, Array):
        return NotImplemented
    if not x1.ndim or not x2.ndim:
        raise ValueError("matmul: got an array without axes")
    _, (a, b) = _operands("matmul", _NUMERIC, (x1, x2))
    shape = _product_shape(x1.shape, x2.shape)
    # Sums of small integers are of 32 bits where a side has one axis.
    return astype(Array(pc.reshape(_wrap(pc.matmul(a, b))._x, shape)), result_type(x1, x2), copy=False)


def _product_shape(a, b):
    rows, columns = (a[-2:-1] if len(a) > 1 else ()), (b[-1:] if len(b) > 1 else ())
    return (*broadcast_shapes(a[:-2], b[:-2]), *rows, *columns)


def tensordot(x1, x2, /, *, axes=2):
    _, (a, b) = _operands("tensordot", _NUMERIC, (x1, x2))
    if isinstance(axes, int):
        own, others = list(range(x1.ndim - axes, x1.ndim)), list(range(axes))
    else:
        own, others = ([_axis(x, i) for i in which] for x, which in zip((x1, x2), axes))
    free = [i for i in range(x1.ndim) if i not in own], [i for i in range(x2.ndim) if i not in others]
    n = math.prod(x1.shape[i] for i in own)
    if [x1.shape[i] for i in own] != [x2.shape[i] for i in others]:
        raise ValueError(f"tensordot: axes of {x1.shape} and {x2.shape} differ")
    shape = [x1.shape[i] for i in free[0]] + [x2.shape[i] for i in free[1]]
    left = reshape(permute_dims(Array(a), free[0] + own), (math.prod(x1.shape[i] for i in free[0]), n))
    right = reshape(permute_dims(Array(b), others + free[1]), (n, math.prod(x2.shape[i] for i in free[1])))
    return reshape(matmul(left, right), shape)


def vecdot(x1, x2, /, *, axis=-1):
    if not -builtins.min(x1.ndim, x2.ndim) <= axis < 0:
        raise ValueError(f"vecdot: no axis {axis} of both")
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"vecdot: axis {axis} of {x1.shape} and {x2.shape} differ")
    _, (a, b) = _operands("vecdot", _NUMERIC, (x1, x2))
    product = multiply(conj(Array(a)), Array(b))
    return astype(_reduced(product, lambda t, axes: pc.hsum(t, axes), axis, False), result_type(x1, x2), copy=False)


for _function, _name in [
    (add, "add"), (subtract, "sub"), (multiply, "mul"), (divide, "truediv"), (floor_divide, "floordiv"), (remainder, "mod"),
    (pow, "pow"), (matmul, "matmul"), (bitwise_and, "and"), (bitwise_or, "or"), (bitwise_xor, "xor"),
    (bitwise_left_shift, "lshift"), (bitwise_right_shift, "rshift"), (equal, "eq"), (not_equal, "ne"), (less, "lt"),
    (less_equal, "le"), (greater, "gt"), (greater_equal, "ge"),
]:  # fmt: skip
    _operator(_function, _name)
Array.__neg__ = lambda self: negative(self)
Array.__pos__ = lambda self: positive(self)
Array.__abs__ = lambda self: abs(self)
Array.__invert__ = lambda self: bitwise_invert(self)


# ---- extensions ----

from . import fft, linalg  # noqa: E402

# ---- what there is ----


class _Info:
    def capabilities(self):
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 16}

    def default_device(self):
        return pc.device().split(" ")[0]

    def devices(self):
        return [self.default_device()]

    def default_dtypes(self, *, device=None):
        return {
            "real floating": _DEFAULT_FLOAT, "complex floating": _DEFAULT_COMPLEX, "integral": _DEFAULT_INT, "indexing": int64,
        }  # fmt: skip

    def dtypes(self, *, device=None, kind=None):
        return {name: dtype for name, dtype in _BY_NAME.items() if kind is None or isdtype(dtype, kind)}


def __array_namespace_info__():
    return _Info()
