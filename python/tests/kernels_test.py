"""What becomes kernels, beside JAX's CPU client: regressions of whole programs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from carried_loops import CARRIED
from comparing import comparing
from jax import lax


def test_kernels_that_differ_in_the_order_of_operands_are_two(both):
    """They share operations and types, and one was once run for both."""
    ours, theirs = both(lambda p, x: (jnp.where(p, x, 0.0), jnp.where(p, 0.0, x)),
                        np.array([True, False]), np.array([3, 4], np.float32))
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "bfloat16"])
def test_masks_hide_nan_and_infinity(run, dtype):
    """Energies of JAX MD's padding, 0 / 0, are multiplied by a mask: their sum was NaN, which it is not on XLA."""
    x, mask = np.array([np.nan, np.inf, -1, 2]), np.array([False, False, False, True])
    with jax.enable_x64(dtype == "float64"):
        for product in (lambda x, mask: x * mask, lambda x, mask: mask.astype(x.dtype) * x):
            np.testing.assert_array_equal(run(product, jnp.array(x, dtype), mask).astype(complex), [0, 0, 0, 2])


@pytest.mark.parametrize("find", [jnp.argmax, jnp.argmin])
@pytest.mark.parametrize("shape", [(3, 9), (3, 1000), (3, 300_000)])
def test_first_of_several_nan(both, find, shape):
    """Lanes meet elements in an order of their own, and once gave a later one; parts of long rows are for all threads."""
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    x[:, [shape[1] // 3, shape[1] // 2]] = np.nan
    ours, theirs = both(lambda x: find(x, axis=1), x)
    np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(ours, shape[1] // 3)


def updates(operator, x, places, values):
    """What NumPy makes of the updates of a scatter, one after the other."""
    wanted = np.array(x, np.float64)
    inside = (places >= 0) & (places < len(x))
    operator.at(wanted, places[inside], values[inside])
    return wanted


# Few elements have copies, which threads fill; wide windows are split; places that are far too many
# for copies, and a number of updates that nothing divides, are neither.
@pytest.mark.parametrize("shape, count", [((300,), 100_000), ((7,), 65_537), ((1000, 128), 3000), ((50, 1027), 700),
                                          ((40, 2), 70_000), ((10, 70, 70), 300), ((100_000,), 70_000)], ids=str)
@pytest.mark.parametrize("operator, method", [(np.add, "add"), (np.maximum, "max")])
def test_scatter_split_among_threads(ours, operator, method, shape, count):
    rng = np.random.default_rng(0)
    x, values = rng.standard_normal(shape, np.float32), rng.standard_normal((count, *shape[1:]), np.float32)
    places = rng.integers(0, shape[0] + 3, count)

    def run(x, places, values):
        return getattr(x.at[places], method)(values, mode="drop")

    wanted = updates(operator, x, places, values)
    with jax.default_device(ours):
        np.testing.assert_allclose(jax.jit(run)(x, places, values), wanted, rtol=1e-3, atol=1e-3)
        # The same, as columns and as a batch.
        columns = jax.jit(lambda x, values: getattr(x.at[..., places], method)(values, mode="drop"))(
            np.moveaxis(x, 0, -1), np.moveaxis(values, 0, -1))
        np.testing.assert_allclose(np.moveaxis(np.asarray(columns), -1, 0), wanted, rtol=1e-3, atol=1e-3)
        batch = jax.jit(jax.vmap(run))(*(np.stack([a, a]) for a in (x, places, values)))
        np.testing.assert_allclose(batch, np.stack([wanted, wanted]), rtol=1e-3, atol=1e-3)


def test_scatter_to_different_places_split_among_threads(ours):
    order = np.random.default_rng(0).permutation(1 << 17)
    with jax.default_device(ours):
        got = jax.jit(lambda x, order: jnp.zeros_like(x).at[order].set(x, unique_indices=True))(
            np.arange(1 << 17, dtype=np.int32), order)
    np.testing.assert_array_equal(got, np.argsort(order))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.uint8, np.complex64])
@pytest.mark.parametrize("length", [17, 25, 31, 33, 47, 79])
def test_reductions_of_rows_that_no_vector_divides(ours, length, dtype):
    """The last vector overlaps the one before: what is in both counts once."""
    rng = np.random.default_rng(length)
    x = rng.integers(1, 4, size=(37, length)).astype(dtype)
    with jax.default_device(ours), jax.enable_x64(True):
        got = jax.jit(lambda x: [jnp.sum(x, 1), jnp.prod(x, 1), jnp.sum(jnp.sqrt(x * x + 1), 1), jnp.any(x > 3, 1),
                                 jnp.all(x > 0, 1)] + ([] if dtype == np.complex64 else [x.max(1), x.min(1)]))(x)
    root = np.sqrt((x * x + 1).astype(np.complex128 if dtype == np.complex64 else np.float64))
    wanted = [x.sum(1), x.prod(1), root.sum(1), (x > 3).any(1), (x > 0).all(1)]
    if dtype != np.complex64:
        wanted += [x.max(1), x.min(1)]
    for a, b in zip(got, wanted):
        assert np.asarray(a).shape == b.shape
        np.testing.assert_allclose(a, b, rtol=2e-3 if dtype in (np.int16, np.uint8) else 1e-5)


@pytest.mark.parametrize("shape, axes", [((3_000_000,), (0,)), ((1_000_003,), (0,)), ((5, 1_000_003), (1,)), ((3, 4000, 1024), (1, 2)),
                                         ((2, 300, 300, 70), (1, 2, 3))])
def test_errors_of_long_sums_do_not_add_up(ours, shape, axes):
    """A lane of ten million times 0.1 added 160,000 of them one after the other, which was 2e-5 off."""
    x = np.full(shape, 0.1, np.float32)
    with jax.default_device(ours):
        real, complexes, dot = jax.jit(lambda x: (x.sum(axes), (x * (1 - 2j)).sum(axes), jnp.vdot(x, x)))(x)
    one, count = np.float64(x.flat[0]), np.prod([shape[d] for d in axes])
    np.testing.assert_allclose(real, np.full(real.shape, one * count), rtol=3e-6)
    np.testing.assert_allclose(complexes, np.full(real.shape, one * count * (1 - 2j)), rtol=1e-4)  # of fewer lanes
    np.testing.assert_allclose(dot, one * one * x.size, rtol=1e-5)


@pytest.mark.parametrize("shape", [(8192, 16), (8192, 3, 40), (999, 300), (5, 2000, 48)])
def test_errors_of_long_columns_do_not_add_up(ours, shape):
    """Sums row by row of 8,192 numbers, one after the other, were 1e-6 off, as was each mean of a batch norm of 16 features."""
    x = np.random.default_rng(3).normal(1, 1, shape).astype(np.float32)
    axis = len(shape) - 2 if len(shape) == 3 and shape[1] > 3 else 0
    with jax.default_device(ours):
        sums, squares = jax.jit(lambda x: (x.sum(axis), (x * x).sum(axis)))(x)
    for got, terms in ((sums, x), (squares, x * x)):
        want = terms.sum(axis, dtype=np.float64)
        assert np.sqrt(np.mean((got - want) ** 2)) < 3e-7 * np.sqrt(np.mean(want ** 2))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(7, 64), (8, 64), (64, 70), (33, 64), (3, 5, 40)])
