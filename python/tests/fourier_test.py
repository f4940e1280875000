"""Fourier transforms beside JAX's CPU client: short lines equal to the last bit, since StableHLO's own
tests have its roundings as expected values."""

import jax.numpy as jnp
import numpy as np
import pytest

# Every radix, products of several, primes that go through a convolution, and lines that are split.
LENGTHS = [1, 2, 3, 4, 5, 7, 8, 11, 13, 15, 16, 17, 30, 36, 64, 77, 97, 113, 127, 139, 200, 243, 308,
           1000, 1001, 1010, 1022, 1024, 4096, 12000, 20000]
# Longer lines are split in other ways, for speed.
EXACT_BELOW = 2048


def assert_equal(ours, theirs, length=1):
    assert ours.dtype == theirs.dtype
    if length < EXACT_BELOW:
        np.testing.assert_array_equal(ours, theirs)
    else:
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6 * np.abs(theirs).max())


@pytest.mark.parametrize("n", LENGTHS)
def test_lengths(both, n):
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
def test_dimensions(both, shape):
    rng = np.random.default_rng(len(shape))
    real = rng.standard_normal((2, *shape)).astype(np.float32)
    full = (real + 1j * rng.standard_normal((2, *shape))).astype(np.complex64)
    axes = tuple(range(1, 1 + len(shape)))
    half = full[..., :shape[-1] // 2 + 1]
    assert_equal(*both(lambda x: jnp.fft.fftn(x, axes=axes), full))
    assert_equal(*both(lambda x: jnp.fft.ifftn(x, axes=axes), full))
    assert_equal(*both(lambda x: jnp.fft.rfftn(x, axes=axes), real))
    assert_equal(*both(lambda x: jnp.fft.irfftn(x, shape, axes=axes), half))
