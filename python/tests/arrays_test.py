"""Arrays: types, transfers, donation, asynchronous errors, memory; beside NumPy."""

import concurrent.futures

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

DTYPES = [np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
          np.float16, np.float32, np.float64, np.complex64, np.complex128, ml_dtypes.bfloat16,
          ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.int4, ml_dtypes.uint4]


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (2, 0, 3), (1, 1, 7, 2)])
def test_round_trip(ours, dtype, shape):
    values = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    with jax.enable_x64(True):
        array = jax.device_put(values, ours)
        back = np.asarray(array)
    assert back.dtype == values.dtype
    np.testing.assert_array_equal(back, values)


def test_non_contiguous_input(ours):
    values = np.arange(24, dtype=np.float32).reshape(4, 6)
    for view in (values.T, values[::2, 1::2], values[::-1]):
        np.testing.assert_array_equal(np.asarray(jax.device_put(view, ours)), view)


def test_input_may_change_after_transfer(ours):
    values = np.ones(1000, np.float32)
    array = jnp.array(values, device=ours)
    values[:] = 7
    assert float(array.sum()) == 1000


def test_copies_between_the_clients(ours, theirs):
    values = np.arange(10.0, dtype=np.float32)
    there = jax.device_put(jax.device_put(values, ours), theirs)
    assert there.device == theirs
    back = jax.device_put(there, ours)
    assert back.device == ours
    np.testing.assert_array_equal(np.asarray(back), values)


def test_copies_between_devices():
    first, second = jax.devices("isthmus")[:2]
    array = jax.device_put(jax.device_put(np.arange(5), first) + 1, second)
    assert array.device == second
    np.testing.assert_array_equal(np.asarray(array * 2), [2, 4, 6, 8, 10])


def test_donation_takes_the_input(ours):
    array = jax.device_put(np.zeros((64, 64), np.float32), ours)
    array = jax.block_until_ready(array + 1)
    address = array.unsafe_buffer_pointer()
    result = jax.jit(lambda x: x * 2, donate_argnums=0)(array)
    assert array.is_deleted()
    assert result.unsafe_buffer_pointer() == address
    np.testing.assert_array_equal(np.asarray(result), np.full((64, 64), 2.0))


def test_donated_input_cannot_be_used(ours):
    array = jax.device_put(np.zeros(8, np.float32), ours) + 1
    jax.jit(lambda x: x * 2, donate_argnums=0)(array)
    with pytest.raises((RuntimeError, ValueError), match="deleted|donated"):
        array + 1


def test_same_argument_twice(ours):
    array = jax.device_put(np.arange(4.0, dtype=np.float32), ours)
    np.testing.assert_array_equal(jax.jit(lambda a, b: a + b)(array, array), [0, 2, 4, 6])


def test_output_that_is_an_input(ours):
    array = jax.device_put(np.arange(4.0, dtype=np.float32), ours)
    first, second, third = jax.jit(lambda a: (a, a, a + 1))(array)
    np.testing.assert_array_equal(first, array)
    np.testing.assert_array_equal(second, array)
    np.testing.assert_array_equal(third, array + 1)


def test_program_without_inputs(ours):
    with jax.default_device(ours):
        np.testing.assert_array_equal(jax.jit(lambda: jnp.arange(5) * 2)(), [0, 2, 4, 6, 8])


def test_large_constant(ours):
    values = np.random.default_rng(0).normal(size=(512, 512)).astype(np.float32)
    with jax.default_device(ours):
        np.testing.assert_array_equal(jax.jit(lambda x: x + values)(np.float32(0)), values)


def test_dlpack_exchanges_with_numpy_in_place(ours):
    memory = np.zeros(1024 + 16, np.float32)
    begin = -memory.ctypes.data % 64 // 4
    values = memory[begin:begin + 1024]  # aligned, as no copy needs
    array = jnp.from_dlpack(values)
    assert array.device.client is ours.client
    assert array.unsafe_buffer_pointer() == values.ctypes.data
    array = jax.block_until_ready(jax.device_put(np.arange(5.0, dtype=np.float32), ours) + 1)
    back = np.from_dlpack(array)
    assert back.ctypes.data == array.unsafe_buffer_pointer()
    np.testing.assert_array_equal(back, [1, 2, 3, 4, 5])


def test_dlpack_follows_the_default_device(theirs):
    with jax.default_device(theirs):
        assert jnp.from_dlpack(np.zeros(4, np.float32)).device.client is theirs.client


def test_many_threads(ours):
    step = jax.jit(lambda x, n: jnp.tanh(x) * n)

    def work(n):
        x = jax.device_put(np.full(1000, 0.5, np.float32), ours)
        for _ in range(50):
            x = step(x, np.float32(n))
        return np.asarray(x)

    expected = [work(n) for n in range(8)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for got, wanted in zip(pool.map(work, range(8)), expected):
            np.testing.assert_array_equal(got, wanted)


def test_memory_is_given_back(python):
    result = python("""
        import jax, numpy as np, resource
        f = jax.jit(lambda x: x + 1)
        x = jax.device_put(np.zeros(1 << 20, np.float32))
        for _ in range(20):
            x = f(x)
        x.block_until_ready()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(500):
            x = f(x)
        x.block_until_ready()
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert grown < 100_000, f"{grown} KiB more after 500 results of 4 MiB"
        assert float(x[0]) == 520
    """, JAX_PLATFORMS="isthmus")
    assert result.returncode == 0
