"""What becomes kernels, beside JAX's CPU client: regressions of whole programs."""

import jax.numpy as jnp
import numpy as np


def test_kernels_that_differ_in_the_order_of_operands_are_two(both):
    """They share operations and types, and one was once run for both."""
    ours, theirs = both(lambda p, x: (jnp.where(p, x, 0.0), jnp.where(p, 0.0, x)),
                        np.array([True, False]), np.array([3, 4], np.float32))
    np.testing.assert_array_equal(ours, theirs)
