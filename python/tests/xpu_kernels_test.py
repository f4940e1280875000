"""Kernels of platform xpu by each OpenCL driver that is installed: scatters, sorts, random bits, loops."""

import re

import pytest
import required

required.module("isthmus.xpu_backend")

from carried_loops import CARRIED  # noqa: E402
from opencl_drivers import COMPARE  # noqa: E402

# Work-items that update the same elements, which only forms whose lanes are work-items have.
SCATTERS = """
    i = random.integers(0, 7, (300, 1)).astype(np.int32)
    def scatter(op, dtype, **more):
        numbers = lax.ScatterDimensionNumbers((1,), (0,), (0,))
        x, u = random.integers(0, 9, (7, 5)), random.integers(0, 3, (300, 5))
        compare(lambda x, u: op(x, i, u, numbers, **more), x.astype(dtype), u.astype(dtype))
    for dtype in (jnp.int8, jnp.uint16, jnp.int32, jnp.uint32, jnp.float16, jnp.bfloat16, jnp.float32):
        scatter(lax.scatter_add, dtype)
        scatter(lax.scatter_min, dtype)
        scatter(lax.scatter_max, dtype)
    scatter(lax.scatter_add, jnp.complex64)
    scatter(lax.scatter_mul, jnp.uint32)
    compare(lambda x: (x.at[i[:, 0]].add(1), jnp.bincount(i[:, 0], length=9)), jnp.arange(9))
    compare(lambda x: x.at[jnp.array([3, 99, -1])].add(1., mode='drop'), jnp.zeros(5))
    compare(lambda x: x.at[jnp.array([4, 1, 3])].set(jnp.array([1., 2, 3]), unique_indices=True), jnp.zeros(5))
    # Updates with leading dimensions of one.
    zero, place = np.zeros((1, 1, 18), np.int32), i[:18].reshape(1, 1, 18)
    compare(lambda x, i, u: x.at[zero, zero, i].add(u), jnp.zeros((1, 1, 7)), place, array(1, 1, 18))
    def pool(x, window, strides):
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, window, window, 1), (1, strides, strides, 1), 'SAME').sum()
    compare(lambda x: (jax.grad(pool)(x, 2, 2), jax.grad(pool)(x, 3, 1)), array(2, 9, 8, 3))
"""


@pytest.mark.parametrize("form", ["", "groups", "elements"])
def test_scatters_agree_with_cpu(xpu, form):
    xpu(COMPARE + SCATTERS, ISTHMUS_OPENCL_KERNELS=form)


# Lines of any length along any dimension, which groups cut into blocks.
SCANS = """
    def whole(dtype, *shape):
        return random.integers(-9, 9, shape).astype(dtype)
    places = [((1,), 0), ((31,), 0), ((1000,), 0), ((5000,), 0), ((70001,), 0), ((3, 4099), 1), ((4099, 3), 0),
              ((999, 70), 0), ((5, 70, 33), 1), ((2, 6000, 2), 1)]
    compare(lambda *all: [(lax.cumsum(x, d), lax.cummin(x, d, reverse=True)) for x, (_, d) in zip(all, places)],
            *(whole(np.float32, *shape) for shape, _ in places), tolerance=0)
    compare(lambda x: [lax.cumsum(x.astype(dtype), 1, reverse=True) for dtype in (
        jnp.int8, jnp.uint16, jnp.int32, jnp.bfloat16, jnp.float16, jnp.complex64)], whole(np.int32, 3, 3001) == 8, tolerance=0)
    compare(lambda x: (lax.cumprod(x, 0), lax.cumlogsumexp(x, 0)), 1 + array(3000) / 1000, tolerance=1e-3)
    compare(lambda x: jnp.cumsum(jnp.exp(x).T, 1).sum(0), array(2500, 9), tolerance=1e-4)
    narrow = np.sign(whole(np.float32, 9, 300, 500)).astype(jnp.bfloat16)
    compare(lambda x: (jnp.cumsum(x, 1), lax.cumsum(x * 2, 2, reverse=True) + x, jnp.cumsum(x[0, 0] > 0)), narrow, tolerance=0)
    compare(lambda x: (lax.reduce_window(x, False, lax.bitwise_or, (3000,), (1,), ((2999, 0),)),
                       lax.reduce_window(x, True, lax.bitwise_and, (3000,), (1,), ((0, 2999),))), whole(np.int32, 3000) == 1)
"""


@pytest.mark.parametrize("form", ["groups", "elements"])
def test_scans_agree_with_cpu(xpu, form):
    xpu(COMPARE + SCANS, ISTHMUS_OPENCL_KERNELS=form)