def test_extrema_know_nan_and_the_sign_of_zero(ours, shape, dtype):
    """Along rows and columns, of odd and even numbers: what is NaN counts once for two elements."""
    rng = np.random.default_rng(3)
    numbers = rng.choice(np.array([-1, -0.0, 0.0, 1, np.inf, -np.inf], dtype), shape, p=[.3, .3, .1, .1, .1, .1])
    zeros = rng.choice(np.array([-0.0, 0.0], dtype), shape, p=[.8, .2])
    rare = np.where(rng.random(shape) < 1.5 / shape[-2], np.array(np.nan, dtype), numbers)
    with jax.enable_x64(True), jax.default_device(ours):
        for x in (numbers, zeros, -zeros, rare, np.where(rare > 0, rare, -rare)):
            for axis in range(len(shape)):
                largest, smallest = jax.jit(lambda x: (x.max(axis), x.min(axis)))(x)  # noqa: B023
                alone = jax.jit(lambda x: x.max(axis))(x)  # noqa: B023
                np.testing.assert_array_equal(largest, x.max(axis))
                np.testing.assert_array_equal(smallest, x.min(axis))
                # NumPy leaves open which of two zeros it returns.
                isZero = x.max(axis) == 0
                hasPositive = (~np.signbit(x) & (x == 0)).any(axis)
                for got in (largest, alone):
                    np.testing.assert_array_equal(np.signbit(got)[isZero], ~hasPositive[isZero])
                isZero = x.min(axis) == 0
                hasNegative = (np.signbit(x) & (x == 0)).any(axis)
                np.testing.assert_array_equal(np.signbit(smallest)[isZero], hasNegative[isZero])


@pytest.mark.parametrize("dtype", [jnp.bfloat16, np.float16])
def test_sums_of_narrow_floats_are_rounded_once(ours, dtype):
    """They stopped where a summand is less than half a sum's last bit: a bias's gradient of 1229 was 128."""
    x = np.full((4096, 64), 0.3).astype(dtype)
    numbers = x.astype(np.float64)
    with jax.default_device(ours):
        gradient = jax.jit(jax.grad(lambda b, x: jnp.sum((x + b) * x)))(jnp.zeros(64, dtype), x)
        rows = jax.jit(lambda x: lax.reduce(x, np.zeros((), dtype), lax.add, (1,)))(x)
        running = jax.jit(lambda x: (jnp.cumsum(x, 0), jnp.cumsum(x[:, 0])))(x)
        windows = jax.jit(lambda x: lax.reduce_window(x, np.zeros((), dtype), lax.add, (512, 1), (512, 1), "VALID"))(x)
    for got, wanted in [(gradient, numbers.sum(0)), (rows, numbers.sum(1)), (running[0], numbers.cumsum(0)),
                        (running[1], numbers[:, 0].cumsum()), (windows, numbers.reshape(8, 512, 64).sum(1))]:
        assert got.dtype == dtype
        np.testing.assert_allclose(np.asarray(got).astype(np.float64), wanted, rtol=float(jnp.finfo(dtype).eps))


@pytest.mark.parametrize("shape,axis,reverse", [((1_000_003,), 0, False), ((1_000_003,), 0, True), ((3, 5001), 1, True),
                                                ((3001, 37), 0, False), ((2, 1025, 3), 1, False), ((1024,), 0, False)])
