"""./dev new-backend: a clone of backends/skeleton under another name compiles as it is."""

import pathlib
import subprocess

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


@pytest.mark.parametrize("name", ["", "Acme", "9acme", "../acme", "cpu"])
def test_refuses_bad_names(name):
    assert new_backend(name).returncode != 0
