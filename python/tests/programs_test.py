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


@pytest.mark.skipif(os.environ.get("ISTHMUS_OPTIMIZATION", "2") != "2", reason="asks for what is fused")
def test_explain(tmp_path):
    # Columns are summed: rows, where they are as fast so, would be as they are multiplied, by one kernel.
    (tmp_path / "layer.mlir").write_text("""
func.func @main(%x: tensor<128x256xf32>, %w: tensor<256x256xf32>) -> tensor<256xf32> {
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<128x256xf32>, tensor<256x256xf32>) -> tensor<128x256xf32>
  %t = stablehlo.tanh %p : tensor<128x256xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%t init: %z) applies stablehlo.add across dimensions = [0]
      : (tensor<128x256xf32>, tensor<f32>) -> tensor<256xf32>
  func.return %s : tensor<256xf32>
}""")
    np.save(tmp_path / "x.npy", np.ones((128, 256), np.float32))
    np.save(tmp_path / "w.npy", np.ones((256, 256), np.float32))
    said = run(sys.executable, "-m", "isthmus", "explain", "layer.mlir", "--html", "page.html",
               "--input", "x.npy", "--input", "w.npy", "--repeat", "5", cwd=tmp_path)
    rows = re.findall(r"^ *([\d.]+) +([\d.]+)% +1 .* (\S+)  \(\S+:\d+\)$", said, re.M)
    assert len(rows) == 2 and all(float(time) > 0 for time, _, _ in rows), said
    assert sum(float(share) for _, share, _ in rows) == pytest.approx(100, abs=0.2)
    assert "dot_general" in said and "tanh reduce" in said
    page = (tmp_path / "page.html").read_text()
    assert page.count("<tr>") == 3 and "http" not in page


# Dots, a loop, a reduction, booleans, an argument that is donated, integers and an empty array.
AHEAD_OF_TIME = """
module @steps {
  func.func @main(%w: tensor<3x3xf32>, %x: tensor<3xf32> {jax.buffer_donor = true},
                  %n: tensor<i32>, %none: tensor<0x2xf32>)
      -> (tensor<3xf32>, tensor<i1>, tensor<bf16>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %last, %y = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<3xf32>
      cond {
        %go = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %go : tensor<i1>
      } do {
        %next = stablehlo.add %i, %one : tensor<i32>
        %p = stablehlo.dot_general %w, %v, contracting_dims = [1] x [0]
            : (tensor<3x3xf32>, tensor<3xf32>) -> tensor<3xf32>
        %t = stablehlo.tanh %p : tensor<3xf32>
        stablehlo.return %next, %t : tensor<i32>, tensor<3xf32>
      }
    %init = stablehlo.constant dense<0.0> : tensor<f32>
    %sum = stablehlo.reduce(%y init: %init) applies stablehlo.add across dimensions = [0]
        : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
    %positive = stablehlo.compare GT, %sum, %init : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %narrow = stablehlo.convert %sum : (tensor<f32>) -> tensor<bf16>
    func.return %y, %positive, %narrow : tensor<3xf32>, tensor<i1>, tensor<bf16>
  }
}
"""

AHEAD_OF_TIME_MAIN = r"""
#include <stdio.h>
#include <string.h>
#include "steps.h"

int main(void) {
  const float w[9] = {1, 2, 3, 4, 5, 6, 7, 8, 10}, x[3] = {0.1f, -0.2f, 0.05f}, none[1] = {0};
  const int32_t n[1] = {3};
  float y[4];  /* one of the two calls is not aligned to what the program wants */
  bool positive[1];
  uint16_t narrow[1];
  for (int i = 0; i < 2; ++i) {
    const char* problem = steps_run(w, x, n, none, y + i, positive, narrow);
    if (problem) return printf("%s\n", problem), 1;
    printf("%.6f %.6f %.6f %d %04x\n", y[i], y[i + 1], y[i + 2], positive[0], narrow[0]);
  }
  if (x[1] != -0.2f) return printf("an argument was written to\n"), 1;
  isthmus_model* model = NULL;
  unsigned char damaged[100000];
  if (steps_image_size > sizeof damaged) return 2;
  memcpy(damaged, steps_image, steps_image_size);
  damaged[steps_image_size / 2] ^= 1;
  printf("%s\n", isthmus_model_load(damaged, steps_image_size, &model));
  FILE* maps = fopen("/proc/self/maps", "r");
  for (char line[4096]; fgets(line, sizeof line, maps);) {
    if (strstr(line, "libisthmus.so") || strstr(line, "LLVM")) return printf("%s", line), 3;
  }
  return 0;
}
"""


def test_ahead_of_time(package, tmp_path):
    library = package / "libisthmus_model.so"
    if not library.exists():
        pytest.skip("this build has no libisthmus_model")
    (tmp_path / "steps.mlir").write_text(AHEAD_OF_TIME)
    (tmp_path / "main.c").write_text(AHEAD_OF_TIME_MAIN)
    said = run(sys.executable, "-m", "isthmus", "compile", "steps.mlir", "-o", "steps.o",
               cwd=tmp_path)
    assert "const float argument0[9]" in said and "bool result1[1]" in said
    compiler = shutil.which("clang-22") or "cc"
    run(compiler, "-std=c99", "-Wall", "-Werror", "-pedantic", "main.c", "steps.o",
        f"-I{package / 'include'}", library.resolve(), f"-Wl,-rpath,{library.resolve().parent}", "-o", "main", cwd=tmp_path)
    lines = run(tmp_path / "main").splitlines()
    w = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 10]], np.float32)
    y = np.array([0.1, -0.2, 0.05], np.float32)
    for _ in range(3):
        y = np.tanh(w @ y)
    for line in lines[:2]:
        *values, positive, bits = line.split()
        np.testing.assert_allclose([float(v) for v in values], y, atol=2e-6)
        assert int(positive) == (y.sum() > 0)
        narrow = np.array(int(bits, 16) << 16, np.uint32).view(np.float32)
        np.testing.assert_allclose(narrow, y.sum(), rtol=2**-8)
    assert "damaged" in lines[2]
    # Kernels and threads, not a compiler.
    assert library.resolve().stat().st_size < 12e6
