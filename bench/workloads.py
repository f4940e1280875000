"""The workloads: the twelve of the speed target, and the demo's training step."""

import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent


def values(*shape, scale=1.0):
    return (np.random.default_rng(0).normal(size=shape) * scale).astype(np.float32)


def matmul(a, b):
    return a @ b


def chain(x):
    return jnp.tanh(x) * jnp.exp(-x * x) + 0.5 * x


def sum_rows(x):
    return x.sum(axis=1)


def sum_columns(x):
    return x.sum(axis=0)


def softmax(x):
    return jax.nn.softmax(x, axis=-1)


def layer_norm(x, gain, bias):
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * gain + bias


def transpose(x):
    return x.T


def convolution(x, w):
    return jax.lax.conv_general_dilated(
        x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def lstm_gradient(wx, wh, b, x):
    """Gradient of an LSTM layer over time steps by lax.scan."""

    def loss(wx, wh, b):
        def cell(carry, x):
            h, c = carry
            i, f, g, o = jnp.split(x @ wx + h @ wh + b, 4, axis=-1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zeros = jnp.zeros((x.shape[1], wh.shape[0]), x.dtype)
        return jnp.sum(jax.lax.scan(cell, (zeros, zeros), x)[1] ** 2)

    return jax.grad(loss, argnums=(0, 1, 2))(wx, wh, b)


def scalar_loop(x):
    return jax.lax.fori_loop(0, 10_000, lambda i, x: x * 0.999 + 0.001 * i, x)


def increment(x):
    return x + 1


def demo_step():
    """The training step of ./dev demo, on one batch; it returns what it updates."""
    sys.path.insert(0, str(ROOT / "examples/digits"))
    import optax
    import training

    network, optimizer = training.Network(), optax.adamw(1e-3)
    images, labels = values(training.BATCH, 8, 8, 1), np.arange(training.BATCH, dtype=np.int32) % 10
    with jax.default_device(jax.devices("cpu")[0]):
        params = network.init(jax.random.key(0), images)
        state = optimizer.init(params)
        params, state = jax.device_get((params, state))

    def step(params, state, images, labels):
        def loss(params):
            scores = network.apply(params, images)
            return optax.softmax_cross_entropy_with_integer_labels(scores, labels).mean()

        value, gradients = jax.value_and_grad(loss)(params)
        updates, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), state, value

    return step, (params, state, images, labels)


def workloads():
    """Returns {name: (function, arguments)}, where a value may be a function that makes the pair."""
    return {
        "matmul 1024x1024x1024": (matmul, (values(1024, 1024), values(1024, 1024))),
        "matmul 64x1024x1024": (matmul, (values(64, 1024), values(1024, 1024))),
        "exp-tanh chain 4M": (chain, (values(4 << 20),)),
        "sum rows 4096x4096": (sum_rows, (values(4096, 4096),)),
        "sum columns 4096x4096": (sum_columns, (values(4096, 4096),)),
        "softmax 2048x4096": (softmax, (values(2048, 4096),)),
        "layer norm 4096x1024": (layer_norm, (values(4096, 1024), values(1024), values(1024))),
        "transpose 2048x4096": (transpose, (values(2048, 4096),)),
        "conv 3x3 8x56x56x64": (convolution, (values(8, 56, 56, 64), values(3, 3, 64, 64, scale=.05))),
        "lstm scan gradient": (lstm_gradient, (
            values(64, 512, scale=.1), values(128, 512, scale=.1), values(512), values(32, 16, 64))),
        "fori_loop 10000 scalar": (scalar_loop, (np.float32(1),)),
        "dispatch x + 1": (increment, (np.float32(1),)),
        "demo training step": demo_step,
    }


# Not among the twelve of the target.
EXTRA = {"demo training step"}
