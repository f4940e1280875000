"""Whole programs, as users of JAX write them: training steps, optimizers, solvers, simulations."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from more_workloads import attention, conv3d, convolution, integers, typed
from workloads import values


# Training steps.
def descend(loss, params, *batch):
    value, gradients = jax.value_and_grad(loss)(params, *batch)
    return jax.tree.map(lambda p, g: p - 0.01 * g, params, gradients), value


def norm(x, gain):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5) * gain


def causal_attention(q, k, v):
    scores = jnp.einsum("bthd,bshd->bhts", q, k) * q.shape[-1] ** -0.5
    mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    return jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(jnp.where(mask, scores, -1e9)), v)


def block(p, x, heads=4):
    """A transformer's block."""
    b, t, d = x.shape
    qkv = (norm(x, p["g1"]) @ p["qkv"]).reshape(b, t, 3, heads, d // heads)
    x = x + causal_attention(qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]).reshape(b, t, d) @ p["out"]
    return x + jax.nn.gelu(norm(x, p["g2"]) @ p["up"]) @ p["down"]


def block_params(d=128):
    def w(*shape):
        return values(*shape, scale=0.05)
    return {"g1": np.ones(d, np.float32), "g2": np.ones(d, np.float32), "qkv": w(d, 3 * d),
            "out": w(d, d), "up": w(d, 4 * d), "down": w(4 * d, d)}


def transformer_step():
    params = {"emb": values(512, 128, scale=0.1), "blocks": [block_params() for _ in range(2)]}

    def loss(params, tokens):
        x = params["emb"][tokens[:, :-1]]
        for p in params["blocks"]:
            x = block(p, x)
        scores = jax.nn.log_softmax(x @ params["emb"].T)
        return -jnp.take_along_axis(scores, tokens[:, 1:, None], 2).mean()

    return functools.partial(descend, loss), (params, integers(8, 65, high=512))


def decode_step():
    """One token of a language model: the rows of a cache are updated in place of two."""
    p, cache = block_params(256), values(2, 8, 256, 8, 32)

    def step(p, cache, x, at):
        q, k, v = jnp.split((norm(x, p["g1"]) @ p["qkv"]).reshape(8, 24, 32), 3, 1)
        cache = cache.at[0, :, at].set(k).at[1, :, at].set(v)
        scores = jnp.einsum("bhd,bshd->bhs", q, cache[0]) / 6
        weights = jax.nn.softmax(jnp.where(jnp.arange(256) <= at, scores, -1e9))
        x = x + jnp.einsum("bhs,bshd->bhd", weights, cache[1]).reshape(8, 256) @ p["out"]
        return x + jax.nn.gelu(norm(x, p["g2"]) @ p["up"]) @ p["down"], cache

    return step, (p, cache, values(8, 256), np.int32(100))


def cnn_step():
    params = {"c1": values(3, 3, 3, 16, scale=0.2), "c2": values(3, 3, 16, 32, scale=0.1),
              "w": values(2048, 10, scale=0.05), "s": np.ones((2, 32), np.float32)}

    def loss(params, x, y):
        x = jax.nn.relu(convolution(x, params["c1"]))
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        x = convolution(x, params["c2"])
        mean, var = x.mean((0, 1, 2)), x.var((0, 1, 2))
        x = jax.nn.relu((x - mean) * lax.rsqrt(var + 1e-5) * params["s"][0] + params["s"][1])
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        scores = jax.nn.log_softmax(x.reshape(len(x), -1) @ params["w"])
        return -jnp.take_along_axis(scores, y[:, None], 1).mean()

    return functools.partial(descend, loss), (params, values(16, 32, 32, 3), integers(16, high=10))


def autoencoder_step():
    params = [values(256, 64, scale=0.1), values(32, 64, scale=0.1), values(64, 256, scale=0.1)]

    def loss(params, x, key):
        mean, log_var = jnp.split(jnp.tanh(x @ params[0]), 2, -1)
        noise = jax.random.normal(jax.random.wrap_key_data(key, impl="threefry2x32"), mean.shape)
        z = mean + jnp.exp(0.5 * log_var) * noise
        logits = jnp.tanh(z @ params[1]) @ params[2]
        fit = jnp.sum(jax.nn.softplus(logits) - x * logits, -1)
        return jnp.mean(fit - 0.5 * jnp.sum(1 + log_var - mean ** 2 - jnp.exp(log_var), -1))

    return functools.partial(descend, loss), (params, values(128, 256), np.array([0, 7], np.uint32))


