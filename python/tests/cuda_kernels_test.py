"""Kernels of platform cuda beside JAX's CPU client: the fake driver interprets their PTX. With ISTHMUS_TEST_CUDA=all
(./dev test --set cuda) all programs that other devices are tested with, and the conformance kit."""

import os
import subprocess
import textwrap

import pytest
import required

required.module("isthmus.cuda_backend")
required.module("isthmus.xpu_backend")

import xpu_attention_test as attention  # noqa: E402
import xpu_kernels_test as kernels  # noqa: E402
import xpu_products_test as products  # noqa: E402
from carried_loops import CARRIED  # noqa: E402
from comparing import comparing  # noqa: E402
from cuda_test import FAKE_DRIVER, LIBRARY, PREFIX, cuda  # noqa: E402, F401
from xpu_test import PROGRAMS  # noqa: E402

COMPARE = comparing("cuda")
TAKES_ALL = os.environ.get("ISTHMUS_TEST_CUDA") == "all"
# Of one program: more than pytest gives a test by itself, and than a busy machine takes.
SECONDS = 1800
# Two generations of GPUs, before JAX makes its client.
OLDER = textwrap.indent("""
import ctypes, os
ctypes.CDLL(os.environ["ISTHMUS_CUDA_LIBRARY"]).fake_cuda_reset(1, 80, ctypes.c_uint64(1 << 30))
""", "    ")


def on_demand(test):
    """What `./dev test --set cuda` runs alone."""
    skips = pytest.mark.skipif(not TAKES_ALL, reason="takes minutes: ./dev test --set cuda")
    return pytest.mark.timeout(SECONDS + 60)(skips(test))


# One program or two of each kind of kernel.
EVERYDAY = """
    compare(lambda x: (jnp.tanh(x) * 2 + 1, x > 0, jnp.sin(x * 1e6), x.astype(jnp.bfloat16)), array(99, 101))
    compare(lambda x: (x.sum(1), x.max(0), jax.nn.softmax(x), x.T * 2, jnp.argmax(x, 1)), array(70, 515))
    compare(lambda x: lax.reduce((x, x * x), (np.float32(3), np.float32(4)), lambda a, b: (a[0] + b[0], jnp.maximum(a[1], b[1])), (1,)),
            array(9, 300), tolerance=1e-5)
    # In parts, those of the last dimensions first.
    compare(lambda x: (jnp.argmax(x), x.sum((0, 1, 2)), (x * x).mean((0, 1, 2))), array(32, 20, 20, 24), tolerance=1e-3)
    compare(lambda x: (jnp.sort(x), jnp.argsort(x)), random.integers(0, 50, 1025).astype(np.int32), tolerance=0)
    compare(lambda x: (lax.cumsum(x, 0), lax.cummax(x, 0, reverse=True)), random.integers(-9, 9, 5000).astype(np.float32), tolerance=0)
    compare(lambda i: jnp.zeros(7).at[i].add(1).at[i % 3].max(2), random.integers(0, 7, 300))
    compare(lambda i: jnp.zeros(7, jnp.int8).at[i].add(1), random.integers(0, 7, 100))
    compare(lambda x: jnp.fft.fft(x), array(3, 30), tolerance=2e-4)
    compare(lambda x: lax.while_loop(lambda c: c.sum() < 99, lambda c: c * 2 + 1, jnp.abs(x)), array(17), tolerance=1e-4)
    compare(lambda x: (x + jax.random.normal(jax.random.key(0), x.shape), jax.random.bits(jax.random.key(1, impl="rbg"), (9,))), array(50))
    compare(lambda x: lax.cond(x[0] > 0, jnp.cos, jnp.exp, x), array(9))
    for dtype in (jnp.bfloat16, jnp.float16):
        compare(lambda x, y: jnp.dot(x, y, preferred_element_type=jnp.float32), array(70, 96).astype(dtype), array(96, 130).astype(dtype),
                tolerance=1e-4)
    i, j = random.integers(-9, 9, (67, 130)).astype(np.int8), random.integers(-9, 9, (130, 70)).astype(np.int8)
    compare(lambda i, j, s: lax.dot(i, j, preferred_element_type=jnp.int32) * s, i, j, array(70), tolerance=1e-6)
    compare(lambda x, w, b: jnp.tanh(x @ w + b), array(70, 65), array(65, 48), array(48), tolerance=1e-5)
    compare(lambda x, w: jnp.tanh(w @ x), array(1000), array(130, 1000) / 64, tolerance=1e-4)
    compare(lambda x, w: lax.conv(x, w, (1, 1), "SAME"), array(2, 20, 9, 9), array(33, 20, 3, 3), tolerance=1e-4)
"""