def test_errors_of_running_sums_do_not_add_up(ours, shape, axis, reverse):
    """A million times 0.1 was 1% more than 100,000, as it is where one is added after the other."""
    x, factors = np.full(shape, 0.1, np.float32), np.full(shape, 1.00001, np.float32)
    line = np.arange(1, shape[axis] + 1)[::-1 if reverse else 1]
    line = line.reshape([-1 if d == axis else 1 for d in range(len(shape))])

    def scans(x, factors):
        return (lax.cumsum(x, axis, reverse), lax.cumprod(factors, axis, reverse),
                lax.cumlogsumexp(x, axis, reverse), lax.cumsum(x * (1 + 1j), axis, reverse), lax.cummax(x, axis, reverse))

    with jax.default_device(ours):
        sums, products, logarithms, complexes, largest = jax.jit(scans)(x, factors)
    one = np.float64(x.flat[0])
    np.testing.assert_allclose(sums, np.broadcast_to(line * one, shape), rtol=1e-5)
    # All blocks are the same here, and so are their errors, which a product multiplies.
    np.testing.assert_allclose(products, np.broadcast_to(np.float64(factors.flat[0]) ** line, shape), rtol=1e-2)
    np.testing.assert_allclose(logarithms, np.broadcast_to(one + np.log(line), shape), rtol=2e-6, atol=2e-6)
    np.testing.assert_allclose(complexes, np.broadcast_to(line * one * (1 + 1j), shape), rtol=1e-5)
    np.testing.assert_array_equal(largest, x)


def test_complex_numbers_are_moved_as_they_are(both):
    """As words, whose bits stay: NaN of any sign, zeros of both."""
    rng = np.random.default_rng(5)
    x = (rng.normal(size=(37, 20, 5)) + 1j * rng.normal(size=(37, 20, 5))).astype(np.complex64)
    x.view(np.uint32)[:, ::3, :4] = rng.choice(np.array([0x80000000, 0x7fc00001, 0xffc00000, 0xff800000], np.uint32), (37, 7, 4))
    places = rng.integers(0, 37, 50)

    def moves(x, places):
        turned = x.transpose(0, 2, 1)
        return (turned, turned[::-1, ::-1], x[places], lax.dynamic_slice(x, (places[0], 0, 1), (9, 11, 3)), x[3:30:2].reshape(-1, 7),
                lax.pad(x[:, :, 0].T, x[0, 0, 0], [(1, 2, 0), (0, 1, 1)]), jnp.stack([x[0], x[1][::-1]], -1),
                jnp.where(places[:37, None, None] > 9, x, x[::-1]), jnp.broadcast_to(x[:, None, 3], (37, 4, 5)), x[:, :, 2].T)

    for one, other in zip(*both(moves, x, places)):
        np.testing.assert_array_equal(np.ascontiguousarray(one).view(np.uint64), np.ascontiguousarray(other).view(np.uint64))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("reverse", [False, True])
def test_running_sums_compute_their_elements_and_what_follows(both, axis, reverse):
    """Of one kernel: before the sum, after it, and what others need of both."""
    rng = np.random.default_rng(axis)
    x, y = np.sign(rng.integers(-9, 10, (7, 300, 67))).astype(jnp.bfloat16), rng.normal(size=(7, 300, 67)).astype(np.float32)

    def scans(x, y):
        pair = lax.reduce_window((x * 2, y), (np.zeros((), x.dtype), np.float32(-np.inf)), lambda a, b: (a[0] + b[0], jnp.maximum(a[1], b[1])),
                                 tuple(y.shape[d] if d == axis else 1 for d in range(3)), (1, 1, 1),
                                 [(0, y.shape[d] - 1) if d == axis else (0, 0) for d in range(3)])
        raised = y + 1
        best = lax.cummax(raised, axis, reverse)
        return lax.cumsum(x, axis, reverse), best / 2 - y, best, raised * 3, pair[0] + 1, jnp.sqrt(jnp.abs(pair[1]))

    ours, theirs = both(scans, x, y)
    for one, other in zip(ours, theirs):
        np.testing.assert_allclose(one.astype(np.float64), other.astype(np.float64), rtol=1e-6)


