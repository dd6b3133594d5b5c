"""Functions that Dr.Jit has under other names, or with their arguments in another order, and its constants."""

import math

import porcini as pc

from . import _porcini
from ._porcini import _operand

__all__ = """suspend_grad switch width step mul_hi mul_wide forward_from backward_from accum_grad unit_angle epsilon largest smallest
one_minus_epsilon assert_true assert_false assert_equal assert_allclose reinterpret_array unravel sync_thread sync_device two_pi inv_pi
inv_two_pi four_pi inv_four_pi sqrt_pi inv_sqrt_pi sqrt_two_pi inv_sqrt_two_pi sqrt_four_pi inv_sqrt_four_pi sqrt_two inv_sqrt_two
log_two inv_log_two""".split()

two_pi, four_pi = 2 * math.pi, 4 * math.pi
inv_pi, inv_two_pi, inv_four_pi = 1 / math.pi, 1 / two_pi, 1 / four_pi
sqrt_pi, sqrt_two_pi, sqrt_four_pi, sqrt_two = map(math.sqrt, (math.pi, two_pi, four_pi, 2))
inv_sqrt_pi, inv_sqrt_two_pi, inv_sqrt_four_pi, inv_sqrt_two = 1 / sqrt_pi, 1 / sqrt_two_pi, 1 / sqrt_four_pi, 1 / sqrt_two
log_two, inv_log_two = math.log(2), 1 / math.log(2)

sync_thread = sync_device = _porcini.sync


def suspend_grad(*values):
    """with suspend_grad(): nothing inside is tracked; another name of no_grad."""
    if values:
        raise TypeError("suspend_grad: got values, expected none: what is made of pc.detach(x) is not tracked")
    return pc.no_grad()


def switch(index, targets, *args, active=None, label=None, mode=None):
    """For each lane what the function with its number gives: dispatch(index, targets, args), as Dr.Jit writes it; an integer is
    the number of all. Zeros where active is false. label and mode change nothing.

    >>> pc.switch(pc.UInt32([0, 1]), [lambda x: x + 1, lambda x: x * 10], pc.Float([1, 2]))
    [2, 20]
    """
    index = pc.Int64(index) if isinstance(index, int) else index
    if active is not None and active is not True:
        # A number that no function has.
        index = pc.where(pc.Mask(active), index, len(targets))
    try:
        return pc.dispatch(index, targets, args)
    except (TypeError, ValueError) as error:
        text = str(error)
        if text.startswith("dispatch: "):
            error.args = (text.replace("dispatch", "switch", 1),)
        raise


def width(x):
    """The number of lanes, of a tensor that of entries.

    >>> pc.width(pc.Vector3f([1, 2], 0, 0))
    2
    """
    x = _operand(x)
    return x.size if isinstance(x, pc.Tensor) else x.shape[-1]


# ---- numbers ----


def step(a, b):
    """1 where a >= b, 0 elsewhere, as Dr.Jit has it.

    >>> pc.step(pc.Float(0.5), pc.Float([0.5, 1, 0]))
    [1, 0, 1]
    """
    a, b = _operand(a), _operand(b)
    return pc.where(a >= b, pc.ones_like(b), 0)


def mul_hi(a, b):
    """The upper half of a product of integers; another name of mulhi.

    >>> pc.mul_hi(pc.UInt32([2**31]), 4)
    [2]
    """
    return pc.mulhi(a, b)


def mul_wide(a, b):
    """The product of integers of 32 bits in 64.

    >>> pc.mul_wide(pc.UInt32([2**31]), 4)
    [8589934592]
    """
    a, b = _operand(a), _operand(b)
    if not {str(a.dtype), str(b.dtype)} <= {"int32", "uint32"}:
        raise TypeError(f"mul_wide: got {a.dtype} and {b.dtype}, expected integers of 32 bits; pc.mulhi(a, b) and a * b are both halves")
    wide = "uint64" if "uint32" in (a.dtype, b.dtype) else "int64"
    return a.astype(wide) * b.astype(wide)


def unit_angle(a, b):
    """The angle between two vectors of length 1, with all digits where it is small.

    >>> pc.unit_angle(pc.Vector3f(1, 0, 0), pc.Vector3f(0, 1, 0))
    [1.5708]
    """
    is_sharp = pc.dot(a, b) >= 0
    angle = 2 * pc.asin(0.5 * pc.norm(pc.select(is_sharp, b - a, b + a)))
    return pc.select(is_sharp, angle, math.pi - angle)


# ---- types of floats ----

