"""Programs over eight devices as people write them: training steps, resharding, sequences, tables.

    python sharded_programs.py [--all | NAME ...]

runs them (without names those of short tests) on Isthmus and on XLA:CPU and prints for each what it moves and how far the results are
from each other, as a line of JSON. A program is a function of a `Setup` that returns a jitted
function, its arguments, and how often its loops run.
"""

import functools
import json
import os
import pathlib
import sys
import tempfile

if __name__ == "__main__":
    os.environ |= {"JAX_PLATFORMS": "isthmus,cpu", "ISTHMUS_NUM_DEVICES": "8",
                   "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
                   "ISTHMUS_DUMP": tempfile.mkdtemp(prefix="sharded-programs-")}

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax, shard_map  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import collective_bytes  # noqa: E402
import further_sharded_programs  # noqa: E402, F401 (these add to the table)
import more_sharded_programs  # noqa: E402, F401
import numeric_sharded_programs  # noqa: E402, F401
import various_sharded_programs  # noqa: E402, F401
from sharded_setup import ON_DEMAND, PROGRAMS, Setup, program, training_step  # noqa: E402

# ---- Transformers --------------------------------------------------------------------------------

FSDP = {"embed": ("x",), "head": ("x",), "qkv": ("x",), "out": (None, None, "x"), "up": ("x",),
        "down": (None, "x")}
TENSOR = {"embed": ("x",), "head": (None, "x"), "qkv": (None, None, "x"), "out": ("x",),
          "up": (None, "x"), "down": ("x",)}
FSDP_TENSOR = {"embed": ("y", "x"), "head": ("x", "y"), "qkv": ("x", None, "y"),
               "out": ("y", None, "x"), "up": ("x", "y"), "down": ("y", "x")}
DATA_TENSOR = {"embed": ("y",), "head": (None, "y"), "qkv": (None, None, "y"), "out": ("y",),
               "up": (None, "y"), "down": ("y",)}


