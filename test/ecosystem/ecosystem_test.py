"""Programs of JAX's libraries give here what they give on JAX's own CPU client."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("haiku")
pytest.importorskip("jaxopt")

HERE = pathlib.Path(__file__).parent
PLATFORM = os.environ.get("ISTHMUS_TEST_PLATFORM", "isthmus")

# Programs, and how far training carries a rounding: relative to the largest result.
PROGRAMS = {
    "flax_linen_orbax": 1e-3,
    "haiku_resnet": 5e-3,
    "jraph_networks": 1e-3,
    "optimizers": 1e-3,
    "reinforcement": 1e-3,
    "solvers": 1e-3,
}


def run(program, platforms):
    environment = os.environ | {"JAX_PLATFORMS": platforms}
    done = subprocess.run([sys.executable, HERE / "run_program.py", program], env=environment,
                          capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_every_program_is_run():
    assert set(PROGRAMS) == {path.stem for path in (HERE / "programs").glob("*.py")}


@pytest.mark.parametrize("program", PROGRAMS)
def test_equals_the_cpu_client(program):
    here = run(program, f"{PLATFORM},cpu")
    there = run(program, "cpu")
    assert "Isthmus" in here["device"] and "Isthmus" not in there["device"]
    expected = np.array(there["results"])
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(here["results"], expected, rtol=PROGRAMS[program],
                               atol=PROGRAMS[program] * np.abs(expected).max())
