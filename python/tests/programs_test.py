"""The how-to of programs without a framework, followed to the letter: Python, C++ and C."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/without_framework"


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def package(library, tmp_path_factory):
    """The package as the wheel lays it out: the installed one, or made of the source tree."""
    import isthmus

    installed = pathlib.Path(isthmus.__file__).parent
    if (installed / "cmake").is_dir():
        return installed
    folder = tmp_path_factory.mktemp("package") / "isthmus"
    headers = folder / "include/isthmus"
    shutil.copytree(ROOT / "include/isthmus/pjrt_c_api", headers / "pjrt_c_api")
    for name in ("client.hpp", "pjrt_c_api.h"):
        shutil.copy(ROOT / "include/isthmus" / name, headers)
    run(sys.executable, ROOT / "tools/c_header.py", ROOT / "include/isthmus/pjrt_c_api",
        headers / "pjrt_c.h")
    shutil.copytree(ROOT / "cmake/package", folder / "cmake")
    (folder / "libisthmus.so").symlink_to(library)
    return folder


def test_python():
    assert run(sys.executable, EXAMPLE / "add.py").strip() == "[10. 11. 12. 13.]"


def test_c_and_cpp_by_cmake(package, tmp_path):
    if not shutil.which("cmake"):
        pytest.skip("there is no cmake")
    compiler = {} if shutil.which("c++") else {"CC": "clang-22", "CXX": "clang++-22"}
    run("cmake", "-S", EXAMPLE, "-B", tmp_path, f"-Disthmus_DIR={package / 'cmake'}",
        env={**os.environ, **compiler})
    run("cmake", "--build", tmp_path)
    output = run("cmake", "--build", tmp_path, "--target", "run")
    assert "on cpu: 11 22 33 44" in output
    assert re.search(r"^11 22 33 44", output, re.M)


def test_c_header_says_what_ours_do(package, tmp_path):
    """Sizes and places of all fields: our C++ declarations against the header that is made of them."""
    header = (package / "include/isthmus/pjrt_c.h").read_text()
    lines = []
    for name, body in re.findall(r"^struct (\w+) \{(.*?)^\};", header, re.S | re.M):
        if "union" in body:
            continue
        for field in re.findall(r"(\w+)(?:\)\([^;]*)?;", body):
            lines.append(f'printf("%zu ", offsetof({name}, {field}) + sizeof((({name}*)0)->{field}));')
    assert len(lines) > 500
    program = "int main() {" + "\n".join(lines) + "}\n"
    outputs = []
    for suffix, include, compiler in (
            ("c", "pjrt_c.h", ["-std=c11"]), ("cc", "pjrt_c_api.h", ["-std=c++20"])):
        source = tmp_path / f"sizes.{suffix}"
        source.write_text(f'#include <stddef.h>\n#include <stdio.h>\n#include "isthmus/{include}"\n{program}')
        binary = "clang-22" if suffix == "c" else "clang++-22"
        if not shutil.which(binary):
            binary = "cc" if suffix == "c" else "c++"
        run(binary, *compiler, "-Wno-invalid-offsetof", f"-I{package / 'include'}", source, "-o",
            tmp_path / suffix)
        outputs.append(run(tmp_path / suffix))
    assert outputs[0] == outputs[1]


def test_run_from_the_command_line(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(4, dtype=np.float32))
    out = tmp_path / "out.npy"
    run(sys.executable, "-m", "isthmus", "run", EXAMPLE / "add.mlir", "--input", tmp_path / "x.npy",
        "--input", tmp_path / "x.npy", "--output", out)
    np.testing.assert_array_equal(np.load(out), [0, 2, 4, 6])
    failed = subprocess.run([sys.executable, "-m", "isthmus", "run", EXAMPLE / "add.mlir"],
                            capture_output=True, text=True)
    assert failed.returncode == 1 and "2 parameters" in failed.stderr