# Around the borders of what a thread sorts, of a group's tile, and of pairs of tiles; equal keys, NaN and -0; keys of all widths,
# several keys and values, rows along other dimensions, and the first of sorted rows.
SORTS = """
    for n in (1, 2, 7, 255, 1000, 1023, 1024, 1025, 2049, 4097, 10_000):
        x = random.integers(0, max(2, n // 3), n).astype(np.float32)
        x[::17], x[::13] = np.nan, -0.0
        compare(lambda x: (jnp.sort(x), jnp.argsort(x), jnp.argsort(x, descending=True)), x, tolerance=0)
    for dtype in (np.int8, np.uint16, jnp.bfloat16, np.float16, np.bool_):
        compare(lambda x: jnp.sort(x).astype(np.float32), (random.standard_normal(3000) * 50).astype(dtype), tolerance=0)
    x = random.standard_normal((5, 3000, 3)).astype(np.float32)
    compare(lambda x: (jnp.sort(x, 1), jnp.sort(x, 0), jnp.sort(x + 1j * x[::-1], 1)), x, tolerance=0)
    compare(lambda x, i: lax.sort((x, i, x * 2), num_keys=2), x.reshape(-1).round(1), random.integers(0, 9, x.size), tolerance=0)
"""

# Selections: rows of every alignment, in one part and in several, with more of them than a group has threads and fewer; equal
# elements, NaN of both signs and -0; all widths; large elements that lie as a thread's share does; and k beyond what groups select.
SELECTIONS = """
    def top(k):
        return lambda x: lax.top_k(x, k)
    for shape, k in (((3, 9000), 1), ((3, 9000), 8), ((2, 9001), 100), ((40, 100), 5), ((7, 3), 3), ((200_000,), 256), ((2, 70_000), 257),
                     ((70_001,), 64), ((1, 260), 256), ((2, 0, 9), 2)):
        compare(top(k), random.integers(0, 99, shape).astype(np.float32), tolerance=0)
    x = random.standard_normal((3, 5000)).astype(np.float32)
    x[0, ::17], x[0, ::13], x[1, ::1000], x[2] = np.nan, -0.0, -np.float32("nan"), -np.inf
    compare(lambda x: [lax.bitcast_convert_type(y, np.int32) for y in lax.top_k(x, 40)], x, tolerance=0)
    x = np.arange(20_000, dtype=np.float32) % 1024
    compare(top(30), x, tolerance=0)
    compare(top(30), -x, tolerance=0)
    for dtype in (np.int8, np.uint8, np.uint16, np.int32, np.uint32, jnp.bfloat16, np.float16):
        compare(lambda x: [y.astype(np.float32) for y in lax.top_k(x, 9)], (random.standard_normal((2, 5000)) * 50).astype(dtype),
                tolerance=0)
"""

# Against NumPy in double precision: lines that a group has in its memory, several or one, as many as fill its groups and one more;
# sizes with factors of every kind, too long for a group, and prime; dimensions that are not the last, two of them, and halves.
TRANSFORMS = """
    def check(ours, exact, *shape, isReal=False):
        x = random.standard_normal(shape) + (0 if isReal else 1j * random.standard_normal(shape))
        x = x.astype(np.float32 if isReal else np.complex64)
        got, want = np.asarray(jax.jit(ours)(x)), exact(x.astype(np.float64 if isReal else np.complex128))
        error = np.linalg.norm(got - want) / np.linalg.norm(want)
        assert got.shape == want.shape and error < 5e-7, (ours, shape, error)
    for n in (1, 2, 7, 12, 16, 17, 27, 32, 64, 121, 169, 210, 257, 1000, 1024, 2048, 2187, 3600, 4096):
        check(jnp.fft.fft, np.fft.fft, 3, n)
    for lines, n in ((257, 16), (1057, 64), (2200, 30), (1, 8192), (2, 10000)):
        check(jnp.fft.ifft, np.fft.ifft, lines, n)
    check(lambda x: jnp.fft.fft(x, axis=1), lambda x: np.fft.fft(x, axis=1), 1, 30, 1057)
    # As many lines as a group's memory has room for, of numbers of 16 bytes.
    with jax.enable_x64(True):
        x = random.standard_normal((8448, 256)) + 0j
        np.testing.assert_allclose(jax.jit(jnp.fft.fft)(x)[::99], np.fft.fft(x[::99]), rtol=0, atol=1e-12)
    for shape in ((5, 64, 3), (2, 1024, 9), (1, 48, 70), (3, 4096, 2)):
        check(lambda x: jnp.fft.fft(x, axis=1), lambda x: np.fft.fft(x, axis=1), *shape)
        check(lambda x: jnp.fft.ifft2(x, axes=(0, 1)), lambda x: np.fft.ifft2(x, axes=(0, 1)), *shape)
    for n in (2, 30, 64, 255, 1024, 6000):
        check(jnp.fft.rfft, np.fft.rfft, 5, n, isReal=True)
        check(lambda x: jnp.fft.irfft(x, n), lambda x: np.fft.irfft(x, n), 5, n // 2 + 1)
    check(jnp.fft.rfft2, np.fft.rfft2, 3, 40, 48, isReal=True)
    check(lambda x: jnp.fft.irfft2(x, (40, 48)), lambda x: np.fft.irfft2(x, (40, 48)), 3, 40, 25)
"""

