"""What the Python half gives platform isthmus, and that the private names it needs are still there."""

import importlib

import pytest
import required

jax_backend = required.module("isthmus.jax_backend")
cuda_backend = required.module("isthmus.cuda_backend")
xpu_backend = required.module("isthmus.xpu_backend")


@pytest.mark.parametrize("module, name, purpose", jax_backend.PRIVATE_NAMES)
def test_tripwire(module, name, purpose):
    import jax
    assert hasattr(importlib.import_module(module), name), (
        f"JAX {jax.__version__} has no {module}.{name} any more: {purpose} is lost")


def touched_private_names():
    """What the Python half's sources import from private modules of JAX and jaxlib, and use of them."""
    import ast
    import pathlib

    for path in sorted(pathlib.Path(jax_backend.__file__).parent.glob("*.py")):
        tree = ast.parse(path.read_text())
        modules = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("jax", "jaxlib"):
                if node.module.startswith(("jax._src", "jaxlib")):
                    for alias in node.names:
                        modules[alias.asname or alias.name] = alias.name
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                if node.value.id in modules:
                    yield path.name, modules[node.value.id], node.attr
            # getattr(module, "name", default) and the like
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "getattr":
                target, name = node.args[:2]
                if isinstance(target, ast.Name) and target.id in modules and isinstance(name, ast.Constant):
                    yield path.name, modules[target.id], name.value


def test_every_private_name_has_a_tripwire():
    # Named by the last part of the module: `jax._src.lib.xla_client` is jaxlib's.
    names = jax_backend.PRIVATE_NAMES + xpu_backend.PRIVATE_NAMES + cuda_backend.PRIVATE_NAMES
    listed = {(module.split(".")[-1], name) for module, name, _ in names}
    public = {("xla_bridge", "backends"), ("xla_bridge", "get_backend")}  # also jax.extend.backend's
    touched = list(touched_private_names())
    assert len(touched) > 10
    missing = [entry for entry in touched if entry[1:] not in listed | public]
    assert not missing, f"not in PRIVATE_NAMES: {missing}"


@pytest.mark.parametrize("named", [None, "xpu"])
def test_no_opencl_driver_is_loaded_beside_tensorflow(named, monkeypatch):
    import ctypes
    import sys
    import types

    import jax

    def load(*_):
        raise AssertionError("a driver was loaded")

    monkeypatch.setitem(sys.modules, "tensorflow", types.ModuleType("tensorflow"))
    monkeypatch.setattr(ctypes, "CDLL", load)
    before = jax.config.jax_platforms
    jax.config.update("jax_platforms", named)
    try:
        assert xpu_backend._is_wanted() == (named == "xpu")
    finally:
        jax.config.update("jax_platforms", before)


COUNT = "import jax; print(jax.device_count('isthmus'))"


def test_number_of_devices_is_one_by_default(python):
    assert python(COUNT).stdout == "1\n"


def test_number_of_devices_by_our_variable(python):
    assert python(COUNT, ISTHMUS_NUM_DEVICES=3).stdout == "3\n"


def test_number_of_devices_follows_jax(python):
    assert python(COUNT, JAX_NUM_CPU_DEVICES=5).stdout == "5\n"
    configured = "import jax; jax.config.update('jax_num_cpu_devices', 6); "
    assert python(configured + COUNT).stdout == "6\n"
    assert python(COUNT, XLA_FLAGS="--xla_force_host_platform_device_count=4").stdout == "4\n"


def test_our_variable_wins(python):
    assert python(COUNT, ISTHMUS_NUM_DEVICES=2, JAX_NUM_CPU_DEVICES=5).stdout == "2\n"


@pytest.mark.parametrize("value", ["0", "-1", "many"])
def test_malformed_number_of_devices_is_an_error(python, value):
    result = python(COUNT, check=False, JAX_PLATFORMS="isthmus", ISTHMUS_NUM_DEVICES=value)
    assert result.returncode != 0
    assert "ISTHMUS_NUM_DEVICES" in result.stderr and value in result.stderr


def test_jax_keeps_its_own_cpu(python):
    result = python("""
        import jax
        ours, theirs = jax.devices("isthmus")[0], jax.devices("cpu")[0]
        print(ours.client is theirs.client, jax.devices()[0].client is ours.client)
        print(jax.device_put(1.0, theirs) + 1, jax.device_put(1.0, ours) + 1)
    """, JAX_PLATFORMS="isthmus")
    assert result.stdout == "False True\n2.0 2.0\n"


@pytest.mark.parametrize("platforms", ["isthmus", "isthmus,cpu", "cpu,isthmus"])
def test_jax_cpu_is_made_once(python, platforms):
    """A second client of the CPU could not join a job of several processes."""
    result = python("""
        import jax
        from jax._src.lib import xla_client
        original, made = xla_client.make_cpu_client, []
        def make(*arguments, **options):
            made.append(1)
            return original(*arguments, **options)
        xla_client.make_cpu_client = make
        print("isthmus" in jax.devices()[0].client.platform_version, len(made))
    """, JAX_PLATFORMS=platforms)
    assert result.stdout == f"{not platforms.startswith('cpu')} 1\n"


def test_backend_argument_of_jit(python):
    result = python("""
        import warnings; warnings.simplefilter("ignore")
        import jax
        for backend in ("isthmus", "cpu"):
            (device,) = jax.jit(lambda x: x + 1, backend=backend)(1.0).devices()
            print(device.client is jax.devices(backend)[0].client)
    """)
    assert result.stdout == "True\nTrue\n"


def test_callbacks_find_jax_cpu(python):
    result = python("""
        import jax, numpy as np
        f = jax.jit(lambda x: jax.pure_callback(
            lambda y: np.asarray(y) * 2, jax.ShapeDtypeStruct((), np.float32), x) + 1)
        print(f(3.0))
    """, JAX_PLATFORMS="isthmus")
    assert result.stdout == "7.0\n"


def test_missing_library_leaves_jax_alone(python, tmp_path):
    result = python("import jax; print(jax.numpy.arange(3))",
                    ISTHMUS_LIBRARY_PATH=tmp_path / "absent.so")
    assert result.stdout == "[0 1 2]\n"
    assert "absent.so" in result.stderr


def test_platform_version_names_us(ours):
    assert "isthmus" in ours.client.platform_version.lower()
