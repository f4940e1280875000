"""Attention and its gradient, whose scores are never stored, beside NumPy in f64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest


@pytest.fixture(autouse=True)
def generator():
    """Of every test anew; arrays of one shape differ, or queries that are their own keys would make rows of one weight."""
    global generator_of_test
    generator_of_test = np.random.default_rng(0)


def random(*shape, dtype=np.float32):
    return generator_of_test.normal(size=shape).astype(dtype)


def by_einsum(q, k, v, mask=None, bias=None):
    """As it is written by hand."""
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(q.shape[-1]).astype(q.dtype)
    scores = scores if bias is None else scores + bias
    scores = scores if mask is None else jnp.where(mask, scores, -1e30)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)


FORMS = [by_einsum, jax.nn.dot_product_attention]


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention(q, k, v, mask=None, bias=0, scale=None):
    """Of arrays [batch, position, head, feature]; heads of keys are shared by groups of queries' heads."""
    q, k, v = (np.asarray(x, np.float64) for x in (q, k, v))
    k, v = (np.repeat(x, q.shape[2] // x.shape[2], axis=2) for x in (k, v))
    scores = np.einsum("bqhd,bkhd->bhqk", q, k) * (scale or 1 / np.sqrt(q.shape[-1])) + bias
    if mask is not None:
        scores = np.where(mask, scores, -1e30)
    return np.einsum("bhqk,bkhd->bqhd", softmax(scores), v)


def close(found, wanted, tolerance=2e-5):
    np.testing.assert_allclose(np.asarray(found, np.float64), wanted, rtol=tolerance, atol=tolerance)


# Few and short rows: of one query, of fewer than blocks have, of several batch items at a time, in place and packed.
SHORT = [(2, 16, 16, 4, 32), (3, 7, 5, 2, 16), (4, 1, 300, 2, 64), (1, 3, 77, 3, 24), (9, 50, 50, 3, 32), (33, 18, 40, 1, 8), (2, 100, 31, 2, 5)]


# Rows, keys and features that tiles do not divide, more keys than a block of them, few batches and many.
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("b, t, s, h, d", [(2, 128, 256, 4, 64), (1, 515, 260, 2, 24), (1, 70, 1100, 1, 33), (9, 130, 266, 3, 16), (4, 128, 128, 6, 32), *SHORT])
def test_softmax(run, form, b, t, s, h, d):
    q, k, v = random(b, t, h, d), random(b, s, h, d), random(b, s, h, d)
    close(run(form, q, k, v), attention(q, k, v))


@pytest.mark.parametrize("form", FORMS)
def test_masks(run, form):
    """Causal, boolean, and a bias; what a mask leaves nothing of is finite."""
    q, k, v = (random(2, 260, 4, 32) for _ in range(3))
    causal = np.tril(np.ones((260, 260), bool))
    close(run(lambda *a: form(*a, mask=jnp.tril(jnp.ones((1, 1, 260, 260), bool))), q, k, v), attention(q, k, v, causal))
    mask = random(2, 1, 260, 260) > 0
    bias = random(1, 4, 260, 260)
    found = run(lambda q, k, v, m, b: form(q, k, v, mask=m, bias=b), q, k, v, mask, bias)
    close(found, attention(q, k, v, mask, bias))


@pytest.mark.parametrize("t", [1, 3, 260])
def test_groups_of_heads(run, t):
    q, k, v = random(2, t, 8, 32), random(2, 260, 2, 32), random(2, 260, 2, 32)
    close(run(jax.nn.dot_product_attention, q, k, v), attention(q, k, v))


@pytest.mark.parametrize("dtype, tolerance", [(jnp.bfloat16, 3e-2), (np.float32, 2e-5)])
@pytest.mark.parametrize("form", FORMS)
def test_types(run, form, dtype, tolerance):
    q, k, v = (random(2, 260, 4, 32).astype(dtype) for _ in range(3))
    close(run(form, q, k, v), attention(q, k, v), tolerance)


# As when a text is continued: keys and values are read where they lie.
@pytest.mark.parametrize("b, t, s, h, d", [(1, 1, 2048, 4, 128), (2, 2, 333, 3, 72), (1, 3, 100, 2, 40), (3, 4, 64, 1, 33), (2, 1, 3, 2, 16)])
@pytest.mark.parametrize("form", FORMS)
def test_few_queries_in_bf16(run, form, b, t, s, h, d):
    q, k, v = (random(*shape).astype(jnp.bfloat16) for shape in ((b, t, h, d), (b, s, h, d), (b, s, h, d)))
    close(run(form, q, k, v), attention(q, k, v), 3e-2)
    # Features of keys far apart.
    turned = jnp.asarray(k.transpose(0, 2, 3, 1))
    close(run(lambda q, k, v: form(q, k.transpose(0, 3, 1, 2), v), q, turned, v), attention(q, k, v), 3e-2)


def test_rows_that_are_no_softmax(run):
    """The kernel between the products may be any that works on rows."""
    q, k, v = random(300, 40), random(400, 40), random(400, 70)

    def squared(q, k, v):
        weights = jax.nn.relu(q @ k.T) ** 2
        return (weights / (1 + jnp.sum(weights, axis=1, keepdims=True))) @ v

    weights = np.maximum(q.astype(np.float64) @ k.T, 0) ** 2
    close(run(squared, q, k, v), weights / (1 + weights.sum(1, keepdims=True)) @ v)


def test_transposed_layouts(run):
    """Heads first, as PyTorch has them, and einsum's orders."""
    q, k, v = (random(2, 4, 260, 32) for _ in range(3))

    def heads_first(q, k, v):
        return jax.nn.softmax(q @ jnp.swapaxes(k, -1, -2) / np.sqrt(32), axis=-1) @ v

    swapped = [np.swapaxes(x, 1, 2) for x in (q, k, v)]
    close(run(heads_first, q, k, v), np.swapaxes(attention(*swapped), 1, 2))
    found = run(lambda q, k, v: jnp.einsum("bhqk,bhkd->dbqh", jax.nn.softmax(jnp.einsum("bhqd,bhkd->bhqk", q, k)), v),
                q, k, v)
    close(found, np.einsum("bqhd->dbqh", attention(*swapped, scale=1)))


@pytest.mark.parametrize("form", FORMS)
def test_memory_is_not_that_of_scores(ours, form):
    """128 MB of scores, and what is asked of memory is far less."""
    q = jax.ShapeDtypeStruct((2, 2048, 4, 64), np.float32)
    with jax.default_device(ours):
        compiled = jax.jit(form).lower(q, q, q).compile()
    assert compiled.memory_analysis().temp_size_in_bytes < 8 << 20


# One query, few, as many as keys, and more keys than the product of the weights would make batches of groups for.
@pytest.mark.parametrize("t, s, d", [(1, 2048, 128), (2, 2048, 128), (128, 128, 64), (512, 512, 64), (128, 2048, 128)])
@pytest.mark.parametrize("dtype", [jnp.bfloat16, np.float32])
def test_groups_of_heads_store_no_scores(ours, t, s, d, dtype):
    q, k = jax.ShapeDtypeStruct((1, t, 32, d), dtype), jax.ShapeDtypeStruct((1, s, 8, d), dtype)
    with jax.default_device(ours):
        compiled = jax.jit(jax.nn.dot_product_attention).lower(q, k, k).compile()
    assert compiled.memory_analysis().temp_size_in_bytes < t * 32 * s


@pytest.mark.parametrize("is_causal", [False, True])
def test_gradient_of_groups_of_heads_stores_no_scores(ours, is_causal):
    """16 MB of them, and of what keys and values get from each head 4."""
    q, k = jax.ShapeDtypeStruct((1, 512, 16, 64), np.float32), jax.ShapeDtypeStruct((1, 512, 4, 64), np.float32)
    with jax.default_device(ours):
        compiled = jax.jit(gradient(lambda *a: jax.nn.dot_product_attention(*a, is_causal=is_causal))).lower(q, k, k, q).compile()
    assert compiled.memory_analysis().temp_size_in_bytes < 14 << 20


@pytest.mark.parametrize("dtype", [jnp.bfloat16, np.float32, np.float64])
@pytest.mark.parametrize("b, t, s, h, d", [shape for shape in SHORT if shape[2] >= 16])
def test_short_scores_are_not_stored(ours, b, t, s, h, d, dtype):
    """But of rows that no vector fits in, several of which are computed side by side."""
    q, k = (jax.ShapeDtypeStruct((b, n, h, d), dtype) for n in (t, s))
    with jax.enable_x64(dtype is np.float64), jax.default_device(ours):
        # The result is as the product gives it.
        compiled = jax.jit(lambda q, k, v: jnp.einsum("bhqk,bkhd->bhqd", jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k)), v)).lower(q, k, k).compile()
    assert compiled.memory_analysis().temp_size_in_bytes == 0


