"""Classes, operators, indices, members."""

import copy
import math
import pickle

import pytest

import porcini as pc


def test_types_of_results_follow_promotion():
    assert type(pc.Float([1]) + 1) is pc.Float
    assert type(pc.Int32([1]) + 1) is pc.Int32
    assert type(pc.Int32([1]) / 2) is pc.Float
    assert type(pc.Float([1]) + pc.Float64([1])) is pc.Float64
    assert type(pc.Float([1]) > 0) is pc.Mask
    assert type(pc.Vector3f(1, 2, 3) * 2) is pc.Vector3f
    assert type(pc.TensorXf([[1]]) + 1) is pc.TensorXf
    assert isinstance(pc.Float(1), pc.Array) and issubclass(pc.Float, pc.Array)
    assert pc.Float32 is pc.Float and pc.Int is pc.Int32 and pc.Bool is pc.Mask


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (lambda: pc.Float([7, -7]) // 2, [3, -4]),
        (lambda: pc.Int32([7, -7]) // 2, [3, -4]),
        (lambda: pc.Int32([7, -7]) % 3, [1, 2]),
        (lambda: pc.Float([7.5, -7.5]) % 2, [1.5, 0.5]),
        (lambda: pc.fmod(pc.Float([7, -7]), 3), [1, -1]),
        (lambda: pc.idiv(pc.Int32([7, -7]), 2), [3, -3]),
        (lambda: pc.Float([2, 3]) ** 2, [4, 9]),
        (lambda: 2 ** pc.Float([2, 3]), [4, 8]),
        (lambda: pc.Float([4, 9]) ** 0.5, [2, 3]),
        (lambda: 1 - pc.Float([1, 2]), [0, -1]),
        (lambda: 6 / pc.Float([1, 2]), [6, 3]),
        (lambda: 7 // pc.Int32([2, -2]), [3, -4]),
        (lambda: -pc.Float([1, -2]), [-1, 2]),
        (lambda: +pc.Float([1, -2]), [1, -2]),
        (lambda: abs(pc.Float([1, -2])), [1, 2]),
        (lambda: ~pc.Mask([True, False]), [False, True]),
        (lambda: ~pc.UInt32([0]), [2**32 - 1]),
        (lambda: pc.UInt32([6]) & 3, [2]),
        (lambda: pc.UInt32([6]) | 1, [7]),
        (lambda: pc.UInt32([6]) ^ 3, [5]),
        (lambda: pc.Int32([1]) << 3, [8]),
        (lambda: pc.Int32([-8]) >> 1, [-4]),
        (lambda: pc.Float([1, 2]) == 2, [False, True]),
        (lambda: pc.Float([1, 2]) != 2, [True, False]),
        (lambda: pc.Float([1, 2]) <= 1, [True, False]),
        (lambda: 1 < pc.Float([1, 2]), [False, True]),
        (lambda: divmod(pc.Int32([7]), 2)[1], [1]),
        (lambda: pc.Float([1, 2]) + [10, 20], [11, 22]),
    ],
)
def test_operators(made, expected):
    assert made().tolist() == expected


def test_lanes():
    x = pc.Float([1, 2, 3, 4])
    assert x[0] == 1.0 and type(x[0]) is float and x[-1] == 4
    assert x[1:3].tolist() == [2, 3] and x[::-1].tolist() == [4, 3, 2, 1] and x[-2:].tolist() == [3, 4]
    assert x[3:0:-2].tolist() == [4, 2] and x[5:].tolist() == [] and x[::3].tolist() == [1, 4]
    assert x[[0, 2]].tolist() == [1, 3] and x[pc.Int32([-1, 0])].tolist() == [4, 1]
    # As in scripts: what a mask leaves out is 0; compress packs.
    assert x[x > 2].tolist() == [0, 0, 3, 4] and pc.compress(x, x > 2).tolist() == [3, 4]
    assert x[None].shape == (1, 4) and x[:, None].shape == (4, 1) and x[...].tolist() == x.tolist()
    assert len(x) == 4 and list(x) == [1, 2, 3, 4] and 3 in x and 9 not in x
    assert x.shape == (4,) and x.ndim == 1 and x.size == 4 and x.dtype == "float32"


def test_writes():
    x = pc.Float([1, 2, 3, 4])
    y, z = x, x.copy()
    x[0] = 9
    x[1:3] = [7, 8]
    x[x > 8] += 1
    x[[3]] = 5
    assert x.tolist() == [10, 7, 8, 5] and y.tolist() == x.tolist() and z.tolist() == [1, 2, 3, 4]
    y += 1
    assert x.tolist() == [10, 7, 8, 5], "+= binds the name anew"
    v = pc.Vector3f(1, [2, 3], 4)
    v.x = 5
    v.y[0] = 6
    v[2] = pc.Float([7, 8])
    assert v.y.tolist() == [6, 3] and v.z.tolist() == [7, 8] and v.x.tolist() == [5]
    v.xy = 0
    assert v.x.tolist() == [0] and v.y.tolist() == [0], "components are replaced"
    t = pc.TensorXf([[1, 2], [3, 4]])
    t[0] = 0
    t[1, 1] = 9
    t[:, 0] = [5, 6]
    assert t.tolist() == [[5, 0], [6, 9]]
    m = pc.Matrix2f([1, 2], [3, 4])
    m[0, 1] = 7
    assert m.tolist() == [[[1, 7], [3, 4]]]


def test_tensors():
    t = pc.TensorXf([[1, 2, 3], [4, 5, 6]])
    assert t.shape == (2, 3) and t.T.shape == (3, 2) and len(t) == 2
    assert t[1, 2] == 6 and t[1].tolist() == [4, 5, 6] and t[:, 1].tolist() == [2, 5]
    assert t[..., -1].tolist() == [3, 6] and t[None, ..., 0].shape == (1, 2) and t[:, [2, 0]].tolist() == [[3, 1], [6, 4]]
    assert [row.tolist() for row in t] == [[1, 2, 3], [4, 5, 6]]
    assert list(t[1]) == [4, 5, 6] and list(pc.TensorXc([1, 2j])) == [1, 2j]
    rows = iter(pc.zeros((1 << 40, 2)))  # one row at a time
    assert not isinstance(rows, type(iter([]))) and next(rows).tolist() == [0, 0]
    first, second = t
    assert second.tolist() == [4, 5, 6]
    assert (t @ t.T).tolist() == [[14, 32], [32, 77]]
    assert (t @ pc.Float([1, 0, 1])).tolist() == [4, 10]
    assert pc.sum(t, axis=0).tolist() == [5, 7, 9] and t.sum(axis=1, keepdims=True).tolist() == [[6], [15]]
    assert pc.sum(t, axis=(0, 1)).tolist() == [21] or pc.sum(t, axis=(0, 1)).tolist() == 21
    assert t.reshape(-1).tolist() == [1, 2, 3, 4, 5, 6] and pc.reshape(t, (3, 2))[2, 1] == 6
    assert (t + pc.Float([10, 20, 30])).tolist() == [[11, 22, 33], [14, 25, 36]]
    z = pc.TensorXc([[1 + 2j, 3]])
    assert z.dtype == "complex64" and z[0, 0] == 1 + 2j and z.real.tolist() == [[1, 3]] and z.H.tolist() == [[1 - 2j], [3]]
    assert pc.zeros((2, 2)).tolist() == [[0, 0], [0, 0]] and pc.full((2,), 7).tolist() == [7, 7]
    assert pc.ones((1, 2), dtype=pc.Int32).dtype == "int32" and pc.arange(3).dtype == "int32"
    assert pc.eye(2).tolist() == [[1, 0], [0, 1]] and pc.einsum("ii", t[:, :2]).tolist() == [6]


def test_nested():
    v = pc.Vector3f([1, 2], 0, 1)
    assert v.shape == (3, 2) and v.size == 6 and pc.shape(v) == [3, 2] and len(v) == 3 and v.zx.tolist() == [[1, 1], [1, 2]]
    assert pc.dot(v, v).tolist() == [2, 5] and pc.norm(pc.Vector2f(3, 4)).tolist() == [5]
    assert pc.cross(pc.Vector3f(1, 0, 0), pc.Vector3f(0, 1, 0)).tolist() == [[0, 0, 1]]
    m = pc.Matrix3f(2)
    assert (m @ v).x.tolist() == [2, 4] and m.T.tolist() == m.tolist() and m[0, 0].tolist() == [2]
    z = pc.Complex2f(1, 2)
    assert (z * z).tolist() == [-3 + 4j] and (z * 1j).tolist() == [-2 + 1j] and z.imag.tolist() == [2]
    q = pc.Quaternion4f.rotate([0, 0, 1], math.pi / 2)
    assert pc.allclose(pc.rotate(q, pc.Vector3f(1, 0, 0)).y, 1, 1e-5, 1e-5)
    assert pc.Matrix4f.translate([1, 2, 3])[0, 3].tolist() == [1]
    assert pc.Vector2f.unravel(pc.Float([1, 3, 2, 4])).x.tolist() == [1, 2]
    assert pc.Vector3f(pc.TensorXf([[1, 2, 3], [4, 5, 6]])).y.tolist() == [2, 5]
    assert pc.stack([pc.Float([1, 2]), pc.Float([3, 4])]).tolist() == [[1, 2], [3, 4]]


def test_as_python():
    assert float(pc.Float(2.5)) == 2.5 and int(pc.Int32(3)) == 3 and bool(pc.Mask(True))
    assert [10, 20][pc.Int32(1)] == 20 and f"{pc.Float(3.14159):.2f}" == "3.14"
    assert str(pc.Float([1, 0.5])) == "[1, 0.5]" and repr(pc.Int32([])) == "[]"
    assert str(pc.Float.arange(30)) == "[0, 1, 2, 3, 4, .. 20 skipped .., 25, 26, 27, 28, 29]"
    for value in [pc.Float([1, 2]), pc.Vector3f(1, 2, 3), pc.TensorXf([[1, 2]]), pc.TensorXz([[1j]]), pc.Mask([True])]:
        for made in [pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)]:
            assert type(made) is type(value) and made.tolist() == value.tolist() and made.shape == value.shape
    assert pickle.loads(pickle.dumps(pc.sin)) is pc.sin


