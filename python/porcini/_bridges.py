"""Functions of Porcini in PyTorch models and JAX programs; gradients flow through them."""

import functools


def _one_or_tuple(found):
    return found[0] if len(found) == 1 else tuple(found)


def to_torch(f):
    """The function f of Porcini as one of PyTorch: it takes and gives tensors, and autograd goes through it. An array of one
    lane comes back as a tensor without axes. On the CPU nothing is copied.

    to_torch(lambda x: pc.sum(pc.sin(x) ** 2))(torch.ones(3, requires_grad=True)).backward()
    """
    import torch

    import porcini as pc

    def tensor(value, device):
        made = torch.from_dlpack(value)
        made = made.reshape(()) if value.ndim == 1 and value.size == 1 else made
        return made.to(device)

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(context, *tensors):
            context.save_for_backward(*tensors)
            value = f(*(pc.Tensor(t.detach().cpu().contiguous()) if t.ndim != 1 else _lanes(t) for t in tensors))
            return tensor(value, tensors[0].device)

        @staticmethod
        def backward(context, cotangent):
            args = [_lanes(t) if t.ndim == 1 else pc.Tensor(t.detach().cpu().contiguous()) for t in context.saved_tensors]
            factor = pc.Tensor(cotangent.detach().cpu().contiguous())
            factor = factor.array if factor.ndim <= 1 else factor
            _, found = pc._porcini._vjp(f, tuple(args), factor)
            gradients = zip(found, context.saved_tensors)
            return tuple(None if g is None else torch.from_dlpack(g).reshape(t.shape).to(t.device) for g, t in gradients)

    def _lanes(t):
        return pc.Tensor(t.detach().cpu().contiguous()).array

    @functools.wraps(f)
    def called(*tensors):
        return Function.apply(*tensors)

    return called


def to_jax(f):
    """The function f of Porcini as one of JAX: under jit it is a call of the host, and grad goes through it, once.
    Under vmap it is a call for each; to a function of whole batches, pass them.

    jax.grad(to_jax(lambda x: pc.sum(pc.sin(x) ** 2)))(jnp.ones(3))
    """
    import jax
    import numpy as np

    import porcini as pc

    def own(x):
        made = pc.Tensor(np.ascontiguousarray(x))
        return made.array if made.ndim <= 1 else made

    def host(value):
        array = np.asarray(value)
        return array.reshape(()) if array.shape == (1,) else array

    def like(x):
        return jax.ShapeDtypeStruct(x.shape, x.dtype)

    # Under vmap one call after the other: f means arrays without the axis of the batch.
    on_host = functools.partial(jax.pure_callback, vmap_method="sequential")

    @jax.custom_vjp
    def called(*args):
        # What is recorded of zeros has the shape of the result; nothing runs.
        shape = f(*(own(np.zeros(x.shape, x.dtype)) for x in args))
        result = jax.ShapeDtypeStruct(() if shape.shape == (1,) else shape.shape, np.dtype(shape.dtype))
        return on_host(lambda *xs: host(f(*map(own, xs))), result, *args)

    def forward(*args):
        return called(*args), args

    def backward(args, cotangent):
        def pulled(cotangent, *xs):
            _, found = pc._porcini._vjp(f, tuple(map(own, xs)), own(cotangent))
            return tuple(np.asarray(g).reshape(np.shape(x)) for g, x in zip(found, xs))

        return on_host(pulled, tuple(map(like, args)), cotangent, *args)

    called.defvjp(forward, backward)
    return functools.wraps(f)(called)
