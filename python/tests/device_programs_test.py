"""Twenty programs of the kinds that users write, on platform xpu by each driver, beside JAX's own CPU client."""

import pathlib
import runpy

import pytest

FILE = pathlib.Path(__file__).with_name("device_programs.py")
pytest.importorskip("optax")
NAMES = list(runpy.run_path(str(FILE))["PROGRAMS"])


def test_they_are_twenty():
    assert len(NAMES) == 20


@pytest.mark.parametrize("name", NAMES)
def test_agrees_with_cpu(xpu, name):
    xpu(f"""
        import sys; sys.path.insert(0, {str(FILE.parent)!r})
        import device_programs, jax
        assert jax.default_backend() == "xpu"
        device_programs.main({name!r})
    """, JAX_PLATFORMS="xpu,cpu")