def test_makers():
    assert pc.Float.zeros(2).tolist() == [0, 0] and pc.Float.arange(2, 8, 2).tolist() == [2, 4, 6]
    assert pc.Float.linspace(0, 1, 3).tolist() == [0, 0.5, 1] and pc.Float.full(7, n=2).tolist() == [7, 7]
    assert pc.zeros(pc.Float, 3).tolist() == [0, 0, 0] and pc.arange(pc.UInt32, 3).tolist() == [0, 1, 2]
    assert pc.TensorXi.ones([1, 2]).tolist() == [[1, 1]] and pc.Vector2f.zeros(2).tolist() == [[0, 0], [0, 0]]
    assert pc.Float(1, 2, 3).tolist() == [1, 2, 3] and pc.Float().tolist() == []
    assert pc.Float(i / 2 for i in range(3)).tolist() == [0, 0.5, 1] and pc.Int32(map(int, "12")).tolist() == [1, 2] and len(pc.Float(iter([]))) == 0


class TestErrors:
    @pytest.mark.parametrize(
        ("text", "kind", "words"),
        [
            ("pc.Float([1, 2]) + pc.Float([1, 2, 3])", ValueError, "sizes 2 and 3 do not broadcast"),
            ("pc.Mask([True]) + 1", TypeError, "got Mask, expected an array of numbers"),
            ("pc.Int32([1]) + 3000000000", OverflowError, "does not fit Int32"),
            ("pc.Float([1])[3]", IndexError, "index 3 is out of bounds for size 1"),
            ("pc.Float([1]) + 'a'", TypeError, "unsupported operand"),
            ("pc.sin('a')", TypeError, "sin: got 'a', expected an array or a number"),
            ("pc.sin(1, 2, 3)", TypeError, "expected sin(x)"),
            ("pc.roll(pc.Float([1]), 'x')", TypeError, "expected integers"),
            ("bool(pc.Float([1, 2]))", ValueError, "any(x), all(x)"),
            ("float(pc.Float([1, 2]))", TypeError, "expected one lane"),
            ("pc.Float([[1, 2], [3]])", ValueError, "unequal lengths"),
            ("pc.Float('abc')", TypeError, "expected an array or a number"),
            ("pc.Float(1).foo", AttributeError, "Float has no member foo"),
            ("pc.Vector2f(1, 2).z", AttributeError, "Vector2f has no member z (it has x, y"),
            ("pc.sinn", AttributeError, "did you mean"),
            ("pc.Vector3f(1, 2)", ValueError, "got 2 components, expected 3"),
            ("pc.TensorXf([[1, 2]]) @ pc.TensorXf([[1, 2]])", ValueError, "inner dimensions differ: 1x2"),
            ("pc.Array(1)", TypeError, "Array has no type"),
            ("pc.jv", AttributeError, "has no jv: write pc.j0(x) or pc.j1(x)"),
            ("pc.inv(pc.TensorXf([[1, 2], [2, 4]]))", ValueError, "singular"),
            ("pc.set_flag('nonsense', True)", ValueError, "no flag named"),
            ("pc.set_log_level(9)", ValueError, "0 to 5"),
            ("pc.quantile(pc.Float([1]))", TypeError, "quantile(x, p)"),
            ("pc.zeros(-1)", ValueError, "-1"),
            ("pc.Int64([2**80])", OverflowError, "2**64"),
            ("pc.einsum('ij,jk', pc.TensorXf([[1]]))", ValueError, "einsum"),
            ("pc.while_loop((1,), lambda x: 1, lambda x: (x,))", TypeError, "expected a Mask"),
            ("pc.sort(pc.Float([1]), side='left')", TypeError, "side"),
            ("pc.Float([1], [2, 3])", ValueError, "unequal lengths"),
            ("pc.kernel('T f(T x) { return y; }')", ValueError, "y"),
            ("pc.norm(pc.Float([1, -2, 3]), 1)", ValueError, "norm: got axis 1 of 1 axes; the order is norm(x, ord=1)"),
            ("pc.diff(pc.Float([1, 2, 3]), 2)", ValueError, "diff: got axis 2 of 1 axes; how often is diff(x, n=2)"),
            ("pc.diff(pc.Float([1, 2, 3]), axis=2)", ValueError, "diff: got axis 2"),
            ("pc.average(pc.Float([1, 2, 3]), 0)", TypeError, "average: got 0 as weights, expected an array; an axis is"),
            ("pc.asarray(pc.Float)", TypeError, "asarray: got"),
            ("pc.Float(1).grad", AttributeError, "enable_grad(x) marks x before"),
        ],
    )
    def test_they_say_what_to_do(self, text, kind, words):
        with pytest.raises(kind) as told:
            eval(text)
        assert words in str(told.value), str(told.value)
        assert "FloatC" not in str(told.value)

    def test_bounds_are_told_at_the_read(self):
        x = pc.gather(pc.Float([1, 2, 3]), pc.UInt32([100]))
        with pytest.raises(IndexError, match="index 100 out of bounds for size 3"):
            x.tolist()

    def test_memory(self):
        with pytest.raises(MemoryError):
            pc.eval(pc.Float.arange(10**13) + 1)
        assert (pc.Float([1]) + 1).tolist() == [2], "the session goes on"


