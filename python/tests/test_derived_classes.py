"""Classes of users that are derived of ours."""

import copy
import gc
import pickle
import weakref

import pytest

import porcini as pc


class Samples(pc.Float):
    def __new__(cls, *args, unit="m"):
        made = super().__new__(cls, *args)
        made.unit = unit
        return made

    def doubled(self):
        return self * 2


class Slotted(pc.Vector2f):
    __slots__ = ("name",)


class Place(pc.Vector2f):
    pass


class Bare(pc.TensorXf):
    __slots__ = ()


class Grid(pc.Tensor):
    pass


def test_objects_have_attributes():
    for i in range(200):
        x = Samples([i, 1])
        x.place = i
        assert type(x) is Samples and x.unit == "m" and x.place == i
    assert x.tolist() == [199, 1] and x.doubled().tolist() == [398, 2]
    del x.place
    with pytest.raises(AttributeError):
        x.place
    x[0] = 5
    x += 1
    assert x.tolist() == [6, 2]


def test_results_are_of_our_classes():
    x = Samples([1, 4])
    for result in (x + 1, pc.sqrt(x), x[0:1], pc.sort(x), pc.grad(pc.sqrt)(x)):
        assert type(result) is pc.Float
    assert type(pc.Float(x)) is pc.Float
    assert type(Slotted(1, 2).x) is pc.Float


def test_what_values_are_kept_as():
    assert type(Bare([[1, 2]])) is Bare and type(Grid([[1, 2]])) is Grid
    assert (Grid([[1, 2]]) * 2).tolist() == [[2, 4]]
    v = Slotted(1, 2)
    v.name, v.y = "v", 7
    assert v.name == "v" and v.tolist() == pc.Vector2f(1, 7).tolist()


def test_our_classes_have_no_attributes():
    with pytest.raises(AttributeError, match="has no member unit that can be set"):
        pc.Float([1]).unit = "m"
    with pytest.raises(AttributeError, match="has no member shape that can be set"):
        pc.Float([1]).shape = (1,)


def test_collection_and_weak_references():
    x = Samples([1, 2])
    x.itself = x
    seen = weakref.ref(x)
    del x
    gc.collect()
    assert seen() is None
    v = Slotted(1, 2)
    v.name = v.x
    w = Place(1, 2)
    w.part = [w.y]
    seen = [weakref.ref(v.name), weakref.ref(w)]
    assert v.name.item() == 1 and w.part[0].item() == 2
    del v, w
    gc.collect()
    assert [each() for each in seen] == [None, None]
    kept = [Samples([i]) for i in range(100)]
    gc.collect()
    assert [x.item() for x in kept] == list(range(100))


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_keep_class_and_attributes(again):
    x = Samples([1, 2], unit="s")
    x.notes = ["a"]
    y = again(x)
    assert type(y) is Samples and y.tolist() == [1, 2] and y.unit == "s" and y.notes == ["a"]
    y[0] = 9
    assert x.tolist() == [1, 2]
    assert (y.notes is x.notes) == (again is copy.copy)
    v = Slotted(1, 2)
    v.name = "v"
    w = again(v)
    assert type(w) is Slotted and w.name == "v"


class Counted(pc.Float):
    def __getstate__(self):
        return {"n": self.n}

    def __setstate__(self, state):
        self.n = state["n"] + 1


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_are_told_their_state(again):
    x = Counted([1, 2])
    x.n, x.other = 1, "o"
    y = again(x)
    assert type(y) is Counted and y.tolist() == [1, 2] and y.n == 2 and not hasattr(y, "other")


def test_recorded_functions_see_attributes():
    f = pc.jit(lambda x: x * x.scale)
    x = Samples([1, 2])
    x.scale = 3
    assert f(x).tolist() == [3, 6]
    x.scale = 4
    assert f(x).tolist() == [4, 8]


def test_functions_that_are_differentiated_get_our_classes():
    x = Samples([1, 2])
    scaled = lambda x: x * (2.0 if hasattr(x, "unit") else 3.0)
    assert pc.grad(scaled)(x).tolist() == [3, 3]
    assert pc.custom(scaled, lambda v, x: v)(x).tolist() == [3, 6]