EVERYDAY_ATTENTION = attention.ATTENTION + """
    compare(attention, *operands(1, 130, 260, 2, 33))
    compare(attention, *operands(1, 130, 260, 2, 32, dtype=jnp.bfloat16), tolerance=3e-2)
"""


@pytest.mark.parametrize("before", ["", OLDER], ids=["sm_90", "sm_80"])
def test_kernels_agree_with_cpu(cuda, before):  # noqa: F811
    cuda(before + COMPARE + EVERYDAY, JAX_PLATFORMS="cuda,cpu")


def test_exponentials_are_within_two_ulp(cuda):  # noqa: F811
    cuda(COMPARE + """
    x = np.concatenate([np.linspace(-110, 95, 20_001), [0, -0.0, np.inf, -np.inf, np.nan, 88.7228, 88.7229, -87.4, -103.97, 1e-30]])
    x = x.astype(np.float32)
    got = np.asarray(jax.jit(jnp.exp)(x))
    with np.errstate(over="ignore"):
        exact = np.exp(x.astype(np.float64))
        want = exact.astype(np.float32)
    isFinite = np.isfinite(want)
    np.testing.assert_array_equal(got[~isFinite], want[~isFinite])
    assert (np.abs(got - exact)[isFinite] <= 2 * np.spacing(want)[isFinite]).all()
    for dtype, bits in ((jnp.bfloat16, 8), (jnp.float16, 11)):
        few = x.astype(dtype)
        got, exact = np.asarray(jax.jit(jnp.exp)(few)).astype(np.float64), np.exp(few.astype(np.float64))
        isNormal = (exact > 1e-4) & (exact < 6e4)
        assert (np.abs(got / exact - 1)[isNormal] <= 1.01 * 2.0**-bits).all()
    """, JAX_PLATFORMS="cuda,cpu")


def test_selections_agree_with_cpu(cuda):  # noqa: F811
    cuda(COMPARE + SELECTIONS, JAX_PLATFORMS="cuda,cpu")


def test_histograms_agree_with_cpu(cuda):  # noqa: F811
    cuda(COMPARE + kernels.HISTOGRAMS, JAX_PLATFORMS="cuda,cpu")


def test_rows_that_are_added_agree_with_cpu(cuda):  # noqa: F811
    """By one instruction for four neighbours, where those lie at a multiple of 16 bytes."""
    cuda(COMPARE + """
    where = np.random.default_rng(0).integers(-2, 260, (1024,)).astype(np.int32)
    for columns in (64, 63, 4):
        compare(lambda t, i, u: t.at[i].add(u), array(250, columns), where, array(1024, columns), tolerance=1e-4)
    compare(lambda t, i, u: t.at[i].add(u), array(250, 4, 16), where, array(1024, 4, 16), tolerance=1e-4)
    compare(lambda t, i, u: t.at[i, 1:61].add(u), array(250, 64), where, array(1024, 60), tolerance=1e-4)
    compare(lambda t, i: t.at[i].add(1.0), array(250, 64), where, tolerance=1e-4)
    """, JAX_PLATFORMS="cuda,cpu")