@pytest.mark.parametrize("form", FORMS)
def test_projections(run, form):
    """Views of products with nothing between them and attention were once taken into its kernel, which was then none."""
    x, y, w = random(6, 12, 32), random(6, 12, 4, 8), random(32, 32) / 8

    def project(x):
        return form((x.reshape(72, 32) @ w).reshape(6, 12, 4, 8), y, y[::-1])

    q = (x.reshape(72, 32).astype(np.float64) @ w).reshape(6, 12, 4, 8)
    close(run(project, x), attention(q, y, y[::-1]), 1e-4)
    found = run(jax.grad(lambda x, w: jnp.sum((project(x).reshape(72, 32) @ w) ** 2)), x, w)
    mixed = attention(q, y, y[::-1]).reshape(72, 32)
    into = (2 * (mixed @ w) @ w.T).reshape(6, 12, 4, 8)
    wanted = gradients(q, y, y[::-1], into)[0].reshape(72, 32) @ w.T
    scale = np.abs(wanted).max()
    close(found / scale, wanted.reshape(x.shape) / scale, 1e-4)


def test_short_rows_of_several_types(run):
    """With masks and a bias; rows of a block that belong to two batch items and heads."""
    q, k, v = (random(3, 21, 2, 16) for _ in range(3))
    causal, bias = np.tril(np.ones((21, 21), bool)), random(1, 2, 21, 21)
    for dtype, tolerance in [(jnp.bfloat16, 3e-2), (np.float16, 3e-3), (np.float32, 2e-5), (np.float64, 1e-12)]:
        with jax.enable_x64(dtype is np.float64):
            of_type = [x.astype(dtype) for x in (q, k, v, bias)]
            found = run(lambda q, k, v, b: by_einsum(q, k, v, mask=causal[None, None], bias=b), *of_type)
            close(found, attention(*of_type[:3], causal, np.asarray(of_type[3], np.float64)), tolerance)


