"""Derivatives of functions: functions that make functions, over what `_porcini` does for one call."""

import functools
import numbers

from . import _porcini
from ._axes import integer


def _one_or_tuple(found):
    return found[0] if len(found) == 1 else tuple(found)


def _chosen(op, argnums, args):
    """Places of the arguments that derivatives are asked by; None for all."""
    if argnums is None:
        return None
    chosen = [integer(op, "argnums", i) for i in ([argnums] if _is_one(argnums) else argnums)]
    if not all(-len(args) <= i < len(args) for i in chosen):
        raise ValueError(f"{op}: got argnums={argnums!r}, expected numbers of the {len(args)} arguments, from 0")
    return [i % len(args) for i in chosen]


def _is_one(argnums):
    return not hasattr(argnums, "__iter__")


def _picked(found, argnums):
    if argnums is None:
        return _one_or_tuple(found)
    if _is_one(argnums):
        return found[argnums]
    return tuple(found[i] for i in argnums)


def _told(args, argnums):
    """The arguments and argnums; grad(f, 0), grad(f, (0, 1)) and grad(f, [0, 1]) are JAX's: integers alone have no derivatives."""
    if argnums is None and len(args) == 1 and _are_places(args[0]):
        return (), args[0]
    return args, argnums


def _are_places(given):
    items = given if isinstance(given, (tuple, list)) and given else [given]
    return all(isinstance(i, numbers.Integral) and not isinstance(i, bool) for i in items)


def grad(f, *args, argnums=None, has_aux=False):
    """The function that gives the gradient of f's result by its arguments, a tuple where there are several.

    Of more lanes than one the sum over all is differentiated, so lanes that do not meet have slopes of their own. Arguments
    may be lists and dicts of arrays, whose gradients come in the same form; what is no float has none, None. argnums says by
    which arguments, as JAX's grad(f, (0, 1)) does; has_aux that f gives a tuple of which the first is differentiated.
    grad(f, x, ..) calls it at once.

    Of arrays, grad(y, [x, ..]) is a list of the gradients of y by marked arrays, or by what is computed from them on the
    way to y. grad(x) is what backward left in x.

    >>> slope = pc.grad(lambda x: x ** 3)
    >>> slope(pc.Float([1, 2]))
    [3, 12]
    >>> x = pc.Float(2)
    >>> pc.enable_grad(x)
    >>> pc.grad(x * x, [x])[0]
    [4]
    """
    if isinstance(f, _porcini.Array):
        return _porcini._gradients_by(f, *args) if args else _porcini.gradient(f)
    if not callable(f):
        raise TypeError(
            f"grad: got {f!r}, expected a function or an array: grad(f) is the gradient of a function, grad(y, [x]) those of "
            "an array by others, grad(x) that which backward left in x"
        )

    args, argnums = _told(args, argnums)

    @functools.wraps(f)
    def gradient(*args, **kwargs):
        value, found = _porcini._gradients_of("grad", f, args, kwargs, _chosen("grad", argnums, args), has_aux)
        found = _picked(found, argnums)
        return (found, value[1]) if has_aux else found

    return gradient(*args) if args else gradient


def value_and_grad(f, *args, argnums=None, has_aux=False):
    """The function that gives f's result and its gradient, as grad(f) does: both of one recording.

    >>> pc.value_and_grad(lambda x: pc.sum(x * x))(pc.Float([1, 2]))
    ([5], [2, 4])
    """
    args, argnums = _told(args, argnums)

    @functools.wraps(f)
    def both(*args, **kwargs):
        chosen = _chosen("value_and_grad", argnums, args)
        value, found = _porcini._gradients_of("value_and_grad", f, args, kwargs, chosen, has_aux)
        return value, _picked(found, argnums)

    return both(*args) if args else both


def jacobian(f, *args, argnums=None):
    """The function that gives the derivatives of each entry of f(x) by each entry of x: a tensor with the axes of f(x), then
    those of x; f(x) of one lane adds none. Several arguments have a tuple of them.

    >>> pc.jacobian(lambda x: x * pc.sum(x))(pc.Float([1, 2]))
    [[4, 1],
     [2, 5]]
    """
    args, argnums = _told(args, argnums)

    @functools.wraps(f)
    def matrix(*args):
        found = _porcini._jacobians_of(f, args, _chosen("jacobian", argnums, args))
        if argnums is None or len(args) == 1:
            return found
        return _picked(list(found), argnums)

    return matrix(*args) if args else matrix


def hessian(f, *args, argnums=None):
    """The function that gives the second derivatives of f(x), of one lane, by the entries of x.

    >>> pc.hessian(lambda x: pc.sum(x ** 3))(pc.Float([1, 2]))
    [[ 6,  0],
     [ 0, 12]]
    """
    args, argnums = _told(args, argnums)

    @functools.wraps(f)
    def of_one_lane(*args):
        found = f(*args)
        if isinstance(found, _porcini.Array) and found.size != 1:
            got = f"hessian: the function gave the shape {tuple(found.shape)}"
            raise ValueError(f"{got}, expected one lane; jacobian(jacobian(f)) is of each")
        return found

    matrix = jacobian(grad(of_one_lane, argnums=argnums), argnums=argnums)
    return matrix(*args) if args else matrix


def jvp(f, primals, tangents):
    """f(*primals) and its derivative in a direction, which has the form of the primals; that of constants is 0.

    >>> pc.jvp(lambda x: x * x, (pc.Float([1, 2]),), (pc.Float([1, 10]),))
    ([1, 4], [2, 40])
    """
    return _porcini._jvp(f, _several(primals), _several(tangents))


def vjp(f, primals, cotangents):
    """f(*primals) and the gradients by these of the sum over all lanes of f times cotangents.

    >>> pc.vjp(lambda x: x * x, (pc.Float([1, 2]),), pc.Float([1, 10]))
    ([1, 4], [2, 40])
    """
    value, found = _porcini._vjp(f, _several(primals), cotangents)
    return value, _one_or_tuple(found)


def _several(args):
    return tuple(args) if isinstance(args, (tuple, list)) else (args,)


def check_gradients(f, *args, h=1e-5, rtol=1e-4, atol=1e-6):
    """Compares the gradient of f, summed over all lanes, with central differences in float64; raises where they differ.

    >>> pc.check_gradients(lambda x: pc.sin(x) * x, pc.Float64([0.5, 1, 2]))
    """
    import porcini as pc

    wide = [pc.Float64(x) if isinstance(x, pc.Array) and not x.shape[1:] else x for x in args]
    gradients = grad(f)(*wide)
    gradients = gradients if isinstance(gradients, tuple) else (gradients,)
    for i, (x, gradient) in enumerate(zip(wide, gradients)):
        if gradient is None:
            continue
        for lane in range(len(x)):
            step = pc.Float64.zeros(len(x))
            step[lane] = h
            ends = [pc.sum(f(*wide[:i], x + sign * step, *wide[i + 1 :])).item() for sign in (1, -1)]
            expected, got = (ends[0] - ends[1]) / (2 * h), gradient[lane]
            if abs(got - expected) > atol + rtol * abs(expected):
                raise ValueError(
                    f"check_gradients: argument {i}, lane {lane}: got {got}, differences say {expected}"
                )
