"""ISTHMUS_DUMP writes the program after each stage, and what the compiler fails on can be replayed."""

import pathlib
import re
import subprocess
import sys

import pytest


def test_dump_has_every_stage(python, tmp_path):
    folder = tmp_path / "dump"
    python("""
        import jax, jax.numpy as jnp
        @jax.jit
        def poly(x):
            return jnp.tanh(x) * 3 + 1
        print(poly(jnp.arange(8.0)))
    """, JAX_PLATFORMS="isthmus", ISTHMUS_DUMP=folder)
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files, "nothing was written"
    ours = [path for path in files if "poly" in str(path.relative_to(folder))]
    assert ours, f"no file is named for the program: {sorted(map(str, files))[:10]}"
    text = "\n".join(path.read_text(errors="replace") for path in ours)
    assert "stablehlo.tanh" in text, "no stage shows StableHLO"
    assert "define " in text, "no stage shows LLVM IR"


def test_no_dump_without_asking(python, tmp_path):
    python("import jax; print(jax.numpy.arange(3))", JAX_PLATFORMS="isthmus")
    assert not [path for path in tmp_path.rglob("*.mlir")]


def test_log_has_a_line_for_each_kernel(python):
    done = python("""
        import jax, jax.numpy as jnp
        @jax.jit
        def two(x):
            s = jnp.sum(x, axis=0)  # columns and rows need a kernel each
            return s, jnp.sum(x, axis=1)
        print(two(jnp.ones((64, 64)))[0][0])
    """, JAX_PLATFORMS="isthmus", ISTHMUS_LOG="compile")
    lines = [line for line in done.stderr.splitlines() if line.startswith("isthmus compile: kernel")]
    sums = [line for line in lines if "tensor<64x64xf32>" in line and "reduce" in line]
    assert len(sums) == 2, done.stderr
    assert all("loop results=0 dims=" in line for line in sums), sums


def test_a_program_that_is_refused_leaves_a_reproducer(python, tmp_path):
    done = python("""
        import isthmus
        try:
            isthmus.compile('''
                func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
                  %y = stablehlo.custom_call @nobody(%x) : (tensor<2xf32>) -> tensor<2xf32> loc("model.py":7:1)
                  func.return %y : tensor<2xf32>
                }''')
        except isthmus.Error as error:
            print(error)
    """, ISTHMUS_DUMP=tmp_path)
    assert "no handler is registered for @nobody" in done.stdout, done.stdout
    reproducer, = tmp_path.rglob("reproducer.mlir")
    text = reproducer.read_text()
    assert "model.py:7" in text, "no locations"
    comments = [line for line in text.splitlines() if line.startswith("// ")]
    assert any("CompileOptionsProto" in line for line in comments)
    # The file itself is a program that is refused in the same way.
    again = python(f"""
        import isthmus
        try:
            isthmus.compile(open({str(reproducer)!r}).read())
        except isthmus.Error as error:
            print(error)
    """)
    assert again.stdout == done.stdout


# What no program can have: a constant whose bytes are fewer than its type's.
_BROKEN = """
module @broken {
  func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.constant dense_resource<short> : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
{-# dialect_resources: {builtin: {short: "0x040000000000803F"}} #-}
"""


@pytest.mark.parametrize("dumps", [False, True])
def test_an_internal_failure_names_a_reproducer_and_what_replays_it(python, tmp_path, dumps):
    override = tmp_path / "override/broken/05-schedule.mlir"
    override.parent.mkdir(parents=True)
    override.write_text(_BROKEN)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    done = python("""
        import isthmus
        try:
            isthmus.compile('''
                module @broken {
                  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
                    %y = stablehlo.add %x, %x : tensor<8xf32> loc("model.py":7:1)
                    func.return %y : tensor<8xf32>
                  }
                }''')
        except isthmus.Error as error:
            print(error)
    """, ISTHMUS_OVERRIDE=tmp_path / "override", TMPDIR=temporary, ISTHMUS_FOLD_BYTES="7",
         **({"ISTHMUS_DUMP": tmp_path / "dump"} if dumps else {}))
    assert "a constant's resource has 4 bytes" in done.stdout, done.stdout
    command = re.search(r"; to see it again: (python -m isthmus replay (\S+))", done.stdout)
    assert command, done.stdout
    file = pathlib.Path(command[2])
    assert file.parent == temporary or dumps and tmp_path / "dump" in file.parents
    text = file.read_text()
    assert "model.py" in text and "ISTHMUS_FOLD_BYTES=7" in text
    # By the command, and by the one for developers, in processes that know nothing of all that.
    again = subprocess.run([sys.executable, *command[1].split()[1:]], capture_output=True, text=True)
    assert again.returncode == 1 and "a constant's resource has 4 bytes" in again.stderr, again.stderr
    tool = pathlib.Path(__file__).resolve().parents[2] / "build/release/tools/isthmus-opt"
    if tool.is_file():
        again = subprocess.run([tool, file, "--to", "load"], capture_output=True, text=True)
        assert again.returncode == 1 and "a constant's resource has 4 bytes" in again.stderr, again.stderr
