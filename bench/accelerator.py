"""Workloads that fill a GPU: products and convolutions for matrix units, attention, training steps, arrays beyond any cache."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from programs import black_scholes
from workloads import chain, convolution, increment, layer_norm

BF16 = jnp.bfloat16
HEADS = 12


def values(*shape, dtype=np.float32, scale=1.0, seed=0):
    numbers = np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)
    return (numbers * np.float32(scale)).astype(dtype)


def integers(*shape, high, seed=0):
    return np.random.default_rng(seed).integers(high, size=shape, dtype=np.int32)


bf16 = functools.partial(values, dtype=BF16)


def causal(q, k, v):
    return jax.nn.dot_product_attention(q, k, v, is_causal=True)


def attention_gradient(q, k, v):
    return jax.grad(lambda *a: jnp.sum(causal(*a).astype(jnp.float32) ** 2), (0, 1, 2))(q, k, v)


def convolution_gradient(x, w):
    return jax.grad(lambda *a: jnp.sum(convolution(*a).astype(jnp.float32) ** 2), (0, 1))(x, w)


def cross_entropy_gradient(hidden, table, labels):
    def loss(hidden, table):
        logs = jax.nn.log_softmax((hidden @ table.T).astype(jnp.float32))
        return -jnp.take_along_axis(logs, labels[:, None], 1).mean()
    return jax.grad(loss, (0, 1))(hidden, table)


def _norm(x):
    wide = x.astype(jnp.float32)
    return (wide * lax.rsqrt((wide * wide).mean(-1, keepdims=True) + 1e-6)).astype(x.dtype)


def language_model_step(params, tokens, compute=BF16):
    """A decoder's step of gradient descent: f32 parameters, arithmetic in `compute`."""
    def forward(params, tokens):
        x = params["table"].astype(compute)[tokens]
        b, t, _ = x.shape
        for layer in params["layers"]:
            layer = {name: w.astype(compute) for name, w in layer.items()}
            q, k, v = jnp.split(_norm(x) @ layer["qkv"], 3, -1)
            heads = [y.reshape(b, t, HEADS, -1) for y in (q, k, v)]
            x = x + causal(*heads).reshape(b, t, -1) @ layer["out"]
            x = x + jax.nn.gelu(_norm(x) @ layer["up"]) @ layer["down"]
        return (_norm(x) @ params["table"].astype(compute).T).astype(jnp.float32)

    def loss(params):
        logs = jax.nn.log_softmax(forward(params, tokens[:, :-1]))
        return -jnp.take_along_axis(logs, tokens[:, 1:, None], -1).mean()

    value, gradients = jax.value_and_grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 1e-3 * g, params, gradients), value


def language_model(batch=8, length=512, width=64 * HEADS, layers=6, vocabulary=32_000):
    def weights(*shape):
        return values(*shape, scale=shape[0] ** -0.5)
    parameters = [{"qkv": weights(width, 3 * width), "out": weights(width, width), "up": weights(width, 4 * width),
                   "down": weights(4 * width, width)} for _ in range(layers)]
    return language_model_step, ({"table": values(vocabulary, width, scale=0.02), "layers": parameters},
                                 integers(batch, length + 1, high=vocabulary))


def residual_network_step(params, images, labels, compute=BF16):
    """Of the blocks of a ResNet at two resolutions, with batch norms."""
    def block(x, layer):
        for name in ("first", "second"):
            y = convolution(x, layer[name].astype(compute)).astype(jnp.float32)
            mean, variance = y.mean((0, 1, 2)), y.var((0, 1, 2))
            y = ((y - mean) * lax.rsqrt(variance + 1e-5) * layer[name + " gain"] + layer[name + " shift"]).astype(compute)
            x = jax.nn.relu(y if name == "first" else x + y)
        return x

    def loss(params):
        x = images.astype(compute)
        for layer in params["fine"]:
            x = block(x, layer)
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        x = convolution(x, params["widen"].astype(compute))
        for layer in params["coarse"]:
            x = block(x, layer)
        logs = jax.nn.log_softmax(x.astype(jnp.float32).mean((1, 2)) @ params["head"])
        return -jnp.take_along_axis(logs, labels[:, None], 1).mean()

    value, gradients = jax.value_and_grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 1e-2 * g, params, gradients), value