# Threads that read and write several neighbours at once, where there are enough of them.
NEIGHBOURS = """
    x = array(999, 1001)
    compare(lambda x: (x * 2 + 1, x > 0, (x * 1.7).astype(jnp.bfloat16), jnp.float16(x) * 3), x)
    compare(lambda x, b: (x + b, jnp.where(x > b, x, 0), x[:, None] - b), array(512, 1024), array(1024))
    compare(lambda x, b: (x * b, x[5:, 8:] + x[:-5, 3:-5]), array(640, 1032).astype(jnp.bfloat16), array(1032).astype(jnp.bfloat16))
    i = random.integers(-99, 99, (1024, 1031)).astype(np.int8)
    compare(lambda i: (i + i, i == 3, i.astype(jnp.int32) << 3, i.astype(jnp.int16), i % 7), i)
    compare(lambda x: lax.dynamic_update_slice(x, -x[:3], (jnp.argmax(x[0]), 0)), x)
    # What moves along other dimensions than the innermost.
    x, y = (array(8, 128, 16, 64).astype(jnp.bfloat16) for _ in "xy")
    compare(lambda x: (x.swapaxes(1, 2) * 2, x[::-1, :, ::-1] + 1, jnp.pad(x, ((0, 0), (1, 2), (0, 1), (0, 0)))), x)
    compare(lambda x, y: (jnp.concatenate((x, -y, y[..., :8]), -1), jnp.concatenate((x, y * 2), 1)), x, y)
    compare(lambda x, y: (jnp.concatenate((x[..., :60], y), -1), jnp.concatenate((x[..., :7], y[..., :57]), -1)), x, y)
    x = array(999, 1024)
    compare(lambda x, i: (x[i] * 2, lax.dynamic_slice(x, (i[0], 0), (600, 1024)), x.at[i[:9]].add(1.5)), x,
            random.integers(0, 999, 700))
    compare(lambda x, i: x.reshape(-1, 16, 64)[i].swapaxes(1, 2), x, random.integers(0, 999, 700))
"""


def test_neighbours_agree_with_cpu(xpu):
    xpu(COMPARE + NEIGHBOURS, ISTHMUS_OPENCL_KERNELS="groups")


# Tiles of both operands in a group's memory, for every element of the window; features last, or first.
CONVOLUTIONS = """
    def convolve(x, w, layout=("NHWC", "HWIO", "NHWC"), strides=(1, 1), padding="SAME", **more):
        compare(lambda x, w: lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=layout, **more),
                x, w, tolerance=2e-2 if x.dtype.itemsize < 4 else 1e-4)
    convolve(array(2, 9, 11, 33), array(3, 3, 33, 30))
    convolve(array(1, 13, 12, 16), array(5, 2, 16, 70), strides=(2, 1), padding=((2, 1), (0, 3)))
    convolve(array(2, 40, 9, 10), array(24, 40, 3, 3), ("NCHW", "OIHW", "NCHW"), rhs_dilation=(2, 1))
    convolve(array(2, 9, 9, 24).astype(jnp.bfloat16), array(3, 3, 24, 32).astype(jnp.bfloat16))
    compare(lambda x, w: jax.grad(lambda x, w: jnp.sin(lax.conv_general_dilated(
        x, w, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))).sum(), (0, 1))(x, w),
        array(3, 8, 10, 24), array(3, 3, 24, 28), tolerance=1e-3)
    x, w = random.integers(-9, 9, (2, 7, 8, 20)), random.integers(-9, 9, (3, 3, 20, 24))
    compare(lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"),
            preferred_element_type=jnp.int32), x.astype(np.int8), w.astype(np.int8), tolerance=0)
"""


def test_convolutions_agree_with_cpu(xpu):
    xpu(COMPARE + CONVOLUTIONS, ISTHMUS_OPENCL_KERNELS="groups")


# Products with few rows or columns: of lines along the sums and across them, cut among groups or not, with ends.
SKINNY = """
    def products(*all):
        return [jnp.einsum(text, a, b, preferred_element_type=dtype) for text, dtype, a, b in zip(texts, types, all[::2], all[1::2])]
    cases = [("k,kn->n", (700,), (700, 65), None), ("k,nk->n", (4096,), (99, 4096), None), ("mk,kn->mn", (3, 5000), (5000, 33), None),
             ("mk,nk->mn", (200, 512), (5, 512), None), ("mk,nk->mn", (1, 8190), (7, 8190), None), ("bmk,bkn->bmn", (4, 2, 130), (4, 130, 96), None),
             ("km,kn->mn", (129, 70), (129, 11), None), ("bk,bnk->bn", (3, 1024), (3, 50, 1024), jnp.bfloat16),
             ("k,k->", (10000,), (10000,), None), ("mk,kn->mn", (16, 640), (640, 19), jnp.bfloat16)]
    texts = [case[0] for case in cases]
    types = [jnp.float32 if case[3] else None for case in cases]
    arrays = [array(*shape).astype(case[3] or np.float32) for case in cases for shape in case[1:3]]
    compare(products, *arrays, tolerance=2e-3)
    i = random.integers(-9, 9, (6, 3000)), random.integers(-9, 9, (3000, 40))
    compare(lambda a, b: (a @ b, a[0].astype(jnp.int64) @ b.astype(jnp.int64), lax.dot(a.astype(jnp.int8), b.astype(jnp.int8),
            preferred_element_type=jnp.int32), (a[0] > 8) @ (b > 7)), *[x.astype(np.int32) for x in i], tolerance=0)
"""


