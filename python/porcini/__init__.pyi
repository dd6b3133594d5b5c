"""Written by stubs.py from the package; see there."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from enum import Enum
from types import EllipsisType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from typing_extensions import Buffer

_A = TypeVar("_A", bound=_Lanes[Any] | Tensor)
_F = TypeVar("_F", bound=Callable[..., Any])
_Floats = TypeVar("_Floats", bound=_OfFloats)
_L = TypeVar("_L", bound=_Lanes[float])
_N = TypeVar("_N")
_P = ParamSpec("_P")
_Q = ParamSpec("_Q")
_R = TypeVar("_R")
_Index = int | slice | None | EllipsisType | Array | list[int] | list[bool] | tuple[Any, ...]
_Operand = Any


class _DType(str):
    def __eq__(self, other: object) -> bool: ...
    def __ne__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def type(self) -> Any: ...


class _Function(Generic[_P, _R]):
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    @overload
    def __get__(self, instance: None, owner: Any = ...) -> Self: ...
    @overload
    def __get__(self: _Function[Concatenate[Any, _Q], _R], instance: object, owner: Any = ...) -> Callable[_Q, _R]: ...
    @property
    def __wrapped__(self) -> Callable[_P, _R]: ...
    @property
    def n_recordings(self) -> int: ...
    def clear(self) -> None: ...


__version__: str
pi: float
e: float
inf: float
nan: float
newaxis: None
two_pi: float
four_pi: float
inv_pi: float
inv_two_pi: float
inv_four_pi: float
sqrt_pi: float
inv_sqrt_pi: float
sqrt_two_pi: float
inv_sqrt_two_pi: float
sqrt_four_pi: float
inv_sqrt_four_pi: float
sqrt_two: float
inv_sqrt_two: float
log_two: float
inv_log_two: float
PCG32_DEFAULT_STATE: int
PCG32_DEFAULT_STREAM: int


class Array(Buffer):
    def __init__(self, *args: Any, shape: Any = ...) -> None: ...
    @overload
    def __add__(self, other: Self | int) -> Self: ...
    @overload
    def __add__(self, other: float) -> Array: ...
    @overload
    def __add__(self, other: _Operand) -> Any: ...
    @overload
    def __sub__(self, other: Self | int) -> Self: ...
    @overload
    def __sub__(self, other: float) -> Array: ...
    @overload
    def __sub__(self, other: _Operand) -> Any: ...
    @overload
    def __mul__(self, other: Self | int) -> Self: ...
    @overload
    def __mul__(self, other: float) -> Array: ...
    @overload
    def __mul__(self, other: _Operand) -> Any: ...
    @overload
    def __floordiv__(self, other: Self | int) -> Self: ...
    @overload
    def __floordiv__(self, other: float) -> Array: ...
    @overload
    def __floordiv__(self, other: _Operand) -> Any: ...
    @overload
    def __mod__(self, other: Self | int) -> Self: ...
    @overload
    def __mod__(self, other: float) -> Array: ...
    @overload
    def __mod__(self, other: _Operand) -> Any: ...
    @overload
    def __pow__(self, other: Self | int, modulus: None = ...) -> Self: ...
    @overload
    def __pow__(self, other: float, modulus: None = ...) -> Array: ...
    @overload
    def __pow__(self, other: _Operand, modulus: None = ...) -> Any: ...
    @overload
    def __and__(self, other: Self | int) -> Self: ...
    @overload
    def __and__(self, other: float) -> Array: ...
    @overload
    def __and__(self, other: _Operand) -> Any: ...
    @overload
    def __or__(self, other: Self | int) -> Self: ...
    @overload
    def __or__(self, other: float) -> Array: ...
    @overload
    def __or__(self, other: _Operand) -> Any: ...
    @overload
    def __xor__(self, other: Self | int) -> Self: ...
    @overload
    def __xor__(self, other: float) -> Array: ...
    @overload
    def __xor__(self, other: _Operand) -> Any: ...
    @overload
    def __lshift__(self, other: Self | int) -> Self: ...
    @overload
    def __lshift__(self, other: float) -> Array: ...
    @overload
    def __lshift__(self, other: _Operand) -> Any: ...
    @overload
    def __rshift__(self, other: Self | int) -> Self: ...
    @overload
    def __rshift__(self, other: float) -> Array: ...
    @overload
    def __rshift__(self, other: _Operand) -> Any: ...
    def __radd__(self, other: _Operand) -> Array: ...
    def __rsub__(self, other: _Operand) -> Array: ...
    def __rmul__(self, other: _Operand) -> Array: ...
    def __rfloordiv__(self, other: _Operand) -> Array: ...
    def __rmod__(self, other: _Operand) -> Array: ...
    def __rpow__(self, other: _Operand, modulus: None = ...) -> Array: ...
    def __rand__(self, other: _Operand) -> Array: ...
    def __ror__(self, other: _Operand) -> Array: ...
    def __rxor__(self, other: _Operand) -> Array: ...
    def __rlshift__(self, other: _Operand) -> Array: ...
    def __rrshift__(self, other: _Operand) -> Array: ...
    def __rtruediv__(self, other: _Operand) -> Array: ...
    def __rmatmul__(self, other: _Operand) -> Array: ...
    def __truediv__(self, other: _Operand) -> Array: ...
    def __matmul__(self, other: _Operand) -> Array: ...
    def __divmod__(self, other: _Operand) -> tuple[Any, Any]: ...
    def __rdivmod__(self, other: _Operand) -> tuple[Any, Any]: ...
    def __lt__(self, other: _Operand) -> Array: ...
    def __le__(self, other: _Operand) -> Array: ...
    def __gt__(self, other: _Operand) -> Array: ...
    def __ge__(self, other: _Operand) -> Array: ...
    def __eq__(self, other: object) -> Any: ...
    def __ne__(self, other: object) -> Any: ...
    def __neg__(self) -> Self: ...
    def __pos__(self) -> Self: ...
    def __abs__(self) -> Array: ...
    def __invert__(self) -> Self: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __contains__(self, item: Any) -> bool: ...
    def __getitem__(self, key: _Index) -> Any: ...
    def __setitem__(self, key: _Index, value: Any) -> None: ...
    def __bool__(self) -> bool: ...
    def __float__(self) -> float: ...
    def __complex__(self) -> complex: ...
    def __int__(self) -> int: ...
    def __index__(self) -> int: ...
    def __bytes__(self) -> bytes: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    # Components and every function that takes an array first.
    def __getattr__(self, name: str) -> Any: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def dtype(self) -> _DType: ...
    @property
    def T(self) -> Self: ...
    @property
    def grad(self) -> Any: ...
    @grad.setter
    def grad(self, gradient: Any) -> None: ...
    @property
    def requires_grad(self) -> bool: ...
    @property
    def grad_enabled(self) -> bool: ...
    def backward(self, gradient: Any = ...) -> None: ...
    def copy(self) -> Any: ...
    def item(self, *index: Any) -> Any: ...
    def tolist(self) -> list[Any]: ...
    def numpy(self, dtype: Any = ...) -> Any: ...
    def to(self, device: str) -> Any: ...
    @classmethod
    def arange(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def bartlett(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def blackman(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def empty(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def eye(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def fftfreq(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def from_cols(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def from_quat(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def from_rows(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def frustum(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def full(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def geomspace(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def hamming(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def hanning(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def identity(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def kaiser(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def linspace(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def logspace(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def look_at(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def one_hot(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def ones(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def opaque(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def ortho(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def perspective(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def reinterpret(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def rfftfreq(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def rotate(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def scale(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def translate(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def unravel(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def zero(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def zeros(cls, *args: Any, **kwargs: Any) -> Any: ...

class _OfFloats(Array):
    @overload
    def __add__(self, other: Self | float) -> Self: ...
    @overload
    def __add__(self, other: _Operand) -> Any: ...
    @overload
    def __sub__(self, other: Self | float) -> Self: ...
    @overload
    def __sub__(self, other: _Operand) -> Any: ...
    @overload
    def __mul__(self, other: Self | float) -> Self: ...
    @overload
    def __mul__(self, other: _Operand) -> Any: ...
    @overload
    def __floordiv__(self, other: Self | float) -> Self: ...
    @overload
    def __floordiv__(self, other: _Operand) -> Any: ...
    @overload
    def __mod__(self, other: Self | float) -> Self: ...
    @overload
    def __mod__(self, other: _Operand) -> Any: ...
    @overload
    def __pow__(self, other: Self | float, modulus: None = ...) -> Self: ...
    @overload
    def __pow__(self, other: _Operand, modulus: None = ...) -> Any: ...
    @overload
    def __truediv__(self, other: Self | float) -> Self: ...
    @overload
    def __truediv__(self, other: _Operand) -> Any: ...
    def __radd__(self, other: _Operand) -> Self: ...
    def __rsub__(self, other: _Operand) -> Self: ...
    def __rmul__(self, other: _Operand) -> Self: ...
    def __rfloordiv__(self, other: _Operand) -> Self: ...
    def __rmod__(self, other: _Operand) -> Self: ...
    def __rpow__(self, other: _Operand, modulus: None = ...) -> Self: ...
    def __rtruediv__(self, other: _Operand) -> Self: ...


class _OfIntegers(Array):
    @overload
    def __add__(self, other: Self | int) -> Self: ...
    @overload
    def __add__(self, other: _Operand) -> Any: ...
    @overload
    def __sub__(self, other: Self | int) -> Self: ...
    @overload
    def __sub__(self, other: _Operand) -> Any: ...
    @overload
    def __mul__(self, other: Self | int) -> Self: ...
    @overload
    def __mul__(self, other: _Operand) -> Any: ...
    @overload
    def __floordiv__(self, other: Self | int) -> Self: ...
    @overload
    def __floordiv__(self, other: _Operand) -> Any: ...
    @overload
    def __mod__(self, other: Self | int) -> Self: ...
    @overload
    def __mod__(self, other: _Operand) -> Any: ...
    @overload
    def __pow__(self, other: Self | int, modulus: None = ...) -> Self: ...
    @overload
    def __pow__(self, other: _Operand, modulus: None = ...) -> Any: ...
    def __radd__(self, other: _Operand) -> Any: ...
    def __rsub__(self, other: _Operand) -> Any: ...
    def __rmul__(self, other: _Operand) -> Any: ...
    def __rfloordiv__(self, other: _Operand) -> Any: ...
    def __rmod__(self, other: _Operand) -> Any: ...
    def __rpow__(self, other: _Operand, modulus: None = ...) -> Any: ...
    def __rtruediv__(self, other: _Operand) -> Any: ...
    def __truediv__(self, other: _Operand) -> Any: ...


class _Lanes(Array, Generic[_N]):
    @overload
    def __lt__(self, other: Self | float) -> Mask: ...
    @overload
    def __lt__(self, other: _Operand) -> Any: ...
    @overload
    def __le__(self, other: Self | float) -> Mask: ...
    @overload
    def __le__(self, other: _Operand) -> Any: ...
    @overload
    def __gt__(self, other: Self | float) -> Mask: ...
    @overload
    def __gt__(self, other: _Operand) -> Any: ...
    @overload
    def __ge__(self, other: Self | float) -> Mask: ...
    @overload
    def __ge__(self, other: _Operand) -> Any: ...
    @overload
    def __eq__(self, other: Self | float) -> Mask: ...
    @overload
    def __eq__(self, other: object) -> Any: ...
    @overload
    def __ne__(self, other: Self | float) -> Mask: ...
    @overload
    def __ne__(self, other: object) -> Any: ...
    @overload
    def __getitem__(self, key: int) -> _N: ...
    @overload
    def __getitem__(self, key: slice) -> Self: ...
    @overload
    def __getitem__(self, key: Any) -> Any: ...
    def __abs__(self) -> Self: ...
    def __iter__(self) -> Iterator[_N]: ...

class Kernel:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def add_to(self, *args: Any, **kwargs: Any) -> Any: ...
    def into(self, *args: Any, **kwargs: Any) -> Any: ...
    source: Any
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

class PCG32:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def advance(self, *args: Any, **kwargs: Any) -> Any: ...
    def copy(self, *args: Any, **kwargs: Any) -> Any: ...
    inc: Any
    def next_float(self, *args: Any, **kwargs: Any) -> Any: ...
    def next_float16(self, *args: Any, **kwargs: Any) -> Any: ...
    def next_float32(self, *args: Any, **kwargs: Any) -> Any: ...
    def next_float32_normal(self, *args: Any, **kwargs: Any) -> Any: ...
    def next_float64(self, *args: Any, **kwargs: Any) -> Any: ...
    def next_float64_normal(self, *args: Any, **kwargs: Any) -> Any: ...
    def next_uint32(self, *args: Any, **kwargs: Any) -> Any: ...
    def next_uint32_bounded(self, *args: Any, **kwargs: Any) -> Any: ...
    def next_uint64(self, *args: Any, **kwargs: Any) -> Any: ...
    def next_uint64_bounded(self, *args: Any, **kwargs: Any) -> Any: ...
    def seed(self, *args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def seeded(n: int, seed: int = ...) -> PCG32: ...
    def shuffle(self, *args: Any, **kwargs: Any) -> Any: ...
    state: Any
    def __len__(self) -> int: ...

class ReduceOp(Enum):
    Identity = 'scatter'
    Add = 'scatter_add'
    Mul = 'scatter_mul'
    Min = 'scatter_min'
    Max = 'scatter_max'
    And = 'scatter_and'
    Or = 'scatter_or'

class Scripts:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def complete(self, *args: Any, **kwargs: Any) -> Any: ...
    def run(self, *args: Any, **kwargs: Any) -> Any: ...

class Complex2(Array):
    """Complex2: from its components, arrays or numbers; of one it is that in each."""

class Float(_OfFloats, _Lanes[float]):
    """Array of float32 lanes: of a number (one lane), a list, another array (converted), or whatever has a buffer or DLPack, whose memory it shares where it can."""

class Float16(_OfFloats, _Lanes[float]):
    """Array of float16 lanes: of a number (one lane), a list, another array (converted), or whatever has a buffer or DLPack, whose memory it shares where it can."""

class Float64(_OfFloats, _Lanes[float]):
    """Array of float64 lanes: of a number (one lane), a list, another array (converted), or whatever has a buffer or DLPack, whose memory it shares where it can."""

class Int16(_OfIntegers, _Lanes[int]):
    """Array of int16 lanes: of a number (one lane), a list, another array (converted), or whatever has a buffer or DLPack, whose memory it shares where it can."""

class Int32(_OfIntegers, _Lanes[int]):
    """Array of int32 lanes: of a number (one lane), a list, another array (converted), or whatever has a buffer or DLPack, whose memory it shares where it can."""

class Int64(_OfIntegers, _Lanes[int]):
    """Array of int64 lanes: of a number (one lane), a list, another array (converted), or whatever has a buffer or DLPack, whose memory it shares where it can."""

class Int8(_OfIntegers, _Lanes[int]):
    """Array of int8 lanes: of a number (one lane), a list, another array (converted), or whatever has a buffer or DLPack, whose memory it shares where it can."""

class Mask(_Lanes[bool]):
    """Array of bool lanes: of a number (one lane), a list, another array (converted), or whatever has a buffer or DLPack, whose memory it shares where it can."""

class Matrix2(Array):
    """Matrix of 2 x 2 arrays: from its entries row by row, rows, or a number."""

class Matrix3(Array):
    """Matrix of 3 x 3 arrays: from its entries row by row, rows, or a number."""

class Matrix4(Array):
    """Matrix of 4 x 4 arrays: from its entries row by row, rows, or a number."""

class Quaternion4(Array):
    """Quaternion4: from its components, arrays or numbers; of one it is that in each."""

class Tensor(Array):
    """Tensor of the type of what it is made of."""

class UInt16(_OfIntegers, _Lanes[int]):
    """Array of uint16 lanes: of a number (one lane), a list, another array (converted), or whatever has a buffer or DLPack, whose memory it shares where it can."""

class UInt32(_OfIntegers, _Lanes[int]):
    """Array of uint32 lanes: of a number (one lane), a list, another array (converted), or whatever has a buffer or DLPack, whose memory it shares where it can."""

class UInt64(_OfIntegers, _Lanes[int]):
    """Array of uint64 lanes: of a number (one lane), a list, another array (converted), or whatever has a buffer or DLPack, whose memory it shares where it can."""

class UInt8(_OfIntegers, _Lanes[int]):
    """Array of uint8 lanes: of a number (one lane), a list, another array (converted), or whatever has a buffer or DLPack, whose memory it shares where it can."""

class Vector1(Array):
    """Vector1: from its components, arrays or numbers; of one it is that in each."""

class Vector2(Array):
    """Vector2: from its components, arrays or numbers; of one it is that in each."""

class Vector3(Array):
    """Vector3: from its components, arrays or numbers; of one it is that in each."""

class Vector4(Array):
    """Vector4: from its components, arrays or numbers; of one it is that in each."""

class Complex2d(_OfFloats, Complex2):
    """Complex2d: from its components, arrays or numbers; of one it is that in each."""

class Complex2f(_OfFloats, Complex2):
    """Complex2f: from its components, arrays or numbers; of one it is that in each."""

class Matrix2d(_OfFloats, Matrix2):
    """Matrix of 2 x 2 arrays: from its entries row by row, rows, or a number."""

class Matrix2f(_OfFloats, Matrix2):
    """Matrix of 2 x 2 arrays: from its entries row by row, rows, or a number."""

class Matrix3d(_OfFloats, Matrix3):
    """Matrix of 3 x 3 arrays: from its entries row by row, rows, or a number."""

class Matrix3f(_OfFloats, Matrix3):
    """Matrix of 3 x 3 arrays: from its entries row by row, rows, or a number."""

class Matrix4d(_OfFloats, Matrix4):
    """Matrix of 4 x 4 arrays: from its entries row by row, rows, or a number."""

class Matrix4f(_OfFloats, Matrix4):
    """Matrix of 4 x 4 arrays: from its entries row by row, rows, or a number."""

class Quaternion4d(_OfFloats, Quaternion4):
    """Quaternion4d: from its components, arrays or numbers; of one it is that in each."""

class Quaternion4f(_OfFloats, Quaternion4):
    """Quaternion4f: from its components, arrays or numbers; of one it is that in each."""

class TensorXc(_OfFloats, Tensor):
    """Tensor: from lists in lists, an array, a tensor, whatever has a buffer; and perhaps a shape."""

class TensorXd(_OfFloats, Tensor):
    """Tensor: from lists in lists, an array, a tensor, whatever has a buffer; and perhaps a shape."""

class TensorXf(_OfFloats, Tensor):
    """Tensor: from lists in lists, an array, a tensor, whatever has a buffer; and perhaps a shape."""

class TensorXh(_OfFloats, Tensor):
    """Tensor: from lists in lists, an array, a tensor, whatever has a buffer; and perhaps a shape."""

class TensorXi(_OfIntegers, Tensor):
    """Tensor: from lists in lists, an array, a tensor, whatever has a buffer; and perhaps a shape."""

class TensorXi16(_OfIntegers, Tensor):
    """Tensor: from lists in lists, an array, a tensor, whatever has a buffer; and perhaps a shape."""

class TensorXi64(_OfIntegers, Tensor):
    """Tensor: from lists in lists, an array, a tensor, whatever has a buffer; and perhaps a shape."""

class TensorXi8(_OfIntegers, Tensor):
    """Tensor: from lists in lists, an array, a tensor, whatever has a buffer; and perhaps a shape."""

class TensorXm(Tensor):
    """Tensor: from lists in lists, an array, a tensor, whatever has a buffer; and perhaps a shape."""

class TensorXu(_OfIntegers, Tensor):
    """Tensor: from lists in lists, an array, a tensor, whatever has a buffer; and perhaps a shape."""

class TensorXu16(_OfIntegers, Tensor):
    """Tensor: from lists in lists, an array, a tensor, whatever has a buffer; and perhaps a shape."""

class TensorXu64(_OfIntegers, Tensor):
    """Tensor: from lists in lists, an array, a tensor, whatever has a buffer; and perhaps a shape."""

class TensorXu8(_OfIntegers, Tensor):
    """Tensor: from lists in lists, an array, a tensor, whatever has a buffer; and perhaps a shape."""

class TensorXz(_OfFloats, Tensor):
    """Tensor: from lists in lists, an array, a tensor, whatever has a buffer; and perhaps a shape."""

class Vector1d(_OfFloats, Vector1):
    """Vector1d: from its components, arrays or numbers; of one it is that in each."""

class Vector1f(_OfFloats, Vector1):
    """Vector1f: from its components, arrays or numbers; of one it is that in each."""

class Vector1i(_OfIntegers, Vector1):
    """Vector1i: from its components, arrays or numbers; of one it is that in each."""

class Vector1m(Vector1):
    """Vector1m: from its components, arrays or numbers; of one it is that in each."""

class Vector1u(_OfIntegers, Vector1):
    """Vector1u: from its components, arrays or numbers; of one it is that in each."""

class Vector2d(_OfFloats, Vector2):
    """Vector2d: from its components, arrays or numbers; of one it is that in each."""

class Vector2f(_OfFloats, Vector2):
    """Vector2f: from its components, arrays or numbers; of one it is that in each."""

class Vector2i(_OfIntegers, Vector2):
    """Vector2i: from its components, arrays or numbers; of one it is that in each."""

class Vector2m(Vector2):
    """Vector2m: from its components, arrays or numbers; of one it is that in each."""

class Vector2u(_OfIntegers, Vector2):
    """Vector2u: from its components, arrays or numbers; of one it is that in each."""

class Vector3d(_OfFloats, Vector3):
    """Vector3d: from its components, arrays or numbers; of one it is that in each."""

class Vector3f(_OfFloats, Vector3):
    """Vector3f: from its components, arrays or numbers; of one it is that in each."""

class Vector3i(_OfIntegers, Vector3):
    """Vector3i: from its components, arrays or numbers; of one it is that in each."""

class Vector3m(Vector3):
    """Vector3m: from its components, arrays or numbers; of one it is that in each."""

class Vector3u(_OfIntegers, Vector3):
    """Vector3u: from its components, arrays or numbers; of one it is that in each."""

class Vector4d(_OfFloats, Vector4):
    """Vector4d: from its components, arrays or numbers; of one it is that in each."""

class Vector4f(_OfFloats, Vector4):
    """Vector4f: from its components, arrays or numbers; of one it is that in each."""

class Vector4i(_OfIntegers, Vector4):
    """Vector4i: from its components, arrays or numbers; of one it is that in each."""

class Vector4m(Vector4):
    """Vector4m: from its components, arrays or numbers; of one it is that in each."""

class Vector4u(_OfIntegers, Vector4):
    """Vector4u: from its components, arrays or numbers; of one it is that in each."""

Array2f = Vector2f

Array3d = Vector3d

Array3f = Vector3f

Array3i = Vector3i

Array3u = Vector3u

Array4f = Vector4f

Bool = Mask

Float32 = Float

Int = Int32

UInt = UInt32

def abs(x: Any) -> Any:
    """Absolute value; `abs(MIN)` is `MIN`."""
    ...

def abs_dot(a: Any, b: Any) -> Any:
    """Absolute value of `dot(a, b)`, of complex components too; of plain arrays that of the sum over the lanes."""
    ...

def absolute(x: Any) -> Any:
    """Absolute value; `abs(MIN)` is `MIN`."""
    ...

def accum_grad(target: Any, source: Any) -> Any:
    """Adds to the gradient of a marked array."""
    ...

@overload
def acos(x: _Floats) -> _Floats: ...

@overload
def acos(x: Any) -> Any:
    """Inverse cosine, 0 to pi; NaN beyond -1 and 1. At most 1.5 ulp."""
    ...

@overload
def acosh(x: _Floats) -> _Floats: ...

@overload
def acosh(x: Any) -> Any:
    """Inverse hyperbolic cosine; NaN below 1. At most 2.5 ulp."""
    ...

def add(a: Any, b: Any) -> Any:
    """a + b, under NumPy's name."""
    ...