def gru_step():
    params = [values(32, 192, scale=0.1), values(64, 192, scale=0.1), values(64, 1, scale=0.1)]

    def loss(params, x, y):
        def cell(h, x):
            a, b = x @ params[0], h @ params[1]
            r, z = jax.nn.sigmoid(a[:, :64] + b[:, :64]), jax.nn.sigmoid(a[:, 64:128] + b[:, 64:128])
            return z * h + (1 - z) * jnp.tanh(a[:, 128:] + r * b[:, 128:]), None
        h, _ = lax.scan(cell, jnp.zeros((x.shape[1], 64)), x)
        return jnp.mean((h @ params[2] - y) ** 2)

    return functools.partial(descend, loss), (params, values(40, 32, 32), values(32, 1))


def logistic_newton(x, y):
    def step(w, _):
        p = jax.nn.sigmoid(x @ w)
        hessian = (x.T * (p * (1 - p))) @ x + jnp.eye(x.shape[1])
        return w - jnp.linalg.solve(hessian, x.T @ (p - y) + w), None
    return lax.scan(step, jnp.zeros(x.shape[1]), None, length=5)[0]


# Optimizers.
def adam(params, gradients, m, v):
    def update(p, g, m, v):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        return p - 1e-3 * m / 0.1 / (jnp.sqrt(v / 0.001) + 1e-8), m, v
    return [update(*each) for each in zip(params, gradients, m, v)]


def clipped_momentum(params, gradients, m):
    total = jnp.sqrt(sum(jnp.sum(g * g) for g in gradients))
    scale = jnp.minimum(1, 1 / total)
    m = [0.9 * m + g * scale for m, g in zip(m, gradients)]
    return [p - 0.1 * m for p, m in zip(params, m)], m


# Simulations.
def gravity(state, _):
    x, v = state
    d = x[None] - x[:, None]
    a = jnp.sum(d * (jnp.sum(d * d, -1) + 1e-2)[..., None] ** -1.5, 1)
    v = v + 0.01 * a
    return (x + 0.01 * v, v), None


def n_body(x, v):
    return lax.scan(gravity, (x, v), None, length=50)[0]


def heat(x):
    def step(_, x):
        return x + 0.1 * (jnp.roll(x, 1, 0) + jnp.roll(x, -1, 0) + jnp.roll(x, 1, 1)
                          + jnp.roll(x, -1, 1) - 4 * x)
    return lax.fori_loop(0, 50, step, x)


def life(x):
    def step(_, x):
        n = sum(jnp.roll(x, s, (0, 1)) for s in
                [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b])
        return ((n == 3) | ((n == 2) & (x == 1))).astype(x.dtype)
    return lax.fori_loop(0, 20, step, x)


def mandelbrot(c):
    def step(_, state):
        z, n = state
        z = z * z + c
        return z, n + (jnp.abs(z) < 2)
    return lax.fori_loop(0, 50, step, (jnp.zeros_like(c), jnp.zeros(c.shape, jnp.int32)))[1]


def black_scholes(s, k, t):
    root = 0.2 * jnp.sqrt(t)
    d1 = (jnp.log(s / k) + (0.05 + 0.02) * t) / root
    cdf = jax.scipy.stats.norm.cdf
    return s * cdf(d1) - k * jnp.exp(-0.05 * t) * cdf(d1 - root)


def leapfrog(x, p, precision):
    def energy(x):
        return 0.5 * x @ precision @ x + jnp.sum(jnp.log1p(x * x))

    def step(state, _):
        x, p = state
        p = p - 0.01 * jax.grad(energy)(x)
        x = x + 0.02 * p
        return (x, p - 0.01 * jax.grad(energy)(x)), None
    return lax.scan(step, (x, p), None, length=100)[0]


