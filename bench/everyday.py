"""What users of JAX meet every day and the other lists lack: layers, recurrences, solvers, statistics, indexing."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from more_workloads import integers, typed
from workloads import values


def batch_norm(x, gain, bias):
    mean, var = x.mean((0, 1, 2)), x.var((0, 1, 2))
    return (x - mean) * lax.rsqrt(var + 1e-5) * gain + bias


def group_norm(x, groups=8):
    y = x.reshape(*x.shape[:-1], groups, -1)
    mean, var = y.mean((1, 2, 4), keepdims=True), y.var((1, 2, 4), keepdims=True)
    return ((y - mean) * lax.rsqrt(var + 1e-5)).reshape(x.shape)


def rms_norm(x, gain):
    wide = x.astype(jnp.float32)
    return (wide * lax.rsqrt((wide * wide).mean(-1, keepdims=True) + 1e-6)).astype(x.dtype) * gain


def rotary(x):
    half, steps = x.shape[-1] // 2, jnp.arange(x.shape[1])
    angles = steps[:, None] / 10_000 ** (jnp.arange(half) / half)
    sin, cos = jnp.sin(angles)[None, :, None], jnp.cos(angles)[None, :, None]
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def swiglu_gradient(x, gate, up, down):
    def loss(gate, up, down):
        return jnp.sum((jax.nn.silu(x @ gate) * (x @ up) @ down) ** 2)
    return jax.grad(loss, (0, 1, 2))(gate, up, down)


def embedding_gradient(table, ids):
    return jax.grad(lambda t: jnp.sum(jnp.tanh(t[ids]) ** 2))(table)


def dropout(impl):
    def run(key, x):
        key = jax.random.wrap_key_data(key, impl=impl)
        return jnp.where(jax.random.bernoulli(key, 0.9, x.shape), x / 0.9, 0)
    return run


def beam_step(scores, log_probs):
    total = scores[..., None] + jax.nn.log_softmax(log_probs)
    best, at = lax.top_k(total.reshape(len(scores), -1), scores.shape[1])
    return best, at // log_probs.shape[-1], at % log_probs.shape[-1]


def rnn_gradient(w, x):
    def loss(w):
        step = lambda h, x: (jnp.tanh(x + h @ w), None)  # noqa: E731
        return jnp.sum(lax.scan(step, jnp.zeros(x.shape[1:]), x)[0] ** 2)
    return jax.grad(loss)(w)


def runge_kutta(x):
    def slope(x):
        return jnp.stack([x[1], (1 - x[0] ** 2) * x[1] - x[0]])

    def step(x, _):
        a = slope(x)
        b = slope(x + 0.005 * a)
        c = slope(x + 0.005 * b)
        d = slope(x + 0.01 * c)
        x = x + 0.01 / 6 * (a + 2 * b + 2 * c + d)
        return x, x[0]
    return lax.scan(step, x, None, length=500)[1]


def newton_root(x):
    def step(state):
        y, _, i = state
        new = 0.5 * (y + x / y)
        return new, jnp.max(jnp.abs(new - y)), i + 1
    return lax.while_loop(lambda s: (s[1] > 1e-5) & (s[2] < 50), step, (x, jnp.float32(1), 0))[0]


def asian_option(key):
    normal = jax.random.normal(jax.random.wrap_key_data(key, impl="threefry2x32"), (64, 4096))
    paths = 100 * jnp.exp(jnp.cumsum(0.001 + 0.02 * normal, 0))
    return jnp.maximum(paths.mean(0) - 100, 0).mean()


def median_filter(x):
    shifted = [jnp.roll(x, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)]
    return jnp.sort(jnp.stack(shifted), 0)[4]


def pairwise(x, y):
    return jnp.sqrt(jnp.maximum((x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T, 0))


def ridge(x, y):
    return jnp.linalg.solve(x.T @ x + jnp.eye(x.shape[1]), x.T @ y)


def lru_hash(x):
    for shift in (16, 13, 16):
        x = (x ^ (x >> shift)) * jnp.uint32(0x85EBCA6B)
    return x


# These compute with f64.
X64 = {"kinetic energy f64", "cumprod f64 rows"}


def workloads():
    """Returns {name: (function, arguments)}, or a function that makes the pair."""
    bf16 = functools.partial(typed, jnp.bfloat16)
    key = np.array([0, 42], np.uint32)
    key4 = np.array([1, 2, 3, 4], np.uint32)
    doubles = lambda *shape: values(*shape).astype(np.float64)  # noqa: E731
    spd = np.einsum("bij,bkj->bik", values(256, 16, 16), values(256, 16, 16)) + 16 * np.eye(16, dtype=np.float32)
    return {
        # Layers.
        "batch norm 16x32x32x64": (batch_norm, (values(16, 32, 32, 64), values(64), values(64))),
        "group norm 8x32x32x64": (group_norm, (values(8, 32, 32, 64),)),
        "rms norm bf16 2048x1024": (rms_norm, (bf16(2048, 1024), bf16(1024))),
        "rotary 4x512x8x64": (rotary, (values(4, 512, 8, 64),)),
        "split heads 8x512x8x64": (lambda x: jnp.transpose(x, (0, 2, 1, 3)) * 2, (values(8, 512, 8, 64),)),
        "swiglu gradient": (swiglu_gradient, (values(128, 256), values(256, 512, scale=.05), values(256, 512, scale=.05),
                                              values(512, 256, scale=.05))),
        "embedding 50k gradient": (embedding_gradient, (values(20_000, 64), integers(32, 128, high=20_000))),
        "dropout rbg 1M": (dropout("rbg"), (key4, values(1 << 20))),
        "softmax bf16 4096x512": (lambda x: jax.nn.softmax(x), (bf16(4096, 512),)),
        "label smoothing 1024x1000": (lambda x, y: -(jax.nn.log_softmax(x) * (0.9 * jax.nn.one_hot(y, 1000) + 1e-4)).sum(-1).mean(),
                                      (values(1024, 1000), integers(1024, high=1000))),
        "beam step 8x4x10k": (beam_step, (values(8, 4), values(8, 4, 10_000))),
        "cache update bf16": (lambda c, k, at: lax.dynamic_update_slice(c, k, (0, at, 0, 0)),
                              (bf16(8, 512, 8, 64), bf16(8, 1, 8, 64), np.int32(77))),
        # Products.
        "einsum bij,bkj->bik": (lambda a, b: jnp.einsum("bij,bkj->bik", a, b), (values(32, 128, 64), values(32, 128, 64))),
        "einsum ijk,kl->ijl": (lambda a, b: jnp.einsum("ijk,kl->ijl", a, b), (values(32, 64, 128), values(128, 128))),
        "einsum bi,bj->ij": (lambda a, b: jnp.einsum("bi,bj->ij", a, b), (values(4096, 64), values(4096, 64))),
        "bilinear form 1000": (lambda x, m: jnp.einsum("bi,ij,bj->b", x, m, x), (values(1000, 64), values(64, 64))),
        "outer product 2000": (lambda a, b: a[:, None] * b, (values(2000), values(2000))),
        "pairwise distances 1000x32": (pairwise, (values(1000, 32), values(2000, 32)[1000:])),
        "integer matmul 256": (lambda a, b: a @ b, (integers(256, 256, high=100),) * 2),
        # Reductions.
        "mean of axes 0 2": (lambda x: x.mean((0, 2)), (values(64, 128, 256),)),
        "sum of axis 0, 3-d": (lambda x: x.sum(0), (values(64, 128, 128),)),
        "max of axes 1 2": (lambda x: x.max((1, 2)), (values(128, 64, 128),)),
        "argmax of axis 0": (lambda x: jnp.argmax(x, 0), (values(512, 2048),)),
        "any all 4096x1024": (lambda x: ((x > 3).any(1), (x > -4).all(0)), (values(4096, 1024),)),
        "norm of columns 1000x1000": (lambda x: jnp.linalg.norm(x, axis=0), (values(1000, 1000),)),
        "std of rows 4096x300": (lambda x: x.std(1), (values(4096, 300),)),
        "count bits 1M": (lambda x: lax.population_count(x).sum(), (integers(1 << 20, high=1 << 30),)),
        "kinetic energy f64": (lambda m, v: 0.5 * (m * (v * v).sum(1)).sum(), (doubles(100_000), doubles(100_000, 3))),
        "cumprod f64 rows": (lambda x: jnp.cumprod(x, 1), (1 + doubles(512, 512) / 100,)),
        # Recurrences and solvers.
        "rnn gradient 50x16x64": (rnn_gradient, (values(64, 64, scale=.1), values(50, 16, 64))),
        "van der pol 500 steps": (runge_kutta, (values(2),)),
        "newton roots 10k": (newton_root, (np.abs(values(10_000)) + 1,)),
        "asian option 4096 paths": (asian_option, (key,)),
        "ridge 5000x64": (ridge, (values(5000, 64), values(5000))),
        "vmap cholesky 256x16": (jax.vmap(jnp.linalg.cholesky), (spd,)),
        "vmap solve 256x16": (jax.vmap(jnp.linalg.solve), (spd, values(256, 16))),
        "vmap inverse 1000x3": (jnp.linalg.inv, (spd[:, :3, :3],)),
        # Moving and indexing.
        "median filter 256x256": (median_filter, (values(256, 256),)),
        "argsort rows 1000x200": (lambda x: jnp.argsort(x, 1), (values(1000, 200),)),
        "unique 20k": (lambda x: jnp.unique(x, size=1000, fill_value=0), (integers(20_000, high=1000),)),
        "segment max 200k": (lambda x, i: jax.ops.segment_max(x, i, 1000), (values(200_000), integers(200_000, high=1000))),
        "histogram 2-d 200k": (lambda i, j: jnp.zeros((64, 64)).at[i, j].add(1.0),
                               (integers(200_000, high=64), integers(200_000, high=64)[::-1].copy())),
        "gather windows 10k of 32": (lambda x, i: jax.vmap(lambda i: lax.dynamic_slice(x, (i,), (32,)))(i),
                                     (values(100_000), integers(10_000, high=99_000))),
        "patches 4x64x64x3": (lambda x: x.reshape(4, 8, 8, 8, 8, 3).transpose(0, 1, 3, 2, 4, 5).reshape(4, 64, 192),
                              (values(4, 64, 64, 3),)),
        "roll and flip 1000x1000": (lambda x: jnp.roll(x, 7, 1) + x[::-1, ::-1], (values(1000, 1000),)),
        "strided slices 4M": (lambda x: x[::2] - x[1::2], (values(4 << 20),)),
        "upper triangle 1000": (lambda x: jnp.triu(x) + jnp.tril(x.T), (values(1000, 1000),)),
        "interpolate 100k": (lambda x, xp, fp: jnp.interp(x, xp, fp),
                             (values(100_000), np.sort(values(1000)), values(1000))),
        "hash u32 1M": (lru_hash, (integers(1 << 20, high=1 << 30).astype(np.uint32),)),
        "bitcast and mask 1M": (lambda x: lax.bitcast_convert_type(lax.bitcast_convert_type(x, jnp.int32) & 0x7FFFFFFF, jnp.float32),
                                (values(1 << 20),)),
        "int8 quantise 1M": (lambda x: jnp.clip(jnp.round(x * 20), -128, 127).astype(jnp.int8), (values(1 << 20),)),
        "hsv of 256x256 rgb": (lambda x: (x.max(-1), x.max(-1) - x.min(-1), jnp.argmax(x, -1)), (values(256, 256, 3),)),
    }
