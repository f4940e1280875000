"""What becomes kernels, beside JAX's CPU client: regressions of whole programs."""

import jax.numpy as jnp
import numpy as np
import pytest


def test_kernels_that_differ_in_the_order_of_operands_are_two(both):
    """They share operations and types, and one was once run for both."""
    ours, theirs = both(lambda p, x: (jnp.where(p, x, 0.0), jnp.where(p, 0.0, x)),
                        np.array([True, False]), np.array([3, 4], np.float32))
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("find", [jnp.argmax, jnp.argmin])
@pytest.mark.parametrize("shape", [(3, 9), (3, 1000)])
def test_first_of_several_nan(both, find, shape):
    """Lanes meet elements in an order of their own, and once gave a later one."""
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    x[:, [shape[1] // 3, shape[1] // 2]] = np.nan
    ours, theirs = both(lambda x: find(x, axis=1), x)
    np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(ours, shape[1] // 3)