def test_makers_of_any_type():
    assert type(pc.asarray([1, 2])) is pc.Int32 and type(pc.asarray([[1.5, 2]])) is pc.TensorXf
    assert pc.asarray([1, 2], dtype=pc.Float64).dtype == "float64" and pc.array(3).tolist() == [3]
    x = pc.Float([1.5, 2.5])
    assert x.astype(pc.Int32).tolist() == [1, 2] and x.astype("float64").nbytes == 16
    with pytest.raises(TypeError, match="endpont"):
        pc.linspace(0, 1, n=3, endpont=False)


def test_import_of_all_names():
    names = {}
    exec("from porcini import *", names)
    assert "sin" in names and "Float" in names and "eval" not in names


def test_html():
    grid = pc.TensorXf([[1, 2], [3, 4]])._repr_html_()
    assert grid.count("<tr>") == 2 and "TensorXf, [2, 2]" in grid
    assert "[1, 2]" in pc.Float([1, 2])._repr_html_() and len(pc.Float.arange(100_000)._repr_html_()) < 2000
    # Its text tells what went wrong.
    assert pc.gather(pc.Float([1, 2]), pc.UInt32([0, 9]))._repr_html_() is None


def test_masked_writes_keep_the_size():
    x = pc.Float([1])
    for mask, values in [([1], []), ([], []), ([1], [1, 2]), ([1, 0], [1, 2, 3])]:
        with pytest.raises(ValueError):
            x[pc.Mask(mask)] = pc.Float(values)
    assert x.tolist() == [1]
    x[pc.Mask([1, 0])] = 3.0
    assert x.tolist() == [3, 1], "one lane stands for all"
    x = pc.Float([1, 2])
    x[pc.Mask([True])] = 5
    x[pc.Mask([False, True])] = pc.Float([7])
    assert x.tolist() == [5, 7]
    v = pc.Vector2f([1, 2], 3)
    v[pc.Mask([True, False])] = 0
    assert v.tolist() == [[0, 0], [2, 3]]


