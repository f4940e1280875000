"""What is in the wheel: one small library that hides everything, and no Python ABI."""

import importlib.metadata
import pathlib
import re
import subprocess

import pytest
import required

PYTHON = pathlib.Path(__file__).resolve().parent.parent
MAX_MEGABYTES = 60
# Libraries that every manylinux system has.
SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libz.so.1",
          "libstdc++.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}
# What Gloo needs, for jobs of several processes.
CARRIED = {"libgloo.so.0", "libhiredis.so.0.14", "libibverbs.so.1", "libnl-3.so.200",
           "libnl-route-3.so.200"}


def tool(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def wheel_files():
    """The installed wheel's files, skipping when the tests run from a source tree."""
    try:
        return importlib.metadata.distribution("isthmus").files
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("isthmus runs from a source tree")


def test_exports_one_symbol(library):
    lines = tool("nm", "--dynamic", "--defined-only", str(library)).splitlines()
    assert [line.split()[-1].split("@")[0] for line in lines] == ["GetPjrtApi"]


def test_is_stripped(library):
    sections = tool("readelf", "--wide", "--sections", str(library))
    assert ".symtab" not in sections and ".debug_info" not in sections


def test_is_small(library):
    assert library.stat().st_size < MAX_MEGABYTES * 1e6


@pytest.mark.parametrize("platform", ["xpu", "cuda"])
def test_wheels_of_devices_are_small(platform, tmp_path):
    """Stripped, as tools/wheel_file.py packs it."""
    built = PYTHON.parent / f"build/release/pjrt/libisthmus_{platform}.so"
    if not built.is_file():
        required.lacks(f"{built.name} is not built: ./dev build isthmus_{platform}_plugin")
    tool("strip", "--strip-unneeded", built, "-o", tmp_path / built.name)
    assert (tmp_path / built.name).stat().st_size < MAX_MEGABYTES * 1e6


def test_needs_system_libraries_only(library):
    dynamic = tool("readelf", "--wide", "--dynamic", str(library))
    assert set(re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic)) <= SYSTEM
    assert "RPATH" not in dynamic and "RUNPATH" not in dynamic


def test_transport_finds_what_it_carries(wheel_files, library):
    """All that the transport needs is found in the wheel, not on the machine."""
    found = tool("ldd", str(library.parent / "libisthmus_gloo.so"))
    for name in CARRIED:
        (path,) = re.findall(rf"^\s*{re.escape(name)} => (\S+)", found, re.MULTILINE)
        assert pathlib.Path(path).parent == library.parent, found
    lines = tool("nm", "--dynamic", "--defined-only", str(library.parent / "libisthmus_gloo.so"))
    assert "isthmus_open_gloo" in lines


def test_glibc_is_that_of_the_tag(library):
    (tag,) = re.findall(r"Tag: (.*)", (importlib.metadata.distribution("isthmus").read_text("WHEEL")))
    assert re.fullmatch(r"py3-none-manylinux_\d+_\d+_\w+", tag)
    promised = tuple(map(int, re.findall(r"_(\d+)_(\d+)_", tag)[0]))
    assert promised <= (2, 36)
    versions = re.findall(r"GLIBC_(\d+)\.(\d+)", tool("readelf", "--wide", "--version-info", library))
    assert max((int(a), int(b)) for a, b in versions) <= promised


def test_holds_what_it_should(wheel_files):
    names = {str(file) for file in wheel_files if ".dist-info" not in str(file)}
    names = {name for name in names if "__pycache__" not in name}
    commands = {name for name in names if "/bin/" in name}
    assert {name.rsplit("/", 1)[1] for name in commands} == {
        "isthmus", "isthmus-compile", "isthmus-convert", "isthmus-info", "isthmus-run"}
    modules = {f"isthmus/{file.name}" for file in (PYTHON / "isthmus").glob("*.py")}
    include = PYTHON.parent / "include/isthmus"
    headers = {f"isthmus/include/isthmus/{name}" for name in (
        "client.hpp", "model.h", "pjrt_c.h", "pjrt_c_api.h")}
    headers |= {f"isthmus/include/isthmus/pjrt_c_api/{file.name}"
                for file in (include / "pjrt_c_api").glob("*.h")}
    libraries = {f"isthmus/{name}" for name in {
        "libisthmus.so", "libisthmus_gloo.so", "libisthmus_model.so"} | CARRIED}
    assert names - commands == modules | headers | libraries | {"isthmus/cmake/isthmusConfig.cmake",
                                                     "jax_plugins/isthmus/__init__.py"}
    assert any(file.name == "LICENSE" for file in wheel_files)


def test_entry_point():
    points = importlib.metadata.entry_points(group="jax_plugins", name="isthmus")
    assert {point.value for point in points} == {"jax_plugins.isthmus"}
    points = importlib.metadata.entry_points(group="torch_xla.plugins", name="isthmus")
    assert {point.value for point in points} == {"isthmus.torch_xla_plugin:IsthmusPlugin"}


@pytest.mark.parametrize("other", ["torch", "tensorflow", "numpy", "scipy.linalg"])
@pytest.mark.parametrize("first", ["other", "isthmus"])
def test_lives_with_other_libraries(python, other, first):
    pytest.importorskip(other)
    ours = "import jax; assert float(jax.numpy.add(1, 1)) == 2"
    theirs = f"import {other}"
    lines = [theirs, ours] if first == "other" else [ours, theirs]
    python("\n".join([*lines, "assert float(jax.numpy.add(2, 2)) == 4"]), JAX_PLATFORMS="isthmus")


def test_conforms(library):
    """pypjrt.conform is another project's check of the C API: no FAIL."""
    import sys
    result = subprocess.run([sys.executable, "-m", "pypjrt.conform", str(library)],
                            capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-2000:]
    passed, failed = re.search(r"(\d+) pass .* (\d+) FAIL", result.stdout).groups()
    assert int(failed) == 0 and int(passed) > 40, result.stdout[-3000:]


def test_package_says_where_the_library_is(library):
    assert library.name == "libisthmus.so"
    assert pathlib.Path(library).is_absolute()