def transformer(setup, specs, batch_spec, layers=2, heads=4, optimizer="sgd", scan=False,
                remat=False, one_hot=False):
    """A causal language model's training step."""
    width, words, batch, length = 32, 128, 16, 16
    shapes = {"qkv": (layers, width, 3, heads, width // heads),
              "out": (layers, heads, width // heads, width),
              "up": (layers, width, 4 * width), "down": (layers, 4 * width, width)}
    weights = {name: setup.normal(shape, *specs.get(name, ()), scale=0.1)
               for name, shape in (("embed", (words, width)), ("head", (width, words)))}
    weights["layers"] = {name: setup.normal(shape, None, *specs.get(name, ()), scale=0.1)
                         for name, shape in shapes.items()}
    tokens = setup.integers(words, (batch, length), *batch_spec)

    def normalized(x):
        return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)

    def block(x, w):
        q, k, v = jnp.moveaxis(jnp.einsum("btd,dchk->btchk", normalized(x), w["qkv"]), 2, 0)
        scores = jnp.einsum("bqhk,bshk->bhqs", q, k)
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
        x = x + jnp.einsum("bhqs,bshk,hkd->bqd", jax.nn.softmax(scores, -1), v, w["out"])
        return x + jax.nn.gelu(normalized(x) @ w["up"]) @ w["down"]

    if remat:
        block = jax.checkpoint(block)

    def loss(weights, tokens):
        x = weights["embed"][tokens]
        if scan:
            x, _ = lax.scan(lambda x, w: (block(x, w), None), x, weights["layers"])
        else:
            for i in range(layers):
                x = block(x, jax.tree.map(lambda w: w[i], weights["layers"]))
        log_p = jax.nn.log_softmax((x @ weights["head"])[:, :-1])
        target = tokens[:, 1:]
        if one_hot:
            return -jnp.mean(jnp.sum(log_p * jax.nn.one_hot(target, words), -1))
        return -jnp.mean(jnp.take_along_axis(log_p, target[..., None], -1))

    return *training_step(loss, weights, tokens, optimizer=optimizer), layers if scan else 1


@program
def transformer_data(setup):
    setup.mesh(x=8)
    return transformer(setup, {}, ("x",))


@program
def transformer_data_one_hot(setup):
    setup.mesh(x=8)
    return transformer(setup, {}, ("x",), one_hot=True)


@program
def transformer_fsdp_sgd(setup):
    setup.mesh(x=8)
    return transformer(setup, FSDP, ("x",))


@program
def transformer_fsdp_adam(setup):
    setup.mesh(x=8)
    return transformer(setup, FSDP, ("x",), optimizer="adam")


@program
def transformer_tensor_sgd(setup):
    setup.mesh(x=8)
    return transformer(setup, TENSOR, (), heads=8)


@program
def transformer_tensor_adam(setup):
    setup.mesh(x=8)
    return transformer(setup, TENSOR, (), heads=8, optimizer="adam")


@program
def transformer_fsdp_tensor(setup):
    setup.mesh(x=4, y=2)
    return transformer(setup, FSDP_TENSOR, ("x",))


@program
def transformer_fsdp_scan_remat(setup):
    setup.mesh(x=8)
    return transformer(setup, FSDP, ("x",), layers=4, scan=True, remat=True)


@program
def transformer_data_tensor_scan(setup):
    setup.mesh(x=4, y=2)
    return transformer(setup, DATA_TENSOR, ("x",), layers=4, scan=True)


@program
def mlp_fsdp_scan_remat(setup):
    setup.mesh(x=8)
    w = {"a": setup.normal((6, 64, 128), None, "x", scale=0.1),
         "b": setup.normal((6, 128, 64), None, "x", scale=0.1)}
    x = setup.normal((32, 64), "x")

    def loss(w, x):
        layer = jax.checkpoint(lambda h, w: (h + jax.nn.gelu(h @ w["a"]) @ w["b"], None))
        return jnp.mean(lax.scan(layer, x, w)[0] ** 2)

    return *training_step(loss, w, x), 6


# ---- Convolutions --------------------------------------------------------------------------------

NHWC = ("NHWC", "HWIO", "NHWC")


def cnn(setup, x_spec, specs=None, pool="max", groups=1, train=True):
    """Two convolutions with pooling, then a dense layer."""
    specs = specs or {}
    batch = 16
    weights = {"a": setup.normal((3, 3, 3, 16), *specs.get("a", ()), scale=0.2),
               "b": setup.normal((3, 3, 16 // groups, 32), *specs.get("b", ()), scale=0.2),
               "dense": setup.normal((4 * 4 * 32, 10), *specs.get("dense", ()), scale=0.02)}
    images = setup.normal((batch, 16, 16, 3), *x_spec)
    labels = setup.integers(10, (batch,), *x_spec[:1])
    window = (1, 2, 2, 1)

    def pooled(x):
        if pool == "max":
            return lax.reduce_window(x, -jnp.inf, lax.max, window, window, "VALID")
        return lax.reduce_window(x, 0.0, lax.add, window, window, "VALID") / 4

    def forward(weights, x):
        for name, groups_here in (("a", 1), ("b", groups)):
            x = lax.conv_general_dilated(x, weights[name], (1, 1), "SAME", dimension_numbers=NHWC,
                                         feature_group_count=groups_here)
            x = pooled(jax.nn.relu(x))
        return x.reshape(batch, -1) @ weights["dense"]

    def loss(weights, x, labels):
        return -jnp.mean(jax.nn.log_softmax(forward(weights, x))[jnp.arange(batch), labels])

    if not train:
        return jax.jit(forward), (weights, images), 1
    return *training_step(loss, weights, images, labels), 1


@program
def cnn_data_max_pool(setup):
    setup.mesh(x=8)
    return cnn(setup, ("x",))


@program
def cnn_data_mean_pool(setup):
    setup.mesh(x=8)
    return cnn(setup, ("x",), pool="mean")


@program
def cnn_space_forward(setup):
    setup.mesh(x=8)
    return cnn(setup, (None, "x"), train=False)


@program
def cnn_space_training(setup):
    setup.mesh(x=8)
    return cnn(setup, (None, "x"))


@program
def cnn_channels(setup):
    setup.mesh(x=8)
    return cnn(setup, (), {"a": (None, None, None, "x"), "b": (None, None, "x")})


@program
def cnn_feature_groups(setup):
    setup.mesh(x=8)
    return cnn(setup, ("x",), groups=4)


@program
def cnn_fsdp(setup):
    setup.mesh(x=8)
    return cnn(setup, ("x",), {"a": (None, None, None, "x"), "b": (None, None, None, "x"),
                               "dense": ("x",)})


@program
def depthwise_gradient(setup):
    setup.mesh(x=8)
    x, k = setup.normal((16, 8, 8, 32), "x"), setup.normal((3, 3, 1, 32))

    def loss(k, x):
        y = lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=NHWC,
                                     feature_group_count=32)
        return jnp.mean(y**2)

    return jax.jit(jax.grad(loss)), (k, x), 1


@program
def convolution_along_time(setup):
    setup.mesh(x=8)
    x, k = setup.normal((2, 256, 8), None, "x"), setup.normal((5, 8, 8), scale=0.1)

    def f(x, k):
        return jax.nn.relu(lax.conv_general_dilated(
            x, k, (1,), "SAME", dimension_numbers=("NHC", "HIO", "NHC")))

    return jax.jit(f, out_shardings=setup.sharding(None, "x")), (x, k), 1


# ---- Other training ------------------------------------------------------------------------------

@program
def mlp_data(setup):
    setup.mesh(x=8)
    w = [setup.normal((32, 64), scale=0.1), setup.normal((64, 32), scale=0.1)]
    x, y = setup.normal((64, 32), "x"), setup.normal((64, 32), "x")
    loss = lambda w, x, y: jnp.mean((jax.nn.relu(x @ w[0]) @ w[1] - y) ** 2)  # noqa: E731
    return *training_step(loss, w, x, y), 1


@program
def optimizer_state_split(setup):
    setup.mesh(x=8)
    w, momentum = setup.normal((64, 32), scale=0.1), setup.normal((64, 32), "x")
    x = setup.normal((32, 64), "x")

    def step(w, momentum, x):
        gradient = jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w)
        momentum = 0.9 * momentum + lax.with_sharding_constraint(gradient, setup.sharding("x"))
        return w - 0.1 * momentum, momentum

    shardings = setup.sharding(), setup.sharding("x")
    return jax.jit(step, out_shardings=shardings), (w, momentum, x), 1


@program
def batch_norm_gradient(setup):
    setup.mesh(x=8)
    x, scale = setup.normal((32, 4, 4, 16), "x"), setup.normal((16,))

    def f(x, scale):
        mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
        return jnp.mean(((x - mean) * lax.rsqrt(variance + 1e-5) * scale) ** 3)

    return jax.jit(jax.grad(f, argnums=(0, 1))), (x, scale), 1


@program
def rnn_gradient(setup):
    setup.mesh(x=8)
    weights = (setup.normal((16, 32), scale=0.3), setup.normal((32, 32), scale=0.2))
    x = setup.normal((32, 10, 16), "x")

    def loss(w, x):
        def cell(h, x):
            h = jnp.tanh(x @ w[0] + h @ w[1])
            return h, h
        return jnp.mean(lax.scan(cell, jnp.zeros((32, 32)), x.swapaxes(0, 1))[1] ** 2)

    return jax.jit(jax.grad(loss)), (weights, x), 10


@program
def mixture_of_experts(setup):
    setup.mesh(x=8)
    x, experts = setup.normal((8, 32, 16), "x"), setup.normal((8, 16, 16), "x", scale=0.1)
    gate = setup.normal((16, 8))

    def f(x, experts, gate):
        gates = jax.nn.softmax(x @ gate)
        chosen = jax.nn.one_hot(jnp.argmax(gates, -1), 8)
        place = (jnp.cumsum(chosen, 1) * chosen - 1).astype("i")
        dispatch = chosen[..., None] * jax.nn.one_hot(place, 8)
        sent = lax.with_sharding_constraint(
            jnp.einsum("gtec,gtd->egcd", dispatch, x), setup.sharding("x"))
        done = lax.with_sharding_constraint(
            jax.nn.relu(jnp.einsum("egcd,edf->egcf", sent, experts)), setup.sharding(None, "x"))
        return jnp.einsum("gtec,egcd->gtd", dispatch * jnp.max(gates, -1)[..., None, None], done)

    return jax.jit(f), (x, experts, gate), 1


@program
def pipeline_of_stages(setup):
    setup.mesh(x=8)
    w, x = setup.normal((8, 16, 16), "x", scale=0.3), setup.normal((12, 4, 16))

    def f(w, x):
        split = functools.partial(lax.with_sharding_constraint, shardings=setup.sharding("x"))

        def step(state, i):
            entering = lax.dynamic_index_in_dim(x, jnp.minimum(i, 11), keepdims=False)
            state = jnp.roll(state, 1, 0).at[0].set(entering)
            state = split(jax.vmap(lambda w, s: jnp.tanh(s @ w))(w, state))
            return state, state[-1]

        return lax.scan(step, split(jnp.zeros((8, 4, 16))), jnp.arange(19))[1][7:]

    return jax.jit(f), (w, x), 19


# ---- Attention and caches ------------------------------------------------------------------------

@program
def attention_over_sequence(setup):
    setup.mesh(x=8)
    q = setup.normal((2, 64, 4, 8), None, "x")

    def f(q):
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, q)
        i = jnp.arange(64)
        scores = jnp.where(i[:, None] >= i, scores, -1e9)
        return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), q)

    return jax.jit(f, out_shardings=setup.sharding(None, "x")), (q,), 1


