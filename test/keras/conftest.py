"""Skips everything where TensorFlow has no device of the type that is tested."""

import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
os.environ.setdefault("ISTHMUS_NUM_DEVICES", "2")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


def pytest_runtest_setup(item):
    # The modules are skipped where there is no TensorFlow.
    import tensorflow
    from device_type import DEVICE

    if not tensorflow.config.list_physical_devices(DEVICE):
        pytest.skip(f"TensorFlow has no device of type {DEVICE}")