@pytest.mark.parametrize("axis", [0, 1])
def test_running_sums_read_an_array_before_a_result_takes_its_place(ours, axis):
    """Results of one kernel: the second was computed from what the first had stored."""
    x, y = np.random.default_rng(axis).integers(-9, 10, (2, 64, 40)).astype(np.float32)
    run = jax.jit(lambda x, y: (lax.cumsum(x + 1, axis) * 3, (x + 1) * y), donate_argnums=1)
    first, second = run(jax.device_put(x, ours), jax.device_put(y, ours))
    np.testing.assert_array_equal(first, (x + 1).cumsum(axis) * 3)
    np.testing.assert_array_equal(second, (x + 1) * y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("length", [16, 25, 64])
def test_extrema_of_rows_know_nan_infinity_and_zeros(ours, length, dtype):
    """Lanes are compared as integers, in whose order NaN of either sign and zeros have other places."""
    rng = np.random.default_rng(length)
    x = rng.normal(size=(11 + 2 * length, length)).astype(dtype)
    x[1], x[2], x[3] = 0, -0.0, -np.inf
    x[1, length // 2], x[2, length // 3] = -0.0, 0.0
    x[4, 3], x[5, 1], x[6] = np.inf, -np.inf, np.inf
    for i in range(length):
        # A NaN in each place; what a processor makes of inf - inf has its sign set.
        x[11 + i, i] = np.nan
        x[11 + length + i, i] = np.copysign(np.nan, -1)
    with jax.default_device(ours), jax.enable_x64(True):
        largest, smallest = jax.jit(lambda x: (x.max(1), x.min(1)))(x)
    np.testing.assert_array_equal(largest, x.max(1))
    np.testing.assert_array_equal(smallest, x.min(1))
    np.testing.assert_array_equal(np.signbit(np.asarray(largest)[1:3]), [False, False])
    np.testing.assert_array_equal(np.signbit(np.asarray(smallest)[1:3]), [True, True])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
@pytest.mark.parametrize("shape", [(n,) for n in (1, 3, 7, 15, 23, 31, 45, 61)] + [(3, 29), (2, 5, 13)], ids=str)
def test_ends_of_rows(ours, shape, dtype):
    """What whole vectors leave of a row, of two pieces, in place of an operand and beside it."""
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32).astype(dtype)

    def shifted(np, x):
        moved = np.concatenate([np.full_like(x[..., :1], 2), x[..., :-1]], axis=-1)
        return np.exp(moved.astype(np.float32)) * np.tanh(x.astype(np.float32)) + x[..., ::-1], moved * 2

    def run(x, donate):
        with jax.default_device(ours), jax.enable_x64(True):
            return jax.jit(lambda x: shifted(jnp, x), donate_argnums=(0,) if donate else ())(
                jax.device_put(x, ours))

    wanted = shifted(np, x.astype(np.float64) if dtype != np.int16 else x)
    for donate in (False, True):
        for got, want in zip(run(x, donate), wanted):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_donated_array_of_another_shape(ours):
    """A part of an array is at the same indices as in the whole, but no longer at the same places."""
    x = np.arange(600 * 100, dtype=np.float32).reshape(600, 100)
    moved = jax.jit(lambda x: jnp.pad(x[:300], ((0, 0), (0, 100))), donate_argnums=0)
    with jax.default_device(ours):
        np.testing.assert_array_equal(moved(jax.device_put(x, ours)), np.pad(x[:300], ((0, 0), (0, 100))))


@pytest.mark.parametrize("shape", [(64, 128), (8, 32), (100, 37), (4096, 128), (128, 4096), (1000, 1001)])
def test_transposes_of_every_shape(both, shape):
    """Tall ones were once refused: their schedule was taken for one along the other dimension."""
    x = np.random.default_rng(0).random(shape, np.float32)
    ours, theirs = both(lambda x: (x.T * 2, jnp.cos(x.T)), x)
    np.testing.assert_array_equal(ours[0], theirs[0])
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-5, atol=1e-6)


# Whose vectors have more elements than a block in registers has rows, and whose rows share sets of a cache.
@pytest.mark.parametrize("shape", [(50, 60, 100), (1024, 1024), (37, 500), (3, 70, 256), (90, 17, 20)])
@pytest.mark.parametrize("dtype", [np.bool_, np.int8, jnp.bfloat16, np.float64], ids=lambda t: t.__name__)
def test_transposes_of_narrow_and_wide_elements(ours, shape, dtype):
    x = np.random.default_rng(0).integers(0, 100, shape).astype(np.dtype(dtype))
    with jax.enable_x64(True), jax.default_device(ours):
        for order in (list(range(x.ndim))[::-1], [*range(x.ndim - 2), x.ndim - 1, x.ndim - 2]):
            np.testing.assert_array_equal(jax.jit(lambda x: x.transpose(order))(x), x.transpose(order))


# Vectors of indices, of all widths of elements and indices, past the ends as well.
@pytest.mark.parametrize("index", [np.int8, np.int32, np.int64], ids=lambda t: t.__name__)
@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, np.float64, np.complex64], ids=lambda t: t.__name__)
def test_gathers_of_elements(ours, dtype, index):
    random = np.random.default_rng(0)
    x, i = random.integers(-100, 100, (9, 50)).astype(dtype), random.integers(-60, 60, (9, 77)).astype(index)
    with jax.enable_x64(True), jax.default_device(ours):
        rows, flat = jax.jit(lambda x, i: (jnp.take_along_axis(x, i, 1, mode="clip"), x[:, 0][i]))(x, i)
    np.testing.assert_array_equal(rows, np.take_along_axis(x, np.clip(np.where(i < 0, i + 50, i), 0, 49).astype(np.int64), 1))
    np.testing.assert_array_equal(flat, x[np.clip(np.where(i < 0, i + 9, i), 0, 8), 0])