@pytest.mark.parametrize(
    ("values", "dtype", "error"),
    [([300, -1], "uint8", OverflowError), ([2**40], "int32", OverflowError), ([2.7], "int32", TypeError), ([[1], [2.5]], pc.Int64, TypeError)],
)
def test_numbers_that_do_not_fit_a_type(values, dtype, error):
    for make in (pc.asarray, pc.array):
        with pytest.raises(error):
            make(values, dtype=dtype)


def test_numbers_that_fit_a_type():
    assert pc.asarray([255, True], dtype="uint8").tolist() == [255, 1]
    assert pc.asarray([1, 0, 2], dtype=bool).tolist() == [True, False, True]
    assert pc.asarray(pc.Float([2.7]), dtype="int32").tolist() == [2], "an array is converted, as astype does"


def test_iteration_goes_by_pieces():
    n = 100_000
    x = pc.Int32.arange(n)
    lanes = iter(x)
    assert next(lanes) == 0 and iter(lanes) is lanes and lanes.__length_hint__() == n - 1
    x[1] = 7
    assert list(lanes) == list(range(1, n)), "of what it was when it began"
    assert x.tolist() == [0, 7, *range(2, n)]
    t = pc.TensorXf([[1, 2], [3, 4]])
    assert [list(row) for row in t] == t.tolist() and [c.item() for c in pc.Vector2f(1, 2)] == [1, 2]
    assert pc.TensorXf(pc.Float.arange(60_000), [3, 20_000]).tolist()[2][-1] == 59_999


