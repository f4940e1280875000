"""The example of examples/processes: one, two and four processes train alike."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

LAUNCH = pathlib.Path(__file__).resolve().parents[2] / "examples" / "processes" / "launch.py"


def losses(processes, devices, platform="isthmus", steps=6):
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("ISTHMUS_NUM_DEVICES", "XLA_FLAGS")}
    result = subprocess.run(
        [sys.executable, LAUNCH, "--processes", str(processes), "--devices", str(devices),
         "--steps", str(steps)],
        env=environment | {"JAX_PLATFORMS": platform}, capture_output=True, text=True, timeout=400)
    assert result.returncode == 0, result.stdout + result.stderr
    found = [float(x) for x in re.findall(r"loss (\d+\.\d+)", result.stdout)]
    assert len(found) == steps, result.stdout
    return found


@pytest.fixture(scope="module")
def alone():
    """The losses of one process of JAX's own client."""
    return losses(1, 4, platform="cpu")


@pytest.mark.parametrize("processes, devices", [(1, 4), (2, 2), (4, 1)])
def test_losses_are_those_of_one_process(alone, processes, devices):
    assert losses(processes, devices) == pytest.approx(alone, abs=2e-5)
    assert alone[-1] < alone[0]


def test_script_is_one_for_jax_cpu(alone):
    assert losses(2, 2, platform="cpu") == pytest.approx(alone, abs=2e-5)