def test_skinny_products_agree_with_cpu(xpu):
    xpu(COMPARE + SKINNY, ISTHMUS_OPENCL_KERNELS="groups")


TRANSPOSES = """
    compare(lambda x, y, z: (x.T, y.transpose(0, 2, 1), y.transpose(2, 1, 0), z.transpose(0, 3, 1, 2), z.transpose(0, 2, 3, 1)),
            array(999, 1001), array(5, 70, 130), array(2, 33, 40, 64), tolerance=0)
    x = random.integers(-9, 9, (300, 500))
    compare(lambda x: [x.astype(dtype).T for dtype in (jnp.int8, jnp.bfloat16, jnp.float16, jnp.bool_, jnp.complex64, jnp.uint32)], x, tolerance=0)
    compare(lambda x: (jnp.exp(x).T * 2, x.T + x, x.T @ x), array(640, 640), tolerance=1e-3)
"""


def test_transposes_agree_with_cpu(xpu):
    xpu(COMPARE + TRANSPOSES, ISTHMUS_OPENCL_KERNELS="groups")


# Rows of a group, whose threads take neighbours of rows that are whole vectors.
ROWS = """
    def rows(x, b):
        y = jax.nn.softmax(x) * b
        return x.sum(1), x.max(1), jnp.prod(1 + x / 99, 1), y, (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True) + b
    for columns in (1000, 1001, 64, 4096):
        compare(rows, array(9, columns), array(columns), tolerance=1e-4)
    compare(lambda x, b: (jax.nn.softmax(x) * b, x.max(1), x.sum(1, dtype=jnp.float32)), array(5, 2048).astype(jnp.bfloat16),
            array(2048).astype(jnp.bfloat16), tolerance=2e-2)
    compare(lambda x: (x.sum((1, 2)), x.max((0, 2)), jnp.abs(x - 3).sum(2), x[:, :, 8:72].sum(2), x.argmax(2)), array(3, 20, 128), tolerance=1e-4)
    compare(lambda x: lax.reduce((x, x * x), (np.float32(3), np.float32(4)), lambda a, b: (a[0] + b[0], jnp.maximum(a[1], b[1])), (2,)),
            array(3, 20, 300), tolerance=1e-4)
    i = random.integers(-9, 9, (7, 640)).astype(np.int8)
    compare(lambda i: (i.max(1), (i > 3).any(1), (i < 20).all(1), i.astype(jnp.int32).sum(1), jnp.bitwise_xor.reduce(i, 1)), i)
    # What rows are reduced to beside their elements, and in the place of what every thread of the group reads.
    def normalized(x):
        mean, spread = x.mean(-1, keepdims=True), x.std(-1, keepdims=True)
        return (x - mean) / spread, mean[..., 0], spread, jnp.log(jnp.exp(x - x.max(-1, keepdims=True)).sum(-1))
    compare(normalized, array(3, 50, 700), tolerance=1e-4)
    x, m = array(3, 50, 700), array(3, 50)
    for function in (lambda x, m: m + x.sum(-1), lambda x, m: (x - x.sum(-1, keepdims=True), m + x.sum(-1))):
        result = jax.jit(function, donate_argnums=1)(x, jnp.array(m))
        assert np.allclose(jax.tree.leaves(result)[-1], m + x.sum(-1), atol=1e-4)
"""


def test_rows_agree_with_cpu(xpu):
    xpu(COMPARE + ROWS, ISTHMUS_OPENCL_KERNELS="groups")