def decode(k, q, position):
    k = lax.dynamic_update_slice(k, q, (0, position, 0, 0))
    scores = jnp.einsum("bqhd,bshd->bhqs", q, k)
    scores = jnp.where(jnp.arange(k.shape[1]) <= position, scores, -1e9)
    return k, jnp.einsum("bhqs,bshd->bqhd", jax.nn.softmax(scores, -1), k)


@program
def cache_split_by_head(setup):
    setup.mesh(x=8)
    k, q = setup.normal((4, 64, 8, 8), None, None, "x"), setup.normal((4, 1, 8, 8), None, None, "x")
    return jax.jit(decode), (k, q, np.int32(5)), 1


@program
def cache_split_by_sequence(setup):
    setup.mesh(x=8)
    k, q = setup.normal((4, 64, 8, 8), None, "x"), setup.normal((4, 1, 8, 8))
    shardings = setup.sharding(None, "x"), setup.sharding()
    return jax.jit(decode, out_shardings=shardings), (k, q, np.int32(27)), 1


@program
def cache_with_positions(setup):
    setup.mesh(x=8)
    k, q = setup.normal((16, 64, 8), "x"), setup.normal((16, 1, 8), "x")
    positions = setup.integers(64, (16,), "x")

    def f(k, q, positions):
        k = jax.vmap(lambda k, q, p: lax.dynamic_update_slice(k, q, (p, 0)))(k, q, positions)
        return k, jax.vmap(lambda k, p: lax.dynamic_slice(k, (p, 0), (2, 8)))(k, positions)

    return jax.jit(f), (k, q, positions), 1


