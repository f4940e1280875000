"""The plugin over a backend of functions (libisthmus_test.so), driven by pypjrt and by JAX itself.

No program is compiled here, so these tests say what the C API layer and the runtime do alone.
"""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLUGIN = ROOT / "build/release/pjrt/libisthmus_test.so"

pytestmark = pytest.mark.skipif(not PLUGIN.exists(), reason="the test plugin is not built")

ARRAYS = """
import itertools
import jax
import ml_dtypes
import numpy as np

jax.config.update("jax_enable_x64", True)
names = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
         "float16", "float32", "float64", "complex64", "complex128"]
names += [getattr(ml_dtypes, n) for n in [
    "bfloat16", "float8_e5m2", "float8_e4m3fn", "float8_e4m3b11fnuz", "float8_e5m2fnuz",
    "float8_e4m3fnuz", "float8_e4m3", "float8_e3m4", "float8_e8m0fnu", "float4_e2m1fn",
    "int4", "uint4", "int2", "uint2"]]
random = np.random.default_rng(0)
count = 0
for name, shape in itertools.product(names, [(), (0,), (3, 0, 2), (7,), (3, 5), (2, 3, 4, 5)]):
    dtype = np.dtype(name)
    array = random.integers(0, 2, shape).astype(dtype)
    if dtype.itemsize > 1:
        array = (random.standard_normal(shape) * 100).astype(dtype)
    views = [array]
    if array.ndim >= 1 and array.size:
        views += [array[::-1], np.broadcast_to(array[:1], array.shape)]
    if array.ndim >= 2:
        views += [np.asfortranarray(array), array.T, array[..., ::2], array[1:, :]]
    for view in views:
        back = np.asarray(jax.device_put(view))
        assert back.dtype == view.dtype and back.shape == view.shape, (name, shape)
        assert back.tobytes() == np.ascontiguousarray(view).tobytes(), (name, shape, view.strides)
        count += 1
print("checked", count)
"""

LIFE = """
import jax
import numpy as np
from jax.sharding import SingleDeviceSharding

device = jax.devices()[0]
assert device.platform == "cpu"
array = jax.device_put(np.arange(6.0, dtype=np.float32).reshape(2, 3))
host = jax.device_put(array, SingleDeviceSharding(device, memory_kind="pinned_host"))
assert host.sharding.memory_kind == "pinned_host"
shared = np.from_dlpack(array)
array.delete()
assert array.is_deleted()
np.testing.assert_array_equal(np.asarray(host), shared)
try:
    np.asarray(array)
except RuntimeError as error:
    assert "deleted" in str(error)
else:
    raise AssertionError("a deleted array was read")
assert device.memory_stats()["bytes_limit"] > 0
print("fine")
"""


def run(code):
    environment = dict(
        os.environ, PJRT_NAMES_AND_LIBRARY_PATHS=f"isthmus:{PLUGIN}", JAX_PLATFORMS="isthmus"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stderr[-3000:]
    return result.stdout


def test_arrays_of_every_type_and_stride_come_back():
    assert int(run(ARRAYS).split()[-1]) > 500


def test_arrays_are_moved_shared_and_deleted():
    assert run(LIFE).split() == ["fine"]


def test_pypjrt_conform_finds_no_failure():
    pytest.importorskip("pypjrt")
    result = subprocess.run(
        [sys.executable, "-m", "pypjrt.conform", "-v", str(PLUGIN)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout
    assert " 0 FAIL" in result.stdout