def test_complex_numbers():
    assert complex(pc.Complex2f(1, 2)) == 1 + 2j and pc.Complex2f(1, 2).item() == 1 + 2j and pc.TensorXc([3j]).item() == 3j
    with pytest.raises(TypeError):
        float(pc.Complex2f(1, 2))
    z = pc.Complex2(pc.Int32([1, 2]))
    assert z.tolist() == [1, 2] and z.dtype == "complex128"


def test_arguments_by_name():
    assert pc.sin(x=pc.Float([0])).tolist() == [0] and pc.sin(x=0.0) == 0
    assert pc.select(mask=pc.Mask([1, 0]), a=1.0, b=pc.Float([5, 6])).tolist() == [1, 6]
    x = pc.Float([1, 2, 3, 4])
    assert abs(x.std(ddof=1).item() - 1.290994) < 1e-5 and abs(pc.var(x, ddof=1).item() - 5 / 3) < 1e-5
    pc.scatter(target=x, value=1.0, index=pc.UInt32([3]))
    assert x.tolist() == [1, 2, 3, 1] and pc.gather(source=x, index=pc.UInt32([1])).tolist() == [2]
    t = pc.TensorXf([[1, 2], [3, 5]])
    assert pc.fft(t, axis=0).tolist() == [[4, 7], [-2, -3]] and pc.fft(t, None, 0).tolist() == [[4, 7], [-2, -3]]
    assert pc.sum(t, axis=0).tolist() == [4, 7] and pc.reshape(t=t, shape=(4,)).tolist() == [1, 2, 3, 5]
    with pytest.raises(TypeError, match="y="):
        pc.sin(y=x)
    # What is left out in front of others, or None, is the default.
    assert pc.allclose(t, t + 0.01, atol=0.1) and not pc.allclose(t, t + 0.01) and pc.allclose(math.nan * t, math.nan * t, equal_nan=True)
    assert pc.average(t, axis=0).tolist() == pc.average(t, None, 0).tolist() == [2, 3.5]
    assert pc.trapezoid(t, axis=0).tolist() == [2, 3.5] and pc.gradient_of(t, axis=0).tolist() == [[2, 3], [2, 3]]
    assert pc.histogram(x, low=0, high=4).tolist() == [0, 0, 2, 0, 0, 1, 0, 1, 0, 0] and pc.eye(2, k=1).tolist() == [[0, 1], [0, 0]]
    keys = pc.Int32([0, 2])
    assert pc.bincount(keys, weights=2).tolist() == [2, 0, 2] and pc.bincount(keys, weights=0.5).tolist() == [0.5, 0, 0.5]
    assert pc.bincount(keys, weights=2, minlength=4).tolist() == pc.bincount(keys, 2, 4).tolist() == [2, 0, 2, 0]
    assert pc.bincount(keys, 4).tolist() == pc.bincount(keys, minlength=4).tolist() == [1, 0, 1, 0] and pc.cumsum(t, None).tolist() == [1, 3, 6, 11]
    assert pc.pad(t, [0, 0], None).tolist() == t.tolist() and pc.nan_to_num(pc.Float([-math.inf]), neginf=-1).tolist() == [-1]
    with pytest.raises(ValueError, match="both bounds"):
        pc.histogram(t, 2, axis=0)
    with pytest.raises(ValueError, match="-1 among the integers"):
        pc.bincount(pc.Int32([-1]))