# Of each the bits behind the point, and the smallest and the largest exponent.
_FLOATS = {"float16": (10, -14, 15), "float32": (23, -126, 127), "float64": (52, -1022, 1023)}


def _float(name, of):
    dtype = (of(0) if isinstance(of, type) else _operand(of)).dtype
    dtype = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    if dtype not in _FLOATS:
        raise TypeError(f"{name}: got {dtype}, expected floats, as pc.Float, or an array of them")
    return _FLOATS[dtype]


def epsilon(dtype):
    """How much rounding may change a number beside 1, of a class or an array of floats: half of NumPy's eps.

    >>> pc.epsilon(pc.Float64) == 2**-53
    True
    """
    return 2.0 ** -(_float("epsilon", dtype)[0] + 1)


def one_minus_epsilon(dtype):
    """The largest number below 1, of a class or an array of floats.

    >>> pc.one_minus_epsilon(pc.Float64) == 1 - 2**-53
    True
    """
    return 1 - 2.0 ** -(_float("one_minus_epsilon", dtype)[0] + 1)


def largest(dtype):
    """The largest finite number, of a class or an array of floats.

    >>> pc.largest(pc.Float16)
    65504.0
    """
    digits, _, most = _float("largest", dtype)
    return (2 - 2.0**-digits) * 2.0**most


def smallest(dtype):
    """The smallest number above 0 with all digits, of a class or an array of floats.

    >>> pc.smallest(pc.Float) == 2**-126
    True
    """
    return 2.0 ** _float("smallest", dtype)[1]


# ---- derivatives ----


def forward_from(x):
    """Another name of forward, of one array: from its gradient, 1 if none was set.

    >>> x = pc.Float(3)
    >>> pc.enable_grad(x)
    >>> y = x * x
    >>> pc.forward_from(x)
    >>> pc.grad(y)
    [6]
    """
    pc.forward(x)


def backward_from(y):
    """Another name of backward, of one array: from its gradient, 1 if none was set.

    >>> x = pc.Float(3)
    >>> pc.enable_grad(x)
    >>> pc.backward_from(x * x)
    >>> pc.grad(x)
    [6]
    """
    pc.backward(y)


def accum_grad(target, source):
    """Adds to the gradient of a marked array.

    >>> x = pc.Float(3)
    >>> pc.enable_grad(x)
    >>> pc.accum_grad(x, 2)
    >>> pc.accum_grad(x, 3)
    >>> pc.grad(x)
    [5]
    """
    pc.set_gradient(target, pc.gradient(target) + source)


# ---- what must hold ----


def assert_true(condition, message="got False, expected True in all lanes"):
    """Raises AssertionError unless a condition holds in all lanes; evaluates.

    >>> pc.assert_true(pc.Float([1, 2]) > 0)
    """
    condition = _operand(condition)
    if not pc.all(pc.Tensor(condition) if condition.ndim > 1 else condition):
        raise AssertionError(message)


def assert_false(condition, message="got True, expected False in all lanes"):
    """Raises AssertionError if a condition holds in a lane; evaluates.

    >>> pc.assert_false(pc.Float([1, 2]) > 2)
    """
    assert_true(pc.not_(_operand(condition)), message)


def assert_equal(a, b, message=None):
    """Raises AssertionError unless two arrays are equal in all lanes; evaluates.

    >>> pc.assert_equal(pc.Float([1, 2]), pc.Float([1, 2]))
    """
    a, b = _operand(a), _operand(b)
    assert_true(a == b, message or f"got {a}, expected {b}")


def assert_allclose(actual, desired, rtol=1e-5, atol=1e-8, equal_nan=False, message=None):
    """Raises AssertionError unless two arrays are close, as allclose has it; evaluates.

    >>> pc.assert_allclose(pc.Float([1, 2]), [1, 2.000001])
    """
    if not pc.allclose(actual, desired, rtol=rtol, atol=atol, equal_nan=equal_nan):
        raise AssertionError(message or f"got {_operand(actual)}, expected {_operand(desired)}")


# ---- types ----


def reinterpret_array(dtype, x):
    """The bits of the lanes as another type; another name of dtype.reinterpret.

    >>> pc.reinterpret_array(pc.UInt32, pc.Float([1]))
    [1065353216]
    """
    return dtype.reinterpret(x)


def unravel(dtype, x):
    """The value of a class whose components lie side by side in an array; another name of dtype.unravel.

    >>> pc.unravel(pc.Vector2f, pc.Float([1, 2, 3, 4]))
    [[1, 2],
     [3, 4]]
    """
    return dtype.unravel(x)
