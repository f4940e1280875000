"""Workloads beyond the twelve: what users meet between them, by kind of kernel."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from workloads import values


def integers(*shape, high, dtype=np.int32):
    return np.random.default_rng(1).integers(0, high, size=shape).astype(dtype)


def attention(q, k, v):
    scores = jnp.einsum("bthd,bshd->bhts", q, k) / np.sqrt(q.shape[-1]).astype(q.dtype)
    return jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(scores, axis=-1), v)


def dense(x, w, b):
    return jax.nn.relu(x @ w + b)


def convolution(x, w, groups=1, strides=(1, 1)):
    return lax.conv_general_dilated(x, w, strides, "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"),
                                    feature_group_count=groups)


def conv_bias_relu(x, w, b):
    return jax.nn.relu(convolution(x, w) + b)


def conv_gradient(x, w, groups=1):
    return jax.grad(lambda x, w: jnp.sum(convolution(x, w, groups) ** 2), argnums=(0, 1))(x, w)


def conv3d(x, w):
    return lax.conv_general_dilated(x, w, (1, 1, 1), "SAME",
                                    dimension_numbers=("NDHWC", "DHWIO", "NDHWC"))


def max_pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def max_pool_gradient(x):
    return jax.grad(lambda x: jnp.sum(max_pool(x) ** 2))(x)


def average_pool(x):
    return lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 1, 1, 1), "SAME") / 9


def matmul_as(dtype, result=None):
    def product(a, b):
        return lax.dot(a.astype(dtype), b.astype(dtype), preferred_element_type=result)
    return product


def typed(dtype, *shape, scale=1.0):
    return jnp.asarray(values(*shape, scale=scale)).astype(dtype)


def stack_scan(x):
    """Each of many steps writes one row of a long result."""
    return lax.scan(lambda c, i: (c * 0.999, c + i), x, jnp.arange(10_000, dtype=jnp.float32))[1]


def while_norm(x):
    """A loop whose condition reads the data."""
    return lax.while_loop(lambda x: jnp.sum(x * x) > 1e-3, lambda x: x * 0.99, x)


def cross_entropy(logits, labels):
    def loss(logits):
        scores = jax.nn.log_softmax(logits)
        return -jnp.mean(jnp.take_along_axis(scores, labels[:, None], axis=1))
    return jax.grad(loss)(logits)


def mlp_step(params, x, y):
    def loss(params):
        h = x
        for w, b in params[:-1]:
            h = jax.nn.relu(h @ w + b)
        w, b = params[-1]
        return jnp.mean((h @ w + b - y) ** 2)
    value, grads = jax.value_and_grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 0.01 * g, params, grads), value


def mlp_arguments(width, batch):
    params = [(values(width, width, scale=0.1), values(width)) for _ in range(3)]
    return params, values(batch, width), values(batch, width)


def many_arguments(*arrays):
    return [array + 1 for array in arrays]


def random_normal(key):
    return jax.random.normal(jax.random.wrap_key_data(key, impl="threefry2x32"), (1 << 20,))


def segment_sum(x, ids):
    return jax.ops.segment_sum(x, ids, num_segments=1000)


def masked_softmax(x):
    return jax.nn.softmax(jnp.where(jnp.tril(jnp.ones(x.shape[1:], bool)), x, -1e9))


def lorenz(x):
    """Many small systems of differential equations, as vmap makes them."""
    def step(s, _):
        x, y, z = s
        return s + 0.01 * jnp.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z]), None
    return jax.vmap(lambda s: lax.scan(step, s, None, length=200)[0])(x)


def collatz(n):
    def steps(n):
        step = lambda c: (jnp.where(c[0] % 2 == 0, c[0] // 2, 3 * c[0] + 1), c[1] + 1)
        return lax.while_loop(lambda c: c[0] > 1, step, (n, 0))[1]
    return jax.vmap(steps)(n)


def nearest(x):
    return jnp.argmin(jnp.sum((x[:, None] - x[:100]) ** 2, -1), 1)


def contractions():
    i8 = lambda *shape: integers(*shape, high=100, dtype=np.int8)  # noqa: E731
    return {
        "matvec 2048x2048": (lambda a, x: a @ x, (values(2048, 2048), values(2048))),
        "vecmat 2048x2048": (lambda x, a: x @ a, (values(2048), values(2048, 2048))),
        "matmul 128x128x128": (lambda a, b: a @ b, (values(128, 128), values(128, 128))),
        "matmul 16x16x16": (lambda a, b: a @ b, (values(16, 16), values(16, 16))),
        "matmul f64 256": lambda: (lambda a, b: a @ b, (values(256, 256), values(256, 256))),
        "matmul bf16 512": (matmul_as(jnp.bfloat16), (typed(jnp.bfloat16, 512, 512),) * 2),
        "matmul f16 512": (matmul_as(jnp.float16), (typed(jnp.float16, 512, 512),) * 2),
        "matmul i8 512": (matmul_as(jnp.int8, jnp.int32), (i8(512, 512), i8(512, 512))),
        "matmul transposed 512": (lambda a, b: a.T @ b.T, (values(512, 512), values(512, 512))),
        "batched dot 64x64x64x64": (lambda a, b: jnp.einsum("bij,bjk->bik", a, b),
                                    (values(64, 64, 64), values(64, 64, 64))),
        "attention 4x128x8x64": (attention, (values(4, 128, 8, 64),) * 3),
        "dense+relu 256x512x512": (dense, (values(256, 512), values(512, 512), values(512))),
        "dense+relu 32x256x256": (dense, (values(32, 256), values(256, 256), values(256))),
        "mlp step 64x256": (mlp_step, mlp_arguments(256, 64)),
        "mlp step 8x32": (mlp_step, mlp_arguments(32, 8)),
    }


def convolutions():
    return {
        "conv 3x3 Ci=1": (convolution, (values(32, 28, 28, 1), values(3, 3, 1, 32))),
        "conv+bias+relu": (conv_bias_relu,
                           (values(8, 28, 28, 64), values(3, 3, 64, 64, scale=.05), values(64))),
        "conv 1x1": (convolution, (values(8, 28, 28, 128), values(1, 1, 128, 128, scale=.05))),
        "conv stride 2": (functools.partial(convolution, strides=(2, 2)),
                          (values(8, 56, 56, 32), values(3, 3, 32, 64, scale=.05))),
        "conv gradient": (conv_gradient, (values(8, 28, 28, 32), values(3, 3, 32, 32, scale=.05))),
        "conv depthwise": (functools.partial(convolution, groups=64),
                           (values(8, 28, 28, 64), values(3, 3, 1, 64))),
        "depthwise gradient": (functools.partial(conv_gradient, groups=64),
                               (values(8, 28, 28, 64), values(3, 3, 1, 64))),
        "conv grouped 8": (functools.partial(convolution, groups=8),
                           (values(8, 28, 28, 64), values(3, 3, 8, 64))),
        "grouped gradient": (functools.partial(conv_gradient, groups=8),
                             (values(8, 28, 28, 64), values(3, 3, 8, 64))),
        "conv3d": (conv3d, (values(2, 16, 16, 16, 16), values(3, 3, 3, 16, 16, scale=.1))),
        "max pool": (max_pool, (values(8, 56, 56, 64),)),
        "max pool gradient": (max_pool_gradient, (values(8, 56, 56, 64),)),
        "average pool": (average_pool, (values(8, 56, 56, 64),)),
    }


def reductions():
    return {
        "sum all 4096x1024": (jnp.sum, (values(4096, 1024),)),
        "max all 1M": (jnp.max, (values(1 << 20),)),
        "norm 1M": (lambda x: jnp.sqrt(jnp.sum(x * x)), (values(1 << 20),)),
        "mean variance columns": (lambda x: (x.mean(0), x.var(0)), (values(8192, 256),)),
        "sum middle 64x512x64": (lambda x: x.sum(1), (values(64, 512, 64),)),
        "softmax 256x512": (lambda x: jax.nn.softmax(x), (values(256, 512),)),
        "softmax 8x10": (lambda x: jax.nn.softmax(x), (values(8, 10),)),
        "logsumexp 4096x257": (lambda x: jax.nn.logsumexp(x, axis=1), (values(4096, 257),)),
        "cross entropy gradient": (cross_entropy, (values(512, 1000), integers(512, high=1000))),
        "argmax rows 2048x1024": (lambda x: jnp.argmax(x, axis=1), (values(2048, 1024),)),
        "argmax all 1M": (jnp.argmax, (values(1 << 20),)),
        "cumsum rows 2048x1024": (lambda x: jnp.cumsum(x, axis=1), (values(2048, 1024),)),
        "cumsum columns 2048x1024": (lambda x: jnp.cumsum(x, axis=0), (values(2048, 1024),)),
        "cumlogsumexp 256x1024": (lambda x: lax.cumlogsumexp(x, axis=1), (values(256, 1024),)),
    }


def short_rows():
    """Short rows: points, colours, classes."""
    return {
        "softmax 100k of 10": (lambda x: jax.nn.softmax(x), (values(100_000, 10),)),
        "logsumexp 100k of 8": (lambda x: jax.nn.logsumexp(x, 1), (values(100_000, 8),)),
        "norm 100k of 3": (lambda x: jnp.linalg.norm(x, axis=1), (values(100_000, 3),)),
        "cross products 100k": (lambda x: jnp.cross(x, x[::-1]), (values(100_000, 3),)),
        "stack 3 columns of 100k": (lambda a, b, c: jnp.stack([a, b, c], -1),
                                    (values(100_000),) * 3),
        "rotate 100k points": (lambda m, x: jnp.einsum("ij,nj->ni", m, x),
                               (values(3, 3), values(100_000, 3))),
        "20k products 4x4": (lambda a: a @ a, (values(20_000, 4, 4),)),
        "grey of 512x512 rgb": (lambda x: x @ jnp.array([0.3, 0.6, 0.1]), (values(512, 512, 3),)),
        "nearest of 100, 3-d": (nearest, (values(5000, 3),)),
        "masked softmax 8x256x256": (masked_softmax, (values(8, 256, 256),)),
    }


def sorting():
    return {
        "sort 1M f32": (jnp.sort, (values(1 << 20),)),
        "sort rows 1000x1000": (lambda x: jnp.sort(x, axis=1), (values(1000, 1000),)),
        "argsort 256k f32": (jnp.argsort, (values(1 << 18),)),
        "sort 1M i32": (jnp.sort, (integers(1 << 20, high=1 << 30),)),
        "top_k 64 of 1M": (lambda x: lax.top_k(x, 64), (values(1 << 20),)),
        "top_k 5 of 512x1000": (lambda x: lax.top_k(x, 5), (values(512, 1000),)),
    }


def moves():
    return {
        "transpose 256x256x64 (1,0,2)": (lambda x: jnp.transpose(x, (1, 0, 2)),
                                         (values(256, 256, 64),)),
        "transpose 64x128x128 (0,2,1)": (lambda x: jnp.transpose(x, (0, 2, 1)),
                                         (values(64, 128, 128),)),
        "concatenate 1M+1M": (lambda a, b: jnp.concatenate([a, b]), (values(1 << 20),) * 2),
        "pad 1000x1000": (lambda x: jnp.pad(x, 3), (values(1000, 1000),)),
        "reverse 1M": (lambda x: x[::-1], (values(1 << 20),)),
        "gather rows 100k of 128": (lambda t, i: t[i], (values(10_000, 128),
                                                        integers(100_000, high=10_000))),
        "gather scalars 1M": (lambda t, i: t[i], (values(100_000), integers(1 << 20, high=100_000))),
        "scatter-add 1M to 1000": (segment_sum, (values(1 << 20), integers(1 << 20, high=1000))),
        "scatter-add rows 100k": (segment_sum, (values(100_000, 128), integers(100_000, high=1000))),
        "embedding gradient": (lambda t, i: jax.grad(lambda t: jnp.sum(t[i] ** 2))(t),
                               (values(1000, 64), integers(4096, high=1000))),
        "one-hot 8192x1000": (lambda i: jax.nn.one_hot(i, 1000), (integers(8192, high=1000),)),
    }


def elementwise():
    return {
        "x * 2 + 1, 16M": (lambda x: x * 2 + 1, (values(1 << 24),)),
        "gelu 1M": (jax.nn.gelu, (values(1 << 20),)),
        "sin cos 1M": (lambda x: jnp.sin(x) + jnp.cos(x), (values(1 << 20),)),
        "log1p erf pow 1M": (lambda x: jnp.log1p(x * x) + lax.erf(x) + jnp.abs(x) ** 1.5,
                             (values(1 << 20),)),
        "bf16 chain 1M": (lambda x: jnp.tanh(x) * x + 1, (typed(jnp.bfloat16, 1 << 20),)),
        "integer division 1M": (lambda x: x // 7 + x % 13, (integers(1 << 20, high=1 << 30),)),
        "where clip 1M": (lambda x: jnp.where(x > 0, jnp.clip(x, 0.1, 0.9), -x), (values(1 << 20),)),
        "x * 2, 10007": (lambda x: x * 2, (values(10_007),)),
    }


def random_and_transforms():
    return {
        "threefry normal 1M": (random_normal, (np.array([0, 42], np.uint32),)),
        "fft 1024x1024": (lambda x: jnp.fft.fft(x), (values(1024, 1024).astype(np.complex64),)),
        "rfft2 512x512": (lambda x: jnp.fft.rfft2(x), (values(512, 512),)),
    }


def loops():
    return {
        "scan stacks 10000 rows": (stack_scan, (values(64),)),
        "while with a norm": (while_norm, (values(1000),)),
        "lorenz 1000 x 200 steps": (lorenz, (values(1000, 3),)),
        "collatz of 1000": (collatz, (np.arange(1, 1001, dtype=np.int32),)),
        "associative scan 100k": (lambda x: lax.associative_scan(jnp.add, x), (values(100_000),)),
        "associative scan 1024x256": (lambda x: lax.associative_scan(jnp.add, x),
                                      (values(1024, 256),)),
    }


def dispatch():
    return {
        "dispatch 100 arguments": (many_arguments, tuple(values(4) for _ in range(100))),
        "dispatch (8,8) product": (lambda a, b: a @ b, (values(8, 8), values(8, 8))),
    }


def workloads():
    """Returns {name: (function, arguments)}, or a function that makes the pair."""
    groups = (contractions, convolutions, reductions, short_rows, sorting, moves, elementwise,
              random_and_transforms, loops, dispatch)
    return {name: made for group in groups for name, made in group().items()}
