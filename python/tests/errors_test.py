"""What cannot be done is refused with a useful message, and the process lives on."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest


def test_unknown_custom_call(ours):
    def calls_nothing(x):
        return jax.ffi.ffi_call("no_such_target", jax.ShapeDtypeStruct((3,), np.float32))(x)

    with jax.default_device(ours):
        with pytest.raises(Exception) as caught:
            jax.jit(calls_nothing)(np.zeros(3, np.float32)).block_until_ready()
        message = str(caught.value)
        assert "no_such_target" in message, message
        assert "errors_test.py" in message, "the message does not name the Python line: " + message
        # The next program runs.
        assert float(jax.jit(lambda x: x + 1)(1.0)) == 2.0


def test_wrong_number_of_arguments(ours):
    compiled = jax.jit(lambda a, b: a + b).lower(
        jax.ShapeDtypeStruct((2,), np.float32), jax.ShapeDtypeStruct((2,), np.float32)).compile()
    with pytest.raises(TypeError):
        compiled(np.zeros(2, np.float32))


def test_program_that_is_not_one(ours):
    from jaxlib import xla_client
    devices = xla_client.DeviceList((ours,))
    for text in ["", "nonsense", "module {", "module { func.func @main() { return %0 : f32 } }"]:
        with pytest.raises(Exception):
            ours.client.compile_and_load(text, devices, xla_client.CompileOptions())
    assert float(jnp.add(1, 1)) == 2.0


def test_too_much_memory(ours):
    with jax.default_device(ours):
        with pytest.raises(Exception, match="RESOURCE_EXHAUSTED|[Oo]ut of memory|too large|allocate"):
            jax.jit(lambda: jnp.zeros((1 << 22, 1 << 22), jnp.float32) + jnp.arange(1.0 * (1 << 22)))(
            ).block_until_ready()
        assert float(jnp.add(1, 1)) == 2.0


def test_malformed_variable_is_an_error(python):
    result = python("import jax; print(jax.numpy.arange(3))", check=False,
                    JAX_PLATFORMS="isthmus", ISTHMUS_NUM_THREADS="several")
    assert result.returncode == 0 or "ISTHMUS_NUM_THREADS" in result.stderr
