"""SciPy and scikit-learn on arrays of porcini.array_api: what they give of NumPy's, in arrays of ours."""

import pytest

xp = pytest.importorskip("porcini.array_api")
np = pytest.importorskip("numpy")

DRAWN = np.random.default_rng(0)
X = DRAWN.normal(size=(100, 4)).astype("f4")
Y = (X @ np.array([1, 2, 3, 4], "f4")).astype("f4")
CLASSES = (Y > 0).astype("i4")


def same(of, tolerance=1e-4):
    """What a function of a way to make arrays gives of ours and of NumPy's."""
    ours, theirs = of(xp.asarray), of(np.asarray)
    assert type(ours) is type(xp.asarray(X)), "computed by porcini"
    assert np.allclose(np.asarray(ours), theirs, rtol=tolerance, atol=tolerance)


def sklearn():
    sklearn = pytest.importorskip("sklearn")
    return sklearn.config_context(array_api_dispatch=True)


def test_scalers():
    with sklearn():
        from sklearn.preprocessing import MinMaxScaler, StandardScaler

        same(lambda array: StandardScaler().fit_transform(array(X)))
        same(lambda array: MinMaxScaler().fit_transform(array(X)))


def test_ridge_regression():
    with sklearn():
        from sklearn.linear_model import Ridge

        same(lambda array: Ridge(solver="svd").fit(array(X), array(Y)).coef_)
        same(lambda array: Ridge(solver="svd").fit(array(X), array(Y)).predict(array(X[:5])))


def test_principal_components():
    with sklearn():
        from sklearn.decomposition import PCA

        same(lambda array: PCA(2, svd_solver="full").fit(array(X)).explained_variance_)
        same(lambda array: abs(PCA(2, svd_solver="full").fit_transform(array(X))))


def test_discriminant_analysis():
    with sklearn():
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

        model = LinearDiscriminantAnalysis().fit(xp.asarray(X), xp.asarray(CLASSES))
        assert model.score(xp.asarray(X), xp.asarray(CLASSES)) > 0.95


FUNCTIONS = {
    "stats.zscore": lambda scipy, x: scipy.stats.zscore(x),
    "stats.skew": lambda scipy, x: scipy.stats.skew(x),
    "stats.kurtosis": lambda scipy, x: scipy.stats.kurtosis(x, axis=0),
    "stats.gmean": lambda scipy, x: scipy.stats.gmean(abs(x)),
    "stats.ttest_1samp": lambda scipy, x: scipy.stats.ttest_1samp(x, 0.0).statistic,
    "stats.pearsonr": lambda scipy, x: scipy.stats.pearsonr(x[:, 0], x[:, 1]).statistic,
    "stats.entropy": lambda scipy, x: scipy.stats.entropy(abs(x)),
    "special.logsumexp": lambda scipy, x: scipy.special.logsumexp(x, axis=1),
    "special.softmax": lambda scipy, x: scipy.special.softmax(x, axis=1),
    "special.erf": lambda scipy, x: scipy.special.erf(x),
    "integrate.trapezoid": lambda scipy, x: scipy.integrate.trapezoid(x[:, 0]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_scipy(name):
    scipy = pytest.importorskip("scipy")
    import scipy.integrate, scipy.special, scipy.stats

    same(lambda array: FUNCTIONS[name](scipy, array(X)))