def kalman(a, x, ys):
    n = a.shape[0]

    def step(state, y):
        x, p = state
        x, p = a @ x, a @ p @ a.T + 0.1 * jnp.eye(n)
        gain = jnp.linalg.solve(p + jnp.eye(n), p)
        return (x + gain @ (y - x), p - gain @ p), x
    return lax.scan(step, (x, jnp.eye(n)), ys)[1]


def viterbi(transitions, scores):
    def step(best, score):
        through = best[:, None] + transitions
        return through.max(0) + score, through.argmax(0)
    best, back = lax.scan(step, scores[0], scores[1:])
    return lax.scan(lambda s, b: (b[s], b[s]), jnp.argmax(best), back, reverse=True)[1]


def edit_distance(a, b):
    def row(previous, c):
        cost = jnp.minimum(previous[1:] + 1, previous[:-1] + (b != c))
        cost = jnp.concatenate([previous[:1] + 1, cost]) - jnp.arange(len(b) + 1)
        return lax.cummin(cost) + jnp.arange(len(b) + 1), None
    return lax.scan(row, jnp.arange(len(b) + 1), a)[0][-1]


# Data.
def k_means(x, centres):
    def step(_, c):
        nearest = jnp.argmin(((x[:, None] - c[None]) ** 2).sum(-1), 1)
        sums = jax.ops.segment_sum(x, nearest, 16)
        counts = jax.ops.segment_sum(jnp.ones(len(x)), nearest, 16)
        return sums / jnp.maximum(counts, 1)[:, None]
    return lax.fori_loop(0, 5, step, centres)


def page_rank(sources, targets):
    n = 5000
    degree = jnp.maximum(jax.ops.segment_sum(jnp.ones(len(sources)), sources, n), 1)

    def step(_, rank):
        return 0.15 / n + 0.85 * jax.ops.segment_sum((rank / degree)[sources], targets, n)
    return lax.fori_loop(0, 20, step, jnp.ones(n) / n)


def compact(x):
    keep = x > 0
    at = jnp.cumsum(keep) - 1
    return jnp.zeros_like(x).at[jnp.where(keep, at, len(x))].set(x, mode="drop"), at[-1] + 1


def resize(x):
    return jax.image.resize(x, (4, 128, 128, 3), "bilinear")


def gaussian_process(x, y):
    k = jnp.exp(-0.5 * jnp.sum((x[:, None] - x[None]) ** 2, -1)) + 0.1 * jnp.eye(len(x))
    factor = jnp.linalg.cholesky(k)
    z = jax.scipy.linalg.solve_triangular(factor, y, lower=True)
    return -0.5 * z @ z - jnp.log(jnp.diag(factor)).sum()


def fft_convolution(x, w):
    n = x.shape[-1]
    return jnp.fft.irfft(jnp.fft.rfft(x) * jnp.fft.rfft(w, n), n)


def random(draw):
    return lambda key: draw(jax.random.wrap_key_data(key, impl="threefry2x32"))


# Programs that take long to compile.
def unrolled(x, w):
    for _ in range(100):
        x = jnp.tanh(x @ w)
    return x


def many_operations(x):
    for i in range(250):
        x = jnp.sin(x) + i if i % 5 == 0 else x * 0.99 + 0.01 * i
    return x


def conv_as(dimension_numbers, strides=None, transposed=False, dilation=None):
    def run(x, w):
        n = w.ndim - 2
        if transposed:
            return lax.conv_transpose(x, w, strides, "SAME", dimension_numbers=dimension_numbers)
        return lax.conv_general_dilated(x, w, strides or (1,) * n, "SAME", rhs_dilation=dilation,
                                        dimension_numbers=dimension_numbers)
    return run


# These compute with f64.
X64 = {"matmul f64 512", "f64 chain 1M", "eigh f64 128"}


