"""Training steps of four kinds of network agree with JAX's own CPU client over 50 steps."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

STEPS = 50


def normal(rng, *shape, scale=None):
    scale = scale or 1 / np.sqrt(shape[0] if len(shape) < 3 else np.prod(shape[:-1]))
    return (rng.normal(size=shape) * scale).astype(np.float32)


def mlp(rng):
    """Three dense layers; returns (parameters, inputs, targets, loss)."""
    params = [(normal(rng, a, b), np.zeros(b, np.float32)) for a, b in [(20, 64), (64, 32), (32, 5)]]
    x, y = normal(rng, 32, 20, scale=1), rng.integers(0, 5, 32).astype(np.int32)

    def loss(params, x, y):
        for w, b in params[:-1]:
            x = jax.nn.gelu(x @ w + b)
        scores = x @ params[-1][0] + params[-1][1]
        return optax.softmax_cross_entropy_with_integer_labels(scores.astype(jnp.float32), y).mean()

    return params, x, y, loss


def cnn(rng):
    """Two convolutions, batch normalisation over the batch, pooling, a dense layer."""
    params = {"a": normal(rng, 3, 3, 3, 8), "b": normal(rng, 3, 3, 8, 16),
              "scale": np.ones(8, np.float32), "w": normal(rng, 16 * 16, 4)}
    x, y = normal(rng, 8, 8, 8, 3, scale=1), rng.integers(0, 4, 8).astype(np.int32)

    def loss(params, x, y):
        convolve = lambda x, w: jax.lax.conv_general_dilated(
            x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = convolve(x, params["a"])
        mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
        x = jax.nn.relu((x - mean) * jax.lax.rsqrt(variance + 1e-3) * params["scale"])
        x = jax.nn.relu(convolve(x, params["b"]))
        x = jax.lax.reduce_window(
            x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        scores = x.reshape(x.shape[0], -1) @ params["w"]
        return optax.softmax_cross_entropy_with_integer_labels(scores.astype(jnp.float32), y).mean()

    return params, x, y, loss


def lstm(rng):
    """An LSTM cell in lax.scan, with a regression of the last state."""
    size = 16
    params = {"wx": normal(rng, 6, 4 * size), "wh": normal(rng, size, 4 * size),
              "b": np.zeros(4 * size, np.float32), "out": normal(rng, size, 1)}
    x, y = normal(rng, 12, 8, 6, scale=1), normal(rng, 8, 1, scale=1)

    def loss(params, x, y):
        def cell(carry, x):
            h, c = carry
            i, f, g, o = jnp.split(x @ params["wx"] + h @ params["wh"] + params["b"], 4, axis=-1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), None

        zeros = jnp.zeros((x.shape[1], size), x.dtype)
        (h, _), _ = jax.lax.scan(cell, (zeros, zeros), x)
        return jnp.mean((h @ params["out"] - y).astype(jnp.float32) ** 2)

    return params, x, y, loss


def transformer(rng):
    """One block of causal attention and feed-forward over token embeddings; next-token loss."""
    width, heads, length, words = 32, 4, 12, 17
    params = {"embed": normal(rng, words, width, scale=0.5), "qkv": normal(rng, width, 3 * width),
              "out": normal(rng, width, width), "up": normal(rng, width, 4 * width),
              "down": normal(rng, 4 * width, width), "g1": np.ones(width, np.float32),
              "g2": np.ones(width, np.float32)}
    tokens = rng.integers(0, words, (4, length + 1)).astype(np.int32)

    def normalize(x, gain):
        centred = x - x.mean(-1, keepdims=True)
        return centred * jax.lax.rsqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5) * gain

    def loss(params, x, y):
        h = params["embed"][x]
        q, k, v = jnp.split(normalize(h, params["g1"]) @ params["qkv"], 3, axis=-1)
        split = lambda t: t.reshape(*t.shape[:2], heads, -1).transpose(0, 2, 1, 3)
        scores = split(q) @ split(k).swapaxes(-1, -2) / np.sqrt(width // heads).astype(h.dtype)
        mask = jnp.tril(jnp.ones((length, length), bool))
        weights = jax.nn.softmax(jnp.where(mask, scores, -1e9).astype(jnp.float32), axis=-1)
        mixed = (weights.astype(h.dtype) @ split(v)).transpose(0, 2, 1, 3).reshape(h.shape)
        h = h + mixed @ params["out"]
        h = h + jax.nn.gelu(normalize(h, params["g2"]) @ params["up"]) @ params["down"]
        scores = (h @ params["embed"].T).astype(jnp.float32)
        return optax.softmax_cross_entropy_with_integer_labels(scores, y).mean()

    return params, tokens[:, :-1], tokens[:, 1:], loss


def losses(device, network, dtype):
    """The losses of STEPS training steps on `device`."""
    params, x, y, loss = network(np.random.default_rng(0))
    cast = lambda a: jnp.asarray(a, dtype) if np.asarray(a).dtype == np.float32 else jnp.asarray(a)
    optimizer = optax.adam(1e-2)

    @jax.jit
    def step(params, state, x, y):
        value, gradients = jax.value_and_grad(loss)(params, x, y)
        updates, state = optimizer.update(gradients, state)
        return optax.apply_updates(params, updates), state, value

    with jax.default_device(device):
        params, x, y = jax.tree.map(cast, (params, x, y))
        state = optimizer.init(params)
        values = []
        for _ in range(STEPS):
            params, state, value = step(params, state, x, y)
            values.append(value)
    return np.array(jax.device_get(values), np.float64)


@pytest.mark.parametrize("dtype, tolerance", [("float32", 2e-3), ("bfloat16", 1e-1)])
@pytest.mark.parametrize("network", [mlp, cnn, lstm, transformer])
def test_losses_agree(ours, theirs, network, dtype, tolerance):
    here, there = losses(ours, network, dtype), losses(theirs, network, dtype)
    assert np.all(np.isfinite(here))
    assert here[-1] < 0.7 * here[0], "the network does not learn"
    np.testing.assert_allclose(here, there, rtol=tolerance, atol=tolerance * here[0])
    # The first steps come before rounding differences have grown.
    np.testing.assert_allclose(here[:3], there[:3], rtol=tolerance / 10, atol=tolerance / 100)