def test_reductions_that_share_a_loop_agree_with_cpu(cuda):  # noqa: F811
    cuda(COMPARE + """
    x = array(128, 1024)
    x[3, 5], x[4, 7], x[5] = np.nan, -np.inf, -np.inf
    compare(lambda x: jax.nn.softmax(x), x, tolerance=1e-5)
    for columns in (33, 768, 4096):
        for axis in (0, 1):
            compare(lambda x: (x.sum(axis), (x * x).sum(axis), x.max(axis), x.min(axis), jnp.prod(1 + x * 1e-3, axis)),
                    array(128, columns), tolerance=1e-3)
        compare(lambda x: x / x.sum(1, keepdims=True) + x.max(1, keepdims=True) * (x * x).sum(1, keepdims=True),
                array(128, columns) + 2, tolerance=1e-3)
    # A row's sum is read at the threads' own columns.
    compare(lambda x: x - x.sum(1)[None, :] + x.max(1)[:, None], array(256, 256), tolerance=1e-4)
    """, JAX_PLATFORMS="cuda,cpu")


def test_extrema_order_zeros_and_keep_nans(cuda):  # noqa: F811
    cuda(COMPARE + """
    some = np.array([0, -0.0, np.nan, np.inf, -np.inf, 1, -1], np.float32)
    a, b = np.meshgrid(some, some)
    for f in (jnp.maximum, jnp.minimum):
        compare(lambda a, b: f(a, b), a, b, tolerance=0)
        compare(lambda a, b: jnp.where(jnp.isnan(f(a, b)), 0, 1 / f(a, b)), a, b, tolerance=0)
        compare(lambda a: jnp.where(jnp.isnan(a), 0, 1 / f(a, 0)), a, tolerance=0)
    """, JAX_PLATFORMS="cuda,cpu")


def test_fourier_transforms_are_exact(cuda):  # noqa: F811
    cuda(COMPARE + TRANSFORMS, JAX_PLATFORMS="cuda,cpu")


def test_sorts_agree_with_cpu(cuda):  # noqa: F811
    cuda(COMPARE + SORTS, JAX_PLATFORMS="cuda,cpu")


def test_carried_values_agree_with_cpu(cuda):  # noqa: F811
    cuda(COMPARE + CARRIED, JAX_PLATFORMS="cuda,cpu")


def test_attention_agrees_with_cpu(cuda):  # noqa: F811
    cuda(COMPARE + EVERYDAY_ATTENTION, JAX_PLATFORMS="cuda,cpu")


def test_any_number_of_arrays_is_concatenated(cuda):  # noqa: F811
    """As jax.flatten_util.ravel_pytree does with a model's parameters: more than a kernel may have."""
    cuda(COMPARE + """
    compare(lambda *arrays: jnp.concatenate(arrays), *(array(1 + i % 3) for i in range(600)), tolerance=0)
    """, JAX_PLATFORMS="cuda,cpu")


def test_epilogues_of_cublaslt_agree_with_cpu(cuda):  # noqa: F811
    """The fake's cuBLASLt adds biases, and applies ReLU and GELU, as its manual says."""
    said = cuda(COMPARE + """
    for dtype, tolerance in ((np.float32, 1e-5), (jnp.bfloat16, 2e-2)):
        x, w, b = array(70, 64).astype(dtype), (array(64, 96) / 8).astype(dtype), array(96).astype(dtype)
        batch, square = array(4, 16, 64).astype(dtype), array(64, 64).astype(dtype)
        compare(lambda x, w, b: x @ w + b, x, w, b, tolerance=tolerance)
        compare(lambda x, w: jax.nn.relu(x @ w), x, w, tolerance=tolerance)
        compare(lambda x, w, b: jax.nn.relu(x @ w + b), batch, w, b, tolerance=tolerance)
        compare(lambda x, w: jax.nn.gelu(x @ w), x, w, tolerance=tolerance)
        compare(lambda x, w, b: jax.nn.gelu(x @ w + b), batch, w, b, tolerance=tolerance)
        compare(lambda x, b: jax.nn.relu(x @ x + b), square, b[:64], tolerance=tolerance)
        compare(lambda x, w, b: jax.nn.relu(jnp.dot(x, w, preferred_element_type=np.float32) + b).astype(x.dtype), x, w, b,
                tolerance=tolerance)
        # A kernel has what the library has not, and what others want, too.
        compare(lambda x, w, b: jax.nn.gelu(x @ w + b, approximate=False), x, w, b, tolerance=tolerance)
        compare(lambda x, w, b: (jax.nn.relu(x @ w + b), x @ w), x, w, b, tolerance=tolerance)
    """, JAX_PLATFORMS="cuda,cpu", ISTHMUS_CUDA_BLAS=FAKE_DRIVER, ISTHMUS_LOG="compile").stderr
    for name in ("bias", "ReLU", "bias and ReLU", "GELU", "bias and GELU"):
        assert f"stablehlo.dot_general with {name} at" in said, said


