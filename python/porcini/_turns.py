"""`scan` of Python functions: a loop that takes apart what it is given, and puts together what it gives."""

import porcini as pc


def _mapped(f, *trees):
    """f of what stands in the same places of lists, tuples and dicts."""
    first = trees[0]
    if isinstance(first, dict):
        return {key: _mapped(f, *(tree[key] for tree in trees)) for key in first}
    if isinstance(first, (list, tuple)):
        items = [_mapped(f, *items) for items in zip(*trees, strict=True)]
        return type(first)(*items) if hasattr(first, "_fields") else type(first)(items)
    return None if first is None else f(*trees)


def _extents(xs):
    found = set()
    _mapped(lambda x: found.add(len(x)), xs)
    return found


def _entry(x, i):
    # x[i] of lanes would read a number.
    return x[i : i + 1] if len(x.shape) == 1 else x[i]


def _beside(*ys):
    ys = [y if isinstance(y, pc.Array) else pc.asarray(y) for y in ys]
    return pc.concat(ys) if ys[0].shape in ((), (1,)) else pc.stack(ys)


def turns(f, init, xs, length):
    xs = _mapped(lambda x: x if isinstance(x, pc.Array) else pc.asarray(x), xs)
    extents = _extents(xs) | ({length} if length is not None else set())
    if len(extents) != 1:
        got = " and ".join(map(str, sorted(extents))) if extents else "neither xs nor length"
        raise ValueError(f"scan: got {got}, expected xs of one length, or length=")
    carry, ys = init, []
    for i in range(extents.pop()):
        carry, y = f(carry, _mapped(lambda x: _entry(x, i), xs))
        ys.append(y)
    return carry, _mapped(_beside, *ys) if ys else None