SORTS = """
    def exact(function, *arguments):
        compare(function, *arguments, tolerance=0)
    for n in (1, 2, 15, 16, 17, 33, 1023, 1025, 5000):
        exact(lambda x: (jnp.sort(x), jnp.argsort(x), jnp.sort(-x)), random.integers(0, 50, n).astype(np.int32))
    x = array(7, 130, 3)
    x[0, 3:60:4], x[1, 5], x[2, ::3] = np.nan, np.inf, -0.0
    exact(lambda x: (jnp.sort(x, 0), jnp.sort(x, 1), jnp.sort(x, 2, descending=True), jnp.argsort(x, 1)), x)
    keys = random.integers(0, 3, (2, 400)).astype(np.int8)
    exact(lambda a, b, c: lax.sort((a, b, c), num_keys=2), keys[0], keys[1], np.arange(400, dtype=np.int32))
    exact(lambda x: jnp.sort(x.astype(jnp.bfloat16)).astype(jnp.float32), array(300))
    exact(lambda x: jnp.sort(x > 0), array(99))
    exact(lambda x: jnp.sort(x * (1 + 1j)), array(200))
    exact(lambda x: jnp.sort(x), array(3, 0))
"""


@pytest.mark.parametrize("form", ["", "groups"])
def test_sorts_agree_with_cpu(xpu, form):
    result = xpu(COMPARE + SORTS, ISTHMUS_OPENCL_KERNELS=form, ISTHMUS_LOG="info")
    if form:  # CPUs in vectors leave sorts to the host.
        assert "runs on the host" not in result.stderr


@pytest.mark.parametrize("form", ["", "groups"])
def test_sorts_of_many_arrays_agree_with_cpu(xpu, form):
    """As of as many columns as distinct rows are told apart by."""
    xpu(COMPARE + """
    rows = random.integers(0, 2, (50, 70)).astype(np.int32)[random.integers(0, 9, 50)]
    compare(lambda x: jnp.unique(x, size=12, axis=0, return_inverse=True, return_counts=True), rows, tolerance=0)
    compare(lambda x: lax.sort([x, *rows.T[:40]], num_keys=1), random.integers(0, 9, 50).astype(np.int8), tolerance=0)
    """, ISTHMUS_OPENCL_KERNELS=form)


RANDOM_BITS = """
    jax.config.update("jax_enable_x64", True)
    for algorithm in (lax.RandomAlgorithm.RNG_THREE_FRY, lax.RandomAlgorithm.RNG_PHILOX, lax.RandomAlgorithm.RNG_DEFAULT):
        for dtype in (jnp.uint8, jnp.uint16, jnp.uint32, jnp.uint64):
            for shape in ((8,), (3, 4), (5, 7), (1,), (3, 6, 5)):
                def bits(key):
                    return lax.rng_bit_generator(key, shape, dtype, algorithm=algorithm)
                results = []
                for platform in ("xpu", "isthmus"):
                    key = np.array([7, 2**64 - 5], np.uint64)
                    results.append(jax.device_get(jax.jit(bits)(jax.device_put(key, jax.devices(platform)[0]))))
                for ours, theirs in zip(*results):
                    np.testing.assert_array_equal(ours, theirs)
"""


def test_random_bits_are_the_cpu_backends(xpu):
    result = xpu(COMPARE + RANDOM_BITS, JAX_PLATFORMS="xpu,isthmus", ISTHMUS_LOG="info")
    assert "runs on the host" not in result.stderr


TRANSFORMS = """
    def transforms(tolerance, shape, axes, dtype=np.float32):
        x = random.standard_normal(shape).astype(dtype)
        compare(lambda x: (jnp.fft.fftn(x * (1 + 2j), axes=axes), jnp.fft.ifftn(x * (2 - 1j), axes=axes),
                           jnp.fft.rfftn(x, axes=axes), jnp.fft.irfftn(x * (1 + 1j), axes=axes)), x, tolerance=tolerance)
    for n in (1, 2, 3, 16, 30, 77, 121, 1024):
        transforms(2e-4, (3, n), (1,))
    transforms(2e-3, (4375,), (0,))
    transforms(2e-3, (6, 10, 9), (1, 2))
    transforms(2e-3, (6, 10, 9), (0, 1, 2))
    transforms(2e-3, (6, 10, 9), (0,))
    with jax.enable_x64(True):
        transforms(1e-11, (5, 240), (1,), np.float64)
"""


