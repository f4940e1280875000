"""What the other lists lack: loops with tiny bodies, narrow and skinny products, norms' gradients, bytes, moves."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from more_workloads import integers, typed
from workloads import values


def gradient(function, arguments=0):
    def loss(*operands):
        return jnp.sum(jnp.sin(function(*operands)))
    return jax.grad(loss, arguments)


def layer_norm(x, gain, bias):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5) * gain + bias


def grouped_attention(q, k, v):
    """Several queries for each key, as language models have them."""
    b, t, n, d = q.shape
    q = q.reshape(b, t, k.shape[2], -1, d)
    scores = jnp.einsum("btkgd,bskd->bkgts", q, k) * d ** -0.5
    mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e9))
    return jnp.einsum("bkgts,bskd->btkgd", weights, v).reshape(b, t, n, d)


def rotations(angles):
    def step(v, t):
        v = jnp.array([[jnp.cos(t), -jnp.sin(t)], [jnp.sin(t), jnp.cos(t)]]) @ v
        return v, v
    return lax.scan(step, jnp.ones(2), angles)[1]


def kalman(f, h, seen):
    def step(state, z):
        x, p = f @ state[0], f @ state[1] @ f.T + jnp.eye(4)
        s = h @ p @ h.T + jnp.eye(2)
        gain = jnp.linalg.solve(s, h @ p).T
        x = x + gain @ (z - h @ x)
        return (x, p - gain @ h @ p), x
    return lax.scan(step, (jnp.zeros(4), jnp.eye(4)), seen)[1]


def branching(x):
    def step(c, x):
        return lax.cond(x > 0, lambda c: (c + x, c), lambda c: (c * 0.5, c), c)
    return lax.scan(step, 0.0, x)[1]


def metropolis(key, x):
    def log_density(x):
        return -0.5 * jnp.sum(x * x, -1)

    def step(state, key):
        x, density = state
        move, accept = jax.random.split(key)
        y = x + 0.3 * jax.random.normal(move, x.shape)
        new = log_density(y)
        taken = jnp.log(jax.random.uniform(accept, new.shape)) < new - density
        x = jnp.where(taken[:, None], y, x)
        return (x, jnp.where(taken, new, density)), x.mean()
    keys = jax.random.split(jax.random.wrap_key_data(key, impl="threefry2x32"), 100)
    return lax.scan(step, (x, log_density(x)), keys)[1]


def cached_attention(q, k, v, new_k, new_v, at):
    k = lax.dynamic_update_slice(k, new_k, (0, at, 0, 0))
    v = lax.dynamic_update_slice(v, new_v, (0, at, 0, 0))
    scores = jnp.where(jnp.arange(k.shape[1]) <= at, jnp.einsum("bhd,bshd->bhs", q, k) / 8, -1e9)
    return jnp.einsum("bhs,bshd->bhd", jax.nn.softmax(scores), v), k, v


def graph_convolution(h, source, target, w):
    return jax.ops.segment_sum(jax.nn.relu(h[source] @ w), target, len(h))


def overlaps(a, b):
    low, high = jnp.maximum(a[:, None, :2], b[None, :, :2]), jnp.minimum(a[:, None, 2:], b[None, :, 2:])
    inside = jnp.prod(jnp.maximum(high - low, 0), -1)

    def area(x):
        return (x[:, 2] - x[:, 0]) * (x[:, 3] - x[:, 1])
    return inside / (area(a)[:, None] + area(b) - inside)


# These compute with f64.
X64 = {"narrow product f64"}


def lattice_boltzmann(populations):
    """Nine velocities on a torus: each population is relaxed, then moves by its velocity."""
    velocities = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
    weights = [4 / 9] + [1 / 9] * 4 + [1 / 36] * 4

    def step(_, f):
        density = f.sum(0)
        ux, uy = (sum(v[d] * f[i] for i, v in enumerate(velocities)) / density for d in (0, 1))
        moved = []
        for i, (vx, vy) in enumerate(velocities):
            along = 3 * (vx * ux + vy * uy)
            equilibrium = weights[i] * density * (1 + along + along * along / 2 - 1.5 * (ux * ux + uy * uy))
            moved.append(jnp.roll(f[i] - 0.6 * (f[i] - equilibrium), (vx, vy), (0, 1)))
        return jnp.stack(moved)
    return lax.fori_loop(0, 20, step, populations)


def workloads():
    """Returns {name: (function, arguments)}, or a function that makes the pair."""
    f32 = np.float32
    image = integers(16, 224, 224, 3, high=255).astype(np.uint8)
    return {
        # Loops with tiny bodies.
        "scan of 10k multiply-adds": (lambda x: lax.scan(lambda c, x: (c * 0.9 + x, c), 0.0, x)[1], (values(10_000),)),
        "scan of 2000 rotations": (rotations, (values(2000),)),
        "scan with a branch": (branching, (values(5000),)),
        "scan of 500 matvecs": (lambda w, x: lax.scan(lambda h, x: (jnp.tanh(w @ h + x), None), jnp.zeros(64), x)[0],
                                (values(64, 64, scale=.1), values(500, 64))),
        "loop updates an array": (lambda x: lax.fori_loop(0, 1000, lambda i, x: x.at[i].set(x[i - 1] * .5 + 1), x),
                                  (values(1000),)),
        "loop updates slices by others": (lambda x: lax.fori_loop(1, 1000, lambda i, x: lax.dynamic_update_slice(
            x, lax.dynamic_slice(x, (i * 64 - 64,), (64,)) * .5 + 1, (i * 64,)), x), (values(1 << 20),)),
        "loop updates slices by themselves": (lambda x: lax.fori_loop(0, 1000, lambda i, x: lax.dynamic_update_slice(
            x, lax.dynamic_slice(x, (i * 64,), (64,)) * .5 + 1, (i * 64,)), x), (values(1 << 20),)),
        "kalman 4 x 200": (kalman, (np.eye(4, dtype=f32) * f32(0.9), values(2, 4), values(200, 2))),
        "metropolis 64 x 100": (metropolis, (np.array([0, 1], np.uint32), values(64, 8))),
        # Products.
        "narrow product 4096x4096x32": (jnp.matmul, (values(4096, 4096), values(4096, 32))),
        "narrow product 512x512x32": (jnp.matmul, (values(512, 512), values(512, 32))),
        "narrow product f64": (jnp.matmul, (values(2048, 2048).astype(np.float64), values(2048, 16).astype(np.float64))),
        "few rows 32x2048x2048": (jnp.matmul, (values(32, 2048), values(2048, 2048))),
        "1000 matvecs of 32x32": (lambda a, x: jnp.einsum("bij,bj->bi", a, x), (values(1000, 32, 32), values(1000, 32))),
        "cached attention 4x1024": (cached_attention, (values(4, 8, 64), values(4, 1024, 8, 64), values(4, 1024, 8, 64),
                                                       values(4, 1, 8, 64), values(4, 1, 8, 64), np.int32(700))),
        "grouped attention": (grouped_attention, (values(2, 512, 8, 64), values(2, 512, 2, 64), values(2, 512, 2, 64))),
        "grouped attention gradient": (gradient(grouped_attention, (0, 1, 2)), (values(2, 512, 8, 64), values(2, 512, 2, 64),
                                                                                values(2, 512, 2, 64))),
        "grouped attention of jax.nn": (functools.partial(jax.nn.dot_product_attention, is_causal=True),
                                        (values(2, 512, 8, 64), values(2, 512, 2, 64), values(2, 512, 2, 64))),
        "grouped attention without mask": (jax.nn.dot_product_attention,
                                           (values(2, 512, 8, 64), values(2, 512, 2, 64), values(2, 512, 2, 64))),
        "one query of grouped heads bf16": (jax.nn.dot_product_attention,
                                            (typed(jnp.bfloat16, 2, 1, 32, 128), typed(jnp.bfloat16, 2, 1024, 8, 128),
                                             typed(jnp.bfloat16, 2, 1024, 8, 128))),
        "one query bf16": (jax.nn.dot_product_attention, (typed(jnp.bfloat16, 2, 1, 16, 128), typed(jnp.bfloat16, 2, 1024, 16, 128),
                                                          typed(jnp.bfloat16, 2, 1024, 16, 128))),
        "int8 weights 16x1024": (lambda x, w, s: x @ (w.astype(jnp.float32) * s),
                                 (values(16, 1024), values(1024, 1024, scale=50).astype(np.int8), values(1024))),
        "bf16 vector by 2048x2048": (jnp.matmul, (typed(jnp.bfloat16, 1, 2048), typed(jnp.bfloat16, 2048, 2048))),
        "complex matvec 512": (jnp.matmul, (values(512, 512) + 1j * values(512, 512), values(512) + 1j)),
        "integer matvec 1000": (jnp.matmul, (integers(1000, 1000, high=100), integers(1000, high=100))),
        "bool matvec 1000": (jnp.matmul, (values(1000, 1000) > 0, values(1000) > 0)),
        "dot of 300k integers": (jnp.dot, (integers(300_000, high=100),) * 2),
        "tall 1024x1024x3": (jnp.matmul, (values(1024, 1024), values(1024, 3))),
        "complex matrix by 4 vectors": (jnp.matmul, (values(1000, 1000) + 1j * values(1000, 1000), values(1000, 4) + 1j)),
        "bool product 512": (jnp.matmul, (values(512, 512) > 0, values(512, 512) > 0)),
        "1000 products of 8x8 shorts": (jnp.matmul, (integers(1000, 8, 8, high=100).astype(np.int16),) * 2),
        "gate on a qubit of 18": (lambda g, s: jnp.einsum("ij,ajb->aib", g, s),
                                  (values(2, 2) + 1j * values(2, 2), values(256, 2, 512) + 1j)),
        # Norms and losses.
        "layer norm gradient": (gradient(layer_norm, (0, 1, 2)), (values(2048, 768), values(768), values(768))),
        "layer norm bf16": (layer_norm, (typed(jnp.bfloat16, 2048, 768), typed(jnp.bfloat16, 768), typed(jnp.bfloat16, 768))),
        "softmax gradient": (gradient(lambda x: jax.nn.softmax(x)), (values(1024, 1000),)),
        "softmax of middle axis": (lambda x: jax.nn.softmax(x, 1), (values(64, 100, 64),)),
        # Rows of no whole number of vectors.
        "sum 20k rows of 50": (lambda x: x.sum(1), (values(20_000, 50),)),
        "max 40k rows of 25": (lambda x: x.max(1), (values(40_000, 25),)),
        "max 1000 rows of 1000": (lambda x: x.max(1), (values(1000, 1000),)),
        "softmax 60k rows of 17": (jax.nn.softmax, (values(60_000, 17),)),
        "softmax 40k rows of 25": (jax.nn.softmax, (values(40_000, 25),)),
        "softmax 20k rows of 50": (jax.nn.softmax, (values(20_000, 50),)),
        "softmax 10k rows of 100": (jax.nn.softmax, (values(10_000, 100),)),
        "softmax bf16 10k rows of 100": (jax.nn.softmax, (typed(jnp.bfloat16, 10_000, 100),)),
        "huber gradient 1M": (gradient(lambda x: jnp.where(jnp.abs(x) < 1, .5 * x * x, jnp.abs(x) - .5)), (values(1 << 20),)),
        # Bytes, moves, graphs.
        "images to channels first": (lambda x: x.transpose(0, 3, 1, 2), (image,)),
        "rows of three transposed": (lambda x: x.T + 0, (values(500_000, 3),)),
        "transpose 1024x1024": (lambda x: x.T + 0, (values(1024, 1024),)),
        "transpose of bytes 1000x1000": (lambda x: x.T + 0, (integers(1000, 1000, high=100).astype(np.int8),)),
        "f32 to integers 1M": (lambda x: (x * 100).astype(jnp.int32), (values(1 << 20),)),
        "uint32 to bf16 1M": (lambda x: x.astype(jnp.bfloat16), (integers(1 << 20, high=1 << 30).astype(np.uint32),)),
        "sum of 4096 rows of 1024 bf16": (lambda x: x.sum(0), (typed(jnp.bfloat16, 4096, 1024),)),
        "lattice Boltzmann 64x128": (lattice_boltzmann, (np.abs(values(9, 64, 128)) + 1,)),
        "stacked functions 4x512x512": (lambda x: jnp.stack([jnp.exp(x), jnp.sin(x), jnp.tanh(x), x]), (values(512, 512),)),
        "images blurred 5x5": (jax.vmap(functools.partial(jax.scipy.signal.convolve2d, mode="same"), (0, None)),
                               (values(8, 128, 128), values(5, 5))),
        "signal filtered by 101": (functools.partial(jnp.convolve, mode="same"), (values(100_000), values(101))),
        "colours blurred 11x11": (lambda x, k: lax.conv_general_dilated(
            x, jnp.broadcast_to(k[:, :, None, None], (11, 11, 1, 3)), (1, 1), "VALID", feature_group_count=3,
            dimension_numbers=("NHWC", "HWIO", "NHWC")), (values(8, 128, 128, 3), values(11, 11))),
        "300 rows stacked again": (lambda x: jnp.stack([x[i] for i in range(300)]), (values(300, 1000),)),
        "300 columns stacked": (lambda x: jnp.stack([x[:, i] for i in range(300)]), (values(300, 1000),)),
        "images to f32": (lambda x: (x.astype(jnp.float32) / 255 - .5) / .2, (image,)),
        "pack bits 1M": (jnp.packbits, (values(1 << 20) > 0,)),
        "20 reshapes and transposes": (lambda x: lax.fori_loop(0, 20, lambda _, x: x.reshape(64, 32, 64).transpose(1, 0, 2)
                                                               .reshape(-1), x), (values(64 * 32 * 64),)),
        "segment sum 200k rows of 16": (lambda x, i: jax.ops.segment_sum(x, i, 1000),
                                        (values(200_000, 16), integers(200_000, high=1000))),
        "graph convolution": (graph_convolution, (values(5000, 64), integers(50_000, high=5000),
                                                  integers(50_000, high=5000)[::-1].copy(), values(64, 64))),
        "box overlaps 1000x500": (overlaps, (np.abs(values(1000, 4)), np.abs(values(500, 4)))),
        "300 arguments summed": (lambda a: sum(x.sum() for x in a), ([values(16) for _ in range(300)],)),
    }