# Through i32, in vectors; what does not fit becomes the nearest that does, and NaN 0.
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16], ids=lambda t: t.__name__)
@pytest.mark.parametrize("source", [np.float16, np.float32, np.float64], ids=lambda t: t.__name__)
def test_conversions_to_narrow_integers(ours, source, dtype):
    x = np.array([0, -0.0, 0.9, -0.9, 127.9, 128, -128.9, -129, 255.5, 256, 32767.9, -32769, 65535.5, 65504, 1e30, -1e30,
                  np.inf, -np.inf, np.nan, 1e-40] * 5)
    with np.errstate(over="ignore"):
        x = x.astype(source)
    limits = np.iinfo(dtype)
    with jax.enable_x64(True), jax.default_device(ours):
        got = jax.jit(lambda x: jax.lax.convert_element_type(x, dtype))(x)
    wanted = np.clip(np.trunc(np.nan_to_num(x.astype(np.float64), nan=0)), limits.min, limits.max).astype(dtype)
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("source", [jnp.float16, jnp.bfloat16, np.float32, np.float64], ids=lambda t: t.__name__)
@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64], ids=lambda t: t.__name__)
def test_conversions_to_wide_integers(ours, source, dtype):
    """Towards zero; the nearest that fits, and 0 for NaN."""
    ends = [float(np.iinfo(dtype).min), float(np.iinfo(dtype).max)]
    with np.errstate(all="ignore"):
        x = np.array([0.5, -0.5, -1.5, 2.99, 255.9, -3e4, 1e9, np.inf, -np.inf, np.nan, 1e30, -1e30] + ends, np.float64).astype(source)
    edges = x[-2:]
    x = np.tile(np.concatenate([x, np.nextafter(edges, source(0)) if source is not jnp.bfloat16 else edges]), 7)
    with jax.enable_x64(True), jax.default_device(ours):
        got = np.asarray(jax.jit(lambda x: x.astype(dtype))(x))
    exact = [0 if np.isnan(v) else min(max(v, np.iinfo(dtype).min), np.iinfo(dtype).max) for v in x.astype(np.float64).tolist()]
    assert [int(v) for v in exact] == got.tolist()


# Sums along rows, whichever way the operands lie.
@pytest.mark.parametrize("form", ["bi,bi->b", "bi,ib->b", "ib,ib->b", "abij,baji->ab", "bi,bi->"])
@pytest.mark.parametrize("length", [3, 17, 300])
def test_products_of_rows_with_rows(ours, form, length):
    random = np.random.default_rng(0)
    sizes = {"a": 5, "b": 70, "i": length, "j": 4}
    x, y = (random.normal(size=[sizes[d] for d in dims]).astype(np.float32) for dims in form.split("->")[0].split(","))
    with jax.default_device(ours):
        got = jax.jit(lambda x, y: jnp.einsum(form, x, y))(x, y)
    np.testing.assert_allclose(got, np.einsum(form, x.astype(np.float64), y), rtol=1e-4, atol=1e-4)


# The last is copied by several threads.
@pytest.mark.parametrize("dtype", [np.bool_, np.int16, np.float32, np.complex64], ids=lambda t: t.__name__)
@pytest.mark.parametrize("shape, axis, count", [((4,), 0, 60), ((3, 4), 1, 200), ((2, 5, 3), 1, 50), ((2, 70_000), 1, 52)],
                         ids=str)
def test_concatenation_of_many_arrays(ours, dtype, shape, axis, count):
    random, arrays = np.random.default_rng(0), []
    for i in range(count):
        extents = list(shape)
        extents[axis] = shape[axis] * (i % 3) // 2  # some have no elements
        arrays.append(random.integers(0, 100, extents).astype(dtype))
    with jax.default_device(ours):
        joined = jax.jit(lambda *x: jnp.concatenate(x, axis))(*arrays)
    np.testing.assert_array_equal(joined, np.concatenate(arrays, axis))


@pytest.mark.parametrize("shape", [(5, 300), (3, 4, 65), (2, 3, 1), (130, 7), (0, 9), (6, 0), (2000,)], ids=str)
def test_rows_with_by_products(both, shape):
    """What a layer keeps for its gradient: an element for each row, written beside the row's."""
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)

    def layer(x, scale):
        total = x.sum(-1)
        centred = x - (total / max(shape[-1], 1))[..., None]
        spread = jnp.sqrt((centred ** 2).sum(-1, keepdims=True) + 1) * scale
        e = jnp.exp(centred)
        return centred / spread, spread, total * 2, e, e.sum(-1)

    for ours, theirs in zip(*both(layer, x, np.float32(3))):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("first, second", [(200_001, 5), (5, 200_001), (90_001, 90_003), (1, 150_000)])
def test_computed_pieces_in_chunks_of_a_row(ours, first, second):
    """Chunks beside a piece once computed some of their elements as that piece's, or a second time in place."""
    rng = np.random.default_rng(first)
    a, b, c = (rng.standard_normal(n, np.float32) for n in (first, second, first + second))
    wanted = np.exp(np.sin(c.astype(np.float64)) + np.concatenate([np.cos(a), b]))
    run = jax.jit(lambda a, b, c: jnp.exp(jnp.sin(c) + jnp.concatenate([jnp.cos(a), b])), donate_argnums=2)
    np.testing.assert_allclose(run(*jax.device_put((a, b, c), ours)), wanted, rtol=1e-4)


@pytest.mark.parametrize("shape", [(7, 9), (61, 127), (700, 633)], ids=str)
def test_updates_of_slices_at_known_places(both, shape):
    """Of what is there, of what lies beside it, and of rows and columns alone; donated or not."""
    x = np.random.default_rng(0).standard_normal(shape, np.float32)

    def update(x):
        inner = x.at[1:-1, 1:-1].add(0.1 * (x[2:, 1:-1] + x[:-2, 1:-1] - 2 * x[1:-1, 1:-1]))
        edges = inner.at[0].set(0).at[-1].multiply(2).at[:, 0].set(inner[:, 1]).at[2, 3].add(5).at[:, -1].max(x[:, 0])
        return inner * 2, edges, jnp.zeros_like(x).at[1:3, 2:-2].set(jnp.exp(x[1:3, 2:-2])), x.at[:-1].subtract(x[1:]).at[1:].min(0.5)

    for one, other in zip(*both(update, x)):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)
    ours, theirs = both(lambda x: jax.jit(lambda x: x.at[1:].add(jnp.sin(x[1:])), donate_argnums=0)(x + 1), x)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)


