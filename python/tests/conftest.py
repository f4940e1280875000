"""Fixtures of the tests from the user's side: the two clients, and fresh processes."""

import os
import pathlib
import shutil
import subprocess
import sys
import textwrap

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The tests are no package (--import-mode=importlib), and share modules of this folder.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

os.environ.setdefault("JAX_PLATFORMS", "isthmus")
# Two devices of each client in this process; tests that want other numbers start a process.
os.environ.setdefault("ISTHMUS_NUM_DEVICES", "2")


def _library():
    try:
        import isthmus
    except ImportError:
        return None
    path = isthmus.library_path()
    return path if path.is_file() else None


def pytest_collection_modifyitems(config, items):
    """Without the plugin there is nothing to test; CI sets ISTHMUS_REQUIRE_PLUGIN, and it fails."""
    if _library() is None and not os.environ.get("ISTHMUS_REQUIRE_PLUGIN"):
        for item in items:
            item.add_marker(pytest.mark.skip(reason="the wheel is not installed: ./dev wheel --install"))
    if os.environ.get("ISTHMUS_TEST_XPU") != "all":
        left_out = set(_by_one_driver(items))
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]


def _by_one_driver(items):
    """Of each test of platform xpu with several cases: every case by one driver, taking turns, and the forms of kernels that the
    driver is for. Of tests of kernels with one case: every test. ./dev test --set xpu runs all."""
    forms = {"pocl": ("groups",), "intel": ("", "emulated-matrices")}
    cases, tests = {}, {}
    for item in items:
        parameters = dict(item.callspec.params) if hasattr(item, "callspec") else {}
        if "xpu" in parameters and len(parameters) > 1:
            driver = parameters.pop("xpu")
            cases.setdefault(item.originalname, {}).setdefault(str(parameters), {})[driver] = parameters, item
        elif "xpu" in parameters and item.path.name != "xpu_test.py":
            tests.setdefault(item.path, {}).setdefault(item.originalname, {})[parameters["xpu"]] = item
    for of_file in tests.values():
        for number, by_driver in enumerate(of_file.values()):
            runs = sorted(by_driver)[number % len(by_driver)]
            yield from (item for driver, item in by_driver.items() if driver != runs)
    for test in cases.values():
        for number, case in enumerate(test.values()):
            drivers = sorted(case)
            for driver, (parameters, item) in case.items():
                if "form" in parameters and len(drivers) > 1:
                    runs = parameters["form"] in forms[driver]
                else:
                    runs = driver == drivers[number % len(drivers)]
                if not runs:
                    yield item


@pytest.fixture(scope="session")
def library():
    """The plugin's shared library."""
    path = _library()
    assert path is not None, "the wheel is not installed: ./dev wheel --install"
    return path


@pytest.fixture(scope="session")
def package(library, tmp_path_factory):
    """The package as the wheel lays it out: the installed one, or made of the source tree."""
    import isthmus

    installed = pathlib.Path(isthmus.__file__).parent
    if (installed / "cmake").is_dir():
        return installed
    folder = tmp_path_factory.mktemp("package") / "isthmus"
    headers = folder / "include/isthmus"
    shutil.copytree(ROOT / "include/isthmus/pjrt_c_api", headers / "pjrt_c_api")
    for name in ("client.hpp", "model.h", "pjrt_c_api.h"):
        shutil.copy(ROOT / "include/isthmus" / name, headers)
    subprocess.run([sys.executable, ROOT / "tools/c_header.py", ROOT / "include/isthmus/pjrt_c_api",
                    headers / "pjrt_c.h"], check=True)
    shutil.copytree(ROOT / "cmake/package", folder / "cmake")
    (folder / "libisthmus.so").symlink_to(library)
    model = pathlib.Path(library).with_name("libisthmus_model.so")
    if model.exists():  # sanitizer builds have none
        (folder / model.name).symlink_to(model)
    return folder


@pytest.fixture(scope="session")
def ours():
    """The first device of platform isthmus."""
    import jax
    return jax.devices("isthmus")[0]


@pytest.fixture(scope="session")
def theirs():
    """The first device of JAX's own CPU client."""
    import jax
    return jax.devices("cpu")[0]


@pytest.fixture
def run(ours):
    """A function that runs a traced function on our device and returns the results as NumPy arrays."""
    import jax

    def run(function, *arguments):
        with jax.default_device(ours):
            return jax.device_get(jax.jit(function)(*arguments))
    return run


@pytest.fixture
def both(ours, theirs):
    """A function that runs a traced function on both devices and returns the two results."""
    import jax

    def run(function, *arguments):
        results = []
        for device in (ours, theirs):
            with jax.default_device(device):
                placed = jax.device_put(arguments, device)
                results.append(jax.device_get(jax.jit(function)(*placed)))
        return results

    return run


@pytest.fixture
def python(tmp_path):
    """A function that runs a program in a fresh interpreter and returns the finished process."""

    def run(program, *options, timeout=300, check=True, **variables):
        environment = {
            name: value for name, value in os.environ.items()
            if name not in ("JAX_PLATFORMS", "ISTHMUS_NUM_DEVICES", "XLA_FLAGS")}
        environment |= {name: str(value) for name, value in variables.items()}
        result = subprocess.run(
            [sys.executable, *options, "-c", textwrap.dedent(program)], cwd=tmp_path,
            env=environment, capture_output=True, text=True, timeout=timeout)
        if check:
            assert result.returncode == 0, result.stdout + result.stderr
        return result

    return run


@pytest.fixture
def bare_site(tmp_path):
    """A folder with all installed packages but this wheel, to be used as PYTHONPATH with -S."""
    import numpy

    site = pathlib.Path(numpy.__file__).resolve().parent.parent
    folder = tmp_path / "site"
    folder.mkdir()
    for entry in site.iterdir():
        if not entry.name.startswith(("isthmus", "jax_plugins", "__")):
            (folder / entry.name).symlink_to(entry)
    return folder


@pytest.fixture(params=["pocl", "intel"])
def xpu(request, python):
    """A function that runs a program on platform xpu by one OpenCL driver."""
    from opencl_drivers import DRIVERS, LIBRARY
    from required import lacks

    if not LIBRARY.is_file():
        lacks("libisthmus_xpu.so is not built: ./dev build isthmus_xpu_plugin")
    variables, is_installed = DRIVERS[request.param]
    if not is_installed:
        lacks(f"NO OPENCL DRIVER of {request.param}: apt-get install pocl-opencl-icd, "
              "or pip install -r dev.d/requirements/xpu.txt")

    def run(program, **more):
        settings = {"JAX_PLATFORMS": "xpu", "ISTHMUS_XPU_LIBRARY_PATH": LIBRARY} | variables | more
        return python(program, **settings)

    return run
