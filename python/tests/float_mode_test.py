"""Programs run in a floating-point mode of their own, whatever the caller's thread has set."""

import ctypes

import jax
import jax.numpy as jnp
import numpy as np
import pytest

FE_UPWARD = 0x800  # of <fenv.h> on x86-64
FE_DIVBYZERO, FE_INVALID = 4, 1


@pytest.fixture
def libm():
    library = ctypes.CDLL("libm.so.6")
    before = library.fegetround()
    yield library
    library.fesetround(before)
    library.fedisableexcept(FE_DIVBYZERO | FE_INVALID)


@pytest.mark.parametrize("count", [4, 300_000])  # on the calling thread, and on the pool's
def test_rounding_of_the_caller_does_not_leak(libm, count):
    third = jax.jit(lambda x: x / 3)
    x = jnp.asarray(np.arange(1, count + 1, dtype=np.float32))
    libm.fesetround(FE_UPWARD)
    try:
        got = third(x).block_until_ready()
        assert libm.fegetround() == FE_UPWARD
    finally:
        libm.fesetround(0)
    np.testing.assert_array_equal(got, np.arange(1, count + 1, dtype=np.float32) / np.float32(3))


def test_traps_of_the_caller_do_not_fire(libm):
    divide = jax.jit(lambda x, y: x / y)
    one, zero = jnp.float32(1), jnp.float32(0)
    divide(one, one).block_until_ready()
    libm.feenableexcept(FE_DIVBYZERO | FE_INVALID)
    try:
        got = divide(one, zero).block_until_ready()
    finally:
        libm.fedisableexcept(FE_DIVBYZERO | FE_INVALID)
    assert np.isinf(got)


@pytest.mark.parametrize("count", [4, 300_000])
def test_subnormals_are_zero_as_on_the_cpu_client(both, count):
    tiny = np.finfo(np.float32).tiny
    # An operand that is subnormal, and a result that is.
    for got in both(lambda x: x * 1024, np.full(count, tiny / 4, np.float32)):
        np.testing.assert_array_equal(got, np.zeros(count, np.float32))
    for got in both(lambda x: x * np.float32(0.25), np.full(count, tiny, np.float32)):
        np.testing.assert_array_equal(got, np.zeros(count, np.float32))


def test_callbacks_see_subnormals():
    tiny = np.finfo(np.float32).tiny

    def half(x):
        return np.asarray(x) * np.float32(0.5)

    shape = jax.ShapeDtypeStruct((1,), np.float32)
    got = jax.jit(lambda x: jax.pure_callback(half, shape, x))(np.full(1, tiny, np.float32))
    assert np.asarray(got).view(np.int32)[0] == 1 << 22
