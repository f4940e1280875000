"""Attention by groups of work-items, by each OpenCL driver that is installed: scores are never stored."""

import textwrap

import pytest
import required

required.module("isthmus.xpu_backend")

from opencl_drivers import COMPARE  # noqa: E402

ATTENTION = """
    def attention(q, k, v, mask=None, bias=None, masked=-1e30):
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(q.shape[-1]).astype(q.dtype)
        scores = scores if bias is None else scores + bias
        scores = scores if mask is None else jnp.where(mask, scores, masked)
        return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)
    def operands(b, t, s, h, d, e=None, dtype=np.float32):
        return tuple(array(*shape).astype(dtype) for shape in ((b, t, h, d), (b, s, h, d), (b, s, h, e or d)))
"""

# What is compared, and how many kernels that are attention.
CASES = {
    # Rows, keys and features that tiles do not divide, few batches and many, features of one block or of a long row.
    "sizes": ("""
        for sizes in ((2, 128, 256, 4, 64), (1, 515, 260, 2, 24), (1, 70, 1100, 1, 33), (9, 130, 266, 3, 16), (4, 128, 128, 6, 32),
                      (1, 130, 515, 2, 128), (1, 257, 300, 1, 192), (1, 256, 256, 1, 48, 20), (3, 300, 257, 1, 7, 96)):
            compare(attention, *operands(*sizes))
    """, 9),
    "masks": ("""
        q, k, v = operands(2, 260, 260, 4, 32)
        causal = jnp.tril(jnp.ones((260, 260), bool))
        mask, bias = array(2, 1, 260, 260) > 0, array(1, 4, 260, 260)
        compare(lambda q, k, v: attention(q, k, v, causal), q, k, v)
        compare(lambda q, k, v: attention(q, k, v, jnp.arange(260)[:, None] >= jnp.arange(260), masked=-jnp.inf), q, k, v)
        compare(attention, q, k, v, mask, bias)
        # The first blocks of a row have nothing but infinities, the first rows nothing at all.
        late = jnp.arange(260)[:, None] + jnp.arange(260) > 400
        compare(lambda q, k, v: attention(q, k, v, late, masked=-jnp.inf), q, k, v)
        compare(lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=True), q, k, v)
        lengths = np.array([200, 3], np.int32)
        compare(lambda q, k, v, n: jax.nn.dot_product_attention(q, k, v, key_value_seq_lengths=n), q, k, v, lengths)
    """, 6),
    # Logits that a running maximum that is never lowered would lose, or let overflow.
    "large logits": ("""
        q, k, v = operands(1, 256, 512, 1, 32)
        rising = (jnp.arange(512) * 0.5).reshape(1, 1, 1, 512)
        compare(lambda q, k, v: attention(q, k, v, bias=rising), q, k, v)
        compare(lambda q, k, v: attention(q, k, v, bias=-rising), q, k, v)
        compare(lambda q, k, v: attention(q * 50, k, v), q, k, v, tolerance=2e-4)
        compare(attention, q, np.where(np.arange(512).reshape(1, 512, 1, 1) == 100, np.nan, k).astype(np.float32), v)
    """, 4),
    "types": ("""
        for dtype in (jnp.bfloat16, jnp.float16):
            q, k, v = operands(2, 260, 260, 4, 32, dtype=dtype)
            compare(attention, q, k, v, tolerance=3e-2)
            if dtype == jnp.bfloat16:  # JAX's CPU client refuses f16
                compare(jax.nn.dot_product_attention, q, k, v, tolerance=3e-2)
        q, k, v = operands(2, 260, 260, 4, 32)
        compare(lambda q, k, v: jax.nn.dot_product_attention(q, k, v).astype(jnp.bfloat16), q, k, v, tolerance=2e-2)
    """, 4),
    "layouts": ("""
        q, k, v = (array(2, 4, 260, 32) for _ in range(3))
        compare(lambda q, k, v: jax.nn.softmax(q @ jnp.swapaxes(k, -1, -2) / np.sqrt(32), axis=-1) @ v, q, k, v)
        compare(lambda q, k, v: jnp.einsum("bhqk,bhkd->dbqh", jax.nn.softmax(jnp.einsum("bhqd,bhkd->bhqk", q, k)), v), q, k, v)
        compare(lambda q, k, v: jax.nn.softmax(jnp.einsum("dq,dk->qk", q, k)) @ v, array(40, 300), array(40, 270), array(270, 50))
        # Weights that are dropped are linear in what the row sums to.
        keep = random.random((1, 4, 260, 260)) < 0.9
        def dropout(q, k, v, keep):
            weights = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k))
            return jnp.einsum("bhqk,bkhd->bqhd", jnp.where(keep, weights / 0.9, 0), v)
        compare(dropout, *operands(2, 260, 260, 4, 32), keep)
    """, 4),
    # A kernel between the products that wants whole rows is one of its own; short rows, few rows.
    "others": ("""
        q, k, v = array(300, 40), array(400, 40), array(400, 70)
        def squared(q, k, v):
            weights = jax.nn.relu(q @ k.T) ** 2
            return (weights / (1 + jnp.sum(weights, axis=1, keepdims=True))) @ v
        compare(squared, q, k, v, tolerance=1e-4)
        compare(lambda q, k, v: jnp.tanh(jax.nn.log_softmax(q @ k.T)) @ v, q, k, v, tolerance=1e-3)
        compare(attention, *operands(40, 8, 512, 8, 16))
        compare(attention, *operands(40, 128, 32, 8, 16))
    """, 0),
    # Transposes of the scores, as vmap makes them of groups of queries, are none of the kernel's.
    "groups of heads": ("""
        compare(jax.nn.dot_product_attention, array(2, 260, 8, 32), array(2, 260, 2, 32), array(2, 260, 2, 32))
        compare(jax.nn.dot_product_attention, *(array(1, 300, h, 32).astype(jnp.bfloat16) for h in (8, 2, 2)), tolerance=3e-2)
    """, 2),
}