def test_batches_of_two_dimensions_agree_with_cpu(cuda):  # noqa: F811
    """Heads beside positions: a call of the fake's cuBLASLt for each of the outer batches, with the heads in its strides."""
    said = cuda(COMPARE + """
    q, k = array(2, 512, 2, 256), array(2, 512, 2, 256) / 16
    compare(lambda q, k: jnp.einsum("bqnd,bknd->bnqk", q, k), q, k, tolerance=1e-4)
    """, JAX_PLATFORMS="cuda,cpu", ISTHMUS_CUDA_BLAS=FAKE_DRIVER, ISTHMUS_LOG="compile").stderr
    assert "library: it computes such products" in said, said


def test_epilogues_of_cudnn_agree_with_cpu(cuda):  # noqa: F811
    """The fake's cuDNN adds residuals and biases, and applies ReLU, as the graph says that it is given."""
    said = cuda(COMPARE + """
    def conv(x, w):
        return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    for dtype, tolerance in ((np.float32, 1e-5), (jnp.bfloat16, 3e-2)):
        x, w = array(2, 6, 5, 16).astype(dtype), (array(3, 3, 16, 24) / 12).astype(dtype)
        b, z = array(24).astype(dtype), array(2, 6, 5, 24).astype(dtype)
        compare(lambda x, w, b: conv(x, w) + b, x, w, b, tolerance=tolerance)
        compare(lambda x, w: jax.nn.relu(conv(x, w)), x, w, tolerance=tolerance)
        compare(lambda x, w, b: jax.nn.relu(conv(x, w) + b), x, w, b, tolerance=tolerance)
        compare(lambda x, w, b, z: jax.nn.relu(conv(x, w) + b + z), x, w, b, z, tolerance=tolerance)
        compare(lambda x, w, z: z + conv(x, w), x, w, z, tolerance=tolerance)
        # A kernel has what the library has not, and what others want, too.
        compare(lambda x, w, b: jnp.tanh(conv(x, w) + b), x, w, b, tolerance=tolerance)
        compare(lambda x, w, b: (jax.nn.relu(conv(x, w) + b), conv(x, w)), x, w, b, tolerance=tolerance)
    bad = array(2, 6, 5, 16)
    bad[0, 0, 0], bad[1, 3, 3, 7] = np.nan, np.inf
    compare(lambda x, w, b: jax.nn.relu(conv(x, w) + b), bad, np.abs(array(3, 3, 16, 24)), array(24), tolerance=1e-4)
    """, JAX_PLATFORMS="cuda,cpu", ISTHMUS_CUDA_DNN=FAKE_DRIVER, ISTHMUS_LOG="compile").stderr
    for name in ("bias", "ReLU", "bias and ReLU", "residual and bias and ReLU", "residual"):
        assert f"stablehlo.convolution with {name} at" in said, said


def test_attention_of_cudnn_agrees_with_cpu(cuda):  # noqa: F811
    """The fake's cuDNN computes the operations that its graph has, if they are those that cuDNN has kernels for."""
    said = cuda(COMPARE + """
    attend = jax.nn.dot_product_attention
    def operands(rows=96, keys=96, heads=4, key_heads=4, size=64, dtype=jnp.bfloat16):
        return (array(2, rows, heads, size).astype(dtype), *(array(2, keys, key_heads, size).astype(dtype) for _ in "kv"))
    compare(lambda q, k, v: attend(q, k, v, is_causal=True), *operands(), tolerance=3e-2)
    compare(lambda q, k, v: attend(q, k, v, scale=0.3), *operands(80, 136), tolerance=3e-2)
    compare(lambda q, k, v: attend(q, k, v, is_causal=True), *operands(256, 256, key_heads=2), tolerance=3e-2)
    compare(lambda q, k, v: attend(q, k, v), *operands(1, 8192), tolerance=3e-2)
    # Heads before rows, a mask and a scale of one's own.
    for dtype, tolerance in ((jnp.bfloat16, 3e-2), (jnp.float16, 4e-3)):
        q, k, v = (one.swapaxes(1, 2) for one in operands(dtype=dtype))
        compare(lambda q, k, v: jax.nn.softmax(jnp.where(
            jnp.arange(96)[:, None] >= jnp.arange(96),
            jnp.einsum("bnth,bnsh->bnts", q, k, preferred_element_type=np.float32) / 8, -1e30)).astype(dtype) @ v,
            q, k, v, tolerance=tolerance)
    """, JAX_PLATFORMS="cuda,cpu", ISTHMUS_CUDA_DNN=FAKE_DRIVER, ISTHMUS_LOG="compile").stderr
    assert said.count("is cuDNN's") == 6 and "is not cuDNN's" not in said, said