def all(t: Any, axes: Any = ..., keepdims: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Whether all lanes of a mask are true (evaluates, gives a bool); of a vector: and of its components, lane by lane."""
    ...

def all_nested(mask: Any) -> Any:
    """As all over all components of a vector and all their lanes; evaluates."""
    ...

def all_or(default: Any, mask: Any) -> Any:
    """Whether all lanes are true, if the mask is a number that is known already; else the default. Never evaluates: a"""
    ...

def allclose(a: Any, b: Any, rtol: Any = ..., atol: Any = ..., equal_nan: Any = ...) -> Any:
    """Whether all lanes are near: |a - b| <= atol + rtol * |b|, or equal, or with equal_nan both NaN. rtol is 1e-5, atol"""
    ...

def amax(t: Any, axes: Any = ..., keepdims: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Largest lane, NaN ignored (an array of size 1, lazy; one order of combining on every device); of a vector: of"""
    ...

def amin(t: Any, axes: Any = ..., keepdims: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Smallest lane, NaN ignored (an array of size 1, lazy; one order of combining on every device); of a vector: of"""
    ...

def angle(z: Any, deg: Any = ...) -> Any:
    """The angle of complex numbers, from -pi to pi, or in degrees; of real ones 0 or pi."""
    ...

def any(t: Any, axes: Any = ..., keepdims: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Whether any lane of a mask is true (evaluates, gives a bool); of a vector: or of its components, lane by lane."""
    ...

def any_nested(mask: Any) -> Any:
    """As any over all components of a vector and all their lanes; evaluates."""
    ...

def any_or(default: Any, mask: Any) -> Any:
    """Whether any lane is true, if the mask is a number that is known already; else the default. Never evaluates: a"""
    ...

def append(x: Any, values: Any, axis: Any = ...) -> Any:
    """The entries of x, then others: along an axis, or all of them in one row."""
    ...

def apply_along_axis(f: Any, axis: Any, x: Any, *args: Any, **named: Any) -> Any:
    """What a function makes of each line along an axis, in its place; other arguments go to it. It is called once a line: for few"""
    ...

def arange(*args: Any, dtype: Any = ..., **kwargs: Any) -> Any:
    """start, start + step (default 1) and so on up to but not including stop; from 0 up to a stop that stands alone."""
    ...

def arccos(x: Any) -> Any:
    """Inverse cosine, 0 to pi; NaN beyond -1 and 1. At most 1.5 ulp."""
    ...

def arccosh(x: Any) -> Any:
    """Inverse hyperbolic cosine; NaN below 1. At most 2.5 ulp."""
    ...

def arcsin(x: Any) -> Any:
    """Inverse sine, -pi/2 to pi/2; NaN beyond -1 and 1. At most 2.5 ulp."""
    ...

def arcsinh(x: Any) -> Any:
    """Inverse hyperbolic sine. At most 2.5 ulp."""
    ...

def arctan(x: Any) -> Any:
    """Inverse tangent, -pi/2 to pi/2. At most 2.5 ulp."""
    ...

def arctan2(a: Any, b: Any) -> Any:
    """Angle of the point (b, a), -pi to pi: `atan2(y, x)`. Zeros count with their signs. At most"""
    ...

def arctanh(x: Any) -> Any:
    """Inverse hyperbolic tangent; infinite at -1 and 1, NaN beyond. At most 2.5 ulp."""
    ...

def arg(x: Any) -> Any:
    """Angle of a complex number, `atan2(y, x)`, from -pi to pi; a negative number has that of its imaginary zero's sign."""
    ...

def argmax(t: Any, axis: Any = ..., keepdims: Any = ...) -> Any:
    """The number of the first lane that holds the largest value (an array of size 1, lazy). NaN is ignored, +0 is above"""
    ...

def argmin(t: Any, axis: Any = ..., keepdims: Any = ...) -> Any:
    """The number of the first lane that holds the smallest value (an array of size 1, lazy). NaN is ignored, -0 is"""
    ...

def argpartition(x: Any, kth: Any, axis: Any = ...) -> Any:
    """The numbers that bring entry kth of those in order along an axis to its place, smaller ones in front: as argsort, which"""
    ...

def argsort(t: Any, axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The lane numbers that sort an array: gather(x, argsort(x)) is sort(x). Lanes that are equal keep their order."""
    ...

def argsort_desc(t: Any, axis: Any = ...) -> Any:
    """The lane numbers that sort an array, largest first. Lanes that are equal keep their order. Recorded, not run."""
    ...

def argwhere(t: Any) -> Any:
    """The numbers of the entries that are not 0, or true, as rows: one for each of them, a column for each axis. Evaluates."""
    ...

def around(x: Any, decimals: Any = ...) -> Any:
    """x rounded to so many decimals, halves to even, floats with a negative number to tens, hundreds ..:"""
    ...

def array(object: Any, dtype: Any = ...) -> Any:
    """As asarray, of memory of its own: what is written to object afterwards is not seen."""
    ...

def array_equal(a: Any, b: Any) -> Any:
    """Whether two arrays or tensors have the same shape and equal entries; NaN equals nothing. Evaluates."""
    ...

def array_split(x: Any, parts: Any, axis: Any = ...) -> Any:
    """A list of so many parts of an axis, the first of them one entry longer where they cannot be alike; or of the parts"""
    ...

def asarray(object: Any, dtype: Any = ..., *, copy: Any = ...) -> Any:
    """Something as an array or tensor: a list, a number, an array of another library, whose memory is shared where that can be:"""
    ...

@overload
def asin(x: _Floats) -> _Floats: ...

@overload
def asin(x: Any) -> Any:
    """Inverse sine, -pi/2 to pi/2; NaN beyond -1 and 1. At most 2.5 ulp."""
    ...

@overload
def asinh(x: _Floats) -> _Floats: ...

@overload
def asinh(x: Any) -> Any:
    """Inverse hyperbolic sine. At most 2.5 ulp."""
    ...

def asm(*x: Any) -> str:
    """The machine code of the kernels that would compute x on this device, each instruction below the line of ir(x) that it"""
    ...

def assert_allclose(actual: Any, desired: Any, rtol: Any = ..., atol: Any = ..., equal_nan: Any = ..., message: Any = ...) -> Any:
    """Raises AssertionError unless two arrays are close, as allclose has it; evaluates."""
    ...

def assert_equal(a: Any, b: Any, message: Any = ...) -> Any:
    """Raises AssertionError unless two arrays are equal in all lanes; evaluates."""
    ...

def assert_false(condition: Any, message: Any = ...) -> Any:
    """Raises AssertionError if a condition holds in a lane; evaluates."""
    ...

def assert_true(condition: Any, message: Any = ...) -> Any:
    """Raises AssertionError unless a condition holds in all lanes; evaluates."""
    ...

def astype(x: Any, dtype: Any) -> Any:
    """The lanes of x converted to a type: a class such as Float64, or a name as NumPy's."""
    ...

@overload
def atan(x: _Floats) -> _Floats: ...

@overload
def atan(x: Any) -> Any:
    """Inverse tangent, -pi/2 to pi/2. At most 2.5 ulp."""
    ...

def atan2(a: Any, b: Any) -> Any:
    """Angle of the point (b, a), -pi to pi: `atan2(y, x)`. Zeros count with their signs. At most"""
    ...

@overload
def atanh(x: _Floats) -> _Floats: ...

@overload
def atanh(x: Any) -> Any:
    """Inverse hyperbolic tangent; infinite at -1 and 1, NaN beyond. At most 2.5 ulp."""
    ...

def atleast_1d(*arrays: Any) -> Any:
    """x, a number as an array of one lane; of several a list."""
    ...

def atleast_2d(*arrays: Any) -> Any:
    """x as a matrix of one row if it has fewer than two axes; of several a list."""
    ...

def atleast_3d(*arrays: Any) -> Any:
    """x with three axes if it has fewer, new ones in front of a row and behind, or behind a matrix; of several a list."""
    ...

def average(t: Any, weights: Any = ..., axes: Any = ..., keepdims: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The mean along axes (all unless given) of entries that count as much as their weights: an array or a tensor that"""
    ...

def backward(y: Any, gradient: Any = ...) -> Any:
    """Adds the gradient of y to those of the marked arrays that it is computed from."""
    ...

def backward_from(y: Any) -> Any:
    """Another name of backward, of one array: from its gradient, 1 if none was set."""
    ...

def bartlett(*args: Any, dtype: Any = ..., **kwargs: Any) -> Any:
    """Bartlett's window of n numbers, a triangle: 0 at both ends."""
    ...

def beta(a: Any, b: Any) -> Any:
    """Beta function `gamma(a) * gamma(b) / gamma(a + b)`; inf at 0, NaN for negative a or b. At most 12 ulp for a"""
    ...

def betainc(a: Any, b: Any, c: Any) -> Any:
    """Regularised incomplete beta function: `betainc(a, b, x)` is the probability that a beta distribution of a and b"""
    ...

def betaln(a: Any, b: Any) -> Any:
    """Logarithm of `beta(a, b)`, which neither overflows nor underflows. At most 10 ulp, of 1 where that is more,"""
    ...

def bincount(x: Any, weights: Any = ..., minlength: Any = ...) -> Any:
    """How often each integer occurs among the lanes, from 0 up to the largest, or of so many integers if that is more;"""
    ...

def bitwise_and(a: Any, b: Any) -> Any:
    """a & b, under NumPy's name."""
    ...

def bitwise_count(x: Any) -> Any:
    """Number of one bits."""
    ...

def bitwise_invert(x: Any) -> Any:
    """Bitwise complement of integers, logical not of masks."""
    ...

def bitwise_left_shift(a: Any, b: Any) -> Any:
    """a << b, under NumPy's name."""
    ...

def bitwise_not(x: Any) -> Any:
    """Bitwise complement of integers, logical not of masks."""
    ...

def bitwise_or(a: Any, b: Any) -> Any:
    """a | b, under NumPy's name."""
    ...

def bitwise_right_shift(a: Any, b: Any) -> Any:
    """a >> b, under NumPy's name."""
    ...

def bitwise_xor(a: Any, b: Any) -> Any:
    """a ^ b, under NumPy's name."""
    ...

def blackman(*args: Any, dtype: Any = ..., **kwargs: Any) -> Any:
    """Blackman's window of n numbers, of two cosines; 0 at both ends."""
    ...

def block(arrays: Any) -> Any:
    """A matrix of blocks, or more axes: lists in lists, the innermost of them side by side."""
    ...

def block_diag(blocks: Any, *args: Any, **kwargs: Any) -> Any:
    """The matrix with others along its diagonal, each to the right of and below the one before, and zeros beside them; an"""
    ...

def block_prefix_reduce(op: Any, value: Any, block_size: Any, exclusive: Any = ..., reverse: Any = ...) -> Any:
    """As prefix_reduce, anew in each block of so many lanes; these are a multiple of it, but for sums."""
    ...

def block_prefix_sum(x: Any, n: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Prefix sums in each block of n lanes; the last block may be short. Floats are added by doubling: over 1 lane before,"""
    ...

def block_reduce(op: Any, value: Any, block_size: Any, mode: Any = ...) -> Any:
    """As reduce, of each block of so many lanes; these are a multiple of it, but for sums."""
    ...

def block_sum(x: Any, n: Any) -> Any:
    """Sums of blocks of n lanes, each in lane order; the last block may be short. Types as of hsum. Recorded, not run."""
    ...

def brev(x: Any) -> Any:
    """Bits in reverse order."""
    ...

def broadcast_arrays(*arrays: Any) -> Any:
    """Arrays as they broadcast to each other: a tuple."""
    ...

def broadcast_shapes(*shapes: Any) -> Any:
    """The shape to which several broadcast: a tuple."""
    ...

def broadcast_to(t: Any, shape: Any) -> Any:
    """Stretched to a shape: axes of one entry as often as needed, missing ones in front."""
    ...

def can_cast(source: Any, target: Any, casting: Any = ...) -> Any:
    """Whether lanes of a type become another one: with all that they say, with casting="same_kind" to fewer digits too,"""
    ...

@overload
def cbrt(x: _Floats) -> _Floats: ...

@overload
def cbrt(x: Any) -> Any:
    """Cube root. At most 1.5 ulp."""
    ...

@overload
def ceil(x: _Floats) -> _Floats: ...

@overload
def ceil(x: Any) -> Any:
    """Smallest integer not below `x[i]`."""
    ...

def celu(x: Any, alpha: Any = ...) -> Any:
    """x where it is above 0, below alpha (exp(x / alpha) - 1): the exponential linear unit without a kink."""
    ...

def check_gradients(f: Any, *args: Any, h: Any = ..., rtol: Any = ..., atol: Any = ...) -> Any:
    """Compares the gradient of f, summed over all lanes, with central differences in float64; raises where they differ."""
    ...

def checkpoint(f: _F) -> _F:
    """The function f, of which nothing between arguments and value is kept for derivatives: it is computed again when they are"""
    ...

def cho_solve(l: Any, b: Any = ..., lower: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """X of l @ l.H @ X = b: that of a @ X = b where l is cholesky(a), which is found once for many b. With lower false of"""
    ...

def cholesky(a: Any, *args: Any, **kwargs: Any) -> Any:
    """l of a = l @ l.H, a lower triangle; a is symmetric or Hermitian, and positive definite. Its lower half is read;"""
    ...

def choose(index: Any, choices: Any, mode: Any = ...) -> Any:
    """For each lane the lane of the array that an index says; mode= as take has it for indices of no array."""
    ...

def circulant(column: Any, *args: Any, **kwargs: Any) -> Any:
    """The square matrix whose columns are a first one, each one lane further down than the one before, and around its end."""
    ...

def clamp(a: Any, b: Any, c: Any) -> Any:
    """`min(max(x, low), high)`; a NaN x gives low."""
    ...

def clear_grad(x: Any) -> Any:
    """Forgets the gradient of a marked array, and the direction that forward gave it."""
    ...

def clear_gradient(x: Any) -> Any:
    """Forgets the gradient of a marked array, and the direction that forward gave it."""
    ...

def clip(a: Any, b: Any = ..., c: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """`clamp`, but a NaN stays, and a bound that is NaN bounds nothing."""
    ...

def coeff(m: Any, i: Any, j: Any) -> Any:
    """Entry in row i and column j of a matrix, as m[[i, j]]; writes to it are seen in the matrix."""
    ...

def col(m: Any, j: Any) -> Any:
    """Column j of a matrix, as m[j]."""
    ...

def column_stack(arrays: Any) -> Any:
    """Arrays side by side as the columns of a matrix; what is a matrix gives all of its own."""
    ...

def comb(n: Any, k: Any) -> Any:
    """How many sets of k there are among n things; of fractions what gamma says. In 64 bits, with about 13 digits."""
    ...

def comp_ellint_1(x: Any) -> Any:
    """Complete elliptic integral of the first kind K, of the modulus k; inf at -1 and 1, NaN beyond."""
    ...

def comp_ellint_2(x: Any) -> Any:
    """Complete elliptic integral of the second kind E, of the modulus k; NaN beyond -1 and 1. At most 3 ulp."""
    ...

def comp_ellint_3(a: Any, b: Any) -> Any:
    """Complete elliptic integral of the third kind: `comp_ellint_3(k, nu)` is `ellint_3(pi / 2, k, nu)`;"""
    ...

def compress(t: Any, mask: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The lanes of x where the mask is true, in order. Their number depends on the mask, which is evaluated. Vectors"""
    ...

def concat(list: Any, axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The lanes of all arrays of a list one after the other, in their common type. Recorded, not run; vectors component"""
    ...

def concatenate(list: Any, axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The lanes of all arrays of a list one after the other, in their common type. Recorded, not run; vectors component"""
    ...

def cond(a: Any, *args: Any, **kwargs: Any) -> Any:
    """The condition number of a matrix: the largest singular value by the smallest; inf of one without full rank. Evaluates."""
    ...

def conj(x: Any) -> Any:
    """Complex conjugate; a real array is its own."""
    ...

def conjugate(x: Any) -> Any:
    """Complex conjugate; a real array is its own."""
    ...

def convolve(a: Any, b: Any, mode: Any = ...) -> Any:
    """Sums of products of an array and another that is turned around and moved along it: full (the default) wherever"""
    ...

def convolve2d(a: Any, b: Any, mode: Any = ..., boundary: Any = ..., fillvalue: Any = ...) -> Any:
    """The convolution of two matrices: all of it, what is as large as a with mode="same", what needs no entries beside both with"""
    ...

def coordinate_system(x: Any) -> Any:
    """Two unit vectors `[s, t]` that make a right-handed orthonormal basis with the unit vector `n`. Without"""
    ...

@overload
def copy(x: _A) -> _A: ...

@overload
def copy(x: Any) -> Any:
    """An array of its own: what is written to x afterwards, or to memory that it shares, is not seen."""
    ...

def copysign(a: Any, b: Any) -> Any:
    """`|a|` with the sign of `b`."""
    ...

def copysign_neg(a: Any, b: Any) -> Any:
    """`|a|` with the opposite sign of `b`."""
    ...

def corrcoef(rows: Any, other: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The correlation matrix of the rows of a matrix, each the values of one variable, from -1 to 1. Two arrays are two"""
    ...

def correlate(a: Any, b: Any, mode: Any = ...) -> Any:
    """Sums of products of an array and another, conjugated, that is moved along it: valid (the default) where the shorter"""
    ...

@overload
def cos(x: _Floats) -> _Floats: ...

@overload
def cos(x: Any) -> Any:
    """Cosine of an angle in radians. At most 1.5 ulp for every finite angle."""
    ...

@overload
def cosh(x: _Floats) -> _Floats: ...

@overload
def cosh(x: Any) -> Any:
    """Hyperbolic cosine. At most 2 ulp."""
    ...

def cospi(x: Any) -> Any:
    """Cosine of an angle in half turns, `cos(pi * x)`: exactly 0 halfway between integers. At most"""
    ...

def cot(x: Any) -> Any:
    """Cotangent `1 / tan(x)`. At most 2.5 ulp for every finite angle."""
    ...

def coth(x: Any) -> Any:
    """Hyperbolic cotangent `1 / tanh(x)`. At most 2.5 ulp."""
    ...

def count(t: Any, axes: Any = ..., keepdims: Any = ..., axis: Any = ...) -> Any:
    """Number of true lanes of a mask (evaluates, gives an integer); of a vector: number of its components, lane by lane."""
    ...

def count_nested(mask: Any) -> Any:
    """As count over all components of a vector and all their lanes; evaluates."""
    ...

def count_nonzero(t: Any, axes: Any = ..., keepdims: Any = ..., axis: Any = ...) -> Any:
    """Number of the entries that are not 0, or true, along an axis, or of a list of axes, a tensor; of all an integer"""
    ...

def cov(rows: Any, other: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The covariance matrix of the rows of a matrix, each the values of one variable; of one row the variance. Divided by"""
    ...

def cross(a: Any, b: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The cross products of vectors whose 3 components are the last axis. As of Vector3f, which lies component by component."""
    ...

def csc(x: Any) -> Any:
    """Cosecant `1 / sin(x)`. At most 2 ulp for every finite angle."""
    ...

def csch(x: Any) -> Any:
    """Hyperbolic cosecant `1 / sinh(x)`. At most 3 ulp."""
    ...

def cummax(t: Any, axis: Any = ...) -> Any:
    """The largest entry up to each along an axis; NaN is ignored. Without an axis an array: of all entries in their order."""
    ...

def cummin(t: Any, axis: Any = ...) -> Any:
    """The smallest entry up to each along an axis, as cummax."""
    ...

def cumprod(t: Any, axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Prefix products: lane i is the product of lanes 0 to i, in one order on every device; types as of hsum, complex ones"""
    ...

def cumsum(t: Any, axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Another name of psum. Prefix sums: lane i is the sum of lanes 0 to i, in one order on every device; types as of hsum."""
    ...

def cumulative_prod(t: Any, axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Prefix products: lane i is the product of lanes 0 to i, in one order on every device; types as of hsum, complex ones"""
    ...

def cumulative_sum(t: Any, axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Another name of psum. Prefix sums: lane i is the sum of lanes 0 to i, in one order on every device; types as of hsum."""
    ...

def cumulative_trapezoid(y: Any, x: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The integrals from the first entry along an axis to each of the others, as trapezoid: one entry less."""
    ...

def custom(eval: Any, backward: Any = ..., forward: Any = ...) -> Any:
    """A function with a derivative that you write: backward(v, *args) gives from v, as long as the value, the gradient by each"""
    ...

def dawson(x: Any) -> Any:
    """Dawson's integral: exp(-x^2) times the integral of exp(t^2) from 0 to x. At most 10 ulp."""
    ...

def deg2rad(x: Any) -> Any:
    """Degrees to radians: `x * (pi / 180)`."""
    ...

def deg_to_rad(x: Any) -> Any:
    """Degrees to radians: `x * (pi / 180)`."""
    ...

def degrees(x: Any) -> Any:
    """Radians to degrees: `x * (180 / pi)`."""
    ...

def delete(x: Any, places: Any, axis: Any = ...) -> Any:
    """x without the entries that have these numbers, one or several or a slice, or where a mask is true: along an axis, or in"""
    ...

def depth_v(x: Any) -> Any:
    """How many levels of components and lanes there are: 1 of arrays, 2 of vectors, 3 of matrices; 0 of tensors and numbers."""
    ...

def det(a: Any) -> Any:
    """The determinant of a square matrix, or of many, as solve."""
    ...

@overload
def detach(x: _A) -> _A: ...

@overload
def detach(x: Any) -> Any:
    """The same numbers without what they were computed from: derivatives end there. A copy, the array itself stays."""
    ...

def determinant(x: Any) -> Any:
    """Determinant, by minors."""
    ...

def detrend(x: Any, axis: Any = ..., type: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The entries along an axis (the last unless given) without the line that fits them best, by least squares; with"""
    ...

def device(x: Any = ...) -> str:
    """The device that x is on, or the session's: "cpu (avx512)"."""
    ...

def diag(t: Any, k: Any = ...) -> Any:
    """The diagonal of a matrix, or k above it (below it of a negative k), of many those of their last two axes; of an array"""
    ...

def diag_indices(n: Any, ndim: Any = ...) -> Any:
    """The numbers of the entries on the diagonal of a matrix of n rows, or of more axes: a tuple, as t[..] takes."""
    ...

def diagflat(x: Any, k: Any = ...) -> Any:
    """The matrix with all entries of x on its diagonal, or k above it."""
    ...

def diagonal(x: Any, offset: Any = ..., axis1: Any = ..., axis2: Any = ...) -> Any:
    """The diagonal of a matrix, or that so many above it; of more axes those of the matrices in two of them, as the last axis."""
    ...

def diff(t: Any, axis: Any = ..., n: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Differences of neighbours along an axis (the last unless given): one entry less. With n those of the differences"""
    ...

def digamma(x: Any) -> Any:
    """Digamma function, the derivative of `lgamma`; -inf at 0 (inf at -0), NaN at negative integers and -inf."""
    ...

def digitize(x: Any, bounds: Any, right: Any = ...) -> Any:
    """How many of the bounds are at or below each lane of x, if they ascend: the number of its bin, which has its lower bound"""
    ...

def dispatch(index: Any, functions: Any, args: Any) -> Any:
    """Lane i gets what function number index[i] gives for args; zeros where there is no such function."""
    ...

def divide(a: Any, b: Any) -> Any:
    """a / b, under NumPy's name."""
    ...

def divmod(a: Any, b: Any) -> Any:
    """a // b and a % b: a tuple."""
    ...

def dot(a: Any, b: Any) -> Any:
    """The product of two tensors as matmul has it, or of two arrays the sum of the products of their lanes."""
    ...

def dsplit(x: Any, parts: Any) -> Any:
    """Parts of the third axis: so many, or those between places."""
    ...

def dstack(arrays: Any) -> Any:
    """Arrays behind each other along a third axis."""
    ...

def eig(a: Any) -> Any:
    """[w, v] of any square matrix: its complex eigenvalues, and the eigenvectors of length 1 as columns. Evaluates, as"""
    ...

def eigh(a: Any, *args: Any, **kwargs: Any) -> Any:
    """[w, v] of a symmetric or Hermitian matrix: its eigenvalues, smallest first, and the eigenvectors as columns. The lower"""
    ...

def eigvals(a: Any) -> Any:
    """The complex eigenvalues of any square matrix. Evaluates, as solve."""
    ...

def eigvalsh(a: Any, *args: Any, **kwargs: Any) -> Any:
    """The eigenvalues of a symmetric or Hermitian matrix, smallest first. Evaluates, as solve."""
    ...

def einsum(spec: Any, *tensors: Any, optimize: Any = ...) -> Any: ...

def ellint_1(a: Any, b: Any) -> Any:
    """Elliptic integral of the first kind: `ellint_1(phi, k)` is that of 1 / sqrt(1 - k^2 sin^2) from 0 to"""
    ...

def ellint_2(a: Any, b: Any) -> Any:
    """Elliptic integral of the second kind: `ellint_2(phi, k)` is that of sqrt(1 - k^2 sin^2) from 0 to"""
    ...

def ellint_3(a: Any, b: Any, c: Any) -> Any:
    """Elliptic integral of the third kind: `ellint_3(phi, k, nu)` is that of"""
    ...

def elu(a: Any, b: Any = ...) -> Any:
    """`elu(x, alpha)` is x from 0 up, `alpha * expm1(x)` below; NaN stays. alpha is 1 where it is left out. At most"""
    ...

def empty(shape: Any, dtype: Any = ...) -> Any:
    """Zeros: memory is made when lanes are computed, so nothing is saved by leaving them open; empty(Float, 3) too."""
    ...

def empty_like(x: Any, dtype: Any = ...) -> Any:
    """Zeros of the form of x, as empty."""
    ...

def enable_grad(x: Any, *args: Any, **kwargs: Any) -> Any:
    """Marks arrays of floats: what is computed from them keeps how, so that its derivatives may be asked for. The type of a"""
    ...

def entr(x: Any) -> Any:
    """Entropy `-x * log(x)` of a share: 0 at 0, -inf below. At most 2.5 ulp."""
    ...

def epsilon(dtype: Any) -> Any:
    """How much rounding may change a number beside 1, of a class or an array of floats: half of NumPy's eps."""
    ...

def eq(a: Any, b: Any) -> Any:
    """True where `a[i] == b[i]`; false if either is NaN."""
    ...

def equal(a: Any, b: Any) -> Any:
    """`a == b`, under NumPy's name."""
    ...

@overload
def erf(x: _Floats) -> _Floats: ...

@overload
def erf(x: Any) -> Any:
    """Error function: 2/sqrt(pi) times the integral of exp(-t^2) from 0 to x. At most 3 ulp."""
    ...

@overload
def erfc(x: _Floats) -> _Floats: ...

@overload
def erfc(x: Any) -> Any:
    """Complementary error function `1 - erf(x)`, accurate for large x too. At most 2.5 ulp."""
    ...

def erfcinv(x: Any) -> Any:
    """The number whose `erfc` is x, accurate for small x too; infinite at 0 and 2, NaN beyond. At most 4 ulp."""
    ...

def erfinv(x: Any) -> Any:
    """The number whose `erf` is x; infinite at -1 and 1, NaN beyond. At most 4 ulp."""
    ...

def euler_to_quat(x: Any) -> Any:
    """The unit quaternion of a rotation about the axes x, then y, then z by the angles of a vector (roll, pitch, yaw)."""
    ...

def eval(*arrays: Any) -> Any:
    """Computes arrays now: those given, in lists and dicts too; without arguments every array that somebody holds, and pending"""
    ...

@overload
def exp(x: _Floats) -> _Floats: ...

@overload
def exp(x: Any) -> Any:
    """Exponential function `e^x`. At most 1.5 ulp."""
    ...

def exp10(x: Any) -> Any:
    """Power of ten `10^x`. At most 1.5 ulp."""
    ...

@overload
def exp2(x: _Floats) -> _Floats: ...

@overload
def exp2(x: Any) -> Any:
    """Power of two `2^x`, exact for integers. At most 1.5 ulp."""
    ...

def expand(t: Any, axis: Any) -> Any:
    """With an axis of one entry in front of another, -1 is behind all; of a list with one in each of these places among"""
    ...

def expand_dims(t: Any, axis: Any) -> Any:
    """With an axis of one entry in front of another, -1 is behind all; of a list with one in each of these places. Another"""
    ...

def expit(x: Any) -> Any:
    """Logistic function `1 / (1 + exp(-x))`, accurate in both tails. At most 2.5 ulp."""
    ...

def explain(*x: Any) -> str:
    """What evaluating x would launch: one line a kernel, or a batch of what is alike."""
    ...

def expm(a: Any) -> Any:
    """The exponential of a square matrix, or of many: the sum of its powers, each divided by its factorial, by squares of"""
    ...

@overload
def expm1(x: _Floats) -> _Floats: ...

@overload
def expm1(x: Any) -> Any:
    """`e^x - 1`, accurate near 0 too. At most 2 ulp."""
    ...

def exponent(x: Any) -> Any:
    """The e of `x = m * 2^e` with 0.5 <= |m| < 1, as a float; 0 if x is 0, infinite or NaN. Exact."""
    ...

def eye(*args: Any, dtype: Any = ..., **kwargs: Any) -> Any:
    """A matrix of n rows (and m columns) with ones on a diagonal, and zeros beside: where row and column are the same, or k"""
    ...

def fabs(x: Any) -> Any:
    """Absolute value; `abs(MIN)` is `MIN`."""
    ...

def factorial(n: Any) -> Any:
    """The product of the integers up to n, gamma(n + 1); 0 below 0. Of integers in 64 bits."""
    ...

def fft(x: Any, n: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The Fourier transform along an axis (the last unless given): of entry k the sum of entry j times exp(-2 pi i j k / n)."""
    ...

def fft2(x: Any, *args: Any, **kwargs: Any) -> Any:
    """fft along the last two axes."""
    ...

def fftconvolve(a: Any, b: Any = ..., mode: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The sums of products that convolve gives, through Fourier transforms: of two long arrays in less time, and rounded"""
    ...

def fftfreq(*args: Any, dtype: Any = ..., **kwargs: Any) -> Any:
    """The frequencies of the entries of fft of n samples at a distance (1 unless given): 0 up, then the negative ones."""
    ...

def fftn(x: Any, axes: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """fft along axes, or all."""
    ...

def fftshift(x: Any, axes: Any = ..., axis: Any = ...) -> Any:
    """The entries with that of number 0 in the middle, along axes, or all."""
    ...

def fill_diagonal(x: Any, value: Any, wrap: Any = ...) -> Any:
    """Writes a value to the diagonal of a matrix, or of more axes of one extent; entries of a row that is shorter come again."""
    ...

def find_peaks(x: Any, height: Any = ..., distance: Any = ..., prominence: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The numbers of the entries that are larger than both neighbours, of a plateau its middle. Of these those of a height"""
    ...

def fix(x: Any) -> Any:
    """Integer part, towards zero."""
    ...

def flag(name: Any) -> Any:
    """The value of a switch."""
    ...

def flags() -> Any:
    """All switches with their values."""
    ...

def flatnonzero(t: Any) -> Any:
    """The numbers of the entries that are not 0, or true, in the order in which entries lie. Evaluates."""
    ...

def flatten(t: Any, *args: Any, **kwargs: Any) -> Any:
    """The entries of a tensor as an array; another name of ravel."""
    ...

def flip(t: Any, axes: Any = ..., axis: Any = ...) -> Any:
    """The entries in opposite order along an axis, a list of them, or all."""
    ...

def fliplr(t: Any) -> Any:
    """The columns of a matrix in opposite order: flip along the second axis."""
    ...

def flipud(t: Any) -> Any:
    """The rows of a matrix in opposite order: flip along the first axis."""
    ...

@overload
def floor(x: _Floats) -> _Floats: ...

@overload
def floor(x: Any) -> Any:
    """Largest integer not above `x[i]`."""
    ...

def floor_divide(a: Any, b: Any) -> Any:
    """`a / b` rounded down, as Python's and NumPy's `//`; integers stay integers. By zero 0 of integers, `a / b` of floats."""
    ...

def fma(a: Any, b: Any, c: Any) -> Any:
    """`a * b + c`: floats round once, integers wrap; of matrices, complex numbers and quaternions what the operators"""
    ...

def fmadd(a: Any, b: Any, c: Any) -> Any:
    """`a * b + c`, rounded once; of numbers of several parts as `fma`."""
    ...

def fmax(a: Any, b: Any = ...) -> Any:
    """Larger value; a NaN operand is ignored, and +0 is above -0."""
    ...

def fmin(a: Any, b: Any = ...) -> Any:
    """Smaller value; a NaN operand is ignored, and -0 is below +0."""
    ...

def fmod(a: Any, b: Any) -> Any:
    """Remainder of `a / b` with the sign of `a`, exact, as C's fmod; NaN if b is 0 or a is"""
    ...

def fmsub(a: Any, b: Any, c: Any) -> Any:
    """`a * b - c`, rounded once; of numbers of several parts as `fma`."""
    ...

def fnmadd(a: Any, b: Any, c: Any) -> Any:
    """`c - a * b`, rounded once; of numbers of several parts as `fma`."""
    ...

def fnmsub(a: Any, b: Any, c: Any) -> Any:
    """`-(a * b) - c`, rounded once; of numbers of several parts as `fma`."""
    ...

def forward(x: Any) -> Any:
    """Gives a marked array the direction 1, or that of its gradient if it has one: the gradient of what is computed from"""
    ...

def forward_from(x: Any) -> Any:
    """Another name of forward, of one array: from its gradient, 1 if none was set."""
    ...

def fract(x: Any) -> Any:
    """Fractional part `x - floor(x)`, kept below 1; NaN for infinities."""
    ...

@overload
def freeze(f: Callable[_P, _R], *, static_argnums: Any = ..., static_argnames: Any = ..., **others: Any) -> _Function[_P, _R]: ...

@overload
def freeze(f: None = ..., *, static_argnums: Any = ..., static_argnames: Any = ..., **others: Any) -> Callable[[Callable[_P, _R]], _Function[_P, _R]]:
    """The function f, recorded once for each form of its arguments: a call with arrays of the same types and sizes, and the same"""
    ...

def frexp(x: Any) -> Any:
    """The list `[m, e]` of floats with `x = m * 2^e` and 0.5 <= |m| < 1; `[x, 0]` where x is 0, infinite or NaN. Exact."""
    ...

def frob(x: Any) -> Any:
    """Sum of the squares of all entries, column by column."""
    ...

def from_dlpack(x: Any, *, copy: Any = ...) -> Any:
    """An array or tensor of an array of another library, whose memory is shared as asarray does, by DLPack or in whichever"""
    ...

def full(*args: Any, dtype: Any = ..., **kwargs: Any) -> Any:
    """A tensor of a shape, a list of extents, with a number in every entry; for an integer an array."""
    ...

def full_like(t: Any, x: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """A number as often as a tensor or array has entries, with its shape and type."""
    ...

@overload
def function(f: Callable[_P, _R], *, static_argnums: Any = ..., static_argnames: Any = ..., **others: Any) -> _Function[_P, _R]: ...

@overload
def function(f: None = ..., *, static_argnums: Any = ..., static_argnames: Any = ..., **others: Any) -> Callable[[Callable[_P, _R]], _Function[_P, _R]]:
    """The function f, recorded once for each form of its arguments: a call with arrays of the same types and sizes, and the same"""
    ...

def gamma(x: Any) -> Any:
    """Gamma function, `(x - 1)!` for integers; NaN at negative integers. At most 10 ulp."""
    ...

def gammainc(a: Any, b: Any) -> Any:
    """Regularised lower incomplete gamma function: `gammainc(a, x)` is the probability that a gamma distribution of"""
    ...

def gammaincc(a: Any, b: Any) -> Any:
    """Regularised upper incomplete gamma function: `gammaincc(a, x)` is `1 - gammainc(a, x)`, accurate where that"""
    ...

def gammaln(x: Any) -> Any:
    """Logarithm of `|gamma(x)|`; inf at 0 and negative integers. At most 10 ulp, below -0.5 of the"""
    ...

def gather(source: Any, index: Any = ..., active: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """`source[index[i]]` for each lane of an integer index; 0 where active (optional) is false or the index is out of"""
    ...

def gcd(a: Any, b: Any) -> Any:
    """Greatest common divisor, not negative; 0 of zeros. What has no positive number in the type is MIN."""
    ...

def ge(a: Any, b: Any) -> Any:
    """True where `a[i] >= b[i]`; false if either is NaN."""
    ...

@overload
def gelu(x: _Floats) -> _Floats: ...

@overload
def gelu(x: Any) -> Any:
    """Gaussian error linear unit `x * norm_cdf(x)`; 0 at -inf. At most 3.5 ulp."""
    ...

def gelu_erf(x: Any) -> Any:
    """Gaussian error linear unit `x * norm_cdf(x)`; 0 at -inf. At most 3.5 ulp."""
    ...

def geomspace(*args: Any, dtype: Any = ..., **kwargs: Any) -> Any:
    """n numbers in equal ratios, both ends exact; both have one sign."""
    ...

def glu(x: Any, axis: Any = ...) -> Any:
    """The first half along an axis times the sigmoid of the second."""
    ...

def grad(f: Any, *args: Any, argnums: Any = ..., has_aux: Any = ...) -> Any:
    """The function that gives the gradient of f's result by its arguments, a tuple where there are several."""
    ...

def grad_enabled(x: Any) -> Any:
    """Whether derivatives of a value may be asked for: it is marked, or computed from what is."""
    ...

def gradient(x: Any) -> Any:
    """The gradient that backward left in a marked array; zeros before that."""
    ...

def gradient_of(y: Any, dx: Any = ..., axis: Any = ...) -> Any:
    """Slopes along an axis (the last unless given) of entries that are dx apart (1 unless given): half the difference of"""
    ...

def graphviz(x: Any) -> str:
    """The trace that x depends on, in the DOT language."""
    ...

def greater(a: Any, b: Any) -> Any:
    """`a > b`, under NumPy's name."""
    ...

def greater_equal(a: Any, b: Any) -> Any:
    """`a >= b`, under NumPy's name."""
    ...

def gt(a: Any, b: Any) -> Any:
    """True where `a[i] > b[i]`; false if either is NaN."""
    ...

def hamming(*args: Any, dtype: Any = ..., **kwargs: Any) -> Any:
    """Hamming's window of n numbers, 0.08 at both ends."""
    ...

def hankel(column: Any, row: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The matrix (Hankel's) that is the same along each diagonal from the right to the left: its first column, and its last"""
    ...

def hanning(*args: Any, dtype: Any = ..., **kwargs: Any) -> Any:
    """Hann's window of n numbers, as NumPy calls it: half a cosine's wave above 0, which it is at both ends."""
    ...

def hard_sigmoid(a: Any, b: Any = ..., c: Any = ...) -> Any:
    """`hard_sigmoid(x, alpha, beta)` is `x * alpha + beta` between 0 and 1, in rounded steps; NaN stays. alpha is 0.2 and"""
    ...

def hard_silu(x: Any) -> Any:
    """x times relu6(x + 3) / 6."""
    ...

def hard_swish(x: Any) -> Any:
    """x times relu6(x + 3) / 6."""
    ...

def hard_tanh(x: Any) -> Any:
    """x between -1 and 1, these beyond; NaN stays."""
    ...

def hash(x: Any) -> Any:
    """A number for each lane that looks random and depends on its bits alone, UInt64: the first output of SplitMix64"""
    ...

def head(v: Any, n: Any) -> Any:
    """The first n components of a vector, as v[0..n]."""
    ...

def heaviside(a: Any, b: Any) -> Any:
    """Step function: `heaviside(x, h0)` is 0 below 0, h0 at 0, 1 above; NaN stays."""
    ...

def hessian(f: Any, *args: Any, argnums: Any = ...) -> Any:
    """The function that gives the second derivatives of f(x), of one lane, by the entries of x."""
    ...

def hilbert(x: Any, n: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Real entries along an axis (the last unless given) as a signal without negative frequencies: complex entries whose"""
    ...

def histogram(t: Any, bins: Any = ..., low: Any = ..., high: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """How many lanes fall into each of the bins (10 unless given): intervals of equal width from low to high, both included;"""
    ...

def histogram2d(x: Any, y: Any = ..., bins: Any = ..., x_low: Any = ..., x_high: Any = ..., y_low: Any = ..., y_high: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """How many pairs of entries fall into each rectangle: bins of x are rows, bins of y columns, as histogram has them."""
    ...

def histogram_bin_edges(x: Any, bins: Any = ..., range: Any = ...) -> Any:
    """The bounds of bins of one width that histogram counts in, from the smallest lane to the largest unless range= tells"""
    ...

@overload
def hmax(t: _L) -> _L: ...

@overload
def hmax(t: Any, axes: Any = ..., keepdims: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Largest lane, NaN ignored (an array of size 1, lazy; one order of combining on every device); of a vector: of"""
    ...

def hmax_nested(v: Any) -> Any:
    """As hmax over all components of a vector and all their lanes (size 1, lazy)."""
    ...

@overload
def hmean(t: _L) -> _L: ...

@overload
def hmean(t: Any, axes: Any = ..., keepdims: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Arithmetic mean of all lanes (size 1, lazy), or of a vector's components; of a mask, how many are true, from 0 to 1;"""
    ...

def hmean_nested(v: Any) -> Any:
    """The mean of all components of a vector and all their lanes (size 1, lazy)."""
    ...

@overload
def hmin(t: _L) -> _L: ...

@overload
def hmin(t: Any, axes: Any = ..., keepdims: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Smallest lane, NaN ignored (an array of size 1, lazy; one order of combining on every device); of a vector: of"""
    ...

def hmin_nested(v: Any) -> Any:
    """As hmin over all components of a vector and all their lanes (size 1, lazy)."""
    ...

@overload
def hprod(t: _L) -> _L: ...

@overload
def hprod(t: Any, axes: Any = ..., keepdims: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Product of all lanes (an array of size 1, lazy; one order of combining on every device); of a vector: of its"""
    ...

def hprod_nested(v: Any) -> Any:
    """As hprod over all components of a vector and all their lanes (size 1, lazy)."""
    ...

def hsplit(x: Any, parts: Any) -> Any:
    """Parts of the columns, or of an array with one axis: so many, or those between places."""
    ...

def hstack(list: Any) -> Any:
    """The tensors of a list beside each other: along the second axis, those of one axis, and arrays, behind each other."""
    ...

@overload
def hsum(t: _L) -> _L: ...

@overload
def hsum(t: Any, axes: Any = ..., keepdims: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Sum of all lanes (an array of size 1, lazy; one order of combining on every device), of complex numbers too; of a"""
    ...

def hsum_nested(v: Any) -> Any:
    """As hsum over all components of a vector and all their lanes (size 1, lazy)."""
    ...

def hypot(a: Any, b: Any) -> Any:
    """`sqrt(a * a + b * b)` without overflow on the way; inf if either is infinite. At most 1.5"""
    ...

def i0(x: Any) -> Any:
    """Modified Bessel function of the first kind of order 0. At most 6 ulp."""
    ...

def i0e(x: Any) -> Any:
    """Modified Bessel function of order 0, times exp(-|x|). At most 5 ulp."""
    ...

def i1(x: Any) -> Any:
    """Modified Bessel function of the first kind of order 1. At most 6 ulp."""
    ...

def i1e(x: Any) -> Any:
    """Modified Bessel function of order 1, times exp(-|x|). At most 5 ulp."""
    ...

def identity(n: Any, dtype: Any = ..., size: Any = ...) -> Any:
    """A matrix of n rows with ones on its diagonal, as eye; of a class, identity(Matrix3f, size), so many lanes of it."""
    ...

def idiv(a: Any, b: Any) -> Any:
    """Integer quotient, truncated towards zero; by zero it is 0, and `MIN / -1` is `MIN`."""
    ...

def if_stmt(args: Any, cond: Any, true_fn: Any, false_fn: Any, *, arg_labels: Any = ..., rv_labels: Any = ..., label: Any = ..., mode: Any = ..., strict: Any = ...) -> Any:
    """What true_fn gives in lanes where the mask is true, what false_fn gives in the others. Both take args and return values of"""
    ...

def if_then(mask: Any, args: Any, then: Any, otherwise: Any) -> Any:
    """[4, 3]"""
    ...

def ifft(x: Any, n: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The inverse of fft, divided by n."""
    ...

def ifft2(x: Any, *args: Any, **kwargs: Any) -> Any:
    """The inverse of fft2."""
    ...

def ifftn(x: Any, axes: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The inverse of fftn."""
    ...

def ifftshift(x: Any, axes: Any = ..., axis: Any = ...) -> Any:
    """The inverse of fftshift."""
    ...

def imag(x: Any) -> Any:
    """Imaginary part of a complex number; `z.imag` names the part itself."""
    ...

def in1d(t: Any, values: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Which entries are among values: a list, an array or a tensor. NaN is among none. Recorded, not run; complex ones are"""
    ...

def indices(dimensions: Any, dtype: Any = ...) -> Any:
    """For each entry of a shape its numbers along the axes: a tensor with the axes in front."""
    ...

def init(device: Any = ..., threads: Any = ..., memory_limit: Any = ..., log_level: Any = ...) -> Any:
    """Chooses the device and its bounds. Only before anything was computed; without it the best device that answers is"""
    ...

def inner(a: Any, b: Any) -> Any:
    """The sum of products over the last axis of both; of two arrays the sum of the products of their lanes."""
    ...

def inp(a: Any, b: Any) -> Any:
    """Sum of the products of entries, the second conjugated; shapes are equal."""
    ...

def insert(x: Any, place: Any, values: Any, axis: Any = ...) -> Any:
    """x with others in front of the entry with a number: along an axis, or in the row of all entries. With several numbers, or"""
    ...

def interp(x: Any, xp: Any = ..., fp: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The line through points at x: xp are their places, ascending, and fp the values there. Beyond the ends the first and"""
    ...

def intersect1d(a: Any, b: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The values that occur in both, each once, ascending, in the type of the first. Evaluates."""
    ...

def inv(a: Any) -> Any:
    """The inverse of a square matrix, or of many, as solve. solve(a, b) is more accurate than inv(a) @ b."""
    ...

def inverse(x: Any) -> Any:
    """Inverse of a quaternion, `rcp` by another name: `q * inverse(q)` is 1."""
    ...

def inverse_transpose(x: Any) -> Any:
    """Transpose of the inverse matrix: it turns normals as the matrix turns points."""
    ...

def invert(x: Any) -> Any:
    """Bitwise complement of integers, logical not of masks."""
    ...

def ir(*x: Any) -> str:
    """The kernels that would compute x, in the backends' common form."""
    ...

def irfft(x: Any, n: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The n real entries whose rfft this is, an even number unless n is given."""
    ...

def irfft2(x: Any, n: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The real entries whose rfft2 this is, an even number along the last axis unless n is given."""
    ...

def irfftn(x: Any, axes: Any = ..., n: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The real entries whose rfftn this is, an even number along the last of the axes unless n is given."""
    ...

def is_arithmetic_v(x: Any) -> Any:
    """Whether x, or a class, has numbers."""
    ...

def is_array_v(x: Any) -> Any:
    """Whether x is an array of any kind, or a class of them."""
    ...

def is_complex_v(x: Any) -> Any:
    """Whether x is complex lanes, or a class of them."""
    ...

def is_float_v(x: Any) -> Any:
    """Whether x, or a class, has floats."""
    ...

def is_integral_v(x: Any) -> Any:
    """Whether x, or a class, has integers."""
    ...

def is_mask_v(x: Any) -> Any:
    """Whether x, or a class, has truth values."""
    ...

def is_matrix_v(x: Any) -> Any:
    """Whether x is a matrix, or a class of them."""
    ...

def is_quaternion_v(x: Any) -> Any:
    """Whether x is a quaternion, or a class of them."""
    ...

def is_signed_v(x: Any) -> Any:
    """Whether x, or a class, has numbers with signs."""
    ...

def is_tensor_v(x: Any) -> Any:
    """Whether x is a tensor, or a class of them."""
    ...

def is_unsigned_v(x: Any) -> Any:
    """Whether x, or a class, has numbers without signs, or truth values."""
    ...

def is_vector_v(x: Any) -> Any:
    """Whether x is a vector, or a class of them."""
    ...

def isclose(a: Any, b: Any, rtol: Any = ..., atol: Any = ..., equal_nan: Any = ...) -> Any:
    """Which lanes are near, as allclose has it: a mask. Recorded, not run."""
    ...

def isdenormal(x: Any) -> Any:
    """Whether the value is subnormal: not 0, but below the smallest normal number."""
    ...

def isfinite(x: Any) -> Any:
    """Whether the value is neither infinite nor NaN."""
    ...

def isin(t: Any, values: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Which entries are among values: a list, an array or a tensor. NaN is among none. Recorded, not run; complex ones are"""
    ...

def isinf(x: Any) -> Any:
    """Whether the value is infinite."""
    ...

def isnan(x: Any) -> Any:
    """Whether the value is not a number."""
    ...

def isneginf(x: Any) -> Any:
    """Whether the value is negative infinity."""
    ...

def isolate_grad() -> AbstractContextManager[None]:
    """with isolate_grad(): backward inside halts at what was there before; at the end it goes on, once."""
    ...

def isposinf(x: Any) -> Any:
    """Whether the value is positive infinity."""
    ...

def itemsize_v(x: Any) -> Any:
    """How many bytes a number takes, of a class or a value."""
    ...

def ix_(*numbers_of_axes: Any) -> Any:
    """Rows of numbers as what t[..] takes for all their combinations: each with an axis of its own."""
    ...

def j0(x: Any) -> Any:
    """Bessel function of the first kind of order 0. At most 8 ulp, for |x| > 8 of its amplitude"""
    ...

def j1(x: Any) -> Any:
    """Bessel function of the first kind of order 1. At most 8 ulp, for |x| > 8 of its amplitude"""
    ...

def jacobian(f: Any, *args: Any, argnums: Any = ...) -> Any:
    """The function that gives the derivatives of each entry of f(x) by each entry of x: a tensor with the axes of f(x), then"""
    ...

@overload
def jit(f: Callable[_P, _R], *, static_argnums: Any = ..., static_argnames: Any = ..., **others: Any) -> _Function[_P, _R]: ...

@overload
def jit(f: None = ..., *, static_argnums: Any = ..., static_argnames: Any = ..., **others: Any) -> Callable[[Callable[_P, _R]], _Function[_P, _R]]:
    """The function f, recorded once for each form of its arguments: a call with arrays of the same types and sizes, and the same"""
    ...

def jvp(f: Any, primals: Any, tangents: Any) -> Any:
    """f(*primals) and its derivative in a direction, which has the form of the primals; that of constants is 0."""
    ...

def kaiser(*args: Any, dtype: Any = ..., **kwargs: Any) -> Any:
    """Kaiser's window of n numbers: 1 everywhere for beta 0, the narrower the larger beta is."""
    ...

def kernel(text: Any) -> Any:
    """A kernel written as text, a small typed subset of C: it is called with arrays, lane by lane, and is recorded like any"""
    ...

def kernel_history(clear: Any = ...) -> Any:
    """The last 10 000 launches: a list of dicts, which prints as a table. clear=True forgets them afterwards."""
    ...

def kernel_history_clear() -> Any:
    """Forgets the launches so far."""
    ...

def kron(a: Any, b: Any) -> Any:
    """Each entry of a times all of b, in its place (Kronecker's product): of matrices, arrays, tensors of any axes."""
    ...

def kurtosis(t: Any, axes: Any = ..., keepdims: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """How much of the distribution of the entries along axes, as of hsum, lies in its tails: the mean fourth power of their"""
    ...

def label(x: Any) -> Any:
    """The name that set_label gave, or None."""
    ...

def largest(dtype: Any) -> Any:
    """The largest finite number, of a class or an array of floats."""
    ...

def lcm(a: Any, b: Any) -> Any:
    """Least common multiple, 0 if either is 0; what is beyond the type wraps."""
    ...

def ldexp(a: Any, b: Any) -> Any:
    """`a * 2^b` for the integer part of b, rounded once."""
    ...

def le(a: Any, b: Any) -> Any:
    """True where `a[i] <= b[i]`; false if either is NaN."""
    ...

def leaky_relu(a: Any, b: Any = ...) -> Any:
    """`leaky_relu(x, slope)` is x from 0 up, `x * slope` below; NaN stays. slope is 0.01 where it is left out."""
    ...

def left(a: Any, b: Any) -> Any:
    """The first of two arguments, in their common type and size."""
    ...

def left_shift(a: Any, b: Any) -> Any:
    """a << b, under NumPy's name."""
    ...

def len(t: Any) -> Any:
    """Number of lanes of an array, of components of a vector."""
    ...

def lerp(a: Any, b: Any, c: Any) -> Any:
    """`fma(t, b - a, a)`: `a` at t = 0, near `b` at t = 1; of Float16 rounded once. Of numbers of several parts as `fma`."""
    ...

def less(a: Any, b: Any) -> Any:
    """`a < b`, under NumPy's name."""
    ...

def less_equal(a: Any, b: Any) -> Any:
    """`a <= b`, under NumPy's name."""
    ...

def lexsort(keys: Any, axis: Any = ...) -> Any:
    """The numbers that sort by several keys, arrays or tensors of one shape, along an axis (the last unless given): by the last"""
    ...

def lfilter(b: Any, a: Any, x: Any, axis: Any = ..., zi: Any = ...) -> Any:
    """y of a[0] y[n] = b[0] x[n] + b[1] x[n - 1] + .. - a[1] y[n - 1] - a[2] y[n - 2] - .. along an axis (the last unless"""
    ...

@overload
def lgamma(x: _Floats) -> _Floats: ...

@overload
def lgamma(x: Any) -> Any:
    """Logarithm of `|gamma(x)|`; inf at 0 and negative integers. At most 10 ulp, below -0.5 of the"""
    ...

def linear_to_srgb(x: Any) -> Any:
    """Light intensity to the value stored in an sRGB image. At most 10 ulp from 0 to 1."""
    ...

def linspace(*args: Any, dtype: Any = ..., **kwargs: Any) -> Any:
    """n numbers at equal distances, both ends exact. With endpoint false (optional) the last of n + 1 is left out."""
    ...

def load(path: Any) -> Any:
    """The array or tensor of a file .npy, as np.load; those of a file .npz in a dict by their names. NumPy must be there."""
    ...

@overload
def log(x: _Floats) -> _Floats: ...

@overload
def log(x: Any) -> Any:
    """Natural logarithm; -inf at 0, NaN below. At most 1.5 ulp."""
    ...

@overload
def log10(x: _Floats) -> _Floats: ...

@overload
def log10(x: Any) -> Any:
    """Logarithm to base 10; -inf at 0, NaN below. At most 1.5 ulp."""
    ...

def log1mexp(x: Any) -> Any:
    """The logarithm of 1 - exp(-x), of x above 0, with all digits where x is small or large."""
    ...

@overload
def log1p(x: _Floats) -> _Floats: ...

@overload
def log1p(x: Any) -> Any:
    """`log(1 + x)`, accurate near 0 too; -inf at -1, NaN below. At most 2 ulp."""
    ...

@overload
def log2(x: _Floats) -> _Floats: ...

@overload
def log2(x: Any) -> Any:
    """Logarithm to base 2, exact for powers of two; -inf at 0, NaN below. At most 2 ulp."""
    ...

def log2i(x: Any) -> Any:
    """Position of the highest one bit, `floor(log2(x))` of the bits as unsigned; of 0 it is -1, in unsigned types"""
    ...

def log_level() -> Any:
    """The log level, 0 to 5."""
    ...

def log_ndtr(x: Any) -> Any:
    """The logarithm of norm_cdf, also where that is next to 0 or 1."""
    ...

def log_sigmoid(x: Any) -> Any:
    """Logarithm of `sigmoid(x)`, accurate in both tails. At most 2 ulp."""
    ...

def log_softmax(t: Any, axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The logarithms of what softmax gives, of small shares too."""
    ...

def logaddexp(a: Any, b: Any) -> Any:
    """`log(exp(a) + exp(b))` without overflow on the way. At most 2.5 ulp of the largest of `|a|`, `|b|` and the result."""
    ...

def logical_and(a: Any, b: Any) -> Any:
    """Whether both are true, or not 0."""
    ...

def logical_not(x: Any) -> Any:
    """Whether the value is false, or 0."""
    ...

def logical_or(a: Any, b: Any) -> Any:
    """Whether one of two is true, or not 0."""
    ...

def logical_xor(a: Any, b: Any) -> Any:
    """Whether one of two is true, or not 0, and the other is not."""
    ...

def logit(x: Any) -> Any:
    """Logarithm of the odds `x / (1 - x)`, the inverse of `sigmoid`; -inf at 0, inf at 1, NaN beyond. At most 2.5 ulp."""
    ...

def logmeanexp(x: Any, axis: Any = ..., keepdims: Any = ...) -> Any:
    """The logarithm of the mean of the exponentials along axes, without overflow on the way."""
    ...

def logspace(*args: Any, dtype: Any = ..., **kwargs: Any) -> Any:
    """base (10 unless given) to the power of n numbers at equal distances, as linspace has them."""
    ...

def logsumexp(t: Any, axes: Any = ..., keepdims: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Logarithm of the sum of the exponentials along axes, as hsum, without overflow on the way; -inf of nothing."""
    ...

def lstsq(a: Any, b: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """x of the least sum of squares of a @ x - b, of several the shortest, by singular values: those up to the longer side"""
    ...

def lt(a: Any, b: Any) -> Any:
    """True where `a[i] < b[i]`; false if either is NaN."""
    ...

def lu(a: Any) -> Any:
    """[p, l, u] of a = p @ l @ u: a permutation, a lower and an upper triangle, by partial pivoting. Evaluates, as solve."""
    ...

def lzcnt(x: Any) -> Any:
    """Number of zero bits above the highest one; the width for 0."""
    ...

def malloc_trim() -> Any:
    """Gives memory that is kept for later back to the system: how many blocks and bytes. Compiled kernels go too."""
    ...

def mantissa(x: Any) -> Any:
    """The m of `x = m * 2^e` with 0.5 <= |m| < 1; x itself if it is 0, infinite or NaN. Exact."""
    ...

def mask_t(x: Any) -> Any:
    """The class that comparisons give."""
    ...

def matmul(a: Any, b: Any) -> Any:
    """The product of matrices, as a @ b: the last two axes; those before them broadcast. A tensor or array of one axis is a"""
    ...

def matrix_norm(x: Any, *, keepdims: Any = ..., ord: Any = ...) -> Any:
    """The norms of the matrices in the last two axes; ord= as of norm."""
    ...

def matrix_power(m: Any, n: Any) -> Any:
    """The product of a square matrix with itself, n times; of n = 0 the identity, below 0 the product of its inverse, which"""
    ...

def matrix_rank(a: Any, *args: Any, **kwargs: Any) -> Any:
    """How many singular values of a matrix are not 0, as lstsq counts. Evaluates."""
    ...

def matrix_to_quat(x: Any) -> Any:
    """The unit quaternion of a rotation matrix. After Mike Day, Converting a Rotation Matrix to a Quaternion: four times"""
    ...

def matrix_transpose(x: Any) -> Any:
    """The matrices in the last two axes turned: rows are columns."""
    ...

def max(x: Any, axis: Any = ..., keepdims: bool = ..., **kwargs: Any) -> Any:
    """Largest entry, of all or along axes; NaN is ignored. An integer in second place is an axis, as in NumPy, and a"""
    ...

def maximum(a: Any, b: Any) -> Any:
    """Larger value, NaN if either is NaN; +0 is above -0."""
    ...

@overload
def mean(t: _L) -> _L: ...

@overload
def mean(t: Any, axes: Any = ..., keepdims: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Arithmetic mean of all lanes (size 1, lazy), or of a vector's components; of a mask, how many are true, from 0 to 1;"""
    ...

def medfilt(x: Any, kernel_size: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Each entry as the median of its neighbours, so many along every axis (3 unless given), an odd number, or a list of one"""
    ...

def median(t: Any, axes: Any = ..., keepdims: Any = ..., axis: Any = ...) -> Any:
    """The middle value in order (size 1, lazy), of an even number of lanes half the sum of the two; NaN if a lane is"""
    ...

def mem_get_info() -> Any:
    """Bytes of the device's memory: used, kept for later, most, limit."""
    ...

def meshgrid(x: Any, y: Any = ..., z: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """All pairs of a lane of x and a lane of y, as a list of two arrays; x runs fastest. Recorded, not run."""
    ...

def min(x: Any, axis: Any = ..., keepdims: bool = ..., **kwargs: Any) -> Any:
    """Smallest entry, of all or along axes; NaN is ignored. An integer in second place is an axis, as in NumPy, and a"""
    ...

def minimum(a: Any, b: Any) -> Any:
    """Smaller value, NaN if either is NaN; -0 is below +0."""
    ...

def mish(x: Any) -> Any:
    """`x * tanh(softrelu(x))`; 0 at -inf. At most 4 ulp."""
    ...

def mod(a: Any, b: Any) -> Any:
    """Remainder of `a / b` with the sign of `b`, as Python's and NumPy's `%`; by zero 0 of integers, NaN of floats."""
    ...

def modf(x: Any) -> Any:
    """The parts of x behind and in front of the point: a tuple, both with the sign of x."""
    ...

def morton_decode(code: Any, n: Any) -> Any:
    """The vector of n components (1 to 4) that morton_encode made a code of."""
    ...

def morton_encode(v: Any) -> Any:
    """Morton code of the integer components of a vector: bit i of component k becomes bit i * n + k; of w bits the"""
    ...

def moveaxis(t: Any, from_: Any = ..., to: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """An axis in another place, the others in their order."""
    ...

def mul_elem(a: Any, b: Any) -> Any:
    """Product of two matrices entry by entry; `a * b` is the matrix product."""
    ...

def mul_hi(a: Any, b: Any) -> Any:
    """The upper half of a product of integers; another name of mulhi."""
    ...

def mul_wide(a: Any, b: Any) -> Any:
    """The product of integers of 32 bits in 64."""
    ...

def mulhi(a: Any, b: Any) -> Any:
    """Upper half of the double-width product."""
    ...

def mulsign(a: Any, b: Any) -> Any:
    """`a` times the sign of `b`."""
    ...

def mulsign_neg(a: Any, b: Any) -> Any:
    """`a` times the opposite sign of `b`."""
    ...

def multi_dot(arrays: Any) -> Any:
    """The product of matrices in the order with the fewest products of numbers; the first and the last may be vectors."""
    ...

def multiply(a: Any, b: Any) -> Any:
    """a * b, under NumPy's name."""
    ...

def nan_to_num(x: Any, nan: Any = ..., posinf: Any = ..., neginf: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """x with numbers in the place of NaN (0 unless given) and of the infinities (the largest and the lowest value of the"""
    ...

def nanargmax(t: Any, axis: Any = ..., keepdims: Any = ...) -> Any:
    """The number of the first lane that holds the largest value (an array of size 1, lazy). NaN is ignored, +0 is above"""
    ...

def nanargmin(t: Any, axis: Any = ..., keepdims: Any = ...) -> Any:
    """The number of the first lane that holds the smallest value (an array of size 1, lazy). NaN is ignored, -0 is"""
    ...

def nancumprod(x: Any, axis: Any = ..., dtype: Any = ...) -> Any:
    """Products of the entries up to each, NaN as 1: along an axis, or of all in one row."""
    ...

def nancumsum(x: Any, axis: Any = ..., dtype: Any = ...) -> Any:
    """Sums of the entries up to each, NaN as 0: along an axis, or of all in one row."""
    ...

def nanmax(t: Any, axes: Any = ..., keepdims: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Largest lane that is not NaN: another name of hmax."""
    ...

def nanmean(t: Any, axes: Any = ..., keepdims: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Arithmetic mean of the lanes that are not NaN, as hmean; NaN of nothing."""
    ...

def nanmedian(t: Any, axes: Any = ..., keepdims: Any = ..., axis: Any = ...) -> Any:
    """The middle value of the entries that are not NaN along an axis, a list of axes, or of all; NaN where there are none."""
    ...

def nanmin(t: Any, axes: Any = ..., keepdims: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Smallest lane that is not NaN: another name of hmin."""
    ...

def nanpercentile(t: Any, p: Any = ..., axes: Any = ..., keepdims: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The value below which p of a hundred entries that are not NaN lie, as nanquantile(t, p / 100)."""
    ...

def nanprod(t: Any, axes: Any = ..., keepdims: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Product of the lanes that are not NaN, as hprod; 1 of nothing."""
    ...

def nanquantile(t: Any, p: Any = ..., axes: Any = ..., keepdims: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The value below which a part p of the entries that are not NaN lies, along an axis, a list of axes, or of all, as"""
    ...

def nanstd(t: Any, axes: Any = ..., keepdims: Any = ..., ddof: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Square root of the variance of the entries that are not NaN along axes, as nanvar."""
    ...

def nansum(t: Any, axes: Any = ..., keepdims: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Sum of the lanes that are not NaN, as hsum; 0 of nothing."""
    ...

def nanvar(t: Any, axes: Any = ..., keepdims: Any = ..., ddof: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Variance of the entries that are not NaN along axes, as var, of complex ones too; NaN of no more of them than ddof."""
    ...

def ndim(x: Any) -> Any:
    """The number of axes."""
    ...

def ndtr(x: Any) -> Any:
    """Normal distribution: the probability of a standard normal number below x. At most 3 ulp."""
    ...

def ndtri(x: Any) -> Any:
    """Quantile of the normal distribution: the x with `norm_cdf(x) == p`; infinite at 0 and 1, NaN beyond."""
    ...

def neg(x: Any) -> Any:
    """Negation: `y[i] = -x[i]`; integers wrap."""
    ...

def negative(x: Any) -> Any:
    """Negation: `y[i] = -x[i]`; integers wrap."""
    ...

def neq(a: Any, b: Any) -> Any:
    """True where `a[i] != b[i]`; true if either is NaN."""
    ...

def next_float(x: Any) -> Any:
    """The next float above; the smallest positive one above either zero."""
    ...

def nextafter(a: Any, b: Any) -> Any:
    """The next float after a towards b, as C has it: b if they are equal, NaN if either is."""
    ...

def no_grad() -> AbstractContextManager[None]:
    """with no_grad(): what is computed inside is not tracked, whatever it is computed from."""
    ...

def none(mask: Any) -> Any:
    """Whether no lane of a mask is true (evaluates, gives a bool); of a vector: not or of its components, lane by lane."""
    ...

def none_nested(mask: Any) -> Any:
    """As none over all components of a vector and all their lanes; evaluates."""
    ...

def none_or(default: Any, mask: Any) -> Any:
    """Whether no lane is true, if the mask is a number that is known already; else the default. Never evaluates: a"""
    ...

def nonzero(t: Any) -> Any:
    """The numbers of the entries that are not 0, or true, along each axis: a list of arrays, one an axis. Evaluates."""
    ...

def norm(t: Any, axes: Any = ..., keepdims: Any = ..., order: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The square root of the sum of the squares of entries along an axis, a list of axes, or of all; of complex entries of"""
    ...

def norm_cdf(x: Any) -> Any:
    """Normal distribution: the probability of a standard normal number below x. At most 3 ulp."""
    ...

def norm_ppf(x: Any) -> Any:
    """Quantile of the normal distribution: the x with `norm_cdf(x) == p`; infinite at 0 and 1, NaN beyond."""
    ...

def normalize(x: Any) -> Any:
    """The vector divided by its length, lane by lane."""
    ...

def not_(x: Any) -> Any:
    """Bitwise complement of integers, logical not of masks."""
    ...

def not_equal(a: Any, b: Any) -> Any:
    """`a != b`, under NumPy's name."""
    ...

def one_hot(*args: Any, dtype: Any = ..., **kwargs: Any) -> Any:
    """Of each index, integers, n numbers along a new last axis: 1 at its place, 0 beside; of one that is no place all are 0."""
    ...

def one_minus_epsilon(dtype: Any) -> Any:
    """The largest number below 1, of a class or an array of floats."""
    ...

def ones(*args: Any, dtype: Any = ..., **kwargs: Any) -> Any:
    """A tensor of ones, its shape a list of extents; for an integer an array."""
    ...

def ones_like(t: Any, *args: Any, **kwargs: Any) -> Any:
    """As many ones as a tensor or array has entries, with its shape and type."""
    ...

def opaque(dtype: Any, value: Any, n: Any = ...) -> Any: ...

def outer(a: Any, b: Any) -> Any:
    """Each entry of the first times each of the second: the axes of both, one behind the other."""
    ...

def pad(t: Any, widths: Any = ..., value: Any = ..., mode: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """A tensor with entries of a number (0 unless given) around: a list of as many before and behind, for each axis two"""
    ...

def partition(x: Any, *args: Any, **kwargs: Any) -> Any:
    """Each value that occurs in an array of integers, ascending, with the numbers of the lanes that hold it: a list of"""
    ...

def percentile(t: Any, p: Any = ..., axes: Any = ..., keepdims: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The value below which p of a hundred entries along an axis, a list of axes, or of all lie, as quantile(t, p / 100)."""
    ...

def perm(n: Any, k: Any) -> Any:
    """How many rows of k there are of n things, none twice; of fractions what gamma says. In 64 bits, with about 13 digits."""
    ...

def permutation(n: Any) -> Any:
    """The numbers below n in random order, UInt32; of an array or tensor what shuffle gives. pc.take(x, pc.permutation(x.size)[:k])"""
    ...

def permute(t: Any, axes: Any, axis: Any = ...) -> Any:
    """The axes of a tensor in another order."""
    ...

def permute_dims(t: Any, axes: Any, axis: Any = ...) -> Any:
    """The axes of a tensor in another order."""
    ...

def philox4x32(counter: Any, key: Any) -> Any:
    """Four random words a lane, Philox4x32-10: of four words of a counter and two of a key, which may be any; equal ones"""
    ...

def piecewise(x: Any, conditions: Any, values: Any) -> Any:
    """For each lane the value, or what a function gives of x, whose condition is true, of several the last one; one value more"""
    ...

def pinv(a: Any, *args: Any, **kwargs: Any) -> Any:
    """The inverse of what is not 0 in a matrix of any shape (Moore's and Penrose's), by singular values, as lstsq."""
    ...

def plan(*x: Any) -> str:
    """What evaluating x would launch: one line a kernel, or a batch of what is alike."""
    ...

def polar_decomp(x: Any) -> Any:
    """`[q, p]` with `m = q * p`: the nearest orthogonal matrix and a symmetric one, of complex entries a unitary and"""
    ...

def polyadd(a: Any, b: Any) -> Any:
    """The sum of two polynomials."""
    ...

def polyder(p: Any, m: Any = ...) -> Any:
    """The derivative of a polynomial, or the one of order m."""
    ...

def polydiv(a: Any, b: Any) -> Any:
    """The quotient of two polynomials and what is left: a tuple. It has one coefficient fewer than b, zeros too."""
    ...

def polyfit(x: Any, y: Any = ..., degree: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The coefficients of the polynomial of a degree with the least sum of squares at the points (x, y), the highest power"""
    ...

def polyint(p: Any, m: Any = ..., k: Any = ...) -> Any:
    """The integral of a polynomial, or the one of order m, with k as the constant of each, or a list of them."""
    ...

def polymul(a: Any, b: Any) -> Any:
    """The product of two polynomials."""
    ...

def polysub(a: Any, b: Any) -> Any:
    """The difference of two polynomials."""
    ...

def polyval(p: Any, x: Any) -> Any:
    """The polynomial with these coefficients at x, the highest power first, by Horner's rule."""
    ...

def popcnt(x: Any) -> Any:
    """Number of one bits."""
    ...

def positive(x: Any) -> Any:
    """+x: x as it is."""
    ...

def pow(a: Any, b: Any) -> Any:
    """Power `a ** b`. With a script integer b of an array a by repeated squaring, exact for integers; negative b"""
    ...

def power(a: Any, b: Any) -> Any:
    """Power `a ** b`. With a script integer b of an array a by repeated squaring, exact for integers; negative b"""
    ...

def prefix_reduce(op: Any, value: Any, axis: Any = ..., exclusive: Any = ..., reverse: Any = ...) -> Any:
    """For each entry what ReduceOp.Add, Mul, Min or Max makes of those before it along an axis, without itself, as Dr.Jit has"""
    ...

def prefix_sum(x: Any, *args: Any, **kwargs: Any) -> Any:
    """Prefix sums: lane i is the sum of lanes 0 to i, in one order on every device; types as of hsum. Recorded, not run."""
    ...

def prev_float(x: Any) -> Any:
    """The next float below."""
    ...

@overload
def prod(t: _L) -> _L: ...

@overload
def prod(t: Any, axes: Any = ..., keepdims: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Product of all lanes (an array of size 1, lazy; one order of combining on every device); of a vector: of its"""
    ...

def promote_types(a: Any, b: Any) -> Any:
    """The type of lanes that two have together."""
    ...

def psi(x: Any) -> Any:
    """Digamma function, the derivative of `lgamma`; -inf at 0 (inf at -0), NaN at negative integers and -inf."""
    ...

def psum(x: Any, *args: Any, **kwargs: Any) -> Any:
    """Prefix sums: lane i is the sum of lanes 0 to i, in one order on every device; types as of hsum. Recorded, not run."""
    ...

def psum_exclusive(x: Any) -> Any:
    """Sum of the lanes before each, recorded, not run; lane 0 is 0. Types as of hsum."""
    ...

def psum_reverse(x: Any) -> Any:
    """Sums from the other end: lane i is the sum of lanes i to the last, added from the last on. Types as of hsum."""
    ...

def ptp(t: Any, axes: Any = ..., keepdims: Any = ..., axis: Any = ...) -> Any:
    """From the smallest entry to the largest along axes, as hsum: their difference."""
    ...

def ptx(*x: Any) -> str:
    """The PTX of the kernels that would compute x, for this GPU, or sm_75 where there is none."""
    ...

def put(t: Any, index: Any, value: Any, axis: Any = ...) -> Any:
    """The tensor with other entries at these numbers along an axis (0 unless given); negative numbers count from the end."""
    ...

def put_along_axis(x: Any, index: Any, values: Any, axis: Any) -> Any:
    """Writes values to the entries of x that have these numbers along an axis, one for each line, as take_along_axis reads"""
    ...

def qr(a: Any, *args: Any, **kwargs: Any) -> Any:
    """[q, r] of a = q @ r: orthonormal columns and an upper triangle, with as many rows as the shorter side of a."""
    ...

def quantile(t: Any, p: Any = ..., axes: Any = ..., keepdims: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The value below which a part p of the lanes lies, 0 to 1 (size 1, lazy), between two lanes on the line through them,"""
    ...

def quat_to_euler(x: Any) -> Any:
    """The angles about the axes x, y, z (roll, pitch, yaw) of a rotation by a unit quaternion:"""
    ...

def quat_to_matrix(x: Any) -> Any:
    """Rotation by a unit quaternion as a matrix of homogeneous coordinates."""
    ...

def rad2deg(x: Any) -> Any:
    """Radians to degrees: `x * (180 / pi)`."""
    ...

def rad_to_deg(x: Any) -> Any:
    """Radians to degrees: `x * (180 / pi)`."""
    ...

def radians(x: Any) -> Any:
    """Degrees to radians: `x * (pi / 180)`."""
    ...

def rand(n: Any = ..., rng: Any = ..., *, dtype: Any = ...) -> Any:
    """n uniform floats in [0, 1), one unless told, with 23 random bits; a tuple is the shape of a tensor. They come from the"""
    ...

def randint(low: Any, high: Any, n: Any, rng: Any = ...) -> Any:
    """n uniform integers from low up to but not including high, Int32, or Int64 if a bound needs it; n and rng as in rand."""
    ...

def randn(n: Any = ..., rng: Any = ..., *, dtype: Any = ...) -> Any:
    """n standard normal floats; n and rng as in rand. With dtype="float64" doubles."""
    ...

def rankdata(x: Any, method: Any = ...) -> Any:
    """The places that entries have in order, from 1, of all in one row. Equal ones have the mean of theirs (method="average"), the"""
    ...

def ravel(t: Any, *args: Any, **kwargs: Any) -> Any:
    """All entries of a vector, matrix, complex number or quaternion as one array, lane by lane: x0 y0 z0 x1 y1 z1 .., those"""
    ...

def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = ..., order: Any = ...) -> Any:
    """The numbers of entries in the order in which they lie, from those along the axes of a shape: the other way than"""
    ...

def rcbrt(x: Any) -> Any:
    """Reciprocal cube root `1 / cbrt(x)`; infinite at 0. At most 1.5 ulp."""
    ...

@overload
def rcp(x: _Floats) -> _Floats: ...

@overload
def rcp(x: Any) -> Any:
    """Reciprocal `1 / x`, correctly rounded; of a matrix the inverse."""
    ...

def read_image(path: Any, dtype: Any = ...) -> Any:
    """The picture in a file, PNG or JPEG, as a tensor: (rows, columns) of greys, (rows, columns, 3) of red, green and blue,"""
    ...

def real(x: Any) -> Any:
    """Real part of a complex number; `z.real` names the part itself."""
    ...

def reciprocal(x: Any) -> Any:
    """Reciprocal `1 / x`, correctly rounded; of a matrix the inverse."""
    ...

def reduce(op: Any, value: Any, axis: Any = ..., mode: Any = ..., keepdims: Any = ...) -> Any:
    """sum, prod, min, max, all or any, by ReduceOp.Add, Mul, Min, Max, And, Or; without axis that of all entries, of a vector"""
    ...

def reduction(header: Any, *, map: Any, reduce: Any, post: Any = ..., identity: Any = ...) -> Any:
    """A reduction written as text: map is what each lane becomes, reduce how two of them, a and b, combine (associative and"""
    ...

def reinterpret_array(dtype: Any, x: Any) -> Any:
    """The bits of the lanes as another type; another name of dtype.reinterpret."""
    ...

@overload
def relu(x: _Floats) -> _Floats: ...

@overload
def relu(x: Any) -> Any:
    """Rectifier `maximum(x, 0)`; NaN stays."""
    ...

def relu6(x: Any) -> Any:
    """x between 0 and 6, 0 below and 6 above; NaN stays. Its slope is 0 at 0 and at 6."""
    ...

def remainder(a: Any, b: Any) -> Any:
    """Remainder of `a / b` with the sign of `b`, as Python's and NumPy's `%`; by zero 0 of integers, NaN of floats."""
    ...

def repeat(t: Any, n: Any, axis: Any = ...) -> Any:
    """Each lane n times; recorded, not run. With an array of integers each lane as often as its own says, which is"""
    ...

def replace_grad(value: Any, other: Any) -> Any:
    """The numbers of a value with the derivatives of another one of its form: what was computed in a way that has none, or"""
    ...

def requires_grad(x: Any) -> Any:
    """Whether derivatives of a value may be asked for: it is marked, or computed from what is."""
    ...

def reshape(t: Any, shape: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The entries of a tensor or array in their order with another shape, a list; one extent may be -1."""
    ...

def resize(x: Any, n: Any) -> Any:
    """n lanes: of an array of size 1 the same in all; of others the first n, or all and then zeros. Recorded, not run;"""
    ...

def result_type(*arrays_and_types: Any) -> Any:
    """The type of lanes that arrays, types and numbers have together in operations."""
    ...

def resume_grad() -> AbstractContextManager[None]:
    """with resume_grad(): what is computed inside from marked arrays is tracked, inside no_grad too."""
    ...

@overload
def reverse(x: _A) -> _A: ...

@overload
def reverse(x: Any) -> Any:
    """The lanes from the last to the first, recorded, not run; of complex numbers too; of a vector: its components."""
    ...

def rfft(x: Any, n: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The first n / 2 + 1 entries of fft of real entries; the others are their conjugates."""
    ...

def rfft2(x: Any, *args: Any, **kwargs: Any) -> Any:
    """The first half of fft2 of real entries: rfft along the last axis, then fft along the one before."""
    ...

def rfftfreq(*args: Any, dtype: Any = ..., **kwargs: Any) -> Any:
    """The frequencies of the entries of rfft of n samples."""
    ...

def rfftn(x: Any, axes: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The first half of fftn of real entries along axes, or all: rfft along the last of them, then fft along the others."""
    ...

def right(a: Any, b: Any) -> Any:
    """The second of two arguments, in their common type and size."""
    ...

def right_shift(a: Any, b: Any) -> Any:
    """a >> b, under NumPy's name."""
    ...

def rint(x: Any, decimals: Any = ...) -> Any:
    """x rounded to so many decimals, halves to even, floats with a negative number to tens, hundreds ..:"""
    ...

def rol(a: Any, b: Any) -> Any:
    """Bits of `a` rotated left by `b[i]`, modulo the width; the result has `a`'s type."""
    ...

@overload
def roll(t: _A, n: Any, axis: Any = ...) -> _A: ...

@overload
def roll(t: Any, n: Any, axis: Any = ...) -> Any:
    """The lanes moved up by n, those at the end coming in at the front; down if n is negative. Recorded, not run;"""
    ...

def roots(p: Any) -> Any:
    """The complex roots of the polynomial with these coefficients, the highest power first, in no particular order: the"""
    ...

def ror(a: Any, b: Any) -> Any:
    """Bits of `a` rotated right by `b[i]`, modulo the width; the result has `a`'s type."""
    ...

def rot90(t: Any, n: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """A matrix turned by n quarters (1 unless given) to the left, as it is printed: the first two axes."""
    ...

def rotate(a: Any, b: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The vector turned by a unit quaternion: with its imaginary part u and `t = 2 * cross(u, v)`,"""
    ...

@overload
def round(x: _Floats) -> _Floats: ...

@overload
def round(x: Any, decimals: Any = ...) -> Any:
    """x rounded to so many decimals, halves to even, floats with a negative number to tens, hundreds ..:"""
    ...

def round_away(x: Any) -> Any:
    """Nearest integer, halves away from zero (`round` has halves to even)."""
    ...

def row(m: Any, i: Any) -> Any:
    """Row i of a matrix, a vector of its entries."""
    ...

def row_stack(list: Any) -> Any:
    """The tensors or arrays of a list below each other: along the first axis, an array being a row."""
    ...

@overload
def rsqrt(x: _Floats) -> _Floats: ...

@overload
def rsqrt(x: Any) -> Any:
    """Reciprocal square root `1 / sqrt(x)`, both steps correctly rounded; of Float16 rounded once."""
    ...

def run(path: Any, *args: Any, **given: Any) -> Any:
    """Runs a script file; a dict of its variables. Keyword arguments are variables that it has from the start, others the"""
    ...

def run_text(text: Any, namespace: Any = ..., wanted: Any = ...) -> Any:
    """Runs a text of a script with the variables of a namespace that it names; a dict of what it assigned, and its value."""
    ...

def safe_acos(x: Any) -> Any:
    """Inverse cosine of x limited to -1 .. 1; NaN stays NaN. At most 1.5 ulp."""
    ...

def safe_asin(x: Any) -> Any:
    """Inverse sine of x limited to -1 .. 1; NaN stays NaN. At most 2.5 ulp."""
    ...

def safe_rsqrt(x: Any) -> Any:
    """Reciprocal square root of `max(x, 0)`: inf from 0 down."""
    ...

def safe_sqrt(x: Any) -> Any:
    """Square root of `max(x, 0)`."""
    ...

def sass(*x: Any) -> str:
    """The machine code of a GPU that ptx(x) becomes; needs nvdisasm, and without a GPU ptxas, of the CUDA toolkit."""
    ...

def save(path: Any, x: Any) -> Any:
    """Writes an array or tensor to a file .npy, as np.save, which appends .npy to other names; NumPy must be there. A dict of"""
    ...

def savez(path: Any, *arrays: Any, **named: Any) -> Any:
    """Writes arrays to a file .npz, as np.savez, which appends .npz to other names: those of a dict, such as the weights of a"""
    ...

def savgol_filter(x: Any, window_length: Any = ..., polyorder: Any = ..., deriv: Any = ..., delta: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """A signal along an axis (the last unless given), smoothed (Savitzky's and Golay's filter): each entry is the value, at"""
    ...

def scalar_t(x: Any) -> Any:
    """The type of Python's that one number has."""
    ...

def scan(header: Any, init: Any = ..., xs: Any = ..., length: Any = ..., *, map: Any = ..., reduce: Any = ..., post: Any = ..., identity: Any = ...) -> Any:
    """As reduction, but for each lane the result of the lanes up to it."""
    ...

def scatter(target: Any, value: Any = ..., index: Any = ..., active: Any = ..., mode: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Writes `value[i]` to `target[index[i]]`. Of equal indices the highest lane's value lands."""
    ...

def scatter_add(target: Any, value: Any = ..., index: Any = ..., active: Any = ..., mode: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Adds `value[i]` to `target[index[i]]`, in lane order; integers wrap."""
    ...

def scatter_and(target: Any, value: Any = ..., index: Any = ..., active: Any = ..., mode: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Combines `target[index[i]]` with `value[i]` by bitwise (masks: logical) and."""
    ...

def scatter_cas(target: Any, compare: Any, value: Any, index: Any, active: Any = ...) -> Any:
    """Puts value[i] into target[index[i]] if it finds compare[i] there, for each lane where active (optional) is true, one"""
    ...

def scatter_exch(target: Any, value: Any, index: Any, active: Any = ...) -> Any:
    """Puts value[i] into target[index[i]] for each lane where active (optional) is true, one lane after the other, and"""
    ...

def scatter_inc(target: Any, index: Any, active: Any = ...) -> Any:
    """Adds 1 to target[index[i]] for each lane where active (optional) is true, one after the other, and gives what each"""
    ...

def scatter_max(target: Any, value: Any = ..., index: Any = ..., active: Any = ..., mode: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Raises `target[index[i]]` to `value[i]` if that is larger; NaN is ignored, and +0 is above -0."""
    ...

def scatter_min(target: Any, value: Any = ..., index: Any = ..., active: Any = ..., mode: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Lowers `target[index[i]]` to `value[i]` if that is smaller; NaN is ignored, and -0 is below +0."""
    ...

def scatter_or(target: Any, value: Any = ..., index: Any = ..., active: Any = ..., mode: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Combines `target[index[i]]` with `value[i]` by bitwise (masks: logical) or."""
    ...

def scatter_reduce(op: Any, target: Any, value: Any, index: Any, active: Any = ..., *, mode: Any = ...) -> Any:
    """Combines value with what is there in the lanes of target that index says: another name of scatter_add(target,"""
    ...

def schedule(*arrays: Any) -> Any:
    """As eval, but returns at once on all devices; another name of it, as Dr.Jit has it."""
    ...

def searchsorted(sorted: Any, x: Any = ..., side: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """How many lanes of an ascending array are below each lane of x: where it could be inserted, in front of its equals"""
    ...

def sec(x: Any) -> Any:
    """Secant `1 / cos(x)`. At most 2 ulp for every finite angle."""
    ...

def sech(x: Any) -> Any:
    """Hyperbolic secant `1 / cosh(x)`. At most 3 ulp."""
    ...

def seed(k: Any = ...) -> Any:
    """Sets the seed of the session's generator, from which rand, randn, randint, shuffle and permutation draw. seed() takes one"""
    ...

def segment_count(keys: Any, n: Any) -> Any:
    """How many lanes each segment has, as segment_sum."""
    ...

def segment_max(x: Any, keys: Any, n: Any = ...) -> Any:
    """The largest of each segment, as segment_sum; of one without lanes NaN, or the smallest integer."""
    ...

def segment_min(x: Any, keys: Any, n: Any = ...) -> Any:
    """The smallest of each segment, as segment_sum; of one without lanes NaN, or the largest integer."""
    ...

def segment_sum(x: Any, keys: Any, n: Any = ...) -> Any:
    """Sums of segments: of the lanes, or entries along the first axis, that have the same key, a number from 0 up to and"""
    ...

def select(mask: Any, a: Any = ..., b: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """`mask[i] ? a[i] : b[i]`."""
    ...

def selu(x: Any) -> Any:
    """The exponential linear unit that keeps mean and variance: 1.0507 times elu of 1.67326."""
    ...

def set_flag(name: Any, value: Any) -> Any:
    """Sets a switch of the session; flags() lists them."""
    ...

def set_grad(x: Any, gradient: Any) -> Any:
    """Sets the gradient of a marked array, or that of a value before backward. A number stands for every lane."""
    ...

def set_gradient(x: Any, gradient: Any) -> Any:
    """Sets the gradient of a marked array, or that of a value before backward. A number stands for every lane."""
    ...

def set_label(x: Any, name: Any) -> Any:
    """Names a value in listings and logs; x with the name."""
    ...

def set_log_level(level: Any) -> Any:
    """What is logged: 0 nothing, 1 launches, 2 + compilation and cache, 3 + generated source, 4 + every recorded operation,"""
    ...

def set_requires_gradient(x: Any, *args: Any, **kwargs: Any) -> Any:
    """Marks arrays of floats: what is computed from them keeps how, so that its derivatives may be asked for. The type of a"""
    ...

def setdiff1d(a: Any, b: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The values that occur in the first and not in the second, each once, ascending. Evaluates."""
    ...

def setxor1d(a: Any, b: Any) -> Any:
    """The values that occur in one of two arrays, ascending; NaN, which is in none, once for each that has it. Evaluates."""
    ...

def sgn(x: Any) -> Any:
    """-1, 0 or 1 as `x` is below, at or above 0 (`sign` has no 0); NaN stays NaN."""
    ...

def sh_eval(d: Any, order: Any) -> Any:
    """Real spherical harmonics of the unit vector d up to an order from 0 to 9, with Enoki's signs: a list in which"""
    ...

def shape(t: Any) -> Any:
    """Extents as a list, components first: of a matrix columns, rows, lanes."""
    ...

def shuffle(x: Any) -> Any:
    """The lanes of an array, or the entries of a tensor along its first axis, in random order; x stays as it is. The generator"""
    ...

@overload
def sigmoid(x: _Floats) -> _Floats: ...

@overload
def sigmoid(x: Any) -> Any:
    """Logistic function `1 / (1 + exp(-x))`, accurate in both tails. At most 2.5 ulp."""
    ...

def sign(x: Any) -> Any:
    """1 with the sign of `x`, that of zeros included; NaN stays NaN. Integers: 1 from 0 up, else -1."""
    ...

def signbit(x: Any) -> Any:
    """Whether the sign is negative, that of -0 too; not of NaN."""
    ...

@overload
def silu(x: _Floats) -> _Floats: ...

@overload
def silu(x: Any) -> Any:
    """`x * sigmoid(x)`, also called swish; 0 at -inf. At most 3 ulp."""
    ...

@overload
def sin(x: _Floats) -> _Floats: ...

@overload
def sin(x: Any) -> Any:
    """Sine of an angle in radians. At most 1.5 ulp for every finite angle."""
    ...

def sinc(x: Any) -> Any:
    """`sin(pi * x) / (pi * x)`, 1 at 0: the spectrum of a box, as NumPy and Julia define it. At most 3 ulp."""
    ...

def sincos(x: Any) -> Any:
    """The list `[sin(x), cos(x)]`, which costs little more than one of them."""
    ...

def sincosh(x: Any) -> Any:
    """The list `[sinh(x), cosh(x)]`, which costs little more than one of them."""
    ...

def singular_values(a: Any) -> Any:
    """The singular values of a matrix, largest first. Evaluates, as solve."""
    ...

@overload
def sinh(x: _Floats) -> _Floats: ...

@overload
def sinh(x: Any) -> Any:
    """Hyperbolic sine. At most 2.5 ulp."""
    ...

def sinpi(x: Any) -> Any:
    """Sine of an angle in half turns, `sin(pi * x)`: exactly 0 at integers. At most 1.5 ulp."""
    ...

def size(x: Any) -> Any:
    """The number of lanes or entries."""
    ...

def size_v(x: Any) -> Any:
    """How many components there are, of a matrix rows; -1 of lanes, 0 of tensors, 1 of numbers."""
    ...

def skew(t: Any, axes: Any = ..., keepdims: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """How far entries along axes, as of hsum, lie to the right more than to the left: the mean cube of their distances from"""
    ...

def slerp(a: Any, b: Any, c: Any) -> Any:
    """Spherical interpolation between unit quaternions, the shorter way: a at t = 0, b (or -b) at t = 1. With"""
    ...

def sliding_window_view(t: Any, window_shape: Any, axis: Any = ...) -> Any:
    """The windows of so many neighbours along each axis, as one tensor: an entry for each place where a window fits, and"""
    ...

def slogdet(a: Any) -> Any:
    """Sign of the determinant, and logarithm of its absolute value, which overflow does not reach: a list of two."""
    ...

def smallest(dtype: Any) -> Any:
    """The smallest number above 0 with all digits, of a class or an array of floats."""
    ...

def smooth_l1(a: Any, b: Any) -> Any:
    """`smooth_l1(x, s)` is `0.5 * (s * x)^2` where `|x| < 1 / s^2`, beyond `|x| - 0.5 / s^2`: each step rounded."""
    ...

def softmax(t: Any, axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The exponentials along an axis (the last unless given), each over their sum: shares of 1."""
    ...

@overload
def softplus(x: _Floats) -> _Floats: ...

@overload
def softplus(x: Any) -> Any:
    """Smooth rectifier `log(1 + exp(x))`, also called softplus; accurate in both tails. At most 2 ulp."""
    ...

def softrelu(x: Any) -> Any:
    """Smooth rectifier `log(1 + exp(x))`, also called softplus; accurate in both tails. At most 2 ulp."""
    ...

def softsign(x: Any) -> Any:
    """`x / (1 + |x|)`, in two rounded steps; -1 and 1 at -inf and inf."""
    ...

def solve(a: Any, b: Any) -> Any:
    """X of a @ X = b, by partial pivoting; b is a vector, or a matrix of columns. The axes before the last two are many"""
    ...

def solve_triangular(a: Any, b: Any = ..., lower: Any = ..., transposed: Any = ..., unit_diagonal: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """X of a @ X = b of a triangle, as solve, without factors: the upper one of a, or with lower true the lower one; what"""
    ...

@overload
def sort(t: _A, axis: Any = ..., *args: Any, **kwargs: Any) -> _A: ...

@overload
def sort(t: Any, axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The lanes of numbers or a mask, smallest first, in linear time; recorded, not run. -0 is below +0, and NaN comes"""
    ...

def sort_desc(t: Any, axis: Any = ...) -> Any:
    """The lanes of numbers or a mask, largest first; recorded, not run. NaN comes last here, too."""
    ...

def split(t: Any, n: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """A list of n equal parts of an axis (0 unless given), or the parts between these places: [1, 3] gives ..1, 1..3,"""
    ...

def sqr(x: Any) -> Any:
    """Square: `x * x`, of a matrix the matrix product."""
    ...

@overload
def sqrt(x: _Floats) -> _Floats: ...

@overload
def sqrt(x: Any) -> Any:
    """Square root, correctly rounded; NaN below zero."""
    ...

def square(x: Any) -> Any:
    """Square: `x * x`, of a matrix the matrix product."""
    ...

def squared_norm(x: Any) -> Any:
    """Squared Euclidean length of a vector, lane by lane, and that of all parts of complex components and"""
    ...

def squareplus(x: Any, b: Any = ...) -> Any:
    """(x + sqrt(x * x + b)) / 2, a softplus without exponentials."""
    ...

def squeeze(t: Any, axis: Any = ...) -> Any:
    """Without an axis of one entry, a list of them, or all of them."""
    ...

def srgb_to_linear(x: Any) -> Any:
    """Value stored in an sRGB image to light intensity. At most 10 ulp from 0 to 1."""
    ...

def stack(list: Any, axis: Any = ...) -> Any:
    """The tensors or arrays of a list along a new axis (0 unless given)."""
    ...

def standardize(x: Any, axis: Any = ..., epsilon: Any = ...) -> Any:
    """The distances from the mean along an axis, or several, over the root of the variance and epsilon: of layers."""
    ...

def std(t: Any, axes: Any = ..., keepdims: Any = ..., ddof: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The square root of the variance (size 1, lazy)."""
    ...

def step(a: Any, b: Any) -> Any:
    """1 where a >= b, 0 elsewhere, as Dr.Jit has it."""
    ...

def subtract(a: Any, b: Any) -> Any:
    """a - b, under NumPy's name."""
    ...

@overload
def sum(t: _L) -> _L: ...

@overload
def sum(t: Any, axes: Any = ..., keepdims: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Sum of all lanes (an array of size 1, lazy; one order of combining on every device), of complex numbers too; of a"""
    ...

def suspend_grad() -> AbstractContextManager[None]:
    """with suspend_grad(): nothing inside is tracked; another name of no_grad."""
    ...

def svd(a: Any, *args: Any, **kwargs: Any) -> Any:
    """[u, s, vh] of a = u @ diag(s) @ vh: orthonormal columns, the singular values, largest first, orthonormal rows; as many"""
    ...

def svdvals(a: Any) -> Any:
    """The singular values of a matrix, largest first. Evaluates, as solve."""
    ...

def swapaxes(t: Any, a: Any, b: Any) -> Any:
    """Two axes changed for each other, the others in their places."""
    ...

def swish(x: Any) -> Any:
    """`x * sigmoid(x)`, also called swish; 0 at -inf. At most 3 ulp."""
    ...

def switch(index: Any, targets: Any, *args: Any, active: Any = ..., label: Any = ..., mode: Any = ...) -> Any:
    """For each lane what the function with its number gives: dispatch(index, targets, args), as Dr.Jit writes it; an integer is"""
    ...

def sync() -> Any:
    """Waits until the device has finished; raises what went wrong in what ran."""
    ...

def sync_device() -> Any:
    """Waits until the device has finished; raises what went wrong in what ran."""
    ...

def sync_thread() -> Any:
    """Waits until the device has finished; raises what went wrong in what ran."""
    ...

def tail(v: Any, n: Any) -> Any:
    """The last n components of a vector, as v[-n..]."""
    ...

def take(t: Any, index: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """x[index[i]] for each lane of an integer index, or for one number; negative ones count from the end. An index out"""
    ...

def take_along_axis(t: Any, index: Any, axis: Any = ...) -> Any:
    """Of each line along an axis (the last unless given) the entries with the numbers in the same line of an index, which has"""
    ...

def take_interp(table: Any, x: Any) -> Any:
    """A table between its entries: lerp(table[i], table[i + 1], x - i) with i = floor(x), where x is first brought"""
    ...

@overload
def tan(x: _Floats) -> _Floats: ...

@overload
def tan(x: Any) -> Any:
    """Tangent of an angle in radians. At most 2.5 ulp for every finite angle."""
    ...

@overload
def tanh(x: _Floats) -> _Floats: ...

@overload
def tanh(x: Any) -> Any:
    """Hyperbolic tangent. At most 2.5 ulp."""
    ...

def tensordot(a: Any, b: Any = ..., axes: Any = ..., others: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The sum of products over the last n axes of the first and the first n of the second, or over axes of both, two lists"""
    ...

@overload
def tgamma(x: _Floats) -> _Floats: ...

@overload
def tgamma(x: Any) -> Any:
    """Gamma function, `(x - 1)!` for integers; NaN at negative integers. At most 10 ulp."""
    ...

def tile(t: Any, n: Any, axis: Any = ...) -> Any:
    """All lanes, n times over. Recorded, not run; vectors component by component."""
    ...

def to(x: Any, device: Any) -> Any:
    """The value on another device: to(x, "cuda:1"). Bits stay the same."""
    ...

def to_jax(f: Any) -> Any:
    """The function f of Porcini as one of JAX: under jit it is a call of the host, and grad goes through it, once."""
    ...

def to_torch(f: Any) -> Any:
    """The function f of Porcini as one of PyTorch: it takes and gives tensors, and autograd goes through it. An array of one"""
    ...

def toeplitz(column: Any, row: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The matrix (Toeplitz's) that is the same along each diagonal: its first column, and its first row but for the corner,"""
    ...

def topk(t: Any, k: Any, axis: Any = ...) -> Any:
    """The k largest entries along an axis (the last unless given), the largest first, and their numbers: a list of two. Of"""
    ...

def trace(t: Any, *args: Any, **kwargs: Any) -> Any:
    """The sum of the diagonal of a matrix, or of many, which are the last two axes."""
    ...

def transform_compose(a: Any, b: Any, c: Any) -> Any:
    """The transformation that scales by a symmetric matrix, turns by a unit quaternion and then translates."""
    ...

def transform_decompose(x: Any) -> Any:
    """`[scale, rotation, translation]` of a transformation: a symmetric matrix of three rows, a unit quaternion"""
    ...

def transpose(t: Any, axes: Any = ..., axis: Any = ...) -> Any:
    """The axes of a tensor in opposite order, as t.T, or in the order of a list."""
    ...

def trapezoid(y: Any, x: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The integral along an axis (the last unless given) of entries at places x, an array or a tensor, or a distance apart (1"""
    ...

def trapz(y: Any, x: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The integral along an axis (the last unless given) of entries at places x, an array or a tensor, or a distance apart (1"""
    ...

def tri(n: Any, m: Any = ..., k: Any = ..., dtype: Any = ...) -> Any:
    """A matrix of n rows (and m columns) with ones on a diagonal, k above that from the corner, and below it."""
    ...

def trigamma(x: Any) -> Any:
    """Trigamma function, the derivative of `digamma`; inf at 0 and negative integers, NaN at -inf. At most 10 ulp."""
    ...

def tril(t: Any, k: Any = ...) -> Any:
    """The entries of a matrix, or of many, up to the diagonal, or to k above it (0 unless given); the others are 0."""
    ...

def tril_indices(n: Any, k: Any = ..., m: Any = ...) -> Any:
    """The rows and the columns of the entries on and below a diagonal of a matrix: a tuple, as t[..] takes."""
    ...

def tril_indices_from(x: Any, k: Any = ...) -> Any:
    """The rows and the columns of the entries on and below a diagonal of x, as tril_indices."""
    ...

def triu(t: Any, k: Any = ...) -> Any:
    """The entries of a matrix, or of many, from the diagonal on, or from k above it (0 unless given); the others are 0."""
    ...

def triu_indices(n: Any, k: Any = ..., m: Any = ...) -> Any:
    """The rows and the columns of the entries on and above a diagonal of a matrix: a tuple, as t[..] takes."""
    ...

def triu_indices_from(x: Any, k: Any = ...) -> Any:
    """The rows and the columns of the entries on and above a diagonal of x, as triu_indices."""
    ...

def true_divide(a: Any, b: Any) -> Any:
    """a / b, under NumPy's name."""
    ...

@overload
def trunc(x: _Floats) -> _Floats: ...

@overload
def trunc(x: Any) -> Any:
    """Integer part, towards zero."""
    ...

def type_v(x: Any) -> Any:
    """The type of the lanes, a text as x.dtype; None of what is no array."""
    ...

def tzcnt(x: Any) -> Any:
    """Number of zero bits below the lowest one; the width for 0."""
    ...

def union1d(a: Any, b: Any) -> Any:
    """The values that occur in either, each once, ascending, in their common type. Evaluates."""
    ...

def unique(x: Any, axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The values that occur, each once, ascending; NaN comes last, and -0 stands for zeros of both signs; complex ones by"""
    ...

def unique_all(x: Any, axis: Any = ...) -> Any:
    """The values that occur, as unique, the number of the first entry that has each, of each entry the number of its value"""
    ...

def unique_counts(x: Any, axis: Any = ...) -> Any:
    """The values that occur, as unique, and how often each does: a list of two, the second an array. Evaluates."""
    ...

def unique_inverse(x: Any, axis: Any = ...) -> Any:
    """The values that occur, as unique, and of each entry the number of its value among them, in the shape of the entries:"""
    ...

def unique_values(x: Any, axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The values that occur, each once, ascending; NaN comes last, and -0 stands for zeros of both signs; complex ones by"""
    ...

def unit_angle(a: Any, b: Any) -> Any:
    """The angle between two vectors of length 1, with all digits where it is small."""
    ...

def unravel(dtype: Any, x: Any) -> Any:
    """The value of a class whose components lie side by side in an array; another name of dtype.unravel."""
    ...

def unravel_index(index: Any, shape: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The numbers along each axis of a shape of the entries with these numbers, counted from 0 in the order in which they"""
    ...

def unstack(t: Any, axis: Any = ...) -> Any:
    """The list of the entries along an axis (0 unless given), each without it."""
    ...

def unwrap(x: Any, axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Angles along an axis (the last unless given) without jumps: whole turns are added or taken away, so that neighbours"""
    ...

def value_and_grad(f: Any, *args: Any, argnums: Any = ..., has_aux: Any = ...) -> Any:
    """The function that gives f's result and its gradient, as grad(f) does: both of one recording."""
    ...

def value_t(x: Any) -> Any:
    """The class of the components, of lanes and tensors the type of Python's that a number has."""
    ...

def vander(x: Any, n: Any = ..., increasing: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The matrix (Vandermonde's) whose rows are the powers of each lane, n of them (as many as lanes unless given), the"""
    ...

def var(t: Any, axes: Any = ..., keepdims: Any = ..., ddof: Any = ..., axis: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """The mean squared distance from the mean, in two passes (size 1, lazy); NaN of nothing."""
    ...

def vdot(a: Any, b: Any) -> Any:
    """Sum of the products of entries, the first conjugated; shapes are equal."""
    ...

def vecdot(a: Any, b: Any, axis: Any = ...) -> Any:
    """The sums of products along an axis, of complex numbers with the conjugates of the first."""
    ...

def vector_norm(x: Any, *, axis: Any = ..., keepdims: Any = ..., ord: Any = ...) -> Any:
    """The norm of the entries along an axis, or several, as one vector: of all unless told."""
    ...

def vjp(f: Any, primals: Any, cotangents: Any) -> Any:
    """f(*primals) and the gradients by these of the sum over all lanes of f times cotangents."""
    ...

def vsplit(x: Any, parts: Any) -> Any:
    """Parts of the rows: so many, or those between places."""
    ...

def vstack(list: Any) -> Any:
    """The tensors or arrays of a list below each other: along the first axis, an array being a row."""
    ...

def where(mask: Any, a: Any = ..., b: Any = ..., *args: Any, **kwargs: Any) -> Any:
    """Entries of the first where the mask is true, else of the second; another name of select."""
    ...

def while_loop(state: Any, cond: Any, body: Any, *, max_iterations: Any = ..., invertible: Any = ..., labels: Any = ..., label: Any = ..., mode: Any = ..., strict: Any = ..., compress: Any = ...) -> Any:
    """Repeats body in every lane while cond holds there; the states at the end."""
    ...

def whos(all: Any = ..., names: Any = ...) -> Any:
    """The recorded values that somebody holds or that have a label, and at most 40 others; whos(all=True) all. `names` are those of"""
    ...

def whos_ad() -> Any:
    """The values that derivatives may be asked of: what made them, and what of them is kept."""
    ...

def width(x: Any) -> Any:
    """The number of lanes, of a tensor that of entries."""
    ...

def windows(t: Any, window_shape: Any, axis: Any = ...) -> Any:
    """The windows of so many neighbours along axes; another name of sliding_window_view."""
    ...

def xlogy(a: Any, b: Any) -> Any:
    """`x * log(y)`, but 0 where x is 0, unless y is NaN. At most 2.5 ulp."""
    ...

def y0(x: Any) -> Any:
    """Bessel function of the second kind of order 0; -inf at 0, NaN below. At most 12 ulp, for x > 0.4 of its"""
    ...

def y1(x: Any) -> Any:
    """Bessel function of the second kind of order 1; -inf at 0, NaN below. At most 12 ulp, for x > 1/2 of its"""
    ...

def zeros(*args: Any, dtype: Any = ..., **kwargs: Any) -> Any:
    """A tensor of zeros, its shape a list of extents; for an integer an array."""
    ...

def zeros_like(t: Any, *args: Any, **kwargs: Any) -> Any:
    """As many zeros as a tensor or array has entries, with its shape and type."""
    ...

def zscore(x: Any, axis: Any = ..., ddof: Any = ...) -> Any:
    """The distances from the mean along an axis, or of all entries, over the deviation: as std has it."""
    ...
