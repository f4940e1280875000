"""Networks whose images have their channels before the spatial dimensions, as PyTorch's have."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest


def convolve(x, w, stride=1, groups=1):
    axes = "DHW"[3 - (x.ndim - 2):]
    return jax.lax.conv_general_dilated(x, w, (stride,) * len(axes), "SAME", feature_group_count=groups,
                                        dimension_numbers=("NC" + axes, "OI" + axes, "NC" + axes))


def normalize(x):
    axes = (0, *range(2, x.ndim))
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-3)


def pool(x, of, start):
    window = (1, 1) + (2,) * (x.ndim - 2)
    return jax.lax.reduce_window(x, start, of, window, window, "SAME")


def residual(x, w):
    """Blocks of a residual network: its arrays are convolved, normalised, pooled, added."""
    y = jax.nn.relu(normalize(convolve(x, w["stem"])))
    y = pool(y, jax.lax.max, -jnp.inf)
    z = jax.nn.relu(normalize(convolve(y, w["a"], 2)))
    z = normalize(convolve(z, w["b"])) + convolve(y, w["short"], 2)
    return jnp.sum(jax.nn.relu(z) * jnp.cos(z)), z.mean(range(2, z.ndim))


def grouped(x, w):
    y = jnp.tanh(convolve(x, w["stem"]))
    z = convolve(y, w["depthwise"], 1, 16) + convolve(y, w["groups"], 1, 4)
    return jnp.sum(z * z), pool(jnp.concatenate([z, y], 1), jax.lax.add, 0.0)


def looped(x, w):
    y = convolve(x, w["stem"])
    y, sums = jax.lax.scan(lambda y, _: (jnp.tanh(convolve(y, w["b16"])), y.sum((2, 3))), y, None, 3)
    return jnp.sum(y * sums.sum(0)[:, :, None, None]), y


def mixed(x, w):
    """Arrays that are also used in their own order."""
    y = jax.nn.relu(convolve(x, w["stem"]))
    scores = y.reshape(y.shape[0], -1) @ jnp.ones((y[0].size, 3))
    weights = jax.nn.softmax(y.sum(1), axis=-1)[:, None]
    z = convolve(y * weights + jnp.flip(y, 3), w["b16"])
    return jnp.sum(jnp.sin(z)) + scores.sum(), z[:, 2]


@pytest.mark.parametrize("network, shape", [
    (residual, (4, 3, 17, 18)), (residual, (4, 3, 50)), (residual, (2, 3, 7, 8, 9)),
    (grouped, (4, 3, 17, 18)), (looped, (4, 3, 17, 18)), (mixed, (4, 3, 17, 18))])
def test_results_and_gradients_agree(ours, theirs, network, shape):
    rng = np.random.default_rng(0)
    window = (3,) * (len(shape) - 2)

    def kernel(features, inputs, window=window):
        return (rng.standard_normal((features, inputs, *window)) / np.sqrt(inputs * np.prod(window))
                ).astype(np.float32)

    w = {"stem": kernel(16, 3), "a": kernel(32, 16), "b": kernel(32, 32), "b16": kernel(16, 16),
         "short": kernel(32, 16, (1,) * len(window)), "depthwise": kernel(16, 1), "groups": kernel(16, 4)}
    x = rng.standard_normal(shape).astype(np.float32)
    step = jax.jit(jax.value_and_grad(network, argnums=(0, 1), has_aux=True))
    got, expected = (jax.device_get(step(*jax.device_put((x, w), device))) for device in (ours, theirs))
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(expected), strict=True):
        scale = max(1, np.abs(b).max())
        np.testing.assert_allclose(a / scale, b / scale, rtol=1e-3, atol=1e-4)