def test_methods_as_numpy_has_them():
    t = pc.arange(6).reshape(2, 3)
    assert t.tolist() == [[0, 1, 2], [3, 4, 5]] and t.transpose(1, 0).shape == (3, 2) and t.transpose((1, 0)).shape == (3, 2)
    assert t.reshape((3, 2)).shape == (3, 2) and t.reshape(-1).shape == (6,) and t.transpose().shape == (3, 2)
    x = pc.Float([1, 2])
    assert x.to("cpu").tolist() == [1, 2]


def test_random_numbers_of_the_session():
    pc.seed(0)
    a, b = pc.rand(3), pc.rand(3)
    pc.seed(0)
    assert pc.rand(3).tolist() == a.tolist() != b.tolist()
    assert pc.rand((2, 3)).shape == (2, 3) and pc.randn(1000).dtype == "float32"
    assert pc.rand(2, dtype="float64").dtype == pc.randn((2, 1), dtype=pc.Float64).dtype == "float64" and pc.rand().size == 1
    with pytest.raises(TypeError, match="randn: got dtype=int32, expected float32 or float64"):
        pc.randn(2, dtype="int32")
    pc.seed(0)
    x = pc.Float([1, 2, 3, 4, 5])
    assert pc.shuffle(x).tolist() == [4, 5, 1, 3, 2] != pc.shuffle(x).tolist() and x.tolist() == [1, 2, 3, 4, 5]
    pc.seed(0)
    assert pc.permutation(5).tolist() == [3, 4, 0, 2, 1] and pc.permutation(0).size == 0 and pc.permutation(2).dtype == "uint32"
    rows = pc.permutation(pc.TensorXf([[1, 10], [2, 20], [3, 30]])).tolist()
    assert sorted(rows) == [[1, 10], [2, 20], [3, 30]] and sorted(pc.shuffle([1, 2]).tolist()) == [1, 2]
    with pytest.raises(ValueError, match="permutation: got -1, expected an integer from 0 up"):
        pc.permutation(-1)
    # An array of one lane is one, not how many numbers there are.
    assert pc.permutation(pc.UInt32([5])).tolist() == [5]
    with pytest.raises(TypeError, match="permutation: got .*, expected an integer, an array or a list"):
        pc.permutation(3.0)
    with pytest.raises(TypeError, match="permutation: got .*, expected an array or a number"):
        pc.permutation("five")
    dice = pc.randint(1, 7, 1000)
    assert dice.dtype == "int32" and {*dice.tolist()} == {1, 2, 3, 4, 5, 6}
    rng = pc.PCG32.seeded(4, 1)
    assert pc.rand(4, rng).tolist() == pc.PCG32.seeded(4, 1).next_float32().tolist() != pc.rand(4, rng).tolist()
    for dtype in ("float16", "float32", "float64"):
        drawn = pc.PCG32.seeded(4, 1).next_float(dtype)
        assert drawn.dtype == dtype and drawn.tolist() == getattr(pc.PCG32.seeded(4, 1), f"next_{dtype}")().tolist()
    assert pc.PCG32(1).next_float(pc.Float64, active=pc.Mask(False)).tolist() == [0]
    with pytest.raises(TypeError, match="next_float: got .*, expected a type of floats"):
        rng.next_float(pc.Int32)
    for f, error in [(lambda: pc.rand(-1), ValueError), (lambda: pc.rand(1.5), TypeError), (lambda: pc.randint(3, 3, 1), ValueError)]:
        with pytest.raises(error):
            f()
    with pytest.raises(RuntimeError, match="PCG32.seeded"):
        pc.function(lambda x: x + pc.rand(2))(pc.Float([1, 2]))