@program
def layer_norm_over_sequence(setup):
    setup.mesh(x=2, y=4)
    x, scale = setup.normal((8, 32, 64), "x", "y"), setup.normal((64,))

    def f(x, scale):
        y = (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale
        return jax.nn.softmax(jnp.einsum("bqd,bkd->bqk", y, y)) @ y

    return jax.jit(f, out_shardings=setup.sharding("x", "y")), (x, scale), 1


@program
def heads_from_columns(setup):
    setup.mesh(x=8)
    x, w = setup.normal((8, 16, 64), None, None, "x"), setup.normal((64, 64), None, "x", scale=0.1)

    def f(x, w):
        y = (x @ w).reshape(8, 16, 8, 8).transpose(0, 2, 1, 3)
        return jnp.einsum("bhqd,bhkd->bhqk", y, y)

    return jax.jit(f), (x, w), 1


# ---- Tables, sums, orders ------------------------------------------------------------------------

@program
def rows_of_split_table(setup):
    setup.mesh(x=8)
    table, rows = setup.normal((256, 16), "x"), setup.integers(256, (16, 8))
    return jax.jit(lambda table, rows: table[rows]), (table, rows), 1


@program
def rows_of_split_table_gradient(setup):
    setup.mesh(x=8)
    table, rows = setup.normal((256, 16), "x"), setup.integers(256, (16, 8))
    gradient = jax.grad(lambda table, rows: jnp.sum(table[rows] ** 2))
    return jax.jit(gradient, out_shardings=setup.sharding("x")), (table, rows), 1


@program
def take_along_gradient(setup):
    setup.mesh(x=8)
    x, i = setup.normal((64, 128), "x"), setup.integers(128, (64, 3), "x")
    f = lambda x, i: jnp.sum(jnp.take_along_axis(x, i, 1) ** 2)  # noqa: E731
    return jax.jit(jax.grad(f)), (x, i), 1


@program
def segment_sum(setup):
    setup.mesh(x=8)
    x, segments = setup.normal((256, 8), "x"), setup.integers(32, (256,), "x")
    return jax.jit(lambda x, s: jax.ops.segment_sum(x, s, 32)), (x, segments), 1


@program
def arg_max_along_split(setup):
    setup.mesh(x=8)
    x = setup.normal((16, 512), None, "x")
    return jax.jit(lambda x: (jnp.argmax(x, -1), jnp.argmin(x, -1), jnp.max(x, -1))), (x,), 1


@program
def top_k_along_split(setup):
    setup.mesh(x=8)
    return jax.jit(lambda x: lax.top_k(x, 4)), (setup.normal((16, 512), None, "x"),), 1


@program
def top_k_of_rows(setup):
    setup.mesh(x=8)
    return jax.jit(lambda x: lax.top_k(x, 4)), (setup.normal((16, 512), "x"),), 1


@program
def sort_along_split(setup):
    setup.mesh(x=8)
    return jax.jit(jnp.sort, out_shardings=setup.sharding("x")), (setup.normal((1024,), "x"),), 1


@program
def sort_and_median_of_columns(setup):
    setup.mesh(x=8)
    x = setup.normal((64, 32), None, "x")
    return jax.jit(lambda x: (jnp.sort(x, 0), jnp.median(x, 0))), (x,), 1


@program
def product_along_split(setup):
    setup.mesh(x=8)
    return jax.jit(lambda x: jnp.prod(1 + 0.01 * x, 0)), (setup.normal((256, 16), "x"),), 1


@program
def cumulative_sum_along_split(setup):
    setup.mesh(x=8)
    x = setup.normal((256, 32), "x")
    return jax.jit(lambda x: jnp.cumsum(x, 0), out_shardings=setup.sharding("x")), (x,), 1


def recurrence(a, b):
    return lax.associative_scan(lambda l, r: (l[0] * r[0], l[1] * r[0] + r[1]), (a, b), axis=0)


@program
def associative_scan_of_columns(setup):
    setup.mesh(x=8)
    a, b = setup.normal((32, 64), None, "x", scale=0.5), setup.normal((32, 64), None, "x")
    return jax.jit(recurrence), (a, b), 1


@program
def associative_scan_along_split(setup):
    setup.mesh(x=8)
    a, b = setup.normal((64, 8), "x", scale=0.5), setup.normal((64, 8), "x")
    return jax.jit(recurrence, out_shardings=(setup.sharding("x"),) * 2), (a, b), 1


# ---- Neighbours ----------------------------------------------------------------------------------

@program
def stencil_by_roll(setup):
    setup.mesh(x=8)

    def step(x, _):
        return 0.25 * sum(jnp.roll(x, s, d) for s in (1, -1) for d in (0, 1)), None

    f = lambda x: lax.scan(step, x, None, length=4)[0]  # noqa: E731
    return jax.jit(f), (setup.normal((128, 64), "x"),), 4


@program
def stencil_by_pad(setup):
    setup.mesh(x=4, y=2)

    def f(x):
        p = jnp.pad(x, 1)
        return x + 0.1 * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * x)

    spec = "x", "y"
    return jax.jit(f, out_shardings=setup.sharding(*spec)), (setup.normal((64, 64), *spec),), 1


