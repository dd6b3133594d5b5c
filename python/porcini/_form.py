"""What registers the forms of functions of core's tables, and calls them."""

import functools
import inspect
import threading

import porcini as pc

from ._entries import as_given, entries, has_complex_lanes

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
    except TypeError as error:
        if not str(error).startswith("asarray: "):
            raise
        # What is no array is told of by the tables, whose words name the function.
        return NotImplemented
    finally:
        inside.discard(name)


def described(name):
    """The parameters of a form and what they mean, for help; None where there is none."""
    return (str(inspect.signature(FORMS[name])), inspect.getdoc(FORMS[name].func)) if name in FORMS else None


def _of_entries(made, gives_rows):
    """A form of what has entries along axes: complex lanes are a row of them, and lanes again in what it gives."""

    @functools.wraps(made)
    def of_entries(table, *args, **named):
        lanes = next((x for x in (*args, *named.values()) if has_complex_lanes(x)), None)
        if lanes is None:
            return made(table, *args, **named)
        found = made(table, *map(_as_row, args), **{key: _as_row(x) for key, x in named.items()})
        return found if found is NotImplemented or gives_rows else as_given(lanes, found)

    return of_entries


def _as_row(x):
    return entries(x) if has_complex_lanes(x) else x


def form(*names, takes_lanes=False, gives_rows=False):
    """Registers a form of functions of the tables: a function without the first parameter, which gets the table's. Complex lanes
    are rows of entries to it, and rows in what it gives are lanes again, unless it is said otherwise."""

    def register(made):
        of = made if takes_lanes else _of_entries(made, gives_rows)
        for name in names:
            FORMS[name] = functools.partial(of, getattr(pc, name))
        return made

    return register