def test_gradients_of_attention_of_cudnn_agree_with_cpu(cuda):  # noqa: F811
    said = cuda(COMPARE + """
    def gradients(function, *operands, tolerance=5e-2):
        shapes = jax.eval_shape(function, *operands)
        compare(lambda *operands: jax.vjp(function, *operands[:-1])[1](operands[-1]), *operands,
                array(*shapes.shape).astype(shapes.dtype), tolerance=tolerance)
    def operands(rows=96, keys=96, heads=4, size=64, dtype=jnp.bfloat16):
        return (array(2, rows, heads, size).astype(dtype), *(array(2, keys, heads, size).astype(dtype) for _ in "kv"))
    attend = jax.nn.dot_product_attention
    gradients(lambda q, k, v: attend(q, k, v, is_causal=True), *operands())
    gradients(lambda q, k, v: attend(q, k, v, scale=0.2), *operands(80, 136))
    # Both products that read the result's gradient have it in a shape of their own.
    gradients(lambda q, k, v, w: attend(q, k, v, is_causal=True).reshape(2, 96, -1) @ w, *operands(),
              array(256, 64).astype(jnp.bfloat16) / 16)
    # With the forward pass' result, which is a call of its own.
    compare(lambda q, k, v: jax.value_and_grad(
        lambda q, k, v: (attend(q, k, v, is_causal=True).astype(np.float32) ** 2).mean(), (0, 1, 2))(q, k, v), *operands(),
        tolerance=5e-2)
    # Softmax as it is defined, whose gradient is written in another way; heads before rows.
    for dtype, tolerance in ((jnp.bfloat16, 5e-2), (jnp.float16, 1e-2)):
        gradients(lambda q, k, v: jax.nn.softmax((q @ k.swapaxes(2, 3)).astype(np.float32) / 8).astype(v.dtype) @ v,
                  *(one.swapaxes(1, 2) for one in operands(dtype=dtype)), tolerance=tolerance)
    """, JAX_PLATFORMS="cuda,cpu", ISTHMUS_CUDA_DNN=FAKE_DRIVER, ISTHMUS_LOG="compile").stderr
    assert said.count("is cuDNN's") == 8, said


def test_attention_that_is_not_cudnns_agrees_with_cpu(cuda):  # noqa: F811
    said = cuda(COMPARE + """
    attend = jax.nn.dot_product_attention
    q, k, v = (array(2, 96, 4, 64).astype(jnp.bfloat16) for _ in "qkv")
    mask = random.random((2, 1, 96, 96)) > 0.4
    compare(lambda q, k, v, m: attend(q, k, v, mask=m), q, k, v, mask, tolerance=3e-2)
    compare(lambda q, k, v: attend(q, k, v, scale=-0.3), q, k, v, tolerance=3e-2)
    compare(lambda q, k, v, b: attend(q, k, v, bias=b), q, k, v, array(q.shape[1], k.shape[1]), tolerance=3e-2)
    compare(lambda q, k, v: attend(q, k, v), *(one[..., :60] for one in (q, k, v)), tolerance=3e-2)
    compare(lambda q, k, v: attend(q, k, v), *(one[:, :16, :, :] for one in (q, k, v)), tolerance=3e-2)
    compare(lambda q, k, v: attend(q, k, v, local_window_size=8), q, k, v, tolerance=3e-2)
    compare(lambda q, k, v: attend(q, k, v), *(one.astype(np.float32) for one in (q, k, v)), tolerance=1e-4)
    compare(lambda q, k, v: jnp.einsum("bnts,bsnh->btnh", 0.5 * jax.nn.softmax(jnp.einsum("btnh,bsnh->bnts", q, k)), v), q, k, v,
            tolerance=3e-2)
    compare(lambda q, k, v: jnp.einsum("bnts,bsnh->btnh", jax.nn.softmax(jnp.tanh(jnp.einsum("btnh,bsnh->bnts", q, k))), v),
            q, k, v, tolerance=3e-2)
    """, JAX_PLATFORMS="cuda,cpu", ISTHMUS_CUDA_DNN=FAKE_DRIVER, ISTHMUS_LOG="compile").stderr
    for why in ("the mask is not the causal one", "the largest product has not the largest score", "it is too little work",
                "cuDNN describes no graph of", "queries, keys, values and result are not all bf16 or f16",
                "a bias may leave out all keys of a row", "the weights are no softmax", "another operation is on the scores"):
        assert f"is not cuDNN's: {why}" in said, f"{why}: {said}"
    assert "is cuDNN's" not in said