def test_writes_to_values_with_components():
    v = pc.Vector2f([1, 2], 5)
    pc.scatter(v, pc.Vector2f(7, 8), pc.UInt32([0]))
    assert [v.x.tolist(), v.y.tolist()] == [[7, 2], [8, 5]]
    v = pc.Vector2f([1, 2], 5)
    v[pc.UInt32([1])] = 9
    assert [v.x.tolist(), v.y.tolist()] == [[1, 9], [5, 9]]
    z = pc.Complex2f([1, 2], [3, 4])
    pc.scatter_add(z, 7, pc.UInt32([1]))
    assert [z.real.tolist(), z.imag.tolist()] == [[1, 9], [3, 4]]
    with pytest.raises(ValueError, match="different numbers of components"):
        pc.scatter(v, pc.Vector3f(7, 8, 9), pc.UInt32([1]))
    x = pc.Int32([1, 2])
    with pytest.raises(TypeError, match=r"got values of Float for Int32; convert them: values.astype\(.int32.\)"):
        x[0:1] = pc.Float([1.5])


def test_components_and_values_see_each_others_writes():
    v = pc.Vector2f([1, 2], [3, 4])
    y = v.y
    v.y[1] = 7
    y[0] = 1
    assert [y.tolist(), v.y.tolist()] == [[1, 7], [1, 7]]
    pc.scatter(v, 9, pc.UInt32([0]))
    assert y.tolist() == [9, 7]
    m = pc.Matrix2f(1, 2, 3, 4)
    column = m[0]
    entry = column.x
    m[0, 0] = 5
    assert [entry.tolist(), column.x.tolist()] == [[5], [5]]


def test_a_truth_value_is_a_mask():
    assert pc.any(True) is True and pc.all(False) is False and pc.none(pc.isnan(1.5)) is True
    assert pc.count(True) == 1 and pc.any_nested(False) is False


def test_scatter_reduce():
    x = pc.Float([1, 2])
    pc.scatter_reduce(pc.ReduceOp.Max, x, pc.Float([5, 0]), pc.UInt32([0, 1]))
    pc.scatter_reduce(pc.ReduceOp.Add, x, 1.0, pc.UInt32([0, 1]), pc.Mask([False, True]))
    assert x.tolist() == [5, 3]
    with pytest.raises(TypeError, match="ReduceOp.Add"):
        pc.scatter_reduce("add", x, 1.0, pc.UInt32([0]))


def test_a_number_beside_integers_is_one_of_them():
    np = pytest.importorskip("numpy")
    a = np.arange(24.0).reshape(2, 3, 4)
    x = pc.array(a)
    keys = [(0, slice(None), [0, 1]), (-1, slice(1, 3), [3, 0]), ([0, 1], slice(None), 2), (0, [0, 1]), (slice(None), 0, [0, 1])]
    for key in keys + [(0, None, [0, 1]), ([1], 0, slice(None)), (1, ..., [2, 3, 0])]:
        assert x[key].shape == a[key].shape and np.array_equal(np.asarray(x[key]), a[key])
    x[0, :, [0, 1]], a[0, :, [0, 1]] = -1, -1
    assert np.array_equal(np.asarray(x), a)
    with pytest.raises(IndexError):
        x[2, :, [0, 1]]


def test_parts_of_complex_numbers_are_real():
    for make in [lambda: pc.Complex2(pc.Float([1, 2]), 1j), lambda: pc.Complex2f(1j, 1j)]:
        with pytest.raises(TypeError, match="complex number as a part"):
            make()
    assert pc.Complex2f(1j).tolist() == [1j] and pc.Complex2f(1, 2).tolist() == [1 + 2j]


def test_complex_numbers_are_lent():
    np = pytest.importorskip("numpy")
    where = {} if pc.Float([1]).__dlpack_device__()[0] == 1 else {"device": "cpu"}
    z = pc.Complex2f(1, pc.Float([3, 4]))
    assert np.from_dlpack(z, **where).tolist() == [1 + 3j, 1 + 4j]
    assert np.from_dlpack(pc.Vector3f([1, 2], 0, 5), **where).tolist() == [[1, 0, 5], [2, 0, 5]]


