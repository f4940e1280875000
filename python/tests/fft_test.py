"""Fourier transforms of every kind, by lengths of each algorithm: against SciPy's in long double, and beside
JAX's CPU client, where short lines are equal to the last bit, since StableHLO's own tests have its roundings as
expected values."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.fft

# Primes, powers, products; the last ones are long: stages, grids, convolutions.
LENGTHS = [1, 2, 7, 16, 60, 97, 127, 625, 2048, 4099, 5000, 16384, 20014]
# Every radix, products of several, primes that go through a convolution, and lines that are split.
LENGTHS_BESIDE_JAX = [1, 2, 3, 4, 5, 7, 8, 11, 13, 15, 16, 17, 30, 36, 64, 77, 97, 113, 127, 139, 200, 243, 308,
                      1000, 1001, 1010, 1022, 1024, 4096, 12000, 20000]
# Longer lines are split in other ways than JAX's, for speed.
EXACT_BELOW = 2048


@pytest.fixture
def x64_on_our_device(ours):
    with jax.default_device(ours), jax.enable_x64(True):
        yield


def close(got, wanted, dtype):
    error = np.sqrt(np.mean(np.abs(np.asarray(got) - wanted) ** 2))
    assert error <= 6 * np.finfo(dtype).eps * np.sqrt(np.mean(np.abs(wanted) ** 2))


@pytest.mark.usefixtures("x64_on_our_device")
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("length", LENGTHS)
def test_one_dimension(length, dtype):
    rng = np.random.default_rng(0)
    for lines in [(), (3,)] if length > 4096 else [(), (3,), (20,), (0,)]:
        real = rng.standard_normal((*lines, length)).astype(dtype)
        values = (real + 1j * rng.standard_normal(real.shape)).astype(np.result_type(dtype, np.complex64))
        wide = values.astype(np.clongdouble)
        half = values[..., : length // 2 + 1]
        if not real.size:
            assert jnp.fft.fft(values).shape == real.shape
            continue
        close(jnp.fft.fft(values), scipy.fft.fft(wide), dtype)
        close(jnp.fft.ifft(values), scipy.fft.ifft(wide), dtype)
        close(jnp.fft.rfft(real), scipy.fft.rfft(real.astype(np.longdouble)), dtype)
        close(jnp.fft.irfft(half, length), scipy.fft.irfft(half.astype(np.clongdouble), length), dtype)


@pytest.mark.usefixtures("x64_on_our_device")
@pytest.mark.parametrize("shape", [(4, 5, 6), (2, 7, 11, 13), (3, 16, 16, 16), (17, 1, 19)], ids=str)
def test_three_dimensions(shape):
    rng = np.random.default_rng(0)
    real, axes = rng.standard_normal(shape), (-3, -2, -1)
    values = real + 1j * rng.standard_normal(shape)
    wide = values.astype(np.clongdouble)
    close(jnp.fft.fftn(values, axes=axes), scipy.fft.fftn(wide, axes=axes), np.float64)
    close(jnp.fft.ifftn(values, axes=axes), scipy.fft.ifftn(wide, axes=axes), np.float64)
    spectrum = scipy.fft.rfftn(real, axes=axes)
    close(jnp.fft.rfftn(real, axes=axes), spectrum, np.float64)
    close(jnp.fft.irfftn(spectrum, s=shape[-3:], axes=axes), real, np.float64)


@pytest.mark.usefixtures("x64_on_our_device")
@pytest.mark.parametrize("length", [1, 5, 8])
def test_gradient_in_a_batch(length):
    x = np.random.default_rng(0).standard_normal((4, length))
    slopes = jax.jit(jax.vmap(jax.grad(lambda x: jnp.sum(jnp.fft.irfft(jnp.fft.rfft(x), length) ** 3))))(x)
    np.testing.assert_allclose(slopes, 3 * x ** 2, rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("x64_on_our_device")
@pytest.mark.parametrize("shape", [(1,), (3, 1), (0, 1)], ids=str)
def test_one_value_back_to_none(shape):
    # Without n, irfft makes 2 (length - 1) values.
    result = jnp.fft.irfft(jnp.ones(shape, jnp.complex64))
    assert result.shape == shape[:-1] + (0,) and result.dtype == jnp.float32
    assert np.asarray(result).size == 0


def assert_equal(ours, theirs, length=1):
    assert ours.dtype == theirs.dtype
    if length < EXACT_BELOW:
        np.testing.assert_array_equal(ours, theirs)
    else:
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6 * np.abs(theirs).max())


@pytest.mark.parametrize("n", LENGTHS_BESIDE_JAX)
def test_lengths_beside_jax(both, n):
    rng = np.random.default_rng(n)
    for lines in (1, 8):
        if lines * n >= 32768:  # then the roundings depend on the number of threads
            continue
        real = rng.standard_normal((lines, n)).astype(np.float32)
        full = (real + 1j * rng.standard_normal((lines, n))).astype(np.complex64)
        half = full[:, :n // 2 + 1]
        assert_equal(*both(jnp.fft.fft, full), n)
        assert_equal(*both(jnp.fft.ifft, full), n)
        assert_equal(*both(jnp.fft.rfft, real), n)
        assert_equal(*both(lambda x: jnp.fft.irfft(x, n), half), n)


@pytest.mark.parametrize("shape", [(6, 10), (4, 15, 16), (2, 7, 1), (1, 3, 17)])
def test_dimensions_beside_jax(both, shape):
    rng = np.random.default_rng(len(shape))
    real = rng.standard_normal((2, *shape)).astype(np.float32)
    full = (real + 1j * rng.standard_normal((2, *shape))).astype(np.complex64)
    axes = tuple(range(1, 1 + len(shape)))
    half = full[..., :shape[-1] // 2 + 1]
    assert_equal(*both(lambda x: jnp.fft.fftn(x, axes=axes), full))
    assert_equal(*both(lambda x: jnp.fft.ifftn(x, axes=axes), full))
    assert_equal(*both(lambda x: jnp.fft.rfftn(x, axes=axes), real))
    assert_equal(*both(lambda x: jnp.fft.irfftn(x, shape, axes=axes), half))