def gradients(q, k, v, g, mask=None, bias=0):
    """Of sum(g * attention(q, k, v)), all of them [batch, position, head, feature]."""
    q, k, v, g = (np.asarray(x, np.float64) for x in (q, k, v, g))
    group = q.shape[2] // k.shape[2]
    keys, values = (np.repeat(x, group, axis=2) for x in (k, v))
    scale = 1 / np.sqrt(q.shape[-1])
    scores = np.einsum("bqhd,bkhd->bhqk", q, keys) * scale + bias
    weights = softmax(scores if mask is None else np.where(mask, scores, -1e30))
    of_weights = np.einsum("bqhd,bkhd->bhqk", g, values)
    of_scores = weights * (of_weights - (of_weights * weights).sum(-1, keepdims=True)) * scale
    dk, dv = np.einsum("bhqk,bqhd->bkhd", of_scores, q), np.einsum("bhqk,bqhd->bkhd", weights, g)
    dk, dv = (x.reshape(*x.shape[:2], -1, group, x.shape[-1]).sum(3) for x in (dk, dv))
    return np.einsum("bhqk,bkhd->bqhd", of_scores, keys), dk, dv


def gradient(form, **arguments):
    return lambda q, k, v, g: jax.grad(lambda *a: jnp.sum((form(*a, **arguments) * g).astype(jnp.float32)), (0, 1, 2))(q, k, v)


def all_close(found, wanted, tolerance=2e-5):
    for one, other in zip(found, wanted, strict=True):
        close(one, other, tolerance)


# All of as many scores as are not stored: rows and keys that tiles do not divide, one batch item in parts, more keys than a block of them.
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("b, t, s, h, d", [(9, 256, 256, 4, 64), (1, 1500, 1410, 1, 24), (1, 1000, 2100, 1, 33), (9, 260, 300, 3, 16), (129, 64, 260, 1, 8), *SHORT])
def test_gradients(run, form, b, t, s, h, d):
    q, k, v, g = random(b, t, h, d), random(b, s, h, d), random(b, s, h, d)[::-1, ::-1], random(b, t, h, d)[:, ::-1] + 1
    all_close(run(gradient(form), q, k, v, g), gradients(q, k, v, g))


@pytest.mark.parametrize("form", FORMS)
def test_gradients_with_masks(run, form):
    q, k, v, g = (np.roll(random(8, 260, 4, 32), 7 * i) for i in range(4))
    causal = np.tril(np.ones((260, 260), bool))
    bias = random(1, 4, 260, 260)
    all_close(run(gradient(form, mask=causal[None, None], bias=bias), q, k, v, g), gradients(q, k, v, g, causal, bias), 1e-4)


def test_gradients_in_bf16(run):
    q, k, v, g = (np.roll(random(8, 260, 4, 32), 7 * i).astype(jnp.bfloat16) for i in range(4))
    all_close(run(gradient(jax.nn.dot_product_attention), q, k, v, g), gradients(q, k, v, g), 6e-2)


def test_gradient_of_groups_of_heads(run):
    q, k, v, g = random(4, 260, 8, 32), random(4, 260, 2, 32), random(4, 260, 2, 32)[::-1], random(4, 260, 8, 32)[:, ::-1]
    all_close(run(gradient(jax.nn.dot_product_attention), q, k, v, g), gradients(q, k, v, g))


