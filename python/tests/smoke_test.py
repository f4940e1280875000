"""The smoke tests of PJRT's integration guide, each the way a user would start it."""

import pytest


def test_prints_arange(python):
    result = python("import jax; print(jax.numpy.arange(10))", JAX_PLATFORMS="isthmus")
    assert result.stdout == "[0 1 2 3 4 5 6 7 8 9]\n"


def test_is_silent(python):
    result = python("import jax; print(jax.numpy.arange(10))", JAX_PLATFORMS="isthmus")
    assert result.stderr == ""


def test_adds(python):
    result = python("import jax.numpy as jnp; print(jnp.add(1, 1))", JAX_PLATFORMS="isthmus")
    assert result.stdout == "2\n"


def test_jits(python):
    result = python("import jax; print(jax.jit(lambda x: x * 2)(1.))", JAX_PLATFORMS="isthmus")
    assert result.stdout == "2.0\n"


PMAP = """
    import jax
    n = jax.device_count()
    print(jax.pmap(lambda x: x + jax.lax.psum(x, 'i'), axis_name='i')(jax.numpy.arange(n)))
"""


@pytest.mark.parametrize("devices, printed", [(1, "[0]"), (4, "[6 7 8 9]")])
def test_pmaps(python, devices, printed):
    result = python(PMAP, JAX_PLATFORMS="isthmus", ISTHMUS_NUM_DEVICES=devices)
    assert result.stdout == printed + "\n"


WHICH = """
    import jax
    device = jax.numpy.arange(3).device
    print(device.client is jax.devices("isthmus")[0].client, device.platform)
"""


def test_is_the_default_when_installed(python):
    assert python(WHICH).stdout == "True cpu\n"


def test_is_chosen_by_the_environment(python):
    assert python(WHICH, JAX_PLATFORMS="isthmus").stdout == "True cpu\n"
    assert python(WHICH, JAX_PLATFORMS="isthmus,cpu").stdout == "True cpu\n"


def test_is_chosen_by_the_configuration(python):
    chosen = "\n    import jax; jax.config.update('jax_platforms', 'isthmus')" + WHICH
    assert python(chosen).stdout == "True cpu\n"


def test_is_found_by_name_and_path_alone(python, bare_site, library):
    result = python(
        "\n    import importlib.util; assert importlib.util.find_spec('isthmus') is None" + WHICH,
        "-S", PYTHONPATH=bare_site, PJRT_NAMES_AND_LIBRARY_PATHS=f"isthmus:{library}",
        JAX_PLATFORMS="isthmus")
    assert result.stdout == "True cpu\n"


def test_name_and_path_beside_the_wheel(python, library):
    result = python(WHICH, PJRT_NAMES_AND_LIBRARY_PATHS=f"isthmus:{library}")
    assert result.stdout == "True cpu\n"


def test_stays_away_when_not_asked_for(python):
    result = python(
        "import jax; print(jax.devices()[0].client.platform_version, len(jax.devices()))",
        JAX_PLATFORMS="cpu")
    assert "isthmus" not in result.stdout.lower()