def test_parts_along_outer_dimensions(both):
    """Each stretch of an outer loop computes the part that it has, whether threads begin within it or not."""
    x = np.random.default_rng(0).standard_normal((5, 47, 213), np.float32)

    def parts(x):
        stacked = jnp.stack([jnp.exp(x[0]), jnp.roll(x[1] * x[2], (3, -2), (0, 1)), jnp.pad(x[3, 2:-1], ((1, 2), (0, 0)))])
        shifted = jnp.concatenate([x[:, -2:] * 2, jnp.abs(x[:, :-2])], 1)
        return stacked, shifted, jnp.roll(jnp.roll(jnp.sqrt(jnp.abs(x)), 2, 0), -46, 1) - x, jnp.pad(x * x, ((1, 0), (2, 3), (0, 0)))

    for one, other in zip(*both(parts, np.tile(x, (1, 4, 1)))):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_pieces_in_blocks_of_rows(both):
    """Blocks beside the first row, which is read from another place, once wrote that row again."""
    x = np.random.default_rng(0).standard_normal((40, 96), np.float32)
    ours, theirs = both(lambda x: jnp.roll(x, 1, 0).max(-1), x)
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("donated", [0, 1, (0, 1)], ids=str)
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)], ids=str)
@pytest.mark.parametrize("shape", [(40, 96), (7, 33), (5, 6, 48)], ids=str)
def test_rows_that_a_later_stage_reads_again(ours, shape, order, donated):
    """By-products of the rows once took the place of what other results of one element a row are computed from."""
    rng = np.random.default_rng(0)
    x, scale = rng.standard_normal(shape, np.float32), rng.standard_normal(shape[:-1], np.float32)

    def layer(x, scale, exp=jnp.exp):
        total, slope = x.sum(-1), exp(scale)
        results = x * total[..., None], total * slope, slope
        return [results[i] for i in order]

    found = jax.jit(layer, donate_argnums=donated)(*jax.device_put((x, scale), ours))
    for ours, wanted in zip(found, layer(x.astype(np.float64), scale.astype(np.float64), np.exp)):
        np.testing.assert_allclose(ours, wanted, rtol=1e-4, atol=1e-4)


def softmax(x, np):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def normalised(x, np):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-3)


def scaled_by_rows(x, np):
    """Needs other rows as well, which must be there still."""
    return x / np.sqrt((x * x).sum(-1, keepdims=True)) + x.sum(-1)[::-1, ..., None]


@pytest.mark.parametrize("shape", [(64, 128), (40, 97), (7, 33), (1, 5000), (2, 100_000), (3, 4, 16), (1000, 10), (12, 1)],
                         ids=str)
@pytest.mark.parametrize("function", [softmax, normalised, scaled_by_rows])
def test_rows_in_the_place_of_what_they_are_computed_of(ours, function, shape):
    x = np.random.default_rng(0).standard_normal(shape, np.float32)
    wanted = function(x.astype(np.float64), np)
    found = jax.jit(lambda x: function(x, jnp), donate_argnums=0)(jax.device_put(x, ours))
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("function", [softmax, normalised])
def test_rows_take_no_memory_of_their_own(ours, function):
    """One array of 4 MB between two products, not two."""
    x, y, z = (jax.device_put(np.ones(shape, np.float32), ours) for shape in [(8192, 64), (64, 128), (128, 64)])
    compiled = jax.jit(lambda x, y, z: function(x @ y, jnp) @ z).lower(x, y, z).compile()
    assert compiled.memory_analysis().temp_size_in_bytes < 5 << 20


@pytest.mark.parametrize("columns", [5, 16, 64, 100, 512, 1001])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_elements_and_their_rows_sums_are_one_kernels_results(run, columns, dtype):
    """Exponentials that are stored and summed, as they are and less each row's maximum; squares, which cost little."""
    x = np.random.default_rng(columns).normal(size=(3, 70, columns)).astype(dtype)
    wide = x.astype(np.float64)
    shifted = np.exp(wide - wide.max(-1, keepdims=True))
    forms = [(lambda x: (jnp.exp(x), jnp.exp(x).sum(-1)), (np.exp(wide), np.exp(wide).sum(-1))),
             (lambda x: (jnp.log1p(jnp.exp(x).sum(-1)), jnp.exp(x)), (np.log1p(np.exp(wide).sum(-1)), np.exp(wide))),
             (lambda x: ((e := jnp.exp(x - x.max(-1, keepdims=True))), x.max(-1), e.sum(-1)), (shifted, wide.max(-1), shifted.sum(-1))),
             (lambda x: (x * x, (x * x).sum(-1)), (wide ** 2, (wide ** 2).sum(-1)))]
    with jax.enable_x64(dtype is np.float64):
        for form, wanted in forms:
            for found, want in zip(run(form, x), wanted, strict=True):
                np.testing.assert_allclose(found, want, rtol=1e-5 if dtype is np.float32 else 1e-12)


@pytest.mark.parametrize("rows, columns", [(1000, 3), (100_000, 2), (1_000_000, 4), (1_000_188, 3)])
def test_sums_of_short_rows_that_are_summed(ours, run, rows, columns):
    """One kernel, or two where all threads take part, with nothing of the rows' number stored between."""
    rng = np.random.default_rng(rows)
    m, v = rng.normal(size=rows).astype(np.float32), rng.normal(size=(rows, columns)).astype(np.float32)

    def energy(m, v):
        return (m * (v * v).sum(1)).sum()

    scale = float(np.abs(m).astype(np.float64) @ (v.astype(np.float64) ** 2).sum(1))
    np.testing.assert_allclose(run(energy, m, v), m.astype(np.float64) @ (v.astype(np.float64) ** 2).sum(1), atol=1e-6 * scale)
    with jax.default_device(ours):
        compiled = jax.jit(energy).lower(m, v).compile()
    assert compiled.memory_analysis().temp_size_in_bytes < 4096


