"""What registers the forms of functions of core's tables, and calls them."""

import functools
import inspect
import threading

import porcini as pc

FORMS = {}

# Names of the forms that a thread is in: within one of them the tables have the last word.
_inside = threading.local()


def called(name, args, named):
    """What a call means, or NotImplemented."""
    made, inside = FORMS.get(name), _inside.__dict__.setdefault("names", set())
    if made is None or name in inside:
        return NotImplemented
    try:
        inspect.signature(made).bind(*args, **named)
    except TypeError:
        return NotImplemented
    inside.add(name)
    try:
        return made(*args, **named)
    finally:
        inside.discard(name)


def parameters(name):
    """The parameters of a form, for help; None where there is none."""
    return str(inspect.signature(FORMS[name])) if name in FORMS else None


def form(*names):
    """Registers a form of functions of the tables: a function without the first parameter, which gets the table's."""

    def register(made):
        for name in names:
            FORMS[name] = functools.partial(made, getattr(pc, name))
        return made

    return register
