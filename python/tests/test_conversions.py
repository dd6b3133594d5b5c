"""What objects of Python's and of other libraries are to arrays, and arrays to Python."""

import collections
import copy
import inspect
import pickle

import pytest

import porcini as pc

np = pytest.importorskip("numpy")


def test_masked_entries_are_refused():
    masked = np.ma.array([1.0, 2], mask=[False, True])
    for take in (pc.array, pc.asarray, pc.Float, pc.TensorXf, pc.sin, lambda x: pc.Float([3, 4]) + x, lambda x: pc.array([x, x])):
        with pytest.raises(ValueError, match=r"masked array.*x\.filled\(0\)"):
            take(masked)
    with pytest.raises(ValueError, match="masked"):
        pc.Float(list(masked))
    assert pc.array(np.ma.array([1.0, 2])).tolist() == [1, 2] and pc.array(masked.filled(0)).tolist() == [1, 0]


def test_other_elements_are_named():
    for given, told in (
        (np.array(["a", "b"]), "texts"),
        (np.array([b"a"]), "texts"),
        (np.array([1, None]), "objects"),
        (np.zeros(2, [("a", "f4"), ("b", "i4")]), r'structs.*x\["name"\]'),
        (np.zeros(2, ">f4"), "order of bytes.*astype"),
    ):
        with pytest.raises(TypeError, match=told):
            pc.Float(given)


def test_floats_take_integers_of_any_size():
    assert pc.Float(10**30).tolist() == [np.float32(1e30)] and pc.Float64([1, 10**30]).tolist() == [1, 1e30]
    assert pc.TensorXd([[1, -(10**25)]]).tolist() == [[1, -1e25]] and pc.array([10**30], pc.Float64).tolist() == [1e30]
    assert pc.Vector2d(10**20, 1).tolist() == pc.Vector2d(1e20, 1).tolist() and pc.Float(10**100).tolist() == [float("inf")]
    assert (pc.Float64([1]) * 10**30).tolist() == [1e30]
    for refused in (lambda: pc.Float64(10**400), lambda: pc.Int64(10**30), lambda: pc.array([10**30]), lambda: pc.Int32([1]) + 10**30):
        with pytest.raises(OverflowError):
            refused()


def test_what_can_be_gone_through_is_a_list():
    table = {"a": 1, "b": 2}
    for items in (lambda: (i for i in (1, 2)), lambda: collections.deque([1, 2]), table.values, lambda: map(int, "12")):
        for make in (pc.Float, pc.Int32, pc.array, pc.asarray, pc.TensorXf):
            assert make(items()).tolist() == [1, 2]
    assert pc.TensorXf((i for i in range(4)), (2, 2)).tolist() == [[0, 1], [2, 3]]
    assert pc.array([i, i + 1] for i in range(2)).tolist() == [[0, 1], [1, 2]]
    with pytest.raises(ValueError, match="must be copied"):
        pc.asarray(table.values(), copy=False)
    for refused in ({1, 2}, {1: 2}, "12"):
        with pytest.raises(TypeError):
            pc.array(refused)


def test_many_entries_have_no_truth():
    t = pc.TensorXf([[1, 2]])
    for value in (t == t, pc.Float([1, 2]) == 1, pc.Vector3f(1, 2, 3) == pc.Vector3f(1, 2, 3)):
        with pytest.raises(ValueError, match=r"the truth of .*any\(x\), all\(x\)"):
            bool(value)
    assert bool(pc.all(t == t)) and bool(pc.TensorXf([[1]]))


def test_marks_are_pickled():
    x = pc.Float([1, 2])
    pc.enable_grad(x)
    for made in (pickle.loads(pickle.dumps(x)), pickle.loads(pickle.dumps(x * 2)), copy.deepcopy(x)):
        assert made.requires_grad
    assert not pickle.loads(pickle.dumps(pc.Float([1]))).requires_grad


@pc.jit
def doubled(x):
    return x * 2