def test_what_only_a_row_result_reads_is_read_before_the_row_is_overwritten(both):
    """Losses whose gradients took the place of the logits once read the label's logit after that."""
    rng = np.random.default_rng(0)
    x, w, labels = (rng.normal(size=shape).astype(np.float32) for shape in [(32, 64), (64, 16), (32, 16)])

    def losses(x, w, labels):
        logits = x @ w
        e = jnp.exp(logits - logits.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True), (logits * labels).sum(-1)

    ours, theirs = both(losses, x, w, labels)
    for one, other in zip(ours, theirs):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


def pair_forces(x, softening, axis):
    d = x[..., None, :, :] - x[..., :, None, :]
    strength = (jnp.sum(d * d, -1) + softening) ** -1.5
    return jnp.sum(d * strength[..., None], axis)


@pytest.mark.parametrize("axis", [-2, -3])
@pytest.mark.parametrize("shape", [(5, 3), (64, 3), (130, 2), (3, 67, 4), (257, 3)])
def test_forces_between_pairs(ours, shape, axis):
    """Coordinates have sums of their own, which share distances that are not stored."""
    x = np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)
    d = np.asarray(x[..., None, :, :] - x[..., :, None, :], np.float64)
    wanted = (d * ((d * d).sum(-1) + 0.01)[..., None] ** -1.5).sum(axis)
    with jax.default_device(ours):
        compiled = jax.jit(lambda x: pair_forces(x, 0.01, axis)).lower(x).compile()
    np.testing.assert_allclose(compiled(x), wanted, rtol=2e-4, atol=2e-3)
    if shape[-2] > 100:
        assert compiled.memory_analysis().temp_size_in_bytes < 16 * x.nbytes


def test_forces_of_a_potential(both):
    """A gradient sums such products over either of the bodies, and the potential is kept besides."""
    def energy(x):
        d = x[:, None] - x[None]
        inverse = 1 / (jnp.sum(d * d, -1) + jnp.eye(len(x)))
        return jnp.sum(jnp.triu(inverse ** 6 - inverse ** 3, 1))
    x = np.random.default_rng(0).uniform(0, 10, (70, 3)).astype(np.float32)
    ours, theirs = both(lambda x: jax.value_and_grad(energy)(x), x)
    for found, wanted in zip(ours, theirs):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4 * np.abs(wanted).max())


def test_what_frees_an_array_comes_first(both, ours):
    """The loss reads the logits for the last time: it is computed before the gradient's array is made."""
    rng = np.random.default_rng(0)
    x, w = (rng.normal(size=shape).astype(np.float32) for shape in [(128, 32), (32, 1024)])
    labels = rng.integers(0, 1024, 128)

    def loss(x, w):
        logits = x @ w
        return jnp.mean(jax.nn.logsumexp(logits, -1) - jnp.take_along_axis(logits, labels[:, None], 1)[:, 0])

    step = jax.value_and_grad(loss, (0, 1))
    for found, wanted in zip(*map(jax.tree.leaves, both(step, x, w))):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)
    with jax.default_device(ours):
        memory = jax.jit(step).lower(x, w).compile().memory_analysis()
    assert memory.temp_size_in_bytes < 2.5 * 128 * 1024 * 4


def test_a_transposed_array_that_is_only_looked_up_is_not_stored(both, ours):
    """The diagonal of factors, which a library writes column by column."""
    x = np.random.default_rng(0).normal(size=(300, 5, 5)).astype(np.float32)
    found, wanted = both(jnp.linalg.det, x)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    with jax.default_device(ours):
        memory = jax.jit(jnp.linalg.det).lower(x).compile().memory_analysis()
    assert memory.temp_size_in_bytes < 1.5 * x.nbytes


