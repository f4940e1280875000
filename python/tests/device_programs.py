"""Twenty programs of the kinds that users write, each on the first platform of JAX_PLATFORMS and on JAX's own CPU.

    python device_programs.py NAME

Prints what differs, if anything, and fails. A program returns what is compared; its arguments are made by NumPy.
"""

import functools
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

PROGRAMS = {}


def program(*shapes, tolerance=2e-4):
    """Registers a program of arguments of these shapes."""
    def register(function):
        PROGRAMS[function.__name__] = (function, shapes, tolerance)
        return function
    return register


def train(loss, weights, batch, optimizer, steps):
    """The losses and last weights of some steps, each a program by itself."""
    state = optimizer.init(weights)

    @jax.jit
    def step(weights, state, batch):
        value, gradient = jax.value_and_grad(loss)(weights, *batch)
        updates, state = optimizer.update(gradient, state, weights)
        return optax.apply_updates(weights, updates), state, value

    losses = []
    for _ in range(steps):
        weights, state, value = step(weights, state, batch)
        losses.append(value)
    return losses, weights


@program((32, 20), (20, 64), (64, 10))
def perceptron_by_adam(x, w0, w1):
    labels = jnp.arange(32) % 10

    def loss(weights, x):
        hidden = jax.nn.gelu(x @ weights[0] * 0.2)
        return optax.softmax_cross_entropy_with_integer_labels(hidden @ weights[1] * 0.1, labels).mean()
    # Adam's first steps divide gradients by themselves, whatever is left of small ones.
    return train(loss, (w0, w1), (x,), optax.adam(1e-2, eps=1e-3), 5)