# Updates that groups gather in copies of their own: of numbers and of rows, some outside, by every combiner that has an instruction;
# and updates that are computed where they are read.
HISTOGRAMS = """
    i = random.integers(-3, 250, 150_001)
    x = random.integers(-99, 99, i.shape).astype(np.int32)
    compare(lambda i: (jnp.bincount(i, length=256), jnp.zeros(240, jnp.uint32).at[i].add(jnp.uint32(3), mode="drop")), i)
    compare(lambda i, x: [getattr(jnp.full(260, 5).at[i], name)(x, mode="drop") for name in ("add", "max", "min")], i, x, tolerance=0)
    compare(lambda i, x: jax.ops.segment_sum(x.astype(jnp.float32), i, 250), i, x, tolerance=0)
    compare(lambda i, x: jnp.ones((20, 7), jnp.int32).at[i % 20].add(x[:, None] + jnp.arange(7)), i[:30_000], x[:30_000], tolerance=0)
    compare(lambda i, x: lax.scatter(jnp.full(64, 9), (i % 70)[:, None], x, lax.ScatterDimensionNumbers((), (0,), (0,))), i, x * 0, tolerance=0)
    compare(lambda x: x.at[np.arange(100_000) % 30].add(jnp.broadcast_to(x[3], (100_000,))), array(40).round(), tolerance=0)
"""


@pytest.mark.parametrize("form", ["", "groups"])
def test_histograms_agree_with_cpu(xpu, form):
    xpu(COMPARE + HISTOGRAMS, ISTHMUS_OPENCL_KERNELS=form)


@pytest.mark.parametrize("form", ["", "groups"])
def test_transforms_agree_with_cpu(xpu, form):
    result = xpu(COMPARE + TRANSFORMS, ISTHMUS_OPENCL_KERNELS=form, ISTHMUS_LOG="info")
    if form:  # CPUs in vectors leave them to the host.
        assert "runs on the host" not in result.stderr


def test_complex_numbers_are_clamped(xpu):
    xpu(COMPARE + "    compare(lax.clamp, *(array(5, 3) + 1j * array(5, 3) for _ in range(3)), tolerance=0)")


def test_transform_of_a_large_prime_is_the_hosts_and_logged(xpu):
    result = xpu(COMPARE + "    compare(lambda x: jnp.fft.fft(x), array(3, 2 * 257), tolerance=1e-4)",
                 ISTHMUS_OPENCL_KERNELS="groups", ISTHMUS_LOG="info")
    assert "runs on the host" in result.stderr


LOOPS = """
    compare(lambda x: lax.fori_loop(0, 1000, lambda i, x: x * 0.99 + i, x), np.float32(3))
    compare(lambda x: lax.while_loop(lambda c: (c[1] > 1e-3) & (c[0] < 99), lambda c: (c[0] + 1, c[1] * 0.9), (0, x)),
            np.float32(3))
    # A loop in a loop with branches, swapped values, rows that are read and written.
    def step(carry, row):
        a, b, n = carry
        b = lax.switch(n % 3, [jnp.sin, jnp.cos, lambda x: x + row.sum()], b)
        n = lax.while_loop(lambda n: n % 7 != 0, lambda n: n + 1, n + 1)
        return (b, a, n), a * row
    compare(lambda x: lax.scan(step, (x[0, 0], x[0, 1], 0), x), array(40, 5))
    # Too much for one work-item: the host counts the rounds, or reads what ends them.
    compare(lambda x: lax.fori_loop(0, 30, lambda i, x: jnp.tanh(x @ x) + i, x), array(140, 140))
    compare(lambda x: lax.while_loop(lambda x: jnp.abs(x).max() > 0.1, lambda x: (x @ x) / 500, x), array(140, 140))
    compare(lambda x: lax.fori_loop(jnp.int8(100), jnp.int8(127), lambda i, x: x + i.astype(jnp.float32), x), array(3))
    compare(lambda x: lax.fori_loop(5, 5, lambda i, x: x + 1, x), array(3))
"""


# Of vectors in panels, along the sums, of single elements; of operands that are converted and packed first.
PRODUCTS_IN_LOOPS = """
    def conv(x, w, **more):
        return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), **more)
    def numbers(*shape):
        return (np.arange(np.prod(shape), dtype=np.int32) % 11).reshape(shape)
    loops = [
        (lambda x, w: x @ w, array(16, 64), array(64, 64)),
        (lambda x, w: w @ x, array(32), array(32, 32)),
        (lambda x, w: x @ w.T @ x, array(9, 9), array(9, 9)),
        (lambda x, w: jnp.einsum("bij,bjk->bik", x, w), array(5, 7, 11), array(5, 11, 11)),
        (lambda x, w: (x.astype(jnp.bfloat16) @ w.astype(jnp.bfloat16)).astype(x.dtype), numbers(100, 40), numbers(40, 40)),
        (lambda x, w: x @ w, numbers(12, 12), numbers(12, 12)),
        (lambda x, w: x @ w, array(6, 6) + 1j * array(6, 6), array(6, 6) * 0.1j),
        (conv, array(1, 6, 7, 8), array(3, 3, 8, 8)),
        (lambda x, w: conv(x, w, feature_group_count=8), array(1, 6, 7, 8), array(3, 3, 1, 8))]
    def step(f, x, w):
        return f(x, w) % 13 if x.dtype == jnp.int32 else x + 0.1 * jnp.sin(f(x, 0.1 * w))
    compare(lambda *data: [lax.fori_loop(0, 5, lambda i, x: step(loop[0], x, w), x) for loop, (x, w) in zip(loops, data)],
            *[(x, w) for _, x, w in loops], tolerance=1e-4)
"""