@pytest.mark.parametrize("argument", range(3))
def test_one_gradient_of_three(run, argument):
    q, k, v, g = (np.roll(random(1, 1030, 2, 16), 7 * i) for i in range(4))
    found = run(jax.grad(lambda *a: jnp.sum(by_einsum(*a[:3]) * a[3]), argument), q, k, v, g)
    close(found, gradients(q, k, v, g)[argument])


def test_gradient_through_two_layers(run):
    """The first one's gradients are made of the second one's, through kernels between them."""
    q, k, v, g = (np.roll(random(1, 1030, 2, 16), 7 * i) for i in range(4))

    def twice(q, k, v):
        return by_einsum(jnp.sin(by_einsum(q, k, v)), k, v)

    inner = attention(q, k, v)
    of_middle, dk, dv = gradients(np.sin(inner), k, v, g)
    wanted = gradients(q, k, v, of_middle * np.cos(inner))
    all_close(run(gradient(twice), q, k, v, g), (wanted[0], wanted[1] + dk, wanted[2] + dv))


@pytest.mark.parametrize("form", FORMS)
def test_memory_of_gradients_is_not_that_of_scores(ours, form):
    """128 MB of scores, and as much of weights and of gradients of both."""
    q = jax.ShapeDtypeStruct((2, 2048, 4, 64), np.float32)
    with jax.default_device(ours):
        known = jax.jit(gradient(form)).lower(q, q, q, q).compile()
        nonlinear = jax.jit(gradient(lambda *a: jnp.sin(form(*a)))).lower(q, q, q, q).compile()
    assert known.memory_analysis().temp_size_in_bytes < 40 << 20
    assert nonlinear.memory_analysis().temp_size_in_bytes < 40 << 20


@pytest.mark.parametrize("b, t, h", [(2, 256, 4), (4, 64, 8), (4, 128, 8)])
def test_short_gradients_store_no_scores_of_their_own(ours, b, t, h):
    """What the forward pass made of its scores, twice, and not the gradients of both."""
    q = jax.ShapeDtypeStruct((b, t, h, 32), np.float32)
    with jax.default_device(ours):
        compiled = jax.jit(gradient(lambda *a: jnp.sin(by_einsum(*a)))).lower(q, q, q, q).compile()
    assert compiled.memory_analysis().temp_size_in_bytes <= 4 * b * t * h * (2 * t + 2 * 32) + 4096


def test_short_gradients_of_few_rows_store_no_scores(ours):
    q, k = (jax.ShapeDtypeStruct((2, n, 4, 32), np.float32) for n in (8, 300))
    with jax.default_device(ours):
        compiled = jax.jit(gradient(lambda *a: jnp.sin(by_einsum(*a)))).lower(q, k, k, q).compile()
    assert compiled.memory_analysis().temp_size_in_bytes < 4 * 2 * 4 * 8 * 300


@pytest.mark.parametrize("rows, columns", [(20000, 64), (20001, 61), (4001, 300), (9000, 200), (501, 64)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_a_product_that_are_only_reduced_are_not_stored(ours, rows, columns, dtype):
    """Bilinear forms, log-sums of exponentials, largest elements and their places, sums of batches."""
    rng = np.random.default_rng(rows)
    x, w, y = (rng.normal(size=shape).astype(dtype) for shape in [(rows, 48), (48, columns), (rows, columns)])
    wide = x.astype(np.float64) @ w.astype(np.float64)
    shifted = wide - wide.max(-1, keepdims=True)
    forms = [(lambda x, w, y: jnp.sum(x @ w * y, -1), (wide * y).sum(-1)),
             (lambda x, w, y: jax.nn.logsumexp(x @ w, -1), wide.max(-1) + np.log(np.exp(shifted).sum(-1))),
             (lambda x, w, y: jnp.max(x @ w, -1), wide.max(-1)),
             (lambda x, w, y: jnp.argmax(x @ w, -1), wide.argmax(-1)),
             (lambda x, w, y: jnp.sum(jnp.einsum("bri,ij->brj", x.reshape(-1, 2 - rows % 2, 48), w) ** 2, -1).ravel(),
              (wide ** 2).sum(-1))]
    with jax.enable_x64(dtype is np.float64), jax.default_device(ours):
        for form, wanted in forms:
            compiled = jax.jit(form).lower(x, w, y).compile()
            tolerance = 1e-4 if dtype is np.float32 else 1e-11
            np.testing.assert_allclose(compiled(x, w, y), wanted, rtol=tolerance, atol=tolerance * np.abs(wanted).max())
            assert compiled.memory_analysis().temp_size_in_bytes < rows * columns * x.itemsize / 4
