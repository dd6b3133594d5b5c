"""Derivatives of functions beside JAX's, in f64: first and second, forwards and backwards, at ordinary points and edges.

python tests/peers/slopes.py PORCINI: lists where they differ. Needs jax.
"""

import json
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy import special

jax.config.update("jax_enable_x64", True)

ANY = [-3.7, -1.0, -0.3, 1e-8, 0.4, 1.0, 2.5, 11.0]
ABOVE = [1e-6, 0.3, 1.0, 1.7, 8.0, 150.0]
INSIDE = [-0.999, -0.5, 0.0, 1e-7, 0.25, 0.9]

# Ours: JAX's, points.
ONE = {
    "sin": (jnp.sin, ANY + [0.0]),
    "cos": (jnp.cos, ANY + [0.0]),
    "tan": (jnp.tan, ANY + [0.0]),
    "asin": (jnp.arcsin, INSIDE),
    "acos": (jnp.arccos, INSIDE),
    "atan": (jnp.arctan, ANY + [0.0]),
    "sinh": (jnp.sinh, ANY + [0.0]),
    "cosh": (jnp.cosh, ANY + [0.0]),
    "tanh": (jnp.tanh, ANY + [0.0, 300.0]),
    "asinh": (jnp.arcsinh, ANY + [0.0]),
    "acosh": (jnp.arccosh, [1.1, 1.5, 3.0, 40.0]),
    "atanh": (jnp.arctanh, INSIDE),
    "exp": (jnp.exp, ANY + [0.0]),
    "exp2": (jnp.exp2, ANY + [0.0]),
    "expm1": (jnp.expm1, ANY + [0.0]),
    "log": (jnp.log, ABOVE),
    "log2": (jnp.log2, ABOVE),
    "log10": (jnp.log10, ABOVE),
    "log1p": (jnp.log1p, ABOVE + [0.0, -0.5]),
    "sqrt": (jnp.sqrt, ABOVE),
    "cbrt": (jnp.cbrt, ABOVE + [-2.0]),
    "rsqrt": (jax.lax.rsqrt, ABOVE),
    "rcp": (lambda x: 1 / x, ABOVE + [-2.0]),
    "sqr": (jnp.square, ANY + [0.0]),
    "abs": (jnp.abs, ANY),
    "erf": (special.erf, ANY + [0.0]),
    "erfc": (special.erfc, ANY + [0.0]),
    "erfinv": (special.erfinv, INSIDE),
    "lgamma": (special.gammaln, ABOVE),
    "tgamma": (lambda x: jnp.exp(special.gammaln(x)), ABOVE[1:5]),
    "digamma": (special.digamma, ABOVE[1:]),
    "trigamma": (lambda x: special.polygamma(1, x), ABOVE[1:]),
    "entr": (special.entr, ABOVE),
    "i0e": (special.i0e, ANY + [0.0]),
    "i0": (special.i0, ANY + [0.0]),
    "i1": (special.i1, ANY + [0.0]),
    "sigmoid": (jax.nn.sigmoid, ANY + [0.0]),
    "log_sigmoid": (jax.nn.log_sigmoid, ANY + [0.0]),
    "logit": (special.logit, [1e-6, 0.3, 0.5, 0.9]),
    "softrelu": (jax.nn.softplus, ANY + [0.0]),
    "softsign": (jax.nn.soft_sign, ANY),
    "silu": (jax.nn.silu, ANY + [0.0]),
    "mish": (jax.nn.mish, ANY + [0.0]),
    "gelu_erf": (lambda x: jax.nn.gelu(x, approximate=False), ANY + [0.0]),
    "elu(x, 1)": (jax.nn.elu, ANY),
    "relu": (jax.nn.relu, ANY + [0.0]),
    "leaky_relu(x, 0.01)": (jax.nn.leaky_relu, ANY),
    "sinc": (jnp.sinc, ANY),
    "floor": (jnp.floor, ANY),
    "sign": (jnp.sign, ANY),
}
TWO = {
    "pow": (jnp.power, [0.2, 1.0, 2.5, 7.0], [-1.5, 0.0, 1.0, 3.2]),
    "atan2": (jnp.arctan2, [-2.0, 0.3, 1.0], [-1.5, 0.2, 3.0]),
    "hypot": (jnp.hypot, [-2.0, 0.3, 1.0], [-1.5, 0.2, 3.0]),
    "max": (jnp.maximum, [-2.0, 0.3, 1.0], [-1.5, 0.3, 3.0]),
    "min": (jnp.minimum, [-2.0, 0.3, 1.0], [-1.5, 0.3, 3.0]),
    "logaddexp": (jnp.logaddexp, [-2.0, 0.3, 1.0], [-1.5, 0.3, 30.0]),
    "xlogy": (special.xlogy, [-2.0, 0.3, 1.0], [0.2, 1.0, 30.0]),
    "betaln": (special.betaln, [0.2, 1.0, 7.0], [0.3, 1.0, 30.0]),
    "copysign": (jnp.copysign, [-2.0, 0.3, 1.0], [-1.5, 0.2, 3.0]),
}
SQUARE = [[2.0, 0.3, -0.4], [0.1, 1.5, 0.2], [0.5, -0.2, 1.1]]
TALL = [[1.0, 2.0], [0.5, -1.0], [2.0, 0.3]]
# Of a 3 x 3 or 3 x 2 matrix: ours, JAX's.
SQUARES = {
    "inv(a)": jnp.linalg.inv,
    "det(a)": jnp.linalg.det,
    "lu(a)[1]": lambda a: jax.scipy.linalg.lu(a)[1],
    "lu(a)[2]": lambda a: jax.scipy.linalg.lu(a)[2],
    "slogdet(a)[1]": lambda a: jnp.linalg.slogdet(a)[1],
    "solve(a, b)": lambda a: jnp.linalg.solve(a, jnp.array(TALL)),
    "cholesky(a @ a.T)": lambda a: jnp.linalg.cholesky(a @ a.T),
    "eigh(a @ a.T)[0]": lambda a: jnp.linalg.eigh(a @ a.T)[0],
    "abs(eigh(a @ a.T)[1])": lambda a: jnp.abs(jnp.linalg.eigh(a @ a.T)[1]),
    "svd(a)[1]": lambda a: jnp.linalg.svd(a)[1],
    "expm(a)": jax.scipy.linalg.expm,
    "log_softmax(a, 1)": lambda a: jax.nn.log_softmax(a, axis=1),
    "a @ a @ a": lambda a: a @ a @ a,
    "cumsum(a, 1)": lambda a: jnp.cumsum(a, axis=1),
    "sort(a, 1)": lambda a: jnp.sort(a, axis=1),
    "hprod(a, 1)": lambda a: jnp.prod(a, axis=1),
    "hmax(a, 0)": lambda a: jnp.max(a, axis=0),
    "std(a, 1)": lambda a: jnp.std(a, axis=1),
    "norm(a)": jnp.linalg.norm,
    "softmax(a, 1)": lambda a: jax.nn.softmax(a, axis=1),
    "nanstd(a, 1)": lambda a: jnp.nanstd(a, axis=1),
    "nanquantile(a, 0.3, 1)": lambda a: jnp.nanquantile(a, 0.3, axis=1),
    "vander(a[0], 4)": lambda a: jnp.vander(a[0], 4),
    "toeplitz(a[0], a[1])": lambda a: jax.scipy.linalg.toeplitz(a[0], a[1]),
    "logsumexp(a, 1)": lambda a: jax.nn.logsumexp(a, axis=1),
}
TALLS = {
    "abs(qr(a)[0])": lambda a: jnp.abs(jnp.linalg.qr(a)[0]),
    "abs(qr(a)[1])": lambda a: jnp.abs(jnp.linalg.qr(a)[1]),
    "svd(a)[1]": lambda a: jnp.linalg.svd(a, full_matrices=False)[1],
    "pinv(a)": jnp.linalg.pinv,
    "lstsq(a, c)": lambda a: jnp.linalg.lstsq(a, jnp.array([1.0, 2.0, -1.0]))[0],
    "lu(a)[1]": lambda a: jax.scipy.linalg.lu(a)[1],
    "lu(a)[2]": lambda a: jax.scipy.linalg.lu(a)[2],
    "a.T @ a": lambda a: a.T @ a,
}
# Of one of rank 2: first derivatives.
SINGULAR = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]
# Of a complex matrix, SQUARE + i a.T of it: what does not depend on phases, to real numbers.
COMPLEX = {
    "abs(det(z))": lambda z: jnp.abs(jnp.linalg.det(z)),
    "slogdet(z)[0].real": lambda z: jnp.linalg.slogdet(z)[0].real,
    "slogdet(z)[1]": lambda z: jnp.linalg.slogdet(z)[1],
    "abs(inv(z))": lambda z: jnp.abs(jnp.linalg.inv(z)),
    "abs(qr(z)[0])": lambda z: jnp.abs(jnp.linalg.qr(z)[0]),
    "abs(qr(z)[1])": lambda z: jnp.abs(jnp.linalg.qr(z)[1]),
    "svd(z)[1]": lambda z: jnp.linalg.svd(z)[1],
    "abs(svd(z)[0])": lambda z: jnp.abs(jnp.linalg.svd(z)[0]),
    "abs(svd(z)[2])": lambda z: jnp.abs(jnp.linalg.svd(z)[2]),
    "abs(svd(z)[0] @ svd(z)[2])": lambda z: jnp.abs(jnp.linalg.svd(z)[0] @ jnp.linalg.svd(z)[2]),
    "lu(z)[1].imag": lambda z: jax.scipy.linalg.lu(z)[1].imag,
    "lu(z)[2].imag": lambda z: jax.scipy.linalg.lu(z)[2].imag,
    "cholesky(z @ z.H).imag": lambda z: jnp.linalg.cholesky(z @ z.T.conj()).imag,
    "eigh(z @ z.H)[0]": lambda z: jnp.linalg.eigh(z @ z.T.conj())[0],
    "expm(z).imag": lambda z: jax.scipy.linalg.expm(z).imag,
}