@pytest.mark.parametrize("xpu", ["intel"], indirect=True)
def test_products_in_loops_agree_with_cpu(xpu):
    xpu(COMPARE + PRODUCTS_IN_LOOPS)


@pytest.mark.parametrize("form", ["", "groups", "elements"])
def test_loops_agree_with_cpu(xpu, form):
    xpu(COMPARE + LOOPS, ISTHMUS_OPENCL_KERNELS=form)


@pytest.mark.parametrize("form", ["", "groups", "elements"])
def test_carried_values_agree_with_cpu(xpu, form):
    xpu(COMPARE + CARRIED, ISTHMUS_OPENCL_KERNELS=form)


# Loops of which each round has something that only the host does.
HOST_LOOPS = """
    def filtered(a, x, ys):
        def step(state, y):
            x, p = state
            x, p = a @ x, a @ p @ a.T + 0.1 * jnp.eye(len(a))
            gain = jnp.linalg.solve(p + jnp.eye(len(a)), p)
            return (x + gain @ (y - x), p - gain @ p), x
        return lax.scan(step, (x, jnp.eye(len(a))), ys)
    compare(filtered, 0.3 * array(5, 5), array(5), array(20, 5), tolerance=1e-4)
    # Whose end is not known before, with a branch, swapped values, a sum over rows, and a loop inside of the loop.
    def step(c):
        i, x, y = c
        x = lax.cond(i % 2 == 0, lambda x: jnp.sort(x, 1), lambda x: jnp.cumsum(x, 1) / 9, x)
        x = lax.fori_loop(0, 3, lambda j, x: x.at[j].add(jnp.sort(x[j])), x)
        return i + 1, y, x / (1 + jnp.abs(x).sum(1, keepdims=True))
    compare(lambda x: lax.while_loop(lambda c: (c[0] < 30) & (jnp.abs(c[1]).max() > 1e-6), step, (0, x, x + 1)), array(7, 40))
    # Before and after: what the device does.
    compare(lambda x: jnp.tanh(lax.fori_loop(0, 4, lambda i, x: jnp.linalg.cholesky(x @ x.T + jnp.eye(len(x))), jnp.sin(x)))
            @ x, array(12, 12), tolerance=1e-4)
"""


@pytest.mark.parametrize("form", ["", "groups", "elements"])
def test_loops_of_the_host_agree_with_cpu(xpu, form):
    xpu(COMPARE + HOST_LOOPS, ISTHMUS_OPENCL_KERNELS=form)


# 20 rounds of a factorisation and fusions: no device is asked in between.
def test_host_carries_out_all_of_its_loops(xpu):
    result = xpu("""
        import jax, jax.numpy as jnp
        f = jax.jit(lambda x: jax.lax.fori_loop(0, 20, lambda i, x: jnp.linalg.cholesky(x * 0.5 + i * jnp.eye(4)), x))
        f.lower(jnp.eye(4)).compile()
    """, ISTHMUS_LOG="info")
    lines = [line for line in result.stderr.splitlines() if "runs on the host" in line]
    assert any("isthmus.fusion" in line for line in lines) and any("potrf" in line or "cholesky" in line for line in lines), lines


def _is_one_launch(xpu, step, x, dumps):
    xpu(f"""
        import jax, jax.numpy as jnp
        print(jax.jit(lambda x: jax.lax.fori_loop(0, 100, {step}, x)).lower({x}).compile())
    """, ISTHMUS_DUMP=dumps)
    text = "".join(path.read_text() for path in dumps.rglob("*kernels.ll"))
    # What rounds do has no kernel of its own any more.
    return re.search(r"@kernel0\(.*\) .*\{\s+entry:\s+ret void\s+\}", text) and "br i1" in text


def test_small_loop_is_one_launch(xpu, tmp_path):
    assert _is_one_launch(xpu, "lambda i, x: x * 0.5 + i", "1.", tmp_path)


# By the kernels that are vectors.
@pytest.mark.parametrize("xpu", ["intel"], indirect=True)
@pytest.mark.parametrize("step, x", [("lambda i, x: jnp.tanh(x @ x)", "jnp.eye(16)"),
                                     ("lambda i, x: (x @ x) @ jnp.tanh(x.T @ x)", "jnp.eye(64)"),
                                     ("lambda i, s: (s[1], s[0] * 0.5 + i)", "(jnp.ones(3000), jnp.zeros(3000))")])
