"""Long programs compile in time that grows as they do."""

import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax


def elementwise(length):
    def program(x):
        for i in range(length):
            x = lax.dynamic_update_slice(jnp.sin(x) * 0.5, x[1:2] * 2.0, (i % 7,))
        return x

    return program, [np.ones(64, np.float32)]


def layers(length):
    def program(x, w):
        for _ in range(length):
            x = jnp.tanh(x @ w)
        return x

    return program, [np.ones((16, 32), np.float32), np.full((32, 32), 0.01, np.float32)]


def unrolled_scan(length):
    def program(x, w):
        def body(carry, y):
            carry = jnp.tanh(carry * w + y)
            return carry, carry.sum()

        return lax.scan(body, x, jnp.arange(length, dtype=jnp.float32), unroll=length)

    return program, [np.ones(32, np.float32), np.full(32, 0.01, np.float32)]


def concatenation(length):
    return lambda *x: jnp.concatenate(x), [np.ones(7, np.float32)] * length


def compile_seconds(make, length):
    """CPU time of one compilation, of all threads: others on the machine do not count."""
    program, arguments = make(length)
    lowered = jax.jit(program).lower(*arguments)
    begin = time.process_time()
    lowered.compile()
    return time.process_time() - begin


@pytest.mark.parametrize("make, length", [(elementwise, 150), (layers, 150), (unrolled_scan, 20),
                                          (concatenation, 150)])
def test_compile_time_is_linear_in_the_length(make, length):
    compile_seconds(make, 10)  # what is done once
    short = min(compile_seconds(make, length) for _ in range(3))
    long = min(compile_seconds(make, 6 * length) for _ in range(2))
    # Quadratic time would be 36 times as long.
    assert long < 3 * 6 * short, f"{length}: {short:.2f} s, {6 * length}: {long:.2f} s"