def after_definitions(program):
    return COMPARE + ATTENTION + textwrap.indent(textwrap.dedent(program), "    ")


@pytest.mark.parametrize("case", CASES)
def test_agrees_with_cpu(xpu, case):
    program, kernels = CASES[case]
    log = xpu(after_definitions(program), ISTHMUS_OPENCL_KERNELS="groups", ISTHMUS_LOG="compile").stderr
    assert log.count("; attention results=0 ") == kernels, log


def test_a_matrix_instruction_multiplies_what_it_can(xpu):
    """Its products store scores; those of f32 are of the kernel's threads."""
    log = xpu(after_definitions("""
        compare(attention, *operands(1, 260, 260, 2, 32))
        compare(attention, *operands(1, 260, 260, 2, 32, dtype=jnp.bfloat16), tolerance=3e-2)
    """), ISTHMUS_OPENCL_KERNELS="emulated-matrices", ISTHMUS_LOG="compile").stderr
    # A driver that takes no SPIR-V has no such instruction.
    assert log.count("; attention results=0 ") == (1 if "form=matrices" in log else 2), log


def test_cpus_store_scores(xpu):
    """Their products and kernels of rows are those of a CPU, which is faster there."""
    for form in ("", "elements"):
        log = xpu(after_definitions("compare(attention, *operands(1, 256, 256, 2, 32))"),
                  ISTHMUS_OPENCL_KERNELS=form, ISTHMUS_LOG="compile").stderr
        assert "; attention results=0 " not in log


def test_memory_is_not_that_of_scores(xpu):
    """128 MB of scores."""
    xpu(after_definitions("""
        q = jax.ShapeDtypeStruct((2, 2048, 4, 64), np.float32)
        assert jax.jit(attention).lower(q, q, q).compile().memory_analysis().temp_size_in_bytes < 1 << 20
    """), ISTHMUS_OPENCL_KERNELS="groups")