def test_loop_of_products_or_swaps_is_one_launch(xpu, tmp_path, step, x):
    assert _is_one_launch(xpu, step, x, tmp_path)


def test_equal_kernels_share_a_function(xpu, tmp_path):
    result = xpu("""
        import jax, numpy as np
        def step(weights, gradients):
            return [w - g * 0.1 for w, g in zip(weights, gradients)] + [weights[0] - gradients[1] * 0.2]
        # Too much for several to be one kernel.
        weights = [np.full(100_000, i, np.float32) for i in range(9)]
        results = jax.jit(step)(weights, [np.full(100_000, -10 * i, np.float32) for i in range(9)])
        print([float(x[8]) for x in results] == [2. * i for i in range(9)] + [2.])
    """, ISTHMUS_DUMP=tmp_path)
    assert result.stdout == "True\n"
    text = max((file.read_text() for file in tmp_path.rglob("*kernels.ll")), key=len)
    assert len(re.findall(r"^define .*@kernel", text, re.MULTILINE)) == 2


# What follows each other outside of loops, with donated arguments, branches and a loop among it; more of it than one
# kernel takes.
STEPS = """
    def steps(x, w, n):
        for i in range(30):
            x = jnp.tanh(x @ w) if i % 3 else x.sum(0) - jnp.flip(x, 1)
        y = lax.cond(x[0, 0] > 0, lambda: x * 2, lambda: x - 1)
        z = lax.switch(n, [lambda y: y, lambda y: y.T, lambda y: -y], y)
        z = lax.fori_loop(0, n + 3, lambda i, z: z * 0.5 + i, z)
        return x, y, z, jnp.cumsum(z, 0), x.at[n].add(w[n]), lax.cond(n > 1, lambda: (x, w), lambda: (w, x))
    for n in range(4):
        compare(steps, array(9, 9), 0.3 * array(9, 9), n)
    compare(lambda *all: [x * 2 + i for i, x in enumerate(all)], *[array(i % 5) for i in range(70)])
    trees = [array(3) for _ in range(50)]
    swap = jax.jit(lambda all: [x + 1 for x in all[1:] + all[:1]], donate_argnums=0)
    results = swap([jax.device_put(x) for x in trees])
    for x, y in zip(trees[1:] + trees[:1], results):
        np.testing.assert_array_equal(x + 1, y)
    # A few that are little, then one that is not.
    compare(lambda x, y: (x + 1, jnp.sin(x), y @ y, x * 3, jnp.tanh(x @ x)), array(5, 5), array(200, 200), tolerance=1e-4)
"""


@pytest.mark.parametrize("form", ["", "groups", "elements"])
def test_small_steps_agree_with_cpu(xpu, form):
    xpu(COMPARE + STEPS, ISTHMUS_OPENCL_KERNELS=form)


def _kernels(dumps):
    """The kernels of the largest program that do something."""
    text = max((file.read_text() for file in dumps.rglob("*kernels.ll")), key=len)
    return re.findall(r"^define [^\n]*@(kernel\w+)\([^\n]*\{\s+entry:\s+(?!\s|ret void)", text, re.MULTILINE)


@pytest.mark.parametrize("step", ["y = x[::-1] + 1; return y, jnp.cumsum(y), jnp.flip(y * 2)",
                                  "return jax.lax.cond(x[0] > 1, lambda: x[::-1] * 2, lambda: x - 1)",
                                  "return [x[i] + i for i in range(4)]"])
def test_small_steps_are_one_launch(xpu, tmp_path, step):
    result = xpu(f"""
        import jax, jax.numpy as jnp
        def f(x): {step}
        print(jax.jit(f).lower(jnp.ones(4)).compile() is None)
    """, ISTHMUS_DUMP=tmp_path)
    assert len(_kernels(tmp_path)) == 1, result.stderr


def test_loop_of_many_small_steps_is_one_launch(xpu, tmp_path):
    # A sampler's: each round has random numbers of three keys, and the rounds of threefry are loops themselves.
    result = xpu("""
        import jax, jax.numpy as jnp
        def step(i, x):
            keys = jax.random.split(jax.random.fold_in(jax.random.key(1, impl="threefry2x32"), i), 3)
            y = x + jax.random.normal(keys[0], x.shape) * jax.random.uniform(keys[1], x.shape)
            return jnp.where(jax.random.bernoulli(keys[2], 0.5, x.shape), x, y) - x.mean()
        print(jax.jit(lambda x: jax.lax.fori_loop(0, 100, step, x)).lower(jnp.ones(16)).compile() is None)
    """, ISTHMUS_DUMP=tmp_path)
    assert len(_kernels(tmp_path)) == 1, result.stderr


