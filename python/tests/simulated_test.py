"""The tests of the everyday things on simulated devices: asynchronous, with memory of their own, which do
what nothing orders in any order."""

import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
LIBRARY = HERE.parents[1] / "build/release/pjrt/libisthmus_simulated.so"


@pytest.mark.parametrize("name", ["smoke", "arrays", "multi_device"])
def test_on_simulated_devices(name):
    if not LIBRARY.is_file():
        pytest.skip("libisthmus_simulated.so is not built: ./dev build isthmus_simulated_plugin")
    done = subprocess.run(
        # Exchanges in place are of the host's memory.
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-k", "not dlpack",
         HERE / f"{name}_test.py"],
        capture_output=True, text=True, timeout=900,
        env=os.environ | {"ISTHMUS_LIBRARY_PATH": str(LIBRARY)})
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