@program
def differences_of_rows(setup):
    setup.mesh(x=8)
    x = setup.normal((256, 32), "x")
    return jax.jit(lambda x: jnp.mean((x[1:] - x[:-1]) ** 2)), (x,), 1


@program
def concatenation_along_split(setup):
    setup.mesh(x=8)
    a, b = setup.normal((64, 16), "x"), setup.normal((64, 16), "x")
    f = lambda a, b: jnp.concatenate([a, b])  # noqa: E731
    return jax.jit(f, out_shardings=setup.sharding("x")), (a, b), 1


@program
def reversed_and_padded(setup):
    setup.mesh(x=8)
    f = lambda x: (x[::-1], jnp.pad(x, ((8, 8), (0, 0))))  # noqa: E731
    x = setup.normal((64, 16), "x")
    return jax.jit(f, out_shardings=(setup.sharding("x"),) * 2), (x,), 1


# ---- Linear algebra, Fourier transforms ----------------------------------------------------------

@program
def fft_of_rows(setup):
    setup.mesh(x=8)
    x = setup.normal((64, 64), "x")
    return jax.jit(lambda x: jnp.abs(jnp.fft.fft(x, axis=1))), (x,), 1


@program
def fft_of_rows_then_columns(setup):
    setup.mesh(x=8)

    def f(x):
        y = lax.with_sharding_constraint(jnp.fft.fft(x, axis=1), setup.sharding(None, "x"))
        return jnp.abs(jnp.fft.fft(y, axis=0))

    return jax.jit(f), (setup.normal((64, 64), "x"),), 1