def raised(x, n):
    return x**n


def test_recorded_functions_are_pickled():
    assert pickle.loads(pickle.dumps(doubled)) is doubled
    other = pickle.loads(pickle.dumps(pc.jit(raised, static_argnames="n")))
    assert other(pc.Float([1, 3]), n=2).tolist() == [1, 9] and other.__wrapped__ is raised
    cloudpickle = pytest.importorskip("cloudpickle")
    assert pickle.loads(cloudpickle.dumps(pc.jit(lambda x: x + 1)))(pc.Float([1])).tolist() == [2]


def test_signatures():
    x = pc.Float([1])
    assert list(inspect.signature(x.sin).parameters) == [] and list(inspect.signature(x.sort).parameters) == ["axis"]
    assert "from_" in inspect.signature(pc.moveaxis).parameters and str(inspect.signature(pc.conj)) == "(x)"
    assert "cls" not in inspect.signature(pc.Float).parameters
    assert list(inspect.signature(pc.Float.zeros).parameters) == ["args", "kwargs"]
    for name in dir(pc):
        made = getattr(pc, name)
        if callable(made) and not inspect.isclass(made):
            inspect.signature(made)
    assert len(dir(x)) == len(set(dir(x)))


def test_files_that_are_no_arrays(tmp_path):
    (tmp_path / "a.csv").write_text("1,2\n")
    (tmp_path / "empty.npy").write_text("")
    for name in ("a.csv", "empty.npy"):
        with pytest.raises(ValueError, match=rf"{name}.*expected a file \.npy"):
            pc.load(tmp_path / name)
    pc.save(tmp_path / "r.csv", pc.Float([1]))
    with pytest.raises(FileNotFoundError, match=r"r\.csv'; there is .*r\.csv\.npy"):
        pc.load(tmp_path / "r.csv")
    np.savez(tmp_path / "z.npz", a=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match=r"z\.npz.*expected a file"):
        pc.load(tmp_path / "z.npz")
    assert pc.load(tmp_path / "r.csv.npy").tolist() == [1]


def test_files_of_several_arrays(tmp_path):
    params = {"w": pc.TensorXf([[1, 2]]), "layer.b": pc.Float([3])}
    for write in (lambda path: pc.savez(path, params), lambda path: pc.savez(path, **params)):
        write(tmp_path / "w.npz")
        found = pc.load(tmp_path / "w.npz")
        assert found.keys() == params.keys() and all(found[key].tolist() == x.tolist() for key, x in params.items())
    pc.savez(tmp_path / "w", pc.Float([1]), [2, 3], mask=pc.Mask([True]))
    assert {key: x.tolist() for key, x in np.load(tmp_path / "w.npz").items()} == {"arr_0": [1], "arr_1": [2, 3], "mask": [True]}
    with pytest.raises(TypeError, match=r"save: got a dict.*pc\.savez\(path, x\)"):
        pc.save(tmp_path / "p.npy", params)
    with pytest.raises(TypeError, match="got a dict as 'a', expected an array"):
        pc.savez(tmp_path / "p.npz", {"a": params})
    with pytest.raises(TypeError, match="two arrays of the name a"):
        pc.savez(tmp_path / "p.npz", {"a": 1}, a=2)
    with pytest.raises(FileNotFoundError, match=r"there is .*w\.npz"):
        pc.load(tmp_path / "w")


def test_errors_name_what_was_called():
    mask, z = pc.Mask([True, False]), pc.Complex2f([1, 2], [3, 4])
    for name, given in (("std", mask), ("ptp", z), ("ptp", mask), ("nanmax", mask), ("logsumexp", mask)):
        with pytest.raises((TypeError, ValueError), match=rf"^{name}: "):
            getattr(pc, name)(given)
    with pytest.raises(ValueError, match="^kurtosis: got axis 7"):
        pc.kurtosis(pc.TensorXf([[1, 2]]), 7)
