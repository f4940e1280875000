"""A device that the wheel does not know, by the way that docs/howto/bring-up-a-device.md shows: what JAX has for names
that it knows works there too."""

import os
import pathlib

import pytest

BUILD = pathlib.Path(__file__).resolve().parents[2] / "build/release/pjrt"
NAME = "simulated_kernels"
PROGRAM = f"""
    import jax, jax.numpy as jnp, numpy as np
    assert jax.default_backend() == "{NAME}"
    x = jnp.array([[4., 1.], [1., 3.]])
    np.testing.assert_allclose(np.prod(jnp.linalg.svd(x)[1]), 11, rtol=1e-5)  # LAPACK's, with lowerings for cpu
    jax.debug.print("seen {{}}", x[0, 0], ordered=True)
    twice = jax.pure_callback(lambda a: np.asarray(a) * 2, jax.ShapeDtypeStruct((2, 2), jnp.float32), x)
    assert twice[0, 0] == 8
    assert np.from_dlpack(x)[1, 1] == 3
    given = jnp.ones(1000)
    jax.jit(lambda a: a + 1, donate_argnums=0)(given).block_until_ready()
    assert given.is_deleted()
"""


@pytest.fixture
def plugin():
    library = BUILD / f"libisthmus_{NAME}.so"
    if not library.is_file():
        assert not os.environ.get("ISTHMUS_REQUIRE_PLUGIN"), f"{library} is not built"
        pytest.skip(f"{library.name} is not built: ./dev build isthmus_{NAME}_plugin")
    return library


def test_named_in_the_environment(python, plugin):
    done = python(PROGRAM, JAX_PLATFORMS=NAME, PJRT_NAMES_AND_LIBRARY_PATHS=f"{NAME}:{plugin}")
    assert "seen 4.0" in done.stdout
    assert "experimental" not in done.stderr


def test_beside_the_library(python, plugin, library, tmp_path):
    for path in (library, plugin):
        (tmp_path / path.name).symlink_to(path)
    beside = str(tmp_path / library.name)
    done = python(PROGRAM + "    print(len(jax.devices()), 'devices')", JAX_PLATFORMS=NAME, ISTHMUS_LIBRARY_PATH=beside,
                  ISTHMUS_NUM_DEVICES=3)
    assert "3 devices" in done.stdout
    assert "experimental" not in done.stderr
    # Nobody gets it who did not ask.
    python("import jax; assert jax.default_backend() != '%s'" % NAME, ISTHMUS_LIBRARY_PATH=beside)


def test_explains_itself(python, plugin, tmp_path):
    (tmp_path / "m.mlir").write_text("""
        func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
          %0 = stablehlo.add %x, %x : tensor<4xf32>
          return %0 : tensor<4xf32>
        }""")
    command = "import isthmus.__main__ as m; assert m.main(['replay', 'm.mlir', '--platform', '{}']) == {}"
    python(command.format(NAME, 0), PJRT_NAMES_AND_LIBRARY_PATHS=f"{NAME}:{plugin}")
    done = python(command.format("nonesuch", 1))
    assert "no platform nonesuch" in done.stderr


@pytest.mark.parametrize("name", ["", "cpu", "xpu", "gloo", "../isthmus", "Acme"])
def test_names_that_are_none(name):
    from isthmus import further_platforms
    assert further_platforms.library_of(name) is None