@program
def cholesky_of_each(setup):
    setup.mesh(x=8)
    a = setup.rng.normal(size=(16, 16, 16)).astype("f")
    a = setup.put(a @ a.transpose(0, 2, 1) + 16 * np.eye(16, dtype="f"), "x")
    b = setup.normal((16, 16, 4), "x")

    def f(a, b):
        factor = jnp.linalg.cholesky(a)
        return factor, jax.scipy.linalg.solve_triangular(factor, b, lower=True)

    return jax.jit(f), (a, b), 1


@program
def solve_each(setup):
    setup.mesh(x=8)
    a = setup.rng.normal(size=(16, 16, 16)).astype("f") + 8 * np.eye(16, dtype="f")
    return jax.jit(jnp.linalg.solve), (setup.put(a, "x"), setup.normal((16, 16, 4), "x")), 1


@program
def singular_values_of_each(setup):
    setup.mesh(x=8)
    f = lambda x: jnp.linalg.svd(x, compute_uv=False)  # noqa: E731
    return jax.jit(f), (setup.normal((16, 8, 8), "x"),), 1


@program
def product_over_split(setup):
    setup.mesh(x=8)
    a, b = setup.normal((64, 128), None, "x"), setup.normal((128, 32), "x")
    return jax.jit(jnp.matmul, out_shardings=setup.sharding("x")), (a, b), 1