def test_lists_take_the_type_of_what_they_stand_beside():
    x = pc.zeros(pc.UInt32, 4)
    x[:2] = [5, 6]
    pc.scatter(x, [7, 8], pc.UInt32([2, 3]))
    assert x.tolist() == [5, 6, 7, 8] and (x + [1, 2, 3, 4]).dtype == ([1, 2, 3, 4] + x).dtype == "uint32"
    assert (x + [-1, 0, 0, 0]).tolist() == [4, 6, 7, 8], "what does not fit has its own type"
    assert (pc.Int32([1, 2]) + [0.5, 1]).dtype == "float32" and (pc.Float64([1]) * [0.1]).tolist() == [0.1]
    half = pc.Float16([1, 2])
    half[:] = [0.5, 0.25]
    assert half.tolist() == [0.5, 0.25] and (half + [1, 2]).dtype == "float16"
    assert (pc.UInt8([1]) + [300]).tolist() == [301]


def test_slices_of_components_are_written():
    v = pc.Vector3f([1, 2], [3, 4], [5, 6])
    v[1:3] = [7, 8]
    assert v.tolist() == [[1, 7, 8], [2, 7, 8]]
    v[::2] = v[1:3]
    assert v.tolist() == [[7, 7, 8]]
    v[:2] = 0
    assert v.tolist() == [[0, 0, 8]]


def test_sizes_by_the_names_of_others():
    assert pc.zeros(pc.Float, shape=3).tolist() == [0, 0, 0] and pc.ones(pc.TensorXf, shape=(1, 2)).tolist() == [[1, 1]]
    assert pc.linspace(pc.Float, 0, 1, num=3).tolist() == [0, 0.5, 1]


def test_one_axis_of_each():
    a, b = pc.Float([1, 2]), pc.Float([3, 4])
    assert pc.tensordot(a, b, axes=(0, 0)).tolist() == pc.tensordot(a, b, (0, 0)).tolist() == [11]


def test_gradients_as_members():
    x = pc.Float([1, 2])
    assert not hasattr(x, "grad") and getattr(x, "grad", None) is None
    pc.enable_grad(x)
    x.grad = pc.Float([3, 4])
    assert x.grad.tolist() == [3, 4]


def test_a_class_is_no_argument_of_branches():
    with pytest.raises(TypeError, match="dispatch: got type, expected an array"):
        pc.dispatch(pc.UInt32([0, 0]), [lambda c, x: c(x)], (pc.Float64, pc.Float([1, 2])))


def test_members_are_there_or_not():
    for x in [pc.Float(1), pc.Vector2f(1, 2), pc.Complex2d(1, 2), pc.TensorXf([[1, 2]]), pc.Matrix2f(1), pc.Quaternion4f(1, 2, 3, 4)]:
        assert all(isinstance(hasattr(x, name), bool) for name in dir(x))


def test_recordings_are_forgotten():
    f = pc.freeze(lambda x: x + 1)
    assert f(pc.Float([1])).tolist() == [2] and f.n_recordings == 1
    f.clear()
    assert f.n_recordings == 0 and f(pc.Float([1])).tolist() == [2]


def test_traces_of_matrices_with_components():
    assert pc.trace(pc.Matrix2f([[1, 2], [3, 4]])).tolist() == [5]
    assert pc.trace(pc.Matrix2f([[pc.Float([1, 5]), 2], [3, 4]])).tolist() == [5, 9]


@pytest.mark.parametrize("name", "engine push operator engine_stats flush is_ready wait_any ctensor read_npy write_npy".split())
def test_names_of_scripts_alone(name):
    words = rf"module porcini has no {name}: it is a function of scripts: pc\.run_text\('{name}\(\.\.\)', {{'x': x}}\)"
    with pytest.raises(AttributeError, match=words):
        getattr(pc, name)
    _, value = pc.run_text('e = engine(); e.get(e.push("sqrt", x))', {"x": pc.Float([4, 9])})
    assert list(value) == [2, 3]
    with pytest.raises(AttributeError, match="module porcini has no no_such_thing$"):
        pc.no_such_thing