def test_unrolled_steps_are_compiled_once(xpu, tmp_path):
    """Code that comes again in the same places is a loop of the kernel: drivers take tens of milliseconds for each."""
    xpu(COMPARE + """
    def unrolled(count):
        def run(x, w):
            for _ in range(count):
                x = jnp.tanh(x @ w)
            return x
        return run
    def alternating(x, w):
        for _ in range(20):
            x = jnp.tanh(x @ w)
            x = x.T @ w - x
        return x
    for count in (2, 3, 7, 60):
        compare(unrolled(count), array(16, 16), array(16, 16) / 4)
    compare(alternating, array(8, 8), array(8, 8) / 4, tolerance=1e-4)
    """, ISTHMUS_DUMP=tmp_path)
    sizes = sorted(len(file.read_text()) for file in tmp_path.glob("*/kernels.ll"))
    # Of those whose rounds are code of their own, the longest would have twenty times as much as the shortest.
    assert sizes[-1] < 6 * sizes[0], sizes


# Tiles that are full and not, small and large; sums that do not fill an instruction, and what is beyond them.
MATRICES = """
    def product(equation, dtype, a, b):
        out = jnp.int32 if dtype == jnp.int8 else jnp.float32
        x, y = (random.integers(-100, 100, s) if dtype == jnp.int8 else array(*s) for s in (a, b))
        compare(lambda x, y: jnp.einsum(equation, x, y, preferred_element_type=out),
                x.astype(dtype), y.astype(dtype), tolerance=0 if dtype == jnp.int8 else 1e-4)
    for dtype in (jnp.bfloat16, jnp.float16, jnp.int8):
        for m, k, n in ((16, 16, 16), (64, 64, 64), (33, 129, 65), (100, 300, 50), (2100, 40, 1100)):
            product("mk,kn->mn", dtype, (m, k), (k, n))
        product("km,nk->mn", dtype, (70, 100), (50, 70))
        product("bik,bkj->bij", dtype, (5, 40, 33), (5, 33, 70))
        product("aikj,kl->aijl", dtype, (7, 9, 40, 5), (40, 30))
        def convolve(dimensions, x, y, strides, padding, dilation=None):
            out = jnp.int32 if dtype == jnp.int8 else jnp.float32
            x, y = (random.integers(-9, 9, s) for s in (x, y))
            compare(lambda x, y: lax.conv_general_dilated(
                x, y, strides, padding, rhs_dilation=dilation, dimension_numbers=dimensions, preferred_element_type=out),
                x.astype(dtype), y.astype(dtype), tolerance=0)
        convolve(("NHWC", "HWIO", "NHWC"), (2, 9, 11, 16), (3, 3, 16, 32), (1, 1), "SAME")
        convolve(("NCHW", "OIHW", "NCHW"), (2, 20, 13, 9), (33, 20, 3, 2), (2, 1), ((2, 1), (0, 3)), (1, 2))
        convolve(("NWC", "WIO", "NWC"), (3, 40, 33), (5, 33, 17), (3,), "VALID")
    x = np.ones((20, 17), jnp.bfloat16)
    x[3, 16] = np.inf
    compare(lambda x: x @ np.ones((17, 20), jnp.bfloat16), x)
"""


def test_matrix_instruction_agrees_with_cpu(xpu, tmp_path):
    xpu(COMPARE + MATRICES, ISTHMUS_OPENCL_KERNELS="emulated-matrices", ISTHMUS_DUMP=tmp_path)
    # Drivers that take OpenCL C only multiply as other groups do.
    by_matrices = [file for file in tmp_path.glob("*/kernels.ll") if "rows of sub-groups" in file.read_text()]
    assert len(by_matrices) >= (33 if list(tmp_path.glob("*/kernels.spv")) else 0)


def test_log_says_which_steps_are_not_fused(xpu):
    lines = xpu("""
        import jax, jax.numpy as jnp
        def step(i, x):
            return jnp.tanh(x) + i
        def run(small, large):
            return jax.lax.fori_loop(0, 9, step, small), jax.lax.fori_loop(0, 9, step, large)
        jax.jit(run).lower(jnp.ones(8), jnp.ones(1 << 20)).compile()
    """, ISTHMUS_LOG="compile").stderr.splitlines()
    refused = [line for line in lines if "is not fused with other steps: " in line]
    # The large one, and its kernel: the small one is one kernel.
    assert sum("the loop around" in line for line in refused) == 1, lines
    assert any(" add at " in line.replace("stablehlo.", " ") and "take longer" in line for line in refused), lines
