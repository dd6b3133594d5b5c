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

    # What pandas and others ask of NumPy's.

    @property
    def name(self):
        """The name itself."""
        return str(self)

    @property
    def kind(self):
        """A letter as NumPy's: b, i, u, f or c."""
        return self[0]

    @property
    def itemsize(self):
        """The bytes of a lane, or entry."""
        return max(int("".join(filter(str.isdigit, self)) or 8) // 8, 1)

    @property
    def type(self):
        """NumPy's class of such numbers."""
        import numpy

        return numpy.dtype(str(self)).type
