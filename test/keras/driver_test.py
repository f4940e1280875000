"""TensorFlow without what a platform of devices needs, in processes of their own."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("tensorflow")

from device_type import DEVICE  # noqa: E402

LIST = """
import tensorflow as tf
print("types:", sorted({device.device_type for device in tf.config.list_physical_devices()}))
with tf.device("/CPU:0"):
    print("sum:", tf.reduce_sum(tf.ones(3)).numpy())
"""


def run(code, **environment):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240,
                          env={**os.environ, **environment})


@pytest.mark.skipif(DEVICE != "XPU", reason="of platform xpu")
def test_goes_on_without_a_driver():
    done = run(LIST, ISTHMUS_OPENCL_LIBRARY="/nowhere/libOpenCL.so")
    assert done.returncode == 0, done.stderr[-2000:]
    assert "XPU" not in done.stdout and "sum: 3.0" in done.stdout
    assert "TensorFlow has no XPU devices: no OpenCL library at /nowhere/libOpenCL.so" in done.stderr


def test_a_number_of_devices_that_is_none():
    done = run(LIST, ISTHMUS_NUM_DEVICES="many")
    assert done.returncode == 1 and "ISTHMUS_NUM_DEVICES: expected a positive integer" in done.stderr