def test_long_shifts_are_of_all_bits_of_their_amounts(cuda):  # noqa: F811
    """LLVM's NVPTX looks at 32 of them alone where it has a choice of 0 and a shift."""
    cuda(COMPARE + """
    jax.config.update("jax_enable_x64", True)
    by = np.array([0, 1, 63, 64, 1 << 32, (1 << 40) + 3, -1, -(1 << 32)])
    compare(lambda x, by: (lax.shift_left(x, by), lax.shift_right_logical(x, by), lax.shift_right_arithmetic(x, by)),
            np.full(8, -3), by, tolerance=0)
    """, JAX_PLATFORMS="cuda,cpu")


@pytest.mark.parametrize("name", [name for name in vars(kernels) if name.isupper() and name not in ("COMPARE", "RANDOM_BITS")])
@on_demand
def test_kernels_of_other_devices_agree_with_cpu(cuda, name):  # noqa: F811
    cuda(COMPARE + getattr(kernels, name), JAX_PLATFORMS="cuda,cpu", timeout=SECONDS)


@pytest.mark.parametrize("before", ["", OLDER], ids=["sm_90", "sm_80"])
@pytest.mark.parametrize("program", [products.EPILOGUES, products.NARROW, kernels.MATRICES], ids=["epilogues", "narrow", "matrices"])
@on_demand
def test_products_agree_with_cpu(cuda, program, before):  # noqa: F811
    cuda(before + COMPARE + program, JAX_PLATFORMS="cuda,cpu", timeout=SECONDS)


@pytest.mark.parametrize("name", attention.CASES)
@on_demand
def test_attention_of_all_kinds_agrees_with_cpu(cuda, name):  # noqa: F811
    program, _ = attention.CASES[name]
    cuda(COMPARE + attention.ATTENTION + textwrap.indent(textwrap.dedent(program), "    "), JAX_PLATFORMS="cuda,cpu",
         timeout=SECONDS)


@pytest.mark.parametrize("name", PROGRAMS)
@on_demand
def test_programs_of_other_devices_agree_with_cpu(cuda, name):  # noqa: F811
    cuda(COMPARE + "    " + PROGRAMS[name], JAX_PLATFORMS="cuda,cpu", timeout=SECONDS)


@on_demand
def test_programs_that_users_write_agree_with_cpu(cuda):  # noqa: F811
    cuda(f"""
        import sys; sys.path.insert(0, {os.path.dirname(__file__)!r})
        import device_programs
        for name in device_programs.PROGRAMS:
            device_programs.main(name)
    """, JAX_PLATFORMS="cuda,cpu", timeout=SECONDS)


@on_demand
def test_conformance(cuda):  # noqa: F811
    from isthmus import cuda_backend
    kit = LIBRARY.parents[1] / "conformance/isthmus-conform"
    done = subprocess.run([kit, LIBRARY, "--quiet"], capture_output=True, text=True, timeout=SECONDS, env=os.environ | {
        "ISTHMUS_CUDA_LIBRARY": str(FAKE_DRIVER), "ISTHMUS_CUDA_BLAS": "", "ISTHMUS_CUDA_DNN": "",
        "ISTHMUS_CUDA_LIBDEVICE": str(cuda_backend.toolkit_file("nvvm/libdevice/libdevice.10.bc") or "")})
    assert " 0 fail, 0 crash, 0 hang" in done.stdout, done.stdout + done.stderr