@program((8, 16, 16, 3), (3, 3, 3, 8), (3, 3, 8, 16), (256, 10))
def convolutional_network(x, w0, w1, w2):
    def loss(weights, x):
        for w in weights[:2]:
            x = lax.conv_general_dilated(x, w * 0.2, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            x = (x - x.mean((0, 1, 2))) * lax.rsqrt(x.var((0, 1, 2)) + 1e-5)
            x = lax.reduce_window(jax.nn.relu(x), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        logits = x.reshape(8, -1) @ weights[2] * 0.1
        return optax.softmax_cross_entropy_with_integer_labels(logits, jnp.arange(8)).mean()
    return train(loss, (w0, w1, w2), (x,), optax.sgd(0.05, momentum=0.9), 3)


@program((2, 24, 32), (3, 32, 32), (32, 128), (128, 32), tolerance=5e-4)
def transformer_layer(x, qkv, up, down):
    def loss(weights, x):
        qkv, up, down = weights
        normal = jax.nn.standardize(x)
        q, k, v = jnp.einsum("bsd,nde->nbse", normal, qkv * 0.1).reshape(3, 2, 24, 4, 8)
        x = x + jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(2, 24, 32)
        x = x + jax.nn.gelu(jax.nn.standardize(x) @ up * 0.1) @ down * 0.1
        return (x ** 2).mean()
    return train(loss, (qkv, up, down), (x,), optax.sgd(0.1), 3)


@program((4, 10, 12), (12, 64), (16, 64))
def lstm(x, w, u):
    def loss(weights, x):
        def cell(carry, x):
            h, c = carry
            i, f, g, o = jnp.split(x @ weights[0] * 0.2 + h @ weights[1] * 0.2, 4, axis=-1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            return (jax.nn.sigmoid(o) * jnp.tanh(c), c), c
        (h, _), cells = lax.scan(cell, (jnp.zeros((4, 16)),) * 2, x.swapaxes(0, 1))
        return (h ** 2).sum() + cells.mean()
    return train(loss, (w, u), (x,), optax.sgd(0.1), 3)


@program((2, 8, 8, 4), (3, 3, 4, 4))
def diffusion_sampling(x, w):
    alphas = jnp.linspace(0.99, 0.9, 6)

    def denoise(carry, alpha):
        x, key = carry
        noise = jnp.tanh(lax.conv_general_dilated(x, w * 0.1, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
        key, drawn = jax.random.split(key)
        x = (x - (1 - alpha) * noise) / jnp.sqrt(alpha) + 0.1 * jax.random.normal(drawn, x.shape)
        return (x, key), x.std()
    return lax.scan(denoise, (x, jax.random.key(3)), alphas)[0][0], jax.jit(denoise)((x, jax.random.key(4)), 0.9)[1]


@program((4, 96))
def spectrum(x):
    window = jnp.hanning(32)
    frames = jnp.stack([x[:, i:i + 32] for i in range(0, 65, 16)], 1) * window
    power = jnp.abs(jnp.fft.rfft(frames)) ** 2
    return power, jnp.fft.irfft(jnp.fft.rfft(x) * jnp.exp(-jnp.arange(49) / 9.)), jnp.fft.fft2(x[:, :48])


@program((6, 50))
def sorts(x):
    order = jnp.lexsort((x[0], jnp.round(x[1])))
    return jnp.sort(x), jnp.argsort(-x, axis=0), lax.top_k(x, 5), order, jnp.median(x, 1), jnp.unique(
        jnp.round(x), size=8, fill_value=0), jnp.searchsorted(jnp.sort(x[0]), x[1])


@program((3,))
def random_numbers(x):
    keys = jax.random.split(jax.random.key(11), 6)
    return (jax.random.normal(keys[0], (40,)) * x[0], jax.random.uniform(keys[1], (40,)),
            jax.random.permutation(keys[2], 40), jax.random.categorical(keys[3], x, shape=(40,)),
            jax.random.gamma(keys[4], 2.5, (9,)), jax.random.bernoulli(keys[5], 0.3, (40,)))


@program((30, 4))
def graph_by_scatters(x):
    source, target = jnp.arange(90) % 30, jnp.arange(90) * 7 % 30
    for _ in range(3):
        messages = jnp.tanh(x[source] - x[target])
        x = x + jax.ops.segment_sum(messages, target, 30) / 3
        best = jax.ops.segment_max(messages, target, 30)
    return x, best, jnp.zeros(30).at[target].add(1.), jnp.zeros((30, 4)).at[target].mul(2.).at[3].set(1.)


@program((12, 12), (12, 3))
def linear_algebra(a, b):
    spd = a @ a.T + 12 * jnp.eye(12)
    factor = jax.scipy.linalg.cho_factor(spd)
    return (jnp.linalg.solve(spd, b), jax.scipy.linalg.cho_solve(factor, b), jnp.linalg.eigvalsh(spd),
            jnp.abs(jnp.linalg.qr(a)[1]), jnp.linalg.slogdet(spd), jnp.linalg.svd(a)[1], jax.scipy.linalg.expm(a * 0.1))


@program((40,))
def conjugate_gradients(b):
    def apply(x):
        return 3 * x - jnp.roll(x, 1) - jnp.roll(x, -1)
    return jax.scipy.sparse.linalg.cg(apply, b, tol=1e-5)[0]


@program((3,))
def newton_until_done(x):
    def step(state):
        x, count = state
        return x - (x ** 3 - 2) / (3 * x ** 2), count + 1
    return lax.while_loop(lambda state: (jnp.abs(state[0] ** 3 - 2) > 1e-4).any(), step, (jnp.abs(x) + 1, 0))


@program((5,), (5, 5))
def kalman_filter(z, a):
    transition, noise = jnp.eye(5) + 0.05 * a, 0.1 * jnp.eye(5)

    def step(carry, measured):
        mean, covariance = carry
        mean, covariance = transition @ mean, transition @ covariance @ transition.T + noise
        gain = jnp.linalg.solve(covariance + jnp.eye(5), covariance).T
        mean = mean + gain @ (measured - mean)
        return (mean, covariance - gain @ covariance), mean
    return lax.scan(step, (z, jnp.eye(5)), jnp.sin(jnp.arange(60.)).reshape(12, 5))


@program((7, 6), (6, 6))
def per_example_gradients(x, w):
    def loss(w, x):
        return jnp.tanh(x @ w).sum() + lax.cond(x[0] > 0, jnp.sin, jnp.cos, x[1])
    return (jax.vmap(jax.grad(loss), (None, 0))(w, x), jax.vmap(jax.hessian(loss, argnums=1), (None, 0))(w, x),
            jax.jvp(functools.partial(loss, w), (x[0],), (x[1],)))


@program((32, 16), (16, 4), (4, 16, 16))
def mixture_of_experts(x, router, experts):
    weights, chosen = lax.top_k(jax.nn.softmax(x @ router), 2)
    dispatch = jax.nn.one_hot(chosen, 4) * weights[..., None]
    order = jnp.argsort(chosen[:, 0], stable=True)
    ragged = lax.ragged_dot(x[order], experts, jnp.bincount(chosen[:, 0], length=4))
    return jnp.einsum("tke,td,edf->tf", dispatch, x, experts), ragged


@program((2, 3))
def differential_equation(x):
    def lorenz(state):
        x, y, z = state.T
        return jnp.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z], -1)

    def step(state, _):
        k1 = lorenz(state)
        k2 = lorenz(state + 0.005 * k1)
        k3 = lorenz(state + 0.005 * k2)
        k4 = lorenz(state + 0.01 * k3)
        state = state + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return state, state
    return lax.scan(step, x, None, length=25)


@program((16, 16))
def heat_and_life(x):
    def heat(_, u):
        return u + 0.1 * (sum(jnp.roll(u, s, a) for s in (1, -1) for a in (0, 1)) - 4 * u)

    def life(_, board):
        near = sum(jnp.roll(board, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - board
        return ((near == 3) | ((board == 1) & (near == 2))).astype(jnp.int32)
    return lax.fori_loop(0, 20, heat, x), lax.fori_loop(0, 9, life, (x > 0).astype(jnp.int32))


@program((64, 8))
def metropolis(data):
    def energy(x):
        return ((data - x) ** 2).mean() * 4

    def step(carry, key):
        x, value = carry
        propose, accept = jax.random.split(key)
        y = x + 0.1 * jax.random.normal(propose, x.shape)
        other = energy(y)
        taken = jnp.log(jax.random.uniform(accept)) < value - other
        return (jnp.where(taken, y, x), jnp.where(taken, other, value)), taken
    start = jnp.zeros(8)
    return lax.scan(step, (start, energy(start)), jax.random.split(jax.random.key(5), 30))


@program((1, 16), (50, 16), (16, 48))
def decoding_with_a_cache(start, table, qkv):
    def step(i, state):
        token, keys, values, out = state
        q, k, v = jnp.split(table[token] @ qkv * 0.3, 3)
        keys, values = keys.at[i].set(k), values.at[i].set(v)
        scores = jnp.where(jnp.arange(12) <= i, keys @ q, -jnp.inf)
        token = jnp.argmax(table @ (jax.nn.softmax(scores) @ values + start[0]))
        return token, keys, values, out.at[i].set(token)
    state = (jnp.int32(1), jnp.zeros((12, 16)), jnp.zeros((12, 16)), jnp.zeros(12, jnp.int32))
    return lax.fori_loop(0, 12, step, state)


@program((48, 32), (32, 40), tolerance=2e-2)
def narrow_types(x, w):
    scale = jnp.abs(w).max(0) / 127
    quantized = jnp.round(w / scale).astype(jnp.int8)
    whole = lax.dot((x * 20).astype(jnp.int8), quantized, preferred_element_type=jnp.int32)
    half = (x.astype(jnp.bfloat16) @ w.astype(jnp.bfloat16)).astype(jnp.float32)
    return whole, half * 1e-1, x.astype(jnp.float16) * 2, (x @ (quantized * scale)) * 1e-1


def run(name, platform):
    function, shapes, _ = PROGRAMS[name]
    random = np.random.default_rng(2)
    arguments = [random.standard_normal(shape).astype(np.float32) for shape in shapes]
    device = jax.devices(platform)[0]
    with jax.default_device(device), jax.default_matmul_precision("highest"):
        # Those that train have programs of their own.
        whole = function if "optax" in function.__code__.co_names else jax.jit(function)
        result = whole(*jax.device_put(arguments, device))
        for leaf in jax.tree.leaves(result):
            assert leaf.devices() == {device}, (leaf.devices(), device)
        return jax.device_get(jax.tree.leaves(result))


def main(name):
    ours, theirs = run(name, jax.default_backend()), run(name, "cpu")
    assert len(ours) == len(theirs) > 0
    for mine, other in zip(ours, theirs):
        assert mine.dtype == other.dtype and mine.shape == other.shape
        tolerance = PROGRAMS[name][2]
        np.testing.assert_allclose(mine.astype(np.complex128), other.astype(np.complex128),
                                   rtol=tolerance, atol=tolerance)


if __name__ == "__main__":
    main(sys.argv[1])
