"""What is timed of JAX: `prepare(name, type)` returns a function that runs once and waits for the end."""

import functools

import arrays
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

RATE, MOMENTUM = 0.01, 0.9


def _channels(x, filter_, stride, padding):
    return lax.conv_general_dilated(x, filter_, (stride, stride), padding,
                                    dimension_numbers=("NHWC", "HWIO", "NHWC"))


def _resnet(compute, params, images, labels):
    """The loss, and the batches' statistics by name."""
    statistics = {}

    def convolution(x, name, stride, padding):
        x = _channels(x, params[f"{name}.filter"].astype(compute), stride, [(padding, padding)] * 2)
        wide = x.astype(jnp.float32)
        mean = wide.mean((0, 1, 2))
        variance = (wide * wide).mean((0, 1, 2)) - mean * mean
        count = x.size // x.shape[-1]
        statistics[f"{name}.norm.mean"] = mean
        statistics[f"{name}.norm.variance"] = variance * (count / (count - 1))
        scale = lax.rsqrt(variance + 1e-5) * params[f"{name}.norm.weight"]
        return ((wide - mean) * scale + params[f"{name}.norm.bias"]).astype(compute)

    x = jax.nn.relu(convolution(images.astype(compute), "stem", 2, 3))
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1),
                          ((0, 0), (1, 1), (1, 1), (0, 0)))
    for name, inputs, outputs, stride in arrays.resnet_blocks():
        y = jax.nn.relu(convolution(x, f"{name}.first", stride, 1))
        y = convolution(y, f"{name}.second", 1, 1)
        if stride != 1 or inputs != outputs:
            x = convolution(x, f"{name}.shortcut", stride, 0)
        x = jax.nn.relu(x + y)
    x = x.mean((1, 2))
    scores = x @ params["head.weight"].astype(compute) + params["head.bias"].astype(compute)
    return _cross_entropy(scores, labels), statistics


def _cross_entropy(scores, labels):
    logs = jax.nn.log_softmax(scores.astype(jnp.float32))
    return -jnp.take_along_axis(logs, labels[..., None], -1).mean()


def _resnet_step(compute, state, images, labels):
    params, velocity, running = state
    (loss, batch), gradients = jax.value_and_grad(functools.partial(_resnet, compute), has_aux=True)(
        params, images, labels)
    velocity = jax.tree.map(lambda v, g: MOMENTUM * v + g, velocity, gradients)
    params = jax.tree.map(lambda p, v: p - RATE * v, params, velocity)
    running = jax.tree.map(lambda r, b: 0.9 * r + 0.1 * b, running, batch)
    return (params, velocity, running), loss


def _transformer(compute, params, tokens):
    def norm(x, name):
        wide = x.astype(jnp.float32)
        mean = wide.mean(-1, keepdims=True)
        variance = ((wide - mean) ** 2).mean(-1, keepdims=True)
        return (wide - mean) * lax.rsqrt(variance + 1e-5) * params[f"{name}.weight"] + params[f"{name}.bias"]

    def dense(x, name):
        return x.astype(compute) @ params[f"{name}.weight"].astype(compute) + params[f"{name}.bias"].astype(compute)

    x = params["tokens"][tokens[:, :-1]] + params["places"]
    for i in range(arrays.LAYERS):
        qkv = dense(norm(x, f"{i}.norm1"), f"{i}.qkv")
        q, k, v = jnp.split(qkv.reshape(*x.shape[:2], 3 * arrays.HEADS, -1), 3, axis=2)
        y = jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(x.shape)
        x = x + dense(y, f"{i}.out")
        y = jax.nn.gelu(dense(norm(x, f"{i}.norm2"), f"{i}.up"), approximate=False)
        x = x + dense(y, f"{i}.down")
    scores = norm(x, "norm").astype(compute) @ params["tokens"].T.astype(compute)
    return _cross_entropy(scores, tokens[:, 1:])


def _transformer_step(compute, state, tokens):
    params, first, second, count = state
    loss, gradients = jax.value_and_grad(functools.partial(_transformer, compute))(params, tokens)
    count = count + 1
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradients)

    def moved(p, m, v):
        step = m / (1 - 0.9 ** count) / (jnp.sqrt(v / (1 - 0.999 ** count)) + 1e-8)
        return p * (1 - 1e-3 * 0.01) - 1e-3 * step

    return (jax.tree.map(moved, params, first, second), first, second, count), loss


def _convolution(x, filter_):
    return _channels(x, filter_, 1, "SAME")


def _attention(q, k, v):
    # PyTorch has heads before positions.
    q, k, v = (x.transpose(0, 2, 1, 3) for x in (q, k, v))
    return jax.nn.dot_product_attention(q, k, v).transpose(0, 2, 1, 3)


def _layer_norm(x, weight, bias):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * weight + bias


_OPERATIONS = {
    "matmul 1024": jnp.matmul,
    "gelu 4M": functools.partial(jax.nn.gelu, approximate=False),
    "layer norm 4096x1024": _layer_norm,
    "softmax 2048x4096": jax.nn.softmax,
    "attention 4x8x512x64": _attention,
    "sort 1M": jnp.sort,
    "conv 3x3 8x56x56x64": _convolution,
    "conv 3x3 gradient": jax.grad(lambda x, f: (_convolution(x, f) ** 2).sum(), (0, 1)),
}


def prepare(name, type_):
    compute = jnp.dtype({"f32": jnp.float32, "bf16": jnp.bfloat16}[type_])
    if name in _OPERATIONS:
        function = jax.jit(_OPERATIONS[name])
        arguments = jax.device_put([np.asarray(a, compute) for a in arrays.operation(name)])
        return lambda: jax.block_until_ready(function(*arguments))
    if name == "resnet18 step":
        params, running, *batch = arrays.resnet18()
        state = params, {name: np.zeros_like(p) for name, p in params.items()}, running
        step = functools.partial(_resnet_step, compute)
    else:
        params, *batch = arrays.transformer()
        zeros = {name: np.zeros_like(p) for name, p in params.items()}
        state = params, zeros, {**zeros}, np.float32(0)
        step = functools.partial(_transformer_step, compute)
    batch = [x.astype(np.int32) if x.dtype == np.int64 else x for x in batch]
    state, batch = jax.device_put((state, batch))
    step = jax.jit(step, donate_argnums=0)

    def run():
        nonlocal state
        state, loss = step(state, *batch)
        jax.block_until_ready(state)
        return loss

    return run


def leaves(result):
    """What a run returned, as arrays in f32."""
    return [np.asarray(x, np.float32) for x in jax.tree.leaves(result)]