def residual_network(batch=64, size=56, width=64):
    def layer(width):
        weight = values(3, 3, width, width, scale=(9 * width) ** -0.5)
        return {"first": weight, "second": weight} | {
            f"{name} {what}": np.full(width, value, np.float32)
            for name in ("first", "second") for what, value in (("gain", 1), ("shift", 0.5))}
    params = {"fine": [layer(width)] * 2, "widen": values(3, 3, width, 2 * width, scale=(9 * width) ** -0.5),
              "coarse": [layer(2 * width)] * 2, "head": values(2 * width, 1000, scale=0.1)}
    return residual_network_step, (params, bf16(batch, size, size, width), integers(batch, high=1000))


def adam(params, first, second, gradients):
    def one(p, m, v, g):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        return p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), m, v
    return [one(*leaf) for leaf in zip(params, first, second, gradients, strict=True)]


def random_numbers(function):
    return lambda key: function(jax.random.wrap_key_data(key, impl="threefry2x32"))


def recurrence(w, x):
    return lax.scan(lambda h, x: (jnp.tanh(h @ w + x), None), jnp.zeros(x.shape[1:], x.dtype), x)[0]


# These compute with f64.
X64 = {"matmul f64 2048"}


def workloads():
    """Returns {name: a function that makes (function, arguments)}."""
    key = np.array([0, 1], np.uint32)

    def heads(batch, length, count, width, dtype=BF16):
        return tuple(values(batch, length, count, width, dtype=dtype, seed=seed) for seed in range(3))

    return {
        # Products.
        "matmul bf16 8192": lambda: (jnp.matmul, (bf16(8192, 8192),) * 2),
        "matmul bf16 4096": lambda: (jnp.matmul, (bf16(4096, 4096),) * 2),
        "matmul f16 4096": lambda: (jnp.matmul, (values(4096, 4096, dtype=np.float16, scale=0.1),) * 2),
        "matmul f32 4096": lambda: (jnp.matmul, (values(4096, 4096),) * 2),
        "matmul f64 2048": lambda: (jnp.matmul, (values(2048, 2048, dtype=np.float64),) * 2),
        "matmul i8 4096": lambda: (lambda a, b: lax.dot(a, b, preferred_element_type=np.int32),
                                   (values(4096, 4096, dtype=np.int8, scale=30),) * 2),
        "batched matmul bf16 64x1024": lambda: (jnp.matmul, (bf16(64, 1024, 1024),) * 2),
        "few rows bf16 16x4096x14336": lambda: (jnp.matmul, (bf16(16, 4096), bf16(4096, 14336))),
        "matvec bf16 8192": lambda: (jnp.matmul, (bf16(8192, 8192), bf16(8192))),
        "bias and gelu bf16 4096": lambda: (lambda x, w, b: jax.nn.gelu(x @ w + b),
                                            (bf16(4096, 4096), bf16(4096, 4096, scale=0.02), bf16(4096))),
        "scores of heads bf16 4x2048x16x128": lambda: (
            functools.partial(jnp.einsum, "bqnd,bknd->bnqk"), heads(4, 2048, 16, 128)[:2]),
        "mixed values of heads 4x1024x16x64": lambda: (functools.partial(jnp.einsum, "bnqk,bknd->bqnd"), (
            values(4, 16, 1024, 1024), bf16(4, 1024, 16, 64))),
        # Attention.
        "attention bf16 4x2048x16x128": lambda: (causal, heads(4, 2048, 16, 128)),
        "attention bf16 8x1024x12x64": lambda: (causal, heads(8, 1024, 12, 64)),
        "attention gradient bf16 4x1024": lambda: (attention_gradient, heads(4, 1024, 16, 64)),
        "decoding bf16 32x4096x8x128": lambda: (jax.nn.dot_product_attention, (
            bf16(32, 1, 8, 128), bf16(32, 4096, 8, 128, seed=1), bf16(32, 4096, 8, 128, seed=2))),
        # Convolutions.
        "conv bf16 64x56x56x64": lambda: (convolution, (bf16(64, 56, 56, 64), bf16(3, 3, 64, 64, scale=0.05))),
        "conv bf16 stride 2 64x56x56x128": lambda: (
            lambda x, w: lax.conv_general_dilated(x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")),
            (bf16(64, 56, 56, 128), bf16(3, 3, 128, 256, scale=0.05))),
        "conv gradient bf16 64x28x28x128": lambda: (convolution_gradient, (
            bf16(64, 28, 28, 128), bf16(3, 3, 128, 128, scale=0.05))),
        "conv f32 32x56x56x64": lambda: (convolution, (values(32, 56, 56, 64), values(3, 3, 64, 64, scale=0.05))),
        # Training.
        "language model step": language_model,
        "residual network step": residual_network,
        "cross entropy 4096x32k gradient": lambda: (cross_entropy_gradient, (
            bf16(4096, 768), bf16(32_000, 768, scale=0.03), integers(4096, high=32_000))),
        "adam 16 of 1M": lambda: (adam, ([values(1 << 20)] * 16,) * 2 + ([np.abs(values(1 << 20))] * 16, [values(1 << 20)] * 16)),
        "recurrence 256x64x512": lambda: (recurrence, (values(512, 512, scale=0.05), values(256, 64, 512))),
        # Bytes.
        "chain 32M": lambda: (chain, (values(32 << 20),)),
        "add bf16 64M": lambda: (lambda a, b: a + b, (bf16(64 << 20), bf16(64 << 20))),
        "sum all 32M": lambda: (jnp.sum, (values(32 << 20),)),
        "sum rows 8192x4096": lambda: (lambda x: x.sum(1), (values(8192, 4096),)),
        "sum columns 8192x4096": lambda: (lambda x: x.sum(0), (values(8192, 4096),)),
        "softmax bf16 16384x2048": lambda: (jax.nn.softmax, (bf16(16384, 2048),)),
        "softmax 1024x32k": lambda: (jax.nn.softmax, (values(1024, 32_000),)),
        "layer norm 16384x2048": lambda: (layer_norm, (values(16384, 2048), values(2048), values(2048))),
        "transpose 8192x4096": lambda: (lambda x: x.T, (values(8192, 4096),)),
        "transpose heads bf16": lambda: (lambda x: jnp.transpose(x, (0, 2, 1, 3)) * 2, (bf16(8, 2048, 16, 128),)),
        "concatenate and slice": lambda: (lambda a, b: jnp.concatenate([a[:, 1:], b, a[:, :1]], 1),
                                          (values(4096, 2048), values(4096, 2048))),
        # Order, places, numbers.
        "cumsum 16M": lambda: (jnp.cumsum, (values(16 << 20),)),
        "cumsum rows 4096x4096": lambda: (lambda x: jnp.cumsum(x, 1), (values(4096, 4096),)),
        "sort 4M": lambda: (jnp.sort, (values(4 << 20),)),
        "sort rows 4096x1000": lambda: (jnp.sort, (values(4096, 1000),)),
        "top 8 of 1024x32k": lambda: (lambda x: lax.top_k(x, 8), (values(1024, 32_000),)),
        "argmax 4096x8192": lambda: (lambda x: jnp.argmax(x, 1), (values(4096, 8192),)),
        "gather rows bf16": lambda: (lambda t, i: t[i], (bf16(32_000, 1024), integers(65_536, high=32_000))),
        "scatter rows f32": lambda: (lambda t, i, u: t.at[i].add(u), (values(32_000, 256), integers(65_536, high=32_000),
                                                                      values(65_536, 256))),
        "histogram 16M": lambda: (lambda x: jnp.bincount(x, length=256), (integers(16 << 20, high=256),)),
        "normal numbers 16M": lambda: (random_numbers(lambda k: jax.random.normal(k, (16 << 20,))), (key,)),
        "fft 4096x1024": lambda: (jnp.fft.fft, (values(4096, 1024).astype(np.complex64),)),
        "black-scholes 8M": lambda: (black_scholes, (np.abs(values(8 << 20)) + 1, np.abs(values(8 << 20, seed=1)) + 1,
                                                     np.abs(values(8 << 20, seed=2)) + 1)),
        # The host's part.
        "dispatch x + 1 on a device": lambda: (increment, (np.float32(1),)),
        "dispatch 200 arrays": lambda: (lambda *t: [x * 2 for x in t], (values(1000),) * 200),
        "loop to a sum": lambda: (lambda x: lax.while_loop(lambda c: c.sum() < 1e6, lambda c: c * 1.01 + 1, x),
                                  (values(64, 64),)),
        "loop of 1000 kernels": lambda: (lambda x: lax.fori_loop(0, 1000, lambda i, c: jnp.roll(c, 1) * 0.5 + i, x),
                                         (values(1 << 16),)),
    }
