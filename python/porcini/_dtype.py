"""The type of lanes as users compare it."""

from . import _porcini


class DType(str):
    """A name as NumPy's, such as "float32". It equals what says the same type: np.float32, np.dtype("f4"), pc.Float."""

    __slots__ = ()

    def __eq__(self, other):
        if isinstance(other, str):
            return str.__eq__(self, other)
        return str.__eq__(self, _porcini._lane_type_name(other) or "")

    def __ne__(self, other):
        return not self == other

    __hash__ = str.__hash__
