"""Kernels of platform xpu by each OpenCL driver that is installed: updates that meet."""

import importlib.util
import pathlib

import pytest

_spec = importlib.util.spec_from_file_location("xpu_programs", pathlib.Path(__file__).with_name("xpu_test.py"))
_programs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_programs)
COMPARE, xpu = _programs.COMPARE, _programs.xpu

# Work-items that update the same elements, which only forms whose lanes are work-items have.
SCATTERS = """
    i = random.integers(0, 7, (300, 1)).astype(np.int32)
    def scatter(op, dtype, **more):
        numbers = lax.ScatterDimensionNumbers((1,), (0,), (0,))
        x, u = random.integers(0, 9, (7, 5)), random.integers(0, 3, (300, 5))
        compare(lambda x, u: op(x, i, u, numbers, **more), x.astype(dtype), u.astype(dtype))
    for dtype in (jnp.int8, jnp.uint16, jnp.int32, jnp.uint32, jnp.float16, jnp.bfloat16, jnp.float32):
        scatter(lax.scatter_add, dtype)
        scatter(lax.scatter_min, dtype)
        scatter(lax.scatter_max, dtype)
    scatter(lax.scatter_add, jnp.complex64)
    scatter(lax.scatter_mul, jnp.uint32)
    compare(lambda x: (x.at[i[:, 0]].add(1), jnp.bincount(i[:, 0], length=9)), jnp.arange(9))
    compare(lambda x: x.at[jnp.array([3, 99, -1])].add(1., mode='drop'), jnp.zeros(5))
    compare(lambda x: x.at[jnp.array([4, 1, 3])].set(jnp.array([1., 2, 3]), unique_indices=True), jnp.zeros(5))
    def pool(x, window, strides):
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, window, window, 1), (1, strides, strides, 1), 'SAME').sum()
    compare(lambda x: (jax.grad(pool)(x, 2, 2), jax.grad(pool)(x, 3, 1)), array(2, 9, 8, 3))
"""


@pytest.mark.parametrize("form", ["", "groups", "elements"])
def test_scatters_agree_with_cpu(xpu, form):
    xpu(COMPARE + SCATTERS, ISTHMUS_OPENCL_KERNELS=form)
