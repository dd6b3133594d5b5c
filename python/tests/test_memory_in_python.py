"""Functions that are written in Python read the memory of others when they are called, as those of core's tables do."""

import pytest

import porcini as pc
from test_memory import written

np = pytest.importorskip("numpy")


def named(names, made):
    """Calls of functions that take their operands alike."""
    return {name: lambda b, name=name: made(getattr(pc, name), b) for name in names.split()}


# What functions that are written in Python, and forms of those of the tables, make of memory.
WRITTEN_IN_PYTHON = {
    **named("add subtract multiply divide", lambda f, b: f(b, [1, 1, 1])),
    **named("bitwise_and bitwise_or bitwise_xor", lambda f, b: f(b, [1, 1, 1])),
    **named("copy angle nancumsum", lambda f, b: f(b)),
    "astype": lambda b: pc.astype(b, "float32"),
    "append": lambda b: pc.append(b, b),
    "insert": lambda b: pc.insert(b, 1, b),
    "delete": lambda b: pc.delete(b, 0),
    "column_stack": lambda b: pc.column_stack([b, b]),
    "array_split": lambda b: pc.array_split(b, 2)[0],
    "diagonal": lambda b: pc.diagonal(b[None], 1),
    "diagflat": lambda b: pc.diagflat(b),
    "piecewise": lambda b: pc.piecewise(b, [b > 1], [b, lambda x: x * 2]),
    "choose": lambda b: pc.choose(b, [b, [5, 6, 7], [8, 9, 10]]),
    "setxor1d": lambda b: pc.setxor1d(b, [1, 5]),
    "vecdot": lambda b: pc.vecdot(b, b),
    **named("hsum hprod hmax hmin", lambda f, b: f(b, initial=2)),
    **named("hmean var std cumsum cumprod nansum nanprod nanmean nanvar nanstd", lambda f, b: f(b, dtype="float32")),
    **named("zeros_like ones_like", lambda f, b: f(b, dtype="int8")),
    "full_like": lambda b: pc.full_like(b, 5, dtype="int8"),
    "clip": lambda b: pc.clip(b, None, None),
    "diff": lambda b: pc.diff(b, n=2),
    "unique": lambda b: pc.unique(b, return_counts=True)[0],
    **named("quantile nanquantile", lambda f, b: f(b, 0.5, method="linear")),
    **named("percentile nanpercentile", lambda f, b: f(b, 50, method="linear")),
    "meshgrid": lambda b: pc.meshgrid(b, b, indexing="ij")[0],
    "split": lambda b: pc.split(b, [1])[1],
    "tensordot": lambda b: pc.tensordot(b, b, axes=([0], [0])),
    "moveaxis": lambda b: pc.moveaxis(b[None], [0], [1]),
    "norm": lambda b: pc.norm(b, ord=1),
    **named("fft rfft ifft irfft", lambda f, b: f(b, norm="ortho")),
    "vander": lambda b: pc.vander(b, N=2),
    **named("left_shift right_shift bitwise_left_shift bitwise_right_shift true_divide", lambda f, b: f(b, [1, 1, 1])),
    **named("divmod modf", lambda f, b: f(b, *[2] * (f is pc.divmod))[0]),
    **named("positive empty_like nancumprod atleast_1d atleast_2d atleast_3d", lambda f, b: f(b)),
    **named("hsplit vsplit dsplit", lambda f, b: f(b[:, None, None], 1)[0]),
    "matrix_transpose": lambda b: pc.matrix_transpose(b[None]),
    "ix_": lambda b: pc.ix_(b, b)[0],
    "ravel_multi_index": lambda b: pc.ravel_multi_index((b, b), (3, 3)),
    "pad": lambda b: pc.pad(b, 1, mode="edge"),
    **named("fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn", lambda f, b: f(b[None], norm="ortho")),
    "svd": lambda b: pc.svd(b[None], compute_uv=False),
    "qr": lambda b: pc.qr(b[None], mode="r"),
    "cholesky": lambda b: pc.cholesky(b[None, 1:2], upper=True),
    "eigh": lambda b: pc.eigh(b[None, 1:2], UPLO="U")[0],
    "eigvalsh": lambda b: pc.eigvalsh(b[None, 1:2], UPLO="U"),
    "pinv": lambda b: pc.pinv(b[None], hermitian=False),
    "cond": lambda b: pc.cond(b[None, 1:2], 1),
    "lstsq": lambda b: pc.lstsq(b[None, 1:2], b[1:2], rcond=None),
    "trace": lambda b: pc.trace(b[None], 1),
    **named("sort argsort", lambda f, b: f(b, descending=True)),
    "partition": lambda b: pc.partition(b, 1),
    "where": lambda b: pc.where(b)[0],
    "select": lambda b: pc.select([[True, False, True]], [b], default=5),
    "compress": lambda b: pc.compress(pc.Mask([1, 0, 1]), b),
    "take": lambda b: pc.take(b, [4], mode="wrap"),
    "isin": lambda b: pc.isin(b, [1], invert=True),
    "concat": lambda b: pc.concat([b, b], dtype="float32"),
    "cross": lambda b: pc.cross(b[:, None], b[::-1, None], axis=0),
    "cov": lambda b: pc.cov(b, ddof=0),
    "matrix_rank": lambda b: pc.matrix_rank(b[None], tol=0.5),
    "histogram2d": lambda b: pc.histogram2d(b, b, bins=2),
    "psum": lambda b: pc.psum(b, exclusive=True),
    "block_prefix_sum": lambda b: pc.block_prefix_sum(b, 2, exclusive=True),
    "interp": lambda b: pc.interp(b, b, b, left=-1),
    **named("trapezoid cumulative_trapezoid", lambda f, b: f(b, dx=0.5)),
    "unwrap": lambda b: pc.unwrap(b, period=3),
    "searchsorted": lambda b: pc.searchsorted(b, b, sorter=[0, 1, 2]),
    "one_hot": lambda b: pc.one_hot(b.astype("int32"), 3, axis=0),
    "setdiff1d": lambda b: pc.setdiff1d(b, [1], assume_unique=True),
    **named("skew kurtosis", lambda f, b: f(b, bias=False)),
    "logsumexp": lambda b: pc.logsumexp(b, b=b),
    "polyfit": lambda b: pc.round(pc.polyfit(b, b * b, 1, w=[1, 1, 1]) * 64),
    "find_peaks": lambda b: pc.find_peaks(b, threshold=1),
    "rot90": lambda b: pc.rot90(b[None], axes=(1, 0)),
    "histogram": lambda b: pc.histogram(b, 2, range=(0, 4)),
    **named("ravel flatten", lambda f, b: f(b, order="F")),
    "reshape": lambda b: pc.reshape(b, (3, 1), order="F"),
    "solve_triangular": lambda b: pc.solve_triangular(b[None, 1:2], b[1:2], trans="T"),
    "cho_solve": lambda b: pc.cho_solve((b[None, 1:2], True), b[1:2]),
    "toeplitz": lambda b: pc.toeplitz(c=b),
    "hankel": lambda b: pc.hankel(b, r=b),
    "circulant": lambda b: pc.circulant(c=b),
    "block_diag": lambda b: pc.block_diag(b[None], b),
    "detrend": lambda b: pc.detrend(b, bp=0),
    "hilbert": lambda b: pc.hilbert(b, N=4),
    "savgol_filter": lambda b: pc.savgol_filter(b, 3, 1, mode="interp"),
    "medfilt": lambda b: pc.medfilt(volume=b),
    "fftconvolve": lambda b: pc.fftconvolve(in1=b, in2=b),
    **named("nanmax nanmin", lambda f, b: f(b, initial=2)),
    **named("all any", lambda f, b: pc.asarray(f(b > 1, where=[True, False, True]))),
    **named("softmax log_softmax", lambda f, b: f(b[None], axis=(0, 1))),
    "average": lambda b: pc.average(b, returned=True)[0],
    "corrcoef": lambda b: pc.corrcoef(b, b, rowvar=True),
    "intersect1d": lambda b: pc.intersect1d(b, [1, 2], return_indices=True)[1],
    "nan_to_num": lambda b: pc.nan_to_num(b, copy=True),
    "unravel_index": lambda b: pc.unravel_index(b.astype("int32"), (3, 3), order="F")[0],
    **named("broadcast_arrays block dstack", lambda f, b: f([b, b]) if f is not pc.broadcast_arrays else f(b)[0]),
    "argpartition": lambda b: pc.argpartition(b, 1),
    "apply_along_axis": lambda b: pc.apply_along_axis(pc.sum, 0, b),
    **named("relu6 selu zscore factorial log_ndtr celu hard_tanh hard_silu hard_swish squareplus", lambda f, b: f(b)),
    **named("standardize logmeanexp log1mexp rankdata", lambda f, b: f(b)),
    "glu": lambda b: pc.glu(b[:2]),
    **named("comb perm", lambda f, b: f(b, [1, 1, 1])),
    "histogram_bin_edges": lambda b: pc.histogram_bin_edges(b, 2),
    "convolve2d": lambda b: pc.convolve2d(b[None], b[None]),
    **named("vector_norm", lambda f, b: f(b, ord=1)),
    "matrix_norm": lambda b: pc.matrix_norm(b[None]),
    "multi_dot": lambda b: pc.multi_dot([b[None], b[:, None]]),
    "gather": lambda b: pc.gather(pc.Vector3f, b, [0]),
}
WITHOUT_MEMORY = """empty identity tri ndim size tril_indices triu_indices linspace logspace geomspace zeros ones full fftfreq
rfftfreq hanning hamming blackman bartlett kaiser diag_indices indices eye enable_grad broadcast_shapes result_type promote_types can_cast tril_indices_from triu_indices_from
put_along_axis fill_diagonal scatter scatter_add scatter_min scatter_max scatter_and scatter_or rotate""".split()


@pytest.mark.parametrize("name", WRITTEN_IN_PYTHON)
def test_operands_of_functions_in_python_too(name):
    of_integers = name.startswith("bitwise") or name in ("choose", "left_shift", "right_shift")
    made, dtype = WRITTEN_IN_PYTHON[name], "i4" if of_integers else "f4"
    assert written(np.array([0, 1, 2], dtype), made) == made(np.array([0, 1, 2], dtype)).tolist()


def test_all_functions_in_python_are_among_these():
    from porcini import _arrangement, _forms, _functions_of_others, _linear_names, _numpy_names  # noqa: F401, forms of families are registered
    from porcini._form import FORMS

    own = {name for names in (_arrangement, _functions_of_others, _linear_names, _numpy_names) for name in names.__all__}
    assert own | {*FORMS} == {*WRITTEN_IN_PYTHON, *WITHOUT_MEMORY}
    assert not own & set(pc._porcini._function_names()), "a name has one home"