@program
def product_of_blocks(setup):
    setup.mesh(x=4, y=2)
    a, b = setup.normal((64, 128), "x", "y"), setup.normal((128, 32), "x", "y")
    return jax.jit(jnp.matmul, out_shardings=setup.sharding("x", "y")), (a, b), 1


# ---- Resharding ----------------------------------------------------------------------------------

def reshard(setup, before, after):
    x = setup.normal((64, 64), *before)
    return jax.jit(lambda x: x * 2, out_shardings=setup.sharding(*after)), (x,), 1


@program
def rows_to_columns(setup):
    setup.mesh(x=8)
    return reshard(setup, ("x",), (None, "x"))


@program
def axes_exchanged(setup):
    setup.mesh(x=4, y=2)
    return reshard(setup, ("x", "y"), ("y", "x"))


@program
def axes_in_another_order(setup):
    setup.mesh(x=4, y=2)
    return reshard(setup, (("x", "y"),), (("y", "x"),))


@program
def one_axis_less(setup):
    setup.mesh(x=4, y=2)
    return reshard(setup, (("x", "y"),), ("x",))


@program
def one_axis_more(setup):
    setup.mesh(x=4, y=2)
    return reshard(setup, ("x",), (("x", "y"),))


# ---- Neighbours ----------------------------------------------------------------------------------

@program
def heat_equation(setup):
    """A stencil over a grid that is split both ways, with the ends padded."""
    setup.mesh(x=4, y=2)

    def step(u, _):
        p = jnp.pad(u, 1)
        laplacian = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * u
        return u + 0.1 * laplacian, None

    return jax.jit(lambda u: lax.scan(step, u, length=5)[0]), (setup.normal((32, 32), "x", "y"),), 5


@program
def dilated_convolutions(setup):
    """Along time, which is split; each looks further back."""
    setup.mesh(x=8)
    x = setup.normal((4, 128, 8), None, "x")
    kernels = [setup.normal((3, 8, 8), scale=0.2) for _ in range(2)]

    def f(x, kernels):
        for i, kernel in enumerate(kernels):
            reach = 2 * 2 ** i
            x = jax.nn.relu(lax.conv_general_dilated(
                x, kernel, (1,), [(reach, 0)], rhs_dilation=(2 ** i,),
                dimension_numbers=("NWC", "WIO", "NWC")))
        return jnp.sum(x * x)

    return jax.jit(jax.grad(f, 1)), (x, kernels), 1


@program
def moving_average(setup):
    setup.mesh(x=8)
    f = lambda x: lax.reduce_window(x, 0.0, lax.add, (5, 1), (1, 1), "SAME") / 5  # noqa: E731
    return jax.jit(f), (setup.normal((64, 16), "x"),), 1


@program
def first_half(setup):
    setup.mesh(x=8)
    return jax.jit(lambda x: jnp.tanh(x[:32]) * 2), (setup.normal((64, 16), "x"),), 1


@program
def last_row(setup):
    """As the logits of the last token are taken."""
    setup.mesh(x=8)
    f = lambda x, w: x[:, -1] @ w  # noqa: E731
    return jax.jit(f), (setup.normal((8, 64, 16), None, "x"), setup.normal((16, 32))), 1