def porcini(program, texts):
    """Lists that expressions give."""
    options = '#{nan: "null"}'
    script = "".join(f"print(to_json({text}, {options}));\n" for text in texts)
    ran = subprocess.run([program, "-"], input=script, capture_output=True, text=True)
    if ran.returncode:
        sys.exit(ran.stderr)
    return [json.loads(line) for line in ran.stdout.splitlines()]


def listed(points):
    return f"Float64C({json.dumps(points)})"


def main():
    texts, expected = [], []
    for name, (function, points) in ONE.items():
        x, f = listed(points), "|x| " + (name if "(" in name else f"{name}(x)")
        slope = jax.vmap(jax.grad(lambda x, f=function: f(x)))
        second = jax.vmap(jax.grad(jax.grad(lambda x, f=function: f(x))))
        at = np.array(points)
        for text, value in [
            (f"grad({f}, {x})", slope(at)),
            (f"jvp({f}, {x}, 1)[1]", slope(at)),
            (f"grad(grad({f}), {x})", second(at)),
            (f"jvp(grad({f}), {x}, 1)[1]", second(at)),
        ]:
            texts.append(text)
            expected.append(np.array(value))
    for name, (function, a, b) in TWO.items():
        pairs = [(p, q) for p in a for q in b]
        at = [np.array(points) for points in zip(*pairs)]
        x, y = (listed(list(points)) for points in zip(*pairs))
        first = jax.vmap(jax.grad(lambda x, y, f=function: f(x, y), argnums=(0, 1)))(*at)
        mixed = jax.vmap(jax.grad(jax.grad(lambda x, y, f=function: f(x, y)), argnums=1))(*at)
        f = f"|x, y| {name}(x, y)"
        for text, value in [
            (f"grad({f}, {x}, {y})[0]", first[0]),
            (f"grad({f}, {x}, {y})[1]", first[1]),
            (f"grad(|x, y| grad({f}, x, y)[0], {x}, {y})[1]", mixed),
        ]:
            texts.append(text)
            expected.append(np.array(value))
    x = f"TensorXdC({json.dumps(SINGULAR)})"
    texts.append(f"grad(|a| det(a), {x}).ravel()")
    expected.append(np.array(jax.grad(jnp.linalg.det)(jnp.array(SINGULAR))).ravel())
    complex_ones = {
        name.replace("z", "TensorXzC(a, a.T)"): lambda a, f=f: f(a + 1j * a.T) for name, f in COMPLEX.items()
    }
    for functions, matrix in [(SQUARES, SQUARE), (TALLS, TALL), (complex_ones, SQUARE)]:
        a = jnp.array(matrix)
        for name, function in functions.items():
            def weighed(a, function=function):
                y = function(a)
                return jnp.sum(jnp.sin(jnp.arange(y.size).reshape(y.shape) + 1.0) * y)

            f = f"|a| {{ let y = {name}; hsum(sin(TensorXdC(arange(y.size)).reshape(y.shape) + 1) * y) }}"
            x = f"TensorXdC({json.dumps(matrix)})"
            f = f.replace("b)", f"TensorXdC({json.dumps(TALL)}))").replace("c)", "TensorXdC([1, 2, -1]))")
            texts.append(f"grad({f}, {x}).ravel()")
            gradient = np.array(jax.grad(weighed)(a))
            expected.append(gradient.ravel())
            texts.append(f"[jvp({f}, {x}, {x})[1][0]]")
            expected.append(np.array([np.sum(gradient * matrix)]))
            texts.append(f"grad(|a| hsum(grad({f}, a) * {x}), {x}).ravel()")
            second = jax.grad(lambda a: jnp.sum(jax.grad(weighed)(a) * jnp.array(matrix)))
            expected.append(np.array(second(a)).ravel())
    found = porcini(sys.argv[1], texts)
    worst, n_different = 0.0, 0
    for text, ours, theirs in zip(texts, found, expected):
        ours = np.array([np.nan if x is None else float(x) for x in ours])
        error = np.abs(ours - theirs) / np.maximum(np.abs(theirs), 1)
        same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
        error = np.where(same, 0, np.where(np.isnan(error), np.inf, error))
        if error.max() > 1e-12:
            n_different += 1
            at = int(error.argmax())
            print(f"{text[:100]}: at {at} ours {ours[at]!r}, JAX's {theirs[at]!r}")
        else:
            worst = max(worst, error.max())
    print(f"{len(texts)} derivatives, {n_different} differ; the others by at most {worst:.1e}")


main()
