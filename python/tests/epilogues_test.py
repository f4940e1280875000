"""Products with elementwise work on their elements in one kernel, beside NumPy in f64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest


def random(*shape, dtype=np.float32):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(dtype)


def close(found, wanted, dtype=np.float32):
    tolerance = {"float64": 1e-12, "float32": 2e-5}.get(np.dtype(dtype).name, 2e-2)
    wanted = np.asarray(wanted, np.float64)
    np.testing.assert_allclose(np.asarray(found, np.float64), wanted, rtol=tolerance,
                               atol=tolerance * max(1, np.abs(wanted).max()))


# Rows and columns that tiles and vectors do not divide, few of either, and blocks of the contracted dimension.
SIZES = [(64, 48, 32), (1, 300, 50), (130, 600, 700), (5, 257, 9), (37, 17, 1100), (300, 33, 64), (513, 270, 40)]


@pytest.mark.parametrize("m, n, k", SIZES)
def test_bias_and_activation(run, m, n, k):
    x, w, b = random(m, k), random(k, n) / np.float32(np.sqrt(k)), random(n)
    found = run(lambda x, w, b: jnp.tanh(x @ w + b), x, w, b)
    close(found, np.tanh(x.astype(np.float64) @ w + b))


@pytest.mark.parametrize("dtype", [jnp.bfloat16, np.float16, np.float64])
@pytest.mark.parametrize("m, n, k", SIZES)
def test_residual_of_other_types(run, m, n, k, dtype):
    with jax.enable_x64(dtype == np.float64):
        x, w, r = (random(*shape).astype(dtype) for shape in ((m, k), (k, n), (m, n)))
        found = run(lambda x, w, r: r + jax.nn.relu(x @ w), x, w, r)
        wide = [np.asarray(a, np.float64) for a in (x, w, r)]
        close(found, wide[2] + np.maximum(wide[0] @ wide[1], 0), dtype)


@pytest.mark.parametrize("m, n, k", SIZES)
def test_integers_are_scaled(run, m, n, k):
    random_ints = np.random.default_rng(m).integers
    x, w = (random_ints(-128, 128, shape).astype(np.int8) for shape in ((m, k), (k, n)))
    scale = np.abs(random(n)) + 0.1
    found = run(lambda x, w, s: jax.lax.dot(x, w, preferred_element_type=jnp.int32).astype(jnp.float32) * s,
                 x, w, scale)
    close(found, (x.astype(np.int64) @ w) * scale.astype(np.float64))


def test_several_results_and_rows_of_their_own(run):
    """The mask has no room for sums; the product is a result as well."""
    x, w, rows = random(70, 40), random(40, 90), random(70, 1)

    def layer(x, w, rows):
        product = x @ w
        moved = product * rows
        return moved > 0, jnp.maximum(moved, 0), product

    mask, positive, product = run(layer, x, w, rows)
    wide = x.astype(np.float64) @ w
    close(product, wide)
    close(positive, np.maximum(wide * rows, 0))
    np.testing.assert_array_equal(mask, np.asarray(positive) > 0)


def test_batches_and_reshapes(run):
    """Rows are batches and what is left of the operands; columns become heads."""
    x, w, b, r = random(3, 20, 24), random(3, 24, 64), random(4, 16), random(3, 20, 4, 16)
    found = run(lambda x, w, b, r: (jnp.einsum("bmk,bkn->bmn", x, w).reshape(3, 20, 4, 16) + b) * r, x, w, b, r)
    wide = np.einsum("bmk,bkn->bmn", x.astype(np.float64), w)
    close(found, (wide.reshape(3, 20, 4, 16) + b) * r)


def test_operands_that_are_read_twice(run, ours):
    """An operand of the product that the epilogue reads too keeps its memory until then."""
    x = random(96, 96)
    found = run(lambda x: x @ x + 2 * x, x)
    close(found, x.astype(np.float64) @ x + 2.0 * x)
    donated = jax.jit(lambda x, y: x @ y + x, donate_argnums=0)
    with jax.default_device(ours):
        found = donated(jnp.array(x), jnp.array(x))
    close(found, x.astype(np.float64) @ x + x)


def test_loops(run):
    """Kernels of loops that are called over and over."""
    x, w, b = random(8, 32), random(32, 32) / 8, random(32)

    def repeat(x, w, b):
        return jax.lax.fori_loop(0, 20, lambda _, h: jnp.tanh(h @ w + b), x)

    wanted = x.astype(np.float64)
    for _ in range(20):
        wanted = np.tanh(wanted @ w + b)
    close(run(repeat, x, w, b), wanted)


def test_gradient_of_a_layer(both):
    """The pre-activation is kept for the gradient."""
    x, w, b = random(64, 48), random(48, 80), random(80)

    def loss(w, b, x):
        return jnp.sum(jax.nn.gelu(x @ w + b, approximate=False) ** 2)

    found, wanted = both(jax.grad(loss, (0, 1)), w, b, x)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-3)


# Sums of a few rows or columns, of no vector, of one step, of some blocks of steps, and of more than stays in cache.
@pytest.mark.parametrize("batch, m, n", [(1, 64, 48), (5, 257, 9), (7, 3, 300), (300, 1, 70), (37, 70, 1), (64, 600, 700),
                                         (1100, 130, 600), (2, 1030, 520)])
def test_updates_of_donated_weights(ours, batch, m, n):
    """New weights and moments take the old ones' places while the product's sums are elsewhere."""
    x, g, w = random(batch, m), random(batch, n), random(m, n)
    mean, square = random(m + 1, n)[1:], np.abs(random(m, n + 1)[:, 1:])

    def step(state, x, g):
        w, mean, square = state
        grad = x.T @ g
        mean, square = 0.9 * mean + 0.1 * grad, 0.99 * square + 0.01 * grad * grad
        return w - 0.1 * mean / (np.sqrt(square) + 1 if isinstance(x, np.ndarray) else jnp.sqrt(square) + 1), mean, square

    wanted = step((w.astype(np.float64), mean, square), x.astype(np.float64), g.astype(np.float64))
    arguments = jax.device_put(((w, mean, square), x, g), ours)
    compiled = jax.jit(step, donate_argnums=0).lower(*arguments).compile()
    for found, want in zip(compiled(*arguments), wanted):
        close(found, want)
    if n > 16:  # else the product is a kernel by itself
        assert compiled.memory_analysis().temp_size_in_bytes < w.nbytes / 2


def test_weights_that_are_read_later_are_not_overwritten(ours):
    """The gradient of what comes before needs the old weights, after the update of these."""
    x, w = random(40, 96), random(96, 96)

    def step(w, x):
        grad = x.T @ jnp.tanh(x @ w)
        return w - 0.1 * grad, grad @ w.T + w.sum(0)

    y = np.tanh(x.astype(np.float64) @ w)
    grad = x.T.astype(np.float64) @ y
    new, other = jax.jit(step, donate_argnums=0)(*jax.device_put((w, x), ours))
    close(new, w - 0.1 * grad)
    close(other, grad @ w.T + w.sum(0, dtype=np.float64))


# Rows have a dimension of size 1 behind them, which is in front of them where the added part is computed.
def test_what_is_reshaped_around_rows(run):
    x, w, v = random(20, 1, 40), random(40, 30), random(1, 20, 30)

    def function(x, w, v):
        diagonal = jnp.arange(20)[:, None] == jnp.arange(30)
        return jnp.einsum("abk,kc->abc", x, w) + jnp.where(diagonal, v, 0).reshape(20, 1, 30)
    close(run(function, x, w, v), x.astype(np.float64) @ w + (v * np.eye(20, 30)).reshape(20, 1, 30))