@program
def pipeline_with_tensor_parallel_stages(setup):
    """One axis by hand, the other left to the compiler inside."""
    mesh = setup.mesh(x=4, y=2)
    x = setup.normal((16, 32))
    up = setup.normal((4, 32, 64), "x", None, "y", scale=0.2)
    down = setup.normal((4, 64, 32), "x", "y", scale=0.2)

    def stages(x, up, down):
        for _ in range(4):
            x = x + jax.nn.relu(x @ up[0]) @ down[0]
            x = lax.ppermute(x, "x", [(i, (i + 1) % 4) for i in range(4)])
        return x[None]

    f = shard_map(stages, mesh=mesh, in_specs=(P(), P("x"), P("x")), out_specs=P("x"),
                  axis_names={"x"}, check_vma=False)
    return jax.jit(f), (x, up, down), 1


# ---- Others --------------------------------------------------------------------------------------

@program
def uneven_rows(setup):
    setup.mesh(x=8)
    x, w = setup.normal((100, 32)), setup.normal((32, 32), scale=0.1)

    def f(x, w):
        x = lax.with_sharding_constraint(x, setup.sharding("x"))
        return jnp.sum(jnp.tanh(x @ w) ** 2, 1)

    return jax.jit(f), (x, w), 1


@program
def ring_of_devices(setup):
    mesh = setup.mesh(x=8)

    def f(x):
        total = x
        for _ in range(7):
            x = lax.ppermute(x, "x", [(i, (i + 1) % 8) for i in range(8)])
            total = total + x
        return total

    f = shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    return jax.jit(f), (setup.normal((64, 16), "x"),), 1


@program
def one_axis_by_hand(setup):
    mesh = setup.mesh(x=4, y=2)
    x, w = setup.normal((64, 32), "x", "y"), setup.normal((32, 64), "y", scale=0.1)
    f = lambda x, w: lax.psum(jnp.sum((x @ w) ** 2, 0), "x")  # noqa: E731
    f = shard_map(f, mesh=mesh, in_specs=(P("x"), P()), out_specs=P(), axis_names={"x"})
    return jax.jit(f), (x, w), 1


@program
def random_mask(setup):
    setup.mesh(x=8)
    f = lambda x, key: jnp.where(jax.random.bernoulli(key, 0.5, x.shape), x, 0)  # noqa: E731
    return jax.jit(f), (setup.normal((64, 32), "x"), np.array([0, 7], "u4")), 1


def distance(a, b):
    """The largest difference, measured by the largest number."""
    a, b = np.asarray(a, "complex128"), np.asarray(b, "complex128")
    return float(np.max(np.abs(a - b)) / (np.max(np.abs(a)) + 1e-6)) if a.size else 0.0


def run(name):
    """What program `name` gives on both platforms, and what they move."""
    results, row = {}, {"name": name}
    dumps = pathlib.Path(os.environ["ISTHMUS_DUMP"])
    for platform in ("cpu", "isthmus"):
        function, arguments, trips = PROGRAMS[name](Setup(jax.devices(platform)))
        before = set(dumps.iterdir())
        compiled = function.lower(*arguments).compile()
        results[platform] = jax.tree.leaves(jax.tree.map(np.asarray, compiled(*arguments)))
        if platform == "cpu":
            row["xla"] = collective_bytes.of_hlo(compiled.as_text(), trips)
        else:
            # The last stage of the program itself, which is the largest of what was compiled.
            texts = [(folder / "04-fuse.mlir").read_text() for folder in set(dumps.iterdir()) - before]
            row["isthmus"] = collective_bytes.of_mlir(max(texts, key=len), trips)
    row["distance"] = max(map(distance, results["cpu"], results["isthmus"]))
    return row


if __name__ == "__main__":
    short = [name for name in PROGRAMS if name not in ON_DEMAND]
    for one in PROGRAMS if sys.argv[1:] == ["--all"] else sys.argv[1:] or short:
        try:
            print(json.dumps(run(one)), flush=True)
        except Exception as error:  # one program's failure is not the others'
            print(json.dumps({"name": one, "error": str(error)[:2000]}), flush=True)
