"""The works of gradients.rhai on other libraries: python gradients.py jax|torch|drjit [LANES]."""

import json
import os
import sys
import time

import numpy as np

PEER = sys.argv[1]
LANES = int(sys.argv[2]) if len(sys.argv) > 2 else 1000000
THREADS = int(os.environ.get("THREADS", "2"))
GPU = bool(os.environ.get("GPU"))


def inputs(n, count):
    lane = np.arange(n, dtype=np.uint32)
    return [(lane * (number + 1) % 640).astype(np.float32) / 256 - np.float32(1.25) for number in range(count)]


def report(name, work, check):
    start = time.perf_counter()
    result = work()
    first = (time.perf_counter() - start) * 1000
    times, took = [], time.perf_counter()
    while len(times) < 5 or (time.perf_counter() - took < 2 and len(times) < 200):
        start = time.perf_counter()
        result = work()
        times.append((time.perf_counter() - start) * 1000)
    value = float(np.mean(np.asarray(check(result), dtype=np.float64)))
    line = {"work": name, "peer": PEER, "ms": round(sorted(times)[len(times) // 2], 4), "first": round(first, 2)}
    print(json.dumps({**line, "check": value}), flush=True)


def works(np_, where, erf_free_exp, log, sqrt, maximum, absolute, total):
    """The functions of lanes in the words of a library."""

    def mem10(a, b, c):
        t = (a * b + c) * 0.5 - a
        t = maximum(t * t + b, c)
        return total(absolute(t * 0.25 - c))

    def below(d):
        k = 1 / (1 + 0.2316419 * absolute(d))
        p = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
        w = 1 - 0.39894228 * erf_free_exp(-0.5 * d * d) * p
        return where(d < 0, 1 - w, w)

    def options(price, strike, years):
        spread = 0.2 * sqrt(years)
        d1 = (log(price / strike) + 0.07 * years) / spread
        return total(price * below(d1) - strike * erf_free_exp(-0.05 * years) * below(d1 - spread))

    def nbody(x, y, z):
        ax = ay = az = 0
        for k in range(16):
            dx, dy, dz = k * 0.125 - 1 - x, k * 0.25 - 2 - y, 1 - k * 0.0625 - z
            r = 1 / sqrt(dx * dx + dy * dy + dz * dz + 0.01)
            f = r * r * r
            ax, ay, az = ax + dx * f, ay + dy * f, az + dz * f
        return total(ax + 2 * ay + 3 * az)

    return mem10, options, nbody


a, b, c = inputs(LANES, 3)
price, strike, years = 100 + 20 * a, 100 + 20 * b, np.float32(1.5) + c
SIDE = 512
grid = np.arange(SIDE * SIDE)
u = ((grid % SIDE + 0.5) / 256 - 1).astype(np.float32)
v = ((grid // SIDE + 0.5) / 256 - 1).astype(np.float32)
random = np.random.default_rng(1)
x = random.standard_normal((1024, 784)).astype(np.float32)
label = np.arange(1024) % 10
w1 = (random.standard_normal((784, 256)) * 0.05).astype(np.float32)
w2 = (random.standard_normal((256, 10)) * 0.05).astype(np.float32)

if PEER == "jax":
    if not GPU:
        os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import jax.numpy as jnp

    mem10, options, nbody = works(jnp, jnp.where, jnp.exp, jnp.log, jnp.sqrt, jnp.maximum, jnp.abs, jnp.sum)

    def run(function, arguments, numbers):
        compiled = jax.jit(jax.grad(function, argnums=numbers))
        arguments = [jnp.asarray(argument) for argument in arguments]
        return lambda: jax.block_until_ready(compiled(*arguments))

    report("mem10", run(mem10, (a, b, c), (0, 1, 2)), lambda r: r[0])
    report("blackscholes", run(options, (price, strike, years), (0, 1, 2)), lambda r: r[0])
    report("nbody", run(nbody, (a, b, c), (0, 1, 2)), lambda r: r[0])

    def march(radius):
        def step(_, t):
            z = t - 3
            distance = jnp.sqrt(u * u + v * v + z * z) - radius
            return t + jnp.minimum(distance, 1) * 0.9

        return jnp.mean(jax.lax.fori_loop(0, 32, step, jnp.zeros(SIDE * SIDE, jnp.float32)))

    report("march", run(march, (np.float32(0.8),), 0), lambda r: r)

    def perceptron(w1, b1, w2, b2):
        score = jax.nn.relu(x @ w1 + b1) @ w2 + b2
        logs = jax.nn.logsumexp(score, axis=1)
        return jnp.mean(logs - score[jnp.arange(1024), label])

    zeros = (np.zeros(256, np.float32), np.zeros(10, np.float32))
    report("perceptron", run(perceptron, (w1, zeros[0], w2, zeros[1]), (0, 1, 2, 3)), lambda r: r[0])

if PEER == "torch":
    import torch

    torch.set_num_threads(THREADS)
    device = "cuda" if GPU else "cpu"
    maximum, absolute = torch.maximum, torch.abs
    mem10, options, nbody = works(torch, torch.where, torch.exp, torch.log, torch.sqrt, maximum, absolute, torch.sum)

    def run(function, arguments, compiles=True):
        if os.environ.get("COMPILE") and compiles:
            function = torch.compile(function)
        arguments = [torch.tensor(argument, device=device, requires_grad=True) for argument in arguments]

        def work():
            result = torch.autograd.grad(function(*arguments), arguments)
            if GPU:
                torch.cuda.synchronize()
            return result

        return work

    report("mem10", run(mem10, (a, b, c)), lambda r: r[0].cpu())
    report("blackscholes", run(options, (price, strike, years)), lambda r: r[0].cpu())
    report("nbody", run(nbody, (a, b, c)), lambda r: r[0].cpu())
    tu, tv, tx = (torch.tensor(array, device=device) for array in (u, v, x))
    tl = torch.tensor(label, device=device)

    def march(radius):
        t = torch.zeros(SIDE * SIDE, device=device)
        for _ in range(32):
            z = t - 3
            distance = torch.sqrt(tu * tu + tv * tv + z * z) - radius
            t = t + torch.clamp(distance, max=1) * 0.9
        return t.mean()

    report("march", run(march, (np.float32(0.8),)), lambda r: r[0].cpu())

    def perceptron(w1, b1, w2, b2):
        return torch.nn.functional.cross_entropy(torch.relu(tx @ w1 + b1) @ w2 + b2, tl)

    zeros = (np.zeros(256, np.float32), np.zeros(10, np.float32))
    report("perceptron", run(perceptron, (w1, zeros[0], w2, zeros[1])), lambda r: r[0].cpu())

if PEER == "drjit":
    import drjit as dr

    if GPU:
        from drjit.cuda.ad import Float, Int32
    else:
        from drjit.llvm.ad import Float, Int32
        dr.set_thread_count(THREADS)
    mem10, options, nbody = works(dr, dr.select, dr.exp, dr.log, dr.sqrt, dr.maximum, dr.abs, dr.sum)

    def run(function, arguments):
        plain = [Float(argument) for argument in arguments]
        dr.eval(plain)

        def work():
            marked = [Float(argument) for argument in plain]
            dr.enable_grad(*marked)
            dr.backward(function(*marked))
            result = [dr.grad(argument) for argument in marked]
            dr.eval(result)
            dr.sync_thread()
            return result

        return work

    report("mem10", run(mem10, (a, b, c)), lambda r: r[0].numpy())
    report("blackscholes", run(options, (price, strike, years)), lambda r: r[0].numpy())
    report("nbody", run(nbody, (a, b, c)), lambda r: r[0].numpy())
    du, dv = Float(u), Float(v)
    dr.eval(du, dv)

    def march(radius):
        @dr.syntax
        def walk(radius):
            t, step = dr.zeros(Float, SIDE * SIDE), Int32(0)
            while dr.hint(step < 32, max_iterations=32):
                z = t - 3
                distance = dr.sqrt(du * du + dv * dv + z * z) - radius
                t += dr.minimum(distance, 1) * 0.9
                step += 1
            return t

        return dr.mean(walk(radius))

    report("march", run(march, ([0.8],)), lambda r: r[0].numpy())
