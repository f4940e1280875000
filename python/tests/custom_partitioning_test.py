"""jax.experimental.custom_partitioning: functions of the user say how a call is split."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.custom_partitioning import custom_partitioning
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P


@pytest.fixture
def mesh():
    return Mesh(np.array(jax.devices("isthmus")[:2]), ("x",))


def matmul(partition):
    """A product of matrices that `partition` splits."""
    function = custom_partitioning(lambda a, b: a @ b)
    function.def_partition(partition=partition, sharding_rule="i k, k j -> i j",
                           reduction_factors=("k",))
    return function


def test_blocks_of_rows(mesh):
    seen = []

    def partition(mesh, arg_shapes, result_shape):
        seen.append((arg_shapes[0].sharding.spec, result_shape.sharding.spec))
        def lower(a, b):
            assert a.shape == (4, 6)
            # What only this function does, so that it cannot be the plain product.
            return a @ b + 1
        return mesh, lower, result_shape.sharding, tuple(s.sharding for s in arg_shapes)

    a, b = np.arange(48.0).reshape(8, 6), np.ones((6, 4))
    f = matmul(partition)
    result = jax.jit(f)(jax.device_put(a.astype("f"), NamedSharding(mesh, P("x"))),
                        jax.device_put(b.astype("f"), NamedSharding(mesh, P())))
    np.testing.assert_array_equal(result, a @ b + 1)
    assert result.sharding.spec == P("x")
    assert seen[0] == (P("x", None), P("x", None))


def test_sums_of_its_own(mesh):
    def partition(mesh, arg_shapes, result_shape):
        def lower(a, b):
            return jax.lax.psum(jnp.dot(a, b), "x")
        shardings = NamedSharding(mesh, P(None, "x")), NamedSharding(mesh, P("x", None))
        return mesh, lower, NamedSharding(mesh, P()), shardings

    a, b = np.arange(48.0).reshape(8, 6), np.arange(24.0).reshape(6, 4)
    f = matmul(partition)
    with jax.sharding.set_mesh(mesh):
        # Split otherwise, so that the operands must be moved first.
        result = jax.jit(lambda a, b: f(a, b) * 2)(
            jax.device_put(a.astype("f"), NamedSharding(mesh, P("x"))),
            jax.device_put(b.astype("f"), NamedSharding(mesh, P())))
    np.testing.assert_array_equal(result, 2 * (a @ b))


def test_error_of_the_function(mesh):
    def partition(mesh, arg_shapes, result_shape):
        raise ValueError("there is no way to split this")

    a = jax.device_put(np.ones((4, 4), "f"), NamedSharding(mesh, P("x")))
    with pytest.raises(Exception, match="there is no way to split this"):
        jax.jit(matmul(partition))(a, a)
