"""./dev new-backend: a clone of backends/skeleton under another name compiles as it is."""

import importlib.util
import pathlib
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent


def new_backend(*arguments):
    return subprocess.run([ROOT / "dev", "new-backend", *arguments], capture_output=True, text=True)


def test_clone_compiles(tmp_path):
    done = new_backend("acme_npu", "--into", tmp_path)
    assert done.returncode == 0, done.stderr
    clone = tmp_path / "backends" / "acme_npu"
    text = "".join(file.read_text() for file in clone.iterdir())
    assert "class AcmeNpuBackend final : public Backend" in text
    assert "keleton" not in text
    assert sum(len(file.read_text().splitlines()) for file in clone.iterdir()) <= 400
    done = subprocess.run(["clang-format-22", f"--style=file:{ROOT / '.clang-format'}", "--dry-run", "--Werror",
                           *clone.glob("*.h"), *clone.glob("*.cc")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    # Its headers, and of ours what a vendor is given: include/ alone. The test needs more.
    done = subprocess.run(
        ["clang++-22", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror",
         "-Wno-unused-parameter", f"-I{tmp_path}", f"-I{ROOT / 'include'}",
         clone / "backend.cc", clone / "driver.cc"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["", "Acme", "9acme", "../acme"])
def test_refuses_bad_names(name):
    assert new_backend(name).returncode != 0


@pytest.mark.parametrize("name", ["cpu", "xpu", "skeleton", "gloo", "model", "runtime", "test", "simulated_kernels"])
def test_refuses_names_that_are_taken(tmp_path, name):
    done = new_backend(name, "--into", tmp_path)
    assert done.returncode != 0 and "choose another" in done.stderr


def test_wheel_of_a_vendors_device(tmp_path):
    """Its library beside the wheel's, and nothing else; a name without a library is refused in words."""
    spec = importlib.util.spec_from_file_location("wheel_file", ROOT / "tools/wheel_file.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tool.contents("acme_npu")[0] == "isthmus-acme-npu"
    assert tool.contents("acme_npu")[2] == {"isthmus/libisthmus_acme_npu.so": "pjrt/libisthmus_acme_npu.so"}
    # What torch_xla finds it by.
    assert tool.contents("acme_npu")[4] == {
        "torch_xla.plugins": ["acme_npu = isthmus.torch_xla_plugin:platform_acme_npu"]}
    wheel = tool.write_wheel(tmp_path, "isthmus-acme-npu", "0.1.0", "", "py3-none-any", {}, entry_points=tool.contents("acme_npu")[4])
    with zipfile.ZipFile(wheel) as files:
        assert files.read("isthmus_acme_npu-0.1.0.dist-info/entry_points.txt").decode() == (
            "[torch_xla.plugins]\nacme_npu = isthmus.torch_xla_plugin:platform_acme_npu\n")
    done = subprocess.run([sys.executable, ROOT / "tools/wheel_file.py", "acme_npu", tmp_path, tmp_path],
                          capture_output=True, text=True)
    assert done.returncode == 1 and "is there a backend acme_npu" in done.stderr
