"""Arrays in other layouts than row-major, at the border of programs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.layout import Format, Layout, with_layout_constraint

VALUES = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def formatted(device, major_to_minor):
    return Format(Layout(major_to_minor), jax.sharding.SingleDeviceSharding(device))


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (1, 2, 0)])
def test_device_put(ours, order):
    array = jax.device_put(VALUES, formatted(ours, order))
    assert array.format.layout.major_to_minor == order
    host = np.asarray(array)
    np.testing.assert_array_equal(host, VALUES)
    # The host has the array as it lies in memory, without a transpose on the way.
    assert sorted(range(3), key=lambda d: -host.strides[d]) == list(order)


@pytest.mark.parametrize("given, wanted", [((2, 0, 1), (0, 1, 2)), ((0, 1, 2), (1, 2, 0)),
                                           ((2, 1, 0), (1, 0, 2))])
def test_arguments_and_results(ours, given, wanted):
    function = jax.jit(lambda x: jnp.sin(x) * 2 + x[:, ::-1], in_shardings=formatted(ours, given),
                       out_shardings=formatted(ours, wanted))
    result = function(jax.device_put(VALUES, formatted(ours, given)))
    assert result.format.layout.major_to_minor == wanted
    np.testing.assert_allclose(result, np.sin(VALUES) * 2 + VALUES[:, ::-1], rtol=1e-6)


def test_a_program_takes_the_layout_that_comes(ours):
    double = jax.jit(lambda x: x * 2)
    for order in [(0, 1, 2), (2, 1, 0), (1, 2, 0)]:
        result = double(jax.device_put(VALUES, formatted(ours, order)))
        np.testing.assert_array_equal(result, VALUES * 2)


def test_auto_makes_a_transpose_free(ours):
    auto = Format(Layout.AUTO, jax.sharding.SingleDeviceSharding(ours))
    compiled = jax.jit(lambda x: (x * 3).T, in_shardings=auto, out_shardings=auto).lower(
        jax.ShapeDtypeStruct(VALUES.shape, VALUES.dtype)).compile()
    assert compiled.input_formats[0][0].layout.major_to_minor == (0, 1, 2)
    assert compiled.output_formats.layout.major_to_minor == (2, 1, 0)
    array = jax.device_put(VALUES, compiled.input_formats[0][0])
    np.testing.assert_array_equal(compiled(array), (VALUES * 3).T)


def test_donation_between_layouts(ours):
    array = jax.device_put(VALUES, formatted(ours, (2, 1, 0)))
    function = jax.jit(lambda x: x + 1, donate_argnums=0, in_shardings=formatted(ours, (2, 1, 0)),
                       out_shardings=formatted(ours, (2, 1, 0)))
    address = array.unsafe_buffer_pointer()
    result = function(array)
    assert array.is_deleted() and result.unsafe_buffer_pointer() == address
    np.testing.assert_array_equal(result, VALUES + 1)


def test_constraint_inside_a_program(ours):
    function = jax.jit(lambda x: with_layout_constraint(x.T, Layout((0, 1, 2))) * 2)
    np.testing.assert_array_equal(function(jax.device_put(VALUES, ours)), VALUES.T * 2)


def test_dlpack_takes_fortran_order():
    values = np.asfortranarray(np.arange(40000, dtype=np.float32).reshape(200, 200))
    array = jnp.from_dlpack(values)
    assert array.unsafe_buffer_pointer() == values.ctypes.data
    np.testing.assert_array_equal(array, values)
    np.testing.assert_array_equal(np.from_dlpack(array), values)


def test_copies_keep_values(ours, theirs):
    array = jax.device_put(VALUES, formatted(ours, (1, 2, 0)))
    np.testing.assert_array_equal(jax.device_put(array, theirs), VALUES)
    np.testing.assert_array_equal(jax.device_put(array, jax.devices("isthmus")[1]), VALUES)
    np.testing.assert_array_equal(jnp.array(array, copy=True), VALUES)