@pytest.mark.parametrize("rows, columns", [(300, 200), (1001, 77), (64, 2050), (1, 5000), (3, 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_matrices_that_are_computed_for_a_vector_are_not_stored(ours, rows, columns, dtype):
    """Kernels of Gaussian processes, weights of 8 bits; by rows, by columns and in batches, and two readers of one."""
    rng = np.random.default_rng(rows)
    a, x, y = (rng.normal(size=shape).astype(dtype) for shape in [(rows, columns), (columns,), (rows,)])
    few = rng.integers(-128, 128, (rows, columns), np.int8)
    wide = np.exp(-a.astype(np.float64) ** 2)
    forms = [(lambda a, x, y, few: jnp.exp(-a * a) @ x, wide @ x),
             (lambda a, x, y, few: y @ jnp.exp(-a * a), y @ wide),
             (lambda a, x, y, few: jnp.exp(-a * a) @ x[:, None], wide @ x[:, None]),
             (lambda a, x, y, few: jnp.einsum("ij,ijk->k", y[None], jnp.exp(-a * a)[None]), y @ wide),
             (lambda a, x, y, few: (few.astype(dtype) * y[:, None]) @ x, few * y.astype(np.float64)[:, None] @ x),
             (lambda a, x, y, few: jnp.einsum("ij,ij->i", jnp.exp(-a * a), a), (wide * a).sum(1)),
             (lambda a, x, y, few: jax.vmap(lambda s: jnp.exp(-a * a * s) @ x)(jnp.ones(3, dtype)), np.stack([wide @ x] * 3)),
             (lambda a, x, y, few: jnp.exp(-(y[:, None] - x) ** 2) @ x, np.exp(-(y.astype(np.float64)[:, None] - x) ** 2) @ x)]
    with jax.enable_x64(dtype is np.float64), jax.default_device(ours):
        for form, wanted in forms:
            compiled = jax.jit(form).lower(a, x, y, few).compile()
            tolerance = 1e-5 if dtype is np.float32 else 1e-13
            scale = np.abs(wanted).max() + 128
            np.testing.assert_allclose(compiled(a, x, y, few), wanted, rtol=tolerance, atol=tolerance * scale)
            if a.size >= 1 << 15:
                assert compiled.memory_analysis().temp_size_in_bytes < a.nbytes / 4


# Of types for which no function of products has a form of its own: in any place, with what follows, and long.
@pytest.mark.parametrize("dtype", [jnp.bool_, jnp.int8, jnp.uint32, jnp.float16, jnp.bfloat16, jnp.float8_e4m3fn, jnp.complex64], ids=lambda t: t.__name__)
@pytest.mark.parametrize("rows, terms", [(3, 5), (130, 517), (9, 40_000)])
def test_products_of_vectors_of_every_type(ours, dtype, rows, terms):
    rng = np.random.default_rng(rows)
    exact = np.complex128 if jnp.issubdtype(dtype, jnp.complexfloating) else np.float64 if jnp.issubdtype(dtype, jnp.floating) else np.int64
    few = [np.asarray(rng.integers(-3, 4, shape) * (1 + 1j if exact is np.complex128 else 1)).astype(np.dtype(dtype))
           for shape in [(rows, terms), (terms,), (rows,)]]
    forms = ["rk,k->r", "r,rk->k", "rk,rk->r", "k,k->", "brk,bk->br", "rk,kb->rb"]
    with jax.enable_x64(True), jax.default_device(ours):
        for form in forms:
            x, y = form.split("->")[0].split(",")
            a = {"rk": few[0], "r": few[2], "k": few[1], "brk": few[0][None]}[x]
            b = {"k": few[1], "rk": few[0], "bk": few[1][None], "kb": few[1][:, None]}[y]
            if dtype is jnp.bool_:
                wanted = np.einsum(form, a.astype(np.int64), b) > 0
            else:
                wanted = np.einsum(form, a.astype(exact), b.astype(exact))
                with np.errstate(over="ignore"):  # of f16
                    wanted = wanted.astype(np.float32 if exact is np.float64 else exact).astype(np.dtype(dtype))
            got = np.asarray(jax.jit(lambda a, b: jnp.einsum(form, a, b))(a, b))
            np.testing.assert_array_equal(got.astype(exact), wanted.astype(exact), err_msg=form)


# What follows sums of columns knows them by another shape: theirs with a dimension of one element more.
@pytest.mark.parametrize("shape", [(64, 48), (300, 1000), (7, 5, 64, 96), (40, 1)])
def test_what_follows_sums_of_columns_that_keep_their_dimension(both, shape):
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    for follow in (lambda s, x: jnp.tanh(s / 9), lambda s, x: s * 2 + x[..., :1, :], lambda s, x: (jnp.sin(s), s + x.max(-2, keepdims=True))):
        ours, theirs = both(lambda x: follow(x.sum(-2, keepdims=True), x), x)
        for got, wanted in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs)):
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("index", [np.int8, np.uint8, np.int32, np.uint32, np.int64])
@pytest.mark.parametrize("mode", ["drop", "clip", "promise_in_bounds"])
@pytest.mark.parametrize("method", ["add", "set", "max"])
def test_one_update_of_each_row_of_a_constant(both, index, mode, method):
    """A scatter that becomes a selection; places beyond the row are nobody's."""
    size = 300
    places = np.array([0, 5, 299 if index not in (np.int8, np.uint8) else 100, 7, 120], index)
    if mode != "promise_in_bounds":
        places[3] = -1 if np.issubdtype(index, np.signedinteger) else 255
        places[1] = 127 if index in (np.int8, np.uint8) else 300
    updates = np.array([1, -0.0, np.nan, 4, np.inf], np.float32)

    def put(places, updates):
        rows = jnp.full((5, size), 0.0, np.float32)
        at = jax.vmap(lambda row, i, u: getattr(row.at[i[None]], method)(u[None], mode=mode, wrap_negative_indices=False))
        return at(rows, places, updates)

    with jax.enable_x64(True):
        ours, theirs = both(put, places, updates)
    np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(np.signbit(ours), np.signbit(theirs))


def test_gradient_of_a_cross_entropy(both):
    def loss(logits, labels):
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1).mean()

    logits = np.random.default_rng(0).normal(size=(3, 17, 1000)).astype(np.float32)
    labels = np.random.default_rng(1).integers(1000, size=(3, 17)).astype(np.int32)
    ours, theirs = both(jax.value_and_grad(loss), logits, labels)
    for got, wanted in zip(ours, theirs):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-8)


def test_carried_values_agree_with_cpu(python):
    python(comparing("isthmus") + CARRIED, JAX_PLATFORMS="isthmus,cpu")