def workloads():
    """Returns {name: (function, arguments)}, or a function that makes the pair."""
    i8 = lambda *shape: integers(*shape, high=100, dtype=np.int8)  # noqa: E731
    key = np.array([0, 42], np.uint32)
    doubles = lambda *shape: values(*shape).astype(np.float64)  # noqa: E731
    spd = np.eye(256, dtype=np.float32) * 300 + values(256, 256) + values(256, 256).T
    square = values(256, 256) + 20 * np.eye(256, dtype=np.float32)
    bf16 = functools.partial(typed, jnp.bfloat16)
    heads = (values(2, 512, 8, 64),) * 3
    positive = lambda n: np.abs(values(n)) + 0.5  # noqa: E731
    return {
        # Contractions and what follows them.
        "matmul bf16 1024": (lambda a, b: a @ b, (bf16(1024, 1024),) * 2),
        "matmul i8 1024": (lambda a, b: lax.dot(a, b, preferred_element_type=jnp.int32),
                           (i8(1024, 1024),) * 2),
        "matmul f64 512": (lambda a, b: a @ b, (doubles(512, 512),) * 2),
        "matmul+bias+gelu 512": (lambda x, w, b: jax.nn.gelu(x @ w + b, approximate=False),
                                 (values(512, 512), values(512, 512, scale=.1), values(512))),
        "residual matmul bf16 512": (lambda x, w, b: x + jax.nn.relu(x @ w + b),
                                     (bf16(512, 512), bf16(512, 512, scale=.1), bf16(512))),
        "4096 products 8x8": (lambda a, b: a @ b, (values(4096, 8, 8),) * 2),
        "100 unrolled 16x16": (unrolled, (values(16, 16), values(16, 16, scale=.3))),
        "attention 2x512x8x64": (attention, heads),
        "causal attention": (causal_attention, heads),
        "attention gradient": (lambda q, k, v: jax.grad(
            lambda *a: jnp.sum(attention(*a) ** 2), (0, 1, 2))(q, k, v), (values(2, 256, 4, 64),) * 3),
        # Training steps and inference.
        "transformer step": transformer_step,
        "transformer decoding": decode_step,
        "cnn step": cnn_step,
        "autoencoder step": autoencoder_step,
        "gru step": gru_step,
        "logistic regression": (logistic_newton, (values(2000, 50), (values(2000) > 0) * 1.0)),
        # Optimizers.
        "adam 20 of 64k": (adam, ([values(256, 256)] * 20,) * 3 + ([np.abs(values(256, 256))] * 20,)),
        "clipped momentum 60 of 4k": (clipped_momentum, ([values(64, 64)] * 60,) * 3),
        # Simulations and loops.
        "n-body 128": (n_body, (values(128, 3), values(128, 3))),
        "heat 256x256": (heat, (values(256, 256),)),
        "game of life 256x256": (life, (integers(256, 256, high=2),)),
        "mandelbrot 256x256": (mandelbrot, ((values(256, 256) + 1j * values(256, 256)),)),
        "black-scholes 1M": (black_scholes, (positive(1 << 20), positive(1 << 20), positive(1 << 20))),
        "leapfrog 32": (leapfrog, (values(32), values(32), values(32, 32, scale=.1))),
        "kalman 8 x 100": (kalman, (values(8, 8, scale=.3), values(8), values(100, 8))),
        "viterbi 32 x 200": (viterbi, (values(32, 32), values(200, 32))),
        "edit distance 200": (edit_distance, (integers(200, high=4), integers(200, high=4))),
        # Data.
        "k-means 5000": (k_means, (values(5000, 8), values(16, 8))),
        "page rank": (page_rank, (integers(50_000, high=5000), integers(50_000, high=5000)[::-1].copy())),
        "compact 100k": (compact, (values(100_000),)),
        "searchsorted 100k": (lambda x, q: jnp.searchsorted(jnp.sort(x), q),
                              (values(10_000), values(100_000))),
        "histogram 1M": (lambda x: jnp.bincount(x, length=256), (integers(1 << 20, high=256),)),
        "take along 512x1000": (lambda x, i: jnp.take_along_axis(x, i, 1),
                                (values(512, 1000), integers(512, 1000, high=1000))),
        "scatter rows 10k": (lambda x, i, u: x.at[i].set(u),
                             (values(20_000, 64), integers(10_000, high=20_000), values(10_000, 64))),
        "resize bilinear": (resize, (values(4, 64, 64, 3),)),
        # Random numbers and sorting.
        "uniform 1M": (random(lambda k: jax.random.uniform(k, (1 << 20,))), (key,)),
        "categorical 10k of 100": (random(lambda k: jax.random.categorical(k, jnp.zeros((10_000, 100)))),
                                   (key,)),
        "permutation 100k": (random(lambda k: jax.random.permutation(k, 100_000)), (key,)),
        "dropout 1M": (lambda k, x: jnp.where(jax.random.bernoulli(
            jax.random.wrap_key_data(k, impl="threefry2x32"), 0.9, x.shape), x / 0.9, 0),
            (key, values(1 << 20))),
        "median rows 1000x101": (lambda x: jnp.median(x, axis=1), (values(1000, 101),)),
        "sort pairs 256k": (lambda k, v: lax.sort((k, v), num_keys=1),
                            (integers(1 << 18, high=1 << 20), values(1 << 18))),
        # Linear algebra.
        "cholesky 256": (jnp.linalg.cholesky, (spd,)),
        "solve 256": (jnp.linalg.solve, (square, values(256, 16))),
        "qr 256x128": (lambda a: jnp.linalg.qr(a)[1], (values(256, 128),)),
        "eigh 256": (lambda a: jnp.linalg.eigh(a)[0], (spd,)),
        "eigh f64 128": (lambda a: jnp.linalg.eigh(a)[0], (spd[:128, :128].astype(np.float64),)),
        "svd 128": (lambda a: jnp.linalg.svd(a)[1], (values(128, 128),)),
        "determinants 1000 of 4x4": (jnp.linalg.det, (values(1000, 4, 4),)),
        "gaussian process 256": (gaussian_process, (values(256, 4), values(256))),
        # Transforms and convolutions.
        "fft 100 of 1009": (lambda x: jnp.fft.fft(x), (values(100, 1009).astype(np.complex64),)),
        "fft convolution 64x4096": (fft_convolution, (values(64, 4096), values(64, 100))),
        "conv1d 16x1000x32": (conv_as(("NWC", "WIO", "NWC")),
                              (values(16, 1000, 32), values(5, 32, 32, scale=.1))),
        "conv dilated": (conv_as(("NHWC", "HWIO", "NHWC"), dilation=(2, 2)),
                         (values(4, 32, 32, 32), values(3, 3, 32, 32, scale=.1))),
        "conv transposed": (conv_as(("NHWC", "HWIO", "NHWC"), (2, 2), transposed=True),
                            (values(4, 16, 16, 32), values(3, 3, 32, 32, scale=.1))),
        "conv NCHW": (conv_as(("NCHW", "OIHW", "NCHW")),
                      (values(4, 32, 32, 32), values(32, 32, 3, 3, scale=.1))),
        "conv bf16": (convolution, (bf16(4, 32, 32, 32), bf16(3, 3, 32, 32, scale=.1))),
        "conv3d bf16": (conv3d, (bf16(2, 8, 16, 16, 16), bf16(3, 3, 3, 16, 16, scale=.1))),
        # Elementwise.
        "gelu exact 4M": (lambda x: jax.nn.gelu(x, approximate=False), (values(4 << 20),)),
        "f64 chain 1M": (lambda x: jnp.tanh(x) * jnp.exp(-x * x) + 0.5 * x, (doubles(1 << 20),)),
        "complex product 1M": (lambda a, b: a * b + a, (values(1 << 20) + 1j * values(1 << 20),) * 2),
        # Compilation, and programs of many small steps.
        "concatenate 1000 operands": (lambda *x: jnp.concatenate(x), tuple(values(7) for _ in range(1000))),
        "500 elementwise operations": (many_operations, (values(1000),)),
        "dispatch tree of 200": (lambda t: jax.tree.map(lambda x: x * 2, t),
                                 ({str(i): values(8) for i in range(200)},)),
        "dispatch a bf16 scalar": (lambda x: x * 2, (bf16(),)),
    }
